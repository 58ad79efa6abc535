"""progress: in a terminal only lines stay; in a notebook the saved output holds only lines."""

import sys
from types import SimpleNamespace

import IPython.display
import pytest
import torch
from torch import nn

from going_modular.going_modular import engine, progress
from going_modular.going_modular.progress import Progress


@pytest.fixture
def cell(monkeypatch):
    """A notebook's cell: `shown` holds what its one output has shown, one text a change."""
    made = SimpleNamespace(shown=[], outputs=0)

    def keep(data, raw):
        assert raw and list(data) == ["text/plain"]
        made.shown.append(data["text/plain"])

    def display(data, raw, display_id):
        made.outputs += 1
        keep(data, raw)
        return SimpleNamespace(update=keep)

    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    monkeypatch.setattr(IPython.display, "display", display)
    return made


def work() -> list[int]:
    """Two bars with a line after each."""
    shown, seen = Progress(), []
    for epoch in (1, 2):
        for item in shown.bar(range(3), f"Epoch {epoch} of 2"):
            seen.append(item)
        shown.line(f"Epoch: {epoch}")
    return seen


def test_in_a_terminal_only_lines_stay(capsys):
    assert work() == [0, 1, 2, 0, 1, 2]
    captured = capsys.readouterr()
    assert captured.out == "Epoch: 1\nEpoch: 2\n"
    assert "Epoch 1 of 2:" in captured.err, "a bar was there"
    assert captured.err.rpartition("\r")[0].rpartition("\r")[2].strip() == "", "and it was wiped out"
    assert "\n" not in captured.err


def test_in_a_notebook_only_lines_are_saved(cell, capsys):
    assert work() == [0, 1, 2, 0, 1, 2]
    assert cell.outputs == 1
    assert cell.shown[-1] == "Epoch: 1\nEpoch: 2"
    assert any(text.startswith("Epoch 1 of 2:") for text in cell.shown), "a bar was there"
    assert any(text.startswith("Epoch: 1\nEpoch 2 of 2:") for text in cell.shown), "below the line that stays"
    assert not any("\r" in text or "\x1b" in text for text in cell.shown)
    assert capsys.readouterr() == ("", "")


def test_training_that_breaks_off_leaves_no_bar(cell):
    class NaNInTheSecondEpoch(nn.Linear):
        calls = 0

        def forward(self, x):
            self.calls += self.training
            return super().forward(x) * (torch.nan if self.calls > 3 else 1)

    model = NaNInTheSecondEpoch(4, 3)
    batches = [(torch.randn(2, 4), torch.tensor([0, 1]))] * 2
    with pytest.raises(engine.NonFiniteLossError):
        engine.train(model, batches, batches, torch.optim.SGD(model.parameters(), 0.1), nn.CrossEntropyLoss(), 3, "cpu")
    assert cell.shown[-1].startswith("Epoch: 1 | train_loss:") and "\n" not in cell.shown[-1]


@pytest.mark.parametrize(
    ("shell", "expected"), [(None, False), (SimpleNamespace(), False), (SimpleNamespace(kernel="a kernel"), True)]
)
def test_a_notebook_is_told_by_its_kernel(monkeypatch, shell, expected):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert progress.in_notebook() is expected


def test_ipython_is_not_loaded_to_find_out(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython")
    assert progress.in_notebook() is False
    assert "IPython" not in sys.modules

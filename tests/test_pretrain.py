"""tools/pretrain: a tiny pretraining from drawing to checkpoint, broken off and taken up again."""

import importlib
import json
import sys
from dataclasses import replace

import pytest
import torch
from conftest import ROOT

from going_modular.going_modular.drawn_food import CLASSES, PRETRAINING_FOODS
from going_modular.going_modular.utils import load_model
from going_modular.going_modular.vit import VARIANTS


@pytest.fixture
def tool(monkeypatch):
    """tools/pretrain, with a model and stages that take seconds, and drawings of two foods made in this process."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    module = importlib.import_module("pretrain")
    small = {**VARIANTS["ViT-Ti/16"], "num_transformer_layers": 1, "embedding_dim": 12, "mlp_size": 24}
    monkeypatch.setitem(VARIANTS, "ViT-Ti/16", small)
    monkeypatch.setattr(module, "PRETRAINING_FOODS", PRETRAINING_FOODS[:2])
    monkeypatch.setattr(module, "HELD_OUT", 1)
    monkeypatch.setattr(module, "SAVE_EVERY", 2)
    first, second = module.STAGES
    stages = (replace(first, size=32, batch_size=4), replace(second, size=64, batch_size=4))
    monkeypatch.setattr(module, "STAGES", stages)
    yield module
    sys.modules.pop("pretrain", None)


@pytest.fixture
def data(tool):
    torch.manual_seed(0)
    images = torch.randint(0, 256, (8, 3, 40, 40), dtype=torch.uint8)
    return tool.split(images, torch.arange(2).repeat_interleave(4))


def test_the_foods_to_be_told_apart_later_are_never_seen():
    assert not set(PRETRAINING_FOODS) & set(CLASSES)


def test_drawings_are_kept_and_held_out_pictures_are_apart(tool, tmp_path):
    images, labels = tool.drawings(tmp_path, pictures=2, size=24)
    assert images.shape == (4, 3, 24, 24) and images.dtype == torch.uint8 and labels.tolist() == [0, 0, 1, 1]
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again, _ = tool.drawings(tmp_path, pictures=2, size=24)
    assert torch.equal(images, again) and before == {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    (train, train_labels), (held, held_labels) = tool.split(images, labels)
    assert torch.equal(held, images[[0, 2]]) and torch.equal(train, images[[1, 3]])
    assert held_labels.tolist() == train_labels.tolist() == [0, 1]


def test_breaking_off_changes_nothing(tool, data, tmp_path, monkeypatch):
    """Four steps at once, and four with a break after the second: the same weights, and a log of both parts."""
    stage = replace(tool.STAGES[0], share=1.0)

    def train(work):
        torch.manual_seed(0)
        vit = tool.ViT.from_variant(tool.VARIANT, 2, stage.size, dropout=0.0)
        return tool.train_stage(stage, vit, *data, total_images=16, work=work)

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    expected = train(whole).state_dict()
    real, steps = tool.random_crop, iter(range(100))

    def fails_at_the_third_step(*arguments, **options):
        if next(steps) == 2:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(tool, "random_crop", fails_at_the_third_step)
    with pytest.raises(KeyboardInterrupt):
        train(broken)
    got = train(broken).state_dict()
    assert all(torch.equal(expected[name], got[name]) for name in expected)
    lines = [json.loads(line) for line in (broken / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["step"] for line in lines] == [2, 4]


def test_from_drawing_to_checkpoint(tool, tmp_path, monkeypatch, capsys):
    output = tmp_path / "models" / "offline.pth"
    output.parent.mkdir()
    arguments = ["--pictures", "12", "--images", "100", "--work", str(tmp_path / "work"), "--output", str(output)]
    monkeypatch.setattr(sys, "argv", ["pretrain.py", *arguments])
    tool.main()
    assert "Held-out drawings:" in capsys.readouterr().out
    stored = torch.load(output, weights_only=True)["state_dict"]
    assert all(value.dtype == torch.float16 for value in stored.values())
    model, info = load_model(output)
    assert model.img_size == (64, 64) and info["class_names"] == list(tool.PRETRAINING_FOODS)
    assert next(model.parameters()).dtype == torch.float32
    assert output.name in (output.parent / "SHA256SUMS").read_text(encoding="utf-8")

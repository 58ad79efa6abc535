"""comparison: verdicts and tables follow from the numbers."""

import pytest

from going_modular.going_modular import comparison
from going_modular.going_modular.experiments import Settings


def runs_of(**accuracies):
    """Runs with the accuracies given by name, a value a seed."""
    names = {"base": comparison.BASE, "decay": "cosine decay", "linear": "linear decay", "clip": "clipping at norm 1"}
    return [
        {"name": names.get(name, name), "seed": seed, "accuracy": value, "loss": 1 - value, "train_loss": 1.0}
        for name, values in accuracies.items()
        for seed, value in enumerate(values)
    ]


def test_every_row_is_a_setting():
    for changes in comparison.all_settings().values():
        Settings(**changes)
    assert comparison.all_settings()[comparison.BASE] == {}
    assert all(changes for name, changes in comparison.all_settings().items() if name != comparison.BASE)


def test_clear_and_unclear_differences():
    rows = comparison.compare_switches(
        runs_of(base=[0.40, 0.44, 0.42], decay=[0.60, 0.65, 0.61], clip=[0.41, 0.43, 0.43], dropout=[0.2, 0.25, 0.22])
    )
    verdicts = {row["name"]: row["verdict"] for row in rows}
    assert verdicts == {
        comparison.BASE: "",
        "cosine decay": "helps",
        "clipping at norm 1": comparison.NO_DIFFERENCE,
        "dropout": "hurts",
    }
    assert rows[0]["mean"] == pytest.approx(0.42) and rows[0]["spread"] == pytest.approx(0.02)
    assert rows[1]["difference"] == pytest.approx(0.2)
    table = comparison.format_switches(rows)
    assert "42.0%" in table and "+20.0%" in table and "helps" in table


def test_one_seed_gives_no_verdict():
    rows = comparison.compare_switches(runs_of(base=[0.4], decay=[0.9]))
    assert rows[1]["verdict"] is None and rows[1]["error"] is None
    comparison.format_switches(rows)


def test_seeds_that_do_not_match():
    with pytest.raises(ValueError, match=r"\[0\].*\[0, 1\]"):
        comparison.compare_switches(runs_of(base=[0.4, 0.4], decay=[0.5]))
    with pytest.raises(ValueError, match="no run called"):
        comparison.compare_switches(runs_of(decay=[0.5]))


def test_what_helped_takes_the_better_of_two_that_clash():
    runs = runs_of(base=[0.4, 0.4], linear=[0.6, 0.6], decay=[0.5, 0.5], clip=[0.45, 0.41], warmup=[0.3, 0.3])
    assert comparison.what_helped(runs) == {"decay": "linear", "clip_norm": 1.0}


def test_the_best_name():
    runs = runs_of(base=[0.4, 0.4], decay=[0.5, 0.5], clip=[0.6, 0.4])
    runs[-1]["loss"] -= 0.2
    assert comparison.best_name(runs) == "clipping at norm 1"


def test_no_full_results(tmp_path):
    assert comparison.read_full_results(tmp_path / "none.json") is None

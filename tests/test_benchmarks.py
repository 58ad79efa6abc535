"""benchmarks: each runs at toy size and counts right; the page is made from the numbers. Times are not tested."""

import json
import re

import pytest
import torch
from conftest import ROOT, files_below, tiny_vit
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import attention, course, models, peers, pipeline, report, timing
from going_modular.going_modular.vit import VARIANTS

DOCS = ROOT / "docs"


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Results go to a temporary folder, and nothing reaches docs/."""
    monkeypatch.setattr(report, "ROOT", tmp_path)
    monkeypatch.setattr(report, "BUILD", tmp_path / "build")
    monkeypatch.setattr(report, "DOCS", tmp_path / "docs")
    (tmp_path / "docs").mkdir()
    return tmp_path / "build"


def rows_of(build, part: str) -> list[dict]:
    return json.loads((build / "smoke" / f"{part}.json").read_text(encoding="utf-8"))["rows"]


# Each benchmark once


def test_models(build, capsys):
    before = files_below(DOCS)
    models.main(["--smoke"])
    rows = rows_of(build, "models")
    settings = {(row["mode"], row["precision"]) for row in rows}
    assert settings == {(a, b) for a in ("training", "evaluation") for b in ("float32", "bfloat16")}
    for row in rows:
        assert set(row["images_per_second"]) >= {"ours", "torchvision", "nn.TransformerEncoder"}
        assert row["fastest"] != "ours" and row["ratio"]["q1"] <= row["ratio"]["median"] <= row["ratio"]["q3"]
        assert row["share_of_peak"] > 0
    printed = capsys.readouterr().out
    assert "ours / fastest other" in printed and "of 4 settings" in printed
    assert files_below(DOCS) == before


def test_attention(capsys):
    attention.main(["--smoke"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 8 and all(float(number) > 0 for line in lines[2:] for number in line.split()[-2:])


def test_pipeline(build, tiny_food, capsys):
    pipeline.main(["--smoke", "--seeds", "2", "--data", str(tiny_food)])
    loading, frozen, scratch = (rows_of(build, part) for part in ("loading", "frozen", "scratch"))
    assert [row["way"] for row in loading][-1] == "ours" and len(loading) == 3
    assert [row["precision"] for row in frozen] == ["float32", "bfloat16"]
    for row in frozen:
        assert row["loss_difference"] <= pipeline.TOLERANCES[row["precision"]]
        assert row["test_acc"][0] == row["test_acc"][1]
    assert [(row["way"], row["dropout"]) for row in scratch][:2] == [("the course's", 0.1), ("ours", 0.1)]
    assert all(len(row["seconds"]) == len(row["accuracies"]) == 2 for row in scratch)
    assert "times faster" in capsys.readouterr().out


@pytest.mark.parametrize("main", [models.main, pipeline.main])
def test_toy_numbers_do_not_reach_the_page(main, build, capsys):
    with pytest.raises(SystemExit):
        main(["--smoke", "--write"])
    assert "not with --smoke" in capsys.readouterr().err and not build.exists()


def test_losses_that_differ_are_an_error(build, tiny_food, monkeypatch):
    once = pipeline.features_once

    def other_head(*arguments):
        results = once(*arguments)
        return {**results, "test_loss": [loss + 0.1 for loss in results["test_loss"]]}

    monkeypatch.setattr(pipeline, "features_once", other_head)
    with pytest.raises(SystemExit, match="float32: losses differ by 0.1; bfloat16: .*did not do the same work"):
        pipeline.main(["--smoke", "--parts", "frozen", "--data", str(tiny_food)])


# What is compared


@pytest.mark.parametrize("name", ["ViT-Ti/16", "ViT-B/16"])
def test_the_vits_are_the_same_size(name):
    """To 1 %: vit-pytorch has no bias before attention, and two LayerNorms more at the patches."""
    with torch.device("meta"):
        sizes = {
            peer: sum(parameter.numel() for parameter in build(VARIANTS[name], 224, 1000).parameters())
            for peer, build in peers.available().items()
        }
        plain = course.PlainViT(VARIANTS[name], 224, 1000)
    sizes["the course's"] = sum(parameter.numel() for parameter in plain.parameters())
    assert all(size == pytest.approx(sizes["ours"], rel=0.01) for size in sizes.values()), sizes


def test_operations_are_those_that_torch_counts():
    config = {**models.TINY, "mlp_size": 80}
    for img_size in (32, 64):
        model = peers.ours(config, img_size, 5)
        with FlopCounterMode(display=False) as counter:
            model(torch.randn(1, 3, img_size, img_size), return_attention=True)  # the fused call is not counted
        assert timing.operations(config, img_size, 5) == counter.get_total_flops()


def test_operations_of_an_evaluation_are_those_that_torch_counts():
    model = peers.ours(models.TINY, 64, 5).eval()
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model(torch.randn(1, 3, 64, 64))
    counted = timing.operations(models.TINY, 64, 5, class_token_alone=True)
    assert counted == counter.get_total_flops() < timing.operations(models.TINY, 64, 5)


def test_a_training_step_changes_the_weights_and_an_evaluation_none():
    images, labels = torch.randn(2, 3, 32, 32), torch.arange(2)
    for mode, changes in (("training", True), ("evaluation", False)):
        model = tiny_vit()
        before = model.position_embedding.detach().clone()
        models.step_of(model, models.Setting("tiny", 2, mode, "float32"), images, labels)()
        assert torch.equal(model.position_embedding, before) is not changes and model.training is changes


def test_all_take_turns_and_each_round_begins_with_another():
    calls = []
    seconds = timing.interleaved({name: lambda name=name: calls.append(name) for name in "abc"}, 3)
    assert "".join(calls) == "abcbcacab" and all(len(times) == 3 for times in seconds.values())


def test_in_a_round_of_several_passes_all_alternate_and_each_is_given_the_sum(monkeypatch):
    calls = []
    monkeypatch.setattr(timing, "seconds_of", lambda work: work() or float(len(calls)))
    seconds = timing.interleaved({name: lambda name=name: calls.append(name) for name in "ab"}, rounds=2, passes=2)
    assert "".join(calls) == "abbaabba"
    assert seconds == {"a": [1.0 + 4, 5.0 + 8], "b": [2.0 + 3, 6.0 + 7]}


def test_quartiles():
    assert timing.quartiles([4.0, 1.0, 2.0, 3.0, 5.0]) == {"q1": 2.0, "median": 3.0, "q3": 4.0}
    assert timing.quartiles([7.0]) == {"q1": 7.0, "median": 7.0, "q3": 7.0}


# The page


def quartiles_around(value: float) -> dict:
    return {"q1": value * 0.99, "median": value, "q3": value * 1.01}


def example() -> dict:
    """Parts with made-up numbers."""
    setting = {"model": "ViT-Ti/16", "batch": 32, "mode": "training", "precision": "float32", "rounds": 9}
    speeds = {"ours": quartiles_around(20.0), "torchvision": quartiles_around(16.0)}
    measured = {"images_per_second": speeds, "fastest": "torchvision", "ratio": quartiles_around(1.25)}
    seeds = {"precision": "float32", "accuracies": [0.25, 0.5]}
    parts = {
        "models": {
            "rows": [{**setting, **measured, "share_of_peak": 0.5}],
            "versions": {},
            "missing": ["timm"],
            "peaks_gflops": {"float32": 180.0},
        },
        "loading": {
            "rows": [
                {"way": "the course's, no workers", "first": 90.0, "later": quartiles_around(100.0)},
                {"way": "ours", "first": 100.0, "later": quartiles_around(800.0)},
            ]
        },
        "frozen": {"rows": [{"precision": "float32", "every_epoch": 700.0, "once": 70.0, "loss_difference": 1e-5}]},
        "scratch": {
            "rows": [
                {"way": "the course's", "dropout": 0.1, "seconds": [200.0, 300.0, 400.0], **seeds},
                {"way": "ours", "dropout": 0.0, "seconds": [130.0, 100.0, 140.0], **seeds},
            ]
        },
        "memory": {"rows": [{"checkpointing": False, "peak_GB": 2.5}], "notes": ["Measured once."]},
    }
    return {name: {"command": f"python {name}", "machine": "a machine", **part} for name, part in parts.items()}


def test_the_page_shows_every_part_and_its_ratios():
    page = report.markdown(example())
    assert "| 1.250 (torchvision) | 2.0% | 50% |" in page and "Not installed, so not compared: timm." in page
    assert "| ours | 100 | 800 | 792 to 808 | 8.0 |" in page
    assert "| float32 | 700 s | 70.0 s | 10.0 | 1.0e-05 |" in page
    assert "| the course's, float32, dropout 0.1 | 300 s | 700 s | 1000 s | 1.0 | 25.0%, 50.0% | 37.5% |" in page
    assert "| ours, float32, dropout 0 | 130 s | 70 s | 200 s | 5.0 |" in page
    assert "| checkpointing | peak GB |" in page and "Measured once." in page
    assert "Not measured yet on a GPU." in page and "- Command: `python models`" in page
    assert page.count("\n## ") == len(report.SECTIONS) + 1 and "\n\n\n" not in page


def test_a_page_without_any_part_says_so():
    page = report.markdown({})
    assert page.count("Not measured yet") == len(report.SECTIONS) and "|" not in page


def test_parts_are_kept_one_by_one(build, capsys):
    parts = example()
    report.store("gpu", {"rows": [{"precision": "TF32", "images_per_second": 900.5}]}, "python gpu", write=True)
    report.store("frozen", {"rows": parts["frozen"]["rows"]}, "python frozen")
    docs = report.DOCS
    assert list(json.loads((docs / "performance.json").read_text(encoding="utf-8"))) == ["gpu"]
    assert "| TF32 | 900.5 |" in (docs / "performance.md").read_text(encoding="utf-8")
    report.main(["--build"])
    stored = json.loads((docs / "performance.json").read_text(encoding="utf-8"))
    assert list(stored) == ["frozen", "gpu"] and stored["frozen"]["rows"] == parts["frozen"]["rows"]
    assert (docs / "performance.md").read_text(encoding="utf-8") == report.markdown(stored)
    assert "build/frozen.json" in capsys.readouterr().out


def test_the_committed_page_is_made_from_the_committed_numbers():
    path = DOCS / "performance.json"
    stored = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    assert (DOCS / "performance.md").read_text(encoding="utf-8") == report.markdown(stored)
    assert not re.search(r"/(home|opt|root|tmp|work)/", report.markdown(stored))

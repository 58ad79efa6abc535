"""tools/results.py: the plan, resuming, and docs/results.md, which is made from docs/results.json."""

import importlib
import json
from dataclasses import replace

import pytest
import torch
from conftest import ROOT, tiny_vit

from going_modular.going_modular import comparison, experiments, pretrained

DOCS = ROOT / "docs"


@pytest.fixture
def results(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    return importlib.import_module("results")


@pytest.fixture
def toy(results, tmp_path, tiny_food, monkeypatch):
    """Everything as small as it gets, on a tiny folder and with a tiny model in the place of the real ones."""
    load = results.load_pictures
    monkeypatch.setattr(results, "food", lambda _data, part, size, _limit: load(tiny_food / part, size))
    monkeypatch.setattr(results, "TEST_EACH", 1)
    monkeypatch.setattr(results, "split", lambda pictures, seed: (pictures[:9], pictures[9:]))
    monkeypatch.setattr(comparison, "SWITCHES", {name: comparison.SWITCHES[name] for name in ("warmup", "no dropout")})
    monkeypatch.setattr(experiments, "build_model", lambda _settings, num_classes: tiny_vit(num_classes=num_classes))
    monkeypatch.setattr(pretrained, "OFFLINE", tmp_path / "offline.pth")
    return replace(results.SMOKE, curve={3: 1, 6: 1})


def save_offline_model(path):
    torch.manual_seed(0)
    pretrained.save_offline_checkpoint(
        tiny_vit(num_classes=12), [str(number) for number in range(12)], {"img_size": 32}, path
    )


@pytest.mark.skipif(not (DOCS / "results.json").is_file(), reason="make results has not been run")
def test_the_page_is_made_from_the_numbers():
    stored = json.loads((DOCS / "results.json").read_text(encoding="utf-8"))
    assert (DOCS / "results.md").read_text(encoding="utf-8") == comparison.markdown(stored)


@pytest.mark.skipif(not (DOCS / "results.json").is_file(), reason="make results has not been run")
def test_every_switch_is_there_with_three_seeds():
    stored = json.loads((DOCS / "results.json").read_text(encoding="utf-8"))
    if "the photos can't be had" in stored["missing"]:
        pytest.skip("made without the photos")
    groups = comparison.group(comparison.part_of(stored, "switches", "validation"), "name")
    assert {name for (name,) in groups} >= set(comparison.all_settings())
    assert all(len({run["seed"] for run in runs}) == 3 for runs in groups.values())


def test_the_plan_fits(results):
    jobs = results.plan([])
    seconds = sum(results.seconds_of(job, [], results.FULL) for job in jobs) + results.drawing_seconds(results.FULL)
    assert seconds < 150 * 60
    tested = {}
    for job in jobs:
        if job.measured_on == "test" or job.part == "switches":
            tested.setdefault((job.part, job.data, job.name, job.images, job.measured_on), []).append(job.settings.seed)
    assert all(seeds == [1, 2, 3] for seeds in tested.values())
    assert {job.data for job in jobs if job.part == "comparison"} == {"photos", "drawn"}


def test_equal_steps_for_scratch_and_pretrained(results):
    jobs = [job for job in results.plan([]) if job.part == "comparison" and job.measured_on == "test"]
    names = (results.RECIPE, results.FINE_TUNED)
    recipe, tuned = (next(job.settings for job in jobs if job.name == name) for name in names)
    same = ("model", "img_size", "epochs", "batch_size", "augmented", "warmup", "decay", "clip_norm")
    assert all(getattr(recipe, name) == getattr(tuned, name) for name in same)


def test_it_resumes_run_by_run(results, toy, tmp_path, monkeypatch):
    file, seen = tmp_path / "runs.jsonl", []
    save_offline_model(pretrained.OFFLINE)
    execute = results.execute

    def stop_at_tenth(job, size):
        seen.append(job)
        if len(seen) == 10:
            raise KeyboardInterrupt
        return execute(job, size)

    monkeypatch.setattr(results, "execute", stop_at_tenth)
    with pytest.raises(KeyboardInterrupt):
        results.run_all(toy, file, note=lambda _text: None)
    with file.open("a", encoding="utf-8") as opened:
        opened.write('{"part": "cut o')
    lines, missing = results.run_all(toy, file, note=lambda _text: None)
    assert missing == [] and len(lines) == len(results.plan(lines, toy)) == len(seen) - 1
    again, _ = results.run_all(toy, file, note=pytest.fail)
    assert again == lines
    heads = [line for line in lines if line["start"] == "offline, head alone"]
    assert heads and all(line["epochs"] == toy.head_epochs for line in heads)
    results.write(results.gather(lines, missing, toy), tmp_path / "written")
    stored = json.loads((tmp_path / "written" / "results.json").read_text(encoding="utf-8"))
    assert [{**run, "machine": stored["machines"][run["machine"]]} for run in stored["runs"]] == lines
    page = (tmp_path / "written" / "results.md").read_text(encoding="utf-8")
    assert page == comparison.markdown(stored)
    assert all(name in page for name in (results.HEAD, results.FINE_TUNED, "warmup", comparison.HELPED, "TinyVGG"))


def test_one_part_runs_alone_and_the_others_are_said_to_be_missing(results, toy, tmp_path):
    save_offline_model(pretrained.OFFLINE)
    lines, missing = results.run_all(toy, tmp_path / "runs.jsonl", note=lambda _text: None, part="switches")
    assert lines and {line["part"] for line in lines} == {"switches"}
    assert missing == [f"the part {part!r} has not been run to its end" for part in ("comparison", "data")]
    page = comparison.markdown(results.gather(lines, missing, toy))
    assert "## Switches" in page and "Left out: the part 'comparison' has not been run to its end." in page


def test_the_written_runs_count_as_finished_until_the_checkpoint_changes(results, toy, tmp_path):
    save_offline_model(pretrained.OFFLINE)
    lines, missing = results.run_all(toy, tmp_path / "runs.jsonl", note=lambda _text: None)
    results.write(results.gather(lines, missing, toy), tmp_path / "written")
    for _ in range(2):
        results.restore(tmp_path / "others.jsonl", tmp_path / "written")
    again, _ = results.run_all(toy, tmp_path / "others.jsonl", note=pytest.fail)
    assert again == lines == results.read_lines(tmp_path / "others.jsonl")
    pretrained.save_offline_checkpoint(
        tiny_vit(num_classes=12), [str(number) for number in range(12)], {"img_size": 32}, pretrained.OFFLINE
    )
    redone = [job for job in results.plan(lines, toy) if not any(job.is_done_by(line) for line in lines)]
    assert redone and all(job.start != "none" for job in redone)


def test_what_is_missing_is_left_out_with_a_word(results, toy, tmp_path, monkeypatch):
    food = results.food

    def no_photos(data, *arguments):
        if data == "photos":
            raise results.NotHere("the photos can't be had")
        return food(data, *arguments)

    monkeypatch.setattr(results, "food", no_photos)
    lines, missing = results.run_all(toy, tmp_path / "runs.jsonl", note=lambda _text: None)
    assert missing == ["the offline checkpoint is not there", "the photos can't be had"]
    assert {line["data"] for line in lines} == {"drawn"} and all(line["start"] == "none" for line in lines)
    assert "Left out: the photos can't be had." in comparison.markdown(results.gather(lines, missing, toy))


def test_the_chosen_rate_is_the_best_on_validation(results):
    jobs = [job for job in results.plan([]) if job.name == results.RECIPE and job.data == "drawn"]
    trials = [job for job in jobs if job.measured_on == "validation"]
    lines = [
        {**job.described(), "images": 180, "held_out": 45, "accuracy": accuracy, "loss": 1.0, "seconds": 1.0}
        for job, accuracy in zip(trials, (0.4, 0.5, 0.6))
    ]
    assert results.best_rate(trials, lines[:2]) == trials[1].settings.learning_rate
    planned = [job for job in results.plan(lines) if job.name == results.RECIPE and job.measured_on == "test"]
    assert {job.settings.learning_rate for job in planned if job.data == "drawn"} == {3e-3}

"""Run the plan behind docs/results.md in full, run by run; a run that was finished before is not run again.

usage: python tools/results.py [--plan | --smoke] [--part PART] [--again]

Each finished run is a line of build/results_runs.jsonl; those in docs/results.json count as finished too, unless
--again is given. When all are there, docs/results.json is written, and docs/results.md from it. --plan shows what is
to do and how long it takes. --smoke runs everything once at toy size, into build/ alone, to see that it works. The
photos, or the offline checkpoint, are left out with a word where they can't be had; calling again adds what is
missing. A run from another offline checkpoint than the one that is there now is run again.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from going_modular.going_modular import comparison, data_setup, pretrained  # noqa: E402
from going_modular.going_modular.drawn_food import CLASSES  # noqa: E402
from going_modular.going_modular.experiments import (  # noqa: E402
    Pictures,
    Settings,
    draw_pictures,
    load_pictures,
    prepare,
    run,
    split,
)
from going_modular.going_modular.features import extract_features, head_of  # noqa: E402
from going_modular.going_modular.machine import in_one_line  # noqa: E402

BUILD, DOCS = ROOT / "build", ROOT / "docs"
COMMAND = "make results"
SCRATCH, RECIPE = "from scratch, notebook 09's settings", "from scratch, the recipe"
HEAD, FINE_TUNED = "pretrained, the head alone", "pretrained, fine-tuned"
RATES = {  # images trained a second on two cores with bfloat16, for the estimate before anything has been measured
    ("ViT-Ti/16", 224): 25,
    ("ViT-Ti/16", 112): 140,
    ("TinyVGG", 112): 400,
}
TEST_EACH = 100  # drawings of each food that the data-size curve is tested on
EVALUATION = 3  # an image is tested about this many times faster than it is trained on
DRAWING = 20  # pictures drawn a second
HEAD_SECONDS = 15  # features of 300 images, and training the head on them


@dataclass(frozen=True)
class Size:
    """How large everything is."""

    seeds: tuple[int, ...] = (1, 2, 3)
    large: int = 224  # pixels: the comparison of scratch and pretrained
    small: int = 112  # pixels: the switches and the data-size curve
    scratch_epochs: int = 5  # as in notebook 09
    recipe_epochs: int = 10  # scratch and fine-tuned alike
    head_epochs: int = 100
    switch_epochs: int = 20
    curve: dict[int, int] = field(default_factory=lambda: {225: 48, 900: 12, 3600: 3})  # images: epochs, 10,800 seen
    limit: int | None = None  # most pictures of a data set


FULL = Size()
SMOKE = Size((1, 2), 32, 32, 1, 1, 2, 1, {6: 2, 12: 1}, limit=30)
SCRATCH_RATES = (3e-4, 1e-3, 3e-3)
FINE_TUNING_RATES = (1e-4, 3e-4, 1e-3)


@dataclass(frozen=True)
class Job:
    """One run of the plan.

    measured_on is "validation" (a fifth of the training images, split off by the seed) or "test" (trained on all).
    start is "none", "offline" (all layers trained) or "offline, head alone". images limits the training drawings.
    """

    part: str
    data: str
    name: str
    measured_on: str
    settings: Settings
    start: str = "none"
    images: int | None = None

    def described(self) -> dict:
        names = ("part", "data", "name", "measured_on", "start")
        checkpoint = None if self.start == "none" else checkpoint_hash()
        return {**{name: getattr(self, name) for name in names}, "checkpoint": checkpoint, **asdict(self.settings)}

    def is_done_by(self, line: dict) -> bool:
        same = all(line.get(key) == value for key, value in self.described().items())
        return same and self.images in (None, line["images"])

    def trained_on(self, limit: int | None) -> int:
        """How many images, for the estimate."""
        count = self.images or limit or 225
        return count * 4 // 5 if self.measured_on == "validation" else count


def checkpoint_hash() -> str | None:
    """The first 8 hex digits of the offline checkpoint's SHA-256, so that a run tells which one it started from.

    Read from SHA256SUMS: every loading checks that it is the file's.
    """
    sums = pretrained.read_sums(pretrained.OFFLINE.parent / pretrained.SUMS)
    return sums.get(pretrained.OFFLINE.name, "")[:8] or None


# The plan


def plan(lines: list[dict], size: Size = FULL) -> list[Job]:
    """Every run, in order. What a later run takes from earlier ones is a default until those are among `lines`."""
    jobs = switch_jobs(lines, size) + curve_jobs(size)
    for data in ("photos", "drawn"):
        jobs += comparison_jobs(data, lines, size)
    return jobs


def comparison_jobs(data: str, lines: list[dict], size: Size) -> list[Job]:
    """Scratch against pretrained: learning rates chosen on validation with one seed, then every seed on all images."""
    first, *_ = size.seeds
    base = Settings(img_size=size.large, precision="bfloat16", epochs=size.recipe_epochs)
    recipe = replace(base, **comparison.RECIPE)
    tuning = replace(recipe, weight_decay=0.0, dropout=0.0)  # section 4.1: fine-tuning without decay of weights
    head = replace(base, epochs=size.head_epochs, weight_decay=0.0, dropout=0.0, decay="cosine")
    jobs, chosen = [], {}
    for name, settings, rates, start in (
        (RECIPE, recipe, SCRATCH_RATES, "none"),
        (FINE_TUNED, tuning, FINE_TUNING_RATES, "offline"),
    ):
        trials = [
            Job("comparison", data, name, "validation", replace(settings, learning_rate=rate, seed=first), start)
            for rate in rates
        ]
        jobs += trials
        chosen[name] = best_rate(trials, lines)
    for seed in size.seeds:
        scratch = replace(base, epochs=size.scratch_epochs, seed=seed)
        jobs += [
            Job("comparison", data, SCRATCH, "test", scratch),
            Job("comparison", data, RECIPE, "test", replace(recipe, learning_rate=chosen[RECIPE], seed=seed)),
            Job("comparison", data, HEAD, "test", replace(head, seed=seed), "offline, head alone"),
            Job(
                "comparison",
                data,
                FINE_TUNED,
                "test",
                replace(tuning, learning_rate=chosen[FINE_TUNED], seed=seed),
                "offline",
            ),
        ]
    return jobs


def best_rate(trials: list[Job], lines: list[dict]) -> float:
    """The trial with the highest validation accuracy, of equals the lower loss; the middle one until all are done."""
    found = [next((line for line in lines if job.is_done_by(line)), None) for job in trials]
    if None in found:
        return trials[len(trials) // 2].settings.learning_rate
    return max(found, key=lambda line: (line["accuracy"], -line["loss"]))["learning_rate"]


def switch_jobs(lines: list[dict], size: Size) -> list[Job]:
    """Each switch alone, all together and all that helped, by validation; then base, all and the best on the test."""
    base = Settings(img_size=size.small, precision="bfloat16", epochs=size.switch_epochs)

    def jobs_of(name: str, changes: dict, measured_on: str) -> list[Job]:
        settings = [replace(base, **changes, seed=seed) for seed in size.seeds]
        return [Job("switches", "photos", name, measured_on, each) for each in settings]

    rows = comparison.all_settings()
    jobs = [job for name, changes in rows.items() for job in jobs_of(name, changes, "validation")]
    done = lines_of(jobs, lines)
    rows[comparison.HELPED] = comparison.what_helped(done) if len(done) == len(jobs) else {}
    helped = jobs_of(comparison.HELPED, rows[comparison.HELPED], "validation")
    jobs += helped
    done = lines_of(jobs, lines)
    best = comparison.best_name(done) if len(done) == len(jobs) else comparison.HELPED
    for name in dict.fromkeys((comparison.BASE, comparison.ALL, best)):
        jobs += jobs_of(name, rows[name], "test")
    return jobs


def curve_jobs(size: Size) -> list[Job]:
    """ViT and TinyVGG on more and more drawings, the same number of images seen each time, none of them augmented."""
    base = Settings(img_size=size.small, precision="bfloat16", warmup=0.1, decay="cosine", clip_norm=1.0, dropout=0.0)
    return [
        Job("data", "drawn", model, "test", replace(base, model=model, epochs=epochs, seed=seed), images=images)
        for images, epochs in size.curve.items()
        for model in ("ViT-Ti/16", "TinyVGG")
        for seed in size.seeds
    ]


def lines_of(jobs: list[Job], lines: list[dict]) -> list[dict]:
    """The line of each job that has one, in the jobs' order."""
    found = (next((line for line in lines if job.is_done_by(line)), None) for job in jobs)
    return [line for line in found if line is not None]


def seconds_of(job: Job, lines: list[dict], size: Size) -> float:
    """What a run takes: by the runs of the same model and image size that were timed, else by RATES."""
    if "head" in job.start:
        return HEAD_SECONDS
    settings, images = job.settings, job.trained_on(size.limit)
    timed = [
        line
        for line in lines
        if (line["model"], line["img_size"]) == (settings.model, settings.img_size) and "head" not in line["start"]
    ]
    if timed:
        seen = sum(line["epochs"] * line["images"] + line["held_out"] / EVALUATION for line in timed)
        rate = seen / max(sum(line["seconds"] for line in timed), 1e-3)
    else:
        rate = RATES.get((settings.model, settings.img_size), 400)
    held_out = 3 * TEST_EACH if job.images else 75
    return (settings.epochs * images + held_out / EVALUATION) / rate


def drawing_seconds(size: Size) -> float:
    return (max(size.curve) + 3 * TEST_EACH) / DRAWING if size.limit is None else 3


# Running it


class NotHere(RuntimeError):
    """What a run needs can't be had on this machine."""


@cache
def food(data: str, part: str, img_size: int, limit: int | None) -> Pictures:
    """The training or test images of the photos or the drawn set, in memory."""
    before = os.environ.get("FOODVISION_DATA")
    os.environ["FOODVISION_DATA"] = data
    try:
        path = data_setup.get_food_data().path
    except RuntimeError as error:
        print(error)
        raise NotHere("the photos can't be had") from None
    finally:
        os.environ.pop("FOODVISION_DATA") if before is None else os.environ.update(FOODVISION_DATA=before)
    pictures = load_pictures(path / part, img_size)
    return pictures[:: max(1, len(pictures) // limit)] if limit else pictures


@cache
def drawings(part: str, img_size: int, each: int) -> Pictures:
    return draw_pictures(each, img_size, part)


def offline_model(img_size: int) -> torch.nn.Module:
    if not pretrained.OFFLINE.is_file():
        raise NotHere("the offline checkpoint is not there")
    return pretrained.offline_vit(f"{COMMAND} takes it", len(CLASSES), None, img_size).model


def execute(job: Job, size: Size) -> dict:
    """Run one job. Raises NotHere where photos or checkpoint are missing."""
    settings, model = job.settings, None
    if job.part == "data":
        train = drawings("train", settings.img_size, max(size.curve) // 3)[: job.images]
        held_out = drawings("test", settings.img_size, TEST_EACH if size.limit is None else 2)
    else:
        train = food(job.data, "train", settings.img_size, size.limit)
        if job.measured_on == "validation":
            train, held_out = split(train, seed=settings.seed)
        else:
            held_out = food(job.data, "test", settings.img_size, size.limit)
    start = time.perf_counter()
    if job.start != "none":
        model = offline_model(settings.img_size)
    if "head" in job.start:
        train, held_out = (features_of(model, pictures, settings) for pictures in (train, held_out))
        model = head_of(model)
    result = run(settings, train, held_out, model=model)
    return {**result, "seconds": round(time.perf_counter() - start, 1)}


def features_of(model: torch.nn.Module, pictures: Pictures, settings: Settings) -> Pictures:
    batches = [
        (prepare(pictures.images[numbers], settings, "cpu"), pictures.labels[numbers])
        for numbers in torch.arange(len(pictures)).split(32)
    ]
    return Pictures(*extract_features(model, batches, "cpu"))


def run_all(
    size: Size, file: Path, note: Callable[[str], None] = print, part: str | None = None
) -> tuple[list[dict], list[str]]:
    """Run what isn't done, of one part or of all.

    Returns the lines of the plan, of other parts only where they are complete, and the reasons why something is
    missing.
    """
    lines, missing = read_lines(file), {}
    while True:
        jobs = plan(lines, size)
        open_jobs = [
            job for job in jobs if not any(job.is_done_by(line) for line in lines) and not left_out(job, missing)
        ]
        todo = [job for job in open_jobs if part in (None, job.part)]
        if not todo:
            later = {job.part for job in open_jobs}
            missing |= {each: f"the part {each!r} has not been run to its end" for each in later}
            return lines_of([job for job in jobs if job.part not in later], lines), sorted(set(missing.values()))
        job = todo[0]
        left = sum(seconds_of(each, lines, size) for each in todo)
        note(f"{len(todo)} runs to go, {left / 60:.0f} min: {job.part}, {job.data}, {job.name}, {job.measured_on}")
        try:
            result = execute(job, size)
        except NotHere as error:
            note(f"left out: {error}")
            missing["offline" if "checkpoint" in str(error) else job.data] = str(error)
            continue
        lines.append({**job.described(), **result, "machine": in_one_line()})
        append_line(file, lines[-1])
        note(f"  accuracy {result['accuracy']:.1%}, {result['seconds']:.0f} s")


def left_out(job: Job, missing: dict[str, str]) -> bool:
    return job.data in missing or ("offline" in missing and job.start != "none")


def read_lines(file: Path) -> list[dict]:
    """The finished runs. A line that was cut off when its run was stopped is dropped, from the file too."""
    if not file.is_file():
        return []
    lines, texts = [], file.read_text(encoding="utf-8").splitlines(keepends=True)
    for text in texts:
        try:
            lines.append(json.loads(text))
        except ValueError:
            continue
    if len(lines) < len(texts) or not texts[-1:] or not texts[-1].endswith("\n"):
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return lines


def append_line(file: Path, line: dict) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as opened:
        opened.write(json.dumps(line) + "\n")


# What is written


def gather(lines: list[dict], missing: list[str], size: Size) -> dict:
    """The content of docs/results.json, where a run names its machine by its number in the list of them."""
    machines = sorted({line["machine"] for line in lines})
    return {
        "command": COMMAND,
        "machines": machines,
        "seconds": round(sum(line["seconds"] for line in lines)),
        "missing": missing,
        "seeds": list(size.seeds),
        "runs": [{**line, "machine": machines.index(line["machine"])} for line in lines],
    }


def restore(file: Path, folder: Path) -> None:
    """Put the runs of folder/results.json that `file` lacks into it, as finished ones."""
    stored = comparison.read_full_results(folder / "results.json")
    known = read_lines(file)
    for stored_run in stored["runs"] if stored else []:
        line = {**stored_run, "machine": stored["machines"][stored_run["machine"]]}
        if line not in known:
            append_line(file, line)


def write(results: dict, folder: Path) -> None:
    """results.json, one run a line, and the results.md made from it."""
    runs = ",\n".join(f"    {json.dumps(line)}" for line in results["runs"])
    head = json.dumps({**results, "runs": []}, indent=2)
    text = head.replace('"runs": []', f'"runs": [\n{runs}\n  ]' if runs else '"runs": []')
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(text + "\n", encoding="utf-8")
    (folder / "results.md").write_text(comparison.markdown(json.loads(text)), encoding="utf-8")


def show_plan(size: Size, file: Path) -> None:
    lines = read_lines(file)
    jobs = plan(lines, size)
    print(
        f"{'part':12}{'data':8}{'name':40}{'measured on':14}{'runs':>6}{'done':>6}{'seconds a run':>15}{'minutes':>9}"
    )
    total = 0.0
    groups = {}
    for job in jobs:
        name = f"{job.name}, {job.images} images" if job.images else job.name
        groups.setdefault((job.part, job.data, name, job.measured_on), []).append(job)
    for (part, data, name, measured_on), members in groups.items():
        done = len(lines_of(members, lines))
        seconds = sum(seconds_of(job, lines, size) for job in members)
        total += seconds
        counts = f"{len(members):6}{done:6}{seconds / len(members):15.0f}{seconds / 60:9.1f}"
        print(f"{part:12}{data:8}{name:40}{measured_on:14}{counts}")
    total += drawing_seconds(size)
    print(f"drawing the pictures of the curve: {drawing_seconds(size) / 60:.1f} minutes")
    print(f"all: {len(jobs)} runs, {total / 60:.0f} minutes on two quiet cores")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--plan", action="store_true", help="show the runs and how long they take, and stop")
    parser.add_argument("--smoke", action="store_true", help="everything once at toy size, into build/results_smoke")
    parser.add_argument("--part", choices=("switches", "data", "comparison"), help="this part of the plan alone")
    parser.add_argument("--again", action="store_true", help="forget the runs in docs/results.json and in build")
    options = parser.parse_args(arguments)
    size = SMOKE if options.smoke else FULL
    file = BUILD / ("results_smoke_runs.jsonl" if options.smoke else "results_runs.jsonl")
    if options.again:
        file.unlink(missing_ok=True)
    elif not options.smoke:
        restore(file, DOCS)
    if options.plan:
        show_plan(size, file)
        return
    lines, missing = run_all(size, file, note=lambda text: print(text, flush=True), part=options.part)
    folder = BUILD / "results_smoke" if options.smoke else DOCS
    write(gather(lines, missing, size), folder)
    print(f"{len(lines)} runs, written to {folder.relative_to(ROOT).as_posix()}: results.json, results.md")
    for reason in missing:
        print(f"left out: {reason}")


if __name__ == "__main__":
    main()

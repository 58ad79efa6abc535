"""The switches of notebook 11, and what a set of runs says about each: tables and verdicts, made from numbers alone.

A run is a dict of experiments.run with a "name" beside its numbers. docs/results.json holds those of `make results`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from going_modular.going_modular import ROOT

RESULTS = ROOT / "docs" / "results.json"
BASE = "as in notebook 09"
ALL = "all together"
HELPED = "all that helped"
# Each changes one thing of notebook 09's settings, experiments.Settings().
SWITCHES = {
    "learning rate 3e-4": {"learning_rate": 3e-4},
    "learning rate 3e-3": {"learning_rate": 3e-3},
    "warmup": {"warmup": 0.1},
    "linear decay": {"decay": "linear"},
    "cosine decay": {"decay": "cosine"},
    "weight decay 0.3": {"weight_decay": 0.3},
    "clipping at norm 1": {"clip_norm": 1.0},
    "batch of 128": {"batch_size": 128, "micro_batch": 32},
    "augmentation": {"augmented": True},
    "no dropout": {"dropout": 0.0},
    "pixels 0 to 1": {"pixels": "0 to 1"},
    "PyTorch's initialisation": {"initialisation": "pytorch"},
}
# The recipe for ImageNet-1k as far as it fits: notebook 09 has its dropout, its pixels and its initialisation already,
# and its learning rate of 3e-3 belongs to batches of 4,096.
RECIPE = {"warmup": 0.1, "decay": "cosine", "weight_decay": 0.3, "clip_norm": 1.0, "augmented": True}
NO_DIFFERENCE = "no clear difference"


def all_settings() -> dict[str, dict]:
    """What each row of the table changes: nothing, one thing, or all that the recipe adds."""
    return {BASE: {}, **SWITCHES, ALL: RECIPE}


def spread(values: Sequence[float]) -> float:
    """The standard deviation over seeds (of a sample); 0 for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def group(runs: Iterable[Mapping], *keys: str) -> dict[tuple, list[Mapping]]:
    """Runs that agree in all of the keys, in the order in which they first come."""
    groups = {}
    for run in runs:
        groups.setdefault(tuple(run[key] for key in keys), []).append(run)
    return groups


def by_seed(runs: Iterable[Mapping], name: str) -> dict[int, Mapping]:
    return {run["seed"]: run for run in runs if run["name"] == name}


def compare_switches(runs: Sequence[Mapping]) -> list[dict]:
    """One row a name: mean and spread of the validation accuracy over seeds, and how it differs from BASE.

    Differences are taken seed by seed: equal seeds have the same split, order and, mostly, starting weights. Two or
    three seeds tell little about the spread of one row's differences, so all rows share one, pooled. A difference is
    called clear where it is more than twice its standard error; among twenty rows that change nothing, about one will
    be.

    Returns dicts with name, seeds, mean, spread, difference (of the mean), error (the standard error), train_loss,
    verdict. error is None, and so is the verdict, where no row has two seeds.

    Raises ValueError where a name lacks a seed that BASE has.
    """
    base = by_seed(runs, BASE)
    if not base:
        raise ValueError(f"there is no run called {BASE!r} to compare with")
    differences = {}
    for (name,) in group(runs, "name"):
        own = by_seed(runs, name)
        if own.keys() != base.keys():
            raise ValueError(f"{name!r} has the seeds {sorted(own)}, {BASE!r} has {sorted(base)}: run both with each")
        differences[name] = [own[seed]["accuracy"] - base[seed]["accuracy"] for seed in base]
    error = None
    if len(base) > 1 and len(differences) > 1:
        squares = [spread(values) ** 2 for name, values in differences.items() if name != BASE]
        error = (sum(squares) / len(squares) / len(base)) ** 0.5
    rows = []
    for name, values in differences.items():
        own = by_seed(runs, name).values()
        accuracies = [run["accuracy"] for run in own]
        difference = round(float(np.mean(values)), 6) + 0.0  # no -0.0
        rows.append(
            {
                "name": name,
                "seeds": len(own),
                "mean": float(np.mean(accuracies)),
                "spread": spread(accuracies),
                "difference": difference,
                "error": error,
                "train_loss": float(np.mean([run["train_loss"] for run in own])),
                "verdict": "" if name == BASE else judge(difference, error),
            }
        )
    return rows


def judge(difference: float, error: float | None) -> str | None:
    """ "helps", "hurts" or NO_DIFFERENCE; None where the error is not known."""
    if error is None:
        return None
    if abs(difference) <= 2 * error:
        return NO_DIFFERENCE
    return "helps" if difference > 0 else "hurts"


def what_helped(runs: Sequence[Mapping]) -> dict:
    """The changes of all single switches whose mean validation accuracy lies above BASE's, put together.

    Where two change the same thing, the better one is taken.
    """
    rows = [row for row in compare_switches(runs) if row["name"] in SWITCHES and row["difference"] > 0]
    changes = {}
    for row in sorted(rows, key=lambda row: row["difference"]):
        changes.update(SWITCHES[row["name"]])
    return changes


def best_name(runs: Sequence[Mapping]) -> str:
    """The name with the highest mean validation accuracy; of equals, the one with the lower loss."""

    def merit(name: str) -> tuple[float, float]:
        own = [run for run in runs if run["name"] == name]
        return np.mean([run["accuracy"] for run in own]), -np.mean([run["loss"] for run in own])

    return max((name for (name,) in group(runs, "name")), key=merit)


def format_switches(rows: Sequence[Mapping]) -> str:
    """The rows of compare_switches as a table of text."""
    table = [
        [
            row["name"],
            f"{row['mean']:.1%}",
            f"{row['spread']:.1%}",
            "" if row["name"] == BASE else f"{row['difference']:+.1%}",
            f"{row['train_loss']:.3f}",
            row["verdict"] or "",
        ]
        for row in rows
    ]
    return format_table(["setting", "validation", "spread", "difference", "training loss", "verdict"], table)


def format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of text, its columns lined up."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [head, *rows]]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


# The full runs


def read_full_results(path: Path | None = None) -> dict | None:
    """What `make results` has written, or None where it hasn't."""
    path = RESULTS if path is None else path
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def part_of(results: Mapping, part: str, held_out: str) -> list[dict]:
    """The runs of one part ("comparison", "switches", "data") that were measured on "validation" or "test" pictures."""
    return [run for run in results["runs"] if run["part"] == part and run["measured_on"] == held_out]


def describe(results: Mapping, part: str) -> str:
    """In one line what the runs of a part have in common."""
    runs = [run for run in results["runs"] if run["part"] == part]
    values = {key: sorted({run[key] for run in runs}) for key in ("data", "img_size", "precision", "seed")}
    sizes = ", ".join(map(str, values["img_size"]))
    return (
        f"{', '.join(values['data'])}, {sizes} pixels, {', '.join(values['precision'])}, {len(values['seed'])} seeds; "
        f"made by {results['command']} in {sum(run['seconds'] for run in runs) / 60:.0f} min"
    )


def markdown(results: Mapping) -> str:
    """docs/results.md: the tables of all parts, made from docs/results.json alone."""
    lines = [
        "# Results",
        "",
        f"Made from results.json by `{results['command']}`: {len(results['runs'])} runs, "
        f"{results['seconds'] / 60:.0f} minutes of training and testing.",
        "",
        *(f"- {machine}" for machine in results["machines"]),
        *(f"- Left out: {reason}." for reason in results["missing"]),
        "",
        "Accuracies are means over seeds, with the standard deviation over seeds behind the ±.",
    ]
    for title, part, make in (
        ("Scratch and pretrained", "comparison", comparison_rows),
        ("Switches, on the photos, from scratch", "switches", switch_rows),
        ("More data: drawn pictures, from scratch", "data", curve_rows),
    ):
        if any(run["part"] == part for run in results["runs"]):
            lines += ["", f"## {title}", "", f"{describe(results, part)}.", ""]
            for head, rows in make(results):
                lines += [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
                lines += [f"| {' | '.join(row)} |" for row in rows] + [""]
            lines.pop()
    return "\n".join(lines) + "\n"


def accuracy_of(runs: Sequence[Mapping], key: str = "accuracy") -> str:
    """The mean over runs, with the standard deviation where there are several."""
    values = [run[key] for run in runs]
    return f"{np.mean(values):.1%}" + (f" ± {spread(values):.1%}" if len(values) > 1 else "")


def comparison_rows(results: Mapping):
    """Two tables: the test accuracies, and the learning rates tried on validation pictures."""
    head = ["data", "model", "learning rate", "epochs", "updates", "seeds", "training", "test", "seconds"]
    rows = [
        [
            data,
            name,
            f"{runs[0]['learning_rate']:g}",
            str(runs[0]["epochs"]),
            str(runs[0]["updates"]),
            str(len(runs)),
            accuracy_of(runs, "train_accuracy"),
            accuracy_of(runs),
            f"{np.mean([run['seconds'] for run in runs]):.0f}",
        ]
        for (data, name), runs in group(part_of(results, "comparison", "test"), "data", "name").items()
    ]
    yield head, rows
    trials = group(part_of(results, "comparison", "validation"), "data", "name", "learning_rate")
    rows = [[data, name, f"{rate:g}", accuracy_of(runs)] for (data, name, rate), runs in trials.items()]
    yield ["data", "model", "learning rate tried", "validation"], rows


def switch_rows(results: Mapping):
    """Two tables: every setting by validation, and those that were trained on all images, by the test."""
    rows = compare_switches(part_of(results, "switches", "validation"))
    yield (
        ["setting", "validation", "difference", "training loss", "verdict"],
        [
            [
                row["name"],
                f"{row['mean']:.1%} ± {row['spread']:.1%}",
                f"{row['difference']:+.1%}",
                f"{row['train_loss']:.3f}",
                row["verdict"] or "",
            ]
            for row in rows
        ],
    )
    tested = group(part_of(results, "switches", "test"), "name")
    yield ["trained on all images", "test"], [[name, accuracy_of(runs)] for (name,), runs in tested.items()]


def curve_rows(results: Mapping):
    head = ["model", "images", "epochs", "updates", "seeds", "training", "test"]
    groups = group(part_of(results, "data", "test"), "name", "images", "epochs", "updates")
    rows = [
        [*map(str, key), str(len(runs)), accuracy_of(runs, "train_accuracy"), accuracy_of(runs)]
        for key, runs in groups.items()
    ]
    yield head, rows

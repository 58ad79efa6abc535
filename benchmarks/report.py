"""docs/performance.md, made from the numbers in docs/performance.json, and where every benchmark's result goes.

usage: python benchmarks/report.py [--build]

Without an argument the page is written anew. --build first takes what the benchmarks left in build/benchmarks.

Parts: models, loading, frozen, scratch (this folder's models.py and pipeline.py), memory and gpu. Each is a dict with
"command", "machine" and "rows". A part without a table of its own here is shown as its rows are: flat dicts whose keys
are the columns, with "notes", a list of sentences, below them.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from benchmarks.peers import BUILDERS, OURS  # noqa: E402
from going_modular.going_modular.machine import in_one_line  # noqa: E402

BUILD, DOCS = ROOT / "build" / "benchmarks", ROOT / "docs"
TRIED = ROOT / "benchmarks" / "tried.md"
MODELS, PIPELINE = "python benchmarks/models.py", "python benchmarks/pipeline.py"
PARTS = ("models", "loading", "frozen", "scratch", "memory", "gpu")
Table = tuple[list[str], list[list[str]]]


# Keeping


def store(part: str, result: dict, command: str, smoke: bool = False, write: bool = False) -> Path:
    """Keep a part's result, with the command and the machine, in build/benchmarks; with `write` in docs/ too."""
    result = {"command": command, "machine": in_one_line(), **result}
    path = (BUILD / "smoke" if smoke else BUILD) / f"{part}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"{part}: written to {path.relative_to(ROOT).as_posix()}")
    if write and not smoke:
        take({part: result})
    return path


def take(parts: Mapping[str, dict], folder: Path | None = None) -> None:
    """Put parts into docs/performance.json, in the place of what stood there, and write the page anew."""
    folder = DOCS if folder is None else folder
    path = folder / "performance.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    known |= parts
    path.write_text(json.dumps({part: known[part] for part in PARTS if part in known}, indent=1) + "\n", "utf-8")
    (folder / "performance.md").write_text(markdown(known), encoding="utf-8")


# Tables: (head, rows) of texts


def model_line(row: Mapping) -> str:
    ratio = row["ratio"]
    return (
        f"{setting_of(row)}: {row['images_per_second'][OURS]['median']:g} images a second, "
        f"{ratio['median']:.3f} of {row['fastest']}'s"
    )


def setting_of(row: Mapping) -> str:
    return f"{row['model']}, batch {row['batch']}, {row['mode']}, {row['precision']}"


def spread_of(ratio: Mapping) -> float:
    """The distance of the quartiles as a share of the median."""
    return (ratio["q3"] - ratio["q1"]) / ratio["median"]


def model_table(part: Mapping) -> Table:
    """Images a second of each ViT, median and quartiles, and ours beside the fastest of the others."""
    names = [name for name in BUILDERS if name in part["rows"][0]["images_per_second"]]
    head = ["setting", *names, "ours / fastest other", "quartile spread", "share of matmul peak", "rounds"]
    rows = []
    for row in part["rows"]:
        speeds = [row["images_per_second"][name] for name in names]
        rows.append(
            [
                setting_of(row),
                *(f"{speed['median']:.3g} ({speed['q1']:.3g} to {speed['q3']:.3g})" for speed in speeds),
                f"{row['ratio']['median']:.3f} ({row['fastest']})",
                f"{spread_of(row['ratio']):.1%}",
                f"{row['share_of_peak']:.0%}",
                str(row["rounds"]),
            ]
        )
    return head, rows


def model_verdict(rows: list[Mapping]) -> str:
    ratios = [row["ratio"]["median"] for row in rows]
    return (
        f"Ours reaches 0.97 of the fastest other ViT in {sum(ratio >= 0.97 for ratio in ratios)} of {len(rows)} "
        f"settings and is ahead of it in {sum(ratio > 1 for ratio in ratios)}. Quartile spread of the ratios: at most "
        f"{max(spread_of(row['ratio']) for row in rows):.1%}."
    )


def loading_table(part: Mapping) -> Table:
    head = ["way", "first epoch", "later epochs, median", "quartiles", "times the course's fastest"]
    fastest = max(row["later"]["median"] for row in part["rows"] if row["way"] != OURS)
    rows = [
        [
            row["way"],
            f"{row['first']:,.0f}",
            f"{row['later']['median']:,.0f}",
            f"{row['later']['q1']:,.0f} to {row['later']['q3']:,.0f}",
            f"{row['later']['median'] / fastest:.1f}",
        ]
        for row in part["rows"]
    ]
    return head, rows


def frozen_table(part: Mapping) -> Table:
    head = ["precision", "backbone in every epoch", "features once", "times faster", "largest difference of a loss"]
    rows = [
        [
            row["precision"],
            f"{row['every_epoch']:.0f} s",
            f"{row['once']:.1f} s",
            f"{row['every_epoch'] / row['once']:.1f}",
            f"{row['loss_difference']:.1e}",
        ]
        for row in part["rows"]
    ]
    return head, rows


def lesson_table(scratch: Mapping, frozen: Mapping) -> Table:
    """The lesson's whole CPU work: both trainings, the course's way and ours in each precision."""
    head = ["way", "from scratch", "new head", "together", "times faster", "accuracy from scratch, by seed", "mean"]
    every, once = ({row["precision"]: row[way] for row in frozen["rows"]} for way in ("every_epoch", "once"))
    rows, base = [], None
    for row in scratch["rows"]:
        first = statistics.median(row["seconds"])
        second = every["float32"] if row["way"] != OURS else once[row["precision"]]
        base = first + second if base is None else base  # the course's way comes first
        rows.append(
            [
                f"{row['way']}, {row['precision']}, dropout {row['dropout']:g}",
                f"{first:.0f} s",
                f"{second:.0f} s",
                f"{first + second:.0f} s",
                f"{base / (first + second):.1f}",
                ", ".join(f"{accuracy:.1%}" for accuracy in row["accuracies"]),
                f"{statistics.mean(row['accuracies']):.1%}",
            ]
        )
    return head, rows


def plain_table(part: Mapping) -> Table:
    """Rows as they are: their keys are the columns."""
    keys = list(dict.fromkeys(key for row in part["rows"] for key in row))
    return [key.replace("_", " ") for key in keys], [[cell(row.get(key)) for key in keys] for row in part["rows"]]


def cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if type(value) is int else str(value)


# The page


def markdown(parts: Mapping[str, Mapping]) -> str:
    """docs/performance.md, made from the parts of docs/performance.json and benchmarks/tried.md alone."""
    lines = [
        "# How fast it is",
        "",
        "Made from performance.json by `python benchmarks/report.py`. Times hold for the machine named above each",
        "table, with nothing else running on it; ratios carry over to other machines better than seconds do.",
    ]
    for title, names, words in SECTIONS:
        lines += ["", f"## {title}", "", *words]
        missing = [name for name in names if name not in parts]
        if missing:
            lines += ["", NOT_YET.get(missing[0], "Not measured yet.")]
            continue
        for machine in dict.fromkeys(parts[name]["machine"] for name in names):
            lines += ["", f"- Machine: {machine}"]
        lines += [f"- Command: `{command}`" for command in dict.fromkeys(parts[name]["command"] for name in names)]
        lines += ["", *table(*TABLES.get(names[-1], plain_table)(*(parts[name] for name in names)))]
        lines += [line for name in names for line in notes(name, parts[name])]
    return "\n".join([*lines, "", "## Tried, did not help", "", TRIED.read_text(encoding="utf-8").strip()]) + "\n"


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows)]


def notes(name: str, part: Mapping) -> list[str]:
    """What stands below a part's table, a paragraph each."""
    found = list(part.get("notes", []))
    if name == "models":
        peaks = ", ".join(f"{peak:,g} GFLOP/s in {precision}" for precision, peak in part["peaks_gflops"].items())
        found += [model_verdict(part["rows"]), f"Matmul peak of this machine: {peaks}."]
        found += [f"Versions: {', '.join(f'{peer} {version}' for peer, version in part['versions'].items())}."] * bool(
            part["versions"]
        )
        found += [f"Not installed, so not compared: {', '.join(part['missing'])}."] * bool(part["missing"])
    return [line for text in found for line in ("", text)]


NOT_YET = {"gpu": "Not measured yet on a GPU.", "models": f"Not measured yet: `{MODELS} --write` does."}
NOT_YET |= dict.fromkeys(("loading", "frozen", "scratch"), f"Not measured yet: `{PIPELINE} --write` does.")
TABLES = {"models": model_table, "loading": loading_table, "frozen": frozen_table}
TABLES["scratch"] = lambda frozen, scratch: lesson_table(scratch, frozen)
SECTIONS = (
    (
        "Our ViT beside others",
        ("models",),
        [
            "Images a second, median and quartiles over rounds. In a round all take turns, step by step, until each",
            "has computed for three seconds; a ratio is taken in each round. Training is forward, backward and one",
            "AdamW update, the same for all; bfloat16 is autocast. No dropout.",
            "In evaluation our last block computes the class token alone, the one row that Equation 4 reads.",
        ],
    ),
    (
        "Data",
        ("loading",),
        [
            "Images a second that come out of the DataLoaders, training and test images together. Ours is",
            '`cache="memory"`; its first epoch includes reading the pictures.',
        ],
    ),
    (
        "A frozen backbone",
        ("frozen",),
        [
            "A new head on a frozen ViT-B/16 for 10 epochs, from image files to the last test: the backbone asked in",
            "every epoch, and its features computed once. Same weights, same batches, same losses.",
        ],
    ),
    (
        "The whole lesson on a CPU",
        ("frozen", "scratch"),
        [
            "ViT-Ti/16 from scratch for 10 epochs, then a new head on a frozen ViT-B/16 for 10 epochs. The first line",
            "is the course's way: each image decoded in every epoch, dropout 0.1, Adam, float32, the backbone asked in",
            "every epoch. Times from scratch are medians over seeds; the new head's are those of the table above.",
        ],
    ),
    ("Memory", ("memory",), ["What one training step of ViT-B/16 takes, and what activation checkpointing saves."]),
    ("On a GPU", ("gpu",), ["ViT-B/16 from scratch for 10 epochs in each precision."]),
)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", action="store_true", help="take the results in build/benchmarks into docs/ first")
    options = parser.parse_args(arguments)
    files = [BUILD / f"{part}.json" for part in PARTS] if options.build else []
    take({path.stem: json.loads(path.read_text(encoding="utf-8")) for path in files if path.is_file()})
    print(f"written: {(DOCS / 'performance.md').relative_to(ROOT).as_posix()}")


if __name__ == "__main__":
    main()

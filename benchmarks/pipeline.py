"""The lesson's work done the course's way and ours, on the same images: data, a frozen backbone, and all of it.

usage: python benchmarks/pipeline.py [--data FOLDER] [--parts loading frozen scratch] [--seeds N] [--smoke] [--write]

loading: images a second out of the DataLoaders. frozen: a new head on a frozen ViT-B/16 with random weights, the
backbone asked in every epoch, and its features computed once. scratch: ViT-Ti/16 from random weights. The lesson's
whole CPU work is the sum of the last two. benchmarks/course.py is the course's way.

Let nothing else run meanwhile; on two cores it takes about an hour. Each part's result goes to build/benchmarks as
soon as it is there; --write also puts it into docs/.
"""

import argparse
import copy
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks import course, peers, report, timing  # noqa: E402
from going_modular.going_modular import data_setup, engine, features, recipes  # noqa: E402
from going_modular.going_modular.comparison import format_table  # noqa: E402
from going_modular.going_modular.precision import choose, full, in_precision  # noqa: E402
from going_modular.going_modular.sampling import ShuffledSampler  # noqa: E402
from going_modular.going_modular.torchvision_weights import load_torchvision_weights  # noqa: E402
from going_modular.going_modular.vit import VARIANTS, ViT, variant  # noqa: E402
from helper_functions import set_seeds  # noqa: E402

TINY = variant(patch_size=16, layers=2, hidden_size=48, mlp_size=96, heads=3)
TOLERANCES = {"float32": 1e-3, "bfloat16": 3e-2}  # by how much the losses of the two ways may differ
COURSE = "the course's"


@dataclass(frozen=True)
class Work:
    """How much there is to do, on which pictures."""

    data: Path
    img_size: int = 224
    batch: int = 32
    epochs: int = 10
    loading_epochs: int = 8
    scratch: dict[str, int] = field(default_factory=lambda: VARIANTS["ViT-Ti/16"])
    frozen: dict[str, int] = field(default_factory=lambda: VARIANTS["ViT-B/16"])
    classes: int = 3

    def course_loaders(self, workers: int | None = None) -> tuple[DataLoader, DataLoader]:
        return course.loaders(self.data, self.img_size, self.batch, workers)

    def our_loaders(self, seed: int = 42) -> tuple[DataLoader, DataLoader]:
        folders, transform = (self.data / "train", self.data / "test"), data_setup.create_transform(self.img_size)
        return data_setup.create_dataloaders(*folders, transform, self.batch, seed=seed, cache="memory")[:2]


# (a) Data


def loading(work: Work) -> dict:
    """Images a second of each way in its first epoch, and in the later ones, which take turns."""
    makers = {
        f"{COURSE}, a worker for each core": work.course_loaders,
        f"{COURSE}, no workers": lambda: work.course_loaders(0),
        peers.OURS: work.our_loaders,
    }
    first, reads = {}, {}
    for name, make in makers.items():
        start = time.perf_counter()
        loaders = make()
        images = read(loaders)
        first[name] = images / (time.perf_counter() - start)
        reads[name] = lambda loaders=loaders: read(loaders)
    seconds = timing.interleaved(reads, work.loading_epochs - 1)
    later = {name: timing.quartiles([images / each for each in times]) for name, times in seconds.items()}
    return {"rows": [{"way": name, "first": round(first[name], 1), "later": later[name]} for name in makers]}


def read(loaders: Iterable[DataLoader]) -> int:
    """Go through the loaders once; the number of images."""
    return sum(len(labels) for loader in loaders for _, labels in loader)


# (b) A frozen backbone


def frozen(work: Work) -> dict:
    """The seconds of both ways in each precision, and by how much their losses differ at most."""
    torch.manual_seed(0)
    theirs = peers.torchvisions(work.frozen, work.img_size, work.classes)
    rows = []
    for precision in timing.DTYPES:
        every, seconds = timed(lambda: backbone_every_epoch(work, copy.deepcopy(theirs), precision))  # noqa: B023
        once, less = timed(lambda: features_once(work, theirs.state_dict(), precision))  # noqa: B023
        difference = max(abs(a - b) for key in ("train_loss", "test_loss") for a, b in zip(every[key], once[key]))
        rows.append(
            {
                "precision": precision,
                "every_epoch": round(seconds, 2),
                "once": round(less, 2),
                "loss_difference": difference,
                "test_acc": [every["test_acc"][-1], once["test_acc"][-1]],
                "train_loss": [every["train_loss"][-1], once["train_loss"][-1]],
            }
        )
    return {"rows": rows}


def differing(part: dict) -> str:
    """Where the losses of the two ways are not the same, in words; "" where they are."""
    wrong = [row for row in part["rows"] if not row["loss_difference"] <= TOLERANCES[row["precision"]]]
    return "; ".join(f"{row['precision']}: losses differ by {row['loss_difference']:.2g}" for row in wrong)


def timed(function: Callable[[], dict]) -> tuple[dict, float]:
    """What a function returns, and its seconds."""
    found = {}
    seconds = timing.seconds_of(lambda: found.update(function()))
    return found, seconds


def backbone_every_epoch(work: Work, model: nn.Module, precision: str) -> dict:
    """The course's way: torchvision's model, all images through the frozen backbone in every epoch."""
    features.freeze(model)
    train, test = work.course_loaders()
    train = course.in_order_of(train, ShuffledSampler(train.dataset, seed=1))
    optimizer = torch.optim.Adam(features.head_of(model).parameters(), lr=1e-3)
    return course.train(under_autocast(model, precision), train, test, optimizer, work.epochs)


def features_once(work: Work, weights: dict, precision: str) -> dict:
    """Our way: the same weights in our ViT, each image through the backbone once, and the head trained on that."""
    model = ViT(img_size=work.img_size, num_classes=work.classes, mlp_dropout=0.0, embedding_dropout=0.0, **work.frozen)
    load_torchvision_weights(model, weights)
    train, test = (in_file_order(loader) for loader in work.our_loaders())
    with in_precision(precision, "cpu"):
        kept = [features.extract_features(model, loader, "cpu") for loader in (train, test)]
    train_set, test_set = (TensorDataset(known.float(), labels) for known, labels in kept)
    sampler = ShuffledSampler(train_set, seed=1)
    loaders = DataLoader(train_set, work.batch, sampler=sampler), DataLoader(test_set, work.batch)
    head = features.head_of(model)
    optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
    loss_fn = nn.CrossEntropyLoss()
    return engine.train(head, *loaders, optimizer, loss_fn, work.epochs, "cpu", precision=precision)


def in_file_order(loader: DataLoader) -> DataLoader:
    """The same loader, unshuffled: the order of the features is then that of the files."""
    return type(loader)(loader.dataset, loader.batch_size, collate_fn=loader.collate_fn)


def under_autocast(model: nn.Module, precision: str) -> nn.Module:
    """The model, with a forward pass in that precision and logits in float32: the course's loop knows nothing of it."""
    forward = model.forward

    def run(images: torch.Tensor) -> torch.Tensor:
        with in_precision(precision, "cpu"):
            logits = forward(images)
        return full(logits)

    model.forward = run
    return model


# (c) From scratch


def scratch(work: Work, seeds: int) -> dict:
    """Seconds and test accuracy of each way and seed; the ways take turns."""
    ways = [(COURSE, "float32", 0.1)]
    ways += [(peers.OURS, precision, dropout) for dropout in (0.1, 0.0) for precision in timing.DTYPES]
    rows = [
        {"way": way, "precision": precision, "dropout": dropout, "seconds": [], "accuracies": []}
        for way, precision, dropout in ways
    ]
    for seed in range(1, seeds + 1):
        for row in rows:
            train = course_scratch if row["way"] == COURSE else our_scratch
            arguments = (work, seed, row["precision"], row["dropout"])
            results, seconds = timed(lambda: train(*arguments))  # noqa: B023
            row["seconds"].append(round(seconds, 2))
            row["accuracies"].append(results["test_acc"][-1])
            print(
                f"{row['way']}, {row['precision']}, dropout {row['dropout']}, seed {seed}: {seconds:.1f} s", flush=True
            )
    return {"rows": rows, "notes": [f'`precision="auto"` takes {choose("auto", "cpu")} on this machine.']}


def course_scratch(work: Work, seed: int, _precision: str, dropout: float) -> dict:
    set_seeds(seed)
    model = course.PlainViT(work.scratch, work.img_size, work.classes, dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.999), weight_decay=0.3)
    return course.train(model, *work.course_loaders(), optimizer, work.epochs)


def our_scratch(work: Work, seed: int, precision: str, dropout: float) -> dict:
    set_seeds(seed)
    model = ViT(
        img_size=work.img_size,
        num_classes=work.classes,
        mlp_dropout=dropout,
        embedding_dropout=dropout,
        **work.scratch,
    )
    optimizer = recipes.build_optimizer(model, learning_rate=1e-3, weight_decay=0.03)
    loaders, loss_fn = work.our_loaders(seed), nn.CrossEntropyLoss()
    return engine.train(model, *loaders, optimizer, loss_fn, work.epochs, "cpu", precision=precision)


PARTS = ("loading", "frozen", "scratch")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="a folder with train/ and test/, three classes each (the food data)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what to measure (all)")
    parser.add_argument("--seeds", type=int, default=3, help="trainings from scratch of each way (%(default)s)")
    parser.add_argument("--smoke", action="store_true", help="everything at toy size, to see that it works")
    parser.add_argument("--write", action="store_true", help="put the results into docs/performance.json and .md")
    options = parser.parse_args(arguments)
    if options.smoke and options.write:
        parser.error("argument --write: not with --smoke, whose numbers say nothing")
    if options.seeds < 1:
        parser.error(f"argument --seeds: {options.seeds} is less than 1")
    if options.data and not all((options.data / split).is_dir() for split in ("train", "test")):
        parser.error(f"argument --data: {options.data} does not hold the folders train and test")
    food = None if options.data else data_setup.get_food_data()
    work, kind = Work(options.data or food.path), food.kind if food else "a folder of one's own"
    if options.smoke:
        work = Work(work.data, 32, 4, epochs=2, loading_epochs=3, scratch=TINY, frozen=TINY)
    functions = {"loading": loading, "frozen": frozen, "scratch": lambda work: scratch(work, options.seeds)}
    results = {}
    for part in PARTS:
        if part in options.parts:
            results[part] = {"data": kind, **functions[part](work)}
            if part in report.TABLES and part != "scratch":
                print(f"\n{format_table(*report.TABLES[part](results[part]))}\n")
            wrong = differing(results[part]) if part == "frozen" else ""
            report.store(part, results[part], report.PIPELINE, options.smoke, options.write and not wrong)
            if wrong:
                sys.exit(f"{wrong}: the two ways did not do the same work, and their times can't be compared")
    if {"frozen", "scratch"} <= results.keys():
        print(f"\n{format_table(*report.lesson_table(results['scratch'], results['frozen']))}")


if __name__ == "__main__":
    main()

"""ViT-B/16 from scratch on one CUDA GPU, 10 epochs in each precision: images a second, accuracy, memory, share of peak.

usage: python benchmarks/gpu.py [--data FOLDER] [--epochs N] [--batch-size N] [--minutes N] [--write]

float32, TF32, bfloat16, and bfloat16 with torch.compile, each from the same weights on the same images in the same
order. The images (a folder with train/ and test/, or the food data) are read once and lie on the GPU, so that the model
alone is timed. A setting that would not be done within --minutes, 8 if not given, is left out with a word. The result
goes to build/benchmarks/gpu.json; --write also puts it into docs/.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from benchmarks import report, timing  # noqa: E402
from going_modular.going_modular import acceleration, data_setup, engine, experiments, precision, recipes  # noqa: E402
from going_modular.going_modular.comparison import format_table  # noqa: E402
from going_modular.going_modular.experiments import Pictures, Settings  # noqa: E402
from going_modular.going_modular.vit import VARIANTS, ViT  # noqa: E402
from helper_functions import set_seeds  # noqa: E402

PEAK_SIDE = 8192  # of the square matrices that the card's peak is measured with


@dataclass(frozen=True)
class Case:
    name: str
    precision: str
    tf32: bool = False
    compiled: bool = False


CASES = (
    Case("float32", "float32"),
    Case("TF32", "float32", tf32=True),
    Case("bfloat16", "bfloat16"),
    Case("bfloat16, compiled", "bfloat16", compiled=True),
)


class OnDevice:
    """Batches of pictures that lie on the device, in an order by seed and epoch; the last, smaller one is left out.

    One shape for all batches, so that torch.compile compiles once. For a test all pictures come, in their order.
    """

    def __init__(self, pictures: Pictures, batch_size: int, device: str, shuffled: bool) -> None:
        self.images, self.labels = pictures.images.to(device), pictures.labels.to(device)
        self.batch_size, self.shuffled, self.epoch = batch_size, shuffled, 0

    def __len__(self) -> int:
        count = len(self.labels)
        return count // self.batch_size if self.shuffled else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        order = torch.arange(len(self.labels))
        if self.shuffled:
            order = torch.randperm(len(order), generator=torch.Generator().manual_seed(self.epoch))
            self.epoch += 1
        for numbers in list(order.to(self.labels.device).split(self.batch_size))[: len(self)]:
            yield experiments.prepare(self.images[numbers], Settings(), self.labels.device), self.labels[numbers]


def seconds_of(work, device: str) -> tuple[object, float]:
    """What a call gives, and the seconds until the device has done it."""
    precision.synchronise(device)
    start = time.perf_counter()
    given = work()
    precision.synchronise(device)
    return given, time.perf_counter() - start


def peak_of(case: Case, device: str, side: int = PEAK_SIDE) -> float:
    """The most floating-point operations a second that a product of two square matrices reaches in this precision."""
    kind = getattr(torch, case.precision)
    one, other = (torch.randn(side, side, device=device).to(kind) for _ in range(2))
    best = min(seconds_of(lambda: one @ other, device)[1] for _ in range(6))
    return 2 * side**3 / best


def train(
    case: Case, model: str, img_size: int, data: dict[str, Pictures], epochs: int, batch: int, device: str
) -> dict:
    """One training: a row of the table."""
    set_seeds(42)
    classes = int(data["train"].labels.max()) + 1
    bare = ViT.from_variant(model, classes, img_size).to(device)
    train_batches = OnDevice(data["train"], batch, device, shuffled=True)
    test_batches = OnDevice(data["test"], batch, device, shuffled=False)
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    with precision.tf32(case.tf32):
        peak = peak_of(case, device, PEAK_SIDE if device == "cuda" else 512)
        vit, compiling = bare, 0.0
        if case.compiled:
            shape = (batch, 3, img_size, img_size)
            vit, compiling = seconds_of(
                lambda: acceleration.compile_or_say_why(bare, shape, device, case.precision), device
            )
        optimizer = recipes.build_optimizer(bare, 3e-4, 0.03)
        updates = epochs * len(train_batches)
        schedule = recipes.build_schedule(optimizer, updates, updates // 10, "cosine")
        loss_fn, speeds = nn.CrossEntropyLoss(), []
        for _ in range(epochs):
            (loss, _), seconds = seconds_of(
                lambda: engine.train_step(
                    vit, train_batches, loss_fn, optimizer, device, schedule, precision=case.precision
                ),
                device,
            )
            speeds.append(len(train_batches) * batch / seconds)
        _, accuracy = engine.test_step(bare, test_batches, loss_fn, device, precision=case.precision)
    speed = statistics.median(speeds[1:] or speeds)  # the first epoch warms up
    row = {
        "precision": case.name if vit is not bare or not case.compiled else f"{case.name}: not possible here",
        "images a second": float(f"{speed:.4g}"),
        "slowest to fastest epoch": f"{min(speeds[1:] or speeds):.4g} to {max(speeds[1:] or speeds):.4g}",
        "training loss": round(loss, 3),
        "test accuracy": f"{accuracy:.1%}",
        "memory, GB": round(torch.cuda.max_memory_allocated() / 1e9, 2) if device == "cuda" else None,
        "share of matmul peak": f"{3 * speed * timing.operations(VARIANTS[model], img_size, classes) / peak:.0%}",
        "matmul peak, TFLOP/s": float(f"{peak / 1e12:.4g}"),
        "compiling, s": round(compiling, 1) if case.compiled else None,
    }
    return row


def measure(model: str, img_size: int, data: dict, epochs: int, batch: int, minutes: float, device: str) -> dict:
    """All cases that fit into the time."""
    rows, notes, start, longest = [], [], time.perf_counter(), 0.0
    for case in CASES:
        begun = time.perf_counter()
        if begun - start + longest > 60 * minutes:
            notes.append(f"{case.name} was left out: it would not have been done within {minutes:g} minutes.")
            print(notes[-1])
            continue
        rows.append(
            {
                "model": model,
                "batch": batch,
                "epochs": epochs,
                **train(case, model, img_size, data, epochs, batch, device),
            }
        )
        longest = max(longest, time.perf_counter() - begun)
        print(", ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    notes.append(
        "Images a second: the median over epochs but the first. Share of peak: of what a product of two matrices of "
        f"{PEAK_SIDE} rows and columns reaches on this card in the same precision."
    )
    return {"gpu": torch.cuda.get_device_name() if device == "cuda" else device, "rows": rows, "notes": notes}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--data", type=Path, help="a folder with train/ and test/, a folder a class in each (the food data)")
    add("--epochs", type=int, default=10, help="passes over the training images (%(default)s)")
    add("--batch-size", type=int, default=32, help="images an update (%(default)s)")
    add("--minutes", type=float, default=8.0, help="what is not done by then is left out (%(default)s)")
    add("--smoke", action="store_true", help="a small model on the CPU, to see that it works")
    add("--write", action="store_true", help="put the result into docs/ too")
    options = parser.parse_args(arguments)
    if not options.smoke and not torch.cuda.is_available():
        sys.exit("This benchmark needs a CUDA GPU, and PyTorch finds none here: nothing was measured.")
    device, model, img_size = ("cpu", "ViT-Ti/16", 32) if options.smoke else ("cuda", "ViT-B/16", 224)
    folder = options.data or data_setup.get_food_data().path
    data = {split: experiments.load_pictures(folder / split, img_size) for split in ("train", "test")}
    result = measure(model, img_size, data, options.epochs, options.batch_size, options.minutes, device)
    rows = [["" if value is None else str(value) for value in row.values()] for row in result["rows"]]
    print(format_table(list(result["rows"][0]), rows), *result["notes"], sep="\n")
    command = f"python benchmarks/gpu.py --epochs {options.epochs} --batch-size {options.batch_size}"
    report.store("gpu", result, command, options.smoke, options.write)


if __name__ == "__main__":
    main()

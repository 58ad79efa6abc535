"""The memory that one training step of ViT-B/16 takes at its peak, with and without activation checkpointing.

usage: python benchmarks/memory.py [--micro-batch N] [--smoke] [--write]

Each case is a process of its own: imports, model, then two steps (forward, backward, AdamW) on the CPU; from the second
on, AdamW's averages are there while a batch goes through. Measured is the system's own mark of the most memory that the
process ever held. Linux and macOS tell it, Windows doesn't. The result goes to build/benchmarks/memory.json; --write
also puts it into docs/.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from benchmarks import report  # noqa: E402
from going_modular.going_modular import acceleration, recipes, updates  # noqa: E402
from going_modular.going_modular.comparison import format_table  # noqa: E402
from going_modular.going_modular.vit import ViT  # noqa: E402

CASES = [(precision, checkpointing) for precision in ("float32", "bfloat16") for checkpointing in (False, True)]
MEGABYTE = 10**6


def peak() -> int:
    """The most bytes that this process has held so far."""
    import resource  # Windows has none

    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def two_steps(model: str, img_size: int, micro_batch: int, precision: str, checkpointing: bool) -> dict:
    """One case, in this process: {"before": bytes with the model built, "peak": the most bytes}."""
    torch.manual_seed(0)
    vit = ViT.from_variant(model, img_size=img_size)
    if checkpointing:
        acceleration.checkpoint_activations(vit)
    optimizer = recipes.build_optimizer(vit, 1e-3, 0.1)
    images, labels = torch.randn(micro_batch, 3, img_size, img_size), torch.arange(micro_batch)
    before = peak()
    for _ in range(2):
        optimizer.zero_grad()
        window = updates.cut(images, labels)
        updates.run_window(vit, window, F.cross_entropy, "cpu", precision, torch.Tensor.backward)
        updates.step(optimizer)
    return {"before": before, "peak": peak()}


def in_a_process(*case) -> dict:
    """two_steps in a fresh Python."""
    done = subprocess.run(
        [sys.executable, __file__, "--case", json.dumps(case)], capture_output=True, text=True, encoding="utf-8"
    )
    if done.returncode:
        raise RuntimeError(f"the case {case} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(model: str, img_size: int, micro_batch: int) -> dict:
    """A row for each case, and what checkpointing saves, in words."""
    rows, found = [], {}
    for precision, checkpointing in CASES:
        result = in_a_process(model, img_size, micro_batch, precision, checkpointing)
        found[precision, checkpointing] = result["peak"] - result["before"]
        rows.append(
            {
                "model": f"{model}, {img_size} pixels",
                "micro-batch": micro_batch,
                "precision": precision,
                "activation checkpointing": "yes" if checkpointing else "no",
                "MB before the step": round(result["before"] / MEGABYTE),
                "MB at the peak": round(result["peak"] / MEGABYTE),
            }
        )
    notes = [
        "Before the step: Python, PyTorch and the weights. Training adds gradients, AdamW's two averages a weight, and "
        "the activations that wait for the backward pass; checkpointing takes from the last alone.",
    ]
    for precision in dict.fromkeys(precision for precision, _ in CASES):
        plain, saved = found[precision, False], found[precision, False] - found[precision, True]
        notes.append(
            f"In {precision}, activation checkpointing saves {saved / MEGABYTE:,.0f} MB of the "
            f"{plain / MEGABYTE:,.0f} MB that training adds."
        )
    return {"rows": rows, "notes": notes}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--micro-batch", type=int, default=4, help="images in the step (%(default)s)")
    parser.add_argument("--smoke", action="store_true", help="a small model, to see that it works")
    parser.add_argument("--write", action="store_true", help="put the result into docs/ too")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.case:
        print(json.dumps(two_steps(*json.loads(options.case))))
        return
    if sys.platform == "win32":
        sys.exit("Windows doesn't tell a process's peak memory: run this on Linux or macOS")
    model, img_size = ("ViT-Ti/16", 64) if options.smoke else ("ViT-B/16", 224)
    result = measure(model, img_size, options.micro_batch)
    rows = [[str(value) for value in row.values()] for row in result["rows"]]
    print(format_table(list(result["rows"][0]), rows), *result["notes"], sep="\n")
    command = f"python benchmarks/memory.py --micro-batch {options.micro_batch}"
    report.store("memory", result, command, options.smoke, options.write)


if __name__ == "__main__":
    main()

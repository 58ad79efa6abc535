"""How fast our ViT is beside others: images a second in training and evaluation, float32 and bfloat16.

usage: python benchmarks/models.py [--seconds N] [--smoke] [--write]

Compared with torchvision, an nn.TransformerEncoder ViT, and timm and vit-pytorch where they are installed
(benchmarks/requirements.txt): ViT-Ti/16 at batch 32 and ViT-B/16 at batch 8, dropout 0. A training step is forward,
backward and an AdamW update, the same AdamW for all; bfloat16 is autocast. All take turns, step by step; a ratio is
taken of rounds in which each has computed for three seconds or more.

Let nothing else run meanwhile. The result goes to build/benchmarks/models.json; --write also puts it into docs/.
"""

import argparse
import gc
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks import peers, report, timing  # noqa: E402
from going_modular.going_modular.comparison import format_table  # noqa: E402
from going_modular.going_modular.precision import in_precision  # noqa: E402
from going_modular.going_modular.vit import VARIANTS, variant  # noqa: E402

TINY = variant(patch_size=16, layers=2, hidden_size=48, mlp_size=96, heads=3)
LEAST_ROUNDS, MOST_ROUNDS = 5, 60
ROUND = 3.0  # seconds that each computes in a round at least, in as many steps as that needs: one step says little


@dataclass(frozen=True)
class Setting:
    model: str
    batch: int
    mode: str  # "training" or "evaluation"
    precision: str  # "float32" or "bfloat16"


def settings_of(models: Mapping[str, int]) -> list[Setting]:
    """Every mode and precision of each model, given as {name: batch}."""
    return [
        Setting(model, batch, mode, precision)
        for model, batch in models.items()
        for mode in ("training", "evaluation")
        for precision in timing.DTYPES
    ]


def step_of(model: nn.Module, setting: Setting, images: torch.Tensor, labels: torch.Tensor) -> Callable[[], None]:
    """One training step or one evaluation of a batch, as a function without arguments."""
    if setting.mode == "evaluation":
        model.eval()

        def evaluate() -> None:
            with torch.inference_mode(), in_precision(setting.precision, "cpu"):
                model(images)

        return evaluate
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def train() -> None:
        optimizer.zero_grad()
        with in_precision(setting.precision, "cpu"):
            loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()

    return train


def measure(
    setting: Setting, config: Mapping[str, int], img_size: int, classes: int, seconds: float, peak: float
) -> dict:
    """A row of the table: the images a second of each ViT, and ours beside the fastest of the others.

    seconds is about how long it may take; at least LEAST_ROUNDS are run. peak is the machine's matmul peak.
    """
    torch.manual_seed(0)
    images, labels = torch.randn(setting.batch, 3, img_size, img_size), torch.arange(setting.batch) % classes
    steps = {
        name: step_of(build(config, img_size, classes), setting, images, labels)
        for name, build in peers.available().items()
    }
    timing.interleaved(steps, 1)  # warms up: memory, the optimizer's state
    a_step = {name: taken[0] for name, taken in timing.interleaved(steps, 1).items()}
    count = math.ceil(ROUND / min(a_step.values())) if seconds else 1
    rounds = min(max(round(seconds / (count * sum(a_step.values()))), LEAST_ROUNDS), MOST_ROUNDS)
    times = timing.interleaved(steps, rounds, passes=count)
    del steps
    gc.collect()  # five models and their optimizers, before the next five
    images_a_round = count * setting.batch
    speeds = {name: timing.quartiles([images_a_round / each for each in taken]) for name, taken in times.items()}
    fastest = max((name for name in speeds if name != peers.OURS), key=lambda name: speeds[name]["median"])
    ratios = timing.quartiles([peer / own for own, peer in zip(times[peers.OURS], times[fastest])])
    training = setting.mode == "training"
    done = timing.operations(config, img_size, classes, class_token_alone=not training) * (3 if training else 1)
    used = done * speeds[peers.OURS]["median"]
    return {
        **asdict(setting),
        "rounds": rounds,
        "steps_a_round": count,
        "images_per_second": speeds,
        "fastest": fastest,
        "ratio": ratios,
        "share_of_peak": float(f"{used / peak:.4g}"),
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=300, help="for each of the eight settings (%(default)g)")
    parser.add_argument("--smoke", action="store_true", help="everything at toy size, to see that it works")
    parser.add_argument("--write", action="store_true", help="put the result into docs/performance.json and .md")
    options = parser.parse_args(arguments)
    if options.smoke and options.write:
        parser.error("argument --write: not with --smoke, whose numbers say nothing")
    if not (options.seconds >= 0 and math.isfinite(options.seconds)):
        parser.error(f"argument --seconds: {options.seconds} is not a number of at least 0")
    models, img_size, classes, seconds = {"ViT-Ti/16": 32, "ViT-B/16": 8}, 224, 1000, options.seconds
    configs, sizes = VARIANTS, timing.PEAK_SIZES
    if options.smoke:
        models, img_size, classes, seconds = {"a toy": 2}, 32, 3, 0
        configs, sizes = {"a toy": TINY}, (64,)
    missing = [name for name in peers.BUILDERS if name not in peers.available()]
    for name in missing:
        print(f"{name} is not installed and left out: python -m pip install -r benchmarks/requirements.txt")
    peaks = {precision: timing.matmul_peak(precision, sizes) for precision in timing.DTYPES}
    rows = []
    for setting in settings_of(models):
        row = measure(setting, configs[setting.model], img_size, classes, seconds, peaks[setting.precision])
        rows.append(row)
        print(report.model_line(row), flush=True)
    result = {
        "versions": peers.versions(list(peers.available())),
        "missing": missing,
        "peaks_gflops": {precision: round(peak / 1e9, 1) for precision, peak in peaks.items()},
        "rows": rows,
    }
    print(f"\n{format_table(*report.model_table(result))}\n\n{report.model_verdict(rows)}")
    report.store("models", result, report.MODELS, smoke=options.smoke, write=options.write)


if __name__ == "__main__":
    main()

"""What the benchmarks share: the clock, quartiles, the matmul peak, and counting operations."""

import gc
import statistics
import time
from collections.abc import Callable, Mapping

import torch

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
PEAK_SIZES = (1024, 2048, 4096)  # sides of the square matrices that the peak is looked for with


def seconds_of(work: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def interleaved(works: Mapping[str, Callable[[], object]], rounds: int, passes: int = 1) -> dict[str, list[float]]:
    """The seconds of each work in each round: in every pass of a round all take a turn, beginning with another.

    A machine that slows down for a while then slows all alike, and what runs after whom changes. The more passes a
    round has, the better it evens out a slow second. Python's garbage collector, which would stop one of them at any
    time, waits for the end.
    """
    names, seconds = list(works), {name: [0.0] * rounds for name in works}
    gc.disable()
    try:
        for number in range(rounds * passes):
            first = number % len(names)
            for name in names[first:] + names[:first]:
                seconds[name][number // passes] += seconds_of(works[name])
    finally:
        gc.enable()
    return seconds


def quartiles(values: list[float]) -> dict[str, float]:
    """{"q1", "median", "q3"}, to four significant digits."""
    cuts = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return {name: float(f"{cut:.4g}") for name, cut in zip(("q1", "median", "q3"), cuts)}


def matmul_peak(precision: str, sizes: tuple[int, ...] = PEAK_SIZES, repeats: int = 5) -> float:
    """The most floating-point operations a second that multiplying two square matrices reaches here."""
    best = 0.0
    for size in sizes:
        one, other = (torch.randn(size, size).to(DTYPES[precision]) for _ in range(2))
        torch.mm(one, other)
        best = max(best, *(2 * size**3 / seconds_of(lambda: torch.mm(one, other)) for _ in range(repeats)))  # noqa: B023
    return best


def operations(config: Mapping[str, int], img_size: int, num_classes: int, class_token_alone: bool = False) -> int:
    """Floating-point operations of one image on its way through a ViT: two for each multiplication in a matmul.

    config is a row of vit.VARIANTS. class_token_alone: of the last block's output one row is computed. A training step
    takes three times as many: the backward pass does each matmul twice, once for the input's gradient and once for the
    weights'.
    """
    patches = (img_size // config["patch_size"]) ** 2
    tokens, width = patches + 1, config["embedding_dim"]

    def block(rows: int) -> int:
        projections = 2 * tokens * width**2 + rows * (2 * width**2 + 2 * width * config["mlp_size"])  # k, v; the rest
        return projections + 2 * rows * tokens * width  # q times k, and the weights times v

    embedding = patches * 3 * config["patch_size"] ** 2 * width
    last = block(1 if class_token_alone else tokens)
    blocks = (config["num_transformer_layers"] - 1) * block(tokens) + last
    return 2 * (embedding + blocks + width * num_classes)

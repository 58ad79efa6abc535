"""In how many bits a model computes: float32, bfloat16 or float16, and what this machine is fastest with.

"Mixed" precision: weights, gradients and optimizer stay in float32, matrix products run in 16 bits under autocast.
"""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache

import torch
import torch.nn.functional as F

PRECISIONS = ("float32", "bfloat16", "float16")
CHOICES = ("auto", *PRECISIONS)
FASTER = 1.1  # 16 bits are taken where they are at least so many times as fast as 32: they cost digits
TOKENS = {"cpu": 788, "cuda": 32768, "mps": 8192}  # rows of the product that is timed; a GPU yawns at few
WIDTH, MLP_SIZE = 384, 1536  # ViT-S/16's
REPEATS = 4  # the first warms up, the quickest counts


def choose(wish: str, device: torch.device | str) -> str:
    """One of PRECISIONS for a wish in CHOICES.

    "auto" asks the hardware which kind of 16 bits it has of its own: bfloat16, or float16 on a GPU without it (such as
    a T4). That kind is taken where a forward and backward pass through an MLP takes clearly less time with it, measured
    once a process; else float32.

    Raises ValueError for another wish.
    """
    if wish not in CHOICES:
        raise ValueError(f"precision is {wish!r}: choose one of {', '.join(map(repr, CHOICES))}")
    if wish != "auto":
        return wish
    kind = torch.device(device).type
    half = sixteen_bits(kind)
    return half if is_faster(half, kind) else "float32"


def sixteen_bits(kind: str) -> str:
    """The kind of 16 bits that a device of this type may be fast with."""
    native = kind != "cuda" or torch.cuda.is_bf16_supported(including_emulation=False)
    return "bfloat16" if native else "float16"


@cache
def is_faster(precision: str, kind: str) -> bool:
    """Whether this machine is clearly faster with it than with float32, on devices of this type ("cpu", "cuda", "mps").

    Measured at the first call. A device that can't do it at all is not faster.
    """
    try:
        best = dict.fromkeys(("float32", precision), float("inf"))
        for _ in range(REPEATS):
            for name in best:  # in turn, so that what else runs here slows both
                best[name] = min(best[name], seconds_of_a_pass(name, kind))
    except (RuntimeError, TypeError, KeyError):
        return False
    return best["float32"] > FASTER * best[precision]


def seconds_of_a_pass(precision: str, kind: str) -> float:
    """Time of an MLP's forward and backward pass. Its numbers are constants: no random state moves."""
    first = torch.full((MLP_SIZE, WIDTH), 0.01, device=kind, requires_grad=True)
    second = torch.full((WIDTH, MLP_SIZE), 0.01, device=kind, requires_grad=True)
    tokens = torch.full((TOKENS[kind], WIDTH), 0.5, device=kind, requires_grad=True)
    synchronise(kind)
    start = time.perf_counter()
    with in_precision(precision, kind):
        out = F.linear(F.gelu(F.linear(tokens, first)), second)
    out.float().sum().backward()
    synchronise(kind)
    return time.perf_counter() - start


def synchronise(device: torch.device | str) -> None:
    """Wait until the device has done what it was given: without this a GPU's work would go on after the clock."""
    kind = torch.device(device).type
    if kind in ("cuda", "mps"):
        getattr(torch, kind).synchronize()


def in_precision(precision: str, device: torch.device | str) -> AbstractContextManager:
    """Autocast to 16 bits, or nothing for float32. For the forward pass alone: backward follows what it finds."""
    if precision == "float32":
        return nullcontext()
    return torch.autocast(torch.device(device).type, getattr(torch, precision))


def full(logits: torch.Tensor) -> torch.Tensor:
    """Logits in 32 bits, for a loss that adds up many small numbers; those of 32 or 64 as they are."""
    return logits.float() if logits.dtype in (torch.bfloat16, torch.float16) else logits


def grad_scaler(precision: str, device: torch.device | str) -> torch.amp.GradScaler | None:
    """float16 ends at 6e-8: a scaler lifts small gradients above it. The other two have the range; None for them."""
    return torch.amp.GradScaler(torch.device(device).type) if precision == "float16" else None


@contextmanager
def tf32(wanted: bool) -> Iterator[None]:
    """Inside, matrix products of float32 may be computed with 10 bits after the point (TF32) where a GPU has that.

    A process-wide setting of PyTorch's, put back afterwards. False changes nothing.
    """
    products, convolutions = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    try:
        if wanted:
            torch.set_float32_matmul_precision("high")
            torch.backends.cudnn.allow_tf32 = True
        yield
    finally:
        if wanted:
            torch.set_float32_matmul_precision(products)
            torch.backends.cudnn.allow_tf32 = convolutions

"""nn.Dropout on a CPU, from 16 random bits a number: the same chances in less than half the time.

PyTorch draws a random number of 32 bits or more for each number that dropout sees, all of them on one core. A layer
that has to choose between two answers needs fewer.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

LEVELS = 2**16  # what 16 bits can tell apart: the probability is rounded to a 65536th


@contextmanager
def quick_dropout(model: nn.Module) -> Iterator[None]:
    """Inside, the dropout layers of a model in train mode draw 16 bits a number on a CPU.

    Left as they are: subclasses of nn.Dropout, layers that work in place or have a forward of their own, and all layers
    of a compiled model.
    """
    layers = [] if is_compiled(model) else [part for part in model.modules() if is_plain(part)]
    try:
        for layer in layers:
            layer.forward = partial(drop, layer)
        yield
    finally:
        for layer in layers:
            vars(layer).pop("forward", None)


def is_plain(part: nn.Module) -> bool:
    """Whether it is a dropout layer in train mode, not in place, that nobody has changed."""
    return type(part) is nn.Dropout and part.training and not part.inplace and "forward" not in vars(part)


def is_compiled(model: nn.Module) -> bool:
    """Whether torch.compile has seen the model or a part of it: it draws in its own way, and would start anew."""
    return any(part._compiled_call_impl or "_orig_mod" in part._modules for part in model.modules())


def drop(layer: nn.Dropout, x: torch.Tensor) -> torch.Tensor:
    """What the layer answers in train mode, to any shape. The mean over all masks is x, whatever p is rounded to."""
    dropped = round(layer.p * LEVELS)
    if x.device.type != "cpu" or dropped in (0, LEVELS):
        return F.dropout(x, layer.p)
    kept = random_16_bits(x.shape) >= dropped - LEVELS // 2
    return x * kept.to(x.dtype).mul_(LEVELS / (LEVELS - dropped))


def random_16_bits(shape: torch.Size) -> torch.Tensor:
    """Whole numbers from -2^15 to 2^15 - 1, all equally likely, from PyTorch's generator: four for one of 64 bits."""
    count = shape.numel()
    words = torch.empty(-(-count // 4), dtype=torch.int64).random_(-(2**63), None)
    return words.view(torch.int16)[:count].view(shape)

"""How the paper trains: Table 3 as data, and optimizer and schedule built from it with torch's own classes."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

SCHEDULES = {  # what is left of the base rate, for progress from 0 (peak) to 1 (after the last step)
    "constant": lambda progress: 1.0,
    "linear": lambda progress: 1 - progress,
    "cosine": lambda progress: (1 + math.cos(math.pi * progress)) / 2,
}


@dataclass(frozen=True)
class Recipe:
    """One row of Table 3, and what section 4.1 and the table's caption add to it.

    clip_norm is the largest global norm of the gradient, None for no clipping. warmup_steps counts updates.
    """

    model: str
    data: str
    epochs: tuple[int, ...]
    learning_rate: float
    decay: str
    weight_decay: float
    dropout: float
    batch_size: int = 4096
    warmup_steps: int = 10_000
    clip_norm: float | None = None
    betas: tuple[float, float] = (0.9, 0.999)
    resolution: int = 224


TABLE_3 = (
    Recipe("ViT-B/16, ViT-B/32", "JFT-300M", (7,), 8e-4, "linear", 0.1, 0.0),
    Recipe("ViT-L/32", "JFT-300M", (7,), 6e-4, "linear", 0.1, 0.0),
    Recipe("ViT-L/16", "JFT-300M", (7, 14), 4e-4, "linear", 0.1, 0.0),
    Recipe("ViT-H/14", "JFT-300M", (14,), 3e-4, "linear", 0.1, 0.0),
    Recipe("ViT-B/16, ViT-B/32", "ImageNet-21k", (90,), 1e-3, "linear", 0.03, 0.1),
    Recipe("ViT-L/16, ViT-L/32", "ImageNet-21k", (30, 90), 1e-3, "linear", 0.03, 0.1),
    Recipe("all", "ImageNet-1k", (300,), 3e-3, "cosine", 0.3, 0.1, clip_norm=1.0),
)


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """The model's parameters in two groups: the weights of linear and convolution layers decay, the rest does not.

    Biases, LayerNorms, class token and positions are few, and zero is no better a value for them than another.
    A frozen parameter is in neither group.
    """
    decayed, kept = [], []
    layers = {id(module.weight) for module in model.modules() if isinstance(module, (nn.Linear, nn.Conv2d))}
    layers |= {id(module.in_proj_weight) for module in model.modules() if isinstance(module, nn.MultiheadAttention)}
    for parameter in model.parameters():
        if parameter.requires_grad:
            (decayed if id(parameter) in layers else kept).append(parameter)
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": kept, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]


def build_optimizer(
    model: nn.Module,
    learning_rate: float,
    weight_decay: float,
    betas: tuple[float, float] = (0.9, 0.999),
    fused: bool | None = None,
) -> torch.optim.AdamW:
    """AdamW over parameter_groups: Adam of section 4.1, with the decay apart from the gradient as in the paper's code.

    fused computes a whole step in one kernel, faster and the same but for rounding: None where PyTorch has it for the
    device that the model is on.

    Raises ValueError where every parameter is frozen, and RuntimeError where fused=True isn't to be had.
    """
    groups = parameter_groups(model, weight_decay)
    if not groups:
        raise ValueError("every parameter of the model is frozen: there is nothing to train")
    return adamw(groups, learning_rate, weight_decay, betas, fused)


def adamw(
    parameters: Iterable,
    learning_rate: float,
    weight_decay: float,
    betas: tuple[float, float] = (0.9, 0.999),
    fused: bool | None = None,
) -> torch.optim.AdamW:
    """torch's AdamW over parameters, or groups of them. fused: see build_optimizer."""
    parameters = list(parameters)
    options = {"lr": learning_rate, "betas": betas, "weight_decay": weight_decay}
    if fused is None:
        try:
            return torch.optim.AdamW(parameters, **options, fused=True)
        except RuntimeError:  # no such kernel for this device or these numbers
            fused = False
    return torch.optim.AdamW(parameters, **options, fused=fused)


def rate_factor(step: int, total_steps: int, warmup_steps: int, decay: str) -> float:
    """What part of the base rate update number `step` (from 0) takes.

    The warmup rises in equal parts to 1, which the last of its updates takes; a warmup of 0 begins at 1. After it the
    rate falls, and would be 0 one update after the last.
    """
    peak = max(warmup_steps, 1) - 1
    if step <= peak:
        return (step + 1) / (peak + 1)
    return max(0.0, SCHEDULES[decay]((step - peak) / (total_steps - peak)))


def build_schedule(
    optimizer: torch.optim.Optimizer, total_steps: int, warmup_steps: int = 0, decay: str = "linear"
) -> LambdaLR:
    """A schedule to step once after each update of the optimizer.

    Args:
        total_steps: updates in the whole training: epochs times updates an epoch.
        warmup_steps: updates until the base rate is reached.
        decay: "linear", "cosine" (Table 3) or "constant".

    Raises ValueError for a decay of another name, and for a warmup longer than the training.
    """
    if decay not in SCHEDULES:
        raise ValueError(f"decay is {decay!r}: choose one of {', '.join(SCHEDULES)}")
    if not 0 <= warmup_steps <= total_steps or total_steps < 1:
        raise ValueError(
            f"a warmup of {warmup_steps} steps doesn't fit a training of {total_steps}: "
            f"0 <= warmup_steps <= total_steps was expected, with at least one step"
        )
    return LambdaLR(optimizer, lambda step: rate_factor(step, total_steps, warmup_steps, decay))

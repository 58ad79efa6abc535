"""Three switches of a model that change its speed or its memory and not its answers, beyond rounding."""

from collections.abc import Callable
from functools import partial

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from going_modular.going_modular.precision import in_precision
from going_modular.going_modular.vit import ViT


def use_channels_last(model: nn.Module) -> nn.Module:
    """Keep the channels of a pixel side by side in memory, as a GPU's convolutions like it. In place."""
    model.to(memory_format=torch.channels_last)
    model.register_forward_pre_hook(
        lambda _, inputs: (inputs[0].contiguous(memory_format=torch.channels_last), *inputs[1:])
    )
    return model


def checkpoint_activations(vit: ViT) -> ViT:
    """Compute each encoder block twice, in place: backward computes its activations anew, so none wait in memory.

    Gradients are the same, dropout included. Chen et al., arXiv 1604.06174.
    """
    for block in vit.transformer_encoder:
        block.forward = partial(recomputed, block.forward)
    return vit


def recomputed(forward: Callable, x: torch.Tensor, return_attention: bool = False):
    """An encoder block's answer, without what backward would need of its inside."""
    if return_attention or not torch.is_grad_enabled():
        return forward(x, return_attention)
    return checkpoint(forward, x, use_reentrant=False)


def compile_or_say_why(
    model: nn.Module, shape: tuple[int, ...], device: torch.device | str, precision: str = "float32"
) -> nn.Module:
    """torch.compile of the model, tried on one batch of zeros of this shape (B, C, H, W), forward and backward.

    Where that fails (no compiler for C++ or Triton, a Python that is too new) the model itself, and one printed line
    with the reason. Neither random state nor gradients move.
    """
    model.to(device)
    gpus = [torch.cuda.current_device()] if torch.device(device).type == "cuda" else []
    try:
        with torch.random.fork_rng(devices=gpus):
            compiled = torch.compile(model).train()
            with in_precision(precision, device):
                logits = compiled(torch.zeros(shape, device=device))
            logits.float().sum().backward()
    except Exception as error:  # compilers fail in many ways
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        print(f"torch.compile is left out, the training goes on without it. {type(error).__name__}: {reason.strip()}")
        compiled = model
    model.zero_grad()
    return compiled

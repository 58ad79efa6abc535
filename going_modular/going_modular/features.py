"""A frozen backbone sees each image once: its features are kept, and the head trains on them."""

from collections.abc import Iterable

import torch
from torch import nn

from going_modular.going_modular.engine import check_batches
from going_modular.going_modular.predictions import evaluating
from going_modular.going_modular.progress import Progress
from going_modular.going_modular.utils import unwrap


def head_of(model: nn.Module) -> nn.Module:
    """The linear head: vit.classifier[1] of our ViT, heads of torchvision's.

    Raises TypeError for a model that has neither.
    """
    bare = unwrap(model)
    if isinstance(getattr(bare, "classifier", None), nn.Sequential) and len(bare.classifier) == 2:
        return bare.classifier[1]
    if isinstance(getattr(bare, "heads", None), nn.Module):
        return bare.heads
    raise TypeError(f"a {type(bare).__name__} has no head that is known here; this project's or torchvision's ViT has")


def freeze(model: nn.Module) -> nn.Module:
    """Stop the backbone from learning, the final LayerNorm included, and let the head learn.

    Returns the head. Raises TypeError as head_of does.
    """
    head = head_of(model)
    model.requires_grad_(False)
    head.requires_grad_(True)
    return head


def extract_features(
    model: nn.Module, dataloader: Iterable, device: torch.device | str
) -> tuple[torch.Tensor, torch.Tensor]:
    """What the head gets to see of each image: y of Equation 4, the class token after the final LayerNorm.

    Each image is seen once, in eval mode, in the dataloader's order: a random crop or flip is drawn once, too. The
    model keeps its mode.

    Returns features (M, D) and labels (M,), on the CPU, ready to train on.

    Raises ValueError where there is no batch, and TypeError as head_of does.
    """
    check_batches(dataloader)
    features, labels, progress = [], [], Progress()
    bare = unwrap(model)
    handle = head_of(bare).register_forward_pre_hook(lambda _head, inputs: features.append(inputs[0].cpu()))
    try:
        with evaluating(bare, device):
            for images, truth in progress.bar(dataloader, "Features"):
                bare(images.to(device))  # (B, C, H, W)
                labels.append(truth)
    finally:
        handle.remove()
    # Put together outside inference mode: a tensor made inside can't be trained on.
    features, labels = torch.cat(features), torch.cat(labels)
    progress.line(f"Features: {len(features)} images seen once, {features.shape[1]} numbers kept of each")
    return features, labels

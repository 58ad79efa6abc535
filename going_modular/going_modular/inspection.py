"""Looking inside a trained ViT: attention, positions and patch filters, as in section 4.5 of the paper.

`model` is this project's ViT or torchvision's.
"""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import nn

from going_modular.going_modular.predictions import evaluating
from going_modular.going_modular.utils import unwrap


def attention_maps(model: nn.Module, images: torch.Tensor) -> torch.Tensor:
    """The attention weights of every block and head: A of Equation 6.

    Shapes: images (B, C, H, W) -> (B, L, k, N+1, N+1), on the model's device. Row i holds how much token i takes from
    each token, and sums to 1; token 0 is the class token. The model is run once in eval mode, without gradients;
    its mode, hooks and answers stay as they were.

    Raises TypeError for a model without attention that can be asked, and what the model itself raises.
    """
    bare = unwrap(model)
    device = next(bare.parameters()).device
    with evaluating(bare, device):
        if "return_attention" in inspect.signature(bare.forward).parameters:
            _, maps = bare(images.to(device), return_attention=True)
        else:
            with collecting_attention(bare) as layers:
                bare(images.to(device))
            maps = torch.stack(layers, dim=1)
    return maps.clone()  # made in inference mode; the copy may be used anywhere


@contextmanager
def collecting_attention(model: nn.Module) -> Iterator[list[torch.Tensor]]:
    """A list that gets the weights (B, k, N+1, N+1) of every nn.MultiheadAttention, in the order they are called.

    torchvision's blocks ask theirs for no weights, and by default weights come averaged over the heads.
    """
    blocks = [module for module in model.modules() if isinstance(module, nn.MultiheadAttention)]
    if not blocks:
        raise TypeError(f"a {type(model).__name__} has no nn.MultiheadAttention whose weights could be shown")
    layers = []

    def ask(_block, args, kwargs):
        return args, {**kwargs, "need_weights": True, "average_attn_weights": False}

    handles = []
    try:
        for block in blocks:
            handles.append(block.register_forward_pre_hook(ask, with_kwargs=True))
            handles.append(block.register_forward_hook(lambda _block, _args, output: layers.append(output[1])))
        yield layers
    finally:
        for handle in handles:
            handle.remove()


def attention_rollout(maps: torch.Tensor) -> torch.Tensor:
    """How much of each patch reaches the class token through all blocks: Abnar & Zuidema (2020), as in Figure 6.

    Heads are averaged; the identity is added for the residual connection and each row made to sum to 1; then the
    blocks' matrices are multiplied, the last one leftmost.

    Shapes: (B, L, k, N+1, N+1) -> (B, N). A row sums to less than 1: the rest is the class token's own.

    Raises ValueError for another shape.
    """
    check_maps(maps)
    layers = maps.mean(dim=2)  # (B, L, N+1, N+1)
    layers = layers + torch.eye(layers.shape[-1], dtype=layers.dtype, device=layers.device)
    layers = layers / layers.sum(dim=-1, keepdim=True)
    rollout = layers[:, 0]  # (B, N+1, N+1)
    for layer in layers.unbind(dim=1)[1:]:
        rollout = layer @ rollout
    return rollout[:, 0, 1:]


def attention_distance(maps: torch.Tensor, patch_size: int, grid: tuple[int, int]) -> torch.Tensor:
    """How far each head looks, in pixels, averaged over images and patches (Figure 7, right).

    For each patch: the distances from its centre to the centres of all patches, averaged with its attention to them as
    weights. The class token has no place in the image and is left out, as query and as key.

    Shapes: (B, L, k, N+1, N+1) -> (L, k). grid: how many rows and columns of patches an image has.

    Raises ValueError for another shape, and where the grid has not N patches.
    """
    check_maps(maps)
    rows, columns = grid
    if rows * columns != maps.shape[-1] - 1:
        raise ValueError(f"a grid of {rows} x {columns} has {rows * columns} patches, the maps {maps.shape[-1] - 1}")
    places = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).to(maps)  # (N, 2)
    offsets = places[:, None] - places[None]  # (N, N, 2)
    distances = patch_size * offsets.square().sum(dim=-1).sqrt()  # (N, N)
    weights = maps[..., 1:, 1:]  # (B, L, k, N, N)
    total = weights.sum(dim=-1).clamp_min(torch.finfo(maps.dtype).tiny)  # 0 where all goes to the class token
    means = (weights * distances).sum(dim=-1) / total  # (B, L, k, N)
    return means.mean(dim=(0, 3))


def check_maps(maps: torch.Tensor) -> None:
    if maps.ndim != 5 or maps.shape[-1] != maps.shape[-2] or 0 in maps.shape:
        raise ValueError(f"attention maps have the shape (B, L, k, N+1, N+1), these have {tuple(maps.shape)}")


def position_similarity(model: nn.Module) -> torch.Tensor:
    """Cosine similarity of the position embeddings of every two patches (Figure 7, middle).

    Shape: (N, N), on the CPU. Row i, cut into the image's rows of patches, is the picture of patch i.

    Raises TypeError for a model without position embeddings.
    """
    positions = part_of(model, "position_embedding", "encoder.pos_embedding")[0, 1:]  # (N, D), without the class token
    directions = F.normalize(positions, dim=-1)
    return directions @ directions.T


def patch_filters(model: nn.Module, components: int = 28) -> torch.Tensor:
    """The first principal components of the D patch-embedding filters (Figure 7, left; the paper shows 28).

    Shape: (components, C, P, P), on the CPU, each of length 1. A component's sign means nothing: here its largest
    number is positive.

    Raises ValueError where there are not so many components, and TypeError for a model without patch embedding.
    """
    kernels = part_of(model, "patch_embedding.patcher.weight", "conv_proj.weight")  # (D, C, P, P)
    filters = kernels.flatten(1)  # (D, P^2 C)
    most = min(len(filters) - 1, filters.shape[1])
    if not 1 <= components <= most:
        raise ValueError(f"components is {components!r}; these {len(filters)} filters have 1 to {most}")
    _, _, directions = torch.linalg.svd(filters - filters.mean(dim=0), full_matrices=False)
    directions = directions[:components]
    largest = directions.gather(1, directions.abs().argmax(dim=1, keepdim=True))
    return (directions * largest.sign()).unflatten(1, kernels.shape[1:])


def part_of(model: nn.Module, *names: str) -> torch.Tensor:
    """The parameter that has the first of these names that the model knows, as float32 on the CPU."""
    parameters = dict(unwrap(model).named_parameters())
    for name in names:
        if name in parameters:
            return parameters[name].detach().float().cpu()
    raise TypeError(f"a {type(unwrap(model)).__name__} has neither of {', '.join(names)}")

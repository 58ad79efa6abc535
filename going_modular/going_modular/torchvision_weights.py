"""torchvision's ViT checkpoints into our ViT: names, sizes, positions for another image size, and the head.

The names are those of torchvision's state_dicts. Older files spell the MLP's layers mlp.linear_1 and mlp.linear_2; the
course, which replaces `heads` by a single layer, spells the head heads.weight.
"""

import re
from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import nn

from going_modular.going_modular.vit import VARIANTS

TO_OURS = (  # what torchvision calls a part, as a pattern, and what we call it
    (r"^class_token$", "class_embedding"),
    (r"^encoder\.pos_embedding$", "position_embedding"),
    (r"^conv_proj\.", "patch_embedding.patcher."),
    (r"^encoder\.layers\.encoder_layer_(\d+)\.", r"transformer_encoder.\1."),
    (r"^encoder\.ln\.", "classifier.0."),
    (r"^heads\.(head\.)?(?=(weight|bias)$)", "classifier.1."),
    (r"\.ln_1\.", ".msa_block.layer_norm."),
    (r"\.self_attention\.", ".msa_block.multihead_attn."),
    (r"\.ln_2\.", ".mlp_block.layer_norm."),
    (r"\.mlp\.(0|linear_1)\.", ".mlp_block.mlp.0."),
    (r"\.mlp\.(3|linear_2)\.", ".mlp_block.mlp.3."),
)
HEAD = ("classifier.1.weight", "classifier.1.bias")


def load_torchvision_weights(vit: nn.Module, state_dict: Mapping[str, torch.Tensor]) -> list[str]:
    """Put the state_dict of a torchvision ViT (b_16, b_32, l_16, l_32, h_14 or any size) into our ViT, exactly.

    Every name and shape must fit, but for two:
    - a head for another number of classes is left out, as is a missing one; the ViT's own stays (section 3.2);
    - positions of another grid of patches are interpolated in 2D (section 3.2), as torchvision does it.
    The names do not tell how many heads the attention has: vit must be built with the right number.

    Returns what was not taken over as it was, in words, and prints it in one line. Empty: everything was.

    Raises ValueError where a name, the depth, the width or another shape does not fit. Then the ViT is unchanged;
    state_dict always is.
    """
    notes = fit(vit, to_our_names(state_dict))
    if notes:
        print(f"Weights: {'; '.join(notes)}.")
    return notes


def to_our_names(state_dict: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The same tensors under our ViT's names. What torchvision's ViT does not have keeps its name.

    Raises ValueError where this is no torchvision ViT's state_dict.
    """
    state = {}
    for name, value in state_dict.items():
        ours = name
        for pattern, replacement in TO_OURS:
            ours = re.sub(pattern, replacement, ours)
        if ours in state:
            raise ValueError(f"the checkpoint holds {ours} twice, the second time as {name}: it mixes two spellings")
        state[ours] = value
    if "conv_proj.weight" not in state_dict or "class_token" not in state_dict:
        hint = (
            "it has this project's own names: use utils.load_model"
            if "class_embedding" in state_dict
            else "pass the state_dict of one of torchvision's ViT"
        )
        names = ", ".join(map(str, list(state_dict)[:3])) or "none"
        raise ValueError(f"this is no checkpoint of torchvision's ViT (its first names: {names}); {hint}")
    return state


def sizes_of(state: Mapping[str, torch.Tensor]) -> dict[str, int]:
    """What a state_dict with our names tells of ViT's arguments. Raises ValueError where it is no ViT's."""
    try:
        embedding_dim, in_channels, patch_size, _ = state["patch_embedding.patcher.weight"].shape
        mlp_size = state["transformer_encoder.0.mlp_block.mlp.0.weight"].shape[0]
    except (KeyError, ValueError, IndexError) as error:
        raise ValueError(f"this is no ViT's state_dict: {error} is missing or of another shape") from None
    return {
        "in_channels": in_channels,
        "patch_size": patch_size,
        "num_transformer_layers": len(
            {name.split(".")[1] for name in state if name.startswith("transformer_encoder.")}
        ),
        "embedding_dim": embedding_dim,
        "mlp_size": mlp_size,
    }


def variant_of(sizes: Mapping[str, int]) -> str | None:
    """The name in VARIANTS of a model of these sizes, if there is one."""
    for name, row in VARIANTS.items():
        if all(sizes[key] == value for key, value in row.items() if key != "num_heads"):
            return name
    return None


def fit(vit: nn.Module, state: Mapping[str, torch.Tensor]) -> list[str]:
    """load_torchvision_weights for a state_dict that has our names already; prints nothing."""
    own = vit.state_dict()
    theirs, ours = sizes_of(state), sizes_of(own)
    if theirs != ours:
        differing = ", ".join(
            f"{name} {theirs[name]}, this ViT {ours[name]}" for name in ours if theirs[name] != ours[name]
        )
        known = variant_of(theirs)
        hint = f'ViT.from_variant("{known}")' if known else "a ViT with the checkpoint's sizes"
        raise ValueError(f"the checkpoint does not fit this ViT. It has {differing}: build {hint}")
    state, notes = dict(state), []
    check_names(own.keys() - set(HEAD), state.keys() - set(HEAD))
    if note := fit_head(own, state):
        notes.append(note)
    grid = grid_of(vit)
    resized = resize_positions(state["position_embedding"], grid)
    if resized is not state["position_embedding"]:
        before, after = state["position_embedding"].shape[1] - 1, grid[0] * grid[1]
        notes.append(f"the positions of {before} patches were interpolated to {after} ({grid[0]} x {grid[1]})")
        state["position_embedding"] = resized
    for name, value in own.items():
        if state[name].shape != value.shape:
            raise ValueError(
                f"the checkpoint's {name} has the shape {tuple(state[name].shape)}, this ViT's {tuple(value.shape)}"
            )
    vit.load_state_dict(state)
    return notes


def check_names(expected: set[str], found: set[str]) -> None:
    """Raise ValueError unless both are the same."""
    for what, names in (("lacks", expected - found), ("holds what a ViT has no place for:", found - expected)):
        if names:
            listed = ", ".join(sorted(names)[:3])
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            raise ValueError(f"the checkpoint {what} {listed}{more}")


def fit_head(own: Mapping[str, torch.Tensor], state: dict[str, torch.Tensor]) -> str | None:
    """Put the ViT's own head into `state` where that has none, or one for other classes; say so.

    Raises ValueError for half a head, or one of another width.
    """
    weight, bias = (state.get(name) for name in HEAD)
    classes, dim = own[HEAD[0]].shape
    if weight is None and bias is None:
        note = "the checkpoint holds no head"
    else:
        shapes = ["no tensor" if part is None else tuple(part.shape) for part in (weight, bias)]
        if shapes[0] != (*shapes[1][:1], dim) or len(shapes[1]) != 1:
            raise ValueError(
                f"the checkpoint's head does not fit: its weight is {shapes[0]} and its bias {shapes[1]}, "
                f"where (K, {dim}) and (K,) were expected, K being the number of classes"
            )
        if len(weight) == classes:
            return None
        note = f"the head for {len(weight)} classes was left out"
    state.update({name: own[name] for name in HEAD})
    start = "stays as it is" if own[HEAD[0]].any() else "starts at zero"
    return f"{note}: this model has its own for {classes}, which {start}"


def grid_of(vit: nn.Module) -> tuple[int, int]:
    """How many patches the ViT's images have from top to bottom and from left to right."""
    num_patches = vit.position_embedding.shape[1] - 1
    patch_size = vit.patch_embedding.patcher.kernel_size[0]
    size = getattr(vit, "img_size", None) or round(num_patches**0.5) * patch_size
    height, width = (size, size) if isinstance(size, int) else size
    return height // patch_size, width // patch_size


def resize_positions(positions: torch.Tensor, grid: tuple[int, int]) -> torch.Tensor:
    """Position embeddings for another grid of patches: (1, N+1, D) -> (1, rows * columns + 1, D).

    Section 3.2: each embedding stands for a place in the image, so the square they form is stretched to the new grid.
    Bicubic with the corners aligned, as torchvision's interpolate_embeddings. The class token's stays. Positions that
    have this grid already are returned as they are.

    Raises ValueError where the patches form no square and their number is not the new grid's.
    """
    num_patches = positions.shape[1] - 1
    side = round(num_patches**0.5)
    is_square = side * side == num_patches
    if num_patches == grid[0] * grid[1] and (grid[0] == grid[1] or not is_square):
        return positions
    if not is_square:
        raise ValueError(
            f"the checkpoint has positions for {num_patches} patches, which form no square: they can't be stretched "
            f"to {grid[0]} x {grid[1]}"
        )
    class_token, patches = positions[:, :1], positions[:, 1:].float()  # (1, 1, D), (1, N, D)
    square = patches.transpose(1, 2).unflatten(2, (side, side))  # (1, D, side, side)
    stretched = F.interpolate(square, size=tuple(grid), mode="bicubic", align_corners=True)  # (1, D, rows, columns)
    return torch.cat([class_token, stretched.flatten(2).transpose(1, 2).to(positions.dtype)], dim=1)

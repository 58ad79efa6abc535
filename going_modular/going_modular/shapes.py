"""The shapes ledger: what every step of ViT turns its input into, measured on the model itself, part by part."""

import torch

from going_modular.going_modular.vit import ViT

LEDGER_PARTS = ("data", "patch_embedding", "class_token", "position_embedding", "msa", "mlp", "encoder", "classifier")


def measure_shapes(variant: str = "ViT-B/16", batch_size: int = 1, num_classes: int = 3) -> list[tuple[str, ...]]:
    """Send a batch through one ViT and note each shape: rows of (part, step, symbols, measured shape).

    The model lies on PyTorch's meta device, which knows shapes and computes no numbers, so any size takes no memory.
    """
    with torch.device("meta"):
        vit = ViT.from_variant(variant, num_classes)
        images = torch.empty(batch_size, 3, *vit.img_size)
    rows = []

    def note(part: str, step: str, symbols: str, tensor: torch.Tensor) -> torch.Tensor:
        rows.append((part, step, symbols, str(tuple(tensor.shape))))
        return tensor

    note("data", "images x", "(B, C, H, W)", images)
    patching = vit.patch_embedding
    maps = note("patch_embedding", "convolution", "(B, D, H/P, W/P)", patching.patcher(images))
    note("patch_embedding", "flatten", "(B, D, N)", patching.flatten(maps))
    patches = note("patch_embedding", "permute: x_p E", "(B, N, D)", patching(images))
    token = vit.class_embedding.expand(batch_size, -1, -1)
    z = note("class_token", "class token in front", "(B, N+1, D)", torch.cat((token, patches), dim=1))
    z = note("position_embedding", "plus E_pos: z_0", "(B, N+1, D)", z + vit.position_embedding)

    block = vit.transformer_encoder[0]
    normed = note("msa", "LayerNorm", "(B, N+1, D)", block.msa_block.layer_norm(z))
    attention = block.msa_block.multihead_attn
    qkv = torch.nn.functional.linear(normed, attention.in_proj_weight)
    heads = qkv.unflatten(-1, (3, attention.num_heads, attention.head_dim)).permute(2, 0, 3, 1, 4)
    note("msa", "q, k, v: each", "(B, k, N+1, D_h)", heads[0])
    attended, weights = attention(normed, return_attention=True)
    note("msa", "attention A", "(B, k, N+1, N+1)", weights)
    z = note("msa", "MSA, plus z: z'", "(B, N+1, D)", attended + z)
    mlp = block.mlp_block
    note("mlp", "first linear, GELU", "(B, N+1, MLP size)", mlp.mlp[1](mlp.mlp[0](mlp.layer_norm(z))))
    z = note("mlp", "second linear, plus z'", "(B, N+1, D)", mlp(z) + z)
    for number, block in enumerate(vit.transformer_encoder, start=1):
        z = block(z)
        if number in (1, len(vit.transformer_encoder)):
            note("encoder", f"after block {number}: z_{number}", "(B, N+1, D)", z)
    first = note("classifier", f"token 0 of z_{number}", "(B, D)", z[:, 0])
    y = note("classifier", "LayerNorm: y", "(B, D)", vit.classifier[0](first))
    note("classifier", "linear head: logits", "(B, K)", vit.classifier[1](y))
    return rows


def shapes_so_far(last_part: str, variant: str = "ViT-B/16", batch_size: int = 1) -> str:
    """The ledger as text, from the images to `last_part`: a line a step, with its shape in symbols and in numbers.

    Raises ValueError for a part that the ledger doesn't have.
    """
    if last_part not in LEDGER_PARTS:
        raise ValueError(f"the shapes ledger has no part {last_part!r}: choose one of {', '.join(LEDGER_PARTS)}")
    kept = LEDGER_PARTS[: LEDGER_PARTS.index(last_part) + 1]
    rows = [row for row in measure_shapes(variant, batch_size) if row[0] in kept]
    head = ("part", "step", "shape", variant)
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(4)]
    lines, previous = [], None
    for part, *rest in [head, tuple("-" * width for width in widths), *rows]:
        cells = ["" if part == previous else part, *rest]
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())
        previous = part
    return "\n".join(lines)

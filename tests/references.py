"""What vit.py computes, written a second time in the plainest code from the paper's definitions.

Nothing here calls a layer of torch.nn: slices, sums, matrix products, exp and erf only.
Also here: the sizes of a small ViT, and noise for parameters, that several test files need.
"""

import math

import torch
from torch import nn

# A ViT that runs in milliseconds. No two of its sizes are equal, so that mixing them up shows.
SMALL = {
    "img_size": (16, 24),
    "in_channels": 3,
    "patch_size": 8,
    "num_transformer_layers": 2,
    "embedding_dim": 20,
    "mlp_size": 28,
    "num_heads": 4,
    "num_classes": 5,
}
NO_DROPOUT = {"attn_dropout": 0.0, "mlp_dropout": 0.0, "embedding_dropout": 0.0}


def fill_with_noise(module: nn.Module, seed: int = 0) -> nn.Module:
    """Overwrite every parameter with seeded noise, so that no term of a computation is zero or one by initialisation.

    Weight matrices keep the scale of what flows through them; LayerNorm weights become 1 + noise.
    """
    generator = torch.Generator().manual_seed(seed)
    norm_weights = {id(part.weight) for part in module.modules() if isinstance(part, nn.LayerNorm)}
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if id(parameter) in norm_weights:
                parameter.copy_(1 + 0.2 * noise)
            elif parameter.ndim in (2, 4):  # linear layers and the convolution
                parameter.copy_(noise * parameter[0].numel() ** -0.5)
            elif parameter.ndim == 3:  # class token and positions
                parameter.copy_(0.5 * noise)
            else:  # biases
                parameter.copy_(0.2 * noise)
    return module


def random_images(batch: int, channels: int, height: int, width: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(batch, channels, height, width, generator=torch.Generator().manual_seed(seed))


def patch_embedding(images: torch.Tensor, kernel: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x_p^i E of Equation 1: cut row by row, flatten, multiply. (B, C, H, W) -> (B, N, D)."""
    patch_size = kernel.shape[-1]
    e = kernel.reshape(len(kernel), -1).T  # (P^2 C, D)
    embedded = []
    for top in range(0, images.shape[2], patch_size):
        for left in range(0, images.shape[3], patch_size):
            patch = images[:, :, top : top + patch_size, left : left + patch_size]
            embedded.append(patch.reshape(len(images), -1) @ e + bias)
    return torch.stack(embedded, dim=1)


def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """Each token less its mean, over its standard deviation; then a scale and a shift for each of the D numbers."""
    dim = x.shape[-1]
    centred = x - x.sum(-1, keepdim=True) / dim
    variance = (centred * centred).sum(-1, keepdim=True) / dim
    return centred / (variance + eps) ** 0.5 * weight + bias


def gelu(x: torch.Tensor) -> torch.Tensor:
    """x times the probability that a standard normal number is below x."""
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


def softmax(x: torch.Tensor) -> torch.Tensor:
    powers = torch.exp(x - x.max(dim=-1, keepdim=True).values)
    return powers / powers.sum(-1, keepdim=True)


def self_attention(z: torch.Tensor, state: dict[str, torch.Tensor], num_heads: int):
    """Equations 5 to 8, head by head. Returns MSA(z), (B, N+1, D), and the weights, (B, k, N+1, N+1).

    state holds the four parameters of nn.MultiheadAttention.
    """
    dim = z.shape[-1]
    head_dim = dim // num_heads
    w_q, w_k, w_v = (state["in_proj_weight"][i * dim : (i + 1) * dim] for i in range(3))
    b_q, b_k, b_v = (state["in_proj_bias"][i * dim : (i + 1) * dim] for i in range(3))
    outputs, weights = [], []
    for head in range(num_heads):
        rows = slice(head * head_dim, (head + 1) * head_dim)
        q = z @ w_q[rows].T + b_q[rows]  # (B, N+1, D_h)
        k = z @ w_k[rows].T + b_k[rows]
        v = z @ w_v[rows].T + b_v[rows]
        attention = softmax(q @ k.mT / math.sqrt(head_dim))  # (B, N+1, N+1)
        weights.append(attention)
        outputs.append(attention @ v)
    u_msa = state["out_proj.weight"].T
    return torch.cat(outputs, dim=-1) @ u_msa + state["out_proj.bias"], torch.stack(weights, dim=1)


def msa_block(z: torch.Tensor, state: dict[str, torch.Tensor], num_heads: int):
    """MSA(LN(z)) of Equation 2, and the attention weights."""
    normed = layer_norm(z, state["layer_norm.weight"], state["layer_norm.bias"])
    return self_attention(normed, below(state, "multihead_attn."), num_heads)


def mlp_block(z: torch.Tensor, state: dict[str, torch.Tensor]) -> torch.Tensor:
    """MLP(LN(z)) of Equation 3."""
    normed = layer_norm(z, state["layer_norm.weight"], state["layer_norm.bias"])
    hidden = gelu(normed @ state["mlp.0.weight"].T + state["mlp.0.bias"])
    return hidden @ state["mlp.3.weight"].T + state["mlp.3.bias"]


def encoder_block(z: torch.Tensor, state: dict[str, torch.Tensor], num_heads: int):
    """Equations 2 and 3 with their residuals, and the attention weights."""
    attended, attention = msa_block(z, below(state, "msa_block."), num_heads)
    z = attended + z
    return mlp_block(z, below(state, "mlp_block.")) + z, attention


def embed(images: torch.Tensor, state: dict[str, torch.Tensor]) -> torch.Tensor:
    """z_0 of Equation 1."""
    patches = patch_embedding(images, state["patch_embedding.patcher.weight"], state["patch_embedding.patcher.bias"])
    sequences = []
    for image_patches in patches:
        sequence = torch.cat([state["class_embedding"][0], image_patches])  # the class token comes first
        sequences.append(sequence + state["position_embedding"][0])
    return torch.stack(sequences)


def vit(images: torch.Tensor, state: dict[str, torch.Tensor], num_layers: int, num_heads: int):
    """Logits (B, K) and attention weights (B, L, k, N+1, N+1) of a whole ViT."""
    z = embed(images, state)
    maps = []
    for layer in range(num_layers):
        z, attention = encoder_block(z, below(state, f"transformer_encoder.{layer}."), num_heads)
        maps.append(attention)
    first_tokens = torch.stack([sequence[0] for sequence in z])
    y = layer_norm(first_tokens, state["classifier.0.weight"], state["classifier.0.bias"])  # Equation 4
    return y @ state["classifier.1.weight"].T + state["classifier.1.bias"], torch.stack(maps, dim=1)


def below(state: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    """The part of a state_dict under a prefix, without the prefix."""
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}

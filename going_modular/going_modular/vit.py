"""The Vision Transformer (ViT), one class an equation.

Paper: "An Image is Worth 16x16 Words", https://arxiv.org/abs/2010.11929.
The tables, sections, equations and appendices named below are the paper's.

Symbols, here and in the notebooks:
    B batch size        H, W image height and width     C colour channels       P patch size
    N number of patches, H * W / P^2                    D embedding dimension   L encoder blocks
    k attention heads   D_h size of a head, D / k       K classes
"""

from numbers import Integral, Real

import torch
import torch.nn.functional as F
from torch import nn

LAYER_NORM_EPS = 1e-6  # the paper's released code; the default of nn.LayerNorm is 1e-5


def variant(patch_size: int, layers: int, hidden_size: int, mlp_size: int, heads: int) -> dict[str, int]:
    """One row of Table 1, in the words of ViT's arguments."""
    return {
        "patch_size": patch_size,
        "num_transformer_layers": layers,
        "embedding_dim": hidden_size,
        "mlp_size": mlp_size,
        "num_heads": heads,
    }


# Table 1. ViT-Ti and ViT-S came later: DeiT (arXiv 2012.12877) and Steiner et al. (arXiv 2106.10270).
VARIANTS = {
    "ViT-Ti/16": variant(patch_size=16, layers=12, hidden_size=192, mlp_size=768, heads=3),
    "ViT-S/16": variant(patch_size=16, layers=12, hidden_size=384, mlp_size=1536, heads=6),
    "ViT-B/16": variant(patch_size=16, layers=12, hidden_size=768, mlp_size=3072, heads=12),
    "ViT-B/32": variant(patch_size=32, layers=12, hidden_size=768, mlp_size=3072, heads=12),
    "ViT-L/16": variant(patch_size=16, layers=24, hidden_size=1024, mlp_size=4096, heads=16),
    "ViT-L/32": variant(patch_size=32, layers=24, hidden_size=1024, mlp_size=4096, heads=16),
    "ViT-H/14": variant(patch_size=14, layers=32, hidden_size=1280, mlp_size=5120, heads=16),
}


class PatchEmbedding(nn.Module):
    """Cuts an image into patches and maps each to a vector: x_p^i E of Equation 1.

    A convolution whose kernel and stride are both P reads each patch once: the paper's "flatten, then multiply by E"
    in one call.

    Shapes: (B, C, H, W) -> (B, N, D).

    Raises ValueError where the input has not this shape or holds integers, or where P does not divide both H and W.
    """

    def __init__(self, in_channels: int = 3, patch_size: int = 16, embedding_dim: int = 768):
        super().__init__()
        check_arguments(in_channels=in_channels, patch_size=patch_size, embedding_dim=embedding_dim)
        self.patch_size = patch_size
        self.patcher = nn.Conv2d(in_channels, embedding_dim, kernel_size=patch_size, stride=patch_size)
        self.flatten = nn.Flatten(start_dim=2, end_dim=3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        check_images(x, self.patcher.in_channels)
        check_divisible(x.shape[-2], x.shape[-1], self.patch_size)
        x = self.patcher(x)  # (B, D, H/P, W/P)
        x = self.flatten(x)  # (B, D, N)
        return x.permute(0, 2, 1)  # (B, N, D)


class SelfAttention(nn.MultiheadAttention):
    """MSA of Appendix A: nn.MultiheadAttention, with a forward for the one input that ViT has.

    Its parameters keep the names and starting values they have there, so weights can be copied either way.

    Shapes: (B, N+1, D) -> (B, N+1, D). With return_attention=True also the attention weights of every head,
    (B, k, N+1, N+1).
    """

    def forward(self, x: torch.Tensor, return_attention: bool = False):
        check_tokens(x, self.embed_dim)
        qkv = F.linear(x, self.in_proj_weight, self.in_proj_bias)  # (B, N+1, 3D), Equation 5: z U_qkv
        qkv = qkv.unflatten(-1, (3, self.num_heads, self.head_dim))  # (B, N+1, 3, k, D_h)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # (B, k, N+1, D_h) each
        dropout = self.dropout if self.training else 0.0
        if return_attention or not fused_is_faster(q):
            scores = (q / self.head_dim**0.5) @ k.transpose(-2, -1)  # (B, k, N+1, N+1)
            attention = scores.softmax(dim=-1)  # (B, k, N+1, N+1), Equation 6
            heads = F.dropout(attention, dropout) @ v  # (B, k, N+1, D_h), Equation 7
        else:
            # Equations 6 and 7 in one fused call
            heads = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout)  # (B, k, N+1, D_h)
        x = self.out_proj(heads.transpose(1, 2).flatten(2))  # (B, N+1, D), Equation 8: heads side by side, times U_msa
        return (x, attention) if return_attention else x


class MultiheadSelfAttentionBlock(nn.Module):
    """LayerNorm, then multi-head self-attention: MSA(LN(z)) of Equation 2, without its residual.

    attn_dropout acts on the attention weights, proj_dropout after the output projection (Appendix B.1).

    Shapes: (B, N+1, D) -> (B, N+1, D). With return_attention=True also the attention weights, (B, k, N+1, N+1).

    Raises ValueError where k does not divide D.
    """

    def __init__(
        self, embedding_dim: int = 768, num_heads: int = 12, attn_dropout: float = 0, proj_dropout: float = 0.0
    ):
        super().__init__()
        check_arguments(num_heads=num_heads, attn_dropout=attn_dropout, proj_dropout=proj_dropout)
        if embedding_dim % num_heads:
            raise ValueError(f"embedding_dim {embedding_dim} can't be split into {num_heads} heads of equal size")
        self.layer_norm = nn.LayerNorm(embedding_dim, eps=LAYER_NORM_EPS)
        self.multihead_attn = SelfAttention(embedding_dim, num_heads, dropout=attn_dropout, batch_first=True)
        self.proj_dropout = nn.Dropout(proj_dropout)

    def forward(self, x: torch.Tensor, return_attention: bool = False):
        x = self.layer_norm(x)
        if return_attention:
            x, attention = self.multihead_attn(x, return_attention=True)
            return self.proj_dropout(x), attention
        return self.proj_dropout(self.multihead_attn(x))


class MLPBlock(nn.Module):
    """LayerNorm, then two linear layers with GELU between them: MLP(LN(z)) of Equation 3, without its residual.

    Dropout follows each linear layer (Appendix B.1).

    Shapes: (B, N+1, D) -> (B, N+1, mlp_size) -> (B, N+1, D).
    """

    def __init__(self, embedding_dim: int = 768, mlp_size: int = 3072, dropout: float = 0.1):
        super().__init__()
        check_arguments(embedding_dim=embedding_dim, mlp_size=mlp_size, dropout=dropout)
        self.layer_norm = nn.LayerNorm(embedding_dim, eps=LAYER_NORM_EPS)
        self.mlp = nn.Sequential(
            nn.Linear(embedding_dim, mlp_size),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(mlp_size, embedding_dim),
            nn.Dropout(dropout),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.mlp(self.layer_norm(x))


class TransformerEncoderBlock(nn.Module):
    """Equations 2 and 3 with their residuals: z' = MSA(LN(z)) + z, then MLP(LN(z')) + z'.

    mlp_dropout also acts after the attention's output projection, a dense layer like the MLP's two (Appendix B.1).

    Shapes: (B, N+1, D) -> (B, N+1, D). With return_attention=True also the attention weights, (B, k, N+1, N+1).
    """

    def __init__(
        self,
        embedding_dim: int = 768,
        num_heads: int = 12,
        mlp_size: int = 3072,
        mlp_dropout: float = 0.1,
        attn_dropout: float = 0,
    ):
        super().__init__()
        self.msa_block = MultiheadSelfAttentionBlock(embedding_dim, num_heads, attn_dropout, proj_dropout=mlp_dropout)
        self.mlp_block = MLPBlock(embedding_dim, mlp_size, mlp_dropout)

    def forward(self, x: torch.Tensor, return_attention: bool = False):
        if return_attention:
            attended, attention = self.msa_block(x, return_attention=True)
            x = attended + x
            return self.mlp_block(x) + x, attention
        x = self.msa_block(x) + x  # Equation 2
        return self.mlp_block(x) + x  # Equation 3


class ViT(nn.Module):
    """The whole model: Equation 1, L encoder blocks, Equation 4 and a linear head.

    The defaults are ViT-B/16 (Table 1) at 224 pixels. img_size is the side of a square image or (H, W). It is fixed at
    construction, since the position embedding has one row a patch.

    Shapes: images (B, C, H, W) -> logits (B, K). With return_attention=True also the attention weights,
    (B, L, k, N+1, N+1).

    Raises ValueError where P does not divide the image's sides, where k does not divide D, for any other argument that
    no model can be built from, and for images of another size than img_size or of integers.
    """

    def __init__(
        self,
        img_size: int | tuple[int, int] = 224,  # training resolution, Table 3
        in_channels: int = 3,
        patch_size: int = 16,  # P
        num_transformer_layers: int = 12,  # L, "Layers" in Table 1
        embedding_dim: int = 768,  # D, "Hidden size" in Table 1
        mlp_size: int = 3072,  # "MLP size" in Table 1
        num_heads: int = 12,  # k, "Heads" in Table 1
        attn_dropout: float = 0,
        mlp_dropout: float = 0.1,  # Table 3, training on ImageNet
        embedding_dropout: float = 0.1,
        num_classes: int = 1000,  # K
    ):
        config = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        super().__init__()
        check_arguments(**config)
        height, width = img_size if isinstance(img_size, (tuple, list)) else (img_size, img_size)
        check_divisible(height, width, patch_size)
        self.img_size = (int(height), int(width))
        self.config = {**config, "img_size": self.img_size}  # what builds this model again: ViT(**config)
        num_patches = (height // patch_size) * (width // patch_size)  # N = HW / P^2

        self.patch_embedding = PatchEmbedding(in_channels, patch_size, embedding_dim)  # E
        self.class_embedding = nn.Parameter(torch.zeros(1, 1, embedding_dim))  # x_class
        self.position_embedding = nn.Parameter(torch.zeros(1, num_patches + 1, embedding_dim))  # E_pos
        self.embedding_dropout = nn.Dropout(embedding_dropout)
        self.transformer_encoder = nn.Sequential(
            *(
                TransformerEncoderBlock(embedding_dim, num_heads, mlp_size, mlp_dropout, attn_dropout)
                for _ in range(num_transformer_layers)
            )
        )
        self.classifier = nn.Sequential(
            nn.LayerNorm(embedding_dim, eps=LAYER_NORM_EPS),
            nn.Linear(embedding_dim, num_classes),
        )
        initialise(self)

    @classmethod
    def from_variant(
        cls, name: str, num_classes: int = 1000, img_size: int | tuple[int, int] = 224, dropout: float = 0.1
    ):
        """A ViT by its name in VARIANTS, such as "ViT-B/16". dropout acts in all the places of Appendix B.1."""
        if name not in VARIANTS:
            raise ValueError(f"no variant is called {name!r}: choose one of {', '.join(VARIANTS)}")
        return cls(
            img_size=img_size,
            num_classes=num_classes,
            mlp_dropout=dropout,
            embedding_dropout=dropout,
            **VARIANTS[name],
        )

    def embed(self, images: torch.Tensor) -> torch.Tensor:
        """Equation 1: images (B, C, H, W) -> z_0 (B, N+1, D)."""
        check_images(images, self.config["in_channels"], self.img_size)
        patches = self.patch_embedding(images)  # (B, N, D)
        class_token = self.class_embedding.expand(images.shape[0], -1, -1)  # (B, 1, D)
        z = torch.cat((class_token, patches), dim=1)  # (B, N+1, D)
        return self.embedding_dropout(z + self.position_embedding)

    def forward(self, images: torch.Tensor, return_attention: bool = False):
        z = self.embed(images)  # (B, N+1, D)
        if not return_attention:
            class_token = read_class_token(self.transformer_encoder, z)  # (B, D)
            return self.classifier(class_token)  # (B, K)
        attention = []
        for block in self.transformer_encoder:
            z, weights = block(z, return_attention=True)
            attention.append(weights)
        return self.classifier(z[:, 0]), stack_blocks(attention)


def read_class_token(encoder: nn.Sequential, z: torch.Tensor) -> torch.Tensor:
    """encoder(z)[:, 0], all that Equation 4 reads: z_0 (B, N+1, D) -> z_L^0 (B, D).

    Without gradients the last block computes that row alone, unless somebody has changed the block or watches it.
    """
    if not torch.is_grad_enabled() and len(encoder) and is_as_built(encoder):
        z = in_autocasts_precision(z)
        for block in encoder[:-1]:
            z = block(z)
        return first_row(encoder[-1], z)
    return encoder(z)[:, 0]


def in_autocasts_precision(z: torch.Tensor) -> torch.Tensor:
    """z in bfloat16 where a CPU is about to multiply in bfloat16 under autocast: what is not cast takes no time.

    Each sum of a residual is then rounded to 8 bits, as PyTorch's own fused encoder layer does it.
    """
    low = z.device.type == "cpu" and torch.is_autocast_enabled("cpu") and z.dtype == torch.float32
    return z.bfloat16() if low and torch.get_autocast_dtype("cpu") == torch.bfloat16 else z


def first_row(block: TransformerEncoderBlock, z: torch.Tensor) -> torch.Tensor:
    """block(z)[:, 0] in eval mode: one query, the keys and values of all tokens, and the MLP for one token."""
    attention = block.msa_block.multihead_attn
    dim, weight, bias = attention.embed_dim, attention.in_proj_weight, attention.in_proj_bias
    y = block.msa_block.layer_norm(z)  # (B, N+1, D)
    q = F.linear(y[:, :1], weight[:dim], bias[:dim])  # (B, 1, D)
    kv = F.linear(y, weight[dim:], bias[dim:])  # (B, N+1, 2D)
    q, k, v = (part.unflatten(-1, (attention.num_heads, -1)).transpose(1, 2) for part in (q, *kv.chunk(2, dim=-1)))
    heads = F.scaled_dot_product_attention(q, k, v)  # (B, k, 1, D_h)
    z = attention.out_proj(heads.transpose(1, 2).flatten(2)) + z[:, :1]  # (B, 1, D), Equation 2
    return (block.mlp_block(z) + z)[:, 0]  # Equation 3


def is_as_built(encoder: nn.Sequential) -> bool:
    """Whether the last block is as this file builds it and in eval mode, without a hook on it or on the encoder."""
    parts = list(encoder[-1].modules())
    watched = any(part._forward_hooks or part._forward_pre_hooks for part in (encoder, *parts))
    changed = [type(part) for part in parts] != AS_BUILT or any("forward" in vars(part) for part in parts)
    return not (watched or changed or any(part.training for part in parts))


def fused_is_faster(q: torch.Tensor) -> bool:
    """Whether PyTorch's fused attention is the faster way: everywhere but in training on a CPU in bfloat16."""
    return not (q.requires_grad and q.device.type == "cpu" and q.dtype == torch.bfloat16)


def check_divisible(height: int, width: int, patch_size: int) -> None:
    """Raise ValueError unless patch_size divides both sides: no row of pixels is dropped in silence."""
    if min(height, width, patch_size) < 1 or height % patch_size or width % patch_size:
        raise ValueError(
            f"an image of {height} x {width} (H x W) can't be cut into patches of {patch_size} x {patch_size}: "
            f"make both sides a multiple of {patch_size}"
        )


def check_arguments(**arguments) -> None:
    """Raise ValueError, with its name, for the first argument that no layer can be built from."""
    for name, value in arguments.items():
        if name.endswith("dropout"):
            right, expected = is_number(value, Real, 0, 1), "a number from 0 to 1"
        elif name == "img_size":
            sides = value if isinstance(value, (tuple, list)) else (value, value)
            right = len(sides) == 2 and all(is_number(side, Integral, 1) for side in sides)
            expected = "a whole number of at least 1, or two: (H, W)"
        else:
            least = 0 if name == "num_transformer_layers" else 1  # without blocks: the embedding and the head
            right, expected = is_number(value, Integral, least), f"a whole number of at least {least}"
        if not right:
            raise ValueError(f"{name} is {value!r}; it must be {expected}")


def is_number(value: object, kind: type, least: float, most: float = float("inf")) -> bool:
    """Whether a value is a number of this kind, Python's or NumPy's, between the two limits."""
    return isinstance(value, kind) and not isinstance(value, bool) and least <= value <= most


def check_images(images: torch.Tensor, channels: int, size: tuple[int, int] | None = None) -> None:
    """Raise an error unless these are floats (B, C, H, W), C being `channels` and (H, W) `size` where that is given.

    TypeError for what is no tensor, else ValueError.
    """
    if not isinstance(images, torch.Tensor):
        raise TypeError(f"images must be a tensor of shape (B, C, H, W), not a {type(images).__name__}")
    shape = tuple(images.shape)
    if size is not None and shape[1:] != (channels, *size):
        raise ValueError(
            f"this ViT takes images of shape (B, C, H, W) with (C, H, W) = {(channels, *size)}, and got {shape}: "
            "prepare them so, or build the model with another img_size or in_channels"
        )
    if images.ndim != 4 or shape[1] != channels:
        raise ValueError(f"images must have the shape (B, C, H, W) with C = {channels}, not {shape}")
    if not images.is_floating_point():
        raise ValueError(
            f"images of {images.dtype} have pixels that can't be multiplied by weights: turn them into floats first, "
            "from -1 to 1 as in training (images.float() / 127.5 - 1 where they go from 0 to 255)"
        )


def check_tokens(x: torch.Tensor, embedding_dim: int) -> None:
    """Raise ValueError unless x has the shape (B, N+1, D), D being `embedding_dim`."""
    if x.ndim != 3 or x.shape[2] != embedding_dim:
        raise ValueError(f"tokens must have the shape (B, N+1, D) with D = {embedding_dim}, not {tuple(x.shape)}")


def stack_blocks(attention: list[torch.Tensor]) -> torch.Tensor:
    """L times (B, k, N+1, N+1) -> (B, L, k, N+1, N+1). Raises ValueError where L is 0."""
    if not attention:
        raise ValueError("num_transformer_layers is 0: without encoder blocks there are no attention weights")
    return torch.stack(attention, dim=1)


def initialise(vit: ViT) -> None:
    """Set the starting values that torchvision's ViT has.

    nn.MultiheadAttention brings its own: Xavier uniform for the stacked U_qkv, nn.Linear's own for U_msa, biases zero.
    A block that is built outside a ViT keeps PyTorch's values everywhere.
    """
    nn.init.normal_(vit.position_embedding, std=0.02)
    patcher = vit.patch_embedding.patcher
    fan_in = patcher.in_channels * patcher.kernel_size[0] * patcher.kernel_size[1]  # P^2 C
    nn.init.trunc_normal_(patcher.weight, std=fan_in**-0.5)
    nn.init.zeros_(patcher.bias)
    for block in vit.transformer_encoder:
        for linear in (block.mlp_block.mlp[0], block.mlp_block.mlp[3]):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.normal_(linear.bias, std=1e-6)
    head = vit.classifier[1]
    nn.init.zeros_(head.weight)  # section 3.2
    nn.init.zeros_(head.bias)


def types_in_a_block() -> list[type]:
    """The class of each part of a block, from one without weights: no random number is drawn."""
    with torch.device("meta"):
        return [type(part) for part in TransformerEncoderBlock(embedding_dim=1, num_heads=1, mlp_size=1).modules()]


AS_BUILT = types_in_a_block()

"""The same ViT from five places, each built as its own makers would, without dropout."""

import importlib.metadata
from collections.abc import Callable, Mapping
from importlib.util import find_spec

import torch
from torch import nn
from torchvision.models import VisionTransformer

from going_modular.going_modular.vit import ViT


def ours(config: Mapping[str, int], img_size: int, classes: int) -> nn.Module:
    return ViT(img_size=img_size, num_classes=classes, mlp_dropout=0.0, embedding_dropout=0.0, **config)


def torchvisions(config: Mapping[str, int], img_size: int, classes: int) -> nn.Module:
    return VisionTransformer(
        image_size=img_size,
        patch_size=config["patch_size"],
        num_layers=config["num_transformer_layers"],
        num_heads=config["num_heads"],
        hidden_dim=config["embedding_dim"],
        mlp_dim=config["mlp_size"],
        num_classes=classes,
    )


def timms(config: Mapping[str, int], img_size: int, classes: int) -> nn.Module:
    from timm.models.vision_transformer import VisionTransformer as TimmViT

    return TimmViT(
        img_size=img_size,
        patch_size=config["patch_size"],
        embed_dim=config["embedding_dim"],
        depth=config["num_transformer_layers"],
        num_heads=config["num_heads"],
        mlp_ratio=config["mlp_size"] / config["embedding_dim"],
        num_classes=classes,
    )


def vit_pytorchs(config: Mapping[str, int], img_size: int, classes: int) -> nn.Module:
    from vit_pytorch import ViT as VitPytorch

    return VitPytorch(
        image_size=img_size,
        patch_size=config["patch_size"],
        num_classes=classes,
        dim=config["embedding_dim"],
        depth=config["num_transformer_layers"],
        heads=config["num_heads"],
        mlp_dim=config["mlp_size"],
        dim_head=config["embedding_dim"] // config["num_heads"],
    )


class EncoderViT(nn.Module):
    """A ViT whose blocks are PyTorch's own: nn.TransformerEncoder with the LayerNorms first."""

    def __init__(self, config: Mapping[str, int], img_size: int, classes: int):
        super().__init__()
        width, patch = config["embedding_dim"], config["patch_size"]
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, (img_size // patch) ** 2 + 1, width) * 0.02)
        block = nn.TransformerEncoderLayer(
            width,
            config["num_heads"],
            config["mlp_size"],
            dropout=0.0,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        self.encoder = nn.TransformerEncoder(block, config["num_transformer_layers"], enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, classes))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        patches = self.patches(images).flatten(2).transpose(1, 2)  # (B, N, D)
        z = torch.cat((self.class_token.expand(len(images), -1, -1), patches), dim=1) + self.positions
        return self.head(self.encoder(z)[:, 0])


OURS = "ours"
BUILDERS = {
    OURS: ours,
    "torchvision": torchvisions,
    "timm": timms,
    "vit-pytorch": vit_pytorchs,
    "nn.TransformerEncoder": EncoderViT,
}
MODULES = {"timm": "timm", "vit-pytorch": "vit_pytorch"}  # what must be installed for a peer


def available() -> dict[str, Callable[[Mapping[str, int], int, int], nn.Module]]:
    """The builders whose packages are here."""
    return {
        name: build for name, build in BUILDERS.items() if name not in MODULES or find_spec(MODULES[name]) is not None
    }


def versions(names: list[str]) -> dict[str, str]:
    """The versions of the peers that are packages of their own."""
    return {name: importlib.metadata.version(name) for name in names if name in MODULES}

"""The baseline of pipeline.py: a lesson's data, model and training as one writes them first, with no thought of speed.

Every image is decoded anew in every epoch, the model is built from nn.MultiheadAttention with dropout 0.1, everything
is float32, and a frozen backbone is asked again in every epoch.
"""

from collections.abc import Iterable
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Sampler
from torchvision import datasets, transforms

from going_modular.going_modular.machine import usable_cores


def loaders(folder: Path, img_size: int, batch: int, workers: int | None = None) -> tuple[DataLoader, DataLoader]:
    """Loaders of folder/train, shuffled, and folder/test; a worker for each core unless `workers` says otherwise."""
    steps = [transforms.Resize((img_size, img_size)), transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.5] * 3)]
    train, test = (datasets.ImageFolder(folder / split, transforms.Compose(steps)) for split in ("train", "test"))
    workers = usable_cores() if workers is None else workers
    return DataLoader(train, batch, shuffle=True, num_workers=workers), DataLoader(test, batch, num_workers=workers)


def in_order_of(loader: DataLoader, sampler: Sampler) -> DataLoader:
    """The same loader with another order, so that two ways can be given the same batches."""
    return DataLoader(loader.dataset, loader.batch_size, sampler=sampler, num_workers=loader.num_workers)


class Block(nn.Module):
    def __init__(self, width: int, heads: int, mlp_size: int, dropout: float):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(
            nn.Linear(width, mlp_size), nn.GELU(), nn.Dropout(dropout), nn.Linear(mlp_size, width), nn.Dropout(dropout)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm_1(x)
        x = self.attention(y, y, y, need_weights=False)[0] + x
        return self.mlp(self.norm_2(x)) + x


class PlainViT(nn.Module):
    """config is a row of vit.VARIANTS."""

    def __init__(self, config: dict[str, int], img_size: int, classes: int, dropout: float = 0.1):
        super().__init__()
        width, patch = config["embedding_dim"], config["patch_size"]
        self.patcher = nn.Conv2d(3, width, patch, patch)
        self.class_token = nn.Parameter(torch.randn(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, (img_size // patch) ** 2 + 1, width))
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.Sequential(
            *(
                Block(width, config["num_heads"], config["mlp_size"], dropout)
                for _ in range(config["num_transformer_layers"])
            )
        )
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, classes))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.patcher(images).flatten(2).permute(0, 2, 1)
        x = torch.cat((self.class_token.expand(len(images), -1, -1), x), dim=1)
        x = self.blocks(self.dropout(x + self.positions))
        return self.head(x[:, 0])


def train(
    model: nn.Module, train_loader: Iterable, test_loader: Iterable, optimizer: torch.optim.Optimizer, epochs: int
) -> dict[str, list[float]]:
    """Training and testing epoch by epoch; {"train_loss", "train_acc", "test_loss", "test_acc"}, over images."""
    results = {"train_loss": [], "train_acc": [], "test_loss": [], "test_acc": []}
    loss_fn = nn.CrossEntropyLoss()
    for _ in range(epochs):
        model.train()
        loss_sum, correct, count = 0.0, 0, 0
        for images, labels in train_loader:
            logits = model(images)
            loss = loss_fn(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss_sum, count = loss_sum + loss.item() * len(labels), count + len(labels)
            correct += (logits.argmax(dim=1) == labels).sum().item()
        results["train_loss"].append(loss_sum / count)
        results["train_acc"].append(correct / count)
        model.eval()
        loss_sum, correct, count = 0.0, 0, 0
        with torch.inference_mode():
            for images, labels in test_loader:
                logits = model(images)
                loss_sum, count = loss_sum + loss_fn(logits, labels).item() * len(labels), count + len(labels)
                correct += (logits.argmax(dim=1) == labels).sum().item()
        results["test_loss"].append(loss_sum / count)
        results["test_acc"].append(correct / count)
    return results

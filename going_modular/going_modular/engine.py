"""Training and testing: one pass over the data each, and the loop over epochs."""

import math
import traceback
from collections.abc import Callable, Iterable

import torch
from torch import nn

from going_modular.going_modular.progress import Progress


class NonFiniteLossError(RuntimeError):
    """The loss became NaN or infinite. The model keeps the weights it had before that batch."""


class RunningMetrics:
    """Loss and accuracy averaged over images.

    An average of batch averages would give the one image of a last batch the weight of 32 others.
    """

    def __init__(self):
        self.images = 0
        self.loss_sum = 0.0
        self.correct = 0

    def update(self, loss: float, logits: torch.Tensor, labels: torch.Tensor) -> None:
        """Add a batch: its mean loss, logits (B, K) and labels (B,)."""
        self.images += len(labels)
        self.loss_sum += loss * len(labels)
        self.correct += (logits.argmax(dim=1) == labels).sum().item()

    def averages(self) -> tuple[float, float]:
        return self.loss_sum / self.images, self.correct / self.images


def train_step(
    model: nn.Module,
    dataloader: Iterable,
    loss_fn: Callable,
    optimizer: torch.optim.Optimizer,
    device: torch.device | str,
) -> tuple[float, float]:
    """Train on every batch once.

    Returns loss and accuracy over all images, each measured as the model was when the image came.

    Raises NonFiniteLossError before a loss of NaN or infinity reaches the weights, and ValueError where there is no
    batch.
    """
    batches = check_batches(dataloader)
    model.train()
    metrics = RunningMetrics()
    for batch, (images, labels) in enumerate(dataloader, start=1):
        images, labels = images.to(device), labels.to(device)  # (B, C, H, W), (B,)
        logits = check_logits(model(images), len(images))  # (B, K)
        loss = loss_fn(logits, labels)
        value = loss.item()
        if not math.isfinite(value):
            rate = optimizer.param_groups[0]["lr"]
            raise NonFiniteLossError(
                f"the loss is {value} at batch {batch} of {batches}, learning rate {rate:g}. "
                "Try a tenth of that rate, clip the gradients, and look for NaN in the images"
            )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        metrics.update(value, logits, labels)
    return metrics.averages()


def test_step(
    model: nn.Module, dataloader: Iterable, loss_fn: Callable, device: torch.device | str
) -> tuple[float, float]:
    """Loss and accuracy over all images, in eval mode and without gradients.

    Raises ValueError where there is no batch.
    """
    check_batches(dataloader)
    model.eval()
    metrics = RunningMetrics()
    with torch.inference_mode():
        for images, labels in dataloader:
            images, labels = images.to(device), labels.to(device)
            logits = check_logits(model(images), len(images))
            metrics.update(loss_fn(logits, labels).item(), logits, labels)
    return metrics.averages()


test_step.__test__ = False  # pytest takes names that begin with test_ for tests


def train(
    model: nn.Module,
    train_dataloader: Iterable,
    test_dataloader: Iterable,
    optimizer: torch.optim.Optimizer,
    loss_fn: Callable,
    epochs: int,
    device: torch.device | str,
) -> dict[str, list[float]]:
    """Train for `epochs` passes over the training images, with a test after each.

    The test figures are for looking at: choosing an epoch or a setting by them would make them training data.

    Returns {"train_loss", "train_acc", "test_loss", "test_acc"}: a list of floats each, one an epoch.

    Raises NonFiniteLossError, whose `results` holds the epochs before it; ValueError where there is no batch; and what
    PyTorch raises where memory runs out, with advice. No restart is needed then: all that the batch held is let go.
    """
    check_batches(train_dataloader)
    check_batches(test_dataloader)
    model.to(device)
    progress = Progress()
    results = {"train_loss": [], "train_acc": [], "test_loss": [], "test_acc": []}
    for epoch in range(epochs):
        set_epoch(train_dataloader, epoch)
        name = f"Epoch {epoch + 1} of {epochs}"
        try:
            with progress.bar(train_dataloader, f"{name}, training") as batches:
                train_loss, train_acc = train_step(model, batches, loss_fn, optimizer, device)
            with progress.bar(test_dataloader, f"{name}, testing") as batches:
                test_loss, test_acc = test_step(model, batches, loss_fn, device)
        except NonFiniteLossError as error:
            stopped = NonFiniteLossError(f"{name}: {error}")
            stopped.results = results
            raise stopped from None
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            optimizer.zero_grad()
            del model, optimizer  # a notebook keeps the last traceback, and with it what train still holds
            raise memory_error(error, train_dataloader) from None
        progress.line(
            f"Epoch: {epoch + 1} | train_loss: {train_loss:.4f} | train_acc: {train_acc:.4f} | "
            f"test_loss: {test_loss:.4f} | test_acc: {test_acc:.4f}"
        )
        for key, value in zip(results, (train_loss, train_acc, test_loss, test_acc), strict=True):
            results[key].append(value)
    return results


def set_epoch(dataloader: Iterable, epoch: int) -> None:
    """Tell a sampler that shuffles by epoch which one begins, whatever has been read from it before."""
    sampler = getattr(dataloader, "sampler", None)
    if hasattr(sampler, "set_epoch"):
        sampler.set_epoch(epoch)


def check_batches(dataloader: Iterable) -> int:
    """The number of batches; ValueError where there is none, since a loss of nothing is no loss of 0.0."""
    batches = len(dataloader)
    if batches == 0:
        loader = getattr(dataloader, "iterable", dataloader)  # what a progress bar goes round
        images = len(getattr(loader, "dataset", ()))
        raise ValueError(
            f"the DataLoader gives no batch: it has {images} images, batch_size {getattr(loader, 'batch_size', None)} "
            f"and drop_last {getattr(loader, 'drop_last', None)}. "
            "Use more images, a smaller batch_size or drop_last=False"
        )
    return batches


def check_logits(logits: torch.Tensor, images: int) -> torch.Tensor:
    """The logits; ValueError unless they are one row an image."""
    if logits.ndim != 2 or len(logits) != images:
        raise ValueError(
            f"the model answered a batch of {images} with shape {tuple(logits.shape)}: "
            f"({images}, number of classes) was expected"
        )
    return logits


def is_out_of_memory(error: RuntimeError) -> bool:
    """True for CUDA, MPS and the CPU: the last two raise a plain RuntimeError."""
    words = ("out of memory", "can't allocate memory")
    return isinstance(error, torch.cuda.OutOfMemoryError) or any(text in str(error) for text in words)


def memory_error(error: RuntimeError, dataloader: Iterable) -> RuntimeError:
    """An error of the same kind that says what to do, while the failed batch's tensors are let go."""
    traceback.clear_frames(error.__traceback__)
    return type(error)(
        f"out of memory with batch_size {getattr(dataloader, 'batch_size', None)}. Make the DataLoaders with a smaller "
        "one (adding up the gradients of several batches before each step trains as the large one would), or take a "
        f"smaller model, such as ViT-Ti/16, and run this again: no restart is needed. PyTorch says: {error}"
    )

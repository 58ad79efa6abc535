"""Training and testing: one pass over the data each, and the loop over epochs."""

import math
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from torch import nn

from going_modular.going_modular import checkpoints
from going_modular.going_modular.progress import Progress, in_notebook


class NonFiniteLossError(RuntimeError):
    """The loss became NaN or infinite. In training the model keeps the weights it had before that batch."""


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
    schedule: object | None = None,
) -> tuple[float, float]:
    """Train on every batch once. A schedule of torch.optim.lr_scheduler is stepped after each update.

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
        if schedule is not None:
            schedule.step()
        metrics.update(value, logits, labels)
    return metrics.averages()


def test_step(
    model: nn.Module, dataloader: Iterable, loss_fn: Callable, device: torch.device | str
) -> tuple[float, float]:
    """Loss and accuracy over all images, in eval mode and without gradients.

    Raises NonFiniteLossError for a loss of NaN or infinity, since NaN counts as an answer, the first class; ValueError
    where there is no batch.
    """
    batches = check_batches(dataloader)
    model.eval()
    metrics = RunningMetrics()
    with torch.inference_mode():
        for batch, (images, labels) in enumerate(dataloader, start=1):
            images, labels = images.to(device), labels.to(device)
            logits = check_logits(model(images), len(images))
            value = loss_fn(logits, labels).item()
            if not math.isfinite(value):
                raise NonFiniteLossError(
                    f"the test loss is {value} at batch {batch} of {batches}. Look for NaN in the model's weights "
                    "(a learning rate that is too high puts it there) and in the images"
                )
            metrics.update(value, logits, labels)
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
    *,
    schedule: object | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> dict[str, list[float]]:
    """Train for `epochs` passes over the training images, with a test after each.

    The test figures are for looking at: choosing an epoch or a setting by them would make them training data.

    Args:
        schedule: of torch.optim.lr_scheduler; stepped after each update.
        checkpoint: a folder; after each epoch the whole training is written there, as training.pth.
        resume: go on with the training that lies there, if one does: weights, optimizer, schedule, epoch, results,
            random states and data order continue as if nothing had happened. `epochs` counts from the first one.

    Returns {"train_loss", "train_acc", "test_loss", "test_acc"}: a list of floats each, one an epoch. Interrupting the
    kernel of a notebook returns those of the finished epochs.

    Raises NonFiniteLossError and checkpoints.CheckpointError, whose `results` holds the epochs before; ValueError where
    there is no batch or the checkpoint is of another model; FileExistsError where the folder holds a training and
    `resume` is False; and what PyTorch raises where memory runs out, with advice. No restart is needed then: all that
    the batch held is let go. KeyboardInterrupt outside a notebook carries `results` too.
    """
    check_batches(train_dataloader)
    check_batches(test_dataloader)
    model.to(device)
    progress = Progress()
    dataloaders = [train_dataloader, test_dataloader]
    folder = None if checkpoint is None else Path(checkpoint)
    results = {key: [] for key in checkpoints.KEYS}
    with checkpoints.reserved(folder):
        if folder is not None:
            results = checkpoints.begin(folder, resume, model, optimizer, schedule, dataloaders)
        done = len(results["train_loss"])
        if done:
            progress.line(f"{done} epochs were done before; now {max(epochs - done, 0)} more.")
        for epoch in range(done, epochs):
            set_epoch(train_dataloader, epoch)
            name = f"Epoch {epoch + 1} of {epochs}"
            try:
                with progress.bar(train_dataloader, f"{name}, training") as batches:
                    train_loss, train_acc = train_step(model, batches, loss_fn, optimizer, device, schedule)
                with progress.bar(test_dataloader, f"{name}, testing") as batches:
                    test_loss, test_acc = test_step(model, batches, loss_fn, device)
                row = (train_loss, train_acc, test_loss, test_acc)
                results = {key: [*results[key], value] for key, value in zip(results, row, strict=True)}
                if folder is not None:
                    checkpoints.save(folder, model, optimizer, schedule, dataloaders, results)
            except NonFiniteLossError as error:
                stopped = NonFiniteLossError(f"{name}: {error}")
                stopped.results = results
                raise stopped from None
            except KeyboardInterrupt as stop:
                stop.results = results
                if not in_notebook():
                    raise
                kept = len(results["train_loss"])
                progress.line(f"Interrupted in epoch {epoch + 1} of {epochs}: these are the results of {kept}.")
                break
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                optimizer.zero_grad()
                del model, optimizer, schedule  # a notebook keeps the last traceback, and with it what train holds
                raise memory_error(error, train_dataloader) from None
            progress.line(
                f"Epoch: {epoch + 1} | train_loss: {train_loss:.4f} | train_acc: {train_acc:.4f} | "
                f"test_loss: {test_loss:.4f} | test_acc: {test_acc:.4f}"
            )
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
    batch_size = getattr(dataloader, "batch_size", None) or 1
    smaller = (
        f"Make the DataLoaders with batch_size {batch_size // 2}, and with half of that if it fails again (adding up "
        f"the gradients of {-(-batch_size // max(batch_size // 2, 1))} batches before each step trains as the large "
        "one would), or take"
        if batch_size > 1
        else "Not even one image fits: take"
    )
    return type(error)(
        f"out of memory with batch_size {batch_size}. {smaller} a smaller model, such as ViT-Ti/16, or smaller images, "
        f"and run this again: no restart is needed. PyTorch says: {error}"
    )

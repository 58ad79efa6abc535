"""Training and testing: one pass over the data each, and the loop over epochs."""

import traceback
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from torch import nn

from going_modular.going_modular import checkpoints, distributed, updates
from going_modular.going_modular.precision import choose, grad_scaler
from going_modular.going_modular.progress import Progress, in_notebook


class NonFiniteLossError(RuntimeError):
    """The loss became NaN or infinite. In training the model keeps the weights it had before that batch."""


class RunningMetrics:
    """Loss and accuracy averaged over images.

    An average of batch averages would give the one image of a last batch the weight of 32 others. Numbers on a GPU stay
    there until the averages are asked for.
    """

    def __init__(self):
        self.images, self.losses, self.correct = [], [], []

    def update(self, loss: float | torch.Tensor, logits: torch.Tensor, labels: torch.Tensor) -> None:
        """Add a batch: its mean loss, logits (B, K) and labels (B,)."""
        self.add(loss, (logits.argmax(dim=1) == labels).sum(), len(labels))

    def add(self, loss: float | torch.Tensor, correct: torch.Tensor, images: int) -> None:
        """Add `images` images: their mean loss and the number of right answers."""
        self.losses.append(loss)
        self.correct.append(correct)
        self.images.append(images)

    def averages(self) -> tuple[float, float]:
        images = sum(self.images)
        losses = zip(numbers(self.losses), self.images, strict=True)
        return sum(loss * count for loss, count in losses) / images, sum(numbers(self.correct)) / images


def numbers(values: list) -> list[float]:
    """Python's numbers; tensors come from their device all at once."""
    return torch.stack(values).tolist() if isinstance(values[0], torch.Tensor) else values


def train_step(
    model: nn.Module,
    dataloader: Iterable,
    loss_fn: Callable,
    optimizer: torch.optim.Optimizer,
    device: torch.device | str,
    schedule: object | None = None,
    *,
    precision: str = "float32",
    micro_batch: int | None = None,
    scaler: torch.amp.GradScaler | None = None,
) -> tuple[float, float]:
    """Train on every batch once. A schedule of torch.optim.lr_scheduler is stepped after each update.

    Args:
        precision: "float32"; "bfloat16" or "float16", under autocast; "auto" for what is fastest here.
        micro_batch: images that go through the model at once. Larger batches are cut, and their gradients added up.
        scaler: of an earlier call, so that float16 goes on with its scale; a new one if not given.

    Returns loss and accuracy over all images, each measured as the model was when the image came.

    Raises NonFiniteLossError for a loss of NaN or infinity: the model keeps the weights it had before that batch. On a
    GPU with a fused optimizer the error may come some batches later; it names the right one, and nothing was learnt
    since. ValueError where there is no batch, and for a setting that can't be.
    """
    batches = check_batches(dataloader)
    check_pieces(loss_fn, dataloader, micro_batch)
    precision = choose(precision, device)
    scaler = scaler or grad_scaler(precision, device)
    model.train()
    metrics, rates = RunningMetrics(), []

    def error(batch: int, loss: float) -> NonFiniteLossError:
        return NonFiniteLossError(
            f"the loss is {loss} at batch {batch} of {batches}, learning rate {rates[batch - 1]:g}. "
            "Try a tenth of that rate, clip the gradients, and look for NaN in the images"
        )

    backward = updates.backward_with(scaler)
    # With a scaler each update waits for the device anyway, to see whether it is skipped.
    with updates.LossWatch(error, device, optimizer, waits=scaler is None) as watch:
        for batch, window in enumerate(updates.windows(dataloader, micro_batch), start=1):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.zero_grad()
            loss, correct = updates.run_window(model, window, loss_fn, device, precision, backward)
            watch.see(batch, loss)
            updates.step(optimizer, schedule, scaler)
            metrics.add(loss, correct, window.images)
    return metrics.averages()


def test_step(
    model: nn.Module,
    dataloader: Iterable,
    loss_fn: Callable,
    device: torch.device | str,
    *,
    precision: str = "float32",
    micro_batch: int | None = None,
) -> tuple[float, float]:
    """Loss and accuracy over all images, in eval mode and without gradients. precision, micro_batch: see train_step.

    Raises NonFiniteLossError for a loss of NaN or infinity, since NaN counts as an answer, the first class; ValueError
    where there is no batch.
    """
    batches = check_batches(dataloader)
    check_pieces(loss_fn, dataloader, micro_batch)
    precision = choose(precision, device)
    model.eval()
    metrics = RunningMetrics()

    def error(batch: int, loss: float) -> NonFiniteLossError:
        return NonFiniteLossError(
            f"the test loss is {loss} at batch {batch} of {batches}. Look for NaN in the model's weights "
            "(a learning rate that is too high puts it there) and in the images"
        )

    with torch.inference_mode(), updates.LossWatch(error, device) as watch:
        for batch, window in enumerate(updates.windows(dataloader, micro_batch), start=1):
            loss, correct = updates.run_window(model, window, loss_fn, device, precision)
            watch.see(batch, loss)
            metrics.add(loss, correct, window.images)
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
    precision: str = "float32",
    micro_batch: int | None = None,
) -> dict[str, list[float]]:
    """Train for `epochs` passes over the training images, with a test after each.

    The test figures are for looking at: choosing an epoch or a setting by them would make them training data.

    Args:
        schedule: of torch.optim.lr_scheduler; stepped after each update.
        checkpoint: a folder; after each epoch the whole training is written there, as training.pth.
        resume: go on with the training that lies there, if one does: weights, optimizer, schedule, epoch, results,
            random states and data order continue as if nothing had happened. `epochs` counts from the first one.
        precision: of training and testing. "float32"; "bfloat16" or "float16", the products of matrices in 16 bits;
            "auto" for what this machine is fastest with, measured once and said in a line.
        micro_batch: images that go through the model at once. Each batch of the DataLoader is still one update, learnt
            from in pieces. With updates.WindowLoader the batch is never in memory as a whole.

    Under torchrun (distributed.py) every process calls this, with a model of distributed.wrap and updates.WindowLoader
    around its DataLoaders; results are those of all images, and rank 0 alone prints and writes.

    Returns {"train_loss", "train_acc", "test_loss", "test_acc"}: a list of floats each, one an epoch. Interrupting the
    kernel of a notebook returns those of the finished epochs.

    Raises NonFiniteLossError and checkpoints.CheckpointError, whose `results` holds the epochs before; ValueError where
    there is no batch or the checkpoint is of another model; FileExistsError where the folder holds a training and
    `resume` is False; and what PyTorch raises where memory runs out, with advice. No restart is needed then: all that
    the batch held is let go. KeyboardInterrupt outside a notebook carries `results` too.
    """
    check_batches(train_dataloader)
    check_batches(test_dataloader)
    progress = Progress(shown=distributed.is_main())
    if precision == "auto":
        precision = distributed.from_main(choose(precision, device))
        progress.line(f"Precision: {precision} is the fastest here.")
    scaler = grad_scaler(choose(precision, device), device)
    model.to(device)
    dataloaders = [train_dataloader, test_dataloader]
    folder = None if checkpoint is None else Path(checkpoint)
    results = {key: [] for key in checkpoints.KEYS}
    with checkpoints.reserved(folder if distributed.is_main() else None):
        distributed.wait()
        if folder is not None:
            results = checkpoints.begin(folder, resume, model, optimizer, schedule, dataloaders, scaler)
        seed, done = torch.initial_seed(), len(results["train_loss"])
        options = {"precision": precision, "micro_batch": micro_batch}
        if done:
            progress.line(f"{done} epochs were done before; now {max(epochs - done, 0)} more.")
        for epoch in range(done, epochs):
            set_epoch(train_dataloader, epoch)
            distributed.own_randomness(seed, epoch)
            name = f"Epoch {epoch + 1} of {epochs}"
            try:
                with progress.bar(train_dataloader, f"{name}, training") as batches:
                    train_loss, train_acc = train_step(
                        model, batches, loss_fn, optimizer, device, schedule, scaler=scaler, **options
                    )
                with progress.bar(test_dataloader, f"{name}, testing") as batches:
                    test_loss, test_acc = test_step(model, batches, loss_fn, device, **options)
                row = (train_loss, train_acc, test_loss, test_acc)
                results = {key: [*results[key], value] for key, value in zip(results, row, strict=True)}
                if folder is not None and distributed.is_main():
                    checkpoints.save(folder, model, optimizer, schedule, dataloaders, results, scaler)
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
                raise memory_error(error, train_dataloader, micro_batch) from None
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
        loader = inside(dataloader)
        images = len(getattr(loader, "dataset", ()))
        raise ValueError(
            f"the DataLoader gives no batch: it has {images} images, batch_size {getattr(loader, 'batch_size', None)} "
            f"and drop_last {getattr(loader, 'drop_last', None)}. "
            "Use more images, a smaller batch_size or drop_last=False"
        )
    return batches


def check_pieces(loss_fn: Callable, dataloader: Iterable, micro_batch: int | None) -> None:
    """Raise ValueError where batches come in pieces, or in shares, that this loss can't be put together from."""
    if micro_batch is not None or isinstance(inside(dataloader), updates.WindowLoader):
        updates.check_mean(loss_fn)


def inside(dataloader: Iterable) -> Iterable:
    """The loader that a progress bar goes round."""
    return getattr(dataloader, "iterable", dataloader)


def is_out_of_memory(error: RuntimeError) -> bool:
    """True for CUDA, MPS and the CPU: the last two raise a plain RuntimeError."""
    words = ("out of memory", "can't allocate memory")
    return isinstance(error, torch.cuda.OutOfMemoryError) or any(text in str(error) for text in words)


def memory_error(error: RuntimeError, dataloader: Iterable, micro_batch: int | None = None) -> RuntimeError:
    """An error of the same kind that says what to do, while the failed batch's tensors are let go."""
    traceback.clear_frames(error.__traceback__)
    micro_batch = micro_batch or getattr(dataloader, "micro_batch", None)
    batch_size = getattr(dataloader, "batch_size", None) or 1
    name, size = ("micro_batch", micro_batch) if micro_batch else ("batch_size", batch_size)
    smaller = (
        f"Train with micro_batch {size // 2}, and with half of that if it fails again (the gradients of the pieces are "
        "added up, so each update stays that of the whole batch), or take"
        if size > 1
        else "Not even one image fits: take"
    )
    return type(error)(
        f"out of memory with {name} {size}. {smaller} a smaller model, such as ViT-Ti/16, or smaller images, "
        f"and run this again: no restart is needed. PyTorch says: {error}"
    )

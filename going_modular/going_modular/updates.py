"""From images to updates of the weights: pieces that fit into memory, gradients added up, and the step.

A window is what one update learns from: a batch, cut into pieces where it is too large to go through the model at once.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import torch
from torch import nn
from torch.utils.data import DataLoader

from going_modular.going_modular import distributed
from going_modular.going_modular.dropout import quick_dropout
from going_modular.going_modular.precision import full, in_precision
from going_modular.going_modular.sampling import ShareSampler

LOOK_EVERY = 0.2  # seconds; a progress bar moves about as often


# Windows


@dataclass(frozen=True)
class Window:
    """The images of one update.

    Attributes:
        images: how many there are, over all processes.
        share: how many of them go through the model in this process. 0: its one piece counts for nothing.
        count: the number of pieces.
        pieces: (images (b, C, H, W), labels (b,)) of each, loaded as they are asked for.
    """

    images: int
    share: int
    count: int
    pieces: Iterable[tuple[torch.Tensor, torch.Tensor]]


def micro_batches(count: int, size: int | None) -> list[slice]:
    """The slices that cut a batch of `count` images into pieces of `size`; the last may be smaller.

    Raises ValueError for a size below 1.
    """
    size = count if size is None else size
    if size < 1:
        raise ValueError(f"micro_batch is {size!r}; it must be a whole number of at least 1, or None for no pieces")
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def cut(images: torch.Tensor, labels: torch.Tensor, micro_batch: int | None = None) -> Window:
    """A batch (B, C, H, W), (B,) as a window of pieces of `micro_batch` images; one piece for None."""
    if micro_batch is None:
        return Window(len(labels), len(labels), 1, [(images, labels)])
    slices = micro_batches(len(labels), micro_batch)
    return Window(len(labels), len(labels), len(slices), ((images[piece], labels[piece]) for piece in slices))


def windows(dataloader: Iterable, micro_batch: int | None = None) -> Iterator[Window]:
    """The windows of a WindowLoader, and of any other loader its batches, cut."""
    for batch in dataloader:
        yield batch if isinstance(batch, Window) else cut(*batch, micro_batch)


class WindowLoader:
    """A DataLoader whose batches come as windows: each process loads its share of a batch, piece by piece.

    Memory holds a few pieces, never the batch. Which images an update learns from, in which order and with which random
    transforms, is the given loader's; neither pieces nor processes change it.

    Args:
        dataloader: with the batch_size of an update, over all processes.
        micro_batch: most images in a piece; None for all of a process's share.

    Raises ValueError where there are more processes than images in an update.
    """

    def __init__(self, dataloader: DataLoader, micro_batch: int | None = None) -> None:
        self.dataset, self.sampler, self.generator = dataloader.dataset, dataloader.sampler, dataloader.generator
        self.batch_size, self.micro_batch, self.drop_last = dataloader.batch_size, micro_batch, dataloader.drop_last
        if getattr(self.sampler, "seed", 0) is None:  # other processes draw on, and would move torch.initial_seed()
            self.sampler.seed = torch.initial_seed()
        place = (distributed.rank(), distributed.world_size())
        self.shares = ShareSampler(self.sampler, self.batch_size, micro_batch, *place, self.drop_last)
        self.loader = type(dataloader)(
            dataloader.dataset,
            batch_sampler=self.shares,
            num_workers=dataloader.num_workers,
            collate_fn=dataloader.collate_fn,
            pin_memory=dataloader.pin_memory,
            persistent_workers=dataloader.persistent_workers,
            generator=dataloader.generator,
        )

    def __len__(self) -> int:
        """The number of updates."""
        return sum(1 for _ in self.shares.updates())

    def __iter__(self) -> Iterator[Window]:
        pieces = iter(self.loader)
        for images, share, count in self.shares.updates():
            yield Window(images, share, count, islice(pieces, count))


# Through the model


def run_window(
    model: nn.Module,
    window: Window,
    loss_fn: Callable,
    device: torch.device | str,
    precision: str = "float32",
    backward: Callable[[torch.Tensor], None] | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """All pieces of a window through the model; with `backward` their gradients are added to the parameters' .grad.

    loss_fn gives the mean over images. Each piece's counts by its share of the window's images: a mean of the pieces'
    means would give the single image of a last piece the weight of 32 others.

    Returns, over all processes, the mean loss and the number of right answers: tensors of one number, on the device.

    Raises ValueError where the model's answer is not (b, K).
    """
    losses, right = [], []
    for number, (images, labels) in enumerate(window.pieces, start=1):
        images, labels = to_device(images, device), to_device(labels, device)  # (b, C, H, W), (b,)
        weight = len(labels) / window.images if window.share else 0.0
        with quick_dropout(model), distributed.averaging(model, number == window.count or backward is None):
            with in_precision(precision, device):
                logits = model(images)
            logits = full(check_logits(logits, len(labels)))  # (b, K)
            loss = loss_fn(logits, labels) * weight
            if backward is not None:
                backward(loss * distributed.world_size())  # the average over processes divides by it again
        losses.append(loss.detach())
        right.append((logits.argmax(dim=1) == labels).sum() * bool(window.share))
    return tuple(distributed.add_up(sum(losses), sum(right)))


def backward_with(scaler: torch.amp.GradScaler | None) -> Callable[[torch.Tensor], None]:
    """What run_window takes as backward: of the loss, or of the loss as a scaler lifts it."""
    return torch.Tensor.backward if scaler is None else lambda loss: scaler.scale(loss).backward()


def to_device(tensor: torch.Tensor, device: torch.device | str) -> torch.Tensor:
    """The tensor there. To a GPU from pinned memory the copy goes on while Python does."""
    return tensor.to(device, non_blocking=torch.device(device).type == "cuda")


def check_logits(logits: torch.Tensor, images: int) -> torch.Tensor:
    """The logits; ValueError unless they are one row an image."""
    if logits.ndim != 2 or len(logits) != images:
        raise ValueError(
            f"the model answered a batch of {images} with shape {tuple(logits.shape)}: "
            f"({images}, number of classes) was expected"
        )
    return logits


def check_mean(loss_fn: Callable) -> None:
    """Raise ValueError for a loss whose pieces can't be added up: one that is no mean over images."""
    if getattr(loss_fn, "reduction", "mean") != "mean" or getattr(loss_fn, "weight", None) is not None:
        raise ValueError(
            f"{loss_fn} is no mean over images, so its pieces don't add up to the whole batch's: "
            "use reduction='mean' without class weights, or a single process without micro_batch"
        )


# The step


def step(
    optimizer: torch.optim.Optimizer,
    schedule: object | None = None,
    scaler: torch.amp.GradScaler | None = None,
    clip: tuple[Iterable[nn.Parameter], float] | None = None,
) -> None:
    """One update of the weights, and of the schedule.

    Args:
        schedule: of torch.optim.lr_scheduler.
        scaler: of precision.grad_scaler. An update in which a scaled gradient is infinite moves neither weights nor
            schedule; the scale is halved.
        clip: the parameters, and the largest global norm that their true gradient may have.
    """
    scale = None
    if scaler is not None:
        scale = scaler.get_scale()
        scaler.unscale_(optimizer)
    if clip is not None:
        nn.utils.clip_grad_norm_(*clip)
    if scaler is None:
        optimizer.step()
    else:
        scaler.step(optimizer)
        scaler.update()
    skipped = scaler is not None and scaler.get_scale() < scale
    if schedule is not None and not skipped:
        schedule.step()


class LossWatch:
    """Ends a training, or a test, at a loss of NaN or infinity, before the weights take any of it.

    On the CPU each loss is looked at. On a GPU, looking at a number means waiting for all the work before it. So there
    the first bad loss is noted on the GPU, a fused optimizer skips every update from it on by itself, and Python looks
    at the note a few times a second and at the end. An optimizer that can't skip has each loss looked at.

    Args:
        error: (number of the batch from 1, its loss) -> the exception to raise.
        optimizer: None in a test, which changes no weights.
        waits: False looks at each loss in any case.
    """

    def __init__(
        self,
        error: Callable[[int, float], Exception],
        device: torch.device | str,
        optimizer: torch.optim.Optimizer | None = None,
        waits: bool = True,
    ) -> None:
        self.error, self.optimizer = error, optimizer
        self.waits = waits and looking_is_slow(device) and (optimizer is None or is_fused(optimizer))
        self.note = torch.zeros(2, device=device) if self.waits else None  # the batch's number, or 0, and its loss
        self.looked = time.monotonic()

    def __enter__(self) -> "LossWatch":
        return self

    def __exit__(self, kind: type | None, *_) -> None:
        if self.waits and self.optimizer is not None:
            vars(self.optimizer).pop("found_inf", None)
        if kind is None and self.waits:
            self.look()

    def see(self, batch: int, loss: torch.Tensor) -> None:
        """Take note of a batch's loss, before its step."""
        if not self.waits:
            self.check(batch, loss.item())
            return
        first = (self.note[0] == 0) & ~torch.isfinite(loss)
        self.note = torch.where(first, torch.stack([torch.full_like(loss, batch), loss]), self.note)
        if self.optimizer is not None:
            self.optimizer.found_inf = (self.note[0] > 0).float()  # what a fused step asks, as under a GradScaler
        if time.monotonic() - self.looked > LOOK_EVERY:
            self.look()

    def look(self) -> None:
        batch, loss = self.note.tolist()
        self.looked = time.monotonic()
        if batch:
            self.check(int(batch), loss)

    def check(self, batch: int, loss: float) -> None:
        if not math.isfinite(loss):
            raise self.error(batch, loss)


def looking_is_slow(device: torch.device | str) -> bool:
    """Whether to read a number of this device means to wait for it."""
    return torch.device(device).type == "cuda"


def is_fused(optimizer: torch.optim.Optimizer) -> bool:
    """Whether the optimizer's step is one fused kernel, which skips the update where found_inf is 1."""
    return all(group.get("fused") for group in optimizer.param_groups)

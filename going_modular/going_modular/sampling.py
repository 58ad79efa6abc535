"""The order of the training images: decided by seed and epoch, whatever the number of workers and processes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sized
from contextlib import contextmanager

import numpy as np
import torch
from torch.utils.data import Sampler


class SeededIndex(int):
    """An image's number that carries the seed for its random transforms to the process that loads it."""

    seed: int

    def __new__(cls, index: int, seed: int = 0):
        made = super().__new__(cls, index)
        made.seed = seed
        return made


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Python, NumPy and torch's CPU generator draw from this seed inside, and go on as before afterwards."""
    python_state, numpy_state = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed % 2**32)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)


class ShuffledSampler(Sampler[int]):
    """All images in an order that depends on seed and epoch alone, not on the number of workers.

    Each iteration is a further epoch; `set_epoch` says which one the next iteration is, for example on resuming.

    Args:
        data_source: what is sampled from; only its length counts.
        seed: None takes torch.initial_seed() when an iteration begins, so that set_seeds() decides.
    """

    def __init__(self, data_source: Sized, seed: int | None = None) -> None:
        self.data_source, self.seed, self.epoch = data_source, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Make the next iteration the one of this epoch, counted from 0."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        seed = torch.initial_seed() if self.seed is None else self.seed
        mixed = random.Random(f"{seed} {self.epoch}").getrandbits(63)  # seed 1, epoch 2 is not seed 2, epoch 1
        self.epoch += 1
        generator = torch.Generator().manual_seed(mixed)
        order = torch.randperm(len(self.data_source), generator=generator).tolist()
        seeds = torch.randint(2**63 - 1, (len(order),), generator=generator).tolist()
        return (SeededIndex(index, seeds[index]) for index in order)

    def __len__(self) -> int:
        return len(self.data_source)


class ShareSampler(Sampler[list[int]]):
    """The images of each update cut up: every process gets its share, and that in pieces which fit into memory.

    A batch sampler for a DataLoader: its lists are pieces. Of an update's images process r of W takes number r, r + W,
    r + 2 W and so on, so each image belongs to one process. A process that is left without any in a last, short update
    still gets one piece, since averaging gradients takes all of them: its share is 0, and the piece counts for nothing.

    Args:
        sampler: the order; the same in every process.
        batch_size: images in an update, over all processes.
        micro_batch: most images in a piece; None for all of a share.
        rank, world_size: which process this is, and of how many.
        drop_last: leave out a last update of fewer images.

    Raises ValueError where a process would never have an image.
    """

    def __init__(
        self,
        sampler: Sampler[int],
        batch_size: int,
        micro_batch: int | None = None,
        rank: int = 0,
        world_size: int = 1,
        drop_last: bool = False,
    ) -> None:
        if world_size > batch_size:
            raise ValueError(
                f"{world_size} processes can't share an update of {batch_size} images: "
                "take fewer processes, or a larger batch_size"
            )
        self.sampler, self.batch_size, self.rank, self.world_size = sampler, batch_size, rank, world_size
        self.micro_batch = micro_batch or batch_size
        self.images = len(sampler) // batch_size * batch_size if drop_last else len(sampler)

    def updates(self) -> Iterator[tuple[int, int, int]]:
        """Of each update: its images over all processes, this process's share of them, and its number of pieces."""
        for start in range(0, self.images, self.batch_size):
            images = min(self.batch_size, self.images - start)
            share = len(range(self.rank, images, self.world_size))
            yield images, share, max(1, -(-share // self.micro_batch))

    def __iter__(self) -> Iterator[list[int]]:
        order = list(self.sampler)[: self.images]
        for start in range(0, self.images, self.batch_size):
            update = order[start : start + self.batch_size]
            share = update[self.rank :: self.world_size] or update[:1]
            for first in range(0, len(share), self.micro_batch):
                yield share[first : first + self.micro_batch]

    def __len__(self) -> int:
        """The number of pieces."""
        return sum(pieces for *_, pieces in self.updates())

"""The order of the training images: decided by seed and epoch, whatever the number of workers."""

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

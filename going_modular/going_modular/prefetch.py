"""The next batch is prepared while the model computes with this one."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from torch.utils.data import DataLoader


class PrefetchingDataLoader(DataLoader):
    """A DataLoader without workers in which one thread is a batch ahead of whoever reads from it.

    For data sets that draw from no global random generator: a thread that did would disturb the model's dropout. What
    the data set raises is raised where the batch is asked for. A loop that is left, by break, by an error or by an
    interrupt, waits for the batch that is in the making and no longer.
    """

    def __iter__(self) -> Iterator:
        batches = super().__iter__()
        with ThreadPoolExecutor(1) as thread:
            coming = thread.submit(next, batches, None)
            while (batch := coming.result()) is not None:
                coming = thread.submit(next, batches, None)
                yield batch

"""Several processes that train one model, each with its share of every batch: what torchrun starts.

torchrun starts a command N times and tells each process its rank, from 0 to N - 1. Gradients are averaged by PyTorch's
DistributedDataParallel, over gloo on CPUs and nccl on GPUs. In a process that torchrun didn't start nothing here has an
effect: it is number 0 of 1.
"""

import os
import random
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

LAST_WORD = 30  # seconds in which torchrun ends a process whose neighbour is gone; it takes less than one


def is_running() -> bool:
    return dist.is_available() and dist.is_initialized()


def rank() -> int:
    """This process's number, from 0."""
    return dist.get_rank() if is_running() else 0


def world_size() -> int:
    """The number of processes."""
    return dist.get_world_size() if is_running() else 1


def is_main() -> bool:
    """Whether this is the process that prints and writes."""
    return rank() == 0


@contextmanager
def processes(device: str) -> Iterator[None]:
    """Inside, this process works with the others that torchrun started, and rank 0 alone prints.

    On GPUs "cuda" then means this process's own. Exits with a message where a machine has fewer GPUs than processes, or
    a device that no several processes can train on.
    """
    if not dist.is_available() or not dist.is_torchelastic_launched():
        yield
        return
    if device == "cuda":
        number, gpus = dist.get_node_local_rank(0), torch.cuda.device_count()
        if number >= gpus:
            sys.exit(f"Process {number} has no GPU: there are {gpus}, so take --nproc_per_node={gpus} at most")
        torch.cuda.set_device(number)
    if device == "mps":
        sys.exit("The GPU of a Mac trains in one process: leave torchrun out, or take --device cpu")
    dist.init_process_group("cpu:gloo,cuda:nccl" if device == "cuda" else "gloo")
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        with nullcontext() if is_main() else redirect_stdout(nowhere):
            yield
    dist.destroy_process_group()  # not after an error: it could wait for a process that is no more


# The model and its gradients


def wrap(model: nn.Module, device: str) -> nn.Module:
    """The model, on this device, with rank 0's weights and with gradients that are averaged over all processes."""
    model = model.to(device)
    if world_size() == 1:
        return model
    # Of the class token's gradient, (1, 1, D), PyTorch warns that its strides differ; those of sides of 1 mean nothing.
    warnings.filterwarnings("ignore", "Grad strides do not match bucket view strides")
    return DistributedDataParallel(model, device_ids=[torch.cuda.current_device()] if device == "cuda" else None)


def averaging(model: nn.Module, wanted: bool) -> AbstractContextManager:
    """For a forward and backward pass: False leaves each process its own gradient, to be averaged with a later one."""
    return nullcontext() if wanted or not isinstance(model, DistributedDataParallel) else model.no_sync()


# Numbers


def add_up(*values: torch.Tensor) -> list[torch.Tensor]:
    """Each number's sum over all processes."""
    if world_size() == 1:
        return list(values)
    total = torch.stack([value.float() for value in values])
    dist.all_reduce(total)
    return list(total)


def from_main(value: object) -> object:
    """Rank 0's value, in every process."""
    box = [value]
    if world_size() > 1:
        dist.broadcast_object_list(box)
    return box[0]


def wait() -> None:
    """Wait until every process has come here."""
    if world_size() > 1:
        dist.barrier()


@contextmanager
def main_first() -> Iterator[None]:
    """Rank 0 runs the block, then the others do: what has to be downloaded is there by then."""
    if not is_main():
        wait()
    yield
    if is_main():
        wait()


def own_randomness(seed: int, epoch: int) -> None:
    """Another dropout in each process but rank 0, decided by seed, epoch and rank; rank 0 goes on with its own."""
    if not is_main():
        torch.manual_seed(random.Random(f"{seed} {epoch} {rank()}").getrandbits(63))


# A process that is gone


def is_lost_neighbour(error: BaseException) -> bool:
    """Whether an error means that another process of this run no longer answers."""
    words = ("gloo", "nccl", "connection", "process group")
    return world_size() > 1 and any(word in str(error).lower() for word in words)


def end_after_neighbour() -> None:
    """Say so, and leave the first failure to the process that is gone: torchrun's report names the first it sees."""
    print(
        f"Process {rank()} of {world_size()}: another process of this training has ended, so this one stops too. "
        "The last checkpoint stays; torchrun's report names the process that ended first.",
        file=sys.stderr,
        flush=True,
    )
    time.sleep(LAST_WORD)
    sys.exit(1)

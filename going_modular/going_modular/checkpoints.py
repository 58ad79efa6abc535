"""A training that goes on where it stopped: all that its next epoch depends on, in one file, written after each epoch.

The file is FOLDER/training.pth. utils.load_model reads it too, where the model is this project's ViT.
"""

import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch import nn

from going_modular.going_modular import utils
from going_modular.going_modular.utils import shown

NAME = "training.pth"
LOCK = ".training.lock"
KEYS = ("train_loss", "train_acc", "test_loss", "test_acc")


class CheckpointError(RuntimeError):
    """An epoch could not be saved. The checkpoint before it is whole; `results` holds what was trained so far."""


@contextmanager
def reserved(folder: Path | None) -> Iterator[None]:
    """The folder for this process alone, made if it isn't there; nothing to do for None.

    What a killed process left of a save that it had begun is removed.

    Raises FileExistsError where another process trains into the folder now.
    """
    if folder is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a+b") as file:
        if not utils.lock(file):
            raise FileExistsError(
                f"another process trains into {shown(folder)} now: wait for it, or name another folder"
            )
        for left in folder.glob(f".{NAME}.*"):
            left.unlink(missing_ok=True)
        yield


def begin(
    folder: Path,
    resume: bool,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    schedule: object | None,
    dataloaders: list[Iterable],
    scaler: torch.amp.GradScaler | None = None,
) -> dict[str, list[float]]:
    """The results of the epochs that are done, after putting everything back as it was then; empty lists at the start.

    Raises FileExistsError where a training lies in the folder and `resume` is False; ValueError where it is another's.
    """
    path = folder / NAME
    if not path.is_file():
        return {key: [] for key in KEYS}
    content = utils.read_weights(path)
    training = content.get("training")
    if not isinstance(training, dict):
        raise ValueError(f"{shown(path)} holds weights, but no training that could go on: name another folder")
    done = training["epochs"]
    if not resume:
        raise FileExistsError(
            f"{shown(path)} holds a training of {done} epochs: go on with it (resume), or name another folder"
        )
    names = class_names_of(dataloaders)
    if content["class_names"] != names:
        raise ValueError(
            f"{shown(path)} was trained on the classes {content['class_names']}, these DataLoaders have {names}"
        )
    for what, part in (("optimizer", optimizer), ("schedule", schedule)):
        saved, given = training[what]["kind"], kind_of(part)
        if saved != given:
            raise ValueError(f"{shown(path)} was trained with the {what} {saved}, and this is {given}")
    try:
        utils.unwrap(model).load_state_dict(content["state_dict"])
        optimizer.load_state_dict(training["optimizer"]["state"])
        if schedule is not None:
            schedule.load_state_dict(training["schedule"]["state"])
        if scaler is not None and training.get("scaler"):
            scaler.load_state_dict(training["scaler"])
    except (RuntimeError, ValueError, KeyError) as error:
        raise ValueError(f"{shown(path)} was trained with another model or optimizer. {error}") from None
    set_random_states(training["random"], dataloaders)
    return training["results"]


def save(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    schedule: object | None,
    dataloaders: list[Iterable],
    results: dict[str, list[float]],
    scaler: torch.amp.GradScaler | None = None,
) -> None:
    """Write the training as it is after an epoch, whole or not at all.

    Raises CheckpointError, with `results`, where that fails: a full disk, or what torch.load would refuse.
    """
    bare, done = utils.unwrap(model), len(results[KEYS[0]])
    training = {
        "epochs": done,
        "results": results,
        "optimizer": {"kind": kind_of(optimizer), "state": optimizer.state_dict()},
        "schedule": {"kind": kind_of(schedule), "state": schedule and schedule.state_dict()},
        "scaler": scaler and scaler.state_dict(),
        "random": random_states(dataloaders),
    }
    content = {
        "format": utils.CHECKPOINT_FORMAT,
        "state_dict": bare.state_dict(),
        "config": getattr(bare, "config", None),
        "class_names": class_names_of(dataloaders),
        "transform": None,
        "training": training,
    }
    try:
        utils.write_atomically(utils.plain(content), folder / NAME)
    except (OSError, RuntimeError, TypeError) as error:
        kept = f"the checkpoint of epoch {done - 1} stays" if (folder / NAME).is_file() else "there is no checkpoint"
        reason = error.__context__ if isinstance(error.__context__, OSError) else error
        stopped = CheckpointError(f"epoch {done} is trained, but not saved in {shown(folder)}: {reason}; {kept}")
        stopped.results = results
        raise stopped from None


def kind_of(part: object | None) -> str:
    return "none" if part is None else type(part).__name__


def class_names_of(dataloaders: list[Iterable]) -> list[str] | None:
    """The training images' classes, where their dataset tells."""
    classes = getattr(getattr(dataloaders[0], "dataset", None), "classes", None)
    return None if classes is None else list(classes)


# Random states


def generators_of(dataloaders: list[Iterable]) -> list[torch.Generator | None]:
    """The generators that loaders and samplers draw their order from, where they have their own."""
    holders = [holder for loader in dataloaders for holder in (loader, getattr(loader, "sampler", None))]
    return [getattr(holder, "generator", None) for holder in holders]


def random_states(dataloaders: list[Iterable]) -> dict:
    """The state of every random generator that training draws from, in plain values and tensors."""
    name, keys, *rest = np.random.get_state()
    generators = generators_of(dataloaders)
    return {
        "python": random.getstate(),
        "numpy": (name, keys.tolist(), *rest),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "mps": torch.mps.get_rng_state() if torch.backends.mps.is_available() else None,
        "loaders": [None if generator is None else generator.get_state() for generator in generators],
    }


def set_random_states(states: dict, dataloaders: list[Iterable]) -> None:
    """Put back what random_states gave. A device that this machine lacks, or has more of, is left as it is."""
    random.setstate(states["python"])
    name, keys, *rest = states["numpy"]
    np.random.set_state((name, np.array(keys, dtype=np.uint32), *rest))
    torch.set_rng_state(states["torch"])
    if torch.cuda.is_available() and len(states["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(states["cuda"])
    if torch.backends.mps.is_available() and states["mps"] is not None:
        torch.mps.set_rng_state(states["mps"])
    for generator, state in zip(generators_of(dataloaders), states["loaders"]):
        if generator is not None and state is not None:
            generator.set_state(state)

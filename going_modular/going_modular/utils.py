"""Device choice, saving and loading models, and the results ledger."""

import itertools
import json
import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch
from torch import nn

from going_modular.going_modular import ROOT
from going_modular.going_modular.data_setup import create_transform
from going_modular.going_modular.vit import ViT
from helper_functions import describe_file

RESULTS = ROOT / "build" / "results.jsonl"
CHECKPOINT_FORMAT = "vit-checkpoint-1"
DEVICES = ("cuda", "mps", "cpu")
OWNED: dict[Path, BinaryIO] = {}  # what own_path has given out: the path, and the locked file that says so


def available_devices() -> list[str]:
    """The devices that PyTorch finds on this machine now, the best first."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    return [name for name in DEVICES if there[name]]


def get_device() -> str:
    """The best device this machine has, asked at each call: cuda, then mps, then cpu.

    FOODVISION_DEVICE (auto, cuda, mps or cpu) overrides. Raises ValueError for another value and RuntimeError where the
    device asked for is not there.
    """
    wish = os.environ.get("FOODVISION_DEVICE", "auto") or "auto"
    if wish == "auto":
        return available_devices()[0]
    if wish not in DEVICES:
        raise ValueError(f"FOODVISION_DEVICE is {wish!r}: use auto, {', '.join(DEVICES)}")
    if wish not in available_devices():
        raise RuntimeError(f"FOODVISION_DEVICE is {wish!r}, and PyTorch finds no such device here: use auto or cpu")
    return wish


# Saving


def save_model(model: nn.Module, target_dir: str | Path, model_name: str) -> None:
    """Save the model's state_dict as target_dir/model_name, which ends in .pth or .pt.

    The names in it are the bare ones, whether the model is compiled or wrapped for several GPUs. The file appears
    whole or not at all. Raises ValueError for another ending.
    """
    if not model_name.endswith((".pth", ".pt")):
        raise ValueError(f"model_name {model_name!r} should end in .pth or .pt")
    path = Path(target_dir) / model_name
    print(f"[INFO] Saving model to: {shown(path)}")
    write_atomically(unwrap(model).state_dict(), path)


def save_checkpoint(model: nn.Module, path: str | Path, class_names: list[str], transform: dict | None = None) -> None:
    """Save what load_model needs to answer as this ViT does: weights, config, class names, how images are prepared.

    transform holds the arguments of data_setup.create_transform. The file appears whole or not at all. Raises TypeError
    for what load_model would refuse: anything but tensors and plain values.
    """
    bare = unwrap(model)
    described = {"config": bare.config, "class_names": list(class_names), "transform": transform}
    write_atomically({"format": CHECKPOINT_FORMAT, "state_dict": bare.state_dict(), **plain(described)}, Path(path))


def plain(value: object) -> object:
    """The value in Python's own types and tensors: torch.load takes back neither NumPy's numbers nor paths.

    Raises TypeError for what has no such form.
    """
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value)
    if isinstance(value, Path):
        return value.as_posix()
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str, torch.Tensor)):
        return value
    raise TypeError(f"a checkpoint holds tensors, numbers, texts, lists and dicts, not a {type(value).__name__}")


def unwrap(model: nn.Module) -> nn.Module:
    """The model inside DataParallel, DistributedDataParallel and torch.compile."""
    if hasattr(model, "_orig_mod"):
        return unwrap(model._orig_mod)
    if isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
        return unwrap(model.module)
    return model


def write_atomically(content: object, path: Path) -> None:
    """torch.save, so that an older file stays whole until the new one is."""
    with replacing(path) as file:
        torch.save(content, file)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A temporary file beside `path`, open for writing; it takes the path's place when all of it is on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


# Several processes at once


def lock(file: BinaryIO) -> bool:
    """Lock an open file for this process until that is closed; False where another process has it.

    The system lets go of it when the process ends, however it ends. A file system without locks counts as free.
    """
    try:
        if os.name == "nt":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        pass
    return True


def own_path(path: str | Path) -> Path:
    """The path itself, or name_2, name_3, ... where another process that is still running got that one here.

    So two notebooks that train at once save beside each other, and the one that runs again replaces its own file.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        candidate = path if number == 1 else path.with_name(f"{path.stem}_{number}{path.suffix}")
        if candidate in OWNED:
            return candidate
        file = candidate.with_name(f".{candidate.name}.lock").open("a+b")
        if lock(file):
            OWNED[candidate] = file
            return candidate
        file.close()


# Loading


def load_model(path: str | Path, device: str | torch.device = "cpu", **config) -> tuple[ViT, dict]:
    """Rebuild a ViT from a file of save_checkpoint or from a plain state_dict with the course's names.

    A plain state_dict does not tell num_heads, nor the image's sides if it is not square: pass num_heads=12, and
    img_size=(H, W) if need be. Any argument of ViT may be passed; one that contradicts the file is an error.

    Returns (model in eval mode on `device`, info). info holds "config", "class_names" and "transform", the last two
    None where the file does not tell. predictions uses model.transform, made from the last.

    Raises FileNotFoundError; ValueError where the file is no such checkpoint, or contradicts `config`.
    """
    content = read_weights(path)
    if content.get("format") == CHECKPOINT_FORMAT:
        state_dict, known = content.get("state_dict"), content.get("config")
        if not isinstance(state_dict, dict) or not isinstance(known, dict):
            raise ValueError(
                f"{shown(path)} is a checkpoint of another model than this project's ViT, or a part of one"
            )
    else:
        state_dict = content
        known = config_from_state_dict(state_dict, path, config)
    for name, value in config.items():
        if name in known and not same_setting(known[name], value):
            raise ValueError(f"{name}={value!r} was asked for, but {shown(path)} was saved with {name}={known[name]!r}")
    try:
        check_sizes({**known, **config}, state_dict)
        model = ViT(**{**known, **config})
        model.load_state_dict(state_dict)
    except (RuntimeError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{shown(path)} does not fit the ViT it describes. {error}") from None
    info = {"config": model.config, "class_names": content.get("class_names"), "transform": content.get("transform")}
    if info["transform"]:
        try:
            model.transform = create_transform(**info["transform"])
        except (TypeError, ValueError) as error:
            raise ValueError(f"{shown(path)} holds no transform that is known here. {error}") from None
    return model.to(device).eval(), info


def read_weights(path: str | Path) -> dict:
    """The dict in a file of torch.save, on the CPU; plain content only, since a pickle can run code.

    Raises FileNotFoundError, or ValueError with one sentence on what the file is instead.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {shown(path)}: save a model there first, or correct the path")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch.load raises errors of many kinds
        with path.open("rb") as file:
            first = file.read(1)
        if isinstance(error, pickle.UnpicklingError) and first in (b"P", b"\x80"):  # a zip, a pickle
            raise ValueError(
                f"{shown(path)} ({path.stat().st_size:,} bytes) holds Python objects besides tensors and plain values. "
                "Loading it could run code, so it is refused: ask for its state_dict"
            ) from None
        raise ValueError(
            f"{shown(path)} is not what torch.save writes, but {describe_file(path)}: save or download it again"
        ) from None
    if not isinstance(content, dict):
        raise ValueError(f"{shown(path)} holds a {type(content).__name__}, not a state_dict")
    return content


def check_sizes(config: dict, state_dict: dict) -> None:
    """Raise ValueError where a ViT so built has other shapes, before memory is asked for on a file's word."""
    layers = config.get("num_transformer_layers", 0)
    if isinstance(layers, int) and layers > len(state_dict):
        raise ValueError(f"{layers} encoder blocks can't lie in {len(state_dict)} tensors")
    with torch.device("meta"):
        expected = {name: tensor.shape for name, tensor in ViT(**config).state_dict().items()}
    for name, shape in expected.items():
        found = getattr(state_dict.get(name), "shape", None)
        if found != shape:
            raise ValueError(f"{name} has the shape {found and tuple(found)}, not {tuple(shape)}")


def config_from_state_dict(state_dict: dict, path: str | Path, given: dict) -> dict:
    """What a state_dict's names and shapes tell of ViT's arguments.

    Raises ValueError where the names are not this ViT's, or where something it can't tell is not in `given`.
    """
    try:
        embedding_dim, in_channels, patch_size, _ = state_dict["patch_embedding.patcher.weight"].shape
        num_patches = state_dict["position_embedding"].shape[1] - 1
        mlp_size = state_dict["transformer_encoder.0.mlp_block.mlp.0.weight"].shape[0]
        num_classes = state_dict["classifier.1.weight"].shape[0]
    except (KeyError, AttributeError, IndexError, ValueError) as error:
        names = ", ".join(list(map(str, state_dict))[:3])
        raise ValueError(
            f"{shown(path)} does not hold this ViT's weights: {error} is missing or of another shape. "
            f"The first names in it: {names}"
        ) from None
    layers = {name.split(".")[1] for name in map(str, state_dict) if name.startswith("transformer_encoder.")}
    known = {
        "in_channels": in_channels,
        "patch_size": patch_size,
        "num_transformer_layers": len(layers),
        "embedding_dim": embedding_dim,
        "mlp_size": mlp_size,
        "num_classes": num_classes,
    }
    side = round(num_patches**0.5)
    if side * side == num_patches:
        known["img_size"] = (side * patch_size, side * patch_size)
    for name, hint in (
        ("num_heads", "ViT-Ti has 3, ViT-S 6, ViT-Base 12, ViT-Large and ViT-Huge 16"),
        ("img_size", f"(H, W) with H * W = {num_patches * patch_size**2}"),
    ):
        if name not in known and name not in given:
            raise ValueError(f"{shown(path)} is a plain state_dict, which does not tell {name}: pass {name}= ({hint})")
    if "img_size" in given and num_patches_of(given["img_size"], patch_size) == num_patches:
        known["img_size"] = given["img_size"]
    return known


def num_patches_of(img_size: int | tuple[int, int], patch_size: int) -> int:
    height, width = (img_size, img_size) if isinstance(img_size, int) else img_size
    return (height // patch_size) * (width // patch_size)


def same_setting(saved: object, asked: object) -> bool:
    """Equal values; a square img_size may be written as one side."""
    if isinstance(saved, (tuple, list)) and isinstance(asked, int):
        asked = (asked, asked)
    return tuple(saved) == tuple(asked) if isinstance(saved, (tuple, list)) else saved == asked


def shown(path: str | Path) -> str:
    """A path as it is printed: from the repository's root where it lies below it, so that no home folder shows."""
    path = Path(path)
    absolute = path.absolute()
    return absolute.relative_to(ROOT).as_posix() if absolute.is_relative_to(ROOT) else str(path)


# The results ledger


def record_result(
    *,
    notebook: str,
    data: str,
    weights: str,
    variant: str,
    img_size: int,
    epochs: int,
    seed: int,
    accuracy: float,
    seconds: float,
    precision: str = "float32",
    path: Path | None = None,
) -> dict:
    """Append one finished training to the ledger, build/results.jsonl, and return it.

    data is "photos" or "drawn". weights is "none" (from scratch), "offline" or the name of torchvision's weights.
    accuracy is a share of 1 on the test images.
    """
    result = {
        "notebook": notebook,
        "data": data,
        "weights": weights,
        "variant": variant,
        "img_size": img_size,
        "precision": precision,
        "epochs": epochs,
        "seed": seed,
        "accuracy": round(float(accuracy), 6),
        "seconds": round(float(seconds), 1),
    }
    path = RESULTS if path is None else Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:  # one write, at the end: what several notebooks record at once stays line by line
        broken = file.seek(0, os.SEEK_END) and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n"
        file.write(b"\n" * broken + json.dumps(result).encode() + b"\n")
    return result


def read_results(path: Path | None = None) -> list[dict]:
    """The ledger's results, oldest first; none where nothing has been recorded.

    A line that a killed process left unfinished is passed over.
    """
    path = RESULTS if path is None else Path(path)
    if not path.is_file():
        return []
    results = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            results.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return results


def format_results(results: list[dict]) -> str:
    """The results as a table of text, one row a training."""
    head = ["notebook", "data", "weights", "model", "image", "precision", "epochs", "seed", "test accuracy", "seconds"]
    rows = [
        [
            result["notebook"],
            result["data"],
            result["weights"],
            result["variant"],
            str(result["img_size"]),
            result["precision"],
            str(result["epochs"]),
            str(result["seed"]),
            f"{result['accuracy']:.1%}",
            f"{result['seconds']:.0f}",
        ]
        for result in results
    ]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [head, *rows]
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])

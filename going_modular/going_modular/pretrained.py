"""A ViT that has learned before: torchvision's weights, or the small checkpoint that comes with this project."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torchvision import models
from torchvision.models import Weights, WeightsEnum

from going_modular.going_modular import ROOT, utils
from going_modular.going_modular.data_setup import create_transform
from going_modular.going_modular.features import extract_features, freeze, head_of
from going_modular.going_modular.torchvision_weights import (
    fit,
    load_torchvision_weights,
    resize_positions,
    sizes_of,
    to_our_names,
    variant_of,
)
from going_modular.going_modular.vit import VARIANTS, ViT
from helper_functions import DownloadError, archive_name, describe_file, download, file_sha256

__all__ = [
    "Pretrained",
    "extract_features",
    "freeze",
    "get_pretrained_vit",
    "head_of",
    "load_torchvision_weights",
    "resize_positions",
    "save_offline_checkpoint",
]

OFFLINE = ROOT / "models" / "vit_ti_16_drawn_food.pth"
OFFLINE_VARIANT = "ViT-Ti/16"
SUMS = "SHA256SUMS"  # beside the offline checkpoint: its hash and its name
OFFICIAL = {  # torchvision has one file or more for each size of the paper, and none for the later ones
    "ViT-B/16": models.ViT_B_16_Weights.DEFAULT,
    "ViT-B/32": models.ViT_B_32_Weights.DEFAULT,
    "ViT-L/16": models.ViT_L_16_Weights.DEFAULT,
    "ViT-L/32": models.ViT_L_32_Weights.DEFAULT,
    "ViT-H/14": models.ViT_H_14_Weights.DEFAULT,
}
TIMEOUT = (5.0, 15.0)  # seconds until an answer begins, and between two pieces of it


@dataclass(frozen=True)
class Pretrained:
    """A pretrained ViT and what belongs to it.

    Attributes:
        model: our ViT, in eval mode on its device; its dropout is off in train mode too.
        transform: from PIL image to tensor, as the weights' images were prepared; model.transform is the same.
        source: "offline", or the name of torchvision's weights: what utils.record_result takes as `weights`.
        variant: the model's name in VARIANTS; None for an offline checkpoint of another size.
        note: which weights these are, why, and what was changed, in one line.
    """

    model: ViT
    transform: Callable
    source: str
    variant: str | None
    note: str


def get_pretrained_vit(
    num_classes: int | None,
    device: torch.device | str,
    variant: str | None = None,
    weights: WeightsEnum | Weights | None = None,
    *,
    img_size: int | None = None,
) -> Pretrained:
    """A pretrained ViT for `num_classes` classes, and one printed line on which weights and why.

    FOODVISION_WEIGHTS decides where `weights` does not: "official" takes torchvision's, from torch's cache or the
    network; "offline" the checkpoint that comes with this project; "auto" (or nothing) torchvision's if they can be
    had, else the offline checkpoint. torchvision's ImageNet weights were trained by another recipe and on less data
    than the paper's.

    Args:
        num_classes: outputs of the head. Where the weights have another number, their head is left out and a new one
            starts at zero (section 3.2). Where they have as many, or with None, it is theirs, whatever its classes are.
        device: where the model goes.
        variant: a name in VARIANTS. If not given: ViT-B/16 (on a CPU with a frozen backbone, since training all of it
            there takes too long), or whatever size the offline checkpoint has.
        weights: an entry such as torchvision.models.ViT_B_16_Weights.IMAGENET1K_V1; nothing else takes its place.
        img_size: side of the images, if not the weights' own: positions are interpolated, the transform follows.

    Raises:
        ValueError: an argument or FOODVISION_WEIGHTS has a value that is not allowed; a file is cut off, altered or
            no such checkpoint (the message says what to delete); the weights have other sizes than `variant`.
        DownloadError: what was asked for can't be downloaded, and nothing may take its place.
        FileNotFoundError: the offline checkpoint is missing, or a download is needed and FOODVISION_WEIGHTS forbids it.
    """
    choice = os.environ.get("FOODVISION_WEIGHTS", "").strip().lower() or "auto"
    if choice not in ("auto", "official", "offline"):
        raise ValueError(f"FOODVISION_WEIGHTS is {choice!r}; it must be auto, official or offline")
    if variant is not None and variant not in VARIANTS:
        raise ValueError(f"no variant is called {variant!r}: choose one of {', '.join(VARIANTS)}")
    if weights is not None and not isinstance(weights, (WeightsEnum, Weights)):
        raise TypeError(f"weights is {weights!r}; pass an entry such as torchvision.models.ViT_B_16_Weights.DEFAULT")

    settings = (num_classes, variant, img_size)
    entry = weights or OFFICIAL.get(variant or "ViT-B/16")
    if weights is None and choice == "offline":
        found = offline_vit("FOODVISION_WEIGHTS is offline", *settings)
    elif entry is None and choice == "official":
        raise ValueError(f"torchvision has no weights for {variant}: choose one of {', '.join(OFFICIAL)}")
    elif entry is None:
        found = offline_vit(f"torchvision has none for {variant}", *settings)
    else:
        replaceable = weights is None and variant is None and choice == "auto"
        try:
            path, origin = fetch(entry, allowed=choice != "offline", retries=0 if replaceable else 1)
        except (DownloadError, OSError) as error:
            if not replaceable:
                raise
            found = offline_vit(" ".join(str(error).split()).rstrip("."), *settings)
        else:
            found = official_vit(entry, path, origin, *settings)
            if weights is None and variant is None and torch.device(device).type == "cpu":
                freeze(found.model)
                found = replace(found, note=f"{found.note}; the backbone is frozen, as training all of it takes a GPU")
    found.model.to(device).eval()
    found.model.__dict__["transform"] = found.transform  # not as a submodule, which torchvision's transforms would be
    print(f"Weights: {found.note}.")
    return found


def official_vit(
    entry: WeightsEnum | Weights,
    path: Path,
    origin: str,
    num_classes: int | None,
    variant: str | None,
    img_size: int | None,
) -> Pretrained:
    """The ViT of a file of torchvision's, at the image size that its entry's transform gives."""
    state = to_our_names(utils.read_weights(path))
    name = variant or variant_of(sizes_of(state))
    if name is None:
        raise ValueError(f"{shown(path)} has sizes of none of {', '.join(VARIANTS)}: {sizes_of(state)}")
    classes = len(state.get("classifier.1.bias", ()))
    promised = len(entry.meta.get("categories", ())) or classes
    if not classes or classes != promised:
        raise ValueError(
            f"{shown(path)} has a head for {classes} classes, its entry in torchvision tells of {promised}"
            if classes
            else f"{shown(path)} has no head of the form heads.head.weight and heads.head.bias"
        )
    transform = entry.transforms()
    side = getattr(transform, "crop_size", entry.meta.get("min_size", (224,)))[0]
    if img_size is not None:  # the same share of the image is cut out
        resize_size = round(img_size * transform.resize_size[0] / side)
        transform, side = entry.transforms(crop_size=img_size, resize_size=resize_size), img_size
    model = ViT.from_variant(name, classes if num_classes is None else num_classes, side, dropout=0.0)
    notes = fit(model, state)
    source = str(entry) if isinstance(entry, WeightsEnum) else path.stem
    note = "; ".join([f"torchvision's {source} ({name}), {origin}", *notes])
    return Pretrained(model, transform, source, name, note)


def fetch(entry: WeightsEnum | Weights, allowed: bool, retries: int) -> tuple[Path, str]:
    """The checked file of an entry, and where it comes from, in words: torch's cache, or a download into it.

    The first hex digits of the SHA-256 stand in the file's name, after its last "-". torch.hub compares them while it
    downloads, and never again; here a file in the cache is checked at every call.

    Raises ValueError for a cached file that is not what it should be; DownloadError where none can be downloaded;
    FileNotFoundError where downloading is not allowed.
    """
    name = archive_name(entry.url)
    digits = re.search(r"-([0-9a-f]{8,64})\.[^.-]*$", name)
    if not digits:
        raise ValueError(f"{name} can't be checked: its name should end in - and the first 8 digits of its SHA-256")
    path = Path(torch.hub.get_dir(), "checkpoints", name)
    if path.is_file():
        if fault := hash_fault(path, digits[1]):
            raise ValueError(f"{shown(path)} is cut off or altered: {fault}. Delete this file and call again")
        return path, "from torch's cache"
    if not allowed:
        raise FileNotFoundError(
            f"there is no {shown(path)}, and FOODVISION_WEIGHTS is offline: put {name} there, or set it to auto"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{name}.{os.getpid()}")
    try:
        download(entry.url, temporary, TIMEOUT, retries, backoff=1.0)
        if fault := hash_fault(temporary, digits[1]):
            raise DownloadError(f"{name} did not arrive as it should: {fault}. It was not used.")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path, "downloaded"


def hash_fault(path: Path, expected: str) -> str | None:
    """What is wrong with a file whose SHA-256 should begin with `expected`; None where nothing is."""
    found = file_sha256(path)
    if found.startswith(expected.lower()):
        return None
    return f"{describe_file(path)}, whose SHA-256 begins with {found[: min(len(expected), 16)]}, not {expected[:16]}"


def shown(path: Path) -> str:
    """A path as utils.shown prints it, or from the home folder, `~/...`, where it lies below that."""
    text, home = utils.shown(path), Path.home()
    return f"~/{path.relative_to(home).as_posix()}" if text == str(path) and path.is_relative_to(home) else text


# The checkpoint that comes with this project


def offline_vit(reason: str, num_classes: int | None, variant: str | None, img_size: int | None) -> Pretrained:
    """The ViT of the offline checkpoint, once its SHA-256 is checked, in float32."""
    name = utils.shown(OFFLINE)
    if variant not in (None, OFFLINE_VARIANT):
        raise ValueError(f"{reason}, and the offline checkpoint is a {OFFLINE_VARIANT}: no weights for {variant} here")
    if not OFFLINE.is_file():
        raise FileNotFoundError(f"there is no {name} ({reason}): run `make pretrain`, which makes it, or fetch it anew")
    sums = OFFLINE.with_name(SUMS)
    expected = read_sums(sums).get(OFFLINE.name)
    if expected is None:
        raise FileNotFoundError(f"{utils.shown(sums)} does not tell the SHA-256 of {OFFLINE.name}: run `make pretrain`")
    if fault := hash_fault(OFFLINE, expected):
        raise ValueError(f"{name} is cut off or altered: {fault}. Delete it, then fetch it anew or run `make pretrain`")
    source, info = utils.load_model(OFFLINE)
    settings = {"num_classes": num_classes, "img_size": img_size}
    no_dropout = {"attn_dropout": 0.0, "mlp_dropout": 0.0, "embedding_dropout": 0.0}
    given = {name: value for name, value in settings.items() if value is not None}
    model = ViT(**{**source.config, **no_dropout, **given})
    notes = fit(model, source.state_dict())
    prepared = info["transform"] or {"img_size": source.img_size}
    if img_size is not None:
        prepared = {**prepared, "img_size": img_size}
    found = variant_of(sizes_of(model.state_dict()))
    note = "; ".join([f"the offline checkpoint {name} ({found or 'of its own size'}), since {reason}", *notes])
    return Pretrained(model, create_transform(**prepared), "offline", found, note)


def save_offline_checkpoint(model: ViT, class_names: list[str], transform: dict, path: Path | None = None) -> None:
    """Save what offline_vit loads: the model in half precision, and its SHA-256 in SHA256SUMS beside it.

    transform holds the arguments of data_setup.create_transform. The model itself stays as it is.
    """
    path = OFFLINE if path is None else Path(path)
    half = ViT(**model.config).half()
    half.load_state_dict(model.state_dict())
    utils.save_checkpoint(half, path, class_names, transform)
    sums = path.with_name(SUMS)
    lines = {**(read_sums(sums) if sums.is_file() else {}), path.name: file_sha256(path)}
    temporary = sums.with_name(f".{sums.name}.{os.getpid()}")
    temporary.write_text("".join(f"{digest}  {name}\n" for name, digest in lines.items()), encoding="utf-8")
    os.replace(temporary, sums)


def read_sums(path: Path) -> Mapping[str, str]:
    """The SHA-256 of each file that a SHA256SUMS names; none where there is no such file."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    lines = [line.split() for line in text.splitlines()]
    return {words[1].lstrip("*"): words[0] for words in lines if len(words) == 2}

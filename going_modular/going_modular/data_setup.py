"""From image folders to DataLoaders, and where the images come from: the photos, or drawings in their place."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from PIL import Image
from torch.utils.data import DataLoader, default_collate
from torchvision import transforms
from torchvision.datasets import DatasetFolder

from going_modular.going_modular import ROOT, drawn_food
from going_modular.going_modular.images import OneLineError, UnreadableImageError, load_image
from going_modular.going_modular.pictures import PicturesInMemory, Together, keep_in_memory
from going_modular.going_modular.prefetch import PrefetchingDataLoader
from going_modular.going_modular.sampling import SeededIndex, ShuffledSampler, seeded
from helper_functions import (
    IMAGE_SUFFIXES,
    ArchiveError,
    DownloadError,
    answer,
    download_data,
    is_junk,
    move_into_place,
    network_errors,
    shown,
    visible_files,
)

__all__ = [
    "BatchError",
    "FoodData",
    "FoodDataset",
    "ShuffledSampler",
    "UnreadableImageError",
    "create_dataloaders",
    "create_transform",
    "default_num_workers",
    "get_food_data",
    "load_image",
]

PHOTOS_ZIP = "pizza_steak_sushi.zip"
PHOTOS_URL = f"https://github.com/mrdbourke/pytorch-deep-learning/raw/main/data/{PHOTOS_ZIP}"
PHOTOS_SHA256 = "5e9596fcc939a32996e59bbed8ec690ae39203bbcbc08292a92d44e4c4a27652"
PICTURES = {f"{split}/{name}": n for split, counts in drawn_food.COUNTS.items() for name, n in counts.items()}
SKIPPED_SUFFIXES = {".gif", ".heic", ".heif", ".avif", ".jxl", ".jfif", ".svg", ".psd", ".dng", ".cr2", ".nef", ".arw"}


# Which data


@dataclass(frozen=True)
class FoodData:
    """A folder with train/ and test/, each with a folder for every class.

    Attributes:
        path: the folder.
        kind: "photos" (of Food-101) or "drawn" (the stand-in, made by drawn_food).
        reason: one line that says why this kind was taken.
    """

    path: Path
    kind: str
    reason: str


def get_food_data(data_dir: Path | None = None) -> FoodData:
    """Find, download or draw the pictures of pizza, steak and sushi.

    Tried in this order: complete photos in `data_dir`; the folder or address in FOODVISION_MIRROR; the photos' own
    address; the drawings. What fails is printed in one line. FOODVISION_DATA changes the order: "photos" stops with
    an error before the drawings, "drawn" begins with them, "auto" (or nothing) leaves it.

    Args:
        data_dir: where the pictures lie or go, ROOT/data if not given.

    Raises:
        ValueError: FOODVISION_DATA is none of the three.
        RuntimeError: FOODVISION_DATA is "photos", and they can't be had; the message lists all reasons.
    """
    data_dir = ROOT / "data" if data_dir is None else Path(data_dir)
    choice = os.environ.get("FOODVISION_DATA", "").strip().lower() or "auto"
    if choice not in ("auto", "photos", "drawn"):
        raise ValueError(f"FOODVISION_DATA is {choice!r}; it must be auto, photos or drawn.")
    if choice == "drawn":
        return _drawings(data_dir, "FOODVISION_DATA is drawn")
    photos = data_dir / "pizza_steak_sushi"
    if _is_complete(photos):
        return FoodData(photos, "photos", "complete photos were there already")
    failures = []
    if found := _count_pictures(photos):
        total = sum(PICTURES.values())
        failures.append(f"{photos.name} holds {sum(found.values())} pictures, not the {total} in their classes.")
        print(f"Photos: {failures[-1]}")
    for origin, fetch in _photo_sources(patient=choice == "photos"):
        try:
            _install(fetch, photos)
            return FoodData(photos, "photos", f"photos from {origin}")
        except (DownloadError, OSError, ValueError) as error:
            failures.append(f"{origin} failed: {' '.join(str(error).split())}")
            print(f"Photos: {failures[-1]}")
    if choice == "photos":
        raise RuntimeError(
            "\n".join(["FOODVISION_DATA is photos, but they can't be had.", *failures])
            + f"\nSet FOODVISION_MIRROR to a folder that holds {PHOTOS_ZIP}, or FOODVISION_DATA to auto."
        )
    print("Photos: none, so drawings take their place.")
    return _drawings(data_dir, "no photos: " + " ".join(failures))


def _drawings(data_dir: Path, reason: str) -> FoodData:
    """The drawn stand-in, made if it isn't there."""
    folder = data_dir / "drawn_pizza_steak_sushi"
    if not _is_complete(folder):
        _install(lambda work: drawn_food.draw_food_data(work / "drawn"), folder)
    return FoodData(folder, "drawn", reason)


def _photo_sources(patient: bool) -> Iterator[tuple[str, Callable[[Path], Path]]]:
    """Each place to get the photos from: its name, and a function that puts them into a folder it is given.

    Impatient, each place costs at most some 5 s when the network is dead.
    """
    waits = {"timeout": (10.0, 15.0), "retries": 2} if patient else {"timeout": (4.5, 8.0), "retries": 0}
    mirror = os.environ.get("FOODVISION_MIRROR", "").strip()
    if mirror:

        def from_mirror(work: Path) -> Path:
            zip_path, sums = _read_mirror(mirror, waits["timeout"])
            return download_data(zip_path, "photos", sha256=sums.get(PHOTOS_ZIP), data_dir=work, **waits)

        yield f"FOODVISION_MIRROR ({shown(mirror)})", from_mirror
    yield (
        "the photos' own address",
        lambda work: download_data(PHOTOS_URL, "photos", sha256=PHOTOS_SHA256, data_dir=work, **waits),
    )


def _read_mirror(mirror: str, timeout: tuple[float, float]) -> tuple[str | Path, dict[str, str]]:
    """The zip's address or path in a mirror, and the hashes in the SHA256SUMS beside it, if there is one."""
    if "://" in mirror:
        zip_path, sums_url = (f"{mirror.rstrip('/')}/{name}" for name in (PHOTOS_ZIP, "SHA256SUMS"))
        try:
            with answer(sums_url, timeout) as response, network_errors(sums_url):
                text = next(response.iter_content(1 << 16), b"").decode("utf-8", "replace")
        except DownloadError as error:
            if error.status is None:  # no server there at all
                raise
            text = ""
    else:
        folder = ROOT / Path(mirror).expanduser()  # an absolute path stays as it is
        zip_path, sums_path = folder / PHOTOS_ZIP, folder / "SHA256SUMS"
        text = sums_path.read_text(encoding="utf-8", errors="replace") if sums_path.is_file() else ""
    lines = [line.split() for line in text.splitlines()]
    return zip_path, {words[1].lstrip("*"): words[0] for words in lines if len(words) == 2 and len(words[0]) == 64}


def _count_pictures(folder: Path) -> dict[str, int]:
    """How many images each folder below `folder` holds, as {"train/pizza": 78, ...}; empty files count for nothing."""
    images = [path for path in visible_files(folder) if path.suffix.lower() in IMAGE_SUFFIXES and path.is_file()]
    return dict(Counter(path.parent.relative_to(folder).as_posix() for path in images if path.stat().st_size))


def _is_complete(folder: Path) -> bool:
    """Whether a folder holds exactly the pictures that this project's data consists of."""
    return _count_pictures(folder) == PICTURES


def _install(make: Callable[[Path], Path], target: Path) -> None:
    """Let `make` build the data in a temporary folder beside `target`, check the counts, and move it there.

    An incomplete folder in the target's place may hold someone's own files: it is renamed, never deleted.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent, ignore_cleanup_errors=True) as work:
        made = make(Path(work))
        counts = _count_pictures(made)
        if counts != PICTURES:
            raise ArchiveError(f"these are other pictures: {counts}, not {PICTURES}.")
        if target.is_dir() and any(target.iterdir()) and not _is_complete(target):
            aside = _unused(target.with_name(f"{target.name}_incomplete"))
            target.rename(aside)
            print(f"{target} was incomplete; it is now {aside.name}, with everything that was in it.")
        move_into_place(made, target)


def _unused(path: Path) -> Path:
    """The path itself or, if something is there, the first of path_2, path_3, ... that is free."""
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}_{number}")
    return free


# From folders to batches


class BatchError(OneLineError):
    """Images can't be put together to one batch. The message says why and how to mend it."""


class FoodDataset(DatasetFolder):
    """Images in class folders: `root/<class>/<image>`, as (transformed image, class number).

    As torchvision's ImageFolder, but every image is read by load_image, and hidden folders and systems' leftovers
    (`.ipynb_checkpoints`, `__MACOSX`, `._*`, `Thumbs.db`) are neither classes nor images. Picture formats that are
    not read (.heic, .gif, ...) are named in one printed line.

    Raises:
        FileNotFoundError: the folder is missing, has no class folders, or a class holds no image.
    """

    def __init__(self, root: str | Path, transform: Callable | None = None) -> None:
        if not Path(root).is_dir():
            raise FileNotFoundError(f"There is no folder {root}; it should hold one folder of images for each class.")
        super().__init__(str(root), loader=load_image, extensions=IMAGE_SUFFIXES, transform=transform)
        self.imgs = self.samples

    def find_classes(self, directory: str | Path) -> tuple[list[str], dict[str, int]]:
        """Class names in alphabetical order, and the number of each."""
        classes = sorted(path.name for path in Path(directory).iterdir() if path.is_dir() and not is_junk(path.name))
        if not classes:
            raise FileNotFoundError(f"{directory} holds no class folders; put each class's images into one.")
        return classes, {name: number for number, name in enumerate(classes)}

    @staticmethod
    def make_dataset(directory: str | Path, class_to_idx: dict[str, int], *_args, **_kwargs) -> list[tuple[str, int]]:
        """The list of (image path, class number); prints which picture formats were passed over."""
        samples, skipped = [], Counter()
        for name, number in class_to_idx.items():
            files = visible_files(Path(directory, name))
            images = [(str(path), number) for path in files if path.suffix.lower() in IMAGE_SUFFIXES]
            if not images:
                raise FileNotFoundError(
                    f"The class {name!r} has no image in {Path(directory, name)}; "
                    f"add some ({', '.join(IMAGE_SUFFIXES)}) or remove the folder."
                )
            samples += images
            skipped.update(path.suffix.lower() for path in files if path.suffix.lower() in SKIPPED_SUFFIXES)
        if skipped:
            formats = ", ".join(f"{number} {suffix}" for suffix, number in sorted(skipped.items()))
            print(f"{directory}: {skipped.total()} pictures of formats that are not read were skipped: {formats}.")
        return samples

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        """Image and class number. A SeededIndex decides what random transforms draw, in any process alike."""
        if not isinstance(index, SeededIndex):
            return super().__getitem__(index)
        with seeded(index.seed):  # the caller's random state stays as it is
            return super().__getitem__(index)


def create_transform(img_size: int | tuple[int, int] = 224, augment: bool = False) -> transforms.Compose:
    """PIL image -> tensor (3, H, W) with pixels from -1 to 1, as in the paper's released code.

    Args:
        img_size: side of the square, or (H, W); the image is stretched to exactly this size.
        augment: take a random part (60 to 100 % of the area) and flip it left to right half of the time.

    Raises:
        ValueError: img_size is not one or two whole numbers of at least 1.
    """
    size = tuple(img_size) if isinstance(img_size, (tuple, list)) else (img_size, img_size)
    if len(size) != 2 or not all(type(side) is int and side >= 1 for side in size):
        raise ValueError(f"img_size is {img_size!r}; it must be a whole number of at least 1, or two: (H, W).")
    if augment:
        to_size = [transforms.RandomResizedCrop(size, scale=(0.6, 1.0)), transforms.RandomHorizontalFlip()]
    else:
        to_size = [transforms.Resize(size)]
    to_tensor = [transforms.ToTensor(), transforms.Normalize(mean=[0.5] * 3, std=[0.5] * 3)]
    return transforms.Compose(to_size + to_tensor)


def default_num_workers() -> int:
    """How many processes load images: none without CUDA, or where a process can't be forked; else up to 8."""
    method = multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
    if not torch.cuda.is_available() or method != "fork":
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 8)


def collate_images(batch: list[tuple[torch.Tensor, int]]) -> list[torch.Tensor]:
    """Stack images and class numbers to [(B, C, H, W), (B,)]; BatchError if the images don't fit together."""
    if isinstance(batch, Together):
        return [batch.images, batch.labels]
    images = [image for image, _ in batch]
    if any(isinstance(image, Image.Image) for image in images):
        raise BatchError("The transform gives PIL images; end it with ToTensor(), or use create_transform().")
    shapes = sorted({tuple(getattr(image, "shape", ())) for image in images})
    if len(shapes) > 1:
        raise BatchError(
            f"Images of the shapes {shapes[0]} and {shapes[1]} met in one batch. Resize(224) keeps the ratio of the "
            "sides: write Resize((224, 224)), or add CenterCrop(224) after it."
        )
    return default_collate(batch)


def create_dataloaders(
    train_dir: str | Path,
    test_dir: str | Path,
    transform: Callable,
    batch_size: int,
    num_workers: int | None = None,
    *,
    test_transform: Callable | None = None,
    seed: int | None = None,
    cache: str | None = None,
) -> tuple[DataLoader, DataLoader, list[str]]:
    """Make the DataLoaders of two image folders.

    Args:
        train_dir: folder with one folder of images for each class; its images are shuffled anew each epoch.
        test_dir: the same for testing, in a fixed order.
        transform: from PIL image to tensor.
        batch_size: images in a batch; the last batch may be smaller.
        num_workers: processes that load images; if not given, default_num_workers(), or 0 with pictures in memory.
        test_transform: transform of the test images, if it is another.
        seed: decides the training images' order and random transforms; None leaves that to set_seeds().
        cache: "memory" reads and resizes each picture once, here, and keeps it as whole numbers; the next batch is
            then prepared while the model computes. Pixels are the same, bit for bit. Where the transform can't be
            split into what is done once and what each time (create_transform's can), or where the pictures take more
            than a quarter of the free memory, they are read as without it. A printed line says which, and the size.
            None reads each picture in every epoch.

    Returns:
        (train_dataloader, test_dataloader, class_names); the training sampler has `set_epoch`.

    Raises:
        FileNotFoundError: see FoodDataset.
        UnreadableImageError: with cache="memory"; without it, when the image's turn comes.
        ValueError: the two folders differ in their classes, or a value is not allowed.
    """
    if cache not in (None, "memory"):
        raise ValueError(f'cache is {cache!r}; it must be "memory", or None to read each picture in every epoch.')
    workers = 0 if num_workers is None else num_workers
    for name, value, least in (("batch_size", batch_size, 1), ("num_workers", workers, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name} is {value!r}; it must be a whole number of at least {least}.")
    train_data = FoodDataset(train_dir, transform)
    test_data = FoodDataset(test_dir, test_transform or transform)
    if train_data.classes != test_data.classes:
        differing = sorted(set(train_data.classes) ^ set(test_data.classes))
        raise ValueError(
            f"Training and test must have the same classes, but {differing} are only in one of them: "
            f"{train_dir} has {train_data.classes}, {test_dir} has {test_data.classes}."
        )
    if cache == "memory":
        train_data, test_data = keep_in_memory(train_data, test_data)
    kept = isinstance(train_data, PicturesInMemory)
    if num_workers is None:
        num_workers = 0 if kept else default_num_workers()
    loader = PrefetchingDataLoader if kept and num_workers == 0 else DataLoader
    shared = {
        "batch_size": batch_size,
        "num_workers": num_workers,
        "collate_fn": collate_images,
        "pin_memory": torch.cuda.is_available(),
        "persistent_workers": num_workers > 0,
        # Its own generator: else beginning an epoch would move torch's random state, by more or less with workers.
        "generator": torch.Generator().manual_seed(torch.initial_seed() if seed is None else seed),
    }
    train_dataloader = loader(train_data, sampler=ShuffledSampler(train_data, seed), **shared)
    test_dataloader = loader(test_data, **shared)
    return train_dataloader, test_dataloader, train_data.classes

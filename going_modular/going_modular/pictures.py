"""Pictures read and resized once, and kept in memory as whole numbers: 224 x 224 pixels are 150,528 bytes.

Decoding a JPEG takes far longer than anything that comes after it. What `cache="memory"` of create_dataloaders keeps
and what experiments trains on come from here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms
from torchvision.transforms._presets import ImageClassification

from going_modular.going_modular import augment, machine
from going_modular.going_modular.sampling import SeededIndex

PART_OF_FREE = 4  # pictures may take a quarter of the memory that is free
FIXED = (transforms.Resize, transforms.CenterCrop)  # the same of a picture each time


class NotKept(Exception):
    """These pictures can't be kept in memory; the message says why, as the second half of a sentence."""


@dataclass(frozen=True)
class Pictures:
    """images (M, C, H, W) as uint8, or floats that a model takes as they are, such as features (M, D); labels (M,)."""

    images: torch.Tensor
    labels: torch.Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, numbers: torch.Tensor | slice) -> Pictures:
        return Pictures(self.images[numbers], self.labels[numbers])


def to_uint8(picture: Image.Image) -> torch.Tensor:
    """An RGB picture as uint8 (3, H, W)."""
    return torch.from_numpy(np.array(picture)).permute(2, 0, 1).contiguous()


def read_pictures(dataset: Dataset, resize: Callable[[Image.Image], Image.Image]) -> Pictures:
    """Every picture of a FoodDataset, read and resized in its order.

    Raises NotKept where the resized pictures differ in size, and what images.load_image raises, with the file's name.
    """
    images = None
    for number, (path, _) in enumerate(dataset.samples):
        picture = to_uint8(resize(dataset.loader(path)))
        if images is None:
            images = torch.empty((len(dataset.samples), *picture.shape), dtype=torch.uint8)
        if picture.shape != images.shape[1:]:
            raise NotKept("their transform gives them unequal sizes")
        images[number] = picture
    return Pictures(images, torch.tensor(dataset.targets))


# A transform in two: what is done once, and what is done each time


@dataclass(frozen=True)
class Steps:
    """A transform in parts.

    Attributes:
        resize: from a picture of any size to the one that is kept.
        crop: a random part of it, flipped half of the time; None for the whole.
        mean, std: float32 (3, 1, 1), of pixels from 0 to 1; None where the transform leaves them so.
    """

    resize: Callable[[Image.Image], Image.Image]
    crop: transforms.RandomResizedCrop | None
    mean: np.ndarray | None
    std: np.ndarray | None


def split_transform(transform: Callable | None) -> Steps:
    """The parts of create_transform's transforms, of those of torchvision's weights, and of others built alike.

    Raises NotKept for one that can't be taken apart.
    """
    steps = steps_of(transform)
    fixed = list(takewhile(lambda step: type(step) in FIXED, steps))
    rest, crop = steps[len(fixed) :], None
    if len(rest) >= 2 and is_crop(rest[0]) and type(rest[1]) is transforms.RandomHorizontalFlip and rest[1].p == 0.5:
        crop, rest = rest[0], rest[2:]
        fixed.append(transforms.Resize(crop.size, crop.interpolation, antialias=crop.antialias))
    kinds = [type(step) for step in rest]
    if kinds not in ([transforms.ToTensor], [transforms.ToTensor, transforms.Normalize]):
        names = ", ".join(type(step).__name__ for step in steps)
        raise NotKept(f"their transform ({names}) can't be split into what is done once and what each time")
    mean, std = (
        (np.float32(values).reshape(-1, 1, 1) for values in (rest[1].mean, rest[1].std)) if rest[1:] else (None, None)
    )
    return Steps(transforms.Compose(fixed), crop, mean, std)


def steps_of(transform: Callable | None) -> list[Callable]:
    """A transform's single steps, in order."""
    if type(transform) is transforms.Compose:
        return [step for part in transform.transforms for step in steps_of(part)]
    if type(transform) is ImageClassification:  # of torchvision's weights
        return [
            transforms.Resize(transform.resize_size, transform.interpolation, antialias=transform.antialias),
            transforms.CenterCrop(transform.crop_size),
            transforms.ToTensor(),
            transforms.Normalize(transform.mean, transform.std),
        ]
    return [transform]


def is_crop(step: Callable) -> bool:
    """Whether augment.random_crop can take this step's place."""
    return type(step) is transforms.RandomResizedCrop and abs(step.ratio[0] * step.ratio[1] - 1) < 1e-6


# Data sets


class PicturesInMemory(Dataset):
    """A FoodDataset that opens no file: the same items, `classes`, `samples`, `targets` and the rest of its attributes.

    Pixels are those of the transform, bit for bit. A random crop is another than without memory: it is cut out of the
    resized picture. What is drawn depends on a SeededIndex's seed alone; a plain number draws from torch's generator.
    The parts of `transform` are taken when the pictures are read: setting another later changes nothing.
    """

    def __init__(self, dataset: Dataset, steps: Steps) -> None:
        vars(self).update(vars(dataset))
        self.steps, self.pictures = steps, read_pictures(dataset, steps.resize)

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: list[int]) -> Together:
        """The items of a whole batch; a DataLoader asks for them so."""
        images = np.empty((len(indices), *self.pictures.images.shape[1:]), dtype=np.float32)
        for image, index in zip(images, indices):
            self._prepare(index, image)
        return Together(torch.from_numpy(images), [self.targets[index] for index in indices])

    def _prepare(self, index: int, image: np.ndarray) -> None:
        """Write what the model sees of a picture to `image`, (C, H, W).

        NumPy, since it takes one core: these lines run beside the model's, which takes the others.
        """
        np.divide(self.pictures.images[index].numpy(), np.float32(255), out=image)
        if self.steps.mean is not None:
            image -= self.steps.mean
            image /= self.steps.std
        if self.steps.crop is not None:
            generator = torch.Generator().manual_seed(index.seed) if isinstance(index, SeededIndex) else None
            whole, (_, ratio) = torch.from_numpy(image)[None], self.steps.crop.ratio
            part = augment.random_crop(whole, image.shape[1:], self.steps.crop.scale, ratio, generator=generator)
            image[:] = part[0].numpy()


class Together(list):
    """A list of (image, class number), as any data set's, whose images lie side by side in `images` (B, C, H, W)."""

    def __init__(self, images: torch.Tensor, labels: list[int]) -> None:
        super().__init__(zip(images, labels))
        self.images, self.labels = images, torch.tensor(labels)


def keep_in_memory(*datasets: Dataset) -> tuple[Dataset, ...]:
    """PicturesInMemory of each FoodDataset, or the data sets as they are where that can't be. Prints which, and why.

    Raises what images.load_image raises, with the file's name.
    """
    count = sum(len(dataset) for dataset in datasets)
    try:
        steps = [split_transform(dataset.transform) for dataset in datasets]
        size = sum(size_of(dataset, each) for dataset, each in zip(datasets, steps))
        free = machine.free_memory()
        if size > free // PART_OF_FREE:
            raise NotKept(
                f"they take {size / 1e6:,.0f} MB, more than a quarter of the {free / 1e6:,.0f} MB that are free"
            )
        kept = tuple(PicturesInMemory(dataset, each) for dataset, each in zip(datasets, steps))
    except NotKept as reason:
        print(f"Pictures: {count} are read from disk in every epoch, since {reason}.")
        return datasets
    print(f"Pictures: {count} read once and kept in memory, {size / 1e6:,.0f} MB.")
    return kept


def size_of(dataset: Dataset, steps: Steps) -> int:
    """Bytes of a data set's pictures in memory, by its first."""
    return len(dataset) * to_uint8(steps.resize(dataset.loader(dataset.samples[0][0]))).numel()

"""checks, notebook 01: what is right passes, and each wrong version gets its own verdict."""

import random
import shutil
from pathlib import Path

import pytest
import torch
from check_tools import expect, wrong_versions
from torch.utils.data import DataLoader
from torchvision import transforms

from going_modular.going_modular import data_setup

UNIT = wrong_versions(
    "to_unit",
    ("not_halved", lambda x: x + 1),
    ("shifted_by_half", lambda x: x + 0.5),
    ("halved_alone", lambda x: 0.5 * x),
    ("halved_late", lambda x: x * 0.5 + 1),
    ("cut_off", lambda x: x.clip(0, 1)),
    ("absolute", lambda x: x.abs()),
    ("scaled_again", transforms.Normalize([0.5] * 3, [0.5] * 3)),
    ("own_range", lambda x: (x - x.min()) / (x.max() - x.min())),
    ("to_255", lambda x: (x * 0.5 + 0.5) * 255),
    ("sigmoid", torch.sigmoid),
    ("in_place", lambda x: x.mul_(0.5).add_(0.5)),
    ("detached", lambda x: torch.tensor((x.detach().numpy() + 1) / 2)),
    ("dtype", lambda x: x.double() * 0.5 + 0.5),
    ("not_attempted", lambda x: None),
)


def splitter(cut=lambda n, share: round(n * share), copy=shutil.copy, chance=random.Random, names=("test", "train")):
    def split_folder(source, target, test_share=0.2, seed=42):
        generator = chance(seed)
        for folder in sorted(source.iterdir()):
            files = sorted(folder.iterdir())
            generator.shuffle(files)
            n = cut(len(files), test_share)
            place(target, folder.name, {names[0]: files[:n], names[1]: files[n:]}, copy)

    return split_folder


def place(target, name, parts, copy=shutil.copy):
    for part, files in parts.items():
        (target / part / name).mkdir(parents=True, exist_ok=True)
        for file in files:
            copy(file, target / part / name / file.name)


def all_classes_at_once(source, target, test_share, seed):
    files = sorted(source.glob("*/*"))
    random.Random(seed).shuffle(files)
    n = round(len(files) * test_share)
    for part, chosen in (("test", files[:n]), ("train", files[n:])):
        for folder in source.iterdir():
            place(target, folder.name, {part: [file for file in chosen if file.parent == folder]})


def first_classes(source, target, test_share, seed):
    files = sorted(source.glob("*/*"))
    n = round(len(files) * test_share)
    for part, chosen in (("test", files[:n]), ("train", files[n:])):
        for file in chosen:
            place(target, file.parent.name, {part: [file]})


def overlapping(source, target, test_share, seed):
    for folder in sorted(source.iterdir()):
        files = sorted(folder.iterdir())
        random.Random(seed).shuffle(files)
        n = round(len(files) * test_share)
        place(target, folder.name, {"test": files[:n], "train": files})


def losing(source, target, test_share, seed):
    for folder in sorted(source.iterdir()):
        files = sorted(folder.iterdir())
        random.Random(seed).shuffle(files)
        n = round(len(files) * test_share)
        place(target, folder.name, {"test": files[:n], "train": files[n + 1 :]})


SPLIT = wrong_versions(
    "split_folder",
    ("moved", splitter(copy=shutil.move)),
    ("in_both", overlapping),
    ("lost", losing),
    ("exchanged", splitter(names=("train", "test"))),
    ("share_ignored", splitter(cut=lambda n, share: n // 2)),
    ("class_missing", first_classes),
    ("classes_uneven", all_classes_at_once),
    ("not_repeatable", splitter(chance=lambda seed: random.Random())),
    ("seed_ignored", splitter(chance=lambda seed: random.Random(42))),
    ("other_folders", splitter(names=("validation", "train"))),
    ("not_attempted", lambda source, target, test_share, seed: None),
    ("error", lambda source, target, test_share, seed: shutil.copy(source, target)),
)

PLAIN, AUGMENTED = data_setup.create_transform(224), data_setup.create_transform(224, augment=True)


def loaders(train=AUGMENTED, test=PLAIN, parts=("train", "test")):
    def make_dataloaders(folder):
        return data_setup.create_dataloaders(
            Path(folder) / parts[0], Path(folder) / parts[1], train, 32, test_transform=test
        )

    return make_dataloaders


def by_hand(folder, shuffle=(True, False), names=None):
    sets = [data_setup.FoodDataset(folder / part, t) for part, t in (("train", AUGMENTED), ("test", PLAIN))]
    return *(DataLoader(data, 32, shuffle=mixed) for data, mixed in zip(sets, shuffle)), names or sets[0].classes


def unscaled(augment):
    crop = transforms.RandomResizedCrop((224, 224)) if augment else transforms.Resize((224, 224))
    return transforms.Compose([crop, transforms.ToTensor()])


LOADERS = wrong_versions(
    "augmented_dataloaders",
    ("test_augmented", loaders(test=AUGMENTED)),
    ("not_augmented", loaders(train=PLAIN)),
    ("exchanged", loaders(train=PLAIN, test=AUGMENTED)),
    ("other_images", loaders(parts=("test", "train"))),
    ("other_images", loaders(parts=("train", "train"))),
    ("other_size", loaders(data_setup.create_transform(96, augment=True), data_setup.create_transform(96))),
    ("not_normalised", loaders(unscaled(True), unscaled(False))),
    ("not_shuffled", lambda folder: by_hand(folder, shuffle=(False, False))),
    ("test_shuffled", lambda folder: by_hand(folder, shuffle=(True, True))),
    ("class_names", lambda folder: by_hand(folder, names={"cat": 0, "dog": 1}.values())),
    ("not_three", lambda folder: by_hand(folder)[:2]),
    ("not_attempted", lambda folder: None),
    ("error", lambda folder: data_setup.create_dataloaders(folder / "training", folder / "test", PLAIN, 32)),
)

NUMBER = wrong_versions(
    "average_of_batches",
    ("over_images", 31 / 75),
    ("pizza", 0.2604),
    ("steak", 0.198),
    ("summed", 1.625),
    ("full_batches", 0.323),
    ("last_dropped", 0.3125),
    ("guessing", 1 / 3),
    ("unit", 54.1667),
    ("other_number", 0.9),
)


@pytest.mark.parametrize("exercise, name, attempt", [*UNIT, *SPLIT, *LOADERS, *NUMBER])
def test_wrong_versions(exercise, name, attempt):
    expect(exercise, name, attempt)


@pytest.mark.parametrize(
    "exercise, attempt",
    [
        ("to_unit", lambda x: (x + 1) / 2),
        ("split_folder", splitter()),
        ("split_folder", splitter(cut=lambda n, share: int(n * share))),
        ("augmented_dataloaders", loaders()),
        ("augmented_dataloaders", by_hand),
        ("average_of_batches", 0.542),
    ],
)
def test_right_versions(exercise, attempt):
    assert expect(exercise, "passed", attempt).passed

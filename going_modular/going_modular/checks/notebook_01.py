"""Checks of notebook 01: data."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from going_modular.going_modular.checks.attempt import guarded, result_of
from going_modular.going_modular.checks.compare import Mistake, same_function, same_number
from going_modular.going_modular.checks.verdict import NotAttempted, Wrong, check

# Exercise 1: to_unit(x)


UNIT_MISTAKES = (
    Mistake("not_halved", "this goes from 0 to 2: halve it", lambda x: x + 1),
    Mistake("shifted_by_half", "this goes from -0.5 to 1.5: scale before you shift", lambda x: x + 0.5),
    Mistake("halved_alone", "this goes from -0.5 to 0.5: add a half", lambda x: x / 2),
    Mistake("halved_late", "the 1 isn't halved: write brackets, (x + 1) / 2", lambda x: x / 2 + 1),
    Mistake("cut_off", "the negative half is cut off: scale and shift, don't clamp", lambda x: x.clamp(0, 1)),
    Mistake("absolute", "dark became bright: the sign is lost, so scale and shift in place of abs()", torch.abs),
    Mistake("scaled_again", "this is Normalize once more: undo it, x * 0.5 + 0.5", lambda x: (x - 0.5) / 0.5),
    Mistake(
        "own_range",
        "you stretch each image to its own smallest and largest value: undo the fixed scaling, x * 0.5 + 0.5",
        lambda x: (x - x.min()) / (x.max() - x.min()),
    ),
    Mistake("to_255", "this goes from 0 to 255: from 0 to 1 was asked", lambda x: (x + 1) / 2 * 255),
    Mistake("sigmoid", "sigmoid bends the values: scale and shift", torch.sigmoid),
)


@check
def to_unit(attempt) -> str:
    """to_unit(x): values from -1 to 1 back to values from 0 to 1, any shape."""
    cases = [(torch.rand(shape) * 1.8 - 0.9,) for shape in ((3, 8, 6), (2, 3, 4, 4))]
    for case, dims in zip(cases, ("C H W", "B C H W")):
        same_function(attempt, lambda x: x * 0.5 + 0.5, [case], dims, UNIT_MISTAKES)
    return "Right for one image and for a batch, outputs and gradients."


# Pictures to try the next two on


def make_pictures(folder: Path, names: dict[str, int], first: int = 0) -> dict[str, set]:
    """Folders of small pictures of noise, each another one: {class: file names}."""
    random = np.random.default_rng(first)
    for name, count in names.items():
        (folder / name).mkdir(parents=True)
        for number in range(count):
            pixels = random.integers(0, 256, (24, 32, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{name}_{number}.png")
    return files_in(folder)


def files_in(folder: Path) -> dict[str, set]:
    return {child.name: {path.name for path in child.iterdir()} for child in sorted(folder.iterdir()) if child.is_dir()}


def started(result, folder: Path) -> None:
    """NotAttempted where a function has made nothing."""
    if not folder.exists() or not any(folder.iterdir()):
        raise NotAttempted("Your code has made no folder yet.")


# Exercise 2: split_folder(source, target, test_share, seed)


@check
def split_folder(attempt: Callable) -> str:
    """split_folder(source, target, test_share=0.2, seed=42): class folders -> target/train and target/test."""
    with tempfile.TemporaryDirectory(prefix="check-") as work:
        work = Path(work)
        classes = make_pictures(work / "photos", {"cat": 20, "dog": 10, "fox": 30})
        results = []
        for name, seed in (("first", 1), ("again", 1), ("other", 2)):
            torch.manual_seed(len(results))  # else a split without a seed would seem to repeat
            np.random.seed(len(results))
            target = work / name
            guarded(lambda t=target, s=seed: attempt(work / "photos", t, 0.2, s), "test_share = 0.2")
            started(None, target)
            results.append(target)
        if files_in(work / "photos") != classes:
            raise Wrong("moved", "pictures have left the source folder: copy them, so that nothing is lost")
        check_split(results[0], classes)
        splits = [files_in(target / "test") for target in results]
        if splits[0] != splits[1]:
            raise Wrong("not_repeatable", "two calls with the same seed give two splits: use random.Random(seed)")
        if splits[0] == splits[2]:
            raise Wrong("seed_ignored", "another seed gives the same split: shuffle with random.Random(seed)")
    return "Right: nothing lost, nothing in both parts, every class in its share, and the seed decides."


def check_split(target: Path, classes: dict[str, set]) -> None:
    folders = sorted(path.name for path in target.iterdir() if path.is_dir())
    if folders != ["test", "train"]:
        raise Wrong("other_folders", f"the target holds {', '.join(folders)}: train and test were expected")
    train, test = files_in(target / "train"), files_in(target / "test")
    for part, found in (("train", train), ("test", test)):
        if missing := sorted(set(classes) - {name for name, files in found.items() if files}):
            raise Wrong("class_missing", f"{part} has no {', '.join(missing)}: split every class by itself")
    if both := [file for name in classes for file in train[name] & test[name]]:
        raise Wrong(
            "in_both", f"{len(both)} pictures are in train and in test: a model would be tested on what it learned"
        )
    lost = [file for name, files in classes.items() for file in files - train[name] - test[name]]
    if lost:
        raise Wrong("lost", f"{len(lost)} pictures are in neither part")
    shares = {name: len(test[name]) / len(files) for name, files in classes.items()}
    if all(abs(share - 0.8) < 0.01 for share in shares.values()):
        raise Wrong("exchanged", "80% are in test: test_share is the part for testing, and the rest is to train on")
    total = sum(map(len, test.values())) / sum(map(len, classes.values()))
    off = {name: share for name, share in shares.items() if abs(share - 0.2) > 0.051}
    if off and abs(total - 0.2) < 0.051:
        shown = ", ".join(f"{share:.0%} of {name}" for name, share in shares.items())
        raise Wrong("classes_uneven", f"the test part has {shown}: split every class by itself")
    if off:
        raise Wrong("share_ignored", f"{total:.0%} are in test, and test_share = 0.2")


# Exercise 3: make_dataloaders(folder)


@check
def augmented_dataloaders(attempt: Callable) -> str:
    """make_dataloaders(folder) -> (train_dataloader, test_dataloader, class_names); only training is augmented."""
    with tempfile.TemporaryDirectory(prefix="check-") as work:
        work = Path(work)
        make_pictures(work / "train", {"cat": 6, "dog": 6}, first=1)
        make_pictures(work / "test", {"cat": 3, "dog": 4}, first=2)
        result = result_of(attempt, work, what="a folder with train and test")
        if not isinstance(result, (tuple, list)) or len(result) != 3:
            raise Wrong("not_three", "three things were expected: train_dataloader, test_dataloader, class_names")
        train, test, names = result
        if list(names) != ["cat", "dog"]:
            raise Wrong("class_names", f"the class names are {names}, and ['cat', 'dog'] were expected")
        if len(train.dataset) != 12 or len(test.dataset) != 7:
            exchanged = (len(train.dataset), len(test.dataset)) == (7, 12)
            text = "train and test are exchanged" if exchanged else "they don't hold the folders' images"
            raise Wrong("other_images", text)
        check_augmentation(train, test)
        check_order_and_size(train, test)
    return "Right: training images change from epoch to epoch, test images and their order stay."


def changes(dataset) -> bool:
    """Whether the images of a data set differ when they are read again."""
    return any(not torch.equal(dataset[0][0], dataset[0][0]) for _ in range(4))


def check_augmentation(train, test) -> None:
    training, testing = changes(train.dataset), changes(test.dataset)
    if testing and not training:
        raise Wrong(
            "exchanged", "the test images are augmented and the training images aren't: exchange the transforms"
        )
    if testing:
        raise Wrong(
            "test_augmented", "the test images are augmented too: hand the plain transform over as test_transform"
        )
    if not training:
        raise Wrong(
            "not_augmented", "the training images stay the same: use create_transform(224, augment=True) for them"
        )


def check_order_and_size(train, test) -> None:
    labels = [
        torch.cat([labels for _, labels in dataloader]).tolist() for dataloader in (test, test, train, train, train)
    ]
    if labels[0] != labels[1] or labels[0] != sorted(labels[0]):
        raise Wrong("test_shuffled", "the test images come in a random order: only training images are shuffled")
    if labels[2] == labels[3] == labels[4]:
        raise Wrong("not_shuffled", "the training images come in the same order each epoch: shuffle them")
    for images in (next(iter(train))[0], next(iter(test))[0]):
        if tuple(images.shape[1:]) != (3, 224, 224):
            raise Wrong(
                "other_size", f"the images are {tuple(images.shape[1:])}, and (3, 224, 224) was expected (Table 3)"
            )
        if images.min() >= 0:
            raise Wrong("not_normalised", "the values go from 0 to 1: create_transform scales them to -1 to 1")


# Exercise 4: a number


@check
def average_of_batches(attempt) -> str:
    """The accuracy of always answering sushi, as the mean of the accuracies of test batches of 32."""
    truth = [0] * 25 + [1] * 19 + [2] * 31
    parts = [truth[start : start + 32] for start in range(0, 75, 32)]

    def mean(label, of=parts):
        return sum(part.count(label) / len(part) for part in of) / len(of)

    wrongs = (
        ("over_images", 31 / 75, "this is the average over images, the honest one: here the batches' mean is asked"),
        ("pizza", mean(0), "this is for always answering pizza"),
        ("steak", mean(1), "this is for always answering steak"),
        ("summed", 3 * mean(2), "this is the sum over the batches: divide by their number"),
        ("full_batches", (20 + 11) / 96, "you divide each batch by 32: the last one holds 11 images"),
        ("last_dropped", (0 + 20 / 32) / 2, "the last batch is missing: it holds 11 images, all sushi"),
        ("guessing", 1 / 3, "this is what blind guessing scores"),
    )
    why = (
        "Far above the 31 of 75 that it gets right: the last batch has 11 images, all sushi, and counts as much as 32."
    )
    return same_number(attempt, mean(2), wrongs, why, tolerance=6e-4)

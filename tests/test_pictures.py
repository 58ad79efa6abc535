"""pictures and prefetch: kept in memory, pictures are the ones on disk, in the same order, and errors still surface."""

import pickle
import threading

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, Subset
from torchvision import transforms
from torchvision.models import ViT_B_16_Weights

from going_modular.going_modular import machine
from going_modular.going_modular.data_setup import (
    FoodDataset,
    UnreadableImageError,
    create_dataloaders,
    create_transform,
)
from going_modular.going_modular.pictures import PicturesInMemory, keep_in_memory, split_transform
from going_modular.going_modular.prefetch import PrefetchingDataLoader
from going_modular.going_modular.sampling import SeededIndex, ShuffledSampler

PRESET = ViT_B_16_Weights.IMAGENET1K_V1.transforms
PLAIN = {
    "ours": create_transform(32),
    "height and width": create_transform((16, 48)),
    "a course's": transforms.Compose([transforms.Resize((32, 32)), transforms.ToTensor()]),
    "torchvision's weights": PRESET(crop_size=24, resize_size=28),
    "one in another": transforms.Compose(
        [
            transforms.Compose([transforms.Resize(20), transforms.CenterCrop(16)]),
            transforms.ToTensor(),
            transforms.Normalize([0.1, 0.2, 0.3], [0.5, 0.6, 0.7]),
        ]
    ),
}
FOREIGN = {
    "a function": lambda image: transforms.functional.to_tensor(image.resize((16, 16))),
    "chance": transforms.Compose([transforms.Resize((16, 16)), transforms.ColorJitter(0.5), transforms.ToTensor()]),
    "another crop": transforms.Compose(
        [transforms.RandomResizedCrop(16, ratio=(1, 3)), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
    ),
    "no tensor": transforms.Resize((16, 16)),
}


def loaders(food, transform=None, batch_size=4, **options):
    transform = transform or create_transform(32)
    return create_dataloaders(food / "train", food / "test", transform, batch_size, **{"cache": "memory", **options})[
        :2
    ]


def epochs(loader: DataLoader, number: int = 1) -> list:
    return [[(images.clone(), labels.clone()) for images, labels in loader] for _ in range(number)]


def equal(one: list, other: list) -> bool:
    pairs = [pair for a, b in zip(one, other, strict=True) for pair in zip(a, b, strict=True)]
    return all(torch.equal(a, b) and torch.equal(c, d) for (a, c), (b, d) in pairs)


# The same pictures


@pytest.mark.parametrize("transform", PLAIN.values(), ids=PLAIN.keys())
def test_pixels_labels_and_order_are_those_without_memory_bit_for_bit(tiny_food, transform, capsys):
    kept, read = (loaders(tiny_food, transform, seed=3, cache=cache) for cache in ("memory", None))
    assert isinstance(kept[0], PrefetchingDataLoader) and not isinstance(read[0], PrefetchingDataLoader)
    for one, other in zip(kept, read):
        assert equal(epochs(one, 3), epochs(other, 3))
        assert torch.equal(one.dataset[2][0], other.dataset[2][0]) and one.dataset[2][1] == other.dataset[2][1]
    assert "18 read once and kept in memory" in capsys.readouterr().out


def test_no_file_is_opened_again(tiny_food, tmp_path):
    food = tmp_path / "food"
    for path in tiny_food.rglob("*.png"):
        copy = food / path.relative_to(tiny_food)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    train, test = loaders(food)
    for path in food.rglob("*.png"):
        path.unlink()
    assert len(epochs(train)[0]) == 3 and len(epochs(test)[0]) == 2


def test_it_is_a_data_set_as_the_other(tiny_food):
    kept = loaders(tiny_food)[0].dataset
    read = FoodDataset(tiny_food / "train", create_transform(32))
    for name in ("classes", "class_to_idx", "samples", "targets", "root"):
        assert getattr(kept, name) == getattr(read, name)
    part, whole = Subset(kept, [1, 5, 9]), Subset(read, [1, 5, 9])  # a learner's own loader, with torch's collate
    assert equal(epochs(DataLoader(part, 2)), epochs(DataLoader(whole, 2)))


def test_an_epoch_can_be_repeated_and_the_number_of_workers_changes_nothing(tiny_food):
    augment = create_transform(32, augment=True)
    alone = loaders(tiny_food, augment, seed=3)[0]
    first = epochs(alone, 2)
    assert not equal(first[:1], first[1:])
    alone.sampler.set_epoch(0)
    assert equal(epochs(alone, 2), first)
    assert equal(epochs(loaders(tiny_food, augment, seed=3, num_workers=2)[0], 2), first)
    spawned = DataLoader(
        alone.dataset,
        4,
        sampler=ShuffledSampler(alone.dataset, 3),
        collate_fn=alone.collate_fn,
        num_workers=1,
        multiprocessing_context="spawn",
    )
    assert equal(epochs(spawned), first[:1])


def test_the_data_set_can_be_sent_to_a_process(tiny_food):
    kept = loaders(tiny_food, create_transform(32, augment=True))[0].dataset
    copy = pickle.loads(pickle.dumps(kept))
    assert torch.equal(copy[SeededIndex(3, 7)][0], kept[SeededIndex(3, 7)][0])


def test_random_crops_come_from_the_images_own_seed_and_leave_the_callers_state(tiny_food):
    kept = loaders(tiny_food, create_transform(32, augment=True))[0].dataset
    state = torch.get_rng_state()
    one, same, other = (kept[SeededIndex(0, seed)][0] for seed in (1, 1, 2))
    batch = kept.__getitems__([SeededIndex(4, 9), SeededIndex(0, 1)])
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(one, same) and torch.equal(batch.images[1], one) and not torch.allclose(one, other)
    assert one.shape == (3, 32, 32) and one.abs().max() <= 1


def test_a_random_crop_is_a_part_of_the_picture(tmp_path):
    """On a ramp from black to white, each part is a ramp, at least 0.6 * 3/4 of the width, and half are mirrored."""
    (tmp_path / "ramps").mkdir()
    ramp = np.tile(np.arange(0, 256, 2, dtype=np.uint8)[:, None], (128, 1, 3))
    Image.fromarray(ramp).save(tmp_path / "ramps" / "ramp.png")
    (kept,) = keep_in_memory(FoodDataset(tmp_path, create_transform((32, 64), augment=True)))
    parts = torch.stack([kept[SeededIndex(0, seed)][0][0, 16] for seed in range(60)])  # a row of each
    widths = parts.amax(dim=1) - parts.amin(dim=1)
    assert 0.6 < widths.min() / 2 < 0.75 and widths.max() / 2 > 0.9
    mirrored = (parts[:, 0] > parts[:, -1]).sum()
    assert 15 < mirrored < 45


# What can't be kept


@pytest.mark.parametrize("name", FOREIGN)
def test_a_transform_that_cannot_be_split_is_named_and_the_pictures_are_read_as_before(tiny_food, name, capsys):
    train, _ = loaders(tiny_food, FOREIGN[name])
    line = capsys.readouterr().out
    assert line.count("\n") == 1 and "18 are read from disk in every epoch" in line
    steps = {"a function": "function", "chance": "Resize, ColorJitter, ToTensor", "no tensor": "Resize"}
    assert steps.get(name, "RandomResizedCrop, RandomHorizontalFlip, ToTensor") in line
    assert type(train) is DataLoader and isinstance(train.dataset, FoodDataset)


def test_pictures_of_unequal_sizes_are_read_as_before(tmp_path, capsys):
    for name, size in (("a", (20, 30)), ("b", (30, 20))):
        (tmp_path / name).mkdir()
        Image.new("RGB", size).save(tmp_path / name / "0.png")
    transform = transforms.Compose([transforms.Resize(16), transforms.ToTensor()])
    data = FoodDataset(tmp_path, transform)
    assert keep_in_memory(data) == (data,)
    assert "since their transform gives them unequal sizes" in capsys.readouterr().out


def test_too_little_memory_is_said_with_both_sizes(tiny_food, monkeypatch, capsys):
    needed = 18 * 3 * 224 * 224
    monkeypatch.setattr(machine, "free_memory", lambda: 4 * needed - 1)
    train, _ = loaders(tiny_food, create_transform(224))
    assert type(train) is DataLoader
    assert "they take 3 MB, more than a quarter of the 11 MB that are free" in capsys.readouterr().out
    monkeypatch.setattr(machine, "free_memory", lambda: 4 * needed)
    train, _ = loaders(tiny_food, create_transform(224))
    assert isinstance(train.dataset, PicturesInMemory)
    assert capsys.readouterr().out == "Pictures: 18 read once and kept in memory, 3 MB.\n"


@pytest.mark.parametrize("cache", ["disk", True, 1, ""])
def test_a_bad_cache_is_named(tiny_food, cache):
    with pytest.raises(ValueError, match=f'cache is {cache!r}; it must be "memory", or None'):
        loaders(tiny_food, cache=cache)


def test_an_unreadable_picture_is_named_when_the_loaders_are_made(tmp_path):
    for split in ("train", "test"):
        (tmp_path / split / "pizza").mkdir(parents=True)
        Image.new("RGB", (20, 20)).save(tmp_path / split / "pizza" / "0.png")
    (tmp_path / "train" / "pizza" / "bad one.jpg").write_bytes(b"<html>")
    with pytest.raises(UnreadableImageError, match="bad one.jpg"):
        loaders(tmp_path)


def test_split_transform_keeps_the_interpolation():
    steps = split_transform(PRESET(crop_size=24, resize_size=28, interpolation=transforms.InterpolationMode.BICUBIC))
    assert steps.resize.transforms[0].interpolation == transforms.InterpolationMode.BICUBIC
    assert steps.mean.flatten().tolist() == pytest.approx([0.485, 0.456, 0.406])


# The thread


class Numbers(Dataset):
    """Numbers 0 to 9; notes which thread asked for which, and raises at `bad`."""

    def __init__(self, bad: int | None = None):
        self.bad, self.asked = bad, []

    def __len__(self):
        return 10

    def __getitem__(self, index):
        self.asked.append((index, threading.current_thread() is threading.main_thread()))
        if index == self.bad:
            raise UnreadableImageError("pizza 5.jpg: the image is damaged")
        return index


def waiting_threads() -> int:
    return sum(thread.name.startswith("ThreadPoolExecutor") for thread in threading.enumerate())


def test_a_thread_is_one_batch_ahead():
    data = Numbers()
    seen = []
    for batch in PrefetchingDataLoader(data, batch_size=2):
        seen += batch.tolist()
    assert seen == list(range(10)) and not any(main for _, main in data.asked)
    batches = iter(PrefetchingDataLoader(data, batch_size=2))
    data.asked.clear()
    next(batches)
    batches.close()
    assert [index for index, _ in data.asked] in ([0, 1], [0, 1, 2, 3])


def test_an_error_surfaces_where_the_batch_is_asked_for():
    seen, before = [], waiting_threads()
    with pytest.raises(UnreadableImageError, match="pizza 5.jpg"):
        for batch in PrefetchingDataLoader(Numbers(bad=5), batch_size=2):
            seen += batch.tolist()
    assert seen == [0, 1, 2, 3] and waiting_threads() == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_loop_that_is_left_leaves_no_thread(error):
    before = waiting_threads()
    loader = PrefetchingDataLoader(Numbers(), batch_size=2)

    def loop():
        for batch in loader:
            if 4 in batch:
                raise error

    with pytest.raises(error):
        loop()
    assert waiting_threads() == before
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]


def test_batches_made_in_inference_mode_can_be_trained_on(tiny_food):
    with torch.inference_mode():
        images, _ = next(iter(loaders(tiny_food)[0]))
    assert not images.is_inference()


def test_dropout_is_not_disturbed(tiny_food):
    """The model draws its dropout while the thread draws crops: neither takes numbers from the other."""
    train = loaders(tiny_food, create_transform(32, augment=True), batch_size=1)[0]
    torch.manual_seed(1)
    drawn = [torch.rand(3) for _ in train]
    torch.manual_seed(1)
    assert all(torch.equal(one, torch.rand(3)) for one in drawn)

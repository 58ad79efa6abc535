"""augment: random changes that keep what they must keep."""

import torch
from PIL import Image

from going_modular.going_modular.augment import random_colour, random_crop, to_floats
from going_modular.going_modular.data_setup import create_transform


def ramp(size=64):
    """An image whose red grows to the right and whose green grows downwards, (1, 3, size, size)."""
    line = torch.linspace(-1, 1, size)
    return torch.stack([line.expand(size, size), line[:, None].expand(size, size), torch.zeros(size, size)])[None]


def test_floats_are_the_transforms():
    pixels = torch.randint(0, 256, (3, 16, 16), dtype=torch.uint8)
    image = Image.fromarray(pixels.permute(1, 2, 0).numpy())
    assert torch.allclose(to_floats(pixels), create_transform(16)(image), atol=1e-6)


def test_the_whole_image_is_a_resize():
    whole = random_crop(ramp(), 64, scale=(1, 1), ratio=1, flip=False)
    assert torch.allclose(whole, ramp(), atol=1e-5)
    flipped = [random_crop(ramp(), 64, scale=(1, 1), ratio=1)[0] for _ in range(20)]
    ways = {torch.allclose(image, ramp()[0], atol=1e-5): image for image in flipped}
    assert set(ways) == {True, False} and torch.allclose(ways[False], ramp()[0].flip(-1), atol=1e-5)


def test_parts_have_the_sizes_asked_for():
    """On the ramp, the spread of red and green says how wide and how high each part is."""
    torch.manual_seed(0)
    parts = random_crop(ramp(256).expand(500, -1, -1, -1), 32, scale=(0.35, 0.8), ratio=4 / 3)
    extent = (parts.amax(dim=(2, 3)) - parts.amin(dim=(2, 3))) / 2 * 32 / 31  # (500, 3), a share of the side
    area, shape = extent[:, 0] * extent[:, 1], extent[:, 0] / extent[:, 1]
    assert parts.shape == (500, 3, 32, 32)
    assert 0.33 < area.min() < 0.4 and 0.7 < area.max() < 0.82
    assert 0.74 < shape.min() < 0.8 and 1.25 < shape.max() < 1.36
    assert parts.abs().max() <= 1 and len({round(value.item(), 3) for value in area}) > 300, "each image its own part"


def test_colours_change_image_by_image_and_stay_in_range():
    torch.manual_seed(0)
    images = ramp().expand(50, -1, -1, -1)
    changed = random_colour(images)
    assert changed.shape == images.shape and changed.abs().max() <= 1
    means = changed.mean(dim=(2, 3))
    assert means.std(dim=0).min() > 0.01 and (means[:, 2].abs() <= 0.26).all()
    assert torch.allclose(random_colour(images, 0, 0, 0), images, atol=1e-6)


def test_a_generator_decides():
    images = ramp().expand(4, -1, -1, -1)
    one, two = (
        random_colour(random_crop(images, 16, generator=g), generator=g)
        for g in (torch.Generator().manual_seed(5), torch.Generator().manual_seed(5))
    )
    assert torch.equal(one, two)

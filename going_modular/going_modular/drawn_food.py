"""Draws pictures of food: what a learner without a network sees instead of the photos.

`draw_food` draws one picture, `draw_food_data` a data set of pizza, steak and sushi with as many pictures as the photos
have. Everything is drawn from a seed with NumPy and Pillow: the same seed gives the same pixels. Table, plate, side
dishes, light, lens and place in the frame come from the same distributions for every food, so that only the food itself
tells its name.

`FOODS` knows fifteen foods: the three classes of the data set, and `PRETRAINING_FOODS`, twelve others that a model can
learn to see from before it meets the three.

A new food is one function `name(scene, cx, cy, radius)` in `drawing`, and one line in `FOODS`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from PIL import Image

from going_modular.going_modular.drawing import sides, tableware
from going_modular.going_modular.drawing.burger import burger
from going_modular.going_modular.drawing.cake import cake
from going_modular.going_modular.drawing.cookie import cookie
from going_modular.going_modular.drawing.doughnut import doughnut
from going_modular.going_modular.drawing.fried_egg import fried_egg
from going_modular.going_modular.drawing.fries import fries
from going_modular.going_modular.drawing.ice_cream import ice_cream
from going_modular.going_modular.drawing.pancakes import pancakes
from going_modular.going_modular.drawing.pizza import pizza
from going_modular.going_modular.drawing.salad import salad
from going_modular.going_modular.drawing.scene import Scene
from going_modular.going_modular.drawing.soup import soup
from going_modular.going_modular.drawing.steak import steak
from going_modular.going_modular.drawing.sushi import sushi
from going_modular.going_modular.drawing.taco import taco
from going_modular.going_modular.drawing.waffle import waffle
from going_modular.going_modular.progress import Progress

CLASSES = ("pizza", "steak", "sushi")
COUNTS = {"train": {"pizza": 78, "steak": 75, "sushi": 72}, "test": {"pizza": 25, "steak": 19, "sushi": 31}}
PRETRAINING_FOODS = (
    "burger", "cake", "cookie", "doughnut", "fried_egg", "fries", "ice_cream", "pancakes", "salad", "soup", "taco",
    "waffle",
)  # fmt: skip
FOODS: dict[str, Callable[[Scene, float, float, float], None]] = {
    "pizza": pizza,
    "steak": steak,
    "sushi": sushi,
    "burger": burger,
    "cake": cake,
    "cookie": cookie,
    "doughnut": doughnut,
    "fried_egg": fried_egg,
    "fries": fries,
    "ice_cream": ice_cream,
    "pancakes": pancakes,
    "salad": salad,
    "soup": soup,
    "taco": taco,
    "waffle": waffle,
}


def draw_food(name: str, seed: int, size: int = 256) -> Image.Image:
    """Draw one picture.

    Args:
        name: the food, a key of `FOODS`.
        seed: a whole number of 0 or more; the same seed gives the same pixels.
        size: side of the picture in pixels.

    Returns:
        An RGB picture of `size` by `size` pixels.

    Raises:
        ValueError: if no food has that name.
    """
    if name not in FOODS:
        raise ValueError(f"No food is called {name!r}. Known foods: {', '.join(sorted(FOODS))}.")
    rng = np.random.default_rng(seed)
    scene = Scene(rng, size)
    radius = float(
        rng.choice([rng.uniform(0.58, 0.82), rng.uniform(0.8, 1.05), rng.uniform(1.05, 1.7)], p=[0.2, 0.52, 0.28])
    )
    cx, cy = rng.normal(0, 0.16, 2) + (0, 0.05)
    cx, cy = float(cx), float(cy) / scene.cos
    tableware.draw_table(scene)
    tableware.draw_vessel(scene, cx, cy, radius)
    sides.draw_sides(scene, cx, cy, radius)
    FOODS[name](scene, cx, cy, radius)
    sides.draw_garnish(scene, cx, cy, radius)
    return scene.photograph()


def draw_food_data(
    destination: Path | str, counts: Mapping[str, Mapping[str, int]] = COUNTS, seed: int = 42, size: int = 256
) -> Path:
    """Draw a data set: `destination`/train/pizza/0001.jpg and so on.

    The pictures are drawn into a temporary folder beside `destination`, which takes its name at the end: a drawing that
    is broken off leaves nothing behind.

    Args:
        destination: the folder to make.
        counts: for every split, how many pictures of every food.
        seed: the whole set follows from it. Every picture has a seed of its own, made from (seed, split, food, number),
            so that no two splits share a picture.
        size: side of the pictures in pixels.

    Returns:
        The folder, `destination`.

    Raises:
        ValueError: if a food is unknown.
        FileExistsError: if `destination` exists already.
    """
    destination = Path(destination)
    for food in sorted({food for split in counts.values() for food in split}):
        if food not in FOODS:
            raise ValueError(f"No food is called {food!r}. Known foods: {', '.join(sorted(FOODS))}.")
    if destination.exists():
        raise FileExistsError(f"{destination} exists already. Delete it, or give the drawings another place.")
    destination.parent.mkdir(parents=True, exist_ok=True)
    jobs = [
        (split, food, number)
        for split in counts
        for food in counts[split]
        for number in range(1, counts[split][food] + 1)
    ]
    with tempfile.TemporaryDirectory(prefix=".drawing_", dir=destination.parent) as unfinished:
        root = Path(unfinished, destination.name)
        for split, food, number in Progress().bar(jobs, "Drawing pictures of food"):
            file = root / split / food / f"{number:04d}.jpg"
            file.parent.mkdir(parents=True, exist_ok=True)
            draw_food(food, picture_seed(seed, split, food, number), size).save(file, quality=92)
        root.rename(destination)
    return destination


def picture_seed(seed: int, split: str, food: str, number: int) -> int:
    """Make one picture's seed (128 bits) from the set's seed and the picture's place in it."""
    words = [int.from_bytes(word.encode("utf-8"), "big") for word in (split, food)]
    state = np.random.SeedSequence([seed, *words, number]).generate_state(4)
    return int.from_bytes(state.tobytes(), "little")

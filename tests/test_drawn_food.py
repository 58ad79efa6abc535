"""The drawn food: repeatable, complete, never half-made, and not told apart by colours alone."""

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from going_modular.going_modular import drawn_food
from going_modular.going_modular.drawing.scene import Scene
from going_modular.going_modular.drawn_food import (
    CLASSES,
    COUNTS,
    FOODS,
    PRETRAINING_FOODS,
    draw_food,
    draw_food_data,
    picture_seed,
)

ROOT = Path(__file__).resolve().parents[1]
FEW = {"train": {"pizza": 2, "steak": 1}, "test": {"sushi": 1}}


@pytest.fixture(scope="session")
def drawn(tmp_path_factory) -> Path:
    """The whole data set, drawn once for all tests."""
    return draw_food_data(tmp_path_factory.mktemp("drawn") / "food", size=64)


def digest(picture: Image.Image) -> str:
    return sha256(picture.tobytes()).hexdigest()


def test_classes_are_sorted_and_can_be_drawn():
    assert list(CLASSES) == sorted(CLASSES)
    assert set(CLASSES) <= set(FOODS)
    assert all(set(split) == set(CLASSES) for split in COUNTS.values())


def test_twelve_more_foods_are_for_pretraining_alone():
    assert list(PRETRAINING_FOODS) == sorted(set(PRETRAINING_FOODS)) and len(PRETRAINING_FOODS) == 12
    assert set(FOODS) == set(CLASSES) | set(PRETRAINING_FOODS)
    assert not set(CLASSES) & set(PRETRAINING_FOODS)
    names = "doughnut fried_egg burger pancakes cookie salad waffle ice_cream fries soup taco cake"
    assert set(PRETRAINING_FOODS) == set(names.split())


@pytest.mark.parametrize("name", sorted(FOODS))
@pytest.mark.parametrize("size", [48, 101])
def test_a_picture_is_square_rgb_and_shows_something(name, size):
    picture = draw_food(name, seed=5, size=size)
    assert picture.mode == "RGB" and picture.size == (size, size)
    assert np.asarray(picture, float).std() > 5


@pytest.mark.parametrize("name", sorted(FOODS))
def test_the_seed_decides_every_pixel(name):
    assert digest(draw_food(name, seed=3, size=64)) == digest(draw_food(name, seed=3, size=64))
    assert digest(draw_food(name, seed=3, size=64)) != digest(draw_food(name, seed=4, size=64))


@pytest.mark.parametrize("name", sorted(FOODS))
def test_pictures_of_one_food_vary(name):
    """No two are alike even without colour, and on the whole one says little of the next."""
    grey = np.stack([np.asarray(draw_food(name, seed, size=32).convert("L"), float) for seed in range(24)])
    grey -= grey.mean(axis=(1, 2), keepdims=True)
    grey /= grey.std(axis=(1, 2), keepdims=True)
    alike = np.einsum("axy,bxy->ab", grey, grey) / grey[0].size - np.eye(len(grey))
    assert alike.max() < 0.9
    assert abs(alike.mean()) < 0.2


@pytest.mark.parametrize("name", sorted(FOODS))
def test_a_food_fills_the_place_it_is_given(name):
    """On an empty table: it covers much of its circle, reaches little beyond, and rises above the table."""
    (cx, cy), radius, covers = (0.1, -0.1), 0.5, []
    for seed in range(30):
        scene = Scene(np.random.default_rng(seed), 64)
        FOODS[name](scene, cx, cy, radius)
        painted = (np.abs(scene.colour - 0.5) > 0.001).any(axis=0)
        away = np.hypot(scene.x - cx, scene.y - cy) / radius
        covers.append(painted[away < 1].mean())
        assert np.percentile(away[painted], 95) < 1.6
        assert np.isfinite(scene.colour).all() and np.isfinite(scene.height).all()
        assert 0.02 < scene.height.max() / radius < 2
    assert np.mean(covers) > 0.5 and min(covers) > 0.1


def test_many_seeds_can_be_drawn():
    digests = {digest(draw_food(name, seed, size=32)) for name in FOODS for seed in range(60)}
    assert len(digests) == 60 * len(FOODS)


def test_another_process_draws_the_same_pixels():
    code = """
from hashlib import sha256
from going_modular.going_modular.drawn_food import FOODS, draw_food, picture_seed
for name in sorted(FOODS):
    print(sha256(draw_food(name, picture_seed(1, "train", name, 2), 64).tobytes()).hexdigest())
"""
    here = [digest(draw_food(name, picture_seed(1, "train", name, 2), 64)) for name in sorted(FOODS)]
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=True)
        assert done.stdout.split() == here


def test_an_unknown_food_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match="gravel.*pizza.*steak.*sushi"):
        draw_food("gravel", seed=0)


def test_an_unknown_food_in_the_counts_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match="gravel.*pizza"):
        draw_food_data(tmp_path / "food", {"train": {"pizza": 1, "gravel": 1}}, size=32)
    assert list(tmp_path.iterdir()) == []


def test_the_set_has_the_right_pictures(drawn):
    for split, foods in COUNTS.items():
        assert sorted(folder.name for folder in (drawn / split).iterdir()) == sorted(foods)
        for food, count in foods.items():
            files = sorted((drawn / split / food).iterdir())
            assert [file.name for file in files] == [f"{number:04d}.jpg" for number in range(1, count + 1)]
            for file in files:
                with Image.open(file) as picture:
                    assert (picture.format, picture.mode, picture.size) == ("JPEG", "RGB", (64, 64))
    assert sorted(folder.name for folder in drawn.iterdir()) == sorted(COUNTS)
    assert [folder.name for folder in drawn.parent.iterdir()] == [drawn.name]


def test_a_set_of_pretraining_foods_can_be_drawn(tmp_path):
    folder = draw_food_data(tmp_path / "food", {"train": dict.fromkeys(PRETRAINING_FOODS, 1)}, size=32)
    assert sorted(food.name for food in (folder / "train").iterdir()) == list(PRETRAINING_FOODS)


def test_no_picture_occurs_twice(drawn):
    files = list(drawn.rglob("*.jpg"))
    assert len({sha256(file.read_bytes()).hexdigest() for file in files}) == len(files) == 300


def test_the_set_seed_decides_the_files(tmp_path):
    sets = [draw_food_data(tmp_path / name, FEW, seed, 48) for name, seed in (("a", 1), ("b", 1), ("c", 2))]
    first, again, other = ([file.read_bytes() for file in sorted(folder.rglob("*.jpg"))] for folder in sets)
    assert first == again and not set(first) & set(other)


def test_every_picture_has_its_own_seed():
    seeds = {
        picture_seed(seed, split, food, number)
        for seed in (0, 42) for split in ("train", "test") for food in FOODS for number in range(1, 100)
    }  # fmt: skip
    assert len(seeds) == 2 * 2 * len(FOODS) * 99


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, OSError])
def test_an_interruption_leaves_nothing_half_made(tmp_path, monkeypatch, interruption):
    finished = []

    def break_off(name, seed, size):
        if len(finished) == 2:
            raise interruption("stopped")
        finished.append(name)
        return draw_food(name, seed, size)

    monkeypatch.setattr(drawn_food, "draw_food", break_off)
    with pytest.raises(interruption):
        draw_food_data(tmp_path / "food", FEW, size=32)
    assert len(finished) == 2
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_already_stays(tmp_path):
    (tmp_path / "food").mkdir()
    (tmp_path / "food" / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(FileExistsError, match="food"):
        draw_food_data(tmp_path / "food", FEW, size=32)
    assert (tmp_path / "food" / "mine.txt").read_text(encoding="utf-8") == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["food"]


def thumbnails(folder: Path) -> tuple[np.ndarray, list[str]]:
    files = sorted(folder.rglob("*.jpg"))
    rows = []
    for file in files:
        with Image.open(file) as picture:
            rows.append(np.asarray(picture.resize((8, 8), Image.Resampling.BOX), np.float32).ravel() / 255)
    return np.array(rows), [file.parent.name for file in files]


def test_thumbnails_do_not_give_the_food_away(drawn):
    linear_model = pytest.importorskip("sklearn.linear_model")
    train, train_names = thumbnails(drawn / "train")
    test, test_names = thumbnails(drawn / "test")
    mean, spread = train.mean(axis=0), train.std(axis=0)
    scores = []
    for strength in (0.001, 0.01, 0.1, 1, 10):
        model = linear_model.LogisticRegression(C=strength, max_iter=5000).fit((train - mean) / spread, train_names)
        scores.append(model.score((test - mean) / spread, test_names))
    assert max(scores) < 0.6

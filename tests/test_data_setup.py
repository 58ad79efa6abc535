"""data_setup, images and sampling: which data, which images and classes, and batches that can be repeated."""

import hashlib
import io
import os
import pickle
import random
import re
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import closed_port, files_below, make_zip
from PIL import Image, ImageFile, ImageOps
from torch.utils.data import DataLoader
from torchvision import transforms

from going_modular.going_modular import data_setup, drawn_food, images
from going_modular.going_modular.data_setup import (
    BatchError,
    FoodDataset,
    ShuffledSampler,
    UnreadableImageError,
    create_dataloaders,
    create_transform,
    default_num_workers,
    get_food_data,
    load_image,
)

ROOT = Path(data_setup.__file__).resolve().parents[2]
PHOTOS = {
    f"{split}/{name}/{number}.jpg": b"photo"
    for split, counts in drawn_food.COUNTS.items()
    for name, count in counts.items()
    for number in range(count)
}
PHOTOS_ZIP = make_zip(PHOTOS)
ORIENTATION = 0x0112


def write_all(folder: Path, files: dict[str, bytes]) -> Path:
    for name, body in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    return folder


def jpeg(size=(24, 16), color=(200, 30, 30), **kwargs) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, color).save(buffer, "JPEG", **kwargs)
    return buffer.getvalue()


# Which data


@pytest.fixture
def official(server, monkeypatch):
    """The photos' own address moved to this machine, the switches unset, and drawings that take no time."""

    def draw(destination, **_kwargs):
        return write_all(Path(destination), {name: b"drawing" for name in PHOTOS})

    monkeypatch.delenv("FOODVISION_DATA", raising=False)
    monkeypatch.delenv("FOODVISION_MIRROR", raising=False)
    monkeypatch.setattr(data_setup, "PHOTOS_URL", f"{server.url}/official/pizza_steak_sushi.zip")
    monkeypatch.setattr(data_setup, "PHOTOS_SHA256", hashlib.sha256(PHOTOS_ZIP).hexdigest())
    monkeypatch.setattr(drawn_food, "draw_food_data", draw)
    return server


def serve_photos(server) -> None:
    server.pages["/official/pizza_steak_sushi.zip"] = (200, {}, PHOTOS_ZIP)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_photos_come_from_their_own_address(official, tmp_path):
    serve_photos(official)
    data = get_food_data(tmp_path / "data")
    assert (data.path, data.kind) == (tmp_path / "data" / "pizza_steak_sushi", "photos")
    assert "own address" in data.reason
    assert files_below(data.path) == PHOTOS
    assert names_in(tmp_path / "data") == ["pizza_steak_sushi"]


def test_complete_photos_are_taken_without_a_request(official, tmp_path, monkeypatch):
    monkeypatch.setenv("FOODVISION_MIRROR", official.url)
    photos = write_all(tmp_path / "pizza_steak_sushi", {**PHOTOS, ".DS_Store": b"mac", "train/pizza/._1.jpg": b"mac"})
    data = get_food_data(tmp_path)
    assert (data.path, data.kind) == (photos, "photos")
    assert official.requests == []


def test_the_data_folder_is_the_repositorys_wherever_the_call_is_made(official, tmp_path, monkeypatch):
    monkeypatch.setattr(data_setup, "ROOT", tmp_path / "repository")
    monkeypatch.chdir(tmp_path)
    assert get_food_data().path == tmp_path / "repository" / "data" / "drawn_pizza_steak_sushi"
    assert data_setup.__file__.startswith(str(ROOT / "going_modular"))


def test_drawings_take_the_photos_place_loudly_and_with_the_reason(official, tmp_path, capsys):
    data = get_food_data(tmp_path)
    assert (data.path, data.kind) == (tmp_path / "drawn_pizza_steak_sushi", "drawn")
    assert files_below(data.path) == {name: b"drawing" for name in PHOTOS}
    assert "HTTP 404" in data.reason
    assert "\n" not in data.reason
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 2
    assert "HTTP 404" in printed[0]
    assert "drawings" in printed[1]
    assert names_in(tmp_path) == ["drawn_pizza_steak_sushi"]


def test_another_zip_at_the_photos_address_is_not_used(official, tmp_path, capsys):
    official.pages["/official/pizza_steak_sushi.zip"] = (200, {}, make_zip({**PHOTOS, "train/pizza/0.jpg": b"other"}))
    assert get_food_data(tmp_path).kind == "drawn"
    assert "SHA-256" in capsys.readouterr().out


@pytest.mark.parametrize("value", ["drawn", " Drawn "])
def test_the_switch_drawn_draws_at_once(official, tmp_path, monkeypatch, value):
    serve_photos(official)
    write_all(tmp_path / "pizza_steak_sushi", PHOTOS)
    monkeypatch.setenv("FOODVISION_DATA", value)
    data = get_food_data(tmp_path)
    assert (data.kind, data.reason) == ("drawn", "FOODVISION_DATA is drawn")
    assert official.requests == []


def test_finished_drawings_are_not_drawn_again(official, tmp_path, monkeypatch):
    monkeypatch.setenv("FOODVISION_DATA", "drawn")
    first = get_food_data(tmp_path)
    monkeypatch.setattr(drawn_food, "draw_food_data", None)
    assert get_food_data(tmp_path) == first


def test_the_switch_photos_is_an_error_with_all_reasons_instead_of_drawings(official, tmp_path, monkeypatch):
    official.pages["/official/pizza_steak_sushi.zip"] = (403, {}, b"")
    monkeypatch.setenv("FOODVISION_DATA", "photos")
    monkeypatch.setenv("FOODVISION_MIRROR", str(tmp_path / "nowhere"))
    with pytest.raises(RuntimeError, match="(?s)nowhere.*HTTP 403.*FOODVISION_MIRROR"):
        get_food_data(tmp_path)
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("value", ["", "auto", "photos"])
def test_the_other_switches_take_photos_that_can_be_had(official, tmp_path, monkeypatch, value):
    serve_photos(official)
    monkeypatch.setenv("FOODVISION_DATA", value)
    assert get_food_data(tmp_path).kind == "photos"


def test_another_value_of_the_switch_is_named_with_the_three(official, tmp_path, monkeypatch):
    monkeypatch.setenv("FOODVISION_DATA", "fotos")
    with pytest.raises(ValueError, match="'fotos'.*auto, photos or drawn"):
        get_food_data(tmp_path)


def sums(body: bytes) -> bytes:
    return f"{hashlib.sha256(body).hexdigest()} *pizza_steak_sushi.zip\n".encode()


@pytest.fixture(params=["folder", "relative folder", "address", "address with a slash"])
def mirror(request, official, tmp_path, monkeypatch):
    """A function that puts files into a mirror of each kind, which FOODVISION_MIRROR names."""
    folder = tmp_path / "mirror"

    def fill(files: dict[str, bytes]) -> None:
        write_all(folder, files)
        official.pages |= {f"/mirror/{name}": (200, {}, body) for name, body in files.items()}

    address = f"{official.url}/mirror" + ("/" if "slash" in request.param else "")
    monkeypatch.setattr(data_setup, "ROOT", tmp_path)
    where = {"folder": str(folder), "relative folder": "mirror"}.get(request.param, address)
    monkeypatch.setenv("FOODVISION_MIRROR", where)
    return fill


@pytest.mark.parametrize("with_sums", [True, False])
def test_a_mirror_is_asked_before_the_photos_address(mirror, official, tmp_path, with_sums):
    serve_photos(official)
    mirror({"pizza_steak_sushi.zip": PHOTOS_ZIP, **({"SHA256SUMS": sums(PHOTOS_ZIP)} if with_sums else {})})
    data = get_food_data()
    assert (data.path, data.kind) == (tmp_path / "data" / "pizza_steak_sushi", "photos")
    assert "FOODVISION_MIRROR" in data.reason
    assert files_below(data.path) == PHOTOS
    assert not any("official" in path for path in official.requests)
    assert (tmp_path / "mirror" / "pizza_steak_sushi.zip").read_bytes() == PHOTOS_ZIP


def test_a_mirrors_zip_must_have_the_hash_beside_it(mirror, official, tmp_path, capsys):
    serve_photos(official)
    mirror({"pizza_steak_sushi.zip": PHOTOS_ZIP, "SHA256SUMS": sums(b"another")})
    assert "own address" in get_food_data().reason
    assert "FOODVISION_MIRROR" in capsys.readouterr().out


def test_a_mirrors_zip_must_hold_the_right_number_of_pictures(mirror, official, tmp_path, capsys):
    mirror({"pizza_steak_sushi.zip": make_zip({name: body for name, body in PHOTOS.items() if "/7.jpg" not in name})})
    assert get_food_data().kind == "drawn"
    assert "'train/pizza': 77" in capsys.readouterr().out
    assert names_in(tmp_path / "data") == ["drawn_pizza_steak_sushi"]


def test_a_mirrors_zip_may_hold_a_wrapper_and_mac_leftovers(mirror, tmp_path):
    wrapped = {f"photos/{name}": body for name, body in PHOTOS.items()}
    junk = {f"__MACOSX/photos/{name.replace('pizza/', 'pizza/._')}": b"mac" for name in PHOTOS}
    mirror({"pizza_steak_sushi.zip": make_zip({**wrapped, **junk, "photos/train/.DS_Store": b"mac"})})
    assert files_below(get_food_data().path) == PHOTOS


@pytest.mark.parametrize("body", [b"<html>sign in</html>", PHOTOS_ZIP[:1000]])
def test_a_mirror_without_a_zip_is_named_and_passed_over(mirror, tmp_path, capsys, body):
    mirror({"pizza_steak_sushi.zip": body})
    assert get_food_data().kind == "drawn"
    lines = capsys.readouterr().out.splitlines()
    assert "FOODVISION_MIRROR" in lines[0]
    assert "own address" in lines[1]


def test_a_dead_network_costs_seconds(official, tmp_path, monkeypatch):
    """Every request of one call together waits no longer than about 10 s for an answer, and none is repeated."""
    waits = []

    def note(url, timeout):
        waits.append((url, timeout[0]))
        raise data_setup.DownloadError("no answer")

    monkeypatch.setenv("FOODVISION_MIRROR", "http://mirror.invalid")
    monkeypatch.setattr(data_setup, "answer", note)
    monkeypatch.setattr("helper_functions.answer", note)
    assert get_food_data(tmp_path).kind == "drawn"
    assert ["mirror" in url for url, _ in waits] == [True, False]
    assert sum(seconds for _, seconds in waits) <= 10


def test_a_mirror_that_is_not_there_is_named_without_its_password(official, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FOODVISION_MIRROR", f"http://me:secret@127.0.0.1:{closed_port()}")
    data = get_food_data(tmp_path)
    assert "connection failed" in data.reason
    assert "secret" not in data.reason + capsys.readouterr().out


@pytest.mark.parametrize("can_be_had", [True, False])
def test_incomplete_photos_are_never_used_and_never_lost(official, tmp_path, can_be_had, capsys):
    if can_be_had:
        serve_photos(official)
    own = {"train/pizza/mine.jpg": b"mine", "train/steak/0.jpg": b""}
    write_all(tmp_path / "pizza_steak_sushi", own)
    data = get_food_data(tmp_path)
    kept = tmp_path / ("pizza_steak_sushi_incomplete" if can_be_had else "pizza_steak_sushi")
    assert files_below(kept) == own
    if can_be_had:
        assert data.kind == "photos"
        assert files_below(data.path) == PHOTOS
        assert "pizza_steak_sushi_incomplete" in capsys.readouterr().out
    else:
        assert data.kind == "drawn"
        assert "holds 1 pictures" in data.reason


def test_a_second_incomplete_folder_gets_another_name(official, tmp_path):
    serve_photos(official)
    write_all(tmp_path / "pizza_steak_sushi_incomplete", {"a.jpg": b"first"})
    write_all(tmp_path / "pizza_steak_sushi", {"a.jpg": b"second"})
    get_food_data(tmp_path)
    assert files_below(tmp_path / "pizza_steak_sushi_incomplete") == {"a.jpg": b"first"}
    assert files_below(tmp_path / "pizza_steak_sushi_incomplete_2") == {"a.jpg": b"second"}


@pytest.mark.parametrize(
    "change",
    [
        lambda photos: (photos / "train" / "pizza" / "0.jpg").unlink(),
        lambda photos: (photos / "train" / "pizza" / "0.jpg").write_bytes(b""),
        lambda photos: (photos / "train" / "pizza" / "0.jpg").rename(photos / "train" / "steak" / "new.jpg"),
        lambda photos: write_all(photos, {"train/burger/0.jpg": b"burger"}),
    ],
)
def test_photos_are_complete_only_with_the_exact_counts(official, tmp_path, change):
    photos = write_all(tmp_path / "pizza_steak_sushi", PHOTOS)
    assert get_food_data(tmp_path).kind == "photos"
    change(photos)
    assert get_food_data(tmp_path).kind == "drawn"


def test_an_interrupted_download_leaves_nothing(official, tmp_path, monkeypatch):
    def interrupt(*_args):
        raise KeyboardInterrupt

    serve_photos(official)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(data_setup, "move_into_place", interrupt)
        get_food_data(tmp_path)
    assert names_in(tmp_path) == []
    assert get_food_data(tmp_path).kind == "photos"


def test_photos_that_another_process_finished_meanwhile_are_kept(official, tmp_path, monkeypatch):
    def finish_first(source, destination, *, data_dir, **_kwargs):
        write_all(tmp_path / "pizza_steak_sushi", {name: b"theirs" for name in PHOTOS})
        return write_all(data_dir / destination, PHOTOS)

    monkeypatch.setattr(data_setup, "download_data", finish_first)
    data = get_food_data(tmp_path)
    assert set(files_below(data.path).values()) == {b"theirs"}
    assert names_in(tmp_path) == ["pizza_steak_sushi"]


# Images


def saved(tmp_path: Path, image: Image.Image, name: str, **kwargs) -> Path:
    path = tmp_path / name
    image.save(path, **kwargs)
    return path


@pytest.fixture
def corner():
    """40 x 20 pixels, white, with a black upper left corner."""
    image = Image.new("RGB", (40, 20), "white")
    image.paste((0, 0, 0), (0, 0, 10, 10))
    return image


@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_exif_orientation_is_applied_once(tmp_path, corner, orientation):
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    path = saved(tmp_path, corner, "a.png", exif=exif)
    with Image.open(path) as image:
        expected = ImageOps.exif_transpose(image)
        from_image = load_image(image)
    upright = load_image(path)
    assert upright.tobytes() == expected.tobytes() == from_image.tobytes()
    assert upright.size == ((40, 20) if orientation < 5 else (20, 40))
    again = load_image(upright)
    assert again.tobytes() == upright.tobytes()
    assert ImageOps.exif_transpose(upright).tobytes() == upright.tobytes()


@pytest.mark.parametrize("orientation", [0, 9, 65535])
def test_an_orientation_that_does_not_exist_is_ignored(tmp_path, corner, orientation):
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    path = saved(tmp_path, corner, "a.jpg", exif=exif, quality=95)
    with Image.open(path) as image:
        assert load_image(path).tobytes() == image.convert("RGB").tobytes()


def test_damaged_exif_does_not_make_a_photo_unreadable(tmp_path, corner):
    path = saved(tmp_path, corner, "a.jpg", exif=b"Exif\x00\x00MM\x00*\xff\xff\xff\xff junk")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert load_image(path).size == (40, 20)


def test_a_dataset_and_a_prediction_see_the_same_upright_photo(tmp_path, corner):
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    (tmp_path / "train" / "pizza").mkdir(parents=True)
    path = saved(tmp_path / "train" / "pizza", corner, "a.jpg", exif=exif)
    image, label = FoodDataset(tmp_path / "train")[0]
    assert (image.size, label) == ((20, 40), 0)
    assert image.tobytes() == load_image(path).tobytes()
    assert image.getpixel((15, 4)) < (50, 50, 50)  # the marked corner is at the upper right


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (Image.new("1", (4, 4), 1), (255, 255, 255)),
        (Image.new("L", (4, 4), 90), (90, 90, 90)),
        (Image.new("LA", (4, 4), (90, 255)), (90, 90, 90)),
        (Image.new("LA", (4, 4), (90, 0)), (255, 255, 255)),
        (Image.new("RGBA", (4, 4), (10, 20, 30, 255)), (10, 20, 30)),
        (Image.new("RGBA", (4, 4), (10, 20, 30, 0)), (255, 255, 255)),
        (Image.new("RGBA", (4, 4), (0, 0, 0, 51)), (204, 204, 204)),
        (Image.new("CMYK", (4, 4), (0, 255, 255, 0)), (255, 0, 0)),
        (Image.new("HSV", (4, 4), (0, 255, 255)), (255, 0, 0)),
        (Image.new("RGB", (4, 4), (10, 20, 30)).convert("P", palette=Image.Palette.ADAPTIVE), (10, 20, 30)),
        (Image.fromarray(np.full((4, 4), 65535, np.uint16)), (255, 255, 255)),
        (Image.fromarray(np.full((4, 4), 25700, np.uint16)), (100, 100, 100)),
        (Image.fromarray(np.full((4, 4), 25700, np.int32)), (100, 100, 100)),
    ],
    ids=lambda value: getattr(value, "mode", None),
)
def test_every_mode_becomes_rgb(image, expected):
    mode, before = image.mode, image.tobytes()
    made = load_image(image)
    assert (made.mode, made.size) == ("RGB", (4, 4))
    assert made.getpixel((2, 2)) == expected
    assert (image.mode, image.tobytes()) == (mode, before)
    assert made is not image


def test_modes_survive_the_way_through_a_file(tmp_path):
    grey = saved(tmp_path, Image.fromarray(np.full((4, 4), 51400, np.uint16)), "grey.png")
    assert load_image(grey).getpixel((0, 0)) == (200, 200, 200)
    palette = Image.new("P", (4, 4), 1)
    palette.putpalette([0, 0, 255, 255, 0, 0])
    assert load_image(saved(tmp_path, palette, "p.png", transparency=1)).getpixel((0, 0)) == (255, 255, 255)
    assert load_image(saved(tmp_path, palette, "q.png", transparency=0)).getpixel((0, 0)) == (255, 0, 0)
    frames = [Image.new("RGB", (4, 4), color) for color in ("red", "blue")]
    for name in ("a.gif", "a.png", "a.webp", "a.tif"):
        path = saved(tmp_path, frames[0], name, save_all=True, append_images=frames[1:])
        red, _, blue = load_image(str(path)).getpixel((0, 0))
        assert red > 200
        assert blue < 50
    assert load_image(saved(tmp_path, Image.new("CMYK", (4, 4)), "cmyk.jpg")).getpixel((0, 0)) == (255, 255, 255)


def test_pixels_without_a_meaning_as_rgb_are_refused(tmp_path):
    with pytest.raises(UnreadableImageError, match="given image: mode F"):
        load_image(Image.new("F", (4, 4)))
    with pytest.raises(UnreadableImageError, match="floating-point"):
        load_image(saved(tmp_path, Image.new("F", (4, 4)), "a.tif"))


BAD_FILES = {
    "empty": (b"", "empty file"),
    "truncated": (jpeg((200, 200), quality=95)[:-400], "damaged or cut off"),
    "header only": (jpeg()[:12], "no image but a file"),
    "page": (b"<!doctype html><p>404", "web page"),
    "pointer": (b"version https://git-lfs.github.com/spec/v1\n", "LFS pointer"),
    "text": (b"not a picture", "no image"),
}


@pytest.mark.parametrize(("body", "reason"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_an_unreadable_file_is_named_with_the_reason_in_one_line(tmp_path, body, reason):
    path = tmp_path / "photo 1.jpg"
    path.write_bytes(body)
    with pytest.raises(UnreadableImageError, match=reason) as caught:
        load_image(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert not ImageFile.LOAD_TRUNCATED_IMAGES


@pytest.mark.parametrize("limit", [300, 100])  # 384 pixels: Pillow warns above the limit, refuses above its double
def test_a_decompression_bomb_is_refused(tmp_path, monkeypatch, limit):
    (tmp_path / "bomb.jpg").write_bytes(jpeg((24, 16)))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    with pytest.raises(UnreadableImageError, match=f"bomb.jpg: more than {limit} pixels"):
        load_image(tmp_path / "bomb.jpg")


def test_a_truncated_png_and_a_given_image_are_named(tmp_path):
    path = saved(tmp_path, Image.effect_noise((99, 99), 50), "a.png")
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(UnreadableImageError, match="a.png"):
        load_image(path)
    with Image.open(path) as image, pytest.raises(UnreadableImageError, match="a.png"):
        load_image(image)


def test_what_is_no_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="gone.jpg"):
        load_image(tmp_path / "gone.jpg")
    with pytest.raises(UnreadableImageError, match="folder"):
        load_image(tmp_path)
    with pytest.raises(TypeError, match="int"):
        load_image(3)


def test_no_file_stays_open(tmp_path):
    good, bad = tmp_path / "good.jpg", tmp_path / "bad.jpg"
    good.write_bytes(jpeg())
    bad.write_bytes(jpeg((200, 200))[:700])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        load_image(good)
        with pytest.raises(UnreadableImageError):
            load_image(bad)
    good.unlink()
    bad.unlink()


def test_an_error_reads_the_same_after_torch_or_pickle_made_it_anew():
    class OtherError(images.OneLineError):
        pass

    error = UnreadableImageError("a/b: UnreadableImageError: odd name.jpg: empty\nfile")
    assert str(error) == "a/b: UnreadableImageError: odd name.jpg: empty file"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    text = f"Caught UnreadableImageError in x.\nOriginal Traceback:\n  a\nmy.module.UnreadableImageError: {error}\n"
    assert str(UnreadableImageError(text)) == str(error)
    assert str(OtherError(text)) == " ".join(text.splitlines())


# Folders of images


@pytest.fixture
def food(tmp_path):
    """7 training and 4 test images of three classes: noise that is brightest in the class's channel."""
    rng = np.random.default_rng(0)
    for split, counts in {"train": (3, 2, 2), "test": (1, 2, 1)}.items():
        for channel, (name, count) in enumerate(zip(("pizza", "steak", "sushi"), counts)):
            (tmp_path / split / name).mkdir(parents=True)
            for number in range(count):
                pixels = rng.integers(0, 100, (16, 20 + number, 3), dtype=np.uint8)
                pixels[..., channel] += 150
                Image.fromarray(pixels).save(tmp_path / split / name / f"{number}.jpg", quality=95)
    return tmp_path


JUNK = ["._1.jpg", ".DS_Store", "Thumbs.db", ".ipynb_checkpoints/1.jpg", "__MACOSX/1.jpg", "notes.txt", ".hidden.jpg"]


def test_hidden_folders_and_leftovers_are_neither_classes_nor_images(food):
    before = FoodDataset(food / "train")
    write_all(food / "train", dict.fromkeys(JUNK, jpeg()))
    write_all(food / "train" / "pizza", dict.fromkeys(JUNK, jpeg()))
    after = FoodDataset(food / "train")
    assert after.classes == before.classes == ["pizza", "steak", "sushi"]
    assert after.samples == before.samples
    assert after.class_to_idx == {"pizza": 0, "steak": 1, "sushi": 2}
    assert [label for _, label in after] == [0, 0, 0, 1, 1, 2, 2]


def test_capitals_and_nested_folders_count(food):
    write_all(food / "train" / "pizza", {"IMG_1.JPG": jpeg(), "more/b.Jpeg": jpeg()})
    assert FoodDataset(food / "train").targets.count(0) == 5


def test_a_data_folder_below_a_hidden_folder_is_read(food):
    hidden = food / ".cache"
    hidden.mkdir()
    (food / "train").rename(hidden / "train")
    assert len(FoodDataset(hidden / "train")) == 7


def test_skipped_picture_formats_are_named_in_one_line_with_their_number(food, capsys):
    write_all(
        food / "train" / "pizza", {"a.heic": b"x", "b.HEIC": b"x", "c.gif": b"x", "._d.heic": b"x", "e.txt": b"x"}
    )
    assert len(FoodDataset(food / "train")) == 7
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1
    assert "3 pictures" in printed
    assert "1 .gif, 2 .heic" in printed
    FoodDataset(food / "test")
    assert capsys.readouterr().out == ""


def test_missing_and_empty_folders_are_named(food):
    with pytest.raises(FileNotFoundError, match="no folder .*nowhere"):
        FoodDataset(food / "nowhere")
    with pytest.raises(FileNotFoundError, match="pizza holds no class folders"):
        FoodDataset(food / "train" / "pizza")
    write_all(food / "train" / "burger", {"notes.txt": b"", ".hidden.jpg": jpeg()})
    with pytest.raises(FileNotFoundError, match="'burger' has no image"):
        FoodDataset(food / "train")


# Batches


def loaders(food, transform=None, batch_size=4, *args, **kwargs):
    transform = transform or create_transform(16)
    return create_dataloaders(food / "train", food / "test", transform, batch_size, *args, **kwargs)


def test_batches_have_the_courses_form(food):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train, test, class_names = create_dataloaders(
            train_dir=str(food / "train"),
            test_dir=str(food / "test"),
            transform=create_transform((16, 24)),
            batch_size=4,
            num_workers=0,
        )
        image_batch, label_batch = next(iter(train))
    assert class_names == ["pizza", "steak", "sushi"]
    assert image_batch.shape == (4, 3, 16, 24)
    assert label_batch.dtype == torch.int64
    assert [len(labels) for _, labels in train] == [4, 3]
    assert torch.cat([labels for _, labels in test]).tolist() == [0, 1, 1, 2]


def test_pictures_stay_with_their_labels(food):
    for batch, labels in loaders(food)[0]:
        assert batch.mean(dim=(2, 3)).argmax(dim=1).tolist() == labels.tolist()


@pytest.mark.parametrize("batch_size", [0, -1, 2.0, True, None, "32"])
def test_a_bad_batch_size_is_named(food, batch_size):
    with pytest.raises(ValueError, match=f"batch_size is {batch_size!r}"):
        loaders(food, None, batch_size)


@pytest.mark.parametrize("num_workers", [-1, 1.5, "2"])
def test_a_bad_number_of_workers_is_named(food, num_workers):
    with pytest.raises(ValueError, match=f"num_workers is {num_workers!r}"):
        loaders(food, num_workers=num_workers)


def test_classes_that_differ_are_named(food):
    (food / "test" / "sushi").rename(food / "test" / "burger")
    with pytest.raises(ValueError, match=r"\['burger', 'sushi'\]"):
        loaders(food)


def test_the_test_images_may_have_their_own_transform(food):
    train, test, _ = loaders(food, create_transform(16, augment=True), test_transform=create_transform(8))
    assert next(iter(train))[0].shape[-1] == 16
    assert next(iter(test))[0].shape[-1] == 8


@pytest.mark.parametrize(("cuda", "method", "cores", "expected"), [
    (False, "fork", 16, 0),
    (True, "spawn", 16, 0),
    (True, "forkserver", 16, 0),
    (True, "fork", 2, 2),
    (True, "fork", 16, 8),
])  # fmt: skip
def test_the_number_of_workers_follows_the_machine(monkeypatch, cuda, method, cores, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr("multiprocessing.get_start_method", lambda allow_none=False: method)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)), raising=False)
    assert default_num_workers() == expected
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert default_num_workers() == expected


def test_memory_is_pinned_and_workers_are_kept_only_where_that_means_something(food, monkeypatch):
    train, test, _ = loaders(food)
    assert [(loader.pin_memory, loader.persistent_workers) for loader in (train, test)] == [(False, False)] * 2
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    train, test, _ = loaders(food, num_workers=2)
    assert [(loader.pin_memory, loader.persistent_workers) for loader in (train, test)] == [(True, True)] * 2


def error_of(loader: DataLoader) -> tuple[type, str]:
    """Type and text of the error that a loader's images raise."""
    try:
        list(loader)
    except ValueError as error:
        traceback.clear_frames(error.__traceback__)  # they hold the workers, which would end late
        return type(error), str(error)
    raise AssertionError("no error was raised")


@pytest.mark.parametrize("workers", [0, 2])
def test_images_of_unequal_size_are_named_with_the_way_out(food, workers):
    bad = transforms.Compose([transforms.Resize(16), transforms.ToTensor()])
    kind, text = error_of(loaders(food, bad, 7, workers)[0])
    assert kind is BatchError
    assert re.match(r"Images of the shapes \(3, 16, 20\) and \(3, 16, 21\) met.*Resize\(\(224", text)


def test_a_transform_without_to_tensor_is_named(food):
    with pytest.raises(BatchError, match=r"ToTensor\(\)"):
        next(iter(loaders(food, transforms.Resize((8, 8)))[0]))


@pytest.mark.parametrize(("body", "reason"), [BAD_FILES["truncated"], BAD_FILES["page"]], ids=["truncated", "page"])
def test_an_unreadable_image_gives_the_same_error_with_and_without_workers(food, body, reason):
    write_all(food / "train" / "pizza", {"bad one.jpg": body})
    alone, shared = (error_of(loaders(food, num_workers=workers)[0]) for workers in (0, 2))
    assert alone == shared
    kind, text = alone
    assert kind is UnreadableImageError
    assert re.search(f"bad one.jpg.*{reason}", text)
    assert "\n" not in text


# Order and chance


def epochs(loader: DataLoader, number: int) -> list:
    return [[(images.clone(), labels.clone()) for images, labels in loader] for _ in range(number)]


def equal(first: list, second: list) -> bool:
    return all(
        torch.equal(a_images, b_images) and torch.equal(a_labels, b_labels)
        for a, b in zip(first, second, strict=True)
        for (a_images, a_labels), (b_images, b_labels) in zip(a, b, strict=True)
    )


def test_order_and_random_pictures_do_not_depend_on_the_number_of_workers(food):
    augment = create_transform(16, augment=True)
    alone = epochs(loaders(food, augment, num_workers=0, seed=3)[0], 2)
    shared = epochs(loaders(food, augment, num_workers=2, seed=3)[0], 2)
    assert equal(alone, shared)
    assert not equal(alone[:1], alone[1:])


@pytest.mark.parametrize("workers", [0, 2])
def test_loading_leaves_the_callers_random_state_alone(food, workers):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    train, test, _ = loaders(food, create_transform(16, augment=True), 4, workers, test_transform=create_transform(16))
    epochs(train, 2)
    epochs(test, 1)
    assert torch.equal(torch.get_rng_state(), before)


def test_epochs_differ_in_order_and_a_set_epoch_can_be_repeated(food):
    sampler = ShuffledSampler(range(50), seed=1)
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second
    sampler.set_epoch(0)
    assert list(sampler) == first
    assert list(sampler) == second
    resumed = ShuffledSampler(range(50), seed=1)
    resumed.set_epoch(1)
    assert list(resumed) == second
    assert len(sampler) == 50


def test_seeds_and_epochs_do_not_stand_for_each_other():
    one, two = ShuffledSampler(range(50), seed=1), ShuffledSampler(range(50), seed=2)
    one.set_epoch(1)
    assert list(one) != list(two)


def test_without_a_seed_torchs_seed_at_the_time_of_iteration_decides():
    sampler = ShuffledSampler(range(50))
    torch.manual_seed(11)
    expected = list(ShuffledSampler(range(50), seed=11))
    assert list(sampler) == expected
    sampler.set_epoch(0)
    torch.manual_seed(12)
    assert list(sampler) == list(ShuffledSampler(range(50), seed=12)) != expected


def test_an_image_draws_by_its_own_seed_whatever_was_drawn_before(food):
    data = FoodDataset(food / "train", create_transform(16, augment=True))
    index = next(iter(ShuffledSampler(data, seed=1)))
    first = data[index][0]
    torch.rand(7)
    assert torch.equal(data[index][0], first)
    copy = pickle.loads(pickle.dumps(index))
    assert copy == index
    assert torch.equal(data[copy][0], first)
    assert len({tuple(data[int(index)][0].flatten().tolist()) for _ in range(5)}) > 1


def test_everything_a_loader_holds_can_be_sent_to_a_process(food):
    train, test, _ = loaders(food, create_transform(16, augment=True))
    for loader in (train, test):
        for part in (loader.dataset, loader.sampler, loader.collate_fn, loader.dataset.transform):
            assert type(pickle.loads(pickle.dumps(part))) is type(part)
    assert pickle.loads(pickle.dumps(train.dataset)).samples == train.dataset.samples


def test_workers_that_are_spawned_give_the_same_batches(food):
    train, _, _ = loaders(food, create_transform(16, augment=True), seed=3)
    spawned = DataLoader(
        train.dataset,
        4,
        sampler=ShuffledSampler(train.dataset, 3),
        collate_fn=train.collate_fn,
        num_workers=1,
        multiprocessing_context="spawn",
    )
    assert equal(epochs(train, 1), epochs(spawned, 1))


# Transforms


@pytest.mark.parametrize(("img_size", "shape"), [(32, (3, 32, 32)), ((16, 48), (3, 16, 48)), ([8, 8], (3, 8, 8))])
@pytest.mark.parametrize("augment", [False, True])
def test_images_become_tensors_of_exactly_this_size_from_minus_one_to_one(img_size, shape, augment):
    transform = create_transform(img_size, augment)
    assert transform(Image.new("RGB", (50, 30), "white")).shape == shape
    assert torch.equal(transform(Image.new("RGB", (50, 30), "white")), torch.ones(shape))
    assert torch.equal(transform(Image.new("RGB", (30, 50), "black")), -torch.ones(shape))


def test_the_default_is_224_and_changes_nothing_by_chance():
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (50, 40, 3), dtype=np.uint8))
    transform = create_transform()
    assert transform(image).shape == (3, 224, 224)
    assert torch.equal(transform(image), transform(image))
    scaled = image.resize((224, 224), Image.Resampling.BILINEAR)
    expected = torch.from_numpy(np.asarray(scaled) / 127.5 - 1).permute(2, 0, 1).float()
    torch.testing.assert_close(transform(image), expected)


def test_augmenting_takes_parts_and_flips():
    ramp = Image.fromarray(np.tile(np.arange(100, dtype=np.uint8), (100, 1))).convert("RGB")
    transform = create_transform(32, augment=True)
    torch.manual_seed(0)
    made = [transform(ramp) for _ in range(40)]
    flipped = [bool(image[0, 0, 0] > image[0, 0, -1]) for image in made]
    assert 5 < sum(flipped) < 35
    spans = [float((image.max() - image.min()) * 127.5) for image in made]  # the part's width, of 100
    assert max(spans) - min(spans) > 5
    assert min(spans) > 60


@pytest.mark.parametrize("img_size", [0, -1, 2.5, "224", (224,), (1, 2, 3), (224, 0), None, True])
def test_a_bad_size_is_named(img_size):
    with pytest.raises(ValueError, match="img_size is"):
        create_transform(img_size)


def test_importing_starts_nothing():
    """No process, no figure, no change of the random state, no output."""
    code = (
        "import random, multiprocessing, sys, torch; torch.manual_seed(1); random.seed(1)\n"
        "before = (torch.get_rng_state().sum(), random.getstate())\n"
        "from going_modular.going_modular import data_setup\n"
        "assert before == (torch.get_rng_state().sum(), random.getstate())\n"
        "assert multiprocessing.get_start_method(allow_none=True) is None\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_python_random_is_left_alone_by_the_sampler():
    random.seed(1)
    before = random.getstate()
    list(ShuffledSampler(range(9), seed=1))
    assert random.getstate() == before

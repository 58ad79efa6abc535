"""Files from anywhere: images, zips and saved models that are damaged, foreign or meant to do harm."""

import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch
from conftest import CLASSES, files_below, make_zip, tiny_vit
from hypothesis import given, settings
from hypothesis import strategies as st

import helper_functions
from going_modular.going_modular import checkpoints, images, predictions, utils
from helper_functions import ArchiveError, download_data

sys.path.insert(0, str(Path(__file__).with_name("fuzz")))
import archives
import pictures
from run import MOST_BYTES, MOST_FILES, check_image, check_zip


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("untrusted")


# A share of what `make fuzz` tries


@settings(max_examples=200)
@given(made=pictures.files())
def test_an_image_loads_or_is_refused_by_name(place, made):
    folder = place / "images"
    folder.mkdir(exist_ok=True)
    check_image(made, folder)


@settings(max_examples=200)
@given(made=archives.zips())
def test_a_zip_is_unpacked_or_refused_by_name(place, made):
    folder = place / "zips"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(helper_functions, "MAX_FILES", MOST_FILES)
        patch.setattr(helper_functions, "MAX_BYTES", MOST_BYTES)
        check_zip(made, folder)


# Images


def test_no_other_program_reads_an_image(tmp_path, monkeypatch):
    """Pillow hands Encapsulated PostScript to Ghostscript, whatever the file is called."""
    calls = []
    monkeypatch.setattr(subprocess, "Popen", lambda *arguments, **_: calls.append(arguments))
    path = tmp_path / "photo.jpg"
    path.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n%%EOF\n")
    with pytest.raises(images.UnreadableImageError, match=r"photo\.jpg: this is no image"):
        images.load_image(path)
    assert calls == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "photo.jpg")
    with pytest.raises(images.UnreadableImageError, match="a pipe, not an image"):
        images.load_image(tmp_path / "photo.jpg")


# Zips


def image_zip(*names: str) -> bytes:
    return make_zip({name: b"pixels" for name in ("train/pizza/1.jpg", "test/pizza/1.jpg", *names)})


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["train/pizza/A.jpg", "train/pizza/a.jpg"], "'train/pizza/A.jpg' and 'train/pizza/a.jpg' have the same name"),
        (["train/PIZZA/1.JPG"], "have the same name"),
        (["train/caf\u00e9/1.jpg", "train/cafe\u0301/1.jpg"], "have the same name"),
        (["train/pizza/1.jpg/2.jpg"], "'train/pizza/1.jpg' is a file, and .* is in a folder so called"),
        (["train/pizza/" + 300 * "n" + ".jpg"], "no name that this system can write"),
    ],
)
def test_names_that_can_not_lie_side_by_side_are_refused(tmp_path, names, words):
    (tmp_path / "photos.zip").write_bytes(image_zip(*names))
    with pytest.raises(ArchiveError, match=rf"photos\.zip.*{words}"):
        download_data(tmp_path / "photos.zip", "food", data_dir=tmp_path / "data")
    assert files_below(tmp_path).keys() == {"photos.zip"}


def test_a_zip_larger_than_the_free_disk_is_refused_before_it_fills_it(tmp_path, monkeypatch):
    usage = helper_functions.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(helper_functions.shutil, "disk_usage", lambda _: usage._replace(free=11))
    (tmp_path / "photos.zip").write_bytes(image_zip())
    with pytest.raises(ArchiveError, match="it needs 12 bytes, and 11 are free"):
        download_data(tmp_path / "photos.zip", "food", data_dir=tmp_path / "data")
    assert files_below(tmp_path).keys() == {"photos.zip"}


# Saved models


@pytest.fixture(scope="module")
def saved(place) -> bytes:
    utils.save_checkpoint(tiny_vit(num_transformer_layers=1), place / "saved.pth", CLASSES, {"img_size": 32})
    return (place / "saved.pth").read_bytes()


@settings(max_examples=300)
@given(data=st.data())
def test_a_damaged_model_loads_or_is_refused_by_name(place, saved, data):
    changed = bytearray(saved[: data.draw(st.integers(0, len(saved)))])
    for _ in range(data.draw(st.integers(0, 6)) if changed else 0):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    path = place / "damaged.pth"
    path.write_bytes(bytes(changed))
    try:
        utils.load_model(path)
    except ValueError as error:
        assert "damaged.pth" in str(error)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=300)
@given(data=st.data())
def test_a_model_file_of_plain_content_loads_or_is_refused_by_name(place, saved, data):
    """Right tensors and wrong words: any setting, any other part of the file replaced by anything."""
    content = torch.load(place / "saved.pth", weights_only=True)
    for _ in range(data.draw(st.integers(1, 3))):
        part = data.draw(st.sampled_from([content, content["config"], content["config"], content["state_dict"]]))
        if not isinstance(part, dict) or not part:
            continue
        part[data.draw(st.sampled_from(sorted(part)))] = data.draw(PLAIN)
        if not all(isinstance(content.get(name), dict) for name in ("config", "state_dict")):
            break
    path = place / "plain.pth"
    torch.save(content, path)
    try:
        utils.load_model(path)
    except ValueError as error:
        assert "plain.pth" in str(error)


@pytest.mark.parametrize("name", ["embedding_dim", "mlp_size", "num_classes", "img_size", "num_transformer_layers"])
@pytest.mark.parametrize("value", [10**6, 2**40, 2**70])
def test_a_file_can_not_ask_for_memory_that_its_weights_do_not_fill(place, saved, name, value):
    content = torch.load(place / "saved.pth", weights_only=True)
    content["config"][name] = 16 * value if name == "img_size" else 3 * value
    torch.save(content, place / "greedy.pth")
    with pytest.raises(ValueError, match=r"greedy\.pth does not fit the ViT it describes"):
        utils.load_model(place / "greedy.pth")


class RunsCode:
    """A pickle that makes a folder when it is loaded without care; harmless, and seen."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("way", ["model", "training", "prediction"])
def test_a_pickle_that_would_run_code_is_refused_wherever_it_is_given(tmp_path, way):
    marker, path = tmp_path / "marker", tmp_path / checkpoints.NAME
    torch.save({"format": utils.CHECKPOINT_FORMAT, "state_dict": RunsCode(marker)}, path)
    model = tiny_vit()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(ValueError, match=r"training\.pth"):
        if way == "model":
            utils.load_model(path)
        elif way == "training":
            checkpoints.begin(tmp_path, True, model, optimizer, None, [None, None])
        else:
            predictions.predict_image(model, path, device="cpu")
    assert not marker.exists()
    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if name.endswith("data.pkl"))
        pickle.loads(archive.read(name))
    assert marker.exists(), "the file is harmless, so this test shows nothing"

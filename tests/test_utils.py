"""utils: which device, what a saved file holds and survives, what loading refuses, and the results ledger."""

import hashlib
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import CLASSES, ROOT, files_below, tiny_vit
from torch import nn

from going_modular.going_modular import utils
from going_modular.going_modular.data_setup import create_transform

SCRIPTS = [*(ROOT / "going_modular").rglob("*.py"), ROOT / "helper_functions.py", *(ROOT / "tools").glob("*.py")]


def same_weights(first: dict, second: dict) -> bool:
    return list(first) == list(second) and all(torch.equal(first[name], second[name]) for name in first)


# The device


@pytest.mark.parametrize(
    ("cuda", "mps", "wish", "expected"),
    [
        (True, True, None, "cuda"),
        (False, True, None, "mps"),
        (False, False, None, "cpu"),
        (False, True, "auto", "mps"),
        (True, False, "", "cuda"),
        (True, True, "cpu", "cpu"),
        (True, True, "mps", "mps"),
        (True, True, "cuda", "cuda"),
    ],
)
def test_device_is_chosen_at_call_time(monkeypatch, cuda, mps, wish, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    monkeypatch.delenv("FOODVISION_DEVICE", raising=False)
    if wish is not None:
        monkeypatch.setenv("FOODVISION_DEVICE", wish)
    assert utils.get_device() == expected


@pytest.mark.parametrize(("wish", "error"), [("gpu", ValueError), ("cuda", RuntimeError), ("mps", RuntimeError)])
def test_a_device_that_is_not_there_is_refused(monkeypatch, wish, error):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setenv("FOODVISION_DEVICE", wish)
    with pytest.raises(error, match=f"FOODVISION_DEVICE is '{wish}'.*cpu"):
        utils.get_device()


@pytest.mark.parametrize("word", ["float64", ".double()", "weights_only=False", "KMP_DUPLICATE_LIB_OK"])
def test_no_script_uses(word):
    assert len(SCRIPTS) > 10
    assert [path.name for path in SCRIPTS if word in path.read_text(encoding="utf-8")] == []


# Saving


def wrappers():
    yield "bare", lambda model: model
    yield "compiled", torch.compile  # compiles at the first call, and there is none
    yield "parallel", nn.DataParallel
    yield "both", lambda model: torch.compile(nn.DataParallel(model))


@pytest.mark.parametrize("wrap", [pytest.param(wrap, id=name) for name, wrap in wrappers()])
def test_saved_names_are_bare(tmp_path, wrap, capsys):
    model = tiny_vit()
    utils.save_model(wrap(model), target_dir=str(tmp_path / "new" / "folder"), model_name="vit.pth")
    assert same_weights(torch.load(tmp_path / "new/folder/vit.pth", weights_only=True), model.state_dict())
    assert "Saving model to:" in capsys.readouterr().out
    utils.save_checkpoint(wrap(model), tmp_path / "checkpoint.pth", CLASSES)
    assert same_weights(utils.load_model(tmp_path / "checkpoint.pth")[0].state_dict(), model.state_dict())


@pytest.mark.parametrize("name", ["vit.txt", "vit", "vit.pth.zip", "pth"])
def test_another_ending_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match=rf"'{name}'.*\.pth or \.pt"):
        utils.save_model(tiny_vit(), tmp_path, name)
    assert files_below(tmp_path) == {}


def test_saved_bytes_follow_the_weights_alone(tmp_path):
    model = tiny_vit()
    for name in ("a.pth", "another name.pt"):
        utils.save_model(model, tmp_path, name)
    utils.save_model(tiny_vit(), tmp_path, "other.pth")
    first, second, other = (
        hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in ("a.pth", "another name.pt", "other.pth")
    )
    assert first == second != other


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch, error):
    utils.save_model(tiny_vit(), tmp_path, "vit.pth")
    before = files_below(tmp_path)

    def fail(content, file):
        file.write(b"half of it")
        raise error

    monkeypatch.setattr(torch, "save", fail)
    with pytest.raises(type(error)):
        utils.save_model(tiny_vit(), tmp_path, "vit.pth")
    with pytest.raises(type(error)):
        utils.save_checkpoint(tiny_vit(), tmp_path / "new.pth", CLASSES)
    assert files_below(tmp_path) == before


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_a_saved_file_can_be_read_by_whom_the_user_lets(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    utils.save_model(tiny_vit(), tmp_path, "vit.pth")
    assert (tmp_path / "vit.pth").stat().st_mode == (tmp_path / "plain").stat().st_mode


# Loading


def test_a_checkpoint_gives_the_model_back(tmp_path):
    model = tiny_vit(img_size=(32, 48), mlp_dropout=0.3)
    transform = {"img_size": (32, 48)}
    utils.save_checkpoint(model, tmp_path / "vit.pth", CLASSES, transform)
    loaded, info = utils.load_model(tmp_path / "vit.pth", torch.device("cpu"))
    assert info == {"config": model.config, "class_names": CLASSES, "transform": transform}
    assert not loaded.training and same_weights(loaded.state_dict(), model.state_dict())
    images = torch.randn(2, 3, 32, 48)
    assert torch.equal(loaded(images), model.eval()(images))
    assert str(loaded.transform) == str(create_transform(**transform))


def test_numpy_values_and_paths_come_back_as_plain_ones(tmp_path):
    names = [np.str_("pizza"), Path("a/steak"), "sushi"]
    model = tiny_vit(mlp_dropout=np.float64(0.25), num_classes=np.int64(3))
    utils.save_checkpoint(model, tmp_path / "vit.pth", names, {"img_size": np.int64(32), "augment": np.bool_(False)})
    info = utils.load_model(tmp_path / "vit.pth")[1]
    assert info["class_names"] == ["pizza", "a/steak", "sushi"] and info["transform"]["img_size"] == 32
    for value in (*info["class_names"], *info["transform"].values(), *info["config"].values()):
        assert type(value) in (str, int, float, bool, tuple)


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    with pytest.raises(TypeError, match="Compose"):
        utils.save_checkpoint(tiny_vit(), tmp_path / "vit.pth", CLASSES, create_transform(32))
    assert files_below(tmp_path) == {}


def test_a_plain_state_dict_with_its_heads(tmp_path):
    model = tiny_vit().eval()
    utils.save_model(model, tmp_path, "vit.pth")
    loaded, info = utils.load_model(tmp_path / "vit.pth", num_heads=3, img_size=32)
    assert {**info["config"], "num_heads": 3} == model.config
    assert info["class_names"] is None and info["transform"] is None
    images = torch.randn(2, 3, 32, 32)
    assert torch.equal(loaded(images), model(images))
    with pytest.raises(ValueError, match="does not tell num_heads: pass num_heads="):
        utils.load_model(tmp_path / "vit.pth")


def test_a_plain_state_dict_of_rectangles(tmp_path):
    utils.save_model(tiny_vit(img_size=(32, 48)), tmp_path, "vit.pth")
    with pytest.raises(ValueError, match=r"does not tell img_size.*H \* W = 1536"):
        utils.load_model(tmp_path / "vit.pth", num_heads=3)
    assert utils.load_model(tmp_path / "vit.pth", num_heads=3, img_size=(48, 32))[0].img_size == (48, 32)
    with pytest.raises(ValueError, match="does not fit"):
        utils.load_model(tmp_path / "vit.pth", num_heads=3, img_size=32)


@pytest.mark.parametrize(
    ("file", "name", "value"),
    [
        ("checkpoint.pth", "num_heads", 4),
        ("checkpoint.pth", "num_classes", 1000),
        ("checkpoint.pth", "img_size", 224),
        ("plain.pth", "num_classes", 1000),
        ("plain.pth", "img_size", 224),
    ],
)
def test_a_contradiction_is_refused(tmp_path, file, name, value):
    utils.save_model(tiny_vit(), tmp_path, "plain.pth")
    utils.save_checkpoint(tiny_vit(), tmp_path / "checkpoint.pth", CLASSES)
    with pytest.raises(ValueError, match=f"{name}={value} was asked for.*{file} was saved with {name}="):
        utils.load_model(tmp_path / file, **{"num_heads": 3, name: value})


def test_a_square_may_be_asked_for_by_its_side(tmp_path):
    utils.save_checkpoint(tiny_vit(), tmp_path / "vit.pth", CLASSES)
    assert utils.load_model(tmp_path / "vit.pth", img_size=32)[0].img_size == (32, 32)


def test_a_missing_or_foreign_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.pth"):
        utils.load_model(tmp_path / "none.pth")
    torch.save({"heads.weight": torch.zeros(3, 768)}, tmp_path / "other.pth")
    with pytest.raises(ValueError, match="does not hold this ViT's weights.*heads.weight"):
        utils.load_model(tmp_path / "other.pth")
    torch.save(torch.zeros(3), tmp_path / "tensor.pth")
    with pytest.raises(ValueError, match="holds a Tensor, not a state_dict"):
        utils.load_model(tmp_path / "tensor.pth")


class MakesFolder:
    """Its pickle makes a folder when it is loaded without care."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("cut", "a zip that is cut off or damaged"),
        ("empty", "an empty file of 0 bytes"),
        ("html", "a web page"),
        ("pointer", "a Git LFS pointer.*git lfs pull"),
        ("random", "a file"),
        ("zip", "not what torch.save writes"),
        ("whole model", "Python objects.*refused.*state_dict"),
        ("pickle", "Python objects.*refused.*state_dict"),
    ],
)
def test_a_bad_file_is_told_in_one_sentence(tmp_path, kind, message):
    path, marker = tmp_path / "vit.pth", tmp_path / "marker"
    utils.save_model(tiny_vit(), tmp_path, "vit.pth")
    texts = {
        "cut": path.read_bytes()[:-500],
        "empty": b"",
        "html": b"\n<!DOCTYPE html><html>Not found</html>",
        "pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 343000000\n",
        "random": np.random.default_rng(1).bytes(4096),
        "pickle": pickle.dumps(MakesFolder(marker), protocol=2),
    }
    if kind in texts:
        path.write_bytes(texts[kind])
    elif kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("readme.txt", "no weights")
    else:
        torch.save({"model": tiny_vit(), "and": MakesFolder(marker)}, path)
    with pytest.raises(ValueError, match=message) as caught:
        utils.load_model(path, num_heads=3)
    text = str(caught.value)
    assert "vit.pth" in text and f"{path.stat().st_size:,} bytes" in text and "\n" not in text
    assert caught.value.__suppress_context__ and not marker.exists()
    if kind == "pickle":
        pickle.loads(path.read_bytes())
        assert marker.exists(), "the file is harmless, so this test shows nothing"


# The ledger


def record(path: Path, **changes) -> dict:
    result = {"notebook": "09", "data": "drawn", "weights": "none", "variant": "ViT-Ti/16", "img_size": 224}
    return utils.record_result(
        **{**result, "epochs": 10, "seed": 42, "accuracy": 1 / 3, "seconds": 12.34, "path": path, **changes}
    )


def test_the_ledger_appends_and_reads(tmp_path):
    path = tmp_path / "build" / "results.jsonl"
    assert utils.read_results(path) == []
    first, second = record(path), record(path, accuracy=np.float64(0.9), weights="offline")
    assert utils.read_results(path) == [first, second]
    assert first["accuracy"] == pytest.approx(1 / 3, abs=1e-6) and first["precision"] == "float32"


def test_the_table_has_a_row_a_training(tmp_path):
    results = [record(tmp_path / "results.jsonl", seed=seed) for seed in (1, 22, 333)]
    head, rule, *rows = utils.format_results(results).splitlines()
    assert set(rule) == {"-"} and len(rows) == 3
    assert [row.split()[7] for row in rows] == ["1", "22", "333"]
    assert all("33.3%" in row and row.index("33.3%") == head.index("test accuracy") for row in rows)

"""train: each flag of the command line acts, bad values are refused, and the files tell what was done."""

import hashlib
import json
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest
import torch
from conftest import CLASSES, ROOT, files_below
from PIL import Image
from torch import nn

from going_modular.going_modular import checkpoints, data_setup, engine, precision, train, utils
from going_modular.going_modular.data_setup import FoodData

RESULTS = {"train_loss": [1.0, 0.5], "train_acc": [0.25, 0.75], "test_loss": [1.0, 0.8], "test_acc": [0.25, 0.5]}
FILES = {"model.pth", "metrics.json", "loss_curves.png"}


@pytest.fixture
def run(tiny_food, tmp_path):
    """Run the command on the tiny data: run("--flag", value, output="name") -> the folder of what was written."""

    def command(*flags, output: str = "out"):
        folder = tmp_path / output
        settings = ["--data", tiny_food, "--image-size", 32, "--epochs", 2, "--device", "cpu", "--output", folder]
        train.main([str(argument) for argument in (*settings, *flags)])
        return folder

    return command


@pytest.fixture
def call(monkeypatch):
    """What engine.train was called with; it trains nothing."""
    seen = SimpleNamespace()

    def fake(
        model, train_dataloader, test_dataloader, optimizer, loss_fn, epochs, device, *, checkpoint, resume, precision
    ):
        vars(seen).update(locals(), seed=torch.initial_seed(), products=torch.get_float32_matmul_precision())
        return RESULTS

    monkeypatch.setattr(engine, "train", fake)
    return seen


class Compiled(nn.Module):
    """A stand-in for a compiled model: it remembers the batch that it was tried with."""

    def __init__(self, model):
        super().__init__()
        self._orig_mod = model

    def forward(self, images):
        self.tried = tuple(images.shape)
        return self._orig_mod(images)


def channels_last(model: nn.Module) -> bool:
    return model.patch_embedding.patcher.weight.is_contiguous(memory_format=torch.channels_last)


def kept_by_backward(model: nn.Module) -> int:
    """How many numbers of activations and weights wait for the backward pass of two images."""
    sizes = []

    def keep(tensor):
        sizes.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(torch.randn(2, 3, 32, 32))
    return sum(sizes)


def dropouts(model: nn.Module) -> set[float]:
    return {layer.p for layer in model.modules() if isinstance(layer, nn.Dropout)}


# What is written


def test_one_seed_gives_one_model(run, capsys):
    hashes, results = {}, {}
    for name, seed in (("first", 5), ("second", 5), ("other", 6)):
        folder = run("--seed", seed, "--batch-size", 5, "--epochs", 1, output=name)
        hashes[name] = hashlib.sha256((folder / "model.pth").read_bytes()).hexdigest()
        results[name] = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["results"]
    assert hashes["first"] == hashes["second"] != hashes["other"]
    assert results["first"] == results["second"] != results["other"]
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("Epoch: ") for line in lines) == 3
    assert f"Accuracy on the 6 test images: {results['other']['test_acc'][-1]:.1%}" in lines[-2]


def test_the_model_answers_as_it_was_tested(run, tiny_food):
    folder = run()
    assert files_below(folder).keys() == FILES
    model, info = utils.load_model(folder / "model.pth")
    assert info["class_names"] == CLASSES and info["transform"] == {"img_size": 32}
    _, test_dataloader, _ = data_setup.create_dataloaders(tiny_food / "train", tiny_food / "test", model.transform, 4)
    loss, accuracy = engine.test_step(model, test_dataloader, nn.CrossEntropyLoss(), "cpu")
    results = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["results"]
    assert (results["test_loss"][-1], results["test_acc"][-1]) == pytest.approx((loss, accuracy), abs=1e-6)
    with Image.open(folder / "loss_curves.png") as picture:
        picture.load()
    assert plt.get_fignums() == []


def test_the_metrics_name_every_setting(run, call, tiny_food):
    metrics = json.loads((run("--workers", 0) / "metrics.json").read_text(encoding="utf-8"))
    assert metrics == {
        "data": str(tiny_food),
        "model": "ViT-Ti/16",
        "epochs": 2,
        "batch_size": 32,
        "micro_batch": None,
        "learning_rate": 3e-4,
        "weight_decay": 0.03,
        "dropout": 0.1,
        "image_size": 32,
        "seed": 42,
        "workers": 0,
        "cache": "memory",
        "device": "cpu",
        "precision": "float32",
        "tf32": False,
        "channels_last": False,
        "compile": False,
        "activation_checkpointing": False,
        "processes": 1,
        "class_names": CLASSES,
        "results": RESULTS,
    }


def test_a_run_that_fails_writes_nothing(run, monkeypatch, tmp_path):
    kept = files_below(run())

    def fail(*arguments, **_):
        raise engine.NonFiniteLossError("Epoch 1 of 2: the loss is nan")

    monkeypatch.setattr(engine, "train", fail)
    with pytest.raises(SystemExit, match="nothing was written: Epoch 1 of 2: the loss is nan"):
        run()
    assert files_below(tmp_path / "out") == kept


def test_stopped_and_resumed_it_is_the_run_that_never_stopped(run, tmp_path, capsys):
    whole = run("--epochs", 3, output="whole")
    kept = ["--checkpoint", tmp_path / "kept"]
    run("--epochs", 1, *kept, output="first")
    resumed = run("--epochs", 3, *kept, "--resume", output="resumed")
    assert (resumed / "model.pth").read_bytes() == (whole / "model.pth").read_bytes()
    assert files_below(resumed)["metrics.json"] == files_below(whole)["metrics.json"]
    assert "1 epochs were done before; now 2 more." in capsys.readouterr().out
    before = files_below(tmp_path)
    for flags, words in {
        (): "holds a training of 3 epochs",
        ("--resume", "--learning-rate", 0.5): "learning_rate 0.0003, not 0.5",
        ("--resume", "--model", "ViT-S/16"): "model ViT-Ti/16, not ViT-S/16",
        ("--resume", "--precision", "bfloat16"): "precision float32, not bfloat16",
    }.items():
        with pytest.raises(SystemExit, match=f"Nothing was trained: .*{words}"):
            run(*kept, *flags, "--epochs", 4)
    assert files_below(tmp_path) == before


def test_a_training_goes_on_in_smaller_pieces_and_one_of_before_these_settings_too(run, tmp_path):
    kept = ["--checkpoint", tmp_path / "kept", "--dropout", 0]
    run("--epochs", 1, *kept, output="first")
    run("--epochs", 2, *kept, "--resume", "--micro-batch", 5, "--activation-checkpointing", output="second")
    path = tmp_path / "kept" / "settings.json"
    old = json.loads(path.read_text(encoding="utf-8"))
    del old["precision"], old["tf32"]
    path.write_text(json.dumps(old), encoding="utf-8")
    third = run("--epochs", 3, *kept, "--resume", output="third")
    results = json.loads((third / "metrics.json").read_text(encoding="utf-8"))["results"]
    whole = json.loads((run("--epochs", 3, "--dropout", 0) / "metrics.json").read_text(encoding="utf-8"))["results"]
    for key, values in whole.items():
        assert results[key] == pytest.approx(values, abs=1e-4)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (torch.cuda.OutOfMemoryError("out of memory with batch_size 32. Take 16"), "nothing was written: .*Take 16"),
        (engine.NonFiniteLossError("the loss is nan"), "nothing was written: the loss is nan"),
        (checkpoints.CheckpointError("epoch 2 is trained, but not saved"), "nothing was written: epoch 2"),
        (KeyboardInterrupt(), "130"),
    ],
)
def test_what_stops_a_training_is_said_without_a_traceback(run, monkeypatch, error, words, tmp_path):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(engine, "train", fail)
    with pytest.raises(SystemExit, match=words):
        run()
    assert files_below(tmp_path) == {}


def test_pictures_in_memory_or_read_in_every_epoch_give_one_model(run, capsys):
    hashes = [
        hashlib.sha256((run("--cache", cache, output=cache) / "model.pth").read_bytes()).hexdigest()
        for cache in ("memory", "none")
    ]
    assert hashes[0] == hashes[1]
    assert capsys.readouterr().out.count("kept in memory") == 1


# Flags


@pytest.mark.parametrize(
    ("flags", "read", "value"),
    [
        (["--epochs", 7], lambda call: call.epochs, 7),
        (["--batch-size", 7], lambda call: call.train_dataloader.batch_size, 7),
        (["--batch-size", 7], lambda call: call.test_dataloader.batch_size, 7),
        (["--learning-rate", 0.25], lambda call: call.optimizer.param_groups[0]["lr"], 0.25),
        (["--weight-decay", 0], lambda call: call.optimizer.param_groups[0]["weight_decay"], 0.0),
        (["--weight-decay", 0.3], lambda call: type(call.optimizer).__name__, "AdamW"),
        (["--dropout", 0.7], lambda call: {*dropouts(call.model)}, {0.7}),
        (["--image-size", 48], lambda call: call.model.img_size, (48, 48)),
        (["--image-size", 48], lambda call: tuple(call.train_dataloader.dataset[0][0].shape), (3, 48, 48)),
        (["--seed", 7], lambda call: call.seed, 7),
        (["--workers", 2], lambda call: call.train_dataloader.num_workers, 2),
        ([], lambda call: type(call.train_dataloader.dataset).__name__, "PicturesInMemory"),
        (["--cache", "none"], lambda call: type(call.train_dataloader.dataset).__name__, "FoodDataset"),
        (["--model", "ViT-S/16"], lambda call: call.model.config["embedding_dim"], 384),
        (["--model", "ViT-B/32"], lambda call: call.model.config["patch_size"], 32),
        (["--device", "cpu"], lambda call: call.device, "cpu"),
        (["--micro-batch", 3], lambda call: [len(y) for _, y in next(iter(call.train_dataloader)).pieces], [3] * 4),
        (["--micro-batch", 3], lambda call: [len(y) for _, y in next(iter(call.test_dataloader)).pieces], [3] * 2),
        ([], lambda call: len(next(iter(call.train_dataloader))[1]), 12),
        (["--precision", "bfloat16"], lambda call: call.precision, "bfloat16"),
        (["--precision", "auto"], lambda call: call.precision in precision.PRECISIONS, True),
        ([], lambda call: call.precision, "float32"),
        (["--tf32"], lambda call: call.products, "high"),
        (["--channels-last"], lambda call: channels_last(call.model), True),
        ([], lambda call: channels_last(call.model), False),
        (["--activation-checkpointing"], lambda call: kept_by_backward(call.model) < 2e5, True),
        ([], lambda call: kept_by_backward(call.model) < 2e5, False),
        (["--compile"], lambda call: (type(call.model).__name__, call.model.tried), ("Compiled", (32, 3, 32, 32))),
        (["--compile", "--micro-batch", 5], lambda call: call.model.tried, (5, 3, 32, 32)),
        ([], lambda call: call.optimizer.param_groups[0]["fused"], True),
        ([], lambda call: call.model.config["num_classes"], 3),
    ],
)
def test_each_flag_acts(run, call, monkeypatch, flags, read, value):
    monkeypatch.setattr(train, "write", lambda *arguments: None)
    monkeypatch.setattr(torch, "compile", Compiled)
    run(*flags)
    assert read(call) == value
    assert torch.get_float32_matmul_precision() == "highest", "put back"


def test_the_device_is_the_best_there_is_unless_named(monkeypatch):
    monkeypatch.setattr(utils, "get_device", lambda: "mps")
    monkeypatch.setattr(utils, "available_devices", lambda: ["mps", "cpu"])
    assert train.parse([]).device == "mps" and train.parse(["--device", "cpu"]).device == "cpu"


def test_without_a_folder_the_food_data_is_taken(call, tiny_food, tmp_path, monkeypatch):
    monkeypatch.setattr(data_setup, "get_food_data", lambda: FoodData(tiny_food, "drawn", "a test"))
    train.main(["--image-size", "32", "--output", str(tmp_path)])
    assert json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))["data"] == "drawn"


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        *(("--epochs", value) for value in ("0", "-1", "1.5", "two", "nan")),
        *(("--batch-size", value) for value in ("0", "-7", "1e2")),
        *(("--micro-batch", value) for value in ("0", "-7", "1e2")),
        *(("--precision", value) for value in ("half", "16")),
        *(("--learning-rate", value) for value in ("0", "-1e-3", "nan", "inf", "fast")),
        *(("--weight-decay", value) for value in ("-0.1", "nan", "inf")),
        *(("--dropout", value) for value in ("-0.1", "1.1", "nan")),
        *(("--image-size", value) for value in ("0", "-32", "33", "big")),
        *(("--seed", value) for value in ("-1", "4294967296", "0.5")),
        *(("--workers", value) for value in ("-1", "many")),
        ("--cache", "disk"),
        ("--model", "ViT-X/16"),
        ("--device", "toaster"),
        ("--device", "cuda"),
        ("--data", "no_such_folder"),
        ("--output", __file__),
        ("--output", os.path.join(__file__, "below")),
        ("--checkpoint", __file__),
    ],
)
def test_a_bad_value_is_refused_by_its_flag(run, call, capsys, monkeypatch, flag, value):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit) as stopped:
        run(f"{flag}={value}")
    assert stopped.value.code == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert f"argument {flag}" in message and value in message
    assert vars(call) == {}, "training had begun"


def test_resume_needs_to_know_where(run, call, capsys):
    with pytest.raises(SystemExit, match="2"):
        run("--resume")
    assert "--checkpoint" in capsys.readouterr().err.splitlines()[-1]


def test_an_unknown_flag_is_refused(run, call, capsys):
    with pytest.raises(SystemExit, match="2"):
        run("--epoch-count", 3)
    assert "--epoch-count" in capsys.readouterr().err


# As a command


def python(*arguments, cwd, **environment) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )


def test_help_names_every_flag():
    done = python("-m", "going_modular.going_modular.train", "--help", cwd=ROOT)
    assert done.returncode == 0 and done.stderr == ""
    for name in vars(train.parse(["--device", "cpu"])):
        assert re.search(rf"--{name.replace('_', '-')}\s", done.stdout), name


def test_importing_it_starts_nothing(tmp_path):
    code = (
        "import going_modular.going_modular.train, matplotlib, multiprocessing, threading;"
        "print(matplotlib.get_backend(), multiprocessing.active_children(), threading.active_count())"
    )
    done = python("-W", "error", "-c", code, cwd=tmp_path, PYTHONPATH=str(ROOT), MPLBACKEND="svg")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["svg", "[]", "1"]
    assert list(tmp_path.iterdir()) == []


def test_what_the_workers_get_can_be_sent(run, call):
    run("--workers", 2)
    for dataloader in (call.train_dataloader, call.test_dataloader):
        dataset = pickle.loads(pickle.dumps(dataloader.dataset))
        assert torch.equal(dataset[1][0], dataloader.dataset[1][0])
        pickle.dumps(dataloader.collate_fn)
    assert multiprocessing.active_children() == []

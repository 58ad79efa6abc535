"""A training that stops and goes on is the training that never stopped; what stops it never costs what was saved."""

import itertools
import math
import random
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch
from conftest import ROOT, files_below, tiny_vit
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset
from torchvision import transforms

from going_modular.going_modular import checkpoints, data_setup, engine, predictions, recipes, utils
from helper_functions import set_seeds

LOSS = nn.CrossEntropyLoss()
EPOCHS = 4


def tensors(number: int = 10) -> TensorDataset:
    generator = torch.Generator().manual_seed(7)
    pixels = torch.randn(number, 3, 32, 32, generator=generator)
    return TensorDataset(pixels, torch.randint(3, (number,), generator=generator))


def careless(image):
    """A learner's own random transform, which draws from all three generators that are about."""
    shift = random.random() + np.random.rand() + torch.rand(()).item()
    return transforms.functional.to_tensor(image.resize((32, 32))) + shift


def food_loaders(tiny_food, workers=0):
    folders = (tiny_food / "train", tiny_food / "test")
    return data_setup.create_dataloaders(
        *folders, careless, 4, workers, test_transform=data_setup.create_transform(32)
    )[:2]


def kept_loaders(tiny_food):
    """Pictures in memory, augmented, and prepared by a thread."""
    folders = (tiny_food / "train", tiny_food / "test")
    transform = data_setup.create_transform(32, augment=True)
    return data_setup.create_dataloaders(*folders, transform, 4, cache="memory")[:2]


LOADERS = {  # how the order of the training images comes about
    "ours": food_loaders,
    "ours, in memory": kept_loaders,
    "ours, workers": lambda tiny_food: food_loaders(tiny_food, workers=2),
    "shuffled by torch's generator": lambda _: (DataLoader(tensors(), 4, shuffle=True), DataLoader(tensors(3), 4)),
    "its own generator": lambda _: (
        DataLoader(tensors(), 4, shuffle=True, generator=torch.Generator().manual_seed(3)),
        DataLoader(tensors(3), 4),
    ),
    "a sampler's generator": lambda _: (
        DataLoader(tensors(), 4, sampler=RandomSampler(tensors(), generator=torch.Generator().manual_seed(3))),
        DataLoader(tensors(3), 4),
    ),
}
OPTIMIZERS = {
    "AdamW, no schedule": lambda model: (recipes.build_optimizer(model, 1e-2, 0.1), None),
    "AdamW, warmup and cosine": lambda model: with_schedule(
        recipes.build_optimizer(model, 1e-2, 0.1), lambda o: recipes.build_schedule(o, 12, 3, "cosine")
    ),
    "SGD with momentum, one cycle": lambda model: with_schedule(
        torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True),
        lambda o: torch.optim.lr_scheduler.OneCycleLR(o, max_lr=0.1, total_steps=12),
    ),
}


def with_schedule(optimizer, build):
    return optimizer, build(optimizer)


class Run:
    """One process's share of a training: its own model, optimizer and loaders, made with its own seed."""

    def __init__(self, tiny_food, loaders="ours", optimizer="AdamW, no schedule", seed=1):
        set_seeds(seed)
        self.model = tiny_vit(mlp_dropout=0.3)
        self.dataloaders = LOADERS[loaders](tiny_food)
        self.optimizer, self.schedule = OPTIMIZERS[optimizer](self.model)
        self.rates = []
        self.optimizer.register_step_post_hook(lambda o, *_: self.rates.append(o.param_groups[0]["lr"]))

    def train(self, epochs=EPOCHS, checkpoint=None, resume=False, seed=5, loss=LOSS):
        set_seeds(seed)
        options = {"schedule": self.schedule, "checkpoint": checkpoint, "resume": resume}
        return engine.train(self.model, *self.dataloaders, self.optimizer, loss, epochs, "cpu", **options)

    def weights(self):
        return [tensor.clone() for tensor in self.model.state_dict().values()]


def equal(first, second) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


# Going on


@pytest.mark.parametrize(
    ("loaders", "optimizer"),
    [*((name, "AdamW, warmup and cosine") for name in LOADERS), *(("ours", name) for name in list(OPTIMIZERS)[::2])],
)
@pytest.mark.parametrize("stops", [(2,), (1, 2, 3)])
def test_stopping_and_going_on_changes_no_bit(tiny_food, tmp_path, loaders, optimizer, stops):
    if loaders == "ours, workers" and stops != (2,):
        pytest.skip("one stop is enough for the slow one")
    whole = Run(tiny_food, loaders, optimizer)
    expected = whole.train()
    rates = []
    for part, epochs in enumerate((*stops, EPOCHS)):
        run = Run(tiny_food, loaders, optimizer, seed=1 if part == 0 else 1000 + part)
        results = run.train(epochs, tmp_path, resume=part > 0, seed=5 if part == 0 else 2000 + part)
        rates += run.rates
        assert all(len(values) == epochs for values in results.values())
    assert results == expected
    assert rates == whole.rates and len(rates) == EPOCHS * 3
    assert equal(run.weights(), whole.weights())


def test_a_training_without_a_checkpoint_is_the_same_and_writes_nothing(tiny_food, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plain, kept = Run(tiny_food), Run(tiny_food)
    assert plain.train() == kept.train(checkpoint=tmp_path / "kept")
    assert equal(plain.weights(), kept.weights())
    assert {path.name for path in tmp_path.iterdir()} == {"kept"}


def test_the_random_states_go_on_too(tiny_food, tmp_path):
    def draws():
        return random.random(), np.random.rand(), torch.rand(()).item()

    whole = Run(tiny_food)
    whole.train()
    expected = draws()
    Run(tiny_food).train(2, tmp_path)
    Run(tiny_food, seed=9).train(EPOCHS, tmp_path, resume=True, seed=99)
    assert draws() == expected


def test_a_finished_training_is_returned_and_not_trained_again(tiny_food, tmp_path, capsys):
    first = Run(tiny_food)
    results = first.train(2, tmp_path, resume=True)  # nothing there yet: resume begins
    again = Run(tiny_food, seed=3)
    assert again.train(2, tmp_path, resume=True) == results and again.rates == []
    assert equal(again.weights(), first.weights())
    assert "2 epochs were done before; now 0 more." in capsys.readouterr().out


def test_the_checkpoint_is_a_model_too(tiny_food, tmp_path):
    run = Run(tiny_food)
    run.train(1, tmp_path)
    model, info = utils.load_model(tmp_path / checkpoints.NAME)
    assert equal(model.state_dict().values(), run.weights())
    assert info["class_names"] == ["pizza", "steak", "sushi"]


# What is refused


def test_a_training_is_not_overwritten_unasked(tiny_food, tmp_path):
    Run(tiny_food).train(2, tmp_path)
    before = files_below(tmp_path)
    with pytest.raises(FileExistsError, match=r"training\.pth holds a training of 2 epochs.*resume"):
        Run(tiny_food).train(2, tmp_path)
    assert files_below(tmp_path) == before


def test_another_models_training_is_refused_and_left_alone(tiny_food, tmp_path):
    Run(tiny_food).train(1, tmp_path)
    before = files_below(tmp_path)

    def larger(run):
        run.model = tiny_vit(mlp_size=48)
        run.optimizer, _ = OPTIMIZERS["AdamW, no schedule"](run.model)

    def other_optimizer(run):
        run.optimizer = torch.optim.SGD(run.model.parameters(), lr=0.1)

    def scheduled(run):
        run.schedule = recipes.build_schedule(run.optimizer, 12)

    def other_classes(run):
        run.dataloaders[0].dataset.classes = ["burger", "pizza", "waffle"]

    changes = {larger: "size mismatch", other_optimizer: "AdamW, and this is SGD", scheduled: "LambdaLR"}
    for change, words in {**changes, other_classes: "burger"}.items():
        run = Run(tiny_food)
        change(run)
        with pytest.raises(ValueError, match=rf"(?s)training\.pth was trained .*{words}"):
            run.train(2, tmp_path, resume=True)
    assert files_below(tmp_path) == before


def test_a_model_without_a_training_is_refused(tiny_food, tmp_path):
    utils.save_checkpoint(tiny_vit(), tmp_path / checkpoints.NAME, ["pizza", "steak", "sushi"])
    with pytest.raises(ValueError, match="holds weights, but no training"):
        Run(tiny_food).train(1, tmp_path, resume=True)


HOLDER = """
import sys
from pathlib import Path
from going_modular.going_modular.checkpoints import reserved
with reserved(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_two_processes_do_not_train_into_one_folder(tiny_food, tmp_path):
    command = [sys.executable, "-c", HOLDER, tmp_path]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(FileExistsError, match="another process trains into"):
            Run(tiny_food).train(1, tmp_path)
        holder.kill()
    (tmp_path / f".{checkpoints.NAME}.12345").write_bytes(b"what a killed process left")
    Run(tiny_food).train(1, tmp_path)
    assert files_below(tmp_path).keys() == {checkpoints.NAME, checkpoints.LOCK}


# What stops a training


def stop_after(batches: int, error: BaseException):
    """A loss that raises `error` in its n-th call."""
    calls = itertools.count(1)

    def loss(logits, labels):
        if next(calls) == batches:
            raise error
        return LOSS(logits, labels)

    return loss


@pytest.mark.parametrize("batches", [1, 4, 6, 7, 8, 11])  # 3 batches of training and 2 of testing an epoch
@pytest.mark.parametrize("kept", [True, False])
def test_interrupting_a_notebook_returns_the_results_so_far(tiny_food, tmp_path, monkeypatch, capsys, batches, kept):
    monkeypatch.setattr(engine, "in_notebook", lambda: True)
    results = Run(tiny_food).train(EPOCHS, tmp_path if kept else None, loss=stop_after(batches, KeyboardInterrupt()))
    done = (batches - 1) // 5
    assert results == (Run(tiny_food).train(done) if done else {key: [] for key in checkpoints.KEYS})
    assert f"Interrupted in epoch {done + 1} of 4: these are the results of {done}." in capsys.readouterr().out
    if kept:
        whole, resumed = Run(tiny_food), Run(tiny_food) if done == 0 else Run(tiny_food, seed=77)
        assert resumed.train(EPOCHS, tmp_path, resume=True) == whole.train()
        assert equal(resumed.weights(), whole.weights())


def test_interrupting_a_script_is_an_interrupt_with_the_results(tiny_food):
    with pytest.raises(KeyboardInterrupt) as caught:
        Run(tiny_food).train(loss=stop_after(8, KeyboardInterrupt()))
    assert caught.value.results == Run(tiny_food).train(1)


def test_interrupting_a_save_keeps_the_epoch_in_the_results_and_the_old_file(tiny_food, tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "in_notebook", lambda: True)
    Run(tiny_food).train(1, tmp_path)
    before = files_below(tmp_path)

    def interrupted(content, file):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(torch, "save", interrupted)
    results = Run(tiny_food).train(3, tmp_path, resume=True)
    assert len(results["train_loss"]) == 2 and files_below(tmp_path) == before


@pytest.mark.parametrize("place", ["training", "testing"])
def test_a_loss_that_is_no_number_leaves_the_last_good_checkpoint(tiny_food, tmp_path, place):
    calls = 8 if place == "training" else 10

    count = itertools.count(1)

    def loss(logits, labels):
        return LOSS(logits, labels) * (math.nan if next(count) == calls else 1)

    with pytest.raises(engine.NonFiniteLossError, match="Epoch 2 of 4: the .*loss is nan at batch") as caught:
        Run(tiny_food).train(checkpoint=tmp_path, loss=loss)
    assert len(caught.value.results["train_loss"]) == 1
    assert utils.read_weights(tmp_path / checkpoints.NAME)["training"]["epochs"] == 1
    whole, resumed = Run(tiny_food), Run(tiny_food)
    assert resumed.train(2, tmp_path, resume=True) == whole.train(2) and equal(resumed.weights(), whole.weights())


def test_answers_that_are_no_numbers_are_no_answers(tiny_food):
    """argmax of NaN is class 0: a spoilt model would look like one that always says pizza."""
    model = tiny_vit()
    with torch.no_grad():
        model.position_embedding[0, 2] = math.nan
    photo = next((tiny_food / "test" / "sushi").iterdir())
    _, dataloader = food_loaders(tiny_food)
    for call in (
        lambda: engine.test_step(model, dataloader, LOSS, "cpu"),
        lambda: predictions.predict_image(model, photo, image_size=(32, 32), device="cpu"),
        lambda: predictions.pred_and_plot_image(model, ["a", "b", "c"], photo, (32, 32), device="cpu"),
        lambda: predictions.predict_all(model, dataloader, "cpu"),
    ):
        with pytest.raises((ValueError, engine.NonFiniteLossError), match="(?i)nan"):
            call()


def test_no_room_for_the_checkpoint_keeps_the_old_one_and_the_results(tiny_food, tmp_path, monkeypatch):
    Run(tiny_food).train(1, tmp_path)
    before = files_below(tmp_path)

    def full(content, file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(checkpoints.CheckpointError, match="epoch 2 .*No space.*of epoch 1 stays") as caught:
        Run(tiny_food).train(3, tmp_path, resume=True)
    assert len(caught.value.results["train_loss"]) == 2 and files_below(tmp_path) == before


FULL = """
import resource, sys
import torch
sys.path.insert(0, "tests")
from conftest import tiny_vit
from pathlib import Path
from going_modular.going_modular import checkpoints, utils

folder = Path(sys.argv[1])
model = tiny_vit()
optimizer = torch.optim.AdamW(model.parameters())
results = {key: [1.0] for key in checkpoints.KEYS}
checkpoints.save(folder, model, optimizer, None, [None], results)
size = (folder / checkpoints.NAME).stat().st_size
for room in sorted({0, 1, 100, *range(0, size, size // 20), size - 1}):
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    try:
        checkpoints.save(folder, model, optimizer, None, [None], {key: [1.0, 2.0] for key in checkpoints.KEYS})
    except checkpoints.CheckpointError as error:
        print(error)
    else:
        sys.exit(f"{size} bytes went into {room}")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows can't limit a file's size")
def test_a_disk_that_is_really_full_at_any_byte(tmp_path):
    """The system itself lets no file grow past a limit: 20 and more places within the checkpoint."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path], cwd=ROOT, capture_output=True, encoding="utf-8", timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) >= 20 and all("the checkpoint of epoch 1 stays" in line for line in lines)
    assert all("File too large" in line for line in lines), lines[-1]
    assert files_below(tmp_path).keys() == {checkpoints.NAME}
    assert utils.read_weights(tmp_path / checkpoints.NAME)["training"]["epochs"] == 1


# Several at once


def test_a_path_is_its_processs_own(tmp_path):
    code = (
        "import sys; from going_modular.going_modular.utils import own_path;"
        "print(own_path(sys.argv[1]).name, own_path(sys.argv[1]).name, flush=True); sys.stdin.read()"
    )
    path = tmp_path / "models" / "scratch_drawn.pth"
    command = [sys.executable, "-c", code, path]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as other:
        assert other.stdout.readline().split() == ["scratch_drawn.pth"] * 2
        assert [utils.own_path(path).name for _ in range(2)] == ["scratch_drawn_2.pth"] * 2
        other.kill()
    assert utils.own_path(path).name == "scratch_drawn.pth", "a process that ended holds nothing"


def test_what_several_record_at_once_stays_line_by_line(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"notebook": "cut off by a ki', encoding="utf-8")
    entry = {"data": "drawn", "weights": "none", "variant": "ViT-Ti/16", "img_size": 224, "epochs": 1, "seed": 1}

    def record(name):
        for _ in range(50):
            utils.record_result(notebook=name * 200, **entry, accuracy=0.5, seconds=1, path=path)

    threads = [threading.Thread(target=record, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = sorted(result["notebook"] for result in utils.read_results(path))
    assert names == sorted(name * 200 for name in "abcd" for _ in range(50))

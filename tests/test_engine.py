"""engine: what a pass over the data does to a model, what it measures, and what it refuses."""

import itertools
import math
import re
import weakref

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm

from going_modular.going_modular import engine, updates

LOSS = nn.CrossEntropyLoss()
KEYS = ["train_loss", "train_acc", "test_loss", "test_acc"]


def images(number: int = 7, seed: int = 0) -> TensorDataset:
    generator = torch.Generator().manual_seed(seed)
    pixels = torch.randn(number, 3, 2, 2, generator=generator)
    return TensorDataset(pixels, torch.randint(3, (number,), generator=generator))


def loader(number: int = 7, batch_size: int = 3, **options) -> DataLoader:
    """Batches of 3, 3 and 1 if nothing else is asked for."""
    return DataLoader(images(number), batch_size, **options)


def linear(seed: int = 0, dropout: float = 0.0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Flatten(), nn.Dropout(dropout), nn.Linear(12, 3))


def sgd(model: nn.Module, lr: float = 0.1) -> torch.optim.SGD:
    return torch.optim.SGD(model.parameters(), lr=lr)


def weights(model: nn.Module) -> list[torch.Tensor]:
    return [tensor.clone() for tensor in model.state_dict().values()]


def train(model: nn.Module, epochs: int = 2, device="cpu", train_data=None, test_data=None, lr: float = 0.1) -> dict:
    train_data = loader() if train_data is None else train_data
    test_data = loader(5) if test_data is None else test_data
    return engine.train(model, train_data, test_data, sgd(model, lr), LOSS, epochs, device)


class Failing(nn.Module):
    """A linear model that does `fail(logits)` in its n-th forward pass of training, and keeps its weights before it."""

    def __init__(self, n: int, fail):
        super().__init__()
        self.layers, self.n, self.fail, self.calls = linear(), n, fail, 0

    def forward(self, x):
        logits = self.layers(x)
        self.calls += self.training
        if self.training and self.calls == self.n:
            self.before = weights(self.layers)
            return self.fail(logits)
        return logits


# What is measured


@pytest.mark.parametrize("step", ["train", "test"])
def test_metrics_are_averaged_over_images(step):
    model = linear()
    if step == "train":
        loss, accuracy = engine.train_step(model, loader(), LOSS, sgd(model, lr=0), "cpu")
    else:
        loss, accuracy = engine.test_step(model, loader(), LOSS, "cpu")
    pixels, labels = images().tensors
    with torch.no_grad():
        right = (model(pixels).argmax(dim=1) == labels).float().mean().item()
        batch_losses = [LOSS(model(x), y).item() for x, y in loader()]
        assert loss == pytest.approx(LOSS(model(pixels), labels).item(), abs=1e-6)
    assert accuracy == pytest.approx(right, abs=1e-6) and 0 < right < 1
    assert abs(loss - sum(batch_losses) / 3) > 1e-3, "these batches should tell the two averages apart"


def test_results_are_lists_of_python_floats():
    results = train(linear(), epochs=3)
    assert list(results) == KEYS
    assert all(len(values) == 3 and all(type(value) is float for value in values) for values in results.values())


def test_a_line_is_printed_for_each_epoch(capsys):
    results = train(linear(), epochs=2)
    rows = zip(*results.values(), strict=True)
    expected = [
        f"Epoch: {epoch} | train_loss: {a:.4f} | train_acc: {b:.4f} | test_loss: {c:.4f} | test_acc: {d:.4f}"
        for epoch, (a, b, c, d) in enumerate(rows, start=1)
    ]
    assert capsys.readouterr().out.splitlines() == expected


# What training does to the model


def test_each_step_sets_the_mode_it_needs():
    model = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(12), nn.Linear(12, 4), nn.Dropout(0.5), nn.Linear(4, 3))
    seen = []
    model.register_forward_hook(lambda *_: seen.append((model.training, torch.is_inference_mode_enabled())))
    model.eval()
    before = weights(model)
    engine.train_step(model, loader(8, 4), LOSS, sgd(model), "cpu")
    after = weights(model)
    assert seen == [(True, False)] * 2
    assert not any(torch.equal(a, b) for a, b in zip(before, after, strict=True)), "weights and statistics move"
    seen.clear()
    engine.test_step(model, loader(8, 4), LOSS, "cpu")
    assert seen == [(False, True)] * 2
    assert all(torch.equal(a, b) for a, b in zip(after, weights(model), strict=True))


def test_testing_draws_no_random_numbers():
    model = linear(dropout=0.5)
    batches = list(loader())
    state = torch.get_rng_state()
    first, second = (engine.test_step(model, batches, LOSS, "cpu") for _ in range(2))
    assert first == second and torch.equal(state, torch.get_rng_state())


def test_training_equals_gradient_descent_by_hand():
    model = linear()
    model[2].weight.grad = torch.full((3, 12), 1e3)  # what an earlier run left behind
    weight, bias = model[2].weight.detach().clone(), model[2].bias.detach().clone()
    engine.train_step(model, loader(), LOSS, sgd(model, lr=0.1), "cpu")
    for pixels, labels in loader():
        x = pixels.flatten(1)
        error = (x @ weight.T + bias).softmax(dim=1) - nn.functional.one_hot(labels, 3)  # dL/dlogits of each image
        weight -= 0.1 * error.T @ x / len(x)
        bias -= 0.1 * error.mean(dim=0)
    torch.testing.assert_close(model[2].weight.detach(), weight, atol=1e-6, rtol=0)
    torch.testing.assert_close(model[2].bias.detach(), bias, atol=1e-6, rtol=0)


def test_equal_seeds_give_equal_runs():
    def run(seed):
        model = linear(seed, dropout=0.3)
        return train(model), weights(model)

    (first, first_weights), (second, second_weights), (other, _) = run(1), run(1), run(2)
    assert first == second != other
    assert all(torch.equal(a, b) for a, b in zip(first_weights, second_weights, strict=True))


@pytest.mark.parametrize("device", ["cpu", torch.device("cpu")])
def test_any_way_to_name_the_device(device):
    assert train(linear(), device=device) == train(linear())


def test_model_and_batches_go_to_the_device():
    model = linear()
    with pytest.raises(Exception, match="meta"):  # meta tensors hold no values: whatever reads one fails
        train(model, device="meta")
    assert {parameter.device.type for parameter in model.parameters()} == {"meta"}


def test_a_loader_inside_a_progress_bar():
    with tqdm(loader(), disable=True) as train_data, tqdm(loader(5), disable=True) as test_data:
        assert train(linear(), train_data=train_data, test_data=test_data) == train(linear())


def test_the_sampler_is_told_each_epoch():
    class Sampler(torch.utils.data.SequentialSampler):
        epochs = []

        def set_epoch(self, epoch):
            self.epochs.append(epoch)

    train(linear(), epochs=3, train_data=loader(sampler=Sampler(images())))
    assert Sampler.epochs == [0, 1, 2]


# What is refused


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_no_number_stops_training(value):
    model = Failing(n=3 + 3, fail=lambda logits: logits * value)
    with pytest.raises(engine.NonFiniteLossError) as caught:
        train(model, epochs=2, lr=0.025)
    for part in ("Epoch 2 of 2", "batch 3 of 3", "learning rate 0.025", "clip"):
        assert part in str(caught.value)
    assert caught.value.results == train(linear(), epochs=1, lr=0.025)
    assert all(torch.equal(a, b) for a, b in zip(model.before, weights(model.layers), strict=True))


def test_a_loss_that_is_no_number_in_the_first_epoch():
    with pytest.raises(engine.NonFiniteLossError, match="Epoch 1 of 2.*batch 1 of 3") as caught:
        train(Failing(n=1, fail=lambda logits: logits * math.nan))
    assert caught.value.results == {key: [] for key in KEYS}


EMPTY = {
    "all dropped": (lambda: loader(9, 32, drop_last=True), "9 images.*batch_size 32.*drop_last True"),
    "no images": (lambda: loader(0, 4), "0 images.*batch_size 4"),
    "in a progress bar": (lambda: tqdm(loader(9, 32, drop_last=True), disable=True), "9 images.*batch_size 32"),
}


@pytest.mark.parametrize("kind", EMPTY)
def test_no_batch_is_an_error(kind):
    make, message = EMPTY[kind]
    model = linear()
    before = weights(model)
    for call in (
        lambda: engine.train_step(model, make(), LOSS, sgd(model), "cpu"),
        lambda: engine.test_step(model, make(), LOSS, "cpu"),
        lambda: train(model, train_data=make()),
        lambda: train(model, test_data=make()),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert all(torch.equal(a, b) for a, b in zip(before, weights(model), strict=True)), "refused before training"


@pytest.mark.parametrize("change", [lambda x: x[..., None].expand(-1, -1, 4), lambda x: x[:, 0], lambda x: x[:1]])
def test_logits_of_a_wrong_shape_are_named(change):
    shape = tuple(change(torch.zeros(3, 3)).shape)
    for step in (lambda model: train(model), lambda model: engine.test_step(model, loader(), LOSS, "cpu")):
        model = linear()
        model.register_forward_hook(lambda _, __, logits: change(logits))
        with pytest.raises(ValueError, match=re.escape(f"{shape}: (3, number of classes)")):
            step(model)


def test_out_of_memory_says_what_to_do_and_lets_go():
    held = {}

    def run_out(logits):
        activations = logits * torch.ones(3)
        held["activations"], held["logits"] = weakref.ref(activations), weakref.ref(logits)
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    model = Failing(n=2, fail=run_out)
    held["weight"] = weakref.ref(model.layers[2].weight)
    with pytest.raises(torch.cuda.OutOfMemoryError) as caught:
        engine.train(model, loader(), loader(5), sgd(model), LOSS, 2, "cpu")
    for part in ("with batch_size 3", "with micro_batch 1,", "that of the whole batch", "ViT-Ti/16", "2.00 GiB"):
        assert part in str(caught.value)
    assert held["activations"]() is None and held["logits"]() is None, "the traceback holds the batch's tensors"
    assert all(parameter.grad is None for parameter in model.parameters())
    results = train(model, epochs=1, train_data=loader(7, 2))
    assert all(map(math.isfinite, itertools.chain(*results.values())))
    del model
    assert held["weight"]() is None, "the traceback holds the model"


@pytest.mark.parametrize(
    ("batch_size", "micro_batch", "words"),
    [
        (32, None, "with batch_size 32. Train with micro_batch 16,"),
        (32, 8, "with micro_batch 8. Train with micro_batch 4,"),
        (1, None, "with batch_size 1. Not even one image fits"),
        (32, 1, "with micro_batch 1. Not even one image fits"),
    ],
)
def test_out_of_memory_says_by_how_much_to_lower(batch_size, micro_batch, words):
    error = torch.cuda.OutOfMemoryError("CUDA out of memory.")
    for dataloader, given in (
        (loader(40, batch_size), micro_batch),
        (updates.WindowLoader(loader(40, batch_size), micro_batch), None),
    ):
        advice = engine.memory_error(error, dataloader, given)
        assert type(advice) is torch.cuda.OutOfMemoryError and f"out of memory {words}" in str(advice)


def test_a_schedule_is_stepped_once_an_update():
    model = linear()
    optimizer = sgd(model, lr=1.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (step + 1))
    rates = []
    optimizer.register_step_post_hook(lambda *_: rates.append(optimizer.param_groups[0]["lr"]))
    engine.train(model, loader(), loader(5), optimizer, LOSS, 2, "cpu", schedule=schedule)
    assert rates == [1 / (step + 1) for step in range(2 * 3)]


def test_other_errors_pass_as_they_are():
    def fail(logits):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="^mat1 and mat2"):
        train(Failing(n=1, fail=fail))

"""precision: what "auto" asks the hardware, and that 16 bits change numbers by little and nothing else."""

import copy

import pytest
import torch
from conftest import tiny_vit
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from going_modular.going_modular import engine, precision, recipes, updates

LOSS = nn.CrossEntropyLoss()


def loader(number: int = 11, batch_size: int = 4) -> DataLoader:
    generator = torch.Generator().manual_seed(3)
    images = torch.randn(number, 3, 32, 32, generator=generator)
    return DataLoader(TensorDataset(images, torch.arange(number) % 3), batch_size)


def model() -> nn.Module:
    torch.manual_seed(0)
    vit = tiny_vit(mlp_dropout=0.0, embedding_dropout=0.0)
    for parameter in vit.parameters():
        nn.init.normal_(parameter, std=0.2)
    return vit


def gradient(vit: nn.Module) -> torch.Tensor:
    return torch.cat([parameter.grad.flatten() for parameter in vit.parameters()])


# Choosing


@pytest.fixture
def timed(monkeypatch):
    """A machine whose passes take the seconds that the test puts here; `calls` are the passes it was asked for."""
    precision.is_faster.cache_clear()
    seconds, calls = {}, []

    def pass_(name, kind):
        calls.append((name, kind))
        if isinstance(seconds[name], Exception):
            raise seconds[name]
        return seconds[name]

    monkeypatch.setattr(precision, "seconds_of_a_pass", pass_)
    yield seconds, calls
    precision.is_faster.cache_clear()


@pytest.mark.parametrize(
    ("seconds", "choice"),
    [
        ({"float32": 2.0, "bfloat16": 1.0}, "bfloat16"),
        ({"float32": 1.0, "bfloat16": 2.0}, "float32"),
        ({"float32": 1.0, "bfloat16": 0.98}, "float32"),  # too little to give digits for
        ({"float32": 1.0, "bfloat16": RuntimeError("not implemented for 'BFloat16'")}, "float32"),
    ],
)
def test_auto_takes_what_is_clearly_faster_and_measures_once(timed, seconds, choice):
    timed[0].update(seconds)
    assert precision.choose("auto", "cpu") == choice
    measured = len(timed[1])
    assert measured and precision.choose("auto", torch.device("cpu")) == choice and len(timed[1]) == measured


@pytest.mark.parametrize(("native", "half"), [(True, "bfloat16"), (False, "float16")])
def test_a_gpu_without_bfloat16_of_its_own_takes_float16(timed, monkeypatch, native, half):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: native or including_emulation)
    timed[0].update({"float32": 2.0, half: 1.0})
    assert precision.choose("auto", "cuda") == half
    assert {kind for _, kind in timed[1]} == {"cuda"}


def test_a_real_measurement_moves_no_random_state():
    precision.is_faster.cache_clear()
    state = torch.get_rng_state()
    assert precision.choose("auto", "cpu") in ("float32", "bfloat16")
    assert torch.equal(state, torch.get_rng_state())


def test_a_wish_is_taken_as_it_is_and_others_are_refused(timed):
    assert [precision.choose(name, "cpu") for name in precision.PRECISIONS] == list(precision.PRECISIONS)
    assert timed[1] == []
    with pytest.raises(ValueError, match="'half'.*'auto', 'float32', 'bfloat16', 'float16'"):
        engine.train_step(model(), loader(), LOSS, torch.optim.SGD(model().parameters()), "cpu", precision="half")


# Gradients


@pytest.mark.parametrize(("name", "tolerance"), [("bfloat16", 0.05), ("float16", 0.01)])
def test_gradients_are_those_of_float32_within_the_digits_that_are_left(name, tolerance):
    images, labels = next(iter(loader(16, 16)))
    found = {}
    for kind in ("float32", name):
        vit = model()
        loss, _ = updates.run_window(vit, updates.cut(images, labels), LOSS, "cpu", kind, torch.Tensor.backward)
        found[kind] = (loss, gradient(vit))
        assert loss.dtype == torch.float32 and {parameter.dtype for parameter in vit.parameters()} == {torch.float32}
    (loss, full), (half_loss, half) = found["float32"], found[name]
    assert half_loss.item() == pytest.approx(loss.item(), rel=tolerance)
    difference = ((half - full).norm() / full.norm()).item()
    assert 1e-6 < difference < tolerance, "as close as the digits allow, and not float32 by another name"


def products(vit: nn.Module) -> set[torch.dtype]:
    """What the model's linear layers give while the returned set is alive."""
    seen = set()
    vit.transformer_encoder[0].mlp_block.mlp[0].register_forward_hook(lambda *_: seen.add(_[2].dtype))
    return seen


@pytest.mark.parametrize("name", precision.PRECISIONS)
def test_training_and_testing_run_in_the_precision_that_was_asked_for(name):
    vit = model()
    seen = products(vit)
    optimizer = torch.optim.SGD(vit.parameters(), lr=1e-3)
    engine.train_step(vit, loader(), LOSS, optimizer, "cpu", precision=name)
    assert seen == {getattr(torch, name)}
    seen.clear()
    engine.test_step(vit, loader(), LOSS, "cpu", precision=name)
    assert seen == {getattr(torch, name)}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["bfloat16", "float16", "auto"])
def test_a_training_in_16_bits_learns_as_one_in_32_and_warns_of_nothing(name, capsys):
    results = {}
    for kind in ("float32", name):
        vit = model()
        optimizer = recipes.build_optimizer(vit, 1e-3, 0.1)
        schedule = recipes.build_schedule(optimizer, 4 * 3, 2)
        results[kind] = engine.train(
            vit, loader(), loader(5), optimizer, LOSS, 4, "cpu", schedule=schedule, precision=kind
        )
    assert ("is the fastest here" in capsys.readouterr().out) == (name == "auto")
    for key in ("train_loss", "test_loss"):
        assert results[name][key] == pytest.approx(results["float32"][key], rel=0.05)
    assert results["float32"]["train_loss"][-1] < results["float32"]["train_loss"][0]


def test_float32_is_the_default_and_changes_no_bit():
    ends = []
    for options in ({}, {"precision": "float32"}):
        vit = model()
        results = engine.train(
            vit, loader(), loader(5), torch.optim.SGD(vit.parameters(), lr=0.1), LOSS, 2, "cpu", **options
        )
        ends.append((results, gradient(vit)))
    assert ends[0][0] == ends[1][0] and torch.equal(ends[0][1], ends[1][1])


# float16 and its scaler


class Spiky(nn.Module):
    """A model whose n-th training step has a finite loss and a gradient beyond float16's range."""

    def __init__(self, n: int):
        super().__init__()
        self.layer, self.n, self.calls = nn.Linear(4, 3), n, 0

    def forward(self, x):
        self.calls += self.training
        logits = self.layer(x)
        if self.training and self.calls == self.n:
            logits.register_hook(lambda grad: grad * float("inf"))
        return logits


def test_an_update_that_is_skipped_moves_neither_weights_nor_schedule():
    torch.manual_seed(0)
    spiky = Spiky(2)
    before = copy.deepcopy(spiky.state_dict())
    optimizer = torch.optim.SGD(spiky.parameters(), lr=1.0)
    schedule = recipes.build_schedule(optimizer, 10, 5)
    scaler = precision.grad_scaler("float16", "cpu")
    scale, data = scaler.get_scale(), TensorDataset(torch.randn(3, 4), torch.arange(3))

    def one_step():
        batches = DataLoader(data, 3)
        engine.train_step(spiky, batches, LOSS, optimizer, "cpu", schedule, precision="float16", scaler=scaler)

    one_step()
    after_one = copy.deepcopy(spiky.state_dict())
    assert not torch.equal(before["layer.weight"], after_one["layer.weight"]) and schedule.last_epoch == 1
    one_step()
    assert torch.equal(after_one["layer.weight"], spiky.layer.weight) and schedule.last_epoch == 1
    assert scaler.get_scale() == scale / 2
    one_step()
    assert not torch.equal(after_one["layer.weight"], spiky.layer.weight) and schedule.last_epoch == 2


def test_clipping_measures_the_true_gradient():
    weight = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = precision.grad_scaler("float16", "cpu")
    scaler.scale(0.5 * weight.sum()).backward()
    updates.step(optimizer, None, scaler, ([weight], 1.0))
    assert weight.item() == 0.5, "a gradient of 0.5 is shorter than 1 and is left as it is"
    optimizer.zero_grad()
    scaler.scale(8 * weight.sum()).backward()
    updates.step(optimizer, None, scaler, ([weight], 0.25))
    assert weight.item() == pytest.approx(0.25, abs=1e-5)


def test_resuming_goes_on_with_the_scale(tmp_path):
    def run(epochs, folder, resume=False):
        vit = model()
        optimizer = torch.optim.AdamW(vit.parameters(), lr=1e-3)
        options = {"checkpoint": folder, "resume": resume, "precision": "float16"}
        return engine.train(vit, loader(), loader(5), optimizer, LOSS, epochs, "cpu", **options), gradient(vit)

    whole = run(3, tmp_path / "whole")
    run(1, tmp_path / "parts")
    parts = run(3, tmp_path / "parts", resume=True)
    assert parts[0] == whole[0] and torch.equal(parts[1], whole[1])
    scales = [
        torch.load(tmp_path / name / "training.pth", weights_only=True)["training"]["scaler"]
        for name in ("whole", "parts")
    ]
    assert scales[0] == scales[1] and scales[0]["scale"] > 1


# TF32


def test_tf32_is_a_setting_for_a_while_and_changes_no_metric():
    results = {}
    settings = (torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32)
    for wanted in (False, True):
        vit = model()
        with precision.tf32(wanted):
            assert torch.get_float32_matmul_precision() == ("high" if wanted else settings[0])
            optimizer = torch.optim.SGD(vit.parameters(), lr=0.01)
            results[wanted] = engine.train(vit, loader(), loader(5), optimizer, LOSS, 2, "cpu")
    assert (torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32) == settings
    for key, values in results[True].items():
        assert values == pytest.approx(results[False][key], rel=1e-2)

"""acceleration: each switch on and off gives the same numbers, and one that can't be had says why."""

import copy
import re

import pytest
import torch
from conftest import tiny_vit
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from going_modular.going_modular import acceleration, engine, recipes, utils

LOSS = nn.CrossEntropyLoss()


def loader(number: int = 7, batch_size: int = 3) -> DataLoader:
    generator = torch.Generator().manual_seed(3)
    images = torch.randn(number, 3, 32, 32, generator=generator)
    return DataLoader(TensorDataset(images, torch.arange(number) % 3), batch_size)


def model(dropout: float = 0.0) -> nn.Module:
    torch.manual_seed(0)
    return tiny_vit(mlp_dropout=dropout, embedding_dropout=dropout)


def train(vit: nn.Module, **options) -> dict:
    torch.manual_seed(1)
    optimizer = recipes.build_optimizer(vit, 1e-3, 0.1, **options)
    return engine.train(vit, loader(), loader(5), optimizer, LOSS, 2, "cpu")


def same(results: dict, others: dict) -> bool:
    return all(values == pytest.approx(others[key], abs=1e-5) for key, values in results.items())


SWITCHES = {
    "channels last": acceleration.use_channels_last,
    "activation checkpointing": acceleration.checkpoint_activations,
    "both": lambda vit: acceleration.use_channels_last(acceleration.checkpoint_activations(vit)),
}


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("name", SWITCHES)
def test_metrics_are_the_same_with_each_switch_on_and_off(name, dropout):
    assert same(train(model(dropout)), train(SWITCHES[name](model(dropout))))


def test_a_fused_step_is_the_plain_one():
    assert same(train(model(), fused=True), train(model(), fused=False))


def test_the_fused_step_is_taken_where_there_is_one(monkeypatch):
    assert recipes.build_optimizer(model(), 1e-3, 0.1).param_groups[0]["fused"]
    real = torch.optim.AdamW

    def without(*arguments, fused, **options):
        if fused:
            raise RuntimeError("`fused=True` requires all the params to be floating point Tensors of supported devices")
        return real(*arguments, fused=fused, **options)

    monkeypatch.setattr(torch.optim, "AdamW", without)
    assert not recipes.build_optimizer(model(), 1e-3, 0.1).param_groups[0]["fused"]
    with pytest.raises(RuntimeError, match="fused=True"):
        recipes.build_optimizer(model(), 1e-3, 0.1, fused=True)


# Channels last


def test_the_convolution_gets_its_images_channels_last():
    vit = acceleration.use_channels_last(model())
    seen = []
    vit.patch_embedding.patcher.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    vit(torch.randn(2, 3, 32, 32))
    assert seen[0].is_contiguous(memory_format=torch.channels_last)
    assert vit.patch_embedding.patcher.weight.is_contiguous(memory_format=torch.channels_last)


# Activation checkpointing


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_activation_checkpointing_gives_the_same_gradients_and_keeps_less(dropout, precision):
    plain = model(dropout)
    checkpointed = acceleration.checkpoint_activations(copy.deepcopy(plain))
    images, labels = torch.randn(64, 3, 32, 32), torch.arange(64) % 3
    found = []
    for vit in (plain, checkpointed):
        kept = []

        def keep(tensor, kept=kept, images=images):
            if tensor.shape[:1] == (64,) and tensor.shape != images.shape:  # no weights, and not the images themselves
                kept.append(tensor.numel())
            return tensor

        torch.manual_seed(5)
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
                logits = vit(images)
        LOSS(logits.float(), labels).backward()
        found.append((logits, [parameter.grad for parameter in vit.parameters()], sum(kept)))
    (logits, gradients, size), (other_logits, other_gradients, other_size) = found
    assert torch.equal(logits, other_logits)
    for one, other in zip(gradients, other_gradients, strict=True):
        assert one.abs().max() > 0 and torch.allclose(one, other, atol=1e-7)
    assert other_size < size / 2


def test_a_checkpointed_model_shows_its_attention_answers_and_saves_as_before(tmp_path):
    plain = model().eval()
    checkpointed = acceleration.checkpoint_activations(copy.deepcopy(plain))
    images = torch.randn(2, 3, 32, 32)
    for one, other in zip(plain(images, return_attention=True), checkpointed(images, return_attention=True)):
        assert torch.equal(one, other)
    with torch.inference_mode():
        assert torch.equal(plain(images), checkpointed(images))
    utils.save_checkpoint(checkpointed, tmp_path / "model.pth", ["a", "b", "c"])
    loaded, _ = utils.load_model(tmp_path / "model.pth")
    assert torch.equal(loaded(images), plain(images))
    assert torch.equal(copy.deepcopy(checkpointed)(images), plain(images))


# torch.compile


@pytest.mark.parametrize("when", ["at once", "at the first batch"])
def test_where_compiling_fails_the_reason_is_said_and_training_goes_on(monkeypatch, capsys, when):
    def failing(model):
        if when == "at once":
            raise RuntimeError("Dynamo is not supported on this Python\nand more lines")
        compiled = nn.Sequential(model)
        compiled.register_forward_pre_hook(lambda *_: (_ for _ in ()).throw(OSError("\nno C++ compiler found")))
        return compiled

    monkeypatch.setattr(torch, "compile", failing)
    vit, state = model(), torch.get_rng_state()
    assert acceleration.compile_or_say_why(vit, (2, 3, 32, 32), "cpu") is vit
    reason = "RuntimeError: Dynamo is not supported" if when == "at once" else "OSError: no C\\+\\+ compiler found"
    assert re.fullmatch(f"torch.compile is left out, .*{reason}.*\n", capsys.readouterr().out)
    assert torch.equal(state, torch.get_rng_state())
    assert same(train(vit), train(model()))


def test_a_compiled_model_is_tried_before_it_is_taken(monkeypatch, capsys):
    """Compiled by a stand-in that leaves the model as it is: the real one takes a minute."""

    class Compiled(nn.Module):
        def __init__(self, module):
            super().__init__()
            self._orig_mod, self.calls = module, []

        def forward(self, images):
            self.calls.append(tuple(images.shape))
            return self._orig_mod(images)

    monkeypatch.setattr(torch, "compile", Compiled)
    vit, state = model(dropout=0.5), torch.get_rng_state()
    compiled = acceleration.compile_or_say_why(vit, (2, 3, 32, 32), "cpu", "bfloat16")
    assert compiled.calls == [(2, 3, 32, 32)] and capsys.readouterr().out == ""
    assert torch.equal(state, torch.get_rng_state()) and all(parameter.grad is None for parameter in vit.parameters())
    assert utils.unwrap(compiled) is vit
    compiled._orig_mod = model()  # without dropout: a compiled model draws its masks in its own way
    assert same(train(compiled), train(model()))

"""experiments: every switch has its effect, pieces give the gradient of the whole, validation stays apart."""

import json
import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from conftest import tiny_vit
from torch import nn

from going_modular.going_modular import experiments
from going_modular.going_modular.data_setup import FoodDataset, create_transform
from going_modular.going_modular.experiments import Pictures, Settings

TINY = Settings(model="TinyVGG", img_size=32, epochs=2, batch_size=8, seed=1)


def pictures(count=12, size=32, seed=0):
    """Random pictures whose class shows in one channel."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % 3
    images = torch.randint(0, 120, (count, 3, size, size), generator=generator)
    images[torch.arange(count), labels] += 120
    return Pictures(images.to(torch.uint8), labels)


def gradient(model):
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


# Pictures


def test_load_pictures(tiny_food):
    """The pixels that the model sees are create_transform's, but for the rounding to whole numbers."""
    loaded = experiments.load_pictures(tiny_food / "train", 32)
    assert loaded.images.shape == (12, 3, 32, 32) and loaded.images.dtype == torch.uint8
    expected = torch.stack([image for image, _ in FoodDataset(tiny_food / "train", create_transform(32))])
    assert torch.allclose(experiments.prepare(loaded.images, Settings(), "cpu"), expected, atol=1e-5)
    assert loaded.labels.tolist() == FoodDataset(tiny_food / "train").targets


def test_draw_pictures():
    drawn = experiments.draw_pictures(2, 32)
    assert drawn.images.shape == (6, 3, 32, 32) and drawn.labels.tolist() == [0, 1, 2, 0, 1, 2]
    more, test = experiments.draw_pictures(3, 32), experiments.draw_pictures(2, 32, "test")
    assert torch.equal(more[:6].images, drawn.images)
    assert not any(torch.equal(one, other) for one in test.images for other in more.images)


def test_split_is_stratified_and_complete():
    data = pictures(30)
    data = Pictures(torch.arange(30), data.labels)
    part, validation = experiments.split(data, share=0.2, seed=1)
    assert validation.labels.bincount().tolist() == [2, 2, 2]
    assert sorted([*part.images.tolist(), *validation.images.tolist()]) == list(range(30))
    assert torch.equal(experiments.split(data, seed=1)[1].images, validation.images)
    assert not torch.equal(experiments.split(data, seed=2)[1].images, validation.images)


def test_a_split_that_leaves_nothing():
    with pytest.raises(ValueError, match="leaves one side empty"):
        experiments.split(pictures(6), share=0.1)


def test_prepare():
    images = pictures().images
    signed = experiments.prepare(images, Settings(), "cpu")
    assert signed.min() >= -1 and signed.max() <= 1 and signed.min() < -0.9
    unsigned = experiments.prepare(images, Settings(pixels="0 to 1"), "cpu")
    assert torch.allclose(unsigned, images / 255, atol=1e-6)
    augmented = experiments.prepare(images, Settings(), "cpu", torch.Generator().manual_seed(1))
    assert augmented.shape == signed.shape and not torch.allclose(augmented, signed)
    features = torch.randn(4, 7)
    assert experiments.prepare(features, Settings(), "cpu") is features


# Settings and models


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decay": "exponential"}, "'exponential'.*'cosine'"),
        ({"precision": "float8"}, "float8.*bfloat16"),
        ({"initialisation": "mine"}, "'mine'.*'ours'"),
        ({"pixels": "0 to 255"}, "'0 to 1'"),
        ({"warmup": 10}, "share"),
        ({"epochs": 0}, "at least 1"),
    ],
)
def test_settings_that_are_not_allowed(change, message):
    with pytest.raises(ValueError, match=message):
        Settings(**change)


def test_an_unknown_model():
    with pytest.raises(ValueError, match="'ResNet'.*TinyVGG.*ViT-Ti/16"):
        experiments.build_model(Settings(model="ResNet"), 3)


def test_initialisation():
    ours = experiments.build_model(Settings(img_size=32), 3)
    pytorch = experiments.build_model(Settings(img_size=32, initialisation="pytorch"), 3)
    assert ours.position_embedding.std() < 0.05 and not ours.classifier[1].weight.any()
    assert pytorch.position_embedding.std() > 0.5 and pytorch.class_embedding.any()
    assert pytorch.classifier[1].weight.any() and pytorch.patch_embedding.patcher.bias.any()
    assert pytorch.transformer_encoder[0].mlp_block.mlp[0].bias.abs().max() > 1e-3


def test_dropout_reaches_the_model():
    rates = {m.p for m in experiments.build_model(Settings(img_size=32, dropout=0.3), 3).modules() if hasattr(m, "p")}
    assert rates == {0.3}


# Gradients


@pytest.mark.parametrize("size", [4, 15, 31, 32, 100, None])
def test_pieces_give_the_gradient_of_the_whole(size):
    torch.manual_seed(0)
    model = tiny_vit(mlp_dropout=0.0, embedding_dropout=0.0)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.2)
    images, labels = torch.randn(32, 3, 32, 32), torch.arange(32) % 3
    F.cross_entropy(model(images), labels).backward()
    whole = gradient(model)
    model.zero_grad()
    loss, correct = experiments.accumulate_gradient(model, images, labels, size)
    assert whole.abs().max() > 0.01 and (gradient(model) - whole).abs().max() <= 1e-6
    logits = model(images)
    assert loss == pytest.approx(F.cross_entropy(logits, labels).item(), abs=1e-5)
    assert correct == (logits.argmax(dim=1) == labels).sum().item()


def test_a_training_in_pieces_is_the_training_of_whole_batches():
    data = pictures(13)
    whole, pieces = (experiments.build_model(TINY, 3) for _ in range(2))
    pieces.load_state_dict(whole.state_dict())
    experiments.fit(whole, data, replace(TINY, batch_size=6))
    experiments.fit(pieces, data, replace(TINY, batch_size=6, micro_batch=4))
    for one, other in zip(whole.parameters(), pieces.parameters()):
        assert torch.allclose(one, other, atol=1e-4)


# Training


@pytest.mark.parametrize(
    "change",
    [
        {"learning_rate": 1e-2},
        {"warmup": 0.5},
        {"decay": "linear"},
        {"decay": "cosine"},
        {"weight_decay": 3.0},
        {"clip_norm": 1e-9},
        {"batch_size": 4},
        {"augmented": True},
        {"pixels": "0 to 1"},
        {"precision": "bfloat16"},
        {"precision": "float16"},
        {"seed": 2},
    ],
)
def test_every_switch_changes_the_training(change):
    """From the same weights: a setting that is accepted and ignored would end at the same ones."""
    torch.manual_seed(0)
    start, data = experiments.build_model(TINY, 3), pictures()
    ends = []
    for settings in (TINY, replace(TINY, **change)):
        model = experiments.build_model(TINY, 3)
        model.load_state_dict(start.state_dict())
        experiments.fit(model, data, settings)
        ends.append(torch.cat([parameter.detach().flatten() for parameter in model.parameters()]))
    assert not torch.allclose(ends[0], ends[1], rtol=0, atol=1e-6)


def test_run_returns_plain_numbers():
    result = experiments.run(TINY, pictures(), pictures(9, seed=1))
    assert json.loads(json.dumps(result)) == result
    assert result["images"] == 12 and result["held_out"] == 9 and result["updates"] == 4
    assert sum(result["answers"]) == 9 and not result["diverged"]
    again = experiments.run(TINY, pictures(), pictures(9, seed=1))
    assert {**again, "seconds": 0} == {**result, "seconds": 0}


def test_it_learns_and_a_given_model_is_the_one_that_does():
    model = experiments.build_model(TINY, 3)
    settings = replace(TINY, epochs=25, learning_rate=3e-3)
    result = experiments.run(settings, pictures(30), pictures(30, seed=1), model=model)
    assert result["accuracy"] > 0.9 and result["train_loss"] < 0.5
    loss, accuracy, answers = experiments.score(model, pictures(30, seed=1), settings)
    assert accuracy == pytest.approx(result["accuracy"], abs=1e-4) and loss == pytest.approx(result["loss"], abs=1e-4)


def test_a_loss_of_infinity_ends_the_training():
    model, data = nn.Linear(4, 3), Pictures(torch.full((6, 4), math.inf), torch.arange(6) % 3)
    before = model.weight.detach().clone()
    result = experiments.run(replace(TINY, epochs=2), data, Pictures(torch.zeros(6, 4), data.labels), model=model)
    assert result["diverged"] and torch.equal(model.weight, before)

"""recipes: Table 3, the parameters that decay, and the learning rate of every single update."""

import math

import pytest
import torch
from torch import nn

from going_modular.going_modular.recipes import (
    SCHEDULES,
    TABLE_3,
    build_optimizer,
    build_schedule,
    parameter_groups,
)
from going_modular.going_modular.vit import ViT

PEAK = 3e-3


def small_vit():
    return ViT(img_size=32, num_transformer_layers=2, embedding_dim=24, mlp_size=48, num_heads=2, num_classes=3)


def rates(total, warmup, decay):
    """The learning rate that each update took."""
    weight = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=PEAK)
    schedule = build_schedule(optimizer, total, warmup, decay)
    taken = []
    for _ in range(total):
        taken.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return taken


@pytest.mark.parametrize("decay", ["linear", "cosine"])
@pytest.mark.parametrize(("warmup", "total"), [(0, 10), (1, 10), (4, 10), (10, 10), (0, 1), (1, 1), (3, 1000)])
def test_every_update_has_a_sound_rate(warmup, total, decay):
    taken = rates(total, warmup, decay)
    assert all(0 < rate <= PEAK for rate in taken)
    peak = max(warmup, 1) - 1
    assert [place for place, rate in enumerate(taken) if math.isclose(rate, PEAK)] == [peak]
    rising, falling = taken[: peak + 1], taken[peak:]
    assert rising == sorted(rising) and falling == sorted(falling, reverse=True)
    steps = [after - before for before, after in zip(rising, rising[1:])]
    assert all(math.isclose(step, PEAK / max(warmup, 1), rel_tol=1e-9) for step in steps), "warmup is linear"


def test_the_shapes_of_decay():
    linear, cosine = rates(100, 10, "linear"), rates(100, 10, "cosine")
    assert rates(5, 0, "constant") == [PEAK] * 5
    middle = 9 + 91 // 2
    assert linear[middle] == pytest.approx(PEAK / 2, rel=0.03) and cosine[middle] == pytest.approx(PEAK / 2, rel=0.03)
    assert cosine[20] > linear[20] and cosine[-1] < linear[-1]


@pytest.mark.filterwarnings("error")
def test_a_run_to_the_end_warns_of_nothing():
    rates(10, 4, "cosine")


@pytest.mark.parametrize("arguments", [(10, 20, "linear"), (10, -1, "cosine"), (0, 0, "linear")])
def test_a_warmup_that_does_not_fit(arguments):
    with pytest.raises(ValueError, match=f"{arguments[1]} steps.*{arguments[0]}"):
        rates(*arguments)


def test_an_unknown_decay():
    with pytest.raises(ValueError, match="'exponential'.*cosine"):
        rates(10, 0, "exponential")


def test_what_decays():
    vit = small_vit()
    decayed, kept = parameter_groups(vit, 0.3)
    names = {id(parameter): name for name, parameter in vit.named_parameters()}
    decayed, kept = ({names[id(parameter)] for parameter in group["params"]} for group in (decayed, kept))
    assert decayed | kept == set(names.values()) and not decayed & kept
    assert {"class_embedding", "position_embedding"} <= kept
    assert all(name.endswith("weight") and "layer_norm" not in name for name in decayed)
    assert {name for name in names.values() if name.endswith(("in_proj_weight", "out_proj.weight"))} <= decayed
    assert all(name in kept for name in names.values() if name.endswith("bias"))


def test_the_decay_is_decoupled():
    """With no gradient, a decayed weight shrinks by lr * decay a step, and all else stays."""
    vit = small_vit()
    before = {name: parameter.detach().clone() for name, parameter in vit.named_parameters()}
    optimizer = build_optimizer(vit, learning_rate=3e-3, weight_decay=0.3)
    for parameter in vit.parameters():
        parameter.grad = torch.zeros_like(parameter)
    for _ in range(100):
        optimizer.step()
    weight = vit.transformer_encoder[0].mlp_block.mlp[0].weight
    expected = before["transformer_encoder.0.mlp_block.mlp.0.weight"] * (1 - 3e-3 * 0.3) ** 100
    assert torch.allclose(weight, expected, atol=1e-6)
    assert torch.equal(vit.position_embedding, before["position_embedding"])


def test_a_frozen_parameter_is_left_out():
    vit = small_vit()
    vit.requires_grad_(False)
    with pytest.raises(ValueError, match="frozen"):
        build_optimizer(vit, 1e-3, 0.1)
    vit.classifier[1].requires_grad_(True)
    optimizer = build_optimizer(vit, 1e-3, 0.1)
    assert sum(parameter.numel() for group in optimizer.param_groups for parameter in group["params"]) == 24 * 3 + 3


def test_table_3():
    """The rows as the paper prints them, and what holds for all of them."""
    assert len(TABLE_3) == 7 and {recipe.data for recipe in TABLE_3} == {"JFT-300M", "ImageNet-21k", "ImageNet-1k"}
    assert all(recipe.decay in SCHEDULES and recipe.batch_size == 4096 for recipe in TABLE_3)
    (imagenet,) = (recipe for recipe in TABLE_3 if recipe.data == "ImageNet-1k")
    assert (imagenet.learning_rate, imagenet.weight_decay, imagenet.dropout, imagenet.decay) == (
        3e-3,
        0.3,
        0.1,
        "cosine",
    )
    assert all((recipe.dropout == 0) == (recipe.data == "JFT-300M") for recipe in TABLE_3)

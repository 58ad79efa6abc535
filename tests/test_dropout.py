"""quick_dropout: the chances, the scale and the gradients of nn.Dropout, and layers that are themselves again after."""

import copy

import pytest
import torch
from conftest import tiny_vit
from torch import nn

from going_modular.going_modular import updates
from going_modular.going_modular.dropout import LEVELS, drop, quick_dropout, random_16_bits

NUMBERS = 400_000


def dropped(p: float, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """Ones behind quick dropout."""
    torch.manual_seed(seed)
    layer = nn.Dropout(p)
    with quick_dropout(layer):
        return layer(torch.ones(4, NUMBERS // 4, dtype=dtype))


@pytest.mark.parametrize("p", [0.01, 0.1, 0.5, 0.9])
def test_a_share_of_p_is_zero_and_the_rest_is_scaled_up(p):
    answer = dropped(p)
    kept = answer != 0
    spread = (p * (1 - p) / NUMBERS) ** 0.5
    assert abs((~kept).float().mean() - p) < 5 * spread + 1 / LEVELS
    assert torch.allclose(answer[kept], torch.tensor(1 / (1 - p)), rtol=1 / LEVELS / (1 - p) + 1e-6)
    assert abs(answer.mean() - 1) < 5 * spread / (1 - p)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_the_type_stays(dtype):
    answer = dropped(0.5, dtype)
    assert answer.dtype == dtype
    assert set(answer.unique().tolist()) == {0, 2}


def test_numbers_and_their_neighbours_are_dropped_independently():
    """Four of them share one 64-bit random number: no lag up to eight may show it."""
    zeros = (dropped(0.5) == 0).flatten().double()
    for lag in range(1, 9):
        both = (zeros[:-lag] * zeros[lag:]).mean()
        assert abs(both - 0.25) < 5 * (0.25 * 0.75 / NUMBERS) ** 0.5


def test_all_16_bits_are_used():
    bits = random_16_bits(torch.Size([64 * LEVELS]))
    counts = (bits.long() + LEVELS // 2).bincount(minlength=LEVELS).double()  # of each number, 64 on the average
    assert len(counts) == LEVELS and counts.min() > 0
    chi_squared = ((counts - 64) ** 2 / 64).sum().item()
    assert abs(chi_squared - LEVELS) < 6 * (2 * LEVELS) ** 0.5


def test_the_gradient_goes_through_what_was_kept():
    x = torch.randn(50, 30, requires_grad=True)
    layer = nn.Dropout(0.3)
    with quick_dropout(layer):
        answer = layer(x)
    answer.sum().backward()
    assert (answer != 0).any() and (answer == 0).any()
    assert torch.allclose(x.grad * x, answer)


def test_a_seed_gives_one_mask_and_the_next_call_another():
    layer, ones = nn.Dropout(0.5), torch.ones(1000)
    with quick_dropout(layer):
        torch.manual_seed(3)
        first, second = layer(ones), layer(ones)
        torch.manual_seed(3)
        assert torch.equal(layer(ones), first) and not torch.equal(second, first)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (5, 7), (2, 3, 5)])
def test_any_shape_comes_back(shape):
    assert drop(nn.Dropout(0.5), torch.ones(shape)).shape == shape


@pytest.mark.parametrize(("p", "expected"), [(0.0, 1.0), (1.0, 0.0), (1e-9, 1.0)])
def test_the_ends_are_pytorchs(p, expected):
    assert torch.equal(drop(nn.Dropout(p), torch.ones(100)), torch.full((100,), expected))


class Own(nn.Dropout):
    pass


def inplace() -> nn.Dropout:
    return nn.Dropout(0.5, inplace=True)


def with_own_forward() -> nn.Dropout:
    layer = nn.Dropout(0.5)
    layer.forward = lambda x: nn.functional.dropout(x, 0.5)
    return layer


@pytest.mark.parametrize("make", [Own, inplace, with_own_forward, lambda: nn.Dropout(0.5).eval()])
def test_other_layers_do_what_they_did(make):
    layer, x = make(), torch.ones(1000)
    torch.manual_seed(1)
    expected = layer(x.clone())
    torch.manual_seed(1)
    with quick_dropout(layer):
        assert torch.equal(layer(x.clone()), expected)


def test_a_compiled_model_is_left_alone():
    model = torch.compile(nn.Sequential(nn.Dropout(0.5)), backend="eager")
    with quick_dropout(model):
        assert all("forward" not in vars(part) for part in model.modules() if isinstance(part, nn.Dropout))
    model = nn.Sequential(nn.Dropout(0.5))
    model.compile(backend="eager")
    with quick_dropout(model):
        assert "forward" not in vars(model[0])


@pytest.mark.parametrize("fails", [False, True])
def test_the_layers_are_themselves_again_afterwards(fails):
    model = tiny_vit(mlp_dropout=0.5, embedding_dropout=0.5).train()
    before = [dict(vars(part)) for part in model.modules()]
    try:
        with quick_dropout(model):
            assert "forward" in vars(model.embedding_dropout)
            copy.deepcopy(model)(torch.zeros(1, 3, 32, 32))
            if fails:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert [dict(vars(part)) for part in model.modules()] == before


def test_training_goes_through_it_and_testing_does_not(monkeypatch):
    model, asked = tiny_vit(mlp_dropout=0.5, embedding_dropout=0.5), []

    def counted(layer, x):
        asked.append(layer)
        return drop(layer, x)

    monkeypatch.setattr("going_modular.going_modular.dropout.drop", counted)
    window = updates.cut(torch.zeros(2, 3, 32, 32), torch.tensor([0, 1]))
    updates.run_window(model.train(), window, nn.functional.cross_entropy, "cpu", backward=torch.Tensor.backward)
    layers = [part for part in model.modules() if isinstance(part, nn.Dropout)]
    assert set(asked) == set(layers)
    asked.clear()
    with torch.no_grad():
        updates.run_window(model.eval(), window, nn.functional.cross_entropy, "cpu")
    assert not asked

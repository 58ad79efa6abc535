"""checks, notebook 07: what is right passes, and each wrong version gets its own verdict."""

import pytest
import torch
from check_tools import expect, wrong_versions
from torch import nn

from going_modular.going_modular.vit import TransformerEncoderBlock


def right(z, msa, mlp):
    z_prime = z + msa(z)
    return z_prime + mlp(z_prime)


def in_place(z, msa, mlp):
    z += msa(z)
    return z + mlp(z)


def in_place_later(z, msa, mlp):
    z_prime = z + msa(z)
    z_prime += mlp(z_prime)
    return z_prime


def norms(first, second):
    """The block with a LayerNorm of its own before one of the halves or both."""

    def attempt(z, msa, mlp):
        norm = nn.LayerNorm(z.shape[-1])
        z = z + msa(norm(z) if first else z)
        return z + mlp(norm(z) if second else z)

    return attempt


def cut(z, msa, mlp):
    with torch.no_grad():
        return right(z, msa, mlp)


BLOCK = wrong_versions(
    "encoder_block",
    ("no_residuals", lambda z, msa, mlp: mlp(msa(z))),
    ("first_residual_missing", lambda z, msa, mlp: mlp(msa(z)) + msa(z)),
    ("second_residual_missing", lambda z, msa, mlp: mlp(msa(z) + z)),
    ("z_in_place_of_z_prime", lambda z, msa, mlp: z + mlp(z + msa(z))),
    ("mlp_sees_z", lambda z, msa, mlp: z + msa(z) + mlp(z)),
    ("one_residual_around_both", lambda z, msa, mlp: z + mlp(msa(z))),
    ("mlp_first", lambda z, msa, mlp: right(z, mlp, msa)),
    ("both_added", lambda z, msa, mlp: right(z, msa, mlp) + z),
    ("attention_alone", lambda z, msa, mlp: z + msa(z)),
    ("scaled", lambda z, msa, mlp: 2 * right(z, msa, mlp)),
    ("in_place", in_place),
    ("in_place", in_place_later),
    ("layer_norm_twice", norms(True, True)),
    ("layer_norm_twice", norms(True, False)),
    ("layer_norm_twice", norms(False, True)),
    ("detached", cut),
)


def parallel(function):
    forward = lambda self, z: function(z, self.msa_block, self.mlp_block)  # noqa: E731
    return type("Attempt", (TransformerEncoderBlock,), {"forward": forward})


class NotABlock(nn.Module):
    def __init__(self, embedding_dim, num_heads, mlp_size, mlp_dropout, attn_dropout):
        super().__init__()


PARALLEL = wrong_versions(
    "parallel_block",
    ("sequential", TransformerEncoderBlock),
    ("no_residual", parallel(lambda z, msa, mlp: msa(z) + mlp(z))),
    ("two_residuals", parallel(lambda z, msa, mlp: (msa(z) + z) + (mlp(z) + z))),
    ("halved", parallel(lambda z, msa, mlp: torch.stack([msa(z), mlp(z)]).mean(0) + z)),
    ("attention_alone", parallel(lambda z, msa, mlp: msa(z) + z)),
    ("mlp_alone", parallel(lambda z, msa, mlp: mlp(z) + z)),
    ("mlp_after_attention", parallel(lambda z, msa, mlp: (a := msa(z)) + mlp(a) + z)),
    ("norm_left_out", parallel(lambda z, msa, mlp: msa.multihead_attn(z) + mlp.mlp(z) + z)),
    ("mlp_without_norm", parallel(lambda z, msa, mlp: msa(z) + mlp.mlp(z) + z)),
    ("layer_norm_twice", parallel(lambda z, msa, mlp: msa(n := nn.LayerNorm(z.shape[-1])(z)) + mlp(n) + z)),
    ("attention_without_norm", parallel(lambda z, msa, mlp: msa.multihead_attn(z) + mlp(z) + z)),
    ("one_norm_for_both", parallel(lambda z, msa, mlp: msa(z) + mlp.mlp(msa.layer_norm(z)) + z)),
    ("shape", parallel(lambda z, msa, mlp: torch.cat((msa(z), mlp(z)), dim=-1) + torch.cat((z, z), dim=-1))),
    ("other_base", NotABlock),
)


def encoder(dim, heads, size, depth, fresh=True, norm=None, **changes):
    settings = {"dropout": 0.0, "activation": "gelu", "layer_norm_eps": 1e-6, "batch_first": True, "norm_first": True}

    def layer():
        return nn.TransformerEncoderLayer(dim, heads, **{"dim_feedforward": size, **settings, **changes})

    built = nn.TransformerEncoder(layer(), depth, enable_nested_tensor=False, norm=norm)
    if fresh:
        built.layers = nn.ModuleList(layer() for _ in range(depth))
    return built


def one_layer(dim, heads, size, depth):
    built = encoder(dim, heads, size, depth)
    built.layers = nn.ModuleList([built.layers[0]] * depth)
    return built


def settings(**changes):
    return lambda dim, heads, size, depth: encoder(dim, heads, size, depth, **changes)


ENCODER = wrong_versions(
    "encoder_from_pytorch",
    ("norm_after", settings(norm_first=False)),
    ("relu", settings(activation="relu")),
    ("eps", settings(layer_norm_eps=1e-5)),
    ("batch_not_first", settings(batch_first=False)),
    ("all_defaults", settings(norm_first=False, activation="relu", layer_norm_eps=1e-5)),
    ("dropout_left_on", settings(dropout=0.1)),
    ("mlp_size_ignored", settings(dim_feedforward=2048)),
    ("layers_are_copies", settings(fresh=False)),
    ("one_layer_shared", one_layer),
    ("no_biases", settings(bias=False)),
    ("depth_ignored", lambda dim, heads, size, depth: encoder(dim, heads, size, 12)),
    ("heads_ignored", lambda dim, heads, size, depth: encoder(dim, 1, size, depth)),
    ("final_norm", lambda dim, heads, size, depth: encoder(dim, heads, size, depth, norm=nn.LayerNorm(dim))),
    ("other_type", lambda dim, heads, size, depth: nn.Sequential(*encoder(dim, heads, size, depth).layers)),
    ("signature", lambda: None),
)

NUMBER = wrong_versions(
    "growth_exponent",
    ("variance", 1.0),
    ("not_divided", 0.73),
    ("not_divided", 0.7),
    ("other_blocks", 0.4),
    ("other_blocks", 0.6),
    ("other_blocks", 0.558),
    ("ratio", 2.14),
    ("upside_down", -0.5),
    ("constant", 0.0),
    ("depths", 4),
    ("other_number", 12),
    ("no_number", "a half"),
)


@pytest.mark.parametrize("exercise, name, attempt", [*BLOCK, *PARALLEL, *ENCODER, *NUMBER])
def test_wrong_versions(exercise, name, attempt):
    expect(exercise, name, attempt)


@pytest.mark.parametrize(
    "exercise, attempt",
    [
        ("encoder_block", right),
        ("parallel_block", parallel(lambda z, msa, mlp: z + mlp(z) + msa(z))),
        ("encoder_from_pytorch", encoder),
        ("growth_exponent", 0.5),
        ("growth_exponent", 0.5278),
        ("growth_exponent", torch.tensor(0.55)),
    ],
)
def test_right_versions(exercise, attempt):
    assert expect(exercise, "passed", attempt).passed

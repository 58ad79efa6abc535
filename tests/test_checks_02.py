"""checks, notebook 02: what is right passes, and each wrong version gets its own verdict."""

import pytest
import torch
from check_tools import expect, wrong_versions
from torch import nn

from going_modular.going_modular.checks.notebook_02 import parts_of
from going_modular.going_modular.vit import VARIANTS, ViT


def tokens(formula, refuse=lambda h, w, p: h % p or w % p, error=ValueError):
    def count_tokens(height, width, patch_size):
        if refuse(height, width, patch_size):
            raise error("the sides must be multiples of the patch")
        return formula(height, width, patch_size)

    return count_tokens


def right(h, w, p):
    return (h // p) * (w // p) + 1


TOKENS = wrong_versions(
    "count_tokens",
    ("no_class_token", tokens(lambda h, w, p: h * w // p**2)),
    ("square_assumed", tokens(lambda h, w, p: (h // p) ** 2 + 1)),
    ("square_of_width", tokens(lambda h, w, p: (w // p) ** 2 + 1)),
    ("patch_not_squared", tokens(lambda h, w, p: h * w // p + 1)),
    ("sum", tokens(lambda h, w, p: h // p + w // p + 1)),
    ("not_an_int", tokens(lambda h, w, p: h * w / p**2 + 1)),
    ("pixels", tokens(lambda h, w, p: h * w + 1)),
    ("numbers_in_a_patch", tokens(lambda h, w, p: p * p * 3)),
    ("remainder_accepted", tokens(right, refuse=lambda h, w, p: False)),
    ("one_side_checked", tokens(right, refuse=lambda h, w, p: h % p)),
    ("remainder_accepted", tokens(right, refuse=lambda h, w, p: h * w % p)),
    ("other_error", tokens(right, error=KeyError)),
    ("other_number", tokens(lambda h, w, p: 42)),
    ("not_attempted", lambda height, width, patch_size: ...),
)


def linear(a, b, bias=1):
    return a * b + bias * b


def parameters(
    token=1, position=1, norms=2, last_norm=1, norm_size=2, bias=1, qkv=3, output=1, head=1, mlps=2, channels=3, depth=None,
    e_bias=None, heads=1,
):  # fmt: skip
    def count(patch_size, layers, dim, mlp_size, num_classes):
        n = (224 // patch_size) ** 2
        e = (
            linear(channels * patch_size**2, dim, bias if e_bias is None else e_bias)
            + token * dim
            + (n + position) * dim
        )
        msa = heads * (linear(dim, qkv * dim, bias) + output * linear(dim, dim, bias))
        mlp = linear(dim, mlp_size, bias) + (linear(mlp_size, dim, bias) if mlps == 2 else 0)
        block = msa + mlp + norms * norm_size * dim
        return e + (depth or layers) * block + last_norm * norm_size * dim + head * linear(dim, num_classes, bias)

    return count


PARAMETERS = wrong_versions(
    "count_parameters",
    ("no_position_for_token", parameters(token=0)),
    ("no_position_for_token", parameters(position=0)),
    ("no_position_for_token", parameters(e_bias=0)),
    ("one_block", parameters(depth=1)),
    ("no_all_biases", parameters(bias=0)),
    ("no_all_layer_norms", parameters(norms=0, last_norm=0)),
    ("one_norm_a_block", parameters(norms=1)),
    ("norms_halved", parameters(norm_size=1)),
    ("part_missing", parameters(last_norm=0)),
    ("no_output_projection", parameters(output=0)),
    ("no_head", parameters(head=0)),
    ("one_channel", parameters(channels=1)),
    ("one_of_qkv", parameters(qkv=1)),
    ("half_of_mlp", parameters(mlps=1)),
    ("other_number", parameters(heads=7)),
    ("no_number", lambda *sizes: str(parameters()(*sizes))),
    ("signature", lambda name: 0),
)


HEAD = wrong_versions(
    "equation_4",
    ("first_image", lambda z, norm, head: head(norm(z[0]))),
    ("all_tokens", lambda z, norm, head: head(norm(z))),
    ("mean_of_tokens", lambda z, norm, head: head(norm(z.mean(dim=1)))),
    ("mean_after_norm", lambda z, norm, head: head(norm(z).mean(dim=1))),
    ("last_token", lambda z, norm, head: head(norm(z[:, -1]))),
    ("first_patch", lambda z, norm, head: head(norm(z[:, 1]))),
    ("no_layer_norm", lambda z, norm, head: head(z[:, 0])),
    ("no_head", lambda z, norm, head: norm(z[:, 0])),
    ("softmax", lambda z, norm, head: torch.softmax(head(norm(z[:, 0])), dim=-1)),
    ("token_kept", lambda z, norm, head: head(norm(z[:, :1]))),
    ("order", lambda z, norm, head: nn.LayerNorm(head.out_features, eps=1e-6)(head(z[:, 0]))),
    ("error", lambda z, norm, head: norm(head(z[:, 0]))),
    ("detached", lambda z, norm, head: head(norm(z[:, 0])).detach()),
)

NUMBER = wrong_versions(
    "more_in_b32",
    ("e_alone", 1_769_472),
    ("positions_alone", 112_896),
    ("negative_positions", -112_896),
    ("upside_down", -1_656_576),
    ("added", 1_882_368),
    ("total", 88_224_232),
    ("total_16", 86_567_656),
    ("one_channel", 476_928),
    ("large", 2_208_768),
    ("other_number", 0),
    ("no_number", True),
)


@pytest.mark.parametrize("exercise, name, attempt", [*TOKENS, *PARAMETERS, *HEAD, *NUMBER])
def test_wrong_versions(exercise, name, attempt):
    expect(exercise, name, attempt)


def test_a_missing_part_is_named():
    verdict = expect("count_parameters", "part_missing", parameters(last_norm=0))
    assert "the last LayerNorm" in verdict.text


@pytest.mark.parametrize(
    "exercise, attempt",
    [
        ("count_tokens", tokens(right)),
        ("count_parameters", parameters()),
        ("equation_4", lambda z, norm, head: head(norm(z)[:, 0])),
        ("more_in_b32", 1_656_576),
    ],
)
def test_right_versions(exercise, attempt):
    assert expect(exercise, "passed", attempt).passed


@pytest.mark.parametrize("name", ["ViT-Ti/16", "ViT-S/16", "ViT-B/32", "ViT-L/16"])
def test_the_parts_add_up_to_the_model(name):
    sizes = VARIANTS[name]
    with torch.device("meta"):
        vit = ViT.from_variant(name, num_classes=3)
    layers, mlp_size = sizes["num_transformer_layers"], sizes["mlp_size"]
    parts = parts_of(sizes["patch_size"], layers, sizes["embedding_dim"], mlp_size, 3)
    assert sum(parts.values()) == sum(parameter.numel() for parameter in vit.parameters())

"""checks, notebook 08: what is right passes, and each wrong version gets its own verdict."""

import pytest
import torch
from check_tools import expect, wrong_versions
from torch import nn

from going_modular.going_modular.vit import ViT


def z_0(vit, images):
    token = vit.class_embedding.repeat(len(images), 1, 1)
    return torch.cat((token, vit.patch_embedding(images)), dim=1) + vit.position_embedding


def z_L(vit, images):
    return vit.transformer_encoder(z_0(vit, images))


def right(vit, images):
    return vit.classifier(z_L(vit, images)[:, 0])


def token_last(vit, images):
    token = vit.class_embedding.expand(len(images), -1, -1)
    z = torch.cat((vit.patch_embedding(images), token), dim=1) + vit.position_embedding
    return vit.classifier(vit.transformer_encoder(z)[:, 0])


def no_positions(vit, images):
    token = vit.class_embedding.expand(len(images), -1, -1)
    return vit.classifier(vit.transformer_encoder(torch.cat((token, vit.patch_embedding(images)), dim=1))[:, 0])


def not_expanded(vit, images):
    z = torch.cat((vit.class_embedding, vit.patch_embedding(images)), dim=1) + vit.position_embedding
    return vit.classifier(vit.transformer_encoder(z)[:, 0])


def patches_alone(vit, images):
    z = vit.transformer_encoder(vit.patch_embedding(images) + vit.position_embedding[:, 1:])
    return vit.classifier(z[:, 0])


def token_without_position(vit, images):
    token = vit.class_embedding.expand(len(images), -1, -1)
    z = torch.cat((token, vit.patch_embedding(images) + vit.position_embedding[:, 1:]), dim=1)
    return vit.classifier(vit.transformer_encoder(z)[:, 0])


def positions_later(vit, images):
    token = vit.class_embedding.expand(len(images), -1, -1)
    z = vit.transformer_encoder(torch.cat((token, vit.patch_embedding(images)), dim=1)) + vit.position_embedding
    return vit.classifier(z[:, 0])


def own_norm(vit, images):
    z = z_L(vit, images)
    return vit.classifier(nn.LayerNorm(z.shape[-1])(z)[:, 0])


FORWARD = wrong_versions(
    "vit_forward",
    ("first_image", lambda vit, x: vit.classifier(z_L(vit, x)[0])),
    ("all_tokens", lambda vit, x: vit.classifier(z_L(vit, x))),
    ("mean_of_tokens", lambda vit, x: vit.classifier(z_L(vit, x).mean(dim=1))),
    ("last_token", lambda vit, x: vit.classifier(z_L(vit, x)[:, -1])),
    ("first_patch", lambda vit, x: vit.classifier(z_L(vit, x)[:, 1])),
    ("no_positions", no_positions),
    ("token_at_the_end", token_last),
    ("no_encoder", lambda vit, x: vit.classifier(z_0(vit, x)[:, 0])),
    ("first_block_alone", lambda vit, x: vit.classifier(vit.transformer_encoder[0](z_0(vit, x))[:, 0])),
    ("no_layer_norm", lambda vit, x: vit.classifier[1](z_L(vit, x)[:, 0])),
    ("no_head", lambda vit, x: vit.classifier[0](z_L(vit, x)[:, 0])),
    ("softmax", lambda vit, x: right(vit, x).softmax(dim=1)),
    ("patches_alone", patches_alone),
    ("own_forward", lambda vit, x: vit(x)),
    ("own_embed", lambda vit, x: vit.classifier(vit.transformer_encoder(vit.embed(x))[:, 0])),
    ("token_without_position", token_without_position),
    ("positions_too_late", positions_later),
    ("mean_of_patches", lambda vit, x: vit.classifier(z_L(vit, x)[:, 1:].mean(dim=1))),
    ("layer_norm_twice", lambda vit, x: vit.classifier(vit.classifier[0](z_L(vit, x))[:, 0])),
    ("layer_norm_twice", own_norm),
    ("error", not_expanded),
    ("detached", torch.no_grad()(right)),
)


def attempt(function):
    return type("Attempt", (ViT,), {"forward": lambda self, images: function(self, images)})


class NoViT(nn.Module):
    def __init__(self, **arguments):
        super().__init__()


MEAN = wrong_versions(
    "mean_pooling_vit",
    ("unchanged", ViT),
    ("summed", attempt(lambda vit, x: vit.classifier(z_L(vit, x)[:, 1:].sum(dim=1)))),
    (
        "layer_norm_twice",
        attempt(
            lambda vit, x: vit.classifier(nn.LayerNorm(vit.config["embedding_dim"])(z_L(vit, x)[:, 1:].mean(dim=1)))
        ),
    ),
    ("token_included", attempt(lambda vit, x: vit.classifier(z_L(vit, x).mean(dim=1)))),
    ("last_left_out", attempt(lambda vit, x: vit.classifier(z_L(vit, x)[:, :-1].mean(dim=1)))),
    ("max", attempt(lambda vit, x: vit.classifier(z_L(vit, x)[:, 1:].max(dim=1).values))),
    ("norm_first", attempt(lambda vit, x: vit.classifier[1](vit.classifier[0](z_L(vit, x))[:, 1:].mean(dim=1)))),
    ("no_layer_norm", attempt(lambda vit, x: vit.classifier[1](z_L(vit, x)[:, 1:].mean(dim=1)))),
    ("mean_over_images", attempt(lambda vit, x: vit.classifier(z_L(vit, x)[:, 1:].mean(dim=0)))),
    ("no_encoder", attempt(lambda vit, x: vit.classifier(z_0(vit, x)[:, 1:].mean(dim=1)))),
    ("error", attempt(lambda vit, x: vit.classifier(z_L(vit, x)[:, 1:].mean(dim=2)))),
    ("other_base", NoViT),
)


class Right(ViT):
    def __init__(self, num_registers=4, **arguments):
        super().__init__(**arguments)
        self.register_embedding = self.registers(num_registers, self.config["embedding_dim"])

    def registers(self, number, dim):
        return nn.Parameter(torch.zeros(1, number, dim))

    def expanded(self, images):
        return self.register_embedding.expand(len(images), -1, -1)

    def joined(self, images):
        return self.transformer_encoder(torch.cat((self.embed(images), self.expanded(images)), dim=1))

    def forward(self, images):
        return self.classifier(self.joined(images)[:, 0])


def register(function=None, **methods):
    if function:
        methods["forward"] = lambda self, images: function(self, images)
    return type("Attempt", (Right,), methods)


def registers_before(vit, x):
    return vit.classifier(vit.transformer_encoder(torch.cat((vit.expanded(x), vit.embed(x)), dim=1))[:, 0])


def without_positions(vit, x):
    z = torch.cat((vit.class_embedding.expand(len(x), -1, -1), vit.patch_embedding(x), vit.expanded(x)), dim=1)
    return vit.classifier(vit.transformer_encoder(z)[:, 0])


def registers_in_the_middle(vit, x):
    z = vit.embed(x)
    return vit.classifier(vit.transformer_encoder(torch.cat((z[:, :1], vit.expanded(x), z[:, 1:]), dim=1))[:, 0])


def placed(positions):
    """Registers with positions: function(table, number of registers) -> what is added."""

    def expanded(self, x):
        registers = self.register_embedding + positions(self.position_embedding, self.register_embedding.shape[1])
        return registers.expand(len(x), -1, -1)

    return register(expanded=expanded)


def joined_in_each_block(vit, x):
    z = vit.embed(x)
    for block in vit.transformer_encoder:
        z = block(torch.cat((z, vit.expanded(x)), dim=1))[:, : z.shape[1]]
    return vit.classifier(z[:, 0])


def piled_up(vit, x):
    z = vit.embed(x)
    for block in vit.transformer_encoder:
        z = block(torch.cat((z, vit.expanded(x)), dim=1))
    return vit.classifier(z[:, 0])


class OtherName(Right):
    def __init__(self, num_registers=4, **arguments):
        super().__init__(num_registers, **arguments)
        self.register_tokens = self.register_embedding
        del self.register_embedding


class LongPositions(Right):
    def __init__(self, num_registers=4, **arguments):
        super().__init__(num_registers, **arguments)
        n, d = self.position_embedding.shape[1:]
        self.position_embedding = nn.Parameter(torch.zeros(1, n + num_registers, d))


REGISTER = wrong_versions(
    "register_vit",
    ("registers_unused", register(ViT.forward)),
    ("register_read", register(registers_before)),
    ("last_token", register(lambda vit, x: vit.classifier(vit.joined(x)[:, -1]))),
    ("mean_read", register(lambda vit, x: vit.classifier(vit.joined(x).mean(dim=1)))),
    ("registers_of_zeros", register(expanded=lambda self, x: torch.zeros_like(self.register_embedding).expand(len(x), -1, -1))),
    ("one_register", register(expanded=lambda self, x: self.register_embedding[:, :1].expand(len(x), -1, -1))),
    ("added", register(lambda vit, x: vit.classifier(vit.transformer_encoder(vit.embed(x) + vit.register_embedding.sum(1))[:, 0]))),
    ("no_positions", register(without_positions)),
    ("registers_joined_anew", register(joined_in_each_block)),
    ("registers_joined_anew", register(piled_up)),
    ("registers_with_positions", placed(lambda table, number: table[:, :1])),
    ("registers_with_positions", placed(lambda table, number: table[:, :number])),
    ("registers_with_positions", placed(lambda table, number: table[:, -number:])),
    ("names", OtherName),
    ("registers_per_image", register(registers=lambda self, r, d: nn.Parameter(torch.zeros(32, r, d)))),
    ("num_registers_ignored", register(registers=lambda self, r, d: nn.Parameter(torch.zeros(1, 8, d)))),
    ("not_a_parameter", register(registers=lambda self, r, d: torch.zeros(1, r, d))),
    ("positions_for_registers", LongPositions),
    ("detached", register(expanded=lambda self, x: self.register_embedding.detach().expand(len(x), -1, -1))),
    ("all_tokens", register(lambda vit, x: vit.classifier(vit.joined(x)))),
)  # fmt: skip

NUMBER = wrong_versions(
    "vit_small_parameters",
    ("thousand_classes", 22_050_664),
    ("default_mlp", 35_841_027),
    ("tiny", 5_524_995),
    ("base", 85_800_963),
    ("base_thousand", 86_567_656),
    ("no_head", 21_665_664),
    ("half_of_base", 42_900_481),
    ("half_of_base", 42_900_481.5),
    ("other_number", 22_000_000),
    ("unit", 21.666819),
)


@pytest.mark.parametrize("exercise, name, attempt", [*FORWARD, *MEAN, *REGISTER, *NUMBER])
def test_wrong_versions(exercise, name, attempt):
    expect(exercise, name, attempt)


@pytest.mark.parametrize(
    "exercise, attempt",
    [
        ("vit_forward", right),
        ("mean_pooling_vit", attempt(lambda vit, x: vit.classifier(z_L(vit, x)[:, 1:].mean(dim=1)))),
        ("register_vit", Right),
        ("register_vit", register(registers_in_the_middle)),
        ("vit_small_parameters", 21_666_819),
    ],
)
def test_right_versions(exercise, attempt):
    assert expect(exercise, "passed", attempt).passed


def test_of_a_register_under_another_name_only_that_name_is_listed():
    assert expect("register_vit", "names", OtherName).text.endswith("under other names you have register_tokens")

"""Checks of notebook 08: the whole model."""

import torch
import torch.nn.functional as F
from torch import nn

from going_modular.going_modular.checks.attempt import build
from going_modular.going_modular.checks.compare import (
    Mistake,
    give_noise,
    has_parameters,
    same_function,
    same_module,
    same_number,
)
from going_modular.going_modular.checks.notebook_02 import parts_of
from going_modular.going_modular.checks.verdict import Wrong, check
from going_modular.going_modular.vit import ViT

TINY = {"img_size": 8, "patch_size": 4, "num_transformer_layers": 2, "embedding_dim": 12, "mlp_size": 24}
TINY |= {"num_heads": 3, "num_classes": 5, "mlp_dropout": 0.0, "embedding_dropout": 0.0}
SMALL = {**TINY, "img_size": (8, 12), "embedding_dim": 8, "num_heads": 2, "num_classes": 3}


def quiet(vit: ViT) -> ViT:
    """A ViT with noise, whose tokens have a spread around 0.001 to the end: there, LayerNorm's eps shows."""
    give_noise(vit)
    parts = [vit.patch_embedding]
    for block in vit.transformer_encoder:
        parts += [block.msa_block.multihead_attn.out_proj, block.mlp_block.mlp[3]]
    with torch.no_grad():
        for parameter in (vit.class_embedding, vit.position_embedding, *nn.ModuleList(parts).parameters()):
            parameter.mul_(1e-3)
    return vit


# Exercise 1: vit_forward(vit, images)


def closed(name: str, what: str):
    """A method that says that the exercise is to be written without it."""

    def method(self, *arguments, **named):
        text = (
            f"you call {what}, which does the work for you: write the way with vit.patch_embedding and the other parts"
        )
        raise Wrong(name, text)

    return method


# A ViT of which only the parts can be used.
Parts = type(
    "ViT", (ViT,), {"forward": closed("own_forward", "vit(images)"), "embed": closed("own_embed", "vit.embed")}
)


def sequence(vit, images, positions=True, token_first=True):
    patches = vit.patch_embedding(images)
    token = vit.class_embedding.expand(len(images), -1, -1)
    z = torch.cat((token, patches) if token_first else (patches, token), dim=1)
    return z + vit.position_embedding if positions else z


def encoded(vit, images, **changes):
    return vit.transformer_encoder(sequence(vit, images, **changes))


def logits(vit, images):
    return vit.classifier(encoded(vit, images)[:, 0])


FORWARD_MISTAKES = (
    Mistake(
        "first_image",
        "z[0] is the first image with all its tokens: z[:, 0] is the first token of each image",
        lambda vit, images: vit.classifier(encoded(vit, images)[0]),
    ),
    Mistake(
        "all_tokens",
        "the classifier reads every token: Equation 4 takes the class token, z[:, 0]",
        lambda vit, images: vit.classifier(encoded(vit, images)),
    ),
    Mistake(
        "mean_of_tokens",
        "the classifier reads the mean of all tokens: Equation 4 takes the class token, z[:, 0]",
        lambda vit, images: vit.classifier(encoded(vit, images).mean(dim=1)),
    ),
    Mistake(
        "mean_of_patches",
        "the classifier reads the mean of the patches: Equation 4 takes the class token, z[:, 0]",
        lambda vit, images: vit.classifier(encoded(vit, images)[:, 1:].mean(dim=1)),
    ),
    Mistake(
        "last_token",
        "the classifier reads the last token: the class token is the first, z[:, 0]",
        lambda vit, images: vit.classifier(encoded(vit, images)[:, -1]),
    ),
    Mistake(
        "first_patch",
        "the classifier reads z[:, 1], the first patch: the class token is z[:, 0]",
        lambda vit, images: vit.classifier(encoded(vit, images)[:, 1]),
    ),
    Mistake(
        "no_positions",
        "the positions aren't added before the encoder",
        lambda vit, images: vit.classifier(encoded(vit, images, positions=False)[:, 0]),
    ),
    Mistake(
        "token_without_position",
        "the class token gets no position: put it in front first, then add the positions to all N + 1 tokens",
        lambda vit, images: vit.classifier(
            vit.transformer_encoder(
                sequence(vit, images) - torch.eye(vit.position_embedding.shape[1])[0, :, None] * vit.position_embedding
            )[:, 0]
        ),
    ),
    Mistake(
        "positions_too_late",
        "the positions are added behind the encoder: Equation 1 adds them before it",
        lambda vit, images: vit.classifier((encoded(vit, images, positions=False) + vit.position_embedding)[:, 0]),
    ),
    Mistake(
        "layer_norm_twice",
        "LayerNorm acts twice at the end: vit.classifier holds it already",
        lambda vit, images: vit.classifier(vit.classifier[0](encoded(vit, images)[:, 0])),
    ),
    *(
        Mistake(
            "layer_norm_twice",
            "LayerNorm acts twice at the end, which shows at tokens of small spread: vit.classifier holds it already",
            lambda vit, images, eps=eps: vit.classifier(
                F.layer_norm(encoded(vit, images)[:, 0], vit.class_embedding.shape[2:], eps=eps)
            ),
        )
        for eps in (1e-5, 1e-6)
    ),
    Mistake(
        "token_at_the_end",
        "the class token is joined at the end, so z[:, 0] is a patch: put it in front",
        lambda vit, images: vit.classifier(encoded(vit, images, token_first=False)[:, 0]),
    ),
    Mistake(
        "no_encoder",
        "the encoder is left out: z_0 goes through vit.transformer_encoder",
        lambda vit, images: vit.classifier(sequence(vit, images)[:, 0]),
    ),
    Mistake(
        "first_block_alone",
        "only the first block is run: all L of them are needed",
        lambda vit, images: vit.classifier(vit.transformer_encoder[0](sequence(vit, images))[:, 0]),
    ),
    Mistake(
        "no_layer_norm",
        "the LayerNorm of Equation 4 is left out: vit.classifier holds it and the linear head",
        lambda vit, images: vit.classifier[1](encoded(vit, images)[:, 0]),
    ),
    Mistake(
        "no_head",
        "this is y of Equation 4: the linear head is missing",
        lambda vit, images: vit.classifier[0](encoded(vit, images)[:, 0]),
    ),
    Mistake(
        "softmax",
        "softmax comes at the end: a ViT returns logits, and the loss function takes the softmax",
        lambda vit, images: logits(vit, images).softmax(dim=-1),
    ),
    Mistake(
        "patches_alone",
        "the class token is missing: the first patch is read in its place",
        lambda vit, images: vit.classifier(
            vit.transformer_encoder(vit.patch_embedding(images) + vit.position_embedding[:, 1:])[:, 0]
        ),
    ),
)


@check
def vit_forward(attempt) -> str:
    """vit_forward(vit, images): Equations 1 to 4 and the head from a ViT's parts, (B, C, H, W) -> logits (B, K)."""
    cases = [(give_noise(Parts(**TINY)).eval(), torch.randn(3, 3, 8, 8))]
    cases += [(noisy(Parts(**SMALL)).eval(), torch.randn(b, 3, 8, 12)) for noisy, b in ((give_noise, 2), (quiet, 1))]
    return same_function(attempt, logits, cases, "B K", FORWARD_MISTAKES, tolerance=1e-4)


# Exercise 2: MeanPoolingViT


def pooled(vit, images):
    return vit.classifier(encoded(vit, images)[:, 1:].mean(dim=1))


MEAN_MISTAKES = (
    Mistake(
        "summed",
        "the tokens are summed, which LayerNorm hides unless they are small: take the mean, .mean(dim=1)",
        lambda vit, images: vit.classifier(encoded(vit, images)[:, 1:].sum(dim=1)),
    ),
    Mistake(
        "layer_norm_twice",
        "LayerNorm acts twice, which shows at tokens of small spread: self.classifier holds it already",
        lambda vit, images: vit.classifier(
            F.layer_norm(encoded(vit, images)[:, 1:].mean(dim=1), vit.class_embedding.shape[2:])
        ),
    ),
    Mistake("unchanged", "this is still the class token: average the patches' tokens", logits),
    Mistake(
        "token_included",
        "the class token is in the mean: leave it out with z[:, 1:]",
        lambda vit, images: vit.classifier(encoded(vit, images).mean(dim=1)),
    ),
    Mistake(
        "last_left_out",
        "z[:, :-1] leaves out the last patch and keeps the class token: z[:, 1:] is the other way round",
        lambda vit, images: vit.classifier(encoded(vit, images)[:, :-1].mean(dim=1)),
    ),
    Mistake(
        "max",
        "this is the largest value over the tokens: take the mean",
        lambda vit, images: vit.classifier(encoded(vit, images)[:, 1:].amax(dim=1)),
    ),
    Mistake(
        "norm_first",
        "LayerNorm comes before the mean here: average first, then hand the mean to self.classifier",
        lambda vit, images: vit.classifier[1](vit.classifier[0](encoded(vit, images)[:, 1:]).mean(dim=1)),
    ),
    Mistake(
        "mean_of_logits",
        "the head answers for every token and the answers are averaged: average the tokens, then ask the head once",
        lambda vit, images: vit.classifier(encoded(vit, images)[:, 1:]).mean(dim=1),
    ),
    Mistake(
        "no_layer_norm",
        "the LayerNorm is left out: hand the mean to self.classifier",
        lambda vit, images: vit.classifier[1](encoded(vit, images)[:, 1:].mean(dim=1)),
    ),
    Mistake(
        "mean_over_images",
        "the mean runs over the images (dim=0): tokens are dimension 1",
        lambda vit, images: vit.classifier(encoded(vit, images)[:, 1:].mean(dim=0)),
    ),
    Mistake(
        "no_encoder",
        "the encoder is left out: average what it gives",
        lambda vit, images: vit.classifier(sequence(vit, images)[:, 1:].mean(dim=1)),
    ),
)


@check
def mean_pooling_vit(attempt) -> str:
    """MeanPoolingViT(ViT): the mean of the patch tokens in place of the class token."""
    for config, shape in ((TINY, (3, 3, 8, 8)), (SMALL, (2, 3, 8, 12))):
        vit = build(attempt, **config, where="ViT's arguments")
        is_a_vit(vit)
        give_noise(vit)
        for noisy in (give_noise, quiet):
            same_module(noisy(vit), pooled, [torch.randn(shape)], "B K", MEAN_MISTAKES, tolerance=1e-4)
    return "Right in two sizes, outputs and gradients."


def is_a_vit(module: nn.Module) -> None:
    parts = ("patch_embedding", "class_embedding", "position_embedding", "transformer_encoder", "classifier")
    if missing := [name for name in parts if not hasattr(module, name)]:
        raise Wrong("other_base", f"{', '.join(missing)} is missing: inherit from ViT, whose __init__ builds the parts")


# Exercise 3: RegisterViT(num_registers, ...)


def with_registers(vit, images):
    registers = vit.register_embedding.expand(len(images), -1, -1)
    return torch.cat((vit.embed(images), registers), dim=1)


def registered(vit, images):
    return vit.classifier(vit.transformer_encoder(with_registers(vit, images))[:, 0])


def joined_anew(vit, images, keep):
    """Each block gets the registers as they start, in place of those that came out of the block before, or besides."""
    z = vit.embed(images)
    length = z.shape[1]
    for block in vit.transformer_encoder:
        z = z[:, :length] if keep else z
        z = block(torch.cat((z, vit.register_embedding.expand(len(images), -1, -1)), dim=1))
    return vit.classifier(z[:, 0])


def placed(vit, images, positions):
    """The registers with positions added, which `positions` takes from the table: (table, number of registers)."""
    registers = vit.register_embedding + positions(vit.position_embedding, vit.register_embedding.shape[1])
    z = torch.cat((vit.embed(images), registers.expand(len(images), -1, -1)), dim=1)
    return vit.classifier(vit.transformer_encoder(z)[:, 0])


def registers_first(vit, images):
    registers = vit.register_embedding.expand(len(images), -1, -1)
    return vit.transformer_encoder(torch.cat((registers, vit.embed(images)), dim=1))


REGISTER_MISTAKES = (
    Mistake(
        "all_tokens",
        "the classifier reads every token: the class token is z[:, 0]",
        lambda vit, images: vit.classifier(vit.transformer_encoder(with_registers(vit, images))),
    ),
    Mistake("registers_unused", "the registers don't go into the encoder: join them to z_0 with torch.cat", logits),
    Mistake(
        "register_read",
        "the registers stand in front, so z[:, 0] is a register: put them behind the class token",
        lambda vit, images: vit.classifier(registers_first(vit, images)[:, 0]),
    ),
    Mistake(
        "last_token",
        "the classifier reads the last token, a register: the class token is z[:, 0]",
        lambda vit, images: vit.classifier(vit.transformer_encoder(with_registers(vit, images))[:, -1]),
    ),
    Mistake(
        "mean_read",
        "the classifier reads the mean of all tokens: the class token is z[:, 0]",
        lambda vit, images: vit.classifier(vit.transformer_encoder(with_registers(vit, images)).mean(dim=1)),
    ),
    Mistake(
        "added",
        "the registers' sum is added to the tokens: they are tokens of their own, joined with torch.cat",
        lambda vit, images: vit.classifier(
            vit.transformer_encoder(vit.embed(images) + vit.register_embedding.sum(dim=1, keepdim=True))[:, 0]
        ),
    ),
    *(
        Mistake(
            "registers_joined_anew",
            "the registers are joined again before each block: join them once, before the encoder, so that they carry "
            "what earlier blocks wrote",
            lambda vit, images, keep=keep: joined_anew(vit, images, keep),
        )
        for keep in (True, False)
    ),
    *(
        Mistake(
            "registers_with_positions",
            "the registers get a position: they stand for no place, so join them after the positions are added",
            lambda vit, images, positions=positions: placed(vit, images, positions),
        )
        for positions in (
            lambda table, number: table[:, :1],
            lambda table, number: table[:, -1:],
            lambda table, number: table[:, :number],
            lambda table, number: table[:, -number:],
            lambda table, number: table[:, 1 : number + 1],
        )
    ),
    Mistake(
        "registers_of_zeros",
        "zeros go in, and register_embedding isn't used: join the parameter, expanded",
        lambda vit, images: vit.classifier(
            vit.transformer_encoder(
                torch.cat((vit.embed(images), torch.zeros_like(vit.register_embedding).expand(len(images), -1, -1)), 1)
            )[:, 0]
        ),
    ),
    Mistake(
        "one_register",
        "only one register goes in: all of register_embedding",
        lambda vit, images: vit.classifier(
            vit.transformer_encoder(with_registers(vit, images)[:, : vit.position_embedding.shape[1] + 1])[:, 0]
        ),
    ),
    Mistake(
        "no_positions",
        "the positions are missing: self.embed(images) adds them",
        lambda vit, images: vit.classifier(
            vit.transformer_encoder(
                torch.cat(
                    (sequence(vit, images, positions=False), vit.register_embedding.expand(len(images), -1, -1)), 1
                )
            )[:, 0]
        ),
    ),
)


@check
def register_vit(attempt) -> str:
    """RegisterViT(num_registers, **ViT's arguments): learned tokens in any place but the first, not read."""
    for number, config, shape in ((4, TINY, (3, 3, 8, 8)), (2, SMALL, (2, 3, 8, 12))):
        vit = build(attempt, num_registers=number, **config, where=f"num_registers = {number} and ViT's arguments")
        is_a_vit(vit)
        dim = config["embedding_dim"]
        shapes = {name: tuple(p.shape) for name, p in ViT(**config).named_parameters()}
        shapes["register_embedding"] = (1, number, dim)
        has_parameters(vit, shapes, register_shapes(vit, number, dim))
        give_noise(vit)
        same_module(vit, registered, [torch.randn(shape)], "B K", REGISTER_MISTAKES, tolerance=1e-4)
    return "Right with 4 and with 2 registers, outputs and gradients."


def register_shapes(vit, number: int, dim: int) -> dict:
    """What to say about registers and positions of another shape."""
    said = {"position_embedding": ("positions_for_registers", "registers have no place in the image, so no position")}
    registers = getattr(vit, "register_embedding", None)
    if isinstance(registers, torch.Tensor):
        if registers.ndim == 3 and registers.shape[0] > 1:
            said["register_embedding"] = (
                "registers_per_image",
                "they are the same for all images: expand one parameter",
            )
        elif registers.ndim == 3 and registers.shape[1] != number and registers.shape[2] == dim:
            said["register_embedding"] = ("num_registers_ignored", "there should be num_registers of them")
    return said


# Exercise 4: a number


def count(num_classes: int = 3, dim: int = 384, mlp_size: int = 1536, patch_size: int = 16, layers: int = 12) -> int:
    """ViT-S/16's parameters at 224 pixels, or those of a ViT of other sizes."""
    return sum(parts_of(patch_size, layers, dim, mlp_size, num_classes).values())


HALF = "this is half of ViT-B/16: half the width is not half the parameters, so build it and count"


@check
def vit_small_parameters(attempt) -> str:
    """How many parameters ViT-S/16 has, with three classes at 224 pixels."""
    right = count()
    wrongs = (
        ("thousand_classes", count(1000), "this is with 1,000 classes: there are three"),
        ("default_mlp", count(mlp_size=3072), "mlp_size has stayed at ViT-Base's 3072: ViT-S has 4 D = 1536"),
        ("tiny", count(3, 192, 768), "this is ViT-Ti/16"),
        ("base", count(3, 768, 3072), "this is ViT-B/16, the default: set the sizes of ViT-S"),
        ("patch_of_32", count(patch_size=32), "this is with patches of 32: ViT-S/16 has patches of 16"),
        ("no_head", right - 3 * 384 - 3, "the linear head is missing from the count"),
        ("half_the_layers", count(layers=6), "there are six blocks: ViT-S has twelve"),
        ("at_384", right + (576 - 196) * 384, "this is at 384 pixels: the question asks for 224"),
        ("half_of_base", count(3, 768, 3072) // 2, HALF),
        ("half_of_base", count(3, 768, 3072) / 2, HALF),
        ("base_thousand", count(1000, 768, 3072), "this is ViT-B/16 with 1,000 classes: set the sizes of ViT-S"),
    )
    why = (
        "Half of ViT-Base's width at the same depth: a block's parameters grow as the square of D, so about a quarter."
    )
    return same_number(attempt, right, wrongs, why)

"""Checks of notebook 07: the encoder."""

import torch
import torch.nn.functional as F
from torch import nn

from going_modular.going_modular.checks.attempt import build, call, guarded
from going_modular.going_modular.checks.compare import (
    Mistake,
    give_noise,
    same,
    same_function,
    same_module,
    same_number,
)
from going_modular.going_modular.checks.notebook_05 import msa
from going_modular.going_modular.checks.verdict import Wrong, check
from going_modular.going_modular.vit import MLPBlock, MultiheadSelfAttentionBlock, TransformerEncoderBlock

# Exercise 1: encoder_block(z, msa, mlp)


def block_of(z, msa, mlp):
    z = msa(z) + z
    return mlp(z) + z


RESIDUAL_MISTAKES = (
    Mistake(
        "no_residuals", "both residuals are missing: add what went in, after each half", lambda z, msa, mlp: mlp(msa(z))
    ),
    Mistake(
        "first_residual_missing",
        "the residual of Equation 2 is missing: z' = MSA(LN(z)) + z",
        lambda z, msa, mlp: mlp(msa(z)) + msa(z),
    ),
    Mistake(
        "second_residual_missing",
        "the residual of Equation 3 is missing: add z' to the MLP's output",
        lambda z, msa, mlp: mlp(msa(z) + z),
    ),
    Mistake(
        "z_in_place_of_z_prime",
        "the second sum adds z, the block's input: Equation 3 adds z', what Equation 2 gave",
        lambda z, msa, mlp: mlp(msa(z) + z) + z,
    ),
    Mistake(
        "mlp_sees_z",
        "the MLP reads z, the block's input: it reads z', what Equation 2 gave",
        lambda z, msa, mlp: mlp(z) + msa(z) + z,
    ),
    Mistake(
        "one_residual_around_both",
        "one residual runs around both halves: each half has its own",
        lambda z, msa, mlp: mlp(msa(z)) + z,
    ),
    Mistake(
        "mlp_first",
        "the MLP comes first: attention is Equation 2, the MLP Equation 3",
        lambda z, msa, mlp: msa(mlp(z) + z) + mlp(z) + z,
    ),
    Mistake(
        "both_added",
        "z is added a second time at the end: z' holds it already",
        lambda z, msa, mlp: mlp(msa(z) + z) + msa(z) + z + z,
    ),
    Mistake("attention_alone", "the MLP is missing: this is z', Equation 2", lambda z, msa, mlp: msa(z) + z),
    *(
        Mistake(
            "layer_norm_twice",
            "LayerNorm acts twice, which shows at tokens of small spread: msa and mlp hold theirs, so call them with z",
            lambda z, msa, mlp, eps=eps, places=places: block_of(z, *normed_before((msa, mlp), places, eps)),
        )
        for eps in (1e-5, 1e-6)
        for places in ((0, 1), (0,), (1,))
    ),
)


def normed_before(halves, places, eps):
    """The two halves, those in `places` with a LayerNorm without weights before them."""
    return [
        (lambda z, half=half: half(F.layer_norm(z, z.shape[-1:], eps=eps))) if place in places else half
        for place, half in enumerate(halves)
    ]


def halves(dim: int, heads: int) -> tuple[nn.Module, nn.Module]:
    msa, mlp = MultiheadSelfAttentionBlock(dim, heads), MLPBlock(dim, 2 * dim, dropout=0.0)
    return give_noise(msa).eval(), give_noise(mlp).eval()


def quiet(msa: nn.Module, mlp: nn.Module) -> tuple[nn.Module, nn.Module]:
    """The two halves, attention's output as small as tokens of a spread of 0.001: LayerNorm's eps shows in both."""
    with torch.no_grad():
        for parameter in msa.multihead_attn.out_proj.parameters():
            parameter.mul_(1e-3)
    return msa, mlp


@check
def encoder_block(attempt) -> str:
    """encoder_block(z, msa, mlp): Equations 2 and 3; msa and mlp bring their LayerNorm."""
    cases = [(torch.randn(2, 5, 12), *halves(12, 3)), (torch.randn(1, 4, 8) * 1e-3, *quiet(*halves(8, 2)))]
    return same_function(attempt, block_of, cases, "B T D", RESIDUAL_MISTAKES)


# Exercise 2: ParallelBlock


PARALLEL_MISTAKES = (
    Mistake(
        "sequential",
        "this is the block as it was, one half after the other: here both read the same z",
        lambda m, x: block_of(x, m.msa_block, m.mlp_block),
    ),
    Mistake("no_residual", "z itself is missing from the sum", lambda m, x: m.msa_block(x) + m.mlp_block(x)),
    Mistake("two_residuals", "z is added twice: once is enough", lambda m, x: m.msa_block(x) + m.mlp_block(x) + 2 * x),
    Mistake("halved", "the two halves are averaged: add them", lambda m, x: (m.msa_block(x) + m.mlp_block(x)) / 2 + x),
    Mistake("attention_alone", "the MLP is missing from the sum", lambda m, x: m.msa_block(x) + x),
    Mistake("mlp_alone", "attention is missing from the sum", lambda m, x: m.mlp_block(x) + x),
    Mistake(
        "mlp_after_attention",
        "the MLP reads attention's output: here it reads z",
        lambda m, x: m.mlp_block(m.msa_block(x)) + m.msa_block(x) + x,
    ),
    Mistake(
        "norm_left_out",
        "LayerNorm is left out: msa_block and mlp_block hold it, so call them whole",
        lambda m, x: m.msa_block.multihead_attn(x) + m.mlp_block.mlp(x) + x,
    ),
    Mistake(
        "layer_norm_twice",
        "LayerNorm acts twice, which shows at tokens of small spread: msa_block and mlp_block hold theirs",
        lambda m, x: sum(half(x) for half in normed_before((m.msa_block, m.mlp_block), (0, 1), 1e-5)) + x,
    ),
    Mistake(
        "mlp_without_norm",
        "the MLP's LayerNorm is left out: self.mlp_block holds it, self.mlp_block.mlp alone doesn't",
        lambda m, x: m.msa_block(x) + m.mlp_block.mlp(x) + x,
    ),
    Mistake(
        "attention_without_norm",
        "attention's LayerNorm is left out: self.msa_block holds it, self.msa_block.multihead_attn alone doesn't",
        lambda m, x: m.msa_block.multihead_attn(x) + m.mlp_block(x) + x,
    ),
    Mistake(
        "one_norm_for_both",
        "the MLP reads what attention's LayerNorm gave: each half has its own, so call msa_block and mlp_block whole",
        lambda m, x: m.msa_block(x) + m.mlp_block.mlp(m.msa_block.layer_norm(x)) + x,
    ),
)


@check
def parallel_block(attempt) -> str:
    """ParallelBlock(TransformerEncoderBlock): MSA(LN(z)) + MLP(LN(z)) + z."""
    for dim, heads in ((12, 3), (8, 2)):
        module = build(attempt, embedding_dim=dim, num_heads=heads, mlp_size=2 * dim, mlp_dropout=0.0, attn_dropout=0.0)
        if not hasattr(module, "msa_block") or not hasattr(module, "mlp_block"):
            raise Wrong("other_base", "inherit from TransformerEncoderBlock, which builds msa_block and mlp_block")
        give_noise(module)
        inputs = [torch.randn(2, 5, dim), torch.randn(1, 3, dim) * 1e-3]  # of small spread: a second LayerNorm shows
        same_module(module, lambda m, x: m.msa_block(x) + m.mlp_block(x) + x, inputs, "B T D", PARALLEL_MISTAKES)
    return "Right in two sizes, outputs and gradients, with the parameters of the block as it was."


# Exercise 3: encoder_from_pytorch(embedding_dim, num_heads, mlp_size, depth)


def layer_of(layer, z, heads, activation=F.gelu, eps=1e-6, norm_first=True, batch_first=True):
    """nn.TransformerEncoderLayer in eval mode, from its own weights, with settings as given."""

    def norm(x, part):
        return F.layer_norm(x, x.shape[-1:], part.weight, part.bias, eps)

    def attend(x):
        x = x if batch_first else x.transpose(0, 1)
        own = layer.self_attn
        x = msa(x, own.in_proj_weight.T, own.in_proj_bias, own.out_proj.weight.T, own.out_proj.bias, heads)
        return x if batch_first else x.transpose(0, 1)

    def feed(x):
        return layer.linear2(activation(layer.linear1(x)))

    if norm_first:
        z = z + attend(norm(z, layer.norm1))
        return z + feed(norm(z, layer.norm2))
    z = norm(z + attend(z), layer.norm1)
    return norm(z + feed(z), layer.norm2)


def encoder_of(**settings):
    def run(encoder, z):
        for layer in encoder.layers:
            z = layer_of(layer, z, encoder.check_heads, **settings)
        return z

    return run


ENCODER_MISTAKES = (
    Mistake(
        "all_defaults",
        "norm_first, activation and layer_norm_eps have PyTorch's defaults: section 7.7 has ViT's",
        encoder_of(norm_first=False, activation=torch.relu, eps=1e-5),
    ),
    Mistake(
        "norm_after",
        "LayerNorm comes after each sum: set norm_first=True (Equations 2 and 3)",
        encoder_of(norm_first=False),
    ),
    Mistake(
        "relu", 'the activation is ReLU, PyTorch\'s default: set activation="gelu"', encoder_of(activation=torch.relu)
    ),
    Mistake("eps", "LayerNorm's eps is 1e-5, PyTorch's default: set layer_norm_eps=1e-6", encoder_of(eps=1e-5)),
    Mistake(
        "batch_not_first",
        "attention runs over the batch: set batch_first=True for (B, T, D)",
        encoder_of(batch_first=False),
    ),
)


@check
def encoder_from_pytorch(attempt) -> str:
    """encoder_from_pytorch(embedding_dim, num_heads, mlp_size, depth) -> nn.TransformerEncoder, equal to ViT's."""
    for dim, heads, size, depth in ((12, 3, 20, 2), (8, 2, 16, 3)):
        where = f"embedding_dim = {dim}, num_heads = {heads}, mlp_size = {size}, depth = {depth}"
        encoder, _ = call(attempt, dim, heads, size, depth, where=where)
        check_encoder(encoder, dim, heads, size, depth)
        encoder.check_heads = heads
        x = torch.randn(2, 5, dim)
        give_noise(encoder)
        if not torch.allclose(guarded(lambda e=encoder, x=x: e.train()(x), where), encoder.eval()(x), atol=1e-4):
            raise Wrong("dropout_left_on", "train and eval mode differ: set dropout=0.0, its default is 0.1")
        inputs = [x, torch.randn(3, 4, dim) * 0.01]  # of small spread: eps shows
        same_module(encoder, encoder_of(), inputs, "B T D", ENCODER_MISTAKES, tolerance=5e-5)
        ours = nn.Sequential(*(TransformerEncoderBlock(dim, heads, size, mlp_dropout=0.0) for _ in range(depth))).eval()
        for block, layer in zip(ours, encoder.layers):
            copy_layer(layer, block)
        same(encoder(x), ours(x), "B T D", (), (), tolerance=5e-5)
    return "Right in two sizes, outputs and gradients: equal to TransformerEncoderBlocks with the same weights."


def check_encoder(encoder, dim: int, heads: int, size: int, depth: int) -> None:
    if not isinstance(encoder, nn.TransformerEncoder):
        text = f"your function returns a {type(encoder).__name__}, and an nn.TransformerEncoder was expected"
        raise Wrong("other_type", text)
    if len(encoder.layers) != depth:
        raise Wrong(
            "depth_ignored", f"there are {len(encoder.layers)} layers, and depth = {depth}: hand it on as num_layers"
        )
    if encoder.norm is not None:
        raise Wrong("final_norm", "a LayerNorm stands at the end: it belongs to Equation 4, so leave norm out")
    layer = encoder.layers[0]
    if layer.linear1.bias is None or layer.self_attn.in_proj_bias is None:
        raise Wrong("no_biases", "the layers have no biases, and ViT's have them: leave bias at True, its default")
    if len({id(one) for one in encoder.layers}) < depth:
        text = (
            "all places hold one and the same layer, as [layer] * depth gives: build a layer for each place, in a loop "
            "or a comprehension"
        )
        raise Wrong("one_layer_shared", text)
    if layer.linear1.out_features != size:
        text = f"the MLP has {layer.linear1.out_features} hidden numbers, and mlp_size = {size}: set dim_feedforward"
        raise Wrong("mlp_size_ignored", text)
    if layer.self_attn.num_heads != heads:
        raise Wrong("heads_ignored", f"num_heads = {heads}, and your layer has {layer.self_attn.num_heads}: set nhead")
    if depth > 1 and torch.equal(encoder.layers[0].linear1.weight, encoder.layers[1].linear1.weight):
        text = (
            "all layers start with equal weights, since nn.TransformerEncoder copies the one you give it: "
            "draw each layer's weights anew (section 7.10)"
        )
        raise Wrong("layers_are_copies", text)


def copy_layer(layer: nn.TransformerEncoderLayer, block: TransformerEncoderBlock) -> None:
    """Copy the weights of PyTorch's layer into our block."""
    pairs = (
        (layer.norm1, block.msa_block.layer_norm),
        (layer.self_attn, block.msa_block.multihead_attn),
        (layer.norm2, block.mlp_block.layer_norm),
        (layer.linear1, block.mlp_block.mlp[0]),
        (layer.linear2, block.mlp_block.mlp[3]),
    )
    for theirs, ours in pairs:
        ours.load_state_dict(theirs.state_dict())


# Exercise 4: a number


GROWTH_RANGES = (  # (mistake's name, from, to, what to say)
    ("variance", 0.9, 1.5, "near 1, as the variance grows: the spread is its root, the standard deviation"),
    ("not_divided", 0.68, 0.9, "this may be the logarithm of the ratio: divide it by the logarithm of 48 / 12"),
    (
        "other_blocks",
        0.35,
        0.68,
        "the seed above gives another number: the spread after 48 blocks over that after 12, not over z_0's and not "
        "one block earlier; then its logarithm over that of 48 / 12",
    ),
    ("ratio", 1.7, 2.7, "this is the ratio of the two spreads: take its logarithm, divided by that of 48 / 12"),
    ("upside_down", -0.67, -0.35, "the ratio is upside down: the spread after 48 blocks over that after 12"),
    (
        "constant",
        -0.05,
        0.1,
        "this says that the spread doesn't grow: send z through all 48 blocks, one after the other",
    ),
    ("depths", 3.9, 4.1, "this is the ratio of the depths, 48 / 12: the ratio of the spreads is asked"),
)


@check
def growth_exponent(attempt) -> str:
    """p in: the spread of z after L pre-norm blocks with noise grows as L to the power of p."""
    why = (
        "Near 1/2: each block adds something that points its own way, so the squares add up, and the spread grows "
        "as the root of the depth."
    )
    try:
        return same_number(attempt, 0.52, (), why, tolerance=0.036)  # 0.53, and 0.5 to one digit
    except Wrong as wrong:
        if wrong.name == "no_number":
            raise
        value = float(attempt)
        for name, low, high, text in GROWTH_RANGES:
            if low <= value <= high:
                raise Wrong(name, f"{value:.3g}: {text}") from None
        raise

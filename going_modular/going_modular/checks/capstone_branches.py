"""Checks of notebook 12's capstone: the branches of a block scaled (LayerScale, CaiT) or dropped (stochastic depth)."""

from typing import NamedTuple

import torch
from torch import nn

from going_modular.going_modular.checks.attempt import build, guarded, result_of
from going_modular.going_modular.checks.compare import (
    Mistake,
    close,
    give_noise,
    has_parameters,
    same_gradients,
    same_module,
    shapes_of,
)
from going_modular.going_modular.checks.notebook_07 import block_of
from going_modular.going_modular.checks.verdict import Wrong, check
from going_modular.going_modular.vit import TransformerEncoderBlock


def has_block(module: nn.Module) -> None:
    """Raise Wrong unless a learner's block has the two halves of ours."""
    if not hasattr(module, "msa_block") or not hasattr(module, "mlp_block"):
        raise Wrong("other_base", "inherit from TransformerEncoderBlock, which builds msa_block and mlp_block")


def block_sizes(dim: int, heads: int) -> dict:
    return {"embedding_dim": dim, "num_heads": heads, "mlp_size": 2 * dim, "mlp_dropout": 0.0, "attn_dropout": 0.0}


# CaiT: LayerScale


def scaled(block, z, first=None, second=None):
    """Both halves, each times its gamma, with its residual."""
    first = block.gamma_1 if first is None else first
    second = block.gamma_2 if second is None else second
    return block_of(z, lambda x: first * block.msa_block(x), lambda x: second * block.mlp_block(x))


def mlp_reads_input(block, z, first, second):
    """The second half reads what went into the block."""
    return z + first * block.msa_block(z) + second * block.mlp_block(z)


def residual_of_input(block, z, first, second):
    """The second half's residual is what went into the block."""
    return z + second * block.mlp_block(z + first * block.msa_block(z))


MLP_READS_INPUT = "the MLP reads z, what went into the block: it reads z', what attention's half gave"
RESIDUAL_OF_INPUT = "the second residual is z, what went into the block: it is z', what attention's half gave"

SCALE_MISTAKES = (
    Mistake(
        "mlp_reads_input", MLP_READS_INPUT, lambda block, z: mlp_reads_input(block, z, block.gamma_1, block.gamma_2)
    ),
    Mistake(
        "residual_of_input",
        RESIDUAL_OF_INPUT,
        lambda block, z: residual_of_input(block, z, block.gamma_1, block.gamma_2),
    ),
    Mistake(
        "unchanged",
        "this is the block as it was: gamma_1 and gamma_2 aren't used",
        lambda block, z: block_of(z, block.msa_block, block.mlp_block),
    ),
    Mistake(
        "first_alone",
        "only attention is scaled: the MLP's half has gamma_2",
        lambda block, z: scaled(block, z, second=torch.ones(())),
    ),
    Mistake(
        "second_alone",
        "only the MLP is scaled: attention's half has gamma_1",
        lambda block, z: scaled(block, z, first=torch.ones(())),
    ),
    Mistake(
        "one_gamma",
        "gamma_1 scales both halves: the MLP's has gamma_2",
        lambda block, z: scaled(block, z, second=block.gamma_1),
    ),
    Mistake(
        "exchanged",
        "the two are exchanged: gamma_1 belongs to attention, gamma_2 to the MLP",
        lambda block, z: scaled(block, z, block.gamma_2, block.gamma_1),
    ),
    Mistake(
        "one_added",
        "1 is added to gamma: then a block starts as it was, and LayerScale is to start near nothing",
        lambda block, z: scaled(block, z, 1 + block.gamma_1, 1 + block.gamma_2),
    ),
    Mistake(
        "sum_scaled",
        "the whole sum is scaled, the residual too: gamma belongs to the branch alone, before the sum",
        lambda block, z: (
            block.gamma_2 * block_of(block.gamma_1 * (block.msa_block(z) + z), lambda x: 0 * x, block.mlp_block)
        ),
    ),
    Mistake(
        "residual_scaled",
        "gamma scales what goes past the branch: it belongs to the branch, z + gamma * branch(z)",
        lambda block, z: (
            block.gamma_2 * (block.gamma_1 * z + block.msa_block(z))
            + block.mlp_block(block.gamma_1 * z + block.msa_block(z))
        ),
    ),
    Mistake(
        "input_scaled",
        "gamma scales what goes into the branch: it scales what comes out",
        lambda block, z: block_of(
            z, lambda x: block.msa_block(block.gamma_1 * x), lambda x: block.mlp_block(block.gamma_2 * x)
        ),
    ),
    Mistake(
        "no_residuals",
        "the residuals are missing: add what went in, after each half",
        lambda block, z: block.gamma_2 * block.mlp_block(block.gamma_1 * block.msa_block(z)),
    ),
)


@check
def layer_scale_block(attempt) -> str:
    """LayerScaleBlock(TransformerEncoderBlock): each branch times a learned number a channel, small at the start."""
    for dim, heads, start in ((12, 3, 1e-4), (8, 2, 0.1)):
        sizes = block_sizes(dim, heads)
        block = build(attempt, **sizes, initial_value=start)
        has_block(block)
        expected = TransformerEncoderBlock(**sizes)
        gammas = ("gamma_1", "gamma_2")
        has_parameters(block, shapes_of(expected) | dict.fromkeys(gammas, (dim,)), gamma_shapes(block, dim))
        for name in gammas:
            check_start(name, getattr(block, name), start)
        give_noise(block)
        inputs = [torch.randn(2, 5, dim), torch.randn(1, 3, dim)]
        same_module(block, scaled, inputs, "B T D", SCALE_MISTAKES)
    return "Right in two sizes, outputs and gradients: 2 D parameters more than the block as it was."


def gamma_shapes(block: nn.Module, dim: int) -> dict:
    """What to say about a gamma of another shape."""
    said = {}
    for name in ("gamma_1", "gamma_2"):
        gamma = getattr(block, name, None)
        if isinstance(gamma, torch.Tensor) and gamma.numel() == 1:
            said[name] = ("one_number", "this is one number for all channels: LayerScale has one for each, D of them")
        elif isinstance(gamma, torch.Tensor) and gamma.numel() == dim:
            said[name] = ("dimensions_of_one", "leave out the dimensions of 1: (D,) broadcasts over (B, T, D)")
        else:
            said[name] = ("gamma_shape", "one number for each of the D channels")
    return said


def check_start(name: str, gamma: torch.Tensor, start: float) -> None:
    """Raise Wrong unless every number of gamma is initial_value."""
    if torch.allclose(gamma, torch.full_like(gamma, start)):
        return
    if (gamma == 1).all():
        text = f"{name} starts at 1, so the block starts as it was: with initial_value, near nothing"
        raise Wrong("starts_at_one", text)
    if not gamma.any():
        text = f"{name} starts at 0, where the branch learns nothing in the first step: start with initial_value"
        raise Wrong("starts_at_zero", text)
    if (gamma != gamma[0]).any():
        raise Wrong("random_start", f"{name} starts with random numbers: all of them start at initial_value")
    text = f"{name} starts at {gamma[0].item():.3g}, and initial_value = {start}: hand it on"
    raise Wrong("initial_value_ignored", text)


# Stochastic depth


EVAL_MISTAKES = (
    Mistake("mlp_reads_input", MLP_READS_INPUT, lambda block, z: mlp_reads_input(block, z, 1, 1)),
    Mistake("residual_of_input", RESIDUAL_OF_INPUT, lambda block, z: residual_of_input(block, z, 1, 1)),
    Mistake(
        "shrunk_in_eval",
        "in eval mode the branches are multiplied by 1 - drop_rate: with the division in training, leave them alone",
        lambda block, z: block_of(
            z, lambda x: block.check_keep * block.msa_block(x), lambda x: block.check_keep * block.mlp_block(x)
        ),
    ),
    Mistake(
        "divided_in_eval",
        "in eval mode the branches are divided by 1 - drop_rate: that belongs to training",
        lambda block, z: block_of(
            z, lambda x: block.msa_block(x) / block.check_keep, lambda x: block.mlp_block(x) / block.check_keep
        ),
    ),
    Mistake(
        "no_residuals",
        "the residuals are missing: add what went in, after each half",
        lambda block, z: block.mlp_block(block.msa_block(z)),
    ),
    Mistake("nothing_left", "in eval mode both branches are gone: there they always act", lambda block, z: z),
)


@check
def stochastic_depth_block(attempt) -> str:
    """StochasticDepthBlock(TransformerEncoderBlock): in training each sample skips each branch with some chance."""
    for dim, heads, rate in ((12, 3, 0.3), (8, 2, 0.6)):
        sizes = block_sizes(dim, heads)
        block = build(attempt, **sizes, drop_rate=rate)
        has_block(block)
        has_parameters(block, shapes_of(TransformerEncoderBlock(**sizes)))
        give_noise(block)
        block.check_keep = 1 - rate
        x = torch.randn(2, 4, dim)
        first, second = (result_of(block, x, what=f"an input of shape {tuple(x.shape)}") for _ in range(2))
        if isinstance(first, torch.Tensor) and not torch.equal(first, second):
            raise Wrong("drops_in_eval", "two calls differ in eval mode: branches are dropped in training alone")
        same_module(block, lambda b, z: block_of(z, b.msa_block, b.mlp_block), [x], "B T D", EVAL_MISTAKES)
        check_branches(block, rate, dim)
        check_together(block, rate, dim)
    block = give_noise(build(attempt, **block_sizes(8, 2), drop_rate=0.0))
    x = torch.randn(3, 4, 8)
    if not close(block(x), block.train()(x)):
        raise Wrong("drops_at_zero", "with drop_rate = 0 train and eval mode differ: nothing is to be dropped")
    return "Right at three rates, in both modes, outputs and gradients; it has no parameter of its own."


class Branch(NamedTuple):
    """One half of a block, alone: the other half's last layer is at zero."""

    name: str
    short: str
    silenced: str
    half: str


BRANCHES = (
    Branch("attention", "attention", "mlp_block.mlp.3", "msa_block"),
    Branch("the MLP", "mlp", "msa_block.multihead_attn.out_proj", "mlp_block"),
)


def check_branches(block: nn.Module, rate: float, dim: int) -> None:
    """Raise Wrong unless each branch, by itself, is dropped as it should be in training."""
    state = {name: value.clone() for name, value in block.state_dict().items()}
    for branch in BRANCHES:
        nn.init.zeros_(block.get_submodule(branch.silenced).weight)
        nn.init.zeros_(block.get_submodule(branch.silenced).bias)
        x = torch.randn(400, 3, dim)
        with torch.no_grad():
            once, nothing = (getattr(block, branch.half)(z) for z in (x, torch.zeros_like(x)))
            block.train()
            first, second = (guarded(lambda x=x: block(x), "train mode") for _ in range(2))
            block.eval()
        if isinstance(first, torch.Tensor) and first.shape == x.shape:
            off = torch.stack([(first - x - of).abs().flatten(1).amax(dim=1) for of in (once, nothing)])  # (2, B)
            if (off.amin(dim=0) < 1e-3).all() and (off[0] > 1e-3).any():
                text = "is dropped: drop what comes out of the branch, which still has biases to add for zeros"
                raise Wrong("input_dropped", f"what goes into {branch.name} {text}")
        check_factors(first, x, once, rate, branch)
        if torch.equal(first, second):
            raise Wrong("same_each_call", "two calls in train mode drop the same samples: draw anew at each call")
        block.load_state_dict(state)


def check_factors(result: torch.Tensor, x: torch.Tensor, once: torch.Tensor, rate: float, branch: Branch) -> None:
    """Raise Wrong unless result is x + factor * once, the factor of a sample being 0 or 1 / keep."""
    keep = 1 - rate
    if not isinstance(result, torch.Tensor) or result.shape != x.shape:
        raise Wrong("shape", f"in train mode the output should have the input's shape, {tuple(x.shape)}")
    if (result.flatten(1) == 0).all(dim=1).any():
        text = "a dropped sample comes out as zeros, its residual gone as well: it is to go past the branch unchanged"
        raise Wrong("residual_dropped", text)
    if close(result, x + once):
        raise Wrong(f"{branch.short}_never_dropped", f"in train mode {branch.name} is never dropped")
    large = once.abs() > 0.05
    factors = torch.where(large, (result - x) / torch.where(large, once, torch.ones(())), torch.nan)  # (B, T, D)
    unlike = factors.flatten(1).nan_to_num(-torch.inf).amax(1) - factors.flatten(1).nan_to_num(torch.inf).amin(1)
    if (unlike > 0.02).any():
        of_tokens = factors.nan_to_num(-torch.inf).amax(2) - factors.nan_to_num(torch.inf).amin(2)
        if (of_tokens > 0.02).any():
            text = "single numbers are dropped, as nn.Dropout does: draw one number a sample, of shape (B, 1, 1)"
            raise Wrong("per_number", f"within a sample, {text}")
        raise Wrong("per_token", "within a sample, single tokens are dropped: draw one number a sample, (B, 1, 1)")
    of_samples = factors.flatten(1).nanmean(dim=1)  # (B,)
    dropped = of_samples.abs() < 0.02
    check_scale(of_samples[~dropped], keep, branch)
    check_share(dropped.float().mean().item(), rate, branch)


def check_scale(kept: torch.Tensor, keep: float, branch: Branch) -> None:
    """Raise Wrong unless a branch that is kept is divided by the chance to keep it."""
    if len(kept) == 0:
        return  # the whole batch was dropped
    found = kept.mean().item()
    for name, factor, text in (
        ("not_scaled", 1.0, "it isn't scaled: divide by 1 - drop_rate, so that the mean over many draws stays"),
        ("multiplied", keep, "it is multiplied by 1 - drop_rate: divide"),
        ("divided_by_drop_rate", 1 / (1 - keep), "it is divided by drop_rate: divide by 1 - drop_rate"),
        ("divided_twice", 1 / keep**2, "it is divided by 1 - drop_rate twice"),
    ):
        if abs(found - factor) < 0.02 and abs(found - 1 / keep) > 0.02:
            raise Wrong(name, f"where {branch.name} is kept, {text}")
    if (kept - 1 / keep).abs().max() > 0.02:
        text = f"where {branch.name} is kept, it is multiplied by {found:.3g}, and 1 / (1 - drop_rate) = {1 / keep:.3g}"
        raise Wrong("other_scale", f"{text} was expected")


def check_share(share: float, rate: float, branch: Branch) -> None:
    """Raise Wrong unless about drop_rate of the samples were dropped."""
    if share in (0.0, 1.0):
        text = "all samples of a batch share one draw: draw a number for each, of shape (B, 1, 1)"
        raise Wrong("whole_batch", text)
    if abs(share - rate) < 0.1:
        return
    if abs(share - (1 - rate)) < 0.1:
        raise Wrong(
            "rate_exchanged", f"{share:.0%} of the samples are dropped: drop_rate = {rate} is the share to drop"
        )
    raise Wrong("rate_ignored", f"{share:.0%} of the samples skip {branch.name}, and drop_rate = {rate}")


def check_together(block: nn.Module, rate: float, dim: int) -> None:
    """Raise Wrong unless the two branches draw by themselves, and gradients follow what was drawn."""
    x, keep = torch.randn(60, 3, dim, requires_grad=True), 1 - rate
    block.train()
    got = block(x)
    block.eval()
    whole = x + (block_of(x, block.msa_block, block.mlp_block) - x) / keep
    options = [
        block_of(x, lambda z, f=first: f / keep * block.msa_block(z), lambda z, s=second: s / keep * block.mlp_block(z))
        for first in (0, 1)
        for second in (0, 1)
    ]
    off = torch.stack([(got - option).abs().flatten(1).amax(dim=1) for option in (*options, whole)])  # (5, B)
    if (off[[0, 4]].amin(dim=0) < 1e-3).all():
        text = "one draw decides about the whole block: attention and MLP are two branches, each with a draw of its own"
        raise Wrong("whole_block", text)
    if (off[[0, 3]].amin(dim=0) < 1e-3).all():
        raise Wrong("one_draw", "both branches share a draw, dropped together or not at all: each draws its own")
    if (off[:4].amin(dim=0) > 1e-3).any():
        text = "each branch is right alone, but not both together: the MLP reads z', what attention's half gave"
        raise Wrong("other_block", text)
    expected = torch.stack(options)[off[:4].argmin(dim=0), torch.arange(len(x))]
    parameters = {f"the parameter {name}": (p, p) for name, p in block.named_parameters()}
    same_gradients(got, expected, {"the input": (x, x), **parameters})

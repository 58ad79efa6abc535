"""Checks of notebook 12's capstone: one more idea from a paper. Shapes, gradients and parameter count of each."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from going_modular.going_modular.checks.attempt import build, guarded, result_of
from going_modular.going_modular.checks.compare import (
    OTHER_EPS,
    Mistake,
    close,
    give_noise,
    has_parameters,
    layer_shapes,
    normed,
    same_gradients,
    same_module,
)
from going_modular.going_modular.checks.notebook_05 import join_heads, scores, split_heads, weights_of
from going_modular.going_modular.checks.notebook_07 import block_of
from going_modular.going_modular.checks.notebook_08 import SMALL, TINY, is_a_vit
from going_modular.going_modular.checks.verdict import Wrong, check
from going_modular.going_modular.vit import TransformerEncoderBlock, ViT


def shapes_of(module: nn.Module) -> dict[str, tuple]:
    return {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}


def has_block(module: nn.Module) -> None:
    """Raise Wrong unless a learner's block has the two halves of ours."""
    if not hasattr(module, "msa_block") or not hasattr(module, "mlp_block"):
        raise Wrong("other_base", "inherit from TransformerEncoderBlock, which builds msa_block and mlp_block")


def block_sizes(dim: int, heads: int) -> dict:
    return {"embedding_dim": dim, "num_heads": heads, "mlp_size": 2 * dim, "mlp_dropout": 0.0, "attn_dropout": 0.0}


# DeiT: DistilledViT


def two_tokens(vit, images, order=("class_embedding", "distillation_embedding", None)):
    """What the encoder gives for class token, distillation token and patches (None), in this order."""
    parts = [
        vit.patch_embedding(images) if name is None else getattr(vit, name).expand(len(images), -1, -1)
        for name in order
    ]
    return vit.transformer_encoder(torch.cat(parts, dim=1) + vit.position_embedding)


def both_logits(vit, images, places=(0, 1), **changes):
    """The class token's and the distillation token's logits."""
    first, second = (vit.classifier[0](two_tokens(vit, images, **changes)[:, place]) for place in places)
    return vit.classifier[1](first), vit.distillation_head(second)


def averaged(vit, images, **changes):
    return sum(both_logits(vit, images, **changes)) / 2


def without_norm(vit, images):
    z = two_tokens(vit, images)
    return (vit.classifier(z[:, 0]) + vit.distillation_head(z[:, 1])) / 2


FIRST = {"order": ("distillation_embedding", "class_embedding", None)}
LAST = {"order": ("class_embedding", None, "distillation_embedding")}
DISTILLED_MISTAKES = (
    Mistake(
        "class_token_alone",
        "in eval mode only the class token answers: average its logits with the distillation token's",
        lambda vit, images: both_logits(vit, images)[0],
    ),
    Mistake(
        "distillation_alone",
        "in eval mode only the distillation token answers: average its logits with the class token's",
        lambda vit, images: both_logits(vit, images)[1],
    ),
    Mistake("summed", "the two answers are added up: halve the sum", lambda vit, images: 2 * averaged(vit, images)),
    Mistake(
        "one_head",
        "both tokens are read by the same head: the distillation token has distillation_head",
        lambda vit, images: vit.classifier(two_tokens(vit, images)[:, :2]).mean(dim=1),
    ),
    Mistake(
        "heads_exchanged",
        "each head reads the other's token: z[:, 0] is the class token, z[:, 1] the distillation token",
        lambda vit, images: averaged(vit, images, places=(1, 0)),
    ),
    Mistake(
        "one_token_read",
        "both heads read the class token: the distillation token is z[:, 1]",
        lambda vit, images: averaged(vit, images, places=(0, 0)),
    ),
    Mistake(
        "no_layer_norm",
        "the distillation token goes into its head without the LayerNorm of Equation 4: both tokens get it",
        without_norm,
    ),
    Mistake(
        "token_at_the_end",
        "the distillation token stands behind the patches: it comes second, right after the class token",
        lambda vit, images: averaged(vit, images, places=(0, -1), **LAST),
    ),
    Mistake(
        "patch_read",
        "the distillation token stands behind the patches, so z[:, 1] is a patch: it comes right after the class token",
        lambda vit, images: averaged(vit, images, **LAST),
    ),
    Mistake(
        "tokens_turned",
        "the distillation token stands in front: the class token is token 0",
        lambda vit, images: averaged(vit, images, places=(1, 0), **FIRST),
    ),
    Mistake(
        "tokens_turned",
        "the distillation token stands in front, so z[:, 0] is no class token: the class token is token 0",
        lambda vit, images: averaged(vit, images, **FIRST),
    ),
    Mistake(
        "patch_read",
        "the last token is read for the distillation token, and that is a patch: it stands second, z[:, 1]",
        lambda vit, images: averaged(vit, images, places=(0, -1)),
    ),
    Mistake(
        "half_halved",
        "the division halves the distillation token's answer alone: put the sum into brackets",
        lambda vit, images: both_logits(vit, images)[0] + both_logits(vit, images)[1] / 2,
    ),
    Mistake(
        "probabilities",
        "two softmaxes are added, as in the paper's text: average the logits, as its code does",
        lambda vit, images: sum(logits.softmax(dim=-1) for logits in both_logits(vit, images)),
    ),
    Mistake(
        "token_unused",
        "the class token goes in twice, and distillation_embedding isn't used",
        lambda vit, images: averaged(vit, images, order=("class_embedding", "class_embedding", None)),
    ),
    Mistake(
        "probabilities",
        "a softmax comes before the average: average the logits",
        lambda vit, images: sum(logits.softmax(dim=-1) for logits in both_logits(vit, images)) / 2,
    ),
)


@check
def distilled_vit(attempt) -> str:
    """DistilledViT(ViT): DeiT's second token with a head of its own; a pair in training, the mean in eval mode."""
    for config, shape in ((TINY, (3, 3, 8, 8)), (SMALL, (2, 3, 8, 12))):
        vit = build(attempt, **config, where="ViT's arguments")
        is_a_vit(vit)
        shapes, dim = shapes_of(ViT(**config)), config["embedding_dim"]
        _, tokens, _ = shapes["position_embedding"]
        shapes["position_embedding"] = (1, tokens + 1, dim)
        shapes["distillation_embedding"] = (1, 1, dim)
        shapes["distillation_head.weight"] = (config["num_classes"], dim)
        shapes["distillation_head.bias"] = (config["num_classes"],)
        said = {
            "position_embedding": ("no_position_for_token", "the new token has a position as well: N + 2 rows"),
            "distillation_embedding": ("token_shape", "it is one token for all images: (1, 1, D)"),
            "distillation_head.weight": ("head_shape", "it answers for the same classes as the other head"),
        }
        has_parameters(vit, shapes, said)
        give_noise(vit)
        images = torch.randn(shape)
        if isinstance(guarded(lambda v=vit, x=images: v(x), f"images of shape {shape}"), (tuple, list)):
            text = "in eval mode two answers come back: return their average there, and the pair in training alone"
            raise Wrong("pair_in_eval", text)
        same_module(vit, averaged, [images], "B K", DISTILLED_MISTAKES, tolerance=1e-4)
        check_pair(vit, images)
    vit = give_noise(build(attempt, **{**TINY, "embedding_dropout": 0.9}, where="ViT's arguments")).train()
    first, second = (torch.stack(list(vit(torch.ones(3, 3, 8, 8)))) for _ in range(2))
    if torch.equal(first, second):
        text = "embedding_dropout isn't used: it acts on the tokens once the positions are added, as in ViT"
        raise Wrong("no_dropout", text)
    return "Right in two sizes, in both modes: 2 D parameters for the token and its place, D x K + K for its head."


def check_pair(vit: ViT, images: torch.Tensor) -> None:
    """Raise Wrong unless the model gives both logits in train mode."""
    pair = guarded(lambda: vit.train()(images), f"images of shape {tuple(images.shape)} in train mode")
    expected = both_logits(vit, images)
    vit.eval()
    if isinstance(pair, torch.Tensor) and pair.ndim == 3 and len(pair) == 2:
        pair = pair.unbind()  # stacked, it still is two of (B, K)
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        text = "in train mode one answer comes back: return both, since the label teaches one and the teacher the other"
        raise Wrong("no_pair_in_training", text)
    if all(map(close, pair, reversed(expected))):
        raise Wrong("pair_exchanged", "in train mode the distillation token's logits come first: second")
    for what, got, right in zip(("first", "second"), pair, expected):
        if not isinstance(got, torch.Tensor) or not close(got, right, 1e-4):
            text = f"eval mode is right, and in train mode the {what} of the two answers is another one"
            raise Wrong("other_pair", text)
    parameters = {f"the parameter {name}": (p, p) for name, p in vit.named_parameters()}
    same_gradients(torch.stack(list(pair)), torch.stack(expected), parameters)


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


# CaiT: class-attention


def class_attention(
    module,
    z,
    asking=None,
    read=lambda tokens, z: tokens,
    layers=("q", "k", "v"),
    heads=None,
    split=split_heads,
    attend=weights_of,
    join=join_heads,
    eps=1e-6,
    project=True,
):
    """What the class token takes from all tokens; with one mistake where an argument is another."""
    tokens = normed(module, z, eps)
    asking = tokens[:, :1] if asking is None else asking(tokens, z)
    heads = heads or module.check_heads
    seen = read(tokens, z)
    q, k, v = (split(getattr(module, name)(x), heads) for name, x in zip(layers, (asking, seen, seen)))
    joined = join(attend(q, k) @ v)
    return module.out_proj(joined) if project else joined


def by_class(**changes):
    return lambda module, z: class_attention(module, z, **changes)


def class_alone(module, z):
    return module.out_proj(module.v(normed(module, z)[:, :1]))


def unnormed(module, z):
    q, k, v = (
        split_heads(layer(x), module.check_heads) for layer, x in zip((module.q, module.k, module.v), (z[:, :1], z, z))
    )
    return module.out_proj(join_heads(weights_of(q, k) @ v))


CLASS_MISTAKES = (
    Mistake(
        "all_tokens_ask",
        "every token asks, and every token gets an answer: the query comes from the class token alone, z[:, :1]",
        by_class(asking=lambda tokens, z: tokens),
    ),
    Mistake(
        "patches_alone",
        "keys and values come from the patches alone: the class token is among them, so it can keep what it has",
        by_class(read=lambda tokens, z: tokens[:, 1:]),
    ),
    Mistake(
        "class_alone", "the class token attends to itself alone: keys and values come from all tokens", class_alone
    ),
    Mistake(
        "patches_ask",
        "the query is the mean of the tokens: it comes from the class token",
        by_class(asking=lambda tokens, z: tokens.mean(dim=1, keepdim=True)),
    ),
    Mistake(
        "last_token_asks",
        "the query comes from the last token: the class token is the first",
        by_class(asking=lambda tokens, z: tokens[:, -1:]),
    ),
    Mistake("no_layer_norm", "layer_norm isn't used: normalise all tokens first", unnormed),
    Mistake(
        "query_not_normed",
        "the query comes from the class token as it was: normalise first, then take q, k and v",
        by_class(asking=lambda tokens, z: z[:, :1]),
    ),
    Mistake(
        "keys_not_normed",
        "keys and values come from the tokens as they were: layer_norm acts on all, not on the class token alone",
        by_class(read=lambda tokens, z: z),
    ),
    Mistake(
        "keys_not_normed",
        "the patches go in as they were: layer_norm acts on all tokens, not on the class token alone",
        by_class(read=lambda tokens, z: torch.cat((tokens[:, :1], z[:, 1:]), dim=1)),
    ),
    Mistake(
        "keys_for_values",
        "keys and values are exchanged: softmax(q k^T) weighs the values",
        by_class(layers=("q", "v", "k")),
    ),
    Mistake(
        "split_by_reshape",
        "a reshape to (B, k, T, D_h) mixes the tokens: split D first, (B, T, k, D_h), then transpose",
        by_class(split=lambda x, heads: x.reshape(len(x), heads, -1, x.shape[-1] // heads)),
    ),
    Mistake(
        "heads_interleaved",
        "the channels are dealt out to the heads in turn: head 0 has the first D_h of them, (B, T, k, D_h)",
        by_class(split=lambda x, heads: x.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2)),
    ),
    Mistake(
        "joined_in_turn",
        "the heads' results are mixed number by number: put them side by side, (B, 1, k, D_h), then flatten",
        by_class(join=lambda heads: heads.permute(0, 2, 3, 1).flatten(2)),
    ),
    Mistake(
        "scale_without_root",
        "the scores are divided by D_h: it is its root",
        by_class(attend=lambda q, k: (scores(q, k) / q.shape[-1]).softmax(dim=-1)),
    ),
    Mistake(
        "softmax_over_heads",
        "softmax runs over the heads: over the keys, dim=-1",
        by_class(attend=lambda q, k: (scores(q, k) / q.shape[-1] ** 0.5).softmax(dim=1)),
    ),
    Mistake(
        "no_softmax",
        "there is no softmax: the weights of a head sum to 1",
        by_class(attend=lambda q, k: scores(q, k) / q.shape[-1] ** 0.5),
    ),
    Mistake(
        "patches_kept",
        "the patches come back as well: return what the class token takes alone, (B, 1, D)",
        lambda module, z: torch.cat((class_attention(module, z), z[:, 1:]), dim=1),
    ),
    Mistake(
        "with_residual",
        "the normalised class token is added: the residual comes later, around the whole block",
        lambda module, z: class_attention(module, z) + normed(module, z)[:, :1],
    ),
    Mistake(
        "with_residual",
        "the class token is added: the residual comes later, around the whole block",
        lambda module, z: class_attention(module, z) + z[:, :1],
    ),
    Mistake(
        "token_dimension_lost",
        "the token's dimension is gone: keep it with z[:, :1], so that (B, 1, D) can be added to the class token",
        lambda module, z: class_attention(module, z)[:, 0],
    ),
    Mistake(
        "no_scale",
        "the scores aren't scaled: divide by the root of D_h",
        by_class(attend=lambda q, k: scores(q, k).softmax(dim=-1)),
    ),
    Mistake(
        "scale_of_all_heads",
        "the scale is the square root of D: it is that of D_h, the size of one head",
        by_class(attend=lambda q, k: (scores(q, k) / (q.shape[1] * q.shape[-1]) ** 0.5).softmax(dim=-1)),
    ),
    Mistake(
        "softmax_over_queries",
        "softmax runs over the queries, of which there is one, so every weight is 1: over the keys, dim=-1",
        by_class(attend=lambda q, k: (scores(q, k) / q.shape[-1] ** 0.5).softmax(dim=-2)),
    ),
    Mistake("one_head", "there is one head: split D into num_heads", by_class(heads=1)),
    Mistake("no_projection", "out_proj isn't used: it mixes the heads side by side", by_class(project=False)),
    Mistake("eps", OTHER_EPS, by_class(eps=1e-5)),
)


@check
def class_attention_block(attempt) -> str:
    """ClassAttentionBlock(embedding_dim, num_heads): CA(LN(z)), (B, N+1, D) -> (B, 1, D), without its residual."""
    for dim, heads in ((12, 3), (8, 2)):
        module = build(attempt, embedding_dim=dim, num_heads=heads)
        has_parameters(module, layer_shapes(dim, **dict.fromkeys(("q", "k", "v", "out_proj"), (dim, dim))))
        module.check_heads = heads
        give_noise(module)
        inputs = [torch.randn(3, 5, dim), torch.randn(2, 4, dim) * 0.01]  # of small spread: eps shows
        same_module(module, class_attention, inputs, "B one D", CLASS_MISTAKES, tolerance=5e-5)
    return "Right in two sizes, outputs and gradients: 4 D x D weights, as in MSA, and 6 D for biases and LayerNorm."


# Attention pooling


def attended(module, asking, z, heads=None):
    """nn.MultiheadAttention from its own weights: tokens `asking` (B, Q, D) ask tokens z (B, T, D)."""
    own, heads = module.attention, heads or module.check_heads
    parts = zip((asking, z, z), own.in_proj_weight.chunk(3), own.in_proj_bias.chunk(3))
    q, k, v = (split_heads(F.linear(x, weight, bias), heads) for x, weight, bias in parts)
    return own.out_proj(join_heads(weights_of(q, k) @ v))


def query_of(module, z):
    return module.query.expand(len(z), -1, -1)


def pooled(module, z, **changes):
    return attended(module, query_of(module, z), z, **changes)[:, 0]


def weighing_tokens(module, z):
    """The attention weights, the mean over the heads, times the tokens as they are."""
    own, heads = module.attention, module.check_heads
    (to_q, to_k, _), (b_q, b_k, _) = own.in_proj_weight.chunk(3), own.in_proj_bias.chunk(3)
    q, k = split_heads(F.linear(query_of(module, z), to_q, b_q), heads), split_heads(F.linear(z, to_k, b_k), heads)
    return (weights_of(q, k).mean(dim=1) @ z)[:, 0]


POOLING_MISTAKES = (
    Mistake(
        "first_left_out",
        "the first token is left out: there is no class token, and the query attends over all tokens",
        lambda module, z: attended(module, query_of(module, z), z[:, 1:])[:, 0],
    ),
    Mistake(
        "weights_times_tokens",
        "the weights are put on the tokens themselves: what attention returns first is the result already",
        weighing_tokens,
    ),
    Mistake(
        "token_kept",
        "the query's dimension is still there: one vector an image, (B, D), so take [:, 0]",
        lambda module, z: attended(module, query_of(module, z), z),
    ),
    Mistake(
        "even_mean", "this is the plain mean of the tokens: let the query weigh them", lambda module, z: z.mean(dim=1)
    ),
    Mistake(
        "mean_asks",
        "the mean of the tokens asks: the query is learned, the same for all images",
        lambda module, z: attended(module, z.mean(dim=1, keepdim=True), z)[:, 0],
    ),
    Mistake(
        "first_token_asks",
        "the first token asks: the query is learned, the same for all images",
        lambda module, z: attended(module, z[:, :1], z)[:, 0],
    ),
    Mistake(
        "self_attention_then_mean",
        "the tokens ask each other, and are averaged then: there is one query, the learned one",
        lambda module, z: attended(module, z, z).mean(dim=1),
    ),
    Mistake(
        "query_joined",
        "the query is joined to the tokens, so it also attends to itself: keys and values are the tokens alone",
        lambda module, z: attended(module, query_of(module, z), torch.cat((query_of(module, z), z), dim=1))[:, 0],
    ),
    Mistake(
        "tokens_ask",
        "the tokens ask the query: hand over the query first, then the tokens twice",
        lambda module, z: attended(module, z, query_of(module, z)).mean(dim=1),
    ),
    Mistake(
        "tokens_ask",
        "the tokens ask the query: hand over the query first, then the tokens twice",
        lambda module, z: attended(module, z, query_of(module, z))[:, 0],
    ),
    Mistake(
        "tokens_ask",
        "the tokens ask the query: hand over the query first, then the tokens twice",
        lambda module, z: attended(module, z, query_of(module, z)),
    ),
    Mistake(
        "query_added",
        "the query is added to the result: no residual here",
        lambda module, z: pooled(module, z) + module.query[:, 0],
    ),
    Mistake("one_head", "there is one head: hand num_heads on", lambda module, z: pooled(module, z, heads=1)),
    Mistake(
        "query_of_zeros",
        "zeros ask, and the parameter query isn't used",
        lambda module, z: attended(module, 0 * query_of(module, z), z)[:, 0],
    ),
    Mistake(
        "query_of_ones",
        "ones ask, and the parameter query isn't used",
        lambda module, z: attended(module, torch.ones_like(query_of(module, z)), z)[:, 0],
    ),
)


@check
def attention_pooling(attempt) -> str:
    """AttentionPooling(embedding_dim, num_heads): a learned query attends over the tokens, (B, T, D) -> (B, D)."""
    for dim, heads in ((12, 3), (8, 2)):
        module = build(attempt, embedding_dim=dim, num_heads=heads)
        shapes = {
            "query": (1, 1, dim),
            "attention.in_proj_weight": (3 * dim, dim),
            "attention.in_proj_bias": (3 * dim,),
            "attention.out_proj.weight": (dim, dim),
            "attention.out_proj.bias": (dim,),
        }
        has_parameters(module, shapes, query_shapes(module))
        if not isinstance(module.attention, nn.MultiheadAttention):
            raise Wrong("other_attention", "attention should be an nn.MultiheadAttention")
        module.check_heads = heads
        give_noise(module)
        inputs = [torch.randn(3, 5, dim), torch.randn(1, 7, dim), torch.randn(2, 1, dim)]
        try:
            first, second = (result_of(module, inputs[0], what="an input of shape (3, 5, D)") for _ in range(2))
            if isinstance(first, torch.Tensor) and not torch.equal(first, second):
                text = "two calls give two results: the query is the parameter query, not drawn anew at each call"
                raise Wrong("query_drawn", text)
            same_module(module, pooled, inputs, "B D", POOLING_MISTAKES, tolerance=5e-5)
        except Wrong:
            if module.attention.batch_first:
                raise
            text = "nn.MultiheadAttention takes the batch second by default: set batch_first=True for (B, T, D)"
            raise Wrong("batch_not_first", text) from None
    return "Right in two sizes, for 5, 7 and 1 tokens, outputs and gradients: D parameters more than an MSA has."


def query_shapes(module: nn.Module) -> dict:
    """What to say about a query of another shape."""
    query = getattr(module, "query", None)
    if isinstance(query, torch.Tensor) and query.ndim == 3 and query.shape[0] > 1:
        return {"query": ("query_per_image", "the query is the same for all images: expand one parameter instead")}
    if isinstance(query, torch.Tensor) and query.ndim == 3 and query.shape[1] > 1:
        return {"query": ("several_queries", "one query is enough, since one vector an image is asked")}
    return {"query": ("query_shape", "make it (1, 1, D), ready to be expanded over the batch")}

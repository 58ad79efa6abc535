"""Checks of notebook 05: attention."""

import torch
import torch.nn.functional as F
from torch import nn

from going_modular.going_modular.checks.attempt import build
from going_modular.going_modular.checks.compare import (
    OTHER_EPS,
    Mistake,
    give_noise,
    has_parameters,
    normed,
    same_function,
    same_module,
    same_number,
)
from going_modular.going_modular.checks.verdict import Wrong, check

# Exercise 1: attention_weights(q, k)


def scores(q, k):
    return q @ k.transpose(-2, -1)


def weights_of(q, k):
    return (scores(q, k) / q.shape[-1] ** 0.5).softmax(dim=-1)


WEIGHT_MISTAKES = (
    Mistake(
        "softmax_over_queries",
        "softmax runs over the queries (dim=-2), not the keys: each row should sum to 1, so use dim=-1",
        lambda q, k: (scores(q, k) / q.shape[-1] ** 0.5).softmax(dim=-2),
    ),
    Mistake(
        "softmax_over_heads",
        "softmax runs over the heads (dim=1): each row should sum to 1, so use dim=-1",
        lambda q, k: (scores(q, k) / q.shape[-1] ** 0.5).softmax(dim=1),
    ),
    Mistake(
        "softmax_over_batch",
        "softmax runs over the batch (dim=0): each row should sum to 1, so use dim=-1",
        lambda q, k: (scores(q, k) / q.shape[-1] ** 0.5).softmax(dim=0),
    ),
    Mistake(
        "no_scale",
        "the scores aren't scaled: divide by the square root of D_h before softmax",
        lambda q, k: scores(q, k).softmax(dim=-1),
    ),
    Mistake(
        "no_root",
        "the scores are divided by D_h: divide by its square root",
        lambda q, k: (scores(q, k) / q.shape[-1]).softmax(dim=-1),
    ),
    Mistake(
        "multiplied",
        "the scores are multiplied by the square root of D_h: divide",
        lambda q, k: (scores(q, k) * q.shape[-1] ** 0.5).softmax(dim=-1),
    ),
    Mistake(
        "scale_of_tokens",
        "the scale is the square root of the number of tokens: it is that of D_h, the last dimension",
        lambda q, k: (scores(q, k) / q.shape[-2] ** 0.5).softmax(dim=-1),
    ),
    Mistake(
        "scale_of_head_count",
        "the scale is the square root of the number of heads: it is that of D_h, the last dimension",
        lambda q, k: (scores(q, k) / q.shape[1] ** 0.5).softmax(dim=-1),
    ),
    Mistake(
        "scale_of_all_heads",
        "the scale is the square root of D: it is that of D_h, the size of one head",
        lambda q, k: (scores(q, k) / (q.shape[1] * q.shape[-1]) ** 0.5).softmax(dim=-1),
    ),
    Mistake(
        "scaled_after",
        "you divide after softmax, so the rows no longer sum to 1: divide the scores",
        lambda q, k: scores(q, k).softmax(dim=-1) / q.shape[-1] ** 0.5,
    ),
    Mistake(
        "no_softmax",
        "these are the scores: softmax is missing",
        lambda q, k: scores(q, k) / q.shape[-1] ** 0.5,
    ),
    Mistake(
        "keys_ask",
        "queries and keys are exchanged: a row belongs to a query, so write q @ k.transpose(-2, -1)",
        lambda q, k: weights_of(k, q),
    ),
    Mistake(
        "dimensions_compared",
        "you compare dimensions with each other: q (T, D_h) times the transpose of k (D_h, T) gives (T, T)",
        lambda q, k: (q.transpose(-2, -1) @ k / q.shape[-1] ** 0.5).softmax(dim=-1),
    ),
)


@check
def attention_weights(attempt) -> str:
    """attention_weights(q, k): (B, k, T, D_h) twice -> A (B, k, T, T), Equation 6."""
    cases = [[torch.randn(shape) for _ in range(2)] for shape in ((2, 3, 5, 4), (1, 2, 7, 16), (3, 1, 4, 9))]
    return same_function(attempt, weights_of, cases, "B k T T", WEIGHT_MISTAKES)


# Exercise 2: msa(z, U_qkv, b_qkv, U_msa, b_msa, num_heads)


def split_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)  # (B, k, T, D_h)


def join_heads(heads):
    return heads.transpose(1, 2).flatten(2)


def msa_of(
    z, U_qkv, b_qkv, U_msa, b_msa, num_heads, *, order=(0, 1, 2), attend=None, split=split_heads, join=join_heads
):
    parts = (z @ U_qkv + b_qkv).chunk(3, dim=-1)
    q, k, v = (split(parts[number], num_heads) for number in order)
    return join((attend or weights_of)(q, k) @ v) @ U_msa + b_msa


def msa(z, U_qkv, b_qkv, U_msa, b_msa, num_heads):
    return msa_of(z, U_qkv, b_qkv, U_msa, b_msa, num_heads)


def variant(**changes):
    return lambda *inputs: msa_of(*inputs, **changes)


def heads_of_a_token(z, U_qkv, b_qkv, U_msa, b_msa, num_heads):
    """Heads attend to each other within a token: the transpose after unflatten is missing."""
    q, k, v = (part.unflatten(-1, (num_heads, -1)) for part in (z @ U_qkv + b_qkv).chunk(3, dim=-1))
    return (weights_of(q, k) @ v).flatten(2) @ U_msa + b_msa


def tokens_cut(z, U_qkv, b_qkv, U_msa, b_msa, num_heads):
    """The heads come from a reshape to (B, k, T, D_h), which cuts the tokens; they are joined as they should be."""
    shape = (len(z), num_heads, z.shape[1], -1)
    return msa_of(z, U_qkv, b_qkv, U_msa, b_msa, num_heads, split=lambda x, heads: x.reshape(shape))


def causal(q, k):
    """Attention weights in which a token sees itself and those before it."""
    unseen = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool).triu(1)
    return (scores(q, k) / q.shape[-1] ** 0.5).masked_fill(unseen, -torch.inf).softmax(dim=-1)


def interleaved(z, U_qkv, b_qkv, U_msa, b_msa, num_heads):
    q, k, v = (z @ U_qkv + b_qkv).unflatten(-1, (num_heads, 3, -1)).permute(3, 0, 2, 1, 4)
    return join_heads(weights_of(q, k) @ v) @ U_msa + b_msa


MSA_MISTAKES = (
    Mistake(
        "heads_attend_to_heads",
        "within each token the heads attend to each other: after unflatten, bring the heads before the tokens",
        heads_of_a_token,
    ),
    Mistake(
        "heads_not_joined",
        "the heads are reshaped without being brought back: transpose(1, 2) before you flatten them",
        variant(join=lambda heads: heads.reshape(len(heads), heads.shape[2], -1)),
    ),
    Mistake(
        "heads_turned",
        "a head takes every k-th column: a head is D_h columns in a row, so unflatten(-1, (num_heads, D_h))",
        variant(split=lambda x, heads: x.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2)),
    ),
    Mistake(
        "qkv_by_head",
        "you split into heads first and into q, k, v then: U_qkv holds all queries, then all keys, then all values",
        interleaved,
    ),
    Mistake("one_head", "there is one head: split D into num_heads", variant(split=lambda x, heads: x.unsqueeze(1))),
    Mistake(
        "scale_of_all_heads",
        "the scale is the square root of D: it is that of D_h, the size of one head",
        variant(attend=lambda q, k: (scores(q, k) / (q.shape[1] * q.shape[-1]) ** 0.5).softmax(dim=-1)),
    ),
    Mistake(
        "no_scale",
        "the scores aren't scaled: divide by the square root of D_h before softmax",
        variant(attend=lambda q, k: scores(q, k).softmax(dim=-1)),
    ),
    Mistake(
        "softmax_over_queries",
        "softmax runs over the queries (dim=-2), not the keys",
        variant(attend=lambda q, k: (scores(q, k) / q.shape[-1] ** 0.5).softmax(dim=-2)),
    ),
    Mistake(
        "no_softmax",
        "softmax is missing: the scores are not yet weights",
        variant(attend=lambda q, k: scores(q, k) / q.shape[-1] ** 0.5),
    ),
    Mistake(
        "keys_and_queries_exchanged",
        "queries and keys are exchanged: chunk gives q, k, v in this order",
        variant(order=(1, 0, 2)),
    ),
    Mistake(
        "keys_and_values_exchanged",
        "keys and values are exchanged: the order of the three is queries, keys, values",
        variant(order=(0, 2, 1)),
    ),
    Mistake(
        "tokens_cut",
        "a reshape to (B, num_heads, T, D_h) cuts tokens into pieces: unflatten the last dimension, then "
        "transpose(1, 2)",
        tokens_cut,
    ),
    Mistake(
        "tokens_cut",
        "reshapes to (B, num_heads, T, D_h) and back cut tokens into pieces: unflatten the last dimension, then "
        "transpose(1, 2), and the same backwards at the end",
        variant(
            split=lambda x, heads: x.reshape(len(x), heads, x.shape[1], -1),
            join=lambda heads: heads.reshape(len(heads), heads.shape[2], -1),
        ),
    ),
    Mistake(
        "heads_interleaved",
        "the heads are joined number by number: they stand side by side, so transpose(1, 2), then flatten(2)",
        variant(join=lambda heads: heads.permute(0, 2, 3, 1).flatten(2)),
    ),
    Mistake(
        "U_msa_turned",
        "U_msa is transposed, or goes through F.linear, which transposes it: it is used as it is, heads @ U_msa",
        lambda z, U_qkv, b_qkv, U_msa, b_msa, heads: msa_of(z, U_qkv, b_qkv, U_msa.T, b_msa, heads),
    ),
    Mistake(
        "causal_mask",
        "each token sees only itself and earlier ones: nothing is masked in ViT, a patch sees all others",
        variant(attend=causal),
    ),
    Mistake("values_first", "the values are taken from the first part: chunk gives q, k, v", variant(order=(1, 2, 0))),
    Mistake(
        "no_projection",
        "the heads side by side are not yet the result: multiply by U_msa and add its bias (Equation 8)",
        lambda z, U_qkv, b_qkv, U_msa, b_msa, heads: msa_of(z, U_qkv, b_qkv, torch.eye(len(U_msa)), b_msa * 0, heads),
    ),
    Mistake(
        "no_output_bias",
        "b_msa is left out",
        lambda z, U_qkv, b_qkv, U_msa, b_msa, heads: msa_of(z, U_qkv, b_qkv, U_msa, b_msa * 0, heads),
    ),
    Mistake(
        "no_qkv_bias",
        "b_qkv is left out",
        lambda z, U_qkv, b_qkv, U_msa, b_msa, heads: msa_of(z, U_qkv, b_qkv * 0, U_msa, b_msa, heads),
    ),
)


@check
def multihead_attention(attempt) -> str:
    """msa(z, U_qkv, b_qkv, U_msa, b_msa, num_heads): (B, T, D) -> (B, T, D), Equations 5 to 8."""
    cases = []
    for b, t, d, heads in ((2, 5, 12, 3), (1, 4, 8, 2), (3, 7, 6, 6)):
        shapes = ((b, t, d), (d, 3 * d), (3 * d,), (d, d), (d,))
        cases.append((*(torch.randn(shape) * (0.6 if len(shape) < 3 else 1) for shape in shapes), heads))
    return same_function(attempt, msa, cases, "B T D", MSA_MISTAKES, tolerance=5e-5)


# Exercise 3: MyMSABlock(embedding_dim, num_heads, attn_dropout)


def attended(module, x, heads=None):
    attention = module.multihead_attn
    return msa(
        x,
        attention.in_proj_weight.T,
        attention.in_proj_bias,
        attention.out_proj.weight.T,
        attention.out_proj.bias,
        heads or module.check_heads,
    )


def normed_in_part(module, x, query=True, key=True, value=True):
    """The block with LayerNorm on some of query, key and value."""
    attention = module.multihead_attn
    q, k, v = (
        split_heads(F.linear(part, weight, bias), module.check_heads)
        for part, weight, bias in zip(
            (normed(module, x) if chosen else x for chosen in (query, key, value)),
            attention.in_proj_weight.chunk(3),
            attention.in_proj_bias.chunk(3),
        )
    )
    return attention.out_proj(join_heads(weights_of(q, k) @ v))


BLOCK_MISTAKES = (
    Mistake(
        "no_layer_norm",
        "layer_norm isn't used: normalise before attention (Equation 2)",
        lambda m, x: attended(m, x),
    ),
    Mistake(
        "with_residual",
        "the input is added: the residual of Equation 2 comes later, in the encoder block",
        lambda m, x: attended(m, normed(m, x)) + x,
    ),
    Mistake(
        "normed_residual",
        "the normalised input is added: this block returns attention's output alone",
        lambda m, x: attended(m, normed(m, x)) + normed(m, x),
    ),
    Mistake(
        "norm_after",
        "LayerNorm comes after attention: Equation 2 has MSA(LN(z)), so it comes before",
        lambda m, x: normed(m, attended(m, x)),
    ),
    Mistake(
        "query_normed_alone",
        "only the query is normalised: key and value are the same normalised z",
        lambda m, x: normed_in_part(m, x, key=False, value=False),
    ),
    Mistake(
        "value_not_normed",
        "the value is z as it came: query, key and value are the same normalised z",
        lambda m, x: normed_in_part(m, x, value=False),
    ),
    Mistake(
        "norm_twice",
        "LayerNorm acts a second time, behind attention: it comes before it, once",
        lambda m, x: normed(m, attended(m, normed(m, x))),
    ),
    Mistake(
        "batch_not_first",
        "attention runs over the batch: nn.MultiheadAttention needs batch_first=True for (B, T, D), and no transpose",
        lambda m, x: attended(m, normed(m, x).transpose(0, 1)).transpose(0, 1),
    ),
    Mistake("one_head", "there is one head: hand num_heads on", lambda m, x: attended(m, normed(m, x), heads=1)),
    Mistake("norm_alone", "this is LN(z): attention is missing", lambda m, x: normed(m, x)),
    Mistake(
        "eps",
        OTHER_EPS,
        lambda m, x: attended(m, normed(m, x, eps=1e-5)),
    ),
)


@check
def msa_block(attempt) -> str:
    """MyMSABlock(embedding_dim, num_heads, attn_dropout=0): MSA(LN(z)), (B, T, D) -> (B, T, D)."""
    for dim, heads in ((12, 3), (8, 4)):
        module = build(attempt, embedding_dim=dim, num_heads=heads, attn_dropout=0.0)
        shapes = {
            "layer_norm.weight": (dim,),
            "layer_norm.bias": (dim,),
            "multihead_attn.in_proj_weight": (3 * dim, dim),
            "multihead_attn.in_proj_bias": (3 * dim,),
            "multihead_attn.out_proj.weight": (dim, dim),
            "multihead_attn.out_proj.bias": (dim,),
        }
        has_parameters(module, shapes)
        if not isinstance(module.multihead_attn, nn.MultiheadAttention):
            raise Wrong("other_attention", "multihead_attn should be an nn.MultiheadAttention, as in section 5.7")
        module.check_heads = heads
        give_noise(module)
        inputs = [torch.randn(3, 5, dim), torch.randn(2, 4, dim) * 0.01]  # of small spread: eps shows
        same_module(module, lambda m, x: attended(m, normed(m, x)), inputs, "B T D", BLOCK_MISTAKES, tolerance=5e-5)
    module = give_noise(build(attempt, embedding_dim=8, num_heads=2, attn_dropout=0.5))
    x = torch.randn(2, 5, 8)
    if not torch.equal(module(x), module(x)):
        raise Wrong("dropout_in_eval", "two calls differ in eval mode: dropout must stop there")
    module.train()
    if torch.equal(module(x), module(x)):
        raise Wrong("dropout_ignored", "attn_dropout does nothing in train mode: hand it to nn.MultiheadAttention")
    module.multihead_attn.dropout = 0.0
    if not torch.allclose(module(x), module.eval()(x), atol=1e-4):
        text = (
            "dropout acts outside of the attention weights too: attn_dropout goes to nn.MultiheadAttention and "
            "nowhere else"
        )
        raise Wrong("other_dropout", text)
    return "Right in two sizes, outputs and gradients; attn_dropout reaches the attention weights."


# Exercise 4: a number


def crossing(linear: int, products: int = 2, step: int = 16) -> int:
    """The first side at which products * T^2 * D is more than linear * T * D^2, for D = 768 and patches of 16."""
    side = step
    while products * ((side // 16) ** 2 + 1) <= linear * 768:
        side += step
    return side


@check
def attention_crossing(attempt) -> str:
    """From which side of the image attention costs more than all linear layers of ViT-Base's block, MLP included."""
    right = crossing(12)
    wrongs = (
        ("msa_alone", crossing(4), "this counts the linear layers of MSA alone: add the MLP's two"),
        ("mlp_alone", crossing(8), "this counts the MLP alone: add the linear layers of MSA"),
        ("tokens", (right // 16) ** 2 + 1, "this is the number of tokens: the question asks for pixels"),
        (
            "tokens_limit",
            6 * 768,
            "this is the number of tokens at which both cost the same: the question asks for pixels",
        ),
        ("patches_a_side", right // 16, "this is the number of patches along a side: times 16 it is pixels"),
        ("one_product", crossing(12, products=1), "this counts one of attention's two products: q k^T and A v"),
        ("one_too_early", right - 16, "at this side attention still costs less: one step more"),
        ("base_of_1024", 1360, "this is for D = 1024: ViT-Base has 768"),
    )
    why = "Attention overtakes where N + 1 exceeds 6 D, far above 224 pixels: there, linear layers cost most."
    return same_number(attempt, right, wrongs, why)

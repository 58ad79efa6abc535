"""Checks of notebook 12's capstone: class-attention (CaiT) and attention pooling."""

import torch
import torch.nn.functional as F
from torch import nn

from going_modular.going_modular.checks.attempt import build, result_of
from going_modular.going_modular.checks.compare import (
    OTHER_EPS,
    Mistake,
    give_noise,
    has_parameters,
    layer_shapes,
    normed,
    same_module,
)
from going_modular.going_modular.checks.notebook_05 import join_heads, scores, split_heads, weights_of
from going_modular.going_modular.checks.verdict import Wrong, check

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
    Mistake(
        "no_layer_norm",
        "layer_norm isn't used: normalise all tokens first",
        by_class(asking=lambda tokens, z: z[:, :1], read=lambda tokens, z: z),
    ),
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

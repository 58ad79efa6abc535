"""checks, notebook 05: what is right passes, and each wrong version gets its own verdict."""

import pytest
import torch
from check_tools import expect, wrong_versions
from torch import nn

from going_modular.going_modular.vit import MultiheadSelfAttentionBlock


def scores(q, k):
    return torch.einsum("bhqd,bhkd->bhqk", q, k)


WEIGHTS = wrong_versions(
    "attention_weights",
    ("softmax_over_queries", lambda q, k: (scores(q, k) / q.shape[-1] ** 0.5).softmax(dim=-2)),
    ("softmax_over_heads", lambda q, k: (scores(q, k) / q.shape[-1] ** 0.5).softmax(dim=1)),
    ("softmax_over_batch", lambda q, k: (scores(q, k) / q.shape[-1] ** 0.5).softmax(dim=0)),
    ("no_scale", lambda q, k: scores(q, k).softmax(dim=-1)),
    ("no_root", lambda q, k: (scores(q, k) / q.shape[-1]).softmax(dim=-1)),
    ("multiplied", lambda q, k: (scores(q, k) * q.shape[-1] ** 0.5).softmax(dim=-1)),
    ("scale_of_tokens", lambda q, k: (scores(q, k) / q.shape[2] ** 0.5).softmax(dim=-1)),
    ("scale_of_head_count", lambda q, k: (scores(q, k) / q.shape[1] ** 0.5).softmax(dim=-1)),
    ("values", lambda q, k: (scores(q, k) / q.shape[-1] ** 0.5).softmax(dim=-1).round()),
    ("scale_of_all_heads", lambda q, k: (scores(q, k) / (q.shape[1] * q.shape[3]) ** 0.5).softmax(dim=-1)),
    ("scaled_after", lambda q, k: scores(q, k).softmax(dim=-1) / q.shape[-1] ** 0.5),
    ("no_softmax", lambda q, k: scores(q, k) / q.shape[-1] ** 0.5),
    ("keys_ask", lambda q, k: (scores(k, q) / q.shape[-1] ** 0.5).softmax(dim=-1)),
    ("dimensions_compared", lambda q, k: (q.transpose(-2, -1) @ k / q.shape[-1] ** 0.5).softmax(dim=-1)),
    ("error", lambda q, k: (q @ k / q.shape[-1] ** 0.5).softmax(dim=-1)),
    ("error", lambda q, k: (q @ k.T / q.shape[-1] ** 0.5).softmax(dim=-1)),
)


def by_loop(
    z, U_qkv, b_qkv, U_msa, b_msa, num_heads,
    order=(0, 1, 2), divisor=None, dim=-1, softmax=True, project=True, columns=None, bias=(1, 1),
):  # fmt: skip
    size = z.shape[-1] // num_heads
    parts = (z @ U_qkv + bias[0] * b_qkv).chunk(3, dim=-1)
    q, k, v = (parts[number] for number in order)
    heads = []
    for head in range(num_heads):
        part = columns(head, num_heads) if columns else slice(head * size, (head + 1) * size)
        a = q[..., part] @ k[..., part].transpose(1, 2) / (divisor or (lambda D, size: size**0.5))(z.shape[-1], size)
        heads.append((a.softmax(dim=dim) if softmax else a) @ v[..., part])
    heads = torch.cat(heads, dim=-1)
    return heads @ U_msa + bias[1] * b_msa if project else heads


def variant(**settings):
    return lambda *inputs: by_loop(*inputs, **settings)


def split(z, U_qkv, b_qkv, num_heads):
    return [part.unflatten(-1, (num_heads, -1)) for part in (z @ U_qkv + b_qkv).chunk(3, dim=-1)]


def no_transpose(z, U_qkv, b_qkv, U_msa, b_msa, num_heads):
    q, k, v = split(z, U_qkv, b_qkv, num_heads)
    a = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(dim=-1)
    return (a @ v).flatten(2) @ U_msa + b_msa


def reshaped_back(z, U_qkv, b_qkv, U_msa, b_msa, num_heads):
    q, k, v = (part.transpose(1, 2) for part in split(z, U_qkv, b_qkv, num_heads))
    heads = nn.functional.scaled_dot_product_attention(q, k, v)
    return heads.reshape(z.shape) @ U_msa + b_msa


def head_by_head(z, U_qkv, b_qkv, U_msa, b_msa, num_heads):
    q, k, v = (z @ U_qkv + b_qkv).unflatten(-1, (num_heads, 3, -1)).permute(3, 0, 2, 1, 4)
    return nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2) @ U_msa + b_msa


def through(split, join, mask=False):
    """Multi-head attention whose heads are made and joined by the functions given."""

    def attempt(z, U_qkv, b_qkv, U_msa, b_msa, num_heads):
        shape = (len(z), num_heads, z.shape[1], z.shape[2] // num_heads)
        q, k, v = (split(part, shape) for part in (z @ U_qkv + b_qkv).chunk(3, dim=-1))
        heads = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=mask)
        return join(heads, z.shape) @ U_msa + b_msa

    return attempt


def heads_first(x, shape):
    return x.unflatten(-1, (shape[1], shape[3])).transpose(1, 2)


def side_by_side(heads, shape):
    return heads.transpose(1, 2).flatten(2)


def cut(x, shape):
    return x.reshape(shape)


MSA = wrong_versions(
    "multihead_attention",
    ("heads_attend_to_heads", no_transpose),
    ("heads_not_joined", reshaped_back),
    ("qkv_by_head", head_by_head),
    ("heads_turned", variant(columns=lambda head, num_heads: slice(head, None, num_heads))),
    ("one_head", lambda *inputs: by_loop(*inputs[:5], 1)),
    ("scale_of_all_heads", variant(divisor=lambda D, size: D**0.5)),
    ("no_scale", variant(divisor=lambda D, size: 1)),
    ("softmax_over_queries", variant(dim=-2)),
    ("no_softmax", variant(softmax=False)),
    ("keys_and_queries_exchanged", variant(order=(1, 0, 2))),
    ("keys_and_values_exchanged", variant(order=(0, 2, 1))),
    ("tokens_cut", through(cut, side_by_side)),
    ("tokens_cut", through(cut, cut)),
    ("heads_interleaved", through(heads_first, lambda heads, shape: heads.permute(0, 2, 3, 1).flatten(2))),
    ("U_msa_turned", lambda z, U_qkv, b_qkv, U_msa, *others: by_loop(z, U_qkv, b_qkv, U_msa.T, *others)),
    ("causal_mask", through(heads_first, side_by_side, mask=True)),
    ("values_first", variant(order=(1, 2, 0))),
    ("no_projection", variant(project=False)),
    ("no_output_bias", variant(bias=(1, 0))),
    ("no_qkv_bias", variant(bias=(0, 1))),
    ("input_added", lambda z, *others: by_loop(z, *others) + z),
    ("tuple", lambda *inputs: (by_loop(*inputs), None)),
)


class Right(nn.Module):
    eps, batch_first = 1e-6, True

    def __init__(self, embedding_dim=768, num_heads=12, attn_dropout=0):
        super().__init__()
        self.layer_norm = nn.LayerNorm(embedding_dim, eps=self.eps)
        self.multihead_attn = self.attention(embedding_dim, num_heads, attn_dropout)

    def attention(self, dim, heads, dropout):
        return nn.MultiheadAttention(dim, heads, dropout=dropout, batch_first=self.batch_first)

    def attend(self, q, k=None, v=None):
        k, v = (q, q) if k is None else (k, v)
        return self.multihead_attn(q, k, v, need_weights=False)[0]

    def forward(self, z):
        return self.attend(self.layer_norm(z))


def attempt(**methods):
    return type("Attempt", (Right,), methods)


class TransposesToo(Right):
    def forward(self, z):
        return self.attend(self.layer_norm(z).transpose(0, 1)).transpose(0, 1)


class DropsBehind(Right):
    def __init__(self, embedding_dim=768, num_heads=12, attn_dropout=0):
        super().__init__(embedding_dim, num_heads, attn_dropout)
        self.dropout = nn.Dropout(attn_dropout)

    def forward(self, z):
        return self.dropout(super().forward(z))


class DropsOnlyBehind(DropsBehind):
    def attention(self, dim, heads, dropout):
        return nn.MultiheadAttention(dim, heads, batch_first=True)


class ReturnsPair(Right):
    def forward(self, z):
        z = self.layer_norm(z)
        return self.multihead_attn(z, z, z)


BLOCK = wrong_versions(
    "msa_block",
    ("no_layer_norm", attempt(forward=lambda self, z: self.attend(z))),
    ("with_residual", attempt(forward=lambda self, z: self.attend(self.layer_norm(z)) + z)),
    ("normed_residual", attempt(forward=lambda self, z: self.attend(self.layer_norm(z)) + self.layer_norm(z))),
    ("norm_after", attempt(forward=lambda self, z: self.layer_norm(self.attend(z)))),
    ("query_normed_alone", attempt(forward=lambda self, z: self.attend(self.layer_norm(z), z, z))),
    ("value_not_normed", attempt(forward=lambda self, z: self.attend(self.layer_norm(z), self.layer_norm(z), z))),
    ("norm_twice", attempt(forward=lambda self, z: self.layer_norm(self.attend(self.layer_norm(z))))),
    ("batch_not_first", TransposesToo),
    ("other_dropout", DropsBehind),
    ("other_dropout", DropsOnlyBehind),
    ("norm_alone", attempt(forward=lambda self, z: self.layer_norm(z))),
    ("batch_not_first", attempt(batch_first=False)),
    ("eps", attempt(eps=1e-5)),
    ("one_head", attempt(attention=lambda self, d, k, p: nn.MultiheadAttention(d, 1, dropout=p, batch_first=True))),
    ("dropout_ignored", attempt(attention=lambda self, d, k, p: nn.MultiheadAttention(d, k, batch_first=True))),
    ("tuple", ReturnsPair),
    ("other_attention", attempt(attention=lambda self, d, k, p: _Lookalike(d))),
    ("extra_parameters", attempt(attention=lambda self, d, k, p: nn.MultiheadAttention(d, k, add_bias_kv=True))),
    ("names", attempt(attention=lambda self, d, k, p: nn.Linear(d, d))),
)


class _Lookalike(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.in_proj_weight = nn.Parameter(torch.zeros(3 * dim, dim))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * dim))
        self.out_proj = nn.Linear(dim, dim)


NUMBER = wrong_versions(
    "attention_crossing",
    ("msa_alone", 640),
    ("mlp_alone", 896),
    ("tokens", 4625),
    ("tokens_limit", 4608),
    ("patches_a_side", 68),
    ("one_product", 1536),
    ("one_too_early", 1072),
    ("other_number", 224),
)


@pytest.mark.parametrize("exercise, name, attempt", [*WEIGHTS, *MSA, *BLOCK, *NUMBER])
def test_wrong_versions(exercise, name, attempt):
    expect(exercise, name, attempt)


@pytest.mark.parametrize(
    "exercise, attempt",
    [
        ("attention_weights", lambda q, k: torch.softmax(q @ k.mT * q.shape[-1] ** -0.5, dim=3)),
        ("multihead_attention", by_loop),
        ("multihead_attention", through(heads_first, side_by_side)),
        ("msa_block", Right),
        ("msa_block", MultiheadSelfAttentionBlock),
        ("attention_crossing", 1088),
    ],
)
def test_right_versions(exercise, attempt):
    assert expect(exercise, "passed", attempt).passed

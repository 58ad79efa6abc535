"""checks, the capstone of notebook 12: what is right passes, and each wrong version gets its own verdict."""

import pytest
import torch
import torch.nn.functional as F
from check_tools import expect, wrong_versions
from torch import nn

from going_modular.going_modular.vit import TransformerEncoderBlock, ViT


def attempt(base, function=None, **methods):
    """A subclass with other methods; `function` is its forward."""
    if function:
        methods["forward"] = lambda self, x: function(self, x)
    return type("Attempt", (base,), methods)


# DeiT


class Distilled(ViT):
    extra = 1  # positions more than ViT has

    def __init__(self, **arguments):
        super().__init__(**arguments)
        d = self.config["embedding_dim"]
        self.distillation_embedding = self.token(d)
        self.position_embedding = nn.Parameter(torch.randn(1, self.position_embedding.shape[1] + self.extra, d) * 0.02)
        self.distillation_head = self.head(d)

    def token(self, d):
        return nn.Parameter(torch.zeros(1, 1, d))

    def head(self, d):
        return nn.Linear(d, self.config["num_classes"])

    def parts(self, images):
        count = len(images)
        tokens = (self.class_embedding.expand(count, -1, -1), self.distillation_embedding.expand(count, -1, -1))
        return *tokens, self.patch_embedding(images)

    def encode(self, images):
        z = torch.cat(self.parts(images), dim=1) + self.position_embedding
        return self.transformer_encoder(self.embedding_dropout(z))

    def answers(self, images):
        y = self.classifier[0](self.encode(images))
        return self.classifier[1](y[:, 0]), self.distillation_head(y[:, 1])

    def forward(self, images):
        pair = self.answers(images)
        return pair if self.training else (pair[0] + pair[1]) / 2


def answers(function):
    return attempt(Distilled, answers=function)


def with_head_of(vit, images, first=0, second=1):
    y = vit.classifier[0](vit.encode(images))
    return vit.classifier[1](y[:, first]), vit.distillation_head(y[:, second])


def in_eval(function):
    """Right in train mode, and another way to answer in eval mode."""
    return attempt(Distilled, lambda vit, x: vit.answers(x) if vit.training else function(*vit.answers(x)))


def reordered(order, places):
    def encode(vit, images):
        parts = Distilled.parts(vit, images)
        return vit.transformer_encoder(torch.cat([parts[n] for n in order], dim=1) + vit.position_embedding)

    return attempt(Distilled, encode=encode, answers=lambda vit, images: with_head_of(vit, images, *places))


class NoDropout(Distilled):
    def encode(self, images):
        return self.transformer_encoder(torch.cat(self.parts(images), dim=1) + self.position_embedding)


class SharedHead(Distilled):
    def head(self, d):
        return self.classifier[1]


class OtherName(Distilled):
    def __init__(self, **arguments):
        super().__init__(**arguments)
        self.dist_token = self.distillation_embedding
        del self.distillation_embedding


DISTILLED = wrong_versions(
    "distilled_vit",
    ("class_token_alone", in_eval(lambda first, second: first)),
    ("distillation_alone", in_eval(lambda first, second: second)),
    ("summed", in_eval(lambda first, second: first + second)),
    ("probabilities", in_eval(lambda first, second: (first.softmax(1) + second.softmax(1)) / 2)),
    ("probabilities", in_eval(lambda first, second: first.softmax(1) + second.softmax(1))),
    ("half_halved", in_eval(lambda first, second: first + second / 2)),
    ("no_dropout", NoDropout),
    ("patch_read", reordered((0, 1, 2), (0, -1))),
    ("tokens_turned", reordered((1, 0, 2), (0, 1))),
    ("pair_in_eval", in_eval(lambda first, second: (first, second))),
    ("one_head", answers(lambda vit, x: vit.classifier(vit.encode(x)[:, :2]).unbind(dim=1))),
    ("heads_exchanged", answers(lambda vit, x: with_head_of(vit, x, 1, 0))),
    ("one_token_read", answers(lambda vit, x: with_head_of(vit, x, 0, 0))),
    ("no_layer_norm", answers(lambda vit, x: (vit.classifier((z := vit.encode(x))[:, 0]), vit.distillation_head(z[:, 1])))),
    ("token_at_the_end", reordered((0, 2, 1), (0, -1))),
    ("patch_read", reordered((0, 2, 1), (0, 1))),
    ("tokens_turned", reordered((1, 0, 2), (1, 0))),
    ("token_unused", reordered((0, 0, 2), (0, 1))),
    ("no_pair_in_training", attempt(Distilled, lambda vit, x: sum(vit.answers(x)) / 2)),
    ("pair_exchanged", attempt(Distilled, lambda vit, x: vit.answers(x)[::-1] if vit.training else sum(vit.answers(x)) / 2)),
    ("other_pair", attempt(Distilled, lambda vit, x: (vit.answers(x)[0],) * 2 if vit.training else sum(vit.answers(x)) / 2)),
    ("no_position_for_token", attempt(Distilled, extra=0)),
    ("token_shape", attempt(Distilled, token=lambda vit, d: nn.Parameter(torch.zeros(32, 1, d)))),
    ("not_a_parameter", attempt(Distilled, token=lambda vit, d: torch.zeros(1, 1, d))),
    ("head_shape", attempt(Distilled, head=lambda vit, d: nn.Linear(d, 1000))),
    ("shared_parameters", SharedHead),
    ("no_position_for_token", ViT),
    ("names", OtherName),
    ("other_base", attempt(nn.Module, __init__=lambda self, **arguments: nn.Module.__init__(self))),
)  # fmt: skip


# LayerScale


class Scaled(TransformerEncoderBlock):
    def __init__(self, *arguments, initial_value=1e-4, embedding_dim=768, **named):
        super().__init__(embedding_dim, *arguments, **named)
        self.gamma_1, self.gamma_2 = (self.gamma(embedding_dim, initial_value) for _ in range(2))

    def gamma(self, dim, start):
        return nn.Parameter(torch.full((dim,), start))

    def forward(self, z):
        z = z + self.gamma_1 * self.msa_block(z)
        return z + self.gamma_2 * self.mlp_block(z)


def two(first, second):
    """A block of two halves, each a function of (block, input)."""
    return attempt(Scaled, lambda block, z: second(block, first(block, z)))


def msa(b, z):
    return z + b.gamma_1 * b.msa_block(z)


def mlp(b, z):
    return z + b.gamma_2 * b.mlp_block(z)


def gamma(function):
    return attempt(Scaled, gamma=lambda block, dim, start: function(dim, start))


SCALED = wrong_versions(
    "layer_scale_block",
    ("mlp_reads_input", attempt(Scaled, lambda b, z: msa(b, z) + b.gamma_2 * b.mlp_block(z))),
    ("residual_of_input", attempt(Scaled, lambda b, z: z + b.gamma_2 * b.mlp_block(msa(b, z)))),
    ("unchanged", attempt(Scaled, TransformerEncoderBlock.forward)),
    ("first_alone", two(msa, lambda b, z: z + b.mlp_block(z))),
    ("second_alone", two(lambda b, z: z + b.msa_block(z), mlp)),
    ("one_gamma", two(msa, lambda b, z: z + b.gamma_1 * b.mlp_block(z))),
    ("exchanged", two(lambda b, z: z + b.gamma_2 * b.msa_block(z), lambda b, z: z + b.gamma_1 * b.mlp_block(z))),
    ("one_added", two(lambda b, z: z + (1 + b.gamma_1) * b.msa_block(z), lambda b, z: z + (1 + b.gamma_2) * b.mlp_block(z))),
    ("sum_scaled", two(lambda b, z: b.gamma_1 * (z + b.msa_block(z)), lambda b, z: b.gamma_2 * (z + b.mlp_block(z)))),
    ("residual_scaled", two(lambda b, z: b.gamma_1 * z + b.msa_block(z), lambda b, z: b.gamma_2 * z + b.mlp_block(z))),
    ("input_scaled", two(lambda b, z: z + b.msa_block(b.gamma_1 * z), lambda b, z: z + b.mlp_block(b.gamma_2 * z))),
    ("no_residuals", two(lambda b, z: b.gamma_1 * b.msa_block(z), lambda b, z: b.gamma_2 * b.mlp_block(z))),
    ("one_number", gamma(lambda dim, start: nn.Parameter(torch.tensor(start)))),
    ("dimensions_of_one", gamma(lambda dim, start: nn.Parameter(torch.full((1, 1, dim), start)))),
    ("gamma_shape", gamma(lambda dim, start: nn.Parameter(torch.full((3 * dim,), start)))),
    ("starts_at_one", gamma(lambda dim, start: nn.Parameter(torch.ones(dim)))),
    ("starts_at_zero", gamma(lambda dim, start: nn.Parameter(torch.zeros(dim)))),
    ("random_start", gamma(lambda dim, start: nn.Parameter(start * torch.randn(dim)))),
    ("initial_value_ignored", gamma(lambda dim, start: nn.Parameter(torch.full((dim,), 1e-5)))),
    ("not_a_parameter", gamma(lambda dim, start: torch.full((dim,), start))),
    ("signature", TransformerEncoderBlock),
)  # fmt: skip


# Stochastic depth


class Dropping(TransformerEncoderBlock):
    def __init__(self, *arguments, drop_rate=0.1, **named):
        super().__init__(*arguments, **named)
        self.drop_rate = drop_rate

    def mask(self, z):
        return (torch.rand(len(z), 1, 1) >= self.drop_rate).float()

    def drop(self, branch):
        if not self.training:
            return branch
        return branch * self.mask(branch) / (1 - self.drop_rate)

    def forward(self, z):
        z = z + self.drop(self.msa_block(z))
        return z + self.drop(self.mlp_block(z))


def masked(function):
    return attempt(Dropping, mask=function)


def dropping(train, evaluation=lambda block, branch: branch):
    return attempt(Dropping, drop=lambda b, branch: train(b, branch) if b.training else evaluation(b, branch))


def whole_block(block, z):
    out = TransformerEncoderBlock.forward(block, z)
    return z + block.drop(out - z)


def one_draw(block, z):
    mask = block.mask(z) / (1 - block.drop_rate) if block.training else 1.0
    z = z + mask * block.msa_block(z)
    return z + mask * block.mlp_block(z)


def residual_gone(block, z):
    z = block.drop(z + block.msa_block(z))
    return block.drop(z + block.mlp_block(z))


class DrawnOnce(Dropping):
    def mask(self, z):
        generator = torch.Generator().manual_seed(1)
        return (torch.rand(len(z), 1, 1, generator=generator) >= self.drop_rate).float()


class WithParameter(Dropping):
    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.keep = nn.Parameter(torch.ones(1))


DROPPING = wrong_versions(
    "stochastic_depth_block",
    ("mlp_reads_input", attempt(Dropping, lambda b, z: z + b.drop(b.msa_block(z)) + b.drop(b.mlp_block(z)))),
    ("residual_of_input", attempt(Dropping, lambda b, z: z + b.drop(b.mlp_block(z + b.drop(b.msa_block(z)))))),
    ("input_dropped", attempt(Dropping, lambda b, z: (z := z + b.msa_block(b.drop(z))) + b.mlp_block(b.drop(z)))),
    ("drops_in_eval", attempt(Dropping, drop=lambda b, branch: branch * b.mask(branch) / (1 - b.drop_rate))),
    ("attention_never_dropped", attempt(Dropping, TransformerEncoderBlock.forward)),
    ("attention_never_dropped", attempt(Dropping, lambda b, z: (z := z + b.msa_block(z)) + b.drop(b.mlp_block(z)))),
    ("mlp_never_dropped", attempt(Dropping, lambda b, z: (z := z + b.drop(b.msa_block(z))) + b.mlp_block(z))),
    ("not_scaled", dropping(lambda b, branch: branch * b.mask(branch))),
    ("shrunk_in_eval", dropping(lambda b, branch: branch * b.mask(branch), lambda b, branch: branch * (1 - b.drop_rate))),
    ("divided_in_eval", dropping(lambda b, branch: branch * b.mask(branch), lambda b, branch: branch / (1 - b.drop_rate))),
    ("multiplied", dropping(lambda b, branch: branch * b.mask(branch) * (1 - b.drop_rate))),
    ("divided_by_drop_rate", dropping(lambda b, branch: branch * b.mask(branch) / max(b.drop_rate, 1e-3))),
    ("other_scale", dropping(lambda b, branch: branch * b.mask(branch) * 3)),
    ("per_number", dropping(lambda b, branch: F.dropout(branch, b.drop_rate))),
    ("per_token", masked(lambda b, z: (torch.rand(*z.shape[:2], 1) >= b.drop_rate).float())),
    ("whole_batch", masked(lambda b, z: (torch.rand(1, 1, 1) >= b.drop_rate).float())),
    ("rate_exchanged", masked(lambda b, z: (torch.rand(len(z), 1, 1) < b.drop_rate).float())),
    ("rate_ignored", masked(lambda b, z: (torch.rand(len(z), 1, 1) >= 0.1).float())),
    ("residual_dropped", attempt(Dropping, residual_gone)),
    ("whole_block", attempt(Dropping, whole_block)),
    ("one_draw", attempt(Dropping, one_draw)),
    ("same_each_call", DrawnOnce),
    ("extra_parameters", WithParameter),
    ("no_residuals", attempt(Dropping, lambda b, z: b.drop(b.mlp_block(b.drop(b.msa_block(z)))))),
    ("nothing_left", dropping(lambda b, branch: branch, lambda b, branch: 0 * branch)),
    ("signature", TransformerEncoderBlock),
)  # fmt: skip


# Class-attention


class ClassAttention(nn.Module):
    eps = 1e-6

    def __init__(self, embedding_dim, num_heads):
        super().__init__()
        self.heads = num_heads
        self.layer_norm = nn.LayerNorm(embedding_dim, eps=self.eps)
        self.q, self.k, self.v, self.out_proj = (nn.Linear(embedding_dim, embedding_dim) for _ in range(4))

    def asking(self, tokens, z):
        return tokens[:, :1]

    def seen(self, tokens):
        return tokens

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def weights(self, q, k):
        return (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=-1)

    def join(self, heads):
        return heads.transpose(1, 2).flatten(2)

    def end(self, x):
        return self.out_proj(x)

    def forward(self, z):
        tokens = self.layer_norm(z)
        seen = self.seen(tokens)
        q, k, v = self.split(self.q(self.asking(tokens, z))), self.split(self.k(seen)), self.split(self.v(seen))
        return self.end(self.join(self.weights(q, k) @ v))


class OneHead(ClassAttention):
    def __init__(self, embedding_dim, num_heads):
        super().__init__(embedding_dim, 1)


class ByClassAlone(ClassAttention):
    """layer_norm on the class token alone."""

    def forward(self, z):
        q, k, v = self.split(self.q(self.layer_norm(z[:, :1]))), self.split(self.k(z)), self.split(self.v(z))
        return self.end(self.join(self.weights(q, k) @ v))


class ClassNormed(ClassAttention):
    """layer_norm on the class token alone, which is then put back among the patches."""

    def forward(self, z):
        tokens = torch.cat((self.layer_norm(z[:, :1]), z[:, 1:]), dim=1)
        q, k, v = self.split(self.q(tokens[:, :1])), self.split(self.k(tokens)), self.split(self.v(tokens))
        return self.end(self.join(self.weights(q, k) @ v))


class Exchanged(ClassAttention):
    def forward(self, z):
        tokens = self.layer_norm(z)
        q, k, v = self.split(self.q(tokens[:, :1])), self.split(self.v(tokens)), self.split(self.k(tokens))
        return self.end(self.join(self.weights(q, k) @ v))


class NoNorm(ClassAttention):
    def forward(self, z):
        norm, self.layer_norm = self.layer_norm, nn.Identity()
        result = super().forward(z)
        self.layer_norm = norm
        return result


class Packed(ClassAttention):
    def __init__(self, embedding_dim, num_heads):
        super().__init__(embedding_dim, num_heads)
        del self.q, self.k, self.v
        self.qkv = nn.Linear(embedding_dim, 3 * embedding_dim)


def by_class(**methods):
    return attempt(ClassAttention, **methods)


CLASS = wrong_versions(
    "class_attention_block",
    ("all_tokens_ask", by_class(asking=lambda self, tokens, z: tokens)),
    ("patches_alone", by_class(seen=lambda self, tokens: tokens[:, 1:])),
    ("class_alone", by_class(seen=lambda self, tokens: tokens[:, :1])),
    ("patches_ask", by_class(asking=lambda self, tokens, z: tokens.mean(dim=1, keepdim=True))),
    ("last_token_asks", by_class(asking=lambda self, tokens, z: tokens[:, -1:])),
    ("query_not_normed", by_class(asking=lambda self, tokens, z: z[:, :1])),
    ("no_layer_norm", NoNorm),
    ("with_residual", attempt(ClassAttention, lambda self, z: ClassAttention.forward(self, z) + z[:, :1])),
    ("with_residual", attempt(ClassAttention, lambda self, z: ClassAttention.forward(self, z) + self.layer_norm(z)[:, :1])),
    ("patches_kept", attempt(ClassAttention, lambda self, z: torch.cat((ClassAttention.forward(self, z), z[:, 1:]), dim=1))),
    ("keys_not_normed", ByClassAlone),
    ("keys_not_normed", ClassNormed),
    ("keys_for_values", Exchanged),
    ("split_by_reshape", by_class(split=lambda self, x: x.reshape(len(x), self.heads, -1, x.shape[-1] // self.heads))),
    ("heads_interleaved", by_class(split=lambda self, x: x.unflatten(-1, (-1, self.heads)).permute(0, 3, 1, 2))),
    ("joined_in_turn", by_class(join=lambda self, heads: heads.permute(0, 2, 3, 1).flatten(2))),
    ("scale_without_root", by_class(weights=lambda self, q, k: (q @ k.mT / q.shape[-1]).softmax(dim=-1))),
    ("softmax_over_heads", by_class(weights=lambda self, q, k: (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=1))),
    ("no_softmax", by_class(weights=lambda self, q, k: q @ k.mT / q.shape[-1] ** 0.5)),
    ("token_dimension_lost", attempt(ClassAttention, lambda self, z: ClassAttention.forward(self, z).squeeze(1))),
    ("no_scale", by_class(weights=lambda self, q, k: (q @ k.mT).softmax(dim=-1))),
    ("scale_of_all_heads", by_class(weights=lambda self, q, k: (q @ k.mT / (self.heads * q.shape[-1]) ** 0.5).softmax(dim=-1))),
    ("softmax_over_queries", by_class(weights=lambda self, q, k: (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=2))),
    ("one_head", OneHead),
    ("no_projection", by_class(end=lambda self, x: x)),
    ("eps", by_class(eps=1e-5)),
    ("names", Packed),
    ("error", by_class(asking=lambda self, tokens, z: tokens[:, 0])),
    ("gradient", by_class(asking=lambda self, tokens, z: tokens[:, :1].detach())),
)  # fmt: skip


# Attention pooling


class Pooling(nn.Module):
    batch_first = True

    def __init__(self, embedding_dim, num_heads):
        super().__init__()
        self.query = self.asking(embedding_dim)
        self.attention = nn.MultiheadAttention(embedding_dim, num_heads, batch_first=self.batch_first)

    def asking(self, dim):
        return nn.Parameter(torch.randn(1, 1, dim) * 0.02)

    def expanded(self, z):
        return self.query.expand(len(z), -1, -1)

    def attend(self, one, other):
        return self.attention(one, other, other, need_weights=False)[0]

    def forward(self, z):
        return self.attend(self.expanded(z), z)[:, 0]


class PoolingOneHead(Pooling):
    def __init__(self, embedding_dim, num_heads):
        super().__init__(embedding_dim, 1)


class BatchSecond(Pooling):
    """nn.MultiheadAttention as it is by default, and tokens turned to suit it."""

    batch_first = False

    def forward(self, z):
        z = z.transpose(0, 1)
        return self.attend(self.query.expand(-1, z.shape[1], -1), z)[0]


class OwnAttention(Pooling):
    """Parameters of the right names and shapes, in a module of one's own."""

    def __init__(self, embedding_dim, num_heads):
        super().__init__(embedding_dim, num_heads)
        attention, self.attention = self.attention, nn.Module()
        for name, part in [*attention.named_parameters(recurse=False), ("out_proj", attention.out_proj)]:
            setattr(self.attention, name, part)


def pooling(function=None, **methods):
    return attempt(Pooling, function, **methods)


POOLING = wrong_versions(
    "attention_pooling",
    ("token_kept", pooling(lambda self, z: self.attend(self.expanded(z), z))),
    ("even_mean", pooling(lambda self, z: z.mean(dim=1))),
    ("mean_asks", pooling(lambda self, z: self.attend(z.mean(dim=1, keepdim=True), z)[:, 0])),
    ("first_token_asks", pooling(lambda self, z: self.attend(z[:, :1], z)[:, 0])),
    ("self_attention_then_mean", pooling(lambda self, z: self.attend(z, z).mean(dim=1))),
    ("first_left_out", pooling(lambda self, z: self.attend(self.expanded(z), z[:, 1:])[:, 0])),
    ("weights_times_tokens", pooling(lambda self, z: (self.attention(self.expanded(z), z, z)[1] @ z)[:, 0])),
    ("query_drawn", pooling(expanded=lambda self, z: torch.randn(len(z), 1, z.shape[-1]))),
    ("query_joined", pooling(lambda self, z: self.attend(self.expanded(z), torch.cat((z, self.expanded(z)), dim=1))[:, 0])),
    ("tokens_ask", pooling(lambda self, z: self.attend(z, self.expanded(z)).mean(dim=1))),
    ("tokens_ask", pooling(lambda self, z: self.attend(z, self.expanded(z)))),
    ("query_added", pooling(lambda self, z: (self.expanded(z) + self.attend(self.expanded(z), z))[:, 0])),
    ("one_head", PoolingOneHead),
    ("query_of_zeros", pooling(expanded=lambda self, z: torch.zeros(len(z), 1, z.shape[-1]))),
    ("query_of_ones", pooling(expanded=lambda self, z: torch.ones(len(z), 1, z.shape[-1]))),
    ("query_per_image", pooling(asking=lambda self, dim: nn.Parameter(torch.zeros(32, 1, dim)))),
    ("several_queries", pooling(asking=lambda self, dim: nn.Parameter(torch.zeros(1, 4, dim)))),
    ("query_shape", pooling(asking=lambda self, dim: nn.Parameter(torch.zeros(dim)))),
    ("not_a_parameter", pooling(asking=lambda self, dim: torch.zeros(1, 1, dim))),
    ("batch_not_first", pooling(batch_first=False)),
    ("other_attention", OwnAttention),
    ("error", pooling(expanded=lambda self, z: self.query.expand(z.shape[1], -1, -1))),
)  # fmt: skip


ALL = [*DISTILLED, *SCALED, *DROPPING, *CLASS, *POOLING]


@pytest.mark.parametrize("exercise, name, attempt", ALL)
def test_wrong_versions(exercise, name, attempt):
    expect(exercise, name, attempt)


class ByMultiheadAttention(ClassAttention):
    """PyTorch's fused function in place of the steps."""

    def forward(self, z):
        tokens = self.layer_norm(z)
        q, k, v = self.split(self.q(tokens[:, :1])), self.split(self.k(tokens)), self.split(self.v(tokens))
        return self.out_proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


@pytest.mark.parametrize(
    "exercise, attempt",
    [
        ("distilled_vit", Distilled),
        ("distilled_vit", attempt(Distilled, lambda vit, x: torch.stack(vit.answers(x)) if vit.training else sum(vit.answers(x)) / 2)),
        ("layer_scale_block", Scaled),
        ("stochastic_depth_block", Dropping),
        ("class_attention_block", ClassAttention),
        ("class_attention_block", ByMultiheadAttention),
        ("class_attention_block", by_class(asking=lambda self, tokens, z: tokens, end=lambda self, x: self.out_proj(x)[:, :1])),
        ("attention_pooling", Pooling),
        ("attention_pooling", BatchSecond),
    ],
)  # fmt: skip
def test_right_versions(exercise, attempt):
    assert expect(exercise, "passed", attempt).passed

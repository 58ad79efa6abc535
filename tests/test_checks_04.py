"""checks, notebook 04: what is right passes, and each wrong version gets its own verdict."""

import pytest
import torch
from check_tools import expect, wrong_versions
from torch import nn

from going_modular.going_modular.vit import PatchEmbedding


def prepend(token, patches):
    return torch.cat((token.expand(len(patches), -1, -1), patches), dim=1)


def cut_token(token, patches):
    """The sequence has the token's place, but a token that no gradient reaches."""
    return prepend(token.detach(), patches)


def write_into(token, patches):
    patches += 0.0
    patches[:, 0] = token[0]
    return prepend(token, patches)


PREPEND = wrong_versions(
    "prepend_class_token",
    ("at_the_end", lambda token, patches: torch.cat((patches, token.expand(len(patches), -1, -1)), dim=1)),
    ("added", lambda token, patches: patches + token),
    ("replaces_a_patch", lambda token, patches: prepend(token, patches[:, 1:])),
    ("mean_of_patches", lambda token, patches: torch.cat((patches.mean(1, keepdim=True), patches), dim=1)),
    ("token_of_zeros", lambda token, patches: torch.cat((torch.zeros_like(patches[:, :1]), patches), dim=1)),
    ("token_of_ones", lambda token, patches: torch.cat((torch.ones_like(patches[:, :1]), patches), dim=1)),
    ("both_ends", lambda token, patches: torch.cat([prepend(token, patches), token.expand(len(patches), -1, -1)], 1)),
    ("some_tokens", lambda token, patches: torch.cat((torch.randn_like(patches[:, :1]), patches), dim=1)),
    ("error", lambda token, patches: torch.cat((token, patches), dim=1)),
    ("error", lambda token, patches: torch.cat((token.expand(len(patches), -1, -1), patches), dim=0)),
    ("fixed_batch", lambda token, patches: torch.cat((token.expand(32, -1, -1), patches), dim=1)),
    ("fixed_batch", lambda token, patches: torch.cat((patches, token.repeat(32, 1, 1)), dim=1)),
    ("detached", lambda token, patches: prepend(nn.Parameter(token), patches)),
    ("detached", lambda token, patches: prepend(token.data, patches)),
    ("error", lambda token, patches: torch.cat((token, patches), dim=0)),
    ("detached", cut_token),
    ("in_place", write_into),
    ("signature", lambda patches: patches),
)


class Right(nn.Module):
    def __init__(self, img_size=224, patch_size=16, embedding_dim=768, dropout=0.1):
        super().__init__()
        self.d, self.n = embedding_dim, (img_size // patch_size) ** 2
        self.patch_embedding = PatchEmbedding(3, patch_size, embedding_dim)
        self.class_embedding = self.token()
        self.position_embedding = self.positions()
        self.embedding_dropout = nn.Dropout(dropout)

    def token(self):
        return nn.Parameter(torch.zeros(1, 1, self.d))

    def positions(self):
        return nn.Parameter(torch.randn(1, self.n + 1, self.d) * 0.02)

    def forward(self, images):
        z = prepend(self.class_embedding, self.patch_embedding(images)) + self.position_embedding
        return self.embedding_dropout(z)


def variant(**methods):
    return type("Attempt", (Right,), methods)


def forward(function):
    """An attempt that does not use dropout: function(module, patches)."""
    return variant(forward=lambda self, images: function(self, self.patch_embedding(images)))


class NoDropoutModule(Right):
    def forward(self, images):
        return prepend(self.class_embedding, self.patch_embedding(images)) + self.position_embedding


class EarlyDropout(Right):
    def forward(self, images):
        z = prepend(self.class_embedding, self.patch_embedding(images))
        return self.embedding_dropout(z) + self.position_embedding


class OwnRate(Right):
    def __init__(self, img_size, patch_size, embedding_dim, dropout):
        super().__init__(img_size, patch_size, embedding_dim, 0.1)


class AlwaysDrops(Right):
    def forward(self, images):
        z = prepend(self.class_embedding, self.patch_embedding(images)) + self.position_embedding
        return nn.functional.dropout(z, self.embedding_dropout.p, training=True)


class FixedRate(Right):
    def forward(self, images):
        z = prepend(self.class_embedding, self.patch_embedding(images)) + self.position_embedding
        return nn.functional.dropout(z, 0.1)


class DropsTwice(Right):
    def forward(self, images):
        return self.embedding_dropout(super().forward(images))


class DropsPositions(Right):
    def forward(self, images):
        z = prepend(self.class_embedding, self.patch_embedding(images))
        return z + self.embedding_dropout(self.position_embedding)


class FixedBatch(Right):
    def forward(self, images):
        z = torch.cat((self.class_embedding.expand(32, -1, -1), self.patch_embedding(images)), dim=1)
        return self.embedding_dropout(z + self.position_embedding)


class RandomToken(Right):
    def forward(self, images):
        token = torch.randn(1, 1, self.d) + self.class_embedding
        return prepend(token, self.patch_embedding(images)) + self.position_embedding


class OtherNames(Right):
    def __init__(self, img_size, patch_size, embedding_dim, dropout):
        super().__init__(img_size, patch_size, embedding_dim, dropout)
        self.cls_token = self.class_embedding
        del self.class_embedding


EMBEDDING = wrong_versions(
    "embedding",
    ("token_per_image", variant(token=lambda self: nn.Parameter(torch.zeros(32, 1, self.d)))),
    ("token_per_patch", variant(token=lambda self: nn.Parameter(torch.zeros(1, self.n, self.d)))),
    ("not_a_parameter", variant(token=lambda self: torch.zeros(1, 1, self.d))),
    ("not_a_parameter", variant(positions=lambda self: torch.randn(1, self.n + 1, self.d) * 0.02)),
    ("no_position_for_token", variant(positions=lambda self: nn.Parameter(torch.zeros(1, self.n, self.d)))),
    ("positions_per_image", variant(positions=lambda self: nn.Parameter(torch.zeros(32, self.n + 1, self.d)))),
    ("parameter_shape", variant(positions=lambda self: nn.Parameter(torch.zeros(self.n + 1, self.d)))),
    ("positions_too_large", variant(positions=lambda self: nn.Parameter(torch.randn(1, self.n + 1, self.d)))),
    ("positions_too_large", variant(positions=lambda self: nn.Parameter(torch.randn(1, self.n + 1, self.d) * 0.05))),
    ("positions_too_small", variant(positions=lambda self: nn.Parameter(torch.zeros(1, self.n + 1, self.d)))),
    ("positions_too_small", variant(positions=lambda self: nn.Parameter(torch.rand(1, self.n + 1, self.d) * 0.02))),
    ("positions_not_centred", variant(positions=lambda self: nn.Parameter(torch.rand(1, self.n + 1, self.d) * 0.07))),
    ("token_too_large", variant(token=lambda self: nn.Parameter(torch.ones(1, 1, self.d)))),
    ("token_too_large", variant(token=lambda self: nn.Parameter(torch.randn(1, 1, self.d)))),
    ("no_positions", forward(lambda m, patches: prepend(m.class_embedding, patches))),
    ("token_without_position", forward(lambda m, p: prepend(m.class_embedding, p + m.position_embedding[:, 1:]))),
    ("at_the_end", forward(lambda m, p: torch.cat((p, m.class_embedding.expand(len(p), -1, -1)), 1) + m.position_embedding)),
    ("token_unused", forward(lambda m, p: prepend(torch.zeros(1, 1, m.d), p) + m.position_embedding)),
    ("multiplied", forward(lambda m, p: prepend(m.class_embedding, p) * m.position_embedding)),
    ("positions_twice", forward(lambda m, p: prepend(m.class_embedding, p) + 2 * m.position_embedding)),
    ("no_dropout", NoDropoutModule),
    ("dropout_too_early", EarlyDropout),
    ("dropout_ignored", OwnRate),
    ("dropout_in_eval", AlwaysDrops),
    ("dropout_in_eval", FixedRate),
    ("dropout_twice", DropsTwice),
    ("dropout_on_positions", DropsPositions),
    ("fixed_batch", FixedBatch),
    ("random_each_call", RandomToken),
    ("names", OtherNames),
)  # fmt: skip


def waves(place, dim, exponent=lambda i, dim: -i / (dim / 2)):
    frequencies = torch.tensor([10_000 ** exponent(i, dim) for i in range(dim // 2)])
    angles = torch.tensor(place)[:, None] * frequencies
    return angles.sin(), angles.cos()


def table(rows, columns, dim, join=lambda y, x: torch.cat((*y, *x), dim=1), first=0, **settings):
    y, x = zip(*[(row + first, column + first) for row in range(rows) for column in range(columns)])
    return join(waves(y, dim // 2, **settings), waves(x, dim // 2, **settings))


def joined(function):
    return lambda rows, columns, dim: table(rows, columns, dim, join=function)


def turned(rows, columns, dim):
    return table(columns, rows, dim, join=lambda y, x: torch.cat((*x, *y), dim=1))


SINES = wrong_versions(
    "sinusoidal_positions",
    ("one_dimension", lambda rows, columns, dim: torch.cat(waves(range(rows * columns), dim), dim=1)),
    ("column_first", joined(lambda y, x: torch.cat((*x, *y), dim=1))),
    ("interleaved", joined(lambda y, x: torch.cat([torch.stack(half, dim=2).flatten(1) for half in (y, x)], dim=1))),
    ("cosine_first", joined(lambda y, x: torch.cat((y[1], y[0], x[1], x[0]), dim=1))),
    ("sines_together", joined(lambda y, x: torch.cat((y[0], x[0], y[1], x[1]), dim=1))),
    ("sines_only", joined(lambda y, x: torch.cat((y[0], y[0], x[0], x[0]), dim=1))),
    ("row_twice", joined(lambda y, x: torch.cat((*y, *y), dim=1))),
    ("from_one", lambda rows, columns, dim: table(rows, columns, dim, first=1)),
    ("frequencies_too_high", lambda r, c, dim: table(r, c, dim, exponent=lambda i, d: -i / d)),
    ("exponent_of_dim", lambda r, c, dim: table(r, c, dim, exponent=lambda i, d: -i / (2 * d))),
    ("last_frequency_reached", lambda r, c, dim: table(r, c, dim, exponent=lambda i, d: -i / (d / 2 - 1))),
    ("frequencies", lambda r, c, dim: table(r, c, dim, exponent=lambda i, d: -i / (d / 2 + 1))),
    ("frequencies", lambda r, c, dim: table(r, c, dim, exponent=lambda i, d: -0.75 * i / (d / 2))),
    ("learned", lambda rows, columns, dim: nn.Parameter(table(rows, columns, dim))),
    ("rising_frequencies", lambda r, c, dim: table(r, c, dim, exponent=lambda i, d: i / (d / 2))),
    ("grid_turned", turned),
    ("summed", lambda r, c, dim: torch.cat(waves([n // c for n in range(r * c)], dim), 1) + torch.cat(waves([n % c for n in range(r * c)], dim), 1)),
    ("dimensions", lambda rows, columns, dim: table(rows, columns, dim).reshape(rows, columns, dim)),
    ("constant", lambda rows, columns, dim: torch.zeros(rows * columns, dim)),
    ("last_two_swapped", lambda rows, columns, dim: table(rows, columns, dim).T),
    ("shape", lambda rows, columns, dim: table(rows, columns, dim)[:, : dim // 2]),
)  # fmt: skip

NUMBER = wrong_versions(
    "neighbour_similarity",
    ("diagonal", 0.969),
    ("two_apart", 0.946),
    ("dot_product", 94.5069),
    ("dot_by_dim", 0.49222),
    ("distance", 1.72805),
    ("mean_removed", 0.901),
    ("one_dimension", 0.9715),
    ("unit", 98.4447),
    ("other_number", 0.5),
    ("no_number", [0.98]),
)


@pytest.mark.parametrize("exercise, name, attempt", [*PREPEND, *EMBEDDING, *SINES, *NUMBER])
def test_wrong_versions(exercise, name, attempt):
    expect(exercise, name, attempt)


@pytest.mark.parametrize(
    "exercise, attempt",
    [
        ("prepend_class_token", prepend),
        ("prepend_class_token", lambda token, patches: torch.cat((token.repeat(len(patches), 1, 1), patches), dim=1)),
        ("embedding", Right),
        ("embedding", variant(token=lambda self: nn.Parameter(torch.randn(1, 1, self.d) * 0.02))),
        (
            "embedding",
            variant(positions=lambda self: nn.Parameter(torch.empty(1, self.n + 1, self.d).normal_(std=0.02))),
        ),
        ("sinusoidal_positions", table),
        ("neighbour_similarity", 0.984),
        ("neighbour_similarity", torch.tensor(0.98445)),
    ],
)
def test_right_versions(exercise, attempt):
    assert expect(exercise, "passed", attempt).passed


def test_a_missing_parameter_is_told_from_those_that_are_there_under_other_names():
    text = expect("embedding", "names", OtherNames).text
    assert text == "there is no parameter class_embedding; under other names you have cls_token"


def test_a_batch_of_a_fixed_size_is_named():
    text = expect("embedding", "fixed_batch", FixedBatch).text
    assert text.endswith("The batch is not always of that size: take patches.shape[0].")

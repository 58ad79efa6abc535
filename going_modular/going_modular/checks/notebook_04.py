"""Checks of notebook 04: class token and positions."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from going_modular.going_modular.checks.attempt import build, guarded
from going_modular.going_modular.checks.compare import (
    Mistake,
    give_noise,
    has_parameters,
    same_function,
    same_module,
    same_number,
)
from going_modular.going_modular.checks.verdict import Wrong, check

# Exercise 1: prepend_class_token(class_token, patches)


def prepended(class_token, patches):
    return torch.cat((class_token.expand(len(patches), -1, -1), patches), dim=1)


PREPEND_MISTAKES = (
    Mistake(
        "at_the_end",
        "the class token stands at the end: Equation 1 puts it first, so name it first in torch.cat",
        lambda class_token, patches: torch.cat((patches, class_token.expand(len(patches), -1, -1)), dim=1),
    ),
    Mistake(
        "added",
        "the token is added to every patch: it is a token of its own, joined with torch.cat",
        lambda class_token, patches: class_token + patches,
    ),
    Mistake(
        "replaces_a_patch",
        "the token takes the place of the first patch: the sequence gets one token longer, N + 1",
        lambda class_token, patches: prepended(class_token, patches[:, 1:]),
    ),
    Mistake(
        "mean_of_patches",
        "the first token is the mean of the patches: it is the learned class_token, the same for all images",
        lambda class_token, patches: torch.cat((patches.mean(dim=1, keepdim=True), patches), dim=1),
    ),
    Mistake(
        "token_of_zeros",
        "the first token is all zeros: use the class_token that is handed over",
        lambda class_token, patches: prepended(torch.zeros_like(class_token), patches),
    ),
    Mistake(
        "token_of_ones",
        "the first token is all ones: use the class_token that is handed over",
        lambda class_token, patches: prepended(torch.ones_like(class_token), patches),
    ),
    Mistake(
        "both_ends",
        "the token stands at both ends: once, in front, is enough",
        lambda class_token, patches: torch.cat(
            (prepended(class_token, patches), prepended(class_token, patches)[:, :1]), 1
        ),
    ),
    Mistake(
        "batch_of_tokens",
        "the token is joined along the batch, as one more image: join along dim=1, which counts tokens",
        lambda class_token, patches: torch.cat((class_token.expand(1, patches.shape[1], -1), patches), dim=0),
    ),
)


@contextmanager
def batches_of_any_size() -> Iterator[None]:
    """Say so where torch.cat failed at a token that was expanded to a batch of a fixed size."""
    try:
        yield
    except Wrong as wrong:
        sizes = re.search(r"Expected size (\d+) but got size (\d+)", str(wrong))
        if wrong.name != "error" or "except in dimension 1" not in str(wrong) or not sizes or "1" in sizes.groups():
            raise
        text = f"{str(wrong).split(' torch.cat needs')[0]} The batch is not always of that size: take patches.shape[0]."
        raise Wrong("fixed_batch", text) from None


@check
def prepend_class_token(attempt) -> str:
    """prepend_class_token(class_token, patches): (1, 1, D) and (B, N, D) -> (B, N+1, D), for any B."""
    sizes = ((3, 4, 5), (1, 6, 2), (2, 1, 7))
    cases = [(torch.randn(1, 1, d), torch.randn(b, n, d)) for b, n, d in sizes]
    with batches_of_any_size():
        return same_function(attempt, prepended, cases, "B N+1 D", PREPEND_MISTAKES)


# Exercise 2: MyEmbedding(img_size, patch_size, embedding_dim, dropout)


def embedded(module, x):
    return prepended(module.class_embedding, module.patch_embedding(x)) + module.position_embedding


EMBEDDING_MISTAKES = (
    Mistake(
        "no_positions",
        "the positions aren't added",
        lambda module, x: prepended(module.class_embedding, module.patch_embedding(x)),
    ),
    Mistake(
        "token_without_position",
        "the class token gets no position: put it in front first, then add the positions to all N + 1 tokens",
        lambda module, x: prepended(
            module.class_embedding, module.patch_embedding(x) + module.position_embedding[:, 1:]
        ),
    ),
    Mistake(
        "at_the_end",
        "the class token stands at the end: Equation 1 puts it first",
        lambda module, x: (
            torch.cat((module.patch_embedding(x), module.class_embedding.expand(len(x), -1, -1)), dim=1)
            + module.position_embedding
        ),
    ),
    Mistake(
        "token_unused",
        "the first token isn't class_embedding: zeros stand there, so the parameter learns nothing",
        lambda module, x: (
            prepended(torch.zeros_like(module.class_embedding), module.patch_embedding(x)) + module.position_embedding
        ),
    ),
    Mistake(
        "multiplied",
        "the positions are multiplied: Equation 1 adds them",
        lambda module, x: prepended(module.class_embedding, module.patch_embedding(x)) * module.position_embedding,
    ),
    Mistake(
        "positions_twice",
        "the positions are added twice",
        lambda module, x: embedded(module, x) + module.position_embedding,
    ),
)


@check
def embedding(attempt) -> str:
    """MyEmbedding(img_size, patch_size, embedding_dim, dropout): Equation 1, (B, C, H, W) -> z_0 (B, N+1, D)."""
    for side, patch_size, dim in ((8, 4, 6), (12, 4, 5)):
        module = build(attempt, img_size=side, patch_size=patch_size, embedding_dim=dim, dropout=0.0)
        n = (side // patch_size) ** 2
        shapes = {
            "class_embedding": (1, 1, dim),
            "position_embedding": (1, n + 1, dim),
            "patch_embedding.patcher.weight": (dim, 3, patch_size, patch_size),
            "patch_embedding.patcher.bias": (dim,),
        }
        has_parameters(module, shapes, embedding_shapes(module, n, dim))
        large = build(attempt, img_size=64, patch_size=4, embedding_dim=32, dropout=0.5)
        check_start(large.class_embedding.detach(), large.position_embedding.detach())
        give_noise(module)
        images = [torch.randn(2, 3, side, side), torch.randn(1, 3, side, side)]
        with batches_of_any_size():
            calm(module, torch.randn(16, 3, side, side))
            same_module(module, embedded, images, "B N+1 D", EMBEDDING_MISTAKES)
    check_dropout(large)
    return "Right in two sizes, outputs and gradients; parameters, starting values and dropout are in their places."


def embedding_shapes(module: nn.Module, n: int, dim: int) -> dict:
    """What to say about parameters of another shape, by what they look like."""
    token = getattr(module, "class_embedding", None)
    positions = getattr(module, "position_embedding", None)
    said = {}
    if isinstance(token, torch.Tensor) and token.ndim == 3 and token.shape[0] > 1:
        said["class_embedding"] = ("token_per_image", "the class token is one per image: expand one parameter instead")
    if isinstance(token, torch.Tensor) and token.ndim == 3 and token.shape[1] > 1:
        said["class_embedding"] = ("token_per_patch", "there is one class token, not one for each patch")
    if isinstance(positions, torch.Tensor) and tuple(positions.shape[-2:]) == (n, dim):
        said["position_embedding"] = ("no_position_for_token", "the class token has a position too: N + 1 rows")
    elif isinstance(positions, torch.Tensor) and positions.ndim == 3 and positions.shape[0] > 1:
        said["position_embedding"] = ("positions_per_image", "the positions are the same for all images: one table")
    return said


DROPS_IN_EVAL = (
    "dropout acts in eval mode too: F.dropout doesn't know the mode, so use nn.Dropout, or hand on "
    "training=self.training"
)


def check_start(token: torch.Tensor, positions: torch.Tensor) -> None:
    """Raise Wrong unless the positions start with a spread around 0.02 and the token with 0 or small numbers."""
    spread, mean = positions.std().item(), positions.mean().item()
    start = "start from torch.randn(...) * 0.02"
    if spread > 0.04:
        text = f"the positions start with a standard deviation of {spread:.2g} and drown the patches: {start}"
        raise Wrong("positions_too_large", text)
    if spread < 0.01:
        text = f"the positions start with a standard deviation of {spread:.2g}, and 0.02 is asked for: {start}"
        raise Wrong("positions_too_small", text)
    if abs(mean) > 0.004:
        text = f"the positions start around {mean:.2g}: a normal distribution has its middle at 0, so {start}"
        raise Wrong("positions_not_centred", text)
    if (largest := token.abs().max().item()) > 0.15:
        text = (
            f"the class token starts with numbers up to {largest:.2g}: start from torch.zeros(...), or from small "
            "random numbers as in section 4.5"
        )
        raise Wrong("token_too_large", text)


def calm(module: nn.Module, x: torch.Tensor) -> None:
    """Raise Wrong where a module in eval mode, without dropout, gives another answer each time."""
    first, second = (guarded(lambda: module(x), f"images of shape {tuple(x.shape)}") for _ in range(2))
    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor) and not torch.equal(first, second):
        if ((first == 0) != (second == 0)).float().mean() > 0.01:
            raise Wrong("dropout_in_eval", DROPS_IN_EVAL)
        text = "two calls give two answers in eval mode: make random numbers once, in __init__, as an nn.Parameter"
        raise Wrong("random_each_call", text)


def check_dropout(module: nn.Module) -> None:
    """Raise Wrong unless dropout of 0.5 acts behind the addition, in train mode alone."""
    x = torch.randn(2, 3, 64, 64)
    give_noise(module)
    if not torch.equal(module(x), module(x)):
        raise Wrong("dropout_in_eval", DROPS_IN_EVAL)
    module.train()
    z = module(x)
    zeros = (z == 0).float().mean().item()
    varies = not torch.equal(module(x), module(x))
    if not varies:
        raise Wrong(
            "no_dropout", "dropout does nothing in train mode: it comes last, behind the addition (Appendix B.1)"
        )
    tokens = prepended(module.class_embedding, module.patch_embedding(x))
    if ((z - tokens).abs() < 1e-6).float().mean() > 0.05:
        raise Wrong("dropout_on_positions", "dropout acts on the positions alone: it belongs behind the addition")
    if zeros < 0.01:
        raise Wrong("dropout_too_early", "dropout comes before the positions are added: it belongs behind the addition")
    if 0.7 < zeros < 0.8:
        text = f"with dropout = 0.5, {zeros:.0%} of z_0 is zero, which is 1 - 0.5 * 0.5: dropout acts twice"
        raise Wrong("dropout_twice", text)
    if not 0.45 < zeros < 0.55:
        raise Wrong(
            "dropout_ignored", f"with dropout = 0.5, {zeros:.0%} of z_0 is zero: hand the argument to nn.Dropout"
        )


# Exercise 3: sinusoidal_positions(rows, columns, dim)


def waves(places, dim, base=10_000.0, spacing=None, order=("sin", "cos"), stack=False):
    """(T,) -> (T, dim): sines, then cosines."""
    count = dim // 2
    frequencies = base ** (-torch.arange(count) / (spacing or count))
    angles = places.float()[:, None] * frequencies
    parts = [getattr(torch, name)(angles) for name in order]
    return torch.stack(parts, dim=-1).flatten(1) if stack else torch.cat(parts, dim=1)


def places(rows, columns):
    row = torch.arange(rows).repeat_interleave(columns)
    return row, torch.arange(columns).repeat(rows)


def two_d(rows, columns, dim, first=0, swap=False, **changes):
    row, column = (place + first for place in places(rows, columns))
    pair = (column, row) if swap else (row, column)
    return torch.cat([waves(place, dim // 2, **changes) for place in pair], dim=1)


def turned(rows, columns, dim):
    column, row = places(columns, rows)
    return torch.cat([waves(row, dim // 2), waves(column, dim // 2)], dim=1)


SINUSOID_MISTAKES = (
    Mistake(
        "one_dimension",
        "the places are counted along the sequence: give the row one half of the dimensions and the column the other",
        lambda rows, columns, dim: waves(torch.arange(rows * columns), dim),
    ),
    Mistake(
        "column_first",
        "the column has the first half: the row comes first",
        lambda rows, columns, dim: two_d(rows, columns, dim, swap=True),
    ),
    Mistake(
        "interleaved",
        "sines and cosines take turns: all sines first, then all cosines, in each half",
        lambda rows, columns, dim: two_d(rows, columns, dim, stack=True),
    ),
    Mistake(
        "cosine_first",
        "the cosines come first: sines first, in each half",
        lambda rows, columns, dim: two_d(rows, columns, dim, order=("cos", "sin")),
    ),
    Mistake(
        "sines_only",
        "there are sines in the cosines' places",
        lambda rows, columns, dim: two_d(rows, columns, dim, order=("sin", "sin")),
    ),
    Mistake(
        "from_one",
        "the places are counted from 1: the first row and column are 0",
        lambda rows, columns, dim: two_d(rows, columns, dim, first=1),
    ),
    Mistake(
        "sines_together",
        "the sines of y and x stand together: the order is sines of y, cosines of y, sines of x, cosines of x",
        lambda rows, columns, dim: torch.cat(
            two_d(rows, columns, dim).chunk(4, dim=1)[::2] + two_d(rows, columns, dim).chunk(4, dim=1)[1::2], dim=1
        ),
    ),
    *(
        Mistake(
            name,
            f"the frequencies are off: your exponent is -i / {divisor}, and it should be -i / (dim / 4), so that "
            "omega_1 = 10000^(-1 / (dim / 4)): each half has dim / 4 frequencies",
            lambda rows, columns, dim, spacing=spacing: two_d(rows, columns, dim, spacing=spacing(dim)),
        )
        for name, divisor, spacing in (
            ("frequencies_too_high", "(dim / 2)", lambda dim: dim // 2),
            ("exponent_of_dim", "dim", lambda dim: dim),
            ("last_frequency_reached", "(dim / 4 - 1)", lambda dim: dim // 4 - 1),
        )
    ),
    Mistake(
        "rising_frequencies",
        "the frequencies rise: the exponent is negative",
        lambda rows, columns, dim: two_d(rows, columns, dim, base=1 / 10_000.0),
    ),
    Mistake(
        "grid_turned",
        "the patches are listed column by column: reading order is row by row",
        turned,
    ),
    Mistake(
        "row_twice",
        "both halves hold the row: the second is the column's",
        lambda rows, columns, dim: torch.cat([waves(places(rows, columns)[0], dim // 2)] * 2, dim=1),
    ),
    Mistake(
        "summed",
        "row and column are added up: they stand side by side, half of the dimensions each",
        lambda rows, columns, dim: sum(waves(place, dim) for place in places(rows, columns)),
    ),
)


def check_frequency(row: torch.Tensor) -> None:
    """Raise Wrong where the row of patch (1, 0), with D = 16, has a right first frequency and another second one."""
    first, second = row[:2].clamp(-1, 1).asin().tolist()  # y = 1, so these are omega_0 and omega_1
    if abs(first - 1) < 1e-3 and abs(second - 0.1) > 1e-4:
        text = f"with D = 16, omega_1 is {second:.4g} in your table, and 10000^(-1 / (D / 4)) = 0.1 was expected"
        raise Wrong("frequencies", text)


@check
def sinusoidal_positions(attempt) -> str:
    """sinusoidal_positions(rows, columns, dim) -> (rows * columns, dim): the row's waves, then the column's."""
    cases = [(2, 3, 8), (5, 2, 12), (4, 4, 16)]
    try:
        passed = same_function(attempt, two_d, cases, "N D", SINUSOID_MISTAKES, gradients=False, tolerance=1e-4)
    except Wrong as wrong:
        if wrong.name in ("values", "some_rows"):
            check_frequency(attempt(2, 1, 16)[1])
        raise
    if attempt(2, 3, 8).requires_grad:
        raise Wrong(
            "learned",
            "the table is a learned parameter: it is computed alone, so return a tensor and no nn.Parameter",
        )
    return passed


# Exercise 4: a number


@check
def neighbour_similarity(attempt) -> str:
    """The cosine similarity of the sinusoidal positions of patches (7, 7) and (7, 8), grid 14 x 14, D = 192."""
    table = two_d(14, 14, 192)

    def similarity(one, other, of=table):
        return torch.cosine_similarity(of[one], of[other], dim=0).item()

    here, right, below_right, two_right = 7 * 14 + 7, 7 * 14 + 8, 8 * 14 + 8, 7 * 14 + 9
    wrongs = (
        (
            "diagonal",
            similarity(here, below_right),
            "this is the diagonal neighbour, (8, 8), or the column's half alone",
        ),
        ("two_apart", similarity(here, two_right), "this is two columns on, (7, 9)"),
        ("dot_product", (table[here] @ table[right]).item(), "this is the dot product: divide by both lengths"),
        (
            "dot_by_dim",
            (table[here] @ table[right]).item() / 192,
            "this is the dot product divided by D: divide by both lengths, whose product is D / 2",
        ),
        (
            "distance",
            (table[here] - table[right]).norm().item(),
            "this is the distance between the two: take the angle's cosine",
        ),
        (
            "mean_removed",
            similarity(here, right, table - table.mean(dim=0)),
            "this is with the mean position subtracted",
        ),
        (
            "one_dimension",
            similarity(here, right, waves(torch.arange(196), 192)),
            "this is with positions along the sequence",
        ),
    )
    why = (
        "The row's half is the same for both, and in the column's half only the fast waves have moved much: "
        "neighbours are alike, as Figure 7 of the paper shows for learned positions."
    )
    return same_number(attempt, similarity(here, right), wrongs, why, tolerance=6e-4)

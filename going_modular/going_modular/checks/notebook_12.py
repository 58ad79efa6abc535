"""Checks of notebook 12: a look inside. Those of its capstone are in capstone.py."""

import torch

from going_modular.going_modular.checks.compare import Mistake, same_function, same_number
from going_modular.going_modular.checks.verdict import check

# Exercise 1: rollout(maps)


def mixed(maps):
    """(B, L, k, T, T) -> each block's mixing with its residual, (B, L, T, T)."""
    return (maps.mean(dim=2) + torch.eye(maps.shape[-1])) / 2


def chain(layers, last_leftmost=True):
    """The product of (B, L, T, T) over the blocks, (B, T, T)."""
    product = layers[:, 0]
    for layer in layers.unbind(dim=1)[1:]:
        product = layer @ product if last_leftmost else product @ layer
    return product


def rolled(maps):
    return chain(mixed(maps))[:, 0, 1:]


def summing_to_1(values):
    return values / values.sum(dim=-1, keepdim=True)


ROLLOUT_MISTAKES = (
    Mistake(
        "first_block_leftmost",
        "the blocks stand in the wrong order: the last one acts last, so it stands leftmost, block @ rollout",
        lambda maps: chain(mixed(maps), last_leftmost=False)[:, 0, 1:],
    ),
    Mistake(
        "no_residual",
        "the identity is missing: on the residual path each token keeps what it has",
        lambda maps: chain(maps.mean(dim=2))[:, 0, 1:],
    ),
    Mistake(
        "not_halved",
        "A + I has rows that sum to 2: halve it, so that they sum to 1 again",
        lambda maps: chain(2 * mixed(maps))[:, 0, 1:],
    ),
    Mistake(
        "last_block_alone",
        "this is the last block alone: multiply through all blocks",
        lambda maps: maps[:, -1].mean(dim=1)[:, 0, 1:],
    ),
    Mistake(
        "last_block_alone",
        "this is the last block alone, with its residual: multiply through all blocks",
        lambda maps: mixed(maps)[:, -1, 0, 1:],
    ),
    Mistake(
        "mean_of_blocks",
        "the blocks are averaged: they act one after the other, so multiply them",
        lambda maps: mixed(maps).mean(dim=1)[:, 0, 1:],
    ),
    Mistake(
        "number_by_number",
        "the blocks are multiplied number by number: take the matrix product, @",
        lambda maps: mixed(maps).prod(dim=1)[:, 0, 1:],
    ),
    Mistake(
        "column",
        "this is column 0, what the class token gives to the patches: row 0 is what it takes",
        lambda maps: chain(mixed(maps))[:, 1:, 0],
    ),
    Mistake(
        "token_kept",
        "the class token's own share is still there: leave out the first entry of the row",
        lambda maps: chain(mixed(maps))[:, 0],
    ),
    Mistake(
        "last_left_out",
        "the row's last entry is left out: the class token's is the first, so take [:, 0, 1:]",
        lambda maps: chain(mixed(maps))[:, 0, :-1],
    ),
    Mistake(
        "largest_head",
        "the heads' largest weight is taken: rollout takes their mean",
        lambda maps: chain((maps.amax(dim=2) + torch.eye(maps.shape[-1])) / 2)[:, 0, 1:],
    ),
    Mistake(
        "summed_heads",
        "the heads are added up: rollout takes their mean",
        lambda maps: chain((maps.sum(dim=2) + torch.eye(maps.shape[-1])) / 2)[:, 0, 1:],
    ),
    Mistake(
        "first_head_alone",
        "this is the first head alone: rollout takes the mean of the heads",
        lambda maps: chain(mixed(maps[:, :, :1]))[:, 0, 1:],
    ),
    Mistake(
        "made_to_sum_to_1",
        "the patches' shares are made to sum to 1: leave them, the rest is what stays with the class token",
        lambda maps: summing_to_1(rolled(maps)),
    ),
    Mistake("all_rows", "all rows are there: the class token's is row 0", lambda maps: chain(mixed(maps))),
)


@check
def rollout(attempt) -> str:
    """rollout(maps): attention weights (B, L, k, N+1, N+1) -> how much of each patch reaches the class token (B, N)."""
    shapes = ((2, 3, 2, 5, 5), (1, 4, 3, 7, 7), (3, 2, 1, 4, 4))
    cases = [((2 * torch.randn(shape)).softmax(dim=-1),) for shape in shapes]
    return same_function(attempt, rolled, cases, "B N", ROLLOUT_MISTAKES)


# Exercise 2: patch_distances(attention, rows, columns, patch_size)


def between(rows, columns, length=lambda offsets: offsets.square().sum(dim=-1).sqrt()):
    """How far apart any two patches of a grid are, counted in patches, (N, N)."""
    places = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).float()
    return length(places[:, None] - places)


def distances(attention, rows, columns, patch_size):
    return (summing_to_1(attention[:, 1:, 1:]) * patch_size * between(rows, columns)).sum(dim=-1)


def with_length(length):
    def wrong(attention, rows, columns, patch_size):
        return (summing_to_1(attention[:, 1:, 1:]) * patch_size * between(rows, columns, length)).sum(dim=-1)

    return wrong


DISTANCE_MISTAKES = (
    Mistake(
        "not_made_to_sum_to_1",
        "the weights on the patches no longer sum to 1 without the class token: divide by their sum",
        lambda attention, rows, columns, patch_size: (attention[:, 1:, 1:] * patch_size * between(rows, columns)).sum(
            dim=-1
        ),
    ),
    Mistake(
        "last_left_out",
        "[:, :-1, :-1] leaves out the last patch and keeps the class token, which is token 0: [:, 1:, 1:]",
        lambda attention, rows, columns, patch_size: (
            summing_to_1(attention[:, :-1, :-1]) * patch_size * between(rows, columns)
        ).sum(dim=-1),
    ),
    Mistake(
        "in_patches",
        "these are steps from patch to patch: times patch_size they are pixels",
        lambda attention, rows, columns, patch_size: distances(attention, rows, columns, 1),
    ),
    Mistake(
        "no_root",
        "these are squares of distances: take the root before you average",
        with_length(lambda offsets: offsets.square().sum(dim=-1)),
    ),
    Mistake(
        "along_the_streets",
        "rows and columns are added up: the straight line is the root of the sum of squares",
        with_length(lambda offsets: offsets.abs().sum(dim=-1)),
    ),
    Mistake(
        "along_the_sequence",
        "the distance is counted along the sequence: patches have a row and a column",
        lambda attention, rows, columns, patch_size: distances(attention, 1, rows * columns, patch_size),
    ),
    Mistake(
        "grid_turned",
        "rows and columns are exchanged: patch n stands in row n // columns",
        lambda attention, rows, columns, patch_size: distances(attention, columns, rows, patch_size),
    ),
    Mistake(
        "keys_in_place_of_queries",
        "the sum runs over the queries: a row of weights is a query's, so sum over dim=-1",
        lambda attention, rows, columns, patch_size: (
            summing_to_1(attention[:, 1:, 1:]) * patch_size * between(rows, columns)
        ).sum(dim=-2),
    ),
    Mistake(
        "mean_over_patches",
        "the patches are averaged: keep them apart, (k, N)",
        lambda *inputs: distances(*inputs).mean(dim=-1),
    ),
    Mistake(
        "mean_over_heads",
        "the heads are averaged: keep them apart, (k, N)",
        lambda *inputs: distances(*inputs).mean(dim=0),
    ),
    Mistake(
        "divided_by_n",
        "a mean over the keys divides by N, though the weights sum to 1 already: take the sum",
        lambda attention, *rest: distances(attention, *rest) / (attention.shape[-1] - 1),
    ),
)


@check
def patch_distances(attempt) -> str:
    """patch_distances(attention, rows, columns, patch_size): (k, N+1, N+1) -> each patch's mean distance (k, N)."""
    cases = []
    for heads, rows, columns, patch_size in ((2, 2, 3, 16), (3, 4, 2, 8), (1, 3, 3, 14)):
        tokens = rows * columns + 1
        cases.append((torch.randn(heads, tokens, tokens).softmax(dim=-1), rows, columns, patch_size))
    return same_function(attempt, distances, cases, "k N", DISTANCE_MISTAKES)


# Exercise 3: a number


@check
def corner_to_middle(attempt) -> str:
    """Even attention, 14 x 14 patches: the corner patch's mean distance over that of patch (7, 7)."""
    of_patch = between(14, 14).mean(dim=-1).view(14, 14)
    corner, edge, middle = of_patch[0, 0].item(), of_patch[0, 7].item(), of_patch[7, 7].item()
    wrongs = (
        ("upside_down", middle / corner, "this is the middle over the corner: the other way round"),
        ("edge", edge / middle, "this is for the patch in the middle of an edge, (0, 7): the corner is (0, 0)"),
        ("mean_of_all", of_patch.mean().item() / middle, "this is for the mean of all patches: take the corner's"),
        ("over_the_mean", corner / of_patch.mean().item(), "this is over the mean of all patches: divide by (7, 7)'s"),
        ("corner_in_pixels", 16 * corner, "this is the corner's distance in pixels: divide by that of patch (7, 7)"),
        ("middle_in_pixels", 16 * middle, "this is the distance of patch (7, 7) in pixels: the ratio is asked"),
        ("corner_in_patches", corner, "this is the corner's distance in patches: divide by that of patch (7, 7)"),
        ("difference", 16 * (corner - middle), "this is the difference in pixels: the ratio is asked"),
        ("squared", (corner / middle) ** 2, "this is the square of the ratio: squared distances were averaged"),
        ("even", 1.0, "then place wouldn't matter: a corner has patches on one side only, and they are further away"),
    )
    why = (
        "The same weights, and nearly twice the distance: so a head's distances are compared with even attention at "
        "the same place, as section 12.10 does for the mean."
    )
    return same_number(attempt, corner / middle, wrongs, why, tolerance=6e-3)

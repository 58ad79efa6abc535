"""Checks of notebook 12: a look inside. Those of its capstone are in capstone_*.py."""

import torch

from going_modular.going_modular.checks.compare import Mistake, same_function, same_number
from going_modular.going_modular.checks.verdict import Wrong, check

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


def rolled_by_sums(maps):
    """As `rolled`, each row of A + I divided by its own sum, which is 2: the same numbers, and other gradients."""
    return chain(summing_to_1(2 * mixed(maps)))[:, 0, 1:]


def identity(maps):
    return torch.eye(maps.shape[-1])


def first_without_identity(maps):
    layers = mixed(maps)
    return chain(torch.cat((maps[:, :1].mean(dim=2), layers[:, 1:]), dim=1))[:, 0, 1:]


def added_to_the_product(maps):
    """The identity is added to what came out so far, not to the block."""
    product = mixed(maps)[:, 0]
    for layer in maps.mean(dim=2).unbind(dim=1)[1:]:
        product = (layer @ product + identity(maps)) / 2
    return product[:, 0, 1:]


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
        "no_residual",
        "the blocks are halved, and the identity is missing: on the residual path each token keeps what it has",
        lambda maps: chain(maps.mean(dim=2) / 2)[:, 0, 1:],
    ),
    Mistake(
        "half_halved",
        "the division halves the identity alone: put A + I into brackets",
        lambda maps: chain(maps.mean(dim=2) + identity(maps) / 2)[:, 0, 1:],
    ),
    Mistake(
        "identity_added_once",
        "the identity is added once, to the product: each block has a residual path, so add it before you multiply",
        lambda maps: (chain(maps.mean(dim=2)) + identity(maps))[:, 0, 1:] / 2,
    ),
    Mistake(
        "identity_added_once",
        "the identity is added to what came out so far: each block's own mixing is (A + I) / 2, then multiply",
        added_to_the_product,
    ),
    Mistake(
        "first_without_identity",
        "the first block has no identity: it has a residual path like the others",
        first_without_identity,
    ),
    Mistake(
        "ones_in_place_of_identity",
        "ones everywhere are added, and the identity has them on its diagonal alone: torch.eye",
        lambda maps: chain((maps.mean(dim=2) + 1) / 2)[:, 0, 1:],
    ),
    Mistake(
        "ones_in_place_of_identity",
        "ones everywhere are added, and the identity has them on its diagonal alone: torch.eye",
        lambda maps: chain(summing_to_1(maps.mean(dim=2) + 1))[:, 0, 1:],
    ),
    Mistake(
        "columns_sum_to_1",
        "the columns are made to sum to 1: it is the rows that do, and to halve A + I is enough",
        lambda maps: chain(summing_to_1(2 * mixed(maps).transpose(2, 3)).transpose(2, 3))[:, 0, 1:],
    ),
    Mistake(
        "block_missing",
        "the last block is missing: multiply through all of them",
        lambda maps: rolled(maps[:, :-1]),
    ),
    Mistake(
        "block_missing",
        "the first block is missing: multiply through all of them",
        lambda maps: rolled(maps[:, 1:]),
    ),
    Mistake(
        "first_picture_alone",
        "every picture gets the first one's map: keep the batch, (B, N+1, N+1), through the product",
        lambda maps: rolled(maps[:1]).expand(len(maps), -1),
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
    shapes = ((2, 3, 3, 5, 5), (1, 4, 2, 7, 7), (3, 2, 1, 4, 4))
    cases = [((2 * torch.randn(shape)).softmax(dim=-1),) for shape in shapes]
    try:
        return same_function(attempt, rolled, cases, "B N", ROLLOUT_MISTAKES)
    except Wrong as wrong:
        if wrong.name != "gradient":
            raise
    return same_function(attempt, rolled_by_sums, cases, "B N", ROLLOUT_MISTAKES)


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


def with_weights(weigh):
    """The right distances, and other weights, from the patches' (k, N, N)."""
    return lambda attention, rows, columns, patch_size: (
        weigh(attention[:, 1:, 1:]) * patch_size * between(rows, columns)
    ).sum(dim=-1)


def without_itself(weights):
    return summing_to_1(weights * (1 - torch.eye(weights.shape[-1])))


def root_of_mean(attention, rows, columns, patch_size):
    squares = (patch_size * between(rows, columns)).square()
    return (summing_to_1(attention[:, 1:, 1:]) * squares).sum(dim=-1).sqrt()


def to_mean_place(attention, rows, columns, patch_size):
    places = patch_size * torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).float()
    return (summing_to_1(attention[:, 1:, 1:]) @ places - places).square().sum(dim=-1).sqrt()


def squared_pixels(attention, rows, columns, patch_size):
    squares = (patch_size * between(rows, columns)).square()
    return (summing_to_1(attention[:, 1:, 1:]) * squares).sum(dim=-1)


DISTANCE_MISTAKES = (
    Mistake(
        "columns_sum_to_1",
        "each column is made to sum to 1: a row holds one query's weights, so divide by the sum over dim=-1",
        with_weights(lambda weights: weights / weights.sum(dim=-2, keepdim=True)),
    ),
    Mistake(
        "one_sum",
        "one sum over all rows makes the rows sum to 1 on average: each row has a sum of its own, dim=-1, keepdim=True",
        with_weights(lambda weights: weights.shape[-1] * weights / weights.sum(dim=(-2, -1), keepdim=True)),
    ),
    Mistake(
        "softmax_again",
        "a second softmax makes the weights nearly even: they are shares already, so divide each row by its sum",
        with_weights(lambda weights: weights.softmax(dim=-1)),
    ),
    Mistake(
        "itself_left_out",
        "a patch's weight on itself is left out: it is one of all patches, at distance 0",
        with_weights(without_itself),
    ),
    Mistake(
        "root_of_mean",
        "the root is taken of the mean of squares: take it of each distance, and average then",
        root_of_mean,
    ),
    Mistake(
        "to_mean_place",
        "this is how far away the mean of the places is: average distances, not places, or left and right cancel out",
        to_mean_place,
    ),
    Mistake("no_root", "these are squares of distances: take the root before you average", squared_pixels),
    Mistake(
        "longer_side",
        "the larger of the steps down and across is taken: the straight line is the root of the sum of squares",
        with_length(lambda offsets: offsets.abs().amax(dim=-1)),
    ),
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
    of_square = between(14, 14, lambda offsets: offsets.square().sum(dim=-1)).mean(dim=-1)
    of_street = between(14, 14, lambda offsets: offsets.abs().sum(dim=-1)).mean(dim=-1)
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
        ("squared", (corner / middle) ** 2, "this is the square of the ratio"),
        (
            "squared",
            of_square[0].item() / of_square[105].item(),
            "squared distances were averaged: take the root first",
        ),
        (
            "along_the_streets",
            of_street[0].item() / of_street[105].item(),
            "rows and columns were added up: the straight line is the root of the sum of squares",
        ),
        (
            "counted_with_token",
            corner / of_patch[7, 8].item(),
            "this is over patch (7, 8): your function has no class token in its result, so (7, 7) is number 7 * 14 + 7",
        ),
        ("other_place", corner / of_patch[3, 7].item(), "this is over number 49: patch (7, 7) is number 7 * 14 + 7"),
        (
            "edge_below",
            corner / edge,
            "this is over patch number 7, in the middle of an edge: patch (7, 7) is number 7 * 14 + 7",
        ),
        ("even", 1.0, "then place wouldn't matter: a corner has patches on one side only, and they are further away"),
    )
    why = (
        "The same weights, and nearly twice the distance: so a head's distances are compared with even attention at "
        "the same place, as section 12.10 does for the mean."
    )
    return same_number(attempt, corner / middle, wrongs, why, tolerance=6e-3)

"""checks, notebook 12: what is right passes, and each wrong version gets its own verdict."""

import pytest
import torch
from check_tools import expect, wrong_versions


def rollout(
    join=None, read=lambda product: product[:, 0, 1:], heads=lambda maps: maps.mean(dim=2), residual=True, half=2
):
    """An attempt: the blocks' mixings joined one after the other, with one thing done in another way."""

    def roll(maps):
        layers = heads(maps)
        layers = (layers + torch.eye(maps.shape[-1])) / half if residual else layers
        product = layers[:, 0]
        for number in range(1, layers.shape[1]):
            product = (join or (lambda layer, so_far: layer @ so_far))(layers[:, number], product)
        return read(product)

    return roll


def last_block(maps):
    return maps[:, -1].mean(dim=1)[:, 0, 1:]


def of_all(maps):
    product = rollout(read=lambda product: product)(maps)
    return product[:, 0, 1:] / product[:, 0, 1:].sum(dim=1, keepdim=True)


def averaged(maps):
    return ((maps.mean(dim=(1, 2)) + torch.eye(maps.shape[-1])) / 2)[:, 0, 1:]


def by_row_sums(dim):
    """A + I, divided by its own sums: over the rows, as the paper's code does, or over the columns."""

    def roll(maps):
        layers = maps.mean(dim=2) + torch.eye(maps.shape[-1])
        layers = layers / layers.sum(dim=dim, keepdim=True)
        product = layers[:, 0]
        for number in range(1, layers.shape[1]):
            product = layers[:, number] @ product
        return product[:, 0, 1:]

    return roll


def added_once(maps):
    product = rollout(residual=False, read=lambda product: product)(maps)
    return ((product + torch.eye(maps.shape[-1])) / 2)[:, 0, 1:]


def begins_bare(maps):
    """The loop begins with the first block as it is."""
    product = maps[:, 0].mean(dim=1)
    for layer in maps.mean(dim=2).unbind(dim=1)[1:]:
        product = (layer + torch.eye(maps.shape[-1])) / 2 @ product
    return product[:, 0, 1:]


def brackets_forgotten(maps):
    layers = maps.mean(dim=2) + torch.eye(maps.shape[-1]) / 2
    product = layers[:, 0]
    for layer in layers.unbind(dim=1)[1:]:
        product = layer @ product
    return product[:, 0, 1:]


def ones(normalise):
    def roll(maps):
        layers = maps.mean(dim=2) + torch.ones(maps.shape[-1], maps.shape[-1])
        layers = layers / layers.sum(dim=-1, keepdim=True) if normalise else layers / 2
        product = layers[:, 0]
        for layer in layers.unbind(dim=1)[1:]:
            product = layer @ product
        return product[:, 0, 1:]

    return roll


ROLLOUT = wrong_versions(
    "rollout",
    ("first_block_leftmost", rollout(join=lambda layer, so_far: so_far @ layer)),
    ("no_residual", rollout(residual=False)),
    ("no_residual", lambda maps: rollout(residual=False)(maps / 2)),
    ("half_halved", brackets_forgotten),
    ("identity_added_once", added_once),
    ("identity_added_once", rollout(join=lambda layer, so_far: (2 * layer - torch.eye(len(layer[0]))) @ so_far / 2 + torch.eye(len(layer[0])) / 2)),
    ("first_without_identity", begins_bare),
    ("ones_in_place_of_identity", ones(normalise=False)),
    ("ones_in_place_of_identity", ones(normalise=True)),
    ("columns_sum_to_1", by_row_sums(dim=-2)),
    ("block_missing", lambda maps: rollout()(maps[:, :-1])),
    ("block_missing", lambda maps: rollout()(maps[:, 1:])),
    ("first_picture_alone", lambda maps: rollout()(maps[:1]).repeat(len(maps), 1)),
    ("not_halved", rollout(half=1)),
    ("last_block_alone", last_block),
    ("last_block_alone", rollout(join=lambda layer, so_far: layer)),
    ("mean_of_blocks", averaged),
    ("number_by_number", rollout(join=lambda layer, so_far: layer * so_far)),
    ("column", rollout(read=lambda product: product[:, 1:, 0])),
    ("token_kept", rollout(read=lambda product: product[:, 0])),
    ("last_left_out", rollout(read=lambda product: product[:, 0, :-1])),
    ("all_rows", rollout(read=lambda product: product)),
    ("largest_head", rollout(heads=lambda maps: maps.max(dim=2).values)),
    ("summed_heads", rollout(heads=lambda maps: maps.sum(dim=2))),
    ("first_head_alone", rollout(heads=lambda maps: maps[:, :, 0])),
    ("made_to_sum_to_1", of_all),
    ("detached", torch.no_grad()(rollout())),
    ("error", lambda maps: maps @ maps.mean(dim=1)),
    ("not_attempted", lambda maps: None),
)  # fmt: skip


def straight(y, x):
    return (y**2 + x**2).sqrt()


def far(
    length=straight, cut=slice(1, None), scale=lambda size: size, turn=False, sums=True, end=lambda each: each.sum(-1)
):
    """An attempt: distances weighted by attention, with one thing done in another way."""

    def patch_distances(attention, rows, columns, patch_size):
        number = torch.arange(rows * columns)
        y, x = number // (rows if turn else columns), number % (rows if turn else columns)
        lengths = length((y[:, None] - y).float(), (x[:, None] - x).float())
        weights = attention[:, cut, cut]
        weights = weights / weights.sum(dim=-1, keepdim=True) if sums else weights
        return end(weights * lengths * scale(patch_size))

    return patch_distances


def in_line(attention, rows, columns, patch_size):
    number = torch.arange(rows * columns)
    weights = attention[:, 1:, 1:] / attention[:, 1:, 1:].sum(dim=-1, keepdim=True)
    return (weights * patch_size * (number[:, None] - number).abs()).sum(dim=-1)


def weighed(function):
    """An attempt with other weights, of the patches' (k, N, N)."""

    def patch_distances(attention, rows, columns, patch_size):
        weights = torch.zeros_like(attention)
        weights[:, 1:, 1:] = function(attention[:, 1:, 1:])
        return far(sums=False)(weights, rows, columns, patch_size)

    return patch_distances


def not_itself(weights):
    weights = weights * (1 - torch.eye(weights.shape[-1]))
    return weights / weights.sum(dim=-1, keepdim=True)


def mean_place(attention, rows, columns, patch_size):
    number = torch.arange(rows * columns)
    places = patch_size * torch.stack((number // columns, number % columns), dim=1).float()
    weights = attention[:, 1:, 1:] / attention[:, 1:, 1:].sum(dim=-1, keepdim=True)
    return (weights @ places - places).norm(dim=-1)


DISTANCES = wrong_versions(
    "patch_distances",
    ("not_made_to_sum_to_1", far(sums=False)),
    ("last_left_out", far(cut=slice(None, -1))),
    ("in_patches", far(scale=lambda size: 1)),
    ("no_root", far(lambda y, x: y**2 + x**2)),
    ("no_root", far(lambda y, x: y**2 + x**2, scale=lambda size: size**2)),
    ("root_of_mean", far(lambda y, x: y**2 + x**2, scale=lambda size: size**2, end=lambda each: each.sum(-1).sqrt())),
    ("longer_side", far(lambda y, x: torch.maximum(y.abs(), x.abs()))),
    ("to_mean_place", mean_place),
    ("columns_sum_to_1", weighed(lambda weights: weights / weights.sum(dim=-2, keepdim=True))),
    ("one_sum", weighed(lambda weights: weights.shape[-1] * weights / weights.sum(dim=(-2, -1), keepdim=True))),
    ("softmax_again", weighed(lambda weights: weights.softmax(dim=-1))),
    ("itself_left_out", weighed(not_itself)),
    ("along_the_streets", far(lambda y, x: y.abs() + x.abs())),
    ("along_the_sequence", in_line),
    ("grid_turned", far(turn=True)),
    ("keys_in_place_of_queries", far(end=lambda each: each.sum(dim=-2))),
    ("mean_over_patches", far(end=lambda each: each.sum(dim=-1).mean(dim=-1))),
    ("mean_over_heads", far(end=lambda each: each.sum(dim=-1).mean(dim=0))),
    ("divided_by_n", far(end=lambda each: each.mean(dim=-1))),
    ("error", far(cut=slice(None))),
    ("detached", torch.no_grad()(far())),
    ("signature", lambda attention: attention),
)  # fmt: skip

NUMBER = wrong_versions(
    "corner_to_middle",
    ("upside_down", 0.534),
    ("edge", 1.474),
    ("mean_of_all", 1.354),
    ("over_the_mean", 1.382),
    ("corner_in_pixels", 161.03),
    ("middle_in_pixels", 86.02),
    ("corner_in_patches", 10.064),
    ("difference", 75.01),
    ("squared", 3.504),
    ("squared", 3.5455),
    ("along_the_streets", 1.857),
    ("counted_with_token", 1.829),
    ("other_place", 1.643),
    ("edge_below", 1.270),
    ("even", 1),
    ("other_number", 2.5),
)


@pytest.mark.parametrize("exercise, name, attempt", [*ROLLOUT, *DISTANCES, *NUMBER])
def test_wrong_versions(exercise, name, attempt):
    expect(exercise, name, attempt)


@pytest.mark.parametrize(
    "exercise, attempt",
    [
        ("rollout", rollout()),
        ("rollout", by_row_sums(dim=-1)),
        ("patch_distances", far()),
        ("corner_to_middle", 1.87),
    ],
)
def test_right_versions(exercise, attempt):
    assert expect(exercise, "passed", attempt).passed

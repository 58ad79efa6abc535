"""checks, notebook 10: what is right passes, and each wrong version gets its own verdict."""

import copy

import pytest
import torch
import torch.nn.functional as F
from check_tools import expect, wrong_versions
from torch import nn
from torchvision import models, transforms

from going_modular.going_modular.data_setup import create_transform
from going_modular.going_modular.vit import ViT


def zeros(inside, out, bias=True):
    head = nn.Linear(inside, out, bias=bias)
    for parameter in head.parameters():
        nn.init.zeros_(parameter)
    return head


def head(make=zeros, freeze=lambda vit: vit.requires_grad_(False), after=lambda vit: None, width=None, classes=None):
    """An attempt: freeze, attach what `make` gives, and do one thing more."""

    def new_head(vit, num_classes):
        freeze(vit)
        vit.classifier[1] = make(width or vit.classifier[1].in_features, classes or num_classes)
        after(vit)
        return vit

    return new_head


def whole_classifier(vit, num_classes):
    vit.requires_grad_(False)
    vit.classifier = zeros(vit.classifier[1].in_features, num_classes)
    return vit


def fresh_layer_norm(vit, num_classes):
    vit.requires_grad_(False)
    d = vit.classifier[1].in_features
    vit.classifier = nn.Sequential(nn.LayerNorm(d), zeros(d, num_classes))
    return vit


def appended(vit, num_classes):
    vit.requires_grad_(False)
    vit.classifier.append(zeros(vit.classifier[1].out_features, num_classes))
    return vit


def beside(vit, num_classes):
    vit.requires_grad_(False)
    vit.head = zeros(vit.classifier[1].in_features, num_classes)
    return vit


def built_anew(vit, num_classes):
    return head()(ViT(**{**vit.config, "num_classes": num_classes}), num_classes)


def zeroed_classifier(vit):
    for parameter in vit.classifier.parameters():
        nn.init.zeros_(parameter)


def two_layers(inside, out):
    return nn.Sequential(nn.Linear(inside, inside), nn.Tanh(), zeros(inside, out))


HEAD = wrong_versions(
    "new_head",
    ("nothing_frozen", head(freeze=lambda vit: None)),
    ("head_frozen", head(freeze=lambda vit: None, after=lambda vit: vit.requires_grad_(False))),
    ("layer_norm_learns", head(after=lambda vit: vit.classifier.requires_grad_(True))),
    ("part_learns", head(freeze=lambda vit: vit.transformer_encoder.requires_grad_(False))),
    ("random_head", head(make=nn.Linear)),
    ("layer_norm_lost", whole_classifier),
    ("layer_norm_lost", fresh_layer_norm),
    ("layer_norm_changed", head(make=nn.Linear, after=zeroed_classifier)),
    ("head_on_head", appended),
    ("old_head", beside),
    ("old_head", lambda vit, num_classes: vit.requires_grad_(False)),
    ("classes_ignored", head(classes=10)),
    ("width_fixed", head(width=768)),
    ("no_bias", head(make=lambda inside, out: zeros(inside, out, bias=False))),
    ("no_linear", head(make=two_layers)),
    ("backbone_changed", built_anew),
    ("backbone_changed", head(after=lambda vit: nn.init.zeros_(vit.position_embedding))),
    ("other_type", lambda vit, num_classes: head()(vit, num_classes).classifier[1]),
    ("not_attempted", lambda vit, num_classes: None),
    ("signature", lambda vit: vit),
)


def grid(positions):
    side = int((positions.shape[1] - 1) ** 0.5)
    return positions[0, 1:].T.reshape(1, -1, side, side)


def finish(positions, square, token_first=True):
    patches = square[0].flatten(1).T[None]
    return torch.cat((positions[:, :1], patches) if token_first else (patches, positions[:, :1]), dim=1)


def stretch(size=lambda rows, columns: (rows, columns), out=finish, square=grid, **settings):
    settings = {"mode": "bicubic", "align_corners": True, **settings}

    def stretch_positions(positions, rows, columns):
        return out(positions, F.interpolate(square(positions), size=size(rows, columns), **settings))

    return stretch_positions


def one_row(mode, **settings):
    def stretch_positions(positions, rows, columns):
        row = F.interpolate(positions[:, 1:].mT, size=rows * columns, mode=mode, **settings)
        return torch.cat((positions[:, :1], row.mT), dim=1)

    return stretch_positions


def reshaped_back(positions, square):
    return torch.cat((positions[:, :1], square.reshape(1, -1, positions.shape[2])), dim=1)


def token_too(positions, rows, columns):
    return F.interpolate(positions.mT, size=rows * columns + 1, mode="linear", align_corners=True).mT


def only_where_the_number_differs(positions, rows, columns):
    return positions if rows * columns == positions.shape[1] - 1 else stretch()(positions, rows, columns)


def reshaped_grid(positions):
    return positions[:, 1:].reshape(grid(positions).shape)


def token_last(out):
    """The last row taken for the class token's, and put in front or back at the end."""

    def stretch_positions(positions, rows, columns):
        turned = torch.cat((positions[:, -1:], positions[:, :-1]), dim=1)
        return stretch(out=out)(turned, rows, columns)

    return stretch_positions


def one_row_of_a_map(positions, rows, columns):
    row = positions[:, 1:].mT[:, :, None]
    row = F.interpolate(row, size=(1, rows * columns), mode="bicubic", align_corners=True)
    return torch.cat((positions[:, :1], row[:, :, 0].mT), dim=1)


STRETCH = wrong_versions(
    "stretch_positions",
    ("as_a_row", one_row("linear", align_corners=True)),
    ("as_a_row", one_row("linear")),
    ("as_a_row", one_row("nearest")),
    ("as_a_row", one_row_of_a_map),
    ("left_alone", only_where_the_number_differs),
    ("last_row_as_token", token_last(finish)),
    ("last_row_as_token", token_last(lambda p, square: finish(p, square, token_first=False))),
    ("square_by_columns", stretch(square=lambda p: grid(p).mT)),
    ("reshaped_twice", stretch(square=reshaped_grid, out=reshaped_back)),
    ("class_token_lost", stretch(out=lambda positions, square: square.flatten(2).mT)),
    ("token_at_the_end", stretch(out=lambda p, square: finish(p, square, token_first=False))),
    ("corners_move", stretch(align_corners=False)),
    ("bilinear", stretch(mode="bilinear")),
    ("bilinear", stretch(mode="bilinear", align_corners=None)),
    ("nearest", stretch(mode="nearest", align_corners=None)),
    ("grid_turned", stretch(size=lambda rows, columns: (columns, rows))),
    ("column_order", stretch(out=lambda positions, square: finish(positions, square.mT))),
    ("reshaped", stretch(square=lambda p: p[:, 1:].reshape(grid(p).shape))),
    ("reshaped_back", stretch(out=reshaped_back)),
    ("row_with_token", token_too),
    ("shape", lambda positions, rows, columns: positions),
    ("detached", torch.no_grad()(stretch())),
)

SIZES = {"B": "ViT-B", "L": "ViT-L", "H": "ViT-H"}


def fitting(weights, variant=None, classes=1000, side=None, transform=None, **changes):
    _, size, patch, _ = type(weights).__name__.split("_")
    vit = ViT.from_variant(variant or f"{SIZES[size]}/{patch}", classes, side or weights.transforms().crop_size[0])
    vit = ViT(**{**vit.config, **changes}) if changes else vit
    return vit, transform(weights) if transform else weights.transforms()


def entry(**changes):
    return lambda weights: fitting(weights, **changes)


def same_patch_any_size(weights):
    patch = 16 if "_16_" in type(weights).__name__ else 32
    return fitting(weights, variant=f"ViT-B/{patch}")


def with_transform(function):
    return entry(transform=lambda weights: function(weights.transforms()))


def to_range(own):
    return transforms.Compose(
        [transforms.Resize(own.resize_size), transforms.CenterCrop(own.crop_size), transforms.ToTensor()]
    )


def bilinear(own):
    own = copy.copy(own)
    own.resize_size, own.interpolation = [own.resize_size[0] + 32], transforms.InterpolationMode.NEAREST
    return own


FITTING = wrong_versions(
    "vit_for",
    ("img_size_ignored", entry(side=224)),
    ("patch_size_ignored", entry(variant="ViT-B/16")),
    ("sizes_ignored", same_patch_any_size),
    ("heads_ignored", entry(num_heads=4)),
    ("classes_ignored", entry(classes=3)),
    ("transform_not_built", entry(transform=lambda weights: weights.transforms)),
    ("other_size", entry(transform=lambda weights: models.ViT_B_16_Weights.IMAGENET1K_V1.transforms())),
    ("other_normalisation", with_transform(lambda own: create_transform(own.crop_size[0]))),
    ("not_normalised", with_transform(to_range)),
    ("other_numbers", with_transform(lambda own: transforms.Compose([own, lambda image: 255 * image]))),
    ("other_transform", with_transform(bilinear)),
    ("no_transform", entry(transform=lambda weights: weights.meta)),
    ("no_transform", with_transform(lambda own: transforms.Resize(own.crop_size))),
    ("other_type", lambda weights: (models.vit_b_16(), weights.transforms())),
    ("exchanged", lambda weights: fitting(weights)[::-1]),
    ("not_a_pair", lambda weights: fitting(weights)[0]),
    ("not_attempted", lambda weights: None),
)  # fmt: skip

NUMBER = wrong_versions(
    "images_needed",
    ("here", 75),
    ("one_step_too_few", 1530),
    ("half_width", 385),
    ("one_point_a_side", 6145),
    ("right_answers", 1228),
    ("plain_interval", 1540),
    ("four_points", 2500),
    ("one_model_a_point", 100),
    ("other_number", 3000),
)


@pytest.mark.parametrize("exercise, name, attempt", [*HEAD, *STRETCH, *FITTING, *NUMBER])
def test_wrong_versions(exercise, name, attempt):
    expect(exercise, name, attempt)


@pytest.mark.parametrize(
    "exercise, attempt",
    [
        ("new_head", head()),
        ("new_head", head(freeze=lambda vit: None, after=lambda vit: vit.requires_grad_(False).classifier[1].requires_grad_(True))),
        ("stretch_positions", stretch()),
        ("vit_for", fitting),
        ("images_needed", 1535),
    ],
)  # fmt: skip
def test_right_versions(exercise, attempt):
    assert expect(exercise, "passed", attempt).passed

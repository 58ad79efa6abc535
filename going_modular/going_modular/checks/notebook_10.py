"""Checks of notebook 10: pretrained weights."""

import functools
import math

import torch
import torch.nn.functional as F
from torch import nn

from going_modular.going_modular.checks.attempt import guarded, result_of
from going_modular.going_modular.checks.compare import Mistake, close, give_noise, same_function, same_number
from going_modular.going_modular.checks.notebook_08 import SMALL, TINY
from going_modular.going_modular.checks.verdict import Wrong, check
from going_modular.going_modular.vit import ViT

# Exercise 1: new_head(vit, num_classes)


@check
def new_head(attempt) -> str:
    """new_head(vit, num_classes) -> the ViT, its backbone frozen, with a linear head that starts at zero."""
    for config, classes in ((TINY, 4), (SMALL, 7)):
        vit, dim = give_noise(ViT(**config)), config["embedding_dim"]
        norm = vit.classifier[0]
        before = {name: value.clone() for name, value in vit.state_dict().items()}
        where = f"a ViT with D = {dim} and {config['num_classes']} classes, num_classes = {classes}"
        result = result_of(attempt, vit, classes, what=where)
        if not isinstance(result, ViT):
            text = f"your function returns a {type(result).__name__}: return the ViT that it was given"
            raise Wrong("other_type", text)
        check_head(result, dim, config["num_classes"], classes)
        check_backbone(result, before, norm)
        check_frozen(result)
        check_zeros(result.classifier[1])
        images = torch.randn(3, 3, *result.img_size)
        logits = guarded(lambda result=result, images=images: result(images), where)
        logits.square().sum().add(logits.sum()).backward()
        if not result.classifier[1].weight.grad.any():
            raise Wrong("detached", "no gradient reaches the new head: leave out detach() and no_grad()")
    return "Right for two models: D x K + K parameters learn, from zero, and everything else stays as it was."


def check_head(vit: ViT, dim: int, old: int, classes: int) -> None:
    """Raise Wrong unless vit.classifier is a LayerNorm and a linear layer for that many classes."""
    classifier = vit.classifier
    if not isinstance(classifier, nn.Sequential) or not isinstance(classifier[0], nn.LayerNorm):
        text = (
            "vit.classifier is replaced whole, and with it the LayerNorm of Equation 4: it is pretrained too, so "
            "replace vit.classifier[1] alone"
        )
        raise Wrong("layer_norm_lost", text)
    if len(classifier) > 2:
        text = "the new layer stands behind the old head and reads its logits: it takes the old head's place"
        raise Wrong("head_on_head", text)
    head = classifier[1]
    if not isinstance(head, nn.Linear):
        text = f"the head is a {type(head).__name__}, and one linear layer was expected (section 3.2)"
        raise Wrong("no_linear", text)
    if head.out_features == old:
        raise Wrong("old_head", f"the head still answers for the old {old} classes: assign a new vit.classifier[1]")
    if head.out_features != classes:
        text = f"the head answers for {head.out_features} classes, and num_classes = {classes}: hand it on"
        raise Wrong("classes_ignored", text)
    if head.in_features != dim:
        text = f"the head reads {head.in_features} numbers, and y of Equation 4 has D = {dim}: ask the old head's size"
        raise Wrong("width_fixed", text)
    if head.bias is None:
        raise Wrong("no_bias", "the head has no bias: D x K weights and K biases")


def check_backbone(vit: ViT, before: dict, norm: nn.LayerNorm) -> None:
    """Raise Wrong where anything but the head has other numbers than before."""
    for name, value in vit.state_dict().items():
        if name.startswith("classifier.1."):
            continue
        if not torch.equal(value, before[name]):
            if name.startswith("classifier.0.") and vit.classifier[0] is norm:
                text = "the LayerNorm of Equation 4 has other numbers than before: the new head alone starts at zero"
                raise Wrong("layer_norm_changed", text)
            if name.startswith("classifier.0."):
                text = "the LayerNorm of Equation 4 is a new one: it is pretrained as well, so leave it in its place"
                raise Wrong("layer_norm_lost", text)
            raise Wrong("backbone_changed", f"{name} has other numbers than before: pretrained weights are to stay")


def check_frozen(vit: ViT) -> None:
    """Raise Wrong unless the head learns, and nothing else does."""
    learns = {name for name, parameter in vit.named_parameters() if parameter.requires_grad}
    head = {"classifier.1.weight", "classifier.1.bias"}
    if learns == head:
        return
    if len(learns) == len(list(vit.parameters())):
        raise Wrong("nothing_frozen", "every parameter still learns: set requires_grad to False in the backbone")
    if not head <= learns:
        text = "the new head is frozen, too: freeze first, then attach the head, or set its requires_grad to True"
        raise Wrong("head_frozen", text)
    if learns - head <= {"classifier.0.weight", "classifier.0.bias"}:
        text = "the LayerNorm of Equation 4 still learns: vit.classifier holds it beside the head, so freeze it as well"
        raise Wrong("layer_norm_learns", text)
    rest = sorted(learns - head)
    raise Wrong("part_learns", f"{len(rest)} parameters of the backbone still learn, {rest[0]} among them")


def check_zeros(head: nn.Linear) -> None:
    """Raise Wrong unless a head starts at zero."""
    for name, part in (("weight", head.weight), ("bias", head.bias)):
        if part.any():
            text = f"the head's {name} starts with numbers other than 0: fine-tuning starts it at zero (section 3.2)"
            raise Wrong("random_head", text)


# Exercise 2: stretch_positions(positions, rows, columns)


def grid_of(positions):
    """(1, N+1, D) -> the square (1, D, side, side) that the patches' rows stand for."""
    side = round((positions.shape[1] - 1) ** 0.5)
    return positions[:, 1:].transpose(1, 2).unflatten(2, (side, side))


def read_out(positions, square):
    """The grid (1, D, rows, columns) back in reading order, behind the class token's row."""
    return torch.cat((positions[:, :1], square.flatten(2).transpose(1, 2)), dim=1)


def stretched(positions, rows, columns, mode="bicubic", align_corners=True):
    size = (rows, columns)
    return read_out(positions, F.interpolate(grid_of(positions), size=size, mode=mode, align_corners=align_corners))


def as_a_row(mode: str, align_corners: bool | None):
    """The sequence stretched as it stands, in one dimension."""

    def stretch(positions, rows, columns):
        row, size = positions[:, 1:].transpose(1, 2), rows * columns  # (1, D, N)
        if mode == "bicubic":  # takes maps alone
            row = F.interpolate(row[:, :, None], size=(1, size), mode=mode, align_corners=align_corners)[:, :, 0]
        else:
            row = F.interpolate(row, size=size, mode=mode, align_corners=align_corners)
        return torch.cat((positions[:, :1], row.transpose(1, 2)), dim=1)

    return stretch


def mixed_up(positions, rows, columns, back=False):
    """(1, N, D) reshaped, not transposed, into (1, D, side, side), and with `back` from there in the same way."""
    square = positions[:, 1:].reshape(grid_of(positions).shape)
    square = F.interpolate(square, size=(rows, columns), mode="bicubic", align_corners=True)
    if back:
        return torch.cat((positions[:, :1], square.reshape(1, -1, positions.shape[2])), dim=1)
    return read_out(positions, square)


def laid_out_by_columns(positions, rows, columns):
    square = grid_of(positions).transpose(2, 3)
    return read_out(positions, F.interpolate(square, size=(rows, columns), mode="bicubic", align_corners=True))


def left_alone(positions, rows, columns):
    """What comes of asking for the number of patches alone, as torchvision's own function does for squares."""
    if positions.shape[1] != rows * columns + 1:
        raise ValueError("another number of patches")
    return positions


AS_A_ROW = "the sequence is stretched as it stands: lay the N rows out as a square first, since patches have two places"
STRETCH_MISTAKES = (
    Mistake(
        "left_alone",
        "the positions come back as they were: the number of patches is the same, and still the grid is another one. "
        "Compare its sides, not their product",
        left_alone,
    ),
    Mistake("as_a_row", AS_A_ROW, as_a_row("linear", True)),
    Mistake("as_a_row", AS_A_ROW, as_a_row("linear", False)),
    Mistake("as_a_row", AS_A_ROW, as_a_row("nearest", None)),
    Mistake("as_a_row", AS_A_ROW, as_a_row("bicubic", True)),
    Mistake(
        "last_row_as_token",
        "the last row is taken for the class token's: it is the first, positions[:, :1]",
        lambda positions, rows, columns: stretched(positions.roll(1, dims=1), rows, columns),
    ),
    Mistake(
        "last_row_as_token",
        "the last row is taken for the class token's: it is the first, positions[:, :1]",
        lambda positions, rows, columns: stretched(positions.roll(1, dims=1), rows, columns).roll(-1, dims=1),
    ),
    Mistake(
        "square_by_columns",
        "the patches are laid out column by column: they come in reading order, so fill the square row by row",
        laid_out_by_columns,
    ),
    *(
        Mistake(
            "row_with_token",
            "the sequence is stretched as it stands, and the class token's row with it: keep that row, and lay "
            "the N others out as a square",
            lambda positions, rows, columns, align=align: F.interpolate(
                positions.transpose(1, 2), size=rows * columns + 1, mode="linear", align_corners=align
            ).transpose(1, 2),
        )
        for align in (True, False)
    ),
    Mistake(
        "class_token_lost",
        "the class token's row is missing: put it in front again, unchanged",
        lambda positions, rows, columns: stretched(positions, rows, columns)[:, 1:],
    ),
    Mistake(
        "token_at_the_end",
        "the class token's row stands at the end: it is the first",
        lambda positions, rows, columns: stretched(positions, rows, columns).roll(-1, dims=1),
    ),
    Mistake(
        "corners_move",
        "the corner patches don't keep their embeddings: set align_corners=True",
        lambda positions, rows, columns: stretched(positions, rows, columns, align_corners=False),
    ),
    Mistake(
        "bilinear",
        'this is bilinear: torchvision and this project stretch with mode="bicubic"',
        lambda positions, rows, columns: stretched(positions, rows, columns, mode="bilinear"),
    ),
    Mistake(
        "bilinear",
        'this is bilinear, and the corners move as well: take mode="bicubic" and align_corners=True',
        lambda positions, rows, columns: stretched(positions, rows, columns, mode="bilinear", align_corners=False),
    ),
    Mistake(
        "nearest",
        'this is F.interpolate\'s default, which repeats the nearest row: take mode="bicubic"',
        lambda positions, rows, columns: stretched(positions, rows, columns, mode="nearest", align_corners=None),
    ),
    Mistake(
        "grid_turned",
        "rows and columns are exchanged: F.interpolate takes size=(rows, columns)",
        lambda positions, rows, columns: stretched(positions, columns, rows),
    ),
    Mistake(
        "column_order",
        "the patches come out column by column: read the new grid row by row",
        lambda positions, rows, columns: read_out(
            positions,
            F.interpolate(grid_of(positions), size=(rows, columns), mode="bicubic", align_corners=True).transpose(2, 3),
        ),
    ),
    Mistake(
        "reshaped",
        "a reshape from (1, N, D) to (1, D, side, side) mixes the numbers of different patches: transpose first",
        mixed_up,
    ),
    Mistake(
        "reshaped_twice",
        "a reshape mixes the numbers of different patches, at the start and at the end: from (1, N, D) transpose to "
        "(1, D, N) before you lay out the square, and at the end flatten the grid and transpose back",
        lambda positions, rows, columns: mixed_up(positions, rows, columns, back=True),
    ),
    Mistake(
        "reshaped_back",
        "at the end a reshape cuts the maps into pieces: flatten the grid, then transpose back to (1, N, D)",
        lambda positions, rows, columns: torch.cat(
            (
                positions[:, :1],
                stretched(positions, rows, columns)[:, 1:].transpose(1, 2).reshape(1, -1, positions.shape[2]),
            ),
            dim=1,
        ),
    ),
)


@check
def stretch_positions(attempt) -> str:
    """stretch_positions(positions, rows, columns): (1, N+1, D) of a square -> (1, rows * columns + 1, D), bicubic."""
    # 4 x 4 places in 2 x 8: as many patches, in another grid.
    cases = [(torch.randn(1, 10, 4), 4, 5), (torch.randn(1, 17, 6), 2, 8), (torch.randn(1, 26, 3), 8, 8)]
    return same_function(attempt, stretched, cases, "one N+1 D", STRETCH_MISTAKES)


# Exercise 3: vit_for(weights)


ENTRIES = {  # torchvision's name of an entry: the variant that its file fits
    "ViT_B_16_Weights.IMAGENET1K_V1": "ViT-B/16",
    "ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1": "ViT-B/16",
    "ViT_B_32_Weights.IMAGENET1K_V1": "ViT-B/32",
    "ViT_L_16_Weights.IMAGENET1K_SWAG_LINEAR_V1": "ViT-L/16",
    "ViT_H_14_Weights.IMAGENET1K_SWAG_E2E_V1": "ViT-H/14",
}


@check
def vit_for(attempt) -> str:
    """vit_for(weights) -> (ViT, transform): the model that an entry of torchvision's fits, and its own transform."""
    from torchvision.models import get_weight  # here, since it takes its time

    for entry, variant in ENTRIES.items():
        weights = get_weight(entry)
        with torch.device("meta"):  # models without numbers: shapes are what counts
            result = result_of(attempt, weights, what=f"weights = {entry}")
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise Wrong("not_a_pair", f"two things were expected, a ViT and a transform, not a {type(result).__name__}")
        vit, transform = result
        if isinstance(transform, ViT):
            raise Wrong("exchanged", "the transform comes first: return the ViT, then the transform")
        check_model(vit, weights, variant, entry)
        check_transform(transform, weights, entry)
    return f"Right for {len(ENTRIES)} entries: patches, sizes, resolution, classes, and the transform of each."


def check_model(vit, weights, variant: str, entry: str) -> None:
    """Raise Wrong unless this is our ViT, built as the weights need it."""
    if not isinstance(vit, ViT):
        hint = ": build the class of notebook 08" if type(vit).__name__ == "VisionTransformer" else ""
        raise Wrong("other_type", f"the first thing is a {type(vit).__name__}, and a ViT was expected{hint}")
    side = weights.transforms().crop_size[0]
    with torch.device("meta"):
        expected = ViT.from_variant(variant, len(weights.meta["categories"]), side).config
    said = {
        "patch_size": ("patch_size_ignored", "the entry's name ends in the patch size"),
        "num_transformer_layers": ("sizes_ignored", f"take the sizes of {variant}"),
        "embedding_dim": ("sizes_ignored", f"take the sizes of {variant}"),
        "mlp_size": ("sizes_ignored", f"take the sizes of {variant}"),
        "num_heads": ("heads_ignored", f"no shape shows it, but {variant} has {expected['num_heads']}"),
        "img_size": ("img_size_ignored", "the card's transform says how large the images are: transform.crop_size"),
        "num_classes": ("classes_ignored", 'the card lists the classes of its head: weights.meta["categories"]'),
    }
    for name, (mistake, text) in said.items():
        if vit.config[name] != expected[name]:
            text = f"for {entry} your ViT has {name} = {vit.config[name]}, and {expected[name]} was expected: {text}"
            raise Wrong(mistake, text)


def check_transform(transform, weights, entry: str) -> None:
    """Raise Wrong unless a transform makes of a picture what the weights' own makes of it."""
    from PIL import Image

    if isinstance(transform, functools.partial):
        raise Wrong("transform_not_built", "weights.transforms builds the transform: call it, weights.transforms()")
    if not callable(transform):
        raise Wrong("no_transform", f"the second thing is a {type(transform).__name__}, and a transform was expected")
    own = weights.transforms()
    colour = torch.tensor([0.8, 0.4, 0.2])
    plain = (colour * 255).round().to(torch.uint8).expand(60, 80, 3)
    for pixels in (plain, torch.randint(256, (60, 80, 3), dtype=torch.uint8)):
        expected = own(Image.fromarray(pixels.numpy()))
        got = guarded(lambda p=pixels: transform(Image.fromarray(p.numpy())), f"a picture, the transform for {entry}")
        if not isinstance(got, torch.Tensor):
            raise Wrong("no_transform", f"the transform gives a {type(got).__name__}, and a tensor was expected")
        if got.shape != expected.shape:
            shapes = f"(C, H, W) = {tuple(got.shape)}, and the weights of {entry} have seen {tuple(expected.shape)}"
            raise Wrong("other_size", f"the transform gives {shapes}: each entry has a transform of its own")
        if close(got, expected):
            continue
        if pixels is plain:
            raise other_colours(got.mean(dim=(1, 2)), colour)
        text = (
            f"resize, crop or interpolation differ from those of {entry}: take weights.transforms() of this very entry"
        )
        raise Wrong("other_transform", text)


def other_colours(got: torch.Tensor, colour: torch.Tensor) -> Wrong:
    """What is wrong with a transform that gives a picture of one colour other numbers."""
    if torch.allclose(got, colour, atol=0.01):
        text = "the transform gives values from 0 to 1: the weights' own subtracts ImageNet's mean, channel by channel"
        return Wrong("not_normalised", text)
    if torch.allclose(got, 2 * colour - 1, atol=0.01):
        text = "the transform scales to -1 to 1, as notebook 09 does: these weights have their own mean and spread"
        return Wrong("other_normalisation", text)
    return Wrong("other_numbers", "the transform gives other numbers than the weights' own: take weights.transforms()")


# Exercise 4: a number


def first_narrow(width: float) -> int:
    """The fewest images, a multiple of 5, whose 95 % interval around 80 % is at most this wide."""
    from going_modular.going_modular import predictions  # here, since it loads matplotlib, which takes its time

    images = 5
    while True:
        low, high = predictions.accuracy_interval(images * 4 // 5, images)
        if high - low <= width:
            return images
        images += 5


@check
def images_needed(attempt) -> str:
    """How many test images put an accuracy of 80 % into a 95 % interval of 4 points from end to end."""
    right = first_narrow(0.04)
    wrongs = (
        ("here", 75, "this is how many there are: their interval is far wider"),
        ("one_step_too_few", right - 5, "with this many, the interval is still a little wider than 4 points"),
        ("half_width", first_narrow(0.08), "here the interval is 8 points wide: 4 to each side of the accuracy"),
        (
            "one_point_a_side",
            first_narrow(0.02),
            "here it is 2 points wide, 1 to each side: 4 from end to end is asked",
        ),
        ("right_answers", right * 4 // 5, "this is how many of them are right: the question asks for all images"),
        ("one_model_a_point", 100, "with 100 images, one image is one point: the interval is far wider than that"),
        (
            "plain_interval",
            5 * math.ceil(4 * 1.96**2 * 0.8 * 0.2 / 0.04**2 / 5),
            "this is for 1.96 times the root of p (1 - p) / n to each side: predictions.accuracy_interval is Wilson's",
        ),
        ("four_points", 2500, "this is 1 over the square of the width: look at the interval itself"),
    )
    why = (
        f"{right / 75:.0f} times the test images here. Four times the images halve the interval, so every further "
        "digit of an accuracy costs a hundred times as many."
    )
    return same_number(attempt, right, wrongs, why)

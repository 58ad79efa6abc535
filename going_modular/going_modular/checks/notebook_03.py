"""Checks of notebook 03: patches."""

import re

import torch
import torch.nn.functional as F
from torch import nn

from going_modular.going_modular.checks.attempt import build
from going_modular.going_modular.checks.compare import (
    Mistake,
    give_noise,
    same_function,
    same_module,
    same_number,
)
from going_modular.going_modular.checks.verdict import Wrong, check

# Exercise 1: cut_into_patches(images, patch_size)


def patches_of(images, patch_size):
    return F.unfold(images, patch_size, stride=patch_size).transpose(1, 2)


def arranged(order: str):
    """A wrong version of cut_into_patches: the six dimensions in the order of a permute's arguments."""

    def cut(images, patch_size):
        grid = images.unflatten(3, (-1, patch_size)).unflatten(2, (-1, patch_size))  # (B, C, rows, P, columns, P)
        length = images.shape[1] * patch_size**2
        return grid.permute([int(number) for number in order]).reshape(len(images), -1, length)

    return cut


CUT_MISTAKES = (
    Mistake(
        "reshape_only",
        "a reshape alone cuts rows of pixels into pieces: unflatten both sides into (patches, pixels), then permute",
        lambda images, patch_size: images.reshape(len(images), -1, images.shape[1] * patch_size**2),
    ),
    Mistake(
        "patches_last",
        "the last two dimensions are the other way round: a row should be a patch, as F.unfold's columns are",
        lambda images, patch_size: patches_of(images, patch_size).transpose(1, 2),
    ),
    Mistake(
        "channels_last",
        "within a patch you go pixel by pixel; go channel by channel, as flatten() of a (C, P, P) patch does",
        arranged("024351"),
    ),
    Mistake(
        "column_order",
        "the patches come column by column: reading order is row by row, so the rows of patches stand first",
        arranged("042135"),
    ),
    Mistake(
        "pixels_turned",
        "each patch is turned over: within it, the pixels' rows come before their columns",
        arranged("024153"),
    ),
    Mistake(
        "batch_joined",
        "the patches of all images stand in one list: keep the batch as the first dimension",
        lambda images, patch_size: patches_of(images, patch_size).flatten(0, 1),
    ),
    Mistake(
        "first_image_only",
        "only the first image is cut: keep the batch as the first dimension",
        lambda images, patch_size: patches_of(images, patch_size)[0],
    ),
    Mistake(
        "channels_apart",
        "each channel has patches of its own: a patch holds all channels, so they belong behind the grid",
        lambda images, patch_size: (
            images.unflatten(3, (-1, patch_size))
            .unflatten(2, (-1, patch_size))
            .transpose(3, 4)
            .reshape(len(images), -1, patch_size**2)
        ),
    ),
)


@check
def cut_into_patches(attempt) -> str:
    """cut_into_patches(images, patch_size): (B, C, H, W) -> (B, N, P^2 C), channel by channel, without loops."""
    cases = [(torch.randn(2, 3, 8, 12), 4), (torch.randn(1, 1, 6, 6), 3), (torch.randn(3, 2, 4, 10), 2)]
    return same_function(attempt, patches_of, cases, "B N P^2C", CUT_MISTAKES)


# Exercise 2: MyPatchEmbedding(in_channels, patch_size, embedding_dim)


def projection(module: nn.Module, leave_out: tuple = ()) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight and bias of the one convolution or linear layer in a learner's module."""
    known = {id(parameter) for part in leave_out for parameter in part.parameters()}
    own = [parameter for parameter in module.parameters() if id(parameter) not in known]
    weights = [parameter for parameter in own if parameter.ndim in (2, 4)]
    if not own or not weights:
        raise Wrong("no_projection", "no layer with weights was found: set a convolution as an attribute in __init__")
    if len(own) == 1:
        text = "the layer has no bias: the equation leaves it out, the released code and its weights have it"
        raise Wrong("no_bias", text)
    if len(own) != 2:
        text = f"{len(own)} tensors are learned, and a weight and a bias were expected: one layer is enough"
        raise Wrong("extra_parameters", text)
    return weights[0], own[1] if weights[0] is own[0] else own[0]


def check_weight(
    weight: torch.Tensor, embedding_dim: int, channels: int, side: int, patch_text: str, unit: str = "pixels"
) -> None:
    """Raise Wrong unless a weight has the shape of a (D, C, P, P) kernel, or of its flat version (D, P^2 C)."""
    sizes = {"embedding_dim": embedding_dim, "in_channels": channels}
    got = tuple(weight.shape)
    if weight.ndim == 2:
        if got != (embedding_dim, channels * side**2):
            expected = (embedding_dim, channels * side**2)
            raise Wrong("linear_shape", f"the linear layer's weight has the shape {got}, and {expected} was expected")
        return
    for name, (is_, should) in zip(sizes, zip(got[:2], sizes.values())):
        if is_ != should:
            text = f"the kernel has the shape {got}: it should take {name} = {should}, and it has {is_}"
            raise Wrong(f"{name}_ignored", text)
    if got[2:] != (side, side):
        raise Wrong("kernel_size", f"the kernel covers {got[2]} x {got[3]} {unit}: {patch_text}")


def conv_of(module, x, stride):
    weight, bias = projection(module)
    if weight.ndim == 2:
        weight = weight.unflatten(1, (x.shape[1], stride, stride))
    return weight, bias


def embedded(module, x, stride=None):
    """(B, C, H, W) -> feature maps (B, D, H/P, W/P), from the learner's own weights."""
    patch_size = module.check_patch_size
    weight, bias = conv_of(module, x, patch_size)
    return F.conv2d(x, weight, bias, stride=patch_size if stride is None else stride)


def sequence(maps):
    return maps.flatten(2).transpose(1, 2)


def channels_last(module, x):
    """What a linear layer gives whose inputs go pixel by pixel."""
    weight, bias = projection(module)
    return F.linear(arranged("024351")(x, module.check_patch_size), weight.flatten(1), bias)


def map_mistakes(maps) -> tuple[Mistake, ...]:
    """From feature maps (B, D, rows, columns), which maps(module, x) gives, to a sequence: what goes wrong there."""
    return (
        Mistake(
            "not_permuted",
            "the last two dimensions are the other way round: a row should be a patch. Permute after flattening",
            lambda module, x: maps(module, x).flatten(2),
        ),
        Mistake(
            "reshaped",
            "a reshape to (B, N, D) cuts the feature maps into pieces: permute(0, 2, 1) collects what belongs to a "
            "patch",
            lambda module, x: maps(module, x).flatten(2).reshape(sequence(maps(module, x)).shape),
        ),
        Mistake(
            "not_flattened",
            "these are feature maps in their grid: flatten the grid from dimension 2, then permute",
            lambda module, x: maps(module, x),
        ),
        Mistake(
            "column_order",
            "the patches come column by column: don't swap the grid's two dimensions before flattening",
            lambda module, x: sequence(maps(module, x).transpose(2, 3)),
        ),
        Mistake(
            "relu",
            "a ReLU follows the projection: E is linear, with nothing after it",
            lambda module, x: sequence(maps(module, x)).relu(),
        ),
    )


LAYER_MISTAKES = (
    *map_mistakes(embedded),
    Mistake(
        "flattened_all",
        "everything but the batch is flattened: begin at dimension 2, so that channels and patches stay apart",
        lambda module, x: embedded(module, x).flatten(1),
    ),
    Mistake(
        "no_stride",
        "the kernel moves on by one pixel: set stride to the patch size, so that it stops on each patch once",
        lambda module, x: sequence(embedded(module, x, stride=1)),
    ),
    Mistake(
        "channels_last",
        "each patch goes pixel by pixel into the linear layer: go channel by channel, as a convolution's kernel does",
        channels_last,
    ),
    Mistake(
        "padding",
        "the image is padded, so every patch is shifted: leave padding at 0",
        lambda module, x: sequence(embedded(module, F.pad(x, (1, 1, 1, 1)))),
    ),
    Mistake(
        "gelu",
        "a GELU follows the projection: E is linear, with nothing after it",
        lambda module, x: F.gelu(sequence(embedded(module, x))),
    ),
)


@check
def patch_embedding(attempt) -> str:
    """MyPatchEmbedding(in_channels, patch_size, embedding_dim): (B, C, H, W) -> (B, N, D)."""
    for channels, patch_size, dim in ((3, 4, 5), (1, 2, 7), (2, 8, 6)):
        module = build(attempt, in_channels=channels, patch_size=patch_size, embedding_dim=dim)
        check_weight(
            projection(module)[0], dim, channels, patch_size, f"make it patch_size = {patch_size} on each side"
        )
        give_noise(module)
        module.check_patch_size = patch_size
        images = [torch.randn(2, channels, 2 * patch_size, 3 * patch_size)]
        images += [torch.randn(1, channels, 3 * patch_size, 3 * patch_size)]
        same_module(module, lambda m, x: sequence(embedded(m, x)), images, "B N D", LAYER_MISTAKES)
    refuses_remainders(build(attempt, in_channels=3, patch_size=7, embedding_dim=5))
    return "Right in 6 sizes, outputs and gradients, and images that the patch doesn't divide are refused."


def refuses_remainders(module: nn.Module) -> None:
    """Raise Wrong where sides that the patch doesn't divide lose pixels in silence, or in an error without sizes."""
    raised = {}
    for side, shape in (("height", (1, 3, 23, 14)), ("width", (1, 3, 14, 23))):
        try:
            module(torch.randn(shape))
        except Exception as error:
            raised[side] = error
    accepted = [side for side in ("height", "width") if side not in raised]
    if len(accepted) == 2:
        text = "with patches of 7, 23 x 14 pixels lose two rows in silence: raise ValueError unless P divides H and W"
        raise Wrong("drops_pixels", text)
    if accepted:
        text = f"a {accepted[0]} that the patch doesn't divide is accepted, and pixels are lost: check both sides"
        raise Wrong("one_side_checked", text)
    for side, error in raised.items():
        if isinstance(error, AssertionError):
            text = (
                "an assert refuses the image: raise ValueError with a sentence that names H, W and P, since python -O "
                "leaves asserts out"
            )
            raise Wrong("assert", text)
        if not {"23", "7"} <= set(re.findall(r"\d+", str(error))):
            text = (
                f"with patches of 7 and a {side} of 23 you raise {type(error).__name__}({str(error)!r}), which doesn't "
                "say which sides came: name H, W and P in it"
            )
            raise Wrong("sizes_not_named", text)


# Exercise 3: HybridPatchEmbedding(stem, stem_channels, embedding_dim)


def hybrid_maps(module, x):
    weight, bias = projection(module, leave_out=(module.check_stem,))
    if weight.ndim == 2:
        weight = weight[..., None, None]
    return F.conv2d(module.check_stem(x), weight, bias)


def hybrid_of(function):
    """What the projection gives of a sequence (B, N, C) that function makes of the stem's map."""

    def run(module, x):
        weight, bias = projection(module, leave_out=(module.check_stem,))
        return F.linear(function(module.check_stem(x)), weight.flatten(1), bias)

    return run


HYBRID_MISTAKES = (
    *map_mistakes(hybrid_maps),
    Mistake(
        "reshaped",
        "a reshape of the stem's map to (B, N, C) cuts its channels into pieces: flatten(2), then permute(0, 2, 1)",
        hybrid_of(lambda maps: maps.reshape(len(maps), -1, maps.shape[1])),
    ),
    Mistake(
        "stem_activated",
        "a ReLU follows the stem: the projection reads the stem's map as it is",
        hybrid_of(lambda maps: sequence(maps.relu())),
    ),
    Mistake(
        "projection_unused",
        "this is the stem's feature map as a sequence: the projection to D comes after it",
        lambda module, x: sequence(module.check_stem(x)),
    ),
)


def small_stem(channels: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.GELU(), nn.Conv2d(4, channels, 3, stride=2, padding=1)
    )


@check
def hybrid_patch_embedding(attempt) -> str:
    """HybridPatchEmbedding(stem, stem_channels, embedding_dim): images -> stem -> 1 x 1 patches -> (B, N, D)."""
    for channels, dim in ((5, 7), (6, 4)):
        stem = small_stem(channels)
        where = f"a CNN as stem, stem_channels = {channels}, embedding_dim = {dim}"
        module = build(attempt, stem, channels, dim, where=where)
        held = {id(parameter) for parameter in module.parameters()}
        if not {id(parameter) for parameter in stem.parameters()} <= held:
            text = "the stem's parameters aren't among your module's: set self.stem = stem, so that it is trained too"
            raise Wrong("stem_not_held", text)
        if any(not parameter.requires_grad for parameter in stem.parameters()):
            raise Wrong("stem_frozen", "the stem's parameters are frozen: leave requires_grad as it is")
        weight, _ = projection(module, leave_out=(stem,))
        if weight.shape[:2] == (dim, 3):
            text = "the projection reads the image's 3 channels: give it the stem's feature map, with stem_channels"
            raise Wrong("reads_the_image", text)
        text = "on a feature map the patch is 1 x 1, the special case that section 3.1 names"
        check_weight(weight, dim, channels, 1, text, unit="places")
        give_noise(module)
        module.__dict__["check_stem"] = stem
        images = [torch.randn(2, 3, 16, 24), torch.randn(1, 3, 12, 8)]
        same_module(module, lambda m, x: sequence(hybrid_maps(m, x)), images, "B N D", HYBRID_MISTAKES)
    return "Right with two stems and two image sizes, outputs and gradients, down to the stem's weights."


# Exercise 4: a number


@check
def patch_embedding_parameters(attempt) -> str:
    """How many parameters the PatchEmbedding of ViT-B/32 has."""
    flat = 32 * 32 * 3
    wrongs = (
        ("patch_of_16", 16 * 16 * 3 * 768 + 768, "this is ViT-B/16: its patches are 16 pixels wide"),
        ("no_bias", flat * 768, "these are the weights: the bias has D more"),
        ("one_channel", 32 * 32 * 768 + 768, "a patch has three channels: P^2 C numbers"),
        ("large", flat * 1024 + 1024, "this is ViT-L/32: ViT-Base has D = 768"),
        (
            "with_positions",
            flat * 768 + 768 + 768 + 50 * 768,
            "class token and positions aren't part of PatchEmbedding",
        ),
        (
            "difference",
            (flat - 768) * 768,
            "this is how many more it has than ViT-B/16: the question is how many in all",
        ),
        ("bias_a_patch", flat * 768 + 49 * 768, "the bias is one for all patches, not one for each"),
    )
    why = (
        "P^2 C x D weights and D biases. A patch of 32 x 32 has four times the numbers of one of 16 x 16, and so has E."
    )
    return same_number(attempt, flat * 768 + 768, wrongs, why)

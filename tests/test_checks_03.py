"""checks, notebook 03: what is right passes, and each wrong version gets its own verdict."""

import pytest
import torch
import torch.nn.functional as F
from check_tools import expect, wrong_versions
from torch import nn

from going_modular.going_modular.vit import PatchEmbedding


def by_loops(images, patch_size):
    rows = []
    for top in range(0, images.shape[2], patch_size):
        for left in range(0, images.shape[3], patch_size):
            rows.append(images[:, :, top : top + patch_size, left : left + patch_size].flatten(1))
    return torch.stack(rows, dim=1)


def grid(images, p):
    b, c, h, w = images.shape
    return images.reshape(b, c, h // p, p, w // p, p)


def per_image(function):
    return lambda images, p: torch.stack([function(image, p) for image in images])


CUT = wrong_versions(
    "cut_into_patches",
    ("reshape_only", lambda images, p: images.reshape(len(images), -1, p * p * images.shape[1])),
    ("patches_last", lambda images, p: F.unfold(images, kernel_size=p, stride=p)),
    ("channels_last", lambda images, p: grid(images, p).permute(0, 2, 4, 3, 5, 1).flatten(3).flatten(1, 2)),
    ("column_order", lambda images, p: grid(images, p).permute(0, 4, 2, 1, 3, 5).flatten(3).flatten(1, 2)),
    ("pixels_turned", lambda images, p: grid(images, p).permute(0, 2, 4, 1, 5, 3).flatten(3).flatten(1, 2)),
    ("batch_joined", lambda images, p: by_loops(images, p).reshape(-1, images.shape[1] * p * p)),
    ("first_image_only", lambda images, p: by_loops(images[:1], p)[0]),
    ("channels_apart", lambda images, p: grid(images, p).permute(0, 1, 2, 4, 3, 5).flatten(4).flatten(1, 3)),
    ("dimensions", lambda images, p: grid(images, p).permute(0, 2, 4, 1, 3, 5)),
    ("error", lambda images, p: images.reshape(len(images), 3, 2, p, -1, p).permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)),
    ("detached", lambda images, p: by_loops(images.detach(), p)),
    ("tuple", lambda images, p: [by_loops(images, p)]),
    ("no_function", torch.zeros(1)),
)  # fmt: skip


class Right(nn.Module):
    kernel, bias = None, True

    def __init__(self, in_channels=3, patch_size=16, embedding_dim=768):
        super().__init__()
        self.p = patch_size
        self.conv = nn.Conv2d(
            in_channels, embedding_dim, self.kernel or patch_size, self.stride(patch_size), bias=self.bias
        )

    def stride(self, patch_size):
        return patch_size

    def check(self, x):
        height, width = x.shape[2:]
        if height % self.p or width % self.p:
            self.refuse(height, width)

    def refuse(self, height, width):
        raise ValueError(f"sides of {height} x {width} are no multiples of {self.p}")

    def forward(self, x):
        self.check(x)
        return self.shaped(self.conv(x))

    def shaped(self, x):
        return x.flatten(2).permute(0, 2, 1)


def shaped(function):
    return type("Attempt", (Right,), {"shaped": lambda self, x: function(x)})


class NoCheck(Right):
    def check(self, x):
        pass


class WidthOnly(Right):
    def check(self, x):
        assert x.shape[-1] % self.p == 0


class Asserts(Right):
    def refuse(self, height, width):
        raise AssertionError(f"{height} x {width} with {self.p}")


class NamesNothing(Right):
    def refuse(self, height, width):
        raise ValueError("the patch doesn't divide the image")


class NamesThePatch(Right):
    def refuse(self, height, width):
        raise ValueError(f"the sides must be multiples of {self.p}")


class NoStride(Right):
    def stride(self, patch_size):
        return 1


class HardKernel(Right):
    kernel = 16


class Padded(Right):
    def __init__(self, in_channels, patch_size, embedding_dim):
        super().__init__(in_channels, patch_size, embedding_dim)
        self.conv.padding = (1, 1)


class Doubled(Right):
    def shaped(self, x):
        return 2 * super().shaped(x)


class NoBias(Right):
    bias = False


class ThreeChannels(Right):
    def __init__(self, in_channels=3, patch_size=16, embedding_dim=768):
        super().__init__(3, patch_size, embedding_dim)


class Dimension768(Right):
    def __init__(self, in_channels=3, patch_size=16, embedding_dim=768):
        super().__init__(in_channels, patch_size, 768)


class NoSuper(nn.Module):
    def __init__(self, in_channels, patch_size, embedding_dim):
        self.conv = nn.Conv2d(in_channels, embedding_dim, patch_size, patch_size)


class OtherNames(nn.Module):
    def __init__(self, channels, patch, dim):
        super().__init__()


class WithNorm(Right):
    def __init__(self, in_channels, patch_size, embedding_dim):
        super().__init__(in_channels, patch_size, embedding_dim)
        self.norm = nn.LayerNorm(embedding_dim)


class Flat(Right):
    """Flatten, then a linear layer: the equation as it stands."""

    def __init__(self, in_channels, patch_size, embedding_dim):
        super().__init__(in_channels, patch_size, embedding_dim)
        del self.conv
        self.linear = nn.Linear(in_channels * patch_size**2, embedding_dim)

    def forward(self, x):
        self.check(x)
        return self.linear(by_loops(x, self.p))


class FlatPixels(Flat):
    def forward(self, x):
        self.check(x)
        return self.linear(grid(x, self.p).permute(0, 2, 4, 3, 5, 1).flatten(3).flatten(1, 2))


class NoGradient(Right):
    def forward(self, x):
        with torch.no_grad():
            return super().forward(x)


class NoParameters(Right):
    def __init__(self, in_channels, patch_size, embedding_dim):
        super().__init__(in_channels, patch_size, embedding_dim)
        conv, self.conv = self.conv, None
        self.layers = [conv]

    def forward(self, x):
        return self.layers[0](x).flatten(2).permute(0, 2, 1)


EMBED = wrong_versions(
    "patch_embedding",
    ("not_permuted", shaped(lambda x: x.flatten(2))),
    ("reshaped", shaped(lambda x: x.flatten(2).reshape(len(x), -1, x.shape[1]))),
    ("not_flattened", shaped(lambda x: x)),
    ("flattened_all", shaped(lambda x: x.flatten(1))),
    ("column_order", shaped(lambda x: x.transpose(2, 3).flatten(2).permute(0, 2, 1))),
    ("relu", shaped(lambda x: x.flatten(2).permute(0, 2, 1).relu())),
    ("gelu", shaped(lambda x: F.gelu(x.flatten(2).permute(0, 2, 1)))),
    ("detached", NoGradient),
    ("no_stride", NoStride),
    ("kernel_size", HardKernel),
    ("no_bias", NoBias),
    ("padding", Padded),
    ("scaled", Doubled),
    ("in_channels_ignored", ThreeChannels),
    ("embedding_dim_ignored", Dimension768),
    ("drops_pixels", NoCheck),
    ("one_side_checked", WidthOnly),
    ("assert", Asserts),
    ("sizes_not_named", NamesNothing),
    ("sizes_not_named", NamesThePatch),
    ("no_super_init", NoSuper),
    ("signature", OtherNames),
    ("extra_parameters", WithNorm),
    ("channels_last", FlatPixels),
    ("no_projection", NoParameters),
    ("instance", Right()),
    ("no_module", int),
)


class Hybrid(nn.Module):
    kernel = 1

    def __init__(self, stem, stem_channels, embedding_dim):
        super().__init__()
        self.stem = stem
        self.project = nn.Conv2d(stem_channels, embedding_dim, self.kernel)

    def forward(self, x):
        return self.shaped(self.project(self.stem(x)))

    def shaped(self, x):
        return x.flatten(2).transpose(1, 2)


class HybridLinear(Hybrid):
    def __init__(self, stem, stem_channels, embedding_dim):
        super().__init__(stem, stem_channels, embedding_dim)
        self.project = nn.Linear(stem_channels, embedding_dim)

    def forward(self, x):
        return self.project(self.shaped(self.stem(x)))


class HybridTurned(Hybrid):
    def shaped(self, x):
        return x.flatten(2)


class HybridReshaped(Hybrid):
    def shaped(self, x):
        return x.reshape(len(x), -1, x.shape[1])


class HybridMaps(Hybrid):
    def shaped(self, x):
        return x


class HybridColumns(Hybrid):
    def shaped(self, x):
        return x.permute(0, 3, 2, 1).flatten(1, 2)


class HybridRelu(Hybrid):
    def shaped(self, x):
        return super().shaped(x).relu()


class HybridStemRelu(Hybrid):
    def forward(self, x):
        return self.shaped(self.project(self.stem(x).relu()))


class HybridCutMap(HybridLinear):
    def shaped(self, x):
        return x.reshape(len(x), -1, x.shape[1])


class LargePatch(Hybrid):
    kernel = 2


class HybridUnprojected(Hybrid):
    def forward(self, x):
        return self.shaped(self.stem(x))


class HybridNothing(Hybrid):
    def __init__(self, stem, stem_channels, embedding_dim):
        nn.Module.__init__(self)
        self.stem = stem


class HybridHidden(Hybrid):
    def __init__(self, stem, stem_channels, embedding_dim):
        super().__init__(nn.Identity(), stem_channels, embedding_dim)
        self.parts = [stem]

    def forward(self, x):
        return self.shaped(self.project(self.parts[0](x)))


class HybridFrozen(Hybrid):
    def __init__(self, stem, stem_channels, embedding_dim):
        super().__init__(stem.requires_grad_(False), stem_channels, embedding_dim)


class HybridNoGradient(Hybrid):
    def forward(self, x):
        with torch.no_grad():
            maps = self.stem(x)
        return self.shaped(self.project(maps))


class HybridOfPixels(Hybrid):
    def __init__(self, stem, stem_channels, embedding_dim):
        super().__init__(stem, 3, embedding_dim)


HYBRID = wrong_versions(
    "hybrid_patch_embedding",
    ("not_permuted", HybridTurned),
    ("reshaped", HybridReshaped),
    ("not_flattened", HybridMaps),
    ("column_order", HybridColumns),
    ("relu", HybridRelu),
    ("stem_activated", HybridStemRelu),
    ("reshaped", HybridCutMap),
    ("kernel_size", LargePatch),
    ("projection_unused", HybridUnprojected),
    ("no_projection", HybridNothing),
    ("stem_not_held", HybridHidden),
    ("stem_frozen", HybridFrozen),
    ("detached", HybridNoGradient),
    ("reads_the_image", HybridOfPixels),
)

NUMBER = wrong_versions(
    "patch_embedding_parameters",
    ("patch_of_16", 590_592),
    ("no_bias", 2_359_296),
    ("one_channel", 787_200),
    ("large", 3_146_752),
    ("with_positions", 2_399_232),
    ("difference", 1_769_472),
    ("unit", 2.360064),
    ("other_number", 1),
    ("no_number", "many"),
    ("no_number", torch.ones(2)),
)


@pytest.mark.parametrize("exercise, name, attempt", [*CUT, *EMBED, *HYBRID, *NUMBER])
def test_wrong_versions(exercise, name, attempt):
    expect(exercise, name, attempt)


@pytest.mark.parametrize(
    "exercise, attempt",
    [
        ("cut_into_patches", by_loops),
        ("cut_into_patches", lambda images, p: grid(images, p).permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)),
        ("patch_embedding", PatchEmbedding),
        ("patch_embedding", Right),
        ("patch_embedding", Flat),
        ("hybrid_patch_embedding", Hybrid),
        ("hybrid_patch_embedding", HybridLinear),
        ("patch_embedding_parameters", 2_360_064),
        ("patch_embedding_parameters", torch.tensor(2_360_064)),
    ],
)
def test_right_versions(exercise, attempt):
    assert expect(exercise, "passed", attempt).passed


def test_a_kernel_on_a_map_covers_places():
    assert "covers 2 x 2 places" in expect("hybrid_patch_embedding", "kernel_size", LargePatch).text

"""Random changes to a whole batch of pictures at once, on tensors: crop, flip, colour.

A picture changed so is still a picture of the same thing, so a model sees more of it than was drawn or photographed.
"""

import torch
import torch.nn.functional as F


def to_floats(images: torch.Tensor) -> torch.Tensor:
    """uint8 pixels (B, C, H, W) as floats from -1 to 1: what data_setup.create_transform gives."""
    return images.float() / 127.5 - 1


def random_crop(
    images: torch.Tensor,
    size: int | tuple[int, int],
    scale: tuple[float, float] = (0.35, 1.0),
    ratio: float = 4 / 3,
    flip: bool = True,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """A random part of each image, stretched to `size`, and flipped left to right half of the time.

    Args:
        images: floats (B, C, H, W).
        size: side of the square, or (H, W).
        scale: smallest and largest share of the area that the part takes.
        ratio: the part's width over its height lies between 1 / ratio and ratio.

    Returns:
        (B, C, H, W) with H and W of `size`.
    """
    count = len(images)
    height_width = (size, size) if isinstance(size, int) else tuple(size)

    def uniform(low: float, high: float) -> torch.Tensor:
        return torch.rand(count, generator=generator) * (high - low) + low

    area, shape = uniform(*scale), (uniform(-1, 1) * torch.tensor(ratio).log()).exp()
    width, height = (area * shape).sqrt().clamp(max=1), (area / shape).sqrt().clamp(max=1)
    left, top = uniform(-1, 1) * (1 - width), uniform(-1, 1) * (1 - height)
    mirror = torch.where(uniform(0, 1) < 0.5, -1.0, 1.0) if flip else torch.ones(count)
    nothing = torch.zeros(count)
    placing = torch.stack([mirror * width, nothing, left, nothing, height, top], dim=1).view(count, 2, 3)
    grid = F.affine_grid(placing.to(images), (count, images.shape[1], *height_width), align_corners=False)
    return F.grid_sample(images, grid, padding_mode="reflection", align_corners=False)


def random_colour(
    images: torch.Tensor,
    brightness: float = 0.25,
    contrast: float = 0.25,
    cast: float = 0.1,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Each image lighter or darker, with more or less contrast, and with a colour cast.

    Args:
        images: floats (B, C, H, W) from -1 to 1; the result stays in that range.
        brightness, contrast, cast: the largest change of mean, spread, and single channels.
    """
    count, channels = images.shape[:2]

    def around_zero(width: int, most: float) -> torch.Tensor:
        return ((torch.rand(count, width, generator=generator) * 2 - 1) * most).to(images)[:, :, None, None]

    middle = images.mean(dim=(1, 2, 3), keepdim=True)
    changed = (images - middle) * (1 + around_zero(1, contrast)) + middle
    changed = changed * (1 + around_zero(channels, cast)) + around_zero(1, brightness)
    return changed.clamp(-1, 1)

"""The style that every figure shares, and the way from an image or a tensor to what matplotlib draws.

Colours are Okabe and Ito's, with soft fills and dark edges; there is one scale of font sizes. See figures.py for how to
add a figure.
"""

import functools
from collections.abc import Callable, Sequence

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib import colors

# Okabe and Ito's palette, made to be told apart with every kind of colour vision (https://jfly.uni-koeln.de/color/).
COLOURS = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "green": "#009E73",
    "vermillion": "#D55E00",
    "purple": "#CC79A7",
    "sky": "#56B4E9",
    "yellow": "#F0E442",
    "grey": "#8A9099",
    "ink": "#22262B",
}
SIZES = {"title": 15, "label": 13, "text": 12, "small": 11}  # points; 11 points are 15 pixels at 100 dpi
DPI = 100
WIDTH = 640  # pixels of a chart: where a narrow window shrinks it, 11 points can still be read
STYLE = {
    "figure.dpi": DPI,
    "figure.facecolor": "white",
    "figure.titlesize": SIZES["title"],
    "figure.titleweight": "bold",
    "font.family": ["DejaVu Sans"],  # comes with matplotlib: every machine draws the same
    "font.size": SIZES["text"],
    "mathtext.fontset": "cm",
    "text.color": COLOURS["ink"],
    "axes.facecolor": "white",
    "axes.edgecolor": COLOURS["grey"],
    "axes.labelcolor": COLOURS["ink"],
    "axes.labelsize": SIZES["label"],
    "axes.titlesize": SIZES["title"],
    "axes.titleweight": "bold",
    "axes.titlepad": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "grid.color": "#E3E6EA",
    "xtick.labelsize": SIZES["small"],
    "ytick.labelsize": SIZES["small"],
    "xtick.color": COLOURS["ink"],
    "ytick.color": COLOURS["ink"],
    "legend.fontsize": SIZES["small"],
    "legend.frameon": False,
    "lines.linewidth": 2.2,
    "lines.markersize": 7,
    "image.interpolation": "nearest",
}
RANGE_TOLERANCE = 0.05  # resizing may overshoot the range of the values by a little


# The style


def styled(draw: Callable) -> Callable:
    """Run a drawing function with STYLE over matplotlib's defaults, and put the settings back as they were.

    A style that the learner chose, a dark one for instance, changes nothing here, and is in place again afterwards.
    """

    @functools.wraps(draw)
    def draw_in_style(*args, **kwargs):
        # Loads the backend, if nothing has yet: inside the context, the interactive mode that a notebook's backend
        # switches on would be undone with the rest, and later figures would not show.
        plt.draw_if_interactive()
        with plt.style.context(["default", STYLE]):
            return draw(*args, **kwargs)

    return draw_in_style


def soft(name: str, strength: float = 0.35) -> tuple[float, ...]:
    """A palette colour mixed with white: the fill of a box."""
    return tuple(1 - strength * (1 - channel) for channel in colors.to_rgb(COLOURS[name]))


def dark(name: str, strength: float = 0.6) -> tuple[float, ...]:
    """A palette colour mixed with black: the edge of a box."""
    return tuple(strength * channel for channel in colors.to_rgb(COLOURS[name]))


def readable_on(background: Sequence[float]) -> str:
    """Black or white, whichever has the higher contrast with the background (WCAG's relative luminance)."""
    channels = np.asarray(colors.to_rgb(background))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ (0.2126, 0.7152, 0.0722))
    return "black" if (luminance + 0.05) ** 2 > 1.05 * 0.05 else "white"


# From tensors to arrays


def to_array(values) -> np.ndarray:
    """A tensor on any device, with or without gradient, a list of them, or anything numpy takes, as a float array."""
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu().float().numpy()
    elif isinstance(values, (list, tuple)) and any(isinstance(value, torch.Tensor) for value in values):
        values = [to_array(value) for value in values]
    return np.asarray(values, dtype=float)


def finite_array(values, shape: str, name: str) -> np.ndarray:
    """to_array, with as many dimensions as shape, such as "(N, D)", names. ValueError for others, and for NaN."""
    array = to_array(values)
    if array.ndim != shape.count(",") + 1 or array.size == 0:
        hint = f"; {name}[0] is one of the batch" if array.ndim == shape.count(",") + 2 else ""
        raise ValueError(f"{name} must have the shape {shape}, not {array.shape}{hint}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds values that are not finite (NaN or infinity): there is nothing to draw there")
    return array


def to_picture(image, mean: Sequence[float] | None = None, std: Sequence[float] | None = None) -> np.ndarray:
    """An image as a float array (H, W, 3) in [0, 1].

    image is one of
        a float tensor or array, (C, H, W) or (H, W, C) with C 1 or 3, or (H, W): in [0, 1], or in [-1, 1] where any
            value is below 0
        the same as uint8, 0 to 255
        a PIL image, or what this function returned.
    mean and std undo a normalisation per channel: image * std + mean. Give both or none.

    Raises ValueError for other shapes, for a batch, for values outside these ranges, and for NaN.
    """
    if hasattr(image, "convert"):  # PIL
        image = np.asarray(image.convert("RGB"))
    is_tensor = isinstance(image, torch.Tensor)
    is_bytes = image.dtype == torch.uint8 if is_tensor else np.asarray(image).dtype == np.uint8
    picture = channels_last(to_array(image), prefer_first=is_tensor)
    if not np.isfinite(picture).all():
        raise ValueError("the image holds values that are not finite (NaN or infinity)")
    if is_bytes:
        picture = picture / 255
    if (mean is None) != (std is None):
        raise ValueError("mean and std undo a normalisation together: give both or none")
    if mean is not None:
        picture = (picture * np.asarray(std) + np.asarray(mean)).clip(0, 1)
    low, high = picture.min(), picture.max()
    if low < -1 - RANGE_TOLERANCE or high > 1 + RANGE_TOLERANCE:
        raise ValueError(
            f"the image's values run from {low:.3g} to {high:.3g}: expected [0, 1], [-1, 1], or uint8. "
            "Undo another normalisation first: to_picture(image, mean, std)"
        )
    if low < -RANGE_TOLERANCE:
        picture = (picture + 1) / 2
    picture = picture.clip(0, 1)
    return picture if picture.shape[-1] == 3 else picture.repeat(3, axis=-1)


def channels_last(array: np.ndarray, prefer_first: bool) -> np.ndarray:
    """(C, H, W), (H, W, C) or (H, W) to (H, W, C), C being 1 or 3; prefer_first decides where both would fit."""
    if array.ndim == 2 and array.size:
        return array[..., np.newaxis]
    if array.ndim == 3 and array.size:
        order = (0, -1) if prefer_first else (-1, 0)
        for axis in order:
            if array.shape[axis] in (1, 3):
                return np.moveaxis(array, axis, -1)
    hint = ": this is a batch, images[0] is its first image" if array.ndim == 4 else ""
    raise ValueError(f"an image must have the shape (C, H, W) with 1 or 3 channels, not {array.shape}{hint}")

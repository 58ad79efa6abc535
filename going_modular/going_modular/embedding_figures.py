"""Drawings of Equation 1: a patch as a row of numbers, the beginning of a sequence, positions, maps with names.

In the one style of all figures: see figures.py for how to add one.
"""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from going_modular.going_modular.figure_style import (
    COLOURS,
    DPI,
    SIZES,
    WIDTH,
    finite_array,
    styled,
    to_array,
    to_picture,
)
from going_modular.going_modular.figures import (
    SIGNED,
    add_colour_bar,
    centred,
    new_figure,
    new_grid,
    put_picture,
    style_ticks,
)
from going_modular.going_modular.vit import check_divisible

CHANNELS = (("red", "vermillion"), ("green", "green"), ("blue", "blue"))  # of an RGB image, each with its line's colour


def patch_grid(picture: np.ndarray, patch_size: int) -> tuple[int, int]:
    """How many patches of patch_size pixels a picture (H, W, 3) has downwards and across.

    Raises ValueError where patch_size is below 1 or doesn't divide both sides.
    """
    if patch_size < 1:
        raise ValueError(f"patch_size must be 1 or more, not {patch_size}")
    height, width = picture.shape[:2]
    check_divisible(height, width, patch_size)
    return height // patch_size, width // patch_size


@styled
def show_flattened_patch(image, patch_size: int, row: int, column: int) -> None:
    """Show an image (3, H, W), one of its patches enlarged, and below them the P^2 C numbers of that patch in a line.

    The numbers stand in the order of torch's flatten: all of the red channel, row by row, then green, then blue.

    Raises ValueError where the image has not three channels first, where patch_size doesn't divide both sides, and for
    a row or column that the image doesn't have.
    """
    picture = to_picture(image)
    down, across = patch_grid(picture, patch_size)
    pixels = to_array(image)
    if pixels.shape != (3, *picture.shape[:2]):
        raise ValueError(f"image must have the shape (3, H, W), so that it flattens channel first, not {pixels.shape}")
    for name, number, count in (("row", row, down), ("column", column, across)):
        if not 0 <= number < count:
            raise ValueError(f"{name} must lie between 0 and {count - 1}, the {name}s of patches, not {number}")
    top, left = row * patch_size, column * patch_size
    values = pixels[:, top : top + patch_size, left : left + patch_size].reshape(3, -1)

    figure = plt.figure(figsize=(WIDTH / DPI, 520 / DPI), layout="constrained")
    figure.suptitle(f"Patch (row {row}, column {column}): P²C = {values.size} numbers")
    grid = figure.add_gridspec(2, 2, height_ratios=(3, 2))
    whole, patch, line = (figure.add_subplot(grid[place]) for place in ((0, 0), (0, 1), (1, slice(None))))
    put_picture(whole, picture, "image, the patch framed")
    frame = {"xy": (left - 0.5, top - 0.5), "width": patch_size, "height": patch_size, "fill": False}
    for colour, thickness in (("white", 5), (COLOURS["ink"], 2.5)):
        whole.add_patch(Rectangle(**frame, edgecolor=colour, linewidth=thickness))
    put_picture(patch, picture[top : top + patch_size, left : left + patch_size], f"{patch_size} x {patch_size} pixels")

    style_ticks(line)
    low, high = (-1, 1) if pixels.min() < 0 else (0, 1 if pixels.max() <= 1 else 255)
    for number, (name, colour) in enumerate(CHANNELS):
        start, end = number * patch_size**2, (number + 1) * patch_size**2
        line.plot(range(start, end), values[number], color=COLOURS[colour], linewidth=1.2)
        line.text((start + end) / 2, high + 0.06 * (high - low), f"{name}: {end - start}", ha="center", va="bottom")
        if number:
            line.axvline(start - 0.5, color=COLOURS["grey"], linewidth=1, linestyle=(0, (4, 3)))
    line.set(xlim=(-1, values.size), ylim=(low, high + 0.25 * (high - low)), yticks=np.linspace(low, high, 5))
    line.set(xlabel="place in the flattened patch", ylabel="pixel value")


@styled
def show_position_numbers(image, patch_size: int) -> None:
    """Show an image (C, H, W) with the position of every patch written on it: 1 to N, row by row; 0 is the class token.

    Each patch is filled with its average colour, made lighter, so that the numbers stay readable.

    Raises ValueError where patch_size doesn't divide both sides, and for more than 16 patches in a row or column.
    """
    picture = to_picture(image)
    down, across = patch_grid(picture, patch_size)
    if max(down, across) > 16:
        raise ValueError(f"{down} x {across} patches leave no room for their numbers: at most 16 in a row or column")
    height, width = picture.shape[:2]
    side = (WIDTH - 90) / max(down, across)
    figure, axes = new_figure(max(side * across + 90, 420), side * down + 110)
    averages = picture.reshape(down, patch_size, across, patch_size, 3).mean(axis=(1, 3))
    axes.imshow(0.4 * averages + 0.6, extent=(-0.5, width - 0.5, height - 0.5, -0.5))
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    for edge in range(1, down):
        axes.axhline(edge * patch_size - 0.5, color="white", linewidth=2)
    for edge in range(1, across):
        axes.axvline(edge * patch_size - 0.5, color="white", linewidth=2)
    centres = [(number + 0.5) * patch_size - 0.5 for number in range(max(down, across))]
    for position in range(1, down * across + 1):
        row, column = divmod(position - 1, across)
        axes.text(centres[column], centres[row], str(position), ha="center", va="center", fontsize=SIZES["small"])
    axes.set_xticks(centres[:across], labels=range(across))
    axes.set_yticks(centres[:down], labels=range(down))
    axes.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5))
    axes.set(title=f"Positions 1 to {down * across}, in reading order", xlabel="column of patches", ylabel="row")


@styled
def show_first_numbers(sequence, tokens: int, dimensions: int, title: str) -> None:
    """Show the beginning of a sequence of embeddings (N, D) as a heat map: its first tokens and first dimensions.

    A row a token, a column a dimension; white is 0, orange-red above, blue below. The labels say how many there are.

    Raises ValueError where the sequence has fewer tokens or dimensions than asked for.
    """
    values = finite_array(sequence, "(N, D)", "sequence")
    for name, number, count in zip(("tokens", "dimensions"), (tokens, dimensions), values.shape):
        if not 1 <= number <= count:
            raise ValueError(f"{name} must lie between 1 and {count}, what the sequence has, not {number}")
    part = values[:tokens, :dimensions]
    figure, axes = new_figure(WIDTH, min(460, 190 + 24 * tokens))
    drawn = axes.imshow(part, cmap=SIGNED, norm=centred(part), aspect="auto", interpolation="nearest")
    labels = (
        f"{name} ({f'the first {shown} of {count}' if shown < count else f'all {count}'})"
        for name, shown, count in zip(("token", "dimension"), part.shape, values.shape)
    )
    axes.set(title=title, ylabel=next(labels), xlabel=next(labels))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    add_colour_bar(figure, drawn, axes, "value")


@styled
def show_named_maps(maps: Mapping[str, object], title: str) -> None:
    """Show maps (h, w), each under its name, in one colour scale: white is 0, orange-red above, blue below.

    The scale is the first map's: what is stronger in the others takes the darkest colours, so that the same colour
    means the same number everywhere.

    Raises ValueError where there is no map, and for maps of different shapes.
    """
    arrays = {name: finite_array(values, "(h, w)", f"the map {name!r}") for name, values in maps.items()}
    if not arrays:
        raise ValueError("there is no map to show: maps is empty")
    shapes = {values.shape for values in arrays.values()}
    if len(shapes) > 1:
        raise ValueError(f"maps that are compared need one shape, not {sorted(shapes)}")
    ((height, width),) = shapes
    figure, grid = new_grid(len(arrays), 3, height / width, title, with_bar=True)
    norm = centred(next(iter(arrays.values())))
    for axes, (name, values) in zip(grid, arrays.items(), strict=True):
        drawn = put_picture(axes, values, name)
        drawn.set(cmap=SIGNED, norm=norm)
    add_colour_bar(figure, drawn, grid, "value", shrink=0.9)

"""Every picture and chart that the notebooks share, in one style. The map of ViT stands beside it, in vit_map.py.

How to add a figure:
    1. Write one function, and put @styled above it: STYLE then holds while the function runs, and only then. The
       learner's own settings, and the backend that shows figures, are left as they were.
    2. Check the input first. A bad one is a ValueError that says what came and what was expected, and leaves no empty
       figure behind.
    3. Make a new figure with new_figure or new_grid, whose size is given in pixels: WIDTH, and never more than 800.
       Give it a title, and labels to the axes that mean something. Take colours from COLOURS and sizes from SIZES.
    4. Let nothing hang on colour alone: add a number, a marker, a dash, a hatch or a thicker edge.
    5. Return None and don't call plt.show(): a notebook shows what is open at the end of a cell. In a script, call
       plt.show() or plt.savefig() after the function.
    6. Add a call to DRAWINGS in the tests of its module; the tests that every drawing must pass then cover it.

Pictures come as float tensors (C, H, W) in [0, 1] or [-1, 1], as uint8, or as a PIL image: see to_picture.
"""

import math
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import colors
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from going_modular.going_modular.figure_style import (
    COLOURS,
    DPI,
    SIZES,
    STYLE,
    WIDTH,
    dark,
    finite_array,
    readable_on,
    soft,
    styled,
    to_array,
    to_picture,
)
from going_modular.going_modular.vit import check_divisible
from going_modular.going_modular.vit_map import PARTS, draw_block, draw_shape_flow, draw_vit_map

__all__ = [
    "COLOURS",
    "PARTS",
    "SIZES",
    "STYLE",
    "draw_block",
    "draw_shape_flow",
    "draw_vit_map",
    "plot_class_counts",
    "plot_confusion_matrix",
    "plot_lines",
    "show_attention",
    "show_attention_heads",
    "show_feature_maps",
    "show_image",
    "show_images",
    "show_matrix",
    "show_patches",
    "show_sequence",
    "to_picture",
]

DASHES = ("-", (0, (5, 2)), (0, (1, 1.3)), (0, (6, 2, 1, 2)), (0, (3, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
HATCHES = ("", "//", "..", "xx")
LINE_COLOURS = ("blue", "vermillion", "green", "purple", "orange", "sky", "ink")
AMOUNTS = colors.LinearSegmentedColormap.from_list("amounts", ["#FFFFFF", "#BFE0F2", COLOURS["blue"], "#00304D"])
SIGNED = colors.LinearSegmentedColormap.from_list(
    "signed", ["#00304D", COLOURS["blue"], "#FFFFFF", COLOURS["vermillion"], "#5A2700"]
)
HEAT = colors.LinearSegmentedColormap.from_list(
    "heat", [(0.90, 0.62, 0, 0), (0.90, 0.50, 0, 0.6), (0.75, 0.28, 0, 0.95)]
)
MOST_NUMBERS = 12  # a matrix with more rows or columns has no room for numbers in its cells


# Canvases


def new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    """One figure with one pair of axes; width and height in pixels."""
    figure, axes = plt.subplots(figsize=(width / DPI, height / DPI), layout="constrained")
    style_ticks(axes)
    return figure, axes


def style_ticks(axes: Axes) -> None:
    """Fix the look of ticks now: matplotlib makes most of them while drawing, when STYLE is no longer in place."""
    axes.tick_params(labelsize=SIZES["small"], colors=COLOURS["ink"], labelfontfamily=STYLE["font.family"][0])


def add_colour_bar(figure: Figure, drawn: AxesImage, axes: Axes | list[Axes], label: str, shrink: float = 1) -> None:
    """A colour bar at the right of the axes."""
    style_ticks(figure.colorbar(drawn, ax=axes, label=label, shrink=shrink, aspect=16).ax)


def new_grid(
    count: int, columns: int, cell_aspect: float, title: str, with_bar: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure of count cells, each cell_aspect times as high as wide; returns the axes in reading order.

    with_bar leaves room for a colour bar at the right.
    """
    columns = min(count, columns)
    rows = math.ceil(count / columns)
    bar = 120 if with_bar else 0
    width = min(WIDTH, 300 * columns + bar)
    cell_height = (width - bar) / columns * cell_aspect + 30
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(width / DPI, (rows * cell_height + 50) / DPI),
        layout="constrained",
        squeeze=False,
    )
    for unused in axes.flat[count:]:
        unused.remove()
    figure.suptitle(title)
    return figure, list(axes.flat[:count])


def columns_for(count: int) -> int:
    """How many of count small maps stand beside each other: few enough for a name above each."""
    return 3 if count <= 6 else 4


def put_legend_below(axes: Axes) -> None:
    """The legend in one row under the chart, where it takes no width from the bars."""
    axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(axes.containers))


def put_picture(axes: Axes, picture: np.ndarray, title: str | None = None) -> AxesImage:
    """Show a picture in a pair of axes, without ticks or frame."""
    axes.set_axis_off()
    if title:
        axes.set_title(title, fontsize=SIZES["text"], fontweight="normal", pad=6)
    return axes.imshow(picture)


# Images


@styled
def show_image(image, title: str) -> None:
    """Show one image (C, H, W) under its title; its height and width in pixels stand below it."""
    picture = to_picture(image)
    height, width = picture.shape[:2]
    _, axes = new_figure(440, 440 * min(height / width, 2) + 60)
    axes.imshow(picture)
    axes.set(title=title, xticks=[], yticks=[], xlabel=f"{width} pixels wide", ylabel=f"{height} pixels high")


@styled
def show_images(
    images: Sequence, titles: Sequence[str] | None = None, columns: int = 4, title: str | None = None
) -> None:
    """Show several images, (B, C, H, W) or a list, in a grid: one title each, one over all."""
    if getattr(images, "ndim", 4) != 4:
        raise ValueError(f"images must have the shape (B, C, H, W), not {tuple(images.shape)}: show_image shows one")
    pictures = [to_picture(image) for image in images]
    if not pictures:
        raise ValueError("there is no image to show: images is empty")
    if titles is not None and len(titles) != len(pictures):
        raise ValueError(f"{len(titles)} titles don't fit {len(pictures)} images: give one title an image")
    if columns < 1:
        raise ValueError(f"columns must be 1 or more, not {columns}")
    aspect = max(picture.shape[0] / picture.shape[1] for picture in pictures)
    _, grid = new_grid(len(pictures), columns, aspect, title or counted(len(pictures), "image"))
    for axes, picture, own_title in zip(grid, pictures, titles or [None] * len(pictures), strict=True):
        put_picture(axes, picture, own_title)


@styled
def show_patches(image, patch_size: int, rows: int | None = None) -> None:
    """Show an image (C, H, W) cut into patches of patch_size pixels, with gaps between them.

    rows counts rows of patches from the top; None shows all. The numbers at the edges are the patches' rows and
    columns: the sequence is read row by row, so patch (r, c) has the number r * (W / P) + c.

    Raises ValueError where patch_size doesn't divide both sides.
    """
    picture = to_picture(image)
    height, width = picture.shape[:2]
    if patch_size < 1:
        raise ValueError(f"patch_size must be 1 or more, not {patch_size}")
    check_divisible(height, width, patch_size)
    down, across = height // patch_size, width // patch_size
    if rows is not None and not 1 <= rows <= down:
        raise ValueError(f"rows must lie between 1 and {down}, the rows of patches in this image, not {rows}")
    down = rows or down
    gap = max(1, round(patch_size / 5))
    step = patch_size + gap
    sheet = np.ones((down * step - gap, across * step - gap, 3))
    for row in range(down):
        for column in range(across):
            patch = picture[row * patch_size :, column * patch_size :][:patch_size, :patch_size]
            sheet[row * step :, column * step :][:patch_size, :patch_size] = patch
    _, axes = new_figure(WIDTH, (WIDTH - 60) * sheet.shape[0] / sheet.shape[1] + 110)
    axes.imshow(sheet)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    centre = (patch_size - 1) / 2
    for axis, count in ((axes.xaxis, across), (axes.yaxis, down)):
        numbers = range(0, count, math.ceil(count / 16))
        axis.set_ticks([number * step + centre for number in numbers], labels=numbers)
    kept = {None: "", 1: "top row: "}.get(rows, f"top {rows} rows: ")
    axes.set(
        title=f"{kept}{down} x {across} = {down * across} patches of {patch_size} x {patch_size} pixels",
        xlabel="column of patches",
        ylabel="row" if down < 3 else "row of patches",
    )


@styled
def show_feature_maps(maps, channels: Sequence[int], title: str = "Feature maps after the convolution") -> None:
    """Show some channels of feature maps (D, h, w) side by side, in one colour scale centred on 0.

    White is 0, orange-red above, blue below: maps can be compared with each other, since the scale is shared.
    """
    maps = finite_array(maps, "(D, h, w)", "maps")
    wrong = [channel for channel in channels if not 0 <= channel < len(maps)]
    if wrong or not len(channels):
        raise ValueError(f"channels must be some of 0 to {len(maps) - 1}, not {wrong or 'an empty list'}")
    chosen = maps[list(channels)]
    count, aspect = len(channels), maps.shape[1] / maps.shape[2]
    figure, grid = new_grid(count, columns_for(count), aspect, title, with_bar=True)
    for axes, channel, values in zip(grid, channels, chosen, strict=True):
        drawn = put_picture(axes, values, f"channel {channel}")
        drawn.set(cmap=SIGNED, norm=centred(chosen))
    add_colour_bar(figure, drawn, grid, "value", shrink=0.9)


def centred(values: np.ndarray) -> colors.Normalize:
    """A colour scale from -m to m, m being the largest absolute value."""
    most = float(np.abs(values).max()) or 1.0
    return colors.Normalize(-most, most)


def counted(number: int, word: str) -> str:
    """1 and image give "1 image", 2 and image give "2 images"."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


# Sequences, matrices, attention


@styled
def show_sequence(sequence, title: str) -> None:
    """Show a sequence of embeddings (N, D) as a heat map: a row a token, a column a dimension; white is 0."""
    values = finite_array(sequence, "(N, D)", "sequence")
    tokens, dimensions = values.shape
    figure, axes = new_figure(WIDTH, min(460, 190 + 24 * tokens))
    drawn = axes.imshow(values, cmap=SIGNED, norm=centred(values), aspect="auto", interpolation="nearest")
    axes.set(title=title, xlabel=f"dimension (D = {dimensions})", ylabel=f"token ({tokens} in all)")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    add_colour_bar(figure, drawn, axes, "value")


@styled
def show_matrix(
    matrix,
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    title: str = "",
    number_format: str = ".2f",
    xlabel: str = "",
    ylabel: str = "",
) -> None:
    """Show a matrix (rows, columns) with its numbers written in, up to 12 rows and columns; colours alone beyond.

    Where a value is negative the colours are centred on 0 (white); else white is 0 and dark blue the most.
    """
    values = finite_array(matrix, "(rows, columns)", "matrix")
    for labels, count, name in ((row_labels, values.shape[0], "row"), (column_labels, values.shape[1], "column")):
        if labels is not None and len(labels) != count:
            raise ValueError(f"{len(labels)} {name} labels don't fit {counted(count, name)} of the matrix")
    draw_matrix(values, row_labels, column_labels, title, number_format, xlabel, ylabel)


@styled
def plot_confusion_matrix(matrix, class_names: Sequence[str], title: str = "Confusion matrix") -> None:
    """Show how many images (true class, predicted class) stand for: (K, K) counts, rows true, columns predicted.

    Right answers stand on the diagonal, in cells with a thick edge. A column that holds nearly everything means a
    model that gives every image the same answer.
    """
    counts = finite_array(matrix, "(K, K)", "matrix")
    if counts.shape != (len(class_names), len(class_names)):
        raise ValueError(f"a matrix of {counts.shape} doesn't fit {len(class_names)} classes: {list(class_names)}")
    if (counts < 0).any() or (counts != counts.round()).any():
        raise ValueError("a confusion matrix holds whole numbers from 0 up: counts of images")
    rows = [f"{name} ({int(total)})" for name, total in zip(class_names, counts.sum(axis=1), strict=True)]
    draw_matrix(counts, rows, class_names, title, ".0f", "predicted class", "true class (images)", frame_diagonal=True)


def draw_matrix(
    values: np.ndarray,
    row_labels: Sequence[str] | None,
    column_labels: Sequence[str] | None,
    title: str,
    number_format: str,
    xlabel: str,
    ylabel: str,
    frame_diagonal: bool = False,
) -> None:
    """The drawing that show_matrix and plot_confusion_matrix share."""
    rows, columns = values.shape
    signed = values.min() < 0
    norm = centred(values) if signed else colors.Normalize(0, float(values.max()) or 1.0)
    side = min(110, 520 / max(rows, columns))
    figure, axes = new_figure(min(WIDTH, side * columns + 300), side * rows + 150)
    drawn = axes.imshow(values, cmap=SIGNED if signed else AMOUNTS, norm=norm)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    if column_labels is not None:
        turned = max(map(len, column_labels)) * 9 > side  # pixels: labels wider than their columns
        axes.set_xticks(range(columns), labels=column_labels, rotation=90 if turned else 0)
    if row_labels is not None:
        axes.set_yticks(range(rows), labels=row_labels)
    if max(rows, columns) > MOST_NUMBERS:
        add_colour_bar(figure, drawn, axes, "value")
        return
    # Lines between the cells: a white 0 on a white page would have no edges.
    axes.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    axes.grid(which="minor", color=COLOURS["grey"], linewidth=0.8, clip_on=False)
    axes.tick_params(which="minor", length=0)
    size = SIZES["label"] if max(rows, columns) <= 8 else SIZES["small"]
    for (row, column), value in np.ndenumerate(values):
        colour = readable_on(drawn.cmap(norm(value)))
        words = format(value, number_format)
        axes.text(column, row, words, color=colour, fontsize=size, ha="center", va="center")
        if frame_diagonal and row == column:
            corner = (column - 0.46, row - 0.46)
            axes.add_patch(Rectangle(corner, 0.92, 0.92, fill=False, edgecolor=colour, linewidth=2.5))


@styled
def show_attention(image, attention, title: str = "Where the class token looks") -> None:
    """Show an image (C, H, W), and beside it the attention that its patches get: (N,), or (h, w) where H is not W.

    The stronger the orange, the more attention; where the grey picture shows, there is little. Leave the class token's
    own weight out: attention[1:].
    """
    picture = to_picture(image)
    attention = attention_grid(attention)
    figure, (left, right) = new_grid(2, 2, picture.shape[0] / picture.shape[1], title, with_bar=True)
    put_picture(left, picture, "image")
    drawn = put_heat(right, picture, attention, colors.Normalize(0, float(attention.max()) or 1.0), "attention")
    add_colour_bar(figure, drawn, [left, right], "attention weight", shrink=0.85)


@styled
def show_attention_heads(image, attention, title: str = "Where the class token looks, head by head") -> None:
    """Show an image and the attention of each of k heads over it: (k, N), or (k, h, w); one colour scale for all.

    Heads that look alike do the same work; a head with little orange anywhere spreads its attention thin.
    """
    picture = to_picture(image)
    attention = to_array(attention)
    if attention.ndim not in (2, 3) or attention.size == 0:
        raise ValueError(f"attention must have the shape (k, N) or (k, h, w), k heads, not {attention.shape}")
    heads = [attention_grid(head) for head in attention]
    norm = colors.Normalize(0, max(float(head.max()) for head in heads) or 1.0)
    count, aspect = len(heads) + 1, picture.shape[0] / picture.shape[1]
    figure, grid = new_grid(count, columns_for(count), aspect, title, with_bar=True)
    put_picture(grid[0], picture, "image")
    for number, (axes, head) in enumerate(zip(grid[1:], heads, strict=True)):
        drawn = put_heat(axes, picture, head, norm, f"head {number}")
    add_colour_bar(figure, drawn, grid, "attention weight", shrink=0.7)


def attention_grid(attention) -> np.ndarray:
    """Attention weights (N,) or (h, w) as (h, w). ValueError where N is no square, or a weight is negative."""
    array = to_array(attention)
    if array.ndim == 1:
        side = math.isqrt(array.size)
        if side * side != array.size:
            hint = "leave out the class token's weight: attention[1:]"
            if math.isqrt(array.size - 1) ** 2 != array.size - 1:
                hint = "give the shape (h, w) for an image that is not square"
            raise ValueError(f"{array.size} weights don't make a square of patches: {hint}")
        array = array.reshape(side, side)
    array = finite_array(array, "(h, w)", "attention")
    if array.min() < 0:
        raise ValueError(f"attention weights come from a softmax, none is below 0: found {array.min():.3g}")
    return array


def put_heat(axes: Axes, picture: np.ndarray, attention: np.ndarray, norm: colors.Normalize, title: str) -> AxesImage:
    """Lay a heat map (h, w) over the grey version of a picture; one square a patch."""
    height, width = picture.shape[:2]
    grey = 0.2 + 0.8 * picture.mean(axis=-1, keepdims=True).repeat(3, axis=-1)
    put_picture(axes, grey, title)
    return axes.imshow(attention, cmap=HEAT, norm=norm, extent=(-0.5, width - 0.5, height - 0.5, -0.5))


# Charts


@styled
def plot_class_counts(counts: Mapping[str, Mapping[str, int]], title: str = "Images of each class") -> None:
    """Draw bars for {split: {class: images}}, the number on each bar; splits differ by colour and by hatch."""
    if not counts or not all(counts.values()):
        raise ValueError(f"counts must be {{split: {{class: number}}}} with a class at least, not {dict(counts)!r}")
    classes = list(dict.fromkeys(name for split in counts.values() for name in split))
    _, axes = new_figure(WIDTH, 380)
    width = 0.8 / len(counts)
    for place, (split, numbers) in enumerate(counts.items()):
        colour = LINE_COLOURS[place % len(LINE_COLOURS)]
        bars = axes.bar(
            [number + (place - (len(counts) - 1) / 2) * width for number in range(len(classes))],
            [numbers.get(name, 0) for name in classes],
            width=width * 0.92,
            label=f"{split} ({sum(numbers.values())})",
            color=soft(colour, 0.5),
            edgecolor=dark(colour),
            linewidth=1.5,
            hatch=HATCHES[place % len(HATCHES)],
        )
        axes.bar_label(bars, padding=3, fontsize=SIZES["text"])
    axes.set_xticks(range(len(classes)), labels=classes, fontsize=SIZES["label"])
    axes.set(title=title, ylabel="number of images")
    axes.margins(y=0.15)
    put_legend_below(axes)


@styled
def plot_lines(
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    xlabel: str,
    ylabel: str,
    title: str,
    xscale: str = "linear",
    yscale: str = "linear",
) -> None:
    """Draw {name: (x, y)} as lines, each with a colour, a dash and a marker of its own; one line needs no legend.

    xscale and yscale are "linear" or "log". Raises ValueError where x and y differ in length, or a log scale meets a
    value that it can't show (0 or less).
    """
    for scale in (xscale, yscale):
        if scale not in ("linear", "log"):
            raise ValueError(f"a scale is 'linear' or 'log', not {scale!r}")
    if not series:
        raise ValueError("there is no line to draw: series is empty")
    lines = {}
    for name, (x, y) in series.items():
        x, y = to_array(x), to_array(y)
        if x.ndim != 1 or x.shape != y.shape or x.size == 0:
            raise ValueError(f"line {name!r}: x and y must be equally long rows of numbers, not {x.shape}, {y.shape}")
        for scale, values, axis in ((xscale, x, "x"), (yscale, y, "y")):
            if scale == "log" and (values <= 0).any():
                raise ValueError(f"line {name!r}: a log scale can't show {axis} = {values.min():.3g}; use 'linear'")
        lines[name] = x, y
    _, axes = new_figure(WIDTH, 420)
    for place, (name, (x, y)) in enumerate(lines.items()):
        axes.plot(
            x,
            y,
            label=name,
            color=COLOURS[LINE_COLOURS[place % len(LINE_COLOURS)]],
            linestyle=DASHES[place % len(DASHES)],
            marker=MARKERS[place % len(MARKERS)],
            markevery=max(1, x.size // 10),
        )
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel, xscale=xscale, yscale=yscale)
    axes.grid(True)
    axes.set_axisbelow(True)
    if len(lines) > 1:
        axes.legend(handlelength=3.5)

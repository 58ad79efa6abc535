"""Drawings of notebook 12: a model's answers, and inside it attention, positions and patch filters (Figures 6 and 7).

Each takes {model's name: values} and draws the models beside each other in one scale, so that they can be compared.
They follow the rules that stand at the top of figures.py.
"""

import math
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import colors
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from PIL import Image

from going_modular.going_modular.figure_style import (
    COLOURS,
    DPI,
    SIZES,
    WIDTH,
    dark,
    finite_array,
    soft,
    styled,
    to_picture,
)
from going_modular.going_modular.figures import (
    HATCHES,
    LINE_COLOURS,
    MARKERS,
    SIGNED,
    add_colour_bar,
    attention_grid,
    new_grid,
    put_heat,
    put_picture,
    style_ticks,
)

__all__ = [
    "compare_attention",
    "compare_heads",
    "plot_attention_distance",
    "plot_top_predictions",
    "show_filters",
    "show_position_similarity",
]

THUMBNAIL = 128  # pixels of the longer side, where a picture is drawn as small as that
HEAD_COLUMNS = 6  # heads beside each other
TILED = SIGNED.with_extremes(bad="#C9CED4")  # the gaps between the tiles of a sheet


def need_models(values: Mapping[str, object], name: str) -> None:
    if not values:
        raise ValueError(f"{name} must be {{model's name: values}} with a model at least: it is empty")


def small_picture(image) -> np.ndarray:
    """to_picture; a PIL image is made smaller first: more pixels than are seen only make the notebook larger."""
    if isinstance(image, Image.Image):
        image = image.copy()
        image.thumbnail((THUMBNAIL, THUMBNAIL))
    return to_picture(image)


def tiled(tiles: np.ndarray, columns: int, gap: float) -> np.ndarray:
    """Tiles (n, h, w, ...) side by side, `columns` in a row, in one sheet; between them lines of the value gap."""
    count, height, width, *rest = tiles.shape
    rows = math.ceil(count / columns)
    sheet = np.full((rows * (height + 1) - 1, columns * (width + 1) - 1, *rest), gap)
    for number, tile in enumerate(tiles):
        row, column = divmod(number, columns)
        sheet[row * (height + 1) :, column * (width + 1) :][:height, :width] = tile
    return sheet


def grid_of_models(
    count: int, columns: int, cell_aspect: float, title: str, with_bar: bool = False, width: int = WIDTH
) -> tuple[Figure, list[Axes]]:
    """new_grid, exactly `width` pixels wide for several models, and wide enough for the title over one alone."""
    figure, axes = new_grid(count, columns, cell_aspect, title, with_bar)
    own_width, height = figure.get_size_inches()
    if count > 1:
        figure.set_size_inches(width / DPI, height * width / DPI / own_width)
    else:
        figure.set_figwidth(max(own_width, 520 / DPI))
    return figure, axes


# What a model answers


@styled
def plot_top_predictions(
    image, answers: Mapping[str, object], class_names: Sequence[str], title: str = "Top predictions", top: int = 5
) -> None:
    """Show an image, and beside it a bar for each of the `top` classes and each model: its probability.

    answers holds probabilities (K,), which sum to 1. Classes are sorted by the largest probability that a model gives.
    """
    picture = small_picture(image)
    need_models(answers, "answers")
    rows = {}
    for name, values in answers.items():
        rows[name] = finite_array(values, "(K)", name)
        if rows[name].shape != (len(class_names),):
            raise ValueError(f"{name!r} has {rows[name].size} probabilities, class_names {len(class_names)} names")
        if rows[name].min() < 0 or abs(rows[name].sum() - 1) > 1e-3:
            raise ValueError(f"{name!r} holds no probabilities: from 0 up with sum 1, not {rows[name].sum():.3g}")
    if top < 1:
        raise ValueError(f"top must be 1 or more, not {top}")
    order = np.argsort(-np.max(list(rows.values()), axis=0), kind="stable")[:top]
    bars, width = len(order) * len(rows), 0.8 / len(rows)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(WIDTH / DPI, max(320, 110 + 26 * bars) / DPI), layout="constrained", width_ratios=(2, 3)
    )
    figure.suptitle(title)
    put_picture(left, picture)
    style_ticks(right)
    for place, (name, values) in enumerate(rows.items()):
        colour = LINE_COLOURS[place % len(LINE_COLOURS)]
        drawn = right.barh(
            np.arange(len(order)) + (place - (len(rows) - 1) / 2) * width,
            values[order],
            height=width * 0.9,
            label=name,
            color=soft(colour, 0.5),
            edgecolor=dark(colour),
            hatch=HATCHES[place % len(HATCHES)],
        )
        right.bar_label(drawn, fmt="%.3f", padding=4, fontsize=SIZES["small"])
    right.set_yticks(range(len(order)), labels=[class_names[number] for number in order], fontsize=SIZES["label"])
    right.invert_yaxis()
    right.set(xlim=(0, 1.18), xticks=(0, 0.5, 1), xlabel="probability")
    if len(rows) > 1:
        right.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(rows))


# Attention


@styled
def compare_heads(image, heads: Mapping[str, object], title: str = "Where the class token looks, head by head") -> None:
    """Show an image, and over it the attention of every head: (k, N) or (k, h, w) for each model, in one scale.

    A model begins a new row, and the image stands in front of its heads, under the model's name.
    """
    picture = small_picture(image)
    need_models(heads, "heads")
    grids = {name: [attention_grid(head) for head in values] for name, values in heads.items()}
    most = max(len(model) for model in grids.values())
    if not all(grids.values()):
        raise ValueError("each model needs a head at least: (k, N), k heads")
    across = min(most, HEAD_COLUMNS) + 1
    rows = {name: math.ceil(len(model) / (across - 1)) for name, model in grids.items()}
    norm = colors.Normalize(0, max(float(head.max()) for model in grids.values() for head in model) or 1.0)
    aspect = picture.shape[0] / picture.shape[1]
    width = WIDTH if across <= 5 else 800  # pixels: a model's name must fit over its image
    figure, axes = grid_of_models(sum(rows.values()) * across, across, aspect, title, with_bar=True, width=width)
    start = 0
    for name, model in grids.items():
        own = axes[start : start + rows[name] * across]
        start += len(own)
        put_picture(own[0], picture, name)
        places = [place for number, place in enumerate(own) if number % across]
        for number, (place, head) in enumerate(zip(places, model)):
            drawn = put_heat(place, picture, head, norm, f"head {number}")
        for unused in places[len(model) :] + own[across::across]:
            unused.remove()
    add_colour_bar(figure, drawn, [place for place in axes if place.figure], "attention weight", shrink=0.8)


@styled
def compare_attention(
    image, maps: Mapping[str, object], title: str = "Attention rollout", label: str = "share of the class token"
) -> None:
    """Show an image and, for each model, one map (N,) or (h, w) over it. One scale: from the least value to the most.

    The scale does not begin at 0: a map without orange is near the least value of all, which the colour bar tells.
    """
    picture = to_picture(image)
    need_models(maps, "maps")
    grids = {name: attention_grid(values) for name, values in maps.items()}
    low, high = (float(pick(np.concatenate([grid.ravel() for grid in grids.values()]))) for pick in (np.min, np.max))
    norm = colors.Normalize(low, high if high > low else low + 1)
    figure, axes = grid_of_models(len(grids) + 1, 3, picture.shape[0] / picture.shape[1], title, with_bar=True)
    put_picture(axes[0], picture, "image")
    for place, (name, grid) in zip(axes[1:], grids.items()):
        drawn = put_heat(place, picture, grid, norm, name)
    add_colour_bar(figure, drawn, axes, label, shrink=0.85)


@styled
def plot_attention_distance(
    distances: Mapping[str, object],
    even: float | None = None,
    title: str = "How far heads look, by depth",
) -> None:
    """Draw Figure 7, right, for each model: mean attention distances (L, k) in pixels, a point a head, over the depth.

    The line is the mean of a block's heads. even draws a level line: the distance of a head that attends evenly.
    """
    need_models(distances, "distances")
    models = {name: finite_array(values, "(L, k)", name) for name, values in distances.items()}
    for name, values in models.items():
        if values.min() < 0:
            raise ValueError(f"{name!r}: a distance is 0 or more pixels, not {values.min():.3g}")
    highest = max([float(values.max()) for values in models.values()] + [even or 0.0]) or 1.0
    figure, axes = grid_of_models(len(models), 2, 1.0, title)
    for place, (axis, (name, values)) in enumerate(zip(axes, models.items())):
        colour = LINE_COLOURS[place % len(LINE_COLOURS)]
        style_ticks(axis)
        blocks = np.arange(1, len(values) + 1)
        x = blocks.repeat(values.shape[1])
        style = {"marker": MARKERS[place % len(MARKERS)], "edgecolors": dark(colour), "color": soft(colour, 0.6)}
        axis.scatter(x, values.ravel(), s=38, label="a head", zorder=3, **style)
        axis.plot(blocks, values.mean(axis=1), color=COLOURS["ink"], linewidth=1.6, label="mean of a block's heads")
        if even is not None:
            axis.axhline(even, color=COLOURS["grey"], linestyle=(0, (5, 2)), linewidth=1.6, label="even attention")
        axis.set(ylim=(0, 1.08 * highest), xlabel="block", ylabel="" if place % 2 else "mean distance (pixels)")
        axis.set_title(name, fontsize=SIZES["text"], fontweight="normal")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axis.grid(True)
        axis.set_axisbelow(True)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)


# Positions and filters


@styled
def show_position_similarity(
    similarities: Mapping[str, object],
    grid: tuple[int, int] | None = None,
    step: int = 2,
    title: str = "Similarity of position embeddings",
) -> None:
    """Draw Figure 7, middle, for each model: a tile shows how like one patch's position every patch's position is.

    similarities holds cosines (N, N). The tile at row r, column c is that of patch (r, c), for every step-th row and
    column. A patch is exactly like itself: its own cell is left out of the colour scale, and the darkest.

    grid: rows and columns of patches, if they form no square.
    """
    need_models(similarities, "similarities")
    if step < 1:
        raise ValueError(f"step must be 1 or more, not {step}")
    sheets, most = {}, 0.0
    for name, values in similarities.items():
        matrix = finite_array(values, "(N, N)", name)
        rows, columns = grid or (math.isqrt(len(matrix)),) * 2
        if matrix.shape != (rows * columns, rows * columns):
            raise ValueError(
                f"{name!r}: {matrix.shape} does not fit {rows} x {columns} patches: give grid=(rows, columns)"
            )
        most = max(most, float(np.abs(matrix[~np.eye(len(matrix), dtype=bool)]).max(initial=0)))
        chosen = matrix.reshape(rows, columns, rows, columns)[::step, ::step]
        sheets[name] = tiled(chosen.reshape(-1, rows, columns), chosen.shape[1], np.nan)
    figure, axes = grid_of_models(len(sheets), 2, rows / columns, title, with_bar=True)
    most = most or 1.0
    for axis, (name, sheet) in zip(axes, sheets.items()):
        drawn = axis.imshow(sheet, cmap=TILED, norm=colors.Normalize(-most, most))
        style_ticks(axis)
        axis.spines[:].set_visible(False)
        axis.tick_params(length=0)
        axis.set_title(name, fontsize=SIZES["text"], fontweight="normal")
        axis.set(xlabel="column of the patch", ylabel="row of the patch" if axis is axes[0] else "")
        for one, count in ((axis.xaxis, columns), (axis.yaxis, rows)):
            numbers = range(0, count, step)
            one.set_ticks([place * (count + 1) + (count - 1) / 2 for place in range(len(numbers))], labels=numbers)
    add_colour_bar(figure, drawn, axes, "cosine similarity", shrink=0.85)


@styled
def show_filters(
    filters: Mapping[str, object], columns: int = 7, title: str = "Principal components of the patch filters"
) -> None:
    """Draw Figure 7, left, for each model: filters (n, C, P, P) with C 1 or 3 in a sheet, the first at the top left.

    Grey is 0. Each filter is scaled by its own largest number, so brightness can't be compared between filters.
    """
    need_models(filters, "filters")
    if columns < 1:
        raise ValueError(f"columns must be 1 or more, not {columns}")
    sheets = {}
    for name, values in filters.items():
        values = finite_array(values, "(n, C, P, P)", name)
        if values.shape[1] not in (1, 3):
            raise ValueError(f"{name!r}: a filter is drawn in colours, so C must be 1 or 3, not {values.shape[1]}")
        largest = np.abs(values).max(axis=(1, 2, 3), keepdims=True)
        scaled = 0.5 + 0.5 * values / np.where(largest > 0, largest, 1)
        pictures = scaled.transpose(0, 2, 3, 1).repeat(3 // values.shape[1], axis=-1)
        sheets[name] = tiled(pictures, min(columns, len(pictures)), 1.0)
    aspect = max(sheet.shape[0] / sheet.shape[1] for sheet in sheets.values())
    _, axes = grid_of_models(len(sheets), 2, aspect, title)
    for axis, (name, sheet) in zip(axes, sheets.items()):
        put_picture(axis, sheet, name)

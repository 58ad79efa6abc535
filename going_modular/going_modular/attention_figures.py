"""Drawings of one encoder block's two halves: attention (Equation 2) and the MLP (Equation 3).

They follow the rules that stand at the top of figures.py.
"""

from collections.abc import Mapping

import numpy as np
from matplotlib import colors
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from going_modular.going_modular.figure_style import COLOURS, SIZES, WIDTH, dark, finite_array, soft, styled, to_picture
from going_modular.going_modular.figures import (
    AMOUNTS,
    HATCHES,
    LINE_COLOURS,
    add_colour_bar,
    attention_grid,
    counted,
    new_figure,
    new_grid,
    put_heat,
    put_legend_below,
    put_picture,
    style_ticks,
)
from going_modular.going_modular.vit_map import Pen

__all__ = [
    "draw_heads",
    "plot_block_parameters",
    "plot_softmax_rows",
    "show_patch_attention",
    "show_token_changes",
]


@styled
def draw_heads(embedding_dim: int = 768, num_heads: int = 12) -> None:
    """Draw how k heads share D: slices of q, k and v, one attention a slice, side by side, then U_msa (Equation 8).

    Up to 16 heads fit. Raises ValueError for more, for none, or where they don't divide D.
    """
    if not 1 <= num_heads <= 16 or embedding_dim % num_heads:
        raise ValueError(
            f"{num_heads} heads can't be drawn for D = {embedding_dim}: give 1 to 16 heads that divide D evenly"
        )
    size = embedding_dim // num_heads
    pen = Pen(800, 412, f"{counted(num_heads, 'head')}, {size} of D = {embedding_dim} numbers each")
    left, width = 130, 590 / num_heads
    names = ("q", "k", "v")
    for row, name in enumerate(names):
        y = 64 + 44 * row
        pen.text("all", left - 14, y + 16, f"{name}  (N+1, D)", align="right")
        for head in range(num_heads):
            pen.box("all", left + head * width + 1, y, width - 2, 32, head_colour(head), str(head))
    y = 64 + 44 * len(names)
    pen.text("all", left - 14, y + 52, "head by head", align="right")
    for head in range(num_heads):
        middle = left + (head + 0.5) * width
        pen.line("all", (middle, y - 6), (middle, y + 26))
        pen.box("all", left + head * width + 1, y + 28, width - 2, 48, head_colour(head), r"$A\,\mathbf{v}$")
        pen.line("all", (middle, y + 76), (middle, y + 106))
    pen.text("all", left - 14, y + 124, "side by side", align="right")
    for head in range(num_heads):
        pen.box("all", left + head * width + 1, y + 108, width - 2, 32, head_colour(head), str(head))
    pen.line("all", (left + 295, y + 140), (left + 295, y + 164))
    mixing = r"times $\mathbf{U}_\mathrm{msa}$: mixes all heads"
    pen.box("all", left + 1, y + 166, 588, 32, "grey", mixing)
    pen.text("all", left - 14, y + 182, "out (N+1, D)", align="right")


def head_colour(head: int) -> str:
    return ("blue", "orange", "green", "purple", "sky", "vermillion")[head % 6]


@styled
def plot_softmax_rows(rows: Mapping[int, tuple], title: str = "Softmax rows") -> None:
    """Draw {D_h: (row without the scale, row with it)} as bars: a column of panels for each D_h.

    The number in a panel is its largest weight. Rows are attention weights (keys): none below 0, with sum 1.
    """
    if not rows:
        raise ValueError("there is no softmax row to draw: rows is empty")
    pairs = {}
    for size, pair in rows.items():
        pairs[size] = [finite_array(row, "(keys)", f"rows[{size}]") for row in pair]
        for row in pairs[size]:
            if row.min() < 0 or abs(row.sum() - 1) > 1e-3:
                raise ValueError(f"rows[{size}] is no softmax row: weights from 0 up with sum 1, not {row.sum():.3g}")
        if len(pairs[size]) != 2:
            raise ValueError(f"rows[{size}] must be two rows, without and with the scale, not {len(pairs[size])}")
    panels = [(size, number) for number in range(2) for size in pairs]
    _, grid = new_grid(len(panels), len(pairs), 0.8, title)
    for axes, (size, number) in zip(grid, panels, strict=True):
        row, colour = pairs[size][number], ("vermillion", "blue")[number]
        axes.bar(range(row.size), row, color=soft(colour, 0.6), edgecolor=dark(colour), hatch=HATCHES[1 - number])
        style_ticks(axes)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(ylim=(0, 1.18), xlabel="key" if number else "", yticks=(0, 0.5, 1))
        axes.set_ylabel(("no scale", "scaled")[number] if size == next(iter(pairs)) else "")
        axes.set_title(f"$D_h$ = {size}\nlargest {row.max():.2f}", fontsize=SIZES["text"], fontweight="normal")


@styled
def show_patch_attention(image, attention, patch: int, title: str = "What one patch attends to") -> None:
    """Show an image (C, H, W) with one patch framed, and beside it the attention which that patch pays to all patches.

    attention is its row of weights, (N,) or (h, w), without the class token; patch counts from 0, row by row.
    """
    picture = to_picture(image)
    grid = attention_grid(attention)
    if not 0 <= patch < grid.size:
        raise ValueError(f"there is no patch {patch}: the attention is over patches 0 to {grid.size - 1}")
    figure, (left, right) = new_grid(2, 2, picture.shape[0] / picture.shape[1], title, with_bar=True)
    put_picture(left, picture, f"patch {patch} asks")
    drawn = put_heat(right, picture, grid, colors.Normalize(0, float(grid.max()) or 1.0), "patches answer")
    for axes in (left, right):
        frame_cell(axes, patch, grid.shape, picture.shape[:2])
    add_colour_bar(figure, drawn, [left, right], "attention weight", shrink=0.85)


def frame_cell(axes: Axes, cell: int, grid: tuple[int, int], sides: tuple[int, int]) -> None:
    """A black and white frame around one cell of a grid (h, w) that covers a picture of sides (H, W)."""
    height, width = sides[0] / grid[0], sides[1] / grid[1]
    row, column = divmod(cell, grid[1])
    corner = (column * width - 0.5, row * height - 0.5)
    for colour, line in (("white", 4.5), (COLOURS["ink"], 2)):
        axes.add_patch(Rectangle(corner, width, height, fill=False, edgecolor=colour, linewidth=line))


@styled
def show_token_changes(changes: Mapping[str, np.ndarray], patch: int, title: str = "Which outputs move") -> None:
    """Show, for each layer, how far the output of every patch moved after one patch's input was changed.

    changes maps a layer's name to sizes from 0 up, (N,) or (h, w), class token left out. White is exactly 0; the
    colours are logarithmic and shared. The changed patch is framed; below each panel stands how many patches moved.
    """
    if not changes:
        raise ValueError("there is nothing to show: changes is empty")
    grids = {name: attention_grid(values) for name, values in changes.items()}
    moved = np.concatenate([grid[grid > 0] for grid in grids.values()])
    if moved.size == 0:
        raise ValueError("no output moved: every change is 0")
    shape = next(iter(grids.values())).shape
    if any(grid.shape != shape for grid in grids.values()) or not 0 <= patch < shape[0] * shape[1]:
        raise ValueError(f"changes must share one shape (h, w) that holds patch {patch}, first came {shape}")
    norm = colors.LogNorm(moved.min(), max(moved.max(), moved.min() * 10))
    figure, panels = new_grid(len(grids), 2, shape[0] / shape[1] + 0.08, title, with_bar=True)
    for axes, (name, grid) in zip(panels, grids.items(), strict=True):
        drawn = axes.imshow(np.ma.masked_equal(grid, 0), cmap=AMOUNTS_FROM_LIGHT, norm=norm)
        frame_cell(axes, patch, shape, shape)
        axes.set_title(name, fontsize=SIZES["text"], fontweight="normal", pad=6)
        axes.set(xticks=[], yticks=[], xlabel=f"moved: {(grid > 0).sum()} of {grid.size} patches")
        axes.spines[:].set_visible(True)
    add_colour_bar(figure, drawn, panels, "size of the change", shrink=0.85)


# No amount but 0 is white: that stands for "exactly nothing".
AMOUNTS_FROM_LIGHT = colors.LinearSegmentedColormap.from_list("from light", AMOUNTS(np.linspace(0.25, 1, 32)))


@styled
def plot_block_parameters(
    counts: Mapping[str, Mapping[str, int]], title: str = "Where a block's parameters sit"
) -> None:
    """Draw {variant: {part: parameters}} as bars of 100 %, one a variant: the share of each part, and the total.

    A part under 3 % has no room for its number: print it beside the figure.
    """
    if not counts or not all(sum(parts.values()) > 0 for parts in counts.values()):
        raise ValueError(f"counts must be {{variant: {{part: parameters}}}} with some parameters, not {dict(counts)!r}")
    names = list(dict.fromkeys(name for parts in counts.values() for name in parts))
    _, axes = new_figure(WIDTH, 180 + 46 * len(counts))
    starts = np.zeros(len(counts))
    totals = [sum(parts.values()) for parts in counts.values()]
    labels = [f"{variant}\n{total / 1e6:.2f} M" for variant, total in zip(counts, totals, strict=True)]
    for place, name in enumerate(names):
        shares = np.array([100 * parts.get(name, 0) / total for parts, total in zip(counts.values(), totals)])
        colour = LINE_COLOURS[place % len(LINE_COLOURS)]
        style = {"color": soft(colour, 0.5), "edgecolor": dark(colour), "hatch": HATCHES[place % len(HATCHES)]}
        bars = axes.barh(range(len(counts)), shares, left=starts, height=0.7, label=name, **style)
        words = [f"{share:.1f} %" if share >= 3 else "" for share in shares]
        box = {"facecolor": "white", "edgecolor": "none", "pad": 2}
        for text in axes.bar_label(bars, words, label_type="center", fontsize=SIZES["text"]):
            text.set_bbox(box if text.get_text() else None)
        starts += shares
    axes.set_yticks(range(len(counts)), labels=labels)
    axes.invert_yaxis()
    axes.set(title=title, xlabel="share of the block's parameters (%)", xlim=(0, 100))
    put_legend_below(axes)

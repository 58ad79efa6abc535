"""Drawings of pretrained models: positions stretched to another grid, and trained models side by side.

In the one style of all figures: see figures.py for how to add one.
"""

import math
from collections.abc import Mapping

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator, PercentFormatter

from going_modular.going_modular.figure_style import COLOURS, DPI, SIZES, finite_array, styled
from going_modular.going_modular.figures import (
    LINE_COLOURS,
    MARKERS,
    SIGNED,
    add_colour_bar,
    centred,
    new_grid,
    put_picture,
    style_ticks,
)

UNKNOWN = "not known"


@styled
def show_stretched_maps(maps: Mapping[str, object], title: str) -> None:
    """Show maps (h, w) of any sizes, each under its name and equally large, in the first one's colour scale.

    White is 0, orange-red above, blue below; the same colour means the same number everywhere.

    Raises ValueError where there is no map.
    """
    arrays = {name: finite_array(values, "(h, w)", f"the map {name!r}") for name, values in maps.items()}
    if not arrays:
        raise ValueError("there is no map to show: maps is empty")
    first = next(iter(arrays.values()))
    figure, grid = new_grid(len(arrays), 3, first.shape[0] / first.shape[1], title, with_bar=True)
    for axes, (name, values) in zip(grid, arrays.items(), strict=True):
        drawn = put_picture(axes, values, name)
        drawn.set(cmap=SIGNED, norm=centred(first))
    add_colour_bar(figure, drawn, grid, "value", shrink=0.9)


@styled
def compare_models(
    accuracies: Mapping[str, tuple[float, float, float]], costs: Mapping[str, Mapping[str, float]], title: str
) -> None:
    """Draw models in rows: accuracy with its interval, and beside it one panel for each kind of cost.

    Args:
        accuracies: {model: (share right, low end, high end)}, shares of 1.
        costs: {kind, with its unit: {model: amount}}, one to three kinds; on log scales, NaN for what is not known.

    Raises ValueError where there is no model, where an interval does not hold its accuracy, where costs don't name the
    same models, and for an amount of 0 or less.
    """
    for model, (share, low, high) in accuracies.items():
        if not 0 <= low <= share <= high <= 1:
            raise ValueError(f"{model!r}: 0 <= low <= accuracy <= high <= 1 was expected, not {low}, {share}, {high}")
    if not accuracies or not 1 <= len(costs) <= 3:
        raise ValueError(f"{len(accuracies)} models and {len(costs)} costs: give one model at least, and 1 to 3 costs")
    for kind, amounts in costs.items():
        if list(amounts) != list(accuracies):
            raise ValueError(f"{kind!r} is known of {list(amounts)}, but the models are {list(accuracies)}")
        if any(amount <= 0 for amount in amounts.values()):
            raise ValueError(f"{kind!r}: a log scale shows amounts above 0 only, not {min(amounts.values())}")
    rows = math.ceil((len(costs) + 1) / 2)
    height = rows * (100 + 62 * len(accuracies)) + 40
    figure, grid = plt.subplots(
        rows, 2, figsize=(800 / DPI, height / DPI), layout="constrained", sharey=True, squeeze=False
    )
    figure.suptitle(title)
    panels = list(grid.flat)
    for unused in panels[len(costs) + 1 :]:
        unused.remove()
    draw_accuracies(panels[0], accuracies)
    for axes, (kind, amounts) in zip(panels[1:], costs.items(), strict=False):
        draw_amounts(axes, kind, amounts)
    panels[0].set_yticks(range(len(accuracies)), labels=list(accuracies))
    panels[0].set_ylim(len(accuracies) - 0.5, -0.75)


def draw_accuracies(axes: Axes, accuracies: Mapping[str, tuple[float, float, float]]) -> None:
    style_panel(axes, "test accuracy, 95 % interval")
    for place, (share, low, high) in enumerate(accuracies.values()):
        axes.plot([low, high], [place, place], color=colour_of(place), linewidth=3, solid_capstyle="butt")
        put_point(axes, place, share, f"{share:.0%}")
    axes.set_xlim(-0.04, 1.04)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))


def draw_amounts(axes: Axes, kind: str, amounts: Mapping[str, float]) -> None:
    style_panel(axes, f"{kind} (log scale)")
    known = [amount for amount in amounts.values() if not math.isnan(amount)] or [1.0]
    low, high = math.log10(min(known)), math.log10(max(known))
    room = max(0.3 * (high - low), 0.4)  # for the words above the outer points
    axes.set_xscale("log")
    axes.set_xlim(10 ** (low - room), 10 ** (high + room))
    if high - low + 2 * room < 2.5:  # few powers of ten: numbers between them, written out
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3), numticks=8))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda amount, _: f"{amount:g}"))
    else:
        axes.xaxis.set_major_locator(LogLocator(numticks=6))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    for place, amount in enumerate(amounts.values()):
        if math.isnan(amount):
            axes.text(10 ** ((low + high) / 2), place, UNKNOWN, ha="center", va="center", fontsize=SIZES["text"])
        else:
            put_point(axes, place, amount, f"{amount:,.0f}" if amount >= 100 else f"{amount:.2g}")


def style_panel(axes: Axes, label: str) -> None:
    style_ticks(axes)
    axes.set_xlabel(label)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0, labelsize=SIZES["text"])
    axes.grid(True, axis="x")
    axes.set_axisbelow(True)


def put_point(axes: Axes, place: int, amount: float, words: str) -> None:
    """A model's marker in its row, and its number above it."""
    axes.plot([amount], [place], color=colour_of(place), marker=MARKERS[place % len(MARKERS)], markersize=9)
    axes.annotate(
        words, (amount, place), (0, 8), textcoords="offset points", ha="center", va="bottom", fontsize=SIZES["text"]
    )


def colour_of(place: int) -> str:
    return COLOURS[LINE_COLOURS[place % len(LINE_COLOURS)]]

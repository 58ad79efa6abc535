"""Drawings of a whole model: what it is built from, and how an amount is shared out among its parts.

How to add a figure: see figures.py.
"""

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np

from going_modular.going_modular.figure_style import COLOURS, SIZES, WIDTH, dark, soft, styled
from going_modular.going_modular.figures import HATCHES, LINE_COLOURS, new_figure
from going_modular.going_modular.vit_map import LINE_SPACING, Pen

WALL_LEFT, WALL_WIDTH = 124, 660  # pixels; left of the wall stand the names of its rows
BRICK_GAP, STUD_HEIGHT, ROW_GAP = 8, 7, 16
LETTER = 8.2  # pixels of a letter of small text, on average and with room to spare
LONGEST_ROW_NAME = 10  # letters
BRICK_COLOURS = ("grey", "blue", "green", "orange", "purple", "sky")


@styled
def draw_bricks(rows: Sequence[tuple[str, Sequence[str]]], title: str = "What a model is built from") -> None:
    """Draw rows of bricks, (name of the row, names of its bricks), the first at the bottom, each built on the last.

    Example: [("functions", ["matmul", "exp"]), ("layers", ["Linear", "softmax"]), ("model", ["classifier"])].

    Raises ValueError where there is no row, where a row has no bricks or more than fit beside each other, and for a
    name that is too long.
    """
    if not rows:
        raise ValueError("there is no row to draw: rows is empty")
    for row, _ in rows:
        if len(row) > LONGEST_ROW_NAME:
            raise ValueError(f"the name of row {row!r} has {len(row)} letters: there is room for {LONGEST_ROW_NAME}")
    wrapped = [[wrap_name(brick, len(bricks), row) for brick in bricks] or refuse_empty(row) for row, bricks in rows]
    heights = [24 + LINE_SPACING * max(map(len, names)) for names in wrapped]
    height = 56 + sum(heights) + (STUD_HEIGHT + ROW_GAP) * len(rows)
    pen = Pen(800, height, title)
    bottom = height - 12
    for number, ((row, _), names, brick_height) in enumerate(zip(rows, wrapped, heights, strict=True)):
        colour = BRICK_COLOURS[number % len(BRICK_COLOURS)]
        top = bottom - brick_height
        pen.text("wall", WALL_LEFT - 14, top + brick_height / 2, row, size="text", align="right", bold=True)
        width = (WALL_WIDTH - BRICK_GAP * (len(names) - 1)) / len(names)
        for place, lines in enumerate(names):
            left = WALL_LEFT + place * (width + BRICK_GAP)
            for stud in studs(left, width):
                pen.box("wall", stud, top - STUD_HEIGHT, 18, STUD_HEIGHT + 4, colour)
            pen.box("wall", left, top, width, brick_height, colour, *lines)
        bottom = top - STUD_HEIGHT - ROW_GAP


def refuse_empty(row: str) -> None:
    raise ValueError(f"row {row!r} has no bricks: give it one at least")


def wrap_name(name: str, bricks: int, row: str) -> list[str]:
    """A brick's name in lines that fit a row of so many bricks. ValueError where a word is longer than that."""
    letters = int(((WALL_WIDTH - BRICK_GAP * (bricks - 1)) / bricks - 8) / LETTER)
    longest = max(map(len, name.split()), default=0)
    if longest > letters:
        raise ValueError(f"row {row!r} has {bricks} bricks, too many for a word of {longest} letters as in {name!r}")
    return textwrap.wrap(name, letters, break_on_hyphens=False) or [""]


def studs(left: float, width: float) -> np.ndarray:
    """Where the studs on top of a brick begin: one for each 50 pixels, spread evenly."""
    count = max(2, int(width // 50))
    return left + (np.arange(count) + 0.5) * width / count - 9


@styled
def plot_amounts(amounts: Mapping[str, float], xlabel: str, title: str, number_format: str = ",.0f") -> None:
    """Draw {part: amount} as bars from top to bottom, each with its amount and its share of the sum.

    Raises ValueError where there is no part, an amount is negative or not finite, or all of them are 0.
    """
    values = np.asarray(list(amounts.values()), dtype=float)
    if not len(values):
        raise ValueError("there is no bar to draw: amounts is empty")
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise ValueError(f"amounts must be finite numbers from 0 up, not all of them 0: {dict(amounts)!r}")
    figure, axes = new_figure(WIDTH, 120 + 38 * len(values))
    figure.suptitle(title)  # over the names too, which leave the bars little width
    for place, value in enumerate(values):
        colour = LINE_COLOURS[place % len(LINE_COLOURS)]
        axes.barh(
            place,
            value,
            height=0.7,
            color=soft(colour, 0.5),
            edgecolor=dark(colour),
            linewidth=1.5,
            hatch=HATCHES[place % len(HATCHES)],
        )
        words = f" {value:{number_format}}  ({value / values.sum():.1%})"
        axes.text(value, place, words, va="center", fontsize=SIZES["text"], color=COLOURS["ink"])
    axes.set_yticks(range(len(values)), labels=list(amounts), fontsize=SIZES["text"])
    axes.set(xlabel=xlabel, xlim=(0, values.max() * 1.6))
    axes.invert_yaxis()

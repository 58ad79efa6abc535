"""Draw the animation of a line of a paper becoming a line of code: Equation 2, its LaTeX, its symbols, the code.

usage: python tools/make_equation_animation.py [TARGET]   (docs/figures/equation_to_code.gif)
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from make_animation import ROOT, as_picture, save_gif

sys.path.insert(0, str(ROOT))
from going_modular.going_modular.figure_style import styled  # noqa: E402
from going_modular.going_modular.vit_map import Pen  # noqa: E402

TARGET = ROOT / "docs" / "figures" / "equation_to_code.gif"
WIDTH, HEIGHT = 640, 400  # pixels
TITLE = "From a line of the paper to a line of code"
PRINTED = r"$\mathbf{z}_\ell^{\prime} = \mathrm{MSA}(\mathrm{LN}(\mathbf{z}_{\ell-1})) + \mathbf{z}_{\ell-1}$"
LATEX = (
    r"\mathbf{z}'_\ell = \mathrm{MSA}(",
    r"    \mathrm{LN}(\mathbf{z}_{\ell-1})",
    r") + \mathbf{z}_{\ell-1}",
)
SYMBOLS = (  # the paper's symbol, what it is, and the code for it
    (r"$\mathbf{z}_{\ell-1}$", "the tokens, (B, N+1, D)", "z"),
    (r"$\mathrm{LN}$", "a layer, shape kept", "layer_norm(z)"),
    (r"$\mathrm{MSA}$", "a layer, shape kept", "msa(layer_norm(z))"),
    (r"$+\ \mathbf{z}_{\ell-1}$", "the input, added", "msa(layer_norm(z)) + z"),
)
STAGES = (  # its number, its name, where its box begins and how high it is
    ("1. Printed in the paper", 78, 54),
    ("2. Typed into your notebook, as LaTeX", 166, 84),
    ("3. Each symbol asked: what is it, which code?", 284, 106),
)


def frames() -> Iterator[tuple[int, dict]]:
    """Every frame: how many milliseconds it stands, and how much of the LaTeX and of the symbols it shows."""
    yield 1800, {"letters": 0, "symbols": 0}
    total = sum(map(len, LATEX))
    for letters in range(6, total, 6):  # more than the indent: each frame differs from the one before
        yield 130, {"letters": letters, "symbols": 0}
    yield 1600, {"letters": total, "symbols": 0}
    for symbols in range(1, len(SYMBOLS) + 1):
        wait = 5000 if symbols == len(SYMBOLS) else 1700
        yield wait, {"letters": total, "symbols": symbols}


@styled
def draw_frame(letters: int, symbols: int) -> None:
    """Draw one frame on a new figure: three boxes from top to bottom, filled as far as the arguments say."""
    pen = Pen(WIDTH, HEIGHT, TITLE)
    stage = 0 if not letters else 1 if not symbols else 2
    for number, (name, top, height) in enumerate(STAGES):
        colour = ("yellow", "sky", "green")[number] if number <= stage else "grey"
        pen.region("all", 24, top, 592, height, colour)
        pen.text("all", 36, top - 15, name, align="left", bold=number == stage)
    pen.text("all", 320, STAGES[0][1] + 27, PRINTED, size="title")
    left = letters
    for line, text in enumerate(LATEX):
        pen.axes.text(60, STAGES[1][1] + 17 + 25 * line, text[: max(left, 0)], family="monospace", va="center", size=13)
        left -= len(text)
    for line, (symbol, meaning, code) in enumerate(SYMBOLS[:symbols]):
        y = STAGES[2][1] + 16 + 25 * line
        pen.text("all", 44, y, symbol, size="label", align="left")
        pen.text("all", 130, y, meaning, align="left")
        pen.axes.text(330, y, code, family="monospace", va="center", size=13)


def main() -> None:
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    target = Path(sys.argv[1]) if len(sys.argv) == 2 else TARGET
    waits, pictures = [], []
    for wait, content in frames():
        draw_frame(**content)
        waits.append(wait)
        pictures.append(as_picture())
    save_gif(pictures, waits, target)


if __name__ == "__main__":
    main()

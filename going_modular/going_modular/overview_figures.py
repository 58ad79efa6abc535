"""Drawings of notebooks 00 and 02: what replicating a paper is, where papers are found, how a model is put together.

They are drawn with the map's Pen, on a canvas in pixels. How to add a figure: see figures.py.
"""

from collections.abc import Mapping

from going_modular.going_modular.figure_style import COLOURS, SIZES, WIDTH, dark, soft, styled
from going_modular.going_modular.figures import HATCHES, new_figure, put_legend_below
from going_modular.going_modular.vit_map import LINE_SPACING, Pen

__all__ = ["draw_building", "draw_paper_sources", "draw_pipeline", "draw_replication", "plot_shares"]

ALWAYS = "always"
CODE_FONT = "DejaVu Sans Mono"  # comes with matplotlib: every machine draws the same

# What a paper holds, and what it becomes: kind, colour, lines of the paper, lines of code.
TRANSLATIONS = (
    (
        "words",
        "yellow",
        ("cut the image into patches,", "map each to D numbers"),
        ("nn.Conv2d(3, 768,", "  kernel_size=16, stride=16)"),
    ),
    ("a drawing", "green", (), ("def forward(self, z):", "  z = msa(layer_norm(z)) + z")),
    ("an equation", "orange", (r"$\mathbf{y} = \mathrm{LN}(\mathbf{z}_L^0)$",), ("y = layer_norm(z[:, 0])",)),
    (
        "a table",
        "sky",
        ("ViT-Base:  12 layers,", "hidden size 768"),
        ("num_transformer_layers=12,", "embedding_dim=768,"),
    ),
)

# What you want to know, where to look, what is there.
SOURCES = (
    ("What does it say?", "yellow", "arXiv", "the text, in every version"),
    ("Who builds on it?", "yellow", "Hugging Face Papers", "models and data sets that name it"),
    ("What did the authors run?", "sky", "the official repository", "google-research/vision_transformer"),
    ("What do people use?", "sky", "libraries", "torchvision, timm"),
    ("How short can it be?", "sky", "a replication to read", "lucidrains/vit-pytorch"),
)
EMBEDDING_COLOURS = ("sky", "vermillion", "purple")


def write_code(pen: Pen, x: float, y: float, *lines: str) -> None:
    """Lines of code, left-aligned, the middle of them at y."""
    for number, line in enumerate(lines):
        pen.axes.text(
            x,
            y + (number - (len(lines) - 1) / 2) * LINE_SPACING,
            line.rstrip(),
            color=COLOURS["ink"],
            fontsize=SIZES["small"],
            fontfamily=CODE_FONT,
            fontweight="normal",
            horizontalalignment="left",
            verticalalignment="center",
            zorder=5,
        )


@styled
def draw_replication() -> None:
    """Draw what paper replicating is: each kind of thing that a paper holds, and the code that it becomes."""
    pen = Pen(800, 418, "Paper replicating: what the paper says becomes code that runs")
    pen.region(ALWAYS, 120, 56, 270, 346, "grey")
    pen.region(ALWAYS, 470, 56, 314, 346, "blue")
    pen.text(ALWAYS, 255, 74, "the paper", bold=True)
    pen.text(ALWAYS, 627, 74, "your code", bold=True)
    for number, (kind, colour, said, code) in enumerate(TRANSLATIONS):
        y = 92 + 77 * number
        pen.text(ALWAYS, 108, y + 32, kind, align="right")
        if said:
            pen.box(ALWAYS, 134, y, 242, 64, colour, *said)
        else:
            pen.region(ALWAYS, 134, y, 242, 64, colour)
            draw_small_block(pen, 144, y + 36)
        pen.line(ALWAYS, (378, y + 32), (482, y + 32))
        pen.box(ALWAYS, 484, y, 286, 64, "grey")
        write_code(pen, 494, y + 32, *code)


def draw_small_block(pen: Pen, x: float, y: float) -> None:
    """Half an encoder block from left to right, as small as a stamp."""
    pen.line(ALWAYS, (x, y + 6), (x + 222, y + 6))
    pen.line(ALWAYS, (x + 10, y + 6), (x + 10, y - 22), (x + 194, y - 22), (x + 194, y - 4))
    pen.box(ALWAYS, x + 26, y - 7, 46, 26, "grey", "LN")
    pen.box(ALWAYS, x + 94, y - 7, 62, 26, "green", "MSA")
    pen.disc(ALWAYS, x + 194, y + 6, 10, "grey", "+")


@styled
def draw_paper_sources() -> None:
    """Draw where a paper and its code are found: five questions, and the place that answers each."""
    pen = Pen(800, 400, "One paper, and where to look for what")
    pen.box(ALWAYS, 16, 176, 128, 92, "grey", "one paper", "arXiv", "2010.11929", bold=True)
    for number, (question, colour, place, what) in enumerate(SOURCES):
        y = 62 + 66 * number
        middle = y + 26
        pen.line(ALWAYS, (144, 222), (172, 222), (172, middle), (198, middle))
        pen.text(ALWAYS, 206, middle, question, align="left")
        pen.line(ALWAYS, (420, middle), (456, middle))
        pen.box(ALWAYS, 458, y, 326, 52, colour, place, what, bold=True)


@styled
def draw_building() -> None:
    """Draw how layers make a block and blocks make an architecture: each takes an input and gives an output."""
    pen = Pen(800, 520, "Layers make a block, blocks make an architecture")
    draw_column(pen, 20, 172, "a layer", "(B, 197, 768)", "(B, 197, 768)", ((262, 34, "grey", "LayerNorm"),))
    block = (
        (132, 30, "grey", "LayerNorm"),
        (178, 44, "green", "multi-head attention"),
        (238, 26, "grey", "+ its input"),
        (306, 30, "grey", "LayerNorm"),
        (352, 44, "blue", "MLP"),
        (412, 26, "grey", "+ its input"),
    )
    draw_column(pen, 274, 222, "a block", "(B, 197, 768)", "(B, 197, 768)", block)
    architecture = (
        (132, 44, "sky", "patch, class and", "position embedding"),
        (196, 32, "green", "encoder block 1"),
        (248, 32, "green", "encoder block 2"),
        (328, 32, "green", "encoder block 12"),
        (380, 44, "orange", "classifier:", "LayerNorm, linear"),
    )
    draw_column(pen, 578, 204, "an architecture", "(B, 3, 224, 224)", "(B, 3)", architecture)
    pen.text(ALWAYS, 696, 302, "⋮", size="title")
    pen.wedge(ALWAYS, "grey", (178, 262), (288, 132), (288, 162), (178, 296))
    pen.wedge(ALWAYS, "green", (482, 118), (592, 196), (592, 228), (482, 446))


def draw_column(pen: Pen, x: float, width: float, name: str, taken: str, given: str, parts: tuple) -> None:
    """Boxes below each other, an arrow through them, the shape that goes in above and the one that comes out below."""
    middle = x + width / 2
    pen.region(ALWAYS, x, 112, width, 342, "grey")
    pen.text(ALWAYS, middle, 62, name, size="label", bold=True)
    pen.text(ALWAYS, middle, 86, taken)
    previous = 98
    for y, height, colour, *lines in parts:
        pen.line(ALWAYS, (middle, previous), (middle, y))
        pen.box(ALWAYS, x + 14, y, width - 28, height, colour, *lines)
        previous = y + height
    pen.line(ALWAYS, (middle, previous), (middle, 478))
    pen.text(ALWAYS, middle, 494, given)


@styled
def draw_pipeline(equation: int | None = None) -> None:
    """Draw ViT as one row, from image to logits, with the part that an equation computes framed and in full colour.

    equation is 1, 2, 3 or 4, the number in section 3.1, or None for everything in colour. Shapes are those of ViT-B/16
    for one image. Raises ValueError for another number.
    """
    if equation not in (None, 1, 2, 3, 4):
        raise ValueError(f"section 3.1 has Equations 1 to 4, not {equation!r}: choose one, or None for all in colour")
    title = "The four equations in a row" if equation is None else f"Where Equation {equation} stands"
    chosen = None if equation is None else f"({equation})"
    lit = (chosen, ALWAYS)
    pen = Pen(800, 236, title, is_lit=lambda owner: equation is None or owner in lit, chosen=chosen)
    for owner, x, width, colour in PIPELINE_REGIONS:
        pen.region(owner, x, 76, width, 98, colour)
        pen.badge(owner, x + width / 2, 76, owner)
    pen.line(ALWAYS, (66, 134), (728, 134))
    pen.line(ALWAYS, (608, 134), (608, 190), (376, 190), (376, 138))  # from the end of a block to its beginning
    for owner, x, width, colour, *lines in PIPELINE_BOXES:
        pen.box(owner, x, 104, width, 60, colour, *lines)
    for x, y, words in PIPELINE_STATES:
        pen.text(ALWAYS, x, y, words, size="label")
    for x, words in (
        (56, "(3, 224, 224)"),
        (316, "(197, 768)"),
        (492, r"$L = 12$ times"),
        (664, "(197, 768)"),
        (761, "(3)"),
    ):
        pen.text(ALWAYS, x, 208, words)


PIPELINE_REGIONS = (  # owner, x, width, colour
    ("(1)", 82, 266, "blue"),
    ("(2)", 396, 80, "green"),
    ("(3)", 516, 80, "blue"),
    ("(4)", 646, 64, "orange"),
)
PIPELINE_BOXES = (  # owner, x, width, colour, what stands in the box
    ("ends", 8, 62, "yellow", "image", r"$\mathbf{x}$"),
    ("(1)", 88, 98, "sky", "patch", "embedding"),
    ("(1)", 194, 62, "vermillion", "class", "token"),
    ("(1)", 264, 78, "purple", "plus", "position"),
    ("(2)", 404, 64, "green", "LN", "MSA", "+"),
    ("(3)", 524, 64, "blue", "LN", "MLP", "+"),
    ("(4)", 654, 48, "orange", "LN"),
    ("ends", 730, 62, "yellow", "linear", "head"),
)
PIPELINE_STATES = (  # x, y, what flows there
    (363, 116, r"$\mathbf{z}_0$"),
    (495, 116, r"$\mathbf{z}_\ell^{\prime}$"),
    (627, 116, r"$\mathbf{z}_L$"),
    (720, 116, r"$\mathbf{y}$"),
)


@styled
def plot_shares(shares: Mapping[str, Mapping[str, float]], title: str, xlabel: str) -> None:
    """Draw {bar: {part: amount}} as bars of 100 %, one below the other, each part with its share where there is room.

    Parts differ by colour and by hatch. Raises ValueError where there is no bar, where two bars have other parts, or
    where an amount is negative or a bar adds up to 0.
    """
    if not shares:
        raise ValueError("there is no bar to draw: shares is empty")
    parts = list(next(iter(shares.values())))
    for name, amounts in shares.items():
        if list(amounts) != parts:
            raise ValueError(
                f"bar {name!r} has the parts {list(amounts)}, and the first has {parts}: give all the same"
            )
        if min(amounts.values(), default=0) < 0 or sum(amounts.values()) <= 0:
            raise ValueError(f"bar {name!r}: amounts must be 0 or more and not all 0, not {list(amounts.values())}")
    _, axes = new_figure(WIDTH, 180 + 44 * len(shares))
    starts = [0.0] * len(shares)
    for place, (part, colour) in enumerate(zip(parts, ("sky", "green", "blue", "orange", "grey", "purple"))):
        widths = [100 * amounts[part] / sum(amounts.values()) for amounts in shares.values()]
        bars = axes.barh(
            range(len(shares)),
            widths,
            left=starts,
            height=0.66,
            label=part,
            color=soft(colour, 0.5),
            edgecolor=dark(colour),
            hatch=HATCHES[place % len(HATCHES)],
        )
        for bar, width in zip(bars, widths, strict=True):
            if width >= 6:
                axes.text(
                    bar.get_x() + width / 2,
                    bar.get_y() + bar.get_height() / 2,
                    f"{width:.0f} %",
                    fontsize=SIZES["small"],
                    ha="center",
                    va="center",
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
                )
        starts = [start + width for start, width in zip(starts, widths, strict=True)]
    axes.set_yticks(range(len(shares)), labels=list(shares))
    axes.invert_yaxis()
    axes.set(title=title, xlabel=xlabel, xlim=(0, 100))
    put_legend_below(axes)

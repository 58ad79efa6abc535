"""Diagrams: the map of ViT with one part lit up, one encoder block, and a row of shapes.

The map is this project's own drawing of what Figure 1 of the ViT paper (https://arxiv.org/abs/2010.11929) describes,
for pizza, steak and sushi. All three are drawn with a Pen, on a canvas measured in pixels with y downwards. How to add
a figure: see figures.py.
"""

import functools
import textwrap
from collections.abc import Callable, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Polygon, Rectangle
from matplotlib.path import Path

from going_modular.going_modular.figure_style import COLOURS, DPI, SIZES, dark, soft, styled, to_picture

# Each part of the map, its name in words, and the equations of section 3.1 it belongs to.
PART_NAMES = {
    "data": ("the data: images and their labels", ""),
    "patch_embedding": ("patch embedding", "Equation 1"),
    "class_token": ("class token", "Equation 1"),
    "position_embedding": ("position embedding", "Equation 1"),
    "msa": ("multi-head self-attention", "Equation 2"),
    "mlp": ("MLP", "Equation 3"),
    "encoder": ("encoder, L blocks", "Equations 2 and 3"),
    "classifier": ("classifier", "Equation 4"),
}
PARTS = tuple(PART_NAMES)
EQUATION_1_PARTS = ("patch_embedding", "class_token", "position_embedding")
EQUATIONS = {  # each with the parts that compute it
    r"$\mathbf{z}_0 = [\mathbf{x}_\mathrm{class};\, \mathbf{x}_p^1\mathbf{E};\, \ldots;\, \mathbf{x}_p^N\mathbf{E}]"
    r" + \mathbf{E}_\mathrm{pos}$": EQUATION_1_PARTS,
    r"$\mathbf{z}_\ell^{\prime} = \mathrm{MSA}(\mathrm{LN}(\mathbf{z}_{\ell-1})) + \mathbf{z}_{\ell-1}$": (
        "msa",
        "encoder",
    ),
    r"$\mathbf{z}_\ell = \mathrm{MLP}(\mathrm{LN}(\mathbf{z}_\ell^{\prime})) + \mathbf{z}_\ell^{\prime}$": (
        "mlp",
        "encoder",
    ),
    r"$\mathbf{y} = \mathrm{LN}(\mathbf{z}_L^0)$": ("classifier",),
}
CLASS_NAMES = ("pizza", "steak", "sushi")
GRID = 3  # the map cuts its picture into 3 x 3 patches: room for 9, where ViT-B/16 has 196

DIM_FILL, DIM_EDGE, DIM_TEXT = "#F6F7F8", "#CDD2D7", "#868D96"
LINE_SPACING = 17  # pixels from one line of small text to the next
FLOW_COLOURS = ("yellow", "blue", "green", "orange", "purple", "vermillion")
FLOW_COLUMNS = 4  # boxes of draw_shape_flow in one row


class Pen:
    """Draws boxes, arrows and text on a canvas in pixels, y downwards; what belongs to a dimmed part goes grey.

    Every call names the owner of what it draws. is_lit(owner) decides between full colour and grey.
    """

    def __init__(
        self,
        width: int,
        height: int,
        title: str,
        is_lit: Callable[[str], bool] = lambda owner: True,
        chosen: str | None = None,
    ):
        figure = plt.figure(figsize=(width / DPI, height / DPI))
        figure.suptitle(title, x=0.5, y=1 - 24 / height, verticalalignment="center")
        self.axes = figure.add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(0, width), ylim=(height, 0))
        self.axes.set_axis_off()
        self.axes.add_patch(Rectangle((0, 0), width, height, facecolor="white", zorder=-1))  # keeps the canvas's size
        self.is_lit = is_lit
        self.chosen = chosen

    def text(
        self,
        owner: str,
        x: float,
        y: float,
        words: str,
        size: str = "small",
        align: str = "center",
        bold: bool = False,
        rotation: float = 0,
    ):
        self.axes.text(
            x,
            y,
            words,
            color=COLOURS["ink"] if self.is_lit(owner) else DIM_TEXT,
            fontsize=SIZES[size],
            fontweight="bold" if bold else "normal",
            horizontalalignment=align,
            verticalalignment="center",
            rotation=rotation,
            zorder=5,
        )

    def badge(self, owner: str, x: float, y: float, words: str):
        """The number of an equation, in a white disc."""
        edge = COLOURS["ink"] if self.is_lit(owner) else DIM_EDGE
        self.axes.add_patch(Circle((x, y), 14, facecolor="white", edgecolor=edge, linewidth=1.2, zorder=4))
        self.text(owner, x, y, words, bold=True)

    def marker(self, x: float, y: float):
        """The black disc with an arrow that says "here"."""
        self.axes.plot(x, y, marker="o", markersize=17, color=COLOURS["ink"], zorder=6)
        self.axes.plot(x, y, marker=">", markersize=7, color="white", zorder=7)

    def wedge(self, owner: str, colour: str, *corners: tuple[float, float]):
        """A flat patch of colour between two things, of which the wide one is the other enlarged."""
        face = soft(colour, 0.25) if self.is_lit(owner) else "#F1F3F5"
        self.axes.add_patch(Polygon(corners, facecolor=face, edgecolor="none", zorder=0.5))

    def box(
        self,
        owner: str,
        x: float,
        y: float,
        width: float,
        height: float,
        colour: str,
        *lines: str,
        size: str = "small",
        bold: bool = False,
    ):
        """A rounded box with its top left corner at x, y, and centred lines of text in it."""
        lit = self.is_lit(owner)
        self.axes.add_patch(
            FancyBboxPatch(
                (x, y),
                width,
                height,
                boxstyle=f"round,pad=0,rounding_size={min(7, height / 4)}",
                facecolor=soft(colour) if lit else DIM_FILL,
                edgecolor=dark(colour) if lit else DIM_EDGE,
                linewidth=1.6 if lit else 1.0,
                zorder=3,
            )
        )
        for number, line in enumerate(lines):
            line_y = y + height / 2 + (number - (len(lines) - 1) / 2) * LINE_SPACING
            self.text(owner, x + width / 2, line_y, line, size, bold=bold and number == 0)

    def disc(self, owner: str, x: float, y: float, radius: float, colour: str, words: str):
        lit = self.is_lit(owner)
        face, edge = (soft(colour), dark(colour)) if lit else (DIM_FILL, DIM_EDGE)
        self.axes.add_patch(
            Circle((x, y), radius, facecolor=face, edgecolor=edge, linewidth=1.6 if lit else 1, zorder=3)
        )
        self.text(owner, x, y, words)

    def line(self, owner: str, *points: tuple[float, float], arrow: bool = True):
        """A line through the points, with an arrow head at its end."""
        lit = self.is_lit(owner)
        self.axes.add_patch(
            FancyArrowPatch(
                path=Path(points),
                arrowstyle="-|>,head_length=0.45,head_width=0.22" if arrow else "-",
                mutation_scale=14,
                color="#4A5058" if lit else DIM_EDGE,
                linewidth=1.6 if lit else 1.1,
                joinstyle="round",
                capstyle="butt",
                fill=arrow,
                zorder=2,
            )
        )

    def picture(self, owner: str, picture: np.ndarray, x: float, y: float, side: float):
        lit = self.is_lit(owner)
        extent = (x, x + side, y + side, y)
        self.axes.imshow(
            picture, extent=extent, alpha=1.0 if lit else 0.28, aspect="auto", interpolation="antialiased", zorder=3
        )
        edge = COLOURS["ink"] if lit else DIM_EDGE
        self.axes.add_patch(Rectangle((x, y), side, side, fill=False, edgecolor=edge, linewidth=1.2, zorder=4))

    def region(self, owner: str, x: float, y: float, width: float, height: float, colour: str):
        """A wash of colour behind a part. The chosen part also gets a thick frame and a marker at its corner."""
        lit = self.is_lit(owner)
        shape = {"xy": (x, y), "width": width, "height": height, "boxstyle": "round,pad=0,rounding_size=9"}
        wash, edge = (soft(colour, 0.13), soft(colour, 0.5)) if lit else ("none", "#E4E7EA")
        self.axes.add_patch(FancyBboxPatch(**shape, facecolor=wash, edgecolor=edge, linewidth=1.0, zorder=0))
        if owner == self.chosen:
            self.axes.add_patch(
                FancyBboxPatch(**shape, facecolor="none", edgecolor=COLOURS["ink"], linewidth=3.2, zorder=1)
            )
            self.marker(x, y)


# The map

MAP_HEIGHT = 960
FIRST_SLOT, SLOT_STEP, SLOT = 188, 63, 46  # the tokens' columns: slot 0 for the class token, 1 to 9 for the patches
STACK_X = 188  # the middle of the encoder's stack


@styled
def draw_vit_map(part: str | None = None, image=None) -> None:
    """Draw the way from an image to pizza, steak or sushi, with one part of ViT lit up.

    part is one of PARTS, or None for everything in colour. The lit part has full colour, a thick frame and a black
    marker; its equation is marked in the list at the top right. image is shown and cut into patches (see
    figure_style.to_picture); without one, a drawn pizza. Shapes are those of ViT-B/16 for one image.

    Raises ValueError for a part that the map doesn't have.
    """
    if part is not None and part not in PARTS:
        raise ValueError(f"the map of ViT has no part {part!r}: choose one of {', '.join(PARTS)}, or None for all")
    picture = square(draw_pizza() if image is None else to_picture(image))
    lit = {part, "always", *(("msa", "mlp") if part == "encoder" else ())}
    pen = Pen(
        800,
        MAP_HEIGHT,
        "The Vision Transformer, from an image to a label",
        is_lit=lambda owner: part is None or owner in lit,
        chosen=part,
    )
    draw_heading(pen)
    draw_image_and_patches(pen, picture)
    draw_tokens(pen, picture)
    draw_stack(pen)
    draw_classifier(pen)
    draw_block_detail(pen)


def slot(number: int) -> int:
    """The x of the middle of a token's column."""
    return FIRST_SLOT + SLOT_STEP * number


def draw_heading(pen: Pen) -> None:
    """What is lit up, and the four equations with a marker at those it belongs to."""
    words = "every part; shapes are those of ViT-B/16, for one image"
    if pen.chosen:
        name, equation = PART_NAMES[pen.chosen]
        words = f"lit up: {name}" + (f" ({equation})" if equation else "")
    pen.text("always", 400, 52, words, size="label")
    pen.region("equations", 436, 82, 350, 158, "grey")
    for number, (equation, owners) in enumerate(EQUATIONS.items(), start=1):
        chosen = pen.chosen in owners
        owner = "always" if chosen else "equations"
        y = 107 + 36 * (number - 1)
        if chosen:
            pen.marker(436, y)
        pen.text(owner, 458, y, f"({number})", align="left", bold=chosen)
        pen.text(owner, 496, y, equation, size="label", align="left")


def draw_image_and_patches(pen: Pen, picture: np.ndarray) -> None:
    pen.region("data", 16, 76, 168, 210, "yellow")
    pen.picture("data", picture, 30, 90, 140)
    pen.text("data", 100, 247, "image x, (C, H, W)")
    pen.text("data", 100, 266, "(3, 224, 224)")
    pen.line("patch_embedding", (188, 160), (230, 160))
    piece, step = 46, 53
    for number, patch in enumerate(cut(picture)):
        row, column = divmod(number, GRID)
        pen.picture("patch_embedding", patch, 238 + column * step, 84 + row * step, piece)
    pen.text("patch_embedding", 314, 253, "N = 196 patches")
    pen.text("patch_embedding", 314, 271, "(9 drawn)")
    pen.line("patch_embedding", (314, 283), (314, 309))


def draw_tokens(pen: Pen, picture: np.ndarray) -> None:
    """Equation 1: patches in a row, each projected; the class token before them; positions added."""
    pen.region("patch_embedding", slot(1) - 30, 303, slot(9) - slot(1) + 60, 172, "blue")
    pen.region("class_token", slot(0) - 31, 421, 62, 54, "vermillion")
    pen.region("position_embedding", slot(0) - 31, 480, slot(9) - slot(0) + 61, 58, "purple")
    projection = r"linear projection $\mathbf{E}$:  $P^2 C \rightarrow D$  numbers a patch"
    pen.box("patch_embedding", slot(1) - SLOT / 2, 376, slot(9) - slot(1) + SLOT, 28, "blue", projection)
    for number, patch in enumerate(cut(picture), start=1):
        x = slot(number)
        pen.picture("patch_embedding", patch, x - SLOT / 2, 311, SLOT)
        pen.line("patch_embedding", (x, 358), (x, 376))
        pen.line("patch_embedding", (x, 404), (x, 430))
        token = rf"$\mathbf{{x}}_p^{number}\mathbf{{E}}$"
        pen.box("patch_embedding", x - SLOT / 2, 431, SLOT, 34, "sky", token, size="text")
    pen.box("class_token", slot(0) - SLOT / 2, 431, SLOT, 34, "vermillion", "*", bold=True)
    for number in range(GRID**2 + 1):
        pen.text("position_embedding", slot(number), 490, "+")
        pen.disc("position_embedding", slot(number), 515, 14, "purple", str(number))
    for owner, y, words, shape in (
        ("patch_embedding", 325, r"flat, $N \times P^2 C$", "(196, 768)"),
        ("patch_embedding", 381, r"embedded, $N \times D$", "(196, 768)"),
        ("class_token", 439, "* class token", "(1, 768)"),
        ("position_embedding", 500, "+ position", "(197, 768)"),
    ):
        pen.text(owner, 16, y, words, align="left")
        pen.text(owner, 16, y + LINE_SPACING, shape, align="left")


def draw_stack(pen: Pen) -> None:
    """L encoder blocks, one after the other; what goes in, z_0, and what comes out, z_L."""
    for number in range(GRID**2 + 1):
        pen.line("encoder", (slot(number), 539), (slot(number), 554), arrow=False)
    pen.line("encoder", (slot(9), 554), (STACK_X, 554), (STACK_X, 598))
    pen.badge("always" if pen.chosen in EQUATION_1_PARTS else "equations", 222, 571, "(1)")
    pen.text("encoder", 246, 571, r"$\mathbf{z}_0$  (197, 768)", align="left")
    pen.region("encoder", 16, 586, 344, 198, "grey")
    for y, name in ((600, "encoder block 1"), (644, "encoder block 2"), (710, "encoder block L = 12")):
        pen.box("encoder", STACK_X - 126, y, 252, 28, "green", name)
    pen.line("encoder", (STACK_X, 628), (STACK_X, 644))
    pen.text("encoder", STACK_X, 690, "⋮", size="title")
    pen.line("encoder", (STACK_X, 738), (STACK_X, 753))
    for number in range(1, GRID**2 + 1):
        pen.box("encoder", 32 + 20 * number, 755, 16, 18, "sky")
    pen.text("encoder", 244, 764, r"$\mathbf{z}_L$  (197, 768)", align="left")


def draw_classifier(pen: Pen) -> None:
    """Equation 4 and the head: token 0 of the last block, normalised, to three logits."""
    pen.region("classifier", 16, 794, 344, 152, "orange")
    pen.box("classifier", 32, 755, 16, 18, "vermillion", "*", bold=True)
    pen.line("classifier", (40, 773), (40, 824))
    pen.text("classifier", 54, 810, r"token 0 of $\mathbf{z}_L$  (768)", align="left")
    pen.badge("classifier", 338, 808, "(4)")
    pen.box("classifier", 26, 825, 112, 30, "orange", "LayerNorm")
    pen.line("classifier", (138, 840), (234, 840))
    pen.text("classifier", 183, 829, r"$\mathbf{y}$  (768)")
    pen.box("classifier", 236, 825, 112, 30, "orange", "linear head")
    pen.text("classifier", 280, 867, "logits (3)", align="right")
    pen.line("classifier", (292, 855), (292, 880), (81, 880), (81, 902))
    if pen.chosen == "data":
        pen.region("data", 24, 897, 328, 45, "yellow")
    for number, name in enumerate(CLASS_NAMES):
        x = 81 + 107 * number
        if number:
            pen.line("classifier", (x, 880), (x, 902))
        owner = "data" if pen.is_lit("data") else "classifier"  # the labels belong to both
        pen.box(owner, x - 48, 904, 96, 32, "yellow", name)


def draw_block_detail(pen: Pen) -> None:
    """One encoder block, large, beside the stack that it is taken from."""
    pen.wedge("encoder", "green", (314, 646), (392, 598), (392, 718), (314, 670))
    pen.region("encoder", 392, 586, 394, 360, "grey")
    pen.text("encoder", 424, 602, "one block", align="left", bold=True)
    draw_block_flow(pen, 602, 594, pre_norm=True, labels=[f"{state}  (197, 768)" for state in STATES])


# One encoder block

STATES = (r"$\mathbf{z}_{\ell-1}$", r"$\mathbf{z}_\ell^{\prime}$", r"$\mathbf{z}_\ell$")  # in, between, out
SUBLAYERS = (  # owner, equation, colour, what stands in the box
    ("msa", "(2)", "green", ("multi-head attention", "k = 12 heads")),
    ("mlp", "(3)", "blue", ("MLP", r"768 $\rightarrow$ 3072 $\rightarrow$ 768")),
)
HEIGHTS = {"norm": 26, "layer": 42, "plus": 24}
SUBLAYER_HEIGHT = 154


@styled
def draw_block(pre_norm: bool = True) -> None:
    """Draw one encoder block: LayerNorm before each sublayer (ViT), or after each sum (the Transformer of 2017).

    Look at the line at the left, the residual: with pre_norm it runs from input to output and meets nothing but sums;
    in the other order every sum passes through a LayerNorm.
    """
    title = "Pre-norm: LayerNorm first" if pre_norm else "Post-norm: LayerNorm last"
    pen = Pen(400, 412, title)
    draw_block_flow(pen, 213, 48, pre_norm, labels=STATES)


def draw_block_flow(pen: Pen, x: float, y: float, pre_norm: bool, labels: Sequence[str]) -> None:
    """Two sublayers from top to bottom along the line x, from y on; labels name what flows in, between and out."""
    pen.text("encoder", x + 20, y + 10, labels[0], align="left")
    y += 22
    pen.line("encoder", (x, y - 20), (x, y + 6), arrow=False)
    for (owner, equation, colour, lines), label in zip(SUBLAYERS, labels[1:], strict=True):
        pen.region(owner, x - 194, y, 362, SUBLAYER_HEIGHT - 4, colour)
        if pre_norm:
            pen.badge(owner, x + 142, y + 22, equation)
        draw_sublayer(pen, owner, x, y, colour, lines, pre_norm)
        y += SUBLAYER_HEIGHT
        pen.text(owner, x + (20 if pre_norm else 84), y - 18, label, align="left")
    pen.line("encoder", (x, y - 6), (x, y + 14))


def draw_sublayer(pen: Pen, owner: str, x: float, y: float, colour: str, lines: Sequence[str], pre_norm: bool) -> None:
    """One residual branch, from its fork at y + 8 to its sum: z + layer(norm(z)), or norm(z + layer(z))."""
    fork = y + 8
    stations = ("norm", "layer", "plus") if pre_norm else ("layer", "plus", "norm")
    top, previous = y + 22, y - 4
    for station in stations:
        middle = top + HEIGHTS[station] / 2
        threefold = station == "layer" and owner == "msa" and pre_norm  # query, key and value
        for shift in (-36, 0, 36) if threefold else (0,):
            pen.line(owner, (x + shift, previous), (x + shift, top))
        if station == "norm":
            pen.box(owner, x - 70, top, 140, HEIGHTS[station], "grey", "LayerNorm")
        elif station == "layer":
            pen.box(owner, x - 100, top, 200, HEIGHTS[station], colour, *lines, bold=True)
        else:
            pen.disc(owner, x, middle, HEIGHTS[station] / 2, "grey", "+")
            pen.line(owner, (x, fork), (x - 150, fork), (x - 150, middle), (x - 12, middle))
            pen.text(owner, x - 170, (fork + middle) / 2, "residual", rotation=90)
        previous = top + HEIGHTS[station]
        top = previous + 17
    pen.line(owner, (x, previous), (x, y + SUBLAYER_HEIGHT), arrow=False)


# A row of shapes


@styled
def draw_shape_flow(steps: Sequence[tuple[str, Sequence[int]]], title: str = "What happens to the shape") -> None:
    """Draw steps, (name, shape that comes out), as boxes from left to right with the shape below each, 4 to a row.

    Example: [("image", (1, 3, 224, 224)), ("Conv2d", (1, 768, 14, 14)), ("Flatten", (1, 768, 196))].
    """
    if not steps:
        raise ValueError("there is no step to draw: steps is empty")
    names = [textwrap.wrap(name, 16) or [""] for name, _ in steps]
    shapes = [f"({', '.join(map(str, shape))})" for _, shape in steps]
    height = 22 + LINE_SPACING * max(map(len, names))
    box_width, step, row_height, first_y = 150, 198, height + 80, 60
    columns, rows = min(len(steps), FLOW_COLUMNS), -(-len(steps) // FLOW_COLUMNS)
    width = max(420, 56 + step * columns - (step - box_width))
    left = (width - step * columns + step - box_width) / 2
    pen = Pen(width, first_y + row_height * rows - 30, title)
    for number, (name, shape) in enumerate(zip(names, shapes, strict=True)):
        row, column = divmod(number, FLOW_COLUMNS)
        x, y = left + step * column, first_y + row_height * row
        pen.box("flow", x, y, box_width, height, FLOW_COLOURS[number % len(FLOW_COLOURS)], *name)
        pen.text("flow", x + box_width / 2, y + height + 16, shape, size="text", bold=True)
        middle = y + height / 2
        if number and column:
            pen.line("flow", (x - step + box_width, middle), (x, middle))
        elif number:  # the first of a row: from the end of the row above, round to the left
            end, above, between = left + step * (FLOW_COLUMNS - 1) + box_width, middle - row_height, y - 26
            turn = [(end + 18, above), (end + 18, between), (x + box_width / 2, between), (x + box_width / 2, y)]
            pen.line("flow", (end, above), *turn)


# Pictures for the map

# Places on the pizza, whose middle is (0, 0) and whose rim is at 0.86; for a basil leaf also its turn in radians.
SALAMI = ((-0.32, -0.35), (0.22, -0.42), (0.44, 0.05), (0.1, 0.1), (-0.42, 0.16), (0.2, 0.48), (-0.16, 0.5))
BASIL = (
    (-0.1, -0.2, 0.6),
    (0.3, -0.15, 2.2),
    (-0.2, 0.3, 1.3),
    (0.42, 0.33, 0.2),
    (0, -0.56, 1.8),
    (-0.55, -0.12, 2.8),
)


@functools.cache
def draw_pizza(side: int = 210) -> np.ndarray:
    """A pizza on a table, (side, side, 3) in [0, 1]: drawn with discs of soft edges, no photo."""
    y, x = np.mgrid[0:side, 0:side] / (side - 1) * 2 - 1
    table = np.array([0.80, 0.66, 0.50]) + 0.03 * np.sin(40 * y + 3 * np.sin(2 * x))[..., np.newaxis]
    picture = table * np.ones((side, side, 1))

    def disc(centre_x, centre_y, radius, colour, squash=1.0, turn=0.0):
        across = (x - centre_x) * np.cos(turn) + (y - centre_y) * np.sin(turn)
        along = (y - centre_y) * np.cos(turn) - (x - centre_x) * np.sin(turn)
        inside = np.clip((radius - np.hypot(across, along / squash)) * side / 3, 0, 1)[..., np.newaxis]
        picture[:] = picture * (1 - inside) + np.array(colour) * inside

    disc(0, 0, 0.94, (0.93, 0.93, 0.92))  # plate
    disc(0, 0, 0.86, (0.76, 0.50, 0.24))  # crust
    disc(0, 0, 0.82, (0.87, 0.64, 0.34))
    disc(0, 0, 0.71, (0.76, 0.22, 0.12))  # sauce
    disc(0, 0, 0.67, (0.97, 0.82, 0.42))  # cheese
    random = np.random.default_rng(4)
    for angle, distance in zip(random.uniform(0, 2 * np.pi, 40), 0.6 * random.uniform(0, 1, 40) ** 0.5, strict=True):
        disc(distance * np.cos(angle), distance * np.sin(angle), random.uniform(0.02, 0.06), (0.99, 0.90, 0.60))
    for centre_x, centre_y in SALAMI:
        disc(centre_x, centre_y, 0.15, (0.60, 0.13, 0.09))
        disc(centre_x, centre_y, 0.125, (0.78, 0.24, 0.16))
    for centre_x, centre_y, turn in BASIL:
        disc(centre_x, centre_y, 0.05, (0.16, 0.45, 0.17), squash=2.2, turn=turn)
    picture = picture.clip(0, 1)
    picture.flags.writeable = False  # the next call returns the same array
    return picture


def square(picture: np.ndarray) -> np.ndarray:
    """The middle square of a picture, its side a multiple of GRID."""
    height, width = picture.shape[:2]
    side = min(height, width) // GRID * GRID
    if side == 0:
        raise ValueError(f"the map cuts its image into {GRID} x {GRID} patches: {height} x {width} pixels are too few")
    top, left = (height - side) // 2, (width - side) // 2
    return picture[top : top + side, left : left + side]


def cut(picture: np.ndarray) -> list[np.ndarray]:
    """GRID x GRID patches of a square picture, row by row."""
    return [patch for row in np.split(picture, GRID) for patch in np.split(row, GRID, axis=1)]

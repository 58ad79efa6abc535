"""Draw the animation of patch embedding: image, convolution, flatten, sequence.

usage: python tools/make_animation.py [TARGET]   (docs/figures/patch_embedding.gif)

Every colour is a number that PatchEmbedding computes, with the sizes of ViT-B/32 and untrained weights, from a drawn
pizza: 49 patches, 6 of the 768 channels.
"""

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from matplotlib.collections import PolyCollection  # noqa: E402
from matplotlib.patches import Rectangle  # noqa: E402
from PIL import Image  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from going_modular.going_modular.figure_style import COLOURS, DPI, styled  # noqa: E402
from going_modular.going_modular.figures import SIGNED, centred  # noqa: E402
from going_modular.going_modular.vit import VARIANTS, PatchEmbedding  # noqa: E402
from going_modular.going_modular.vit_map import Pen, draw_pizza  # noqa: E402

TARGET = ROOT / "docs" / "figures" / "patch_embedding.gif"
WIDTH, HEIGHT = 640, 400  # pixels
SIDE, PATCH_SIZE, DIMENSION = 224, VARIANTS["ViT-B/32"]["patch_size"], VARIANTS["ViT-B/32"]["embedding_dim"]
GRID = SIDE // PATCH_SIZE  # patches in a row, and rows of patches
PATCHES = GRID**2  # N
CHANNELS = 6  # of the D, drawn
IMAGE = (24, 110, 161)  # left, top and side of the image on the canvas
TITLE = "Patch embedding: from an image to a sequence"
COLOUR_COUNT = 96  # in the GIF's palette

# A cell is one number of one channel and one patch; a layout says where its corner is and how large it is.
CHANNEL, PATCH = np.meshgrid(np.arange(CHANNELS), np.arange(PATCHES), indexing="ij")  # (CHANNELS, N) each
ROW, COLUMN = np.divmod(PATCH, GRID)


def layout(left, top, width: float, height: float) -> np.ndarray:
    """Left, top, width and height of every cell, (CHANNELS, N, 4)."""
    return np.stack(np.broadcast_arrays(left, top, width, height), axis=-1).astype(float)


MAPS = layout(234 + 136 * (CHANNEL % 3) + 14 * COLUMN, 122 + 124 * (CHANNEL // 3) + 14 * ROW, 14, 14)
STRIPS = layout(292 + 6.5 * PATCH, 118 + 38 * CHANNEL, 6.5, 22)
SEQUENCE = layout(330 + 40 * CHANNEL, 128 + 4.5 * PATCH, 40, 4.5)


def embed_pizza() -> np.ndarray:
    """The feature maps' first channels, (CHANNELS, N), as PatchEmbedding computes them."""
    torch.manual_seed(42)
    patch_embedding = PatchEmbedding(patch_size=PATCH_SIZE, embedding_dim=DIMENSION)
    pixels = torch.tensor(draw_pizza(SIDE)).permute(2, 0, 1).float() * 2 - 1  # (C, H, W) in [-1, 1]
    with torch.inference_mode():
        return patch_embedding(pixels.unsqueeze(0))[0, :, :CHANNELS].T.numpy()


def frames() -> Iterator[tuple[int, dict]]:
    """Every frame: how many milliseconds it stands, and what draw_frame takes."""
    step = f"1. Convolution: kernel {PATCH_SIZE} x {PATCH_SIZE}, stride {PATCH_SIZE}, one patch at a time"
    shape = f"({DIMENSION}, {GRID}, {GRID}) = (D, H/P, W/P)"
    yield 900, {"step": step, "shape": shape, "layout": MAPS, "labels": "maps", "done": 0}
    for patch in range(PATCHES):
        wait = 260 if patch < GRID else 70
        yield wait, {"step": step, "shape": shape, "layout": MAPS, "labels": "maps", "done": patch + 1, "lit": patch}
    yield 1400, {"step": step, "shape": shape, "layout": MAPS, "labels": "maps"}
    step, shape = "2. Flatten: the rows of each map, one after the other", f"({DIMENSION}, {PATCHES}) = (D, N)"
    for part in eased(10):
        yield 70, {"step": step, "shape": shape, "layout": MAPS + part * (STRIPS - MAPS)}
    yield 2000, {"step": step, "shape": shape, "layout": STRIPS, "labels": "strips"}
    step, shape = "3. Permute: a row for each patch", f"({PATCHES}, {DIMENSION}) = (N, D)"
    for part in eased(10):
        yield 70, {"step": step, "shape": shape, "layout": STRIPS + part * (SEQUENCE - STRIPS)}
    yield 1200, {"step": step, "shape": shape, "layout": SEQUENCE, "labels": "sequence"}
    step = "4. A sequence: each row is one patch, embedded"
    for patch in (0, 1, 2, 3, 17, 24, 31, 47, 48):
        yield 500, {"step": step, "shape": shape, "layout": SEQUENCE, "labels": "sequence", "lit": patch}
    yield 1800, {"step": step, "shape": shape, "layout": SEQUENCE, "labels": "sequence"}


def eased(count: int) -> np.ndarray:
    """Numbers from 0 to 1, slow at both ends."""
    return (1 - np.cos(np.pi * np.arange(1, count + 1) / count)) / 2


@styled
def draw_frame(
    values: np.ndarray,
    step: str,
    shape: str,
    layout: np.ndarray,
    labels: str = "",
    done: int = PATCHES,
    lit: int | None = None,
) -> None:
    """Draw one frame on a new figure: the image at the left, the cells of the first `done` patches at the right.

    labels is the name of the layout whose words are written, or nothing while the cells move; lit is the patch that is
    framed in the image and among the cells.
    """
    pen = Pen(WIDTH, HEIGHT, TITLE)
    pen.text("all", 320, 58, step, size="label")
    left, top, side = IMAGE
    pen.picture("all", draw_pizza(SIDE), left, top, side)
    patch_side = side / GRID
    for line in range(1, GRID):
        for points in ([line, line], [0, GRID]), ([0, GRID], [line, line]):
            x, y = (start + patch_side * np.array(places) for start, places in zip((left, top), points))
            pen.axes.plot(x, y, color="white", linewidth=1, zorder=4)
    pen.text("all", left + side / 2, top + side + 20, f"image (3, {SIDE}, {SIDE})")
    pen.text("all", left + side / 2, top + side + 40, f"{PATCHES} patches")
    pen.text("all", 430, 361, f"{CHANNELS} of the {DIMENSION} channels are drawn")
    pen.text("all", 430, 382, shape, size="label", bold=True)

    cells, colours = layout[:, :done].reshape(-1, 4), SIGNED(centred(values)(values[:, :done])).reshape(-1, 4)
    corners = cells[:, None, :2] + cells[:, None, 2:] * np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
    pen.axes.add_collection(PolyCollection(corners, facecolors=colours, edgecolors="none", antialiased=False, zorder=3))
    write_labels(pen, labels)
    if lit is not None:
        row, column = divmod(lit, GRID)
        corner = (left + column * patch_side, top + row * patch_side)
        pen.axes.add_patch(Rectangle(corner, patch_side, patch_side, fill=False, edgecolor="white", lw=5, zorder=5))
        put_frame(pen, *corner, patch_side, patch_side)
        if labels == "sequence":  # one frame round the whole row
            x, y, width, height = layout[0, lit]
            put_frame(pen, x, y, width * CHANNELS, height)
            pen.text("all", x - 12, min(y + height / 2, 340), f"patch {lit + 1}", align="right", bold=True)
        else:
            for x, y, width, height in layout[:, lit]:
                put_frame(pen, x, y, width, height)


def write_labels(pen: Pen, labels: str) -> None:
    """The words beside the cells of one layout."""
    if labels == "maps":
        for channel, (x, y) in enumerate(MAPS[:, 0, :2]):
            pen.text("all", x + 7 * GRID, y - 13, f"channel {channel}")
            pen.axes.add_patch(Rectangle((x, y), 14 * GRID, 14 * GRID, fill=False, edgecolor=COLOURS["grey"], zorder=2))
    elif labels == "strips":
        for channel, (x, y) in enumerate(STRIPS[:, 0, :2]):
            pen.text("all", x - 8, y + 11, f"channel {channel}", align="right")
        pen.text("all", 292, 98, "patch 1", align="left")
        pen.text("all", 292 + 6.5 * PATCHES, 98, f"patch {PATCHES}", align="right")
    elif labels == "sequence":
        for channel, (x, y) in enumerate(SEQUENCE[:, 0, :2]):
            pen.text("all", x + 20, y - 12, str(channel))
        pen.text("all", SEQUENCE[-1, 0, 0] + 44, SEQUENCE[0, 0, 1] - 12, "...", align="left")
        pen.text("all", 450, 92, f"dimension, 0 to {DIMENSION - 1}")


def put_frame(pen: Pen, x: float, y: float, width: float, height: float) -> None:
    """A black frame round a rectangle, so that nothing of it is hidden."""
    corner, size = (x - 1.5, y - 1.5), (width + 3, height + 3)
    pen.axes.add_patch(Rectangle(corner, *size, fill=False, edgecolor=COLOURS["ink"], linewidth=1.8, zorder=6))


def as_picture() -> Image.Image:
    """The figure just drawn, as a picture; the figure is closed."""
    buffer = io.BytesIO()
    plt.savefig(buffer, dpi=DPI, format="png")
    plt.close()
    return Image.open(buffer).convert("RGB")


def save_gif(pictures: list[Image.Image], waits: list[int], target: Path) -> None:
    """Write an endless GIF; waits holds each frame's milliseconds.

    All frames share one palette, so that no colour flickers. What is nearly white in it becomes white: the ground.
    """
    width, height = pictures[0].size
    sheet = Image.new("RGB", (width, 2 * height))
    sheet.paste(pictures[len(pictures) // 3], (0, 0))
    sheet.paste(pictures[-1], (0, height))
    colours = sheet.quantize(COLOUR_COUNT, method=Image.Quantize.MEDIANCUT).getpalette()[: 3 * COLOUR_COUNT]
    for start in range(0, len(colours), 3):
        if min(colours[start : start + 3]) > 246:
            colours[start : start + 3] = 255, 255, 255
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours)
    first, *others = (picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures)
    target.parent.mkdir(parents=True, exist_ok=True)
    first.save(target, save_all=True, append_images=others, duration=list(waits), loop=0, optimize=True, disposal=1)
    print(f"{target.name}: {len(pictures)} frames, {target.stat().st_size / 1000:.0f} kB")


def main() -> None:
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    target = Path(sys.argv[1]) if len(sys.argv) == 2 else TARGET
    values = embed_pizza()
    waits, pictures = [], []
    for wait, content in frames():
        draw_frame(values, **content)
        waits.append(wait)
        pictures.append(as_picture())
    save_gif(pictures, waits, target)


if __name__ == "__main__":
    main()

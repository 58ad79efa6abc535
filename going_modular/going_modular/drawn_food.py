"""Draws pictures of food: what a learner without a network sees instead of the photos.

`draw_food` draws one picture, `draw_food_data` a whole data set of pizza, steak and sushi with as many pictures as the photos
have. Everything is drawn from a seed with NumPy and Pillow: the same seed gives the same pixels. Table, plate, side dishes,
light, lens and place in the frame come from the same distributions for every food, so that only the food itself tells its name.

A new food is one function `name(scene, cx, cy, radius)` that paints on a `drawing.Scene`, and one line in `FOODS`.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from PIL import Image
from tqdm.auto import tqdm

from . import tableware as ware
from .drawing import Scene, blob, box, bulge, colour, disc, leaf, mix, scatter, step, vary

CLASSES = ("pizza", "steak", "sushi")
COUNTS = {"train": {"pizza": 78, "steak": 75, "sushi": 72}, "test": {"pizza": 25, "steak": 19, "sushi": 31}}

# --- pizza -----------------------------------------------------------------------------------------------------------


def pizza(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A whole pizza, one with a slice gone, or one or more slices."""
    rng = scene.rng
    kind = rng.choice(["whole", "gap", "slice"], p=[0.55, 0.2, 0.25])
    turn = rng.uniform(0, 6.28)
    if kind == "slice":  # a slice is drawn as part of a larger pizza whose centre lies off the middle
        whole = radius * rng.uniform(1.25, 1.6)
        cx, cy = cx - 0.55 * whole * np.cos(turn), cy - 0.55 * whole * np.sin(turn)
        half_angle = rng.uniform(0.3, 0.5)
    else:
        whole, half_angle = radius, rng.uniform(0.25, 0.6)
    patch = scene.patch(cx, cy, whole, turn, 1.15)
    x, y = patch.x, patch.y
    rim = blob(rng, x, y, rng.uniform(0.01, 0.05), 6) + 0.02 * (patch.noise("clouds", 1.2) - 0.5)
    wedge = np.abs(y) * np.cos(half_angle) - x * np.sin(half_angle)  # distance to the outline of a slice, from its tip
    sd = np.maximum(rim, wedge) if kind == "slice" else np.maximum(rim, -wedge) if kind == "gap" else rim
    _pizza_base(scene, patch, rim, sd)

    previous, scene.stencil = scene.stencil, np.zeros_like(scene.height)
    scene.stencil[patch.window] = patch.inside(sd)
    _pizza_toppings(scene, cx, cy, whole, turn if kind == "slice" else None, half_angle)
    if kind != "slice" and rng.random() < 0.55:
        _pizza_cuts(scene, patch)
    scene.stencil = previous


def _pizza_base(scene: Scene, patch, rim: np.ndarray, sd: np.ndarray) -> None:
    """Dough, crust with charred bubbles, sauce, molten cheese with brown blisters and grease."""
    rng = scene.rng
    clouds, mottle = patch.noise("clouds", 0.9), patch.noise("mottle", 1.1, 1, 1)
    fine = patch.noise("mottle", 0.35, 1, 2)
    crust = rng.uniform(0.1, 0.2)
    depth = np.clip(rim * (-1 / crust), 0, 2)  # 0 at the rim, 1 where the crust ends
    torus = np.sqrt(np.clip(1 - (2 * np.clip(depth, 0, 1) - 1) ** 2, 0, 1))
    bubbles = step(0.62, 0.95, clouds) * torus
    bake = np.clip(rng.uniform(0.05, 0.5) + 0.5 * torus * mottle + 0.35 * bubbles + 0.3 * (fine - 0.5), 0, 1)
    dough = mix(vary(rng, colour(238, 208, 152), 0.04), vary(rng, colour(168, 96, 40), 0.05), bake)
    char = step(rng.uniform(0.6, 1.0), 1.15, 0.55 * clouds + 0.5 * mottle + 0.25 * bubbles) * (depth < 1.2)
    dough = mix(dough, colour(40, 24, 16), 0.85 * char)
    rise = 0.045 + rng.uniform(0.05, 0.09) * torus * (0.75 + 0.5 * clouds) + 0.02 * bubbles
    scene.paint(patch, patch.inside(sd), dough, rise * bulge(sd, 0.03) + 0.004 * fine, 0.12)

    inner = step(0.85, 1.05, depth + 0.25 * (clouds - 0.5)) * patch.inside(sd)
    style = rng.choice(["red", "cheese", "white", "dark"], p=[0.3, 0.42, 0.13, 0.15])
    sauce = {"red": colour(184, 40, 16), "cheese": colour(178, 56, 20), "white": colour(240, 222, 176), "dark": colour(96, 36, 18)}
    tint = vary(rng, sauce[style], 0.04) * (0.78 + 0.22 * mottle + 0.1 * fine)
    scene.paint(patch, inner, tint, 0.003 * mottle + 0.012 * patch.noise("swell", 0.6, 1, 1), 0.35 + 0.3 * mottle)

    cover = {"red": rng.uniform(0.15, 0.45), "dark": rng.uniform(0.3, 0.7)}.get(style, rng.uniform(0.75, 1.1))
    melt = 0.7 * patch.noise("swell", rng.uniform(0.9, 1.6), 1, 3) + 0.22 * clouds + 0.08 * mottle
    flow = inner * step(-0.06, 0.06, cover - melt - 0.5 * (depth < 1.1) * (1.1 - depth))
    pale, rich = vary(rng, colour(250, 230, 176), 0.03), vary(rng, colour(240, 178, 74), 0.05)
    cheese = mix(pale, rich, np.clip(rng.uniform(0, 0.8) + 0.9 * (clouds - 0.5) + 0.4 * (mottle - 0.5), 0, 1))
    grease = step(0.55, 0.95, patch.noise("clouds", 0.5, 1, 1)) * rng.uniform(0.1, 0.55)
    cheese = mix(cheese, colour(222, 120, 34), grease)
    blister = step(rng.uniform(0.6, 0.92), 1.0, 0.55 * patch.noise("mottle", 0.8, 1, 3) + 0.45 * patch.noise("clouds", 0.35, 1, 2))
    cheese = mix(cheese, mix(colour(176, 96, 30), colour(84, 40, 18), fine), 0.9 * blister)
    folds = 0.05 * patch.noise("swell", 0.9, 1, 2) + 0.012 * patch.noise("clouds", 0.5, 1, 3) + 0.003 * mottle + 0.01 * blister + 0.001 * fine
    scene.paint(patch, flow, cheese, folds + 0.008, 0.4 + 0.5 * grease)


def _pizza_cuts(scene: Scene, patch) -> None:
    """The lines of the pizza cutter, through the middle."""
    rng = scene.rng
    first, count = rng.uniform(0, 3.14), int(rng.choice([2, 3, 4]))
    line = np.full_like(patch.x, 9)
    for number in range(count):
        angle = first + np.pi * number / count
        line = np.minimum(line, np.abs(patch.x * np.sin(angle) - patch.y * np.cos(angle)))
    scene.paint(patch, patch.inside(line - 0.008, 0.012), colour(120, 62, 26), -0.03, 0.05)


def _pepperoni(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A slice of cured sausage: fat specks, curled and darker rim, a little pool of grease."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size, rng.uniform(0, 6.28), 1.25)
    sd = blob(rng, patch.x, patch.y, 0.05)
    specks = step(0.72, 0.85, patch.noise("mottle", 2.2))
    tint = mix(vary(rng, colour(166, 44, 24), 0.04), vary(rng, colour(214, 110, 70), 0.04), 0.7 * specks)
    rim = np.exp(-(((sd + 0.08) / 0.12) ** 2))
    tint = mix(tint * (0.85 + 0.3 * patch.noise("clouds", 2.0, 1, 1)), colour(70, 18, 12), rng.uniform(0.3, 0.85) * rim)
    curl = 0.06 + rng.uniform(0.05, 0.3) * rim * (0.5 + patch.noise("clouds", 4.0, 1, 2))
    scene.paint(patch, patch.inside(sd), tint, curl, 0.5)


def _mozzarella(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A molten lump of white cheese."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size * 1.3, rng.uniform(0, 6.28), 1.4)
    sd = blob(rng, patch.x, patch.y, 0.16, 6)
    spot = step(0.75, 0.95, patch.noise("clouds", 1.3))
    tint = mix(colour(250, 242, 222), colour(226, 170, 84), np.clip(0.7 * spot + step(-0.2, 0, sd) * 0.35, 0, 1))
    scene.paint(patch, patch.inside(sd, 0.1), tint, 0.2 * bulge(sd, 0.7) + 0.06 * patch.noise("clouds", 1.2, 1, 1), 0.4)


def _basil(scene: Scene, cx: float, cy: float, size: float) -> None:
    ware.leaf_at(scene, cx, cy, size * scene.rng.uniform(1.0, 1.7), scene.rng.uniform(0, 6.28), vary(scene.rng, colour(54, 100, 32), 0.06))


def _olive(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A ring of black or green olive."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size * 0.55)
    ring = np.abs(disc(patch.x, patch.y, 0.66)) - 0.32
    tint = vary(rng, ware.pick(rng, [colour(36, 28, 30), colour(40, 30, 34), colour(112, 118, 46)]), 0.02)
    scene.paint(patch, patch.inside(ring), tint, 0.35 * bulge(ring, 0.3), 0.6)


def _mushroom(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A slice through a mushroom: cap, gills, stem."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size, rng.uniform(0, 6.28))
    cap = np.maximum(disc(patch.x, patch.y * 1.2, 0.95), -patch.y - 0.15)
    stem = box(patch.x, patch.y + 0.35, 0.22, 0.45, 0.12)
    sd = np.minimum(cap, stem)
    tint = mix(colour(232, 214, 184), colour(120, 84, 54), np.maximum(step(-0.16, 0, cap) * (cap < 0.02), 0.7 * (np.abs(patch.y + 0.05) < 0.07)))
    scene.paint(patch, patch.inside(sd), vary(rng, tint, 0.03), 0.14 * bulge(sd, 0.15), 0.3)


def _strip(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A bent strip of pepper or onion."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size * 1.2, rng.uniform(0, 6.28))
    arc = np.maximum(np.abs(disc(patch.x, patch.y, 0.7)) - rng.uniform(0.07, 0.14), -patch.y - rng.uniform(-0.1, 0.4))
    tint = ware.pick(rng, [colour(80, 130, 40), colour(196, 40, 24), colour(226, 190, 60), colour(150, 90, 120), colour(226, 206, 190)])
    scene.paint(patch, patch.inside(arc), vary(rng, tint, 0.05), 0.15 * bulge(arc, 0.09), 0.5)


def _tomato_slice(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A slice of tomato with its seed chambers."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size * 1.15, rng.uniform(0, 6.28))
    rho, angle = disc(patch.x, patch.y, 0.0), np.arctan2(patch.y, patch.x)
    chamber = step(0.1, 0.5, np.cos(angle * 5)) * step(0.25, 0.35, rho) * step(-0.8, -0.7, -rho)
    tint = mix(vary(rng, colour(204, 60, 34), 0.04), colour(226, 130, 60), chamber * (0.5 + 0.5 * patch.noise("mottle", 1.0)))
    scene.paint(patch, patch.inside(rho - 1), tint, 0.14 * bulge(rho - 1, 0.2) - 0.05 * chamber, 0.6)


def _chunk(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A crumb of sausage, a cube of ham or pineapple."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size * rng.uniform(0.5, 0.9), rng.uniform(0, 6.28), 1.3)
    sd = blob(rng, patch.x, patch.y, 0.16) if rng.random() < 0.5 else box(patch.x, patch.y, 0.9, 0.7, 0.2)
    tint = ware.pick(rng, [colour(120, 70, 44), colour(220, 130, 116), colour(240, 200, 90), colour(90, 46, 30)])
    scene.paint(patch, patch.inside(sd), vary(rng, tint, 0.05) * (0.75 + 0.4 * patch.noise("mottle", 1.8)), 0.4 * bulge(sd, 0.5), 0.3)


PIZZA_TOPPINGS = [_pepperoni, _pepperoni, _mozzarella, _basil, _olive, _mushroom, _strip, _strip, _tomato_slice, _chunk]


def _pizza_toppings(scene: Scene, cx: float, cy: float, radius: float, turn: float | None, half_angle: float) -> None:
    """One to four kinds of topping, some to many of each; with `turn` only those that fall on that slice are drawn."""
    rng = scene.rng
    size = radius * rng.uniform(0.075, 0.13)
    kinds = [ware.pick(rng, PIZZA_TOPPINGS) for _ in range(int(rng.choice([1, 1, 2, 3, 4])))]
    if rng.random() < 0.35:
        kinds[0] = _pepperoni
    places = scatter(rng, int(rng.integers(10, 60)), size / radius * rng.uniform(1.2, 2.0), 0.8)
    for x, y in places:
        draw = ware.pick(rng, kinds)
        away = abs((np.arctan2(y, x) - (turn or 0) + np.pi) % (2 * np.pi) - np.pi)
        if turn is None or away < half_angle + 0.35:
            draw(scene, cx + x * radius, cy + y * radius, size)
    if rng.random() < 0.12:
        for x, y in scatter(rng, 16, 0.12, 0.5):
            ware.leaf_at(scene, cx + x * radius, cy + y * radius, size * 2, rng.uniform(0, 6.28), vary(rng, colour(70, 120, 40), 0.07))
    if rng.random() < 0.3:
        ware.flecks(scene, cx, cy, radius, 40, 0.014, ware.pick(rng, ware.GREENS))


# --- steak -----------------------------------------------------------------------------------------------------------


def steak(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A steak: whole, carved at one end, or fanned out in slices; with or without bone, sauce, butter."""
    rng = scene.rng
    turn = rng.uniform(0, 6.28)
    if rng.random() < 0.3:
        tint = vary(rng, ware.pick(rng, ware.SAUCE_TINTS), 0.04)
        ware.sauce_pool(scene, cx, cy, radius * rng.uniform(0.8, 1.1), tint)
    cooked = rng.uniform(0, 0.8)
    kind = rng.choice(["whole", "carved", "fan"], p=[0.5, 0.25, 0.25])
    along = np.array([np.cos(turn), np.sin(turn)])
    if kind == "whole":
        pieces = 2 if rng.random() < 0.12 else 1
        for number in range(pieces):
            shift = np.array([-along[1], along[0]]) * radius * 0.55 * (number - (pieces - 1) / 2) * 1.3
            _whole_steak(scene, cx + shift[0], cy + shift[1], radius / pieces**0.5, turn)
    elif kind == "carved":
        px, py = np.array([cx, cy]) - along * radius * 0.35
        _whole_steak(scene, px, py, radius * 0.68, turn + rng.normal(0, 0.1))
        _steak_slices(scene, cx + along[0] * radius * 0.55, cy + along[1] * radius * 0.55, radius * 0.6, turn, cooked, int(rng.integers(2, 5)))
    else:
        _steak_slices(scene, cx, cy, radius, turn, cooked, int(rng.integers(4, 9)))
    _steak_finish(scene, cx, cy, radius)


def _sear(scene: Scene, patch, tone: float) -> np.ndarray:
    """Colour of seared meat: brown, mottled, with fibres; `tone` 0 is pale, 1 nearly black."""
    rng = scene.rng
    clouds, mottle, fine = patch.noise("clouds", 0.9), patch.noise("mottle", 0.9, 1, 1), patch.noise("mottle", 0.35, 1, 2)
    pale, deep = vary(rng, colour(168, 98, 60), 0.04), vary(rng, colour(54, 28, 18), 0.02)
    return mix(pale, deep, np.clip(tone + 0.45 * (clouds - 0.5) + 0.6 * (mottle - 0.5) + 0.3 * (fine - 0.5), 0, 1))


def _steak_outline(rng: np.random.Generator, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Distance to the outline of a cut: rib-eye, strip, fillet or triangle."""
    cut = rng.choice(["ribeye", "strip", "fillet", "triangle"], p=[0.35, 0.3, 0.2, 0.15])
    if cut == "fillet":
        return 0.75 * blob(rng, x / 0.75, y / rng.uniform(0.62, 0.72), 0.06)
    if cut == "strip":
        bend = y + rng.uniform(-0.25, 0.25) * x * x
        return box(x, bend - 0.08 * x, 1.0, rng.uniform(0.38, 0.5), 0.36) + 0.02 * np.sin(x * 6)
    if cut == "triangle":
        return box(x, y / (0.75 - 0.35 * x), 0.98, 0.75, 0.5) * 0.8
    return 0.8 * blob(rng, x, y / rng.uniform(0.62, 0.8), 0.14, 4)


def _whole_steak(scene: Scene, cx: float, cy: float, radius: float, turn: float) -> None:
    """A thick piece of meat: crust, grill marks, fat on one side, seams of fat, juice, perhaps a bone."""
    rng = scene.rng
    patch = scene.patch(cx, cy, radius, turn, 1.35)
    x, y = patch.x, patch.y
    clouds, mottle = patch.noise("clouds", 0.7), patch.noise("mottle", 0.8, 1, 1)
    fibres, fine = patch.noise("fibres", 0.9), patch.noise("mottle", 0.3, 1, 2)
    sd = _steak_outline(rng, x, y) + 0.05 * (clouds - 0.5)
    if rng.random() < 0.22:
        bone = box(x + rng.uniform(0.75, 0.95), y - rng.uniform(-0.2, 0.2), rng.uniform(0.25, 0.4), 0.1, 0.08) - 0.02 * mottle
        scene.paint(patch, patch.inside(bone), colour(232, 212, 180) * (0.7 + 0.35 * mottle), 0.17 * bulge(bone, 0.08), 0.3)
    tone = rng.uniform(0.4, 1.0)
    tint = _sear(scene, patch, tone)
    tint = tint * (0.85 + 0.25 * fibres)

    seam = np.exp(-(((clouds - rng.uniform(0.3, 0.7)) / 0.022) ** 2)) + 0.8 * np.exp(-(((mottle - 0.5) / 0.03) ** 2)) * (fine > 0.35)
    tint = mix(tint, vary(rng, colour(214, 162, 106), 0.03), rng.uniform(0.0, 0.55) * np.clip(seam, 0, 1))
    side = y + rng.uniform(-0.5, 0.5) * x
    cap = step(0.0, 0.3, side * rng.choice([-1, 1])) * step(-rng.uniform(0.08, 0.18), -0.02, sd + 0.06 * (mottle - 0.5))
    fat = mix(vary(rng, colour(236, 204, 150), 0.04), colour(150, 88, 40), np.clip(mottle * 1.2 - 0.2, 0, 1) * 0.8)
    tint = mix(tint, fat, cap * rng.choice([0, 0.9, 0.9]))

    rise = rng.uniform(0.13, 0.24) * bulge(sd, rng.uniform(0.2, 0.4)) * (0.85 + 0.3 * patch.noise("swell", 1.6, 1, 2))
    rise = rise + (0.012 * mottle + 0.012 * clouds + 0.006 * fibres) * bulge(sd, 0.1)
    marks = np.zeros_like(x)
    if rng.random() < 0.68:
        marks = _grill_marks(scene, patch, mottle)
        tint = mix(tint, colour(30, 17, 12), marks * rng.uniform(0.65, 0.95))
    juice = step(0.35, 0.85, patch.noise("clouds", 0.6, 1, 3)) * rng.uniform(0.1, 0.5)
    scene.paint(patch, patch.inside(sd), tint, rise - 0.014 * marks, juice * (1 - 0.6 * marks))


def _grill_marks(scene: Scene, patch, mottle: np.ndarray) -> np.ndarray:
    """Dark stripes, or a lattice of them, where the meat lay on the bars; 0 to 1."""
    rng = scene.rng
    angle, spacing = rng.uniform(0, 3.14), rng.uniform(0.17, 0.3)
    marks = np.zeros_like(patch.x)
    for turn in (angle, angle + rng.uniform(0.9, 1.57))[: int(rng.integers(1, 3))]:
        across = (patch.x * np.sin(turn) - patch.y * np.cos(turn)) / spacing
        bar = np.abs(across - np.round(across))
        marks = np.maximum(marks, step(0.0, 0.14, 0.24 - bar + 0.22 * (mottle - 0.5)) * step(0.08, 0.4, mottle))
    return marks


def _steak_slices(scene: Scene, cx: float, cy: float, radius: float, turn: float, cooked: float, count: int) -> None:
    """Slices that lean on one another and show their pink faces; `cooked` 0 is rare, 1 is well done."""
    rng = scene.rng
    spacing = 2 * radius / (count + 0.7) * rng.uniform(0.85, 1.0)
    length = rng.uniform(0.45, 0.75) * max(radius, spacing * 1.4)
    thick = spacing * rng.uniform(0.62, 0.8)
    tone = rng.uniform(0.4, 0.9)
    raw = mix(vary(rng, colour(176, 40, 44), 0.04), vary(rng, colour(164, 112, 88), 0.04), step(0.25, 1.0, np.float32(cooked)))
    pink = mix(vary(rng, colour(214, 100, 92), 0.04), vary(rng, colour(156, 110, 84), 0.04), step(0.5, 1.0, np.float32(cooked)))
    grey = vary(rng, colour(142, 98, 72), 0.03)
    bend, wave = rng.normal(0, 0.12), rng.uniform(0, 6.28)
    for number in range(count):
        offset = (number - (count - 1) / 2) * spacing
        px = cx + offset * np.cos(turn) - bend * offset * number * np.sin(turn) * 0.3
        py = cy + offset * np.sin(turn) + bend * offset * number * np.cos(turn) * 0.3
        patch = scene.patch(px, py, length, turn + np.pi / 2 + rng.normal(0, 0.07) + bend * (number - count / 2) * 0.3, 1.25)
        ratio = thick / length * rng.uniform(0.9, 1.1)
        taper = 1 - 0.25 * np.sin(wave) * patch.x
        mottle, fibres = patch.noise("mottle", 1.0), patch.noise("fibres", 0.9, 1, 1)
        sd = box(patch.x, patch.y / taper, 1.0, ratio, ratio * 0.75) + 0.05 * (patch.noise("clouds", 1.2, 1, 2) - 0.5)
        inner = np.clip(sd * (-1 / ratio) + 0.14 * (mottle - 0.5), 0, 1)
        face = mix(mix(grey, pink, step(0.12, 0.4, inner)), raw, step(0.4, 0.85, inner))
        face = face * (0.8 + 0.3 * fibres + 0.08 * mottle)
        face = mix(face, colour(236, 200, 170), 0.55 * np.exp(-(((patch.noise("clouds", 0.9, 1, 3) - 0.5) / 0.02) ** 2)))
        tint = mix(_sear(scene, patch, tone), face, step(0.1, 0.2, inner))
        lean = 0.3 * ratio * (1 + 0.8 * patch.y / ratio) + 0.025 * fibres + 0.015 * mottle
        scene.paint(patch, patch.inside(sd), tint, (lean + 0.1) * bulge(sd, 0.12 * ratio + 0.05), 0.25 + 0.5 * mottle)


def _steak_finish(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """Butter, sauce over the meat, mushrooms, pepper and salt."""
    rng = scene.rng
    chance = rng.random()
    spot = np.array([cx, cy]) + rng.normal(0, 0.12, 2) * radius
    if chance < 0.12:
        patch = scene.patch(spot[0], spot[1], radius * rng.uniform(0.14, 0.22), rng.uniform(0, 6.28), 1.3)
        sd = box(patch.x, patch.y, 0.8, 0.7, 0.25) + 0.2 * (patch.noise("clouds", 2.0) - 0.5)
        scene.paint(patch, patch.inside(sd, 0.1), vary(rng, colour(246, 222, 130), 0.04), 0.5 * bulge(sd, 0.4), 0.7)
    elif chance < 0.34:
        patch = scene.patch(spot[0], spot[1], radius * rng.uniform(0.3, 0.52), rng.uniform(0, 6.28), 1.4)
        cover = blob(rng, patch.x, patch.y, 0.14, 6) + 0.25 * (patch.noise("clouds", 1.5) - 0.5)
        sauce = vary(rng, ware.pick(rng, ware.SAUCE_TINTS[:5]), 0.04) * (0.85 + 0.25 * patch.noise("mottle", 1.2, 1, 1))
        scene.paint(patch, patch.inside(cover, 0.08), sauce, 0.03 * bulge(cover, 0.2), 0.7)
        if rng.random() < 0.4:
            for x, y in scatter(rng, 8, 0.15, 0.45):
                _mushroom(scene, spot[0] + x * radius, spot[1] + y * radius, radius * 0.1)
    if rng.random() < 0.4:
        ware.flecks(scene, cx, cy, radius * 0.8, int(rng.integers(15, 60)), 0.01, ware.pick(rng, [colour(24, 20, 18), colour(240, 238, 232)]))


# --- sushi -----------------------------------------------------------------------------------------------------------

RICE = colour(244, 238, 224)
NORI = colour(26, 34, 28)
SALMON, TUNA, PALE = colour(240, 128, 70), colour(176, 40, 50), colour(240, 206, 192)
FILLINGS = [SALMON, TUNA, colour(140, 180, 80), colour(226, 190, 80), colour(236, 120, 50), colour(244, 236, 220), colour(90, 56, 30)]


def sushi(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """One to some twenty pieces in rows, a ring or a heap: nigiri, maki, uramaki, gunkan, sashimi, one kind or mixed."""
    rng = scene.rng
    across = int(rng.choice([1, 2, 3, 4, 5], p=[0.06, 0.34, 0.34, 0.2, 0.06]))
    size = radius / across
    turn = rng.uniform(0, 6.28)
    c, s = np.cos(turn), np.sin(turn)
    kinds = [ware.pick(rng, [_nigiri, _nigiri, _maki, _uramaki, _uramaki, _gunkan, _sashimi]) for _ in range(int(rng.integers(1, 4)))]
    looks = {kind: rng.integers(1 << 30) for kind in kinds}
    rows = max(1, across - int(rng.integers(0, 2))) if across > 1 else 1
    messy, tilt = rng.choice([0.03, 0.2], p=[0.7, 0.3]), rng.normal(0, 0.4)
    mixed, squeeze = rng.random() < 0.35, rng.uniform(0.86, 1.0)
    places = []
    for row in range(rows):
        for column in range(across):
            u = (column - (across - 1) / 2) * 2 * squeeze + rng.normal(0, messy)
            v = (row - (rows - 1) / 2) * 2 * squeeze + rng.normal(0, messy)
            places.append((u * c - v * s, u * s + v * c, kinds[row % len(kinds)]))
    places = [place for place in places if rng.random() > 0.05 or len(places) < 3]
    for u, v, kind in sorted(places, key=lambda place: -place[1]):
        if mixed:
            kind = ware.pick(rng, kinds)
        look = np.random.default_rng(looks[kind] + (int(rng.integers(4)) if mixed else 0))
        kind(scene, cx + u * size, cy + v * size, size * 0.98, turn + tilt + rng.normal(0, messy), look)


def _fish(patch, look: np.random.Generator, x: np.ndarray, y: np.ndarray, raw: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Colour and small relief of a slice of fish, prawn, egg or eel; `x` runs along it, `raw` leaves out what is cooked."""
    kind = look.choice(["salmon", "tuna", "white", "prawn", "egg", "eel", "mackerel"], p=[0.28, 0.22, 0.14, 0.12, 0.08, 0.1, 0.06])
    if raw and kind in ("prawn", "egg", "eel"):
        kind = "salmon"
    clouds, mottle = patch.noise("clouds", 1.5), patch.noise("mottle", 0.8, 1, 1)
    slant, frequency, ridge = look.uniform(0.5, 1.3), look.uniform(10, 17), look.choice([look.uniform(-0.15, 0.15), 1.0])
    phase = (x + slant * np.abs(y - ridge)) * frequency + 3.0 * clouds
    lines = step(0.6, 1.0, np.sin(phase))
    if kind == "egg":
        return vary(look, colour(240, 200, 90), 0.03) * (0.88 + 0.12 * np.sin(y * 40 + 2 * clouds) * 0.4 + 0.1 * mottle), 0.01 * mottle
    if kind == "eel":
        return mix(colour(150, 82, 36), colour(56, 28, 16), np.clip(0.8 * patch.noise("fibres", 0.7, 1, 2) + 0.6 * clouds - 0.2, 0, 1)), 0.03 * mottle
    if kind == "mackerel":
        skin = mix(colour(196, 200, 206), colour(50, 66, 86), step(0.45, 0.6, y + 0.5 + 0.3 * np.sin(phase)))
        return skin * (0.85 + 0.2 * mottle), 0.01 * mottle
    flesh, fat, share = {
        "salmon": (SALMON, colour(252, 214, 180), 0.8),
        "tuna": (TUNA, colour(214, 110, 106), 0.3),
        "white": (PALE, colour(252, 240, 232), 0.7),
        "prawn": (colour(250, 232, 216), colour(232, 112, 60), 0.85),
    }[str(kind)]
    tint = mix(vary(look, flesh, 0.04) * (0.86 + 0.16 * clouds + 0.1 * mottle), fat, share * lines)
    if kind == "prawn":
        tint = mix(tint, colour(222, 84, 44), step(0.62, 0.95, x))
    return tint, 0.022 * (1 - lines) + 0.006 * mottle


def _nigiri(scene: Scene, cx: float, cy: float, size: float, turn: float, look: np.random.Generator) -> None:
    """A pillow of rice with a slice over it, perhaps tied with a strip of seaweed."""
    slim = look.uniform(0.42, 0.54)
    patch = scene.patch(cx, cy, size, turn, 1.2)
    x, y = patch.x, patch.y
    rice = patch.noise("rice", 1.35)
    pillow = box(x, y, 0.84, slim, slim * 0.7)
    base, ground = pillow - 0.03 * rice, scene.base_height(cx, cy) / size
    scene.paint(patch, patch.inside(base), RICE * (0.7 + 0.32 * rice), 0.36 * bulge(base, 0.3) + 0.05 * rice, 0.25)
    bent = y + 0.08 * np.sin(x * 1.5 + look.uniform(0, 6)) + 0.04 * look.normal()
    wide = slim * look.uniform(0.78, 0.98)
    top = box(x, bent, 0.98, wide * (1 - 0.2 * look.uniform(-1, 1) * x), wide * 0.7)
    tint, relief = _fish(patch, look, x, bent / wide * 0.5)
    edge = bulge(top, 0.1)
    dome = np.sqrt(np.clip(1 - (0.9 * bent / wide) ** 2, 0, 1))
    drape = ground + 0.38 * bulge(pillow - 0.06, 0.36) + (0.06 + 0.1 * dome) * edge
    scene.paint(patch, patch.inside(top), tint, None, 0.6, drape + relief * edge)
    if look.random() < 0.2:
        belt = box(x - look.uniform(-0.2, 0.2), y, 0.13, slim * 1.02, 0.04)
        scene.paint(patch, patch.inside(belt), NORI * (0.8 + 0.5 * patch.noise("mottle", 0.5)), 0.015, 0.3)


def _filling(scene: Scene, patch, look: np.random.Generator, reach: float) -> None:
    """The coloured heart of a roll: one to four pieces."""
    count = int(look.integers(1, 5))
    start = look.uniform(0, 6.28)
    for number in range(count):
        angle = start + 6.28 * number / count
        away = 0 if count == 1 else reach * 0.5
        x, y = patch.x - away * np.cos(angle), patch.y - away * np.sin(angle)
        wide = reach * (0.8 if count == 1 else look.uniform(0.42, 0.6))
        sd = box(x, y, wide, wide * look.uniform(0.7, 1.0), wide * 0.4) + 0.06 * (patch.noise("clouds", 1.5) - 0.5)
        tint = vary(look, ware.pick(look, FILLINGS), 0.04) * (0.8 + 0.3 * patch.noise("mottle", 0.9, 1, 1))
        scene.paint(patch, patch.inside(sd), tint, 0.05 * bulge(sd, 0.15) - 0.015, 0.55)


def _maki(scene: Scene, cx: float, cy: float, size: float, turn: float, look: np.random.Generator) -> None:
    """A slice of a roll with the seaweed outside, standing on its side."""
    patch = scene.patch(cx, cy, size * look.uniform(0.78, 0.95), turn, 1.2)
    sd = blob(scene.rng, patch.x, patch.y * look.uniform(0.95, 1.1), 0.035, 4)
    rice = patch.noise("rice", 1.35)
    wall = look.uniform(0.07, 0.12)
    within = step(0.0, 0.03, -sd - wall)
    tint = mix(NORI * (0.7 + 0.7 * patch.noise("mottle", 0.6)), RICE * (0.7 + 0.32 * rice), within)
    height, ground = look.uniform(0.55, 0.9), scene.base_height(cx, cy) / patch.scale
    scene.paint(patch, patch.inside(sd), tint, None, 0.2, ground + height + 0.06 * rice * within + 0.02 * (1 - within))
    _filling(scene, patch, look, look.uniform(0.32, 0.55))


def _uramaki(scene: Scene, cx: float, cy: float, size: float, turn: float, look: np.random.Generator) -> None:
    """A roll with the rice outside: sesame, roe or crumbs on it, or a slice of fish or avocado over it."""
    patch = scene.patch(cx, cy, size * look.uniform(0.85, 0.98), turn, 1.2)
    sd = blob(scene.rng, patch.x, patch.y * look.uniform(0.95, 1.15), 0.05, 4)
    rice = patch.noise("rice", 1.5)
    coat = look.choice(["plain", "sesame", "roe", "crumbs", "slice", "avocado"])
    tint, rise, outer = RICE * (0.68 + 0.34 * rice), 0.09 * rice, step(-0.3, -0.22, sd)
    beads = patch.noise("beads", 2.6, 1, 1) if coat == "roe" else patch.noise("crumbs", 2.0, 1, 1)
    if coat == "roe":
        roe = ware.pick(look, [colour(232, 96, 30), colour(214, 60, 24), colour(40, 36, 40), colour(150, 190, 60)])
        tint, rise = mix(tint, roe * (0.55 + 0.7 * beads), outer), rise + 0.03 * beads * outer
    elif coat == "crumbs":
        crumb = mix(colour(214, 150, 70), colour(150, 84, 34), patch.noise("mottle", 0.7, 1, 2))
        tint, rise = mix(tint, crumb * (0.6 + 0.6 * beads), outer), rise + 0.06 * beads * outer
    elif coat == "sesame":
        seeds = step(0.8, 0.85, patch.noise("crumbs", 1.6, 1, 2)) * outer
        tint = mix(tint, ware.pick(look, [colour(34, 30, 28), colour(214, 178, 120)]), seeds)
    elif coat in ("slice", "avocado"):
        skin = _fish(patch, look, patch.x, patch.y)[0]
        if coat == "avocado":
            skin = mix(colour(196, 206, 110), colour(96, 140, 50), np.clip(0.5 + 0.5 * np.sin(patch.x * 14 + patch.noise("clouds") * 2), 0, 1))
        tint = mix(tint, skin, step(-0.2, -0.16, sd) * step(-0.5, -0.3, patch.y))
    ring = np.exp(-(((sd + 0.36) / 0.04) ** 2))
    tint = mix(tint, NORI, np.clip(1.3 * ring, 0, 1))
    scene.paint(patch, patch.inside(sd), tint, None, 0.35, scene.base_height(cx, cy) / patch.scale + (look.uniform(0.5, 0.8) + rise) * bulge(sd, 0.14))
    _filling(scene, patch, look, look.uniform(0.34, 0.5))
    if look.random() < 0.25:
        ware.drizzle(scene, cx, cy, size * 0.8, turn + 0.6, vary(look, ware.pick(look, ware.SAUCE_TINTS), 0.04))


def _gunkan(scene: Scene, cx: float, cy: float, size: float, turn: float, look: np.random.Generator) -> None:
    """A ship: rice with a wall of seaweed around it, filled with roe, minced fish or seaweed salad."""
    patch = scene.patch(cx, cy, size, turn, 1.2)
    sd = box(patch.x, patch.y, 0.9, look.uniform(0.5, 0.62), 0.5)
    scene.paint(patch, patch.inside(sd), NORI * (0.7 + 0.7 * patch.noise("mottle", 0.6)), None, 0.3,
                scene.base_height(cx, cy) / size + 0.5 + 0.03 * patch.noise("clouds"))  # fmt: skip
    kind = look.choice(["ikura", "tobiko", "minced", "salad"])
    inner = sd + 0.09
    scale = {"ikura": 1.5, "tobiko": 3.5}.get(str(kind), 2.0)
    beads = patch.noise("beads", scale, 1, 1)
    tints = {"ikura": [colour(240, 110, 40), colour(226, 70, 30)], "tobiko": [colour(236, 120, 30), colour(210, 50, 30), colour(40, 36, 36)],
             "minced": [TUNA, SALMON, PALE, colour(236, 180, 90)], "salad": [colour(96, 140, 50), colour(60, 100, 60)]}  # fmt: skip
    tint = vary(look, ware.pick(look, tints[str(kind)]), 0.04)
    if kind in ("minced", "salad"):
        beads = patch.noise("fibres" if kind == "salad" else "crumbs", 0.8, 1, 2)
    scene.paint(patch, patch.inside(inner), tint * (0.5 + 0.75 * beads), 0.16 * bulge(inner, 0.4) + 0.12 * beads - 0.05, 0.9)


def _sashimi(scene: Scene, cx: float, cy: float, size: float, turn: float, look: np.random.Generator) -> None:
    """Thick slices of raw fish that lean on one another."""
    count, width = int(look.integers(2, 5)), look.uniform(0.6, 0.9)
    fish_seed = int(look.integers(1 << 30))
    for number in range(count):
        offset = (number - (count - 1) / 2) * 1.5 / count * size
        angle = turn + np.pi / 2 + scene.rng.normal(0, 0.05)
        patch = scene.patch(cx + offset * np.cos(turn), cy + offset * np.sin(turn), size * width, angle, 1.3)
        sd = box(patch.x + 0.2 * patch.y, patch.y, 1.0, 0.5, 0.16)
        tint, relief = _fish(patch, np.random.default_rng(fish_seed), patch.x * 0.7, patch.y * 0.5, raw=True)
        scene.paint(patch, patch.inside(sd), tint, (0.12 + 0.14 * patch.y) * bulge(sd, 0.08) + relief, 0.7)


# --- pictures and data sets ------------------------------------------------------------------------------------------

FOODS: dict[str, Callable[[Scene, float, float, float], None]] = {"pizza": pizza, "steak": steak, "sushi": sushi}


def draw_food(name: str, seed: int, size: int = 256) -> Image.Image:
    """Draw one picture.

    Args:
        name: the food, a key of `FOODS`.
        seed: a whole number of 0 or more; the same seed gives the same pixels.
        size: side of the picture in pixels.

    Returns:
        An RGB picture of `size` by `size` pixels.

    Raises:
        ValueError: if no food has that name.
    """
    if name not in FOODS:
        raise ValueError(f"No food is called {name!r}. Known foods: {', '.join(sorted(FOODS))}.")
    rng = np.random.default_rng(seed)
    scene = Scene(rng, size)
    radius = float(rng.choice([rng.uniform(0.5, 0.8), rng.uniform(0.75, 1.05), rng.uniform(1.05, 1.7)], p=[0.25, 0.5, 0.25]))
    cx, cy = rng.normal(0, 0.16, 2) + (0, 0.05)
    cx, cy = float(cx), float(cy) / scene.cos
    ware.draw_table(scene)
    ware.draw_vessel(scene, cx, cy, radius)
    ware.draw_sides(scene, cx, cy, radius)
    FOODS[name](scene, cx, cy, radius)
    ware.draw_garnish(scene, cx, cy, radius)
    return scene.photograph()


def draw_food_data(
    destination: Path | str, counts: Mapping[str, Mapping[str, int]] = COUNTS, seed: int = 42, size: int = 256
) -> Path:
    """Draw a data set: `destination`/train/pizza/0001.jpg and so on.

    The pictures are drawn into a temporary folder beside `destination`, which takes its name at the end: a drawing that is
    broken off leaves nothing behind.

    Args:
        destination: the folder to make.
        counts: for every split, how many pictures of every food.
        seed: the whole set follows from it. Every picture has a seed of its own, made from (seed, split, food, number), so
            that no two splits share a picture.
        size: side of the pictures in pixels.

    Returns:
        The folder, `destination`.

    Raises:
        ValueError: if a food is unknown.
        FileExistsError: if `destination` exists already.
    """
    destination = Path(destination)
    for food in sorted({food for split in counts.values() for food in split}):
        if food not in FOODS:
            raise ValueError(f"No food is called {food!r}. Known foods: {', '.join(sorted(FOODS))}.")
    if destination.exists():
        raise FileExistsError(f"{destination} exists already. Delete it, or give the drawings another place.")
    destination.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{destination.name}_", dir=destination.parent))
    try:
        jobs = [(split, food, number) for split in counts for food in counts[split] for number in range(1, counts[split][food] + 1)]
        for split, food, number in tqdm(jobs, desc="Drawing food", unit="picture"):
            folder = unfinished / split / food
            folder.mkdir(parents=True, exist_ok=True)
            picture = draw_food(food, picture_seed(seed, split, food, number), size)
            picture.save(folder / f"{number:04d}.jpg", quality=92)
        unfinished.rename(destination)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return destination


def picture_seed(seed: int, split: str, food: str, number: int) -> int:
    """Make one picture's seed (128 bits) from the set's seed and the picture's place in it."""
    words = [int.from_bytes(word.encode("utf-8"), "big") for word in (split, food)]
    state = np.random.SeedSequence([seed, *words, number]).generate_state(4)
    return int.from_bytes(state.tobytes(), "little")

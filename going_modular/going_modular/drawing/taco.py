"""Tacos: folded shells that lie or stand, and open tortillas, with filling that shows."""

from __future__ import annotations

import math

import numpy as np

from . import bits, sides
from .scene import Patch, Scene
from .shapes import blob, bulge, colour, disc, mix, pick, scatter, step, vary

SHELLS = [colour(*c) for c in [(240, 196, 100), (228, 170, 76), (246, 226, 180), (250, 236, 206), (214, 150, 80)]]
MEATS = [colour(*c) for c in [(110, 62, 36), (150, 84, 44), (176, 120, 80), (84, 48, 32), (216, 150, 110)]]


def taco(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """One to four tacos of one sort, side by side."""
    rng = scene.rng
    draw = pick(rng, [_folded, _folded, _standing, _standing, _open])
    count = pick(rng, [1, 1, 2, 2, 3, 3, 4])
    look, turn = int(rng.integers(1 << 30)), rng.uniform(0, 6.28)
    wide = {_folded: 0.75, _standing: 0.62, _open: 1.5}[draw]  # how far a taco is from the next, in its own radii
    size = radius * (0.97 if count == 1 else min(0.95, 2.2 / (0.7 + wide * count)))
    for number in range(count - 1, -1, -1):
        away = (number - (count - 1) / 2) * wide * size
        px, py = cx - away * math.sin(turn) + rng.normal(0, 0.03), cy + away * math.cos(turn) + rng.normal(0, 0.03)
        draw(scene, px, py, size, turn + rng.normal(0, 0.06), np.random.default_rng(look), 90 // (1 + count))


def _tortilla(patch: Patch, look: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Colour and fine relief of baked corn or wheat: blisters and toasted spots."""
    clouds, mottle, fine = (
        patch.noise("clouds", 0.9),
        patch.noise("mottle", 1.0, 1, 1),
        patch.noise("mottle", 0.4, 1, 2),
    )
    tint = vary(look, pick(look, SHELLS), 0.03) * (0.82 + 0.16 * mottle + 0.1 * fine)
    spots = step(look.uniform(0.5, 0.75), 1.0, 0.6 * clouds + 0.25 * mottle + 0.25 * patch.noise("beads", 1.6, 1, 3))
    return mix(tint, colour(130, 76, 34), 0.6 * spots), 0.02 * clouds + 0.01 * spots


def _filling(
    scene: Scene, places: np.ndarray, cx: float, cy: float, size: float, turn: float, look: np.random.Generator
) -> None:
    """Meat, leaf, cheese, tomato and onion, one piece at each of the `places` (n, 2), given in radii along the taco."""
    rng = scene.rng
    c, s = math.cos(turn), math.sin(turn)
    meat = vary(look, pick(look, MEATS), 0.03)
    green, cheese = vary(look, colour(130, 170, 60), 0.05), vary(look, pick(look, bits.CHEESES), 0.03)
    kinds = ["meat", "meat", *(pick(look, ["leaf", "shred", "tomato", "onion", "cream", "leaf"]) for _ in range(4))]
    for u, v in places:
        px, py = cx + float(u * c - v * s) * size, cy + float(u * s + v * c) * size
        kind = pick(rng, kinds)
        if kind == "meat":
            _lump(scene, px, py, size * rng.uniform(0.1, 0.16), vary(rng, meat, 0.03))
        elif kind == "leaf":
            bits.lettuce(scene, px, py, size * 0.17, vary(rng, green, 0.06), False)
        elif kind == "shred":
            for _ in range(2):
                sides.stick(scene, px + rng.normal(0, 0.04) * size, py, size * 0.11, size * 0.018, rng.uniform(0, 3.14),
                            vary(rng, cheese, 0.03), 0.3)  # fmt: skip
        elif kind == "tomato":
            bits.cube(scene, px, py, size * 0.07, vary(rng, bits.TOMATO, 0.04), 0.7)
        elif kind == "onion":
            bits.onion(scene, px, py, size * 0.1)
        else:
            bits.ball(scene, px, py, size * 0.06, colour(250, 246, 236), 0.5)


def _lump(scene: Scene, cx: float, cy: float, size: float, tint: np.ndarray) -> None:
    """A coarse piece of meat, fish or bean paste."""
    patch = scene.patch(cx, cy, size, scene.rng.uniform(0, 6.28), 1.3)
    crumbs = patch.noise("crumbs", 4.0)
    sd = blob(scene.rng, patch.x, patch.y, 0.15) + 0.15 * (0.5 - crumbs)
    level = bits.heap(scene, patch) + 0.6 * bulge(sd, 0.6) + 0.2 * crumbs
    scene.paint(patch, patch.inside(sd), tint * (0.5 + 0.7 * crumbs), None, 0.35, level)


def _folded(
    scene: Scene, cx: float, cy: float, size: float, turn: float, look: np.random.Generator, count: int
) -> None:
    """A folded taco on its side: half a disc, with the filling along its arc."""
    rng = scene.rng
    cx, cy = cx + 0.42 * size * math.sin(turn), cy - 0.42 * size * math.cos(turn)
    patch = scene.patch(cx, cy, size, turn, 1.2)
    tint, relief = _tortilla(patch, look)
    rho = disc(patch.x, patch.y, 0.0)
    under = np.maximum(rho - 0.98, -patch.y - 0.03)
    scene.paint(patch, patch.inside(under), tint * 0.85, None, 0.15, 0.12 + relief)
    angle, away = rng.uniform(0.08, 3.06, count), rng.uniform(0.7, 1.06, count)
    places = np.stack([away * np.cos(angle), away * np.sin(angle)], axis=1)
    _filling(scene, places, cx, cy, size, turn, look)
    over = np.maximum(0.79 * blob(rng, patch.x / 0.79, patch.y / 0.79, 0.02), -patch.y - 0.06)
    swollen = 0.14 + 0.15 * step(-0.1, 0.6, patch.y)
    fold = 0.12 * bulge(-patch.y - 0.06, 0.12)
    scene.paint(patch, patch.inside(over), tint, None, 0.25, 0.1 + (swollen + fold - 0.1) * bulge(over, 0.12) + relief)


def _standing(
    scene: Scene, cx: float, cy: float, size: float, turn: float, look: np.random.Generator, count: int
) -> None:
    """A shell that stands on its fold: two steep walls with the filling between them."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size, turn, 1.15)
    tint, relief = _tortilla(patch, look)
    arch = np.sqrt(np.clip(1 - patch.x * patch.x, 0, 1))
    half, tall = look.uniform(0.24, 0.31), look.uniform(0.45, 0.7)
    sd = np.maximum(np.abs(patch.y) - half * (0.3 + 0.7 * arch), np.abs(patch.x) - 0.99)
    side = np.clip(-sd * (1 / 0.1), 0, 1)
    wall = 0.1 + tall * arch * side
    trough = step(0.02, 0.04, -sd - 0.1)
    scene.paint(
        patch, patch.inside(sd), tint * (1 - 0.4 * trough), None, 0.2, wall - 0.12 * tall * arch * trough + relief
    )
    x = rng.uniform(-0.9, 0.9, count)
    places = np.stack([x, rng.uniform(-0.7, 0.7, count) * half * (1.05 - np.abs(x))], axis=1)
    previous, scene.stencil = scene.stencil, np.zeros_like(scene.height)
    scene.stencil[patch.window] = patch.inside(sd + 0.08)
    _filling(scene, places, cx, cy, size, turn, look)
    scene.stencil = previous


def _open(scene: Scene, cx: float, cy: float, size: float, turn: float, look: np.random.Generator, count: int) -> None:
    """A soft tortilla that lies open, its sides curled up, with a strip of filling."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size * 0.95, turn, 1.15)
    tint, relief = _tortilla(patch, look)
    sd = blob(rng, patch.x, patch.y * 1.15, 0.03)
    curl = 0.06 + look.uniform(0.15, 0.4) * patch.y * patch.y
    scene.paint(patch, patch.inside(sd), tint, None, 0.15, curl + relief)
    places = scatter(rng, count + 8, 0.08, 0.9) * np.array([0.85, look.uniform(0.35, 0.55)], np.float32)
    _filling(scene, places, cx, cy, size, turn, look)
    if look.random() < 0.3:
        sides.drizzle(scene, cx, cy, size * 0.6, turn, vary(rng, pick(rng, sides.SAUCE_TINTS), 0.04))

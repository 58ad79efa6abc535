"""Waffles: round, square, oblong or of hearts, with deep pockets, under syrup, fruit, cream or sugar."""

from __future__ import annotations

import math

import numpy as np

from . import sweets
from .scene import Patch, Scene
from .shapes import box, bulge, colour, disc, layout, mix, pick, step, vary


def waffle(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """One to four waffles, side by side or one leaning over the other."""
    rng = scene.rng
    look = int(rng.integers(1 << 30))
    overlap = pick(rng, [1.0, 1.0, 1.0, 1.4])
    places = layout(rng, radius, [1, 1, 1, 1, 2, 2, 3, 4])
    for x, y, size in places:
        px, py = cx + x / overlap, cy + y / overlap
        _waffle(scene, px, py, size * 0.95, np.random.default_rng(look), rng.uniform(0, 6.28))
        if len(places) < 3 and rng.random() < 0.75:
            sweets.crown(scene, px, py, size * 0.75)
    if len(places) > 2 and rng.random() < 0.75:
        sweets.crown(scene, cx, cy, radius * 0.6)


def _outline(patch: Patch, look: np.random.Generator) -> np.ndarray:
    """Distance to the outline of a waffle: disc, square, oblong, a ring of hearts, or a quarter."""
    kind = pick(look, ["disc", "disc", "square", "oblong", "hearts", "quarter"])
    if kind == "disc":
        return disc(patch.x, patch.y)
    if kind == "square":
        return box(patch.x, patch.y, 0.9, 0.9, 0.12)
    if kind == "oblong":
        return box(patch.x, patch.y, 1.02, 0.64, 0.16)
    if kind == "hearts":
        angle = np.arctan2(patch.y, patch.x)
        return disc(patch.x, patch.y, 0.0) - 0.78 - 0.24 * np.sqrt(np.abs(np.sin(angle * 2.5)))
    return np.maximum(np.maximum(disc(patch.x + 0.6, patch.y + 0.6, 1.5), -patch.x - 0.6), -patch.y - 0.6)


def _waffle(scene: Scene, cx: float, cy: float, size: float, look: np.random.Generator, turn: float) -> None:
    """One waffle: a lattice of rounded walls around sunken pockets."""
    patch = scene.patch(cx, cy, size, turn, 1.3)
    sd = _outline(patch, look)
    spacing, wall = look.uniform(0.2, 0.34), look.uniform(0.16, 0.24)
    slant = pick(look, [0.0, 0.0, math.pi / 4])
    c, s = math.cos(slant), math.sin(slant)
    u, v = (patch.x * c + patch.y * s) / spacing + 0.5, (patch.y * c - patch.x * s) / spacing + 0.5
    line = np.minimum(np.abs(u - np.round(u)), np.abs(v - np.round(v)))  # 0 on a wall, 0.5 amid a pocket
    walls = np.maximum(1 - step(wall - 0.08, wall + 0.1, line), step(-0.11, -0.06, sd))
    clouds, mottle, fine = (
        patch.noise("clouds", 1.0),
        patch.noise("mottle", 0.8, 1, 1),
        patch.noise("mottle", 0.3, 1, 2),
    )
    bake = np.clip(look.uniform(0.1, 0.75) + 0.5 * (clouds - 0.5) + 0.35 * (mottle - 0.5) + 0.2 * walls, 0, 1)
    tint = mix(vary(look, colour(238, 190, 110), 0.03), vary(look, colour(150, 88, 38), 0.04), bake)
    tint = tint * (0.66 + 0.28 * walls + 0.15 * fine)
    deep = look.uniform(0.1, 0.17)
    ground = min(scene.base_height(cx, cy) / size, 0.35)
    level = ground + 0.08 + deep * walls * bulge(sd, 0.07) + 0.015 * mottle + 0.02 * clouds
    scene.paint(patch, patch.inside(sd), tint, None, 0.2, level)

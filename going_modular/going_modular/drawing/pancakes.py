"""Pancakes: stacked, fanned out or side by side, under butter, syrup, fruit or cream."""

from __future__ import annotations

import math

import numpy as np

from . import sweets
from .scene import Scene
from .shapes import blob, bulge, colour, layout, mix, pick, step, vary


def pancakes(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A stack of two to eight, a row that overlaps, or small ones side by side."""
    rng = scene.rng
    look = int(rng.integers(1 << 30))
    kind = pick(rng, ["stack", "stack", "stack", "row", "apart"])
    if kind == "stack":
        count, height = int(rng.integers(2, 9)), 0.06
        thick = min(rng.uniform(0.1, 0.19), 0.9 / count)
        px, py = cx, cy
        for number in range(count):
            px, py = cx + rng.normal(0, 0.05) * radius, cy + rng.normal(0, 0.05) * radius
            height += thick
            size = radius * (0.97 - 0.022 * number + rng.normal(0, 0.01))
            _pancake(scene, px, py, size, look, thick, height, 0.0)
        sweets.crown(scene, px, py, radius * 0.85)
    elif kind == "row":
        count, turn = int(rng.integers(3, 6)), rng.uniform(0, 6.28)
        size = radius * 1.7 / (1 + 0.55 * count)
        for number in range(count):
            away = (number - (count - 1) / 2) * size * 0.8
            px, py = cx + away * math.cos(turn), cy + away * math.sin(turn)
            _pancake(scene, px, py, size, look, 0.16, 0.32, turn, 0.22)
        sweets.crown(scene, cx, cy, radius * 0.7)
    else:
        bare = rng.random() < 0.4
        for x, y, size in layout(rng, radius, [2, 3, 4, 5, 6]):
            _pancake(scene, cx + x, cy + y, size * 0.95, look, 0.18, 0.22, 0.0)
            if not bare:
                sweets.crown(scene, cx + x, cy + y, size * 0.75)


def _pancake(
    scene: Scene,
    cx: float,
    cy: float,
    size: float,
    look_seed: int,
    thick: float,
    height: float,
    turn: float,
    lean: float = 0.0,
) -> None:
    """One pancake: a brown, ringed face with a pale side; `height` is that of its face, `lean` its slope."""
    rng, look = scene.rng, np.random.default_rng(look_seed)
    patch = scene.patch(cx, cy, size, turn, 1.2)
    sd = blob(rng, patch.x, patch.y, 0.018, 5)
    clouds, mottle, fine = (
        patch.noise("clouds", 1.1),
        patch.noise("mottle", 1.0, 1, 1),
        patch.noise("mottle", 0.4, 1, 2),
    )
    bake = look.uniform(0.35, 0.9) + 0.5 * (clouds - 0.5) + 0.35 * (mottle - 0.5) + 0.2 * (fine - 0.5)
    ring = np.exp(-(((sd + look.uniform(0.1, 0.2)) / 0.05) ** 2))
    face = mix(
        vary(look, colour(236, 184, 104), 0.03), vary(look, colour(150, 84, 36), 0.04), np.clip(bake + 0.3 * ring, 0, 1)
    )
    side = vary(look, colour(248, 222, 160), 0.02) * (0.85 + 0.15 * mottle)
    tint = mix(face, side, step(-0.11, -0.07, sd + 0.03 * (clouds - 0.5)))
    tint = mix(tint, face * 0.7, step(-0.035, -0.015, sd))
    edge = 1 - bulge(sd, 0.12)
    level = height - 0.7 * thick * edge + 0.012 * mottle + 0.02 * clouds - lean * patch.x
    scene.paint(patch, patch.inside(sd), tint, None, 0.15, level)

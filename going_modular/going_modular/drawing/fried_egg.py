"""Fried eggs: whites with lacy edges, round yolks, sometimes on toast."""

from __future__ import annotations

import math

import numpy as np

from . import sides
from .scene import Scene
from .shapes import blob, box, bulge, colour, disc, layout, mix, pick, step, vary


def fried_egg(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """One to five eggs, apart or run together, some of them on toast."""
    rng = scene.rng
    toast = rng.random() < 0.22
    together = 1.0 if toast else pick(rng, [1.0, 1.0, 1.2, 1.35])
    yolk = vary(rng, mix(colour(250, 196, 50), colour(232, 112, 20), rng.uniform(0, 1)), 0.03)
    crisp = rng.uniform(-0.2, 1.0)
    for x, y, size in layout(rng, radius, [1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5]):
        px, py, reach = cx + x / together, cy + y / together, size * 0.95
        if toast:
            _toast(scene, px, py, reach)
            reach *= 0.75
        _egg(scene, px, py, reach, yolk, crisp)
    if rng.random() < 0.5:
        tint = pick(rng, [colour(30, 26, 24), colour(30, 26, 24), colour(170, 40, 20), colour(70, 120, 40)])
        sides.flecks(scene, cx, cy, radius * 0.8, int(rng.integers(15, 60)), radius * 0.014, tint)


def _toast(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A slice of toasted bread with its crust."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size, rng.uniform(0, 6.28), 1.3)
    hump = 0.12 * step(0.2, 0.9, patch.x) * np.cos(np.clip(patch.y * 5, -3.14, 3.14))
    sd = box(patch.x, patch.y, 1.0, 0.88, 0.25) + hump
    pores, clouds = patch.noise("mottle", 0.6), patch.noise("clouds", 1.5, 1, 1)
    tint = mix(colour(240, 208, 150), colour(176, 110, 52), np.clip(0.9 * clouds + 0.5 * pores - 0.3, 0, 1))
    tint = mix(tint * (0.75 + 0.35 * pores), colour(120, 70, 32), step(-0.1, -0.04, sd))
    level = scene.base_height(cx, cy) / size + 0.2 * bulge(sd, 0.06) + 0.02 * pores
    scene.paint(patch, patch.inside(sd), tint, None, 0.1, level)


def _egg(scene: Scene, cx: float, cy: float, size: float, yolk: np.ndarray, crisp: float) -> None:
    """One egg: the white with blisters and a browned edge, one yolk or two, whole or broken."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size, rng.uniform(0, 6.28), 1.45)
    x, y = patch.x * rng.uniform(1.0, 1.2), patch.y
    clouds, mottle = patch.noise("clouds", 1.3), patch.noise("mottle", 1.0, 1, 1)
    swell = patch.noise("swell", 2.0, 1, 3)
    sd = 0.95 * blob(rng, x, y, 0.1, 6) + 0.13 * (swell - 0.5) + 0.03 * (mottle - 0.5)
    blister = step(0.5, 0.9, patch.noise("beads", 2.2, 1, 2)) * step(-0.45, -0.1, sd) * step(0.4, 0.7, clouds)
    white = mix(colour(252, 249, 240), colour(222, 222, 208), 0.7 * step(0.4, 0.9, clouds))
    lace = step(-rng.uniform(0.08, 0.3), 0.0, sd + 0.12 * (mottle - 0.5)) * max(crisp, 0)
    white = mix(white, mix(colour(222, 166, 84), colour(104, 54, 20), mottle), np.clip(1.2 * lace, 0, 0.95))
    white = white * (1 - 0.1 * blister)
    rise = 0.05 * bulge(sd, 0.15) + 0.035 * blister + 0.035 * swell + 0.006 * clouds + 0.04 * lace * mottle
    away = rng.uniform(0, 0.22)
    turn, yolk_size = rng.uniform(0, 6.28), rng.uniform(0.28, 0.4)
    yolks = [(away * math.cos(turn), away * math.sin(turn))]
    if rng.random() < 0.12:
        yolks = [(0.3 * math.cos(turn), 0.3 * math.sin(turn)), (-0.3 * math.cos(turn), -0.3 * math.sin(turn))]
    for px, py in yolks:
        rise = rise + 0.1 * np.exp(-(((patch.x - px) ** 2 + (patch.y - py) ** 2) * (1 / (2.0 * yolk_size) ** 2)) * 2)
    scene.paint(patch, patch.inside(sd), white, rise, 0.75)
    broken, veil, tall = rng.random() < 0.1, pick(rng, [0.0, 0.0, 0.25, 0.5]), rng.uniform(0.38, 0.65)
    for px, py in yolks:
        sd = disc(patch.x - px, patch.y - py, yolk_size * rng.uniform(0.9, 1.05)) + 0.03 * (clouds - 0.5)
        if broken:
            run = box(patch.x - px - 0.35, patch.y - py - 0.1 * patch.x, 0.45, 0.13, 0.13) + 0.1 * (clouds - 0.5)
            scene.paint(patch, patch.inside(run), yolk, 0.02 * bulge(run, 0.1), 0.95)
        rim = step(-0.08, 0.0, sd)
        tint = mix(yolk * (0.94 + 0.1 * clouds), colour(250, 226, 190), veil * (0.5 + 0.5 * mottle))
        scene.paint(
            patch,
            patch.inside(sd, 0.01),
            mix(tint, yolk * 0.85, 0.6 * rim),
            yolk_size * tall * bulge(sd, yolk_size * 0.95),
            0.95 - veil,
        )

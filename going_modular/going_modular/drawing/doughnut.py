"""Doughnuts: rings with icing, sprinkles, stripes, nuts or sugar, and twisted crullers."""

from __future__ import annotations

import math

import numpy as np

from . import sides, sweets
from .scene import Scene
from .shapes import bite, blob, bulge, colour, layout, mix, pick, step, vary


def doughnut(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """One to nine rings of one to three sorts."""
    rng = scene.rng
    places = layout(rng, radius, [1, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 9])
    looks = [int(rng.integers(1 << 30)) for _ in range(int(rng.integers(1, 4)))]
    for x, y, size in places:
        look = np.random.default_rng(pick(rng, looks))
        _ring(scene, cx + x, cy + y, size * 0.98, look, max(10, 70 // len(places)))


def _ring(scene: Scene, cx: float, cy: float, size: float, look: np.random.Generator, crumbs: int) -> None:
    """A ring of dough with a pale belt round its side, and what covers it."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size, rng.uniform(0, 6.28), 1.15)
    x, y = patch.x, patch.y
    kind = pick(look, ["iced", "iced", "iced", "sprinkles", "sprinkles", "stripes", "nuts", "sugar", "cruller"])
    hole, tall = look.uniform(0.2, 0.36), look.uniform(0.4, 0.6)
    rho, angle = 1 + blob(rng, x, y, 0.015), np.arctan2(y, x)
    across = (rho - (1 + hole) / 2) * (2 / (1 - hole))  # -1 at the hole, 1 at the outer edge
    bitten = bite(rng, x, y, 0.14)
    sd = np.maximum((np.abs(across) - 1) * ((1 - hole) / 2), bitten)
    torus = np.sqrt(np.clip(1 - across * across, 0, 1))
    mottle, clouds = patch.noise("mottle", 0.8), patch.noise("clouds", 1.2, 1, 1)
    bake = np.clip(look.uniform(0.2, 0.8) + 0.5 * (mottle - 0.5) + 0.4 * (clouds - 0.5), 0, 1)
    dough = mix(vary(look, colour(222, 160, 84), 0.04), vary(look, colour(140, 78, 32), 0.04), bake)
    dough = mix(dough, colour(246, 216, 156), 0.7 * np.exp(-(((torus - 0.45) / 0.15) ** 2)))
    dough = mix(dough, colour(250, 226, 170) * (0.75 + 0.3 * mottle), step(-0.12, -0.09, bitten))
    rise = tall * torus * (0.95 + 0.1 * clouds) * bulge(sd, 0.1) + 0.02
    if kind == "cruller":
        twist = np.cos(angle * int(look.integers(9, 15)) + 1.4 * across)
        rise = rise * (0.85 + 0.2 * np.sqrt(0.5 + 0.5 * twist))
        dough = dough * (0.8 + 0.25 * twist)
    level = scene.base_height(cx + 0.6 * size, cy) / size
    level = min(level, 0.3) + rise
    scene.paint(patch, patch.inside(sd), dough, None, 0.25, level)
    icing = pick(look, sweets.ICINGS)
    if kind in ("sugar", "cruller"):
        cover = step(0.25, 0.75, patch.noise("grain", 0.7, 1, 2) * torus + 0.25 * clouds)
        tint = pick(look, [colour(252, 250, 246), colour(252, 250, 246), colour(196, 150, 100)])
        scene.paint(patch, look.uniform(0.25, 0.9) * cover * patch.inside(sd), tint, 0.004, 0.1)
        return
    waves = 0.18 * (patch.noise("swell", 1.6, 1, 3) - 0.5) + 0.06 * np.sin(angle * 9 + 4 * clouds)
    flow = look.uniform(0.6, 0.85) + waves * step(-0.2, 0.2, across)
    edge = np.maximum(np.abs(across + 0.03) - flow, sd + 0.03)
    scene.paint(
        patch, patch.inside(edge), vary(look, icing, 0.03) * (0.92 + 0.12 * clouds), 0.04 * bulge(edge, 0.14), 0.8
    )
    if kind == "stripes":
        swing = np.abs(np.sin(x * look.uniform(8, 13) + 0.6 * np.sin(y * 3)))
        stripe = (1 - step(0.12, 0.3, swing)) * patch.inside(edge + 0.05)
        scene.paint(patch, stripe, vary(look, pick(look, sweets.ICINGS), 0.03), 0.02, 0.8)
    elif kind == "sprinkles":
        length = size * look.uniform(0.05, 0.075)
        sweets.sprinkles(scene, cx, cy, size * (hole + 0.15), size * 0.87, crumbs, length)
    elif kind == "nuts":
        chips = patch.noise("crumbs", look.uniform(1.4, 2.2), 1, 2)
        tint = pick(look, [colour(214, 166, 100), colour(250, 246, 238), colour(70, 40, 26)]) * (0.6 + 0.6 * chips)
        scene.paint(patch, step(0.3, 0.45, chips * clouds * 1.5) * patch.inside(edge + 0.05), tint, 0.05 * chips, 0.2)
    if kind == "iced" and look.random() < 0.35:
        turn = look.uniform(0, 6.28)
        px, py = cx + 0.62 * size * math.cos(turn), cy + 0.62 * size * math.sin(turn)
        sides.flecks(scene, px, py, size * 0.3, 14, size * 0.05, colour(246, 240, 226))

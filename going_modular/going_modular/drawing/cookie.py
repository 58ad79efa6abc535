"""Cookies: with chips or candies, cracked, filled, embossed, scalloped."""

from __future__ import annotations

import math

import numpy as np

from . import sweets
from .bits import ball
from .scene import Patch, Scene
from .shapes import bite, blob, bulge, colour, disc, layout, mix, pick, scatter, step, vary

DOUGHS = [colour(*c) for c in [(214, 160, 92), (196, 136, 70), (226, 184, 120), (156, 96, 48), (84, 50, 32)]]
CHIPS = [colour(*c) for c in [(58, 32, 20), (58, 32, 20), (100, 58, 34), (246, 236, 210)]]


def cookie(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """One to twelve cookies of one to three sorts, side by side, or a row of them that lean on one another."""
    rng = scene.rng
    looks = [int(rng.integers(1 << 30)) for _ in range(pick(rng, [1, 1, 2, 3]))]
    if rng.random() < 0.25:
        count, turn = int(rng.integers(3, 7)), rng.uniform(0, 6.28)
        size = radius * 1.9 / (1 + 0.55 * count)
        for number in range(count):
            away, look = (number - (count - 1) / 2) * size * 0.95, np.random.default_rng(pick(rng, looks))
            px, py = cx + away * math.cos(turn), cy + away * math.sin(turn) + rng.normal(0, 0.04) * size
            _cookie(scene, px, py, size, look, turn, 9, 0.3)
        return
    places = layout(rng, radius, [1, 1, 2, 3, 3, 4, 4, 5, 6, 7, 9, 12])
    for x, y, size in places:
        look = np.random.default_rng(pick(rng, looks))
        count = 18 if len(places) == 1 else max(6, 60 // len(places))
        _cookie(scene, cx + x, cy + y, size * 0.95, look, rng.uniform(0, 6.28), count, 0.0)


def _cookie(
    scene: Scene, cx: float, cy: float, size: float, look: np.random.Generator, turn: float, count: int, lean: float
) -> None:
    """One cookie; `lean` is how steeply it rises against `turn`, `count` how many chips it gets."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size, turn, 1.2)
    kind = pick(look, ["chips", "chips", "chips", "candies", "crackle", "oats", "sandwich", "jam"])
    dough = vary(look, pick(look, DOUGHS), 0.04)
    angle = np.arctan2(patch.y, patch.x)
    if kind == "sandwich":
        sd = disc(patch.x, patch.y, 0.97)
    elif kind == "jam":
        sd = disc(patch.x, patch.y, 0.93) - 0.05 * np.cos(angle * int(look.integers(8, 16)))
    else:
        sd = blob(rng, patch.x, patch.y, 0.03, 6) + 0.05 * (patch.noise("clouds", 1.6) - 0.5)
    sd = np.maximum(sd, bite(rng, patch.x, patch.y, 0.16))
    ground = min(scene.base_height(cx, cy) / size, 0.3) if lean == 0 else 0.1
    if kind == "sandwich":
        tint, rise = _embossed(patch, look, sd, dough, angle)
        low = disc(patch.x, patch.y, 0.99)
        scene.paint(patch, patch.inside(low), colour(248, 240, 222), None, 0.2, ground + 0.16 - lean * patch.x)
    else:
        tint, rise = _baked(patch, look, sd, dough, kind)
    scene.paint(patch, patch.inside(sd), tint, None, 0.15, ground + rise - lean * patch.x)
    if kind == "jam":
        pool = disc(patch.x, patch.y, 0.42) + 0.05 * patch.noise("clouds", 1.5, 1, 1)
        jam = vary(look, pick(look, [colour(170, 20, 36), colour(226, 140, 30), colour(90, 20, 60)]), 0.03)
        scene.paint(patch, patch.inside(pool), jam, 0.05 * bulge(pool, 0.2) - 0.04, 0.95)
    elif kind in ("chips", "candies"):
        tints = [pick(look, CHIPS)] if kind == "chips" else sweets.CONFETTI
        grain = look.uniform(0.09, 0.15)
        for x, y in scatter(rng, count, 2.0 * grain, 0.8) * np.float32(size):
            _chip(scene, cx + float(x), cy + float(y), size * grain * rng.uniform(0.7, 1.25), pick(rng, tints), kind)
    if look.random() < 0.12:
        ball(scene, cx, cy, size * 0.2, vary(look, colour(206, 160, 100), 0.05), 0.3)


def _baked(
    patch: Patch, look: np.random.Generator, sd: np.ndarray, dough: np.ndarray, kind: str
) -> tuple[np.ndarray, np.ndarray]:
    """Colour and height of a drop of dough that has run and cracked in the oven."""
    clouds, mottle, fine = (
        patch.noise("clouds", 1.0),
        patch.noise("mottle", 0.9, 1, 1),
        patch.noise("mottle", 0.3, 1, 2),
    )
    brown = step(-0.45, 0.0, sd + 0.2 * (clouds - 0.5))
    tint = mix(dough * 1.08, dough * colour(190, 150, 120), look.uniform(0.4, 1.0) * brown)
    tint = tint * (0.72 + 0.3 * mottle + 0.22 * fine)
    crack = np.exp(-(((patch.noise("swell", look.uniform(0.9, 1.4), 1, 3) - 0.5) / 0.025) ** 2)) * step(
        0.3, 0.6, clouds
    )
    crack = crack * step(-0.08, -0.25, sd)
    tint = tint * (1 - 0.45 * crack)
    rise = look.uniform(0.14, 0.26) * bulge(sd, 0.4) + 0.05 * clouds + 0.025 * mottle + 0.01 * fine - 0.03 * crack
    if kind == "crackle":
        sugar = step(0.06, 0.16, np.abs(patch.noise("clouds", 1.1, 1, 3) - 0.5)) * step(-0.02, -0.1, sd)
        tint = mix(tint * 0.75, colour(250, 248, 244), 0.92 * sugar)
        rise = rise + 0.05 * sugar
    elif kind == "oats":
        flakes = patch.noise("rice", look.uniform(1.6, 2.4), 1, 3)
        tint = mix(tint * (0.6 + 0.5 * flakes), colour(240, 214, 160), 0.45 * step(0.6, 0.9, flakes))
        rise = rise + 0.06 * flakes
    return tint, rise


def _embossed(
    patch: Patch, look: np.random.Generator, sd: np.ndarray, dough: np.ndarray, angle: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Colour and height of the lid of a sandwich biscuit: pressed ring, spokes and dots."""
    rho = disc(patch.x, patch.y, 0.0)
    spokes = step(0.3, 0.6, np.cos(angle * int(look.integers(12, 36)))) * step(0.76, 0.8, rho)
    band = np.exp(-(((rho - look.uniform(0.6, 0.72)) / 0.035) ** 2))
    star = step(0.2, 0.4, np.cos(angle * int(look.integers(3, 9))) - 1.4 * np.abs(rho - 0.3)) * (rho < 0.55)
    relief = np.maximum(np.maximum(spokes, band), star)
    tint = dough * (0.72 + 0.12 * patch.noise("mottle", 0.6) + 0.3 * relief)
    return tint, 0.26 + 0.05 * relief * bulge(sd, 0.06) + 0.02 * bulge(sd, 0.06)


def _chip(scene: Scene, cx: float, cy: float, size: float, tint: np.ndarray, kind: str) -> None:
    """A chocolate chip or a sugar-coated candy, half sunk in the dough."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size, rng.uniform(0, 6.28), 1.3)
    sd = disc(patch.x, patch.y) if kind == "candies" else blob(rng, patch.x, patch.y * rng.uniform(1.0, 1.5), 0.14, 4)
    scene.paint(patch, patch.inside(sd), vary(rng, tint, 0.03), 0.5 * bulge(sd, 0.9), 0.75)

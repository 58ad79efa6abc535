"""Cake: whole, with a piece gone, in slices that stand or lie, in squares."""

from __future__ import annotations

import math

import numpy as np

from . import sweets
from .scene import Patch, Scene
from .shapes import box, bulge, colour, disc, layout, mix, pick, scatter, step, vary

SPONGES = [colour(*c) for c in [(240, 206, 130), (226, 176, 96), (80, 46, 30), (150, 40, 40), (190, 130, 70)]]
FROSTINGS = [*sweets.ICINGS, colour(250, 246, 238), colour(250, 246, 238), colour(90, 54, 36), colour(246, 226, 190)]


def cake(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A whole cake, one with a piece gone, one to three slices, or squares."""
    rng = scene.rng
    look = int(rng.integers(1 << 30))
    kind = pick(rng, ["whole", "gap", "gap", "wedge", "wedge", "lying", "lying", "squares"])
    if kind in ("whole", "gap"):
        _round(scene, cx, cy, radius * 0.95, np.random.default_rng(look), kind == "gap")
    elif kind == "wedge":
        for x, y, size in layout(rng, radius, [1, 1, 1, 2, 3]):
            _wedge(scene, cx + x, cy + y, size * 1.05, np.random.default_rng(look))
    elif kind == "lying":
        for x, y, size in layout(rng, radius, [1, 1, 1, 2, 3]):
            _lying(scene, cx + x, cy + y, size, np.random.default_rng(look))
    else:
        turn = rng.uniform(0, 6.28)
        for x, y, size in layout(rng, radius, [1, 2, 3, 4, 4, 6, 9]):
            _square(scene, cx + x, cy + y, size * 0.85, np.random.default_rng(look), turn + rng.normal(0, 0.1))


def _strata(patch: Patch, look: np.random.Generator, up: np.ndarray) -> np.ndarray:
    """Colour of a cut face: layers of sponge with cream or jam between; `up` is 0 at the foot, 1 at the top."""
    count = int(look.integers(2, 5))
    sponge, cream = vary(look, pick(look, SPONGES), 0.03), vary(look, pick(look, FROSTINGS), 0.03)
    crumb, mottle = patch.noise("crumbs", 1.4, 1, 2), patch.noise("mottle", 0.7, 1, 3)
    face = sponge * (0.6 + 0.35 * mottle + 0.25 * crumb)
    place = (up + 0.03 * (patch.noise("clouds", 1.0) - 0.5)) * count
    layer = np.abs(place - np.round(place)) * (place > 0.5)
    seam = 1 - step(look.uniform(0.06, 0.14), 0.19, layer + (place < 0.5))
    return mix(face, cream * (0.92 + 0.1 * mottle), seam)


def _top(scene: Scene, patch: Patch, look: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Colour, relief and side colour of the frosting: smooth, combed or rough."""
    frosting = vary(look, pick(look, FROSTINGS), 0.03)
    clouds = patch.noise("clouds", 1.2)
    kind = pick(look, ["smooth", "rough", "combed", "waves"])
    relief = 0.02 * clouds
    if kind == "rough":
        relief = 0.07 * clouds + 0.02 * patch.noise("mottle", 0.9, 1, 1)
    elif kind == "combed":
        relief = 0.015 * np.sin(disc(patch.x, patch.y, 0.0) * 60 + 2 * clouds)
    elif kind == "waves":
        relief = 0.02 * np.sin(patch.y * 26 + 2 * np.sin(patch.x * 9))
    side = vary(look, pick(look, FROSTINGS), 0.03) if look.random() < 0.3 else frosting
    return frosting * (0.88 + 0.14 * clouds), relief, side


def _body(scene: Scene, patch: Patch, look: np.random.Generator, rim: np.ndarray, cut: np.ndarray, tall: float) -> None:
    """A cake of height `tall`: frosted where `rim` bounds it, layers showing where `cut` does."""
    slope = 0.13
    frosting, relief, side = _top(scene, patch, look)
    wall_rim, wall_cut = np.clip(-rim * (1 / slope), 0, 1), np.clip(-cut * (1 / slope), 0, 1)
    up = np.minimum(wall_rim, wall_cut)
    strata = _strata(patch, look, wall_cut)
    shell = mix(side * (0.9 + 0.12 * patch.noise("mottle", 1.0, 1, 1)), frosting, step(0.9, 1.0, wall_rim))
    if look.random() < 0.35:  # glaze that drips over the edge
        drip = np.sin(np.arctan2(patch.y, patch.x) * int(look.integers(10, 20))) + 3 * (patch.noise("swell", 2.0) - 0.5)
        glaze = vary(look, pick(look, sweets.ICINGS), 0.03)
        shell = mix(shell, glaze, step(0.0, 0.1, wall_rim - 0.55 + 0.22 * drip))
    tint = mix(shell, strata, step(0.0, 0.06, wall_rim - wall_cut) * step(0.04, 0.1, 0.98 - wall_cut))
    sd = np.maximum(rim, cut)
    level = 0.08 + tall * up + relief * (up > 0.97)
    scene.paint(patch, patch.inside(sd), tint, None, 0.3, level)


def _round(scene: Scene, cx: float, cy: float, size: float, look: np.random.Generator, gap: bool) -> None:
    """A round cake, whole or with a piece gone, decorated around its rim and in its middle."""
    rng = scene.rng
    turn, half_angle, tall = rng.uniform(0, 6.28), rng.uniform(0.3, 0.6), look.uniform(0.3, 0.6)
    patch = scene.patch(cx, cy, size, turn)
    cut = np.full_like(patch.x, -9)
    if gap:
        cut = patch.x * math.sin(half_angle) - np.abs(patch.y) * math.cos(half_angle)
    _body(scene, patch, look, disc(patch.x, patch.y), cut, tall)
    previous, scene.stencil = scene.stencil, np.zeros_like(scene.height)
    scene.stencil[patch.window] = patch.inside(cut + 0.1)
    rim = pick(look, ["cream", "cream", "fruit", "bare", "sprinkles"])
    tint, fruit = vary(look, pick(look, FROSTINGS), 0.03), pick(look, sweets.FRUITS)
    count = int(look.integers(8, 15))
    for number in range(count if rim in ("cream", "fruit") else 0):
        angle = turn + 6.28 * (number + 0.5) / count
        if gap and abs((angle - turn + math.pi) % (2 * math.pi) - math.pi) < half_angle + 0.2:
            continue
        px, py = cx + 0.72 * size * math.cos(angle), cy + 0.72 * size * math.sin(angle)
        if rim == "cream":
            sweets.cream(scene, px, py, size * 0.15, tint)
        if rim == "fruit" or number % 2 == 0 and look.random() < 0.4:
            fruit(scene, px, py, size * 0.1)
    if rim == "sprinkles":
        sweets.sprinkles(scene, cx, cy, 0.5 * size, 0.85 * size, 60, size * 0.03)
    middle = pick(look, ["fruit", "fruit", "dust", "candles", "bare", "cream"])
    if middle in ("fruit", "cream"):
        draw = pick(look, sweets.FRUITS)
        for x, y in scatter(rng, int(rng.integers(3, 16)), 0.2, 0.5) * np.float32(size):
            if middle == "fruit":
                draw(scene, cx + float(x), cy + float(y), size * 0.11)
            else:
                sweets.cream(scene, cx + float(x), cy + float(y), size * 0.13, tint)
    elif middle == "dust":
        sweets.dust(scene, cx, cy, size * 0.85, pick(look, [colour(250, 248, 244), colour(70, 40, 26)]), 0.75)
    elif middle == "candles":
        for x, y in scatter(rng, int(rng.integers(3, 9)), 0.25, 0.5) * np.float32(size):
            candle = scene.patch(cx + float(x), cy + float(y), size * 0.03)
            flame = np.exp(-3 * (candle.x**2 + candle.y**2))
            tint = mix(pick(rng, sweets.CONFETTI), colour(255, 236, 150), flame)
            scene.paint(candle, candle.inside(disc(candle.x, candle.y)), tint, 9.0 + 2 * flame, 0.3)
    scene.stencil = previous


def _wedge(scene: Scene, cx: float, cy: float, size: float, look: np.random.Generator) -> None:
    """A slice that stands: two cut faces with their layers, frosting on top and along its back."""
    rng = scene.rng
    turn, half_angle, tall = rng.uniform(0, 6.28), look.uniform(0.3, 0.5), look.uniform(0.42, 0.75)
    cx, cy = cx - 0.6 * size * math.cos(turn), cy - 0.6 * size * math.sin(turn)
    whole = 1.45 * size
    patch = scene.patch(cx, cy, whole, turn)
    cut = np.abs(patch.y) * math.cos(half_angle) - patch.x * math.sin(half_angle)
    _body(scene, patch, look, disc(patch.x, patch.y), cut, tall * 0.7)
    px, py = cx + 0.72 * whole * math.cos(turn), cy + 0.72 * whole * math.sin(turn)
    _topping(scene, px, py, whole * 0.13, look)


def _topping(scene: Scene, cx: float, cy: float, size: float, look: np.random.Generator) -> None:
    """A rosette, a fruit, both or neither."""
    kind = pick(look, ["cream", "fruit", "both", "bare"])
    if kind in ("cream", "both"):
        sweets.cream(scene, cx, cy, size, vary(look, pick(look, FROSTINGS), 0.03))
    if kind in ("fruit", "both"):
        pick(look, sweets.FRUITS)(scene, cx, cy, size * 0.7)


def _lying(scene: Scene, cx: float, cy: float, size: float, look: np.random.Generator) -> None:
    """A slice that lies on its side: layers of sponge and cream, frosting along top and back."""
    rng = scene.rng
    turn, half = rng.uniform(0, 6.28), look.uniform(0.36, 0.55)
    patch = scene.patch(cx, cy, size, turn, 1.2)
    x, y = patch.x, patch.y
    sd = box(x, y, 0.97, half, 0.06) + 0.03 * (patch.noise("clouds", 1.2) - 0.5)
    strata = _strata(patch, look, np.clip((y + half) / (2 * half - 0.1), 0, 1))
    frosting, relief, side = _top(scene, patch, look)
    crust = np.maximum(step(half - 0.13, half - 0.1, y + 0.02 * np.sin(x * 9)), step(0.85, 0.88, x))
    tint = mix(strata, frosting, crust)
    level = 0.1 + (0.25 + 0.12 * x + 0.04 * crust) * bulge(sd, 0.07) + 0.015 * patch.noise("mottle", 0.7, 1, 1)
    scene.paint(patch, patch.inside(sd), tint, None, 0.15 + 0.3 * crust, level)
    u, v = 0.55 * size, (half + 0.06) * size
    c, s = math.cos(turn), math.sin(turn)
    _topping(scene, cx + u * c - v * s, cy + u * s + v * c, size * 0.18, look)


def _square(scene: Scene, cx: float, cy: float, size: float, look: np.random.Generator, turn: float) -> None:
    """A square from a sheet, its layers showing on all sides."""
    patch = scene.patch(cx, cy, size, turn, 1.3)
    sd = box(patch.x, patch.y, 0.92, 0.92, 0.04)
    _body(scene, patch, look, np.full_like(sd, -9), sd, look.uniform(0.4, 0.8))
    _topping(scene, cx, cy, size * 0.35, look)

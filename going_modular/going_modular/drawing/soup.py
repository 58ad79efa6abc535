"""Soup: a bowl of cream, broth or noodles, with what swims in it."""

from __future__ import annotations

import math

import numpy as np

from . import bits, sides
from .scene import Patch, Scene
from .shapes import blob, box, bulge, colour, disc, layout, leaf, mix, pick, scatter, step, vary

CREAMS = [
    colour(*c) for c in [(206, 72, 30), (226, 140, 44), (140, 156, 70), (236, 218, 170), (170, 130, 90), (130, 36, 60)]
]
BROTHS = [colour(*c) for c in [(196, 140, 70), (150, 90, 40), (214, 176, 110), (176, 60, 30), (110, 70, 40)]]
BITS = [
    bits.carrot, bits.carrot, bits.white_cube, bits.white_cube, bits.pea, bits.leek, bits.cherry_tomato, bits.onion,
]  # fmt: skip


def soup(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """One bowl, or two or three of the same soup."""
    rng = scene.rng
    kind = pick(rng, ["cream", "cream", "broth", "broth", "noodles", "noodles"])
    rim, liquid = rng.uniform(0.07, 0.22), vary(rng, pick(rng, CREAMS if kind == "cream" else BROTHS), 0.04)
    spoon = rng.random() < 0.25
    for x, y, size in layout(rng, radius, [1, 1, 1, 1, 1, 1, 1, 2, 2, 3]):
        px, py = cx + x, cy + y
        size *= 0.98
        floor = rng.uniform(0.2, 0.42)
        bits.bowl(scene, px, py, size, floor, rim)
        patch = scene.patch(px, py, size * (1 - 1.05 * rim), rng.uniform(0, 6.28), 1.02)
        surface = disc(patch.x, patch.y)
        previous, scene.stencil = scene.stencil, np.zeros_like(scene.height)
        scene.stencil[patch.window] = patch.inside(surface)
        {"cream": _cream, "broth": _broth, "noodles": _noodles}[kind](scene, patch, px, py, liquid)
        scene.stencil = previous
        if spoon:
            turn = rng.uniform(0, 6.28)
            bits.spoon(scene, px + 0.45 * size * math.cos(turn), py + 0.45 * size * math.sin(turn), size * 0.52, turn)


def _fill(scene: Scene, patch: Patch, liquid: np.ndarray, gloss: float) -> None:
    """The surface of the soup: flat, a little paler at the rim, with drops of oil."""
    rng = scene.rng
    clouds, mottle = patch.noise("clouds", 1.5), patch.noise("mottle", 0.7, 1, 1)
    tint = liquid * (0.78 + 0.2 * clouds + 0.1 * mottle)
    tint = mix(tint, np.minimum(liquid * 1.3, 1), step(-0.1, 0.0, disc(patch.x, patch.y)) * 0.6)
    drops = step(0.75, 0.8, patch.noise("beads", rng.uniform(2.0, 4.0), 1, 2)) * step(0.5, 0.7, clouds)
    tint = mix(tint, np.minimum(liquid * 1.25 + 0.06, 1), rng.uniform(0, 0.8) * drops)
    scene.paint(patch, np.ones_like(patch.x), tint, 0.004 * mottle + 0.003 * drops, gloss)


def _cream(scene: Scene, patch: Patch, cx: float, cy: float, liquid: np.ndarray) -> None:
    """A thick soup with a swirl of cream or oil, croutons, seeds or herbs."""
    rng = scene.rng
    _fill(scene, patch, liquid, 0.55)
    top = pick(rng, ["swirl", "swirl", "drops", "heap", "bare"])
    swirl = vary(
        rng, pick(rng, [colour(250, 244, 228), colour(250, 244, 228), colour(90, 120, 40), liquid * 0.5]), 0.02
    )
    if top == "swirl":
        rho, angle = disc(patch.x, patch.y, 0.0), np.arctan2(patch.y, patch.x)
        phase = rho * rng.uniform(9, 18) - angle + 2.5 * patch.noise("swell", 2.0)
        line = step(0.5, 0.9, np.cos(phase)) * step(-rng.uniform(0.5, 0.85), -0.3, -rho)
        scene.paint(patch, line * step(0.25, 0.5, patch.noise("clouds", 1.0, 1, 3)), swirl, 0.012, 0.6)
    elif top == "drops":
        for x, y in scatter(rng, int(rng.integers(3, 14)), 0.2, 0.7) * patch.scale:
            sides.sauce_pool(scene, cx + float(x), cy + float(y), patch.scale * rng.uniform(0.04, 0.14), swirl)
    kinds = [pick(rng, [bits.crouton, bits.crouton, bits.pea, bits.leek, bits.white_cube]) for _ in range(2)]
    if top in ("heap", "drops") or rng.random() < 0.5:
        spread, size = rng.uniform(0.3, 0.75), patch.scale * rng.uniform(0.09, 0.15)
        for x, y in scatter(rng, int(rng.integers(4, 16)), 0.17, spread) * patch.scale:
            pick(rng, kinds)(scene, cx + float(x), cy + float(y), size)
    _herbs(scene, cx, cy, patch.scale)


def _broth(scene: Scene, patch: Patch, cx: float, cy: float, liquid: np.ndarray) -> None:
    """A clear soup with vegetables, cubes, dumplings and leaves, half sunk."""
    rng = scene.rng
    _fill(scene, patch, liquid, 0.9)
    size = patch.scale * rng.uniform(0.1, 0.17)
    kinds = [pick(rng, BITS) for _ in range(int(rng.integers(2, 5)))]
    if rng.random() < 0.35:
        dumpling = vary(rng, pick(rng, [colour(240, 226, 190), colour(130, 84, 56)]), 0.04)
        for x, y in scatter(rng, int(rng.integers(2, 7)), 0.4, 0.7) * patch.scale:
            bits.ball(scene, cx + float(x), cy + float(y), size * 1.3, dumpling, 0.4)
    for x, y in scatter(rng, int(rng.integers(12, 34)), 1.5 * size / patch.scale, 0.9) * patch.scale:
        pick(rng, kinds)(scene, cx + float(x), cy + float(y), size * rng.uniform(0.8, 1.2))
    _herbs(scene, cx, cy, patch.scale)


def _noodles(scene: Scene, patch: Patch, cx: float, cy: float, liquid: np.ndarray) -> None:
    """Strands of noodle in broth, under egg, meat, seaweed, leek or leaves."""
    rng = scene.rng
    _fill(scene, patch, liquid, 0.9)
    noodle = vary(rng, colour(242, 214, 140), 0.04)
    strands = rng.uniform(40, 75)
    for layer in range(3):
        bend, turn = patch.noise("swell", 2.2, 1, layer), rng.uniform(0, 6.28)
        along = patch.x * math.cos(turn) + patch.y * math.sin(turn) + 0.28 * bend
        wave = 0.5 + 0.5 * np.cos(along * strands)
        heap = blob(rng, patch.x - rng.normal(0, 0.25), patch.y - rng.normal(0, 0.25), 0.12) + rng.uniform(0.15, 0.45)
        mask = patch.inside(heap + 0.2 * (bend - 0.5)) * step(0.1, 0.35, wave)
        scene.paint(patch, mask, noodle * (0.5 + 0.5 * np.sqrt(wave)), 0.03 + 0.03 * wave, 0.5)
    tops = [_meat, bits.egg_half, bits.leek, _seaweed, bits.carrot, bits.pea]
    for _ in range(int(rng.integers(2, 5))):
        draw = pick(rng, tops)
        small = draw in (bits.leek, bits.pea, bits.carrot)
        size = patch.scale * (0.13 if small else rng.uniform(0.22, 0.32))
        count = int(rng.integers(6, 16)) if small else int(rng.integers(1, 4))
        x0, y0 = rng.normal(0, 0.3, 2)
        for x, y in scatter(rng, count, 0.14 if small else 0.35, 0.45):
            draw(scene, cx + float(x + x0) * patch.scale, cy + float(y + y0) * patch.scale, size)
    _herbs(scene, cx, cy, patch.scale)


def _meat(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A slice of roast meat with a band of fat."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size * 1.2, rng.uniform(0, 6.28), 1.2)
    sd = blob(rng, patch.x, patch.y * 1.25, 0.08) + 0.05 * (patch.noise("clouds", 1.5) - 0.5)
    fat = np.exp(-(((patch.noise("clouds", 1.4, 1, 1) - 0.5) / 0.05) ** 2))
    tint = mix(vary(rng, colour(186, 120, 90), 0.04), colour(240, 216, 190), 0.8 * fat)
    tint = mix(tint * (0.8 + 0.25 * patch.noise("fibres", 1.0)), colour(96, 52, 30), step(-0.12, 0, sd))
    scene.paint(patch, patch.inside(sd), tint, 0.1 * bulge(sd, 0.1), 0.5)


def _seaweed(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A sheet of seaweed, or a dark leaf of cabbage."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size * 1.3, rng.uniform(0, 6.28), 1.4)
    sd = box(patch.x, patch.y, 0.9, 0.6, 0.03) if rng.random() < 0.5 else leaf(patch.x, patch.y, 0.55)
    tint = pick(rng, [colour(26, 36, 28), colour(50, 84, 36)]) * (0.7 + 0.6 * patch.noise("mottle", 0.8))
    scene.paint(patch, patch.inside(sd), tint, 0.08 + 0.1 * patch.noise("clouds", 1.5), 0.3)


def _herbs(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A sprig in the middle, or chopped leaves all over."""
    rng = scene.rng
    chance = rng.random()
    if chance < 0.3:
        sides.flecks(scene, cx, cy, radius * 0.8, int(rng.integers(15, 50)), radius * 0.025, pick(rng, sides.GREENS))
    elif chance < 0.5:
        start, tint = rng.uniform(0, 6.28), vary(rng, pick(rng, sides.GREENS[:3]), 0.04)
        for number in range(int(rng.integers(2, 5))):
            angle = start + 1.9 * number
            px, py = cx + 0.12 * radius * math.cos(angle), cy + 0.12 * radius * math.sin(angle)
            sides.leaf_at(scene, px, py, radius * 0.18, angle, tint)

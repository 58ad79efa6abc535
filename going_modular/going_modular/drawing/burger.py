"""Burgers: layers between the halves of a bun, closed, open, or cut in two and laid on their backs."""

from __future__ import annotations

import math

import numpy as np

from . import bits, sides
from .scene import Patch, Scene
from .shapes import blob, box, bulge, colour, disc, layout, mix, pick, scatter, step, vary

BUNS = [
    colour(*c) for c in [(206, 134, 62), (206, 134, 62), (186, 106, 44), (222, 164, 92), (150, 84, 36), (52, 44, 44)]
]
GREEN = colour(110, 160, 50)


def burger(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """One to four burgers of one sort."""
    rng = scene.rng
    look = int(rng.integers(1 << 30))
    kind = pick(rng, ["closed", "closed", "closed", "open", "cut"])
    counts = [1, 1, 1, 1, 1, 2, 2, 3, 4] if kind == "closed" else [1, 2] if kind == "cut" else [1]
    for x, y, size in layout(rng, radius, counts):
        sort = np.random.default_rng(look)
        if kind == "cut":
            _cut(scene, cx + x, cy + y, size * 0.92, sort)
        else:
            _stack(scene, cx + x, cy + y, size * 0.92, sort, kind == "open")


def _crust(patch: Patch, bun: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """Colour of a bun's crust: brown on top, paler towards the rim."""
    clouds, mottle = patch.noise("clouds", 1.6), patch.noise("mottle", 0.9, 1, 1)
    tint = mix(bun * (0.85 + 0.25 * clouds), np.minimum(bun * 1.45, 1), 0.8 * step(0.7, 1.0, rho + 0.1 * clouds))
    return tint * (0.92 + 0.12 * mottle)


def _meat(patch: Patch, look: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Colour and relief of a patty: coarse brown crumbs, or a breaded golden crust."""
    crumbs, mottle = patch.noise("crumbs", 1.6, 1, 2), patch.noise("mottle", 0.9, 1, 3)
    tint = vary(look, pick(look, [colour(104, 60, 38), colour(84, 48, 32), colour(204, 140, 66)]), 0.03)
    return tint * (0.45 + 0.6 * crumbs + 0.25 * mottle), 0.05 * crumbs


def _stack(scene: Scene, cx: float, cy: float, size: float, look: np.random.Generator, is_open: bool) -> None:
    """A burger that stands: each layer reaches a little beyond the next one up, so that all can be seen."""
    rng = scene.rng
    turn = rng.uniform(0, 6.28)
    if is_open:  # the lid lies beside it, so both are smaller and off the middle
        size *= 0.62
        cx, cy = cx - 0.6 * size * math.cos(turn), cy - 0.6 * size * math.sin(turn)
    bun, ground = vary(look, pick(look, BUNS), 0.03), scene.base_height(cx, cy) / size
    patch = scene.patch(cx, cy, size, rng.uniform(0, 6.28), 1.25)
    rho = disc(patch.x, patch.y, 0.0)
    height = ground + 0.24
    scene.paint(patch, patch.inside(rho - 1.0), _crust(patch, bun, rho * 0.8 + 0.3), None, 0.2,
                height * bulge(rho - 1.0, 0.12))  # fmt: skip
    if look.random() < 0.8:
        height += 0.08
        _frill(scene, patch, rho, height)
    for _ in range(pick(look, [1, 1, 1, 2])):
        height = _layers(scene, patch, cx, cy, look, height)
    if is_open:
        for x, y in scatter(rng, 5, 0.5, 0.5):
            draw = pick(look, [bits.tomato, bits.cucumber, bits.onion])
            draw(scene, cx + float(x) * size, cy + float(y) * size, size * rng.uniform(0.28, 0.45))
        _lid(scene, cx + 1.35 * size * math.cos(turn), cy + 1.35 * size * math.sin(turn), size * 0.88, look, bun, 0.05)
    else:
        px, py = cx + rng.normal(0, 0.04) * size, cy + rng.normal(0, 0.04) * size
        _lid(scene, px, py, size * look.uniform(0.8, 0.88), look, bun, height / 0.84)


def _frill(scene: Scene, patch: Patch, rho: np.ndarray, height: float) -> None:
    """A leaf of lettuce whose frilled edge sticks out."""
    rng = scene.rng
    folds = patch.noise("clouds", 0.9)
    frill = np.sin(np.arctan2(patch.y, patch.x) * int(rng.integers(14, 24)) + 7 * folds)
    sd = rho - 0.97 - 0.035 * frill - 0.06 * (folds - 0.5)
    tint = vary(rng, GREEN, 0.06) * (0.6 + 0.6 * folds) * (1 + 0.2 * frill)
    scene.paint(patch, patch.inside(sd), tint, None, 0.3, height + 0.04 * frill + 0.06 * (folds - 0.5))


def _layers(scene: Scene, patch: Patch, cx: float, cy: float, look: np.random.Generator, height: float) -> float:
    """A patty, a slice of cheese that hangs down, slices of tomato or pickle; returns the height reached."""
    rng, size = scene.rng, patch.scale
    sd = 0.93 * blob(rng, patch.x / 0.93, patch.y / 0.93, 0.015, 7)
    tint, relief = _meat(patch, look)
    height += 0.17
    scene.paint(patch, patch.inside(sd), tint, None, 0.35, height - 0.1 * (1 - bulge(sd, 0.1)) + relief)
    if look.random() < 0.75:
        turn = rng.uniform(0, 1.57)
        c, s = math.cos(turn), math.sin(turn)
        sheet = box(patch.x * c + patch.y * s, patch.y * c - patch.x * s, 0.74, 0.74, 0.06)
        hang = np.clip(disc(patch.x, patch.y, 0.86), 0, 1)
        height += 0.04
        cheese = vary(look, pick(look, bits.CHEESES), 0.03) * (0.95 + 0.08 * patch.noise("clouds", 2.0))
        scene.paint(patch, patch.inside(sheet), cheese, None, 0.5, height + 0.03 - 1.3 * hang)
    if look.random() < 0.6:
        draw = pick(look, [bits.tomato, bits.tomato, bits.cucumber, bits.onion])
        start = rng.uniform(0, 6.28)
        for number in range(3):
            angle = start + 2.1 * number
            draw(scene, cx + 0.46 * size * math.cos(angle), cy + 0.46 * size * math.sin(angle), size * 0.46)
        height += 0.06
    return height


def _lid(
    scene: Scene, cx: float, cy: float, size: float, look: np.random.Generator, bun: np.ndarray, ground: float
) -> None:
    """The domed top of a bun, bare or with sesame; `ground` is the height it lies on, in its own radii."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size, rng.uniform(0, 6.28))
    rho = 1 + blob(rng, patch.x, patch.y, 0.02)
    dome = np.sqrt(np.clip(1 - rho * rho, 0, 1))
    level = ground + 0.03 + look.uniform(0.42, 0.62) * dome + 0.012 * patch.noise("clouds", 1.2, 1, 2)
    scene.paint(patch, patch.inside(rho - 1), _crust(patch, bun, rho), None, look.uniform(0.3, 0.8), level)
    if look.random() < 0.65:
        tint = pick(look, [colour(246, 228, 180), colour(246, 228, 180), colour(40, 34, 32)])
        for x, y in scatter(rng, int(look.integers(18, 46)), 0.12, 0.72) * np.float32(size):
            seed = scene.patch(cx + float(x), cy + float(y), size * 0.055, rng.uniform(0, 6.28))
            sd = disc(seed.x, seed.y * (1.6 + 0.5 * seed.x), 0.9)
            scene.paint(seed, seed.inside(sd), vary(rng, tint, 0.03), 0.4 * bulge(sd, 0.5), 0.4)


def _cut(scene: Scene, cx: float, cy: float, size: float, look: np.random.Generator) -> None:
    """Half a burger with its cut face up: crumb, leaf, meat, cheese, tomato, crumb."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size, rng.normal(0, 0.5), 1.25)
    wave = 0.08 * (patch.noise("swell", 2.5) - 0.5)
    x, y = patch.x, patch.y + wave
    bun, mottle, fine = vary(look, pick(look, BUNS), 0.03), patch.noise("mottle", 1.2), patch.noise("mottle", 0.4, 1, 1)
    crumb = vary(look, colour(250, 226, 176), 0.02) * (0.76 + 0.26 * fine)
    top = np.maximum(0.8 * disc(x / 0.98, np.maximum(y - 0.12, 0) / 0.72), 0.12 - y)
    low = box(x, y + 0.6, 0.95, 0.19, 0.16)
    for sd in (low, top):
        outside = step(-0.1, -0.06, sd + 0.02 * (mottle - 0.5)) * step(0.32, 0.36, np.abs(y + 0.16))
        tint = mix(crumb, bun * (0.8 + 0.3 * mottle), outside)
        scene.paint(patch, patch.inside(sd), tint, None, 0.15, 0.5 * bulge(sd, 0.08) + 0.02 * fine)
    meat, relief = _meat(patch, look)
    layers = [(meat, 0.17, 0.96, 0.06 + relief)]
    for _ in range(int(look.integers(1, 4))):
        tint = pick(look, [GREEN, bits.TOMATO, pick(look, bits.CHEESES), bits.ONION, colour(150, 170, 80)])
        layers.append((vary(look, tint, 0.04) * (0.8 + 0.3 * mottle), look.uniform(0.05, 0.09), 1.0, 0.04))
    look.shuffle(layers)
    room = sum(layer[1] for layer in layers)
    place = -0.44
    for tint, half, reach, rise in layers:
        half = half * 0.29 / room
        edge = y - place - half + 0.05 * (patch.noise("clouds", 0.9, 1, int(rng.integers(4))) - 0.5)
        sd = box(x + rng.normal(0, 0.03), edge, reach, half * 1.25, half)
        scene.paint(patch, patch.inside(sd), tint, None, 0.4, 0.45 + rise + 0.06 * bulge(sd, half))
        place += 2 * half
    if look.random() < 0.3:
        sides.drizzle(scene, cx, cy, size * 0.5, rng.uniform(0, 6.28), vary(rng, pick(rng, sides.SAUCE_TINTS), 0.04))

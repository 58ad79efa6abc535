"""Ice cream: scoops in cones, in bowls or on the plate, with sauce, fruit, wafers and sprinkles."""

from __future__ import annotations

import math

import numpy as np

from . import bits, sides, sweets
from .scene import Scene
from .shapes import blob, box, bulge, colour, mix, pick, scatter, step, vary

FLAVOURS = [
    colour(*c)
    for c in [
        (250, 236, 196), (250, 244, 230), (96, 58, 40), (240, 170, 180), (180, 220, 190), (190, 200, 120),
        (246, 176, 80), (150, 110, 160), (206, 150, 96), (214, 60, 80), (60, 44, 40), (150, 200, 224),
    ]
]  # fmt: skip


def ice_cream(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """One to three cones that lie, or one to six scoops."""
    rng = scene.rng
    flavours = [int(rng.integers(1 << 30)) for _ in range(int(rng.integers(1, 4)))]
    kind = pick(rng, ["cone", "cone", "cone", "bowl", "bowl", "plate"])
    if kind == "cone":
        count, turn = pick(rng, [1, 1, 1, 2, 2, 3]), rng.uniform(0, 6.28)
        fan, size = rng.uniform(0.0, 0.3), radius * (1.0, 0.92, 0.82)[count - 1]
        for number in range(count):
            away = (number - (count - 1) / 2) * 0.78 * size
            px, py = cx - away * math.sin(turn), cy + away * math.cos(turn)
            flip = math.pi if count > 1 and fan < 0.08 and number % 2 else 0.0
            _cone(scene, px, py, size, turn + flip + fan * (number - (count - 1) / 2), flavours)
        return
    reach, count = radius * 0.95, int(rng.integers(1, 6))
    if kind == "bowl":
        bits.bowl(scene, cx, cy, radius * 0.97, rng.uniform(0.25, 0.5), rng.uniform(0.07, 0.14))
        reach, count = radius * 0.74, int(rng.integers(2, 6))
    size = reach * {1: 0.75, 2: 0.52, 3: 0.5, 4: 0.44, 5: 0.4}[count]
    start = rng.uniform(0, 6.28)
    ring = [(math.cos(start + 6.28 * n / count), math.sin(start + 6.28 * n / count)) for n in range(count)]
    away = 0.0 if count == 1 else reach - size
    for x, y in sorted(ring, key=lambda place: -place[1]):
        _scoop(scene, cx + x * away, cy + y * away, size, pick(rng, flavours))
    _finish(scene, cx, cy, reach)


def _scoop(scene: Scene, cx: float, cy: float, size: float, flavour: int, ground: float | None = None) -> None:
    """A scraped ball with a ragged lip around its foot; chips, ripples or crumbs in it."""
    rng, look = scene.rng, np.random.default_rng(flavour)
    patch = scene.patch(cx, cy, size, rng.uniform(0, 6.28), 1.3)
    clouds, mottle, fine = (
        patch.noise("clouds", 1.3),
        patch.noise("mottle", 1.2, 1, 1),
        patch.noise("mottle", 0.4, 1, 2),
    )
    scrape = patch.noise("fibres", 1.6, 1, 3)
    rho = 1 + blob(rng, patch.x, patch.y, 0.035)
    foot = rho - 1.0 - 0.22 * (clouds - 0.45) - 0.08 * (mottle - 0.5)
    dome = np.sqrt(np.clip(1 - (rho / 0.94) ** 2, 0, 1))
    tint = vary(look, pick(look, FLAVOURS), 0.03)
    shade = tint * (0.8 + 0.16 * mottle + 0.1 * scrape + 0.05 * fine)
    extra = pick(look, ["plain", "plain", "chips", "ripple", "specks"])
    if extra == "chips":
        chips = step(0.72, 0.78, patch.noise("crumbs", look.uniform(2.4, 4.0), 1, 2))
        shade = mix(shade, pick(look, [colour(50, 28, 20), colour(50, 28, 20), colour(170, 110, 60)]), chips)
    elif extra == "ripple":
        ripple = np.exp(-(((clouds - 0.5) / 0.05) ** 2))
        shade = mix(shade, pick(look, sweets.SYRUPS), 0.85 * ripple)
    elif extra == "specks":
        shade = mix(shade, colour(60, 40, 30), 0.7 * step(0.93, 0.97, patch.noise("grain", 1.5)))
    base = scene.base_height(cx, cy) / size if ground is None else ground
    rough = 0.1 * clouds + 0.07 * mottle + 0.05 * scrape + 0.02 * fine
    level = base + 0.16 * bulge(foot, 0.12) + 0.76 * dome + rough
    scene.paint(patch, patch.inside(foot), shade, None, 0.3, level)


def _cone(scene: Scene, cx: float, cy: float, size: float, turn: float, flavours: list[int]) -> None:
    """A wafer cone that lies on its side, with one to three scoops at its mouth."""
    rng = scene.rng
    c, s = math.cos(turn), math.sin(turn)
    count = pick(rng, [1, 1, 2, 2, 3])
    ball = size * (0.44, 0.36, 0.31)[count - 1]
    mouth = size * (0.3, 0.12, -0.05)[count - 1]
    half = (mouth + size) / 2  # the cone reaches from -size to mouth, along the axis
    patch = scene.patch(cx + (mouth - half) * c, cy + (mouth - half) * s, half, turn, 1.2)
    x, y = patch.x, patch.y
    wide = ball * 0.9 / half * np.clip((x + 1.06) / 2.06, 0.03, 1)
    lip = 0.04 * np.cos(y * 5)
    sd = np.maximum(np.abs(y) - wide, x - 1 - lip)
    pitch = rng.uniform(9, 15)
    lattice = np.maximum(np.cos((x + y * 1.3) * pitch), np.cos((x - y * 1.3) * pitch))
    ridge = step(0.75, 0.97, lattice)
    mottle = patch.noise("mottle", 1.0)
    tint = vary(rng, colour(214, 150, 78), 0.04) * (0.68 + 0.2 * mottle + 0.25 * ridge)
    tint = mix(tint, tint * 0.7, step(0.0, 0.05, np.abs(y - 0.35 * wide) * -1 + 0.02))
    roof = np.sqrt(np.clip(1 - (y / wide) ** 2, 0, 1)) * wide
    scene.paint(patch, patch.inside(sd), tint, None, 0.2, 0.06 + 1.3 * roof + 0.03 * ridge)
    place = mouth + 0.55 * ball
    for _ in range(count):
        _scoop(scene, cx + place * c, cy + place * s, ball, pick(rng, flavours), 0.12)
        place += 1.25 * ball
    place -= 1.25 * ball
    _finish(scene, cx + place * c, cy + place * s, ball * 0.9, 0.6)


def _finish(scene: Scene, cx: float, cy: float, reach: float, chance: float = 0.85) -> None:
    """Sauce, sprinkles, a cherry, berries, a wafer or a leaf of mint on top."""
    rng = scene.rng
    if rng.random() > chance:
        return
    if rng.random() < 0.4:
        sweets.syrup(scene, cx, cy, reach * rng.uniform(0.5, 0.8), vary(rng, pick(rng, sweets.SYRUPS), 0.03))
    top = pick(rng, ["sprinkles", "sprinkles", "fruit", "fruit", "wafer", "mint", "cream"])
    if top == "sprinkles":
        sweets.sprinkles(scene, cx, cy, 0.0, reach * 0.85, 36, reach * 0.05)
    elif top == "fruit":
        draw = pick(rng, sweets.FRUITS)
        for x, y in scatter(rng, int(rng.integers(1, 6)), 0.4, 0.5) * reach:
            draw(scene, cx + float(x), cy + float(y), reach * 0.22)
    elif top == "wafer":
        patch = scene.patch(cx + 0.3 * reach, cy + 0.3 * reach, reach * 0.6, rng.uniform(0, 6.28), 1.1)
        grid = np.maximum(np.cos(patch.x * 24), np.cos(patch.y * 24))
        sd = box(patch.x, patch.y, 1.0, 0.3, 0.03)
        level = scene.base_height(cx, cy) / patch.scale + 0.25 + 0.4 * patch.x + 0.03 * grid
        scene.paint(patch, patch.inside(sd), colour(220, 166, 96) * (0.8 + 0.2 * grid), None, 0.1, level)
    elif top == "mint":
        for shift in (0.0, 1.4, 2.8):
            sides.leaf_at(scene, cx, cy, reach * 0.3, shift + rng.normal(0, 0.3), vary(rng, colour(70, 130, 50), 0.04))
    else:
        sweets.cream(scene, cx, cy, reach * 0.45, colour(250, 246, 236))
        sweets.cherry(scene, cx, cy, reach * 0.2)

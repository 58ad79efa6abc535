"""Fries: thin, thick, crinkled or wedges, in a heap, a bowl or a carton."""

from __future__ import annotations

import math

import numpy as np

from . import bits, sides
from .scene import Scene
from .shapes import box, bulge, colour, leaf, mix, pick, step, vary
from .tableware import TABLE_TINTS

POTATOES = [colour(*c) for c in [(240, 196, 96), (228, 172, 74), (246, 214, 130), (206, 130, 56)]]


def fries(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """Twenty to sixty sticks, all of one cut."""
    rng = scene.rng
    look, tint = int(rng.integers(1 << 30)), vary(rng, pick(rng, POTATOES), 0.04)
    kind = pick(rng, ["heap", "heap", "bowl", "carton"])
    thick = pick(rng, [0.042, 0.055, 0.055, 0.075])
    length = rng.uniform(0.3, 0.48)
    if kind == "carton":
        _carton(scene, cx, cy, radius, look, tint, thick)
        return
    reach = radius
    if kind == "bowl":
        bits.bowl(scene, cx, cy, radius, 0.22, rng.uniform(0.06, 0.12))
        reach = radius * 0.95
    main, spread = rng.uniform(0, 3.14), pick(rng, [0.35, 0.9, 1.6])
    limit = 0.92 - 0.6 * length
    count = min(62, int(3.2 / thick))
    for number in range(count):
        away, angle = limit * math.sqrt(rng.random()) * (1 - 0.35 * number / count), rng.uniform(0, 6.28)
        px, py = cx + away * reach * math.cos(angle), cy + away * reach * math.sin(angle)
        _fry(
            scene,
            px,
            py,
            reach * length * rng.uniform(0.6, 1.15),
            reach * thick,
            main + rng.normal(0, spread),
            look,
            tint,
        )
    if rng.random() < 0.35:
        sauce = vary(rng, pick(rng, [colour(170, 24, 16), colour(170, 24, 16), colour(246, 236, 206)]), 0.03)
        sides.sauce_pool(scene, cx + rng.normal(0, 0.3) * reach, cy + rng.normal(0, 0.3) * reach, reach * 0.26, sauce)
    if rng.random() < 0.4:
        sides.flecks(scene, cx, cy, reach * 0.8, 40, radius * 0.012, pick(rng, [colour(250, 248, 244), *sides.GREENS]))


def _fry(
    scene: Scene, cx: float, cy: float, length: float, width: float, angle: float, look_seed: int, tint: np.ndarray
) -> None:
    """A stick of potato with flat sides and browned ends: straight, crinkled, or a wedge with its skin."""
    rng = scene.rng
    cut = pick(np.random.default_rng(look_seed), ["straight", "straight", "straight", "crinkle", "wedge"])
    patch = scene.patch(cx, cy, length, angle, 1.12)
    ratio = width / length
    x, y = patch.x, patch.y + rng.normal(0, 0.06) * patch.x * patch.x
    mottle = patch.noise("mottle", 1.4)
    ridge = np.sin(x * (1.6 / ratio))
    if cut == "wedge":
        ratio = min(2.6 * ratio, 0.4)
        sd = leaf(x, y, ratio)
    elif cut == "crinkle":
        ratio *= 1.2
        sd = box(x, y + 0.22 * ratio * ridge, 1.0, ratio, ratio * 0.3)
    else:
        sd = box(x, y, 1.0, ratio, ratio * 0.35)
    shade = vary(rng, tint, 0.04) * (0.8 + 0.3 * mottle)
    brown = np.clip(rng.uniform(-0.4, 0.6) + step(0.75, 1.0, np.abs(x)) + 0.5 * (mottle - 0.5), 0, 1)
    shade = mix(shade, colour(166, 96, 36), 0.7 * brown)
    if cut == "crinkle":
        shade = shade * (0.88 + 0.14 * ridge)
    elif cut == "wedge":
        shade = mix(shade, colour(130, 84, 44), step(0.3, 0.55, y / ratio + 0.25 * (mottle - 0.5)))
    lean = rng.normal(0, 0.1) * x
    level = 0.7 * scene.base_height(cx, cy) / length + (1.5 * ratio + lean) * bulge(sd, ratio * 0.5) + 0.01 * mottle
    scene.paint(patch, patch.inside(sd), shade, None, 0.15, np.maximum(level, 0.05))


def _carton(scene: Scene, cx: float, cy: float, radius: float, look: int, tint: np.ndarray, thick: float) -> None:
    """A paper carton that lies on its back, with fries that stick out of its mouth."""
    rng = scene.rng
    turn = rng.uniform(0, 6.28)
    c, s = math.cos(turn), math.sin(turn)
    for _ in range(int(2.0 / thick)):
        u, v = rng.uniform(-0.15, 0.62), rng.normal(0, 0.26)
        px, py = cx + (u * c - v * s) * radius, cy + (u * s + v * c) * radius
        _fry(
            scene,
            px,
            py,
            radius * rng.uniform(0.25, 0.42),
            radius * thick,
            turn + 0.8 * v + rng.normal(0, 0.15),
            look,
            tint,
        )
    patch = scene.patch(cx - 0.4 * radius * c, cy - 0.4 * radius * s, radius * 0.62, turn, 1.3)
    mouth = patch.x - 0.75 + rng.uniform(0.15, 0.5) * np.cos(np.clip(patch.y * 2.2, -3, 3))
    sd = np.maximum(np.maximum(np.abs(patch.y) - 0.62 - 0.2 * patch.x, mouth), -patch.x - 0.95)
    paper, print_ = vary(rng, pick(rng, TABLE_TINTS), 0.05), vary(rng, pick(rng, TABLE_TINTS), 0.05)
    pattern = pick(rng, ["plain", "stripes", "disc"])
    marks = np.zeros_like(patch.x)
    if pattern == "stripes":
        marks = step(-0.1, 0.1, np.sin(patch.y * rng.uniform(10, 24)))
    elif pattern == "disc":
        marks = patch.inside(np.hypot(patch.x + 0.2, patch.y) - 0.32)
    sheet = mix(paper, print_, marks) * (0.88 + 0.14 * patch.noise("clouds", 1.5))
    level = 0.5 + 0.12 * np.cos(np.clip(patch.y * 1.8, -3, 3)) + 0.03 * patch.noise("clouds", 1.2, 1, 1)
    scene.paint(patch, patch.inside(sd), sheet, None, 0.3, level * bulge(sd, 0.05))

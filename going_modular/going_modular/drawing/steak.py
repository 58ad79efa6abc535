"""Steak: whole, carved or sliced, with its crust, fat, juice and pink faces."""

from __future__ import annotations

import math

import numpy as np

from . import sides
from .pizza import mushroom
from .scene import Patch, Scene
from .shapes import blob, box, bulge, colour, mix, pick, scatter, step, vary


def steak(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A steak: whole, carved at one end, or fanned out in slices; with or without bone, sauce, butter."""
    rng = scene.rng
    turn = rng.uniform(0, 6.28)
    if rng.random() < 0.3:
        tint = vary(rng, pick(rng, sides.SAUCE_TINTS), 0.04)
        sides.sauce_pool(scene, cx, cy, radius * rng.uniform(0.65, 0.95), tint)
    cooked = rng.uniform(0, 0.8)
    kind = rng.choice(["whole", "carved", "fan"], p=[0.42, 0.28, 0.3])
    along = np.array([np.cos(turn), np.sin(turn)])
    if kind == "whole":
        pieces = 2 if rng.random() < 0.12 else 1
        for number in range(pieces):
            shift = np.array([-along[1], along[0]]) * radius * 0.55 * (number - (pieces - 1) / 2) * 1.3
            _whole_steak(scene, cx + shift[0], cy + shift[1], radius / pieces**0.5, turn)
    elif kind == "carved":
        px, py = np.array([cx, cy]) - along * radius * 0.35
        _whole_steak(scene, px, py, radius * 0.68, turn + rng.normal(0, 0.1))
        _steak_slices(
            scene,
            cx + along[0] * radius * 0.55,
            cy + along[1] * radius * 0.55,
            radius * 0.6,
            turn,
            cooked,
            int(rng.integers(2, 5)),
        )
    else:
        _steak_slices(scene, cx, cy, radius, turn, cooked, int(rng.integers(4, 9)))
    _steak_finish(scene, cx, cy, radius)


def _sear(scene: Scene, patch: Patch, tone: float) -> np.ndarray:
    """Colour of seared meat: brown, mottled, with fibres; `tone` 0 is pale, 1 nearly black."""
    rng = scene.rng
    clouds, mottle, fine = (
        patch.noise("clouds", 0.9),
        patch.noise("mottle", 0.9, 1, 1),
        patch.noise("mottle", 0.35, 1, 2),
    )
    pale, deep = vary(rng, colour(196, 122, 80), 0.05), vary(rng, colour(80, 44, 28), 0.03)
    return mix(pale, deep, np.clip(tone + 0.45 * (clouds - 0.5) + 0.6 * (mottle - 0.5) + 0.3 * (fine - 0.5), 0, 1))


def _steak_outline(rng: np.random.Generator, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Distance to the outline of a cut: rib-eye, strip, fillet or triangle."""
    cut = rng.choice(["ribeye", "strip", "fillet", "triangle"], p=[0.35, 0.3, 0.2, 0.15])
    if cut == "fillet":
        return 0.75 * blob(rng, x / 0.75, y / rng.uniform(0.62, 0.72), 0.06)
    if cut == "strip":
        bend = y + rng.uniform(-0.25, 0.25) * x * x
        return box(x, bend - 0.08 * x, 1.0, rng.uniform(0.38, 0.5), 0.36) + 0.02 * np.sin(x * 6)
    if cut == "triangle":
        return box(x, y / (0.75 - 0.35 * x), 0.98, 0.75, 0.5) * 0.8
    return 0.8 * blob(rng, x, y / rng.uniform(0.62, 0.8), 0.14, 4)


def _whole_steak(scene: Scene, cx: float, cy: float, radius: float, turn: float) -> None:
    """A thick piece of meat: crust, grill marks, fat on one side, seams of fat, juice, perhaps a bone."""
    rng = scene.rng
    patch = scene.patch(cx, cy, radius, turn, 1.35)
    x, y = patch.x, patch.y
    clouds, mottle = patch.noise("clouds", 0.7), patch.noise("mottle", 0.8, 1, 1)
    fibres, fine = patch.noise("fibres", 0.9), patch.noise("mottle", 0.3, 1, 2)
    sd = _steak_outline(rng, x, y) + 0.05 * (clouds - 0.5)
    if rng.random() < 0.22:
        bone = (
            box(x + rng.uniform(0.75, 0.95), y - rng.uniform(-0.2, 0.2), rng.uniform(0.25, 0.4), 0.1, 0.08)
            - 0.02 * mottle
        )
        scene.paint(
            patch, patch.inside(bone), colour(232, 212, 180) * (0.7 + 0.35 * mottle), 0.17 * bulge(bone, 0.08), 0.3
        )
    tint = _sear(scene, patch, rng.uniform(0.25, 1.0)) * (0.8 + 0.4 * fibres)
    rind = step(-0.14, -0.02, sd + 0.06 * (mottle - 0.5))  # the side of the cut, paler than the seared face
    tint = mix(tint, vary(rng, colour(128, 74, 58), 0.04) * (0.7 + 0.5 * fibres), rng.uniform(0.2, 0.8) * rind)

    muscle = patch.noise("swell", rng.uniform(1.8, 3.0), 1, 3)  # seams between muscles: creased, with fat in them
    crease = np.exp(-(((muscle - rng.uniform(0.35, 0.65)) / 0.02) ** 2))
    marbling = np.exp(-(((clouds - 0.5) / 0.02) ** 2)) * (fine > 0.3)
    fat = mix(vary(rng, colour(230, 186, 120), 0.04), colour(140, 80, 36), np.clip(mottle * 1.3 - 0.2, 0, 1))
    tint = mix(tint, fat, np.clip(rng.uniform(0, 0.9) * crease + rng.uniform(0, 0.7) * marbling, 0, 1))
    cap = step(0.1, 0.4, (y + rng.uniform(-0.5, 0.5) * x) * float(rng.choice([-1, 1])))
    cap = cap * step(-rng.uniform(0.07, 0.14), -0.02, sd + 0.06 * (mottle - 0.5))
    tint = mix(tint, fat, cap * float(rng.choice([0, 0.85])))

    rise = rng.uniform(0.13, 0.24) * bulge(sd, rng.uniform(0.2, 0.4)) * (0.85 + 0.3 * patch.noise("swell", 1.6, 1, 2))
    rise = rise + (0.012 * mottle + 0.012 * clouds + 0.008 * fibres - 0.015 * crease) * bulge(sd, 0.1)
    marks = np.zeros_like(x)
    if rng.random() < 0.72:
        marks = _grill_marks(scene, patch, mottle)
        tint = mix(tint, colour(30, 17, 12), marks * rng.uniform(0.65, 0.95))
    juice = step(0.35, 0.85, patch.noise("clouds", 0.6, 1, 3)) * rng.uniform(0.1, 0.5)
    scene.paint(patch, patch.inside(sd), tint, rise - 0.014 * marks, juice * (1 - 0.6 * marks))


def _grill_marks(scene: Scene, patch: Patch, mottle: np.ndarray) -> np.ndarray:
    """Dark stripes, or a lattice of them, where the meat lay on the bars; 0 to 1."""
    rng = scene.rng
    angle, spacing = rng.uniform(0, 3.14), rng.uniform(0.17, 0.3)
    marks = np.zeros_like(patch.x)
    for turn in (angle, angle + rng.uniform(0.9, 1.57))[: int(rng.integers(1, 3))]:
        across = (patch.x * math.sin(turn) - patch.y * math.cos(turn)) / spacing
        bar = np.abs(across - np.round(across))
        marks = np.maximum(marks, step(0.0, 0.14, 0.24 - bar + 0.22 * (mottle - 0.5)) * step(0.08, 0.4, mottle))
    return marks


def _steak_slices(scene: Scene, cx: float, cy: float, radius: float, turn: float, cooked: float, count: int) -> None:
    """Slices that lean on one another and show their pink faces; `cooked` 0 is rare, 1 is well done."""
    rng = scene.rng
    spacing = 2 * radius / (count + 0.7) * rng.uniform(0.85, 1.0)
    length = rng.uniform(0.45, 0.75) * max(radius, spacing * 1.4)
    thick = spacing * rng.uniform(0.62, 0.8)
    tone = rng.uniform(0.4, 0.9)
    raw = mix(
        vary(rng, colour(176, 40, 44), 0.04), vary(rng, colour(164, 112, 88), 0.04), step(0.25, 1.0, np.float32(cooked))
    )
    pink = mix(
        vary(rng, colour(214, 100, 92), 0.04), vary(rng, colour(156, 110, 84), 0.04), step(0.5, 1.0, np.float32(cooked))
    )
    grey = vary(rng, colour(142, 98, 72), 0.03)
    bend, wave = rng.normal(0, 0.12), rng.uniform(0, 6.28)
    for number in range(count):
        offset = (number - (count - 1) / 2) * spacing
        px = cx + offset * np.cos(turn) - bend * offset * number * np.sin(turn) * 0.3
        py = cy + offset * np.sin(turn) + bend * offset * number * np.cos(turn) * 0.3
        patch = scene.patch(
            px, py, length, turn + np.pi / 2 + rng.normal(0, 0.07) + bend * (number - count / 2) * 0.3, 1.25
        )
        ratio = thick / length * rng.uniform(0.9, 1.1)
        taper = 1 - 0.25 * math.sin(wave) * patch.x
        mottle, fibres = patch.noise("mottle", 1.0), patch.noise("fibres", 0.9, 1, 1)
        sd = box(patch.x, patch.y / taper, 1.0, ratio, ratio * 0.75) + 0.05 * (patch.noise("clouds", 1.2, 1, 2) - 0.5)
        inner = np.clip(sd * (-1 / ratio) + 0.14 * (mottle - 0.5), 0, 1)
        face = mix(mix(grey, pink, step(0.12, 0.4, inner)), raw, step(0.4, 0.85, inner))
        face = face * (0.8 + 0.3 * fibres + 0.08 * mottle)
        face = mix(
            face, colour(236, 200, 170), 0.55 * np.exp(-(((patch.noise("clouds", 0.9, 1, 3) - 0.5) / 0.02) ** 2))
        )
        tint = mix(_sear(scene, patch, tone), face, step(0.1, 0.2, inner))
        lean = 0.3 * ratio * (1 + 0.8 * patch.y / ratio) + 0.025 * fibres + 0.015 * mottle
        scene.paint(patch, patch.inside(sd), tint, (lean + 0.1) * bulge(sd, 0.12 * ratio + 0.05), 0.25 + 0.5 * mottle)


def _steak_finish(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """Butter, sauce over the meat, mushrooms, pepper and salt."""
    rng = scene.rng
    chance = rng.random()
    spot = np.array([cx, cy]) + rng.normal(0, 0.12, 2) * radius
    if chance < 0.12:
        patch = scene.patch(spot[0], spot[1], radius * rng.uniform(0.14, 0.22), rng.uniform(0, 6.28), 1.3)
        sd = box(patch.x, patch.y, 0.8, 0.7, 0.25) + 0.2 * (patch.noise("clouds", 2.0) - 0.5)
        scene.paint(patch, patch.inside(sd, 0.1), vary(rng, colour(246, 222, 130), 0.04), 0.5 * bulge(sd, 0.4), 0.7)
    elif chance < 0.34:
        patch = scene.patch(spot[0], spot[1], radius * rng.uniform(0.3, 0.52), rng.uniform(0, 6.28), 1.4)
        cover = blob(rng, patch.x, patch.y, 0.14, 6) + 0.25 * (patch.noise("clouds", 1.5) - 0.5)
        sauce = vary(rng, pick(rng, sides.SAUCE_TINTS[:5]), 0.04) * (0.85 + 0.25 * patch.noise("mottle", 1.2, 1, 1))
        scene.paint(patch, patch.inside(cover, 0.08), sauce, 0.03 * bulge(cover, 0.2), 0.7)
        if rng.random() < 0.4:
            for x, y in scatter(rng, 8, 0.15, 0.45):
                mushroom(scene, spot[0] + x * radius, spot[1] + y * radius, radius * 0.1)
    if rng.random() < 0.4:
        sides.flecks(
            scene,
            cx,
            cy,
            radius * 0.8,
            int(rng.integers(15, 60)),
            0.01,
            pick(rng, [colour(24, 20, 18), colour(240, 238, 232)]),
        )

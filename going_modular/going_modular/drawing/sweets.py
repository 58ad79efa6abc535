"""What sweet foods carry: fruit, cream, syrup, butter, sprinkles, icing sugar."""

from __future__ import annotations

import math

import numpy as np

from . import sides
from .bits import ball, round_slice
from .scene import Scene
from .shapes import blob, box, bulge, colour, disc, mix, pick, scatter, step, vary

ICINGS = [
    colour(*c)
    for c in [
        (236, 150, 170), (74, 42, 26), (250, 244, 236), (150, 200, 220), (190, 216, 150), (226, 180, 90),
        (120, 70, 40), (190, 160, 210), (196, 50, 60), (240, 214, 110),
    ]
]  # fmt: skip
SYRUPS = [colour(*c) for c in [(150, 76, 20), (110, 52, 16), (60, 32, 18), (170, 24, 36), (214, 140, 50), (80, 20, 60)]]
CONFETTI = [
    colour(*c) for c in [(226, 60, 70), (250, 210, 70), (80, 170, 90), (70, 130, 210), (250, 246, 240), (236, 130, 180)]
]


def strawberry(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A strawberry: whole with its seeds and leaves, or half with a pale heart."""
    rng = scene.rng
    turn, red = rng.uniform(0, 6.28), vary(rng, colour(200, 34, 36), 0.04)
    patch = scene.patch(cx, cy, size * 1.2, turn)
    x, y = patch.x, patch.y
    width = 0.72 - 0.3 * x - 0.3 * x * x
    sd = np.maximum(np.abs(y) - width * np.sqrt(np.clip(1 - x * x, 0, 1)), np.abs(x) - 0.98)
    if rng.random() < 0.5:
        heart = step(0.25, 0.75, np.clip(-sd, 0, 1) / 0.6)
        tint, height = mix(red, colour(248, 190, 170), 0.85 * heart * (0.7 + 0.4 * patch.noise("fibres", 1.0))), 0.35
    else:
        seeds = step(0.8, 0.88, patch.noise("beads", 1.7))
        tint, height = mix(red * (0.85 + 0.2 * patch.noise("clouds")), colour(236, 196, 90), 0.8 * seeds), 0.75
    level = scene.base_height(cx, cy) / patch.scale + height * bulge(sd, 0.55)
    scene.paint(patch, patch.inside(sd), tint, None, 0.7, level)
    if height > 0.5:
        star = scene.patch(cx - 0.9 * size * math.cos(turn), cy - 0.9 * size * math.sin(turn), size * 0.55, turn, 1.2)
        points = 0.6 + 0.4 * np.cos(5 * np.arctan2(star.y, star.x))
        sd = disc(star.x, star.y, 0.0) - points
        scene.paint(star, star.inside(sd), vary(rng, colour(70, 120, 40), 0.05), 0.15, 0.2)


def blueberry(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A blueberry, with its small crown up or not."""
    tint = vary(scene.rng, colour(52, 58, 104), 0.04)
    ball(scene, cx, cy, size * 0.55, tint, 0.35)
    if scene.rng.random() < 0.6:
        patch = scene.patch(cx, cy, size * 0.24)
        sd = blob(scene.rng, patch.x, patch.y, 0.2)
        scene.paint(patch, patch.inside(sd), tint * 0.5, -0.2, 0.1)


def raspberry(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A raspberry or blackberry: a heap of beads."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size * 0.8, rng.uniform(0, 6.28), 1.2)
    beads = patch.noise("beads", 4.0)
    sd = disc(patch.x * 0.9, patch.y) + 0.12 * (0.5 - beads)
    tint = vary(rng, pick(rng, [colour(190, 40, 66), colour(190, 40, 66), colour(60, 30, 60)]), 0.04)
    level = scene.base_height(cx, cy) / patch.scale + 0.75 * bulge(sd, 0.9) + 0.2 * beads
    scene.paint(patch, patch.inside(sd), tint * (0.45 + 0.75 * beads), None, 0.5, level)


def cherry(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A cherry with its stem."""
    rng = scene.rng
    turn = rng.uniform(0, 6.28)
    ball(scene, cx, cy, size * 0.72, vary(rng, colour(160, 16, 30), 0.04), 1.0)
    px, py = cx + size * 0.6 * math.cos(turn), cy + size * 0.6 * math.sin(turn)
    sides.stick(scene, px, py, size * 0.7, size * 0.06, turn, colour(110, 100, 50))


def banana(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A slice of banana."""
    flesh = vary(scene.rng, colour(246, 228, 160), 0.03)
    round_slice(scene, cx, cy, size * 0.9, flesh, flesh * 0.9, 3)


FRUITS = [strawberry, strawberry, blueberry, blueberry, raspberry, cherry, banana]


def cream(scene: Scene, cx: float, cy: float, size: float, tint: np.ndarray) -> None:
    """A rosette of piped cream: ridges that wind to a tip."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size, rng.uniform(0, 6.28))
    rho, angle = disc(patch.x, patch.y, 0.0), np.arctan2(patch.y, patch.x)
    ridges = np.cos(angle * int(rng.integers(5, 9)) + rho * pick(rng, [-5.0, 4.0, 6.0]))
    sd = rho - 0.9 - 0.09 * ridges
    level = (
        scene.base_height(cx, cy) / size + 0.25 * bulge(sd, 0.2) + 0.75 * np.clip(1 - rho, 0, 1) + 0.1 * ridges * rho
    )
    scene.paint(patch, patch.inside(sd), tint * (0.9 + 0.1 * ridges), None, 0.35, level)


def syrup(scene: Scene, cx: float, cy: float, radius: float, tint: np.ndarray, cover: float = 0.85) -> None:
    """A thin, shiny, half clear pool that runs off in tongues."""
    rng = scene.rng
    patch = scene.patch(cx, cy, radius, rng.uniform(0, 6.28), 1.6)
    sd = blob(rng, patch.x, patch.y, 0.15, 6) + 0.3 * (patch.noise("swell", 3.0) - 0.5)
    scene.paint(
        patch, cover * patch.inside(sd, 0.03), tint * (0.85 + 0.25 * patch.noise("clouds", 1.5, 1, 1)), None, 0.9
    )
    scene.paint(patch, patch.inside(sd), None, 0.03 * bulge(sd, 0.12))


def butter(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A pat of butter, beginning to melt."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size, rng.uniform(0, 6.28), 1.4)
    sd = box(patch.x, patch.y, 0.9, 0.75, 0.2) + 0.15 * (patch.noise("clouds", 2.0) - 0.5)
    level = scene.base_height(cx, cy) / size + 0.5 * bulge(sd, 0.25)
    scene.paint(patch, patch.inside(sd, 0.05), vary(rng, colour(248, 224, 130), 0.03), None, 0.7, level)


def sprinkles(scene: Scene, cx: float, cy: float, inner: float, outer: float, count: int, size: float) -> None:
    """Small sugar sticks of one or many colours between two radii."""
    rng = scene.rng
    tints = CONFETTI if rng.random() < 0.7 else [pick(rng, CONFETTI + ICINGS)]
    for share, angle in zip(rng.uniform(0, 1, count), rng.uniform(0, 6.28, count)):
        away = math.sqrt(inner**2 + share * (outer**2 - inner**2))
        sides.stick(scene, cx + away * math.cos(angle), cy + away * math.sin(angle), size, size * 0.32,
                    rng.uniform(0, 3.14), pick(rng, tints), 0.5, "clouds")  # fmt: skip


def dust(scene: Scene, cx: float, cy: float, radius: float, tint: np.ndarray, amount: float = 0.6) -> None:
    """Icing sugar or cocoa, sieved over what lies there."""
    patch = scene.patch(cx, cy, radius)
    fall = 0.6 * patch.noise("grain", 0.9) + 0.6 * patch.noise("clouds", 1.5, 1, 1) + 0.5 * disc(patch.x, patch.y)
    scene.paint(patch, np.clip(1.3 * (amount - fall), 0, 0.9) * patch.inside(disc(patch.x, patch.y)), tint, None, 0.0)


def crown(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """What pancakes and waffles are served with: one to three of syrup, butter, cream, fruit, sugar."""
    rng = scene.rng
    if rng.random() < 0.6:
        px, py = cx + rng.normal(0, 0.1) * radius, cy + rng.normal(0, 0.1) * radius
        tint, cover = vary(rng, pick(rng, SYRUPS), 0.03), rng.uniform(0.6, 0.9)
        syrup(scene, px, py, radius * rng.uniform(0.5, 0.95), tint, cover)
    if rng.random() < 0.2:
        dust(scene, cx, cy, radius * 1.1, colour(250, 248, 244), rng.uniform(0.4, 0.8))
    top = pick(rng, ["butter", "fruit", "fruit", "cream", "both", "bare"])
    px, py = cx + rng.normal(0, 0.12) * radius, cy + rng.normal(0, 0.12) * radius
    if top == "butter":
        for number in range(int(rng.integers(1, 3))):
            butter(scene, px + 0.25 * number * radius, py, radius * rng.uniform(0.15, 0.25))
    if top in ("cream", "both"):
        cream(scene, px, py, radius * rng.uniform(0.25, 0.42), vary(rng, colour(250, 244, 230), 0.02))
    if top in ("fruit", "both"):
        kinds, size = [pick(rng, FRUITS) for _ in range(int(rng.integers(1, 3)))], radius * rng.uniform(0.11, 0.2)
        spread = rng.uniform(0.35, 0.8)
        for x, y in scatter(rng, int(rng.integers(3, 14)), 1.6 * size / radius, spread) * radius:
            pick(rng, kinds)(scene, cx + x, cy + y, size)

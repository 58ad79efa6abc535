"""Salad: a heap of leaves with vegetables, cheese, bread or egg, on the plate or in a bowl."""

from __future__ import annotations

from . import bits
from .scene import Scene
from .shapes import colour, pick, scatter, vary

LEAVES = [colour(*c) for c in [(120, 160, 60), (70, 120, 40), (150, 180, 90), (96, 140, 50), (110, 50, 70)]]
PIECES = [
    bits.cucumber, bits.cucumber, bits.cherry_tomato, bits.cherry_tomato, bits.tomato, bits.radish, bits.carrot,
    bits.onion, bits.crouton, bits.white_cube, bits.olive, bits.pea, bits.egg_half,
]  # fmt: skip


def salad(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """Leaves of one or two sorts under two to five kinds of piece."""
    rng = scene.rng
    reach = radius
    if rng.random() < 0.5:
        bits.bowl(scene, cx, cy, radius, 0.28, rng.uniform(0.08, 0.16))
        reach = radius * 0.85
    sorts = [pick(rng, LEAVES) for _ in range(int(rng.integers(1, 3)))]
    broad, size = rng.random() < 0.7, rng.uniform(0.26, 0.42)
    for x, y in scatter(rng, 26, size * 0.6, 0.9 - size * 0.4) * reach:
        tint, px, py = vary(rng, pick(rng, sorts), 0.06), cx + float(x), cy + float(y)
        if broad and rng.random() < 0.75:
            bits.lettuce(scene, px, py, reach * size * rng.uniform(0.8, 1.15), tint)
        else:
            bits.lettuce(scene, px, py, reach * size * rng.uniform(0.8, 1.3), tint, False)
    kinds = [pick(rng, PIECES) for _ in range(int(rng.integers(2, 6)))]
    piece = reach * rng.uniform(0.11, 0.19)
    for x, y in scatter(rng, int(rng.integers(8, 30)), 1.5 * piece / reach, 0.72) * reach:
        pick(rng, kinds)(scene, cx + float(x), cy + float(y), piece * rng.uniform(0.85, 1.2))
    if rng.random() < 0.35:
        tint = vary(rng, pick(rng, [bits.CARROT, bits.CHEESES[2], colour(150, 70, 120)]), 0.03)
        bits.shreds(scene, cx, cy, reach * 0.7, int(rng.integers(15, 40)), reach * 0.09, tint)

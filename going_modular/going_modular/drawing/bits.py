"""Small savoury pieces and a bowl: what salad, soup, burger, taco and fries are put together from."""

from __future__ import annotations

import numpy as np

from . import sides
from .scene import Patch, Scene
from .shapes import blob, box, bulge, colour, disc, leaf, mix, pick, scatter, step, vary
from .tableware import PLATE_TINTS, WOODS, wood_tint

TOMATO, ONION, CARROT = colour(204, 50, 30), colour(240, 226, 228), colour(232, 122, 36)
CHEESES = [colour(*c) for c in [(246, 184, 60), (240, 150, 40), (250, 232, 180)]]


def heap(scene: Scene, patch: Patch) -> np.ndarray:
    """Height of what lies in the patch, in its units, pressed down a little: so heaps don't grow into towers."""
    return scene.height[patch.window] * np.float32(0.62 / patch.scale)


def ball(scene: Scene, cx: float, cy: float, size: float, tint: np.ndarray, gloss: float = 0.8) -> None:
    """A ball that lies on what is there: a pea, a berry, a dumpling."""
    patch = scene.patch(cx, cy, size)
    dome = np.sqrt(np.clip(1 - patch.x**2 - patch.y**2, 0, 1))
    level = scene.base_height(cx, cy) / size + 0.15 + 0.9 * dome
    tint = tint * (0.85 + 0.2 * patch.noise("clouds"))
    scene.paint(patch, patch.inside(disc(patch.x, patch.y)), tint, None, gloss, level)


def cube(scene: Scene, cx: float, cy: float, size: float, tint: np.ndarray, gloss: float = 0.2) -> None:
    """A cube or a slab with soft edges and a rough face: crouton, tofu, cheese, potato."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size, rng.uniform(0, 6.28), 1.3)
    sd = box(patch.x, patch.y, 0.9, rng.uniform(0.6, 0.9), 0.2) + 0.1 * (patch.noise("clouds", 2.0) - 0.5)
    mottle = patch.noise("mottle", 1.6, 1, 1)
    lean = rng.normal(0, 0.25) * patch.x + rng.normal(0, 0.25) * patch.y
    level = scene.base_height(cx, cy) / size + (0.75 + lean) * bulge(sd, 0.2) + 0.06 * mottle
    scene.paint(patch, patch.inside(sd), tint * (0.78 + 0.35 * mottle), None, gloss, level)


def ring(scene: Scene, cx: float, cy: float, size: float, tint: np.ndarray, inner: float = 0.7) -> None:
    """A ring of onion, leek, olive or pepper."""
    patch = scene.patch(cx, cy, size, scene.rng.uniform(0, 6.28))
    half = (1 - inner) / 2
    sd = np.abs(disc(patch.x, patch.y * scene.rng.uniform(1.0, 1.3), 0.98 - half)) - half
    shade = mix(tint, tint * 0.6, step(-half, half, disc(patch.x, patch.y, 0.9)))
    scene.paint(patch, patch.inside(sd), shade, 0.3 * bulge(sd, half), 0.5)


def round_slice(
    scene: Scene, cx: float, cy: float, size: float, flesh: np.ndarray, rind: np.ndarray, spokes: int = 0
) -> None:
    """A round slice with a rind: carrot, radish, or with `spokes` of seeds cucumber, tomato, banana."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size, rng.uniform(0, 6.28))
    rho, angle = disc(patch.x, patch.y * rng.uniform(1.0, 1.15), 0.0), np.arctan2(patch.y, patch.x)
    tint = flesh * (0.85 + 0.2 * patch.noise("mottle", 1.6))
    if spokes:
        seeds = step(0.2, 0.7, np.cos(angle * spokes)) * step(0.15, 0.3, rho) * step(-0.72, -0.6, -rho)
        tint = mix(tint, flesh * 0.75 + 0.25 * colour(250, 200, 90), 0.8 * seeds)
    tint = mix(tint, rind, step(0.84, 0.9, rho))
    lean = rng.normal(0, 0.12) * patch.x + rng.normal(0, 0.12) * patch.y
    level = scene.base_height(cx, cy) / size + (0.22 + lean) * bulge(rho - 1, 0.12)
    scene.paint(patch, patch.inside(rho - 1), tint, None, 0.55, level)


def cucumber(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A slice of cucumber or pickle."""
    rng = scene.rng
    flesh, rind = vary(rng, colour(190, 214, 130), 0.04), vary(rng, colour(50, 96, 40), 0.04)
    round_slice(scene, cx, cy, size, flesh, rind, 3)


def tomato(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A slice of tomato."""
    tint = vary(scene.rng, TOMATO, 0.04)
    round_slice(scene, cx, cy, size, tint, tint * 0.85, int(scene.rng.integers(4, 7)))


def carrot(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A slice of carrot."""
    tint = vary(scene.rng, CARROT, 0.04)
    round_slice(scene, cx, cy, size * 0.75, tint, tint * 0.8)


def radish(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A slice of radish."""
    round_slice(scene, cx, cy, size * 0.8, colour(246, 236, 236), vary(scene.rng, colour(200, 40, 90), 0.04))


def onion(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A ring of white or red onion."""
    tint = pick(scene.rng, [ONION, colour(170, 80, 130), colour(236, 236, 210)])
    ring(scene, cx, cy, size * scene.rng.uniform(0.7, 1.2), vary(scene.rng, tint, 0.04), 0.8)


def leek(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A small ring of spring onion."""
    ring(scene, cx, cy, size * 0.5, vary(scene.rng, colour(130, 180, 70), 0.07), 0.5)


def crouton(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A cube of toasted bread."""
    cube(scene, cx, cy, size * 0.7, vary(scene.rng, colour(206, 146, 74), 0.06), 0.05)


def white_cube(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A cube of feta, tofu or potato."""
    cube(scene, cx, cy, size * 0.7, vary(scene.rng, colour(246, 238, 214), 0.03))


def cherry_tomato(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A small tomato, whole or cut in half."""
    if scene.rng.random() < 0.5:
        tomato(scene, cx, cy, size * 0.8)
    else:
        ball(scene, cx, cy, size * 0.7, vary(scene.rng, TOMATO, 0.05), 0.95)


def olive(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A ring of olive."""
    tint = pick(scene.rng, [colour(40, 32, 36), colour(118, 122, 50)])
    ring(scene, cx, cy, size * 0.55, vary(scene.rng, tint, 0.03), 0.35)


def pea(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A pea or a grain of maize."""
    tint = pick(scene.rng, [colour(110, 160, 50), colour(240, 200, 70)])
    ball(scene, cx, cy, size * 0.32, vary(scene.rng, tint, 0.05), 0.6)


def egg_half(scene: Scene, cx: float, cy: float, size: float) -> None:
    """Half a boiled egg."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size * 1.25, rng.uniform(0, 6.28))
    sd = disc(patch.x * 0.95, patch.y * (1.3 + 0.18 * patch.x)) / 1.3
    yolk = disc(patch.x - 0.12, patch.y, rng.uniform(0.4, 0.5))
    tint = mix(vary(rng, colour(240, 160, 40), 0.05), colour(250, 247, 238), step(-0.05, 0.02, yolk))
    level = scene.base_height(cx, cy) / patch.scale + 0.3 * bulge(sd, 0.25) + 0.03 * step(0.02, -0.02, yolk)
    scene.paint(patch, patch.inside(sd), tint * (0.94 + 0.08 * patch.noise("mottle", 2.0)), None, 0.6, level)


def shreds(scene: Scene, cx: float, cy: float, radius: float, count: int, size: float, tint: np.ndarray) -> None:
    """Thin strips that lie in all directions: grated cheese or carrot, cut cabbage."""
    rng = scene.rng
    for x, y in scatter(rng, count, 0.06, 0.95) * radius:
        length = size * rng.uniform(0.6, 1.3)
        sides.stick(scene, cx + x, cy + y, length, size * 0.16, rng.uniform(0, 3.14), vary(rng, tint, 0.05), 0.3)


def lettuce(scene: Scene, cx: float, cy: float, size: float, tint: np.ndarray, frilled: bool = True) -> None:
    """A leaf with a pale rib: broad with a frilled edge, or pointed."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size, rng.uniform(0, 6.28), 1.3)
    folds = patch.noise("clouds", rng.uniform(1.0, 1.6))
    frill = np.sin(np.arctan2(patch.y, patch.x) * int(rng.integers(11, 19)) + 5 * folds)
    sd = blob(rng, patch.x, patch.y * rng.uniform(1.1, 1.7), 0.12) + 0.07 * frill
    if not frilled:
        sd, frill = leaf(patch.x, patch.y + rng.uniform(-0.25, 0.25) * patch.x**2, rng.uniform(0.35, 0.6)), 0.0
    rib = np.exp(-((patch.y / 0.07) ** 2)) + 0.4 * np.exp(-((np.sin((patch.x - np.abs(patch.y)) * 8) / 0.3) ** 2))
    edge = step(-0.5, 0, sd)
    shade = mix(tint * 1.25, tint * 0.8, edge) * (0.65 + 0.5 * folds)
    shade = mix(shade, colour(226, 232, 170), 0.45 * rib * (1 - 0.7 * edge))
    level = heap(scene, patch) + 0.12 + 0.22 * folds + 0.06 * edge * (1 + frill)
    scene.paint(patch, patch.inside(sd), shade, None, 0.3, level)


def bowl(scene: Scene, cx: float, cy: float, radius: float, floor: float, rim: float = 0.1) -> None:
    """A bowl with its inside at the height `floor` (in radii) and a rim of width `rim`: china, glaze or wood."""
    rng = scene.rng
    patch = scene.patch(cx, cy, radius, rng.uniform(0, 6.28))
    rho = disc(patch.x, patch.y, 0.0)
    china, band = vary(rng, pick(rng, PLATE_TINTS), 0.05), vary(rng, pick(rng, PLATE_TINTS), 0.05)
    if rng.random() < 0.2:
        tint = wood_tint(patch, vary(rng, pick(rng, WOODS), 0.06))
    else:
        speckle = pick(rng, [0.0, 0.0, 0.5]) * step(0.7, 0.85, patch.noise("grain", 3.0))
        tint = mix(china * (0.92 + 0.1 * patch.noise("clouds", 2.0)), band, speckle)
    edge = pick(rng, [0.93, 0.96, 1.5])
    tint = mix(tint, band, step(edge, edge + 0.015, rho))
    if rng.random() < 0.2:
        stripes = step(0.0, 0.2, np.cos(np.arctan2(patch.y, patch.x) * int(rng.integers(8, 25))))
        tint = mix(tint, band, stripes * step(1 - rim, 1 - 0.8 * rim, rho))
    level = (floor + 0.22 * step(1 - 1.6 * rim, 1 - 0.6 * rim, rho)) * (0.2 + 0.8 * bulge(rho - 1, 0.09))
    scene.paint(patch, patch.inside(rho - 1), tint, None, rng.uniform(0.3, 0.9), level)


def spoon(scene: Scene, cx: float, cy: float, length: float, angle: float) -> None:
    """A spoon that lies on or in a dish: an oval head and a handle."""
    rng = scene.rng
    patch = scene.patch(cx, cy, length, angle)
    head, handle = disc((patch.x + 0.6) / 1.5, patch.y, 0.26), box(patch.x - 0.4, patch.y, 0.6, 0.05, 0.05)
    tint = pick(rng, [colour(208, 210, 214), colour(208, 210, 214), colour(140, 92, 54), colour(40, 38, 38)])
    level = scene.base_height(cx, cy) / length + 0.1 + 0.55 * step(-0.5, 0.9, patch.x) - 0.1 * np.clip(-head, 0, 1)
    sd = np.minimum(head, handle)
    scene.paint(patch, patch.inside(sd), tint * (0.8 + 0.3 * patch.noise("clouds", 1.5)), None, 0.8, level)

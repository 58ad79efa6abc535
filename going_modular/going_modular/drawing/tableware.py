"""What the food stands on: tables, plates, boards, slates, paper, pans.

Every function here is used for every food alike, so that nothing around a food gives its name away.
"""

from __future__ import annotations

import numpy as np

from .scene import Patch, Scene
from .shapes import box, bulge, colour, disc, mix, pick, step, vary

WOODS = [
    colour(*c) for c in [(176, 124, 76), (120, 76, 44), (205, 164, 112), (74, 48, 34), (222, 190, 148), (146, 88, 54)]
]
TABLE_TINTS = [
    colour(*c)
    for c in [
        (236, 232, 224), (60, 62, 66), (150, 40, 40), (40, 80, 120), (205, 185, 150), (70, 100, 70), (120, 120, 124),
        (190, 120, 60), (28, 28, 32), (225, 200, 80), (170, 60, 90), (90, 60, 50), (225, 150, 150), (90, 150, 160),
    ]
]  # fmt: skip
PLATE_TINTS = [
    colour(*c)
    for c in [
        (244, 243, 240), (244, 240, 230), (235, 232, 228), (38, 40, 44), (60, 70, 90), (120, 50, 40), (190, 60, 40),
        (215, 190, 150), (120, 140, 130), (80, 56, 44), (200, 205, 210), (60, 110, 140), (230, 190, 90),
    ]
]  # fmt: skip


# --- tables ----------------------------------------------------------------------------------------------------------


def wood_tint(patch: Patch, base: np.ndarray, grain: float = 1.0) -> np.ndarray:
    """Colour of wood whose fibres run along the patch's x."""
    rings = patch.noise("fibres", 1.6 / grain, 1.0, 1)
    fine = patch.noise("fibres", 0.5 / grain, 1.0, 2)
    return base * (0.62 + 0.36 * rings + 0.22 * fine)


def draw_table(scene: Scene) -> None:
    """Cover the whole ground: planks, stone, marble, cloth, checks, mats or a plain top."""
    rng = scene.rng
    patch = scene.ground(rng.uniform(0, np.pi))
    everywhere = np.ones_like(patch.x)
    tint, other = vary(rng, pick(rng, TABLE_TINTS), 0.1), vary(rng, pick(rng, TABLE_TINTS), 0.1)
    kind = rng.choice(
        ["planks", "stone", "marble", "cloth", "checks", "mat", "plain"], p=[0.3, 0.14, 0.1, 0.14, 0.1, 0.1, 0.12]
    )
    if kind == "planks":
        width = rng.uniform(0.3, 0.8)
        along = patch.y / width
        plank = np.floor(along)
        gap = step(0.0, 0.05, np.abs(along - plank - 0.5) * -1 + 0.5)
        lightness = 0.85 + 0.3 * np.modf(np.abs(np.sin(plank * 12.9898) * 43.7585))[0]
        planks = Patch(patch.window, patch.x + plank * 0.37, patch.y, 1.0, patch.pixel, patch.shift)
        base = vary(rng, pick(rng, WOODS), 0.08)
        scene.paint(
            patch,
            everywhere,
            wood_tint(planks, base) * lightness * (0.25 + 0.75 * gap),
            0.015 * gap - 0.015,
            rng.uniform(0, 0.4),
        )
    elif kind == "stone":
        speckle = patch.noise("grain", 1.2)
        scene.paint(
            patch,
            everywhere,
            tint * (0.7 + 0.3 * patch.noise("clouds", 3.0, 1, 1) + 0.2 * speckle),
            0.004 * speckle,
            rng.uniform(0, 0.5),
        )
    elif kind == "marble":
        vein = np.exp(-(((patch.noise("clouds", 2.5) - 0.5) / 0.02) ** 2)) * patch.noise("clouds", 1.5, 1, 1)
        scene.paint(
            patch,
            everywhere,
            mix(tint * (0.85 + 0.15 * patch.noise("clouds", 1.0, 1, 2)), other, 0.7 * vein),
            None,
            0.5,
        )
    elif kind == "cloth":
        weave = np.sin(patch.x * 210) * np.sin(patch.y * 210)
        folds = patch.noise("clouds", 4.0, 2.5)
        stripe = step(0.35, 0.4, np.abs(np.modf(np.abs(patch.x) / rng.uniform(0.15, 0.9))[0] - 0.5)) * float(
            rng.choice([0, 1])
        )
        scene.paint(patch, everywhere, mix(tint, other, stripe) * (0.85 + 0.08 * weave + 0.12 * folds), 0.06 * folds)
    elif kind == "checks":
        side = rng.uniform(0.1, 0.3)
        check = (
            step(-0.1, 0.1, np.sin(patch.x * (np.pi / side))) / 2
            + step(-0.1, 0.1, np.sin(patch.y * (np.pi / side))) / 2
        )
        weave = np.sin(patch.x * 230) * np.sin(patch.y * 230)
        scene.paint(
            patch,
            everywhere,
            mix(colour(242, 238, 230), tint, check) * (0.88 + 0.06 * weave),
            0.02 * patch.noise("clouds", 2.0),
        )
    elif kind == "mat":
        slat = np.abs(np.sin(patch.y * np.pi / rng.uniform(0.05, 0.1)))
        base = vary(rng, pick(rng, WOODS), 0.08)
        scene.paint(patch, everywhere, wood_tint(patch, base) * (0.5 + 0.5 * np.sqrt(slat)), 0.012 * np.sqrt(slat))
    else:
        scene.paint(patch, everywhere, tint * (0.85 + 0.15 * patch.noise("clouds", 3.0)), None, rng.uniform(0, 0.4))


# --- what the food lies on -------------------------------------------------------------------------------------------


def plate(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A round plate with a raised rim, sometimes with a coloured band."""
    rng = scene.rng
    patch = scene.patch(cx, cy, radius, rng.uniform(0, 6.28))
    rho = disc(patch.x, patch.y, 0.0)
    base, band = vary(rng, pick(rng, PLATE_TINTS), 0.05), vary(rng, pick(rng, PLATE_TINTS), 0.05)
    well = rng.uniform(0.62, 0.8)
    tint = base * (0.94 + 0.06 * patch.noise("clouds", 2.0)) * (1 - 0.12 * np.exp(-(((rho - well) / 0.02) ** 2)))
    style = rng.integers(4)
    if style == 0:
        edge = rng.uniform(0.85, 0.96)
        tint = mix(tint, band, step(edge, edge + 0.015, rho) * step(-0.99, -0.975, -rho))
    elif style == 1:
        tint = mix(tint, band, 0.7 * step(0.55, 0.8, patch.noise("grain", 3.0)) * float(rng.choice([0.25, 0.25, 0.8])))
    profile = (0.03 + rng.uniform(0.03, 0.1) * step(well, 1.0, rho)) * bulge(rho - 1, 0.03)
    scene.paint(patch, patch.inside(rho - 1), tint, None, rng.uniform(0.1, 0.7), profile)


def square_plate(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A square or oblong plate with a slight rim."""
    rng = scene.rng
    patch = scene.patch(cx, cy, radius, rng.uniform(0, 3.14), 1.45)
    sd = box(patch.x, patch.y, 1.05, rng.uniform(0.75, 1.05), rng.uniform(0.05, 0.3))
    tint = vary(rng, pick(rng, PLATE_TINTS), 0.05) * (0.94 + 0.06 * patch.noise("clouds", 2.0))
    scene.paint(
        patch,
        patch.inside(sd),
        tint,
        None,
        rng.uniform(0.1, 0.7),
        (0.04 + 0.05 * step(-0.2, -0.02, sd)) * bulge(sd, 0.03),
    )


def board(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A wooden board: round, oblong, with or without a handle."""
    rng = scene.rng
    patch = scene.patch(cx, cy, radius, rng.uniform(0, 6.28), 1.7)
    if rng.random() < 0.45:
        sd = disc(patch.x, patch.y, 1.0)
    else:
        sd = box(patch.x, patch.y, 1.15, rng.uniform(0.75, 1.0), rng.uniform(0.05, 0.2))
    if rng.random() < 0.4:
        sd = np.minimum(sd, box(patch.x - 1.2, patch.y, 0.4, 0.14, 0.1))
    tint = wood_tint(patch, vary(rng, pick(rng, WOODS), 0.08), 1.2) * (1 - 0.25 * step(-0.05, 0, sd))
    scene.paint(patch, patch.inside(sd), tint, None, rng.uniform(0.05, 0.3), 0.09 * bulge(sd, 0.04))


def slate(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A dark slab of stone with a broken edge."""
    rng = scene.rng
    patch = scene.patch(cx, cy, radius, rng.uniform(0, 3.14), 1.5)
    rough = patch.noise("mottle", 1.5)
    sd = box(patch.x, patch.y, 1.15, rng.uniform(0.8, 1.05), 0.04) + 0.03 * rough
    tint = vary(rng, colour(62, 66, 72), 0.06) * (0.75 + 0.35 * rough + 0.2 * patch.noise("clouds", 1.0, 0.4, 1))
    scene.paint(patch, patch.inside(sd), tint, None, 0.25, 0.05 + 0.006 * rough)


def paper(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A crumpled sheet of paper or foil."""
    rng = scene.rng
    patch = scene.patch(cx, cy, radius, rng.uniform(0, 3.14), 1.5)
    crease = patch.noise("clouds", 0.9)
    sd = box(patch.x, patch.y, 1.1, rng.uniform(0.85, 1.1), 0.02)
    tint = vary(rng, pick(rng, [colour(240, 236, 228), colour(196, 160, 116), colour(190, 192, 196)]), 0.05)
    scene.paint(
        patch,
        patch.inside(sd),
        tint * (0.85 + 0.15 * crease),
        None,
        rng.uniform(0, 0.5),
        0.02 + 0.05 * np.abs(crease - 0.5),
    )


def pan(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A dark iron pan, or a bright tin one, with a high rim."""
    rng = scene.rng
    patch = scene.patch(cx, cy, radius, rng.uniform(0, 6.28), 1.8)
    rho = disc(patch.x, patch.y, 0.0)
    tint = pick(rng, [colour(44, 42, 42), colour(30, 30, 32), colour(170, 172, 176)]) * (
        0.8 + 0.4 * patch.noise("mottle", 2.0)
    )
    handle = box(patch.x - 1.4, patch.y, 0.45, 0.1, 0.1)
    scene.paint(patch, patch.inside(handle), tint, None, 0.4, 0.14 * bulge(handle, 0.1))
    scene.paint(patch, patch.inside(rho - 1), tint, None, 0.4, 0.03 + 0.16 * step(0.9, 0.98, rho))


VESSELS = [plate, plate, plate, square_plate, board, slate, paper, pan]


def draw_vessel(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """Put a plate, board, slate, paper, pan or nothing below a food that reaches `radius`."""
    if scene.rng.random() < 0.93:
        pick(scene.rng, VESSELS)(scene, cx, cy, radius * scene.rng.uniform(1.12, 1.55))

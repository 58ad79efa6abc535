"""What stands around the food in a drawing: tables, plates and boards, side dishes, cutlery, sauces.

Every function here is used for every food alike, so that nothing around a food gives its name away. All of them paint on a
`drawing.Scene`; places and sizes are in the scene's units.
"""

from __future__ import annotations

import numpy as np

from .drawing import Patch, Scene, blob, box, bulge, colour, disc, leaf, mix, scatter, step, vary

WOODS = [colour(*c) for c in [(176, 124, 76), (120, 76, 44), (205, 164, 112), (74, 48, 34), (222, 190, 148), (146, 88, 54)]]
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
SAUCE_TINTS = [
    colour(*c)
    for c in [(46, 22, 12), (150, 30, 16), (90, 46, 20), (232, 214, 170), (90, 120, 40), (220, 150, 40), (110, 20, 30), (240, 236, 220)]
]  # fmt: skip
GREENS = [colour(*c) for c in [(70, 120, 30), (40, 90, 30), (120, 160, 60), (90, 60, 70), (150, 180, 90)]]


def pick(rng: np.random.Generator, choices: list):
    """Return one of the choices at random."""
    return choices[int(rng.integers(len(choices)))]


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
    kind = rng.choice(["planks", "stone", "marble", "cloth", "checks", "mat", "plain"], p=[0.3, 0.14, 0.1, 0.14, 0.1, 0.1, 0.12])
    if kind == "planks":
        width = rng.uniform(0.3, 0.8)
        along = patch.y / width
        plank = np.floor(along)
        gap = step(0.0, 0.05, np.abs(along - plank - 0.5) * -1 + 0.5)
        lightness = 0.85 + 0.3 * np.modf(np.abs(np.sin(plank * 12.9898) * 43.7585))[0]
        planks = Patch(patch.window, patch.x + plank * 0.37, patch.y, 1.0, patch.pixel, patch.shift)
        base = vary(rng, pick(rng, WOODS), 0.08)
        scene.paint(patch, everywhere, wood_tint(planks, base) * lightness * (0.25 + 0.75 * gap), 0.015 * gap - 0.015, rng.uniform(0, 0.4))
    elif kind == "stone":
        speckle = patch.noise("grain", 1.2)
        scene.paint(patch, everywhere, tint * (0.7 + 0.3 * patch.noise("clouds", 3.0, 1, 1) + 0.2 * speckle), 0.004 * speckle, rng.uniform(0, 0.5))
    elif kind == "marble":
        vein = np.exp(-((patch.noise("clouds", 2.5) - 0.5) / 0.02) ** 2) * patch.noise("clouds", 1.5, 1, 1)
        scene.paint(patch, everywhere, mix(tint * (0.85 + 0.15 * patch.noise("clouds", 1.0, 1, 2)), other, 0.7 * vein), None, 0.5)
    elif kind == "cloth":
        weave = np.sin(patch.x * 210) * np.sin(patch.y * 210)
        folds = patch.noise("clouds", 4.0, 2.5)
        stripe = step(0.35, 0.4, np.abs(np.modf(np.abs(patch.x) / rng.uniform(0.15, 0.9))[0] - 0.5)) * rng.choice([0, 1])
        scene.paint(patch, everywhere, mix(tint, other, stripe) * (0.85 + 0.08 * weave + 0.12 * folds), 0.06 * folds)
    elif kind == "checks":
        side = rng.uniform(0.1, 0.3)
        check = (np.sin(patch.x * np.pi / side) > 0) * 0.5 + (np.sin(patch.y * np.pi / side) > 0) * 0.5
        weave = np.sin(patch.x * 230) * np.sin(patch.y * 230)
        scene.paint(patch, everywhere, mix(colour(242, 238, 230), tint, check) * (0.88 + 0.06 * weave), 0.02 * patch.noise("clouds", 2.0))
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
        tint = mix(tint, band, 0.7 * step(0.55, 0.8, patch.noise("grain", 3.0)) * rng.choice([0.3, 1.0]))
    profile = (0.03 + rng.uniform(0.03, 0.1) * step(well, 1.0, rho)) * bulge(rho - 1, 0.03)
    scene.paint(patch, patch.inside(rho - 1), tint, None, rng.uniform(0.1, 0.7), profile)


def square_plate(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A square or oblong plate with a slight rim."""
    rng = scene.rng
    patch = scene.patch(cx, cy, radius, rng.uniform(0, 3.14), 1.45)
    sd = box(patch.x, patch.y, 1.05, rng.uniform(0.75, 1.05), rng.uniform(0.05, 0.3))
    tint = vary(rng, pick(rng, PLATE_TINTS), 0.05) * (0.94 + 0.06 * patch.noise("clouds", 2.0))
    scene.paint(patch, patch.inside(sd), tint, None, rng.uniform(0.1, 0.7), (0.04 + 0.05 * step(-0.2, -0.02, sd)) * bulge(sd, 0.03))


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
    scene.paint(patch, patch.inside(sd), tint, None, 0.25, 0.05 + 0.012 * rough)


def paper(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A crumpled sheet of paper or foil."""
    rng = scene.rng
    patch = scene.patch(cx, cy, radius, rng.uniform(0, 3.14), 1.5)
    crease = patch.noise("clouds", 0.9)
    sd = box(patch.x, patch.y, 1.1, rng.uniform(0.85, 1.1), 0.02)
    tint = vary(rng, pick(rng, [colour(240, 236, 228), colour(196, 160, 116), colour(190, 192, 196)]), 0.05)
    scene.paint(patch, patch.inside(sd), tint * (0.85 + 0.15 * crease), None, rng.uniform(0, 0.5), 0.02 + 0.09 * np.abs(crease - 0.5))


def pan(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A dark iron pan, or a bright tin one, with a high rim."""
    rng = scene.rng
    patch = scene.patch(cx, cy, radius, rng.uniform(0, 6.28), 1.8)
    rho = disc(patch.x, patch.y, 0.0)
    tint = pick(rng, [colour(44, 42, 42), colour(30, 30, 32), colour(170, 172, 176)]) * (0.8 + 0.4 * patch.noise("mottle", 2.0))
    handle = box(patch.x - 1.4, patch.y, 0.45, 0.1, 0.1)
    scene.paint(patch, patch.inside(handle), tint, None, 0.4, 0.14 * bulge(handle, 0.1))
    scene.paint(patch, patch.inside(rho - 1), tint, None, 0.4, 0.03 + 0.16 * step(0.9, 0.98, rho))


VESSELS = [plate, plate, plate, square_plate, board, slate, paper, pan]


def draw_vessel(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """Put a plate, board, slate, paper, pan or nothing below a food that reaches `radius`."""
    if scene.rng.random() < 0.93:
        pick(scene.rng, VESSELS)(scene, cx, cy, radius * scene.rng.uniform(1.12, 1.55))


# --- small things, shared by foods and side dishes ----------------------------------------------------------------------


def stick(scene: Scene, cx: float, cy: float, length: float, width: float, angle: float, tint: np.ndarray, gloss: float = 0.2,
          kind: str = "fibres") -> None:
    """A round rod: a fry, a bean, a chopstick, a strip of onion; `length` and `width` are halves."""
    patch = scene.patch(cx, cy, length, angle)
    ratio = width / length
    sd = box(patch.x, patch.y, 1.0, ratio, ratio * 0.8)
    scene.paint(patch, patch.inside(sd), tint * (0.8 + 0.35 * patch.noise(kind, 1.5)), 1.4 * ratio * bulge(sd, ratio), gloss)


def leaf_at(scene: Scene, cx: float, cy: float, length: float, angle: float, tint: np.ndarray) -> None:
    """A leaf with a middle rib, curled up at its sides; `length` is half of it."""
    rng = scene.rng
    patch = scene.patch(cx, cy, length, angle)
    bent = patch.y + rng.uniform(-0.3, 0.3) * (patch.x**2 - 0.4)
    sd = leaf(patch.x, bent, rng.uniform(0.35, 0.55))
    rib = np.exp(-((bent / 0.05) ** 2)) + 0.5 * np.exp(-((np.sin((patch.x - np.abs(bent)) * 9) / 0.3) ** 2)) * 0.5
    shade = tint * (0.75 + 0.35 * patch.noise("clouds", 1.5)) * (1 + 0.35 * rib)
    curl = 0.12 + 0.5 * bent**2 + 0.12 * patch.noise("clouds", 2.0, 1, 1) - 0.06 * rib
    scene.paint(patch, patch.inside(sd), shade, curl, 0.25)


def flecks(scene: Scene, cx: float, cy: float, radius: float, count: int, size: float, tint: np.ndarray) -> None:
    """Many crumbs: chopped herbs, pepper, sesame, salt."""
    rng = scene.rng
    for px, py in rng.normal(0, 0.45, (count, 2)) * radius + (cx, cy):
        patch = scene.patch(px, py, size * rng.uniform(0.6, 1.3), rng.uniform(0, 6.28))
        sd = box(patch.x, patch.y, 0.95, rng.uniform(0.35, 0.7), 0.3)
        scene.paint(patch, patch.inside(sd), vary(rng, tint, 0.06), 0.5, 0.1)


def sauce_pool(scene: Scene, cx: float, cy: float, radius: float, tint: np.ndarray) -> None:
    """A flat, shiny puddle."""
    rng = scene.rng
    patch = scene.patch(cx, cy, radius, rng.uniform(0, 6.28), 1.4)
    sd = blob(rng, patch.x, patch.y, 0.12, 5) + 0.15 * (patch.noise("clouds", 3.0) - 0.5)
    scene.paint(patch, patch.inside(sd, 0.04), tint * (0.9 + 0.2 * patch.noise("clouds", 2.0, 1, 1)), 0.05 * bulge(sd, 0.15), 0.8)


def drizzle(scene: Scene, cx: float, cy: float, length: float, angle: float, tint: np.ndarray) -> None:
    """A zigzag of thin sauce over whatever lies there."""
    rng = scene.rng
    patch = scene.patch(cx, cy, length, angle, 1.1)
    swing, turns = rng.uniform(0.12, 0.35), rng.uniform(10, 24)
    line = np.abs(patch.y - swing * np.sin(patch.x * turns)) / np.sqrt(1 + (swing * turns * np.cos(patch.x * turns)) ** 2)
    sd = np.maximum(line - 0.028, np.abs(patch.x) - 1)
    scene.paint(patch, patch.inside(sd, 0.01), tint, 0.015 * bulge(sd, 0.03), 0.7)


# --- side dishes -----------------------------------------------------------------------------------------------------


def salad(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A heap of leaves."""
    rng = scene.rng
    tint = pick(rng, GREENS)
    for px, py in scatter(rng, 16, 0.2, 0.8):
        leaf_at(scene, cx + px * radius, cy + py * radius, radius * rng.uniform(0.3, 0.55), rng.uniform(0, 6.28), vary(rng, tint, 0.08))


def fries(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A heap of fried potato sticks."""
    rng = scene.rng
    tint, main = vary(rng, colour(228, 176, 88), 0.05), rng.uniform(0, 6.28)
    for px, py in scatter(rng, 18, 0.12, 0.75):
        stick(scene, cx + px * radius, cy + py * radius, radius * rng.uniform(0.35, 0.6), radius * 0.085,
              main + rng.normal(0, 0.6), vary(rng, tint, 0.05), 0.15, "mottle")  # fmt: skip


def beans(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A bundle of beans or asparagus."""
    rng = scene.rng
    tint, main = vary(rng, colour(84, 130, 50), 0.07), rng.uniform(0, 6.28)
    for shift in rng.uniform(-0.45, 0.45, 9):
        stick(scene, cx + shift * radius * np.sin(main), cy - shift * radius * np.cos(main), radius, radius * 0.07,
              main + rng.normal(0, 0.12), vary(rng, tint, 0.05), 0.4)  # fmt: skip


def lemon(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A slice of lemon, lime or orange."""
    rng = scene.rng
    patch = scene.patch(cx, cy, radius * 0.5, rng.uniform(0, 6.28))
    rho, angle = disc(patch.x, patch.y, 0.0), np.arctan2(patch.y, patch.x)
    rind = pick(rng, [colour(236, 200, 50), colour(110, 160, 50), colour(236, 140, 40)])
    flesh = mix(rind, colour(250, 244, 200), 0.45) * (0.85 + 0.25 * patch.noise("fibres", 1.5))
    walls = np.maximum(np.exp(-((np.sin(angle * 4) * rho / 0.1) ** 2)), step(0.78, 0.84, rho))
    tint = mix(mix(flesh, colour(250, 246, 225), walls), rind, step(0.9, 0.93, rho))
    sd = np.maximum(rho - 1, rng.choice([-2, 0.0]) - patch.y)
    scene.paint(patch, patch.inside(sd), tint, 0.28 * bulge(sd, 0.1) - 0.03 * (1 - walls), 0.6)


def tomatoes(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """Small tomatoes, olives or grapes: shiny balls."""
    rng = scene.rng
    tint = pick(rng, [colour(196, 36, 22), colour(214, 90, 30), colour(60, 70, 30), colour(60, 24, 50)])
    for px, py in scatter(rng, int(rng.integers(2, 6)), 0.6, 0.7):
        patch = scene.patch(cx + px * radius, cy + py * radius, radius * 0.3)
        sd = disc(patch.x, patch.y)
        dome = np.sqrt(np.clip(1 - patch.x**2 - patch.y**2, 0, 1))
        scene.paint(patch, patch.inside(sd), vary(rng, tint, 0.05) * (0.85 + 0.2 * patch.noise("clouds")), 1.2 * dome, 0.9)


def sauce_bowl(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A small bowl with a dip, soy or broth in it."""
    rng = scene.rng
    patch = scene.patch(cx, cy, radius * 0.75)
    rho = disc(patch.x, patch.y, 0.0)
    china, sauce = vary(rng, pick(rng, PLATE_TINTS), 0.05), vary(rng, pick(rng, SAUCE_TINTS), 0.04)
    tint = mix(sauce * (0.9 + 0.2 * patch.noise("clouds", 2.0)), china, step(0.78, 0.81, rho))
    level = mix(np.float32(0.3), 0.25 + 0.25 * step(0.78, 0.92, rho), step(0.78, 0.81, rho))
    scene.paint(patch, patch.inside(rho - 1), tint, level * bulge(rho - 1, 0.08), 0.9)


def mash(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A scoop of something soft: potato, rice, wasabi, ice cream, butter."""
    rng = scene.rng
    tint = pick(rng, [colour(240, 226, 180), colour(150, 176, 90), colour(246, 240, 226), colour(236, 180, 160), colour(200, 120, 50)])
    patch = scene.patch(cx, cy, radius * rng.uniform(0.35, 0.7), rng.uniform(0, 6.28), 1.3)
    lump = patch.noise("clouds", 2.0)
    sd = blob(rng, patch.x, patch.y, 0.1) + 0.25 * (lump - 0.5)
    scene.paint(patch, patch.inside(sd), tint * (0.85 + 0.15 * lump), (0.35 + 0.25 * lump) * bulge(sd, 0.7), 0.2)


def broccoli(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """Florets of broccoli."""
    rng = scene.rng
    tint = vary(rng, colour(62, 104, 40), 0.06)
    for px, py in scatter(rng, 5, 0.55, 0.6):
        patch = scene.patch(cx + px * radius, cy + py * radius, radius * 0.42, rng.uniform(0, 6.28), 1.3)
        buds = patch.noise("beads", 2.6)
        sd = blob(rng, patch.x, patch.y, 0.15, 7)
        scene.paint(patch, patch.inside(sd), tint * (0.55 + 0.7 * buds), 0.5 * bulge(sd, 0.8) + 0.12 * buds, 0.1)


def petals(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A small heap of thin slices: ginger, ham, radish, onion."""
    rng = scene.rng
    tint = pick(rng, [colour(240, 176, 160), colour(244, 226, 190), colour(214, 130, 150), colour(236, 130, 60)])
    for px, py in scatter(rng, 9, 0.2, 0.45):
        patch = scene.patch(cx + px * radius, cy + py * radius, radius * 0.38, rng.uniform(0, 6.28), 1.4)
        fold = patch.noise("clouds", 1.6, 0.6)
        sd = blob(rng, patch.x, patch.y * 1.3, 0.15)
        scene.paint(patch, patch.inside(sd), vary(rng, tint, 0.03) * (0.85 + 0.2 * fold), 0.15 + 0.35 * fold, 0.4)


def herbs(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A sprig: a stem with small leaves."""
    rng = scene.rng
    tint, main = vary(rng, pick(rng, GREENS), 0.05), rng.uniform(0, 6.28)
    along = np.array([np.cos(main), np.sin(main)])
    stick(scene, cx, cy, radius, radius * 0.03, main, tint * 0.8)
    for place in np.linspace(-0.8, 1, 9):
        for side in (-1, 1):
            px, py = along * place * radius + np.array([-along[1], along[0]]) * side * radius * 0.18
            leaf_at(scene, cx + px, cy + py, radius * 0.22, main + side * 0.9, vary(rng, tint, 0.05))


def chopsticks(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """Two sticks side by side."""
    rng = scene.rng
    tint, main = pick(rng, WOODS + [colour(120, 20, 20), colour(24, 22, 24)]), rng.uniform(0, 3.14)
    for side in (-1, 1):
        px, py = np.array([-np.sin(main), np.cos(main)]) * side * radius * 0.13
        stick(scene, cx + px, cy + py, radius * 1.9, radius * 0.05, main + side * rng.uniform(0, 0.06), tint, 0.5)


def cutlery(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A knife or a fork of bright steel."""
    rng = scene.rng
    patch = scene.patch(cx, cy, radius * 1.7, rng.uniform(0, 6.28), 1.2)
    handle = box(patch.x + 0.5, patch.y, 0.5, 0.05, 0.04)
    if rng.random() < 0.5:
        head = np.maximum(box(patch.x - 0.5, patch.y - 0.02, 0.52, 0.075, 0.07), -patch.y - 0.05)
    else:
        head = np.minimum(box(patch.x - 0.15, patch.y, 0.18, 0.1, 0.1), box(patch.x - 0.6, patch.y, 0.35, 0.1, 0.02))
        head = np.maximum(head, np.where(patch.x > 0.32, 0.018 - np.abs(np.modf(np.abs(patch.y / 0.066))[0] - 0.5) * 0.066, -1))
    grip = pick(rng, [colour(205, 206, 210), colour(205, 206, 210), colour(40, 34, 32), colour(110, 70, 44)])
    scene.paint(patch, patch.inside(head), colour(208, 210, 214) * (0.7 + 0.4 * patch.noise("clouds", 1.5)), 0.03, 0.9)
    scene.paint(patch, patch.inside(handle), grip, 0.06 * bulge(handle, 0.05), 0.8)


def glass(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A glass or cup seen from above, with a drink."""
    rng = scene.rng
    patch = scene.patch(cx, cy, radius * 0.65)
    rho = disc(patch.x, patch.y, 0.0)
    drink = pick(rng, [colour(120, 20, 40), colour(214, 150, 50), colour(190, 200, 196), colour(60, 34, 20), colour(150, 180, 110)])
    tint = mix(drink * (0.8 + 0.2 * rho), colour(225, 230, 232), step(0.86, 0.92, rho))
    scene.paint(patch, patch.inside(rho - 1), tint, 0.45 + 0.3 * step(0.84, 0.9, rho), 1.0)


SIDES = [salad, salad, fries, beans, lemon, tomatoes, sauce_bowl, sauce_bowl, mash, mash, broccoli, petals, herbs, chopsticks,
         cutlery, cutlery, glass]  # fmt: skip


def draw_sides(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """Set zero to five side dishes or tools around a food that reaches `radius`."""
    rng = scene.rng
    start = rng.uniform(0, 6.28)
    for number in range(int(rng.integers(0, 6))):
        angle = start + number * 1.26 + rng.normal(0, 0.25)
        size = rng.uniform(0.2, 0.42) * (0.6 + 0.4 * radius)
        away = radius + size * rng.uniform(0.6, 1.3)
        pick(rng, SIDES)(scene, cx + away * np.cos(angle), cy + away * np.sin(angle), size)


def draw_garnish(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """Finish a dish with what any of them may get: chopped herbs, pepper, drizzled sauce, a sprig."""
    rng = scene.rng
    chance = rng.random()
    if chance < 0.15:
        flecks(scene, cx, cy, radius, int(rng.integers(15, 60)), 0.02, pick(rng, GREENS))
    elif chance < 0.22:
        flecks(scene, cx, cy, radius, int(rng.integers(15, 60)), 0.013, colour(30, 26, 24))
    elif chance < 0.3:
        drizzle(scene, cx, cy, radius * 0.7, rng.uniform(0, 6.28), vary(rng, pick(rng, SAUCE_TINTS), 0.04))
    elif chance < 0.38:
        herbs(scene, cx + rng.normal(0, 0.15), cy + rng.normal(0, 0.15), radius * rng.uniform(0.25, 0.4))

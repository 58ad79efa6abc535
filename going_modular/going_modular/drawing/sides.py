"""What lies beside and on the food: side dishes, cutlery, sauces, herbs; the same for every food."""

from __future__ import annotations

import numpy as np

from .scene import Scene
from .shapes import blob, box, bulge, colour, disc, leaf, mix, pick, scatter, step, vary
from .tableware import PLATE_TINTS, WOODS

SAUCE_TINTS = [
    colour(*c)
    for c in [
        (46, 22, 12), (150, 30, 16), (90, 46, 20), (232, 214, 170), (90, 120, 40), (220, 150, 40), (110, 20, 30),
        (240, 236, 220),
    ]
]  # fmt: skip
GREENS = [colour(*c) for c in [(70, 120, 30), (40, 90, 30), (120, 160, 60), (90, 60, 70), (150, 180, 90)]]


# --- small things, shared by foods and side dishes ---------------------------------------------------------------


def stick(
    scene: Scene,
    cx: float,
    cy: float,
    length: float,
    width: float,
    angle: float,
    tint: np.ndarray,
    gloss: float = 0.2,
    kind: str = "fibres",
) -> None:
    """A round rod: a fry, a bean, a chopstick, a strip of onion; `length` and `width` are halves."""
    patch = scene.patch(cx, cy, length, angle)
    ratio = width / length
    sd = box(patch.x, patch.y, 1.0, ratio, ratio * 0.8)
    scene.paint(
        patch, patch.inside(sd), tint * (0.8 + 0.35 * patch.noise(kind, 1.5)), 1.4 * ratio * bulge(sd, ratio), gloss
    )


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
    scene.paint(patch, patch.inside(sd, 0.04), tint * (0.9 + 0.2 * patch.noise("clouds", 2.0, 1, 1)), None, 0.8,
                scene.base_height(cx, cy) / radius + 0.04 * bulge(sd, 0.15))  # fmt: skip


def drizzle(scene: Scene, cx: float, cy: float, length: float, angle: float, tint: np.ndarray) -> None:
    """A zigzag of thin sauce over whatever lies there."""
    rng = scene.rng
    patch = scene.patch(cx, cy, length, angle, 1.1)
    swing, turns = rng.uniform(0.12, 0.35), rng.uniform(10, 24)
    phase = patch.x * turns + 2 * patch.noise("swell", 3.0)
    line = np.abs(patch.y - swing * np.sin(phase)) / np.sqrt(1 + (swing * turns * np.cos(phase)) ** 2)
    sd = np.maximum(line - 0.022, np.abs(patch.x) - 1)
    scene.paint(patch, patch.inside(sd, 0.01), tint, 0.015 * bulge(sd, 0.03), 0.7)


# --- side dishes -----------------------------------------------------------------------------------------------------


def salad(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A heap of leaves."""
    rng = scene.rng
    tint = pick(rng, GREENS)
    for px, py in scatter(rng, 16, 0.2, 0.8):
        leaf_at(
            scene,
            cx + px * radius,
            cy + py * radius,
            radius * rng.uniform(0.3, 0.55),
            rng.uniform(0, 6.28),
            vary(rng, tint, 0.08),
        )


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
    sd = np.maximum(rho - 1, float(rng.choice([-2, 0.0])) - patch.y)
    scene.paint(patch, patch.inside(sd), tint, 0.28 * bulge(sd, 0.1) - 0.03 * (1 - walls), 0.6)


def tomatoes(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """Small tomatoes, olives or grapes: shiny balls."""
    rng = scene.rng
    tint = pick(rng, [colour(196, 36, 22), colour(214, 90, 30), colour(60, 70, 30), colour(60, 24, 50)])
    for px, py in scatter(rng, int(rng.integers(2, 6)), 0.6, 0.7):
        patch = scene.patch(cx + px * radius, cy + py * radius, radius * 0.3)
        sd = disc(patch.x, patch.y)
        dome = np.sqrt(np.clip(1 - patch.x**2 - patch.y**2, 0, 1))
        scene.paint(
            patch, patch.inside(sd), vary(rng, tint, 0.05) * (0.85 + 0.2 * patch.noise("clouds")), 1.2 * dome, 0.9
        )


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
    tint = pick(
        rng,
        [
            colour(240, 226, 180),
            colour(150, 176, 90),
            colour(246, 240, 226),
            colour(236, 180, 160),
            colour(200, 120, 50),
        ],
    )
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
        head = np.maximum(
            head, np.where(patch.x > 0.32, 0.018 - np.abs(np.modf(np.abs(patch.y / 0.066))[0] - 0.5) * 0.066, -1)
        )
    grip = pick(rng, [colour(205, 206, 210), colour(205, 206, 210), colour(40, 34, 32), colour(110, 70, 44)])
    scene.paint(patch, patch.inside(head), colour(208, 210, 214) * (0.7 + 0.4 * patch.noise("clouds", 1.5)), 0.03, 0.9)
    scene.paint(patch, patch.inside(handle), grip, 0.06 * bulge(handle, 0.05), 0.8)


def glass(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A glass or cup seen from above, with a drink."""
    rng = scene.rng
    patch = scene.patch(cx, cy, radius * 0.65)
    rho = disc(patch.x, patch.y, 0.0)
    drink = pick(
        rng,
        [colour(120, 20, 40), colour(214, 150, 50), colour(190, 200, 196), colour(60, 34, 20), colour(150, 180, 110)],
    )
    tint = mix(drink * (0.8 + 0.2 * rho), colour(225, 230, 232), step(0.86, 0.92, rho))
    scene.paint(patch, patch.inside(rho - 1), tint, 0.45 + 0.3 * step(0.84, 0.9, rho), 1.0)


SIDES = [salad, salad, fries, beans, lemon, tomatoes, sauce_bowl, sauce_bowl, mash, mash, broccoli, petals, herbs]
SIDES += [chopsticks, cutlery, cutlery, glass]


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

"""Pizza: dough, crust, sauce, molten cheese, and what lies on it."""

from __future__ import annotations

import math

import numpy as np

from . import sides
from .scene import Patch, Scene
from .shapes import blob, box, bulge, colour, disc, mix, pick, scatter, step, vary


def pizza(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """A whole pizza, one with a slice gone, or one or more slices."""
    rng = scene.rng
    kind = rng.choice(["whole", "gap", "slice"], p=[0.55, 0.2, 0.25])
    turn = rng.uniform(0, 6.28)
    if kind == "slice":  # a slice is drawn as part of a larger pizza whose centre lies off the middle
        whole = radius * rng.uniform(1.25, 1.6)
        cx, cy = cx - 0.55 * whole * np.cos(turn), cy - 0.55 * whole * np.sin(turn)
        half_angle = rng.uniform(0.3, 0.5)
    else:
        whole, half_angle = radius, rng.uniform(0.25, 0.6)
    patch = scene.patch(cx, cy, whole, turn, 1.15)
    x, y = patch.x, patch.y
    rim = blob(rng, x, y, rng.uniform(0.01, 0.05), 6) + 0.02 * (patch.noise("clouds", 1.2) - 0.5)
    wedge = np.abs(y) * math.cos(half_angle) - x * math.sin(
        half_angle
    )  # distance to the outline of a slice, from its tip
    sd = np.maximum(rim, wedge) if kind == "slice" else np.maximum(rim, -wedge) if kind == "gap" else rim
    _pizza_base(scene, patch, rim, sd)

    previous, scene.stencil = scene.stencil, np.zeros_like(scene.height)
    scene.stencil[patch.window] = patch.inside(sd)
    _pizza_toppings(scene, cx, cy, whole, turn if kind == "slice" else None, half_angle)
    if kind != "slice" and rng.random() < 0.55:
        _pizza_cuts(scene, patch)
    scene.stencil = previous


def _pizza_base(scene: Scene, patch: Patch, rim: np.ndarray, sd: np.ndarray) -> None:
    """Dough, crust with charred bubbles, sauce, molten cheese with brown blisters and grease."""
    rng = scene.rng
    clouds, mottle = patch.noise("clouds", 0.9), patch.noise("mottle", 1.1, 1, 1)
    fine = patch.noise("mottle", 0.35, 1, 2)
    crust = rng.uniform(0.1, 0.2)
    depth = np.clip(rim * (-1 / crust), 0, 2)  # 0 at the rim, 1 where the crust ends
    torus = np.sqrt(np.clip(1 - (2 * np.clip(depth, 0, 1) - 1) ** 2, 0, 1))
    bubbles = step(0.62, 0.95, clouds) * torus
    shade = rng.uniform(0.68, 1.0)  # how long it was in the oven
    bake = np.clip(rng.uniform(0.05, 0.5) + 0.5 * torus * mottle + 0.35 * bubbles + 0.3 * (fine - 0.5), 0, 1)
    dough = mix(vary(rng, colour(238, 208, 152), 0.04), vary(rng, colour(168, 96, 40), 0.05), bake)
    char = step(rng.uniform(0.6, 1.0), 1.15, 0.55 * clouds + 0.5 * mottle + 0.25 * bubbles) * (depth < 1.2)
    dough = mix(dough, colour(40, 24, 16), 0.85 * char) * shade
    rise = 0.045 + rng.uniform(0.05, 0.09) * torus * (0.75 + 0.5 * clouds) + 0.02 * bubbles
    scene.paint(patch, patch.inside(sd), dough, rise * bulge(sd, 0.03) + 0.004 * fine, 0.12)

    inner = step(0.85, 1.05, depth + 0.25 * (clouds - 0.5)) * patch.inside(sd)
    style = rng.choice(["red", "cheese", "white", "dark"], p=[0.3, 0.42, 0.13, 0.15])
    sauce = {
        "red": colour(184, 40, 16),
        "cheese": colour(178, 56, 20),
        "white": colour(240, 222, 176),
        "dark": colour(96, 36, 18),
    }
    tint = vary(rng, sauce[style], 0.04) * (0.78 + 0.22 * mottle + 0.1 * fine)
    scene.paint(patch, inner, tint, 0.003 * mottle + 0.012 * patch.noise("swell", 0.6, 1, 1), 0.35 + 0.3 * mottle)

    cover = {"red": rng.uniform(0.15, 0.45), "dark": rng.uniform(0.3, 0.7)}.get(style, rng.uniform(0.75, 1.1))
    melt = 0.7 * patch.noise("swell", rng.uniform(0.9, 1.6), 1, 3) + 0.22 * clouds + 0.08 * mottle
    flow = inner * step(-0.06, 0.06, cover - melt - 0.5 * np.maximum(1.1 - depth, 0))
    pale, rich = vary(rng, colour(250, 230, 176), 0.03), vary(rng, colour(240, 178, 74), 0.05)
    cheese = mix(pale, rich, np.clip(rng.uniform(0, 0.8) + 0.9 * (clouds - 0.5) + 0.4 * (mottle - 0.5), 0, 1))
    grease = step(0.55, 0.95, patch.noise("clouds", 0.5, 1, 1)) * rng.uniform(0.1, 0.55)
    cheese = mix(cheese, colour(222, 120, 34), grease)
    blister = step(
        rng.uniform(0.6, 0.92), 1.0, 0.55 * patch.noise("mottle", 0.8, 1, 3) + 0.45 * patch.noise("clouds", 0.35, 1, 2)
    )
    cheese = mix(cheese, mix(colour(176, 96, 30), colour(84, 40, 18), fine), 0.9 * blister)
    folds = (
        0.05 * patch.noise("swell", 0.9, 1, 2)
        + 0.012 * patch.noise("clouds", 0.5, 1, 3)
        + 0.003 * mottle
        + 0.01 * blister
        + 0.001 * fine
    )
    scene.paint(patch, flow, cheese * shade, folds + 0.008, 0.4 + 0.5 * grease)


def _pizza_cuts(scene: Scene, patch: Patch) -> None:
    """The lines of the pizza cutter, through the middle."""
    rng = scene.rng
    first, count = rng.uniform(0, 3.14), int(rng.choice([2, 3, 4]))
    line = np.full_like(patch.x, 9)
    for number in range(count):
        angle = first + np.pi * number / count
        line = np.minimum(line, np.abs(patch.x * math.sin(angle) - patch.y * math.cos(angle)))
    scene.paint(patch, patch.inside(line - 0.008, 0.012), colour(120, 62, 26), -0.03, 0.05)


def _pepperoni(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A slice of cured sausage: fat specks, curled and darker rim, a little pool of grease."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size, rng.uniform(0, 6.28), 1.25)
    sd = blob(rng, patch.x, patch.y, 0.05)
    specks = step(0.72, 0.85, patch.noise("mottle", 2.2))
    tint = mix(vary(rng, colour(166, 44, 24), 0.04), vary(rng, colour(214, 110, 70), 0.04), 0.7 * specks)
    rim = np.exp(-(((sd + 0.08) / 0.12) ** 2))
    tint = mix(tint * (0.85 + 0.3 * patch.noise("clouds", 2.0, 1, 1)), colour(70, 18, 12), rng.uniform(0.3, 0.85) * rim)
    curl = 0.06 + rng.uniform(0.05, 0.3) * rim * (0.5 + patch.noise("clouds", 4.0, 1, 2))
    scene.paint(patch, patch.inside(sd), tint, curl, 0.5)


def _mozzarella(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A molten lump of white cheese."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size * 1.3, rng.uniform(0, 6.28), 1.4)
    sd = blob(rng, patch.x, patch.y, 0.1, 4)
    spot = step(0.75, 0.95, patch.noise("clouds", 1.3))
    tint = mix(colour(250, 242, 222), colour(226, 170, 84), np.clip(0.7 * spot + step(-0.2, 0, sd) * 0.35, 0, 1))
    scene.paint(patch, patch.inside(sd, 0.1), tint, 0.13 * bulge(sd, 0.8) + 0.06 * patch.noise("swell", 3.0, 1, 1), 0.4)


def _basil(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A leaf of basil."""
    sides.leaf_at(
        scene,
        cx,
        cy,
        size * scene.rng.uniform(1.0, 1.7),
        scene.rng.uniform(0, 6.28),
        vary(scene.rng, colour(54, 100, 32), 0.06),
    )


def _olive(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A ring of black or green olive."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size * 0.55)
    ring = np.abs(disc(patch.x, patch.y, 0.66)) - 0.32
    tint = vary(rng, pick(rng, [colour(36, 28, 30), colour(40, 30, 34), colour(112, 118, 46)]), 0.02)
    scene.paint(patch, patch.inside(ring), tint, 0.35 * bulge(ring, 0.3), 0.6)


def mushroom(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A slice through a mushroom: cap, gills, stem."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size, rng.uniform(0, 6.28))
    cap = np.maximum(disc(patch.x, patch.y * 1.2, 0.95), -patch.y - 0.15)
    stem = box(patch.x, patch.y + 0.35, 0.22, 0.45, 0.12)
    sd = np.minimum(cap, stem)
    tint = mix(
        colour(232, 214, 184),
        colour(120, 84, 54),
        np.maximum(step(-0.16, 0, cap) * (cap < 0.02), 0.7 * (np.abs(patch.y + 0.05) < 0.07)),
    )
    scene.paint(patch, patch.inside(sd), vary(rng, tint, 0.03), 0.14 * bulge(sd, 0.15), 0.3)


def _strip(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A bent strip of pepper or onion."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size * 1.2, rng.uniform(0, 6.28))
    arc = np.maximum(np.abs(disc(patch.x, patch.y, 0.7)) - rng.uniform(0.07, 0.14), -patch.y - rng.uniform(-0.1, 0.4))
    tint = pick(
        rng,
        [colour(80, 130, 40), colour(196, 40, 24), colour(226, 190, 60), colour(150, 90, 120), colour(226, 206, 190)],
    )
    scene.paint(patch, patch.inside(arc), vary(rng, tint, 0.05), 0.15 * bulge(arc, 0.09), 0.5)


def _tomato_slice(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A slice of tomato with its seed chambers."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size * 1.15, rng.uniform(0, 6.28))
    rho, angle = disc(patch.x, patch.y, 0.0), np.arctan2(patch.y, patch.x)
    chamber = step(0.1, 0.5, np.cos(angle * 5)) * step(0.25, 0.35, rho) * step(-0.8, -0.7, -rho)
    tint = mix(
        vary(rng, colour(204, 60, 34), 0.04), colour(226, 130, 60), chamber * (0.5 + 0.5 * patch.noise("mottle", 1.0))
    )
    scene.paint(patch, patch.inside(rho - 1), tint, 0.14 * bulge(rho - 1, 0.2) - 0.05 * chamber, 0.6)


def _chunk(scene: Scene, cx: float, cy: float, size: float) -> None:
    """A crumb of sausage, a cube of ham or pineapple."""
    rng = scene.rng
    patch = scene.patch(cx, cy, size * rng.uniform(0.5, 0.9), rng.uniform(0, 6.28), 1.3)
    sd = blob(rng, patch.x, patch.y, 0.16) if rng.random() < 0.5 else box(patch.x, patch.y, 0.9, 0.7, 0.2)
    tint = pick(rng, [colour(120, 70, 44), colour(220, 130, 116), colour(240, 200, 90), colour(90, 46, 30)])
    scene.paint(
        patch,
        patch.inside(sd),
        vary(rng, tint, 0.05) * (0.75 + 0.4 * patch.noise("mottle", 1.8)),
        0.4 * bulge(sd, 0.5),
        0.3,
    )


PIZZA_TOPPINGS = [_pepperoni, _pepperoni, _mozzarella, _basil, _olive, mushroom, _strip, _strip, _tomato_slice, _chunk]


def _pizza_toppings(scene: Scene, cx: float, cy: float, radius: float, turn: float | None, half_angle: float) -> None:
    """One to four kinds of topping, some to many of each; with `turn` only those that fall on that slice are drawn."""
    rng = scene.rng
    size = radius * rng.uniform(0.075, 0.13)
    kinds = [pick(rng, PIZZA_TOPPINGS) for _ in range(int(rng.choice([1, 1, 2, 3, 4])))]
    if rng.random() < 0.35:
        kinds[0] = _pepperoni
    places = scatter(rng, int(rng.integers(10, 60)), size / radius * rng.uniform(1.2, 2.0), 0.8)
    for x, y in places:
        draw = pick(rng, kinds)
        away = abs((np.arctan2(y, x) - (turn or 0) + np.pi) % (2 * np.pi) - np.pi)
        if turn is None or away < half_angle + 0.35:
            draw(scene, cx + x * radius, cy + y * radius, size)
    if rng.random() < 0.12:
        for x, y in scatter(rng, 16, 0.12, 0.5):
            sides.leaf_at(
                scene,
                cx + x * radius,
                cy + y * radius,
                size * 2,
                rng.uniform(0, 6.28),
                vary(rng, colour(70, 120, 40), 0.07),
            )
    if rng.random() < 0.3:
        sides.flecks(scene, cx, cy, radius, 40, 0.014, pick(rng, sides.GREENS))

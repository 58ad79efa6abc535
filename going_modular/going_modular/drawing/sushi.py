"""Sushi: nigiri, maki, uramaki, gunkan and sashimi."""

from __future__ import annotations

import math

import numpy as np

from . import sides
from .scene import Patch, Scene
from .shapes import blob, box, bulge, colour, mix, pick, step, vary

RICES = [colour(*c) for c in [(244, 238, 224), (244, 238, 224), (240, 232, 206), (226, 206, 170), (206, 176, 136)]]
NORI = colour(26, 34, 28)
SALMON, TUNA, PALE = colour(240, 128, 70), colour(176, 40, 50), colour(240, 206, 192)
FILLINGS = [
    SALMON,
    TUNA,
    colour(140, 180, 80),
    colour(226, 190, 80),
    colour(236, 120, 50),
    colour(244, 236, 220),
    colour(90, 56, 30),
]
SHIPLOADS = {
    "ikura": [colour(240, 110, 40), colour(226, 70, 30)],
    "tobiko": [colour(236, 120, 30), colour(210, 50, 30), colour(40, 36, 36)],
    "minced": [TUNA, SALMON, PALE, colour(236, 180, 90)],
    "salad": [colour(96, 140, 50), colour(60, 100, 60)],
}


def sushi(scene: Scene, cx: float, cy: float, radius: float) -> None:
    """One to some twenty pieces in rows: nigiri, maki, uramaki, gunkan, sashimi, one kind or mixed."""
    rng = scene.rng
    across = int(rng.choice([1, 2, 3, 4, 5], p=[0.06, 0.34, 0.34, 0.2, 0.06]))
    size = radius / across
    turn = rng.uniform(0, 6.28)
    c, s = np.cos(turn), np.sin(turn)
    choices = [_nigiri, _nigiri, _maki, _uramaki, _uramaki, _gunkan, _sashimi] if across > 1 else [_nigiri, _sashimi]
    kinds = [pick(rng, choices) for _ in range(int(rng.integers(1, 4)))]
    looks = {kind: rng.integers(1 << 30) for kind in kinds}
    rows = max(1, across - int(rng.integers(0, 2))) if across > 1 else 1
    messy, tilt = rng.choice([0.03, 0.2], p=[0.7, 0.3]), rng.normal(0, 0.4)
    mixed, squeeze = rng.random() < 0.35, rng.uniform(0.86, 1.0)
    places = []
    for row in range(rows):
        for column in range(across):
            u = (column - (across - 1) / 2) * 2 * squeeze + rng.normal(0, messy)
            v = (row - (rows - 1) / 2) * 2 * squeeze + rng.normal(0, messy)
            places.append((u * c - v * s, u * s + v * c, kinds[row % len(kinds)]))
    places = [place for place in places if rng.random() > 0.05 or len(places) < 3]
    for u, v, kind in sorted(places, key=lambda place: -place[1]):
        if mixed:
            kind = pick(rng, kinds)
        look = np.random.default_rng(looks[kind] + (int(rng.integers(4)) if mixed else 0))
        kind(scene, cx + u * size, cy + v * size, size * 0.98, turn + tilt + rng.normal(0, messy), look)


FISH = {  # flesh, lines in it, how strong they are
    "salmon": (SALMON, colour(252, 214, 180), 0.8),
    "tuna": (TUNA, colour(214, 110, 106), 0.3),
    "white": (PALE, colour(252, 240, 232), 0.7),
    "prawn": (colour(250, 232, 216), colour(232, 112, 60), 0.85),
}
RAW_FISH = ["salmon", "salmon", "salmon", "tuna", "tuna", "white", "white", "mackerel"]
TOPPINGS = RAW_FISH + ["salmon", "tuna", "prawn", "prawn", "egg", "egg", "eel"]


def _slice(
    patch: Patch, look: np.random.Generator, kind: str, x: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Colour and fine relief of a slice of fish, prawn, egg or eel; `x` (-1 to 1) runs along it, `y` across."""
    clouds, mottle = patch.noise("clouds", 1.5), patch.noise("mottle", 0.8, 1, 1)
    if kind == "egg":
        layers = np.sin(y * 40 + 2 * clouds)
        return vary(look, colour(240, 200, 90), 0.03) * (0.88 + 0.05 * layers + 0.1 * mottle), 0.01 * mottle
    if kind == "eel":
        glaze = np.clip(0.8 * patch.noise("fibres", 0.7, 1, 2) + 0.6 * clouds - 0.2, 0, 1)
        return mix(colour(150, 82, 36), colour(56, 28, 16), glaze), 0.03 * mottle
    slant, frequency = look.uniform(0.5, 1.3), look.uniform(10, 17)
    ridge = look.uniform(-0.15, 0.15) if look.random() < 0.5 else 1.0  # chevrons, or lines that run one way
    wave = np.sin((x + slant * np.abs(y - ridge)) * frequency + 3.0 * clouds)
    if kind == "mackerel":
        skin = mix(colour(196, 200, 206), colour(50, 66, 86), step(0.45, 0.6, y + 0.5 + 0.3 * wave))
        return skin * (0.85 + 0.2 * mottle), 0.01 * mottle
    flesh, fat, share = FISH[kind]
    lines = step(0.6, 1.0, wave)
    tint = mix(vary(look, flesh, 0.04) * (0.86 + 0.16 * clouds + 0.1 * mottle), fat, share * lines)
    if kind == "prawn":
        tint = mix(tint, colour(222, 84, 44), step(0.62, 0.95, x))
    return tint, 0.022 * (1 - lines) + 0.006 * mottle


def _nigiri(scene: Scene, cx: float, cy: float, size: float, turn: float, look: np.random.Generator) -> None:
    """A pillow of rice with a slice over it, perhaps tied with a strip of seaweed."""
    slim = look.uniform(0.42, 0.54)
    patch = scene.patch(cx, cy, size, turn, 1.2)
    x, y = patch.x, patch.y
    rice = patch.noise("rice", 1.35)
    pillow = box(x, y, 0.84, slim, slim * 0.7)
    base, ground = pillow - 0.03 * rice, scene.base_height(cx, cy) / size
    scene.paint(
        patch,
        patch.inside(base),
        vary(look, pick(look, RICES), 0.02) * (0.7 + 0.32 * rice),
        0.36 * bulge(base, 0.3) + 0.05 * rice,
        0.25,
    )
    bent = y + 0.08 * np.sin(x * 1.5 + look.uniform(0, 6)) + 0.04 * look.normal()
    wide = slim * look.uniform(0.78, 0.98)
    top = box(x, bent, 0.98, wide * (1 - 0.2 * look.uniform(-1, 1) * x), wide * 0.7)
    topping = pick(look, TOPPINGS)
    tint, relief = _slice(patch, look, topping, x, bent / wide * 0.5)
    edge = bulge(top, 0.1)
    dome = np.sqrt(np.clip(1 - (0.9 * bent / wide) ** 2, 0, 1))
    drape = ground + 0.38 * bulge(pillow - 0.06, 0.36) + (0.06 + 0.1 * dome) * edge
    scene.paint(patch, patch.inside(top), tint, None, 0.6, drape + relief * edge)
    if look.random() < (0.9 if topping == "egg" else 0.2):
        belt = box(x - look.uniform(-0.2, 0.2), y, 0.13, slim * 1.02, 0.04)
        scene.paint(patch, patch.inside(belt), NORI * (0.8 + 0.5 * patch.noise("mottle", 0.5)), 0.015, 0.3)


def _filling(scene: Scene, patch: Patch, look: np.random.Generator, reach: float) -> None:
    """The coloured heart of a roll: one to four pieces."""
    count = int(look.integers(1, 5))
    start = look.uniform(0, 6.28)
    for number in range(count):
        angle = start + 6.28 * number / count
        away = 0 if count == 1 else reach * 0.5
        x, y = patch.x - away * math.cos(angle), patch.y - away * math.sin(angle)
        wide = reach * (0.8 if count == 1 else look.uniform(0.42, 0.6))
        sd = box(x, y, wide, wide * look.uniform(0.7, 1.0), wide * 0.4) + 0.06 * (patch.noise("clouds", 1.5) - 0.5)
        tint = vary(look, pick(look, FILLINGS), 0.04) * (0.8 + 0.3 * patch.noise("mottle", 0.9, 1, 1))
        scene.paint(patch, patch.inside(sd), tint, 0.05 * bulge(sd, 0.15) - 0.015, 0.55)


def _maki(scene: Scene, cx: float, cy: float, size: float, turn: float, look: np.random.Generator) -> None:
    """A slice of a roll with the seaweed outside, standing on its side."""
    patch = scene.patch(cx, cy, size * look.uniform(0.78, 0.95), turn, 1.2)
    sd = blob(scene.rng, patch.x, patch.y * look.uniform(0.95, 1.1), 0.035, 4)
    rice = patch.noise("rice", 1.35)
    wall = look.uniform(0.07, 0.12)
    within = step(0.0, 0.03, -sd - wall)
    tint = mix(
        NORI * (0.7 + 0.7 * patch.noise("mottle", 0.6)),
        vary(look, pick(look, RICES), 0.02) * (0.7 + 0.32 * rice),
        within,
    )
    height, ground = look.uniform(0.55, 0.9), scene.base_height(cx, cy) / patch.scale
    scene.paint(patch, patch.inside(sd), tint, None, 0.2, ground + height + 0.06 * rice * within + 0.02 * (1 - within))
    _filling(scene, patch, look, look.uniform(0.32, 0.55))


def _uramaki(scene: Scene, cx: float, cy: float, size: float, turn: float, look: np.random.Generator) -> None:
    """A roll with the rice outside: sesame, roe or crumbs on it, or a slice of fish or avocado over it."""
    patch = scene.patch(cx, cy, size * look.uniform(0.85, 0.98), turn, 1.2)
    sd = blob(scene.rng, patch.x, patch.y * look.uniform(0.95, 1.15), 0.05, 4)
    rice = patch.noise("rice", 1.5)
    coat = look.choice(["plain", "sesame", "roe", "crumbs", "slice", "avocado"])
    tint, rise, outer = (
        vary(look, pick(look, RICES), 0.02) * (0.68 + 0.34 * rice),
        0.09 * rice,
        step(-0.3, -0.22, sd),
    )
    beads = patch.noise("beads", 2.6, 1, 1) if coat == "roe" else patch.noise("crumbs", 2.0, 1, 1)
    if coat == "roe":
        roe = pick(look, [colour(232, 96, 30), colour(214, 60, 24), colour(40, 36, 40), colour(150, 190, 60)])
        tint, rise = mix(tint, roe * (0.55 + 0.7 * beads), outer), rise + 0.03 * beads * outer
    elif coat == "crumbs":
        crumb = mix(colour(214, 150, 70), colour(150, 84, 34), patch.noise("mottle", 0.7, 1, 2))
        tint, rise = mix(tint, crumb * (0.6 + 0.6 * beads), outer), rise + 0.06 * beads * outer
    elif coat == "sesame":
        seeds = step(0.8, 0.85, patch.noise("crumbs", 1.6, 1, 2)) * outer
        tint = mix(tint, pick(look, [colour(34, 30, 28), colour(214, 178, 120)]), seeds)
    elif coat in ("slice", "avocado"):
        skin = _slice(patch, look, pick(look, RAW_FISH), patch.x, patch.y)[0]
        if coat == "avocado":
            skin = mix(
                colour(196, 206, 110),
                colour(96, 140, 50),
                np.clip(0.5 + 0.5 * np.sin(patch.x * 14 + patch.noise("clouds") * 2), 0, 1),
            )
        tint = mix(tint, skin, step(-0.2, -0.16, sd) * step(-0.5, -0.3, patch.y))
    ring = np.exp(-(((sd + 0.36) / 0.04) ** 2))
    tint = mix(tint, NORI, np.clip(1.3 * ring, 0, 1))
    scene.paint(
        patch,
        patch.inside(sd),
        tint,
        None,
        0.35,
        scene.base_height(cx, cy) / patch.scale + (look.uniform(0.5, 0.8) + rise) * bulge(sd, 0.14),
    )
    _filling(scene, patch, look, look.uniform(0.34, 0.5))
    if look.random() < 0.25:
        sides.drizzle(scene, cx, cy, size * 0.8, turn + 0.6, vary(look, pick(look, sides.SAUCE_TINTS), 0.04))


def _gunkan(scene: Scene, cx: float, cy: float, size: float, turn: float, look: np.random.Generator) -> None:
    """A ship: rice with a wall of seaweed around it, filled with roe, minced fish or seaweed salad."""
    patch = scene.patch(cx, cy, size, turn, 1.2)
    sd = box(patch.x, patch.y, 0.9, look.uniform(0.5, 0.62), 0.5)
    scene.paint(patch, patch.inside(sd), NORI * (0.7 + 0.7 * patch.noise("mottle", 0.6)), None, 0.3,
                scene.base_height(cx, cy) / size + 0.5 + 0.03 * patch.noise("clouds"))  # fmt: skip
    kind = look.choice(["ikura", "tobiko", "minced", "salad"])
    inner = sd + 0.09
    size_of_grain = {"ikura": 1.5, "tobiko": 3.5}.get(str(kind), 2.0)
    beads = patch.noise("beads", size_of_grain, 1, 1)
    tint = vary(look, pick(look, SHIPLOADS[str(kind)]), 0.04)
    if kind in ("minced", "salad"):
        beads = patch.noise("fibres" if kind == "salad" else "crumbs", 0.8, 1, 2)
    scene.paint(
        patch, patch.inside(inner), tint * (0.5 + 0.75 * beads), 0.16 * bulge(inner, 0.4) + 0.12 * beads - 0.05, 0.9
    )


def _sashimi(scene: Scene, cx: float, cy: float, size: float, turn: float, look: np.random.Generator) -> None:
    """Thick slices of raw fish that lean on one another."""
    count, width = int(look.integers(2, 5)), look.uniform(0.6, 0.9)
    fish, fish_seed = pick(look, RAW_FISH), int(look.integers(1 << 30))
    for number in range(count):
        offset = (number - (count - 1) / 2) * 1.5 / count * size
        angle = turn + np.pi / 2 + scene.rng.normal(0, 0.05)
        patch = scene.patch(cx + offset * np.cos(turn), cy + offset * np.sin(turn), size * width, angle, 1.3)
        sd = box(patch.x + 0.2 * patch.y, patch.y, 1.0, 0.5, 0.16)
        tint, relief = _slice(patch, np.random.default_rng(fish_seed), fish, patch.x * 0.7, patch.y * 0.5)
        scene.paint(patch, patch.inside(sd), tint, (0.12 + 0.14 * patch.y) * bulge(sd, 0.08) + relief, 0.7)

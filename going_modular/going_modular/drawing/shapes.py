"""Colours, noise and outlines: what everything in a scene is made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

import numpy as np

T = TypeVar("T")
TILE = 512  # side of a noise tile, a power of two


# --- numbers and colours ---------------------------------------------------------------------------------------------


def colour(red: float, green: float, blue: float) -> np.ndarray:
    """Turn values of 0 to 255 into a colour of shape (3, 1, 1)."""
    return np.array([red, green, blue], np.float32).reshape(3, 1, 1) / 255


def vary(rng: np.random.Generator, base: np.ndarray, amount: float = 0.06) -> np.ndarray:
    """Return the colour shifted at random: brightness by `amount`, each channel by a third of it."""
    shift = rng.normal(0, amount) + rng.normal(0, amount / 3, (3, 1, 1))
    return np.clip(base + shift, 0.01, 1).astype(np.float32)


def pick(rng: np.random.Generator, choices: Sequence[T]) -> T:
    """Return one of the choices at random."""
    return choices[int(rng.integers(len(choices)))]


def mix(first: np.ndarray, second: np.ndarray, share: np.ndarray | float) -> np.ndarray:
    """Blend two colours; `share` (h, w) is how much of the second one there is."""
    return first + (second - first) * share


def step(low: float, high: float, values: np.ndarray) -> np.ndarray:
    """Rise softly from 0 at `low` to 1 at `high`."""
    t = np.clip((values - low) * (1 / (high - low)), 0, 1)
    return t * t * (3 - 2 * t)


def bulge(distance: np.ndarray, width: float) -> np.ndarray:
    """Profile of a rounded edge: 0 at the outline (distance 0), 1 from `width` inside on."""
    t = np.clip(distance * (-1 / width), 0, 1)
    return np.sqrt(t * (2 - t))


# --- noise tiles: made once, repeat without a seam --------------------------------------------------------------------


def _spectrum_noise(seed: int, slope: float, stretch: float = 1.0, cut: float = 0.5) -> np.ndarray:
    """Noise whose amplitude falls with frequency to the power `slope`; ranks, so that values are uniform in 0 to 1."""
    white = np.random.default_rng(seed).standard_normal((TILE, TILE))
    fy = np.fft.fftfreq(TILE)[:, None] * stretch
    fx = np.fft.rfftfreq(TILE)[None, :]
    frequency = np.hypot(fx, fy)
    frequency[0, 0] = 1
    shaped = np.fft.irfft2(np.fft.rfft2(white) * frequency**-slope * (frequency < cut), (TILE, TILE))
    ranks = np.empty(TILE * TILE, np.float32)
    ranks[np.argsort(shaped, axis=None)] = np.linspace(0, 1, TILE * TILE, dtype=np.float32)
    return ranks.reshape(TILE, TILE)


def _packed_grains(seed: int, count: int, length: float, width: float) -> np.ndarray:
    """Heights (0 to 1) of many rounded grains that lie over one another; sizes in tile points."""
    rng = np.random.default_rng(seed)
    heights = np.zeros((TILE, TILE), np.float32)
    reach = int(length) + 1
    grid = np.arange(-reach, reach + 1, dtype=np.float32)
    for _ in range(count):
        row, column = rng.integers(0, TILE, 2)
        angle, lift = rng.uniform(0, np.pi), rng.uniform(0.0, 0.35)
        along = (grid * np.cos(angle) + grid[:, None] * np.sin(angle)) / length
        across = (grid[:, None] * np.cos(angle) - grid * np.sin(angle)) / width
        dome = np.sqrt(np.clip(1 - along**2 - across**2, 0, 1))
        place = np.ix_((row + np.arange(-reach, reach + 1)) % TILE, (column + np.arange(-reach, reach + 1)) % TILE)
        heights[place] = np.maximum(heights[place], (0.65 * dome + lift) * (dome > 0))
    return heights


@cache
def tile(kind: str, level: int = 0) -> np.ndarray:
    """Return a square map with values 0 to 1: clouds, swell, mottle, grain, fibres, rice, beads or crumbs.

    Its side is TILE, halved `level` times by averaging, so that small things get smooth texture instead of grit.
    """
    if level > 0:
        finer = tile(kind, level - 1)
        return (finer[::2, ::2] + finer[1::2, ::2] + finer[::2, 1::2] + finer[1::2, 1::2]) / 4
    makers = {
        "clouds": lambda: _spectrum_noise(1, 1.9),
        "swell": lambda: _spectrum_noise(8, 1.6, cut=0.03),
        "mottle": lambda: _spectrum_noise(2, 1.1, cut=0.2),
        "grain": lambda: _spectrum_noise(3, 0.3),
        "fibres": lambda: _spectrum_noise(4, 1.3, stretch=14.0),
        "rice": lambda: _packed_grains(5, 900, 27, 12),
        "beads": lambda: _packed_grains(6, 800, 19, 19),
        "crumbs": lambda: _packed_grains(7, 2600, 10, 8),
    }
    return makers[kind]()


@cache
def film() -> np.ndarray:
    """Return sensor noise, (TILE, TILE, 3): mostly grey, a little coloured, of spread 1."""
    rng = np.random.default_rng(9)
    grey, tinted = rng.standard_normal((TILE, TILE, 1), np.float32), rng.standard_normal((TILE, TILE, 3), np.float32)
    return 0.87 * grey + 0.5 * tinted


# --- shapes: signed distance to an outline, negative inside ----------------------------------------------------------


def disc(x: np.ndarray, y: np.ndarray, radius: float = 1.0) -> np.ndarray:
    """Distance to a circle."""
    return np.sqrt(x * x + y * y) - radius


def box(x: np.ndarray, y: np.ndarray, half_width: float, half_height: float, corner: float) -> np.ndarray:
    """Distance to a rectangle with round corners; with `corner` = `half_height` it is a capsule."""
    dx, dy = np.abs(x) - (half_width - corner), np.abs(y) - (half_height - corner)
    outside = np.sqrt(np.maximum(dx, 0) ** 2 + np.maximum(dy, 0) ** 2)
    return outside + np.minimum(np.maximum(dx, dy), 0) - corner


def blob(rng: np.random.Generator, x: np.ndarray, y: np.ndarray, rough: float = 0.08, lobes: int = 5) -> np.ndarray:
    """Distance (roughly) to a circle of radius 1 with a wavy outline."""
    angle = np.arctan2(y, x)
    radius = np.ones_like(angle)
    for lobe in range(2, lobes + 2):
        radius += rng.normal(0, rough / np.sqrt(lobe)) * np.cos(lobe * angle + rng.uniform(0, 6.28))
    return np.sqrt(x * x + y * y) - radius


def leaf(x: np.ndarray, y: np.ndarray, width: float = 0.45) -> np.ndarray:
    """Distance (roughly) to a pointed leaf from x = -1 to x = 1."""
    return np.abs(y) - width * (1 - x * x) * (1 - 0.25 * x)


def scatter(rng: np.random.Generator, count: int, spacing: float, radius: float = 1.0) -> np.ndarray:
    """Throw up to `count` places into a disc, no two closer than `spacing`; shape (n, 2)."""
    places = rng.uniform(-radius, radius, (count * 6, 2)).astype(np.float32)
    close = ((places[:, None] - places) ** 2).sum(axis=2) < spacing**2
    free = (places**2).sum(axis=1) <= radius**2
    kept = []
    for number in range(len(places)):
        if free[number] and len(kept) < count:
            kept.append(number)
            free &= ~close[number]
    return places[kept]


def layout(rng: np.random.Generator, radius: float, counts: Sequence[int]) -> list[tuple[float, float, float]]:
    """Lay out one of `counts` pieces in rows that together reach `radius`: (x, y, size) of each, the far ones first."""
    count = pick(rng, counts)
    if count == 1:
        return [(0.0, 0.0, radius)]
    across = math.ceil(math.sqrt(count))
    rows = math.ceil(count / across)
    turn, squeeze, messy = rng.uniform(0, 6.28), rng.uniform(0.86, 1.02), pick(rng, [0.03, 0.14])
    size = radius / across * rng.uniform(0.95, 1.12)
    places = []
    for number in range(count):
        row, column = divmod(number, across)
        in_row = min(across, count - row * across)
        u = ((column - (in_row - 1) / 2) * 2 * squeeze + rng.normal(0, messy)) * size
        v = ((row - (rows - 1) / 2) * 1.9 * squeeze + rng.normal(0, messy)) * size
        places.append((u * math.cos(turn) - v * math.sin(turn), u * math.sin(turn) + v * math.cos(turn), size))
    return sorted(places, key=lambda place: -place[1])


def bite(rng: np.random.Generator, x: np.ndarray, y: np.ndarray, share: float) -> np.ndarray:
    """Distance to what is left after a bite from the edge of a disc, or (with chance 1 - `share`) no bite."""
    if rng.random() > share:
        return np.full_like(x, -9)
    middle, left = rng.uniform(0, 6.28), np.full_like(x, -9)
    for shift in (-0.34, 0.0, 0.34):
        angle = middle + shift
        left = np.maximum(left, 0.3 - disc(x - 0.95 * math.cos(angle), y - 0.95 * math.sin(angle), 0.0))
    return left

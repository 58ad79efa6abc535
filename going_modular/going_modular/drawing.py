"""A small painter of still lifes: a relief map is painted from above, then lit, then looked at through a camera.

A `Scene` holds four maps of the table: colour, height, gloss, and the place (x, y) that every map point has. Things are
painted on it one over the other, each within its own bounding box. `Scene.photograph` casts light and shadow over the
relief, lifts every point by its height in perspective, and turns the result into a photo. Needs numpy and Pillow only.

Units: the frame is about 2 wide, x to the right, y away from the camera, height towards the sky. Colours are sRGB, 0 to 1,
arrays of shape (3, 1, 1) or (3, height, width), float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image, ImageFilter

TILE = 512  # side of a noise tile, a power of two
OVERSAMPLING = 1.15  # how much finer the maps are than the picture
FRONT_MARGIN = 0.16  # how far the maps reach below the frame (share of its side), for tall things that stand there


# --- numbers and colours ---------------------------------------------------------------------------------------------


def colour(red: float, green: float, blue: float) -> np.ndarray:
    """Turn values of 0 to 255 into a colour of shape (3, 1, 1)."""
    return np.array([red, green, blue], np.float32).reshape(3, 1, 1) / 255


def vary(rng: np.random.Generator, base: np.ndarray, amount: float = 0.06) -> np.ndarray:
    """Return the colour shifted at random: brightness by `amount`, each channel by a third of it."""
    shift = rng.normal(0, amount) + rng.normal(0, amount / 3, (3, 1, 1))
    return np.clip(base + shift, 0.01, 1).astype(np.float32)


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


@lru_cache(maxsize=None)
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


# --- the scene --------------------------------------------------------------------------------------------------------


@dataclass
class Patch:
    """A window of the scene with its own coordinates.

    `x` and `y` (h, w) are in units of `scale`, turned by the patch's angle; `pixel` is the size of a map point in them.
    """

    window: tuple[slice, slice]
    x: np.ndarray
    y: np.ndarray
    scale: float
    pixel: float
    shift: np.ndarray

    def inside(self, distance: np.ndarray, soft: float = 0.0) -> np.ndarray:
        """Turn a distance to an outline into a mask with a smooth edge: 1 inside, 0 outside."""
        return np.clip(0.5 - distance / (1.6 * self.pixel + soft), 0, 1)

    def noise(self, kind: str, size: float = 1.0, stretch: float = 1.0, layer: int = 0) -> np.ndarray:
        """Look up a noise tile; a tile covers `size` units of x, and `size` times `stretch` of y."""
        points = TILE * self.pixel / (size * min(1.0, stretch))  # tile points under one map point
        level = int(np.clip(np.log2(max(points, 1e-6)) + 0.3, 0, 6))
        side, move = TILE >> level, self.shift[layer]
        columns = (self.x * np.float32(side / size) + np.float32(move[0])).astype(np.int32) & (side - 1)
        rows = (self.y * np.float32(side / size / stretch) + np.float32(move[1])).astype(np.int32) & (side - 1)
        return tile(kind, level).ravel()[rows * side + columns]


class Scene:
    """The table as relief map, the light over it, and the camera that looks at it.

    Args:
        rng: where all chance comes from.
        size: side of the finished photo in pixels.
    """

    def __init__(self, rng: np.random.Generator, size: int) -> None:
        self.rng, self.size = rng, size
        side = self.side = max(16, round(size * OVERSAMPLING))
        rows = self.rows = round(side * (1 + FRONT_MARGIN))
        tilt = np.deg2rad(rng.choice([rng.uniform(2, 20), rng.uniform(25, 57)], p=[0.3, 0.7]))
        self.sin, self.cos, self.far = float(np.sin(tilt)), float(np.cos(tilt)), float(rng.uniform(3.5, 7))

        screen_y = 1 - 2 * (np.arange(rows, dtype=np.float32)[:, None] + 0.5) / side
        screen_x = 2 * (np.arange(side, dtype=np.float32)[None, :] + 0.5) / side - 1
        self.y = (screen_y * self.far / (self.far * self.cos - screen_y * self.sin)).astype(np.float32)
        self.depth = (self.far + self.y * self.sin).astype(np.float32)
        self.x = (screen_x * self.depth / self.far).astype(np.float32)

        self.colour = np.full((3, rows, side), 0.5, np.float32)
        self.height = np.zeros((rows, side), np.float32)
        self.gloss = np.zeros((rows, side), np.float32)
        self.stencil: np.ndarray | None = None

    def _row(self, y: float) -> float:
        """Map row of the table line `y`."""
        depth = max(self.far + y * self.sin, 0.3)
        return (1 - y * self.cos * self.far / depth) / 2 * self.side - 0.5

    def patch(self, cx: float, cy: float, scale: float, angle: float = 0.0, reach: float = 1.15) -> Patch:
        """Open a window around (cx, cy) that reaches `reach` times `scale` to every side."""
        extent = scale * reach
        top, bottom = np.clip([self._row(cy + extent), self._row(cy - extent) + 2], 0, self.rows).astype(int)
        near = self.far / max(self.far + (cy - extent) * self.sin, 0.3)
        away = self.far / (self.far + max(cy + extent, 0) * self.sin)
        edges = [(cx + sign * extent) * zoom for sign in (-1, 1) for zoom in (near, away)]
        left, right = np.clip((np.array([min(edges), max(edges)]) + 1) / 2 * self.side + [-1, 2], 0, self.side).astype(int)
        window = (slice(top, max(bottom, top)), slice(left, max(right, left)))
        dx, dy = (self.x[window] - cx) / scale, (self.y[window[0]] - cy) / scale
        c, s = np.float32(np.cos(angle)), np.float32(np.sin(angle))
        pixel = 2 / self.side / scale / min(near, 2.0)
        shift = self.rng.integers(0, TILE, (4, 2))
        return Patch(window, dx * c + dy * s, dy * c - dx * s, scale, pixel, shift)

    def ground(self, angle: float = 0.0) -> Patch:
        """Open a window over the whole map, with the table's own coordinates turned by `angle`."""
        c, s = np.float32(np.cos(angle)), np.float32(np.sin(angle))
        shift = self.rng.integers(0, TILE, (4, 2))
        x, y = self.x * c + self.y * s, self.y * c - self.x * s
        return Patch((slice(None), slice(None)), x, y, 1.0, 2 / self.side, shift)

    def paint(
        self,
        patch: Patch,
        mask: np.ndarray,
        tint: np.ndarray | None = None,
        rise: np.ndarray | float | None = None,
        gloss: np.ndarray | float | None = None,
        level: np.ndarray | float | None = None,
    ) -> None:
        """Lay a thing down where `mask` is 1: its colour, what it adds to the height (`rise`) or the height itself.

        `rise` and `level` are in units of the patch. A stencil, if set, keeps the paint inside it.
        """
        if self.stencil is not None:
            mask = mask * self.stencil[patch.window]
        if tint is not None:
            under = self.colour[:, patch.window[0], patch.window[1]]
            under += (tint - under) * mask
        if rise is not None:
            self.height[patch.window] += rise * mask * np.float32(patch.scale)
        if level is not None:
            under = self.height[patch.window]
            under += (level * np.float32(patch.scale) - under) * mask
        if gloss is not None:
            under = self.gloss[patch.window]
            under += (gloss - under) * mask

    def base_height(self, cx: float, cy: float) -> float:
        """Height of the relief at a place (0 outside the map)."""
        row = int(self._row(cy))
        depth = self.far + cy * self.sin
        column = int((cx * self.far / max(depth, 0.3) + 1) / 2 * self.side)
        if 0 <= row < self.rows and 0 <= column < self.side:
            return float(self.height[row, column])
        return 0.0

    # --- light and camera ----------------------------------------------------------------------------------------------

    def _lit(self) -> np.ndarray:
        """Colours under the scene's lamp: diffuse light, cast shadows, dimmer hollows, highlights; linear, (3, rows, side)."""
        rng, height = self.rng, self.height
        azimuth, rise = rng.uniform(-0.5, 3.64), np.deg2rad(rng.uniform(28, 65))
        sun = np.array([np.cos(azimuth) * np.cos(rise), np.sin(azimuth) * np.cos(rise), np.sin(rise)], np.float32)
        spacing_x = 2 / self.side * self.depth / self.far
        slope_x, slope_y = np.zeros_like(height), np.zeros_like(height)
        slope_x[:, 1:-1] = (height[:, 2:] - height[:, :-2]) / (2 * spacing_x)
        slope_y[1:-1] = (height[2:] - height[:-2]) / (self.y[2:] - self.y[:-2])
        shorten = 1 / np.sqrt(1 + slope_x**2 + slope_y**2)
        facing = (sun[2] - slope_x * sun[0] - slope_y * sun[1]) * shorten
        softness = rng.uniform(0.1, 0.35)
        direct = np.clip((facing + softness) / (1 + softness), 0, 1) * (1 - rng.uniform(0.5, 0.9) * self._shadow(sun))

        ambient = rng.uniform(0.25, 0.6)
        warmth = rng.normal(0, 0.05)
        lamp = np.array([1 + warmth, 1, 1 - warmth], np.float32).reshape(3, 1, 1)
        sky = np.array([1 - warmth, 1, 1 + 1.5 * warmth], np.float32).reshape(3, 1, 1)
        hollows = self._hollows()
        light = sky * (ambient * hollows * (0.75 + 0.25 * shorten)) + lamp * (direct * (1.25 - ambient) * (0.5 + 0.5 * hollows))

        half = sun + np.array([0, -self.sin, self.cos], np.float32)
        half /= np.linalg.norm(half)
        shine = np.clip((half[2] - slope_x * half[0] - slope_y * half[1]) * shorten, 0, 1)
        shine = shine**2
        shine = shine**2
        broad = shine**2
        sharp = broad**2
        sharp = sharp**2
        highlight = self.gloss * (0.12 * broad + 0.75 * sharp * sharp + 0.25 * sharp) * (0.35 + 0.65 * direct)
        return self.colour**2 * light + lamp * highlight

    def _shadow(self, sun: np.ndarray) -> np.ndarray:
        """How much of the lamp each place loses to higher things on the lamp's side (0 to 1)."""
        height, blocked = self.height, np.zeros_like(self.height)
        flat = float(np.hypot(sun[0], sun[1]))
        row_step = self.side / 2 * self.cos
        for distance in np.geomspace(0.012, 0.5, 13):
            rows = int(round(-sun[1] / flat * distance * row_step))
            columns = int(round(sun[0] / flat * distance * self.side / 2))
            here = (slice(max(0, -rows), self.rows - max(0, rows)), slice(max(0, -columns), self.side - max(0, columns)))
            there = (slice(max(0, rows), self.rows + min(0, rows)), slice(max(0, columns), self.side + min(0, columns)))
            excess = (height[there] - height[here] - np.float32(distance * sun[2] / flat)) * np.float32(
                1 / (0.012 + 0.12 * distance)
            )
            blocked[here] = np.maximum(blocked[here], excess)
        return np.clip(blocked, 0, 1)

    def _hollows(self) -> np.ndarray:
        """Ambient light: 1 on open ground, less where the surroundings stand higher."""
        open_sky = np.ones_like(self.height)
        relief = Image.fromarray(self.height)
        for reduction, depth in ((5, 10.0), (16, 5.0)):
            small = relief.resize((max(2, self.side // reduction), max(2, self.rows // reduction)), Image.Resampling.BOX)
            around = np.asarray(small.resize((self.side, self.rows), Image.Resampling.BICUBIC))
            open_sky /= 1 + depth * np.clip(around - self.height, 0, None)
        return open_sky

    def _projected(self, lit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Look at the lit relief from the camera; returns colours (3, side, side) and depth (side, side)."""
        side = self.side
        lifted = (self.y * self.cos + self.height * self.sin) * self.far / (self.depth - self.height * self.cos)
        reached = np.maximum.accumulate(((lifted + 1) * (side / 2))[::-1], axis=0)
        bins = np.clip(np.ceil(reached - 0.5), 0, side).astype(np.int64)
        columns = np.arange(side)
        counts = np.bincount((bins * side + columns).ravel(), minlength=(side + 1) * side).reshape(side + 1, side)
        first = np.minimum(np.cumsum(counts[:side], axis=0), self.rows - 1)
        before = np.maximum(first - 1, 0)
        flat_first, flat_before = (first * side + columns).ravel(), (before * side + columns).ravel()
        edge = reached.ravel()
        top, bottom = edge[flat_first], edge[flat_before]
        jump = top - bottom
        line = np.repeat(np.arange(side, dtype=np.float32) + 0.5, side)
        share = np.clip((line - bottom) / np.maximum(jump, 1e-3), 0, 1)
        upward = np.ascontiguousarray(lit[:, ::-1].reshape(3, -1).T)
        behind, ahead = upward[flat_before], upward[flat_first]
        seen = behind + (ahead - behind) * share[:, None]

        # A wall (a leap in height) takes the colours along its upper edge, shuffled a little.
        spots = np.flatnonzero(jump > 2)
        source = flat_first[spots]
        grain = tile("mottle", 1)[spots // side % 256, spots % side % 256] - 0.5
        relief = self.height[::-1].ravel()
        texture = np.zeros((len(spots), 3), np.float32)
        for reach in (side / 45, -side / 60):
            moved = np.clip(source + np.rint(grain * reach + reach / 4).astype(np.int64), 0, relief.size - 1)
            texture += upward[np.where(relief[moved] > 0.9 * relief[source], moved, source)] / 2
        wallness = np.clip((jump[spots] - 2) / 4, 0, 1)
        shade = 1 - wallness * (0.45 - 0.45 * share[spots] + 0.5 * grain)
        seen[spots] += (texture - seen[spots]) * wallness[:, None]
        seen[spots] *= shade[:, None]
        seen = seen.T.reshape(3, side, side)
        depth = self.depth[::-1, 0][first]
        return seen[:, ::-1], depth[::-1]

    def photograph(self) -> Image.Image:
        """Take the photo: light, camera, lens (focus, vignette), sensor (exposure, colour cast, noise)."""
        rng, size = self.rng, self.size
        light, depth = self._projected(self._lit())
        light *= self._exposure(light)
        shown = np.sqrt(np.clip(light / (1 + 0.42 * light) * 1.22, 0, 1))

        ramp = np.linspace(-1, 1, self.side, dtype=np.float32)
        corner = (ramp[:, None] - rng.normal(0, 0.2)) ** 2 + (ramp - rng.normal(0, 0.2)) ** 2
        shown *= 1 - np.float32(rng.uniform(0, 0.28)) * np.clip(corner, 0, 2)
        grey = shown.mean(axis=0)
        shown = grey + (shown - grey) * np.float32(rng.uniform(0.8, 1.4))
        shown = (shown - 0.45) * np.float32(rng.uniform(0.85, 1.2)) + 0.45 + np.float32(rng.normal(0, 0.03))

        picture = Image.fromarray(_to_bytes(shown))
        picture = self._focused(picture, depth).resize((size, size), Image.Resampling.LANCZOS)
        if rng.random() < 0.25:
            picture = picture.filter(ImageFilter.GaussianBlur(float(rng.uniform(0.2, 0.7)) * size / 256))
        pixels = np.asarray(picture, np.float32).transpose(2, 0, 1) / 255
        strength = rng.uniform(0.001, 0.012)
        offset = rng.integers(0, TILE, 2)
        rows, columns = (offset[0] + np.arange(size)) % TILE, (offset[1] + np.arange(size)) % TILE
        speckle = tile("grain")[np.ix_(rows, columns)] - 0.5
        tinted = rng.standard_normal((3, size, size), np.float32) * np.float32(0.5)
        return Image.fromarray(_to_bytes(pixels + np.float32(strength) * (3 * speckle + tinted)))

    def _exposure(self, light: np.ndarray) -> np.ndarray:
        """Gain of each channel: a camera that meters and balances the middle of the frame, and errs at random."""
        rng, quarter = self.rng, self.side // 4
        middle = np.maximum(light[:, quarter : 3 * quarter, quarter : 3 * quarter].mean(axis=(1, 2)), 0.02)
        grey = middle.mean()
        gain = np.exp(rng.normal(-1.0, 0.3)) * grey ** -rng.uniform(0.75, 1.0)
        balance = (grey / middle) ** rng.uniform(0.15, 0.75)
        cast = np.exp(rng.normal(0, 0.08, 3) + rng.normal(0, 0.13) * np.array([1, 0, -1]))
        return (gain * balance * cast).astype(np.float32).reshape(3, 1, 1)

    def _focused(self, picture: Image.Image, depth: np.ndarray) -> Image.Image:
        """Blur what lies far before or behind the plane of focus."""
        strength = self.rng.uniform(0, 1.4)
        if strength < 0.35:
            return picture
        focus = self.far + self.rng.normal(0, 0.12)
        amount = np.clip((np.abs(depth - focus) - 0.25) * strength, 0, 1)
        blurred = picture.filter(ImageFilter.BoxBlur(self.side / 110))
        blurred = blurred.filter(ImageFilter.BoxBlur(self.side / 110))
        return Image.composite(blurred, picture, Image.fromarray((amount * 255).astype(np.uint8)))


def _to_bytes(planes: np.ndarray) -> np.ndarray:
    """(3, h, w) floats of 0 to 1 as (h, w, 3) bytes."""
    return np.ascontiguousarray((np.clip(planes, 0, 1) * 255 + 0.5).astype(np.uint8).transpose(1, 2, 0))

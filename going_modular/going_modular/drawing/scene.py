"""A small painter of still lifes: a relief map is painted from above, then lit, then looked at through a camera.

A `Scene` holds maps of the table: colour, height, gloss, and the place (x, y) of every map point. Things are painted
on it one over the other, each within its own bounding box. `Scene.photograph` casts light and shadow over the relief,
lifts every point by its height in perspective, and turns the result into a photo.

Units: the frame is about 2 wide, x to the right, y away from the camera, height towards the sky. Colours are sRGB,
0 to 1, arrays of shape (3, 1, 1) or (3, height, width), float32.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageEnhance, ImageFilter

from .shapes import TILE, film, tile

OVERSAMPLING = 1.15  # how much finer the maps are than the picture
FRONT_MARGIN = 0.36  # room below the frame for tall things, a share of its side; less the more the camera looks down


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
        tilt = np.deg2rad(rng.choice([rng.uniform(2, 20), rng.uniform(25, 57)], p=[0.3, 0.7]))
        self.sin, self.cos, self.far = float(np.sin(tilt)), float(np.cos(tilt)), float(rng.uniform(3.5, 7))
        rows = self.rows = round(side * (1 + FRONT_MARGIN * self.sin))

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
        cx, cy, scale = float(cx), float(cy), float(scale)  # NumPy's own numbers would widen every array
        extent = scale * reach
        top, bottom = np.clip([self._row(cy + extent), self._row(cy - extent) + 2], 0, self.rows).astype(int)
        near = self.far / max(self.far + (cy - extent) * self.sin, 0.3)
        away = self.far / (self.far + max(cy + extent, 0) * self.sin)
        edges = [(cx + sign * extent) * zoom for sign in (-1, 1) for zoom in (near, away)]
        columns = (np.array([min(edges), max(edges)]) + 1) / 2 * self.side + [-1, 2]
        left, right = np.clip(columns, 0, self.side).astype(int)
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
        if rise is not None or level is not None:
            solid = np.clip(3 * mask - 2, 0, 1)  # the relief begins where the colour is nearly full: clean edges
        if rise is not None:
            self.height[patch.window] += rise * solid * np.float32(patch.scale)
        if level is not None:
            under = self.height[patch.window]
            under += (level * np.float32(patch.scale) - under) * solid
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

    # --- light and camera --------------------------------------------------------------------------------------------

    def _lit(self) -> np.ndarray:
        """Light that comes from every place, linear, (3, rows, side): diffuse, with shadows, hollows, highlights."""
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
        light = sky * (ambient * hollows * (0.75 + 0.25 * shorten)) + lamp * (
            direct * (1.25 - ambient) * (0.5 + 0.5 * hollows)
        )

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
            rows = round(float(-sun[1] / flat * distance * row_step))
            columns = round(float(sun[0] / flat * distance * self.side / 2))
            here = (
                slice(max(0, -rows), self.rows - max(0, rows)),
                slice(max(0, -columns), self.side - max(0, columns)),
            )
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
            small = relief.resize(
                (max(2, self.side // reduction), max(2, self.rows // reduction)), Image.Resampling.BOX
            )
            around = np.asarray(small.resize((self.side, self.rows), Image.Resampling.BILINEAR))
            open_sky /= 1 + depth * np.clip(around - self.height, 0, None)
        return open_sky

    def _projected(self, lit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Look at the lit relief from the camera; returns colours (side, side, 3) and depth (side, side).

        Every column of the maps is one column of the frame. Going away from the camera, a point is seen if it reaches
        higher up in the frame than all points before it.
        """
        side = self.side
        lifted = (self.y * self.cos + self.height * self.sin) * self.far / (self.depth - self.height * self.cos)
        reached = np.maximum.accumulate(((lifted + 1) * (side / 2))[::-1], axis=0)
        bins = np.clip(np.ceil(reached - 0.5), 0, side).astype(np.int64)
        columns = np.arange(side)
        counts = np.bincount((bins * side + columns).ravel(), minlength=(side + 1) * side).reshape(side + 1, side)
        first = np.minimum(np.cumsum(counts[:side], axis=0), self.rows - 1)
        ahead = (first * side + columns).ravel()
        behind = np.where(ahead >= side, ahead - side, ahead)

        edge = reached.ravel()
        jump = edge[ahead] - edge[behind]
        line = np.repeat(np.arange(side, dtype=np.float32) + 0.5, side)
        share = np.clip((line - edge[behind]) / np.maximum(jump, 1e-3), 0, 1)
        upward = np.ascontiguousarray(lit[:, ::-1].reshape(3, -1).T)
        lower, upper = upward[behind], upward[ahead]
        seen = lower + (upper - lower) * share[:, None]
        self._draw_walls(seen, upward, ahead, jump, share)
        return seen.reshape(side, side, 3)[::-1], self.depth[::-1, 0][first][::-1]

    def _draw_walls(
        self, seen: np.ndarray, upward: np.ndarray, ahead: np.ndarray, jump: np.ndarray, share: np.ndarray
    ) -> None:
        """Give walls, where the relief leaps, the colours along their upper edge, shuffled, darker towards the foot."""
        side = self.side
        spots = np.flatnonzero(jump > 2)
        source = ahead[spots]
        grain = tile("mottle", 1)[spots // side % 256, spots % side % 256] - 0.5
        relief = self.height[::-1].ravel()
        texture = np.zeros((len(spots), 3), np.float32)
        for reach in (side / 45, -side / 60):
            moved = np.clip(source + np.rint(grain * reach + reach / 4).astype(np.int64), 0, relief.size - 1)
            texture += upward[np.where(relief[moved] > 0.9 * relief[source], moved, source)] / 2
        wallness = np.clip((jump[spots] - 2) / 4, 0, 1)
        shade = 1 - wallness * (0.45 - 0.45 * share[spots] + 0.5 * grain)
        seen[spots] = (seen[spots] + (texture - seen[spots]) * wallness[:, None]) * shade[:, None]

    def photograph(self) -> Image.Image:
        """Take the photo: light, camera, lens (focus), sensor (exposure, colour cast, noise)."""
        rng, size = self.rng, self.size
        light, depth = self._projected(self._lit())
        light = light * self._gain(light)
        picture = Image.fromarray(_to_bytes(np.sqrt(light / (0.75 + 0.25 * light))))
        picture = ImageEnhance.Color(picture).enhance(rng.uniform(0.8, 1.3))
        picture = ImageEnhance.Contrast(picture).enhance(rng.uniform(0.85, 1.25))
        picture = self._focused(picture, depth).resize((size, size), Image.Resampling.LANCZOS)
        if rng.random() < 0.25:
            picture = picture.filter(ImageFilter.GaussianBlur(float(rng.uniform(0.2, 0.7)) * size / 256))
        rows, columns = (rng.integers(0, TILE, (2, 1)) + np.arange(size)) % TILE
        noise = film()[rows][:, columns] * np.float32(rng.uniform(0.001, 0.012))
        return Image.fromarray(_to_bytes(np.asarray(picture, np.float32) / 255 + noise))

    def _gain(self, light: np.ndarray) -> np.ndarray:
        """How much every pixel and channel is turned up, (side, side, 3): uneven lamps times the camera's exposure."""
        steps = max(1, self.side // 48)
        coarse = light[::steps, ::steps]
        lamps = self._lamps()
        height, width = coarse.shape[:2]
        seen = coarse * _enlarged(lamps, width, height)
        middle = seen[height // 4 : -height // 4, width // 4 : -width // 4].mean(axis=(0, 1))
        return _enlarged(lamps * self._exposure(np.maximum(middle, 0.02)), self.side, self.side)

    def _lamps(self) -> np.ndarray:
        """Uneven light, (24, 24, 3): another tint to one side, a pool of light or shade, dim corners."""
        rng = self.rng
        across = np.linspace(-1, 1, 24, dtype=np.float32)[:, None]
        down = across[:, None]
        gain = np.zeros((24, 24, 3), np.float32)
        for direction in (across, down):
            gain += (rng.normal(0, 0.34) + rng.normal(0, 0.1, 3)) * direction
        x, y = rng.normal(0, 0.3, 2)
        pool = np.exp(-((across - x) ** 2 + (down - y) ** 2) / (2 * rng.uniform(0.4, 0.9) ** 2))
        gain += (rng.normal(0.1, 0.75) + rng.normal(0, 0.12, 3)) * pool
        gain -= rng.uniform(0, 0.35) * (across**2 + down**2)
        return np.exp(gain)

    def _exposure(self, middle: np.ndarray) -> np.ndarray:
        """Gain of each channel: a camera that meters and balances the middle of the frame, and errs at random."""
        rng, grey = self.rng, middle.mean()
        gain = np.exp(rng.normal(-1.2, 0.26)) * grey ** -rng.uniform(0.7, 0.95)
        balance = (grey / middle) ** rng.uniform(0.15, 0.75)
        cast = np.exp(rng.normal(0, 0.08, 3) + rng.normal(0, 0.13) * np.array([1, 0, -1]))
        return gain * balance * cast

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


def _enlarged(planes: np.ndarray, width: int, height: int) -> np.ndarray:
    """Smoothly enlarge an (h, w, 3) array to (height, width, 3)."""
    channels = [Image.fromarray(np.ascontiguousarray(planes[..., channel], np.float32)) for channel in range(3)]
    return np.dstack([np.asarray(channel.resize((width, height), Image.Resampling.BICUBIC)) for channel in channels])


def _to_bytes(light: np.ndarray) -> np.ndarray:
    """Turn (h, w, 3) floats of 0 to 1 into bytes."""
    return np.ascontiguousarray((np.clip(light, 0, 1) * 255 + 0.5).astype(np.uint8))

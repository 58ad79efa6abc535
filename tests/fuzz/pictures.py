"""Made-up image files: good ones of every format and mode, and bad ones of every kind that is met."""

import io
import struct
import zlib

import numpy as np
from hypothesis import strategies as st
from PIL import Image, features

MODES = {
    "PNG": ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"),
    "JPEG": ("L", "RGB", "CMYK"),
    "TIFF": ("1", "L", "RGB", "RGBA", "I;16", "CMYK"),
    "BMP": ("1", "L", "P", "RGB"),
    "GIF": ("L", "P"),
    "PPM": ("1", "L", "RGB"),
    **({"WEBP": ("RGB", "RGBA")} if features.check("webp") else {}),
}
OPTIONS = {
    "JPEG": ({}, {"progressive": True}, {"quality": 5}, {"subsampling": 0}),
    "TIFF": ({}, {"compression": "tiff_lzw"}, {"compression": "tiff_adobe_deflate"}),
    "PNG": ({}, {"compress_level": 0}),
    "WEBP": ({}, {"lossless": True}),
}
ANIMATED = ("GIF", "PNG", "WEBP", "TIFF")
SUFFIXES = (".jpg", ".jpeg", ".png", ".JPG", ".webp", ".tif", ".bmp", ".ppm", ".gif")
TEXTS = (
    b"",
    b"just a text",
    b"<!DOCTYPE html><html><title>404</title></html>",
    b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n",
    b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
    b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage\n",
    b"%PDF-1.4\n",
    b"PK\x03\x04 a zip",
    b"#define x_width 9\n#define x_height 9\nstatic char x_bits[] = {0};\n",
    b"P6 99999 99999 255\n",
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff\xe0",
    b"GIF89a",
    b"II*\x00\x08\x00\x00\x00",
)
LONG = ((1, 1), (1, 10_000), (10_000, 1), (3, 2_000))
EITHER = "either"


@st.composite
def files(draw) -> tuple[str, bytes, tuple[int, int] | str | None]:
    """(suffix, content, expected size); the size is None for what must be refused, EITHER for what may be either."""
    kind = draw(st.sampled_from(["good", "good", "good", "cut", "changed", "changed", "text", "bomb", "noise"]))
    suffix = draw(st.sampled_from(SUFFIXES))
    if kind == "text":
        return suffix, draw(st.sampled_from(TEXTS)), None
    if kind == "bomb":
        return suffix, bomb(draw(st.integers(20_000, 2**31 - 1)), draw(st.integers(20_000, 2**31 - 1))), None
    if kind == "noise":
        return suffix, b"\x01" + draw(st.binary(max_size=300)), None
    content, size = draw(good())
    if kind == "good":
        return suffix, content, size
    if kind == "cut":
        return suffix, content[: draw(st.integers(0, len(content) - 1))], EITHER
    changed = bytearray(content)
    for _ in range(draw(st.integers(1, 8))):
        changed[draw(st.integers(0, len(changed) - 1))] = draw(st.integers(0, 255))
    return suffix, bytes(changed), EITHER


@st.composite
def good(draw) -> tuple[bytes, tuple[int, int]]:
    """An image that must load, and its (width, height) once it is upright."""
    form = draw(st.sampled_from(sorted(MODES)))
    mode = draw(st.sampled_from(MODES[form]))
    sides = st.integers(1, 24)
    size = draw(st.one_of(st.tuples(sides, sides), st.tuples(sides, sides), st.sampled_from(LONG)))
    seed = draw(st.integers(0, 2**32 - 1))
    image = picture(mode, size, seed)
    options = dict(draw(st.sampled_from(OPTIONS.get(form, ({},)))))
    if form in ANIMATED and mode not in ("1", "I;16") and max(size) < 100 and draw(st.booleans()):
        options |= {"save_all": True, "append_images": [picture(mode, size, seed + 1), picture(mode, size, seed + 2)]}
    orientation = draw(st.sampled_from([None, 0, 1, 3, 6, 8, 9, 65535])) if form in ("JPEG", "PNG", "WEBP") else None
    if orientation is not None:
        exif = Image.Exif()
        exif[0x0112] = orientation
        options["exif"] = exif.tobytes()
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue(), size[::-1] if orientation in (6, 8) else size


def picture(mode: str, size: tuple[int, int], seed: int) -> Image.Image:
    """Noise of a mode and size."""
    random = np.random.default_rng(seed)
    width, height = size
    if mode == "I;16":
        return Image.fromarray(random.integers(0, 65536, (height, width)).astype(np.uint16))
    return Image.fromarray(random.integers(0, 256, (height, width, 3)).astype(np.uint8)).convert(mode)


def bomb(width: int, height: int) -> bytes:
    """A few bytes that say they are a picture of width x height."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body

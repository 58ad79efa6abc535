"""Any image file -> an upright RGB picture: the one reader that training and prediction share."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
from PIL import ExifTags, Image

from helper_functions import describe_file

TURNS = {  # EXIF orientation: what puts the picture upright
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
# What photos come in. Pillow knows more, and starts another program for some (EPS): not for a file from anywhere.
FORMATS = ("JPEG", "MPO", "PNG", "WEBP", "TIFF", "BMP", "PPM", "GIF", "AVIF")


class OneLineError(ValueError):
    """An error whose message is one line, and the same line when it comes out of a DataLoader's worker process.

    torch raises a worker's error again as `type(error)(text)`, where text is the worker's whole traceback.
    """

    def __init__(self, message: str) -> None:
        lines = re.findall(rf"^(?:\w+\.)*{type(self).__name__}: (.*)$", message, re.MULTILINE)
        super().__init__(lines[-1] if lines else " ".join(message.splitlines()))


class UnreadableImageError(OneLineError):
    """A file is no image, or only a part of one. The message names the file and the reason."""


def readable_formats() -> list[str]:
    """Which of FORMATS this Pillow has."""
    Image.init()
    return [name for name in FORMATS if name in Image.OPEN]


def load_image(source: str | Path | Image.Image) -> Image.Image:
    """Read an image of any kind as an upright RGB picture.

    Transparent parts become white, 16-bit greys are scaled to 8 bits, of an animation the first picture is taken,
    and the EXIF orientation is applied; an orientation that the standard doesn't know is ignored.

    Args:
        source: the path of an image, or a PIL image, which is not changed.

    Returns:
        A new PIL image of mode "RGB" that holds no file open and no metadata.

    Raises:
        UnreadableImageError: the file can't be read as an image; the message says why.
        FileNotFoundError: no file is there.
        TypeError: `source` is neither a path nor a PIL image.
    """
    if isinstance(source, Image.Image):
        return _read(source, name=getattr(source, "filename", "") or "the given image")
    if not isinstance(source, (str, Path)):
        raise TypeError(f"source is a {type(source).__name__}; give the path of an image or a PIL image.")
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"There is no image {path}.")
    if path.is_dir():
        raise UnreadableImageError(f"{path}: this is a folder, not an image.")
    if not path.is_file():  # reading a named pipe would wait for ever
        raise UnreadableImageError(f"{path}: this is a device or a pipe, not an image.")
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's remarks on metadata that nobody asks for
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            image = Image.open(file, formats=readable_formats())
        except (Image.DecompressionBombError, Image.DecompressionBombWarning):
            limit = f"{Image.MAX_IMAGE_PIXELS:,}"
            raise UnreadableImageError(f"{path}: more than {limit} pixels; save it smaller.") from None
        except Exception:  # noqa: BLE001 - Pillow's readers raise errors of many kinds on damaged files
            raise UnreadableImageError(f"{path}: this is no image but {describe_file(path)}.") from None
        with image:
            return _read(image, name=str(path))


def _read(image: Image.Image, name: str) -> Image.Image:
    """Decode, turn upright and convert to RGB; UnreadableImageError, naming `name`, where that fails."""
    try:
        image.load()
    except Exception as error:  # noqa: BLE001 - Pillow's readers raise errors of many kinds on damaged files
        raise UnreadableImageError(f"{name}: the image is damaged or cut off ({error}).") from None
    try:
        picture = _to_rgb(_upright(image))
    except Exception as error:  # noqa: BLE001 - and so do its conversions
        raise UnreadableImageError(f"{name}: mode {image.mode} can't be turned into RGB ({error}).") from None
    picture.info = {}  # no orientation is left, so that nobody applies it twice
    return picture


def _upright(image: Image.Image) -> Image.Image:
    """The picture as its EXIF orientation means it to be seen; unchanged if that is missing, damaged or unknown."""
    try:
        orientation = image.getexif().get(ExifTags.Base.Orientation)
        turn = TURNS.get(orientation)
    except Exception:  # noqa: BLE001 - damaged metadata do not make a good picture unreadable
        turn = None
    return image if turn is None else image.transpose(turn)


def _to_rgb(image: Image.Image) -> Image.Image:
    """A new RGB image: 16-bit values scaled, transparency laid on white."""
    if image.mode.startswith("I"):  # "I;16" and its relatives, or 16 bits in 32
        image = Image.fromarray((np.asarray(image).clip(0, 65535) / 257).round().astype(np.uint8))
    elif image.mode == "F":
        raise ValueError("floating-point pixels have no known white; save it as a PNG")
    elif image.mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")

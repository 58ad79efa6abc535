"""Three helpers for every notebook: set_seeds, download_data and plot_loss_curves.

This file stands alone: it imports nothing of this project, so that it can be fetched and used by itself.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import random
import re
import shutil
import stat
import tempfile
import threading
import time
import unicodedata
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

MAX_FILES = 100_000  # entries in an archive
MAX_BYTES = 8 * 1024**3  # of a download, and of an archive's files together
IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")  # as torchvision has them
FILE_KINDS = {  # how a file begins, in small letters: what it is
    b"version https://git-lfs": "a Git LFS pointer, not the file itself (fetch it with `git lfs pull`),",
    b"<!doctype html": "a web page (HTML)",
    b"<html": "a web page (HTML)",
    b"<?xml": "an XML text",
    b"{": "a JSON text",
    b"pk\x05\x06": "a zip without files",
    b"pk": "a zip that is cut off or damaged",
    b"\x1f\x8b": "a gzip file",
    b"rar!": "a RAR file",
    b"7z\xbc\xaf": "a 7z file",
}

WINDOWLESS = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")  # matplotlib's backends that only write files

NETWORK_FAILURES = (  # how an error of requests reads; what it means and what to do; whether another try may help
    ("^SSLError", "the certificate can't be checked; behind a proxy with its own, set REQUESTS_CA_BUNDLE", False),
    ("^ProxyError", "the proxy does not answer; check HTTP_PROXY, HTTPS_PROXY and NO_PROXY", True),
    ("^\\w*Timeout|timed out", "no answer in time; check the network, or try again later", True),
    (
        "Failed to resolve|getaddrinfo|Name or service|nodename",
        "no server has this name; check it and the network",
        True,
    ),
    (
        "^(Connection|ChunkedEncoding|ContentDecoding)Error",
        "the connection failed; check the network and the address",
        True,
    ),
    ("", "no usable address; give one that begins with http:// or https://, or the path of a zip", False),
)


class DownloadError(RuntimeError):
    """An address gave no file. `status` is the HTTP status, if the server answered; `retry`: another try may help."""

    def __init__(self, message: str, status: int | None = None, retry: bool = True) -> None:
        super().__init__(message)
        self.status, self.retry = status, retry


class ArchiveError(ValueError):
    """A file arrived, but it is not the zip of images that it should be, or unpacking it is not safe."""


def set_seeds(seed: int = 42) -> None:
    """Seed every random generator in use: Python's, NumPy's, and torch's on the CPU, CUDA and MPS.

    Raises ValueError if the seed is no whole number from 0 to 2**32 - 1, the range that NumPy takes.
    """
    import numpy as np
    import torch

    if not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**32:
        raise ValueError(f"seed is {seed!r}; it must be a whole number from 0 to {2**32 - 1}.")
    random.seed(int(seed))
    np.random.seed(int(seed))
    torch.manual_seed(int(seed))
    torch.cuda.manual_seed_all(int(seed))
    if torch.backends.mps.is_available():
        torch.mps.manual_seed(int(seed))


def plot_loss_curves(results: dict[str, list[float]]) -> None:
    """Draw training and test loss, and training and test accuracy, over the epochs, on a new figure (`plt.gcf()`).

    Args:
        results: what engine.train returns: lists of numbers, one an epoch, called "train_loss", "train_acc",
            "test_loss" and "test_acc". NaN leaves a gap.

    Raises:
        ValueError: a list is missing or empty, they are of unequal length, or they hold something that is no number.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    curves = checked_curves(results)
    epochs = range(1, len(curves["train_loss"]) + 1)
    # Where no window can show them, figures would only pile up: the one before is given free.
    name = "loss curves" if plt.get_backend().lower() in WINDOWLESS else None
    if name and plt.fignum_exists(name):
        plt.close(name)
    _, all_axes = plt.subplots(1, 2, num=name, figsize=(7, 3.4), layout="constrained")
    for axes, (key, title) in zip(all_axes, {"loss": "Loss", "acc": "Accuracy"}.items()):
        axes.plot(epochs, curves[f"train_{key}"], color="#0072B2", linestyle="-", marker="o", label="train")
        axes.plot(epochs, curves[f"test_{key}"], color="#D55E00", linestyle="--", marker="s", label="test")
        axes.set_title(title, fontweight="bold")
        axes.set(xlabel="Epoch", ylabel=title, xlim=(0.5, len(epochs) + 0.5))
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(True, color="#E0E0E0")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.legend()


def checked_curves(results: dict[str, list[float]]) -> dict[str, list[float]]:
    """The four lists of plot_loss_curves as plain floats, or the errors that it names."""
    names = ("train_loss", "train_acc", "test_loss", "test_acc")
    missing = [name for name in names if name not in results]
    if missing:
        raise ValueError(f"results has no {', '.join(missing)}; it holds {', '.join(map(str, results)) or 'nothing'}.")
    try:
        curves = {
            name: [float(value.detach() if hasattr(value, "detach") else value) for value in results[name]]
            for name in names
        }
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"results must hold lists with one number an epoch: {error}") from None
    lengths = {name: len(values) for name, values in curves.items()}
    if min(lengths.values()) == 0 or len(set(lengths.values())) > 1:
        raise ValueError(f"The lists in results must be equally long, with at least one epoch; they have {lengths}.")
    return curves


def download_data(
    source: str | Path,
    destination: str,
    remove_source: bool = True,
    *,
    sha256: str | None = None,
    data_dir: str | Path = "data",
    timeout: float | tuple[float, float] = (6.0, 15.0),
    retries: int = 2,
    backoff: float = 1.0,
) -> Path:
    """Download a zip of images and unpack it into `data_dir / destination`.

    The folder appears whole or not at all: everything is made in a temporary folder beside it, then renamed.
    A folder that already holds images is kept as it is. Hidden files and leftovers of Macs (`__MACOSX`, `._*`,
    `.DS_Store`) are not unpacked, and one wrapper folder above `train/` and `test/` is left out.

    Args:
        source: http(s) address of the zip, or the path of a zip on this machine, which is never deleted.
        destination: name of the folder to make.
        remove_source: False keeps the downloaded zip as `data_dir / <name in the address>`.
        sha256: the hash that the zip must have, if known.
        data_dir: where the folder goes; "data" below the current folder if not given.
        timeout: (connect, read) in seconds: how long an answer may take to begin, name look-up and redirects
            included, and how long two pieces of it may lie apart. One number stands for both.
        retries: further tries after a failure that may pass (no answer, broken connection, busy server).
        backoff: seconds before the first retry; doubled each time.

    Returns:
        The folder, `Path(data_dir) / destination`.

    Raises:
        DownloadError: the address can't be reached, or it answers with an error.
        ArchiveError: what arrived is no zip of images, has another hash, or is not safe to unpack.
        FileExistsError: something else stands in the folder's place; it is left as it is.
        FileNotFoundError: `source` is a path and no file is there.
        ValueError: `destination` is no name of a folder below `data_dir`.
    """
    name = Path(destination)
    if name.is_absolute() or name.drive or not name.parts or ".." in name.parts:
        raise ValueError(f"destination is {str(destination)!r}; give a folder's name, and data_dir= for where it goes.")
    target = Path(data_dir) / name
    if has_images(target):
        print(f"{target} is already there and holds images; nothing was downloaded.")
        return target
    check_free(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent, ignore_cleanup_errors=True) as work:
        is_address = "://" in str(source)
        archive = Path(work, "archive.zip") if is_address else Path(source).expanduser()
        if is_address:
            download(str(source), archive, timeout, retries, backoff)
        elif not archive.is_file():
            raise FileNotFoundError(f"There is no file {archive}; give the address or the path of a zip.")
        origin = shown(str(source))
        if sha256 and file_sha256(archive) != sha256.lower():
            raise ArchiveError(
                f"{origin} gave {describe_file(archive)} with SHA-256 {file_sha256(archive)}, not {sha256}. "
                f"It was not used: it is another file, or it was changed on its way.{raw_hint(origin)}"
            )
        unpacked = unpack(archive, Path(work, "unpacked"), origin)
        if is_address and not remove_source:
            os.replace(archive, Path(data_dir) / archive_name(str(source)))
        move_into_place(unpacked, target)
    return target


# Folders and files


def visible_files(folder: Path) -> list[Path]:
    """All files below `folder`, sorted, without what is_junk names."""
    found = []
    for parent, folders, files in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if not is_junk(name)]
        found += [Path(parent, name) for name in files if not is_junk(name)]
    return sorted(found)


def is_junk(name: str) -> bool:
    """Whether a file or folder so called is hidden or a system's leftover."""
    return name.startswith(".") or name.lower() in {"__macosx", "thumbs.db", "desktop.ini"}


def has_images(folder: Path) -> bool:
    """Whether an image file lies below `folder`."""
    return any(path.suffix.lower() in IMAGE_SUFFIXES for path in visible_files(folder))


def check_free(target: Path) -> None:
    """Raise FileExistsError if anything that must not be lost stands where the folder `target` is to be made."""
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise FileExistsError(f"{target} is in the way and is no plain folder; move it away and call again.")
    files = [Path(parent, name) for parent, _, names in os.walk(target) for name in names]
    if any(path.name != ".DS_Store" for path in files):
        raise FileExistsError(
            f"{target} holds files (such as {files[0].name}) but no images. They were left alone: move them away, "
            "or give another destination, and call again."
        )


def move_into_place(made: Path, target: Path) -> None:
    """Rename the finished folder `made` to `target`. A folder with images that stands there by now is kept.

    Raises FileExistsError if `target` holds files but no images.
    """
    if not has_images(target):
        check_free(target)
        for parent, _, files in os.walk(target, topdown=False):  # empty but for .DS_Store
            for name in files:
                Path(parent, name).unlink()
            Path(parent).rmdir()
        try:
            os.rename(made, target)
            return
        except OSError:
            if not has_images(target):
                raise
    print(f"{target} was made by another process meanwhile; it is kept.")


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, as hex digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def describe_file(path: Path) -> str:
    """What a file is, told by its first bytes, and its size: "a web page (HTML) of 1,234 bytes"."""
    size = path.stat().st_size
    if size == 0:
        return "an empty file of 0 bytes"
    with path.open("rb") as file:
        head = file.read(512)
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    kind = next((kind for magic, kind in FILE_KINDS.items() if start.startswith(magic)), f"a file ({head[:12]!r}...)")
    return f"{kind} of {size:,} bytes"


# The network


def download(url: str, path: Path, timeout: float | tuple[float, float], retries: int, backoff: float) -> None:
    """Stream `url` into the file `path` with a progress bar, trying again where that may help."""
    from tqdm import tqdm

    for wait in [backoff * 2**i for i in range(retries)] + [None]:
        try:
            with answer(url, timeout) as response, path.open("wb") as file, network_errors(url):
                size = response.headers.get("Content-Length", "")
                with tqdm(
                    total=int(size) if size.isdigit() else None, unit="B", unit_scale=True, desc=archive_name(url)
                ) as bar:
                    for piece in response.iter_content(1 << 16):
                        file.write(piece)
                        bar.update(len(piece))
                        if bar.n > MAX_BYTES:
                            raise ArchiveError(f"{shown(url)} sends more than {MAX_BYTES:,} bytes; it was given up.")
            return
        except DownloadError as error:
            if wait is None or not error.retry:
                raise
            print(f"{error} Next try in {wait:g} s.")
            time.sleep(wait)


def answer(url: str, timeout: float | tuple[float, float]):
    """The streaming requests.Response of `url`, once it has begun; DownloadError if it is late or an error.

    The request runs in a thread, since a name look-up that hangs heeds no timeout.
    """
    import requests

    connect, read = timeout if isinstance(timeout, tuple) else (timeout, timeout)
    outcome = []

    def ask() -> None:
        try:
            outcome.append(requests.get(url, stream=True, timeout=(connect, read)))
        except Exception as error:  # noqa: BLE001 - raised again below, in the caller's thread
            outcome.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(connect)
    with network_errors(url):
        response = outcome[0] if outcome else requests.Timeout()
        if isinstance(response, Exception):
            raise response
    if not response.ok:
        response.close()
        code = response.status_code
        what = f"{shown(url)} answered HTTP {code} {response.reason or ''}".rstrip()
        advice = "Check the address in a browser." if code < 500 else "Try again later."
        raise DownloadError(f"{what}. {advice}", code, retry=code in {408, 429, 500, 502, 503, 504})
    return response


@contextlib.contextmanager
def network_errors(url: str) -> Iterator[None]:
    """Turn every error of requests into one DownloadError: what failed, the address, what to do."""
    import requests

    try:
        yield
    except requests.RequestException as error:
        text = f"{type(error).__name__}: {error}"
        what, retry = next((what, retry) for pattern, what, retry in NETWORK_FAILURES if re.search(pattern, text))
        detail = re.search(r"\[(?:Errno|WinError) -?\d+\][^)\"']*|certificate verify failed[^(]*", text)
        detail = detail[0].strip() if detail else type(error).__name__
        raise DownloadError(f"{shown(url)}: {what} ({detail}).", retry=retry) from None


def shown(url: str) -> str:
    """An address as it may be printed: without user name and password."""
    return re.sub(r"(?<=://)[^/@]*@", "", url)


def raw_hint(origin: str) -> str:
    """Where to find the file itself, if the address is that of a page about it."""
    return f" The file itself is at {origin.replace('/blob/', '/raw/', 1)}" if "/blob/" in origin else ""


def archive_name(url: str) -> str:
    """The file name in an address, without the query: `.../x.zip?raw=true` gives `x.zip`."""
    return re.sub(r'[<>:"/\\|?*\x00-\x1f]', "_", unquote(PurePosixPath(urlsplit(url).path).name)) or "archive.zip"


# The archive


def unpack(archive: Path, folder: Path, origin: str) -> Path:
    """Unpack the images' zip into the new `folder`; ArchiveError, naming `origin`, if it is none or not safe."""
    if not zipfile.is_zipfile(archive):
        raise ArchiveError(f"{origin} gave no zip but {describe_file(archive)}.{raw_hint(origin)}")
    try:
        with zipfile.ZipFile(archive) as opened:
            places = places_of(opened.infolist())
            needed, free = sum(info.file_size for info in places), shutil.disk_usage(folder.parent).free
            if needed > free:
                raise ArchiveError(f"it needs {needed:,} bytes, and {free:,} are free on this disk.")
            for info, place in places.items():
                with opened.open(info) as packed, new_file(folder / place, info.filename) as file:
                    shutil.copyfileobj(packed, file)
    except ArchiveError as error:
        raise ArchiveError(f"{origin} gave a zip that was not unpacked: {error}") from None
    except Exception as error:  # noqa: BLE001 - zipfile and the packers raise errors of many kinds on damaged files
        if isinstance(error, OSError) and error.errno is not None:  # not the zip's fault: a full disk, no permission
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ArchiveError(f"{origin} gave {describe_file(archive)}: {reason}. Download it again.") from None
    return folder


def new_file(path: Path, entry: str) -> BinaryIO:
    """A new file, open for writing, and its folders; ArchiveError where this system has no such name for it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("xb")
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        what = getattr(error, "strerror", None) or error
        raise ArchiveError(f"the entry {entry!r} has no name that this system can write ({what}).") from None


def check_names(places: dict[zipfile.ZipInfo, PurePosixPath]) -> None:
    """ArchiveError where two entries would be one file on some system, or one is a file and another's folder."""
    seen = {}  # as a system sees it that tells neither capitals nor the forms of an accented letter apart
    for info, place in places.items():
        parts = tuple(unicodedata.normalize("NFC", part).casefold() for part in place.parts)
        if parts in seen:
            raise ArchiveError(f"the entries {seen[parts]!r} and {info.filename!r} have the same name on some systems.")
        seen[parts] = info.filename
    for parts, name in seen.items():
        for length in range(1, len(parts)):
            if parts[:length] in seen:
                raise ArchiveError(
                    f"the entry {seen[parts[:length]]!r} is a file, and {name!r} is in a folder so called."
                )


def places_of(entries: list[zipfile.ZipInfo]) -> dict[zipfile.ZipInfo, PurePosixPath]:
    """Where each file of an archive goes, below the new folder; ArchiveError for the first entry that is not safe."""
    size = sum(info.file_size for info in entries)
    if len(entries) > MAX_FILES or size > MAX_BYTES:
        limits = f"{MAX_FILES:,} and {MAX_BYTES:,}"
        raise ArchiveError(f"it holds {len(entries):,} entries and {size:,} bytes; the limits are {limits}.")
    places = {}
    for info in entries:
        place = PurePosixPath(info.filename.replace("\\", "/"))
        if place.is_absolute() or any(part == ".." or re.match("[A-Za-z]:", part) for part in place.parts):
            raise ArchiveError(f"the entry {info.filename!r} would land outside the folder.")
        if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise ArchiveError(f"the entry {info.filename!r} is a link or a device.")
        if info.flag_bits & 1:
            raise ArchiveError(f"the entry {info.filename!r} is encrypted; pack the zip without a password.")
        if not info.is_dir() and not info.filename.endswith("\\") and not any(map(is_junk, place.parts)):
            places[info] = place
    if not any(place.suffix.lower() in IMAGE_SUFFIXES for place in places.values()):
        raise ArchiveError(
            f"it holds no images, only {', '.join(map(str, [*places.values()][:3])) or 'empty folders'}."
        )
    check_names(places)
    below = {place.parts[1:2] for place in places.values()}
    if len({place.parts[0] for place in places.values()}) == 1 and {("train",), ("test",)} <= below:
        places = {info: place.relative_to(place.parts[0]) for info, place in places.items()}
    return places

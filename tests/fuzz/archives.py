"""Made-up zips: good ones in every shape that people pack, and bad ones of every kind that is met."""

import io
import stat
import struct
import warnings
import zipfile

from hypothesis import strategies as st

from helper_functions import is_junk

IMAGE = b"\x89PNG\r\n\x1a\n not looked into while unpacking "
PACKERS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
LETTERS = st.characters(codec="utf-8", categories=("Lu", "Ll", "Nd"), include_characters="-_ é😀")
NAMES = st.text(LETTERS, min_size=1, max_size=12).map(str.strip).filter(bool)
JUNK = ("__MACOSX/train/pizza/._1.jpg", ".DS_Store", "train/Thumbs.db", "train/pizza/.ipynb_checkpoints/1.jpg")
EITHER = "either"
UNSAFE = {
    "climbing": ("../evil.jpg", "train/../../evil.jpg", "..\\evil.jpg", "train/pizza/../../../evil.jpg"),
    "absolute": (
        "/tmp/evil.jpg",
        "\\evil.jpg",
        "//server/share/evil.jpg",
        "C:\\evil.jpg",
        "C:/evil.jpg",
        "train/D:x.jpg",
    ),
}


@st.composite
def zips(draw) -> tuple[bytes, dict[str, bytes] | str | None]:
    """(content, {path: content} that unpacking gives); None for what must be refused, EITHER for what may be either."""
    kind = draw(st.sampled_from(["good"] * 4 + ["unsafe"] * 3 + ["damaged"] * 3 + ["no zip"]))
    if kind == "no zip":
        return draw(st.sampled_from([b"", b"PK", b"<html></html>", b"version https://git-lfs"]) | st.binary()), EITHER
    files = draw(trees())
    packer, wrapper = draw(st.sampled_from(PACKERS)), draw(st.sampled_from(["", "", "photos/"]))
    entries = {wrapper + name: content for name, content in files.items()}
    for name in draw(st.lists(st.sampled_from(JUNK), max_size=2, unique=True)):
        entries[name] = b"leftover"
    if kind == "unsafe":
        return draw(unsafe(entries, packer)), None
    content = pack(entries, packer, folders=draw(st.booleans()), backslashes=draw(st.integers(0, 5)) == 0)
    if kind == "good":
        return draw(st.sampled_from([b"", b"#!/bin/sh\n"])) + content, files
    if draw(st.booleans()):
        return content[: draw(st.integers(0, len(content) - 1))], EITHER
    changed = bytearray(content)
    for _ in range(draw(st.integers(1, 8))):
        changed[draw(st.integers(0, len(changed) - 1))] = draw(st.integers(0, 255))
    return bytes(changed), EITHER


@st.composite
def trees(draw) -> dict[str, bytes]:
    """{path: content} of train/ and test/ with class folders, no two paths alike in a system blind to capitals."""
    files = {}
    classes = draw(st.lists(NAMES, min_size=1, max_size=3, unique_by=str.casefold))
    for split in ("train", "test"):
        for name in classes:
            for number in range(draw(st.integers(1, 2))):
                suffix = draw(st.sampled_from([".jpg", ".PNG", ".webp"]))
                files[f"{split}/{name}/{number}{suffix}"] = IMAGE + draw(st.binary(max_size=40))
    if draw(st.booleans()):
        files["train/readme.txt"] = b"photos of my lunch"
    return {name: content for name, content in files.items() if not any(map(is_junk, name.split("/")))}


@st.composite
def unsafe(draw, entries: dict[str, bytes], packer: int) -> bytes:
    """A zip with one thing in it for which all of it must be refused."""
    first = next(name for name in entries if name.endswith((".jpg", ".PNG", ".webp")) and "train/" in name)
    kind = draw(
        st.sampled_from(
            [
                *UNSAFE,
                "link",
                "device",
                "capitals",
                "twice",
                "file and folder",
                "encrypted",
                "huge",
                "many",
                "no images",
                "long name",
                "wrong sum",
                "packer",
            ]
        )
    )
    if kind in UNSAFE:
        return pack({**entries, draw(st.sampled_from(UNSAFE[kind])): IMAGE}, packer)
    if kind in ("link", "device"):
        special = zipfile.ZipInfo("train/special.jpg")
        special.external_attr = (stat.S_IFLNK if kind == "link" else stat.S_IFCHR) << 16
        return pack({**entries, special: b"/etc/passwd"}, packer)
    if kind == "capitals":
        other = draw(st.sampled_from(["Train/", "TRAIN/", "traiN/"]))
        return pack({**entries, first.replace("train/", other): IMAGE}, packer)
    if kind == "twice":
        return pack({**entries, zipfile.ZipInfo(first): IMAGE}, packer)
    if kind == "file and folder":
        return pack({**entries, f"{first}/inside.jpg": IMAGE}, packer)
    if kind == "many":
        return pack({**entries, **{f"train/many/{number}.jpg": b"" for number in range(200)}}, packer)
    if kind == "no images":
        return pack({name + ".txt": content for name, content in entries.items()}, packer)
    if kind == "long name":
        return pack({**entries, f"train/{'n' * 300}.jpg": IMAGE}, packer)
    content = bytearray(pack(entries, packer))
    directory = content.index(b"PK\x01\x02")
    place, value = {  # in the central directory's first entry: where, and what is written there
        "encrypted": (directory + 8, struct.pack("<H", struct.unpack_from("<H", content, directory + 8)[0] | 1)),
        "huge": (directory + 24, struct.pack("<I", 0xFFFFFFF0)),
        "wrong sum": (directory + 16, struct.pack("<I", struct.unpack_from("<I", content, directory + 16)[0] ^ 1)),
        "packer": (directory + 10, struct.pack("<H", 77)),
    }[kind]
    content[place : place + len(value)] = value
    return bytes(content)


def pack(entries: dict, packer: int, folders: bool = False, backslashes: bool = False) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that comes twice
        for name in sorted({str(name).rpartition("/")[0] for name in entries} - {""}) if folders else ():
            archive.writestr(zipfile.ZipInfo(f"{name}/"), b"")
        for name, content in entries.items():
            info = name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name)
            if backslashes:
                info.filename = info.filename.replace("/", "\\")
            info.compress_type = packer
            archive.writestr(info, content)
    return buffer.getvalue()

"""Thousands of made-up image files and zips, good and bad: `make fuzz`, or python tests/fuzz/run.py --help

Each is given to the same functions that the notebooks use. A good one must load; a bad one must be refused in one line
that names the file; nothing may hang, crash, warn or leave anything behind.
"""

import argparse
import contextlib
import faulthandler
import io
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

import archives  # noqa: E402
import pictures  # noqa: E402
from hypothesis import HealthCheck, given, seed, settings  # noqa: E402

import helper_functions  # noqa: E402
from going_modular.going_modular.images import UnreadableImageError, load_image  # noqa: E402
from helper_functions import ArchiveError, download_data  # noqa: E402

PATIENCE = 60  # seconds for one file; what takes longer hangs
MOST_FILES, MOST_BYTES = 150, 50_000_000  # limits of an archive here, low enough to be tried


def check_image(made: tuple, folder: Path) -> str:
    """Load one image file. Returns "loaded" or "refused"; AssertionError for whatever else happens."""
    suffix, content, expected = made
    path = folder / f"photo{suffix}"
    path.write_bytes(content)
    try:
        image = load_image(path)
    except UnreadableImageError as error:
        assert expected in (None, pictures.EITHER), f"a good image was refused: {error}"
        assert str(path) in str(error) and "\n" not in str(error), f"the message names no file: {error}"
        outcome = "refused"
    else:
        assert expected is not None, f"a bad image was loaded: {content[:80]!r}"
        assert image.mode == "RGB" and min(image.size) >= 1
        assert expected in (pictures.EITHER, image.size), f"{image.size} is not {expected}"
        outcome = "loaded"
    assert [left.name for left in folder.iterdir()] == [path.name], "something was left behind"
    path.unlink()
    return outcome


def check_zip(made: tuple, folder: Path) -> str:
    """Unpack one zip. Returns "loaded" or "refused"; AssertionError for whatever else happens."""
    content, expected = made
    path = folder / "photos of mine.zip"
    path.write_bytes(content)
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            target = download_data(path, "food", data_dir=folder / "data")
    except ArchiveError as error:
        assert expected in (None, archives.EITHER), f"a good zip was refused: {error}"
        assert path.name in str(error) and "\n" not in str(error), f"the message names no file: {error}"
        assert files_below(folder) == {path.name: content}, "something was left behind"
        outcome = "refused"
    else:
        assert expected is not None, "a bad zip was unpacked"
        found = files_below(folder)
        assert found.pop(path.name) == content
        inside = {name.removeprefix("data/food/"): body for name, body in found.items()}
        assert len(inside) == len(found) and all(name.startswith("data/food/") for name in found)
        assert expected in (archives.EITHER, inside), f"{sorted(inside)} is not {sorted(expected)}"
        for name in sorted(target.rglob("*"), reverse=True):
            name.rmdir() if name.is_dir() else name.unlink()
        target.rmdir()
        outcome = "loaded"
    path.unlink()
    return outcome


def files_below(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fuzz(strategy, check: Callable, number: int, until: float, start_seed: int) -> Counter:
    """Try `number` files, fewer where the time is up; counts of what was made and of what became of it."""
    counts = Counter()
    with tempfile.TemporaryDirectory() as work:

        @seed(start_seed)
        @settings(max_examples=number, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(strategy)
        def one(made):
            if time.monotonic() > until:
                return
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
            with warnings.catch_warnings(), tempfile.TemporaryDirectory(dir=work) as folder:
                warnings.simplefilter("error")
                outcome = check(made, Path(folder))
            faulthandler.cancel_dump_traceback_later()
            expected = made[-1]
            kind = "bad" if expected is None else "damaged" if expected == pictures.EITHER else "good"
            counts.update(["tried", kind, f"{kind}, {outcome}"])

        one()
    return counts


def limits() -> None:
    """Lower what an archive may hold, so that it can be overstepped."""
    helper_functions.MAX_FILES, helper_functions.MAX_BYTES = MOST_FILES, MOST_BYTES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=5500)
    parser.add_argument("--zips", type=int, default=2200)
    parser.add_argument("--seconds", type=float, default=1200, help="how long all of it may take (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    limits()
    until = time.monotonic() + options.seconds
    failed = False
    for name, strategy, check, number in (
        ("images", pictures.files(), check_image, options.images),
        ("zips", archives.zips(), check_zip, options.zips),
    ):
        counts = fuzz(strategy, check, number, until, options.seed)
        print(f"{name}: " + "; ".join(f"{number:,} {what}" for what, number in sorted(counts.items())))
        if 5 * counts["good"] < counts["tried"] or counts["tried"] < 0.9 * number:
            failed = True
            print(f"{name}: too few were tried in this time, or too few of them good ones")
    sys.exit(failed)


if __name__ == "__main__":
    main()

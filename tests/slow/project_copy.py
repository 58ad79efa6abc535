"""A copy of this project as a git repository, as GitHub would serve it: for tests that clone it or write in it."""

import os
import shutil
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AUTHOR = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.org"]


def git(folder: Path, *arguments: str) -> str:
    """What git prints; an error where it fails."""
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout


def project_files() -> list[str]:
    """The paths of all files that belong to the project: tracked, or new and not ignored."""
    names = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return [name for name in names if name and (ROOT / name).is_file()]


def copy_project(target: Path) -> Path:
    """The project's files, without its history and without what is ignored."""
    for name in project_files():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target / name)
    return target


def serve_project(target: Path) -> Path:
    """copy_project as a git repository with two commits, which clones in part and shallow, as one on GitHub does."""
    copy_project(target)
    git(target, "init", "--quiet", "--initial-branch=main")
    git(target, "config", "uploadpack.allowFilter", "true")
    git(target, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(target, *AUTHOR, "commit", "--quiet", "--allow-empty", "--message=before")
    git(target, "add", "--all")
    git(target, *AUTHOR, "commit", "--quiet", "--message=now")
    return target


def copy_made(root: Path) -> None:
    """Give a copy of the project what was made here before and takes a while: the drawings, notebook 09's model."""
    drawn, trained = ROOT / "data" / "drawn_pizza_steak_sushi", ROOT / "models" / "scratch_drawn.pth"
    if drawn.is_dir():
        shutil.copytree(drawn, root / "data" / drawn.name)
    if trained.is_file():
        shutil.copy(trained, root / "models")


def size(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def same_everywhere() -> dict[str, str]:
    """The environment in which the notebooks give the same on every machine."""
    return {**os.environ, "FOODVISION_DATA": "drawn", "FOODVISION_WEIGHTS": "offline", "FOODVISION_DEVICE": "cpu"}


def wait_for(condition, seconds: float, what: str):
    """The first true answer of condition(), asked again and again; TimeoutError after so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = condition()
        if answer:
            return answer
        time.sleep(0.2)
    raise TimeoutError(f"{what}: nothing after {seconds} s")

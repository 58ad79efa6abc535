"""Colab: each notebook alone in an empty folder fetches the project once, and its first cells run.

This repository stands in for the one on GitHub, by git's url.*.insteadOf, and a stub for the package google.colab.
"""

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from project_copy import ROOT, git, same_everywhere, serve_project, size

ADDRESS = "octocat/vit-lesson"
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
EXERCISES = sorted((ROOT / "notebooks" / "exercises").glob("[0-9][0-9]_*.ipynb"))
FIRST_CELLS = 4  # code cells: the set-up, the imports, and what comes next
LARGEST_CLONE = 10_000_000  # bytes, without the checkpoint


@pytest.fixture(scope="module")
def github(tmp_path_factory):
    """The repository's stand-in."""
    return serve_project(tmp_path_factory.mktemp("github") / "vit-lesson")


@pytest.fixture
def colab(github, tmp_path):
    """The environment of a Colab runtime: google.colab is there and loaded, git finds the stand-in, nothing of ours is
    on the path."""
    package = tmp_path / "packages" / "google" / "colab"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00_colab.py").write_text("import google.colab\n", encoding="utf-8")
    (tmp_path / "content").mkdir()
    return {
        **same_everywhere(),
        "PYTHONPATH": str(tmp_path / "packages"),
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        **remote(github.as_uri()),
    }


def remote(address: str) -> dict[str, str]:
    """Environment variables that lead git to another address than GitHub's."""
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{address}.insteadOf",
        "GIT_CONFIG_VALUE_0": f"https://github.com/{ADDRESS}",
    }


def first_cells(path: Path, count: int = FIRST_CELLS, address: str = ADDRESS) -> nbformat.NotebookNode:
    """A notebook with its first code cells alone, and the repository's address set."""
    cells = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"][:count]
    cells[0].source = cells[0].source.replace("owner_name/repository", address)
    return nbformat.v4.new_notebook(cells=cells)


def execute(notebook: nbformat.NotebookNode, folder: Path, environment: dict[str, str]) -> str:
    """Run it in a kernel of its own; returns what the last cell printed."""
    client = NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    client.execute(env=environment)
    outputs = notebook.cells[-1].outputs
    return "".join(output.get("text", "") for output in outputs)


def printing(code: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_code_cell(code)


@pytest.mark.parametrize("path", [*NOTEBOOKS, *EXERCISES[:1]], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_notebook_alone_sets_itself_up(path, colab, tmp_path):
    content = tmp_path / "content"
    notebook = first_cells(path)
    if (ROOT / "data" / "drawn_pizza_steak_sushi").is_dir():  # spare it the drawing of 300 pictures
        notebook.cells.insert(
            1,
            printing(
                f"sys.path.append({str(ROOT / 'tests' / 'slow')!r})\nimport project_copy\n"
                "project_copy.copy_made(ROOT)\nsys.path.pop()"
            ),
        )
    notebook.cells.append(printing("print(ROOT)\nprint(utils.ROOT if 'utils' in globals() else ROOT)\nprint(HERE)"))
    places = execute(notebook, content, colab).split()
    assert places == [str(content / "vit-lesson")] * 2 + [str(content)]
    assert [path.name for path in content.iterdir()] == ["vit-lesson"]


def test_the_clone_is_shallow_and_small(colab, github, tmp_path):
    content = tmp_path / "content"
    execute(first_cells(NOTEBOOKS[0], count=2), content, colab)
    clone = content / "vit-lesson"
    assert git(github, "rev-list", "--count", "HEAD").strip() == "2"
    assert git(clone, "rev-list", "--count", "HEAD").strip() == "1"
    checkpoints = sum(path.stat().st_size for path in (clone / "models").glob("*.pth"))
    # A checkpoint lies there twice: as a file and, hardly smaller, in git's store.
    weighed = size(clone) - 2 * checkpoints
    print(
        f"clone: {size(clone):,} bytes, without checkpoints {weighed:,}; files {size(clone) - size(clone / '.git'):,}"
    )
    assert weighed < LARGEST_CLONE
    assert not (clone / "notebooks").exists(), "the notebooks' pictures are not fetched"
    assert git(clone, "status", "--porcelain") == ""


def test_a_second_run_fetches_nothing(colab, tmp_path):
    content = tmp_path / "content"
    notebook = first_cells(NOTEBOOKS[0], count=2)
    notebook.cells.append(nbformat.from_dict(dict(notebook.cells[0])))
    notebook.cells.append(printing("print(sys.path.count(str(ROOT)))"))
    assert execute(notebook, content, colab) == "1\n", "twice in one runtime"
    stamp = (content / "vit-lesson" / ".git").stat().st_mtime_ns
    execute(first_cells(NOTEBOOKS[-1], count=2), content, {**colab, **remote("file:///nowhere")})
    assert (content / "vit-lesson" / ".git").stat().st_mtime_ns == stamp, "another notebook, with no network"


@pytest.mark.parametrize("left_over", [False, True], ids=["no such repository", "a folder in its place"])
def test_a_clone_that_fails_says_what_to_do(colab, tmp_path, left_over):
    content = tmp_path / "content"
    if left_over:
        (content / "vit-lesson" / "half").mkdir(parents=True)
    environment = colab if left_over else {**colab, **remote((tmp_path / "nothing").as_uri())}
    with pytest.raises(CellExecutionError) as raised:
        execute(first_cells(NOTEBOOKS[0], count=1), content, environment)
    message = str(raised.value)
    assert f"{ADDRESS} could not be fetched from GitHub: " in message and "run this cell again" in message
    assert ("already exists" if left_over else "nothing") in message
    assert "delete the folder vit-lesson" in message
    assert (content / "vit-lesson").exists() is left_over


def test_outside_colab_nothing_is_fetched(github, tmp_path):
    environment = {**same_everywhere(), "IPYTHONDIR": str(tmp_path / "ipython"), **remote(github.as_uri())}
    environment.pop("PYTHONPATH", None)
    content = tmp_path / "content"
    content.mkdir()
    with pytest.raises(CellExecutionError, match="git clone the project and open this notebook inside it"):
        execute(first_cells(NOTEBOOKS[0], count=1), content, environment)
    assert list(content.iterdir()) == []

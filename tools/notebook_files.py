"""The notebooks as files: where they are, how they are read and written. Shared by the other tools and the tests."""

import os
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
SETUP_TAG = "setup"
FOLDERS = ("", "exercises", "solutions")  # below notebooks/


def notebook_paths(*folders: str) -> list[Path]:
    """Every numbered notebook of these folders, in order; without one, the lesson's own."""
    return [path for folder in folders or ("",) for path in sorted((NOTEBOOKS / folder).glob("[0-9][0-9]_*.ipynb"))]


def name_of(path: Path) -> str:
    """A notebook's name in messages: its path below notebooks/."""
    return path.relative_to(NOTEBOOKS).as_posix()


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def write(notebook: nbformat.NotebookNode, path: Path) -> None:
    """Write a notebook without what changes from machine to machine: the kernel's version, widget state, timings."""
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    nbformat.validate(notebook)
    write_text(path, nbformat.writes(notebook) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all, with the same line ends on every system."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def cells_tagged(notebook: nbformat.NotebookNode, tag: str) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if tag in cell.metadata.get("tags", [])]

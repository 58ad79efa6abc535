"""Say what would land dirty in a notebook: old outputs, errors, warnings, traces of a machine, a changed set-up cell.

usage: python tools/check_notebooks.py [NOTEBOOK ...]

Without a name every notebook of the project is checked. Exit status 1 where something is found, a line for each thing.
The pre-commit hook and the tests call it; it runs no cell.
"""

import ast
import json
import re
import sys
from pathlib import Path

import nbformat
from address import current, setup_cell
from notebook_files import NOTEBOOKS, ROOT, SETUP_TAG, cells_tagged

LARGEST = 1_500_000  # bytes
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
MACHINE = re.compile(r"(/home/|/Users/|/root/|/tmp/|/var/folders/|[A-Z]:\\{1,2}Users)[\w.\\/-]*|site-packages")
REFRESH = "python tools/run_notebooks.py --in-place"


def find_problems(path: Path) -> list[str]:
    """What is wrong with a notebook, a sentence each, with what to do about it."""
    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
    except (OSError, ValueError, nbformat.ValidationError) as error:
        return [f"it can't be read as a notebook: {' '.join(str(error).split())[:200]}"]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [*file_problems(path, notebook), *setup_problems(notebook, code), *output_problems(code)]


def file_problems(path: Path, notebook: nbformat.NotebookNode) -> list[str]:
    problems = []
    size = path.stat().st_size
    if size > LARGEST:
        problems.append(f"it has {size:,} bytes, at most {LARGEST:,} are allowed: draw fewer or smaller figures")
    if json.loads(json.dumps(notebook.metadata)) != METADATA:
        problems.append(f"its metadata are those of one machine or hold widgets: run {REFRESH}")
    if any("execution" in cell.metadata or "collapsed" in cell.metadata for cell in notebook.cells):
        problems.append(f"cells carry times or the state of an editor: run {REFRESH}")
    for number, cell in enumerate(notebook.cells):
        if not cell.source.strip():
            problems.append(f"cell {number} is empty: remove it")
    return problems


def setup_problems(notebook: nbformat.NotebookNode, code: list[nbformat.NotebookNode]) -> list[str]:
    address = current()
    problems = []
    found = cells_tagged(notebook, SETUP_TAG)
    if len(found) != 1 or not code or found[0] is not code[0]:
        problems.append(f"its first code cell, and no other, must be the set-up cell with the tag {SETUP_TAG!r}")
    elif found[0].source != setup_cell(address):
        problems.append("its set-up cell differs from tools/setup_cell.py: run python tools/address.py")
    badge = f"/github/{address}/blob/main/"
    if not notebook.cells or badge not in notebook.cells[0].source:
        problems.append(f"its first cell has no Colab badge for {address}: see another notebook, or tools/address.py")
    for cell in code:
        try:
            ast.parse(cell.source)
        except SyntaxError as error:
            problems.append(f"a cell is no Python ({error.msg}, line {error.lineno}): {cell.source.splitlines()[0]}")
    return problems


def output_problems(code: list[nbformat.NotebookNode]) -> list[str]:
    problems = []
    counts = [cell.execution_count for cell in code]
    if any(counts) and counts != list(range(1, len(counts) + 1)):
        problems.append(f"its outputs are not of one run from top to bottom: run {REFRESH}")
    for cell in code:
        line = cell.source.splitlines()[0] if cell.source else ""
        for output in cell.outputs:
            if output.output_type == "error":
                problems.append(f"a cell failed with {output.ename}: {line}")
            if output.get("name") == "stderr":
                problems.append(f"a cell printed a warning or an error: {line}")
            if any("widget" in kind for kind in output.get("data", {})):
                problems.append(f"an output is a widget, which GitHub doesn't show: {line}")
            trace = MACHINE.search(text_of(output))
            if trace:
                problems.append(f"an output holds a path of one machine, {trace.group()!r}: {line}")
    return problems


def text_of(output: nbformat.NotebookNode) -> str:
    data = output.get("data", {})
    return output.get("text", "") + "".join(str(data[kind]) for kind in data if kind.startswith("text/"))


def main() -> None:
    names = sys.argv[1:]
    paths = [Path(name) for name in names] or sorted(NOTEBOOKS.rglob("[0-9][0-9]_*.ipynb"))
    lines = [
        f"{path.resolve().relative_to(ROOT).as_posix() if path.resolve().is_relative_to(ROOT) else path}: {problem}"
        for path in paths
        if ".ipynb_checkpoints" not in path.parts
        for problem in find_problems(path)
    ]
    print("\n".join(lines or [f"{len(paths)} notebooks: clean"]))
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()

"""Run the notebooks in order, each in a kernel of its own, and end with the table of what they trained.

usage: python tools/run_notebooks.py [--in-place] [NOTEBOOK ...]

The executed copies go to build/notebooks; --in-place writes them back instead, which refreshes the committed outputs.
Notebooks are named by number or file name; without a name all of the lesson run. Those of another folder are named
with it: exercises/03, or exercises for all of them. Exit status 1 where a cell fails.
"""

import argparse
import sys
import time
from pathlib import Path

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from notebook_files import FOLDERS, ROOT, name_of, notebook_paths, read, write
from tqdm import tqdm

sys.path.insert(0, str(ROOT))
from going_modular.going_modular.utils import format_results, read_results  # noqa: E402

CELL_TIMEOUT = 3600  # seconds


def chosen(names: list[str]) -> list[Path]:
    """The notebooks' paths, in order; exits where a name fits none."""
    if not names:
        return notebook_paths()
    paths = notebook_paths(*FOLDERS)
    names = [Path(name).as_posix().removeprefix("notebooks/").rstrip("/") for name in names]
    for name in names:
        if not any(name_of(path).startswith(name) for path in paths):
            sys.exit(f"no notebook is called {name!r}: there are {', '.join(map(name_of, paths))}")
    return [path for path in paths if name_of(path).startswith(tuple(names))]


def run(path: Path, target: Path, bar: tqdm) -> str | None:
    """Run one notebook, write it to `target`, and return its error if it fails."""
    notebook = read(path)
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
        on_cell_executed=lambda cell, cell_index, execute_reply: bar.set_postfix_str(f"cell {cell_index + 1}"),
    )
    failure = None
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        failure = str(error)
    if failure is None or target != path:
        write(notebook, target)
    return failure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--in-place", action="store_true", help="write the outputs back into the notebooks")
    parser.add_argument("notebooks", nargs="*", help="numbers or names (all)")
    options = parser.parse_args()
    paths = chosen(options.notebooks)
    before = len(read_results())
    bar = tqdm(paths, unit="notebook", dynamic_ncols=True)
    for path in bar:
        name = name_of(path)
        bar.set_description(name.removesuffix(".ipynb"))
        start = time.perf_counter()
        failure = run(path, path if options.in_place else ROOT / "build" / "notebooks" / name, bar)
        if failure:
            bar.close()
            sys.exit(f"{name} failed:\n{failure}")
        bar.write(f"{name}: {time.perf_counter() - start:.0f} s")
    results = read_results()[before:]
    if results:
        print(f"\nWhat was trained:\n\n{format_results(results)}")


if __name__ == "__main__":
    main()

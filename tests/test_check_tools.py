"""tools/check_notebooks.py and tools/check_links.py: the project is clean, and what is not is found and named."""

import importlib
import shutil
import sys

import nbformat
import pytest
from conftest import ROOT, Server

PATHS = sorted((ROOT / "notebooks").rglob("[0-9][0-9]_*.ipynb"))


@pytest.fixture(autouse=True)
def tools_on_the_path(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    yield
    for name in ("address", "notebook_files", "check_notebooks", "check_links"):
        sys.modules.pop(name, None)


@pytest.fixture
def checker():
    return importlib.import_module("check_notebooks")


@pytest.fixture
def checker_of_links():
    return importlib.import_module("check_links")


# Notebooks


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_is_clean(checker, path):
    assert checker.find_problems(path) == []


def warn(notebook):
    notebook.cells[-1].outputs = [nbformat.v4.new_output("stream", name="stderr", text="a warning")]


def fail(notebook):
    notebook.cells[-1].outputs = [nbformat.v4.new_output("error", ename="ValueError", evalue="1", traceback=[])]


def tell_the_path(notebook):
    notebook.cells[-1].outputs = [nbformat.v4.new_output("stream", text="saved to /home/somebody/models")]


def tell_a_windows_path(notebook):
    data = {"text/plain": "WindowsPath('C:\\\\Users\\\\somebody')"}
    notebook.cells[-1].outputs = [nbformat.v4.new_output("display_data", data)]


def show_a_widget(notebook):
    data = {"application/vnd.jupyter.widget-view+json": {"model_id": "1"}}
    notebook.cells[-1].outputs = [nbformat.v4.new_output("display_data", data)]


def run_out_of_order(notebook):
    notebook.cells[-1].execution_count = 9


def change_the_setup(notebook):
    notebook.cells[1].source += "\n# mine"


def lose_the_setup(notebook):
    notebook.cells[1].metadata.tags = []


def lose_the_badge(notebook):
    notebook.cells[0].source = "# 01. Title"


def bring_metadata(notebook):
    notebook.metadata.kernelspec.display_name = "my environment"


def bring_times(notebook):
    notebook.cells[-1].metadata.execution = {"iopub.execute_input": "now"}


def empty_a_cell(notebook):
    notebook.cells[-1].source = "  "


def break_the_code(notebook):
    notebook.cells[-1].source = "!pip install torch"


def grow(notebook):
    notebook.cells[-1].outputs = [nbformat.v4.new_output("stream", text="1" * 2_000_001)]


@pytest.mark.parametrize(
    ("dirty", "words"),
    [
        (None, None),
        (warn, "printed a warning or an error: 6 \\* 7"),
        (fail, "failed with ValueError: 6 \\* 7"),
        (tell_the_path, "path of one machine, '/home/somebody/models'"),
        (tell_a_windows_path, "path of one machine"),
        (show_a_widget, "is a widget"),
        (run_out_of_order, "not of one run.*run_notebooks.py --in-place"),
        (change_the_setup, "set-up cell differs.*tools/address.py"),
        (lose_the_setup, "must be the set-up cell"),
        (lose_the_badge, "no Colab badge"),
        (bring_metadata, "metadata are those of one machine"),
        (bring_times, "carry times"),
        (empty_a_cell, "cell 2 is empty"),
        (break_the_code, "no Python"),
        (grow, "at most 1,500,000 are allowed"),
    ],
)
def test_what_is_dirty_is_named(checker, tmp_path, monkeypatch, capsys, dirty, words):
    address = importlib.import_module("address")
    cells = [
        nbformat.v4.new_markdown_cell(f"# 01. Title\n\n{address.badge(address.current(), 'notebooks/01_a.ipynb')}"),
        nbformat.v4.new_code_cell(
            address.setup_cell(address.current()), metadata={"tags": ["setup"]}, execution_count=1
        ),
        nbformat.v4.new_code_cell("6 * 7", execution_count=2),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=checker.METADATA)
    if dirty:
        dirty(notebook)
    path = tmp_path / "01_a.ipynb"
    nbformat.write(notebook, path)
    monkeypatch.setattr(sys, "argv", ["check_notebooks.py", str(path)])
    with pytest.raises(SystemExit) as stopped:
        checker.main()
    printed = capsys.readouterr().out
    assert bool(stopped.value.code) is bool(dirty)
    if dirty:
        (line,) = printed.splitlines()
        with pytest.raises(AssertionError, match=words):
            raise AssertionError(line)
    else:
        assert printed == "1 notebooks: clean\n"


def test_what_is_no_notebook(checker, tmp_path):
    path = tmp_path / "01_a.ipynb"
    path.write_text("<html>", encoding="utf-8")
    (problem,) = checker.find_problems(path)
    assert "can't be read" in problem


# Links


def test_no_link_within_the_project_is_broken(checker_of_links):
    found = {path: checker_of_links.broken_inside(path) for path in checker_of_links.pages()}
    assert len(found) > 10 and not any(found.values()), found


def test_a_broken_link_is_named(checker_of_links, tmp_path):
    (tmp_path / "b.md").write_text("# A `Heading`, here\n\n## Twice\n\n## Twice\n", encoding="utf-8")
    page = tmp_path / "a.md"
    page.write_text(
        "[1](b.md) [2](b.md#a-heading-here) [3](b.md#twice-1) [4](#top) ![5](c.png) [6](d.md) [7](b.md#no)\n"
        "`[8](e.md)`\n"
        "```\n[9](f.md)\n```\n$A[i](x)$ [10](https://example.org/x#y) [![badge](g.svg)](h.md)\n# Top\n",
        encoding="utf-8",
    )
    found = checker_of_links.broken_inside(page)
    assert [line.partition(":")[0] for line in found] == ["g.svg", "c.png", "d.md", "b.md#no", "h.md"]
    assert "no such heading" in found[3] and "no such file" in found[0]
    assert "https://example.org/x#y" in checker_of_links.links(page.read_text(encoding="utf-8"))


def test_links_to_other_hosts(checker_of_links):
    server = Server()
    try:
        server.pages = {"/here": (200, {}, b"a"), "/shy": (403, {}, b"")}
        assert checker_of_links.broken_outside(f"{server.url}/here") is None
        assert checker_of_links.broken_outside(f"{server.url}/shy") is None
        assert checker_of_links.broken_outside(f"{server.url}/gone") == f"{server.url}/gone: 404"
    finally:
        server.close()
    assert "ConnectionError" in checker_of_links.broken_outside(f"{server.url}/here")


def test_a_notebooks_links_are_those_of_its_text(checker_of_links, tmp_path):
    path = tmp_path / "01_a.ipynb"
    cells = [nbformat.v4.new_markdown_cell("[a](gone.md)"), nbformat.v4.new_code_cell("x[a](also_gone.md)")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    assert checker_of_links.broken_inside(path) == ["gone.md: there is no such file"]
    shutil.copy(path, tmp_path / "gone.md")
    assert checker_of_links.broken_inside(path) == []

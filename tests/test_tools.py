"""tools: setting the repository's address, the notebooks' set-up cell, and running the notebooks."""

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import nbformat
import pytest
from conftest import ROOT, files_below
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from going_modular.going_modular import utils

PLACEHOLDER = "owner_name/repository"
README = f"""See https://github.com/{PLACEHOLDER}. Clone https://github.com/{PLACEHOLDER}.git, not
https://github.com/{PLACEHOLDER}-old; it follows https://github.com/mrdbourke/pytorch-deep-learning.
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A copy of the project's tools with a README and two notebooks; project.tool("address") is the copy's module."""
    root = tmp_path / "a project"
    shutil.copytree(ROOT / "tools", root / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "tools" / "address.txt").write_text(PLACEHOLDER + "\n", encoding="utf-8")
    (root / "README.md").write_text(README, encoding="utf-8")
    marker = root / "going_modular" / "going_modular" / "vit.py"
    marker.parent.mkdir(parents=True)
    marker.touch()
    monkeypatch.syspath_prepend(root / "tools")
    for name in ("address", "notebook_files", "run_notebooks"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    class Project:
        path = root
        notebooks = root / "notebooks"

        def tool(self, name: str) -> ModuleType:
            return importlib.import_module(name)

        def call(self, name: str, *arguments: str) -> None:
            monkeypatch.setattr(sys, "argv", [f"tools/{name}.py", *arguments])
            self.tool(name).main()

        def add(self, name: str, *codes: str) -> Path:
            cells = [nbformat.v4.new_markdown_cell(f"# Title\n\n{self.tool('address').badge(PLACEHOLDER, name)}")]
            cells.append(nbformat.v4.new_code_cell("old set-up", metadata={"tags": ["setup"]}))
            cells += [nbformat.v4.new_code_cell(code) for code in codes]
            path = self.notebooks / name
            self.tool("notebook_files").write(nbformat.v4.new_notebook(cells=cells), path)
            return path

    yield Project()
    for name in ("address", "notebook_files", "run_notebooks"):
        sys.modules.pop(name, None)


# The address


def test_setting_the_address_and_back(project):
    path = project.add("01_first.ipynb", "1 + 1")
    project.call("address")
    before = files_below(project.path)
    project.call("address", "octocat/vit-lesson")
    after = files_below(project.path)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"README.md", "tools/address.txt", "notebooks/01_first.ipynb"} and after.keys() == before.keys()
    title, setup, code = nbformat.read(path, 4).cells
    assert "/github/octocat/vit-lesson/blob/main/01_first.ipynb" in title.source
    assert 'REPOSITORY = "octocat/vit-lesson"' in setup.source and code.source == "1 + 1"
    text = (project.path / "README.md").read_text(encoding="utf-8")
    assert text.count("octocat/vit-lesson") == 2 and f"{PLACEHOLDER}-old" in text and "mrdbourke" in text
    project.call("address", "octocat/vit-lesson")
    project.call("address")
    assert files_below(project.path) == after, "a second time changes nothing"
    project.call("address", PLACEHOLDER)
    assert files_below(project.path) == before


def test_exercises_and_solutions_keep_the_address(project):
    paths = [project.add(f"{folder}/01_first.ipynb", "1 + 1") for folder in ("exercises", "solutions")]
    project.call("address", "octocat/vit-lesson")
    for path in paths:
        title, setup, _ = nbformat.read(path, 4).cells
        place = path.relative_to(project.notebooks).as_posix()
        assert f"/github/octocat/vit-lesson/blob/main/{place}" in title.source
        assert 'REPOSITORY = "octocat/vit-lesson"' in setup.source


@pytest.mark.parametrize(
    "address", ["octocat", "octocat/", "/vit", "octo_cat/vit", "a/b/c", "https://github.com/octocat/vit", "o c/vit", ""]
)
def test_a_bad_address_is_refused(project, address):
    project.add("01_first.ipynb")
    before = files_below(project.path)
    with pytest.raises(SystemExit, match="owner/name"):
        project.call("address", address)
    assert files_below(project.path) == before


# The set-up cell


@pytest.fixture
def cell(project, monkeypatch):
    """Run the set-up cell in a folder, `times` over as one kernel would: returns its names and the paths it added."""
    calls = []
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **_: calls.append(arguments[0]))
    monkeypatch.delitem(sys.modules, "google.colab", raising=False)

    def execute(folder: Path, address: str = PLACEHOLDER, times: int = 1) -> dict:
        monkeypatch.chdir(folder)
        names, before = {}, list(sys.path)
        for _ in range(times):
            exec(compile(project.tool("address").setup_cell(address), "cell", "exec"), names)
        added = sys.path[: len(sys.path) - len(before)]
        assert sys.path[len(added) :] == before and Path.cwd() == folder
        return {**names, "added": added}

    execute.calls = calls
    return execute


@pytest.mark.parametrize("place", ["", "notebooks", "notebooks/solutions/deep"])
@pytest.mark.parametrize("times", [1, 2])
def test_the_cell_finds_the_root(project, cell, place, times):
    folder = project.path / place
    folder.mkdir(parents=True, exist_ok=True)
    names = cell(folder, times=times)
    assert names["ROOT"] == project.path and names["added"] == [str(project.path)] and cell.calls == []


def test_the_cell_says_what_to_do_in_a_foreign_folder(cell, tmp_path):
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    with pytest.raises(FileNotFoundError, match="git clone"):
        cell(foreign)
    assert cell.calls == [] and list(foreign.iterdir()) == []


def test_the_cell_in_colab_without_an_address_calls_no_git(cell, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    empty = tmp_path / "content"
    empty.mkdir()
    with pytest.raises(ValueError, match="owner/name, into REPOSITORY"):
        cell(empty)
    assert cell.calls == []


def test_the_cell_in_colab_fetches_once(cell, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    empty = tmp_path / "content"
    empty.mkdir()

    def clone(command, **_):
        cell.calls.append(command)
        scripts = empty / "vit-lesson" / "going_modular" / "going_modular"
        scripts.mkdir(parents=True, exist_ok=True)
        (scripts / "vit.py").touch()
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", clone)
    assert cell(empty, "octocat/vit-lesson", times=2)["ROOT"] == empty / "vit-lesson"
    command, select = cell.calls
    assert command[:2] == ["git", "clone"] and {"--depth=1", "--filter=blob:none", "--sparse"} <= set(command)
    assert command[-2:] == ["https://github.com/octocat/vit-lesson", str(empty / "vit-lesson")]
    assert select[:3] == ["git", "-C", str(empty / "vit-lesson")]
    assert select[-5:] == ["sparse-checkout", "set", "docs", "going_modular", "models"]


def test_the_cell_in_colab_where_git_fails(cell, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))

    def clone(command, **_):
        cell.calls.append(command)
        return subprocess.CompletedProcess(command, 128, stderr="fatal: no such thing\n")

    monkeypatch.setattr(subprocess, "run", clone)
    with pytest.raises(
        RuntimeError, match="octocat/vit-lesson could not be fetched.*no such thing\n.*run this cell again"
    ):
        cell(tmp_path, "octocat/vit-lesson")
    assert len(cell.calls) == 1


def test_the_cell_adds_torchinfo_and_touches_nothing_else(project, cell, monkeypatch):
    """Colab has torch and lacks torchinfo: no package but this one is installed, not even one it might ask for."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    cell(project.path)
    assert cell.calls == [[sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "torchinfo"]]


# Running the notebooks


def test_running_notebooks(project, monkeypatch, tmp_path, capsys):
    """Two kernels are started, once each: one notebook runs, the next fails, and the third is not begun."""
    ledger = tmp_path / "results.jsonl"
    monkeypatch.setattr(utils, "RESULTS", ledger)
    good = project.add("01_good.ipynb", "import os\nprint(os.path.basename(os.getcwd()), 6 * 7)")
    bad = project.add("02_bad.ipynb", "print('so far')", "1 / 0")
    project.add("03_never.ipynb")
    project.call("address")  # writes the set-up cells
    before = files_below(project.path)
    with pytest.raises(SystemExit) as stopped:
        project.call("run_notebooks", "--in-place")
    message = str(stopped.value.code)  # a text: exit status 1
    assert "02_bad.ipynb failed" in message and "ZeroDivisionError" in message and "1 / 0" in message
    changed = {name for name, content in files_below(project.path).items() if before.get(name) != content}
    assert changed == {"notebooks/01_good.ipynb"}, "what failed is left as it was, and no other file stays"
    (output,) = nbformat.read(good, 4).cells[-1].outputs
    assert output.text == "notebooks 42\n" and nbformat.read(bad, 4).cells[-1].outputs == []
    assert "01_good.ipynb:" in capsys.readouterr().out


@pytest.mark.parametrize("error", [CellTimeoutError("too slow"), DeadKernelError("the kernel died")])
@pytest.mark.parametrize("in_place", [True, False])
def test_a_notebook_that_breaks_off(project, monkeypatch, error, in_place):
    class Client:
        def __init__(self, notebook, **_):
            self.notebook = notebook

        def execute(self):
            self.notebook.cells[-1].outputs = [nbformat.v4.new_output("stream", text="half")]
            raise error

    path = project.add("01_a.ipynb", "1")
    before = path.read_bytes()
    monkeypatch.setattr(project.tool("run_notebooks"), "NotebookClient", Client)
    with pytest.raises(SystemExit, match=f"01_a.ipynb failed:\n{error}"):
        project.call("run_notebooks", *["--in-place"] * in_place)
    assert path.read_bytes() == before
    copy = project.path / "build" / "notebooks" / "01_a.ipynb"
    assert copy.exists() is not in_place, "a copy shows how far it came"


def fake_run(project, monkeypatch, ledger: Path) -> list:
    """run_notebooks with kernels that record a training and do nothing else: a list of (notebook, target)."""
    ran = []

    def run(path, target, bar):
        ran.append((path.name, target.relative_to(project.path).as_posix()))
        utils.record_result(
            notebook=path.stem, data="drawn", weights="none", variant="ViT-Ti/16", img_size=224, epochs=1, seed=42,
            accuracy=0.5, seconds=1, path=ledger,
        )  # fmt: skip

    monkeypatch.setattr(utils, "RESULTS", ledger)
    monkeypatch.setattr(project.tool("run_notebooks"), "run", run)
    return ran


def test_choosing_notebooks_and_the_table(project, monkeypatch, tmp_path, capsys):
    for name in ("01_a.ipynb", "02_b.ipynb", "10_c.ipynb", "draft.ipynb"):
        project.add(name)
    ran = fake_run(project, monkeypatch, tmp_path / "results.jsonl")
    project.call("run_notebooks")
    assert ran == [(name, f"build/notebooks/{name}") for name in ("01_a.ipynb", "02_b.ipynb", "10_c.ipynb")]
    ran.clear()
    capsys.readouterr()
    project.call("run_notebooks", "--in-place", "10", os.path.join("notebooks", "01_a.ipynb"))
    assert ran == [(name, f"notebooks/{name}") for name in ("01_a.ipynb", "10_c.ipynb")]
    table = capsys.readouterr().out
    assert "What was trained" in table and "10_c" in table and "02_b" not in table, "this run's results alone"
    with pytest.raises(SystemExit, match="'11'.*01_a.ipynb, 02_b.ipynb, 10_c.ipynb"):
        project.call("run_notebooks", "11")


def test_exercises_and_solutions_run_when_they_are_named(project, monkeypatch, tmp_path):
    for name in ("01_a.ipynb", "exercises/01_a.ipynb", "exercises/02_b.ipynb", "solutions/01_a.ipynb"):
        project.add(name)
    ran = fake_run(project, monkeypatch, tmp_path / "results.jsonl")
    chosen = {
        (): ["01_a.ipynb"],
        ("01",): ["01_a.ipynb"],
        ("exercises/02",): ["exercises/02_b.ipynb"],
        ("notebooks/exercises/", "solutions"): ["exercises/01_a.ipynb", "exercises/02_b.ipynb", "solutions/01_a.ipynb"],
    }
    for names, expected in chosen.items():
        ran.clear()
        project.call("run_notebooks", *names)
        assert [target for _, target in ran] == [f"build/notebooks/{name}" for name in expected]


def test_a_notebook_is_written_whole_and_without_traces_of_the_machine(project, monkeypatch):
    path = project.add("01_a.ipynb", "1")
    files = project.tool("notebook_files")
    notebook = files.read(path)
    notebook.metadata.widgets = {"state": {}}
    notebook.cells[-1].metadata.execution = {"iopub.execute_input": "now"}
    files.write(notebook, path)
    kept = files_below(project.path)
    assert b"widgets" not in path.read_bytes() and b"iopub" not in path.read_bytes() and b"\r" not in path.read_bytes()

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        files.write(notebook, path)
    assert files_below(project.path) == kept

"""The pre-commit hooks, on a copy of the project: what is clean lands, a dirty notebook doesn't."""

import os
import subprocess
import sys

import nbformat
import pytest
from project_copy import AUTHOR, copy_project, git


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A repository with the hooks installed; "python" in a hook is the Python of this test."""
    pytest.importorskip("pre_commit", reason="pre-commit is not installed: see requirements-dev.txt")
    root = copy_project(tmp_path_factory.mktemp("hooks") / "vit-lesson")
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all")
    git(root, *AUTHOR, "commit", "--quiet", "--message=all")
    return root


def run_hooks(root, *arguments: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])}
    environment["PRE_COMMIT_HOME"] = str(root.parent / "cache")
    command = [sys.executable, "-m", "pre_commit", "run", *arguments]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, encoding="utf-8", check=False)


def test_the_project_is_clean(clone):
    done = run_hooks(clone, "--all-files")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("Passed") == 4 and "Skipped" not in done.stdout


@pytest.mark.parametrize(
    ("spoil", "hook", "words"),
    [
        ("1 / 0", "notebooks", "failed with ZeroDivisionError"),
        ("import os", "ruff-check", "imported but unused"),
        ("x = {  'a':1 }", "ruff-format", "reformatted"),
        ("# t" + "eh end\nx = 1", "codespell", "==> the"),
    ],
)
def test_a_dirty_notebook_does_not_land(clone, spoil, hook, words):
    path = clone / "notebooks" / "06_mlp.ipynb"
    before = path.read_bytes()
    notebook = nbformat.read(path, 4)
    cell = nbformat.v4.new_code_cell(spoil, execution_count=len(notebook.cells))
    if "0" in spoil:
        cell.outputs = [nbformat.v4.new_output("error", ename="ZeroDivisionError", evalue="", traceback=[])]
    notebook.cells.append(cell)
    nbformat.write(notebook, path)
    try:
        git(clone, "add", "--all")
        done = run_hooks(clone, hook)
        assert done.returncode == 1 and words in done.stdout, done.stdout
    finally:
        path.write_bytes(before)
        git(clone, "add", "--all")

"""The exercise and the solution notebooks as files: in step with each other, open, and worked."""

import ast
import re
import sys

import nbformat
import pytest
from conftest import ROOT

from going_modular.going_modular import checks

sys.path.insert(0, str(ROOT / "tools"))
from address import badge, current, setup_cell  # noqa: E402

NOTEBOOKS = ROOT / "notebooks"
NAMES = sorted(path.name for path in (NOTEBOOKS / "exercises").glob("*.ipynb"))


def cells(kind: str, name: str) -> list:
    return nbformat.read(NOTEBOOKS / kind / name, as_version=4).cells


def tagged(found: list, tag: str) -> list:
    return [cell for cell in found if tag in cell.metadata.get("tags", [])]


def shared(found: list, own: str) -> list[tuple]:
    """The cells that both sorts have: all but those from an exercise's own code or text."""
    return [(cell.cell_type, cell.source) for cell in found if own not in cell.metadata.get("tags", [])]


def test_there_is_a_notebook_of_each_sort_for_every_lesson_with_exercises():
    assert NAMES == sorted(path.name for path in (NOTEBOOKS / "solutions").glob("*.ipynb"))
    assert [name[:2] for name in NAMES] == [f"{number:02}" for number in range(1, 13)]
    for name in NAMES:
        assert (NOTEBOOKS / name).is_file()


def test_every_check_is_used_once():
    used = [
        re.findall(r"checks\.(\w+)\(", cell.source)
        for name in NAMES
        for cell in tagged(cells("exercises", name), "check")
    ]
    assert sorted(sum(used, [])) == sorted(set(checks.__all__) - {"Verdict"})


@pytest.mark.parametrize("name", NAMES)
def test_exercises_and_solutions_are_in_step(name):
    exercises, solutions = cells("exercises", name), cells("solutions", name)
    checked = [cell.source for cell in tagged(exercises, "check")]
    assert checked == [cell.source for cell in tagged(solutions, "check")]
    headings = ("## Exercise", "## Capstone")
    tasks = [[cell.source for cell in found if cell.source.startswith(headings)] for found in (exercises, solutions)]
    assert tasks[0] == tasks[1] and len(tasks[0]) == len(checked)
    capstone = sum(task.startswith("## Capstone") for task in tasks[0])
    assert 2 <= len(checked) - capstone <= 4 and capstone == (5 if name.startswith("12") else 0)
    assert len(tagged(exercises, "exercise")) == len(checked) <= len(tagged(solutions, "solution"))
    shared_code = {cell.source for cell in exercises if cell.cell_type == "code"} - {
        c.source for c in tagged(exercises, "exercise")
    }
    assert shared_code <= {cell.source for cell in solutions}


@pytest.mark.parametrize("name", NAMES)
def test_exercises_hold_no_solution(name):
    exercises, solutions = cells("exercises", name), cells("solutions", name)
    everything = "\n".join(cell.source for cell in exercises)
    given = {line.strip() for line in everything.splitlines()}
    for cell in tagged(solutions, "solution"):
        assert cell.source not in everything
        new = [line for line in cell.source.splitlines() if line.strip() and line.strip() not in given]
        assert new, f"nothing is left to write:\n{cell.source}"
    for cell in tagged(exercises, "exercise"):
        assert "NotImplementedError" in cell.source or cell.source.endswith("= ...")


@pytest.mark.parametrize("kind", ["exercises", "solutions"])
@pytest.mark.parametrize("name", NAMES)
def test_the_frame(kind, name):
    found = cells(kind, name)
    title = found[0].source
    assert title.startswith(f"# {name[:2]}. ") and title.splitlines()[0].endswith(f": {kind}")
    assert badge(current(), f"notebooks/{kind}/{name}") in title
    assert [cell.source for cell in tagged(found, "setup")] == [setup_cell(current())]
    for target in re.findall(r"\]\((\.\./[^)]+)\)", "\n".join(cell.source for cell in found)):
        assert (NOTEBOOKS / kind / target).is_file(), target
    for before, after in zip(found, found[1:]):
        assert {before.cell_type, after.cell_type} != {"code"}, "a sentence between two code cells"


@pytest.mark.parametrize("kind, headline", [("exercises", "Not attempted yet"), ("solutions", "Passed")])
@pytest.mark.parametrize("name", NAMES)
def test_the_stored_outputs(kind, headline, name):
    for cell in cells(kind, name):
        tags = cell.metadata.get("tags", [])
        if "check" in tags:
            assert "nbval-check-output" in tags
            (output,) = cell.outputs
            assert output.data["text/plain"].strip().startswith(headline) and headline in output.data["text/html"]
        for output in cell.get("outputs", []):
            assert output.output_type != "error" and output.get("name") != "stderr"


def verdicts(kind: str, name: str) -> list[checks.Verdict]:
    """The verdicts of a notebook's checks, its cells run in this process; demonstrations that draw are left out."""
    names, found = {}, []
    for cell in cells(kind, name):
        tags = cell.metadata.get("tags", [])
        if cell.cell_type != "code" or "setup" in tags or "create_dataloaders(\n    data" in cell.source:
            continue
        tree = ast.parse(cell.source)
        if "check" in tags:
            found.append(eval(compile(ast.Expression(tree.body[0].value), name, "eval"), names))
        else:
            exec(compile(tree, name, "exec"), names)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_untouched_exercises_are_not_attempted(name, monkeypatch):
    monkeypatch.setenv("FOODVISION_DATA", "drawn")
    assert {verdict.name for verdict in verdicts("exercises", name)} == {"not_attempted"}


@pytest.mark.parametrize("name", NAMES)
def test_solutions_pass(name, monkeypatch):
    monkeypatch.setenv("FOODVISION_DATA", "drawn")
    found = verdicts("solutions", name)
    assert len(found) >= 2 and all(verdict.passed for verdict in found), found

"""The notebooks as files: what holds for every one of them, without running any."""

import ast
import re

import pytest
from conftest import ROOT

from going_modular.going_modular import vit
from tools import notebook_files

PATHS = notebook_files.notebook_paths()
ADDRESS = (ROOT / "tools" / "address.txt").read_text(encoding="utf-8").strip()
SETUP = (ROOT / "tools" / "setup_cell.py").read_text(encoding="utf-8")
VIT_SOURCE = (ROOT / "going_modular" / "going_modular" / "vit.py").read_text(encoding="utf-8")
VIT_DEFINITIONS = {node.name: node for node in ast.parse(VIT_SOURCE).body if hasattr(node, "name")}
LONGEST_CELL = 25  # lines; a class shown as vit.py has it may be longer
SHOWN_IN = {
    "PatchEmbedding": "03_patch_embedding",
    "SelfAttention": "05_multihead_self_attention",
    "MultiheadSelfAttentionBlock": "05_multihead_self_attention",
    "MLPBlock": "06_mlp",
    "TransformerEncoderBlock": "07_transformer_encoder",
    "ViT": "08_vision_transformer",
}


@pytest.fixture(params=PATHS, ids=[path.stem for path in PATHS])
def notebook(request):
    found = notebook_files.read(request.param)
    found.path = request.param
    return found


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def prose(notebook):
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def links(text):
    """The targets of a markdown text's links and pictures that lie in this repository."""
    return [target for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]


def definitions(notebook):
    """{name: source} of the classes and functions that a notebook defines on the top level of a cell."""
    found = {}
    for cell in code_cells(notebook):
        for node in ast.parse(cell.source).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                found[node.name] = ast.get_source_segment(cell.source, node)
    return found


def test_there_are_notebooks():
    numbers = [int(path.name[:2]) for path in PATHS]
    assert numbers == list(range(len(PATHS))), "numbered from 00 without a gap"


def test_set_up_badge_and_title(notebook):
    (setup,) = notebook_files.cells_tagged(notebook, "setup")
    assert setup.source == SETUP.replace("owner_name/repository", ADDRESS).rstrip("\n")
    assert code_cells(notebook)[0] is setup, "the set-up cell comes first"
    title = notebook.cells[0].source
    assert title.startswith(f"# {notebook.path.name[:2]}. ")
    assert f"/github/{ADDRESS}/blob/main/notebooks/{notebook.path.name}" in title
    for word in ("**Time:**", "**Downloads:**"):
        assert word in title


def test_links_lead_somewhere(notebook):
    for target in links(prose(notebook)):
        assert (notebook.path.parent / target.partition("#")[0]).exists(), target


def test_neighbours_are_linked(notebook):
    place = PATHS.index(notebook.path)
    title, end = notebook.cells[0].source, notebook.cells[-1].source
    if place:
        assert PATHS[place - 1].name in title
    if place < len(PATHS) - 1:
        assert PATHS[place + 1].name in title and PATHS[place + 1].name in end


def test_cells_are_short(notebook):
    for cell in code_cells(notebook):
        lines = [line for line in cell.source.splitlines() if line.strip()]
        classes = [node.name for node in ast.parse(cell.source).body if isinstance(node, ast.ClassDef)]
        if "setup" not in cell.metadata.get("tags", []) and not set(classes) & set(VIT_DEFINITIONS):
            assert len(lines) <= LONGEST_CELL, f"{len(lines)} lines:\n{cell.source}"


def test_prose_stands_between_code_cells(notebook):
    kinds = [cell.cell_type for cell in notebook.cells]
    setup = kinds.index("code")  # the imports follow it at once
    for place in range(setup + 2, len(kinds)):
        assert (kinds[place - 1], kinds[place]) != ("code", "code"), notebook.cells[place].source


def test_a_class_that_a_notebook_shows_is_the_scripts(notebook):
    """A notebook may build a smaller class first, under another name; one with vit.py's name has vit.py's text."""
    for name, source in definitions(notebook).items():
        if name in VIT_DEFINITIONS:
            assert source == ast.get_source_segment(VIT_SOURCE, VIT_DEFINITIONS[name]), name


@pytest.mark.parametrize(("name", "stem"), SHOWN_IN.items())
def test_every_class_is_shown_where_it_is_built(name, stem):
    path = notebook_files.NOTEBOOKS / f"{stem}.ipynb"
    assert name in definitions(notebook_files.read(path))
    assert hasattr(vit, name)


def test_proofs_assert(notebook):
    """Each of 03 to 08 asserts on numbers, prints the difference, and holds it to 1e-5 or less."""
    if not 3 <= int(notebook.path.name[:2]) <= 8:
        return
    source = "\n".join(cell.source for cell in code_cells(notebook))
    asserts = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert)]
    assert len(asserts) >= 2
    assert "1e-5" in source and not re.search(r"atol=(1e-[0-4]|0\.0?1)\b", source)


def test_outputs_are_of_one_run_and_hold_nothing_of_the_machine(notebook):
    checked = notebook_files.cells_tagged(notebook, "nbval-check-output")
    assert len(checked) >= 3
    counts = [cell.execution_count for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))
    for cell in checked:
        for output in cell.outputs:
            assert "image/png" not in output.get("data", {}), "pictures differ from machine to machine"
            assert output.get("name") != "stderr"
    for cell in code_cells(notebook):
        for output in cell.outputs:
            assert output.output_type != "error" and "widget" not in str(output.get("data", {}).keys())


def test_no_shell_and_no_test_only_branch(notebook):
    for cell in code_cells(notebook):
        assert not re.search(r"^\s*[!%]", cell.source, re.M)
        assert not re.search(r"""["'](CI|PYTEST_CURRENT_TEST|GITHUB_ACTIONS)["']|nbval""", cell.source)


def test_readme_lists_every_notebook():
    for page, folder in ((ROOT / "README.md", "notebooks/"), (notebook_files.NOTEBOOKS / "README.md", "")):
        text = page.read_text(encoding="utf-8")
        for path in PATHS:
            assert f"({folder}{path.name})" in text
        for target in links(text):
            assert (page.parent / target.partition("#")[0]).exists(), target

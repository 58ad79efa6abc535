"""What Windows and macOS ask for, checked on any system: no shell, paths as pathlib has them, encodings named, workers
that are spawned and not forked."""

import ast
import multiprocessing
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT
from nbclient import NotebookClient

SCRIPTS = sorted(
    [
        ROOT / "helper_functions.py",
        *(path for folder in ("going_modular", "tools", "benchmarks") for path in (ROOT / folder).rglob("*.py")),
    ],
    key=lambda path: path.as_posix(),
)
SOURCES = [*SCRIPTS, *sorted((ROOT / "tests").rglob("*.py"))]
NOTEBOOKS = sorted((ROOT / "notebooks").rglob("[0-9][0-9]_*.ipynb"))
NOTEBOOKS = [path for path in NOTEBOOKS if ".ipynb_checkpoints" not in path.parts]
RESERVED = {"con", "prn", "aux", "nul", *(f"{name}{number}" for name in ("com", "lpt") for number in range(1, 10))}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def cells(path: Path) -> list[tuple[str, bool]]:
    """Each code cell's source, and whether it is the set-up cell."""
    found = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    return [(cell.source, "setup" in cell.metadata.get("tags", [])) for cell in found]


def tree(path: Path) -> ast.Module:
    """The syntax tree of a script, or of all cells of a notebook."""
    if path.suffix == ".ipynb":
        return ast.parse("\n".join(source for source, _ in cells(path)), str(path))
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def dotted(node: ast.AST) -> str:
    """a.b.c of a name or an attribute; "" begins what is neither."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def calls(path_or_tree) -> list[tuple[str, ast.Call]]:
    parsed = path_or_tree if isinstance(path_or_tree, ast.AST) else tree(path_or_tree)
    return [(dotted(node.func), node) for node in ast.walk(parsed) if isinstance(node, ast.Call)]


# Encodings: Windows would take its own where none is named


def mode_of(call: ast.Call, place: int) -> str | None:
    """The mode of an open(): a text; None where that argument can't be a mode, as in Image.open(path)."""
    values = [keyword.value for keyword in call.keywords if keyword.arg == "mode"] or call.args[place : place + 1]
    if not values:
        return "r"
    value = values[0]
    is_mode = isinstance(value, ast.Constant) and isinstance(value.value, str) and set(value.value) <= set("rwaxbt+")
    return value.value if is_mode else None


def without_encoding(parsed: ast.AST) -> list[int]:
    """The lines on which a text file is opened, or a program's output read as text, with no encoding named."""
    lines = []
    for called, call in calls(parsed):
        last = called.rpartition(".")[2]
        keywords = {keyword.arg for keyword in call.keywords}
        if "encoding" in keywords or None in keywords:  # **options may hold it
            continue
        if called in ("open", "io.open", "os.fdopen"):
            is_text = "b" not in (mode_of(call, 1) or "")
        elif last == "open":  # of a path; of a module such as Image it has the file as its first argument
            mode = mode_of(call, 0)
            is_text = mode is not None and "b" not in mode and not called.startswith(("Image.", "webbrowser."))
        elif last == "read_text":
            is_text = not call.args
        elif last == "write_text":
            is_text = len(call.args) < 2
        elif last in ("TemporaryFile", "NamedTemporaryFile"):
            is_text = "b" not in (mode_of(call, 0) if call.args or "mode" in keywords else "b")
        else:
            is_text = called.startswith("subprocess.") and bool(keywords & {"text", "universal_newlines"})
        if is_text:
            lines.append(call.lineno)
    return lines


@pytest.mark.parametrize("path", [*SOURCES, *NOTEBOOKS], ids=name)
def test_every_text_file_names_its_encoding(path):
    lines = without_encoding(tree(path))
    assert lines == [], f"{name(path)}: encoding= is missing on lines {lines}"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("open(p)", True),
        ("open(p, 'w')", True),
        ("open(p, mode='at')", True),
        ("open(p, mode)", True),
        ("p.open()", True),
        ("p.open('a')", True),
        ("p.read_text()", True),
        ("p.write_text(s)", True),
        ("subprocess.run(c, text=True)", True),
        ("NamedTemporaryFile('w')", True),
        ("open(p, 'rb')", False),
        ("open(p, encoding='utf-8')", False),
        ("p.open('wb')", False),
        ("p.open('a', encoding='utf-8')", False),
        ("Image.open(p)", False),
        ("archive.open(info)", False),
        ("p.read_text(encoding='utf-8')", False),
        ("p.write_text(s, encoding='utf-8')", False),
        ("NamedTemporaryFile()", False),
        ("subprocess.run(c)", False),
    ],
)
def test_the_search_for_encodings(source, found):
    assert bool(without_encoding(ast.parse(source))) is found


# Paths


@pytest.mark.parametrize("path", [*SCRIPTS, *NOTEBOOKS], ids=name)
def test_paths_are_pathlibs(path):
    parsed = tree(path)
    used = {dotted(node) for node in ast.walk(parsed) if isinstance(node, (ast.Attribute, ast.Name))}
    imported = {alias.name for node in ast.walk(parsed) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(parsed) if isinstance(node, ast.ImportFrom)}
    assert not [word for word in used if word.startswith(("os.path", "os.sep", "os.getcwd", "os.listdir"))]
    assert not imported & {"glob", "os.path", "posixpath", "ntpath"}


@pytest.mark.parametrize("path", [*SCRIPTS, *NOTEBOOKS], ids=name)
def test_no_path_of_one_system(path):
    """No text in the code begins as an absolute path does: /home, /tmp, C:\\..."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert not node.value.startswith(("/home", "/tmp", "/root", "/usr", "/opt", "/content"))
            assert node.value[1:3] not in (":\\", ":/"), node.value


def test_file_names_that_every_system_takes():
    """No name that Windows reserves or can't hold, and no two that differ in capitals alone."""
    for folder in ("going_modular", "notebooks", "tools", "benchmarks", "tests", "docs"):
        paths = [path for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts]
        names = [path.relative_to(ROOT).as_posix() for path in paths]
        assert len({text.lower() for text in names}) == len(names)
        for path in paths:
            assert path.stem.lower() not in RESERVED and not set(path.name) & set('<>:"|?*\\')
            assert len(name(path)) < 120, "with the folder above it, Windows stops at 260"


# The shell, and scripts that can be imported


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_no_shell_but_in_the_set_up_cell(path):
    for source, is_setup in cells(path):
        assert not [line for line in source.splitlines() if line.lstrip().startswith(("!", "%", "?"))], source
        if not is_setup:
            found = calls(ast.parse(source))
            assert not [word for word, _ in found if word.startswith(("os.system", "os.popen", "os.exec"))]
            assert not [word for word, _ in found if word.startswith((".system", "get_ipython"))]
            for word, call in found:
                if word.startswith("subprocess."):  # a second Python is no shell
                    assert "sys.executable" in source and "shell" not in {keyword.arg for keyword in call.keywords}


@pytest.mark.parametrize("path", [path for path in SCRIPTS if path.name != "setup_cell.py"], ids=name)
def test_importing_a_script_starts_nothing(path):
    """A process that is spawned imports the script again: what starts work stands below the guard."""
    allowed = ("sys.path.insert", "matplotlib.use", "warnings.filterwarnings", "keep_freed_memory")
    for node in tree(path).body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            assert dotted(node.value.func) in allowed, ast.unparse(node)
        if isinstance(node, (ast.For, ast.While, ast.With)):
            pytest.fail(f"line {node.lineno} works while it is imported")
    names = {node.name for node in tree(path).body if isinstance(node, ast.FunctionDef)}
    if "main" in names:
        guards = [ast.unparse(node.test) for node in tree(path).body if isinstance(node, ast.If)]
        assert "__name__ == '__main__'" in guards


# Spawned workers


LOADERS = """
import multiprocessing
multiprocessing.set_start_method("spawn", force=True)
from going_modular.going_modular import data_setup

train, test, class_names = data_setup.create_dataloaders(
    {train!r}, {test!r}, data_setup.create_transform(32, augment=True), batch_size=4, num_workers=2, seed=42
)
for epoch in range(2):
    images = [images for images, labels in train]
print(len(images), tuple(images[0].shape), class_names, multiprocessing.get_start_method())
del train, test
"""


def test_workers_are_spawned_from_a_notebook(tiny_food):
    """A notebook has no main module that a spawned process could import; what the loaders hold must do without."""
    code = LOADERS.format(train=str(tiny_food / "train"), test=str(tiny_food / "test"))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    resources = {"metadata": {"path": str(ROOT)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    (output,) = [output for output in notebook.cells[0].outputs if output.output_type == "stream"]
    assert output.text == "3 (4, 3, 32, 32) ['pizza', 'steak', 'sushi'] spawn\n"


def test_without_fork_the_default_is_no_worker(monkeypatch):
    from going_modular.going_modular import data_setup

    monkeypatch.setattr(data_setup.torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none=False: "spawn")
    assert data_setup.default_num_workers() == 0

"""What learners' machines are like: other settings and places, several processes, a kernel that is interrupted."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import time

import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import ROOT, files_below, tiny_vit
from PIL import Image

from going_modular.going_modular import predictions

sys.path.insert(0, str(ROOT / "tools"))
from notebook_files import FOLDERS, name_of, notebook_paths, read

SWITCHES = {"FOODVISION_DATA", "FOODVISION_WEIGHTS", "FOODVISION_DEVICE", "FOODVISION_MIRROR"}
SWITCHES |= {"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"}  # glibc's own, which a user may have set
SCRIPTS = [ROOT / "helper_functions.py", ROOT / "docs" / "site" / "conf.py"]
SCRIPTS += [*(ROOT / "going_modular").rglob("*.py"), *(ROOT / "tools").glob("*.py")]
NOTEBOOKS = notebook_paths(*FOLDERS)
MACHINE = re.compile(r"/home/|/Users/|/root/|/tmp/|\b[A-Z]:\\\\|0x[0-9a-f]{8,}")
TESTERS = re.compile(r"_?(CI|GITHUB_\w+|\w*PYTEST\w*|NBVAL\w*|TOX\w*)", re.IGNORECASE)
# matplotlib reads its own list of fonts without naming an encoding.
STRICT = ["-X", "warn_default_encoding", "-W", "error", "-W", "ignore::EncodingWarning:matplotlib.font_manager"]


def code_texts() -> dict[str, str]:
    """The code of every script, and of every notebook's cells: {name: text}."""
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in SCRIPTS}
    for path in NOTEBOOKS:
        texts[name_of(path)] = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "code")
    assert len(texts) == len(SCRIPTS) + len(NOTEBOOKS) > 60
    return texts


def python(*arguments, cwd=ROOT, **environment) -> str:
    """What a fresh Python prints; AssertionError with all it said where it fails."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# What is tested is what a learner runs


def environment_names(tree: ast.AST) -> set[str]:
    """The variables that code reads from the environment; "?" for one that stands in no literal."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called.endswith(("getenv", "environ.get", "environ.pop", "environ.setdefault")):
                names.add(node.args[0].value if isinstance(node.args[0], ast.Constant) else "?")
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("environ"):
            names.add(node.slice.value if isinstance(node.slice, ast.Constant) else "?")
        elif isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]).endswith("environ"):
            names.add(node.left.value if isinstance(node.left, ast.Constant) else "?")
    return names


def test_the_search_sees_every_way_to_read_the_environment():
    code = """
    import os
    os.environ["A"], os.environ.get("B"), os.getenv("C", ""), "D" in os.environ, os.environ.pop("E")
    os.environ.get(name)
    """
    assert environment_names(ast.parse(textwrap.dedent(code))) == {*"ABCDE", "?"}


def test_nothing_asks_whether_it_is_being_tested():
    for name, text in code_texts().items():
        tree = ast.parse(text)
        assert environment_names(tree) <= SWITCHES, name
        words = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and type(node.value) is str]
        assert not [word for word in words if TESTERS.fullmatch(word)], name
        imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert not [module for module in imported if module.split(".")[0] in ("pytest", "_pytest", "nbval")]


@pytest.mark.parametrize(
    "word",
    [
        "verify=False",
        "_create_unverified_context",
        "_create_default_https_context",
        "CERT_NONE",
        "check_hostname",
        "--no-check-certificate",
        "LOAD_TRUNCATED_IMAGES",
        "KMP_DUPLICATE_LIB_OK",
        "weights_only=False",
        "pretrained=True",
        "shell=True",
        "except:",
    ],
)
def test_nothing_switches_a_safeguard_off_or_says_how(word):
    pages = (*ROOT.glob("*.md"), *ROOT.glob("*/*.md"))
    prose = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in pages}
    for path in NOTEBOOKS:
        prose[f"{name_of(path)}, text"] = "\n".join(cell.source for cell in read(path).cells)
    assert [name for name, text in {**code_texts(), **prose}.items() if word in text] == []


# One result on every setting of a machine


RUN_SPAWNED = """
import multiprocessing, runpy, sys
if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    runpy.run_module("going_modular.going_modular.train", run_name="__main__", alter_sys=True)
"""


def test_hash_seed_workers_and_their_start_change_no_bit(tiny_food, tmp_path):
    """Each in a fresh process, where whatever warns, or opens a text without naming its encoding, is an error."""
    (tmp_path / "spawned.py").write_text(RUN_SPAWNED, encoding="utf-8")
    module = ["-m", "going_modular.going_modular.train"]
    found = {}
    for name, hash_seed, workers, start in (("a", 1, 0, module), ("b", 2, 2, module), ("c", 3, 2, ["spawned.py"])):
        settings = ["--data", tiny_food, "--image-size", 32, "--batch-size", 5, "--epochs", 2, "--device", "cpu"]
        settings += ["--workers", workers, "--output", tmp_path / name, "--seed", 11]
        out = python(*STRICT, *start, *settings, cwd=tmp_path, PYTHONHASHSEED=str(hash_seed))
        assert out.count("Epoch: ") == 2 and out.count("Accuracy on the 6 test images") == 1, out
        metrics = json.loads((tmp_path / name / "metrics.json").read_text(encoding="utf-8"))
        found[name] = (metrics["results"], (tmp_path / name / "model.pth").read_bytes())
    assert found["a"] == found["b"] == found["c"]


QUIET = """
import sys
import matplotlib.pyplot as plt
before = plt.get_backend()
from going_modular.going_modular import data_setup, predictions
from going_modular.going_modular.vit import ViT
from helper_functions import plot_loss_curves
food = sys.argv[1]
train, test, names = data_setup.create_dataloaders(f"{food}/train", f"{food}/test", data_setup.create_transform(32), 4)
images, labels = next(iter(train))
model = ViT(img_size=32, num_transformer_layers=1, embedding_dim=12, mlp_size=12, num_heads=3, num_classes=3)
model.transform = data_setup.create_transform(32)
for number in range(25):
    predictions.pred_and_plot_image(model, names, f"{food}/test/sushi/0.png", device="cpu")
    plot_loss_curves({name: [1.0, 0.5] for name in ("train_loss", "train_acc", "test_loss", "test_acc")})
plt.savefig(sys.argv[2])
assert len(plt.get_fignums()) <= 2 and plt.get_backend() == before, (plt.get_fignums(), plt.get_backend(), before)
"""


@pytest.mark.parametrize("backend", [None, "agg", "svg"])
def test_loading_predicting_and_drawing_without_a_screen_warn_of_nothing(tiny_food, tmp_path, monkeypatch, backend):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "quiet.py").write_text(QUIET, encoding="utf-8")
    environment = {} if backend is None else {"MPLBACKEND": backend}
    figure = tmp_path / ("figure.svg" if backend == "svg" else "figure.png")
    python(*STRICT, "quiet.py", tiny_food, figure, cwd=tmp_path, **environment)


# Places


def setup_cell(path) -> str:
    return next(cell.source for cell in read(path).cells if "setup" in cell.metadata.get("tags", []))


@pytest.mark.parametrize("place", ["notebooks", "", "my notebooks/deep down"])
def test_the_lessons_scripts_are_found_before_others_of_the_same_name(tmp_path, place):
    project = tmp_path / "a project"
    (project / "going_modular/going_modular").mkdir(parents=True)
    shutil.copy(ROOT / "going_modular" / "__init__.py", project / "going_modular")
    for name in ("__init__.py", "vit.py"):
        (project / "going_modular/going_modular" / name).write_text("OURS = True\n", encoding="utf-8")
    for folder in (tmp_path / "elsewhere", project / place):
        (folder / "torchinfo").mkdir(parents=True, exist_ok=True)
    (tmp_path / "elsewhere/going_modular").mkdir()
    (tmp_path / "elsewhere/going_modular/__init__.py").write_text("raise SystemExit('theirs')\n", encoding="utf-8")
    code = setup_cell(NOTEBOOKS[0]) + "\nfrom going_modular.going_modular import vit\nprint(vit.OURS, ROOT)\n"
    out = python("-c", code, cwd=project / place, PYTHONPATH=str(tmp_path / "elsewhere"))
    assert out.split(maxsplit=1) == ["True", f"{project}\n"]


def test_no_cell_needs_a_shell():
    for path in NOTEBOOKS:
        for cell in read(path).cells:
            if cell.cell_type == "code":
                assert not re.search(r"^\s*[!%]", cell.source, re.MULTILINE), f"{name_of(path)}: {cell.source}"


# The notebooks as files


def test_the_notebooks_hold_nothing_of_the_machine_that_ran_them():
    for path in NOTEBOOKS:
        notebook = read(path)
        assert notebook.metadata.kernelspec.name == "python3" and "widgets" not in notebook.metadata, name_of(path)
        ids = [cell.id for cell in notebook.cells]
        assert len(set(ids)) == len(ids), name_of(path)
        for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
            assert output.output_type != "error" and output.get("name") != "stderr", name_of(path)
            assert not MACHINE.search(json.dumps({**output.get("data", output), "image/png": ""})), name_of(path)


# Photos as telephones store them


@pytest.mark.parametrize(("orientation", "size"), [(6, (20, 40)), (1, (40, 20)), (0, (40, 20)), (9, (40, 20))])
def test_the_figure_of_a_prediction_shows_the_photo_upright(tmp_path, orientation, size):
    pixels = np.zeros((20, 40, 3), dtype=np.uint8)
    pixels[:10, :10] = 255  # the corner that is marked: top left as stored
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(pixels).save(tmp_path / "photo.jpg", exif=exif, quality=95, subsampling=0)
    predictions.pred_and_plot_image(tiny_vit(), ["a", "b", "c"], tmp_path / "photo.jpg", (32, 32), device="cpu")
    shown = np.asarray(plt.gca().images[0].get_array())
    assert shown.shape[:2] == size[::-1]
    corner = shown[:8, -8:] if orientation == 6 else shown[:8, :8]
    assert corner.mean() > 240


# A kernel that is interrupted


TRAIN = """
import sys
sys.path[:0] = [{root!r}, {tests!r}]
import torch
from conftest import tiny_vit
from going_modular.going_modular import engine
data = torch.utils.data.TensorDataset(torch.randn(8, 3, 32, 32), torch.arange(8) % 3)
loader = torch.utils.data.DataLoader(data, 4)
model = tiny_vit()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
print("ready")
"""
LONG_TRAINING = """
loss_fn = torch.nn.CrossEntropyLoss()
results = engine.train(model, loader, loader, optimizer, loss_fn, 1_000_000, "cpu", checkpoint={folder!r})
"""


def test_interrupting_a_real_kernel_gives_the_results_and_keeps_the_last_epoch(tmp_path):
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    try:
        client.execute_interactive(TRAIN.format(root=str(ROOT), tests=str(ROOT / "tests")), timeout=120)
        client.execute(LONG_TRAINING.format(folder=str(tmp_path / "kept")))
        end = time.monotonic() + 60
        while not (tmp_path / "kept" / "training.pth").exists() and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.3)
        manager.interrupt_kernel()
        client.wait_for_ready(timeout=60)
        said = []
        reply = client.execute_interactive(
            "saved = torch.load('kept/training.pth', weights_only=True)['training']['results']\n"
            "lengths = {len(values) for values in results.values()}\n"
            "print(lengths == {len(results['train_loss'])}, len(results['train_loss']) >= 1,"
            " saved['train_loss'] == results['train_loss'][:len(saved['train_loss'])],"
            " len(results['train_loss']) - len(saved['train_loss']) in (0, 1))",
            timeout=60,
            output_hook=lambda message: said.append(message["content"].get("text") or str(message["content"])),
        )
        assert reply["content"]["status"] == "ok", said
        assert "True True True True" in "".join(said), said
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert files_below(tmp_path / "kept").keys() >= {"training.pth"}

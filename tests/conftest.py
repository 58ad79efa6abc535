"""What tests share: a web server on this machine, zips to serve, a tiny data set and a tiny ViT."""

import io
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import settings
from PIL import Image

from going_modular.going_modular.vit import ViT

pytest.register_assert_rewrite("figure_checks")  # its failures then say what the values were

ROOT = Path(__file__).resolve().parents[1]
CLASSES = ["pizza", "steak", "sushi"]
matplotlib.use("Agg")  # figures without windows
# The same examples at each run, as many seconds as they need, and no folder of earlier ones.
settings.register_profile("tests", derandomize=True, deadline=None, database=None)
settings.load_profile("tests")


def make_zip(files: dict) -> bytes:
    """A zip of {name or ZipInfo: content}, without the time, so that equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def files_below(folder: Path) -> dict[str, bytes]:
    """All files of a folder tree: {path: content}."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def closed_port() -> int:
    """A port of this machine that nobody listens on."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as unused:
        return unused.server_port


class Server:
    """A web server on 127.0.0.1: `pages` maps a path to (status, headers, body), or to a list of them, one a request.

    A page "silent" gets no answer; a fourth item lets the connection hang after the body.
    """

    def __init__(self):
        self.pages, self.requests, self.gate = {}, [], threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests.append(self.path)
                page = outer.pages.get(self.path.partition("?")[0], (404, {}, b"nothing here"))
                page = page.pop(0) if isinstance(page, list) else page
                if page == "silent":
                    outer.gate.wait(10)
                    return
                code, headers, body, *stall = page
                self.send_response(code)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
                if stall:
                    outer.gate.wait(10)

            def log_message(self, *args):
                pass

        self.httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.httpd.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.httpd.server_port}"
        self.thread = threading.Thread(target=self.httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    def close(self):
        self.gate.set()
        self.httpd.shutdown()
        self.httpd.server_close()
        self.thread.join()


@pytest.fixture
def server(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    made = Server()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def no_figure_stays():
    yield
    plt.close("all")


def tiny_vit(**changes) -> ViT:
    """A ViT small enough for a test, with a head that is not zero, so that its answers differ."""
    config = {"img_size": 32, "patch_size": 16, "num_transformer_layers": 2, "embedding_dim": 12, "mlp_size": 24}
    model = ViT(**{**config, "num_heads": 3, "num_classes": 3, **changes})
    model.classifier[1].reset_parameters()
    return model


@pytest.fixture(scope="session")
def tiny_food(tmp_path_factory) -> Path:
    """A folder with train/ (4 images a class) and test/ (1 pizza, 2 steak, 3 sushi), each class in its own colour."""
    folder = tmp_path_factory.mktemp("tiny_food")
    random = np.random.default_rng(0)
    for split, counts in {"train": (4, 4, 4), "test": (1, 2, 3)}.items():
        for channel, (name, count) in enumerate(zip(CLASSES, counts, strict=True)):
            (folder / split / name).mkdir(parents=True)
            for number in range(count):
                pixels = random.integers(0, 100, (40, 48, 3))
                pixels[..., channel] += 120
                Image.fromarray(pixels.astype(np.uint8)).save(folder / split / name / f"{number}.png")
    return folder

"""What tests of downloads share: a web server on this machine, and zips to serve."""

import io
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


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

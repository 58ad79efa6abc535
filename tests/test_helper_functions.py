"""helper_functions: seeds, downloads that are whole or not there, and loss curves."""

import contextlib
import hashlib
import io
import os
import random
import socket
import stat
import subprocess
import sys
import threading
import warnings
import zipfile
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import torch
from conftest import closed_port, files_below, make_zip

import helper_functions
from helper_functions import ArchiveError, DownloadError, download_data, plot_loss_curves, set_seeds

CLEAN = {"train/pizza/1.jpg": b"one", "train/steak/2.jpg": b"two", "test/pizza/3.jpg": b"three"}


@pytest.fixture
def clean_zip(server):
    """The address of a good zip."""
    server.pages["/a/x.zip"] = (200, {}, make_zip(CLEAN))
    return f"{server.url}/a/x.zip"


def fetch(url, tmp_path, **kwargs):
    return download_data(url, "x", data_dir=tmp_path / "data", **{"backoff": 0, **kwargs})


def left_in(tmp_path):
    """What lies in the data folder."""
    folder = tmp_path / "data"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


# Seeds


def test_equal_seeds_give_equal_numbers_everywhere():
    def draw():
        return random.random(), np.random.rand(), torch.rand(1).item()

    set_seeds(7)
    first = draw()
    set_seeds(7)
    assert draw() == first
    set_seeds(8)
    assert all(a != b for a, b in zip(draw(), first))


def test_the_default_seed_is_42_and_cuda_is_seeded(monkeypatch):
    seen = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seen.append)
    set_seeds()
    assert torch.initial_seed() == 42
    assert 42 in seen


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, "42", None])
def test_a_seed_that_numpy_cannot_take_is_named(seed):
    with pytest.raises(ValueError, match=f"seed is {seed!r}"):
        set_seeds(seed)


# Downloads that work


def test_the_folder_is_data_below_the_current_folder(clean_zip, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert download_data(clean_zip, "pizza_steak_sushi") == Path("data") / "pizza_steak_sushi"
    assert files_below(tmp_path / "data") == {f"pizza_steak_sushi/{name}": body for name, body in CLEAN.items()}


def test_a_progress_bar_of_plain_text_is_shown(clean_zip, tmp_path, capsys):
    fetch(clean_zip, tmp_path)
    assert "x.zip: 100%" in capsys.readouterr().err


@pytest.mark.parametrize("query", ["", "?raw=true", "?a=b/c.zip&d=1#part"])
def test_remove_source_false_leaves_exactly_the_zip(clean_zip, tmp_path, query):
    fetch(clean_zip + query, tmp_path, remove_source=False)
    assert left_in(tmp_path) == ["x", "x.zip"]
    assert (tmp_path / "data" / "x.zip").read_bytes() == make_zip(CLEAN)


def test_remove_source_is_the_default_and_the_third_argument(clean_zip, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    download_data(clean_zip, "one")
    assert left_in(tmp_path) == ["one"]
    download_data(clean_zip, "two", False)
    assert left_in(tmp_path) == ["one", "two", "x.zip"]


def test_a_folder_with_images_is_kept_and_said_to_be_there(clean_zip, server, tmp_path, capsys):
    target = fetch(clean_zip, tmp_path)
    (target / "mine.txt").write_text("mine", encoding="utf-8")
    asked = len(server.requests)
    assert fetch(clean_zip, tmp_path) == target
    assert len(server.requests) == asked
    assert (target / "mine.txt").exists()
    assert "already there" in capsys.readouterr().out


def test_a_folder_without_files_is_filled(clean_zip, tmp_path):
    (tmp_path / "data" / "x" / "train" / "pizza").mkdir(parents=True)
    (tmp_path / "data" / "x" / ".DS_Store").write_bytes(b"mac")
    assert files_below(fetch(clean_zip, tmp_path)) == CLEAN


@pytest.mark.parametrize("name", ["notes.txt", ".hidden", "Thumbs.db"])
def test_a_folder_with_other_files_is_left_alone(clean_zip, server, tmp_path, name):
    mine = tmp_path / "data" / "x" / name
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"mine")
    with pytest.raises(FileExistsError, match=name):
        fetch(clean_zip, tmp_path)
    assert mine.read_bytes() == b"mine"
    assert server.requests == []


def test_a_file_in_the_folders_place_is_left_alone(clean_zip, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x").write_bytes(b"mine")
    with pytest.raises(FileExistsError, match="no plain folder"):
        fetch(clean_zip, tmp_path)
    assert (tmp_path / "data" / "x").read_bytes() == b"mine"


@pytest.mark.parametrize("destination", ["", ".", "../x", "a/../../x", str(Path.cwd())])
def test_a_destination_outside_the_data_folder_is_refused(clean_zip, tmp_path, destination):
    with pytest.raises(ValueError, match="destination"):
        download_data(clean_zip, destination, data_dir=tmp_path / "data")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("as_type", [str, Path])
@pytest.mark.parametrize("remove_source", [True, False])
def test_a_zip_on_this_machine_is_used_and_never_deleted(tmp_path, as_type, remove_source):
    mine = tmp_path / "mine.zip"
    mine.write_bytes(make_zip(CLEAN))
    assert files_below(fetch(as_type(mine), tmp_path, remove_source=remove_source)) == CLEAN
    assert mine.read_bytes() == make_zip(CLEAN)
    assert left_in(tmp_path) == ["x"]


def test_a_path_without_a_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere.zip"):
        fetch(tmp_path / "nowhere.zip", tmp_path)


def test_the_hash_is_checked(clean_zip, tmp_path):
    good = hashlib.sha256(make_zip(CLEAN)).hexdigest()
    with pytest.raises(ArchiveError, match=good):
        fetch(clean_zip, tmp_path, sha256="0" * 64)
    assert left_in(tmp_path) == []
    assert files_below(fetch(clean_zip, tmp_path, sha256=good.upper())) == CLEAN


# What arrives is no zip


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "empty file of 0 bytes"),
        (b"\n<!DOCTYPE html><html>page</html>", "web page .* of 33 bytes"),
        (b"<HTML><body>sign in</body></HTML>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "LFS pointer"),
        (make_zip(CLEAN)[:-30], "zip that is cut off"),
        (make_zip(CLEAN)[:100], "zip that is cut off .* of 100 bytes"),
        (b"\x1f\x8b\x08 tar", "gzip"),
        (b'{"message": "Not Found"}', "JSON"),
        (b"hello there", "a file .*hello"),
        (make_zip({}), "no images"),
        (make_zip({"a.txt": b"text"}), "no images, only a.txt"),
    ],
)
def test_what_is_no_zip_of_images_is_named(server, tmp_path, body, words):
    server.pages["/x.zip"] = (200, {}, body)
    with pytest.raises(ArchiveError, match=words) as caught:
        fetch(f"{server.url}/x.zip", tmp_path, remove_source=False)
    assert f"{server.url}/x.zip" in str(caught.value)
    assert left_in(tmp_path) == []


def test_a_blob_page_is_refused_with_a_hint_at_the_raw_address(server, tmp_path):
    server.pages["/me/repo/blob/main/x.zip"] = (200, {}, b"<html>a page about x.zip</html>")
    with pytest.raises(ArchiveError, match="/me/repo/raw/main/x.zip"):
        fetch(f"{server.url}/me/repo/blob/main/x.zip", tmp_path)


def test_a_damaged_entry_is_refused(server, tmp_path):
    body = make_zip({"train/pizza/1.jpg": b"a" * 5000})
    server.pages["/x.zip"] = (200, {}, body.replace(b"a" * 5000, b"a" * 4999 + b"b"))
    with pytest.raises(ArchiveError, match=r"1\.jpg"):
        fetch(f"{server.url}/x.zip", tmp_path)
    assert left_in(tmp_path) == []


# What the archive holds


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("../evil.jpg", "outside"),
        ("train/../../evil.jpg", "outside"),
        ("..\\evil.jpg", "outside"),
        ("/evil.jpg", "outside"),
        ("\\evil.jpg", "outside"),
        ("C:/evil.jpg", "outside"),
        ("train/C:evil.jpg", "outside"),
        (link("train/link.jpg"), "link"),
    ],
)
def test_entries_that_are_not_safe_are_refused(server, tmp_path, entry, words):
    server.pages["/x.zip"] = (200, {}, make_zip({**CLEAN, entry: b"/etc"}))
    with pytest.raises(ArchiveError, match=words):
        fetch(f"{server.url}/x.zip", tmp_path)
    assert left_in(tmp_path) == []
    assert list(tmp_path.rglob("*evil*")) == []


def test_encrypted_entries_are_refused(server, tmp_path):
    body = bytearray(make_zip(CLEAN))
    body[body.index(b"PK\x01\x02") + 8] |= 1
    server.pages["/x.zip"] = (200, {}, bytes(body))
    with pytest.raises(ArchiveError, match="encrypted"):
        fetch(f"{server.url}/x.zip", tmp_path)


@pytest.mark.parametrize(("limit", "value"), [("MAX_FILES", 2), ("MAX_BYTES", 10)])
def test_too_much_is_refused(tmp_path, monkeypatch, limit, value):
    (tmp_path / "mine.zip").write_bytes(make_zip(CLEAN))
    monkeypatch.setattr(helper_functions, limit, value)
    with pytest.raises(ArchiveError, match=f"limits.*{value}"):
        fetch(tmp_path / "mine.zip", tmp_path)


def test_a_download_without_end_is_given_up(clean_zip, tmp_path, monkeypatch):
    monkeypatch.setattr(helper_functions, "MAX_BYTES", 10)
    with pytest.raises(ArchiveError, match="more than 10 bytes"):
        fetch(clean_zip, tmp_path)


def test_mac_leftovers_and_a_wrapper_folder_are_left_out(server, tmp_path):
    junk = ["__MACOSX/photos/train/._1.jpg", "photos/.DS_Store", "photos/train/pizza/._1.jpg", ".DS_Store"]
    wrapped = {f"photos/{name}": body for name, body in CLEAN.items()}
    server.pages["/x.zip"] = (200, {}, make_zip({"photos/": b"", **dict.fromkeys(junk, b"mac"), **wrapped}))
    assert files_below(fetch(f"{server.url}/x.zip", tmp_path)) == CLEAN


def test_a_single_folder_that_is_no_wrapper_stays(server, tmp_path):
    files = {"train/pizza/1.jpg": b"1", "train/steak/1.jpg": b"2"}
    server.pages["/x.zip"] = (200, {}, make_zip(files))
    assert files_below(fetch(f"{server.url}/x.zip", tmp_path)) == files


def test_backslashes_between_folders_are_understood(server, tmp_path):
    server.pages["/x.zip"] = (200, {}, make_zip({name.replace("/", "\\"): body for name, body in CLEAN.items()}))
    assert files_below(fetch(f"{server.url}/x.zip", tmp_path)) == CLEAN


# The network fails


@pytest.mark.parametrize(("status", "tries"), [(404, 1), (403, 1), (500, 3), (503, 3)])
def test_http_errors_name_status_and_address(server, tmp_path, status, tries):
    server.pages["/x.zip"] = (status, {}, b"sorry")
    with pytest.raises(DownloadError, match=f"HTTP {status}") as caught:
        fetch(f"{server.url}/x.zip", tmp_path)
    assert f"{server.url}/x.zip" in str(caught.value)
    assert caught.value.status == status
    assert len(server.requests) == tries
    assert left_in(tmp_path) == []


def test_a_busy_server_is_asked_again(server, tmp_path, capsys):
    server.pages["/x.zip"] = [(503, {}, b""), (200, {}, make_zip(CLEAN))]
    assert files_below(fetch(f"{server.url}/x.zip", tmp_path)) == CLEAN
    assert "Next try" in capsys.readouterr().out


def test_a_broken_connection_is_tried_again_from_the_start(server, tmp_path):
    body = make_zip(CLEAN)
    short = (200, {"Content-Length": str(len(body))}, body[:50])
    server.pages["/x.zip"] = [short, (200, {}, body)]
    server.pages["/y.zip"] = short
    assert files_below(fetch(f"{server.url}/x.zip", tmp_path)) == CLEAN
    with pytest.raises(DownloadError, match="connection failed"):
        download_data(f"{server.url}/y.zip", "y", data_dir=tmp_path / "data", retries=0)
    assert left_in(tmp_path) == ["x"]


@pytest.mark.parametrize("timeout", [0.05, (0.05, 5.0)])
def test_a_server_that_never_answers_is_given_up(server, tmp_path, timeout):
    server.pages["/x.zip"] = "silent"
    with pytest.raises(DownloadError, match="no answer in time"):
        fetch(f"{server.url}/x.zip", tmp_path, timeout=timeout, retries=1)
    assert left_in(tmp_path) == []


def test_a_body_that_stops_halfway_is_given_up(server, tmp_path):
    server.pages["/x.zip"] = (200, {"Content-Length": "1000"}, b"PK", "stall")
    with pytest.raises(DownloadError, match="no answer in time"):
        fetch(f"{server.url}/x.zip", tmp_path, timeout=(5.0, 0.05), retries=0)
    assert left_in(tmp_path) == []


def test_a_refused_connection_and_an_unknown_scheme_are_named(server, tmp_path):
    with pytest.raises(DownloadError, match="connection failed"):
        fetch(f"http://127.0.0.1:{closed_port()}/x.zip", tmp_path)
    with pytest.raises(DownloadError, match="no usable address"):
        fetch("gopher://127.0.0.1/x.zip", tmp_path)


def test_an_unknown_name_is_said_to_be_one(server, tmp_path, monkeypatch):
    def no_such_name(*args, **kwargs):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", no_such_name)
    with pytest.raises(DownloadError, match="no server has this name"):
        fetch("http://nowhere.invalid/x.zip", tmp_path)


def test_a_proxy_is_asked_and_its_failure_named_without_its_password(server, tmp_path, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://me:secret@127.0.0.1:{closed_port()}")
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(DownloadError, match="proxy does not answer") as caught:
        fetch("http://example.invalid/x.zip", tmp_path)
    assert "secret" not in str(caught.value)


def test_a_certificate_that_cannot_be_checked_is_an_error_at_once(tmp_path, monkeypatch):
    import requests

    calls = []

    def refuse(url, **kwargs):
        calls.append(kwargs)
        raise requests.exceptions.SSLError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed")

    monkeypatch.setattr(requests, "get", refuse)
    with pytest.raises(DownloadError, match="certificate can't be checked.*REQUESTS_CA_BUNDLE.*self-signed"):
        fetch("https://example.invalid/x.zip", tmp_path)
    assert len(calls) == 1
    assert calls[0].get("verify", True) is True


def test_a_password_in_the_address_is_not_printed(server, tmp_path):
    url = server.url.replace("http://", "http://me:secret@") + "/missing.zip"
    with pytest.raises(DownloadError, match="404") as caught:
        fetch(url, tmp_path)
    assert "secret" not in str(caught.value)


# Interruptions


@pytest.mark.parametrize("place", ["answer", "unpack", "file_sha256", "move_into_place", "shutil.copyfileobj"])
@pytest.mark.parametrize("remove_source", [True, False])
def test_an_interrupted_call_leaves_nothing_that_confuses_the_next(
    clean_zip, tmp_path, monkeypatch, place, remove_source
):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    good = hashlib.sha256(make_zip(CLEAN)).hexdigest()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(f"helper_functions.{place}", interrupt)
        fetch(clean_zip, tmp_path, remove_source=remove_source, sha256=good)
    assert set(left_in(tmp_path)) <= {"x.zip"}
    assert files_below(fetch(clean_zip, tmp_path, remove_source=remove_source, sha256=good)) == CLEAN
    assert left_in(tmp_path) == (["x"] if remove_source else ["x", "x.zip"])


def test_what_a_killed_process_left_does_not_confuse(clean_zip, tmp_path):
    left = tmp_path / "data" / ".x-abcd" / "unpacked" / "train" / "pizza" / "1.jpg"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    assert files_below(fetch(clean_zip, tmp_path)) == CLEAN


def test_a_folder_made_by_another_process_meanwhile_is_kept(clean_zip, tmp_path, monkeypatch, capsys):
    unpack = helper_functions.unpack

    def be_late(*args):
        other = tmp_path / "data" / "x" / "train" / "other.jpg"
        other.parent.mkdir(parents=True)
        other.write_bytes(b"other")
        return unpack(*args)

    monkeypatch.setattr(helper_functions, "unpack", be_late)
    assert files_below(fetch(clean_zip, tmp_path)) == {"train/other.jpg": b"other"}
    assert "another process" in capsys.readouterr().out
    assert left_in(tmp_path) == ["x"]


def test_a_full_disk_leaves_nothing(clean_zip, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("helper_functions.shutil.copyfileobj", full)
    with pytest.raises(OSError, match="No space left"):
        fetch(clean_zip, tmp_path)
    assert left_in(tmp_path) == []


# Loss curves


@pytest.fixture
def plt():
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.close("all")
    yield pyplot
    pyplot.close("all")


def results(epochs: int) -> dict:
    names = ("train_loss", "train_acc", "test_loss", "test_acc")
    return {name: [i + 0.1 * place for i in range(epochs)] for place, name in enumerate(names)}


def test_losses_and_accuracies_are_drawn_on_two_labelled_axes(plt):
    assert plot_loss_curves(results(3)) is None
    axes = plt.gcf().axes
    assert [ax.get_title() for ax in axes] == ["Loss", "Accuracy"]
    for ax, key in zip(axes, ("loss", "acc")):
        assert ax.get_xlabel() == "Epoch"
        assert ax.get_ylabel() == ax.get_title()
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["train", "test"]
        for line, split in zip(ax.lines, ("train", "test"), strict=True):
            assert list(line.get_xdata()) == [1, 2, 3]
            assert list(line.get_ydata()) == results(3)[f"{split}_{key}"]
        train, test = ax.lines
        assert (train.get_color(), test.get_color()) == ("#0072B2", "#D55E00")
        assert train.get_linestyle() != test.get_linestyle()
        assert train.get_marker() != test.get_marker()


@pytest.mark.parametrize("epochs", [1, 2, 7, 300])
def test_epochs_are_whole_numbers(plt, epochs):
    plot_loss_curves(results(epochs))
    plt.gcf().canvas.draw()
    for ax in plt.gcf().axes:
        low, high = ax.get_xlim()
        ticks = [tick for tick in ax.get_xticks() if low <= tick <= high]
        assert ticks
        assert all(tick == int(tick) and 1 <= tick <= epochs for tick in ticks)


def test_nan_tensors_and_numpy_numbers_are_drawn_without_a_warning(plt, tmp_path):
    odd = {
        "train_loss": [float("nan"), float("inf")],
        "train_acc": [torch.tensor(0.5), torch.tensor(0.6, requires_grad=True)],
        "test_loss": [float("nan")] * 2,
        "test_acc": np.array([0.1, 0.2], dtype=np.float32),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot_loss_curves(odd)
        plt.gcf().savefig(tmp_path / "curves.png")
    assert plt.gcf().axes[1].lines[0].get_ydata() == pytest.approx([0.5, 0.6])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"train_loss": []}, "'train_loss': 0"),
        ({name: [] for name in results(1)}, "at least one epoch"),
        ({"test_acc": [1.0]}, "'test_acc': 1"),
        ({"test_loss": None}, "lists with one number an epoch"),
        ({"test_loss": ["low", "lower"]}, "low"),
        ({"test_loss": [torch.zeros(2), torch.zeros(2)]}, "one number an epoch"),
    ],
)
def test_lists_that_cannot_be_drawn_are_named(plt, change, words):
    with pytest.raises(ValueError, match=words):
        plot_loss_curves({**results(2), **change})
    assert plt.get_fignums() == []


def test_a_missing_list_is_named(plt):
    with pytest.raises(ValueError, match="no test_acc.*train_loss"):
        plot_loss_curves({name: values for name, values in results(2).items() if name != "test_acc"})


def test_many_calls_pile_up_no_figures_and_leave_others_alone(plt):
    mine = plt.figure()
    for _ in range(25):
        plot_loss_curves(results(2))
    assert len(plt.get_fignums()) == 2
    assert plt.fignum_exists(mine.number)
    assert len(plt.gcf().axes) == 2


def test_the_file_stands_alone_and_importing_it_starts_nothing(tmp_path):
    """In an empty folder, without the rest of the project, it imports, and takes no heavy library or backend along."""
    (tmp_path / "helper_functions.py").write_bytes(Path(helper_functions.__file__).read_bytes())
    code = "import sys, helper_functions; print(sorted({'matplotlib', 'torch', 'going_modular'} & set(sys.modules)))"
    env = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_two_downloads_at_once_do_not_spoil_each_other(clean_zip, tmp_path):
    errors = []

    def run():
        with contextlib.redirect_stderr(io.StringIO()):
            try:
                fetch(clean_zip, tmp_path)
            except Exception as error:  # noqa: BLE001 - looked at below
                errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert left_in(tmp_path) == ["x"]
    assert files_below(tmp_path / "data" / "x") == CLEAN

"""The animations: what they show is computed, their words stand free, the committed files are complete."""

import importlib
import sys

import numpy as np
import pytest
import torch
from conftest import ROOT
from figure_checks import Rendered, assert_words_stand_free
from PIL import Image, ImageSequence

from going_modular.going_modular.vit import PatchEmbedding


@pytest.fixture
def tool(monkeypatch):
    """tool("make_animation") is that tool's module."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    yield importlib.import_module
    for name in ("make_animation", "make_equation_animation"):
        sys.modules.pop(name, None)


@pytest.fixture
def animation(tool):
    return tool("make_animation")


def test_the_animation_shows_what_patch_embedding_computes(animation):
    values = animation.embed_pizza()
    torch.manual_seed(42)
    pixels = torch.tensor(animation.draw_pizza(224)).permute(2, 0, 1).float() * 2 - 1
    maps = PatchEmbedding(patch_size=32).patcher(pixels)
    np.testing.assert_allclose(values, maps[:6].flatten(1).detach(), atol=1e-5)
    end = animation.SEQUENCE
    assert (np.diff(end[0, :, 1]) > 0).all() and (np.diff(end[:, 0, 0]) > 0).all()  # patches downwards


def test_the_words_of_the_animation_stand_free(animation):
    values, contents = animation.embed_pizza(), [content for _, content in animation.frames()]
    for content in contents[:: len(contents) // 8] + contents[-2:]:
        assert_words_stand_free(Rendered(lambda content=content: animation.draw_frame(values, **content)))


@pytest.mark.parametrize("name", ["make_animation", "make_equation_animation"])
def test_the_committed_animation_is_small_and_has_every_frame(tool, name):
    animation = tool(name)
    waits = [wait for wait, _ in animation.frames()]
    with Image.open(animation.TARGET) as picture:
        assert picture.size == (animation.WIDTH, animation.HEIGHT) and picture.n_frames == len(waits)
        assert [frame.info["duration"] for frame in ImageSequence.Iterator(picture)] == waits
        assert picture.convert("RGB").getpixel((1, 1)) == (255, 255, 255)
    assert animation.TARGET.stat().st_size < 600_000


def test_the_equation_becomes_code_step_by_step(tool):
    animation = tool("make_equation_animation")
    contents = [content for _, content in animation.frames()]
    assert contents == sorted(contents, key=lambda content: (content["letters"], content["symbols"]))
    for content in (contents[0], contents[5], contents[-1]):
        assert_words_stand_free(Rendered(lambda content=content: animation.draw_frame(**content)))
    codes = [code for _, _, code in animation.SYMBOLS]
    assert all(shorter in longer for shorter, longer in zip(codes[1:], codes[2:]))


def test_the_animation_can_be_made_anew(animation, monkeypatch, tmp_path, capsys):
    every = list(animation.frames())
    monkeypatch.setattr(animation, "frames", lambda: [every[0], every[30], every[-1]])
    monkeypatch.setattr(sys, "argv", ["make_animation.py", str(tmp_path / "new" / "short.gif")])
    animation.main()
    with Image.open(tmp_path / "new" / "short.gif") as picture:
        assert picture.n_frames == 3
    assert "short.gif: 3 frames" in capsys.readouterr().out

"""The drawings of whole models: they draw without a warning, say what they show, and refuse what can't be drawn."""

import itertools

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402
from test_figures import Rendered  # noqa: E402

from going_modular.going_modular import model_figures  # noqa: E402

WALL = [
    ("functions", ["matmul", "softmax", "GELU", "mean and variance", "sum"]),
    ("layers", ["Linear", "LayerNorm", "SelfAttention"]),
    ("model", ["ViT"]),
]
PARTS = {"patch embedding": 590_592, "12 encoder blocks": 85_054_464, "head": 0}
DRAWINGS = {
    "bricks": lambda: model_figures.draw_bricks(WALL, "a wall"),
    "one brick": lambda: model_figures.draw_bricks([("layer", ["Linear"])]),
    "seven rows": lambda: model_figures.draw_bricks([(f"row {n}", ["one", "two"]) for n in range(7)]),
    "amounts": lambda: model_figures.plot_amounts(PARTS, "parameters", "Where they stand"),
    "one amount": lambda: model_figures.plot_amounts({"all": 0.5}, "GB", "Memory", ".2f"),
}


@pytest.fixture(autouse=True)
def closed_figures():
    plt.close("all")
    yield
    plt.close("all")


@pytest.fixture(scope="module", params=DRAWINGS)
def rendered(request):
    return Rendered(DRAWINGS[request.param])


def test_has_a_title_and_fits_a_notebook(rendered):
    assert any(rendered.titles)
    assert 200 <= rendered.width <= 800
    assert 60 <= rendered.height <= 1000
    assert rendered.smallest_words >= 11
    assert (rendered.pixels[0, 0] == 1).all(), "the corner is not white"


def test_words_stand_free(rendered):
    for words, box in rendered.words:
        assert 0 <= box.x0 and box.x1 <= rendered.width, f"{words!r} leaves the canvas at a side"
        assert 0 <= box.y0 and box.y1 <= rendered.height, f"{words!r} leaves the canvas at the top or bottom"
    for (words, box), (other_words, other_box) in itertools.combinations(rendered.words, 2):
        assert not box.overlaps(other_box), f"{words!r} runs into {other_words!r}"


@pytest.mark.parametrize("name", DRAWINGS)
def test_the_learners_settings_stay_and_do_not_show(name):
    expected = Rendered(DRAWINGS[name]).pixels
    own = {"axes.facecolor": "black", "font.size": 30, "text.color": "red", "axes.grid": True, "hatch.linewidth": 5}
    with plt.rc_context(own):
        before = dict(plt.rcParams)
        drawn = Rendered(DRAWINGS[name]).pixels
        assert dict(plt.rcParams) == before
    np.testing.assert_array_equal(drawn, expected)


def test_rows_are_built_from_the_bottom_up():
    places = {words: box.y0 for words, box in Rendered(DRAWINGS["bricks"]).words}
    assert places["matmul"] < places["Linear"] < places["ViT"]


def test_bars_hold_the_amounts_and_name_their_shares():
    DRAWINGS["amounts"]()
    axes = plt.gca()
    assert [bar.get_width() for bar in axes.patches] == list(PARTS.values())
    assert [label.get_text() for label in axes.get_yticklabels()] == list(PARTS)
    assert any("85,054,464  (99.3%)" in text.get_text() for text in axes.texts)


@pytest.mark.parametrize(
    "drawing, message",
    [
        (lambda: model_figures.draw_bricks([]), "rows is empty"),
        (lambda: model_figures.draw_bricks([("layers", [])]), "'layers' has no bricks"),
        (lambda: model_figures.draw_bricks([("layers", ["TransformerEncoderBlock"] * 9)]), "9 bricks, too many.*23"),
        (lambda: model_figures.draw_bricks([("architecture", ["ViT"])]), "'architecture' has 12 letters.*10"),
        (lambda: model_figures.plot_amounts({}, "x", "none"), "amounts is empty"),
        (lambda: model_figures.plot_amounts({"a": -1.0}, "x", "negative"), "from 0 up"),
        (lambda: model_figures.plot_amounts({"a": float("nan")}, "x", "NaN"), "finite"),
        (lambda: model_figures.plot_amounts({"a": 0.0}, "x", "nothing"), "not all of them 0"),
    ],
)
def test_bad_input_is_refused_before_a_figure_exists(drawing, message):
    with pytest.raises(ValueError, match=message):
        drawing()
    assert plt.get_fignums() == []

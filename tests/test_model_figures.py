"""The drawings of whole models: they draw without a warning, say what they show, and refuse what can't be drawn."""

import pytest
from figure_checks import assert_refused, draw, rendered, usual_tests

from going_modular.going_modular import model_figures

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


test_all_are_drawn, test_fits_and_words_stand_free, test_settings_stay = usual_tests(model_figures, DRAWINGS)


def test_rows_are_built_from_the_bottom_up():
    places = {words: box.y0 for words, box in rendered(DRAWINGS["bricks"]).words}
    assert places["matmul"] < places["Linear"] < places["ViT"]


def test_bars_hold_the_amounts_and_name_their_shares():
    axes = draw(DRAWINGS["amounts"]).axes[0]
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
    assert_refused(drawing, message)

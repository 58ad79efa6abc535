"""The drawings of the overview: they pass what every figure must pass, and say what they should."""

import functools
import itertools

import numpy as np
import pytest
from figure_checks import assert_refused, draw, rendered, usual_tests

from going_modular.going_modular import overview_figures
from going_modular.going_modular.shapes import measure_shapes

BARS = {"ViT-Ti/16": {"embedding": 2, "MLP": 6}, "ViT-B/16": {"embedding": 1, "MLP": 99}}
DRAWINGS = {
    "replication": overview_figures.draw_replication,
    "sources": overview_figures.draw_paper_sources,
    "building": overview_figures.draw_building,
    "shares": lambda: overview_figures.plot_shares(BARS, "shares", "%"),
    "one share": lambda: overview_figures.plot_shares({"a": {"b": 1}}, "one", "%"),
}
STRIPS = {number: f"pipeline, {number}" for number in (None, 1, 2, 3, 4)}
DRAWINGS |= {name: functools.partial(overview_figures.draw_pipeline, number) for number, name in STRIPS.items()}


test_all_are_drawn, test_fits_and_words_stand_free, test_settings_stay = usual_tests(
    overview_figures, DRAWINGS, ["replication", "building", "pipeline, 2", "shares"]
)


@pytest.mark.parametrize(
    "drawing, message",
    [
        (lambda: overview_figures.draw_pipeline(5), "Equations 1 to 4, not 5"),
        (lambda: overview_figures.draw_pipeline("msa"), "not 'msa'"),
        (lambda: overview_figures.plot_shares({}, "none", "%"), "no bar"),
        (lambda: overview_figures.plot_shares({"a": {"b": 1}, "c": {"d": 1}}, "odd", "%"), r"'c'.*\['d'\].*\['b'\]"),
        (lambda: overview_figures.plot_shares({"a": {"b": 0}}, "nothing", "%"), r"'a'.*not all 0.*\[0\]"),
        (lambda: overview_figures.plot_shares({"a": {"b": 2, "c": -1}}, "less", "%"), r"0 or more.*-1"),
        (lambda: overview_figures.plot_shares({"a": {}}, "empty", "%"), r"'a'.*\[\]"),
    ],
)
def test_bad_input_is_refused_before_a_figure_exists(drawing, message):
    assert_refused(drawing, message)


def words_of(name: str) -> list[str]:
    return [words for words, _ in rendered(DRAWINGS[name]).words]


def test_replication_shows_four_kinds_of_things():
    for kind in ("words", "a drawing", "an equation", "a table"):
        assert kind in words_of("replication")


def test_sources_name_every_place():
    for place in ("arXiv", "Hugging Face Papers", "google-research/vision_transformer", "lucidrains/vit-pytorch"):
        assert place in words_of("sources")


def test_shapes_are_those_of_the_model():
    measured = {step: shape for _, step, _, shape in measure_shapes("ViT-B/16", batch_size=1)}
    sequence = measured["plus E_pos: z_0"].replace("(1, ", "(")
    images = measured["images x"].replace("(1, ", "(")
    assert words_of("pipeline, None").count(sequence) == 2
    assert images in words_of("pipeline, None")
    assert words_of("building").count(sequence.replace("(", "(B, ")) == 4
    assert images.replace("(", "(B, ") in words_of("building")


def test_each_equation_lights_another_part():
    grey = {number: rendered(DRAWINGS[name]).pixels.mean(axis=-1) for number, name in STRIPS.items()}
    for one, other in itertools.combinations(grey, 2):
        assert (abs(grey[one] - grey[other]) > 0.2).sum() > 500, f"{one} and {other} look alike"
    for number, name in STRIPS.items():
        assert bool(rendered(DRAWINGS[name]).thick_frames) == (number is not None)
        assert [words_of(name).count(f"({n})") for n in (1, 2, 4)] == [1, 1, 1]


def test_shares_add_up_to_a_hundred_and_are_written_in():
    axes = draw(DRAWINGS["shares"]).axes[0]
    ends = [[bar.get_x() + bar.get_width() for bar in bars] for bars in axes.containers]
    np.testing.assert_allclose(ends[-1], 100)
    assert sorted(text.get_text() for text in axes.texts) == ["25 %", "75 %", "99 %"]  # 1 % has no room
    assert len({bar.get_hatch() for bars in axes.containers for bar in bars}) == 2

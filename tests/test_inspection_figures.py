"""The drawings of notebook 12: each draws without a warning, words stand free, and shows what it was given."""

import numpy as np
import pytest
import torch
from figure_checks import assert_refused, draw, random, usual_tests
from PIL import Image

from going_modular.going_modular import inspection_figures as inside

IMAGE = random(3, 48, 48, low=-1)
NAMES = ["pizza", "steak", "sushi"]
ONE, OTHER = torch.tensor([0.1, 0.7, 0.2]), torch.tensor([0.3, 0.3, 0.4]).requires_grad_()
HEADS = random(3, 9).detach().softmax(dim=-1).requires_grad_()
SIMILAR = (2 * torch.eye(196) - random(196, 196).detach()).clamp(-1, 1)
DISTANCES = random(12, 3, low=10, high=120)

DRAWINGS = {
    "predictions": lambda: inside.plot_top_predictions(IMAGE, {"scratch": ONE, "pretrained": OTHER}, NAMES),
    "predictions of one model": lambda: inside.plot_top_predictions(IMAGE, {"scratch": ONE}, NAMES, "One", 2),
    "many classes": lambda: inside.plot_top_predictions(
        random(3, 20, 64), {"a": torch.ones(30) / 30, "b": torch.eye(30)[3]}, [f"class {n}" for n in range(30)], top=8
    ),
    "heads": lambda: inside.compare_heads(IMAGE, {"scratch": HEADS, "pretrained": HEADS.flip(0)}),
    "three and twelve heads": lambda: inside.compare_heads(
        IMAGE, {"scratch": HEADS, "pretrained": random(12, 9)}, "Heads"
    ),
    "sixteen heads of a wide image": lambda: inside.compare_heads(random(3, 32, 64), {"a": random(16, 2, 4)}),
    "one head": lambda: inside.compare_heads(IMAGE, {"scratch": HEADS[:1]}),
    "rollout": lambda: inside.compare_attention(IMAGE, {"scratch": HEADS[0], "pretrained": HEADS[1]}),
    "flat rollout": lambda: inside.compare_attention(IMAGE, {"scratch": torch.full((9,), 0.1)}),
    "distance": lambda: inside.plot_attention_distance({"scratch": DISTANCES, "pretrained": DISTANCES / 2}, 117.0),
    "distance of one model": lambda: inside.plot_attention_distance({"scratch": DISTANCES[:1]}),
    "similarity": lambda: inside.show_position_similarity({"scratch": SIMILAR, "pretrained": SIMILAR.T}),
    "similarity of a wide grid": lambda: inside.show_position_similarity({"a": SIMILAR[:8, :8]}, (2, 4), step=1),
    "filters": lambda: inside.show_filters(
        {"scratch": random(28, 3, 16, 16, low=-1), "pretrained": random(28, 3, 8, 8)}
    ),
    "one grey filter": lambda: inside.show_filters({"scratch": torch.zeros(1, 1, 4, 4)}),
}


test_all_are_drawn, test_fits_and_words_stand_free, test_settings_stay = usual_tests(inside, DRAWINGS)


@pytest.mark.parametrize(
    "drawing, message",
    [
        (lambda: inside.plot_top_predictions(IMAGE, {}, NAMES), "answers.*empty"),
        (lambda: inside.plot_top_predictions(IMAGE, {"a": ONE}, NAMES[:2]), "'a' has 3 probabilities.*2 names"),
        (lambda: inside.plot_top_predictions(IMAGE, {"a": 2 * ONE}, NAMES), "'a' holds no probabilities.*not 2"),
        (lambda: inside.plot_top_predictions(IMAGE, {"a": ONE[None]}, NAMES), r"\(K\), not \(1, 3\)"),
        (lambda: inside.plot_top_predictions(IMAGE, {"a": ONE}, NAMES, top=0), "top.*not 0"),
        (lambda: inside.compare_heads(IMAGE, {}), "heads.*empty"),
        (lambda: inside.compare_heads(IMAGE, {"a": torch.zeros(0, 9)}), "a head at least"),
        (lambda: inside.compare_heads(IMAGE, {"a": torch.zeros(3, 10)}), r"class token.*attention\[1:\]"),
        (lambda: inside.compare_attention(IMAGE, {}), "maps.*empty"),
        (lambda: inside.compare_attention(IMAGE, {"a": torch.zeros(10)}), r"class token"),
        (lambda: inside.plot_attention_distance({}), "distances.*empty"),
        (lambda: inside.plot_attention_distance({"a": torch.zeros(12)}), r"\(L, k\), not \(12,\)"),
        (lambda: inside.plot_attention_distance({"a": -torch.ones(2, 2)}), "'a'.*0 or more.*not -1"),
        (lambda: inside.show_position_similarity({}), "similarities.*empty"),
        (lambda: inside.show_position_similarity({"a": torch.zeros(8, 8)}), r"\(8, 8\).*grid=\(rows, columns\)"),
        (lambda: inside.show_position_similarity({"a": torch.zeros(9, 9)}, step=0), "step.*not 0"),
        (lambda: inside.show_filters({}), "filters.*empty"),
        (lambda: inside.show_filters({"a": torch.zeros(4, 2, 8, 8)}), "'a'.*1 or 3, not 2"),
        (lambda: inside.show_filters({"a": torch.zeros(4, 3, 8, 8)}, columns=0), "columns.*not 0"),
    ],
)
def test_bad_input_is_refused_before_a_figure_exists(drawing, message):
    assert_refused(drawing, message)


def test_bars_are_sorted_and_as_long_as_the_probabilities():
    axes = draw(lambda: inside.plot_top_predictions(IMAGE, {"a": ONE, "b": OTHER}, NAMES, top=2)).axes[1]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["steak", "sushi"]
    widths = {bars.get_label(): [bar.get_width() for bar in bars] for bars in axes.containers}
    assert widths["a"] == pytest.approx([0.7, 0.2]) and widths["b"] == pytest.approx([0.3, 0.4])


def test_a_large_picture_is_drawn_smaller_and_stays_as_it_is():
    picture = Image.new("RGB", (640, 320), "red")
    axes = draw(lambda: inside.plot_top_predictions(picture, {"a": ONE}, NAMES)).axes[0]
    assert axes.get_images()[0].get_array().shape == (64, 128, 3) and picture.size == (640, 320)


def test_all_heads_share_one_scale_and_stand_in_their_models_row():
    figure = draw(lambda: inside.compare_heads(IMAGE, {"few": HEADS, "many": random(8, 9)}))
    titles = [axes.get_title() for axes in figure.axes[:-1]]
    assert titles == ["few", "head 0", "head 1", "head 2", "many", *(f"head {n}" for n in range(8))]
    heats = [axes.get_images()[1] for axes in figure.axes[:-1] if axes.get_title().startswith("head")]
    assert [heat.get_clim() for heat in heats] == [(0, pytest.approx(random(8, 9).max().item()))] * 11
    np.testing.assert_allclose(heats[1].get_array(), HEADS[1].detach().reshape(3, 3), atol=1e-7)
    left = {title: axes.get_position().x0 for title, axes in zip(titles, figure.axes)}
    assert left["few"] == left["many"]


def test_two_maps_share_a_scale_from_the_least_to_the_most():
    figure = draw(lambda: inside.compare_attention(IMAGE, {"a": torch.arange(9) / 10, "b": torch.full((9,), 1.5)}))
    clims = [axes.get_images()[1].get_clim() for axes in figure.axes[1:3]]
    assert clims == [(0, 1.5), (0, 1.5)]


def test_distance_is_a_point_a_head_and_a_line_through_the_means():
    values = torch.tensor([[10.0, 30.0], [50.0, 70.0], [90.0, 90.0]])
    axes = draw(lambda: inside.plot_attention_distance({"a": values}, even=80.0)).axes[0]
    points = axes.collections[0].get_offsets()
    np.testing.assert_allclose(points, [[1, 10], [1, 30], [2, 50], [2, 70], [3, 90], [3, 90]])
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [20, 60, 90])
    np.testing.assert_allclose(axes.lines[1].get_ydata(), [80, 80])


def test_tiles_stand_where_their_patches_are():
    matrix = torch.arange(81.0).reshape(9, 9) / 100
    drawn = draw(lambda: inside.show_position_similarity({"a": matrix}, step=2)).axes[0].get_images()[0]
    sheet = drawn.get_array()
    assert sheet.shape == (7, 7) and sheet.mask[3].all() and sheet.mask[:, 3].all()
    np.testing.assert_allclose(sheet[:3, 4:], matrix[2].reshape(3, 3), rtol=1e-6)  # patch (0, 2)
    np.testing.assert_allclose(sheet[4:, :3], matrix[6].reshape(3, 3), rtol=1e-6)  # patch (2, 0)
    assert drawn.get_clim() == (pytest.approx(-0.79), pytest.approx(0.79))  # without the diagonal's 0.80


def test_filters_are_scaled_one_by_one_around_grey():
    filters = torch.zeros(3, 3, 2, 2)
    filters[0, 0, 0, 0], filters[1, 2, 1, 1] = 5.0, -0.1
    sheet = draw(lambda: inside.show_filters({"a": filters}, columns=2)).axes[0].get_images()[0].get_array()
    assert sheet.shape == (5, 5, 3)
    np.testing.assert_allclose(sheet[0, 0], (1, 0.5, 0.5))
    np.testing.assert_allclose(sheet[1, 4], (0.5, 0.5, 0))
    np.testing.assert_allclose(sheet[3:, :2], 0.5)
    np.testing.assert_allclose(sheet[2], 1)

"""The drawings of Equation 1 pass what every figure must pass, and show the numbers that they say they show."""

import numpy as np
import pytest
import torch
from figure_checks import assert_refused, draw, random, usual_tests

from going_modular.going_modular import embedding_figures as embedding

IMAGE = random(3, 48, 48, low=-1)
MAPS = {"patches": random(4, 4, low=-1), "drowned": 5 * random(4, 4, low=-1), "kept": random(4, 4, low=-1)}
DRAWINGS = {
    "flattened patch": lambda: embedding.show_flattened_patch(IMAGE, 16, 1, 2),
    "flattened patch of a wide image in [0, 1]": lambda: embedding.show_flattened_patch(random(3, 32, 64), 32, 0, 1),
    "positions": lambda: embedding.show_position_numbers(random(3, 224, 224, low=-1), 14),
    "positions of a wide image": lambda: embedding.show_position_numbers(random(1, 16, 64), 4),
    "positions of a high image": lambda: embedding.show_position_numbers(random(3, 64, 16), 16),
    "first numbers": lambda: embedding.show_first_numbers(random(197, 768, low=-1), 12, 40, "z_0"),
    "all numbers": lambda: embedding.show_first_numbers(random(3, 5), 3, 5, "few"),
    "named maps": lambda: embedding.show_named_maps(MAPS, "three"),
    "one flat map": lambda: embedding.show_named_maps({"zero": torch.zeros(2, 4)}, "zero"),
}


test_all_are_drawn, test_fits_and_words_stand_free, test_settings_stay = usual_tests(embedding, DRAWINGS)


@pytest.mark.parametrize(
    "drawing, message",
    [
        (lambda: embedding.show_flattened_patch(IMAGE, 16, 3, 0), "row must lie between 0 and 2.*not 3"),
        (lambda: embedding.show_flattened_patch(IMAGE, 16, 0, -1), "column must lie between 0 and 2.*not -1"),
        (lambda: embedding.show_flattened_patch(IMAGE, 20, 0, 0), "48 x 48"),
        (lambda: embedding.show_flattened_patch(random(1, 48, 48), 16, 0, 0), r"\(3, H, W\).*\(1, 48, 48\)"),
        (lambda: embedding.show_flattened_patch(random(48, 48, 3), 16, 0, 0), r"\(3, H, W\).*\(48, 48, 3\)"),
        (lambda: embedding.show_flattened_patch(random(2, 3, 48, 48), 16, 0, 0), "batch"),
        (lambda: embedding.show_position_numbers(IMAGE, 0), "patch_size.*not 0"),
        (lambda: embedding.show_position_numbers(IMAGE, 9), "48 x 48"),
        (lambda: embedding.show_position_numbers(IMAGE, 2), "24 x 24.*at most 16"),
        (lambda: embedding.show_first_numbers(random(5, 8), 6, 8, "long"), "tokens must lie between 1 and 5.*not 6"),
        (
            lambda: embedding.show_first_numbers(random(5, 8), 5, 0, "none"),
            "dimensions must lie between 1 and 8.*not 0",
        ),
        (lambda: embedding.show_first_numbers(random(1, 5, 8), 5, 8, "batch"), r"\(N, D\).*sequence\[0\]"),
        (lambda: embedding.show_named_maps({}, "none"), "empty"),
        (lambda: embedding.show_named_maps({"a": torch.zeros(2, 2), "b": torch.zeros(2, 3)}, "two"), r"\(2, 2\)"),
        (lambda: embedding.show_named_maps({"a": torch.zeros(1, 2, 2)}, "batch"), r"'a'.*\(h, w\)"),
        (lambda: embedding.show_named_maps({"a": torch.full((2, 2), torch.nan)}, "NaN"), "not finite"),
    ],
)
def test_bad_input_is_refused_before_a_figure_exists(drawing, message):
    assert_refused(drawing, message)


def test_the_line_holds_the_patch_as_torch_flattens_it():
    figure = draw(DRAWINGS["flattened patch"])
    lines = [line for line in figure.axes[2].get_lines() if len(line.get_xdata()) > 2]
    assert np.concatenate([line.get_xdata() for line in lines]).tolist() == list(range(3 * 16 * 16))
    drawn = np.concatenate([line.get_ydata() for line in lines])
    np.testing.assert_allclose(drawn, IMAGE.detach()[:, 16:32, 32:48].flatten(), atol=1e-6)
    (enlarged,) = figure.axes[1].get_images()
    expected = IMAGE.detach()[:, 16:32, 32:48].permute(1, 2, 0) / 2 + 0.5
    np.testing.assert_allclose(enlarged.get_array(), expected, atol=1e-6)


def test_positions_count_row_by_row_from_1():
    axes = draw(DRAWINGS["positions of a wide image"]).axes[0]
    places = {text.get_text(): text.get_position() for text in axes.texts}
    assert list(places) == [str(number) for number in range(1, 65)]
    assert places["1"] == (1.5, 1.5) and places["2"] == (5.5, 1.5) and places["17"] == (1.5, 5.5)


def test_positions_stand_on_their_patches_average_colour():
    image = torch.zeros(3, 4, 8)
    image[0, :, 4:] = 1  # the second patch is red
    (picture,) = draw(lambda: embedding.show_position_numbers(image, 4)).axes[0].get_images()
    np.testing.assert_allclose(picture.get_array(), [[[0.6, 0.6, 0.6], [1, 0.6, 0.6]]])


def test_the_first_numbers_are_shown_and_counted():
    sequence = random(197, 768, low=-1)
    axes = draw(lambda: embedding.show_first_numbers(sequence, 12, 40, "z_0")).axes[0]
    (picture,) = axes.get_images()
    np.testing.assert_allclose(picture.get_array(), sequence.detach()[:12, :40], atol=1e-6)
    assert axes.get_ylabel() == "token (the first 12 of 197)"
    assert axes.get_xlabel() == "dimension (the first 40 of 768)"
    assert draw(DRAWINGS["all numbers"]).axes[0].get_ylabel() == "token (all 3)"


def test_named_maps_share_the_first_ones_scale():
    figure = draw(DRAWINGS["named maps"])
    drawn = [image for axes in figure.axes[:3] for image in axes.get_images()]
    most = float(MAPS["patches"].detach().abs().max())
    assert [image.get_clim() for image in drawn] == [pytest.approx((-most, most))] * 3
    assert [axes.get_title() for axes in figure.axes[:3]] == list(MAPS)

"""The drawings of pretrained models pass what every figure must pass, and show the numbers that they are given."""

import math

import numpy as np
import pytest
from figure_checks import assert_refused, draw, random, usual_tests

from going_modular.going_modular import pretrained_figures as pretrained

MAPS = {"learned": random(14, 14, low=-1), "stretched": 2 * random(24, 24, low=-1), "wide": random(2, 4, low=-1)}
ACCURACIES = {"from scratch": (0.32, 0.22, 0.43), "head alone": (0.85, 0.75, 0.92), "all layers": (1.0, 0.95, 1.0)}
SECONDS = {"from scratch": 208.0, "head alone": 7.25, "all layers": 47.0}
PARAMETERS = {"from scratch": 85_800_963, "head alone": 579, "all layers": 85_800_963}
SIZES = {"from scratch": 343.3, "head alone": 0.0037, "all layers": 343.3}
COSTS = {"seconds": SECONDS, "trained parameters": PARAMETERS, "on disk, MB": SIZES}
UNKNOWN = {"seconds": SECONDS | {"from scratch": math.nan}}
DRAWINGS = {
    "maps": lambda: pretrained.show_stretched_maps(MAPS, "Positions"),
    "one map": lambda: pretrained.show_stretched_maps({"zero": np.zeros((3, 3))}, "zero"),
    "three models": lambda: pretrained.compare_models(ACCURACIES, COSTS, "Side by side"),
    "a time not known": lambda: pretrained.compare_models(ACCURACIES, UNKNOWN, "Side by side"),
    "nothing known": lambda: pretrained.compare_models({"a": (0, 0, 0)}, {"seconds": {"a": math.nan}}, "one"),
    "four models": lambda: pretrained.compare_models(
        ACCURACIES | {"head alone, Ti": (0.0, 0.0, 0.05)},
        {kind: amounts | {"head alone, Ti": 3.0} for kind, amounts in COSTS.items()},
        "Side by side",
    ),
}


test_all_are_drawn, test_fits_and_words_stand_free, test_settings_stay = usual_tests(pretrained, DRAWINGS)


@pytest.mark.parametrize(
    "drawing, message",
    [
        (lambda: pretrained.show_stretched_maps({}, "none"), "empty"),
        (lambda: pretrained.show_stretched_maps({"a": random(1, 2, 2)}, "batch"), r"'a'.*\(h, w\)"),
        (lambda: pretrained.compare_models({}, COSTS, "none"), "0 models"),
        (lambda: pretrained.compare_models(ACCURACIES, {}, "none"), "0 costs"),
        (lambda: pretrained.compare_models({"a": (0.5, 0.6, 0.7)}, COSTS, "off"), "'a'.*0.6, 0.5, 0.7"),
        (lambda: pretrained.compare_models({"a": (math.nan, 0, 1)}, COSTS, "NaN"), "'a'.*nan"),
        (lambda: pretrained.compare_models({"a": (0.5, 0.4, 0.7)}, COSTS, "others"), "'seconds' is known of"),
        (lambda: pretrained.compare_models({"a": (0.5, 0.4, 0.7)}, {"s": {"a": 0}}, "zero"), "'s'.*not 0"),
    ],
)
def test_bad_input_is_refused_before_a_figure_exists(drawing, message):
    assert_refused(drawing, message)


def test_maps_share_the_first_ones_scale():
    figure = draw(DRAWINGS["maps"])
    drawn = [image for axes in figure.axes[:3] for image in axes.get_images()]
    most = float(MAPS["learned"].detach().abs().max())
    assert [image.get_clim() for image in drawn] == [pytest.approx((-most, most))] * 3
    assert [image.get_array().shape for image in drawn] == [(14, 14), (24, 24), (2, 4)]
    assert [axes.get_title() for axes in figure.axes[:3]] == list(MAPS)


def test_every_model_stands_at_its_numbers():
    accuracy, *costs = draw(DRAWINGS["three models"]).axes
    points = [[line for line in axes.get_lines() if len(line.get_xdata()) == 1] for axes in (accuracy, *costs)]
    for lines, amounts in zip(points, ({m: a[0] for m, a in ACCURACIES.items()}, *COSTS.values()), strict=True):
        assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in lines] == [
            (amount, place) for place, amount in enumerate(amounts.values())
        ]
    intervals = [tuple(line.get_xdata()) for line in accuracy.get_lines() if len(line.get_xdata()) == 2]
    assert intervals == [(low, high) for _, low, high in ACCURACIES.values()]
    assert [text.get_text() for text in accuracy.texts] == ["32%", "85%", "100%"]
    assert [text.get_text() for text in costs[1].texts] == ["85,800,963", "579", "85,800,963"]
    assert [axes.get_xlabel() for axes in costs] == [f"{kind} (log scale)" for kind in COSTS]


def test_what_is_not_known_is_said():
    _, seconds = draw(DRAWINGS["a time not known"]).axes
    assert [text.get_text() for text in seconds.texts] == ["not known", "7.2", "47"]

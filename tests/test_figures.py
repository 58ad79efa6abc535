"""The figures: every one draws without a warning, says what it shows, and leaves the learner's settings alone."""

import functools
import itertools
import os
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from conftest import ROOT
from figure_checks import Rendered, assert_refused, draw, random, rendered, usual_tests
from matplotlib import colors
from PIL import Image

from going_modular.going_modular import figure_style, figures, vit_map

IMAGE = random(3, 48, 48, low=-1)
WEIGHTS = random(4, 9).detach().softmax(dim=-1).requires_grad_()
STEPS = [("image", (1, 3, 224, 224)), ("Conv2d", (1, 768, 14, 14)), ("Flatten", (1, 768, 196))]
LONG_STEPS = STEPS + [("permute", (1, 196, 768)), ("with the class token", (1, 197, 768)), ("add", (1, 197, 768))]

# Every drawing, with usual input and with its extremes. A new figure is added here.
DRAWINGS = {
    "map of an image": lambda: figures.draw_vit_map("data", random(3, 50, 70)),
    "pre-norm block": lambda: figures.draw_block(),
    "post-norm block": lambda: figures.draw_block(pre_norm=False),
    "shape flow": lambda: figures.draw_shape_flow(STEPS),
    "shape flow, two rows": lambda: figures.draw_shape_flow(LONG_STEPS),
    "shape flow, one step": lambda: figures.draw_shape_flow(STEPS[:1]),
    "image": lambda: figures.show_image(IMAGE, "pizza"),
    "wide image": lambda: figures.show_image(random(3, 16, 64), "sushi"),
    "images": lambda: figures.show_images(random(5, 3, 24, 24), ["a", "b", "c", "d", "e"], columns=3, title="five"),
    "images of two sizes": lambda: figures.show_images([random(3, 24, 24), random(1, 30, 20)]),
    "patches": lambda: figures.show_patches(IMAGE, 16),
    "top row of patches": lambda: figures.show_patches(IMAGE, 4, rows=1),
    "feature maps": lambda: figures.show_feature_maps(random(7, 3, 3, low=-1), [0, 3, 6]),
    "many feature maps": lambda: figures.show_feature_maps(random(7, 3, 5), range(7)),
    "sequence": lambda: figures.show_sequence(random(197, 32, low=-1), "z_0"),
    "sequence of one": lambda: figures.show_sequence(torch.zeros(1, 8), "class token"),
    "matrix": lambda: figures.show_matrix(random(3, 3), ["a", "b", "c"], ["d", "e", "f"], "attention"),
    "signed matrix": lambda: figures.show_matrix(random(2, 9, low=-1), title="similarity", ylabel="row"),
    "matrix with long labels": lambda: figures.show_matrix(random(9, 9), None, ["position 10"] * 9, "nine"),
    "lists of tensors": lambda: figures.plot_lines({"loss": ([1, 2], list(random(2)))}, "x", "y", "lists"),
    "large matrix": lambda: figures.show_matrix(random(14, 14, low=-1), title="similarity"),
    "confusion matrix": lambda: figures.plot_confusion_matrix([[20, 3], [4, 12]], ["pizza", "steak"]),
    "empty confusion matrix": lambda: figures.plot_confusion_matrix(torch.zeros(3, 3), ["a", "b", "c"]),
    "attention": lambda: figures.show_attention(IMAGE, WEIGHTS[0]),
    "wide attention": lambda: figures.show_attention(random(3, 32, 64), random(2, 4), "rollout"),
    "attention heads": lambda: figures.show_attention_heads(IMAGE, WEIGHTS),
    "class counts": lambda: figures.plot_class_counts({"train": {"pizza": 78, "steak": 75}, "test": {"pizza": 25}}),
    "lines": lambda: figures.plot_lines({"a": (range(40), random(40)), "b": ([0, 9], [1, 2])}, "x", "y", "two"),
    "log lines": lambda: figures.plot_lines({"a": ([1, 10, 100], [1, 100, 1e4])}, "N", "cost", "one", "log", "log"),
}
MAPS = {part: f"map, {part}" for part in (None, *figures.PARTS)}
DRAWINGS |= {name: functools.partial(figures.draw_vit_map, part) for part, name in MAPS.items()}


# What every figure must do


test_all_are_drawn, test_fits_and_words_stand_free, test_settings_stay = usual_tests(
    figures, DRAWINGS, [name for name in DRAWINGS if name not in MAPS.values()]
)


def test_the_interactive_mode_of_a_backend_outlives_the_first_drawing(tmp_path):
    """A notebook's backend switches it on when it is loaded, which the first drawing may cause."""
    backend = "from matplotlib.backends.backend_agg import *\nimport matplotlib\nmatplotlib.interactive(True)\n"
    (tmp_path / "eager_backend.py").write_text(backend, encoding="utf-8")
    script = (
        "from going_modular.going_modular import figures\n"
        "import matplotlib.pyplot as plt\n"
        "figures.show_image([[0.5]], 'grey')\n"
        "assert plt.isinteractive()\n"
    )
    environment = os.environ | {
        "MPLBACKEND": "module://eager_backend",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
    }
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)


def test_settings_come_back_after_an_error():
    before = dict(plt.rcParams)
    with pytest.raises(ValueError):
        figures.show_image(torch.zeros(2, 2, 2, 2), "a batch")
    assert dict(plt.rcParams) == before


@pytest.mark.parametrize(
    "drawing, message",
    [
        (lambda: figures.draw_vit_map("attention"), "no part 'attention'.*patch_embedding.*classifier"),
        (lambda: figures.draw_vit_map(image=torch.zeros(3, 2, 2)), "2 x 2 pixels are too few"),
        (lambda: figures.draw_shape_flow([]), "no step"),
        (lambda: figures.show_image(torch.zeros(1, 3, 8, 8), "batch"), r"images\[0\]"),
        (lambda: figures.show_image(torch.zeros(4, 8, 8), "four channels"), r"1 or 3 channels, not \(4, 8, 8\)"),
        (lambda: figures.show_image(torch.full((3, 8, 8), 2.6), "ImageNet"), "2.6.*to_picture"),
        (lambda: figures.show_image(torch.full((3, 8, 8), torch.nan), "NaN"), "not finite"),
        (lambda: figures.show_images([]), "empty"),
        (lambda: figures.show_images(torch.zeros(3, 8, 8)), r"\(B, C, H, W\), not \(3, 8, 8\)"),
        (lambda: figures.show_images(torch.zeros(2, 3, 8, 8), ["one"]), "1 titles.*2 images"),
        (lambda: figures.show_images(torch.zeros(2, 3, 8, 8), columns=0), "columns.*not 0"),
        (lambda: figures.show_patches(torch.zeros(3, 30, 32), 16), "30 x 32"),
        (lambda: figures.show_patches(torch.zeros(3, 32, 32), 0), "patch_size.*not 0"),
        (lambda: figures.show_patches(torch.zeros(3, 32, 32), 16, rows=3), "between 1 and 2.*not 3"),
        (lambda: figures.show_feature_maps(torch.zeros(1, 8, 4, 4), [0]), r"\(D, h, w\).*maps\[0\]"),
        (lambda: figures.show_feature_maps(torch.zeros(8, 4, 4), [8]), r"0 to 7.*\[8\]"),
        (lambda: figures.show_feature_maps(torch.zeros(8, 4, 4), []), "0 to 7.*empty"),
        (lambda: figures.show_sequence(torch.zeros(1, 5, 4), "batch"), r"\(N, D\).*sequence\[0\]"),
        (lambda: figures.show_sequence(torch.full((5, 4), torch.inf), "infinite"), "not finite"),
        (lambda: figures.show_matrix(torch.zeros(2, 3), ["a"]), "1 row labels.*2 rows"),
        (lambda: figures.show_matrix(torch.zeros(2, 3), None, ["a"]), "1 column labels.*3 columns"),
        (lambda: figures.plot_confusion_matrix(torch.zeros(2, 3), ["a", "b"]), r"\(2, 3\).*2 classes"),
        (lambda: figures.plot_confusion_matrix([[0.5]], ["a"]), "whole numbers"),
        (lambda: figures.plot_confusion_matrix([[-1]], ["a"]), "from 0 up"),
        (lambda: figures.show_attention(IMAGE, torch.zeros(197)), r"197.*class token.*attention\[1:\]"),
        (lambda: figures.show_attention(IMAGE, torch.zeros(8)), r"8 weights.*\(h, w\)"),
        (lambda: figures.show_attention(IMAGE, -torch.ones(9)), "below 0.*-1"),
        (lambda: figures.show_attention_heads(IMAGE, torch.zeros(9)), r"\(k, N\).*\(9,\)"),
        (lambda: figures.plot_class_counts({}), "counts"),
        (lambda: figures.plot_class_counts({"train": {}}), "counts"),
        (lambda: figures.plot_lines({}, "x", "y", "none"), "no line"),
        (lambda: figures.plot_lines({"a": ([1, 2], [1])}, "x", "y", "uneven"), r"'a'.*\(2,\), \(1,\)"),
        (lambda: figures.plot_lines({"a": ([0, 1], [1, 2])}, "x", "y", "zero", xscale="log"), "'a'.*x = 0"),
        (lambda: figures.plot_lines({"a": ([1], [1])}, "x", "y", "odd", yscale="root"), "'root'"),
    ],
)
def test_bad_input_is_refused_before_a_figure_exists(drawing, message):
    assert_refused(drawing, message)


# The map of ViT


def test_each_part_looks_different_even_in_grey():
    grey = {part: rendered(DRAWINGS[name]).pixels.mean(axis=-1) for part, name in MAPS.items()}
    for one, other in itertools.combinations(grey, 2):
        assert (abs(grey[one] - grey[other]) > 0.2).sum() > 1000, f"{one} and {other} look alike"


@pytest.mark.parametrize("part", figures.PARTS)
def test_lighting_a_part_dims_the_rest(part):
    def colourfulness(part):
        return np.ptp(rendered(DRAWINGS[MAPS[part]]).pixels, axis=-1).sum()

    assert 0 < colourfulness(part) < colourfulness(None)


@pytest.mark.parametrize("part", MAPS)
def test_only_a_lit_part_has_a_thick_frame(part):
    assert bool(rendered(DRAWINGS[MAPS[part]]).thick_frames) == (part is not None)


@pytest.mark.parametrize("part", figures.PARTS)
def test_the_map_says_in_words_what_is_lit(part):
    name, equation = vit_map.PART_NAMES[part]
    words = [words for words, _ in rendered(DRAWINGS[MAPS[part]]).words]
    assert any(name in line and equation in line for line in words)


def test_the_map_names_classes_positions_shapes_and_equations():
    words = [words for words, _ in rendered(DRAWINGS[MAPS[None]]).words]
    for expected in ("pizza", "steak", "sushi", "*", *map(str, range(10)), "(3, 224, 224)", "(196, 768)"):
        assert expected in words
    for number in range(1, 5):
        assert words.count(f"({number})") == 2  # beside its part, and in the list of equations


def test_the_map_shows_the_given_image():
    red = torch.zeros(3, 60, 60)
    red[0] = 1
    pure_red = (Rendered(lambda: figures.draw_vit_map(None, red)).pixels == (1, 0, 0)).all(axis=-1)
    assert pure_red.sum() > 3 * 120**2  # the image, its patches, and the row of patches
    assert not (rendered(DRAWINGS[MAPS[None]]).pixels == (1, 0, 0)).all(axis=-1).any()


def test_cut_gives_the_patches_in_reading_order():
    picture = np.arange(6 * 6 * 3).reshape(6, 6, 3)
    patches = vit_map.cut(picture)
    assert len(patches) == 9
    np.testing.assert_array_equal(patches[1], picture[:2, 2:4])
    np.testing.assert_array_equal(patches[3], picture[2:4, :2])


# Pictures


@pytest.mark.parametrize(
    "change",
    [
        lambda image: image,
        lambda image: image * 2 - 1,
        lambda image: image.half().float(),
        lambda image: image.permute(1, 2, 0).numpy(),
        lambda image: (image * 255).round().to(torch.uint8),
        lambda image: Image.fromarray((image * 255).round().to(torch.uint8).permute(1, 2, 0).numpy()),
        lambda image: figures.to_picture(image),
        lambda image: image.requires_grad_(),
    ],
)
def test_to_picture_takes_every_form_of_the_same_image(change):
    image = torch.rand(3, 6, 5, generator=torch.Generator().manual_seed(1))
    expected = image.permute(1, 2, 0).numpy()
    picture = figures.to_picture(change(image.clone()))
    assert picture.shape == (6, 5, 3)
    np.testing.assert_allclose(picture, expected, atol=1 / 255)


def test_to_picture_takes_low_precision_and_grey():
    np.testing.assert_allclose(figures.to_picture(torch.full((3, 2, 2), 0.5, dtype=torch.bfloat16)), 0.5)
    assert figures.to_picture(torch.rand(1, 4, 5)).shape == (4, 5, 3)
    assert figures.to_picture(np.random.rand(4, 5)).shape == (4, 5, 3)


def test_to_picture_undoes_a_normalisation():
    image, mean, std = torch.rand(3, 4, 4), (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    normalised = (image - torch.tensor(mean)[:, None, None]) / torch.tensor(std)[:, None, None]
    np.testing.assert_allclose(figures.to_picture(normalised, mean, std), figures.to_picture(image), atol=1e-6)
    with pytest.raises(ValueError, match="both or none"):
        figures.to_picture(normalised, mean)


def test_to_picture_leaves_the_image_as_it_was():
    image = torch.rand(3, 4, 4) * 2 - 1
    before = image.clone()
    figures.to_picture(image)
    assert torch.equal(image, before)


def test_show_patches_keeps_every_pixel_of_every_patch():
    image = torch.rand(3, 8, 12)
    figure = draw(lambda: figures.show_patches(image, 4))
    (sheet,) = figure.axes[0].get_images()
    sheet = sheet.get_array()
    step = 5  # a patch of 4 pixels and a gap of 1
    for row, column in itertools.product(range(2), range(3)):
        patch = sheet[row * step : row * step + 4, column * step : column * step + 4]
        expected = image[:, row * 4 : row * 4 + 4, column * 4 : column * 4 + 4].permute(1, 2, 0)
        np.testing.assert_allclose(patch, expected, atol=1e-6)
    assert (sheet[4] == 1).all() and (sheet[:, 4] == 1).all()


# Numbers and colours


def test_confusion_matrix_has_true_classes_as_rows():
    axes = draw(lambda: figures.plot_confusion_matrix([[5, 1], [2, 7]], ["pizza", "steak"])).axes[0]
    cells = {text.get_position(): text.get_text() for text in axes.texts}
    assert cells == {(0, 0): "5", (1, 0): "1", (0, 1): "2", (1, 1): "7"}
    assert [label.get_text() for label in axes.get_yticklabels()] == ["pizza (6)", "steak (9)"]
    assert axes.get_ylabel().startswith("true") and axes.get_xlabel().startswith("predicted")


def test_class_counts_stand_on_the_bars():
    axes = draw(DRAWINGS["class counts"]).axes[0]
    assert [text.get_text() for text in axes.texts] == ["78", "75", "25", "0"]
    hatches = {bar.get_hatch() for bars in axes.containers for bar in bars}
    assert len(hatches) == 2


def test_colour_scales_are_shared_and_centred():
    figure = draw(DRAWINGS["feature maps"])
    limits = {image.get_clim() for axes in figure.axes for image in axes.get_images()}
    assert len(limits) == 1
    low, high = limits.pop()
    assert low == -high


def test_each_line_has_a_dash_or_a_marker_of_its_own():
    series = {str(number): ([0, 1], [number, number]) for number in range(20)}
    lines = draw(lambda: figures.plot_lines(series, "x", "y", "twenty")).axes[0].get_lines()
    looks = {(str(line._unscaled_dash_pattern), line.get_marker()) for line in lines}
    assert len(looks) == 20


def luminance(colour) -> float:
    channels = np.asarray(colors.to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def contrast(one, other) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_words_can_be_read_on_every_colour():
    for background in itertools.product(np.linspace(0, 1, 6), repeat=3):
        assert contrast(background, figure_style.readable_on(background)) >= 4.5
    ink = figure_style.COLOURS["ink"]
    for name in set(figure_style.COLOURS) - {"ink"}:
        assert contrast(ink, figure_style.soft(name)) >= 7
    assert contrast(vit_map.DIM_TEXT, vit_map.DIM_FILL) >= 3


# Machado, Oliveira and Fernandes 2009: what people without red or green cones see, in linear RGB.
PROTANOPIA = [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
DEUTERANOPIA = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]


def seen(colour, vision) -> np.ndarray:
    return (np.asarray(vision) @ np.asarray(colors.to_rgb(colour)) ** 2.2).clip(0, 1) ** (1 / 2.2)


@pytest.mark.parametrize("vision", [np.eye(3), PROTANOPIA, DEUTERANOPIA])
def test_line_colours_can_be_told_apart_with_every_colour_vision(vision):
    def distance(one, other):
        return np.linalg.norm(seen(one, vision) - seen(other, vision))

    for one, other in itertools.combinations(figures.LINE_COLOURS, 2):
        assert distance(figure_style.COLOURS[one], figure_style.COLOURS[other]) > 0.15
    if vision is DEUTERANOPIA:
        assert distance("#B0703A", "#7F8A38") < 0.15  # the measure does see a bad pair

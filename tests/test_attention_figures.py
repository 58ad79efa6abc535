"""The drawings of attention and MLP: each draws without a warning, words stand free, and shows what it was given."""

import numpy as np
import pytest
import torch
from figure_checks import assert_refused, draw, usual_tests

from going_modular.going_modular import attention_figures

IMAGE = torch.rand(3, 48, 48, generator=torch.Generator().manual_seed(0))
ROW = torch.arange(9.0).softmax(dim=0)
ALONE = torch.eye(9)[4]
BLOCK = {"LayerNorm": 3072, "MSA": 2362368, "MLP": 4722432}

DRAWINGS = {
    "heads": lambda: attention_figures.draw_heads(),
    "three heads": lambda: attention_figures.draw_heads(192, 3),
    "one head": lambda: attention_figures.draw_heads(8, 1),
    "sixteen heads": lambda: attention_figures.draw_heads(1280, 16),
    "softmax rows": lambda: attention_figures.plot_softmax_rows(
        {4: (ROW, ROW.flip(0)), 64: (ROW, ROW), 256: (ROW, ROW)}
    ),
    "one softmax row": lambda: attention_figures.plot_softmax_rows({64: (ROW, ROW)}),
    "patch attention": lambda: attention_figures.show_patch_attention(IMAGE, ROW, 4),
    "token changes": lambda: attention_figures.show_token_changes({"MSA": ROW.requires_grad_(), "MLP": ALONE}, 4),
    "token changes of one layer": lambda: attention_figures.show_token_changes({"MLP": ALONE}, 4),
    "block parameters": lambda: attention_figures.plot_block_parameters({"ViT-B/16": BLOCK, "ViT-L/16": BLOCK}),
    "one variant": lambda: attention_figures.plot_block_parameters({"ViT-B/16": BLOCK}),
}


test_all_are_drawn, test_fits_and_words_stand_free, test_settings_stay = usual_tests(attention_figures, DRAWINGS)


@pytest.mark.parametrize(
    "drawing, message",
    [
        (lambda: attention_figures.draw_heads(768, 7), "7 heads.*768"),
        (lambda: attention_figures.draw_heads(768, 32), "32 heads.*1 to 16"),
        (lambda: attention_figures.draw_heads(768, 0), "0 heads"),
        (lambda: attention_figures.plot_softmax_rows({}), "no softmax row"),
        (lambda: attention_figures.plot_softmax_rows({4: (ROW,)}), "two rows.*not 1"),
        (lambda: attention_figures.plot_softmax_rows({4: (ROW, 2 * ROW)}), "sum 1, not 2"),
        (lambda: attention_figures.plot_softmax_rows({4: (ROW, ROW[None])}), r"\(keys\), not \(1, 9\)"),
        (lambda: attention_figures.show_patch_attention(IMAGE, ROW, 9), "no patch 9.*0 to 8"),
        (lambda: attention_figures.show_patch_attention(IMAGE, torch.zeros(10), 0), "class token"),
        (lambda: attention_figures.show_token_changes({}, 0), "empty"),
        (lambda: attention_figures.show_token_changes({"MLP": torch.zeros(9)}, 4), "no output moved"),
        (lambda: attention_figures.show_token_changes({"a": ALONE, "b": torch.ones(16)}, 4), r"one shape.*\(3, 3\)"),
        (lambda: attention_figures.show_token_changes({"MLP": ALONE}, 9), "patch 9"),
        (lambda: attention_figures.plot_block_parameters({}), "counts"),
        (lambda: attention_figures.plot_block_parameters({"B": {"MLP": 0}}), "counts"),
    ],
)
def test_bad_input_is_refused_before_a_figure_exists(drawing, message):
    assert_refused(drawing, message)


def test_the_framed_patch_is_the_one_that_was_asked_for():
    axes = draw(lambda: attention_figures.show_patch_attention(IMAGE, ROW, 5)).axes[0]  # row 1, column 2 of 3 x 3
    frames = {(patch.get_xy(), patch.get_width(), patch.get_height()) for patch in axes.patches}
    assert frames == {((31.5, 15.5), 16, 16)}


def test_softmax_rows_stand_without_the_scale_above_and_with_it_below():
    figure = draw(lambda: attention_figures.plot_softmax_rows({4: (ROW, ROW.flip(0)), 64: (ROW.flip(0), ROW)}))
    heights = [[bar.get_height() for bar in axes.patches] for axes in figure.axes]
    for drawn, expected in zip(heights, (ROW, ROW.flip(0), ROW.flip(0), ROW), strict=True):
        np.testing.assert_allclose(drawn, expected.detach(), atol=1e-6)
    assert f"{ROW.max():.2f}" in figure.axes[0].get_title()


def test_changes_of_exactly_zero_are_left_white_and_counted():
    figure = draw(lambda: attention_figures.show_token_changes({"MSA": ROW, "MLP": ALONE}, 4))
    msa, mlp = figure.axes[:2]
    assert msa.get_xlabel() == "moved: 9 of 9 patches" and mlp.get_xlabel() == "moved: 1 of 9 patches"
    assert msa.get_images()[0].get_clim() == mlp.get_images()[0].get_clim()
    shown = mlp.get_images()[0].get_array()
    assert shown.mask.sum() == 8 and not shown.mask[1, 1]


def test_block_parameters_are_shares_of_their_own_variant():
    axes = draw(lambda: attention_figures.plot_block_parameters({"B": BLOCK, "C": {"MSA": 1, "MLP": 3}})).axes[0]
    widths = {bars.get_label(): [bar.get_width() for bar in bars] for bars in axes.containers}
    total = sum(BLOCK.values())
    assert widths["MLP"] == pytest.approx([100 * BLOCK["MLP"] / total, 75])
    assert widths["MSA"] == pytest.approx([100 * BLOCK["MSA"] / total, 25])
    assert widths["LayerNorm"] == pytest.approx([100 * BLOCK["LayerNorm"] / total, 0])

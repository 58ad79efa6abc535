"""tiny_vgg: the course's names and structure, for any image size."""

import pytest
import torch
from torch import nn

from going_modular.going_modular.tiny_vgg import TinyVGG


@pytest.mark.parametrize("img_size", [16, 64, 65, 112])
def test_shapes(img_size):
    model = TinyVGG(input_shape=3, hidden_units=4, output_shape=5, img_size=img_size)
    assert model(torch.randn(2, 3, img_size, img_size)).shape == (2, 5)


def test_the_course_s_layers():
    """At 64 pixels: 13 x 13 positions are left, and the parameters are those of the course's model."""
    model = TinyVGG()
    kinds = [type(layer) for layer in model.conv_block_1]
    assert kinds == [nn.Conv2d, nn.ReLU, nn.Conv2d, nn.ReLU, nn.MaxPool2d]
    assert model.classifier[1].in_features == 10 * 13 * 13
    assert sum(p.numel() for p in model.parameters()) == (3 * 90 + 10) + 3 * (10 * 90 + 10) + (1690 * 3 + 3)


def test_an_image_too_small():
    with pytest.raises(ValueError, match="img_size is 12.*16"):
        TinyVGG(img_size=12)

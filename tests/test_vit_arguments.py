"""Any sizes that a ViT can have give the right shapes; any that it can't, and any wrong input, are named by value."""

import math

import numpy as np
import pytest
import torch
from conftest import tiny_vit
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from going_modular.going_modular.vit import (
    MLPBlock,
    MultiheadSelfAttentionBlock,
    PatchEmbedding,
    TransformerEncoderBlock,
    ViT,
)

SIZES = ("in_channels", "patch_size", "embedding_dim", "mlp_size", "num_heads", "num_classes", "num_transformer_layers")
DROPOUTS = ("attn_dropout", "mlp_dropout", "embedding_dropout")
NO_SIZE = st.one_of(
    st.integers(max_value=0),
    st.floats(),
    st.booleans(),
    st.none(),
    st.text(max_size=3),
    st.lists(st.integers(1, 3), max_size=3),
    st.just(torch.tensor(3)),
)
NO_SHARE = st.one_of(
    st.floats(max_value=-1e-9),
    st.floats(min_value=1 + 1e-9),
    st.just(math.nan),
    st.booleans(),
    st.none(),
    st.text(max_size=3),
)


@st.composite
def configs(draw) -> dict:
    """Every argument of a ViT that is small and can be built."""
    patch_size, heads = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    whole = draw(st.sampled_from([int, np.int64, np.uint8]))
    return {
        "img_size": (rows * patch_size, columns * patch_size),
        "in_channels": draw(st.integers(1, 4)),
        "patch_size": whole(patch_size),
        "num_transformer_layers": draw(st.integers(0, 3)),
        "embedding_dim": heads * draw(st.integers(1, 4)),
        "mlp_size": draw(st.integers(1, 8)),
        "num_heads": whole(heads),
        "attn_dropout": draw(st.sampled_from([0, 0.0, 0.5, np.float32(0.5), 1])),
        "mlp_dropout": draw(st.sampled_from([0, 0.1, 1.0])),
        "embedding_dropout": draw(st.sampled_from([0, 0.1, 1.0])),
        "num_classes": draw(st.integers(1, 5)),
    }


@settings(max_examples=150)
@given(config=configs(), batch=st.integers(0, 3), training=st.booleans())
def test_any_sizes_that_fit_give_logits_and_maps_of_the_right_shape(config, batch, training):
    vit = ViT(**config).train(training)
    images = torch.randn(batch, config["in_channels"], *config["img_size"])
    assert vit(images).shape == (batch, config["num_classes"])
    tokens = math.prod(config["img_size"]) // int(config["patch_size"]) ** 2 + 1
    layers = config["num_transformer_layers"]
    if layers == 0:
        with pytest.raises(ValueError, match="num_transformer_layers is 0"):
            vit(images, return_attention=True)
        return
    _, maps = vit(images, return_attention=True)
    assert maps.shape == (batch, layers, config["num_heads"], tokens, tokens)
    assert (maps.sum(dim=-1) - 1).abs().max().item() <= 1e-5 if batch else maps.numel() == 0


@settings(max_examples=200)
@given(name=st.sampled_from([*SIZES, "img_size", *DROPOUTS]), data=st.data())
def test_an_argument_that_no_model_can_have_is_named_with_its_value(name, data):
    value = data.draw(NO_SHARE if name in DROPOUTS else NO_SIZE)
    if name == "num_transformer_layers" and value == 0 and type(value) is int:
        value = -1
    if name == "img_size" and isinstance(value, list) and len(value) == 2:
        value.append(1)
    with pytest.raises(ValueError) as caught:
        tiny_vit(**{name: value})
    assert str(caught.value).startswith(f"{name} is {value!r}; it must be ")


@pytest.mark.parametrize(
    ("block", "arguments"),
    [
        (PatchEmbedding, ("in_channels", "patch_size", "embedding_dim")),
        (MultiheadSelfAttentionBlock, ("num_heads", "attn_dropout", "proj_dropout")),
        (MLPBlock, ("embedding_dim", "mlp_size", "dropout")),
        (TransformerEncoderBlock, ("num_heads", "mlp_size", "mlp_dropout", "attn_dropout")),
    ],
)
def test_a_block_alone_refuses_the_same(block, arguments):
    for name in arguments:
        for value in (0, -3, 2.5, True, "3", None) if "dropout" not in name else (-0.1, 1.5, math.nan, True, "3"):
            with pytest.raises(ValueError, match=f"{value!r}; it must be"):
                block(**{name: value})


def test_an_image_size_may_be_numpys_number_or_two():
    for size in (np.int64(32), 32, [32, 32], (np.int64(32), 32)):
        vit = tiny_vit(img_size=size)
        assert vit.img_size == (32, 32) and {type(side) for side in vit.img_size} == {int}
        assert vit.config["img_size"] == (32, 32)


INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool, torch.complex64]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_images_of_integers_are_refused_with_the_way_to_floats(dtype):
    images = torch.ones(2, 3, 32, 32).to(dtype)
    for model in (tiny_vit(), PatchEmbedding(3, 16, 12)):
        with pytest.raises(ValueError, match=rf"{dtype}.*images\.float\(\) / 127\.5 - 1"):
            model(images)


@pytest.mark.parametrize("images", [np.zeros((2, 3, 32, 32)), [1.0], None, "photo.jpg", Image.new("RGB", (32, 32))])
def test_what_is_no_tensor_is_refused_by_its_type(images):
    for model in (tiny_vit(), PatchEmbedding(3, 16, 12)):
        with pytest.raises(TypeError, match=rf"tensor of shape \(B, C, H, W\), not a {type(images).__name__}"):
            model(images)


@settings(max_examples=100)
@given(shape=st.lists(st.integers(0, 40), max_size=6).map(tuple))
def test_images_of_another_shape_are_refused_by_it(shape):
    if shape[1:] == (3, 32, 32):
        return
    with pytest.raises(ValueError) as caught:
        tiny_vit()(torch.zeros(()).expand(shape))
    assert str(shape) in str(caught.value) and "(3, 32, 32)" in str(caught.value)


@settings(max_examples=100)
@given(shape=st.lists(st.integers(0, 14), max_size=5).map(tuple))
def test_tokens_of_another_shape_are_refused_by_it(shape):
    attention = MultiheadSelfAttentionBlock(12, 3).multihead_attn
    tokens = torch.zeros(()).expand(shape)
    if len(shape) == 3 and shape[2] == 12:
        assert attention(tokens).shape == shape
        return
    with pytest.raises(ValueError) as caught:
        attention(tokens)
    assert str(shape) in str(caught.value) and "D = 12" in str(caught.value)


def test_nothing_is_a_batch_too():
    vit = tiny_vit()
    for training in (True, False):
        assert vit.train(training)(torch.zeros(0, 3, 32, 32)).shape == (0, 3)
    assert PatchEmbedding(3, 16, 12)(torch.zeros(0, 3, 32, 32)).shape == (0, 4, 12)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_spoilt_image_does_not_touch_its_neighbours(value):
    vit = tiny_vit().eval()
    images = torch.randn(3, 3, 32, 32)
    expected = vit(images)
    images[1, 0, 5, 5] = value
    logits = vit(images)
    assert not logits[1].isfinite().any()
    assert (logits[[0, 2]] - expected[[0, 2]]).abs().max() <= 1e-6


def test_sizes_that_fit_no_memory_are_an_error_and_no_crash():
    with torch.device("meta"), pytest.raises((RuntimeError, OverflowError)):
        ViT(embedding_dim=2**62, num_heads=1)

"""load_torchvision_weights: every size and spelling of torchvision's ViT exactly, and what does not fit named.

Every parameter of the models that are loaded from has been given noise: a fresh one would agree by chance.
"""

from collections import OrderedDict

import pytest
import torch
from references import fill_with_noise, random_images
from torch import nn
from torchvision.models import VisionTransformer, get_model
from torchvision.models.vision_transformer import interpolate_embeddings

from going_modular.going_modular.pretrained import load_torchvision_weights
from going_modular.going_modular.torchvision_weights import resize_positions
from going_modular.going_modular.vit import ViT

PAPER_NAMES = {
    "ViT-B/16": "vit_b_16",
    "ViT-B/32": "vit_b_32",
    "ViT-L/16": "vit_l_16",
    "ViT-L/32": "vit_l_32",
    "ViT-H/14": "vit_h_14",
}
SIZES = {"patch_size": 8, "embedding_dim": 24, "mlp_size": 40, "num_heads": 3, "num_transformer_layers": 2}


def theirs(img_size=32, classes=5, patch_size=8, layers=2, heads=3, dim=24, mlp_size=40, **more) -> VisionTransformer:
    model = VisionTransformer(img_size, patch_size, layers, heads, dim, mlp_size, num_classes=classes, **more)
    return fill_with_noise(model).eval()


def ours(img_size=32, classes=5, **changes) -> ViT:
    return ViT(img_size=img_size, num_classes=classes, **{**SIZES, **changes}).eval()


def as_is(state: dict) -> dict:
    return dict(state)


def old_spelling(state: dict) -> dict:
    """As torchvision 0.13 and older spelled the MLP's layers."""
    return {
        name.replace(".mlp.0.", ".mlp.linear_1.").replace(".mlp.3.", ".mlp.linear_2."): state[name] for name in state
    }


def course_spelling(state: dict) -> dict:
    """As it is after `model.heads = nn.Linear(...)`."""
    return {name.replace("heads.head.", "heads."): value for name, value in state.items()}


def copies(state: dict) -> dict:
    return {name: value.clone() for name, value in state.items()}


def assert_unchanged(before: dict, after: dict) -> None:
    assert list(before) == list(after) and all(torch.equal(before[name], after[name]) for name in before)


@torch.inference_mode()
def assert_same_logits(model: nn.Module, reference: nn.Module, img_size: int, least: float = 0.5) -> None:
    images = random_images(4, 3, img_size, img_size)
    expected, logits = reference(images), model(images)
    assert expected.std() > least and logits.std() > least, "logits this close to zero would agree by chance"
    assert (logits - expected).abs().max() <= 1e-5


@pytest.mark.parametrize("spelling", [as_is, old_spelling, course_spelling, lambda s: old_spelling(course_spelling(s))])
def test_every_spelling_loads_exactly_and_quietly(spelling, capsys):
    reference, model = theirs(), ours()
    state = spelling(reference.state_dict())
    before = copies(state)
    assert load_torchvision_weights(model, state) == []
    assert capsys.readouterr().out == ""
    assert_unchanged(before, state)
    # The same numbers in the same order, but for the two parts that stand elsewhere in ours.
    loaded = sorted(parameter.sum().item() for parameter in model.parameters())
    assert loaded == sorted(parameter.sum().item() for parameter in reference.parameters())
    assert_same_logits(model, reference, 32)


def test_torchvision_takes_the_old_spelling_as_old_spelling():
    """Otherwise the test above would prove nothing about files that older versions wrote."""
    reference = theirs()
    again = theirs(classes=5)
    nn.init.zeros_(again.encoder.layers[0].mlp[0].weight)
    again.load_state_dict(OrderedDict(old_spelling(reference.state_dict())))  # no _metadata: version 1
    assert torch.equal(again.encoder.layers[0].mlp[0].weight, reference.encoder.layers[0].mlp[0].weight)


@pytest.mark.parametrize("name", PAPER_NAMES)
@pytest.mark.parametrize("spelling", [as_is, old_spelling])
def test_every_official_size_fits_name_for_name(name, spelling, capsys):
    with torch.device("meta"):  # shapes alone
        model, reference = ViT.from_variant(name), get_model(PAPER_NAMES[name])
        assert load_torchvision_weights(model, spelling(reference.state_dict())) == []
    assert capsys.readouterr().out == ""


def test_half_precision_comes_back_as_float32():
    reference, model = theirs(), ours()
    load_torchvision_weights(model, copies(reference.half().state_dict()))
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert torch.equal(model.class_embedding, reference.class_token.float())


# The head


def test_a_head_for_other_classes_is_left_out_and_that_is_said(capsys):
    reference, model = theirs(classes=5), ours(classes=3)
    (note,) = load_torchvision_weights(model, reference.state_dict())
    out = capsys.readouterr().out
    assert out.count("\n") == 1 and note in out
    assert "5 classes was left out" in note and "for 3, which starts at zero" in note
    assert not model.classifier[1].weight.any() and not model.classifier[1].bias.any()
    # With the head of the reference put back, the rest must answer like it.
    model.classifier[1] = reference.heads.head
    assert_same_logits(model, reference, 32)


def test_a_trained_head_is_not_called_zero():
    model = fill_with_noise(ours(classes=3))
    before = model.classifier[1].weight.clone()
    (note,) = load_torchvision_weights(model, theirs(classes=5).state_dict())
    assert "stays as it is" in note and torch.equal(model.classifier[1].weight, before)


def test_a_checkpoint_without_a_head_loads_and_that_is_said():
    """torchvision's interpolate_embeddings(reset_heads=True) gives such ones."""
    model, state = ours(), theirs().state_dict()
    del state["heads.head.weight"], state["heads.head.bias"]
    (note,) = load_torchvision_weights(model, state)
    assert "holds no head" in note and model.position_embedding.std() > 0.3


def change(name: str, value) -> callable:
    def changed(state: dict) -> dict:
        if value is None:
            return {key: tensor for key, tensor in state.items() if key != name}
        return {**state, name: value}

    return changed


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (change("heads.head.bias", None), ["head does not fit", "no tensor", "(K, 24)"]),
        (change("heads.head.weight", None), ["head does not fit", "no tensor"]),
        (change("heads.head.weight", torch.zeros(5, 23)), ["head does not fit", "(5, 23)", "(K, 24)"]),
        (change("heads.head.weight", torch.zeros(1000, 23)), ["head does not fit", "(1000, 23)"]),
        (change("heads.head.bias", torch.zeros(4)), ["head does not fit", "(5, 24)", "(4,)"]),
        (change("heads.pre_logits.weight", torch.zeros(24, 24)), ["no place for", "heads.pre_logits.weight"]),
        (change("heads.weight", torch.zeros(5, 24)), ["classifier.1.weight twice", "heads.weight"]),
        (change("encoder.ln.bias", None), ["lacks", "classifier.0.bias"]),
        (change("encoder.layers.encoder_layer_1.mlp.3.bias", None), ["lacks", "1.mlp_block.mlp.3.bias"]),
        (change("mask_token", torch.zeros(1)), ["no place for", "mask_token"]),
        (change("encoder.ln.weight", torch.ones(1)), ["classifier.0.weight", "(1,)", "(24,)"]),
        (change("encoder.pos_embedding", torch.ones(1, 19, 24)), ["18 patches", "no square", "4 x 4"]),
        (change("encoder.pos_embedding", torch.ones(1, 17, 23)), ["position_embedding", "(1, 17, 23)", "(1, 17, 24)"]),
        (change("conv_proj.weight", None), ["no checkpoint of torchvision's ViT"]),
        (change("conv_proj.weight", torch.ones(24)), ["no ViT's state_dict"]),
        (lambda state: {}, ["no checkpoint of torchvision's ViT", "none"]),
        (lambda state: {"model": state}, ["no checkpoint of torchvision's ViT", "model"]),
        (lambda state: ours().state_dict(), ["utils.load_model"]),
        (lambda state: theirs(representation_size=16).state_dict(), ["no place for", "heads.pre_logits.bias"]),
    ],
)
def test_what_does_not_fit_is_named_and_changes_nothing(spoil, words):
    model = fill_with_noise(ours(), seed=1)
    before = copies(model.state_dict())
    state = spoil(theirs().state_dict())
    with pytest.raises(ValueError) as error:
        load_torchvision_weights(model, state)
    for word in words:
        assert word in str(error.value)
    assert_unchanged(before, model.state_dict())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"layers": 3}, ["num_transformer_layers 3, this ViT 2"]),
        ({"layers": 1}, ["num_transformer_layers 1, this ViT 2"]),
        ({"dim": 48}, ["embedding_dim 48, this ViT 24"]),
        ({"mlp_size": 41}, ["mlp_size 41, this ViT 40"]),
        ({"patch_size": 16}, ["patch_size 16, this ViT 8"]),
        ({"layers": 3, "dim": 48}, ["num_transformer_layers 3, this ViT 2", "embedding_dim 48, this ViT 24"]),
    ],
)
def test_another_depth_or_width_names_both_numbers(changes, words):
    with pytest.raises(ValueError) as error:
        load_torchvision_weights(ours(), theirs(**changes).state_dict())
    for word in words:
        assert word in str(error.value)


def test_a_known_size_is_suggested():
    with torch.device("meta"):
        state = get_model("vit_l_32").state_dict()
    with pytest.raises(ValueError, match=r'embedding_dim 1024, this ViT 768: build ViT.from_variant\("ViT-L/32"\)'):
        load_torchvision_weights(ViT(patch_size=32, num_transformer_layers=24, mlp_size=4096, num_heads=12), state)


# Another image size


@pytest.mark.parametrize("img_size", [16, 24, 40, 48, 64])
def test_positions_for_another_image_size_are_torchvisions(img_size, capsys):
    reference, model = theirs(img_size=32), ours(img_size=img_size)
    state = reference.state_dict()
    before = copies(state)
    (note,) = load_torchvision_weights(model, state)
    assert_unchanged(before, state)
    side = img_size // 8
    assert f"16 patches were interpolated to {side * side} ({side} x {side})" in note
    assert note in capsys.readouterr().out
    stretched = interpolate_embeddings(img_size, 8, OrderedDict(copies(state)))
    assert torch.equal(model.position_embedding, stretched["encoder.pos_embedding"])
    larger = theirs(img_size=img_size)
    larger.load_state_dict(stretched)
    assert_same_logits(model, larger, img_size)


def test_both_changes_are_said_in_one_line(capsys):
    notes = load_torchvision_weights(ours(img_size=48, classes=2), theirs().state_dict())
    assert len(notes) == 2 and capsys.readouterr().out.count("\n") == 1


def test_bicubic_interpolation_by_hand():
    """One row of the new grid at a time: cubic convolution with a = -0.75, corners on corners, borders repeated."""

    def kernel(x: float) -> float:
        x, a = abs(x), -0.75
        if x <= 1:
            return (a + 2) * x**3 - (a + 3) * x**2 + 1
        return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0

    def weights(old: int, new: int) -> torch.Tensor:
        matrix = torch.zeros(new, old)
        for place in range(new):
            centre = place * (old - 1) / (new - 1)
            for source in range(int(centre) - 1, int(centre) + 3):
                matrix[place, min(max(source, 0), old - 1)] += kernel(centre - source)
        return matrix

    positions = torch.randn(1, 17, 6, generator=torch.Generator().manual_seed(0))
    square = positions[0, 1:].reshape(4, 4, 6)
    expected = torch.einsum("ri,cj,ijd->rcd", weights(4, 7), weights(4, 5), square).reshape(35, 6)
    found = resize_positions(positions, (7, 5))  # not square, which torchvision can't do
    assert torch.equal(found[0, 0], positions[0, 0]), "the class token has no place in the image"
    torch.testing.assert_close(found[0, 1:], expected, atol=1e-5, rtol=0)


def test_images_that_are_not_square():
    model = ours(img_size=(16, 64))  # 2 x 8 = 16 patches, as many as 4 x 4 and yet others
    (note,) = load_torchvision_weights(model, theirs(img_size=32).state_dict())
    assert "(2 x 8)" in note
    assert torch.equal(model.position_embedding, resize_positions(theirs().encoder.pos_embedding, (2, 8)))


def test_positions_that_fit_are_returned_as_they_are():
    square, strip = torch.randn(1, 17, 4), torch.randn(1, 19, 4)
    assert resize_positions(square, (4, 4)) is square
    assert resize_positions(strip, (3, 6)) is strip


def test_stretched_half_precision_stays_half_precision():
    positions = torch.randn(1, 17, 4)
    stretched = resize_positions(positions.half(), (5, 5))
    assert stretched.dtype == torch.float16
    torch.testing.assert_close(stretched.float(), resize_positions(positions, (5, 5)), atol=1e-2, rtol=0)

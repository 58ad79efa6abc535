"""Our ViT against torchvision's: the same answers and gradients, the same counts, the same kind of fresh start.

A fresh ViT answers 0.0 to every image, ours and theirs. So every parameter is given noise before anything is compared.
"""

import pytest
import torch
import torch.nn.functional as F
import torchvision
from references import NO_DROPOUT, fill_with_noise, random_images
from torch import nn

from going_modular.going_modular.vit import VARIANTS, ViT

# What torchvision calls a part, and what the course and we call it. Replaced from top to bottom.
RENAMED = {
    "class_token": "class_embedding",
    "conv_proj.": "patch_embedding.patcher.",
    "encoder.pos_embedding": "position_embedding",
    "encoder.layers.encoder_layer_": "transformer_encoder.",
    ".ln_1.": ".msa_block.layer_norm.",
    ".self_attention.": ".msa_block.multihead_attn.",
    ".ln_2.": ".mlp_block.layer_norm.",
    ".mlp.": ".mlp_block.mlp.",
    "encoder.ln.": "classifier.0.",
    "heads.head.": "classifier.1.",
}
# img_size, patch_size, layers, heads, hidden size, MLP size, classes
SHAPES = [
    (32, 8, 2, 4, 32, 64, 10),
    (48, 16, 3, 3, 24, 100, 7),  # P^2 C = 768 and D = 24 are two numbers
    (28, 14, 4, 2, 64, 48, 3),  # an MLP narrower than D
    (16, 16, 1, 1, 20, 80, 30),  # one patch, one head, one block
    (64, 4, 2, 8, 16, 64, 5),  # 256 patches
]
PAPER_NAMES = {
    "ViT-B/16": "vit_b_16",
    "ViT-B/32": "vit_b_32",
    "ViT-L/16": "vit_l_16",
    "ViT-L/32": "vit_l_32",
    "ViT-H/14": "vit_h_14",
}


def our_name(name: str) -> str:
    for theirs, ours in RENAMED.items():
        name = name.replace(theirs, ours)
    return name


def renamed(named_tensors) -> dict[str, torch.Tensor]:
    return {our_name(name): tensor for name, tensor in named_tensors}


def equal_pair(theirs: nn.Module, ours: ViT) -> tuple[nn.Module, ViT]:
    """Both models with the same noise in every parameter."""
    fill_with_noise(theirs)
    ours.load_state_dict(renamed(theirs.state_dict().items()), strict=True)
    return theirs, ours


def logits_and_gradients(model: nn.Module, images: torch.Tensor):
    """One forward and backward pass with the loss of classification."""
    model.zero_grad()
    logits = model(images)
    targets = torch.arange(len(images)) % logits.shape[1]
    F.cross_entropy(logits, targets).backward()
    return logits.detach(), {name: parameter.grad for name, parameter in model.named_parameters()}


def assert_same_answers_and_gradients(theirs: nn.Module, ours: ViT, images: torch.Tensor) -> None:
    expected, their_gradients = logits_and_gradients(theirs, images)
    logits, gradients = logits_and_gradients(ours, images)
    assert expected.std() > 0.5 and logits.std() > 0.5, "logits this close to zero would agree by chance"
    assert (logits - expected).abs().max() <= 1e-5
    their_gradients = renamed(their_gradients.items())
    assert gradients.keys() == their_gradients.keys()
    for name, expected_gradient in their_gradients.items():
        largest = expected_gradient.abs().max()
        assert largest > 0 and gradients[name].any(), f"no gradient reaches {name}"
        difference = (gradients[name] - expected_gradient).abs().max()
        assert difference <= 1e-4, name
        assert difference <= 1e-4 * largest, f"{name}: gradients are small, and differ by more than rounding"


@pytest.fixture(scope="module")
def base_pair():
    """torchvision's vit_b_16 and our default ViT, with the same noise."""
    return equal_pair(torchvision.models.vit_b_16(), ViT(**NO_DROPOUT))


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
def test_default_vit_is_torchvisions_vit_b_16(base_pair, training):
    theirs, ours = (model.train(training) for model in base_pair)
    assert_same_answers_and_gradients(theirs, ours, random_images(2, 3, 224, 224))


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize(("img_size", "patch_size", "layers", "heads", "dim", "mlp_size", "classes"), SHAPES)
def test_vit_is_torchvisions_at_other_sizes(img_size, patch_size, layers, heads, dim, mlp_size, classes, training):
    theirs = torchvision.models.VisionTransformer(
        img_size, patch_size, layers, heads, dim, mlp_size, num_classes=classes
    )
    ours = ViT(img_size, 3, patch_size, layers, dim, mlp_size, heads, 0, 0, 0, classes)
    equal_pair(theirs, ours)
    images = random_images(8, 3, img_size, img_size)
    assert_same_answers_and_gradients(theirs.train(training), ours.train(training), images)


def count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def test_the_default_vit_has_86_567_656_parameters():
    with torch.device("meta"):
        assert count(ViT()) == 86_567_656


@pytest.mark.parametrize("name", PAPER_NAMES)
def test_variants_of_the_paper_are_torchvisions_parameter_for_parameter(name):
    with torch.device("meta"):
        ours = ViT.from_variant(name)
        theirs = torchvision.models.get_model(PAPER_NAMES[name])
    assert count(ours) == count(theirs)
    shapes = {key: value.shape for key, value in ours.state_dict().items()}
    assert shapes == {key: value.shape for key, value in renamed(theirs.state_dict().items()).items()}


@pytest.mark.parametrize(("name", "millions"), [("ViT-Ti/16", 5.7), ("ViT-S/16", 22.0)])
def test_the_later_variants_are_as_large_as_their_papers_say(name, millions):
    with torch.device("meta"):
        assert count(ViT.from_variant(name)) / 1e6 == pytest.approx(millions, abs=0.06)


def test_every_variant_of_the_paper_is_compared():
    assert set(VARIANTS) == {*PAPER_NAMES, "ViT-Ti/16", "ViT-S/16"}


@pytest.fixture(scope="module", params=["ours", "torchvision's"])
def fresh(request):
    """A fresh model's parameters by our names: what is asserted of ours is asserted of torchvision's too."""
    torch.manual_seed(0)
    if request.param == "ours":
        model = ViT(64, 3, 16, 2, 192, 768, 3, num_classes=10)
    else:
        model = torchvision.models.VisionTransformer(64, 16, 2, 3, 192, 768, num_classes=10)
    return renamed((name, parameter.detach()) for name, parameter in model.named_parameters())


@pytest.mark.parametrize(
    "ending",
    [
        "class_embedding",
        "patcher.bias",
        "in_proj_bias",
        "out_proj.bias",
        "layer_norm.bias",
        "classifier.0.bias",
        "classifier.1.weight",
        "classifier.1.bias",
    ],
)
def test_starts_at_zero(fresh, ending):
    found = [value for name, value in fresh.items() if name.endswith(ending)]
    assert found and not any(value.any() for value in found)


def test_layer_norms_start_at_one(fresh):
    found = [value for name, value in fresh.items() if name.endswith(("layer_norm.weight", "classifier.0.weight"))]
    assert len(found) == 2 * 2 + 1 and all((value == 1).all() for value in found)


def test_positions_start_with_a_standard_deviation_of_0_02(fresh):
    positions = fresh["position_embedding"]
    assert positions.std().item() == pytest.approx(0.02, rel=0.05)
    assert positions.mean().abs() < 0.002


def test_patch_kernels_start_with_the_inverse_root_of_fan_in(fresh):
    kernels = fresh["patch_embedding.patcher.weight"]
    assert kernels.std().item() == pytest.approx((16 * 16 * 3) ** -0.5, rel=0.02)
    assert kernels.abs().max() > 3 * kernels.std(), "a normal distribution has tails, a uniform one has none"


@pytest.mark.parametrize(
    ("ending", "bound"),
    [
        ("in_proj_weight", (6 / (192 + 3 * 192)) ** 0.5),  # Xavier uniform over the three matrices as one
        ("out_proj.weight", 192**-0.5),  # as nn.Linear starts
        ("mlp.0.weight", (6 / (192 + 768)) ** 0.5),  # Xavier uniform
        ("mlp.3.weight", (6 / (192 + 768)) ** 0.5),
    ],
)
def test_weights_start_uniform_within_their_bound(fresh, ending, bound):
    for weight in (value for name, value in fresh.items() if name.endswith(ending)):
        assert 0.99 * bound < weight.abs().max() <= bound * (1 + 1e-6)
        assert weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.02)


def test_mlp_biases_start_within_a_millionth(fresh):
    biases = torch.cat([value for name, value in fresh.items() if name.endswith(("mlp.0.bias", "mlp.3.bias"))])
    assert biases.std().item() == pytest.approx(1e-6, rel=0.1)


def test_a_fresh_model_answers_zero():
    torch.manual_seed(0)
    model = ViT(32, 3, 16, 2, 24, 48, 3, num_classes=10)
    for mode in (True, False):
        assert torch.equal(model.train(mode)(random_images(3, 3, 32, 32)), torch.zeros(3, 10))


def test_one_seed_gives_one_model():
    def seeded(seed: int) -> dict[str, torch.Tensor]:
        torch.manual_seed(seed)
        return ViT(32, 3, 16, 2, 24, 48, 3, num_classes=10).state_dict()

    first, second, other = seeded(7), seeded(7), seeded(8)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["position_embedding"], other["position_embedding"])

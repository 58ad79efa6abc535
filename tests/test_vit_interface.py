"""What other code relies on: names, arguments, parameter names, course checkpoints, errors, copies and exports."""

import copy
import inspect
import json
import pickle
import warnings

import pytest
import torch
from references import NO_DROPOUT, SMALL, fill_with_noise, random_images
from torch import nn

from going_modular.going_modular import vit as vit_module
from going_modular.going_modular.vit import VARIANTS, PatchEmbedding, ViT

IMAGES = random_images(3, 3, 16, 24)
ARGUMENTS = {
    "PatchEmbedding": {"in_channels": 3, "patch_size": 16, "embedding_dim": 768},
    "MultiheadSelfAttentionBlock": {"embedding_dim": 768, "num_heads": 12, "attn_dropout": 0, "proj_dropout": 0},
    "MLPBlock": {"embedding_dim": 768, "mlp_size": 3072, "dropout": 0.1},
    "TransformerEncoderBlock": {
        "embedding_dim": 768,
        "num_heads": 12,
        "mlp_size": 3072,
        "mlp_dropout": 0.1,
        "attn_dropout": 0,
    },
    "ViT": {
        "img_size": 224,
        "in_channels": 3,
        "patch_size": 16,
        "num_transformer_layers": 12,
        "embedding_dim": 768,
        "mlp_size": 3072,
        "num_heads": 12,
        "attn_dropout": 0,
        "mlp_dropout": 0.1,
        "embedding_dropout": 0.1,
        "num_classes": 1000,
    },
    "ViT.from_variant": {"name": inspect.Parameter.empty, "num_classes": 1000, "img_size": 224, "dropout": 0.1},
}
TABLE_1 = {  # patch size, layers, hidden size, MLP size, heads; Ti and S come from later work
    "ViT-Ti/16": (16, 12, 192, 768, 3),
    "ViT-S/16": (16, 12, 384, 1536, 6),
    "ViT-B/16": (16, 12, 768, 3072, 12),
    "ViT-B/32": (32, 12, 768, 3072, 12),
    "ViT-L/16": (16, 24, 1024, 4096, 16),
    "ViT-L/32": (32, 24, 1024, 4096, 16),
    "ViT-H/14": (14, 32, 1280, 5120, 16),
}


def noisy_vit(**changes) -> ViT:
    return fill_with_noise(ViT(**(SMALL | NO_DROPOUT | changes)))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_keep_their_names_order_and_defaults(name):
    target = vit_module
    for part in name.split("."):
        target = getattr(target, part)
    parameters = list(inspect.signature(target).parameters.values())
    expected = list(ARGUMENTS[name].items())
    assert [(parameter.name, parameter.default) for parameter in parameters[: len(expected)]] == expected
    added = parameters[len(expected) :]
    assert all(parameter.default is not inspect.Parameter.empty for parameter in added)


def test_variants_are_table_1():
    columns = ("patch_size", "num_transformer_layers", "embedding_dim", "mlp_size", "num_heads")
    assert VARIANTS == {name: dict(zip(columns, row, strict=True)) for name, row in TABLE_1.items()}


def test_from_variant_passes_everything_on():
    with torch.device("meta"):
        vit = ViT.from_variant("ViT-H/14", num_classes=3, img_size=(28, 42), dropout=0.25)
    given = {"num_classes": 3, "img_size": (28, 42), "mlp_dropout": 0.25, "embedding_dropout": 0.25}
    assert vit.config == ARGUMENTS["ViT"] | VARIANTS["ViT-H/14"] | given


def test_from_variant_names_the_variants_when_it_knows_none():
    with pytest.raises(ValueError) as error:
        ViT.from_variant("vit_b_16")
    assert all(name in str(error.value) for name in ["'vit_b_16'", *VARIANTS])


def test_config_holds_every_argument_and_rebuilds_an_equal_model():
    arguments = SMALL | {"in_channels": 2, "attn_dropout": 0.1, "mlp_dropout": 0.2, "embedding_dropout": 0.3}
    assert all(arguments[name] != default for name, default in ARGUMENTS["ViT"].items())
    vit = fill_with_noise(ViT(**arguments)).eval()
    assert vit.config == arguments
    for config in (vit.config, json.loads(json.dumps(vit.config))):
        again = ViT(**config).eval()
        assert str(again) == str(vit), "dropout and eps included"
        assert again.config == vit.config
        again.load_state_dict(vit.state_dict())
        images = random_images(2, 2, 16, 24)
        assert torch.equal(again(images), vit(images))


def test_any_batch_size_runs_on_one_model():
    vit = noisy_vit().eval()
    images = random_images(32, 3, 16, 24)
    expected = vit(images)
    assert expected.shape == (32, 5)
    for batch in (1, 7, 32):
        logits = vit(images[:batch])
        assert logits.shape == (batch, 5)
        assert (logits - expected[:batch]).abs().max() <= 1e-5, "an image's answer depends on its neighbours"


def test_one_class_token_and_one_row_a_position_for_all_images():
    parameters = dict(noisy_vit().named_parameters())
    assert parameters["class_embedding"].shape == (1, 1, 20)
    assert parameters["position_embedding"].shape == (1, 1 + 2 * 3, 20)


def test_gradients_reach_every_parameter_and_every_position():
    vit = noisy_vit().train()
    vit(IMAGES).square().mean().backward()
    without = [name for name, parameter in vit.named_parameters() if parameter.grad is None or not parameter.grad.any()]
    assert not without
    assert vit.position_embedding.grad.any(dim=-1).all()


class CourseBlock(nn.Module):
    """An encoder block with the attribute names of the course's lesson, written apart from vit.py."""

    def __init__(self, dim: int, heads: int, mlp_size: int):
        super().__init__()
        self.msa_block = nn.Module()
        self.msa_block.layer_norm = nn.LayerNorm(dim, eps=1e-6)
        self.msa_block.multihead_attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp_block = nn.Module()
        self.mlp_block.layer_norm = nn.LayerNorm(dim, eps=1e-6)
        self.mlp_block.mlp = nn.Sequential(
            nn.Linear(dim, mlp_size), nn.GELU(), nn.Dropout(0.1), nn.Linear(mlp_size, dim), nn.Dropout(0.1)
        )

    def forward(self, x):
        q = self.msa_block.layer_norm(x)
        x = self.msa_block.multihead_attn(q, q, q, need_weights=False)[0] + x
        return self.mlp_block.mlp(self.mlp_block.layer_norm(x)) + x


class CourseViT(nn.Module):
    """A ViT with the parameter names of the course's lesson."""

    def __init__(self, patches: int, channels: int, patch_size: int, layers: int, dim: int, mlp_size: int, heads: int):
        super().__init__()
        self.class_embedding = nn.Parameter(torch.randn(1, 1, dim))
        self.position_embedding = nn.Parameter(torch.randn(1, patches + 1, dim))
        self.patch_embedding = nn.Module()
        self.patch_embedding.patcher = nn.Conv2d(channels, dim, patch_size, stride=patch_size)
        self.transformer_encoder = nn.Sequential(*[CourseBlock(dim, heads, mlp_size) for _ in range(layers)])
        self.classifier = nn.Sequential(nn.LayerNorm(dim, eps=1e-6), nn.Linear(dim, 5))

    def forward(self, x):
        patches = self.patch_embedding.patcher(x).flatten(2).permute(0, 2, 1)
        x = torch.cat((self.class_embedding.repeat(len(x), 1, 1), patches), dim=1) + self.position_embedding
        return self.classifier(self.transformer_encoder(x)[:, 0])


def test_a_checkpoint_of_the_course_loads_and_answers_the_same():
    theirs = fill_with_noise(CourseViT(6, 3, 8, layers=2, dim=20, mlp_size=28, heads=4)).eval()
    ours = ViT(**SMALL).eval()
    ours.load_state_dict(theirs.state_dict(), strict=True)
    expected = theirs(IMAGES)
    assert expected.std() > 0.5
    assert (ours(IMAGES) - expected).abs().max() <= 1e-5


def test_parameter_names_are_the_courses():
    block = [f"msa_block.multihead_attn.{name}" for name in ("in_proj_weight", "in_proj_bias")]
    block += [
        f"{layer}.{kind}"
        for layer in ("msa_block.layer_norm", "msa_block.multihead_attn.out_proj")
        + ("mlp_block.layer_norm", "mlp_block.mlp.0", "mlp_block.mlp.3")
        for kind in ("weight", "bias")
    ]
    expected = {"class_embedding", "position_embedding"}
    expected |= {
        f"{layer}.{kind}" for layer in ("patch_embedding.patcher", "classifier.0") for kind in ("weight", "bias")
    }
    expected |= {"classifier.1.weight", "classifier.1.bias"}
    expected |= {f"transformer_encoder.{layer}.{name}" for layer in (0, 1) for name in block}
    vit = ViT(**SMALL)
    assert set(vit.state_dict()) == expected
    assert {name for name, _ in vit.named_parameters()} == expected, "each of them learns"


@pytest.mark.parametrize(
    ("build", "numbers"),
    [
        (lambda: ViT(img_size=225), ("225", "16")),
        (lambda: ViT(img_size=(220, 224)), ("220", "224", "16")),
        (lambda: ViT(img_size=(224, 220)), ("220", "224", "16")),
        (lambda: ViT(img_size=8), ("8 x 8", "16")),
        (lambda: PatchEmbedding()(torch.zeros(1, 3, 220, 224)), ("220 x 224", "16")),
        (lambda: PatchEmbedding()(torch.zeros(1, 3, 224, 220)), ("224 x 220", "16")),
        (lambda: PatchEmbedding()(torch.zeros(3, 224, 224)), ("(3, 224, 224)", "(B, C, H, W)")),
        (lambda: vit_module.MultiheadSelfAttentionBlock(192, 5), ("192", "5 heads")),
        (lambda: vit_module.TransformerEncoderBlock(192, num_heads=7), ("192", "7 heads")),
        (lambda: ViT(embedding_dim=192, num_heads=9), ("192", "9 heads")),
        (lambda: noisy_vit()(torch.zeros(1, 3, 24, 16)), ("(3, 16, 24)", "(1, 3, 24, 16)")),
        (lambda: noisy_vit()(torch.zeros(1, 3, 32, 24)), ("(3, 16, 24)", "(1, 3, 32, 24)")),
        (lambda: noisy_vit()(torch.zeros(3, 16, 24)), ("(3, 16, 24)", "(B, C, H, W)")),
    ],
)
def test_errors_name_the_numbers(build, numbers):
    with pytest.raises(ValueError) as error:
        build()
    assert all(number in str(error.value) for number in numbers), str(error.value)


@pytest.mark.parametrize("make_copy", [copy.deepcopy, lambda vit: pickle.loads(pickle.dumps(vit))])
def test_copies_answer_the_same_and_stand_alone(make_copy):
    vit = noisy_vit().eval()
    expected = vit(IMAGES)
    again = make_copy(vit)
    assert torch.equal(again(IMAGES), expected)
    assert again.config == vit.config
    fill_with_noise(again, seed=1)
    assert not torch.equal(again(IMAGES), expected) and torch.equal(vit(IMAGES), expected)


def test_export_answers_the_same_for_every_batch_size():
    vit = noisy_vit().eval()
    exported = torch.export.export(vit, (IMAGES,), dynamic_shapes=({0: torch.export.Dim("batch")},)).module()
    for batch in (2, 8):
        images = random_images(batch, 3, 16, 24, seed=batch)
        assert (exported(images) - vit(images)).abs().max() <= 1e-5


def test_building_training_and_answering_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vit = fill_with_noise(ViT(**SMALL))
        vit(IMAGES).sum().backward()
        with torch.inference_mode():
            vit.eval()(IMAGES, return_attention=True)

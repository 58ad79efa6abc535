"""The course's names: whoever follows its lesson 08 finds the same words, arguments and defaults here."""

import inspect
import typing
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch
from conftest import CLASSES
from torch.utils.data import DataLoader

import helper_functions
from going_modular.going_modular import data_setup, engine, predictions, utils, vit

REQUIRED = inspect.Parameter.empty
ANY = object()  # a default that the course leaves to the machine
VIT = {
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
}


def required(names: str) -> dict:
    return dict.fromkeys(names.split(), REQUIRED)


COURSE = {  # the arguments, in the course's order, with the course's defaults
    vit.PatchEmbedding: {"in_channels": 3, "patch_size": 16, "embedding_dim": 768},
    vit.MultiheadSelfAttentionBlock: {"embedding_dim": 768, "num_heads": 12, "attn_dropout": 0},
    vit.MLPBlock: {"embedding_dim": 768, "mlp_size": 3072, "dropout": 0.1},
    vit.TransformerEncoderBlock: {
        "embedding_dim": 768,
        "num_heads": 12,
        "mlp_size": 3072,
        "mlp_dropout": 0.1,
        "attn_dropout": 0,
    },
    vit.ViT: VIT,
    data_setup.create_dataloaders: {**required("train_dir test_dir transform batch_size"), "num_workers": ANY},
    engine.train_step: required("model dataloader loss_fn optimizer device"),
    engine.test_step: required("model dataloader loss_fn device"),
    engine.train: required("model train_dataloader test_dataloader optimizer loss_fn epochs device"),
    utils.save_model: required("model target_dir model_name"),
    predictions.pred_and_plot_image: {
        **required("model class_names image_path"),
        "image_size": (224, 224),
        "transform": None,
        "device": ANY,
    },
    helper_functions.set_seeds: {"seed": 42},
    helper_functions.download_data: {**required("source destination"), "remove_source": True},
    helper_functions.plot_loss_curves: required("results"),
}
RETURNS = {
    data_setup.create_dataloaders: tuple[DataLoader, DataLoader, list[str]],
    engine.train_step: tuple[float, float],
    engine.test_step: tuple[float, float],
    engine.train: dict[str, list[float]],
    utils.save_model: type(None),
    predictions.pred_and_plot_image: type(None),
    helper_functions.set_seeds: type(None),
    helper_functions.download_data: Path,
    helper_functions.plot_loss_curves: type(None),
}


@pytest.mark.parametrize("name", COURSE, ids=lambda name: name.__qualname__)
def test_arguments_order_and_defaults(name):
    course, ours = COURSE[name], inspect.signature(name).parameters
    assert list(ours)[: len(course)] == list(course)
    for argument, default in course.items():
        assert ours[argument].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        if default is ANY:
            assert ours[argument].default is not REQUIRED
        else:
            assert ours[argument].default == default
    for argument in list(ours)[len(course) :]:
        assert ours[argument].default is not REQUIRED, f"{argument} is new and has no default"


@pytest.mark.parametrize("name", RETURNS, ids=lambda name: name.__qualname__)
def test_return_types(name):
    assert typing.get_type_hints(name)["return"] == RETURNS[name]


def test_parameter_names_are_the_courses():
    names = {name: tuple(tensor.shape) for name, tensor in vit.ViT(num_transformer_layers=2).state_dict().items()}
    attention = ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")
    expected = {
        "class_embedding",
        "position_embedding",
        "patch_embedding.patcher.weight",
        "patch_embedding.patcher.bias",
    }
    for block in ("transformer_encoder.0", "transformer_encoder.1"):
        expected |= {f"{block}.msa_block.multihead_attn.{name}" for name in attention}
        for layer in ("msa_block.layer_norm", "mlp_block.layer_norm", "mlp_block.mlp.0", "mlp_block.mlp.3"):
            expected |= {f"{block}.{layer}.weight", f"{block}.{layer}.bias"}
    expected |= {f"classifier.{number}.{name}" for number in (0, 1) for name in ("weight", "bias")}
    assert set(names) == expected
    assert names["class_embedding"] == (1, 1, 768) and names["position_embedding"] == (1, 197, 768)


LESSON = """
import torch
from torch import nn
from torchvision import transforms
from going_modular.going_modular import data_setup, engine, utils
from going_modular.going_modular.predictions import pred_and_plot_image
from going_modular.going_modular.vit import ViT
from helper_functions import plot_loss_curves, set_seeds

device = "cpu"
manual_transforms = transforms.Compose([transforms.Resize((32, 32)), transforms.ToTensor()])
train_dataloader, test_dataloader, class_names = data_setup.create_dataloaders(
    train_dir, test_dir, manual_transforms, 4
)
image_batch, label_batch = next(iter(train_dataloader))
image, label = image_batch[0], label_batch[0]

set_seeds()
vit = ViT(img_size=32, num_transformer_layers=2, embedding_dim=48, mlp_size=96, num_heads=4,
          num_classes=len(class_names))
optimizer = torch.optim.Adam(params=vit.parameters(), lr=3e-3, betas=(0.9, 0.999), weight_decay=0.3)
loss_fn = nn.CrossEntropyLoss()
set_seeds()
results = engine.train(model=vit, train_dataloader=train_dataloader, test_dataloader=test_dataloader,
                       optimizer=optimizer, loss_fn=loss_fn, epochs=2, device=device)
plot_loss_curves(results)
utils.save_model(model=vit, target_dir=target_dir, model_name="08_vit.pth")
pred_and_plot_image(model=vit, image_path=image_path, class_names=class_names, image_size=(32, 32))
"""


def test_a_lesson_in_the_courses_style_runs(tiny_food, tmp_path, capsys):
    names = {
        "train_dir": tiny_food / "train",
        "test_dir": tiny_food / "test",
        "target_dir": str(tmp_path / "models"),
        "image_path": str(tiny_food / "test" / "sushi" / "0.png"),
    }
    exec(LESSON, names)
    assert names["class_names"] == CLASSES
    assert names["image"].shape == (3, 32, 32) and names["label"].ndim == 0
    assert {key: len(values) for key, values in names["results"].items()} == dict.fromkeys(
        ("train_loss", "train_acc", "test_loss", "test_acc"), 2
    )
    saved = torch.load(tmp_path / "models" / "08_vit.pth", weights_only=True)
    assert all(torch.equal(saved[name], tensor) for name, tensor in names["vit"].state_dict().items())
    assert plt.gca().get_title().startswith("Pred: ")
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" | ")[0] for line in lines[:2]] == ["Epoch: 1", "Epoch: 2"]


def test_the_whole_vit_of_the_course_loads_by_its_names(tmp_path):
    """A plain state_dict, as the course saves it, is all that is needed besides the number of heads."""
    model = vit.ViT(num_transformer_layers=1, num_classes=3)
    torch.save(obj=model.state_dict(), f=tmp_path / "course.pth")
    loaded, _ = utils.load_model(tmp_path / "course.pth", num_heads=12)
    assert loaded.config == {**VIT, "img_size": (224, 224), "num_transformer_layers": 1, "num_classes": 3}

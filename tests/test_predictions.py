"""predictions: one image from anywhere, prepared as in training; the picture of the answer; whole data sets."""

import io
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from conftest import CLASSES, tiny_vit
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from going_modular.going_modular import data_setup, predictions, utils
from going_modular.going_modular.data_setup import UnreadableImageError, create_transform
from helper_functions import DownloadError

TRANSFORM = create_transform(32)


@pytest.fixture
def photo(tiny_food):
    return tiny_food / "test" / "steak" / "0.png"


class Fixed(nn.Module):
    """Gives every image the same logits, and keeps what it saw."""

    def __init__(self, *logits: float):
        super().__init__()
        self.register_buffer("logits", torch.tensor(logits))

    def forward(self, images):
        self.images = images
        return self.logits.expand(len(images), -1)


def prepared(model: nn.Module) -> torch.Tensor:
    """What the one image looked like when it reached the model: (C, H, W)."""
    (image,) = model.images
    return image


# Where the image comes from


def test_path_pil_and_url_give_the_same(photo, server):
    server.pages["/a/steak.png"] = (200, {"Content-Type": "image/png"}, photo.read_bytes())
    model = tiny_vit()
    with Image.open(photo) as image:
        answers = [
            predictions.predict_image(model, source, TRANSFORM)
            for source in (photo, str(photo), image, f"{server.url}/a/steak.png")
        ]
    assert all(torch.equal(answers[0], answer) for answer in answers[1:])
    expected = model.eval()(TRANSFORM(data_setup.load_image(photo))[None]).softmax(dim=1)[0]
    torch.testing.assert_close(answers[0], expected.detach())
    assert answers[0].shape == (3,) and answers[0].device.type == "cpu"


def test_an_url_without_an_image_is_an_error(server):
    server.pages["/page"] = (200, {"Content-Type": "text/html"}, b"<!doctype html><p>Not here</p>")
    with pytest.raises(DownloadError, match=f"{server.url}/none.png answered HTTP 404"):
        predictions.predict_image(Fixed(0.0, 1.0), f"{server.url}/none.png", TRANSFORM)
    with pytest.raises(UnreadableImageError, match=f"^{server.url}/page: this is no image but a web page"):
        predictions.pred_and_plot_image(Fixed(0.0, 1.0), ["a", "b"], f"{server.url}/page", transform=TRANSFORM)
    assert plt.get_fignums() == []


def test_a_path_without_an_image_is_an_error(tmp_path):
    (tmp_path / "note.jpg").write_text("no picture", encoding="utf-8")
    with pytest.raises(UnreadableImageError, match="note.jpg"):
        predictions.predict_image(Fixed(0.0, 1.0), tmp_path / "note.jpg", TRANSFORM)
    with pytest.raises(FileNotFoundError, match="none.jpg"):
        predictions.predict_image(Fixed(0.0, 1.0), tmp_path / "none.jpg", TRANSFORM)


# How it is prepared


def test_an_image_is_prepared_as_by_the_test_loader(tiny_food, tmp_path):
    settings = {"img_size": (32, 48)}
    _, test_dataloader, class_names = data_setup.create_dataloaders(
        tiny_food / "train", tiny_food / "test", create_transform(**settings), batch_size=6
    )
    utils.save_checkpoint(tiny_vit(img_size=(32, 48)), tmp_path / "vit.pth", class_names, settings)
    model, info = utils.load_model(tmp_path / "vit.pth")
    seen = []
    model.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    for path, _ in test_dataloader.dataset.samples:
        predictions.pred_and_plot_image(model, info["class_names"], path)
    (images, _), *_ = test_dataloader
    assert torch.equal(torch.cat(seen), images)


def test_the_transform_is_the_given_one_else_the_models_else_create_transform(photo):
    image = data_setup.load_image(photo)
    model = Fixed(0.0, 1.0)
    predictions.predict_image(model, photo)
    assert torch.equal(prepared(model), create_transform(224)(image))
    predictions.predict_image(model, photo, image_size=(20, 30))
    assert torch.equal(prepared(model), create_transform((20, 30))(image))
    model.transform = create_transform(16)
    predictions.predict_image(model, photo)
    assert torch.equal(prepared(model), create_transform(16)(image))
    predictions.predict_image(model, photo, transform=TRANSFORM)
    assert torch.equal(prepared(model), TRANSFORM(image))


# The model


@pytest.mark.parametrize("training", [True, False])
def test_every_layer_keeps_its_mode(photo, training):
    model = nn.Sequential(nn.BatchNorm2d(3), nn.Dropout(0.5), nn.Flatten(), nn.Linear(3 * 32 * 32, 3)).train(training)
    model[0].eval()  # frozen, as in transfer learning
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    inside = []
    model[1].register_forward_hook(lambda layer, *_: inside.append((layer.training, torch.is_inference_mode_enabled())))
    batches = DataLoader(TensorDataset(torch.randn(2, 3, 32, 32), torch.tensor([0, 1])), 2)
    for call in (
        lambda: predictions.predict_image(model, photo, TRANSFORM),
        lambda: predictions.pred_and_plot_image(model, CLASSES, photo, transform=TRANSFORM),
        lambda: predictions.predict_all(model, batches),
    ):
        call()
        assert inside.pop() == (False, True)
        assert [layer.training for layer in model] == [False, training, training, training]
        assert model.training is training
    with pytest.raises(RuntimeError):
        predictions.predict_image(model, photo, create_transform(16))
    assert model.training is training, "the mode after an error"
    assert all(torch.equal(state[name], tensor) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("device", [None, "cpu", torch.device("cpu")])
def test_any_way_to_name_the_device(photo, device, monkeypatch):
    monkeypatch.setenv("FOODVISION_DEVICE", "cpu")
    predictions.pred_and_plot_image(Fixed(0.0, 2.0, 1.0), CLASSES, photo, device=device)
    assert plt.gca().get_title().startswith("Pred: steak")


def test_a_device_is_looked_for_where_none_is_given(photo, monkeypatch):
    monkeypatch.setenv("FOODVISION_DEVICE", "toaster")
    with pytest.raises(ValueError, match="toaster"):
        predictions.pred_and_plot_image(Fixed(0.0, 1.0), ["a", "b"], photo)


@pytest.mark.parametrize("shape", [(1, 3, 4), (3,), (2, 3)])
def test_logits_of_a_wrong_shape_are_named(photo, shape):
    model = Fixed(0.0)
    model.register_forward_hook(lambda *_: torch.zeros(shape))
    with pytest.raises(ValueError, match=r"\(1, number of classes\) was expected") as caught:
        predictions.predict_image(model, photo, TRANSFORM)
    assert str(shape) in str(caught.value)


# The picture


@pytest.mark.parametrize("best", [0, 1, 2])
def test_the_title_tells_label_and_probability(photo, best):
    logits = [0.0, 0.0, 0.0]
    logits[best] = 1.0
    predictions.pred_and_plot_image(Fixed(*logits), CLASSES, photo, transform=TRANSFORM)
    probability = np.e / (np.e + 2)
    assert plt.gca().get_title() == f"Pred: {CLASSES[best]} | Prob: {probability:.3f}"


def test_the_picture_has_the_images_own_colours_and_size(photo):
    predictions.pred_and_plot_image(Fixed(0.0, 1.0, 0.0), CLASSES, photo, transform=TRANSFORM)
    (drawn,) = plt.gca().get_images()
    assert np.array_equal(drawn.get_array(), np.asarray(data_setup.load_image(photo)))
    assert not plt.gca().axison


@pytest.mark.parametrize("names", [["pizza", "steak"], [*CLASSES, "tacos"], []])
def test_another_number_of_class_names_is_an_error(photo, names):
    with pytest.raises(ValueError, match=f"class_names has {len(names)} names.*3 classes"):
        predictions.pred_and_plot_image(Fixed(0.0, 1.0, 0.0), names, photo, transform=TRANSFORM)
    assert plt.get_fignums() == []


def test_many_pictures_without_a_screen(photo):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(25):
            predictions.pred_and_plot_image(Fixed(0.0, 1.0, 0.0), CLASSES, photo, transform=TRANSFORM)
        plt.gcf().savefig(io.BytesIO())
    assert len(plt.get_fignums()) == 1 and len(plt.gca().get_images()) == 1
    assert plt.get_backend().lower() == "agg"


# Whole data sets


def test_predict_all_keeps_the_order():
    pixels, labels = torch.randn(7, 3, 32, 32), torch.tensor([2, 0, 1, 1, 0, 2, 2])
    model = tiny_vit().train()
    probabilities, truth = predictions.predict_all(model, DataLoader(TensorDataset(pixels, labels), 3))
    assert torch.equal(truth, labels)
    torch.testing.assert_close(probabilities, model.eval()(pixels).softmax(dim=1).detach())
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(7))


def test_predict_all_of_nothing_is_an_error():
    empty = DataLoader(TensorDataset(torch.zeros(9, 3, 32, 32), torch.zeros(9)), 32, drop_last=True)
    with pytest.raises(ValueError, match="9 images.*batch_size 32"):
        predictions.predict_all(tiny_vit(), empty)


@pytest.mark.parametrize("number", [0, 1, 50])
def test_confusion_matrix_counts(number):
    generator = torch.Generator().manual_seed(number)
    labels, answers = (torch.randint(4, (number,), generator=generator) for _ in range(2))
    expected = torch.zeros(4, 4, dtype=torch.long)
    for label, answer in zip(labels, answers, strict=True):
        expected[label, answer] += 1
    assert torch.equal(predictions.confusion_matrix(labels, answers, 4), expected)


def test_confusion_matrix_refuses_classes_that_are_none():
    with pytest.raises(RuntimeError, match="num_classes"):
        predictions.confusion_matrix(torch.tensor([0, 1]), torch.tensor([0, 3]), 3)


def test_accuracy_interval_solves_wilsons_equation():
    for images in (1, 2, 10, 75):
        for correct in range(images + 1):
            share = correct / images
            low, high = predictions.accuracy_interval(correct, images)
            assert 0 <= low < high <= 1 and low - 1e-12 <= share <= high + 1e-12
            for end in (low, high):  # the shares from which the one measured is just 1.96 standard errors away
                assert (share - end) ** 2 == pytest.approx(1.96**2 * end * (1 - end) / images, abs=1e-9)


def test_accuracy_interval_is_symmetric_and_narrows():
    widths = []
    for images in (10, 40, 160, 640):
        low, high = predictions.accuracy_interval(images * 3 // 5, images)
        assert predictions.accuracy_interval(images * 2 // 5, images) == pytest.approx((1 - high, 1 - low))
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True) and widths[-1] < widths[0] / 4


@pytest.mark.parametrize(("correct", "images"), [(-1, 10), (11, 10), (0, 0)])
def test_accuracy_interval_refuses_what_is_no_accuracy(correct, images):
    with pytest.raises(ValueError, match=f"{correct} right of {images} images"):
        predictions.accuracy_interval(correct, images)

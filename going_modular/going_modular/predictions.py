"""What a model answers: to one image, with the picture of it, and to a whole data set."""

import io
from collections.abc import Callable, Iterable
from pathlib import Path

import matplotlib.pyplot as plt
import requests
import torch
from PIL import Image
from torch import nn

from going_modular.going_modular.data_setup import create_transform, load_image
from going_modular.going_modular.utils import get_device

TIMEOUT = (5, 20)  # seconds to connect, and between two pieces of the answer


def predict_image(
    model: nn.Module,
    image: str | Path | Image.Image,
    transform: Callable | None = None,
    image_size: tuple[int, int] = (224, 224),
    device: torch.device | str | None = None,
) -> torch.Tensor:
    """The probability of each class, (K,), on the CPU.

    image is a path, a URL or a PIL image. It is prepared as the model's images were in training: by `transform`, else
    by the transform the model came with (model.transform, set by utils.load_model), else by
    data_setup.create_transform(image_size). The model keeps its mode, training or eval.

    Raises UnreadableImageError, a ValueError, for what is no image; ConnectionError where a URL gives none; ValueError
    where the model does not answer with (1, K).
    """
    device = get_device() if device is None else device
    transform = transform or getattr(model, "transform", None) or create_transform(image_size)
    batch = transform(open_image(image)).unsqueeze(0).to(device)  # (1, C, H, W)
    training = model.training
    model.to(device).eval()
    try:
        with torch.inference_mode():
            logits = model(batch)
    finally:
        model.train(training)
    if logits.ndim != 2 or len(logits) != 1:
        raise ValueError(f"the model answered one image with shape {tuple(logits.shape)}: (1, classes) was expected")
    return logits.softmax(dim=1)[0].cpu()


def pred_and_plot_image(
    model: nn.Module,
    class_names: list[str],
    image_path: str | Path | Image.Image,
    image_size: tuple[int, int] = (224, 224),
    transform: Callable | None = None,
    device: torch.device | str | None = None,
) -> None:
    """Plot an image in its own colours under the class the model takes it for, and that class's probability.

    image_path is a path, a URL or a PIL image; how it is prepared, and what is raised, says predict_image. A number of
    class_names other than the model's classes is a ValueError.
    """
    image = open_image(image_path)
    probabilities = predict_image(model, image, transform, image_size, device)
    if len(class_names) != len(probabilities):
        raise ValueError(
            f"class_names has {len(class_names)} names ({', '.join(class_names)}), "
            f"the model tells {len(probabilities)} classes apart"
        )
    best = probabilities.argmax().item()
    _, axes = plt.subplots()
    axes.imshow(image)
    axes.set_title(f"Pred: {class_names[best]} | Prob: {probabilities[best]:.3f}")
    axes.axis("off")


def open_image(image: str | Path | Image.Image) -> Image.Image:
    """An upright RGB image from a path, a URL or a PIL image."""
    if isinstance(image, str) and image.startswith(("http://", "https://")):
        return load_image(fetch(image))
    return load_image(image)


def fetch(url: str) -> Image.Image:
    """The image at a URL. Raises ConnectionError with the reason, or UnreadableImageError for what is no image."""
    try:
        answer = requests.get(url, timeout=TIMEOUT)
        answer.raise_for_status()
    except requests.RequestException as error:
        raise ConnectionError(
            f"{url} gave no image: {error}. Check the address, or save the image and pass its path"
        ) from None
    return load_image(io.BytesIO(answer.content), name=url)


def predict_all(
    model: nn.Module, dataloader: Iterable, device: torch.device | str | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Every image of a dataloader answered, in its order: probabilities (M, K) and labels (M,), on the CPU."""
    device = get_device() if device is None else device
    probabilities, truth = [], []
    training = model.training
    model.to(device).eval()
    with torch.inference_mode():
        for images, labels in dataloader:
            probabilities.append(model(images.to(device)).softmax(dim=1).cpu())
            truth.append(labels)
    model.train(training)
    return torch.cat(probabilities), torch.cat(truth)


def confusion_matrix(labels: torch.Tensor, answers: torch.Tensor, num_classes: int) -> torch.Tensor:
    """How often each class (row) was answered as each class (column): (K, K) counts from labels and answers (M,)."""
    return torch.bincount(labels * num_classes + answers, minlength=num_classes**2).reshape(num_classes, num_classes)


def accuracy_interval(correct: int, images: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of an accuracy measured on `images` images (Wilson's score interval), as shares of 1.

    Raises ValueError where correct is not between 0 and images, or images is 0.
    """
    if not 0 <= correct <= images or images == 0:
        raise ValueError(
            f"{correct} right of {images} images is no accuracy: expected 0 <= correct <= images, images > 0"
        )
    share = correct / images
    centre = (share + z**2 / (2 * images)) / (1 + z**2 / images)
    half = z / (1 + z**2 / images) * (share * (1 - share) / images + z**2 / (4 * images**2)) ** 0.5
    return centre - half, centre + half

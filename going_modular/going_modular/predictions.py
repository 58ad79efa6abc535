"""What a model answers: to one image, with the picture of it, and to a whole data set."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from PIL import Image
from torch import nn

from going_modular.going_modular.data_setup import UnreadableImageError, create_transform, load_image
from going_modular.going_modular.engine import check_batches
from going_modular.going_modular.updates import check_logits
from going_modular.going_modular.utils import get_device
from helper_functions import WINDOWLESS, answer, network_errors

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

    Raises UnreadableImageError, a ValueError, for what is no image; DownloadError where a URL gives nothing; ValueError
    where the model does not answer with (1, K), or with NaN.
    """
    device = get_device() if device is None else device
    transform = transform or getattr(model, "transform", None) or create_transform(image_size)
    batch = transform(open_image(image)).unsqueeze(0).to(device)  # (1, C, H, W)
    with evaluating(model, device):
        logits = check_finite(check_logits(model(batch), 1))  # (1, K)
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
    # Where no window can show them, figures would only pile up: there the one before is drawn over.
    windowless = plt.get_backend().lower() in WINDOWLESS
    _, axes = plt.subplots(num="prediction" if windowless else None, clear=True)
    axes.imshow(image)
    axes.set_title(f"Pred: {class_names[best]} | Prob: {probabilities[best]:.3f}")
    axes.axis("off")


def open_image(image: str | Path | Image.Image) -> Image.Image:
    """An upright RGB image from a path, a URL or a PIL image."""
    if isinstance(image, str) and image.lower().startswith(("http://", "https://")):
        return load_image(fetch(image))
    return load_image(image)


def fetch(url: str) -> Image.Image:
    """The image at a URL. Raises DownloadError with the reason, or UnreadableImageError for what is no image."""
    with answer(url, TIMEOUT) as response, network_errors(url):
        content = response.content
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "image")
        path.write_bytes(content)
        try:
            return load_image(path)
        except UnreadableImageError as error:
            raise UnreadableImageError(str(error).replace(str(path), url)) from None


def predict_all(
    model: nn.Module, dataloader: Iterable, device: torch.device | str | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Every image of a dataloader answered, in its order: probabilities (M, K) and labels (M,), on the CPU.

    The model keeps its mode. Raises ValueError where there is no batch, or where the model does not answer with (B, K),
    or with NaN.
    """
    check_batches(dataloader)
    device = get_device() if device is None else device
    probabilities, truth = [], []
    with evaluating(model, device):
        for images, labels in dataloader:
            logits = check_finite(check_logits(model(images.to(device)), len(images)))  # (B, K)
            probabilities.append(logits.softmax(dim=1).cpu())
            truth.append(labels)
    return torch.cat(probabilities), torch.cat(truth)


def check_finite(logits: torch.Tensor) -> torch.Tensor:
    """The logits; ValueError where one is NaN or infinite, since NaN would count as the first class."""
    if not logits.isfinite().all():
        raise ValueError(
            "the model answered with NaN or infinity: look for them in its weights (a training that failed puts them "
            "there) and in the images"
        )
    return logits


@contextmanager
def evaluating(model: nn.Module, device: torch.device | str) -> Iterator[None]:
    """The model on `device`, in eval mode and without gradients; afterwards each layer is in the mode it had."""
    modes = {module: module.training for module in model.modules()}
    model.to(device).eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for module, training in modes.items():
            module.training = training


def confusion_matrix(labels: torch.Tensor, answers: torch.Tensor, num_classes: int) -> torch.Tensor:
    """How often each class (row) was answered as each class (column): (K, K) counts from labels and answers (M,)."""
    return F.one_hot(labels, num_classes).T @ F.one_hot(answers, num_classes)


def accuracy_interval(correct: int, images: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of an accuracy measured on `images` images (Wilson's score interval), as shares of 1.

    Raises ValueError where correct is not between 0 and images, or images is 0.
    """
    if not 0 <= correct <= images or images == 0:
        raise ValueError(
            f"{correct} right of {images} images is no accuracy: 0 <= correct <= images and images > 0 were expected"
        )
    share = correct / images
    centre = (share + z**2 / (2 * images)) / (1 + z**2 / images)
    half = z / (1 + z**2 / images) * (share * (1 - share) / images + z**2 / (4 * images**2)) ** 0.5
    return max(centre - half, 0.0), min(centre + half, 1.0)  # rounding may lead just outside

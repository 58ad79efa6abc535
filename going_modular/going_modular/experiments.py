"""One training with every setting a switch: what notebook 11 compares and `make results` runs in full.

Pictures are read and resized once and stay in memory as whole numbers; what changes from epoch to epoch (crop, flip,
colour) happens on tensors.
"""

import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torchvision.transforms import Resize

from going_modular.going_modular import augment, recipes, updates
from going_modular.going_modular.data_setup import FoodDataset
from going_modular.going_modular.drawn_food import CLASSES, draw_food, picture_seed
from going_modular.going_modular.pictures import Pictures, read_pictures, to_uint8
from going_modular.going_modular.precision import PRECISIONS, grad_scaler, in_precision
from going_modular.going_modular.progress import Progress
from going_modular.going_modular.tiny_vgg import TinyVGG
from going_modular.going_modular.vit import VARIANTS, ViT
from helper_functions import set_seeds

CHOICES = {
    "decay": tuple(recipes.SCHEDULES),
    "initialisation": ("ours", "pytorch"),
    "pixels": ("-1 to 1", "0 to 1"),
    "precision": PRECISIONS,
}
TEST_BATCH = 64


@dataclass(frozen=True)
class Settings:
    """What one training does. The values here are those of notebook 09, at a smaller image.

    Attributes:
        model: a name in VARIANTS, or "TinyVGG".
        img_size: side of the images in pixels.
        batch_size: images in an update.
        micro_batch: images that go through the model at once; None for all of a batch.
        warmup: share of all updates until the learning rate is at its full height.
        decay: "constant", "linear" or "cosine", from there to the end.
        clip_norm: largest global norm of the gradient; None for no clipping.
        dropout: in all the places of Appendix B.1. TinyVGG has none.
        augmented: crop, flip and change the colours of each training image, anew each epoch.
        pixels: the range that the model sees, "-1 to 1" or "0 to 1".
        initialisation: "ours" (vit.initialise), or "pytorch": each layer's own, class token and positions of spread 1.
        precision: "float32", or "bfloat16" or "float16" (autocast, in training and testing alike).
        seed: of the starting weights, the order, dropout and augmentation.
    """

    model: str = "ViT-Ti/16"
    img_size: int = 112
    epochs: int = 10
    batch_size: int = 32
    micro_batch: int | None = None
    learning_rate: float = 1e-3
    warmup: float = 0.0
    decay: str = "constant"
    weight_decay: float = 0.03
    clip_norm: float | None = None
    dropout: float = 0.1
    augmented: bool = False
    pixels: str = "-1 to 1"
    initialisation: str = "ours"
    precision: str = "float32"
    seed: int = 42

    def __post_init__(self):
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is {getattr(self, name)!r}: choose one of {', '.join(map(repr, choices))}")
        if not 0 <= self.warmup <= 1:
            raise ValueError(f"warmup is {self.warmup!r}: it is a share of all updates, from 0 to 1")
        for name in ("epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)!r}: at least 1 was expected")


# Pictures in memory


def load_pictures(folder: str | Path, img_size: int) -> Pictures:
    """The images below folder/<class>/, each stretched to (img_size, img_size) as data_setup.create_transform does."""
    return read_pictures(FoodDataset(folder), Resize((img_size, img_size)))


def draw_pictures(each: int, img_size: int, split: str = "train") -> Pictures:
    """`each` drawings of pizza, steak and sushi, in turn, so that the first 3 n of them are n of each class.

    Those of "train" and of "test" are other drawings. Drawn anew at every call, at the size they are used in.
    """
    numbers = [(number, food) for number in range(1, each + 1) for food in CLASSES]
    resize = Resize((img_size, img_size))
    images = [
        to_uint8(resize(draw_food(food, picture_seed(42, split, food, number), img_size)))
        for number, food in Progress().bar(numbers, "Drawing pictures of food")
    ]
    return Pictures(torch.stack(images), torch.arange(len(CLASSES)).repeat(each))


def split(pictures: Pictures, share: float = 0.2, seed: int = 42) -> tuple[Pictures, Pictures]:
    """Pictures to train on, and a validation part: that share of every class, drawn by the seed.

    Raises ValueError where a class would have no picture on one of the sides.
    """
    generator = torch.Generator().manual_seed(seed)
    held_out = torch.zeros(len(pictures), dtype=torch.bool)
    for label in pictures.labels.unique():
        members = (pictures.labels == label).nonzero().flatten()
        count = round(share * len(members))
        if not 0 < count < len(members):
            raise ValueError(f"a share of {share} of {len(members)} pictures of class {label} leaves one side empty")
        held_out[members[torch.randperm(len(members), generator=generator)[:count]]] = True
    return pictures[~held_out], pictures[held_out]


def prepare(
    images: torch.Tensor, settings: Settings, device: torch.device | str, generator: torch.Generator | None = None
) -> torch.Tensor:
    """What the model sees of images: floats in the range of settings.pixels, augmented where a generator is given."""
    images = images.to(device)
    if images.dtype != torch.uint8:
        return images
    images = augment.to_floats(images)  # (B, C, H, W), from -1 to 1
    if generator is not None:
        images = augment.random_crop(images, images.shape[-1], generator=generator)
        images = augment.random_colour(images, generator=generator)
    return images if settings.pixels == "-1 to 1" else (images + 1) / 2


# The model


def build_model(settings: Settings, num_classes: int) -> nn.Module:
    """An untrained model. Raises ValueError for a name that is neither in VARIANTS nor "TinyVGG"."""
    if settings.model == "TinyVGG":
        return TinyVGG(output_shape=num_classes, img_size=settings.img_size)
    if settings.model not in VARIANTS:
        raise ValueError(f"no model is called {settings.model!r}: choose TinyVGG or one of {', '.join(VARIANTS)}")
    vit = ViT.from_variant(settings.model, num_classes, settings.img_size, settings.dropout)
    if settings.initialisation == "pytorch":
        initialise_as_pytorch(vit)
    return vit


def initialise_as_pytorch(vit: ViT) -> None:
    """Each layer's own starting values, and class token and positions of spread 1: what a first draft has."""
    for module in vit.modules():
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            module.reset_parameters()
        elif isinstance(module, nn.MultiheadAttention):
            module._reset_parameters()
    nn.init.normal_(vit.class_embedding)
    nn.init.normal_(vit.position_embedding)


# Training and testing


def accumulate_gradient(
    model: nn.Module,
    images: torch.Tensor,
    labels: torch.Tensor,
    micro_batch: int | None,
    precision: str = "float32",
    scaler: torch.amp.GradScaler | None = None,
) -> tuple[float, int]:
    """Add the gradient of the mean loss over a batch, computed piece by piece, to the parameters' .grad.

    Each piece counts by its share of the batch: see updates.run_window. A scaler multiplies the gradient.

    Returns the mean loss and the number of right answers.
    """
    window, backward = updates.cut(images, labels, micro_batch), updates.backward_with(scaler)
    loss, correct = updates.run_window(model, window, F.cross_entropy, images.device, precision, backward)
    return loss.item(), int(correct)


def updates_of(settings: Settings, images: int) -> int:
    """Updates in the whole training."""
    return settings.epochs * math.ceil(images / settings.batch_size)


def fit(model: nn.Module, train: Pictures, settings: Settings, device: torch.device | str = "cpu") -> list[dict]:
    """Train the model in place.

    Returns loss and accuracy of every epoch on the training images as the model saw them: augmented, with dropout, and
    as it was when each came. A loss of NaN or infinity ends the training before it reaches the weights, and the list.
    """
    model.to(device).train()
    optimizer = recipes.build_optimizer(model, settings.learning_rate, settings.weight_decay)
    total = updates_of(settings, len(train))
    schedule = recipes.build_schedule(optimizer, total, round(settings.warmup * total), settings.decay)
    clip = None if settings.clip_norm is None else (list(model.parameters()), settings.clip_norm)
    scaler = grad_scaler(settings.precision, device)
    generator = torch.Generator().manual_seed(settings.seed)
    history = []
    for _ in range(settings.epochs):
        loss_sum, correct = 0.0, 0
        for numbers in torch.randperm(len(train), generator=generator).split(settings.batch_size):
            batch = train[numbers]
            images = prepare(batch.images, settings, device, generator if settings.augmented else None)
            optimizer.zero_grad()
            loss, right = accumulate_gradient(
                model, images, batch.labels.to(device), settings.micro_batch, settings.precision, scaler
            )
            if not math.isfinite(loss):
                return history
            updates.step(optimizer, schedule, scaler, clip)
            loss_sum, correct = loss_sum + loss * len(batch), correct + right
        history.append({"loss": loss_sum / len(train), "accuracy": correct / len(train)})
    return history


def score(
    model: nn.Module, pictures: Pictures, settings: Settings, device: torch.device | str = "cpu"
) -> tuple[float, float, list[int]]:
    """Loss and accuracy over all pictures, and how often each class was answered; without augmentation and dropout."""
    model.to(device).eval()
    logits = []
    with torch.inference_mode(), in_precision(settings.precision, device):
        for numbers in torch.arange(len(pictures)).split(TEST_BATCH):
            logits.append(model(prepare(pictures.images[numbers], settings, device)).float().cpu())
    logits = torch.cat(logits)  # (M, K)
    answers = logits.argmax(dim=1)
    loss = F.cross_entropy(logits, pictures.labels).item()
    accuracy = (answers == pictures.labels).float().mean().item()
    return loss, accuracy, answers.bincount(minlength=logits.shape[1]).tolist()


def run(
    settings: Settings,
    train: Pictures,
    held_out: Pictures,
    num_classes: int = len(CLASSES),
    device: torch.device | str = "cpu",
    model: nn.Module | None = None,
) -> dict:
    """One training and one look at the pictures held out: validation pictures to choose by, test pictures to report.

    model is what to train on, if it isn't a fresh one.

    Returns a plain dict: every setting, and images, held_out, updates, train_loss and train_accuracy (of the last
    epoch), loss and accuracy (on the pictures held out), answers (how often each class), diverged, seconds.
    """
    set_seeds(settings.seed)
    model = build_model(settings, num_classes) if model is None else model
    start = time.perf_counter()
    history = fit(model, train, settings, device)
    loss, accuracy, answers = score(model, held_out, settings, device)
    last = history[-1] if history else {"loss": math.nan, "accuracy": math.nan}
    return {
        **asdict(settings),
        "images": len(train),
        "held_out": len(held_out),
        "updates": updates_of(settings, len(train)),
        "train_loss": round(last["loss"], 4),
        "train_accuracy": round(last["accuracy"], 4),
        "loss": round(loss, 4),
        "accuracy": round(accuracy, 4),
        "answers": answers,
        "diverged": len(history) < settings.epochs,
        "seconds": round(time.perf_counter() - start, 1),
    }

"""Pretrain the offline checkpoint: a ViT-Ti/16 on drawings of twelve foods, never on pizza, steak and sushi.

usage: python tools/pretrain.py [--pictures N] [--images N] [--work FOLDER] [--output FILE]

Three parts, each of which goes on where it was broken off: draw (kept in FOLDER as tensors), train at 112 pixels, and
train on at 224 with interpolated positions. Same seed, same drawings and same order. The model goes to FILE in half
precision, its SHA-256 beside it.
"""

import argparse
import json
import multiprocessing
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from going_modular.going_modular import utils  # noqa: E402
from going_modular.going_modular.augment import random_colour, random_crop, to_floats  # noqa: E402
from going_modular.going_modular.drawn_food import PRETRAINING_FOODS, draw_food, picture_seed  # noqa: E402
from going_modular.going_modular.precision import in_precision  # noqa: E402
from going_modular.going_modular.pretrained import OFFLINE, resize_positions, save_offline_checkpoint  # noqa: E402
from going_modular.going_modular.recipes import build_optimizer, build_schedule  # noqa: E402
from going_modular.going_modular.vit import ViT  # noqa: E402
from helper_functions import set_seeds  # noqa: E402

SEED = 42
VARIANT = "ViT-Ti/16"
HELD_OUT = 60  # pictures of each food that no training step sees
SAVE_EVERY = 100  # updates


@dataclass(frozen=True)
class Stage:
    """One stretch of training at one image size."""

    name: str
    size: int
    share: float  # of all images to be seen
    learning_rate: float
    batch_size: int
    warmup: float  # share of the stage's updates


STAGES = (Stage("112", 112, 0.96, 1e-3, 128, 0.05), Stage("224", 224, 0.04, 2e-4, 64, 0.05))


# Drawing


def draw(job: tuple[str, int, int]) -> np.ndarray:
    food, number, size = job
    return np.asarray(draw_food(food, picture_seed(SEED, "pretrain", food, number), size))


def drawings(folder: Path, pictures: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """uint8 pictures (n, 3, size, size) and labels (n,): `pictures` of each food, drawn if they are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    images = []
    with multiprocessing.Pool() as pool:
        for food in PRETRAINING_FOODS:
            path = folder / f"{food}_{size}_{pictures}.pt"
            if not path.is_file():
                jobs = [(food, number, size) for number in range(pictures)]
                made = list(tqdm(pool.imap(draw, jobs, chunksize=16), f"drawing {food}", len(jobs), leave=False))
                utils.write_atomically({"images": torch.from_numpy(np.stack(made))}, path)
            images.append(torch.load(path, weights_only=True)["images"])
    labels = torch.arange(len(images)).repeat_interleave(pictures)
    return torch.cat(images).permute(0, 3, 1, 2).contiguous(), labels


def split(images: torch.Tensor, labels: torch.Tensor) -> tuple[tuple, tuple]:
    """(training images, labels), (held-out images, labels): the first HELD_OUT of each food are held out."""
    number = torch.cat([torch.arange(int(count)) for count in torch.bincount(labels)])
    held = number < HELD_OUT
    return (images[~held], labels[~held]), (images[held], labels[held])


# Training


def train_stage(stage: Stage, vit: ViT, data: tuple, held_out: tuple, total_images: int, work: Path) -> ViT:
    """Train through one stage, from its last saved state if there is one; the log grows by a line a save."""
    images, labels = data
    steps = max(1, int(total_images * stage.share / stage.batch_size))
    optimizer = build_optimizer(vit, stage.learning_rate, weight_decay=0.05)
    schedule = build_schedule(optimizer, steps, int(steps * stage.warmup), "cosine")
    parts = {"model": vit, "optimizer": optimizer, "schedule": schedule}
    saved, first = work / f"stage_{stage.name}.pth", 0
    if saved.is_file():
        state = torch.load(saved, weights_only=True)
        for name, part in parts.items():
            part.load_state_dict(state[name])
        first = state["step"]
    loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)
    start, seen_loss = time.perf_counter(), []
    bar = tqdm(range(first, steps), f"training at {stage.size}", steps, initial=first, mininterval=5)
    for step in bar:
        generator = torch.Generator().manual_seed(SEED * 1_000_003 + stage.size * 1_009 + step)
        chosen = torch.randint(len(images), (stage.batch_size,), generator=generator)
        batch = random_crop(to_floats(images[chosen]), stage.size, (0.3, 1.0), generator=generator)
        batch = random_colour(batch, 0.3, 0.4, 0.15, generator=generator)
        vit.train()
        with in_precision("bfloat16", "cpu"):
            loss = loss_fn(vit(batch), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(vit.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        seen_loss.append(loss.item())
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == steps:
            state = {name: part.state_dict() for name, part in parts.items()} | {"step": step + 1}
            utils.write_atomically(state, saved)
            log(
                work,
                stage=stage.name,
                step=step + 1,
                steps=steps,
                loss=round(sum(seen_loss) / len(seen_loss), 4),
                held_out=round(accuracy(vit, *held_out, stage.size), 4),
                seconds=round(time.perf_counter() - start),
            )
            seen_loss = []
    return vit


def accuracy(vit: ViT, images: torch.Tensor, labels: torch.Tensor, size: int) -> float:
    """Share of right answers on whole pictures resized to `size`."""
    vit.eval()
    right = 0
    with torch.inference_mode(), in_precision("bfloat16", "cpu"):
        for part, truth in zip(images.split(64), labels.split(64)):
            part = nn.functional.interpolate(to_floats(part), size, mode="bilinear", antialias=True)
            right += (vit(part).argmax(dim=1) == truth).sum().item()
    return right / len(labels)


def at_size(vit: ViT, size: int) -> ViT:
    """The same model for images of another size, its positions interpolated in 2D (section 3.2)."""
    other = ViT(**{**vit.config, "img_size": size})
    state = vit.state_dict()
    grid = size // vit.config["patch_size"]
    state["position_embedding"] = resize_positions(state["position_embedding"], (grid, grid))
    other.load_state_dict(state)
    return other


def log(work: Path, **line) -> None:
    with (work / "log.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pictures", type=int, default=2000, help="drawings of each food at 160 pixels (%(default)s)")
    parser.add_argument("--images", type=int, default=240_000, help="augmented images to train on (%(default)s)")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "pretrain", help="what is kept between runs")
    parser.add_argument("--output", type=Path, default=OFFLINE, help="where the checkpoint goes")
    options = parser.parse_args()
    start = time.perf_counter()
    set_seeds(SEED)
    small = split(*drawings(options.work, options.pictures, 160))
    large = split(*drawings(options.work, max(options.pictures // 6, HELD_OUT + 1), 256))
    vit = ViT.from_variant(VARIANT, len(PRETRAINING_FOODS), STAGES[0].size, dropout=0.0)
    for stage, (data, held_out) in zip(STAGES, (small, large)):
        if vit.img_size[0] != stage.size:
            vit = at_size(vit, stage.size)
        vit = train_stage(stage, vit, data, held_out, options.images, options.work)
    print(f"Held-out drawings: {accuracy(vit, *large[1], STAGES[-1].size):.1%} right, in {len(large[1][1])} pictures")
    save_offline_checkpoint(vit, list(PRETRAINING_FOODS), {"img_size": STAGES[-1].size}, options.output)
    megabytes = options.output.stat().st_size / 1e6
    print(f"{options.output.name}: {megabytes:.1f} MB, {time.perf_counter() - start:.0f} s in this run")


if __name__ == "__main__":
    main()

"""Train a ViT from the command line: python -m going_modular.going_modular.train --help

Run it from the repository's root. It writes into --output:
    model.pth         the trained model, for utils.load_model
    metrics.json      every setting, and loss and accuracy by epoch
    loss_curves.png   the same as a picture

With --checkpoint FOLDER every epoch is kept there, and the same command with --resume goes on after the last one, to
the same weights as if it had never stopped (on the CPU bit for bit).

On several processes, one a GPU, each with its share of every batch:
    torchrun --nproc_per_node=2 -m going_modular.going_modular.train ...
"""

import argparse
import json
import math
import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
from torch import nn

from going_modular.going_modular import (
    ROOT,
    acceleration,
    checkpoints,
    data_setup,
    distributed,
    engine,
    precision,
    recipes,
    updates,
    utils,
)
from going_modular.going_modular.vit import VARIANTS, ViT
from helper_functions import plot_loss_curves, set_seeds

STOPPED = (engine.NonFiniteLossError, checkpoints.CheckpointError)
FOLDERS = ("data", "output", "checkpoint", "resume")  # no settings of the training itself
# Settings that may be others when a training goes on: they change where and how fast it is computed, not what.
FREE = ("epochs", "workers", "cache", "device", "micro_batch", "channels_last", "compile", "activation_checkpointing")


def main(arguments: list[str] | None = None) -> None:
    options = parse(arguments)
    try:
        with distributed.processes(options.device), precision.tf32(options.tf32):
            run(options)
    except RuntimeError as error:
        if not distributed.is_lost_neighbour(error):
            raise
        distributed.end_after_neighbour()


def run(options: argparse.Namespace) -> None:
    """The whole command, in each process of it."""
    set_seeds(options.seed)
    with distributed.main_first():
        data, kind = find_data(options.data)
    transform = {"img_size": options.image_size}
    train_dataloader, test_dataloader, class_names = data_setup.create_dataloaders(
        data / "train",
        data / "test",
        data_setup.create_transform(**transform),
        options.batch_size,
        options.workers,
        cache=None if options.cache == "none" else options.cache,
    )
    options.precision = distributed.from_main(precision.choose(options.precision, options.device))
    model = build_model(options, len(class_names))
    optimizer = recipes.adamw(model.parameters(), options.learning_rate, options.weight_decay)
    several = distributed.world_size()
    if several > options.batch_size:
        sys.exit(f"Nothing was trained: {several} processes can't share a --batch-size of {options.batch_size}")
    if options.micro_batch or several > 1:
        train_dataloader, test_dataloader = (
            updates.WindowLoader(dataloader, options.micro_batch) for dataloader in (train_dataloader, test_dataloader)
        )
    print(
        f"{options.model} on {kind}: {len(train_dataloader.dataset)} images to train on, "
        f"{len(test_dataloader.dataset)} to test on, classes {', '.join(class_names)}, device {options.device}, "
        f"{options.precision}{f', {several} processes' if several > 1 else ''}"
    )
    if options.checkpoint is not None and distributed.is_main():
        check_settings(options, kind)
    start = time.perf_counter()
    try:
        results = engine.train(
            model,
            train_dataloader,
            test_dataloader,
            optimizer,
            nn.CrossEntropyLoss(),
            options.epochs,
            options.device,
            checkpoint=options.checkpoint,
            resume=options.resume,
            precision=options.precision,
        )
    except KeyboardInterrupt:
        if distributed.is_main():
            print(f"Interrupted; nothing was written to {utils.shown(options.output)}", file=sys.stderr)
        sys.exit(130)
    except RuntimeError as error:
        if not isinstance(error, STOPPED) and not engine.is_out_of_memory(error):
            raise
        sys.exit(f"Training stopped and nothing was written: {error}")
    except (FileExistsError, ValueError) as error:
        if options.checkpoint is None:
            raise
        sys.exit(f"Nothing was trained: {error}")
    seconds = time.perf_counter() - start
    if distributed.is_main():
        write(options, model, class_names, transform, kind, results)
    print(f"Accuracy on the {len(test_dataloader.dataset)} test images: {results['test_acc'][-1]:.1%}, {seconds:.0f} s")
    print(f"Written to {utils.shown(options.output)}: model.pth, metrics.json, loss_curves.png")


def build_model(options: argparse.Namespace, num_classes: int) -> nn.Module:
    """The untrained model, on its device, with the switches that were asked for."""
    model = ViT.from_variant(options.model, num_classes, options.image_size, options.dropout)
    if options.channels_last:
        acceleration.use_channels_last(model)
    if options.activation_checkpointing:
        acceleration.checkpoint_activations(model)
    if options.compile:
        share = -(-options.batch_size // distributed.world_size())
        pieces = (min(options.micro_batch or share, share), 3, options.image_size, options.image_size)
        model = acceleration.compile_or_say_why(model, pieces, options.device, options.precision)
    return distributed.wrap(model, options.device)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m going_modular.going_modular.train", description=__doc__.split("\n")[0]
    )
    add = parser.add_argument
    add(
        "--model", default="ViT-Ti/16", choices=list(VARIANTS), help="which ViT of Table 1 and later work (%(default)s)"
    )
    add("--data", type=Path, help="a folder with train/ and test/, a folder a class in each (the food data)")
    add("--epochs", type=positive(int), default=10, help="passes over the training images (%(default)s)")
    add("--batch-size", type=positive(int), default=32, help="images an update (%(default)s)")
    add("--micro-batch", type=positive(int), help="images at once, added up to --batch-size (all of them)")
    add("--learning-rate", type=positive(float), default=3e-4, help="of AdamW, constant (%(default)s)")
    add("--weight-decay", type=not_negative(float), default=0.03, help="of AdamW, decoupled (%(default)s)")
    add("--dropout", type=share, default=0.1, help="in all the places of Appendix B.1 (%(default)s)")
    add("--image-size", type=positive(int), default=224, help="side in pixels, a multiple of the patch (%(default)s)")
    add("--seed", type=seed, default=42, help="of weights, order and dropout (%(default)s)")
    add("--workers", type=not_negative(int), help="processes that load images (what suits the machine)")
    add("--cache", default="memory", choices=("memory", "none"), help="where pictures stay, once read (%(default)s)")
    add("--device", choices=utils.DEVICES, help="where to train (the best there is)")
    add(
        "--precision",
        choices=precision.CHOICES,
        default="float32",
        help="of the matrix products; auto measures what is fastest here (%(default)s)",
    )
    add("--tf32", action="store_true", help="let a GPU round the products of float32 to 10 bits: faster (no)")
    add("--channels-last", action="store_true", help="keep a pixel's channels side by side in memory (no)")
    add("--compile", action="store_true", help="torch.compile, and why not where that fails (no)")
    add("--activation-checkpointing", action="store_true", help="less memory, for a second forward pass (no)")
    add("--output", type=Path, default=ROOT / "build" / "train", help="folder for what is written (build/train)")
    add("--checkpoint", type=Path, help="folder where each epoch is kept, to go on from (none)")
    add("--resume", action="store_true", help="go on with the training in --checkpoint, if there is one")
    options = parser.parse_args(arguments)
    options.device = options.device or utils.get_device()
    patch_size = VARIANTS[options.model]["patch_size"]
    if options.image_size % patch_size:
        parser.error(
            f"argument --image-size: {options.image_size} is no multiple of {options.model}'s patch, {patch_size}"
        )
    if options.device not in utils.available_devices():
        parser.error(f"argument --device: PyTorch finds no {options.device} here")
    if options.data and not all((options.data / split).is_dir() for split in ("train", "test")):
        parser.error(f"argument --data: {options.data} does not hold the folders train and test")
    for flag, folder in (("--output", options.output), ("--checkpoint", options.checkpoint)):
        if folder is not None and any(path.is_file() for path in (folder, *folder.parents)):
            parser.error(f"argument {flag}: {folder} is no folder, or lies below a file")
    if options.resume and options.checkpoint is None:
        parser.error("argument --resume: name the folder with --checkpoint")
    return options


def positive(kind: type):
    """An argparse type: a finite number above zero."""

    def convert(text: str):
        value = kind(text)
        if not 0 < value < math.inf:
            raise argparse.ArgumentTypeError(f"{text} is not a finite number above 0")
        return value

    convert.__name__ = f"positive {kind.__name__}"
    return convert


def not_negative(kind: type):
    """An argparse type: a finite number, zero or above."""

    def convert(text: str):
        value = kind(text)
        if not 0 <= value < math.inf:
            raise argparse.ArgumentTypeError(f"{text} is not a finite number of at least 0")
        return value

    convert.__name__ = kind.__name__
    return convert


def share(text: str) -> float:
    """An argparse type: a number from 0 to 1."""
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def seed(text: str) -> int:
    """An argparse type: what set_seeds takes."""
    value = int(text)
    if not 0 <= value < 2**32:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and {2**32 - 1}")
    return value


def find_data(folder: Path | None) -> tuple[Path, str]:
    """The learner's own folder, or the food data, and what it is called."""
    if folder is not None:
        return folder, utils.shown(folder)
    food = data_setup.get_food_data()
    return food.path, food.kind


def check_settings(options: argparse.Namespace, data: str) -> None:
    """Keep the settings beside the checkpoint; exit where those of the training that lies there are others."""
    path = options.checkpoint / "settings.json"
    settings = {name: value for name, value in vars(options).items() if name not in (*FOLDERS, *FREE)} | {"data": data}
    if path.is_file() and (options.checkpoint / checkpoints.NAME).is_file():
        kept = json.loads(path.read_text(encoding="utf-8"))
        for name in settings:
            if kept.get(name, settings[name]) != settings[name]:
                sys.exit(
                    f"Nothing was trained: {utils.shown(options.checkpoint)} holds a training with {name} "
                    f"{kept.get(name)}, not {settings[name]}: use that, or another --checkpoint"
                )
    else:
        with utils.replacing(path) as file:
            file.write(json.dumps(settings, indent=2).encode() + b"\n")


def write(
    options: argparse.Namespace, model: ViT, class_names: list[str], transform: dict, data: str, results: dict
) -> None:
    """The model, the metrics and the loss curves."""
    options.output.mkdir(parents=True, exist_ok=True)
    utils.save_checkpoint(model, options.output / "model.pth", class_names, transform)
    settings = {name: value for name, value in vars(options).items() if name not in FOLDERS}
    settings["processes"] = distributed.world_size()
    metrics = {"data": data, **settings, "class_names": class_names, "results": results}
    with utils.replacing(options.output / "metrics.json") as file:
        file.write(json.dumps(metrics, indent=2).encode() + b"\n")
    plot_loss_curves(results)
    figure = plt.gcf()
    figure.savefig(options.output / "loss_curves.png", dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main()

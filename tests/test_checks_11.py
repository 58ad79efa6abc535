"""checks, notebook 11: what is right passes, and each wrong version gets its own verdict."""

import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from check_tools import expect, wrong_versions
from torch import nn

from going_modular.going_modular.drawn_food import draw_food, draw_food_data, picture_seed


def half_wave(progress):
    return (1 + math.cos(math.pi * progress)) / 2


def schedule(wave=half_wave, first=1, shift=1, end=0):
    """A schedule whose warmup begins with `first` parts, and whose decay begins `shift` before the warmup's end."""

    def warmup_cosine(step, total_steps, warmup_steps):
        if step < warmup_steps:
            return (step + first) / warmup_steps
        peak = warmup_steps - shift if warmup_steps else 0
        return wave((step - peak) / (total_steps - end - peak))

    return warmup_cosine


def jumps(step, total_steps, warmup_steps):
    return (step + 1) / warmup_steps if step < warmup_steps else half_wave(step / total_steps)


def huggingface(step, total_steps, warmup_steps):
    if step < warmup_steps:
        return step / max(1, warmup_steps)
    return half_wave((step - warmup_steps) / (total_steps - warmup_steps))


def over_all_steps(step, total_steps, warmup_steps):
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    return half_wave((step - max(warmup_steps - 1, 0)) / total_steps)


def before_the_first(step, total_steps, warmup_steps):
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    return half_wave((step - warmup_steps + 1) / (total_steps - warmup_steps + 1))


def in_tensors(step, total_steps, warmup_steps):
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    progress = torch.tensor((step - max(warmup_steps - 1, 0)) / (total_steps - max(warmup_steps - 1, 0)))
    return (1 + torch.cos(math.pi * progress)) / 2


SCHEDULE = wrong_versions(
    "warmup_cosine",
    ("starts_at_zero", huggingface),
    ("starts_at_zero", schedule(first=0)),
    ("peak_twice", schedule(shift=0)),
    ("peak_twice", schedule(shift=0, end=1)),
    ("ends_at_zero", schedule(end=1)),
    ("before_the_first", before_the_first),
    ("other_denominator", over_all_steps),
    ("no_pi", schedule(lambda progress: (1 + math.cos(progress)) / 2)),
    ("degrees", schedule(lambda progress: (1 + math.cos(180 * progress)) / 2)),
    ("half_halved", schedule(lambda progress: 1 + math.cos(math.pi * progress) / 2)),
    ("no_warmup", lambda step, total, warmup: half_wave(step / total)),
    ("cosine_from_the_start", jumps),
    ("linear", schedule(lambda progress: 1 - progress)),
    ("not_halved", schedule(lambda progress: 2 * half_wave(progress))),
    ("quarter_wave", schedule(lambda progress: math.cos(math.pi * progress / 2))),
    ("plain_cosine", schedule(lambda progress: math.cos(math.pi * progress))),
    ("constant", schedule(lambda progress: 1.0)),
    ("rising", schedule(lambda progress: 1 - half_wave(progress))),
    ("other_rate", schedule(lambda progress: half_wave(progress) ** 2)),
    ("error", lambda step, total, warmup: (step + 1) / (warmup - 5)),
    ("no_number", lambda step, total, warmup: [1.0]),
    ("not_attempted", lambda step, total, warmup: None),
)


def clip(parameters, max_norm):
    return nn.utils.clip_grad_norm_(list(parameters), max_norm).item()


def clip_by_value(parameters, max_norm):
    norm = clip(parameters, float("inf"))
    nn.utils.clip_grad_value_(parameters, max_norm)
    return norm


def clip_each(parameters, max_norm):
    norm = clip(parameters, float("inf"))
    for parameter in parameters:
        clip([parameter], max_norm)
    return norm


def rescale(factor):
    def clip_with(parameters, max_norm):
        norm = clip(parameters, float("inf"))
        for parameter in parameters:
            parameter.grad *= factor(norm, max_norm)
        return norm

    return clip_with


def update(loss_of=None, clear="first", clip=clip, in_window=None, cut=None, back=None, after=None):
    """An attempt: gradients of windows added up and clipped, with one thing done in another way."""

    def accumulate_and_clip(model, images, labels, sizes, max_norm):
        parameters = list(model.parameters())
        if clear == "first":
            model.zero_grad()
        windows = list(zip(images.split(cut(images) if cut else sizes), labels.split(cut(images) if cut else sizes)))
        total = 0.0
        for window, truth in windows:
            if clear == "each":
                model.zero_grad()
            losses = F.cross_entropy(model(window), truth, reduction="none")
            loss = loss_of(losses, len(images), len(windows)) if loss_of else losses.sum() / len(images)
            loss.backward()
            total += loss.item()
            if in_window:
                in_window(parameters, max_norm)
        if clear == "last":
            model.zero_grad()
        norm = clip(parameters, max_norm)
        if after:
            after(model)
        return back(parameters, norm, total, max_norm) if back else norm

    return accumulate_and_clip


def step(model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.1 * parameter.grad


def no_backward(model, images, labels, sizes, max_norm):
    for window, truth in zip(images.split(sizes), labels.split(sizes)):
        F.cross_entropy(model(window), truth)
    return 1.0


def one_backward(model, images, labels, sizes, max_norm):
    """The losses of all windows added up, each with its graph, until the end."""
    model.zero_grad()
    windows = zip(images.split(sizes), labels.split(sizes))
    losses = [F.cross_entropy(model(window), truth, reduction="sum") for window, truth in windows]
    (sum(losses) / len(images)).backward()
    return clip(model.parameters(), max_norm)


def without_grad(model, images, labels, sizes, max_norm):
    """Gradients of each window by torch.autograd.grad, put into .grad at the end."""
    parameters = list(model.parameters())
    total = [torch.zeros_like(parameter) for parameter in parameters]
    for window, truth in zip(images.split(sizes), labels.split(sizes)):
        loss = F.cross_entropy(model(window), truth, reduction="sum") / len(images)
        total = [so_far + one for so_far, one in zip(total, torch.autograd.grad(loss, parameters))]
    for parameter, gradient in zip(parameters, total):
        parameter.grad = gradient
    return clip(parameters, max_norm)


def norm_of(order):
    def back(parameters, norm, loss, max_norm):
        gradient = torch.cat([parameter.grad.flatten() for parameter in parameters])
        return torch.linalg.vector_norm(gradient, order)

    return back


ACCUMULATE = wrong_versions(
    "accumulate_and_clip",
    ("mean_of_means", update(lambda losses, count, windows: losses.mean() / windows)),
    ("sum_of_means", update(lambda losses, count, windows: losses.mean())),
    ("sum_over_images", update(lambda losses, count, windows: losses.sum())),
    ("divided_twice", update(lambda losses, count, windows: losses.sum() / count / windows)),
    ("old_gradients_kept", update(clear="never")),
    ("last_window_alone", update(clear="each")),
    ("last_window_alone", update(lambda losses, count, windows: losses.mean(), clear="each")),
    ("cleared", update(clear="last", clip=lambda parameters, max_norm: 1.0)),
    ("no_backward", no_backward),
    ("whole_batch", update(cut=len)),
    ("other_windows", update(cut=lambda images: 4)),
    ("clipped_each_window", update(in_window=clip)),
    ("not_clipped", update(clip=lambda parameters, max_norm: clip(parameters, float("inf")))),
    ("by_value", update(clip=clip_by_value)),
    ("parameter_by_parameter", update(clip=clip_each)),
    ("always_scaled", update(clip=rescale(lambda norm, max_norm: max_norm / norm))),
    ("divided_by_norm", update(clip=rescale(lambda norm, max_norm: 1 if norm < max_norm else 1 / norm))),
    ("other_gradient", update(clip=rescale(lambda norm, max_norm: 0.5))),
    ("weights_changed", update(after=step)),
    ("norm_after", update(back=lambda parameters, norm, loss, max_norm: clip(parameters, max_norm))),
    ("loss_returned", update(back=lambda parameters, norm, loss, max_norm: loss)),
    ("sum_of_norms", update(back=lambda parameters, norm, loss, max_norm: sum(p.grad.norm().item() for p in parameters))),
    ("sum_of_absolutes", update(back=norm_of(1))),
    ("largest", update(back=norm_of(math.inf))),
    ("one_backward", one_backward),
    ("root_missing", update(back=lambda parameters, norm, loss, max_norm: norm**2)),
    ("other_norm", update(back=lambda parameters, norm, loss, max_norm: -1.0)),
    ("no_number", update(back=lambda parameters, norm, loss, max_norm: parameters)),
    ("signature", lambda model, images, labels: 1.0),
)  # fmt: skip


def drawn(
    train=lambda times, n: times * n,
    test=lambda times, n: n,
    seed=42,
    number=None,
    part=None,
    food=None,
    first=1,
    side=None,
    name_of="{}.png",
):
    """An attempt that draws picture by picture, with one thing done in another way."""

    def draw_more(folder, counts, times, size):
        for where, count in (("train", train), ("test", test)):
            for name, n in counts[where].items():
                (Path(folder) / where / name).mkdir(parents=True)
                for k in range(first, count(times, n) + first):
                    chosen = number(k, n) if number and where == "train" else k
                    of = seed(where) if callable(seed) else seed
                    of = picture_seed(of, part or where, food or name, chosen)
                    file = name_of(k, n) if callable(name_of) else name_of.format(k)
                    draw_food(food or name, of, side or size).save(Path(folder) / where / name / file)

    return draw_more


def flat(folder, counts, times, size):
    draw_food_data(folder, {"train": {name: times * n for name, n in counts["train"].items()}}, size=size)


def first_class(folder, counts, times, size):
    more = {"train": {"pizza": times * counts["train"]["pizza"]}, "test": counts["test"]}
    draw_food_data(folder, more, size=size)


def fills_up_with_test_pictures(folder, counts, times, size):
    """The test set's pictures fill up the training set."""
    drawn(train=lambda times, n: n)(folder, counts, times, size)
    for name, n in counts["train"].items():
        for k in range(1, (times - 1) * n + 1):
            draw_food(name, picture_seed(42, "test", name, k), size).save(
                Path(folder) / "train" / name / f"test_{k}.png"
            )


def one_food_for_all(folder, counts, times, size):
    """The seed of a pizza for every class."""
    for where in counts:
        for name, n in counts[where].items():
            (Path(folder) / where / name).mkdir(parents=True)
            for k in range(1, (times if where == "train" else 1) * n + 1):
                picture = draw_food(name, picture_seed(42, where, "pizza", k), size)
                picture.save(Path(folder) / where / name / f"{k}.png")


MORE = wrong_versions(
    "draw_more",
    ("as_many_as_before", drawn(train=lambda times, n: n)),
    ("as_many_as_before", drawn(name_of=lambda k, n: f"{(k - 1) % n}.png")),
    ("counted_from_0", drawn(first=0)),
    ("test_as_train", drawn(part="train")),
    ("other_test_set", one_food_for_all),
    ("other_size", drawn(side=256)),
    ("other_format", drawn(name_of="{}.jpg")),
    ("test_grown", drawn(test=lambda times, n: times * n)),
    ("other_count", drawn(train=lambda times, n: n + times)),
    ("other_count", drawn(test=lambda times, n: n + 1)),
    ("copies", drawn(number=lambda k, n: (k - 1) % n + 1)),
    ("test_in_train", drawn(part="test")),
    ("test_in_train", fills_up_with_test_pictures),
    ("other_test_set", drawn(seed=lambda where: 42 if where == "train" else 7)),
    ("old_ones_missing", drawn(seed=lambda where: 7 if where == "train" else 42)),
    ("old_ones_missing", drawn(number=lambda k, n: k + n)),
    ("other_folders", flat),
    ("class_missing", first_class),
    ("error", lambda folder, counts, times, size: draw_food_data(folder, counts * times)),
    ("not_attempted", lambda folder, counts, times, size: None),
    ("signature", lambda folder: None),
)

NUMBER = wrong_versions(
    "undecayed_parameters",
    ("by_dimensions", 122_115),
    ("no_positions", 122_883),
    ("no_class_token", 273_411),
    ("names_with_dots", 245_763),
    ("one_block", 164_355),
    ("one_block", 12_291),
    ("tensors", 102),
    ("head_too", 276_483),
    ("kernel_too", 864_003),
    ("no_layer_norms", 235_779),
    ("no_scales", 254_979),
    ("names_with_bias", 102_915),
    ("biases_alone", 83_715),
    ("decayed", 85_526_784),
    ("all", 85_800_963),
    ("tiny", 68_547),
    ("thousand_classes", 275_176),
    ("attention_biases", 246_531),
    ("other_number", 100_000),
)


@pytest.mark.parametrize("exercise, name, attempt", [*SCHEDULE, *ACCUMULATE, *MORE, *NUMBER])
def test_wrong_versions(exercise, name, attempt):
    expect(exercise, name, attempt)


def more_at_once(folder, counts, times, size):
    train = {name: times * n for name, n in counts["train"].items()}
    draw_food_data(folder, {"train": train, "test": counts["test"]}, size=size)


@pytest.mark.parametrize(
    "exercise, attempt",
    [
        ("warmup_cosine", schedule()),
        ("warmup_cosine", in_tensors),
        ("accumulate_and_clip", update()),
        ("accumulate_and_clip", without_grad),
        ("accumulate_and_clip", update(back=lambda parameters, norm, loss, max_norm: torch.tensor(norm))),
        ("draw_more", drawn()),
        ("draw_more", more_at_once),
        ("undecayed_parameters", 274_179),
    ],
)
def test_right_versions(exercise, attempt):
    assert expect(exercise, "passed", attempt).passed

"""Checks of notebook 11: how the paper trains."""

import functools
import math
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from going_modular.going_modular.checks.attempt import guarded, result_of
from going_modular.going_modular.checks.compare import same_number
from going_modular.going_modular.checks.notebook_01 import started
from going_modular.going_modular.checks.notebook_09 import near
from going_modular.going_modular.checks.verdict import Wrong, check
from going_modular.going_modular.vit import ViT

# Exercise 1: warmup_cosine(step, total_steps, warmup_steps)


def cosine(progress: float) -> float:
    return (1 + math.cos(math.pi * progress)) / 2


def factors(total: int, warmup: int, shape: Callable = cosine, first: int = 1, peak: int | None = None, end: int = 0):
    """The share of the full rate at each update, and with one mistake where an argument is another.

    first: what the first update of the warmup counts as. peak: the update where the decay begins. end: how many updates
    early the decay reaches 0.
    """
    peak = max(warmup - first, 0) if peak is None else peak
    values = []
    for step in range(total):
        if step < warmup and step <= peak:
            values.append((step + first) / warmup)
        else:
            values.append(shape((step - peak) / max(total - end - peak, 1)))
    return values


SCHEDULE_MISTAKES = (  # (name, what to say, the factors as they come out)
    (
        "starts_at_zero",
        "the first update takes a rate of 0 and does nothing: count the warmup's updates from 1",
        lambda total, warmup: factors(total, warmup, first=0),
    ),
    (
        "starts_at_zero",
        "the first update takes a rate of 0 and does nothing: count the warmup's updates from 1",
        lambda total, warmup: [step / warmup if step < warmup else v for step, v in enumerate(factors(total, warmup))],
    ),
    (
        "peak_twice",
        "two updates in a row take the full rate: the last of the warmup is the peak, and the decay counts from there",
        lambda total, warmup: factors(total, warmup, peak=warmup),
    ),
    (
        "ends_at_zero",
        "the last update takes a rate of 0 and does nothing: 0 comes one update after the last",
        lambda total, warmup: factors(total, warmup, end=1),
    ),
    ("no_warmup", "there is no warmup: the rate is full from the start", lambda total, warmup: factors(total, 0)),
    (
        "cosine_from_the_start",
        "the wave counts from the first update, so the rate jumps after the warmup: count from the peak",
        lambda total, warmup: [(step + 1) / warmup if step < warmup else cosine(step / total) for step in range(total)],
    ),
    (
        "linear",
        "the decay is a straight line: half a cosine wave was asked",
        lambda t, w: factors(t, w, lambda p: 1 - p),
    ),
    (
        "not_halved",
        "1 + cos goes from 2 to 0: halve it",
        lambda t, w: factors(t, w, lambda progress: 1 + math.cos(math.pi * progress)),
    ),
    (
        "quarter_wave",
        "this is a quarter of a wave, cos(pi / 2 * progress): half a wave is (1 + cos(pi * progress)) / 2",
        lambda t, w: factors(t, w, lambda progress: math.cos(math.pi / 2 * progress)),
    ),
    (
        "plain_cosine",
        "cos(pi * progress) goes from 1 to -1, and a negative rate climbs: shift it up by 1 and halve it",
        lambda t, w: factors(t, w, lambda progress: math.cos(math.pi * progress)),
    ),
    (
        "peak_twice",
        "the first update after the warmup takes the full rate again, and the last takes 0: count the decay from the "
        "warmup's last update, and let 0 come one update after the last",
        lambda total, warmup: factors(total, warmup, peak=warmup, end=1),
    ),
    (
        "before_the_first",
        "without a warmup, update 0 is the peak: warmup_steps - 1 is -1 there, and the wave begins too early",
        lambda total, warmup: factors(total, warmup, peak=warmup - 1),
    ),
    (
        "other_denominator",
        "progress is divided by total_steps: from the peak on there are fewer, so take the warmup off there too",
        lambda total, warmup: factors(total, warmup, lambda p: cosine(p * (total - max(warmup - 1, 0)) / total)),
    ),
    (
        "no_pi",
        "cos(progress) has hardly begun to fall when progress is 1: pi is missing, cos(pi * progress)",
        lambda t, w: factors(t, w, lambda progress: (1 + math.cos(progress)) / 2),
    ),
    (
        "degrees",
        "cos takes radians: half a wave is pi, not 180",
        lambda t, w: factors(t, w, lambda progress: (1 + math.cos(180 * progress)) / 2),
    ),
    (
        "half_halved",
        "the division halves the cosine alone: put 1 + cos into brackets",
        lambda t, w: factors(t, w, lambda progress: 1 + math.cos(math.pi * progress) / 2),
    ),
    ("constant", "there is no decay: the rate stays full", lambda t, w: factors(t, w, lambda progress: 1.0)),
    ("rising", "the wave rises: it is 1 + cos, not 1 - cos", lambda t, w: factors(t, w, lambda p: 1 - cosine(p))),
)


@check
def warmup_cosine(attempt) -> str:
    """warmup_cosine(step, total_steps, warmup_steps) -> the share of the full rate at this update, from 0 counted."""
    for total, warmup in ((20, 5), (45, 10), (12, 0)):
        where = f"total_steps = {total}, warmup_steps = {warmup}"
        found = [result_of(attempt, step, total, warmup, what=f"step = {step}, {where}") for step in range(total)]
        found = [v.item() if isinstance(v, torch.Tensor) and v.numel() == 1 else v for v in found]
        if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in found):
            raise Wrong("no_number", f"one number for each step was expected, not {found[0]!r:.80}")
        expected = factors(total, warmup)
        if all(map(near, found, expected)):
            continue
        for name, text, wrong in SCHEDULE_MISTAKES:
            values = wrong(total, warmup) if warmup or name != "starts_at_zero" else []
            if len(values) == total and all(map(near, found, values)):
                raise Wrong(name, f"with {where}: {text}")
        step = next(step for step in range(total) if not near(found[step], expected[step]))
        text = f"with {where}, step {step} takes {found[step]:.4g}, and {expected[step]:.4g} was expected"
        raise Wrong("other_rate", text)
    return "Right at every update of three trainings: no update is wasted, and one takes the full rate."


# Exercise 2: accumulate_and_clip(model, images, labels, sizes, max_norm)


def clipped(gradient: torch.Tensor, max_norm: float) -> torch.Tensor:
    return gradient * min(1.0, max_norm / gradient.norm().item())


class Windows:
    """A small model, a batch in uneven windows, and the gradients that it should and shouldn't give."""

    def __init__(self, sizes: tuple[int, ...]):
        self.model = nn.Sequential(nn.Linear(6, 5), nn.GELU(), nn.Linear(5, 3))
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.normal_()
        self.sizes, self.count = sizes, sum(sizes)
        self.images, self.labels = 2 * torch.randn(self.count, 6), torch.randint(3, (self.count,))
        self.means = [self.gradient(*window) for window in zip(*self.windows())]  # of each window's mean loss
        self.whole = self.gradient(self.images, self.labels)
        with torch.no_grad():
            self.loss = F.cross_entropy(self.model(self.images), self.labels).item()
        self.old = torch.randn(len(self.whole))
        self.put(self.old)

    def windows(self):
        return self.images.split(self.sizes), self.labels.split(self.sizes)

    def gradient(self, images, labels) -> torch.Tensor:
        loss = F.cross_entropy(self.model(images), labels)
        return torch.cat([one.flatten() for one in torch.autograd.grad(loss, list(self.model.parameters()))])

    def parts(self, vector: torch.Tensor) -> list[torch.Tensor]:
        """A vector of all gradients, cut into the parameters' own."""
        return list(vector.split([parameter.numel() for parameter in self.model.parameters()]))

    def put(self, vector: torch.Tensor) -> None:
        for parameter, part in zip(self.model.parameters(), self.parts(vector)):
            parameter.grad = part.view_as(parameter).clone()

    def weighted(self) -> list[torch.Tensor]:
        return [size / self.count * mean for size, mean in zip(self.sizes, self.means)]

    def sums(self) -> list[tuple[str, torch.Tensor, str]]:
        """What comes of adding up wrongly: (name, gradient, text)."""
        shares, number = self.weighted(), len(self.sizes)
        cleared = "only the last window's gradient is left: clear the gradients once, before the first window"
        return [
            (
                "mean_of_means",
                sum(self.means) / number,
                "the windows' means are averaged, so an image in a small window counts for more: add up sums of "
                "losses, divided by the whole batch's count",
            ),
            ("sum_of_means", sum(self.means), "the windows' means are added up: divide sums by the batch's count"),
            (
                "sum_over_images",
                self.whole * self.count,
                "this is the gradient of the sum over all images: divide each window's sum by the batch's count",
            ),
            (
                "divided_twice",
                self.whole / number,
                "it is divided by the number of windows as well: by the count alone",
            ),
            ("old_gradients_kept", self.whole + self.old, "the old gradients are still in there: clear them first"),
            ("last_window_alone", shares[-1], cleared),
            ("last_window_alone", self.means[-1], cleared),
            ("first_window_alone", shares[0], "only the first window is in there: go through all of them"),
        ]

    def clips(self, max_norm: float) -> list[tuple[str, torch.Tensor, str]]:
        """What comes of clipping wrongly: (name, gradient, text)."""
        each = torch.zeros_like(self.whole)
        for share in self.weighted():
            each = clipped(each + share, max_norm)
        return [
            ("not_clipped", self.whole, f"its norm is {self.whole.norm():.3g}, above max_norm = {max_norm}: scale it"),
            (
                "clipped_each_window",
                each,
                "you clip after each window, when the gradient isn't complete yet: clip once, after the last",
            ),
            (
                "by_value",
                self.whole.clamp(-max_norm, max_norm),
                "each number is cut off by itself, which turns the gradient: scale all by one factor",
            ),
            (
                "parameter_by_parameter",
                torch.cat([clipped(part, max_norm) for part in self.parts(self.whole)]),
                "each parameter has a norm and a factor of its own, which turns the gradient: one norm over all",
            ),
            (
                "divided_by_norm",
                self.whole / self.whole.norm(),
                "the norm has become 1: scale it to max_norm",
            ),
        ]


@check
def accumulate_and_clip(attempt) -> str:
    """accumulate_and_clip(model, images, labels, sizes, max_norm) -> the norm before clipping; .grad is set."""
    for sizes, max_norm in (((1, 10, 21), 1000.0), ((7, 2), 0.05), ((3, 4, 1, 4), 0.5)):
        case, seen, waiting = Windows(sizes), [], []
        hook = case.model.register_forward_hook(functools.partial(note_window, seen, waiting))
        weights = [parameter.detach().clone() for parameter in case.model.parameters()]
        where = f"sizes = {list(sizes)}, max_norm = {max_norm}"
        result = result_of(attempt, case.model, case.images, case.labels, list(sizes), max_norm, what=where)
        hook.remove()
        if not all(map(torch.equal, weights, case.model.parameters())):
            raise Wrong("weights_changed", "the weights have changed: only the gradients are asked, without a step")
        check_windows(seen, sizes)
        compare_gradient(case, max_norm, where)
        compare_norm(result, case, max_norm)
        if max(waiting) > 1:
            text = (
                "the numbers are right, but every window's activations wait in memory for one backward() at the end: "
                "call it for each window, before the next one goes through the model"
            )
            raise Wrong("one_backward", text)
    return "Right for three batches in uneven windows: the whole batch's gradient, clipped once, at the end."


def note_window(seen: list[int], waiting: list[int], model: nn.Module, inputs, output) -> None:
    """A forward hook: add the window's size, and how many windows now wait for their backward()."""
    seen.append(len(inputs[0]))
    waiting.append(waiting[-1] if waiting else 0)
    if output.requires_grad:
        waiting[-1] += 1
        output.register_hook(lambda gradient: waiting.append(waiting[-1] - 1))


def check_windows(seen: list[int], sizes: tuple[int, ...]) -> None:
    """Raise Wrong unless the model has seen one window after the other."""
    if sum(sizes) in seen:
        text = f"all {sum(sizes)} images go through the model at once: what doesn't fit into memory is what this is for"
        raise Wrong("whole_batch", text)
    if seen != list(sizes):
        raise Wrong("other_windows", f"the model sees windows of {seen} images, and sizes = {list(sizes)}")


def compare_gradient(case: Windows, max_norm: float, where: str) -> None:
    """Raise Wrong unless .grad holds the whole batch's gradient, clipped."""
    if any(parameter.grad is None for parameter in case.model.parameters()):
        text = "a parameter has no gradient: they are cleared after the last backward(), or backward() is missing"
        raise Wrong("cleared", text)
    found = torch.cat([parameter.grad.flatten() for parameter in case.model.parameters()])

    def same(expected):
        return torch.allclose(found, expected, rtol=1e-3, atol=1e-5 * expected.abs().max().item())

    expected = clipped(case.whole, max_norm)
    if same(expected):
        return
    if not found.any():
        raise Wrong("cleared", "every gradient is 0: they are cleared after backward(), or backward() is missing")
    if same(case.old):
        raise Wrong("no_backward", "the gradients are still the old ones: call backward() on each window's loss")
    if case.whole.norm() <= max_norm and same(case.whole * max_norm / case.whole.norm()):
        text = f"a gradient of norm {case.whole.norm():.3g} is blown up to {max_norm}: shrink what is longer, no more"
        raise Wrong("always_scaled", f"with {where}: {text}")
    for name, wrong, text in case.sums():
        if same(wrong) or same(clipped(wrong, max_norm)) and max_norm > 100:
            raise Wrong(name, f"with {where}: {text}")
    for name, wrong, text in case.clips(max_norm):
        if same(wrong):
            raise Wrong(name, f"with {where}: {text}")
    off = (found - expected).abs().max()
    raise Wrong(
        "other_gradient", f"with {where}: the gradient is off by up to {off:.2g}; go through it window by window"
    )


def compare_norm(result, case: Windows, max_norm: float) -> None:
    """Raise Wrong unless the number that comes back is the norm before clipping."""
    if not isinstance(result, (int, float, torch.Tensor)) or isinstance(result, torch.Tensor) and result.numel() != 1:
        raise Wrong("no_number", f"the norm before clipping was expected, and your code returns {result!r:.80}")
    value, norm = float(torch.as_tensor(result).detach()), case.whole.norm().item()
    if math.isclose(value, norm, rel_tol=1e-3):
        return
    for name, wrong, text in (
        ("norm_after", min(norm, max_norm), "it is the norm after clipping: return the one before, it tells you more"),
        ("loss_returned", case.loss, "it is the loss: the norm was asked"),
        ("sum_of_norms", sum(part.norm().item() for part in case.parts(case.whole)), "norms don't add up: squares do"),
        ("root_missing", norm**2, "it is the norm's square: take the root"),
        (
            "sum_of_absolutes",
            case.whole.abs().sum().item(),
            "it is the sum of absolute values: square, sum, take the root",
        ),
        ("largest", case.whole.abs().max().item(), "it is the largest absolute value: square, sum, take the root"),
        ("factor", max_norm / norm, "it is the factor to scale by: the norm was asked"),
    ):
        if math.isclose(value, wrong, rel_tol=1e-3):
            raise Wrong(name, f"your code returns {value:.4g}: {text}")
    raise Wrong("other_norm", f"your code returns {value:.4g}, and {norm:.4g} was expected, the norm before clipping")


# Exercise 3: draw_more(folder, counts, times, size)


COUNTS, SIZE = {"train": {"pizza": 2, "steak": 1}, "test": {"pizza": 1, "steak": 2}}, 32


@check
def draw_more(attempt) -> str:
    """draw_more(folder, counts, times, size): times as many training drawings, all new, the test set as it was."""
    before = drawings()
    with tempfile.TemporaryDirectory(prefix="check-") as work:
        for times in (2, 3):
            folder = Path(work, f"times_{times}")
            guarded(lambda f=folder, t=times: attempt(f, COUNTS, t, SIZE), f"times = {times}, size = {SIZE}")
            started(None, folder)
            if missing := [part for part in COUNTS if not (folder / part).is_dir()]:
                raise Wrong("other_folders", f"the folder has no {' and no '.join(missing)} in it")
            check_files(folder)
            try:
                check_drawings(thumbnails(folder), before, times)
            except Wrong as wrong:
                files = sorted(file.name for file in folder.glob("*/*/*") if file.suffix.lower() != ".png")
                if not files or wrong.name not in ("other_test_set", "old_ones_missing"):
                    raise
                text = f"{files[0]} is no .png: save each as .png, since other formats change what was drawn"
                raise Wrong("other_format", text) from None
    return "Right for two and three times as many: new drawings, the old ones among them, and the same test set."


@functools.cache
def drawings() -> dict[str, dict[str, list[torch.Tensor]]]:
    """The drawings that drawn_food.draw_food_data makes for COUNTS, small, by part and class."""
    from going_modular.going_modular.drawn_food import draw_food, picture_seed

    def draw(part: str, food: str, count: int, first: int = 1) -> list[torch.Tensor]:
        numbers = range(first, count + first)
        return [small(draw_food(food, picture_seed(42, part, food, number), SIZE)) for number in numbers]

    found = {part: {food: draw(part, food, n) for food, n in counts.items()} for part, counts in COUNTS.items()}
    found["test from 0"] = {food: draw("test", food, n, first=0) for food, n in COUNTS["test"].items()}
    found["test as train"] = {food: draw("train", food, n) for food, n in COUNTS["test"].items()}
    return found


def check_files(folder: Path) -> None:
    """Raise Wrong where a picture has another size than was asked."""
    from PIL import Image

    for file in sorted(file for part in COUNTS for file in (folder / part).glob("*/*")):
        with Image.open(file) as picture:
            if picture.size != (SIZE, SIZE):
                sides = "{} x {}".format(*picture.size)
                raise Wrong("other_size", f"a drawing has {sides} pixels, and size = {SIZE}: hand it on to draw_food")


def thumbnails(folder: Path) -> dict[str, dict[str, list[torch.Tensor]]]:
    """A folder's pictures, small, by part and class."""
    from PIL import Image

    found = {}
    for part in COUNTS:
        classes = [child for child in sorted((folder / part).iterdir()) if child.is_dir()]
        found[part] = {child.name: [small(Image.open(file)) for file in sorted(child.iterdir())] for child in classes}
    return found


def small(picture) -> torch.Tensor:
    """16 x 16 pixels, (16, 16, C): what a JPEG loses doesn't show."""
    import numpy as np

    return torch.from_numpy(np.array(picture.convert("RGB").resize((16, 16), resample=4))).float()


def among(picture: torch.Tensor, others: list[torch.Tensor]) -> bool:
    return any((picture - other).abs().mean() < 4 for other in others)


def check_drawings(found: dict, before: dict, times: int) -> None:
    counted = {part: {name: len(files) for name, files in found[part].items()} for part in found}
    old = {part: {name: len(files) for name, files in before[part].items()} for part in found}
    more = {name: times * count for name, count in old["train"].items()}
    for part in found:
        if missing := [name for name in old[part] if not counted[part].get(name)]:
            raise Wrong("class_missing", f"{part} has no drawings of {', '.join(missing)}: each class has a folder")
    if counted["train"] == old["train"]:
        text = (
            f"there are as many training drawings as before, not {times} times as many: does each have a name of its "
            "own? A file replaces one of the same name"
        )
        raise Wrong("as_many_as_before", text)
    if counted["test"] == {name: times * count for name, count in old["test"].items()}:
        text = "the test set has grown as well: then a change of the accuracy may come from either. Leave it as it is"
        raise Wrong("test_grown", text)
    if counted["train"] != more:
        raise Wrong("other_count", f"the training drawings are {counted['train']}, and {more} were expected")
    if counted["test"] != old["test"]:
        raise Wrong("other_count", f"the test drawings are {counted['test']}, and {old['test']} were expected")
    check_leaks(found, before, times)


def check_leaks(found: dict, before: dict, times: int) -> None:
    test = [picture for files in before["test"].values() for picture in files]
    train = [picture for files in found["train"].values() for picture in files]
    if any(among(picture, test) for picture in train):
        text = "drawings of the test set are among those to train on, so a model is tested on what it has learned"
        raise Wrong("test_in_train", text)
    if any(among(picture, train[:number]) for number, picture in enumerate(train)):
        text = "some drawings are copies of others, and a copy teaches nothing new: give each picture a seed of its own"
        raise Wrong("copies", text)

    def tested_on(known: str) -> bool:
        return all(among(picture, before[known][name]) for name, files in found["test"].items() for picture in files)

    if not tested_on("test"):
        if tested_on("test from 0"):
            text = "the pictures are counted from 0, so the test drawings are others than before: count from 1"
            raise Wrong("counted_from_0", text)
        if tested_on("test as train"):
            text = (
                "the test drawings have the seeds of the training part, so they are training pictures: hand on the part"
            )
            raise Wrong("test_as_train", text)
        text = (
            "the test drawings are others than before, so two results can't be compared: draw them at `size`, with "
            'picture_seed(42, "test", food, number), and leave the 42'
        )
        raise Wrong("other_test_set", text)
    kept = [among(picture, found["train"][name]) for name, files in before["train"].items() for picture in files]
    if not all(kept):
        text = "the drawings that were there before aren't among the new ones: add to them, so that one thing changes"
        raise Wrong("old_ones_missing", text)


# Exercise 4: a number


def undecayed(variant: str = "ViT-B/16", num_classes: int = 3) -> dict[str, int]:
    """How many of a ViT's parameters don't decay, by what they are, and how many do."""
    with torch.device("meta"):
        vit = ViT.from_variant(variant, num_classes)
    found = dict.fromkeys(("class token", "positions", "LayerNorm scales", "LayerNorm shifts", "biases", "weights"), 0)
    norms = {name for name, module in vit.named_modules() if isinstance(module, nn.LayerNorm)}
    for name, parameter in vit.named_parameters():
        holder, _, last = name.rpartition(".")
        if holder in norms:
            kind = "LayerNorm scales" if last == "weight" else "LayerNorm shifts"
        elif not holder:
            kind = "class token" if name == "class_embedding" else "positions"
        else:
            kind = "biases" if last.endswith("bias") else "weights"
        found[kind] += parameter.numel()
    return found


@check
def undecayed_parameters(attempt) -> str:
    """How many parameters of ViT-B/16 with three classes take no weight decay."""
    parts = undecayed()
    weights = parts.pop("weights")
    right = sum(parts.values())
    token_and_positions = parts["class token"] + parts["positions"]
    norms = parts["LayerNorm scales"] + parts["LayerNorm shifts"]
    block = 13 * 768  # biases: 3 D for queries, keys and values, D, 4 D and D; two LayerNorms of 2 D
    tiny = undecayed("ViT-Ti/16")
    wrongs = (
        (
            "by_dimensions",
            right - token_and_positions,
            "class token and positions are missing: they have three dimensions, and still they don't decay",
        ),
        ("no_positions", right - parts["positions"], "the positions are missing"),
        (
            "no_class_token",
            right - parts["class token"],
            "768 are missing: either the class token, or the scale of the last LayerNorm, which is classifier.0.weight",
        ),
        (
            "names_with_dots",
            right - 12 * 3 * 768 - 768,
            "in_proj_bias of each block is missing, and the scale of the last LayerNorm, classifier.0.weight: look at "
            "the names",
        ),
        ("one_block", right - 11 * block, "this is with one block: the list above leaves out eleven of twelve"),
        (
            "one_block",
            right - token_and_positions - 11 * block,
            "this is with one block of twelve, and without class token and positions, which don't decay either",
        ),
        ("tensors", 12 * 8 + 6, "this is how many tensors they are: count the numbers in them, parameter.numel()"),
        ("head_too", right + 3 * 768, "the head's weights are among them: they are a matrix, which decays"),
        (
            "kernel_too",
            right + 768 * 768,
            "the patch embedding's kernel is among them: it has four dimensions, but it is the matrix E, which decays",
        ),
        ("no_layer_norms", right - norms, "the LayerNorms are missing: a scale and a shift each"),
        ("no_scales", right - parts["LayerNorm scales"], "the LayerNorms' scales are missing, which are named weight"),
        (
            "names_with_bias",
            parts["biases"] + parts["LayerNorm shifts"],
            "these are the parameters whose name ends in bias: LayerNorms' scales, class token and positions are more",
        ),
        ("biases_alone", parts["biases"], "these are the biases of linear layers and the convolution alone"),
        ("attention_biases", right - 12 * 3 * 768, "the biases of queries, keys and values are missing"),
        ("decayed", weights, "these are those that do decay: the question is about the others"),
        ("all", weights + right, "these are all parameters"),
        ("tiny", sum(tiny.values()) - tiny["weights"], "this is ViT-Ti/16, the model of section 11.4: take ViT-B/16"),
        ("thousand_classes", right + 997, "this is with 1,000 classes: there are three"),
    )
    why = f"{right / (weights + right):.2%} of all: weight decay is about the matrices, and they are nearly everything."
    return same_number(attempt, right, wrongs, why)

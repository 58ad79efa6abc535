"""Checks of notebook 09: training."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from going_modular.going_modular.checks.attempt import result_of
from going_modular.going_modular.checks.compare import same_number
from going_modular.going_modular.checks.verdict import Wrong, check


def numbers(result, count: int, what: str) -> list[float]:
    """The learner's numbers as floats."""
    if not isinstance(result, (tuple, list)) or len(result) != count:
        raise Wrong("not_a_pair", f"{what} were expected, and your code returns {result!r:.80}")
    return [float(torch.as_tensor(number).detach()) for number in result]


def near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-6)


def network() -> nn.Module:
    """A classifier that dropout changes, small enough for a check."""
    return nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.GELU(), nn.Dropout(0.5), nn.Linear(8, 3))


def batches(sizes: tuple) -> list:
    return [(torch.randn(size, 3, 2, 2), torch.randint(3, (size,))) for size in sizes]


# Exercise 1: evaluate(model, dataloader, loss_fn)


@check
def evaluate(attempt) -> str:
    """evaluate(model, dataloader, loss_fn) -> (loss, accuracy), averaged over images, in eval mode, no gradients."""
    seen = []

    def look(model, inputs) -> None:
        seen.append((model.training, torch.is_grad_enabled()))

    for sizes in ((7, 7, 1), (4, 9)):
        model, data = network().train(), batches(sizes)
        hook = model.register_forward_pre_hook(look)
        result = result_of(attempt, model, data, nn.CrossEntropyLoss(), what=f"batches of {sizes} images")
        hook.remove()
        loss, accuracy = numbers(result, 2, "two numbers, loss and accuracy,")
        if any(training for training, _ in seen):
            raise Wrong("train_mode", "the model is in train mode, so dropout acts: call model.eval() first")
        if any(recording for _, recording in seen):
            raise Wrong("records_gradients", "gradients are recorded for nothing: use torch.inference_mode()")
        compare_metrics(model.eval(), data, loss, accuracy)
    return "Right on batches of unequal size: averaged over images, in eval mode, without gradients."


def compare_metrics(model, data, loss: float, accuracy: float) -> None:
    with torch.no_grad():
        outputs = [(model(images), labels) for images, labels in data]
    losses = [F.cross_entropy(logits, labels).item() for logits, labels in outputs]
    softmaxed = [F.cross_entropy(logits.softmax(dim=1), labels).item() for logits, labels in outputs]
    right = [(logits.argmax(dim=1) == labels).sum().item() for logits, labels in outputs]
    sizes = [len(labels) for _, labels in data]
    images, count = sum(sizes), len(sizes)
    of_batches = sum(r / s for r, s in zip(right, sizes)) / count
    weighted = sum(value * size for value, size in zip(losses, sizes)) / images
    for name, wrong, text in (
        ("batch_averages", sum(losses) / count, "it is the average of the batches' averages: weigh each by its images"),
        ("sum_of_batches", sum(losses), "it is the sum over batches: divide, weighing each batch by its images"),
        ("sum_over_images", weighted * images, "it is the sum over images: divide by their number"),
        ("last_batch", losses[-1], "it is the last batch's alone: add up all batches"),
        (
            "softmax_twice",
            sum(value * size for value, size in zip(softmaxed, sizes)) / images,
            "a softmax goes in front of the loss function: cross-entropy takes logits, and has its own",
        ),
        ("divided_twice", weighted / count, "it is divided by the number of batches as well: by the images alone"),
    ):
        if near(loss, wrong) and not near(loss, weighted):
            raise Wrong(name, f"the loss is {loss:.4f}: {text}")
    if not near(loss, weighted):
        raise Wrong("other_loss", f"the loss is {loss:.4f}, and {weighted:.4f} was expected")
    for name, wrong, text in (
        ("batch_averages", of_batches, "it is the average of the batches' averages: weigh each by its images"),
        ("count", sum(right), "it is the number of right answers: divide by the number of images"),
        ("per_cent", 100 * sum(right) / images, "it is in per cent: a share from 0 to 1 was expected"),
        ("last_batch", right[-1] / sizes[-1], "it is the last batch's alone: add up all batches"),
        ("count_a_batch", sum(right) / count, "it is right answers a batch: divide by the number of images"),
        ("error_rate", 1 - sum(right) / images, "it is the share of wrong answers"),
    ):
        if near(accuracy, wrong) and not near(accuracy, sum(right) / images):
            raise Wrong(name, f"the accuracy is {accuracy:.4f}: {text}")
    if not near(accuracy, sum(right) / images):
        raise Wrong("other_accuracy", f"the accuracy is {accuracy:.4f}, and {sum(right) / images:.4f} was expected")


# Exercise 2: training_step(model, images, labels, loss_fn, optimizer)


class WatchedSGD(torch.optim.SGD):
    """SGD that notes what is called, in which order."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.calls = []

    def zero_grad(self, *arguments, **named):
        self.calls.append("zero_grad")
        super().zero_grad(*arguments, **named)

    def step(self, *arguments, **named):
        self.calls.append("step")
        return super().step(*arguments, **named)


STEP_MISTAKES = {
    ("backward", "step"): (
        "no_zero_grad",
        "the old gradients are never cleared, so each step adds to the last: call optimizer.zero_grad()",
    ),
    ("zero_grad", "step"): ("no_backward", "loss.backward() is missing, so there is no gradient to step along"),
    ("step",): ("no_backward", "loss.backward() is missing, so there is no gradient to step along"),
    ("zero_grad", "backward"): ("no_step", "optimizer.step() is missing, so the weights stay as they are"),
    ("backward",): ("no_step", "optimizer.step() is missing, so the weights stay as they are"),
    ("backward", "zero_grad", "step"): (
        "cleared_before_step",
        "the gradients are cleared between backward() and step(): clear them before backward()",
    ),
    ("zero_grad", "step", "backward"): (
        "step_before_backward",
        "step() comes before backward(), so it has no gradient of this batch: backward first",
    ),
    ("step", "zero_grad", "backward"): (
        "step_before_backward",
        "step() comes before backward(), so it takes the last batch's gradient: backward first",
    ),
    (): (
        "nothing_done",
        "neither zero_grad(), backward() nor step() is called: this computes a loss and learns nothing",
    ),
    ("zero_grad",): ("no_backward", "loss.backward() is missing, and step() too"),
}


@check
def training_step(attempt) -> str:
    """training_step(model, images, labels, loss_fn, optimizer) -> the loss as a float; the model has learned."""
    model, loss_fn = network().eval(), nn.CrossEntropyLoss()
    optimizer = WatchedSGD(model.parameters(), lr=0.1)
    modes = []
    model.register_forward_pre_hook(lambda m, inputs: modes.append(m.training))
    model[1].weight.register_hook(lambda gradient: optimizer.calls.append("backward"))
    for images, labels in batches((5, 5, 3)):
        optimizer.calls.clear()
        before = copy.deepcopy(model.state_dict())
        random_state = torch.get_rng_state()
        loss = result_of(attempt, model, images, labels, loss_fn, optimizer, what=f"{len(images)} images")
        calls = tuple(optimizer.calls)
        if calls in STEP_MISTAKES:
            raise Wrong(*STEP_MISTAKES[calls])
        if not modes[-1]:
            raise Wrong("eval_mode", "the model stays in eval mode, so dropout doesn't act: call model.train() first")
        if calls not in (("zero_grad", "backward", "step"), ("backward", "step", "zero_grad")):
            raise Wrong("other_order", f"the calls are {', '.join(calls)}: zero_grad, backward, step was expected")
        compare_loss(loss, before, random_state, images, labels)
    if not isinstance(loss, float):
        text = (
            f"the loss comes back as a {type(loss).__name__}, which keeps the whole graph in memory: return loss.item()"
        )
        raise Wrong("loss_with_graph", text)
    return "Right in three steps: cleared, backward, step, in train mode, and the loss is a number."


def compare_loss(loss, before: dict, random_state, images, labels) -> None:
    """Raise Wrong unless the loss is that of the weights before the step."""
    model = network().train()
    model.load_state_dict(before)
    now = torch.get_rng_state()
    torch.set_rng_state(random_state)
    with torch.no_grad():
        logits = model(images)
    torch.set_rng_state(now)
    expected = F.cross_entropy(logits, labels).item()
    value = float(loss.detach()) if isinstance(loss, torch.Tensor) else float(loss)
    if near(value, expected):
        return
    if near(value, F.cross_entropy(logits.softmax(dim=1), labels).item()):
        raise Wrong("softmax_twice", "a softmax goes in front of the loss function: cross-entropy takes logits")
    if near(value, expected * len(images)):
        raise Wrong("sum", "this is the loss summed over the images: the loss function's mean was expected")
    raise Wrong(
        "other_loss", f"the loss is {value:.4f}, and {expected:.4f} was expected: that of the weights before the step"
    )


# Exercise 3: find_learning_rate(model, batches, loss_fn, lowest, highest)


def finder(model, data, rates, clear=True, after=False, step=True):
    """The losses of a learning-rate finder with SGD, and of versions with one mistake."""
    model, losses = copy.deepcopy(model).train(), []
    optimizer = torch.optim.SGD(model.parameters())
    for rate, (images, labels) in zip(rates, data):
        optimizer.param_groups[0]["lr"] = rate
        loss = F.cross_entropy(model(images), labels)
        if clear:
            optimizer.zero_grad()
        loss.backward()
        if step:
            optimizer.step()
        losses.append(F.cross_entropy(model(images), labels).item() if after else loss.item())
    return losses


def rising(lowest: float, highest: float, steps: int, last: int = 1) -> list[float]:
    return [lowest * (highest / lowest) ** (step / (steps - last)) for step in range(steps)]


def all_near(one, other, tolerance: float = 1e-3) -> bool:
    return len(one) == len(other) and all(math.isclose(a, b, rel_tol=tolerance) for a, b in zip(one, other))


@check
def learning_rate_finder(attempt) -> str:
    """find_learning_rate(model, batches, loss_fn, lowest, highest) -> (rates, losses), one step of SGD a batch."""
    for steps, lowest, highest in ((9, 1e-3, 10.0), (5, 1e-2, 1.0)):
        model = nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.GELU(), nn.Linear(8, 3))
        data, before = batches((6,) * steps), copy.deepcopy(model.state_dict())
        where = f"{steps} batches, rates from {lowest} to {highest}"
        result = result_of(attempt, model, data, nn.CrossEntropyLoss(), lowest, highest, what=where)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise Wrong("not_a_pair", f"two lists, rates and losses, were expected, not {type(result).__name__}")
        rates, losses = (numbers(values, len(values), "numbers") for values in result)
        if len(rates) != steps or len(losses) != steps:
            text = f"{len(rates)} rates and {len(losses)} losses for {steps} batches: one of each for every batch"
            raise Wrong("other_length", text)
        if not all(torch.equal(before[name], value) for name, value in model.state_dict().items()):
            raise Wrong("model_changed", "the model comes out changed: work on copy.deepcopy(model)")
        compare_rates(rates, lowest, highest)
        compare_losses(model, data, rates, losses)
    return "Right with two ranges: the rates rise by one factor, and the model you handed over stays as it was."


def compare_rates(rates: list[float], lowest: float, highest: float) -> None:
    steps = len(rates)
    if all_near(rates, rising(lowest, highest, steps)):
        return
    linear = [lowest + (highest - lowest) * step / (steps - 1) for step in range(steps)]
    logarithms = [math.log10(rate) for rate in rising(lowest, highest, steps)]
    for name, wrong, text in (
        ("linear", linear, "they rise by equal sums: multiply by one factor, so that small rates get their share"),
        (
            "end_not_reached",
            rising(lowest, highest, steps, 0),
            "the last is not highest: there is one step less than batches",
        ),
        ("constant", [lowest] * steps, "all rates are lowest: write the new one into optimizer.param_groups[0]"),
        ("falling", rising(highest, lowest, steps), "they fall: begin with lowest"),
        ("logarithms", logarithms, "these are the logarithms: take 10 to their power"),
        (
            "starts_late",
            rising(lowest, highest, steps + 1)[1:],
            "the first is not lowest: note the rate before you raise it",
        ),
    ):
        if all_near(rates, wrong):
            raise Wrong(name, f"the rates are {shown(rates)}: {text}")
    raise Wrong(
        "other_rates", f"the rates are {shown(rates)}, and {shown(rising(lowest, highest, steps))} were expected"
    )


def compare_losses(model, data, rates: list[float], losses: list[float]) -> None:
    if all_near(losses, finder(model, data, rates), tolerance=1e-5):
        return
    for name, wrong, text in (
        ("no_step", finder(model, data, rates, step=False), "the model doesn't learn: optimizer.step() is missing"),
        ("no_zero_grad", finder(model, data, rates, clear=False), "the old gradients are never cleared"),
        (
            "loss_after_step",
            finder(model, data, rates, after=True),
            "they are measured after the step: note them before",
        ),
        (
            "rate_not_set",
            finder(model, data, [rates[0]] * len(rates)),
            "each step takes the first rate: set it in param_groups",
        ),
        ("one_step_late", finder(model, data, [rates[0], *rates[:-1]]), "each step takes the rate before its own"),
        (
            "one_step_early",
            finder(model, data, [*rates[1:], rates[-1] ** 2 / rates[-2]]),
            "each step takes the next rate",
        ),
    ):
        if all_near(losses, wrong, tolerance=1e-5):
            raise Wrong(name, f"the rates are right, and the losses are others: {text}")
    raise Wrong(
        "other_losses", f"the losses are {shown(losses)}, and {shown(finder(model, data, rates))} were expected"
    )


def shown(values: list[float]) -> str:
    return ", ".join(f"{value:.4g}" for value in values[:3]) + (", ..." if len(values) > 3 else "")


# Exercise 4: a number


def first_above(share: float, upper: bool = False) -> int:
    """The fewest right answers of 75 whose 95 % interval begins (or ends) above a share."""
    from going_modular.going_modular import predictions  # here, since it loads matplotlib, which takes its time

    return next(n for n in range(76) if predictions.accuracy_interval(n, 75)[upper] > share)


@check
def answers_needed(attempt) -> str:
    """How many of 75 answers must be right for the 95 % interval to lie above the fixed answer's 31 of 75."""
    right = first_above(31 / 75)
    wrongs = (
        ("fixed_answer", 31, "this is what the fixed answer itself gets"),
        ("one_more", 32, "one more than the fixed answer is well within chance: look at the interval's lower end"),
        ("one_too_few", right - 1, "with this many, the interval still reaches down to 31 of 75"),
        ("upper_end", first_above(31 / 75, upper=True), "this is where the upper end passes it: look at the lower end"),
        ("a_third", first_above(1 / 3), "this is for a third, blind guessing: the fixed answer gets 31 of 75"),
        ("half", 38, "half is no limit here: look at the interval's lower end"),
        ("all", 75, "all right is enough, but fewer are, too"),
    )
    why = f"{right - 31} more than the fixed answer: with 75 images, smaller advantages can be chance."
    return same_number(attempt, right, wrongs, why)

"""checks, notebook 09: what is right passes, and each wrong version gets its own verdict."""

import copy

import pytest
import torch
from check_tools import expect, wrong_versions


def step(calls, mode="train", softmax=False, graph=False, after=False):
    """A training step that makes these calls in this order."""

    def training_step(model, images, labels, loss_fn, optimizer):
        getattr(model, mode)()
        logits = model(images)
        loss = loss_fn(logits.softmax(dim=1) if softmax else logits, labels)
        for call in calls.split():
            {"zero": optimizer.zero_grad, "backward": loss.backward, "step": optimizer.step}[call]()
        if after:
            loss = loss_fn(model(images), labels)
        return loss if graph else loss.item()

    return training_step


STEP = wrong_versions(
    "training_step",
    ("no_zero_grad", step("backward step")),
    ("no_backward", step("zero step")),
    ("no_backward", step("step")),
    ("no_step", step("zero backward")),
    ("no_step", step("backward")),
    ("cleared_before_step", step("backward zero step")),
    ("step_before_backward", step("zero step backward")),
    ("nothing_done", step("")),
    ("eval_mode", step("zero backward step", mode="eval")),
    ("softmax_twice", step("zero backward step", softmax=True)),
    ("loss_with_graph", step("zero backward step", graph=True)),
    ("other_loss", step("zero backward step", after=True)),
    ("other_order", step("zero backward step step")),
    ("not_attempted", lambda model, images, labels, loss_fn, optimizer: None),
    ("error", lambda model, images, labels, loss_fn, optimizer: loss_fn(labels, model(images))),
    ("signature", lambda model, batch: 0.0),
)


def metrics(combine=None, mode="eval", gradients=False, softmax=False):
    """An evaluation whose numbers `combine` makes from lists: losses, right answers and sizes of the batches."""

    def evaluate(model, dataloader, loss_fn):
        getattr(model, mode)()
        losses, right, sizes = [], [], []
        with torch.set_grad_enabled(gradients):
            for images, labels in dataloader:
                logits = model(images).softmax(dim=1) if softmax else model(images)
                losses.append(loss_fn(logits, labels).item())
                right.append((logits.argmax(dim=1) == labels).sum().item())
                sizes.append(len(labels))
        return (combine or good)(losses, right, sizes)

    return evaluate


def good(losses, right, sizes):
    return sum(value * size for value, size in zip(losses, sizes)) / sum(sizes), sum(right) / sum(sizes)


def with_loss(function):
    return metrics(lambda losses, right, sizes: (function(losses, sizes), good(losses, right, sizes)[1]))


def with_accuracy(function):
    return metrics(lambda losses, right, sizes: (good(losses, right, sizes)[0], function(right, sizes)))


EVALUATE = wrong_versions(
    "evaluate",
    ("batch_averages", with_loss(lambda losses, sizes: sum(losses) / len(losses))),
    ("batch_averages", with_accuracy(lambda right, sizes: sum(r / s for r, s in zip(right, sizes)) / len(sizes))),
    ("train_mode", metrics(mode="train")),
    ("records_gradients", metrics(gradients=True)),
    ("softmax_twice", metrics(softmax=True)),
    ("sum_of_batches", with_loss(lambda losses, sizes: sum(losses))),
    ("sum_over_images", with_loss(lambda losses, sizes: sum(value * size for value, size in zip(losses, sizes)))),
    ("last_batch", with_loss(lambda losses, sizes: losses[-1])),
    ("last_batch", with_accuracy(lambda right, sizes: right[-1] / sizes[-1])),
    ("count", with_accuracy(lambda right, sizes: sum(right))),
    ("per_cent", with_accuracy(lambda right, sizes: 100 * sum(right) / sum(sizes))),
    ("count_a_batch", with_accuracy(lambda right, sizes: sum(right) / len(right))),
    ("error_rate", with_accuracy(lambda right, sizes: 1 - sum(right) / sum(sizes))),
    ("other_loss", with_loss(lambda losses, sizes: sum(losses) / sum(sizes))),
    ("not_a_pair", metrics(lambda losses, right, sizes: good(losses, right, sizes)[0])),
)


def finder(rates=None, order="zero backward step", on_copy=True, set_rate=True, after=False, pick=None):
    def find_learning_rate(model, batches, loss_fn, lowest, highest):
        model = copy.deepcopy(model) if on_copy else model
        optimizer = torch.optim.SGD(model.parameters(), lr=lowest)
        factor = (highest / lowest) ** (1 / (len(batches) - 1))
        chosen = [lowest * factor**n for n in range(len(batches))]
        if rates:
            chosen = rates(lowest, highest, len(batches))
        losses = []
        one_step = step(order, after=after)
        for number, (images, labels) in enumerate(batches):
            if set_rate:
                optimizer.param_groups[0]["lr"] = chosen[(pick or (lambda n, count: n))(number, len(chosen))]
            losses.append(one_step(model, images, labels, loss_fn, optimizer))
        return chosen, losses

    return find_learning_rate


def powers(start, end):
    """A ladder of rates with one factor, from the start-th to the end-th of n - 1 steps."""

    def rates(lowest, highest, n):
        return [lowest * (highest / lowest) ** ((start + k) / (n - 1 + end)) for k in range(n)]

    return rates


FINDER = wrong_versions(
    "learning_rate_finder",
    ("linear", finder(lambda low, high, n: torch.linspace(low, high, n).tolist())),
    ("end_not_reached", finder(powers(0, 1))),
    ("starts_late", finder(powers(1, 1))),
    ("constant", finder(lambda low, high, n: [low] * n)),
    ("falling", finder(lambda low, high, n: powers(0, 0)(high, low, n))),
    ("other_rates", finder(lambda low, high, n: [low * 2**k for k in range(n)])),
    ("model_changed", finder(on_copy=False)),
    ("no_step", finder(order="zero backward")),
    ("no_zero_grad", finder(order="backward step")),
    ("loss_after_step", finder(after=True)),
    ("rate_not_set", finder(set_rate=False)),
    ("one_step_late", finder(pick=lambda number, count: max(number - 1, 0))),
    ("other_length", lambda model, batches, *rest: ([0.1], [1.0])),
    ("not_a_pair", lambda model, batches, *rest: [0.1, 0.2, 0.3]),
)

NUMBER = wrong_versions(
    "answers_needed",
    ("fixed_answer", 31),
    ("one_more", 32),
    ("one_too_few", 39),
    ("upper_end", 23),
    ("a_third", 34),
    ("half", 38),
    ("all", 75),
    ("other_number", 50),
)


@pytest.mark.parametrize("exercise, name, attempt", [*STEP, *EVALUATE, *FINDER, *NUMBER])
def test_wrong_versions(exercise, name, attempt):
    expect(exercise, name, attempt)


@pytest.mark.parametrize(
    "exercise, attempt",
    [
        ("training_step", step("zero backward step")),
        ("training_step", step("backward step zero")),
        ("evaluate", metrics()),
        ("learning_rate_finder", finder()),
        ("answers_needed", 40),
    ],
)
def test_right_versions(exercise, attempt):
    assert expect(exercise, "passed", attempt).passed

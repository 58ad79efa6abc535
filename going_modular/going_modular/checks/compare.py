"""Comparing a learner's result with a reference, and naming the mistake where they differ."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from numbers import Number
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from going_modular.going_modular.checks.attempt import call, described
from going_modular.going_modular.checks.verdict import NotAttempted, Wrong

OTHER_EPS = "LayerNorm's eps is 1e-5, PyTorch's default: the paper's released code has 1e-6"
TOLERANCE = 1e-5  # as in the notebooks, for numbers around 1


class Mistake(NamedTuple):
    """A common mistake: `result`, called as the reference is, gives what code with this mistake gives."""

    name: str
    text: str
    result: Callable


def close(got: torch.Tensor, expected: torch.Tensor, tolerance: float = TOLERANCE) -> bool:
    """Equal shapes, and equal numbers within the tolerance, which grows with the largest number."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    return bool(torch.allclose(got, expected, rtol=0, atol=tolerance * max(1.0, expected.abs().max().item())))


def same(
    got, expected: torch.Tensor, dims: str, mistakes: Iterable[Mistake], inputs: Sequence, tolerance: float = TOLERANCE
) -> None:
    """Raise Wrong unless the two tensors are the same. dims names the dimensions, as in "B N D"."""
    if isinstance(got, (tuple, list)):
        text = f"your code returns a {type(got).__name__} of {len(got)} things: return the tensor alone"
        raise Wrong("tuple", text)
    if not isinstance(got, torch.Tensor):
        raise Wrong("no_tensor", f"your code returns a {type(got).__name__}, and a tensor was expected")
    if close(got, expected, tolerance):
        return
    shape = f"shape {tuple(got.shape)}: " if got.shape != expected.shape else ""
    for mistake in mistakes:
        try:
            wrong = mistake.result(*inputs)
        except (RuntimeError, ValueError, IndexError, TypeError):  # this mistake is not possible with these inputs
            continue
        if close(got.detach(), wrong.detach(), tolerance):
            raise Wrong(mistake.name, shape + mistake.text)
    if got.shape != expected.shape:
        raise shape_difference(tuple(got.shape), tuple(expected.shape), dims)
    if got.dtype != expected.dtype:
        raise Wrong("dtype", f"the result holds {got.dtype}, and {expected.dtype} was expected")
    raise value_difference(got.detach(), expected.detach(), inputs)


def shape_difference(got: tuple, expected: tuple, dims: str) -> Wrong:
    names = "(" + ", ".join(dims.split()) + ")"
    if len(got) != len(expected):
        return Wrong("dimensions", f"shape {got} has {len(got)} dimensions: {names} = {expected} was expected")
    if got == (*expected[:-2], expected[-1], expected[-2]):
        text = f"shape {got}: the last two dimensions are the other way round, {names} = {expected} was expected"
        return Wrong("last_two_swapped", text)
    if sorted(got) == sorted(expected):
        return Wrong("order", f"shape {got}: the dimensions stand in another order, {names} = {expected} was expected")
    off = [f"{name} is {g} in place of {e}" for name, g, e in zip(dims.split(), got, expected) if g != e]
    return Wrong("shape", f"shape {got}: {names} = {expected} was expected, so {', '.join(off)}")


def value_difference(got: torch.Tensor, expected: torch.Tensor, inputs: Sequence = ()) -> Wrong:
    """The shape is right and the numbers are not: what can be said about them."""
    if not got.isfinite().all():
        return Wrong("not_finite", "the result holds NaN or infinite numbers: look for a division by 0 or an exp")
    ordered, wanted = got.flatten().sort().values, expected.flatten().sort().values
    if torch.allclose(ordered, wanted, atol=TOLERANCE) and got.numel() > 1:
        text = "all the right numbers, in the wrong places: a reshape stands where a permute or transpose is needed"
        return Wrong("scrambled", text)
    difference = got - expected
    for value in inputs:
        if is_float(value) and value.shape == expected.shape and value.any():
            if close(difference, value.detach()):
                return Wrong("input_added", "this is the right result plus the input: leave the sum out here")
            if close(difference, -value.detach()):
                return Wrong("input_missing", "this is the right result without the input: it is to be added")
    if got.numel() > 1 and (got == got.flatten()[0]).all():
        return Wrong("constant", f"every number of the result is {got.flatten()[0]:.4g}: nothing of the input is left")
    if difference.numel() > 1 and difference.std() < TOLERANCE:
        return Wrong("shifted", f"every number is off by {difference.mean():.4g}: something is added or left out")
    factor = (got * expected).sum() / (expected * expected).sum()
    if torch.allclose(got, factor * expected, atol=TOLERANCE):
        return Wrong("scaled", f"every number is {factor:.4g} times the right one: a factor is missing or too many")
    if got.ndim == 3 and got.shape[1] > 1:
        off = (difference.abs().amax(dim=(0, 2)) > TOLERANCE).nonzero().flatten().tolist()
        if len(off) < got.shape[1] / 2:  # of more than half, a list helps nobody
            return Wrong("some_tokens", f"only some tokens are wrong, counted from 0: {off}")
    if got.ndim > 1 and got.shape[0] > 1:
        off = (difference.flatten(1).abs().amax(dim=1) > TOLERANCE).nonzero().flatten().tolist()
        if len(off) < got.shape[0] / 2:
            return Wrong("some_rows", f"only some entries of the first dimension are wrong, counted from 0: {off}")
    text = (
        f"the shape is right, the numbers are not: the largest difference is {difference.abs().max():.2g}. Work out "
        "one small case by hand, and compare step by step"
    )
    return Wrong("values", text)


def same_gradients(got, expected, sources: dict[str, tuple[torch.Tensor, torch.Tensor]], tolerance=1e-4) -> None:
    """Raise Wrong unless both results have the same gradients.

    sources: {what: (the tensor that the learner's result came from, the one that the expected result came from)}.
    """
    if not got.requires_grad:
        text = "the numbers are right, but no gradient gets through: leave out detach(), .data, .item() and no_grad()"
        raise Wrong("detached", text)
    weights = torch.randn(expected.shape)
    ours, theirs = zip(*sources.values())
    got_gradients = backward((got * weights).sum(), ours)
    gradients = torch.autograd.grad((expected * weights).sum(), theirs, allow_unused=True)
    for what, one, other in zip(sources, got_gradients, gradients):
        if other is None or not other.any():
            continue
        if one is None or not one.any():
            text = (
                f"the numbers are right, but no gradient reaches {what}: detach(), .data, no_grad() or a new "
                "nn.Parameter cuts it off"
            )
            raise Wrong("detached", text)
        if not close(one, other, tolerance):
            raise Wrong("gradient", f"the numbers are right, but the gradient of {what} is another one")


def backward(total: torch.Tensor, sources: Sequence[torch.Tensor]) -> tuple:
    """The gradients of the learner's result; Wrong where its code has overwritten what they are computed from."""
    try:
        return torch.autograd.grad(total, sources, allow_unused=True)
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        text = (
            "the numbers are right, but you write into a tensor (an assignment like z += ... does), and the backward "
            "pass needs what stood there: make a new tensor, as in z = z + ..."
        )
        raise Wrong("in_place", text) from None


def same_function(
    attempt: Callable,
    reference: Callable,
    cases: Sequence[tuple],
    dims: str,
    mistakes: Sequence[Mistake] = (),
    gradients: bool = True,
    tolerance: float = TOLERANCE,
) -> str:
    """Compare a function with the reference on every case, a tuple of inputs. Returns what to say if it is right."""
    if isinstance(attempt, torch.Tensor) or not callable(attempt):
        raise Wrong("no_function", "hand over the function itself, without brackets: a check calls it in several sizes")
    names = list(inspect.signature(reference).parameters)
    passed = []
    for inputs in cases:
        where = ", ".join(f"{name} {described(value)}" for name, value in zip(names, inputs))
        inputs = [v.clone().requires_grad_(gradients) if is_float(v) else v for v in inputs]
        try:
            got, copies = call(attempt, *inputs, where=where)
            expected = reference(*inputs)
            same(got, expected, dims, mistakes, inputs, tolerance)
            if gradients:
                pairs = {name: (a, b) for name, a, b in zip(names, copies, inputs) if is_float(b)}
                same_gradients(got, expected, pairs)
        except Wrong as wrong:
            if passed:
                text = str(wrong).removeprefix(f"with {where} ")
                raise Wrong(wrong.name, f"right with {passed[-1]}, but with {where}: {text}") from None
            raise
        passed.append(where)
    return f"Right in {len(cases)} sizes" + (", outputs and gradients." if gradients else ".")


def is_float(value) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def same_module(
    module: nn.Module,
    reference: Callable,
    inputs: Sequence[torch.Tensor],
    dims: str,
    mistakes: Sequence[Mistake] = (),
    tolerance: float = TOLERANCE,
) -> None:
    """Compare a learner's module with reference(module, x), which computes from the module's own parameters."""
    for x in inputs:
        x = x.clone().requires_grad_()
        got, (copy,) = call(module, x, where=f"an input of shape {tuple(x.shape)}")
        expected = reference(module, x)
        same(got, expected, dims, mistakes, (module, x), tolerance)
        parameters = {f"the parameter {name}": (p, p) for name, p in module.named_parameters() if p.requires_grad}
        same_gradients(got, expected, {"the input": (copy, x), **parameters})


def normed(module: nn.Module, x: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """What a module's layer_norm gives, from its own weights, with an eps as given."""
    return F.layer_norm(x, x.shape[-1:], module.layer_norm.weight, module.layer_norm.bias, eps)


def shapes_of(module: nn.Module) -> dict[str, tuple]:
    return {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}


def layer_shapes(dim: int, **linear: tuple[int, int]) -> dict[str, tuple]:
    """The shapes of layer_norm's parameters and of linear layers', name = (size of the input, size of the output)."""
    shapes = {"layer_norm.weight": (dim,), "layer_norm.bias": (dim,)}
    for name, (inside, out) in linear.items():
        shapes |= {f"{name}.weight": (out, inside), f"{name}.bias": (out,)}
    return shapes


def give_noise(module: nn.Module) -> nn.Module:
    """Random values for every parameter, so that none is 0 or 1 by its starting value; outputs stay around 1."""
    norms = {id(part.weight) for part in module.modules() if isinstance(part, nn.LayerNorm)}
    with torch.no_grad():
        for parameter in module.parameters():
            if id(parameter) in norms:
                parameter.normal_(mean=1.0, std=0.2)
            elif parameter.ndim in (2, 4):
                parameter.normal_(std=parameter[0].numel() ** -0.5)
            else:
                parameter.normal_(std=0.3)
    return module


def has_parameters(module: nn.Module, shapes: dict[str, tuple], mistakes: dict[str, tuple[str, str]] | None = None):
    """Raise Wrong unless the module's parameters have exactly these names and shapes.

    mistakes: {parameter's name: (name, text)}: the verdict on a parameter that is there and has another shape.
    """
    found = {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}
    if not found and shapes:
        raise Wrong("no_parameters", "your module has no parameters: set its layers as attributes in __init__")
    for name, shape in shapes.items():
        if name not in found:
            holder, value = module, None
            for part in name.split("."):
                value = getattr(holder, part, None)
                holder = value
            if isinstance(value, nn.Parameter):
                twin = next((other for other, parameter in module.named_parameters() if parameter is value), "another")
                text = f"{name} and {twin} are one and the same parameter: build a layer of its own for each"
                raise Wrong("shared_parameters", text)
            if isinstance(value, torch.Tensor):
                text = f"{name} is a plain tensor, so the optimizer never sees it: make it an nn.Parameter"
                raise Wrong("not_a_parameter", text)
            others = [other for other in found if other not in shapes]
            yours = f"under other names you have {', '.join(others)}" if others else f"yours are {', '.join(found)}"
            raise Wrong("names", f"there is no parameter {name}; {yours}")
        if found[name] != shape:
            mistake, text = (mistakes or {}).get(name, ("parameter_shape", "compare the sizes with the arguments"))
            raise Wrong(mistake, f"{name} has the shape {found[name]}, and {shape} was expected: {text}")
    if extra := [name for name in found if name not in shapes]:
        raise Wrong("extra_parameters", f"{', '.join(extra)}: these parameters are too many")


def drop_rates(module: nn.Module, x: torch.Tensor, part: nn.Module) -> float:
    """The share of zeros in what `part` gives in train mode, while the module runs on x."""
    seen = []
    hook = part.register_forward_hook(lambda layer, inputs, output: seen.append(output))
    try:
        module.train()(x)
    finally:
        hook.remove()
        module.eval()
    return (seen[0] == 0).float().mean().item() if seen else 0.0


def same_number(
    attempt, right: float, wrongs: Iterable[tuple[str, float, str]], why: str, tolerance: float = 0.0, unit: str = ""
) -> str:
    """Compare a number with the right one; wrongs are (name, number, text). Returns `why` if it is right."""
    if isinstance(attempt, torch.Tensor) or hasattr(attempt, "item"):
        if getattr(attempt, "size", 1) not in (1, None) and not isinstance(attempt, torch.Tensor):
            raise Wrong("no_number", "one number was expected, and this holds several")
        if isinstance(attempt, torch.Tensor) and attempt.numel() != 1:
            raise Wrong("no_number", f"one number was expected, and this holds {attempt.numel()}")
        attempt = attempt.item()
    if isinstance(attempt, bool) or not isinstance(attempt, Number) or isinstance(attempt, complex):
        if callable(attempt):
            raise NotAttempted("A number was expected, and this is still a function.")
        raise Wrong("no_number", f"one number was expected, not {attempt!r}")
    if abs(attempt - right) <= tolerance:
        return why
    for name, value, text in wrongs:
        if abs(attempt - value) <= (max(tolerance, 1e-3 * abs(value)) if tolerance else 0):
            raise Wrong(name, f"{attempt:,}: {text}" if isinstance(attempt, int) else f"{attempt:.5g}: {text}")
    for factor in (100, 1000, 1e6):
        if abs(attempt - right * factor) <= tolerance * factor + 1e-9 * abs(attempt):
            raise Wrong("unit", f"this is {factor:g} times the number asked for{unit}")
        if abs(attempt * factor - right) <= tolerance + 1e-9 * abs(right):
            raise Wrong("unit", f"this is the number asked for, divided by {factor:g}{unit}")
    side = "too small" if attempt < right else "too large"
    raise Wrong("other_number", f"{attempt:,} is {side}. Work it out again with the question's own sizes.")

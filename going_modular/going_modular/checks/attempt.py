"""Running a learner's code: what it raises becomes a verdict, what isn't written yet is seen."""

import linecache
import traceback
from pathlib import Path

import torch
from torch import nn

from going_modular.going_modular.checks.verdict import NotAttempted, Wrong

SCRIPTS, STANDARD_LIBRARY = Path(__file__).parents[1], Path(traceback.__file__).parent
HINTS = {  # a part of an error's message: the mistake's name, and what it often means
    "before Module.__init__() call": ("no_super_init", "Begin __init__ with super().__init__()."),
    "unexpected keyword argument": ("signature", "Take the arguments that the exercise names, with these names."),
    "positional argument": ("signature", "Take the arguments that the exercise names, in that order."),
    "has no attribute": ("error", "Something is used under a name that was not set: compare the two spellings."),
    "mat1 and mat2 shapes": ("error", "A linear layer gets another last dimension than the one it was built for."),
    "Sizes of tensors must match except": (
        "error",
        "torch.cat needs all other dimensions equal: expand one, or name another dimension: dim=1 counts tokens.",
    ),
    "The size of tensor a": ("error", "Two tensors don't broadcast: print both shapes before this line."),
    "Expected size for first two dimensions of batch2": (
        "error",
        "A product a @ b needs a's last dimension equal to b's last but one: transpose b with transpose(-2, -1).",
    ),
    "Given normalized_shape": ("error", "LayerNorm gets another last dimension than the one it was built for."),
    "view size is not compatible": ("error", "Use reshape in place of view, or contiguous() before it."),
    "is invalid for input of size": ("error", "A reshape to a shape with another number of elements: check its sizes."),
    "a leaf Variable that requires grad": ("in_place", "Don't write into a parameter or an input: make a new tensor."),
    "modified by an inplace operation": ("in_place", "Don't write into a tensor that the gradient needs."),
    "not enough values to unpack": ("error", "The input has fewer dimensions, or the call gives fewer things back."),
    "too many values to unpack": ("error", "The input has more dimensions, or the call gives more things back."),
    "Expected more than 1 value per channel": ("batch_norm", "This looks like BatchNorm: ViT has LayerNorm."),
}


def described(value) -> str:
    """A value in a few words: the shape of a tensor, the name of a function or module, else itself."""
    if isinstance(value, torch.Tensor):
        return f"of shape {tuple(value.shape)}"
    if isinstance(value, nn.Module):
        return f"= {type(value).__name__}"
    return f"= {getattr(value, '__name__', repr(value))}"


def call(function, *inputs, where: str):
    """The learner's function on copies of the inputs.

    Raises NotAttempted where it gives nothing, and Wrong for what it raises and where it writes into its inputs.
    """
    copies = [value.detach().clone() if isinstance(value, torch.Tensor) else value for value in inputs]
    for copy, value in zip(copies, inputs):
        if isinstance(value, torch.Tensor) and value.requires_grad:
            copy.requires_grad_()
    # A view is handed over, since autograd refuses to write into a leaf and would hide the mistake.
    handed = [value.view_as(value) if isinstance(value, torch.Tensor) else value for value in copies]
    result = result_of(function, *handed, what=where)
    for now, value in zip(handed, inputs):
        if isinstance(value, torch.Tensor) and not torch.equal(now.detach(), value.detach()):
            text = (
                "your code changes its input (an assignment like x += ... does): make a new tensor, as in x = x + ..."
            )
            raise Wrong("in_place", text)
    return result, copies


def result_of(function, *inputs, what: str):
    """What the learner's function returns; NotAttempted for None and `...`. Its inputs may be changed."""
    result = guarded(lambda: function(*inputs), what)
    if result is None:
        raise NotAttempted("Your code returns nothing. If you have written it, its last line lacks a return.")
    if result is ...:
        raise NotAttempted("Your code still returns `...`.")
    return result


def guarded(function, where: str):
    """What the function returns; NotAttempted or Wrong in place of what it raises."""
    try:
        return function()
    except (NotAttempted, Wrong):
        raise
    except NotImplementedError as error:
        if 'missing the required "forward"' in str(error):
            text = (
                "your class has no method forward: look at its spelling, and at whether it is indented into the class"
            )
            raise Wrong("no_forward", text) from None
        if is_library(traceback.extract_tb(error.__traceback__)[-1].filename) or "not implemented for" in str(error):
            raise explained(error, where) from None  # torch's own, as for labels in the place of logits
        raise NotAttempted("Your code still raises NotImplementedError.") from None
    except Exception as error:
        if "ellipsis" in str(error).lower():
            raise NotAttempted("A `...` is left in your code.") from None
        raise explained(error, where) from None


def explained(error: Exception, where: str) -> Wrong:
    """A Wrong that says what was raised, at which line, with which input, and what it often means."""
    message = " ".join(str(error).split()).rstrip(".")
    name, hint = next((found for part, found in HINTS.items() if part in message), ("error", ""))
    line = learners_line(error)
    at = f" at the line `{line}`" if line else ""
    shown = message if len(message) < 200 else message[:200] + " ..."
    shown = f"{type(error).__name__}: {shown}" if shown else type(error).__name__
    return Wrong(name, f"with {where} your code stops{at}: {shown}. {hint}".strip())


def learners_line(error: Exception) -> str:
    """The last line of the traceback that is neither of this project nor of a library; empty if there is none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not is_library(frame.filename):
            return (frame.line or linecache.getline(frame.filename, frame.lineno or 0)).strip()
    return ""


def is_library(file: str) -> bool:
    """Whether a file belongs to this project's scripts, to Python or to an installed package."""
    path = Path(file)
    return bool({SCRIPTS, STANDARD_LIBRARY} & set(path.parents)) or "site-packages" in path.parts


def build(module_class, *arguments, where: str = "", **named) -> nn.Module:
    """The learner's class, built; in eval mode. NotAttempted where a `...` is left as an attribute."""
    where = where or ", ".join([*map(repr, arguments), *(f"{name} = {value!r}" for name, value in named.items())])
    if isinstance(module_class, nn.Module):
        raise Wrong("instance", "hand over the class itself, without brackets: a check builds it in several sizes")
    if not isinstance(module_class, type) or not issubclass(module_class, nn.Module):
        raise Wrong("no_module", "hand over a class that inherits from nn.Module")
    module = guarded(lambda: module_class(*arguments, **named), f"the arguments {where}")
    left = [name for name, value in vars(module).items() if value is ...]
    if left:
        raise NotAttempted(f"self.{left[0]} is still `...`.")
    return module.eval()

"""What a check answers: a Verdict, as text and as a panel in Jupyter."""

import functools
import html
from collections.abc import Callable
from dataclasses import dataclass

import torch

SIGNS = {"passed": "✓", "not_attempted": "…"}
WORDS = {"passed": "Passed", "not_attempted": "Not attempted yet"}
BORDERS = {"passed": "#009e73", "not_attempted": "#888888"}


@dataclass(frozen=True, repr=False)
class Verdict:
    """A check's answer.

    Attributes:
        exercise: the check's name.
        name: "passed", "not_attempted", or the name of the mistake, such as "softmax_over_queries".
        text: the same in words, with what to do.
    """

    exercise: str
    name: str
    text: str

    @property
    def passed(self) -> bool:
        return self.name == "passed"

    @property
    def headline(self) -> str:
        return WORDS.get(self.name, "Not right yet")

    def __repr__(self) -> str:
        return f"{self.headline} ({self.exercise}): {self.text}"

    def _repr_html_(self) -> str:
        """A panel with a sign and words; its colour says nothing that they don't."""
        border = BORDERS.get(self.name, "#d55e00")
        return (
            f'<div style="border: 1px solid {border}; border-left-width: 6px; padding: 0.5em 1em; max-width: 50em">'
            f"<b>{SIGNS.get(self.name, '✗')} {self.headline}</b> ({html.escape(self.exercise)}): "
            f"{html.escape(self.text)}</div>"
        )


class Wrong(Exception):
    """A mistake that a check has recognised: its name, and what to say about it."""

    def __init__(self, name: str, text: str):
        super().__init__(text)
        self.name = name


class NotAttempted(Exception):
    """The code to check isn't written yet: the text says where that was seen."""


def check(function: Callable[..., str]) -> Callable[..., Verdict]:
    """Make a check of a function that raises Wrong or NotAttempted, or returns what to say when all is right.

    The check returns a Verdict, raises nothing, and leaves torch's random state as it was.
    """

    @functools.wraps(function)
    def checked(attempt=None) -> Verdict:
        name = function.__name__
        try:
            if attempt is None or attempt is ...:
                raise NotAttempted("Nothing was handed over.")
            with torch.random.fork_rng(devices=[]), torch.inference_mode(False), torch.enable_grad():
                torch.manual_seed(0)
                return Verdict(name, "passed", function(attempt))
        except NotAttempted as reason:
            return Verdict(name, "not_attempted", str(reason))
        except Wrong as wrong:
            return Verdict(name, wrong.name, str(wrong))
        except Exception as error:
            text = f"The check stumbled over what your code gave: {type(error).__name__}: {error}"
            return Verdict(name, "error", text)

    return checked

"""What the tests of the exercises' checkers share: attempts, each with the name of the verdict it should get."""

import warnings

import pytest
import torch

from going_modular.going_modular import checks

PLACES = []  # every list of wrong versions, for the test that counts them


def wrong_versions(exercise: str, *versions):
    """A parameter for each (verdict's name, attempt); the attempt is a class, a function or a number."""
    PLACES.append((exercise, [name for name, _ in versions]))
    return [pytest.param(exercise, name, attempt, id=f"{exercise}-{name}") for name, attempt in versions]


def expect(exercise: str, name: str, attempt) -> checks.Verdict:
    """Check an attempt: the verdict has this name, is no success, and leaves the random state as it was."""
    state = torch.get_rng_state()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        verdict = getattr(checks, exercise)(attempt)
    assert torch.equal(state, torch.get_rng_state())
    assert (verdict.name, verdict.exercise) == (name, exercise), verdict
    assert len(verdict.text.split()) > 3, "in words"
    return verdict

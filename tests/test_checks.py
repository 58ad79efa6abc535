"""checks: what holds for every check, the verdicts themselves, and code that isn't written yet."""

import html
import sys

import pytest
import test_checks_01
import test_checks_02
import test_checks_03
import test_checks_04
import test_checks_05
import test_checks_06
import test_checks_07
import test_checks_08
import test_checks_09
import test_checks_10
import test_checks_11
import test_checks_12
import test_checks_capstone
import torch
from check_tools import PLACES, expect
from torch import nn

from going_modular.going_modular import checks
from going_modular.going_modular.checks.verdict import Verdict, Wrong, check

TESTED = [
    test_checks_01, test_checks_02, test_checks_03, test_checks_04, test_checks_05, test_checks_06, test_checks_07,
    test_checks_08, test_checks_09, test_checks_10, test_checks_11, test_checks_12, test_checks_capstone,
]  # fmt: skip
EXERCISES = [name for name in checks.__all__ if name != "Verdict"]
GENERAL = {"error", "not_attempted", "signature", "no_number", "other_number", "unit", "values", "passed"}


def test_every_exercise_has_five_wrong_versions_with_verdicts_of_their_own():
    assert len(TESTED) == 13
    found = {}
    for exercise, names in PLACES:
        found.setdefault(exercise, set()).update(set(names) - GENERAL)
    assert set(found) == set(EXERCISES)
    assert {exercise: len(names) for exercise, names in found.items() if len(names) < 5} == {}


def takes_anything(*arguments, **named):
    raise NotImplementedError


class Empty(nn.Module):
    def __init__(self, *arguments, **named):
        super().__init__()
        raise NotImplementedError


class HalfWritten(nn.Module):
    """A layer is there, and one is still to come."""

    def __init__(self, *arguments, **named):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.other = ...


class CallsEllipsis(HalfWritten):
    def __init__(self, *arguments, **named):
        nn.Module.__init__(self)
        layer = ...
        layer(1)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_what_is_not_written_yet_is_not_attempted(exercise):
    for attempt in (None, ..., takes_anything, lambda *arguments, **named: None, lambda *arguments, **named: ...):
        checker = getattr(checks, exercise)
        verdict = checker(attempt)
        if verdict.name not in ("no_module", "other_type"):  # a function where a class is asked
            assert verdict.name == "not_attempted" and not verdict.passed, verdict
    assert getattr(checks, exercise)().name == "not_attempted", "without an argument, too"


@pytest.mark.parametrize(
    "exercise",
    [
        "patch_embedding", "hybrid_patch_embedding", "embedding", "msa_block", "mlp_block", "gated_mlp_block",
        "class_attention_block", "attention_pooling",
    ],
)  # fmt: skip
@pytest.mark.parametrize("attempt", [Empty, HalfWritten, CallsEllipsis])
def test_a_class_that_is_not_written_yet(exercise, attempt):
    expect(exercise, "not_attempted", attempt)


def test_a_class_without_forward_is_not_taken_for_one_that_is_not_written():
    class Attempt(test_checks_06.Right):
        forward = nn.Module.forward

    assert "indented" in expect("mlp_block", "no_forward", Attempt).text


BLOCKS = ["parallel_block", "layer_scale_block", "stochastic_depth_block"]


@pytest.mark.parametrize("exercise", [*BLOCKS, "mean_pooling_vit", "register_vit", "distilled_vit"])
def test_a_subclass_that_is_not_written_yet(exercise):
    from going_modular.going_modular.vit import TransformerEncoderBlock, ViT

    class Attempt(TransformerEncoderBlock if exercise in BLOCKS else ViT):
        def __init__(self, num_registers=0, initial_value=None, drop_rate=None, **arguments):
            super().__init__(**arguments)
            if num_registers or initial_value or exercise == "distilled_vit":
                raise NotImplementedError

        def forward(self, x):
            raise NotImplementedError

    expect(exercise, "not_attempted", Attempt)


@pytest.mark.parametrize("exercise", EXERCISES)
@pytest.mark.parametrize("attempt", [3.5, "text", object(), nn.Identity(), nn.Identity, torch.ones(3), [1], max])
def test_a_check_raises_nothing_whatever_it_gets(exercise, attempt):
    verdict = getattr(checks, exercise)(attempt)
    assert isinstance(verdict, Verdict) and not verdict.passed and len(verdict.text) > 10


@pytest.mark.parametrize("exercise", EXERCISES)
def test_an_error_is_explained_with_the_line_it_came_from(exercise):
    def attempt(*arguments, **named):
        number = 1
        return number / 0  # the line to name

    verdict = getattr(checks, exercise)(attempt)
    if verdict.name == "error":
        assert "ZeroDivisionError" in verdict.text and "return number / 0" in verdict.text
    else:
        assert verdict.name in ("no_module", "not_attempted"), "where a class or a number is asked"


def test_an_error_in_a_class_is_explained():
    class Attempt(nn.Module):
        def __init__(self, in_channels, patch_size, embedding_dim):
            super().__init__()
            self.conv = nn.Conv2d(in_channels, embedding_dim, patch_size, patch_size)

        def forward(self, x):
            return self.convolution(x)

    verdict = expect("patch_embedding", "error", Attempt)
    assert "self.convolution(x)" in verdict.text and "compare the two spellings" in verdict.text


def test_what_worked_before_the_mistake_is_said():
    verdict = expect("cut_into_patches", "error", test_checks_03.CUT[9].values[2])
    assert "right with images of shape (2, 3, 8, 12)" in verdict.text and "but with images" in verdict.text


def test_the_words_of_three_verdicts():
    text = expect("patch_embedding", "not_permuted", test_checks_03.shaped(lambda x: x.flatten(2))).text
    assert text.startswith("shape (2, 5, 6): the last two dimensions are the other way round")
    token = test_checks_04.variant(token=lambda self: nn.Parameter(torch.zeros(32, 1, self.d)))
    text = expect("embedding", "token_per_image", token).text
    assert "the class token is one per image: expand one parameter instead" in text
    text = expect("attention_weights", "softmax_over_queries", test_checks_05.WEIGHTS[0].values[2]).text
    assert text.startswith("softmax runs over the queries (dim=-2), not the keys")


# The verdict


def verdict_of(name: str) -> Verdict:
    return Verdict("gelu", name, 'x < 0 & "so on"')


@pytest.mark.parametrize(
    "name, sign, words",
    [("passed", "✓", "Passed"), ("not_attempted", "…", "Not attempted yet"), ("relu", "✗", "Not right yet")],
)
def test_a_panel_says_in_sign_and_words_what_its_colour_says(name, sign, words):
    verdict = verdict_of(name)
    panel = verdict._repr_html_()
    assert f"{sign} {words}" in panel and words in repr(verdict)
    assert html.escape(verdict.text) in panel and "x < 0" not in panel
    assert verdict.passed is (name == "passed")
    assert repr(verdict) == str(verdict) == f"{words} (gelu): {verdict.text}"


def test_a_check_says_what_the_check_itself_stumbles_over():
    @check
    def clumsy(attempt):
        raise KeyError("unforeseen")

    verdict = clumsy(1)
    assert verdict.name == "error" and "KeyError" in verdict.text and verdict.exercise == "clumsy"


def test_a_check_can_be_interrupted():
    def attempt(*arguments):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        checks.gelu(attempt)


def test_a_check_works_in_inference_mode_and_without_gradients():
    for mode in (torch.inference_mode(), torch.no_grad()):
        with mode:
            assert checks.gelu(nn.functional.gelu).passed and checks.mlp_block(test_checks_06.Right).passed


def test_a_mistake_carries_its_name():
    error = Wrong("relu", "this is ReLU")
    assert error.name == "relu" and str(error) == "this is ReLU"


def test_checking_loads_neither_matplotlib_nor_torchvision():
    import subprocess

    code = (
        "import sys; from going_modular.going_modular import checks; "
        "print({'matplotlib', 'torchvision'} & set(sys.modules))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True).stdout
        == "set()\n"
    )

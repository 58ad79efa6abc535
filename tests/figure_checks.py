"""What every drawing of the project must pass, and how the tests look at one: used by each test_*_figures.py."""

import functools
import itertools
import warnings

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Text

VERBS = ("compare_", "draw_", "plot_", "show_")
# What a learner may have set: none of it shows in a drawing of ours.
OWN_SETTINGS = {
    "axes.facecolor": "black",
    "axes.grid": True,
    "axes.titlesize": 40,
    "font.size": 30,
    "font.family": ["serif"],
    "hatch.linewidth": 5,
    "image.cmap": "jet",
    "image.origin": "lower",
    "lines.linewidth": 9,
    "text.color": "red",
    "xtick.labelsize": 30,
    "ytick.color": "red",
}


def random(*shape, low=0.0, high=1.0) -> torch.Tensor:
    """Random numbers, the same for the same shape, with a gradient: what a learner's model hands over."""
    numbers = torch.rand(shape, generator=torch.Generator().manual_seed(0))
    return (low + (high - low) * numbers).requires_grad_()


def draw(drawing) -> plt.Figure:
    """Run a drawing with warnings as errors, check that it made one figure, and return that figure, rendered."""
    plt.close("all")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert drawing() is None
        assert len(plt.get_fignums()) == 1
        figure = plt.gcf()
        figure.canvas.draw()
    return figure


class Rendered:
    """What one drawing looks like: its pixels, its size, its titles, and the words on it with their places."""

    def __init__(self, drawing):
        drawn_texts = {}
        draw_text = Text.draw

        def draw_and_note(text, renderer, *args, **kwargs):
            if text.get_visible() and text.get_text().strip():
                drawn_texts[id(text)] = text
            return draw_text(text, renderer, *args, **kwargs)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Text, "draw", draw_and_note)
            figure = draw(drawing)
        self.pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3] / np.float32(255)
        self.height, self.width = self.pixels.shape[:2]
        self.titles = [figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)]
        self.words = [(text.get_text(), text.get_window_extent()) for text in drawn_texts.values()]
        self.smallest_words = min(text.get_fontsize() for text in drawn_texts.values())
        self.thick_frames = [patch for patch in figure.findobj(FancyBboxPatch) if patch.get_linewidth() > 3]
        plt.close(figure)


@functools.cache
def rendered(drawing) -> Rendered:
    """Rendered(drawing), made once for each drawing."""
    return Rendered(drawing)


def assert_all_are_drawn(module, drawings) -> None:
    """Every function that a module offers for drawing is called by one of the drawings."""
    functions = [getattr(drawing, "func", drawing) for drawing in drawings]  # of a functools.partial, what it calls
    called = {name for function in functions for name in (function.__name__, *function.__code__.co_names)}
    styled = {name for name, value in vars(module).items() if hasattr(value, "__wrapped__")}
    own = {name for name in styled if getattr(module, name).__module__ == module.__name__}
    offered = {name for name in (*own, *getattr(module, "__all__", ())) if name.startswith(VERBS)}
    assert offered and offered <= called, offered - called


def assert_fits_a_notebook(figure: Rendered) -> None:
    """A title, a size that a notebook shows whole, print that can be read, and white ground."""
    assert any(figure.titles)
    assert 200 <= figure.width <= 800
    assert 60 <= figure.height <= 1000
    assert figure.smallest_words >= 11
    assert (figure.pixels[0, 0] == 1).all(), "the corner is not white"


def assert_words_stand_free(figure: Rendered) -> None:
    """No two texts intersect and none leaves the canvas."""
    for words, box in figure.words:
        assert 0 <= box.x0 and box.x1 <= figure.width, f"{words!r} leaves the canvas at a side"
        assert 0 <= box.y0 and box.y1 <= figure.height, f"{words!r} leaves the canvas at the top or bottom"
    for (words, box), (other_words, other_box) in itertools.combinations(figure.words, 2):
        assert not box.overlaps(other_box), f"{words!r} runs into {other_words!r}"


def assert_settings_stay(drawing) -> None:
    """A learner's settings and backend do not show in a drawing and outlive it; nothing pops up."""
    expected = rendered(drawing).pixels
    backend = matplotlib.get_backend()
    with pytest.MonkeyPatch.context() as patch, plt.rc_context(OWN_SETTINGS):
        patch.setattr(plt, "show", lambda *args, **kwargs: pytest.fail("plt.show() was called"))
        patch.setattr(plt, "switch_backend", lambda backend: pytest.fail("the backend was touched"))
        before = dict(plt.rcParams)
        drawn = Rendered(drawing).pixels
        assert dict(plt.rcParams) == before
        assert matplotlib.get_backend() == backend
    np.testing.assert_array_equal(drawn, expected)


def assert_refused(drawing, message: str) -> None:
    """A ValueError that says this, and no figure is left behind."""
    plt.close("all")
    with pytest.raises(ValueError, match=f"(?s){message}"):
        drawing()
    assert plt.get_fignums() == []


def usual_tests(module, drawings, with_settings=None):
    """The tests of a module's drawings (name: drawing): all are drawn, each fits a notebook, a learner's settings stay.

    with_settings names the drawings that are tried with a learner's settings, where it shouldn't be all of them.
    """

    def every_public_function_is_drawn_here():
        assert_all_are_drawn(module, drawings.values())

    @pytest.mark.parametrize("name", drawings)
    def fits_a_notebook_and_words_stand_free(name):
        assert_fits_a_notebook(rendered(drawings[name]))
        assert_words_stand_free(rendered(drawings[name]))

    @pytest.mark.parametrize("name", drawings if with_settings is None else with_settings)
    def the_learners_settings_stay_and_do_not_show(name):
        assert_settings_stay(drawings[name])

    return (
        every_public_function_is_drawn_here,
        fits_a_notebook_and_words_stand_free,
        the_learners_settings_stay_and_do_not_show,
    )

"""Progress that reads well in a terminal and in Jupyter, and leaves no widget in a saved notebook.

In a terminal: a tqdm bar that goes away when its loop ends, and lines that stay. In Jupyter: one plain-text output that
updates itself, so that the saved notebook holds the lines alone.
"""

import sys
from collections.abc import Iterable

from tqdm import tqdm


def in_notebook() -> bool:
    """True inside a Jupyter, Colab or VS Code kernel; False in a terminal, a script and IPython's own shell."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return hasattr(shell, "kernel")


class Progress:
    """Bars that come and go above lines that stay.

    >>> progress = Progress()
    >>> for batch in progress.bar(dataloader, "Epoch 1 of 5"):
    ...     ...
    >>> progress.line("Epoch: 1 | train_loss: 1.0921")

    With shown=False neither is seen.
    """

    def __init__(self, shown: bool = True):
        self._shown = shown
        self._output = NotebookOutput() if shown and in_notebook() else None

    def bar(self, iterable: Iterable, description: str = "") -> tqdm:
        """A tqdm around `iterable`, gone when the loop ends."""
        if not self._shown:
            return tqdm(iterable, disable=True)
        if self._output is None:
            return tqdm(iterable, description, leave=False, dynamic_ncols=True)
        return tqdm(iterable, description, leave=False, ncols=88, file=self._output, mininterval=0.25)

    def line(self, text: str) -> None:
        """Show a line that stays."""
        if self._output is not None:
            self._output.keep(text)
        elif self._shown:
            print(text, flush=True)


class NotebookOutput:
    """A file for tqdm to write to: one output of a notebook cell, replaced at each write."""

    def __init__(self):
        from IPython.display import display

        self._lines = []
        self._handle = display({"text/plain": ""}, raw=True, display_id=True)

    def keep(self, text: str) -> None:
        self._lines.append(text)
        self._update("")

    def write(self, text: str) -> None:
        self._update(text.strip("\r\n"))

    def flush(self) -> None:
        """Nothing waits here; tqdm calls this of every file."""

    def _update(self, bar: str) -> None:
        lines = [*self._lines, bar] if bar.strip() else self._lines
        self._handle.update({"text/plain": "\n".join(lines)}, raw=True)

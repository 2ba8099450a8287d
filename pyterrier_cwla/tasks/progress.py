"""Progress bars for work that takes more than a second. In a notebook there is one, which is removed at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

_DELAY = 1  # seconds


def bar(
    items: Iterable[Any], progress: bool, label: str, total: int | None = None, unit: str = "documents"
) -> Iterable[Any]:
    """Return the items, with a progress bar that appears after one second.

    Parameters
    ----------
    items : iterable
        Items to iterate over.
    progress : bool
        Whether to show the bar.
    label : str
        Text of the bar.
    total : int, optional
        Number of items.
    unit : str, default="documents"
        Name of the items.
    """
    if not progress:
        return items
    return _kind()(items, label, total, leave=False, unit=f" {unit}", delay=_DELAY)


@contextmanager
def counted(progress: bool, label: str, total: int, unit: str) -> Iterator[Callable[[int], Any]]:
    """Show a progress bar; yield the function to call with the number of items done since the last call."""
    if not progress:
        yield lambda number: None
        return
    with _kind()(desc=label, total=total, leave=False, unit=f" {unit}", delay=_DELAY) as shown:
        yield shown.update


def _kind() -> Any:
    """Return the class of bars for a notebook, or tqdm's for a terminal."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if getattr(shell, "kernel", None) is not None:
        from .notebook_bar import NotebookBar

        return NotebookBar
    from tqdm.auto import tqdm

    return tqdm

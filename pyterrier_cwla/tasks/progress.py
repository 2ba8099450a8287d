"""Progress bars for work that takes more than a second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

_DELAY = 1  # seconds


def bar(
    items: Iterable[Any], progress: bool, says: str, total: int | None = None, unit: str = "documents"
) -> Iterable[Any]:
    """The items, with a progress bar where they take more than a second."""
    if not progress:
        return items
    from tqdm.auto import tqdm

    return tqdm(items, says, total, leave=False, unit=f" {unit}", delay=_DELAY)


@contextmanager
def counted(progress: bool, says: str, total: int, unit: str) -> Iterator[Callable[[int], Any]]:
    """A progress bar: the function to call with the number of items that were done since."""
    if not progress:
        yield lambda number: None
        return
    from tqdm.auto import tqdm

    with tqdm(desc=says, total=total, leave=False, unit=f" {unit}", delay=_DELAY) as shown:
        yield shown.update

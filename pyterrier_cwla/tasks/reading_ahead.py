"""Iteration during which a thread already computes the next item."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, TypeVar

Item = TypeVar("Item")
_END: Any = object()


def ahead(items: Generator[Item, None, None]) -> Iterator[Item]:
    """Yield items while a thread computes the next one; errors are raised where their item would be yielded.

    This saves time if both the items and their use take long and release Python's lock, as reading and scoring do.

    Parameters
    ----------
    items : generator
        Items, of which at most one is held in advance.

    Yields
    ------
    object
        The items, in order.

    Examples
    --------
    >>> list(ahead(letter for letter in "abc"))
    ['a', 'b', 'c']
    """
    with closing(items), ThreadPoolExecutor(1) as thread:  # closed when the thread is done
        coming = thread.submit(next, items, _END)
        while (item := coming.result()) is not _END:
            coming = thread.submit(next, items, _END)
            yield item

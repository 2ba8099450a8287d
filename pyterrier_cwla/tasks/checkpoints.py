"""Compute the parts of a long computation in parallel, cached as they are done, with a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from .parallel import checked, side_by_side
from .progress import bar
from .result_cache import Layout, Piece, ResultCache


class Pieces:
    """Computes the pieces of a study, and caches each as soon as it is done.

    Parameters
    ----------
    identity : dict
        All that the pieces depend on, such as the hash of the input; see :class:`ResultCache`.
    cache_dir : path, optional
        Folder of the cache. Without it nothing is cached.
    progress : bool
        Whether to show a progress bar.
    n_jobs : int
        Number of processes.
    """

    def __init__(
        self, identity: Mapping[str, Any], cache_dir: str | Path | None = None, progress: bool = True, n_jobs: int = 1
    ) -> None:
        self.cache = None if cache_dir is None else ResultCache(cache_dir, identity)
        self.progress, self.n_jobs = progress, checked(n_jobs)

    def each(
        self, names: Sequence[str], compute: Callable[[str], Piece], says: str, unit: str = "pieces", *, layout: Layout
    ) -> list[Piece]:
        """The pieces of these names, in this order: from the cache where possible, the others by ``compute``."""
        work = {name: partial(compute, name) for name in names}
        found = dict(bar(self.done(work, lambda _: layout), self.progress, says, len(work), unit))
        return [found[name] for name in names]

    def done(
        self, work: Mapping[str, Callable[[], Piece]], layout: Callable[[str], Layout]
    ) -> Iterator[tuple[str, Piece]]:
        """Names and pieces as they come: first those in the cache, then those that are computed."""
        missing = {}
        for name, compute in work.items():
            piece = None if self.cache is None else self.cache.get(name, layout(name))
            if piece is None:
                missing[name] = compute
            else:
                yield name, piece
        for name, piece in side_by_side(missing, self.n_jobs):
            if self.cache is not None:
                self.cache.put(name, piece)
            yield name, piece

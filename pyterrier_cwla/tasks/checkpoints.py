"""The pieces of a long computation: done one by one or side by side, kept as they are done, and shown on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from .parallel import checked, side_by_side
from .progress import bar
from .result_cache import Layout, Piece, ResultCache


class Pieces:
    """Computes the pieces of a study, and keeps each in a folder as soon as it is done.

    ``identity``: all that the pieces depend on, the hash of the input among it. What is kept under another identity,
    or by another version of the package, is not used. ``cache_dir``: a folder, or None to keep nothing. ``n_jobs``:
    processes.

    Raises BadParameter for a folder that cannot be written, before anything is computed.
    """

    def __init__(
        self, identity: Mapping[str, Any], cache_dir: str | Path | None = None, progress: bool = True, n_jobs: int = 1
    ) -> None:
        self.cache = None if cache_dir is None else ResultCache(cache_dir, identity)
        self.progress, self.n_jobs = progress, checked(n_jobs)

    def each(
        self, names: Sequence[str], compute: Callable[[str], Piece], says: str, unit: str = "pieces", *, layout: Layout
    ) -> list[Piece]:
        """The pieces of these names, in this order: those that are kept, and the others by ``compute``.

        Raises MalformedFile where a piece that is kept has other arrays than those of the layout.
        """
        work = {name: partial(compute, name) for name in names}
        found = dict(bar(self.done(work, lambda _: layout), self.progress, says, len(work), unit))
        return [found[name] for name in names]

    def done(
        self, work: Mapping[str, Callable[[], Piece]], layout: Callable[[str], Layout]
    ) -> Iterator[tuple[str, Piece]]:
        """Names and pieces as they come: first those that are kept, then those that this work does."""
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

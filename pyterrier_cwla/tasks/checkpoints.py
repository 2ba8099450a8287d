"""Long computations in parallel pieces that are cached when done, with a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from .parallel import checked, side_by_side
from .progress import bar
from .result_cache import Layout, Piece, ResultCache


class Pieces:
    """Computation of the pieces of a study in parallel; each piece is cached as soon as it is done.

    Parameters
    ----------
    identity : dict
        Everything that the pieces depend on, such as the hash of the input; see :class:`ResultCache`.
    cache_dir : path, optional
        Folder of the cache; nothing is cached by default.
    progress : bool, default=True
        Whether to show a progress bar.
    n_jobs : int, default=1
        Number of processes; -1 for the number of cores.

    Raises
    ------
    BadParameter
        If `n_jobs` is not a number of processes, or if `cache_dir` cannot be written.
    """

    def __init__(
        self, identity: Mapping[str, Any], cache_dir: str | Path | None = None, progress: bool = True, n_jobs: int = 1
    ) -> None:
        self.cache = None if cache_dir is None else ResultCache(cache_dir, identity)
        self.progress, self.n_jobs = progress, checked(n_jobs)

    def each(
        self, names: Sequence[str], compute: Callable[[str], Piece], label: str, unit: str = "pieces", *, layout: Layout
    ) -> list[Piece]:
        """Return the pieces with these names, in order, from the cache or from `compute`.

        Parameters
        ----------
        names : sequence of str
            Names of the pieces.
        compute : callable
            Function from a name to a piece.
        label : str
            Text of the progress bar.
        unit : str, default="pieces"
            Unit of the progress bar.
        layout : Layout
            Names, kinds and shapes of the arrays of a piece.
        """
        work = {name: partial(compute, name) for name in names}
        found = dict(bar(self.done(work, lambda _: layout), self.progress, label, len(work), unit))
        return [found[name] for name in names]

    def done(
        self, work: Mapping[str, Callable[[], Piece]], layout: Callable[[str], Layout]
    ) -> Iterator[tuple[str, Piece]]:
        """Yield names and pieces, first the cached ones, then the computed ones in order of completion.

        Parameters
        ----------
        work : dict
            Functions without arguments that compute a piece, by name.
        layout : callable
            Function from a name to the layout of the piece.
        """
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

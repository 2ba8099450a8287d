"""Scores of a run, or of some of its queries, before they are collected in a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
from ir_measures.measures import Measure

from ..data.arrays import Array
from ..data.overlap import Overlap
from ..errors import CWLAError

if TYPE_CHECKING:
    import pandas as pd

Key = TypeVar("Key", Measure, str)


class Scored(NamedTuple, Generic[Key]):
    """Scores of judged queries of a run, by measure or by name of measure.

    Attributes
    ----------
    run : str
        Name of the run.
    values : dict of ndarray
        Per measure, one value per query of `queries`.
    answered : ndarray of bool, shape (n_judged_queries,)
        Mask of the judged queries that the run answers. The other queries have the values of an empty ranking. Empty
        if `last` is False.
    overlap : Overlap
        Number of judged documents of the run; unknown for values from a cache.
    place : str
        File or folder that the run was read from; empty for runs in memory.
    queries : ndarray of int, or slice
        Indices of the judged queries that have values; all by default.
    last : bool
        Whether these are the last queries of the run.
    """

    run: Any
    values: dict[Key, Array]
    answered: Array
    overlap: Overlap = Overlap()
    place: str = ""
    queries: Array | slice = slice(None)
    last: bool = True

    def by_name(self) -> Scored[str]:
        """Return the scores by name of measure, to send them to other processes without the tables of measures."""
        values = {str(measure): of_measure for measure, of_measure in self.values.items()}
        return Scored(self.run, values, self.answered, self.overlap, self.place, self.queries, self.last)

    def frame(self, qids: list[str]) -> pd.DataFrame:
        """Return the values as a table with the columns run, query_id, and one per measure."""
        import pandas as pd

        queries = np.array(qids, object)[self.queries]
        ids = {"run": pd.array([self.run] * len(queries), "str"), "query_id": pd.array(queries, "str")}
        return pd.DataFrame(ids | {str(measure): values for measure, values in self.values.items()})


def whole_runs(pieces: Iterable[Scored[Key]], queries: int) -> Iterator[Scored[Key]]:
    """Yield complete runs, joined from the scores of some queries each.

    Parameters
    ----------
    pieces : iterable of Scored
        Scores of groups of queries, in any order of runs.
    queries : int
        Number of judged queries.

    Raises
    ------
    CWLAError
        If a judged query has no values, or has values in two pieces.
    """
    found: dict[Any, tuple[Array, dict[Key, Array]]] = {}
    for piece in pieces:
        if piece.run not in found:
            found[piece.run] = np.zeros(queries, np.int8), {m: np.zeros(queries) for m in piece.values}
        times, values = found[piece.run]
        times[piece.queries] += 1
        for measure, of_piece in piece.values.items():
            values[measure][piece.queries] = of_piece
        if piece.last:
            if (times != 1).any():
                raise CWLAError(f"{piece.run}: some judged queries do not have exactly one result. Please report this.")
            yield piece._replace(values=values, queries=slice(None))
            del found[piece.run]

"""The scores of a run, or of some of its queries, on their way from where they are computed to a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from ir_measures.measures import Measure
from numpy.typing import NDArray

from ..data.overlap import Overlap
from ..errors import CWLAError

Array = NDArray[Any]
Key = TypeVar("Key", Measure, str)


class Scored(NamedTuple, Generic[Key]):
    """Values of a run's judged queries, by measure or by the texts of measures.

    Attributes
    ----------
    run : str
        The name of the run.
    values : dict
        Per measure one value per query of ``queries``.
    answered : ndarray of bool, shape (n_judged_queries,)
        The judged queries that the run answers; the others have the values of a run without documents. Empty while
        ``last`` is False.
    overlap : Overlap
        How much of the run is judged. Unknown of values from a cache.
    place : str
        The file or folder that the run was read from; empty for runs in memory.
    queries : ndarray of int, or slice
        The judged queries that the values are of, by their numbers; all by default.
    last : bool
        Whether no more queries of the run follow.
    """

    run: Any
    values: dict[Key, Array]
    answered: Array
    overlap: Overlap = Overlap()
    place: str = ""
    queries: Array | slice = slice(None)
    last: bool = True

    def by_text(self) -> Scored[str]:
        """The same by the texts of measures, without their tables, to be sent to other processes."""
        values = {str(measure): of_measure for measure, of_measure in self.values.items()}
        return Scored(self.run, values, self.answered, self.overlap, self.place, self.queries, self.last)

    def frame(self, qids: list[str]) -> pd.DataFrame:
        """The values as a table with the columns run, query_id, and one for each measure."""
        queries = np.array(qids, object)[self.queries]
        ids = {"run": pd.array([self.run] * len(queries), "str"), "query_id": pd.array(queries, "str")}
        return pd.DataFrame(ids | {str(measure): values for measure, values in self.values.items()})


def whole_runs(pieces: Iterable[Scored[Key]], queries: int) -> Iterator[Scored[Key]]:
    """Runs with all their judged queries, of which ``pieces`` have some each.

    Raises
    ------
    CWLAError
        If a judged query has no values, or two.
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
                raise CWLAError(f"{piece.run}: not each judged query has one result. Please report this.")
            yield piece._replace(values=values, queries=slice(None))
            del found[piece.run]

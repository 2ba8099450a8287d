"""Scores of runs in memory, and of single queries before they are collected in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..data.alignment import Overlap
from ..data.columns import Array
from ..data.rows import Rows, is_dict_of_dicts
from ..errors import CWLAError, naming
from ..files.run_files import together
from ..measures.provider import CWLAEvaluator

if TYPE_CHECKING:
    import pandas as pd

_TOGETHER = 1 << 19  # number of rows of several runs that are scored together
_SMALL = 1 << 14  # largest number of rows of a table that is aligned together with others
_Join = Callable[[Sequence[Any], Mapping[str, int]], Rows]
_Run = tuple[str, Any, str]  # name, run, and the file that it was read from


class Scored(NamedTuple):
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
    values: dict[Any, Any]
    answered: Array
    overlap: Overlap = Overlap()
    place: str = ""
    queries: Array | slice = slice(None)
    last: bool = True

    def by_name(self) -> Scored:
        """Return the scores by name of measure, to send them to other processes without the tables of measures."""
        return self._replace(values={str(measure): of_measure for measure, of_measure in self.values.items()})

    def frame(self, qids: list[str]) -> pd.DataFrame:
        """Return the values as a table with the columns run, query_id, and one per measure."""
        import pandas as pd

        queries = np.array(qids, object)[self.queries]
        ids = {"run": pd.array([self.run] * len(queries), "str"), "query_id": pd.array(queries, "str")}
        return pd.DataFrame(ids | {str(measure): values for measure, values in self.values.items()})


def whole_runs(pieces: Iterable[Scored], queries: int) -> Iterator[Scored]:
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
    found: dict[Any, tuple[Array, dict[Any, Array]]] = {}
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


def in_groups(
    evaluator: CWLAEvaluator, runs: Iterable[tuple[str, Any, str]], check: bool = True, many: bool = True
) -> Iterator[Scored]:
    """Yield the scores of runs.

    Parameters
    ----------
    evaluator : CWLAEvaluator
        Measures and judgments.
    runs : iterable of (name, run, place)
        Runs with their names and the files that they were read from (empty for frames).
    check : bool, default=True
        Whether to search all rankings for repeated documents.
    many : bool, default=True
        Whether errors name the run.
    """

    def joined_by(run: _Run) -> _Join | None:
        if not evaluator.reads_ranks_only:
            return None
        if is_dict_of_dicts(run[1]):
            return Rows.from_dicts
        return Rows.from_tables if check and hasattr(run[1], "columns") and len(run[1]) <= _SMALL else None

    for join, some in groupby(runs, joined_by):
        scored = _each if join is None else partial(_jointly, join=join)
        yield from scored(evaluator, some, check, many)


def _jointly(evaluator: CWLAEvaluator, runs: Iterable[_Run], check: bool, many: bool, join: _Join) -> Iterator[Scored]:
    """Yield the scores of runs that are aligned together, which is faster for small runs."""
    queries = len(evaluator.judgments.qids)

    def size(run: _Run) -> int:
        return max(queries, sum(map(len, run[1].values())) if isinstance(run[1], Mapping) else len(run[1]))

    for some in together(runs, size, _TOGETHER):
        try:
            rows = join([run for _, run, _ in some], evaluator.judgments.index)
            yield from scores_of_rows(evaluator, some, [rows])
        except CWLAError:
            yield from _each(evaluator, some, check, many)  # so that the error names the run


def _each(evaluator: CWLAEvaluator, runs: Iterable[_Run], check: bool, many: bool) -> Iterator[Scored]:
    """Yield the scores of runs that are aligned one by one, and scored together."""

    def aligned() -> Iterator[tuple[str, Rows, str]]:
        for name, run, place in runs:
            with naming(name if many else None):
                rows = Rows.from_run(run, evaluator.judgments.index, check)
            yield name, rows, place

    for some in together(aligned(), lambda run: len(run[1].columns), _TOGETHER):
        try:
            yield from scores_of_rows(evaluator, some, [rows for _, rows, _ in some])
        except CWLAError:  # again one by one, so that the error names the run
            for run in some:
                with naming(run[0] if many else None):
                    found = scores_of_rows(evaluator, [run], [run[1]])
                yield from found


def scores_of_rows(evaluator: CWLAEvaluator, runs: Sequence[_Run], aligned: Sequence[Rows]) -> list[Scored]:
    """Return the scores of runs, of which several may be aligned together, in the same order."""
    overlaps = chain.from_iterable(map(evaluator.judgments.overlaps, aligned))
    answered = chain.from_iterable(rows.answered for rows in aligned)
    return [
        Scored(name, values, mask, overlap, place)
        for (name, _, place), values, mask, overlap in zip(
            runs, evaluator.tables(aligned), answered, overlaps, strict=True
        )
    ]

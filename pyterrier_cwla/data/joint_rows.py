"""Rows of several runs that are aligned together, which saves calls of NumPy if runs are small."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import BadRun
from ..files.arrow_arrays import of_numbers
from ..files.id_columns import Ids, of_runs, written
from .alignment import Judgments, Rows
from .arrays import Array
from .columns import Columns, numbers, strings
from .overlap import Overlap
from .run_rows import Groups


class JointRows(Rows):
    """Rows of several runs, which are aligned together.

    Parameters
    ----------
    judgments : Judgments
        Judgments of the queries.
    columns : Columns
        Rows, where the rows of each query of each run are consecutive.
    starts : ndarray of int, shape (n_groups,)
        First row of each query of each run.
    names : list of str
        Query of each group.
    run : ndarray of int, shape (n_groups,)
        Number of the run of each group.
    runs : int
        Number of runs.
    check : bool
        Whether to search all rankings for repeated documents.

    Raises
    ------
    BadRun
        If a run cannot be used. The error does not name the run: :class:`Rows` of each run has one that does.
    """

    def __init__(
        self,
        judgments: Judgments,
        columns: Columns,
        starts: Array,
        names: list[str],
        run: Array,
        runs: int,
        check: bool,
    ) -> None:
        self.run, self.runs = run, runs
        query = np.array([judgments.index.get(name, -1) for name in names], np.int64)
        query = np.where(query < 0, -1, run * len(judgments.qids) + query)
        super().__init__(judgments, Groups(columns, starts, names, query), check)

    @classmethod
    def of_dicts(cls, judgments: Judgments, runs: Sequence[Mapping[str, Mapping[str, Any]]]) -> JointRows:
        """Return the rows of runs of the form ``{query: {document: score}}``."""
        rankings = _listed(run.values() for run in runs)
        queries = strings(_listed(runs), "query_id", "run", BadRun)
        doc_id = strings(_listed(rankings), "doc_id", "run", BadRun)
        value = numbers(_listed(documents.values() for documents in rankings), "score", "run", BadRun)
        sizes = np.array(list(map(len, rankings)), np.int64)
        query_id = pa.DictionaryArray.from_arrays(np.repeat(np.arange(len(sizes)), sizes), queries)
        some = np.flatnonzero(sizes)  # queries without documents have no group
        starts, names = (np.cumsum(sizes) - sizes)[some], queries.take(of_numbers(some)).to_pylist()
        run = np.repeat(np.arange(len(runs)), list(map(len, runs)))[some]
        columns = Columns(query_id, doc_id, value)
        return cls(judgments, columns, starts, names, run, len(runs), check=False)  # keys of a dict do not repeat

    @classmethod
    def of_tables(cls, judgments: Judgments, runs: Sequence[Any]) -> JointRows:
        """Return the rows of runs in tables."""
        groups = [Groups.of(run, judgments.index) for run in runs]
        parts = [group.columns for group in groups]
        if len({part.value.dtype.kind for part in parts}) > 1:
            raise BadRun("some scores are whole numbers, and some are not: large ones would be rounded twice.")
        before = np.cumsum([0, *map(len, parts)])[:-1]
        columns = Columns(
            _concatenated(part.query_id for part in parts),
            _concatenated(part.doc_id for part in parts),
            np.concatenate([part.value for part in parts]),
        )
        starts = np.concatenate([group.starts + start for group, start in zip(groups, before, strict=True)])
        run = np.repeat(np.arange(len(runs)), [len(group.starts) for group in groups])
        names = _listed(group.names for group in groups)
        return cls(judgments, columns, starts, names, run, len(runs), check=True)

    @property
    def judged_query(self) -> Array:
        """Number of the judged query of each group, or -1."""
        return np.where(self.query < 0, -1, self.query % max(len(self.judgments.qids), 1))

    @property
    def answered_by_run(self) -> Array:
        """Mask of the judged queries that each run answers, of shape (n_runs, n_queries)."""
        found = np.zeros(self.runs * len(self.judgments.qids), bool)
        found[self.query[self.query >= 0]] = True
        return found.reshape(self.runs, -1)

    def _explained(self, number: int, found: Overlap) -> Overlap:
        """Return the overlap of a run; that of the run alone if it answers no judged query or is low."""
        answers = self._answers[number]
        return found if answers and not found.is_low else self._alone(number).overlap

    @cached_property
    def _answers(self) -> Array:
        return np.asarray(self.answered_by_run.any(axis=1))

    def _alone(self, number: int) -> Rows:
        """Return the rows of one run."""
        of_row = np.repeat(self.run, self.sizes)
        return Rows(self.judgments, self.columns.taken(np.flatnonzero(of_row == number)), check=False)

    @property
    def apart(self) -> Array:
        """Summand of each group in the keys of pairs by which documents are found that a run repeats."""
        return of_runs(self.run)


def is_dict_of_dicts(run: Any) -> bool:
    """Return whether a run has the form ``{query: {document: score}}``."""
    return isinstance(run, Mapping) and all(isinstance(documents, Mapping) for documents in run.values())


def _concatenated(ids: Iterable[Ids]) -> Ids:
    """Return the ids of several columns as one array of strings."""
    chunks = (written(column) for column in ids)
    return pa.concat_arrays(
        [part for chunk in chunks for part in (chunk.chunks if isinstance(chunk, pa.ChunkedArray) else [chunk])]
    )


def _listed(parts: Iterable[Iterable[Any]]) -> list[Any]:
    return list(chain.from_iterable(parts))

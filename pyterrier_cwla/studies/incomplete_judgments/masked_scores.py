"""Scores of runs by subsets of the judgments; runs are aligned with all judgments once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from ir_measures.measures import Measure

from ...data.alignment import Aligned, Judgments
from ...data.quantities import LENGTH, Quantity
from ...data.rankings import Pool, Rankings, StackedRows
from ...errors import BadParameter, naming
from ...files.inputs import loaded
from ...measures.of_ir_measures import needs_of
from ...measures.provider import CWLAEvaluator
from ...measures.wrappers import pinned
from .missing_judgments import NOWHERE

Array = np.ndarray
POOLS = ("whole", "judged")
_HITS = 1 << 20  # judged documents per chunk of scored rankings
_RANKINGS = 1 << 15


@dataclass(frozen=True, eq=False)
class Masking:
    """Runs aligned with all their judgments.

    Attributes
    ----------
    measures : dict of str to Measure
        Measures by name.
    runs : list of str
        Names of the runs.
    judgments : Judgments
        All judgments.
    whole : Rankings
        Rankings of all runs, run by run, with all judged documents.
    pool : {"whole", "judged"}
        Treatment of documents with missing judgments by infAP: "whole" treats them as in the pool, "judged" as not in
        the pool. All other measures treat them as not judged.
    """

    measures: dict[str, Measure]
    runs: list[str]
    judgments: Judgments
    whole: Rankings
    pool: str = "whole"

    @classmethod
    def of(
        cls, judgments: Judgments, runs: Mapping[str, Any], measures: Mapping[str, Measure], pool: str = "whole"
    ) -> Masking:
        """Align runs with judgments."""
        if pool not in POOLS:
            raise BadParameter(f"pool={pool!r}: give 'whole' or 'judged'.")
        measures = dict(zip(measures, pinned(measures.values())))
        for name, measure in measures.items():
            if needs_of(measure).intents:
                raise BadParameter(f"{name}: this study does not support judgments with intents.")
        aligned = []
        for name, run in runs.items():
            with naming(str(name)):
                aligned.append(judgments.align(loaded(run, "run"), all_judged=True))
        whole = Rankings.stacked(aligned)
        if not any(_reads_rows(measure) for measure in measures.values()):
            whole = replace(whole, rows=None)  # reduces the data sent to other processes
        return cls(measures, list(map(str, runs)), judgments, whole, pool)

    @property
    def queries(self) -> int:
        """Number of judged queries."""
        return len(self.judgments.qids)

    def only(self, runs: Sequence[str]) -> Masking:
        """Return a copy with some of the runs."""
        whole, numbers = self.whole, [self.runs.index(run) for run in runs]
        which = (np.array(numbers)[:, None] * self.queries + np.arange(self.queries)).ravel()
        hit, ranking, _ = whole.hits_of(which)
        assert whole.judgment is not None
        rows_of_runs = () if whole.rows is None else cast(StackedRows, whole.rows).runs
        rankings = Rankings.of_hits(
            whole.n[which],
            ranking,
            whole.rank[hit],
            whole.grade[hit],
            whole.pool,
            rows=None if whole.rows is None else StackedRows([rows_of_runs[number] for number in numbers]),
            topic=np.tile(np.arange(self.queries), len(numbers)),
            judgment=whole.judgment[hit],
        )
        return replace(self, runs=list(runs), whole=rankings)

    def scores(self, whole: Rankings, kept: Array) -> Array:
        """Return scores [measures × levels × rankings] by subsets of the judgments, ``kept`` [levels × judgments]."""
        new = np.append(True, (kept[1:] != kept[:-1]).any(axis=1))
        if not new.all():  # with few judgments, small shares are equal subsets
            return self.scores(whole, kept[new])[:, np.cumsum(new) - 1]
        found = np.empty((len(self.measures), len(kept), len(whole)))
        at_a_time = min(_HITS // max(len(whole.rank), 1), _RANKINGS // max(len(whole), 1))
        for levels in parts(len(kept), at_a_time):
            for pooled in (False, True):
                mine = {name: m for name, m in self.measures.items() if needs_of(m).pooled == pooled}
                if not mine:
                    continue
                evaluator = CWLAEvaluator(list(mine.values()), self.judgments)
                values = evaluator.values(Left(masked(whole, kept[levels], pooled and self.pool == "whole")))
                for number, (name, measure) in enumerate(self.measures.items()):
                    if name in mine:
                        found[number, levels] = values[measure].reshape(-1, len(whole))
        return found


class Left(Aligned):
    """Rankings with the remaining judgments."""

    def __init__(self, rankings: Rankings) -> None:
        self._all = rankings

    def rankings(self, all_judged: bool = False) -> Rankings:
        """Return the rankings with their relevant documents, or with all remaining judgments."""
        return self._all if all_judged else self._relevant

    @cached_property
    def _relevant(self) -> Rankings:
        return self._all.only(self._all.grade > 0)


def parts(number: int, at_a_time: int) -> Iterator[slice]:
    """Yield slices of at most ``at_a_time`` (at least one) that cover 0 to ``number``."""
    step = max(1, at_a_time)
    for start in range(0, number, step):
        yield slice(start, min(start + step, number))


def masked(whole: Rankings, kept: Array, hidden: bool) -> Rankings:
    """Return the rankings by the kept judgments [levels × judgments], level by level.

    Documents without a kept judgment are not judged or, if ``hidden``, in the pool without a grade (−1).
    """
    assert whole.judgment is not None
    pool, levels = whole.pool, len(kept)
    topic = np.arange(len(whole)) if whole.topic is None else whole.topic
    if hidden:
        level, hit = (part.ravel() for part in np.indices((levels, len(whole.rank))))
        of_level, judged = (part.ravel() for part in np.indices(kept.shape))
    else:
        level, hit = np.nonzero(kept[:, whole.judgment])
        of_level, judged = np.nonzero(kept)
    grade, pool_grade = whole.grade[hit], pool.grade[judged]
    place = np.full(kept.shape, -1)
    place[of_level, judged] = np.arange(len(judged))
    if hidden:
        grade = np.where(kept[:, whole.judgment].ravel(), grade, -1)
        pool_grade = np.where(kept.ravel(), pool_grade, -1)
    return Rankings.of_hits(
        np.tile(whole.n, levels),
        level * len(whole) + whole.query[hit],
        whole.rank[hit],
        grade,
        Pool(
            levels * pool.queries,
            of_level * pool.queries + pool.query[judged],
            pool_grade,
            judgments=Copies(pool.judgments, judged),
        ),
        rows=None if whole.rows is None else Tiled(whole.rows, np.tile(np.arange(len(whole)), levels)),
        topic=(np.arange(levels)[:, None] * pool.queries + topic).ravel(),
        judgment=place[level, whole.judgment[hit]],
    )


def of_pairs(whole: Rankings, queries: int, pairs: Array) -> Rankings:
    """Return the rankings of pairs of runs [pairs × 2]; the pool of a pair has the judged documents of either run.

    The order is by pair, run and query. The queries of the pool are those of the first pair, then of the second, and so
    on.
    """
    which = (pairs[:, :, None] * queries + np.arange(queries)).ravel()
    hit, ranking, _ = whole.hits_of(which)
    judgments = len(whole.pool.grade)
    assert whole.judgment is not None
    found, judgment = np.unique(ranking // (2 * queries) * judgments + whole.judgment[hit], return_inverse=True)
    pair, judged = np.divmod(found, max(judgments, 1))
    return Rankings.of_hits(
        whole.n[which],
        ranking,
        whole.rank[hit],
        whole.grade[hit],
        Pool(
            len(pairs) * queries,
            pair * queries + whole.pool.query[judged],
            whole.pool.grade[judged],
            judgments=Copies(whole.pool.judgments, judged),
        ),
        rows=None if whole.rows is None else Tiled(whole.rows, which),
        topic=np.repeat(np.arange(len(pairs)), 2 * queries) * queries + np.tile(np.arange(queries), 2 * len(pairs)),
        judgment=judgment,
    )


def best_ranks(rankings: Rankings) -> Array:
    """Return the best rank of each judged document of the pool over all rankings."""
    assert rankings.judgment is not None
    first = np.full(len(rankings.pool.grade), NOWHERE)
    np.minimum.at(first, rankings.judgment, rankings.rank)
    return first


class Copies:
    """Selected judgments, possibly repeated; documents are looked up only if a measure needs their lengths."""

    pool_order = slice(None)

    def __init__(self, judgments: Any, places: Array) -> None:
        self.judgments, self.places = judgments, places

    @cached_property
    def columns(self) -> Any:
        """Columns of the selected judgments."""
        columns = self.judgments.columns
        return columns.taken(np.arange(len(columns))[self.judgments.pool_order][self.places])


class Tiled:
    """Rows of rankings that are scored several times."""

    def __init__(self, rows: Any, which: Array) -> None:
        self.rows, self.which = rows, which

    @cached_property
    def first(self) -> Array:
        """First row of each ranking."""
        return self.rows.first[self.which]

    @property
    def has_doc_length(self) -> bool:
        """Whether a run has a column of document lengths."""
        return self.rows.has_doc_length

    @property
    def tied(self) -> Array:
        """Whether each row has the score of the row above it in its ranking."""
        return self.rows.tied

    @property
    def scores(self) -> Array:
        """Score of each row as float64."""
        return self.rows.scores

    @property
    def places_by_exact_score(self) -> Array:
        """Place of each row if scores are compared as float64, and ties are broken by ascending id."""
        return self.rows.places_by_exact_score

    def words(self, metric: Any, quantity: Quantity = LENGTH) -> Array:
        """Return the words, or another quantity, of all documents, in rank order."""
        return self.rows.words(metric, quantity)

    def repeats(self, duplicates: Any, listed: Array | None = None) -> Array:
        """Return whether each row duplicates an earlier row of its ranking."""
        if listed is not None:
            raise BadParameter("duplicates= and judged_only= cannot be combined when judgments are missing.")
        return self.rows.repeats(duplicates)


def _reads_rows(measure: Measure) -> bool:
    """Return whether a measure needs the lengths, duplicates, ties or scores of documents."""
    needs = needs_of(measure)
    return needs.ties or needs.scores or (needs.lengths, needs.duplicates, needs.seconds) != ("none", "none", "none")

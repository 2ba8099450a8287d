"""Rank-biased overlap of the rankings of two runs, by query and on average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ..data.columns import Array, Columns, run_columns
from ..data.rankings import places_within
from ..data.rows import Rows
from ..errors import BadRun, check_whole, many, naming, some, warn
from ..files import id_columns
from ..files.arrow_arrays import chunks_of
from ..files.inputs import loaded, one_run
from ..measures.counting import OverlapSums, check_persistence
from .streaming import separate_runs

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 3  # pairs of runs in a warning
VALUES = ("rbo", "rbo_min", "rbo_res")
"""Columns of the result: the extrapolated overlap, its lower bound, and the residual, which is the distance to the
upper bound."""


def rbo(runs: Any, other: Any = None, p: float = 0.9, depth: int | None = None, by_query: bool = False) -> pd.DataFrame:
    """Return the rank-biased overlap (RBO) of the rankings of runs, from 0 (disjoint) to 1 (identical).

    RBO is the expected agreement of two rankings for a user who goes on to the next depth with probability ``p``:
    (1 − p)·Σ_d p^(d−1)·X_d/d, where X_d is the number of documents that both have in the first d places. As the
    rankings are finite, three numbers describe it: RBO_EXT assumes that the agreement at the end of the lists
    continues, RBO_MIN that they have no further document in common, and RBO_MIN + RBO_RES that they have as many as
    possible. S and L are the shorter and the longer list, and s and l their lengths:

    * RBO_EXT = (1−p)/p·[Σ_{d≤l} X_d·p^d/d + Σ_{s<d≤l} X_s·(d−s)/(s·d)·p^d] + [(X_l − X_s)/l + X_s/s]·p^l
    * RBO_MIN = (1−p)/p·[Σ_{d≤l} (X_d − X_l)·p^d/d − X_l·ln(1−p)]
    * RBO_RES = p^s + p^l − p^f − (1−p)/p·[s·Σ_{s<d≤f} p^d/d + l·Σ_{l<d≤f} p^d/d + X_l·(−ln(1−p) − Σ_{d≤f} p^d/d)],
      with f = l + s − X_l

    Documents with equal scores are ranked as for all measures, in descending order of their ids; if both runs have the
    same ties, they agree on them. A query that only one of two runs has counts as 0, with a warning.

    Parameters
    ----------
    runs : DataFrame, dict of dicts, iterable of named tuples, path, or dict of these by run name
        One run or several, in the forms of :func:`evaluate`.
    other : DataFrame, dict of dicts, iterable of named tuples, or path, optional
        One run that each of the runs is compared with. By default each pair of the runs is compared.
    p : float in (0, 1), default=0.9
        Persistence: the probability, between 0 and 1, of going on to the next depth. The first d depths have a share of
        more than 1 − p^d of the weight.
    depth : int, optional
        Number of documents of each ranking that are compared; by default all.
    by_query : bool, default=False
        Whether to return one row per query instead of the mean over the queries of either run.

    Returns
    -------
    DataFrame
        Columns ``rbo`` (RBO_EXT), ``rbo_min`` and ``rbo_res``. The index is ``run``, or ``run`` and ``other`` for all
        pairs, followed by ``query_id`` with `by_query`.

    Raises
    ------
    BadParameter
        If ``p`` or ``depth`` is out of range.
    BadRun
        If a run cannot be used, if two runs have no query in common, or if there are fewer than two runs.

    See Also
    --------
    pyterrier_cwla.studies.rbo : Overlap of two orders of the same systems, with the mean over all ways to break ties.

    References
    ----------
    Webber, Moffat and Zobel (2010), Eq. 11, 30 and 32.

    Examples
    --------
    >>> one = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    >>> other = {"q": {"b": 3.0, "a": 2.0, "d": 1.0}}
    >>> rbo(one, other, p=0.8).round(3)
           rbo  rbo_min  rbo_res
    run
    run  0.587    0.405    0.353
    """
    import pandas as pd

    check_persistence(p)
    if depth is not None:
        check_whole(1, depth=depth)
    given = separate_runs(runs)
    if len(given) < (2 if other is None else 1):
        number = many(len(given) + (other is not None), "run")
        raise BadRun(f"an overlap is that of two runs, and there is {number}: give a second one.")
    one_more = [] if other is None else [(None, one_run(other, "other= takes one run"))]
    qids, ranked = _ranked_pairs([*given.items(), *one_more], depth)
    names: list[Any] = list(given)
    pairs = list(combinations(names, 2)) if other is None else [(name, None) for name in names]
    tables, notes = [], []
    for one, two in pairs:
        called = f"{one} and {'other' if two is None else two}"
        answered, alone = _answered(qids, ranked[one], ranked[two], called)
        if alone:
            notes.append(f"{called} ({alone:,} of {int(answered.sum()):,})")
        table = pd.DataFrame(_overlap(ranked[one], ranked[two], p), index=pd.Index(qids, name="query_id"))[answered]
        tables.append(table if by_query else table.mean().to_frame().T)
    if notes:
        notes[_SHOWN:] = [f"and {len(notes) - _SHOWN:,} more pairs"] if len(notes) > _SHOWN else []
        warn(f"topics that only one of two runs has count as 0 in their overlap: {'; '.join(notes)}.")
    keys, levels = (pairs, ["run", "other"]) if other is None else (names, ["run"])
    found = pd.concat(tables, keys=keys, names=levels)
    return found if by_query else found.droplevel(-1)


@dataclass(frozen=True)
class _RankedPairs:
    """Rankings of a run.

    Attributes
    ----------
    n : ndarray of int, shape (n_queries,)
        Number of documents of each query.
    pair : ndarray of int, shape (n_rows,)
        Number of each pair of query and document, ascending: queries times `documents`, plus documents.
    rank : ndarray of int, shape (n_rows,)
        Rank of each pair.
    documents : int
        Number of documents of all runs.
    """

    n: Array
    pair: Array
    rank: Array
    documents: int


def _ranked_pairs(
    runs: Sequence[tuple[str | None, Any]], depth: int | None
) -> tuple[list[str], dict[str | None, _RankedPairs]]:
    """Return the queries of all runs, and the rankings of each run down to a depth."""
    columns: dict[str | None, Columns] = {}
    for name, run in runs:
        with naming(name):
            columns[name] = run_columns(loaded(run, "run"))
    qids = list(dict.fromkeys(query for one in columns.values() for query in one.queries()[1]))
    index = {qid: number for number, qid in enumerate(qids)}
    rows = {}
    for name, one in columns.items():
        with naming(name):
            rows[name] = Rows.from_run(one, index, check=False)
    chunks = [chunk for one in rows.values() for chunk in chunks_of(id_columns.written(one.columns.doc_id))]
    codes, documents = id_columns.numbers(pa.chunked_array(chunks, pa.large_string()))
    found, end = {}, 0
    for name, ordered in rows.items():
        start, end = end, end + len(ordered.columns)
        with naming(name):
            found[name] = _of_rows(ordered, codes[start:end], documents, depth)
    return qids, found


def _of_rows(rows: Rows, codes: Array, documents: int, depth: int | None) -> _RankedPairs:
    """Return the rankings of rows whose documents have the given numbers."""
    row = rows.in_rank_order(np.arange(len(codes)))
    rank = places_within(rows.sizes) + 1
    pair = np.repeat(rows.query, rows.sizes) * documents + codes[row]
    order = np.argsort(pair, kind="stable")
    again = np.flatnonzero(pair[order[1:]] == pair[order[:-1]])
    if len(again):
        rows.refuse_twice(int(row[order[again[0]]]))
    n = np.zeros(rows.queries, np.int64)
    n[rows.query] = rows.sizes
    if depth is not None:
        n, order = np.minimum(n, depth), order[rank[order] <= depth]
    return _RankedPairs(n, pair[order], rank[order], documents)


def _overlap(one: _RankedPairs, other: _RankedPairs, p: float) -> dict[str, Array]:
    """Return the overlap of each query, in the notation of Webber et al.; 0 for queries of one run only."""
    at = np.minimum(np.searchsorted(other.pair, one.pair), len(other.pair) - 1)
    common = np.flatnonzero(other.pair[at] == one.pair)
    query = one.pair[common] // one.documents
    entry = np.maximum(one.rank[common], other.rank[at[common]])
    s, l = np.minimum(one.n, other.n), np.maximum(one.n, other.n)
    X_l = np.bincount(query, minlength=len(l))
    X_s = np.bincount(query[entry <= s[query]], minlength=len(l))
    f = l + s - X_l
    sums = OverlapSums(p, int(f.max(initial=0)))
    seen = sums.of(query, entry, l)
    beyond = -np.log1p(-p) / p - sums.weight(np.zeros_like(l), l)  # the sum of p^(d−1)/d over d > l
    at_s, at_l = X_s / np.maximum(s, 1), (X_l - X_s) / np.maximum(l, 1)
    steady = at_s * (p**s - p**l - (1 - p) * s * sums.weight(s, l))  # if the agreement of the shorter list continues
    widest = s * sums.weight(s, f) + l * sums.weight(l, f) + X_l * (beyond - sums.weight(l, f))
    values = (
        (1 - p) * seen + steady + (at_l + at_s) * p**l,
        (1 - p) * (seen + X_l * beyond),
        p**s + p**l - p**f - (1 - p) * widest,
    )
    return {name: np.clip(value, 0, 1) for name, value in zip(VALUES, values)}  # rounding may exceed it slightly


def _answered(qids: list[str], one: _RankedPairs, other: _RankedPairs, called: str) -> tuple[Array, int]:
    """Return the mask of the queries of either run, and the number of those that only one run has."""
    either, both = (one.n > 0) | (other.n > 0), (one.n > 0) & (other.n > 0)
    if not both.any():
        theirs = (some([qids[at] for at in np.flatnonzero(run.n)]) or "none" for run in (one, other))
        raise BadRun(f"the runs {called} have no topic in common: {', and '.join(f'one has {ids}' for ids in theirs)}.")
    return either, int(either.sum() - both.sum())

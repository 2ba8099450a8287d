"""Grid of metrics, one for each pair of a continuation C and an aggregation A."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ...errors import BadParameter, near, some
from ...evaluation.driver import evaluate
from ...measures.named import CWLA, RowMeasure
from ...model.language import parse
from ...model.metric import Metric

Array = np.ndarray

#: The aggregations of Moffat et al. (2022), Table 4.
AGGREGATIONS = ("etg", "erg", "err", "avg", "max", "fin", "fgt(0.8)", "pe(0.5)")

#: Aggregation of the best-known metric of each continuation, by the continuation's name.
CANONICAL = {"prec": "erg", "rbp": "erg", "dcg": "erg", "ap1": "erg", "rr": "err", "inst": "erg", "ap2": "avg"}

_SETS, _ORDERS = 12, 6  # number of random document sets on which a cell is tested, and number of orders of each
_SHORTEST = 24  # documents


def continuations(k: int = 5, phi: float = 0.8, T: float = 2.25, rel: int | None = None) -> list[str]:
    """Return the continuations of Moffat et al. (2022), Tables 4 and 5: prec, rbp, dcg, ap1, rr, inst, ap2.

    The defaults are the parameters of Table 4; Table 5 has k=3, φ=0.5, T=1. In both tables, the total gain is that of
    the ranking only (``R="ranking"``).

    Parameters
    ----------
    k : int, default=5
        Cutoff of prec and dcg, in ranks.
    phi : float, default=0.8
        Persistence of rbp.
    T : float, default=2.25
        Target of inst.
    rel : int, optional
        Grade at which the users of rr leave. ``rel=1`` gives the rr of these tables, whose users leave at the first
        result of that grade. Without it, rr is Eq. 12 of the paper.

    Returns
    -------
    list of str
        Canonical texts of the continuations.

    References
    ----------
    Moffat et al. (2022), Tables 4 and 5.

    Examples
    --------
    >>> continuations(k=3, phi=0.5, T=1)
    ['prec(3)', 'rbp(0.5)', 'dcg(3)', 'ap1(ranking)', 'rr', 'inst(1)', 'ap2(ranking)']
    """
    rr = "rr" if rel is None else f"rr({rel})"
    texts = (f"prec({k})", f"rbp({phi})", f"dcg({k})", "ap1(ranking)", rr, f"inst({T})", "ap2(ranking)")
    return [str(parse(text, "continuation")) for text in texts]


def grid(
    C: Iterable[Any] | None = None,
    A: Iterable[Any] = AGGREGATIONS,
    *,
    canonical: Mapping[str, str] | None = None,
    **options: Any,
) -> Grid:
    """Create a CWLA measure for each pair of C and A, as in Tables 4 and 5 of Moffat et al. (2022).

    Parameters
    ----------
    C : iterable, optional
        Continuations, as texts or functions. By default those of :func:`continuations`.
    A : iterable, default=AGGREGATIONS
        Aggregations, as texts or functions.
    canonical : mapping, optional
        Aggregation with which the others of the row are compared, by the text or name of the continuation. It adds to
        or replaces entries of ``CANONICAL``.
    **options
        Options of every measure: ``max_rel``, without which grades have no linear gain, ``gain``, ``effort``, ``norm``,
        ``end``, ``cutoff`` and other options of CWLA.

    Returns
    -------
    Grid

    Raises
    ------
    UnknownSpec
        If there is no such continuation or aggregation.
    BadParameter
        If a function occurs twice, or if an option is invalid.

    References
    ----------
    Moffat et al. (2022), section 4.

    Examples
    --------
    >>> metrics = grid(["prec(5)", "rbp(0.8)", "ap2"], ["erg", "err", "avg", "fin"], max_rel=3)
    >>> metrics
    <3 C × 4 A>
    >>> metrics["rbp(0.8)", "fin"]
    CWLA(C='rbp(0.8)',A='fin',max_rel=3)
    >>> {cell: kind for cell, kind in metrics.kinds.items() if kind}
    {('prec(5)', 'err'): 'X', ('rbp(0.8)', 'err'): 'X', ('ap2', 'fin'): 'XX'}
    >>> metrics.canonical
    {'prec(5)': 'erg', 'rbp(0.8)': 'erg', 'ap2': 'avg'}
    """
    rows = _parsed(continuations() if C is None else C, "continuation", "C")
    columns = _parsed(A, "aggregation", "A")
    measures = {(c, a): CWLA(C=rows[c], A=columns[a], **options) for c in rows for a in columns}
    return Grid(list(rows), list(columns), measures, _canonical(rows, columns, canonical or {}))


@dataclass(frozen=True, eq=False, repr=False)
class Grid(Mapping[tuple[str, str], RowMeasure]):
    """Measures by the canonical texts of (C, A).

    Attributes
    ----------
    C, A : list of str
        Canonical texts of the continuations and aggregations.
    measures : dict
        Measure of each cell (C, A).
    canonical : dict
        Aggregation of the canonical metric of each continuation.
    """

    C: list[str]
    A: list[str]
    measures: dict[tuple[str, str], RowMeasure]
    canonical: dict[str, str]

    def __getitem__(self, cell: tuple[str, str]) -> RowMeasure:
        return self.measures[cell]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.measures)

    def __len__(self) -> int:
        return len(self.measures)

    def __repr__(self) -> str:
        return f"<{len(self.C)} C × {len(self.A)} A>"

    @cached_property
    def named(self) -> dict[str, RowMeasure]:
        """Measures by the names of their cells, such as ``rbp(0.8) + max``."""
        return {cell_name(c, a): measure for (c, a), measure in self.items()}

    @cached_property
    def kinds(self) -> dict[tuple[str, str], str]:
        """Kind of each cell: "X", "XX", or "" for a metric of rankings.

        X: the score is the same for all gains. XX: the score is the same for all orders of the same documents, if there
        are more documents than the metric considers. The kinds are found by scoring random lists in several orders, so
        that they are also known for user-defined C and A. They agree with Table 3 of the paper, with one addition: rr +
        etg of Eq. 12, 1 − Π(1 − r_i)·(1 + Σ r_i), but not with ``rel=1``, as in Tables 4 and 5 of the paper. If all
        gains are 0 or 1 there are more such cells: then ap1, ap2 and rr with max, fin and pe score 1 whenever there is
        any gain.

        References
        ----------
        Moffat et al. (2022), Table 3.
        """
        return dict(zip(self, _kinds(self.values()), strict=True))


def cell_name(c: str, a: str) -> str:
    """Return the name of a cell."""
    return f"{c} + {a}"


def _parsed(functions: Iterable[Any], kind: str, role: str) -> dict[str, Any]:
    if isinstance(functions, str):
        raise BadParameter(f"{role} of a grid must be a list: write {role}=[{functions!r}, …].")
    specs: dict[str, Any] = {}
    for function in functions:
        spec = parse(function, kind)
        if str(spec) in specs:
            raise BadParameter(f"{role} has {str(spec)!r} twice.")
        specs[str(spec)] = spec
    if not specs:
        raise BadParameter(f"the grid has no {role}.")
    return specs


def _canonical(C: Mapping[str, Any], A: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    chosen = {}
    by_name = {spec.name for spec in C.values()}
    for key, a in given.items():
        c = key if key in by_name else str(parse(key, "continuation"))
        if c not in by_name and c not in C:
            raise BadParameter(f"canonical: the grid has no C={key!r}. {near(key, C)}")
        chosen[c] = str(parse(a, "aggregation"))
        if chosen[c] not in A:
            raise BadParameter(f"canonical: the grid has no A={a!r}; there is {some(A, 12)}.")
    found = {c: chosen.get(c, chosen.get(spec.name, CANONICAL.get(spec.name))) for c, spec in C.items()}
    return {c: a for c, a in found.items() if a is not None and a in A}


def _kinds(measures: Iterable[RowMeasure]) -> list[str]:
    """Return the kind of each measure, found by scoring sets of random documents in several orders."""
    plain = [measure(lengths=None, duplicates=None) for measure in measures]  # tables do not contain these documents
    wanted = [(_depth(measure.metric), _highest(measure.metric)) for measure in plain]
    scores: dict[str, pd.Series] = {}
    for depth, highest in dict.fromkeys(wanted):
        alike = [measure for measure, lists in zip(plain, wanted, strict=True) if lists == (depth, highest)]
        scores |= evaluate(*_random_lists(depth, highest), alike, by_query=True)
    by_set = [scores[str(measure)].to_numpy().reshape(_SETS, _ORDERS) for measure in plain]
    return ["X" if _same(of.ravel()) else "XX" if _same(of) else "" for of in by_set]


def _random_lists(depth: int, highest: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return judgments and a run: for each set of documents, one query for each order."""
    rng = np.random.default_rng(0)
    shares = np.linspace(0.1, 1, _SETS)[:, None]  # shares of relevant documents
    grades = np.where(rng.random((_SETS, depth)) < shares, rng.integers(1, highest + 1, (_SETS, depth)), 0)
    grades[:3] = 0
    # Three sets: no relevant document, one of grade 1, one of the highest grade.
    grades[1, 0], grades[2, 0] = 1, highest
    words = rng.integers(1, 1000, (_SETS, depth))
    order = rng.permuted(np.tile(np.arange(depth), (_SETS, _ORDERS, 1)), axis=2)
    at = np.arange(_SETS)[:, None, None]
    lists = np.repeat([f"{number:04d}" for number in range(_SETS * _ORDERS)], depth)
    named = pd.DataFrame({"query_id": lists, "doc_id": [f"d{number}" for number in order.ravel()]})
    falling = -np.tile(np.arange(depth, dtype=float), _SETS * _ORDERS)
    run = named.assign(score=falling, doc_length=words[at, order].ravel())
    return named.assign(relevance=grades[at, order].ravel()), run


def _depth(metric: Metric) -> int:
    """Return a depth well beyond all ranks that the metric considers."""
    return max(_SHORTEST, 2 * max(metric.named_rank, metric.last_that_counts or 0))


def _highest(metric: Metric) -> int:
    """Return the highest grade that makes a difference, or 1 if it is not known."""
    try:
        return int(metric.best[1])
    except BadParameter:
        return 1


def _same(scores: Array) -> bool:
    """Return whether the scores of each row are equal up to rounding."""
    return bool((np.ptp(scores, axis=-1) <= 1e-9 * np.maximum(np.abs(scores).max(axis=-1), 1)).all())

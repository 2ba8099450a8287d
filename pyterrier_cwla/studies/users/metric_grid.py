"""A metric for each pair of a continuation C and an aggregation A, and which of them tell no rankings apart."""

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

#: By a continuation's name the aggregation with which it makes the metric that it is known from.
CANONICAL = {"prec": "erg", "rbp": "erg", "dcg": "erg", "ap1": "erg", "rr": "err", "inst": "erg", "ap2": "avg"}

_SETS, _ORDERS = 12, 6  # sets of random documents that a cell is tried on, and orders of each
_SHORTEST = 24  # documents


def continuations(k: int = 5, phi: float = 0.8, T: float = 2.25, rel: int | None = None) -> list[str]:
    """The continuations of Moffat et al. (2022), Tables 4 and 5: prec, rbp, dcg, ap1, rr, inst, ap2.

    Table 4 has the parameters that are the defaults here, Table 5 k=3, φ=0.5, T=1; both know of the total gain only
    what is in the ranking (``R="ranking"``). ``rel=1`` gives the row of rr as these tables have it, whose users leave
    at the first result of that grade; without it, rr is the paper's Eq. 12.

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
    """A CWLA measure for each C with each A, as in Tables 4 and 5 of Moffat et al. (2022).

    ``C``, ``A``: functions of the language, as texts or as they are; without C those of :func:`continuations` ·
    ``canonical``: by the texts or names of continuations the aggregation that the others of the row are compared with,
    where it shall be another than in ``CANONICAL``, or is not there · ``options``: of every measure: ``max_rel``,
    without which grades have no linear gain, ``gain``, ``effort``, ``norm``, ``end``, ``cutoff`` and others of CWLA.

    Raises UnknownSpec and BadParameter as CWLA does, and for a function that is there twice.

    >>> metrics = grid(["prec(5)", "rbp(0.8)", "ap2"], ["erg", "err", "avg", "fin"], max_rel=3)
    >>> metrics
    <3 C × 4 A>
    >>> metrics["rbp(0.8)", "fin"]
    CWLA(C='rbp(0.8)',A='fin',max_rel=3)
    >>> {cell: kind for cell, kind in metrics.kinds.items() if kind}
    {('prec(5)', 'err'): 'X', ('rbp(0.8)', 'err'): 'X', ('ap2', 'fin'): 'XX'}
    >>> metrics.canonical
    {'prec(5)': 'erg', 'rbp(0.8)': 'erg', 'ap2': 'avg'}

    Source: Moffat et al. (2022), section 4.
    """
    rows = _parsed(continuations() if C is None else C, "continuation", "C")
    columns = _parsed(A, "aggregation", "A")
    measures = {(c, a): CWLA(C=rows[c], A=columns[a], **options) for c in rows for a in columns}
    return Grid(list(rows), list(columns), measures, _canonical(rows, columns, canonical or {}))


@dataclass(frozen=True, eq=False, repr=False)
class Grid(Mapping[tuple[str, str], RowMeasure]):
    """Measures by the canonical texts of (C, A); ``canonical``: by C the A of the metric that it is known from."""

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
        """The measures by the names of their cells, such as ``rbp(0.8) + max``."""
        return {cell_name(c, a): measure for (c, a), measure in self.items()}

    @cached_property
    def kinds(self) -> dict[tuple[str, str], str]:
        """Of each cell what it does not tell apart: "X", "XX", or "" for a metric of rankings.

        X: the score is the same whatever the gains; XX: it is the same for all orders of the same documents, of more
        than the metric looks at. This is found by scoring random lists in several orders, for a user's own C and A,
        too. It finds what the paper's Table 3 has, and one more: rr + etg by Eq. 12, 1 − Π(1 − r_i)·(1 + Σ r_i), but
        not with ``rel=1``, as in the paper's Tables 4 and 5. Where all gains are 0 or 1 it finds more: then ap1, ap2
        and rr with max, fin and pe are 1 if there is a gain at all.

        Source: Moffat et al. (2022), Table 3.
        """
        return dict(zip(self, _kinds(self.values()), strict=True))


def cell_name(c: str, a: str) -> str:
    return f"{c} + {a}"


def _parsed(functions: Iterable[Any], kind: str, role: str) -> dict[str, Any]:
    if isinstance(functions, str):
        raise BadParameter(f"{role} of a grid are several: write {role}=[{functions!r}, …].")
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
    """Scores sets of random documents, each in several orders."""
    plain = [measure(lengths=None, duplicates=None) for measure in measures]  # tables know none of these documents
    wanted = [(_depth(measure.metric), _highest(measure.metric)) for measure in plain]
    scores: dict[str, pd.Series] = {}
    for depth, highest in dict.fromkeys(wanted):
        alike = [measure for measure, lists in zip(plain, wanted, strict=True) if lists == (depth, highest)]
        scores |= evaluate(*_random_lists(depth, highest), alike, by_query=True)
    by_set = [scores[str(measure)].to_numpy().reshape(_SETS, _ORDERS) for measure in plain]
    return ["X" if _same(of.ravel()) else "XX" if _same(of) else "" for of in by_set]


def _random_lists(depth: int, highest: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Judgments and a run: of each set of documents as many queries as there are orders."""
    rng = np.random.default_rng(0)
    shares = np.linspace(0.1, 1, _SETS)[:, None]  # of documents that are relevant
    grades = np.where(rng.random((_SETS, depth)) < shares, rng.integers(1, highest + 1, (_SETS, depth)), 0)
    grades[:3] = 0
    grades[1, 0], grades[2, 0] = 1, highest  # three sets have nothing, one that is hardly relevant, and one of the best
    words = rng.integers(1, 1000, (_SETS, depth))
    order = rng.permuted(np.tile(np.arange(depth), (_SETS, _ORDERS, 1)), axis=2)
    at = np.arange(_SETS)[:, None, None]
    lists = np.repeat([f"{number:04d}" for number in range(_SETS * _ORDERS)], depth)
    named = pd.DataFrame({"query_id": lists, "doc_id": [f"d{number}" for number in order.ravel()]})
    falling = -np.tile(np.arange(depth, dtype=float), _SETS * _ORDERS)
    run = named.assign(score=falling, doc_length=words[at, order].ravel())
    return named.assign(relevance=grades[at, order].ravel()), run


def _depth(metric: Metric) -> int:
    """Well beyond all that the metric looks at."""
    return max(_SHORTEST, 2 * max(metric.named_rank, metric.last_that_counts or 0))


def _highest(metric: Metric) -> int:
    """The highest grade that makes a difference, or 1 where nothing tells."""
    try:
        return int(metric.best[1])
    except BadParameter:
        return 1


def _same(scores: Array) -> bool:
    """Whether the scores of each row are the same but for the last digits."""
    return bool((np.ptp(scores, axis=-1) <= 1e-9 * np.maximum(np.abs(scores).max(axis=-1), 1)).all())

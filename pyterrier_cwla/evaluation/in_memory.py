"""Score runs that are in memory, several small ones at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ir_measures.measures import Measure

from ..data.alignment import Judgments, Rows
from ..errors import CWLAError, naming
from ..measures.provider import CWLAEvaluator
from .score_cache import Scored

_TOGETHER = 1 << 19  # rows of several runs that are scored at once


def in_groups(
    evaluator: CWLAEvaluator, runs: Iterable[tuple[str, Any]], check: bool = True, many: bool = True
) -> Iterator[Scored]:
    """What runs that are whole score, by name."""
    for group in _groups(evaluator.judgments, runs, check, many):
        for (name, rows), values in zip(group.items(), _scored(evaluator, group, many), strict=True):
            yield Scored(name, values, rows.answered, rows.overlap)


def _groups(
    judgments: Judgments, runs: Iterable[tuple[str, Any]], check: bool, many: bool
) -> Iterator[dict[str, Rows]]:
    """The runs' rows, as many runs at a time as are worth scoring together."""
    group: dict[str, Rows] = {}
    for name, run in runs:
        with naming(name if many else None):
            group[name] = judgments.rows(run, check, str(name) if many else "the run")
        if sum(len(rows.columns) for rows in group.values()) > _TOGETHER:
            yield group
            group = {}
    if group:
        yield group


def _scored(evaluator: CWLAEvaluator, group: dict[str, Rows], many: bool) -> list[dict[Measure, Any]]:
    try:
        return evaluator.tables(list(group.values()))
    except CWLAError:  # say of which run
        found = []
        for name, rows in group.items():
            with naming(name if many else None):
                found += evaluator.tables([rows])
        return found

"""Runs and judgments as users hand them over: paths, tables, and several runs by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import BadRun


def is_runs(runs: Any) -> bool:
    """Whether this is a dict of runs by name, and not itself a run (scores by document by query)."""
    if not isinstance(runs, Mapping):
        return False
    first = next(iter(runs.values()), None)
    return not isinstance(first, Mapping) or any(isinstance(v, Mapping) for v in first.values())


def one_run(run: Any) -> Any:
    """What is one run, and not runs by name."""
    if is_runs(run):
        raise BadRun(f"this takes one run, and was given {len(run):,} by name: give one of them.")
    return loaded(run, "run")


def loaded(data: Any, what: str) -> Any:
    """A table from a path; anything else as it is."""
    if isinstance(data, str | Path):
        from .formats import read_qrels, read_run

        return read_qrels(data) if what == "qrels" else read_run(data)
    return data


class RunNames:
    """The names of runs and the places where the runs are."""

    def __init__(self) -> None:
        self._places: dict[str, str] = {}

    def check(self, run: str, place: str) -> None:
        """Raise BadRun if another run has this name; a run in memory has the place ``""``."""
        if run not in self._places:
            return
        where = " and ".join(filter(None, (self._places[run], place)))
        raise BadRun(
            f"two runs have the name {run!r}{where and f' (in {where})'}: give one of them another; or, if these are"
            " parts of one data set, put them into a folder whose name ends in .parquet, and give that."
        )

    def add(self, run: str, place: str) -> None:
        self.check(run, place)
        self._places[run] = place

    def __len__(self) -> int:
        return len(self._places)

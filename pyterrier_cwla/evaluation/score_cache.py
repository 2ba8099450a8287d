"""Goes on with evaluations where they stopped: the values of queries are kept for each run and measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from ir_measures.measures import Measure

from ..data.columns import of_columns
from ..data.overlap import Overlap
from ..files.atomic import AnyPath
from ..files.run_files import Source
from ..measures.provider import CWLAEvaluator
from ..tasks.hashing import fingerprint
from ..tasks.result_cache import Kept
from .measure_hash import names_in_cache


class Scored(NamedTuple):
    """A run's values by measures [judged queries], in the order of the judgments."""

    run: Any
    """Its name."""
    values: dict[Measure, np.ndarray]
    answered: np.ndarray
    """Which of the judged queries it answers [judged queries]; the others have the value of no document."""
    overlap: Overlap = Overlap()
    """How much of it is judged; nothing is known of runs whose values were kept."""


Compute = Callable[[list[Measure]], Iterable[Scored]]
"""Scores runs by these measures."""


class KeptScores:
    """The values of runs' queries by the measures and judgments of an evaluator, kept in a folder.

    A run is known by its content, not by its name; a measure as
    :func:`pyterrier_cwla.evaluation.measure_hash.names_in_cache` names it.
    Values of other measures are computed each time. Nothing is kept of a run that answers none of the judged queries.
    """

    def __init__(self, keep: AnyPath, evaluator: CWLAEvaluator) -> None:
        judgments = evaluator.judgments
        content = fingerprint(of_columns(judgments.columns), judgments.qids)
        self.kept = Kept(keep, {"kept": "values of queries", "judgments": content})
        self._measures, self._queries = list(evaluator.measures), len(judgments.qids)
        self._names = names_in_cache(self._measures)

    def of_source(self, source: Source, compute: Compute) -> list[Scored]:
        """What the runs in files score: what is kept, and the rest by ``compute``.

        Raises MalformedFile where a file is changed meanwhile.
        """
        content = source.digest()

        def unchanged(measures: list[Measure]) -> Iterator[Scored]:
            for scored in compute(measures):
                source.check_unchanged()
                yield scored

        if source.name is not None:
            return self.of_runs([source.name], lambda _: content, unchanged)
        content = fingerprint(content, [part.run for part in source.parts])
        known = self.kept.get(f"{content} runs", {"runs": ("U", (None,))})
        names = [] if known is None else known["runs"].tolist()
        found = self.of_runs(names, lambda name: f"{content} {name}", unchanged)
        if known is None:
            self.kept.put(f"{content} runs", {"runs": np.array([scored.run for scored in found])})
        return found

    def of_runs(self, names: Iterable[Any], content: Callable[[Any], str], compute: Compute) -> list[Scored]:
        """The same of runs with these names, whose contents have these hashes; without names, all are computed."""
        found = {name: self._of(name, content(name)) for name in names}
        missing = [m for m in self._measures if not found or any(m not in scored.values for scored in found.values())]
        for new in compute(missing) if missing else ():
            if new.answered.any():
                self._put(content(new.run), new)
            values = {**found[new.run].values, **new.values} if new.run in found else new.values
            found[new.run] = new._replace(values={measure: values[measure] for measure in self._measures})
        return list(found.values())

    def _of(self, run: Any, content: str) -> Scored:
        answered = self.kept.get(f"{content} answered", {"answered": ("b", (self._queries,))})
        if answered is None:
            return Scored(run, {}, np.zeros(0, bool))
        layout = {"values": ("fiu", (self._queries,))}
        pieces = {measure: self.kept.get(f"{content} {name}", layout) for measure, name in self._names.items()}
        values = {measure: piece["values"] for measure, piece in pieces.items() if piece is not None}
        return Scored(run, values, answered["answered"])

    def _put(self, content: str, scored: Scored) -> None:
        self.kept.put(f"{content} answered", {"answered": scored.answered})
        for measure, name in self._names.items():
            if measure in scored.values:
                self.kept.put(f"{content} {name}", {"values": scored.values[measure]})

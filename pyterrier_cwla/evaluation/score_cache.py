"""Cache of the scores of queries, keyed by measure and by the contents of runs and judgments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..data.columns import of_columns
from ..files.atomic import AnyPath
from ..files.run_files import Source
from ..measures.provider import CWLAEvaluator
from ..tasks.hashing import fingerprint
from ..tasks.result_cache import ResultCache
from .measure_hash import names_in_cache
from .scored import Scored

Compute = Callable[[CWLAEvaluator], Iterable[Scored]]
"""Function that scores runs by the measures of an evaluator."""


class ScoreCache:
    """Cache folder for the scores of queries by the measures and judgments of an evaluator.

    The key of a run is a hash of its content, not its name. The key of a measure comes from
    :func:`pyterrier_cwla.evaluation.measure_hash.names_in_cache`; measures without a key are computed each time. Runs
    that answer none of the judged queries are not cached.
    """

    def __init__(self, cache_dir: AnyPath, evaluator: CWLAEvaluator) -> None:
        judgments = evaluator.judgments
        content = fingerprint(of_columns(judgments.columns), judgments.qids)
        self.cache = ResultCache(cache_dir, {"kept": "values of queries", "judgments": content})
        self._evaluator, self._queries = evaluator, len(judgments.qids)
        self._names = names_in_cache(evaluator.measures)

    def of_source(self, source: Source, compute: Compute) -> list[Scored]:
        """Return the scores of the runs in files, from the cache or from `compute`.

        Raises
        ------
        MalformedFile
            If a file changes while it is read.
        """
        content = source.digest()

        def unchanged(evaluator: CWLAEvaluator) -> Iterator[Scored]:
            for scored in compute(evaluator):
                source.check_unchanged()
                yield scored

        place = str(source)
        if source.name is not None:
            return self.of_runs([source.name], lambda _: content, unchanged, place)
        content = fingerprint(content, [part.run for part in source.parts])
        known = self.cache.get(f"{content} runs", {"runs": ("U", (None,))})
        names = [] if known is None else known["runs"].tolist()
        found = self.of_runs(names, lambda name: f"{content} {name}", unchanged, place)
        if known is None:
            self.cache.put(f"{content} runs", {"runs": np.array([scored.run for scored in found])})
        return found

    def of_runs(
        self, names: Iterable[Any], content: Callable[[Any], str], compute: Compute, place: str = ""
    ) -> list[Scored]:
        """Return the scores of runs, from the cache or from `compute`.

        Parameters
        ----------
        names : iterable
            Names of the runs. If empty, `compute` scores all runs that it finds.
        content : callable
            Function from the name of a run to the hash of its content.
        compute : callable
            Function that scores the runs by the measures of an evaluator.
        place : str, optional
            File or folder of the runs.
        """
        found = {name: self._of(name, content(name), place) for name in names}
        measures = list(self._evaluator.measures)
        missing = [m for m in measures if not found or any(m not in scored.values for scored in found.values())]
        evaluator = self._evaluator
        if len(missing) < len(measures):
            evaluator = CWLAEvaluator(missing, evaluator.judgments)
        for new in compute(evaluator) if missing else ():
            if new.answered.any():
                self._put(content(new.run), new)
            values = {**found[new.run].values, **new.values} if new.run in found else new.values
            found[new.run] = new._replace(values={measure: values[measure] for measure in measures})
        return list(found.values())

    def _of(self, run: Any, content: str, place: str) -> Scored:
        answered = self.cache.get(f"{content} answered", {"answered": ("b", (self._queries,))})
        if answered is None:
            return Scored(run, {}, np.zeros(0, bool), place=place)
        layout = {"values": ("fiu", (self._queries,))}
        pieces = {measure: self.cache.get(f"{content} {name}", layout) for measure, name in self._names.items()}
        values = {measure: piece["values"] for measure, piece in pieces.items() if piece is not None}
        return Scored(run, values, answered["answered"], place=place)

    def _put(self, content: str, scored: Scored) -> None:
        self.cache.put(f"{content} answered", {"answered": scored.answered})
        for measure, name in self._names.items():
            if measure in scored.values:
                self.cache.put(f"{content} {name}", {"values": scored.values[measure]})

"""Cache of the scores of queries, keyed by measure and by the contents of runs and judgments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from ir_measures.measures import Measure

from ..data.abstention import Abstention
from ..data.columns import of_columns
from ..data.document_tables import DocumentTable
from ..data.intents import IntentWeights
from ..errors import warn
from ..files.atomic import AnyPath
from ..files.run_files import RunFiles
from ..measures.provider import CWLAEvaluator
from ..model.language import Spec
from ..tasks.hashing import fingerprint
from ..tasks.result_cache import ResultCache
from .scored import Scored

Compute = Callable[[CWLAEvaluator], Iterable[Scored]]
"""Function that scores runs by the measures of an evaluator."""


class ScoreCache:
    """Cache folder for the scores of queries by the measures and judgments of an evaluator.

    The key of a run is a hash of its content, not its name. The key of a measure comes from
    :func:`pyterrier_cwla.evaluation.score_cache.names_in_cache`; measures without a key are computed each time. Runs
    that answer none of the judged queries are not cached.
    """

    def __init__(self, cache_dir: AnyPath, evaluator: CWLAEvaluator) -> None:
        judgments = evaluator.judgments
        content = fingerprint(of_columns(judgments.columns), judgments.qids)
        self.cache = ResultCache(cache_dir, {"kept": "values of queries", "judgments": content})
        self._evaluator, self._queries = evaluator, len(judgments.qids)
        self._names = names_in_cache(evaluator.measures)
        self._digest = functools.cache(RunFiles.digest)

    def lacking(self, source: RunFiles) -> list[Measure]:
        """Return the measures by which :meth:`of_source` computes scores of the runs in files."""
        asked: list[Measure] = []

        def ask(evaluator: CWLAEvaluator) -> Iterator[Scored]:
            asked.extend(evaluator.measures)
            return iter(())

        self.of_source(source, ask)
        return asked

    def of_source(self, source: RunFiles, compute: Compute) -> list[Scored]:
        """Return the scores of the runs in files, from the cache or from `compute`.

        Raises
        ------
        MalformedFile
            If a file changes while it is read.
        """
        content = self._digest(source)

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
        if known is None and found:
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
        found = {name: self._cached(name, content(name), place) for name in names}
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

    def _cached(self, run: Any, content: str, place: str) -> Scored:
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


def names_in_cache(measures: Iterable[Measure]) -> dict[Measure, str]:
    """Return the key in a result cache of each measure whose results can be cached.

    A function of a user may depend on values that change. Its results can be cached only if its decorator has a
    ``version=``. One warning names all functions without a version.

    Returns
    -------
    dict
        Keys by measure, without the measures whose results must be computed each time.
    """
    names, lacking = {}, {}
    for measure in measures:
        unknown: dict[str, str] = {}
        content = _identity(measure, unknown)
        if unknown:
            lacking.update(unknown)
        else:
            names[measure] = fingerprint(content)
    if lacking:
        functions = ", ".join(lacking)
        cures = ", ".join(sorted({cure for cure in lacking.values() if cure}))
        warn(
            f"cache_dir=: results of {functions} are not cached, and are computed each time: it is unknown whether they"
            " have changed." + (f" Write {cures} to cache them, and change the version with the results." * bool(cures))
        )
    return names


def key_in_cache(measures: Iterable[Measure]) -> str | None:
    """Return the key in a result cache of several measures together, or None if one of them cannot be cached."""
    measures = list(measures)
    names = names_in_cache(measures)
    return fingerprint([names[one] for one in measures]) if all(one in names for one in measures) else None


def _identity(value: Any, lacking: dict[str, str], where: str = "") -> Any:
    """Return the identity of a measure, or of a parameter of it, as values that JSON can represent.

    Objects without an identity are added to `lacking`, each with the text that gives it one (empty if there is none).
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case np.generic():
            return value.item()
        case tuple() | list():
            return [_identity(one, lacking, where) for one in value]
        case dict():
            return [[_identity(key, lacking, where), _identity(one, lacking, where)] for key, one in value.items()]
        case Spec():
            part = value.part
            what = f"{part.kind} {part.name!r}"
            if not part.built_in and part.version is None:
                lacking[what] = f'@{part.kind}(version="1")'
            own = [] if part.built_in else [part.__module__, part.version, sorted(part.facts.stated)]
            values = [[name, _identity(one, lacking, f"parameter {name} of {what}")] for name, one in value.values]
            return [part.kind, part.name, *own, values]
        case DocumentTable() if _is_ours(value) and value.function is None:
            return [value._parameter, value.name, value.content]
        case Abstention():
            return [value.name, value.content]
        case IntentWeights() if _is_ours(value):
            return [value.name, sorted((*key, weight) for key, weight in (value.loaded or {}).items())]
        case Measure() if _is_ours(value):
            content = getattr(value, "content", ())
            if isinstance(content, dict):
                return [repr(value), {name: _identity(one, lacking) for name, one in content.items()}]
            return [repr(value), *(_identity(one, lacking) for one in content)]
    lacking[where or f"{type(value).__name__} {value}"] = ""
    return None


def _is_ours(value: Any) -> bool:
    """Return whether the class of an object belongs to this package or to ir_measures."""
    return type(value).__module__.split(".")[0] in ("pyterrier_cwla", "ir_measures")

"""Many measures of many runs in one call, as a DataFrame."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from .align import Judgments, Rows
from .catalogue import THEIRS
from .errors import BadParameter, BadRun, CWLAError, MissingLength, NoFiniteValue, UnknownSpec, near
from .judgments import COUNTS
from .measures import MEASURES, CWLAMeasure, metric_of
from .provider import CWLAEvaluator, CWLAProvider, prepare

_TOGETHER = 1 << 19  # rows of several runs that are scored at once


def measures_of(texts: Iterable[Any]) -> list[Measure]:
    """Measures from text or objects, or one; an unknown name is an error with its near matches."""
    texts = [texts] if isinstance(texts, str | Measure) else texts
    return [text if isinstance(text, Measure) else _parsed(str(text)) for text in texts]


def computed_here(measures: Iterable[Any]) -> list[Measure]:
    """Measures from text or objects, all of which this package computes."""
    wanted = measures_of(measures)
    provider = CWLAProvider()
    for measure in wanted:
        if not provider.supports(measure):
            if measure.NAME in THEIRS:
                metric_of(measure)  # says which parameter is out of range
            raise UnknownSpec(
                f"{measure} is a measure of ir_measures that is not computed here: `pyterrier-cwla measures` lists all"
                " that are."
            )
    return wanted


def _parsed(text: str) -> Measure:
    try:
        measure = ir_measures.parse_measure(text)
    except NameError:
        name = text.split("(")[0].split("@")[0].strip()
        known = near(name, _computed())
        raise UnknownSpec(f"no measure {name!r}. {known} `pyterrier-cwla measures` lists all.") from None
    except CWLAError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        if re.search(r"=\s*-", text):
            raise BadParameter(f"{text}: no parameter is negative.") from error
        raise UnknownSpec(f"cannot read the measure {text!r}: write Name(parameter=value)@cutoff.") from error
    return measure if isinstance(measure, CWLAMeasure) else _validated(measure)


def _computed() -> list[str]:
    """The names that are computed here, ir_measures' other names for them included."""
    ours = {*MEASURES, *THEIRS, *COUNTS}
    return [name for name, measure in ir_measures.measures.registry.items() if measure.NAME in ours]


def _validated(measure: Measure) -> Measure:
    """One of ir_measures' own with parameters that it takes, where by itself it fails an assertion or refuses T=2."""
    known = measure.SUPPORTED_PARAMS
    for name, value in list(measure.params.items()):
        if name not in known:
            raise BadParameter(f"{measure.NAME} has no parameter {name!r}. {near(name, known)}")
        if not known[name].validate(value) and isinstance(value, int) and known[name].validate(float(value)):
            measure = measure(**{name: float(value)})
    allowed = {p.name: p.allowed for p in THEIRS[measure.NAME].parameters} if measure.NAME in THEIRS else {}
    for name, parameter in known.items():
        if parameter.required and name not in measure.params:
            example = f", as in {measure.NAME}@10" if name == "cutoff" else ""
            raise BadParameter(f"{measure.NAME} needs {name}={example}.")
        if name in measure.params and not parameter.validate(measure.params[name]):
            what = allowed.get(name) or parameter.desc or "of another type"
            raise BadParameter(f"{measure.NAME}({name}={measure.params[name]!r}): {name} must be {what}.")
    return measure


def evaluate(
    qrels: Any, runs: Any, measures: Iterable[Any], by_query: bool = False, check: bool = False
) -> pd.DataFrame:
    """Evaluates runs: one row a run (or, ``by_query``, a run and query), one column a measure.

    ``runs``: a run, or a dict of runs by name. Runs and ``qrels`` are DataFrames, polars or Arrow tables, dicts of
    dicts, iterables of ir_measures' named tuples, or paths of files. ``check=True`` looks for documents that are
    retrieved twice even where they are not relevant and the frame is large.

    >>> qrels = {"q": {"a": 1, "b": 0, "c": 1}}
    >>> run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    >>> evaluate(qrels, run, ["AP", "CWLA(C='rbp(0.5)',A='erg',max_rel=1)"]).round(4)
             AP  CWLA(C='rbp(0.5)',A='erg',max_rel=1)
    run
    run  0.8333                                 0.625
    """
    wanted = computed_here(measures)
    judgments = prepare(loaded(qrels, "qrels"))
    evaluator = CWLAEvaluator(wanted, judgments)
    named = runs if is_runs(runs) else {"run": runs}
    if not named:
        raise BadRun("there is no run to evaluate.")
    names: list[Any] = []
    columns: dict[str, list] = {str(m): [] for m in wanted}
    for group in _groups(judgments, named, check, named is runs):
        names += group
        for values in _scored(evaluator, group, named is runs):
            for m, value in (values if by_query else evaluator.means(values)).items():
                columns[str(m)].append(value)
    if not by_query:
        return pd.DataFrame(columns, index=pd.Index(names, name="run"))
    index = pd.MultiIndex.from_product([names, judgments.qids], names=["run", "query_id"])
    return pd.DataFrame({m: np.concatenate(values) for m, values in columns.items()}, index=index)


def _groups(judgments: Judgments, runs: Mapping, check: bool, many: bool) -> Iterator[dict[str, Rows]]:
    """The runs' rows, as many runs at a time as are worth scoring together."""
    group: dict[str, Rows] = {}
    for name, run in runs.items():
        with naming(name if many else None):
            group[name] = judgments.rows(loaded(run, "run"), check)
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


@contextmanager
def naming(run: str | None) -> Iterator[None]:
    """Says of which run an error speaks, where there may be many."""
    try:
        yield
    except (BadParameter, BadRun, MissingLength, NoFiniteValue) as error:
        if run is None:
            raise
        kind = NoFiniteValue if isinstance(error, NoFiniteValue) else type(error)
        raise kind(f"{run}: {error}") from error


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
        from .files import read_qrels, read_run

        return read_qrels(data) if what == "qrels" else read_run(data)
    return data

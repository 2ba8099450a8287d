"""Many measures of many runs in one call, as a DataFrame."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ir_measures
import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ..data.alignment import Judgments, Rows
from ..measures.catalogue import THEIRS
from ..errors import BadParameter, BadRun, CWLAError, MissingLength, NoFiniteValue, UnknownSpec, near, shown
from ..tasks.hashing import fingerprint, of_columns
from ..data.columns import run_columns
from ..measures.counting import COUNTS
from ..measures.named import MEASURES, CWLAMeasure
from ..measures.provider import CWLAEvaluator, judged, refuse_unsupported
from .scored import Scored
from ..model.language import shortened
from ..errors.user_warnings import warn

if TYPE_CHECKING:
    from .score_cache import KeptScores

_TOGETHER = 1 << 19  # rows of several runs that are scored at once


def measures_of(texts: Iterable[Any]) -> list[Measure]:
    """Measures from text or objects, or one; an unknown name is an error with its near matches."""
    measures = [text if isinstance(text, Measure) else _parsed(_text_of(text)) for text in listed(texts)]
    return [m if isinstance(m, CWLAMeasure) else _validated(m) for m in measures]


def listed(measures: Any) -> list[Any]:
    """One measure, or several, as a list."""
    if isinstance(measures, str | Measure):
        return [measures]
    if not isinstance(measures, Iterable):
        raise BadParameter(
            f"measures must be a measure or a list of them, such as ['nDCG@10', 'TBG'], not {shown(measures)}."
        )
    return list(measures)


def computed_here(measures: Iterable[Any]) -> list[Measure]:
    """Measures from text or objects, all of which this package computes."""
    wanted = measures_of(measures)
    refuse_unsupported(wanted)
    return wanted


def _text_of(measure: Any) -> str:
    if not isinstance(measure, str):
        raise BadParameter(
            f"a measure is a text, such as 'nDCG@10', or an object of ir_measures, not {shown(measure)}, of type"
            f" {type(measure).__name__}."
        )
    return measure


def _parsed(text: str) -> Measure:
    try:
        measure = ir_measures.parse_measure(text)
    except NameError:
        name = shortened(text.split("(")[0].split("@")[0].strip())
        known = near(name, _computed())
        raise UnknownSpec(f"no measure {name!r}. {known} `pyterrier-cwla measures` lists all.") from None
    except CWLAError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError) as error:
        if re.search(r"=\s*-", text):
            raise BadParameter(f"{shortened(text)}: no parameter is negative.") from error
        text = shortened(text)
        raise UnknownSpec(f"cannot read the measure {text!r}: write Name(parameter=value)@cutoff.") from error
    return measure


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
        small = isinstance(value, int) and abs(value) < 2**53
        if small and not known[name].validate(value) and known[name].validate(float(value)):
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
    qrels: Any,
    runs: Any,
    measures: Iterable[Any],
    by_query: bool = False,
    check: bool = True,
    progress: bool = False,
    keep: str | Path | None = None,
) -> pd.DataFrame:
    """Evaluates runs: one row a run (or, ``by_query``, a run and query), one column a measure.

    ``runs``: a run, or a dict of runs by name. Runs and ``qrels`` are DataFrames, polars or Arrow tables, dicts of
    dicts, iterables of ir_measures' named tuples, or paths. A path may be that of a file or folder larger than memory,
    and of several runs: ``pyterrier_cwla.files.run_files.sources`` says which, and ``stream`` how they are read.
    ``check``: a document twice in a ranking and a pair judged twice are errors; ``check=False`` leaves out what is not
    free, and then finds repeated documents of frames only where they are relevant (or judged, if a measure needs all
    judgments). Repeats that are not found count as documents of their own. Judgments and files are always checked in
    full. ``progress=True`` shows a bar while files take long. ``keep``: a folder in which the values of queries are
    kept, run by run and measure by measure, so that an evaluation that was broken off, or is asked for more measures or
    runs, goes on from there; what is kept of other contents is not used.

    >>> qrels = {"q": {"a": 1, "b": 0, "c": 1}}
    >>> run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    >>> evaluate(qrels, run, ["AP", "CWLA(C='rbp(0.5)',A='erg',max_rel=1)"]).round(4)
             AP  CWLA(C='rbp(0.5)',A='erg',max_rel=1)
    run
    run  0.8333                                 0.625
    """
    wanted = computed_here(measures)
    judgments = judged(loaded(qrels, "qrels"))
    evaluator = CWLAEvaluator(wanted, judgments)
    names: list[Any] = []
    columns: dict[str, list] = {str(m): [] for m in wanted}
    for scored in each_scored(evaluator, runs, check, progress, keep):
        names.append(scored.run)
        for m, value in (scored.values if by_query else evaluator.means(scored.values)).items():
            columns[str(m)].append(value)
    if not by_query:
        return pd.DataFrame(columns, index=pd.Index(names, name="run"))
    index = pd.MultiIndex.from_product([names, judgments.qids], names=["run", "query_id"])
    return pd.DataFrame({m: np.concatenate(values) for m, values in columns.items()}, index=index)


def each_scored(
    evaluator: CWLAEvaluator, runs: Any, check: bool = True, progress: bool = False, keep: Any = None
) -> Iterator[Scored]:
    """What each run scores, one after the other: what is kept, and the rest anew."""
    from .score_cache import KeptScores

    kept = None if keep is None else KeptScores(keep, evaluator)
    names = set()
    for scored in _each(evaluator, runs, check, progress, kept):
        if scored.run in names:
            raise _twice(scored.run, runs)
        names.add(scored.run)
        warn_of(scored, many=is_runs(runs))
        yield scored
    if not names:
        raise BadRun("there is no run to evaluate.")


def warn_of(scored: Scored, many: bool = True) -> None:
    """Warns of a run of which almost nothing is judged."""
    about = scored.overlap.about(str(scored.run) if many else "the run")
    if about is not None:
        warn(about)


def _twice(run: str, runs: Any) -> BadRun:
    from ..files.run_files import are_paths, holding, sources_of, twice

    files = runs if are_paths(runs) else {name: of for name, of in runs.items() if are_paths(of)}
    return twice(run, holding(run, sources_of(files)))


def _each(
    evaluator: CWLAEvaluator, runs: Any, check: bool, progress: bool, kept: KeptScores | None
) -> Iterator[Scored]:
    """Frames in groups, and files one after the other."""
    from ..files.run_files import are_paths, sources_of
    from .streaming import values_of_files

    files = partial(values_of_files, evaluator.measures, evaluator.judgments, progress=progress, kept=kept)
    if isinstance(runs, list | tuple) and not runs:
        return
    if are_paths(runs):
        yield from files(sources_of(runs))
        return
    named, many = (runs, True) if is_runs(runs) else ({"run": runs}, False)
    for of_files, some_runs in groupby(named.items(), lambda item: are_paths(item[1])):
        if of_files:
            yield from files(sources_of(dict(some_runs)))
        elif kept is not None:
            for name, run in some_runs:
                with naming(name if many else None):
                    yield _resumed(evaluator, name, run, check, kept)
        else:
            yield from in_groups(evaluator, some_runs, check, many)


def _resumed(evaluator: CWLAEvaluator, name: Any, run: Any, check: bool, kept: KeptScores) -> Scored:
    columns = run_columns(run)

    def compute(measures: list[Measure]) -> Iterator[Scored]:
        rows = evaluator.judgments.rows(columns, check)
        values = CWLAEvaluator(measures, evaluator.judgments).tables([rows])[0]
        yield Scored(name, values, rows.answered, rows.overlap)

    return kept.of_runs([name], lambda _: fingerprint(check, of_columns(columns)), compute)[0]


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
            group[name] = judgments.rows(run, check)
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
        from ..files.formats import read_qrels, read_run

        return read_qrels(data) if what == "qrels" else read_run(data)
    return data

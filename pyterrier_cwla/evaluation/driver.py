"""Many measures of many runs in one call, as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ..data.columns import of_columns, run_columns
from ..errors import BadRun, naming
from ..errors.user_warnings import warn
from ..files.inputs import is_runs, loaded
from ..measures.provider import CWLAEvaluator, computed_here, judged
from ..tasks.hashing import fingerprint
from .in_memory import in_groups
from .score_cache import Scored

if TYPE_CHECKING:
    from .score_cache import KeptScores


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
                    yield _resumed(evaluator, name, run, check, kept, many)
        else:
            yield from in_groups(evaluator, some_runs, check, many)


def _resumed(evaluator: CWLAEvaluator, name: Any, run: Any, check: bool, kept: KeptScores, many: bool = True) -> Scored:
    columns = run_columns(run)

    def compute(measures: list[Measure]) -> Iterator[Scored]:
        rows = evaluator.judgments.rows(columns, check, str(name) if many else "the run")
        values = CWLAEvaluator(measures, evaluator.judgments).tables([rows])[0]
        yield Scored(name, values, rows.answered, rows.overlap)

    return kept.of_runs([name], lambda _: fingerprint(check, of_columns(columns)), compute)[0]

"""Evaluate many measures of many runs in one call: every run passes through one loop, whatever it is read from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..data.alignment import Rows
from ..data.columns import of_columns, run_columns
from ..errors import BadRun, naming
from ..errors.user_warnings import warn
from ..files.inputs import RunNames, is_runs, loaded
from ..files.run_files import are_paths, sources, sources_of
from ..measures.provider import CWLAEvaluator, computed_here, judged
from ..tasks.hashing import fingerprint
from .in_memory import in_groups
from .score_cache import ScoreCache
from .scored import Scored
from .streaming import BUFFER_ROWS, Reading, refuse_mean_lengths, values_of_files


def evaluate(
    qrels: Any,
    runs: Any,
    measures: Iterable[Any],
    by_query: bool = False,
    check: bool = True,
    progress: bool = False,
    cache_dir: str | Path | None = None,
) -> pd.DataFrame:
    """Evaluate runs: one row for each run (or each run and query), one column for each measure.

    Parameters
    ----------
    qrels : DataFrame, dict, path, …
        Judgments: a DataFrame, polars or Arrow table, dict of dicts, iterable of ir_measures' named tuples, or path.
    runs : DataFrame, dict, path, …
        A run in any of these forms, or a dict of runs by name. A path may be that of a file or folder larger than
        memory, and of several runs: see ``pyterrier_cwla.files.run_files.sources`` and :func:`stream`.
    measures : iterable
        Measures, or their names.
    by_query : bool
        Whether to return values of queries instead of means.
    check : bool
        Whether to search all rankings for repeated documents, which are errors. With False they are found in frames
        only where they are relevant (or judged, if a measure needs all judgments); others count as documents of their
        own. Judgments and files are always checked in full.
    progress : bool
        Whether to show a progress bar while files take long.
    cache_dir : path, optional
        Folder in which the values of queries are cached, run by run and measure by measure. An evaluation that was
        interrupted, or is asked for more measures or runs, continues from there. Values of files and tables with other
        contents are not used.

    Returns
    -------
    DataFrame
        With the index run, or run and query_id.

    Raises
    ------
    BadRun
        If a run cannot be evaluated, two runs have one name, or there is no run.
    BadJudgments
        If the judgments cannot be used.
    MalformedFile
        If a file does not hold what it should.

    Examples
    --------
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
    for scored in each_scored(evaluator, runs, check, progress, cache_dir):
        names.append(scored.run)
        for m, value in (scored.values if by_query else evaluator.means(scored.values)).items():
            columns[str(m)].append(value)
    if not by_query:
        return pd.DataFrame(columns, index=pd.Index(names, name="run"))
    index = pd.MultiIndex.from_product([names, judgments.qids], names=["run", "query_id"])
    return pd.DataFrame({m: np.concatenate(values) for m, values in columns.items()}, index=index)


def stream(
    qrels: Any,
    runs: Any,
    measures: Iterable[Any],
    *,
    buffer_rows: int = BUFFER_ROWS,
    progress: bool = False,
    cache_dir: str | Path | None = None,
) -> Iterator[pd.DataFrame]:
    """Evaluate runs in files of any size in bounded memory: yields the scores of queries as they are ready.

    Parameters
    ----------
    qrels : DataFrame, dict, path, …
        Judgments, as for :func:`evaluate`.
    runs : path, list of paths, or dict of paths by name
        As ``pyterrier_cwla.files.run_files.sources`` takes them.
    measures : iterable
        Measures, or their names.
    buffer_rows : int
        About how many rows are held at a time of queries that lie scattered over a file; the file is read as often as
        that takes.
    progress : bool
        Whether to show a progress bar.
    cache_dir : path, optional
        Folder in which scores are cached as by :func:`evaluate`; scores then come run by run.

    Yields
    ------
    DataFrame
        The columns run, query_id, and one for each measure. Judged queries that a run does not answer come last for
        the run; other queries of the run do not come.

    Raises
    ------
    MalformedFile
        If a file is no run, has a NaN score, or changes meanwhile.
    BadRun
        If a document is retrieved twice, or two runs have one name.
    MissingLength
        For ``missing="mean"`` without ``lengths=``, since no run is ever whole here.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> path = f"{tempfile.mkdtemp()}/bm25.parquet"
    >>> pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [1.0, 2.0]}).to_parquet(path)
    >>> pd.concat(stream({"q": {"a": 1}}, path, ["RR"]))
        run query_id   RR
    0  bm25        q  0.5
    """
    evaluator = CWLAEvaluator(computed_here(measures), judged(loaded(qrels, "qrels")))
    refuse_mean_lengths(evaluator.measures)
    found: Iterable[Scored]
    if cache_dir is None:
        found = (
            scored for source in sources(runs) for scored in Reading(source, evaluator).scores(buffer_rows, progress)
        )
    else:
        found = values_of_files(evaluator, sources(runs), progress, ScoreCache(cache_dir, evaluator))
    for scored in checked(found):
        frame = scored.frame(evaluator.judgments.qids)
        if len(frame):
            yield frame


def checked(found: Iterable[Scored], notice: Callable[[Scored, str], None] | None = None) -> Iterator[Scored]:
    """Pass on the scores of runs: refuse two runs of one name, and notice runs that have few ids of the judgments.

    Parameters
    ----------
    found : iterable of Scored
        The runs one after the other, or the queries of several runs in turns.
    notice : callable, optional
        What to do about a run that answers no judged query, or of which almost nothing is judged. It takes the run's
        scores and a sentence. By default, warn.

    Raises
    ------
    BadRun
        If two runs have one name, or there is no run.
    """
    names = RunNames()
    for scored in found:
        names.check(scored.run, scored.place)
        if scored.last:
            names.add(scored.run, scored.place)
            if about := scored.overlap.about(str(scored.run)):
                warn(about) if notice is None else notice(scored, about)
        yield scored
    if not names:
        raise BadRun("there is no run to evaluate.")


def each_scored(
    evaluator: CWLAEvaluator, runs: Any, check: bool = True, progress: bool = False, cache_dir: Any = None
) -> Iterator[Scored]:
    """Score runs, in memory or in files, one after the other; with ``cache_dir``, from the cache where possible."""
    cache = None if cache_dir is None else ScoreCache(cache_dir, evaluator)

    only = "run" if not is_runs(runs) else None  # the name of a run that was given without one

    def notice(scored: Scored, about: str) -> None:
        warn((scored.overlap.about() if scored.run == only else None) or about)

    return checked(_each(evaluator, runs, check, progress, cache), notice)


def _each(
    evaluator: CWLAEvaluator, runs: Any, check: bool, progress: bool, cache: ScoreCache | None
) -> Iterator[Scored]:
    """Score frames in groups, and files one after the other."""
    if isinstance(runs, list | tuple) and not runs:
        return
    if are_paths(runs):
        yield from values_of_files(evaluator, sources_of(runs), progress, cache)
        return
    named, many = (runs, True) if is_runs(runs) else ({"run": runs}, False)
    for of_files, some_runs in groupby(named.items(), lambda item: are_paths(item[1])):
        if of_files:
            yield from values_of_files(evaluator, sources_of(dict(some_runs)), progress, cache)
        elif cache is not None:
            for name, run in some_runs:
                with naming(name if many else None):
                    yield _cached(name, run, check, cache)
        else:
            yield from in_groups(evaluator, ((name, run, "") for name, run in some_runs), check, many)


def _cached(name: Any, run: Any, check: bool, cache: ScoreCache) -> Scored:
    columns = run_columns(run)

    def compute(evaluator: CWLAEvaluator) -> Iterator[Scored]:
        rows = Rows(evaluator.judgments, columns, check)
        yield Scored(name, evaluator.tables([rows])[0], rows.answered, rows.overlap)

    return cache.of_runs([name], lambda _: fingerprint(check, of_columns(columns)), compute)[0]

"""Evaluation of runs by many measures in one call, from memory, files or a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.columns import of_columns, run_columns
from ..errors import BadRun, naming, warn
from ..files.inputs import are_paths, is_runs, loaded, of_split, refuse_same_name
from ..files.run_files import sources
from ..measures.counting import scores_of_unanswered
from ..measures.provider import CWLAEvaluator, aggregated_rows, computed_here, evaluator_of
from ..tasks.hashing import fingerprint
from .score_cache import ScoreCache
from .scored import Scored, in_groups
from .streaming import refuse_mean_lengths, scores_of, values_of_files

if TYPE_CHECKING:
    import pandas as pd


_VALUES = 1 << 16  # values of queries of several runs that are aggregated together


def evaluate(
    qrels: Any,
    runs: Any,
    measures: Iterable[Any],
    by_query: bool = False,
    check: bool = True,
    progress: bool = False,
    cache_dir: str | Path | None = None,
    split: str | None = None,
) -> pd.DataFrame:
    """Return the scores of runs, with one row per run (or per run and query) and one column per measure.

    Parameters
    ----------
    qrels : DataFrame, dict of dicts, iterable of named tuples, or path
        Judgments: a pandas, polars or Arrow table, ``{query: {document: grade}}``, an iterable of ir_measures' named
        tuples, or the path of a file.
    runs : DataFrame, dict of dicts, iterable of named tuples, path, or dict of these by run name
        One run in any of the forms of `qrels`, or several runs by name. A path can lead to a file or folder that is
        larger than memory and that contains several runs: see ``pyterrier_cwla.files.run_files.sources`` and
        :func:`stream`. A file has the name of the file without suffixes; a single run in memory has the name "run".
        Topics that a run does not answer score 0, with a warning if they are more than half.
    measures : iterable of Measure or str, or dict of these by label
        Measures or their names. The keys of a dict are the names of the columns.
    by_query : bool, default=False
        Whether to return one row per run and query instead of the aggregate over queries.
    check : bool, default=True
        Whether to search all rankings for repeated documents, which are errors. With False, runs in memory are searched
        only among relevant documents (among judged documents if a measure needs all judgments); other repetitions
        count as separate documents. Judgments and files are always checked completely.
    progress : bool, default=False
        Whether to show a progress bar if reading files takes long.
    cache_dir : path, optional
        Folder in which the values of queries are cached for each run and measure. A later evaluation with the same
        folder computes only the values that are missing, for example after an interruption. Cached values are not used
        if the contents of the files or tables have changed.
    split : str, optional
        Subset and split of JSON files that have several, such as MTEB's predictions: ``"en/test"``, or one of the two
        names if it is unique. These files are then all in memory. Files without splits are read as they are.

    Returns
    -------
    DataFrame
        One float column per measure, in the order given. The index is ``run``, or ``run`` and ``query_id`` with
        `by_query`.

    Raises
    ------
    BadRun
        If a run cannot be evaluated, if two runs have the same name, or if there is no run.
    BadJudgments
        If the judgments cannot be used.
    MalformedFile
        If a file does not have the expected format.
    BadParameter
        If two different measures have the same name, or if `split` does not choose one split of a file.

    Examples
    --------
    >>> qrels = {"q": {"a": 1, "b": 0, "c": 1}}
    >>> run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    >>> evaluate(qrels, run, ["AP", "CWLA(C='rbp(0.5)',A='erg',max_rel=1)"]).round(4)
             AP  CWLA(C='rbp(0.5)',A='erg',max_rel=1)
    run
    run  0.8333                                 0.625
    >>> evaluate(qrels, run, {"early": "RR@1", "rest": "AP"}).round(4)
         early    rest
    run
    run    1.0  0.8333
    """
    import pandas as pd

    if split is not None:
        qrels, runs = loaded(qrels, "qrels", split), of_split(runs, split, qrels)
    if by_query:
        return scores_by_query(qrels, runs, measures, check, progress, cache_dir)[0]
    evaluator = evaluator_of(qrels, measures)
    names: list[Any] = []
    columns: dict[Any, list[float]] = {measure: [] for measure in evaluator.measures}
    found = each_scored(evaluator, runs, check, progress, cache_dir)
    while some := list(islice(found, 1 + _VALUES // len(evaluator.judgments.qids))):
        names += [one.run for one in some]
        for measure, means in columns.items():
            means += aggregated_rows(measure, np.array([one.values[measure] for one in some]))
    return pd.DataFrame({str(measure): means for measure, means in columns.items()}, pd.Index(names, name="run"))


def mteb_scores(measures: Any) -> Callable[..., dict[str, float]]:
    """Return a function that adds measures to the scores of MTEB's retrieval and reranking tasks.

    MTEB calls it in place of ``task_specific_scores``, after each split.

    Parameters
    ----------
    measures : iterable of Measure or str, or dict of these by label
        Measures or their names. Measures of time need a table of lengths, such as ``TBG(lengths=words)``.

    Returns
    -------
    callable
        Function for ``task_specific_scores`` of a task, or of a class of tasks. Its result, for the judgments and
        results that it is called with, is a dict from the names of measures to means over all judged queries.

    Raises
    ------
    UnknownSpec, BadParameter
        If a measure is unknown or cannot be computed; before MTEB runs the model.

    Examples
    --------
    >>> class Task:
    ...     task_specific_scores = mteb_scores(["RR", "CWLA(C='rbp(0.5)',A='erg',max_rel=1)"])
    >>> qrels, results = {"q": {"b": 1}}, {"q": {"a": 0.9, "b": 0.7}}
    >>> Task().task_specific_scores({}, qrels, results, hf_split="test", hf_subset="en")
    {'RR': 0.5, "CWLA(C='rbp(0.5)',A='erg',max_rel=1)": 0.25}
    """
    wanted = computed_here(measures)

    def task_specific_scores(*given: Any, **of_split: str) -> dict[str, float]:
        qrels, results = given[-2:]  # after the task, if this is a method of its class, and the scores of MTEB
        found: dict[str, float] = evaluate(qrels, {"run": results}, wanted).loc["run"].to_dict()
        return found

    return task_specific_scores


def scores_by_query(
    qrels: Any,
    runs: Any,
    measures: Iterable[Any],
    check: bool = True,
    progress: bool = False,
    cache_dir: str | Path | None = None,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the scores of :func:`evaluate` by query, and a mask (n_runs, n_queries) of answered queries."""
    import pandas as pd

    evaluator = evaluator_of(qrels, measures)
    found = list(each_scored(evaluator, runs, check, progress, cache_dir))
    levels = [[one.run for one in found], evaluator.judgments.qids]
    index = pd.MultiIndex.from_product(levels, names=["run", "query_id"])
    columns = {str(m): np.concatenate([one.values[m] for one in found]) for m in evaluator.measures}
    return pd.DataFrame(columns, index=index), np.array([one.answered for one in found])


def stream(
    qrels: Any,
    runs: Any,
    measures: Iterable[Any],
    *,
    progress: bool = False,
    cache_dir: str | Path | None = None,
) -> Iterator[pd.DataFrame]:
    """Yield the scores of runs in files of any size, in bounded memory.

    Parameters
    ----------
    qrels : DataFrame, dict of dicts, iterable of named tuples, or path
        Judgments, as for :func:`evaluate`.
    runs : path, list of paths, or dict of paths by run name
        Files or folders, in the forms of ``pyterrier_cwla.files.run_files.sources``.
    measures : iterable of Measure or str, or dict of these by label
        Measures or their names. The keys of a dict are the names of the columns.
    progress : bool, default=False
        Whether to show a progress bar.
    cache_dir : path, optional
        Folder in which scores are cached, as for :func:`evaluate`. Each frame then contains a complete run.

    Yields
    ------
    DataFrame
        Scores of some queries, with the columns run, query_id, and one per measure. The judged queries that a run does
        not answer are yielded last for the run. Queries without judgments are left out.

    Raises
    ------
    MalformedFile
        If a file is not a run, contains a NaN score, or changes while it is read. If it is larger than the memory limit
        and the rows of a query of a run are not one after the other; the error has a command that sorts them.
    BadRun
        If a document is retrieved twice for a query, or if two runs have the same name.
    MissingLength
        If a measure has ``missing="mean"`` and no ``lengths=``: the mean length of a run is unknown while it is read.

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
    evaluator = evaluator_of(qrels, measures)
    refuse_mean_lengths(evaluator.measures)
    found: Iterable[Scored]
    if cache_dir is None:
        found = (scored for source in sources(runs) for scored in scores_of(source, evaluator, progress))
    else:
        found = values_of_files(evaluator, sources(runs), progress, ScoreCache(cache_dir, evaluator))
    for scored in checked(found):
        frame = scored.frame(evaluator.judgments.qids)
        if len(frame):
            yield frame


def checked(
    found: Iterable[Scored], notice: Callable[[Scored, str], None] | None = None, nameless: str | None = None
) -> Iterator[Scored]:
    """Yield the scores of runs after checking their names and their overlap with the judgments.

    Parameters
    ----------
    found : iterable of Scored
        Scores of complete runs, or of groups of queries in any order of runs.
    notice : callable, optional
        Function that is called for a run that answers no judged query, has hardly any judged document, or has
        documents whose lengths are replaced by the mean. Its arguments are the scores of the run and a sentence that
        describes the problem. By default, a warning is issued, also if the run answers less than half of the topics.
    nameless : str, optional
        Default name of a run without a name, which messages do not show.

    Yields
    ------
    Scored
        The elements of `found`, unchanged.

    Raises
    ------
    BadRun
        If two runs have the same name, or if there is no run.
    MissingLength
        If no document of a run is in a table of lengths whose mean would replace all lengths.
    """
    places: dict[Any, str] = {}
    for scored in found:
        refuse_same_name(scored.run, scored.place, places)
        if scored.last:
            places[scored.run] = scored.place
            name = "the run" if scored.run == nameless else str(scored.run)
            for about in scored.overlap.notes(name):
                warn(about) if notice is None else notice(scored, about)
            answered, judged = int(scored.answered.sum()), len(scored.answered)
            if notice is None and scored.overlap.apart is None and 2 * answered < judged:
                others = scores_of_unanswered(map(repr, scored.values))
                warn(f"{name} answers {answered:,} of {judged:,} judged topics, and the others {others}.")
        yield scored
    if not places:
        raise BadRun("there is no run to evaluate.")


def each_scored(
    evaluator: CWLAEvaluator, runs: Any, check: bool = True, progress: bool = False, cache_dir: Any = None
) -> Iterator[Scored]:
    """Yield the scores of runs in memory, in groups, or in files; parameters as for :func:`evaluate`."""
    cache = None if cache_dir is None else ScoreCache(cache_dir, evaluator)
    many = is_runs(runs)

    def found() -> Iterator[Scored]:
        if are_paths(runs):
            yield from values_of_files(evaluator, sources(runs), progress, cache)
            return
        named = runs if many else {"run": runs}
        for of_files, some_runs in groupby(named.items(), lambda item: are_paths(item[1])):
            if of_files:
                yield from values_of_files(evaluator, sources(dict(some_runs)), progress, cache)
            elif cache is None:
                yield from in_groups(evaluator, ((name, run, "") for name, run in some_runs), check, many)
            else:
                for name, run in some_runs:
                    with naming(name if many else None):
                        yield _cached(name, run, check, cache)

    nothing = isinstance(runs, list | tuple) and not runs
    return checked(() if nothing else found(), nameless=None if many else "run")


def _cached(name: Any, run: Any, check: bool, cache: ScoreCache) -> Scored:
    columns = run_columns(run)
    compute = partial(in_groups, runs=[(name, columns, "")], check=check, many=False)
    return cache.of_runs([name], lambda _: fingerprint(check, of_columns(columns)), compute)[0]

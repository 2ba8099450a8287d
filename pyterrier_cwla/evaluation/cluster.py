"""Evaluation and parallel work (n_jobs=) on the workers of a Dask cluster."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from threading import Lock
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from ir_measures.measures import Measure

from ..data.alignment import Judgments
from ..data.columns import PYTERRIER, Array, NamedColumns, expected_name, run_columns, strings
from ..errors import BadParameter, BadRun, CWLAError, MalformedFile, naming, some
from ..errors.extras import needed
from ..files import id_columns
from ..files.arrow_arrays import of_numbers
from ..files.atomic import AnyPath, is_path
from ..files.inputs import refuse_same_name
from ..files.run_files import EXTRAS, RunFiles, RunPart, sources
from ..measures.declarations import needs_of
from ..measures.provider import CWLAEvaluator, aggregated, evaluator_of
from .driver import checked
from .score_cache import ScoreCache
from .scored import Scored, whole_runs
from .streaming import (
    Segments,
    extras_of,
    in_words,
    joined,
    refuse_mean_lengths,
    scores_of_queries,
    with_unanswered,
)

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["evaluate", "workers"]

_CUT = 1 << 20  # rows per task that joins the rows of split queries
_ROWS = 1 << 20  # rows of results per partition
_EACH = 8  # largest number of tasks per thread
_TOGETHER = 16  # counts that one task adds
_IDS = {"source": pa.int64(), "run": pa.large_string(), "query_id": pa.large_string()}
_COUNTS = _IDS | {"rows": pa.int64(), "segments": pa.int64()}
_STARTING = "pyterrier_cwla: start of Java for PyTerrier"


def evaluate(
    qrels: Any,
    runs: Any,
    measures: Iterable[Any],
    by_query: bool = False,
    cache_dir: AnyPath | None = None,
    client: Client | None = None,
) -> Any:
    """Evaluate runs on the workers of a Dask client; results equal those of :func:`pyterrier_cwla.evaluate`.

    Each worker scores the queries in the rows that it reads. Only the rows of queries that are split over several
    partitions, row groups or files are sent to other workers. Judgments, measures and their tables are sent to each
    worker once.

    Parameters
    ----------
    qrels : DataFrame, dict of dicts, iterable of named tuples, or path
        Judgments, as for :func:`pyterrier_cwla.evaluate`.
    runs : path, list of paths, dict of paths by run name, or Dask DataFrame
        Files or folders, as for :func:`pyterrier_cwla.stream`, under paths that are the same for all workers. Or a Dask
        DataFrame with the columns query_id, doc_id and score (or qid and docno), other columns that the measures need,
        and a column ``run`` if it has several runs. A Dask DataFrame is computed twice, the first time only its ids:
        call ``.persist()`` before if that is expensive.
    measures : iterable of Measure or str, or dict of these by label
        Measures or their names. The keys of a dict are the names of the columns.
    by_query : bool, default=False
        Whether to return one row per run and query instead of the aggregate over queries.
    cache_dir : path, optional
        For runs in files: a folder of this machine in which values are cached file by file, as for
        :func:`pyterrier_cwla.evaluate`. All values of queries are then sent to this machine, which also reads the files
        to hash them.
    client : distributed.Client, optional
        Client to use; by default the most recent one.

    Returns
    -------
    DataFrame or Dask DataFrame
        Without `by_query`, a DataFrame with one row per run. With `by_query`, a Dask DataFrame with the columns run,
        query_id and one per measure, ordered by run and query. Its partitions are already computed and held by the
        workers: ``.compute()`` fetches it, ``.to_parquet(folder)`` writes it partition by partition. No partial
        results are returned.

    Raises
    ------
    MissingLength
        If a measure has ``missing="mean"`` and no ``lengths=``: no worker has all documents of a run.
    CWLAError
        If the runs or judgments cannot be evaluated (see :func:`pyterrier_cwla.stream` for files and
        :func:`pyterrier_cwla.evaluate` for frames), if Dask is not installed, if there is no client, or if workers die
        repeatedly.

    Examples
    --------
    >>> import dask.dataframe, pandas as pd
    >>> from dask.distributed import Client
    >>> from pyterrier_cwla.evaluation import cluster
    >>> qrels = {"q": {"a": 1, "b": 0, "c": 1}}
    >>> run = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b", "c"], "score": [3.0, 2.0, 1.0]})
    >>> with Client(processes=False, dashboard_address=":0", set_as_default=False) as client:
    ...     print(cluster.evaluate(qrels, dask.dataframe.from_pandas(run, npartitions=2), ["AP"], client=client))
              AP
    run
    run  0.833333
    """
    client = _connected(client)
    from dask import dataframe, delayed
    from distributed import CancelledError

    evaluator = evaluator_of(qrels, measures)
    refuse_mean_lengths(evaluator.measures)
    given = _given(runs, extras_of(evaluator.measures))
    qids = evaluator.judgments.qids
    with _lost_workers(CancelledError, OSError):
        if cache_dir is not None:
            cached = list(checked(_cached(client, evaluator, given, cache_dir)))
            if by_query:
                return dataframe.from_delayed(
                    [delayed(pd.concat([of.frame(qids) for of in cached], ignore_index=True))]
                )
            return _table({of.run: list(evaluator.means(of.values).values()) for of in cached}, evaluator)
        sent = sent_to(client, list(evaluator.measures), evaluator.judgments)
        scores = scores_of_runs(client, sent, len(qids), given)
        found = client.gather([client.submit(means, sent, of_runs, pure=False) for of_runs in scores])
        given.check_unchanged()
    rows = {of.run: list(of.values.values()) for of in checked(chain.from_iterable(found))}
    if not by_query:
        return _table(rows, evaluator)
    frames = [client.submit(frame, sent, of_runs, pure=False) for of_runs in scores]
    nothing = {measure: np.zeros(0) for measure in evaluator.measures}
    return dataframe.from_delayed(frames, Scored("", nothing, np.zeros(0, bool)).frame([]), verify_meta=False)


@contextmanager
def workers(client: Client | None = None) -> Iterator[Client]:
    """Run parallel work (``n_jobs=``, PyTerrier's ``jobs=``) on the workers of a Dask client, as a context manager.

    The context applies to studies, simulations, scikit-learn's searches and cross-validation, and, with ``jobs=2`` or
    more, to ``OptunaSearch`` and PyTerrier's own searches. It sets ``joblib.parallel_config("dask")`` and configures
    PyTerrier's searches. Data that tasks share, such as the scores of a study, are sent to each worker once. Results
    equal those of one process to the last bit.

    Parameters
    ----------
    client : distributed.Client, optional
        Client to use; by default the most recent one.

    Yields
    ------
    distributed.Client
        The client.

    Raises
    ------
    CWLAError
        If Dask is not installed, if there is no client, or if workers die repeatedly.
    """
    from joblib import parallel_config

    client = _connected(client)
    with _lost_workers(), parallel_config("dask", client=client) as config:
        # PyTerrier's parallel searches set the initializer of processes on this attribute of joblib's backends.
        config["backend"]._workers = processes = _Processes(client)
        try:
            yield client
        finally:
            processes.forget()


class InFiles:
    """Runs in files, as tasks to count and to score them."""

    def __init__(self, found: Sequence[RunFiles]) -> None:
        self.sources = found
        self.parts: list[_Parts] = []
        self.places: dict[str, str] = {}  # by name of run

    def counted(self, client: Client) -> list[Any]:
        """Return futures of the row counts of groups of parts."""
        numbered = []
        for number, source in enumerate(self.sources):
            if not source.parts:
                raise source.empty
            # Absolute paths are independent of the working directory of a worker.
            numbered += [(number, replace(part, path=os.path.abspath(part.path))) for part in source.parts]
        self.parts = list(map(_Parts, _in_pieces(numbered, -(-len(numbered) // _tasks(client)))))
        return client.map(_row_counts, self.parts, pure=False)

    def check(self, runs: Iterable[tuple[int, str]]) -> None:
        """Check the number of the source and the name of each run with rows.

        Raises
        ------
        MalformedFile
            If a source has no rows.
        BadRun
            If two runs have the same name.
        """
        missing = dict(enumerate(self.sources))
        for number, run in runs:
            refuse_same_name(run, str(self.sources[number]), self.places)
            self.places[run] = str(self.sources[number])
            missing.pop(number, None)
        for source in missing.values():
            raise source.empty

    def scored(self, client: Client, **how: Any) -> list[Any]:
        """Return futures of the scores of all parts; the largest are first, so that workers end at about one time."""
        largest_first = sorted(self.parts, key=lambda parts: -parts.work)
        return client.map(_scored, largest_first, **how, pure=False)

    def check_unchanged(self) -> None:
        """Raise MalformedFile if a file has changed."""
        for source in self.sources:
            source.check_unchanged()


class InFrames:
    """A Dask DataFrame of runs, as tasks to count and to score them."""

    def __init__(self, frame: Any, extras: Sequence[str]) -> None:
        self.names: dict[str, list[str]] = {}
        given = list(dict.fromkeys(map(str, frame.columns)))
        for name in given:
            self.names.setdefault(PYTERRIER.get(name, name), []).append(name)
        missing = [name for name in ("query_id", "doc_id", "score") if name not in self.names]
        if missing:
            raise BadRun(f"the run has no column {expected_name(missing[0], given)!r}; there is {some(given, 8)}.")
        self.frame = frame
        self.wanted = [name for name in ("run", "query_id", "doc_id", "score", *extras) if name in self.names]

    def counted(self, client: Client) -> list[Any]:
        """Return futures of the row counts of partitions."""
        ids = [name for name in self.wanted if name in ("run", "query_id")]
        return self._done(client, _row_counts, ids)

    def scored(self, client: Client, **how: Any) -> list[Any]:
        """Return futures of the scores of partitions."""
        return self._done(client, _scored, self.wanted, **how)

    def check(self, runs: list[tuple[int, str]]) -> None:
        """Raise MalformedFile if there are no runs with rows."""
        if not runs:
            raise MalformedFile("the Dask DataFrame is empty: there are no rows in it.")

    def check_unchanged(self) -> None:
        """Do nothing: changes show as a difference between the numbers of counted and scored rows."""

    def _done(self, client: Client, task: Callable, wanted: Sequence[str], **how: Any) -> list[Any]:
        from dask import delayed

        frames = self.frame[[name for one in wanted for name in self.names[one]]].to_delayed()
        of_part = delayed(_of_partition, pure=False)
        return client.compute([of_part(task, frame, number, **how) for number, frame in enumerate(frames)])


@dataclass(frozen=True)
class _Parts:
    """Parts that one task reads one after the other, since the overhead of a task exceeds the cost of a small file.

    Attributes
    ----------
    parts : sequence of (int, RunPart)
        Parts, each with the number of its source.
    """

    parts: Sequence[tuple[int, RunPart]]

    @property
    def work(self) -> int:
        return sum(part.work for _, part in self.parts)

    def ids(self) -> Iterator[tuple[int, pa.Table]]:
        return ((source, table) for source, part in self.parts for table in part.ids())

    def tables(self, extras: Collection[str]) -> Iterator[pa.Table]:
        return (table for _, part in self.parts for table in part.tables(extras))


@dataclass(frozen=True)
class _Frame:
    """A partition with the interface of parts of files."""

    frame: pd.DataFrame
    number: int

    def ids(self) -> Iterator[tuple[int, pa.Table]]:
        with naming(f"partition {self.number}"):
            yield 0, pa.table(self._ids())

    def tables(self, extras: Iterable[str]) -> Iterator[pa.Table]:
        with naming(f"partition {self.number}"):
            columns = run_columns(self.frame.loc[:, self.frame.columns != "run"])
            given = {name: getattr(columns, name) for name in EXTRAS}
            ids = self._ids() | {"doc_id": columns.doc_id, "score": columns.value}
            yield pa.table(ids | {name: given[name] for name in extras if given[name] is not None})

    def _ids(self) -> dict[str, Any]:
        named = NamedColumns(self.frame, "run", "score", BadRun)
        run = named.get("run")
        run = pa.repeat(pa.scalar("run", pa.large_string()), len(self.frame)) if run is None else run
        ids = {"run": run, "query_id": named["query_id"]}
        return {name: strings(column, name, "run", BadRun) for name, column in ids.items()}


def _of_partition(task: Callable, frame: pd.DataFrame, number: int, **how: Any) -> Any:
    return task(_Frame(frame, number), **how)


def _row_counts(part: _Parts | _Frame) -> pa.Table:
    """Return the number of rows of each query of each run in a part, and in how many segments they are."""
    return _total([_segments_of(source, table) for source, table in part.ids()])


def _segments_of(source: int, table: pa.Table) -> pa.Table:
    segments = Segments(table)
    of, one = np.full_like(segments.sizes, source), np.ones_like(segments.sizes)
    of, run, query, *numbers = map(of_numbers, (of, segments.run, segments.query, segments.sizes, one))
    return pa.table([of, segments.runs.take(run), segments.queries.take(query), *numbers], [*_COUNTS])


def sent_to(client: Client, measures: Sequence[Measure], judgments: Judgments) -> Any:
    """Return a future of measures and judgments, which each worker fetches once.

    If all workers lose it, the client sends it again.
    """
    import dask

    for measure in measures:
        for table in needs_of(measure).tables:
            _ = len(table)  # read the table now: workers may not have its file
    content = cloudpickle.dumps((list(measures), judgments))
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
        return client.submit(_Sent, content, pure=False)


def scores_of_runs(client: Client, sent: Any, queries: int, given: InFiles | InFrames) -> list[Any]:
    """Return futures of lists of :class:`Scored` of all runs in order, after all parts have been scored.

    A task covers many parts, since the scheduler has a cost per task.
    """
    counted = given.counted(client)
    while len(counted) > 1:  # the workers add the counts of all parts
        counted = client.map(_total, _in_pieces(counted, _TOGETHER), pure=False)
    found, rows, cut = client.submit(_outline, counted[0], pure=False).result()
    given.check(found)
    split = client.submit(_Split, counted[0], pure=False)
    scored = given.scored(client, sent=sent, split=split, bundles=1 + cut // _CUT)
    summaries = client.gather(client.map(_summary, scored, pure=False))
    if (read := sum(number for number, *_ in summaries)) != rows:
        raise _changed(f"{read:,} rows were scored, and {rows:,} counted")
    results = list(zip([runs for _, runs, _ in summaries], client.map(attrgetter("scores"), scored, pure=False)))
    for bundle in sorted({bundle for *_, bundles in summaries for bundle in bundles}):
        having = [(bundles[bundle], part) for (*_, bundles), part in zip(summaries, scored) if bundle in bundles]
        pieces = client.map(_bundle, [part for _, part in having], number=bundle, pure=False)
        runs = set().union(*(runs for runs, _ in having))
        results.append((runs, client.submit(_together, sent, pieces, pure=False)))
    groups = _in_pieces([run for _, run in found], max(_ROWS // queries, 1))
    having_runs = [[of for runs, of in results if not runs.isdisjoint(group)] for group in groups]
    return [client.submit(_of_runs, sent, *one, pure=False) for one in zip(groups, having_runs)]


def _in_pieces(items: Sequence[Any], each: int) -> list[Any]:
    return [items[at : at + each] for at in range(0, len(items), each)]


def _tasks(client: Client) -> int:
    """Return the largest number of tasks that read files at the same time."""
    return _EACH * max(sum(client.nthreads().values()), 1)


def _total(counts: list[pa.Table]) -> pa.Table:
    """Return the sum of counts; runs and queries are in order of their first occurrence."""
    nothing = pa.table({name: pa.nulls(0, kind) for name, kind in _COUNTS.items()})
    by_query = joined([nothing, *counts]).group_by(_IDS, use_threads=False)
    found = by_query.aggregate([("rows", "sum"), ("segments", "sum")])
    return found.select([*_IDS, "rows_sum", "segments_sum"]).rename_columns([*_COUNTS])


def _outline(counts: pa.Table) -> tuple[list[tuple[int, str]], int, int]:
    """Return the source and the name of each run, the number of rows, and the number of rows of split queries."""
    runs = counts.group_by(["source", "run"], use_threads=False).aggregate([])
    found = list(zip(*(column.to_pylist() for column in runs.columns)))
    cut = counts.filter(pc.greater(counts["segments"], 1))
    return found, pc.sum(counts["rows"]).as_py() or 0, pc.sum(cut["rows"]).as_py() or 0


class _Split:
    """Queries of runs whose rows are in several segments."""

    def __init__(self, counts: pa.Table) -> None:
        cut = counts.filter(pc.greater(counts["segments"], 1))
        self.runs, self.queries = (cut[name].combine_chunks().unique() for name in ("run", "query_id"))
        self.pairs = self._codes(cut["run"], cut["query_id"])

    def _codes(self, runs: Any, queries: Any) -> Array:
        """Return the numbers of pairs of a run and a query, below 0 for unknown ones."""
        run, query = id_columns.places(runs, self.runs), id_columns.places(queries, self.queries)
        return np.where((run < 0) | (query < 0), -1, run * len(self.queries) + query)

    def segments(self, segments: Segments) -> Array:
        """Return a mask of the segments of these queries."""
        run, query = of_numbers(segments.run), of_numbers(segments.query)
        return np.isin(self._codes(segments.runs.take(run), segments.queries.take(query)), self.pairs)


class _Sent:
    """Pickled measures and judgments that workers exchange; each worker builds one evaluator from them."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._lock = Lock()
        self._evaluator: CWLAEvaluator | None = None

    @property
    def evaluator(self) -> CWLAEvaluator:
        with self._lock:
            if self._evaluator is None:
                self._evaluator = CWLAEvaluator(*pickle.loads(self.content))
            return self._evaluator

    def __reduce__(self) -> tuple:
        return _Sent, (self.content,)

    def __sizeof__(self) -> int:
        return len(self.content)


@dataclass(frozen=True)
class _PartScores:
    """Scores of the queries that are complete in a part, and rows of the other queries by bundle."""

    rows: int
    scores: list[Scored]
    rest: dict[int, pa.Table]


def _scored(part: _Parts | _Frame, sent: _Sent, split: _Split, bundles: int) -> _PartScores:
    rows, scores, rests = 0, [], []
    for table in part.tables(extras_of(sent.evaluator.measures)):
        segments = Segments(table)
        cut = split.segments(segments)
        scores += _by_name(sent, segments.only(~cut, table))
        rests.append(in_words(segments.only(cut, table)))
        rows += len(table)
    rest = joined(rests) if rests else []
    return _PartScores(rows, scores, _in_bundles(rest, bundles) if len(rest) else {})


def _by_name(sent: _Sent, table: pa.Table) -> list[Scored]:
    return [scored.by_name() for scored in scores_of_queries(sent.evaluator, table)]


def _in_bundles(rows: pa.Table, bundles: int) -> dict[int, pa.Table]:
    """Return rows by bundle; all workers assign the rows of a query of a run to the same bundle."""
    ids = pd.DataFrame({name: rows[name].to_pandas() for name in ("run", "query_id")})
    number = pd.util.hash_pandas_object(ids, index=False, categorize=True).to_numpy() % np.uint64(bundles)
    return {int(one): rows.filter(pa.array(number == one)) for one in np.unique(number)}


def _summary(scored: _PartScores) -> tuple[int, set[str], dict[int, set[str]]]:
    """Return the number of rows of a part, the runs that it has scores of, and the runs of each bundle."""
    bundles = {number: set(rows["run"].unique().to_pylist()) for number, rows in scored.rest.items()}
    return scored.rows, {of_run.run for of_run in scored.scores}, bundles


def _bundle(scored: _PartScores, number: int) -> pa.Table:
    return scored.rest[number]


def _together(sent: _Sent, pieces: list[pa.Table]) -> list[Scored]:
    return _by_name(sent, joined(pieces))


def _of_runs(sent: _Sent, runs: list[str], results: list[list[Scored]]) -> list[Scored]:
    """Return the scores of some runs by name of measure."""
    place = {run: number for number, run in enumerate(runs)}
    mine = [scored for of in results for scored in of if scored.run in place]
    unanswered = {str(measure): values for measure, values in sent.evaluator.unanswered.items()}
    queries = len(sent.evaluator.judgments.qids)
    pieces = with_unanswered(sorted(mine, key=lambda scored: place[scored.run]), unanswered, queries)
    return list(whole_runs(pieces, queries))


def means(sent: _Sent, of_runs: list[Scored]) -> list[Scored]:
    """Return each run with its aggregates, in the order of the measures, instead of its values."""
    named: Any = {str(measure): measure for measure in sent.evaluator.measures}
    return [of._replace(values={m: aggregated(named[m], of.values[m]) for m in named}) for of in of_runs]


def frame(sent: _Sent, of_runs: list[Scored]) -> pd.DataFrame:
    """Return the scores of queries as one frame."""
    return pd.concat([scored.frame(sent.evaluator.judgments.qids) for scored in of_runs], ignore_index=True)


def _changed(what: str) -> MalformedFile:
    return MalformedFile(f"{what}: the runs were changed while they were evaluated. Evaluate them again.")


def _given(runs: Any, extras: list[str]) -> InFiles | InFrames:
    if hasattr(runs, "to_delayed"):
        return InFrames(runs, extras)
    paths = runs.values() if isinstance(runs, Mapping) else runs if isinstance(runs, list | tuple) else [runs]
    if all(map(is_path, paths)):
        return InFiles(sources(runs))
    raise BadRun(
        f"on a cluster, runs must be files or a Dask DataFrame, not {type(runs).__name__}: give paths, or"
        " dask.dataframe.from_pandas(run, npartitions=10)."
    )


def _cached(
    client: Client, evaluator: CWLAEvaluator, given: InFiles | InFrames, cache_dir: AnyPath
) -> Iterator[Scored]:
    """Yield the scores of runs in files, from the cache or from the workers, a group of files at a time."""
    if isinstance(given, InFrames):
        raise BadParameter(
            "cache_dir= is for runs in files: write the Dask DataFrame to Parquet first, and give the folder."
        )
    cache, queries = ScoreCache(cache_dir, evaluator), len(evaluator.judgments.qids)
    for files in _in_pieces(given.sources, _tasks(client)):
        lacking = {source: measures for source in files if (measures := cache.lacking(source))}
        new: dict[str, list[Scored]] = {str(source): [] for source in files}
        if lacking:
            measures = list(dict.fromkeys(chain.from_iterable(lacking.values())))
            missing, sent = InFiles(list(lacking)), sent_to(client, measures, evaluator.judgments)
            for scored in chain.from_iterable(client.gather(scores_of_runs(client, sent, queries, missing))):
                place = missing.places[scored.run]
                new[place].append(scored._replace(values={m: scored.values[str(m)] for m in measures}, place=place))
        for source in files:
            yield from cache.of_source(source, lambda _: new[str(source)])  # noqa: B023 (called at once)


def _table(means: dict[str, list[Any]], evaluator: CWLAEvaluator) -> pd.DataFrame:
    columns = [str(measure) for measure in evaluator.measures]
    return pd.DataFrame.from_dict(means, "index", columns=columns).rename_axis("run")


@contextmanager
def _lost_workers(*of_lost_clusters: type[BaseException]) -> Iterator[None]:
    """Name the likely cause if workers were killed, or if an error is one of a lost cluster."""
    from distributed import KilledWorker

    try:
        yield
    except KilledWorker as error:  # names only a task
        raise CWLAError(
            f"workers died repeatedly during the same task ({error.task}), most often because memory ran out:"
            " give each worker more memory, or fewer threads."
        ) from error
    except CWLAError:
        raise
    except of_lost_clusters as error:
        raise CWLAError(
            f"the cluster was lost ({error}), and nothing was evaluated: connect a client again."
        ) from error


class _Processes:
    """Registration of the function that PyTerrier's searches set to start Java on each worker."""

    def __init__(self, client: Client) -> None:
        self._client, self._started = client, False

    @property
    def _initializer(self) -> None:
        return None

    @_initializer.setter
    def _initializer(self, start: Callable[[], Any]) -> None:
        from distributed import WorkerPlugin

        class Starting(WorkerPlugin):
            def setup(self, worker: Any) -> None:
                start()

        if not self._started:
            self._client.register_plugin(Starting(), name=_STARTING)
            self._started = True

    def forget(self) -> None:
        if self._started:
            self._client.unregister_worker_plugin(_STARTING)


def _connected(client: Client | None) -> Client:
    with needed("a cluster needs Dask", extra="cluster"):
        from distributed import default_client
    if client is not None:
        return client
    try:
        return default_client()
    except ValueError:
        raise CWLAError(
            "there is no Dask client: make one first, such as client = dask.distributed.Client(), of all cores of this"
            " machine, or Client('scheduler:8786')."
        ) from None

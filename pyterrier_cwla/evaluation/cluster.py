"""Evaluation and parallel work (n_jobs=) on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, partial
from os import PathLike
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ..errors import BadParameter, BadRun, CWLAError
from ..errors.extras import needed
from ..files.atomic import AnyPath
from ..files.inputs import are_paths, loaded
from ..files.run_files import Source, sources
from ..measures.provider import CWLAEvaluator, computed_here, judged
from .cluster_tasks import InFiles, InFrames, frame, means, scores_of_runs, sent_to
from .driver import checked
from .score_cache import ScoreCache
from .scored import Scored
from .streaming import extras_of, refuse_mean_lengths

if TYPE_CHECKING:
    from distributed import Client

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

    evaluator = CWLAEvaluator(computed_here(measures), judged(loaded(qrels, "qrels")))
    refuse_mean_lengths(evaluator.measures)
    given = _given(runs, extras_of(evaluator.measures))
    qids = evaluator.judgments.qids
    with _lost_workers():
        if cache_dir is not None:
            cached = list(checked(_cached(client, evaluator, given, cache_dir)))
            if by_query:
                return dataframe.from_delayed(
                    [delayed(pd.concat([of.frame(qids) for of in cached], ignore_index=True))]
                )
            return _means({of.run: list(evaluator.means(of.values).values()) for of in cached}, evaluator)
        sent = sent_to(client, list(evaluator.measures), evaluator.judgments)
        scores = scores_of_runs(client, sent, len(qids), given)
        found = client.gather([client.submit(means, sent, of_runs, pure=False) for of_runs in scores])
        given.check_unchanged()
    of_runs = [one for some in found for one in some]
    for _ in checked(scored for scored, _ in of_runs):
        pass
    if not by_query:
        return _means({scored.run: values for scored, values in of_runs}, evaluator)
    frames = [client.submit(frame, sent, of_runs, pure=False) for of_runs in scores]
    nothing = {measure: np.zeros(0) for measure in evaluator.measures}
    return dataframe.from_delayed(frames, Scored("", nothing, np.zeros(0, bool)).frame([]), verify_meta=False)


@contextmanager
def workers(client: Client | None = None) -> Iterator[Client]:
    """Run parallel work (``n_jobs=``, PyTerrier's ``jobs=``) on the workers of a Dask client, as a context manager.

    The context applies to studies, simulations, scikit-learn's searches and cross-validation, and, with ``jobs=2`` or
    more, to ``StudySearch`` and PyTerrier's own searches. It sets ``joblib.parallel_config("dask")`` and configures
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
    with _killed_workers(), parallel_config("dask", client=client) as config:
        # PyTerrier's parallel searches set the initializer of processes on this attribute of joblib's backends.
        config["backend"]._workers = processes = _Processes(client)
        try:
            yield client
        finally:
            processes.forget()


def _given(runs: Any, extras: list[str]) -> InFiles | InFrames:
    if hasattr(runs, "to_delayed"):
        return InFrames(runs, extras)
    paths = runs.values() if isinstance(runs, Mapping) else runs
    if are_paths(runs) or (
        isinstance(runs, Mapping | list | tuple) and all(isinstance(path, str | PathLike) for path in paths)
    ):
        return InFiles(sources(runs))
    raise BadRun(
        f"on a cluster, runs must be files or a Dask DataFrame, not {type(runs).__name__}: give paths, or"
        " dask.dataframe.from_pandas(run, npartitions=10)."
    )


def _cached(
    client: Client, evaluator: CWLAEvaluator, given: InFiles | InFrames, cache_dir: AnyPath
) -> Iterator[Scored]:
    """Yield the scores of runs in files, from the cache or from the workers, several files at a time."""
    if isinstance(given, InFrames):
        raise BadParameter(
            "cache_dir= is for runs in files: write the Dask DataFrame to Parquet first, and give the folder."
        )
    scores = ScoreCache(cache_dir, evaluator)
    asking: Any = _Requests(client)

    def of(source: Source) -> list[Scored]:
        return scores.of_source(source, partial(compute, source))

    def compute(source: Source, missing: CWLAEvaluator) -> Iterator[Scored]:
        measures = tuple(missing.measures)
        queries = len(missing.judgments.qids)
        for future in scores_of_runs(asking, sent(measures), queries, InFiles([source])):
            for scored in future.result():
                yield scored._replace(values={m: scored.values[str(m)] for m in measures}, place=str(source))

    @cache
    def sent(measures: tuple[Measure, ...]) -> Any:
        return sent_to(asking, measures, evaluator.judgments)

    threads = ThreadPoolExecutor(2 * len(client.nthreads()))
    try:
        of_sources = [*threads.map(of, given.sources)]
    except BaseException:  # for example Ctrl-C, which may have stopped the workers that threads wait for
        asking.cancel()
        raise
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
    yield from (scored for of_source in of_sources for scored in of_source)


class _Requests:
    """Client that remembers the futures of threads, so that all can be cancelled and no thread waits for them."""

    def __init__(self, client: Client) -> None:
        self.gather, self.nthreads = client.gather, client.nthreads
        self._client, self._lock, self._off = client, Lock(), False
        self._asked: WeakSet = WeakSet()

    def submit(self, *what: Any, **how: Any) -> Any:
        return self._noted(lambda: [self._client.submit(*what, **how)])[0]

    def map(self, *what: Any, **how: Any) -> list[Any]:
        return self._noted(lambda: self._client.map(*what, **how))

    def _noted(self, ask: Callable[[], list[Any]]) -> list[Any]:
        from distributed import CancelledError

        with self._lock:
            if self._off:
                raise CancelledError
            futures = ask()
            self._asked.update(futures)
            return futures

    def cancel(self) -> None:
        with self._lock:
            self._off = True
            with suppress(Exception):  # the cluster may be gone
                self._client.cancel([*self._asked])


def _means(means: dict[str, list[float]], evaluator: CWLAEvaluator) -> pd.DataFrame:
    columns = [str(measure) for measure in evaluator.measures]
    return pd.DataFrame(list(means.values()), pd.Index(list(means), name="run"), columns)


@contextmanager
def _killed_workers() -> Iterator[None]:
    """Turn Dask's error about killed workers, which only names a task, into one that names the likely cause."""
    from distributed import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise CWLAError(
            f"workers died repeatedly during the same task ({error.task}), most often because memory ran out:"
            " give each worker more memory, or fewer threads."
        ) from error


@contextmanager
def _lost_workers() -> Iterator[None]:
    """Name the likely cause if workers were killed or the whole cluster was lost."""
    from distributed import CancelledError

    try:
        with _killed_workers():
            yield
    except CWLAError:
        raise
    except (CancelledError, OSError) as error:
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

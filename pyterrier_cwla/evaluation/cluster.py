"""Evaluate runs on the workers of a Dask cluster, and run there what takes n_jobs=."""

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
from ..files.atomic import AnyPath
from ..files.inputs import loaded
from ..files.run_files import Source, are_paths, sources_of
from ..measures.provider import CWLAEvaluator, computed_here, judged
from .cluster_tasks import InFiles, InFrames, frame, means, scores_of_runs, sent_to
from .driver import checked
from .score_cache import ScoreCache
from .scored import Scored
from .streaming import extras_of, refuse_mean_lengths

if TYPE_CHECKING:
    from distributed import Client

_STARTING = "pyterrier_cwla: what PyTerrier starts"


def evaluate(
    qrels: Any,
    runs: Any,
    measures: Iterable[Any],
    by_query: bool = False,
    cache_dir: AnyPath | None = None,
    client: Client | None = None,
) -> Any:
    """Evaluate runs on the workers of a Dask client, with the numbers of :func:`pyterrier_cwla.evaluate`.

    Queries are scored where their rows are read; only the rows of queries that are cut, by partitions, row groups or
    files, go to other workers. Judgments, measures and their tables go to each worker once.

    Parameters
    ----------
    qrels : DataFrame, dict, path, …
        Judgments, as for :func:`pyterrier_cwla.evaluate`.
    runs : path, list of paths, dict of paths by name, or Dask DataFrame
        Files or folders as :func:`pyterrier_cwla.stream` takes them, which workers must find under the same paths. Or
        a Dask DataFrame with the columns query_id, doc_id and score (or qid and docno), what else the measures need,
        and a column ``run`` if it has several runs. It is computed twice, once for its ids alone: call ``.persist()``
        first if that is expensive.
    measures : iterable
        Measures, or their names.
    by_query : bool
        Whether to return values of queries instead of means.
    cache_dir : path, optional
        For runs in files: a folder of this machine in which values are cached as by :func:`pyterrier_cwla.evaluate`,
        file by file. All values of queries then come to this machine, which also reads the files to hash them.
    client : distributed.Client, optional
        By default the last that was made.

    Returns
    -------
    DataFrame, or Dask DataFrame
        Means, a row for each run. With ``by_query``, a Dask DataFrame with the columns run, query_id and one for each
        measure, runs and queries in order. It is computed, and lies on the workers: ``.compute()`` fetches it,
        ``.to_parquet(folder)`` writes it partition by partition. Nothing is returned if any part was not evaluated.

    Raises
    ------
    MissingLength
        For ``missing="mean"`` without ``lengths=``, since no worker knows the mean of a whole run.
    CWLAError
        What :func:`pyterrier_cwla.stream` raises for files and :func:`pyterrier_cwla.evaluate` for frames; also if Dask
        is not installed, if there is no client, and if workers die again and again.

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
    with _speaking_of_workers():
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
    """Within this, all that takes ``n_jobs=`` (or PyTerrier's ``jobs=``) runs on the workers of a Dask client.

    That is studies, simulations, scikit-learn's searches and cross-validation, and with ``jobs=2`` or more
    ``StudySearch`` and PyTerrier's own searches. It is ``joblib.parallel_config("dask")``, and tells PyTerrier's
    searches where workers are. What several tasks have in common, such as a study's scores, goes to each worker once.
    Results are the same to the last bit as with one process.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the last that was made.

    Yields
    ------
    distributed.Client
        The client.

    Raises
    ------
    CWLAError
        If Dask is not installed, if there is no client, and if workers die again and again.
    """
    from joblib import parallel_config

    client = _connected(client)
    with _speaking_of_the_dead(), parallel_config("dask", client=client) as config:
        # PyTerrier's parallel searches set the initializer of processes there, as joblib's other backends have it.
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
        return InFiles(sources_of(runs))
    raise BadRun(
        f"on a cluster runs are files or a Dask DataFrame, not {type(runs).__name__}: give paths, or"
        " dask.dataframe.from_pandas(run, npartitions=10)."
    )


def _cached(
    client: Client, evaluator: CWLAEvaluator, given: InFiles | InFrames, cache_dir: AnyPath
) -> Iterator[Scored]:
    """Score the runs in files: from the cache where possible, the rest by the workers, several files at a time."""
    if isinstance(given, InFrames):
        raise BadParameter(
            "cache_dir= is for runs in files: write the Dask DataFrame to Parquet first, and give the folder."
        )
    scores = ScoreCache(cache_dir, evaluator)
    asking: Any = _Asking(client)

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
    except BaseException:  # Ctrl-C among them, which may have ended the workers that threads wait for
        asking.no_more()
        raise
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
    yield from (scored for of_source in of_sources for scored in of_source)


class _Asking:
    """What threads ask of a client, so that all of it can be called off: nobody waits for it any more then."""

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

    def no_more(self) -> None:
        with self._lock:
            self._off = True
            with suppress(Exception):  # the cluster may be gone
                self._client.cancel([*self._asked])


def _means(means: dict[str, list[float]], evaluator: CWLAEvaluator) -> pd.DataFrame:
    columns = [str(measure) for measure in evaluator.measures]
    return pd.DataFrame(list(means.values()), pd.Index(list(means), name="run"), columns)


@contextmanager
def _speaking_of_the_dead() -> Iterator[None]:
    """Says why workers died, where Dask names but a task."""
    from distributed import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise CWLAError(
            f"workers died again and again of the same work ({error.task}), which is most often for want of memory:"
            " give each more memory, or fewer threads."
        ) from error


@contextmanager
def _speaking_of_workers() -> Iterator[None]:
    """The same, and what happened where all are gone."""
    from distributed import CancelledError

    try:
        with _speaking_of_the_dead():
            yield
    except CWLAError:
        raise
    except (CancelledError, OSError) as error:
        raise CWLAError(
            f"the cluster was lost ({error}), and nothing was evaluated: connect a client again."
        ) from error


class _Processes:
    """Where PyTerrier's searches leave what each process has to do before it works, which is to start Java."""

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
    try:
        from distributed import default_client
    except ImportError:
        raise CWLAError("a cluster needs Dask: pip install 'pyterrier-cwla[cluster]'.") from None
    if client is not None:
        return client
    try:
        return default_client()
    except ValueError:
        raise CWLAError(
            "there is no Dask client: make one first, such as client = dask.distributed.Client(), of all cores of this"
            " machine, or Client('scheduler:8786')."
        ) from None

"""Parallel execution in processes, threads or on joblib's backend, with the same results as in one process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import cached_property, partial
from pickle import PickleBuffer
from typing import Any, TypeVar

from ..errors import BadParameter, CWLAError

Result = TypeVar("Result")


def checked(n_jobs: Any) -> int:
    """Return the number of processes; raise BadParameter if it is not a valid ``n_jobs``."""
    if not isinstance(n_jobs, int) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise BadParameter(": give the number of processes, or -1 for the number of cores.", n_jobs=n_jobs)
    return n_jobs


def side_by_side(work: Mapping[str, Callable[[], Result]], n_jobs: int = 1) -> Iterator[tuple[str, Result]]:
    """Run functions in `n_jobs` processes, or on the backend of ``joblib.parallel_config``.

    Arguments of ``functools.partial`` objects that several functions share are sent to each Dask worker once if
    they are larger than a kilobyte.

    Parameters
    ----------
    work : dict
        Functions without arguments, by name.
    n_jobs : int, default=1
        Number of processes.

    Yields
    ------
    tuple of str and object
        Names and results, in order of completion.

    Raises
    ------
    CWLAError
        If a process is killed.

    Examples
    --------
    >>> from functools import partial
    >>> dict(side_by_side({"two": partial(pow, 2, 2), "three": partial(pow, 3, 2)}))
    {'two': 4, 'three': 9}
    """
    from joblib import Parallel, delayed

    calls = {name: compute if isinstance(compute, partial) else partial(compute) for name, compute in work.items()}
    parts = [part for of in calls.values() for part in (of.func, *of.args, *of.keywords.values())]
    times = Counter(id(part) for part in parts if not isinstance(part, str | int | float | None))
    common = {id(part): _Common(part) for part in parts if times[id(part)] > 1}

    def sent(part: Any) -> Any:
        return common.get(id(part), part)

    tasks = (
        delayed(_named)(name, *map(sent, (of.func, *of.args)), **{key: sent(part) for key, part in of.keywords.items()})
        for name, of in calls.items()
    )
    try:
        yield from Parallel(n_jobs if len(work) > 1 else 1, return_as="generator_unordered")(tasks)
    except BrokenProcessPool as error:
        raise CWLAError(
            f"one of {n_jobs} processes was killed, most often because memory ran out: give a smaller n_jobs=. With"
            " cache_dir=, the same call continues from the results that are done."
        ) from error


class _Common:
    """Argument that several tasks share; joblib sends it to each Dask worker once if Dask knows that it is large."""

    def __init__(self, what: Any) -> None:
        self.what = what

    def __sizeof__(self) -> int:
        return self.size

    @cached_property
    def size(self) -> int:
        """Number of bytes of the pickled argument."""
        import cloudpickle

        buffers: list[PickleBuffer] = []
        pickled = cloudpickle.dumps(self.what, protocol=5, buffer_callback=buffers.append)
        return len(pickled) + sum(memoryview(buffer).nbytes for buffer in buffers)


def _named(name: str, function: Any, /, *args: Any, **given: Any) -> tuple[str, Any]:
    return name, _plain(function)(*map(_plain, args), **{key: _plain(part) for key, part in given.items()})


def _plain(part: Any) -> Any:
    return part.what if isinstance(part, _Common) else part


Item = TypeVar("Item")
_END: Any = object()


def ahead(items: Generator[Item, None, None]) -> Iterator[Item]:
    """Yield items while a thread computes the next one; errors are raised where their item would be yielded.

    This saves time if both the items and their use take long and release Python's lock, as reading and scoring do.

    Parameters
    ----------
    items : generator
        Items, of which at most one is held in advance.

    Yields
    ------
    object
        The items, in order.

    Examples
    --------
    >>> list(ahead(letter for letter in "abc"))
    ['a', 'b', 'c']
    """
    with closing(items), ThreadPoolExecutor(1) as thread:  # closed when the thread is done
        coming = thread.submit(next, items, _END)
        while (item := coming.result()) is not _END:
            coming = thread.submit(next, items, _END)
            yield item

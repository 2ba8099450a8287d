"""Runs and judgments in the forms that users pass them: paths, tables, and several runs by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import BadParameter, BadRun
from .atomic import is_path


def is_runs(runs: Any) -> bool:
    """Return whether an object is a dict of runs by name; a single run can be a dict of dicts of scores."""
    if not isinstance(runs, Mapping):
        return False
    for first in runs.values():
        if not isinstance(first, Mapping):
            return True
        if first:  # an empty dict may be a run or a ranking
            return any(isinstance(value, Mapping) for value in first.values())
    return not runs


def are_paths(runs: Any) -> bool:
    """Return whether `runs` is a path or a list of paths."""
    return all(map(is_path, runs)) if isinstance(runs, list | tuple) and runs else is_path(runs)


def runs_by_name(runs: Any) -> dict[Any, Any]:
    """Return runs by name: files by the names of the files, and one run in memory by the name "run"."""
    if is_runs(runs):
        return dict(runs)
    if are_paths(runs):
        from .run_files import named_runs

        return named_runs(map(Path, [runs] if is_path(runs) else runs))
    return {"run": runs}


def one_run(run: Any, takes: str = "this takes one run") -> Any:
    """Return one run, read from its file if it is a path; raise BadRun, starting with `takes`, for several runs."""
    if is_runs(run):
        raise BadRun(f"{takes}, and was given {len(run):,} by name: give one of them.")
    if isinstance(run, list | tuple) and are_paths(run):
        raise BadRun(f"{takes}, and was given a list of {len(run):,} paths: give one of them.")
    return loaded(run, "run")


def named_pair(runs: Any) -> dict[str, Any] | None:
    """Return two runs by name, read from their files if they are paths; None for anything but a dict of two runs.

    Raises
    ------
    BadRun
        If two runs have the same name as texts, such as 1 and "1".
    """
    if not is_runs(runs) or len(runs) != 2:
        return None
    if len(set(map(str, runs))) < 2:
        raise BadRun(f"both runs have the name {str(next(iter(runs)))!r}: give them different names.")
    return {str(name): loaded(run, "run") for name, run in runs.items()}


def loaded(data: Any, what: str, split: str | None = None) -> Any:
    """Return the table in a file of runs or judgments (`what` is "run" or "qrels"); other objects unchanged.

    `split` chooses the subset and split of a JSON file that has several.
    """
    if isinstance(data, str | Path):
        from .formats import read_qrels, read_run

        return (read_qrels if what == "qrels" else read_run)(data, split)
    return data


def of_split(runs: Any, split: str | None, qrels: Any = None) -> Any:
    """Return runs by name with the tables of a subset and split in place of JSON files; the same object for None.

    Raises
    ------
    BadParameter
        If neither a run nor the judgments `qrels` are a JSON file.
    """
    if split is None:
        return runs
    named = runs_by_name(runs)
    found = {name: loaded(Path(run), "run", split) for name, run in named.items() if _is_json(run)}
    if not found and not _is_json(qrels):
        raise BadParameter("chooses the split of a JSON file, and there is none.", split=split)
    return named | found


def _is_json(data: Any) -> bool:
    from .formats import format_of

    return is_path(data) and Path(data).is_file() and format_of(str(data)).name == "json"


def refuse_same_name(run: str, place: str, places: Mapping[str, str]) -> None:
    """Raise BadRun if another run has this name; `places` has the files of the others, ``""`` for runs in memory."""
    if run not in places:
        return
    where = " and ".join(filter(None, (places[run], place)))
    raise BadRun(
        f"two runs have the name {run!r}{where and f' (in {where})'}: give one of them another; or, if these are"
        " parts of one data set, put them into a folder whose name ends in .parquet, and give that."
    )

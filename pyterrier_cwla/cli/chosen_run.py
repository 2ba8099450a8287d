"""One run of a file: the only one, or the one that ``--run`` names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import BadParameter, near, some
from .arguments import runs_by_name
from .input_paths import check_exists

if TYPE_CHECKING:
    import pyarrow as pa

    from ..files.run_files import Source

RunName = Annotated[
    str | None, typer.Option("--run", metavar="NAME", help="Run to read from a Parquet file with a column run.")
]


def names_of_runs(paths: list[Path], run_name: str | None) -> list[str]:
    """Return the names of one or two runs.

    Raises
    ------
    BadParameter
        If both are the same file, or if `run_name` chooses a run of two files.
    """
    if len(paths) == 1:
        check_exists(paths[0])
        return [run_name or next(iter(runs_by_name(paths)))]
    if run_name is not None:
        raise BadParameter(f"--run {run_name} chooses a run of one file: leave out the second run.")
    for path in paths:
        check_exists(path)
    if os.path.samefile(*paths):
        raise BadParameter(f"{paths[1]}: is the same file as the first run. Give another run, or one alone.")
    return list(runs_by_name(paths))


def read_one_run(path: Path, name: str | None) -> pa.Table:
    """Read the only run of a file, or the run of this name.

    Raises
    ------
    BadParameter
        If the file has several runs and no name is given, or if it has no run of this name.
    """
    from ..files.formats import packing_of, read_run
    from ..files.run_files import sources

    if path.is_dir() or (name is None and packing_of(str(path)) != "parquet"):
        return read_run(path)
    (source,) = sources([path])
    names = _names(source)
    if name is None and len(names) > 1:
        raise BadParameter(f"{path} contains {len(names)} runs: choose one of {some(names)} with --run NAME.")
    if name is not None and name not in names:
        raise BadParameter(f"--run {name}: {path} has no such run. {near(name, names)}")
    return read_run(path) if name is None or source.name is not None else _rows_of(source, name)


def _names(source: Source) -> list[str]:
    if source.name is not None:
        return [source.name]
    tables = (table for part in source.parts for table in part.ids())
    return list(dict.fromkeys(name for table in tables for name in table["run"].unique().to_pylist()))


def _with_plain_ids(table: pa.Table) -> pa.Table:
    from ..files.id_columns import written

    for name in ("query_id", "doc_id"):
        table = table.set_column(table.column_names.index(name), name, written(table[name]))
    return table


def _rows_of(source: Source, name: str) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    from ..files.id_columns import written

    found = [
        table.filter(pc.equal(written(table["run"]), name)).drop_columns("run")
        for part in source.parts
        for table in part.tables()
    ]
    return pa.concat_tables([_with_plain_ids(table) for table in found])

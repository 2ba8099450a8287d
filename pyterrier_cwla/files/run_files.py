"""Files and datasets of runs, divided into parts that are read one after the other."""

from __future__ import annotations

import hashlib
import math
import os
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import BadRun, MalformedFile, shown, warn
from . import id_columns
from .arrow_arrays import first_row, of_numbers, of_strings, to_numpy
from .atomic import is_path
from .formats import FORMATS, find_runs, format_of, is_data, refuse_missing, run_with
from .memory_limit import has_room, limit_for, open_file
from .table_readers import (
    BUFFER,
    RUN,
    TYPES,
    columns_of,
    converted,
    in_parquet,
    in_text,
    names_in,
    one_of_each,
    open_parquet,
    refuse_text,
    single_spaced,
    sizes_of_texts,
    split,
    unmarked,
)

if TYPE_CHECKING:
    import pyarrow.parquet

_One = TypeVar("_One")
ROWS = 1 << 21
"""Approximate number of rows of a Parquet file that are read at a time."""
_HELD = 3  # copies of the rows that are read at a time: one is scored, and one is read
_BYTES_PER_LINE, _BYTES_PER_PACKED_LINE = 40, 8  # roughly
_BYTES_PER_ROW = 50  # roughly, in memory
BLOCK = 32 << 20
"""Number of bytes of text that are read at a time, and the longest line."""
EXTRAS = RUN.optional
_SUFFIXES = {".txt", ".run", ".qrels", ".trec", ".res", ".results", ".tsv", ".out"}  # besides those of FORMATS
_NAMED_RUNS = replace(RUN, names=RUN.names | {"run": "run"})
_TOPICS = replace(RUN, fields={field: column if column == "query_id" else "" for field, column in RUN.fields.items()})


@dataclass(frozen=True)
class RunPart:
    """Rows of a file, without the rows themselves: all of them, or in subclasses a range. Parts can be pickled.

    Attributes
    ----------
    path : str
        Path of the file.
    run : str or None
        Name of the run; None if the column ``run`` names the run of each row.
    """

    path: str
    run: str | None

    @property
    def is_small(self) -> bool:
        """Whether the rows can be read at once."""
        return True

    @property
    def work(self) -> int:
        """Approximate number of rows."""
        return os.path.getsize(self.path) // _BYTES_PER_LINE

    def ids(self) -> Iterator[pa.Table]:
        """Yield tables of the columns run and query_id, with the same rows as ``tables``."""
        return self.tables(())

    def tables(self, extras: Collection[str] = EXTRAS) -> Iterator[pa.Table]:
        """Yield tables of the columns run, query_id, doc_id, score, and the existing ones of `extras`.

        Ids are strings, or dictionaries of strings if the file has dictionaries.
        """
        yield self._named(run_with(self.path, extras, check=False))

    def sort_command(self, path: str) -> str:
        """Return a shell command that sorts the rows of a file or folder in this format by query."""
        return f"write the rows of {path} in this order as TREC text or Parquet"

    def _named(self, table: pa.Table) -> pa.Table:
        if self.run is None:
            return table
        number = np.zeros(len(table), np.int8)
        name = pa.DictionaryArray.from_arrays(of_numbers(number), of_strings([self.run]), safe=False)
        return table.add_column(0, "run", name)


@dataclass(frozen=True)
class RunFiles:
    """A run in files, or several runs that a column ``run`` or folders ``run=NAME`` name.

    Attributes
    ----------
    name : str or None
        Name of the run; None if the rows name several runs.
    parts : tuple of RunPart
        Parts of the files, in order.
    path : str
        Path of the file or folder.
    paths : tuple of str
        Paths of all files, including files without rows.
    seen : tuple of (int, int)
        Size and modification time of each file when it was divided into parts.
    """

    name: str | None
    parts: tuple[RunPart, ...]
    path: str
    paths: tuple[str, ...]
    seen: tuple[tuple[int, int], ...]

    @property
    def is_small(self) -> bool:
        """Whether this is one run in one small file, which is read completely."""
        return self.name is not None and len(self.parts) == 1 and self.parts[0].is_small

    @property
    def fits(self) -> bool:
        """Whether the rows are within the memory limit, by the sizes of the files."""
        return has_room(_BYTES_PER_ROW * sum(part.work for part in self.parts))

    @property
    def sort_command(self) -> str:
        """Shell command that writes the rows to another file, sorted by query."""
        return self.parts[0].sort_command(self.path)

    def digest(self) -> str:
        """Return a hash (SHA-256) of the contents of the files, independent of their names."""
        whole = hashlib.sha256()
        for path in self.paths:
            with opened(path), open_file(path) as file:
                whole.update(hashlib.file_digest(file, "sha256").digest())
        return whole.hexdigest()

    def check_unchanged(self) -> None:
        """Raise MalformedFile if a file has changed since it was divided into parts."""
        if _state(self.paths) != self.seen:
            raise MalformedFile(f"{self}: a file has changed since the start. Evaluate it again.")

    @property
    def empty(self) -> MalformedFile:
        """Error for files without rows."""
        return MalformedFile(f"{self}: empty; there are no rows in it.")

    def __str__(self) -> str:
        return self.path


def _state(paths: Iterable[str]) -> tuple[tuple[int, int], ...]:
    """Return the size and the modification time of each file."""
    states = []
    for path in paths:
        with opened(path):
            found = os.stat(path)
            states.append((found.st_size, found.st_mtime_ns))
    return tuple(states)


def sources(runs: Any) -> list[RunFiles]:
    """Return runs in files, divided into parts; only metadata are read.

    Parameters
    ----------
    runs : path, iterable of paths, or dict of paths by run name
        A file is a run; its name without suffixes is the name of the run. A folder whose name ends in .parquet is a
        run that consists of all its files. Any other folder contains runs. A column ``run`` in Parquet files, or
        folders ``run=NAME``, name the runs instead. A name in a dict replaces them if they name only one run.

    Returns
    -------
    list of RunFiles
        One element per file or dataset.

    Raises
    ------
    MalformedFile
        If a file is not a run.
    BadRun
        If two runs have the same name, or if there is no run.
    """
    if isinstance(runs, Mapping):
        found = []
        for name, path in runs.items():
            if not (is_path(path) or isinstance(path, bytes)):
                raise BadRun(f"{name}: a run by name is one path, and not {type(path).__name__}: {path!r}.")
            found.append(_called(name, _run_files(os.fsdecode(path), name)))
    else:
        paths = [runs] if is_path(runs) or hasattr(runs, "read") else list(runs)
        for path in paths:
            if not is_path(path):
                what = "an open file" if hasattr(path, "read") else shown(path)
                raise BadRun(f"runs in files are given by their paths, not as {what}: give the path of each.")
        found = [_run_files(str(path), name) for name, path in named_runs(map(Path, paths)).items()]
    if not found:
        raise BadRun("there is no run to evaluate.")
    return found


def _called(name: str, source: RunFiles) -> RunFiles:
    """Return the files under the given name if all rows belong to one run, else unchanged."""
    if source.name is not None:
        return source
    names: set[str] = set()
    for table in (table for part in source.parts for table in part.ids()):
        names.update(table["run"].unique().to_pylist())
        if len(names) > 1:
            return source
    parts = tuple(replace(part, run=name) for part in source.parts)
    return replace(source, name=name, parts=parts) if names else source


def have_all_lengths(runs: Mapping[str, Path]) -> bool:
    """Return whether all rows of all runs have a document length, in Parquet files; text files count as without."""
    return all(_has_all_lengths(path) for name, run in runs.items() for path in _run_files(str(run), name).paths)


def _has_all_lengths(path: str) -> bool:
    with opened(path):
        if format_of(path).name != "parquet":
            return False
        with open_parquet(path) as file:
            for name in _columns(path, file.schema_arrow, "run", ("doc_length",)).get("doc_length", ()):
                lengths = (rows.column(0) for rows in file.iter_batches(columns=[name]))
                if all(first_row(pc.is_null(some, nan_is_null=True)) is None for some in lengths):
                    return True
            return False


def named_runs(paths: Iterable[Path]) -> dict[str, Path]:
    """Return runs by name: the name of the file without suffixes, or its path if two names would be equal."""
    found: dict[Path, None] = {}
    for path in paths:
        if not path.exists():
            raise MalformedFile(f"{path}: no such file or directory.")
        for run in _runs_in(path) if _holds_runs(path) else [path]:
            if run in found:
                warn(f"given more than once, and read once: {run}")
            found[run] = None
    suffixes = _SUFFIXES | {form.suffix for form in FORMATS}
    names = []
    for path in found:
        while path.suffix.lower() in suffixes and path.stem:
            path = path.with_suffix("")
        names.append(path.name)
    times = Counter(names)
    return {name if times[name] == 1 else str(path): path for name, path in zip(names, found, strict=True)}


def _holds_runs(path: Path) -> bool:
    return path.is_dir() and path.suffix != ".parquet" and not any(path.glob("run=*"))


def _runs_in(folder: Path) -> list[Path]:
    datasets = [path for path in folder.glob("*.parquet") if path.is_dir() and is_data(path.name)]
    has_files = any(path.is_file() and is_data(path.name) for path in folder.iterdir())
    return sorted([*datasets, *find_runs(folder)] if has_files or not datasets else datasets)


def _run_files(path: str, name: str) -> RunFiles:
    """Return the files of a run, divided into parts; `name` names the run unless its rows or folders do."""
    if not os.path.isdir(path):
        paths: tuple[str, ...] = (path,)
    elif _holds_runs(Path(path)):
        raise BadRun(f"{name}: {path} is a folder of runs; give the folder itself, or each of its files a name.")
    else:
        paths = tuple(
            str(file)
            for file in sorted(Path(path).rglob("*"))
            if all(map(is_data, file.relative_to(path).parts)) and file.is_file()
        )
    if not paths:
        raise MalformedFile(f"{path}: no files in it, and so no run")
    seen = _state(paths)
    parts: list[RunPart] = []
    for file in paths:
        folders = Path(file).relative_to(path).parts[:-1]
        of_folder = next((unquote(part.removeprefix("run=")) for part in folders if part.startswith("run=")), None)
        with opened(file):
            form = format_of(file)
            if form.name == "parquet":
                parts += _parquet_parts(file, name, of_folder)
            elif form.read is None:
                parts += _text_parts(file, of_folder or name, form.codec)
            else:
                parts.append(RunPart(file, of_folder or name))
    named = {part.run for part in parts}
    if len(named) > 1 and None in named:
        without = next(part.path for part in parts if part.run is not None)
        raise MalformedFile(f"{without}: no column run, which other files of the dataset have.")
    return RunFiles(name if named == {name} else None, tuple(parts), path, paths, seen)


@contextmanager
def opened(path: str) -> Iterator[None]:
    """Raise MalformedFile with the name of the file if it cannot be read."""
    try:
        yield
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise MalformedFile(f"{path}: {getattr(error, 'strerror', None) or error}") from error


@dataclass(frozen=True)
class _RowGroups(RunPart):
    """Row groups of a Parquet file."""

    row_groups: tuple[int, ...]
    rows: int
    before: int
    """Number of rows of the file before these."""
    encoded: tuple[str, ...]
    """Columns, by their names in the file, that are read as dictionary codes."""

    @property
    def is_small(self) -> bool:
        return self.rows <= ROWS // 4

    @property
    def work(self) -> int:
        return self.rows

    def sort_command(self, path: str) -> str:
        with open_parquet(self.path) as file:
            (query_id, *_) = _columns(self.path, file.schema_arrow, self.run, ("query_id",))["query_id"]
        keys = [query_id, "run"] if self.run is None or "run=" in self.path else [query_id]
        code = f"pd.read_parquet({path!r}).sort_values({keys}, kind='stable').to_parquet('sorted.parquet', index=False)"
        return f"python -c {shlex.quote(f'import pandas as pd; {code}')}  # where it fits; DuckDB sorts on the disk"

    def ids(self) -> Iterator[pa.Table]:
        return self._read(("query_id",))

    def tables(self, extras: Collection[str] = EXTRAS) -> Iterator[pa.Table]:
        return self._read(("query_id", "doc_id", "score", *extras))

    def _read(self, wanted: Collection[str]) -> Iterator[pa.Table]:
        before, buffer = self.before, BUFFER if self.rows > ROWS else 0
        with (
            opened(self.path),
            open_parquet(self.path, read_dictionary=self.encoded, pre_buffer=False, buffer_size=buffer) as file,
        ):
            if self.row_groups[-1] >= file.metadata.num_row_groups:
                raise MalformedFile(f"{self.path}: was changed while it was read. Evaluate it again.")
            columns = _columns(self.path, file.schema_arrow, self.run, wanted)
            columns = {column: names for column, names in columns.items() if column in ("run", *wanted)}
            texts = {column: names for column, names in columns.items() if TYPES[column] == pa.string()}
            self._check_room(file.metadata, names_in(texts))
            for table in self._raw(file, names_in(columns)):
                _validate(table)
                place = partial(in_parquet, self.path, before=before)
                table = one_of_each(columns, table, self._as, place)
                if _may_have_holes(table):
                    refuse_missing(table, place, RUN)
                before += len(table)
                yield self._named(table)

    def _as(self, column: str, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        encoded = TYPES[column] == pa.string() and pa.types.is_dictionary(values.type)
        return values if encoded else converted(self.path, column, values, name)

    def _check_room(self, metadata: pyarrow.parquet.FileMetaData, texts: list[str]) -> None:
        """Raise MalformedFile if texts exceed the memory limit once they are repeated from dictionaries."""
        groups = {group: metadata.row_group(group) for group in self.row_groups}
        size = sum(sizes_of_texts(self.path, groups, texts, _HELD, ROWS))
        if not has_room(size, held=_HELD):
            raise MalformedFile(
                f"{self.path}: {min(self.rows, ROWS):,} rows, which are read at a time, may take {size:,} bytes once"
                f" they are unpacked, and there is no room for them. Set another limit, such as"
                f" {limit_for(size)}, or shorten the ids."
            )

    def _raw(self, file: pyarrow.parquet.ParquetFile, names: list[str]) -> Iterator[pa.Table]:
        if self.rows > ROWS:
            for batch in file.iter_batches(ROWS, self.row_groups, names, use_threads=False):
                yield pa.Table.from_batches([batch])
            return
        # Dictionaries of row groups are merged, which is slow.
        for groups in together(self.row_groups, lambda group: file.metadata.row_group(group).num_rows, ROWS // 4):
            yield file.read_row_groups(groups, names, use_threads=False)


def _parquet_parts(path: str, name: str, folder: str | None) -> Iterator[RunPart]:
    with open_parquet(path) as file:
        schema, metadata = file.schema_arrow, file.metadata
        run = folder or (None if "run" in schema.names else name)
        columns = _columns(path, schema, run)
        sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        often: list[str] = [column for column in ("run", "query_id") if column in columns]
        if sizes and _comes_often(file, columns["doc_id"][0]):
            often.append("doc_id")
    before = 0
    for groups in together(range(len(sizes)), sizes.__getitem__, ROWS):
        rows = sum(sizes[group] for group in groups)
        if rows:
            yield _RowGroups(
                path, run, tuple(groups), rows, before, tuple(name for column in often for name in columns[column])
            )
        before += rows


def together(items: Iterable[_One], size: Callable[[_One], int], most: int) -> Iterator[list[_One]]:
    """Yield lists of consecutive items whose sizes are at most `most` together, or single larger items."""
    some: list[_One] = []
    total = 0
    for item in items:
        if some and total + size(item) > most:
            yield some
            some, total = [], 0
        some.append(item)
        total += size(item)
    if some:
        yield some


def _columns(path: str, schema: pa.Schema, run: str | None, wanted: Collection[str] = ()) -> dict[str, list[str]]:
    return columns_of(path, schema, (RUN if run is not None else _NAMED_RUNS).with_extras(wanted))


def _comes_often(file: pyarrow.parquet.ParquetFile, name: str) -> bool:
    """Return whether ids repeat so often that dictionary codes are faster than strings.

    If nearly all ids differ, building the dictionary costs more than reading strings.
    """
    # A broken file raises an error here; without this read, it would crash the process below.
    next(file.iter_batches(1, [0], [name], use_threads=False), None)
    leaves = [file.metadata.schema.column(place).path for place in range(file.metadata.num_columns)]
    chunk = file.metadata.row_group(0).column(leaves.index(name))
    try:
        known = chunk.statistics is not None and chunk.statistics.has_min_max
        longest = max(len(chunk.statistics.min), len(chunk.statistics.max)) if known else 6
    except UnicodeDecodeError:  # statistics may be truncated within a character
        longest = 6
    return chunk.has_dictionary_page and 2 * chunk.total_uncompressed_size < (4 + longest) * chunk.num_values


def _validate(table: pa.Table) -> None:
    """Validate columns as Arrow does, with a faster check of dictionary codes."""
    for column in table.columns:
        if not id_columns.are_encoded(column):
            column.validate(full=True)
            continue
        for chunk in column.chunks:
            chunk.dictionary.validate(full=True)
            codes = to_numpy((chunk.drop_null() if chunk.null_count else chunk).indices)
            if codes.view(f"u{codes.itemsize}").max(initial=0) >= max(len(chunk.dictionary), 1):
                raise pa.ArrowInvalid("a dictionary has fewer entries than the data refer to")


def _may_have_holes(table: pa.Table) -> bool:
    """Return whether values may be missing; a sum of infinite scores of both signs is also NaN."""
    if "score" in table.column_names and math.isnan(pc.sum(table["score"]).as_py() or 0.0):
        return True
    return any(column.null_count for column in table.columns)


@dataclass(frozen=True)
class _Lines(RunPart):
    """Lines of a text file, from the byte ``start`` to ``stop`` (None: end of the file)."""

    packing: str | None
    start: int
    stop: int | None

    @property
    def is_small(self) -> bool:
        return os.path.getsize(self.path) <= BLOCK // (4 if self.packing is None else 32)

    @property
    def work(self) -> int:
        size = os.path.getsize(self.path) if self.stop is None else self.stop - self.start
        return size // (_BYTES_PER_LINE if self.packing is None else _BYTES_PER_PACKED_LINE)

    def sort_command(self, path: str) -> str:
        quoted = shlex.quote(path) + "/*" * os.path.isdir(path)
        if self.packing is None:
            return f"LC_ALL=C sort -s -k1,1 {quoted} > sorted.txt"
        unpack, pack, suffix = ("zcat", "gzip", "gz") if self.packing == "gzip" else ("zstdcat", "zstd", "zst")
        return f"{unpack} {quoted} | LC_ALL=C sort -s -k1,1 | {pack} > sorted.txt.{suffix}"

    def ids(self) -> Iterator[pa.Table]:
        return self._read(_TOPICS)

    def tables(self, extras: Collection[str] = EXTRAS) -> Iterator[pa.Table]:
        return self._read(RUN)

    def _read(self, kind: Any) -> Iterator[pa.Table]:
        before = 0
        with opened(self.path):
            for data in self._blocks():
                if data and not data.isspace():
                    yield self._named(self._parsed(data, kind, before))
                before += _line_ends(data)

    def _parsed(self, data: bytes, kind: Any, before: int) -> pa.Table:
        try:
            table = split(single_spaced(data), kind.fields, " ")
        except pa.ArrowInvalid as error:
            refuse_text(self.path, data, kind.fields, " ", error, before + self._lines_before())
        refuse_missing(table, lambda row: in_text(self.path, data, row, before + self._lines_before()), kind)
        return table

    def _blocks(self) -> Iterator[bytes]:
        with pa.input_stream(self.path, compression=self.packing) as stream:
            if self.start:
                stream.seek(self.start)
            left = None if self.stop is None else self.stop - self.start
            rest, first = b"", self.start == 0
            while data := stream.read(BLOCK if left is None else min(BLOCK, left)):
                left = None if left is None else left - len(data)
                data = rest + (unmarked(self.path, data) if first else data)
                first = False
                end = len(data) if left == 0 else _last_line_end(data)
                if end == 0 and len(data) > BLOCK:
                    raise MalformedFile(f"{self.path}: a line of more than {BLOCK:,} bytes; this is no run.")
                if end:
                    yield data[:end]
                rest = data[end:]
            if rest:
                yield rest

    def _lines_before(self) -> int:
        """Return the number of lines before this part, for error messages."""
        if not self.start:
            return 0
        return sum(_line_ends(data) for data in _Lines(self.path, None, None, 0, self.start)._blocks())


def _text_parts(path: str, name: str, packing: str | None) -> Iterator[RunPart]:
    if packing is not None:
        yield _Lines(path, name, packing, 0, None)
        return
    size = os.path.getsize(path)
    start = 0
    with open_file(path) as file:
        while size - start > BLOCK:
            stop = _line_end_before(file, start + BLOCK)
            if stop <= start:
                raise MalformedFile(f"{path}: a line of more than {BLOCK:,} bytes; this is no run.")
            yield _Lines(path, name, None, start, stop)
            start = stop
    yield _Lines(path, name, None, start, size)


def _line_end_before(file: Any, place: int, reach: int = 1 << 16) -> int:
    """Return the end of the last line that ends before a place in the file."""
    while True:
        start = max(place - reach, 0)
        file.seek(start)
        end = _last_line_end(file.read(place - start))
        if end or start == 0 or reach > BLOCK:
            return start + end if end else 0
        reach *= 16


def _last_line_end(data: bytes) -> int:
    """Return the end of the last line; a final carriage return is ignored, since a line feed may follow."""
    known = data.removesuffix(b"\r")
    return max(known.rfind(b"\n"), known.rfind(b"\r")) + 1


def _line_ends(data: bytes) -> int:
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")

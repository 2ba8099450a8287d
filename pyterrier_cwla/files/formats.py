"""Reads runs, judgments, lengths and duplicates from text, gzip, zstd and Parquet, and says where they are wrong."""

import csv
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from ..errors import ARE_JUDGMENTS, IS_A_RUN, MalformedFile, if_swapped
from .memory_limit import check_file, check_room, has_room, unpacked
from .pair_keys import first_repeat
from .real_numbers import are_real, plain
from .same_columns import the_only

AnyPath = str | os.PathLike[str]


def read_run(path: AnyPath) -> pa.Table:
    """Reads a run: a TREC file (topic Q0 docno rank score tag) or Parquet, compressed or not.

    Returns query_id, doc_id, score, and doc_length and duplicate_of where a Parquet file has them, in the order of the
    file.

    The tag is the rest of the line, blanks included. Raises MalformedFile, with file and line, for whatever is not a
    run: a NaN score and a document twice in a query's ranking are among it, infinite scores are not.
    """
    return run_with(path, RUN.optional)


def run_with(path: AnyPath, extras: Collection[str]) -> pa.Table:
    """The same with these optional columns: what nobody asks for is not read, and may be broken."""
    table, place = _read(path, RUN.of(extras))
    _refuse_repeats(table, place, "document {doc_id!r} stands twice in the ranking of query {query_id!r}")
    return table


def read_qrels(path: AnyPath) -> pa.Table:
    """Reads judgments: a TREC file (topic iteration docno relevance) or Parquet, compressed or not.

    Returns query_id, doc_id, relevance (integers where all are whole, else floats), and iteration where it tells
    several intents apart. Raises MalformedFile, also where a pair is judged twice (for the same intent).
    """
    table, place = _read(path, _QRELS)
    _refuse_infinite(table, place, "relevance", -np.inf)
    if "iteration" in table.column_names and len(table["iteration"].unique()) == 1:
        table = table.drop_columns("iteration")
    _refuse_repeats(table, place, "document {doc_id!r} is judged twice for query {query_id!r}")
    return table


def read_lengths(path: AnyPath) -> pa.Table:
    """Reads document lengths: two columns of text (tabs, commas or blanks), with a header or without, or Parquet.

    Returns doc_id, doc_length. Raises MalformedFile, also where a length is negative or not finite, or a document
    has two.
    """
    table, place = _read(path, _LENGTHS)
    _refuse_infinite(table, place, "doc_length", 0.0)
    _refuse_repeats(table, place, "document {doc_id!r} has a second length")
    return table


def read_duplicates(path: AnyPath) -> pa.Table:
    """Reads which documents repeat others: two columns as for lengths, docno and duplicate_of or (by a header) cluster.

    Returns doc_id and either; nothing, or in text an empty field, stands where a document repeats none. Raises
    MalformedFile, also where a document stands twice.
    """
    table, place = _read(path, _DUPLICATES)
    if table.num_columns < 2:
        raise MalformedFile(f"{os.fsdecode(path)}: no column duplicate_of or cluster, or nothing in it.")
    _refuse_repeats(table, place, "document {doc_id!r} stands there for a second time")
    return table


def find_runs(directory: AnyPath) -> list[Path]:
    """The files of a directory, sorted by name; hidden ones, ``_SUCCESS`` and its like, and folders are no runs."""
    try:
        runs = sorted(p for p in Path(directory).iterdir() if p.is_file() and is_data(p.name))
    except OSError as error:
        raise MalformedFile(f"{directory}: {error.strerror}") from error
    if not runs:
        raise MalformedFile(f"{directory}: no files in it, and so no runs")
    return runs


def is_data(name: str) -> bool:
    """Whether a file or folder of this name is part of the data, and neither hidden nor a note on them."""
    return not name.startswith((".", "_"))


Place = Callable[[int], str]
"""Where in the file a row of the table comes from, for error messages."""


@dataclass(frozen=True)
class _Kind:
    fields: dict[str, str]
    """The fields of a line of text and the column that each becomes: "" for those that nobody needs."""
    names: dict[str, str]
    """The column names that Parquet files and header lines may use for our columns, ours first."""
    optional: tuple[str, ...] = ()
    """Columns that Parquet files may lack, or leave empty."""

    def of(self, extras: Collection[str]) -> "_Kind":
        """The same with these optional columns alone."""
        names = {name: column for name, column in self.names.items() if column in extras or column not in self.optional}
        return replace(self, names=names)


TYPES = {
    "run": pa.string(),
    "query_id": pa.string(),
    "doc_id": pa.string(),
    "iteration": pa.string(),
    "score": pa.float64(),
    "relevance": pa.int64(),
    "doc_length": pa.float64(),
    "duplicate_of": pa.string(),
    "cluster": pa.string(),
}
_IDS = {"query_id": "query_id", "doc_id": "doc_id", "qid": "query_id", "docno": "doc_id"}
RUN = _Kind(
    fields={"topic": "query_id", "Q0": "", "docno": "doc_id", "rank": "", "score": "score", "tag": ""},
    names=_IDS | {"score": "score", "doc_length": "doc_length", "duplicate_of": "duplicate_of"},
    optional=("doc_length", "duplicate_of"),
)
_QRELS = _Kind(
    fields={"topic": "query_id", "iteration": "iteration", "docno": "doc_id", "relevance": "relevance"},
    names=_IDS | {"relevance": "relevance", "label": "relevance", "iteration": "iteration"},
    optional=("iteration",),
)
_DOCUMENTS = {"doc_id": "doc_id", "docno": "doc_id", "id": "doc_id"}
_LENGTHS = _Kind(
    fields={"docno": "doc_id", "words": "doc_length"},
    names=_DOCUMENTS | {"doc_length": "doc_length", "length": "doc_length", "words": "doc_length"},
)
_DUPLICATES = _Kind(
    fields={"docno": "doc_id", "duplicate_of": "duplicate_of"},
    names=_DOCUMENTS | {"duplicate_of": "duplicate_of", "cluster": "cluster"},
    optional=("duplicate_of", "cluster"),
)
_MARK = b"\xef\xbb\xbf"  # of UTF-8
_HEXADECIMAL = (b"0x", b"0X")  # Arrow reads 0x10 as 16
_FIELDS = re.compile(rb'(?:[^",]*|"(?:[^"]|"")*")(?:,(?:[^",]*|"(?:[^"]|"")*"))*')
_WORDS_OF_TAG = re.compile(rb"(?<![^\r\n])((?:[^ \r\n]+ ){5}[^ \r\n]+) [^\r\n]*")
_MARKS = {"gzip": (".gz", b"\x1f\x8b"), "zstd": (".zst", b"\x28\xb5\x2f\xfd"), "parquet": (".parquet", b"PAR1")}
_UNREAD = {"bz2": rb"BZh[1-9](1AY&SY|\x17rE8P\x90)", "xz": rb"\xfd7zXZ\x00", "zip": rb"PK(\x03\x04|\x05\x06)"}


def _read(path: AnyPath, kind: _Kind) -> tuple[pa.Table, Place]:
    path = os.fsdecode(path)
    try:
        packing = packing_of(path)
        if packing == "parquet":
            table = _parquet(path, kind)
            place: Place = partial(in_parquet, path)
        else:
            table, data = _text(path, unpacked(path, packing), kind)
            place = partial(in_text, path, data)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from error
    if not table.num_rows and kind is not _DUPLICATES:  # where nothing is repeated
        raise empty(path, kind)
    refuse_missing(table, place, kind)
    return table, place


def unreadable(path: str, error: Exception) -> MalformedFile:
    """What the system says of a file, or what Arrow does, of which not all know what it means."""
    reason = getattr(error, "strerror", None)
    return MalformedFile(f"{path}: {reason or f'{error}. Is it whole? If not, copy or write it again.'}")


def packing_of(path: str) -> str | None:
    """How a file is packed: gzip, zstd or parquet. Raises MalformedFile for other packings, and for no regular file."""
    check_file(path)
    with open(path, "rb") as file:
        head = file.read(10)
    other = next((name for name, mark in _UNREAD.items() if re.match(mark, head)), None)
    if other is not None:
        raise MalformedFile(
            f"{path}: is packed with {other}, which is not read: unpack it, or pack it with gzip or zstd."
        )
    return next((name for name, (end, mark) in _MARKS.items() if path.endswith(end) or head.startswith(mark)), None)


def empty(path: str, kind: _Kind) -> MalformedFile:
    return MalformedFile(f"{path}: empty; expected lines of {_expected(kind.fields)}")


def _expected(fields: dict[str, str]) -> str:
    return f"{len(fields)} fields ({' '.join(fields)})"


def open_parquet(path: str, **options: Any) -> pa.parquet.ParquetFile:
    """A Parquet file, of which is checked what can be: its pages where they have sums, and the number of its rows."""
    try:
        file = pa.parquet.ParquetFile(path, page_checksum_verification=True, **options)
        file.schema_arrow.names  # noqa: B018
    except UnicodeDecodeError as error:
        raise MalformedFile(f"{path}: broken: the name of a column is not UTF-8.") from error
    metadata = file.metadata
    rows = sum(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
    if rows != metadata.num_rows:
        raise MalformedFile(f"{path}: broken: {metadata.num_rows:,} rows, and {rows:,} in its row groups.")
    return file


def _parquet(path: str, kind: _Kind) -> pa.Table:
    file = open_parquet(path)
    found = columns_of(path, file.schema_arrow, kind)
    check_parquet(path, file, names_in(found))
    table = file.read(names_in(found))
    table.validate(full=True)
    return one_of_each(found, table, partial(converted, path), partial(in_parquet, path))


def names_in(found: Mapping[str, Collection[str]]) -> list[str]:
    """What the file calls all these columns."""
    return [name for names in found.values() for name in names]


def one_of_each(
    found: Mapping[str, Sequence[str]], table: pa.Table, convert: Callable[[str, Any, str], Any], place: Place
) -> pa.Table:
    """Our columns from those of a file, which may have several for one thing if they are equal."""
    columns: dict[str, Any] = {}

    def refuse(sentence: str, row: int) -> MalformedFile:
        pair = _pair(pa.table(columns), row)
        return MalformedFile(f"{place(row)}: the file {sentence}{pair and f' for {pair}'}. Keep one of the two.")

    for column, names in found.items():
        given = [
            (name, convert(column, table.column(at), name))
            for name in names
            for at in table.schema.get_all_field_indices(name)
        ]
        columns[column] = the_only(given, refuse)
    return pa.table(columns)


def converted(path: str, column: str, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """A column of a Parquet file, and what it is called there, as ours; large integers as near as numbers come."""
    kind = TYPES[column]
    if kind != pa.string():
        if not (are_real(values.type) or is_text(values.type)):
            raise MalformedFile(
                f"{path}: column {name!r} holds {values.type}, and must hold numbers. Save the file again with this"
                " column as float64."
            )
        values = plain(values)
    try:
        if column == "relevance":
            return _grades(values)
        return values.cast(kind, safe=not (pa.types.is_integer(values.type) and pa.types.is_floating(kind)))
    except pa.ArrowException as error:
        raise MalformedFile(
            f"{path}: column {name!r} holds {values.type}, which does not become float64 ({error}). Save the file again"
            f" with this column as float64."
        ) from error


def _grades(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Grades as integers if all of them are whole, else as floats."""
    with suppress(pa.ArrowException):
        return values.cast(pa.int64())
    floats = values.cast(pa.float64(), safe=not pa.types.is_integer(values.type))
    with suppress(pa.ArrowException):
        return floats.cast(pa.int64())
    return floats


def check_parquet(path: str, file: pa.parquet.ParquetFile, names: list[str]) -> None:
    """Raises MalformedFile where there is no room for these columns, by what the file says of them.

    A dictionary holds a long text once that may stand in each of a thousand million rows.
    """
    groups = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]
    size = sum(group.total_byte_size + 8 * len(names) * group.num_rows for group in groups)
    check_room(path, size, held=2)
    texts = [field.name for field in file.schema_arrow if field.name in names and _is_long(field.type)]
    if has_room(sum(len(texts) * group.total_byte_size * group.num_rows for group in groups), held=2):
        return
    encoded = open_parquet(path, read_dictionary=texts, pre_buffer=False)
    for number, group in enumerate(groups):
        for first in encoded.iter_batches(1, [number], texts, use_threads=False):
            for column in first.columns:
                longest = pc.max(pc.binary_length(getattr(column, "dictionary", column))).as_py()
                size += (longest or 0) * group.num_rows
            break
        check_room(path, size, held=2)


def _is_long(kind: pa.DataType) -> bool:
    """Whether one value may take many bytes."""
    return is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def columns_of(path: str, schema: pa.Schema, kind: _Kind) -> dict[str, list[str]]:
    """What the file calls each of our columns."""
    found: dict[str, list[str]] = {}
    types = {name: [field.type for field in schema if field.name == name] for name in schema.names}
    for name, column in kind.names.items():
        if name in types and not (column in kind.optional and all(map(pa.types.is_null, types[name]))):
            found.setdefault(column, []).append(name)
    for column in kind.names.values():
        if column not in found and column not in kind.optional:
            names = " or ".join(name for name, meant in kind.names.items() if meant == column)
            raise MalformedFile(
                f"{path}: no column {names}. There is: {', '.join(schema.names)}.{if_swapped(column, schema.names)}"
            )
    for column, name in ((column, name) for column, names in found.items() for name in names):
        there = next((one for one in types[name] if not is_text(one)), None)
        if TYPES[column] == pa.string() and there is not None:
            way = "astype(int).astype(str)" if pa.types.is_floating(there) else "astype(str)"
            raise MalformedFile(
                f"{path}: column {name!r} holds {there}, and ids must be strings. Save the file again after"
                f" df[{name!r}].{way}."
            )
    return found


def is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _text(path: str, data: bytes, kind: _Kind) -> tuple[pa.Table, bytes]:
    """The table, and the bytes that its rows are lines of: the file without byte order mark and header."""
    data = unmarked(path, data)
    fields, delimiter = kind.fields, " "
    if kind is _LENGTHS or kind is _DUPLICATES:
        fields, delimiter, data = _without_header(path, data, kind)
    if not data or data.isspace():
        raise empty(path, kind)
    if delimiter == ",":
        _refuse_loose_quotes(path, data)
    try:
        table = split(single_spaced(data) if delimiter == " " else data, fields, delimiter)
        if len(set(table.column_names)) == table.num_columns:
            return table, data
        alike = {column: [f for f, meant in fields.items() if meant == column] for column in table.column_names}
        table = table.rename_columns([field for names in alike.values() for field in names])
        return one_of_each(alike, table, lambda _, values, name: values, partial(in_text, path, data)), data
    except pa.ArrowInvalid as error:
        refuse_text(path, data, fields, delimiter, error)


def unmarked(path: str, data: bytes) -> bytes:
    """What begins a file, without a byte order mark."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise MalformedFile(f"{path}: not UTF-8 but UTF-16. Save it again as UTF-8.")
    return data.removeprefix(_MARK)


def _without_header(path: str, data: bytes, kind: _Kind) -> tuple[dict[str, str], str, bytes]:
    """Fields in the order of the header, the delimiter, and the data with an empty line for the header."""
    data = re.sub(rb"(?<![^\r\n])[ \t\v\f]+(?=[\r\n]|\Z)", b"", data)
    first = re.search(rb"[^\r\n]+", data)
    if not first:
        return kind.fields, " ", b""
    delimiter = next((d for d in "\t," if d.encode() in first.group()), " ")
    names = [name.strip().lower() for name in _cells(first.group(), delimiter, errors="replace")]
    columns = [kind.names.get(name, "") for name in names]
    known = {*columns} - {""}
    if "doc_id" not in known or "" in columns or len(known) != len(kind.fields):
        if known == {"doc_id"} and "" not in columns and len(columns) > 1:
            raise MalformedFile(
                f"{path}: of the columns {', '.join(names)} each has ids of documents, and none values."
            )
        return kind.fields, delimiter, data
    fields = {name if names.index(name) == at else f"{name} ({at + 1})": columns[at] for at, name in enumerate(names)}
    return fields, delimiter, data[: first.start()] + data[first.end() :]


def _refuse_loose_quotes(path: str, data: bytes) -> None:
    """A quotation mark without its other half makes one value of what follows, be it lines."""
    for number, line in enumerate(data.splitlines() if b'"' in data else (), 1):
        if b'"' in line and not _FIELDS.fullmatch(line):
            raise MalformedFile(
                f"{path}:{number}: a quotation mark that neither begins nor ends a field (in one, write it twice):"
                f" {_shown(line)}"
            )


def single_spaced(data: bytes) -> bytes:
    """Every run of blanks as one space, and none at either end of a line, as a reader of CSV needs it."""
    if any(blank in data for blank in (b"\t", b"\v", b"\f")):
        data = data.translate(bytes.maketrans(b"\t\v\f", b"   "))
    data = data.strip(b" ")
    if _has_neighbouring_blanks(data):
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        while b"  " in data:
            data = data.replace(b"  ", b" ")
        data = data.replace(b" \n", b"\n").replace(b"\n ", b"\n")
    return data


def _has_neighbouring_blanks(data: bytes, block: int = 1 << 18) -> bool:
    """Whether a blank, tab or line end follows another: 7 ns a line, where a search for b"  " takes 25."""
    codes = np.frombuffer(data, np.uint8)
    for start in range(0, len(codes), block):
        blank = codes[start : start + block + 1] <= ord(" ")
        if (blank[1:] & blank[:-1]).any():
            return True
    return False


def split(data: bytes, fields: dict[str, str], delimiter: str) -> pa.Table:
    """The columns of lines of fields. What is rare is looked for only after all else failed.

    Grades may be floats, and the tag of a run may have several words.
    """
    try:
        return _split_by_arrow(data, fields, delimiter, TYPES)
    except pa.ArrowInvalid:
        if "tag" in fields:
            return _split_by_arrow(_WORDS_OF_TAG.sub(rb"\1", data), fields, delimiter, TYPES)
        if "relevance" not in fields:
            raise
        table = _split_by_arrow(data, fields, delimiter, TYPES | {"relevance": pa.float64()})
        place = table.column_names.index("relevance")
        return table.set_column(place, "relevance", _grades(table["relevance"]))


def _split_by_arrow(data: bytes, fields: dict[str, str], delimiter: str, types: Mapping[str, pa.DataType]) -> pa.Table:
    needed = {field: column for field, column in fields.items() if column}
    kinds = {field: types[column] for field, column in needed.items()}
    hexadecimal = any(mark in data for mark in _HEXADECIMAL)
    texts = [field for field, kind in kinds.items() if kind == pa.int64() and hexadecimal]
    read = partial(
        pa.csv.read_csv,
        parse_options=pa.csv.ParseOptions(delimiter=delimiter, quote_char='"' if delimiter == "," else False),
        convert_options=pa.csv.ConvertOptions(
            column_types=kinds | dict.fromkeys(texts, pa.string()),
            include_columns=list(needed),
            null_values=[],
            strings_can_be_null=False,
        ),
    )
    data = _MARK + data if data.startswith(_MARK) else data  # Arrow drops one, and none here is a mark
    options = pa.csv.ReadOptions(column_names=list(fields))
    try:
        table = read(pa.BufferReader(data), options)
    except pa.ArrowInvalid:  # perhaps of a line that is longer than a block
        options.block_size = min(max(options.block_size, len(data)), 2**31 - 1)
        table = read(pa.BufferReader(data), options)
    for field in texts:
        if not pc.all(pc.match_substring_regex(table[field], "^-?[0-9]+$")).as_py():
            raise pa.ArrowInvalid(f"{field} is no integer")
    table = table.rename_columns(list(needed.values()))
    table = table.select([at for c in TYPES for at, column in enumerate(needed.values()) if c == column])
    return table.cast(pa.schema([(column, types[column]) for column in table.column_names]))


def refuse_text(
    path: str, data: bytes, fields: dict[str, str], delimiter: str, error: Exception, before: int = 0
) -> NoReturn:
    """Walks the lines in Python, now that something is known to be wrong, and raises at the first that is.

    ``before`` these there are so many others in the file.
    """
    first = True
    for number, line in enumerate(data.splitlines(), before + 1):
        if not line.strip():
            continue
        try:
            cells = _cells(line, delimiter, most=len(fields) if "tag" in fields else None)
        except UnicodeDecodeError as wrong:
            raise MalformedFile(f"{path}:{number}: not UTF-8: {_shown(line)}") from wrong
        except csv.Error as wrong:
            raise MalformedFile(f"{path}:{number}: {wrong}: {_shown(line)}") from wrong
        if len(cells) != len(fields):
            hint = _if_swapped(cells, fields) if first else ""
            raise MalformedFile(
                f"{path}:{number}: expected {_expected(fields)}, found {len(cells)}: {_shown(line)}{hint}"
            )
        for cell, (field, column) in zip(cells, fields.items()):
            if column and not _reads_as(cell, TYPES[column]):
                raise MalformedFile(f"{path}:{number}: {field} {_shown(cell.encode())} is no number: {_shown(line)}")
        first = False
    raise MalformedFile(f"{path}: {error}") from error


def _if_swapped(cells: list[str], fields: dict[str, str]) -> str:
    """A hint where the first line is one of the other kind."""
    if fields == _QRELS.fields and len(cells) >= len(RUN.fields) and _reads_as(cells[4], pa.float64()):
        return f". {IS_A_RUN}"
    if "tag" in fields and len(cells) == len(_QRELS.fields) and _reads_as(cells[3], pa.float64()):
        return f". {ARE_JUDGMENTS}"
    return ""


def _cells(line: bytes, delimiter: str, errors: str = "strict", most: int | None = None) -> list[str]:
    """The cells of a line. With ``most``, the last one is the rest of the line."""
    if delimiter == " ":
        return [cell.decode(errors=errors) for cell in line.split(None, -1 if most is None else most - 1)]
    text = line.decode(errors=errors)
    return text.split(delimiter) if delimiter == "\t" else next(csv.reader([text]))


def _shown(line: bytes, most: int = 100) -> str:
    text = line.decode(errors="backslashreplace")
    return repr(text if len(text) <= most else text[:most] + "…")


def _reads_as(cell: str, kind: pa.DataType) -> bool:
    if kind == pa.string():
        return True
    try:
        pa.scalar(cell.strip()).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def in_text(path: str, data: bytes, row: int, before: int = 0) -> str:
    numbers = (number for number, line in enumerate(data.splitlines(), before + 1) if line.strip())
    return f"{path}:{next(islice(numbers, row, None))}"


def in_parquet(path: str, row: int) -> str:
    return f"{path}: row {row + 1}"


def refuse_missing(table: pa.Table, place: Place, kind: _Kind) -> None:
    for column in table.column_names:
        row = pc.index(pc.is_null(table[column], nan_is_null=True), True).as_py()
        if row >= 0 and column not in kind.optional:
            value = "NaN" if table[column][row].is_valid else "null"
            raise MalformedFile(f"{place(row)}: {column} is {value} for {_pair(table, row)}")


def _refuse_infinite(table: pa.Table, place: Place, column: str, least: float) -> None:
    """Raise MalformedFile where a number is infinite, or below the least."""
    values = table[column].cast(pa.float64(), safe=False)
    row = pc.index(pc.and_(pc.is_finite(values), pc.greater_equal(values, least)), False).as_py()
    if row >= 0:
        raise MalformedFile(f"{place(row)}: {column} is {values[row]} for {_pair(table, row)}")


def _refuse_repeats(table: pa.Table, place: Place, message: str) -> None:
    row = _first_repeat(table)
    if row is not None:
        ids = {column: table[column][row].as_py() for column in table.column_names}
        raise MalformedFile(f"{place(row)}: {message.format(**ids)}")


def _first_repeat(table: pa.Table) -> int | None:
    """The row that repeats the query and the document of an earlier one."""
    documents = table["doc_id"].cast(pa.large_string()).combine_chunks()
    order, queries = None, np.zeros(len(documents), np.int32)
    for column in {"query_id", "iteration"} & {*table.column_names}:
        codes = table[column].combine_chunks().dictionary_encode().indices.to_numpy()
        queries = np.unique(queries * (int(codes.max()) + 1) + codes, return_inverse=True)[1].astype(np.int32)
    starts = _starts(queries)
    if len(starts) > queries.max(initial=0) + 1:
        order = np.argsort(queries, kind="stable")
        documents, starts = documents.take(pa.array(order)), _starts(queries[order])
    row = first_repeat(documents, starts)
    return row if row is None or order is None else int(order[row])


def _starts(queries: np.ndarray) -> np.ndarray:
    return np.append(0, np.flatnonzero(queries[1:] != queries[:-1]) + 1)


def _pair(table: pa.Table, row: int) -> str:
    names = {"query_id": "query", "doc_id": "document"}
    return ", ".join(f"{name} {table[c][row].as_py()!r}" for c, name in names.items() if c in table.column_names)

"""Readers of tables in text, JSON and Parquet files; errors name the line, the row, or the query and document."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from ..errors import ARE_JUDGMENTS, IS_A_RUN, BadParameter, MalformedFile, if_swapped, many, shown, some
from .arrow_arrays import are_real, is_binary, is_text, of_numbers, of_strings, plain, the_only
from .id_columns import longest
from .memory_limit import check_room, has_room, unpacked

Place = Callable[[int], str]
"""Function from a row of a table to its place in the file, for error messages."""


@dataclass(frozen=True)
class TableKind:
    """Kind of table, such as a run.

    Attributes
    ----------
    fields : dict
        Fields of a text line, each with its column, or "" if the field is not used.
    names : dict
        Column names in Parquet files and header lines, each with the column of the package. The names of the package
        come first.
    optional : tuple of str
        Columns that may be missing or empty in Parquet files.
    least : tuple of (str, float), optional
        Column of finite numbers, and the smallest allowed number.
    twice : str
        Error for a second row of a query and document, with the names of columns in braces.
    split : str, optional
        Subset and split to read of a JSON file that has several.
    instead : tuple of str
        Names that count only in files without other names of the column.
    """

    fields: dict[str, str]
    names: dict[str, str]
    optional: tuple[str, ...] = ()
    least: tuple[str, float] | None = None
    twice: str = "document {doc_id!r} stands twice in the ranking of query {query_id!r}"
    split: str | None = None
    instead: tuple[str, ...] = ()

    def in_columns(self, names: Collection[str]) -> TableKind:
        """Return the kind for a file with these columns: judgments may have probabilities in place of relevance."""
        if self.instead and any(name in names for name in self.names if name not in (*IDS, *self.instead)):
            return replace(self, names={one: self.names[one] for one in self.names if one not in self.instead})
        chances = [name for name in names if CHANCES.fullmatch(name)] if self.least == QRELS.least else []
        if not chances:
            return self
        kept = {name: column for name, column in self.names.items() if column != "relevance" or name in names}
        least = self.least if "relevance" in kept.values() else None
        return replace(self, names=kept | {name: name for name in chances}, least=least)

    def with_extras(self, extras: Collection[str]) -> TableKind:
        """Return the kind with only these optional columns."""
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
    "doc_cost": pa.float64(),
    "duplicate_of": pa.string(),
    "cluster": pa.string(),
    "element": pa.string(),
}
CHANCES = re.compile(r"p_relevant|p_\d{1,3}")
"""Names of columns with probabilities of grades."""


def type_of(column: str) -> pa.DataType:
    """Return the type of a column; columns of probabilities are floats."""
    return TYPES.get(column, pa.float64())


_EXTRAS = ("doc_length", "duplicate_of", "doc_cost")
_IDS = {"query_id": "query_id", "doc_id": "doc_id", "qid": "query_id", "docno": "doc_id"}
RUN = TableKind(
    fields={"topic": "query_id", "Q0": "", "docno": "doc_id", "rank": "", "score": "score", "tag": ""},
    names=_IDS | {name: name for name in ("score", *_EXTRAS)},
    optional=_EXTRAS,
)
QRELS = TableKind(
    fields={"topic": "query_id", "iteration": "iteration", "docno": "doc_id", "relevance": "relevance"},
    names=_IDS | {"relevance": "relevance", "label": "relevance", "iteration": "iteration"},
    optional=("iteration",),
    least=("relevance", -np.inf),
    twice="document {doc_id!r} is judged twice for query {query_id!r}",
)
IDS = ("doc_id", "docno", "id")
"""Names of the column of documents in tables of documents."""
_DOCUMENTS = dict.fromkeys(IDS, "doc_id")
_LENGTHS = ("doc_length", "words", "length")
LENGTHS = TableKind(
    fields={"docno": "doc_id", "words": "doc_length"},
    names=_DOCUMENTS | dict.fromkeys(_LENGTHS, "doc_length"),
    least=("doc_length", 0.0),
    twice="document {doc_id!r} has a second length",
)
COSTS = TableKind(
    fields={"docno": "doc_id", "cost": "doc_cost"},
    names=_DOCUMENTS | dict.fromkeys(("doc_cost", "cost", "seconds", "tokens", *_LENGTHS), "doc_cost"),
    least=("doc_cost", 0.0),
    twice="document {doc_id!r} has a second cost",
    instead=_LENGTHS,
)
PAGES = TableKind(
    fields={"topic": "query_id", "element": "element", "docno": "doc_id", "rank": "", "score": "", "tag": ""},
    names=_IDS | {"element": "element"},
)
ELEMENT_COSTS = TableKind(
    fields={"element": "doc_id", "cost": "doc_cost"},
    names={"element": "doc_id", "cost": "doc_cost"},
    least=("doc_cost", 0.0),
    twice="element type {doc_id!r} has a second cost",
)
ABSTENTION = TableKind(
    fields={"topic": "query_id", "docno": "doc_id", "p_abstain": "p_abstain"},
    names=_IDS | {"topic": "query_id", "p_abstain": "p_abstain"},
    least=("p_abstain", 0.0),
    twice="document {doc_id!r} of query {query_id!r} has a second probability",
)
DUPLICATES = TableKind(
    fields={"docno": "doc_id", "duplicate_of": "duplicate_of"},
    names=_DOCUMENTS | {"duplicate_of": "duplicate_of", "cluster": "cluster"},
    optional=("duplicate_of", "cluster"),
    twice="document {doc_id!r} is in the table twice",
)


def empty(path: str, kind: TableKind) -> MalformedFile:
    """Return the error for an empty file."""
    return MalformedFile(f"{path}: empty; expected lines of {expected(kind.fields)}")


def expected(fields: dict[str, str]) -> str:
    """Return the number and names of fields, for error messages."""
    return f"{len(fields)} fields ({' '.join(fields)})"


def one_of_each(
    found: Mapping[str, Sequence[str]], table: pa.Table, convert: Callable[[str, Any, str], Any], place: Place
) -> pa.Table:
    """Return a table with one column per meaning; several columns of a file for one must be equal.

    Parameters
    ----------
    found : dict
        Names in the file for each column.
    table : Table
        Table with the names of the file.
    convert : callable
        Function of a column's name, its values, and its name in the file, that returns the values to keep.
    place : callable
        Function from a row to its place in the file, for error messages.
    """
    columns: dict[str, Any] = {}

    def refuse(sentence: str, row: int) -> MalformedFile:
        pair = pair_in(pa.table(columns), row)
        return MalformedFile(f"{place(row)}: the file {sentence}{pair and f' for {pair}'}. Keep one of the two.")

    for column, names in found.items():
        given = [
            (name, convert(column, table.column(at), name))
            for name in names
            for at in table.schema.get_all_field_indices(name)
        ]
        columns[column] = the_only(given, refuse)
    return pa.table(columns)


def pair_in(table: pa.Table, row: int) -> str:
    """Return the query and document of a row, for error messages."""
    names = {"query_id": "query", "doc_id": "document"}
    return ", ".join(f"{name} {table[c][row].as_py()!r}" for c, name in names.items() if c in table.column_names)


def grades(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return grades as integers if all are whole, else as floats."""
    with suppress(pa.ArrowException):
        return values.cast(pa.int64())
    floats = values.cast(pa.float64(), safe=not pa.types.is_integer(values.type))
    with suppress(pa.ArrowException):
        return floats.cast(pa.int64())
    return floats


_MARK = b"\xef\xbb\xbf"  # byte order mark of UTF-8
_HEXADECIMAL = (b"0x", b"0X")  # Arrow reads 0x10 as 16
_FIELDS = {
    mark: re.compile(rb'(?:[^"%b]*|"(?:[^"]|"")*")(?:%b(?:[^"%b]*|"(?:[^"]|"")*"))*' % (3 * (mark.encode(),)))
    for mark in ",\t"
}
_OF_BEIR = {"query-id": "query_id", "corpus-id": "doc_id", "score": "relevance"}
_HEADER_OF_BEIR = re.compile(rb"\s*query-id\tcorpus-id\tscore[ \t]*(?=[\r\n]|\Z)", re.I)
_WORDS_OF_TAG = re.compile(rb"(?<![^\r\n])((?:[^ \r\n]+ ){5}[^ \r\n]+) [^\r\n]*")


def text_table(path: str, data: bytes, kind: TableKind) -> tuple[pa.Table, Place]:
    """Return the table in the content of a text file, and the place of a row."""
    data = unmarked(path, data)
    fields, delimiter = kind.fields, " "
    uncertain = fields == QRELS.fields and re.match(rb"[^\r\n]*\bp_(relevant|\d)", data)
    if uncertain or kind in (LENGTHS, COSTS, DUPLICATES, ABSTENTION):
        fields, delimiter, data = _without_header(path, data, kind)
    elif fields == QRELS.fields and (header := _HEADER_OF_BEIR.match(data)):
        fields, delimiter = _OF_BEIR, "\t"
        data = re.sub(rb"[^\r\n]+", b"", header[0]) + data[header.end() :]  # lines keep their numbers
    if not data or data.isspace():
        raise empty(path, kind)
    if delimiter == "," or fields is _OF_BEIR:
        _refuse_loose_quotes(path, data, delimiter)
    try:
        table = split(single_spaced(data) if delimiter == " " else data, fields, delimiter)
        alike = {column: [f for f, meant in fields.items() if meant == column] for column in table.column_names}
        table = table.rename_columns([field for names in alike.values() for field in names])
        place = partial(in_text, path, data)
        return one_of_each(alike, table, lambda _, values, name: values, place), place
    except pa.ArrowInvalid as error:
        refuse_text(path, data, fields, delimiter, error)


def unmarked(path: str, data: bytes) -> bytes:
    """Return the beginning of a file without its byte order mark; raise MalformedFile for UTF-16."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise MalformedFile(f"{path}: not UTF-8 but UTF-16. Save it again as UTF-8.")
    return data.removeprefix(_MARK)


def _without_header(path: str, data: bytes, kind: TableKind) -> tuple[dict[str, str], str, bytes]:
    """Return fields in the order of the header, the delimiter, and the data with an empty line for the header."""
    data = re.sub(rb"(?<![^\r\n])[ \t\v\f]+(?=[\r\n]|\Z)", b"", data)
    first = re.search(rb"[^\r\n]+", data)
    if not first:
        return kind.fields, " ", b""
    delimiter = next((d for d in "\t," if d.encode() in first.group()), " ")
    names = [name.strip().lower() for name in _cells(first.group(), delimiter, errors="replace")]
    kind = kind.in_columns(names)
    if kind.fields == QRELS.fields:
        meant = kind.fields | kind.names
        if {"query_id", "doc_id"} <= {meant.get(name) for name in names}:
            return (
                {name: meant.get(name, "") for name in names},
                delimiter,
                data[: first.start()] + data[first.end() :],
            )
        return kind.fields, " ", data
    columns = [kind.names.get(name, "") for name in names]
    known = {*columns} - {""}
    if "doc_id" not in known or "" in columns or len(known) != len(kind.fields):
        if known == {"doc_id"} and "" not in columns and len(columns) > 1:
            raise MalformedFile(
                f"{path}: all columns ({', '.join(names)}) contain document ids; there is no column of values."
            )
        return kind.fields, delimiter, data
    fields = {name if names.index(name) == at else f"{name} ({at + 1})": columns[at] for at, name in enumerate(names)}
    return fields, delimiter, data[: first.start()] + data[first.end() :]


def _refuse_loose_quotes(path: str, data: bytes, delimiter: str) -> None:
    """Raise MalformedFile for an unbalanced quotation mark, which would join all following lines to one value."""
    for number, line in enumerate(data.splitlines() if b'"' in data else (), 1):
        if b'"' in line and not _FIELDS[delimiter].fullmatch(line):
            raise MalformedFile(
                f"{path}:{number}: a quotation mark that neither begins nor ends a field (in one, write it twice):"
                f" {_shown(line)}"
            )


def single_spaced(data: bytes) -> bytes:
    """Return text with single spaces between fields and none at the ends of lines, for a CSV reader."""
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
    """Return whether two blanks, tabs or line ends are adjacent; faster than a search for two spaces."""
    codes = np.frombuffer(data, np.uint8)
    for start in range(0, len(codes), block):
        blank = codes[start : start + block + 1] <= ord(" ")
        if (blank[1:] & blank[:-1]).any():
            return True
    return False


def split(data: bytes, fields: dict[str, str], delimiter: str) -> pa.Table:
    """Return the columns of lines of fields.

    Rare forms are tried only after the common ones failed: grades that are floats, and tags of several words.
    """
    try:
        return _split_by_arrow(data, fields, delimiter)
    except pa.ArrowInvalid:
        if "tag" in fields:
            return _split_by_arrow(_WORDS_OF_TAG.sub(rb"\1", data), fields, delimiter)
        if "relevance" not in fields.values():
            raise
        table = _split_by_arrow(data, fields, delimiter, {"relevance": pa.float64()})
        place = table.column_names.index("relevance")
        return table.set_column(place, "relevance", grades(table["relevance"]))


def _split_by_arrow(
    data: bytes, fields: dict[str, str], delimiter: str, other_types: Mapping[str, pa.DataType] | None = None
) -> pa.Table:
    needed = {field: column for field, column in fields.items() if column}
    types = {column: type_of(column) for column in needed.values()} | dict(other_types or {})
    kinds = {field: types[column] for field, column in needed.items()}
    hexadecimal = any(mark in data for mark in _HEXADECIMAL)
    texts = [field for field, kind in kinds.items() if kind == pa.int64() and hexadecimal]
    data = _MARK + data if data.startswith(_MARK) else data  # Arrow drops a leading mark, which is data here
    table = read_csv(data, delimiter, kinds | dict.fromkeys(texts, pa.string()), list(fields))
    for field in texts:
        if not pc.all(pc.match_substring_regex(table[field], "^-?[0-9]+$")).as_py():
            raise pa.ArrowInvalid(f"{field} is no integer")
    table = table.rename_columns(list(needed.values()))
    order = dict.fromkeys((*TYPES, *types))
    table = table.select([at for c in order for at, column in enumerate(needed.values()) if c == column])
    return table.cast(pa.schema([(column, types[column]) for column in table.column_names]))


def read_csv(
    data: bytes, delimiter: str, types: Mapping[str, pa.DataType], names: Sequence[str] | None = None
) -> pa.Table:
    """Return columns of the given types.

    Parameters
    ----------
    data : bytes
        Lines of text.
    delimiter : str
        Separator of fields. Only fields between commas, and those of BEIR's judgments, may be quoted.
    types : dict
        Arrow types by name of column.
    names : sequence of str, optional
        Names of the columns. Without names, the first line has them, all columns are read, empty cells are null, and
        quoted values may span several lines.
    """
    with_header, quote = names is None, '"' if delimiter == "," or names == list(_OF_BEIR) else False
    options = pa.csv.ReadOptions(column_names=names)
    # One block needs no threads. A thread that frees `data` while Python exits would end the process (SIGABRT).
    options.use_threads = len(data) > options.block_size
    read = partial(
        pa.csv.read_csv,
        parse_options=pa.csv.ParseOptions(
            delimiter=delimiter, quote_char=quote, newlines_in_values=with_header and bool(quote)
        ),
        convert_options=pa.csv.ConvertOptions(
            column_types=types,
            include_columns=None if with_header else list(types),
            null_values=[""] if with_header else [],
            strings_can_be_null=with_header,
        ),
    )
    try:
        return read(pa.BufferReader(data), options)
    except pa.ArrowInvalid:  # a line may be longer than a block
        options.block_size = min(max(options.block_size, len(data)), 2**31 - 1)
        return read(pa.BufferReader(data), options)


def refuse_text(
    path: str, data: bytes, fields: dict[str, str], delimiter: str, error: Exception, before: int = 0
) -> NoReturn:
    """Raise MalformedFile for the first malformed line, after a fast reader has failed with `error`.

    `before` is the number of lines of the file before `data`.
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
            hint = _hint(cells, fields) or _known_names(cells, fields) if first else ""
            raise MalformedFile(
                f"{path}:{number}: expected {expected(fields)}, found {len(cells)}: {_shown(line)}{hint}"
            )
        for cell, (field, column) in zip(cells, fields.items()):
            if column and not _reads_as(cell, type_of(column)):
                hint = _known_names(cells, fields) if first else ""
                raise MalformedFile(
                    f"{path}:{number}: {field} {_shown(cell.encode())} is no number: {_shown(line)}{hint}"
                )
        first = False
    raise MalformedFile(f"{path}: {error}") from error


def _known_names(cells: list[str], fields: dict[str, str]) -> str:
    """Return a hint at the known names of columns if a first line without numbers may be a header."""
    kind = next((one for one in (LENGTHS, COSTS, ABSTENTION) if one.fields == fields), None)
    if kind is None or any(_reads_as(cell, pa.float64()) for cell in cells):
        return ""
    return f". If it is a line of column names, the known ones are {', '.join(kind.names)}."


def _hint(cells: list[str], fields: dict[str, str]) -> str:
    """Return a hint if runs and judgments are swapped, if the header of BEIR's judgments is missing, or at commas."""
    if len(cells) == 1 and cells[0].count(",") > 1 and fields in (RUN.fields, QRELS.fields):
        columns = f"query_id, doc_id and {'score' if 'tag' in fields else 'relevance'}"
        return (
            ". Fields are separated by spaces or tabs, not commas: read the file with pandas.read_csv, its ids as"
            f" texts, name its columns {columns}, and save it with to_parquet()."
        )
    if fields == QRELS.fields and len(cells) >= len(RUN.fields) and _reads_as(cells[4], pa.float64()):
        return f". {IS_A_RUN}"
    if fields == QRELS.fields and len(cells) == len(_OF_BEIR):
        return f". BEIR's judgments begin with a line of their columns, separated by tabs: {', '.join(_OF_BEIR)}."
    judged = len(cells) == len(QRELS.fields) and _reads_as(cells[3], pa.float64())
    if "tag" in fields and (judged or [cell.lower() for cell in cells] == list(_OF_BEIR)):
        return f". {ARE_JUDGMENTS}"
    return ""


def _cells(line: bytes, delimiter: str, errors: str = "strict", most: int | None = None) -> list[str]:
    """Return the cells of a line; with `most`, the last cell is the rest of the line."""
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
    """Return the file and line of a row, for error messages."""
    numbers = (number for number, line in enumerate(data.splitlines(), before + 1) if line.strip())
    return f"{path}:{next(islice(numbers, row, None))}"


_META = "mteb_model_meta"  # key of MTEB's predictions beside the subsets
_HELD_OF_JSON = 30  # bytes in memory for each byte of a file with short ids


def json_table(path: str, kind: TableKind, codec: str | None = None) -> pa.Table:
    """Return the table of a JSON file of dicts: {query: {document: value}}, or those by subset and split.

    `codec` is the compression of the file.

    Raises
    ------
    MalformedFile
        If the file is not JSON, if a name stands twice in a dict, or if a value is no number.
    BadParameter
        If the file has several subsets or splits, and ``kind.split`` does not choose one.
    """
    column = next((name for name in ("score", "relevance") if name in kind.fields.values()), None)
    if column is None:
        raise MalformedFile(
            f"{path}: is JSON, which is read for runs and judgments only. Read it with json.load and pass the dict."
        )
    text = unmarked(path, unpacked(path, codec, _HELD_OF_JSON))
    try:
        data = json.loads(text.decode(), object_pairs_hook=partial(_without_repeats, path))
    except json.JSONDecodeError as error:
        raise MalformedFile(f"{path}:{error.lineno}: not JSON: {error.msg} (column {error.colno}).") from error
    except MalformedFile:
        raise
    except (ValueError, RecursionError) as error:
        raise MalformedFile(f"{path}: not JSON of runs or judgments: {error}.") from error
    rankings = _of_split(path, data, kind.split)
    documents: list[str] = []
    values: list[Any] = []
    for query, ranking in rankings.items():
        if not isinstance(ranking, dict):
            raise MalformedFile(f"{path}: query {query!r} must have a dict of documents, and has {shown(ranking)}.")
        documents += ranking
        values += ranking.values()
    if not values:
        raise MalformedFile(f"{path}: empty; no query has a document.")
    row_of = np.repeat(np.arange(len(rankings)), list(map(len, rankings.values())))
    queries = list(rankings)
    kinds = set(map(type, values))
    if kinds - {int, float}:
        row = next(row for row, value in enumerate(values) if type(value) not in (int, float))
        where = f"query {queries[row_of[row]]!r}, document {documents[row]!r}"
        raise MalformedFile(f"{path}: {column} of {where} is no number: {shown(values[row])}.")
    try:
        numbers = np.array(values, np.int64 if column == "relevance" and kinds == {int} else float)
        ids = [of_strings(queries).take(of_numbers(row_of)), of_strings(documents)]
    except (OverflowError, UnicodeEncodeError) as error:
        what = f"a {column} is too large" if isinstance(error, OverflowError) else "an id is no Unicode text"
        raise MalformedFile(f"{path}: {what} ({error}).") from error
    return pa.table([*ids, of_numbers(numbers)], ["query_id", "doc_id", column])


def _without_repeats(path: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the dict of a JSON object; raise MalformedFile if a name stands twice in it."""
    found = dict(pairs)
    if len(found) < len(pairs):
        ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise MalformedFile(f"{path}: {name!r} stands twice in one dict, as a query or as a document of a query.")
    return found


def _of_split(path: str, data: Any, split: str | None) -> dict[str, Any]:
    """Return the dicts by query of the only or the given split; those of a file without splits in any case."""
    if not isinstance(data, dict):
        raise MalformedFile(f"{path}: must be a dict by query, and is {shown(data)}.")
    subsets = {name: part for name, part in data.items() if name != _META}
    inner = (value for part in subsets.values() if isinstance(part, dict) for value in part.values())
    if _META not in data and not isinstance(next(inner, None), dict):
        return data
    for name, part in subsets.items():
        if not isinstance(part, dict):
            raise MalformedFile(f"{path}: subset {name!r} must be a dict by split, and is {shown(part)}.")
    found = {(name, of): rankings for name, part in subsets.items() for of, rankings in part.items()}
    chosen = [key for key in found if split is None or split in (*key, "/".join(key))]
    if len(chosen) != 1 and found:
        names = ["/".join(key) for key in found]
        which = "has" if split is None else f"{split!r} names {len(chosen)} of"
        there = f"{many(len(names), 'split')}: {some(names, 50)}"
        raise BadParameter(f"{path}: {which} {there}. Choose one, such as split={names[0]!r}.")
    rankings = found[chosen[0]] if chosen else {}
    if not isinstance(rankings, dict):
        raise MalformedFile(f"{path}: split {'/'.join(chosen[0])!r} must be a dict by query, and is {shown(rankings)}.")
    return rankings


if TYPE_CHECKING:
    import pyarrow.parquet

BUFFER = 1 << 20
"""Number of bytes of a Parquet file that are read at a time, if the file is not read completely."""


def parquet_table(path: str, kind: TableKind) -> pa.Table:
    """Return those columns of a Parquet file that a kind of table has, with the names of the file."""
    file = open_parquet(path)
    kind = kind.in_columns(file.schema_arrow.names)
    names = names_in(columns_of(path, file.schema_arrow, kind))
    check_parquet(path, file, names)
    table = file.read(names)
    table.validate(full=True)
    return table


def table_of_kind(path: str, table: pa.Table, kind: TableKind) -> tuple[pa.Table, Place]:
    """Return the columns of a kind of table from a table with the names of its file, and the place of a row."""
    place, kind = partial(in_parquet, path), kind.in_columns(table.column_names)
    return one_of_each(columns_of(path, table.schema, kind), table, partial(converted, path), place), place


def open_parquet(path: str, **options: Any) -> pyarrow.parquet.ParquetFile:
    """Open a Parquet file with verification of page checksums, and check its number of rows."""
    from pyarrow.parquet import ParquetFile

    try:
        file = ParquetFile(path, page_checksum_verification=True, **options)
        file.schema_arrow.names  # noqa: B018
    except UnicodeDecodeError as error:
        raise MalformedFile(f"{path}: broken: the name of a column is not UTF-8.") from error
    metadata = file.metadata
    rows = sum(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
    if rows != metadata.num_rows:
        raise MalformedFile(f"{path}: broken: {metadata.num_rows:,} rows, and {rows:,} in its row groups.")
    return file


def columns_of(path: str, schema: pa.Schema, kind: TableKind) -> dict[str, list[str]]:
    """Return the names in the file of each column of the kind; raise MalformedFile if a column is missing."""
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
        there = next((one for one in types[name] if not (is_text(one) or pa.types.is_null(one))), None)
        if type_of(column) == pa.string() and there is not None:
            way = "astype(int).astype(str)" if pa.types.is_floating(there) else "astype(str)"
            raise MalformedFile(
                f"{path}: column {name!r} holds {there}, and ids must be strings. Save the file again after"
                f" df[{name!r}].{way}."
            )
    return found


def names_in(found: Mapping[str, Collection[str]]) -> list[str]:
    """Return all names in the file of some columns."""
    return [name for names in found.values() for name in names]


def converted(path: str, column: str, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a column of a Parquet file in the type of the package; large integers become the nearest float.

    Parameters
    ----------
    path : str
        Path of the file, for error messages.
    column : str
        Name of the column in the package.
    values : ChunkedArray
        Values of the column.
    name : str
        Name of the column in the file.
    """
    kind = type_of(column)
    if kind != pa.string():
        if not (are_real(values.type) or is_text(values.type)):
            raise MalformedFile(
                f"{path}: column {name!r} holds {values.type}, and must hold numbers. Save the file again with this"
                " column as float64."
            )
        values = plain(values)
    try:
        if column == "relevance":
            return grades(values)
        return values.cast(kind, safe=not (pa.types.is_integer(values.type) and pa.types.is_floating(kind)))
    except pa.ArrowException as error:
        raise MalformedFile(
            f"{path}: column {name!r} holds {values.type}, which does not become float64 ({error}). Save the file again"
            f" with this column as float64."
        ) from error


def check_parquet(path: str, file: pyarrow.parquet.ParquetFile, names: list[str]) -> None:
    """Raise MalformedFile if columns exceed the memory limit, by an estimate from the metadata.

    A dictionary contains a text once, even if it occurs in 10⁹ rows.
    """
    groups = {group: file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)}
    size = sum(group.total_byte_size + 8 * len(names) * group.num_rows for group in groups.values())
    check_room(path, size, held=2)
    long = [field.name for field in file.schema_arrow if is_text(field.type) or is_binary(field.type)]
    for more in sizes_of_texts(path, groups, [name for name in long if name in names], held=2):
        size += more
        check_room(path, size, held=2)


def sizes_of_texts(
    path: str, groups: Mapping[int, Any], texts: Sequence[str], held: int, together: int | None = None
) -> Iterator[int]:
    """Yield the largest size of the texts of each row group once they are repeated from dictionaries.

    Nothing is read, and no size yielded, if the texts have room by the metadata alone.

    Parameters
    ----------
    path : str
        Path of the Parquet file.
    groups : dict
        Metadata of row groups by their numbers.
    texts : sequence of str
        Names of the columns of texts.
    held : int
        Number of copies in memory, as for ``has_room``.
    together : int, optional
        Largest number of rows that are read at a time; by default all of a row group.
    """
    if has_room(sum(len(texts) * group.total_byte_size * group.num_rows for group in groups.values()), held):
        return
    with open_parquet(path, read_dictionary=texts, pre_buffer=False, buffer_size=BUFFER) as file:
        for number, group in groups.items():
            first = next(file.iter_batches(1, [number], texts, use_threads=False), None)
            if first is not None:
                rows = group.num_rows if together is None else min(group.num_rows, together)
                yield sum(map(longest, first.columns)) * rows


def in_parquet(path: str, row: int, before: int = 0) -> str:
    """Return the place of a row, for error messages; `before` is the number of rows of the file before the table."""
    return f"{path}: row {before + row + 1}"

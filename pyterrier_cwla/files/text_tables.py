"""Readers of text tables with fields separated by blanks, tabs or commas; errors name the line."""

import csv
import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from ..errors import ARE_JUDGMENTS, ARE_OF_BEIR, IS_A_RUN, MalformedFile
from .table_kinds import DUPLICATES, LENGTHS, QRELS, RUN, SECONDS, TYPES, Kind, empty, expected, grades, one_of_each

_MARK = b"\xef\xbb\xbf"  # byte order mark of UTF-8
_HEXADECIMAL = (b"0x", b"0X")  # Arrow reads 0x10 as 16
_FIELDS = re.compile(rb'(?:[^",]*|"(?:[^"]|"")*")(?:,(?:[^",]*|"(?:[^"]|"")*"))*')
_WORDS_OF_TAG = re.compile(rb"(?<![^\r\n])((?:[^ \r\n]+ ){5}[^ \r\n]+) [^\r\n]*")


def text_table(path: str, data: bytes, kind: Kind) -> tuple[pa.Table, bytes]:
    """Return the table, and the data of its rows: the file without byte order mark and header."""
    data = unmarked(path, data)
    fields, delimiter = kind.fields, " "
    if kind is LENGTHS or kind is SECONDS or kind is DUPLICATES:
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
    """Return the beginning of a file without its byte order mark; raise MalformedFile for UTF-16."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise MalformedFile(f"{path}: not UTF-8 but UTF-16. Save it again as UTF-8.")
    return data.removeprefix(_MARK)


def _without_header(path: str, data: bytes, kind: Kind) -> tuple[dict[str, str], str, bytes]:
    """Return fields in the order of the header, the delimiter, and the data with an empty line for the header."""
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
                f"{path}: all columns ({', '.join(names)}) contain document ids; there is no column of values."
            )
        return kind.fields, delimiter, data
    fields = {name if names.index(name) == at else f"{name} ({at + 1})": columns[at] for at, name in enumerate(names)}
    return fields, delimiter, data[: first.start()] + data[first.end() :]


def _refuse_loose_quotes(path: str, data: bytes) -> None:
    """Raise MalformedFile for an unbalanced quotation mark, which would join all following lines to one value."""
    for number, line in enumerate(data.splitlines() if b'"' in data else (), 1):
        if b'"' in line and not _FIELDS.fullmatch(line):
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
        return _split_by_arrow(data, fields, delimiter, TYPES)
    except pa.ArrowInvalid:
        if "tag" in fields:
            return _split_by_arrow(_WORDS_OF_TAG.sub(rb"\1", data), fields, delimiter, TYPES)
        if "relevance" not in fields:
            raise
        table = _split_by_arrow(data, fields, delimiter, TYPES | {"relevance": pa.float64()})
        place = table.column_names.index("relevance")
        return table.set_column(place, "relevance", grades(table["relevance"]))


def _split_by_arrow(data: bytes, fields: dict[str, str], delimiter: str, types: Mapping[str, pa.DataType]) -> pa.Table:
    needed = {field: column for field, column in fields.items() if column}
    kinds = {field: types[column] for field, column in needed.items()}
    hexadecimal = any(mark in data for mark in _HEXADECIMAL)
    texts = [field for field, kind in kinds.items() if kind == pa.int64() and hexadecimal]
    data = _MARK + data if data.startswith(_MARK) else data  # Arrow drops a leading mark, which is data here
    table = read_csv(data, delimiter, kinds | dict.fromkeys(texts, pa.string()), list(fields))
    for field in texts:
        if not pc.all(pc.match_substring_regex(table[field], "^-?[0-9]+$")).as_py():
            raise pa.ArrowInvalid(f"{field} is no integer")
    table = table.rename_columns(list(needed.values()))
    table = table.select([at for c in TYPES for at, column in enumerate(needed.values()) if c == column])
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
        Separator of fields. Only fields between commas may be quoted.
    types : dict
        Arrow types by name of column.
    names : sequence of str, optional
        Names of the columns. Without names, the first line has them, all columns are read, empty cells are null, and
        quoted values may span several lines.
    """
    with_header, quote = names is None, '"' if delimiter == "," else False
    options = pa.csv.ReadOptions(column_names=names)
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
            hint = _if_swapped(cells, fields) if first else ""
            raise MalformedFile(
                f"{path}:{number}: expected {expected(fields)}, found {len(cells)}: {_shown(line)}{hint}"
            )
        for cell, (field, column) in zip(cells, fields.items()):
            if column and not _reads_as(cell, TYPES[column]):
                raise MalformedFile(f"{path}:{number}: {field} {_shown(cell.encode())} is no number: {_shown(line)}")
        first = False
    raise MalformedFile(f"{path}: {error}") from error


def _if_swapped(cells: list[str], fields: dict[str, str]) -> str:
    """Return a hint if runs and judgments are swapped, or if judgments have the format of BEIR."""
    if fields == QRELS.fields and len(cells) >= len(RUN.fields) and _reads_as(cells[4], pa.float64()):
        return f". {IS_A_RUN}"
    if fields == QRELS.fields and len(cells) == 3 and (cells[0].lower(), cells[2].lower()) == ("query-id", "score"):
        return f". {ARE_OF_BEIR}"
    if "tag" in fields and len(cells) == len(QRELS.fields) and _reads_as(cells[3], pa.float64()):
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

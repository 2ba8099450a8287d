"""Parameters of measures by topic: tables, files, and the calibrations of topics."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np

from ..data.document_tables import bind, hash_of_file, read_unchanged
from ..errors import BadParameter, MalformedFile, shown, some
from ..files.memory_limit import unpacked
from ..files.text_tables import unmarked
from ..model.language import float_or_int
from .calibrated import BoundCalibration, Calibrated, bind_calibration

_TOPIC = ("topic", "qid", "query_id")
_NAMED: dict[str, TopicParameters] = {}


@dataclass(frozen=True)
class ParameterTable:
    """Allowed values of ``parameters=``."""

    def __str__(self) -> str:
        return (
            "parameters by topic: {topic: {parameter: value}}, a DataFrame with one row per topic, the calibrations of"
            " topics, or the path of a table in text"
        )


@dataclass(frozen=True)
class TopicParameters:
    """Parameters by topic, under the name that they have in the text of a measure.

    Attributes
    ----------
    name : str
        The path of the file, or a name that contains a hash of the content.
    table : dict
        Values of parameters by topic and name.
    path : str, optional
        The path of the file, which is read again at each use. None for a table in memory.
    """

    name: str
    table: dict[str, dict[str, Any]]
    path: str | None = None
    anonymous: ClassVar[bool] = True
    """The name is a path or contains a hash, so that tables of scores do not show it."""

    @property
    def follows_a_file(self) -> bool:
        """Whether the values are those of a file, which may change."""
        return self.path is not None

    @property
    def current(self) -> TopicParameters:
        """Parameters with the present content of their file, and without a path."""
        return self if self.path is None else replace(_read(self.path), path=None)


def bind_topic_parameters(value: Any) -> TopicParameters:
    """Return the parameters by topic for a value of ``parameters=``.

    Parameters
    ----------
    value : dict, DataFrame, Calibrations, path or TopicParameters
        ``{topic: {parameter: value}}``; a DataFrame with the topics in a column topic, qid or query_id, or in the
        index, and one column per parameter (NaN: not given); what ``calibrate(log, by="topic")`` returns; or the path
        of a table in text, whose first line has the names of the columns, separated by tabs or commas.

    Returns
    -------
    TopicParameters

    Raises
    ------
    BadParameter
        If the value has another form, or a topic is not a string or occurs twice.
    MalformedFile
        If the file cannot be read.
    """
    if isinstance(value, TopicParameters):
        return value
    return bind(
        value,
        _NAMED,
        _named_by_content,
        lambda name: f"parameters={name!r} is not a file. Give {ParameterTable()}.",
        _read,
        "parameters",
    )


def _named_by_content(value: Any) -> TopicParameters:
    table = _table(value)
    known = [(topic, name, getattr(one, "name", one)) for topic, own in table.items() for name, one in own.items()]
    digest = blake2b(repr([sorted(table), sorted(known, key=repr)]).encode(), digest_size=8).hexdigest()
    return TopicParameters(f"topics_{digest}", table)


def _table(value: Any) -> dict[str, dict[str, Any]]:
    if hasattr(value, "to_pandas"):  # polars, Arrow
        value = value.to_pandas()
    if hasattr(value, "columns"):
        rows = _rows_of_frame(value)
    elif isinstance(value, Mapping) and value:
        rows = iter(value.items())
    else:
        raise BadParameter(f"ByTopic(parameters=) takes {ParameterTable()}, not {shown(value)}.")
    found: dict[str, dict[str, Any]] = {}
    for topic, own in rows:
        if not isinstance(topic, str):
            raise BadParameter(f"ByTopic(parameters=): topics must be strings, as ids are: {str(topic)!r}.")
        if topic in found:
            raise BadParameter(f"ByTopic(parameters=): topic {topic!r} occurs twice; keep one row.")
        found[topic] = _parameters(topic, own)
    return found


def _parameters(topic: str, own: Any) -> dict[str, Any]:
    if isinstance(own, Calibrated | BoundCalibration):
        return {"calibration": bind_calibration(own)}
    if not isinstance(own, Mapping):
        raise BadParameter(
            f"ByTopic(parameters=): topic {topic!r} has {shown(own)}; give its parameters by name, such as"
            f" {{{topic!r}: {{'half_life': 60}}}}."
        )
    return {str(name): _value(one) for name, one in own.items() if not _is_nan(one)}


def _value(value: Any) -> Any:
    return float_or_int(value) if isinstance(value, int | float | np.number) and not isinstance(value, bool) else value


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _rows_of_frame(frame: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    topics = [name for name in _TOPIC if name in frame.columns]
    if len(topics) > 1:
        raise BadParameter(f"ByTopic(parameters=): the columns {some(topics)} both have topics; keep one of them.")
    if topics:
        frame = frame.set_index(topics[0])
    names = [str(name) for name in frame.columns]
    for topic, values in zip(frame.index, frame.itertuples(index=False, name=None), strict=True):
        yield topic, dict(zip(names, values, strict=True))


def _read(path: str) -> TopicParameters:
    return _reading(path, hash_of_file(path, "parameters"))


@lru_cache(maxsize=8)
def _reading(path: str, digest: str) -> TopicParameters:
    """Return one object for all measures with this file, until its content changes."""
    return read_unchanged(path, digest, "parameters", lambda path: TopicParameters(path, _of_file(path), path))


def _of_file(path: str) -> dict[str, dict[str, Any]]:
    try:
        lines = unmarked(path, unpacked(path)).decode().splitlines()
    except UnicodeDecodeError as error:
        raise MalformedFile(f"{path}: not UTF-8 ({error.reason} at byte {error.start:,}).") from None
    rows = [
        (at, row)
        for at, row in enumerate(csv.reader(lines, delimiter="\t" if "\t" in "".join(lines[:1]) else ","), 1)
        if row
    ]
    names = [name.strip() for name in rows[0][1]] if rows else []
    if len(names) < 2 or names[0] not in _TOPIC or len(set(names)) < len(names):
        raise MalformedFile(
            f"{path}: the first line must have the names of the columns, separated by tabs or commas: topic, and one"
            f" or more parameters, such as half_life. It has {some(names) or 'none'}."
        )
    found: dict[str, dict[str, Any]] = {}
    for at, row in rows[1:]:
        topic, *cells = map(str.strip, row)
        if len(row) != len(names):
            raise MalformedFile(f"{path}:{at}: expected {len(names)} fields ({', '.join(names)}), found {len(row)}.")
        if not topic or topic in found:
            raise MalformedFile(
                f"{path}:{at}: {f'topic {topic!r} occurs twice' if topic else 'a row without a topic'}."
            )
        found[topic] = {name: _of_cell(cell) for name, cell in zip(names[1:], cells, strict=True) if cell}
    if not found:
        raise MalformedFile(f"{path}: no rows after the line with the names of the columns.")
    return found


def _of_cell(cell: str) -> Any:
    try:
        return float_or_int(float(cell))
    except (ValueError, BadParameter):
        return cell

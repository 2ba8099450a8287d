"""Parameters of measures from files: saved calibrations, and tables of parameters by topic."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.resources import Resource
from ..errors import BadParameter, MalformedFile, encodable, near, shown, some
from ..files.memory_limit import unpacked
from ..files.table_readers import unmarked
from ..model.language import float_or_int

if TYPE_CHECKING:
    import pandas as pd

Fields = dict[str, Any]
"""Values by name: fields of an object in JSON, or parameters of a measure."""

#: The quantities of a calibration: name, symbol and description. The parameters of time-biased gain come first.
NUMBERS = {
    "half_life": ("h", "seconds after which half of the users have left"),
    "summary_seconds": ("T_S", "seconds for a summary"),
    "seconds_per_word": ("a", "seconds for a word of a document: T_D(l) = a·l + b"),
    "seconds_per_document": ("b", "seconds for a document of no words"),
    "p_click_relevant": ("P(C=1|R=1)", "probability of a click on a relevant document's summary"),
    "p_click_nonrelevant": ("P(C=1|R=0)", "probability of a click on the summary of another document"),
    "p_save": ("P(S=1|R=1)", "probability that a relevant document is saved after a view"),
    "p_save_nonrelevant": ("P(S=1|R=0)", "probability that another document is saved after a view; not in the metric"),
    "duplicate_seconds": ("T_D, duplicates", "seconds for a duplicate of a document seen before"),
    "seconds_per_view": ("T_D, all", "seconds for a document, whatever its length"),
    "share_on_summaries": ("", "share of the time spent on summaries; the rest is spent on documents"),
    "length_correlation": ("r(T_D, l)", "correlation of the seconds on a document with its length"),
    "grade_correlation": ("r(T_D, g)", "correlation of the seconds on a document with its grade"),
    "share_forward_clicks": ("", "share of clicks on a deeper rank than the previous click; mean of users"),
    "p_click": ("P(C=1|g)", "probability of a click, by grade"),
    "seconds": ("T_D(g)", "seconds for a document, by grade"),
    "p_save_by_grade": ("P(S=1|g)", "probability of a save after a view, by grade"),
}
PROBABILITIES = {name for name in NUMBERS if name.startswith(("p_", "share_"))}
CORRELATIONS = {name for name in NUMBERS if name.endswith("_correlation")}
OF_TBG = tuple(NUMBERS)[:7]
_HELD = 30  # memory to parse JSON, in multiples of the size of the text
FORMAT, VERSION = "calibration of time-biased gain (pyterrier_cwla)", 1
_NUMBER = "a number"
_ABOUT = {"package": str, "users": int, "sessions": int, "rows": int, "min_clicks": int, "max_seconds": _NUMBER,
          "rel": _NUMBER, "depth": str, "until": str, "beyond": str, "last_rank": int | None,
          "confidence": _NUMBER, "resamples": int, "seed": int}  # fmt: skip
TABLE = {"name": str, "grade": _NUMBER, "way": str, "used": bool, "value": _NUMBER, "low": _NUMBER, "high": _NUMBER,
          "error": _NUMBER, "n": int}  # fmt: skip
COLUMNS = tuple(TABLE)
_READING = {"views": int, "slope": _NUMBER, "intercept": _NUMBER, "slope_error": _NUMBER, "intercept_error": _NUMBER,
            "adjusted_r_squared": _NUMBER, "duplicate_views": int, "duplicate_mean": _NUMBER,
            "duplicate_error": _NUMBER, "duplicate_adjusted_r_squared": _NUMBER}  # fmt: skip
_FIT = {"shape": str, "parameters": list, "half_life": _NUMBER, "log_likelihood": _NUMBER, "aic": _NUMBER,
        "distance": _NUMBER, "r_squared": _NUMBER}  # fmt: skip
#: Shapes of the distribution of leaving times, with their numbers of parameters.
CURVES = {"exponential": 1, "Weibull": 2, "log-logistic": 2, "log-normal": 2, "hyperbolic": 2}
_POINTS = {"words": _NUMBER, "seconds": _NUMBER, "views": int, "duplicate": bool}
CURVE = {"seconds": _NUMBER, "share": _NUMBER, "at_risk": int}
_TOP: Fields = {"format": str, "version": int, "about": dict, "excluded": dict, "missing": dict, "notes": list,
        "reading": dict | None, "shapes": list, "table": list, "points": list, "curve": list}  # fmt: skip


def read_calibration(path: Any) -> Fields:
    """Read the fields of a calibration from a file that ``Calibration.save`` wrote.

    Parameters
    ----------
    path : str or path
        A JSON file, compressed or not.

    Returns
    -------
    dict of str to object
        The fields as :func:`checked` returns them.

    Raises
    ------
    MalformedFile
        If the file is not a calibration; the error names the file and the place.
    """
    try:
        content = json.loads(unpacked(os.fsdecode(path), held=_HELD).decode(), object_pairs_hook=_once_each)
    except (OSError, ValueError, RecursionError) as error:
        reason = (error.strerror or error) if isinstance(error, OSError) else f"not valid JSON ({error})"
        raise MalformedFile(f"{path}: {reason}. Calibration.save(path) writes calibrations.") from None
    return checked(content, str(path))


def parameters_of(table: pd.DataFrame, about: Mapping[str, Any]) -> Fields:
    """Return the parameters of ``TBG`` from the table of a calibration; ``rel`` only if it is not 1."""
    rows = table[table["used"] & table["name"].isin(OF_TBG)]
    found = dict(zip(rows["name"], rows["value"].astype(float), strict=True))
    return {name: found[name] for name in OF_TBG if name in found} | (
        {} if about["rel"] == 1 else {"rel": about["rel"]}
    )


def graded_parameters_of(table: pd.DataFrame, about: Mapping[str, Any]) -> Fields:
    """Return the parameters of ``GradedTBG`` from the table of a calibration, with the grades of the log, from 0."""
    known = parameters_of(table, about)
    found: Fields = {name: known[name] for name in ("half_life", "summary_seconds") if name in known}
    for name, source in (("p_click", "p_click"), ("seconds", "seconds"), ("p_save", "p_save_by_grade")):
        rows = table[table["used"] & (table["name"] == source)]
        if len(rows):
            found[name] = {float_or_int(g): float(v) for g, v in zip(rows["grade"], rows["value"], strict=True)}
    return found


def table_of(rows: list[Fields]) -> pd.DataFrame:
    """Return the table of a calibration from its rows."""
    import pandas as pd

    dtypes: dict[object, Any] = {_NUMBER: float, int: np.int64}
    columns = {name: np.array([row[name] for row in rows], dtypes.get(kind, kind)) for name, kind in TABLE.items()}
    return pd.DataFrame(columns)


def plain(calibration: Any) -> Fields:
    """Return a calibration as a dict for JSON, with None for NaN."""
    fields = {
        "format": FORMAT,
        "version": VERSION,
        **{name: getattr(calibration, name) for name in ("about", "excluded", "missing", "notes")},
        "reading": None if calibration.reading is None else asdict(calibration.reading),
        "shapes": [asdict(shape) for shape in calibration.shapes],
        **{name: getattr(calibration, name).to_dict("records") for name in ("table", "points", "curve")},
    }
    return {name: _without_nan(value) for name, value in fields.items()}


def _once_each(pairs: list[tuple[str, Any]]) -> Fields:
    """Return a JSON object as a dict; raise ValueError for a repeated key, of which json would keep the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in found if names.count(name) > 1)!r} occurs twice")
    return found


def checked(content: Any, where: str) -> Fields:
    """Return the fields of a calibration from the content of its file.

    Parameters
    ----------
    content : object
        The parsed JSON, in the form that :func:`plain` returns.
    where : str
        The name of the file, for errors.

    Returns
    -------
    dict of str to object
        The arguments of a calibration; the regression of reading times and the shapes are dicts.

    Raises
    ------
    MalformedFile
        If the content is not a calibration. The message begins with ``where``.
    """
    import pandas as pd

    read = _Reader(where)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise read.wrong("this is not a calibration that Calibration.save wrote.")
    if content.get("version") != VERSION:
        raise read.wrong(f"a calibration of version {content.get('version')!r}; this package reads version {VERSION}.")
    content = read.record(content, "", _TOP)
    about, reading = read.record(content["about"], "about", _ABOUT), content["reading"]
    if not about["rel"] > 0:
        raise read.wrong(f"about.rel must be a grade above 0, not {shown(about['rel'])}.")
    return {
        "table": table_of(read.table(content["table"])),
        "about": about,
        "excluded": {
            key: read.mapping(content["excluded"].get(key), f"excluded.{key}", int)
            for key in ("from the log", "from the half-life")
        },
        "missing": read.mapping(content["missing"], "missing", str),
        "notes": tuple(read.value(note, "notes", str) for note in content["notes"]),
        "reading": None if reading is None else read.record(reading, "reading", _READING),
        "shapes": tuple(read.fit(one) for one in read.records(content["shapes"], "shapes", _FIT)),
        "points": pd.DataFrame(read.records(content["points"], "points", _POINTS), columns=list(_POINTS)),
        "curve": pd.DataFrame(read.records(content["curve"], "curve", CURVE), columns=list(CURVE)),
    }


class _Reader:
    """Validates the content of a file; errors name the place."""

    def __init__(self, where: str) -> None:
        self.where = where

    def wrong(self, what: str) -> MalformedFile:
        """Return an error that names the file."""
        return MalformedFile(f"{self.where}: {what}")

    def table(self, records: Any) -> list[Fields]:
        """Return the rows of the table, with names, ranges and intervals checked; one per name and grade is used."""
        rows, used = self.records(records, "table", TABLE), set()
        for at, row in enumerate(rows):
            name, value, place = row["name"], row["value"], f"table[{at}]"
            if name not in NUMBERS:
                raise self.wrong(f"{place}: a calibration has no quantity {name!r}. {near(name, NUMBERS)}")
            least = -1 if name in CORRELATIONS else 0
            most = 1 if name in PROBABILITIES | CORRELATIONS else sys.float_info.max
            if not least <= value <= most or (name == "half_life" and value == 0):
                raise self.wrong(f"{place}: {name} is {value!r}, out of its range.")
            if row["low"] > row["high"]:
                raise self.wrong(f"{place}: the lower end of the interval of {name} is above the upper end.")
            key = (name, None if np.isnan(row["grade"]) else row["grade"])
            if row["used"] and key in used:
                raise self.wrong(f"{place}: {name} is used twice.")
            used |= {key} if row["used"] else set()
        return rows

    def record(self, record: Any, place: str, kinds: Mapping[str, Any]) -> Fields:
        """Return an object with exactly the fields of ``kinds``, checked; the place of the whole file is empty."""
        prefix = f"{place}." if place else ""
        if not isinstance(record, dict):
            raise self.wrong(f"{place} must be an object.")
        for key in kinds:
            if key not in record:
                raise self.wrong(f"{prefix}{key} is missing.")
        for key in record:
            if key not in kinds:
                name = key if encodable(str(key)) else shown(key)
                raise self.wrong(f"{prefix}{name} is not a field of a calibration. {near(str(key), kinds)}")
        return {key: self.value(record[key], f"{prefix}{key}", kind) for key, kind in kinds.items()}

    def records(self, records: Any, place: str, kinds: Mapping[str, Any]) -> list[Fields]:
        """Return a list of objects, checked."""
        return [self.record(record, f"{place}[{at}]", kinds) for at, record in enumerate(records)]

    def value(self, value: Any, place: str, kind: Any) -> Any:
        """Return a value of a field, checked."""
        if kind == _NUMBER:
            if value is None:
                return math.nan
            if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
                raise self.wrong(f"{place} must be a number, not {shown(value)}.")
            if float(value) != value:
                raise self.wrong(
                    f"{place} is {shown(value)}, an integer that a 64-bit float cannot represent: write a float."
                )
            return value if abs(value) < 2**53 else float(value)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.wrong(f"{place} must be of type {getattr(kind, '__name__', kind)}, not {shown(value)}.")
        if isinstance(value, int) and not 0 <= value < 2**63:
            raise self.wrong(f"{place} is {shown(value)}, out of its range.")
        if isinstance(value, str):
            self._text(value, place)
        return value

    def _text(self, text: str, place: str) -> str:
        """Return a text without lone surrogates, which escapes of JSON can contain."""
        if not encodable(text):
            raise self.wrong(f"{place} contains a lone surrogate, which is not a character: {shown(text)}.")
        return text

    def fit(self, record: Fields) -> Fields:
        """Return a fitted shape, with the number of its parameters checked."""
        shape = record["shape"]
        parameters = tuple(self.value(one, "shapes.parameters", _NUMBER) for one in record["parameters"])
        if CURVES.get(shape) != len(parameters):
            raise self.wrong(f"shapes: there is no shape {shape!r} with {len(parameters)} parameters.")
        return {**record, "parameters": parameters}

    def mapping(self, values: Any, place: str, kind: type) -> Fields:
        """Return an object with values of one kind, checked."""
        kinds = dict.fromkeys(values, kind) if isinstance(values, dict) else {}
        return {self._text(key, place): value for key, value in self.record(values, place, kinds).items()}


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


class BoundCalibration(Resource):
    """A calibration under the name that it has in the text of a measure.

    The content is the parameters of ``TBG`` and those of ``GradedTBG``.
    """

    _parameter, _read_at_once = "calibration", True

    def __repr__(self) -> str:
        return f"<calibration {self.name!r}>"

    @classmethod
    def _from_content(cls, content: Any) -> BoundCalibration:
        """Return the calibration of an object that ``calibrate`` returned, named after the hash of its content."""
        if not _is_calibration(content):
            raise BadParameter(
                f"calibration= takes a file that calibrate(…).save wrote, or an object that calibrate returned, not"
                f" {type(content).__name__}."
            )
        plain, graded = content.parameters(), content.graded_parameters()
        text = json.dumps([plain, graded], sort_keys=True)
        name = f"calibration_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        return cls(name, ({"rel": 1, **plain}, graded))

    @classmethod
    def _read(cls, path: str) -> tuple[Fields, Fields]:
        found = read_calibration(path)
        plain = parameters_of(found["table"], found["about"])
        return {"rel": 1, **plain}, graded_parameters_of(found["table"], found["about"])

    @classmethod
    def _unknown(cls, name: str, registered: list[str]) -> str:
        near_name = f" {near(name, cls._named)}" if cls._named else ""
        return f"calibration={name!r} is not a file; calibrate(log).save(path) writes one.{near_name}"

    def values(self, measure: str, names: Collection[str], given: Collection[str]) -> Fields:
        """Return the values for parameters of a measure.

        Parameters
        ----------
        measure : str
            The name of the measure, for errors.
        names : collection of str
            The parameters that the calibration estimates.
        given : collection of str
            The parameters that the user gives, which are left out.

        Returns
        -------
        dict of str to object

        Raises
        ------
        BadParameter
            If the calibration has no value for a parameter that the user does not give.
        """
        plain, graded = self.loaded
        known = graded if "p_click" in names else plain
        lacking = [name for name in names if name not in known and name not in given]
        if lacking:
            more = ", ".join(f"{name}=…" for name in lacking)
            raise BadParameter(
                f"{measure}(calibration={self.name!r}): its log had no data for {', '.join(lacking)}. Give the value:"
                f" {measure}(calibration={self.name!r}, {more})."
            )
        return {name: known[name] for name in names if name in known and name not in given}


def _is_calibration(value: object) -> bool:
    return hasattr(value, "parameters") and hasattr(value, "graded_parameters")


_TOPIC = ("topic", "qid", "query_id")

PARAMETERS_BY_TOPIC = (
    "parameters by topic: {topic: {parameter: value}}, a DataFrame with one row per topic, the calibrations of topics,"
    " or the path of a table in text"
)
"""Allowed values of ``parameters=``."""


class TopicParameters(Resource):
    """Parameters by topic, under the name that they have in the text of a measure.

    Content is ``{topic: {parameter: value}}``; a DataFrame with the topics in a column topic, qid or query_id, or in
    the index, and one column per parameter (NaN: not given); or what ``calibrate(log, by="topic")`` returns. Files are
    tables in text, whose first line has the names of the columns, separated by tabs or commas.
    """

    _parameter, _read_at_once = "parameters", True

    def __repr__(self) -> str:
        return f"<parameters by topic {self.name!r}>"

    @classmethod
    def _from_content(cls, content: Any) -> TopicParameters:
        """Return parameters that are named after the hash of their content."""
        table = _table(content)
        known = [(topic, name, getattr(one, "name", one)) for topic, own in table.items() for name, one in own.items()]
        digest = blake2b(repr([sorted(table), sorted(known, key=repr)]).encode(), digest_size=8).hexdigest()
        return cls(f"topics_{digest}", table)

    @classmethod
    def _read(cls, path: str) -> dict[str, Fields]:
        return _of_file(path)

    @classmethod
    def _unknown(cls, name: str, registered: list[str]) -> str:
        return f"parameters={name!r} is not a file. Give {PARAMETERS_BY_TOPIC}."


def _table(value: Any) -> dict[str, Fields]:
    if hasattr(value, "to_pandas"):  # polars, Arrow
        value = value.to_pandas()
    if hasattr(value, "columns"):
        rows = _rows_of_frame(value)
    elif isinstance(value, Mapping) and value:
        rows = iter(value.items())
    else:
        raise BadParameter(f"ByTopic(parameters=) takes {PARAMETERS_BY_TOPIC}, not {shown(value)}.")
    found: dict[str, Fields] = {}
    for topic, own in rows:
        if not isinstance(topic, str):
            raise BadParameter(f"ByTopic(parameters=): topics must be strings, as ids are: {str(topic)!r}.")
        if topic in found:
            raise BadParameter(f"ByTopic(parameters=): topic {topic!r} occurs twice; keep one row.")
        found[topic] = _parameters(topic, own)
    if not found:
        raise BadParameter(f"ByTopic(parameters=) takes {PARAMETERS_BY_TOPIC}, and this table has no topics.")
    return found


def _parameters(topic: str, own: Any) -> Fields:
    if isinstance(own, BoundCalibration) or _is_calibration(own):
        return {"calibration": BoundCalibration.bind(own)}
    if not isinstance(own, Mapping):
        raise BadParameter(
            f"ByTopic(parameters=): topic {topic!r} has {shown(own)}; give its parameters by name, such as"
            f" {{{topic!r}: {{'half_life': 60}}}}."
        )
    found = {}
    for name, value in own.items():
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not number or value == value:  # not NaN
            found[str(name)] = float_or_int(value) if number else value
    return found


def _rows_of_frame(frame: Any) -> Iterator[tuple[Any, Fields]]:
    topics = [name for name in _TOPIC if name in frame.columns]
    if len(topics) > 1:
        raise BadParameter(f"ByTopic(parameters=): the columns {some(topics)} both have topics; keep one of them.")
    if topics:
        frame = frame.set_index(topics[0])
    for topic, values in zip(frame.index, frame.itertuples(index=False, name=None), strict=True):
        yield topic, dict(zip(map(str, frame.columns), values, strict=True))


def _of_file(path: str) -> dict[str, Fields]:
    try:
        lines = unmarked(path, unpacked(path)).decode().splitlines()
    except UnicodeDecodeError as error:
        raise MalformedFile(f"{path}: not UTF-8 ({error.reason} at byte {error.start:,}).") from None
    separator = "\t" if lines and "\t" in lines[0] else ","
    rows = [(at, row) for at, row in enumerate(csv.reader(lines, delimiter=separator), 1) if row]
    names = [name.strip() for name in rows[0][1]] if rows else []
    if len(names) < 2 or names[0] not in _TOPIC or len(set(names)) < len(names):
        raise MalformedFile(
            f"{path}: the first line must have the names of the columns, separated by tabs or commas: topic, and one"
            f" or more parameters, such as half_life. It has {some(names) or 'none'}."
        )
    found: dict[str, Fields] = {}
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

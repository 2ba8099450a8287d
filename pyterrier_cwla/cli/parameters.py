"""Options of commands: their texts, groups that commands share, and parameters of the functions that commands call."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from .paths import resolved

RECORDS = Path(__file__).with_name("parameters.json")
"""Types, defaults and descriptions of parameters, which ``docs/command_options.py`` reads from the functions. The
help of a command imports none of these."""
_TEXTS = RECORDS.with_name("options.json")
"""Texts of other options and arguments, whose types and defaults stand in the signatures of commands: by the function
of a command, the class of a group of options, or "shared". ``names`` are those on the command line, if not ``--name``;
``stdin`` stands for files that may be standard input, ``-``; other entries are those of typer.Option. Entries of a
function in RECORDS come before those there; ``flag`` is the value that an option stands for if it is given."""
_NAMES = {"n_jobs": ["--jobs"]}
_TYPES: dict[str, Any] = {"bool": bool, "float": float, "int": int, "str": str}
_VALUES = {"float": "NUMBER", "int": "N", "str": "NAME"}
"""Names of values in the help, by type."""


@functools.cache
def _records(path: Path) -> dict[str, dict[str, dict[str, Any]]]:
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(path.read_text(encoding="utf-8"))
    return found


class Parameters:
    """Parameters of a function as options of a command, which receives a dict of their values.

    Parameters
    ----------
    function : str
        Module and name of the function, such as ``"evaluation.run_overlap.rbo"``.
    names : str
        Names of the parameters, with blanks between them.
    """

    def __init__(self, function: str, names: str) -> None:
        known, texts = _records(RECORDS)[function], _records(_TEXTS).get(function, {})
        self._records = {name: {**known.get(name, {}), **texts.get(name, {})} for name in names.split()}
        self.__signature__ = inspect.Signature([_option(name, **record) for name, record in self._records.items()])

    def __call__(self, **given: Any) -> Any:
        """Return the arguments of the function for the values of the options."""
        found: dict[str, Any] = {}
        for name, value in given.items():
            record = self._records[name]
            if "flag" not in record:
                found[name] = None if record.get("or_none") and value == "none" else value
            elif value:
                found[name] = record["flag"]
        return {name: str(value) if isinstance(value, StrEnum) else value for name, value in found.items()}


class Parameter(Parameters):
    """Parameter of a function as an option of a command, which receives its value."""

    def __call__(self, **given: Any) -> Any:
        """Return the value of the option."""
        return next(iter(super().__call__(**given).values()))


def _option(
    name: str,
    type: str,
    default: Any = None,
    choices: Sequence[str] = (),
    names: Sequence[str] = (),
    or_none: bool = False,
    **more: Any,
) -> inspect.Parameter:
    kind: Any = StrEnum(name, choices) if choices else _TYPES[type]
    if "flag" in more:
        kind, default = bool, False
        del more["flag"]
    elif not choices and type in _VALUES:
        more.setdefault("metavar", _VALUES[type])
    option = typer.Option(*(names or _NAMES.get(name, [f"--{name.replace('_', '-')}"])), **more)
    hint = Annotated[kind | None if default is None else kind, option]  # type: ignore[valid-type]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _with_text(one: inspect.Parameter, owner: str) -> inspect.Parameter:
    """Return a parameter of a command as an option or argument, with its names and help in ``options.json``."""
    texts = _records(_TEXTS)
    known = {**texts["shared"], **texts.get(owner, {})}
    if one.name not in known:
        return one.replace(kind=one.KEYWORD_ONLY)
    record = {"show_default": one.default is not one.empty, **known[one.name]}
    record["callback"] = resolved if record.pop("stdin", False) else None
    if record.pop("argument", False):
        option = typer.Argument(**record)
    else:
        option = typer.Option(*record.pop("names", [f"--{one.name.replace('_', '-')}"]), **record)
    return one.replace(kind=one.KEYWORD_ONLY, annotation=Annotated[one.annotation, option])


def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command whose parameters have the names and texts of ``options.json``, and options in place of groups.

    A group is a parameter whose type is a dataclass, or that is annotated with :class:`Parameters`.
    """
    groups: dict[str, Callable[..., Any]] = {}
    options: list[inspect.Parameter] = []
    for one in inspect.signature(command, eval_str=True).parameters.values():
        kind: Any = one.annotation
        group: Any = next((part for part in get_args(kind)[1:] if isinstance(part, Parameters)), None)
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            group = with_options(kind)
        if group is None:
            options.append(_with_text(one, command.__name__))
        else:
            groups[one.name] = group
            options += inspect.signature(group).parameters.values()

    @functools.wraps(command, updated=())
    def call(**given: Any) -> Any:
        for name, group in groups.items():
            given[name] = group(**{option: given.pop(option) for option in inspect.signature(group).parameters})
        return command(**given)

    call.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    call.__annotations__ = {option.name: option.annotation for option in options}
    return call

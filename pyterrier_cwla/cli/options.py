"""Errors and notes with the options of the command line in place of Python parameters."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import near

#: Parameters of measures that are also options of some commands; `with_tables` replaces those of tables.
_OF_MEASURES = {"measure", "measures", "lengths", "costs", "missing", "output"}

#: Options under names that earlier versions or the functions in Python have.
_EARLIER = {"keep": "--cache-dir", "kept": "--cache-dir", "n_jobs": "--jobs", "query_id": "--query", "qid": "--query",
            "k": "--depth", "metric": "--measure", "metrics": "--measure", "measures": "--measure",
            "out": "--output", "per_query": "--by-query"}  # fmt: skip

#: Options of trec_eval and what to write here, as in docs/coming_from.rst.
_OF_TREC_EVAL = {
    "-q": "Scores of topics: `pyterrier-cwla evaluate … --by-query`.",
    "-n": "Scores of topics alone: `pyterrier-cwla evaluate … --by-query --format csv`.",
    "-c": "Leave it out: means are always over all judged topics.",
    "-l": "Write the lowest relevant grade into the measure: -m 'AP(rel=2)'.",
    "-J": "Write it into the measure: -m 'AP(judged_only=True)'.",
    "-M": "Write the number of documents into the measure: -m AP@100.",
}

_OUTSIDE, _BEFORE_VALUE = r"(?<![\w(,$'\"=-])", r"(?=[\w'\"-])"
"""Patterns for the place before a parameter that is no part of a measure, and for that before its value."""

_OF_TABLES = {"lengths": "--lengths FILE", "costs": "--costs FILE", "missing": "--missing mean"}
"""Options of tables of documents, by parameters of measures."""
_IN_PYTHON = r" \(in PyTerrier, .*? adds it\)|, or set a table for all measures with register_lengths\(words\)"
"""Pattern for ways to give lengths or costs that the command line does not have."""

STDIN = "stdin"
"""Name of standard input in messages and, like the stem of a file, of a run that is read from it."""
STDIN_FOLDER = "pyterrier-cwla-stdin-"
"""Start of the name of a temporary folder with a copy of standard input, or of a stream such as ``<(zcat run.gz)``."""


def displayed(text: str) -> str:
    """Return a text with the names of standard input and of streams in place of the paths of their copies."""
    if STDIN_FOLDER not in text:
        return text
    import tempfile

    start = re.escape(os.path.join(tempfile.gettempdir(), STDIN_FOLDER))
    return re.sub(rf"{start}\w+[\\/]", "", text)


def options_of(command: Any, arguments: Sequence[str] = ()) -> dict[str, str]:
    """Return the options of a command (or of the subcommand in the arguments) by their names in Python.

    The names of options without a value end in ``=``: in Python they have a value, as in ``complete=None``.
    """
    return {
        option.name + "=" * getattr(option, "is_flag", False): max(option.opts, key=len)
        for option in _called(command, arguments).params
        if option.name not in _OF_MEASURES and option.opts[0].startswith("-")
    }


def _called(command: Any, arguments: Sequence[str]) -> Any:
    """Return the subcommand in the arguments, or the command itself."""
    for word in arguments:
        command = getattr(command, "commands", {}).get(word, command)
    return command


def unknown_option(error: Any, group: Any) -> str:
    """Return a message with near options for an error about an unknown option; empty for other errors."""
    name = getattr(error, "option_name", None)
    if name is None or error.ctx is None:
        return ""
    known = [option for parameter in error.ctx.command.params for option in parameter.opts if option.startswith("--")]
    python = name.lstrip("-").replace("-", "_")
    options = options_of(error.ctx.command)
    meant = options.get(python) or options.get(f"{python}=") or _EARLIER.get(python)
    hint = f"Near: {meant!r}." if meant in known else near(name, known)
    others = [command for command, options in _by_command(group) if (meant or name) in options]
    if name in _OF_TREC_EVAL and "--measure" in known:
        hint = _OF_TREC_EVAL[name]
    elif python in ("lengths", "costs") and "--template" in known:
        hint = f"Write {python}='FILE' among the parameters of the measure in the template."
    elif others and meant not in known:
        hint = f"{meant or name} is an option of {', '.join(others)}."
    elif not hint.startswith("Near"):
        hint = f"`{error.ctx.command_path} -h` lists all."
    return f"No such option: {name}. {hint}"


def wrong_value(error: Any) -> str:
    """Return the message of a usage error, with the option and its value if the value has a wrong type or size."""
    details: Any = getattr(error.__cause__, "errors", list)()
    if not details or details[0]["type"] == "value_error":
        return error.format_message().replace("Value error, ", "")
    wrong = details[0]["msg"].partition(",")[0].replace("Input should", "must")
    return f"{max(error.param.opts, key=len)} {details[0]['input']} {wrong}"


def _by_command(group: Any, before: str = "") -> Iterator[tuple[str, set[str]]]:
    """Yield the names of all commands with their options."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _by_command(command, f"{name} ")
        yield f"{before}{name}", {option for parameter in command.params for option in parameter.opts}


def in_options(text: str, options: Mapping[str, str]) -> str:
    """Replace parameters in an error or hint, such as ``give seed=1``, by options, but not within a measure.

    >>> in_options("for AP(rel=1), give rel=2, or complete=None.", {"rel": "--rel", "complete=": "--all-runs"})
    'for AP(rel=1), give --rel 2, or --all-runs.'
    """
    for name, option in options.items():
        if name.endswith("="):  # an option without a value
            text = re.sub(rf"{_OUTSIDE}{name}[\w']*", option, text)
        text = re.sub(rf"{_OUTSIDE}{name}='([^']*)'", rf"{option} \1", text)
        text = re.sub(rf"{_OUTSIDE}{name}={_BEFORE_VALUE}", f"{option} ", text)
        text = re.sub(rf"{_OUTSIDE}{name}=", option, text)
    return text


def with_tables(text: str, command: Any, arguments: Sequence[str]) -> str:
    """Replace parameters of measures in an error about lengths or costs by the options that the command has."""
    known = {name for option in _called(command, arguments).params for name in option.opts}
    for parameter, option in _OF_TABLES.items():
        if option.split()[0] in known:
            place = rf"(?:(?<=[Gg]ive )\w+\(|{_OUTSIDE})"
            text = re.sub(rf"{place}{parameter}=(?:'mean'|…)?\)?(?:, a table, a path or a name)?", option, text)
    return re.sub(_IN_PYTHON, "", text)

"""Errors and notes with the options of the command line in place of Python parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

#: Parameters of measures that are also options of some commands. Errors about them name the option already.
_OF_MEASURES = {"measure", "measures", "lengths", "missing", "output"}

#: Replacements of texts other than the name of an option.
_REPLACEMENTS = {
    "complete=None": "--all-runs",
    "broken='exclude'": "--exclude-broken",
    "None switches corrections off": "'none' switches corrections off",
    "plot_survival()": "--pictures",
    "give unseen= to count": "write its cost into the measure, as in -m 'TBG(unseen=12)', to count",
    "expected_saves computes": "In Python, pyterrier_cwla.behaviour.expected_saves() computes",
}


def options_of(command: Any, arguments: Sequence[str] = ()) -> dict[str, str]:
    """Return the options of a command (or of the subcommand in the arguments) by their Python names."""
    for word in arguments:
        command = getattr(command, "commands", {}).get(word, command)
    return {
        option.name: max((name for name in option.opts if name.startswith("--")), key=len)
        for option in command.params
        if option.name not in _OF_MEASURES and any(name.startswith("--") for name in option.opts)
    }


def in_options(text: str, options: Mapping[str, str]) -> str:
    """Replace ``seed=-1`` by ``--seed -1`` in a text, but not within a measure.

    >>> in_options("alpha=2.0 must be between 0 and 1; give complete=None to keep all.", {"alpha": "--alpha"})
    '--alpha 2.0 must be between 0 and 1; give --all-runs to keep all.'
    """
    for python, option in _REPLACEMENTS.items():
        text = text.replace(python, option)
    if not options:
        return text
    names = "|".join(map(re.escape, options))
    return re.sub(rf"(?<![\w(,$'\"=-])({names})=(?=([\w'\"-])?)", lambda found: _option(found, options), text)


def _option(found: re.Match[str], options: Mapping[str, str]) -> str:
    return options[found[1]] + (" " if found[2] else "")

"""Write ``pyterrier_cwla/cli/parameters.json``: parameters of the functions that commands of the command line call.

``python docs/command_options.py`` reads the signature and the section Parameters of each function that the modules of
commands name. Run it again when one of these changes.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from pathlib import Path
from typing import Any

from pyterrier_cwla.evaluation.significance import TESTS

_WIDE = 56  # characters, longest list of choices that stands beside an option
COMMANDS = Path(__file__).parents[1] / "pyterrier_cwla" / "cli"
FILE = COMMANDS / "parameters.json"
#: Choices that are entries of a table, not of the docstring.
TABLES = {("evaluation.run_comparison.compare", "test"): TESTS}


def written() -> str:
    """Return the content of the file."""
    wanted: dict[str, set[str]] = {}
    for path in COMMANDS.glob("*.py"):
        source = path.read_text(encoding="utf-8")
        for function, names in re.findall(r'Parameters?\(\s*"([\w.]+)",\s*"([\w ]+)"', source):
            wanted.setdefault(function, set()).update(names.split())
    found = {function: _parameters(function, wanted[function]) for function in sorted(wanted)}
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _parameters(function: str, wanted: set[str]) -> dict[str, dict[str, Any]]:
    """Return the parameters with these names of a function that an option can give: numbers, texts and choices."""
    module, _, name = f"pyterrier_cwla.{function}".rpartition(".")
    called = _found(module, name)
    section = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n\w+\n---|\Z)", inspect.getdoc(called) or "", re.M | re.S)
    defaults = {name: one.default for name, one in inspect.signature(called).parameters.items()}
    found = {}
    entry = re.compile(r"^(\w[\w, ]*) : (.*)\n((?:    .*\n?|\n)+)", re.M)
    for names, kind, text in entry.findall(section[1] if section else ""):
        for name in filter(wanted.__contains__, names.split(", ")):
            kinds = TABLES.get((function, name))
            listed = f"{{{', '.join(map(json.dumps, kinds))}}}" if kinds else kind
            if record := _record(listed, _in_options(" ".join(text.split()), wanted), defaults[name]):
                found[name] = record
    return found


def _found(module: str, name: str) -> Any:
    """Return a function, or the method of a class in a module."""
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError:
        module, _, owner = module.rpartition(".")
        return getattr(getattr(importlib.import_module(module), owner), name)


def _record(kind: str, text: str, default: Any) -> dict[str, Any]:
    choices = re.findall(r'"([\w -]+)"', kind.partition("}")[0]) if kind.startswith("{") else []
    name = "str" if choices else re.split(r"\W", kind, maxsplit=1)[0]
    if name not in ("bool", "float", "int", "str"):
        return {}
    found: dict[str, Any] = {"type": name, "help": _sentence(text)}
    if default is not inspect.Parameter.empty:
        found["default"] = default
    if least := re.search(r"\bfrom (\d+)", kind):
        found["min"] = int(least[1])
    if "or None" in kind:
        found["or_none"] = True
        found["help"] = found["help"].replace("None", "none")
        choices += ["none"] * bool(choices)
    if choices:
        found["choices"] = choices
    if len("|".join(choices)) > _WIDE:
        found |= {"metavar": "NAME", "help": f"{found['help'].rstrip('.')}: {', '.join(choices)}."}
    return found


def _in_options(text: str, wanted: set[str]) -> str:
    """Return a description with the options in place of the parameters in single backticks."""
    return re.sub(
        r"(?<![`:])`(\w+)`(?!`)",
        lambda found: f"--{found[1].replace('_', '-')}" if found[1] in wanted else found[0],
        text,
    )


def _sentence(text: str) -> str:
    """Return the first sentence of a description, without markup and quotes."""
    text = re.split(r"(?<=\.)\s+(?=[A-Z\"`:])", text, maxsplit=1)[0].removeprefix("Whether to ")
    text = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"\1", text)
    text = re.sub(r'"([^\s"]+)"', r"\1", text.replace("`", ""))
    return text[:1].upper() + text[1:]


if __name__ == "__main__":
    FILE.write_text(written(), encoding="utf-8")

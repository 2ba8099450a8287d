"""Report of the results: a table, and all survivors with explanations."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

KNOWN = Path(__file__).with_name("survivors.toml")
_KINDS = ("killed", "timeout", "survived")
MARK = ".. What follows is written by ``python -m mutation --report``.\n"


def written(lines: list[dict[str, Any]]) -> str:
    """Return the report as reStructuredText, from the stored results of the mutants."""
    survivors = [(line, reason(line)) for line in lines if line["outcome"] == "survived"]
    return "\n".join([*_table(lines, survivors), *_listed(survivors)]) + "\n"


def reason(line: dict[str, Any]) -> dict[str, Any]:
    """Return the explanation of a survivor: whether it is equivalent to the original, and why it survives."""
    for known in _explained():
        if known["module"] == line["module"] and any(
            case[0] in ("*", line["scope"]) and case[1] in line["was"] and (len(case) < 3 or case[2] in line["now"])
            for case in known["cases"]
        ):
            return known
    return {"same": False, "why": "Not found within the time limit of the tests."}


@cache
def _explained() -> list[dict[str, Any]]:
    return tomllib.loads(KNOWN.read_text())["survivors"]


def _table(lines: list[dict[str, Any]], survivors: list) -> Iterator[str]:
    count = Counter((line["module"], line["outcome"]) for line in lines)
    same = Counter(line["module"] for line, reason in survivors if reason["same"])
    yield from (".. list-table::", "   :header-rows: 1", "")
    rows = [["module", "mutants", "killed", "timed out", "survived", "score", "equivalent", "score without these"]]
    modules = list(dict.fromkeys(line["module"] for line in lines))
    for which in [*([name] for name in modules), modules]:
        killed, late, survived = (sum(count[name, kind] for name in which) for kind in _KINDS)
        harmless, found = sum(same[name] for name in which), killed + late
        all_of_them = found + survived
        rows.append(
            [which[0] if len(which) == 1 else "all", f"{all_of_them:,}", f"{killed:,}", str(late), str(survived),
             f"{found / all_of_them:.1%}", str(harmless), f"{found / max(all_of_them - harmless, 1):.1%}"]
        )  # fmt: skip
    for row in rows:
        yield from (f"   {'* -' if n == 0 else '  -'} {cell}" for n, cell in enumerate(row))
    yield ""


def _listed(survivors: list) -> Iterator[str]:
    for same, title in ((True, "Equivalent survivors"), (False, "Other survivors")):
        groups: dict[str, list] = {}
        for line, reason in survivors:
            if reason["same"] == same:
                groups.setdefault(reason["why"], []).append(line)
        if groups:
            yield from (title, "-" * len(title), "")
        for why, group in groups.items():
            yield from (why, "")
            by_place: dict[tuple, list] = {}
            for line in group:
                by_place.setdefault((line["module"], line["scope"], line["was"].split("  # ")[0]), []).append(line)
            for (module, scope, was), lines in by_place.items():
                changes = ", ".join(dict.fromkeys(_code(_change(line["was"], line["now"])) for line in lines))
                yield f"* {module}{f', {scope}' if scope else ''}: {_code(was)}: {changes}"
            yield ""


def _code(text: str) -> str:
    return f"``{text.strip()}``"


def _change(was: str, now: str) -> str:
    """Differing words of two lines with the adjacent words."""
    a, b = (re.findall(r"\w+\s*|[^\w\s]+\s*", text) for text in (was, now))
    first = next((n for n, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    last = next((n for n, (x, y) in enumerate(zip(a[first:][::-1], b[first:][::-1])) if x != y), 0)
    begin, end = max(first - 2, 0), max(last - 1, 0)
    return " → ".join("".join(words[begin : len(words) - end]).strip() for words in (a, b))

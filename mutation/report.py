"""Page of the results: a table by package, and all survivors with explanations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from math import sqrt
from typing import Any

_HEAD = """\
Mutants and survivors
=====================

``docs/mutation.rst`` describes how mutants are drawn and tested; ``python -m mutation`` writes this page. *Equivalent*
mutants compute the same results as the original, so that no test can find them. The score is the share of killed and
timed-out mutants among those that are not equivalent, with the 95 % interval of Wilson.

"""


def is_open(line: dict[str, Any]) -> bool:
    """Whether a mutant survives without a known reason."""
    return line["outcome"] == "survived" and "why" not in line


def written(lines: list[dict[str, Any]]) -> str:
    """Return the page as reStructuredText, from the results of the mutants."""
    survivors = [line for line in lines if line["outcome"] == "survived"]
    return _HEAD + "\n".join([*_table(lines), *_listed(survivors)]) + "\n"


def _table(lines: list[dict[str, Any]]) -> Iterator[str]:
    yield from (".. list-table::", "   :header-rows: 1", "")
    rows = [["package", "modules", "mutants", "killed", "timed out", "survived", "equivalent", "score", "interval"]]
    packages = sorted({_package(line) for line in lines})
    for which in [*([name] for name in packages), packages]:
        mine = [line for line in lines if _package(line) in which]
        count = Counter(line["outcome"] for line in mine)
        same = sum(line.get("same", False) for line in mine)
        found, real = count["killed"] + count["timeout"], len(mine) - same
        low, high = _interval(found, real)
        rows.append([which[0] if len(which) == 1 else "all", str(len({line["module"] for line in mine})),
                     f"{len(mine):,}", f"{count['killed']:,}", str(count["timeout"]), str(count["survived"] - same),
                     str(same), f"{found / max(real, 1):.1%}", f"{low:.1%} to {high:.1%}"])  # fmt: skip
    for row in rows:
        yield from (f"   {'* -' if n == 0 else '  -'} {cell}" for n, cell in enumerate(row))
    yield ""


def _package(line: dict[str, Any]) -> str:
    return line["module"].split("/")[0]


def _interval(found: int, n: int, z: float = 1.96) -> tuple[float, float]:
    if n == 0:
        return 0.0, 1.0
    p = found / n
    middle, half = p + z * z / (2 * n), z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def _listed(survivors: list[dict[str, Any]]) -> Iterator[str]:
    for same, title in ((True, "Equivalent survivors"), (False, "Other survivors")):
        groups: dict[str, list] = {}
        for line in survivors:
            if line.get("same", False) == same:
                groups.setdefault(line.get("why", "No test was found within the time limit."), []).append(line)
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

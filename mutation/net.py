"""Command ``python -m mutation.net``: random mutants of the whole path of the numbers, and the tests that kill them.

``net.toml`` names each mutant by its text and a test that kills it. Without options, the command runs each of these
tests against its mutant, and lists mutants that survive or whose text is gone. ``--draw`` replaces mutants that are
gone, and ``--search`` looks for tests that kill mutants without one: first in the suite of all doors, then among the
tests of the package that execute the changed lines.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import pickle
import random
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from .__main__ import KEPT, WARM, WITHOUT
from .mutants import Mutant, mutants
from .trial import PACKAGE, Choice, Outcome, Test, measured, prepare, tried

NET = Path(__file__).with_name("net.toml")
PACKAGES = ("data", "model", "measures", "evaluation", "learning", "files")
DOORS = "tests/doors"
_FIELDS = ("module", "seed", "scope", "was", "now", "killed_by", "same", "why")
_HEAD = """\
# Random mutants and the tests that kill them (``python -m mutation.net``). `was` and `now` are the changed lines.
# A mutant without a test survives all tests that were tried; `same = true`: it is equivalent to the original.
"""

Entry = dict[str, Any]


def main() -> None:
    """Run the command."""
    options = argparse.ArgumentParser(prog="python -m mutation.net", description=__doc__)
    options.add_argument("--draw", type=int, metavar="N", help="drop mutants that are gone, and draw up to N mutants")
    options.add_argument("--search", action="store_true", help="search tests that kill mutants without one")
    options.add_argument("--jobs", type=int, default=2, help="number of mutants tested in parallel")
    options.add_argument("--budget", type=float, default=60, help="maximum seconds of tests per mutant of a search")
    asked = options.parse_args()
    for name in WARM.split():
        importlib.import_module(name)
    prepare(4)
    KEPT.mkdir(parents=True, exist_ok=True)
    entries = read()
    if asked.draw:
        entries = [entry for entry in entries if applied(entry)]
        for number, package in enumerate(PACKAGES):
            mine = [entry for entry in entries if package_of(entry) == package]
            wanted = len(range(number, asked.draw, len(PACKAGES)))
            entries += drawn(package, mine, wanted - len(mine))
        write(entries)
    if asked.search:
        for place in (DOORS, *(f"tests/{package}" for package in PACKAGES)):
            left = [entry for entry in entries if "killed_by" not in entry and not entry.get("same")]
            left = [entry for entry in left if place in (DOORS, f"tests/{package_of(entry)}")]
            modules = sorted({entry["module"] for entry in entries})
            search(left, place, modules, asked.jobs, asked.budget)
            write(entries)
    if not (asked.draw or asked.search):
        sys.exit(not again(entries, asked.jobs))


def read(path: Path = NET) -> list[Entry]:
    """Return the mutants of the net."""
    return tomllib.loads(path.read_text())["mutants"] if path.exists() else []


def write(entries: list[Entry], path: Path = NET) -> None:
    """Write the mutants, ordered by package and seed."""
    lines = [_HEAD]
    for entry in sorted(entries, key=lambda entry: (PACKAGES.index(package_of(entry)), entry["seed"])):
        values = (f"{name} = {json.dumps(entry[name], ensure_ascii=False)}\n" for name in _FIELDS if name in entry)
        lines += ["\n[[mutants]]\n", *values]
    path.write_text("".join(lines))


def package_of(entry: Entry) -> str:
    """Return the package of a mutant."""
    return entry["module"].split("/")[0]


def drawn(package: str, known: list[Entry], wanted: int) -> list[Entry]:
    """Return new mutants of a package: modules are drawn by their numbers of lines, then one of their mutants."""
    sizes = {path.relative_to(PACKAGE).with_suffix("").as_posix(): path.read_text().count("\n")
             for path in sorted((PACKAGE / package).rglob("*.py"))}  # fmt: skip
    found: list[Entry] = []
    texts = {_text(entry) for entry in known}
    for seed in count(max((entry["seed"] for entry in known), default=0) + 1):
        if len(found) >= wanted:
            return found
        rng = random.Random(f"{package} {seed}")
        mutant = rng.choice([*mutants(PACKAGE, *rng.choices([*sizes], [*sizes.values()]))] or [None])
        if mutant is None:
            continue
        entry = {"module": mutant.module, "seed": seed, "scope": mutant.scope, "was": mutant.was, "now": mutant.now}
        same = None if _text(entry) in texts else applied(entry)
        if same and ast.dump(ast.parse(same.code)) == ast.dump(ast.parse(mutant.code)):  # else the text is not enough
            texts.add(_text(entry))
            found.append(entry)
    return found


def _text(entry: Entry) -> tuple[str, ...]:
    return tuple(entry[name] for name in ("module", "scope", "was", "now"))


def applied(entry: Entry) -> Mutant | None:
    """Return a mutant by its text: the first lines of its scope that have it; None if they are gone."""
    path = PACKAGE / f"{entry['module']}.py"
    text = path.read_text() if path.exists() else ""
    lines, tree = text.split("\n"), ast.parse(text)
    scope: Any = tree
    for name in filter(None, entry["scope"].split(".")):
        scope = next((node for node in ast.iter_child_nodes(scope) if getattr(node, "name", None) == name), None)
        if scope is None:
            return None
    decorators = [node.lineno for node in getattr(scope, "decorator_list", ())]
    first, last = (1, len(lines)) if scope is tree else (min([scope.lineno, *decorators]), scope.end_lineno)
    for begin, end in _with_text(lines[:last], first - 1, entry["was"]):
        indent = lines[begin][: -len(lines[begin].lstrip())]
        code = "\n".join([*lines[:begin], indent + entry["now"], *lines[end:]])
        inside = isinstance(scope, ast.FunctionDef) and begin + 1 >= scope.body[0].lineno
        around = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)
                  and node.lineno <= begin + 1 <= (node.end_lineno or 0)]  # fmt: skip
        whole = range(max(around, default=begin + 1), end + 1)
        return Mutant(entry["module"], entry["scope"], whole, entry["was"], entry["now"], code, inside)
    return None


def _with_text(lines: list[str], first: int, text: str) -> Iterator[tuple[int, int]]:
    """Yield beginnings and ends of lines that are this text once they are joined."""
    for begin in range(first, len(lines)):
        joined = lines[begin].strip()
        end = begin + 1
        while joined and text.startswith(joined) and joined != text and end < len(lines):
            joined = f"{joined} {lines[end].strip()}"
            end += 1
        if joined == text:
            yield begin, end


def search(entries: list[Entry], place: str, modules: list[str], jobs: int, budget: float) -> None:
    """Search a test that kills each mutant among those of a folder, and record its name."""
    files = [place, "-m", "not slow and not nightly"]
    if mine := _present(entries):
        choice = Choice(_measured(files, modules, jobs), budget)
        for mutant, became, by in _outcomes(list(mine), files, choice, jobs):
            if became != "survived":
                mine[mutant]["killed_by"] = [by]


def again(entries: list[Entry], jobs: int) -> bool:
    """Run the tests of each mutant, report, and return whether all of them fail."""
    named = [entry for entry in entries if "killed_by" in entry]
    files = sorted({name.split("::")[0] for entry in named for name in entry["killed_by"]})
    mine = _present(named)
    totals: Counter = Counter(gone=len(named) - len(mine))
    for _, became, _ in _outcomes(list(mine), files, _Named(mine), jobs):
        totals[became] += 1
    print(f"{len(entries)} mutants, {len(named)} with tests: " + ", ".join(f"{n} {what}" for what, n in totals.items()))
    return not (totals["survived"] or totals["gone"])


def _present(entries: list[Entry]) -> dict[Mutant, Entry]:
    found = {}
    for entry in entries:
        if mutant := applied(entry):
            found[mutant] = entry
        else:
            print(f"gone {entry['module']} {entry['scope']}: {entry['was']}", flush=True)
    return found


def _outcomes(some: list[Mutant], files: list[str], choice: Choice, jobs: int) -> list[Outcome]:
    """Return the outcomes of all mutants, and print them as they come."""
    path = Path(KEPT, "net.pickle")  # some outcomes are recorded in another process
    path.write_bytes(b"")

    def record(found: Outcome) -> None:
        mutant, became, by = found
        print(f"{became} {mutant.module} {mutant.scope}: {mutant.was} → {mutant.now}  [{by}]", flush=True)
        with path.open("ab") as file:
            pickle.dump(found, file)

    tried(some, files, WITHOUT, choice, jobs, record)
    with path.open("rb") as file:
        return [pickle.load(file) for _ in some]


def _measured(files: list[str], modules: list[str], jobs: int) -> dict[str, Test]:
    """Return times and lines of tests, cached until package or tests change."""
    roots = (PACKAGE, Path("tests/support"), Path(files[0]))
    read = b"".join(path.read_bytes() for root in roots for path in sorted(root.rglob("*.py")))
    kept = Path(KEPT, f"net-{sha256(repr((files, modules)).encode() + read).hexdigest()[:16]}.pickle")
    if not kept.exists():
        kept.write_bytes(pickle.dumps(measured(files, WITHOUT, modules, jobs)))
    return pickle.loads(kept.read_bytes())


class _Named(Choice):
    """The tests that are named for each mutant."""

    def __init__(self, entries: dict[Mutant, Entry]) -> None:
        self.names = {mutant.key: entry["killed_by"] for mutant, entry in entries.items()}
        self.tests = {name: Test(5, frozenset()) for names in self.names.values() for name in names}
        self.found = Counter()

    def of(self, mutant: Mutant) -> list[str]:
        """Return the names of the tests for a mutant."""
        return self.names[mutant.key]

    def runs_early(self, mutant: Mutant) -> bool:
        """Return True: a mutant that survives is tried once more, by importing the package again."""
        return True


if __name__ == "__main__":
    main()

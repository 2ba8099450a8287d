"""Measure the import time of this package after the import of PyTerrier, in fresh processes."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.report import Table, keep, progress, show

HEAVY = ("sklearn", "matplotlib", "lightgbm", "scipy", "pandas", "pyarrow")

# PyTerrier loads the entry point of this package if it is installed. The entry point is hidden, so that the time
# of the second import contains all modules of this package.
CHILD = """
import importlib.metadata, json, sys, time
found = importlib.metadata.entry_points
others = lambda points: importlib.metadata.EntryPoints(p for p in points if not p.value.startswith("pyterrier_cwla"))
importlib.metadata.entry_points = lambda **params: others(found(**params))
start = time.perf_counter()
import pyterrier
before, there = time.perf_counter(), set(sys.modules)
if sys.argv[1] == "both":
    import pyterrier_cwla
after = time.perf_counter()
heavy = {name: "before" if name in there else "added" for name in sys.argv[2:] if name in sys.modules}
print(json.dumps([before - start, after - before, heavy, len(set(sys.modules) - there)]))
"""


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.imports", description=__doc__)
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--peers-only", action="store_true", help="import pyterrier alone")
    parser.add_argument("--markdown", type=Path, help="write the table to this Markdown file")
    chosen = parser.parse_args()
    table = measure(chosen.repeats, ["pyterrier"] if chosen.peers_only else ["pyterrier", "both"])
    show([table])
    if chosen.markdown:
        keep(chosen.markdown, [table])


def measure(repeats: int, which: list[str]) -> Table:
    """Time fresh processes in turn; the first round fills the caches of the file system and is not counted."""
    base: list[float] = []
    both: list[float] = []
    added: list[float] = []
    for repeat in range(repeats + 1):
        for what in which:
            first, second, heavy, modules = _child(what)
            if repeat == 0:
                continue
            (both if what == "both" else base).append(first + second)
            if what == "both":
                added.append(second)
            progress(f"{repeat}/{repeats}: {what} {(first + second) * 1000:,.0f} ms")
    rows = [("import pyterrier", _median(base))]
    notes = ["The entry point of this package is hidden in both; medians of fresh processes, interleaved."]
    if both:
        rows.append(("import pyterrier, pyterrier_cwla", _median(both)))
        rows.append(("difference of the two", _milliseconds(statistics.median(both) - statistics.median(base))))
        rows.append(("the second import, in its own process", _median(added)))
        notes.append(f"The second import loaded {modules} modules.")
    for name in HEAVY:
        notes.append(f"{name}: {_found(heavy.get(name))}.")
    return Table("Import", ("what", "median"), rows, notes)


def _child(what: str) -> tuple[float, float, dict[str, str], int]:
    command = [sys.executable, "-c", CHILD, what, *HEAVY]
    root = Path(__file__).parent.parent
    finished = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise SystemExit(f"the import failed:\n{finished.stderr}")
    return tuple(json.loads(finished.stdout.splitlines()[-1]))


def _found(when: str | None) -> str:
    return {"before": "imported by pyterrier already", "added": "imported by us", None: "not imported"}[when]


def _median(times: list[float]) -> str:
    return _milliseconds(statistics.median(times))


def _milliseconds(value: float) -> str:
    return f"{value * 1000:,.0f} ms"


if __name__ == "__main__":
    main()

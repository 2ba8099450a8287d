"""Command ``python -m mutation [MODULE …]``: draws mutants, runs tests against them, and writes the results.

``results.jsonl`` has one mutant a line: its text, the outcome, the test that killed it, or why no test can. Without
options, the command draws mutants and tries those that are not among the results. With ``--again`` it tries the known
ones: first with the test that killed each before, then, if that one passes or is gone, with all tests of its lines.
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MPLBACKEND="Agg")

import argparse
import importlib
import json
import pickle
import re
import sys
from hashlib import sha256
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from . import report
from .mutants import applied, drawn
from .trial import PACKAGE, Choice, Named, Outcome, Test, forked, measured, prepare, tried, without_mutants

PACKAGES = ("data", "model", "measures", "evaluation", "learning", "behaviour", "studies", "files", "rendering/numbers")
WITHOUT = re.compile("_plots$|report$|introspection$|cluster$")  # pictures and pages; tests in other processes
_COMPUTES = re.compile(r"^\s*(import|from) (numpy|scipy|math)\b", re.M)
#: Modules imported before forking, so that the children need not import them.
WARM = (
    "numpy pandas pyarrow pyarrow.compute scipy.special scipy.stats mpmath polars sklearn cloudpickle joblib"
    " ir_measures IPython requests rich tqdm"
)
#: Tests that need more than the modules: other programs, pages, the command line, all mutants.
OUTSIDE = re.compile("tests/(docs|real_data|cli|demo|explorer|pipelines|test_(?!frozen_results))")
KEPT = Path("build/mutation")
RESULTS = Path(__file__).with_name("results.jsonl")
PAGE = Path(__file__).with_name("results.rst")


def main() -> None:
    """Run the command."""
    options = argparse.ArgumentParser(prog="python -m mutation", description=__doc__)
    options.add_argument("modules", nargs="*", metavar="MODULE", help="modules or packages; all that compute numbers")
    options.add_argument("--draw", type=int, default=25, metavar="N", help="number of mutants per module")
    options.add_argument("--again", action="store_true", help="try the known mutants again")
    options.add_argument("--survivors", action="store_true", help="try unexplained survivors again")
    options.add_argument("--jobs", type=int, default=2, help="number of mutants tested in parallel")
    options.add_argument("--budget", type=float, default=8, help="maximum seconds of tests per mutant")
    options.add_argument("--marks", default="not nightly", help="tests by their marks, as of pytest -m")
    asked = options.parse_args()
    for name in WARM.split():
        importlib.import_module(name)
    prepare(4, asked.marks)
    KEPT.mkdir(parents=True, exist_ok=True)
    modules = [name for name in computing() if not asked.modules or name.startswith(tuple(asked.modules))]
    known = {text: line for text, line in read().items() if line["module"] in modules}
    if asked.again or asked.survivors:
        present = [mutant for text in known if (mutant := applied(PACKAGE, *text))]
        print(f"{len(known) - len(present)} of {len(known)} mutants are gone", flush=True)
        some = [mutant for mutant in present if report.is_open(known[mutant.text])]
        if asked.again:
            names = {m.text: known[m.text]["by"] for m in present if known[m.text]["outcome"] != "survived"}
            found = without_mutants({*names.values()})
            names = {text: name for text, name in names.items() if found.get(name) != "skipped"}
            names = {text: name if found.get(name) == "passed" else "" for text, name in names.items()}
            files = sorted({name.split("::")[0] for name in names.values() if name})
            named = [mutant for mutant in present if mutant.text in names]
            print(f"{len(named)} have a test that is not skipped here", flush=True)
            tried(named, files, Named(names), asked.jobs, record)
            now = read()
            some += [mutant for mutant in named if now[mutant.text]["outcome"] == "survived"]
    else:
        parts = [part for _, part, _ in forked(modules, asked.jobs, lambda name: drawn(PACKAGE, name, asked.draw))]
        rounds = chain.from_iterable(zip_longest(*parts))  # so that a run that is stopped has tried all modules evenly
        some = [mutant for mutant in rounds if mutant and mutant.text not in known]
    os.environ["PYTERRIER_CWLA_DATA"] = "/nonexistent"  # tests of real data take long: only named ones run
    print(f"{len(some)} mutants to try with all tests of their lines", flush=True)
    if some:
        tests = map(str, sorted(Path("tests").rglob("test_*.py")))
        own = (os.path.relpath(path) for path in sorted(PACKAGE.rglob("*.py")))
        files = [*(path for path in tests if not OUTSIDE.match(path)), *own]
        choice = Choice(_tests(files, asked.jobs, asked.marks), asked.budget)
        tried(some, files, choice, asked.jobs, record)
    present = {text: line for text, line in read().items() if applied(PACKAGE, *text)}
    write(present)
    PAGE.write_text(report.written([*present.values()]))
    lost = [text for text in known if text in present and (known[text]["outcome"], present[text]["outcome"])
            in (("killed", "survived"), ("timeout", "survived"))]  # fmt: skip
    for text in lost:
        print("lost", *text)
    sys.exit(bool(lost))


def computing() -> list[str]:
    """Return the modules that compute numbers: those that import NumPy, SciPy or math."""
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if _COMPUTES.search(path.read_text())]
    names = [path.relative_to(PACKAGE).with_suffix("").as_posix() for path in paths]
    return [name for name in names if name.startswith(PACKAGES) and not WITHOUT.search(name)]


def read() -> dict[tuple[str, ...], dict[str, Any]]:
    """Return the latest result of each mutant by its text."""
    lines = map(json.loads, RESULTS.read_text().splitlines()) if RESULTS.exists() else ()
    return {tuple(line[name] for name in ("module", "scope", "was", "now")): line for line in lines}


def write(results: dict[tuple[str, ...], dict[str, Any]]) -> None:
    """Write one line a mutant, in the order of their texts."""
    lines = (json.dumps(results[text], ensure_ascii=False) for text in sorted(results))
    RESULTS.write_text("".join(line + "\n" for line in lines))


def record(found: Outcome) -> None:
    """Append a result; the reason why a mutant survives stays."""
    mutant, became, by = found
    line = dict(zip(("module", "scope", "was", "now"), mutant.text), outcome=became, by=by)
    if became == "survived" and "why" in (known := read().get(mutant.text, {})):
        line |= {"same": known["same"], "why": known["why"]}
    with RESULTS.open("a") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
    print(f"{became} {mutant.module} {mutant.scope}: {mutant.was} → {mutant.now}  [{by}]", flush=True)


def _tests(files: list[str], jobs: int, marks: str) -> dict[str, Test]:
    """Return times and lines of tests without mutants; cached until test file, package or shared code change."""
    shared = [path for path in Path("tests").rglob("*.py") if not path.name.startswith("test_")]
    read = marks.encode() + b"".join(path.read_bytes() for path in sorted([*PACKAGE.rglob("*.py"), *shared]))
    hashes = {name: sha256(read + name.encode() + Path(name).read_bytes()).hexdigest()[:16] for name in files}
    kept = {name: KEPT / f"tests-{known}.pickle" for name, known in hashes.items()}
    missing = [name for name, place in kept.items() if not place.exists()]
    if missing:
        print(f"{len(missing)} files of tests without mutants …", flush=True)
        found = measured(missing, computing(), jobs)
        for name in missing:
            mine = {test: known for test, known in found.items() if test.split("::")[0] in (name, "")}
            kept[name].write_bytes(pickle.dumps(mine))
    return {test: known for place in kept.values() for test, known in pickle.loads(place.read_bytes()).items()}


if __name__ == "__main__":
    main()

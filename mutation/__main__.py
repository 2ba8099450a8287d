"""Command ``python -m mutation [MODULE …]``: creates mutants, runs tests against them, and writes the results."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import importlib
import json
import pickle
import time
from hashlib import sha256
from pathlib import Path

from . import report
from .mutants import mutants
from .trial import PACKAGE, Choice, Outcome, Test, measured, prepare, tried

MODULES = [
    *("model/language", "model/view", "model/continuations", "model/aggregations", "model/metric"),
    *("model/view_columns", "model/scoring", "model/residuals", "data/rankings"),
]
TESTS = [
    *(f"{PACKAGE.name}/{name}.py" for name in MODULES),
    *(
        f"{PACKAGE.name}/{name}.py"
        for name in (
            "evaluation/arrays",
            "model/efforts",
            "evaluation/explanation",
            "model/gains",
        )
    ),
    *(
        f"tests/{folder}/test_{name}.py"
        for folder, names in {
            "behaviour/logs": "effort_by_grade",
            "data": "duplicates lengths rankings",
            "errors": "bad_input",
            "evaluation": "arrays explanation stop_distribution",
            "learning": "swaps",
            "measures": "catalogue counting ir_measures reference_entries",
            "model": "against_reference identities language metric open_end three_ways to_the_last_bit view",
            "studies/incomplete_judgments": "missing_judgments",
            "studies/users": "metric_grid parameter_sweep virtual_pairs",
        }.items()
        for name in names.split()
    ),
]
#: Excluded tests: they start processes without the mutant, wait for threads that a fork lacks, or take very long.
WITHOUT = (
    "tests/data/test_rankings.py::test_every_form_gives_the_same_bits[1-polars",
    "tests/data/test_rankings.py::test_every_form_gives_the_same_bits[2-polars",
    "tests/data/test_rankings.py::test_every_form_carries_doc_length[polars",
    "tests/model/test_language.py::test_measures_travel_to_the_workers_of_joblib",
    "tests/measures/test_ir_measures.py::test_importing",
    "tests/measures/test_ir_measures.py::test_the_default_pipeline",
    "tests/data/test_rankings.py::test_a_run_of_more_than_a_million_rows_is_the_sum_of_its_parts",
    "tests/learning/test_swaps.py::test_any_setting_of_the_frame",
)
#: Modules imported before forking, so that the children need not import them.
WARM = (
    "numpy pandas pyarrow pyarrow.compute scipy.special scipy.stats mpmath polars sklearn cloudpickle joblib"
    " ir_measures IPython requests rich tqdm"
)
KEPT = Path("build/mutation")
RESULTS = Path(KEPT, "results.jsonl")


def main() -> None:
    """Run the command."""
    options = argparse.ArgumentParser(prog="python -m mutation", description=__doc__)
    options.add_argument("modules", nargs="*", default=MODULES, metavar="MODULE")
    options.add_argument("--jobs", type=int, default=2, help="number of mutants tested in parallel")
    options.add_argument("--budget", type=float, default=5, help="maximum seconds of tests per mutant")
    options.add_argument("--examples", type=int, default=4, help="maximum number of examples per hypothesis test")
    options.add_argument("--again", action="store_true", help="test unexplained survivors again")
    options.add_argument("--list", action="store_true", help="print the mutants without testing them")
    options.add_argument("--match", default="", help="only mutants whose changed line contains this text")
    options.add_argument(
        "--tests", nargs="*", default=[""], metavar="TEXT", help="only tests whose name contains one of these texts"
    )
    options.add_argument("--report", type=Path, metavar="FILE", help="write the results to this page")
    asked = options.parse_args()
    for name in WARM.split():
        importlib.import_module(name)
    some = [m for name in asked.modules for m in mutants(PACKAGE, name) if asked.match in m.was]
    if asked.list:
        for mutant in some:
            print(f"{mutant.module}:{mutant.lines.start} {mutant.scope}: {mutant.was} → {mutant.now}")
        return
    prepare(asked.examples)
    KEPT.mkdir(parents=True, exist_ok=True)
    if asked.again:
        kept = [line for line in _results().values() if line["outcome"] != "survived" or report.reason(line)["same"]]
        RESULTS.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in kept))
    known = _results()
    left = [m for m in some if m.key not in known]
    files = [name for name in TESTS if Path(name).exists()]
    known_tests = _tests(files, asked.jobs, asked.examples)
    wanted = {name: test for name, test in known_tests.items() if not name or any(text in name for text in asked.tests)}
    choice = Choice(wanted, asked.budget)
    print(f"{len(some)} mutants, {len(left)} to try; {len(choice.tests)} tests", flush=True)
    begun, done = time.time(), 0

    def record(found: Outcome) -> None:
        nonlocal done
        done += 1
        mutant, became, by = found
        line = {"key": mutant.key, "module": mutant.module, "line": mutant.lines.start, "scope": mutant.scope,
                "was": mutant.was, "now": mutant.now, "outcome": became, "by": by}  # fmt: skip
        with RESULTS.open("a") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
        print(f"{time.time() - begun:7.1f} {done:5d} {became} {mutant.module}:{mutant.lines.start} {mutant.scope}: "
              f"{mutant.was} → {mutant.now}  [{by}]", flush=True)  # fmt: skip

    tried(left, files, WITHOUT, choice, asked.jobs, record)
    if asked.report:
        known = _results()
        page = asked.report.read_text().split(report.MARK)[0]
        asked.report.write_text(
            page + report.MARK + "\n" + report.written([known[m.key] for m in some if m.key in known])
        )


def _results() -> dict[str, dict]:
    """Latest result of each mutant."""
    lines = map(json.loads, RESULTS.read_text().splitlines()) if RESULTS.exists() else ()
    return {line["key"]: line for line in lines}


def _tests(files: list[str], jobs: int, examples: int) -> dict[str, Test]:
    """Return times and lines of tests without mutants; cached until test file, package or shared code change."""
    shared = [path for path in Path("tests").rglob("*.py") if not path.name.startswith("test_")]
    read = b"".join(path.read_bytes() for path in sorted([*PACKAGE.rglob("*.py"), *shared]))
    kept = {name: _place(name, read, examples) for name in files}
    missing = [name for name, place in kept.items() if not place.exists()]
    if missing:
        print("an unmutated pass …", flush=True)
        found = measured(missing, WITHOUT, MODULES, jobs)
        for name in missing:
            mine = {test: known for test, known in found.items() if test.split("::")[0] in (name, "")}
            kept[name].write_bytes(pickle.dumps(mine))
    return {test: known for place in kept.values() for test, known in pickle.loads(place.read_bytes()).items()}


def _place(file: str, read: bytes, examples: int) -> Path:
    return Path(KEPT, f"tests-{sha256(b'%d' % examples + read + Path(file).read_bytes()).hexdigest()[:16]}.pickle")


if __name__ == "__main__":
    main()

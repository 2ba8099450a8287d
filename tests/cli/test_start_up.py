"""Commands import only the libraries that they need, since these take longer than the work."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

RUN = "q1 Q0 d1 1 9.5 a\nq1 Q0 d9 2 9.5 a\nq1 Q0 d3 3 7.5 a\nq3 Q0 d4 1 3.5 a\nq2 Q0 d1 2 2.5 a\nq2 Q0 d4 2 3.5 a\n"
HEAVY = ("matplotlib", "pandas", "pyterrier", "scipy", "sklearn", "statsmodels")
COMMAND = """
import json, sys
names, sys.argv = json.loads(sys.argv[1]), ["bin/pyterrier-cwla", *sys.argv[2:]]
from pyterrier_cwla.cli.app import main
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
print(json.dumps([name for name in names if name in sys.modules]), file=sys.stderr)
"""


def imported(code, names, *arguments):
    """Return which of the modules a new process has imported after the code."""
    command = [sys.executable, "-c", code, json.dumps(names), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stderr.splitlines()[-1])


@pytest.mark.parametrize("arguments", [
    ("--help",), ("--version",), ("evaluate", "--help"), ("measures",), ("measures", "TBG"),
    ("evaluate", "qrels.txt", "run.txt"),
    ("evaluate", "qrels.txt", "run.txt", "-m", "TBG", "-m", "NumRel", "--lengths", "words.tsv"),
    ("evaluate", "qrels.txt", "run.txt", "-m", "AP", "--by-query", "--format", "csv"),
    ("evaluate", "qrels.txt", "run.txt", "-m", "RBP(rel=1)", "--residuals", "--format", "jsonl"),
    ("evaluate", "qrels.txt", "run.txt", "-m", "AP", "--cache-dir", "cache"),
], ids=" ".join)  # fmt: skip
def test_no_command_of_scores_imports_pandas(files, arguments):
    """The run has ties, unsorted scores and a query that is not judged."""
    (files / "run.txt").write_text(RUN)
    assert imported(COMMAND, HEAVY, *arguments) == []


@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), ("compare", "-h"), ("study",), ("study", "fit", "-h"), ("explore", "-h")]
)
def test_the_help_needs_no_measures(arguments):
    assert imported(COMMAND, ("ir_measures", "numpy", "pyarrow", "rich"), *arguments) == []


def test_only_explore_imports_the_explorer(files):
    names = ("pyterrier_cwla.explorer", "anywidget", "http.server", "webbrowser")
    for words in ("--help", "explain qrels.txt runs/good.txt -q q1 -m AP"):
        assert imported(COMMAND, names, *words.split()) == []


def test_the_package_is_imported_without_pandas():
    code = "import json, sys, pyterrier_cwla\nnames = json.loads(sys.argv[1])\n" + COMMAND.splitlines()[-1]
    assert imported(code, [*HEAVY, "ir_measures"]) == ["ir_measures"]
    code = code.replace("pyterrier_cwla\n", "pyterrier_cwla.evaluation.run_comparison\n", 1)
    assert imported(code, ["scipy.stats", "statsmodels"]) == []


@pytest.mark.parametrize("arguments, owned", [([], True), ([["--version"]], False)], ids=["own process", "called"])
def test_only_a_process_of_the_command_line_changes_garbage_collection(arguments, owned):
    code = f"""
import gc, json, sys
sys.argv = ["pyterrier-cwla", "--version"]
from pyterrier_cwla.cli.app import main
before = gc.get_threshold()
try:
    main(*{arguments})
except SystemExit:
    print(json.dumps([gc.isenabled(), gc.get_threshold() != before, gc.get_freeze_count() > 0]), file=sys.stderr)
"""
    assert imported(code, []) == [True, owned, owned]

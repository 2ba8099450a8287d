"""Options from functions: the file of their parameters is current, and values reach the functions as they are."""

import inspect
import json
import sys
from pathlib import Path

from pyterrier_cwla.cli.app import loaded_app
from pyterrier_cwla.cli.arguments import JudgedRuns, MeasureOptions
from pyterrier_cwla.cli.output_formats import ResultFile
from pyterrier_cwla.cli.parameters import RECORDS, Parameters
from pyterrier_cwla.cli.study_commands import RatingFiles, ReportFolder
from pyterrier_cwla.evaluation.significance import CORRECTIONS, TESTS

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

import command_options

COMPARE = "evaluation.run_comparison.compare"
LOG = "behaviour.logs.calibration.calibrate"


def test_types_choices_and_limits_come_from_the_docstring():
    assert RECORDS.read_text(encoding="utf-8") == command_options.written(), "run `python docs/command_options.py`"
    known = json.loads(RECORDS.read_text(encoding="utf-8"))
    assert known[COMPARE]["correction"]["or_none"] is True
    assert known[LOG]["depth"]["choices"] == ["clicked", "seen"]
    assert known[COMPARE]["pairs"] == {"type": "bool", "help": "Compare all pairs of runs.", "default": False}
    assert known[LOG]["last_rank"]["min"] == 1
    assert known[LOG]["last_rank"]["default"] is None
    assert known[COMPARE]["test"]["choices"] == [*TESTS], "the docstring of compare lists the tests of TESTS"
    assert {*known[COMPARE]["correction"]["choices"]} == {*CORRECTIONS, "none"}


def test_values_of_options_are_arguments_of_the_function():
    corrected = Parameters(COMPARE, "correction")
    assert corrected(correction="none") == {"correction": None}
    assert corrected(correction="holm") == {"correction": "holm"}
    listed = Parameters("studies.incomplete_judgments.judging_order.next_judgments", "depth topics")
    assert listed(depth=5, topics=False) == {"depth": 5}
    assert listed(depth=5, topics=True) == {"depth": 5, "topics": "all"}
    depths = Parameters(LOG, "depth")
    seen = inspect.signature(depths).parameters["depth"].annotation.__origin__("seen")
    assert type(depths(depth=seen)["depth"]) is str


def test_every_text_of_an_option_is_used():
    """A table is named after a command's function, a group of options, or a function that a command calls."""
    app = loaded_app()
    commands = [*app.registered_commands, *app.registered_groups[0].typer_instance.registered_commands]
    functions = [inspect.unwrap(one.callback) for one in commands]
    groups = [JudgedRuns, MeasureOptions, ResultFile, ReportFolder, RatingFiles]
    known = {one.__name__: {*inspect.signature(one).parameters} for one in (*functions, *groups)}
    texts = json.loads((RECORDS.parent / "options.json").read_text(encoding="utf-8"))
    shared = texts.pop("shared")
    described = json.loads(RECORDS.read_text(encoding="utf-8"))
    known |= {function: {*of} for function, of in described.items()}
    assert {*shared} <= set().union(*known.values())
    assert [(owner, name) for owner, of in texts.items() for name in of if name not in known.get(owner, ())] == []

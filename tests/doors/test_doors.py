"""One suite for all doors: a measure has the same value however its data are given and its value is asked for."""

import re
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import CannotScore, CWLAError, IntentAware, evaluate, register_lengths
from pyterrier_cwla.measures.named import measures_of
from pyterrier_cwla.model.language import TABLES

from . import measures as table
from .doors import DOORS, SESSION_DOORS, accepted, frames, sessions
from .rows import DATA, WORDS, judged_twice, repeated, with_intents, write_tables


@pytest.fixture(autouse=True, scope="module")
def folder(tmp_path_factory):
    """Working directory with the tables of documents that measures name."""
    path = tmp_path_factory.mktemp("doors")
    write_tables(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        yield path


@pytest.fixture(autouse=True)
def _default_lengths():
    """Lengths for doors whose rows have none."""
    register_lengths(WORDS)


@cache
def expected(data, of, texts):
    """Return the measures that can score a part of the data, with their values by query and their means."""
    part = of(data)
    listed = measures_of(texts())
    measures = accepted(partial(frames, part), listed)
    assert len(measures) > 0.9 * len(listed)
    means = evaluate(part.qrels, part.run, measures).set_axis(["mean"])
    return measures, pd.concat([frames(part, measures), means])


def check(door, data, texts, folder):
    measures, values = expected(data, door.of, texts)
    measures = [measure for measure in measures if door.takes(measure)]
    if door.refuses_nan:
        measures = [measure for measure in measures if values[str(measure)].notna().all()]
    found = door.values(door.of(data), measures, folder)
    assert {*found.index} in ({"mean"}, {*values.index} - {"mean"})
    assert found.index.is_unique
    assert len(found.columns) > 0.9 * len(measures) > 2
    lines = []
    for name in found.columns:
        ours, theirs = found[name].to_numpy(float), values[name].loc[found.index].to_numpy(float)
        if not np.allclose(ours, theirs, rtol=door.within, atol=door.within, equal_nan=True):
            lines.append(f"{name}: {ours.tolist()}, by frames {theirs.tolist()}")
    assert not lines, f"{len(lines)} of {len(measures)} measures differ\n" + "\n".join(lines)


FAST = {"as_dicts", "provider", "scorers", "several_runs"}


def of_each_door(doors, data):
    """Mark the tests: fast ones are of few doors, slow ones of all, both with the data that have each property."""

    def marks(door, name):
        return pytest.mark.nightly if name != "together" else [pytest.mark.slow] * (door not in FAST)

    cases = [pytest.param(door, name, marks=marks(door, name)) for door in doors for name in data]
    return lambda test: pytest.mark.every_case(pytest.mark.parametrize(("door", "data"), cases)(test))


@of_each_door(DOORS, DATA)
def test_rows(door, data, folder):
    check(DOORS[door], DATA[data], table.of_rows, folder)


INTENTS = {name: with_intents(data) for name, data in DATA.items()}


@of_each_door([name for name, door in DOORS.items() if door.takes(IntentAware(measure="RR"))], INTENTS)
def test_intents(door, data, folder):
    check(DOORS[door], INTENTS[data], table.of_intents, folder)


WITH_VARIATIONS = partial(table.of_rows, variations=True)


@pytest.mark.nightly
@pytest.mark.parametrize("data", ["together", "decimal"])
@pytest.mark.parametrize("door", DOORS)
def test_every_parameter(door, data, folder):
    check(DOORS[door], DATA[data], WITH_VARIATIONS, folder)


@pytest.mark.parametrize("door", SESSION_DOORS)
def test_sessions(door, folder):
    data = DATA["together"]
    measures = accepted(partial(sessions, data), measures_of(table.of_sessions()))
    assert len(measures) > 25
    found = SESSION_DOORS[door](data, measures, folder=folder)
    pd.testing.assert_frame_equal(found, sessions(data, measures), check_exact=True)


@pytest.mark.parametrize("twice", [repeated, judged_twice])
@pytest.mark.parametrize("door", sorted(DOORS.keys() - {"as_dicts", "as_json_files", "lists_of_grades"}))
def test_rows_given_twice_are_errors(door, twice, folder):
    """Each door names the query and the document, but for dicts and lists of grades, which repeat no document."""
    data = twice(DATA["plain"])
    document = (data.run if twice is repeated else data.qrels).doc_id.iloc[-1]
    with pytest.raises((CWLAError, CannotScore), match=f"'{document}'.* twice|twice.*'{document}'") as told:
        DOORS[door].values(DOORS[door].of(data), measures_of(["CWLA(C='rbp(0.8)',A='erg',max_rel=2)"]), folder)
    assert "'q1'" in str(told.value)


@pytest.mark.slow
@pytest.mark.parametrize("door", sorted(DOORS.keys() - {"changes_by_swaps"}))
def test_measures_that_frames_refuse_are_refused(door, folder):
    data = DOORS[door].of(DATA["tied"])  # with grades up to 3, for which some tables have no value
    measures = measures_of(table.of_rows())
    refused = [one for one in measures if DOORS[door].takes(one) and not accepted(partial(frames, data), [one])]
    assert refused
    for measure in refused:
        with pytest.raises((CWLAError, CannotScore)):
            DOORS[door].values(data, [measure], folder)


@pytest.mark.slow
def test_every_name_is_in_the_table(folder):
    texts = " ".join([*table.of_rows(), *table.of_intents(), *table.of_sessions()])
    kinds = ("measure", "ir_measures", "session", *TABLES)
    names = {entry.name for entry in table._of_kind(*kinds)}
    names -= {"given", "linear"}  # efforts that a caller passes as arrays; the default gain, which no text names
    assert not [name for name in names if not re.search(rf"\b{name}\b", texts)]

"""TBG(calibration=…) and GradedTBG(calibration=…): parameters from a calibration file or object."""

import os
import pickle
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import TBG, evaluate
from pyterrier_cwla.behaviour import calibrate
from pyterrier_cwla.errors import MalformedFile
from pyterrier_cwla.measures import MEASURES
from pyterrier_cwla.measures import calibrations as calibrated
from pyterrier_cwla.measures.calibrations import read_calibration
from tests.support.messages import refused

GradedTBG = MEASURES["GradedTBG"]
QRELS = {"q": {"a": 2, "b": 0, "c": 1, "d": 0}}
RUN = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "e": 1.0}}
WORDS = {document: 100.0 * number for number, document in enumerate("abcde", 1)}


def rows(users=30, seed=0):
    """Return a log of users with ten results each."""
    rng = np.random.default_rng(seed)
    made = []
    for user in range(users):
        time = 0.0
        for rank in range(1, 11):
            grade, words = int(rng.integers(0, 3)), int(rng.integers(50, 900))
            clicked = bool(rng.random() < (0.3, 0.6, 0.8)[grade])
            time += 4
            made.append(dict(
                user=f"u{user}", session="1", topic="t", rank=rank, docno=f"{user}-{rank}", clicked=clicked, grade=grade,
                saved=clicked and bool(rng.random() < 0.6), summary_seconds=4.0 * rng.exponential(), words=words,
                document_seconds=8 + 0.02 * words if clicked else np.nan, time=time,
            ))  # fmt: skip
            time += 8 + 0.02 * words if clicked else 0
    return pd.DataFrame(made)


@pytest.fixture(scope="module")
def calibration():
    return calibrate(rows(), min_clicks=0, resamples=50)


@pytest.fixture
def path(calibration, tmp_path):
    calibration.save(tmp_path / "calibration.json")
    return str(tmp_path / "calibration.json")


def value(measure):
    return evaluate(QRELS, RUN, [measure]).iloc[0, 0]


def test_a_file_by_its_name_is_the_measure_with_its_numbers(calibration, path):
    measure = ir_measures.parse_measure(f"TBG(calibration={path!r},missing='mean')")(lengths=WORDS)
    assert value(measure) == value(calibration.measure(lengths=WORDS)) != value(TBG(lengths=WORDS))
    assert ir_measures.parse_measure(repr(TBG(calibration=path))) == TBG(calibration=path)
    assert repr(TBG(calibration=path)) == f"TBG(calibration={path!r})"
    assert value(GradedTBG(calibration=path)) == value(calibration.graded_measure()) != value(GradedTBG)


def test_a_measure_follows_its_calibration_file(calibration, path):
    """A changed file is read again, even if its size and modification time are the same."""
    measure = TBG(calibration=path, lengths=WORDS)
    known, text = os.stat(path), Path(path).read_text()
    digits = f"{calibration.parameters()['half_life']!r}"
    other = str(int(digits[0]) % 9 + 1) + digits[1:]
    Path(path).write_text(text.replace(digits, other))
    os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns))
    assert os.stat(path).st_size == known.st_size
    expected = value(TBG(**{**calibration.parameters(), "half_life": float(other)}, lengths=WORDS))
    assert value(measure) == value(TBG(calibration=path, lengths=WORDS)) == expected
    assert expected != value(TBG(calibration=calibration, lengths=WORDS))


def test_a_file_that_changes_while_it_is_read_is_an_error(path, monkeypatch):
    def changing(path):
        found = read_calibration(path)
        Path(path).write_text(Path(path).read_text() + "\n")
        return found

    monkeypatch.setattr(calibrated, "read_calibration", changing)
    with pytest.raises(MalformedFile, match="the file of calibration= was changed during the evaluation"):
        value(TBG(calibration=path, lengths=WORDS, missing="mean"))


@pytest.mark.slow
def test_a_calibration_itself_is_named_by_its_content(calibration, path):
    measure = TBG(calibration=calibration, lengths=WORDS)
    assert value(measure) == value(TBG(calibration=path, lengths=WORDS))
    assert str(measure) == "TBG(calibration='…')"
    assert ir_measures.parse_measure(repr(measure)) == measure
    assert value(pickle.loads(pickle.dumps(measure))) == value(measure)
    same, other = (calibrate(rows(seed=seed), min_clicks=0, resamples=50) for seed in (0, 1))
    assert repr(TBG(calibration=calibration)) == repr(TBG(calibration=same)) != repr(TBG(calibration=other))


@pytest.mark.slow
def test_given_values_count_even_if_they_are_the_defaults(calibration):
    given = {**calibration.parameters(), "half_life": 224}
    mixed = TBG(calibration=calibration, half_life=224, lengths=WORDS)
    assert "half_life=224" in str(mixed)
    assert value(mixed) == value(TBG(**given, lengths=WORDS)) != value(TBG(calibration=calibration, lengths=WORDS))
    assert mixed.metric.C == TBG().metric.C
    assert TBG(half_life=224, calibration=None) == TBG()


def test_what_the_log_did_not_tell_has_to_be_given():
    calibration = calibrate(rows().drop(columns=["time", "summary_seconds"]), resamples=10)
    refused(lambda: TBG(calibration=calibration), "had no data for half_life, summary_seconds.", "summary_seconds=…)")
    measure = TBG(calibration=calibration, half_life=100, summary_seconds=4.4)
    assert (measure.metric.C["half_life"], measure.metric.effort["summary_seconds"]) == (100, 4.4)
    of_2 = calibrate(rows().drop(columns=["words"]), min_clicks=0, resamples=10, rel=2)
    measure = TBG(calibration=of_2)  # it needs no lengths
    assert (measure.metric.gain["rel"], TBG(calibration=of_2, rel=1).metric.gain["rel"]) == (2, 1)
    assert not measure.metric.needs_words
    assert value(measure) > 0


def test_whatever_is_no_calibration_is_an_error_that_says_so(tmp_path):
    refused(lambda: TBG(calibration="nowhere.json"), "is not a file")
    (tmp_path / "other.json").write_text("{}")
    refused(lambda: TBG(calibration=tmp_path / "other.json"), MalformedFile, "other.json")
    refused(lambda: TBG(calibration={"half_life": 3}), "not dict")

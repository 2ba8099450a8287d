"""Commands ``calibrate`` and ``simulate``: printed and saved results equal those of the package."""

import json
from pathlib import Path

import pandas as pd
import pytest

from pyterrier_cwla import TBG, evaluate
from pyterrier_cwla.behaviour import Calibration, InteractionLog, calibrate, simulate
from pyterrier_cwla.errors import BadParameter
from tests.measures.test_calibrated import rows

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _log(files):
    """Write a log beside the files of the commands."""
    rows().to_csv("log.csv", index=False)


def test_a_calibration_is_printed_and_kept_and_is_a_measure(prints):
    options = ("--resamples", 50, "--min-clicks", 2, "--depth", "seen")
    out = prints("calibrate", "log.csv", "-o", "calibration.json", *options)
    expected = calibrate(InteractionLog.read("log.csv"), resamples=50, min_clicks=2, depth="seen")
    said = " ".join(" ".join(expected.remarks).split())
    assert "give last_rank=10," in said
    said = said.replace("give last_rank=10,", "give --last-rank 10,")
    assert " ".join(out.replace("\n· ", " ").split()).endswith(said)
    table = expected.printed.astype(str)
    for row in table.to_numpy().tolist():
        assert any(line.split() == " ".join(row).split() for line in out.splitlines())
    assert Calibration.load("calibration.json").parameters() == expected.parameters()
    measure = "TBG(calibration='calibration.json')"
    more = ("--lengths", "words.tsv", "--format", "jsonl")
    scores = json.loads(prints("evaluate", "qrels.txt", "runs/good.txt", "-m", measure, *more))
    (score,) = (value for name, value in scores.items() if name.startswith("TBG"))
    assert score == evaluate("qrels.txt", "runs/good.txt", [expected.measure(lengths="words.tsv")]).iloc[0, 0]


def test_calibrations_by_topic_stand_side_by_side(prints, says):
    half = rows().assign(topic=lambda log: log["user"].map(lambda user: f"t{len(user) - 1}"))
    half.to_csv("log.csv", index=False)
    out = prints("calibrate", "log.csv", "--by", "topic", "--resamples", 20)
    expected = calibrate(InteractionLog.read("log.csv"), by="topic", resamples=20).parameters
    for group, parameters in expected.iterrows():
        (line,) = (line.split() for line in out.splitlines() if line.startswith(f"{group} "))
        assert line[3:] == [f"{value:.3g}" for value in parameters if value == value]
    assert "Leave out --by" in says("calibrate", "log.csv", "--by", "topic", "-o", "calibration.json")


@pytest.mark.parametrize("by", [(), ("--by", "topic")])
def test_calibrations_fit_the_screen(prints, monkeypatch, by):
    """Names of parameters and groups are complete on all screens; broken lines are joined for this test."""
    half = rows().assign(topic=lambda log: log["user"].map(lambda user: f"users_of_class_{len(user) - 1}"))
    half.to_csv("log.csv", index=False)
    names = calibrate(InteractionLog.read("log.csv"), resamples=20).parameters()
    for width in (40, 60, 80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        out = prints("calibrate", "log.csv", *by, "--resamples", 20)
        assert max(map(len, out.splitlines())) <= width
        assert "…" not in out
        letters = "".join(out.split())
        assert all(name in letters for name in names) or by or width == 40
        assert "half_life" in out


def test_pictures_are_drawn_of_what_the_log_tells(prints, cli, tmp_path):
    prints("calibrate", "log.csv", "--resamples", 20, "--pictures", "pictures")
    names = sorted(path.name for path in (tmp_path / "pictures").iterdir())
    assert names == ["progress.svg", "reading_times.svg", "survival.svg"]
    clicks_only = rows()[["user", "session", "topic", "rank", "docno", "clicked", "grade"]]
    clicks_only.to_csv("clicks.csv", index=False)
    code, _, err = cli("calibrate", "clicks.csv", "--resamples", 20, "--pictures", "fewer")
    assert code == 0
    assert "No picture of reading times" in err


def test_broken_logs_name_the_row_or_count_sessions_left_out(says, prints):
    broken = rows()
    broken.loc[17, "summary_seconds"] = -3
    broken.to_csv("log.csv", index=False)
    message = says("calibrate", "log.csv")
    assert "log.csv" in message
    assert "-3" in message
    assert "u1" in message
    assert "--exclude-broken leaves out" in message
    assert "29 users" in prints("calibrate", "log.csv", "--exclude-broken", "--resamples", 20)


def test_simulated_users_are_those_of_the_package(prints):
    options = "-m TBG(unseen=12) --lengths words.tsv --users 200 --seed 7 --reading exponential --sampling stratified"
    table = prints("simulate", "qrels.txt", "runs/good.txt", *options.split())
    assert "200 users of TBG" in " ".join(table.split())
    prints("simulate", "qrels.txt", "runs/good.txt", *options.split(), "--by-query", "-o", "users.parquet")
    how = {"users": 200, "seed": 7, "reading": "exponential", "sampling": "stratified"}
    expected = simulate("qrels.txt", {"good": "runs/good.txt"}, "TBG(unseen=12,lengths='words.tsv')", **how)
    kept = pd.read_parquet("users.parquet").set_index(["run", "query_id"])
    pd.testing.assert_frame_equal(kept, expected.by_query, check_index_type=False)


def test_what_cannot_be_calibrated_or_simulated_is_one_line(says):
    runs = "simulate qrels.txt runs/good.txt -m"
    for words, message in {
        "calibrate nowhere.csv": "nowhere.csv", "calibrate .": "--from chiir24", "calibrate log.csv --depth deep": "--depth",
        "calibrate log.csv -o no/where.json": "no directory", "calibrate log.csv --confidence 2": "confidence",
        f"{runs} Bpref": "no user model", f"{runs} TBG": "--lengths FILE", f"{runs} AP --users 0": "--users",
        f"{runs} AP -m ERR": "takes one measure, and -m gives 2: AP, ERR.", f"{runs} AP --sampling odd": "--sampling",
    }.items():  # fmt: skip
        assert message in says(*words.split()), words


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_simulation_explains_its_columns_and_fits_the_screen(prints, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    arguments = ("simulate", "qrels.txt", "runs/good.txt", "-m", "TBG", "--lengths", "words.tsv", "--users", 20)
    lines = prints(*arguments).splitlines()
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    for column in ("gain, time (seconds) and items:", "score:", "(error)", "analytic:", "nothing:", "never:"):
        assert column in text
    assert "20 users of TBG on each of 2 topics" in text
    assert "averaged over topics" in text
    by_query = prints(*arguments, "--by-query")
    assert max(map(len, by_query.splitlines())) <= width
    assert "of a topic. score" in " ".join(by_query.split())


def test_notes_on_simulated_users_name_what_the_command_line_has(prints):
    Path("both.txt").write_text("q1 0 d1 1\nq1 0 d2 1\n")
    Path("long.tsv").write_text("docno\twords\nd1\t12000\nd2\t100\nd4\t80\nd9\t80\n")
    measure = ("-m", "TBG", "--lengths", "long.tsv", "--users", "50000")
    text = " ".join(prints("simulate", "both.txt", "runs/good.txt", *measure).split())
    assert "A measure with a cost of unseen items, such as TBG(unseen=12), counts those below it." in text
    assert "pyterrier_cwla.behaviour.expected_saves computes this mean exactly." in text
    # With few users, the mean may be below the measure, or above it within the standard error.
    qrels, run, noted = {"q": {"a": 1, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}, set()
    for users, seed in [(1, 0), *((20, seed) for seed in range(6)), (50_000, 0)]:
        found = simulate(qrels, run, TBG(lengths={"a": 12_000, "b": 100}), users, seed, progress=False)
        mean = found.mean.iloc[0]
        above = bool(mean["score"] - mean["analytic"] > 2 * mean["error"])
        assert any("Jensen" in note for note in found.notes) == above
        noted.add((users, above))
    assert noted >= {(1, False), (20, False), (50_000, True)}


def test_too_many_users_are_one_line(says):
    arguments = ("simulate", "qrels.txt", "runs/good.txt", "-m", "AP", "--sampling")
    for users in ("1e14", "100000000000000", "9" * 400, "9" * 5000):
        for sampling in ("plain", "antithetic"):
            assert "--users" in says(*arguments, sampling, "--users", users)
    with pytest.raises(BadParameter, match="antithetic users come in pairs"):
        simulate("qrels.txt", "runs/good.txt", "AP", users=10**5000 + 1, sampling="antithetic")


def test_search_engine_clicks_are_read_with_sessions_or_times(prints, says):
    clicks = rows().rename(columns={"topic": "query", "docno": "document", "clicked": "click"})
    table = rows()[["user", "session", "topic", "rank", "docno", "clicked", "grade"]]
    table.to_csv("few.csv", index=False)
    expected = prints("calibrate", "few.csv", "--resamples", 20)
    names = ["user", "session", "query", "rank", "document", "click", "grade"]
    for name in ("clicks.tsv", "clicks.parquet"):
        clicks = clicks[names]
        clicks.to_parquet(name) if name.endswith("t") else clicks.to_csv(name, sep="\t", index=False)
        assert prints("calibrate", name, "--from", "clicks", "--resamples", 20) == expected
    dated = clicks.assign(time="2026-01-01T10:00:05")
    dated.to_csv("dated.csv", index=False)
    assert "half_life" in prints("calibrate", "dated.csv", "--from", "clicks", "--resamples", 20)
    shown = clicks.drop(columns="session").assign(time="2026-01-01 10:00")
    shown.drop_duplicates(["user", "query"]).to_csv("times.csv", index=False)
    message = says("calibrate", "times.csv", "--from", "clicks", "--resamples", 20)
    assert message.startswith("times.csv: nothing can be calibrated from this log: the log has no column")
    clicks.drop(columns=["query", "click"]).to_csv("less.csv", index=False)
    message = says("calibrate", "less.csv", "--from", "clicks")
    assert message.startswith("less.csv: no column 'query', 'clicked'; there is 'user', 'session', 'rank', ")

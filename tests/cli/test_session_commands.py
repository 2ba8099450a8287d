"""Command ``sessions``: its output equals the scores of evaluate_sessions, and errors are one line."""

import json

import pandas as pd
import pytest

from pyterrier_cwla import evaluate_sessions

USERS = "SessionCWLA(C='rbp(0.5)',A='erg',rho={1:0.5,2:0.25},max_rel=2)"


@pytest.fixture
def files(tmp_path, monkeypatch):
    (tmp_path / "qrels.txt").write_text("t1 0 a 2\nt1 0 b 1\nt2 0 c 1\n")
    (tmp_path / "run.txt").write_text("q1 Q0 x 1 2 t\nq1 Q0 b 2 1 t\nq3 Q0 a 1 1 t\nq4 Q0 c 1 3 t\n")
    (tmp_path / "other.txt").write_text("q1 Q0 a 1 2 t\nq3 Q0 x 1 1 t\nq4 Q0 x 1 3 t\n")
    (tmp_path / "sessions.csv").write_text("session,query_id,order,topic\n1,q1,1,t1\n1,q2,2,t1\n1,q3,3,t1\n2,q4,1,t2\n")
    (tmp_path / "words.tsv").write_text("a\t100\nb\t50\nc\t70\nx\t900\n")
    monkeypatch.chdir(tmp_path)


GIVEN = ("sessions", "qrels.txt", "run.txt", "other.txt", "--sessions", "sessions.csv", "--judged-by", "topic")


def expected(run, measures):
    table = pd.read_csv("sessions.csv", dtype={"session": str})
    return evaluate_sessions("qrels.txt", run, table, measures, judged_by="topic")


@pytest.mark.slow
def test_runs_have_means_of_sessions_and_sums_of_counts(files, prints):
    measures = {"users": USERS, "RR": "RR", "NumRet": "NumRet"}
    options = ("-m", f"users={USERS}", "-m", "RR,NumRet", "--format", "jsonl")
    for line, name in zip(prints(*GIVEN, *options).splitlines(), ("run", "other"), strict=True):
        row, scores = json.loads(line), expected(f"{name}.txt", measures)
        assert row.pop("run") == name
        assert row == pytest.approx({**scores.mean(), "NumRet": scores["NumRet"].sum()}, abs=1e-12)


@pytest.mark.slow
def test_texts_say_what_the_lines_are(files, prints):
    text = prints(*GIVEN, "-m", "sDCG,NumRet")
    assert "Means over 2 sessions; sums of NumRet." in text
    text = prints(*GIVEN, "-m", "sDCG", "--by-session")
    assert "session" in text
    assert "all 2" in text
    assert "run & session & sDCG" in prints(*GIVEN, "-m", "sDCG", "--by-session", "--format", "latex")
    assert "esNDCG@10" in prints(*GIVEN)


def test_lengths_and_costs_are_bound_to_the_users_of_a_session(files, prints, tmp_path):
    measure = "SessionCWLA(C='decay(20)',A='etg',rho=0.5,gain='binary',effort='time')"
    text = prints(*GIVEN[:-2], "--judged-by", "topic", "-m", measure, "--lengths", "words.tsv", "--format", "csv")
    value = expected("run.txt", [measure.replace("'time'", "'time',lengths='words.tsv'")]).mean().item()
    assert float(text.splitlines()[1].rpartition(",")[2]) == pytest.approx(value)
    costs = {"a": 3.0, "b": 1.0, "c": 2.0, "x": 5.0}
    (tmp_path / "costs.tsv").write_text("".join(f"{doc}\t{cost}\n" for doc, cost in costs.items()))
    text = "SessionCWLA(C='rbp(0.5)',A='erg',rho=0.5,effort='seconds',unseen=4,max_rel=2)"
    more = ("-m", f"known={text}", "--costs", "costs.tsv", "--format", "jsonl")
    (row,) = prints(*GIVEN[:3], *GIVEN[4:], *more).splitlines()
    known = expected("run.txt", {"known": text.replace("unseen=4", f"unseen=4,costs={costs}")})
    assert json.loads(row)["known"] == pytest.approx(known["known"].mean(), rel=1e-9)


def test_errors_are_one_line(files, says):
    for more, message in (
        (("-m", "sDCG", "--sessions", "session.csv"), "session.csv: no such file or directory. Near: 'sessions.csv'"),
        (("-m", "sDCG", "--judged-by", "Topic"), "no column 'Topic'"),
        (("-m", USERS.replace(",2:0.25", "")), "session '1' has 3 queries, and rho has probabilities after the first"),
        (("-m", USERS.replace("max_rel=2", "max_rel=1")), "grade 2, above max_rel=1"),
        (("-m", "SessionCWLA(C='rbp(0.5)',A='erg')"), "SessionCWLA needs rho="),
    ):
        assert message in says(*GIVEN, *more)

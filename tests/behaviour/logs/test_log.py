"""Tests of interaction logs: valid and invalid rows, input forms, and adapters of public datasets."""

import math
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pyterrier_cwla.behaviour.logs.adapters import chiir24_log, click_log
from pyterrier_cwla.behaviour.logs.calibration import calibrate
from pyterrier_cwla.behaviour.logs.log import COLUMNS, InteractionLog
from pyterrier_cwla.errors import BadLog, BadParameter, MalformedFile
from pyterrier_cwla.measures.calibrations import NUMBERS
from tests.support.messages import refused

UNKNOWN = float("nan")


@st.composite
def logs(draw):
    """Generate rows of a valid log in any order; each document has one grade per topic, and one length."""
    seconds = st.floats(0, 1e4, allow_subnormal=False)
    words = draw(st.lists(st.integers(0, 2000), min_size=8, max_size=8))
    grades = draw(st.lists(st.sampled_from([UNKNOWN, -1.0, 0.0, 1.0, 2.5]), min_size=16, max_size=16))
    rows = []
    for number in range(draw(st.integers(1, 5))):
        user, topic = f"0{draw(st.integers(0, 2))}", draw(st.integers(0, 1))
        cut_off = draw(st.booleans())
        ranks = sorted(draw(st.sets(st.integers(1, 30), min_size=1, max_size=8)))
        documents = draw(st.permutations(range(8)))
        for rank, document in zip(ranks, documents):
            seen = draw(st.booleans())
            clicked = seen and draw(st.booleans())
            rows.append(dict(
                user=user, session=f"s{number}", topic=f"t{topic}", rank=rank, docno=f"00{document}", clicked=clicked,
                grade=grades[8 * topic + document], seen=seen, saved=clicked and draw(st.booleans()),
                summary_seconds=draw(seconds), document_seconds=draw(seconds) if clicked else UNKNOWN,
                words=float(words[document]), duplicate=draw(st.booleans()), cut_off=cut_off,
                time=draw(seconds) if clicked else UNKNOWN, layout=draw(st.sampled_from(["list", "007"])),
            ))  # fmt: skip
    return draw(st.permutations(rows))


@pytest.mark.slow
@given(logs(), st.sampled_from(["x.parquet", "x.csv", "x.tsv", "x.csv.gz", "x.tsv.gz", "x.csv.zst"]))
def test_valid_logs_are_sorted_typed_and_come_back_from_files(tmp_path_factory, rows, name):
    log, path = InteractionLog.of(rows), tmp_path_factory.mktemp("logs") / name
    log.save(path)
    pd.testing.assert_frame_equal(InteractionLog.read(path).rows, log.rows)
    in_order = sorted(rows, key=lambda row: (row["user"], row["session"], row["rank"]))
    for found, row in zip(log.rows.to_dict("records"), in_order, strict=True):
        for name, value in row.items():
            assert found.get(name, UNKNOWN) == value or (value != value and math.isnan(found.get(name, UNKNOWN)))
    for name in set(COLUMNS) & set(log.rows):
        kind = log.rows[name].dtype
        if name in ("user", "session", "topic", "docno"):
            assert log.rows[name].map(type).eq(str).all()
        elif name == "rank":
            assert kind == np.int64
        else:
            assert kind == (bool if name in ("clicked", "saved", "seen", "duplicate", "cut_off") else np.float64)
    assert log.rows.index.equals(pd.RangeIndex(len(rows)))
    assert not log.excluded


def test_parquet_keeps_what_was_left_out_and_the_notes(tmp_path):
    log = InteractionLog(InteractionLog.of(base()).rows, {"a rank twice in a session": 3}, ("one", "two"))
    log.save(tmp_path / "log.parquet")
    back = InteractionLog.read(tmp_path / "log.parquet")
    assert (back.excluded, back.notes) == (log.excluded, log.notes)
    # Ratings, sessions and texts have the same reader; it does not read the metadata of pandas.
    rows = pa.Table.from_pandas(base())
    pq.write_table(rows.replace_schema_metadata({"pandas": "{no JSON"}), tmp_path / "log.parquet")
    pd.testing.assert_frame_equal(InteractionLog.read(tmp_path / "log.parquet").rows, log.rows)


def test_the_constructor_validates_and_sorts_as_of_does():
    frame, expected = base(), InteractionLog.of(base())
    mixed = InteractionLog(frame.iloc[::-1].astype({"clicked": int}), notes=("mixed",))
    pd.testing.assert_frame_equal(mixed.rows, expected.rows)
    assert mixed.notes == ("mixed",)
    assert refused(lambda: InteractionLog(damaged({(12, "saved"): "yes"})), BadLog) == (
        "row 12 (user 'ann', session '1', rank 3): saved is neither true nor false (saved='yes'). Give a boolean, 0 or"
        " 1, or 'true' or 'false'. InteractionLog.of(rows, broken='exclude') leaves out all sessions with such rows."
    )
    unclicked = expected.rows.assign(clicked=False, saved=False)
    refused(lambda: replace(expected, rows=unclicked), BadLog, "a document that was not clicked")
    assert replace(expected, notes=("kept",)).rows is expected.rows  # rows of a log are not validated again
    for path in ("log.csv", Path("log.csv")):
        refused(partial(calibrate, path), BadLog, "InteractionLog.read('log.csv') reads a file")


@pytest.mark.slow
def test_all_forms_give_the_same_log():
    frame = base()
    expected = InteractionLog.of(frame)
    dicts = frame.to_dict("records")
    for form in (pl.from_pandas(frame), pl.from_pandas(frame).lazy(), pa.Table.from_pandas(frame), dicts, iter(dicts)):
        pd.testing.assert_frame_equal(InteractionLog.of(form).rows, expected.rows)
    as_text = frame.assign(clicked=frame["clicked"].astype(str).str.upper(), saved=frame["saved"].astype(int))
    as_text["rank"], as_text["seen"] = as_text["rank"].astype(str), frame["seen"].map({True: "1", False: "0"})
    as_text["user"] = as_text["user"].astype("category")
    pd.testing.assert_frame_equal(InteractionLog.of(as_text).rows, expected.rows)


def base():
    """Rows of two users and three sessions; the index labels are not positions."""
    rows = [
        ("ann", "1", "q", 1, "d1", True, 1.0, True, True, 2.0, 30.0, 100.0, False, 2.0, False),
        ("ann", "1", "q", 2, "d2", False, 0.0, True, False, 1.0, UNKNOWN, 200.0, False, 3.0, False),
        ("ann", "1", "q", 3, "d3", True, UNKNOWN, True, False, 1.5, 8.0, 300.0, True, 36.5, False),
        ("ann", "2", "p", 1, "d1", False, 2.0, True, False, 1.0, UNKNOWN, 100.0, False, 1.0, True),
        ("ann", "2", "p", 2, "d9", False, 0.0, False, False, UNKNOWN, UNKNOWN, UNKNOWN, False, UNKNOWN, True),
        ("bob", "1", "q", 1, "d1", True, 1.0, True, False, 4.0, 9.0, 100.0, False, 4.0, False),
        ("bob", "1", "q", 2, "d2", False, 0.0, True, False, 1.0, UNKNOWN, 200.0, False, 12.0, False),
    ]
    columns = [name for name in COLUMNS if name != "clicks"]
    return pd.DataFrame(rows, columns=columns, index=range(10, 17))


def damaged(cells):
    frame = base().astype(object)
    for (row, column), value in cells.items():
        frame.loc[row, column] = value
    return frame


@pytest.mark.parametrize(("row", "column", "value", "reason", "sessions"), [
    (16, "grade", 1.0, "a document with two grades for a topic", 2),
    (16, "words", 201.0, "a document with two lengths", 2),
    (13, "words", 99.0, "a document with two lengths", 3),
])  # fmt: skip
def test_sessions_that_contradict_each_other_are_all_left_out(row, column, value, reason, sessions):
    frame = damaged({(row, column): value})
    message = refused(lambda: InteractionLog.of(frame), BadLog, f"): {reason} (", f"{column}={value!r}")
    assert message.startswith(f"row {row} (user ")
    if sessions == 3:
        says = "the log has no valid session", f"'{reason}': 3"
        refused(lambda: InteractionLog.of(frame, broken="exclude"), BadLog, *says)
        return
    log = InteractionLog.of(frame, broken="exclude")
    assert log.excluded == {reason: sessions}
    assert set(zip(log.rows["user"], log.rows["session"])) == {("ann", "2")}
    assert f"Left out: {sessions} sessions ({reason}: {sessions})." in repr(log)


UNCLICKED = dict(clicked=False, saved=False)
ANYWHERE = {
    "the rank is not a positive integer": lambda row, first: row.update(rank=1.5),
    "no topic": lambda row, first: row.update(topic=None),
    "cut_off is missing": lambda row, first: row.update(cut_off=None),
    "saved is missing": lambda row, first: row.update(clicked=True, seen=True, saved=None),
    "grade is infinite": lambda row, first: row.update(grade=-math.inf),
    "grade is not a number": lambda row, first: row.update(grade="good"),
    "no docno": lambda row, first: row.update(docno=None),
    "clicked is neither true nor false": lambda row, first: row.update(clicked="maybe"),
    "seen is missing": lambda row, first: row.update(seen=None),
    "words is negative or infinite": lambda row, first: row.update(words=-1.0),
    "time is negative or infinite": lambda row, first: row.update(time=math.inf),
    "summary_seconds is not a number": lambda row, first: row.update(summary_seconds="?"),
    "a click on a result that was not seen": lambda row, first: row.update(clicked=True, seen=False),
    "saved without a click": lambda row, first: row.update(clicked=False, saved=True),
    "seconds on a document that was not clicked": lambda row, first: row.update(UNCLICKED, document_seconds=2.0),
    "a session with two topics": lambda row, first: row.update(topic=first["topic"] + "x"),
    "a session with two values of cut_off": lambda row, first: row.update(cut_off=not first["cut_off"]),
    "a rank twice in a session": lambda row, first: row.update(rank=first["rank"]),
    "a document twice in a session": lambda row, first: row.update(docno=first["docno"]),
}


def test_each_damage_is_an_error_that_names_the_row():
    for reason, damage in ANYWHERE.items():
        rows = base().to_dict("records")
        damage(rows[2], rows[0])
        frame = pd.DataFrame(rows, index=base().index)
        who = f"(user 'ann', session '1', rank {rows[2]['rank']})"
        assert refused(partial(InteractionLog.of, frame), BadLog).startswith(f"row 12 {who}: {reason}")


@pytest.mark.slow
@given(logs(), st.sampled_from(sorted(ANYWHERE)), st.data())
def test_damage_in_any_row_of_any_log_is_found_there(rows, reason, data):
    first, later = {}, []
    for number, row in enumerate(rows):
        if first.setdefault((row["user"], row["session"]), row) is not row:
            later.append(number)
    assume(later)
    broken = data.draw(st.sampled_from(later))
    row = rows[broken]
    key = row["user"], row["session"]
    ANYWHERE[reason](row, first[key])
    frame = pd.DataFrame(rows, index=[f"r{number}" for number in range(len(rows))])
    who = f"(user {row['user']!r}, session {row['session']!r}, rank {row['rank']!r})"
    assert refused(lambda: InteractionLog.of(frame), BadLog).startswith(f"row r{broken} {who}: {reason}")
    left = [row for row in rows if (row["user"], row["session"]) != key]
    if left:
        log = InteractionLog.of(pd.DataFrame(rows), broken="exclude")
        assert log.excluded == {reason: 1}
        pd.testing.assert_frame_equal(log.rows, InteractionLog.of(left).rows, check_dtype=False)


def test_the_documentation_has_every_column_and_those_that_estimates_need():
    page = (Path(__file__).parents[3] / "docs" / "logs.rst").read_text(encoding="utf-8")
    columns, table, _ = re.split(r"\n(?:Calibration|Click metrics)\n---+", page)
    assert re.findall(r"\* - ``(\w+)``", columns) == list(COLUMNS)
    rows = re.findall(r"\* - (``.*)\n     - (.*)", table)
    assert len(rows) == 8
    for estimates, needed in rows:
        for name in re.findall(r"``(\w+)", estimates):
            assert any(known.startswith(name) for known in NUMBERS)
        assert set(re.findall(r"``(\w+)``", needed)) <= COLUMNS.keys()


def test_a_session_counts_once_and_its_conflicts_do_not():
    log = InteractionLog.of(damaged({(11, "saved"): True, (12, "rank"): 2, (16, "time"): -1}), broken="exclude")
    assert log.excluded == {"time is negative or infinite": 1, "a rank twice in a session": 1}
    frame = damaged({(16, "grade"): 1.0, (16, "time"): -1})
    before = frame.copy()
    assert InteractionLog.of(frame, broken="exclude").excluded == {"time is negative or infinite": 1}
    pd.testing.assert_frame_equal(frame, before)


def test_a_selection_of_no_row_is_refused():
    refused(lambda: InteractionLog.of(base()).only(np.zeros(7, bool)), BadLog, "selects none")
    says = "broken='drop' must be 'error' or 'exclude'"
    refused(lambda: InteractionLog.of(base(), broken="drop"), BadParameter, says)
    for broken in ("error", "exclude"):
        rows, says = damaged({(12, "user"): None}), "row 12: no user; every row needs a user and a session"
        refused(partial(InteractionLog.of, rows, broken), BadLog, says)


IDS = ["user", "session", "topic", "docno"]
REQUIRED = [*IDS, "rank", "clicked"]
REFUSED = [
    (base().iloc[:0], "the log is empty"),
    ([], "the log is empty"),
    (3, "not int"),
    (pd.concat([base(), base()[["user"]]], axis=1), "column 'user' twice"),
    (base().assign(time="12,5"), "time is not a number"),
    (base().assign(summary_seconds=pd.Timestamp("2024-01-01")), "contains dates; it must contain seconds"),
    (damaged({(16, "grade"): 1.0}), "grade=1.0), and row 11 has grade=0.0; 2 rows in all."),
    (damaged({(12, "docno"): "d1"}), "(docno='d1'), and row 10 has docno='d1'"),
    (damaged({(12, "session"): None}), "row 12: no session; every row needs a user and a session"),
    (base().rename(columns={"summary_seconds": "summary_second"}),
     "column 'summary_second' and no column 'summary_seconds' … rename the column"),
    (base().rename(columns={"words": "Words"}), "column 'Words' and no column 'words'"),
    *((base().assign(**{name: range(7)}), f"{name} of the log must be strings … astype(str)") for name in IDS),
    *((damaged({(12, name): 7}), f"{name} of the log must be strings, and 7 is of type int") for name in IDS),
    *((base().rename(columns={name: f"{name}_x"}), f"no column '{name}' … Near: '{name}_x'") for name in REQUIRED),
    *((base().drop(columns=name), f"no column '{name}' … The columns are '") for name in REQUIRED),
]  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize(("rows", "says"), REFUSED)
def test_rows_that_are_refused(rows, says):
    refused(lambda: InteractionLog.of(rows), BadLog, *says.split(" … "))


@pytest.mark.slow
def test_dates_of_clicks_are_seconds_from_the_first_of_the_session():
    seconds = [9.0, 3.0, 0.0, 2.0, UNKNOWN, 4.0, 0.5]
    dates = pd.Timestamp("2024-01-01T10:00:00+01:00") + pd.to_timedelta(seconds, "s")
    rows = base()
    first = rows.assign(time=seconds).groupby(["user", "session"])["time"].transform("min")
    expected = InteractionLog.of(rows.assign(time=seconds - first)).rows
    for times in (dates, dates.strftime("%Y-%m-%dT%H:%M:%S.%f")):
        found = InteractionLog.of(rows.assign(time=times)).rows
        pd.testing.assert_frame_equal(found, expected)
    in_texts = InteractionLog.of(rows.assign(time=[str(2000 + row) for row in range(7)])).rows  # no years
    assert in_texts["time"].tolist() == [*range(2000, 2007)]


def test_users_jump_gaps_in_ranks_stay_and_empty_columns_go():
    frame = base().assign(time=[9.0, 3.0, 1.0, 2.0, UNKNOWN, 4.0, 0.0], rank=[1, 5, 9, 2, 7, 3, 4])
    assert InteractionLog.of(frame).rows["time"].tolist()[:3] == [9.0, 3.0, 1.0]
    log = InteractionLog.of(base().assign(words=UNKNOWN, seen=None, duplicate=""))
    assert not {"words", "seen", "duplicate"} & set(log.rows)
    assert "Not known: seen (all results count as seen), clicks, words, duplicate." in repr(log)
    # Where nothing was clicked, saved may be empty, and seconds 0.
    frame = damaged({(11, "saved"): None, (11, "document_seconds"): 0.0, (10, "document_seconds"): 0.0})
    rows = InteractionLog.of(frame).rows
    assert rows["saved"].tolist() == base()["saved"].tolist()
    assert rows["document_seconds"][0] == 0
    assert math.isnan(rows["document_seconds"][1])


def test_a_log_says_what_it_knows():
    log = InteractionLog.of(base())
    assert repr(log).splitlines() == [
        "A log of 2 users, 3 sessions, 7 results, 3 clicked.",
        "Known: user, session, topic, rank, docno, clicked, grade (6 of 7 results), seen, saved,"
        " summary_seconds (6 of 7 results), document_seconds, words (6 of 7 results), duplicate,"
        " time (6 of 7 results), cut_off.",
        "Not known: clicks.",
    ]
    assert log.users.tolist() == ["ann", "bob"]
    assert (len(log), log.has("words"), log.has("layout")) == (7, True, False)
    only = log.only(log.rows["user"] == "bob")
    assert len(only) == 2
    assert "Only one user: estimates have no intervals." in repr(only)
    more = InteractionLog.of(base().assign(layout=list("<bcdefg"), word=1))  # words exists, so word is an extra column
    assert more.rows["layout"].tolist() == list("<bcdefg")
    assert "Other columns: layout, word." in repr(more)
    page = InteractionLog.of(base().assign(**{"<b>": 1}))._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page


def slow_sessions(rows):
    """Build one dict per session, by loops."""
    found = {}
    for row in rows:
        found.setdefault((row["user"], row["session"]), []).append(row)
    for (user, session), of in sorted(found.items()):
        summary = [row["summary_seconds"] for row in of if not math.isnan(row["summary_seconds"])]
        clicked = [row for row in of if row["clicked"]]
        times = [row["time"] for row in clicked if not math.isnan(row["time"])]
        yield dict(
            user=user, session=session, topic=of[0]["topic"], cut_off=of[0]["cut_off"], clicks=len(clicked),
            results=sum(row["seen"] for row in of), depth=max((row["rank"] for row in clicked), default=0),
            summary_seconds=sum(summary) if summary else UNKNOWN, last_click=max(times, default=UNKNOWN),
            document_seconds=sum(row["document_seconds"] for row in clicked),
        )  # fmt: skip


@pytest.mark.slow
@given(logs(), st.randoms(use_true_random=False))
def test_sessions_are_sums_over_their_rows(rows, random):
    for row in rows:
        for column in ("summary_seconds", "document_seconds", "time"):
            if random.random() < 0.2:
                row[column] = UNKNOWN
    log = InteractionLog.of(rows)
    known = any(row["clicked"] and not math.isnan(row["document_seconds"]) for row in rows)
    for found, expected in zip(log.sessions.to_dict("records"), slow_sessions(rows), strict=True):
        if not known:
            expected["document_seconds"] = UNKNOWN
        for name, value in expected.items():
            assert found[name] == (pytest.approx(value, nan_ok=True) if isinstance(value, float) else value)


def test_ids_in_files_stay_as_they_are_written(tmp_path):
    """The fuzz target ``logs`` has more files, read by a slow reader."""
    text = "user,session,topic,rank,docno,clicked,saved\n007,01,1e5,1,0x1,1,\n007,01,1e5,2,NA,0,\n\n08,true,1,1,1.0,FALSE,\n"
    ids = [["007", "01", "1e5", "0x1"], ["007", "01", "1e5", "NA"], ["08", "true", "1", "1.0"]]
    for name, content in (("log.csv", text), ("log.tsv", text.replace(",", "\t")), ("log.txt", "\ufeff" + text)):
        (tmp_path / name).write_text(content, encoding="utf-8")
        rows = InteractionLog.read(tmp_path / name).rows
        assert rows[["user", "session", "topic", "docno"]].to_numpy().tolist() == ids
        assert rows["clicked"].tolist() == [True, False, False]
        assert "saved" not in rows


@pytest.mark.slow
def test_a_broken_row_of_a_file_is_named_by_its_line(tmp_path):
    path, parquet = tmp_path / "log.csv", tmp_path / "log.parquet"
    head = "user,session,topic,rank,docno,clicked\n"
    for lines, error, says in (
        ("ann,1,q,1,a,1\n\nann,1,q,1,b,0\n", BadLog, "log.csv:4 (user 'ann', session '1', rank '1'): a rank twice in"),
        ("ann,1,q,1,a,1\nann,1,q,2,b\n", MalformedFile, "log.csv:3: expected 6 fields"),
    ):
        path.write_text(head + lines)
        refused(lambda: InteractionLog.read(path), error, says)
    base().assign(rank=[1, 1, 3, 1, 2, 1, 2]).to_parquet(parquet, index=False)
    says = "log.parquet: row 2 (user 'ann'", ", and ", "log.parquet: row 1 has rank=1"
    refused(lambda: InteractionLog.read(parquet), BadLog, *says)
    assert InteractionLog.read(parquet, broken="exclude").excluded == {"a rank twice in a session": 1}
    base().assign(user=range(7)).to_parquet(parquet, index=False)
    refused(lambda: InteractionLog.read(parquet), BadLog, "user of the log", "must be strings")


def test_what_is_no_file_of_a_log_says_so(tmp_path):
    (tmp_path / "empty.csv").write_text("\n")
    (tmp_path / "wide.csv").write_text("user,session\n", encoding="utf-16")
    (tmp_path / "broken.parquet").write_text("PAR1")
    for name in ("empty.csv", "wide.csv", "broken.parquet", "none.csv"):
        refused(partial(InteractionLog.read, tmp_path / name), MalformedFile, name)
    (tmp_path / "head.csv").write_text("user,session,topic,rank,docno,clicked\n")
    refused(lambda: InteractionLog.read(tmp_path / "head.csv"), BadLog, "head.csv is empty")
    refused(lambda: InteractionLog.of(base()).save(tmp_path / "log.xlsx"), BadParameter, "saved as .parquet")


@pytest.mark.slow
@pytest.mark.real_data
def test_the_study_s_log_has_all_impressions_documents_and_rates(data):
    log = chiir24_log(data / "chiir24-satisfaction")
    rows = log.rows
    assert (len(rows), len(log.users), len(log.sessions), rows["clicked"].sum()) == (21_765, 165, 1_366, 5_764)
    assert rows["document_seconds"].notna().sum() == 5_713
    assert not log.excluded
    numbers = [re.findall(r"\d[\d,]*", note) for note in log.notes[1:]]
    assert numbers == [["308"], ["399"], ["51"], ["887"], ["10", "12", "4,355"]]
    shown, opened = (
        pd.read_csv(data / "chiir24-satisfaction" / f"{name}_annotation.csv.gz").groupby("actual_qrel_value")
        for name in ("serp", "document")
    )
    by_grade, known = rows.groupby("grade"), rows[rows["document_seconds"].notna()].groupby("grade")
    assert by_grade["clicks"].mean().to_dict() == shown["click"].mean().to_dict()
    assert known["saved"].mean().to_dict() == opened["judgement"].mean().to_dict()
    assert known["document_seconds"].mean().to_dict() == pytest.approx(opened["total_time"].mean().to_dict())
    assert by_grade["summary_seconds"].sum().to_dict() == pytest.approx(shown["time_spent"].sum().to_dict())
    assert rows[rows["clicked"]].groupby("grade")["saved"].mean().round(3).tolist() == [0.347, 0.659]


@pytest.mark.slow
@pytest.mark.real_data
def test_a_new_list_begins_where_the_study_shuffled_anew(data):
    """The study stores the last shuffle of each user and topic, so only the last list of a query may agree with it."""
    import json

    folder = data / "chiir24-satisfaction"
    rows = chiir24_log(folder).rows
    last = pd.read_csv(folder / "topic_annotation.csv.gz").dropna(subset=["dict_shuffled_ranks"])
    checked = 0
    for user, topic, qid, ranks in zip(last["user"], last["topic"], last["qid"], last["dict_shuffled_ranks"]):
        ranks = {doc.replace(" ", "-"): rank for doc, rank in json.loads(ranks).items()}
        of = rows[(rows["user"] == str(user)) & (rows["session"].str.fullmatch(f"{topic}-{qid}(/.*)?"))]
        if of["session"].nunique() > 1:
            agree = (of["docno"].map(ranks) == of["rank"]).groupby(of["session"]).mean()
            newest = max(agree.index, key=lambda name: int(f"{name}/1".split("/")[1]))
            checked += agree[newest] == 1.0
            assert (agree.drop(newest) < 0.3).all()
    assert checked == 34


def study(folder, opened=True):
    """Write a small study: a list shuffled twice, a document opened under a later query, a click without a result."""
    folder.mkdir(exist_ok=True)
    shown = [
        (3, 2, 1, "c", 2, 1),
        (1, 2, 1, "a", 1, 1),
        (2, 2, 3, "b", 0, 0),
        (4, 2, 4, "d", 1, 0),
        (5, 3, 1, "e", 0, 0),
    ]
    columns = ["id", "qid", "rank", "doc_id", "click", "actual_qrel_value"]
    more = dict(user=7, topic_id=31, query="it", time_spent=1.5, interface_type="BASE")
    pd.DataFrame(shown, columns=columns).assign(**more).to_csv(folder / "serp_annotation.csv", index=False)
    read = [(2, "a", 1, 20.0, 10.0, 30.0), (3, "c", 0, 700.0, 0.0, 700.0), (3, "z", 1, 1.0, 1.0, 2.0)]
    columns = ["qid", "doc_id", "judgement", "doc_decision_time", "doc_mark_item_time", "total_time"]
    table = pd.DataFrame(read[: 2 if opened else 3], columns=columns).assign(user=7, topic_id=31)
    table.to_csv(folder / "document_annotation.csv", index=False)
    return folder


def test_a_study_in_miniature(tmp_path):
    unseen = chiir24_log(study(tmp_path, opened=False))
    assert unseen.notes[-1] == "Excluded, without an impression and hence without a rank: 1 document."
    log = chiir24_log(study(tmp_path))
    assert log.rows[["session", "rank", "docno", "clicked", "saved"]].to_numpy().tolist() == [
        ["31-2", 1, "a", True, True],
        ["31-2", 3, "b", False, False],
        ["31-2/2", 1, "c", True, False],
        ["31-2/2", 4, "d", True, False],
        ["31-3", 1, "e", False, False],
    ]
    assert log.rows["document_seconds"].tolist() == pytest.approx([30, UNKNOWN, 700, UNKNOWN, UNKNOWN], nan_ok=True)
    assert log.notes == (
        "A row means that the page of the result was opened, not that the user inspected the result.",
        "Clicked more than once: 1 row (see the column clicks).",
        "Opened under a later query than the recorded one: 1 document.",
        "Clicked and not opened (seconds unknown, not saved): 1 row.",
        "In a list that was shuffled again, and so in a session of its own: 2 rows.",
        "Above 10 minutes on a document: 1 row, at most 700 s.",
    )


def test_a_study_with_a_hole_says_which(tmp_path):
    refused(lambda: chiir24_log(tmp_path), MalformedFile, "no serp_annotation.csv")
    study(tmp_path)
    table = pd.read_csv(tmp_path / "serp_annotation.csv")
    table.rename(columns={"click": "clicks"}).to_csv(tmp_path / "serp_annotation.csv", index=False)
    refused(lambda: chiir24_log(tmp_path), MalformedFile, "no column 'click'. Near: 'clicks'")
    pd.concat([table, table.iloc[:1]]).to_csv(tmp_path / "serp_annotation.csv", index=False)
    refused(lambda: chiir24_log(tmp_path), BadLog, "user '7' has, for topic '31', 'c' twice as impression")


def showing(time, documents, clicks=(), user="ann", query="q", first=1):
    """Return one impression of a list; ``clicks`` maps documents to the times of their clicks."""
    clicks = dict(clicks)
    return [
        dict(user=user, query=query, time=time, rank=rank, docno=doc, clicked=doc in clicks, click_time=clicks.get(doc))
        for rank, doc in enumerate(documents, first)
    ]


def told(log):
    rows = log.rows
    sessions = {}
    for user, session, rank, docno, clicked in zip(*(rows[c] for c in ("user", "session", "rank", "docno", "clicked"))):
        sessions.setdefault((user, session), []).append((rank, docno, clicked))
    return sessions


def slow_sessions_of(shown, idle):
    """Convert event by event: the results shown in each session, and the clicks that came too late."""
    found, late = {}, 0
    for user, query in sorted({(row["user"], row["query"]) for row in shown}):
        of = [row for row in shown if (row["user"], row["query"]) == (user, query)]
        events = sorted({(row["time"], 0) for row in of} | {(row["click_time"], 1) for row in of if row["clicked"]})
        number, page, at, start, part, part_of = 0, None, -math.inf, {}, 0, {}
        for time, kind in events:
            if time - at > idle:
                part, page = part + 1, None
            at = time
            part_of[time, kind] = part
            if kind == 0:
                new = {row["rank"]: row["docno"] for row in of if row["time"] == time}
                if page is not None:
                    back = {doc: rank for rank, doc in page.items()}
                    if any(page.get(r, d) != d or back.get(d, r) != r for r, d in new.items()):
                        page = None
                if page is None:
                    number, page = number + 1, {}
                page.update(new)
                start[time] = number
        for row in of:
            session = found.setdefault((user, f"{query}/{start[row['time']]}"), {})
            too_late = row["clicked"] and part_of[row["click_time"], 1] != part_of[row["time"], 0]
            late += too_late
            key = (row["rank"], row["docno"])
            session[key] = session.get(key, False) or (row["clicked"] and not too_late)
    return {key: sorted((r, d, c) for (r, d), c in of.items()) for key, of in found.items()}, late


@st.composite
def engines(draw):
    """Generate impressions with few documents and few times, so that pages return, change, and are clicked late."""
    shown = []
    for user in "ab":
        for query in "qr":
            for time in draw(st.lists(st.integers(0, 30), unique=True, max_size=5)):
                first = draw(st.sampled_from([1, 1, 3]))
                names = draw(st.sampled_from(["xy", "xy", "yx", "xz"] if first == 1 else ["uv", "ux"]))
                late = st.sampled_from([0, 0.5, 1, 3.5, 8])
                clicks = {doc: (time + draw(late)) * 1000.0 for doc in names if draw(st.booleans())}
                shown += showing(time * 1000.0, names, clicks, user, query, first)
    return shown


@pytest.mark.slow
@given(engines().filter(len), st.sampled_from([60, 15, 100]))
def test_search_engine_sessions_equal_a_loop_over_events(shown, idle):
    log = click_log(shown, idle_minutes=idle)
    expected, late = slow_sessions_of(shown, 60 * idle)
    assert told(log) == expected
    notes = " ".join(log.notes)
    assert (f"Ignored, after the end of the session: {late} click" in notes) == (late > 0)


def test_times_and_notes_of_search_engine_sessions():
    clicks = {0: (), 3600: {"b": 3700.0}, 7300: {"a": 7300.0}, 10901: ()}
    log = click_log([row for time, clicked in clicks.items() for row in showing(time, "ab", clicked)])
    assert [[clicked for _, _, clicked in of] for of in told(log).values()] == [[True, True], [False, False]]
    assert log.rows["time"].tolist()[:2] == [7300.0, 3700.0]
    assert log.notes == ("The log contains all results shown; which of them were seen is unknown.",)
    shown = showing(0, "ab") + showing(60, "cd", first=3) + showing(90, "ba", {"b": 95.0}) + showing(99, "cd", first=3)
    log = click_log(shown)
    assert [[docno for _, docno, _ in of] for of in told(log).values()] == [[*"abcd"], [*"bacd"]]
    assert "Started because the list of results changed: 1 session." in log.notes


@pytest.mark.slow
def test_dates_seconds_grades_and_foreign_columns():
    shown = pd.DataFrame(showing(0, "ab", {"b": 30.0}) + showing(90_000, "ab"))
    by_seconds = click_log(shown, qrels={"q": {"a": 2, "z": 1}})
    assert by_seconds.rows["grade"].tolist() == pytest.approx([2, UNKNOWN, 2, UNKNOWN], nan_ok=True)
    dated = {c: pd.to_datetime(shown[c], unit="s", utc=True) for c in ("time", "click_time")}
    dates = shown.assign(**dated, device="phone")
    by_dates = click_log(pl.from_pandas(dates))
    pd.testing.assert_frame_equal(by_dates.rows, by_seconds.rows.drop(columns="grade"))
    assert "Unused columns: 'device'." in by_dates.notes
    plain = click_log(shown.drop(columns="click_time"))
    assert "time" not in plain.rows
    assert told(plain) == told(by_seconds)


@pytest.mark.parametrize("change, message", [
    (dict(time=None), "row 5 has no time"),
    (dict(time="yesterday"), "row 5: time 'yesterday' is neither a date nor a number"),
    (dict(rank=1), "row 6 (user 'ann', session 'q at 0.0', rank 1): a rank twice in a session"),
    (dict(docno="a"), "row 6 … a document twice in a session"),
    (dict(clicked=None), "row 5 … clicked is missing"),
    (dict(clicked=0), "user 'ann', query 'q', rank 1: a click time without a click; 1 rows"),
    (dict(click_time=-1.0), "rank 1: a click before the impression"),
    (dict(query=3), "query of the results shown must be strings"),
    (dict(user=3), "user of the log must be strings"),
])  # fmt: skip
def test_what_a_search_engine_cannot_have_seen(change, message):
    frame = pd.DataFrame(showing(0.0, "ab", {"a": 3.0}), index=[5, 6]).astype(object)
    both = {"rank", "docno"} & change.keys()
    frame.loc[[5, 6] if both else 5, [*change]] = [*change.values()]
    refused(lambda: click_log(frame), BadLog, *message.split(" … "))


def test_columns_and_parameters_of_click_logs():
    shown = pd.DataFrame(showing(0.0, "ab", {"a": 3.0}))
    renamed, dated = shown.rename(columns={"query": "queries"}), shown.assign(time=pd.Timestamp("2024-01-01"))
    refused(lambda: click_log(renamed), BadLog, "no column 'query'. Near: ", "'queries'")
    refused(lambda: click_log(dated), BadLog, "must both be dates, or both be seconds")
    refused(lambda: click_log(shown, idle_minutes=0), BadParameter, "idle_minutes=0 must be above 0")
    twice = pd.DataFrame(dict(qid=["q", "q"], docno=["a", "a"], label=[1, 2]))
    refused(lambda: click_log(shown, qrels=twice), BadLog, "document 'a' twice for query 'q'")

"""Commands of studies: files written, errors, and continuation after interruption."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla.tasks.result_cache import ResultCache

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """Folder with judgments, eight runs of falling quality and ratings of one run; one run name contains HTML."""
    folder, rng = tmp_path_factory.mktemp("collection"), np.random.default_rng(0)
    grade = rng.choice([0, 0, 0, 1, 2], (12, 40))
    rows = [f"q{q} 0 d{d} {grade[q, d]}\n" for q in range(12) for d in range(40)]
    (folder / "qrels.txt").write_text("".join(rows))
    (folder / "runs").mkdir()
    for number, noise in enumerate(np.linspace(0.3, 3, 8)):
        score = grade + rng.normal(0, noise, grade.shape)
        name = "<b>r&d" if number == 7 else f"r{number}"
        rows = [f"q{q} Q0 d{d} 1 {score[q, d]:.4f} x\n" for q in range(12) for d in np.argsort(-score[q])[:30]]
        (folder / "runs" / f"{name}.txt").write_text("".join(rows))
    rating = np.clip(np.round(grade[:, :20].mean(axis=1) * 4 + rng.normal(0, 1, 12)), 1, 5)
    ratings = pd.DataFrame({"query_id": [f"q{q}" for q in range(12)], "rating": rating, "user": list("abcdef") * 2})
    ratings.to_csv(folder / "ratings.csv", index=False)
    return folder


def arguments(collection, command, output, *more):
    data = {"users": (collection / "runs" / "r3.txt", collection / "ratings.csv"),
            "fit": (collection / "runs" / "r3.txt", collection / "ratings.csv")}.get(command, (collection / "runs",))  # fmt: skip
    return "study", command, collection / "qrels.txt", *data, "-o", output, *more


COMMANDS = {"robustness": ("-m", "nDCG", "-m", "infAP", "--seeds", "2", "--pairs", "4"),
            "next": ("-m", "RBP(rel=1)", "--baseline", "r3", "--depth", "9", "--pairs", "all", "--max-rel", "2"),
            "power": ("-m", "AP", "-m", "nDCG@5", "--resamples", "200"),
            "agreement": ("-m", "AP", "-m", "nDCG@5", "--resamples", "100"),
            "users": ("-m", "nDCG@5", "-m", "RR", "--baseline", "RR", "--span", "4", "--resamples", "100", "--cv", "3"),
            "fit": ("-t", "RBP(rel=1,p=$p)", "-r", "p=0.1:0.95", "--default", "p=0.8", "--cv", "3")}  # fmt: skip


def test_packages_of_the_report_are_checked_before_the_study(collection, says, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for command, more in COMMANDS.items():
        message = says(*arguments(collection, command, tmp_path / "folder", *more))
        assert message.startswith("reports need jinja2 and matplotlib (")
        assert '"jinja2>=' in message
        assert not (tmp_path / "folder").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_study_is_a_folder_with_a_page(command, collection, prints, tmp_path, request):
    folder = tmp_path / "new" / "folder"
    text = prints(*arguments(collection, command, folder, *COMMANDS[command]))
    about = json.loads((folder / "about.json").read_text("utf-8"))
    page = (folder / "report.html").read_text("utf-8")
    assert text.count("\n  · ") >= 3
    assert about["version"]
    for kind, suffixes in {"tables": (".csv", ".parquet"), "pictures": (".png", ".svg")}.items():
        files = {path.name for path in (folder / kind).iterdir()}
        names = {name.rpartition(".")[0] for name in files}
        assert names
        assert files == {name + suffix for name in names for suffix in suffixes}
        assert all(f'id="{kind[:-1]}-{name}"' in page for name in names)
    assert "<b>r&d" not in page
    browser = request.getfixturevalue("browser")
    browser.get((folder / "report.html").as_uri())
    assert browser.get_log("browser") == []
    browser.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    shown = "return Array.from(document.querySelectorAll('svg.cwla-picture'), one => one.clientWidth > 100)"
    assert browser.execute_script(shown) == [True] * len([*(folder / "pictures").glob("*.svg")])


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_table_and_the_sentences_of_a_study_fit_the_screen(collection, prints, tmp_path, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = prints(*arguments(collection, "agreement", tmp_path, *COMMANDS["agreement"])).splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("Agreement of measures")
    table = lines.index("Pairs of measures")
    found = lines.index("What was found:")
    assert [line.split()[:2] for line in lines[table:found] if line.startswith("AP ")] == [["AP", "nDCG@5"]]
    assert max(map(len, lines[found:])) <= 100
    first = next(at for at, line in enumerate(lines) if line.startswith("  · "))
    assert lines[first + 1].startswith(("    ", "  · "))


def test_an_interrupted_study_goes_on(collection, cli, prints, tmp_path, monkeypatch):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    prints(*arguments(collection, "power", whole, *COMMANDS["power"]))
    done, real = [], ResultCache.put

    def tired(self, name, piece):
        if len(done) == 1:
            raise KeyboardInterrupt
        done.append(name)
        return real(self, name, piece)

    with monkeypatch.context() as patched:
        patched.setattr(ResultCache, "put", tired)
        code, out, err = cli(*arguments(collection, "power", parts, *COMMANDS["power"]))
    assert (code, out) == (130, "")
    assert "resumes from there" in err
    assert not (parts / "report.html").exists()
    again = []
    monkeypatch.setattr(ResultCache, "put", lambda self, name, piece: again.append(name) or real(self, name, piece))
    prints(*arguments(collection, "power", parts, *COMMANDS["power"]))
    assert not set(done) & set(again)
    assert (parts / "report.html").read_bytes() == (whole / "report.html").read_bytes()


def test_next_documents_with_predicted_grades(collection, prints, says, tmp_path):
    rows = (collection / "qrels.txt").read_text().splitlines(keepends=True)
    hidden = [row for row in rows if row.startswith("q3 ") and row.split()[2] in ("d1", "d2", "d3")]
    (tmp_path / "qrels.txt").write_text("".join(row for row in rows if row not in hidden))
    (tmp_path / "predicted.txt").write_text("q3 0 d1 0.5\nq3 0 d2 2\n")
    given = ("study", "next", tmp_path / "qrels.txt", collection / "runs", "-m", "AP", "-o", tmp_path / "next")
    said = prints(*given, "--predicted", tmp_path / "predicted.txt", "--all-topics")
    assert "Judge d" in said
    found = pd.read_csv(tmp_path / "next" / "tables" / "documents.csv")
    assert {*found.doc_id} <= {"d1", "d2", "d3"}
    assert {"predicted", "expected_change"} <= {*found.columns}
    assert "give one measure, not 2" in says(*given[:4], "-m", "AP,RR", "-o", tmp_path / "other")


@pytest.mark.nightly
def test_other_holes(collection, prints, says, tmp_path):
    some = ("-m", "AP", "--pairs", "2", "--holes")
    assert "pool" in prints(*arguments(collection, "robustness", tmp_path / "depth", *some, "depth"))
    names = [path.name.removesuffix(".txt") for path in (collection / "runs").iterdir()]
    rows = [f"{name},{'AB'[n % 2]}\n" for n, name in enumerate(names)]
    (tmp_path / "groups.csv").write_text("run,group\n" + "".join(rows))
    more = ("groups", "--groups", tmp_path / "groups.csv", "--depth", "5")
    assert "2 groups" in prints(*arguments(collection, "robustness", tmp_path / "groups", *some, *more))
    assert "needs --groups FILE" in says(*arguments(collection, "robustness", tmp_path / "x", *some, "groups"))


def test_sessions_and_preferences_are_rated_too(collection, prints, tmp_path):
    sessions = pd.DataFrame({"session": [f"s{q // 2}" for q in range(12)], "query_id": [f"q{q}" for q in range(12)]})
    sessions.assign(order=list(range(12))).to_csv(tmp_path / "sessions.csv", index=False)
    rated = pd.DataFrame({"session": [f"s{s}" for s in range(6)], "rating": [1, 2, 3, 3, 4, 5]})
    rated.to_csv(tmp_path / "r.csv", index=False)
    rows = [f"s{s} 0 d{d} {(s * d) % 3}" for s in range(6) for d in range(40)]
    (tmp_path / "qrels.txt").write_text("\n".join(rows) + "\n")
    shown = collection / "runs" / "r3.txt"
    text = prints("study", "users", tmp_path / "qrels.txt", shown, tmp_path / "r.csv", "--sessions",
                  tmp_path / "sessions.csv", "-m", "nDCG@5", "-m", "SessionCWLA(C=rbp(0.8),A=erg,rho=0.5,max_rel=2)",
                  "-m", "sDCG", "-o", tmp_path / "a", "--cv", "3")  # fmt: skip
    assert "6 session ratings" in text
    assert "SessionCWLA" in (tmp_path / "a" / "report.html").read_text()
    firsts, seconds = ["q0", "q1", "q2", "q3"], ["q4", "q5", "q6", "q7"]
    pairs = pd.DataFrame({"first": firsts, "second": seconds, "preference": [1, -1, 0, 1]})
    pairs.to_csv(tmp_path / "pairs.csv", index=False)
    text = prints("study", "users", collection / "qrels.txt", shown, tmp_path / "pairs.csv", "-m", "nDCG@5", "-o",
                  tmp_path / "b", "--resamples", "100")  # fmt: skip
    assert "4 preferences" in text
    several = pd.concat([pairs.assign(user=user) for user in "xyz"])
    several.to_csv(tmp_path / "several.csv", index=False)
    for more, said in ((("--one-per", "pair"), "4 preferences from 12 labels"),
                       (("--one-per", "user"), "12 preferences of 3 users"),
                       (("--one-per", "label"), "12 preferences of 3 users")):  # fmt: skip
        text = prints("study", "users", collection / "qrels.txt", shown, tmp_path / "several.csv", "-m", "nDCG@5", "-o",
                      tmp_path / "-".join(["c", *more]), "--resamples", "100", *more)  # fmt: skip
        assert said in text


@pytest.mark.parametrize("command", ["users", "fit"])
def test_labels_are_reduced_for_pairs_only(command, collection, says, tmp_path):
    some = COMMANDS[command] if command == "fit" else ("-m", "nDCG@5")
    for more, message in (
        ((), f"--one-per user: {collection / 'ratings.csv'} has no column 'preference'"),
        (("--sessions", "s.csv"), "--one-per is for preferences between lists, not with --from or --sessions"),
        (("--from", "jiang"), "--one-per is for preferences between lists"),
    ):
        assert message in says(*arguments(collection, command, tmp_path / "x", *some, "--one-per", "user", *more))


def test_what_is_wrong_with_a_fit_is_one_line(collection, says, tmp_path):
    rbp, gain = "-t RBP(rel=1,p=$p) -r p=0.1:0.9", "-t GainWithin(T=$T) -r T=2:300"
    for more, message in {
        "-t RBP(rel=1,p=$p) -r p": "'p': write NAME=LOW:HIGH", "-t RBP(rel=1,p=$p) -r p=0.1:x": "p=0.1:x",
        "-t RBP(rel=1,p=$p) -r p=0.1-0.9": "p=0.1-0.9: write NAME=LOW:HIGH",
        f"{rbp} -r p=0.2:0.9": "give each name once", f"{rbp} --default 0.8": "'0.8': write NAME=VALUE",
        "-t RBP(rel=1,p=$p) -r q=0.1:0.9": "q", "-t RBP(rel=1,p=) -r p=0.1:0.9": "single quotes", rbp: "give --cv 3",
        "-t TBG(half_life=$h) -r h=20:300 --cv 3": "In a template: TBG(lengths='FILE'",
        f"{gain} --cv 3": "In a template: GainWithin(costs='FILE'",
        f"{gain} --costs x.tsv": "No such option: --costs. Write costs='FILE' among",
        "-t RBPP(p=$p) -r p=0.1:0.9 --cv 3": "RBPP", f"{rbp} --cv 3 --default q=1": "--default must have a value for",
        f"{rbp} --cv 3 --jobs 0": "--jobs 0: give the number", f"{rbp} --cv 3 --objective agreement": "--objective agreement",
        f"{rbp} --cv 3 --default p=7": "with p=7: RBP(p=7.0): p must be",
    }.items():  # fmt: skip
        assert message in says(*arguments(collection, "fit", tmp_path / "f", *more.split())), more


def test_what_is_wrong_with_a_study_is_one_line(collection, says, tmp_path):
    (tmp_path / "r.csv").write_text("query_id,rating\nq1,4\nq2,none\nq3,2\n")
    (tmp_path / "groups.csv").write_text("run,group\none,a\nlong,b\n")
    (tmp_path / "runs").mkdir()
    qrels, runs = collection / "qrels.txt", collection / "runs"
    lines = (runs / "r3.txt").read_text().splitlines(keepends=True)
    for name, number in (("long", len(lines)), ("one", 40), ("other", 40)):
        (tmp_path / "runs" / f"{name}.txt").write_text("".join(lines[:number]))
    users, rated = f"users {qrels} {runs}/r3.txt", f"users {qrels} {runs}/r3.txt {collection}/ratings.csv"
    short, power = f"robustness {qrels} {tmp_path}/runs -m AP", f"power {qrels} {runs} -m AP"
    for words, message in {
        users: "no column 'question'", f"{users} --from jiang": "takes one folder or file", f"{users} {tmp_path}/r.csv": "'rating'",
        f"{users} {tmp_path}/none.csv": "no such file", f"power {qrels} {runs}/r3.txt": "at least",
        short: "documents of the longest run: give --all-runs to keep all runs.",
        f"{short} --all-runs --holes groups --groups {tmp_path}/groups.csv": "'other' has no group: --groups must name one for each run.",
        f"{power} --alpha 2": "--alpha 2.0 must be between 0 and 1, such as 0.05.",
        f"{rated} -m nDCG@5 --cv 3 --span -3": "--span -3.0 must be above 0",
        f"{rated} -o {qrels}/folder": "qrels.txt/folder: cannot be written to",
        f"{power} -o {qrels}/folder": "qrels.txt/folder: cannot be written to",
    }.items():  # fmt: skip
        more = () if " -o " in words else ("-o", tmp_path / "x")
        assert message in says("study", *words.split(), *more), words

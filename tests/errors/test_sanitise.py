"""Sanitised text from data in all output: terminal, HTML pages, LaTeX, errors and figures."""

import io
import re

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.text import Text
from rich.console import Console

from pyterrier_cwla import compare, evaluate, explain, studies
from pyterrier_cwla.behaviour import InteractionLog, calibrate, click_metrics, progress, simulate
from pyterrier_cwla.errors import BadRun, CannotScore, CWLAError, MalformedFile, NotWritten, naming, speaking_of, warn
from pyterrier_cwla.errors.sanitise import harmless, in_picture
from pyterrier_cwla.evaluation import plot_stops, stop_distribution
from pyterrier_cwla.model.view import UnknownEffort
from tests.measures.test_calibrated import rows

pytestmark = pytest.mark.slow

HOSTILE = ["\x1b[31mred", "$x", "\u202etxt", "\x00", "$a_$b", "\x9b2J", "<b>$\\frac</b>", "l\u2028p"]
ORDERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture(scope="module")
def data():
    """Return judgments and runs in which ids of queries and documents and names of runs are hostile."""
    rng = np.random.default_rng(0)
    docnos = [f"{HOSTILE[d % len(HOSTILE)]}{d}" for d in range(12)]
    qrels = {f"{name}{q}": {d: int(rng.integers(0, 3)) for d in docnos} for q, name in enumerate(HOSTILE)}
    runs = {name: {q: {d: g + rng.normal(0, 0.3 + noise) for d, g in of.items()} for q, of in qrels.items()}
            for noise, name in enumerate(HOSTILE)}  # fmt: skip
    return qrels, runs


def is_harmless(text):
    found = ORDERS.search(text)
    assert found is None, repr(text[max(0, found.start() - 80) : found.end() + 20])
    return True


def printed(thing):
    """Return all printed representations of the object."""
    page = getattr(thing, "_repr_html_", lambda: "")()
    stream = io.StringIO()
    Console(file=stream, width=200, color_system=None).print(thing)
    return [str(thing), repr(thing), page, stream.getvalue() if hasattr(thing, "__rich_console__") else ""]


def test_sanitised_text():
    assert [harmless(text) for text in HOSTILE[:4]] == [r"\x1b[31mred", "$x", r"\u202etxt", r"\x00"]
    assert harmless("\ud800\u200f") == r"\ud800\u200f"
    assert harmless("tab\tend\n é 中 $") == "tab\tend\n é 中 $"
    assert [in_picture(text) for text in HOSTILE[:4]] == [r"\x1b[31mred", r"\$x", r"\u202etxt", r"\x00"]
    for kind in (CWLAError, MalformedFile, NotWritten, CannotScore):
        assert str(kind("run \x1b[31mred\u202e")) == r"run \x1b[31mred\u202e"
    assert is_harmless(str(NotWritten(28, "No space\x1b", "\x1b[2J")))
    place = speaking_of("qrels", "\x1b[31m")
    with pytest.raises(BadRun, match=r"^\\x1b\[31m: broken$"), place, speaking_of("qrels", "\x1b[31m"):
        raise BadRun("broken")
    with pytest.raises(BadRun, match=r"\\x1b\[31mred") as refused:
        evaluate({"q": {"a": 1}}, {HOSTILE[0]: {"q": {"a": float("nan")}}}, ["AP"])
    assert is_harmless(str(refused.value))
    for call, said in ((lambda: evaluate({name: {"a": 1} for name in HOSTILE}, {"\x1b[31m": {"a": 1.0}}, ["AP"]), "no query in common"),
                       (lambda: warn("run \x1b[31m"), r"run \\x1b\[31m")):  # fmt: skip
        with pytest.warns(UserWarning, match=said) as noticed:
            call()
        assert all(is_harmless(str(one.message)) for one in noticed)


def test_results_that_are_printed(data):
    qrels, runs = data
    measures = {"$a$": "AP", r"$\frac$": "RR", "<b>": "nDCG@3"}  # labels with control characters are errors
    found = [compare(qrels, runs, measures, baseline=HOSTILE[0], resamples=100),
             compare(qrels, runs, measures, resamples=100), explain(qrels, runs[HOSTILE[0]], next(iter(qrels)), "AP"),
             explain(qrels, {name: runs[name] for name in HOSTILE[:2]}, next(iter(qrels)), "AP"),
             simulate(qrels, runs, "RR", users=20), progress(qrels, runs, "RBP(rel=1)", times=[1, 2, 4]),
             studies.metric_agreement(qrels, runs, measures, resamples=100)]  # fmt: skip
    for thing in found:
        assert all(map(is_harmless, printed(thing)))
    for text in printed(found[0]):
        assert r"\x1b[31mred" in text
    assert is_harmless(found[0].to_latex())
    assert r"\textbackslash{}x1b{[}31mred" in found[0].to_latex()


def test_logs_and_calibrations_that_are_printed():
    frame = rows()
    for column in ("user", "session", "topic", "docno"):
        if column in frame:
            frame[column] = [HOSTILE[hash(value) % len(HOSTILE)] + str(value) for value in frame[column]]
    frame["\x1b[31mred"] = 1
    log = InteractionLog.of(frame)
    halves = calibrate(log.rows.assign(half=[HOSTILE[len(u) % 2] for u in log.rows["user"]]), by="half", resamples=5)
    for thing in (log, calibrate(log, resamples=5, min_clicks=1), halves, click_metrics(log)):
        assert all(map(is_harmless, printed(thing)))


OURS = re.compile(r"\$(\\mathdefault\{[^$]*\}|\\tau_b|\^\{\\mathrm\{\w\}\})\$")
"""Math text written by this package or by matplotlib."""


def check_picture(ax):
    """Draw the figure and return its texts. No text of the data may be mathematics or have control characters."""
    ax.figure.savefig(io.BytesIO(), format="png")
    texts = [text for text in ax.figure.findobj(Text) if text.get_text()]
    assert all(is_harmless(text.get_text()) for text in texts)
    mathematics = [text.get_text() for text in texts if text._preprocess_math(text.get_text())[1]]
    assert [text for text in mathematics if "$" in OURS.sub("", text).replace("\\$", "")] == []
    return " ".join(text._preprocess_math(text.get_text())[0] for text in texts)


@pytest.fixture(autouse=True)
def _no_window():
    matplotlib.use("Agg")
    yield
    pyplot.close("all")


@pytest.mark.parametrize("query", ["$x", "$\\frac$", "\x1b[31mred", "\u202e", "\x00", "$a_$", "a$b$c$"])
def test_queries_in_pictures_are_no_mathematics(query):
    qrels, run = {query: {"a": 1, "b": 0}}, {query: {"a": 2.0, "b": 1.0}}
    titles = [
        check_picture(explain(qrels, run, query, "AP").plot()),
        check_picture(explain(qrels, {query: run, "other": {query: {query: 1.0}}}, query, "AP").plot(docnos=True)),
        check_picture(plot_stops(stop_distribution(qrels, run, "AP"))),
        check_picture(simulate(qrels, {query: run}, "RR", users=20, keep=True).plot(qid=query)),
    ]
    assert all(harmless(query) in title for title in titles)


def test_runs_and_groups_in_pictures_are_no_mathematics(data):
    qrels, runs = data
    found = progress(qrels, runs, "RBP(rel=1)", times=[1, 2, 4])
    check_picture(found.plot_ranks())
    assert all(harmless(name) in check_picture(found.plot_gains()) for name in HOSTILE)
    study = studies.metric_agreement(qrels, runs, {"$a$": "AP", "$b": "RR"}, resamples=100)
    assert "$a$" in check_picture(studies.plot_scatter(study, "$a$", "$b"))
    frame = rows().assign(half=lambda log: [f"$g{len(user) % 2}$\x1b" for user in log["user"]])
    log = InteractionLog.of(frame)
    found = calibrate(log, resamples=5, min_clicks=1)
    assert "$g" in check_picture(found.plot_progress(log, by="half"))


def test_pages_and_pictures_of_studies(data, tmp_path):
    """Covers every figure and the HTML page of each study."""
    qrels, runs = data
    named = {"$a$": "AP", "$b": "RR", "$\\frac$": "nDCG@3"}
    rng = np.random.default_rng(1)
    ratings = pd.DataFrame({"query_id": list(qrels), "rating": rng.integers(1, 6, len(qrels)).astype(float)})
    rated = studies.Rated.lists(qrels, runs[HOSTILE[0]], ratings)
    groups = {name: f"$g{number % 2}$\x1b" for number, name in enumerate(runs)}
    found = [studies.metric_agreement(qrels, runs, named, resamples=100),
             studies.discriminative_power(qrels, runs, named, resamples=100, progress=False),
             studies.robustness(qrels, runs, named, seeds=2, pairs=4, complete=None, progress=False),
             studies.groups_left_out(qrels, runs, groups, named, complete=None),
             studies.user_agreement(rated, named, resamples=100, cv=2)]  # fmt: skip
    for number, study in enumerate(found):
        for picture in study.pictures().values():
            ax = Figure(figsize=picture.size, layout="constrained").subplots()
            picture.draw(ax)
            check_picture(ax)
        assert all(map(is_harmless, printed(study)))
        page = study.report(tmp_path / str(number)).read_text("utf-8")
        assert is_harmless(page)
        assert "$b" in page


def test_tables_of_the_command_line(tmp_path, cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    names = ["\x1b[31mred", "$x", "\u202etxt"]
    (tmp_path / "qrels").write_text("".join(f"{name} 0 {name} 1\n" for name in names), encoding="utf-8")
    runs = [tmp_path / f"run{name}" for name in names]
    for run in runs:
        run.write_text("".join(f"{q} 0 {q} 1 1 t\n" for q in names), encoding="utf-8")
    scores = [(command, tmp_path / "qrels", *runs, "-m", "AP", "-m", "RR", "--format", form) for form in ("table", "latex")
              for command in ("evaluate", "compare")]  # fmt: skip
    drawn = ("-m", "AP", "--plot", tmp_path / "p.png", "--force")
    for words in (*scores, *(("explain", tmp_path / "qrels", runs[1], "-q", query, *drawn) for query in names)):
        code, out, err = cli(*words)
        assert code == 0
        assert is_harmless(out + err)


@pytest.mark.parametrize("named", [naming("bm25"), speaking_of("qrels", "bm25")], ids=["name", "file"])
def test_an_unknown_effort_has_the_name_of_its_run(named):
    with pytest.raises(UnknownEffort, match=r"^bm25: the effort of unseen documents is needed"), named:
        raise UnknownEffort

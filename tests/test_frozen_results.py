"""Numbers in printed results of generated data, held to those in ``frozen_results.json``; their layout is free.

A printed text is reduced to its numbers, each with the last word before it: the label of a row, or a word of a sentence.
For each word, the numbers are compared in reading order, as texts ("0.50" is not "0.5"). Lines may therefore be wrapped
differently, and boxes, alignment, marks, column heads, and the order of rows and sentences may change, and that of tables
without a common label. A number may not change, move to another label or column, or disappear. The words keep the order
of ranks and of columns, which a multiset of all numbers would lose, and do not depend on the order of rows, as the plain
sequence of numbers would. Numbers within names, such as 10 in nDCG@10, are not values.

After an intended change, write the numbers anew and read the printed differences::

    python -m tests.test_frozen_results [NAME …]

Results are frozen as they are printed, rounded, so that rounding errors do not matter. Seeds are fixed.
"""

import io
import json
import os
import re
import sys
import tempfile
from collections import defaultdict
from contextlib import chdir, redirect_stdout
from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from pyterrier_cwla import TBG, IntentAware, Mixture, behaviour, compare, demo, explain, rbo, studies
from pyterrier_cwla.evaluation.significance import CORRECTIONS
from pyterrier_cwla.measures.sessions import evaluate_sessions
from pyterrier_cwla.studies.report import flat, rendered_table
from tests.measures.test_intents import diversity
from tests.support.generated import collection
from tests.support.generated_logs import generated_log

FILE = Path(__file__).with_name("frozen_results.json")
MEASURES = ["nDCG@10", "AP", "RBP(p=0.8,rel=1)"]
CELL = "CWLA(C='{}',A='{}',max_rel=2)"

_TOKEN = re.compile(
    r"(?P<number>(?<![\w.@])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?(?!\w|\.\d))|(?P<word>[^\W\d]\w*)"
)
RESULTS, SLOW = {}, set()


def numbers_of(text):
    """Return the numbers of a text after each word, joined by spaces."""
    found, word = defaultdict(list), ""
    for token in _TOKEN.finditer(text):
        if token["word"]:
            word = token["word"]
        else:
            found[word].append(token["number"].replace(",", "").replace("−", "-"))
    return {word: " ".join(numbers) for word, numbers in found.items()}


def differences(old, new):
    """Return one line for each word whose numbers differ."""
    words = [word for word in {**old, **new} if old.get(word) != new.get(word)]
    return "\n".join(f"{word}:\n  - {old.get(word, 'none')}\n  + {new.get(word, 'none')}" for word in words)


def fast(result):
    """Add a function that returns a text to the results; its name is that of the result."""
    RESULTS[result.__name__] = result
    return result


def slow(result):
    """Add a result that takes longer."""
    SLOW.add(result.__name__)
    return fast(result)


@cache
def pooled():
    """Return judgments and five runs; the name of each is one word."""
    made = demo.pooled_runs(seed=1, systems=5, topics=15, documents=60, depth=30)
    return made.qrels, dict(zip(["one", "two", "three", "four", "five"], made.runs.values(), strict=True))


@cache
def timed():
    """Return judgments and two runs with lengths."""
    made = [collection(seed, queries=8, lengths=True, ties=False) for seed in range(2)]
    return made[0].qrels, {"first": made[0].run, "second": made[1].run}


@cache
def rated():
    return demo.rated_lists(queries=12, users=20, max_rel=2)


def compared(measures=MEASURES, **how):
    return compare(*pooled(), measures, resamples=500, **how)


def on_terminal(result):
    console = Console(file=io.StringIO(), width=200)
    console.print(result)
    return console.file.getvalue()


def as_report(study):
    """Return the sentences, tables and captions of a study as its report shows them."""
    lines = [repr(study)]
    for table in study.tables().values():
        shown = rendered_table(replace(table, frame=flat(table.frame)), [])
        lines += [shown.title, shown.caption, *(" ".join(cell.text for cell in row) for row in shown.rows[""])]
    return "\n".join([*lines, *(picture.caption for picture in study.pictures().values())])


@cache
def folder():
    """Return a temporary folder with the files that the commands read."""
    made = tempfile.TemporaryDirectory()
    path = Path(made.name)
    (path / "runs").mkdir()
    qrels, runs = pooled()
    for name, run in runs.items():
        rows = run.assign(Q0="Q0", rank=1, tag="t")[["query_id", "Q0", "doc_id", "rank", "score", "tag"]]
        rows.to_csv(path / "runs" / f"{name}.txt", sep=" ", header=False, index=False)
    qrels.assign(Q0=0)[["query_id", "Q0", "doc_id", "relevance"]].to_csv(
        path / "qrels.txt", sep=" ", header=False, index=False
    )
    words = pd.Series(sorted({*qrels["doc_id"], *pd.concat(runs)["doc_id"]}))
    words.to_frame().assign(words=100 + 7 * words.index).to_csv(path / "words.tsv", sep="\t", header=False, index=False)
    queries = qrels["query_id"].unique()
    asked = {"session": np.arange(len(queries)) // 3, "query_id": queries, "order": np.arange(len(queries))}
    pd.DataFrame(asked).to_csv(path / "sessions.csv", index=False)
    generated_log(1, users=20).to_csv(path / "log.csv", index=False)
    return made


def command(*arguments):
    """Return what a command prints."""
    from pyterrier_cwla.cli.app import main

    printed = io.StringIO()
    wide = mock.patch.dict(os.environ, {"COLUMNS": "200"})
    with chdir(folder().name), wide, redirect_stdout(printed), pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert not ended.value.code, printed.getvalue()
    return printed.getvalue()


@fast
def compare_without_a_baseline():
    return repr(compared(baseline=False))


@fast
def compare_with_a_baseline():
    found = compared(baseline="one")
    return repr(found) + on_terminal(found) + found.to_latex()


@fast
def compare_by_wilcoxon():
    return repr(compared(["ESL", *MEASURES], baseline="three", test="wilcoxon", correction="fdr_bh"))


@fast
def compare_by_randomisation():
    return on_terminal(compared(baseline="two", test="randomisation", correction="bonferroni", confidence=0.9))


@fast
def compare_p_values_by_correction():
    tables = [compared(["AP"], baseline="one", correction=name).table.set_index("run") for name in CORRECTIONS]
    columns = ["p_t_corrected", "p_wilcoxon_corrected", "p_randomisation_corrected"]
    return "\n".join(table[columns].round(4).to_string() for table in tables)


@fast
def compare_with_several_baselines():
    found = compared(baseline=["two", "one"], least=0.05)
    return repr(found) + on_terminal(found) + found.wins("AP").to_string()


@fast
def compare_pairs():
    found = compared(["AP", "GMAP"], pairs=True)
    return repr(found) + on_terminal(found) + found.to_latex("AP")


@slow
def compare_pairs_by_tukey():
    found = compared(MEASURES[:2], pairs=True, test="tukey")
    return on_terminal(found) + found.to_latex("AP", layout="list")


@fast
def compare_pairs_by_randomised_hsd():
    return on_terminal(compared(MEASURES[:2], pairs=True, test="randomised_hsd"))


@fast
def differences_by_topic():
    return compared(["AP"]).differences("one", "four").round(4).to_string()


@fast
def overlap_of_runs():
    return rbo(pooled()[1], p=0.8, depth=20).round(4).to_string()


def explained(measure):
    return tables_of(explain(pooled()[0], pooled()[1]["two"], "q1", measure))


def tables_of(explanation):
    """Return the title, the first 20 ranks in all columns, and the totals of an explanation."""
    rows = explanation.table.head(20)
    parts = [rows.to_string(index=explanation.table.index.name is not None, na_rep="", float_format="{:.4f}".format)]
    totals = getattr(explanation, "totals", {})
    if isinstance(totals, dict):
        parts += [f"{name} {value:.4f}" for name, value in totals.items() if not np.isnan(value)]
    else:
        parts.insert(0, totals.to_string(na_rep="", float_format="{:.4f}".format))
    return "\n".join([explanation.title, *getattr(explanation, "sentences", []), *parts])


@fast
def explain_measures():
    return "\n".join(map(explained, ["AP", "ERR@10", "nDCG@10", "INST(max_rel=2)", CELL.format("rbp(0.9)", "max")]))


@fast
def explain_time_biased_gain():
    qrels, runs = timed()
    return tables_of(explain(qrels, runs["first"], "3", TBG))


@fast
def explain_a_pair():
    qrels, runs = timed()
    return tables_of(explain(qrels, runs, "3", TBG))


@fast
def explain_a_mixture():
    qrels, runs = timed()
    users = Mixture(measures={"hasty": "TBG(half_life=60)", "patient": TBG}, weights={"hasty": 0.25, "patient": 0.75})
    return tables_of(explain(qrels, runs["first"], "3", users))


@fast
def explain_intents():
    run, qrels = diversity(4, (0, 0, 1, 2))
    return tables_of(explain(qrels, run, "3", IntentAware(measure="ERR")))


@fast
def simulate():
    qrels, runs = timed()
    return repr(behaviour.simulate(qrels, runs["first"], TBG, users=300, progress=False))


@fast
def prefer():
    qrels, runs = timed()
    return repr(behaviour.prefer(qrels, runs, TBG, users=300, resamples=100, progress=False))


@slow
def calibrate():
    log = generated_log(0, users=20)
    efforts = behaviour.grade_efforts(log, summary_seconds=4.4, resamples=100)
    continuing = behaviour.continuing_from_views(log, last_rank=80, resamples=100)
    return "\n".join(map(repr, [behaviour.calibrate(log, resamples=100), efforts, continuing]))


@slow
def click_models():
    log = demo.clicks(sessions=600, users=30)
    models = behaviour.dbn_from_clicks(log, gaps="passed", resamples=50), behaviour.position_model(log, resamples=20)
    return "\n".join(map(repr, [log, *models, behaviour.click_metrics(log)]))


@slow
def robustness():
    qrels, runs = pooled()
    return as_report(
        studies.robustness(qrels, runs, ["Bpref", "AP"], fractions=(0.1, 0.5, 1), seeds=2, pairs=6,
                           resamples=100, progress=False)
    )  # fmt: skip


@slow
def robustness_to_depth():
    qrels, runs = pooled()
    return as_report(
        studies.robustness_to_depth(qrels, runs, ["Bpref", "AP"], depths=(2, 5), pairs=6, resamples=100,
                                    progress=False)
    )  # fmt: skip


@fast
def groups_left_out():
    qrels, runs = pooled()
    groups = {name: "ab"[number % 2] for number, name in enumerate(runs)}
    return as_report(studies.groups_left_out(qrels, runs, groups, ["AP", "Bpref"], resamples=100))


@fast
def next_judgments():
    qrels, runs = pooled()
    return as_report(studies.next_judgments(studies.f_qrels(qrels, 0.4), runs, "RBP(rel=1)"))


@fast
def simulated_judging():
    qrels, runs = pooled()
    return as_report(studies.simulated_judging(qrels, runs, "RBP(rel=1)", batch=50))


@fast
def discriminative_power():
    qrels, runs = pooled()
    return as_report(studies.discriminative_power(qrels, runs, MEASURES, resamples=300, progress=False))


@fast
def metric_agreement():
    return as_report(studies.metric_agreement(*pooled(), [*MEASURES, "RR"], resamples=100))


@slow
def user_agreement():
    how = {"baseline": "AP", "span": 4, "cv": 3, "repeats": 2, "resamples": 100}
    return as_report(studies.user_agreement(rated(), MEASURES, **how))


@fast
def user_agreement_of_sessions():
    measures = ["nsDCG", "AdaptiveGRBP(p=0.6,effort='ratio(4)')@9"]
    return as_report(studies.user_agreement(demo.rated_sessions(sessions=40), measures, "pearson", resamples=100))


@fast
def sessions():
    asked = {"s1": ["2", "3"], "s2": ["4", "5", "6"]}
    qrels, run = collection(1, queries=8)[::-1]
    of_sessions = qrels.assign(query_id=qrels["query_id"].map({q: s for s, of in asked.items() for q in of}))
    of_sessions = of_sessions.dropna().drop_duplicates(["query_id", "doc_id"])
    return evaluate_sessions(of_sessions, run, asked, ["sDCG", "nsDCG@5", "esNDCG"]).round(4).to_string()


@fast
def splits():
    return as_report(studies.splits(rated(), MEASURES, by="user", bins=None, resamples=100))


@fast
def sensitivity():
    of_p = {"p": [0.2, 0.5, 0.8]}
    return as_report(studies.sensitivity(CELL.format("rbp($p)", "erg"), of_p, rated(), resamples=100, progress=False))


@fast
def virtual_systems():
    values = rated().scores(MEASURES).reset_index(drop=True)
    values = values.assign(rating=rated().ratings, topic=np.arange(len(values)) // 4)
    return as_report(studies.virtual_systems(values, "rating", repeats=50, resamples=100))


@fast
def fit():
    ranges = {"p": [0.2, 0.4, 0.6, 0.8]}
    found = studies.fit(
        CELL.format("rbp($p)", "erg"), ranges, rated(), cv=3, repeats=2, default={"p": 0.8}, progress=False
    )
    return as_report(found)


@fast
def fit_discount():
    template = "Cascade(phi='$phi',max_rel=2)"
    return as_report(studies.fit_discount(template, rated(), depth=3, cv=3, repeats=2, resamples=100))


@fast
def command_evaluate():
    return command("evaluate", "qrels.txt", "runs", "-m", "nDCG@10", "-m", "TBG", "--lengths", "words.tsv")


@fast
def command_compare():
    return command("compare", "qrels.txt", "runs", "-m", "AP", "--baseline", "two", "--resamples", "300")


@fast
def command_compare_pairs():
    return command("compare", "qrels.txt", "runs", "-m", "AP", "--pairs", "--resamples", "300")


@fast
def command_explain():
    return command(
        "explain", "qrels.txt", "runs/one.txt", "-q", "q2", "-m", "TBG", "--lengths", "words.tsv", "--depth", "8"
    )


@fast
def command_rbo():
    return command("rbo", "runs", "--depth", "20")


@fast
def command_simulate():
    return command("simulate", "qrels.txt", "runs/one.txt", "-m", "TBG", "--lengths", "words.tsv", "--users", "200")


@fast
def command_sessions():
    return command("sessions", "qrels.txt", "runs", "--sessions", "sessions.csv", "--judged-by", "query_id", "-m",
                   "sDCG,nDCG@5", "--by-session")  # fmt: skip


@slow
def command_calibrate():
    return command("calibrate", "log.csv", "--resamples", "100")


@slow
def command_demo():
    return command("demo", "--runs", "runs", "--qrels", "qrels.txt", "--lengths", "words.tsv")


@slow
def command_study_power():
    return command(
        "study", "power", "qrels.txt", "runs", "-m", "AP", "-m", "nDCG@5", "--resamples", "200", "-o", "power"
    )


def frozen():
    return json.loads(FILE.read_text("utf-8"))


@pytest.mark.every_case
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in RESULTS])
def test_printed_numbers(name):
    changed = differences(frozen()[name], numbers_of(RESULTS[name]()))
    assert not changed, (
        f"{name}: if this is intended, such as a new measure or significance test (TESTS) in a table, write the result"
        f" anew: python -m tests.test_frozen_results {name}\n{changed}"
    )


def test_each_result_has_numbers():
    assert list(frozen()) == list(RESULTS)
    assert min(sum(len(numbers.split()) for numbers in words.values()) for words in frozen().values()) > 4


def test_the_layout_is_free():
    table = "       AP    RR@5\nbm25  0.512  +1,234.50▲ [−0.1, 1.0e-05]\nTBG(half_life=60) 31/2/17\nfor all 9 pairs, 5%"
    expected = {"bm25": "0.512 1234.50 -0.1 1.0e-05", "half_life": "60 31 2 17", "all": "9", "pairs": "5"}
    assert numbers_of(table) == expected
    assert (
        numbers_of("for all\n9 pairs: 5 %\n│ bm25 │ 0.512 │ 1234.50 [-0.1, 1.0e-05] │ half_life 60: 31 / 2 / 17")
        == expected
    )
    assert differences(expected, {**expected, "all": "8"}) == "all:\n  - 9\n  + 8"
    assert differences(expected, {"bm25": "0.512 1234.50 -0.1"}).count("+ none") == 3


def main(names):
    """Write the numbers of some or all results anew, and print the differences."""
    old = frozen() if FILE.exists() else {}
    new = {name: numbers_of(RESULTS[name]()) for name in names or RESULTS}
    for name, words in new.items():
        if changed := differences(old.get(name, {}), words):
            print(f"{name}\n{changed}\n")
    kept = {name: new.get(name) or old[name] for name in RESULTS}
    FILE.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

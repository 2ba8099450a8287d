"""Numbers in printed results of generated data, held to those in ``frozen_results.json``; their layout is free.

A printed text is reduced to its numbers, each with the last word before it: the label of a row, or a word of a sentence.
For each word, the numbers are compared in reading order, as texts ("0.50" is not "0.5"). Layout, marks, and the order of
rows and sentences may change; a number may not change, move to another label or column, or disappear. Numbers within
names, such as 10 in nDCG@10, are not values. Results are rounded, so that rounding errors do not matter.

After an intended change, write the numbers anew and read the printed differences::

    python -m tests.test_frozen_results [NAME …]
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

from pyterrier_cwla import TBG, IntentAware, Mixture, behaviour, compare, demo, explain, studies
from pyterrier_cwla.evaluation.significance import CORRECTIONS
from pyterrier_cwla.studies.report import flat, rendered_table
from tests.measures.test_intents import diversity
from tests.support.generated import collection
from tests.support.generated_logs import generated_log

FILE = Path(__file__).with_name("frozen_results.json")
MEASURES = ["nDCG@10", "AP", "RBP(p=0.8,rel=1)"]
CELL = "CWLA(C='{}',A='{}',max_rel=2)"

_TOKEN = re.compile(
    r"(?P<number>(?<![\w.@])[-−]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?(?!\w|\.\d))|(?P<word>[^\W\d]\w*)"
)


def numbers_of(text):
    """Return the numbers of a text after each word, joined by spaces."""
    found, word = defaultdict(list), ""
    for token in _TOKEN.finditer(text):
        if token["word"]:
            word = token["word"]
        else:
            number = token["number"].replace(",", "").replace("−", "-")
            found[word].append(f"0{number}" if number[0] == "." else number)  # p-values have no 0 before the point
    return {word: " ".join(numbers) for word, numbers in found.items()}


def differences(old, new):
    """Return one line for each word whose numbers differ."""
    words = [word for word in {**old, **new} if old.get(word) != new.get(word)]
    return "\n".join(f"{word}:\n  - {old.get(word, 'none')}\n  + {new.get(word, 'none')}" for word in words)


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


def study(name, *given, **how):
    """Return the sentences, tables and captions of a study as its report shows them."""
    return as_report(getattr(studies, name)(*given, **how))


def as_report(study):
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
    judged = qrels.assign(Q0=0)[["query_id", "Q0", "doc_id", "relevance"]]
    judged.to_csv(path / "qrels.txt", sep=" ", header=False, index=False)
    words = pd.Series(sorted({*qrels["doc_id"], *pd.concat(runs)["doc_id"]}))
    words.to_frame().assign(words=100 + 7 * words.index).to_csv(path / "words.tsv", sep="\t", header=False, index=False)
    queries = qrels["query_id"].unique()
    asked = {"session": np.arange(len(queries)) // 3, "query_id": queries, "order": np.arange(len(queries))}
    pd.DataFrame(asked).to_csv(path / "sessions.csv", index=False)
    generated_log(1, users=20).to_csv(path / "log.csv", index=False)
    return made


def command(text):
    """Return what a command prints."""
    from pyterrier_cwla.cli.app import main

    printed = io.StringIO()
    with chdir(folder().name), redirect_stdout(printed), pytest.raises(SystemExit) as ended:
        main(text.split())
    assert not ended.value.code, printed.getvalue()
    return printed.getvalue()


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


def explained(*measures):
    return "\n".join(tables_of(explain(pooled()[0], pooled()[1]["two"], "q1", measure)) for measure in measures)


def explained_in_time(measure, runs=lambda runs: runs["first"]):
    return tables_of(explain(timed()[0], runs(timed()[1]), "3", measure))


def in_all_forms(found, *latex, **layout):
    return repr(found) + on_terminal(found) + found.to_latex(*latex, **layout)


def corrected_p_values():
    tables = [compared(["AP"], baseline="one", correction=name).table.set_index("run") for name in CORRECTIONS]
    columns = ["p_t_corrected", "p_wilcoxon_corrected", "p_randomisation_corrected"]
    return "\n".join(table[columns].round(4).to_string() for table in tables)


def several_baselines():
    found = compared(baseline=["two", "one"], least=0.05)
    return repr(found) + on_terminal(found) + found.wins("AP").to_string()


def pairs_by_tukey():
    found = compared(MEASURES[:2], pairs=True, test="tukey")
    return on_terminal(found) + found.to_latex("AP", layout="list")


def calibrated():
    log, how = generated_log(0, users=20), {"resamples": 100}
    efforts = behaviour.grade_efforts(log, summary_seconds=4.4, **how)
    found = behaviour.calibrate(log, **how), efforts, behaviour.continuing_from_views(log, last_rank=80, **how)
    return "\n".join(map(repr, found))


def models_of_clicks():
    log = demo.clicks(sessions=600, users=30)
    models = behaviour.dbn_from_clicks(log, gaps="passed", resamples=50), behaviour.position_model(log, resamples=20)
    return "\n".join(map(repr, [log, *models, behaviour.click_metrics(log)]))


def judged_by_machines():
    qrels, runs = pooled()
    rng = np.random.default_rng(0)
    noise = np.where(rng.random(len(qrels)) < 0.3, rng.choice([-1, 1], len(qrels)), 0)
    noisy = qrels.assign(relevance=np.clip(qrels["relevance"] + noise, 0, qrels["relevance"].max()))
    decimal = qrels.assign(relevance=qrels["relevance"] + rng.random(len(qrels)).round(2))
    how = {"best": 3, "bins": 3, "resamples": 100}
    return study("judge_agreement", qrels, {"noisy": noisy, "decimal": decimal}, runs, ["nDCG@10", "AP", "P@5"], **how)


def of_virtual_systems():
    values = rated().scores(MEASURES).reset_index(drop=True)
    values = values.assign(rating=rated().ratings, topic=np.arange(len(values)) // 4)
    return studies.virtual_systems(values, "rating", repeats=50, resamples=100)


HASTY = Mixture(measures={"hasty": "TBG(half_life=60)", "patient": TBG}, weights={"hasty": 0.25, "patient": 0.75})
FEW, FOLDS = {"resamples": 100}, {"cv": 3, "repeats": 2}
SLOWLY = {**FEW, "progress": False}
WILCOXON = {"test": "wilcoxon", "correction": "fdr_bh"}
RANDOMISATION = {"test": "randomisation", "correction": "bonferroni", "confidence": 0.9}
TWO, VALUES = ["Bpref", "AP"], {"p": [0.2, 0.4, 0.6, 0.8]}
BY_SESSION = "--judged-by query_id -m sDCG,nDCG@5 --by-session"
SESSIONS = ["nsDCG", "AdaptiveGRBP(p=0.6,effort='ratio(4)')@9"]
SHARE = CELL.format("rbp($p)", "erg")
SLOW = {"compare_pairs_by_tukey", "calibrate", "click_models", "robustness", "robustness_to_depth", "user_agreement",
        "command_calibrate", "command_demo", "command_study_power"}  # fmt: skip
#: Functions that return a printed text, by the name of the result.
RESULTS = {
    "compare_without_a_baseline": lambda: repr(compared(baseline=False)),
    "compare_with_a_baseline": lambda: in_all_forms(compared(baseline="one")),
    "compare_by_wilcoxon": lambda: repr(compared(["ESL", *MEASURES], baseline="three", **WILCOXON)),
    "compare_by_randomisation": lambda: on_terminal(compared(baseline="two", **RANDOMISATION)),
    "compare_p_values_by_correction": corrected_p_values,
    "compare_with_several_baselines": several_baselines,
    "compare_pairs": lambda: in_all_forms(compared(["AP", "GMAP"], pairs=True), "AP"),
    "compare_pairs_by_tukey": pairs_by_tukey,
    "compare_pairs_by_randomised_hsd": lambda: on_terminal(compared(MEASURES[:2], pairs=True, test="randomised_hsd")),
    "differences_by_topic": lambda: compared(["AP"]).differences("one", "four").round(4).to_string(),
    "explain_measures": lambda: explained("AP", "ERR@10", "nDCG@10", "INST(max_rel=2)", CELL.format("rbp(0.9)", "max")),
    "explain_time_biased_gain": lambda: explained_in_time(TBG),
    "explain_a_pair": lambda: explained_in_time(TBG, dict),
    "explain_a_mixture": lambda: explained_in_time(HASTY),
    "explain_intents": lambda: tables_of(explain(*diversity(4, (0, 0, 1, 2))[::-1], "3", IntentAware(measure="ERR"))),
    "simulate": lambda: repr(behaviour.simulate(timed()[0], timed()[1]["first"], TBG, users=300, progress=False)),
    "prefer": lambda: repr(behaviour.prefer(*timed(), TBG, users=300, **SLOWLY)),
    "calibrate": calibrated,
    "click_models": models_of_clicks,
    "robustness": lambda: study("robustness", *pooled(), TWO, fractions=(0.1, 0.5, 1), seeds=2, pairs=6, **SLOWLY),
    "robustness_to_depth": lambda: study("robustness_to_depth", *pooled(), TWO, depths=(2, 5), pairs=6, **SLOWLY),
    "groups_left_out": lambda: study("groups_left_out", *pooled(), dict(zip(pooled()[1], "ababa")), TWO[::-1], **FEW),
    "next_judgments": lambda: study("next_judgments", studies.f_qrels(pooled()[0], 0.4), pooled()[1], "RBP(rel=1)"),
    "simulated_judging": lambda: study("simulated_judging", *pooled(), "RBP(rel=1)", batch=50),
    "discriminative_power": lambda: study("discriminative_power", *pooled(), MEASURES, resamples=300, progress=False),
    "metric_agreement": lambda: study("metric_agreement", *pooled(), [*MEASURES, "RR"], resamples=100),
    "judge_agreement": judged_by_machines,
    "user_agreement": lambda: study("user_agreement", rated(), MEASURES, baseline="AP", span=4, **FOLDS, **FEW),
    "user_agreement_of_sessions": lambda: study(
        "user_agreement", demo.rated_sessions(sessions=40), SESSIONS, "pearson", **FEW
    ),
    "splits": lambda: study("splits", rated(), MEASURES, by="user", bins=None, resamples=100),
    "sensitivity": lambda: study("sensitivity", SHARE, {"p": [0.2, 0.5, 0.8]}, rated(), **SLOWLY),
    "virtual_systems": lambda: as_report(of_virtual_systems()),
    "fit": lambda: study("fit", SHARE, VALUES, rated(), default={"p": 0.8}, progress=False, **FOLDS),
    "fit_discount": lambda: study("fit_discount", "Cascade(phi='$phi',max_rel=2)", rated(), depth=3, **FOLDS, **FEW),
    "command_evaluate": lambda: command("evaluate qrels.txt runs -m nDCG@10 -m TBG --lengths words.tsv"),
    "command_compare": lambda: command("compare qrels.txt runs -m AP --baseline two --resamples 300"),
    "command_compare_pairs": lambda: command("compare qrels.txt runs -m AP --pairs --resamples 300"),
    "command_explain": lambda: command("explain qrels.txt runs/one.txt -q q2 -m TBG --lengths words.tsv --depth 8"),
    "command_rbo": lambda: command("rbo runs --depth 20"),
    "command_simulate": lambda: command("simulate qrels.txt runs/one.txt -m TBG --lengths words.tsv --users 200"),
    "command_sessions": lambda: command(f"sessions qrels.txt runs --sessions sessions.csv {BY_SESSION}"),
    "command_calibrate": lambda: command("calibrate log.csv --resamples 100"),
    "command_demo": lambda: command("demo --runs runs --qrels qrels.txt --lengths words.tsv"),
    "command_study_power": lambda: command("study power qrels.txt runs -m AP -m nDCG@5 --resamples 200 -o power"),
}


def numbers(name):
    """Return the numbers of a result that is printed on a wide screen."""
    with mock.patch.dict(os.environ, {"COLUMNS": "200"}):
        return numbers_of(RESULTS[name]())


def frozen():
    return json.loads(FILE.read_text("utf-8"))


@pytest.mark.every_case
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in RESULTS])
def test_printed_numbers(name):
    changed = differences(frozen()[name], numbers(name))
    assert not changed, (
        f"{name}: if this is intended, such as a new measure or significance test (TESTS) in a table, write the result"
        f" anew: python -m tests.test_frozen_results {name}\n{changed}"
    )


def test_each_result_has_numbers_and_the_layout_is_free():
    assert list(frozen()) == list(RESULTS)
    assert min(sum(len(numbers.split()) for numbers in words.values()) for words in frozen().values()) > 4
    table = "       AP    RR@5\nbm25  0.512  +1,234.50▲ [−0.1, 1.0e-05]\nTBG(half_life=60) 31/2/17\nfor all 9 pairs, 5%"
    expected = {"bm25": "0.512 1234.50 -0.1 1.0e-05", "half_life": "60 31 2 17", "all": "9", "pairs": "5"}
    assert numbers_of(table) == expected
    other = "for all\n9 pairs: 5 %\n│ bm25 │ 0.512 │ 1234.50 [-0.1, 1.0e-05] │ half_life 60: 31 / 2 / 17"
    assert numbers_of(other) == expected
    assert differences(expected, {**expected, "all": "8"}) == "all:\n  - 9\n  + 8"
    assert differences(expected, {"bm25": "0.512 1234.50 -0.1"}).count("+ none") == 3


def main(names):
    """Write the numbers of some or all results anew, and print the differences."""
    old, new = frozen(), {name: numbers(name) for name in names or RESULTS}
    for name, words in new.items():
        if changed := differences(old.get(name, {}), words):
            print(f"{name}\n{changed}\n")
    kept = {name: new.get(name) or old[name] for name in RESULTS}
    FILE.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

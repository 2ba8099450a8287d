"""Each public figure of the package, drawn from large generated inputs or from real data."""

from dataclasses import replace
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pyterrier as pt

from pyterrier_cwla import TBG, behaviour, compare, demo, explain, studies
from pyterrier_cwla.evaluation import corrected, plot_stops, stop_distribution
from pyterrier_cwla.files.formats import find_runs, read_qrels, read_run
from pyterrier_cwla.pipelines import Cost, OptunaSearch
from tests.behaviour.clicks.test_click_models import simulated as simulated_clicks
from tests.support.generated_logs import generated_log

CONTINUATIONS = ("prec(5)", "prec(10)", "dcg(20)", "rbp(0.8)", "inst(2.5)", "rr")
AGGREGATIONS = ("etg", "erg", "max", "fin", "fgt(0.8)")
SIX = {"bpref": "Bpref", "infAP": "infAP", "nDCG": "CWLA(C='dcg',A='etg',gain='binary',norm='ideal')", "AP": "AP",
       "RBP": "RBP(p=0.95,rel=1)", "average precision with INST's users": "CWLA(C='inst(1)',A='erg',max_rel=2)"}  # fmt: skip


#: 30 measures whose names are their formulas.
NAMES = [f"CWLA(C='{C}',A='{A}',max_rel=2)" for C, A in product(CONTINUATIONS, AGGREGATIONS)]


"""Functions and methods that draw one of the inputs, with this input."""
OF_STUDIES = {
    "plot_order": "robustness", "plot_accuracy": "robustness", "plot_g_mean": "robustness", "plot_differences": "robustness",
    "plot_order by depth": "robustness_to_depth", "plot_possible_changes": "next_judgments", "plot_judging": "simulated_judging",
    "plot_falls": "groups_left_out", "plot_correlations": "metric_agreement", "plot_correlations of six": "agreement_of_six",
    "plot_judges": "judge_agreement", "plot_favoured": "judge_agreement", "plot_confusion": "judge_agreement",
    "plot_calibration": "judge_agreement", "plot_power": "power", "plot_levels": "power", "plot_agreement": "user_agreement",
    "plot_cells": "crossed", "plot_sensitivity": "sensitivity", "plot_change": "sensitivity",
    "plot_sensitivity of choices": "sensitivity_of_choices", "plot_splits": "splits", "plot_splits in bins": "bins",
    "plot_virtual_systems": "virtual_systems", "plot_discount": "discount_fit",
}  # fmt: skip
METHODS = {
    "Calibration.plot_reading_times": "calibration", "Calibration.plot_survival": "calibration",
    "Progress.plot_ranks": "progress", "Progress.plot_gains": "progress", "Progress.plot_gains of few": "progress_of_few",
    "Comparison.plot_pairs": "all_pairs", "Comparison.plot_pairs of many": "many_pairs", "Comparison.plot_wins": "all_pairs",
    "Tuned.plot_front": "tuned", "Explanation.plot": "explanation", "ExplainedPair.plot": "explained_pair",
}  # fmt: skip


def drawn(name, study):
    """Return a function of the inputs, axes (or None for a new figure) and the width in inches."""
    kind, _, method = name.split(" ")[0].rpartition(".")
    if kind:
        return lambda given, ax, _: getattr(getattr(given, study), method)(ax=ax)
    return lambda given, ax, _: getattr(studies, method)(getattr(given, study), ax=ax)


FIGURES = {name: drawn(name, study) for name, study in {**OF_STUDIES, **METHODS}.items()} | {
    "plot_scatter": lambda given, ax, _: studies.plot_scatter(given.metric_agreement, *NAMES[:30:29], ax=ax),
    "plot_bands": lambda given, ax, _: studies.plot_bands(given.user_agreement, given.best, ax),
    "plot_bands of preferences": lambda given, ax, _: studies.plot_bands(given.preferences, "nDCG@5", ax),
    "plot_parameter": lambda given, ax, _: studies.plot_parameter(given.fit, "p", ax),
    "plot_parameter of choices": lambda given, ax, _: studies.plot_parameter(given.fit, "g", ax),
    "Calibration.plot_progress": lambda given, ax, _: given.calibration.plot_progress(given.log, ax),
    "Calibration.plot_progress by": lambda given, ax, _: given.calibration.plot_progress(given.log, ax, by="precision"),
    "plot_continuing": lambda given, ax, _: behaviour.plot_continuing(given.continuing, given.five, ax=ax),
    "plot_grade_efforts": lambda given, ax, _: behaviour.plot_grade_efforts(given.grade_efforts, ax),
    "plot_positions": lambda given, ax, _: behaviour.plot_positions(given.positions, given.five, ax=ax),
    "plot_relevance": lambda given, ax, _: behaviour.plot_relevance(given.click_model, ax),
    "plot_users": lambda given, ax, _: behaviour.plot_users(given.simulation, "score", ax=ax),
    "plot_users of time": lambda given, ax, _: behaviour.plot_users(given.simulation, "time", ax=ax),
    "Simulation.plot": lambda given, ax, _: given.simulation.plot("items", given.qid, ax=ax),
    "Simulation.plot of runs": lambda given, ax, _: given.simulated_runs.plot("gain", ax=ax),
    "plot_stops": lambda given, ax, _: plot_stops(given.stops, ax),
    "Comparison.plot": lambda given, _, width: given.comparison.plot(width=width),
    "Comparison.plot with a baseline": lambda given, _, width: given.compared_with_baseline.plot(width=width),
    "Comparison.plot of corrected": lambda given, _, width: given.corrected.plot(width=width),
    "Comparison.plot_topics": lambda given, ax, _: given.comparison.plot_topics(*given.comparison.runs[:2], ax=ax),
    "Comparison.plot_topics of pairs": lambda given, ax, _: given.all_pairs.plot_topics(*given.all_pairs.runs[:2], ax=ax),
    "Explanation.plot of time": lambda given, ax, _: given.explanation_in_time.plot(ax, docnos=True),
}  # fmt: skip


def some(given, number):
    """Return the judgments and the first runs."""
    return given.qrels, dict([*given.runs.items()][:number])


def timed(given, number):
    """Return judgments and the first runs for a measure with time, and the measure."""
    return given.timed_qrels, dict([*given.timed_runs.items()][:number]), given.timed_measure


def judge_agreement(given):
    rng, people = np.random.default_rng(0), given.qrels[["query_id", "doc_id", "relevance"]]
    grade = people["relevance"].to_numpy()
    noisy = np.where(rng.random(len(grade)) < 0.7, grade, rng.permutation(grade))
    decimal = np.clip(grade + rng.normal(0, 0.5, len(grade)), 0, 2)
    machines = {"a judge with a long name": noisy, "decimal": decimal}
    machines = {name: people.assign(relevance=labels) for name, labels in machines.items()}
    return studies.judge_agreement(people, machines, some(given, 20)[1], NAMES[::8], resamples=100)


def virtual_systems(given):
    scores = given.rated.scores(NAMES[::2]).reset_index(drop=True)
    values = scores.assign(rating=given.rated.ratings, topic=np.arange(len(scores)) // 3)
    return studies.virtual_systems(values, "rating", repeats=100, resamples=100)


def corrected_comparison(given):
    people = given.qrels[given.qrels["query_id"].isin(given.qrels["query_id"].unique()[::2])]
    return corrected(people, *some(given, 12), SIX)


def neighbours(given):
    """Return preferences between neighbouring rated lists."""
    lists = given.rated_lists.table.reset_index(drop=True)
    pairs = pd.DataFrame({"first": lists["query_id"][:-1].to_numpy(), "second": lists["query_id"][1:].to_numpy(),
                          "preference": np.sign(lists["rating"].diff()[1:].to_numpy())})  # fmt: skip
    return studies.Rated("pair", pairs.assign(rating=pairs["preference"]), given.rated_lists.shown)


QUIETLY = {"resamples": 100, "progress": False}
MASKED = {"complete": None, "resamples": 50}
FOLDS = {"cv": 5, "repeats": 2}
BY_A = {f"CWLA(C='rbp',A='{A}',max_rel=2)": f"CWLA(C='rbp($p)',A='{A}',max_rel=2)" for A in (*AGGREGATIONS, "avg")}
CHOICES = {A: f"CWLA(C='$C',A='{A}',max_rel=2)" for A in ("erg", "max")}
SHARE, CASCADE = "CWLA(C='rbp($p)',A='erg',gain='$g',max_rel=2)", "Cascade(phi='$phi',max_rel=2)"
GAINS, USUAL = {"p": (0.1, 0.9), "g": ["linear", "binary", "exponential"]}, {"p": 0.8, "g": "linear"}
"""Functions of the inputs that compute what the figures show."""
STUDIES = {
    "metric_agreement": lambda given: studies.metric_agreement(given.qrels, given.runs, NAMES, resamples=100),
    "agreement_of_six": lambda given: studies.metric_agreement(given.qrels, given.runs, SIX, resamples=100),
    "judge_agreement": judge_agreement,
    "power": lambda given: studies.discriminative_power(*some(given, 16), NAMES[::3], **QUIETLY),
    "robustness": lambda given: studies.robustness(*some(given, 20), SIX, seeds=3, pairs=30, progress=False, **MASKED),
    "robustness_to_depth": lambda given: studies.robustness_to_depth(*some(given, 20), SIX, pairs=0, progress=False, **MASKED),
    "groups_left_out": lambda given: studies.groups_left_out(
        given.qrels, given.runs, {name: name[:4] for name in given.runs}, SIX, depth=7, **MASKED
    ),
    "next_judgments": lambda given: studies.next_judgments(studies.f_qrels(given.qrels, 0.4), some(given, 8)[1], "AP"),
    "simulated_judging": lambda given: studies.simulated_judging(*some(given, 6), "AP", batch=500),
    "user_agreement": lambda given: studies.user_agreement(given.rated, NAMES, "pearson", resamples=100, baseline=NAMES[3]),
    "best": lambda given: given.user_agreement.ranked.index[0],
    "crossed": lambda given: studies.user_agreement(given.rated, studies.grid(max_rel=2), "pearson", resamples=100),
    "preferences": lambda given: studies.user_agreement(neighbours(given), ["nDCG@5", "P@5"], resamples=100),
    "sensitivity": lambda given: studies.sensitivity(BY_A, {"p": np.linspace(0.1, 0.9, 9)}, given.rated, **QUIETLY),
    "sensitivity_of_choices": lambda given: studies.sensitivity(CHOICES, {"C": CONTINUATIONS}, given.rated, **QUIETLY),
    "splits": lambda given: studies.splits(given.rated, NAMES[::7], by=given.kind, resamples=100),
    "bins": lambda given: studies.splits(given.rated, NAMES[::5], by=given.number, bins=5, resamples=100),
    "virtual_systems": virtual_systems,
    "fit": lambda given: studies.fit(SHARE, GAINS, given.rated, default=USUAL, most=200, progress=False, **FOLDS),
    "discount_fit": lambda given: studies.fit_discount(CASCADE, given.rated, depth=3, resamples=100, default="log2", **FOLDS),
    "calibration": lambda given: behaviour.calibrate(given.log, resamples=50),
    "continuing": lambda given: behaviour.continuing_from_views(given.log, last_rank=80, resamples=50),
    "grade_efforts": lambda given: behaviour.grade_efforts(given.log, summary_seconds=4.4, resamples=50),
    "positions": lambda given: behaviour.position_model(given.clicks, depth=10, resamples=20),
    "click_model": lambda given: behaviour.dbn_from_clicks(given.clicks, gaps="passed", resamples=20),
    "progress": lambda given: behaviour.progress(given.qrels, given.runs, "RBP(p=0.9,rel=1)", times=range(1, 21)),
    "progress_of_few": lambda given: behaviour.progress(*timed(given, None)),
    "simulation": lambda given: behaviour.simulate(*timed(given, 1), users=500, keep=True, progress=False),
    "simulated_runs": lambda given: behaviour.simulate(*timed(given, 6), users=200, keep=True, progress=False),
    "comparison": lambda given: compare(*some(given, 12), SIX, baseline=False),
    "compared_with_baseline": lambda given: compare(*some(given, 12), NAMES[::7], baseline=next(iter(given.runs))),
    "corrected": corrected_comparison,
    "all_pairs": lambda given: compare(*some(given, 7), ["nDCG@10", "AP"], pairs=True, resamples=200),
    "many_pairs": lambda given: compare(*some(given, 40), ["AP"], pairs=True, test="tukey", resamples=100),
    "run": lambda given: next(iter(given.runs.values())),
    "stops": lambda given: stop_distribution(given.qrels, given.run, "INST(max_rel=2)", depth=20),
    "explanation": lambda given: explain(given.qrels, given.run, str(given.stops.index[0]), "nDCG@10"),
    "explained_pair": lambda given: explain(*some(given, 2), str(given.stops.index[0]), "nDCG@10"),
    "qid": lambda given: str(given.simulation.by_query.index[0][1]),
    "timed_run": lambda given: next(iter(given.timed_runs.values())),
    "explanation_in_time": lambda given: explain(given.timed_qrels, given.timed_run, given.qid, given.timed_measure),
}  # fmt: skip


class Inputs:
    """Studies of judgments, runs, ratings and logs that subclasses provide; each is computed when it is first read."""

    five = ("RBP(p=0.8,rel=1)", "AdaptiveERR(max_rel=2)", "CWLA(C='inst(2.5)',A='erg',max_rel=2)",
            "CWLA(C='dcg(20)',A='etg',max_rel=2)", "CWLA(C='rbp(0.7)',A='max',max_rel=2)")  # fmt: skip

    def __getattr__(self, name):
        if name not in STUDIES:
            raise AttributeError(name)
        setattr(self, name, STUDIES[name](self))
        return getattr(self, name)


class Generated(Inputs):
    """Generated data of realistic size: 143 systems, 30 measures with long names, ratings, and logs."""

    kind, number, timed_measure = "kind of the query", "number", "TBG"

    def __init__(self):
        made = demo.pooled_runs(systems=143, topics=12, documents=60, depth=20, pool_depth=20)
        self.qrels = self.timed_qrels = made.qrels
        names = [f"{'ABCDEFGHIJKLM'[number % 13] * 4}.run-{number}-of_a_long_name" for number in range(143)]
        self.runs = dict(zip(names, made.runs.values(), strict=True))
        words = np.random.default_rng(3).lognormal(6, 0.8, 60).round()
        some = list(self.runs.items())[::15]
        self.timed_runs = {name: run.assign(doc_length=words[run.doc_id.str[1:].astype(int)]) for name, run in some}
        rated = demo.rated_lists(queries=12, users=20, max_rel=2)
        kinds = np.resize(["navigational", "informational, with several intents", "other"], 120)
        numbers = np.random.default_rng(1).exponential(20, 120).round()
        table = rated.table.assign(**{self.kind: kinds, self.number: numbers})
        self.rated = self.rated_lists = replace(rated, table=table)
        self.log = behaviour.InteractionLog.of(generated_log(0, 40, 6, duplicates=0.1))
        self.clicks = simulated_clicks(2, ranks=12)

    @cached_property
    def tuned(self):
        made = demo.collection(documents=300, topics=12)
        bm25, cut = demo.systems(made)["BM25"], pt.RankCutoff(10)
        params = {bm25: {"k1": (0.5, 2.0), "b": (0.0, 1.0)}, cut: {"k": (1, 50)}}
        metric = ["nDCG@20", Cost("doc_length", at_most=9000, label="words of the found documents")]
        return OptunaSearch(bm25 >> cut, params, made.topics, made.qrels, metric, trials=40, verbose=False)


class Real(Inputs):
    """Real data."""

    kind, number = "topic", "difficulty"

    def __init__(self, folder: Path):
        covid, dl19, satisfaction = folder / "trec-covid-r1", folder / "dl19", folder / "chiir24-satisfaction"
        self.qrels = read_qrels(covid / "qrels.txt").to_pandas()
        self.runs = {path.name.removesuffix(".gz"): read_run(path) for path in find_runs(covid / "runs")}
        self.timed_qrels = read_qrels(dl19 / "qrels.txt").to_pandas()
        self.timed_runs = {path.stem: read_run(path) for path in find_runs(dl19 / "runs")}
        self.timed_measure = TBG(lengths=dl19 / "doclens.tsv", missing="mean", rel=2)
        self.rated = studies.jiang_ratings(folder / "jiang-sessions")
        self.rated_lists = studies.chiir24_ratings(satisfaction)
        self.log = self.clicks = behaviour.chiir24_log(satisfaction)


NOT_REAL = {
    "Calibration.plot_reading_times": "no public log has the lengths of documents and the seconds on them",
    "Tuned.plot_front": "real data have runs, and no pipelines",
}
"""Figures that are not drawn from real data, with the reason."""

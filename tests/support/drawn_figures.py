"""Each public figure of the package, drawn from large generated inputs or from real data."""

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


def long_names(max_rel=2, cutoff=""):
    """Return 30 measures whose names are their formulas."""
    return [f"CWLA(C='{C}',A='{A}',max_rel={max_rel}){cutoff}" for C, A in product(CONTINUATIONS, AGGREGATIONS)]


"""Functions of the inputs, axes (or None for a new figure) and the width in inches."""
FIGURES = {
    "plot_order": lambda given, ax, _: studies.plot_order(given.robustness, ax),
    "plot_accuracy": lambda given, ax, _: studies.plot_accuracy(given.robustness, ax),
    "plot_g_mean": lambda given, ax, _: studies.plot_g_mean(given.robustness, ax),
    "plot_differences": lambda given, ax, _: studies.plot_differences(given.robustness, ax),
    "plot_order by depth": lambda given, ax, _: studies.plot_order(given.robustness_to_depth, ax),
    "plot_possible_changes": lambda given, ax, _: studies.plot_possible_changes(given.next_judgments, ax),
    "plot_judging": lambda given, ax, _: studies.plot_judging(given.simulated_judging, ax),
    "plot_falls": lambda given, ax, _: studies.plot_falls(given.groups_left_out, ax),
    "plot_correlations": lambda given, ax, _: studies.plot_correlations(given.metric_agreement, ax=ax),
    "plot_correlations of six": lambda given, ax, _: studies.plot_correlations(given.agreement_of_six, ax=ax),
    "plot_scatter": lambda given, ax, _: studies.plot_scatter(given.metric_agreement, *long_names()[:30:29], ax=ax),
    "plot_judges": lambda given, ax, _: studies.plot_judges(given.judge_agreement, ax),
    "plot_favoured": lambda given, ax, _: studies.plot_favoured(given.judge_agreement, ax=ax),
    "plot_confusion": lambda given, ax, _: studies.plot_confusion(given.judge_agreement, ax),
    "plot_calibration": lambda given, ax, _: studies.plot_calibration(given.judge_agreement, ax),
    "plot_power": lambda given, ax, _: studies.plot_power(given.power, ax),
    "plot_levels": lambda given, ax, _: studies.plot_levels(given.power, ax=ax),
    "plot_agreement": lambda given, ax, _: studies.plot_agreement(given.user_agreement, ax),
    "plot_cells": lambda given, ax, _: studies.plot_cells(given.crossed, ax),
    "plot_bands": lambda given, ax, _: studies.plot_bands(
        given.user_agreement, given.user_agreement.ranked.index[0], ax
    ),
    "plot_bands of preferences": lambda given, ax, _: studies.plot_bands(given.preferences, "nDCG@5", ax),
    "plot_sensitivity": lambda given, ax, _: studies.plot_sensitivity(given.sensitivity, ax=ax),
    "plot_change": lambda given, ax, _: studies.plot_change(given.sensitivity, ax=ax),
    "plot_sensitivity of choices": lambda given, ax, _: studies.plot_sensitivity(given.sensitivity_of_choices, ax=ax),
    "plot_splits": lambda given, ax, _: studies.plot_splits(given.splits, ax),
    "plot_splits in bins": lambda given, ax, _: studies.plot_splits(given.bins, ax),
    "plot_virtual_systems": lambda given, ax, _: studies.plot_virtual_systems(given.virtual_systems, ax=ax),
    "plot_parameter": lambda given, ax, _: studies.plot_parameter(given.fit, "p", ax),
    "plot_discount": lambda given, ax, _: studies.plot_discount(given.discount_fit, ax),
    "plot_parameter of choices": lambda given, ax, _: studies.plot_parameter(given.fit, "g", ax),
    "Calibration.plot_reading_times": lambda given, ax, _: given.calibration.plot_reading_times(ax),
    "Calibration.plot_survival": lambda given, ax, _: given.calibration.plot_survival(ax),
    "Calibration.plot_progress": lambda given, ax, _: given.calibration.plot_progress(given.log, ax),
    "Calibration.plot_progress by": lambda given, ax, _: given.calibration.plot_progress(given.log, ax, by="precision"),
    "plot_continuing": lambda given, ax, _: behaviour.plot_continuing(given.continuing, given.five, ax=ax),
    "plot_grade_efforts": lambda given, ax, _: behaviour.plot_grade_efforts(given.grade_efforts, ax),
    "plot_positions": lambda given, ax, _: behaviour.plot_positions(given.positions, given.five, ax=ax),
    "plot_relevance": lambda given, ax, _: behaviour.plot_relevance(given.click_model, ax),
    "Progress.plot_ranks": lambda given, ax, _: given.progress.plot_ranks(ax),
    "Progress.plot_gains": lambda given, ax, _: given.progress.plot_gains(ax),
    "Progress.plot_gains of few": lambda given, ax, _: given.progress_of_few.plot_gains(ax),
    "plot_users": lambda given, ax, _: behaviour.plot_users(given.simulation, "score", ax=ax),
    "plot_users of time": lambda given, ax, _: behaviour.plot_users(given.simulation, "time", ax=ax),
    "Simulation.plot": lambda given, ax, _: given.simulation.plot("items", given.qid, ax=ax),
    "plot_stops": lambda given, ax, _: plot_stops(given.stops, ax),
    "Simulation.plot of runs": lambda given, ax, _: given.simulated_runs.plot("gain", ax=ax),
    "Comparison.plot": lambda given, _, width: given.comparison.plot(width=width),
    "Comparison.plot with a baseline": lambda given, _, width: given.compared_with_baseline.plot(width=width),
    "Comparison.plot of corrected": lambda given, _, width: given.corrected.plot(width=width),
    "Comparison.plot_topics": lambda given, ax, _: given.comparison.plot_topics(*given.comparison.runs[:2], ax=ax),
    "Comparison.plot_pairs": lambda given, ax, _: given.all_pairs.plot_pairs(ax=ax),
    "Comparison.plot_pairs of many": lambda given, ax, _: given.many_pairs.plot_pairs(ax=ax),
    "Comparison.plot_topics of pairs": lambda given, ax, _: given.all_pairs.plot_topics(
        *given.all_pairs.runs[:2], ax=ax
    ),
    "Tuned.plot_front": lambda given, ax, _: given.tuned.plot_front(ax),
    "Comparison.plot_wins": lambda given, ax, _: given.all_pairs.plot_wins(ax=ax),
    "Explanation.plot": lambda given, ax, _: given.explanation.plot(ax),
    "ExplainedPair.plot": lambda given, ax, _: given.explained_pair.plot(ax),
    "Explanation.plot of time": lambda given, ax, _: given.explanation_in_time.plot(ax, docnos=True),
}


class Inputs:
    """Studies of judgments, runs, ratings and logs that subclasses provide; each is computed when it is first read."""

    five = ("RBP(p=0.8,rel=1)", "AdaptiveERR(max_rel=2)", "CWLA(C='inst(2.5)',A='erg',max_rel=2)",
            "CWLA(C='dcg(20)',A='etg',max_rel=2)", "CWLA(C='rbp(0.7)',A='max',max_rel=2)")  # fmt: skip

    @cached_property
    def metric_agreement(self):
        return studies.metric_agreement(self.qrels, self.runs, long_names(), resamples=100)

    @cached_property
    def agreement_of_six(self):
        return studies.metric_agreement(self.qrels, self.runs, SIX, resamples=100)

    @cached_property
    def judge_agreement(self):
        rng, some = np.random.default_rng(0), dict(list(self.runs.items())[:20])
        people = self.qrels
        if isinstance(people, dict):
            rows = [(query, document, grade) for query, of in people.items() for document, grade in of.items()]
            people = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])
        people, grade = people[["query_id", "doc_id", "relevance"]], people["relevance"].to_numpy()
        noisy = np.where(rng.random(len(grade)) < 0.7, grade, rng.permutation(grade))
        decimal = np.clip(grade + rng.normal(0, 0.5, len(grade)), 0, 2)
        machines = {"a judge with a long name": noisy, "decimal": decimal}
        machines = {name: people.assign(relevance=labels) for name, labels in machines.items()}
        return studies.judge_agreement(people, machines, some, long_names()[::8], resamples=100)

    @cached_property
    def power(self):
        some = dict(list(self.runs.items())[:16])
        return studies.discriminative_power(self.qrels, some, long_names()[::3], resamples=200, progress=False)

    @cached_property
    def robustness(self):
        some = dict(list(self.runs.items())[:20])
        return studies.robustness(self.qrels, some, SIX, seeds=3, pairs=30, complete=None, resamples=50, progress=False)

    @cached_property
    def robustness_to_depth(self):
        some = dict(list(self.runs.items())[:20])
        return studies.robustness_to_depth(self.qrels, some, SIX, pairs=0, complete=None, resamples=50, progress=False)

    @cached_property
    def groups_left_out(self):
        groups = {name: name[:4] for name in self.runs}
        return studies.groups_left_out(self.qrels, self.runs, groups, SIX, depth=7, complete=None, resamples=50)

    @cached_property
    def next_judgments(self):
        some = dict(list(self.runs.items())[:8])
        return studies.next_judgments(studies.f_qrels(self.qrels, 0.4), some, "AP")

    @cached_property
    def simulated_judging(self):
        some = dict(list(self.runs.items())[:6])
        return studies.simulated_judging(self.qrels, some, "AP", batch=500)

    @cached_property
    def user_agreement(self):
        return studies.user_agreement(self.rated, long_names(), "pearson", resamples=100, baseline=long_names()[3])

    @cached_property
    def crossed(self):
        return studies.user_agreement(self.rated, studies.grid(max_rel=2), "pearson", resamples=100)

    @cached_property
    def preferences(self):
        return studies.user_agreement(preferences_of(self.rated_lists), ["nDCG@5", "P@5"], resamples=100)

    @cached_property
    def sensitivity(self):
        named = {
            f"CWLA(C='rbp',A='{A}',max_rel=2)": f"CWLA(C='rbp($p)',A='{A}',max_rel=2)" for A in (*AGGREGATIONS, "avg")
        }
        return studies.sensitivity(named, {"p": np.linspace(0.1, 0.9, 9)}, self.rated, resamples=100, progress=False)

    @cached_property
    def sensitivity_of_choices(self):
        named = {A: f"CWLA(C='$C',A='{A}',max_rel=2)" for A in ("erg", "max")}
        return studies.sensitivity(named, {"C": CONTINUATIONS}, self.rated, resamples=100, progress=False)

    @cached_property
    def splits(self):
        return studies.splits(self.rated, long_names()[::7], by=self.kind, resamples=100)

    @cached_property
    def bins(self):
        return studies.splits(self.rated, long_names()[::5], by=self.number, bins=5, resamples=100)

    @cached_property
    def virtual_systems(self):
        scores = self.rated.scores(long_names()[::2]).reset_index(drop=True)
        values = scores.assign(rating=self.rated.ratings, topic=np.arange(len(scores)) // 3)
        return studies.virtual_systems(values, "rating", repeats=100, resamples=100)

    @cached_property
    def fit(self):
        return studies.fit(
            "CWLA(C='rbp($p)',A='erg',gain='$g',max_rel=2)", {"p": (0.1, 0.9), "g": ["linear", "binary", "exponential"]},
            self.rated, cv=5, repeats=2, default={"p": 0.8, "g": "linear"}, most=200, progress=False,
        )  # fmt: skip

    @cached_property
    def discount_fit(self):
        return studies.fit_discount(
            "Cascade(phi='$phi',max_rel=2)", self.rated, depth=3, cv=5, repeats=2, resamples=100, default="log2"
        )

    @cached_property
    def calibration(self):
        return behaviour.calibrate(self.log, resamples=50)

    @cached_property
    def continuing(self):
        return behaviour.continuing_from_views(self.log, last_rank=80, resamples=50)

    @cached_property
    def grade_efforts(self):
        return behaviour.grade_efforts(self.log, summary_seconds=4.4, resamples=50)

    @cached_property
    def positions(self):
        return behaviour.position_model(self.clicks, depth=10, resamples=20)

    @cached_property
    def click_model(self):
        return behaviour.dbn_from_clicks(self.clicks, gaps="passed", resamples=20)

    @cached_property
    def progress(self):
        return behaviour.progress(self.qrels, self.runs, "RBP(p=0.9,rel=1)", times=range(1, 21))

    @cached_property
    def progress_of_few(self):
        return behaviour.progress(self.timed_qrels, self.timed_runs, self.timed_measure)

    @cached_property
    def simulation(self):
        name, run = next(iter(self.timed_runs.items()))
        return behaviour.simulate(
            self.timed_qrels, {name: run}, self.timed_measure, users=500, keep=True, progress=False
        )

    @cached_property
    def simulated_runs(self):
        some = dict(list(self.timed_runs.items())[:6])
        return behaviour.simulate(self.timed_qrels, some, self.timed_measure, users=200, keep=True, progress=False)

    @cached_property
    def comparison(self):
        return compare(self.qrels, dict(list(self.runs.items())[:12]), SIX, baseline=False)

    @cached_property
    def compared_with_baseline(self):
        some = dict(list(self.runs.items())[:12])
        return compare(self.qrels, some, long_names()[::7], baseline=next(iter(some)))

    @cached_property
    def corrected(self):
        qrels, some = self.qrels, dict(list(self.runs.items())[:12])
        if isinstance(qrels, dict):
            people = dict(list(qrels.items())[::2])
        else:
            people = qrels[qrels["query_id"].isin(qrels["query_id"].unique()[::2])]
        return corrected(people, qrels, some, SIX)

    @cached_property
    def all_pairs(self):
        return compare(self.qrels, dict(list(self.runs.items())[:7]), ["nDCG@10", "AP"], pairs=True, resamples=200)

    @cached_property
    def many_pairs(self):
        return compare(self.qrels, dict(list(self.runs.items())[:40]), ["AP"], pairs=True, test="tukey", resamples=100)

    @cached_property
    def explanation(self):
        return explain(self.qrels, next(iter(self.runs.values())), str(self.stops.index[0]), "nDCG@10")

    @cached_property
    def explained_pair(self):
        some = dict(list(self.runs.items())[:2])
        return explain(self.qrels, some, str(self.stops.index[0]), "nDCG@10")

    @cached_property
    def explanation_in_time(self):
        return explain(self.timed_qrels, next(iter(self.timed_runs.values())), self.qid, self.timed_measure)

    @cached_property
    def qid(self):
        return str(self.simulation.by_query.index[0][1])

    @cached_property
    def stops(self):
        return stop_distribution(self.qrels, next(iter(self.runs.values())), "INST(max_rel=2)", depth=20)


def preferences_of(rated):
    """Return preferences between neighbouring rated lists."""
    lists = rated.table.reset_index(drop=True)
    pairs = pd.DataFrame({"first": lists["query_id"][:-1].to_numpy(), "second": lists["query_id"][1:].to_numpy(),
                          "preference": np.sign(lists["rating"].diff()[1:].to_numpy())})  # fmt: skip
    return studies.Rated("pair", pairs.assign(rating=pairs["preference"]), rated.shown)


class Generated(Inputs):
    """Generated data of realistic size: 143 systems, 30 measures with long names, ratings, and logs."""

    kind, number = "kind of the query", "number"

    @cached_property
    def made(self):
        rng = np.random.default_rng(0)
        topics, documents = 12, 60
        grades = rng.choice([0, 0, 0, 1, 2], (topics, documents))
        qrels = {f"t{t}": {f"d{d}": int(g) for d, g in enumerate(of)} for t, of in enumerate(grades)}
        runs = {}
        for number in range(143):
            noise = rng.normal(0, 0.5 + number / 60, grades.shape)
            name = f"{'ABCDEFGHIJKLM'[number % 13] * 4}.run-{number}-of_a_long_name"
            order = np.argsort(noise - grades, axis=1)[:, :20]
            runs[name] = {f"t{t}": {f"d{d}": -float(at) for at, d in enumerate(of)} for t, of in enumerate(order)}
        return qrels, runs

    @cached_property
    def qrels(self):
        return self.made[0]

    @cached_property
    def runs(self):
        return self.made[1]

    @cached_property
    def rated(self):
        rng = np.random.default_rng(1)
        n = 120
        grades = rng.choice(3, (n, 8), p=(0.6, 0.25, 0.15))
        names = [f"list{number}" for number in range(n)]
        qrels = {name: {f"d{i}": int(g) for i, g in enumerate(of)} for name, of in zip(names, grades)}
        run = {name: {f"d{i}": -float(i) for i in range(8)} for name in names}
        worth = grades[:, :3].sum(axis=1) + rng.normal(size=n)
        table = pd.DataFrame({"query_id": names, "rating": np.clip(np.round(worth), 0, 4).astype(int)})
        table["user"] = [f"u{number % 20}" for number in range(n)]
        table[self.kind] = np.resize(["navigational", "informational, with several intents", "other"], n)
        table[self.number] = rng.exponential(20, n).round()
        return studies.Rated.lists(qrels, run, table)

    @property
    def rated_lists(self):
        return self.rated

    @cached_property
    def log(self):
        return behaviour.InteractionLog.of(generated_log(0, users=40, sessions=6, duplicates=0.1))

    @cached_property
    def clicks(self):
        return simulated_clicks(2, ranks=12)

    @cached_property
    def tuned(self):
        made = demo.collection(documents=300, topics=12)
        bm25, cut = demo.systems(made)["BM25"], pt.RankCutoff(10)
        params = {bm25: {"k1": (0.5, 2.0), "b": (0.0, 1.0)}, cut: {"k": (1, 50)}}
        metric = ["nDCG@20", Cost("doc_length", at_most=9000, label="words of the found documents")]
        return OptunaSearch(bm25 >> cut, params, made.topics, made.qrels, metric, trials=40, verbose=False)

    timed_measure = "TBG"

    @property
    def timed_qrels(self):
        return self.qrels

    @cached_property
    def timed_runs(self):
        words = np.random.default_rng(3).lognormal(6, 0.8, 60).round()
        runs = {}
        for name, run in list(self.runs.items())[::15]:
            rows = [(query, document, score) for query, of in run.items() for document, score in of.items()]
            frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])
            runs[name] = frame.assign(doc_length=words[frame["doc_id"].str[1:].astype(int)])
        return runs


class Real(Inputs):
    """Real data."""

    def __init__(self, folder: Path):
        self.folder = folder

    kind, number = "topic", "difficulty"

    @cached_property
    def qrels(self):
        return read_qrels(self.folder / "trec-covid-r1" / "qrels.txt").to_pandas()

    @cached_property
    def runs(self):
        found = find_runs(self.folder / "trec-covid-r1" / "runs")
        return {path.name.removesuffix(".gz"): read_run(path) for path in found}

    @cached_property
    def rated(self):
        return studies.jiang_ratings(self.folder / "jiang-sessions")

    @cached_property
    def rated_lists(self):
        return studies.chiir24_ratings(self.folder / "chiir24-satisfaction")

    @cached_property
    def log(self):
        return behaviour.chiir24_log(self.folder / "chiir24-satisfaction")

    @property
    def clicks(self):
        return self.log

    @property
    def timed_measure(self):
        return TBG(lengths=self.folder / "dl19" / "doclens.tsv", missing="mean", rel=2)

    @cached_property
    def timed_qrels(self):
        return read_qrels(self.folder / "dl19" / "qrels.txt").to_pandas()

    @cached_property
    def timed_runs(self):
        return {path.stem: read_run(path) for path in find_runs(self.folder / "dl19" / "runs")}


NOT_REAL = {
    "Calibration.plot_reading_times": "no public log has the lengths of documents and the seconds on them",
    "Tuned.plot_front": "real data have runs, and no pipelines",
}
"""Figures that are not drawn from real data, with the reason."""

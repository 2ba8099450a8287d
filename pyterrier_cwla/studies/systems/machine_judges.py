"""Agreement of machine judges with people: order of runs, favoured runs, and labels of documents.

Question: do the labels of a language model lead to the same conclusions about runs as those of people?

Method: runs are scored by the labels of people and of each machine, and their orders are correlated: τ_b and τ_AP over
all runs, and τ_b among the best runs. A judge favours runs whose scores it raises above the mean of all runs. Labels of
documents are compared by Cohen's κ (Cohen, 1960, and 1968 with weights) or, if they are probabilities or decimals, by
the share of documents in each range of labels that people call relevant. Intervals are over topics.

Not to conclude: agreement on these runs does not carry over to runs that use the same machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...data.alignment import Judgments
from ...errors import BadJudgments, BadParameter, check_known, check_whole, many, some, speaking_of
from ...errors.sanitise import in_picture
from ...evaluation.run_comparison import check_settings, measures_by_name
from ...evaluation.significance import corrected, t_test, unit_of, without_noise
from ...files.inputs import is_runs, loaded
from ...measures.labels import Measures
from ...measures.provider import judged
from ...measures.wrappers import Expected, reads_chances
from ...rendering.figures import COLOURS, GREY, SCORE, STAY, axes_of, heat_map, name_columns, name_rows, saved, titled
from ...rendering.numbers import fixed_point, percent, with_interval
from ..correlation import around, tau, times_drawn, why_negated
from ..report import About, Finding, Picture, Pictures, Study, Table, Tables, plot_curves, plot_rows, reported
from .metric_correlations import Cube, without_answers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...files.atomic import AnyPath

Array = np.ndarray

_LOOK = {"marker": "o", "color": STAY, "markersize": 5}
_PEOPLE = "human"  # name of people in thresholds
_DIFFER = "scales differ"
_OF_LABELS = [name + end for name in ("equal", "kappa", "kappa_linear") for end in ("", "_low", "_high")]
_LABELS = ["judge", "documents", "human_only", "machine_only", "compared", *_OF_LABELS, "calibration_error"]
_CELLS = ["machine", "human", "documents", "share"]
_BINS = ["label_from", "label_to", "documents", "label", "relevant", "relevant_low", "relevant_high"]


@reported("threshold best bins confidence resamples seed")
def judge_agreement(
    human: Any,
    machine: Any,
    runs: Mapping[str, Any],
    measures: Measures,
    *,
    threshold: float | Mapping[str, float | None] | None = None,
    best: int = 15,
    bins: int = 10,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> JudgeAgreement:
    """Compare machine judges with people: order of runs, favoured runs, and labels of documents.

    Each judge's scores are those of all its judgments on the topics that people and all machines judged.

    * Order of runs: τ_b and τ_AP (people's order is the true one) over all runs, and τ_b among the ``best`` runs by
      people's labels, which are the same in all resamples. Intervals are those of :func:`metric_agreement`: the
      bootstrap standard error over topics times the quantile of Student's t. In 200 samples of 50 topics of TREC 2021
      (with replacement, labels of UMBRELA, six measures), intervals of 95 % covered the mean over the samples of τ_b in
      95 to 99 %, of τ_AP in 92 to 98 %, and of τ_b among the best 15 in 92 to 99 %; with 20 topics, in 97 to 99 %, 92
      to 98 % and 86 to 99 %, least for ERR and RR.
    * Favoured runs: the difference of a run's mean scores, s(machine) − s(people), less the mean of this difference
      over all runs. Intervals are those of Student's t over topics, and hold for all runs of a judge and measure
      together (Bonferroni); ``p_corrected`` is p of the t-test times the number of runs. This presumes that both scores
      have one unit. ``slope`` is that of the regression over runs of the machine's scores on people's: where it is
      far from 1, differences show how good a run is rather than whom the judge favours.
    * Labels of the documents that both judged: the share of equal labels, Cohen's κ, and κ with linear weights. They
      need one scale: the highest labels are equal, or ``threshold`` makes them so. Intervals as for orders.
    * Labels that are probabilities (``p_relevant``, or ``p_0``, ``p_1``, …) or decimals are calibrated: ``bins`` of
      equal width, and the share of documents in each that people call relevant, which is a label above 0 after the
      threshold. ``calibration_error`` of probabilities is the mean over bins, weighted by documents, of the distance
      between this share and the mean probability. Where a machine has no grades, runs have :doc:`expected scores
      </probabilities>`.

    Parameters
    ----------
    human : DataFrame, dict of dicts, iterable of named tuples, or path
        Judgments of people.
    machine : as ``human``, or dict of these by name
        Judgments of one machine, which is called "machine", or of several.
    runs, measures
        As :func:`evaluate` takes them; at least three runs by name. Measures read the labels of each judge as they are,
        or after the threshold: no label of a binary judge is relevant for ``rel=2``.
    threshold : float, dict of float by name, or None, default=None
        The lowest relevant label. Labels from it on become 1 and all others 0, for scores and for κ. A number is for
        all judges; a dict has those of people ("human") and of machines by name, and other labels stay as they are.
        Without threshold, different scales of labels are an error; with a dict, κ is left out where they differ. None
        in a dict says that this machine has people's scale, even if the highest labels differ.
    best : int from 2, default=15
        Number of best runs.
    bins : int from 1, default=10
        Number of bins, from 0 to 1 for probabilities and otherwise from 0 or the lowest to the highest label.
    confidence : float in (0, 1), default=0.95
        Level of the intervals.
    resamples : int from 100, default=1000
        Number of bootstrap resamples, which all judges and measures share.
    seed : int from 0, default=0
        Seed of the resamples.

    Returns
    -------
    JudgeAgreement

    Raises
    ------
    BadParameter
        If there are fewer than three runs, or if scales of labels differ and there is no threshold.
    BadJudgments
        If people and machines judged fewer than two topics in common, or if people's labels are probabilities.

    References
    ----------
    Cohen (1960); Cohen (1968); Yilmaz et al. (2008); Faggioli et al. (2023).

    Examples
    --------
    >>> people = {q: {"a": 2, "b": 0, "c": 1, "d": 0} for q in "1234"}
    >>> model = {q: {"a": 2, "b": 0, "c": 1, "d": int(q > "2")} for q in "1234"}
    >>> order = {"one": "acbd", "two": "abcd", "three": "bdac"}
    >>> runs = {name: {q: {d: -float(i) for i, d in enumerate(docs)} for q in people} for name, docs in order.items()}
    >>> found = judge_agreement(people, model, runs, ["nDCG"])
    >>> found.labels[["judge", "documents", "equal", "kappa", "kappa_linear"]].round(3)
         judge  documents  equal  kappa  kappa_linear
    0  machine         16  0.875   0.81         0.857
    >>> found.orders[["judge", "measure", "tau_b"]]
         judge measure  tau_b
    0  machine    nDCG    1.0
    """
    check_settings(confidence, "t", None, resamples, seed)
    check_whole(2, best=best)
    check_whole(1, bins=bins)
    machines = {str(name): of for name, of in machine.items()} if is_runs(machine) else {"machine": machine}
    if not machines or _PEOPLE in machines:
        raise BadParameter(f"machine= has judgments of machines by name, and {_PEOPLE!r} is the name of people.")
    names = [_PEOPLE, *machines]
    lowest: dict[str, Any] = dict.fromkeys(names if threshold is not None else (), threshold)
    lowest = dict(threshold) if isinstance(threshold, Mapping) else lowest
    for name, value in lowest.items():
        check_known("judge", names, threshold=name)
        if value is not None and not isinstance(value, Real):
            raise BadParameter("must be the lowest relevant label, or a dict of these by judge.", threshold=threshold)

    given = {name: judged(loaded(of, "qrels"), uncertain=True) for name, of in zip(names, [human, *machines.values()])}
    if not given[_PEOPLE].columns.graded:
        raise BadJudgments("those of people have probabilities and no column relevance: people's labels are grades.")
    topics = [qid for qid in given[_PEOPLE].qids if all(qid in of.index for of in given.values())]
    if len(topics) < 2:
        raise BadJudgments(f"people and machines judged {some(topics) or 'no topic'} in common: two are needed.")
    read = {name: _on_topics(of, topics, lowest.get(name)) for name, of in given.items()}
    people = read[_PEOPLE][0]
    scales = {name: _compared(name, people, read[name][0], lowest) for name in machines}
    if threshold is None and (differ := [name for name, scale in scales.items() if scale == _DIFFER]):
        one, other = (f"{read[name][0].pool.highest:g}" for name in (_PEOPLE, differ[0]))
        said = f": labels of people go up to {one} and those of {differ[0]!r} up to {other}, and κ needs one scale."
        raise BadParameter(f"{said} Give the lowest relevant label for all, such as 1, or by judge, {{{_PEOPLE!r}: 2,"
                           f" {differ[0]!r}: 1}}: labels become 0 and 1. {{}} leaves κ out, and {{{differ[0]!r}: None}}"
                           " says that the scales are the same.", threshold=None)  # fmt: skip

    times, named = times_drawn(len(topics), resamples, seed), measures_by_name(measures)
    by_people = Cube.from_runs(people, runs, named, least=3)
    orders, favoured, cells, ranges, labels = {}, {}, {}, {}, []
    for name in machines:
        judgments, label = read[name]
        certain = judgments.columns.graded
        wanted = {of: one if certain or reads_chances(one) else Expected(measure=one) for of, one in named.items()}
        with speaking_of(name, None):
            by_machine = Cube.from_runs(judgments, runs, wanted, least=3)
        orders[name] = pd.DataFrame(_orders(by_people, by_machine, best, confidence, times))
        favoured[name] = _favoured(by_people, by_machine, confidence)
        both = _judged_by_both(people, judgments, label)
        if both.empty:
            raise BadJudgments(f"people and {name!r} judged no document in common. Are their ids written alike?")
        alone = [len(of.columns) - len(both) for of in (people, judgments)]
        row = dict(zip(_LABELS, [name, len(both), *alone, scales[name] or "no grades"]))
        if scales[name] not in ("", _DIFFER):
            agreement, cells[name] = _agreement(both, confidence, times)
            row |= agreement
        if label is not None:
            ranges[name] = _calibration(both, judgments.columns.chances is not None, bins, confidence, times)
            if judgments.columns.chances is not None:
                off = (ranges[name]["relevant"] - ranges[name]["label"]).abs()
                row["calibration_error"] = np.average(off, weights=ranges[name]["documents"])
        labels.append(row)
    about = {
        **by_people.about(),
        "judges": [*machines],
        "expected_scores": [name for name in machines if not read[name][0].columns.graded],
        "topics_left_out": len({qid for of in given.values() for qid in of.qids}) - len(topics),
        "intervals": "standard error of the bootstrap over topics, with Student's t",
    }
    tables = _of_judges(orders), _of_judges(favoured), pd.DataFrame(labels, columns=_LABELS)
    return JudgeAgreement(*tables, _of_judges(cells, _CELLS), _of_judges(ranges, _BINS), about)


def _of_judges(frames: Mapping[str, pd.DataFrame], columns: Sequence[str] = ()) -> pd.DataFrame:
    """Return frames as one, with a column of the judge; an empty one has these columns."""
    frames = frames or {"": pd.DataFrame(columns=columns)}
    return pd.concat(frames, names=["judge"]).reset_index("judge").reset_index(drop=True)


def _on_topics(judgments: Judgments, topics: list[str], lowest: float | None) -> tuple[Judgments, Array | None]:
    """Return the judgments of some topics, with labels 0 and 1 if there is a threshold, and labels to calibrate.

    Labels to calibrate are probabilities of a label above 0, or decimals before the threshold; None for grades.
    """
    rows = np.flatnonzero(np.isin(judgments.qids, topics)[judgments.row_query])
    columns = replace(judgments.columns.taken(rows), iteration=None)  # so that two labels of a document are an error
    label = None if (columns.value == np.round(columns.value)).all() else columns.value
    if lowest is not None:
        if columns.chances is not None:
            relevant = columns.chances[:, max(ceil(lowest), 0) :].sum(axis=1)
            columns = replace(columns, chances=np.column_stack([1 - relevant, relevant]))
        columns = replace(columns, value=(columns.value >= lowest).astype(int))
    if columns.chances is not None:
        label = 1 - columns.chances[:, 0]
    return Judgments(columns, topics), label


def _compared(judge: str, people: Judgments, machine: Judgments, lowest: Mapping[str, float | None]) -> str:
    """Return which labels κ compares, whether scales differ, or nothing if there are no grades."""
    both = people, machine
    if not machine.columns.graded or any((of.columns.value % 1 != 0).any() for of in both):
        return ""
    from_people, from_machine = lowest.get(_PEOPLE), lowest.get(judge)
    if from_people is not None and from_machine is not None:
        return f"relevant from {from_people:g} by people, from {from_machine:g} by the machine"
    if people.pool.highest == machine.pool.highest or (judge in lowest and from_machine is None):
        return f"grades up to {max(of.pool.highest for of in both):g}"
    return _DIFFER


def _orders(people: Cube, machine: Cube, best: int, confidence: float, times: Array) -> Iterator[dict[str, Any]]:
    """Yield the correlations of the orders of runs by people and machine, for each measure."""
    n = len(people.queries)
    for i, (measure, sign) in enumerate(zip(people.measures, people.signs)):
        human, other = (sign * cube.means[i] for cube in (people, machine))
        drawn = [(sign / unit_of(cube.values[i]) * cube.values[i] @ times / n).T for cube in (people, machine)]
        top = np.argsort(-human, kind="stable")[:best]
        row: dict[str, Any] = {"measure": measure}
        for column, kind, of in (("tau_b", "b", slice(None)), ("tau_ap", "ap", slice(None)), ("tau_b_best", "b", top)):
            value = float(tau(other[of], human[of], kind))
            low, high = around(value, tau(drawn[1][:, of], drawn[0][:, of], kind), confidence, n)
            row |= {column: value, f"{column}_low": low, f"{column}_high": high}
        (spread, common), _ = np.cov(human, other)
        yield row | {"slope": common / spread if spread else np.nan}


def _favoured(people: Cube, machine: Cube, confidence: float) -> pd.DataFrame:
    """Return the difference of each run's scores less the mean difference of all runs, for each measure."""
    from scipy.stats import t

    frames, runs, n = [], len(people.runs), len(people.queries)
    for i, (measure, sign) in enumerate(zip(people.measures, people.signs)):
        above = sign * (machine.values[i] - people.values[i])
        above -= above.mean(axis=0)
        half = t.ppf(1 - (1 - confidence) / (2 * runs), n - 1) * above.std(axis=1, ddof=1) / np.sqrt(n)
        p = t_test(without_noise(above, [people.values[i], machine.values[i]]))
        mean = above.mean(axis=1)
        row = {"measure": measure, "run": people.runs, "human": people.means[i], "machine": machine.means[i]}
        row |= {"difference": mean, "low": mean - half, "high": mean + half}
        frames.append(pd.DataFrame(row | {"p": p, "p_corrected": corrected(p, "bonferroni")}))
    return pd.concat(frames, ignore_index=True)


def _judged_by_both(people: Judgments, machine: Judgments, label: Array | None) -> pd.DataFrame:
    """Return the topic, the two labels, and the continuous label of each document that both judged."""
    human, other = (
        pd.DataFrame({"topic": of.row_query, "document": of.columns.doc_id.to_pandas(), name: of.columns.value})
        for name, of in (("human", people), ("machine", machine))
    )
    return human.merge(other.assign(label=np.nan if label is None else label), on=["topic", "document"])


def kappas(tables: Array) -> dict[str, Array]:
    """Return the share of equal labels, Cohen's κ, and κ with linear weights.

    κ = 1 − Σ w·O / Σ w·E with O the table, E = row total · column total / n, and the weights w(i, j) = 1 for different
    labels, or |i − j|. NaN if both judges give one label to everything.

    Parameters
    ----------
    tables : ndarray, shape (..., n_labels, n_labels)
        Numbers of documents by the label of one judge (rows) and the other (columns).

    References
    ----------
    Cohen (1960); Cohen (1968).

    Examples
    --------
    >>> {name: round(float(value), 3) for name, value in kappas(np.array([[20, 5], [10, 15]])).items()}
    {'equal': 0.7, 'kappa': 0.4, 'kappa_linear': 0.4}
    """
    places = np.arange(tables.shape[-1])
    apart = np.abs(np.subtract.outer(places, places))
    n = tables.sum(axis=(-2, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = tables.sum(axis=-1)[..., :, None] * tables.sum(axis=-2)[..., None, :] / n[..., None, None]
        equal = np.trace(tables, axis1=-2, axis2=-1) / n
        kappa, linear = (1 - np.sum(w * tables, (-2, -1)) / np.sum(w * chance, (-2, -1)) for w in (apart > 0, apart))
    return {"equal": equal, "kappa": kappa, "kappa_linear": linear}


def _agreement(both: pd.DataFrame, confidence: float, times: Array) -> tuple[dict[str, float], pd.DataFrame]:
    """Return the agreement of grades with intervals, and the number of documents with each pair of labels."""
    given = both[["machine", "human"]].to_numpy(int)
    grades = np.arange(given.min(), given.max() + 1)
    machine, human = (given - grades[0]).T
    counts = _by_topic(both, machine * len(grades) + human, len(grades) ** 2, len(times))
    table = counts.sum(axis=0).reshape(len(grades), -1)
    drawn = kappas((times.T @ counts).reshape(-1, *table.shape))
    found: dict[str, float] = {}
    for name, value in kappas(table).items():
        low, high = around(value, drawn[name], confidence, len(times), 0.0 if name == "equal" else -1.0)
        found |= {name: float(value), f"{name}_low": low, f"{name}_high": high}
    axes = (pd.Index(grades, name=name) for name in ("machine", "human"))
    cells = pd.DataFrame(table.astype(int), *axes).stack().rename("documents").reset_index()
    return found, cells.assign(share=cells["documents"] / cells.groupby("machine")["documents"].transform("sum"))


def _calibration(
    both: pd.DataFrame, are_probabilities: bool, bins: int, confidence: float, times: Array
) -> pd.DataFrame:
    """Return the share of relevant documents in each range of labels."""
    label, relevant = both["label"].to_numpy(), both["human"].to_numpy() > 0
    edges = np.linspace(min(label.min(), 0.0), 1.0 if are_probabilities else label.max(), bins + 1)
    place = np.clip(np.searchsorted(edges, label, side="right") - 1, 0, bins - 1)
    documents, hits = (_by_topic(both, place, bins, len(times), weights) for weights in (None, relevant))
    number = documents.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share, mean = hits.sum(axis=0) / number, np.bincount(place, label, bins) / number
        drawn = (hits.T @ times) / (documents.T @ times)
    low, high = around(share, drawn, confidence, len(times), 0.0)
    columns = edges[:-1], edges[1:], number.astype(int), mean, share, low, high
    return pd.DataFrame(dict(zip(_BINS, columns)))[number > 0]


def _by_topic(both: pd.DataFrame, place: Array, places: int, topics: int, weights: Array | None = None) -> Array:
    """Return the number, or the sum of weights, of documents at each place, by topic."""
    cell = both["topic"].to_numpy() * places + place
    return np.bincount(cell, weights, topics * places).reshape(topics, places).astype(float)


@dataclass(frozen=True, eq=False, repr=False)
class JudgeAgreement(Study):
    """Agreement of machine judges with people; the result of :func:`judge_agreement`.

    Attributes
    ----------
    orders : DataFrame
        A row for each judge and measure: ``tau_b`` and ``tau_ap`` of the orders of all runs, ``tau_b_best`` of the best
        runs, each with its interval (``tau_b_low``, ``tau_b_high``), and ``slope``, by how much the machine's scores
        rise for 1 of people's.
    favoured : DataFrame
        A row for each judge, measure and run: its means by the labels of people (``human``) and of the ``machine``, the
        ``difference`` less the mean difference of all runs with ``low`` and ``high``, ``p`` and ``p_corrected``.
        Where less is better, the difference has the opposite sign: above 0, the judge favours the run.
    labels : DataFrame
        A row for each judge: the number of documents that both judged (``documents``) or only one (``human_only``,
        ``machine_only``), which labels κ compares (``compared``), the share of ``equal`` labels, ``kappa`` and
        ``kappa_linear`` with intervals, and ``calibration_error``.
    confusion : DataFrame
        A row for each judge with grades, label of the ``machine`` and label of people (``human``): the number of
        ``documents``, and their ``share`` of those with this label of the machine.
    calibration : DataFrame
        A row for each judge with probabilities or decimals and range of its labels, from ``label_from`` to
        ``label_to``: the number of ``documents``, their mean ``label``, and the share that people call
        ``relevant`` with its interval.
    about : dict
        Settings, sizes and hash of the input.
    """

    title = "Agreement of machine judges with people"
    orders: pd.DataFrame
    favoured: pd.DataFrame
    labels: pd.DataFrame
    confusion: pd.DataFrame
    calibration: pd.DataFrame
    about: About

    def favours(self, judge: str | None = None, measure: str | None = None, k: int = 5) -> pd.DataFrame:
        """Return the runs that a judge favours and disfavours most, the data of :func:`plot_favoured`.

        Parameters
        ----------
        judge, measure : str, optional
            Names; by default those with the most significant differences.
        k : int, default=5
            Number of runs at each end.

        Returns
        -------
        DataFrame
            Rows of ``favoured``.

        Raises
        ------
        BadParameter
            If the study has no such judge or measure.
        """
        check_whole(1, k=k)
        rows = self.favoured
        for column, name in {"judge": judge, "measure": measure}.items():
            if name is not None:
                check_known(f"{column} of this study", rows[column].unique(), **{column: name})
                rows = rows[rows[column] == name]
        rows = max((of for _, of in rows.groupby(["judge", "measure"], sort=False)), key=lambda of: _apart(of).sum())
        rows = rows.sort_values("difference", ascending=False, kind="stable", ignore_index=True)
        return rows[(rows.index < k) | (rows.index >= len(rows) - k)].reset_index(drop=True)

    def tables(self) -> Tables:
        """Return the tables of the report by file name."""
        together = f"Intervals of {percent(self.about['confidence'])} hold for all runs together (Bonferroni)"
        found = {
            "orders": Table("Orders of runs", f"Correlations with people's order; best: the {self._best} by people's"
                            f" labels. {self._data}.", self.orders),
            "labels": Table("Labels", f"Of documents that people and machine judged. {self._data}.", self.labels),
            "favoured": Table("Favoured runs", "Difference of means, machine less people, less its mean over runs."
                              f" {together}. {self._data}.", self.favoured),
            "confusion": Table("Pairs of labels", "Share: of documents with the machine's label.", self.confusion),
            "calibration": Table("Calibration", f"{_RELEVANT} {self._data}.", self.calibration),
        }  # fmt: skip
        return {name: table for name, table in found.items() if len(table.frame)}

    def pictures(self) -> Pictures:
        """Return the pictures of the report by file name."""
        runs = self.favours()
        judge, measure = runs[["judge", "measure"]].iloc[0]
        rows = len(self.confusion[["judge", "machine"]].drop_duplicates())
        orders = "Lines are intervals of τ_b over all runs; best: by people's labels."
        favoured = (
            f"Means by {judge} less people, less the mean difference of all runs. Lines are intervals for all runs."
        )
        shares = "Share of documents with a label of the machine that people give each label."
        found = {
            "orders": Picture("Orders of runs by people and machine", f"{orders} {self._data}.",
                              partial(plot_judges, self), self.orders, (7.0, 1.4 + 0.22 * len(self.orders))),
            "favoured": Picture(f"Runs that {judge} favours by {measure}", f"{favoured} {self._data}.",
                                lambda ax: plot_favoured(self, ax=ax), runs, (7.0, 1.2 + 0.22 * len(runs))),
            "confusion": Picture("People's labels by the machine's label", f"{shares} {self._data}.",
                                 partial(plot_confusion, self), self.confusion, (7.0, 1.4 + 0.3 * rows)),
            "calibration": Picture("Relevant documents by the machine's label", f"{_RELEVANT} {self._data}.",
                                   partial(plot_calibration, self), self.calibration),
        }  # fmt: skip
        return {name: picture for name, picture in found.items() if len(picture.data)}

    @property
    def _data(self) -> str:
        return f"{self.about['runs']:,} runs, {self.about['queries']:,} topics"

    @property
    def _best(self) -> str:
        return many(min(self.about["best"], self.about["runs"]), "best run")

    def headline(self) -> str:
        """Return what was found, in one sentence."""
        measure = self.orders["measure"].iloc[0]
        rows = self.orders[self.orders["measure"] == measure].dropna(subset="tau_b")
        if rows.empty:
            return f"By {measure}, people or machines give all runs the same score, so that there are no orders."
        rows = rows.sort_values("tau_b", ascending=False, kind="stable")
        known = [f"{fixed_point(all_runs, 2)}, among the {self._best} {fixed_point(best, 2) or 'undefined'}"
                 for all_runs, best in zip(rows["tau_b"], rows["tau_b_best"])]  # fmt: skip
        judges, runs = list(rows["judge"]), f"{self.about['runs']:,} runs by {measure}"
        if len(rows) == 1:
            return f"{judges[0]} and people agree on the order of {runs} with a Kendall's τ_b of {known[0]}."
        most = f"{judges[0]} agrees most with people on the order of {runs} (Kendall's τ_b {known[0]})"
        return f"Of {len(rows):,} judges, {most}, {judges[-1]} least ({known[-1]})."

    def findings(self) -> list[str]:
        """Return the findings, one sentence each."""
        said: list[str] = []
        for judge in self.about["judges"]:
            orders, favoured = (of[of["judge"] == judge] for of in (self.orders, self.favoured))
            all_runs, among_best = _range(orders, "tau_b"), _range(orders, "tau_b_best")
            order = f"{judge} and people order {self.about['runs']:,} runs with τ_b {all_runs}"
            said.append(Finding(f"{order}; the {self._best} with {among_best}.", "orders"))
            counts = {name: int(_apart(of).sum()) for name, of in favoured.groupby("measure", sort=False)}
            each = ", ".join(f"{number:,} by {name}" for name, number in counts.items())
            shown = self.favours(judge, k=1)
            most = [f"{row.run} {with_interval(row.difference, row.low, row.high, 3, True)}"
                    for row in shown[_apart(shown)].itertuples()]  # fmt: skip
            each += f"; most by {shown['measure'][0]}: {' and '.join(most)}" if most else ""
            said.append(Finding(f"Runs that {judge} favours or disfavours significantly: {each}.", "favoured"))
        for row in self.labels.dropna(subset="kappa").itertuples():
            kappa = with_interval(row.kappa, row.kappa_low, row.kappa_high)
            linear = with_interval(row.kappa_linear, row.kappa_linear_low, row.kappa_linear_high)
            weighted = f", with linear weights {linear}" if linear != kappa else ""
            equal = f"{row.judge} and people give {percent(row.equal, 0)} of {row.documents:,} documents the same label"
            said.append(Finding(f"{equal} ({row.compared}): κ {kappa}{weighted}.", "confusion"))
        for judge, rows in self.calibration.groupby("judge", sort=False):
            ends = ", ".join(f"{percent(row.relevant, 0)} of {row.documents:,} with {row.label_from:.3g} to"
                             f" {row.label_to:.3g}" for row in (rows.iloc[0], rows.iloc[-1]))  # fmt: skip
            said.append(Finding(f"Of documents by the label of {judge}, people call relevant: {ends}.", "calibration"))
        return said

    def limits(self) -> list[str]:
        """Return conclusions that the study does not support, one sentence each."""
        about, first, rows = self.about, self.orders["measure"].iloc[0], self.orders.drop_duplicates("judge")
        slopes = ", ".join(f"{row.judge} {fixed_point(row.slope, 2)}" for row in rows.itertuples())
        said = [
            "People's labels are taken as the truth; other people would not give the same.",
            "Agreement on these runs does not carry over to others, least of all to runs that use the same machine.",
            f"The {self._best} are chosen by people's scores on the same topics; they differ less than all runs, so"
            " that chance has a larger part in their order.",
            "Differences of favoured runs presume that scores of people and machine have one unit. By"
            f" {first}, the machine's rise for 1 of people's by: {slopes}; where this is far from 1, good"
            " runs appear favoured (above 1) or disfavoured (below 1).",
            f"Intervals are for {about['queries']:,} other topics and the same runs. Those of favoured runs are"
            " corrected for the number of runs, and not for measures and judges.",
        ]
        if left_out := about["topics_left_out"]:
            said.append(f"Left out: {many(left_out, 'topic')} that people and machines did not all judge.")
        if apart := [f"{row.judge} ({row.human_only:,} by people only, {row.machine_only:,} by the machine only)"
                     for row in self.labels.itertuples() if row.human_only or row.machine_only]:  # fmt: skip
            said.append(f"Scores also count documents that only one side judged: {', '.join(apart)}.")
        if named := ", ".join(about["expected_scores"]):
            said.append(f"Expected scores by {named} take labels as independent and their probabilities as correct.")
        if differ := ", ".join(self.labels["judge"][self.labels["compared"] == _DIFFER]):
            said.append(f"Labels of people and {differ} have different scales, and no κ without threshold=.")
        if undefined := [f"{row.measure} ({row.judge})" for row in self.orders.itertuples() if np.isnan(row.tau_b)]:
            said.append(f"By these measures, people or machine give all runs the same score: {', '.join(undefined)}.")
        return said + why_negated(about["less_is_better"]) + without_answers(about)


_RELEVANT = "Share of documents in ranges of the machine's labels that people call relevant (label above 0)."


def _apart(rows: pd.DataFrame) -> pd.Series:
    """Return which intervals exclude 0."""
    return (rows["low"] > 0) | (rows["high"] < 0)


def _range(rows: pd.DataFrame, column: str) -> str:
    """Return the lowest and the highest value of a column with intervals and measures."""
    known = rows.dropna(subset=column).sort_values(column, kind="stable")
    said = [f"{with_interval(*row[[column, f'{column}_low', f'{column}_high']])} by {row['measure']}"
            for _, row in known.iloc[[0, -1]].iterrows()] if len(known) else ["undefined"]  # fmt: skip
    return " to ".join(dict.fromkeys(said))


def plot_judges(study: JudgeAgreement, ax: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot the correlations of the orders of runs by people and by machines.

    Lines are intervals of τ_b over all runs.

    Parameters
    ----------
    study : JudgeAgreement
        Study to plot.
    ax : matplotlib Axes, optional
        By default new axes.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    data = study.orders.sort_values("measure", key=lambda names: pd.factorize(names)[0], kind="stable")
    ax = axes_of(ax, (7, 1.4 + 0.22 * len(data)))
    names = list(data["measure"] + " · " + data["judge"] if len(study.about["judges"]) > 1 else data["measure"])
    marks: dict[str, tuple[Any, ...]] = {
        "τ_b": (_LOOK, data["tau_b"], data["tau_b_low"], data["tau_b_high"]),
        "τ_AP": ({"marker": "|", "color": COLOURS[3], "markersize": 9}, data["tau_ap"]),
        f"τ_b, {study._best}": ({"marker": "x", "color": SCORE, "markersize": 5}, data["tau_b_best"]),
    }
    ax.grid(axis="x", color=GREY, linewidth=0.6, alpha=0.3)
    ax.set_axisbelow(True)
    title = f"How machines order runs in comparison with people · {study._data}"
    return saved(plot_rows(ax, names, marks, title, xlabel="correlation with people's order"), path)


def plot_favoured(
    study: JudgeAgreement, judge: str | None = None, measure: str | None = None, k: int = 5, ax: Any = None,
    path: AnyPath | None = None,
) -> Axes:  # fmt: skip
    """Plot the runs that a judge favours and disfavours most.

    Lines are intervals that hold for all runs together. :meth:`JudgeAgreement.favours` returns the numbers.

    Parameters
    ----------
    study : JudgeAgreement
        Study to plot.
    judge, measure : str, optional
        Names; by default those with the most significant differences.
    k : int, default=5
        Number of runs at each end.
    ax : matplotlib Axes, optional
        By default new axes.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    data = study.favours(judge, measure, k)
    ax = axes_of(ax, (7, 1.2 + 0.22 * len(data)))
    ax.axvline(0, color=GREY, linewidth=0.7)
    name, by = map(in_picture, data[["judge", "measure"]].iloc[0])
    title = f"Runs that {name} favours (above 0) or disfavours · {study._data}"
    marks: dict[str, tuple[Any, ...]] = {"difference": (_LOOK, data["difference"], data["low"], data["high"])}
    xlabel = f"{by}: {name} less people, less the mean of all runs"
    return saved(plot_rows(ax, list(data["run"]), marks, title, xlabel=xlabel), path)


def plot_confusion(study: JudgeAgreement, ax: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot a heat map of people's labels by the machine's label: each row is the share of its documents.

    Parameters
    ----------
    study : JudgeAgreement
        Study to plot, with a judge that has grades.
    ax : matplotlib Axes, optional
        By default new axes.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    square = study.confusion.pivot_table("share", ["judge", "machine"], "human", sort=False).sort_index(axis=1)
    ax = axes_of(ax, (7, 1.4 + 0.3 * len(square)))
    values = square.to_numpy()
    heat_map(ax, values, np.where(np.isfinite(values), np.char.mod("%.2f", values), ""), (0, 1))
    name_rows(ax, range(len(square)), [f"{judge}: {label}" for judge, label in square.index])
    name_columns(ax, range(values.shape[1]), [f"{label}" for label in square])
    ax.set_xlabel("people's label (columns), machine's label (rows)")
    return saved(titled(ax, f"People's labels of documents by the machine's label · {study._data}"), path)


def plot_calibration(study: JudgeAgreement, ax: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot the share of documents that people call relevant over the mean label in each range of the machine's labels.

    Bands are intervals. On the grey line, labels that are probabilities are correct.

    Parameters
    ----------
    study : JudgeAgreement
        Study to plot, with a judge whose labels are probabilities or decimals.
    ax : matplotlib Axes, optional
        By default new axes.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_of(ax)
    by_judge = dict(iter(study.calibration.groupby("judge", sort=False)))
    curves = {name: (rows["label"].to_numpy(), rows["relevant"].to_numpy()) for name, rows in by_judge.items()}
    bands = {name: (rows["relevant_low"], rows["relevant_high"]) for name, rows in by_judge.items()}
    if study.labels["calibration_error"].notna().any():
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.7, alpha=0.5)
    title = f"Documents that people call relevant · {study._data}"
    of_axes = {"ylim": (0, 1), "xlabel": "mean label of the machine", "ylabel": "relevant by people (share)"}
    return saved(plot_curves(ax, curves, title, bands, **of_axes), path)

"""States of the explorer's page: what it shows of a measure, its users and the rankings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, repeat
from typing import Any

import numpy as np
from ir_measures.measures import Measure

from ..data.alignment import Aligned, Judgments
from ..data.columns import Array, Columns
from ..errors import BadParameter, CWLAError, near
from ..errors.sanitise import harmless
from ..evaluation.explanation import Explanation, explain_run
from ..files.arrow_arrays import of_numbers
from ..measures.declarations import computation_of, metric_of
from ..measures.equations import descriptions
from ..measures.wrappers import Residual
from ..model.language import ROLES, In, Spec
from ..model.metric import Metric
from ..rendering.numbers import percent
from .controls import controls_of, text_of

_READ = "Users read a ranking from the top, and most of them stop somewhere. The score is what they get on average."


def stories_of(metric: Metric) -> list[str]:
    """Return what the users of a metric do and value, and what the score is divided by, as sentences."""
    unit = metric.effort_unit
    goes_on, gets = _story(metric.C, "After each document", unit), _story(metric.A, "A user who stops gets", unit)
    divided = ["The score is divided by that of the best possible ranking."] if metric.norm == "ideal" else []
    return [_READ, goes_on, gets, *divided]


def _story(spec: Spec, head: str, unit: str) -> str:
    """Return the story of a function, or the first line of its docstring if it has none, with its text."""
    role, known = ROLES[spec.part.kind], descriptions()["users"][spec.part.kind]
    if spec.part.built_in and spec.name in known:
        values = {name: text_of(value) for name, value in spec.values}
        return f"{known[spec.name].format(**values, unit=unit)} ({role} = {spec})"
    line = (spec.part.__doc__ or "").strip().partition("\n")[0]
    return f"{head}: {line} ({role} = {spec})" if line else f"{role} = {spec}"


_SHOWN = 100  # ranks of a table
_GRADES = In("[-1e15, 1e15]")
_HIGHEST = 1_000  # grade; controls have a choice for each grade from 0
_NO_BOUND = "How much higher the scores could be if all documents were judged is not known for this measure."


@dataclass(frozen=True)
class Topic:
    """Judgments and rankings of one topic.

    Attributes
    ----------
    qid : str
        The topic.
    grades : mapping of str to float
        Grades of the judged documents.
    columns : dict of str to Columns
        Each whole run, by name, grouped by topic.
    orders : dict of str to ndarray of int
        Rows of the documents of the topic in each run, in rank order.
    texts : mapping of str to str
        Texts of documents.
    about : str
        Text of the topic.
    highest : float
        The highest grade of all judgments.
    is_edited : bool
        Whether grades or orders differ from those of the runs and judgments.
    whole : bool
        Whether runs have all their topics, for the mean length of a run.
    """

    qid: str
    grades: Mapping[str, float]
    columns: dict[str, Columns]
    orders: dict[str, Array]
    texts: Mapping[str, str]
    about: str
    highest: float
    is_edited: bool = False
    whole: bool = False

    @cached_property
    def judgments(self) -> Judgments:
        """Judgments of the topic."""
        return Judgments({self.qid: dict(self.grades)})

    @cached_property
    def runs(self) -> dict[str, Columns]:
        """Each run with the ranking of this topic, of this topic alone or (``whole``) of all topics, by name."""
        return {name: self._run(self.columns[name], order) for name, order in self.orders.items()}

    def _run(self, columns: Columns, order: Array) -> Columns:
        scores = np.arange(len(order), 0, -1.0)
        if not self.whole:
            return replace(columns.taken(order), value=scores)
        rows, values = np.arange(len(columns)), np.array(columns.value, float)
        rows[np.sort(order)], values[np.sort(order)] = order, scores
        return replace(columns.taken(rows), value=values)

    @cached_property
    def ids(self) -> dict[str, list[str]]:
        """Document ids of each run, in rank order."""
        return {name: of.doc_id.take(of_numbers(self.orders[name])).to_pylist() for name, of in self.columns.items()}

    @cached_property
    def aligned(self) -> Aligned:
        """Runs, aligned with the judgments."""
        return Aligned(self.judgments, [self.judgments.rows(run) for run in self.runs.values()])

    @cached_property
    def shown(self) -> dict[str, str]:
        """Ids of documents by the texts that the page shows for them."""
        shown: dict[str, str] = {}
        for doc_id in dict.fromkeys(chain(*self.ids.values())):
            text = harmless(doc_id)
            while text in shown:
                text += "′"
            shown[text] = doc_id
        return shown

    @cached_property
    def text_of(self) -> dict[str, str]:
        """Texts that the page shows for documents, by their ids."""
        return {doc_id: text for text, doc_id in self.shown.items()}

    def edited(self, grades: Mapping[str, Any], orders: Mapping[str, Any]) -> Topic:
        """Return the topic with other grades (None: not judged) and some documents in another order."""
        if not grades and not orders:
            return self
        new = dict(self.grades)
        for text, grade in grades.items():
            doc_id = self._known(text)
            if grade is None:
                new.pop(doc_id, None)
            else:
                if grade not in _GRADES:
                    raise BadParameter(f"the grade of {text} must be a number or null.")
                check_highest(grade)
                new[doc_id] = float(grade)
        if not new:
            raise BadParameter("no document of the topic is judged: give at least one document a grade.")
        rows = {name: self._reordered(name, orders.get(harmless(name))) for name in self.orders}
        return replace(self, grades=new, orders=rows, is_edited=True)

    def _known(self, text: object) -> str:
        if not isinstance(text, str) or text not in self.shown:
            raise BadParameter(f"no document {text!r} in the rankings. {near(str(text), self.shown)}")
        return self.shown[text]

    def _reordered(self, name: str, shown: Any) -> Array:
        """Return the rows of a ranking with the documents of `shown` in this order; the others keep their places."""
        order = self.orders[name]
        if shown is None:
            return order
        wanted = [self._known(text) for text in shown] if isinstance(shown, list) else []
        place = {doc_id: at for at, doc_id in enumerate(self.ids[name])}
        if not wanted or len(set(wanted)) < len(wanted) or not place.keys() >= set(wanted):
            raise BadParameter(f"the new order of {name} must have documents of this ranking, each once.")
        places, new = [place[doc_id] for doc_id in wanted], order.copy()
        new[sorted(places)] = order[places]
        return new

    @property
    def grade_steps(self) -> list[str]:
        """Grades that a document can be given, from the lowest to the highest."""
        return [f"{grade:g}" for grade in sorted({*range(math.floor(self.highest) + 1), *self.grades.values()})]


def check_highest(grade: float) -> None:
    """Raise BadParameter for a grade above the highest one."""
    if grade > _HIGHEST:
        raise BadParameter(f"the grade {grade:,g} is too high for the explorer: grades are {_HIGHEST:,} at most.")


def state_of(measure: Measure, topic: Topic, notes: Iterable[str] = ()) -> dict[str, Any]:
    """Return the state of a topic under a measure, ready for JSON.

    Parameters
    ----------
    measure : ir_measures.Measure
        A measure with a user model.
    topic : Topic
        The topic.
    notes : iterable of str
        Sentences to show below the numbers.
    """
    explanations = [explain_run(topic.judgments, run, topic.qid, measure, name) for name, run in topic.runs.items()]
    highest = max(topic.highest, float(topic.judgments.pool.highest or 0))
    upper = _upper(measure, topic, explanations)
    metric = metric_of(measure, highest)
    return {
        "measure": {
            "text": harmless(repr(measure)),
            "name": str(measure.NAME),
            "title": harmless(str(measure)),
            "sentences": stories_of(metric),
        },
        "controls": controls_of(measure, highest),
        "topic": harmless(topic.qid),
        "about": harmless(topic.about),
        "edited": topic.is_edited,
        "unit": metric.effort_unit,
        "timed": not metric.unit_effort,
        "grades": topic.grade_steps,
        "rankings": [_ranking(*of, topic) for of in zip(topic.runs, explanations, upper or repeat(None))],
        "difference": _difference([*map(harmless, topic.runs)], [one.score for one in explanations]),
        "notes": [*notes, *([_NO_BOUND] if upper is None else [])],
    }


def _upper(measure: Measure, topic: Topic, explanations: list[Explanation]) -> list[float] | None:
    """Return the score of each ranking if unjudged documents had the best gain, or None if no bound is known."""
    with suppress(CWLAError):
        residual = Residual(measure=measure)
        if residual.is_a_bound:
            added = computation_of(residual).prepare(topic.judgments)(topic.aligned).tolist()
            return [one.score + more for one, more in zip(explanations, added, strict=True)]
    return None


def _ranking(name: str, explanation: Explanation, upper: float | None, topic: Topic) -> dict[str, Any]:
    score, table = _digits(explanation.score), explanation.table
    documents = int((table["docno"] != "").sum())  # ranks below them have no documents
    beyond = float(explanation.contributions.iloc[documents:].sum())
    if not explanation.adds_gains and explanation.divisor > 0:  # otherwise a gain adds to the score at its own rank
        beyond += explanation.beyond / explanation.divisor
    # users who go on below the last document
    going_on = table["V"].iloc[documents] if documents < len(table) else table["V"].iloc[-1] * table["C"].iloc[-1]
    shown = min(documents, _SHOWN)
    adds = explanation.contributions.to_numpy()[:shown]
    return {
        "name": harmless(name),
        "score": score,
        "upper": None if upper is None or _digits(upper) == score else _digits(upper),
        "ranks": documents,
        "shown": shown,
        "columns": _columns(explanation, adds, topic),
        "says": [
            f"Rank {rank}: {percent(round(V, 3))} of the users see it, {percent(round(L, 3))} stop there, and it adds"
            f" {_digits(add)} to the score."
            for rank, V, L, add in zip(table["rank"], table["V"], table["L"], adds)
        ],
        "beyond": _digits(beyond),
        "seen_beyond": percent(round(float(going_on), 3)),
        "totals": _totals(explanation),
        "sentence": _sentence(harmless(name), explanation),
    }


def _columns(explanation: Explanation, adds: Array, topic: Topic) -> dict[str, Any]:
    table = explanation.table.head(len(adds))
    time = ".1f" if explanation.unit != "documents" else "g"
    share = adds / explanation.score * 100 if explanation.score else np.full(len(adds), np.nan)
    columns: dict[str, Any] = {
        "rank": [str(rank) for rank in table["rank"]],
        "id": [topic.text_of.get(doc_id, "") for doc_id in table["docno"]],
        "text": [harmless(topic.texts.get(doc_id, "")) for doc_id in table["docno"]] if topic.texts else None,
        "grade": texts_of(table["grade"], "g"),
        "G": texts_of(table["gain"].cumsum()),
        "adds": texts_of(adds),
        "share": texts_of(share, ".1f"),
    }
    for name, times in (("effort", table["effort"]), ("T", table["T"]), ("end", table["T"] + table["effort"])):
        columns[name] = [format(seconds, time) for seconds in times]
    return columns | {name: texts_of(table[name]) for name in ("gain", "C", "V", "W", "L", "A", "discount")}


def _totals(explanation: Explanation) -> list[dict[str, str]]:
    unit = explanation.unit
    spent = (f"{unit} that a user spends", explanation.expected_effort, ".1f")
    named = [
        ("documents that a user sees (V⁺)", explanation.expected_items, ".2f"),
        *([] if unit == "documents" else [spent]),
        ("gain of a user (expected total gain)", explanation.expected_total_gain, ".4f"),
        (f"gain per unit of effort ({unit})", explanation.expected_rate_of_gain, ".4f"),
        ("divisor of the score (N)", explanation.divisor, ".4f"),
    ]
    return [{"label": label, "value": format(value, digits)} for label, value, digits in named if math.isfinite(value)]


def _sentence(name: str, explanation: Explanation) -> str:
    items, effort = explanation.expected_items, explanation.expected_effort
    scores = f"{name} scores {_digits(explanation.score)}."
    if math.isnan(items):
        return scores
    if math.isinf(items):
        return f"{scores} The mean number of documents that a user sees is infinite."
    timed = explanation.unit != "documents" and math.isfinite(effort)
    spends = f" and spends {effort:,.1f} {explanation.unit}" if timed else ""
    return f"{scores} On average, a user sees {items:,.1f} documents{spends}."


def _difference(names: list[str], scores: list[float]) -> dict[str, str] | None:
    if len(scores) < 2:
        return None
    difference = scores[1] - scores[0]
    better, other = names[::-1] if difference > 0 else names
    sentence = f"{better} scores {abs(difference):.4f} higher than {other}."
    if _digits(difference).lstrip("-") == _digits(0):
        sentence = f"{names[0]} and {names[1]} have the same score to four digits."
    return {"value": f"{difference:+.4f}", "sentence": sentence}


def texts_of(values: Iterable[float], digits: str = ".4f") -> list[str | None]:
    """Return numbers as texts, and None for those that are not finite."""
    return [format(value, digits) if math.isfinite(value) else None for value in values]


def _digits(value: float) -> str:
    return f"{value:.4f}"

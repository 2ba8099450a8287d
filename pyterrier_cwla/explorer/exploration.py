"""Rankings to explore: answers to the page's requests, and scores over the range of a parameter."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np
from ir_measures.measures import Measure

from ..data.alignment import Aligned
from ..data.columns import Columns, Floats, run_columns
from ..data.document_tables import documents
from ..data.lengths import Costs, Lengths
from ..data.resources import without_files
from ..errors import BadParameter, CWLAError, CWLAWarning, MissingCost, MissingLength, near, some
from ..errors.sanitise import harmless
from ..evaluation.explanation import ExplainedPair, Explanation, explain
from ..files.inputs import loaded, named_pair, runs_by_name
from ..measures.declarations import computation_of, followed, metric_of, needs_of, user_model_of
from ..measures.named import RowMeasure, measure_of
from ..measures.provider import judged
from ..model.language import TABLES, In, float_or_int
from ..model.metric import Metric
from ..model.scoring import normalised, over_all_ranks
from ..model.view_columns import seen_part
from ..rendering.numbers import fixed_point
from .code import code_of
from .controls import Control, changed, control_of
from .lessons import lessons
from .states import Topic, check_highest, state_of, texts_of

#: What to do where lengths or costs are missing; the errors say what a call of the measure could do.
_WAYS_OUT: dict[type[CWLAError], str] = {
    MissingLength: "Open the explorer with lengths: pyterrier-cwla explore … --lengths FILE on the shell,"
    " explore(…, lengths=…) in a notebook. For documents without a length, add --missing mean, or missing='mean'.",
    MissingCost: "Open the explorer with costs: pyterrier-cwla explore … --costs FILE on the shell, explore(…, costs=…)"
    " in a notebook. For documents without a cost, add --missing mean, or missing='mean'.",
}
_NOISE = 1e-12  # relative difference of scores that are taken as equal
_HALVINGS = 30  # of the interval between two values of a slider, to find where the order changes


def sweep_of(slider: Control, at: Callable[[str], Measure], topic: Topic) -> dict[str, Any]:
    """Return the scores of the rankings of a topic over the values of one parameter, ready for JSON.

    Parameters
    ----------
    slider : dict
        The slider of the parameter, from :func:`control_of`.
    at : callable
        Function from a value of the parameter to the measure.
    topic : Topic
        The topic.
    """
    values = [value for value in slider["steps"] if value]
    scores = np.array([_scores(at(value), topic) for value in values]).T
    names = [*map(harmless, topic.runs)]
    answer: dict[str, Any] = {
        "path": slider["path"],
        "label": slider["label"],
        "values": values,
        "now": slider["value"],
        "scores": [texts_of(of) for of in scores],
        "difference": None,
        "flips": [],
        "sentence": "",
    }
    if len(scores) == 2:
        symbol, whole = slider["symbol"], slider["range"].startswith("whole")
        answer["difference"] = texts_of(scores[1] - scores[0], "+.4f")
        signs = _signs(scores)
        flips = _flips(signs, values, at, topic, whole)
        answer["flips"] = [{"value": flip.value, "sentence": flip.sentence(names, symbol)} for flip in flips]
        answer["sentence"] = _who_wins(names, symbol, values, signs, flips)
    return answer


@dataclass(frozen=True)
class _Flip:
    """Values at which the order changes.

    Attributes
    ----------
    below : int
        The ranking that wins below them.
    first, last : str
        The first and the last of these values, at which the scores are equal.
    wins_there : bool
        Whether the other ranking wins at the value already, instead of equal scores.
    """

    below: int
    first: str
    last: str
    wins_there: bool = False

    @property
    def value(self) -> str:
        return self.first if self.first == self.last else f"{self.first} to {self.last}"

    @property
    def since(self) -> str:
        return f"from {self.last} on" if self.wins_there else f"above {self.last}"

    def sentence(self, names: Sequence[str], symbol: str) -> str:
        since = "from there on" if self.wins_there else "above"
        who = f"{names[self.below]} wins below, {names[1 - self.below]} {since}"
        return f"At {symbol} = {self.value} the order changes: {who}."


def _scores(measure: Measure, topic: Topic) -> Floats:
    """Return the score of each ranking, computed rank by rank; NaN where a measure has no finite value."""
    try:
        metric = followed(measure, topic.judgments)
        rankings = topic.aligned.rankings(metric.all_judged)
        return normalised(metric, over_all_ranks(metric, seen_part(metric, rankings))[:, 0], rankings)
    except CWLAError:
        return np.full(len(topic.runs), np.nan)


def _signs(scores: Floats) -> Floats:
    """Return 1 where the second ranking scores higher, −1 where the first does, 0 if they are equal up to rounding."""
    difference = scores[1] - scores[0]
    equal = np.abs(difference) <= _NOISE * np.abs(scores).max(axis=0)
    signs: Floats = np.where(equal, 0.0, np.sign(difference))
    return signs


def _flips(
    signs: Floats, values: Sequence[str], at: Callable[[str], Measure], topic: Topic, whole: bool
) -> list[_Flip]:
    """Return the values at which the order changes."""
    known = np.flatnonzero(np.isfinite(signs) & (signs != 0)).tolist()

    def edge(near: int, far: int) -> str:
        """Return where the ranking that wins at one value stops winning, on the way to another value."""
        wins, other = float(values[near]), float(values[far])
        for _ in range(_HALVINGS):
            middle = (wins + other) / 2
            same = _signs(_scores(at(repr(middle)), topic)) == signs[near]
            wins, other = (middle, other) if same else (wins, middle)
        return f"{other:.4g}"

    found = []
    for low, high in pairwise(known):
        if signs[low] == signs[high]:
            continue
        between = values[low + 1 : high]
        if np.isnan(signs[low:high]).any():  # no scores in between
            first, last = values[low], values[high]
        elif whole:
            first, last = (between[0], between[-1]) if between else (values[high], values[high])
        else:
            first, last = edge(low, low + 1), edge(high, high - 1)
        found.append(_Flip(int(signs[low] > 0), first, last, wins_there=whole and not between))
    return found


def _who_wins(names: Sequence[str], symbol: str, values: Sequence[str], signs: Floats, flips: Sequence[_Flip]) -> str:
    """Return which ranking scores higher over the range, in words."""
    known = np.flatnonzero(np.isfinite(signs))
    if not len(known):
        return f"There are no scores for {symbol} from {values[0]} to {values[-1]}."
    span = f"{symbol} from {values[known[0]]} to {values[known[-1]]}"
    signs = signs[known]
    if not signs.any():
        return f"{names[0]} and {names[1]} have equal scores for {span}."
    if not flips:
        at = int(signs.sum() > 0)
        never = f"never scores lower than {names[1 - at]}" if (signs == 0).any() else "scores higher"
        return f"{names[at]} {never} for {span}: the order never changes."
    parts = [f"{names[flips[0].below]} scores higher for {symbol} below {flips[0].first}"]
    parts += [
        f"{names[after.below]} for {symbol} {flip.since} and below {after.first}" for flip, after in pairwise(flips)
    ]
    last = flips[-1]
    return "; ".join([*parts, f"{names[1 - last.below]} for {symbol} {last.since}."])


Answer = dict[str, Any]
_WORDS = 500  # length of documents of rankings without ids
_KNOWN = 4096  # measures that are kept


class Exploration:
    """Rankings, judgments and a measure to explore; the Python side of the explorer's page.

    The page sends requests and draws the answers. All numbers of an answer are texts with the digits to show, from the
    same functions as those of :func:`explain` and :func:`evaluate`.

    Parameters
    ----------
    qrels : DataFrame, dict of dicts, iterable of named tuples, path, or Judgments
        Judgments, as for :func:`evaluate`.
    runs : DataFrame, dict of dicts, iterable of named tuples, or path; or a dict of one or two of these by name
        One run, or two runs.
    measure : Measure or str, optional
        The first measure; by default RBP with graded gains.
    lengths : dict, Series, DataFrame, Lengths or path, optional
        Document lengths in words; by default the run's column ``doc_length``, or the default table.
    costs : dict, Series, DataFrame, Costs, function or path, optional
        Known costs of documents; by default the run's column ``doc_cost``.
    texts, queries : dict, Series, DataFrame or dataset, optional
        Texts of documents and of topics, by id.
    topic : str, optional
        The first topic; by default the first that all runs answer.
    missing : {"error", "mean"}, default="error"
        Documents without a length or known cost: an error, or the mean.

    Raises
    ------
    BadParameter
        If there is no such topic, if a grade is above 1,000, or if the measure follows no user model.
    BadRun
        If there are more than two runs, or they answer no judged topic together.

    Examples
    --------
    >>> runs = {"A": {"q": {"d1": 2.0, "d2": 1.0}}, "B": {"q": {"d2": 2.0, "d1": 1.0}}}
    >>> exploration = Exploration({"q": {"d1": 1, "d2": 0}}, runs, measure="RBP(p=0.5,rel=1)")
    >>> answer = exploration.answer({"want": "state"})
    >>> [(ranking["name"], ranking["score"]) for ranking in answer["rankings"]]
    [('A', '0.5000'), ('B', '0.2500')]
    """

    def __init__(
        self,
        qrels: Any,
        runs: Any,
        *,
        measure: Any = None,
        lengths: Any = None,
        costs: Any = None,
        texts: Any = None,
        queries: Any = None,
        topic: str | None = None,
        missing: str = "error",
    ) -> None:
        if missing not in ("error", "mean"):
            raise BadParameter(f"missing={missing!r}: give 'error' or 'mean'.")
        self.missing = missing
        self.judgments = judged(loaded(qrels, "qrels"))
        self.judgments.side(all_judged=True)  # raises an error if a document is judged twice
        self.lengths = None if lengths is None else Lengths.bind(lengths)
        self.costs = None if costs is None else Costs.bind(costs)
        self.rows = {name: self.judgments.rows(self._columns(run)) for name, run in _one_or_two(runs).items()}
        self.highest = float_or_int(max(self.judgments.pool.highest or 0, 1))
        check_highest(self.highest)
        self.topics = self._answered()
        self.topic = self._known_topic(self.topics[0] if topic is None else topic)
        ids = (rows.columns.doc_id.unique().to_pylist() for rows in self.rows.values())
        self.texts = {} if texts is None else _wanted_texts(texts, {*chain.from_iterable(ids)})
        self.queries = {} if queries is None else _wanted_texts(queries, set(self.topics))
        self.note = ""
        self._measures: dict[str, Measure] = {}
        default = f"CWLA(C='rbp(0.8)',A='erg',max_rel={self.highest:g})"
        self.measure = self._ready(measure_of(default if measure is None else measure))

    @classmethod
    def of_grades(cls, grades: Any, *, measure: Any = None, lengths: Any = None) -> Exploration:
        """Return the exploration of one or two rankings that are given as grades.

        Parameters
        ----------
        grades : list of float, or dict of one or two lists by name
            Grades in rank order; None or NaN marks a document that is not judged. Documents with the same grade are the
            same documents in both lists, in the order in which they occur.
        measure : Measure or str, optional
            The first measure.
        lengths : dict, Series, DataFrame, Lengths or path, optional
            Lengths in words of the documents ``"d1"``, ``"d2"``, …; by default 500 words each.

        Raises
        ------
        BadParameter
            If no document is judged, or if a grade is not a number or is above 1,000.

        Examples
        --------
        >>> exploration = Exploration.of_grades([2, 0, 1], measure="CWLA(C='rbp(0.5)',A='erg',max_rel=2)")
        >>> exploration.answer({"want": "state"})["rankings"][0]["score"]
        '0.5625'
        """
        lists = grades if isinstance(grades, Mapping) else {"ranking": grades}
        qrels, runs = _as_runs({str(name): _grades(of) for name, of in lists.items()})
        same_length = {doc_id: _WORDS for run in runs.values() for doc_id in run["1"]}
        exploration = cls(qrels, runs, measure=measure, lengths=same_length if lengths is None else lengths)
        if lengths is None:
            exploration.note = f"Documents have {_WORDS} words."
        return exploration

    # ---- answers

    def start(self) -> Answer:
        """Return what the page shows first: names of the runs, the first state, its sweep, and the topics.

        Raises
        ------
        CWLAError
            If the first measure has no score, for example without the lengths of documents.
        """
        state = self._checked({"want": "state"}, repr(self.measure))
        sliders = [one["path"] for one in state["controls"] if one.get("sweep")]
        return {
            "mode": "live",
            "title": " and ".join(map(harmless, self.rows)),
            "runs": [*map(harmless, self.rows)],
            "state": state,
            "sweep": self.answer({"want": "sweep", "sweep": sliders[0]}) if sliders else None,
            "topics": self.answer({"want": "topics"}) if len(self.topics) > 1 else None,
            "lessons": lessons(self.highest),
            "note": "",
        }

    def answer(self, request: Mapping[str, Any]) -> Answer:
        """Return the answer to a request of the page, ready for JSON.

        Parameters
        ----------
        request : mapping
            ``want`` is "state", "sweep", "topics" or "code" (Python that computes the same scores). Further keys are
            optional: ``measure`` (a text), ``set`` (one control and its new value), ``topic``, ``grades`` (changed
            grades by document), ``orders`` (changed orders of documents by run), ``sweep`` (the parameter of a sweep)
            and ``beside`` (another measure of the code).

        Returns
        -------
        dict
            The answer, or ``{"error": message, "measure": {"text": …}}``. Files that a measure names are read only if
            the measure was given when the exploration was made.
        """
        text = repr(self.measure) if request.get("measure") is None else str(request["measure"])
        try:
            return self._checked(request, text)
        except CWLAError as error:
            says = str(error)
            if way_out := _WAYS_OUT.get(type(error)):
                says = f"{re.split('[:.?] [Gg]ive ', says)[0]}. {way_out}"
            return {"error": harmless(says), "measure": {"text": harmless(text)}}

    def _checked(self, request: Mapping[str, Any], text: str) -> Answer:
        """Return the answer to a request, with warnings among its notes; raise its errors."""
        with without_files(), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", CWLAWarning)
            answer = self._answer(request, text)
        said = dict.fromkeys(harmless(str(one.message)) for one in warned if issubclass(one.category, CWLAWarning))
        return {**answer, "notes": [*answer.get("notes", ()), *said]}

    def _answer(self, request: Mapping[str, Any], text: str) -> Answer:
        measure = self._of_text(text)
        for path, value in _dict(request, "set").items():
            control_of(measure, str(path), self.highest)
            measure = self._ready(changed(measure, str(path), str(value), self.highest))
        want = request.get("want", "state")
        if want == "topics":
            return self._topics(measure)
        topic = replace(self._chosen(request), whole=needs_of(measure).mean_of is not None)
        if want == "state":
            return state_of(measure, topic, self._notes(measure))
        if want == "sweep":
            path = str(request.get("sweep", ""))

            def at(value: str) -> Measure:
                return self._with_tables(changed(measure, path, value, self.highest))

            return sweep_of(control_of(measure, path, self.highest, "number"), at, topic)
        if want == "code":
            beside = [self._of_text(str(request["beside"]))] if request.get("beside") else []
            return {"code": code_of([measure, *beside], topic, self.lengths)}
        raise BadParameter(f"want={want!r}: ask for 'state', 'sweep', 'topics' or 'code'.")

    def _topics(self, measure: Measure) -> Answer:
        """Return the scores of all topics, those with the largest difference of two runs first."""
        scores = computation_of(measure).prepare(self.judgments)(Aligned(self.judgments, [*self.rows.values()]))
        of_runs = scores.reshape(len(self.rows), -1).T
        values = {topic: of_runs[self.judgments.index[topic]].tolist() for topic in self.topics}
        if len(self.rows) == 2:
            values = dict(sorted(values.items(), key=lambda item: -abs(item[1][1] - item[1][0])))
        rows = [
            {
                "topic": harmless(topic),
                "about": harmless(self.queries.get(topic, "")),
                "scores": [f"{value:.4f}" for value in row],
                "difference": fixed_point(row[1] - row[0], signed=True) if len(row) == 2 else None,
            }
            for topic, row in values.items()
        ]
        return {"measure": repr(measure), "rows": rows, "sentence": self._of_topics([*values.values()])}

    def _of_topics(self, values: Sequence[Sequence[float]]) -> str:
        names = [*map(harmless, self.rows)]
        means = " and ".join(f"{name} {np.mean([row[at] for row in values]):.4f}" for at, name in enumerate(names))
        left_out = len(self.judgments.qids) - len(self.topics)
        without = f" {left_out:,} judged topics that not all runs answer are left out." if left_out else ""
        if len(names) == 1:
            return f"Mean over {len(values):,} topics: {means}.{without}"
        wins = [sum(row[at] > row[1 - at] for row in values) for at in (0, 1)]
        ties = len(values) - sum(wins)
        return (
            f"Mean over {len(values):,} topics: {means}. {names[0]} scores higher for {wins[0]:,}, {names[1]} for"
            f" {wins[1]:,}, and {ties:,} are equal.{without}"
        )

    def explained(self, request: Mapping[str, Any]) -> Explanation | ExplainedPair:
        """Return the explanation of the rankings of a request; see :meth:`answer`."""
        topic = self._chosen(request)
        first, *others = topic.runs.values()
        found = explain(
            topic.judgments, topic.runs if others else first, topic.qid, self.measure_named(request.get("measure"))
        )
        assert isinstance(found, Explanation | ExplainedPair)
        return found

    # ---- measures

    def measure_named(self, text: str | None) -> Measure:
        """Return the measure of a text; the first one without a text."""
        return self._of_text(repr(self.measure) if text is None else str(text))

    def _of_text(self, text: str) -> Measure:
        """Return the measure of a text. Measures that were made here keep their tables and functions."""
        known = self.measure if text == repr(self.measure) else self._measures.get(text)
        if known is not None and _is_current(metric_of(known, self.highest)):
            return known
        return self._ready(measure_of(text))

    def _ready(self, measure: Measure) -> Measure:
        """Return a measure with a user model, with the tables of this exploration, and keep it under its text."""
        user_model_of(measure)
        measure = self._with_tables(measure)
        if len(self._measures) >= _KNOWN:
            del self._measures[next(iter(self._measures))]
        self._measures[repr(measure)] = measure
        return measure

    def _with_tables(self, measure: Measure) -> Measure:
        if not isinstance(measure, RowMeasure):
            return measure
        needs = needs_of(measure)
        if self.missing == "mean" and "missing" not in measure.params and {needs.lengths, needs.costs} != {"none"}:
            measure = measure(missing=self.missing)
        if self.costs is not None and needs.costs == "run":
            measure = measure(costs=self.costs)
        return measure.reading(self.lengths)

    def _notes(self, measure: Measure) -> list[str]:
        return [self.note] if self.note and needs_of(measure).lengths != "none" else []

    # ---- topics

    def _answered(self) -> list[str]:
        by_all = np.logical_and.reduce([rows.answered[0] for rows in self.rows.values()])
        topics = [self.judgments.qids[number] for number in np.flatnonzero(by_all)]
        if not topics:
            answered = ", ".join(f"{name} has {some(rows.names)}" for name, rows in self.rows.items())
            raise BadParameter(
                f"no judged topic is answered by all runs: {some(self.judgments.qids)} are judged, and {answered}."
            )
        return topics

    def _known_topic(self, topic: object) -> str:
        known = {name: qid for qid in self.topics for name in (qid, harmless(qid))}
        if not isinstance(topic, str) or topic not in known:
            raise BadParameter(f"no topic {topic!r} that is judged and answered. {near(str(topic), self.topics)}")
        return known[topic]

    def _chosen(self, request: Mapping[str, Any]) -> Topic:
        """Return the topic of a request with its changes."""
        topic = self._topic_of(self._known_topic(request.get("topic") or self.topic))
        return topic.edited(_dict(request, "grades"), _dict(request, "orders"))

    def _topic_of(self, qid: str) -> Topic:
        """Return a topic; the last one is kept, since finding its rows takes time in large runs."""
        if self._last is not None and self._last.qid == qid:
            return self._last
        number = self.judgments.index[qid]
        judged_rows = self.judgments.columns.taken(np.flatnonzero(self.judgments.row_query == number))
        grades = dict(zip(judged_rows.doc_id.to_pylist(), judged_rows.value.tolist(), strict=True))
        columns = {name: rows.columns for name, rows in self.rows.items()}
        orders = {name: rows.of_query(number) for name, rows in self.rows.items()}
        self._last = Topic(qid, grades, columns, orders, self.texts, self.queries.get(qid, ""), highest=self.highest)
        return self._last

    _last: Topic | None = None

    def _columns(self, run: Any) -> Columns:
        """Return the columns of a run; lengths that are given come before those of the run."""
        columns = run if isinstance(run, Columns) else run_columns(run)
        return columns if self.lengths is None else replace(columns, doc_length=None)


def _is_current(metric: Metric) -> bool:
    """Return whether a user's functions are the present ones of their names; notebooks define them again."""
    own = [spec for spec in (metric.C, metric.A, metric.gain, metric.effort) if not spec.built_in]
    return all(TABLES[spec.part.kind].get(spec.name) is spec.part for spec in own)


def _one_or_two(runs: Any) -> dict[str, Any]:
    pair = named_pair(runs)
    if pair is not None:
        return pair
    by_name = {str(name): loaded(run, "run") for name, run in runs_by_name(runs).items()}
    if len(by_name) > 2:
        raise BadParameter(f"the explorer shows one run or two, and was given {len(by_name)}: {', '.join(by_name)}.")
    return by_name


def _wanted_texts(texts: Any, wanted: set[str]) -> dict[str, str]:
    if isinstance(texts, Mapping):
        return {str(name): str(text) for name, text in texts.items() if str(name) in wanted}
    return {name: text for name, text in documents(texts, progress=False) if name in wanted}


def _dict(request: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = request.get(name) or {}
    if not isinstance(found, Mapping):
        raise BadParameter(f"{name} must be a map, not {type(found).__name__}.")
    return found


def _grades(grades: Any) -> list[float | None]:
    """Return grades as numbers, and None for documents that are not judged."""
    if isinstance(grades, str | bytes) or not isinstance(grades, Iterable):
        raise BadParameter(
            f"give the grades of a ranking as a list, such as [2, 0, 1], not {grades!r:.40}; a measure is measure=."
        )
    found: list[float | None] = []
    for rank, grade in enumerate(grades, 1):
        unjudged = grade is None or (isinstance(grade, float | np.floating) and math.isnan(grade))
        if not unjudged and grade not in In("(-inf, inf)"):
            raise BadParameter(f"the grade at rank {rank} is {grade!r}: give a number, or None if it is not judged.")
        found.append(None if unjudged else float(grade))
    if not any(grade is not None for grade in found):
        raise BadParameter("no document of the ranking is judged: give at least one grade.")
    return found


def _as_runs(lists: Mapping[str, Sequence[float | None]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return judgments and runs of grades; the n-th documents of one grade are the same in all lists."""
    known: dict[tuple[float | None, int], str] = {}
    runs = {}
    for name, grades in lists.items():
        times: dict[float | None, int] = {}
        run = {}
        for rank, grade in enumerate(grades):
            times[grade] = times.get(grade, 0) + 1
            run[known.setdefault((grade, times[grade]), f"d{len(known) + 1}")] = float(len(grades) - rank)
        runs[name] = {"1": run}
    return {"1": {doc_id: grade for (grade, _), doc_id in known.items() if grade is not None}}, runs

"""Catalogue of named metrics, each a row of choices: gain, effort, continuation, aggregation and normaliser."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any

from ir_measures.measures import Measure

from ..data.columns import Array
from ..data.duplicates import Duplicates
from ..data.lengths import Costs, Lengths
from ..data.rankings import Rankings
from ..data.resources import Resource
from ..errors import BadParameter, UnknownSpec
from ..model import scoring
from ..model.aggregations import utility
from ..model.efforts import time
from ..model.language import (
    FLAG,
    TABLES,
    Given,
    Grades,
    In,
    Kind,
    Named,
    OneOf,
    Parameter,
    Spec,
    float_or_int,
    lacking,
    parse,
)
from ..model.metric import NORMS, Metric
from .calibrations import BoundCalibration
from .computing import (
    Computation,
    Declaration,
    Needs,
    OfUserModel,
    clipped_from_0_up,
    computation_of_rankings,
    from_0_up,
)

Text = str | Callable[[Given], str | Spec]
KINDS_OF_ROLES = {"C": "continuation", "A": "aggregation", "gain": "gain", "effort": "effort"}
#: The fields of a metric besides its functions, which parameters of rows give.
OPTIONS = (
    *("norm", "end", "unseen", "judged_only", "cutoff", "max_rel"),
    *("lengths", "costs", "missing", "duplicates", "duplicate_gain"),
)
_C_GIVEN, _A_GIVEN, _GAIN_GIVEN, _EFFORT_GIVEN = map(itemgetter, KINDS_OF_ROLES)
OtherGrades = tuple[Measure, Callable[[Array], Array], Hashable]
"""A measure that is computed over other grades, the function from given grades to these, and its key in caches."""


def _relevant_from_0(measure: Measure, grades: Callable[[Array], Array] = from_0_up) -> OtherGrades | None:
    """Return the measure with ``rel=1`` over higher grades if ``rel`` is 0."""
    return (measure(rel=1), grades, grades.__name__) if measure.params.get("rel") == 0 else None


@dataclass(frozen=True)
class Row(Declaration):
    """Declaration of a metric with a user model: five choices, which may refer to the parameters by name.

    Attributes
    ----------
    says : str
        A summary of one sentence.
    source : str
        The paper, with the equation.
    C, A, gain, effort : str or callable
        Continuation, aggregation, gain and effort in the notation of the language, or a function from the values of
        the parameters to that notation. The cutoff @k cuts the ranking, unless the text of C has ``cutoff`` as a
        parameter.
    norm : str, default="none"
        The normaliser, one of "none", "ideal", "all", "mean" and "unlimited".
    end : {"open", "stop"} or int, default="open"
        The end of the list: none, the last retrieved item, or a rank.
    max_rel : int, optional
        The highest grade of judgments; None if a parameter gives it or none is needed.
    units, range : str
        The unit and the interval of the scores.
    other_grades : callable
        A function from a measure to :data:`OtherGrades`, or to None if it is computed over the grades of the judgments;
        by default other grades stand for those of ``rel=0``.
    grades_are_gains : callable
        A function from the given parameters to whether a grade is its gain, as in cwl_eval; grades above 1 are then
        refused.
    """

    says: str
    source: str
    C: Text
    A: Text
    gain: Text
    effort: Text = "unit"
    norm: str = "none"
    end: str | int = "open"
    max_rel: int | None = None
    units: str = ""
    range: str = "[0, 1]"
    other_grades: Callable[[Measure], OtherGrades | None] = _relevant_from_0
    grades_are_gains: Callable[[Given], bool] = lambda given: False

    @property
    def docstring(self) -> str:
        """Summary and source, in the form of a docstring."""
        return f"{self.says}\n\nSource: {self.source}."

    def metric(self, values: Given) -> Metric:
        """Return the metric with these parameters.

        Parameters
        ----------
        values : mapping of str to object
            The parameters that differ from their defaults; functions, tables and calibrations as objects. The value of
            ``calibration`` replaces the defaults of the parameters that it estimates.

        Returns
        -------
        Metric

        Raises
        ------
        BadParameter
            If a parameter is missing or out of its range.
        """
        known = {p.name: p for p in self.parameters}
        calibrated: dict[str, Any] = {}
        source = ""
        if values.get("calibration") is not None:
            calibrated = values["calibration"].values(self.name, self.calibrated, values)
            source = f"calibration={values['calibration'].name!r}, "
            values = {**values, **calibrated}
        if missing := lacking(self.parameters, values):
            raise BadParameter(f"{self.name} needs {', '.join(f'{name}=' for name in missing)}.")
        named = {name: values.get(name, p.default) for name, p in known.items()}
        for name in [name for name, p in known.items() if name in values and p.allowed.text is None]:
            where = f"{self.name}({source * (name in calibrated)}{name}={values[name]!r})"
            named[name] = known[name].check(values[name], where)
        parts: dict[str, Any] = {}
        for role, kind in KINDS_OF_ROLES.items():
            text = getattr(self, role)
            parts[role] = parse(text(named) if callable(text) else text, kind, named)
        options = {"norm": self.norm, "end": self.end, "max_rel": self.max_rel, **named}
        of_C = isinstance(self.C, str) and "cutoff" in self.C
        kept = [name for name in OPTIONS if name in options and not (name == "cutoff" and of_C)]
        return Metric(**parts, **{name: options[name] for name in kept})

    def computation(self, measure: Measure) -> Computation:
        """Return what computes a measure of ir_measures with this declaration.

        Raises
        ------
        BadParameter
            If a parameter is out of its range.
        UnknownSpec
            If only other providers of ir_measures support one of the parameters.
        """
        other = self.other_grades(measure)
        given = (measure if other is None else other[0]).params
        known = {p.name for p in self.parameters}
        metric = self.metric({name: value for name, value in given.items() if name in known})
        if any(name not in known and value != measure.SUPPORTED_PARAMS[name].default for name, value in given.items()):
            raise not_computed_here(measure)
        if other is not None:
            return _over_other_grades(metric, *other[1:])

        def current(highest: float | None) -> Metric:
            if highest is not None and highest > 1 and self.grades_are_gains(given):
                raise BadParameter(
                    f"{measure} without rel= uses grades as gains, and {self.name} of ir_measures has no parameter for"
                    f" the highest grade. Give rel=, the lowest relevant grade, such as {self.name}(rel=1), or write"
                    f" CWLA(C={str(metric.C)!r},A={str(metric.A)!r},max_rel={highest}), which uses grades."
                )
            return metric

        def way_out(highest: float) -> str:
            if "max_rel" in measure.SUPPORTED_PARAMS:
                return ""
            cutoff = f"@{measure['cutoff']}" if "cutoff" in given else ""
            return f"write CWLA(C={self.C!r},A={self.A!r},gain={self.gain!r},max_rel={highest}){cutoff}"

        return OfUserModel(metric, current, way_out)


def _over_other_grades(metric: Metric, grades: Callable[[Array], Array], key: Hashable) -> Computation:
    """Return what computes a metric over other grades; those below 0 stand for unjudged documents."""

    def score(rankings: Rankings) -> Array:
        regraded = rankings.regraded(grades, key)
        return scoring.score(metric, regraded if metric.judged_only else regraded.only(regraded.grade > 0))

    needs = replace(Needs.of_metric(metric), all_judged=True, user_model=False)
    return computation_of_rankings(score, needs)


def not_computed_here(measure: Measure) -> UnknownSpec:
    """Return the error for a measure of ir_measures that only other providers compute."""
    return UnknownSpec(
        f"{measure} is a measure of ir_measures that is not computed here: `compare` computes it, and so does"
        " ir_measures.calc_aggregate. `pyterrier-cwla measures` lists all that are computed here."
    )


def _of_part(kind: str, part: str, names: tuple[str, ...]) -> list[Parameter]:
    """Return parameters with the ranges and defaults that a function of the language declares."""
    return [p for p in TABLES[kind][part].parameters if p.name in names]


def kind_of(resource: type[Resource], says: str) -> Kind:
    """Return the kind of a parameter that is given by name, by path or as content; in texts it has its name."""
    return Kind(says, resource.bind, text=attrgetter("name"))


_FORMS = "a name, a path, a dict, a Series or a DataFrame"
LENGTHS = kind_of(Lengths, f"a table of document lengths: {_FORMS}")
KNOWN_COSTS = kind_of(Costs, f"known costs of documents: {_FORMS}, Lengths, or a function of document ids")
CLUSTERS = kind_of(Duplicates, f"a table of duplicates: {_FORMS}, or 'run' for the run's column")
CALIBRATION = kind_of(BoundCalibration, "a calibration from a log: a saved file, or an object that calibrate returned")


def _end(value: Any) -> Any:
    """Return an end of the list with a rank as int; metrics check it."""
    with suppress(BadParameter):
        return value if isinstance(value, str) else float_or_int(value)
    return value


END = Kind("'open', 'stop' or a rank", _end)

_HIGHEST = In("(0, 1e15]")  # with higher grades, gains and the totals in denominators underflow
CUTOFF = Parameter("cutoff", In("[1, inf)", whole=True), None)
JUDGED_ONLY = Parameter("judged_only", FLAG, False)
_FRAME = (
    Parameter("norm", OneOf(*NORMS), "none"),
    Parameter("end", END, "open"),
    Parameter("max_rel", _HIGHEST, None),
    Parameter("unseen", In("[0, inf)"), None),
    Parameter("lengths", LENGTHS, None),
    Parameter("missing", OneOf("error", "mean"), "error"),
    JUDGED_ONLY,
    Parameter("duplicates", CLUSTERS, None),
    Parameter("duplicate_gain", OneOf("keep", "none"), "keep"),
    CUTOFF,
)
_COSTS = Parameter("costs", KNOWN_COSTS, None)
REL = Parameter("rel", In("[1, inf)", whole=True), 1)
REL_OR_0 = Parameter("rel", In("[0, inf)", whole=True), 1)  # of measures of ir_measures; 0 is any judged document

_C = Parameter("C", Named("continuation"))
_LINEAR = Parameter("gain", Named("gain"), "linear")
_EFFORT = Parameter("effort", Named("effort"), "unit")

CWLA = Row(
    "CWLA",
    says="Any continuation C with any aggregation A: Σ L(i)·A(i), divided by a normaliser.",
    source="Moffat, Mackenzie, Thomas and Azzopardi (2022), Eq. 15",
    C=_C_GIVEN,
    A=_A_GIVEN,
    gain=_GAIN_GIVEN,
    effort=_EFFORT_GIVEN,
    units="that of the aggregation",
    range="that of the gain, or of the aggregation: [0, ∞) for etg",
    parameters=(
        _C,
        Parameter("A", Named("aggregation")),
        _LINEAR,
        _EFFORT,
        *_FRAME,
        _COSTS,
    ),
)

_SECONDS = tuple(p.name for p in time.parameters[:-1])
_CREDIT = Parameter("credit", OneOf("arrival", "smeared"), "arrival")


def _credited(given: Given) -> str:
    return "smeared(half_life)" if given["credit"] == "smeared" else "etg"


TBG = Row(
    "TBG",
    says="Time-biased gain: expected number of relevant documents saved, by users of a given half-life.",
    source="Smucker and Clarke (2012), Eq. 3 and Table 1; Eq. 2 with credit='smeared'",
    gain="clicksave(p_click_relevant, p_save, rel)",
    effort=f"time({', '.join(_SECONDS)}, rel)",
    C="decay(half_life)",
    A=_credited,
    calibrated=("half_life", *_SECONDS, "p_save", "rel"),
    units="documents saved",
    range="[0, ∞), [0, 1] with norm='ideal' or 'unlimited'",
    parameters=(
        *_of_part("continuation", "decay", ("half_life",)),
        *_of_part("effort", "time", _SECONDS),
        *_of_part("gain", "clicksave", ("p_save", "rel")),
        Parameter("calibration", CALIBRATION, None),
        _CREDIT,
        *_FRAME,
    ),
)

_BY_GRADE = ("summary_seconds", "p_click", "seconds")
_PER_EFFORT, _PER_DOCUMENT = "gain per unit of effort", "gain per document"
_ADAPTIVE = (_EFFORT, *(p for p in _FRAME if p.name in ("unseen", "lengths", "missing", "judged_only")), _COSTS)
_MAX_REL = Parameter("max_rel", _HIGHEST)
_P = Parameter("p", In("[0, 1)"), 0.8)
_K = Parameter("cutoff", In("[1, inf)", whole=True))
_GAIN = Parameter("gain", Named("gain"), "exponential")
_THRESHOLDS = Parameter("gain", Named("gain"), "threshold(0.4, 0.6)")
_JIANG = "Jiang and Allan (2016)"


_PER_LEAST = "[0, 1] under unit effort, else [0, 1/(least effort)]"


def _adaptive(
    name: str, says: str, source: str, C: str, A: str, worth: Text, *own: Parameter, cutoff: Any = CUTOFF, **more: Any
) -> Row:
    """Return the row of a metric by Jiang and Allan: gain per effort, over the retrieved items."""
    return Row(
        *(name, says, f"{_JIANG}, {source}", C, A, worth, _EFFORT_GIVEN),
        end="stop" if A == "erg" else "open",
        parameters=(*own, *_ADAPTIVE, cutoff),
        **{"units": _PER_EFFORT, "range": "[0, ∞)" if worth == "burges" else _PER_LEAST} | more,
    )


_rate_of_gain = partial(
    Row, A="erg", gain=_GAIN_GIVEN, effort=_EFFORT_GIVEN, units=_PER_EFFORT, range=_PER_LEAST
)  # of users who choose gain and effort
_IFT_SOURCE = "Azzopardi, Thomas and Craswell (2018)"
_IFT = (_LINEAR, _EFFORT, *_FRAME, _COSTS)
_GOAL = _of_part("continuation", "ift_goal", ("T", "b1", "R1"))
_RATE = _of_part("continuation", "ift_rate", ("A", "b2", "R2"))
_CARTERETTE = "Carterette (2011)"


def _preset(name: str, says: str, source: str, A: str) -> Row:
    """Return the row of one of Carterette's model classes, for any C."""
    return Row(
        name,
        says,
        f"{_CARTERETTE}, {source}; Moffat et al. (2022), section 3",
        _C_GIVEN,
        A,
        _GAIN_GIVEN,
        units=_PER_DOCUMENT if A == "avg" else "gain",
        range="[0, ∞)" if A == "etg" else "[0, 1]",
        parameters=(_C, _LINEAR, *_FRAME),
    )


_WITHIN = (
    *_of_part("continuation", "budget", ("T",)),
    Parameter("effort", Named("effort"), "cost"),
    Parameter("gain", Named("gain"), "binary"),
    *(p for p in _FRAME if p.name not in ("norm", "end", "unseen")),
    _COSTS,
)


def _within(name: str, says: str, source: str, A: str, **more: Any) -> Row:
    """Return the row of a metric of the first documents whose efforts fit into a budget."""
    return Row(name, says, source, "budget(T)", A, _GAIN_GIVEN, _EFFORT_GIVEN, end="stop", parameters=_WITHIN, **more)


#: The metrics that this package adds to those of ir_measures.
_OURS = (
    CWLA,
    TBG,
    Row("GradedTBG", "Time-biased gain with clicks, saves and reading times for every grade.",
        f"{_JIANG}, section 5.1; Smucker and Clarke (2012), Eq. 3", "decay(half_life)", _credited,
        "clicksave_by_grade(p_click, p_save)", f"grade_time({', '.join(_BY_GRADE)})",
        units="documents saved", range="[0, ∞)", calibrated=("half_life", *_BY_GRADE, "p_save"),
        parameters=(Parameter("half_life", In("(0, inf)"), 31), *_of_part("effort", "grade_time", _BY_GRADE),
                    *_of_part("gain", "clicksave_by_grade", ("p_save",)),
                    Parameter("calibration", CALIBRATION, None), _CREDIT,
                    *_FRAME)),
    Row("UMeasure", "Expected gain before patience runs out: users gain from the items that they read to the end.",
        "Sakai and Dou (2013)", "patience(T)", "etg", _GAIN_GIVEN, _EFFORT_GIVEN, units="gain", range="[0, ∞)",
        parameters=(Parameter("T", In("(0, inf)")), Parameter("effort", Named("effort"), "grade_time"), _GAIN,
                    *_FRAME, _COSTS)),
    _within("GainWithin", "Gain of the documents that fit into a budget, such as 4,000 tokens.",
            "Sakai and Dou (2013), with the same budget for all users", "etg", units="gain", range="[0, ∞)"),
    _within("PrecisionWithin", "Gain per document of the documents that fit into a budget, such as 4,000 tokens.",
            "precision at k, with a budget of effort in place of k", "per_item", units=_PER_DOCUMENT),
    _within("RecallWithin", "Share of the gain that is in the documents that fit into a budget, such as 4,000 tokens.",
            "recall at k, with a budget of effort in place of k", "etg", norm="all", units="share of the gain"),
    _within("GainPerCost", "Gain per cost of the documents that fit into a budget, such as 4,000 tokens.",
            f"{_JIANG}, M2, with a budget of effort in place of k", "avg", units=_PER_EFFORT, range=_PER_LEAST),
    _adaptive("AdaptiveP", "Precision at k, per effort.", "Eq. 7 and Table 1",
              "prec(cutoff)", "erg", "binary(rel)", REL, cutoff=_K),
    _adaptive("AdaptiveGP", "Graded precision: the gain of the first k documents, per effort.", "Table 1",
              "prec(cutoff)", "erg", _GAIN_GIVEN, _THRESHOLDS, cutoff=_K),
    _adaptive("AdaptiveAP", "Average precision, with each precision per effort.", "Table 1",
              "ap2(rel=rel)", "avg", "binary(rel)", REL),
    _adaptive("AdaptiveGAP", "Graded average precision, with each precision per effort.", "Eq. 3",
              "ap2(rel=1)", "avg", _GAIN_GIVEN, _THRESHOLDS, norm="mean",
              range="[0, ∞), above 1 where the best documents come first"),
    _adaptive("AdaptiveRBP", "Rank-biased precision of the retrieved documents, per effort.", "Table 1",
              "rbp(p)", "erg", "binary(rel)", _P, REL),
    _adaptive("AdaptiveGRBP", "Graded rank-biased precision of the retrieved documents, per effort.", "Table 1",
              "rbp(p)", "erg", _GAIN_GIVEN, _P, _THRESHOLDS),
    _adaptive("AdaptiveRR", "Inverse of the effort to the first relevant document.", "Eq. 7",
              "rr(rel=rel)", "err", "binary(rel)", REL, units="1/effort"),
    _adaptive("AdaptiveERR", "Expected inverse of the effort to the document that satisfies the user.", "Eq. 4",
              "rr", "err", "exponential", _MAX_REL, units="1/effort"),
    _adaptive("AdaptiveDCG", "Discounted gain per discounted effort.", "Eq. 5",
              "dcg(cutoff)", "erg", "burges"),
    _adaptive("AdaptivenDCG", "Discounted gain per discounted effort, divided by that of the ideal ranking.",
              "section 2.3", "dcg(cutoff)", "erg", "burges", norm="ideal", units="share of the ideal"),
    Row("Cascade", "Expected utility of the rank at which a user is satisfied; some users give up after each item.",
        "Chapelle et al. (2009), sections 4 and 7.2", "cascade(gamma)",
        lambda given: utility(given["phi"]), _GAIN_GIVEN, end="stop", units="utility",
        range="[0, 1] if φ is at most 1",
        parameters=(Parameter("gamma", In("[0, 1]"), 1), Parameter("phi", Named("discount"), "reciprocal"), _GAIN,
                    Parameter("max_rel", _HIGHEST, None), JUDGED_ONLY, CUTOFF)),
    _rate_of_gain(
        "DynamicBPM", "Bejeweled player model with a gain target and an effort budget, which found gains change.",
        "Zhang et al. (2017)", "bpm(T, K, h_b, h_c, m)",
        parameters=(*_of_part("continuation", "bpm", ("T", "K")), Parameter("h_b", In("[0, inf)"), 1),
                    Parameter("h_c", In("[0, inf)"), 1), Parameter("m", In("[0, inf)"), 0.5), *_IFT)),
    _rate_of_gain("IFTGoal", "Information foraging: users tend to leave near their target gain.", _IFT_SOURCE,
                  "ift_goal(T, b1, R1)", parameters=(*_GOAL, *_IFT)),
    _rate_of_gain("IFTRate", "Information foraging: users tend to leave when the rate of gain is low.",
                  _IFT_SOURCE, "ift_rate(A, b2, R2)", parameters=(*_RATE, *_IFT)),
    _rate_of_gain("IFT", "Information foraging with both the goal and the rate model.", _IFT_SOURCE,
                  "product(ift_goal(T, b1, R1), ift_rate(A, b2, R2))", parameters=(*_GOAL, *_RATE, *_IFT)),
    _rate_of_gain("SET", "Search economic theory: gain of the first k documents, with diminishing returns.",
                  "Azzopardi (2014), as cwl_eval computes it", "economic(beta, cutoff)",
                  parameters=(Parameter("beta", In("(0, 1]"), 0.5), _LINEAR, _EFFORT,
                              *(p for p in _FRAME if p.name != "cutoff"), _COSTS, _K)),
    Row("TrAP", "Average precision over the relevant documents that are retrieved.",
        "Harman (1992), as cwl_eval computes AP", "ap2(R='ranking', rel=rel)", "avg", "binary(rel)",
        units=_PER_DOCUMENT, parameters=(REL, JUDGED_ONLY, CUTOFF)),
    _preset("ExpectedUtility", "Carterette's model 1: the gain of the last item seen.", "Model 1", "fin"),
    _preset("ExpectedTotalUtility", "Carterette's model 2: the total gain of the items seen.", "Model 2", "etg"),
    Row("ExpectedEffort", "Carterette's model 3: the reciprocal rank of the document that satisfies the user.",
        f"{_CARTERETTE}, Model 3", "carterette3(theta)", "err", "binary(rel)", units="1/rank",
        parameters=(Parameter("theta", In("[0, 1]"), 0.5), REL, *_FRAME)),
    _preset("ExpectedAverageUtility", "Carterette's model 4: the average gain of the items seen.", "Model 4",
            "avg"),
)  # fmt: skip


def _gains_of_ndcg(given: Mapping[Any, Any]) -> dict[float, float]:
    """Return the ``gains`` of nDCG as numbers."""
    try:
        return {float_or_int(grade): float_or_int(worth) for grade, worth in given.items()}
    except BadParameter as error:
        raise BadParameter(f"nDCG: gains must be {Grades('numbers')}; {error}") from None


def _ndcg_gain(given: Given) -> str:
    if given["gains"]:
        table = {grade: max(worth, 0) for grade, worth in _gains_of_ndcg(given["gains"]).items() if grade > 0}
        return f"table({table}, others=grade)"
    return "burges" if given["dcg"] == "exp-log2" else "raw"


def _gains_as_grades(measure: Measure) -> OtherGrades | None:
    """Return nDCG without ``gains``, over gains in place of the grades, as in ir_measures.

    None if a gain function can give grades these gains. Gains of grades below 1 are those of judged documents, while a
    gain function gives unjudged documents the gain of grade 0. trec_eval treats documents of negative gain as unjudged,
    which makes a difference with ``judged_only``.
    """
    given = measure.params.get("gains")
    if not given:
        return None
    if measure.params.get("dcg", "log2") != "log2":
        raise UnknownSpec(
            f"{measure}: ir_measures defines gains= for dcg='log2' only. Give the gains of dcg='exp-log2', 2^g − 1,"
            " for your grades g, such as nDCG(gains={1:1,2:3,3:7})."
        )
    if not all(isinstance(number, int | float) for pair in given.items() for number in pair):
        return None  # the gain function refuses them
    if min(given) > 0 and not (measure.params.get("judged_only", False) and min(given.values()) < 0):
        return None
    worths = _gains_of_ndcg(given)

    def replaced(grade: Array) -> Array:
        found = grade.astype(float)
        for one, worth in worths.items():
            found[grade == one] = worth
        return found

    others = {name: value for name, value in measure.params.items() if name != "gains"}
    return type(measure)(**others), replaced, ("gains", tuple(sorted(worths.items())))


_T = Parameter("T", In("[0.5, inf)"), 1.0)
_GRADES = (Parameter("min_rel", In("[0, inf)"), 0), Parameter("max_rel", _HIGHEST))
_LOG2 = Parameter("dcg", OneOf("log2"), "log2")
_SEES_1000 = 1000  # number of ranks over which cwl_eval sums

_ir_row = partial(Row, kind="ir_measures")
_of_cwl_eval = partial(_ir_row, A="erg", gain="linear(min_rel)", end=_SEES_1000, units=_PER_DOCUMENT)
_IR = "ir_measures"
_NERR = "Azzopardi, Mackenzie and Moffat (2021)"

#: The metrics of ir_measures that follow a user model, with the values that ir_measures gives.
_THEIRS = (
    _ir_row("AP", "Average precision.", "Moffat et al. (2022), Eq. 11", "ap2", "avg", "binary(rel)",
            units=_PER_DOCUMENT, parameters=(REL_OR_0, JUDGED_ONLY, CUTOFF)),
    _ir_row("P", "Precision at k.", "Moffat et al. (2022), Eq. 7", "prec(cutoff)", "erg", "binary(rel)",
            units=_PER_DOCUMENT, parameters=(REL_OR_0, JUDGED_ONLY, _K)),
    _ir_row("R", "Recall at k.", _IR, "prec(cutoff)", "etg", "binary(rel)", norm="all",
            units="share of the relevant documents", parameters=(REL_OR_0, JUDGED_ONLY, _K)),
    _ir_row("RR", "Reciprocal rank.", "Moffat et al. (2022), Eq. 12", "rr", "err", "binary(rel)",
            units="1/documents", parameters=(REL_OR_0, JUDGED_ONLY, CUTOFF)),
    _ir_row("Success", "Whether a relevant document is among the first k.", "Moffat et al. (2022), Table 3",
            "prec(cutoff)", "max", "binary(rel)", units="share of the topics",
            parameters=(REL_OR_0, JUDGED_ONLY, _K)),
    _ir_row("nDCG", "Discounted cumulative gain, divided by that of the ideal ranking.",
            "Järvelin and Kekäläinen (2002)", "dcg(cutoff)", "etg", _ndcg_gain, norm="ideal",
            units="share of the ideal", elsewhere=False, other_grades=_gains_as_grades,
            parameters=(Parameter("dcg", OneOf("log2", "exp-log2"), "log2"), Parameter("gains", Kind(""), None),
                        JUDGED_ONLY, CUTOFF)),
    _ir_row("SDCG", "Discounted cumulative gain, divided by that of k documents of the highest grade.",
            "Moffat et al. (2022), Table 3", "dcg(cutoff)", "erg", "linear(min_rel)", units=_PER_DOCUMENT,
            parameters=(_K, _LOG2, *_GRADES), elsewhere=False),
    _ir_row("RBP", "Rate of gain of users who go on to the next document with probability p.",
            "Moffat and Zobel (2008)", "rbp(p)", "erg",
            lambda given: "binary" if given["rel"] is None else "binary(rel)", end=_SEES_1000, units=_PER_DOCUMENT,
            parameters=(_P, Parameter("rel", REL_OR_0.allowed, None), CUTOFF), elsewhere=False,
            other_grades=partial(_relevant_from_0, grades=clipped_from_0_up),
            grades_are_gains=lambda given: given.get("rel") is None),
    _of_cwl_eval("INST", "Rate of gain of users who want T of gain, and go on more likely the more they lack.",
                 "Moffat et al. (2022), Eq. 13", "inst(T)",
                 parameters=(_T, *_GRADES), elsewhere=False),
    _of_cwl_eval("INSQ", "Rate of gain of users who want T of gain, and go on more likely the deeper they are.",
                 "Moffat, Scholer and Thomas (2012)", "insq(T)",
                 parameters=(_T, *_GRADES), elsewhere=False),
    _of_cwl_eval("BPM", "Bejeweled player model with a target of gain, down to rank k.", "Zhang et al. (2017)",
                 "bpm(T, cutoff)",
                 parameters=(_K, Parameter("T", In("(0, inf)"), 1.0), *_GRADES)),
    _of_cwl_eval("NERR8", "Expected rate of gain of ERR's users on the first k items.", _NERR,
                 "product(rr, prec(cutoff))", parameters=(_K, *_GRADES)),
    _of_cwl_eval("NERR9", "Expected rate of gain of ERR's users, with an additional C(i) = i/(i+1), on the first k"
                 " items.", _NERR, "product(rr, carterette1(cutoff))", parameters=(_K, *_GRADES)),
    _of_cwl_eval("NERR10", "Expected rate of gain of ERR's users with the patience of RBP.", _NERR,
                 "product(rr, rbp(p))", parameters=(Parameter("p", In("[0, 1)"), 0.9), *_GRADES)),
    _of_cwl_eval("NERR11", "Expected rate of gain of ERR's users with the patience of INSQ.", _NERR,
                 "product(rr, insq(T))", parameters=(_T, *_GRADES)),
    _ir_row("ERR", "Expected reciprocal rank, with grades up to 4 as in gdeval.", "Chapelle et al. (2009), Eq. 5",
            "rr", "err", "exponential", max_rel=4, units="1/documents", parameters=(CUTOFF,), elsewhere=False),
)  # fmt: skip

#: All named metrics, by name.
ROWS = {row.name: row for row in (*_OURS, *_THEIRS)}

#: A metric whose fields other code replaces.
PLAIN = CWLA.metric({"C": "rbp(0.5)", "A": "etg", "gain": "raw"})

"""Values of several measures as one: mixtures of classes of users, and measures whose parameters differ by topic."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from typing import Any, Self, cast

import numpy as np
from ir_measures.measures import MeanAgg, Measure

from ..data.alignment import Aligned, Judgments
from ..data.columns import Array
from ..data.intents import WEIGHTS, IntentWeights
from ..data.rankings import Rankings
from ..data.resources import Resource
from ..errors import BadJudgments, BadParameter, CWLAError, near, shown, some, warn
from ..model.expected import expected_score, is_exact, sampled_scores
from ..model.introspection import reads
from ..model.language import Grades, In, Kind, OneOf, Parameter, float_or_int
from ..model.metric import Metric, rels_of
from ..model.residuals import refuse_unknown_case, residual, residual_is_a_bound
from ..model.scoring import score
from .calibrations import PARAMETERS_BY_TOPIC, TopicParameters
from .catalogue import kind_of
from .computing import Better, Computation, Needs, Values, of_answered
from .counting import logistic
from .declarations import DECLARATIONS, better_of, computation_of, is_computed_here, metric_of, row_of, user_model_of
from .labels import renamed
from .named import CLASSES, CWLA, Change, CWLAMeasure, Parts, Tables, measure_of

_OF_THE_BEST = ("ideal", "unlimited")


def unit_of_metric(metric: Metric) -> str:
    """Return the unit of the scores of a metric.

    Gains of at most 1 (binary, linear, exponential, threshold) have one unit. Functions without a declared unit have
    units of their own, by their names. Scores relative to the best ranking are shares.

    Examples
    --------
    >>> from pyterrier_cwla import TBG
    >>> unit_of_metric(TBG.metric), unit_of_metric(TBG(norm="ideal").metric)
    ('documents saved', 'share of the best score')
    """
    if metric.norm in _OF_THE_BEST:
        return "share of the best score"
    unit = _unit_of_sum(metric)
    return {"all": f"{unit} per gain of all relevant documents", "mean": f"{unit} per mean gain"}.get(metric.norm, unit)


def _unit_of_sum(metric: Metric) -> str:
    unit: str = metric.A.fact("unit") or f"aggregation {metric.A.name!r}"
    gain = metric.gain.fact("unit") or f"gain {metric.gain.name!r}"
    effort = metric.effort_unit
    return unit.format(gain=gain, effort=f"effort {metric.effort.name!r}" if effort == "effort" else effort)


_ROUNDING = 1e-6  # of the sum of shares


class Combination(CWLAMeasure):
    """Base class of measures whose value is put together from the values of other measures."""

    is_of_users = True

    @abstractmethod
    def combined(self, of: Callable[[Measure], Computation]) -> Computation:
        """Return the computation that puts values of the parts together.

        Parameters
        ----------
        of : callable
            A function from a part to the computation of its values, such as its scores or its residuals.
        """

    def computation(self) -> Computation:
        """Return the computation of the measure."""
        return self.combined(computation_of)

    @property
    def better(self) -> Better | None:
        """Scores that are better, if they are the same for all parts."""
        found = {better_of(part) for part in self.parts.values()}
        return found.pop() if len(found) == 1 else None


def is_of_users(measure: Measure) -> bool:
    """Return whether the value of a query is a mean over users of one user model, or over several kinds of users."""
    return measure.is_of_users if hasattr(measure, "is_of_users") else row_of(measure) is not None


def unit_of(measure: Measure) -> str:
    """Return the unit of the scores of a measure that is a mean over users."""
    parts = getattr(measure, "parts", None)
    return unit_of(next(iter(parts.values()))) if parts else unit_of_metric(user_model_of(measure).metric)


def check_one_unit(measures: Mapping[str, Measure], where: str, ways_out: str) -> None:
    """Raise BadParameter if the scores of two measures have different units."""
    units = {name: unit_of(measure) for name, measure in measures.items()}
    first = next(iter(units))
    other = next((name for name, unit in units.items() if unit != units[first]), None)
    if other is not None:
        raise BadParameter(
            f"{where}: scores of {first!r}, {measures[first]}, are in {units[first]!r}, and those of {other!r},"
            f" {measures[other]}, in {units[other]!r}. {ways_out}"
        )


def _class_name(name: object) -> str:
    if not isinstance(name, str) or not name.isprintable() or not name.strip():
        raise BadParameter(f"Mixture: a class of users has a name, such as 'hasty', not {shown(name)}.")
    return name


def _of_class(name: object, given: Any) -> Measure:
    if not isinstance(given, str | Measure):
        raise BadParameter(f"Mixture(measures=): class {name!r} has a measure, such as 'TBG', not {shown(given)}.")
    measure = measure_of(given)
    if is_of_users(measure):
        return measure
    around = f" Write {measure.NAME}(measure=Mixture(…))." if hasattr(measure, "inner") else ""
    raise BadParameter(
        f"Mixture(measures=): {measure}, of class {name!r}, is not a mean over users.{around} A class of users has a"
        " measure that follows a user model, such as 'TBG' or 'RBP(rel=1)'."
    )


def _measures_of_classes(value: Any) -> Parts:
    if not isinstance(value, Mapping) or not value:
        raise BadParameter(f"Mixture(measures=) takes {_CLASSES}, not {shown(value)}.")
    return {_class_name(name): _of_class(name, given) for name, given in value.items()}


def _shares(value: Any) -> str | dict[str, float]:
    if isinstance(value, str) and value == "uniform":
        return value
    if not isinstance(value, Mapping) and not hasattr(value, "items"):
        raise BadParameter(f"Mixture(weights=) takes {_SHARES}, not {shown(value)}.")
    found = {}
    for name, share in value.items():
        try:
            number = float_or_int(share)
        except BadParameter:
            number = -1
        if not 0 <= number <= 1:
            raise BadParameter(f"Mixture(weights=): {shown(share)}, of class {name!r}, is not a share from 0 to 1.")
        found[_class_name(name)] = number
    return found


_CLASSES = Kind(
    "measures by class of users, such as {'hasty': 'TBG(half_life=60)', 'patient': 'TBG'}",
    _measures_of_classes,
    text=lambda parts: {name: repr(part) for name, part in parts.items()},
)
_SHARES = Kind("'uniform', or the share of each class, such as {'hasty': 0.3, 'patient': 0.7}", _shares)


class _Mixture(Combination):
    """Expected score over classes of users, each with its own measure.

    M = Σ_u p_u·M_u, where p_u is the share of users of class u, and M_u the score by the measure of this class. Each
    measure keeps its own normaliser. The measures have one unit, such as documents saved.

    Parameters
    ----------
    measures : dict
        The measures M_u, as texts or objects, by the name of the class. Each follows a user model, or is an
        IntentAware, a ByTopic or another mixture of such measures.
    weights : dict, default="uniform"
        The shares p_u by the name of the class. They sum to 1. With "uniform", all classes have the same share.

    References
    ----------
    Moffat et al. (2022), section 2, for a score as the mean over the users of one model.
    """

    PARAMETERS = (Parameter("measures", _CLASSES), Parameter("weights", _SHARES, "uniform"))

    def _canonical(self, parameter: Parameter, value: Any) -> Any:
        found, classes = super()._canonical(parameter, value), self.bound.get("measures", {})
        if parameter.name == "measures" or found == "uniform" or classes.keys() != found.keys():
            return found
        return {name: found[name] for name in classes}

    def validate_params(self) -> None:
        """Raise BadParameter if the measures have several units, or classes and shares differ."""
        parts, shares = self.parts, self.params.get("weights")
        check_one_unit(
            parts,
            "Mixture(measures=)",
            "Give measures of one unit; with norm='ideal', or of one aggregation, gain and effort, they have one.",
        )
        if shares is None:
            return
        for name in (*parts, *shares):
            if name not in shares or name not in parts:
                lacks, has = ("weights", "measures") if name not in shares else ("measures", "weights")
                raise BadParameter(f"Mixture: class {name!r} is in {has}= and not in {lacks}=; it must be in both.")
        total = sum(shares.values())
        if abs(total - 1) > _ROUNDING:
            raise BadParameter(f"Mixture(weights=): the shares of the classes sum to {total:g}, and must to 1.")

    @property
    def parts(self) -> Parts:
        """Measures by class."""
        return cast(Parts, self.given("measures", "{'hasty':'TBG(half_life=60)','other':'TBG'}"))

    @property
    def shares(self) -> dict[str, float]:
        """Share of the users by class."""
        given = self.params.get("weights")
        parts = self.parts
        return {name: 1 / len(parts) if given is None else float(given[name]) for name in parts}

    @property
    def classes(self) -> dict[str, tuple[Measure, float]]:
        """Measure and share of each class; a mixture within this one has classes "outer / inner"."""
        found: dict[str, tuple[Measure, float]] = {}
        for name, part in self.parts.items():
            share = self.shares[name]
            inner = part.classes if isinstance(part, _Mixture) else {"": (part, 1.0)}
            found |= {f"{name} / {own}" if own else name: (one, share * p) for own, (one, p) in inner.items()}
        return found

    def combined(self, of: Callable[[Measure], Computation]) -> Computation:
        """Return the computation of the expected value over the classes."""
        parts, shares = [of(part) for part in self.parts.values()], [*self.shares.values()]

        def prepare(judgments: Judgments) -> Values:
            by_class = [part.prepare(judgments) for part in parts]

            def values(aligned: Aligned) -> Array:
                first, *others = (p * of_class(aligned) for p, of_class in zip(shares, by_class, strict=True))
                return sum(others, first)

            return values

        return Computation(needs_of_all(parts), prepare)


def needs_of_all(computations: Iterable[Computation]) -> Needs:
    """Return the data that several computations read, without a user model: they follow more than one."""
    needs = [computation.needs for computation in computations]

    def together(values: list[Any]) -> Any:
        if isinstance(values[0], tuple):
            return tuple(dict.fromkeys(table for tables in values for table in tables))
        if isinstance(values[0], str):
            return next(origin for origin in ("run", "default", "table", "none") if origin in values)
        return next(filter(None, values), values[0])

    names = [field.name for field in fields(Needs) if field.name != "user_model"]
    return Needs(**{name: together([getattr(one, name) for one in needs]) for name in names})


Mixture = _Mixture()


class _OfTopics(Aligned):
    """Aligned runs in which only some topics have results."""

    def __init__(self, aligned: Aligned, mine: Array) -> None:
        self.aligned, self.mine = aligned, mine

    def rankings(self, all_judged: bool = False) -> Rankings:
        whole = self.aligned.rankings(all_judged)
        topic = whole.of_pool(np.arange(whole.pool.queries)) % len(self.mine)
        return whole.emptied(~self.mine[topic])


def pinned(measures: Iterable[Measure]) -> list[Measure]:
    """Return the same measures with the present content of their tables and calibrations.

    Later changes of the files do not affect them. Each file is hashed once, and read only if its content is new.
    """
    known: Tables = {}
    return [measure.pinned(known) if isinstance(measure, CWLAMeasure) else measure for measure in measures]


A_MEASURE = Kind("a measure")


class Wrapper(CWLAMeasure):
    """Base class of measures that are computed from another measure, ``measure=``."""

    PARAMETERS: tuple[Parameter, ...] = (Parameter("measure", A_MEASURE),)

    def _canonical(self, parameter: Parameter, value: Any) -> Any:
        if parameter.allowed != A_MEASURE:
            return super()._canonical(parameter, value)
        inner = measure_of(value) if isinstance(value, str | Measure) else value
        if not isinstance(inner, Measure) or not self._takes(inner):
            raise BadParameter(f"{self.__name__}({parameter.name}=) takes {self.TAKES}, not {value!r}.")
        self.bound[parameter.name] = inner
        return repr(inner)

    def __call__(self, *args: Any, **kwargs: Any) -> Self:
        """Return the measure with these parameters replaced."""
        if args and "measure" not in kwargs and set(kwargs) - {p.name for p in self.PARAMETERS} - {"label"}:
            return super().__call__(measure=args[0], **kwargs)  # raises
        return super().__call__(*args, **kwargs)

    def _near_parameter(self, name: str, given: dict[str, Any]) -> str:
        with suppress(CWLAError):
            inner = measure_of(given.get("measure", self.bound.get("measure")))
            if name in inner.SUPPORTED_PARAMS:
                return f"Write {self.__name__}(measure={inner(**{name: given[name]})!r})."
        return super()._near_parameter(name, given)

    TAKES = "a measure that is computed here, such as 'TBG' or 'AP'"

    def _takes(self, inner: Measure) -> bool:
        return is_computed_here(inner)

    def validate_params(self) -> None:
        """Raise BadParameter if an inner measure is missing."""
        self.parts  # noqa: B018  (raises)

    @property
    def inner(self) -> Measure:
        """Measure that this one wraps."""
        return cast(Measure, self.given("measure", "'TBG'"))

    @property
    def parts(self) -> Parts:
        """Inner measures, by the names of their parameters."""
        return {p.name: self.given(p.name, "'TBG'") for p in self.PARAMETERS if p.allowed == A_MEASURE}

    @property
    def metric(self) -> Metric:
        """Metric of the innermost measure."""
        inner = innermost(self)
        metric: Metric | None = getattr(inner, "metric", None)
        return metric or metric_of(inner)

    @property
    def better(self) -> Better | None:
        """Scores that are better, as for the inner measure."""
        return better_of(self.inner)


def innermost(measure: Measure) -> Measure:
    """Return the measure without its wrappers."""
    inner: Measure | None = getattr(measure, "inner", None)
    return measure if inner is None else innermost(inner)


def known_as(measure: Measure) -> str:
    """Return the innermost measure's name in the literature: "nDCG" also for a CWLA with nDCG's C and normaliser."""
    inner = innermost(measure)
    if isinstance(inner, type(CWLA)) and inner.metric.C.name == "dcg" and inner.metric.norm == "ideal":
        return "nDCG"
    return str(inner.NAME)


def changed_inside(measure: Measure, change: Change) -> Measure:
    """Return the measure with ``change`` applied to its innermost measures, and with its label."""
    if isinstance(measure, CWLAMeasure) and measure.parts:
        return measure.with_parts(lambda part: changed_inside(part, change))
    return renamed(change(measure), getattr(measure, "label", None))


def layers(measure: Measure) -> Iterator[Measure]:
    """Yield the measure, its inner measures, and so on to the innermost ones."""
    yield measure
    for part in getattr(measure, "parts", {}).values():
        yield from layers(part)


def innermost_measures(measure: Measure) -> list[Measure]:
    """Return the measures that :func:`changed_inside` changes."""
    inner = [one for one in getattr(measure, "objects", ()) if isinstance(one, Measure)]
    return [found for one in inner for found in innermost_measures(one)] or [measure]


def files_of(measures: Iterable[Measure]) -> Iterator[str]:
    """Yield the paths of files that measures name: tables of lengths, duplicates and parameters, and calibrations."""
    for measure in measures:
        for part in measure.objects if isinstance(measure, CWLAMeasure) else ():
            if isinstance(part, Measure):
                yield from files_of([part])
            elif isinstance(part, Resource) and part.path is not None:
                yield part.path


_OTHER_RESIDUALS = "'RBP(rel=1)' or \"CWLA(C='rbp(0.8)',A='erg',max_rel=3)\""


class _Residual(Wrapper):
    """Difference between the score if all unjudged and unseen items had the best gain, and the score.

    Judgments can raise the ideal of measures with ``norm="ideal"`` as well. If C and A of such a measure depend on
    ranks alone, as in nDCG, the residual is the highest score that any judgments of these items lead to, minus the
    score. The sum of score and residual is then at most 1. ``is_a_bound`` is True if the residual is an upper
    bound of the change of the score. For most other normalised measures no bound is known. Residuals with
    ``judged_only=True`` are no bounds: each further judgment adds a document to the condensed list.

    Parameters
    ----------
    measure : str or ir_measures.Measure
        A measure with a user model and a highest grade.
    side : {"upper", "lower"}, default="upper"
        How much higher the score could be, or how much lower it could be if all these items had the lowest gain of any
        grade, which is 0 without negative gains (:doc:`/signed_gains`).

    References
    ----------
    Moffat and Zobel (2008), section 3.4.
    """

    SHORT_DESC = "Possible increase of the score if all unjudged and unseen items had the best gain."
    PARAMETERS = (*Wrapper.PARAMETERS, Parameter("side", OneOf("upper", "lower"), "upper"))
    TAKES = f"a measure that follows a user model, such as {_OTHER_RESIDUALS}"

    def _takes(self, inner: Measure) -> bool:
        return row_of(inner) is not None or isinstance(inner, Combination)

    @property
    def _of_parts(self) -> list[_Residual]:
        """Residuals of the measures from which the inner measure is put together."""
        return [self(measure=part) for part in getattr(self.inner, "parts", {}).values()]

    def validate_params(self) -> None:
        """Raise BadParameter if the inner measure, or a part of it, has no best case."""
        if self._of_parts:
            return
        metric = self.metric
        if (reads(metric.C) | reads(metric.A)) & {"total", "found"}:
            raise BadParameter(
                f"no residual of {self.inner}: its score depends on the total gain of the query, which unjudged"
                f" documents may raise without limit. Use the residual of {_OTHER_RESIDUALS}."
            )
        refuse_unknown_case(metric, self["side"])
        try:
            metric.best  # noqa: B018  (raises)
        except BadParameter:
            if "max_rel" in self.inner.SUPPORTED_PARAMS:
                raise
            names = ("C", "A", "gain", "effort", "norm", "end", "unseen", "judged_only", "cutoff")
            cell = CWLA(**{name: getattr(metric, name) for name in names}, max_rel=3)
            raise BadParameter(
                f"no residual of {self.inner}: it has no highest grade. Use the residual of {cell}, with"
                " the highest grade as max_rel, or that of 'RBP(rel=1)'."
            ) from None

    def computation(self) -> Computation:
        """Return the computation of the residual."""
        if isinstance(self.inner, Combination):
            return self.inner.combined(lambda part: computation_of(self(measure=part)))
        inner = user_model_of(self.inner)

        def prepare(judgments: Judgments) -> Values:
            return of_answered(partial(residual, inner.metric_for(judgments), side=self["side"]), all_judged=True)

        return Computation(replace(inner.needs, all_judged=True, user_model=False), prepare)

    @property
    def better(self) -> None:
        """None: a residual says how certain a score is, not how good."""

    @property
    def is_a_bound(self) -> bool:
        """Whether no judgment can raise, or lower, the score by more than the residual; False if that is not known."""
        parts = self._of_parts
        return all(part.is_a_bound for part in parts) if parts else residual_is_a_bound(self.metric)


_SPREADS = ("std", "error")


def _statistic(value: Any) -> Any:
    if isinstance(value, str):
        return value if value in ("mean", *_SPREADS) else None
    return In("(0, 1)").convert(value)


_HIGHEST = 999  # grade with a probability


def _prior(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return In("[0, 1]").convert(value)
    found = Grades("probabilities", 1).convert(value) or {}
    whole = all(isinstance(grade, int) and 0 <= grade <= _HIGHEST for grade in found)
    return found if whole and abs(sum(found.values()) - 1) <= _ROUNDING else None


_STATISTICS = Kind("'mean', 'std', 'error' or a quantile above 0 and below 1", _statistic)
_PRIORS = Kind("a probability of grade 1, or probabilities by grade that sum to 1, such as {0: 0.9, 2: 0.1}", _prior)


class _Expected(Wrapper):
    """Expected score of another measure over labels that are probabilities.

    E[M] = Σ_g P(g)·M(g) over all labelings g of the documents, P(g) = Π_d p_d(g_d): labels are taken as independent,
    and their probabilities as correct. Machines' labels are neither.

    The judgments have a column ``p_relevant``, the probability of grade 1, or columns ``p_0``, ``p_1``, … for all
    grades. If they have neither, grades are certain.

    The mean is exact if the score is a sum of products of single labels, as those of RBP, DCG, ERR and TBG. Other
    means, as those of nDCG and AP, and other statistics are taken over samples of labels.

    Parameters
    ----------
    measure : str or ir_measures.Measure
        The inner measure M: one that follows a user model, a Mixture, an IntentAware or a ByTopic.
    prior : float or dict, optional
        The probability of grade 1 of an unjudged document of the ranking, or the probabilities of its grades. By
        default its grade is 0.
    what : {"mean", "std", "error"} or float in (0, 1), default="mean"
        The mean or standard deviation of the score over labelings, the standard error of a sampled mean (0 for an exact
        one), or a quantile.
    samples : int of at least 2, default=1000
        The number of samples, unless the result is exact.
    seed : int of at least 0, default=0
        The seed of the samples.

    References
    ----------
    Moffat et al. (2022), Eq. 1, for the score of one labeling.
    """

    SHORT_DESC = "Expected score of another measure over labels that are probabilities."
    PARAMETERS = (
        *Wrapper.PARAMETERS,
        Parameter("prior", _PRIORS, None),
        Parameter("what", _STATISTICS, "mean"),
        Parameter("samples", In("[2, inf)", whole=True), 1000),
        Parameter("seed", In("[0, inf)", whole=True), 0),
    )
    TAKES = (
        "a measure that follows a user model, such as 'TBG' or 'nDCG@10', or a Mixture, IntentAware or ByTopic of such"
    )

    @property
    def is_of_users(self) -> bool:
        """Whether the value is a mean over users, as that of the inner measure."""
        return self["what"] == "mean" and is_of_users(self.inner)

    def _takes(self, inner: Measure) -> bool:
        return row_of(inner) is not None or isinstance(inner, Combination | _IntentAware)

    def validate_params(self) -> None:
        """Raise BadParameter if the value is not defined for the inner measure."""
        inner = self.inner
        if isinstance(inner, Combination | _IntentAware):
            if self["what"] != "mean":
                raise BadParameter(
                    f"Expected(what=): {self['what']!r} of {inner} is not computed, since its parts share labels. Give"
                    " what='mean', or one of its measures."
                )
            self(measure=next(iter(inner.parts.values()))).validate_params()
        elif self["prior"] is not None and (lacking := _lacks_prior(user_model_of(inner).metric)):
            raise BadParameter(
                f"Expected(prior=): {inner} {lacking}, which is not defined if any document outside the ranking may be"
                " relevant. Leave prior out, or take a measure such as 'RBP(rel=1)'."
            )

    @property
    def prior(self) -> Array | None:
        """Probabilities of the grades 0, 1, … of unjudged documents."""
        given = self["prior"]
        if given is None:
            return None
        by_grade = given if isinstance(given, Mapping) else {0: 1 - given, 1: given}
        return np.array([by_grade.get(grade, 0.0) for grade in range(int(max(by_grade)) + 1)], float)

    @property
    def inside(self) -> CWLAMeasure:
        """Mixture, IntentAware or ByTopic of expected scores with the same value, or this measure itself."""
        inner = self.inner
        if not isinstance(inner, Combination | _IntentAware):
            return self
        return inner.with_parts(lambda part: self(measure=part))

    @property
    def is_exact(self) -> bool:
        """Whether the value is computed without samples."""
        if (inside := self.inside) is not self:
            return all(cast(_Expected, part).is_exact for part in inside.parts.values())
        return self["what"] in ("mean", "error") and is_exact(self.metric)

    def computation(self) -> Computation:
        """Return the computation of the statistic."""
        if (inside := self.inside) is not self:
            return computation_of(inside)
        model = user_model_of(self.inner)

        def prepare(judgments: Judgments) -> Values:
            metric = model.metric_for(judgments, uncertain=True)
            prior, what, samples = self.prior, self["what"], self["samples"]
            self._check_grades(metric, judgments, prior)
            if prior is not None and metric.max_rel is not None and len(prior) - 1 > metric.max_rel:
                raise BadParameter(f"{self}: prior= has grade {len(prior) - 1}, above max_rel={metric.max_rel}.")

            certain = prior is None and judgments.pool.chances is None
            if certain and what not in _SPREADS:
                return of_answered(partial(score, metric), metric.all_judged)

            def values(rankings: Rankings) -> Array:
                found = np.zeros(len(rankings))
                if certain or (what == "error" and is_exact(metric)):
                    return found
                if what == "mean" and is_exact(metric):
                    return expected_score(metric, rankings, prior)
                for which, scores in sampled_scores(metric, rankings, judgments.qids, samples, self["seed"], prior):
                    found[which] = _summary(scores, what)
                return found

            return of_answered(values, all_judged=True)

        return Computation(replace(model.needs, all_judged=True, user_model=False), prepare)

    def _check_grades(self, metric: Metric, judgments: Judgments, prior: Array | None) -> None:
        """Raise BadParameter if no document can be relevant, and warn if labels are certain or grades are low."""
        chances = judgments.pool.chances
        if chances is None:
            if prior is None:
                warn(f"{self}: the judgments have no probabilities (p_relevant, or p_0, p_1, …): grades are certain.")
            return
        highest = chances.shape[1] - 1
        named = (
            "p_relevant is the probability of grade 1" if highest == 1 else f"the highest grade is that of p_{highest}"
        )
        lowest = max(rels_of(metric), default=1)
        if lowest > highest:
            raise BadParameter(f"{self}: {named}, so that no document has grade rel={lowest}: write rel={highest}.")
        if highest == 1 and (metric.max_rel or 1) > 1:
            warn(f"{self}: {named}, and gains are those of max_rel={metric.max_rel}: give p_0, p_1, … for all grades.")

    @property
    def better(self) -> Better | None:
        """Scores that are better, as for the inner measure; None of a spread."""
        return None if self["what"] in _SPREADS else super().better


def _summary(scores: Array, what: str | float) -> Array:
    """Return a statistic of sampled scores, of shape (n_rankings, n_samples)."""
    if what == "mean":
        mean: Array = scores.mean(axis=1)
        return mean
    if not isinstance(what, str):
        quantile: Array = np.quantile(scores, what, axis=1)
        return quantile
    std: Array = scores.std(axis=1, ddof=1)
    error: Array = std / scores.shape[1] ** 0.5
    return std if what == "std" else error


def _lacks_prior(metric: Metric) -> str:
    """Return why a measure does not work with labels of unjudged documents, or nothing."""
    if metric.norm in ("ideal", "all", "mean"):
        return f"is normalised by all relevant documents (norm={metric.norm!r})"
    return "reads the total gain of the query" if (reads(metric.C) | reads(metric.A)) & {"total"} else ""


class _GeometricMean(Wrapper):
    """Geometric mean of another measure over queries, which gives more weight to low scores.

    GM = exp((1/|Q|) Σ_q ln max(M_q, floor)). The value of a query is ln max(M_q, floor), as for gm_map of trec_eval.
    The arithmetic mean of these values, as PyTerrier's experiments compute it, is ln GM.

    Parameters
    ----------
    measure : str or ir_measures.Measure
        The inner measure M.
    floor : float in (0, 1], default=1e-5
        The value that replaces lower scores.

    References
    ----------
    Robertson (2006).
    """

    PARAMETERS = (*Wrapper.PARAMETERS, Parameter("floor", In("(0, 1]"), 1e-5))

    def _takes(self, inner: Measure) -> bool:
        return super()._takes(inner) and not isinstance(inner, _GeometricMean)

    def computation(self) -> Computation:
        """Return the computation of the logarithms of the inner measure."""
        inner, floor = computation_of(self.inner), self["floor"]

        def prepare(judgments: Judgments) -> Values:
            values = inner.prepare(judgments)
            return lambda aligned: np.log(np.maximum(values(aligned), floor))

        return Computation(replace(inner.needs, user_model=False), prepare)

    def aggregator(self) -> GeometricMeanOfLogs:
        """Return the aggregator of ir_measures."""
        return GeometricMeanOfLogs()  # type: ignore[no-untyped-call]


class GeometricMeanOfLogs(MeanAgg):
    """Aggregator of ir_measures: the geometric mean of values, from their logarithms."""

    def result(self) -> float:
        """Return the geometric mean."""
        return self.of_mean(super().result())  # type: ignore[no-untyped-call]

    @staticmethod
    def of_mean(mean: float) -> float:
        """Return the geometric mean for the mean of the logarithms."""
        return float(np.exp(mean))


class _Logistic(Wrapper):
    """Logistic function of another measure, which maps scores of any sign to values between 0 and 1.

    Logistic = 1/(1 + exp(−M_q)) of the score M_q of each query. It keeps the order of scores, and a score of 0 becomes
    1/2. A query without results scores 0, which is below all other values.

    Parameters
    ----------
    measure : str or ir_measures.Measure
        The inner measure M.

    References
    ----------
    Trappolini et al. (2025), who map the mean utility of passages to [0, 1].
    """

    SHORT_DESC = "Logistic function of another measure, between 0 and 1."
    TAKES = "a measure computed here of which more is better, not itself a mean over queries, such as 'TBG' or 'AP'"

    def _takes(self, inner: Measure) -> bool:
        return super()._takes(inner) and not isinstance(inner, _GeometricMean) and better_of(inner) == "higher"

    def computation(self) -> Computation:
        """Return the computation of the logistic function of the scores."""
        inner = computation_of(self.inner)
        needs = inner.needs

        def prepare(judgments: Judgments) -> Values:
            values = inner.prepare(judgments)

            def logistic_values(aligned: Aligned) -> Array:
                of_intent = aligned.of_intent(0) if needs.intents and judgments.intents else aligned
                return np.where(of_intent.rankings(needs.all_judged).n > 0, logistic(values(aligned)), 0.0)

            return logistic_values

        return Computation(replace(needs, user_model=False), prepare)


#: Name of the users whose intent has no judgments.
NO_INTENT = "no judged intent"
#: Share of users, due to rounding of probabilities, up to which an intent has none.
NOBODY = 1e-12


class _IntentAware(Wrapper):
    """Expected score of another measure over the intents of a query.

    M_IA = Σ_t P(t|q)·M_t, where M_t is the score with the judgments of intent t alone. The column ``iteration`` of the
    qrels contains the intent of each judgment. In some collections, such as TREC-COVID, it contains the round of
    judging instead, and this measure does not apply.

    Parameters
    ----------
    measure : str or ir_measures.Measure
        The inner measure M.
    weights : str, dict or DataFrame, default="uniform"
        The probabilities P(t|q): a table, or the name of one. With "uniform", all intents with a relevant document
        have the same probability.

    References
    ----------
    Agrawal et al. (2009); Chapelle et al. (2009), section 7.5.
    """

    PARAMETERS = (*Wrapper.PARAMETERS, Parameter("weights", kind_of(IntentWeights, WEIGHTS), "uniform"))

    TAKES = "a measure computed here, not itself a mean over intents or queries, such as 'TBG' or 'AP'"

    @property
    def is_of_users(self) -> bool:
        """Whether the value of the inner measure is a mean over users."""
        return is_of_users(self.inner)

    def _takes(self, inner: Measure) -> bool:
        return super()._takes(inner) and not isinstance(inner, _GeometricMean | _IntentAware)

    @property
    def weights(self) -> IntentWeights:
        """Probabilities of the intents."""
        return self.bound.get("weights") or IntentWeights.bind("uniform")

    def users_by_intent(self, judgments: Judgments) -> list[tuple[dict[int, str], Array, Judgments]]:
        """Return the users of the first intent of every query, of the second, and so on; the last ones find nothing.

        Returns
        -------
        list of tuple
            Name of the intent by query, share of the users of each query, and judgments of the intent. The last element
            is of users whose intents have no judgments; the shares of a query sum to 1.
        """
        shares = self.weights.of(judgments)
        users = [(called, share, own) for share, (called, own) in zip(shares, judgments.intents, strict=True)]
        rest = 1 - sum(shares, np.zeros(len(judgments.qids)))
        nothing = judgments.only(np.zeros(0, np.int64))
        return [*users, (dict.fromkeys(range(len(rest)), NO_INTENT), np.maximum(rest, 0), nothing)]

    def computation(self) -> Computation:
        """Return the computation of the mean over intents."""
        inner, weights = computation_of(self.inner), self.weights

        def prepare(judgments: Judgments) -> Values:
            by_intent = [inner.prepare(own) for _, own in judgments.intents]
            P = weights.of(judgments)

            def values(aligned: Aligned) -> Array:
                scores = np.zeros(aligned.n_runs * len(judgments.qids))
                for number, (p, of_intent) in enumerate(zip(P, by_intent, strict=True)):
                    scores = scores + np.tile(p, aligned.n_runs) * of_intent(aligned.of_intent(number))
                return scores

            return values

        return Computation(replace(inner.needs, intents=True, user_model=False), prepare)

    @property
    def named_content(self) -> object:
        """Table of the weights."""
        return self.weights.loaded


class _ByTopic(Combination, Wrapper):
    """Another measure with its own parameters for each topic, such as the half-life of the users of this topic.

    The score of a topic is that of the measure with the parameters of this topic. All scores have one unit.

    Parameters
    ----------
    measure : str or ir_measures.Measure
        A measure that follows a user model; its parameters hold for all topics that give no other value.
    parameters : dict, DataFrame, Calibrations or path
        Parameters by topic: ``{topic: {parameter: value}}``; a DataFrame with one row per topic and one column per
        parameter; what ``calibrate(log, by="topic")`` returns; or the path of such a table in text.
    other : {"error", "measure"}, default="error"
        Topics without parameters: an error, or the measure as it is.

    References
    ----------
    Smucker and Clarke (2012), section 4.2, for one half-life of all topics.
    """

    SHORT_DESC = "Another measure with its own parameters for each topic."
    PARAMETERS = (
        *Wrapper.PARAMETERS,
        Parameter("parameters", kind_of(TopicParameters, PARAMETERS_BY_TOPIC)),
        Parameter("other", OneOf("error", "measure"), "error"),
    )
    TAKES = "a measure that follows a user model, such as 'TBG' or 'RBP(rel=1)', or the Expected of one"
    _parts: Parts | None = None

    def _takes(self, inner: Measure) -> bool:
        return row_of(inner if not isinstance(inner, _Expected) else inner.inner) is not None

    def validate_params(self) -> None:
        """Raise an error if the measure does not take the parameters of a topic, or the units of topics differ."""
        named = {f"topic {topic}": part for topic, part in self.parts.items()}
        check_one_unit(named, "ByTopic(parameters=)", "Give only parameters that keep the unit.")

    @property
    def table(self) -> TopicParameters:
        """Parameters by topic."""
        return cast(TopicParameters, self.given("parameters", "{'q1': {'half_life': 60}}"))

    @property
    def parts(self) -> Parts:
        """Measure of each topic."""
        if self._parts is None:
            inner, table = self.inner, self.table.loaded
            names = dict.fromkeys(name for own in table.values() for name in own)
            for topic, own in table.items():
                lacking = [name for name in names if name not in own]
                if lacking and self["other"] == "error":
                    raise BadParameter(
                        f"ByTopic(parameters=): topic {topic!r} has no {' and no '.join(lacking)}. {_OTHER_TOPICS}"
                    )
            self._parts = {topic: _with_parameters(inner, topic, own) for topic, own in table.items()}
        return self._parts

    def of_topic(self, qid: str) -> Measure:
        """Return the measure of a topic.

        Raises
        ------
        BadParameter
            If the topic has no parameters, and ``other="error"``.
        """
        if qid in self.parts:
            return self.parts[qid]
        if self["other"] == "measure":
            return self.inner
        raise BadParameter(f"{self}: topic {qid!r} has no parameters. {near(qid, self.parts)} {_OTHER_TOPICS}")

    def combined(self, of: Callable[[Measure], Computation]) -> Computation:
        """Return the computation of each topic's own value."""
        topics: dict[Measure, list[str]] = {}
        for topic, part in self.parts.items():
            topics.setdefault(part, []).append(topic)
        parts = [(of(part), frozenset(own)) for part, own in topics.items()]
        other = of(self.inner) if self["other"] == "measure" else None

        def prepare(judgments: Judgments) -> Values:
            qids = judgments.qids
            owned = [(part, np.array([qid in own for qid in qids], bool)) for part, own in parts]
            lacking = [qid for qid in qids if qid not in self.parts]
            if lacking and (other is None or len(lacking) == len(qids)):
                way_out = "" if other is not None else ", or write other='measure' for the measure as it is"
                raise BadJudgments(
                    f"{self}: {len(lacking):,} of {len(qids):,} judged topics have no parameters ({some(lacking)});"
                    f" the table has {some(sorted(self.parts))}. Add them{way_out}."
                )
            if other is not None:
                owned.append((other, np.array([qid not in self.parts for qid in qids], bool)))
            work = [(part.prepare(judgments), mine) for part, mine in owned if mine.any()]

            def values(aligned: Aligned) -> Array:
                first, *others = (of_topics(_OfTopics(aligned, mine)) for of_topics, mine in work)
                return sum(others, first)

            return values

        return Computation(needs_of_all([*(part for part, _ in parts), *([] if other is None else [other])]), prepare)

    @property
    def content(self) -> list[object]:
        """Inner measure, and the topics with their measures."""
        return [self.inner, [*self.parts], *self.parts.values()]


_OTHER_TOPICS = "Add its parameters, or write other='measure' for the parameters of the measure itself."


def _with_parameters(measure: Measure, topic: str, own: dict[str, Any]) -> Measure:
    if isinstance(measure, _Expected):
        mine = {name: own[name] for name in own if name in measure.SUPPORTED_PARAMS}
        of_inner = {name: own[name] for name in own if name not in mine}
        return measure(measure=_with_parameters(measure.inner, topic, of_inner), **mine)
    try:
        found = measure_of(measure(**own))
        user_model_of(found)
    except CWLAError as error:
        raise type(error)(f"ByTopic(parameters=), topic {topic!r}: {error}") from None
    return found


def reads_chances(measure: Measure) -> bool:
    """Return whether a measure reads probabilities of grades: an Expected, or a measure of such measures alone."""
    parts = getattr(measure, "parts", {}).values()
    return isinstance(measure, _Expected) or (bool(parts) and all(map(reads_chances, parts)))


def notes_on_labels(measures: Iterable[Measure]) -> list[str]:
    """Return what expected scores assume of labels, and which are means over samples; nothing for other measures."""
    found = [part for measure in measures for part in layers(measure) if isinstance(part, _Expected)]
    of_samples = [f"{part} ({part['samples']:,}, seed {part['seed']})" for part in found if not part.is_exact]
    notes = ["Expected scores take labels as independent and their probabilities as correct; machines' are neither."]
    if of_samples:
        listed = ", ".join(dict.fromkeys(of_samples))
        notes.append(f"By samples of labels: {listed}; with what='error', the standard error of a topic.")
    if any(part["what"] != "mean" for part in found):
        notes.append(
            "Of std, error and quantiles of topics, the means over topics: those of the mean score are others."
        )
    return notes if found else []


def residual_of(measure: Measure) -> _Residual | None:
    """Return the residual of a measure, or None if the measure is a residual itself.

    Raises
    ------
    BadParameter
        If the measure has no residual.
    """
    return None if isinstance(measure, _Residual) else Residual(measure=measure)


Residual, Expected, GeometricMean, Logistic = _Residual(), _Expected(), _GeometricMean(), _Logistic()
IntentAware, ByTopic = _IntentAware(), _ByTopic()


_OF_MEASURES = (Residual, Expected, GeometricMean, Logistic, IntentAware, Mixture, ByTopic)
DECLARATIONS.update({one.DECLARATION.name: one.DECLARATION for one in _OF_MEASURES})
MEASURES: dict[str, CWLAMeasure] = {
    **{name: kind() for name, kind in CLASSES.items()},
    **{one.DECLARATION.name: one for one in _OF_MEASURES},
}

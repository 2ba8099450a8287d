"""Values of several measures as one: mixtures of classes of users, and measures whose parameters differ by topic."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, cast

import numpy as np
from ir_measures.measures import Measure

from ..data.alignment import Aligned, Judgments
from ..data.columns import Array
from ..data.rankings import Rankings
from ..errors import BadJudgments, BadParameter, shown, some
from ..model.language import Kind, Parameter, float_or_int
from ..model.metric import Metric
from .computing import Better, Computation, Needs, Values
from .declarations import better_of, computation_of, row_of, user_model_of
from .named import CWLAMeasure, Parts, measure_of

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
    if effort not in ("documents", "seconds", "words", "relevant documents"):
        effort = f"effort {metric.effort.name!r}"
    return unit.format(gain=gain, effort=effort)


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


_CLASSES = Kind("measures by class of users, such as {'hasty': 'TBG(half_life=60)', 'patient': 'TBG'}")
_SHARES = Kind("'uniform', or the share of each class, such as {'hasty': 0.3, 'patient': 0.7}")


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
        if parameter.name == "measures":
            if not isinstance(value, Mapping) or not value:
                raise BadParameter(f"Mixture(measures=) takes {_CLASSES}, not {shown(value)}.")
            self.bound["measures"] = parts = {
                _class_name(name): _of_class(name, given) for name, given in value.items()
            }
            return {name: repr(part) for name, part in parts.items()}
        if isinstance(value, str) and value == "uniform":
            return value
        shares, classes = _shares(value), self.bound.get("measures", {})
        return {name: shares[name] for name in classes} if classes.keys() == shares.keys() else shares

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
        if "measures" not in self.bound:
            raise BadParameter(
                "Mixture needs measures=, such as Mixture(measures={'hasty':'TBG(half_life=60)','other':'TBG'})."
            )
        return cast(Parts, self.bound["measures"])

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


def _shares(value: Any) -> dict[str, float]:
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


def needs_of_all(computations: Iterable[Computation]) -> Needs:
    """Return the data that several computations read, without a user model: they follow more than one."""
    needs = [computation.needs for computation in computations]

    def together(values: list[Any]) -> Any:
        if isinstance(values[0], tuple):
            return tuple(dict.fromkeys(table for tables in values for table in tables))
        if isinstance(values[0], str):
            return next(origin for origin in ("run", "default", "table", "none") if origin in values)
        return any(values)

    names = [field.name for field in fields(Needs) if field.name != "user_model"]
    return Needs(**{name: together([getattr(one, name) for one in needs]) for name in names})


Mixture = _Mixture()


def over_topics(parts: list[tuple[Computation, frozenset[str]]], other: Computation | None, name: str) -> Computation:
    """Return the computation that gives each topic the value by its own computation.

    Parameters
    ----------
    parts : list of (Computation, frozenset of str)
        Computations with their topics.
    other : Computation or None
        The computation of all other topics; None if they are an error.
    name : str
        Name of the measure, for errors.
    """

    def prepare(judgments: Judgments) -> Values:
        qids = judgments.qids
        owned = [(part, np.array([qid in topics for qid in qids], bool)) for part, topics in parts]
        known = np.any([mine for _, mine in owned], axis=0) if owned else np.zeros(len(qids), bool)
        lacking = [qid for qid, found in zip(qids, known.tolist(), strict=True) if not found]
        if lacking and (other is None or len(lacking) == len(qids)):
            listed = some(sorted(topic for _, topics in parts for topic in topics))
            way_out = "" if other is not None else ", or write other='measure' for the measure as it is"
            raise BadJudgments(
                f"{name}: {len(lacking):,} of {len(qids):,} judged topics have no parameters ({some(lacking)});"
                f" the table has {listed}. Add them{way_out}."
            )
        if other is not None:
            owned.append((other, ~known))
        work = [(part.prepare(judgments), mine) for part, mine in owned if mine.any()]

        def values(aligned: Aligned) -> Array:
            first, *others = (of_topics(_OfTopics(aligned, mine)) for of_topics, mine in work)
            return sum(others, first)

        return values

    return Computation(needs_of_all([*(part for part, _ in parts), *([] if other is None else [other])]), prepare)


class _OfTopics(Aligned):
    """Aligned runs in which only some topics have results."""

    def __init__(self, aligned: Aligned, mine: Array) -> None:
        self.aligned, self.mine = aligned, mine

    def rankings(self, all_judged: bool = False) -> Rankings:
        whole = self.aligned.rankings(all_judged)
        topic = whole.of_pool(np.arange(whole.pool.queries)) % len(self.mine)
        return whole.emptied(~self.mine[topic])

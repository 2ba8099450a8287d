"""Units of scores: gain, gain per effort, or a share of the best score."""

from __future__ import annotations

from ..model.metric import Metric

_SAVED = "documents saved"
_GAINS = {
    **dict.fromkeys(("binary", "linear", "exponential", "threshold"), "gain"),
    **dict.fromkeys(("clicksave", "clicksave_by_grade"), _SAVED),
}
_IN_GAIN = ("etg", "max", "fin", "fgt", "pe", "smeared")
_OF_THE_BEST = ("ideal", "unlimited")


def unit_of_metric(metric: Metric) -> str:
    """Return the unit of the scores of a metric.

    Gains of at most 1 (binary, linear, exponential, threshold) have one unit. Other gains, efforts and aggregations
    have units of their own, by the names of their functions. Scores relative to the best ranking are shares.

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
    name = metric.A.name
    gain = _GAINS.get(metric.gain.name, f"gain {metric.gain.name!r}")
    effort = _unit_of_effort(metric)
    if not metric.A.built_in:
        return f"aggregation {name!r}"
    if name in _IN_GAIN:
        return gain
    if name in ("erg", "avg"):
        return f"{gain} per {effort}"
    if name == "utility":
        return f"{gain} times a discount of ranks"
    return {"err": f"1/{effort}", "items": "documents", "effort": effort}.get(name, f"aggregation {name!r}")


def _unit_of_effort(metric: Metric) -> str:
    unit = metric.effort_unit
    return unit if unit in ("documents", "seconds", "words", "relevant documents") else f"effort {metric.effort.name!r}"

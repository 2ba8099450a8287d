"""Descriptions of the users of each continuation and aggregation, in plain words."""

from __future__ import annotations

from ..model.language import Spec, written
from ..model.metric import Metric

_READ = "Users read a ranking from the top, and most of them stop somewhere. The score is what they get on average."
GO_ON = {
    "prec": "Every user reads exactly {k} documents.",
    "rbp": "After every document, a user goes on with probability φ = {phi}, and stops otherwise. The higher φ is, the"
    " deeper users read.",
    "dcg": "Users stop slowly: rank i is seen by 1/log2(i + 1) of them, whatever they find.",
    "ap1": "A user goes on while much of the gain is still to come: the share of the gain, each divided by its rank,"
    " that is below this rank.",
    "ap2": "Every user wants one relevant document, chosen at random among all that are known, and stops when it is"
    " found. Users whose document was not retrieved never stop.",
    "rr": "A user stops at the first document that satisfies: the gain of a document is the probability that it does.",
    "cascade": "A user stops when a document satisfies (its gain is the probability), and otherwise goes on with"
    " probability γ = {gamma}.",
    "inst": "A user wants a gain of T = {T}. The more of it is found, and the earlier the rank, the more users stop.",
    "insq": "A user wants T = {T} relevant documents. The more are wanted, the deeper users read, whatever they find.",
    "decay": "Users leave as time (or other effort) goes by: after {half_life} {unit}, half of them have gone. The"
    " larger this half-life is, the deeper users read.",
    "weibull": "Users leave as time (or other effort) goes by: after {scale} {unit}, 37 % are left. The shape is"
    " {shape}: below 1, users who have stayed long leave more slowly, and above 1 faster.",
    "log_logistic": "Users leave as time (or other effort) goes by: after {scale} {unit}, half of them have gone. The"
    " smaller the shape, {shape}, the more users stay very long.",
    "log_normal": "Users leave as time (or other effort) goes by: after {scale} {unit}, half of them have gone. The"
    " larger the shape, {shape}, the more the times of users differ.",
    "hyperbolic": "Users leave as time (or other effort) goes by, at a rate that falls with the time spent: {shape}"
    " divided by {scale} {unit} and the time spent.",
    "carterette1": "Rank i is seen by 1/i of the users, down to rank {k}.",
    "economic": "Users read down to rank {k}. Some stop earlier, as each further document is worth less to them: i"
    " equally good documents are worth (i + 1)^β − 1, with β = {beta}. If β is 1, nobody stops before rank {k}.",
    "carterette2": "A user goes on after every document without gain, down to rank {k}. After a gain, the more was"
    " found so far, the more users go on.",
    "carterette3": "A user stops at every document with gain with probability θ = {theta}, and at no other.",
    "product": "A user goes on only if two decisions agree: {first}, and {second}.",
    "bpm": "A user stops after a gain of T = {T}, or after K = {K} {unit}, whichever comes first.",
    "ift_goal": "A user has a goal: the closer the gain is to T = {T}, the more users stop.",
    "ift_rate": "A user expects a gain of A = {A} per unit of effort, and stops when the ranking gives less.",
    "patience": "Every user has a patience between 0 and T = {T} {unit}, all equally likely, and stops when it is used"
    " up.",
    "fixed": "Users go on with a given probability at each rank: {values}.",
}
VALUE = {
    "etg": "A user gets the sum of the gains of all documents that were read.",
    "erg": "A user gets the sum of the gains of all documents that were read. The score is the mean of this, divided by"
    " the mean effort of all users: a gain for each of the {unit} spent.",
    "err": "A user gets 1 divided by the effort: 1 for stopping at rank 1, 1/2 at rank 2, and so on if every document"
    " costs the same.",
    "avg": "A user gets the mean gain of the documents that were read: the sum of gains divided by the effort.",
    "max": "A user gets the gain of the best document that was read.",
    "fin": "A user gets the gain of the last document that was read.",
    "fgt": "A user gets the sum of the gains, of which the share {delta} is remembered with each further document.",
    "pe": "A user remembers the best and the last document: {beta} times the highest gain, and the rest for the last.",
    "items": "The score counts documents: how many a user reads.",
    "effort": "The score is the effort that a user spends.",
    "smeared": "A user gets the sum of the gains of all documents that were read, each received little by little during"
    " the reading.",
    "utility": "A user gets the sum of the gains, each times a discount of its rank, {phi}.",
}


def stories_of(metric: Metric) -> list[str]:
    """Return what the users of a metric do and value, and what the score is divided by, as sentences."""
    unit = metric.effort_unit
    goes_on = _story(metric.C, GO_ON, "After each document", unit)
    stories = [_READ, goes_on, _story(metric.A, VALUE, "A user who stops gets", unit)]
    if metric.norm == "ideal":
        stories.append("The score is divided by that of the best possible ranking.")
    return stories


def _story(spec: Spec, known: dict[str, str], head: str, unit: str) -> str:
    """Return the story of a function, or the first line of its docstring if it has none, with its text."""
    role = "C" if spec.part.kind == "continuation" else "A"
    if spec.part.built_in and spec.name in known:
        values = {name: ", ".join(map(written, v)) if isinstance(v, tuple) else written(v) for name, v in spec.values}
        return f"{known[spec.name].format(**values, unit=unit)} ({role} = {spec})"
    line = (spec.part.__doc__ or "").strip().partition("\n")[0]
    return f"{head}: {line} ({role} = {spec})" if line else f"{role} = {spec}"

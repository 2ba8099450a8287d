"""Reference implementation of all equations as loops, for comparison with the package, which it does not import.

It computes one ranking at a time; the continuations and aggregations of the papers are those of :mod:`.loops`. Sums
over the list are taken rank by rank. Sums beyond an open end are closed forms if the continuation is geometric there,
explicit sums if it ends, and Euler-Maclaurin sums (`sum_all`) if V decreases like a power or a logarithm;
`test_reference.py` compares these with mpmath at high precision.

Equations without a source are those of Moffat et al. (2022), "TBG" is Smucker and Clarke (2012), and "JA" is Jiang and
Allan (2016). docs/conventions.rst describes the conventions that no paper defines.
"""

import itertools
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from numpy.polynomial.legendre import leggauss

from . import loops
from .loops import per


@dataclass
class Setting:
    """The choices of a metric besides A and N, its conventions, and the topic.

    `judged` contains all grades judged for the topic, retrieved or not, uncut by k. The default is those of the
    ranking.
    """

    C: tuple
    gain: tuple = ("linear", {})
    effort: tuple = ("unit", {})
    max_rel: float | None = None
    end: Any = "open"
    k: int | None = None
    judged: list | None = None
    words: list | None = None
    judged_words: list | None = None
    unseen: float | None = None

    def gain_of(self, grade):
        return gain_of(grade, self.gain, self.max_rel)


def score(grades, *, A, norm="none", **setting):
    """Return M = Σ L(i)·A(i) / N for one ranking, given as its grades (None: unjudged)."""
    value = _value(_walk(grades, Setting(**setting)), A)
    if norm == "none" or value == 0:
        return value
    bottom = normaliser(grades, A=A, norm=norm, **setting)
    return value / bottom if bottom else 0.0


def v_plus(grades, *, A=None, norm="none", **setting):
    """Return V⁺ = Σ V(i), the expected number of items seen (Eq. 2), which may be infinite."""
    return _views(_walk(grades, Setting(**setting)))


def residual(grades, *, A, norm="none", side="upper", **setting):
    """Return the score with the best gain for every unjudged and every unseen item, minus the score.

    The lower side is the score minus that with the lowest gain for these items. Efforts do not change. With a
    normaliser, the difference is divided by that of the score. Over the ideal, if C depends on ranks only and A is a
    sum of gains, it is the distance to the best score that judgments can give.
    """
    s = Setting(**setting)
    if norm == "ideal" and of_ranks(s.C, A, s.effort, s.end):
        judged = [grade for grade in grades if grade is not None] if s.judged is None else s.judged
        last = last_rank(s.C, len(grades) + len(judged), s.end, s.k)
        if last is None:
            raise NotImplementedError("the sum over all ranks of the best case")
        same = {"C": s.C, "A": A, "gain": s.gain, "max_rel": s.max_rel, "end": s.end, "k": s.k, "judged": judged}
        return max(best_share(grades, **same, last=last) - score(grades, A=A, norm=norm, **setting), 0.0)
    if s.C[0] in ("ap1", "ap2"):
        raise ValueError(f"no residual for C={s.C[0]!r}: the score depends on the total gain")
    values = s.gain[1]["map"] if s.gain[0] == "signed_table" else {}
    lowest, grade = min([(0.0, 0), *((r, -grade) for grade, r in values.items() if r < 0)])  # the highest grade with it
    unjudged = best_gain(s.gain, s.max_rel) if side == "upper" else (lowest, -grade)
    difference = _value(_walk(grades, s, unjudged), A) - _value(_walk(grades, s), A)
    bottom = normaliser(grades, A=A, norm=norm, **setting)
    return (difference if side == "upper" else -difference) / bottom if bottom else 0.0


def best_share(grades, *, C, A, gain, max_rel, end, k, judged, last):
    """Return the highest score over the ideal that judgments can give, with items at ranks up to `last`.

    Bisection on λ: the sum over levels t of gain of (t − level below)·max_j [w(S_t with j more) − λ·W(n_t + j)] is
    positive below the best ratio. w: weight of a gain at each rank; W(n): sum of the first n weights; S_t: ranks with
    a gain of at least t, including ranks after the list for judged documents that were not retrieved; n_t: number of
    documents judged with a gain of at least t.
    """
    alone = {"C": C, "A": A, "gain": ("raw", {}), "end": last if end == "stop" else end, "k": k}
    w = [score([0] * rank + [1], **alone) for rank in range(last)]
    n = min(len(grades), last)
    known = [None if grade is None else gain_of(grade, gain, max_rel) for grade in grades[:n]]
    retrieved = [gain_of(grade, gain, max_rel) for grade in grades if grade is not None]
    pool = [gain_of(grade, gain, max_rel) for grade in judged]
    best = best_gain(gain, max_rel)[0]
    levels = sorted({g for g in [*pool, best] if g > 0})
    after = [] if end == "stop" else w[n:]

    def ahead(ratio):
        total = 0.0
        for level, below in zip(levels, [0.0, *levels], strict=False):
            n_t = sum(g >= level for g in pool)
            elsewhere = max(n_t - sum(g >= level for g in retrieved), 0)
            value = math.fsum(w[i] for i, g in enumerate(known) if g is not None and g >= level)
            value += math.fsum(after[:elsewhere]) - ratio * math.fsum(w[:n_t])
            largest = value
            more = [w[i] for i, g in enumerate(known) if g is None] + after[elsewhere:]
            for j, weight in enumerate(more if level <= best else []):
                value += weight - ratio * (w[n_t + j] if n_t + j < last else 0.0)
                largest = max(largest, value)
            total += (level - below) * largest
        return total

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if ahead(middle) > 0 else (low, middle)
    return low


def of_ranks(C, A, effort, end):
    """Return whether C depends on ranks only, and A is a sum of gains with weights that decrease with the rank."""
    ranks = ("prec", "rbp", "dcg", "insq", "carterette1", "economic", "fixed")
    names = [name for name, _ in C[1].values()] if C[0] == "product" else [C[0]]
    if effort[0] == "unit":
        ranks = (*ranks, *(("decay", *LEFT, *SHARES) if C[0] != "product" else ()))
        sums, means = ("etg", "smeared", "utility"), ("erg", "avg", "per_item")
    else:
        sums, means = ("etg", "utility"), ("per_item",)
    return {*names} <= {*ranks} and (A[0] in sums or (A[0] in means and end != "stop"))


def last_rank(C, listed, end, k):
    """Return the last rank that counts in a ranking or an ideal, or None if the sum is infinite."""
    cuts = [cut for cut in (k, end) if isinstance(cut, int)]
    cuts += [listed] if end == "stop" else []
    known = {"prec": "k", "dcg": "k", "carterette1": "k", "economic": "k", "patience": "T", "budget": "T"}
    if C[0] in known and C[1].get(known[C[0]]) is not None:
        cuts.append(math.ceil(C[1][known[C[0]]]))
    if C[0] == "product":
        cuts += [rank for part in C[1].values() if (rank := last_rank(part, listed, "open", None))]
    if C[0] == "fixed":
        cuts.append(len(C[1]["values"]) + 1)
    return min(cuts, default=None)


def normaliser(grades, *, A, norm, **setting):
    """Return N for the normalisers none, all, mean, ideal and unlimited.

    none: 1; all: the total gain; mean: the gain of a mean relevant document (GAP's E(N_r)/N_r); ideal: the score of
    the ideal ranking; unlimited: TBG's unlimited supply.
    """
    s = Setting(**setting)
    if s.judged is None:
        kept = [i for i, grade in enumerate(grades) if grade is not None]
        words = None if s.words is None else [s.words[i] for i in kept]
        s = replace(s, judged=[grades[i] for i in kept], judged_words=words)
    if norm == "none":
        return 1.0
    if norm == "all":
        return math.fsum(max(s.gain_of(grade), 0) for grade in s.judged)
    if norm == "mean":
        relevant = [grade for grade in s.judged if grade > 0]
        return math.fsum(map(s.gain_of, relevant)) / len(relevant) if relevant else 0.0
    if norm == "unlimited":  # g/(1 − 2^(−T_x/h)): g the best gain, T_x the effort of its document without words
        if s.C[0] != "decay" or A[0] != "etg":
            raise ValueError("norm='unlimited' is for C=decay with A=etg")
        g, grade = best_gain(s.gain, s.max_rel)
        t_x = effort_of(s.effort[1].get("rel", 1) if grade == math.inf else grade, 0, s.effort)
        return g / (1 - 2 ** (-t_x / s.C[1].get("half_life", 224)))
    if norm != "ideal":
        raise ValueError(f"no normaliser {norm!r}")
    lengths = [None] * len(s.judged) if s.judged_words is None else s.judged_words
    cuts = [cut for cut in (s.k, s.end) if isinstance(cut, int)]
    in_parts = s.C[0] == "budget" and s.C[1].get("partial") and not cuts
    if (s.C[0] == "decay" or in_parts) and A[0] in ("etg", "smeared"):
        pairs = [
            (s.gain_of(grade), effort_of(grade, length, s.effort))
            for grade, length in zip(s.judged, lengths, strict=True)
            if s.gain_of(grade) > 0
        ]
        if A[0] == "smeared":
            pairs = [(g * while_reading(e, **A[1]), e) for g, e in pairs]
        if in_parts:
            return fullest(pairs, s.C[1]["T"])
        return best_decayed_gain(pairs, min(cuts, default=len(pairs)), **s.C[1])
    order = sorted(range(len(s.judged)), key=lambda i: (-s.gain_of(s.judged[i]), -s.judged[i]))  # stable
    if s.gain[0] in SIGNED:  # documents that harm are in no ideal
        order = [i for i in order if s.gain_of(s.judged[i]) >= 0]
    return _value(_walk([s.judged[i] for i in order], replace(s, words=[lengths[i] for i in order])), A)


def best_decayed_gain(pairs, cut, half_life=224):
    """Return the largest Σ g·2^(−T/h) of any order of at most `cut` of the (gain, effort) pairs.

    f(j, c) = max(f(j+1, c), g_j + 2^(−e_j/h)·f(j+1, c−1)) over the pairs by decreasing g/(1 − 2^(−e/h)).
    """

    def density(pair):
        lost = 1 - 2 ** (-pair[1] / half_life)
        return pair[0] / lost if lost > 0 else math.inf

    f = [0.0] * (cut + 1)
    for g, e in sorted(pairs, key=density):  # from the last pair of the order to the first
        for c in range(cut, 0, -1):
            f[c] = max(f[c], g + 2 ** (-e / half_life) * f[c - 1])
    return f[cut]


def fullest(pairs, T):
    """Return the largest sum of gains that fits into T, where a part of an item has this part of its gain."""
    total, left = 0.0, T
    for g, e in sorted(pairs, key=lambda pair: pair[0] / pair[1] if pair[1] else math.inf, reverse=True):
        total += g * (min(1, left / e) if e else 1)
        left = max(left - e, 0)
    return total


def gain_of(grade, gain, max_rel):
    """Return the gain of a grade; 0 for unjudged documents, negative grades, and grade 0 unless gains are signed."""
    name, parameters = gain
    gains = grade is not None and (grade > 0 or (grade == 0 and name in SIGNED) or name == "given")
    return float(GAINS[name](grade, max_rel, **parameters)) if gains else 0.0


def interpolated(grade, max_rel, map):
    """The value on the straight line between the grades of the map next to this one; the map starts with 0: 0."""
    points = {0: 0, **map}
    low, high = max(g for g in points if g <= grade), min(g for g in points if g >= grade)
    share = (grade - low) / (high - low) if high > low else 0
    return points[low] + share * (points[high] - points[low])


SIGNED = ("signed_table", "given")
GAINS = {  # the gain of a grade; max_rel is the highest grade, g_max
    "binary": lambda grade, max_rel, rel=1: grade >= rel,
    "linear": lambda grade, max_rel: grade / _known(max_rel, "max_rel"),
    "exponential": lambda grade, max_rel: (2**grade - 1) / 2 ** _known(max_rel, "max_rel"),
    "raw": lambda grade, max_rel: grade,
    "given": lambda grade, max_rel: grade,
    "table": lambda grade, max_rel, map: map[grade],  # an error for grades above 0 that are not in the map
    "signed_table": lambda grade, max_rel, map: {0: 0, **map}[grade],
    "interpolated": interpolated,
    # TBG, Eq. 6: P(C|R)·P(S|R) of a relevant document
    "clicksave": lambda grade, max_rel, p_click=0.64, p_save=0.77, rel=1: p_click * p_save if grade >= rel else 0,
    # JA, Eq. 3: the share of users whose relevance threshold is at most this grade
    "threshold": lambda grade, max_rel, weights: math.fsum(weights[:grade]),
    # JA, section 5.1
    "clicksave_by_grade": lambda grade, max_rel, p_click, p_save: p_click[grade] * p_save[grade],
}


def best_gain(gain, max_rel):
    """Return the highest gain of grades up to max_rel, or of those that the gain lists, and its highest grade."""
    name, parameters = gain
    if name in ("binary", "clicksave") and max_rel is None:
        return gain_of(parameters.get("rel", 1), gain, max_rel), math.inf
    if "map" in parameters or name == "clicksave_by_grade":
        listed = [*parameters.get("map", parameters.get("p_save"))]
        listed += {"signed_table": [-1], "interpolated": [min(max(listed), max_rel or max(listed))]}.get(name, [])
        grades = [grade for grade in listed if max_rel is None or grade <= max_rel]
    elif name == "threshold":
        grades = [grade + 1 for grade in range(len(parameters["weights"])) if max_rel is None or grade < max_rel]
    else:
        grades = [*range(1, math.ceil(_known(max_rel, "max_rel"))), max_rel]
    return max((gain_of(grade, gain, max_rel), grade) for grade in grades)


def effort_of(grade, length, effort):
    """Return the effort of examining an item."""
    name, parameters = effort
    return float(EFFORTS[name](grade, length, **parameters))


def time(
    grade, length, summary_seconds=4.4, seconds_per_word=0.018, seconds_per_document=7.8, p_click_relevant=0.64,
    p_click_nonrelevant=0.39, rel=1,
):  # fmt: skip
    """T_S + P(C|g)·(a·words + b). Unjudged documents are clicked like those of grade 0 (TBG, Eq. 4)."""
    p_click = p_click_relevant if _is_relevant(grade, rel) else p_click_nonrelevant
    return summary_seconds + p_click * (seconds_per_word * _known(length, "words") + seconds_per_document)


def grade_time(grade, length, summary_seconds, p_click, seconds):
    """T_S + P_click(g)·T_click(g). Unjudged documents and negative grades count as grade 0 (JA, Eq. 6)."""
    g = max(grade or 0, 0)
    return summary_seconds + p_click[g] * seconds[g]


def reading(grade, length, summary_words=0, share=1, p_click_relevant=1, p_click_nonrelevant=1, rel=1):
    """Words of the summary, and the words read of the document if it is clicked (Sakai and Dou, 2013)."""
    p_click = p_click_relevant if _is_relevant(grade, rel) else p_click_nonrelevant
    return summary_words + p_click * share * _known(length, "words")


def plus(grade, length, *efforts):
    """The sum of efforts of one document."""
    return math.fsum(efforts)


def _is_relevant(grade, rel):
    return grade is not None and grade >= rel


def _known(value, name):
    if value is None:
        raise ValueError(f"{name} is needed here")
    return value


EFFORTS = {
    "unit": lambda grade, length: 1,
    "time": time,
    "grade_time": grade_time,
    "by_grade": lambda grade, length, efforts: efforts[max(grade or 0, 0)],
    # JA, section 3.1: 1 for a relevant document, 1/times for another
    "ratio": lambda grade, length, times, rel=1: 1 if _is_relevant(grade, rel) else 1 / times,
    "reading": reading,
    "cost": lambda grade, length, known: _known(known, "cost"),
    "seconds": lambda grade, length, known: _known(known, "cost"),
    "by_rank": lambda grade, length, rank, costs: costs[min(rank, len(costs)) - 1],
    "plus": plus,
}


@dataclass
class Walk:
    """List of n items and the items beyond it; C reads the view `seen`, A the view `felt`, whose gains may differ."""

    seen: loops.View
    felt: loops.View
    last: int | None  # last rank, after which all users have left; None with an open end
    continuation: tuple

    def __post_init__(self):
        self.n, self.r, self.e = self.felt.n, self.felt.gains, self.felt.efforts
        self.G, self.E = math.fsum(self.r), math.fsum(self.e)
        self.unseen, self.beyond = self.felt.unseen, self.felt.beyond  # effort and gain of an unseen item
        self.C = [go_on(self, i) for i in range(1, self.n + 1)]
        self.V = [1.0 if self.last != 0 else 0.0]  # V(1) … V(n+1)
        if self.continuation[0] in LEFT and self.last != 0:
            self.V = [LEFT[self.continuation[0]](self.seen, 1, **self.continuation[1])]
        for c in self.C:
            self.V.append(self.V[-1] * c)  # Eq. 1
        self.remaining = self.V[self.n]  # the share of users who continue beyond the list

    def unseen_effort(self):
        return self.felt.e(self.n + 1)


def _walk(grades, s, unjudged=None):
    """Return the walk over a list; `unjudged`: gain and grade of unjudged and unseen items, if these are not 0."""
    name, parameters = s.C[0], dict(s.C[1])
    rel, whose = parameters.pop("rel", None), parameters.pop("R", "judged")
    judged = [grade for grade in grades if grade is not None] if s.judged is None else s.judged
    grades = list(grades)[: s.k][: s.end if isinstance(s.end, int) else None]
    lengths = s.words[: len(grades)] if s.words is not None else [None] * len(grades)
    unseen = s.unseen
    if unseen is None and s.effort[0] not in ("time", "reading"):
        unseen = effort_of(0, None, s.effort)

    def as_seen(grade):
        return s.gain_of(grade) if rel is None else float(_is_relevant(grade, rel))

    beyond_r, beyond_grade = unjudged or (0.0, 0)
    beyond_x = beyond_r if rel is None else float(beyond_grade >= rel)
    unretrieved = 0.0
    if name in ("ap1", "ap2") and whose == "judged":
        # fsum does not depend on the order of gains, so the difference is exactly 0 if all gain is retrieved
        unretrieved = math.fsum(map(as_seen, judged)) - math.fsum(map(as_seen, grades))
        if unretrieved < 0:
            raise ValueError("judged must include the judged items of the ranking")
    efforts = [effort_of(g, length, s.effort) for g, length in zip(grades, lengths, strict=True)]
    x = [beyond_x if unjudged and g is None else as_seen(g) for g in grades]
    r = [beyond_r if unjudged and g is None else s.gain_of(g) for g in grades]
    return Walk(
        seen=loops.View(x, efforts, unseen, beyond_x, unretrieved),
        felt=loops.View(r, efforts, unseen, beyond_r),
        last={"open": None, "stop": len(grades)}.get(s.end, s.end),
        continuation=(name, parameters),
    )


def go_on(walk, i):
    """Return C(i), which is 0 at the last rank."""
    if walk.last is not None and i >= walk.last:
        return 0.0
    name, parameters = walk.continuation
    c = float(CONTINUATIONS[name](walk.seen, i, **parameters))
    if not -1e-12 <= c <= 1 + 1e-12:
        raise ValueError(f"C({i}) = {c} of {name} is no probability")
    return min(1.0, max(0.0, c))


SHARES = {  # S(t) of the laws of leaving, where V(i) = S(E(i−1))
    "weibull": lambda t, shape, scale: math.exp(-((t / scale) ** shape)),
    "log_logistic": lambda t, shape, scale: 1 / (1 + (t / scale) ** shape),
    "log_normal": lambda t, shape, scale: math.erfc(math.log(t / scale) / shape / math.sqrt(2)) / 2 if t else 1.0,
    "hyperbolic": lambda t, shape, scale: (1 + t / scale) ** -shape,
}


def _ratio(V, view, i, **parameters):
    """V(i+1)/V(i)."""
    here = V(view, i, **parameters)
    return V(view, i + 1, **parameters) / here if here else 0


def economic(view, i, beta, k):
    """w(i+1)/w(i) with w(i) = (i+1)^β − i^β, to depth k (Azzopardi, 2014, as cwl_eval)."""
    return ((i + 2) ** beta - (i + 1) ** beta) / ((i + 1) ** beta - i**beta) if i < k else 0


def carterette2(view, i, k):
    """1 where r_i = 0, else G(i)/(G(i)+1), to depth k (Carterette, 2011)."""
    if i >= k:
        return 0
    return 1 if view.r(i) == 0 else view.G(i) / (view.G(i) + 1)


def product(view, i, first, second):
    """C₁(i)·C₂(i)."""
    return math.prod(CONTINUATIONS[name](view, i, **parameters) for name, parameters in (first, second))


def bpm(view, i, T, K, h_b=0, h_c=0, m=0.5):
    """1 while G(i) < T and E(i) < K, where the limits are moved by every item before i (Zhang et al., 2017)."""
    T, K, h_b, h_c, m = map(_exact, (T, K, h_b, h_c, m))
    moved = _exact(view.G(i - 1)) - m * (i - 1)
    if _exact(view.G(i)) >= T + h_b * moved:
        return 0
    return 1 if _exact(view.E(i)) < K + h_c * moved else 0


def _exact(number):
    """Return the fraction meant by a float: 1/3, and 6.3 for the sum of 21 times 0.3."""
    return Fraction(number).limit_denominator(10**7)


def ift_goal(view, i, T, b1=0.9, R1=10):
    """1 − 1/(1 + b₁·exp((T − G(i))·R₁))."""
    return 1 / (1 + math.exp((view.G(i) - T) * R1) / b1)


def ift_rate(view, i, A, b2=0.9, R2=10):
    """1/(1 + b₂·exp((A − G(i)/E(i))·R₂))."""
    G, E = view.G(i), view.E(i)
    return 1 / (1 + b2 * math.exp((A - (G / E if E else 0.0)) * R2))


def budget_left(view, i, T, partial=False):
    """1 if E(i) ≤ T, else 0, or with partial the share (T − E(i−1))/e_i of item i that fits."""
    T, before, whole = map(_exact, (T, view.E(i - 1), view.E(i)))
    if whole <= T:
        return 1.0
    return float((T - before) / (whole - before)) if partial and before < T else 0.0


LEFT = {  # V of continuations that define it; patience: Sakai and Dou (2013)
    "patience": lambda view, i, T: max(0.0, 1 - view.E(i) / T),
    "budget": budget_left,
}
CONTINUATIONS = {
    **{f.__name__: f for f in (loops.prec, loops.rbp, loops.dcg, loops.ap1, loops.ap2, loops.rr, loops.cascade)},
    **{f.__name__: f for f in (loops.inst, loops.insq, loops.decay)},
    "carterette1": lambda view, i, k: i / (i + 1) if i < k else 0,  # to depth k (Carterette, 2011)
    "carterette2": carterette2,
    "carterette3": lambda view, i, theta: 1 - theta if view.r(i) > 0 else 1,  # Carterette (2011), Model 3
    "product": product,
    "bpm": bpm,
    "ift_goal": ift_goal,
    "ift_rate": ift_rate,
    "patience": lambda view, i, T: _ratio(LEFT["patience"], view, i, T=T),
    "budget": lambda view, i, T, partial=False: _ratio(budget_left, view, i, T=T, partial=partial),
    "fixed": lambda view, i, values: values[i - 1] if i <= len(values) else 0,
    "economic": economic,
    **{law: partial(_ratio, lambda view, i, S=S, **given: S(view.E(i - 1), **given)) for law, S in SHARES.items()},
}


def utility(view, i, phi):
    """Σ_{j≤i} r_j·φ(j)."""
    weight = {"reciprocal": lambda j: 1 / j, "log2": lambda j: 1 / math.log2(j + 1)}.get(phi, phi)
    return math.fsum(view.r(j) * weight(j) for j in range(1, i + 1))


def smeared(view, i, half_life=224):
    """Σ_{j≤i} r_j·mean of D over the reading of j (TBG, Eq. 2)."""
    return math.fsum(view.r(j) * while_reading(view.e(j), half_life) for j in range(1, i + 1))


def while_reading(e, half_life=224):
    """(1/e)·∫_0^e 2^(−t/h) dt."""
    return (1 - 2 ** (-e / half_life)) * half_life / (e * math.log(2)) if e else 1.0


AGGREGATIONS = {
    **{f.__name__: f for f in (loops.etg, loops.erg, loops.err, loops.avg, loops.fin, loops.fgt, loops.pe)},
    "max": loops.best,
    "per_item": lambda view, i: view.G(i) / i,
    "items": lambda view, i: float(i),
    "effort": lambda view, i: view.E(i),
    "utility": utility,
    "smeared": smeared,
}


def _leaving(walk):
    """L(i) = V(i)(1 − C(i)), Eq. 5."""
    return [v * (1 - c) for v, c in zip(walk.V, walk.C)]


def _value(walk, A):
    """Return Σ L(i)·A(i), Eq. 15, over the list and beyond it. Users who never leave contribute 0.

    A is not evaluated at ranks where no user leaves.
    """
    name, parameters = A
    tail = _tail(walk)
    steady = ("max", "fin", "pe") if walk.beyond else ("max", "fin", "pe", "etg", "utility", "smeared")
    if tail is not None and tail.free and name not in steady:
        raise ValueError(f"{name} depends on the effort of unseen items, which is 0")
    if name in ("items", "effort"):
        _refuse_endless_means(walk, name)
    if name == "erg":
        value = per(_value(walk, ("etg", {})), _paid(walk)) if _erg_is_defined(walk) else 0.0
    else:
        value = math.fsum(left * felt for left, felt in zip(_leaving(walk), _felt(walk, A)) if left)
        value += _value_beyond(walk, name, **parameters)
    if math.isinf(value):
        raise ValueError("some leave with gain that has cost nothing: gain per effort is undefined")
    return value


def _felt(walk, A):
    """A(1) … A(n)."""
    name, parameters = A
    if name == "erg":
        if not any(walk.r) or not _erg_is_defined(walk):
            return [0.0] * walk.n
        walk.felt.expected_effort = _paid(walk)
    return [AGGREGATIONS[name](walk.felt, i, **parameters) for i in range(1, walk.n + 1)]


def _erg_is_defined(walk):
    """Return False if V⁺ is infinite because some users never leave, or if no gain is seen. erg is 0 then."""
    _refuse_endless_means(walk, "erg")
    tail = _tail(walk)
    return (tail is None or tail.leave) and (any(walk.r) or (tail is not None and walk.beyond != 0))


def _refuse_endless_means(walk, name):
    tail = _tail(walk)
    if tail is not None and tail.leave and tail.endless:
        raise ValueError(f"V⁺ of {walk.continuation[0]} is infinite, {name} is undefined: give it a k, or end='stop'")


def _views(walk):
    """Σ V(i)."""
    return math.fsum(walk.V[: walk.n]) + _views_beyond(walk)


def _paid(walk):
    """Σ V(j)·e_j."""
    further = _views_beyond(walk)
    return math.fsum(v * e for v, e in zip(walk.V, walk.e)) + (walk.unseen_effort() * further if further else 0.0)


def _views_beyond(walk):
    """Σ_{i>n} V(i)."""
    tail = _tail(walk)
    return (0.0 if tail is None else walk.remaining * tail.views()) + _items_at_infinity(walk)


def _items_at_infinity(walk):
    """Return the items that ap1's users see before unretrieved gain. An item at rank j→∞ has L(j)·j = r_j/S."""
    S = walk.seen.later_by_rank(0)
    return walk.seen.unretrieved / S if walk.continuation[0] == "ap1" and walk.last is None and S else 0.0


def _value_beyond(walk, name, **parameters):
    """Σ_{i>n} L(i)·A(i)."""
    further, tail = _items_at_infinity(walk), _tail(walk)
    if further and name in ("items", "effort"):
        return further if name == "items" else walk.unseen_effort() * further
    return walk.remaining * BEYOND[name](walk, tail, **parameters) if tail is not None and tail.leave else 0.0


def avg_beyond(walk, tail):
    """Σ l(m)·(G_n + m·b)/(E_n + m·u) = b/u + (G_n − E_n·b/u)·Σ l(m)/(E_n + m·u)."""
    G, b, E = walk.G, walk.beyond, walk.E
    if G == 0 and b == 0:
        return 0.0
    u = walk.unseen_effort()
    if u == 0:
        return per(gain_beyond(walk, tail, G, b), E)
    return b / u + (G - E * b / u) * tail.inverse(E, u)


def fgt_beyond(walk, tail, delta):
    """F(n+m) = δ^m·F_n + b·(1 − δ^m)/(1 − δ)."""
    if delta == 1:
        return gain_beyond(walk, tail, walk.G, walk.beyond)
    F = loops.fgt(walk.felt, walk.n, delta) if walk.n else 0.0
    limit = walk.beyond / (1 - delta)
    return limit + ((F - limit) * tail.fading(delta) if delta and F != limit else 0.0)


def utility_beyond(walk, tail, phi):
    """Return the utility on the list, plus that of unseen items up to the last rank if they have gain."""
    if not walk.beyond:
        return utility(walk.felt, walk.n, phi)
    if tail.each is None:
        raise ValueError("no closed form for the utility of endless best items")
    return tail.each(lambda m: utility(walk.felt, walk.n + m, phi))


def smeared_beyond(walk, tail, half_life=224):
    """As etg, for the credited gains."""
    b = walk.beyond and walk.beyond * while_reading(walk.unseen_effort(), half_life)
    return gain_beyond(walk, tail, smeared(walk.felt, walk.n, half_life), b)


def gain_beyond(walk, tail, found, b):
    """G_n + b·Σ m·l(m), and Σ m·l(m) = Σ v(m)."""
    if b and tail.endless:
        raise ValueError(f"the gain of endless best items under {walk.continuation[0]} is infinite")
    return found + (b * tail.views() if b else 0.0)


def per_item_beyond(walk, tail):
    """Σ l(m)·(G_n + m·b)/(n + m) = b + (G_n − n·b)·Σ l(m)/(n + m)."""
    G, b = walk.G, walk.beyond
    return b + (G - walk.n * b) * tail.inverse(walk.n, 1) if G or b else 0.0


BEYOND = {  # Σ l(m)·A(n+m), where Σ l(m) = 1
    "etg": lambda walk, tail: gain_beyond(walk, tail, walk.G, walk.beyond),
    "err": lambda walk, tail: tail.inverse(walk.E, walk.unseen_effort()),
    "avg": avg_beyond,
    "per_item": per_item_beyond,
    "max": lambda walk, tail: max([*walk.r, walk.beyond]),
    "fin": lambda walk, tail: walk.beyond,
    "fgt": fgt_beyond,
    "pe": lambda walk, tail, beta: beta * max([*walk.r, walk.beyond]) + (1 - beta) * walk.beyond,
    "items": lambda walk, tail: walk.n + tail.views(),
    "effort": lambda walk, tail: walk.E + walk.unseen_effort() * tail.views(),
    "utility": utility_beyond,
    "smeared": smeared_beyond,
}


@dataclass
class Tail:
    """Sums over m ≥ 1 beyond the list, as functions, because the effort of unseen items under decay may be unknown."""

    views: Callable  # Σ v(m)
    fading: Callable  # Σ l(m)·δ^m
    inverse: Callable  # Σ l(m)/(E + m·u)
    each: Callable = None  # Σ l(m)·f(m), if the tail is finite
    leave: bool = True  # False: C = 1 at all ranks
    endless: bool = False  # V converges to 0 but Σ v(m) is infinite
    free: bool = False  # users leave after infinitely many items without effort


def _tail(walk):
    """Return the sums beyond the list, or None if no users continue beyond it."""
    if walk.remaining == 0:
        return None
    (name, parameters), n, b = walk.continuation, walk.n, walk.seen.beyond
    ends = name in ("prec", "carterette1", "carterette2", "fixed", "ift_goal", "ift_rate") or parameters.get("k")
    if walk.last is None and name == "ift_goal" and b <= 0 and go_on(walk, n + 1) == 1:
        return NEVER  # so far below the goal that C is 1 in floating point
    if walk.last is not None or ends:
        return finite_tail(walk)
    if name in ("ap1", "ap2"):
        return NEVER
    if name == "product":
        parts = dict(parameters.values())
        if "decay" in parts and walk.unseen == 0 and go_on(walk, n + 1) == 1:
            return FREE
        if parts.keys() <= {"rr", "carterette3"} and b == 0:
            return NEVER
        if parts.keys() == {"rr", "insq"} and b == 0:
            return square_tail(n + 2 * parts["insq"]["T"])
        if parts.keys() == {"carterette3", "inst"} and b == 0:
            return square_tail(n + 2 * parts["inst"]["T"] - walk.seen.G(n))
        return finite_tail(walk)
    if name == "bpm":
        return finite_tail(walk) if _player_stops(walk, **parameters) else NEVER
    if walk.unseen == 0 and (name in LEFT or name in SHARES or name == "decay"):
        return FREE
    if name in LEFT or name == "log_normal":
        return finite_tail(walk)
    if name in SHARES:
        return law_tail(walk, name, parameters)
    if name == "dcg":
        return logarithmic_tail(n)
    if name == "insq":
        return square_tail(n + 2 * parameters["T"])
    if name == "inst":
        y = n + 2 * parameters["T"] - walk.seen.G(n)
        if b > 1:
            raise ValueError("inst with an endless supply of gains above 1 is undefined")
        if b < 1:
            return gamma_tail(y, 1 - b) if b else square_tail(y)
    if name != "decay" and go_on(walk, n + 1) == 1:
        return NEVER
    return geometric_tail(lambda: go_on(walk, n + 1))


def _player_stops(walk, T, K, h_b=0, h_c=0, m=0.5):
    """Return whether a limit comes nearer with every unseen item, or is reached at the first one."""
    if walk.unseen is None or go_on(walk, walk.n + 1) == 0:
        return True
    b = walk.beyond
    return h_b * (b - m) < b or h_c * (b - m) < walk.unseen


NEVER = Tail(views=lambda: math.inf, fading=None, inverse=None, leave=False)
FREE = Tail(views=lambda: math.inf, fading=None, inverse=None, endless=True, free=True)


def finite_tail(walk):
    """Rank by rank until all users have left, or the share of those beyond the list is below 1e-25."""

    def seen():
        v = [1.0]
        while v[-1] > 1e-25 and (c := go_on(walk, walk.n + len(v))):
            v.append(v[-1] * c)
        return v

    def each(f):
        v = [*seen(), 0.0]
        return math.fsum((v[m - 1] - v[m]) * f(m) for m in range(1, len(v)) if v[m - 1] > v[m])  # f may be infinite

    return Tail(
        views=lambda: math.fsum(seen()),
        fading=lambda delta: each(lambda m: delta**m),
        inverse=lambda E, u: each(lambda m: per(1.0, E + m * u)),
        each=each,
    )


def geometric_tail(constant):
    """v(m) = c^(m−1)."""

    def inverse(E, u):
        c = constant()
        if u == 0 or c == 0:
            return per(1.0, E + u)
        rate = -math.log(c)
        return _sum_fading(lambda t: (1 - c) * math.exp(-rate * (t - 1)) / (E + t * u), rate)

    return Tail(
        views=lambda: 1 / (1 - constant()),
        fading=lambda delta: delta * (1 - constant()) / (1 - constant() * delta),
        inverse=inverse,
    )


def law_tail(walk, name, parameters):
    """v(m) = S(E(n) + (m−1)·u)/S(E(n)), u the effort of an unseen item."""
    spent = walk.seen.E(walk.n)
    here = SHARES[name](spent, **parameters)

    def v(t):
        return SHARES[name](spent + (t - 1) * walk.unseen_effort(), **parameters) / here

    endless = name in ("log_logistic", "hyperbolic") and parameters["shape"] <= 1
    return _smooth_tail(None if endless else v, lambda t: v(t) - v(t + 1))


def square_tail(y):
    """v(m) = (y/(y+m−1))²: insq with y = n + 2T, inst with y = n + 2T − G_n."""

    def v(t):
        return (y / (y + t - 1)) ** 2

    def left(t):
        return y**2 * (2 * (y + t) - 1) / ((y + t - 1) * (y + t)) ** 2

    return _smooth_tail(v, left)


def logarithmic_tail(n):
    """v(m) = log(n+2)/log(n+m+1): dcg without a k."""

    def left(t):
        p = n + t + 1
        return math.log(n + 2) * math.log1p(1 / p) / (math.log(p) * math.log(p + 1))

    return _smooth_tail(None, left)


def gamma_tail(y, d):
    """v(m+1)/v(m) = ((y + m·d − 1)/(y + m·d))²: inst where each unseen item has gain 1 − d."""
    z, a, start = y / d, 1 / d, 30
    steps = [1.0]
    for m in range(1, start):
        steps.append(steps[-1] * ((z + m - a) / (z + m)) ** 2)

    def v(t):
        if t < start:
            return steps[int(t) - 1]
        return steps[-1] * math.exp(2 * (_log_gammaratio(z + t, a) - _log_gammaratio(z + start, a)))

    def left(t):
        w = a / (z + t)
        return v(t) * w * (2 - w)

    return _smooth_tail(v, left)


def _smooth_tail(v, left):
    def fading(delta):
        rate = -math.log(delta)
        return _sum_fading(lambda t: left(t) * math.exp(-rate * t), rate)

    def inverse(E, u):
        return sum_all(lambda t: left(t) / (E + t * u)) if u else per(1.0, E)

    return Tail(
        views=(lambda: sum_all(v)) if v else (lambda: math.inf), fading=fading, inverse=inverse, endless=v is None
    )


def _sum_fading(f, rate):
    """Return Σ_{m≥1} f(m) for f with a factor e^(−rate·m), explicitly for up to about 4,000 terms."""
    if rate < 0.01:
        return sum_all(f, rate)
    return math.fsum(f(m) for m in range(1, 2 + math.ceil(42 / rate)))  # e^(−42) < 1e-18


def sum_all(f, rate=0.0):
    """Return Σ_{m≥1} f(m) for f > 0, smooth and decreasing like m^(−1−a) or e^(−rate·m).

    Euler-Maclaurin: Σ_{m≥100} f(m) = ∫_100^∞ f + f(100)/2 − f'(100)/12 + f‴(100)/720. The integral is Gauss-Legendre
    over doubling blocks, the derivatives are differences of f(98) to f(102).
    """
    known = [f(m) for m in range(1, 103)]
    two_before, before, here, after, two_after = known[97:]
    slope, third = (8 * (after - before) - (two_after - two_before)) / 12, (two_after - two_before) / 2 - after + before
    parts = [*known[:99], here / 2, -slope / 12, third / 720]
    a, block, total = 100.0, math.inf, math.fsum(parts)
    while block > 1e-19 * total:
        b = min(2 * a, a + 4 / rate) if rate else 2 * a
        block = (b - a) / 2 * math.fsum(w * f((a + b) / 2 + (b - a) / 2 * x) for x, w in GAUSS)
        parts.append(block)
        total += block
        a = b
    return math.fsum(parts)


GAUSS = [*zip(*map(list, leggauss(16)), strict=True)]


def _log_gammaratio(x, a):
    """Return log Γ(x − a) − log Γ(x) by Stirling's formula, for x − a from 20 on."""

    def rest(x):
        return 1 / (12 * x) - 1 / (360 * x**3) + 1 / (1260 * x**5) - 1 / (1680 * x**7)

    return (x - a - 0.5) * math.log1p(-a / x) - a * math.log(x) + a + rest(x - a) - rest(x)


def trec_order(rows):
    """Return the docnos of (docno, score) rows in trec_eval's order: score as float32, then docno, both descending."""
    return [docno for docno, _ in sorted(rows, key=lambda row: (float32(row[1]), row[0]), reverse=True)]


def float32(x):
    """Return the nearest float32, or infinity beyond its range."""
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def ap(rels, R):
    """Return (1/R) Σ rel_i·Prec@i."""
    total, hits = 0.0, 0
    for i, rel in enumerate(rels, start=1):
        if rel:
            hits += 1
            total += hits / i
    return total / R if R else 0.0


def q_measure(grades, judged, beta=1, gain=lambda grade: grade, rel=1, k=None, normalise="min(k,R)"):
    """Return Sakai's Q-measure of a list of grades (None: unjudged); ``judged`` contains all judged grades."""
    R = sum(grade >= rel for grade in judged)
    most = min(k, R) if k and normalise == "min(k,R)" else R
    ideal = sorted((gain(grade) if grade > 0 else 0 for grade in judged), reverse=True)
    total = found = cg = best = 0
    for i, grade in enumerate(grades[:k], 1):
        best += ideal[i - 1] if i <= len(ideal) else 0
        if grade is None or grade <= 0:
            continue
        cg += gain(grade)
        if grade >= rel:
            found += 1
            total += (found + beta * cg) / (i + beta * best)
    return total / most if R else 0.0


def overlap_of_ranks(one, other, p, depth):
    """Σ_d p^(d−1)·X_d/d / Σ_d p^(d−1) over the depths 1 to D, X_d the size of the intersection of both prefixes."""
    total, weights, X, here, there = 0.0, 0.0, 0, set(), set()
    for d in range(1, depth + 1):
        here.update(one[d - 1 : d])
        there.update(other[d - 1 : d])
        X += sum(document in here and document in there for document in {*one[d - 1 : d], *other[d - 1 : d]})
        total += p ** (d - 1) * X / d
        weights += p ** (d - 1)
    return total / weights if weights else 0.0


def rank_biased_overlap(one, other, p):
    """RBO_EXT, RBO_MIN and RBO_RES of Webber et al. (2010), Eq. 32, and bounds by lists that are continued."""
    S, L = sorted((one, other), key=len)
    s, l = len(S), len(L)
    X = [len(set(S[:d]) & set(L[:d])) for d in range(l + 1)]
    first = sum(X[d] / d * p**d for d in range(1, l + 1))
    second = sum(X[s] * (d - s) / (s * d) * p**d for d in range(s + 1, l + 1))
    extrapolated = (1 - p) / p * (first + second) + ((X[l] - X[s]) / l + X[s] / s) * p**l

    far = max(int(math.log(1e-15) / math.log(p)), 2 * l)  # later depths have no weight
    apart = overlap_of_ranks([*S, *range(far)], [*L, *range(far, 2 * far)], p, far)
    likest = ([*one, *(d for d in other if d not in one), *range(far)] for one, other in ((S, L), (L, S)))
    return extrapolated, apart, overlap_of_ranks(*likest, p, far) - apart


def compatibility(run, judged, p=0.95, normalize=True, depth=1):
    """Clarke et al. (2021) as ir_measures: an ideal order by grade, score in the run (0 by default), and row.

    The sums end at the longer list, or at ``depth`` if that is greater.
    """
    ranking = sorted(sorted(run), key=lambda document: -run[document])
    rows = list(judged)
    ideal = sorted(
        (document for document in judged if judged[document] > 0),
        key=lambda document: (-judged[document], -run.get(document, 0.0), rows.index(document)),
    )
    depth = max(len(ranking), len(ideal), depth)
    found = overlap_of_ranks(ranking, ideal, p, depth)
    best = overlap_of_ranks(ideal, ideal, p, depth) if normalize else 1
    return found / best if ideal else 0.0


def search_length(levels, wanted, failed):
    """Return Cooper's expected search length: the mean over all orders of the documents within each level.

    Levels are lists of booleans, the best first: is the document relevant? ``failed`` is the value of a search that
    finds fewer relevant documents than wanted, or the number of non-relevant ones if that is higher.
    """
    total = 0
    orders = [[*itertools.chain(*order)] for order in itertools.product(*map(itertools.permutations, levels))]
    for order in orders:
        found = [*itertools.accumulate(order, initial=0)]  # relevant documents before each rank, and at the end
        total += found.index(wanted) - wanted if wanted in found else max(order.count(False), failed)
    return total / len(orders)


def ndcg(gains, ideal, k=None):
    """Return Σ gain_i/log₂(i+1) to rank k, divided by the same sum over the sorted ideal gains."""
    users = {"C": ("dcg", {"k": k}), "A": ("etg", {})}
    return score(gains, **users, gain=("raw", {}), norm="ideal", judged=ideal)


def err_gdeval(grades, k, max_grade=4):
    """Return ERR@k as defined in gdeval.pl: R_i = (2^g − 1)/2^4, Σ (R_i/i)·Π_{j<i}(1 − R_j)."""
    users = {"C": ("rr", {}), "A": ("err", {})}
    return score(grades, **users, gain=("exponential", {}), max_rel=max_grade, k=k)

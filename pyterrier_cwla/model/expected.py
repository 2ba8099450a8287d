"""Expected scores over labels with probabilities: exact where a score is a sum of products, and sampled otherwise."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..data.columns import Array, Floats, distinct
from ..data.lengths import Costs, Lengths, NumberTable
from ..data.rankings import Pool, Rankings, places_within, summed
from ..files.arrow_arrays import to_numpy
from ..files.id_columns import taken
from .aggregations import etg
from .browsing import Walk
from .document_values import words_of_hits
from .efforts import given
from .gains import GIVEN, raw
from .introspection import SUMS, check_probabilities, on_ranks, reads
from .language import Spec
from .metric import Metric
from .scoring import normalised, raw_score, score, values_of_views
from .view import Documents, View
from .view_columns import Seen, chunks_of_equal_width, ranks_that_matter, roomy, seen_part, view_of_ranks

_GAINS = {"r", "grade", "best"} | SUMS  # attributes of a view that depend on labels
_EFFORTS = {"e", "E", "E_before", "expected_effort", "credited"}
_OF_ITEMS = {"i", "r", "grade", "e", "at_least"}  # attributes of a view that belong to one item
_CELLS = 1 << 20  # sampled labels at a time


@dataclass(frozen=True)
class Labels:
    """Possible grades of the hits of rankings, with their probabilities.

    Attributes
    ----------
    grade, p : ndarray
        Grades and probabilities, which broadcast to [grades × hits].
    """

    grade: Array
    p: Floats

    def mean(self, worth: Floats | float) -> Floats:
        """Return the expected value for each hit, from its value for each possible grade."""
        mean: Floats = (self.p * worth).sum(axis=0)
        return mean


def labelled(metric: Metric, rankings: Rankings, prior: Floats | None) -> tuple[Rankings, Labels]:
    """Return the part of rankings that a metric scores, and the labels of its hits.

    Parameters
    ----------
    metric : Metric
        The metric.
    rankings : Rankings
        Aligned rankings with all judged documents.
    prior : ndarray, optional
        Probabilities of the grades 0, 1, … of unjudged documents, which then are hits as well.
    """
    rankings = seen_part(metric, rankings)
    chances = rankings.pool.chances
    if chances is None:
        labels = Labels(rankings.grade[None, :], np.ones((1, len(rankings.grade))))
    else:
        assert rankings.judgment is not None
        p = chances.take(rankings.judgment, axis=0)
        possible = np.flatnonzero(p.sum(axis=0))  # gains and efforts need no values for other grades
        labels = Labels(possible[:, None], (p if len(possible) == p.shape[1] else p[:, possible]).T)
    return (rankings, labels) if prior is None or metric.judged_only else _filled(rankings, labels, prior)


def _filled(rankings: Rankings, labels: Labels, prior: Floats) -> tuple[Rankings, Labels]:
    """Return rankings in which all items are hits, those without a judgment with the prior labels."""
    first = np.cumsum(rankings.n) - rankings.n
    judged = first[rankings.query] + rankings.rank - 1
    query, rank = np.repeat(np.arange(len(rankings)), rankings.n), places_within(rankings.n) + 1
    known, possible = len(labels.grade), np.flatnonzero(prior)
    grade, p = np.zeros((2, known + len(possible), len(query)))
    grade[known:], p[known:] = possible[:, None], prior[possible, None]
    grade[:known, judged], p[:known, judged], p[known:, judged] = labels.grade, labels.p, 0.0
    judgment = np.full(len(query), -1)
    if rankings.judgment is not None:
        judgment[judged] = rankings.judgment
    filled = replace(
        rankings,
        query=query,
        rank=rank,
        grade=grade.max(axis=0, initial=0),
        start=np.append(0, np.cumsum(rankings.n)),
        judgment=judgment,
        views={},
    )
    return filled, Labels(grade, p)


def is_exact(metric: Metric) -> bool:
    """Return whether the expected score has an exact form."""
    forms = (is_linear, leaves_by_gain, is_of_the_best, is_a_product)
    return metric.norm in ("none", "unlimited") and any(form(metric) for form in forms)


def expected_score(metric: Metric, rankings: Rankings, prior: Floats | None = None) -> Floats:
    """Return the exact expected score of each query over independent labels.

    Parameters
    ----------
    metric : Metric
        A metric for which :func:`is_exact` is true.
    rankings : Rankings
        Aligned rankings with all judged documents.
    prior : ndarray, optional
        Probabilities of the grades 0, 1, … of unjudged documents; by default their grade is 0.

    Returns
    -------
    ndarray, shape (n_queries,)
        Expected scores.
    """
    metric = metric.fresh
    seen, labels = labelled(metric, rankings, prior)
    means = _of_means(metric, seen, labels)
    if means is not None:
        raw_scores = raw_score(*means)
    elif is_of_the_best(metric):
        plain, of_means = _of_mean_gains(metric, seen, labels)
        view_of = _views_of_the_best(metric, seen, labels)
        raw_scores = values_of_views(plain, of_means, ("score",), ranks_that_matter(plain, of_means), view_of)[:, 0]
    else:
        raw_scores = _Factors(metric, seen, labels).score()
    return normalised(metric, raw_scores, seen)


def expected_walk(metric: Metric, rankings: Rankings, labels: Labels, queries: Array, width: int) -> Walk:
    """Return the users of some rankings from :func:`labelled` with expected values: C, V, L, gains and score."""
    means = _of_means(metric, rankings, labels)
    if means is not None:
        return Walk(means[0], *view_of_ranks(*means, queries, width))
    if is_of_the_best(metric):
        plain, of_means = _of_mean_gains(metric, rankings, labels)
        return Walk(plain, *_views_of_the_best(metric, rankings, labels)(plain, of_means, queries, width))
    return _Factors(metric, rankings, labels).walk(queries, width)


def _reads_labels(spec: Spec) -> bool:
    return bool(reads(spec) & _GAINS)


def _efforts_vary(metric: Metric) -> bool:
    """Return whether C or A depends on labels through efforts."""
    return metric.effort_depends_on("grade") and bool((reads(metric.C) | reads(metric.A)) & _EFFORTS)


# ---- scores that are linear in each gain: those of expected gains


def is_linear(metric: Metric) -> bool:
    """Efforts and C do not depend on labels, and A is linear in the gains or does not depend on labels either."""
    if _efforts_vary(metric) or _reads_labels(metric.C) or "total" in reads(metric.A):
        return False
    return bool(metric.A.fact("linear_in_gain")) or not _reads_labels(metric.A)


def leaves_by_gain(metric: Metric) -> bool:
    """C is γ(1 − r), and neither efforts nor A depend on labels: L(i) is a product of factors of single items."""
    free = not (_efforts_vary(metric) or reads(metric.A) & (_GAINS | {"expected_effort"}))
    return bool(free and metric.C.fact("satisfied_by_gain"))


def _of_means(metric: Metric, rankings: Rankings, labels: Labels) -> tuple[Metric, Rankings] | None:
    """Return a metric and rankings with expected gains whose scores are expected scores, or None if there are none."""
    if is_linear(metric):
        return _of_mean_gains(metric, rankings, labels)
    if not leaves_by_gain(metric):
        return None
    rel = dict(metric.C.values).get("rel")
    satisfied = metric.gains(labels.grade) if rel is None else (labels.grade >= rel).astype(float)
    check_probabilities(metric.C, np.zeros(0), satisfied * (labels.p > 0))
    C = replace(metric.C, values=tuple((name, None if name == "rel" else value) for name, value in metric.C.values))
    return _with_gains(replace(metric, gain=raw(), C=C), rankings, labels, satisfied)


def _of_mean_gains(metric: Metric, rankings: Rankings, labels: Labels) -> tuple[Metric, Rankings]:
    plain = replace(metric, gain=GIVEN if metric.signed else raw())
    return _with_gains(plain, rankings, labels, metric.gains(labels.grade))


def _with_gains(metric: Metric, rankings: Rankings, labels: Labels, gains: Floats) -> tuple[Metric, Rankings]:
    """Return a metric and rankings in which the hits have the means of some gains and of efforts."""
    plain = replace(metric, max_rel=None, norm="none", judged_only=False)
    efforts = None
    if metric.effort_depends_on("grade"):
        plain = replace(plain, effort=given(), unseen=metric.unseen_effort)
        efforts = _mean_efforts(metric, rankings, labels)
    return plain, replace(rankings, grade=labels.mean(gains), efforts=efforts, views={})


def _mean_efforts(metric: Metric, rankings: Rankings, labels: Labels) -> Callable[[Array, int], Array]:
    items = replace(rankings, grade=np.zeros_like(rankings.grade), views={})
    e_of_hits = labels.mean(_costs(metric, rankings, np.broadcast_to(labels.grade, labels.p.shape)))

    def efforts(queries: Array, width: int) -> Array:
        e = np.array(np.broadcast_to(view_of_ranks(metric, items, queries, width)[0].e, (len(queries), width)))
        at, row, _ = rankings.hits_of(queries)
        seen = rankings.rank[at] <= width
        e[row[seen], rankings.rank[at[seen]] - 1] = e_of_hits[at[seen]]
        return e

    return efforts


# ---- the highest gain: a product of distribution functions


def is_of_the_best(metric: Metric) -> bool:
    """Efforts and C do not depend on labels, and A is a weighted sum of the highest and the last gain, of 0 or more."""
    independent = not metric.signed and not (_efforts_vary(metric) or _reads_labels(metric.C))
    return independent and metric.A.built_in and reads(metric.A) <= {"best", "r"}


def _views_of_the_best(
    metric: Metric, rankings: Rankings, labels: Labels
) -> Callable[[Metric, Rankings, Array, int], Seen]:
    """Return a function as :func:`view_of_ranks` of views with E[max] = Σ_t (t − t′)·(1 − Π_{j≤i} P(r_j < t)).

    t runs over the gains that occur, and t′ is the next lower one, or 0.
    """
    gains = metric.gains(labels.grade)
    levels = distinct(gains[gains > 0])
    of_levels = [labels.mean(gains >= t) for t in levels]

    def view_of(plain: Metric, of_means: Rankings, queries: Array, width: int) -> Seen:
        view, leaves = view_of_ranks(plain, of_means, queries, width)
        best = np.zeros(view.r.shape)
        for step, of_level in zip(np.diff(levels, prepend=0.0), of_levels, strict=True):
            reaching = replace(of_means, grade=of_level, views={})
            best += step * (1 - np.cumprod(1 - view_of_ranks(plain, reaching, queries, width)[0].r, axis=-1))
        view.best = best
        return view, leaves

    return view_of


# ---- C and A of single items: products of expected factors


def is_a_product(metric: Metric) -> bool:
    """C is a product of factors of single items, all users leave, and A is a sum of terms of single items."""
    C, A = metric.C, metric.A
    terms = A.fact("credit_terms") and A.fact("linear_in_gain") and "expected_effort" not in reads(A)
    return bool(terms and reads(C) <= _OF_ITEMS and not C.fact("gives_survival") and _all_leave(metric))


def _all_leave(metric: Metric) -> bool:
    C = metric.C
    if metric.end != "open" or any(C.fact(fact) for fact in ("eventually_leaves", "vanishes", "last_rank")):
        return True
    one = np.ones((1, 1))
    unseen = View(one, 0 * one, 0 * one, _no_totals).beyond([[1.0]])
    return bool(C.fact("constant_beyond_list") and (on_ranks(C, unseen) < 1).all())


def _no_totals(rel: float | None) -> Floats:
    return np.zeros((1, 1))


class _Factors:
    """Expected factors E[C(i)] and terms E[w_i] of the hits, where A is the sum of φ(j)·w_j over the items seen."""

    def __init__(self, metric: Metric, rankings: Rankings, labels: Labels) -> None:
        self.metric, self.rankings = metric, rankings
        self.items = replace(rankings, grade=np.zeros_like(rankings.grade), views={})  # without gain
        rank, grade = rankings.rank[None, :].astype(float), np.broadcast_to(labels.grade, labels.p.shape)
        e: Floats | float = 1.0 if metric.unit_effort else _costs(metric, rankings, grade)
        if metric.idle_duplicates is not None:
            copies = rankings.repeats(metric.idle_duplicates)[rankings.place_of_hits]
            grade = np.where(copies, -1 if metric.signed else 0, grade)
        r = metric.gains(grade)
        C = on_ranks(metric.C, View(rank, r, grade, _no_totals, e))
        check_probabilities(metric.C, C, r * (labels.p > 0))
        self.phi, worth = metric.A.fact("credit_terms")(rank, r, e, C)
        self.C, self.e, self.worth = labels.mean(C), labels.mean(e), labels.mean(worth)

    def score(self) -> Floats:
        """Return Σ φ(i)·E[w_i]·Π_{j<i} E[C(j)] of each query."""
        last, reached = self.rankings.last_hit, np.zeros(len(self.worth))
        for queries, width in chunks_of_equal_width(self.metric, self.rankings, roomy(last), last > 0):
            at, cells, _, C = self._at_ranks(replace(self.metric, end="stop"), queries, width)
            V = np.cumprod(np.hstack([np.ones((len(queries), 1)), C[:, :-1]]), axis=1)
            reached[at] = V[cells]
        return summed(self.rankings.query, np.ravel(self.phi) * self.worth * reached, len(self.rankings))

    def _at_ranks(self, metric: Metric, queries: Array, width: int) -> tuple[Array, tuple[Array, Array], Seen, Floats]:
        """Return the hits of some queries, their cells, what is seen without their gains, and E[C] at all ranks.

        The efforts of unseen items are needed for E[C] after the list alone, and not with ``end="stop"``.
        """
        seen = view_of_ranks(replace(metric, A=etg()), self.items, queries, width)
        C = np.array(np.broadcast_to(on_ranks(self.metric.C, seen[0]), seen[0].r.shape))
        at, row, _ = self.rankings.hits_of(queries)
        cells = row, self.rankings.rank[at] - 1
        C[cells] = self.C[at]
        return at, cells, seen, C

    def walk(self, queries: Array, width: int) -> Walk:
        """Return the users with expected values."""
        at, cells, (items, leaves), C = self._at_ranks(self.metric, queries, width)
        r, e = np.zeros(items.r.shape), np.array(np.broadcast_to(items.e, items.r.shape))
        r[cells], e[cells] = self.worth[at], self.e[at]
        view = View(items.i, r, r, _no_totals, None if self.metric.unit_effort else e, self.metric.unseen_effort)
        A = self.metric.A if np.ndim(self.phi) else etg()  # the terms of smeared are credited gains
        return Walk(replace(self.metric, A=A), view, leaves, C)


def _costs(metric: Metric, rankings: Rankings, grade: Array) -> Floats:
    """Return the efforts of the hits of rankings for each of their possible grades."""

    def known(quantity: type[NumberTable]) -> Callable[[], Array]:
        return lambda: np.broadcast_to(words_of_hits(metric, rankings, quantity), grade.shape)

    rank = np.broadcast_to(rankings.rank.astype(float), grade.shape)
    e = metric.efforts(Documents(np.maximum(grade, 0), known(Lengths), known(Costs), rank))
    metric.refuse_odd_efforts(e)
    return e


# ---- samples


def sampled_scores(
    metric: Metric,
    rankings: Rankings,
    qids: Sequence[str],
    samples: int,
    seed: int,
    prior: Floats | None = None,
) -> Iterator[tuple[Array, Floats]]:
    """Yield scores under sampled labels, for some rankings at a time.

    The labels of the judged documents of a topic depend on the seed, its id and their ids alone, so that all runs have
    the same. Labels from the prior are drawn for each run by itself.

    Parameters
    ----------
    metric : Metric
        The metric.
    rankings : Rankings
        Aligned rankings with all judged documents.
    qids : sequence of str
        Ids of the topics of the pool.
    samples : int
        Number of samples of labels.
    seed : int
        Seed of the random numbers.
    prior : ndarray, optional
        Probabilities of the grades 0, 1, … of unjudged documents; by default their grade is 0.

    Yields
    ------
    which : ndarray of int
        Rankings.
    scores : ndarray, shape (n_which, n_samples)
        Their scores.
    """
    rankings, _ = labelled(metric, rankings, prior)
    metric = replace(metric, judged_only=False)  # the rankings have no unjudged items
    topic = rankings.of_pool(np.arange(rankings.pool.queries))
    first = np.searchsorted(rankings.pool.query, np.arange(rankings.pool.queries + 1))
    cells = np.cumsum(np.maximum(np.diff(rankings.start), np.diff(first)[topic])) * samples
    for which in np.split(np.arange(len(rankings)), np.flatnonzero(np.diff(cells // _CELLS)) + 1):
        drawn = [
            _Drawn.of(rankings, number, slice(*first[[t, t + 1]]), qids[t], samples, seed, prior)
            for number, t in zip(which.tolist(), topic[which].tolist(), strict=True)
        ]
        if drawn:
            found = score(metric, _stacked(rankings, which, drawn, samples))
            yield which, found.reshape(len(which), samples)


@dataclass(frozen=True)
class _Drawn:
    """Sampled grades for a ranking: of its hits and of all judged documents, both of shape [samples × documents]."""

    hits: Array
    judged: Array
    at: slice  # of the hits in the rankings
    of_topic: slice  # of the judged documents in the pool

    @classmethod
    def of(
        cls, rankings: Rankings, number: int, of_topic: slice, qid: str, samples: int, seed: int, prior: Floats | None
    ) -> _Drawn:
        """Draw grades for one ranking."""
        pool, at = rankings.pool, slice(*rankings.start[[number, number + 1]])
        random = np.random.default_rng([seed, zlib.crc32(qid.encode())])
        if pool.chances is None:
            judged = np.tile(pool.grade[of_topic], (samples, 1))
        else:
            place = pool.remembered(("places by id",), lambda: _places_by_id(pool))[of_topic]
            judged = _grades(random.random((samples, len(place)))[:, place], pool.chances[of_topic])
        assert rankings.judgment is not None
        judgment = rankings.judgment[at]
        hits = np.zeros((samples, len(judgment)), judged.dtype)
        hits[:, judgment >= 0] = judged[:, judgment[judgment >= 0] - of_topic.start]
        if prior is not None:
            unjudged = judgment < 0
            hits[:, unjudged] = _grades(random.random((samples, unjudged.sum())), prior[None, :])
        return cls(hits, judged, at, of_topic)


def _grades(random: Floats, chances: Floats) -> Array:
    """Return grades for random numbers [samples × documents], from probabilities [documents × grades]."""
    upto = np.cumsum(chances, axis=1).T[:-1, None, :]
    grades: Array = (random >= upto).sum(axis=0)
    return grades


def _places_by_id(pool: Pool) -> Array:
    """Return the place of each judged document among those of its topic in order of ids, or of rows without ids."""
    sizes = np.bincount(pool.query, minlength=pool.queries)
    place = places_within(sizes)
    if pool.columns is None or pool.columns.doc_id is None:
        return place
    ids = pa.table({"query": pool.query, "id": taken(pool.columns.doc_id, pool.rows)})
    order = to_numpy(pc.sort_indices(ids, [("query", "ascending"), ("id", "ascending")]))
    place[order] = places_within(sizes)
    return place


def _stacked(rankings: Rankings, which: Array, drawn: Sequence[_Drawn], samples: int) -> Rankings:
    """Return one ranking for each of some rankings and each sample."""

    def repeated(values: Array, of: str) -> Array:
        return np.concatenate([np.tile(values[getattr(one, of)], samples) for one in drawn])

    def numbers(of: str) -> Array:
        sizes = [getattr(one, of).shape[1] for one in drawn]
        return np.repeat(np.arange(len(drawn) * samples), np.repeat(sizes, samples))

    pool = Pool(
        len(drawn) * samples,
        numbers("judged"),
        np.concatenate([one.judged.ravel() for one in drawn]),
        rankings.pool.columns,
        repeated(rankings.pool.rows, "of_topic"),
    )
    return Rankings.of_hits(
        np.repeat(rankings.n[which], samples),
        numbers("hits"),
        repeated(rankings.rank, "at"),
        np.concatenate([one.hits.ravel() for one in drawn]),
        pool,
        rows=rankings.rows,
        place=np.repeat(rankings.place_in_rows[which], samples),
        listed_rank=None if rankings.listed_rank is None else repeated(rankings.listed_rank, "at"),
    )

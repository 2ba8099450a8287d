"""Robustness of metrics to fewer judgments, shallower pools, and pools without a group of runs.

Question: does a metric lead to the same order of runs, and to the same significant differences, with fewer judgments?

Method: judgments are left out at random, below a depth of the pool, or where only one group of runs has the document.
Runs are ranked again, and their order is compared with that by all judgments: Kendall's τ and distance, and the
smallest level with τ above 0.9 (Buckley and Voorhees, 2004; Bompada et al., 2007). Pairs of runs are tested at each
level. Intervals are over topics and samples, which all metrics share.

Not to conclude: robustness is not validity. Each metric is compared with its own order by all judgments, and judgments
that are missing at random do less harm than those of documents that no system retrieved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ..._version import __version__
from ...data.alignment import Judgments
from ...data.columns import of_columns
from ...data.rankings import Rankings
from ...errors import BadJudgments, BadParameter, check_known, check_share, check_whole, many, some
from ...evaluation.run_comparison import measures_by_name
from ...evaluation.score_cache import key_in_cache
from ...evaluation.significance import wilcoxon_test, without_noise
from ...evaluation.streaming import separate_runs
from ...measures.labels import Measures
from ...rendering.figures import GREY, axes_of, measure_look, name_rows, saved, text_colour, titled
from ...rendering.numbers import fixed_point, interval_of, percent, with_interval
from ...tasks.hashing import fingerprint
from ...tasks.result_cache import Layout, Piece, Pieces
from ..correlation import (
    TAUS,
    parts,
    rounded,
    sign_of_scores,
    tau,
    times_drawn,
    where_less_is_better,
    why_negated,
)
from ..report import About, Finding, Picture, Pictures, Study, Table, Tables, reported
from .missing_judgments import (
    FRACTIONS,
    Depths,
    Fractions,
    Masking,
    Orders,
    best_ranks,
    centred_interval,
    checked_groups,
    judgment_of,
    lacking,
    mean_of_known,
    of_pairs,
    plain_judgments,
    times_of,
    without_group,
)
from .robustness_result import PairTests, Robustness, infap_pool_note

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...files.atomic import AnyPath

Array = np.ndarray
_PAIR_HITS = 1 << 19  # judged documents of pairs of runs, over all levels, per chunk
_CELLS = 1 << 20  # resampled means per chunk


@dataclass(frozen=True, eq=False)
class Work:
    """Computation of a task by its name: ``"scores 3"`` or ``"pairs 3"``, where 3 is the seed of judgments."""

    masking: Masking
    holes: Fractions | Depths
    pairs: Array

    def __call__(self, name: str) -> Piece:
        """Compute the task of this name."""
        what, seed = name.split()
        return {"scores": self.scores, "pairs": self.differing}[what](int(seed))

    @property
    def layouts(self) -> dict[str, Layout]:
        """Types and shapes of the arrays of both kinds of tasks."""
        shape = len(self.holes.levels), len(self.masking.measures)
        scores = (*shape, len(self.masking.runs), self.masking.queries)
        return {"scores": {"scores": ("f", scores)}, "pairs": {"p": ("f", (*shape, len(self.pairs)))}}

    def scores(self, seed: int) -> Piece:
        """Return the scores of all runs [levels × measures × runs × queries]."""
        whole = self.masking.whole
        found = self.masking.scores(whole, self._kept(whole, seed)).swapaxes(0, 1)
        return {"scores": found.reshape(*found.shape[:2], len(self.masking.runs), -1)}

    def _kept(self, whole: Rankings, seed: Any) -> Array:
        return self.holes.kept(whole.pool.query, whole.pool.grade, best_ranks(whole), seed)

    def differing(self, seed: int) -> Piece:
        """Return p of Wilcoxon's test for each pair of runs [levels × measures × pairs].

        The judgments are those of the pair's own pool. They are sampled separately for each pair.
        """
        masking, queries, rng = self.masking, self.masking.queries, np.random.default_rng([seed, 1])
        levels, differences = len(self.holes.levels), []
        each = 2 * len(masking.whole.rank) / max(len(masking.runs), 1) * levels
        for part in parts(len(self.pairs), int(_PAIR_HITS / max(each, 1))):
            whole = of_pairs(masking.whole, queries, self.pairs[part])
            values = masking.scores(whole, self._kept(whole, rng)).reshape(
                len(masking.measures), levels, -1, 2, queries
            )
            of_part = [without_noise(of[:, :, 0] - of[:, :, 1], of) for of in values]
            differences.append(np.stack(of_part, axis=1))
        tested = np.concatenate(differences, axis=2)
        return {"p": wilcoxon_test(tested.reshape(-1, queries)).reshape(tested.shape[:-1])}


@dataclass(frozen=True, eq=False)
class Resampling:
    """τ to the order by all judgments [resamples × levels × measures], for resampled topics.

    For each drawn topic, the judgment sample of a random seed is drawn too: a topic that is drawn twice has different
    judgments each time, as two topics would have. Each resample has as many such draws as there are seeds, and τ is
    their mean. "undefined" counts the draws for which τ is not defined.

    Attributes
    ----------
    scores : ndarray, shape (seeds, levels, measures, runs, queries)
        Scores; the last level has all judgments.
    kind : str
        Kind of τ.
    resamples, seed : int
        Number of resamples of one task, and their seed.
    """

    scores: Array
    kind: str
    resamples: int
    seed: int

    @property
    def layout(self) -> Layout:
        """Types and shapes of the arrays of a task."""
        shape = (self.resamples, *self.scores.shape[1:3])
        return {"tau": ("f", shape), "undefined": ("iu", shape)}

    def __call__(self, name: str) -> Piece:
        """Compute the task of this name, such as ``"resamples 3"``."""
        rng = np.random.default_rng([self.seed, int(name.split()[1])])
        seeds, levels, measures, runs, queries = self.scores.shape
        flat = np.ascontiguousarray(np.moveaxis(self.scores, 0, -2)).reshape(-1, seeds * queries)
        drawn = rng.integers(queries, size=(self.resamples, 1, queries))
        cells = rng.integers(seeds, size=(self.resamples, seeds, queries)) * queries + drawn
        found = []
        for part in parts(self.resamples, _CELLS // (len(flat) * seeds)):
            times = times_of(cells[part].reshape(-1, queries), seeds * queries)
            means = (flat @ times.T / queries).reshape(levels, measures, runs, -1, seeds)
            means = np.ascontiguousarray(means.transpose(3, 0, 1, 4, 2))
            found.append(tau(means, means[:, -1:], self.kind))  # the last level is the same for all seeds
        taus = np.concatenate(found)
        return {"tau": mean_of_known(taus), "undefined": np.isnan(taus).sum(axis=-1)}


def all_pairs(runs: int) -> Array:
    """Return all pairs of runs [pairs × 2], ordered by the first one."""
    return np.stack(np.triu_indices(runs, 1), axis=1)


def chosen_pairs(runs: int, number: int | None, seed: int) -> Array:
    """Return distinct random pairs of runs [pairs × 2]; all pairs if there are no more."""
    pairs = all_pairs(runs)
    if number is None or number >= len(pairs):
        return pairs
    return pairs[np.sort(np.random.default_rng([seed, 2]).choice(len(pairs), number, replace=False))]


def identity(masking: Masking, holes: Fractions | Depths) -> dict[str, Any]:
    """Return everything on which scores with missing judgments depend, apart from the definitions of the measures."""
    rows = masking.whole.rows
    columns = [masking.judgments.columns, *(run.columns for run in rows)] if rows else []
    return {
        "study": "robustness",
        "measures": [repr(measure) for measure in masking.measures.values()],
        "input": hash_of_input(masking),
        "rows": [of_columns(one) for one in columns],  # ids, lengths, duplicates, where measures read them
        "runs": masking.runs,
        "holes": [type(holes).__name__, *map(str, holes.levels)],
        "pool": masking.pool,
    }


def hash_of_input(masking: Masking) -> str:
    """Return a hash of the judgments and of the ranks of judged documents in the runs."""
    whole = masking.whole
    judged = (whole.n, whole.query, whole.rank, whole.grade, whole.judgment, whole.pool.query, whole.pool.grade)
    return fingerprint(masking.judgments.qids, masking.runs, *judged)


#: Measures of Bompada et al. (2007), whose nDCG uses binary judgments, and average precision.
MEASURES = {"bpref": "Bpref", "infAP": "infAP", "nDCG": "CWLA(C='dcg',A='etg',gain='binary',norm='ideal')", "AP": "AP"}
DEPTHS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70)
_PARTS = 10  # number of cached parts of the resamples


def robustness(
    qrels: Any,
    runs: Any,
    measures: Measures = MEASURES,
    *,
    fractions: Sequence[Any] = FRACTIONS,
    seeds: int = 10,
    pairs: int | None = 300,
    complete: float | None = 0.95,
    pool: str = "whole",
    tau: str = "b",
    alpha: float = 0.05,
    confidence: float = 0.95,
    resamples: int = 500,
    seed: int = 0,
    cache_dir: Any = None,
    progress: bool = True,
    n_jobs: int = 1,
) -> Robustness:
    """Study the robustness of measures to missing judgments.

    At each fraction f, the judgments are sampled as by :func:`f_qrels`, ``seeds`` times. Then

    * the order of runs is compared with that by all judgments: Kendall's distance and τ, the knee of the curve (the
      smallest f with τ above 0.9), and whether the τ of one measure is above that of another;
    * random pairs of runs are tested on sampled judgments of their own pool (the documents of either run): does
      Wilcoxon's test have the same result as with all judgments of that pool?

    Parameters
    ----------
    qrels, runs, measures
        As :func:`compare` takes them.
    fractions : sequence of float, default=FRACTIONS
        Fractions f, above 0 and up to 1; 1 is always included.
    seeds : int from 1, default=10
        Number of random draws of judgments, with consecutive seeds from `seed` on.
    pairs : int from 0 or None, default=300
        Number of random pairs of runs; 0 for no tests, None for all pairs.
    complete : float in (0, 1] or None, default=0.95
        Runs that retrieve less than this share of the documents of the longest run are left out and named; None keeps
        all runs.
    pool : {"whole", "judged"}, default="whole"
        Treatment of documents with missing judgments by infAP: in the pool and not judged ("whole", as in the paper),
        or not in the pool ("judged"). All other measures treat them as not judged.
    tau : {"a", "b"}, default="b"
        Kind of τ. Without ties, both are the paper's 1 − 4K/(n(n − 1)). "b" leaves out tied pairs, so that τ of an
        order with itself is 1. "a" counts them as neither concordant nor discordant, so that coarse measures such as
        P@5 stay below 1 even with all judgments.
    alpha : float in (0, 1), default=0.05
        Level of significance; the tests reject at p ≤ alpha.
    confidence : float in (0, 1), default=0.95
        Level of the intervals.
    resamples : int, default=500
        Number of bootstrap resamples, from 50. For τ, topics are resampled, each with the judgments of a random seed.
    seed : int from 0, default=0
        First random seed.
    cache_dir : str or Path, optional
        Folder that caches results, so that an interrupted study can be continued. User-defined functions need a
        ``version=``; without it nothing is cached.
    progress : bool, default=True
        Whether to show progress bars.
    n_jobs : int, default=1
        Number of parallel processes; ``-1`` for one per core.

    Returns
    -------
    Robustness

    Raises
    ------
    BadParameter
        If there are fewer than two runs, or a parameter is out of range.
    BadRun
        If ``complete`` leaves fewer than two runs.
    BadJudgments
        If fewer than two topics are judged.

    References
    ----------
    Bompada et al. (2007); Buckley and Voorhees (2004).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> qrels = {q: {f"d{d}": int(rng.random() < 0.3) for d in range(50)} for q in "1234"}
    >>> def run(noise):
    ...     return {q: {d: g + noise * rng.normal() for d, g in judged.items()} for q, judged in qrels.items()}
    >>> runs = {f"noise {n}": run(n) for n in range(1, 6)}
    >>> study = robustness(qrels, runs, ["Bpref", "AP"], fractions=(0.1, 0.5), seeds=2, progress=False)
    >>> study.order.table()[["level", "measure", "tau"]].round(2)
       level measure   tau
    0    0.1   Bpref  0.52
    1    0.1      AP  0.40
    2    0.5   Bpref  0.70
    3    0.5      AP  0.80
    4    1.0   Bpref  1.00
    5    1.0      AP  1.00
    """
    how = Settings(seeds, pairs, complete, pool, tau, alpha, confidence, resamples, seed)
    return _studied(qrels, runs, measures, Fractions(tuple(fractions)), how, cache_dir, progress, n_jobs)


def robustness_to_depth(
    qrels: Any,
    runs: Any,
    measures: Measures = MEASURES,
    *,
    depths: Sequence[int] = DEPTHS,
    pairs: int | None = 300,
    complete: float | None = 0.95,
    pool: str = "judged",
    tau: str = "b",
    alpha: float = 0.05,
    confidence: float = 0.95,
    resamples: int = 500,
    seed: int = 0,
    cache_dir: Any = None,
    progress: bool = True,
    n_jobs: int = 1,
) -> Robustness:
    """Study the robustness of measures to shallow pools: only documents in the first k ranks of a run are judged.

    Levels are the ``depths`` k, and ∞ for all judgments. Only the choice of pairs of runs, each with its own pool, and
    the resamples are random.

    Parameters
    ----------
    qrels, runs, measures
        As :func:`compare` takes them.
    depths : sequence of int, default=DEPTHS
        Depths k of the pool, from 1.
    pool : {"judged", "whole"}, default="judged"
        As for :func:`robustness`. By default infAP treats documents without judgments as not in the pool, because a
        shallow pool would not contain them.
    pairs, complete, tau, alpha, confidence, resamples, seed, cache_dir, progress, n_jobs
        As for :func:`robustness`.

    Returns
    -------
    Robustness

    References
    ----------
    Zobel (1998); Bompada et al. (2007) for the comparison.

    Examples
    --------
    >>> qrels = {q: {d: int(d < "f") for d in "abcdefghij"} for q in "123"}
    >>> runs = {name: {q: {d: float(name.find(d)) for d in "abcdefghij"} for q in qrels} for name in ("jacbi", "hebad")}
    >>> study = robustness_to_depth(qrels, runs, ["AP"], depths=(2,), progress=False)
    >>> study.order.table()[["level", "measure", "tau"]]
       level measure  tau
    0    2.0      AP  1.0
    1    inf      AP  1.0
    """
    how = Settings(1, pairs, complete, pool, tau, alpha, confidence, resamples, seed)
    return _studied(qrels, runs, measures, Depths(tuple(depths)), how, cache_dir, progress, n_jobs)


def grade_weights(*weights: Sequence[float]) -> dict[str, str]:
    """Return nDCG measures with several weights of the grades 1, 2, …, for use as ``measures=``.

    Parameters
    ----------
    *weights : sequence of float
        Weights of the grades 1, 2, … of one measure. By default those of the paper: binary, and grade 2 with 2, 10 and
        100 times the weight of grade 1.

    Returns
    -------
    dict of str to str
        Measures by name.

    References
    ----------
    Bompada et al. (2007), section 5.3 and Figure 3.

    Examples
    --------
    >>> grade_weights((1, 1), (1, 10))["nDCG 1:10"]
    "CWLA(C='dcg',A='etg',gain='table({1: 1, 2: 10})',norm='ideal')"
    """
    named = {}
    for worth in weights or ((1, 1), (1, 2), (1, 10), (1, 100)):
        name = "nDCG " + ("binary" if set(worth) == {1} else ":".join(f"{one:g}" for one in worth))
        table = ", ".join(f"{grade}: {one:g}" for grade, one in enumerate(worth, 1))
        named[name] = f"CWLA(C='dcg',A='etg',gain='table({{{table}}})',norm='ideal')"
    return named


def ready(qrels: Any, runs: Any, measures: Any, complete: float | None, pool: str) -> Masking:
    """Return runs aligned with judgments, without those that have too few documents."""
    runs = separate_runs(runs)
    if len(runs) < 2:
        raise BadParameter(f"this study compares runs: give at least 2 by name, not {many(len(runs), 'run')}.")
    if complete is not None and not 0 < complete <= 1:
        raise BadParameter(": give a share above 0 and up to 1, or None to keep all runs.", complete=complete)
    judgments: Judgments = plain_judgments(qrels)
    if len(judgments.qids) < 2:
        raise BadJudgments(f"a study needs two judged topics, and there is {some(judgments.qids) or 'none'}.")
    return Masking.from_runs(judgments, runs, measures_by_name(measures), pool, complete or 0)


@dataclass(frozen=True)
class Settings:
    """Settings of a study."""

    seeds: int
    pairs: int | None
    complete: float | None
    pool: str
    tau: str
    alpha: float
    confidence: float
    resamples: int
    seed: int

    def __post_init__(self) -> None:
        check_known("kind of τ", TAUS, tau=self.tau)
        check_share(0.05, alpha=self.alpha)
        check_share(0.95, confidence=self.confidence)
        check_whole(1, seeds=self.seeds)
        check_whole(50, resamples=self.resamples)
        check_whole(0, seed=self.seed, pairs=0 if self.pairs is None else self.pairs)


def _studied(
    qrels: Any,
    runs: Any,
    measures: Any,
    holes: Fractions | Depths,
    how: Settings,
    cache_dir: Any,
    progress: bool,
    n_jobs: int,
) -> Robustness:
    masking = ready(qrels, runs, measures, how.complete, how.pool)
    pairs = chosen_pairs(len(masking.runs), how.pairs, how.seed)
    names = list(masking.measures)
    key = None if cache_dir is None else key_in_cache(masking.measures.values())
    known, cache_dir = {**identity(masking, holes), "computed by": key}, cache_dir if key else None
    work = Work(masking, holes, pairs)
    pieces_of = partial(Pieces, cache_dir=cache_dir, progress=progress, n_jobs=n_jobs)

    def by_seed(what: str, doing: str, **also: Any) -> Array:
        names = [f"{what} {seed}" for seed in range(how.seed, how.seed + how.seeds)]
        doing = f"{doing} with missing judgments"
        pieces = pieces_of({**known, **also}).each(names, work, doing, "seeds", layout=work.layouts[what])
        return np.stack([array for piece in pieces for array in piece.values()])

    scores = by_seed("scores", "scoring")
    resampled = _resampled(scores, known, how, pieces_of)
    tests = None
    if len(pairs):
        p = by_seed("pairs", "testing pairs", pairs=fingerprint(pairs))
        tests = PairTests(holes.levels, names, p, how.alpha, how.confidence, how.resamples, how.seed)
    about = {
        **asdict(how),
        "version": __version__,
        "measures": {name: repr(measure) for name, measure in masking.measures.items()},
        "levels": [level if np.isfinite(level) else "all" for level in holes.levels],
        "left_out": masking.left_out,
        "lacking": lacking(masking.judgments),
        "queries": masking.queries,
        "judgments": len(masking.whole.pool.grade),
        "highest_grade": masking.whole.pool.highest,
        "pairs": len(pairs),
        "input": known["input"],
    }
    order = Orders(holes.levels, names, scores, *resampled, how.tau, how.confidence)
    return Robustness(about, holes, masking.measures, masking.runs, order, tests)


def _resampled(
    scores: Array, known: dict[str, Any], how: Settings, pieces_of: Callable[[dict[str, Any]], Pieces]
) -> tuple[Array, Array]:
    """Return τ of resampled topics, and its number of undefined seeds, [resamples × levels × measures]."""
    known = {**known, "resampling": [how.tau, how.resamples, how.seed, how.seeds]}
    resampling = Resampling(scores, how.tau, -(-how.resamples // _PARTS), how.seed)
    parts = [f"resamples {number}" for number in range(_PARTS)]
    pieces = pieces_of(known).each(parts, resampling, "resampling topics", layout=resampling.layout)
    tau, undefined = (np.concatenate([piece[what] for piece in pieces]) for what in ("tau", "undefined"))
    return tau[: how.resamples], undefined[: how.resamples]


@dataclass(frozen=True, eq=False, repr=False)
class GroupsLeftOut(Study):
    """Changes of each group's runs without the judgments that only this group contributed.

    The result of :func:`groups_left_out`.

    Attributes
    ----------
    changes : DataFrame
        A row for each measure and run: its group, its score and rank by all judgments and without the group's own
        judgments, and the number of ranks by which it falls.
    lost : DataFrame
        A row for each group: the number of its runs and of the judgments that are lost without it.
    falls : DataFrame
        A row for each measure: the mean number of ranks by which runs fall and by which they move, with intervals.
    measures : dict of str to Measure
        Measures by name.
    about : dict
        Settings, sizes and hash of the input.
    """

    about: About
    measures: dict[str, Measure]
    changes: pd.DataFrame
    lost: pd.DataFrame
    falls: pd.DataFrame

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title of the report."""
        return f"Runs without their group's own judgments: {self._sizes}"

    @property
    def _sizes(self) -> str:
        about = self.about
        return f"{many(about['groups'], 'group')}, {many(about['runs'], 'run')}, {many(about['queries'], 'topic')}"

    @property
    def _noted(self) -> str:
        return " ".join([f"{self._sizes}.", *infap_pool_note(self.about["pool"], self.measures)])

    def tables(self) -> Tables:
        """Return the tables of the report by file name."""
        sure = f"{percent(self.about['confidence'])} intervals over topics"
        return {
            "falls": Table("Ranks that runs fall", f"Means over runs; {sure}; {self._noted}", self.falls),
            "changes": Table("Runs", f"With and without their group's own judgments; {self._noted}", self.changes),
            "lost": Table("Groups", f"Judgments that only this group contributed; {self._sizes}.", self.lost),
        }

    def pictures(self) -> Pictures:
        """Return the pictures of the report by file name."""
        about = f"A point for each run; bars are means; {self._noted}"
        size = (7.0, 1.2 + 0.36 * len(self.about["measures"]))
        return {"falls": Picture("Ranks that runs fall", about, partial(plot_falls, self), self.changes, size)}

    def headline(self) -> str:
        """Return what was found, in one sentence."""
        rows = self.falls.sort_values("moves", kind="stable")
        least, most = rows.iloc[0], rows.iloc[-1]
        of = f"of {self.about['runs']:,} ranks in the mean"
        end = f", the least, and by {most.moves:.2f} by {most.measure}, the most" if len(rows) > 1 else ""
        return f"Without its group's own judgments, a run moves by {least.moves:.2f} {of} by {least.measure}{end}."

    def findings(self) -> list[str]:
        """Return the findings, one sentence each."""
        shares = self.lost["judgments"] / self.about["judgments"]
        said: list[str] = [
            f"Without what it alone contributed, a group loses {percent(shares.mean(), 1)} of the judgments in the"
            f" mean, and {percent(shares.max(), 1)} at most."
        ]
        for row in self.falls.sort_values("moves", kind="stable").itertuples():
            runs = self.changes[self.changes.measure == row.measure]
            worst = runs.loc[runs.falls.idxmax()]
            most = "none falls"
            if worst.falls > 0:
                most = f"at most {worst.falls}, of {worst.run} from {worst['rank']} to {worst.rank_without}"
            sentence = (
                f"By {row.measure} a run falls by {fixed_point(row.falls, 2)} ranks"
                f" {interval_of(row.falls_low, row.falls_high, 2)} of {self.about['runs']:,} in the mean and moves by"
                f" {with_interval(row.moves, row.moves_low, row.moves_high, 2)}; {most}."
            )
            said.append(Finding(sentence, "falls"))
        return said

    def limits(self) -> list[str]:
        """Return conclusions that the study does not support, one sentence each."""
        said = [
            "The contributor of a judgment is inferred: it is the only group whose runs have the document"
            + (f" in their first {self.about['depth']}." if self.about["depth"] else " anywhere."),
            "A new kind of system would retrieve more unjudged documents than a run of this collection.",
            *infap_pool_note(self.about["pool"], self.measures),
        ]
        if short := self.about["left_out"]:
            said.append(f"{many(len(short), 'run')} with few documents left out: {some(short, len(short))}.")
        return said + why_negated(where_less_is_better(self.measures))


@reported("depth pool confidence resamples seed")
def groups_left_out(
    qrels: Any,
    runs: Mapping[str, Any],
    groups: Mapping[str, Any],
    measures: Measures = MEASURES,
    *,
    depth: int | None = None,
    complete: float | None = 0.95,
    pool: str = "judged",
    confidence: float = 0.95,
    resamples: int = 500,
    seed: int = 0,
) -> GroupsLeftOut:
    """Rank each group's runs as if the group had not contributed to the pool.

    For each group, the judgments of documents that only its runs have (in their first ``depth`` ranks) are removed. All
    runs are scored with the remaining judgments, and the ranks of the group's own runs are compared with those by all
    judgments. Judgments of documents that no run has are kept.

    Parameters
    ----------
    qrels, runs, measures
        As for :func:`robustness`.
    groups : mapping
        Group of each run, by the run's name.
    depth : int from 1, optional
        Number of ranks of a run that contribute to the pool; by default all.
    complete : float in (0, 1] or None, default=0.95
        As for :func:`robustness`.
    pool : {"judged", "whole"}, default="judged"
        Whether infAP treats the documents of removed judgments as in the pool ("whole"). By default it does not:
        without the group, these documents would not have been in the pool.
    confidence : float in (0, 1), default=0.95
        Level of the intervals.
    resamples : int, default=500
        Number of bootstrap resamples of the topics.
    seed : int, default=0
        Seed of the resamples.

    Returns
    -------
    GroupsLeftOut

    Raises
    ------
    BadParameter
        If a run has no group, or if all runs are in one group.

    References
    ----------
    Zobel (1998); Voorhees (2001).

    Examples
    --------
    >>> qrels = {q: {"a": 1, "b": 0, "c": 1, "d": 1} for q in "12"}
    >>> runs = {"one": {q: {"a": 2.0, "c": 1.0} for q in "12"}, "two": {q: {"a": 2.0, "b": 1.0} for q in "12"}}
    >>> study = groups_left_out(qrels, runs, {"one": "A", "two": "B"}, ["AP"])
    >>> study.changes[["group", "run", "score", "score_without", "rank", "rank_without"]].round(2)
      group  run  score  score_without  rank  rank_without
    0     A  one   0.67           0.50     1             1
    1     B  two   0.33           0.33     2             2
    """
    if depth is not None:
        check_whole(1, depth=depth)
    masking = ready(qrels, runs, measures, complete, pool)
    group, names = checked_groups({str(run): group for run, group in groups.items()}, masking.runs)
    whole, queries = masking.whole, masking.queries
    kept = without_group(_retrieved(masking, depth), group, len(names))
    lost = pd.DataFrame(
        {
            "group": names,
            "runs": np.bincount(group),
            "judgments": (~kept).sum(axis=1),
            "relevant": (~kept & (whole.pool.grade > 0)).sum(axis=1),
        }
    )
    kept = np.concatenate([kept, np.ones((1, kept.shape[1]), bool)])
    scores = masking.scores(whole, kept).reshape(len(masking.measures), len(kept), len(masking.runs), queries)
    topics = times_drawn(queries, resamples, seed) / queries
    changes, falls = _changes(masking, names, group, scores, topics, confidence)
    about = {
        "measures": {name: repr(measure) for name, measure in masking.measures.items()},
        "groups": len(names),
        "runs": len(masking.runs),
        "queries": queries,
        "judgments": kept.shape[1],
        "left_out": masking.left_out,
        "input": hash_of_input(masking),
    }
    return GroupsLeftOut(about, masking.measures, changes, lost, falls)


def _retrieved(masking: Masking, depth: int | None) -> Array:
    """Return whether each run has each judged document in its first ``depth`` ranks, [runs × judgments]."""
    whole = masking.whole
    found = np.zeros((len(masking.runs), len(whole.pool.grade)), bool)
    deep = whole.rank <= (depth or np.inf)
    found[whole.query[deep] // masking.queries, judgment_of(whole)[deep]] = True
    return found


def _changes(
    masking: Masking, groups: list[str], group: Array, scores: Array, topics: Array, confidence: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the scores and ranks of runs with and without their group, and the mean numbers of ranks that they move.

    ``topics`` [topics × resamples] are the weights of topics in resampled means, for the intervals.
    """
    names = {"group": [groups[number] for number in group], "run": masking.runs}
    changes, moves = [], []
    for (name, measure), of_topics in zip(masking.measures.items(), scores):
        sign, means = sign_of_scores(measure), of_topics.mean(axis=-1)
        rank, without = _ranks(sign * means, group)
        columns = {"score": means[-1], "score_without": means[group, np.arange(len(group))]}
        columns |= {"rank": rank, "rank_without": without, "falls": without - rank}
        changes.append(pd.DataFrame({"measure": name, **names, **columns}))
        drawn_rank, drawn_without = _ranks(of_topics * sign @ topics, group)
        both, drawn = (
            np.array([falls.mean(axis=0), np.abs(falls).mean(axis=0)])
            for falls in (without - rank, drawn_without - drawn_rank)
        )
        row: dict[str, Any] = {"measure": name}
        for what, *ends in zip(("falls", "moves"), both, *centred_interval(both, drawn.T, confidence)):
            row |= dict(zip((what, f"{what}_low", f"{what}_high"), ends))
        moves.append(row | {"most": (without - rank).max()})
    return pd.concat(changes, ignore_index=True), pd.DataFrame(moves)


def _ranks(better: Array, group: Array) -> tuple[Array, Array]:
    """Return the rank of each run among all runs, by all judgments and without its group's own.

    ``better`` [(groups + 1) × runs (× resamples)] has the scores without each group, and by all judgments.
    """
    better = rounded(better)
    by_all, without = (
        np.stack([1 + (better[of] > better[of, run]).sum(axis=0) for run, of in enumerate(groups)])
        for groups in (np.full(len(group), -1), group)
    )
    return by_all, without


def plot_falls(study: GroupsLeftOut, ax: Any = None, path: AnyPath | None = None) -> Axes:
    """Plot the number of ranks by which each run falls without its group's own judgments.

    A mark is a run, and a vertical line the mean of a measure. ``study.changes`` has the numbers.

    Parameters
    ----------
    study : GroupsLeftOut
        Study to plot.
    ax : matplotlib Axes, optional
        By default new axes.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    measures = list(study.about["measures"])
    ax = axes_of(ax, (7, 1.2 + 0.36 * len(measures)))
    for number, name in enumerate(measures):
        falls = study.changes.loc[study.changes.measure == name, "falls"].to_numpy()
        order = np.argsort(falls, kind="stable")
        beside = 0.35 * np.sin(2.4 * np.arange(len(falls)))  # deterministic jitter
        look = measure_look(number)
        ax.plot(falls[order], number + beside, look["marker"], color=look["color"], markersize=3, alpha=0.6)
        ax.plot([falls.mean()] * 2, [number - 0.45, number + 0.45], color=text_colour(), linewidth=2)
    ax.axvline(0, color=GREY, linewidth=0.8)
    name_rows(ax, range(len(measures)), measures)
    ax.invert_yaxis()
    ax.set_xlabel("ranks that a run falls (line: mean)")
    return saved(titled(ax, f"How far runs fall without their group's own judgments · {study._sizes}"), path)

"""Robustness of measures to missing judgments: order of runs, and conclusions of significance tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from ..._version import __version__
from ...data.alignment import Judgments
from ...errors import BadJudgments, BadParameter, BadRun, many, near, some
from ...errors.parameter_checks import check_share, check_whole
from ...evaluation.run_comparison import measures_by_name
from ...evaluation.streaming import separate_runs
from ...tasks.checkpoints import Pieces
from ...tasks.hashing import fingerprint
from ..correlation import TAUS
from .masked_scores import Masking
from .missing_judgments import FRACTIONS, Depths, Fractions, lacking, plain_judgments
from .result import Robustness
from .significance_kept import PairTests
from .system_order import Orders
from .work import Resampling, Work, cached, chosen_pairs, identity

Array = np.ndarray

#: Measures of Bompada et al. (2007), whose nDCG uses binary judgments, and average precision.
MEASURES = {"bpref": "Bpref", "infAP": "infAP", "nDCG": "CWLA(C='dcg',A='etg',gain='binary',norm='ideal')", "AP": "AP"}
DEPTHS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70)
_PARTS = 10  # number of cached parts of the resamples


def robustness(
    qrels: Any,
    runs: Any,
    measures: Iterable[Any] | Mapping[str, Any] = MEASURES,
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
    seeds : int, default=10
        Number of seeds: ``seed``, ``seed`` + 1, …
    pairs : int or None, default=300
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
    seed : int, default=0
        First seed.
    cache_dir : str or Path, optional
        Folder that caches results, so that an interrupted study can be continued. User-defined functions need a
        ``version=``; without it nothing is cached.
    progress : bool, default=True
        Whether to show progress bars.
    n_jobs : int, default=1
        Number of processes.

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
    measures: Iterable[Any] | Mapping[str, Any] = MEASURES,
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


def ready(qrels: Any, runs: Any, measures: Any, complete: float | None, pool: str) -> tuple[Masking, dict[str, int]]:
    """Return runs aligned with judgments, and the number of documents of each run left out for having too few."""
    runs = separate_runs(runs)
    if len(runs) < 2:
        raise BadParameter(f"this study compares runs: give at least 2 by name, not {many(len(runs), 'run')}.")
    if complete is not None and not 0 < complete <= 1:
        raise BadParameter(f"complete={complete!r}: give a share above 0 and up to 1, or None to keep all runs.")
    judgments: Judgments = plain_judgments(qrels)
    if len(judgments.qids) < 2:
        raise BadJudgments(f"a study needs two judged topics, and there is {some(judgments.qids) or 'none'}.")
    masking = Masking.of(judgments, runs, measures_by_name(measures), pool)
    retrieved = dict(zip(masking.runs, masking.whole.n.reshape(len(runs), -1).sum(axis=1).tolist()))
    short = {run: n for run, n in retrieved.items() if n < (complete or 0) * max(retrieved.values())}
    if len(retrieved) - len(short) < 2:
        raise BadRun(
            f"only {many(len(retrieved) - len(short), 'run')} retrieved {complete:.0%} of the"
            f" {max(retrieved.values()):,} documents of the longest run: give complete=None to keep all runs."
        )
    if short:
        masking = masking.only([run for run in masking.runs if run not in short])
    return masking, short


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
        if self.tau not in TAUS:
            raise BadParameter(f"no τ of kind {self.tau!r}. {near(str(self.tau), TAUS)}")
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
) -> Robustness:  # over 50 lines: half of them are parameters and reported values
    masking, short = ready(qrels, runs, measures, how.complete, how.pool)
    pairs = chosen_pairs(len(masking.runs), how.pairs, how.seed)
    names = list(masking.measures)
    known, cache_dir = cached(masking, identity(masking, holes), cache_dir)
    seeds = range(how.seed, how.seed + how.seeds)
    work, pieces_of = (
        Work(masking, holes, pairs),
        partial(Pieces, cache_dir=cache_dir, progress=progress, n_jobs=n_jobs),
    )
    pieces = pieces_of(known).each(
        [f"scores {seed}" for seed in seeds],
        work,
        "scoring with missing judgments",
        "seeds",
        layout=work.layout_of_scores,
    )
    scores = np.stack([piece["scores"] for piece in pieces])
    resampled = _resampled(scores, known, how, pieces_of)
    tests = None
    if len(pairs):
        pieces = pieces_of({**known, "pairs": fingerprint(pairs)}).each(
            [f"pairs {seed}" for seed in seeds],
            work,
            "testing pairs with missing judgments",
            "seeds",
            layout=work.layout_of_pairs,
        )
        p = np.stack([piece["p"] for piece in pieces])
        tests = PairTests(holes.levels, names, p, how.alpha, how.confidence, how.resamples, how.seed)
    about = {
        **asdict(how),
        "version": __version__,
        "measures": {name: repr(measure) for name, measure in masking.measures.items()},
        "levels": [level if np.isfinite(level) else "all" for level in holes.levels],
        "left_out": short,
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

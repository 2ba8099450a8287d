"""Cached tasks of a robustness study: scores of all runs with missing judgments, and p-values of pairs of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ...data.columns import of_columns
from ...data.rankings import StackedRows
from ...evaluation.measure_hash import names_in_cache
from ...evaluation.significance import wilcoxon_test, without_noise
from ...tasks.hashing import fingerprint
from ...tasks.result_cache import Layout, Piece
from ..correlation import tau
from .masked_scores import Masking, best_ranks, of_pairs, parts
from .missing_judgments import Depths, Fractions
from .system_order import mean_of_known

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
    def layout_of_scores(self) -> Layout:
        """Type and shape of the array of :meth:`scores`."""
        return {"scores": ("f", (*self._shape, len(self.masking.runs), self.masking.queries))}

    @property
    def layout_of_pairs(self) -> Layout:
        """Type and shape of the array of :meth:`differing`."""
        return {"p": ("f", (*self._shape, len(self.pairs)))}

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.holes.levels), len(self.masking.measures)

    def scores(self, seed: int) -> Piece:
        """Return the scores of all runs [levels × measures × runs × queries]."""
        whole = self.masking.whole
        kept = self.holes.kept(whole.pool.query, whole.pool.grade, best_ranks(whole), seed)
        found = self.masking.scores(whole, kept).swapaxes(0, 1)
        return {"scores": found.reshape(*found.shape[:2], len(self.masking.runs), -1)}

    def differing(self, seed: int) -> Piece:
        """Return p of Wilcoxon's test for each pair of runs [levels × measures × pairs].

        The judgments are those of the pair's own pool.
                Judgments are sampled separately for each pair.
        """
        masking, queries, rng = self.masking, self.masking.queries, np.random.default_rng([seed, 1])
        levels, differences = len(self.holes.levels), []
        each = 2 * len(masking.whole.rank) / max(len(masking.runs), 1) * levels
        for some in parts(len(self.pairs), int(_PAIR_HITS / max(each, 1))):
            whole = of_pairs(masking.whole, queries, self.pairs[some])
            kept = self.holes.kept(whole.pool.query, whole.pool.grade, best_ranks(whole), rng)
            values = masking.scores(whole, kept).reshape(len(masking.measures), levels, -1, 2, queries)
            of_part = [without_noise(of[:, :, 0] - of[:, :, 1], np.abs(of).max(initial=0)) for of in values]
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
        for some in parts(self.resamples, _CELLS // (len(flat) * seeds)):
            times = _counts(cells[some].reshape(-1, queries), seeds * queries)
            means = (flat @ times.T / queries).reshape(levels, measures, runs, -1, seeds)
            means = np.ascontiguousarray(means.transpose(3, 0, 1, 4, 2))
            found.append(tau(means, means[:, -1:], self.kind))  # the last level is the same for all seeds
        taus = np.concatenate(found)
        return {"tau": mean_of_known(taus), "undefined": np.isnan(taus).sum(axis=-1)}


def _counts(drawn: Array, number: int) -> Array:
    """Return how often each of ``number`` items was drawn [draws × number]."""
    at = drawn + number * np.arange(len(drawn))[:, None]
    return np.bincount(at.ravel(), minlength=len(drawn) * number).reshape(-1, number).astype(float)


def chosen_pairs(runs: int, number: int | None, seed: int) -> Array:
    """Return distinct random pairs of runs [pairs × 2]; all pairs if there are no more."""
    pairs = np.stack(np.triu_indices(runs, 1), axis=1)
    if number is None or number >= len(pairs):
        return pairs
    return pairs[np.sort(np.random.default_rng([seed, 2]).choice(len(pairs), number, replace=False))]


def identity(masking: Masking, holes: Fractions | Depths) -> dict[str, Any]:
    """Return everything on which scores with missing judgments depend, apart from the definitions of the measures."""
    rows = cast(StackedRows | None, masking.whole.rows)
    columns = [] if rows is None else [masking.judgments.columns, *(run.columns for run in rows.runs)]
    return {
        "study": "robustness",
        "measures": [repr(measure) for measure in masking.measures.values()],
        "input": hash_of_input(masking),
        "rows": [of_columns(one) for one in columns],  # ids, lengths, duplicates, where measures read them
        "runs": masking.runs,
        "holes": [type(holes).__name__, *map(str, holes.levels)],
        "pool": masking.pool,
    }


def cached(masking: Masking, known: dict[str, Any], cache_dir: Any) -> tuple[dict[str, Any], Any]:
    """Return the identity of tasks including that of their measures, and the cache folder.

    The folder is None if a measure cannot be cached.
    """
    if cache_dir is None:
        return known, None
    names = names_in_cache(masking.measures.values())
    if any(measure not in names for measure in masking.measures.values()):
        return known, None
    return {**known, "computed by": [names[measure] for measure in masking.measures.values()]}, cache_dir


def hash_of_input(masking: Masking) -> str:
    """Return a hash of the judgments and of the ranks of judged documents in the runs."""
    whole = masking.whole
    judged = (whole.n, whole.query, whole.rank, whole.grade, whole.judgment, whole.pool.query, whole.pool.grade)
    return fingerprint(masking.judgments.qids, masking.runs, *judged)

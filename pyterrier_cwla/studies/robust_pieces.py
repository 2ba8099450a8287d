"""The work of a robustness study, piece by piece: what all runs score with holes, and which pairs still differ."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..measures import innermost, metric_of
from ..significance import wilcoxon_test, without_noise
from .correlation import tau
from .holes import Depths, Fractions
from .masking import Masking, best_ranks, of_pairs, parts
from .pieces import Piece, fingerprint

Array = np.ndarray
_PAIR_HITS = 1 << 19  # judged documents of pairs of runs, over all levels, that are at work at a time
_CELLS = 1 << 20  # resampled means at a time


@dataclass(frozen=True, eq=False)
class Work:
    """Computes a piece by its name: ``"scores 3"`` or ``"pairs 3"``, 3 the seed of the holes."""

    masking: Masking
    holes: Fractions | Depths
    pairs: Array

    def __call__(self, name: str) -> Piece:
        what, seed = name.split()
        return {"scores": self.scores, "pairs": self.differing}[what](int(seed))

    def scores(self, seed: int) -> Piece:
        """What all runs score [levels × measures × runs × queries]."""
        whole = self.masking.whole
        kept = self.holes.kept(whole.pool.query, whole.pool.grade, best_ranks(whole), seed)
        found = self.masking.scores(whole, kept).swapaxes(0, 1)
        return {"scores": found.reshape(*found.shape[:2], len(self.masking.runs), -1)}

    def differing(self, seed: int) -> Piece:
        """p of Wilcoxon's test for each pair of runs [levels × measures × pairs], by judgments of the pair's own pool.

        Every pair has holes of its own.
        """
        masking, queries = self.masking, self.masking.queries
        levels, differences = len(self.holes.levels), []
        each = 2 * len(masking.whole.rank) / max(len(masking.runs), 1) * levels
        for number, some in enumerate(parts(len(self.pairs), int(_PAIR_HITS / max(each, 1)))):
            whole = of_pairs(masking.whole, queries, self.pairs[some])
            kept = self.holes.kept(whole.pool.query, whole.pool.grade, best_ranks(whole), [seed, 1, number])
            values = masking.scores(whole, kept).reshape(len(masking.measures), levels, -1, 2, queries)
            of_part = [without_noise(of[:, :, 0] - of[:, :, 1], np.abs(of).max(initial=0)) for of in values]
            differences.append(np.stack(of_part, axis=1))
        tested = np.concatenate(differences, axis=2)
        return {"p": wilcoxon_test(tested.reshape(-1, queries)).reshape(tested.shape[:-1])}


@dataclass(frozen=True, eq=False)
class Resampling:
    """τ to the order by all judgments [resamples × levels × measures], of topics that are drawn anew.

    For each topic that is drawn, the holes of one of the seeds are drawn, too: a topic that is drawn twice has then
    other holes each time, as two topics would. So often as there are seeds, of which τ is the mean.
    """

    scores: Array  # [seeds × levels × measures × runs × queries]
    kind: str
    resamples: int
    seed: int

    def __call__(self, name: str) -> Piece:
        rng = np.random.default_rng([self.seed, int(name.split()[1])])
        seeds, levels, measures, runs, queries = self.scores.shape
        flat = np.ascontiguousarray(np.moveaxis(self.scores, 0, -2)).reshape(-1, seeds * queries)
        full = self.scores[0, -1].reshape(-1, queries)
        found = []
        for some in parts(self.resamples, _CELLS // (len(flat) * seeds)):
            drawn = rng.integers(queries, size=(some.stop - some.start, queries))
            topics = _counts(drawn, queries)
            cells = rng.integers(seeds, size=(len(drawn), seeds, queries)) * queries + drawn[:, None]
            with_holes = flat @ _counts(cells.reshape(-1, queries), seeds * queries).T / queries
            x = np.moveaxis(with_holes.reshape(levels, measures, runs, len(drawn), seeds), 2, -1)
            y = np.moveaxis((full @ topics.T / queries).reshape(measures, runs, len(drawn)), 1, -1)
            x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)[None, :, :, None]
            found.append(np.moveaxis(tau(x, y, self.kind).mean(axis=-1), -1, 0))
        return {"tau": np.concatenate(found)}


def _counts(drawn: Array, number: int) -> Array:
    """How often each of so many was drawn [draws × number]."""
    at = drawn + number * np.arange(len(drawn))[:, None]
    return np.bincount(at.ravel(), minlength=len(drawn) * number).reshape(-1, number).astype(float)


def chosen_pairs(runs: int, number: int | None, seed: int) -> Array:
    """Random pairs of runs [pairs × 2], none twice; all where there are no more."""
    pairs = np.stack(np.triu_indices(runs, 1), axis=1)
    if number is None or number >= len(pairs):
        return pairs
    return pairs[np.sort(np.random.default_rng([seed, 2]).choice(len(pairs), number, replace=False))]


def identity(masking: Masking, holes: Any, pairs: Array) -> dict[str, Any]:
    """All that the pieces depend on."""
    whole, documents = masking.whole, []
    for measure in masking.measures.values():
        inner = innermost(measure)
        if whole.rows is None or getattr(inner, "ROW", None) is None:
            continue
        metric = metric_of(inner)
        if metric.needs_words:
            documents.append(fingerprint(whole.rows.words(metric)))
        if metric.duplicates is not None:
            documents.append(fingerprint(whole.rows.repeats(metric.duplicates)))
    judged = (whole.n, whole.query, whole.rank, whole.grade, whole.judgment, whole.pool.query, whole.pool.grade)
    return {
        "study": "robustness",
        "measures": {name: str(measure) for name, measure in masking.measures.items()},
        "functions": [_content(measure) for measure in masking.measures.values()],
        "input": fingerprint(*judged, documents),
        "runs": masking.runs,
        "holes": [type(holes).__name__, *map(str, holes.levels)],
        "pairs": fingerprint(pairs),
        "pool": masking.pool,
    }


def _content(measure: Any) -> str | None:
    """A hash of functions that a user wrote: a notebook may redefine them under the same name."""
    inner = innermost(measure)
    if getattr(inner, "ROW", None) is None or metric_of(inner).built_in:
        return None
    return fingerprint(np.frombuffer(pickle.dumps(inner), np.uint8))

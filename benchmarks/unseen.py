"""Time continuations of effort with unseen items that cost nothing, compared with unseen items that have a cost."""

from __future__ import annotations

import argparse
import statistics
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.report import Table, keep, progress, seconds, show
from benchmarks.residuals import in_turns
from pyterrier_cwla import continuation, score

QUERIES, RANKS = 1000, 100


@continuation(gives_survival=True, vanishes=True)
def own_weibull(view, shape: float, scale: float):
    """Return the share of users who have not left at an effort E: exp(−(E/scale)^shape)."""
    return np.exp(-((view.E / scale) ** shape))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unseen", description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--markdown", type=Path, help="write the table to this Markdown file")
    chosen = parser.parse_args()
    tables = [unseen_items(chosen.repeats)]
    show(tables)
    if chosen.markdown:
        keep(chosen.markdown, tables)


def unseen_items(repeats: int) -> Table:
    """Time each aggregation with both costs, in turn."""
    rng = np.random.default_rng(1)
    gains, efforts = rng.random((QUERIES, RANKS)), rng.uniform(2, 40, (QUERIES, RANKS))
    rows = []
    for C in ("decay(224)", "own_weibull(0.7, 323)"):
        for A in ("etg", "avg", "erg"):
            ways = [partial(score, gains, C=C, A=A, efforts=efforts, unseen=unseen) for unseen in (12, 0)]
            costly, free = map(statistics.median, in_turns(ways, repeats))
            rows.append((f"{C}, {A}", seconds(costly), seconds(free), f"{free / costly:.2f}"))
            progress(f"{C}, {A}: {free / costly:.2f}")
    return Table(
        "Unseen items that cost nothing",
        ("C, A", "unseen=12", "unseen=0", "ratio"),
        rows,
        [
            f"`score` of {QUERIES:,} lists of {RANKS} items, efforts of 2 to 40; medians of {repeats} times, in turns.",
            "own_weibull: a user's own function of effort. At unseen=0, avg and erg are integrals over efforts.",
        ],
    )


if __name__ == "__main__":
    main()

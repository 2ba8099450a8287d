"""Draw two systems of the demo that nDCG@10 and time-biased gain order differently: the picture in README.md.

``python docs/two_systems.py`` writes ``docs/static/two_systems.svg``.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd

from pyterrier_cwla import CWLA, TBG, demo, evaluate
from pyterrier_cwla.behaviour import progress
from pyterrier_cwla.rendering.figures import SCORE, STAY, axes_of, titled

PICTURE = Path(__file__).parent / "static" / "two_systems.svg"
COLOURS = {"BM25": STAY, "BM25, length ignored": SCORE}
_STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "two systems", "font.family": "sans-serif", "font.size": 10}
_DEPTH, _SECONDS = 10, range(0, 301, 15)


def picture() -> str:
    """Return the picture as SVG."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    made = demo.collection()
    systems = demo.systems(made)
    runs = {name: systems[name](made.topics) for name in COLOURS}
    scores = evaluate(made.qrels, runs, ["nDCG@10", "TBG"])
    documents = CWLA(C=f"prec({_DEPTH})", A="etg", gain="binary")  # unit effort: the time is the number of documents
    by_rank = progress(made.qrels, runs, documents, times=range(_DEPTH)).table
    by_time = progress(made.qrels, runs, TBG, times=_SECONDS).table
    with matplotlib.rc_context(_STYLE):
        figure, axes = pyplot.subplots(1, 2, figsize=(9.2, 3.4), layout="constrained")
        _curves(axes[0], by_rank, scores["nDCG@10"], shift=1)
        axes[0].set(xlabel="documents read", ylabel="relevant documents read", xticks=range(1, _DEPTH + 1))
        titled(axes[0], "Counted in documents: nDCG@10 ranks BM25 lower")
        _curves(axes[1], by_time, scores["TBG"])
        axes[1].set(xlabel="seconds of the user", ylabel="relevant documents saved", xticks=_SECONDS[::4])
        titled(axes[1], "Counted in seconds: TBG ranks BM25 higher")
        out = io.StringIO()
        figure.savefig(out, format="svg", facecolor="white", metadata={"Date": None})
        pyplot.close(figure)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _curves(ax: Any, table: pd.DataFrame, scores: pd.Series[float], shift: int = 0) -> None:
    """Draw the mean gain of each system over documents or seconds, with its score as label at the end."""
    axes_of(ax)
    gains = table["gain"].groupby(level=["run", "time"]).mean()
    for name, colour in COLOURS.items():
        curve = gains[name]
        x = curve.index + shift
        ax.plot(x, curve, color=colour, linewidth=2)
        above = scores[name] == scores.max()
        ax.annotate(
            f"{name}\n{scores.name} {scores[name]:.3f}",
            (x[len(x) * 2 // 3], curve.iloc[len(x) * 2 // 3]),
            xytext=(-8, 6) if above else (8, -6),
            textcoords="offset points",
            ha="right" if above else "left",
            va="bottom" if above else "top",
            color=colour,
            weight="bold" if above else "normal",
        )
    ax.set_ylim(bottom=0)


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")

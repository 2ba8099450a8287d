"""Draw two systems of the demo that nDCG@10 and time-biased gain order differently: the picture in README.md.

``python docs/two_systems.py`` writes ``docs/static/two_systems.svg``. The site's first page has the same picture in the
colours of the page.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from image_files import image_file
from matplotlib.figure import Figure

from pyterrier_cwla import CWLA, TBG, demo, evaluate
from pyterrier_cwla.behaviour import progress
from pyterrier_cwla.rendering.figures import SCORE, STAY, axes_of, inline_svg, page_colours, titled

PICTURE = Path(__file__).parent / "static" / "two_systems.svg"
COLOURS = {"BM25": STAY, "BM25, length ignored": SCORE}
_LABEL = "Two systems: by documents read, BM25 finds fewer relevant documents; by seconds of the user, it finds more"
_DEPTH, _SECONDS = 10, range(0, 301, 15)


def picture() -> str:
    """Return the picture as an SVG file, which has colours for light and for dark mode."""
    with page_colours():
        figure = Figure(figsize=(9.2, 3.4), layout="constrained")
        for (title, draw), ax in zip(_halves().items(), figure.subplots(1, 2), strict=True):
            draw(titled(ax, title))
        return image_file(figure, _LABEL, "two-systems")


def on_a_page() -> str:
    """Return the two halves of the picture as SVG elements in the colours of the page."""
    shown: list[str] = []
    with page_colours():
        for title, draw in _halves().items():
            figure = Figure(figsize=(4.6, 3.4), layout="constrained")
            draw(titled(figure.subplots(), title))
            shown.append(inline_svg(figure, title, f"two-systems-{len(shown)}"))
    return f'<div class="cwla-pair">{"".join(shown)}</div>'


def _halves() -> dict[str, Callable[[Any], None]]:
    """Return functions that draw the halves of the picture into axes, by their titles."""
    made = demo.collection()
    systems = demo.systems(made)
    runs = {name: systems[name](made.topics) for name in COLOURS}
    scores = evaluate(made.qrels, runs, ["nDCG@10", "TBG"])
    documents = CWLA(C=f"prec({_DEPTH})", A="etg", gain="binary")  # unit effort: the time is the number of documents
    by_rank = progress(made.qrels, runs, documents, times=range(_DEPTH)).table
    by_time = progress(made.qrels, runs, TBG, times=_SECONDS).table

    def in_documents(ax: Any) -> None:
        _curves(ax, by_rank, scores["nDCG@10"], shift=1)
        ax.set(xlabel="documents read", ylabel="relevant documents read", xticks=range(1, _DEPTH + 1))

    def in_seconds(ax: Any) -> None:
        _curves(ax, by_time, scores["TBG"])
        ax.set(xlabel="seconds of the user", ylabel="relevant documents saved", xticks=_SECONDS[::4])

    return {
        "Counted in documents: nDCG@10 ranks BM25 lower": in_documents,
        "Counted in seconds: TBG ranks BM25 higher": in_seconds,
    }


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

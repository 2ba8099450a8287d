"""Rich display of tables of lengths and of duplicates in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from ..errors import many
from ..files.arrow_arrays import of_booleans
from ..files.id_columns import Ids
from ..rendering.figures import GAIN
from ..rendering.notebook_pictures import notebook_picture
from .arrays import Array, Floats

_MOST = 1_000_000  # lengths whose distribution is computed
_SHARES = {"shortest": 0.0, "5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95, "longest": 1.0}
_BARS = 40
_CLUSTERS = 5  # clusters of duplicates that are shown
_DOCUMENTS = 3  # documents of a cluster that are shown


def lengths_html(name: str, words: Floats, mean: float) -> str:
    """Return a table of lengths for a notebook: its size, quantiles of the lengths and their distribution.

    Parameters
    ----------
    name : str
        Text of the table.
    words : ndarray of float, shape (n_documents,)
        Lengths.
    mean : float
        Mean length.
    """
    head = f"<p>{escape(name)}</p>"
    if not len(words):
        return head
    step = -(-len(words) // _MOST)
    some = words[::step]
    levels = [float(level) for level in np.quantile(some, list(_SHARES.values()), method="inverted_cdf")]
    levels[0], levels[-1] = float(words.min()), float(words.max())
    note = f"<p><small>Quantiles and picture are those of one document in {step:,}.</small></p>" if step > 1 else ""
    table = _table([list(_SHARES), [f"{level:,.0f}" for level in levels]])
    said = f"Lengths of {many(len(words), 'document')} in words: median {levels[3]:,.0f}, mean {mean:,.0f}."
    return head + table + _histogram(some, mean, said) + note


def _histogram(words: Floats, mean: float, said: str) -> str:
    """Return a histogram of lengths up to their 99 % quantile; the last bar contains the longer documents."""
    top = float(np.quantile(words, 0.99, method="higher"))
    step = max(1, -(-top // _BARS))  # whole words, so that each bar has equally many lengths
    edges = step * np.arange(top // step + 2)
    shares = np.histogram(np.minimum(words, edges[-2]), edges)[0] / len(words)

    def draw(ax: Any) -> None:
        ax.bar(edges[:-1], shares, width=0.9 * np.diff(edges), align="edge", color=GAIN)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8)
        ax.set_xlabel("words (the last bar has all longer documents)", fontsize=8)
        ax.set_ylabel("share of documents", fontsize=8)

    return notebook_picture(draw, (4.2, 1.7), said)


def duplicates_html(name: str, doc_id: Ids, cluster: Array, original: Ids) -> str:
    """Return a table of duplicates for a notebook: its size and its largest clusters.

    Parameters
    ----------
    name : str
        Text of the table.
    doc_id : array of str, shape (n_documents,)
        Document ids, as an Arrow array.
    cluster : ndarray of int, shape (n_documents,)
        Index of the cluster of each document.
    original : array of str, shape (n_clusters,)
        Document ids of the originals, as an Arrow array.
    """
    number = len(original)
    head = f"<p>{escape(name)}: {many(len(doc_id) - number, 'duplicate')} of {many(number, 'document')}</p>"
    if not number:
        return head
    sizes = np.bincount(cluster, minlength=number)
    largest = np.argsort(-sizes, kind="stable")[:_CLUSTERS]
    rows = [["original", "duplicates", "among them"]]
    for code in largest.tolist():
        first = original[code].as_py()
        others = [one for one in doc_id.filter(of_booleans(cluster == code)).to_pylist() if one != first]
        more = ["…"] * (len(others) > _DOCUMENTS)
        rows.append([first, f"{len(others):,}", ", ".join([*others[:_DOCUMENTS], *more])])
    rest = f"<p><small>The {many(len(largest), 'largest cluster')} of {number:,}.</small></p>"
    return head + _table(rows) + (rest if number > len(largest) else "")


def _table(rows: Iterable[Sequence[str]]) -> str:
    """Return an HTML table; the first row is the head."""
    head, *body = [[escape(cell) for cell in row] for row in rows]
    lines = [
        "".join(f"<th>{cell}</th>" for cell in head),
        *("".join(f"<td>{cell}</td>" for cell in row) for row in body),
    ]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"

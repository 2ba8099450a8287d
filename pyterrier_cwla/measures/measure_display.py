"""Rich display of measures in notebooks: name, formula, the choices of the user model, and the discount of ranks."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ..data.alignment import Judgments
from ..data.arrays import Floats
from ..errors import CWLAError
from ..errors.sanitise import harmless
from ..model import scoring
from ..model.language import Spec
from ..model.metric import Metric
from ..rendering.figures import COLOURS
from ..rendering.notebook_pictures import notebook_formula, notebook_picture
from .catalogue import OURS, THEIRS, Row
from .equations import EQUATIONS
from .of_ir_measures import is_computed_here, metric_of

_RANKS = 20  # ranks of the chart
_WORDS = 500  # length of the documents of the chart
_SECONDS = 30  # known cost of all documents
_ROLES = {"gain": "gain of a grade", "effort": "effort", "C": "continuation C", "A": "aggregation A"}
_NORMS = {
    "ideal": "the score of the best ranking",
    "all": "the gain of all relevant documents",
    "mean": "the mean gain of the relevant documents",
    "unlimited": "the score of a list without end of the best documents",
}


def measure_html(measure: Measure) -> str | None:
    """Return a measure for a notebook, or None if this package does not compute it.

    Parameters
    ----------
    measure : ir_measures.Measure
        A measure of this package or of ir_measures.

    Returns
    -------
    str or None
        HTML with name, formula, choices or parameters, and a chart of the discount of ranks. Without matplotlib, the
        formula is LaTeX and there is no chart.
    """
    if not is_computed_here(measure):
        return None
    name = str(measure.NAME)
    equation = EQUATIONS.get(name)
    row = {**OURS, **THEIRS}.get(name)
    label = getattr(measure, "label", None)
    head = f"<b>{escape(str(measure))}</b>" + (f" = <code>{escape(repr(measure))}</code>" if label else "")
    parts = [f"<p>{head}{': ' + escape(equation.title) if equation else ''}</p>"]
    if equation is not None:
        parts.append(notebook_formula(equation.latex))
    parts.append(f"<p>{escape(row.says if row else getattr(measure, 'SHORT_DESC', None) or '')}</p>")
    metric = None
    if row is not None:
        with suppress(CWLAError, AssertionError):  # a required parameter is missing
            metric = metric_of(measure)
    rows = list(_choices(metric, row) if metric is not None and row is not None else _parameters(measure))
    cells = "".join(
        f'<tr><th style="text-align: left">{escape(head)}</th><td style="text-align: left">{text}</td></tr>'
        for head, text in rows
    )
    parts.append(f"<table>{cells}</table>" if cells else "")
    if metric is not None:
        parts.append(_chart(metric))
    return harmless(f'<div class="cwla-measure">{"".join(parts)}</div>')


def _choices(metric: Metric, row: Row) -> Iterator[tuple[str, str]]:
    """Yield the choices of a metric that are not trivial, unit and source, as HTML."""
    for role, head in _ROLES.items():
        yield head, _part(getattr(metric, role))
    if metric.norm != "none":
        yield "divided by", escape(_NORMS[metric.norm])
    if metric.end == "stop":
        yield "end", "all users leave at the last result"
    elif metric.end != "open":
        yield "end", f"all users leave at rank {metric.end:,}"
    if metric.cutoff is not None:
        yield "results scored", f"the first {metric.cutoff:,}"
    yield "unit, range", escape(f"{row.units}, {row.range}")
    yield "source", escape(row.source)


def _part(spec: Spec) -> str:
    says = inspect.cleandoc(spec.part.__doc__ or "").partition("\n")[0].removeprefix("Return ").replace("``", "")
    return f"<code>{escape(str(spec))}</code>" + (f" — {escape(says)}" if says else "")


def _parameters(measure: Measure) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a measure, as HTML."""
    for name, info in measure.SUPPORTED_PARAMS.items():
        if name in measure.params:
            yield name, f"<code>{escape(str(measure.params[name]))}</code>"
        elif info.required:
            yield name, f"to be given: {escape(info.desc or 'a value')}"


def discounts(metric: Metric) -> Floats:
    """Return the score of lists with one relevant document, at rank 1, 2, …, relative to the first of these.

    The document has the best grade, and all documents have 500 words and cost 30 seconds.

    Raises
    ------
    CWLAError
        If the metric has no such score.
    """
    metric = replace(metric, lengths=None, default_lengths=None, duplicates=None, doc_seconds=None)
    grade = 1.0
    with suppress(CWLAError):  # no highest grade
        grade = metric.best[1]
    ids = [f"{number:03}" for number in range(_RANKS)]
    scores = {doc_id: float(_RANKS - at) for at, doc_id in enumerate(ids)}
    judged = Judgments({q: {d: grade if d == q else 0.0 for d in ids} for q in ids})
    lists: Any = [
        {"query_id": q, "doc_id": d, "score": scores[d], "doc_length": float(_WORDS)} for q in ids for d in ids
    ]
    known = pd.DataFrame(lists).assign(doc_seconds=float(_SECONDS))
    found = scoring.score(metric, judged.rows(known).rankings(all_judged=True))
    relative: Floats = found / found[0]
    return relative


def _chart(metric: Metric) -> str:
    """Return a bar chart of the discounts, or an empty text if there are none."""
    try:
        with np.errstate(all="ignore"):
            weights = discounts(metric)
    except CWLAError:
        return ""
    if not np.isfinite(weights).all():
        return ""
    ranks = np.arange(1, _RANKS + 1)

    def draw(ax: Any) -> None:
        ax.bar(ranks, weights, width=0.75, color=COLOURS[0])
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_xticks([1, 5, 10, 15, 20])
        ax.tick_params(labelsize=8)
        ax.set_xlabel("rank of the only relevant document", fontsize=8)
        ax.set_ylabel("score, relative\nto rank 1", fontsize=8)

    words = f" Documents have {_WORDS} words." if metric.needs_words else ""
    words += f" Documents cost {_SECONDS} seconds." if metric.needs_seconds else ""
    said = ", ".join(f"{weights[rank - 1]:.2f} at rank {rank}" for rank in (1, 5, 10, 20))
    label = f"Score of a list with one relevant document, relative to that at rank 1: {said}."
    picture = notebook_picture(draw, (4.2, 1.5), label)
    return f"{picture}<p><small>{escape(label + words)}</small></p>" if picture else ""

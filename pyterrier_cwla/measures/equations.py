"""Full names and formulas of measures, and how notebooks show them."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from ir_measures.measures import Measure

from ..data.alignment import Judgments
from ..data.columns import Floats
from ..errors import CWLAError
from ..errors.sanitise import harmless
from ..model import scoring
from ..model.language import Spec
from ..model.metric import Metric
from ..rendering.figures import COLOURS, notebook_formula, notebook_picture, small_axes
from .catalogue import Row
from .computing import Declaration, Equation
from .declarations import declaration_of, metric_of, row_of

_FILE = Path(__file__).with_name("descriptions.toml")
_RANKS = 20  # ranks of the chart
_WORDS = 500  # length of the documents of the chart
_COST = 30  # known cost of all documents
_ROLES = {"gain": "gain of a grade", "effort": "effort", "C": "continuation C", "A": "aggregation A"}


@cache
def descriptions() -> dict[str, Any]:
    """Return the tables of the file descriptions.toml: texts about measures, their parameters and symbols."""
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


def equation_of(declaration: Declaration) -> Equation | None:
    """Return the full name and the usual formula of a measure, from its declaration or the file descriptions.toml."""
    described = descriptions()["measures"].get(declaration.name)
    if declaration.equation or described is None:
        return declaration.equation
    known = descriptions()["symbols"]
    symbols = "; ".join(known[one] if " " not in one else one for one in described["symbols"])
    note = f". {described['note']}" if "note" in described else ""
    latex, symbols = (" ".join(text.split()) for text in (described["latex"], symbols + note))
    return Equation(described["title"], latex, symbols)


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
    declaration = declaration_of(measure)
    if declaration is None:
        return None
    equation, row = equation_of(declaration), row_of(measure)
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
        spec: Spec = getattr(metric, role)
        says = inspect.cleandoc(spec.part.__doc__ or "").partition("\n")[0].removeprefix("Return ").replace("``", "")
        yield head, f"<code>{escape(str(spec))}</code>" + (f" — {escape(says)}" if says else "")
    if metric.norm != "none":
        yield "divided by", escape(descriptions()["norms"][metric.norm])
    if metric.end == "stop":
        yield "end", "all users leave at the last result"
    elif metric.end != "open":
        yield "end", f"all users leave at rank {metric.end:,}"
    if metric.cutoff is not None:
        yield "results scored", f"the first {metric.cutoff:,}"
    yield "unit, range", escape(f"{row.units}, {row.range}")
    yield "source", escape(row.source)


def _parameters(measure: Measure) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a measure, as HTML."""
    for name, info in measure.SUPPORTED_PARAMS.items():
        if name in measure.params:
            yield name, f"<code>{escape(str(measure.params[name]))}</code>"
        elif info.required:
            yield name, f"to be given: {escape(info.desc)}"


def discounts(metric: Metric) -> Floats:
    """Return the score of lists with one relevant document, at rank 1, 2, …, relative to the first of these.

    The document has the best grade, and all documents have 500 words and cost 30 seconds.

    Raises
    ------
    CWLAError
        If the metric has no such score.
    """
    metric = replace(metric, lengths=None, default_lengths=None, duplicates=None, costs=None)
    grade = 1.0
    with suppress(CWLAError):  # no highest grade
        grade = metric.best[1]
    ids = [f"{number:03}" for number in range(_RANKS)]
    scores = {doc_id: float(_RANKS - at) for at, doc_id in enumerate(ids)}
    judged = Judgments({q: {d: grade if d == q else 0.0 for d in ids} for q in ids})
    lists: Any = [
        {"query_id": q, "doc_id": d, "score": scores[d], "doc_length": float(_WORDS)} for q in ids for d in ids
    ]
    import pandas as pd

    known = pd.DataFrame(lists).assign(doc_cost=float(_COST))
    found = scoring.score(metric, judged.align(known, all_judged=True))
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
        ax.set_xticks([1, 5, 10, 15, 20])
        small_axes(ax, "rank of the only relevant document", "score, relative\nto rank 1")

    words = f" Documents have {_WORDS} words." if metric.needs_words else ""
    words += f" Documents cost {_COST} {metric.effort_unit}." if metric.needs_cost else ""
    said = ", ".join(f"{weights[rank - 1]:.2f} at rank {rank}" for rank in (1, 5, 10, 20))
    label = f"Score of a list with one relevant document, relative to that at rank 1: {said}."
    picture = notebook_picture(draw, (4.2, 1.5), label)
    return f"{picture}<p><small>{escape(label + words)}</small></p>" if picture else ""

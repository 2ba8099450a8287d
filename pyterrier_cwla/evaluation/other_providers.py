"""Scores by other providers of ir_measures, for measures that are not computed here, such as those of users."""

from __future__ import annotations

from typing import Any

import ir_measures
import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ..data.alignment import Judgments
from ..data.columns import Columns
from ..errors import BadParameter, CWLAError, UnknownSpec
from ..measures.named import measures_of
from ..measures.of_ir_measures import refuse_missing_parameters
from ..measures.provider import CWLAProvider, refuse_undefined
from ..measures.wrappers import innermost
from .significance import Array


def computed_somewhere(measures: Any) -> list[Measure]:
    """Return measures from texts or objects, if this package or ir_measures' default pipeline computes them.

    Raises
    ------
    UnknownSpec
        If no installed provider computes a measure.
    BadParameter
        If a parameter of a measure is missing that has no default value.
    """
    wanted = measures_of(measures)
    for measure in wanted:
        refuse_missing_parameters(innermost(measure))
        if not (CWLAProvider().supports(measure) or ir_measures.DefaultPipeline.supports(measure)):
            raise UnknownSpec(f"{measure}: no installed provider computes it.")
    return wanted


def by_other_providers(measures: list[Measure], judgments: Judgments, run: Columns) -> dict[Measure, Array]:
    """Return the values of judged queries per measure, in the order of ``judgments.qids``.

    Raises
    ------
    BadParameter
        If a provider fails or returns no finite value for a query.
    """
    if not measures:
        return {}
    qrels, frame = _frame(judgments.columns, "relevance"), _frame(run, "score")
    return {measure: _values(measure, judgments.qids, qrels, frame) for measure in measures}


def _values(measure: Measure, qids: list[str], qrels: pd.DataFrame, run: pd.DataFrame) -> Array:
    """Return the values of one measure; for several measures, ir_measures would replace missing values by 0."""
    try:
        values = {found.query_id: found.value for found in ir_measures.iter_calc([measure], qrels, run)}
    except CWLAError:
        raise
    except Exception as error:
        raise BadParameter(f"ir_measures cannot compute {measure}: {error}{_of_floats(qrels)}") from error
    found = np.array([values.get(qid, np.nan) for qid in qids], float)
    refuse_undefined(measure, found, qids)
    return found


def _of_floats(qrels: pd.DataFrame) -> str:
    """Return the first grade that is no integer, for errors of providers that accept integers only."""
    row = next(qrels[qrels["relevance"] % 1 != 0].itertuples(), None)
    if row is None:
        return ""
    return (
        f" Document {row.doc_id!r} of query {row.query_id!r} has grade {row.relevance:g}, and many providers accept"
        " integer grades only: round the grades, or leave the measure out."
    )


def _frame(columns: Columns, value: str) -> pd.DataFrame:
    ids = {"query_id": columns.query_id, "doc_id": columns.doc_id, "iteration": columns.iteration}
    texts = {name: column.to_pandas().astype("str") for name, column in ids.items() if column is not None}
    values = columns.value
    if value == "relevance" and values.dtype.kind == "f" and not (values % 1).any():
        values = values.astype(np.int64)  # trec_eval accepts integers only
    return pd.DataFrame({**texts, value: values})

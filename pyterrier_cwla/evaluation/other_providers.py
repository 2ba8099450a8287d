"""Measures that other providers of ir_measures compute, such as SetF, IPrec, Compat and alpha_nDCG."""

from __future__ import annotations

from typing import Any

import ir_measures
import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ..data.alignment import Judgments
from ..data.columns import Columns
from ..errors import BadParameter, CWLAError, UnknownSpec
from ..measures.parsing import measures_of
from ..measures.provider import CWLAProvider

Array = np.ndarray


def computed_somewhere(measures: Any) -> list[Measure]:
    """Measures from text or objects that are computed here or by ir_measures' default pipeline.

    Raises
    ------
    UnknownSpec
        If no provider that is installed computes a measure.
    """
    wanted = measures_of(measures)
    for measure in wanted:
        if not (CWLAProvider().supports(measure) or ir_measures.DefaultPipeline.supports(measure)):
            raise UnknownSpec(f"{measure}: no provider that is installed computes it.")
    return wanted


def by_other_providers(measures: list[Measure], judgments: Judgments, run: Columns) -> dict[Measure, Array]:
    """Per measure one value per judged query, in the order of ``judgments.qids``.

    Raises
    ------
    BadParameter
        If a provider fails, or has no finite value for a query.
    """
    if not measures:
        return {}
    qrels, frame = _frame(judgments.columns, "relevance"), _frame(run, "score")
    return {measure: _values(measure, judgments.qids, qrels, frame) for measure in measures}


def _values(measure: Measure, qids: list[str], qrels: pd.DataFrame, run: pd.DataFrame) -> Array:
    """The values of one measure; alone, since beside others ir_measures makes 0 of values that there are not."""
    try:
        values = {found.query_id: found.value for found in ir_measures.iter_calc([measure], qrels, run)}
    except CWLAError:
        raise
    except Exception as error:
        raise BadParameter(f"ir_measures cannot compute {measure}: {error}") from error
    for qid in qids:
        if np.isnan(values.get(qid, np.nan)):
            raise BadParameter(f"{measure} has no value for query {qid!r}: leave the measure or the query out.")
    return np.array([values[qid] for qid in qids], float)


def _frame(columns: Columns, value: str) -> pd.DataFrame:
    ids = {"query_id": columns.query_id, "doc_id": columns.doc_id, "iteration": columns.iteration}
    texts = {name: column.to_pandas().astype("str") for name, column in ids.items() if column is not None}
    return pd.DataFrame({**texts, value: columns.value})

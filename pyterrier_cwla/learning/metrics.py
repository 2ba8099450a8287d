"""Measures of arrays of labels and predictions, as in scikit-learn, by ``measure_score``."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
from ir_measures.measures import Measure
from numpy.typing import ArrayLike, NDArray

from ..data.columns import Array
from ..errors import BadJudgments, BadParameter, CWLAError, NotPassed, UnknownSpec, near_parameter
from ..evaluation.run_comparison import by_other_providers, computed_somewhere
from ..files.arrow_arrays import unwrapped
from ..measures.computing import Needs
from ..measures.declarations import better_of, computation_of, needs_of
from ..measures.named import measure_of
from ..measures.provider import CWLAEvaluator, aggregated, refuse_undefined
from ..measures.wrappers import innermost
from .labelled_rows import Samples
from .row_columns import names_of_chances, of_rows, scores


def measure_score(
    measure: str | Measure,
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    doc_length: ArrayLike | None = None,
    docno: ArrayLike | None = None,
    average: bool = True,
    **unknown: Any,
) -> float | NDArray[np.float64]:
    """Return the mean over queries of a measure of this package or of ir_measures.

    Parameters
    ----------
    measure : str or Measure
        The measure, such as ``"nDCG@10"``.
    y_true : array_like
        The grade of each document, NaN for unjudged documents: a matrix of shape (n_queries, n_documents), one list
        per query, or with ``qid`` an array of shape (n_rows,). In a matrix, NaN in both ``y_true`` and ``y_score`` is
        padding for shorter queries.
    y_score : array_like
        The predicted score of each document, in the form of ``y_true``.
    qid : array_like, shape (n_rows,), optional
        The query of each row (not the number of rows per query).
    doc_length : array_like, optional
        The number of words of each document, in the form of ``y_true``; needed if the effort depends on it.
    docno : array_like, optional
        The id of each document, in the form of ``y_true``; needed for tables of lengths or duplicates. Without it,
        documents with equal scores keep their order.
    average : bool, default=True
        Whether to return the mean over queries.
    **unknown
        Other names are an error, which suggests the parameters above.

    Returns
    -------
    float or ndarray, shape (n_queries,)
        The mean over the queries with judged documents (the sum for counts such as NumRet, as in ir_measures). With
        ``average=False``, one value per query in the order of their first documents; NaN for queries without judged
        documents.

    Raises
    ------
    BadParameter, BadJudgments, MissingLength, UnknownSpec
        If the values cannot be scored.

    Examples
    --------
    >>> measure_score("nDCG@2", [[0, 2, 1], [1, 0, 0]], [[0.1, 0.9, 0.5], [0.2, 0.7, 0.1]], average=False).round(4)
    array([1.    , 0.6309])
    >>> measure_score("P@1", [0, 2, 1, 0], [0.1, 0.9, 0.2, 0.7], qid=["a", "a", "b", "b"])
    0.5
    """
    for name in unknown:
        way_out = near_parameter(name, ("qid", "doc_length", "docno", "average"))
        if way_out.startswith("Write "):
            way_out += f" It has one value per row{' (not the sizes of groups)' * ('qid' in way_out)}."
        raise BadParameter(f"measure_score has no parameter {name!r}. {way_out}")
    if any(isinstance(values, str | Measure) for values in (y_true, y_score)):
        raise BadParameter("the measure comes first: measure_score('nDCG@10', y_true, y_score).")
    [one] = computable([measure_of(measure)])
    samples, score, qids = _paired(y_true, y_score, qid, doc_length, docno)
    values = per_query([one], samples, score)[one]
    if average:
        return aggregated(one, values)
    found = dict(zip(samples.judgments.qids, values.tolist(), strict=True))
    return np.array([found.get(qid, np.nan) for qid in qids])


def computable(measures: Any) -> list[Measure]:
    """Return measures from their texts or objects, computed here or by the default pipeline of ir_measures."""
    wanted = computed_somewhere(measures)
    for measure in wanted:
        if ir_measures.pyndeval.supports(measure):  # pyndeval computes only measures of intents
            raise UnknownSpec(f"{measure} depends on the intents of a query, and rows with one label have none.")
    return wanted


def per_query(measures: list[Measure], samples: Samples, score: Any, by_level: bool = False) -> dict[Measure, Array]:
    """Return one value per judged query for each measure, in the order of ``samples.judgments.qids``.

    Errors about missing data name levels of an index if `by_level` is true, else keyword arguments.
    """
    if not samples.judgments.qids:
        raise BadJudgments("no row is judged.")
    rows = samples.judgments.scored(score)
    needs: dict[Measure, Needs] = {}
    for measure in measures:
        with suppress(CWLAError):  # a measure or parameter that only other providers support
            needs[measure] = computation_of(measure).needs
    for measure, needed in needs.items():
        _check_known(measure, needed, samples, by_level)
    found = CWLAEvaluator(needs, samples.judgments).tables([rows])[0] if needs else {}
    theirs = [measure for measure in measures if measure not in found]
    if theirs:
        found |= by_other_providers(theirs, samples.text_judgments, samples.run(score))
    for measure, values in found.items():
        if np.isnan(values).any():
            refuse_undefined(measure, values, samples.text_judgments.qids)
    return {measure: found[measure] for measure in measures}


def greater_is_better_of(measure: Measure, given: bool | None) -> bool:
    """Return the choice that is given, or else False only for measures without a user model of which less is better.

    The default for costs of user models, such as A='effort', is True.
    """
    if given is not None:
        return given
    return better_of(measure) != "lower" or needs_of(innermost(measure)).user_model


def _check_known(measure: Measure, needs: Needs, samples: Samples, by_level: bool) -> None:
    """Raise an error if data of documents are missing that a measure needs."""
    length, docno = (f"the index level {name!r}" if by_level else f"{name}=" for name in ("doc_length", "docno"))
    by_id = samples.docno is not None
    if samples.doc_length is None and (needs.lengths == "run" or (needs.lengths == "default" and not by_id)):
        raise NotPassed(
            f"{measure} needs the length of every document: pass {length}, the number of words of each row. Or pass"
            f" {docno}, and give the measure a table with lengths= or all measures one with register_lengths(words)."
        )
    if needs.duplicates == "run":
        raise BadParameter(f"{measure}: rows have no clusters of duplicates: give duplicates= a table and pass docno=.")
    if needs.costs == "run":
        raise BadParameter(f"{measure}: rows have no known costs: give costs= a table and pass docno=.")
    if needs.lengths == "default" and (needs.duplicates, needs.costs) == ("none", "none"):  # rows have lengths or ids
        return
    if needs.tables and not by_id:
        raise NotPassed(f"{measure} needs the ids of documents for its table: pass {docno}, the document of each row.")


def _paired(y_true: Any, y_score: Any, qid: Any, doc_length: Any, docno: Any) -> tuple[Samples, Array, list[str]]:
    """Return the rows as flat arrays, their scores, and the queries in order."""
    label, sizes = (y_true, None) if names_of_chances(y_true) else _flat(y_true, "y_true")
    flat = {}
    for name, values in {"y_score": y_score, "doc_length": doc_length, "docno": docno}.items():
        if values is not None:
            flat[name], others = _flat(values, name)
            if others != sizes or len(flat[name]) != len(label):
                raise BadParameter(
                    f"{name} must have the form of y_true: {_form(label, sizes)}, not {_form(flat[name], others)}."
                )
    score = scores(flat.pop("y_score"))
    if sizes is None:
        if qid is None:
            raise BadParameter(
                "y_true is one array: pass qid=, the query of each row. If all rows belong to one query, pass [y_true]"
                " and [y_score]."
            )
        qid = of_rows(qid)
        if qid.shape != (len(label),):
            raise BadParameter(f"qid must be the query of each of {len(label):,} rows (not the sizes of queries).")
        samples = Samples.of(label, {"qid": qid, **flat}, uncertain=True)
        return samples, score, samples.queries[1]
    if qid is not None:
        raise BadParameter("y_true has one list per query: remove qid=, or pass one array of all rows.")
    known = {"qid": np.repeat(np.arange(len(sizes)), sizes), **flat}
    there = ~(pd.isna(label) & np.isnan(score))
    samples = Samples.of(label[there], {name: values[there] for name, values in known.items()})
    return samples, score[there], [str(query) for query in range(len(sizes))]


def _flat(values: Any, name: str) -> tuple[Array, list[int] | None]:
    """Return all values as a flat array and, for a matrix or lists, the number of values per query."""
    values = unwrapped(values)
    if np.isscalar(values):
        raise BadParameter(f"{name} is one value: pass one list per query, or one array with qid=.")
    if not isinstance(values, np.ndarray) or values.dtype == object:
        values = list(values)
        nested = [hasattr(one, "__len__") and not isinstance(one, str) and getattr(one, "ndim", 1) for one in values]
        if any(nested):
            lists = [of_rows(one) for one in values]
            if any(one.ndim != 1 for one in lists):
                raise BadParameter(f"{name} mixes lists and single values: pass one list per query.")
            several = any(one.dtype.kind in "US" for one in lists)  # possibly texts and NaN
            return np.concatenate(lists, dtype=object if several else None), [len(one) for one in lists]
        values = of_rows(values)
    if values.ndim > 2:
        raise BadParameter(f"{name} has the shape {values.shape}: pass one row per query.")
    return values.ravel(), [values.shape[1]] * len(values) if values.ndim == 2 else None


def _form(flat: Array, sizes: list[int] | None) -> str:
    return f"{len(flat):,} values" + ("" if sizes is None else f" in {len(sizes):,} lists")

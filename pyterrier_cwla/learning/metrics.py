"""Scores from labels and predictions, as arrays in scikit-learn's manner: ``tbg_score(y_true, y_score, …)``."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
from ir_measures.measures import Measure
from numpy.typing import ArrayLike, NDArray

from ..errors import BadJudgments, BadParameter, CWLAError, NotPassed, UnknownSpec
from ..evaluation.other_providers import by_other_providers, computed_somewhere
from ..measures.computing import Needs
from ..measures.named import CWLA, TBG
from ..measures.of_ir_measures import computation_of
from ..measures.provider import PreparedMeasures, aggregated
from .labelled_rows import Samples
from .row_columns import scores

Array = np.ndarray


def measure_score(
    measure: str | Measure,
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    doc_length: ArrayLike | None = None,
    docno: ArrayLike | None = None,
    average: bool = True,
) -> float | NDArray[np.float64]:
    """Return the mean over queries of a measure, of this package or any other that ir_measures computes.

    Parameters
    ----------
    measure : str or Measure
        The measure, such as ``"nDCG@10"``.
    y_true : array_like
        The grade of each document, NaN where it is unjudged: a matrix of shape (n_queries, n_documents), lists of any
        lengths, one for each query, or with ``qid`` one array of shape (n_rows,). In a matrix, NaN in both ``y_true``
        and ``y_score`` pads shorter queries.
    y_score : array_like
        What a model predicts for each document, in the form of ``y_true``.
    qid : array_like, shape (n_rows,), optional
        The query of each row (not how many rows each query has).
    doc_length : array_like, optional
        The words of each document, in the form of ``y_true``; needed where time is the effort.
    docno : array_like, optional
        The id of each document, in the form of ``y_true``; needed for tables of lengths or duplicates. Without it the
        earlier of two equal scores comes first.
    average : bool
        Whether to return one value for all queries.

    Returns
    -------
    float or ndarray, shape (n_queries,)
        The mean over the queries of which anything is judged (counts such as NumRet are summed, as ir_measures does).
        With ``average=False`` one value for each query, in the order in which queries first come, NaN where nothing is
        judged.

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
    if any(isinstance(values, str | Measure) for values in (y_true, y_score)):
        raise BadParameter("the measure comes first: measure_score('nDCG@10', y_true, y_score).")
    [one] = computable([measure])
    samples, score, qids = _paired(y_true, y_score, qid, doc_length, docno)
    values = per_query([one], samples, score)[one]
    if average:
        return aggregated(one, values)
    found = dict(zip(samples.judgments.qids, values.tolist(), strict=True))
    return np.array([found.get(qid, np.nan) for qid in qids])


def tbg_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    doc_length: ArrayLike | None = None,
    docno: ArrayLike | None = None,
    average: bool = True,
    **parameters: Any,
) -> float | NDArray[np.float64]:
    """Return time-biased gain, Σ_k g_k·D(T(k)), in relevant documents saved.

    Parameters
    ----------
    y_true, y_score, qid, doc_length, docno, average
        As for :func:`measure_score`.
    **parameters
        The parameters of ``TBG``.

    Returns
    -------
    float or ndarray, shape (n_queries,)
        As of :func:`measure_score`.

    References
    ----------
    Smucker and Clarke (2012), Eq. 1.

    Examples
    --------
    >>> round(tbg_score([[1, 0, 1]], [[3, 2, 1]], doc_length=[[100, 250, 700]], half_life=120), 6)
    0.932492
    """
    measure = TBG(**parameters)
    return measure_score(measure, y_true, y_score, qid=qid, doc_length=doc_length, docno=docno, average=average)


def err_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    docno: ArrayLike | None = None,
    max_rel: float = 4,
    cutoff: int | None = None,
    average: bool = True,
) -> float | NDArray[np.float64]:
    """Return expected reciprocal rank, Σ_i (1/i)·R_i·Π_{j<i} (1 − R_j), where R = (2^g − 1)/2^max_rel.

    Parameters
    ----------
    y_true, y_score, qid, docno, average
        As for :func:`measure_score`.
    max_rel : float
        The highest grade that there can be; 4 as in gdeval and ir_measures.
    cutoff : int, optional
        How many documents of each ranking count.

    Returns
    -------
    float or ndarray, shape (n_queries,)
        As of :func:`measure_score`.

    References
    ----------
    Chapelle et al. (2009), Eq. 5.

    Examples
    --------
    >>> err_score([[0, 2], [1, 0]], [[1, 2], [1, 2]], max_rel=2, average=False)
    array([0.75 , 0.125])
    """
    measure = CWLA(C="rr", A="err", gain="exponential", max_rel=max_rel, cutoff=cutoff)
    return measure_score(measure, y_true, y_score, qid=qid, docno=docno, average=average)


def cwla_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    C: Any,
    A: Any,
    qid: ArrayLike | None = None,
    doc_length: ArrayLike | None = None,
    docno: ArrayLike | None = None,
    average: bool = True,
    **parameters: Any,
) -> float | NDArray[np.float64]:
    """Return Σ L(i)·A(i) of a continuation C and an aggregation A.

    Parameters
    ----------
    y_true, y_score, qid, doc_length, docno, average
        As for :func:`measure_score`.
    C, A
        The continuation and the aggregation, as for ``CWLA``.
    **parameters
        The other parameters of ``CWLA``.

    Returns
    -------
    float or ndarray, shape (n_queries,)
        As of :func:`measure_score`.

    References
    ----------
    Moffat et al. (2022), Eq. 15.

    Examples
    --------
    >>> cwla_score([[0, 1, 1]], [[2, 3, 1]], C="rbp(0.5)", A="erg", max_rel=1)
    0.625
    """
    measure = CWLA(C=C, A=A, **parameters)
    return measure_score(measure, y_true, y_score, qid=qid, doc_length=doc_length, docno=docno, average=average)


def computable(measures: Any) -> list[Measure]:
    """Measures from text or objects that are computed here or by ir_measures' default pipeline."""
    wanted = computed_somewhere(measures)
    for measure in wanted:
        if ir_measures.pyndeval.supports(measure):  # which computes measures of intents and no others
            raise UnknownSpec(f"{measure} looks at the intents of a query, which rows with one label each do not have.")
    return wanted


def per_query(measures: list[Measure], samples: Samples, score: Any) -> dict[Measure, Array]:
    """Per measure one value per judged query, in the order of ``samples.judgments.qids``."""
    if not samples.judgments.qids:
        raise BadJudgments("no row is judged, so that there is nothing to score.")
    rows = samples.judgments.rows(score)
    needs: dict[Measure, Needs] = {}
    for measure in measures:
        with suppress(CWLAError):  # a measure of other providers, or such a parameter
            needs[measure] = computation_of(measure).needs
    for measure, needed in needs.items():
        _check_known(measure, needed, samples)
    found = PreparedMeasures(needs, samples.judgments).tables([rows])[0] if needs else {}
    theirs = [measure for measure in measures if measure not in found]
    if theirs:
        found |= by_other_providers(theirs, samples.text_judgments, samples.run(score))
    return {measure: found[measure] for measure in measures}


def _check_known(measure: Measure, needs: Needs, samples: Samples) -> None:
    """What a measure needs to know of documents must be there, with a word on how it gets there."""
    if needs.lengths == "run" and samples.doc_length is None:
        raise NotPassed(
            f"{measure} needs the length of every document: pass doc_length=, the words of each row; or give the"
            " measure lengths=, a table of them, and pass docno=."
        )
    if needs.duplicates == "run":
        raise BadParameter(f"{measure}: rows do not say whom they repeat: give duplicates= a table, and pass docno=.")
    if needs.tables and samples.docno is None:
        raise NotPassed(f"{measure} looks documents up in a table: pass docno=, the document of each row.")


def _paired(y_true: Any, y_score: Any, qid: Any, doc_length: Any, docno: Any) -> tuple[Samples, Array, list[str]]:
    """Rows one after the other, whatever form they came in, their scores, and the queries in order."""
    label, sizes = _flat(y_true, "y_true")
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
                "y_true is one array: pass qid=, the query of each row; or, if all rows are of one query, [y_true]"
                " and [y_score]."
            )
        qid = np.asarray(qid)
        if qid.shape != label.shape:
            raise BadParameter(f"qid must be the query of each of {len(label):,} rows (not the sizes of queries).")
        samples = Samples.of(label, {"qid": qid, **flat})
        return samples, score, samples.queries[1]
    if qid is not None:
        raise BadParameter("y_true has a list for each query: leave qid= out, or give one array of all rows.")
    known = {"qid": np.repeat(np.arange(len(sizes)), sizes), **flat}
    there = ~(pd.isna(label) & np.isnan(score))
    samples = Samples.of(label[there], {name: values[there] for name, values in known.items()})
    return samples, score[there], [str(query) for query in range(len(sizes))]


def _flat(values: Any, name: str) -> tuple[Array, list[int] | None]:
    """All values one after the other and, of a matrix or of lists, how many each query has."""
    values = values.to_numpy() if hasattr(values, "to_numpy") else values
    if np.isscalar(values):
        raise BadParameter(f"{name} is one value: give a list for each query, or one array with qid=.")
    if not isinstance(values, np.ndarray) or values.dtype == object:
        values = list(values)
        nested = [hasattr(one, "__len__") and not isinstance(one, str) for one in values]
        if any(nested):
            if not all(nested):
                raise BadParameter(f"{name} has lists beside single values: give one list for each query.")
            lists = [np.asarray(one) for one in values]
            return np.concatenate(lists), [len(one) for one in lists]
        values = np.asarray(values)
    if values.ndim > 2:
        raise BadParameter(f"{name} has the shape {values.shape}: give one row for each query.")
    return values.ravel(), [values.shape[1]] * len(values) if values.ndim == 2 else None


def _form(flat: Array, sizes: list[int] | None) -> str:
    return f"{len(flat):,} values" + ("" if sizes is None else f" in {len(sizes):,} lists")

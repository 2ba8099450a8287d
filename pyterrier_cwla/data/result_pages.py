"""Result pages of elements of several types, such as web results, images and ads, with own costs and gains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadJudgments, BadParameter, BadRun, CWLAError, near, shown
from ..files.atomic import AnyPath
from ..files.formats import read_qrels, read_table
from ..files.table_readers import ELEMENT_COSTS, PAGES

if TYPE_CHECKING:
    import pandas as pd

IDS = ("doc_id", "docno")
QUERIES = ("query_id", "qid")


def read_result_pages(path: AnyPath) -> pd.DataFrame:
    r"""Read a run whose second field is the type of each element, in the format of cwl_eval.

    Parameters
    ----------
    path : path
        Text file of lines ``topic element docno rank score tag``, plain or compressed by gzip or zstd. As in cwl_eval,
        the order of the lines is the order on the page; ranks and scores in the file are not used.

    Returns
    -------
    DataFrame
        Columns query_id, doc_id, score (−1 for the first element of a query, −2 for the second, …) and element.

    Raises
    ------
    MalformedFile
        If the file does not have this format, or has a document twice in a query.

    References
    ----------
    Azzopardi, Thomas and Moffat (2019).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pyterrier_cwla.data import read_result_pages
    >>> file = pathlib.Path(tempfile.mkdtemp(), "pages.txt")
    >>> _ = file.write_text("1 web d7 1 9.5 x\n1 image d2 2 9.1 x\n")
    >>> read_result_pages(file)[["doc_id", "score", "element"]].values.tolist()
    [['d7', -1.0, 'web'], ['d2', -2.0, 'image']]
    """
    pages: pd.DataFrame = read_table(path, PAGES).to_pandas()
    place = pages.groupby("query_id", sort=False).cumcount()
    return pages.assign(score=-1.0 - place)[["query_id", "doc_id", "score", "element"]]


def read_element_costs(path: AnyPath) -> dict[str, float]:
    r"""Read the cost of each type of element from a cost file of cwl_eval.

    Parameters
    ----------
    path : path
        Text file of lines ``element cost``.

    Returns
    -------
    dict
        Cost of each type.

    Raises
    ------
    MalformedFile
        If the file does not have this format, if a cost is negative or infinite, or if a type has two costs.

    References
    ----------
    Azzopardi, Thomas and Moffat (2019).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pyterrier_cwla.data import read_element_costs
    >>> file = pathlib.Path(tempfile.mkdtemp(), "costs.txt")
    >>> _ = file.write_text("web 12.5\nimage 2\n")
    >>> read_element_costs(file)
    {'web': 12.5, 'image': 2.0}
    """
    table = read_table(path, ELEMENT_COSTS)
    return dict(zip(table["doc_id"].to_pylist(), table["doc_cost"].to_pylist(), strict=True))


def read_element_gains(path: AnyPath, max_gain: float = 1.0) -> pd.DataFrame:
    r"""Read a gain file of cwl_eval: judgments whose grades are gains. Measures use them with ``gain="raw"``.

    Parameters
    ----------
    path : path
        Text file of lines ``topic iteration docno gain``.
    max_gain : float, default=1.0
        Highest gain that is allowed; the lowest is 0.

    Returns
    -------
    DataFrame
        Columns query_id, doc_id and relevance (float).

    Raises
    ------
    MalformedFile
        If the file does not have this format, or has a document twice for a query.
    BadJudgments
        If a gain is below 0 or above `max_gain`.

    References
    ----------
    Azzopardi, Thomas and Moffat (2019).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pyterrier_cwla.data import read_element_gains
    >>> file = pathlib.Path(tempfile.mkdtemp(), "gains.txt")
    >>> _ = file.write_text("1 0 d7 0.75\n1 0 d2 0\n")
    >>> read_element_gains(file).relevance.tolist()
    [0.75, 0.0]
    """
    gains: pd.DataFrame = read_qrels(path).select(["query_id", "doc_id", "relevance"]).to_pandas()
    gains = gains.assign(relevance=gains["relevance"].astype(float))
    outside = np.flatnonzero(~gains["relevance"].between(0, max_gain))
    if len(outside):
        row = gains.iloc[int(outside[0])]
        raise BadJudgments(
            f"{path}: topic {row.query_id!r}: the gain of {row.doc_id!r} is {row.relevance:g}: gains are from 0 to"
            f" max_gain={max_gain:g}. Correct the file, or give a higher max_gain=."
        )
    return gains


def with_element_costs(run: pd.DataFrame, costs: Mapping[str, float], elements: Any = None) -> pd.DataFrame:
    """Add the column ``doc_cost`` to a run: the cost of the type of each element.

    Parameters
    ----------
    run : DataFrame
        Run with the column ``element``, or with ids of documents (``doc_id`` or ``docno``) that `elements` has.
    costs : dict
        Cost of each type, at least 0, such as the result of :func:`read_element_costs`.
    elements : dict or Series, optional
        Type of each document by its id, instead of a column.

    Returns
    -------
    DataFrame
        Same rows with the column ``doc_cost``. Measures read it with ``effort="cost"``.

    Raises
    ------
    BadRun
        If a type is missing or has no cost.
    BadParameter
        If a cost is negative or not a finite number.

    Examples
    --------
    >>> import pandas as pd
    >>> from pyterrier_cwla import CWLA, evaluate
    >>> from pyterrier_cwla.data import with_element_costs
    >>> page = pd.DataFrame({"query_id": "1", "doc_id": ["a", "b"], "score": [2.0, 1.0], "element": ["ad", "web"]})
    >>> run = with_element_costs(page, {"ad": 1, "web": 9})
    >>> measure = CWLA(C="prec(2)", A="erg", gain="raw", effort="cost", end="stop")
    >>> evaluate({"1": {"b": 1}}, run, [measure]).iloc[0, 0]
    np.float64(0.1)
    """
    for kind, cost in costs.items():
        if not _is_number(cost, 0):
            raise BadParameter(f"the cost of element type {kind!r} is {shown(cost)}: costs are numbers of 0 or more.")
    types = _types(run, elements, "the run has", BadRun)
    for row, kind in enumerate(types):
        if kind not in costs:
            raise BadRun(f"{_pair(run, row)} has the element type {kind!r}, without a cost. {near(kind, costs)}")
    return run.assign(doc_cost=[float(costs[kind]) for kind in types])


def with_element_gains(
    qrels: pd.DataFrame, gains: Mapping[str, Mapping[float, float]], elements: Any = None
) -> pd.DataFrame:
    """Replace grades by gains that depend on the type of the element. Measures use them with ``gain="raw"``.

    Parameters
    ----------
    qrels : DataFrame
        Judgments with the columns of a document id, ``relevance`` (or ``label``) and ``element``.
    gains : dict of dicts
        Gain of each grade for each type. Grades of 0 or less, which have no gain, may be left out.
    elements : dict or Series, optional
        Type of each document by its id, instead of a column.

    Returns
    -------
    DataFrame
        Same rows; grades above 0 are gains.

    Raises
    ------
    BadJudgments
        If a grade is not a finite number, or if a type is missing or has no gain for a grade.
    BadParameter
        If a gain is negative or not a finite number.

    Examples
    --------
    >>> import pandas as pd
    >>> from pyterrier_cwla.data import with_element_gains
    >>> qrels = pd.DataFrame({"query_id": "1", "doc_id": ["a", "b"], "relevance": [2, 2]})
    >>> gains = {"web": {1: 0.5, 2: 1}, "image": {1: 0.1, 2: 0.2}}
    >>> with_element_gains(qrels, gains, {"a": "web", "b": "image"}).relevance.tolist()
    [1.0, 0.2]
    """
    for kind, of_grades in gains.items():
        for grade, gain in of_grades.items():
            if not _is_number(gain, 0):
                raise BadParameter(
                    f"the gain of element type {kind!r} at grade {grade} is {shown(gain)}: gains are numbers of 0 or"
                    " more."
                )
    column = next((name for name in ("relevance", "label") if name in qrels.columns), None)
    if column is None:
        raise BadJudgments("the judgments have no column relevance or label.")
    types, found = _types(qrels, elements, "the judgments have", BadJudgments), []
    for row, (kind, grade) in enumerate(zip(types, qrels[column])):
        if not _is_number(grade):
            raise BadJudgments(f"{_pair(qrels, row)} has the grade {shown(grade)}: grades are numbers.")
        if kind not in gains:
            raise BadJudgments(f"{_pair(qrels, row)} has the element type {kind!r}, without gains. {near(kind, gains)}")
        if grade > 0 and grade not in gains[kind]:
            raise BadJudgments(f"{_pair(qrels, row)}: element type {kind!r} has no gain for grade {grade:g}.")
        found.append(float(gains[kind][grade]) if grade > 0 else float(grade))
    return qrels.assign(**{column: found})


def _is_number(value: Any, least: float = -np.inf) -> bool:
    """Return whether a value is a finite number, not below the least."""
    return isinstance(value, int | float | np.number) and bool(np.isfinite(value) and value >= least)


def _types(rows: pd.DataFrame, elements: Any, it_has: str, error: type[CWLAError]) -> list[str]:
    """Return the element type of each row, from the column or by the id of the document."""
    ids = next((name for name in IDS if name in rows.columns), None)
    if elements is not None:
        if ids is None:
            raise error(f"{it_has} no column doc_id or docno, by which elements= gives the types.")
        found: list[Any] = list(map(dict(elements.items()).get, rows[ids]))
    elif "element" in rows.columns:
        found = rows["element"].tolist()
    else:
        raise error(f"{it_has} no column element: give elements=, the type of each document by its id.")
    for row, kind in enumerate(found):
        if not isinstance(kind, str):
            raise error(f"{_pair(rows, row)} has no element type, but {shown(kind)}: types are texts.")
    return found


def _pair(rows: pd.DataFrame, row: int) -> str:
    """Return the query and the document of a row, for messages."""
    names = {"topic": QUERIES, "document": IDS}
    known = {what: next((name for name in of if name in rows.columns), None) for what, of in names.items()}
    return ", ".join(f"{what} {rows[name].iloc[row]!r}" for what, name in known.items() if name) or f"row {row}"

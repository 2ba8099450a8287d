"""The function ``explore``, which opens the explorer in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import BadParameter
from ..errors.extras import needed
from ..measures.declarations import metric_of
from ..measures.named import measure_of
from .exploration import Exploration

if TYPE_CHECKING:
    from .widget import ExplorerWidget


def explore(
    qrels: Any = None,
    runs: Any = None,
    measure: Any = None,
    *,
    lengths: Any = None,
    costs: Any = None,
    texts: Any = None,
    queries: Any = None,
    topic: str | None = None,
    missing: str = "error",
) -> ExplorerWidget:
    """Explore the users of a metric in a notebook: who sees each rank, who stops, and what each rank adds.

    Measures, parameters, grades and orders can be changed on the page. All numbers come from the kernel, so that your
    own continuations and aggregations work.

    Parameters
    ----------
    qrels : DataFrame, dict of dicts, iterable of named tuples, or path; or list of float; or dict of lists by name
        Judgments, as for :func:`evaluate`. Without `runs`: the grades of one ranking, or of two by name; None marks a
        document that is not judged. By default, two short example rankings.
    runs : DataFrame, dict of dicts, iterable of named tuples, or path; or a dict of one or two of these, optional
        One run, or two runs.
    measure : Measure or str, optional
        The first measure; by default RBP with graded gains.
    lengths : dict, Series, DataFrame, Lengths or path, optional
        Document lengths in words, for measures with time; by default the run's column ``doc_length``, or the default
        table. Documents of lists of grades are ``"d1"``, ``"d2"``, … and have 500 words by default.
    costs : dict, Series, DataFrame, Costs, function or path, optional
        Known costs of documents, for measures of budgets; by default the run's column ``doc_cost``. Only with `runs`.
    texts, queries : dict, Series, DataFrame or dataset, optional
        Texts of documents and of topics, by id; only with `runs`.
    topic : str, optional
        The first topic; by default the first that all runs answer. Only with `runs`.
    missing : {"error", "mean"}, default="error"
        Documents without a length or known cost: an error, or the mean. Only with `runs`.

    Returns
    -------
    ExplorerWidget
        The widget; a notebook shows it.

    Raises
    ------
    BadParameter
        If there is no such topic, if the measure follows no user model, if there are more than two runs, or if texts
        or a topic are given without runs.
    CWLAError
        If anywidget is not installed.

    Examples
    --------
    >>> from pyterrier_cwla import explore
    >>> explore([2, 0, 1], measure="RBP(p=0.5,rel=1)")
    <explorer of RBP(p=0.5,rel=1) with ranking>
    """
    with needed("explore needs anywidget", extra="explorer"):
        from .widget import ExplorerWidget
    if runs is not None:
        if isinstance(qrels, list) and all(isinstance(grade, int | float) for grade in qrels):
            raise BadParameter("give two rankings of grades as a dict: explore({'A': [2, 0, 1], 'B': [0, 1, 2]}).")
        exploration = Exploration(
            qrels, runs, measure=measure, lengths=lengths, costs=costs, texts=texts, queries=queries, topic=topic,
            missing=missing,
        )  # fmt: skip
    else:
        given = {"costs": costs, "texts": texts, "queries": queries, "topic": topic}
        unused = [name for name, of in given.items() if of is not None]
        unused += ["missing"] * (missing != "error")
        if unused:
            raise BadParameter(f"{unused[0]}= needs runs=: lists of grades have no document ids and one topic.")
        grades = _examples(measure) if qrels is None else qrels
        exploration = Exploration.of_grades(grades, measure=measure, lengths=lengths)
    return ExplorerWidget(exploration)


def _examples(measure: Any) -> dict[str, list[float]]:
    """Return two example rankings whose grades a measure can score: a good document early, and some later."""
    best = 2.0 if measure is None else min(2.0, metric_of(measure_of(measure), 2).max_rel or 2.0)
    return {"A": [best, 0, 0, 0, 0, 1, 0, 0, 0, 0], "B": [0, 1, best, 0, 1, 0, 1, 0, 0, 0]}

"""Comparison of runs by many measures: scores, differences to a baseline, intervals, tests and effect sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from .._version import __version__
from ..data.alignment import Judgments
from ..data.columns import Columns, run_columns
from ..errors import (
    BadJudgments,
    BadParameter,
    BadRun,
    CWLAError,
    UnknownSpec,
    check_known,
    check_share,
    check_whole,
    some,
    warn,
)
from ..files.atomic import is_path
from ..files.inputs import are_paths, is_runs, loaded, of_split, runs_by_name
from ..measures.declarations import better_of, refuse_missing_parameters
from ..measures.labels import Measures, by_name
from ..measures.named import measures_of
from ..measures.provider import CWLAProvider, aggregate_of, aggregated, computed_here, prepare, refuse_undefined
from ..measures.wrappers import innermost, notes_on_labels
from .comparison import PAIR, Comparison, pairs_of
from .driver import scores_by_query
from .significance import (
    PAIRED_TESTS,
    TESTS,
    Array,
    check_correction,
    intervals,
    paired_tests,
    wins_ties_losses,
    without_noise,
)
from .streaming import separate_runs

_FEWEST = 100  # smallest number of resamples


def compare(
    qrels: Any,
    runs: Any,
    measures: Measures,
    baseline: Any = None,
    *,
    pairs: bool = False,
    least: float = 0.0,
    confidence: float = 0.95,
    test: str = "t",
    correction: str | None = "holm",
    resamples: int = 10_000,
    seed: int = 0,
    split: str | None = None,
) -> Comparison:
    """Compare runs by scores, confidence intervals, significance tests and effect sizes.

    Parameters
    ----------
    qrels : DataFrame, dict of dicts, iterable of named tuples, or path
        Judgments, as for :func:`evaluate`.
    runs : DataFrame, dict of dicts, iterable of named tuples, path, or dict of these by run name
        Runs, as for :func:`evaluate`, including PyTerrier's frames of results. Topics that a run does not answer
        score 0.
    measures : iterable of Measure or str, or dict of these by name
        Measures of any installed provider of ir_measures, also those of ``ir_measures.define``. A dict gives the names
        of measures in the table.
    baseline : str or path, list of these, or False, optional
        Name or path of the run that the others are compared with, or a list of them; by default the first run. With
        False, and if there is only one run, the result has scores and their intervals only.
    pairs : bool, default=False
        Whether to compare all pairs of runs.
    least : float, default=0
        Largest difference of the scores of a topic that counts as a tie, in the unit of the measures.
    confidence : float in (0, 1), default=0.95
        Confidence level of the intervals; the significance level is 1 minus this level.
    test : str, default="t"
        Test that decides which differences are marked as significant: "t", "wilcoxon" and "randomisation", which are
        always computed, and "tukey" and "randomised_hsd", which test all pairs together, need no correction, and go
        with `pairs`. Choose the test before you see the results.
    correction : {"holm", "bonferroni", "sidak", "holm-sidak", "simes-hochberg", "hommel", "fdr_bh", "fdr_by"} or None
        Correction for multiple comparisons, over all runs and measures of the table. By default "holm".
    resamples : int, default=10_000
        Number of bootstrap resamples, and of random sign vectors in the randomisation test. The test enumerates all
        2^n sign vectors if these are not more.
    seed : int, default=0
        Seed of the bootstrap and of the randomisation test.
    split : str, optional
        Subset and split of JSON files that have several, as for :func:`evaluate`.

    Returns
    -------
    Comparison
        Table of results, which prints as text, HTML and LaTeX. It has one row per run and measure, or one row per pair
        and measure for a list of baselines and for `pairs`.

    Raises
    ------
    BadParameter
        If there is no such baseline, test or correction, or if another setting is out of range.
    BadJudgments
        If fewer than two topics are judged.
    BadRun
        If a run answers none of the judged topics.

    Notes
    -----
    * Intervals come from the percentile bootstrap over topics, with the same resamples for all runs and measures.
    * t: paired t-test.
    * Wilcoxon's signed-rank test leaves out topics with equal scores. It is exact for up to 13 other topics, and for
      up to 50 if no two differences tie; otherwise it is a normal approximation. A significant difference has no mark
      if its mean and the sum of its signed ranks have opposite signs; a note names it.
    * The randomisation test swaps the scores of the two runs for some topics. Its two-sided p is the share of all ways
      of swapping for which the absolute difference of means is at least as large as observed. For B random ways, of
      which k are as extreme, p = (k + 1)/(B + 1).
    * The effect size is Cohen's d_z, without a correction for small samples.

    Two runs with equal scores for every topic have difference 0, p = 1 and effect 0. If all topics differ by the same
    amount, the t-test has p = 0 and the effect is infinite. Counts (NumRet, NumRelRet …) are sums, with intervals and
    differences of sums. GeometricMean is compared on the logarithms of its values: the tests and the effect size refer
    to logarithms, whose mean difference is 0 if the geometric means are equal; score, difference and their intervals
    refer to geometric means.

    References
    ----------
    Smucker et al. (2007); Efron and Tibshirani (1993), chapter 13; Cohen (1988), section 2.3.5; Carterette (2012) for
    all pairs.

    Examples
    --------
    >>> qrels = {q: {"a": 1, "b": 0, "c": 1} for q in "1234"}
    >>> one = {q: {"b": 3.0, "a": 2.0, "c": 1.0} for q in "1234"}
    >>> other = {q: {"a": 3.0, "c": 2.0, "b": float(q)} for q in "1234"}
    >>> found = compare(qrels, {"one": one, "other": other}, ["AP", "RR"])
    >>> found.wide()
                                 AP                            RR
    run
    one                       0.583                         0.500
    other  0.792 +0.208 [0.000, +0.417]  0.750 +0.250 [0.000, +0.500]
    >>> found.table[["run", "measure", "effect", "p_t", "p_t_corrected"]].round(3)
         run measure  effect    p_t  p_t_corrected
    0    one      AP     NaN    NaN            NaN
    1    one      RR     NaN    NaN            NaN
    2  other      AP   0.866  0.182          0.363
    3  other      RR   0.866  0.182          0.363
    """
    check_compared(qrels, runs, baseline, pairs, least)
    if not pairs and isinstance(test, str) and test in TESTS.keys() - PAIRED_TESTS.keys():
        raise BadParameter("tests all pairs of runs together: give pairs=True, or choose another test.", test=test)
    check_settings(confidence, test, correction, resamples, seed, pairs)
    wanted = measures_by_name(measures, computed_somewhere)
    scored = of_split(runs, split, qrels)
    qrels = qrels if split is None else loaded(qrels, "qrels", split)
    if is_runs(runs) and not any(map(are_paths, runs.values())):
        _check_baselines(_baselines(baseline, runs), list(runs))  # before the evaluation; files may hold several runs
    by_query, answered = scores_of(qrels, scored, wanted)
    names, queries = names_and_queries(by_query)
    baselines, several = baselines_of(baseline, runs, names, pairs)
    about = about_of(wanted, names, queries, answered) | {
        "baseline": None if several or not baselines else baselines[0],
        "least": float(least),
        "confidence": confidence,
        "alpha": round(1 - confidence, 12),
        "test": test,
        "correction": correction,
        "resamples": resamples,
        "seed": seed,
        "intervals": "percentile bootstrap over topics",
        **{one.name: one.method for one in TESTS.values() if one.method},
    }
    for one in TESTS.values():
        if one.lowest_p is not None:
            about[one.name], about["lowest_p"] = one.lowest_p(len(queries), resamples)
    if several:
        about["baselines"] = None if pairs else baselines
    return Comparison(about, by_query, *_compared(by_query, wanted, None if pairs else baselines, about))


def _compared(
    by_query: pd.DataFrame, wanted: Mapping[str, Measure], baselines: Sequence[Any] | None, about: dict[str, Any]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the runs of a comparison, with one row per run and measure, and its pairs.

    The number of comparisons, and significant ones whose mean has another sign than the test, are added to `about`.

    Parameters
    ----------
    by_query : DataFrame
        Values of the measures, by run and query.
    wanted : dict of Measure
        Measures by name.
    baselines : sequence, optional
        Baselines; without them all pairs are compared.
    about : dict
        Settings of the comparison.
    """
    names, _ = names_and_queries(by_query)
    runs, (first, second) = len(names), pairs_of(names, baselines)
    called, settings = np.array(names, object), (about["resamples"], about["seed"])

    def statistic(kind: str, means: Array) -> Array:
        """Return the aggregate of each run, and the difference of each pair."""
        of_runs = np.exp(means) if kind == "geometric mean" else means * (about["queries"] if kind == "sum" else 1)
        return np.concatenate([of_runs, of_runs[first] - of_runs[second]])

    of_runs, of_pairs, differences = [], [], []
    for measure, declared in wanted.items():
        values, kind = by_query[measure].to_numpy(float).reshape(runs, -1), about["aggregates"][measure]
        low, high = intervals(values, partial(statistic, kind), about["confidence"], *settings)
        scores = [aggregated(declared, row) for row in values]
        columns = {"run": called, "measure": measure, "score": scores}
        of_runs.append(pd.DataFrame(columns | {"score_low": low[:runs], "score_high": high[:runs]}))
        in_unit = np.exp(values) if kind == "geometric mean" else values
        wins, ties, losses = wins_ties_losses(
            in_unit, first, second, about["least"], about["better"][measure] == "lower"
        )
        part = {
            "run": called[first],
            "baseline": called[second],
            "measure": measure,
            "difference": statistic(kind, values.mean(axis=1))[runs:],
            "difference_low": low[runs:],
            "difference_high": high[runs:],
            "wins": wins,
            "ties": ties,
            "losses": losses,
        }
        of_pairs.append(pd.DataFrame(part))
        differences.append(without_noise(values[first] - values[second], values))
    pairs = pd.concat(of_pairs, ignore_index=True)
    about |= {"comparisons": len(pairs), "opposed": []}
    if len(pairs):
        together = np.concatenate(differences)
        pairs = pairs.assign(**paired_tests(together, about["correction"], *settings))
        test = TESTS[about["test"]]
        if test.opposed is not None:
            rows = pairs[(pairs[test.decisive] < about["alpha"]) & (test.opposed(together) == 1)]
            about["opposed"] = rows[PAIR].to_numpy(object).tolist()
    return pd.concat(of_runs).sort_index(kind="stable").reset_index(drop=True), pairs


def baselines_of(baseline: Any, runs: Any, names: list[Any], pairs: bool) -> tuple[list[Any], bool]:
    """Return the names of the baselines, and whether there are several, or all pairs, so that each pair has a row."""
    baselines, several = _baselines(baseline, runs), pairs or pd.api.types.is_list_like(baseline)
    _check_baselines(baselines, names)
    if several and (len(names) < 2 or not (pairs or baselines)):
        lacking = "at least two runs" if len(names) < 2 else "at least one baseline"
        raise BadParameter(f"there is no pair of runs to compare: give {lacking}.")
    if baseline is None and not pairs and len(names) > 1 and names[0] is not None:
        baselines = names[:1]
    return baselines, several


def about_of(wanted: Mapping[str, Measure], names: list[Any], queries: list[str], answered: Array) -> dict[str, Any]:
    """Return what is reported of the measures and queries of a comparison."""
    return {
        "version": __version__,
        "measures": {name: repr(measure) for name, measure in wanted.items()},
        "aggregates": {name: aggregate_of(measure) for name, measure in wanted.items()},
        "better": {name: better_of(measure) for name, measure in wanted.items()},
        "queries": len(queries),
        "query_ids": queries,
        "unanswered": {name: int(n) for name, n in zip(names, (~answered).sum(axis=1), strict=True) if n},
        **({"labels": labels} if (labels := notes_on_labels(wanted.values())) else {}),
    }


def check_compared(qrels: Any, runs: Any, baseline: Any, pairs: bool, least: float) -> None:
    """Raise an error if judgments and runs are exchanged, or if the choice of pairs or of ties is impossible."""
    if is_runs(qrels) and not is_runs(runs):
        raise BadJudgments("the judgments are runs by name: judgments are given first, then runs.")
    if not isinstance(pairs, bool | np.bool_):
        raise BadParameter(f"pairs={pairs!r} must be True or False.")
    if pairs and baseline is not None:
        raise BadParameter("give baseline= or pairs=True, not both.")
    if not isinstance(least, int | float | np.number) or not 0 <= least < np.inf:
        raise BadParameter("must be a number of 0 or more, in the unit of the measures.", least=least)


def check_settings(
    confidence: float,
    test: str,
    correction: str | None,
    resamples: int,
    seed: int,
    pairs: bool = False,
) -> None:
    """Raise BadParameter if a setting of :func:`compare` is out of range; `pairs` allows the tests of all pairs."""
    check_share(0.95, confidence=confidence)
    check_known("test", TESTS if pairs else PAIRED_TESTS, test=test)
    check_correction(correction)
    check_whole(_FEWEST, resamples=resamples)
    check_whole(0, seed=seed)


def measures_by_name(
    measures: Measures, known: Callable[[Iterable[Any]], list[Measure]] = computed_here
) -> dict[str, Measure]:
    """Return measures by name.

    Parameters
    ----------
    measures : iterable, or dict by name
        Measures or their texts.
    known : callable, optional
        Function that parses measures and raises UnknownSpec for those that are not computed.
    """
    named = by_name(known(measures))
    if not named:
        raise BadParameter("measures is empty: give at least one, such as measures=['nDCG@10', 'TBG'].")
    return named


def check_answers(answered: Array, names: list[Any], queries: list[str]) -> None:
    """Raise BadRun if a run answers no query; `answered` is a mask of shape (n_runs, n_queries)."""
    if (silent := np.flatnonzero(~answered.any(axis=1))).size:
        raise BadRun(
            f"{names[silent[0]]}: none of the {len(queries):,} judged topics ({some(queries)}) has a document in this"
            " run. Are their ids the same on both sides?"
        )


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
    found, qids = {}, judgments.qids
    qrels, frame = _frame(judgments.columns, "relevance"), _frame(run, "score")
    for measure in measures:  # of several measures at once, ir_measures would replace missing values by 0
        try:
            values = {one.query_id: one.value for one in ir_measures.iter_calc([measure], qrels, frame)}
        except CWLAError:
            raise
        except Exception as error:
            raise BadParameter(f"ir_measures cannot compute {measure}: {error}{_of_floats(qrels)}") from error
        found[measure] = np.array([values.get(qid, np.nan) for qid in qids], float)
        refuse_undefined(measure, found[measure], qids)
    return found


def _of_floats(qrels: pd.DataFrame) -> str:
    """Return the first grade that is no integer, for errors of providers that accept integers only."""
    for row in qrels[qrels["relevance"] % 1 != 0].itertuples():
        return (
            f" Document {row.doc_id!r} of query {row.query_id!r} has grade {row.relevance:g}, and many providers accept"
            " integer grades only: round the grades, or leave the measure out."
        )
    return ""


def _frame(columns: Columns, value: str) -> pd.DataFrame:
    ids = {name: getattr(columns, name) for name in ("query_id", "doc_id", "iteration")}
    texts = {name: column.to_pandas().astype("str") for name, column in ids.items() if column is not None}
    values = columns.value
    if value == "relevance" and not (values % 1).any():
        values = values.astype(np.int64)  # trec_eval accepts integers only
    return pd.DataFrame({**texts, value: values})


def _baselines(baseline: Any, runs: Any) -> list[Any]:
    """Return the names of the baselines, each once; files may be named by their paths."""
    if baseline is None or baseline is False:
        return []
    if isinstance(baseline, pd.DataFrame | Mapping):
        kind = "a DataFrame" if isinstance(baseline, pd.DataFrame) else "a dict"
        raise BadParameter(f"baseline= is {kind}, and must be the name of a run, or several names.")
    given = list(baseline) if pd.api.types.is_list_like(baseline) else [baseline]
    named = runs_by_name(runs)
    by_path = {Path(run): name for name, run in named.items() if is_path(run)}
    names = (by_path.get(Path(one), one) if is_path(one) and one not in named else one for one in given)
    return list(dict.fromkeys(names))


def scores_of(qrels: Any, runs: Any, measures: Mapping[str, Measure]) -> tuple[pd.DataFrame, Array]:
    """Return scores by run and query, and a mask (n_runs, n_queries) of answered queries."""
    by_query, answered = _scores_by_query(qrels, runs, list(measures.values()))
    names, queries = names_and_queries(by_query)
    if len(queries) < 2:
        raise BadJudgments(
            f"only {some(queries) if queries else 'no topic'} is judged: intervals and tests need at least two topics."
        )
    check_answers(answered, names, queries)
    for name in measures:
        for values in by_query[name].to_numpy(float).reshape(len(names), -1):
            refuse_undefined(name, values, queries)
    return by_query[list(measures)], answered


def names_and_queries(by_query: pd.DataFrame) -> tuple[list[Any], list[str]]:
    """Return the runs and the judged queries of scores by query, in the order of their rows."""
    names = by_query.index.get_level_values("run").unique().tolist()
    return names, by_query.index.get_level_values("query_id")[: len(by_query) // len(names)].tolist()


def _scores_by_query(qrels: Any, runs: Any, measures: list[Measure]) -> tuple[pd.DataFrame, Array]:
    """Return the scores of :func:`scores_by_query` from all providers."""
    theirs = [measure for measure in measures if not CWLAProvider().supports(measure)]
    ours = [measure for measure in measures if measure not in theirs]
    judgments = prepare(loaded(qrels, "qrels"), uncertain=True)
    highest = judgments.pool.highest
    for measure in measures:
        if innermost(measure).params.get("rel", 0) > highest:
            warn(f"{measure}: no document is relevant, since the highest grade of the judgments is {highest:g}.")
    if not theirs:
        return scores_by_query(judgments, runs, ours)
    tables = [run_columns(loaded(run, "run")) for run in separate_runs(runs).values()]
    found = [by_other_providers(theirs, judgments, table) for table in tables]
    by_query, answered = scores_by_query(judgments, runs, ours)
    return by_query.assign(**{str(m): np.concatenate([values[m] for values in found]) for m in theirs}), answered


def _check_baselines(baselines: list[Any], names: list[Any]) -> None:
    for baseline in baselines:
        check_known("run", names, baseline=baseline)
        if len(names) == 1:
            raise BadParameter("is the only run: there is nothing to compare with it.", baseline=baseline)

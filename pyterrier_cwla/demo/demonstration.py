"""Demonstration: compares runs by nine measures, and shows where time-biased gain and nDCG@10 disagree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from ir_measures import AP, ERR, INST, RBP, RR, Measure, nDCG

from ..evaluation.comparison import BOLD, Comparison
from ..evaluation.driver import evaluate
from ..evaluation.run_comparison import compare
from ..files.inputs import loaded
from ..measures.named import CWLA, TBG
from ..measures.provider import judged


@dataclass(frozen=True)
class Demonstration:
    """Result of :func:`demonstrate`.

    Attributes
    ----------
    comparison : Comparison
        Comparison of the runs by all measures.
    notes : list of str
        Sentences that explain the comparison.
    """

    comparison: Comparison
    notes: list[str]


def demonstrate(
    qrels: Any,
    runs: dict[str, Any],
    *,
    lengths: Any = None,
    missing: str = "error",
    timed: bool = True,
    baseline: str | None = None,
) -> Demonstration:
    """Compare runs by nine measures: six well-known ones, time-biased gain, and two new combinations of C and A.

    Parameters
    ----------
    qrels : judgments
        Judgments in any form that :func:`pyterrier_cwla.compare` accepts.
    runs : dict of str to run
        Runs by name, in any form that :func:`pyterrier_cwla.compare` accepts.
    lengths : lengths, optional
        Document lengths in words, as for TBG; by default the column ``doc_length`` of the runs.
    missing : {"error", "mean"}, default="error"
        Treatment of documents without a length, as for TBG.
    timed : bool, default=True
        If False, time-biased gain is left out, and no lengths are needed.
    baseline : str, optional
        Run to compare the others with; by default the first.

    Returns
    -------
    Demonstration
        Comparison with notes.

    Raises
    ------
    BadParameter
        If no run has the name ``baseline``.

    Examples
    --------
    >>> from pyterrier_cwla.demo import collection, demonstrate, systems
    >>> made = collection(documents=300, topics=5)
    >>> runs = {name: system(made.topics) for name, system in systems(made).items()}
    >>> demonstrate(made.qrels, runs).comparison.runs
    ['BM25', 'BM25, length ignored', 'BM25, then short first']
    """
    judgments = judged(loaded(qrels, "qrels"))
    max_rel = max(1, math.ceil(judgments.pool.highest))
    time = {"lengths": lengths, "missing": missing}
    comparison = compare(judgments, runs, _measures(max_rel, time if timed else None), baseline)
    notes = [
        *comparison.notes(None),
        BOLD,
        f"Grades from 1 are relevant for AP, RR, RBP (p = 0.8){' and TBG' if timed else ''}; a grade g has the gain"
        f" g/{max_rel} for INST and the last two. The last two are new: users who expect a gain of 1 and remember the"
        " best document, and users who continue with probability 0.8 and remember the best and the last document.",
    ]
    if timed and comparison.about["baseline"] is not None:
        seconds = CWLA(C="prec(10)", A="effort", gain="binary", effort="time", end="stop", **time)
        notes.append(_remark(comparison, evaluate(judgments, runs, [seconds])[str(seconds)]))
    return Demonstration(comparison, notes)


def _measures(max_rel: int, time: dict[str, Any] | None) -> dict[str, Measure]:
    return {
        "nDCG@10": nDCG @ 10,
        "AP": AP,
        "RR": RR,
        "ERR@20": ERR @ 20,
        "RBP(rel=1)": RBP(rel=1),
        "INST": INST(max_rel=max_rel),
        **({} if time is None else {"TBG": TBG(**time)}),
        "inst(1) + max": CWLA(C="inst(1)", A="max", max_rel=max_rel),
        "rbp(0.8) + pe(0.5)": CWLA(C="rbp(0.8)", A="pe(0.5)", max_rel=max_rel),
    }


def _remark(comparison: Comparison, seconds: pd.Series[float]) -> str:
    """Sentence on the runs that TBG and nDCG@10 order differently, with the seconds for their first ten documents."""
    by_measure = comparison.table.set_index("run").groupby("measure")
    rank, gain = by_measure.get_group("nDCG@10"), by_measure.get_group("TBG")
    scores = [of["score"].to_numpy() for of in (rank, gain)]
    apart = np.multiply(*(np.subtract.outer(of, of) for of in scores))
    if apart.min() >= 0:
        return "Result: TBG and nDCG@10 rank these systems in the same order."
    # Pairs of the baseline and a significantly different run are preferred to the pair with the largest disagreement.
    alpha, baseline = comparison.about["alpha"], rank.index == comparison.about["baseline"]
    significant = (rank["p_t_corrected"] < alpha) & (gain["p_t_corrected"] < alpha)
    proven = np.where(np.outer(significant, baseline), apart, 0)
    certain = proven.min() < 0
    pair = np.unravel_index((proven if certain else apart).argmin(), apart.shape)
    one, other = sorted(rank.index[[*pair]], key=rank["score"].get, reverse=True)
    text = (
        f"Result: nDCG@10 ranks “{one}” above “{other}” ({rank['score'][one]:.3f} > {rank['score'][other]:.3f}),"
        f" and TBG ranks it below ({gain['score'][one]:.3f} < {gain['score'][other]:.3f})"
        f"{', both significantly' if certain else ''}"
    )
    if seconds[one] > seconds[other]:
        text += (
            f": its first ten documents take a user {seconds[one]:.0f} s instead of {seconds[other]:.0f} s, and users"
            " leave over time"
        )
    return f"{text}."

"""The demonstration: runs compared by nine measures, and where time-biased gain and nDCG@10 disagree."""

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
    """A comparison of runs, and what a reader should know of it, in sentences."""

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
    qrels, runs
        As :func:`compare` takes them; ``runs`` by name.
    lengths, missing
        Document lengths, and what a document without a length is, as TBG takes them.
    timed : bool, default=True
        Whether document lengths are known; without them time-biased gain is left out.
    baseline : str, optional
        The run that the others are compared with; the first if not given.

    Returns
    -------
    Demonstration

    Raises
    ------
    BadParameter
        If there is no run of the name ``baseline``.

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
    if baseline is None and len(runs) > 1:
        baseline = next(iter(runs))
    comparison = compare(judgments, runs, _measures(max_rel, time if timed else None), baseline)
    notes = [
        *comparison.notes(None),
        BOLD,
        f"AP, RR, RBP (p = 0.8){' and TBG' if timed else ''} take grades from 1 as relevant; INST and the last two take"
        f" grade g as gain g/{max_rel}. The last two are new: users who hope for a gain of 1 and remember the best"
        " document seen, and users who go on with probability 0.8 and remember the best and the last.",
    ]
    if timed and baseline is not None:
        seconds = CWLA(C="prec(10)", A="effort", gain="binary", effort="time", end="stop", **time)
        notes.append(_remark(comparison, evaluate(judgments, runs, [seconds])[str(seconds)]))
    return Demonstration(comparison, notes)


def _measures(max_rel: int, time: dict[str, Any] | None) -> dict[str, Measure]:
    return {
        "nDCG@10": nDCG @ 10,
        "AP": AP,
        "RR": RR,
        "ERR@20": ERR @ 20,
        "RBP": RBP(rel=1),
        "INST": INST(max_rel=max_rel),
        **({} if time is None else {"TBG": TBG(**time)}),
        "inst(1) + max": CWLA(C="inst(1)", A="max", max_rel=max_rel),
        "rbp(0.8) + pe(0.5)": CWLA(C="rbp(0.8)", A="pe(0.5)", max_rel=max_rel),
    }


def _remark(comparison: Comparison, seconds: pd.Series[float]) -> str:
    """Where TBG and nDCG@10 disagree most, and how many seconds users of these two runs take for ten documents."""
    by_measure = comparison.table.set_index("run").groupby("measure")
    rank, gain = by_measure.get_group("nDCG@10"), by_measure.get_group("TBG")
    scores = [of["score"].to_numpy() for of in (rank, gain)]
    apart = np.multiply(*(np.subtract.outer(of, of) for of in scores))
    if apart.min() >= 0:
        return "What to see: TBG and nDCG@10 put these systems in the same order."
    # A pair of the baseline and a run that differs significantly from it says more than the pair that differs most.
    alpha, baseline = comparison.about["alpha"], rank.index == comparison.about["baseline"]
    significant = (rank["p_t_corrected"] < alpha) & (gain["p_t_corrected"] < alpha)
    proven = np.where(np.outer(significant, baseline), apart, 0)
    certain = proven.min() < 0
    pair = np.unravel_index((proven if certain else apart).argmin(), apart.shape)
    one, other = sorted(rank.index[[*pair]], key=rank["score"].get, reverse=True)
    text = (
        f"What to see: nDCG@10 puts “{one}” above “{other}” ({rank['score'][one]:.3f} > {rank['score'][other]:.3f}),"
        f" and TBG below it ({gain['score'][one]:.3f} < {gain['score'][other]:.3f})"
        f"{', both significantly' if certain else ''}"
    )
    if seconds[one] > seconds[other]:
        text += (
            f": its first ten documents take a user {seconds[one]:.0f} s and not {seconds[other]:.0f} s, and with time"
            " users leave"
        )
    return f"{text}."

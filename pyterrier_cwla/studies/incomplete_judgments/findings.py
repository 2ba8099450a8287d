"""Findings and limits of studies of robustness to missing judgments, as sentences."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ...errors import many, some
from ...measures.of_ir_measures import metric_of
from ...measures.wrappers import innermost, known_as
from ..correlation import TAUS
from ..report import Finding
from .robustness_numbers import RobustnessNumbers, infap_pool_note
from .system_order import KNEE

_OF_TESTS = "Is the test by"
LOW = {True: 0.1, False: 10}
"""Levels up to which shares of judgments count as low (key True) and pools as shallow (key False, documents)."""


def findings(study: RobustnessNumbers) -> list[str]:
    """Return the findings, one sentence each."""
    parts = (
        (_orders(study), "order"),
        (_comparisons(study), "differences"),
        (_knees(study), "order"),
        (_tests(study), "accuracy"),
    )
    found = [(sentence, picture) for sentences, picture in parts for sentence in sentences]
    return [Finding(one, "accuracy" if one.startswith(_OF_TESTS) else picture) for one, picture in found]


def headline(study: RobustnessNumbers) -> str:
    """Return which measure keeps the order of runs best and which least, with few judgments, in one sentence."""
    levels = study.holes.levels[:-1]
    low = [level for level in levels if level <= LOW[study.holes.random]]
    table = study.order.table()
    rows = table[table.level == (low or levels or study.holes.levels)[-1]].dropna(subset="tau")
    rows = rows.sort_values("tau", ascending=False, kind="stable")
    if rows.empty:
        return "No measure tells the runs apart."
    best, least = rows.iloc[0], rows.iloc[-1]
    runs, tau = f"the order of the {len(study.runs):,} runs", TAUS[study.about["tau"]]
    if len(rows) == 1:
        return f"{_at(study, best.level)}, {best.measure} keeps {runs} with {tau} {best.tau:.2f}."
    if best.tau - least.tau < 1e-9:
        return (
            f"{_at(study, best.level)}, all {len(rows):,} measures keep {runs} equally well, with {tau} {best.tau:.2f}."
        )
    return (
        f"{_at(study, best.level)}, {best.measure} keeps {runs} best ({tau} {best.tau:.2f}{_chance(study, rows)}), and"
        f" {least.measure} least ({least.tau:.2f})."
    )


def _chance(study: RobustnessNumbers, rows: pd.DataFrame) -> str:
    """Return a note if the lead of the best measure over the second is undecided."""
    best, second = rows.iloc[0], rows.iloc[1]
    table = study.above(best.measure, second.measure)
    verdict = table.loc[table.level == best.level, "verdict"]
    return "" if (verdict == "yes").all() else f"; its lead over {second.measure} is undecided"


def _levels(study: RobustnessNumbers) -> list[float]:
    """Return the levels to describe: the first, the last of the low ones, and one at about half of the judgments."""
    levels = list(study.holes.levels[:-1])
    low = [level for level in levels if level <= LOW[study.holes.random]]
    return sorted({*levels[:1], *low[-1:], *levels[len(levels) * 2 // 3 : len(levels) * 2 // 3 + 1]})


def _orders(study: RobustnessNumbers) -> list[str]:
    table = study.order.table()
    said = []
    for level in _levels(study):
        rows = table[table.level == level].sort_values("tau", ascending=False, kind="stable")
        values = ", ".join(f"{row.measure} {_with_ends(row.tau, row.low, row.high)}" for row in rows.itertuples())
        said.append(f"{_at(study, level)}, {TAUS[study.about['tau']]} to the order by all judgments is {values}.")
    return said


def _comparisons(study: RobustnessNumbers) -> list[str]:
    """Compare measures: the claim of the paper if its measures are present, else neighbours in order of robustness."""
    chain = papers_chain(study.measures)
    low = [level for level in study.holes.levels[:-1] if level <= LOW[study.holes.random]]
    if not low or len(study.measures) < 2:
        return []
    said = []
    if chain:
        claims = [*pairwise(chain), (chain[0], chain[-1])]
    else:
        at = np.isin(study.holes.levels, low)
        names = list(study.measures)
        order = np.argsort(-study.order.tau[at].mean(axis=0), kind="stable")
        claims = [(names[one], names[other]) for one, other in pairwise(order)]
    for first, second in claims:
        difference, lower, upper = study.order.mean_above(first, second, low[-1])
        verdict = "yes" if lower > 0 else "no, below it" if upper < 0 else "undecided"
        table = study.above(first, second)
        said.append(
            f"Is {first} above {second} with few judgments ({study.holes.says(low[0])} to"
            f" {study.holes.says(low[-1])})? {verdict.capitalize()}: the mean difference of τ is"
            f" {_with_ends(difference, lower, upper, sign='+')}. Level by level: {_by_verdict(study, table)}."
        )
        if chain and study.tests is not None:
            tests = study.tests.above(first, second)
            said.append(
                f"{_OF_TESTS} {first} more accurate than by {second}, over these pairs and topics? Level by level:"
                f" {_by_verdict(study, tests)}."
            )
    if chain:
        ends = [study.order.mean_above(one, other, low[-1])[1:] for one, other in claims]
        holds = all(lower > 0 for lower, _ in ends)
        against = [f"{one} is below {other}" for (one, other), (_, upper) in zip(claims, ends) if upper < 0]
        otherwise = f"is contradicted here: {', '.join(against)}" if against else "is not confirmed here"
        said.append(
            f"So the order {' above '.join(chain)} with few judgments{_as_in_the_paper(study, chain)}"
            f" {'holds here' if holds else otherwise}."
        )
    return said


def _as_in_the_paper(study: RobustnessNumbers, chain: list[str]) -> str:
    """Describe how the compared measures relate to those of the paper: not cut, and nDCG of binary judgments."""
    metric = metric_of(innermost(study.measures[chain[0]]))
    if metric.cutoff is not None or str(metric.C) != "dcg":
        return f" (not the claim of Bompada et al., 2007: {chain[0]} is cut, and their nDCG is not)"
    graded = len(np.unique(metric.gains(np.arange(1, study.about["highest_grade"] + 1)))) > 1
    return ", as Bompada et al. (2007) found it" + (f" of binary nDCG ({chain[0]} is graded here)," if graded else ",")


def papers_chain(measures: dict[str, Any]) -> list[str]:
    """Return the names of nDCG, infAP and bpref in this study, or no names if one of them is missing."""
    found = {known_as(measure): name for name, measure in reversed(measures.items())}
    chain = ("nDCG", "infAP", "Bpref")
    return [found[kind] for kind in chain] if found.keys() >= set(chain) else []


def _by_verdict(study: RobustnessNumbers, table: pd.DataFrame) -> str:
    return "; ".join(
        f"{verdict} at {_ranges(study, (table.verdict == verdict).to_numpy())}"
        for verdict in ("yes", "no", "undecided")
        if (table.verdict == verdict).any()
    )


def _ranges(study: RobustnessNumbers, which: np.ndarray) -> str:
    """Format levels; consecutive levels become "first to last"."""
    if which.all():
        return "every level"
    says = [study.holes.says(level) for level in study.holes.levels]
    edges = np.flatnonzero(np.diff(np.concatenate([[0], which, [0]])))
    stretches = edges.reshape(-1, 2).tolist()
    return ", ".join(says[a] if b == a + 1 else f"{says[a]} to {says[b - 1]}" for a, b in stretches)


def _knees(study: RobustnessNumbers) -> list[str]:
    parts = []
    for row in study.order.knees().itertuples():
        again = "" if np.isnan(row.falls_again_at) else f", but not at {study.holes.says(row.falls_again_at)}"
        ends = f" [{_level(study, row.low)} to {_level(study, row.high)}]" if row.low < row.high else ""
        parts.append(f"{row.measure} {_knee(study, row.knee)}{ends}{again}")
    return [f"τ is above {KNEE} from the knee on: {', '.join(parts)}."]


def _knee(study: RobustnessNumbers, knee: float) -> str:
    at = _level(study, knee)
    return at if at == "never" or np.isnan(knee) else f"at {at}"


def _level(study: RobustnessNumbers, level: float) -> str:
    if np.isnan(level):
        return "undefined"
    if np.isinf(level):
        return "never" if study.holes.random else "all judgments"
    return study.holes.says(level)


def _tests(study: RobustnessNumbers) -> list[str]:
    if study.tests is None:
        return []
    table = study.tests.table()
    said = []
    for level in _levels(study)[:2]:
        rows = table[table.level == level].sort_values("accuracy", ascending=False, kind="stable")
        values = ", ".join(
            f"{row.measure} {_with_ends(row.accuracy, row.accuracy_low, row.accuracy_high)} (g-mean {row.g_mean:.2f},"
            f" {row.false_positives:.0f} false positives, {row.false_negatives:.0f} false negatives)"
            for row in rows.itertuples()
        )
        said.append(
            f"{_at(study, level)}, the share of these pairs for which the test has the same result as with all"
            f" judgments is {values}."
        )
    knees = ", ".join(f"{row.measure} {_knee(study, row.knee)}" for row in study.tests.knees().itertuples())
    truly = study.tests.rejected[0, -1].mean(axis=-1)
    shares = ", ".join(f"{share:.0%} by {name}" for name, share in zip(study.measures, truly))
    said.append(
        f"Accuracy is above {KNEE} from the knee on: {knees}. Share of pairs that differ significantly by all"
        f" judgments: {shares}."
    )
    return said


def limits(study: RobustnessNumbers) -> list[str]:
    """Return conclusions that the study does not support, one sentence each."""
    about = study.about
    said = [
        "Robustness is not validity: these numbers show whether a measure leads to the same conclusions with few"
        " judgments as with all, not whether users agree with them.",
        "Each measure is compared with its own order by all judgments: a measure with large differences between runs"
        " keeps its order more easily.",
        f"Intervals of {about['confidence']:.0%} hold for each level separately, not for all levels together.",
    ]
    if study.tests is not None:
        said.append(
            f"Accuracy has intervals over {many(about['pairs'], 'pair')} of runs"
            f"{' and judgment samples' if study.holes.random else ''} for these {many(about['queries'], 'topic')};"
            " pairs that share a run are not independent, so these intervals are too short."
        )
        undefined = study.tests.table().groupby("measure", sort=False)["g_mean_undefined"].sum()
        if named := [f"{name} {number:,}" for name, number in undefined.items() if number]:
            said.append(
                "g-mean is not defined if every pair differs significantly with all and with the remaining judgments;"
                f" means leave out these values: {', '.join(named)} of"
                f" {study.tests.p.shape[0] * study.tests.p.shape[1]:,} values of each measure (levels and seeds)."
            )
    said += [*infap_pool_note(about["pool"], study.measures), *_ties(study)]
    if study.holes.random:
        said.append("Here judgments are missing at random; in practice, documents that no system retrieved have none.")
    if short := about["left_out"]:
        said.append(
            f"Left out: {many(len(short), 'run')} with less than {about['complete']:.0%} of the documents of the"
            f" longest run: {some(short, len(short))}."
        )
    if poor := about["lacking"]:
        said.append(
            f"{many(len(poor), 'topic')} with fewer than the 1 relevant and 10 non-relevant judgments that bpref needs:"
            f" {some(poor, 10)}; they count like the others."
        )
    return said


def _ties(study: RobustnessNumbers) -> list[str]:
    """Return sentences on measures that tie runs by all judgments, and on undefined values of τ."""
    order, said = study.order, []
    tied = [f"{name} {100 * share:.3g} %" for name, share in zip(study.measures, order.tied) if share > 0]
    if tied:
        left_out = study.about["tau"] == "b"
        what = "are left out of τ" if left_out else "count as neither concordant nor discordant, so that τ is below 1"
        said.append(f"Pairs of runs that tie by all judgments {what}: {', '.join(tied)} of the pairs.")
    lost = np.isnan(order.by_seed).sum(axis=(0, 1)) + order.undefined.sum(axis=(0, 1))
    if lost.any():
        each = len(order.by_seed) * len(order.levels)
        of = each * (1 + len(order.resampled))
        named = ", ".join(f"{name} {number:,}" for name, number in zip(study.measures, lost) if number)
        said.append(
            f"τ is not defined if a measure ties all runs; means and intervals leave out these values: {named} of"
            f" {of:,} values of each measure (levels, seeds and resamples)."
        )
    return said


def _at(study: RobustnessNumbers, level: float) -> str:
    if study.holes.random:
        return f"With {study.holes.says(level)} of the judgments"
    return f"With a pool of {study.holes.says(level)}"


def _with_ends(value: float, low: float, high: float, sign: str = "") -> str:
    if np.isnan(value):
        return "undefined"
    return f"{value:{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]"

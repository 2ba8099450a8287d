"""Leave-group-out study: ranks of each group's runs without the judgments that only this group contributed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ..._version import __version__
from ...errors import many, some
from ...errors.parameter_checks import check_whole
from ...rendering.figures import GREY, axes_of, text_colour, titled
from ...rendering.labels import measure_look, name_rows
from ..correlation import rounded
from ..directions import sign_of_scores, where_less_is_better, why_negated
from ..report import Finding, Picture, Table
from ..resampling import percentiles, times_drawn
from ..study import Study
from .masked_scores import Masking
from .missing_judgments import checked_groups, without_group
from .robustness_numbers import infap_pool_note
from .study import MEASURES, ready
from .work import hash_of_input

Array = np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class GroupsLeftOut(Study):
    """Changes of each group's runs without the judgments that only this group contributed.

    The result of :func:`groups_left_out`.

    Attributes
    ----------
    changes : DataFrame
        A row for each measure and run: its group, its score and rank by all judgments and without the group's own
        judgments, and the number of ranks by which it falls.
    lost : DataFrame
        A row for each group: the number of its runs and of the judgments that are lost without it.
    falls : DataFrame
        A row for each measure: the mean number of ranks by which runs fall and by which they move, with intervals.
    measures : dict of str to Measure
        Measures by name.
    about : dict
        Settings, sizes and hash of the input.
    """

    always_tables = ("falls", "changes", "lost")
    always_pictures = ("falls",)

    about: dict[str, Any]
    measures: dict[str, Measure]
    changes: pd.DataFrame
    lost: pd.DataFrame
    falls: pd.DataFrame

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title of the report."""
        return f"Runs without their group's own judgments: {self._sizes}"

    @property
    def _sizes(self) -> str:
        about = self.about
        return f"{many(about['groups'], 'group')}, {many(about['runs'], 'run')}, {many(about['queries'], 'topic')}"

    @property
    def _noted(self) -> str:
        return " ".join([f"{self._sizes}.", *infap_pool_note(self.about["pool"], self.measures)])

    def tables(self) -> dict[str, Table]:
        """Return the tables of the report by file name."""
        sure = f"{100 * self.about['confidence']:g} % intervals over topics"
        return {
            "falls": Table("Ranks that runs fall", f"Means over runs; {sure}; {self._noted}", self.falls),
            "changes": Table("Runs", f"With and without their group's own judgments; {self._noted}",
                             self.changes),
            "lost": Table("Groups", f"Judgments that only this group contributed; {self._sizes}.", self.lost),
        }  # fmt: skip

    def pictures(self) -> dict[str, Picture]:
        """Return the pictures of the report by file name."""
        about = f"A point for each run; bars are means; {self._noted}"
        size = (7.0, 1.2 + 0.36 * len(self.about["measures"]))
        return {"falls": Picture("Ranks that runs fall", about, partial(plot_falls, self), self.changes, size)}

    def headline(self) -> str:
        """Return what was found, in one sentence."""
        rows = self.falls.sort_values("moves", kind="stable")
        least, most = rows.iloc[0], rows.iloc[-1]
        of = f"of {self.about['runs']:,} ranks in the mean"
        said = f"Without its group's own judgments, a run moves by {least.moves:.2f} {of} by {least.measure}"
        return (
            f"{said}." if len(rows) == 1 else f"{said}, the least, and by {most.moves:.2f} by {most.measure}, the most."
        )

    def findings(self) -> list[str]:
        """Return the findings, one sentence each."""
        share = self.lost["judgments"].mean() / self.about["judgments"]
        said: list[str] = [
            f"Without what it alone contributed, a group loses {share:.1%} of the judgments in the mean, and"
            f" {self.lost['judgments'].max() / self.about['judgments']:.1%} at most."
        ]
        for row in self.falls.sort_values("moves", kind="stable").itertuples():
            runs = self.changes[self.changes.measure == row.measure]
            worst = runs.loc[runs.falls.idxmax()]
            most = f"at most {worst.falls}, of {worst.run} from {worst['rank']} to {worst.rank_without}"
            sentence = (
                f"By {row.measure} a run falls by {row.falls:.2f} ranks [{row.falls_low:.2f}, {row.falls_high:.2f}] of"
                f" {self.about['runs']:,} in the mean and moves by {row.moves:.2f} [{row.moves_low:.2f},"
                f" {row.moves_high:.2f}]; {most if worst.falls > 0 else 'none falls'}."
            )
            said.append(Finding(sentence, "falls"))
        return said

    def limits(self) -> list[str]:
        """Return conclusions that the study does not support, one sentence each."""
        said = [
            "The contributor of a judgment is inferred: it is the only group whose runs have the document"
            + (f" in their first {self.about['depth']}." if self.about["depth"] else " anywhere."),
            "A new kind of system would retrieve more unjudged documents than a run of this collection.",
            *infap_pool_note(self.about["pool"], self.measures),
        ]
        if short := self.about["left_out"]:
            said.append(f"{many(len(short), 'run')} with few documents left out: {some(short, len(short))}.")
        return said + why_negated(where_less_is_better(self.measures))


def groups_left_out(
    qrels: Any,
    runs: Mapping[str, Any],
    groups: Mapping[str, Any],
    measures: Iterable[Any] | Mapping[str, Any] = MEASURES,
    *,
    depth: int | None = None,
    complete: float | None = 0.95,
    pool: str = "judged",
    confidence: float = 0.95,
    resamples: int = 500,
    seed: int = 0,
) -> GroupsLeftOut:
    """Rank each group's runs as if the group had not contributed to the pool.

    For each group, the judgments of documents that only its runs have (in their first ``depth`` ranks) are removed. All
    runs are scored with the remaining judgments, and the ranks of the group's own runs are compared with those by all
    judgments. Judgments of documents that no run has are kept.

    Parameters
    ----------
    qrels, runs, measures
        As for :func:`robustness`.
    groups : mapping
        Group of each run, by the run's name.
    depth : int, optional
        Number of ranks of a run that contribute to the pool, from 1. By default all.
    complete : float in (0, 1] or None, default=0.95
        As for :func:`robustness`.
    pool : {"judged", "whole"}, default="judged"
        Whether infAP treats the documents of removed judgments as in the pool ("whole"). By default it does not:
        without the group, these documents would not have been in the pool.
    confidence : float in (0, 1), default=0.95
        Level of the intervals.
    resamples : int, default=500
        Number of bootstrap resamples of the topics.
    seed : int, default=0
        Seed of the resamples.

    Returns
    -------
    GroupsLeftOut

    Raises
    ------
    BadParameter
        If a run has no group, or if all runs are in one group.

    References
    ----------
    Zobel (1998); Voorhees (2001).

    Examples
    --------
    >>> qrels = {q: {"a": 1, "b": 0, "c": 1, "d": 1} for q in "12"}
    >>> runs = {"one": {q: {"a": 2.0, "c": 1.0} for q in "12"}, "two": {q: {"a": 2.0, "b": 1.0} for q in "12"}}
    >>> study = groups_left_out(qrels, runs, {"one": "A", "two": "B"}, ["AP"])
    >>> study.changes[["group", "run", "score", "score_without", "rank", "rank_without"]].round(2)
      group  run  score  score_without  rank  rank_without
    0     A  one   0.67           0.50     1             1
    1     B  two   0.33           0.33     2             2
    """
    if depth is not None:
        check_whole(1, depth=depth)
    masking, short = ready(qrels, runs, measures, complete, pool)
    of_group = checked_groups({str(run): group for run, group in groups.items()}, masking.runs)
    group = np.empty(len(masking.runs), np.int64)
    for number, names in enumerate(of_group.values()):
        group[[masking.runs.index(name) for name in names]] = number
    whole, queries = masking.whole, masking.queries
    kept = without_group(_retrieved(masking, depth), group, len(of_group))
    lost = pd.DataFrame(
        {
            "group": list(of_group),
            "runs": [len(names) for names in of_group.values()],
            "judgments": (~kept).sum(axis=1),
            "relevant": (~kept & (whole.pool.grade > 0)).sum(axis=1),
        }
    )
    kept = np.concatenate([kept, np.ones((1, kept.shape[1]), bool)])
    scores = masking.scores(whole, kept).reshape(len(masking.measures), len(kept), len(masking.runs), queries)
    changes = _changes(masking, list(of_group), group, scores)
    about = {
        "version": __version__,
        "measures": {name: repr(measure) for name, measure in masking.measures.items()},
        "groups": len(of_group),
        "runs": len(masking.runs),
        "queries": queries,
        "judgments": kept.shape[1],
        "depth": depth,
        "pool": pool,
        "left_out": short,
        "confidence": confidence,
        "resamples": resamples,
        "seed": seed,
        "input": hash_of_input(masking),
    }
    falls = _falls(masking, group, scores, changes, confidence, resamples, seed)
    return GroupsLeftOut(about, masking.measures, changes, lost, falls)


def _retrieved(masking: Masking, depth: int | None) -> Array:
    """Return whether each run has each judged document in its first ``depth`` ranks, [runs × judgments]."""
    whole = masking.whole
    assert whole.judgment is not None
    found = np.zeros((len(masking.runs), len(whole.pool.grade)), bool)
    deep = slice(None) if depth is None else whole.rank <= depth
    found[whole.query[deep] // masking.queries, whole.judgment[deep]] = True
    return found


def _changes(masking: Masking, groups: list[str], group: Array, scores: Array) -> pd.DataFrame:
    means, rows = scores.mean(axis=-1), np.arange(len(group))
    frames = []
    for number, name in enumerate(masking.measures):
        full, without = means[number, -1], means[number, group, rows]
        better = means[number] * sign_of_scores(masking.measures[name])
        rank, rank_without = (_ranks(better[at], rows) for at in (np.full(len(rows), -1), group))
        columns = {"rank": rank, "rank_without": rank_without, "falls": rank_without - rank}
        names = {"measure": name, "group": [groups[g] for g in group], "run": masking.runs}
        frames.append(pd.DataFrame({**names, "score": full, "score_without": without, **columns}))
    return pd.concat(frames, ignore_index=True)


def _ranks(means: Array, own: Array) -> Array:
    """Return the rank of each run in its own order of all runs [orders × runs (× resamples)]."""
    means = rounded(means)
    return np.stack([1 + (order > order[run]).sum(axis=0) for run, order in zip(own, means)])


def _falls(
    masking: Masking, group: Array, scores: Array, changes: pd.DataFrame, confidence: float, resamples: int, seed: int
) -> pd.DataFrame:
    """Return mean numbers of ranks by which runs fall and move, with percentile intervals centred on these means."""
    own, topics = np.arange(len(group)), times_drawn(masking.queries, resamples, seed) / masking.queries
    rows = []
    for number, name in enumerate(masking.measures):
        better = scores[number] * sign_of_scores(masking.measures[name])
        full = rounded(better[-1] @ topics)
        falls = np.empty((len(own), resamples))
        for run in own:
            without = rounded(better[group[run]] @ topics)
            falls[run] = (without > without[run]).sum(axis=0) - (full > full[run]).sum(axis=0)
        row: dict[str, Any] = {"measure": name}
        mine = changes.loc[changes.measure == name, "falls"].to_numpy()
        for what, value, drawn in (
            ("falls", mine.mean(), falls.mean(axis=0)),
            ("moves", np.abs(mine).mean(), np.abs(falls).mean(axis=0)),
        ):
            low, high = percentiles(drawn[None], confidence)[:, 0] - drawn.mean()
            row |= {what: value, f"{what}_low": value + low, f"{what}_high": value + high}
        rows.append(row | {"most": mine.max()})
    return pd.DataFrame(rows)


def plot_falls(study: GroupsLeftOut, ax: Any = None) -> Any:
    """Plot the number of ranks by which each run falls without its group's own judgments.

    A mark is a run, and a vertical line the mean of a measure. ``study.changes`` has the numbers.

    Parameters
    ----------
    study : GroupsLeftOut
        Study to plot.
    ax : matplotlib Axes, optional
        By default new axes.

    Returns
    -------
    matplotlib Axes
    """
    measures = list(study.about["measures"])
    ax = axes_of(ax, (7, 1.2 + 0.36 * len(measures)))
    for number, name in enumerate(measures):
        falls = study.changes.loc[study.changes.measure == name, "falls"].to_numpy()
        order = np.argsort(falls, kind="stable")
        beside = 0.35 * np.sin(2.4 * np.arange(len(falls)))  # deterministic jitter
        look = measure_look(number)
        ax.plot(falls[order], number + beside, look["marker"], color=look["color"], markersize=3, alpha=0.6)
        ax.plot([falls.mean()] * 2, [number - 0.45, number + 0.45], color=text_colour(), linewidth=2)
    ax.axvline(0, color=GREY, linewidth=0.8)
    name_rows(ax, range(len(measures)), measures)
    ax.invert_yaxis()
    ax.set_xlabel("ranks that a run falls (line: mean)")
    return titled(ax, f"How far runs fall without their group's own judgments · {study._sizes}")

"""Explanations of the scores of two runs for the same query, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..errors import BadParameter
from ..errors.sanitise import sanitised
from .explanation import Explanation, displayed
from .explanation_plots import last_shown, plot_pair

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLUMNS = ["docno", "grade", "gain", "V"]


@dataclass(frozen=True, repr=False)
class ExplainedPair:
    """Explanations of the scores of two runs for one query; result of :func:`explain` with two runs.

    Attributes
    ----------
    explanations : dict of str to Explanation
        The explanation of each run, by the name of the run, in the given order.
    """

    explanations: dict[str, Explanation]

    @property
    def measure(self) -> str:
        """Name of the measure."""
        return self._pair[0].measure

    @property
    def query(self) -> str:
        """Query id."""
        return self._pair[0].query

    @property
    def title(self) -> str:
        """The measure and the query."""
        return self._pair[0].title

    @property
    def scores(self) -> pd.Series[float]:
        """Score of each run."""
        return pd.Series({name: one.score for name, one in self.explanations.items()}, name=self.measure)

    @property
    def table(self) -> pd.DataFrame:
        """One row per rank, and for each run the columns docno, grade, gain, V, and adds (to the score).

        Ranks below the end of the shorter ranking have no values. Columns have two levels: run, and column.
        ``.explanations["name"].table`` has all columns of a run.
        """
        return pd.concat(
            {
                name: one.table.set_index("rank")[_COLUMNS].assign(adds=one.contributions)
                for name, one in self.explanations.items()
            },
            axis=1,
            names=["run", None],
        ).sort_index()

    @property
    def first_difference(self) -> int | None:
        """First rank at which the runs have different documents, or None if all documents are the same.

        Only ranks that a user sees in one of the rankings are compared: no ranks below the cutoff.
        """
        return self._first_difference("docno", "")

    @property
    def first_gain_difference(self) -> int | None:
        """First rank at which the documents have different gains, or None if all gains are the same."""
        return self._first_difference("gain", 0.0)

    def at(self, rank: int) -> pd.DataFrame:
        """Return what each run has at a rank.

        Parameters
        ----------
        rank : int
            The rank, such as ``first_difference``.

        Returns
        -------
        DataFrame
            One row per run: docno, grade, gain, V and adds (to the score). A run with fewer documents has no values.

        Raises
        ------
        BadParameter
            If both runs have fewer ranks.
        """
        table = self.table
        if rank not in table.index:
            raise BadParameter(f"rank={rank!r}: give one of the ranks 1 to {len(table):,} that are explained.")
        return (
            pd.DataFrame({name: table.loc[rank, name] for name in self.explanations})
            .T.infer_objects()
            .rename_axis("run")
        )

    def plot(self, ax: Axes | None = None, depth: int | None = None, docnos: bool = False) -> Axes:
        """Plot gains and scores of both runs by rank, in panels one below the other.

        The panels at the top show for each run the gains of its documents (wide grey bars, darker for higher grades)
        and what each rank adds to the score (narrow bars, with numbers). Below are the scores so far and, if the users
        of the two rankings behave differently, the shares of users who see each rank (V). The first rank with different
        gains is shaded, or, if all gains are the same, the first rank with different documents.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes whose place the panels take; by default a new figure.
        depth : int, optional
            Last rank to show; as for :meth:`Explanation.plot` by default.
        docnos : bool, default=False
            Whether to write document ids below the panels of the runs.

        Returns
        -------
        matplotlib Axes
            The upper panel; ``.figure`` is the figure.

        Raises
        ------
        BadParameter
            If `depth` is not a positive integer.
        CWLAError
            If matplotlib is not installed.
        """
        return plot_pair(self, ax, depth, docnos)

    @property
    def where_different(self) -> str:
        """The first ranks with different documents and with different gains, in words."""
        documents, gains = self.first_difference, self.first_gain_difference
        if documents is None:
            return "the same documents at all ranks"
        if gains == documents:
            return f"documents and gains differ from rank {documents:,}"
        gained = f"gains differ from rank {gains:,}" if gains else "all gains are the same"
        return f"documents differ from rank {documents:,}, {gained}"

    @property
    def sentences(self) -> list[str]:
        """The scores, and what each run has at the first ranks with different documents and different gains."""
        (first, one), (second, other) = self.scores.items()
        scores = f"{first} scores {one:.4f} and {second} {other:.4f}, a difference of {other - one:+.4f}."
        where = f"{self.where_different[:1].upper()}{self.where_different[1:]}."
        ranks = sorted({rank for rank in (self.first_difference, self.first_gain_difference) if rank})
        return [scores, where, *(f"Rank {rank:,}: {'; '.join(self._has_at(rank))}." for rank in ranks)]

    def __repr__(self) -> str:
        return str(self)

    @sanitised
    def __str__(self) -> str:
        table, shown = self.table, last_shown(list(self._pair), 20)
        text = table.head(shown).to_string(na_rep="", float_format=lambda v: f"{v:.4f}")
        more = f"\n… {len(table) - shown} more ranks in .table" if len(table) > shown else ""
        return f"{self.title}\n{chr(10).join(self.sentences)}\n{text}{more}"

    @sanitised
    def _repr_html_(self) -> str:
        table = self.table.drop(columns=["gain", "V"], level=1)
        return displayed(self.title, " ".join(self.sentences), table, (7, 6.4), self.plot)

    @property
    def _pair(self) -> tuple[Explanation, Explanation]:
        first, second = self.explanations.values()
        return first, second

    def _first_difference(self, column: str, missing: Any) -> int | None:
        seen = max(one.last_seen for one in self._pair)
        pairs = zip_longest(*(one.table[column].head(seen) for one in self._pair), fillvalue=missing)
        return next((rank for rank, (first, second) in enumerate(pairs, 1) if first != second), None)

    def _has_at(self, rank: int) -> list[str]:
        """Return what each run has at a rank, in words."""
        return [_in_words(str(run), row) for run, row in self.at(rank).iterrows()]


def _in_words(run: str, row: pd.Series[Any]) -> str:
    if not isinstance(row["docno"], str) or not row["docno"]:
        return f"{run} has no document"
    grade = "not judged" if pd.isna(row["grade"]) else f"grade {row['grade']:g}"
    return f"{run} has {row['docno']} ({grade}), which gains {row['gain']:.4g} and adds {row['adds']:.4g} to the score"

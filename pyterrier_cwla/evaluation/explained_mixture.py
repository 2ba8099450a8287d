"""Explanations of mixtures and of intent-aware measures: what each rank adds, by class of users and in total."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import pandas as pd

from ..errors import BadParameter
from ..errors.sanitise import sanitised
from ..measures.wrappers import NO_INTENT
from .explanation import Explanation

_ROWS = 20
_ROUNDING = 1e-12


@dataclass(frozen=True, repr=False)
class ExplainedMixture:
    """Explanation of the score of one query by a mixture of classes of users; result of :func:`explain`.

    Attributes
    ----------
    measure : str
        Name of the mixture.
    query : str
        Query id.
    explanations : dict of str to Explanation
        The explanation by the measure of each class.
    shares : dict of str to float
        The share of the users by class.
    """

    measure: str
    query: str
    explanations: dict[str, Explanation]
    shares: dict[str, float]

    def __post_init__(self) -> None:
        lists = [tuple(one.table["docno"]) for one in self.explanations.values()]
        shown = [tuple(docno for docno in documents if docno) for documents in lists]
        shortest = min(map(len, shown))
        if len({documents[:shortest] for documents in shown}) > 1:
            raise BadParameter(
                f"{self.measure}: its classes see different rankings, because judged_only= differs. Explain the measure"
                " of each class."
            )

    @property
    def score(self) -> float:
        """Score of the query: the sum of the shares times the scores of the classes."""
        return sum(self.shares[name] * one.score for name, one in self.explanations.items())

    @property
    def table(self) -> pd.DataFrame:
        """One row per rank: docno, grade, V, L, adds, and "adds: …" for each class (for intents, also "grade: …").

        V and L are the shares of all users who see the rank and who stop there; NaN where they are not known for a
        class. The column of a class is what the rank adds to the score of the mixture through the users of this class:
        their share times what it adds to their score. ``adds`` is the sum over the classes. Its sum over the ranks is
        the score, but for what lies below the table (``totals["beyond"]``).
        """
        longest = max(self.explanations.values(), key=lambda one: len(one.table)).table.set_index("rank")
        known = {name: one.table.set_index("rank").reindex(longest.index) for name, one in self.explanations.items()}
        adds = {
            name: self.shares[name] * one.contributions.reindex(longest.index, fill_value=0.0)
            for name, one in self.explanations.items()
        }
        seen = {
            column: sum(self.shares[name] * table[column] for name, table in known.items()) for column in ("V", "L")
        }
        columns = {"docno": longest["docno"], **self._grades(known), **seen, "adds": sum(adds.values())}
        return pd.DataFrame({**columns, **{f"adds: {name}": values for name, values in adds.items()}})

    def _grades(self, known: dict[str, pd.DataFrame]) -> dict[str, pd.Series[float]]:
        """Return the columns of grades, which are the same for all classes."""
        longest = max(self.explanations, key=lambda name: len(self.explanations[name].table))
        return {"grade": known[longest]["grade"]}

    @property
    def totals(self) -> pd.DataFrame:
        """One row per class and one for all users, "total".

        Columns: share, items (V⁺), effort, gain (ETG), score (of these users), adds (share times score) and beyond (the
        part of adds from below the ranks of the table). Items, effort, gain and score of the total are means over all
        users; effort is NaN if the classes measure it in several units.
        """
        rows = {
            name: {
                "share": self.shares[name],
                "items": one.expected_items,
                "effort": one.expected_effort,
                "gain": one.expected_total_gain,
                "score": one.score,
                "adds": self.shares[name] * one.score,
                "beyond": self.shares[name] * _below(one),
            }
            for name, one in self.explanations.items()
        }
        table = pd.DataFrame(rows).T.rename_axis("class")
        means = {
            name: (table["share"] * table[name]).sum(skipna=False) for name in ("items", "effort", "gain", "score")
        }
        if len({one.unit for one in self.explanations.values()}) > 1:
            means["effort"] = float("nan")
        table.loc["total"] = {**means, **{name: table[name].sum() for name in ("share", "adds", "beyond")}}
        return table

    @property
    def title(self) -> str:
        """The measure and the query."""
        return f"{self.measure} of query {self.query}"

    def __repr__(self) -> str:
        return str(self)

    @sanitised
    def __str__(self) -> str:
        parts = [
            table.to_string(na_rep="", float_format=lambda v: f"{v:.4f}")
            for table in (self.totals, self.table.head(_ROWS))
        ]
        more = len(self.table) - _ROWS
        return "\n".join([self.title, *parts, *([f"… {more} more ranks in .table"] if more > 0 else [])])

    @sanitised
    def _repr_html_(self) -> str:
        tables = (self.totals, self.table.head(_ROWS))
        shown = "".join(table.to_html(na_rep="", float_format=lambda v: f"{v:.4g}") for table in tables)
        return f"<p><b>{escape(self.title)}</b>: score {self.score:.4f}</p>{shown}"


def _below(explanation: Explanation) -> float:
    """Return the part of a score that the ranks of the table do not add; 0 if it is only rounding."""
    below = explanation.score - float(explanation.contributions.sum())
    return below if abs(below) > _ROUNDING * max(1.0, abs(explanation.score)) else 0.0


class ExplainedIntents(ExplainedMixture):
    """Explanation of the score of one query by an intent-aware measure, whose classes of users are the intents.

    Each document has a grade for each intent. Users whose intent has no judgments, if there are any, are the class "no
    judged intent", which adds nothing.
    """

    def _grades(self, known: dict[str, pd.DataFrame]) -> dict[str, pd.Series[float]]:
        return {f"grade: {name}": table["grade"] for name, table in known.items() if name != NO_INTENT}

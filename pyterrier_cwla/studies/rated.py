"""What users were shown and how they rated it: lists, sessions, or pairs of lists, aligned with judgments once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ..align import Aligned, Judgments
from ..errors import BadParameter, BadRatings, many, some
from ..evaluate import computed_here, loaded, measures_of, one_run
from ..frames import strings
from ..provider import CWLAEvaluator, prepare
from ..sessions import SessionMeasure, SessionRun

Array = np.ndarray


class _Lists:
    """Lists of one run, each a query, aligned with their judgments once."""

    def __init__(self, qrels: Any, run: Any) -> None:
        self.judgments: Judgments = prepare(loaded(qrels, "qrels"))
        self.aligned = Aligned([self.judgments.rows(one_run(run))])

    def scores(self, measures: Mapping[str, Measure]) -> pd.DataFrame:
        computed_here(measures.values())
        found = CWLAEvaluator(list(measures.values()), self.judgments).values(self.aligned)
        return pd.DataFrame({name: found[measure] for name, measure in measures.items()}, index=self.judgments.qids)


@dataclass(frozen=True, eq=False, repr=False)
class Rated:
    """What users were shown, and how they rated it.

    ``what``: "list", "session" or "pair" · ``table``: a row for each rating: ``rating`` (of pairs the preference, 1 for
    the first, −1 for the second, 0 for neither), ``n``, how often it counts (impressions), and all other columns that
    were given: properties to split by · ``shown``: what scores the lists or sessions.
    """

    what: str
    table: pd.DataFrame
    shown: Any

    @classmethod
    def lists(cls, qrels: Any, run: Any, ratings: Any) -> Rated:
        """Ratings of lists: a frame with ``query_id`` and ``rating``, or a dict or Series of ratings by query.

        Every list is a query of the run and of the judgments; a list may be rated by several users. A column ``n`` says
        how often a row counts; further columns are properties to split by.
        """
        table = _frame(ratings, "query_id")
        shown = _Lists(qrels, run)
        _known(table["query_id"], shown.judgments.qids, "rated list")
        return cls("list", _checked(table), shown)

    @classmethod
    def sessions(cls, qrels: Any, run: Any, sessions: Any, ratings: Any, judged_by: str = "session") -> Rated:
        """Ratings of sessions: a frame with ``session`` and ``rating``, or a dict or Series of ratings by session.

        ``sessions`` and ``judged_by`` as :func:`pyterrier_cwla.evaluate_sessions` takes them: the score of a session is
        the mean over its queries.
        """
        table = _frame(ratings, "session")
        shown = SessionRun(qrels, run, sessions, judged_by)
        _known(table["session"], shown.asked.sessions, "rated session")
        return cls("session", _checked(table), shown)

    @classmethod
    def preferences(cls, qrels: Any, run: Any, preferences: Any) -> Rated:
        """Preferences between two lists: a frame with ``first``, ``second`` (queries of the run) and ``preference``.

        Above 0 the first is preferred, below 0 the second, and 0 is a tie; only the sign counts.
        """
        table = _frame(preferences, "first", "second", rating="preference").rename(columns={"preference": "rating"})
        shown = _Lists(qrels, run)
        for name in ("first", "second"):
            _known(table[name], shown.judgments.qids, "compared list")
        checked = _checked(table)
        return cls("pair", checked.assign(rating=np.sign(checked["rating"])), shown)

    def scores(self, measures: Iterable[Any] | Mapping[str, Any]) -> pd.DataFrame:
        """A row for each rating, a column for each measure: the score of the list or session, or of pairs the first
        list's minus the second's."""
        if isinstance(measures, Mapping):
            named = dict(zip(measures, measures_of(measures.values()), strict=True))
        else:
            named = {str(measure): measure for measure in measures_of(measures)}
        if not named:
            raise BadParameter("there is no measure: give measures=['nDCG@10', 'TBG'], or others.")
        if self.what != "session" and (wrong := [m for m in named.values() if isinstance(m, SessionMeasure)]):
            wrong[0].validate_params()  # says that it scores sessions
        scores = self.shown.scores(named)
        if self.what == "pair":
            found = scores.loc[self.table["first"]].to_numpy() - scores.loc[self.table["second"]].to_numpy()
        else:
            found = scores.loc[self.table["query_id" if self.what == "list" else "session"]].to_numpy()
        return pd.DataFrame(found, self.table.index, list(named))

    def only(self, rows: Any) -> Rated:
        """Some of the ratings, by a mask or row numbers."""
        return replace(self, table=self.table[rows] if _is_mask(rows) else self.table.iloc[rows])

    @property
    def ratings(self) -> Array:
        return self.table["rating"].to_numpy(float)

    @property
    def weights(self) -> Array | None:
        """How often each rating counts, or None where all count once."""
        return self.table["n"].to_numpy(float) if "n" in self.table else None

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        values, counts = np.unique(self.ratings, return_counts=True)
        kinds = ", ".join(f"{value:g}: {count:,}" for value, count in zip(values, counts, strict=True))
        return f"<ratings of {many(len(self), self.what)}: {kinds if len(values) <= 9 else f'{len(values)} values'}>"


def _is_mask(rows: Any) -> bool:
    return np.asarray(rows).dtype == bool


def _frame(ratings: Any, *ids: str, rating: str = "rating") -> pd.DataFrame:
    if hasattr(ratings, "to_pandas"):
        ratings = ratings.to_pandas()
    if isinstance(ratings, Mapping | pd.Series) and len(ids) == 1:
        ratings = pd.DataFrame(list(ratings.items()), columns=[ids[0], rating])
    if not isinstance(ratings, pd.DataFrame):
        columns = ", ".join([*ids, rating])
        raise BadRatings(f"ratings must be a DataFrame with the columns {columns}, not {type(ratings).__name__}.")
    table = ratings.rename(columns={"qid": "query_id"}) if "query_id" not in ratings else ratings
    for name in (*ids, rating):
        if name not in table:
            raise BadRatings(f"the ratings have no column {name!r}; there is {some(table.columns, 8)}.")
    for name in ids:
        strings(table[name], name, "ratings", BadRatings)
    if not len(table):
        raise BadRatings("there are no ratings.")
    return table.reset_index(drop=True)


def _known(names: pd.Series, known: Iterable[str], what: str) -> None:
    unknown = names[~names.isin(list(known))].unique()
    if len(unknown):
        raise BadRatings(
            f"nothing is judged for {many(len(unknown), what)} ({some(unknown)}): leave them out, or give judgments."
        )


def _checked(table: pd.DataFrame) -> pd.DataFrame:
    """Ratings and counts are finite numbers."""
    for name, lowest in (("rating", -np.inf), ("n", 0.0)):
        if name not in table:
            continue
        values = pd.to_numeric(table[name], errors="coerce").to_numpy(float)
        wrong = np.flatnonzero(~np.isfinite(values) | (values < lowest))
        if len(wrong):
            row = table.iloc[wrong[0]]
            raise BadRatings(
                f"{many(len(wrong), 'row')} of the ratings {'has' if len(wrong) == 1 else 'have'} no usable {name!r}"
                f" (first: {row.to_dict()}): leave {'it' if len(wrong) == 1 else 'them'} out, or mend."
            )
        table = table.assign(**{name: values})
    if len(table) < 3:
        raise BadRatings(f"{many(len(table), 'rating')}: a correlation needs at least three.")
    return table

"""Ratings of lists and sessions, preferences, and correctness of answers, with the scores of what was rated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from ...data.alignment import Aligned, Judgments
from ...data.columns import strings
from ...errors import BadParameter, BadRatings, many, some
from ...files.inputs import loaded, one_run
from ...measures.labels import Measures, by_name
from ...measures.named import measures_of
from ...measures.provider import CWLAEvaluator, computed_here, prepare
from ...measures.sessions import SessionRun
from ...rendering.numbers import percent
from ...tasks.hashing import fingerprint
from ..correlation import sign_of_scores
from ..report import About

Array = np.ndarray
OnePer = Literal["pair", "user", "label"]

ONE_PER: dict[str, list[str]] = {"pair": [], "user": ["user"]}  #: columns, besides the pair, that separate preferences

_ADDED = ("labels", "mean", "opposed")  # columns of a reduced table
_NOISE = 1e-12  # rounding error of a mean that is 0, relative to the mean of absolute values


def pair_numbers(table: pd.DataFrame, also: list[str]) -> Array:
    """Return the number of the pair of each row, from 0 in the order of first rows; (a, b) and (b, a) are one pair.

    Rows with different values of the columns ``also`` have different numbers.
    """
    first, second = (table[name].to_numpy(object) for name in ("first", "second"))  # categories have no order
    turned = second < first
    keys = [np.where(turned, second, first), np.where(turned, first, second), *(table[name] for name in also)]
    return table.groupby(keys, sort=False, observed=True).ngroup().to_numpy()


def reduced(table: pd.DataFrame, also: list[str]) -> tuple[pd.DataFrame, tuple[str, ...] | None]:
    """Reduce the labels of each pair to their mean.

    With the labels l_k of a pair, their weights n_k (column ``n``, or 1), and s_k = 1 if the label's lists are in the
    order of the pair's first row and −1 otherwise, the preference is Σ n_k·s_k·l_k / Σ n_k. A mean that differs from 0
    only by rounding is 0.

    Parameters
    ----------
    table : DataFrame
        A row for each label, with the columns ``first``, ``second``, ``rating`` (numbers), and optionally ``n``.
    also : list of str
        Columns, besides the pair, that separate preferences.

    Returns
    -------
    table : DataFrame
        A row for each preference: the first row of the pair, with the mean as ``rating`` and the sum of ``n``. A
        further column is kept if its value is the same for all labels of each pair. Added are ``labels`` (number of
        labels), ``mean`` (their mean) and ``opposed`` (whether there are labels for both lists). Without repeated
        pairs, the given table.
    left_out : tuple of str or None
        Columns that are not kept, or None if no pair is repeated.

    Raises
    ------
    BadRatings
        If pairs are repeated and a column has the name of an added one.

    References
    ----------
    Moffat et al. (2022), section 4, experiment 2.
    """
    pair = pair_numbers(table, also)
    first = np.flatnonzero(~pd.Series(pair).duplicated())
    if len(first) == len(table):
        return table, None
    if taken := [name for name in _ADDED if name in table]:
        raise BadRatings(
            f"several labels of a pair are reduced to one, which adds the columns {some(_ADDED)}, but the ratings"
            f" already have {some(taken)}: rename {'it' if len(taken) == 1 else 'them'}, or give one_per='label'."
        )
    weights = table["n"].to_numpy(float) if "n" in table else np.ones(len(table))
    total = np.bincount(pair, weights)
    same_order = table["first"].to_numpy() == table["first"].to_numpy()[first[pair]]
    label = np.where(same_order, 1.0, -1.0) * table["rating"].to_numpy(float)
    share = weights / total[pair]
    mean = np.bincount(pair, share * label)
    mean = np.where(np.abs(mean) > _NOISE * np.bincount(pair, share * np.abs(label)), mean, 0.0)
    others = table.drop(columns=["first", "second", "rating", "n"], errors="ignore")
    texts = {name: np.array([repr(value) for value in others[name]]) for name in others}  # missing values are equal
    differing = tuple(name for name, values in texts.items() if (values != values[first[pair]]).any())
    found = table.iloc[first].drop(columns=list(differing)).reset_index(drop=True).assign(rating=mean)
    if "n" in table:
        found["n"] = total
    opposed = (np.bincount(pair, label > 0) > 0) & (np.bincount(pair, label < 0) > 0)
    return found.assign(labels=np.bincount(pair), mean=mean, opposed=opposed), differing


def shared_by_users(table: pd.DataFrame) -> int:
    """Return the number of pairs labelled by several users, or 0 if no user labelled several pairs."""
    each = pd.DataFrame({"pair": pair_numbers(table, []), "user": table["user"]}).drop_duplicates()
    return int((each["pair"].value_counts() > 1).sum()) if each["user"].duplicated().any() else 0


def from_labels(labels: Mapping[str, Any] | None) -> str:
    """Format the number of reduced labels, from :attr:`Rated.label_counts`: `` from 200 labels``, or an empty text."""
    return "" if labels is None or "repeated" in labels else f" from {many(labels['labels'], 'label')}"


def why_reduced(labels: Mapping[str, Any] | None) -> list[str]:
    """Return sentences on the labels of pairs, from :attr:`Rated.label_counts`."""
    if labels is None:
        return []
    if "repeated" in labels:
        return [
            f"Several labels of one pair count as independent ({many(labels['repeated'], 'repeated pair')}): intervals"
            " are too short and p-values too small. Rated.preferences(…, one_per='pair') reduces the labels of a pair"
            " to one."
        ]
    sentences = [
        f"{many(labels['labels'], 'label')} of pairs are reduced to {many(labels['preferences'], 'preference')}, each"
        " the sign of the mean label."
    ]
    if opposed := labels["opposed"]:
        undecided = labels["undecided"]
        sentences[0] += (
            f" {many(opposed, 'pair')} {'has' if opposed == 1 else 'have'} labels for both lists, of which"
            f" {undecided:,} {'has' if undecided == 1 else 'have'} a mean of 0 (no preference)."
        )
    if "user" in labels["left_out"]:
        sentences.append(
            "Several users labelled the same pairs: intervals and tests resample pairs, and do not account for several"
            " pairs of one user. Rated.preferences(…, one_per='user') resamples users."
        )
    if others := [name for name in labels["left_out"] if name != "user"]:
        columns = f"column {others[0]!r} is" if len(others) == 1 else f"columns {some(others)} are"
        sentences.append(f"The {columns} left out: the labels of one pair have different values.")
    return sentences


_FEWEST = 3  # minimum number of ratings: the correlation of two is 1 or −1
#: Columns with the rated items.
_IDS = {"list": ["query_id"], "session": ["session"], "pair": ["first", "second"], "answer": ["answer"]}


class _RunLists:
    """Lists of one run, one for each query, aligned with their judgments."""

    def __init__(self, qrels: Any, run: Any) -> None:
        self.judgments: Judgments = prepare(loaded(qrels, "qrels"))
        self.aligned = Aligned(self.judgments, [self.judgments.rows(one_run(run))])
        self.place: Any = slice(None)  # of each list among the aligned rankings
        self.names: Sequence[Any] = self.judgments.qids

    def scores(self, measures: Mapping[str, Measure]) -> pd.DataFrame:
        computed_here(measures.values())
        found = CWLAEvaluator(list(measures.values()), self.judgments).values(self.aligned)
        return pd.DataFrame({name: found[measure][self.place] for name, measure in measures.items()}, index=self.names)

    def results(self) -> pd.Series:
        """Return the number of results of each list."""
        return pd.Series(self.aligned.rankings().n[self.place], self.names)


class _Sessions(SessionRun):
    def results(self) -> pd.Series:
        """Return the number of results of each session, summed over its queries."""
        return pd.Series(self.summed(self.found.n), self.sessions)


class _AnswerLists(_RunLists):
    """Lists of passages by answer; those of the first answer to each question are one run, and so on."""

    def __init__(self, qrels: Any, question: pd.Series, passages: Iterable[Sequence[str]]) -> None:
        self.judgments = prepare(loaded(qrels, "qrels"))
        _judged(question, self.judgments.qids, "question")
        run = question.groupby(question).cumcount().to_numpy()
        lists: list[dict[str, dict[str, float]]] = [{} for _ in range(max(run) + 1)]
        for number, q, retrieved in zip(run.tolist(), question, passages, strict=True):
            lists[number][q] = {passage: -float(rank) for rank, passage in enumerate(retrieved)}
            if len(lists[number][q]) < len(retrieved):
                twice = next(passage for passage in retrieved if list(retrieved).count(passage) > 1)
                raise BadRatings(f"question {q!r}: passage {twice!r} occurs twice in one list: keep the first.")
        self.aligned = Aligned(self.judgments, list(map(self.judgments.rows, lists)))
        found = [one for rows in self.aligned.runs for one in self.judgments.overlaps(rows)]
        examples = [one.example for one in found if one.example is not None]
        if examples and not any(one.anywhere for one in found):
            name, has, wanted = examples[0]
            raise BadRatings(
                f"no passage of an answer is judged for its question: for question {name!r} there are {some(has)}, and"
                f" judged are {some(wanted)}. Are the ids written alike? In a text, ids are separated by blanks."
            )
        self.place = run * len(self.judgments.qids) + question.map(self.judgments.index).to_numpy()
        self.names = range(len(question))


@dataclass(frozen=True, eq=False, repr=False)
class Rated:
    """Rated lists, rated sessions, preferences between lists, or answers that are correct or wrong.

    Use the class methods :meth:`lists`, :meth:`sessions`, :meth:`preferences` and :meth:`answers` to create objects.

    No rating is ignored. A rating that is not a number, or whose list has no judgments, raises :class:`BadRatings`, and
    so do two ratings of the same item by the same user. A list without results in the run scores 0 and is counted in
    ``empty``.

    Attributes
    ----------
    what : {"list", "session", "pair", "answer"}
        Kind of the rated items.
    table : DataFrame
        A row for each rating. ``rating`` is the rating or, for pairs, the preference: 1 for the first list, −1 for the
        second, 0 for neither; for answers, 1 is correct and 0 is wrong. ``n`` is the weight of the rating (for example
        impressions), and ``user`` the user who gave it. All other given columns are properties by which ratings can be
        split.
    shown : object
        Aligned run that scores the lists or sessions.
    left_out : dict of str to int
        Number of ratings that the reader of the dataset left out, by reason.
    label_columns : tuple of str or None
        If several labels of a pair were reduced to one preference: the given columns that ``table`` lacks, because
        their values differ between labels of one pair. Otherwise None.
    """

    what: str
    table: pd.DataFrame
    shown: Any
    left_out: dict[str, int] = field(default_factory=dict)
    label_columns: tuple[str, ...] | None = None

    @classmethod
    def lists(cls, qrels: Any, run: Any, ratings: Any) -> Rated:
        """Create ratings of lists.

        Every list is a query of the run and of the judgments. Several users may rate the same list; the column ``user``
        distinguishes them. Without this column, several ratings of a list count as ratings by several users, and fits
        keep them in one fold.

        Parameters
        ----------
        qrels, run
            Judgments and run, as :func:`pyterrier_cwla.evaluate` takes them.
        ratings : DataFrame, dict or Series
            Frame with the columns ``query_id`` and ``rating``, or ratings by query. An optional column ``n`` has the
            weight of each row, above 0. Further columns are properties by which ratings can be split.

        Returns
        -------
        Rated

        Raises
        ------
        BadRatings
            If columns are missing, if a rating is not a finite number, if a list has no judgments, if the run has none
            of the lists, if a user rated a list twice, or if there are fewer than three ratings.

        Examples
        --------
        >>> qrels = {q: {"a": 1, "b": 0} for q in "123"}
        >>> run = {"1": {"a": 2.0, "b": 1.0}, "2": {"b": 2.0, "a": 1.0}, "3": {"b": 1.0}}
        >>> rated = Rated.lists(qrels, run, {"1": 5, "2": 3, "3": 1})
        >>> rated
        <ratings of 3 lists: 1: 1, 3: 1, 5: 1>
        >>> rated.scores(["RR"]).assign(rating=rated.ratings)
            RR  rating
        0  1.0     5.0
        1  0.5     3.0
        2  0.0     1.0
        """
        table = _frame(ratings, "list")
        if "user" in table:
            _once(table, "list")
        shown = _RunLists(qrels, run)
        _judged(table["query_id"], shown.judgments.qids, "rated list")
        return cls("list", _checked(table), shown)._not_all_empty()

    @classmethod
    def sessions(cls, qrels: Any, run: Any, sessions: Any, ratings: Any, judged_by: str = "session") -> Rated:
        """Create ratings of sessions.

        The score of a session is the mean over its queries, or is computed by a session measure. A session belongs to
        one user, so that without the column ``user`` (of those who rated it) it has one rating.

        Parameters
        ----------
        qrels, run
            Judgments and run, as :func:`pyterrier_cwla.evaluate` takes them.
        sessions, judged_by
            As :func:`pyterrier_cwla.evaluate_sessions` takes them.
        ratings : DataFrame, dict or Series
            Frame with the columns ``session`` and ``rating``, or ratings by session. Further columns as for
            :meth:`lists`.

        Returns
        -------
        Rated

        Raises
        ------
        BadRatings
            As for :meth:`lists`, or if a rated session is not among the sessions.

        Examples
        --------
        >>> qrels = {s: {"a": 1, "b": 0} for s in ("s1", "s2", "s3")}
        >>> run = {"q1": {"a": 1.0}, "q2": {"b": 1.0}, "q3": {"b": 2.0, "a": 1.0}, "q4": {"b": 1.0}}
        >>> sessions = {"s1": ["q1", "q2"], "s2": ["q3"], "s3": ["q4"]}
        >>> rated = Rated.sessions(qrels, run, sessions, {"s1": 5, "s2": 4, "s3": 1})
        >>> rated.scores(["RR"])["RR"].tolist()
        [0.5, 0.5, 0.0]
        """
        table = _frame(ratings, "session")
        _once(table, "session")
        shown = _Sessions(qrels, run, sessions, judged_by)
        unknown = table["session"][~table["session"].isin(shown.sessions)].unique()
        if len(unknown):
            raise BadRatings(
                f"{many(len(unknown), 'rated session')} ({some(unknown)}) {'is' if len(unknown) == 1 else 'are'} not"
                f" among the sessions, which are {some(shown.sessions)}: add them to sessions=."
            )
        return cls("session", _checked(table), shown)._not_all_empty()

    @classmethod
    def preferences(cls, qrels: Any, run: Any, preferences: Any, one_per: OnePer | None = None) -> Rated:
        """Create preferences between two lists.

        Several labels of one pair are not independent: counted separately, they make intervals too short. By default
        they are therefore reduced to one preference, the sign of their mean, as in Moffat et al. (2022). Labels of the
        same lists in the other order are turned round first. Copies of labels change nothing.

        * A mean of 0 is no preference, like a label of 0: the pair counts in correlations, but not in the share of
          agreement.
        * With a column ``n``, the mean is weighted by it, and the ``n`` of the pair is the sum over its labels. A label
          with n = 3 is the same as three labels.
        * The pair has the order of its first row, and the columns whose values are the same for all labels of each
          pair; ``label_columns`` names the others. Added are the columns ``labels`` (number of labels of the pair),
          ``mean``, and ``opposed`` (whether there are labels for both lists).
        * If users labelled several pairs, and some pairs have labels of several users, neither pairs nor users are
          independent, and ``one_per`` must be given. With ``"pair"``, ``user`` is not a column of the reduced pairs,
          and pairs are resampled. With ``"user"``, users are.

        If no pair has several labels, the table is as given.

        Parameters
        ----------
        qrels, run
            Judgments and run, as :func:`pyterrier_cwla.evaluate` takes them.
        preferences : DataFrame
            Frame with the columns ``first``, ``second`` (queries of the run) and ``preference``: above 0 if the first
            list is preferred, below 0 if the second is, and 0 if neither is. The size counts only in means of several
            labels; give signs for the preference of the majority. Further columns as for :meth:`lists`. A user may
            compare two lists once in each order.
        one_per : {"pair", "user", "label"}, optional
            Preferences that the labels of a pair are reduced to: one for each pair, the sign of the mean label
            (default); one for each user and pair, with the column ``user``; or one for each label, without reduction.

        Returns
        -------
        Rated

        Raises
        ------
        BadRatings
            As for :meth:`lists`, if a list is compared with itself, if there are fewer than three pairs, if
            ``one_per="user"`` and there is no column ``user``, or if users shared pairs and ``one_per`` is not given.
        BadParameter
            If ``one_per`` has another value.

        References
        ----------
        Moffat et al. (2022), section 4, experiment 2.

        Examples
        --------
        >>> qrels = {q: {"a": 1, "b": 0} for q in "123"}
        >>> run = {"1": {"a": 2.0, "b": 1.0}, "2": {"b": 2.0, "a": 1.0}, "3": {"b": 1.0}}
        >>> pairs = pd.DataFrame({"first": ["1", "2", "3"], "second": ["2", "3", "1"], "preference": [0.3, 0, -1]})
        >>> rated = Rated.preferences(qrels, run, pairs)
        >>> rated.scores(["RR"]).assign(rating=rated.ratings)
            RR  rating
        0  0.5     1.0
        1  0.5     0.0
        2 -1.0    -1.0

        The first pair is labelled again, with the lists in the other order. The mean of 0.3 and −0.5 is below 0:

        >>> again = pd.DataFrame({"first": ["2"], "second": ["1"], "preference": [0.5]})
        >>> Rated.preferences(qrels, run, pd.concat([pairs, again])).table.round(2)
          first second  rating  labels  mean  opposed
        0     1      2    -1.0       2  -0.1     True
        1     2      3     0.0       1   0.0    False
        2     3      1    -1.0       1  -1.0    False
        """
        if one_per not in [None, *ONE_PER, "label"]:
            raise BadParameter("must be 'pair', 'user' or 'label'.", one_per=one_per)
        table = _frame(preferences, "pair", "preference").rename(columns={"preference": "rating"})
        if "user" in table:
            _once(table, "pair")
        elif one_per == "user":
            raise BadRatings("one_per='user' needs a column 'user' with the users who gave the labels: add it.")
        shown = _RunLists(qrels, run)
        for name in ("first", "second"):
            _judged(table[name], shown.judgments.qids, "compared list")
        same = table["first"][table["first"] == table["second"]]
        if len(same):
            raise BadRatings(f"{many(len(same), 'pair')} ({some(same)}) compares a list with itself: leave it out.")
        checked, differing = _checked(table, "preference, a number above or below 0, or 0,"), None
        shared = shared_by_users(checked) if one_per is None and "user" in checked else 0
        if shared:
            raise BadRatings(
                f"{many(shared, 'pair')} {'has' if shared == 1 else 'have'} labels of several users, who also labelled"
                " other pairs. Give one_per='user' to keep one preference for each user and pair and to resample users"
                " (for few shared pairs), or one_per='pair' to keep one for each pair and to resample pairs."
            )
        if one_per != "label":
            checked, differing = reduced(checked, ONE_PER[one_per or "pair"])
            if len(checked) < _FEWEST:
                pairs, labels = many(len(checked), "pair"), many(len(table), "label")
                raise BadRatings(f"{pairs} with {labels}: a correlation needs at least three pairs.")
        signs = checked.assign(rating=np.sign(checked["rating"]))
        return cls("pair", signs, shown, label_columns=differing)._not_all_empty()

    @classmethod
    def answers(cls, qrels: Any, answers: Any) -> Rated:
        """Create ratings of answers that a reader, such as a language model, gave from retrieved passages.

        A question may have several answers, from other passages or by other readers. Studies resample questions, with
        all of their answers, and keep the answers to a question in one fold.

        Parameters
        ----------
        qrels
            Judgments of the passages by question, as :func:`pyterrier_cwla.evaluate` takes them.
        answers : DataFrame
            Frame with the columns ``question`` (the query id), ``passages`` (ids in rank order, a list or a text with
            blanks between ids) and ``correct`` (1 or 0). In place of ``passages``, a column ``docno`` has one passage
            in each row; the rows of a question, or of an ``answer`` if there is such a column, are then one list, in
            their order. An optional column ``n`` weights answers; further columns are properties.

        Returns
        -------
        Rated

        Raises
        ------
        BadRatings
            If columns are missing, if an answer is neither correct nor wrong, if a list has a passage twice, if a
            question has no judgments, or if no passage is judged for its question.

        Examples
        --------
        >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 0, "b": 1}}
        >>> rows = [("1", "a b", 1), ("1", "b", 0), ("2", "b a", 1), ("2", "a b", 0)]
        >>> rated = Rated.answers(qrels, pd.DataFrame(rows, columns=["question", "passages", "correct"]))
        >>> rated
        <ratings of 4 answers: 0: 2, 1: 2>
        >>> rated.scores(["RR"])["RR"].tolist()
        [1.0, 0.0, 1.0, 0.5]
        """
        table = answers.to_pandas() if hasattr(answers, "to_pandas") else answers
        if not isinstance(table, pd.DataFrame):
            raise BadRatings(
                f"answers are a DataFrame with the columns question, passages and correct, not {type(table).__name__}."
                " Read a file with pd.read_csv(path, dtype={'question': str, 'passages': str})."
            )
        other = {} if "question" in table else {"query_id": "question", "qid": "question"}
        table = _frame(table.rename(columns=other), "question", "correct")
        if "passages" not in table:
            table = _of_rows(table)
        lists = [_passages(*row) for row in zip(table["question"], table["passages"])]
        for row in table[~table["correct"].isin([0, 1])].head(1).itertuples():
            raise BadRatings(
                f"question {row.question!r}: correct is {row.correct!r}, and must be the number 1 (correct) or 0"
                " (wrong)."
            )
        shown = _AnswerLists(qrels, table["question"], lists)
        table = table.drop(columns="passages").rename(columns={"correct": "rating"}).assign(answer=range(len(table)))
        return cls("answer", _checked(table), shown)._not_all_empty()

    def scores(self, measures: Measures) -> pd.DataFrame:
        """Return the score of each rated item by each measure.

        Parameters
        ----------
        measures : iterable or mapping
            Measures, or measures by name.

        Returns
        -------
        DataFrame, shape (n_ratings, n_measures)
            Scores of the lists or sessions; for pairs, the score of the first list minus that of the second.

        Raises
        ------
        BadParameter
            If there is no measure, or if a measure has no finite score for a rated item.
        """
        named = by_name(measures_of(measures))
        if not named:
            raise BadParameter("there is no measure: give some, such as measures=['nDCG@10', 'TBG'].")
        scores = self.shown.scores(named)
        found, *second = (scores.loc[self.table[name]].to_numpy() for name in _IDS[self.what])
        if second:
            found = found - second[0]
        infinite = ~np.isfinite(found)
        for row, column in np.argwhere(infinite)[:1]:
            raise BadParameter(
                f"{list(named)[column]} has no finite score for {many(int(infinite[:, column].sum()), 'rating')}"
                f" (first: {self.table.iloc[row].to_dict()})."
            )
        return pd.DataFrame(found, self.table.index, list(named))

    def only(self, rows: Any) -> Rated:
        """Return a subset of the ratings.

        Parameters
        ----------
        rows : array_like of bool, shape (n_ratings,), or array_like of int
            Mask of the ratings, or row numbers from 0; at least three ratings.

        Returns
        -------
        Rated
            The ratings in the order of ``rows``.

        Raises
        ------
        BadParameter
            If the mask has another length, or a row does not exist.
        BadRatings
            If fewer than three ratings are left.
        """
        rows = np.asarray(rows)
        if rows.dtype == bool:
            if len(rows) != len(self):
                raise BadParameter(f"the mask has {len(rows):,} values for {many(len(self), 'rating')}.")
            rows = np.flatnonzero(rows)
        if wrong := [row for row in rows.tolist() if not (isinstance(row, int) and 0 <= row < len(self))]:
            raise BadParameter(
                f"there is no row {some(wrong)}: rows are numbers from 0 to {len(self) - 1:,}, or a mask."
            )
        return replace(self, table=_checked(self.table.iloc[rows.astype(int)]))

    def fingerprint(self) -> str:
        """Return a hash of all inputs: run, judgments, lengths, duplicates, sessions, and the table of ratings."""
        table = self.table.to_json(orient="split", double_precision=15)
        parts: list[Any] = [self.what, table, self.ratings, self.weights]
        if self.what == "session":
            of = self.shown
            parts += [list(map(str, of.sessions)), of.start, of.queries, of.judged_as]
        for columns in (self.shown.judgments.columns, *(rows.columns for rows in self.shown.aligned.runs)):
            for name, column in vars(columns).items():
                parts += [name, column if isinstance(column, np.ndarray | bool | None) else column.to_pylist()]
        return fingerprint(*parts)

    def about(self, weighted: bool = False) -> dict[str, Any]:
        """Return what a study reports about its ratings: numbers of ratings and users, and the hash of the input.

        Parameters
        ----------
        weighted : bool, default=False
            Whether the study weights each rating by its column ``n``.
        """
        return {
            "what": self.what,
            "ratings": len(self),
            "users": None if self.users is None else self.units,
            "of_one_user": "user" in self.table and self.table["user"].nunique() == 1,
            "weighted": weighted,
            "weights_unused": self.weights is not None and not weighted,
            "left_out": self.left_out,
            "labels": self.label_counts,
            "repeated_lists": self.repeated,
            "input": self.fingerprint(),
        }

    @property
    def ratings(self) -> Array:
        """Ratings, or preferences of pairs."""
        return self.table["rating"].to_numpy(float)

    @property
    def weights(self) -> Array | None:
        """Weight of each rating, or None if each counts once."""
        return self.table["n"].to_numpy(float) if "n" in self.table else None

    @property
    def users(self) -> Array | None:
        """Number of the user of each rating, or None if users are not known or there is only one.

        Of answers, the number of the question: those to one question are not independent.
        """
        unit = "question" if self.what == "answer" else "user"
        if unit not in self.table or self.table[unit].nunique() < 2:
            return None
        return pd.factorize(self.table[unit])[0]

    @property
    def repeated(self) -> int:
        """Number of ratings of lists with an earlier rating, if users are not known."""
        known = self.what != "list" or "user" in self.table
        return 0 if known else int(self.table["query_id"].duplicated().sum())

    @property
    def unit(self) -> str:
        """Unit of resampling: "user" or "question" (with all ratings), or "rating" if users are not known."""
        return "rating" if self.users is None else "question" if self.what == "answer" else "user"

    @property
    def units(self) -> int:
        """Number of units of resampling."""
        return len(self) if self.users is None else int(self.users.max()) + 1

    @property
    def label_counts(self) -> dict[str, Any] | None:
        """Numbers of labels of pairs, for reports; None if each pair has one label.

        ``labels``, ``preferences``, ``opposed`` (preferences with labels for both lists), ``undecided`` (those of them
        whose mean is 0) and ``left_out`` of reduced labels; or ``repeated``, the number of rows whose pair has a row
        before, if rows are resampled as if they were independent.
        """
        if self.what != "pair":
            return None
        if self.label_columns is not None:
            opposed = self.table["opposed"]
            return {
                "labels": int(self.table["labels"].sum()),
                "preferences": len(self),
                "opposed": int(opposed.sum()),
                "undecided": int((opposed & (self.ratings == 0)).sum()),
                "left_out": list(self.label_columns),
            }
        repeated = 0 if self.users is not None else len(self) - len(np.unique(pair_numbers(self.table, [])))
        return {"repeated": repeated} if repeated else None

    @property
    def empty(self) -> int:
        """Number of ratings whose list or session, or one list of whose pair, has no results and therefore scores 0."""
        results = self.shown.results()
        return int(np.any([results.loc[self.table[name]].to_numpy() == 0 for name in _IDS[self.what]], axis=0).sum())

    def _not_all_empty(self) -> Rated:
        if self.empty == len(self):
            lists = {"list": "lists", "session": "sessions", "pair": "pairs of lists", "answer": "answers"}[self.what]
            raise BadRatings(
                f"the run has no results for any of the {len(self):,} rated {lists}: do the ids of run and ratings"
                " match?"
            )
        return self

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        values, counts = np.unique(self.ratings, return_counts=True)
        kinds = ", ".join(f"{value:g}: {count:,}" for value, count in zip(values, counts, strict=True))
        return f"<ratings of {many(len(self), self.what)}: {kinds if len(values) <= 9 else f'{len(values)} values'}>"


def better_scores(rated: Rated, measures: Mapping[str, Measure]) -> pd.DataFrame:
    """Return the scores of :meth:`Rated.scores`, negated where less is better, so that greater is better."""
    return rated.scores(measures) * np.array([sign_of_scores(measure) for measure in measures.values()])


def what_was_rated(about: About) -> str:
    """Format the numbers of :meth:`Rated.about`: ``60 rated lists of 12 users, weighted by n``."""
    labels = from_labels(about["labels"])
    weighted = ", weighted by n" if about["weighted"] else ""
    return f"{many(about['ratings'], 'rated ' + about['what'])}{labels}{by_whom(about)}{weighted}"


def by_whom(about: About) -> str:
    """Format the number of users or questions of :meth:`Rated.about`: `` of 12 users``, or an empty text."""
    what, unit = ("to", "question") if about["what"] == "answer" else ("of", "user")
    return "" if about["users"] is None else f" {what} {many(about['users'], unit)}"


def how_resampled(about: About) -> str:
    """Return a caption that describes the ratings and the intervals."""
    return (
        f"{what_was_rated(about)}; {percent(about['confidence'])} intervals: bootstrap,"
        f" {about['resamples']:,} resamples of {about['resampled']}, seed {about['seed']}."
    )


def why_not_all(about: About) -> list[str]:
    """Return sentences about ratings that were reduced or left out, are by one user or have weights.

    ``about`` is that of :meth:`Rated.about`.
    """
    repeated = about["repeated_lists"]
    copies = (
        f"{repeated:,} of {about['ratings']:,} ratings repeat a list. They count as ratings by other users: if they are"
        " copies, intervals are too short and p-values too small."
    )
    once = ["Each rating counts once; coefficients whose names begin with weighted_ count it n times."]
    one = ["All ratings are by one user: they show nothing about other users."] if about["of_one_user"] else []
    return (
        once * about["weights_unused"]
        + one
        + [copies] * bool(repeated)
        + why_reduced(about["labels"])
        + why_left_out(about["left_out"])
    )


def why_left_out(left_out: Mapping[str, int]) -> list[str]:
    """Return a sentence if ratings were left out."""
    why = "; ".join(f"{reason}: {number:,}" for reason, number in left_out.items())
    return [f"{many(sum(left_out.values()), 'rating')} left out ({why})."] if why else []


def _frame(ratings: Any, what: str, rating: str = "rating") -> pd.DataFrame:
    ids = _IDS.get(what, [what])
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
    if not len(table):
        raise BadRatings("there are no ratings.")
    for name in ids:
        strings(table[name], name, "ratings", BadRatings)
    if "user" in table and (without := int(table["user"].isna().sum())):
        raise BadRatings(
            f"{many(without, 'rating')} of {len(table):,} have no 'user': add them, or drop the column (then all"
            " ratings count as independent)."
        )
    return table.reset_index(drop=True)


def _passages(question: str, given: Any) -> list[str]:
    """Return the ids of a list of passages, or of a text with blanks between ids; an empty cell has none."""
    if isinstance(given, str):
        return given.split()
    if given is None or (np.ndim(given) == 0 and given != given):
        return []
    if np.ndim(given) == 0:
        raise BadRatings(
            f"question {question!r}: passages are {given!r}, and must be a list of ids, or a text with blanks between"
            " ids. Read ids as texts: pd.read_csv(path, dtype={'question': str, 'passages': str})."
        )
    return list(given)


def _of_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each answer, from rows of passages, which must agree on whether the answer is correct."""
    if "docno" not in table:
        raise BadRatings(f"the answers have no column 'passages' or 'docno'; there is {some(table.columns, 8)}.")
    of_one = table.groupby("answer" if "answer" in table else "question", sort=False)
    for name, several in (of_one[["question", "correct"]].nunique() > 1).items():
        if several.any():
            raise BadRatings(f"answer {several.idxmax()!r}: its rows have several values of {name!r}: keep one.")
    return of_one.first().reset_index().drop(columns="docno").assign(passages=of_one["docno"].agg(list).to_numpy())


def _once(table: pd.DataFrame, what: str) -> None:
    """Raise BadRatings if a user rated the same item twice, which would then count twice."""
    ids = _IDS[what]
    twice = table[table.duplicated([*ids, "user"] if "user" in table else ids)]
    if len(twice):
        row = twice.iloc[0]
        by, others = "", ", or add a column 'user' with the users who rated it"
        if "user" in table:
            by, others = f" by user {row['user']!r}", ""
        raise BadRatings(
            f"{what} {' and '.join(repr(row[name]) for name in ids)} is rated twice{by} ({len(twice):,} such"
            f" {'row' if len(twice) == 1 else 'rows'}): keep one rating{others}."
        )


def _judged(names: pd.Series, known: Iterable[str], what: str) -> None:
    unknown = names[~names.isin(list(known))].unique()
    if len(unknown):
        raise BadRatings(
            f"no judgments for {many(len(unknown), what)} ({some(unknown)}): leave them out, or add judgments."
        )


def _checked(table: pd.DataFrame, rating: str = "'rating'") -> pd.DataFrame:
    """Check that ratings and weights are finite numbers, and that there are enough; errors name a rating as given."""
    for name, above in (("rating", -np.inf), ("n", 0.0)):
        if name not in table:
            continue
        values = pd.to_numeric(table[name], errors="coerce").to_numpy(float)
        wrong = np.flatnonzero(~np.isfinite(values) | (values <= above))
        if len(wrong):
            row = table.iloc[wrong[0]]
            raise BadRatings(
                f"{many(len(wrong), 'row')} of the ratings {'has' if len(wrong) == 1 else 'have'} no usable"
                f" {rating if name == 'rating' else repr(name)}"
                f" (first: {row.to_dict()}): correct {'it' if len(wrong) == 1 else 'them'}, or leave out."
            )
        table = table.assign(**{name: values})
    if len(table) < _FEWEST:
        raise BadRatings(f"{many(len(table), 'rating')}: a correlation needs at least three.")
    return table

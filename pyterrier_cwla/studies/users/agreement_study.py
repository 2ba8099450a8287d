"""Agreement of metrics with user ratings: study, result and plots.

Question: which metric agrees best with what users said about lists or sessions?

Method: scores are correlated with ratings (Pearson's r, Spearman's ρ, Kendall's τ_b), or compared with preferences,
with intervals by the bootstrap over users where they are known. Two metrics are compared by Williams' t or the
jackknife, and in predicting held-out ratings by a test that accounts for the overlap of folds (Nadeau and Bengio, 2003;
Jiang and Allan, 2016; Moffat et al., 2022).

Not to conclude: the best of many metrics is so in part by chance. Agreement may differ for other tasks, interfaces and
collections.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import BadParameter, BadRatings, check_known, check_share, check_whole, many
from ...errors.sanitise import in_picture
from ...evaluation.significance import check_correction
from ...measures.counting import scores_of_unanswered
from ...measures.labels import Measures, by_name
from ...measures.named import measures_of
from ...rendering.figures import (
    GAIN,
    GREY,
    SCORE,
    STAY,
    axes_of,
    cell_colours,
    heat_map,
    label_ends,
    room_of,
    saved,
    text_colour,
    titled,
)
from ...rendering.numbers import fixed_point, p_value, percent, with_interval
from ..correlation import (
    AGREED,
    AUC,
    LABELS,
    TESTED,
    check_coefficient,
    rounded,
    signs_of,
    where_less_is_better,
    why_negated,
    with_direction,
)
from ..report import About, Finding, Picture, Pictures, Study, Table, Tables, plot_rows, reported
from .published_studies import Grid, cell_name
from .rating_correlations import agreement_columns, deviance_by_fold, nrmse, prediction_columns
from .ratings import Rated, by_whom, from_labels, why_not_all

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...files.atomic import AnyPath

_MOST_LEVELS = 9  # maximum number of distinct ratings that are not binned


@dataclass(frozen=True, eq=False, repr=False)
class UserAgreement(Study):
    """Agreement of measures with users; the result of :func:`user_agreement`.

    Attributes
    ----------
    rated : Rated
        Ratings.
    scores : DataFrame, shape (n_ratings, n_measures)
        Scores of the rated items.
    table : DataFrame
        A row for each measure. ``C`` and ``A`` are its cell in a grid. ``kind`` is "X" if all rated items have the same
        score, and "XX" if the score is the same for all orders of the same documents. ``compared_with`` is the
        reference of comparisons. Each coefficient has a value, an interval (``_low``, ``_high``), ``_p``, and the
        ``_difference`` from the reference, with the same suffixes. ``nrmse`` is the error of predicted ratings.
    about : dict
        Settings, sizes and hash of the input.
    grid : Grid or None
        Grid of the measures.
    baseline : str or None
        Name of the measure with which the others are compared.
    order_free : {"number", "XX"}
        Display of cells that do not depend on the order of documents.
    """

    rated: Rated
    scores: pd.DataFrame
    table: pd.DataFrame
    about: About
    grid: Grid | None = None
    baseline: str | None = None
    order_free: str = "number"

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title of the report."""
        return f"Agreement of {many(len(self.table), 'measure')} with {self._whose}"

    def tables(self) -> Tables:
        """Return the tables of the report by file name."""
        at, about, tables = self.table, self.about, {}
        if self.grid is not None:
            tables["cells"] = Table(self._cells_title, self._marked, self.marked_cells().reset_index())
        kinds = ["kind"] if (at["kind"] != "").any() else []
        described = [name for name in ("C", "A", *kinds) if name in at]
        caption = f"{self._how}{' X: the same score for all rated items.' if kinds else ''}"
        ends = ["", "_low", "_high", "_p"]
        first = [AUC, f"{AUC}_low", f"{AUC}_high", self._error, f"{AUC}_p"] if AUC in at else []
        tables["agreement"] = self._table(f"Agreement with {self._words[0]}", caption, described, ends, first)
        if "tau_b_difference" in at:
            correction = about["correction"]
            after = f"; corrected ({correction}) for all comparisons of a coefficient" if correction else ""
            tests = f"infinitesimal jackknife over {self.rated.unit}s"
            if about["users"] is None:
                tests = f"Williams' t for r, {tests}"
            ends = [f"_difference{end}" for end in ("", "_low", "_high", "_p", "_p_corrected")]
            title, caption = "Differences from the measure compared with", f"{self._whose}; {tests}{after}."
            tables["differences"] = self._table(title, caption, ["compared_with"], ends)
        if error := self._error:
            mean = about[f"{error}_of_the_mean"]
            tables["prediction"] = Table(
                f"Errors of predicted {self._words[1]}",
                f"{self._whose}; {about[error]}; {self._words[2]} alone has {mean:.3f}. The"
                " paired t-test over folds is far too liberal; the other p is corrected for the overlap of folds"
                " (Nadeau and Bengio).",
                at[["compared_with", *(c for c in at if c.startswith(error))]].reset_index(),
            )
        return tables

    def _table(
        self, title: str, caption: str, described: list[str], ends: list[str], first: list[str] | None = None
    ) -> Table:
        """Return a table of columns without missing values, of others, and of coefficients with these endings."""
        tested = (f"{name}{end}" for name in TESTED for end in ends if f"{name}{end}" in self.table)
        names = list(dict.fromkeys([*described, *(first or []), *tested]))
        return Table(title, caption, self.table[names].dropna(subset=described).reset_index())

    @property
    def _cells_title(self) -> str:
        return f"{LABELS[self.coefficient]} of each C with each A"

    def pictures(self) -> Pictures:
        """Return the pictures of the report by file name."""
        pictures, ranked = {}, self.ranked
        if self.grid is not None:
            size = (7.0, 1.3 + 0.36 * len(self.grid.C))
            draw = partial(plot_cells, self)
            pictures["cells"] = Picture(self._cells_title, self._marked, draw, self.marked_cells(), size)
        if len(ranked):
            title, size = f"{LABELS[self.coefficient]}, with intervals", (7.0, _height(len(ranked)))
            draw = partial(plot_agreement, self)
            pictures["agreement"] = Picture(title, self._how, draw, ranked.reset_index(), size)
        references = [name for name in ranked["compared_with"].iloc[:1].dropna() if self.table.loc[name, "kind"] != "X"]
        for measure in dict.fromkeys([*ranked.index[:1], *references]):
            what = "preferences" if self.rated.what == "pair" else "ratings"
            pictures[f"{what}-{len(pictures)}"] = Picture(
                f"{what.capitalize()} over {measure}",
                f"{self._whose}; each bar has about as many, except where scores tie.",
                partial(plot_bands, self, measure),
                self.bands(measure),
                (7.0, 3.2),
            )
        return pictures

    def headline(self) -> str:
        """Return what was found, in one sentence."""
        best = self.ranked
        if best.empty:
            return "No measure tells the rated items apart."
        first, value = best.index[0], best[self.coefficient].iloc[0]
        name = LABELS[self.coefficient]
        said = f"{first} agrees best with {self._whose} ({name} {fixed_point(value, 2)})"
        if not self.table.get(f"{self.coefficient}_difference_p", pd.Series(dtype=float)).notna().any():
            low, high = best[f"{self.coefficient}_low"].iloc[0], best[f"{self.coefficient}_high"].iloc[1:]
            overlap = many(int((high >= low).sum()), "other measure")
            return f"{said}, but its interval overlaps with those of {overlap}." if (high >= low).any() else f"{said}."
        marks, against = self.marks(), "the canonical metric of its row" if self.grid is not None else self.baseline
        if better := int((marks == "b").sum()):
            verb = "agrees" if better == 1 else "agree"
            tested = many(better, "measure") if better > 1 or marks[first] != "b" else "it"
            return f"{said}; {tested} {verb} significantly better than {against}."
        return (
            f"No measure agrees significantly better with {self._whose} than {against}; {first} has the highest {name}"
            f" ({fixed_point(value, 2)})."
        )

    def findings(self) -> list[str]:
        """Return the findings, with the pictures that they rest on."""
        pictures = list(self.pictures())
        main = [name for name in pictures if name in ("cells", "agreement")]
        bands = [name for name in pictures if name not in main]
        return [Finding(one, *(bands if " predicts " in one else main)[:1]) for one in self._sentences()]

    def _sentences(self) -> list[str]:
        best = self.ranked
        if best.empty:
            return ["Every measure gives the same score to all rated items."]
        name = LABELS[self.coefficient]
        first, last = (self._with_interval(best.iloc[place]) for place in (0, -1))
        if alike := int((best[self.coefficient] > best[self.coefficient].iloc[0] - 1e-10).sum()) - 1:
            first += f", like {many(alike, 'other')} with the same coefficient,"
        least = f"; {last} agrees least" if len(best) > 1 + alike else ""
        sentences = [f"{first} agrees best with {self._words[0]}, by {name}{least}."]
        chance = 0.5 if self.coefficient == AUC else 0
        if self.coefficient != AGREED and best[f"{self.coefficient}_low"].iloc[0] <= chance:
            sentences[0] += f" Its interval contains {chance:g}: it may not agree with {self._words[0]} at all."
        if f"{self.coefficient}_difference" in self.table:
            sentences += self._better()
        if (name := self._error) and self.table[name].notna().any():
            predicts, by_mean = self.table[name].idxmin(), self.about[f"{name}_of_the_mean"]
            error = self.table.loc[predicts, name]
            called = {"nrmse": "an NRMSE", "deviance": "a deviance"}[name]
            _, what, alone = self._words
            text = f"{predicts} predicts {what} best, with {called} of {error:.3f}; {alone} alone has"
            sentences.append(f"{text} {by_mean:.3f}" + (", which is no worse." if error >= by_mean else "."))
        if AGREED in self.table and self.coefficient != AGREED:
            row = self.table.loc[self.table[AGREED].idxmax()]
            sentences.append(
                f"{self._with_interval(row, AGREED)} has the highest share of preferences with which its differences of"
                " scores agree (chance level: a half)."
            )
        return sentences

    def _better(self) -> list[str]:
        marks, name = self.marks(), f"{self.coefficient}_difference"
        tested = self.table[f"{name}_p"].notna()
        against = "the canonical metric of their row" if self.grid is not None else str(self.baseline)
        correction, of_all = self.about["correction"], many(int(tested.sum()), "measure")
        sentences = []
        for letter, than in (("b", "better"), ("c", "worse")):
            certain, number = (marks == letter).sum(), (marks.str.strip("()") == letter).sum()
            how = f"significantly {than} with {self._words[0]} than {against}"
            if correction is None:
                sentences.append(f"{certain} of {of_all} agree {how}.")
            elif not number:
                sentences.append(f"None of {of_all} agrees {how}.")
            else:
                after = f"{certain} of them after the correction ({correction}) for all comparisons"
                sentences.append(f"{number} of {of_all} agree {how}, {after}.")
        return sentences

    def _with_interval(self, row: pd.Series, name: str | None = None) -> str:
        name = name or self.coefficient
        return f"{row.name} ({with_interval(*row[[name, f'{name}_low', f'{name}_high']])})"

    def limits(self) -> list[str]:
        """Return conclusions that the study does not support, one sentence each."""
        about, sentences = self.about, self._limits_of_users()
        if len(self.table) > 1:
            sentences.append(
                f"Part of the agreement of the best of {len(self.table)} measures is due to chance; only the corrected"
                " tests account for the number of comparisons."
            )
        if about["without_results"]:
            scores = scores_of_unanswered(about["measures"].values())
            sentences.append(f"Items without results {scores}: {many(about['without_results'], 'rating')}.")
        sentences += why_negated(about["less_is_better"])
        sentences += why_not_all(about)
        if constant := list(self.table.index[self.table["kind"] == "X"]):
            named = ", ".join(constant[:4]) + (", …" if len(constant) > 4 else "")
            sentences.append(f"The same score for all rated items (X): {many(len(constant), 'measure')} ({named}).")
        short = self.table["resamples"][self.table[self.coefficient].notna()]
        if (short < about["resamples"]).any():
            sentences.append(
                f"{short.idxmin()} is constant in {about['resamples'] - short.min():,} of {about['resamples']:,}"
                " resamples, which do not count in its interval."
            )
        if f"{self._error}_difference_p_t" in self.table:
            dependent = about["users"] is None
            of_users = (
                "but not for dependent ratings of one user" if dependent else f"and keeps {self.rated.unit}s together"
            )
            sentences.append(
                "Errors of folds are not independent: the paired t-test over them is far too liberal. The"
                f" corrected test roughly accounts for the overlap of folds, {of_users}."
            )
        if about["weighted"]:
            sentences.append(
                "Coefficients whose names begin with weighted_ count each rating n times; all others count it once."
            )
        if self.rated.what == "pair" and self.rated.table[["first", "second"]].stack().duplicated().any():
            sentences.append("Some lists are in several pairs; these pairs are not independent.")
        if AGREED in self.table:
            ties = float((self.rated.ratings == 0).mean())
            sentences.append(
                f"{percent(ties, 0)} of the pairs have no preference: the share of agreement is that of the others."
            )
            if np.ptp(self.rated.ratings) == 0:
                sentences.append("All preferences are for the same side: there are no correlations.")
        return sentences

    def _limits_of_users(self) -> list[str]:
        """Return sentences on the limits that follow from the sample of users."""
        users, unit = self.about["users"], self.rated.unit
        others = "readers, questions" if self.about["what"] == "answer" else "users, tasks"
        sentences = [f"{self._whose.capitalize()} show nothing about other kinds of {others} and lists."]
        if self._error == "deviance" and len(none := self.ranked.index[self.ranked["deviance"].isna()]):
            sentences.append(
                f"No deviance of {', '.join(none)}: without some fold, all answers are alike, or scores separate"
                " correct from wrong ones, and the logistic regression has no finite slope."
            )
        if users is None:
            if not {"user"} & {*self.rated.table, *(self.rated.label_columns or ())}:
                sentences.append(
                    "Ratings count as independent: if users gave several, intervals are too short and p-values too"
                    " small; add a column 'user' to the ratings."
                )
            return sentences
        if users < self.about["ratings"] and unit == "user":
            sentences.append(
                "Intervals and tests account for several ratings of one user, but not for several users who rated the"
                " same lists or topics."
            )
        if users < _FEW_USERS:
            sentences.append(f"{many(users, unit)} are too few for conclusions about {unit}s in general.")
        return sentences

    @property
    def coefficient(self) -> str:
        """Name of the coefficient in pictures and findings."""
        return self.about["coefficient"]

    @property
    def _whose(self) -> str:
        about = self.about
        what = {"list": "rating", "session": "session rating", "pair": "preference", "answer": "answer"}[about["what"]]
        return f"{many(about['ratings'], what)}{from_labels(about['labels'])}{by_whom(about)}"

    @property
    def _error(self) -> str:
        """Column of the errors of predictions; empty for preferences."""
        return {"answer": "deviance", "pair": ""}.get(self.rated.what, "nrmse")

    @property
    def _words(self) -> tuple[str, str, str]:
        """With whom measures agree, what they predict, and the prediction without scores."""
        of_answers = self.rated.what == "answer"
        return (
            ("answers", "answers", "the share of correct answers")
            if of_answers
            else ("users", "ratings", "the mean rating")
        )

    @property
    def ranked(self) -> pd.DataFrame:
        """Rows of the measures for which the coefficient is defined, best first."""
        known = self.table.dropna(subset=self.coefficient)
        return known.sort_values(self.coefficient, ascending=False, kind="stable")

    def marks(self, coefficient: str | None = None) -> pd.Series:
        """Return the mark of each measure in comparisons.

        "a" is a reference of comparisons, "b" a measure that is significantly better than its reference, and "c" one
        that is worse. Brackets mark differences that are not significant after the correction for multiple comparisons.
        """
        name = f"{coefficient or self.coefficient}_difference"
        marks = pd.Series("", self.table.index, dtype=object)
        if name in self.table:
            letter = np.where(self.table[name] > 0, "b", "c")
            marks[:] = np.where(self.table[f"{name}_p"] <= self.about["alpha"], np.char.add("(", letter) + ")", "")
            certain = self.table[f"{name}_p_corrected"] <= self.about["alpha"]
            marks[certain] = letter[certain]
            marks[list(set(self.table["compared_with"].dropna()))] = "a"
        return marks

    def cells(self, coefficient: str | None = None) -> pd.DataFrame:
        """Return the coefficient of each C (rows) with each A (columns); NaN for X and hidden XX."""
        return self._by_cell(self.table[coefficient or self.coefficient])

    def marked_cells(self, coefficient: str | None = None) -> pd.DataFrame:
        """Return the cells as texts with marks, as in Tables 4 and 5 of Moffat et al. (2022): ``0.418 b``, X, XX.

        ``°`` marks a number that does not depend on the order of the documents, if such cells are not shown as XX.
        """
        values, kind = self.table[coefficient or self.coefficient], self.table["kind"]
        free = np.where(kind == "XX", "°", "")
        marked = values.map("{:.3f}".format).str.replace("-", "−") + free + " " + self.marks(coefficient)
        return self._by_cell(marked.str.strip().where(values.notna() | (kind == ""), kind))

    def _by_cell(self, values: pd.Series) -> pd.DataFrame:
        if self.grid is None:
            raise BadParameter("the measures are not a grid: use user_agreement(rated, grid(…)).")
        shaped = values.to_numpy().reshape(len(self.grid.C), len(self.grid.A))
        return pd.DataFrame(shaped, pd.Index(self.grid.C, name="C"), pd.Index(self.grid.A, name="A"))

    def bands(self, measure: str, bins: int | None = None) -> pd.DataFrame:
        """Return the shares of ratings at each level, for ascending intervals of a measure's scores.

        Parameters
        ----------
        measure : str
            Name of the measure.
        bins : int, optional
            Maximum number of intervals, from 2. By default ten, or fewer so that each has about fifteen ratings.

        Returns
        -------
        DataFrame
            A row for each interval. Intervals have about the same number of ratings, but equal scores are not
            separated. Columns are ``low``, ``high`` and ``mean`` of the scores, ``n`` (number of ratings), and one
            column for each rating. More than nine distinct ratings are binned into fifths. For pairs, the columns are
            the preferences −1, 0 and 1.

        Raises
        ------
        BadParameter
            If there is no such measure, or if it gives the same score to all rated items.

        References
        ----------
        Moffat et al. (2022), Figures 1 and 3.
        """
        check_known("measure of this study", self.scores, measure=measure)
        bins = min(10, max(2, len(self.scores) // 15)) if bins is None else bins
        check_whole(2, bins=bins)
        score = pd.Series(rounded(self.scores[measure]))
        if np.ptp(score) == 0:
            raise BadParameter(f"all rated items have the score {score[0]:g} by {measure}: there is nothing to draw.")
        ratings = pd.Series(self.rated.ratings)
        level: pd.Series = ratings if ratings.nunique() <= _MOST_LEVELS else pd.qcut(ratings, 5, duplicates="drop")
        place = (score.rank(method="average") - 0.5) / len(score)  # equal scores share their middle position
        bin_of = np.minimum((place * bins).astype(int), bins - 1)
        found = score.groupby(bin_of).agg(low="min", high="max", mean="mean", n="size").reset_index(drop=True)
        shares = pd.crosstab(bin_of, level, normalize="index").reset_index(drop=True)
        shares.columns = [f"{name:g}" if isinstance(name, float) else str(name) for name in shares]
        return found.join(shares)

    @property
    def _how(self) -> str:
        level = percent(self.about["confidence"])
        return f"{self._whose}; {level} intervals: {self.about['intervals']}, {self.about['resamples']:,} resamples."

    @property
    def _marked(self) -> str:
        after = "; in brackets: not significant after the correction" if self.about["correction"] else ""
        free = "°" if self.order_free == "number" else "XX"
        return (
            f"{self._how} a: the canonical metric of the row; b: significantly better than a, c: significantly worse"
            f" (p ≤ {p_value(self.about['alpha'], digits=6)}){after}. X: the same score for all rated items"
            f"; {free}: the same for all orders of the same documents."
        )


_MOST_ROWS = 30  # maximum number of measures in the plot of intervals
_SMALL = 7.0  # points
_PREFERRED = {"-1": ("second", SCORE), "0": ("neither", GAIN), "1": ("first", STAY)}


def plot_cells(
    study: UserAgreement, ax: Any = None, coefficient: str | None = None, path: AnyPath | None = None
) -> Axes:
    """Plot the coefficient of each C with each A, as in Tables 4 and 5 of Moffat et al. (2022).

    Darker cells have higher values; the highest value of a row is bold and framed. "a" marks the canonical metric of
    the row, "b" a cell that is significantly better than it, and "c" one that is worse. Brackets mark differences that
    are not significant after the correction for multiple comparisons. ``study.cells()`` returns the numbers, and
    ``study.marked_cells()`` the texts.

    Parameters
    ----------
    study : UserAgreement
        Study of a grid.
    ax : matplotlib Axes, optional
        By default new axes.
    coefficient : str, optional
        By default the coefficient of the study.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes
    """
    numbers, texts = study.cells(coefficient), study.marked_cells(coefficient)
    ax = axes_of(ax, (7, 1.3 + 0.36 * len(numbers)))
    from matplotlib.patches import Rectangle  # after the check that matplotlib is installed

    values = numbers.to_numpy(float)
    low, high = (np.nanmin(values), np.nanmax(values)) if np.isfinite(values).any() else (0.0, 1.0)
    low = min(low, 0.0)
    size = float(np.clip(room_of(ax)[0] * 0.85 / values.shape[1] / 4.2, 5, 9))
    best = values > np.nan_to_num(values, nan=-np.inf).max(axis=1, keepdims=True) - 1e-10
    heat_map(ax, values, texts.map(partial(_in_cell, short=size < _SMALL)).to_numpy(),
             (low, low + 1.6 * max(high - low, 1e-9)), size, best)  # fmt: skip
    for row, column in np.argwhere(best):
        corner = column - 0.47, row - 0.44
        ax.add_patch(Rectangle(corner, 0.94, 0.88, fill=False, edgecolor=SCORE, linewidth=1.4))
    below, above = ([in_picture(_short(name, names)) for name in names] for names in (numbers.index, numbers.columns))
    if size < _SMALL:
        above = [name.replace("(", "\n(", 1) for name in above]
    ax.set_xticks(range(len(above)), above, fontsize=min(size + 1, 9))
    ax.set_yticks(range(len(below)), below, fontsize=min(size + 1, 9))
    ax.tick_params(labeltop=True, labelbottom=False)
    name = _mathematical(LABELS[coefficient or study.coefficient])
    ax.set_xlabel("how a score follows from the ranking (A)")
    ax.xaxis.set_label_position("top")
    ax.set_ylabel("how users continue (C)")
    return saved(
        titled(ax, f"{name} of scores with {study._whose}{_explained([*texts.to_numpy().ravel()], 'a')}"), path
    )


def _in_cell(text: str, short: bool) -> str:
    """Return the text of a cell with its mark as a superscript, and without leading zeros if it is short."""
    number, _, mark = text.partition(" ")
    return (number.replace("0.", ".") if short else number) + (f"$^{{\\mathrm{{{mark}}}}}$" if mark else "")


def _explained(texts: Any, reference: str) -> str:
    """Return the meanings of the marks in these texts, for a title."""
    shown = {mark for text in texts for mark in text.partition(" ")[2] or text}
    meanings = {
        "a: canonical metric of the row": "a" in shown,
        f"b: significantly better than {reference}": "b" in shown,
        f"c: significantly worse than {reference}": "c" in shown,
        "(…): not after the correction": "(" in shown,
        "X: all scores are the same": "X" in texts,
    }
    return "".join(f" · {meaning}" for meaning, said in meanings.items() if said)


def _mathematical(name: str) -> str:
    return name.replace("τ_b", r"$\tau_b$")


def _short(text: str, others: Any) -> str:
    """Return the name of a function without its parameter, if the parameter is a word and the name is unique."""
    name, _, inside = text.partition("(")
    words = inside.rstrip(")").replace("_", "").isalpha()
    return name if words and sum(other.partition("(")[0] == name for other in others) == 1 else text


def plot_agreement(study: UserAgreement, ax: Any = None, most: int = _MOST_ROWS, path: AnyPath | None = None) -> Axes:
    """Plot the coefficients of the best measures with their intervals, best first.

    Filled marks are references of comparisons. ``study.ranked`` has the numbers.

    Parameters
    ----------
    study : UserAgreement
        Study to plot.
    ax : matplotlib Axes, optional
        By default new axes.
    most : int, default=30
        Maximum number of measures.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    BadParameter
        If every measure gives the same score to all rated items.
    """
    name, ranked = study.coefficient, study.ranked
    if ranked.empty:
        raise BadParameter("every measure gives the same score to all rated items: there is nothing to draw.")
    ax = axes_of(ax, (7, _height(min(len(ranked), most))))
    rows = ranked.head(most)
    references = rows.index.isin(study.table["compared_with"].dropna())
    dot = {"marker": "o", "markersize": 5}
    looks = {
        "reference of comparisons": (references, {**dot, "color": SCORE}),
        "others": (~references, {**dot, "color": STAY, "markerfacecolor": ax.get_facecolor()}),
    }
    columns = [rows[f"{name}{end}"] for end in ("", "_low", "_high")]
    marks = {of: (look, *(column.where(of_rows) for column in columns)) for of, (of_rows, look) in looks.items()
             if of_rows.any()}  # fmt: skip
    letters = study.marks()[rows.index].where(~references, "")
    left = f", best {most} of {many(len(ranked), 'measure')}" if len(ranked) > most else ""
    plot_rows(ax, list(rows.index), marks,
              f"Agreement of measures with {study._whose}{left}{_explained([*letters], 'the reference')}",
              xlabel=f"{_mathematical(LABELS[name])}, {percent(study.about['confidence'])} interval")  # fmt: skip
    for height, high, letter in zip(range(len(rows))[::-1], rows[f"{name}_high"], letters, strict=True):
        if letter:
            ax.annotate(letter, (high, height), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
    if ax.get_xlim()[0] < 0 < ax.get_xlim()[1]:
        ax.axvline(0, color=GREY, linewidth=0.7, linestyle=":")
    ax.locator_params(axis="x", nbins=5 if room_of(ax)[0] < 360 else 8)
    return saved(ax, path)


def _height(measures: int) -> float:
    return 1.3 + 0.2 * min(measures, _MOST_ROWS)


def plot_bands(
    study: UserAgreement, measure: str, ax: Any = None, bins: int | None = None, path: AnyPath | None = None
) -> Axes:
    """Plot the shares of ratings at each level over a measure's scores.

    Each bar has about the same number of ratings. The better a measure agrees with users, the more the bands rise from
    left to right (or fall, where less is better). For pairs, the bands are shares of preferences, and the axis is the
    difference of scores. ``study.bands(measure)`` returns the numbers. To compare two measures, draw one on each of
    ``left, right = plt.subplots(1, 2)[1]``.

    Parameters
    ----------
    study : UserAgreement
        Study to plot.
    measure : str
        Name of the measure.
    ax : matplotlib Axes, optional
        By default new axes.
    bins : int, optional
        Number of bars, from 2. By default up to ten, with at least about fifteen ratings each.
    path : path, optional
        File to which the figure is saved.

    Returns
    -------
    matplotlib Axes

    References
    ----------
    Moffat et al. (2022), Figures 1 and 3.
    """
    table = study.bands(measure, bins)
    ax = axes_of(ax)
    pairs = study.rated.what == "pair"
    levels = list(table.columns[4:])
    low, high = (table[end].to_numpy() for end in ("low", "high"))
    edges = np.concatenate([low[:1], (high[:-1] + low[1:]) / 2, high[-1:]])
    single = (low == high)[[0, -1]]
    edges[[0, -1]] += np.array([-0.05, 0.05]) * np.ptp(edges) * single  # gives a bar of a single score a width
    below = np.zeros(len(table))
    curves = {}
    for number, level in enumerate(levels):
        share = table[level].to_numpy()
        name, colour = _PREFERRED[level] if pairs else (level, cell_colours()(number / max(len(levels) - 1, 1)))
        ax.bar(edges[:-1], share, np.diff(edges), bottom=below, align="edge", color=colour, label=name,
               edgecolor=ax.get_facecolor(), linewidth=0.5)  # fmt: skip
        curves[name] = (edges[-2:], np.repeat(below[-1] + share[-1] / 2, 2))
        below = below + share
    label = f"{'difference of scores (first − second)' if pairs else 'score'} by {with_direction(measure, study.about)}"
    ylabel = f"share of {'preferences' if pairs else 'ratings'}"
    ax.set(xlim=(edges[0], edges[-1]), ylim=(0, 1), xlabel=in_picture(label), ylabel=ylabel)
    looks = {name: {"color": text_colour()} for name in curves}
    label_ends(ax, dict(reversed(curves.items())), looks)  # from the top, also where bands have no height
    ratings = f"Ratings from {levels[0]} to {levels[-1]}, by the score"
    what = "Which side users prefer, by the difference" if pairs else ratings
    return saved(titled(ax, f"{what} · {study._whose}"), path)


_FEW_USERS = 20


@reported("coefficient confidence correction resamples seed")
def user_agreement(
    rated: Rated,
    measures: Measures | Grid,
    coefficient: str | None = None,
    *,
    baseline: str | None = None,
    confidence: float = 0.95,
    correction: str | None = "holm",
    resamples: int = 1000,
    span: float | None = None,
    cv: int = 10,
    repeats: int = 10,
    order_free: str | None = None,
    seed: int = 0,
) -> UserAgreement:
    """Compare measures with users' ratings of lists or sessions, or with their preferences between lists.

    * Correlations: Pearson's r, Spearman's ρ and Kendall's τ_b of scores rounded to 1e-10, where each rating counts
      once, and ``weighted_pearson``, r of ratings that count as often as their column ``n`` specifies. p-values test
      the hypothesis that the correlation is 0. For independent ratings they are those of scipy. If users are known, and
      for the weighted coefficient, they come from a t-test with the standard error of the infinitesimal jackknife over
      users or ratings.
    * Intervals: the bootstrap standard error times the quantile of Student's t. If the ratings have a column ``user``,
      users are resampled with all of their ratings; otherwise ratings are. All measures share the same resamples.
    * Differences: Williams' t for Pearson's r of independent ratings without weights; otherwise a t-test with the
      standard error of the infinitesimal jackknife, over users if they are known.
    * Preferences: also the share of agreement. Of the pairs with a preferred list, it is the share whose difference of
      scores has the same sign; a difference of 0 counts half.
    * NRMSE: the error of predicted ratings. It is compared by the paired t-test over folds (``_p_t``), as in Jiang and
      Allan, which is far too liberal, and by the test of Nadeau and Bengio (``_p``), which accounts for the overlap of
      folds. If users are known, each user is in one fold, and there are at most as many folds as users. Drop the column
      ``user`` to split ratings regardless of users, as in Jiang and Allan. In simulations of 12 to 100 users with
      different tastes, the corrected test at a level of 5 % rejected 4 to 8 % of true hypotheses with folds of users,
      and 9 to 26 % with folds of ratings.

    Scores of which less is better, such as those of ``ESL``, are negated before they are compared, so that a greater
    coefficient is better for every measure.

    * Answers (:meth:`Rated.answers`): also the AUC, the share of pairs of a correct and a wrong answer in which the
      correct one has the higher score, with a test of ½, and in place of the NRMSE the deviance: the mean of −2·ln P
      over held-out answers, where P is the probability of what happened in the logistic regression on the other folds,
      P(correct) = 1/(1 + exp(−a − b·score)). Questions take the place of users.

    A measure that gives the same score to all rated items has NaN ("X"). A grid of 56 measures takes about ten seconds
    for 500 ratings, and half a minute for 4,000.

    Parameters
    ----------
    rated : Rated
        Ratings or preferences.
    measures : iterable, mapping or Grid
        Measures as for :meth:`Rated.scores`, or a :func:`~pyterrier_cwla.studies.grid`.
    coefficient : {"tau_b", "pearson", "spearman", "weighted_pearson", "agreement", "auc"}, optional
        Coefficient of pictures and findings; "weighted_pearson" is for ratings with a column ``n``, "agreement" for
        preferences, and "auc" for answers. By default "tau_b", or "auc" for answers. All coefficients are computed.
    baseline : str, optional
        Name of the measure with which the others are compared. In a grid, each cell is compared with the canonical
        metric of its C instead.
    confidence : float in (0, 1), default=0.95
        Level of the intervals; 1 − ``confidence`` is the level of significance.
    correction : str or None, default="holm"
        Correction over all comparisons of a coefficient, as in :func:`pyterrier_cwla.compare`.
    resamples : int from 100, default=1000
        Number of bootstrap resamples.
    span : float, optional
        Difference between the highest and the lowest possible rating, for prediction errors (NRMSE). By default that
        of the ratings, as in :func:`~pyterrier_cwla.studies.nrmse`.
    cv : int from 2, default=10
        Number of folds of the cross-validation for prediction errors (NRMSE); not used for preferences. See
        :func:`~pyterrier_cwla.studies.nrmse`.
    repeats : int from 1, default=10
        Number of partitions into folds.
    order_free : {"number", "XX"}, optional
        Display of cells of a grid whose score is the same for all orders of the same documents: their number (default
        for ratings) or only XX (default for preferences). A cell shown as XX takes part in no comparison.
    seed : int from 0, default=0
        Seed of resamples and folds.

    Returns
    -------
    UserAgreement

    Raises
    ------
    BadParameter
        If there is no such coefficient, baseline or correction.
    BadRatings
        If all ratings are the same. If all preferences are for the first list, or all for the second, only the share of
        agreement is defined: with ``coefficient="agreement"`` there is no error, and the correlations are NaN.

    References
    ----------
    Moffat et al. (2022), section 4; Jiang and Allan (2016), section 4; Chapelle et al. (2009), section 6.

    Examples
    --------
    >>> qrels = {q: {"a": 2, "b": 1, "c": 0} for q in "123456"}
    >>> lists = dict(zip("123456", ["abc", "bac", "acb", "cab", "bca", "cba"]))
    >>> run = {q: {d: -float(i) for i, d in enumerate(docs)} for q, docs in lists.items()}
    >>> rated = Rated.lists(qrels, run, {"1": 5, "2": 3, "3": 5, "4": 2, "5": 3, "6": 1})
    >>> found = user_agreement(rated, ["RR(rel=2)", "nDCG@3"], baseline="RR(rel=2)", cv=3, resamples=100)
    >>> found.table[["tau_b", "tau_b_low", "tau_b_high", "tau_b_difference_p"]].round(3)
               tau_b  tau_b_low  tau_b_high  tau_b_difference_p
    measure
    RR(rel=2)  0.721      0.076         1.0                 NaN
    nDCG@3     0.931      0.766         1.0               0.456
    """
    check_share(0.95, confidence=confidence)
    check_whole(100, resamples=resamples)
    coefficient = coefficient or (AUC if rated.what == "answer" else "tau_b")
    cells = measures if isinstance(measures, Grid) else None
    _check(rated, coefficient, correction, order_free, cells, baseline)
    named = by_name(measures_of(measures if cells is None else cells.named))
    lower = where_less_is_better(named)
    scores = rated.scores(list(named.values()))
    order_free = order_free or ("XX" if rated.what == "pair" else "number")
    table = _described(scores, cells, baseline)
    hidden = table["kind"].isin(["X", "XX"] if order_free == "XX" else ["X"]).to_numpy()
    better = rounded(scores) * signs_of(scores, lower)
    x = np.where(hidden, 0.0, better).T.copy()  # hidden measures become constant, and so have no agreement
    reference = table.index.get_indexer(table["compared_with"])
    columns = agreement_columns(rated, x, reference, coefficient, confidence, correction, resamples, seed)
    about = {
        "coefficient": coefficient,
        "measures": {name: repr(measure) for name, measure in named.items()},
        "less_is_better": lower,
        **rated.about(weighted=rated.weights is not None),
        "without_results": rated.empty,
        "alpha": round(1 - confidence, 12),
        "intervals": f"bootstrap over {rated.unit}s",
    }
    if rated.what != "pair":
        folds = cv if rated.users is None else min(cv, rated.units)
        parts: dict[str, Any] = {"cv": folds, "repeats": repeats, "seed": seed, "users": rated.users}
        whole = "" if rated.users is None else f" of whole {rated.unit}s"
        how = f"{repeats} random partitions into {folds} folds{whole}"
        predict: Any
        if rated.what == "answer":
            name, predict = "deviance", partial(deviance_by_fold, correct=rated.ratings, **parts)
        else:
            name, predict = "nrmse", partial(nrmse, ratings=rated.ratings, span=span, **parts)
            how += f", over a range of {float(np.ptp(rated.ratings)) if span is None else span:g}"
        columns |= prediction_columns(name, predict(x.T), hidden, reference, folds, correction)
        about[name] = how
        about[f"{name}_of_the_mean"] = float(predict(np.zeros((len(rated), 1))).mean())
    return UserAgreement(rated, scores, table.assign(**columns), about, cells, baseline, order_free)


def _check(
    rated: Rated, coefficient: str, correction: str | None, order_free: str | None, cells: Grid | None,
    baseline: str | None,
) -> None:  # fmt: skip
    if cells is not None and baseline is not None:
        raise BadParameter("baseline= is for plain measures: in a grid, canonical= names the reference of each row.")
    needed = {AGREED: "pair", AUC: "answer"}
    known = [name for name in TESTED if needed.get(name, rated.what) == rated.what]
    only = {AGREED: "only preferences have a share of agreement.", AUC: "only answers have an AUC."}
    why_no_other = only.get(coefficient, "there is no test of it here.")
    check_coefficient(coefficient, known, rated.weights, why_no_other)
    if order_free not in (None, "number", "XX"):
        raise BadParameter(f"order_free={order_free!r} must be 'number' or 'XX'.")
    check_correction(correction)
    if np.ptp(rated.ratings) == 0:
        if rated.what != "pair" or rated.ratings[0] == 0:
            raise BadRatings(f"all {len(rated):,} ratings are {rated.ratings[0]:g}: agreement is not defined.")
        if coefficient != AGREED:
            raise BadRatings(
                f"all {len(rated):,} preferences are {rated.ratings[0]:g}: correlations are not defined. Give"
                f" coefficient={AGREED!r}, the share of preferences with which differences of scores agree."
            )


def _described(scores: pd.DataFrame, cells: Grid | None, baseline: str | None) -> pd.DataFrame:
    """Return a row for each measure: its cell of the grid, its kind, and the measure with which it is compared."""
    table = pd.DataFrame(index=pd.Index(scores.columns, name="measure"))
    constant = np.ptp(rounded(scores), axis=0) == 0
    if cells is None:
        if baseline is not None:
            check_known("measure of this study", table.index, baseline=baseline)
        table["kind"] = np.where(constant, "X", "")
        table["compared_with"] = [None if name == baseline else baseline for name in table.index]
        return table
    table["C"], table["A"] = zip(*cells)
    table["kind"] = np.where(constant, "X", list(cells.kinds.values()))
    table["compared_with"] = [
        None if cells.canonical.get(c, a) == a else cell_name(c, cells.canonical[c]) for c, a in cells
    ]
    return table

"""Result of a study of agreement with users: tables, pictures and findings."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ...errors import many
from ...measures.search_length import scores_of_unanswered
from ..coefficient_names import AGREED, LABELS, TESTED
from ..directions import why_negated
from ..report import Finding, Picture, Table
from .agreement_numbers import AgreementNumbers
from .pair_labels import why_reduced
from .plots import drawn
from .ratings import why_left_out

_FEW_USERS = 20


class UserAgreement(AgreementNumbers):
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

    always_tables = ("agreement",)

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title of the report."""
        return f"Agreement of {many(len(self.table), 'measure')} with {self._whose}"

    def tables(self) -> dict[str, Table]:
        """Return the tables of the report by file name."""
        at = self.table
        described = at[["C", "A", "kind"]] if self.grid is not None else at[["kind"]]
        parts = {"agreement": described.join(self._columns("", "_low", "_high", "_p"))}
        if "tau_b_difference" in at:
            ends = [f"_difference{end}" for end in ("", "_low", "_high", "_p", "_p_corrected")]
            parts["differences"] = at.loc[at["compared_with"].notna(), ["compared_with"]].join(self._columns(*ends))
        if "nrmse" in at:
            parts["prediction"] = at[["compared_with", *(c for c in at if c.startswith("nrmse"))]]
        captions = {
            "agreement": ("Agreement with users", f"{self._how} X: the same score for all rated items."),
            "differences": ("Differences from the measure compared with", self._tests),
            "prediction": ("Errors of predicted ratings", self._prediction),
        }
        tables = {name: Table(*captions[name], frame.reset_index()) for name, frame in parts.items()}
        if self.grid is None:
            return tables
        name = LABELS[self.coefficient]
        shown = {"cells": Table(f"{name} of each C with each A", self._marked, self.marked_cells().reset_index())}
        return shown | tables

    def _columns(self, *ends: str) -> pd.DataFrame:
        names = [f"{name}{end}" for name in TESTED for end in ends]
        return self.table[[name for name in names if name in self.table]]

    @property
    def _tests(self) -> str:
        pearson = "Williams' t for r, " if self.about["users"] is None else ""
        correction = self.about["correction"]
        after = f"; corrected ({correction}) for all comparisons of a coefficient" if correction else ""
        return f"{self._whose}; {pearson}infinitesimal jackknife over {self._units}{after}."

    @property
    def _units(self) -> str:
        return "ratings" if self.about["users"] is None else "users"

    @property
    def _prediction(self) -> str:
        mean = self.about.get("nrmse_of_the_mean", np.nan)
        return (
            f"{self._whose}; {self.about.get('nrmse')}; the mean rating alone has {mean:.3f}. The paired t-test over"
            " folds is far too liberal; the other p is corrected for the overlap of folds (Nadeau and Bengio)."
        )

    def pictures(self) -> dict[str, Picture]:
        """Return the pictures of the report by file name."""
        return drawn(self)

    def headline(self) -> str:
        """Return what was found, in one sentence."""
        best = self.ranked
        if best.empty:
            return "No measure tells the rated items apart."
        first, value = best.index[0], best[self.coefficient].iloc[0]
        said = f"{first} agrees best with {self._whose} ({LABELS[self.coefficient]} {value:.2f})"
        name = f"{self.coefficient}_difference"
        if name not in self.table or not self.table[f"{name}_p"].notna().any():
            return f"{said}."
        marks, against = self.marks(), "the canonical metric of its row" if self.grid is not None else self.baseline
        better = int((marks == "b").sum())
        if better:
            verb = "agrees" if better == 1 else "agree"
            tested = many(better, "measure") if better > 1 or marks[first] != "b" else "it"
            return f"{said}; {tested} {verb} significantly better than {against}."
        return f"{said}; no measure agrees significantly better than {against}."

    def findings(self) -> list[str]:
        """Return the findings, with the pictures that they rest on."""
        pictures = list(self.pictures())
        first = next((name for name in ("cells", "agreement") if name in pictures), None)
        bands = next((name for name in pictures if name not in ("cells", "agreement")), None)
        found = self._sentences()
        return [Finding(one, bands if "predicts ratings" in one else first) for one in found]

    def _sentences(self) -> list[str]:
        best = self.ranked
        if best.empty:
            return ["Every measure gives the same score to all rated items."]
        name = LABELS[self.coefficient]
        first, last = (self._with_interval(best.iloc[place]) for place in (0, -1))
        alike = int((best[self.coefficient] > best[self.coefficient].iloc[0] - 1e-10).sum()) - 1
        if alike:
            first += f", like {many(alike, 'other')} with the same coefficient,"
        least = f"; {last} agrees least" if len(best) > 1 + alike else ""
        sentences = [f"{first} agrees best with users, by {name}{least}."]
        if self.coefficient != AGREED and best[f"{self.coefficient}_low"].iloc[0] <= 0:
            sentences[0] += " Its interval contains 0: it may not agree with users at all."
        if f"{self.coefficient}_difference" in self.table:
            sentences += self._better()
        if "nrmse" in self.table:
            predicts, by_mean = self.table["nrmse"].idxmin(), self.about["nrmse_of_the_mean"]
            error = self.table.loc[predicts, "nrmse"]
            text = f"{predicts} predicts ratings best, with an NRMSE of {error:.3f}; the mean rating alone has"
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
            certain, any_ = marks == letter, marks.str.strip("()") == letter
            how = f"significantly {than} with users than {against}"
            if correction is None:
                text = f"{certain.sum()} of {of_all} agree {how}"
            elif not any_.any():
                text = f"None of {of_all} agrees {how}"
            else:
                text = (
                    f"{any_.sum()} of {of_all} agree {how}, {certain.sum()} of them after the correction ({correction})"
                    " for all comparisons"
                )
            sentences.append(f"{text}.")
        return sentences

    def _with_interval(self, row: pd.Series, name: str | None = None) -> str:
        name = name or self.coefficient
        return f"{row.name} ({row[name]:.3f} [{_ends(row, name)}])"

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
        sentences += why_reduced(about["labels"])
        sentences += why_left_out(self.rated.left_out)
        constant = list(self.table.index[self.table["kind"] == "X"])
        if constant:
            named = ", ".join(constant[:4]) + (", …" if len(constant) > 4 else "")
            sentences.append(f"The same score for all rated items (X): {many(len(constant), 'measure')} ({named}).")
        short = self.table["resamples"][self.table[self.coefficient].notna()]
        if (short < about["resamples"]).any():
            sentences.append(
                f"{short.idxmin()} is constant in {about['resamples'] - short.min():,} of {about['resamples']:,}"
                " resamples, which do not count in its interval."
            )
        if "nrmse_difference_p_t" in self.table:
            sentences.append(
                "Errors of folds are not independent: the paired t-test over them is far too liberal. The"
                " corrected test roughly accounts for the overlap of folds,"
                + (
                    " but not for dependent ratings of one user."
                    if about["users"] is None
                    else " and keeps users together."
                )
            )
        if self.rated.weights is not None:
            sentences.append(
                "Coefficients whose names begin with weighted_ count each rating n times; all others count it once."
            )
        if self.rated.what == "pair" and self.rated.table[["first", "second"]].stack().duplicated().any():
            sentences.append("Some lists are in several pairs; these pairs are not independent.")
        if AGREED in self.table:
            ties = float((self.rated.ratings == 0).mean())
            sentences.append(
                f"{ties:.0%} of the pairs have no preference: the share of agreement is that of the others."
            )
            if np.ptp(self.rated.ratings) == 0:
                sentences.append("All preferences are for the same side: there are no correlations.")
        return sentences

    def _limits_of_users(self) -> list[str]:
        """Return sentences on the limits that follow from the sample of users."""
        ratings, users = self.about["ratings"], self.about["users"]
        sentences = [f"{self._whose.capitalize()} show nothing about other kinds of users, tasks and lists."]
        if users is None and "user" in self.rated.table:
            sentences.append("All ratings are by one user: they show nothing about other users.")
        elif users is None and "user" not in (self.rated.label_columns or ()):
            sentences.append(
                "Ratings count as independent: if users gave several, intervals are too short and p-values too small;"
                " add a column 'user' to the ratings."
            )
        elif users is not None and users < ratings:
            sentences.append(
                "Intervals and tests account for several ratings of one user, but not for several users who rated the"
                " same lists or topics."
            )
        if users is not None and users < _FEW_USERS:
            sentences.append(f"{many(users, 'user')} are too few for conclusions about users in general.")
        return sentences


def _ends(row: pd.Series, name: str, turned: bool = False) -> str:
    ends = [row[f"{name}_low"], row[f"{name}_high"]]
    return ", ".join(f"{end:.3f}" for end in ([-ends[1], -ends[0]] if turned else ends))

"""Words for the columns of tables and for the settings in reports."""

from __future__ import annotations

from collections.abc import Collection

from .coefficient_names import LABELS

_COLUMNS = {
    **LABELS,
    "across": "over all lists",
    "as_low": "not significantly above the lowest",
    "accepted_accepted": "not significant with both",
    "accepted_rejected": "not significant with all, significant with the remaining judgments",
    "rejected_accepted": "significant with all, not with the remaining judgments",
    "rejected_rejected": "significant with both",
    "accuracy": "same result of the test (share of pairs)",
    "chosen_by": "value on the other folds",
    "compared_with": "compared with",
    "discordant_pairs": "pairs of runs in opposite order",
    "falls": "ranks it falls",
    "falls_again_at": "falls below again at",
    "false_negatives": "differences missed (pairs)",
    "false_positives": "differences only with few judgments (pairs)",
    "folds_high": "95 % quantile of folds",
    "folds_low": "5 % quantile of folds",
    "folds_median": "median of folds",
    "g_mean": "geometric mean of precision and recall",
    "g_mean_undefined": "undefined geometric means",
    "held_out": "value on the held-out fold",
    "highest_seed": "highest of all seeds",
    "in_sample": "value on all ratings",
    "knee": "level from which it is above 0.9",
    "level": "level of judgments",
    "limit": "correlation for many repetitions",
    "lowest_seed": "lowest of all seeds",
    "most": "most ranks that a run falls",
    "moves": "ranks it moves",
    "nearly_high": "nearly best up to",
    "nearly_low": "nearly best from",
    "needed": "required difference (largest)",
    "needed_median": "required difference (median)",
    "pairs": "pairs of runs",
    "phi": "φ",
    "rank_without": "rank without its group's judgments",
    "rbo": "rank-biased overlap",
    "repeated": "correlation over the repetitions",
    "same": "pairs with equal scores",
    "score_without": "score without its group's judgments",
    "t": "t-test",
    "tau": "Kendall's τ",
    "tau_a": "Kendall's τ_a",
    "tau_ap": "τ_AP",
    "text": "as written",
    "wilcoxon": "Wilcoxon's test",
    "with_gain": "ratings with a gain at this rank",
}
_ENDINGS = (
    ("_p_corrected", "p of {}, corrected"),
    ("_corrected", "{}, corrected"),
    ("_p_t", "p of {}, paired t-test over folds"),
    ("_p", "p of {}"),
    ("_low", "{}, lower end"),
    ("_high", "{}, upper end"),
    ("_difference", "difference of {}"),
    ("_change", "change of {}"),
)
_SETTINGS = {
    "alpha": "level of significance",
    "by": "parts by",
    "complete": "least share of documents of a run",
    "confidence": "level of intervals",
    "default_value": "value of the default",
    "folds_by": "folds of",
    "highest_grade": "highest grade",
    "input": "SHA-256 of the input",
    "labels": "labels of pairs",
    "lacking": "topics with too few judgments for bpref",
    "left_out": "left out",
    "lowest_p_randomisation": "lowest p of the randomisation test",
    "most_reached": "search stopped early",
    "nrmse": "prediction errors by",
    "nrmse_of_the_mean": "prediction error of the mean rating",
    "of_one_user": "ratings of one user only",
    "pool": "infAP's pool",
    "query_ids": "names of queries",
    "rated": "what was rated",
    "run_names": "names of runs",
    "seed": "random seed",
    "seeds": "random draws of judgments",
    "tau": "variant of Kendall's τ",
    "unanswered": "queries without results",
    "version": "version of pyterrier_cwla",
    "weights_unused": "weights not used",
    "what": "what was rated",
    "without_result": "resamples without result",
    "without_results": "ratings of empty lists",
}


def column_words(name: str, as_they_are: Collection[str] = ()) -> str:
    """Return the words for a column of a table; names of measures are left as they are.

    Examples
    --------
    >>> column_words("tau_b_difference_p"), column_words("own_column")
    ("p of difference of Kendall's τ_b", 'own column')
    """
    if name in as_they_are or not name.isidentifier():
        return name
    if name in _COLUMNS:
        return _COLUMNS[name]
    if name.startswith("p_"):
        return f"p, {column_words(name.removeprefix('p_'))}"
    for ending, words in _ENDINGS:
        if name.endswith(ending) and name != ending:
            return words.format(column_words(name.removesuffix(ending)))
    return name.strip("_").replace("_", " ") or name


def setting_words(name: str) -> str:
    """Return the words for a setting of a study.

    Examples
    --------
    >>> setting_words("alpha"), setting_words("resamples")
    ('level of significance', 'resamples')
    """
    return _SETTINGS.get(name, name.replace("_", " ") if name.isidentifier() else name)

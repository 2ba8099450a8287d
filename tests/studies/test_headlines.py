"""Tests of the headlines of all studies, and of the pictures that findings name."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import studies
from pyterrier_cwla.rendering.numbers import p_value, percent
from pyterrier_cwla.studies import Finding
from pyterrier_cwla.studies.report import flat, rendered_table

MEASURES = ["nDCG", "AP", "RR"]


def systems(n=5, same=False):
    rng = np.random.default_rng(1)
    qrels = {str(q): {f"d{d}": int(rng.choice(3, p=[0.7, 0.2, 0.1])) for d in range(30)} for q in range(10)}
    noise = {f"run{number}": 0 if same else 0.3 + 0.5 * number for number in range(n)}
    return qrels, {
        name: {q: {d: g + of_run * rng.normal() for d, g in judged.items()} for q, judged in qrels.items()}
        for name, of_run in noise.items()
    }


@pytest.fixture(scope="module")
def rated():
    qrels, runs = systems(4)
    rows = [(q, int(qrels[q][max(run, key=run.get)]) + n % 2, n % 3) for n, (q, run) in enumerate(runs["run3"].items())]
    return studies.Rated.lists(qrels, runs["run3"], pd.DataFrame(rows, columns=["query_id", "rating", "words"]))


def power(*given):
    return studies.discriminative_power(*given, resamples=100, progress=False, correction=None, alpha=0.2)


def robust(*given):
    return studies.robustness(*given, seeds=2, pairs=3, resamples=100, progress=False)


def check(study):
    """Fail if findings name pictures that the study does not have, or if the headline is no sentence."""
    pictures = study.pictures()
    findings = study.findings()
    assert all(one.picture is None or one.picture in pictures for one in findings if isinstance(one, Finding))
    assert any(isinstance(one, Finding) and one.picture for one in findings)
    assert all(one.title and one.caption and len(one.data) for one in pictures.values())
    headline = study.headline()
    assert headline.endswith(".")
    assert "nan" not in headline
    return headline


def test_power():
    found = power(*systems(), MEASURES)
    best, least = found.shares().iloc[0], found.shares().iloc[-1]
    headline = check(found)
    assert headline.startswith(best["measure"])
    assert f"{percent(best['t'], 0)} of 10 pairs of 5 runs" in headline
    assert f"{least['measure']} finds {percent(least['t'], 0)}, the fewest" in headline
    assert found.tables()["power"].caption.startswith("Shares of 10 pairs of 5 runs with p < .2, uncorrected; ")
    assert any(not found.differ(best["measure"], name) for name in found.shares()["measure"][1:])
    assert "significantly different, not significantly more than " in headline
    one = power(*systems(), ["AP"])
    share = percent(one.table["t"].iloc[0], 0)
    assert one.headline() == f"AP finds {share} of 10 pairs of 5 runs significantly different."
    nothing = power(*systems(2, same=True), MEASURES)
    equal = power(*systems(), ["nDCG", "nDCG@30"])  # there are 30 documents
    share = percent(equal.table["t"].iloc[0], 0)
    assert equal.headline() == f"All 2 measures find {share} of 10 pairs of 5 runs significantly different."
    assert nothing.headline() == "No measure finds a significant difference between the 1 pair of 2 runs."


def test_agreement_of_measures():
    found = studies.metric_agreement(*systems(), MEASURES, resamples=100)
    rows = found.table.sort_values("tau_b", kind="stable")
    low, high = rows.iloc[0], rows.iloc[-1]
    assert check(found) == (
        f"{low['measure']} and {low['other']} agree least on the order of 5 runs (Kendall's τ_b {low['tau_b']:.2f},"
        f" not significantly less than 2 other pairs), {high['measure']} and {high['other']} most ({high['tau_b']:.2f})."
    )
    two = studies.metric_agreement(*systems(), ["AP", "RR"], resamples=100)
    assert two.headline().startswith("AP and RR agree on the order of 5 runs with a Kendall's τ_b of ")
    pairs = [name for k in range(1, 6) for name in (f"P@{k}", f"RBP(p=0.{k},rel=2)")]
    alike = studies.metric_agreement(*systems(3), pairs, resamples=100)  # 3 runs have 3 pairs, so many τ_b are equal
    first = alike.table.loc[alike.table["tau_b"].idxmin()]
    assert alike.headline().startswith(f"{first['measure']} and {first['other']} agree least")
    same = studies.metric_agreement(*systems(3, same=True), ["AP", "RR"], resamples=100)
    assert same.headline() == "No measure tells the runs apart."


@pytest.mark.slow
def test_robustness():
    found = robust(*systems(), MEASURES)
    table = found.order.table()
    rows = table[table.level == 0.1].dropna(subset="tau").sort_values("tau", ascending=False, kind="stable")
    headline, start = check(found), "With 10\N{NO-BREAK SPACE}% of the judgments, "
    assert headline.startswith(f"{start}{rows.iloc[0].measure} keeps the order of the 5 runs best")
    assert headline.endswith(f"{rows.iloc[-1].measure} least ({rows.iloc[-1].tau:.2f}).")
    lead = found.above(rows.iloc[0].measure, rows.iloc[1].measure).set_index("level").verdict[0.1]
    assert ("undecided" in headline) == (lead != "yes")
    assert "undecided" not in robust(*systems(6), ["AP", "Success@5"]).headline()
    assert check(robust(*systems(), ["AP"])).startswith(f"{start}AP keeps the order")
    deep = studies.robustness_to_depth(*systems(), ["AP", "RR"], pairs=0, resamples=100, progress=False)
    assert deep.headline().startswith("With a pool of depth ")


def test_groups_left_out():
    qrels, runs = systems()
    groups = {name: name[-1] for name in runs}
    found = studies.groups_left_out(qrels, runs, groups, ["AP", "RR"], depth=5, resamples=100)
    assert "of 5 ranks in the mean by" in check(found)
    assert found.findings()[1].endswith("; at most 1, of run2 from 3 to 4.")


@pytest.mark.slow
def test_users(rated):
    found = studies.user_agreement(rated, MEASURES, baseline="RR", cv=2, resamples=100)
    best = found.ranked.index[0]
    assert check(found) == (
        f"No measure agrees significantly better with 10 ratings than RR; {best} has the highest Kendall's τ_b"
        f" ({found.ranked['tau_b'].iloc[0]:.2f})."
    )
    alone = studies.user_agreement(rated, ["AP", "RR"], cv=2, resamples=100)
    first, other = alone.ranked.itertuples()
    assert first.tau_b_low < other.tau_b_high
    assert alone.headline().startswith(f"{first.Index} agrees best with 10 ratings (Kendall's τ_b {first.tau_b:.2f})")
    assert alone.headline().endswith("but its interval overlaps with those of 1 other measure.")


@pytest.mark.slow
def test_fit(rated):
    how = {"default": {"p": 0.8}, "cv": 2, "repeats": 2, "progress": False}
    found = studies.fit("RBP(rel=1,p=$p)", {"p": (0.1, 0.9)}, rated, **how)
    assert check(found).startswith(f"p={found.values['p']:.4g} fits the ratings best (Pearson's r ")
    undecided = found.gain["low"] <= 0 <= found.gain["high"] or np.isnan(found.gain["low"])
    assert ("undecided" in found.headline()) == undecided


@pytest.mark.slow
def test_parts_and_parameters(rated):
    parts = studies.splits(rated, ["AP", "RR"], by="words", resamples=100)
    whole = parts.table[parts.table["kind"] == "all"]
    best = whole.loc[whole["correlation"].idxmax()]
    start = f"{best['measure']} correlates best with all ratings (Pearson's r {best['correlation']:.2f})"
    assert check(parts).startswith(start)
    of_best = parts.parts.loc[parts.parts["measure"] == best["measure"], "correlation"].dropna()
    assert len(of_best) == 1
    assert parts.headline().endswith(f"in 1 part by words the correlation is {of_best.iloc[0]:.2f}.")
    along = studies.sensitivity("RBP(rel=1,p=$p)", {"p": [0.2, 0.8]}, rated, resamples=100, progress=False)
    best = along.table.loc[along.table["pearson"].idxmax()]
    assert f"at p = {best['p']} (Pearson's r {best['pearson']:.2f};" in check(along)
    assert along.table["pearson_high"].max() == 1
    assert along.table["text"].tolist() == ["RBP(rel=1,p=0.2)", "RBP(rel=1)"]


def test_discount(rated):
    found = studies.fit_discount("Cascade(phi='$phi',max_rel=2)", rated, 2, cv=2, repeats=2, resamples=100)
    assert check(found).startswith(f"φ = {found.phi} fits the ratings best (Pearson's r {found.about['value']:.2f})")
    assert {one.picture for one in found.findings()} == {"discounts"}


def test_virtual_systems():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(18, 2)), columns=["rating", "AP"]).assign(topic=np.repeat(list("abcdef"), 3))
    found = studies.virtual_systems(frame, "rating", resamples=100, repeats=20)
    assert check(found).startswith("AP agrees best with rating on which of two systems is better: a correlation of ")
    flat = studies.virtual_systems(frame.assign(AP=1.0), "rating", resamples=100, repeats=20)
    assert flat.headline() == "No measure and target differ between lists of the same topic."


def test_tables_say_topic_document_and_p_in_one_style():
    found = power(*systems(), MEASURES)
    tables = {
        name: rendered_table(replace(table, frame=flat(table.frame)), []) for name, table in found.tables().items()
    }
    shown = next(column for column in tables["pairs"].columns if column.heading == "p, t-test")
    frame = found.tables()["pairs"].frame
    assert [shown.of(row).text for row in tables["pairs"].rows[""]] == list(map(p_value, frame["p_t"]))
    documents = studies.next_judgments({"1": {"x": 1}}, {"A": {"1": {"a": 2.0}}, "B": {"1": {"x": 2.0}}}, "AP")
    heads = [column.heading for column in documents.opening(documents.tables()["documents"], "").columns]
    assert heads[:2] == ["topic", "document"]

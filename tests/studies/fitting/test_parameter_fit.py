"""Tests of fitted parameters, against exhaustive scans, loops and libraries."""

import io
import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.optimize import differential_evolution
from sklearn.linear_model import LinearRegression
from tqdm.auto import tqdm

from pyterrier_cwla import CWLA, continuation
from pyterrier_cwla.errors import BadParameter, BadRatings
from pyterrier_cwla.model import discount
from pyterrier_cwla.studies.fitting.parameter_fit import Search, fit
from pyterrier_cwla.studies.users.agreement_variation import Range, Template
from pyterrier_cwla.studies.users.published_studies import jiang_ratings
from pyterrier_cwla.studies.users.rating_correlations import training_folds
from pyterrier_cwla.studies.users.ratings import Rated
from tests.support.messages import refused

RBP = "RBP(p=$p,rel=1)"
SECONDS = "by_grade({0:9.8,1:23.0,2:37.6})"
TBG = f"CWLA(C='decay($h)',A='etg',gain='clicksave_by_grade',effort='{SECONDS}')@9"


def rated_grades(grades, ratings, rng, users=0, weights=False):
    """Return ratings of lists with these grades in rank order, by users and with weights that are drawn."""
    qrels = {f"q{q}": {f"d{i}": int(g) for i, g in enumerate(row)} for q, row in enumerate(grades)}
    run = {q: {d: -float(i) for i, d in enumerate(judged)} for q, judged in qrels.items()}
    table = pd.DataFrame({"query_id": [*qrels], "rating": ratings})
    if users:
        table["user"] = [f"u{i}" for i in rng.integers(users, size=len(table))]
    if weights:
        table["n"] = rng.integers(1, 9, len(table))
    return Rated.lists(qrels, run, table)


def made(seed=0, lists=60, users=12, weights=False):
    """Generate lists of 6 with grades 0 to 2; ratings use a discount of 0.5 and a gain of 0.3 for grade 1."""
    rng = np.random.default_rng(seed)
    grades = rng.choice([0, 0, 1, 2], (lists, 6))
    worth = np.array([0, 0.3, 1])[grades] @ 0.5 ** np.arange(6)
    return rated_grades(grades, np.round(2 + 2 * worth + rng.normal(0, 0.5, lists)), rng, users, weights)


def preferred(seed=0):
    """Generate pairs of the same lists; users prefer the list with the higher rating."""
    rated = made(seed)
    names, ratings = rated.table["query_id"].to_numpy(), rated.ratings
    first, second = np.random.default_rng(seed).integers(len(names), size=(2, 80))
    first, second = first[first != second], second[first != second]
    pairs = pd.DataFrame(
        {"first": names[first], "second": names[second], "preference": ratings[first] - ratings[second]}
    )
    return Rated("pair", pairs.assign(rating=np.sign(pairs["preference"])), rated.shown)


def quick(*args, **more):
    return fit(*args, **{"cv": 3, "repeats": 2, "progress": False, **more})


def only(rated, measure):
    return rated.scores([measure]).iloc[:, 0].to_numpy()


def correlated(rated, measure):
    return np.corrcoef(only(rated, measure), rated.ratings)[0, 1]


def regression_error(x, y, held_out=slice(None), train=slice(None), n=None):
    """Compute the error of held-out ratings, as a share of the range of all."""
    model = LinearRegression().fit(x[train, None], y[train], None if n is None else n[train])
    squares = (model.predict(x[held_out, None]) - y[held_out]) ** 2
    return np.sqrt(np.average(squares, weights=None if n is None else n[held_out])) / np.ptp(y)


SLOW = {
    "pearson": lambda x, y: stats.pearsonr(x, y)[0],
    "spearman": lambda x, y: stats.spearmanr(x, y)[0],
    "tau_b": lambda x, y: stats.kendalltau(x, y)[0],
    "agreement": lambda x, y: np.mean([0.5 if a == 0 else float(a * b > 0) for a, b in zip(x.round(10), y) if b != 0]),
}


@pytest.mark.every_case
@pytest.mark.parametrize("objective", [*SLOW, "nrmse", "weighted_nrmse"])
def test_folds_choose_without_what_they_are_held_against(objective):
    """Each fold is repeated by a scan of all candidates on the other folds and the objective on this fold."""
    rated = preferred(1) if objective == "agreement" else made(1, lists=48, weights=True)
    values, y, sign = [0.05, 0.35, 0.65, 0.95], rated.ratings, 1 if objective in SLOW else -1
    found = quick(RBP, {"p": values}, rated, objective=objective, default={"p": 0.95})
    scores = {p: only(rated, f"RBP(p={p},rel=1)") for p in values}

    def slow(p, held_out=slice(None), train=slice(None)):
        if objective in SLOW:
            return SLOW[objective](scores[p][held_out], y[held_out])
        return regression_error(scores[p], y, held_out, train, rated.weights if "weighted" in objective else None)

    whole = {p: slow(p) for p in values}
    assert found.candidates.set_index("p")["value"].to_dict() == pytest.approx(whole, abs=1e-9)
    assert found.values["p"] == max(values, key=lambda p: sign * whole[p])
    assert found.about["value"] == pytest.approx(whole[found.values["p"]], abs=1e-9)
    assert found.about["default_value"] == pytest.approx(whole[0.95], abs=1e-9)
    for chosen, row in zip(training_folds(rated, 3, 2, 0).T > 0, found.folds.itertuples(), strict=True):
        worth = {p: sign * slow(p, chosen, chosen) for p in values}
        assert worth[row.p] == pytest.approx(max(worth.values()), abs=1e-9)
        assert row.chosen_by == pytest.approx(sign * worth[row.p], abs=1e-9)
        for p, held_out in ((row.p, row.held_out), (0.95, row.default)):
            assert held_out == pytest.approx(slow(p, ~chosen, chosen), abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_search_finds_the_best_of_a_rugged_function(sign):
    """Compared with all values of a fine grid; the second sample has another optimum, and parts without a value."""

    def worth(values):
        x, y = (np.array([v[name] for v in values]) for name in "xy")
        bumps = sign * (np.cos(9 * x) * np.cos(7 * y) - (x - 0.6) ** 2 - (y - 0.3) ** 2)
        return np.stack([bumps, np.where(x < 0.1, np.nan, x * y - bumps)], axis=1)

    search = Search({"x": Range.parse((0, 1), "x"), "y": Range.parse((0, 1), "y")}, worth, most=1000)
    search.run([])
    grid = [{"x": x, "y": y} for x in np.linspace(0, 1, 201) for y in np.linspace(0, 1, 201)]
    best = np.nanmax(worth(grid), axis=0)
    found = search.found[search.best(), [0, 1]]
    assert found[0] >= best[0] - 1e-4
    assert found[1] >= best[1] - 0.02
    assert len(search.values) == len({str(v) for v in search.values}) <= 800  # it stops where nothing improves
    line = Search(
        {"x": Range.parse((0, 1), "x")}, lambda of: np.array([[-((v["x"] - 0.1235) ** 2)] for v in of]), most=1000
    )
    line.run([])
    assert line.values[line.best()[0]]["x"] == pytest.approx(0.1235, abs=0.0005)


TWO = "CWLA(C='rbp($p)',A='erg',gain='table({1:$g1,2:1})')"


@pytest.mark.slow
@pytest.mark.nightly
def test_several_parameters_are_found_as_well_as_by_differential_evolution():
    rated, ranges = made(3), {"p": (0.05, 0.95), "g1": (0, 1)}
    found = quick(TWO, ranges, rated, most=1000)

    def loss(at):
        return -correlated(rated, Template(TWO).measure({"p": at[0], "g1": at[1]}))

    other = differential_evolution(loss, [(0.05, 0.95), (0, 1)], seed=1, maxiter=6, popsize=5)
    assert found.about["value"] >= -other.fun - 1e-5
    assert found.about["value"] == pytest.approx(correlated(rated, found.measure))
    assert found.values["g1"] == pytest.approx(0.3, abs=0.2)  # the values used to generate the ratings
    assert quick(TWO, ranges, rated, most=1000).values == found.values


@pytest.mark.slow
def test_a_fit_of_nothing_gains_nothing_on_other_users():
    """Ratings are independent of the lists: in-sample agreement rises by the fit, held-out agreement does not."""
    gains = []
    for seed in range(16):
        rated = made(seed)
        noise = rated.table.assign(rating=np.random.default_rng(seed).permutation(rated.ratings))
        ranges, default = {"p": [0.1, 0.5, 0.9], "g1": [0, 0.5, 1]}, {"p": 0.5, "g1": 0.5}
        gains.append(quick(TWO, ranges, Rated("list", noise, rated.shown), default=default, cv=5).gain)
    in_sample, held_out = pd.DataFrame(gains)[["in_sample", "held_out"]].mean()
    assert in_sample > held_out + 0.03
    assert held_out < 0.02


@pytest.mark.slow
@pytest.mark.nightly
def test_a_users_own_function_is_known_to_all_processes():
    @continuation
    def fitted_mine(view, a=0.5):
        return a + 0 * view.i

    text, ranges = "CWLA(C='fitted_mine($p)',A='erg',max_rel=2)", {"p": np.linspace(0.01, 0.99, 300).tolist()}
    one, two = (quick(text, ranges, made(), repeats=1, n_jobs=jobs).candidates for jobs in (1, 2))
    pd.testing.assert_frame_equal(two, one)


@pytest.mark.slow
def test_conditions_hold_for_every_candidate():
    text = "CWLA(C='prec(3)',A='etg',gain='table({1:$g1,2:$g2})')"
    found = quick(text, {"g1": (0, 1), "g2": (0, 1)}, made(), where=lambda g1, g2: g1 <= g2, most=700)
    assert (found.candidates["g1"] <= found.candidates["g2"]).all()
    assert len(found.candidates) > 300


@discount
def values_by_rank(i, second, third):
    return np.where(i == 1, 1.0, np.where(i == 2, second, np.where(i == 3, third, 0.0)))


def test_values_of_a_discount_and_choices_are_fitted_by_a_function():
    """The parameters are φ at each rank (utility of Chapelle et al., section 7.1) and the aggregation."""

    def measure(a, second):
        A = f"utility(values_by_rank({second},0))" if a == "utility" else a
        return CWLA(C="rr", A=A, max_rel=2, gain="exponential")

    rated = made(4)
    found = quick(measure, {"a": ["utility", "err"], "second": [0.0, 0.25, 0.5, 0.75, 1.0]}, rated)
    cells = [(a, s) for a in ("utility", "err") for s in (0.0, 0.25, 0.5, 0.75, 1.0)]
    expected = {cell: correlated(rated, measure(*cell)) for cell in cells}
    assert found.candidates.set_index(["a", "second"])["value"].to_dict() == pytest.approx(expected)
    assert expected[found.values["a"], found.values["second"]] == max(expected.values())


@pytest.mark.slow
def test_held_out_gains_are_tested_as_nadeau_and_bengio_say():
    found = quick(RBP, {"p": (0.1, 0.9)}, made(5), default={"p": 0.9}, cv=5, repeats=3)
    d = (found.folds["held_out"] - found.folds["default"]).to_numpy()
    error = np.sqrt((1 / 15 + 1 / 4) * d.var(ddof=1))
    reach = stats.t.ppf(0.975, 14) * error
    gain = found.gain
    assert [gain["held_out"], gain["low"], gain["high"]] == pytest.approx(d.mean() + reach * np.array([0, -1, 1]))
    assert gain["p"] == pytest.approx(2 * stats.t.sf(abs(d.mean() / error), 14))
    assert gain["in_sample"] == pytest.approx(found.about["value"] - found.about["default_value"])
    one = replace(found, folds=found.folds.head(1)).gain
    assert one["held_out"] == d[0]
    assert np.isnan([one["low"], one["high"], one["p"]]).all()


@pytest.mark.slow
def test_one_bar_counts_the_candidates(monkeypatch):
    bars, counts = [], []

    class Bar(tqdm):
        def __init__(self, *args, **more):
            super().__init__(*args, **{**more, "delay": 0, "file": io.StringIO()})
            bars.append(self)

        def update(self, n=1):
            counts.append(n)
            super().update(n)

    monkeypatch.setattr("tqdm.auto.tqdm", Bar)
    found = quick(RBP, {"p": (0.1, 0.9)}, made(), progress=True, most=300)
    assert (len(bars), bars[0].n, sum(counts)) == (1, len(found.candidates), len(found.candidates))
    assert bars[0].total >= len(found.candidates)
    quick(RBP, {"p": [0.1, 0.5, 0.9]}, made(), progress=True)
    assert (bars[1].n, bars[1].total) == (3, 3)


def test_a_fold_without_anything_to_choose_by_counts_as_none():
    """Only the lists of one user vary, all in one fold; without this fold, all scores are constant."""
    names = [f"q{i}" for i in range(12)]
    qrels = {q: {"a": 2, "b": 1} for q in names}
    orders = [["ab", "ba", "xa", "xb"][i] if i < 4 else "ab" for i in range(12)]
    run = {q: {d: -float(i) for i, d in enumerate(docs)} for q, docs in zip(names, orders)}
    ratings = pd.DataFrame(
        {"query_id": names, "rating": [5, 4, 3, 1, *[2, 3] * 4], "user": ["x"] * 4 + list("yyyyzzzz")}
    )
    found = quick(
        "CWLA(C='rbp($p)',A='erg',max_rel=2)", {"p": [0.2, 0.5]}, Rated.lists(qrels, run, ratings), default={"p": 0.2}
    )
    lost = found.folds[found.folds["p"].isna()]
    assert len(lost) == 2  # one fold per repeat
    assert lost[["chosen_by", "held_out"]].isna().all(axis=None)
    assert any("without 2 folds: no parameters are chosen" in limit for limit in found.limits())
    assert any("are constant on 4 folds" in limit for limit in found.limits())
    assert found.parameters()["folds_median"].notna().all()
    found.pictures()["parameter_1"].draw(None)
    texts = quick("CWLA(C='$C',A='erg',max_rel=2)", {"C": ["rbp(0.2)", "rbp(0.5)"]}, Rated.lists(qrels, run, ratings))
    assert texts.folds["C"].isna().sum() == 2
    texts.pictures()["parameter_1"].draw(None)
    assert "C = rbp" in str(texts)


@pytest.mark.slow
def test_parameters_of_two_kinds_are_reported_whatever_they_are_called(tmp_path):
    ranges = {"p": (0.1, 0.9), "a/b": ["linear", "binary"], "a.b": [1, "2"], "yes": [True, False]}
    found = quick(
        lambda **of: f"CWLA(C='rbp({of['p']})',A='erg',gain='{of['a/b']}',max_rel=2)", ranges, made(), most=150,
        default={"p": 0.5, "a/b": "linear", "a.b": 1, "yes": True},
    )  # fmt: skip
    parameters = found.parameters().set_index("parameter")
    assert (parameters["fitted"] == [str(value) for value in found.values.values()]).all()
    assert f"p = {found.values['p']:g}; fitted without one fold at a time," in str(found)
    for table in found.tables().values():
        table.frame.to_parquet(tmp_path / "table.parquet")
    found.report(tmp_path)
    assert pd.read_parquet(tmp_path / "tables/parameters.parquet")["parameter"].tolist() == list(ranges)
    assert pd.read_parquet(tmp_path / "tables/candidates.parquet")["p"].dtype == float
    names = {path.stem for path in (tmp_path / "pictures").glob("*.svg")}
    assert {"parameter_1"} <= {*found.pictures()} == names <= {f"parameter_{number}" for number in range(1, 5)}
    assert any("The search stopped after" in limit for limit in found.limits())


@pytest.mark.slow
def test_thousands_of_candidates_leave_nothing_behind():
    rated = made()

    def remembered():
        return [len(pickle.dumps(part)) for part in (rated.shown.judgments.pool.memory, rated.shown.aligned._found)]

    text = "CWLA(C='rr',A='etg',gain='table({1:$g,2:1})',norm='ideal')@3"
    whole = text.removesuffix("@3")
    for of in (text, whole, whole.replace(",norm", ",judged_only=True,norm")):
        quick(of, {"g": [0.25, 0.75]}, rated)
        before = remembered()
        quick(of, {"g": (0, 1)}, rated)
        assert remembered() == before


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"ranges": {}}, "nothing to fit"),
        ({"ranges": {"q": (0, 1)}}, "has $p, but no range is given for it"),
        ({"ranges": {"p": (0, 1), "q": (0, 1)}}, "has no $q"),
        ({"ranges": {"p": (1, 0)}}, "must go from a number to a higher number"),
        ({"ranges": {"p": 0.5}}, "the range of p must be (low, high)"),
        ({"ranges": {"p": []}}, "must be a non-empty list"),
        ({"ranges": {"p": [0.5, 1.5]}}, "with p=1.5: "),
        ({"objective": "person"}, "Near: 'pearson'"),
        ({"objective": "agreement"}, "ratings of lists have no such objective. Give one of pearson"),
        ({"objective": "weighted_nrmse"}, "needs a column 'n'"),
        ({"default": {"q": 1}}, "a value for each of p"),
        ({"default": {"p": "x"}}, "default of p must be a number, not 'x'"),
        ({"default": {"p": 7}}, "with p=7: "),
        ({"cv": 13}, "12 users cannot be split into 13 folds"),
        ({"repeats": 0}, "repeats=0"),
        ({"template": "RBP(p=$)"}, "as $name"),
        ({"template": 3}, "a text with $names or a function"),
    ],
)
def test_what_does_not_go_together_is_an_error(given, says):
    given = {"template": RBP, "ranges": {"p": (0.1, 0.9)}, **given}
    refused(lambda: quick(given.pop("template"), given.pop("ranges"), made(), **given), says, BadParameter)


def test_constant_ratings_or_scores_are_an_error():
    constant = "CWLA(C='rbp($p)',A='erg',max_rel=2,gain='table({1:0,2:0})')"
    for p in ([0.2, 0.5], (0.2, 0.5)):
        refused(partial(quick, constant, {"p": p}, made()), "the scores are constant", BadParameter)
        never = partial(quick, RBP, {"p": p}, made(), where=lambda p: p > 1)
        refused(never, "no candidate satisfies where=", BadParameter)
    rated, pairs = made(), preferred()
    first, none = (Rated("pair", pairs.table.assign(rating=one), pairs.shown) for one in (1.0, 0.0))
    found = quick(RBP, {"p": [0.1, 0.9]}, first, objective="agreement")
    assert found.about["value"] == pytest.approx(SLOW["agreement"](only(first, found.measure), first.ratings))
    refused(lambda: quick(RBP, {"p": [0.1]}, none, objective="agreement"), "no pair has a preference", BadRatings)
    same = Rated("list", rated.table.assign(rating=3.0), rated.shown)
    refused(lambda: quick(RBP, {"p": [0.1, 0.9]}, same), "all ratings are the same", BadRatings)


def test_scales_and_values_of_ranges():
    assert Range.parse((5, 500), "h").log
    assert not Range.parse((5, 499), "h").log
    assert Range.parse((5, 500), "h").value(0.5) == 50
    assert Range.parse(range(1, 5), "k").grid(100) == [1, 2, 3, 4]
    assert [Range.parse([7, 9], "k").value(place) for place in (0, 0.49, 0.5, 1)] == [7, 7, 9, 9]
    assert len(Range.parse((0, 1), "p").grid(11)) == 11
    assert 0.3 in Range.parse((0.1, 0.3), "p")
    assert str(Range.parse(range(5), "k")) == "0, 1, 2, 3, 4"
    assert str(Range.parse(range(6), "k")) == "0, 1, …, 5"


@pytest.mark.slow
def test_the_pictures_show_their_data_and_the_findings_their_numbers():
    found = quick(RBP, {"p": (0.1, 0.9)}, made(), default={"p": 0.8})
    refused(lambda: found.curve("q"), "'q' is no fitted parameter", BadParameter)
    picture = found.pictures()["parameter_1"]
    axes = picture.draw(None)
    x, y = axes.get_lines()[0].get_data()
    assert (x.tolist(), y.tolist()) == (picture.data["p"].tolist(), picture.data["value"].tolist())
    assert picture.data["value"].max() == pytest.approx(found.about["value"])
    assert "60 rated lists" in axes.get_title(loc="left")
    text = str(found)
    assert f"{found.gain['held_out']:+.3f}" in text
    assert f", {found.gain['high']:+.3f}], p" in text
    assert set(found.tables()) == {"summary", "parameters", "folds", "candidates"}
    assert found.tables()["summary"].frame["parameters"].tolist() == [f"p={found.values['p']}", "p=0.8"]
    assert any("at an end" in limit for limit in quick(RBP, {"p": (0.01, 0.05)}, made()).limits())
    chosen = quick("CWLA(C='rbp(0.5)',A='erg',gain='$g',max_rel=2)", {"g": ["linear", "binary"]}, made())
    labels = chosen.pictures()["parameter_1"].draw(None).get_xticklabels()
    assert [label.get_text().split()[0] for label in labels] == ["linear", "binary"]


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(
    ("template", "ranges", "printed"),
    [
        (TBG, {"h": range(11, 61)}, {"h": 31}),
        (f"UMeasure(T=$T,max_rel=2,effort='{SECONDS}')@9", {"T": range(81, 131)}, {"T": 99}),
    ],
)
def test_parameters_of_jiang_and_allan_maximise_the_correlation(data, template, ranges, printed):
    """Section 5.1: the half-life of TBG is 31 s, T of the U-measure is 99 s."""
    found = fit(template, ranges, jiang_ratings(data / "jiang-sessions"), cv=5, repeats=1, progress=False)
    assert found.values == printed
    assert found.about["candidates"] == 50

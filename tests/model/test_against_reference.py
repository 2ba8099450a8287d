"""Scores and residuals of random combinations of all parts, compared with the loops of tests/support/reference.py."""

import ast
import random
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

from pyterrier_cwla import CWLA, effort, explain_gains, score
from pyterrier_cwla.data.alignment import Judgments
from pyterrier_cwla.errors import CWLAError, NoFiniteValue
from pyterrier_cwla.evaluation import residual
from pyterrier_cwla.model import residuals, scoring, view_columns
from tests.support import reference
from tests.support.messages import refused


def parsed(text):
    """Return the name and the parameters of a part, as the reference takes them, from its text."""
    return _parsed(ast.parse(text, mode="eval").body)


def _parsed(node):
    if isinstance(node, ast.Name):
        return node.id, {}
    name = node.func.id
    read = _parsed if name == "product" else lambda value: getattr(value, "id", None) or ast.literal_eval(value)
    if name == "fixed":
        return name, {"values": [read(value) for value in node.args]}
    order = [*signature((reference.CONTINUATIONS | reference.AGGREGATIONS)[name]).parameters][2:]
    order = {"ap1": ("R",), "ap2": ("R",), **dict.fromkeys(reference.SHARES, ("shape", "scale"))}.get(name, order)
    named = {one.arg: read(one.value) for one in node.keywords}
    return name, dict(zip([*order, "rel"], map(read, node.args))) | named


def listed(texts):
    return {text: parsed(text) for text in texts.split()}


CONTINUATIONS = listed("""
    prec(1) prec(4) prec(30) rbp(0.8) rbp(0) dcg(7) dcg ap1 ap1(ranking) ap1(rel=2) ap2 ap2(R=ranking) ap2(rel=1) rr rr(1)
    cascade(0.7) cascade(1,2) inst(1) inst(2.25,rel=1) insq(3) decay(5) decay(500) carterette1(6) economic(0.5,6)
    economic(1,4) carterette2(6) carterette3(0.4) carterette3(1,rel=2) product(rr,prec(6)) product(carterette1(5),rr)
    product(rr,rbp(0.9)) product(rr,insq(2)) product(dcg,prec(7)) product(carterette3(0.3),inst(1))
    product(inst(1),product(rr,bpm(1.2,9.3,0.5,1,0.3))) product(ift_goal(2,0.9,1),ift_rate(0.2,0.9,1)) bpm(1.57,6.37)
    bpm(0.77,90.5) bpm(0.77,9.3,0.7,2.1,0.26) bpm(2.13,35.7,0.03,0.4,0.55) ift_goal(1.5,0.9,2) ift_rate(0.2,0.9,1)
    ift_rate(0.3,2,1.5) patience(7.5) patience(300) weibull(0.7,40) weibull(1.5,300) budget(7.5) budget(300)
    budget(7.5,True) budget(290,partial=True) log_logistic(1.8,30) log_logistic(0.8,60) log_normal(0.6,10)
    hyperbolic(2.5,50) hyperbolic(0.7,50) fixed(0.9,1,0.3,0.5)
""")
AGGREGATIONS = listed("""
    etg erg err avg max fin fgt(0.8) fgt(0) fgt(1) pe(0.5) per_item items effort utility(reciprocal) utility(log2)
    smeared smeared(5)
""")
AGGREGATIONS["utility(table(1,0.7,0.3))"] = ("utility", {"phi": lambda j: {1: 1, 2: 0.7, 3: 0.3}.get(j, 0)})
ENDS = ("open", "stop", 1, 5, 40)
GAINS = {  # name and parameters of the gain in the reference
    "binary": ("binary", {}),
    "binary(2)": ("binary", {"rel": 2}),
    "linear": ("linear", {}),
    "exponential": ("exponential", {}),
    "table({1:0.2,2:0.7,3:1})": ("table", {"map": {1: 0.2, 2: 0.7, 3: 1}}),
    "table({1:0.8,2:0.8,3:0.2})": ("table", {"map": {1: 0.8, 2: 0.8, 3: 0.2}}),
    "table({1:0.2,2:0.7,3:1},interpolate)": ("interpolated", {"map": {1: 0.2, 2: 0.7, 3: 1}}),
    "clicksave": ("clicksave", {}),
    "raw": ("raw", {}),
    "threshold(0.2,0.5,0.3)": ("threshold", {"weights": [0.2, 0.5, 0.3]}),
    "clicksave_by_grade({1:0.5,2:0.6,3:0.9},{1:0.2,2:0.8,3:0.7})": (
        "clicksave_by_grade", {"p_click": {1: 0.5, 2: 0.6, 3: 0.9}, "p_save": {1: 0.2, 2: 0.8, 3: 0.7}}),
}  # fmt: skip
SIGNED = {
    f"table({str(map).replace(' ', '')})": ("signed_table", {"map": map})
    for map in ({0: -0.5, 1: 0.3, 2: 1, 3: -1}, {1: -0.25, 2: 0.5, 3: 1}, {0: 0.2, 1: 1, 2: 0, 3: 0.5})
}
SIGNED["given"] = ("given", {})  # plain lists of gains
GAINS |= SIGNED
HIGHEST = {"linear": 3, "exponential": 3, "raw": 1}  # the highest grade, max_rel
NUMBERS = ("raw", "given")  # gains of any number
# gains of grades between 1, 2 and 3
SMOOTH = ("linear", "exponential", "table({1:0.2,2:0.7,3:1},interpolate)")
# "by grade" is a function defined below, "given" passes arrays; the reference uses ``time`` with special parameters
EFFORTS = {
    "unit": ("unit", {}),
    "by grade": ("time", {"summary_seconds": 1, "seconds_per_word": 0, "seconds_per_document": 2,
                          "p_click_relevant": 1, "p_click_nonrelevant": 0}),
    "given": ("time", {"summary_seconds": 0, "seconds_per_word": 1, "seconds_per_document": 0,
                       "p_click_relevant": 1, "p_click_nonrelevant": 1}),
    "time": ("time", {}),
    "ratio(4)": ("ratio", {"times": 4}),
    "ratio(0.5,rel=2)": ("ratio", {"times": 0.5, "rel": 2}),
    "by_grade({0:0.3,1:2,2:0.7,3:1})": ("by_grade", {"efforts": {0: 0.3, 1: 2, 2: 0.7, 3: 1}}),
    "grade_time(4.4,{0:0.26,1:0.5,2:0.55,3:1},{0:20.6,1:37.1,2:60.3,3:9})": (
        "grade_time", {"summary_seconds": 4.4, "p_click": {0: 0.26, 1: 0.5, 2: 0.55, 3: 1},
                       "seconds": {0: 20.6, 1: 37.1, 2: 60.3, 3: 9}}),
    "reading(20,0.1,0.9,0.4)": ("reading", {"summary_words": 20, "share": 0.1, "p_click_relevant": 0.9,
                                            "p_click_nonrelevant": 0.4}),
}  # fmt: skip
READ = ("time", "reading(20,0.1,0.9,0.4)")  # efforts that need a table of lengths
# efforts that are defined for whole grades only
LISTED = tuple(kind for kind in EFFORTS if kind.startswith(("by_grade", "grade_time")))


@effort
def thrice_if_relevant(documents):
    return 1 + 2.0 * (documents.grade >= 1)


@dataclass
class Case:
    """Ranking in the form of the reference: grades (None: unjudged), all judged grades, and the words of both."""

    grades: list
    judged: list
    words: list
    judged_words: list


@dataclass
class Setting:
    """Parts and conventions of one batch of rankings, by names that the package and the reference share."""

    C: str
    A: str
    end: Any
    effort: str
    gain: str
    norm: str = "none"
    k: int | None = None
    unseen: float | None = None
    side: str = "upper"

    @property
    def sums_an_endless_ideal(self) -> bool:
        """Whether the residual is the distance to a best case with infinitely many ranks."""
        of_ranks = reference.of_ranks(CONTINUATIONS[self.C], AGGREGATIONS[self.A], EFFORTS[self.effort], self.end)
        endless = reference.last_rank(CONTINUATIONS[self.C], 0, self.end, self.k) is None
        return self.norm == "ideal" and of_ranks and endless

    def reference(self, case: Case, function: Any) -> float:
        """Return the value of the reference, or raise ValueError where none exists."""
        same = {
            "C": CONTINUATIONS[self.C],
            "A": AGGREGATIONS[self.A],
            "gain": GAINS[self.gain],
            "effort": EFFORTS[self.effort],
            "max_rel": HIGHEST.get(self.gain),
            "end": self.end,
            "k": self.k,
            "norm": self.norm,
            "judged": case.judged,
            "words": case.words,
            "judged_words": case.judged_words,
            "unseen": 1.0 if self.effort == "by grade" else self.unseen,
        }
        reference.normaliser(case.grades, **same)  # raises its errors also where the score is 0
        return function(case.grades, **same, **({"side": self.side} if function is reference.residual else {}))

    def package(self, cases: list[Case], name: str = "score") -> np.ndarray:
        """Return the values of the package, computed in one call."""
        gain = None if self.gain == "given" else self.gain
        parts = {"C": self.C, "A": self.A, "gain": gain, "norm": self.norm, "end": self.end}
        parts |= {"max_rel": HIGHEST.get(self.gain), "unseen": self.unseen}
        if self.effort in READ:
            return self.framed(CWLA(**parts, effort=self.effort, cutoff=self.k), cases, name, self.side)
        if self.effort not in ("by grade", "given"):
            parts["effort"] = self.effort
        if self.effort == "by grade":
            parts["effort"] = thrice_if_relevant
        if self.effort == "given":
            parts["efforts"] = [case.words for case in cases]
        # The efforts of documents that were not retrieved cannot be passed, so these rankings have none for the ideal.
        judged = None if self.effort == "given" and self.norm == "ideal" else [case.judged for case in cases]
        function = {"score": score, "residual": partial(residual, side=self.side)}[name]
        return function([case.grades for case in cases], judged=judged, cutoff=self.k, **parts)

    @staticmethod
    def framed(measure: Any, cases: list[Case], name: str, side: str) -> np.ndarray:
        """Return the values for the same rankings as DataFrames with a table of lengths."""
        qrels, run, lengths = [], [], {}
        for query, case in enumerate(cases):
            judged = [(f"d{query}.{rank}", grade) for rank, grade in enumerate(case.grades) if grade is not None]
            judged += [(f"u{query}.{number}", grade) for number, grade in enumerate(case.judged[len(judged) :])]
            qrels += [(f"q{query}", *pair) for pair in judged]
            run += [(f"q{query}", f"d{query}.{rank}", -float(rank)) for rank in range(len(case.grades))]
            lengths |= {f"d{query}.{rank}": words for rank, words in enumerate(case.words)}
            lengths |= {docno: words for (docno, _), words in zip(judged, case.judged_words, strict=True)}
        judgments = Judgments(pd.DataFrame(qrels, columns=["query_id", "doc_id", "relevance"]))
        run = pd.DataFrame(run, columns=["query_id", "doc_id", "score"])
        compute = {"score": scoring.score, "residual": partial(residuals.residual, side=side)}[name]
        metric = measure(lengths=lengths).metric
        return compute(metric, judgments.align(run, all_judged=name == "residual" or metric.all_judged))


def random_setting(rng: random.Random, C: str, A: str, end: Any, effort: str, signed: bool = False) -> Setting:
    gains = [gain for gain in GAINS if (gain in SIGNED) == signed]
    gain = rng.choice([gain for gain in gains if gain not in NUMBERS or effort not in (*READ, *LISTED)])
    norms = ["none", "none", "all", "ideal", *["mean"] * (not signed)]
    if effort in ("unit", "by grade", "time") and (CONTINUATIONS[C][0], A) == ("decay", "etg"):
        norms.append("unlimited")
    unseen = rng.choice([None, 0.5, 7, 60]) if effort in ("given", *READ) else None
    return Setting(C, A, end, effort, gain, rng.choice(norms), rng.choice([None, None, 1, 3, 10]), unseen)


def random_case(rng: random.Random, setting: Setting, length: int | None = None) -> Case:
    """Return a random ranking, usually short, with sparse or dense gain, unjudged items and unretrieved gain."""
    n = rng.choice([0, 1, 2, 3, rng.randint(0, 12), rng.randint(0, 12), rng.randint(8, 60)])
    framed = setting.effort in READ
    n = length or max(n, int(framed))  # a query without rows is missing from the run
    rate, unjudged = rng.choice([0, 0.1, 0.3, 0.7, 1]), rng.choice([0, 0, 0.3])

    def grade() -> float:
        if rng.random() >= rate:
            return rng.choice([0, 0, 0, -1, -2]) if framed else 0
        if setting.gain == "given":
            return rng.choice([-0.5, -1.0, 0.25, 1.0, round(2 * rng.random() - 1, 6)])
        if setting.gain == "raw":
            return rng.choice([0.25, 0.5, 1.0, round(rng.random(), 6)])
        if setting.gain in SMOOTH and setting.effort not in LISTED:
            return rng.choice([1, 1, 2, 3, 0.4, 2.5, round(3 * rng.random(), 6)])
        return rng.choice([1, 1, 2, 3])

    grades = [None if rng.random() < unjudged else grade() for _ in range(n)]
    words = [rng.choice([0, 1, 10, 300, rng.randint(1, 2000)]) for _ in grades]
    elsewhere = [] if setting.effort == "given" and setting.norm == "ideal" else range(rng.choice([0, 0, 1, 3]))
    judged = [(g, w) for g, w in zip(grades, words, strict=True) if g is not None]
    judged += [(grade(), rng.randint(1, 2000)) for _ in elsewhere]
    if framed and not judged:
        judged = [(0, 100)]  # a query without judgments is not evaluated
    return Case(grades, [g for g, _ in judged], words, [w for _, w in judged])


def assert_as_the_reference(setting: Setting, cases: list[Case], name: str = "score") -> None:
    known, expected, refused = [], [], []
    for case in cases:
        try:
            expected.append(setting.reference(case, getattr(reference, name)))
            known.append(case)
        except ValueError as error:
            refused.append((case, error))
    if known:
        found = setting.package(known, name)
        for case, value, slow in zip(known, found, expected, strict=True):
            assert value == pytest.approx(slow, rel=1e-10, abs=1e-10), (setting, case)
    for case, error in refused:
        if "unseen=" in str(error) and (slow := whatever_is_unseen(setting, case, name)) is not None:
            if slow is not any:
                assert_close_or_refused(setting, case, name, slow)
            continue
        with pytest.raises(CWLAError):
            pytest.fail(f"{setting} {case} {error}: {setting.package([case], name)}")


def whatever_is_unseen(setting: Setting, case: Case, name: str) -> Any:
    """Return the value if it does not depend on the effort of unseen items, `any` in borderline cases, else None."""
    values = []
    for cost in (1.0, 100.0):
        try:
            values.append(replace(setting, unseen=cost).reference(case, getattr(reference, name)))
        except ValueError:
            return None
    difference = abs(values[1] - values[0]) / max(1, abs(values[0]))
    return values[0] if difference < 1e-13 else None if difference > 1e-7 else any


def assert_close_or_refused(setting: Setting, case: Case, name: str, slow: float) -> None:
    try:
        value = setting.package([case], name)[0]
    except CWLAError:
        return
    assert value == pytest.approx(slow, rel=1e-10, abs=1e-10), (setting, case)


def settings_of(number, C, rng, also=(), signed=False):
    """Yield settings of all A × end, each with three rankings: with every effort in CI, else with one, and `also`."""
    efforts, every = list(EFFORTS), settings().max_examples >= 50
    for at, A in enumerate(AGGREGATIONS):
        for place, end in enumerate(("open", "stop", rng.choice(ENDS[2:]))):
            for kind in efforts if every else [*also, efforts[(number + at + 3 * place) % len(efforts)]]:
                setting = random_setting(rng, C, A, end, kind, signed)
                yield setting, [random_case(rng, setting) for _ in range(3)]


@pytest.mark.slow
@pytest.mark.hypothesis  # the hypothesis profile selects the settings
@pytest.mark.every_case
@pytest.mark.parametrize(("number", "C"), [*enumerate(CONTINUATIONS)])
def test_scores(number, C):
    """27,702 settings in CI. In development 3,078 of them: all C × A × end and all A × end × effort."""
    for setting, cases in settings_of(number, C, random.Random(f"scores {C}")):
        assert_as_the_reference(setting, cases)


def takes_signed_gains(C: tuple) -> bool:
    """Return whether a continuation takes negative gains: all that read no gain as a probability or a share."""
    name, given = C
    if name == "product":
        return takes_signed_gains(given["first"]) and takes_signed_gains(given["second"])
    of_gains = ("ap1", "ap2", "rr", "cascade", "carterette2", "carterette3")
    return name not in of_gains or given.get("rel") is not None


@pytest.mark.slow
@pytest.mark.hypothesis
@pytest.mark.every_case
@pytest.mark.parametrize(("number", "C"), [*enumerate(CONTINUATIONS)])
def test_signed_gains(number, C):
    """All C × A × end with negative gains, and with gains of documents judged 0, which unjudged ones do not have."""
    for setting, cases in settings_of(number, C, random.Random(f"signed {C}"), also=("unit",), signed=True):
        if takes_signed_gains(CONTINUATIONS[C]):
            assert_as_the_reference(setting, cases)
        elif setting.gain != "given":
            refused(lambda s=setting, c=cases: s.package(c), "is defined for gains of 0 or more", "rel=")


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize("C", [C for C, parts in CONTINUATIONS.items() if takes_signed_gains(parts)])
def test_both_sides_of_residuals_of_signed_gains(C):
    rng = random.Random(f"sides {C}")
    for A in AGGREGATIONS:
        if CONTINUATIONS[C][0] in CLAIRVOYANT:
            continue
        slow = A.startswith("utility") or C.startswith("inst") or (A == "fgt(1)" and CONTINUATIONS[C][0] != "rbp")
        slow |= (C, A) == ("dcg", "per_item") or "ift_" in C  # all users stay if harm is endless under ift_goal
        for side in ("upper", "lower"):
            ends = ("stop", rng.choice(ENDS[2:]))
            for end in ends if slow else ("open", *ends):
                costs = ["unit"] if (C, A) == ("dcg", "avg") else list(EFFORTS)
                setting = random_setting(rng, C, A, end, rng.choice(costs), signed=True)
                gain = rng.choice([gain for gain in SIGNED if gain != "given"])
                setting = replace(setting, gain=gain, norm="none", side=side)
                assert_as_the_reference(setting, [random_case(rng, setting) for _ in range(4)], "residual")


@pytest.mark.slow
@pytest.mark.parametrize("C", CONTINUATIONS)
def test_rankings_of_many_lengths_in_several_chunks(C, monkeypatch):
    monkeypatch.setattr(view_columns, "CELLS", 1 << 10)
    rng = random.Random(f"many {C}")
    for end in ("open", "stop"):
        setting = random_setting(rng, C, rng.choice(list(AGGREGATIONS)), end, rng.choice(["unit", "given"]))
        lengths = [rng.randint(200, 2000) if number % 20 == 0 else None for number in range(60)]
        assert_as_the_reference(setting, [random_case(rng, setting, length) for length in lengths])


LEAVE_WITH_EFFORT = ("decay", *reference.LEFT, *reference.SHARES)
LEAVE_WITH_EFFORT = {C: parts for C, parts in CONTINUATIONS.items() if parts[0] in LEAVE_WITH_EFFORT}
LEAVE_WITH_EFFORT |= listed("product(rr,decay(40))")
OTHERS = listed("rbp(0.8) rr cascade(0.7) ap2 carterette3(0.4) inst(1) insq(3) prec(4)")


@pytest.mark.slow
@pytest.mark.parametrize("C", [*LEAVE_WITH_EFFORT, *OTHERS])
def test_unseen_items_that_cost_nothing(C, monkeypatch):
    """If effort makes users leave, values that depend on the cost of unseen items are errors (docs/conventions.rst)."""
    monkeypatch.setitem(CONTINUATIONS, C, (LEAVE_WITH_EFFORT | OTHERS)[C])
    rng = random.Random(f"free {C}")
    for A in AGGREGATIONS:
        for end in ("open", "open", 5):
            setting = replace(random_setting(rng, C, A, end, "given"), unseen=0)
            cases = [random_case(rng, setting) for _ in range(4)]
            assert_as_the_reference(setting, cases)
            if C in LEAVE_WITH_EFFORT and not (C.startswith("product") and A.startswith("utility")):
                assert_as_the_reference(replace(setting, norm="none"), cases, "residual")


def test_the_exponential_gain_has_a_highest_grade():
    assert score([1000], C="prec(1)", A="etg", gain="exponential", max_rel=1000) == 1
    refused(lambda: score([1001], C="prec(1)", A="etg", gain="exponential", max_rel=1001), CWLAError, "at most 1000")


@pytest.mark.parametrize("end", ["open", "stop"])
def test_a_part_of_a_product_may_look_at_grades(end):
    same = {"A": "erg", "gain": "linear", "max_rel": 3, "end": end}
    values = [score([1, 3, 2, 0, 3], C=C, **same) for C in ("product(rr(rel=2),rbp(0.9))", "cascade(0.9,rel=2)")]
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def assert_bounded_by_1(setting: Setting, cases: list[Case]) -> None:
    """Check that score and residual are at most 1 and, where sums are infinite, at least the best case of 60 ranks."""
    found = setting.package(cases) + setting.package(cases, "residual")
    assert (found <= 1).all()
    same = {"C": CONTINUATIONS[setting.C], "A": AGGREGATIONS[setting.A], "gain": GAINS[setting.gain]}
    for case, bound in zip(cases, found, strict=True):
        same |= {"max_rel": HIGHEST.get(setting.gain), "end": 60, "k": None, "judged": case.judged}
        if setting.A not in ("avg", "per_item"):  # avg has other weights if all users leave at rank 60
            assert bound >= reference.best_share(case.grades[:60], **same, last=60) - 1e-9


CLAIRVOYANT = ("ap1", "ap2")


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize("C", [C for C, (name, _) in CONTINUATIONS.items() if name not in CLAIRVOYANT])
def test_residuals(C):
    """The score with the best gain for every unjudged and unseen item, minus the score (docs/conventions.rst,
    Residuals).
    """
    rng = random.Random(f"residuals {C}")
    for A in AGGREGATIONS:
        ends = ("stop", rng.choice(ENDS[2:]))
        slow = A == "fgt(1)" and C.startswith("log_logistic")
        if slow:
            refused(lambda A=A: residual([1, None], C=C, A=A, max_rel=1), NoFiniteValue, "end='stop'")
        for end in ends if slow or A.startswith("utility") else ("open", *ends):
            # with other efforts the sums converge too slowly for nine digits
            costs = ["unit"] if (C, A) == ("dcg", "avg") else list(EFFORTS)
            setting = random_setting(rng, C, A, end, rng.choice(costs))
            if setting.sums_an_endless_ideal:
                assert_bounded_by_1(setting, [random_case(rng, setting) for _ in range(4)])
                continue
            assert_as_the_reference(setting, [random_case(rng, setting) for _ in range(4)], "residual")


@pytest.mark.parametrize("C", [C for C, (name, _) in CONTINUATIONS.items() if name in CLAIRVOYANT])
@pytest.mark.parametrize("end", ENDS)
def test_who_knows_the_total_gain_has_no_residual(C, end):
    """ap1 and ap2 depend on the total gain, which is unknown if documents are unjudged."""
    refused(lambda: residual([2, None, 0], C=C, A="etg", gain="linear", max_rel=3, end=end), CWLAError, "infinite")


@pytest.mark.parametrize("C", CONTINUATIONS)
def test_expected_items(C):
    """Moffat et al. (2022), Eq. 2: V⁺ = Σ V(i)."""
    rng = random.Random(f"items {C}")
    for end in ("open", "stop", 5):
        for _ in range(5):
            setting = Setting(C, "items", end, "unit", rng.choice(["binary", "linear", "raw"]))
            case = random_case(rng, setting)
            if case.grades or end != "stop":
                same = {"C": C, "A": "etg", "gain": setting.gain, "judged": case.judged, "end": end}
                found = explain_gains(case.grades, max_rel=HIGHEST.get(setting.gain), **same).expected_items
                assert found == pytest.approx(setting.reference(case, reference.v_plus), rel=1e-9), (setting, case)

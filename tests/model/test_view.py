"""Attributes and methods of views: beyond the list as for explicit items, and at hits as for all ranks."""

from functools import partial
from typing import Annotated

import numpy as np
import pytest

from pyterrier_cwla import aggregation, continuation, effort, gain, score
from pyterrier_cwla.errors import BadParameter, NoFiniteValue
from pyterrier_cwla.evaluation import residual
from pyterrier_cwla.model import In, discount
from pyterrier_cwla.model.view import View
from tests.support.messages import refused

GRADES = np.array([[1, 0, 2, 0, 1], [0, 0, 0, 2, 0]])
EFFORTS = np.array([[2, 0.5, 1, 3, 0.25], [1, 1, 2, 0.5, 4]])
BEST = {"none": (0.0, 0), "best": (0.75, 2)}

PLAIN = ("i", "r", "grade", "e", "E", "G", "best", "G_before", "E_before")
#: Attributes and methods of a view.
NAMES = {
    **{name: lambda view, name=name: getattr(view, name) for name in PLAIN},
    "fading(0)": lambda view: view.fading(0),
    "fading(0.5)": lambda view: view.fading(0.5),
    "fading(1)": lambda view: view.fading(1),
    "credited": lambda view: view.credited(lambda effort: 1 / (1 + np.asarray(effort))),
    **{
        f"at_least({rel}).{name}": lambda view, rel=rel, name=name: getattr(view.at_least(rel), name)
        for rel in (None, 1, 2, 3)
        for name in PLAIN
    },
}  # fmt: skip
#: Attributes without a value if unseen items have gain.
ENDLESS = {
    "discounted": lambda view: view.discounted(lambda i: 1 / i),
    "total": lambda view: view.total,
    "found": lambda view: view.found,
    "at_least(1).total": lambda view: view.at_least(1).total,
    "at_least(2).found": lambda view: view.at_least(2).found,
}


def totals(rel):
    return np.array([[9.0], [7.0]]) if rel is None else np.array([[4.0], [3.0]]) / rel


def a_view(more=0, best=(0.0, 0), costs=True):
    """Return a view of five items, followed by ``more`` items of the best grade with effort 1.5."""
    r, grade = (np.hstack([values, np.full((2, more), top)]) for values, top in zip((GRADES / 2, GRADES), best))
    e = np.hstack([EFFORTS, np.full((2, more), 1.5)]) if costs else None
    return View(np.arange(1.0, 6 + more)[None, :], r, grade, totals, e, 1.5 if costs else 1.0, *best)


def spread(values, ranks):
    return np.broadcast_to(np.asarray(values, float), (2, ranks))


@pytest.mark.parametrize("costs", [True, False])
@pytest.mark.parametrize("best", BEST)
@pytest.mark.parametrize("name", NAMES)
def test_beyond_the_list_is_what_items_there_would_be(name, best, costs):
    """A view of ranks n+m equals one with explicit items, without gain or (in a residual) with the best gain."""
    beyond = a_view(best=BEST[best], costs=costs).beyond(np.array([[1, 2, 3, 4]]))
    explicit = a_view(4, BEST[best], costs)
    np.testing.assert_allclose(spread(NAMES[name](beyond), 4), spread(NAMES[name](explicit), 9)[:, 5:], rtol=1e-12)


@pytest.mark.every_case
@pytest.mark.parametrize("name", ENDLESS)
def test_what_lies_beyond_changes_no_total_and_endless_gain_has_none(name):
    beyond, explicit = a_view().beyond(np.array([[1.0, 2.0]])), a_view(2)
    expected = spread(ENDLESS[name](explicit), 7 if "disc" in name else 2)[:, -2:]
    np.testing.assert_allclose(spread(ENDLESS[name](beyond), 2), expected)
    if name != "at_least(2).found":
        refused(lambda: ENDLESS[name](a_view(best=(0.75, 2)).beyond(np.array([[1.0]]))), NoFiniteValue)


def test_between_hits_lie_ranks_without_gain():
    """A view of the hits has the same values as a view of all ranks if E_before includes the efforts between them."""
    r = np.array([[0.5, 0, 0, 0.25, 1, 0, 0.5], [0, 1, 0, 0, 0.5, 0.5, 0]])
    e = np.where(r > 0, 2.0, 0.3)
    i = np.arange(1.0, 8)[None, :]
    hits = np.array([[0, 3, 4, 6], [1, 4, 5, 6]])
    row = np.array([[0], [1]])
    whole = View(i, r, r, totals, e)
    spent = whole.E_before[row, hits]
    some = View(i.repeat(2, axis=0)[row, hits], r[row, hits], r[row, hits], totals, e[row, hits], E_before=spent)
    for name in (*PLAIN, "fading(0)", "fading(0.5)", "fading(1)"):
        np.testing.assert_allclose(NAMES[name](some), spread(NAMES[name](whole), 7)[row, hits], err_msg=name)
    np.testing.assert_allclose(whole.steps, e)
    assert View(i, r, r, totals).beyond(1).e == 1
    np.testing.assert_allclose(np.cumsum(some.steps, axis=1), whole.E[row, hits])


@continuation
def pleased(view):
    """Leave with a higher probability after a document of grade 2."""
    return np.where(view.grade >= 2, 0.25, 0.5)


def test_unseen_items_have_no_grade_and_in_a_residual_the_best():
    """V⁺ is 1 + ¼·(1 + ½ + …), and 1 + ¼·(1 + ¼ + …) if all unseen items had grade 2."""
    same = {"C": "pleased", "A": "items", "gain": "linear", "max_rel": 2}
    assert score([2], **same) == pytest.approx(1.5)
    assert residual([2], **same) == pytest.approx(4 / 3 - 1.5)


def test_nothing_gained_for_nothing_is_a_rate_of_nothing():
    """A(i) = G(i)/E(i), and 0 if G(i) = 0, even if E(i) = 0."""
    efforts = {"efforts": [[0, 2]] * 40, "end": "stop"}
    assert score([[0, 1]] * 40, C="rbp(0.5)", A="avg", **efforts).tolist() == [0.25] * 40
    assert score([[0, 1]] * 40, C="rbp(0.5)", A="erg", **efforts).tolist() == [0.5] * 40
    assert score([0, 0], efforts=[0, 0], C="prec(2)", A="erg", end="stop") == 0
    refused(lambda: score([1, 0], efforts=[0, 0], C="prec(2)", A="avg", end="stop"), NoFiniteValue)


def test_what_a_gain_is_worth_at_each_rank():
    for phi, worth in {
        "reciprocal": [1, 1 / 2, 1 / 3, 1 / 4], "log2": [1, 0.6309297535714575, 1 / 2, 0.43067655807339306],
        "power(2)": [1, 1 / 4, 1 / 9, 1 / 16], "power(0.5)": [1, 2**-0.5, 3**-0.5, 1 / 2], "geometric(0.5)": [1, 1 / 2, 1 / 4, 1 / 8],
        "table(0.9,0.3,0.6)": [0.9, 0.3, 0.6, 0], "table(1)": [1, 0, 0, 0],
    }.items():  # fmt: skip
        assert score(np.eye(4), C="prec(4)", A=f"utility({phi})").tolist() == pytest.approx(worth, rel=1e-14)


def test_what_lies_between_two_hits_is_forgotten_and_paid_for():
    """By hand: F(4) = ½δ³ + ½ and F(5) = δ·F(4) + 1, with δ = ½; and Σ V(i)·e_i = 2·0.5 + 1."""
    fading = 0.5 * 0.5 + 0.25 * (0.5 / 8 + 0.5) + 0.25 * (0.5 / 16 + 0.25 + 1)
    assert score([0.5, 0, 0, 0.5, 1], C="rr", A="fgt(0.5)") == pytest.approx(fading, rel=1e-14)
    assert score([0, 0, 1], C="rr", A="erg", effort="by_grade({0:0.5,1:1})") == pytest.approx(0.5, rel=1e-14)


@pytest.mark.parametrize(("found", "says"), [
    (lambda view: np.array([0.5, 0.5]), r"an array of the shape \(2,\)"),
    (lambda view: np.ones(7) * 0.5, r"an array of the shape \(7,\)"),
    (lambda view: view.i[0] * 0 + 0.5, r"an array of the shape \(30,\)"),
    (lambda view: np.full((2, 3, 4), 0.5), r"an array of the shape \(2, 3, 4\)"),
    (lambda view: np.zeros((1, 0)), r"an array of the shape \(1, 0\)"),
    (lambda view: "x", "'x', of type str"),
    (lambda view: "0.5", "'0.5', of type str"),
    (lambda view: None, "None, of type NoneType"),
    (lambda view: 0.5 + 1j, r"\(0\.5\+1j\), of type complex"),
    (lambda view: [[0.5], [0.2, 0.3]], r"\[\[0\.5\], \[0\.2, 0\.3\]\], of type list"),
])  # fmt: skip
def test_what_is_no_number_for_each_rank_is_an_error(found, says, recwarn):
    def odd(view):
        return found(view)

    wanted = r"must return one number, or an array \[queries × ranks\].* that broadcasts to the shape \(1, 30\) here"
    for kind, decorator, other in (("C", continuation, {"A": "erg"}), ("A", aggregation, {"C": "rbp(0.8)"})):
        with pytest.raises(BadParameter, match=f"{kind}='odd' returned {says}, and {wanted}"):
            score([1, 0, 1], **{kind: decorator(odd)}, **other)
    assert not recwarn


def test_wrong_shapes_of_long_lists_gains_and_efforts_are_errors():
    @continuation
    def first_fifty(view):
        return 0.9 + 0 * view.r[:, :50] * view.i[:, :50]

    assert score([1], C="first_fifty", A="etg", end="stop") == 1
    odd = {"C": (first_fifty, r"'first_fifty' returned an array of the shape \(1, 50\)")}
    for kind, decorator in (("gain", gain), ("effort", effort)):

        @decorator
        def three(given):
            return np.ones(3)

        odd[kind] = three, r"'three' returned an array of the shape \(3,\)"
    for kind, (function, says) in odd.items():
        array = r"array \[queries × ranks\] with two axes that" if kind == "C" else "array that"
        with pytest.raises(BadParameter, match=rf"{kind}={says}, and must return one number, or an {array} broadcasts"):
            score([1] * 64, **{"C": "rbp(0.8)", "A": "erg", "end": "stop", kind: function})


@pytest.mark.parametrize("values", [0.5, [0.5], np.float32(0.5), [[0.5]], np.array(0.5, object)])
def test_one_number_is_that_of_all_ranks(values):
    @continuation
    def always(view):
        return values

    assert score([1, 0, 1], C=always, A="erg") == pytest.approx(score([1, 0, 1], C="rbp(0.5)", A="erg"))


@pytest.mark.parametrize(
    ("decorator", "first"), [(continuation, "view"), (aggregation, "view"), (gain, "grade"), (effort, "documents")]
)
def test_what_is_no_function_of_its_input_is_an_error(decorator, first):
    def nothing():
        return 0.5

    def by_name(*, view):
        return 0.5

    def has_a_default(phi=0.5):
        return phi

    def has_a_range(phi: Annotated[float, In("[0, 1]")]):
        return phi

    for odd in (nothing, by_name, has_a_default, has_a_range):
        says = f"@{decorator.__name__}: the first parameter of '{odd.__name__}' must be {first}, the input of the"
        refused(lambda odd=odd: decorator(odd), BadParameter, says)
    for odd in ("bored", 3, np, partial(max, 1), lambda view: 0.5):
        says = f"@{decorator.__name__} must decorate a function with a name, not "
        refused(lambda odd=odd: decorator(odd), BadParameter, says)


def test_inputs_may_have_notes_and_defaults_and_computed_values_may_change():
    @gain
    def noted(grade: Annotated[object, "grades"] = None):
        return grade

    @continuation
    def changes(view):
        C = 0.5 * view.r
        C += 0.5
        C[view.G > 1] = 0
        return C

    assert score([1, 0, 1, 1], C="changes", A="etg", gain="noted") == 1.5


WRITTEN = {
    **{f"{part} {name}": (kind, {part: "writes"}, read) for part, kind in (("C", continuation), ("A", aggregation))
       for name, read in (NAMES | ENDLESS).items()},
    "grades of efforts": (effort, {"effort": "writes"}, lambda documents: documents.grade),
    "ranks of efforts": (effort, {"effort": "writes"}, lambda documents: documents.rank),
    "gain": (gain, {"gain": "writes"}, lambda grade: grade),
    "discount": (discount, {"A": "utility(writes)"}, lambda i: i),
}  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize("written", WRITTEN)
def test_a_users_function_cannot_write_into_what_it_gets(written):
    """Otherwise the function would change its own score, and those of other functions that read the view."""
    kind, part, read = WRITTEN[written]

    @kind
    def writes(given):
        values = read(given)
        if isinstance(values, np.ndarray):  # unit effort is a number
            values[...] = 0
        return 0.5 + 0 * getattr(given, "r", 1.0)

    costs = {} if kind is effort else {"efforts": [2, 3], "unseen": 1, "judged": [1, 0.5]}
    with pytest.raises(BadParameter, match=r"'writes' fails: (assignment destination|output array) is read-only"):
        score([0, 0.5], **{"C": "rbp(0.5)", "A": "etg"} | part, **costs)

"""The facts that decorators state about functions: their names and types, and whether they hold."""

import pickle
from dataclasses import FrozenInstanceError

import pytest

from pyterrier_cwla import aggregation, continuation, discount, effort, gain
from pyterrier_cwla.errors import BadParameter
from pyterrier_cwla.facts import FACTS, ContinuationFacts
from pyterrier_cwla.spec import TABLES

DECORATORS = {
    "continuation": continuation, "aggregation": aggregation, "gain": gain, "effort": effort, "discount": discount,
}  # fmt: skip


def some_function(view, k: int):
    return 1.0


# ---- names and types


@pytest.mark.parametrize(
    ("kind", "stated", "says"),
    [
        ("aggregation", {"linaer": True}, "@aggregation(linaer=…) of 'some_function': no such fact. Near: 'linear_in_gain'."),
        ("continuation", {"constant_beyond_lst": True}, "Near: 'constant_beyond_list'"),
        ("continuation", {"credit_terms": True}, "no such fact."),
        ("gain", {"unit_effort": True}, "no such fact. There is: known_grades."),
        ("effort", {"unit_efort": True}, "Near: 'unit_effort'"),
        ("discount", {"monotone_in_gain": True}, "no such fact. A discount has none."),
    ],
)  # fmt: skip
def test_a_fact_that_is_unknown_is_an_error(kind, stated, says):
    with pytest.raises(BadParameter) as error:
        DECORATORS[kind](**stated)(some_function)
    assert says in str(error.value)
    assert "some_function" not in TABLES[kind]


@pytest.mark.parametrize(
    ("kind", "stated", "says"),
    [
        ("aggregation", {"linear_in_gain": 1}, "must be True or False, not 1."),
        ("aggregation", {"linear_in_gain": None}, "must be True or False, not None."),
        ("continuation", {"constant_beyond_list": lambda k: True}, "must be True or False, not <function"),
        ("effort", {"unit_effort": "yes"}, "must be True or False, not 'yes'."),
        ("continuation", {"last_rank": 3}, "must be a function of (k), such as lambda k: …, not 3."),
        ("continuation", {"last_rank": lambda n: n}, "must be a function of (k): missing a required argument: 'n'."),
        ("continuation", {"items_beyond": lambda view: 1}, "must be a function of (view, V, k): too many positional"),
        ("aggregation", {"credit_terms": lambda i, r, e, k: 1}, "must be a function of (i, r, e, C, k)"),
        ("gain", {"known_grades": [1, 2]}, "must be a function of (k), such as lambda k: …, not [1, 2]."),
    ],
)
def test_a_fact_of_the_wrong_type_is_an_error(kind, stated, says):
    with pytest.raises(BadParameter) as error:
        DECORATORS[kind](**stated)(some_function)
    assert says in str(error.value)


def test_facts_are_frozen_and_travel():
    """All that is not stated does not hold; a record is equal to another of the same facts."""
    facts = ContinuationFacts(constant_beyond_list=True)
    assert facts.stated == {"constant_beyond_list": True}
    assert pickle.loads(pickle.dumps(facts)) == facts != ContinuationFacts()
    with pytest.raises(FrozenInstanceError):
        facts.vanishes = True
    assert {name for record in FACTS.values() for name in record.names()} - {"of_parts"} == {
        "constant_beyond_list", "ignores_zero_gain", "vanishes", "eventually_leaves", "gives_survival",
        "not_in_products", "last_rank", "jump_rank", "items_beyond", "linear_in_gain", "affine_beyond_list",
        "monotone_in_gain", "constant_without_gain", "credit_terms", "known_grades", "unit_effort",
    }  # fmt: skip

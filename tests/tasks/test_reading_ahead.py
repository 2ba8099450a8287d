"""Items of an iterator computed in advance, one at a time, in another thread."""

from threading import Event

import pytest

from pyterrier_cwla.tasks.parallel import ahead


def test_only_the_next_item_is_computed_while_one_is_used():
    computed, second = [], Event()

    def items():
        for number in range(5):
            computed.append(number)
            if number == 1:
                second.set()
            yield number

    found = ahead(items())
    assert next(found) == 0
    assert second.wait(timeout=60)
    for number in found:
        assert max(computed) <= number + 1
    assert computed == [0, 1, 2, 3, 4]


def test_an_error_comes_after_the_items_before_it():
    def items():
        yield 1
        raise ValueError("broken")

    found = ahead(items())
    assert next(found) == 1
    with pytest.raises(ValueError, match="broken"):
        next(found)


def test_items_are_closed_if_iteration_stops_early():
    closed = Event()

    def items():
        try:
            yield from range(10)
        finally:
            closed.set()

    found = ahead(items())
    next(found)
    found.close()
    assert closed.wait(timeout=60)


@pytest.mark.parametrize("items", [[None, None], []])
def test_items_may_be_none_or_missing(items):
    assert list(ahead(item for item in items)) == items

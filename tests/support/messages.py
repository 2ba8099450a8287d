"""Errors of the package: their class, and the words of their messages that matter."""

import pytest

from pyterrier_cwla.errors import CannotScore, CWLAError


def refused(call, *expected):
    """Return the message of an error of the package that a call raises, which has these words and is of these classes."""
    with pytest.raises((CWLAError, CannotScore)) as caught:
        call()
    message = str(caught.value)
    for one in expected:
        assert one in message if isinstance(one, str) else isinstance(caught.value, one), (one, message)
    return message


def complaint(error, call, *inputs, **more):
    """Return the message of an error of this class that a call with these arguments raises."""
    return refused(lambda: call(*inputs, **more), error)

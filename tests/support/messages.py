"""Errors and warnings of the package: their class, and the words of their messages that matter."""

import warnings

import pytest

from pyterrier_cwla.errors import CannotScore, CWLAError, CWLAWarning


def refused(call, *expected):
    """Return the message of an error of the package that a call raises, which has these words and is of these classes."""
    with pytest.raises((CWLAError, CannotScore)) as caught:
        pytest.fail(f"not refused: {getattr(call, '__defaults__', None)}: {call()!r}")
    message = str(caught.value)
    for one in expected:
        assert one in message if isinstance(one, str) else isinstance(caught.value, one), (one, message)
    return message


def complaint(error, call, *inputs, **more):
    """Return the message of an error of this class that a call with these arguments raises."""
    return refused(lambda: call(*inputs, **more), error)


def told(call, file):
    """Return the messages of the package's warnings, all of which must point at a line of `file`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    ours = [one for one in caught if issubclass(one.category, CWLAWarning)]
    assert all(one.filename == file for one in ours), [one.filename for one in ours]
    return [str(one.message) for one in ours]

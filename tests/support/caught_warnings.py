"""Warnings of the package that a call issues."""

import warnings

from pyterrier_cwla import CWLAWarning


def told(call, file):
    """Return the messages of the package's warnings, all of which must point at a line of `file`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    ours = [one for one in caught if issubclass(one.category, CWLAWarning)]
    assert all(one.filename == file for one in ours), [one.filename for one in ours]
    return [str(one.message) for one in ours]

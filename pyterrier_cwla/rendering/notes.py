"""Notes, warnings and progress on stderr."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import CWLAWarning
from ..errors.sanitise import harmless


def note(message: str) -> None:
    """Print a line on stderr."""
    print(harmless(message), file=sys.stderr)


def sentence(text: str) -> str:
    """Return the text with a capital letter and a full stop."""
    return text[:1].upper() + text[1:] + "." * (text[-1:] not in ".?")


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Show a message on stderr while the block runs, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


@contextmanager
def resumable_from(folder: Path | None) -> Iterator[None]:
    """Print where finished work is stored if the user interrupts the block."""
    try:
        yield
    except KeyboardInterrupt:
        if folder is not None:
            note(f"\nInterrupted. Finished work is stored in {folder}: the same command resumes from there.")
        raise


@contextmanager
def warnings_as_sentences() -> Iterator[list[str]]:
    """Collect the warnings of this package as sentences, to be shown with the results.

    Yields
    ------
    list of str
        Filled when the block ends. Other warnings are issued again.
    """
    sentences: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CWLAWarning)
        yield sentences
    for one in caught:
        if issubclass(one.category, CWLAWarning):
            if (text := sentence(str(one.message))) not in sentences:
                sentences.append(text)
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)

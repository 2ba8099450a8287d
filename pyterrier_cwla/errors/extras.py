"""Errors about optional packages, with the command that installs them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from . import CWLAError

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_NAME = "pyterrier-cwla"


@contextmanager
def needed(what: str, extra: str) -> Iterator[None]:
    """Raise an error with the command that installs an extra, if the block raises ImportError.

    The command lists the packages of the extra that are missing, by the requirements of the installed package. It
    works wherever the package came from: an index, a wheel or a clone.

    Parameters
    ----------
    what : str
        Beginning of the message: what needs which package.
    extra : str
        Name of the extra.

    Raises
    ------
    CWLAError
        If the block raises ImportError. The message contains the text of that error if all packages of the extra are
        installed.

    Examples
    --------
    >>> with needed("figures need matplotlib", extra="plots"):
    ...     from matplotlib import pyplot
    """
    try:
        yield
    except ImportError as error:
        raise CWLAError(_message(what, extra, error)) from error


def _message(what: str, extra: str, error: ImportError) -> str:
    from importlib.util import find_spec
    from shutil import which

    packages = list(_requirements(extra))
    if not packages:  # a folder on sys.path, not an installed package
        return f'{what}. Install the extra "{extra}" of {_NAME}: python -m pip install ".[{extra}]" in its clone.'
    missing = [one for one in packages if not _installed(one)]
    # Double quotes are quotes in the shells of all systems.
    names = " ".join(f'"{one}"' for one in missing or packages)
    pip = "uv pip" if find_spec("pip") is None and which("uv") else "python -m pip"
    return f'{what}{"" if missing else f" ({error})"}. Install the extra "{extra}": {pip} install {names}'


def _requirements(extra: str) -> Iterator[Requirement]:
    """Yield the requirements of an extra, with those of the extras that it includes, without their markers."""
    from importlib.metadata import PackageNotFoundError, requires

    from packaging.requirements import Requirement

    try:
        lines = requires(_NAME) or []
    except PackageNotFoundError:
        return
    for one in map(Requirement, lines):
        if one.marker is None or one.marker.evaluate({"extra": ""}) or not one.marker.evaluate({"extra": extra}):
            continue
        if one.name == _NAME:
            for included in sorted(one.extras):
                yield from _requirements(included)
        else:
            one.marker = None
            yield one


def _installed(requirement: Requirement) -> bool:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return requirement.specifier.contains(version(requirement.name), prereleases=True)
    except PackageNotFoundError:
        return False

"""Values of measures' parameters that are given by name, by the path of a file, or as content."""

from __future__ import annotations

import hashlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self, cast

from ..errors import BadParameter, MalformedFile
from ..files.memory_limit import open_file

_FILES = ContextVar("files", default=True)


@contextmanager
def without_files() -> Iterator[None]:
    """Forbid files in parameters of measures within a context, for measures from untrusted sources.

    Within the context, ``lengths=``, ``duplicates=``, ``calibration=``, ``parameters=`` of ByTopic and ``abstention=``
    of UDCG accept only names of registered tables. A path raises BadParameter, and no file is looked up. Registered
    tables and the default table of lengths are read, also from their files. The context applies to the thread or
    asyncio task that enters it, and to tasks that it starts.

    **Threads that are started within the context read files again.** Enter the context in each thread, or run each
    thread in a copy of the context: ``pool.submit(contextvars.copy_context().run, evaluate, qrels, runs, measures)``.

    Examples
    --------
    >>> from pyterrier_cwla import TBG
    >>> with without_files():
    ...     TBG(lengths="/etc/passwd")
    Traceback (most recent call last):
    ...
    pyterrier_cwla.errors.BadParameter: lengths='/etc/passwd' names no registered table, and files are not read here.
    """
    token = _FILES.set(False)
    try:
        yield
    finally:
        _FILES.reset(token)


class Resource(ABC):
    """Content for a parameter of measures, with the name that stands for it in their texts.

    A resource with a path and without `digest` follows its file: each use reads the present content. ``current`` is a
    resource with the hash of the present content as `digest`; it is read at its first use and does not change.

    Parameters
    ----------
    name : str
        Name that measures use.
    content : object, optional
        Content of the resource.
    path : str, optional
        File of the resource, instead of content.
    digest : str, optional
        Hash of the file.
    """

    _parameter: ClassVar[str]
    """Name of the parameter of measures, such as "lengths"."""
    _has_files: ClassVar[bool] = True
    """Whether the parameter accepts the path of a file."""
    _read_at_once: ClassVar[bool] = False
    """Whether a file is read when a measure is made, and not at the first use."""
    _named: ClassVar[dict[str, Any]]
    """Registered resources, and those that were made from content, by name."""

    def __init_subclass__(cls) -> None:
        cls._named = {}

    def __init__(self, name: str, content: Any = None, path: str | None = None, digest: str | None = None) -> None:
        self.name, self.path, self.digest, self._given = name, path, digest, content

    @classmethod
    def bind(cls, value: Any) -> Self:
        """Return the resource for a parameter of a measure.

        Parameters
        ----------
        value : str, path, Resource or object
            Name of a registered resource, path of a file, resource, or content, which is named after its hash.

        Raises
        ------
        BadParameter
            If a text is neither a name nor a path, or the content cannot be used.
        """
        value = cls._held(value)
        if isinstance(value, cls):
            if value.path is None:
                cls._named.setdefault(value.name, value)
            return value
        if not isinstance(value, str | Path):
            made = cls._from_content(value)
            return cast(Self, cls._named.setdefault(made.name, made))
        name = str(value)
        if name in cls._named:
            return cast(Self, cls._named[name])
        if cls._has_files and not _FILES.get():
            raise BadParameter(f"{cls._parameter}={name!r} names no registered table, and files are not read here.")
        if cls._has_files and os.path.isfile(name):
            found = cls(name, path=name)
            if cls._read_at_once:
                found.loaded  # noqa: B018  (raises)
            return found
        raise BadParameter(cls._unknown(name, [one for one, known in cls._named.items() if not known.anonymous]))

    @classmethod
    def _held(cls, value: Any) -> Any:
        """Return the resource that an object has as an attribute, as artifacts do; otherwise the object itself."""
        held = getattr(value, cls._parameter, None)
        return held if isinstance(held, cls) else value

    @property
    def current(self) -> Self:
        """Resource with the present content of the file, or the resource itself if it does not follow a file.

        The file is hashed each time, since a changed file may have the same size and modification time.
        """
        if not self.follows_a_file:
            return self
        path = str(self.path)
        return cast(Self, _with_digest(type(self), self.name, path, hash_of_file(path, self._parameter)))

    @property
    def anonymous(self) -> bool:
        """Whether the name is a path or made from a hash of the content, so that tables of scores do not show it."""
        return self.name == self.path or not self.name.isidentifier() or is_by_content(self.name)

    @property
    def follows_a_file(self) -> bool:
        """Whether each use of the resource reads the present content of its file."""
        return self.path is not None and self.digest is None

    @property
    def loaded(self) -> Any:
        """Present content."""
        return self.current._loaded

    @cached_property
    def _loaded(self) -> Any:
        return self._given if self.path is None else self._unchanged(self._read(self.path))

    def _unchanged(self, found: Any) -> Any:
        """Return what was read from the file; raise MalformedFile if its hash is no longer `digest`."""
        if hash_of_file(str(self.path), self._parameter) != self.digest:
            raise MalformedFile(
                f"{self.path}: the file of {self._parameter}= was changed during the evaluation: start it again."
            )
        return found

    @classmethod
    @abstractmethod
    def _from_content(cls, content: Any) -> Self:
        """Return a resource that is named after the hash of its content."""

    @classmethod
    def _read(cls, path: str) -> Any:
        """Return the content of a file."""
        raise NotImplementedError

    @classmethod
    @abstractmethod
    def _unknown(cls, name: str, registered: list[str]) -> str:
        """Return the message about a text that is neither a name nor a path."""


@lru_cache(maxsize=8)
def _with_digest(kind: type[Resource], name: str, path: str, digest: str) -> Resource:
    """Return one resource for all measures with the same file, until the file changes."""
    return kind(name, path=path, digest=digest)


def hash_of_file(path: str, parameter: str) -> str:
    """Return the SHA-256 hash of a file; raise MalformedFile if it cannot be read, or is a pipe or a device."""
    try:
        with open_file(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise MalformedFile(f"{path}: {error.strerror} (the file of {parameter}=).") from error


def is_by_content(name: str) -> bool:
    """Return whether the name of a resource is made from a hash of its content."""
    return re.fullmatch("[a-z]+_[0-9a-f]{16}|calibration_[0-9a-f]{12}", name) is not None

"""Tables of what is known of documents: the forms they come in, the names measures know them by, and their files."""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._version import __version__
from ..errors import BadParameter, MalformedFile, near, some
from ..files.atomic import written
from ..files.same_columns import the_only
from ..tasks.hashing import of_table
from .columns import columns_of_table, strings

IDS = ("doc_id", "docno", "id")
_KEY = b"pyterrier_cwla"


_FILES = ContextVar("files", default=True)


@contextmanager
def without_files() -> Iterator[None]:
    """Within it, measures name registered tables alone, and no files: for measures that strangers have written.

    Nothing is looked for on the disk then; a path in ``lengths=``, ``duplicates=`` or ``calibration=`` raises
    BadParameter. It holds for the thread, or the asyncio task, that enters it, and for tasks begun within it.

    **A thread begun within it reads files again**: enter it there, too, or let the thread run in a copy of the context,
    one copy a thread: ``pool.submit(contextvars.copy_context().run, evaluate, qrels, runs, measures)``.

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


def file_is_there(name: str, parameter: str) -> bool:
    """Whether a measure's parameter is the path of a regular file; BadParameter where none may be."""
    if not _FILES.get():
        raise BadParameter(f"{parameter} names no registered table, and files are not read here.")
    return os.path.isfile(name)


def hash_of_file(path: str, parameter: str) -> str:
    """The SHA-256 of a file's bytes. MalformedFile where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise MalformedFile(f"{path}: {error.strerror} (the file of {parameter}=).") from error


def read_unchanged(path: str, digest: str, parameter: str, read: Callable[[str], Any]) -> Any:
    """What a file holds that had this hash a moment ago; MalformedFile where it was changed since."""
    found = read(path)
    if hash_of_file(path, parameter) != digest:
        raise MalformedFile(f"{path}: the file of {parameter}= was changed during the evaluation: start it again.")
    return found


class _Named(Protocol):
    @property
    def name(self) -> str: ...


Bound = TypeVar("Bound", bound=_Named)


def bind(
    value: Any,
    named: dict[str, Bound],
    make: Callable[[Any], Bound],
    unknown: Callable[[str], str],
    from_file: Callable[[str], Bound] | None = None,
    parameter: str = "",
) -> Bound:
    """What a measure's parameter means by a name, a path, or content, which is then named by what it says.

    Parameters
    ----------
    value : object
        The value of the parameter.
    named : dict
        What is known by name; ``value`` is added to it if it is content.
    make : callable
        Makes an object from content.
    unknown : callable
        From a text that is neither a name nor a path to the message of the error.
    from_file : callable, optional
        Makes an object from the path of a file. Without it, paths are not looked for.
    parameter : str
        The name of the parameter, for errors.

    Raises
    ------
    BadParameter
        If a text is neither a name nor a path.
    """
    if not isinstance(value, str | Path):
        made = make(value)
        return named.setdefault(made.name, made)
    name = str(value)
    if name in named:
        return named[name]
    if from_file is not None and file_is_there(name, f"{parameter}={name!r}"):
        return from_file(name)
    raise BadParameter(unknown(name))


class DocumentTable(ABC):
    """Something known of documents, under the name that measures know it by.

    A table with a path and no ``digest`` means the file as it is at each use. ``current`` is one reading of it, which
    has the file's hash as ``digest``, is read when it is first asked for, and stays as it is.
    """

    what: ClassVar[str]
    """As in ``lengths=``."""
    values: ClassVar[tuple[str, ...]]
    """The names that the column beside the document ids may have, ours first."""
    meanings: ClassVar[tuple[tuple[str, ...], ...]]
    """The same names, those together that mean the same."""
    reserved: ClassVar[str] = ""
    """A name that no table can have."""
    _named: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        cls._named = {}
        cls.values = tuple(name for names in cls.meanings for name in names)

    def __init__(
        self,
        name: str,
        columns: Any = None,
        path: str | None = None,
        about: dict[str, Any] | None = None,
        digest: str | None = None,
    ) -> None:
        self.name, self.path, self.digest = name, path, digest
        self._given, self._about = columns, about or {}

    @classmethod
    def of(cls, table: Any, name: str | None = None, about: dict[str, Any] | None = None) -> Self:
        """A table from any of its forms, named by its content where no name is given."""
        if isinstance(table, str | Path):
            return cls(name or str(table), path=str(table))
        if isinstance(table, cls):
            return cls(name or table.name, table._columns, about=table.about)
        ids, values, column = cls._pairs(table)
        doc_id = strings(ids, "doc_id", cls.what, BadParameter)
        if pc.count_distinct(doc_id).as_py() < len(doc_id):
            seen = pc.value_counts(doc_id)
            double = seen.field("values").filter(pc.greater(seen.field("counts"), 1))[0].as_py()
            raise BadParameter(f"the {cls.what} have {double!r} twice: keep one row of each document.")
        columns = cls._checked(doc_id, values, column)
        return cls(name or cls._content_name(columns), columns, about=about)

    @classmethod
    def register(cls, name: str, table: Any) -> Self:
        """Makes the table known to measures by this name."""
        if not name.isidentifier() or name == cls.reserved:
            other = f" and other than {cls.reserved!r}" if cls.reserved else ""
            raise BadParameter(f"a table's name is a word, such as 'robust04'{other}, not {name!r}.")
        cls._named[name] = cls.of(table, name)
        return cls._named[name]

    @classmethod
    def bind(cls, table: Any) -> Self:
        """The table that a measure's parameter means: a name, a path, or a table itself, then named by its content."""
        if isinstance(table, cls):
            if table.path is None:
                cls._named.setdefault(table.name, table)
            return table

        def unknown(name: str) -> str:
            return (
                f"{cls.what}={name!r} is neither a file nor the name of a table. "
                f"{near(name, cls._named) if cls._named else ''} register_{cls.what}(name, table) names one."
            )

        return bind(table, cls._named, cls.of, unknown, lambda path: cls(path, path=path), cls.what)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a saved table, or any other file that measures take, once; errors show at once. Its name is its path.

        The table stays as it was read. A path as ``lengths=`` or ``duplicates=`` means the file as it is at each call.
        """
        if not os.path.isfile(path):
            raise BadParameter(f"{path}: there is no such file.")
        table = cls.bind(Path(path)).current
        len(table)
        return table

    @property
    def current(self) -> Self:
        """The table as its file is now; itself where it has no file, or is a reading of one.

        The file's bytes are hashed each time, since a file may be rewritten with the same size and time.
        """
        if not self.follows_a_file:
            return self
        return _reading(type(self), self.name, str(self.path), hash_of_file(str(self.path), self.what))

    @property
    def follows_a_file(self) -> bool:
        return self.path is not None and self.digest is None

    def save(self, path: str | Path) -> None:
        """Writes one Parquet file, which says in its metadata how the table was made (``about``)."""
        import pyarrow.parquet

        rows = self._rows()
        metadata = {_KEY: json.dumps(self.about | {"table": self.what, "version": __version__})}
        with written(path) as place:
            pyarrow.parquet.write_table(rows.replace_schema_metadata(metadata), place, write_page_checksum=True)

    @property
    def about(self) -> dict[str, Any]:
        """How the table was made: tokeniser, number of documents, and more; empty for a table as it was given."""
        return self.current._read_about

    @property
    def content(self) -> str:
        """A hash of what it says of each document, in its order."""
        return self.current._hash

    @property
    def _columns(self) -> Any:
        return self.current._read_columns

    @cached_property
    def _read_about(self) -> dict[str, Any]:
        return self._about if self.path is None else self._unchanged(_about_file)

    @cached_property
    def _read_columns(self) -> Any:
        return self._given if self.path is None else self._unchanged(self._read)

    @cached_property
    def _hash(self) -> str:
        return of_table(self._rows())

    def _unchanged(self, read: Callable[[str], Any]) -> Any:
        return read_unchanged(str(self.path), str(self.digest), self.what, read)

    def __sizeof__(self) -> int:
        """With its columns, as far as they are read: what is large goes to a cluster's workers once."""
        columns = vars(self).get("_read_columns", self._given) or ()
        return super().__sizeof__() + sum(getattr(column, "nbytes", 0) for column in columns)

    def __repr__(self) -> str:
        return f"<{self.what} {self.name!r}>"

    @classmethod
    def _pairs(cls, table: Any) -> tuple[Any, Any, str]:
        """Document ids, their values, and the name of the values' column."""
        if isinstance(table, Mapping):
            return list(table), list(table.values()), cls.values[0]
        if hasattr(table, "columns") or isinstance(table, pa.Table):
            columns = columns_of_table(table)
            ids, *values = (
                [one for name in wanted for one in columns if one[0] == name] for wanted in (IDS, *cls.meanings)
            )
            given = next(filter(None, values), None)
            if not ids or given is None:
                names = [name for name, _ in columns]
                raise BadParameter(
                    f"a table of {cls.what} has columns doc_id and {cls.values[0]}; this one has {some(names, 8)}."
                )

            def refuse(sentence: str, row: int) -> BadParameter:
                return BadParameter(f"the table of {cls.what} {sentence} in row {row}. Keep one of the two.")

            def refuse_values(sentence: str, row: int) -> BadParameter:
                document = strings(doc_id, "doc_id", cls.what, BadParameter)[row].as_py()
                return refuse(f"{sentence} for document {document!r}", row)

            doc_id = the_only(ids, refuse)
            return doc_id, the_only(given, refuse_values), given[0][0]
        if hasattr(table, "index") and hasattr(table, "dtype"):
            return table.index, table, cls.values[0]
        raise BadParameter(
            f"{cls.what}= takes a name, a path, a dict, a Series or a DataFrame, not {type(table).__name__}."
        )

    @classmethod
    def _content_name(cls, columns: Any) -> str:
        """A name that depends on the content alone, not on its order."""
        from pandas.util import hash_array

        prefix, ids, values = cls._content(columns)
        keys = hash_array(np.asarray(ids.to_pylist(), object))
        return f"{prefix}_{np.add.reduce(hash_array(keys ^ values), dtype=np.uint64):016x}"

    @abstractmethod
    def __len__(self) -> int: ...

    @classmethod
    @abstractmethod
    def _checked(cls, doc_id: Any, values: Any, column: str) -> Any:
        """What is kept, from the ids as Arrow strings and the values as they were given under this column's name."""

    @classmethod
    @abstractmethod
    def _content(cls, columns: Any) -> tuple[str, Any, np.ndarray]:
        """How names by content begin, the document ids, and 64 bits of each one's value."""

    @staticmethod
    @abstractmethod
    def _read(path: str) -> Any: ...

    @abstractmethod
    def _rows(self) -> pa.Table: ...


@lru_cache(maxsize=8)
def _reading(kind: type[DocumentTable], name: str, path: str, digest: str) -> Any:
    """One reading for all measures that name the same file, until its content changes."""
    return kind(name, path=path, digest=digest)


def _about_file(path: str) -> dict[str, Any]:
    import pyarrow.parquet

    try:
        metadata = pyarrow.parquet.read_schema(path).metadata or {}
    except pa.ArrowInvalid:  # a file of text
        return {}
    try:
        about = json.loads(metadata.get(_KEY, b"{}"))
    except (ValueError, RecursionError):
        about = None
    if not isinstance(about, dict):
        raise MalformedFile(f"{path}: what its metadata say of how it was made is no JSON object.")
    return about

"""Tables of document properties: forms, names, files and display, and the texts that they are made of."""

from __future__ import annotations

import json
import os
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from functools import cached_property, partial
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._version import __version__
from ..errors import BadParameter, MalformedFile, many, near, shown, some
from ..files import id_columns
from ..files.arrow_arrays import Named, of_booleans, the_only
from ..files.atomic import written
from ..files.id_columns import Ids
from ..files.table_readers import IDS, TableKind
from ..rendering.figures import GAIN, notebook_picture, small_axes
from ..tasks.hashing import of_table
from ..tasks.progress import bar
from .columns import Array, Floats, columns_of_table, strings
from .resources import Resource

_KEY = b"pyterrier_cwla"


class DocumentTable(Resource):
    """Table of a property of documents, with the name that measures use.

    Parameters
    ----------
    name : str
        Name of the table.
    columns : tuple, optional
        Columns of the table.
    path : str, optional
        File of the table, instead of columns.
    about : dict, optional
        Description of the origin of the table.
    digest : str, optional
        Hash of the file.
    """

    _column: ClassVar[str]
    """Name of the column of values in runs."""
    _kind: ClassVar[TableKind]
    """Kind of the files of these tables, with the names of their columns."""
    _forms: ClassVar[str] = "a name, a path, a dict, a Series or a DataFrame"
    """Forms of these tables."""
    _reserved: ClassVar[str] = ""
    """Name that tables cannot have."""

    def __init__(
        self,
        name: str,
        columns: tuple[Any, ...] = (),
        path: str | None = None,
        about: dict[str, Any] | None = None,
        digest: str | None = None,
    ) -> None:
        if not isinstance(name, str) or (path is None and not columns):
            of = type(self).__name__
            raise BadParameter(f"{of}({shown(name)}) has no table: write {of}.of(table), or {of}.load(path).")
        super().__init__(name, columns, path, digest)
        self._about = about or {}

    @classmethod
    def of(cls, table: Any, name: str | None = None, about: dict[str, Any] | None = None) -> Self:
        """Return a table from any of its forms.

        Parameters
        ----------
        table : path, dict, Series, DataFrame, or DocumentTable
            Values by document id.
        name : str, optional
            Name of the table; by default made from a hash of the content.
        about : dict, optional
            Description of the origin of the table.

        Raises
        ------
        BadParameter
            If the table cannot be used.
        """
        if isinstance(table, str | Path):
            return cls(name or str(table), path=str(table))
        table = cls._held(table)
        if isinstance(table, cls):
            return cls(name or table.name, table.loaded, about=table.about)
        ids, values, called, column = cls._pairs(table)
        doc_id = strings(ids, called, cls._parameter, BadParameter)
        if pc.count_distinct(doc_id).as_py() < len(doc_id):
            seen = pc.value_counts(doc_id)
            double = seen.field("values").filter(pc.greater(seen.field("counts"), 1))[0].as_py()
            raise BadParameter(f"the {cls._parameter} have {double!r} twice: keep one row of each document.")
        columns = cls._checked(doc_id, values, column)
        return cls(name or cls._content_name(columns), columns, about=about)

    @classmethod
    def register(cls, name: str, table: Any) -> Self:
        """Register a table under a name that measures can use; a file that is no table raises an error at once."""
        if not name.isidentifier() or name == cls._reserved:
            other = f" and other than {cls._reserved!r}" if cls._reserved else ""
            raise BadParameter(f"a table's name is a word, such as 'robust04'{other}, not {name!r}.")
        found = cls.of(table, name)
        len(found)
        cls._named[name] = found
        return found

    @classmethod
    def _from_content(cls, content: Any) -> Self:
        """Return a table that is named after the hash of its content."""
        return cls.of(content)

    @classmethod
    def _unknown(cls, name: str, registered: list[str]) -> str:
        near_name = near(name, registered) + " " if registered else ""
        return (
            f"{cls._parameter}={name!r} is neither a file nor the name of a table."
            f" {near_name}register_{cls._parameter}(name, table) names one."
        )

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a table from a file, once.

        The table does not change with the file. A path as ``lengths=`` or ``duplicates=``, in contrast, is read again
        at each call if the file has changed.

        Parameters
        ----------
        path : path
            Saved table, or another file in a format that measures accept. The path is the name of the table.

        Raises
        ------
        BadParameter
            If there is no such file.
        MalformedFile
            If the file does not have the expected format.
        """
        if not os.path.isfile(path):
            raise BadParameter(f"{path}: there is no such file.")
        table = cls.bind(Path(path)).current
        len(table)
        return table

    def save(self, path: str | Path) -> None:
        """Write the table to a Parquet file, with ``about`` in its metadata."""
        import pyarrow.parquet

        metadata = {_KEY: json.dumps(self.about | {"table": self._parameter, "version": __version__})}
        rows = self._rows().replace_schema_metadata(metadata)
        with written(path) as place:
            pyarrow.parquet.write_table(rows, place, write_page_checksum=True)

    @property
    def function(self) -> Callable[[str], Any] | None:
        """Function from a document id to its value that stands for a table, or None."""
        return self._given if callable(self._given) else None

    @property
    def about(self) -> dict[str, Any]:
        """Origin of the table: tokeniser, number of documents, and other settings; empty for tables of users."""
        return self.current._read_about

    @property
    def content(self) -> str:
        """Hash of the rows of the table, in order."""
        return self.current._hash

    @cached_property
    def _read_about(self) -> dict[str, Any]:
        return self._about if self.path is None else self._unchanged(_about_file(self.path))

    @cached_property
    def _hash(self) -> str:
        return of_table(self._rows())

    def __sizeof__(self) -> int:
        """Return the size with the columns that are read; Dask sends large objects to each worker once."""
        columns = vars(self).get("_loaded", self._given)
        read = columns if isinstance(columns, tuple) else ()
        return super().__sizeof__() + sum(getattr(column, "nbytes", 0) for column in read)

    def __repr__(self) -> str:
        return f"<{self._parameter} {self.name!r}>"

    @classmethod
    def _pairs(cls, table: Any) -> tuple[Any, Any, str, str]:
        """Return document ids, their values, and the names of both columns."""
        if isinstance(table, Mapping):
            return list(table), list(table.values()), IDS[0], cls._column
        if hasattr(table, "columns") or isinstance(table, pa.Table):
            columns, found = columns_of_table(table), dict[str, list[Named]]()
            for name, meaning in cls._kind.in_columns([name for name, _ in columns]).names.items():
                for one in (one for one in columns if one[0] == name):
                    found.setdefault(meaning, []).append(one)
            ids, given = found.pop("doc_id", None), next(iter(found.values()), None)
            if ids is None or given is None:
                lacking = " or ".join(name for name in cls._kind.names if (name in IDS) == (ids is None))
                names = [name for name, _ in columns]
                raise BadParameter(f"the table of {cls._parameter} has no column {lacking}; there is {some(names, 8)}.")

            def refuse(sentence: str, row: int) -> BadParameter:
                return BadParameter(f"the table of {cls._parameter} {sentence} in row {row}. Keep one of the two.")

            def refuse_values(sentence: str, row: int) -> BadParameter:
                document = strings(doc_id, ids[0][0], cls._parameter, BadParameter)[row].as_py()
                return refuse(f"{sentence} for document {document!r}", row)

            doc_id = the_only(ids, refuse)
            return doc_id, the_only(given, refuse_values), ids[0][0], given[0][0]
        if hasattr(table, "index") and hasattr(table, "dtype"):
            return table.index, table, IDS[0], cls._column
        raise BadParameter(f"{cls._parameter}= takes {cls._forms}, not {type(table).__name__}.")

    @classmethod
    def _content_name(cls, columns: tuple[Any, ...]) -> str:
        """Return a name that depends on the content but not on its order."""
        prefix, ids, values = cls._content(columns)
        keys = id_columns.mixed(id_columns.hashes(ids) ^ values)
        return f"{prefix}_{np.add.reduce(keys, dtype=np.uint64):016x}"

    @abstractmethod
    def __len__(self) -> int: ...

    @classmethod
    @abstractmethod
    def _checked(cls, doc_id: Ids, values: Any, column: str) -> tuple[Any, ...]:
        """Return the columns of the table, from ids as Arrow strings and values under the name of their column."""

    @classmethod
    @abstractmethod
    def _content(cls, columns: Any) -> tuple[str, Ids, NDArray[np.uint64]]:
        """Return the prefix of names by content, the document ids, and 64 bits per value."""

    @abstractmethod
    def _rows(self) -> pa.Table: ...


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
        raise MalformedFile(f"{path}: the metadata about the origin of the table are not a JSON object.")
    return about


_MOST = 1_000_000  # lengths whose distribution is computed
_SHARES = {"5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95}
_BARS = 40
_CLUSTERS = 5  # clusters of duplicates that are shown
_DOCUMENTS = 3  # documents of a cluster that are shown


def lengths_html(name: str, words: Floats, mean: float) -> str:
    """Return a table of lengths for a notebook: its size, quantiles of the lengths and their distribution.

    Parameters
    ----------
    name : str
        Text of the table.
    words : ndarray of float, shape (n_documents,)
        Lengths.
    mean : float
        Mean length.
    """
    head = f"<p>{escape(name)}</p>"
    if not len(words):
        return head
    step = -(-len(words) // _MOST)
    some = words[::step]
    quantiles = dict(zip(_SHARES, np.quantile(some, list(_SHARES.values()), method="inverted_cdf")))
    levels = {"shortest": words.min(), **quantiles, "longest": words.max()}
    note = f"<p><small>Quantiles and picture are those of one document in {step:,}.</small></p>" if step > 1 else ""
    table = _table([{share: f"{level:,.0f}" for share, level in levels.items()}])
    said = f"Lengths of {many(len(words), 'document')} in words: median {levels['median']:,.0f}, mean {mean:,.0f}."
    return head + table + _histogram(some, mean, said) + note


def _histogram(words: Floats, mean: float, said: str) -> str:
    """Return a histogram of lengths up to their 99 % quantile; the last bar contains the longer documents."""
    top = float(np.quantile(words, 0.99, method="higher"))
    step = max(1, -(-top // _BARS))  # whole words, so that each bar has equally many lengths
    edges = step * np.arange(top // step + 2)
    shares = np.histogram(np.minimum(words, edges[-2]), edges)[0] / len(words)

    def draw(ax: Any) -> None:
        ax.bar(edges[:-1], shares, width=0.9 * np.diff(edges), align="edge", color=GAIN)
        small_axes(ax, "words (the last bar has all longer documents)", "share of documents")

    return notebook_picture(draw, (4.2, 1.7), said)


def duplicates_html(name: str, doc_id: Ids, cluster: Array, original: Ids) -> str:
    """Return a table of duplicates for a notebook: its size and its largest clusters.

    Parameters
    ----------
    name : str
        Text of the table.
    doc_id : array of str, shape (n_documents,)
        Document ids, as an Arrow array.
    cluster : ndarray of int, shape (n_documents,)
        Index of the cluster of each document.
    original : array of str, shape (n_clusters,)
        Document ids of the originals, as an Arrow array.
    """
    number = len(original)
    head = f"<p>{escape(name)}: {many(len(doc_id) - number, 'duplicate')} of {many(number, 'document')}</p>"
    if not number:
        return head
    sizes = np.bincount(cluster, minlength=number)
    largest = np.argsort(-sizes, kind="stable")[:_CLUSTERS]
    rows = []
    for code in largest.tolist():
        first = original[code].as_py()
        others = [one for one in doc_id.filter(of_booleans(cluster == code)).to_pylist() if one != first]
        among = ", ".join([*others[:_DOCUMENTS], *["…"] * (len(others) > _DOCUMENTS)])
        rows.append({"original": first, "duplicates": f"{len(others):,}", "among them": among})
    rest = f"<p><small>The {many(len(largest), 'largest cluster')} of {number:,}.</small></p>"
    return head + _table(rows) + (rest if number > len(largest) else "")


def _table(rows: Sequence[Mapping[str, str]]) -> str:
    """Return an HTML table of rows with texts by heading."""
    from ..rendering.tables import Table, TableColumn

    return Table(columns=[TableColumn(heading, heading) for heading in rows[0]], rows={"": rows}).html()


Split = Callable[[str], Sequence[str]]
"""Tokeniser: function from a text to its words."""


def words_of(text: str) -> list[str]:
    """Return the maximal sequences of letters, digits and underscores, in lower case."""
    return re.findall(r"\w+", text.lower())


TOKENISERS: dict[str, Split] = {"whitespace": str.split, "words": words_of}
"""Tokenisers by name; "whitespace" splits at blanks and changes nothing else."""


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a function, or of the class of another callable object."""
    return getattr(function, "__qualname__", type(function).__name__)


def tokeniser_named(tokeniser: str | Split) -> tuple[str, Split]:
    """Return the name of a tokeniser, for saved tables, and the function."""
    if callable(tokeniser):
        return name_of(tokeniser), partial(_tokens, tokeniser)
    if tokeniser not in TOKENISERS:
        raise BadParameter(f"no tokeniser {tokeniser!r}. {near(str(tokeniser), TOKENISERS)} Or give a function.")
    return tokeniser, TOKENISERS[tokeniser]


def _tokens(tokeniser: Split, text: str) -> Sequence[str]:
    """Return the tokens of a text from a user's function; raise BadParameter if they are not a list."""
    found = tokeniser(text)
    if isinstance(found, str | bytes | Mapping) or not hasattr(found, "__len__") or getattr(found, "ndim", 1) != 1:
        way = 'lambda text: tokeniser(text)["input_ids"]' if isinstance(found, Mapping) else "str.split, for example"
        raise BadParameter(
            f"tokeniser={name_of(tokeniser)} returns {type(found).__name__}, not the list of the tokens of a text."
            f" Give a function that returns the list: {way}."
        )
    return found


def documents(
    texts: Any, fields: Sequence[str] | None = None, progress: bool = True, label: str = "reading"
) -> Iterator[tuple[str, str]]:
    """Yield document ids and texts, with a progress bar after one second.

    Parameters
    ----------
    texts : dict, Series, DataFrame, dataset, or iterable
        Texts by document id; a frame with the columns doc_id (or docno) and text; an object with ``docs_iter()``, such
        as a dataset of ir_datasets; or an iterable of named tuples or dicts.
    fields : sequence of str, optional
        Columns or fields whose values, joined by blanks, are the text. The default is ``text``, or ``default_text()``
        of ir_datasets.
    progress : bool, default=True
        Whether to show a progress bar.
    label : str, default="reading"
        Text of the progress bar.

    Yields
    ------
    tuple of str
        Document id and text.

    Raises
    ------
    BadParameter
        If the texts cannot be read, or if an id or text is not a string.
    """
    total = texts.docs_count() if hasattr(texts, "docs_count") else len(texts) if isinstance(texts, Sized) else None
    if isinstance(texts, Mapping) or (hasattr(texts, "index") and hasattr(texts, "dtype")):
        texts = texts.items()
    elif hasattr(texts, "docs_iter"):
        texts = _of_records(texts.docs_iter(), fields)
    elif hasattr(texts, "columns") or isinstance(texts, pa.Table):
        texts = _of_frame(texts, fields or ("text",))
    elif isinstance(texts, Iterable) and not isinstance(texts, str | bytes):
        texts = _of_records(texts, fields)
    else:
        raise BadParameter(
            f"texts are a dict, a Series, a DataFrame, a dataset or an iterable of documents, not"
            f" {type(texts).__name__}."
        )
    for doc_id, text in bar(texts, progress, label, total):
        if not isinstance(doc_id, str):
            raise BadParameter(f"the document id {doc_id!r} must be a string, as ids are: {str(doc_id)!r}.")
        if not isinstance(text, str):
            raise BadParameter(f"the text of {doc_id!r} is a {type(text).__name__}, not a str.")
        yield doc_id, text


def _of_frame(frame: Any, fields: Sequence[str]) -> list[tuple[str, str]]:
    """Return ids and texts; documents in several rankings occur once."""
    names = list(frame.column_names if isinstance(frame, pa.Table) else frame.columns)
    ids = next((name for name in IDS if name in names), None)
    missing = [field for field in fields if field not in names]
    if ids is None or missing:
        raise BadParameter(f"texts have columns doc_id and {', '.join(fields)}; these have {some(names, 8)}.")
    parts = zip(*(_column(frame[field], field) for field in fields), strict=True)
    return list(dict.fromkeys(zip(_column(frame[ids], "doc_id"), map(" ".join, parts), strict=True)))


def _column(column: Any, name: str) -> list[str]:
    texts: list[str] = strings(column, name, "texts", BadParameter).to_pylist()
    return texts


def _of_records(records: Iterable[Any], fields: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    for record in records:
        if not (isinstance(record, Mapping) or hasattr(record, "_asdict")):
            raise BadParameter(f"documents are named tuples or dicts with doc_id and text, not {record!r:.80}.")
        values = record if isinstance(record, Mapping) else record._asdict()
        try:
            doc_id = next(values[name] for name in IDS if name in values)
            if fields is None and hasattr(record, "default_text"):
                yield doc_id, record.default_text()
            else:
                yield doc_id, " ".join(values[field] for field in fields or ("text",))
        except (StopIteration, KeyError) as error:
            raise BadParameter(
                f"a document has no {error.args[0] if error.args else 'doc_id'!r}; there is {some(values, 8)}."
                " Name the fields of the text in fields=."
            ) from None

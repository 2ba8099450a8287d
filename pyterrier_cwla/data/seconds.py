"""Tables of known costs of documents in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import MissingSeconds
from ..files.arrow_arrays import to_numpy
from ..files.id_columns import Ids
from .arrays import Floats
from .columns import strings
from .number_tables import NumberTable
from .quantities import COST


class Seconds(NumberTable):
    """Costs of documents in seconds by document id, for ``doc_seconds=`` of measures.

    Examples
    --------
    >>> from pyterrier_cwla.data import Seconds
    >>> Seconds.of({"d1": 10, "d2": 35}).mean
    22.5
    """

    quantity, what, meanings = COST, "doc_seconds", (("doc_seconds", "seconds"),)

    @staticmethod
    def _read(path: str) -> tuple[Ids, Floats]:
        from ..files.formats import read_seconds

        table = read_seconds(path)
        return strings(table["doc_id"], "doc_id", "costs", MissingSeconds), to_numpy(table["doc_seconds"])


def register_doc_seconds(name: str, table: Any) -> Seconds:
    """Register a table of known costs under a name, for ``doc_seconds=`` of measures.

    A measure whose effort reads seconds takes them from its own table (``doc_seconds=``), else from the column
    ``doc_seconds`` of the run. All costs of a run have one source.

    Parameters
    ----------
    name : str
        Name that measures use, an identifier.
    table : path, dict, Series, DataFrame, or Seconds
        Path of a CSV, TSV or Parquet file with docno and seconds; seconds by document id; a Series indexed by document
        id; or a frame with the columns doc_id (or docno) and doc_seconds (or seconds).

    Returns
    -------
    Seconds
        Registered table.

    Raises
    ------
    BadParameter
        If the name or the table cannot be used.
    MalformedFile
        If the file is not a table of seconds. Nothing is registered then.

    Examples
    --------
    >>> from pyterrier_cwla import CWLA, evaluate
    >>> from pyterrier_cwla.data import register_doc_seconds
    >>> register_doc_seconds("videos", {"d1": 30, "d2": 90})
    <costs 'videos': 2 documents, mean 60.0 seconds>
    >>> measure = CWLA(C="decay(60)", A="etg", gain="raw", effort="seconds", unseen=60, doc_seconds="videos")
    >>> evaluate({"q": {"d2": 1}}, {"q": {"d1": 2.0, "d2": 1.0}}, [measure]).iloc[0, 0].round(4)
    np.float64(0.7071)
    """
    if isinstance(table, str | Path):
        len(Seconds.of(table))  # raises if the file is not a table
    return Seconds.register(name, table)

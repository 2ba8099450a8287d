"""Probabilities that the reader of retrieved passages abstains, by query and document."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import BadJudgments, BadParameter, many, shown, some
from ..files.arrow_arrays import of_booleans, of_numbers, one_chunk, to_numpy
from ..files.formats import read_table
from ..files.id_columns import PairKeys, numbers, places, written
from ..files.table_readers import ABSTENTION
from ..tasks.hashing import of_table
from .columns import Array, Floats, columns_of_pairs
from .rankings import remembered
from .resources import Resource
from .rows import Rows


class Abstention(Resource):
    """Probabilities of abstention, under the name that they have in the text of a measure.

    Each is the probability that the reader, such as a language model, declines to answer a question given one passage
    alone. Content is an Arrow table with the columns query_id, doc_id and p_abstain, in the order of the ids.
    """

    _parameter, _column = "abstention", "p_abstain"
    _noun, _nouns, _error = "probability", "probabilities of abstention", BadJudgments
    _replaced = "are left out of the sum of UDCG"

    def __repr__(self) -> str:
        return f"<probabilities of abstention {self.name!r}: {many(len(self), 'passage')}>"

    def __len__(self) -> int:
        return len(self.loaded)

    @property
    def content(self) -> str:
        """Hash of the probabilities."""
        return of_table(self.loaded)

    @classmethod
    def _from_content(cls, content: Any) -> Abstention:
        """Return probabilities that are named after the hash of their content."""
        given = columns_of_pairs(content, "probabilities of abstention", "p_abstain", BadParameter)
        table = _checked(given.query_id, given.doc_id, given.value)
        return cls(f"abstention_{of_table(table)[:16]}", table)

    @classmethod
    def _read(cls, path: str) -> pa.Table:
        return _checked(*read_table(path, ABSTENTION).select(["query_id", "doc_id", "p_abstain"]).columns)

    @classmethod
    def _unknown(cls, name: str, registered: list[str]) -> str:
        return (
            f"abstention={name!r} is not a file. Give {{query: {{document: p}}}}, a table with the columns"
            " query_id, doc_id and p_abstain, or its path."
        )

    @property
    def example(self) -> str:
        """Continuation of a sentence with the first passages that have a probability."""
        row = self.loaded.slice(0, 1).to_pylist()[0]
        return f"; it has {shown(row['doc_id'])} of query {shown(row['query_id'])}"

    def refuse_other_topics(self, qids: list[str]) -> None:
        """Raise BadJudgments if no judged topic has a probability."""
        known = self.loaded["query_id"]
        if qids and not np.any(places(pa.array(qids, pa.large_string()), known) >= 0):
            raise BadJudgments(
                f"no judged topic ({some(qids)}) has a probability of abstention; abstention= has those of"
                f" {some(known.unique().to_pylist())}. Are the ids of topics written alike?"
            )

    def in_rank_order(self, rows: Rows) -> Floats:
        """Return the probability of each row, grouped by query in rank order; NaN for passages without one."""
        key = ("abstention", self.current)
        return remembered(rows.in_order, key, lambda: rows.in_rank_order(self._of_rows(rows)))

    def _of_rows(self, rows: Rows) -> Floats:
        table = self.loaded
        queries, documents = (table[name].unique() for name in ("query_id", "doc_id"))
        known = _codes(places(table["query_id"], queries), places(table["doc_id"], documents), len(documents))
        query = np.repeat(places(pa.array(rows.names, pa.large_string()), queries), rows.sizes)
        wanted = _codes(query, places(rows.columns.doc_id, documents), len(documents))
        place = places(of_numbers(wanted), of_numbers(known))
        return np.append(to_numpy(table["p_abstain"]), np.nan).take(place)


def _codes(query: Array, document: Array, documents: int) -> Array:
    """Return a number per pair; −1 for pairs of which the query or the document is not in the table."""
    return np.where((query < 0) | (document < 0), -1, query * documents + document)


def _checked(query_id: Any, doc_id: Any, p: Any) -> pa.Table:
    """Return the table of given probabilities, ordered by ids."""
    ids = {"query_id": written(query_id), "doc_id": written(doc_id)}
    table = pa.table(ids | {"p_abstain": np.asarray(p, float)})
    known = of_booleans(~np.isnan(to_numpy(table["p_abstain"])))
    if not known.true_count:
        raise BadParameter("abstention= has no probability: there are no rows, or all are missing (NaN).")
    table = table.filter(known).sort_by([(name, "ascending") for name in ids])
    found = to_numpy(table["p_abstain"])

    def passage(row: int) -> str:
        return f"abstention=: topic {table['query_id'][row].as_py()!r}: {table['doc_id'][row].as_py()!r}"

    for row in np.flatnonzero(~((found >= 0) & (found <= 1)))[:1].tolist():
        raise BadParameter(f"{passage(row)} has the probability {found[row]:g}: probabilities are from 0 to 1.")
    twice = PairKeys(one_chunk(table["doc_id"]), numbers(table["query_id"])[0]).repeat
    if twice is not None:
        raise BadParameter(f"{passage(twice)} has two probabilities: keep one.")
    return table

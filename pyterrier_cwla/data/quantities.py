"""Numbers of documents that efforts read: lengths in words, and known costs in seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """A number of each document: where measures and runs have it, and its name in messages.

    Attributes
    ----------
    name : str
        Attribute of the documents that an effort function reads.
    parameter : str
        Parameter of measures with its table.
    column : str
        Column of runs.
    default : str
        Field of metrics with the table for runs without the column; empty if there is none.
    noun, nouns : str
        Name of the number, in the singular and the plural.
    unit : str
        Its unit.
    readers : str
        Efforts that read it, as the subject of a sentence.
    ways : str
        Ways to give it, besides a table.
    """

    name: str
    parameter: str
    column: str
    default: str
    noun: str
    nouns: str
    unit: str
    readers: str
    ways: str


LENGTH = Quantity(
    *("words", "lengths", "doc_length", "default_lengths", "length", "lengths", "words", "time as effort"),
    "or a column doc_length in the run (in PyTerrier, pt.cwla.DocLength() adds it), or set a table for all measures"
    " with register_lengths(words).",
)
COST = Quantity(
    *("seconds", "doc_seconds", "doc_seconds", "", "cost", "costs", "seconds", "an effort of known seconds"),
    "or a column doc_seconds in the run (in PyTerrier, pt.cwla.DocSeconds(table) adds it).",
)

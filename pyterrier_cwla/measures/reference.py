"""Search in the records of all measures and all functions of the language."""

from __future__ import annotations

import re
from contextlib import suppress

import ir_measures

from ..errors import CWLAError, UnknownSpec, near
from ..model.language import TABLES
from . import sessions, wrappers  # noqa: F401  (they declare measures)
from .declarations import DECLARATIONS
from .entries import KINDS, Entry, EntryParameter, made_of, norms, of_measure, of_part
from .named import measure_of

#: Other names of kinds.
_ALIASES = {"c": "continuation", "a": "aggregation", "n": "norm", "normaliser": "norm"}

PART_OF_WORD = 4
"""Number of characters of the shortest text that is searched for within words of descriptions."""

#: Words that descriptions do not have, and the names that a search for them finds.
_TOPICS = {
    "retrieval-augmented generation, RAG, LLM, prompt, context window": (
        "GainWithin", "PrecisionWithin", "RecallWithin", "GainPerCost", "UDCG", "budget",
    ),
}  # fmt: skip


def entries() -> list[Entry]:
    """Return all entries, grouped by kind."""
    kinds = ("measure", "ir_measures", "session")
    measures = [of_measure(one) for kind in kinds for one in DECLARATIONS.values() if one.kind == kind]
    return [*measures, *(of_part(part) for parts in TABLES.values() for part in parts.values()), *norms()]


def of_kind(name: str) -> list[Entry]:
    """Return the entries of a kind.

    Parameters
    ----------
    name : str
        One of :data:`KINDS` or its plural, ``C``, ``A`` or ``N``, in upper or lower case.

    Returns
    -------
    list of Entry
        Empty if there is no such kind.

    Examples
    --------
    >>> [entry.name for entry in of_kind("N")]
    ['none', 'ideal', 'all', 'mean', 'unlimited']
    """
    word = name.strip().lower()
    kinds = {_ALIASES.get(one, one) for one in (word, word.removesuffix("s"))}
    return [entry for entry in entries() if entry.kind in kinds]


def find(name: str) -> list[Entry]:
    """Return the entries with a name.

    Parameters
    ----------
    name : str
        The name, with or without parameters and cutoff; upper and lower case are the same: ``rbp``, ``rbp(0.8)``,
        ``nDCG@10``, ``MAP``, ``tbg``; names of trec_eval, such as ``ndcg_cut_10``, stand for the same measures.

    Returns
    -------
    list of Entry
        One entry, or several if things of different kinds have the same name.

    Raises
    ------
    UnknownSpec
        If no entry has this name.
    """
    word = re.split(r"[(@]", name.strip())[0]
    known_entries = entries()
    other = ir_measures.measures.registry.get(word)
    with suppress(CWLAError):
        other = other or measure_of(word)
    for known in (word, getattr(other, "NAME", word), word.lower()):
        found = [e for e in known_entries if e.name == known] or [e for e in known_entries if e.name.lower() == known]
        if found:
            return found
    if other is not None:
        raise UnknownSpec(f"{word} is a measure of ir_measures that is not computed here.")
    like_it = near(word, {e.name for e in known_entries} | {*KINDS})
    like_it = like_it if like_it.startswith("Near") else "`pyterrier-cwla measures` lists all names."
    raise UnknownSpec(f"nothing has the name {word!r}. {like_it}")


def mentioning(text: str) -> list[Entry]:
    """Return the entries with words in their name, summary or formula, or among the words of their topic.

    Hyphens and upper case make no difference. Texts of fewer characters than :data:`PART_OF_WORD` are whole words.
    """
    words = re.escape(text.lower().replace("-", " "))
    words = words if len(text) >= PART_OF_WORD else rf"\b{words}\b"
    topics = {name: topic for topic, names in _TOPICS.items() for name in names}
    described = ((e, f"{e.name} {e.says} {e.formula} {topics.get(e.name, '')}") for e in entries())
    return [e for e, says in described if re.search(words, says.lower().replace("-", " "))]


__all__ = ["KINDS", "Entry", "EntryParameter", "entries", "find", "made_of", "of_kind"]

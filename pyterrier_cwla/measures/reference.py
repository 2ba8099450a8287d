"""What there is: every measure and every function of the language as a record, for the command line and for docs."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import ir_measures
from ir_measures.measures import Measure
from ir_measures.measures.base import _NOT_PROVIDED

from ..errors import UnknownSpec, near
from ..model.language import TABLES, In, Named, Parameter, Part
from .catalogue import THEIRS, Row, SpecOf
from .counting import COUNTS
from .sessions import esNDCG, nsDCG, sDCG
from .wrappers import MEASURES

#: The kinds of things there are, and the question that each answers.
KINDS = {
    "measure": "Measures of this package",
    "ir_measures": "Measures of ir_measures that are computed here, at ir_measures' values",
    "session": "measures of sessions: what did the queries of a session find together? evaluate_sessions computes them",
    "gain": "gain r: what is a grade worth?",
    "effort": "effort e: what does it cost to examine a document?",
    "continuation": "continuation C(i): does the user go on from rank i?",
    "aggregation": "aggregation A(i): what does a user feel who leaves at rank i?",
    "discount": "discount φ(i), for utility(φ): what is a gain at rank i worth?",
    "norm": "normaliser N: divided by what?",
}
_NORMS = {
    "none": "Nothing: the score is Σ L·A.",
    "ideal": "What the best ranking of the judged documents gets.",
    "all": "The query's total gain, retrieved or not.",
    "mean": "The mean gain of the query's relevant documents, retrieved or not.",
    "unlimited": "What an unlimited supply of the best documents, of no length, gets.",
}
_KINDS_OF = {"C": "continuation", "A": "aggregation"}
_ENDS = {
    "open": "The list is infinite: users go on beyond what was retrieved, where nothing is gained.",
    "stop": "Everybody leaves at the last retrieved item.",
}

#: What a parameter means that stands in many measures, or whose function says it by its symbol.
_MEANS = {
    "gain": "what a grade is worth",
    "effort": "what a document costs",
    "norm": "what the score is divided by",
    "end": "where the list ends",
    "cutoff": "the k of @k",
    "beta": "how much gains count beside numbers of relevant documents",
    "rel": "the lowest grade that is relevant",
    "min_rel": "the highest grade that gains nothing",
    "max_rel": "the highest grade of the judgments",
    "unseen": "the effort of a document that was not retrieved, where effort cannot tell",
    "lengths": "the words of each document; without it, the run's doc_length",
    "missing": "what to do without a document's length: error, or the mean of the others",
    "judged_only": "whether documents that are unjudged or have a negative grade are taken out of the rankings first",
    "duplicates": "which documents repeat others, and so have no words to read",
    "duplicate_gain": "whether a duplicate gains what its grade does, or nothing",
    "half_life": "the effort after which half of the users have left",
    "summary_seconds": "the time that a summary takes, T_S",
    "seconds_per_word": "the time that a word takes, a",
    "seconds_per_document": "the time that a document takes beyond its words, b",
    "p_click_relevant": "P(C=1|R=1)",
    "p_click_nonrelevant": "P(C=1|R=0)",
    "p_click": "P(C=1|g), grade by grade",
    "p_save": "P(S=1|R=1), or P(S=1|g), grade by grade",
    "seconds": "the time that a document of each grade takes",
    "calibration": "a log's own values for the times, probabilities and half-life that are not given",
    "credit": "whether a gain comes when its document is reached, or evenly while it is read",
}

#: What a docstring tells apart from its first line and its formula.
_FIELDS = {
    "example": r"^(>>> .*?)(?=\n\s*\n(?!>>> )|\Z)",
    "source": r"^Source: (.*?)\.?$(?=\n\s*\n|\Z)",
    "units": r"\s*\bUnit: ([^.]+)\.",
    "range": r"\s*\bRange ([\[(].*?[\])])\.",
}


@dataclass(frozen=True)
class Given:
    """A parameter: what it may be, and its default where it has one."""

    name: str
    allowed: str
    required: bool
    default: Any = None

    @classmethod
    def of(cls, parameter: Parameter) -> Given:
        default = None if parameter.required or parameter.many else parameter.default
        allowed = "as ir_measures has it" if parameter.allowed is None else str(parameter.allowed)
        if isinstance(parameter.allowed, SpecOf | Named):
            article = "an" if parameter.allowed.kind[0] in "aeiou" else "a"
            allowed = f"{article} {parameter.allowed.kind} of the language, or your own"
        if parameter.allowed is not None and parameter.allowed == In("(-inf, inf)"):
            allowed = "a number"
        if parameter.many:
            return cls(f"*{parameter.name}", allowed.replace("a number", "numbers"), True)
        return cls(parameter.name, allowed.replace("inf", "∞"), parameter.required, default)

    @property
    def means(self) -> str:
        """What it means, where it means the same in all that have it."""
        return _MEANS.get(self.name, "")

    @property
    def written(self) -> str:
        return self.name if self.required else f"{self.name}={self.default!r}"

    @property
    def briefly(self) -> str:
        """Name, default and range in one breath: ``rel=1 in [1, ∞), whole``, ``missing='error' (or 'mean')``."""
        allowed = re.sub(r" of the language, or your own$|(, such as .*)|: .*|^a number ?|^numbers ?", "", self.allowed)
        allowed = re.sub(r"^a whole number in (.*)", r"in \1, whole", allowed)
        if isinstance(self.default, str) and allowed.startswith("'"):
            others = [choice for choice in re.split(", or |, | or ", allowed) if choice != repr(self.default)]
            allowed = f"(or {', '.join(others)})" if others else ""
        return f"{self.written} {allowed}".rstrip()


@dataclass(frozen=True)
class Entry:
    """One of the things there are."""

    kind: str
    name: str
    signature: str
    says: str
    source: str = ""
    parameters: tuple[Given, ...] = ()
    formula: str = ""
    units: str = ""
    range: str = ""
    example: str = ""
    parts: Mapping[str, str] | None = None
    """For measures: their gain, effort, C, A, normaliser and end, as the language writes them."""

    def record(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value not in ("", None)}


def entries() -> list[Entry]:
    """All there is, kind by kind."""
    return [*_measures(), *_theirs(), *_sessions(), *_language(), *_norms()]


def find(name: str) -> list[Entry]:
    """What has this name, as it is written in a measure: ``rbp``, ``rbp(0.8)``, ``nDCG@10``, ``MAP``, ``tbg``."""
    word = re.split(r"[(@]", name.strip())[0]
    all_there_is = entries()
    other = ir_measures.measures.registry.get(word)
    for known in (word, getattr(other, "NAME", word), word.lower()):
        found = [e for e in all_there_is if e.name == known] or [e for e in all_there_is if e.name.lower() == known]
        if found:
            return found
    if other is not None:
        raise UnknownSpec(f"{word} is a measure of ir_measures that is not computed here.")
    like_it = near(word, {e.name for e in all_there_is})
    like_it = like_it if like_it.startswith("Near") else "`pyterrier-cwla measures` lists all there is."
    raise UnknownSpec(f"nothing has the name {word!r}. {like_it}")


def _measures() -> Iterator[Entry]:
    for name, measure in MEASURES.items():
        row = getattr(type(measure), "ROW", None)
        yield _of_declaration("measure", measure, str(name)) if row is None else _of_row("measure", row)


def _sessions() -> Iterator[Entry]:
    for measure in (sDCG, nsDCG, esNDCG):
        yield _of_declaration("session", measure, str(measure.NAME))


def _of_row(kind: str, row: Row) -> Entry:
    parameters = tuple(Given.of(p) for p in row.parameters)
    named = {p.name: p.default for p in row.parameters if not p.required}
    return Entry(
        kind,
        row.name,
        f"{row.name}{_cutoff(parameters)}",
        row.says,
        row.source,
        parameters,
        "M = Σ L(i)·A(i) / N",
        row.units,
        row.range,
        parts={role: _chosen(row, role, named) for role in ("gain", "effort", "C", "A", "norm", "end")},
    )


def _chosen(row: Row, role: str, named: Mapping[str, Any]) -> str:
    """One of a row's choices as text, with its default where a parameter makes it."""
    choice = getattr(row, role)
    try:
        text = str(choice(named) if callable(choice) else choice)
    except KeyError:
        return "as given"
    return _by_name(role, text)


def _by_name(role: str, text: str) -> str:
    """Says which parameter is which where a measure calls it otherwise: ``rbp(p)`` is ``rbp(phi=p)``."""
    part = TABLES.get(_KINDS_OF.get(role, role), {}).get(text.split("(")[0])
    call = ast.parse(text, mode="eval").body
    if part is None or not isinstance(call, ast.Call):
        return text
    given = list(zip(part.parameters, call.args, strict=False))
    if any(isinstance(v, ast.Name) and not isinstance(p.allowed, Named) and p.name != v.id for p, v in given):
        call.args, call.keywords = [], [*(ast.keyword(p.name, v) for p, v in given), *call.keywords]
    return ast.unparse(call)


def _of_declaration(kind: str, measure: Measure, name: str, document: str | None = None) -> Entry:
    """A measure as ir_measures sees it."""
    parameters = tuple(
        Given(
            parameter,
            "a whole number in [1, ∞)" if parameter in ("rel", "cutoff") else info.desc or "",
            info.required,
            None if info.default is _NOT_PROVIDED else info.default,
        )
        for parameter, info in measure.SUPPORTED_PARAMS.items()
    )
    document = document or type(measure).__doc__
    return Entry(kind, name, f"{name}{_cutoff(parameters)}", parameters=parameters, **_read(document))


def _read(document: str | None) -> dict[str, Any]:
    """What a docstring says in its first line, its example, source, units and range; all the rest is its formula."""
    says, _, rest = inspect.cleandoc(document or "").partition("\n")
    found = {"says": says.replace("``", "")}
    for name, pattern in _FIELDS.items():
        match = re.search(pattern, rest, re.M | re.S)
        text = match.group(1) if match else ""
        found[name] = text if name == "example" else " ".join(text.split())
        rest = rest.replace(match.group(0), "", 1) if match else rest
    return {**found, "formula": rest.strip()}


def _cutoff(parameters: Iterable[Given]) -> str:
    return next(("@k" if p.required else "[@k]" for p in parameters if p.name == "cutoff"), "")


def _theirs() -> Iterator[Entry]:
    for row in THEIRS.values():
        yield _of_row("ir_measures", row)
    for name, count in COUNTS.items():
        yield _of_declaration("ir_measures", ir_measures.measures.registry[name], name, count.function.__doc__)


def _language() -> Iterator[Entry]:
    for parts in TABLES.values():
        yield from map(_of_part, parts.values())


def _of_part(part: Part) -> Entry:
    parameters = tuple(Given.of(p) for p in part.parameters)
    return Entry(part.kind, part.name, part.signature(), parameters=parameters, **_read(part.__doc__))


def _norms() -> Iterator[Entry]:
    from ..model.metric import NORMS

    for name in NORMS:
        yield Entry("norm", name, name, _NORMS.get(name, ""))


def made_of(role: str, text: str) -> list[Entry]:
    """The functions that a part of a measure is made of, as it is written there: the outermost first."""
    if role == "end":
        return [Entry(role, text, text, _ENDS.get(text, f"Everybody leaves at rank {text}, retrieved or not."))]
    if role == "norm":
        return [entry for entry in _norms() if entry.name == text]
    kind = _KINDS_OF.get(role, role)
    part = TABLES.get(kind, {}).get(text.split("(")[0])
    if part is None:
        return []
    found = [_of_part(part)]
    call = ast.parse(text, mode="eval").body
    for parameter, inner in zip(part.parameters, getattr(call, "args", ()), strict=False):
        if isinstance(parameter.allowed, Named):
            found += made_of(parameter.allowed.kind, ast.unparse(inner))
    return found


__all__ = ["KINDS", "Entry", "Given", "entries", "find", "made_of"]

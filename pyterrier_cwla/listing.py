"""What there is: every measure and every function of the language as a record, for the command line and for docs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import ir_measures
from ir_measures.measures import Measure
from ir_measures.measures.base import _NOT_PROVIDED

from .catalogue import THEIRS, Row, SpecOf
from .errors import UnknownSpec, near
from .judgments import COUNTS
from .measures import MEASURES, CWLAMeasure
from .spec import TABLES, In, Named, Parameter

#: The kinds of things there are, and the question that each answers.
KINDS = {
    "measure": "Measures of this package",
    "ir_measures": "Measures of ir_measures that are computed here, at ir_measures' values",
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
    def written(self) -> str:
        return self.name if self.required else f"{self.name}={self.default!r}"

    @property
    def briefly(self) -> str:
        """Name, default and range in one breath: ``rel=1 in [1, ∞), whole``, ``missing='error' (or 'mean')``."""
        allowed = re.sub(r" of the language, or your own$|: .*|^a number ?|^numbers ?", "", self.allowed)
        allowed = re.sub(r"^a whole number in (.*)", r"in \1, whole", allowed)
        if isinstance(self.default, str) and allowed.startswith("'"):
            others = [choice for choice in re.split(", | or ", allowed) if choice != repr(self.default)]
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
    parts: Mapping[str, str] | None = None
    """For measures: their gain, effort, C, A, normaliser and end, as the language writes them."""

    def record(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value not in ("", None)}


def entries() -> list[Entry]:
    """All there is, kind by kind."""
    return [*_measures(), *_theirs(), *_language(), *_norms()]


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
        if row is not None:
            yield _of_row("measure", row)
        else:
            yield _of_declaration(measure, str(name))


def _of_row(kind: str, row: Row) -> Entry:
    parameters = tuple(Given.of(p) for p in row.parameters)
    named = {p.name: p.default for p in row.parameters if not p.required}
    parts = {role: _chosen(row, getattr(row, role), named) for role in ("gain", "effort", "C", "A", "norm", "end")}
    return Entry(
        kind,
        row.name,
        f"{row.name}{_cutoff(parameters)}",
        row.says,
        row.source,
        parameters,
        "M = Σ L(i)·A(i) / N",
        parts,
    )


def _chosen(row: Row, choice: Any, named: Mapping[str, Any]) -> str:
    """One of a row's five choices in words, with its default where a parameter makes it."""
    if not callable(choice):
        return str(choice)
    try:
        return str(choice(named))
    except KeyError:
        return "as given"


def _of_declaration(measure: Measure, name: str) -> Entry:
    """A measure as ir_measures sees it."""
    parameters = tuple(
        Given(
            parameter,
            "a whole number in [1, ∞)" if parameter in ("rel", "cutoff") else info.desc or "",
            info.required,
            None if info.default is _NOT_PROVIDED else info.default,
        )
        for parameter, info in measure.SUPPORTED_PARAMS.items()
        if parameter != "judged_only"
    )
    kind = "measure" if isinstance(measure, CWLAMeasure) else "ir_measures"
    document = inspect.cleandoc(type(measure).__doc__ or "").split("\n\n") if kind == "measure" else []
    source = next((p.split(". ")[0].rstrip(".") for p in document[1:] if re.search(r"\(\d{4}\)", p)), "")
    says = getattr(measure, "SHORT_DESC", "")
    if name in COUNTS:
        says = inspect.cleandoc(COUNTS[name].__doc__ or says)
    return Entry(kind, name, f"{name}{_cutoff(parameters)}", says, source, parameters)


def _cutoff(parameters: Iterable[Given]) -> str:
    return next(("@k" if p.required else "[@k]" for p in parameters if p.name == "cutoff"), "")


def _theirs() -> Iterator[Entry]:
    for row in THEIRS.values():
        yield _of_row("ir_measures", row)
    for name in COUNTS:
        yield _of_declaration(ir_measures.measures.registry[name], name)


def _language() -> Iterator[Entry]:
    for kind, parts in TABLES.items():
        for part in parts.values():
            document = re.sub(
                r"\n*^Source:.*?(?=\n\s*\n|\Z)", "", inspect.cleandoc(part.__doc__ or ""), flags=re.M | re.S
            )
            yield Entry(
                kind,
                part.name,
                part.signature(),
                part.says.replace("``", ""),
                part.source.rstrip("."),
                tuple(Given.of(p) for p in part.parameters),
                document.partition("\n")[2].strip(),
            )


def _norms() -> Iterator[Entry]:
    from .metric import NORMS

    for name in NORMS:
        yield Entry("norm", name, name, _NORMS.get(name, ""))


def formula_of(role: str, text: str) -> tuple[str, str]:
    """What a part of a measure says, and its formula: the first paragraph of its docstring after the first line."""
    kind = {"C": "continuation", "A": "aggregation"}.get(role, role)
    name = text.split("(")[0]
    if kind == "norm":
        return _NORMS.get(name, ""), ""
    part = TABLES.get(kind, {}).get(name)
    if part is None:
        return "", ""
    paragraphs = inspect.cleandoc(part.__doc__ or "").split("\n\n")
    formula = paragraphs[1] if len(paragraphs) > 1 and not paragraphs[1].startswith(("Source:", ">>>")) else ""
    return part.says.replace("``", ""), " ".join(formula.split())


__all__ = ["KINDS", "Entry", "Given", "entries", "find", "formula_of"]

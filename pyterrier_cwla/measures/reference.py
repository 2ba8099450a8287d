"""Records of all measures and all functions of the language, for the command line and the documentation."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import ir_measures

from ..errors import CWLAError, UnknownSpec, near
from ..model.language import TABLES, In, Parameter, Part
from . import sessions, wrappers  # noqa: F401  (they declare measures)
from .catalogue import KINDS_OF_ROLES, Row
from .computing import Declaration, Equation
from .declarations import DECLARATIONS
from .equations import equation_of
from .named import measures_of

#: The kinds of entries, each with its heading.
KINDS = {
    "measure": "Measures of this package",
    "ir_measures": "Measures of ir_measures that are computed here, at ir_measures' values",
    "session": "measures of sessions: what do the queries of a session find together? evaluate_sessions computes them",
    "gain": "gain r: what is a grade worth?",
    "effort": "effort e: what does it cost to examine a document?",
    "continuation": "continuation C(i): does the user go on from rank i?",
    "aggregation": "aggregation A(i): what is the value for a user who leaves at rank i?",
    "discount": "discount φ(i), for utility(φ): what is a gain at rank i worth?",
    "norm": "normaliser N: what is the score divided by?",
}
_NORMS = {
    "none": "No normaliser: the score is Σ L·A.",
    "ideal": "Score of the best ranking of the judged documents.",
    "all": "Total gain of the query's documents, retrieved or not.",
    "mean": "Mean gain of the query's relevant documents, retrieved or not.",
    "unlimited": "Score of an infinite list of documents with the best gain and no words.",
}
#: Other names of kinds.
_ALIASES = {"c": "continuation", "a": "aggregation", "n": "norm", "normaliser": "norm"}
_ENDS = {
    "open": "The list is infinite: users continue beyond the retrieved items, at ranks without gain.",
    "stop": "All users leave at the last retrieved item.",
}

#: The meaning of parameters that many measures share, or that a docstring names only by their symbol.
_MEANS = {
    "gain": "the value of each grade",
    "effort": "the cost of each document",
    "norm": "the normaliser: the score is divided by it",
    "end": "the end of the list: open, at the last retrieved item, or at a rank",
    "cutoff": "the k of @k",
    "rel": "the lowest grade that is relevant",
    "normalize": "whether the value is divided by that of the ideal ranking",
    "wanted": "the number of relevant documents that the user wants, K",
    "failed": "the value of a query for which the run retrieves fewer relevant documents than wanted",
    "documents": "the number of documents in the collection; those that are not retrieved then tie in the last place",
    "floor": "the value that replaces lower scores",
    "min_rel": "the highest grade without gain",
    "max_rel": "the highest grade of the judgments",
    "unseen": "the effort of a document that was not retrieved, if the effort function does not give it",
    "lengths": "the number of words of each document; by default the run's column doc_length",
    "doc_seconds": "the known cost of each document, in seconds; by default the run's column doc_seconds",
    "missing": "the treatment of documents without a length: an error, or the mean length of the others",
    "judged_only": "whether unjudged documents and documents with a negative grade are removed from the rankings first",
    "duplicates": "clusters of duplicate documents; a duplicate takes no time to read",
    "duplicate_gain": "whether a duplicate has the gain of its grade, or none",
    "rho": "the probability of a further query after the list of a query, ρ",
    "delta": "the share of the gain so far that is remembered, δ",
    "half_life": "the effort after which half of the users have left",
    "summary_seconds": "the time to read a summary, T_S",
    "seconds_per_word": "the time to read a word, a",
    "seconds_per_document": "the time for a document besides its words, b",
    "p_click_relevant": "P(C=1|R=1)",
    "p_click_nonrelevant": "P(C=1|R=0)",
    "p_click": "P(C=1|g), by grade",
    "p_save": "P(S=1|R=1), or P(S=1|g) by grade",
    "seconds": "the time to read a document, by grade",
    "calibration": "a calibration, for the times, probabilities and the half-life that are not given",
    "credit": "whether users gain from a document on arrival, or evenly while they read it",
}

#: The sections of a docstring that are not part of the formula.
_SECTIONS = re.compile(r"^(Attributes|Examples|Notes|Parameters|Raises|References|Returns|Yields)\n-{3,}$", re.M)
#: The fields of the text before the sections, besides the first line and the formula.
_FIELDS = {
    "example": r"^(>>> .*?)(?=\n\s*\n(?!>>> )|\Z)",
    "source": r"^Source: (.*?)\.?$(?=\n\s*\n|\Z)",
    "units": r"\s*\bUnit: ([^.]+)\.",
    "range": r"\s*\bRange\s([\[(].*?[\])])\.",
}


@dataclass(frozen=True)
class EntryParameter:
    """A parameter of an entry.

    Attributes
    ----------
    name : str
        The name; a leading ``*`` marks a parameter that takes several values.
    allowed : str
        The allowed values, in words.
    required : bool
        Whether the parameter has no default.
    default : object, default=None
        The default value of a parameter that is not required.
    """

    name: str
    allowed: str
    required: bool
    default: Any = None

    @classmethod
    def from_declared(cls, parameter: Parameter) -> EntryParameter:
        """Return the record of a declared parameter."""
        default = None if parameter.required or parameter.many else parameter.default
        allowed = parameter.allowed.says or "as ir_measures has it"
        if parameter.allowed.function:
            allowed = f"{allowed} of the language, or your own"
        if parameter.allowed == In("(-inf, inf)"):
            allowed = "a number"
        if parameter.many:
            return cls(f"*{parameter.name}", allowed.replace("a number", "numbers"), True)
        return cls(parameter.name, allowed.replace("inf", "∞"), parameter.required, default)

    @property
    def means(self) -> str:
        """Meaning of the parameter; empty if it differs between the entries with this parameter."""
        return _MEANS.get(self.name, "")

    @property
    def written(self) -> str:
        """Name, with the default if there is one: ``rel=1``."""
        return self.name if self.required else f"{self.name}={self.default!r}"

    @property
    def briefly(self) -> str:
        """Name, default and range in one line: ``rel=1 in [1, ∞), whole``, ``missing='error' (or 'mean')``."""
        allowed = re.sub(r" of the language, or your own$|(, such as .*)|: .*|^a number ?|^numbers ?", "", self.allowed)
        allowed = re.sub(r"^a whole number in (.*)", r"in \1, whole", allowed)
        if isinstance(self.default, str) and allowed.startswith("'"):
            others = [choice for choice in re.split(", or |, | or ", allowed) if choice != repr(self.default)]
            allowed = f"(or {', '.join(others)})" if others else ""
        return f"{self.written} {allowed}".rstrip()


@dataclass(frozen=True)
class Entry:
    """A measure, a function of the language or a normaliser.

    Attributes
    ----------
    kind : str
        One of :data:`KINDS`.
    name, signature : str
        The name, and the name with the parameters of a function or ``@k`` of a measure.
    says : str
        A summary of one sentence.
    source : str, default=""
        The paper, with the equation.
    parameters : tuple of EntryParameter
        The parameters.
    formula : str, default=""
        The formula and what has to be said about it, in paragraphs.
    units, range : str, default=""
        The unit and the interval of the values.
    example : str, default=""
        A runnable example in the form of a Python session.
    parts : mapping of str to str, optional
        For measures with a user model: gain, effort, C, A, norm and end, in the notation of the language.
    equation : Equation, optional
        For measures: the full name, and the formula as the literature writes it, in LaTeX.
    """

    kind: str
    name: str
    signature: str
    says: str
    source: str = ""
    parameters: tuple[EntryParameter, ...] = ()
    formula: str = ""
    units: str = ""
    range: str = ""
    example: str = ""
    parts: Mapping[str, str] | None = None
    equation: Equation | None = None

    @property
    def briefly(self) -> str:
        """Name with ``@k``, or with the parameters of a function that have no default: ``bpm(T, K, …)``."""
        if self.kind not in TABLES:
            return self.signature
        needed = [parameter.name for parameter in self.parameters if parameter.required]
        more = ["…"] * (len(needed) < len(self.parameters))
        return f"{self.name}({', '.join([*needed, *more])})" if self.parameters else self.name

    @property
    def summary(self) -> str:
        """Summary, after the full name of a measure where the summary does not begin with it."""
        if self.equation is None or self.says.lower().startswith(self.equation.title.lower()):
            return self.says
        title = f"{self.equation.title[0].upper()}{self.equation.title[1:]}."
        return title if title.startswith(self.says.removesuffix(".")) else f"{title} {self.says}"

    def record(self) -> dict[str, Any]:
        """Return the fields that are not empty as a dict."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None)}


def entries() -> list[Entry]:
    """Return all entries, grouped by kind."""
    kinds = ("measure", "ir_measures", "session")
    measures = [_of_measure(one) for kind in kinds for one in DECLARATIONS.values() if one.kind == kind]
    return [*measures, *(_of_part(part) for parts in TABLES.values() for part in parts.values()), *_norms()]


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
        other = other or measures_of([word])[0]
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
    """Return the entries with a text in their name, summary or formula; upper and lower case are the same."""
    return [e for e in entries() if text.lower() in f"{e.name} {e.says} {e.formula}".lower()]


def _of_measure(declaration: Declaration) -> Entry:
    parameters = tuple(map(EntryParameter.from_declared, declaration.parameters))
    cutoff = next(("@k" if p.required else "[@k]" for p in parameters if p.name == "cutoff"), "")
    parts, texts = None, _read(declaration.docstring)
    if isinstance(declaration, Row):
        defaults = {p.name: p.default for p in declaration.parameters if not p.required}
        parts = {role: _chosen(declaration, role, defaults) for role in ("gain", "effort", "C", "A", "norm", "end")}
        texts |= {"formula": "M = Σ L(i)·A(i) / N", "units": declaration.units, "range": declaration.range}
    return Entry(
        declaration.kind,
        declaration.name,
        f"{declaration.name}{cutoff}",
        parameters=parameters,
        parts=parts,
        equation=equation_of(declaration),
        **texts,
    )


def _chosen(row: Row, role: str, named: Mapping[str, Any]) -> str:
    """Return one choice of a row as text, with the defaults of the parameters that it depends on."""
    choice = getattr(row, role)
    try:
        text = str(choice(named) if callable(choice) else choice)
    except KeyError:
        return "as given"
    return _by_name(role, text)


def _by_name(role: str, text: str) -> str:
    """Write arguments by keyword if a measure has other names for them: ``rbp(p)`` becomes ``rbp(phi=p)``."""
    part = TABLES.get(KINDS_OF_ROLES.get(role, role), {}).get(text.split("(")[0])
    call = ast.parse(text, mode="eval").body
    if part is None or not isinstance(call, ast.Call):
        return text
    given = list(zip(part.parameters, call.args, strict=False))
    if any(isinstance(v, ast.Name) and not p.allowed.function and p.name != v.id for p, v in given):
        call.args, call.keywords = [], [*(ast.keyword(p.name, v) for p, v in given), *call.keywords]
    return ast.unparse(call)


def _read(document: str | None) -> dict[str, Any]:
    """Return the fields of a docstring; text that belongs to no other field is the formula."""
    says, _, rest = inspect.cleandoc(document or "").partition("\n")
    says = re.sub(r"^Return (?:the )?(.)", lambda first: first[1].upper(), says.replace("``", ""))
    found = {"says": says}
    rest, *titled = _SECTIONS.split(rest)
    sections = dict(zip(titled[::2], map(str.strip, titled[1::2]), strict=True))
    for name, pattern in _FIELDS.items():
        match = re.search(pattern, rest, re.M | re.S)
        text = match.group(1) if match else ""
        found[name] = text if name == "example" else " ".join(text.split())
        rest = rest.replace(match.group(0), "", 1) if match else rest
    found["example"] = found["example"] or sections.get("Examples", "")
    found["source"] = found["source"] or " ".join(sections.get("References", "").split()).removesuffix(".")
    return {**found, "formula": "\n\n".join(filter(None, (rest.strip(), sections.get("Notes", ""))))}


def _of_part(part: Part) -> Entry:
    parameters = tuple(EntryParameter.from_declared(p) for p in part.parameters)
    return Entry(part.kind, part.name, part.signature(), parameters=parameters, **_read(part.__doc__))


def _norms() -> Iterator[Entry]:
    from ..model.metric import NORMS

    for name in NORMS:
        yield Entry("norm", name, name, _NORMS.get(name, ""))


def made_of(role: str, text: str) -> list[Entry]:
    """Return the entries of the functions in one choice of a measure, the outermost function first.

    Parameters
    ----------
    role : {"gain", "effort", "C", "A", "norm", "end"}
        The choice.
    text : str
        The choice in the notation of the language, such as ``product(rr, rbp(phi=p))``.

    Returns
    -------
    list of Entry
        Empty if the text names no function of the language.
    """
    if role == "end":
        return [Entry(role, text, text, _ENDS.get(text, f"All users leave at rank {text}, retrieved or not."))]
    if role == "norm":
        return [entry for entry in _norms() if entry.name == text]
    part = TABLES.get(KINDS_OF_ROLES.get(role, role), {}).get(text.split("(")[0])
    if part is None:
        return []
    found = [_of_part(part)]
    call = ast.parse(text, mode="eval").body
    for parameter, inner in zip(part.parameters, getattr(call, "args", ()), strict=False):
        if parameter.allowed.function:
            found += made_of(parameter.allowed.function, ast.unparse(inner))
    return found


__all__ = ["KINDS", "Entry", "EntryParameter", "entries", "find", "made_of", "of_kind"]

"""Records of measures and functions of the language, and their text for help, command line and documentation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from inspect import cleandoc
from io import StringIO
from textwrap import dedent
from typing import Any

from rich.console import Console
from rich.text import Text

from ..model.language import TABLES, In, Parameter, Part
from ..rendering.terminal import print_described, prose
from .catalogue import KINDS_OF_ROLES, Row
from .computing import Declaration, Equation
from .equations import descriptions, equation_of

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
_ONE_OF = {
    "measure": "A measure of this package.",
    "ir_measures": "A measure of ir_measures, computed here with the same values, except where documents tie.",
}
#: Names of kinds as parts of a measure.
ROLES = {kind: role for role, kind in KINDS_OF_ROLES.items()} | {"norm": "norm"}

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
    means : str, default=""
        The meaning of the parameter.
    """

    name: str
    allowed: str
    required: bool
    default: Any = None
    means: str = ""

    @classmethod
    def from_declared(cls, parameter: Parameter, documented: str = "") -> EntryParameter:
        """Return the record of a declared parameter; `documented` is its meaning in a docstring."""
        means = documented.split(". ")[0].removesuffix(".") or descriptions()["parameters"].get(parameter.name, "")
        means = re.sub(r"^[A-Z](?=[a-z ])", lambda first: first[0].lower(), means)
        default = None if parameter.required or parameter.many else parameter.default
        allowed = parameter.allowed.says or "as ir_measures has it"
        if parameter.allowed.function:
            allowed = f"{allowed} of the language, or your own"
        if parameter.allowed == In("(-inf, inf)"):
            allowed = "a number"
        if parameter.many:
            return cls(f"*{parameter.name}", allowed.replace("a number", "numbers"), True, None, means)
        return cls(parameter.name, allowed.replace("inf", "∞"), parameter.required, default, means)

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

    @property
    def scores(self) -> str:
        """Range of the scores; for measures with a choice of gains, which may be negative, of gains of 0 or more."""
        chosen = self.range.startswith("[0") and any(parameter.name == "gain" for parameter in self.parameters)
        return f"{self.range}, with gains of 0 or more" if chosen else self.range

    def record(self) -> dict[str, Any]:
        """Return the fields that are not empty as a dict."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None)}


def of_measure(declaration: Declaration) -> Entry:
    """Return the record of a measure."""
    parts, means = None, documented_parameters(declaration.docstring)
    if isinstance(declaration, Row):
        defaults = {p.name: p.default for p in declaration.parameters if not p.required}
        parts = {role: _chosen(declaration, role, defaults) for role in ("gain", "effort", "C", "A", "norm", "end")}
        passed = [_passed_on(text) for role, text in parts.items() if role in KINDS_OF_ROLES and text != "as given"]
        means = {name: says for found in reversed(passed) for name, says in found.items()}
    parameters = tuple(EntryParameter.from_declared(p, means.get(p.name, "")) for p in declaration.parameters)
    chosen = example_values(declaration.name, parameters)
    if not chosen and parameters and parameters[0].default is not None:
        chosen = {parameters[0].name: parameters[0].default}
    if parts is not None and parts["gain"].startswith(("linear", "exponential")):
        chosen |= {p.name: descriptions()["examples"]["max_rel"] for p in parameters if p.name == "max_rel"}
    cutoff = next(("@k" if p.required else "[@k]" for p in parameters if p.name == "cutoff"), "")
    texts = _read(declaration.docstring)
    call = "evaluate_sessions(qrels, run, sessions, " if declaration.kind == "session" else "evaluate(qrels, run, "
    texts["example"] = f'>>> {call}["{measure_text(declaration.name, chosen)}"])'
    if declaration.kind != "ir_measures":
        parameters += (EntryParameter("label", "a text", False, means="the name of the measure in tables and reports"),)
    if isinstance(declaration, Row):
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


def _passed_on(text: str) -> dict[str, str]:
    """Return the meanings of the names that a text such as ``rbp(phi=p)`` passes to functions of the language."""
    parts = {name: part for table in TABLES.values() for name, part in table.items()}
    means: dict[str, str] = {}
    for call in (node for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Call)):
        part = parts[ast.unparse(call.func)]
        given = [*zip((p.name for p in part.parameters), call.args, strict=False)]
        given += [(word.arg, word.value) for word in call.keywords if word.arg]
        documented = documented_parameters(part.__doc__)
        means |= {ast.unparse(value): documented.get(inner, "") for inner, value in given}
    return means


@lru_cache(maxsize=256)
def documented_parameters(document: str | None) -> dict[str, str]:
    """Return the descriptions of the parameters in a numpydoc docstring, by name."""
    section = re.search(r"Parameters\n\s*-+\n(.*?)(?:\n\s*\n\s*\w+\n\s*-+\n|\Z)", document or "", re.S)
    if section is None:
        return {}
    found = re.findall(r"^ *\*?(\w+(?:, \w+)*) : [^\n]*\n((?: {4,}[^\n]*\n?)+)", dedent(section[1]) + "\n", re.M)
    return {name: " ".join(says.split()) for names, says in found for name in names.split(", ")}


def help_on(declaration: Declaration) -> str:
    """Return what the command ``measures`` prints about a measure, for ``help(measure)`` and notebooks."""
    text = StringIO()
    console = Console(file=text, width=88, force_terminal=False, force_jupyter=False, highlight=False)
    print_entry(of_measure(declaration), console)
    return text.getvalue()


def example_values(name: str, parameters: Iterable[EntryParameter]) -> dict[str, Any]:
    """Return values of the required parameters of a measure, for examples."""
    known = descriptions()["examples"] | descriptions()["measures"].get(name, {}).get("example", {})
    return {parameter.name: known.get(parameter.name, 0.5) for parameter in parameters if parameter.required}


def measure_text(name: str, given: Mapping[str, Any]) -> str:
    """Return the text of a measure: its name, its parameters, and its cutoff."""
    inside = ",".join(f"{key}={value!r}" for key, value in given.items() if key != "cutoff")
    return f"{name}({inside})".replace("()", "") + (f"@{given['cutoff']}" if "cutoff" in given else "")


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
    says, _, rest = cleandoc(document or "").partition("\n")
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


def of_part(part: Part) -> Entry:
    """Return the record of a function of the language."""
    means = documented_parameters(part.__doc__)
    parameters = tuple(EntryParameter.from_declared(p, means.get(p.name, "")) for p in part.parameters)
    return Entry(part.kind, part.name, part.signature(), parameters=parameters, **_read(part.__doc__))


def norms() -> Iterator[Entry]:
    """Yield the records of the normalisers."""
    from ..model.metric import NORMS

    for name in NORMS:
        yield Entry("norm", name, name, descriptions()["norms"].get(name, ""))


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
        says = descriptions()["ends"].get(text, f"All users leave at rank {text}, retrieved or not.")
        return [Entry(role, text, text, says)]
    if role == "norm":
        return [entry for entry in norms() if entry.name == text]
    part = TABLES.get(KINDS_OF_ROLES.get(role, role), {}).get(text.split("(")[0])
    if part is None:
        return []
    found = [of_part(part)]
    call = ast.parse(text, mode="eval").body
    for parameter, inner in zip(part.parameters, getattr(call, "args", ()), strict=False):
        if parameter.allowed.function:
            found += made_of(parameter.allowed.function, ast.unparse(inner))
    return found


def print_entry(entry: Entry, console: Console) -> None:
    """Print one entry in full: formula, unit, range, parts, parameters, example and source."""
    prose(console, f"{entry.signature}: {entry.summary}", "bold")
    if entry.formula or entry.units or entry.range:
        console.print()
    for paragraph in filter(None, entry.formula.split("\n\n")):
        prose(console, " ".join(paragraph.split()), "", 2)
    for name, value in (("Unit", entry.units), ("Range", entry.scores)):
        if value:
            prose(console, f"{name}: {value}.", "", 2)
    if entry.example:
        console.print()
        for line in entry.example.split("\n"):
            console.print(Text(f"  {line}", style="cyan"), soft_wrap=True)
    if entry.parts:
        described = []
        for role, choice in entry.parts.items():
            lines: list[str] = []
            for part in made_of(role, choice):
                formula = " ".join(part.formula.split("\n\n")[0].split())
                lines += [f"{part.name}: {part.says}" if lines else part.says, formula]
            described.append((role, Text("\n").join([Text(choice, style="cyan"), *map(Text, filter(None, lines))])))
        console.print()
        print_described(console, described, "bold")
    if entry.parameters:
        means = (f"{parameter.means}: " if parameter.means else "" for parameter in entry.parameters)
        described = [(one.written, Text(mean + one.allowed)) for one, mean in zip(entry.parameters, means)]
        console.print()
        print_described(console, described, "cyan")
    console.print()
    if entry.kind in ROLES:
        needed = ",".join(parameter.name for parameter in entry.parameters if parameter.required)
        written = f"{entry.name}({needed})" if needed else entry.name
        console.print(Text.assemble("In a measure: ", (f"{ROLES[entry.kind]}={written!r}", "cyan")))
    prose(console, _ONE_OF.get(entry.kind, KINDS[entry.kind][0].upper() + KINDS[entry.kind][1:]))
    if entry.source:
        prose(console, f"Source: {entry.source}.")

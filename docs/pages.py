"""Write the generated pages: for each measure, each kind of function, and each public function and class.

``python docs/pages.py`` refreshes ``pyterrier_cwla/pt_docs``, which the package carries; Sphinx asks for the same pages
with pictures. The pages show the records that ``pyterrier-cwla measures`` prints. Each example is run when its page is
written.
"""

from __future__ import annotations

import ast
import inspect
import re
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import api_pages
import explorer_page
from formulas import first_formula, latex
from markup import displayed, escaped, indented, mathematics, numbers, page, table, title, with_formulas

from pyterrier_cwla import CWLAError, explain
from pyterrier_cwla.evaluation import Explanation
from pyterrier_cwla.learning.swaps import SWAP_ROUTES, by_scoring_anew
from pyterrier_cwla.measures.computing import Equation
from pyterrier_cwla.measures.declarations import metric_of
from pyterrier_cwla.measures.diversity import DIVERSITY
from pyterrier_cwla.measures.entries import KINDS, Entry, example_values, made_of, measure_text
from pyterrier_cwla.measures.named import measures_of
from pyterrier_cwla.measures.reference import entries
from pyterrier_cwla.model.introspection import reads
from pyterrier_cwla.model.language import TABLES
from pyterrier_cwla.model.scoring import ROUTES, over_all_ranks

HERE = Path(__file__).parent
SHIPPED = HERE.parent / "pyterrier_cwla" / "pt_docs"
ABOUT = tomllib.loads((HERE / "measures.toml").read_text())  # when to use each measure, and its neighbours
_ONLY_SITE = ("benchmarks", "contributing", "examples/index", "notebooks/index")
_GENERATED = ".. Written by docs/pages.py: change docs/ or the package itself, and run it again.\n\n"

#: The page of each kind of function.
PARTS = {
    "gain": "gains",
    "effort": "efforts",
    "continuation": "continuations",
    "aggregation": "aggregations",
    "discount": "discounts",
    "norm": "normalisers",
    "session": "sessions",
}
_ROLES = {"gain": "gain r", "effort": "effort e", "C": "continuation C", "A": "aggregation A", "norm": "normaliser N",
          "end": "end of the list"}  # fmt: skip

_WHERE_NEEDED = {"max_rel": 2, "rel": 1, "lengths": "words", "costs": "tokens", "unseen": 12}
_RUN = 'run = {topic: {f"d{i}": 1 / i for i in range(1, 11)} for topic in ("1", "2")}'
_QRELS = """\
qrels = {"1": {"d1": 0, "d2": 1, "d3": 0, "d4": 2, "d6": 0, "d7": 1, "d8": 0,
               "d9": 2, "d10": 0, "d11": 2},
         "2": {"d1": 2, "d2": 0, "d3": 0, "d5": 1, "d12": 1}}"""
_INTENTS = """\
import pandas as pd
qrels = pd.DataFrame({"query_id": ["1", "1", "1", "2"],
                      "iteration": ["fruit", "fruit", "firm", "firm"],
                      "doc_id": ["d2", "d4", "d3", "d1"], "relevance": [1, 2, 1, 1]})"""
_WORDS = 'words = register_lengths("words", {f"d{i}": 200 + 100 * (i % 4) for i in range(1, 13)})'
_TOKENS = 'tokens = register_costs("tokens", {f"d{i}": 300 + 150 * (i % 4) for i in range(1, 13)})'
_RANKS = 10  # ranks of the example's first topic in tables and pictures


def written(pictures: bool = False) -> dict[str, str]:
    """Return the generated pages as reStructuredText, by path, and pictures that other pages include."""
    known = [entry for entry in entries() if entry.kind not in TABLES or TABLES[entry.kind][entry.name].built_in]
    measures = [entry for entry in known if entry.kind in ("measure", "ir_measures")]
    pages = {"measures/index.rst": _measures_page(measures), **api_pages.written(site=pictures)}
    for entry in measures:
        pages[f"measures/{entry.name}.rst"] = _measure_page(entry, measures, pictures)
    for kind, name in PARTS.items():
        pages[f"parts/{name}.rst"] = _parts_page(kind, [e for e in known if e.kind == kind], measures)
    pages["parts/routes.rst"] = _routes_page()
    found = {path: _GENERATED + text for path, text in pages.items()}
    if pictures:
        from benchmark_chart import charts
        from guide_pictures import drawn

        found |= {f"pictures/{name}.svg": picture for name, picture in {**charts(), **drawn()}.items()}
    return found


def shipped() -> dict[str, str]:
    """Return the pages in the package: those written by hand and those generated, without what only the site has."""
    paths = [path.relative_to(HERE) for path in sorted([*HERE.glob("*.rst"), *HERE.glob("tutorials/*.rst")])]
    pages = {str(path): _GENERATED + _with_files(_without_site((HERE / path).read_text())) for path in paths}
    for name in _ONLY_SITE:
        pages["index.rst"] = pages["index.rst"].replace(f"   {name}\n", "")
    return {**pages, **written()}


def _without_site(text: str) -> str:
    """Remove the blocks that are marked as ``only:: site``: the pictures that examples of the gallery draw."""
    return re.sub(r"^\.\. only:: site\n(?:(?: .*)?\n)+(?=\S|\Z)", "", text, flags=re.M)


def _with_files(text: str) -> str:
    """Replace files of the repository that a page includes by their text: the package does not have them."""
    pattern = r"^\.\. literalinclude:: (\S+)\n   :language: python\n"
    return re.sub(
        pattern, lambda path: f".. code-block:: python\n\n{indented((HERE / path[1]).read_text())}\n", text, flags=re.M
    )


def write(pages: Mapping[str, str], folder: Path) -> None:
    """Write pages into a folder and remove all other files of its subfolders."""
    for within in {Path(name).parent for name in pages} - {Path()}:
        shutil.rmtree(folder / within, ignore_errors=True)
        (folder / within).mkdir(parents=True)
    for name, text in pages.items():
        (folder / name).write_text(text)


def _routes_page() -> str:
    """The page of the routes: what each computes, when it is taken, and what it saves."""
    text = (
        "Each result has one definition for all metrics, and routes that are faster for some metrics. The first route"
        " for a metric is taken. Tests compare every route with the definition. Savings are measured from end to end,"
        " with the route and without it."
    )
    blocks = [title("Routes", "="), text]
    for what, slow, routes in (("Scores", over_all_ranks, ROUTES), ("Changes by swaps", by_scoring_anew, SWAP_ROUTES)):
        rows = [("Route", "Metrics", "Saves")]
        for each in routes:
            case = (inspect.getdoc(each.when) or "").splitlines()[0]
            rows.append((f"``{each.compute.__name__}``", mathematics(case), f"{each.gain[0].upper()}{each.gain[1:]}."))
        blocks += [title(what), f"The definition is ``{slow.__module__.partition('.')[2]}.{slow.__name__}``."]
        blocks.append(table(rows, (20, 50, 30)))
    return page(blocks)


# ---- measures


def _measures_page(measures: Sequence[Entry]) -> str:
    parts = [
        title("Measures", "="),
        "Each page has the usual formula, unit, range, parameters, source, a tested example, and, for measures with a"
        " user model, the five choices that the measure consists of and the weight of each rank. On the command line,"
        " ``pyterrier-cwla measures NAME`` prints all but the usual formula and the weights."
        " :doc:`../guide` lists questions and the measures that answer them.",
    ]
    groups = {
        "Measures of this package": [e for e in measures if e.kind == "measure" and e.parts],
        "Measures of other measures": [e for e in measures if e.kind == "measure" and not e.parts and _of_another(e)],
        "Measures of ir_measures, at ir_measures' values": [e for e in measures if e.kind == "ir_measures" and e.parts],
        "Without a user model": [e for e in measures if not e.parts and not _of_another(e)],
    }
    for head, group in groups.items():
        rows = [["Measure", "Meaning"]]
        for entry in group:
            made = f"\n\nC = ``{entry.parts['C']}``, A = ``{entry.parts['A']}``" if entry.parts else ""
            rows.append([f":doc:`{entry.name} <{entry.name}>`", mathematics(entry.says) + made])
        parts += [title(head), table(rows, (25, 75))]
    parts.append(".. toctree::\n   :hidden:\n\n" + "\n".join(f"   {e.name} <{e.name}>" for e in measures))
    return page(parts)


def _of_another(entry: Entry) -> bool:
    return any(given.name == "measure" for given in entry.parameters)


def _measure_page(entry: Entry, measures: Sequence[Entry], pictures: bool) -> str:
    example = _Example(entry)
    head = f"{entry.name}: {entry.equation.title}" if entry.equation else entry.name
    parts = [f".. _{_anchor(entry)}:", title(head, "="), mathematics(entry.says), _about(entry.name, "when", "")]
    if entry.equation:
        parts += _equation(entry.equation)
    parts.append(_facts(entry, example.texts[0]))
    if entry.parts:
        parts += [*_choices(entry.parts), *_weights(example, pictures)]
        parts += [*_neighbours(example, measures, pictures), _explorer(entry.name, example, pictures)]
    elif details := _details(entry):
        parts += [title("Details"), *map(mathematics, details)]
    if entry.parameters:
        parts += [title("Parameters"), _parameters(entry)]
    parts += [title("Example"), example.shown]
    return page([*parts, *_relatives(entry, measures)])


def _details(entry: Entry) -> list[str]:
    """Return the paragraphs of a docstring's formula without the sentence that the equation says."""
    text = re.sub(r"^\w+ = .*?\.(?=\s|$)", "", entry.formula, flags=re.S) if entry.equation else entry.formula
    return [paragraph.strip() for paragraph in text.split("\n\n") if paragraph.strip()]


def _equation(equation: Equation) -> list[str]:
    """Return the formula and the meaning of its symbols."""
    end = "" if equation.symbols.endswith(".") else "."
    return [displayed(equation.displayed), with_formulas(equation.symbols + end)]


def _facts(entry: Entry, text: str) -> str:
    theirs = "of ir_measures, which computes the same number" if entry.kind == "ir_measures" else ""
    needs = ["judgments with intents"] if entry.name in DIVERSITY else _needs(text) if entry.parts else []
    facts = {
        "Unit": entry.units,
        "Range": entry.scores,
        "Needs": ", ".join(needs),
        "Name": theirs,
        "Source": "" if entry.source == "ir_measures" else entry.source,
    }
    return "\n".join(f":{name}: {mathematics(value)}" for name, value in facts.items() if value)


def _needs(text: str) -> list[str]:
    metric = metric_of(measures_of([text])[0])
    grades = "judgments" if metric.gain.name in ("binary", "clicksave") else "graded judgments"
    whole = metric.norm in ("ideal", "all", "mean") or "total" in reads(metric.C)
    lengths = ["document lengths in words"] if metric.needs_words else []
    costs = ["the cost of each document"] if metric.needs_cost else []
    return [f"{grades} of all relevant documents, retrieved or not" if whole else grades, *lengths, *costs]


#: The sum of each aggregation in terms of the users who see a rank, V, or of those who leave at it, L.
_SUMS = {
    "etg": r"\sum_i V(i)\,r_i",
    "erg": r"\frac{\sum_i V(i)\,r_i}{\sum_i V(i)\,e_i}",
    "err": r"\sum_i L(i)\,\frac{1}{E(i)}",
    "avg": r"\sum_i L(i)\,\frac{G(i)}{E(i)}",
    "max": r"\sum_i L(i)\,\max_{j \le i} r_j",
    "fin": r"\sum_i L(i)\,r_i",
    "utility": r"\sum_i V(i)\,\varphi(i)\,r_i",
}


def _choices(chosen: Mapping[str, str]) -> list[str]:
    """Return the section that derives a measure from its five choices."""
    rows = [["Part", "Function", "Meaning"]]
    for role, text in chosen.items():
        found = made_of(role, text)
        paragraphs = [
            line for part in found for line in (mathematics(part.says), mathematics(part.formula.split("\n\n")[0]))
        ]
        here = f":ref:`{text} <{_anchor(found[0])}>`" if found and role != "end" else f"``{text}``"
        rows.append([_ROLES[role], here, "\n\n".join(filter(None, paragraphs))])
    survival = any("gives_survival" in TABLES[p.kind][p.name].facts.stated for p in made_of("C", chosen["C"]))
    users = "L(i) &= V(i) - V(i+1)" if survival else r"V(i) &= \prod_{j<i} C(j), \quad L(i) = V(i)\,(1 - C(i))"
    over = r"\frac{1}{N} " if chosen["norm"] != "none" else ""
    return [
        title("As five choices"),
        with_formulas(
            "The score is the mean value for a user: $V(i)$ is the share of users who see rank $i$, $L(i)$ the share"
            " who leave at it, and $A(i)$ the value for these."
        )
        + (" The normaliser :math:`N` divides it." if over else "")
        + " :doc:`../frame` has more.",
        displayed(rf"\begin{{aligned}}M &= {over}\sum_i L(i)\,A(i) \\ {users}\end{{aligned}}"),
        *_derived(chosen["A"].split("(")[0], over),
        "The parts are:",
        table(rows, (22, 27, 51)),
    ]


def _derived(aggregation: str, over: str) -> list[str]:
    """Return the score with the aggregation inserted."""
    if aggregation not in _SUMS:
        return []
    needs_all = ", and if all users leave at some rank" if "V(i)" in _SUMS[aggregation] else ""
    sums = {"err": r"$E(i)$ is the effort", "avg": "$G(i)$ and $E(i)$ are the gain and the effort"}.get(aggregation)
    return [
        f"With the aggregation ``{aggregation}``{needs_all}, this is",
        displayed(rf"M = {over}{_SUMS[aggregation]}"),
        with_formulas(f"{sums} of ranks 1 to $i$.") if sums else "",
    ]


def _parameters(entry: Entry) -> str:
    rows = [["Name", "Default", "Meaning and values"]]
    for given in entry.parameters:
        users = [text.split("(")[0] for text in (entry.parts or {}).values() if given.name in re.findall(r"\w+", text)]
        means = given.means or (f"of {' and '.join(users)}" if users else "")
        allowed = f"{means}: {given.allowed}" if means else given.allowed
        rows.append([f"``{given.name}``", "" if given.required else f"``{given.default!r}``", escaped(allowed)])
    return table(rows, (24, 20, 56))


def _relatives(entry: Entry, measures: Sequence[Entry]) -> list[str]:
    """Return the measures with the same continuation or the same aggregation."""
    lines = []
    for role, sentence in (("C", "The same continuation"), ("A", "The same aggregation")):
        mine = _head(entry, role)
        others = [
            f":doc:`{other.name} <{other.name}>`"
            for other in measures
            if other != entry and mine and _head(other, role) == mine
        ]
        if others:
            lines.append(f"* {sentence}, :ref:`{mine} <{_anchor(made_of(role, mine)[0])}>`: {', '.join(others)}")
    return [title("Related measures"), "\n".join(lines)] if lines else []


def _head(entry: Entry, role: str) -> str:
    """Return the name of the function for a part, or nothing if it is a parameter of the measure."""
    text = entry.parts[role] if entry.parts else ""
    return text.split("(")[0] if made_of(role, text) else ""


# ---- examples


class _Example:
    """Example of a measure on two topics, with the parameters that it requires, and with other efforts."""

    def __init__(self, entry: Entry) -> None:
        self.name = entry.name
        required = example_values(entry.name, entry.parameters)
        efforts = [g.name for g in entry.parameters if g.name == "effort" and g.default == "unit"]
        variants = [{}, *({"effort": effort} for effort in ("ratio(4)", "grade_time") if efforts)]
        self.qrels = _INTENTS if entry.name in {"IntentAware", *DIVERSITY} else _QRELS
        self.names: dict[str, Any] = {}
        imports = (
            "from pyterrier_cwla import evaluate, register_lengths\nfrom pyterrier_cwla.data import register_costs"
        )
        exec("\n".join([imports, self.qrels, _RUN, _WORDS, _TOKENS]), self.names)
        optional = [g.name for g in entry.parameters if g.name in _WHERE_NEEDED and not g.required]
        values = dict(self._computable(entry.name, {**required, **variant}, optional) for variant in variants)
        first, *others = values
        self.texts = [first, *(text for text in others if values[text] != values[first])]

    def _computable(self, name: str, given: Mapping[str, Any], optional: Sequence[str]) -> tuple[str, float]:
        """Return the measure as text, with as few optional parameters as possible, and its value."""
        reason: CWLAError | None = None
        for more in (some for count in range(len(optional) + 1) for some in combinations(optional, count)):
            text = measure_text(name, {**given, **{option: _WHERE_NEEDED[option] for option in more}})
            try:
                return text, self.names["evaluate"](self.names["qrels"], self.names["run"], [text]).iloc[0, 0]
            except CWLAError as error:
                reason = reason or error
        raise reason or KeyError(name)

    @property
    def shown(self) -> str:
        """Code with its output."""
        with_words, with_costs = (any(f"{table}=" in text for text in self.texts) for table in ("lengths", "costs"))
        listed = ",\n            ".join(f'"{text}"' for text in self.texts)
        lines = [
            f"from pyterrier_cwla import evaluate{', register_lengths' if with_words else ''}",
            *["from pyterrier_cwla.data import register_costs"] * with_costs,
            *(self.qrels, _RUN, *[_WORDS] * with_words, *[_TOKENS] * with_costs),
            f"measures = [{listed}]",
            'evaluate(qrels, {"bm25": run}, measures).T.round(4)',
        ]
        return session("\n".join(lines))

    def explanation(self, text: str) -> Explanation:
        found = explain(self.names["qrels"], self.names["run"], "1", text)
        assert isinstance(found, Explanation)  # of one run
        return found


def session(code: str) -> str:
    """Run code, and return it as typed at the prompt, with its output."""
    names: dict[str, Any] = {}
    shown = []
    for statement in ast.parse(code).body:
        source = ast.get_source_segment(code, statement) or ""
        shown += [f"{'...' if number else '>>>'} {line}" for number, line in enumerate(source.split("\n"))]
        if isinstance(statement, ast.Expr):
            shown.append(repr(eval(source, names)))
        else:
            exec(source, names)
    return "\n".join(shown)


# ---- weights of ranks

#: Weight of a rank: the first of these columns of an explanation that has numbers; its axis label and its meaning.
_WEIGHTS = {
    "discount": (
        "discount (score per gain)",
        "The discount of a rank is the increase of the score by a gain of 1 at this rank if the users do not change.",
    ),
    "W": (
        "W(i) (share of attention)",
        "W(i) is the share of all attention at a rank; the score is not a weighted sum of the gains.",
    ),
    "V": (
        "V(i) (share of users)",
        "V(i) is the share of users who see a rank; the score is not a weighted sum of the gains.",
    ),
}


def _weight_of(explanation: Explanation) -> str:
    ranks = explanation.table.head(_RANKS)
    return next((name for name in _WEIGHTS if ranks[name].notna().all() and ranks[name].any()), "V")


def _weights(example: _Example, pictures: bool) -> list[str]:
    explanations = [(re.sub(r".*effort='([^']*)'.*", r"\1", text), example.explanation(text)) for text in example.texts]
    ranks = explanations[0][1].table.head(_RANKS)
    column = _weight_of(explanations[0][1])
    axis, sentence = _WEIGHTS[column]
    shown = [title("Weights"), f"The first topic of the example below, scored by ``{example.texts[0]}``. {sentence}"]
    if pictures:
        from pictures import weights

        shown[-1] += f" The line is that of ``{example.texts[1]}``." if len(explanations) > 1 else ""
        shown.append(".. raw:: html\n\n" + indented(weights(explanations[:2], column, axis, _RANKS)))
    heads = {"rank": "rank", "grade": "grade", "gain": "gain", "effort": "effort", "V": "V(i)", "W": "W(i)"}
    if (ranks["effort"] == 1).all():
        heads.pop("effort")
    if not ranks["W"].sum() > 0:  # V⁺ is infinite, or not known
        heads.pop("W")
    if column == "discount":
        heads["discount"] = "discount"
    rows = [[_number(record[name]) for name in heads] for record in ranks.to_dict("records")]
    return [*shown, ".. rst-class:: cwla-weights\n\n" + numbers([list(heads.values()), *rows])]


def _about(name: str, what: str, otherwise: Any) -> Any:
    """Return what measures.toml says of a measure; it need not have the measures of users."""
    return ABOUT.get(name, {}).get(what, otherwise)


def _neighbours(example: _Example, measures: Sequence[Entry], pictures: bool) -> list[str]:
    """Return the picture of the users of a measure beside those of two others, if it has any."""
    near = [_Example(entry) for name in _about(example.name, "near", []) for entry in measures if entry.name == name]
    if not near or not pictures:
        return []
    from pictures import users

    shown = {one.name: one.explanation(one.texts[0]) for one in (example, *near)}
    written = " and ".join(f":doc:`{one.texts[0]} <{one.name}>`" for one in near)
    return [
        f"The users of {example.name} on this topic, beside those of {written}:",
        ".. raw:: html\n\n" + indented(users(shown, _RANKS)),
    ]


def _explorer(name: str, example: _Example, site: bool) -> str:
    """Return how to open a measure in the explorer: on the site if its page there has the measure, or on own runs."""
    text, tables = example.texts[0], ""
    for name_of_table, made in (("lengths", "words"), ("costs", "tokens")):
        text, given = re.subn(rf"{name_of_table}='{made}',?|,?{name_of_table}='{made}'", "", text)
        tables += f" --{name_of_table} {name_of_table}.tsv" * given
    measure = text.replace("()", "")
    own = f'on your runs: ``pyterrier-cwla explore qrels.txt run.txt{tables} -m "{measure}"``.'
    if site and name in {preset.name for preset in explorer_page.MEASURES}:
        return f"`Open {name} in the explorer <../{explorer_page.NAME}#measure={name}>`__, or {own}"
    return f"In the :doc:`explorer <../explorer>`, {own}"


def _number(value: float) -> str:
    return "–" if value != value else f"{value:.4f}".rstrip("0").rstrip(".")


# ---- gains, efforts, continuations, …


def _parts_page(kind: str, parts: Sequence[Entry], measures: Sequence[Entry]) -> str:
    name, _, question = KINDS[kind].partition(": ")
    role = {"continuation": "C", "aggregation": "A"}.get(kind, kind)
    shown = [title(PARTS[kind].capitalize(), "="), f"{mathematics(name[0].upper() + name[1:])}: {question}"]
    if kind in TABLES:
        shown.append(
            f"In a measure, {'utility(φ)' if kind == 'discount' else role + '='} takes the text of any of these, and of"
            " user-defined functions (:doc:`../own`)."
        )
    rows = [["Name", "Meaning"], *([f":ref:`{p.name} <{_anchor(p)}>`", mathematics(p.says)] for p in parts)]
    shown.append(table(rows, (25, 75)))
    for part in parts:
        users = [
            f":doc:`{measure.name} <../measures/{measure.name}>`"
            for measure in measures
            if any(made.kind == kind and made.name == part.name
                   for role, text in (measure.parts or {}).items() for made in made_of(role, text))
        ]  # fmt: skip
        shown += [f".. _{_anchor(part)}:", title(part.name), mathematics(part.says) if part.formula else ""]
        if part.equation:
            shown += [*_equation(part.equation), *map(mathematics, _details(part))]
        else:
            shown += _part_formula(part)
        facts = {
            "Written": f'``norm="{part.name}"``' if kind == "norm" else f"``{part.signature}``",
            "Parameters": ", ".join(f"``{p.written}`` ({escaped(p.allowed)})" for p in part.parameters),
            "Unit": escaped(part.units),
            "Range": escaped(part.range),
            "Source": escaped(part.source),
            "Used by": ", ".join(users),
        }
        shown.append("\n".join(f":{head}: {fact}" for head, fact in facts.items() if fact))
        if part.example and kind != "session":
            what = " import score" if "score(" in part.example else f".model.{kind}s import {part.name}"
            shown.append(f">>> from pyterrier_cwla{what}\n{part.example}")
    return page(shown)


def _part_formula(part: Entry) -> list[str]:
    """Return the first formula of a function in lines of its own, and the other paragraphs of its docstring."""
    formula = first_formula(part.formula)
    rest = " ".join((part.formula or part.says).split("\n\n")[0].split()).removeprefix(formula).removeprefix(".")
    others = (part.formula or part.says).split("\n\n")[1:]
    equations = [displayed(latex(line)) for line in formula.split("; ")] if formula else []
    return [*equations, *map(mathematics, (rest.strip(), *others))]


def _anchor(entry: Entry) -> str:
    return f"cwla-{entry.kind}-{entry.name}".replace("_", "-")


if __name__ == "__main__":
    pages = shipped()
    shutil.rmtree(SHIPPED, ignore_errors=True)
    write(pages, SHIPPED)

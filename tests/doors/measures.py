"""Table of measures for the doors: all names and all functions that the package declares, with their parameters.

The table is made from the package's own declarations (`measures.reference.entries`). A measure or function that is
added is therefore in it without an edit here.
"""

import random
import re
from itertools import product

from pyterrier_cwla.errors import CWLAError
from pyterrier_cwla.measures.declarations import needs_of
from pyterrier_cwla.measures.named import measures_of
from pyterrier_cwla.measures.reference import EntryParameter, entries
from pyterrier_cwla.model.language import TABLES, In

#: Values of parameters for which any value of the declared range would be odd or would be refused.
VALUES = {
    "C": ["'rbp(0.8)'", "'inst(1)'"], "A": ["'erg'", "'etg'"], "norm": ["'ideal'", "'all'"], "end": ["'stop'", "12"],
    "gain": ["'exponential'", "'binary(2)'"], "effort": ["'by_grade({0: 1, 1: 2, 2: 3.5, 3: 5})'"], "max_rel": ["3"],
    "measure": ["'AP'", "'nDCG@5'", "'TBG'"], "measures": ["{'one': 'TBG@4', 'two': 'TBG(half_life=60)'}"],
    "parameters": ["{'q0': {'half_life': 30}, '0q1': {'half_life': 90}}"], "lengths": ["'words.tsv'"], "missing": ["'mean'"],
    "duplicates": ["'clusters.tsv'"], "costs": ["'cost.tsv'"], "other": ["'measure'"], "b": ["3"],
    "phi": ["0.8"], "gains": ["{1: 0.4, 2: 0.7, 3: 1}"], "efforts": ["{0: 1, 1: 2, 2: 3.5, 3: 5}"], "floor": ["0.01"],
    "p_click": ["{0: 0.3, 1: 0.6, 2: 0.9}"], "p_save": ["{1: 0.3, 2: 0.9}"], "unit": ["'tokens'"], "seconds": ["{0: 9, 1: 25, 2: 70}"],
    "dcg": ["'exp-log2'"], "discount": ["'none'"], "R": ["'ranking'"], "others": ["'interpolate'"], "failed": ["50"],
    "documents": ["500"], "share": ["0.5"], "weights": ["0.2, 0.3, 0.5"], "credit": ["'smeared'"],
    "first": ["rr"], "second": ["prec(6)"], "values": ["1, 0.7, 0.4"], "shape": ["1.5"], "scale": ["60"], "rho": ["0.6"],
    "prior": ["0.2"], "what": ["'std'", "0.9"], "samples": ["20"], "abstention": ["'abstention.tsv'"], "harm": ["0.5"], "seed": ["3"], "duplicate_gain": ["'none'"], "cutoff": ["5", "1", "25"], "calibration": [], "label": [],
}  # fmt: skip
_WITHIN = ("GainWithin", "PrecisionWithin", "RecallWithin", "GainPerCost")
_OF_FUNCTION = {"phi": {"utility": ["log2", "table(1, 0.6, 0.4)"], "Cascade": ["'log2'"]}, "other": {"SetUtility": ["2"]},
                "measure": {"ByTopic": ["'TBG'"]}, "dcg": {"SDCG": []}, "p_click": {"clicksave": ["0.5"]},
                "p_save": {"clicksave": ["0.5"], "TBG": ["0.5"]}, "weights": {"IntentAware": [], "Mixture": []},
                "first": {"plus": ["unit"]}, "second": {"plus": ["by_rank(1, 2)"]}, "costs": {"by_rank": ["1, 2, 0.5"]}, "A": {"IFT": ["0.2"], "IFTRate": ["0.2"], "ift_rate": ["0.2"]}, "T": {name: ["60"] for name in _WITHIN}}  # fmt: skip
#: Parameters without which the example of a required one is refused.
_ALSO = {"ByTopic": "other"} | dict.fromkeys(_WITHIN, "costs")
_NUMBERS = ("2", "0.6", "1", "20", "0")

#: Measures whose parameters matter together.
TOGETHER = (
    "TBG(norm='ideal',lengths='words.tsv')@4", "TBG(norm='unlimited',half_life=60)", "TBG(credit='smeared')@3", "GMAP", "P(rel=2)@3",
    "TBG(duplicates='clusters.tsv',duplicate_gain='none',norm='ideal',lengths='words.tsv')", "Judged@10", "AP(rel=2,judged_only=True)@10",
    "UMeasure(T=120,max_rel=3,effort='reading')", "nDCG(gains={0:0,1:2,2:3,3:9})", "NumRet(rel=1)", "ERR@7",
    "AdaptiveGAP(effort='grade_time',gain='threshold(0.2,0.3,0.5)')", "AdaptivenDCG(effort='ratio(4)')@5",
    "CWLA(C='inst(2)',A='max',max_rel=3,gain='exponential')@6", "CWLA(C='rr',A='err',gain='exponential',max_rel=3)@4",
    "CWLA(C='ap2(rel=1)',A='avg',effort='ratio(4)',max_rel=3)", "CWLA(C='decay(60)',A='etg',effort='time',max_rel=3)",
    "CWLA(C='rbp(0.8)',A='avg',effort='time',max_rel=3,unseen=9)", "CWLA(C='rbp(0.8)',A='effort',max_rel=3)",
    "CWLA(C='rbp(0.9)',A='avg',effort='seconds',costs='cost.tsv',max_rel=3,end='stop')",
    "CWLA(C='rbp(0.9)',A='erg',effort='time',lengths='words.tsv',missing='mean',max_rel=3,unseen=9)",
    "CWLA(C='bpm(1,8)',A='fgt(0.7)',max_rel=3,norm='mean')", "CWLA(C='patience(200)',A='smeared(120)',effort='reading',max_rel=3,end=4)",
    "Residual(measure='TBG(half_life=60,unseen=9)')", "Residual(measure=\"CWLA(C='rbp(0.8)',A='erg',max_rel=3)\")",
    "Residual(measure=\"CWLA(C='rbp(0.8)',A='erg',norm='ideal',max_rel=3)\")", "CWLA(C='patience(30)',A='erg',max_rel=3)",
    "Expected(measure='RBP(rel=1)',prior=0.2)", "Expected(measure=\"CWLA(C='inst(2)',A='erg',max_rel=3)@5\",prior={0:0.8,2:0.2},samples=20)", "GeometricMean(measure='TBG')", "UDCG(abstention='abstention.tsv',harm=0.4)@6", "Logistic(measure=\"UDCG(abstention='abstention.tsv')\")", "Logistic(measure='TBG@3')", "GeometricMean(measure='Bpref')", "Mixture(measures={'a':'TBG(half_life=60)','b':'TBG'},weights={'a':0.25,'b':0.75})",
    "ByTopic(measure='TBG',parameters={'q0': {'half_life': 30}, 'q1': {'half_life': 90}},other='measure')",
    "CWLA(C='rbp(0.8)',A='erg',gain='table({0:-0.5,1:0.3,2:1,3:1})')", "CWLA(C='inst(1)',A='max',gain='table({0:-0.5,1:1,2:-1,3:0.5})')@6",
    "Residual(measure=\"CWLA(C='rbp(0.8)',A='avg',gain='table({0:-0.5,1:0.3,2:1,3:1})')\",side='lower')",
)  # fmt: skip


def _values(parameter: EntryParameter, name: str) -> list[str]:
    """Return values of a declared parameter, as text."""
    own = parameter.name.removeprefix("*")
    known = _OF_FUNCTION.get(own, {}).get(name, VALUES.get(own))
    if known is not None:
        return known
    if parameter.allowed == "True or False":
        return [str(not parameter.default)]
    if choices := [one for one in re.findall("'[^']*'", parameter.allowed) if one != repr(parameter.default)]:
        return choices
    if interval := re.search(r"[\[(][^,\[(]+, [^,]+?[\])]", parameter.allowed):
        inside = In(interval[0].replace("∞", "inf"), whole="whole" in parameter.allowed)
        found = [text for text in _NUMBERS if (int if text.isdigit() else float)(text) in inside]
        return [text for text in found if text != str(parameter.default)][:1]
    raise AssertionError(f"{name}: give values of the parameter {parameter.name!r} in tests/doors/measures.py")


def _texts(entry, variations: bool) -> list[str]:
    """Return a call with the required parameters alone; with variations, one more for each value of a parameter."""
    needed = {
        p.name: _values(p, entry.name)[0] for p in entry.parameters if p.required or p.name == _ALSO.get(entry.name)
    }
    graded = needed | {p.name: "3" for p in entry.parameters if p.name == "max_rel"}
    found = [needed, graded]
    for parameter in entry.parameters if variations else ():
        found += [graded | {parameter.name: value} for value in _values(parameter, entry.name)]
    return list(dict.fromkeys(_call(entry.name, given) for given in found))


def _call(name: str, given: dict[str, str]) -> str:
    cutoff = f"@{given['cutoff']}" if "cutoff" in given else ""
    if name == "IPrec":
        return f"{name}@{given['recall']}"
    inside = [value if key.startswith("*") else f"{key}={value}" for key, value in given.items() if key != "cutoff"]
    return f"{name}({', '.join(inside)}){cutoff}" if inside else f"{name}{cutoff}"


def _cwla(C: str = "rbp(0.8)", A: str = "erg", cutoff: int | None = None, **more: str | int) -> str:
    given = {"C": C, "A": A, "max_rel": 3, **more}
    inside = ",".join(f"{key}={value!r}" for key, value in given.items())
    return f"CWLA({inside})" + (f"@{cutoff}" if cutoff else "")


def _combinations(variations: bool) -> list[str]:
    """Return each function of the language within a measure; with variations, also every C with every A."""
    parts = {kind: [text for entry in _of_kind(kind) for text in _texts(entry, variations)]
             for kind in ("gain", "effort", "continuation", "aggregation", "discount", "norm")}  # fmt: skip
    parts["effort"].remove("given")  # efforts that a caller passes as arrays
    costs = {"costs": "cost.tsv"}
    found = [_cwla(C=C, A=A, cutoff=k) for C in parts["continuation"] for A, k in (("etg", None), ("avg", 6))]
    found += [_cwla(C="inst(1)", A=A) for A in parts["aggregation"]]
    found += [_cwla(C="rr", A=f"utility({phi})") for phi in parts["discount"]]
    found += [_cwla(gain=gain) for gain in parts["gain"]]
    found += [
        _cwla(A="avg", effort=e, unseen=9, **(costs if "cost" in e or "seconds" in e else {})) for e in parts["effort"]
    ]
    found += [_cwla(C="decay(60)", A="etg", norm=norm) for norm in parts["norm"]]
    found += [_cwla(C="dcg", A=A, end=end) for A, end in (("erg", "stop"), ("max", 12), ("etg", "open"))]
    if variations:
        every = product(parts["continuation"], parts["aggregation"], (("open", None), ("stop", 4)))
        found += [_cwla(C=C, A=A, end=end, cutoff=k) for C, A, (end, k) in every]
    return found


def random_combination(rng: random.Random) -> str:
    """Return a measure with a random choice of each part of the framework."""

    def one(kind: str) -> str:
        return rng.choice([text for entry in _of_kind(kind) for text in _texts(entry, True) if text != "given"])

    more: dict[str, str | int | float] = {"gain": one("gain"), "end": rng.choice(("open", "open", "stop", 12))}
    if rng.random() < 0.6:
        more |= {"effort": one("effort"), "costs": "cost.tsv"}
        more |= {"unseen": rng.choice((5, 12.5, 300))} if rng.random() < 0.7 else {}
    more |= {"norm": one("norm")} if rng.random() < 0.3 else {}
    return _cwla(one("continuation"), one("aggregation"), rng.choice((None, None, 4, 15)), **more)


def _of_kind(*kinds: str) -> list:
    """Return the entries of the package itself; modules of tests may have registered functions of their own."""
    own = [entry for entry in entries() if entry.kind in kinds]
    return [entry for entry in own if entry.kind not in TABLES or TABLES[entry.kind][entry.name].built_in]


def of_rows(variations: bool = False) -> list[str]:
    """Return all measures of rankings whose judgments have no intents."""
    names = [text for entry in _of_kind("measure", "ir_measures") for text in _texts(entry, variations)]
    together = [repr(measure) for measure in measures_of(TOGETHER)]  # which are never refused
    return _unique([*names, *_combinations(variations), *together], intents=False)


def of_intents(variations: bool = False) -> list[str]:
    """Return all measures that read the intents of judgments."""
    names = [text for entry in _of_kind("measure", "ir_measures") for text in _texts(entry, variations)]
    some = _of_kind("measure", "ir_measures") if variations else []
    inner = ["TBG @ 4", "INST(max_rel=3)", *(_texts(entry, False)[0] for entry in some)]
    return _unique([*names, *(f'IntentAware(measure="{one}")' for one in inner if '"' not in one)], intents=True)


def of_sessions() -> list[str]:
    """Return all measures of sessions, with a second value of each of their parameters."""
    return _unique([text for entry in _of_kind("session") for text in _texts(entry, True)], intents=False)


def _unique(texts: list[str], intents: bool) -> list[str]:
    """Return the texts of measures of different names, without those that the declarations themselves refuse."""
    found = {}
    for text in texts:
        try:
            (measure,) = measures_of([text])
            if needs_of(measure).intents == intents:
                found.setdefault(str(measure), text)
        except CWLAError:
            continue
    return list(found.values())

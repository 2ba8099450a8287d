"""Texts of measures: valid ones have a stable name and the scores of the slow reference, all others are errors."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pandas as pd
from ir_measures.measures import Measure

from pyterrier_cwla import register_duplicates, register_lengths
from pyterrier_cwla.data import register_intent_weights
from pyterrier_cwla.data.alignment import Aligned, Judgments
from pyterrier_cwla.errors import CWLAError
from pyterrier_cwla.measures.catalogue import CALIBRATION, CLUSTERS, END, LENGTHS, ROWS
from pyterrier_cwla.measures.counting import COUNTS
from pyterrier_cwla.measures.diversity import DIVERSITY
from pyterrier_cwla.measures.labels import labelled
from pyterrier_cwla.measures.named import measures_of
from pyterrier_cwla.measures.provider import CWLAEvaluator, computed_here
from pyterrier_cwla.measures.wrappers import MEASURES, innermost
from pyterrier_cwla.model.language import FLAG, TABLES, Kind

from . import slow
from .found import Wrong

EXAMPLES = [text.encode() for text in (
    "AP", "nDCG@10", "nDCG(dcg='exp-log2')@5", "RBP(p=0.8,rel=1)", "P(rel=2)@5", "ERR@10", "TBG", "TBG(half_life=120)@2",
    "TBG(lengths='words',norm='ideal')", "TBG(lengths='words',norm='unlimited',missing='mean')", "UMeasure(T=300)",
    "CWLA(C='rbp(0.8)',A='erg',max_rel=3)", "CWLA(C='inst(1)',A='max',max_rel=2)@20", "Bpref", "infAP", "NumRel(rel=2)",
    "CWLA(C='product(rr(rel=1),prec(3))',A='pe(0.5)',gain='table({1:0.5,2:1})',norm='ideal')", "GMAP", "Judged@10",
    "CWLA(C='decay(60)',A='smeared',effort='time',gain='clicksave',lengths='words',end='stop',duplicates='few')",
    "CWLA(C='fixed(1,0.5,0.25)',A='utility(log2)',gain='threshold(0.4,0.6)',end=3)", "Residual(measure='TBG')",
    "GeometricMean(measure='AP@5',floor=0.01)", "IntentAware(measure='ERR@20',weights='web')", "AdaptiveGP@3",
    "Residual(measure=\"CWLA(C='rbp(0.5)',A='etg',max_rel=2)\")", "nDCG(gains={0:0,1:3,2:9})@3",
    "ndcg_cut_10", "map_cut.5", "gm_map", "tbg@3", "CWLA(C=inst(2),A=max,max_rel=3)", "early=nDCG@10",
    "Residual(measure=CWLA(C=rbp(0.5),A=etg,gain=table({1:0.5,2:1}),max_rel=2))@3",
    "ESL", "ESL(wanted=2,rel=2,documents=9)", "QMeasure", "QMeasure(beta=10,gain='table({1:0.3,2:0.7})')@3", "QMeasure(rel=2,judged_only=True,normalise='R')@4",
)]  # fmt: skip
_NUMBERS = ["0", "1", "2", "3", "0.5", "0.8", "1.5", "10", "20", "1000", "1e9", "1000000000", "10000000000", "1e-9", "1e308",
            "1e309", "-1", "-0.0", "0.9999999999999999", "9" * 400, "5e-324", "2**9", "0x10", "1_000", "1j", "True", "None",
            "'1'", "nan", "inf", "9007199254740993", "1e16", "0.1", "224", "'open'", "'stop'", "()", "[1]", "{}", "{1:1}",
            "{0:0,1:0.5,2:1}", "{1:0.2,2:0.9}", "{1:1e308,2:1e308}", "{-1:1}", "{1.5:1}", "b'1'", "f'{1}'", "..."]  # fmt: skip
_NAMES = ["words", "few", "web", "run", "uniform", "/etc/passwd", "../x", "/dev/zero", "/dev/stdin", ".", "", "a\0b", "\ud800",
          "<script>", "\u2028", "x" * 300, "README.md"]  # fmt: skip
_ROLES = {"C": "continuation", "A": "aggregation", "gain": "gain", "effort": "effort"}
_PARAMETERS = {one.name: one.parameters for table in (ROWS, COUNTS, DIVERSITY) for one in table.values()}
TOKENS = [
    *(name.encode() for name in (*_PARAMETERS, *MEASURES, *(n for parts in TABLES.values() for n in parts))),
    *(text.encode("utf-8", "surrogatepass") for text in (*_NUMBERS, *_NAMES)),
    *(parameter.name.encode() for parameters in _PARAMETERS.values() for parameter in parameters),
    *(b"(", b")", b"=", b"@", b"'", b'"', b"{", b"}", b":", b"*", b"**", b"lambda:0", b"__import__('os')", b"#", b";", b"\\",
      b"max_rel=2", b"(" * 500, b"product(" * 90, b"-" * 300, b"[" * 300, b"measure='AP'", b"1," * 2000, b"@10", b"'''"),
]  # fmt: skip

register_lengths("words", {"a": 100, "b": 0, "c": 350, "d": 20, "e": 3, "u": 70, "x": 500})
register_duplicates("few", {"c": "a", "e": "d"})
register_intent_weights("web", {"q1": {"0": 1.0}, "q2": {"0": 1.0}})
_WORDS = {"a": 100.0, "b": 0.0, "c": 350.0, "d": 20.0, "e": 3.0, "u": 70.0, "x": 500.0}
_GRADES = {"q1": {"a": 1, "b": 0, "c": 2, "x": 1}, "q2": {"d": 1}}
_RANKED = {"q1": "aubc", "q2": "ed"}
_JUDGMENTS = Judgments(
    pd.DataFrame(
        [(q, d, g) for q, of in _GRADES.items() for d, g in of.items()], columns=["query_id", "doc_id", "relevance"]
    )
)
_RUN = pd.DataFrame(
    [(q, d, -float(rank), _WORDS[d]) for q, documents in _RANKED.items() for rank, d in enumerate(documents)],
    columns=["query_id", "doc_id", "score", "doc_length"],
)
_ALIGNED = Aligned(_JUDGMENTS, [_JUDGMENTS.rows(_RUN)])


def one_input(data: bytes) -> bool:
    """Test one input; return whether it is a valid measure."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        measure = computed_here([text])[0]
    except CWLAError as error:
        if len(str(error)) > 20_000:
            raise Wrong(f"an error of {len(str(error)):,} characters") from error
        return False
    name = repr(measure)
    again = labelled(measures_of([name])[0], getattr(measure, "label", None))
    if repr(again) != name or again != measure or hash(again) != hash(measure):
        raise Wrong(f"{name!r} is read as {again!r}")
    if len(data) % 16 == 0 and repr(pickle.loads(pickle.dumps(measure))) != name:
        raise Wrong(f"{name!r} changes when pickled")
    try:
        with _ALIGNED.forgetting():
            found = CWLAEvaluator([measure], _JUDGMENTS).values(_ALIGNED)[measure]
    except CWLAError:
        return True
    undefined = np.isnan(found) & (innermost(measure).NAME == "Accuracy")  # Accuracy may have no value
    if not (np.isfinite(found) | undefined).all():
        raise Wrong(f"{name!r} is {found}")
    for qid, value in zip(_JUDGMENTS.qids, found.tolist(), strict=True):
        expected = _slowly(measure, qid)
        if expected is not None and not slow.close(value, expected):
            raise Wrong(f"{name!r} of {qid} is {value!r}, expected {expected!r}")
    return True


def _slowly(measure: Measure, qid: str) -> float | None:
    """Score by the slow reference; None for measures without a reference."""
    judged, words = list(_GRADES[qid].values()), [_WORDS[d] for d in _GRADES[qid]]
    grades = [_GRADES[qid].get(d) for d in _RANKED[qid]]
    return slow.value(measure, grades, judged, [_WORDS[d] for d in _RANKED[qid]], words, highest=2)


# ---- texts


def grammar(rng: random.Random) -> bytes:
    """Return a random measure with parameters inside and outside their ranges."""
    return _measure(rng).encode("utf-8", "surrogatepass")


def _measure(rng: random.Random, depth: int = 0) -> str:
    if rng.random() < 0.15 and depth < 3:
        inner = _measure(rng, depth + 1)
        more = {"GeometricMean": ("", ",floor=0.1"), "IntentAware": ("", ",weights='web'"), "Residual": ("",)}
        name = rng.choice(list(more))
        return f"{name}(measure={inner!r}{rng.choice(more[name])})"
    name = rng.choice(["CWLA"] * 10 + [*ROWS, *_PARAMETERS])
    given = []
    for parameter in _PARAMETERS[name]:
        if parameter.name != "cutoff" and (parameter.required or rng.random() < 0.2 or parameter.name == "max_rel"):
            given.append(f"{parameter.name}={_value(rng, parameter.allowed)}")
    inside = f"({','.join(given)})" if given else ""
    return name + inside + (f"@{rng.choice(_NUMBERS[:12])}" if rng.random() < 0.25 else "")


def _value(rng: random.Random, allowed: Kind) -> str:
    if rng.random() < 0.03:
        return rng.choice([*_NUMBERS, *map(repr, _NAMES)])
    if allowed.function:
        return repr(_spec(rng, allowed.function))
    if allowed == LENGTHS:
        return "'words'"
    if allowed == CLUSTERS:
        return rng.choice(("'few'", "'run'"))
    if allowed == FLAG:
        return rng.choice(("True", "False"))
    if allowed == END:
        return rng.choice(("'open'", "'stop'", "1", "3", "40"))
    if allowed == CALIBRATION:
        return "'nowhere.json'"
    if allowed.choices:
        return repr(rng.choice(allowed.choices))
    return _number(rng, allowed)


def _spec(rng: random.Random, kind: str, depth: int = 0) -> str:
    part = TABLES[kind][rng.choice([name for name, part in TABLES[kind].items() if part.built_in])]
    given = []
    for parameter in part.parameters:
        allowed = parameter.allowed
        if parameter.many:
            given += [_number(rng, allowed) for _ in range(rng.randint(1, 6))]
        elif parameter.required or rng.random() < 0.4:
            if allowed.function:
                value = _spec(rng, allowed.function, depth + 1) if depth < 3 else "rr"
            elif allowed.choices:
                value = rng.choice(allowed.choices)
            else:
                value = _number(rng, allowed)
            given.append(f"{parameter.name}={value}")
    return f"{part.name}({','.join(given)})" if given else part.name


def _number(rng: random.Random, allowed: Kind) -> str:
    if rng.random() < 0.05:
        return rng.choice(_NUMBERS)
    if allowed.by_grade:
        return "{" + ",".join(f"{g}:{round(rng.random(), 2)}" for g in range(rng.randint(0, 1), 3)) + "}"
    if allowed.whole:
        return str(rng.choice((1, 1, 2, 3, 5, 10, 100)))
    if allowed.interval.endswith(("1)", "1]")):
        return str(rng.choice((0, 0.1, 0.5, 0.8, 0.99, round(rng.random(), 3))))
    return str(rng.choice((0.5, 1, 1.5, 2, 3, 10, 60, 224, round(rng.random() * 20, 2))))

"""Write the explorer's page of the site: it opens without a network and shows numbers that are computed here.

``python docs/explorer_page.py FILE`` writes the page alone. Sphinx puts it into the site as ``explore.html``.
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyterrier_cwla.explorer import Exploration
from pyterrier_cwla.explorer.lessons import lessons
from pyterrier_cwla.explorer.page import page

NAME = "explore.html"
TITLE = "Explore user models"
_SCRIPT = Path(__file__).parent / "explorer_presets.js"
_NOTE = (
    "Choose a measure, move its slider, and choose one of four pairs of rankings. All numbers of this page"
    " were computed beforehand: sliders step through computed values. To explore your own runs, and to change grades,"
    " the order of documents and every parameter, open the explorer from the shell"
    " (pyterrier-cwla explore QRELS RUN RUN) or in a notebook (explore(qrels, runs))."
)
_UNKNOWN = (
    "This page has no numbers for this: it shows computed values only. Open the explorer from the shell or in a"
    " notebook for all measures and values."
)
Answer = dict[str, Any]
Runs = dict[str, dict[str, dict[str, float]]]


@dataclass(frozen=True)
class Preset:
    """A measure of the page and its slider.

    Attributes
    ----------
    name : str
        Name in the list of measures.
    label : str
        What the list shows.
    measure : str
        The measure at the start.
    path : str
        The control with a slider.
    values : tuple of str
        Values of the slider, as texts.
    says : str, default=""
        What the measure is; by default the summary of its reference.
    """

    name: str
    label: str
    measure: str
    path: str
    values: tuple[str, ...]
    says: str = ""


@dataclass(frozen=True)
class Pair:
    """Two rankings of the page.

    Attributes
    ----------
    name, about : str
        Name, and one sentence about the two rankings.
    A, B : str
        Grades in rank order; "-" is a document without a judgment.
    words : tuple of int, default=(500, 500)
        Lengths of the documents of A and B.
    kinds : tuple of str, default=("d", "d")
        First parts of the ids of A and B. If they are the same, so is the n-th document of each grade.
    """

    name: str
    about: str
    A: str
    B: str
    words: tuple[int, int] = (500, 500)
    kinds: tuple[str, str] = ("d", "d")


_TARGETS = ("0.5", "1", "1.5", "2", "2.5", "3", "4", "5", "6", "8", "10")
_CUTOFFS = tuple(map(str, range(1, 13)))
_PHI = (*(f"{percent / 100:g}" for percent in range(5, 100, 5)), "0.98")
MEASURES = (
    Preset("RBP", "RBP: rank-biased precision, with grades", "CWLA(C='rbp(0.7)',A='erg',max_rel=2)", "C.phi", _PHI,
           "Gain per document of users who go on with the same probability after every document."),
    Preset("INST", "INST: users with an expected gain T", "INST(T=2,max_rel=2)", "T", _TARGETS),
    Preset("INSQ", "INSQ: users who want T relevant documents", "INSQ(T=2,max_rel=2)", "T", _TARGETS),
    Preset("BPM", "BPM: users stop after a gain of T, or after 10 documents", "BPM(T=2,max_rel=2)@10", "T", _TARGETS),
    Preset("ERR", "ERR: expected reciprocal rank", "ERR@10", "cutoff", _CUTOFFS),
    Preset("AP", "AP: average precision", "AP", "rel", ("1", "2")),
    Preset("nDCG", "nDCG@k: normalised discounted cumulative gain", "nDCG@10", "cutoff", _CUTOFFS),
    Preset("P", "P@k: precision", "P@10", "cutoff", _CUTOFFS),
    Preset("RR", "RR: reciprocal rank", "RR", "rel", ("1", "2")),
    Preset("TBG", "TBG: time-biased gain", "TBG", "half_life",
           ("15", "30", "60", "90", "120", "180", "224", "300", "450", "600", "900", "1800")),
    Preset("UMeasure", "UMeasure: gain before a time limit", "UMeasure(T=240,max_rel=2)", "T",
           ("15", "30", "45", "60", "75", "90", "105", "120", "150", "180", "210", "240")),
    Preset("Cascade", "Cascade: users who are satisfied or give up", "Cascade(gamma=0.8,max_rel=2)", "gamma", _PHI),
    Preset("SDCG", "SDCG@k: scaled discounted cumulative gain", "SDCG(max_rel=2)@10", "cutoff", _CUTOFFS),
)  # fmt: skip
PAIRS = (
    Pair(
        "One early or many late",
        "A has one highly relevant document at rank 1 and nothing else. B has six relevant documents, from rank 4 on.",
        "2 0 0 0 0 0 0 0 0 0 0 0",
        "0 0 0 1 1 1 1 1 1 0 0 0",
    ),
    Pair(
        "Good at once or perfect later",
        "A begins with two relevant documents. B has two highly relevant documents, after three that are not relevant.",
        "1 1 0 0 0 1 0 0 0 0 0 0",
        "0 0 0 2 2 0 0 1 0 0 0 0",
    ),
    Pair(
        "Documents without judgments",
        "Nobody has judged the documents at ranks 2, 4 and 6 of A. All documents of B are judged.",
        "1 - 2 - 0 - 0 1 0 0 0 0",
        "1 0 2 1 0 1 0 0 0 0 0 0",
    ),
    Pair(
        "Long or short documents",
        "A has the better grades, but its documents have 2,000 words each. Those of B have 300 words.",
        "2 1 1 0 1 0 1 0 0 0 1 0",
        "1 1 0 1 1 0 1 0 0 0 1 0",
        words=(2000, 300),
        kinds=("long", "short"),
    ),
)


def written(measures: Sequence[Preset] = MEASURES, pairs: Sequence[Pair] = PAIRS) -> str:
    """Return the page as HTML."""
    exploration = exploration_of(pairs)
    known = _computed(exploration, measures, [pair.name for pair in pairs])
    first, topic = measures[0], pairs[0].name
    answers, at = known["answers"][topic][first.name], known["measures"][first.name]["start"]
    start = {
        "mode": "presets",
        "title": TITLE,
        "runs": [*exploration.rows],
        "state": answers["states"][at],
        "sweep": answers["sweep"],
        "topics": known["topics"][first.name][at] if len(pairs) > 1 else None,
        "lessons": [{**lesson, "topic": topic} for lesson, topic in zip(lessons(2), _TOPICS, strict=True)],
        "note": _NOTE,
        "presets": base64.b64encode(gzip.compress(json.dumps(known, allow_nan=False).encode(), mtime=0)).decode(),
    }
    return page(start, f"({_SCRIPT.read_text(encoding='utf-8').strip()})(start.presets)", TITLE, about="explorer.html")


#: The pair of rankings of each lesson.
_TOPICS = (PAIRS[3].name, PAIRS[0].name, PAIRS[0].name)


def exploration_of(pairs: Sequence[Pair] = PAIRS) -> Exploration:
    """Return the exploration of pairs of rankings; each pair is a topic."""
    qrels, runs, lengths = collection_of(pairs)
    return Exploration(qrels, runs, lengths=lengths, queries={pair.name: pair.about for pair in pairs})


def collection_of(pairs: Sequence[Pair] = PAIRS) -> tuple[dict[str, dict[str, int]], Runs, dict[str, float]]:
    """Return judgments, runs and lengths of documents of pairs of rankings."""
    qrels: dict[str, dict[str, int]] = {}
    runs: Runs = {"A": {}, "B": {}}
    lengths: dict[str, float] = {}
    for pair in pairs:
        ids: dict[str, dict[tuple[str, int], str]] = {kind: {} for kind in pair.kinds}
        for name, text, words, kind in zip("AB", (pair.A, pair.B), pair.words, pair.kinds, strict=True):
            graded = list(_documents(text.split(), kind, ids[kind]))
            runs[name][pair.name] = {doc_id: float(-rank) for rank, (doc_id, _) in enumerate(graded)}
            judged = {doc_id: int(grade) for doc_id, grade in graded if grade != "-"}
            qrels.setdefault(pair.name, {}).update(judged)
            lengths.update(dict.fromkeys((doc_id for doc_id, _ in graded), float(words)))
    return qrels, runs, lengths


def _documents(grades: Sequence[str], kind: str, ids: dict[tuple[str, int], str]) -> Iterator[tuple[str, str]]:
    """Yield the id and the grade of each document; `ids` has those that are known, by grade and number."""
    for rank, grade in enumerate(grades):
        nth = grade, grades[: rank + 1].count(grade)
        yield ids.setdefault(nth, f"{kind}{len(ids) + 1}"), grade


def _computed(exploration: Exploration, measures: Sequence[Preset], topics: Sequence[str]) -> Answer:
    """Return the answers to all requests that the page can send."""
    known: Answer = {"unknown": _UNKNOWN, "measures": {}, "texts": {}, "topics": {}, "answers": {}}
    known["code"] = {
        topic: _answer(exploration, {"want": "code", "topic": topic, "measure": "TBG"})["code"] for topic in topics
    }
    for preset in measures:
        values = [{"measure": preset.measure, "set": {preset.path: value}} for value in preset.values]
        first = _limited(_answer(exploration, {"measure": preset.measure, "topic": topics[0]}), preset, measures)
        known["measures"][preset.name] = {
            "path": preset.path,
            "values": [*preset.values],
            "start": next(one["at"] for one in first["controls"] if one["kind"] == "number"),
        }
        known["topics"][preset.name] = [_answer(exploration, {"want": "topics", **one}) for one in values]
        for topic in topics:
            states = [_limited(_answer(exploration, {"topic": topic, **one}), preset, measures) for one in values]
            sweep = _answer(
                exploration, {"want": "sweep", "measure": preset.measure, "sweep": preset.path, "topic": topic}
            )
            known["answers"].setdefault(topic, {})[preset.name] = {"states": states, "sweep": sweep}
        known["texts"] |= {state["measure"]["text"]: [preset.name, at] for at, state in enumerate(states)}
    return known


def _answer(exploration: Exploration, request: Mapping[str, Any]) -> Answer:
    answer = exploration.answer(request)
    if "error" in answer:
        raise ValueError(f"{request}: {answer['error']}")
    return answer


def _limited(state: Answer, preset: Preset, measures: Sequence[Preset]) -> Answer:
    """Return a state with the controls that the page has answers for."""
    controls = []
    for control in state["controls"]:
        if control["path"] == "measure":
            options = [{"value": one.name, "label": one.label} for one in measures]
            controls.append(
                {**control, "value": preset.name, "options": options, "says": preset.says or control["says"]}
            )
        elif control["path"] == preset.path:
            steps = [*preset.values]
            at = min(range(len(steps)), key=lambda i: abs(float(steps[i]) - float(control["value"])))
            controls.append({**control, "value": steps[at], "steps": steps, "at": at, "sweep": len(steps) > 2})
        elif control["group"] == "choices":
            chosen = [option for option in control["options"] if option["value"] == control["value"]]
            controls.append({**control, "options": chosen})
    return {**state, "controls": controls}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(written(), encoding="utf-8")

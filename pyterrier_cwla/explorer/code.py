"""Python code that computes the scores of the explorer's page again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from ir_measures.measures import Measure

from ..data.lengths import Lengths
from ..errors import BadParameter, many
from ..measures.declarations import needs_of
from .states import Topic

_MOST = 1_000  # documents of a topic in the code


def code_of(measures: Sequence[Measure], topic: Topic, lengths: Lengths | None) -> str:
    """Return lines of Python that compute the scores of the rankings of a topic, with all data that they need.

    Parameters
    ----------
    measures : sequence of ir_measures.Measure
        Measures with a user model.
    topic : Topic
        The topic, with its changes.
    lengths : Lengths or None
        Lengths of documents; None for the run's column ``doc_length``, if there is one.

    Raises
    ------
    BadParameter
        If the topic has too many documents, or the measure reads other columns of the run or a mean of the whole run.
    """
    names = list(dict.fromkeys([*topic.grades, *(doc_id for ids in topic.ids.values() for doc_id in ids)]))
    needs = [needs_of(measure) for measure in measures]
    if len(names) > _MOST:
        raise BadParameter(
            f"this topic has {many(len(names), 'document')}, too many to copy: copy the measure, and give it to"
            " evaluate with your own judgments and runs."
        )
    if any(one.mean_of or "run" in (one.costs, one.duplicates) for one in needs):
        raise BadParameter(
            f"{' or '.join(map(str, measures))} reads more of the run than its order and lengths: copy the measure, and"
            " give it to evaluate with your own judgments and runs."
        )
    if any("table" in (one.lengths, one.costs) for one in needs):
        raise BadParameter(
            "the measure has a table of lengths or costs of its own, which text cannot contain: copy the measure, and"
            " give it to evaluate where the table is registered."
        )
    with_words = any(one.lengths != "none" for one in needs)
    words = _words_of(names, topic, lengths) if with_words else {}
    grades = {name: float(grade) if grade % 1 else int(grade) for name, grade in topic.grades.items()}
    lines = [
        f"from pyterrier_cwla import evaluate{', register_lengths' * bool(words)}",
        "",
        f"qrels = {{{topic.qid!r}: {grades!r}}}",
        f"lists = {topic.ids!r}",
        f"runs = {{name: {{{topic.qid!r}: {{d: -i for i, d in enumerate(ids)}}}} for name, ids in lists.items()}}",
        *([f"register_lengths({words!r})"] if words else []),
        f"print(evaluate(qrels, runs, {[repr(measure) for measure in measures]}))",
    ]
    return "\n".join(lines) + "\n"


def _words_of(names: list[str], topic: Topic, lengths: Lengths | None) -> dict[str, float]:
    """Return the known lengths of documents, from a table or else from the runs."""
    found: dict[str, float] = {}
    table = Lengths.default if lengths is None else lengths
    if table is not None:
        found = dict(zip(names, table.of_documents(pa.array(names, pa.large_string())).tolist(), strict=True))
    else:
        for name, run in topic.runs.items():
            for doc_id, words in zip(topic.ids[name], [] if run.doc_length is None else run.doc_length, strict=False):
                if np.isfinite(words) and found.setdefault(doc_id, words) != words:
                    raise BadParameter(f"the runs have different lengths of {doc_id!r}, and the code has one.")
    return {name: int(words) if words % 1 == 0 else words for name, words in found.items() if np.isfinite(words)}

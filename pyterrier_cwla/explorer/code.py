"""Python code that computes the scores of the explorer's page again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from ir_measures.measures import Measure

from ..data.lengths import Lengths
from ..errors import BadParameter, many
from ..measures.declarations import needs_of
from .states import Topic

_MOST = 1_000  # documents of a topic in the code


def code_of(measure: Measure, topic: Topic, lengths: Lengths | None) -> str:
    """Return lines of Python that compute the scores of the rankings of a topic, with all data that they need.

    Parameters
    ----------
    measure : ir_measures.Measure
        A measure with a user model.
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
    needs = needs_of(measure)
    if len(names) > _MOST:
        raise BadParameter(
            f"this topic has {many(len(names), 'document')}, too many to copy: copy the measure, and give it to"
            " evaluate with your own judgments and runs."
        )
    if needs.mean_length or needs.seconds == "run" or needs.duplicates == "run":
        raise BadParameter(
            f"{measure} reads more of the run than its order and lengths: copy the measure, and give it to evaluate"
            " with your own judgments and runs."
        )
    with_words = needs.lengths != "none"
    words = _words_of(names, topic, lengths) if with_words else {}
    grades = {name: float(grade) if grade % 1 else int(grade) for name, grade in topic.grades.items()}
    lines = [
        f"from pyterrier_cwla import evaluate{', register_lengths' * bool(words)}",
        "",
        f"qrels = {{{topic.qid!r}: {grades!r}}}",
        f"lists = {topic.ids!r}",
        f"runs = {{name: {{{topic.qid!r}: {{d: -i for i, d in enumerate(ids)}}}} for name, ids in lists.items()}}",
        *([f"register_lengths({words!r})"] if words else []),
        f"evaluate(qrels, runs, [{repr(measure)!r}])",
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
            if run.doc_length is not None:
                found |= dict(zip(topic.ids[name], run.doc_length.tolist(), strict=False))
    return {name: int(words) if words % 1 == 0 else words for name, words in found.items() if np.isfinite(words)}

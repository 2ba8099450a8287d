"""Small runs and judgments for the doors, one for each property of rows that a door could treat in its own way."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

DOCUMENTS = [f"d{number}" for number in range(40)]
WORDS = {document: 1.0 + 37 * number % 900 for number, document in enumerate(DOCUMENTS)}
COSTS = {document: 2.0 + 11 * number % 61 for number, document in enumerate(DOCUMENTS)}
QUERIES = [f"{first}q{number}" for first in ("", *range(5)) for number in range(6)]
#: Probabilities of abstention; some documents have none.
ABSTENTION = {
    q: {d: (7 * i + 3 * k) % 20 / 19 for k, d in enumerate(DOCUMENTS) if (i + k) % 5} for i, q in enumerate(QUERIES)
}
CLUSTERS = {document: f"c{number // 3}" for number, document in enumerate(DOCUMENTS)}


@dataclass(frozen=True, eq=False)
class Data:
    """A run with lengths and judgments, with the column names of ir_measures."""

    run: pd.DataFrame
    qrels: pd.DataFrame


def write_tables(folder: Path) -> None:
    """Write the tables of documents that measures name to a folder."""
    tables = {"words": WORDS, "docno\tcost": COSTS, "docno\tclusters": CLUSTERS}
    for heading, known in tables.items():
        lines = [heading] * ("\t" in heading) + [f"{document}\t{value}" for document, value in known.items()]
        (folder / f"{heading.split()[-1]}.tsv").write_text("\n".join(lines) + "\n")
    abstains = [f"{q}\t{d}\t{p}\n" for q in ABSTENTION for d, p in ABSTENTION[q].items()]
    (folder / "abstention.tsv").write_text("topic\tdocno\tp_abstain\n" + "".join(abstains))


def random_data(
    seed: int, grades: tuple = (0, 0, 1, 2, 3), *, ties: bool = False, judged: int = 18, least: int = 0
) -> Data:
    """Return results of six queries and judgments in random order; documents below rank ``least`` are judged."""
    rng = np.random.default_rng(seed)
    run, qrels = [], []
    for query in (f"q{number}" for number in range(6)):
        documents = rng.permutation(DOCUMENTS)[:24].tolist()
        depth = int(rng.integers(4, 14))
        scores = rng.integers(0, 3, depth) / 4 if ties else rng.permutation(depth) / 8 - 0.5
        run += [(query, d, s, WORDS[d]) for d, s in zip(documents, scores.tolist())]
        found = [*documents[least : least + 4], *rng.permutation(documents)[:judged].tolist()]
        qrels += [(query, d, rng.choice(grades).item()) for d in dict.fromkeys(found)]
    frames = (
        pd.DataFrame(run, columns=["query_id", "doc_id", "score", "doc_length"]),
        pd.DataFrame(qrels, columns=["query_id", "doc_id", "relevance"]),
    )
    return Data(*(frame.sample(frac=1, random_state=seed).reset_index(drop=True) for frame in frames))


def unanswered(data: Data) -> Data:
    """Return the data without results of two queries, without judgments of one, and with one that has none relevant."""
    qrels = data.qrels.assign(relevance=data.qrels.relevance.where(data.qrels.query_id != "q2", 0))
    return Data(data.run[~data.run.query_id.isin(["q1", "q4"])], qrels[qrels.query_id != "q5"])


#: Each property alone, and six queries of all but decimals together for fast tests.
DATA = {
    "plain": random_data(1, (0, 0, 1, 2)),
    "tied": random_data(2, ties=True),
    "negative": random_data(4, (-2, -1, 0, 1, 1)),
    "decimal": random_data(5, (0.0, 0.5, 1.5, 2.25, 3.0)),
    "unanswered": unanswered(random_data(3)),
    "unjudged": random_data(6, judged=1, least=6),
}


def _together() -> Data:
    """Return two queries with each property, but for decimals, and grades up to 2."""
    parts = [data for name, data in DATA.items() if name != "decimal"]
    run, qrels = (
        pd.concat(
            frame[frame.query_id.isin(["q1", "q2"])].assign(query_id=f"{number}" + frame.query_id)
            for number, frame in enumerate(frames)
        ).sample(frac=1, random_state=0, ignore_index=True)
        for frames in ([data.run for data in parts], [data.qrels for data in parts])
    )
    return Data(run, qrels.assign(relevance=qrels.relevance.clip(upper=2)))


DATA["together"] = _together()


def with_intents(data: Data) -> Data:
    """Return the data with two or three intents a query; the first intent of a query has no relevant document."""
    q = data.qrels
    first = q.assign(relevance=q.relevance.clip(upper=0), iteration="1")
    second = q.assign(iteration="2")
    third = q[q.doc_id.str.len() == 3].assign(iteration="3").assign(relevance=lambda f: (f.relevance + 1) % 3)
    return Data(data.run, pd.concat([first, second, third], ignore_index=True))


def repeated(data: Data) -> Data:
    """Return the data with a judged result of query q1 a second time."""
    return Data(pd.concat([data.run, _one(data)[data.run.columns].assign(score=-9.0)], ignore_index=True), data.qrels)


def judged_twice(data: Data) -> Data:
    """Return the data with a second judgment of a result of query q1."""
    return Data(data.run, pd.concat([data.qrels, _one(data)[data.qrels.columns]], ignore_index=True))


def _one(data: Data) -> pd.DataFrame:
    return data.run.merge(data.qrels).query("query_id == 'q1'").head(1)

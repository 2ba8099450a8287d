"""Random runs and judgments with ties, unsorted rows, unjudged and unretrieved documents."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd


class Collection(NamedTuple):
    """A run and judgments, with the column names of ir_measures."""

    run: pd.DataFrame
    qrels: pd.DataFrame


def collection(
    seed: int,
    queries: int = 20,
    depth: int = 30,
    judged: int = 25,
    grades: tuple[int, ...] = (-2, -1, 0, 0, 1, 2, 3),
    ties: bool = True,
    shuffled: bool = True,
    lengths: bool = False,
) -> Collection:
    """Return a run over queries 2…n and judgments of queries 1…n−1, so that each has a query that the other lacks.

    Without ``ties``, all scores differ even as float32.
    """
    rng = np.random.default_rng(seed)
    names = [str(number) for number in range(1, queries + 1)]
    run, qrels = [], []
    for name in names:
        documents = [f"d{number}" for number in rng.permutation(2 * depth)]
        scores = rng.integers(0, depth // 2, depth) / 8 if ties else rng.permutation(depth) + 0.5
        if name != names[0]:
            run += [(name, document, score) for document, score in zip(documents, scores.tolist(), strict=False)]
        if name != names[-1]:
            some = rng.permutation(documents[: depth + depth // 2])[: rng.integers(1, judged + 1)]
            qrels += [(name, str(document), int(rng.choice(grades))) for document in some]
    frames = Collection(
        pd.DataFrame(run, columns=["query_id", "doc_id", "score"]),
        pd.DataFrame(qrels, columns=["query_id", "doc_id", "relevance"]),
    )
    if lengths:
        words = {f"d{number}": float(n) for number, n in enumerate(rng.integers(0, 2000, 2 * depth))}
        frames.run["doc_length"] = frames.run.doc_id.map(words)
    if shuffled:
        frames = Collection(*(f.sample(frac=1, random_state=seed).reset_index(drop=True) for f in frames))
    return frames


def harmless(frames: Collection) -> Collection:
    """Return the data with 0 for negative grades, for which pytrec_eval's nDCG reads outside its memory."""
    return Collection(frames.run, frames.qrels.assign(relevance=frames.qrels.relevance.clip(lower=0)))


def write_trec(run: pd.DataFrame, path: Path) -> None:
    """Write a run as TREC text, with the name of the file as tag."""
    rows = run[["query_id", "doc_id", "score"]].itertuples(index=False)
    path.write_text("".join(f"{q} Q0 {d} 1 {s!r} {path.stem}\n" for q, d, s in rows))


def as_pyterrier(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with PyTerrier's column names, and with ranks if it has scores."""
    renamed = frame.rename(columns={"query_id": "qid", "doc_id": "docno", "relevance": "label"})
    if "score" in renamed:
        ranks = renamed.groupby("qid").score.rank(method="first", ascending=False)
        renamed = renamed.assign(rank=ranks.astype(int) - 1)
    return renamed

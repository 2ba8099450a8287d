"""Files of a demo collection and its runs, to try the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from ..files.atomic import AnyPath, written
from .generated_collection import Collection

_JUDGMENTS, _LENGTHS, _TOPICS = "qrels.txt", "doclens.tsv", "topics.tsv"


def paths_of(folder: AnyPath, runs: Iterable[str]) -> dict[str, Path]:
    """Return the path of each file that :func:`save` writes, by name of run or of file."""
    files = {name: Path(folder, name) for name in (_JUDGMENTS, _LENGTHS, _TOPICS)}
    return files | {run: Path(folder, "runs", f"{_stem(run)}.txt") for run in runs}


def save(made: Collection, runs: Mapping[str, pd.DataFrame], folder: AnyPath) -> None:
    """Write a collection and runs to a folder, in the formats of TREC.

    The files are ``qrels.txt``, ``doclens.tsv`` (docno and number of words), ``topics.tsv`` (topic and query), and one
    file per run in the folder ``runs``.

    Parameters
    ----------
    made : Collection
        Collection of :func:`collection`.
    runs : dict of str to DataFrame
        Runs by name, with the columns qid, docno, score and rank. The name of a file is the name of its run, in lower
        case and with ``_`` in place of blanks and punctuation.
    folder : path
        Folder, which is created if it does not exist. Existing files with these names are replaced.

    Examples
    --------
    >>> import os, tempfile
    >>> from pyterrier_cwla.demo import collection, save, systems
    >>> made = collection(documents=300, topics=5)
    >>> folder = tempfile.mkdtemp()
    >>> save(made, {"BM25": systems(made)["BM25"](made.topics)}, folder)
    >>> sorted(os.listdir(folder)), os.listdir(f"{folder}/runs")
    (['doclens.tsv', 'qrels.txt', 'runs', 'topics.tsv'], ['bm25.txt'])
    """
    paths = paths_of(folder, runs)
    os.makedirs(Path(folder, "runs"), exist_ok=True)
    tables = {
        _JUDGMENTS: made.qrels.assign(iteration=0)[["qid", "iteration", "docno", "label"]],
        _LENGTHS: made.documents[["docno", "doc_length"]],
        _TOPICS: made.topics[["qid", "query"]],
    }
    for run, rows in runs.items():
        tables[run] = rows.assign(iteration="Q0", tag=_stem(run))[["qid", "iteration", "docno", "rank", "score", "tag"]]
    for name, table in tables.items():
        with written(paths[name]) as place:
            separator = "\t" if paths[name].suffix == ".tsv" else " "
            table.to_csv(place, sep=separator, header=False, index=False)


def _stem(run: str) -> str:
    return re.sub(r"\W+", "_", run.lower())

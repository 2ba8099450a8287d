"""A generated collection, three retrieval systems over it, and an experiment with them that needs no download.

The engine is bm25s: one wheel of pure Python and NumPy for every platform and Python version, an index in memory that
pickles, 0.3 s for 2,000 documents. PISA is faster on millions of documents, but has wheels for Linux on x86-64 only,
keeps its index on disk, and its retrievers do not pickle once used.
"""

import functools
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt
from ir_measures import AP, ERR, INST, RBP, RR, Measure, nDCG

from ..errors import BadParameter, near
from ..measures.named import CWLA, TBG


@dataclass(frozen=True, eq=False)
class Collection:
    """Documents, topics and judgments, with the column names of PyTerrier."""

    documents: pd.DataFrame
    """docno, text, doc_length in words, and in duplicate_of the docno that a near-duplicate was copied from."""
    topics: pd.DataFrame
    """qid, query."""
    qrels: pd.DataFrame
    """qid, docno, label from 0 to 3, for a pool of the documents only: some relevant ones are not judged."""


def collection(seed: int = 0, documents: int = 2000, topics: int = 50) -> Collection:
    """Generates a collection; the same seed gives the same one.

    Every topic has words of its own and borrows some from its neighbour. A document spends a share of its words on one
    topic or two, each document on its own favourites among the topic's words; the larger the share and the longer the
    document, the higher its grade. So BM25 works, but not perfectly: relevant documents miss query words, and others
    mention them in passing. A tenth of the documents are copies with a few words changed.

    >>> collection(documents=200, topics=5).topics.columns.tolist()
    ['qid', 'query']
    """
    rng = np.random.default_rng(seed)
    copies = documents // 10
    originals = documents - copies
    themes = _themes(rng, topics)
    queries = [_query(rng, theme) for theme in themes]

    lengths = np.clip(rng.lognormal(np.log(250), 0.8, originals), 15, 8000).astype(int)
    shares = _shares(rng, originals, topics)
    texts = [_words(rng, length, share, themes) for length, share in zip(lengths, shares)]
    mentions = _mention(rng, texts, queries)

    sources = np.append(np.arange(originals), rng.choice(originals, copies, replace=False))
    texts += [_edited(rng, texts[source]) for source in sources[originals:]]
    worth = shares * (lengths[:, None] / 250) ** 0.2
    worth += rng.normal(0, 0.01, worth.shape) * (worth > 0)
    judged = _pool(rng, (worth + 0.07 * mentions)[sources])

    # Copies may stand anywhere, and a document's number says nothing about it.
    order = rng.permutation(documents)
    place = np.argsort(order)
    docnos = np.array([f"d{number:0{len(str(documents))}d}" for number in range(1, documents + 1)], dtype=object)
    qids = np.array([str(number) for number in range(1, topics + 1)], dtype=object)
    is_copy = order >= originals
    topic, document = np.nonzero(judged[order].T)
    vocabulary = _vocabulary()
    return Collection(
        documents=pd.DataFrame({
            "docno": docnos,
            "text": [_text(rng, texts[number], vocabulary) for number in order],
            "doc_length": [len(texts[number]) for number in order],
            "duplicate_of": pd.Series(docnos[place[sources[order]]]).where(is_copy),
        }),
        topics=pd.DataFrame({"qid": qids, "query": [" ".join(vocabulary[query]) for query in queries]}),
        qrels=pd.DataFrame({
            "qid": qids[topic],
            "docno": docnos[document],
            "label": np.digitize(worth[sources[order[document]], topic], [0.03, 0.07, 0.11]),
        }),
    )  # fmt: skip


def systems(collection: Collection) -> dict[str, pt.Transformer]:
    """Three systems that differ in what they make of length, so that measures can disagree about them."""
    index = _Index.of(collection.documents)
    return {
        "BM25": BM25(index),
        "BM25, length ignored": BM25(index, b=0.0),
        "BM25, then short first": BM25(index, num_results=100) >> PreferShort(),
    }


def run(seed: int = 0, documents: int = 2000, topics: int = 50, baseline: str | None = None) -> pd.DataFrame:
    """Generates a collection and compares its three systems, as :func:`compare` does.

    >>> run(documents=300, topics=5)["name"].tolist()
    ['BM25', 'BM25, length ignored', 'BM25, then short first']
    """
    made = collection(seed, documents, topics)
    return compare(systems(made), made.topics, made.qrels, baseline=baseline)


def compare(
    systems: Mapping[str, Any],
    topics: pd.DataFrame,
    qrels: pd.DataFrame,
    lengths: Any = None,
    missing: str = "error",
    timed: bool = True,
    baseline: str | None = None,
) -> pd.DataFrame:
    """What PyTerrier's experiment says of these systems under :func:`measures`, and which differences are significant.

    ``systems``: transformers or results by name. ``timed=False`` leaves out what needs document lengths. One row a
    system, one column a measure, and for each measure and all systems but the baseline (the first, unless named)
    PyTerrier's columns ``p-value``, ``p-value corrected`` (Holm over the systems) and ``reject``, from a paired t-test.
    """
    names = list(systems)
    if baseline is not None and baseline not in systems:
        raise BadParameter(f"no system {baseline!r} to be the baseline. {near(baseline, names)}")
    wanted = measures(int(qrels["label"].max()), lengths, missing, timed, numbered=topics["qid"].str.isdigit().all())
    table = pt.Experiment(
        list(systems.values()),
        topics,
        qrels,
        wanted,
        names=names,
        baseline=names.index(baseline or names[0]) if len(names) > 1 else None,
        test=_paired_t_test,
        correction="holm" if len(names) > 1 else None,
    )
    ends = ("", " +", " -", " p-value", " p-value corrected", " reject")
    columns = [f"{measure}{end}" for end in ends for measure in wanted]
    return table[["name", *(column for column in columns if column in table)]]


def measures(
    max_rel: int, lengths: Any = None, missing: str = "error", timed: bool = True, numbered: bool = True
) -> list[Measure]:
    """Nine measures for grades up to ``max_rel``: six that are well known, time-biased gain, and two of nobody yet.

    And, where ``timed``, the seconds that the first ten documents take. Where topics are not ``numbered`` ERR@20 is
    written in the language, because gdeval, which ir_measures asks first, reads no other topics.
    """
    time = {"lengths": lengths, "missing": missing}
    return [
        nDCG @ 10,
        AP,
        RR,
        ERR @ 20 if numbered else CWLA(C="rr", A="err", gain="exponential", max_rel=4, cutoff=20),
        RBP(rel=1),
        INST(max_rel=max_rel),
        *([TBG(**time)] if timed else []),
        CWLA(C="inst(1)", A="max", max_rel=max_rel),
        CWLA(C="rbp(0.8)", A="pe(0.5)", max_rel=max_rel),
        *([CWLA(C="prec(10)", A="effort", gain="binary", effort="time", end="stop", **time)] if timed else []),
    ]


#: How the last of the measures begins.
SECONDS = "CWLA(C='prec(10)',A='effort'"


def remark(table: pd.DataFrame) -> str:
    """Where time-biased gain and nDCG@10 disagree most in a table of :func:`compare`, in a sentence."""
    time = next((column for column in table if column.startswith("TBG")), None)
    if time is None or len(table) < 2:
        return ""
    rank, names = table["nDCG@10"].to_numpy(float), table["name"].tolist()
    gain, seconds = (table[next(c for c in table if c.startswith(start))].to_numpy(float) for start in (time, SECONDS))
    apart = np.subtract.outer(rank, rank) * np.subtract.outer(gain, gain)
    if apart.min() >= 0:
        return "What to see: TBG and nDCG@10 put these systems in the same order."
    # What differs significantly from the baseline says more than what differs most.
    sure = (table["nDCG@10 reject"] & table[f"{time} reject"]).to_numpy(bool)
    baseline = table["nDCG@10 p-value"].isna().to_numpy()
    proven = np.where(np.outer(sure, baseline), apart, 0)
    certain = proven.min() < 0
    pair = np.unravel_index((proven if certain else apart).argmin(), apart.shape)
    one, other = sorted(map(int, pair), key=lambda system: -rank[system])
    text = (
        f"What to see: nDCG@10 puts “{names[one]}” above “{names[other]}” ({rank[one]:.3f} > {rank[other]:.3f}), and"
        f" TBG below it ({gain[one]:.3f} < {gain[other]:.3f}){', both significantly' if certain else ''}"
    )
    if seconds[one] > seconds[other]:
        text += (
            f": its first ten documents take a user {seconds[one]:.0f} s and not {seconds[other]:.0f} s, and with time"
            " users leave"
        )
    return f"{text}."


def _paired_t_test(one: Any, other: Any) -> tuple[float, float]:
    """As scipy has it; where two systems never differ there is nothing to reject, and no warning to read."""
    from scipy.stats import ttest_rel

    if np.array_equal(one, other):
        return 0.0, 1.0
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # few topics, all with the same difference
        statistic, p = ttest_rel(one, other)
    return float(statistic), float(p)


@dataclass(frozen=True, eq=False)
class _Index:
    """The tokens of a collection, from which an engine is built for each setting of its parameters."""

    docnos: np.ndarray
    lengths: np.ndarray
    tokens: list[list[int]]
    vocabulary: dict[str, int]

    @classmethod
    def of(cls, documents: pd.DataFrame) -> "_Index":
        tokens, vocabulary = _bm25s().tokenize(documents["text"].tolist(), stopwords=None, show_progress=False)
        return cls(documents["docno"].to_numpy(), documents["doc_length"].to_numpy(), tokens, vocabulary)


class BM25(pt.Transformer):
    """Retrieves with BM25; k1 and b may be set at any time, as pt.GridSearch does."""

    def __init__(
        self, index: _Index, k1: float = 1.2, b: float = 0.75, method: str = "lucene", num_results: int = 1000
    ) -> None:
        self.index = index
        self.k1 = k1
        self.b = b
        self.method = method
        self.num_results = num_results

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        pt.validate.query_frame(inp, extra_columns=["query"], context=self)
        documents = np.zeros((len(inp), 0), int)
        scores = np.zeros((len(inp), 0))
        if len(inp):
            queries = _bm25s().tokenize(inp["query"].tolist(), stopwords=None, return_ids=False, show_progress=False)
            documents, scores = _engine(self.index, self.k1, self.b, self.method).retrieve(
                queries,
                k=min(self.num_results, len(self.index.docnos)),
                show_progress=False,
                backend_selection="numpy",
            )
        query, rank = np.nonzero(scores > 0)
        found = documents[query, rank]
        return inp.iloc[query].reset_index(drop=True).assign(
            docno=self.index.docnos[found],
            score=scores[query, rank].astype(float),
            rank=rank + pt.model.FIRST_RANK,
            doc_length=self.index.lengths[found],
        )  # fmt: skip

    def fuse_rank_cutoff(self, k: int) -> pt.Transformer:
        return self if self.num_results <= k else pt.inspect.transformer_apply_attributes(self, num_results=k)

    def __repr__(self) -> str:
        # Without k1 and b: a transformer is hashed by its repr, and a grid of parameters is a dict of transformers.
        return f"BM25({self.method!r})"


class PreferShort(pt.Transformer):
    """Divides each score by words^strength: at equal scores, the document that is sooner read comes first."""

    def __init__(self, strength: float = 0.05) -> None:
        self.strength = strength

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        pt.validate.result_frame(inp, extra_columns=["score", "doc_length"], context=self)
        return pt.model.add_ranks(inp.assign(score=inp["score"] / inp["doc_length"] ** self.strength))

    def __repr__(self) -> str:
        return "PreferShort()"


def _bm25s() -> ModuleType:
    try:
        import bm25s
    except ImportError as error:
        raise ImportError("The demo retrieves with bm25s. Install it: pip install 'pyterrier-cwla[demo]'") from error
    return bm25s


@functools.lru_cache(maxsize=8)
def _engine(index: _Index, k1: float, b: float, method: str):
    """Cached outside the transformers, so that they share it and pickle without it."""
    engine = _bm25s().BM25(k1=k1, b=b, method=method)
    # A copy of the vocabulary, because indexing adds an empty word to it.
    engine.index((index.tokens, dict(index.vocabulary)), show_progress=False)
    return engine


_WORDS = 8000


@functools.cache
def _vocabulary() -> np.ndarray:
    """Words of one to three syllables, the frequent ones first and shorter."""
    syllables = np.array([a + b for a in "bdfgklmnprstvz" for b in "aeiou"], dtype=object)
    rng = np.random.default_rng(0)
    ones = rng.permutation(syllables)
    twos = rng.permutation((syllables[:, None] + syllables).ravel())[:2400]
    threes = rng.choice(len(syllables) ** 3, _WORDS - len(ones) - len(twos), replace=False)
    first, second, third = np.unravel_index(threes, (len(syllables),) * 3)
    return np.concatenate([ones, twos, syllables[first] + syllables[second] + syllables[third]])


@functools.cache
def _zipf() -> np.ndarray:
    """How much of a text the most frequent words make up, by their number."""
    weights = 1 / (np.arange(_WORDS) + 2.7)
    return np.cumsum(weights) / weights.sum()


_Theme = tuple[np.ndarray, np.ndarray]
"""The words of a topic, as numbers in the vocabulary, and how typical each is."""


def _themes(rng: np.random.Generator, topics: int) -> list[_Theme]:
    own = [rng.choice(np.arange(200, 4000), 10, replace=False) for _ in range(topics)]
    weights = np.arange(1, 14) ** -0.8
    return [(np.append(words, own[topic - 1][:3]), weights / weights.sum()) for topic, words in enumerate(own)]


def _query(rng: np.random.Generator, theme: _Theme) -> np.ndarray:
    words, weights = theme
    return rng.choice(words, rng.integers(2, 5), replace=False, p=weights)


def _shares(rng: np.random.Generator, documents: int, topics: int) -> np.ndarray:
    """The share of its words that each document [rows] spends on each topic [columns]."""
    shares = np.zeros((documents, topics))
    for chance, most in [(0.3, 0.1), (0.7, 0.2)]:
        about = np.flatnonzero(rng.random(documents) < chance)
        shares[about, rng.integers(topics, size=len(about))] = most * rng.beta(1.2, 2.2, len(about))
    return shares


def _words(rng: np.random.Generator, length: int, shares: np.ndarray, themes: list[_Theme]) -> np.ndarray:
    text = _background(rng, length)
    for topic in np.flatnonzero(shares):
        words, weights = themes[topic]
        favourites = weights * rng.gamma(0.5, size=len(words))
        places = np.flatnonzero(rng.random(length) < shares[topic])
        text[places] = rng.choice(words, len(places), p=favourites / favourites.sum())
    return text


def _background(rng: np.random.Generator, length: int) -> np.ndarray:
    return np.searchsorted(_zipf(), rng.random(length))


def _mention(rng: np.random.Generator, texts: list[np.ndarray], queries: list[np.ndarray]) -> np.ndarray:
    """Writes the words of each query into some documents, whatever these are about; True where it did."""
    mentions = np.zeros((len(texts), len(queries)), bool)
    for topic, query in enumerate(queries):
        chosen = rng.choice(len(texts), 1 + len(texts) // 150, replace=False)
        mentions[chosen, topic] = True
        for document in chosen:
            words = np.repeat(query, rng.integers(0, 3, len(query)))
            texts[document][rng.integers(len(texts[document]), size=len(words))] = words
    return mentions


def _edited(rng: np.random.Generator, text: np.ndarray) -> np.ndarray:
    """A near-duplicate: one word in fifty is another, and up to a twentieth is missing at the end."""
    text = text[: len(text) - rng.integers(len(text) // 20 + 1)].copy()
    places = np.flatnonzero(rng.random(len(text)) < 0.02)
    text[places] = _background(rng, len(places))
    return text


def _pool(rng: np.random.Generator, attraction: np.ndarray) -> np.ndarray:
    """What assessors saw, True in [documents, topics]: the first documents of three systems that see through noise."""
    documents, topics = attraction.shape
    depth = min(documents, max(10, documents // 50))
    judged = np.zeros((documents, topics), bool)
    for _ in range(3):
        seen = attraction + rng.normal(0, 0.03, attraction.shape)
        np.put_along_axis(judged, np.argpartition(-seen, depth - 1, axis=0)[:depth], True, axis=0)
    return judged


def _text(rng: np.random.Generator, text: np.ndarray, vocabulary: np.ndarray) -> str:
    ends = rng.random(len(text)) < 1 / 15
    ends[-1] = True
    starts = np.append(True, ends[:-1])
    words = vocabulary[text]
    words[starts] = [word.capitalize() for word in words[starts]]
    return " ".join(words + np.where(ends, ".", "").astype(object))

"""Generated test collection: documents of very different lengths, near-duplicates, topics, incomplete judgments."""

import functools
from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True, eq=False)
class Collection:
    """Test collection with the column names of PyTerrier.

    Attributes
    ----------
    documents : DataFrame
        Columns ``docno``, ``text``, ``doc_length`` (words) and ``duplicate_of``: the docno of the original of a
        near-duplicate, missing for other documents.
    topics : DataFrame
        Columns ``qid`` and ``query``.
    qrels : DataFrame
        Columns ``qid``, ``docno`` and ``label`` (0 to 3). Only pooled documents are judged, so that some relevant
        documents have no judgment.
    """

    documents: pd.DataFrame
    topics: pd.DataFrame
    qrels: pd.DataFrame


def collection(seed: int = 0, documents: int = 2000, topics: int = 50) -> Collection:
    """Generate a test collection.

    Each topic has ten words of its own and three words of the previous topic. A part of the words of a document belongs
    to up to two topics, and each document prefers some of the words of its topics. The grade increases with the share
    of topic words and with the length of the document. BM25 therefore works, but not perfectly: some relevant documents
    lack query words, and some non-relevant documents contain them. One tenth of the documents are near-duplicates with
    a few words changed.

    Parameters
    ----------
    seed : int, default=0
        Random seed.
    documents : int, default=2000
        Number of documents, including near-duplicates.
    topics : int, default=50
        Number of topics.

    Returns
    -------
    Collection
        Documents, topics and judgments.

    Examples
    --------
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

    # Random order: neither position nor docno distinguishes copies from originals.
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


_WORDS = 8000


@functools.cache
def _vocabulary() -> np.ndarray:
    """Words of one to three syllables, in order of decreasing frequency; frequent words are shorter."""
    syllables = np.array([a + b for a in "bdfgklmnprstvz" for b in "aeiou"], dtype=object)
    rng = np.random.default_rng(0)
    ones = rng.permutation(syllables)
    twos = rng.permutation((syllables[:, None] + syllables).ravel())[:2400]
    threes = rng.choice(len(syllables) ** 3, _WORDS - len(ones) - len(twos), replace=False)
    first, second, third = np.unravel_index(threes, (len(syllables),) * 3)
    return np.concatenate([ones, twos, syllables[first] + syllables[second] + syllables[third]])


@functools.cache
def _zipf() -> np.ndarray:
    """Cumulative word frequencies by Zipf's law."""
    weights = 1 / (np.arange(_WORDS) + 2.7)
    return np.cumsum(weights) / weights.sum()


_Theme = tuple[np.ndarray, np.ndarray]
"""Words of a topic (indices in the vocabulary) and their probabilities."""


def _themes(rng: np.random.Generator, topics: int) -> list[_Theme]:
    own = [rng.choice(np.arange(200, 4000), 10, replace=False) for _ in range(topics)]
    weights = np.arange(1, 14) ** -0.8
    return [(np.append(words, own[topic - 1][:3]), weights / weights.sum()) for topic, words in enumerate(own)]


def _query(rng: np.random.Generator, theme: _Theme) -> np.ndarray:
    words, weights = theme
    return rng.choice(words, rng.integers(2, 5), replace=False, p=weights)


def _shares(rng: np.random.Generator, documents: int, topics: int) -> np.ndarray:
    """Share of each document's words that belong to each topic, shape (documents, topics)."""
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
    """Insert words of each query into random documents; return a mask of shape (documents, topics)."""
    mentions = np.zeros((len(texts), len(queries)), bool)
    for topic, query in enumerate(queries):
        chosen = rng.choice(len(texts), 1 + len(texts) // 150, replace=False)
        mentions[chosen, topic] = True
        for document in chosen:
            words = np.repeat(query, rng.integers(0, 3, len(query)))
            texts[document][rng.integers(len(texts[document]), size=len(words))] = words
    return mentions


def _edited(rng: np.random.Generator, text: np.ndarray) -> np.ndarray:
    """Near-duplicate of a text: 2 % of the words are replaced, and up to 5 % are missing at the end."""
    text = text[: len(text) - rng.integers(len(text) // 20 + 1)].copy()
    places = np.flatnonzero(rng.random(len(text)) < 0.02)
    text[places] = _background(rng, len(places))
    return text


def _pool(rng: np.random.Generator, attraction: np.ndarray) -> np.ndarray:
    """Mask of judged documents, shape (documents, topics): the first documents of three noisy systems."""
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

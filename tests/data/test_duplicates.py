"""Tables of duplicates in every form, and near-duplicate detection in texts, compared with plain loops."""

import pickle
import re
import sys
from collections import defaultdict
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyterrier_cwla
from pyterrier_cwla import find_duplicates, register_duplicates
from pyterrier_cwla.data import Duplicates
from pyterrier_cwla.data.duplicates import _bands
from pyterrier_cwla.errors import BadParameter, CWLAError, MalformedFile
from pyterrier_cwla.files.formats import read_run
from tests.support.messages import refused

TABLE = {"d2": "d1", "d3": "d1", "d5": "d4"}
IDS = ["d1", "d2", "d3", "d4", "d5", "d6", "d7"]


def strings(values):
    return pa.array(values, pa.large_string())


def partition(codes):
    """Return the set of rows of each cluster."""
    clusters = defaultdict(set)
    for row, code in enumerate(codes):
        clusters[code].add(row)
    return {frozenset(rows) for rows in clusters.values()}


def of(duplicates, ids=IDS):
    """Return the clusters of these documents that have more than one member."""
    found = partition(duplicates.clusters(strings(ids)).tolist())
    return {frozenset(ids[row] for row in rows) for rows in found if len(rows) > 1}


def merged(pairs, everyone):
    """Merge clusters by plain loops until no two clusters share a member."""
    clusters = [{one} for one in everyone] + [set(pair) for pair in pairs]
    while meeting := next(((a, b) for a, b in combinations(clusters, 2) if a & b), None):
        clusters = [c for c in clusters if c not in meeting] + [meeting[0] | meeting[1]]
    return {frozenset(cluster) for cluster in clusters}


@pytest.fixture
def forms(tmp_path):
    """Return the same table in every accepted form."""
    frame = pd.DataFrame({"docno": TABLE.keys(), "duplicate_of": TABLE.values()})
    clusters = pd.DataFrame({"docno": IDS, "cluster": ["d4", "d4", "d4", "x", "x", "d1", None]})
    (tmp_path / "plain.txt").write_text("d2 d1\nd3  d1\nd5 d4\n")
    (tmp_path / "tabs.tsv").write_text("docno\tduplicate_of\nd2\td1\nd3\td1\nd5\td4\nd1\t\n")
    (tmp_path / "clusters.csv").write_text("cluster,docno\n1,d1\n1,d2\n1,d3\nx,d4\nx,d5\n,d6\n,d7\n")
    frame.to_parquet(tmp_path / "frame.parquet")
    clusters.to_parquet(tmp_path / "clusters.parquet")
    register_duplicates("as_named", TABLE)
    numbered = clusters.assign(cluster=[7, 7, 7, 8, 8, 9, 10])
    categories = clusters.assign(cluster=clusters.cluster.astype("category"))
    named = frame.rename(columns={"docno": "doc_id"})
    return [TABLE, pd.Series(TABLE), frame, named, pl.DataFrame(frame), pa.Table.from_pandas(frame), clusters, numbered,
            categories, pl.DataFrame(clusters), "as_named", Duplicates.of(TABLE), *sorted(tmp_path.iterdir()),
            str(tmp_path / "plain.txt")]  # fmt: skip


def test_tables_have_one_meaning_in_every_form(forms):
    for form in forms:
        table = Duplicates.bind(form)
        assert of(table) == {frozenset({"d1", "d2", "d3"}), frozenset({"d4", "d5"})}, form
        assert len(table) == 3
        assert table.originals(strings(IDS)).to_pylist() == [None, "d1", "d1", None, "d4", None, None]
        assert table.repeated(strings(IDS)).tolist() == [True] * 5 + [False] * 2
    # Cluster numbers may equal document ids: here '1' is a cluster and a document of another cluster, or of none.
    frame = pd.DataFrame({"docno": ["5", "7", "1", "9"], "cluster": ["1", "1", "2", "2"]})
    expected = {frozenset({"5", "7"}), frozenset({"1", "9"})}
    assert of(Duplicates.of(frame), ["1", "2", "5", "7", "9"]) == expected
    assert of(Duplicates.of(frame[:2]), ["1", "2", "5", "7", "9"]) == {frozenset({"5", "7"})}
    name = Duplicates.bind(TABLE).name
    assert name.startswith("duplicates_")
    assert Duplicates.bind(dict(reversed(TABLE.items()))) is Duplicates.bind(TABLE)
    assert Duplicates.bind(TABLE | {"d6": "d6", "d7": None}).name == name
    assert Duplicates.bind(TABLE | {"d6": "d4"}).name != name != Duplicates.bind({}).name
    found = Duplicates.bind(find_duplicates({"e1": "some words", "e2": "some words"}))
    assert Duplicates.bind(found.name) is found


@given(st.dictionaries(*[st.sampled_from("abcdefgh")] * 2), st.lists(st.sampled_from("abcdefghxy")))
def test_what_repeats_the_same_by_any_way_is_one_cluster(table, documents):
    clusters, duplicates = merged(table.items(), "abcdefghxy"), Duplicates.of(table)
    expected = [next(c for c in clusters if document in c) for document in documents]
    for ids in (strings(documents), pa.chunked_array([strings(documents)[:2], strings(documents)[2:]])):
        codes = duplicates.clusters(ids)
        assert partition(codes.tolist()) == partition(expected)
        assert codes.dtype == np.int64
        assert (codes >= 0).all()
    ids = list("abcdefghxy")
    originals = dict(zip(ids, duplicates.originals(strings(ids)).to_pylist(), strict=True))
    assert len(duplicates) == sum(original is not None for original in originals.values())
    for cluster in clusters:
        (one,) = {originals[document] for document in cluster} - {None} or {min(cluster)}
        assert [document for document in cluster if originals[document] is None] == [one]


def test_only_the_run_s_own_column_is_read_from_it(tmp_path):
    run, originals = Duplicates.bind("run"), strings([None, "d1", None, "gone", "gone", None])
    ids = strings(["d1", "d2", "d3", "d4", "d5", "d1"])
    expected = {frozenset({0, 1, 5}), frozenset({2}), frozenset({3, 4})}
    for of_run in (run, pickle.loads(pickle.dumps(run))):
        assert partition(of_run.clusters(ids, originals)) == expected
    assert partition(run.clusters(ids, pc.fill_null(originals, ""))) == expected
    refused(lambda: run.clusters(ids), BadParameter, "has none: add one")
    assert Duplicates.bind("run") is run
    run = pd.DataFrame({"qid": "1", "docno": ["a", "b", "c"], "score": [3.0, 2, 1], "duplicate_of": [None, "a", None]})
    run.to_parquet(tmp_path / "run.parquet")
    found = read_run(tmp_path / "run.parquet")["duplicate_of"]
    assert found.to_pylist() == [None, "a", None]
    ids = strings(["d1", "d2", "d6"])
    assert partition(Duplicates.of(TABLE).clusters(ids, strings(["d6"] * 3))) == {frozenset({0, 1}), frozenset({2})}


@given(st.lists(st.sampled_from(["d1", "d22", "d333", "", None]), max_size=9), st.data())
def test_slices_and_chunks_say_what_whole_columns_say(names, data):
    """Slices have offsets into strings of other rows."""
    documents = [f"d{row}" * (row % 3 + 1) for row in range(len(names))]
    cuts = st.tuples(*[st.integers(0, len(names))] * 2).map(sorted)

    def cut(texts):
        first, second = data.draw(cuts)
        texts = strings(["other", *texts, "other"])
        return pa.chunked_array([
            texts.slice(1, first), texts.slice(1 + first, second - first), texts.slice(1 + second, len(names) - second),
        ])  # fmt: skip

    run = Duplicates.bind("run")
    whole = run.clusters(strings(documents), strings(names))
    assert partition(run.clusters(cut(documents), cut(names))) == partition(whole)
    assert partition(whole) == partition([name or document for name, document in zip(names, documents)])
    for column in ("duplicate_of", "cluster"):
        table = Duplicates.of(pa.table({"docno": cut(documents), column: cut(names)}))
        same = Duplicates.of(pa.table({"docno": strings(documents), column: strings(names)}))
        assert table.name == same.name
        assert table.originals(cut(documents)).to_pylist() == same.originals(strings(documents)).to_pylist()


def test_tables_that_are_none(tmp_path):
    register_duplicates("cranfield", TABLE)
    texts = [{"docno": "a", "text": "x"}]
    for call, says in (
        (lambda: Duplicates.bind(pd.Series(["b", "c"], index=["a", "a"])), "have 'a' twice"),
        (lambda: Duplicates.bind({"a": 3}), "duplicate_of of the duplicates must be strings, and 3 is of type int"),
        (
            lambda: Duplicates.bind(pd.DataFrame({"docno": ["a"]})),
            "no column duplicate_of or cluster; there is 'docno'.",
        ),
        (lambda: Duplicates.bind(3), "duplicates= takes a name, a path"),
        (lambda: Duplicates.bind("cranfeld"), "duplicates='cranfeld' is neither a file nor the name"),
        (lambda: Duplicates.bind("cranfeld"), "Near: 'cranfield'"),
        (lambda: register_duplicates("run", TABLE), "other than 'run'"),
        (lambda: register_duplicates("two words", TABLE), "not 'two words'"),
        *((partial(find_duplicates, {}, one), f"similarity={one} is out of range") for one in (0, 1.5)),
        (lambda: find_duplicates({}, shingle=0), "shingle=0: it must be a whole number"),
        (lambda: find_duplicates({}, tokeniser="word"), "no tokeniser 'word'. Near: 'words'."),
        (lambda: find_duplicates(texts * 2), "have 'a' twice"),
    ):
        refused(call, BadParameter, says)
    path = tmp_path / "table.tsv"
    for text, says in (("a\tb\na\tc\n", "table.tsv:2: document 'a' is in the table twice"),
                       ("a\tb\tc\n", "table.tsv:1: expected 2 fields (docno duplicate_of), found 3")):  # fmt: skip
        path.write_text(text)
        refused(lambda: Duplicates.load(path), MalformedFile, says)
    pq.write_table(pa.table({"docno": ["d1"], "words": ["d2"]}), path)
    refused(lambda: Duplicates.load(path), MalformedFile, "no column duplicate_of or cluster")


def test_datasketch_is_needed_for_similar_texts_only(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasketch", None)
    texts = {"d1": "a b", "d2": "a b", "d3": "a c"}
    assert len(find_duplicates(texts)) == 1
    refused(lambda: find_duplicates(texts, 0.9), CWLAError, 'pip install "datasketch>=')


def test_one_file_keeps_what_was_found(tmp_path):
    texts = {"d1": "a b c", "d2": "x y z", "d3": "A b, c"}
    for number, some in enumerate((texts, {"d1": "a b c"})):
        path = tmp_path / f"{number}.parquet"
        found = find_duplicates(some)
        found.save(path)
        loaded = Duplicates.load(path)
        assert of(loaded) == of(found)
        made_by = {"table": "duplicates", "version": pyterrier_cwla.__version__}
        found_with = {"similarity": 1.0, "shingle": 10, "tokeniser": "words", "documents": len(some)}
        assert loaded.about == found_with | made_by
    assert pq.read_table(tmp_path / "0.parquet").to_pydict() == {"docno": ["d3"], "duplicate_of": ["d1"]}


def shingles(text, size):
    words = re.findall(r"\w+", text.lower())
    if not words:
        return set()
    return {tuple(words[at : at + size]) for at in range(max(len(words) - size, 0) + 1)}


def all_pairs(texts, similarity, size):
    """Return the clusters found by comparing every pair of texts."""
    sets = {document: shingles(text, size) for document, text in texts.items()}
    alike = [
        (a, b)
        for a, b in combinations(sets, 2)
        if sets[a] and sets[b] and len(sets[a] & sets[b]) / len(sets[a] | sets[b]) >= similarity
    ]
    return {cluster for cluster in merged(alike, texts) if len(cluster) > 1}


def generated_texts(seed, n=60):
    """Return texts of 0 to 40 words; two thirds copy an earlier text: unchanged, doubled, or with changed words."""
    rng = np.random.default_rng(seed)
    texts = [[]]
    for _ in range(n):
        kind, old = rng.integers(6), [*texts[rng.integers(len(texts))]]
        if kind < 2 or not old:
            old = rng.choice(list("abcdefghijklmnop"), rng.integers(0, 40)).tolist()
        elif kind < 4:
            for _ in range(rng.integers(1, 4)):
                old[rng.integers(len(old))] = str(rng.choice(list("abcdefghijklmnop")))
        elif kind == 4:
            old = old * 2
        texts.append(old)
    case = [str.upper, str.lower]
    return {f"d{at}": case[at % 2](", ".join(words)) for at, words in enumerate(texts)}


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3, 10])
@pytest.mark.parametrize("similarity", [1.0, 0.9, 0.75, 0.5, 0.3])
def test_duplicates_are_those_that_comparing_all_pairs_finds(similarity, size):
    """Resemblance |S(a) ∩ S(b)| / |S(a) ∪ S(b)| (Broder, 1997); 1 is the definition of Smucker and Clarke (2012)."""
    found = 0
    for seed in range(5):
        texts = generated_texts(seed)
        expected = all_pairs(texts, similarity, size)
        for order in (list(texts), list(reversed(texts))):
            table = find_duplicates({document: texts[document] for document in order}, similarity, size, progress=False)
            assert of(table, order) == expected
            originals = dict(zip(order, table.originals(strings(order)).to_pylist(), strict=True))
            for cluster in expected:
                first = min(cluster, key=order.index)
                assert {originals[document] for document in cluster - {first}} == {first}
        found += len(expected)
    assert found > 10


@pytest.mark.slow
@given(st.lists(st.lists(st.sampled_from("abc"), max_size=6).map(" ".join), max_size=8),
       st.sampled_from([1.0, 2 / 3, 0.5, 0.25]), st.integers(1, 4))  # fmt: skip
def test_few_short_texts(texts, similarity, size):
    """In short texts, the similarity of many pairs equals the threshold."""
    texts = {f"d{at}": text for at, text in enumerate(texts)}
    found = find_duplicates(texts, similarity, size, progress=False)
    assert of(found, [*texts]) == all_pairs(texts, similarity, size)


@pytest.mark.slow
def test_what_a_word_is_decides():
    texts = {"d1": "Time-biased gain", "d2": "time biased gain!"}
    for tokeniser, many in (("words", 1), ("whitespace", 0), (lambda text: [], 0)):
        assert len(find_duplicates(texts, tokeniser=tokeniser)) == many
    assert find_duplicates(texts, tokeniser="whitespace").about["tokeniser"] == "whitespace"
    assert [len(find_duplicates({}, similarity)) for similarity in (1, 0.5)] == [0, 0]
    assert of(find_duplicates({"d1": "", "d2": "a", "d3": " . ", "d4": "a"}, 0.5)) == {frozenset({"d2", "d4"})}
    # The first text contains all shingles of the second text, but not conversely.
    texts = {"long": "one two three four", "short": "two three"}
    assert of(find_duplicates(texts, shingle=2), [*texts]) == set()
    assert len(find_duplicates(texts, shingle=2, similarity=1 / 3)) == 1


def test_hardly_a_pair_is_overlooked():
    """The probability that a pair of similarity s shares none of b bands of r hashes is (1 − s^r)^b."""
    for similarity in np.linspace(0.1, 1, 91):
        bands, size = _bands(similarity)
        assert bands * size <= 256
        assert (1 - similarity**size) ** bands <= 1e-9

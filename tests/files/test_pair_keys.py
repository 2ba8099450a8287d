"""Hashes of ids, look-ups of 64-bit keys, and repeated pairs among equal keys."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla.files.id_columns import KeyPlaces, hashes, repeated

KEYS = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 5), st.integers(2**64 - 5, 2**64 - 1))


@given(st.lists(KEYS, unique=True), st.lists(KEYS))
def test_places_of_keys(known, asked):
    """Keys may be 0, the highest number, or close to each other."""
    found = KeyPlaces(np.array(known, np.uint64)).find(np.array([*asked, *known], np.uint64))
    assert found.tolist() == [known.index(key) if key in known else -1 for key in [*asked, *known]]


@pytest.mark.parametrize("size", [1, 7, 8, 9, 16, 17])
def test_every_byte_of_an_id_changes_its_hash(size):
    names = ["a" * size, *("a" * place + "b" + "a" * (size - place - 1) for place in range(size))]
    assert len(set(hashes(pa.array(names, pa.large_string())).tolist())) == size + 1


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.integers(0, 1))))
def test_repeated_pairs_are_compared_by_id(rows):
    """Equal pairs have equal keys; equal keys may belong to different pairs."""
    pairs = [(document, query) for document, query, _ in rows]
    keys = np.array([7 * "abc".index(document) % 2 + query % 2 for document, query in pairs], np.uint64)
    first = next((row for row, pair in enumerate(pairs) if pair in pairs[:row]), None)
    documents = pa.array([document for document, _ in pairs], pa.large_string())
    assert repeated(keys, documents, np.array([query for _, query in pairs], np.int64)) == first

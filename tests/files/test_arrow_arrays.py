"""Conversions between NumPy and Arrow give the values of Arrow's own conversions."""

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from pyterrier_cwla.files import arrow_arrays

KINDS = {pa.int8(): st.integers(-128, 127), pa.int64(): st.integers(-(2**63), 2**63 - 1), pa.bool_(): st.booleans(),
         pa.float64(): st.floats(), pa.string(): st.text()}  # fmt: skip


@st.composite
def columns(draw, kinds=tuple(KINDS), holes=True):
    """Return an Arrow column of one or several chunks, some of them slices."""
    kind = draw(st.sampled_from(kinds))
    values = st.lists(KINDS[kind] | st.none() if holes else KINDS[kind], max_size=20)
    chunks = [pa.array(draw(values), kind).slice(draw(st.integers(0, 9))) for _ in range(draw(st.integers(0, 3)))]
    return chunks[0] if len(chunks) == 1 else pa.chunked_array(chunks, kind)


@given(columns())
def test_to_numpy_is_that_of_arrow(column):
    theirs = column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()
    ours = arrow_arrays.to_numpy(column)
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


@given(columns((pa.int8(), pa.int64())))
@example(pa.array([7, 8, None, 9], pa.int64()).slice(1))
def test_null_is_minus_one(column):
    found = arrow_arrays.filled(column)
    assert found.tolist() == [-1 if value is None else value for value in column.to_pylist()]
    assert found.dtype == column.type.to_pandas_dtype()


@given(columns((pa.bool_(),), holes=False))
def test_first_row(column):
    values = column.to_pylist()
    assert arrow_arrays.first_row(column) == (values.index(True) if True in values else None)


@given(st.lists(st.text()), st.lists(st.booleans()))
def test_arrays_of_python_and_numpy(texts, booleans):
    """Also of arrays whose memory is not contiguous, and of none."""
    for made, expected in ((arrow_arrays.of_strings(texts), pa.array(texts, pa.large_string())),
                           (arrow_arrays.of_booleans(np.array(booleans, bool)), pa.array(booleans, pa.bool_()))):  # fmt: skip
        made.validate(full=True)
        assert made.equals(expected)
    for kind in ("int8", "int32", "int64", "uint64", "float64"):
        for values in (np.arange(10).astype(kind), np.arange(10).astype(kind)[::-3], np.zeros(0, kind)):
            assert arrow_arrays.of_numbers(values).equals(pa.array(values))


def test_arrow_columns_are_taken_as_they_are():
    column = pa.chunked_array([["a"], [None]])
    assert arrow_arrays.as_arrow(column) is column
    assert arrow_arrays.as_arrow([1.0, float("nan")]).to_pylist() == [1, None]
    nan = pa.array([1.0, float("nan")])
    assert arrow_arrays.the_only([("a", nan), ("b", nan)], ValueError) is nan

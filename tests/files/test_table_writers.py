"""Files of tables are those of pandas, from frames and from columns by name."""

import io
import json
import locale
import math

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_cwla.files import table_writers
from pyterrier_cwla.files.table_writers import joined, write_csv, write_json_lines, write_rows


def text_of(write, table, *more):
    stream = io.StringIO()
    write(table, stream, *more)
    return stream.getvalue()


@given(st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0")), st.floats(),
                          st.integers(-9, 9), st.booleans()), min_size=1))  # fmt: skip
def test_csv_is_that_of_pandas(rows):
    """Numbers have all digits, texts are quoted where needed, and NaN is an empty cell."""
    frame = pd.DataFrame(rows, columns=["run", "a score", "n", "kept"])
    expected = frame.to_csv(index=False, lineterminator="\n")
    assert text_of(write_csv, frame) == expected
    assert text_of(write_csv, {name: frame[name].to_numpy() for name in frame}) == expected
    assert text_of(write_csv, frame, False) == expected.split("\n", 1)[1]


def test_missing_and_infinite_numbers_and_joined_tables():
    for missing in (None, math.nan, pd.NA, pd.NaT):
        table = {"run": ["a", "b"], "value": [missing, 1.5]}
        for form in (table, pd.DataFrame(table)):
            assert text_of(write_csv, form) == "run,value\na,\nb,1.5\n"
            assert [json.loads(line)["value"] for line in text_of(write_json_lines, form).splitlines()] == [None, 1.5]
    table = {"a": np.array([math.inf, -math.inf, 0.1])}
    assert text_of(write_csv, table) == "a\ninf\n-inf\n0.1\n"
    assert text_of(write_json_lines, table) == '{"a": null}\n{"a": null}\n{"a": 0.1}\n'
    both = joined([{"run": ["a"], "AP": np.array([0.5])}, {"run": ["b"], "AP": [1.0]}])
    assert both == {"run": ["a", "b"], "AP": [0.5, 1.0]}


def test_rows_of_several_tables(tmp_path, monkeypatch):
    """Text is UTF-8 in every locale; pages of Parquet have checksums; small tables share a row group."""
    tables = [{"run": ["é", f"run{n}"], "AP": [n / 7, 0.5]} for n in range(7)]
    write_rows(tables, "parquet", tmp_path / "parquet", {})
    assert pq.ParquetFile(tmp_path / "parquet").num_row_groups == 1
    monkeypatch.setattr(table_writers, "_ROWS_TOGETHER", 4)
    given = locale.setlocale(locale.LC_CTYPE)
    try:
        locale.setlocale(locale.LC_CTYPE, "C")
        for form in ("csv", "parquet"):
            write_rows(tables, form, tmp_path / form, {"version": "1"})
    finally:
        locale.setlocale(locale.LC_CTYPE, given)
    assert (tmp_path / "csv").read_text("utf-8") == text_of(write_csv, joined(tables))
    assert pq.read_table(tmp_path / "parquet").to_pydict() == joined(tables)
    data = (tmp_path / "parquet").read_bytes()
    (tmp_path / "parquet").write_bytes(data.replace(b"run6", b"run7", 1))
    with pytest.raises(OSError, match="CRC"):
        pq.read_table(tmp_path / "parquet", page_checksum_verification=True)

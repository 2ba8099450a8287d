"""UDCG of the three questions that its authors score."""

import json

import pytest

from tests.measures.test_udcg import check_examples


@pytest.mark.real_data
def test_the_scores_of_the_authors_to_all_digits(data):
    path = data / "udcg" / "dataset_with_udcg.json"
    if not path.is_file():
        pytest.skip(f"no examples of UDCG at {path}")
    examples = json.loads(path.read_text())
    assert len(examples) == 3
    assert next(iter(examples[0]["udcg"].values())) == 0.5553808928170055
    check_examples(examples)

"""Tests of the page "Train for it": its code prints what stands below it."""

import pytest

from tests.support.code_blocks import NUMBER, blocks, numbers, printed
from tests.support.tiny_reranker import write_model

BLOCKS = blocks("train.rst")


def agree(said, out):
    assert NUMBER.sub("_", out) == NUMBER.sub("_", said)
    assert numbers(out) == pytest.approx(numbers(said), abs=0.1)  # other versions train other models


@pytest.mark.slow
@pytest.mark.nightly
def test_the_code_for_trees_prints_what_the_page_says():
    [first] = [place for place, (_, block) in enumerate(BLOCKS) if "from datasets import" in block]
    outputs = list(printed(BLOCKS[:first]))
    assert len(outputs) == 3
    for said, out in outputs:
        agree(said, out)


@pytest.mark.slow
@pytest.mark.nightly
def test_all_code_prints_what_the_page_says(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch", reason="torch, of the extra [torch], has wheels of 3 GB")
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is in the extra [torch]")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    write_model(tmp_path / "model")
    threads = torch.get_num_threads()
    outputs = list(printed(BLOCKS))
    torch.set_num_threads(threads)
    assert len(outputs) == 4
    for said, out in outputs:
        agree(said, out)


def test_output_stands_below_all_code_that_prints():
    for (kind, block), (below, _) in zip(BLOCKS, [*BLOCKS[1:], ("end", "")], strict=True):
        assert kind == "text" or ("print(" in block) == (below == "text")

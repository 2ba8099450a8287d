"""Two runs side by side: where their documents and gains first differ, and what each gains there."""

import numpy as np
import pandas as pd
import pytest

from pyterrier_cwla import explain
from pyterrier_cwla.errors import BadParameter, BadRun
from pyterrier_cwla.evaluation import ExplainedPair
from tests.support.messages import refused

QRELS = {"1": {"a": 2, "b": 0, "c": 1, "d": 0}, "2": {"x": 1}}
OLD = {"1": {"b": 4.0, "d": 3.0, "c": 2.0, "a": 1.0}}
NEW = {"1": {"d": 4.0, "b": 3.0, "a": 2.0}}


def pair(old=OLD, new=NEW, measure="nDCG"):
    return explain(QRELS, {"old": old, "new": new}, "1", measure)


def test_both_explanations_are_those_of_one_run():
    found = pair()
    assert isinstance(found, ExplainedPair)
    for name, run in {"old": OLD, "new": NEW}.items():
        alone = explain(QRELS, run, "1", "nDCG")
        pd.testing.assert_frame_equal(found.explanations[name].table, alone.table)
        assert found.scores[name] == alone.score
    assert (found.measure, found.query, found.title) == ("nDCG", "1", "nDCG of topic 1")


def test_the_table_has_both_runs_side_by_side():
    found = pair()
    assert "a difference of −0.1373." in str(found)
    table = found.table
    assert table.index.tolist() == [1, 2, 3, 4]
    assert table["old"]["docno"].tolist() == ["b", "d", "c", "a"]
    assert table["new"]["docno"].tolist() == ["d", "b", "a", np.nan]
    assert table["old"].columns.tolist() == ["docno", "grade", "gain", "V", "adds"]
    assert table["old"]["adds"].sum() == pytest.approx(found.scores["old"])


@pytest.mark.slow
def test_documents_and_gains_first_differ_at_different_ranks():
    found = pair()
    assert (found.first_difference, found.first_gain_difference) == (1, 3)
    assert found.where_different == "documents differ from rank 1, gains differ from rank 3"
    there = found.at(3)
    assert there.index.tolist() == ["old", "new"]
    assert there["docno"].tolist() == ["c", "a"]
    assert there["gain"].tolist() == [1, 2]
    ideal = 2 + 1 / np.log2(3)
    assert there["adds"].tolist() == pytest.approx([1 / 2 / ideal, 2 / 2 / ideal])
    text = " ".join(str(found).split())
    assert "Rank 3: old has c (grade 1), which gains 1 and adds 0.19" in text
    assert "; new has a (grade 2), which gains 2 and adds 0.38" in text
    refused(lambda: found.at(5), BadParameter, "rank=5: give one of the ranks 1 to 4")


def test_words_and_tables_agree_without_weighted_sums():
    found = pair(measure="CWLA(C='rbp(0.8)',A='max',max_rel=2)")
    assert "which gains 0.5 and has L·A / N = " in str(found)
    assert "adds" not in str(found)


def test_ranks_that_no_user_sees_are_not_compared_and_equal_runs_differ_nowhere():
    assert pair(measure="CWLA(C='prec(2)',A='erg',max_rel=2)").first_gain_difference is None
    assert pair(measure="nDCG@2").where_different == "documents differ from rank 1, all gains are the same"
    found = pair(OLD, OLD)
    assert found.first_difference is found.first_gain_difference is None
    assert "The same documents at all ranks." in str(found)


def test_the_first_ranks_of_long_lists_are_shown():
    one, other = ({"1": {f"{name}{n}": -float(n) for n in range(30)}} for name in ("one", "other"))
    text = str(pair(one, other, "RBP(p=0.5,rel=1)"))
    assert "one19" in text
    assert "one20" not in text
    assert text.count("… 980 more") == 2


@pytest.mark.slow
def test_a_shorter_list_differs_where_it_ends():
    short = {"1": {"b": 4.0, "d": 3.0}}
    found = pair(OLD, short)
    assert found.first_difference == 3
    assert "old has c (grade 1), which gains 1" in str(found)
    assert "; new has no document." in " ".join(str(found).split())
    assert "nan" not in str(found).lower()


def test_unjudged_documents_have_no_grade():
    text = " ".join(str(pair(OLD, {"1": {"u": 1.0}})).split())
    assert "new has u (not judged), which gains 0 and adds 0 to the score" in text


@pytest.mark.slow
def test_files_are_read_by_name(tmp_path):
    for name, run in {"old": OLD, "new": NEW}.items():
        lines = [f"1 Q0 {doc} {rank} {score} t" for rank, (doc, score) in enumerate(run["1"].items(), 1)]
        (tmp_path / name).write_text("\n".join(lines))
    found = explain(QRELS, {"old": tmp_path / "old", "new": str(tmp_path / "new")}, "1", "nDCG")
    assert str(found) == str(pair())


def test_a_run_without_the_query_is_named():
    refused(lambda: pair(new={"2": {"x": 1.0}}), "run 'new' has no documents for query '1'")


@pytest.mark.slow
def test_notebooks_show_one_sentence_a_fact_ten_ranks_and_the_picture():
    run = {"1": {f"d{number}": -float(number) for number in range(40)}}
    html = pair(run, {"1": run["1"] | {"d7": 9.0}})._repr_html_()
    assert "Documents differ from rank 1" in html
    assert all(f"<span>{rank}<" in html for rank in range(1, 11))
    assert "<span>11<" not in html
    assert html.count("… 30 more") == 2
    assert html.count("<svg") == 1


@pytest.mark.slow
def test_names_in_html_are_escaped():
    html = explain(QRELS, {"<b>old</b>": OLD, "<i>": NEW}, "1", "nDCG")._repr_html_()
    assert "<b>old" not in html
    assert "<i>" not in html


def test_two_runs_need_different_names():
    refused(lambda: explain(QRELS, {1: OLD, "1": NEW}, "1", "nDCG"), BadRun, "both runs have the name '1'")
    assert list(explain(QRELS, {1: OLD, 2: NEW}, "1", "nDCG").explanations) == ["1", "2"]

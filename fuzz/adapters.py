"""Published logs and ratings: each reader reads them or raises."""

from __future__ import annotations

import random
from typing import Any

from pyterrier_cwla.behaviour import chiir24_log, click_log
from pyterrier_cwla.studies import chiir24_ratings, jiang_ratings, tiangong_ratings

from .found import SCRATCH, Wrong, result_of

_FOLDER = SCRATCH / "tables"
_SHOWN = (b"id,user,topic_id,query,qid,doc_id,rank,click,time_spent,actual_qrel_value,interface_type\n"
          b"1,u,t,words,5,a,1,1,3.5,1,web\n2,u,t,words,5,b,2,0,1,0,web\n3,v,t,words,5,a,1,2,0,1,app\n")  # fmt: skip
_OPENED = (b"user,topic_id,qid,doc_id,judgement,doc_decision_time,doc_mark_item_time,total_time\n"
           b"u,t,5,a,1,2,3,5.5\nv,t,5,a,0,1,,2\n")  # fmt: skip
_FEEDBACK = (
    b"id,user,topic_id,qid,query,feedback,interface_type,ndcg_10\n1,u,t,5,words,4,web,0.5\n2,v,t,5,words,2,app,0.5\n"
)
_LISTS = b'user,topic,qid,dict_shuffled_ranks\nu,t,5,"{""a"": 1, ""b"": 2}"\n'
_SESSION = b"SessionID\tUser\tTopic\tPerformance\tDifficulty\ns1\tu\tt\t4\t2\n"
_QRELS = b"SessionID\tURL\tRelevance\ns1\ta\t2\ns1\tb\t-1\n"
_RESULTS = b"SessionID\tQno\trank\tURL\ns1\t1\t1\ta\ns1\t1\t2\tb\ns1\t2\tno results\t\n"
_NAMES = ("serp_annotation.csv", "document_annotation.csv", "query_feedback.csv", "topic_annotation.csv", "session", "qrels",
          "results", "pages")  # fmt: skip
_PAGES = b"F\t[1, 0]\t[3, 0]\t4\nA\t[0, 0]\t[0, 1]\t1\nK\t[0, 0]\t[0, 0]\t0\n"
_CUT = b"\n=====\n"
EXAMPLES = [_CUT.join((_SHOWN, _OPENED, _FEEDBACK, _LISTS, _SESSION, _QRELS, _RESULTS, _PAGES))]
TOKENS = [b",", b'"', b"\t", b"NaN", b"-1", b"1e999", b"user", b"rank", b"{}", b"[]", b"\n", b"9" * 20, _CUT]
_CELLS: dict[str, list[Any]] = {
    "user": ["a", "b", "", None], "query": ["q", "r", None], "rank": [1, 2, 3, 0, 1.5, None, "1"], "docno": ["a", "b", "c", ""],
    "time": [0, 1.5, 4000, None, float("inf"), "x"], "clicked": [0, 1, True, None, "yes"], "click_time": [None, 3, 5000, -1],
}  # fmt: skip


def one_input(data: bytes) -> bool:
    """Test one input; return whether at least one reader accepts it."""
    _FOLDER.mkdir(exist_ok=True)
    for name, content in zip(_NAMES, [*data.split(_CUT), *[b""] * 8], strict=False):
        (_FOLDER / name).write_bytes(content)
    found: list[Any] = []
    for read in (
        lambda: chiir24_log(_FOLDER),
        lambda: chiir24_ratings(_FOLDER, depth=2),
        lambda: jiang_ratings(_FOLDER),
        lambda: tiangong_ratings(_FOLDER / "pages"),
    ):
        found.append(result_of(read))  # type: ignore[arg-type]
    rng = random.Random(data)
    names = [name for name in _CELLS if rng.random() < 0.95]
    usual = [
        {name: rng.choice(_CELLS[name][: 2 if rng.random() < 0.9 else None]) for name in names}
        for _ in range(rng.randint(0, 6))
    ]
    shown = result_of(lambda: click_log(usual))
    if not isinstance(shown, Exception) and len(shown.rows) > len(usual):
        raise Wrong(f"{len(usual)} rows became {len(shown.rows)}")
    return any(not isinstance(one, Exception) for one in found)

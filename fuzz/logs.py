"""Logs as CSV and TSV: ``InteractionLog.read`` and the slow reader return the same values, or both raise an error."""

from __future__ import annotations

import random

from pyterrier_cwla.behaviour import InteractionLog

from . import plain_logs, texts
from .found import result_of, same, scratch

EXAMPLES = [
    b"user,session,topic,rank,docno,clicked\nann,1,q,1,a,1\nann,1,q,2,b,0\n",
    b"user,session,topic,rank,docno,clicked,grade,saved,document_seconds,words\r\nann,1,q,1,a,true,2,1,3.5,100\r\nbob,2,q,1,a,1"
    b",2,0,,100\r\nbob,2,q,3,c,false,NA,,0,\r\n",
    b"user\tsession\ttopic\trank\tdocno\tclicked\tseen\tcut_off\nann\t1\tq\t1\ta\t0\t1\t0\nann\t1\tq\t2\tb\t0\t0\t0\n",
    b'user,session,topic,rank,docno,clicked,query\n"a,n",1,"q\nr",1,"a""b",1,x\n',
    b"user,session,topic,rank,docno,clicked,time,summary_seconds,clicks,duplicate\n007,1,q,1,a,1,3,2.5,2,0\n007,1,q,2,b,1,9,1,1,1\n",
]
_COLUMNS = ["user", "session", "topic", "rank", "docno", "clicked", "grade", "seen", "clicks", "saved", "summary_seconds",
            "document_seconds", "words", "duplicate", "time", "cut_off", "note"]  # fmt: skip
_TRUTHS = ["1", "0", "true", "false", "True", "1.0", "0.0", "", "NA", "2", "yes", " 1"]
_AMOUNTS = ["0", "1", "2.5", "", "NA", "nan", "-1", "inf", "1e999", "x", " 3 ", "1e2", "0x10", "1_0", "007"]
_VALUES = {
    **{name: ["1", "2", "a", "", "NA", '"x,y"', "é"] for name in ("user", "session", "topic")},
    **dict.fromkeys(("clicked", "seen", "saved", "duplicate", "cut_off"), _TRUTHS),
    "rank": ["1", "2", "3", "1.0", "0", "", "x", "1e18", "1.5", " 2"], "docno": ["a", "b", "c", "d", "e", "", "007"],
}  # fmt: skip
TOKENS = [*(name.encode() for name in _COLUMNS), b",", b"\t", b'"', *texts.NUMBERS, *(t.encode() for t in _TRUTHS)]


def grammar(rng: random.Random) -> bytes:
    """Return a header and mostly valid rows."""
    columns = _COLUMNS[:6] + [name for name in _COLUMNS[6:] if rng.random() < 0.25]
    if rng.random() < 0.3:
        rng.shuffle(columns)
    odd = rng.random() < 0.5
    lines = [columns]
    for number in range(rng.choice((1, 2, 3, 5))):
        line = []
        for name in columns:
            values = _VALUES.get(name, _AMOUNTS)
            usual = values[: 2 if name in ("user", "session", "topic") else 4 if name == "docno" else 3]
            cell = str(number + 1) if name == "rank" and rng.random() < 0.8 else rng.choice(usual)
            line.append(rng.choice(values) if odd and rng.random() < 0.1 else cell)
        lines.append(line)
    delimiter, end = rng.choice((",", ",", "\t")), rng.choice(("\n", "\n", "\r\n"))
    return end.join(delimiter.join(line) for line in lines).encode() + end.encode()


def one_input(data: bytes) -> bool:
    """Test one input; return whether it is a valid log."""
    path = scratch(data)
    found = result_of(lambda: plain_logs.known(InteractionLog.read(path).rows), str(path))
    try:
        expected: object = plain_logs.log(data)
    except plain_logs.Foreign:
        return not isinstance(found, Exception)
    except ValueError as refused:
        expected = refused
    return same(found, expected, "log")

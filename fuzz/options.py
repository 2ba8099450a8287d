"""Files given to options of commands: results, those of the packed file too, or one line that names the file."""

from __future__ import annotations

import contextlib
import gzip
import io
import random
import re
from collections.abc import Iterator, Sequence
from functools import cache
from unittest.mock import patch

from pyterrier_cwla.cli import study_commands
from pyterrier_cwla.cli.app import main
from pyterrier_cwla.explorer import ExplorerServer

from . import calibration, duplicates, lengths, logs, qrels, run, texts
from .found import SCRATCH, Wrong, scratch

_FILES = {
    "qrels.txt": b"q1 0 a 2\nq1 0 b 0\nq2 0 d 1\nq2 0 e 1\nq3 0 b 1\n",
    "run.txt": b"q1 Q0 a 1 3 r\nq1 Q0 c 2 2 r\nq1 Q0 b 3 1 r\nq2 Q0 e 1 2 r\nq2 Q0 d 2 1 r\nq3 Q0 c 1 2 r\nq3 Q0 b 2 1 r\n",
    "words.tsv": b"a\t100\nb\t20\nc\t300\nd\t5\ne\t50\n",
    "other.txt": b"q1 Q0 c 1 3 o\nq1 Q0 a 2 2 o\nq2 Q0 d 1 2 o\nq3 Q0 b 1 2 o\n",
    "ratings.csv": b"query_id,rating\nq1,4\nq2,2\nq3,3\n",
    "rated.csv": b"session,rating\n1,4\n2,2\n3,3\n",
}
_KNOWN = "CWLA(C='rbp(0.5)',A='etg',effort='cost',gain='binary')"
_EVALUATE, _STUDY = ("evaluate", "qrels.txt", "run.txt", "--format", "csv", "-m"), ("-o", "study", "--force")
_COMMANDS: dict[str, Sequence[str]] = {
    "lengths": (*_EVALUATE, "TBG", "--lengths", "FILE"),
    "mean": (*_EVALUATE, "TBG", "--lengths", "FILE", "--missing", "mean"),
    "known": (*_EVALUATE, _KNOWN, "--costs", "FILE"),
    "table": (*_EVALUATE, "TBG(lengths='FILE')"),
    "duplicates": (*_EVALUATE, "TBG(duplicates='FILE')", "--lengths", "words.tsv"),
    "calibration": (*_EVALUATE, "TBG(calibration='FILE')", "--lengths", "words.tsv"),
    "explain": ("explain", "qrels.txt", "run.txt", "-q", "q1", "-m", "TBG", "--lengths", "FILE"),
    "simulate": ("simulate", "qrels.txt", "run.txt", "-m", "TBG", "--users", "5", "--lengths", "FILE"),
    "qrels": ("compare", "FILE", "run.txt", "other.txt", "-m", "AP", "--resamples", "100"),
    "run": ("rbo", "run.txt", "FILE", "--by-query"),
    "sessions": ("sessions", "qrels.txt", "run.txt", "--sessions", "FILE", "--judged-by", "query_id", "-m", "sDCG"),
    "costs": ("pages", "run.txt", "FILE", "-o", "pages.parquet", "--force"),
    "log": ("calibrate", "FILE", "--resamples", "5", "--min-clicks", "1"),
    "clicks": ("calibrate", "FILE", "--from", "clicks", "--resamples", "5", "--min-clicks", "1"),
    "texts": ("explore", "qrels.txt", "run.txt", "--texts", "FILE", "--no-browser"),
    "lines": ("explore", "qrels.txt", "run.txt", "--texts", "FILE.jsonl", "--no-browser"),
    "ratings": ("study", "users", "qrels.txt", "run.txt", "FILE", "-m", "AP", "-m", "RR", "--cv", "2", "--resamples", "100", *_STUDY),
    "rated": ("study", "fit", "qrels.txt", "run.txt", "rated.csv", "--sessions", "FILE", "--judged-by", "query_id", "--cv", "2", "-t", "RBP(rel=1,p=$p)", "-r", "p=0.5,0.8", *_STUDY),
    "groups": ("study", "robustness", "qrels.txt", "run.txt", "other.txt", "-m", "AP", "--holes", "groups", "--groups", "FILE", "--all-runs", *_STUDY),
    "predicted": ("study", "next", "qrels.txt", "run.txt", "other.txt", "--predicted", "FILE", "-m", "AP", *_STUDY),
}  # fmt: skip
_SESSIONS = b"session,query_id,order\n1,q1,1\n2,q2,1\n3,q3,1\n"
_TABLES = {
    "lengths": [_FILES["words.tsv"], b"docno,words\na,3\nb,1\nc,1\nd,2\ne,9\n"],
    "duplicates": [b"a\tb\nd\te\n", *duplicates.EXAMPLES], "calibration": calibration.EXAMPLES,
    "qrels": [_FILES["qrels.txt"]], "run": [_FILES["other.txt"], _FILES["run.txt"]],
    "sessions": [_SESSIONS, b"session\tquery_id\torder\ttopic\n1\tq1\t1\tt\n2\tq2\t1\tt\n"], "rated": [_SESSIONS],
    "costs": [b"Q0 3\n", b"Q0\t2.5\nx 1\n"], "log": logs.EXAMPLES,
    "clicks": [b"session,query,document,rank,click\n1,q,a,1,1\n1,q,b,2,0\n2,q,a,1,0\n2,q,b,2,1\n", b"user,time,query,document,rank,click\nu,3,q,a,1,1\nu,3,q,b,2,0\n"],
    "texts": [b"docno,text\na,of a\nb,\n", b'docno\ttext\na\t"x\ty"\n'], "lines": [b'{"docno": "a", "text": "x"}\n\n{"docno": "b", "text": ""}\n'],
    "ratings": [_FILES["ratings.csv"], b"first,second,preference\nq1,q2,1\nq2,q3,0\nq3,q1,-1\nq1,q3,1\n"], "groups": [b"run,group\nrun,x\nother,y\n"],
    "predicted": [_FILES["qrels.txt"]],
}  # fmt: skip
for _same in ("mean", "known", "table", "explain", "simulate"):
    _TABLES[_same] = _TABLES["lengths"]
EXAMPLES = [name.encode() + b"\n" + text for name, examples in _TABLES.items() for text in examples]
TOKENS = [*texts.IDS, *texts.NUMBERS, *texts.BLANKS, *texts.ENDS, *(name.encode() for name in ("q1", "q2", "a", "session", "order", "rating",
          "text", "docno", "words", "click", "Q0"))]  # fmt: skip


def grammar(rng: random.Random) -> bytes:
    """Return the name of a command and a file of the kind that it reads."""
    name = rng.choice([*_COMMANDS])
    for kind, module in {"lengths": lengths, "duplicates": duplicates, "qrels": qrels, "run": run, "log": logs, "calibration": calibration}.items():  # fmt: skip
        if _TABLES[name] is _TABLES[kind] and rng.random() < 0.3:
            return name.encode() + b"\n" + module.grammar(rng)
    lines = rng.choice(_TABLES[name]).split(b"\n")
    cells = [cell for line in lines for cell in line.split(rng.choice((b",", b"\t", b" ")))]
    for _ in range(rng.randint(0, 2)):
        at = rng.randrange(len(lines))
        lines[at] = lines[at].replace(rng.choice(cells) or b"\t", rng.choice([*cells, *TOKENS]), 1)
    return name.encode() + b"\n" + b"\n".join(lines)


@cache
def _prepare() -> None:
    """Write the other files."""
    for name, content in _FILES.items():
        scratch(content, name)


@contextlib.contextmanager
def _without_pages() -> Iterator[None]:
    """Work in the folder of the files; explorations end at once, and reports are not drawn."""
    ends_at_once = patch.object(ExplorerServer, "serve_forever", lambda self, poll_interval=0.5: None)
    says_only = patch.object(study_commands.ReportFolder, "write", lambda self, found: print(found.headline()))
    with contextlib.chdir(SCRATCH), ends_at_once, says_only:
        yield


def one_input(data: bytes) -> bool:
    """Test one input; return whether the command accepts the file."""
    _prepare()
    name, _, content = data.partition(b"\n")
    command = _COMMANDS.get(name.decode("latin-1")) or [*_COMMANDS.values()][len(data) % len(_COMMANDS)]
    code, out, err = _printed(command, content, "input")
    if code not in (0, 2) or (code == 2 and (out or err.count("\n") != 1)):
        raise Wrong(f"{' '.join(command)}: exit code {code}: {out!r:.300} {err!r:.600}")
    if code == 2:
        return False
    if (
        "calibrat" not in command[-3]
        and content[:4] not in (b"PAR1", b"\x28\xb5\x2f\xfd")
        and content[:2] != b"\x1f\x8b"
    ):
        packed = _printed(command, gzip.compress(content), "input")
        if packed != (code, out, err):
            raise Wrong(f"{' '.join(command)}: {(out, err)!r:.300}, and of the packed file {packed!r:.600}")
    return True


def _printed(command: Sequence[str], content: bytes, name: str) -> tuple[int, str, str]:
    """Return exit code, standard output and standard error of a command with a file of this content."""
    words = [word.replace("FILE", name) for word in command]
    scratch(content, f"{name}.jsonl" if f"{name}.jsonl" in words else name)
    out, err = io.StringIO(), io.StringIO()
    with _without_pages(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
        except SystemExit as ended:
            return int(ended.code or 0), re.sub(r"http:\S+", "", out.getvalue()), err.getvalue()
    raise Wrong("no exit code")

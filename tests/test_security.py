"""Tests of untrusted measures, files and ids: no code execution, no access to other files, bounded memory."""

import ast
import gzip
import io
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import product
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pyterrier_cwla
from pyterrier_cwla import TBG, evaluate, register_lengths
from pyterrier_cwla.behaviour import Calibration, InteractionLog, calibrate
from pyterrier_cwla.data import without_files
from pyterrier_cwla.data.lengths import Lengths
from pyterrier_cwla.errors import BadParameter, MalformedFile, UnknownSpec
from pyterrier_cwla.errors.sanitise import harmless
from pyterrier_cwla.files.formats import read_duplicates, read_lengths, read_pisa_index, read_qrels, read_run
from pyterrier_cwla.files.memory_limit import SETTING, free, most
from pyterrier_cwla.measures.labels import parsed
from pyterrier_cwla.measures.named import measures_of
from pyterrier_cwla.measures.provider import computed_here
from pyterrier_cwla.model import parse
from pyterrier_cwla.rendering.tables import escaped
from pyterrier_cwla.tasks.result_cache import ResultCache
from tests.support.generated_logs import generated_log
from tests.support.messages import refused

PACKAGE = Path(pyterrier_cwla.__file__).parent
READERS = (read_run, read_qrels, read_lengths, read_duplicates, InteractionLog.read, Calibration.load,
           lambda path: Lengths.of(path).mean)  # fmt: skip


#: Calls that execute code or load objects, and why they are allowed.
ALLOWED = {
    ("language.py", "loads"): "functions of a measure that was itself just unpickled: they travel between processes",
    ("table_artifacts.py", "load"): "reads a Parquet file: the method load of Lengths and Duplicates",
    ("cluster.py", "loads"): "what this package's own client has sent to its workers",
    ("lengths.py", "loads"): "a function of costs inside a pickle, which runs code anyhow",
}
FORBIDDEN = {"eval", "exec", "compile", "__import__", "loads", "load", "Unpickler", "system", "popen", "Popen", "spawn", "execv",
             "literal_eval", "read_pickle", "run_module", "run_path"}  # fmt: skip
HARMLESS_OWNERS = {"json", "tomllib", "Calibration", "DocumentTable", "Lengths", "Duplicates", "re", "cls"}


@pytest.mark.slow
def test_no_source_of_the_package_executes_text_or_reads_objects():
    found, loads = set(), []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            function = getattr(node, "func", None)
            name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
            owner = getattr(getattr(function, "value", None), "id", "")
            if (name, owner) == ("load", "np"):
                loads.append({k.arg: ast.literal_eval(k.value) for k in node.keywords}["allow_pickle"])
            elif name in FORBIDDEN and owner not in HARMLESS_OWNERS:
                found.add((path.name, name))
    assert found == set(ALLOWED), found ^ set(ALLOWED)
    assert {*loads} == {False}


HOSTILE = [
    "__import__('os').system('touch {mark}')", "CWLA(C=__import__('os').system('touch {mark}'),A='erg')",
    "CWLA(C='__import__(\"os\").system(\"touch {mark}\")',A='erg',max_rel=1)", "CWLA(C='rbp(open(\"{mark}\",\"w\"))',A='erg')",
    "CWLA(C='rbp((lambda: 0.5)())',A='erg',max_rel=1)", "CWLA(C='rbp.part.function.__globals__',A='erg',max_rel=1)",
    "CWLA(C='rbp([x for x in (1,)][0])',A='erg',max_rel=1)", "TBG(lengths=open('{mark}','w'))", "AP.__class__", "AP; import os",
    "TBG(lengths='{folder}/../../etc/passwd')", "TBG(lengths='/etc/shadow')", "TBG(calibration='/etc/passwd')", "exec('x')",
    "IntentAware(measure='ERR@20',weights='/etc/passwd')", "CWLA(C='rbp(0.5)',A='erg',gain='table({{1:__import__(\"os\")}})')",
    "ByTopic(measure=TBG,parameters='/etc/passwd')", "Mixture(measures={{'a':'TBG(lengths=\\'/etc/shadow\\')'}})",
    "GeometricMean(measure='GeometricMean(measure=\"__import__(1)\")')", "CWLA(C='rbp(phi=0.5,**{{}})',A='erg',max_rel=1)",
]  # fmt: skip
AUDITED = """
import json, sys, warnings
warnings.simplefilter("ignore")
from pyterrier_cwla.measures.provider import computed_here
from pyterrier_cwla import evaluate
from pyterrier_cwla.behaviour import Calibration, calibrate
from pyterrier_cwla.files.formats import read_lengths
from pyterrier_cwla import CWLAError, TBG
folder, measures = sys.argv[1], json.loads(sys.argv[2])
qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}

def go(files):
    refused = 0
    for text in measures:
        try:
            evaluate(qrels, run, [text])
        except CWLAError:
            refused += 1
    assert refused == len(measures) > 0
    for read in (read_lengths, Calibration.load):
        for file in files:
            try:
                read(f"{folder}/{file}")
            except CWLAError:
                pass
    evaluate(qrels, run, [f"TBG(lengths='{folder}/good.tsv')"])
    TBG(calibration=f"{folder}/good.json")

go(["good.tsv", "good.json"])  # so that all modules are there
seen = []
sys.addaudithook(lambda event, values: seen.append([event, str(values[0]) if values else ""]))
go(["good.tsv", "good.json", "bad.tsv", "bad.json", "pickle.tsv"])
print(json.dumps(list(seen)))
"""


@pytest.mark.slow
def test_hostile_measures_and_files_execute_and_open_nothing_else(tmp_path):
    """The audit events of a process that reads hostile measures, lengths and calibrations."""
    good = calibrate(generated_log(0, users=4), resamples=5).as_dict()
    bad = {**good, "notes": ["__import__('os')"], "about": {"!!python/object": 1}}
    files = {"good.json": json.dumps(good).encode(), "bad.json": json.dumps(bad).encode(), "good.tsv": b"a\t100\n",
             "bad.tsv": b"a\t__import__('os').system('true')\n",
             "pickle.tsv": b"\x80\x04\x95cos\nsystem\n(S'touch x'\ntR."}  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    measures = [text.format(mark=tmp_path / "mark", folder=tmp_path) for text in HOSTILE]
    program = [sys.executable, "-c", AUDITED, str(tmp_path), json.dumps(measures)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=100, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    events = json.loads(done.stdout.splitlines()[-1])
    dangerous = ("exec", "os.system", "os.exec", "os.spawn", "os.posix_spawn", "subprocess.Popen", "socket.connect", "pickle.find_class",
                 "ctypes.dlopen", "import", "os.remove", "os.rename", "shutil.rmtree", "os.mkdir", "marshal.loads")  # fmt: skip
    assert [event for event, _ in events if event in dangerous] == []
    assert not (tmp_path / "mark").exists()
    opened = {name for event, name in events if event == "open"}
    ours = {str(tmp_path / name) for name in files}
    named = {"/etc/passwd", "/etc/shadow", f"{tmp_path}/../../etc/passwd"}
    assert {name for name in opened if not name.isdigit()} <= ours | named
    assert ours <= opened


def test_without_files_measures_have_names_alone(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("a\t1\n")
    register_lengths("known", {"a": 1})
    texts = [f"TBG({parameter}={str(path)!r})" for parameter in ("lengths", "duplicates", "calibration")]
    with without_files(), ThreadPoolExecutor() as pool:
        assert str(TBG(lengths="known")) == "TBG(lengths='known')"
        for text in [*texts, f"ByTopic(measure=TBG,parameters={str(path)!r})"]:
            for read in (computed_here, lambda given: pool.submit(copy_context().run, computed_here, given).result()):
                refused(lambda read=read, text=text: read([text]), BadParameter, "files are not read here")
    assert computed_here(texts[:1])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_pipes_and_devices_are_no_files(tmp_path):
    """Reading a pipe may block for ever, and reading /dev/zero uses up the memory."""
    os.mkfifo(tmp_path / "pipe")
    for read, path in product(READERS, (tmp_path / "pipe", "/dev/zero", "/dev/stdin")):
        refused(lambda read=read, path=path: read(path), MalformedFile, "no regular file")
    for name, other in (("inv.sizes", "fwd.documents"), ("fwd.documents", "inv.sizes")):
        folder = tmp_path / f"index with {other}"
        folder.mkdir()
        (folder / other).write_bytes(bytes(4))
        os.mkfifo(folder / name)
        refused(lambda folder=folder: read_pisa_index(folder), MalformedFile, f"{name}: no regular file")
    for text in ("TBG(lengths='/dev/zero')", "TBG(duplicates='/dev/stdin')", "TBG(calibration='/dev/zero')"):
        refused(lambda text=text: computed_here([text]), BadParameter)


def test_errors_are_short_and_names_of_tables_words(tmp_path):
    for text, readers, most_long in (("x" * 5000 + "\n", READERS[:4], 300), ("1 0 d " + "9" * 5000, [read_qrels], 500)):
        (tmp_path / "secret").write_text(text)
        for read in readers:
            message = refused(lambda read=read: read(tmp_path / "secret"), MalformedFile)
            assert len(message) < most_long + len(str(tmp_path))
    for name in ("../../x", "/etc/passwd", "a/b", "nul\0", "", "with blank"):
        refused(lambda name=name: register_lengths(name, {"a": 1}), BadParameter, "a table's name is a word")


def bomb(path: Path, kind: str) -> Path:
    """Write a small file that unpacks to 64 MiB."""
    if kind == "gzip":
        path.write_bytes(gzip.compress(b"1 Q0 a 1 2 t\n" + b"\n" * (1 << 20)) * 64)
    elif kind == "zstd":
        path.write_bytes(pa.compress(b"\n" * (1 << 20), "zstd", asbytes=True) * 64)
    else:  # one long name, repeated in every row
        rows = 1 << 16
        names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["x" * 1024]))
        table = {"qid": names, "docno": names, "score": np.zeros(rows), "label": np.zeros(rows, int), "words": np.zeros(rows),
                 "duplicate_of": names, "user": names, "session": names, "topic": names, "rank": np.arange(rows) + 1,
                 "clicked": np.zeros(rows, bool)}  # fmt: skip
        pq.write_table(pa.table(table), path, store_schema=False)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gzip", "zstd", "parquet"])
def test_what_unpacks_to_more_than_may_be_is_refused(kind, tmp_path, monkeypatch):
    path = bomb(tmp_path / "bomb", kind)
    assert path.stat().st_size < 1 << 20
    monkeypatch.setenv(SETTING, "32M")
    before = pa.total_allocated_bytes()
    for read in READERS[:5]:
        message = refused(lambda read=read: read(path), MalformedFile)
        says = rf"bomb: \d.* or more once it is unpacked \(the file has .*\).* 32.0 MiB here.*{SETTING}="
        assert re.search(says, message)
    assert pa.total_allocated_bytes() - before < 48 << 20
    monkeypatch.setenv(SETTING, "4G")
    if kind == "parquet":
        refused(lambda: read_run(path), MalformedFile, "stands twice")


def test_calibrations_and_limits_that_are_too_large(tmp_path, monkeypatch):
    (tmp_path / "c.json").write_text("[" * (2 << 20))
    monkeypatch.setenv(SETTING, "1M")
    refused(lambda: Calibration.load(tmp_path / "c.json"), MalformedFile, "2.0 MiB or more ", SETTING)
    monkeypatch.delenv(SETTING)
    refused(lambda: Calibration.load(tmp_path / "c.json"), MalformedFile, "not valid JSON")
    assert 0 < most(30) <= most(3) <= free()
    for said, size in (("1000", 1000), ("3k", 3072), ("500M", 500 << 20), ("2GB", 2 << 30)):
        monkeypatch.setenv(SETTING, said)
        assert most() == size
    for said in ("much", "-1", "1.5G", "9" * 40):
        monkeypatch.setenv(SETTING, said)
        refused(most, BadParameter, f"{SETTING}=")
    ids, path = [f"{number:07}" for number in range(1 << 16)], tmp_path / "words.parquet"
    pq.write_table(pa.table({"docno": ids, "words": [1.0] * len(ids)}), path)
    size = pq.read_metadata(path).row_group(0).total_byte_size + (7 + 8 + 8) * len(ids)
    monkeypatch.setenv(SETTING, str(size))
    assert len(read_lengths(path)) == len(ids)
    monkeypatch.setenv(SETTING, str(size - 1))
    refused(lambda: read_lengths(path), MalformedFile, "or more once it is unpacked")


@pytest.mark.parametrize("text", [
    "CWLA(C='" + "product(" * 3000 + "rr" + ",rr)" * 3000 + "',A='erg',max_rel=1)",
    "CWLA(C='" + "(" * 5000 + "',A='erg')", "CWLA(C='rbp(" + "-" * 5000 + "1)',A='erg',max_rel=1)",
    "CWLA(C='fixed(" + "0.5," * 1_000_000 + ")',A='erg',max_rel=1)",
    "CWLA(C='rbp(0." + "9" * 100_000 + ")',A='erg',max_rel=1)",
    "CWLA(C='prec(" + "9" * 10_000 + ")',A='erg',max_rel=1)", "CWLA(C='rbp(10**10**10)',A='erg',max_rel=1)",
    "nDCG@" + "9" * 10_000, "nDCG@9" + "*9" * 50_000, "Residual(measure=" * 300 + "'AP'" + ")" * 300,
    "GeometricMean(measure=" + "[" * 500 + "]" * 500 + ")",
], ids=lambda text: text[:30])  # fmt: skip
def test_deep_and_long_measures_are_errors(text):
    assert len(refused(lambda: computed_here([text]))) < 5000


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["P.5" + ",5" * 500_000, "AP," * 300_000 + "AP", "a=" * 500_000, "nDCG(gains={" + "1:1," * 250_000 + "})"]
)
def test_the_whole_text_of_measures_has_a_limit(text):
    for given in (text, [text], {"label": text}, [ir_measures.AP, text], f"Residual(measure={text})"):
        says = "characters, and texts of measures have at most 10,000"
        assert len(refused(lambda given=given: measures_of(given), UnknownSpec, says)) < 500
    refused(lambda: parsed(text), UnknownSpec, "at most 10,000")
    assert len(measures_of("P.5" + ",5" * 4_998)) == 4_999
    refused(lambda: parse("fixed(" + "1," * 1_000_000 + "1)", "continuation"), UnknownSpec, "cannot be read")


ODD = ["<script>alert(1)</script>", 'a"b', "a'b", "l\u2028p\u2029", "\x1b[2J\x1b]0;title\x07", "\u202eevil", "=1+1",
       "a\\b&c_d$e#f%g{h}~^"]  # fmt: skip


def test_latex_and_pages_escape_what_they_print():
    expected = r"a\textbackslash{}b\&c\_d\$e\#f\%g\{h\}\textasciitilde{}\textasciicircum{}"
    assert escaped("a\\b&c_d$e#f%g{h}~^") == expected
    assert escaped("a\rb\x1bc") == r"a\textbackslash{}x0db\textbackslash{}x1bc"
    assert harmless("tab\tand\nend, \u00e9, \u4e2d") == "tab\tand\nend, \u00e9, \u4e2d"
    rows = [dict(user=f"u{odd}", session="1", topic=odd, rank=1, docno=odd, clicked=True) for odd in ODD]
    log = InteractionLog.of(pd.DataFrame(rows).assign(**{"<script>": 1}))
    found = calibrate(log, resamples=5)
    content = found.as_dict()
    content["notes"], content["missing"] = ["<script>"], {"half_life": "<script>"}
    for page in (log._repr_html_(), Calibration.from_dict(content)._repr_html_()):
        assert "<script>" not in page


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_data_for_programs_has_ids_as_they_are(form, tmp_path, prints):
    """A cell =1+1 is not escaped, since it is an id; spreadsheets should import CSV columns as text."""
    ids = [name for name in ODD if " " not in name]
    (tmp_path / "qrels").write_text("".join(f"{name} 0 d 1\n" for name in ids), encoding="utf-8")
    (tmp_path / "run").write_text("".join(f"{name} 0 d 1 1 t\n" for name in ids), encoding="utf-8")
    out = prints("evaluate", tmp_path / "qrels", tmp_path / "run", "-m", "AP", "--by-query", "--format", form)
    stream = io.StringIO(out, newline="")
    frame = pd.read_csv(stream, dtype=str) if form == "csv" else pd.DataFrame(map(json.loads, out.split("\n")[:-1]))
    assert frame["query_id"].tolist() == ids


def test_what_is_kept_lies_in_its_folder_and_holds_no_objects(tmp_path):
    """Names of measures and runs are hashed, and never used as paths."""
    (tmp_path / "qrels").write_text("1 0 d 1\n")
    (tmp_path / "run").write_text("1 0 d 1 1 t\n")
    kept = tmp_path / "in" / "kept"
    runs = {"../../escaped": str(tmp_path / "run"), "/etc/escaped": str(tmp_path / "run")}
    evaluate(str(tmp_path / "qrels"), runs, ["AP", "CWLA(C='rbp(0.5)',A='erg',max_rel=1)"], cache_dir=kept)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path for path in files if kept not in path.parents} == {tmp_path / "qrels", tmp_path / "run"}
    assert not any("escaped" in path.name for path in files)
    cache = ResultCache(tmp_path / "objects", {"of": "a test"})
    cache.put("one", {"values": np.arange(3)})
    [path] = (tmp_path / "objects").rglob("*.npz")
    np.savez(path, values=np.array([print], object))
    assert cache.get("one", {"values": ("i", (3,))}) is None

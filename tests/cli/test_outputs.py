"""Files of commands: inputs are regular files and never overwritten, other existing files only with --force."""

import json
import os
import shutil
import signal
from pathlib import Path
from typing import get_args, get_type_hints

import pandas as pd
import pytest

from pyterrier_cwla.behaviour import InteractionLog, calibrate
from tests.measures.test_calibrated import rows
from tests.support.commands import all_commands

pytestmark = pytest.mark.slow

#: Commands that write a file. OUT is the output path; the option before it is the output option.
WRITERS = {
    "evaluate": "evaluate qrels.txt runs -m AP -m TBG(lengths='words.tsv',unseen=9) --lengths words.tsv --costs words.tsv"
    " --format csv -o OUT",
    "evaluate --by-query": "evaluate qrels.txt runs -m TBG --by-query --lengths words.tsv --format jsonl -o OUT",
    "evaluate calibrated": "evaluate qrels.txt runs/a.txt -m TBG(calibration='calibration.json',lengths='words.tsv')"
    " --format parquet -o OUT",
    "evaluate wrapped": "evaluate qrels.txt runs/a.txt -m GeometricMean(measure=\"TBG(lengths='words.tsv',unseen=9)\")"
    " --format csv -o OUT",
    "compare": "compare qrels.txt runs -m AP -m TBG --lengths words.tsv --costs words.tsv --format csv -o OUT",
    "sessions": "sessions qrels.txt runs --sessions sessions.csv --judged-by query_id -m TBG(lengths='words.tsv',unseen=9)"
    " -m sDCG --lengths words.tsv --costs words.tsv --format csv -o OUT",
    "explain": "explain qrels.txt runs/a.txt runs/b.txt -q q1 -m TBG --lengths words.tsv --costs words.tsv --plot OUT",
    "simulate": "simulate qrels.txt runs -m TBG --lengths words.tsv --costs words.tsv --users 20 --format csv -o OUT",
    "rbo": "rbo runs --format csv -o OUT",
    "pages": "pages runs/a.txt costs.txt -o OUT",
    "calibrate": "calibrate log.csv --resamples 5 --min-clicks 2 -o OUT",
}
#: Commands that write a folder of files with fixed names.
FOLDERS = {
    "calibrate --pictures": "calibrate log.csv --resamples 5 --min-clicks 2 --pictures OUT",
    "study robustness": "study robustness qrels.txt runs -m AP --pairs 0 --seeds 2 --lengths words.tsv -o OUT",
    "study robustness groups": "study robustness qrels.txt runs -m AP --holes groups --groups groups.csv --lengths words.tsv -o OUT",
    "study next": "study next qrels.txt runs -m AP --lengths words.tsv -o OUT",
    "study power": "study power qrels.txt runs -m AP -m RR --resamples 100 --lengths words.tsv -o OUT",
    "study agreement": "study agreement qrels.txt runs -m AP -m RR --resamples 100 --lengths words.tsv -o OUT",
    "study judges": "study judges qrels.txt runs --machine qrels.txt -m AP -m RR --resamples 100 --lengths words.tsv -o OUT",
    "study users": "study users qrels.txt runs/a.txt ratings.csv -m AP -m RR --resamples 100 --cv 2 -o OUT",
    "study users --sessions": "study users qrels.txt runs/a.txt rated.csv --sessions sessions.csv --judged-by query_id -m AP"
    " --lengths words.tsv -o OUT",
    "study fit": "study fit qrels.txt runs/a.txt ratings.csv -t TBG(lengths='words.tsv',half_life=$h) -r h=20:90"
    " --cv 2 -o OUT",
}
#: Commands with all their inputs; each file is an argument of its own.
READERS = [
    *(text.replace(" runs ", " runs/a.txt runs/b.txt ") for text in (WRITERS | FOLDERS).values()),
    "correct qrels.txt runs/a.txt runs/b.txt -m AP --machine qrels.txt --sampled ratings.csv --lengths words.tsv --costs words.tsv",
    "explore qrels.txt runs/a.txt runs/b.txt -m AP --lengths words.tsv --texts words.tsv --no-browser",
    "demo --runs runs/a.txt --qrels qrels.txt --lengths words.tsv",
    "study next qrels.txt runs/a.txt runs/b.txt -m AP --predicted qrels.txt --lengths words.tsv -o OUT",
    "study fit qrels.txt runs/a.txt rated.csv --sessions sessions.csv -t RBP(p=$p) -r p=0.1:0.9 -o OUT",
]
INPUTS = ["qrels.txt", "runs/a.txt", "runs/b.txt", "words.tsv", "costs.txt", "calibration.json", "log.csv", "ratings.csv",
          "rated.csv", "groups.csv", "sessions.csv"]  # fmt: skip


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    folder = tmp_path_factory.mktemp("collection")
    (folder / "runs").mkdir()
    queries, documents = [f"q{q}" for q in range(1, 7)], [f"d{d}" for d in range(12)]
    grade = {(q, d): int((i * 7 + j * 5) % 11 < 3) for i, q in enumerate(queries) for j, d in enumerate(documents)}
    (folder / "qrels.txt").write_text("".join(f"{q} 0 {d} {g}\n" for (q, d), g in grade.items()))
    for seed, name in enumerate("abc"):
        lines = [f"{q} Q0 {d} 1 {(i * (seed + 3)) % 13} t\n" for i, (q, d) in enumerate(grade)]
        (folder / f"runs/{name}.txt").write_text("".join(lines))
    (folder / "words.tsv").write_text("".join(f"{d}\t{30 * (j + 1)}\n" for j, d in enumerate(documents)))
    ratings = pd.DataFrame({"query_id": queries, "rating": [1, 4, 2, 5, 3, 2], "user": list("abcabc")})
    ratings.to_csv(folder / "ratings.csv", index=False)
    (folder / "costs.txt").write_text("Q0 4\n")
    (folder / "groups.csv").write_text("run,group\na,A\nb,B\nc,A\n")
    sessions = pd.DataFrame({"session": queries, "query_id": queries, "order": 1})
    sessions.to_csv(folder / "sessions.csv", index=False)
    sessions[["session"]].assign(rating=[1, 4, 2, 5, 3, 2]).to_csv(folder / "rated.csv", index=False)
    rows().to_csv(folder / "log.csv", index=False)
    calibrate(InteractionLog.read(folder / "log.csv"), resamples=5, min_clicks=2).save(folder / "calibration.json")
    return folder


@pytest.fixture
def files(collection, tmp_path, monkeypatch):
    shutil.copytree(collection, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")


def split(text, output):
    return [str(output) if word == "OUT" else word for word in text.split(" ")]


def inputs_of(text):
    named = [name for name in INPUTS if name in text]
    return [*named, *(name for name in ("runs/a.txt", "runs/b.txt") if " runs " in text and name not in named)]


def content():
    return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
@pytest.mark.parametrize("text", READERS)
def test_pipes_and_devices_are_no_inputs(text, files, cli, monkeypatch):
    """Nobody writes to the pipe, and /dev/zero has no end."""
    os.mkfifo("pipe")
    words = split(text, "new.svg")
    inputs = [at for at, word in enumerate(words) if Path(word).is_file()]
    previous = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("the command does not end"))
    try:
        for at in inputs:
            for other in ("pipe", "/dev/zero"):
                signal.alarm(10)
                code, out, message = cli(*words[:at], other, *words[at + 1 :])
                assert (code, out) == (2, ""), (words[at], message)
                assert f"{other}: no regular file but a pipe or a device" in message, (words[at], message)
                assert message.endswith("on the command line, - is standard input.\n")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def test_all_commands_and_their_options_are_tried():
    tried = {word for text in READERS for word in text.split()}
    options = {f"--{name.replace('_', '-')}" for _, name in options_that_are_paths()}
    assert options - tried == {"--cache-dir", "--output", "--save", "--table"}
    names = {tuple(text.split()[: 1 + text.startswith("study")]) for text in READERS}
    assert len(names) == sum("Path" in str(get_type_hints(command.callback)) for command in all_commands())
    read = {"lengths", "costs", "groups", "sessions", "table", "runs", "qrels", "texts", "predicted", "machine",
            "sampled"}  # fmt: skip
    kept = {("evaluate", "cache_dir")}  # the cache creates its own folders
    tried = {("evaluate", "output"), ("compare", "output"), ("correct", "output"), ("sessions", "output"), ("explain", "plot"), ("simulate", "output"),
             ("calibrate", "output"), ("calibrate", "pictures"), ("robustness", "output"), ("power", "output"),
             ("agreement", "output"), ("judges", "output"), ("users", "output"), ("fit", "output"), ("next_documents", "output"), ("demo", "save"),
             ("pages", "output"), ("rbo", "output")}  # fmt: skip
    assert {(command, option) for command, option in options_that_are_paths() if option not in read} == tried | kept


def options_that_are_paths():
    for command in all_commands():
        for name, hint in get_type_hints(command.callback, include_extras=True).items():
            option = any(type(part).__name__ == "OptionInfo" for part in getattr(hint, "__metadata__", ()))
            if option and Path in (hint.__origin__, *get_args(hint.__origin__)):
                yield command.callback.__name__, name


@pytest.mark.parametrize("name", WRITERS)
def test_no_command_writes_onto_an_input(name, files, says):
    text = WRITERS[name]
    before = content()
    for number, file in enumerate(inputs_of(text)):
        suffix = ".svg" if name == "explain" else ".out"
        link, hard = Path(f"link{number}{suffix}"), Path(f"hard{number}{suffix}")
        link.symlink_to(file)
        os.link(file, hard)
        places = [link, hard, *([] if name == "explain" else [file, Path(file).absolute(), f"runs/../{file}"])]
        for place in places:
            for more in ((), ("--force",)):
                message = says(*split(text, place), *more)
                assert "is the input" in message, (place, message)
                assert str(place) in message
        link.unlink()
        hard.unlink()
        assert content() == before


@pytest.mark.parametrize("name", WRITERS)
def test_existing_files_are_replaced_with_force_only(name, files, says, prints):
    place = Path("old.svg" if name == "explain" else "old.txt")
    place.write_text("of the user")
    exists = f"{place}: the file exists. Write to another file, or replace it with --force."
    assert exists in says(*split(WRITERS[name], place))
    assert place.read_text() == "of the user"
    prints(*split(WRITERS[name], place), "--force")
    assert place.read_bytes() != b"of the user"
    place.unlink()
    prints(*split(WRITERS[name], place))
    assert place.stat().st_size


@pytest.mark.parametrize(("text", "name"), [
    (FOLDERS["calibrate --pictures"], "survival.svg"), ("demo --documents 60 --topics 3 --save OUT", "qrels.txt"),
    (FOLDERS["study users"], "report.html"),
])  # fmt: skip
def test_files_in_folders_are_replaced_with_force_only(text, name, files, says, prints):
    Path("made").mkdir()
    Path("made", name).write_text("of the user")
    before = content()
    assert f"made/{name}: the file exists" in says(*split(text, "made"))
    assert content() == before
    prints(*split(text, "made"), "--force")
    assert Path("made", name).read_text() != "of the user"
    if "--pictures" in text:
        Path("made", name).unlink()
        os.link("log.csv", f"made/{name}")
        assert "is the input log.csv" in says(*split(text, "made"), "--force")


def test_links_and_streams_are_resolved(files, says, prints):
    Path("drawn").mkdir()
    Path("link").symlink_to("drawn")
    for folder in ("drawn", "link"):
        message = says(*split(FOLDERS["calibrate --pictures"], "drawn"), "-o", f"{folder}/progress.svg")
        assert f"-o {folder}/progress.svg and --pictures drawn/progress.svg are the same file" in message
    Path("linked").symlink_to("runs")
    assert "lies inside the input folder linked" in says("rbo", "linked", "-o", "runs/scores.csv")
    prints(*split(WRITERS["evaluate"], os.devnull))


@pytest.mark.parametrize("name", [name for name in FOLDERS if name.startswith("study")])
def test_reports_replace_no_input(name, files, cli):
    """This includes inputs that the manifest of the folder lists."""
    text = FOLDERS[name]
    for file in inputs_of(text):
        for place in ("report.html", "tables/listed.csv"):
            for link in (os.link, os.symlink):
                shutil.rmtree("out", ignore_errors=True)
                Path("out/tables").mkdir(parents=True)
                link(Path(file).absolute(), f"out/{place}")
                if place == "tables/listed.csv":
                    Path("out/manifest.json").write_text(json.dumps({"files": [place]}))
                before = content()
                code, _, message = cli(*split(text, "out"), "--force")
                assert (code, f"out/{place}: is " in message) == (2, True), message
                assert content() == before


INSIDE = {**WRITERS, **FOLDERS}


@pytest.mark.parametrize("name", [name for name in INSIDE if " runs " in INSIDE[name]])
def test_no_command_writes_into_an_input_folder(name, files, cli):
    """The next call of the command would read the output as input."""

    def says(*arguments):
        code, out, message = cli(*arguments)
        assert (code, out) == (2, "")
        return message

    text = INSIDE[name]
    Path("link").symlink_to("runs")
    before = content()
    for place in ("runs/scores.out", "link/scores.out", Path("runs").absolute() / "x"):
        message = says(*split(text, place), *(["--force"] if name in WRITERS else []))
        assert f"{place}: lies inside the input folder runs" in message
    assert content() == before
    if name in FOLDERS:
        assert "-o runs: is the input folder runs" in says(*split(text, "runs/"))
    if name.startswith("evaluate"):
        assert "--cache-dir runs: is the input folder runs" in says(*split(text, "scores.out"), "--cache-dir", "runs/")
        assert "--cache-dir runs/kept: lies inside" in says(*split(text, "scores.out"), "--cache-dir", "runs/kept")
    assert content() == before


@pytest.mark.parametrize("name", [name for name in FOLDERS if name.startswith("study")])
def test_a_report_is_refused_before_the_study_is_computed(name, files, cli):
    text = FOLDERS[name] + " --cv 2" * (name == "study users --sessions")
    code, _, message = cli(*split(text, "out"))
    assert code == 0, message
    shutil.rmtree("out")
    exists, not_ours = "the file exists", "move the file away: it is not of a report."
    for file, why, way_out in (
        *((file, exists, "replace the files with --force.") for file in ("report.html", "about.json")),
        ("manifest.json", "is in the way: it is not the manifest of a report", "Move it away, or write the report to"),
        ("tables/of_the_user.csv", exists, not_ours),
        ("pictures/of_the_user.svg", exists, not_ours),
    ):
        Path("out", file).parent.mkdir(parents=True, exist_ok=True)
        Path("out", file).write_text("of the user")
        code, _, message = cli(*split(text, "out"))
        assert (code, f"out/{file}: {why}" in message) == (2, True), message
        assert way_out in message
        assert [path for path in Path("out").rglob("*") if path.is_file()] == [Path("out", file)]
        assert not Path("out/parts").exists()
        Path("out", file).unlink()

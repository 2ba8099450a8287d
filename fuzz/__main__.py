"""The command: ``python -m fuzz TARGET --inputs 1000000 --seed 0 [--guided]``."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
import traceback
import warnings
from collections import Counter
from datetime import date
from importlib import import_module
from typing import Any

from .mutating import Source

TARGETS = (
    *("run", "qrels", "lengths", "duplicates", "packed", "parquet", "streamed"),
    *("measures", "provider", "logs", "adapters", "calibration"),
)
_SLOW = 1.0  # seconds of a processor for one small input
_SHOWN = 20


def main() -> None:
    """Fuzzes a target, and prints a line for the table of the documentation."""
    options = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    options.add_argument("target", choices=TARGETS)
    options.add_argument("--inputs", type=int, default=1_000_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--first", type=int, default=0, help="the number of the first input")
    options.add_argument("--guided", action="store_true", help="let coverage guide the changes (atheris)")
    options.add_argument("--seconds", type=int, default=0, help="of a guided run, instead of --inputs")
    given = options.parse_args()
    if hasattr(os, "sched_setaffinity"):  # threads that hand each other three lines take thrice as long
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if given.guided:
        guided(given.target, given.inputs, given.seed, given.seconds)
    else:
        plainly(given.target, given.inputs, given.seed, given.first)


def plainly(target: str, inputs: int, seed: int, first: int) -> None:
    """All inputs in a process of its own, of which another takes its place where it crashes."""
    began, counts = time.perf_counter(), Counter[str]()
    context = multiprocessing.get_context("fork")
    at, end = first, first + inputs
    while at < end:
        number, told = context.Value("q", at), context.SimpleQueue()
        worker = context.Process(target=_work, args=(target, seed, at, end, number, told), daemon=True)
        worker.start()
        worker.join()
        while not told.empty():
            counts.update(told.get())
        at = number.value
        if at < end:  # it crashed, or ran out of memory
            counts["crash"] += 1
            print(f"input {at}: the process ended with {worker.exitcode}: {source(target, seed)[at]!r}", flush=True)
            at += 1
    seconds = time.perf_counter() - began
    wrong = counts["wrong"] + counts["crash"] + counts["slow"]
    print(
        f"{date.today()} | {target} | seed {seed} | {inputs:,} inputs | {counts['accepted']:,} accepted | {wrong} wrong"
        f" ({counts['crash']} crashes, {counts['slow']} slow) | {inputs / seconds:,.0f} inputs/s"
    )
    sys.exit(bool(wrong))


def source(target: str, seed: int) -> Source:
    module = import_module(f"fuzz.{target}")
    return Source(module.EXAMPLES, module.TOKENS, getattr(module, "grammar", None), seed)


def _work(target: str, seed: int, first: int, end: int, number: Any, told: Any) -> None:
    warnings.simplefilter("ignore")
    one_input, inputs, counts = import_module(f"fuzz.{target}").one_input, source(target, seed), Counter[str]()
    seen: set[str] = set()
    began = time.perf_counter()
    for at in range(first, end):
        number.value = at
        data, clock = inputs[at], time.process_time()
        try:
            counts["accepted"] += one_input(data)
        except Exception as error:
            counts["wrong"] += 1
            _show(at, data, error, seen)
        if time.process_time() - clock > _SLOW:
            counts["slow"] += 1
            print(f"input {at}: {time.process_time() - clock:.1f} s: {data[:2000]!r}", flush=True)
        if at % 50_000 == 49_999:
            told.put(dict(counts))
            counts.clear()
            print(f"{at + 1:,} after {time.perf_counter() - began:,.0f} s", flush=True)
    told.put(dict(counts))
    number.value = end


def _show(at: int, data: bytes, error: Exception, seen: set[str]) -> None:
    """Each kind of mistake once, by where it happened and how it begins."""
    frames = traceback.extract_tb(error.__traceback__)
    kind = f"{type(error).__name__} {frames[-1].filename}:{frames[-1].lineno} {str(error)[:40]}"
    if kind not in seen and len(seen) < _SHOWN:
        seen.add(kind)
        where = " < ".join(f"{os.path.basename(f.filename)}:{f.lineno}" for f in frames[:-4:-1])
        print(f"input {at}: {type(error).__name__}: {error!s:.600}\n  at {where}\n  data {data[:2000]!r}", flush=True)


def guided(target: str, inputs: int, seed: int, seconds: int) -> None:
    """The same, with inputs that reach new branches of the package kept and changed further, by atheris."""
    try:
        import atheris
    except ImportError:
        sys.exit("--guided needs atheris: python -m pip install atheris")
    for name in [name for name in sys.modules if name.split(".")[0] in ("pyterrier_cwla", "fuzz")]:
        if name not in ("fuzz", "fuzz.__main__"):
            del sys.modules[name]  # to be imported anew, this time with its branches counted
    with atheris.instrument_imports(include=["pyterrier_cwla"]):
        module = import_module(f"fuzz.{target}")
    warnings.simplefilter("ignore")
    found = import_module("fuzz.found").SCRATCH
    corpus, counts = found / "corpus", Counter[str]()
    corpus.mkdir()
    examples = source(target, seed)
    for number in range(300):
        (corpus / str(number)).write_bytes(examples[number])

    def test(data: bytes) -> None:
        counts["inputs"] += 1
        counts["accepted"] += module.one_input(data)
        if counts["inputs"] % 10_000 == 0:
            print(f"{counts['inputs']:,} inputs, {counts['accepted']:,} accepted", flush=True)

    limit = f"-max_total_time={seconds}" if seconds else f"-runs={inputs}"
    place = f"-artifact_prefix={found}/"
    atheris.Setup(
        [
            sys.argv[0],
            limit,
            place,
            f"-seed={seed + 1}",
            "-timeout=10",
            "-rss_limit_mb=4096",
            "-max_len=4096",
            str(corpus),
        ],
        test,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()

"""Command ``python -m fuzz TARGET --inputs 1000000 --seed 0 [--guided]``."""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from datetime import date
from importlib import import_module
from typing import Any

from . import place
from .mutating import Source

TARGETS = (
    *("run", "qrels", "lengths", "duplicates", "packed", "parquet", "streamed", "nested"),
    *("measures", "provider", "logs", "adapters", "calibration"),
    *("server", "arrays", "scorers", "options"),
)
HANG = 30.0  # seconds for one small input, also beside other work
_SLOW = 1.0  # seconds of CPU time
_COUNTS = ("accepted", "wrong", "slow")
_SHOWN = 20


def main() -> None:
    """Fuzz a target, and print a line for the table in results.rst."""
    options = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    options.add_argument("target", choices=TARGETS)
    options.add_argument("--inputs", type=int, default=1_000_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--first", type=int, default=0, help="number of the first input")
    options.add_argument("--guided", action="store_true", help="guide the changes by coverage (atheris)")
    options.add_argument("--seconds", type=int, default=0, help="duration in seconds, instead of --inputs")
    given = options.parse_args()
    # One core: on several cores, threads that exchange small chunks take three times as long.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if given.guided:
        context = multiprocessing.get_context("fork")  # libFuzzer ends its process without cleanup by Python
        worker = context.Process(target=guided, args=(given.target, given.inputs, given.seed, given.seconds))
        worker.start()
        worker.join()
        sys.exit(worker.exitcode)
    else:
        plainly(given.target, given.inputs, given.seed, given.first, given.seconds or math.inf)


def plainly(target: str, inputs: int, seed: int, first: int, duration: float = math.inf) -> None:
    """Test inputs for some seconds in a separate process, which is replaced after a crash or a hang."""
    began, context = time.perf_counter(), multiprocessing.get_context("fork")
    until = time.monotonic() + duration
    state = context.RawArray("q", [first, *(0 for _ in _COUNTS)])
    end, crashes, hangs, stopped = first + inputs, 0, 0, None
    while state[0] < end and time.monotonic() < until:
        worker = context.Process(target=_work, args=(target, seed, end, until, state), daemon=True)
        worker.start()
        worker.join()
        at = state[0]
        hung = worker.exitcode == -signal.SIGALRM
        if hung and stopped != at:
            stopped = at  # repeat once: the process may have been suspended
        elif worker.exitcode != 0:
            hangs, crashes = hangs + hung, crashes + (not hung)
            how = f"it took more than {HANG:g} s" if hung else f"the process ended with {worker.exitcode}"
            print(f"input {at}: {how}: {source(target, seed)[at]!r}", flush=True)
            state[0] += 1
    seconds = time.perf_counter() - began
    accepted, wrong, slow = state[1:]
    mistakes = wrong + slow + crashes + hangs
    print(
        f"{date.today()} | {target} | seed {seed} | {state[0] - first:,} inputs | {accepted:,} accepted | {mistakes} wrong"
        f" ({crashes} crashes, {hangs} hangs, {slow} slow) | {(state[0] - first) / seconds:,.0f} inputs/s"
    )
    sys.exit(bool(mistakes))


def source(target: str, seed: int) -> Source:
    """Return the inputs of a target."""
    module = import_module(f"fuzz.{target}")
    return Source(module.EXAMPLES, module.TOKENS, getattr(module, "grammar", None), seed)


def _work(target: str, seed: int, end: int, until: float, state: Any) -> None:
    """Test inputs; the number of the current input and _COUNTS are in shared memory, which survives a crash."""
    warnings.simplefilter("ignore")
    one_input, inputs = import_module(f"fuzz.{target}").one_input, source(target, seed)
    seen: set[str] = set()
    began = time.perf_counter()
    for at in range(state[0], end):
        state[0] = at
        if time.monotonic() > until:
            return
        data = inputs[at]
        seconds = _tested(one_input, at, data, seen, state)
        if seconds > _SLOW:  # repeat once: the first input of a kind imports modules
            seconds = min(seconds, _tested(one_input, at, data, seen, [0] * len(state)))
        if seconds > _SLOW:
            state[3] += 1
            print(f"input {at}: {seconds:.1f} s: {data[:2000]!r}", flush=True)
        if at % 50_000 == 49_999:
            print(f"{at + 1:,} after {time.perf_counter() - began:,.0f} s", flush=True)
    state[0] = end


def _tested(one_input: Callable[[bytes], bool], at: int, data: bytes, seen: set[str], state: Any) -> float:
    """Test an input, count whether it was accepted or wrong, and return its seconds of CPU time."""
    began = time.process_time()
    signal.setitimer(signal.ITIMER_REAL, HANG)  # ends the process when the time is up
    try:
        state[1] += one_input(data)
    except Exception as error:
        state[2] += 1
        _show(at, data, error, seen)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return time.process_time() - began


def _show(at: int, data: bytes, error: Exception, seen: set[str]) -> None:
    """Print each kind of error once, identified by its line and the beginning of its message."""
    frames = traceback.extract_tb(error.__traceback__)
    kind = f"{type(error).__name__} {frames[-1].filename}:{frames[-1].lineno} {str(error)[:40]}"
    if kind not in seen and len(seen) < _SHOWN:
        seen.add(kind)
        where = " < ".join(f"{os.path.basename(f.filename)}:{f.lineno}" for f in frames[:-4:-1])
        print(f"input {at}: {type(error).__name__}: {error!s:.600}\n  at {where}\n  data {data[:2000]!r}", flush=True)


def guided(target: str, inputs: int, seed: int, seconds: int) -> None:
    """Fuzz with atheris, which keeps inputs that reach new branches of the package and changes them further.

    atheris writes an input that fails to the current folder.
    """
    try:
        import atheris
    except ImportError:
        sys.exit("--guided needs atheris: python -m pip install atheris")
    for name in [name for name in sys.modules if name.split(".")[0] in ("pyterrier_cwla", "fuzz")]:
        if name not in ("fuzz", "fuzz.__main__", "fuzz.place"):
            del sys.modules[name]  # imported again below, with instrumented branches
    with atheris.instrument_imports(include=["pyterrier_cwla"]):
        module = import_module(f"fuzz.{target}")
    warnings.simplefilter("ignore")
    corpus, counts = place.FOLDER / "corpus", Counter[str]()
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
    options = [limit, f"-seed={seed + 1}", f"-timeout={HANG:.0f}", "-rss_limit_mb=4096", "-max_len=4096"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], test)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

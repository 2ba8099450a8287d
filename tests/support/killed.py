"""Kill evaluations with a result cache at random moments, resume them, and compare the values."""

import signal
import subprocess
import sys
import time

import numpy as np

from pyterrier_cwla import evaluate

RUNS, QUERIES, DOCUMENTS = 30, 20, 30
MEASURES = ["AP", "nDCG@10", "CWLA(C='rbp(0.8)',A='max',max_rel=3)"]


def collection(folder, runs=RUNS):
    """Write judgments and small runs."""
    rng = np.random.default_rng(0)
    (folder / "runs").mkdir()
    pairs = [(f"q{q}", f"d{d}") for q in range(QUERIES) for d in range(DOCUMENTS)]
    (folder / "qrels.txt").write_text("".join(f"{q} 0 {d} {rng.integers(4)}\n" for q, d in pairs[::2]))
    for run in range(runs):
        scores = rng.random(len(pairs)).tolist()
        lines = (f"{q} Q0 {d} 0 {s} run\n" for (q, d), s in zip(pairs, scores, strict=True))
        (folder / "runs" / f"run{run}.txt").write_text("".join(lines))


def stopped(folder, pieces, how=signal.SIGKILL, more=()):
    """Start an evaluation, stop it when the cache has at least ``pieces`` entries, and return the process."""
    arguments = [sys.executable, "-m", "pyterrier_cwla", "evaluate", "qrels.txt", "runs", "--cache-dir", "kept", *more]
    flags = [flag for measure in MEASURES for flag in ("-m", measure)]
    process = subprocess.Popen([*arguments, *flags], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while process.poll() is None and sum(1 for _ in (folder / "kept").rglob("*.npz")) < pieces:
        time.sleep(0.003)
    process.send_signal(how)
    process.out, process.err = process.communicate(timeout=60)
    return process


def trial(folder, rng, kills=1):
    """Return the values of an evaluation that was killed ``kills`` times and resumed, and those without a cache."""
    all_pieces = RUNS * (len(MEASURES) + 1)
    for at in sorted(rng.sample(range(all_pieces), kills)):
        stopped(folder, at)
    place = ["qrels.txt", "runs"]
    qrels, runs = (str(folder / name) for name in place)
    found = evaluate(qrels, runs, MEASURES, by_query=True, cache_dir=folder / "kept")
    return found, evaluate(qrels, runs, MEASURES, by_query=True)

"""Compare the values of two versions of the package to the last bit: random measures on random rankings.

``python -m benchmarks.same_numbers REVISION`` scores random measures with a git revision and with the working tree,
through frames, files, arrays and scikit-learn scorers, and lists the values that differ.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tarfile
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
CONTINUATIONS = (
    "prec(5)", "rbp(0.8)", "rbp(0.35)", "dcg(10)", "ap1", "ap1(rel=2)", "ap2", "ap2(rel=1)", "rr", "rr(rel=1)",
    "cascade(0.9)", "inst(1)", "inst(2.5)", "insq(1)", "insq(3)", "decay(60)", "decay(224)", "patience(200)",
    "bpm(1, 8)", "ift_goal(2)", "ift_rate(0.2)", "carterette1(7)", "carterette2(9)", "carterette3(0.4)",
    "fixed(1, 0.7, 0.4)", "product(rr, prec(6))", "product(rr, rbp(0.9))",
)  # fmt: skip
AGGREGATIONS = (
    "etg", "erg", "err", "avg", "max", "fin", "fgt(0.7)", "pe(0.5)", "items", "effort", "utility(reciprocal)",
    "utility(log2)", "smeared(120)",
)  # fmt: skip
GAINS = ("linear", "linear", "linear(1)", "exponential", "exponential", "binary", "binary", "binary(2)",
         "raw", "burges", "table({1: 0.4, 2: 0.7, 3: 1})", "threshold(0.2, 0.3, 0.5)", "clicksave")  # fmt: skip
EFFORTS = ("unit", "unit", "unit", "time", "reading", "ratio(4)", "by_grade({0: 1, 1: 2, 2: 3.5, 3: 5})", "grade_time")
ENDS = ("open", "open", "stop", 12)
NAMED = (
    "AP", "AP(rel=2)", "AP(judged_only=True)@10", "nDCG", "nDCG@{k}", "nDCG(dcg='exp-log2')@{k}", "P@{k}",
    "P(rel=2)@{k}", "R@{k}", "RR", "RR@{k}", "Success@{k}", "SDCG(max_rel=3)@{k}", "RBP(p={p},rel=1)",
    "INST(max_rel=3)", "INST(T=2,max_rel=3)", "INSQ(max_rel=3)", "BPM(max_rel=3)@{k}", "NERR8(max_rel=3)@{k}",
    "NERR10(p={p},max_rel=3)", "ERR", "ERR@{k}", "Bpref", "Bpref(rel=2)", "infAP", "Judged@{k}", "Rprec",
    "NumRel", "NumRet", "NumRet(rel=1)", "NumQ", "TBG", "TBG(half_life={h})", "TBG(norm='ideal')@{k}",
    "TBG(norm='unlimited')", "TBG(credit='smeared')@{k}", "GradedTBG(half_life={h})", "UMeasure(T={h},max_rel=3)",
    "AdaptiveP@{k}", "AdaptiveGP(gain='linear(0)')@{k}",
    "AdaptiveAP(effort='ratio(4)')", "AdaptiveGAP(effort='grade_time',gain='threshold(0.2,0.3,0.5)')",
    "AdaptiveRBP(p={p})", "AdaptiveRR(effort='ratio(3)')", "AdaptiveERR(max_rel=3)", "AdaptiveDCG", "AdaptivenDCG@{k}",
    "Cascade(gamma={p},max_rel=3)", "IFT(T=2,A=0.2,max_rel=3)", "DynamicBPM(T=1,K=8,max_rel=3)",
    "ExpectedUtility(C='rbp({p})',max_rel=3)", "ExpectedEffort(theta={p})",
    "ExpectedAverageUtility(C='dcg(9)',max_rel=3)",
    "GeometricMean(measure='AP')", "Residual(measure=\"CWLA(C='rbp({p})',A='erg',max_rel=3)\")",
    "Residual(measure='TBG(half_life={h})')",
)  # fmt: skip
QUERIES = 5


def random_measure(rng: random.Random) -> tuple[str, dict[str, Any]]:
    """Return a measure as text and, for combinations of C and A, its parameters (else an empty dict)."""
    if rng.random() < 0.4:
        text = rng.choice(NAMED)
        for name, values in (("{k}", (1, 3, 10, 25)), ("{p}", (0.3, 0.5, 0.8)), ("{h}", (31, 120, 224))):
            text = text.replace(name, str(rng.choice(values)))
        return text, {}
    cell: dict[str, Any] = {"C": rng.choice(CONTINUATIONS), "A": rng.choice(AGGREGATIONS), "gain": rng.choice(GAINS)}
    cell["max_rel"] = 3
    if (effort := rng.choice(EFFORTS)) != "unit":
        cell["effort"] = effort
        if rng.random() < 0.7:
            cell["unseen"] = rng.choice((5, 12.5, 300))
    cell |= {"end": rng.choice(ENDS)} | ({"norm": rng.choice(("ideal", "all", "mean"))} if rng.random() < 0.3 else {})
    cutoff = rng.choice((None, None, 4, 15))
    inside = ",".join(f"{name}={value!r}" for name, value in cell.items())
    return f"CWLA({inside}){f'@{cutoff}' if cutoff else ''}", cell | ({"cutoff": cutoff} if cutoff else {})


def random_data(rng: random.Random) -> tuple[Any, Any]:
    """Return a run with lengths, and judgments: ties, unjudged documents, negative grades, unanswered queries."""
    import pandas as pd

    run, qrels = [], []
    for query in range(QUERIES):
        documents = rng.sample(range(90), rng.choice((0, 1, 7, 20, 60)))
        scores = [rng.randrange(12) / 4 if query % 2 else rng.random() for _ in documents]
        run += [(f"q{query}", f"d{d}", s, d * 13 % 700) for d, s in zip(documents, scores, strict=True)]
        judged = rng.sample(range(90), 40)
        qrels += [(f"q{query}", f"d{d}", rng.choice((-1, 0, 0, 0, 1, 1, 2, 3))) for d in judged]
    return (
        pd.DataFrame(run, columns=["query_id", "doc_id", "score", "doc_length"]),
        pd.DataFrame(qrels, columns=["query_id", "doc_id", "relevance"]),
    )


def attempt(compute: Callable[[], Any]) -> list[str]:
    """Return the values in hexadecimal, or the class of the error."""
    from pyterrier_cwla.errors import CannotScore, CWLAError

    try:
        return [float(value).hex() for value in compute()]
    except (CWLAError, CannotScore) as error:
        return [f"{type(error).__name__}"]


def values(measure: str, cell: dict[str, Any], run: Any, qrels: Any, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the values of one measure by each entry point of the package."""
    import pandas as pd
    from sklearn.tree import DecisionTreeRegressor

    from pyterrier_cwla import evaluate, score, scorer

    yield "frames", attempt(lambda: evaluate(qrels, run, [measure], by_query=True).to_numpy().ravel())
    run.assign(q0="Q0", rank=1, tag="t")[["query_id", "q0", "doc_id", "rank", "score", "tag"]].to_csv(
        folder / "run.txt", sep=" ", header=False, index=False
    )
    qrels.assign(zero=0)[["query_id", "zero", "doc_id", "relevance"]].to_csv(
        folder / "qrels.txt", sep=" ", header=False, index=False
    )
    files = {"run": str(folder / "run.txt")}
    judged = str(folder / "qrels.txt")
    yield "files", attempt(lambda: evaluate(judged, files, [measure], by_query=True).to_numpy().ravel())
    if cell and cell.get("effort", "unit") not in ("time", "reading"):
        grades = [[(7 * query + 3 * rank) % 4 for rank in range(query * 9)] for query in range(QUERIES)]
        yield "arrays", attempt(lambda: score(grades, **cell))
    rows = run.merge(qrels, how="left")
    if rows.empty:
        return
    known = rows[["query_id", "doc_id", "doc_length"]]
    index = pd.MultiIndex.from_frame(known, names=["qid", "docno", "doc_length"])
    y = pd.Series(rows["relevance"].to_numpy(float), index=index)
    X = rows[["score"]].to_numpy()
    model = DecisionTreeRegressor(max_depth=6).fit(X, X.ravel())
    yield "scorers", attempt(lambda: [scorer(measure, min_queries=1)(model, X, y)])


def all_values(count: int, seed: int) -> dict[str, list[str]]:
    """Return the values of random measures by number, entry point and measure."""
    rng = random.Random(seed)
    found = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(count):
            measure, cell = random_measure(rng)
            run, qrels = random_data(rng)
            for way, of_way in values(measure, cell, run, qrels, Path(folder)):
                found[f"{number} {way} {measure}"] = of_way
    return found


@contextmanager
def files_of(revision: str) -> Iterator[Path]:
    """Yield a temporary folder with the package of a git revision."""
    archive = subprocess.run(
        ["git", "archive", revision, "pyterrier_cwla"], cwd=ROOT, stdout=subprocess.PIPE, check=True
    ).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        yield Path(folder)


def in_version(folder: Path, count: int, seed: int) -> dict[str, list[str]]:
    """Return the values computed by the package in a folder, in a separate process."""
    command = [sys.executable, __file__, "--values", "--count", str(count), "--seed", str(seed)]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def differ(before: list[str] | None, after: list[str] | None, within: float) -> bool:
    """Return whether values differ by more than a relative difference, or whether errors differ."""
    if before is None or after is None or len(before) != len(after):
        return True
    pairs = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    if any(text.isidentifier() for pair in pairs for text in pair):
        return True
    return not all(math.isclose(float.fromhex(a), float.fromhex(b), rel_tol=within) for a, b in pairs)


def main() -> None:
    """Print the numbers of values and of differences, and the first differences."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.same_numbers", description=__doc__)
    options.add_argument("revision", nargs="?", help="the git revision to compare the working tree with")
    options.add_argument(
        "--count", type=int, default=3000, help="number of random measures, each with its own rankings"
    )
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--within", type=float, default=0.0, help="largest relative difference that is none")
    options.add_argument("--values", action="store_true", help="print the values of the imported package")
    asked = options.parse_args()
    if asked.values:
        print(json.dumps(all_values(asked.count, asked.seed)))
        return
    if not asked.revision:
        options.error("name the revision to compare with.")
    with files_of(asked.revision) as folder:
        before = in_version(folder, asked.count, asked.seed)
    after = in_version(ROOT, asked.count, asked.seed)
    different = [key for key in {**before, **after} if differ(before.get(key), after.get(key), asked.within)]
    total, by_way = sum(map(len, before.values())), Counter(key.split()[1] for key in before)
    errors = sum(value[0].isidentifier() for value in before.values() if value)
    ways = ", ".join(f"{count:,} through {way}" for way, count in by_way.items())
    print(f"{len(before):,} evaluations ({ways}), {total:,} values, {errors:,} errors; {len(different):,} differ.")
    for key in different[:20]:
        print(f"  {key}\n    before {before.get(key, [])[:6]}\n    after  {after.get(key, [])[:6]}")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()

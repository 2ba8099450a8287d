"""Compare the values of two versions of the package to the last bit: random measures, data and doors.

``python -m benchmarks.same_numbers REVISION`` scores random measures with a git revision and with the working tree,
through all doors of ``tests/doors``, and lists values that differ, inputs that only one version refuses, and messages
that differ. Measures, data and doors are drawn once, from the tables of the working tree.
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
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
GRADES = ((0, 0, 1, 2, 3), (0, 1), (-2, -1, 0, 1, 2), (0.0, 0.5, 1.5, 3.0))

Draw = tuple[str, str, str, int]
"""The kind of judgments, the door, the measure, and the seed of the data."""


def draws(count: int, seed: int) -> list[Draw]:
    """Return random evaluations: half of them of combinations of all choices, the others of named measures."""
    from pyterrier_cwla.errors import CWLAError
    from pyterrier_cwla.measures.named import measures_of
    from tests.doors import measures
    from tests.doors.doors import DOORS

    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        prepare(Path(folder))
        tables = {
            "rows": measures.of_rows(True),
            "intents": measures.of_intents(True),
            "sessions": measures.of_sessions(),
        }
        found: list[Draw] = []
        while len(found) < count:
            kind = rng.choices(list(tables), (8, 1, 1))[0]
            text = (
                measures.random_combination(rng) if kind == "rows" and rng.random() < 0.6 else rng.choice(tables[kind])
            )
            door = "sessions" if kind == "sessions" else rng.choice(list(DOORS))
            try:
                takes = kind == "sessions" or DOORS[door].takes(measures_of([text])[0])
            except CWLAError:
                takes = True  # the message is compared
            if takes:
                found.append((kind, door, text, rng.randrange(1 << 30)))
    return found


def prepare(folder: Path) -> None:
    """Write the tables of documents to a folder, and register the lengths as the default table."""
    from pyterrier_cwla import register_lengths
    from tests.doors.rows import WORDS, write_tables

    write_tables(folder)
    register_lengths(WORDS)


def values_of(draw: Draw, folder: Path) -> list[str]:
    """Return the values of an evaluation in hexadecimal, or the error with its message after an exclamation mark."""
    from pyterrier_cwla.errors import CannotScore
    from pyterrier_cwla.measures.named import measures_of
    from tests.doors.doors import DOORS, everything, sessions
    from tests.doors.rows import judged_twice, random_data, repeated, unanswered, with_intents

    kind, door, text, seed = draw
    rng = random.Random(seed)
    least, judged = rng.choice(((0, 18), (0, 4), (6, 1)))
    data = random_data(seed, rng.choice(GRADES), ties=rng.random() < 0.4, judged=judged, least=least)
    data = rng.choice((everything, everything, everything, unanswered, repeated, judged_twice))(data)
    data = with_intents(data) if kind == "intents" else data
    try:
        found = sessions(data, measures_of([text])) if kind == "sessions" else DOORS[door].values(
            DOORS[door].of(data), measures_of([text]), folder
        )  # fmt: skip
    except (Exception, CannotScore) as error:
        return [f"!{type(error).__name__}: {error}".replace(str(folder), "").replace(str(Path.cwd()), "")]
    found = found.sort_index()
    return [float(value).hex() for value in found.to_numpy(float).ravel()] or ["!no values"]


def all_values(drawn: list[Draw]) -> list[list[str]]:
    """Return the values of evaluations by the imported package."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepare(Path(folder))
        return [values_of(draw, Path(tempfile.mkdtemp(dir=folder))) for draw in drawn]


@contextmanager
def files_of(revision: str) -> Iterator[Path]:
    """Yield a temporary folder with the package of a git revision, and with its doors if it has any."""
    doors = subprocess.run(["git", "cat-file", "-e", f"{revision}:tests/doors"], cwd=ROOT, stderr=subprocess.DEVNULL)
    parts = ["pyterrier_cwla", *(["tests", "benchmarks"] if doors.returncode == 0 else [])]
    archive = subprocess.run(["git", "archive", revision, *parts], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        yield Path(folder)


def in_version(folder: Path, drawn: list[Draw]) -> list[list[str]]:
    """Return the values computed by the package in a folder, in a separate process with the doors of this tree."""
    command = [sys.executable, "-m", "benchmarks.same_numbers", "--values"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (folder, ROOT)))} | {"PYTHONHASHSEED": "0"}
    done = subprocess.run(
        command, cwd=folder, env=environment, input=json.dumps(drawn), stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def difference(before: list[str], after: list[str], within: float) -> str | None:
    """Return how the values of two versions differ, or None."""
    refused = [bool(values) and values[0].startswith("!") for values in (before, after)]
    if before == after:
        return None
    if all(refused):
        return "message"
    if any(refused):
        return "refused by one version"
    pairs = zip(map(float.fromhex, before), map(float.fromhex, after), strict=False)
    same = len(before) == len(after) and all(
        math.isclose(a, b, rel_tol=within) or (math.isnan(a) and math.isnan(b)) for a, b in pairs
    )
    return None if same else "values"


def main() -> None:
    """Print the numbers of values and of differences of each kind, and the first differences."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.same_numbers", description=__doc__)
    options.add_argument("revision", nargs="?", help="the git revision to compare the working tree with")
    options.add_argument("--count", type=int, default=6000, help="number of evaluations, each with its own data")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--within", type=float, default=0.0, help="largest relative difference that is none")
    options.add_argument("--show", type=int, default=10, help="number of differences of each kind that are printed")
    options.add_argument("--values", action="store_true", help="print the values of the evaluations on standard input")
    asked = options.parse_args()
    if asked.values:
        print(json.dumps(all_values(json.load(sys.stdin))))
        return
    if not asked.revision:
        options.error("name the revision to compare with.")
    drawn = draws(asked.count, asked.seed)
    with files_of(asked.revision) as folder:
        before = in_version(folder, drawn)
    after = in_version(ROOT, drawn)
    total, doors = sum(map(len, before)), Counter(door for _, door, _, _ in drawn)
    refused = sum(values[:1] != [] and values[0].startswith("!") for values in before)
    print(f"{len(drawn):,} evaluations, {total - refused:,} values, {refused:,} refused; by door: {dict(doors)}")
    found: dict[str, list[Any]] = {"values": [], "refused by one version": [], "message": []}
    lacking = 0  # evaluations through doors of which the older version has no function
    for draw, old, new in zip(drawn, before, after, strict=True):
        if old == [f"!KeyError: {draw[1]!r}"]:
            lacking += 1
        elif kind := difference(old, new, asked.within):
            found[kind].append((draw, old, new))
    print(f"not compared, since {asked.revision} has no such door: {lacking:,}")
    for kind, differing in found.items():
        print(f"{kind}: {len(differing):,} differ")
        for draw, old, new in differing[: asked.show]:
            print(f"  {draw}\n    before {old[:6]}\n    after  {new[:6]}")
    sys.exit(bool(found["values"] or found["refused by one version"]))


if __name__ == "__main__":
    main()

"""Time the search for near-duplicates in the texts of Vaswani, or in generated texts if Vaswani is missing."""

from __future__ import annotations

import argparse
import os
import re
import statistics
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

from benchmarks.report import Table, keep, progress, seconds, show
from pyterrier_cwla import find_duplicates

DATA = Path(os.environ.get("PYTERRIER_CWLA_DATA", Path(__file__).parents[2] / "shared" / "data"))
SEARCHES = ((1.0, 10), (0.9, 5), (0.8, 3), (0.5, 3))
TEXTS = 11_429


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.duplicates", description=__doc__)
    parser.add_argument("--texts", type=Path, default=DATA / "vaswani" / "doc-text.trec", help="a TREC text file")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1, help="random seed of generated texts")
    parser.add_argument("--markdown", type=Path, help="write the table to this Markdown file")
    chosen = parser.parse_args()
    texts = _read(chosen.texts) if chosen.texts.is_file() else _generated(chosen.seed)
    table = measure(texts, chosen.texts.parent.name if chosen.texts.is_file() else "generated", chosen.repeats)
    show([table])
    if chosen.markdown:
        keep(chosen.markdown, [table])


def measure(texts: dict[str, str], name: str, repeats: int) -> Table:
    """Time each search, from the texts to the table of duplicates."""
    rows = []
    for similarity, shingle in SEARCHES:
        times = []
        for repeat in range(repeats):
            start = time.perf_counter()
            found = find_duplicates(texts, similarity, shingle)
            times.append(time.perf_counter() - start)
            progress(f"similarity {similarity}, {repeat + 1}/{repeats}: {seconds(times[-1])}")
        rows.append((str(similarity), str(shingle), str(len(found)), seconds(statistics.median(times))))
    words = sum(len(text.split()) for text in texts.values())
    notes = [
        f"{name}: {len(texts):,} texts of {words / len(texts):.0f} words on average; one process.",
        f"Similarity 1 is exact and needs no MinHash; below it datasketch {version('datasketch')} proposes pairs, which"
        " are compared in full.",
    ]
    return Table("Near-duplicates", ("similarity", "words a shingle", "duplicates", "median"), rows, notes)


def _read(path: Path) -> dict[str, str]:
    return dict(re.findall(r"<DOCNO>(.*?)</DOCNO>\s*(.*?)</DOC>", path.read_text(encoding="utf-8"), re.DOTALL))


def _generated(seed: int) -> dict[str, str]:
    """As many texts as Vaswani, with Zipfian word frequencies; 2 % are copies with one word changed."""
    rng = np.random.default_rng(seed)
    vocabulary = np.array([f"w{number}" for number in range(20_000)])
    frequency = 1 / np.arange(1, len(vocabulary) + 1)
    texts = [rng.choice(vocabulary, rng.integers(5, 80), p=frequency / frequency.sum()) for _ in range(TEXTS)]
    for copy in rng.choice(TEXTS, TEXTS // 50, replace=False):
        texts[copy] = texts[rng.integers(TEXTS)].copy()
        texts[copy][rng.integers(len(texts[copy]))] = rng.choice(vocabulary)
    return {str(number): " ".join(words) for number, words in enumerate(texts, 1)}


if __name__ == "__main__":
    main()

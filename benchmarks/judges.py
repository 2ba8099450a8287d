"""Compare machine judges with people: five on TREC 2021, and labels of TREC 2019 that are damaged in known ways.

``python -m benchmarks.judges`` prints the tables of the page about studies.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.report import Table, show
from pyterrier_cwla.files.formats import find_runs, read_qrels, read_run
from pyterrier_cwla.studies import JudgeAgreement, judge_agreement

DATA = Path(os.environ.get("PYTERRIER_CWLA_DATA", Path(__file__).parents[2] / "shared" / "data"))
LOWEST = {"human": 2, "umbrela_gpt4": 2, "binary_gpt4": 1, "binary_gpt4o": 1, "binary_llama32": 1, "exam_mean": 2.6}
"""Lowest relevant labels; by that of exam_mean, as many documents are relevant as by people."""
USER = "CWLA(C='{}',A='{}',gain='{}',max_rel={})"


def measures(rel: int, max_rel: int) -> dict[str, str]:
    """Return the measures by their names in the table."""
    return {
        "nDCG@10": "nDCG@10",
        "RBP(.5)": USER.format("rbp(0.5)", "erg", "linear", max_rel),
        "RR": f"RR(rel={rel})",
        "P@10": f"P(rel={rel})@10",
        "ERR": USER.format("rr", "err", "exponential", max_rel),
        "A=max": USER.format("rbp(0.8)", "max", "linear", max_rel),
    }


def main() -> None:
    """Run both studies and print their tables."""
    folder = DATA / "machine-judges"
    runs = dict(tuple(pd.read_parquet(folder / "runs.parquet").groupby("run")))
    people, *machines = (folder / f"{name}.qrels" for name in ("people", *list(LOWEST)[1:]))
    graded = judge_agreement(people, {"umbrela_gpt4, grades": machines[0]}, runs, measures(2, 3))
    named = {path.stem: path for path in machines}
    binary = judge_agreement(people, named, runs, measures(1, 1), threshold=LOWEST)
    rows = [*rows_of(graded), *rows_of(binary)]
    about = ["τ_b of 63 runs over 53 topics, and in brackets of the 15 best by people's labels."]
    tables = [Table("Machine judges of TREC 2021", ("judge", *measures(2, 3), "κ", "weighted"), rows, about)]
    show([*tables, damaged()])


def rows_of(study: JudgeAgreement) -> list[tuple[str, ...]]:
    """Return the correlations and κ of each judge as texts."""
    found = []
    for row in study.labels.itertuples():
        orders = study.orders[study.orders["judge"] == row.judge]
        taus = [f"{all_runs:.2f} ({best:.2f})" for all_runs, best in zip(orders["tau_b"], orders["tau_b_best"])]
        found.append((row.judge, *taus, f"{row.kappa:.2f}", f"{row.kappa_linear:.2f}"))
    return found


def damaged() -> Table:
    """Damage the labels of people of TREC 2019, and compare the results with them."""
    runs = {path.stem: read_run(path).to_pandas() for path in find_runs(DATA / "dl19" / "runs")}
    people = read_qrels(DATA / "dl19" / "qrels.txt").to_pandas()[["query_id", "doc_id", "relevance"]]
    grade, rng = people["relevance"].to_numpy(), np.random.default_rng(0)
    near = np.clip(grade + rng.choice([-1, 1], len(grade)), 0, 3)
    chosen = "REP_LLAMA"
    first = runs[chosen].sort_values("score", ascending=False).groupby("query_id").head(10)
    its = people.set_index(["query_id", "doc_id"]).index.isin(first.set_index(["query_id", "doc_id"]).index)
    labels = {
        "none": grade,
        "three of ten are one grade off": np.where(rng.random(len(grade)) < 0.3, near, grade),
        "guessed: labels are permuted": rng.permutation(grade),
        f"first ten of {chosen} one grade higher": np.where(its, np.minimum(grade + 1, 3), grade),
    }
    machines = {name: people.assign(relevance=of) for name, of in labels.items()}
    found = judge_agreement(people, machines, runs, {"RBP(.8)": USER.format("rbp(0.8)", "erg", "linear", 3)})
    rows = []
    for row, order in zip(found.labels.itertuples(), found.orders.itertuples()):
        most = found.favours(row.judge, k=1).iloc[0]
        ends = f"{most['run']} {most['difference']:+.3f} [{most['low']:+.3f}, {most['high']:+.3f}]"
        taus = (f"{row.kappa:.2f}", f"{row.kappa_linear:.2f}", f"{order.tau_b:.2f}")
        rows.append((row.judge, *taus, ends, f"{most['p_corrected']:.3f}"))
    heads = ("damage of labels", "κ", "weighted κ", "τ_b", "most favoured", "p, corrected")
    return Table("Damaged labels of TREC 2019, six runs by RBP(.8)", heads, rows, [])


if __name__ == "__main__":
    main()

"""Recover the laws of leaving from simulated logs: estimates of `calibrate` against the parameters of the users."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.report import Table, keep, progress, show
from pyterrier_cwla import CWLA
from pyterrier_cwla.behaviour import calibrate, simulated_log
from pyterrier_cwla.behaviour.logs.estimators import LAWS, SHAPES
from pyterrier_cwla.model.language import parse

RANKS = 150
USERS = {
    "Weibull": "weibull(0.7,120)",
    "log-logistic": "log_logistic(2,90)",
    "log-normal": "log_normal(1,90)",
    "hyperbolic": "hyperbolic(3,300)",
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.leaving", description=__doc__)
    parser.add_argument("--logs", type=int, default=20, help="number of logs of each law")
    parser.add_argument("--users", type=int, default=400, help="number of users of each log")
    parser.add_argument("--markdown", type=Path, help="write the table to this Markdown file")
    chosen = parser.parse_args()
    tables = [recovered_laws(chosen.logs, chosen.users)]
    show(tables)
    if chosen.markdown:
        keep(chosen.markdown, tables)


def recovered_laws(logs: int, users: int) -> Table:
    """Return a table of the true parameters, and of the mean and standard deviation of the estimates over the logs."""
    rows = []
    for law, text in USERS.items():
        shape, scale = (value for _, value in parse(text, "continuation").values)
        estimates, best = [], 0
        for seed in range(logs):
            fits = {fit.shape: fit for fit in shapes_of(text, users, seed)}
            estimates.append(fits[law].parameters)
            best += min(fits, key=lambda name: fits[name].aic) == law
            progress(f"{text}, log {seed + 1}")
        mean, deviation = np.mean(estimates, axis=0), np.std(estimates, axis=0, ddof=1)
        cells = [f"{m:.3g} ± {d:.2g}" for m, d in zip(mean, deviation, strict=True)]
        rows.append((LAWS[law], f"{shape:g}", cells[0], f"{scale:g}", cells[1], f"{best} of {logs}"))
    return Table(
        "Laws of leaving recovered from simulated logs",
        ("law", "shape", "estimates", "scale", "estimates", "lowest AIC"),
        rows,
        [
            f"{logs} logs of {users:,} users on {RANKS} results; means ± standard deviations of the estimates.",
            "lowest AIC: number of logs for which the law of the users has the lowest AIC of five distributions.",
        ],
    )


def shapes_of(C: str, users: int, seed: int) -> tuple:
    """Return the distributions fitted to a log of users who leave by this continuation."""
    documents = [f"d{n}" for n in range(RANKS)]
    qrels = {"q": {docno: n % 2 for n, docno in enumerate(documents)}}
    run = {"q": {docno: -float(n) for n, docno in enumerate(documents)}}
    measure = CWLA(C=C, A="etg", gain="clicksave", effort="time(2,0,5)", unseen=1)
    log = simulated_log(qrels, run, measure, users=users, seed=seed)
    return calibrate(log, min_clicks=0, depth="seen", max_seconds=1e6, shapes=list(SHAPES), resamples=2).shapes


if __name__ == "__main__":
    main()

"""Options of the studies of the command line."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .given_tables import SESSIONS_HELP
from .input_paths import resolved


class Published(StrEnum):
    """Published studies whose data are available."""

    chiir24 = "chiir24"
    jiang = "jiang"
    tiangong = "tiangong"


class Holes(StrEnum):
    """Selection of the judgments that are removed."""

    fractions = "fractions"
    depth = "depth"
    groups = "groups"


class Compared(StrEnum):
    """Pairs of runs that the order of documents to judge is for."""

    open = "open"
    all = "all"


class Pool(StrEnum):
    """Documents that infAP assumes to be in the pool."""

    whole = "whole"
    judged = "judged"


class OnePer(StrEnum):
    """Preferences that the labels of pairs are reduced to."""

    pair = "pair"
    user = "user"
    label = "label"


class Coefficient(StrEnum):
    """Coefficient of the agreement between measures and ratings."""

    tau_b = "tau_b"
    pearson = "pearson"
    spearman = "spearman"
    weighted_pearson = "weighted_pearson"
    agreement = "agreement"


class Objective(StrEnum):
    """Objective of a fit."""

    pearson = "pearson"
    spearman = "spearman"
    tau_b = "tau_b"
    nrmse = "nrmse"
    agreement = "agreement"
    weighted_pearson = "weighted_pearson"
    weighted_spearman = "weighted_spearman"
    weighted_tau_b = "weighted_tau_b"
    weighted_nrmse = "weighted_nrmse"
    weighted_agreement = "weighted_agreement"


Folder = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="Output folder. Finished work is stored there, and an"
                       " interrupted study resumes from it.", show_default=False),
]  # fmt: skip
Jobs = Annotated[int, typer.Option("--jobs", help="Number of parallel processes; -1 for one per core.")]
Data = Annotated[
    list[Path],
    typer.Argument(
        metavar="QRELS RUN RATINGS",
        help="Judgments; the result lists that users saw (each list is a query of the run); and the ratings of users:"
        " CSV, TSV or Parquet with query_id and rating (for sessions: session and rating; for pairs: first, second"
        " and preference). With --from: one folder, or the file train_file.txt of tiangong.",
        show_default=False,
        callback=resolved,
    ),
]
Source = Annotated[Published | None, typer.Option("--from", help="Published study whose folder or file is given.")]
SessionsFile = Annotated[
    Path | None,
    typer.Option(
        "--sessions",
        metavar="FILE",
        help=SESSIONS_HELP.format(" that were rated"),
    ),
]
PairLabels = Annotated[
    OnePer | None,
    typer.Option(
        "--one-per",
        help="For pairs with several labels: one preference per pair (the sign of the mean label; default), per user"
        " and pair, or per label.",
        show_default=False,
    ),
]
Folds = Annotated[int, typer.Option("--cv", min=2, help="Folds of the cross-validation.")]
Resamples = Annotated[int, typer.Option(min=100, help="Resamples of the bootstrap.")]

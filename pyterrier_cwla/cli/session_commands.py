"""Command ``sessions``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._version import __version__
from .arguments import (
    SESSIONS_HELP,
    JudgedBy,
    MeasureOptions,
    Measures,
    Qrels,
    Runs,
    about_grades,
    cells,
    command,
    judgments_of,
    runs_by_name,
)
from .options import displayed
from .output_formats import ResultFile
from .paths import resolved

if TYPE_CHECKING:
    import pandas as pd

_DEFAULTS = ("nDCG@10", "sDCG@10", "nsDCG@10", "esNDCG@10")


@command()
def sessions(
    qrels: Qrels,
    runs: Runs,
    *,
    table: Annotated[
        Path,
        typer.Option(
            "--sessions", metavar="FILE", help=SESSIONS_HELP.format(""), show_default=False, callback=resolved
        ),
    ],
    judged_by: JudgedBy,
    measures: Measures = None,
    given: MeasureOptions,
    by_session: Annotated[bool, typer.Option("--by-session", help="One line for each run and session.")] = False,
    results: ResultFile,
) -> None:
    """Score search sessions: one line per run, with the mean of each measure over the sessions.

    Example: pyterrier-cwla sessions qrels.txt run.txt --sessions sessions.csv -m sDCG
    """
    from ..errors import speaking_of
    from ..measures.sessions import evaluate_sessions, of_sessions
    from .score_tables import measure_column, scores_table

    files = runs_by_name(runs)
    bound = given.bind(measures or _DEFAULTS, of_sessions)
    results.check([qrels, *runs, table, *given.files, *bound.files])
    judgments, asked = judgments_of(qrels), cells(table)
    columns = list(map(measure_column, bound.wanted))
    counts = [column.cell for column in columns if not column.digits]
    found: dict[str, pd.DataFrame] = {}
    for name, file in files.items():
        with speaking_of(qrels, file):
            found[name] = evaluate_sessions(judgments, file, asked, bound.by_name, judged_by)
    notes = [*bound.notes, *about_grades(qrels, judgments)]
    if not by_session:
        notes.insert(0, _about(found, counts))
    origin: dict[str, Any] = {"version": __version__, "qrels": displayed(str(qrels)), "sessions": displayed(str(table)),
                              "judged_by": judged_by, **bound.origin}  # fmt: skip
    rows = _rows(found, counts, by_session)
    results.write(scores_table(rows, columns, "session"), origin, notes)


def _rows(found: dict[str, pd.DataFrame], counts: list[Any], by_session: bool) -> pd.DataFrame:
    """Return one row per run and session, or the means over sessions (the sums of counts) of each run."""
    import pandas as pd

    if by_session:
        return pd.concat(found, names=["run"]).reset_index()
    totals = {run: scores.agg({name: "sum" if name in counts else "mean" for name in scores})
              for run, scores in found.items()}  # fmt: skip
    return pd.DataFrame(totals).T.rename_axis(index="run").reset_index()


def _about(found: dict[str, pd.DataFrame], counts: list[Any]) -> str:
    number = len(next(iter(found.values())))
    return f"Means over {number:,} sessions" + (f"; sums of {', '.join(counts)}." if counts else ".")

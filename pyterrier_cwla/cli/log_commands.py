"""Commands ``calibrate`` and ``simulate``, and the table of a calibration."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import errors
from ..files.atomic import written
from ..rendering.notes import busy, note
from .arguments import (
    JudgedRuns,
    MeasureOptions,
    command,
    read_one_run,
)
from .options import in_options, options_of
from .output_formats import Format, ResultFile
from .parameters import Parameters
from .paths import check_exists, check_outputs

if TYPE_CHECKING:
    from ..behaviour.logs.calibration import Calibration, Calibrations
    from ..behaviour.logs.log import InteractionLog
    from ..rendering.tables import TableColumn


Source = StrEnum("Source", ["log", "clicks", "chiir24"])
"""Storage format of a log."""


@command()
def calibrate(
    context: typer.Context,
    log: Path,
    *,
    output: Path | None = None,
    source: Source = Source.log,
    broken: bool = False,
    by: str | None = None,
    chosen: Annotated[
        dict[str, Any],
        Parameters("behaviour.logs.calibration.calibrate",
                   "rel depth min_clicks max_seconds last_rank confidence resamples seed"),
    ],
    pictures: Path | None = None,
    force: bool = False,
) -> None:  # fmt: skip
    """Calibrate time-biased gain from a log: every parameter with its confidence interval.

    Example: pyterrier-cwla calibrate log.csv -o calibration.json, and then -m "TBG(calibration='calibration.json')"
    """
    from ..behaviour.logs.calibration import calibrate as calibrated
    from ..measures import TBG

    if by is not None and (output or pictures):
        raise errors.BadParameter(
            "--by prints several calibrations, but -o and --pictures write one. Leave out --by, or -o and --pictures."
        )
    if output is not None and not output.parent.is_dir():
        raise errors.BadParameter(f"{output}: there is no directory {str(output.parent)!r}.")
    drawn = [] if pictures is None else [("--pictures", pictures / f"{name}.svg") for name in _PICTURES]
    check_outputs([("-o", output), *drawn], [log], force, [("--pictures", pictures)])
    with busy("Reading the log …"):
        read = _log(log, source, broken)
    with busy(f"Calibrating, with {chosen['resamples']:,} resamples of the users …"):
        found = calibrated(read, by=by, **chosen)
    if by is None and found.table.empty:
        lacking = ", ".join(sorted(set(found.missing.values())))
        raise errors.BadParameter(
            f"{log}: nothing can be calibrated from this log: {lacking}. Time-biased gain needs times, grades or saves;"
            " click models of pyterrier_cwla.behaviour need clicks alone."
        )
    print_calibration(found, options_of(context.command))
    if output is not None:
        found.save(output)
        values = "".join(f", {name}=…" for name in found.missing if name in TBG.SUPPORTED_PARAMS)  # to be given
        note(f"Written to {output}: -m \"TBG(calibration='{output}'{values})\"")
    if pictures is not None:
        _draw(found, read, pictures)


def _log(path: Path, source: Source, exclude: bool) -> InteractionLog:
    from ..behaviour.logs.adapters import chiir24_log, read_clicks
    from ..behaviour.logs.log import InteractionLog

    if source is Source.chiir24:
        return chiir24_log(path)
    if path.is_dir():
        raise errors.MalformedFile(f"{path}: is a folder. For a folder, give --from chiir24.")
    check_exists(path)
    return (read_clicks if source is Source.clicks else InteractionLog.read)(path, "exclude" if exclude else "error")


_PICTURES = ("reading_times", "survival", "progress")


def _draw(found: Calibration, log: InteractionLog, folder: Path) -> None:
    """Draw the pictures that the log has data for; print a note for each of the others."""
    from ..rendering.figures import pyplot

    pyplot().switch_backend("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    drawings: tuple[Any, ...] = (found.plot_reading_times, found.plot_survival, lambda: found.plot_progress(log))
    for name, draw in zip(_PICTURES, drawings, strict=True):
        try:
            with written(folder / f"{name}.svg") as place:
                draw().figure.savefig(place, bbox_inches="tight")
        except errors.CWLAError as error:
            note(f"No picture of {name.replace('_', ' ')}: {error}")


@command()
def simulate(
    context: typer.Context,
    judged: JudgedRuns,
    *,
    measure: list[str],
    chosen: Annotated[
        dict[str, Any],
        Parameters("behaviour.simulation.simulator.simulate", "users seed reading sampling"),
    ],
    run_name: str | None = None,
    given: MeasureOptions,
    by_query: bool = False,
    results: ResultFile,
) -> None:  # fmt: skip
    """Simulate users of a measure: their gain, their time, and the number of items they see.

    Example: pyterrier-cwla simulate qrels.txt bm25.txt -m TBG --lengths words.tsv --users 10000
    """
    from ..behaviour.simulation.simulator import simulate as simulated
    from .score_tables import scores_table

    files = judged.files
    if run_name is not None and len(files) > 1:
        raise errors.BadParameter(f"--run {run_name} chooses a run of one file, and {len(files)} are given.")
    bound = given.bind_one(measure)
    results.check([*judged.inputs, *bound.files])
    judgments = judged.judgments
    with errors.speaking_of(judged.qrels, judged.runs[0]) if len(files) == 1 else nullcontext():
        found = simulated(
            judgments,
            {run_name or name: read_one_run(file, run_name) for name, file in files.items()},
            bound.measures[0],
            **chosen,
            progress=sys.stderr.isatty(),
        )
    origin = {**judged.origin, "measure": found.measure, **chosen, **bound.origin}
    table = found.by_query if by_query else found.mean
    shown = list(_SHOWN if results.format is Format.table else table.columns)
    over = [
        _MEANING.format(
            f" ({found.unit})" if found.unit else "", "topic" if by_query else "topic, averaged over topics"
        )
    ]
    options = options_of(context.command)
    notes = [
        f"{replace(found, measure=str(bound.wanted[0])).title}: {found.made}.",
        *over,
        *(in_options(line, options) for line in found.notes),
    ]
    table = table[shown].reset_index()
    columns = list(map(_column, shown))
    results.write(scores_table(table, columns), origin, [*notes, *bound.notes, *judged.notes])


_MEANING = (
    "gain, time{} and items: what users gain, spend, and see; mean, standard deviation (sd) and median of the users of"
    " a {}. score: mean score of the users, and its standard error (error). analytic: the score by evaluate. nothing:"
    " share of users without gain. never: share of users who never leave."
)
_SHOWN = (
    *(f"{what}{more}" for what in ("gain", "time", "items") for more in ("", "_sd", "_50%")),
    *("score", "error", "analytic", "nothing", "never"),
)


def _column(name: str) -> TableColumn:
    from ..rendering.tables import TableColumn

    heading = name.replace("_sd", "\nsd").replace("_50%", "\nmedian")
    return TableColumn(heading, name, beside=name.endswith(("_sd", "%")))


_WIDE = 100  # characters, narrowest table with a column of descriptions


def print_calibration(found: Calibration | Calibrations, options: Mapping[str, str]) -> None:
    """Print a calibration, or calibrations of several groups side by side, with the command's options in its notes."""
    from ..rendering.terminal import prose, screen

    console = screen()
    prose(console, found.title, "bold")
    console.print()
    console.print(found.shown(console.width >= _WIDE))
    if found.remarks:
        console.print()
    for remark in found.remarks:
        prose(console, in_options(remark, options), "", 2, "· ")

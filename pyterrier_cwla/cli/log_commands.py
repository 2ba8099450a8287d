"""Commands ``calibrate`` and ``simulate``, and the table of a calibration."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
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
    ByQuery,
    Force,
    MeasureOptions,
    Qrels,
    RunName,
    Runs,
    about_grades,
    command,
    judgments_of,
    read_one_run,
    runs_by_name,
)
from .options import displayed, in_options, options_of
from .output_formats import Format, ResultFile
from .parameters import Parameters
from .paths import check_exists, check_outputs, path_argument

if TYPE_CHECKING:
    from rich.console import Console

    from ..behaviour.logs.calibration import Calibration, Calibrations
    from ..behaviour.logs.log import InteractionLog
    from .score_tables import MeasureColumn


Source = StrEnum("Source", ["log", "chiir24"])
"""Storage format of a log."""
LogFile = Annotated[
    Path,
    path_argument(
        "LOG", "Interaction log with one row per result that a user saw: CSV, TSV or Parquet; - is standard input."
    ),
]


@command()
def calibrate(
    context: typer.Context,
    log: LogFile,
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Output file of the calibration (JSON).")
    ] = None,
    source: Annotated[
        Source, typer.Option("--from", help="Type of LOG: a file in our format, or the folder of chiir24-satisfaction.")
    ] = Source.log,
    broken: Annotated[
        bool, typer.Option("--exclude-broken", help="Leave out inconsistent sessions, and print their number.")
    ] = False,
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Print one calibration per value of this column, such as topic."),
    ] = None,
    chosen: Annotated[
        dict[str, Any],
        Parameters("behaviour.logs.calibration.calibrate",
                   "rel depth min_clicks max_seconds last_rank confidence resamples seed"),
    ],
    pictures: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Also draw reading times, survival and progress, as SVG files; needs matplotlib."
        ),
    ] = None,
    force: Force = False,
) -> None:  # fmt: skip
    """Calibrate time-biased gain from a log: every parameter with its confidence interval.

    Example: pyterrier-cwla calibrate log.csv -o calibration.json, and then -m "TBG(calibration='calibration.json')"
    """
    from ..behaviour.logs.calibration import calibrate as calibrated

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
    print_calibration(found, options_of(context.command))
    if output is not None:
        found.save(output)
        note(f"Written to {output}: -m \"TBG(calibration='{output}')\"")
    if pictures is not None:
        _draw(found, read, pictures)


def _log(path: Path, source: Source, exclude: bool) -> InteractionLog:
    from ..behaviour.logs.adapters import chiir24_log
    from ..behaviour.logs.log import InteractionLog

    if source is Source.chiir24:
        return chiir24_log(path)
    if path.is_dir():
        raise errors.MalformedFile(f"{path}: is a folder. For a folder, give --from chiir24.")
    check_exists(path)
    return InteractionLog.read(path, broken="exclude" if exclude else "error")


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
    qrels: Qrels,
    runs: Runs,
    *,
    measure: Annotated[
        list[str],
        typer.Option(
            "--measure", "-m", metavar="MEASURE", help="Measure whose user model is simulated.", show_default=False
        ),
    ],
    chosen: Annotated[
        dict[str, Any],
        Parameters("behaviour.simulation.simulator.simulate", "users seed reading sampling"),
    ],
    run_name: RunName = None,
    given: MeasureOptions,
    by_query: ByQuery = False,
    results: ResultFile,
) -> None:  # fmt: skip
    """Simulate users of a measure: their gain, their time, and the number of items they see.

    Example: pyterrier-cwla simulate qrels.txt bm25.txt -m TBG --lengths words.tsv --users 10000
    """
    from ..behaviour.simulation.simulator import simulate as simulated
    from .score_tables import Scores

    files = runs_by_name(runs)
    if run_name is not None and len(files) > 1:
        raise errors.BadParameter(f"--run {run_name} chooses a run of one file, and {len(files)} are given.")
    bound = given.bind_one(measure)
    results.check([qrels, *runs, *given.files, *bound.files])
    judgments = judgments_of(qrels)
    with errors.speaking_of(qrels, runs[0]) if len(files) == 1 else nullcontext():
        found = simulated(
            judgments,
            {run_name or name: read_one_run(file, run_name) for name, file in files.items()},
            bound.measures[0],
            **chosen,
            progress=sys.stderr.isatty(),
        )
    origin = {"version": found.version, "qrels": displayed(str(qrels)), "measure": found.measure, **chosen,
              **bound.origin}  # fmt: skip
    table = found.by_query if by_query else found.mean
    columns = _columns(_SHOWN if results.format is Format.table else table.columns)
    over = [
        _MEANING.format(
            f" ({found.unit})" if found.unit else "", "query" if by_query else "query, averaged over queries"
        )
    ]
    options = options_of(context.command)
    notes = [
        f"{replace(found, measure=str(bound.wanted[0])).title}: {found.made}.",
        *over,
        *(in_options(line, options) for line in found.notes),
    ]
    table = table[[column.name for column in columns]].reset_index()
    results.write(Scores(table, columns, [*notes, *bound.notes, *about_grades(qrels, judgments)], origin))


_MEANING = (
    "gain, time{} and items: what users gain, spend, and see; mean, standard deviation (sd) and median of the users of"
    " a {}. score: mean score of the users, and its standard error (error). analytic: the score by evaluate. nothing:"
    " share of users without gain. never: share of users who never leave."
)
_SHOWN = (
    *(f"{what}{more}" for what in ("gain", "time", "items") for more in ("", "_sd", "_50%")),
    *("score", "error", "analytic", "nothing", "never"),
)


def _columns(names: Iterable[str]) -> list[MeasureColumn]:
    from .score_tables import MeasureColumn

    heads = {name: tuple(name.replace("_sd", " sd").replace("_50%", " median").split()) for name in names}
    return [MeasureColumn(name, head, beside=name.endswith(("_sd", "%"))) for name, head in heads.items()]


_WIDE = 100  # characters, narrowest table with a column of descriptions


def print_calibration(found: Calibration | Calibrations, options: Mapping[str, str]) -> None:
    """Print a calibration, or calibrations of several groups side by side, with the command's options in its notes."""
    from rich.text import Text

    from ..rendering.terminal import broken, plain_table, prose, screen

    console = screen()
    if isinstance(found, dict):
        _print_groups(console, found)
        return
    prose(console, found.title, "bold")
    console.print()
    rows = found.printed.to_dict("records")
    name, symbol, value, interval, description = found.printed
    wide = console.width >= _WIDE
    numbers = sum(max(map(len, [head, *(row[head] for row in rows)])) + 2 for head in (value, interval))
    table = plain_table()
    table.add_column(name)
    if wide:
        table.add_column(symbol, no_wrap=True)
    table.add_column(value, justify="right", no_wrap=True)
    table.add_column(interval, no_wrap=True)
    if wide:
        table.add_column(description)
    for row in rows:
        cells = [row[head] for head in (symbol, value, interval, description)]
        table.add_row(Text(broken(row[name], console.width - numbers)), *(cells if wide else cells[1:3]))
    console.print(table)
    if not wide:
        console.print()
        for row in rows:
            prose(
                console, f"{row[name]}{f' ({row[symbol]})' if row[symbol] else ''}: {row[description]}", "dim", 2, "· "
            )
    if found.remarks:
        console.print()
    for remark in found.remarks:
        prose(console, in_options(remark, options), "", 2, "· ")


def _print_groups(console: Console, found: Calibrations) -> None:
    from rich.text import Text

    from ..rendering.terminal import broken, column_head, in_blocks, plain_table, prose

    prose(console, f"Calibrations of time-biased gain, by {found.by}", "bold")
    console.print()
    parameters = found.parameters
    columns = {
        **{what: [f"{one.about[what]:,}" for one in found.values()] for what in ("users", "sessions")},
        **{name: [f"{v:.3g}" if math.isfinite(v) else "" for v in parameters[name]] for name in parameters},
    }
    heads = {name: broken(name, 12).split("\n") for name in columns}
    widths = [max(map(len, [*heads[name], *cells])) + 2 for name, cells in columns.items()]
    groups = list(map(str, found))
    least = min(max(map(len, [found.by, *groups])), console.width // 2)
    for number, block in enumerate(in_blocks(widths, console.width - least)):
        if number:
            console.print()
        shown = [*columns][block]
        height = max(len(heads[name]) for name in shown)
        table = plain_table()
        table.add_column(column_head([found.by], height))
        for name in shown:
            table.add_column(column_head(heads[name], height), justify="right", no_wrap=True)
        for place, group in enumerate(groups):
            table.add_row(Text(broken(group, least)), *(columns[name][place] for name in shown))
        console.print(table)

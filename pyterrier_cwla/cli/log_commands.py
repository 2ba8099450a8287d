"""The commands ``calibrate`` and ``simulate``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import errors
from ..errors.sanitise import harmless
from ..files.atomic import written
from ..rendering.terminal import busy, note
from .arguments import (
    BoundMeasures,
    ByQuery,
    Force,
    FormatName,
    LengthsFile,
    Output,
    Qrels,
    Runs,
    WhereMissing,
    app,
    judgments_of,
    runs_by_name,
)
from .options import in_options, options_of
from .output_formats import Format, format_for, write_results
from .outputs import check_outputs
from .score_tables import Column, Scores

if TYPE_CHECKING:
    from ..behaviour.logs.calibration import Calibration
    from ..behaviour.logs.log import InteractionLog


class Source(StrEnum):
    """What a log is stored as."""

    log = "log"
    chiir24 = "chiir24"


class Depth(StrEnum):
    """How deep users looked."""

    clicked = "clicked"
    seen = "seen"


class Sampling(StrEnum):
    """How users are drawn."""

    plain = "plain"
    antithetic = "antithetic"
    stratified = "stratified"


Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")]
LogFile = Annotated[
    Path,
    typer.Argument(
        metavar="LOG", help="A log, a row for each result that a user saw: CSV, TSV or Parquet.", show_default=False
    ),
]
CalibrationFile = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to keep the calibration, as JSON.")
]
LogSource = Annotated[
    Source, typer.Option("--from", help="What LOG is: a file in our format, or the folder of chiir24-satisfaction.")
]
ExcludeBroken = Annotated[
    bool, typer.Option("--exclude-broken", help="Leave out sessions that cannot be true, and say how many.")
]
GroupColumn = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="One calibration for each value, such as topic; printed only.")
]
LowestGrade = Annotated[int, typer.Option(min=1, help="The lowest grade that is relevant.")]
HowDeep = Annotated[
    Depth, typer.Option(help="Whether users looked down to their last click, or at all that the log has.")
]
MinClicks = Annotated[int, typer.Option(min=0, help="Half-life: sessions with fewer clicks are left out.")]
MaxSeconds = Annotated[float, typer.Option(help="Half-life: of longer sessions, only that they were.")]
LastRank = Annotated[
    int | None, typer.Option(min=1, help="Half-life: the rank at which lists end, whoever wants to go on.")
]
Confidence = Annotated[float, typer.Option(help="Of the intervals.")]
Resamples = Annotated[int, typer.Option(min=1, help="Of the bootstrap over users.")]
Pictures = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Also draw reading times, survival and progress, as SVG.")
]
OneMeasure = Annotated[
    list[str], typer.Option("--measure", "-m", metavar="MEASURE", help="The measure.", show_default=False)
]
Users = Annotated[int, typer.Option(min=1, help="How many for each query.")]
ReadingTimes = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="How reading times scatter: fixed, exponential, gamma(shape) or lognormal(sigma)."
    ),
]
Draws = Annotated[Sampling, typer.Option(help="Antithetic and stratified draws have smaller errors.")]


@app.command()
def calibrate(
    context: typer.Context,
    log: LogFile,
    output: CalibrationFile = None,
    source: LogSource = Source.log,
    exclude: ExcludeBroken = False,
    by: GroupColumn = None,
    rel: LowestGrade = 1,
    depth: HowDeep = Depth.clicked,
    min_clicks: MinClicks = 5,
    max_seconds: MaxSeconds = 1800,
    last_rank: LastRank = None,
    confidence: Confidence = 0.95,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    pictures: Pictures = None,
    force: Force = False,
) -> None:
    """Calibrates time-biased gain from a log: every parameter with its interval.

    Example: pyterrier-cwla calibrate log.csv -o calibration.json, and then -m "TBG(calibration='calibration.json')"
    """
    from ..behaviour.logs.calibration import calibrate as calibrated

    if by is not None and (output or pictures):
        raise errors.BadParameter("--by prints several calibrations, -o and --pictures keep one: leave either out.")
    if output is not None and not output.parent.is_dir():
        raise errors.BadParameter(f"{output}: there is no directory {str(output.parent)!r}.")
    drawn = [] if pictures is None else [("--pictures", pictures / f"{name}.svg") for name in _PICTURES]
    check_outputs([("-o", output), *drawn], [log], force, [("--pictures", pictures)])
    with busy("Reading the log …"):
        read = _log(log, source, exclude)
    with busy(f"Calibrating, with {resamples:,} resamples of the users …"):
        found = calibrated(
            read,
            by=by,
            rel=rel,
            depth=str(depth),
            min_clicks=min_clicks,
            max_seconds=max_seconds,
            last_rank=last_rank,
            confidence=confidence,
            resamples=resamples,
            seed=seed,
        )
    print(harmless(in_options(str(found), options_of(context.command))))
    if output is not None:
        found.save(output)
        note(f"Kept in {output}: -m \"TBG(calibration='{output}')\"")
    if pictures is not None:
        _draw(found, read, pictures)


def _log(path: Path, source: Source, exclude: bool) -> InteractionLog:
    from ..behaviour.logs.adapters import chiir24_log
    from ..behaviour.logs.log import InteractionLog

    if source is Source.chiir24:
        return chiir24_log(path)
    if not path.is_file():
        kept = " A folder is read with --from chiir24." if path.is_dir() else ""
        raise errors.MalformedFile(f"{path}: there is no such file.{kept}")
    return InteractionLog.read(path, broken="exclude" if exclude else "error")


_PICTURES = ("reading_times", "survival", "progress")


def _draw(found: Calibration, log: InteractionLog, folder: Path) -> None:
    """The pictures that the log has the numbers for; the others are said to be missing."""
    from ..rendering.figures import _pyplot

    _pyplot().switch_backend("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    drawings: tuple[Any, ...] = (found.plot_reading_times, found.plot_survival, lambda: found.plot_progress(log))
    for name, draw in zip(_PICTURES, drawings, strict=True):
        try:
            with written(folder / f"{name}.svg") as place:
                draw().figure.savefig(place, bbox_inches="tight")
        except errors.CWLAError as error:
            note(f"No picture of {name.replace('_', ' ')}: {error}")


@app.command()
def simulate(
    context: typer.Context,
    qrels: Qrels,
    runs: Runs,
    measure: OneMeasure,
    users: Users = 10_000,
    seed: Seed = 0,
    reading: ReadingTimes = "fixed",
    sampling: Draws = Sampling.plain,
    lengths: LengthsFile = None,
    missing: WhereMissing = None,
    by_query: ByQuery = False,
    form: FormatName = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Simulates users of a measure: what they gain, how long they take, and how many items they see.

    Example: pyterrier-cwla simulate qrels.txt bm25.txt -m TBG --lengths words.tsv --users 10000
    """
    from ..behaviour.simulation.simulator import simulate as simulated
    from ..files.formats import read_run

    form = format_for(form, output)
    files = runs_by_name(runs)
    if len(measure) > 1:
        raise errors.BadParameter("users follow one measure at a time: give -m once.")
    bound = BoundMeasures.of(measure, lengths, missing)
    check_outputs([("-o", output)], [qrels, *runs, lengths, *bound.files], force)
    judgments = judgments_of(qrels)
    with errors.speaking_of(qrels, runs[0]) if len(files) == 1 else nullcontext():
        found = simulated(
            judgments,
            {name: read_run(file) for name, file in files.items()},
            bound.measures[0],
            users=users,
            seed=seed,
            reading=reading,
            sampling=str(sampling),
            progress=sys.stderr.isatty(),
        )
    origin = {"version": found.version, "qrels": str(qrels), "measure": found.measure, "users": users, "seed": seed,
              "reading": reading, "sampling": str(sampling), **bound.origin}  # fmt: skip
    table = found.by_query if by_query else found.mean
    columns = _columns(_SHOWN if form is Format.table else table.columns)
    over = [] if by_query else ["Means over the queries, also of medians and of standard deviations (sd)."]
    options = options_of(context.command)
    notes = [f"{found.title}: {found._made}.", *over, *(in_options(line, options) for line in found.notes)]
    table = table[[column.name for column in columns]].reset_index()
    write_results(Scores(table, columns, [*notes, *bound.notes], origin), form, output)


_SHOWN = (
    *(f"{what}{more}" for what in ("gain", "time", "items") for more in ("", "_sd", "_50%")),
    *("score", "error", "analytic", "nothing", "never"),
)


def _columns(names: Iterable[str]) -> list[Column]:
    return [Column(name, tuple(name.replace("_sd", " sd").replace("_50%", " median").split())) for name in names]

"""The command group, the arguments that its commands share, and the objects read from these arguments."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from .. import errors
from .._version import __version__
from ..errors import BadParameter, near, some
from ..rendering.notes import note, warnings_as_sentences
from .options import displayed
from .parameters import Parameter, with_options
from .paths import check_exists, temporary

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from ir_measures.measures import Measure

    from ..data.alignment import Judgments
    from ..files.run_files import RunFiles

HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""Settings of the help of all commands."""


class Commands(TyperGroup):
    """Group of commands; its help has the whole summary of each."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the names of the commands and their summaries, over several lines if these are long."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(1000)) for name, one in self.commands.items()])


class Command(TyperCommand):
    """Command that always ends on Ctrl-C and SIGTERM, and whose help shows arguments by their names."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; pyarrow, whose own handlers lose a signal now and then, leaves signals to Python."""
        import pyarrow as pa

        pa.enable_signal_handlers(False)
        return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the line of usage, with optional arguments in brackets."""
        arguments = [one for one in self.params if one.param_type_name == "argument"]
        names = [f"{one.metavar}{'...' * (one.nargs != 1)}" for one in arguments]
        return ["[OPTIONS]", *(name if one.required else f"[{name}]" for name, one in zip(names, arguments))]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the descriptions of arguments and options."""
        for one in self.params:
            if one.param_type_name == "argument":
                vars(one)["display_type_rich"] = lambda ctx: None  # of a path, typer's help shows the Python type
        super().format_options(ctx, formatter)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=False,
    add_completion=False,
    rich_markup_mode=None,  # plain help: the modules for a coloured one take as long to import as all others
    pretty_exceptions_enable=False,
    context_settings=HELP,
)


def command(name: str | None = None, group: typer.Typer = app) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds a command with all options of its groups."""
    return lambda function: group.command(name, cls=Command)(with_options(function))


WhereMissing = Annotated[str | None, Parameter("demo.demonstrate", "missing")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pyterrier-cwla {__version__}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def _everything(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Score rankings with metrics that model users and time."""
    help_without_command(context)


def help_without_command(context: typer.Context) -> None:
    """Print the help of a group of commands if none is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@dataclass(frozen=True)
class JudgedRuns:
    """Judgments and runs of a command, which are read when they are needed."""

    qrels: Path
    runs: list[Path]
    split: str | None = None

    @cached_property
    def files(self) -> dict[str, Path]:
        """Files and datasets of the runs, by name."""
        return runs_by_name(self.runs, self.split, self.qrels)

    @cached_property
    def judgments(self) -> Judgments:
        """The judgments."""
        return judgments_of(self.qrels, self.split)

    @property
    def inputs(self) -> list[Path]:
        """Paths as they are given."""
        return [self.qrels, *self.runs]

    @property
    def notes(self) -> list[str]:
        """A note if no judged document is relevant."""
        return about_grades(self.qrels, self.judgments)

    @property
    def origin(self) -> dict[str, Any]:
        """Version and judgments, for the metadata of saved results."""
        return {"version": __version__, "qrels": displayed(str(self.qrels))}


@dataclass(frozen=True)
class BoundMeasures:
    """Measures of a command, with the options for documents and grades bound to those that read them.

    Attributes
    ----------
    wanted : sequence of Measure
        Measures as given with ``-m`` and ``--rel``.
    measures : sequence of Measure
        Same measures with the lengths, the costs and ``missing`` of the command line, under the same names.
    notes : sequence of str
        Sentences about the options for readers of the results.
    tables : dict of str to Path
        Files of ``lengths`` and ``costs`` that a measure uses.
    given : sequence of Path or None
        Files of these options.
    """

    wanted: Sequence[Measure]
    measures: Sequence[Measure]
    notes: Sequence[str]
    tables: dict[str, Path]
    given: Sequence[Path | None]

    @property
    def by_name(self) -> dict[str, Measure]:
        """Bound measures by the names given with ``-m``."""
        return {str(measure): measure for measure in self.measures}

    @property
    def files(self) -> list[Path | str | None]:
        """Files of the options, and those named in parameters of the measures."""
        from ..measures.wrappers import files_of

        return [*self.given, *files_of(self.measures)]

    @property
    def origin(self) -> dict[str, Any]:
        """Paths and SHA-256 of the tables of lengths and of known costs, for the metadata of saved results."""
        from ..data.resources import hash_of_file

        return {
            name: {"path": displayed(str(path)), "sha256": hash_of_file(str(path), name)}
            for name, path in self.tables.items()
        }


@dataclass(frozen=True)
class MeasureOptions:
    """Options for all measures of a command: the lowest relevant grade, and tables of documents."""

    lengths: Path | None = None
    costs: Path | None = None
    missing: WhereMissing = None
    rel: int | None = None

    @property
    def files(self) -> list[Path | None]:
        """Files of the tables, None for those that are not given."""
        return [self.lengths, self.costs]

    def bind(self, texts: Sequence[str], parsed: Callable[[list[Any]], list[Measure]] | None = None) -> BoundMeasures:
        """Parse and bind measures, of which one text may contain several; duplicates are dropped.

        ``parsed`` returns the measures of texts; by default, only measures that this package computes are allowed.
        """
        from ..measures.declarations import needs_of
        from ..measures.labels import by_name
        from ..measures.named import measures_of, split_measures
        from ..measures.provider import computed_here
        from ..measures.wrappers import innermost_measures

        each: list[Any] = [one for text in texts for one in split_measures(text)]
        with warnings_as_sentences() as notes:
            if self.rel is not None:
                plain = measures_of(each)
                each = [_with_parameters(measure, self._rel_of) for measure in plain]
            wanted = list(by_name((parsed or computed_here)(each)).values())
        if self.rel is not None:
            notes += self._without_rel([inner for measure in plain for inner in innermost_measures(measure)])
        read = {"lengths": lengths_from(self.lengths), "costs": lengths_from(self.costs, "Costs")}

        def known(inner: Measure) -> dict[str, Any]:
            """Return the parameters of an inner measure that the options give."""
            needs = needs_of(inner)
            origins = {"lengths": needs.lengths, "costs": needs.costs}
            values = {name: read[name] for name, origin in origins.items() if origin in ("run", "default")}
            values = {name: table for name, table in values.items() if table is not None}
            if self.missing is not None and {*origins.values()} != {"none"}:
                values["missing"] = self.missing
            return values

        given = {str(measure): {*chain.from_iterable(map(known, innermost_measures(measure)))} for measure in wanted}
        users = {name: [one for one, values in given.items() if name in values] for name in (*read, "missing")}
        measures = [_under_one_name(measure, known) for measure in wanted]
        notes += self._notes(users)
        tables = {name: getattr(self, name) for name in read if users[name]}
        return BoundMeasures(wanted, measures, notes, tables, self.files)

    def bind_one(self, texts: Sequence[str]) -> BoundMeasures:
        """Parse and bind one measure; raise BadParameter if the texts contain several."""
        bound = self.bind(texts)
        if len(bound.wanted) > 1:
            names = ", ".join(map(str, bound.wanted))
            raise BadParameter(f"this command takes one measure, and -m gives {len(bound.wanted)}: {names}.")
        return bound

    def _rel_of(self, inner: Measure) -> dict[str, Any]:
        stated = "rel" in inner.params or inner.NAME == "NumRet"  # without rel, it counts all documents
        return {"rel": self.rel} if "rel" in inner.SUPPORTED_PARAMS and not stated else {}

    def _without_rel(self, inner: Sequence[Measure]) -> list[str]:
        """Return a note that names the measures on which ``--rel`` has no effect, if there are any."""
        unchanged = [one for one in inner if not self._rel_of(one) and one.params.get("rel") != self.rel]
        names = ", ".join(dict.fromkeys(map(str, unchanged)))
        grades = any({"gain", "rel"} & {*one.SUPPORTED_PARAMS} == {"gain"} for one in unchanged)
        hint = f" Where a measure has gain=, write gain='binary({self.rel})'." if grades else ""
        return [f"{names}: --rel has no effect.{hint}"] if unchanged else []

    def _notes(self, users: dict[str, list[str]]) -> list[str]:
        """Return sentences about the measures that use each option."""
        notes, using = [], {name: ", ".join(measures) for name, measures in users.items()}
        for name, path in (("lengths", self.lengths), ("costs", self.costs)):
            if path is not None:
                who = f"{using[name]}: with" if using[name] else "None of these measures uses"
                notes.append(f"{who} the {name} of {displayed(str(path))}.")
        if self.missing == "mean" and using["missing"]:
            notes.append(f"{using['missing']}: documents without a value have the mean.")
        elif self.missing is not None and not using["missing"]:
            notes.append("None of these measures uses document lengths or known costs: --missing has no effect.")
        return notes


def _with_parameters(measure: Measure, of_inner: Callable[[Measure], dict[str, Any]]) -> Measure:
    """Return a measure with more parameters of its inner measures; itself if there are none."""
    from ..measures.wrappers import changed_inside, innermost_measures

    if not any(map(of_inner, innermost_measures(measure))):
        return measure
    return changed_inside(measure, lambda inner: inner(**of_inner(inner)))


def _under_one_name(measure: Measure, of_inner: Callable[[Measure], dict[str, Any]]) -> Measure:
    """Return a measure with more parameters of its inner measures, under its name."""
    from ..measures.labels import renamed

    bound = _with_parameters(measure, of_inner)
    return bound if str(bound) == str(measure) else renamed(bound, str(measure))


def lengths_from(path: Path | None, kind: str = "Lengths") -> Any:
    """Read a table of lengths, or one of known costs ("Costs"), before the first run is scored; None without path."""
    from ..data import lengths

    if path is None:
        return None
    check_exists(path)
    table = getattr(lengths, kind)(str(path), path=str(path))
    len(table)  # errors in the file appear now
    return table


def runs_by_name(paths: Sequence[Path], split: str | None = None, qrels: Path | None = None) -> dict[str, Path]:
    """Return the files and datasets of runs by name; folders are searched. Repeated paths are mentioned on stderr.

    With `split`, temporary Parquet files of the same names have the rows of this split of JSON files.
    """
    from ..files.run_files import named_runs

    for path in paths:
        check_exists(path, "" if path.exists() else _perhaps_a_measure(str(path)))
    with warnings_as_notes():
        found = named_runs(paths)
    if split is None:
        return found
    from pyarrow.parquet import write_table

    from ..files.inputs import of_split

    for name, run in of_split(found, split, qrels).items():
        if run is not found[name]:
            found[name] = temporary(atexit.register, found[name].name)
            write_table(run, found[name])
    return found


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print the warnings of this package as notes on stderr when the block ends."""
    with warnings_as_sentences() as warned:
        yield
    for line in warned:
        note(displayed(line))


def _perhaps_a_measure(text: str) -> str:
    from ..measures.named import measure_of

    try:
        measure_of(text)
    except errors.CWLAError:
        return ""
    return f" If it is a measure, write -m {text}."


def about_grades(path: Path, judgments: Judgments) -> list[str]:
    """Return a note if no judged document is relevant."""
    if judgments.pool.highest > 0:
        return []
    return [f"{displayed(str(path))}: all grades are 0 or negative, so no document is relevant."]


def judgments_of(path: Path, split: str | None = None) -> Judgments:
    """Read judgments; errors name the file."""
    from ..files.formats import read_qrels
    from ..measures.provider import prepare

    check_exists(path)
    with errors.speaking_of(path, None):
        return prepare(read_qrels(path, split), uncertain=True)


JudgedBy = Annotated[str, Parameter("measures.sessions.evaluate_sessions", "judged_by")]
_IDS = [
    *("query_id", "qid", "session", "user", "topic", "first", "second"),
    *("question", "answer", "passages", "docno"),
]


def cells(path: Path) -> pd.DataFrame:
    """Read a table; columns of numbers are converted, except ids."""
    import pandas as pd

    from ..behaviour.logs.log import read

    check_exists(path)
    table = read(str(path))[0]
    for name in table.columns.difference(_IDS):
        with suppress(ValueError, TypeError):
            table[name] = pd.to_numeric(table[name])
    return table


def names_of_runs(paths: list[Path], run_name: str | None) -> list[str]:
    """Return the names of one or two runs.

    Raises
    ------
    BadParameter
        If both are the same file, or if `run_name` chooses a run of two files.
    """
    if len(paths) == 1:
        check_exists(paths[0])
        return [run_name or next(iter(runs_by_name(paths)))]
    if run_name is not None:
        raise BadParameter(f"--run {run_name} chooses a run of one file: leave out the second run.")
    for path in paths:
        check_exists(path)
    if os.path.samefile(*paths):
        raise BadParameter(f"{paths[1]}: is the same file as the first run. Give another run, or one alone.")
    return list(runs_by_name(paths))


def read_one_run(path: Path, name: str | None, split: str | None = None) -> pa.Table:
    """Read the only run of a file, or the run of this name; `split` chooses among those of a JSON file.

    Raises
    ------
    BadParameter
        If the file has several runs and no name is given, or if it has no run of this name.
    """
    from ..files.formats import format_of, read_run
    from ..files.run_files import sources

    if path.is_dir() or (name is None and format_of(str(path)).name != "parquet"):
        return read_run(path, split)
    (source,) = sources([path])
    names = _names(source)
    if name is None and len(names) > 1:
        raise BadParameter(f"{path} contains {len(names)} runs: choose one of {some(names)} with --run NAME.")
    if name is not None and name not in names:
        raise BadParameter(f"--run {name}: {path} has no such run. {near(name, names)}")
    return read_run(path, split) if name is None or source.name is not None else _rows_of(source, name)


def _names(source: RunFiles) -> list[str]:
    if source.name is not None:
        return [source.name]
    tables = (table for part in source.parts for table in part.ids())
    return list(dict.fromkeys(name for table in tables for name in table["run"].unique().to_pylist()))


def _rows_of(source: RunFiles, name: str) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    from ..files.id_columns import written

    tables = (table for part in source.parts for table in part.tables())
    rows = pa.concat_tables(table.filter(pc.equal(written(table["run"]), name)).drop_columns("run") for table in tables)
    for column in ("query_id", "doc_id"):
        rows = rows.set_column(rows.column_names.index(column), column, written(rows[column]))
    return rows

"""How results look: tables for the eye, and CSV, JSON lines, Parquet and LaTeX for other programs."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from ir_measures.measures import Measure, SumAgg
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from ..errors import BadParameter
from ..evaluation.comparison import Comparison
from ..evaluation.explanation import Explanation
from ..files.atomic import written
from ..files.table_writers import write_rows, write_text
from ..measures.reference import KINDS, Entry, made_of
from ..rendering.latex import escaped, table_row, tabular
from ..rendering.terminal import _PROSE, _UNLIMITED, _head, note, plain_table, prose, screen

_WIDEST = 150  # nor of a listing


class Format(StrEnum):
    """What scores are written as."""

    table = "table"
    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"
    latex = "latex"

    @classmethod
    def of(cls, path: Path) -> Format:
        """The format that a file's name asks for."""
        known = {".csv": cls.csv, ".jsonl": cls.jsonl, ".parquet": cls.parquet, ".tex": cls.latex, ".txt": cls.table}
        if path.suffix.lower() not in known:
            raise BadParameter(
                f"-o {path}: the name must end in {', '.join(known)}, or --format must say what to write."
            )
        return known[path.suffix.lower()]


def note_beside(notes: Sequence[str], columns: Sequence[Column]) -> None:
    """What a reader of scores should know, on stderr: the notes, and which residuals are bounds."""
    for line in notes:
        note(line)
    for column in columns:
        if column.residual:
            note(f"{column.name}: {column.residual}.")


# ---- scores of runs


@dataclass(frozen=True)
class Column:
    """A measure's place in a table of scores: its name in files, its head in tables, and whether it counts things."""

    name: str
    head: tuple[str, ...]
    counts: bool = False
    residual: str = ""
    """Of a residual: whether it is a bound."""

    @classmethod
    def of(cls, measure: Measure) -> Column:
        return cls(str(measure), head_of(measure), isinstance(measure.aggregator(), SumAgg))

    def written(self, value: float) -> str:
        return f"{value:.0f}" if self.counts else decimal(value)


def head_of(measure: Measure) -> tuple[str, ...]:
    """A measure's text in short lines: CWLA / C=rbp(0.8) / A=max / max_rel=3."""
    cutoff = f"@{measure.params[measure.AT_PARAM]}" if measure.AT_PARAM in measure.params else ""
    parameters = [f"{name}={value}" for name, value in measure.params.items() if name != measure.AT_PARAM]
    return (f"{measure.NAME}{cutoff}", *parameters)


def decimal(value: float, places: int = 4) -> str:
    """A number of a table; nothing where there is none."""
    if math.isnan(value):
        return ""
    return f"{value:.{places}f}" if math.isfinite(value) else "∞" if value > 0 else "−∞"


@dataclass(frozen=True)
class Scores:
    """Scores of runs: a column ``run`` (and ``query_id``) and one for each measure; and what a reader should know."""

    table: pd.DataFrame
    columns: Sequence[Column]
    notes: Sequence[str] = ()
    origin: dict[str, Any] = field(default_factory=dict)
    """What saved results carry with them."""

    @property
    def by_query(self) -> bool:
        return "query_id" in self.table

    def write(self, form: Format, path: Path | None) -> None:
        """Writes to a file, or to stdout; then the notes go to stderr, unless they stand under a table."""
        if form is Format.parquet:
            assert path is not None
            write_rows([self.table], form, path, self.origin)
        elif path is None:
            self._text(form, None)
        else:
            with written(path) as place, open(place, "w", encoding="utf-8", newline="\n") as file:
                self._text(form, file)
        if form is not Format.table:
            note_beside(self.notes, self.columns)

    def _text(self, form: Format, file: IO[str] | None) -> None:
        if form is Format.table:
            self._print(screen(file))
            return
        stream = file or sys.stdout
        if form is Format.latex:
            stream.write(self._latex())
        else:
            write_text(self.table, form, stream)

    def _latex(self) -> str:
        names = ["run", "query"] if self.by_query else ["run"]
        head = [*names, *(escaped(column.name) for column in self.columns)]
        body = (table_row(map(escaped, cells)) for cells in self._cells())
        alignment = "l" * len(names) + "r" * len(self.columns)
        lines = ["% \\usepackage{booktabs}", *tabular(alignment, head, body)]
        return "\n".join(lines) + "\n"

    def _cells(self) -> Iterable[list[str]]:
        ids = [self.table[name] for name in ("run", "query_id") if name in self.table]
        values = [[column.written(v) for v in self.table[column.name].tolist()] for column in self.columns]
        return (list(row) for row in zip(*ids, *values, strict=True))

    def _print(self, console: Console) -> None:
        """Tables of as many measures as fit beside each other, with means where queries stand by themselves."""
        runs = self.table["run"].tolist()
        ids = [runs, self.table["query_id"].tolist()] if self.by_query else [runs]
        widest = max(20, console.width // 3)
        names = sum(min(max(map(len, [*column, "query"])), widest) + 2 for column in ids)
        blocks: list[list[Column]] = [[]]
        room = console.width - names
        for group in self._groups():
            needed = sum(map(self._width, group))
            if blocks[-1] and needed > room + 2:
                blocks.append([])
                room = console.width - names
            blocks[-1] += group
            room -= needed
        for number, block in enumerate(blocks):
            if number:
                console.print()
            console.print(self._block(block, widest))
        if self.notes:
            console.print()
        for line in self.notes:
            prose(console, line)
        if any(column.residual for column in self.columns):
            prose(console, "Residual: how much higher the score could be if all documents were judged.")

    def _groups(self) -> list[list[Column]]:
        """Columns that must not be torn apart: a measure and its residual."""
        groups: list[list[Column]] = []
        for column in self.columns:
            if column.residual:
                groups[-1].append(column)
            else:
                groups.append([column])
        return groups

    def _width(self, column: Column) -> int:
        cells = (column.written(value) for value in self.table[column.name].tolist())
        return max(map(len, [*column.head, *cells])) + 2

    def _block(self, block: list[Column], widest: int) -> Table:
        table = plain_table()
        height = max(len(column.head) for column in block)
        for name in ["run", "query"] if self.by_query else ["run"]:
            table.add_column(_head([name], height), overflow="fold", max_width=widest)
        for column in block:
            table.add_column(_head(column.head, height), justify="right", no_wrap=True)
        for run, of_run in self.table.groupby("run", sort=False):
            for _, row in of_run.iterrows():
                ids = [run, row["query_id"]] if self.by_query else [run]
                table.add_row(*map(Text, ids), *(column.written(row[column.name]) for column in block))
            if self.by_query:
                table.add_section()
                total = [of_run[column.name].sum() if column.counts else of_run[column.name].mean() for column in block]
                cells = [column.written(value) for column, value in zip(block, total, strict=True)]
                table.add_row(Text(run), f"all {len(of_run)}", *cells, style="bold", end_section=True)
        return table


# ---- a comparison of runs


def write_comparison(found: Comparison, notes: Sequence[str], form: Format, path: Path | None) -> None:
    """Writes a comparison to a file, or to stdout; then the notes go to stderr, unless they stand with the table."""
    if form is Format.parquet:
        assert path is not None
        write_rows([found.table], form, path, found.about)
    elif path is None:
        _write_comparison(found, notes, form, sys.stdout, None)
    else:
        with written(path) as place, open(place, "w", encoding="utf-8", newline="\n") as file:
            _write_comparison(found, notes, form, file, file)
    if form is not Format.table:
        for text in [*(found.of_queries if form is not Format.latex else ()), *notes]:
            note(text)


def _write_comparison(
    found: Comparison, notes: Sequence[str], form: Format, stream: IO[str], file: IO[str] | None
) -> None:
    if form is Format.table:
        console = screen(file)
        console.print(found)
        for text in notes:
            prose(console, text)
    elif form is Format.latex:
        stream.write(found.to_latex())
    else:  # JSON has null for what is not there, and no infinite numbers
        rows = found.table
        if form is not Format.csv:
            rows = rows.replace([np.inf, -np.inf], np.nan).astype(object)
            rows = rows.where(rows.notna(), None)
        write_text(rows, form, stream)


# ---- an explanation

_MEANINGS = {
    "gain": "what the document is worth",
    "effort": "what it costs to examine it",
    "T": "the effort before it",
    "C": "the share of users here who go on",
    "V": "the share of all users who come here",
    "W": "V/V⁺, the share of their attention",
    "L": "the share who leave here",
    "A": "what those who leave here feel",
    "L·A": "what they add to the score",
    "discount": "what a gain of 1 here adds to the score",
}
_TOTALS = {
    "V⁺": "items that a user sees, on average: ΣV",
    "effort": "what a user spends, on average",
    "ETG": "expected total gain",
    "ERG": "expected rate of gain: ETG over effort",
    "beyond": "of Σ L·A: what comes after the list",
    "N": "the normaliser",
    "score": "Σ L·A over N",
}
_FIRST_TO_GO = ("W", "discount", "T", "effort", "A")  # where the terminal is narrow


def print_explanation(explanation: Explanation, title: str, depth: int, notes: Sequence[str] = ()) -> None:
    """The first ranks of an explanation with sums, what lies below them, and what the columns mean."""
    console = screen()
    console.print(Text(title, style="bold"))
    console.print()
    table, columns, left_out = _that_fits(console, explanation, depth)
    console.print(table)
    console.print()
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_column(style="bold")
    facts.add_column(justify="right")
    facts.add_column(style="dim")
    for name, value in explanation.totals.items():
        facts.add_row(
            name, decimal(value) or "–", _TOTALS[name] if not math.isnan(value) else "not finite, or not known"
        )
    console.print(facts)
    console.print()
    prose(console, " · ".join(f"{name}: {_MEANINGS[name]}" for name in columns if name in _MEANINGS))
    if left_out:
        prose(console, f"Left out at this width: {', '.join(left_out)}.")
    for line in notes:
        prose(console, line)


def _that_fits(console: Console, explanation: Explanation, depth: int) -> tuple[Table, list[str], list[str]]:
    """The table with as many columns as the screen is wide enough for, the names of these, and of those left out."""
    ranks = explanation.table
    columns = [name for name in ranks if name != "discount" or ranks[name].notna().any()]
    if (ranks["effort"] == 1).all():
        columns = [name for name in columns if name not in ("effort", "T")]
    if not np.isfinite(explanation.expected_items):
        columns.remove("W")
    left_out: list[str] = []
    unlimited = console.options.update(max_width=_UNLIMITED)
    for name in ("", *_FIRST_TO_GO):
        if name in columns:
            columns.remove(name)
            left_out.append(name)
        for gap in (2, 1):
            table = _ranks(explanation, columns, depth, gap, docno_width=40 if console.width >= 120 else 20)
            if Measurement.get(console, unlimited, table).maximum <= console.width:
                return table, columns, left_out
    return table, columns, left_out


def _ranks(explanation: Explanation, columns: list[str], depth: int, gap: int, docno_width: int) -> Table:
    ranks = explanation.table
    shown, hidden = ranks.iloc[:depth], ranks.iloc[depth:]
    table = plain_table(gap=gap)
    for name in columns:
        if name == "docno":
            table.add_column(name, max_width=docno_width, overflow="ellipsis", no_wrap=True)
        else:
            table.add_column(name, justify="right", no_wrap=True)
    for row in shown.to_dict("records"):
        table.add_row(*(_cell(name, row[name]) for name in columns))
    table.add_section()
    sums = {name: ranks[name].sum() for name in ("gain", "effort", "V", "W", "L", "L·A")}
    if len(hidden):
        more = {"docno": f"… {len(hidden):,} more", **{name: hidden[name].sum() for name in sums}}
        table.add_row(*(_cell(name, more.get(name, np.nan)) for name in columns), style="dim")
    items = explanation.expected_items
    beyond = {"docno": "beyond", "V": items - sums["V"], "W": 1 - sums["V"] / items, "L·A": explanation.beyond}
    if beyond["L·A"] or beyond["V"] > 1e-9:
        table.add_row(*(_cell(name, beyond.get(name, np.nan)) for name in columns), style="dim")
    total = {**sums, "docno": "total", "V": items, "W": 1.0, "L": np.nan, "L·A": sums["L·A"] + explanation.beyond}
    table.add_row(*(_cell(name, total.get(name, np.nan)) for name in columns), style="bold")
    return table


def _cell(name: str, value: Any) -> str | Text:
    if name == "docno":
        return Text(value) if isinstance(value, str) and value else Text("not retrieved", style="dim")
    if math.isnan(value):
        return ""
    if name in ("rank", "grade"):
        return f"{value:g}"
    return decimal(value, 2 if name in ("effort", "T") else 4)


# ---- what there is

_ONE_OF = {
    "measure": "A measure of this package.",
    "ir_measures": "A measure of ir_measures, computed here at ir_measures' values.",
}
_ROLES = {"gain": "gain", "effort": "effort", "continuation": "C", "aggregation": "A", "norm": "norm"}


def print_listing(entries: Sequence[Entry]) -> None:
    """All there is, kind by kind: what it says, what it takes, and where it comes from."""
    console = _readable()
    for kind, question in KINDS.items():
        of_kind = [entry for entry in entries if entry.kind == kind]
        if not of_kind:
            continue
        console.print(Text(question[0].upper() + question[1:], style="bold"))
        table = Table.grid(padding=(0, 2, 0, 0), expand=False)
        table.add_column(min_width=12, max_width=max(14, console.width // 3))
        table.add_column()
        if console.width >= 120:
            table.add_column(style="dim", max_width=console.width // 3)
        for entry in of_kind:
            table.add_row(*_row(entry, wide=console.width >= 120))
        _print_indented(console, table)
        console.print()
    prose(
        console, "`pyterrier-cwla measures NAME` tells all about one of them, and measures are put together like this:"
    )
    prose(
        console,
        "CWLA(C='rbp(0.8)',A='max',max_rel=3)  CWLA(C='decay(60)',A='etg',effort='time',gain='binary')@20",
        "",
        2,
    )


def _row(entry: Entry, wide: bool) -> list[Text]:
    text = Text(entry.says)
    given = [parameter.briefly for parameter in entry.parameters if parameter.name != "cutoff"]
    if given and entry.kind in ("measure", "ir_measures"):
        text.append("\n" + "; ".join(given), style="dim")
    cells = [Text(entry.signature, style="cyan"), text]
    if wide:
        return [*cells, Text(entry.source)]
    if entry.source:
        text.append(f"\n{entry.source}", style="dim")
    return cells


def print_entry(entry: Entry) -> None:
    """Everything about one: formula, units, range, example, parts, parameters, source."""
    console = _readable()
    prose(console, f"{entry.signature}: {entry.says}", "bold")
    if entry.formula or entry.units or entry.range:
        console.print()
    for paragraph in filter(None, entry.formula.split("\n\n")):
        prose(console, " ".join(paragraph.split()), "", 2)
    for name, value in (("Unit", entry.units), ("Range", entry.range)):
        if value:
            prose(console, f"{name}: {value}.", "", 2)
    if entry.example:
        console.print()
        for line in entry.example.split("\n"):
            console.print(Text(f"  {line}", style="cyan"), soft_wrap=True)
    if entry.parts:
        table = _two_columns("bold", "")
        for role, choice in entry.parts.items():
            lines: list[str] = []
            for part in made_of(role, choice):
                lines += [f"{part.name}: {part.says}" if lines else part.says, *part.formula.split("\n\n")[:1]]
            table.add_row(role, Text("\n").join([Text(choice, style="cyan"), *map(Text, filter(None, lines))]))
        console.print()
        _print_indented(console, table)
    if entry.parameters:
        table = _two_columns("cyan", "")
        for parameter in entry.parameters:
            means = f"{parameter.means}: " if parameter.means else ""
            table.add_row(Text(parameter.written), Text(means + parameter.allowed))
        console.print()
        _print_indented(console, table)
    console.print()
    if entry.kind in _ROLES:
        needed = ",".join(parameter.name for parameter in entry.parameters if parameter.required)
        written = f"{entry.name}({needed})" if needed else entry.name
        console.print(Text.assemble("In a measure: ", (f"{_ROLES[entry.kind]}={written!r}", "cyan")))
    prose(console, _ONE_OF.get(entry.kind, KINDS[entry.kind][0].upper() + KINDS[entry.kind][1:]))
    if entry.source:
        prose(console, f"Source: {entry.source}.")


def _two_columns(first: str, second: str) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style=first, no_wrap=True)
    table.add_column(style=second)
    return table


def _readable() -> Console:
    """Prose is folded in pipes too."""
    console = screen()
    if console.width > _WIDEST:
        console.width = _PROSE if console.width == _UNLIMITED else _WIDEST
    return console


def _print_indented(console: Console, table: Table, by: int = 2) -> None:
    """Prints a table a little to the right, without blanks at the ends of lines."""
    options = console.options.update(width=console.width - by)
    for segments in console.render_lines(table, options, pad=False):
        text = Text(" " * by)
        for segment in segments:
            text.append(segment.text, segment.style)
        text.rstrip()
        console.print(text)

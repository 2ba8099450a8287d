"""Scores of run files, computed run by run, and the tables that show them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from ir_measures.measures import Measure
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from .. import errors
from ..data.alignment import Judgments
from ..data.rows import Rows
from ..evaluation.driver import checked
from ..evaluation.score_cache import ScoreCache
from ..evaluation.scored import Scored
from ..evaluation.streaming import extras_of, values_of_files
from ..files.arrow_arrays import of_strings
from ..files.id_columns import written
from ..files.run_files import RunFiles, sources
from ..files.table_writers import TableData, column_of
from ..measures.counting import scores_of_unanswered
from ..measures.provider import CWLAEvaluator, aggregate_of
from ..measures.wrappers import residual_of
from ..rendering.notes import sentence
from ..rendering.tables import Table, TableCell
from ..rendering.terminal import broken, column_head, decimal, in_blocks, other_than_means, plain_table, prose
from .output_formats import Format


@dataclass(frozen=True)
class MeasureColumn:
    """Column of one measure in a table of scores.

    Attributes
    ----------
    name : str
        Name of the column in files.
    head : tuple of str
        Lines of the column head in text tables.
    counts : bool
        Whether values are counts, which are written without decimals and summed over queries.
    """

    name: str
    head: tuple[str, ...]
    counts: bool = False
    residual: str = ""
    """For a residual: "a bound" or "no bound is known"; empty for other measures."""
    beside: bool = False
    """Whether the column stays in one table with the column before it."""

    @classmethod
    def for_measure(cls, measure: Measure) -> MeasureColumn:
        """Return the column of a measure."""
        return cls(str(measure), head_of(measure), aggregate_of(measure) == "sum")

    def written(self, value: float) -> str:
        """Format a value for a table."""
        return f"{value:.0f}" if self.counts else decimal(value)

    def total(self, values: Sequence[float]) -> str:
        """Format the sum of counts, or the mean of other values; missing values are left out."""
        known = [value for value in values if not math.isnan(value)]
        if self.counts:
            return self.written(math.fsum(known))
        return self.written(math.fsum(known) / len(known) if known else math.nan)


def head_of(measure: Measure) -> tuple[str, ...]:
    """Split a measure's text into short lines: CWLA / C=rbp(0.8) / A=max / max_rel=3. A label is one line."""
    if getattr(measure, "label", None) is not None:
        return (str(measure),)
    params = getattr(measure, "shown_params", measure.params)
    cutoff = f"@{params[measure.AT_PARAM]}" if measure.AT_PARAM in params else ""
    parameters = [f"{name}={value}" for name, value in params.items() if name != measure.AT_PARAM]
    return (f"{measure.NAME}{cutoff}", *parameters)


@dataclass(frozen=True)
class Scores:
    """Table of scores that can be written in all formats.

    Attributes
    ----------
    table : DataFrame, or dict of columns by name
        Columns ``run``, ``query_id`` or another `part` (for scores by query) and one per measure.
    columns : sequence of MeasureColumn
        Columns of the measures.
    notes : sequence of str
        Sentences for readers of the table.
    """

    table: TableData
    columns: Sequence[MeasureColumn]
    notes: Sequence[str] = ()
    origin: dict[str, Any] = field(default_factory=dict)
    """Metadata of saved results: version, inputs and parameters."""
    part: str = "query_id"
    """Column with the parts of a run that have scores of their own: queries or sessions."""

    @property
    def by_query(self) -> bool:
        """Whether the table has one row per query or session."""
        return self.part in self.table

    @property
    def _heads(self) -> list[str]:
        return ["run", self.part.removesuffix("_id")]

    @property
    def _ids(self) -> list[str]:
        return ["run", self.part] if self.by_query else ["run"]

    def notes_beside(self, form: Format) -> list[str]:
        """Return the notes, with a note per residual on whether it is a bound."""
        return [*self.notes, *(f"{column.name}: {column.residual}." for column in self.columns if column.residual)]

    def latex(self) -> str:
        """Return a LaTeX table with the style of booktabs."""
        ids = [column_of(self.table, name) for name in self._ids]
        values = [[column.written(v) for v in column_of(self.table, column.name)] for column in self.columns]
        cells = [[TableCell(str(text)) for text in row] for row in zip(*ids, *values, strict=True)]
        heads = [*self._heads[: len(ids)], *(column.name for column in self.columns)]
        return Table.from_cells({"": cells}, heads, names=len(ids)).to_latex()

    def print(self, console: Console) -> None:
        """Print text tables, each as wide as the screen allows; scores by query are followed by their means."""
        ids = [column_of(self.table, name) for name in self._ids]
        more = [f"all {len(ids[0])}"] if self.by_query else []
        longest = [max(map(len, [*column, name, *more])) for column, name in zip(ids, self._heads)]
        groups = self._groups()
        columns = len(self.columns) + len(ids)
        wide = sum(longest) + 2 * (columns - 1) + sum(map(self._width, self.columns))
        narrow = any(column.beside for column in self.columns)  # heads of one word, which need no wide gaps
        gap = 1 if narrow and wide - (columns - 1) <= console.width < wide else 2
        widths = [sum(self._width(column) + gap for column in group) for group in groups]
        if sum(longest) + gap * len(ids) + sum(widths) - gap > console.width:  # several tables, or broken names
            for_ids = console.width * len(ids) // (len(ids) + 1)
            others = [sum(min(length, 20) + gap for length in longest) - min(one, 20) for one in longest]
            longest = [min(one, max(20, for_ids - other)) for one, other in zip(longest, others, strict=True)]
        room = console.width - sum(longest) - gap * len(ids)
        blocks = [[c for group in groups[block] for c in group] for block in in_blocks(widths, room + gap)]
        for number, block in enumerate(blocks):
            if number:
                console.print()
            console.print(self._block(block, longest, gap))
        if self.notes:
            console.print()
        for line in self.notes:
            prose(console, line)
        if any(column.residual for column in self.columns):
            prose(console, "Residual: how much higher the score could be if all documents were judged.")

    def _groups(self) -> list[list[MeasureColumn]]:
        """Columns that stay in the same table: a measure with its residual, a mean with its standard deviation."""
        groups: list[list[MeasureColumn]] = []
        for column in self.columns:
            if column.residual or column.beside:
                groups[-1].append(column)
            else:
                groups.append([column])
        return groups

    def _width(self, column: MeasureColumn) -> int:
        cells = (column.written(value) for value in column_of(self.table, column.name))
        return max(map(len, [*column.head, *cells]))

    def _block(self, block: list[MeasureColumn], widths: Sequence[int], gap: int) -> RichTable:
        table = plain_table(gap=gap)
        height = max(len(column.head) for column in block)
        for name, width in zip(self._heads, widths):
            table.add_column(column_head([name], height), overflow="fold", max_width=width)
        for column in block:
            table.add_column(column_head(column.head, height), justify="right", no_wrap=True)
        ids, values = self._ids, [column_of(self.table, column.name) for column in block]
        rows = zip(*(column_of(self.table, name) for name in ids), *values, strict=True)
        for run, of_run in groupby(rows, itemgetter(0)):
            columns = list(zip(*of_run, strict=True))
            for row in zip(*columns, strict=True):
                cells = [column.written(value) for column, value in zip(block, row[len(ids) :], strict=True)]
                table.add_row(*(Text(broken(name, width)) for name, width in zip(row, widths)), *cells)
            if self.by_query:
                table.add_section()
                cells = [column.total(of_column) for column, of_column in zip(block, columns[len(ids) :], strict=True)]
                every = f"all {len(columns[0])}"
                table.add_row(Text(broken(run, widths[0])), every, *cells, style="bold", end_section=True)
        return table


class FileScores:
    """Scores of run files: one table per run, and notes for readers.

    Parameters
    ----------
    qrels : Path
        File of the judgments, for error messages.
    judgments : Judgments
        Judgments in this file.
    measures : dict of MeasureColumn to Measure
        Columns of the tables with their measures.
    """

    def __init__(self, qrels: Path, judgments: Judgments, measures: Mapping[MeasureColumn, Measure]):
        self.qrels, self.judgments, self.measures = qrels, judgments, dict(measures)
        self._unanswered: list[tuple[str, int]] = []
        self._undefined: dict[str, dict[str, int]] = {}  # numbers of queries by measure and run
        self._notes: dict[str, list[str]] = {}  # on runs scored so far with few judged documents

    def add_residuals(self, file: Path) -> list[str]:
        """Add the residual of each measure after its column; return notes on measures without a residual.

        Each residual is tried on the first query of ``file``.
        """
        source = sources({str(file): file})[0]
        found: dict[MeasureColumn, Measure] = {}
        notes = []
        with errors.speaking_of(self.qrels, file):
            first = _of_one_query(self.judgments, beginning(source, extras_of(self.measures.values())))
            rows = Rows.from_run(first, self.judgments.index)
            for column, measure in self.measures.items():
                found[column] = measure
                try:
                    residual = residual_of(measure)
                    if residual is None:
                        continue
                    CWLAEvaluator([residual], self.judgments).tables([rows])
                except (errors.BadParameter, errors.NoFiniteValue) as error:
                    why = str(error).removeprefix(f"no residual of {measure}: ")
                    notes.append(f"No residual of {column.name}: {why}")
                    continue
                bounded = residual.is_a_bound
                kind, lines = ("a bound", ["a bound"]) if bounded else ("no bound is known", ["no bound", "is known"])
                found[MeasureColumn(str(residual), ("residual:", *lines), residual=kind)] = residual
        self.measures = found
        return notes

    def tables(
        self, files: Iterable[tuple[str, Path]], by_query: bool, cache_dir: Path | None, progress: bool
    ) -> Iterator[TableData]:
        """Yield one table per run: one row, or one row per query.

        Raises
        ------
        BadRun
            If a run contains none of the judged queries.
        """
        with errors.speaking_of(self.qrels, None):
            evaluator = CWLAEvaluator(list(self.measures.values()), self.judgments)
        cache = None if cache_dir is None else ScoreCache(cache_dir, evaluator)
        for scored in checked(self._scored(evaluator, files, cache, progress), self._notice):
            lacking = int((~scored.answered).sum())
            self._unanswered += [(scored.run, lacking)] if lacking else []
            values = scored.values if by_query else {m: [v] for m, v in evaluator.means(scored.values).items()}
            queries = self.judgments.qids
            ids = {"run": [scored.run] * len(queries), "query_id": queries} if by_query else {"run": [scored.run]}
            for column, measure in self.measures.items():
                if without := int(np.isnan(scored.values[measure]).sum()):
                    self._undefined.setdefault(column.name, {})[scored.run] = without
            yield ids | {column.name: values[measure] for column, measure in self.measures.items()}

    def about_queries(self, by_query: bool) -> str:
        """Return a sentence on the number of queries, and on runs that lack some of them."""
        queries = len(self.judgments.qids)
        what = f"the {queries:,} judged topics" if queries > 1 else "the one judged topic"
        kinds = {column.name: aggregate_of(m) for column, m in self.measures.items()}
        text = f"Scores of {what}." if by_query else f"Means over {what}{other_than_means(kinds)}."
        if self._unanswered:
            some = ", ".join(f"{name} ({lacking})" for name, lacking in self._unanswered[:3])
            more = ", …" if len(self._unanswered) > 3 else ""
            scores = scores_of_unanswered(map(repr, self.measures.values()))
            text += f" Topics that a run does not answer {scores}: {some}{more}."
        for name, runs in self._undefined.items():
            without = ", ".join(f"{run} ({count:,})" for run, count in list(runs.items())[:3])
            more = ", …" if len(runs) > 3 else ""
            effect = "" if by_query else ", which the means leave out"
            text += f" {name} has no value for some topics{effect}: {without}{more}."
        return text

    def _scored(
        self, evaluator: CWLAEvaluator, files: Iterable[tuple[str, Path]], cache: ScoreCache | None, progress: bool
    ) -> Iterator[Scored]:
        for name, file in files:
            with errors.speaking_of(self.qrels, file):
                for scored in values_of_files(evaluator, sources({str(file): file}), progress, cache):
                    yield scored._replace(run=name) if scored.run == str(file) else scored

    def _notice(self, scored: Scored, about: str) -> None:
        if scored.overlap.apart is not None:
            retrieved, judged = map(errors.some, scored.overlap.apart)
            raise errors.BadRun(
                f"{scored.place}: no query in common with {self.qrels}: the run has {retrieved}, the judgments"
                f" {judged}."
            )
        self._notes.setdefault(scored.run, []).append(sentence(about))

    def notes_on_runs(self, most: int) -> list[str]:
        """Return the notes on the first runs that have some, and how many more runs have some."""
        notes = [*self._notes.values()]
        more = [f"{len(notes) - most:,} more runs have such notes."] if len(notes) > most else []
        return [*chain.from_iterable(notes[:most]), *more]


def beginning(source: RunFiles, extras: list[str]) -> pa.Table:
    """Return the first rows of the first run of a source: the first chunk that is read."""
    table = next((table for part in source.parts for table in part.tables(extras)), None)
    if table is None:
        raise source.empty
    return table.filter(pc.equal(table["run"], table["run"][0]))


def _of_one_query(judgments: Judgments, run: pa.Table) -> pa.Table:
    query = next((query for query in pc.unique(run["query_id"]).to_pylist() if query in judgments.index), None)
    queries = of_strings([] if query is None else [query])
    return run.filter(pc.is_in(written(run["query_id"]), value_set=queries))

"""Tables of the commands ``explain`` and ``measures``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..measures.entries import KINDS, ROLES, Entry
from ..rendering.figures import elided
from ..rendering.terminal import (
    broken,
    columns_that_fit,
    decimal,
    plain_table,
    prose,
    readable_screen,
    screen,
)

if TYPE_CHECKING:
    import pandas as pd

    from ..evaluation.explanation import ExplainedMixture, ExplainedPair, Explanation

_MEANINGS = {
    "gain": "gain of the document",
    "effort": "cost of examining it",
    "T": "effort before this rank",
    "C": "probability of continuing",
    "V": "share of users who see this rank",
    "W": "V/V⁺, share of attention",
    "L": "share of users who leave here",
    "A": "value for users who leave here",
    "L·A": "their contribution to the score",
    "discount": "contribution of a gain of 1 at this rank",
    "adds": "what this rank adds to the score",
}
_TOTALS = {
    "V⁺": "expected number of items seen: ΣV",
    "effort": "expected effort of a user",
    "ETG": "expected total gain",
    "ERG": "expected rate of gain: ETG / effort",
    "beyond": "part of Σ L·A after the end of the list",
    "N": "normaliser",
    "score": "Σ L·A / N",
}
_OPTIONAL = ("W", "discount", "T", "effort", "A", "C", "L", "grade")  # left out on narrow terminals, in this order


def print_explanation(explanation: Explanation, title: str, depth: int, notes: Sequence[str] = ()) -> None:
    """Print the first ``depth`` ranks of an explanation, sums, totals, and the meaning of the columns."""
    console = _titled(title)
    ranks = explanation.table
    columns = [name for name in ranks if name != "discount" or ranks[name].notna().any()]
    if (ranks["effort"] == 1).all():
        columns = [name for name in columns if name not in ("effort", "T")]
    if not math.isfinite(explanation.expected_items):
        columns.remove("W")
    docno_width = 40 if console.width >= 120 else 20

    def draw(columns: list[str], gap: int) -> Table:
        return _ranks(explanation, columns, depth, gap, docno_width)

    columns, gap, left_out = columns_that_fit(console, console.width, columns, _OPTIONAL, draw)
    console.print(draw(columns, gap))
    console.print()
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_column(style="bold")
    facts.add_column(justify="right")
    facts.add_column(style="dim")
    for name, value in explanation.totals.items():
        facts.add_row(name, decimal(value) or "–", _TOTALS[name] if not math.isnan(value) else "infinite or unknown")
    console.print(facts)
    console.print()
    _print_notes(console, columns, left_out, notes)


def print_mixture(mixture: ExplainedMixture, title: str, depth: int, notes: Sequence[str] = ()) -> None:
    """Print the totals of each class of users, and what the first ``depth`` ranks add through each class."""
    console = _titled(title)
    totals, ranks = mixture.totals, mixture.table
    console.print(_of_classes(totals))
    console.print()
    table = plain_table()
    for name in ("rank", *ranks):
        table.add_column(name, justify="left" if name == "docno" else "right", max_width=30, overflow="ellipsis")
    for rank, row in ranks.head(depth).iterrows():
        table.add_row(str(rank), *(_cell(str(name), value) for name, value in row.items()))
    sums = ranks[[name for name in ranks if str(name).startswith("adds")]]
    if len(ranks) > depth:
        more = sums.iloc[depth:].sum()
        cells = (decimal(more[name]) if name in more else "" for name in [*ranks][1:])
        table.add_row("", f"… {len(ranks) - depth:,} more", *cells, style="dim")
    total = sums.sum()
    table.add_row("", "total", *(decimal(total[name]) if name in total else "" for name in [*ranks][1:]), style="bold")
    console.print(table)
    console.print()
    about = "share: share of the users · adds: share times score, or what a rank adds to the score"
    for line in [about, *notes]:
        prose(console, line)


def _titled(title: str) -> Console:
    """Print a title, and return the console."""
    console = screen()
    console.print(Text(title, style="bold"))
    console.print()
    return console


def _of_classes(totals: pd.DataFrame) -> Table:
    table = plain_table()
    for name in ("class", *totals):
        table.add_column(name, justify="left" if name == "class" else "right")
    for number, (name, row) in enumerate(totals.iterrows(), 1):
        cells = ("" if math.isnan(value) else decimal(value) for value in row)
        table.add_row(str(name), *cells, style="bold" if number == len(totals) else None)
    return table


def print_pair(pair: ExplainedPair, title: str, depth: int, notes: Sequence[str] = ()) -> None:
    """Print the scores of two runs, where their documents and gains first differ, and the first ``depth`` ranks."""
    console = _titled(title)
    for line in pair.sentences:
        prose(console, line, style="")
    console.print()
    docno_width = max(6, min(30, (console.width - 26) // 2))
    columns, _, left_out = columns_that_fit(
        console,
        console.width,
        ("docno", "grade", "gain", "V", "adds"),
        ("V", "gain", "grade"),
        lambda columns, _: _both(pair, columns, depth, docno_width),
    )
    console.print(_both(pair, columns, depth, docno_width))
    console.print()
    _print_notes(console, columns, left_out, notes)


def _print_notes(console: Console, columns: Sequence[str], left_out: Sequence[str], notes: Sequence[str]) -> None:
    """Print the meanings of the columns below a table, the columns that are left out, and notes."""
    prose(console, " · ".join(f"{name}: {_MEANINGS[name]}" for name in columns if name in _MEANINGS))
    if left_out:
        prose(console, f"Left out at this width: {', '.join(left_out)}.")
    for line in notes:
        prose(console, line)


def _both(pair: ExplainedPair, columns: list[str], depth: int, docno_width: int) -> Table:
    """Table of two runs; the head of the documents of a run is its name."""
    table = plain_table()
    table.add_column("rank", justify="right", no_wrap=True)
    for run in pair.explanations:
        table.add_column(broken(elided(run, 3 * docno_width), docno_width), max_width=docno_width, overflow="ellipsis")
        for name in columns[1:]:
            table.add_column(name, justify="right", no_wrap=True)
    values = pair.table
    for rank, row in values.head(depth).iterrows():
        table.add_row(str(rank), *(_cell(name, row[run, name]) for run in pair.explanations for name in columns))
    table.add_section()
    rest = {"more": values.iloc[depth:].xs("adds", axis=1, level=1).sum()}
    rest["beyond"] = pair.scores - values.xs("adds", axis=1, level=1).sum()
    heads = {"more": f"… {len(values) - depth:,} more", "beyond": "beyond"}
    for name, adds in rest.items():
        if (name == "more" and len(values) > depth) or (name == "beyond" and (adds.abs() > 1e-9).any()):
            table.add_row("", *_sums(heads[name], adds, columns), style="dim")
    table.add_row("", *_sums("score", pair.scores, columns), style="bold")
    return table


def _sums(head: str, adds: pd.Series[float], columns: list[str]) -> list[str]:
    blank = [""] * (len(columns) - 2)
    return [cell for value in adds for cell in (head, *blank, decimal(value))]


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
        table.add_row(*(_cell(name, more.get(name, math.nan)) for name in columns), style="dim")
    items = explanation.expected_items
    beyond = {"docno": "beyond", "V": items - sums["V"], "W": 1 - sums["V"] / items, "L·A": explanation.beyond}
    if beyond["L·A"] or beyond["V"] > 1e-9:
        table.add_row(*(_cell(name, beyond.get(name, math.nan)) for name in columns), style="dim")
    total = {**sums, "docno": "total", "V": items, "W": 1.0, "L": math.nan, "L·A": sums["L·A"] + explanation.beyond}
    table.add_row(*(_cell(name, total.get(name, math.nan)) for name in columns), style="bold")
    return table


def _cell(name: str, value: Any) -> str | Text:
    if name == "docno":
        return Text(value) if isinstance(value, str) and value else Text("not retrieved", style="dim")
    if math.isnan(value):
        return ""
    if name in ("rank", "grade"):
        return f"{value:g}"
    return decimal(value, 2 if name in ("effort", "T") else 4)


_OF_MEASURES = ("measure", "ir_measures", "session")


def print_listing(entries: Sequence[Entry]) -> None:
    """Print one line per entry, by kind: name and summary, cut off at the width of a terminal."""
    console = screen()
    for kind, question in KINDS.items():
        of_kind = [entry for entry in entries if entry.kind == kind]
        if not of_kind:
            continue
        console.print(Text(question[0].upper() + question[1:], style="bold"))
        width = max(len(entry.briefly) for entry in of_kind)
        width = width if width <= console.width // 2 else max(14, console.width // 3)
        for entry in of_kind:
            line = Text.assemble("  ", (entry.briefly.ljust(width), "cyan"), "  ", entry.says)
            line.truncate(console.width, overflow="ellipsis")
            console.print(line)
        console.print()


def print_mentioned(word: str, entries: Sequence[Entry]) -> None:
    """Print the names of entries with a word in their description."""
    if entries:
        names = ", ".join(entry.name for entry in entries)
        prose(readable_screen(), f"Also with {word!r} in the description: {names}.")


def print_overview(entries: Sequence[Entry]) -> None:
    """Print one line per measure, and the names of the functions that measures are composed of."""
    print_listing([entry for entry in entries if entry.kind in _OF_MEASURES])
    console = screen()
    prose(console, "Functions that measures are composed of", "bold")
    for kind in (kind for kind in KINDS if kind not in _OF_MEASURES):
        names = ", ".join(entry.name for entry in entries if entry.kind == kind)
        prose(console, f"{ROLES.get(kind, kind)}: {names}", "", 2)
    console.print()
    prose(console, "`pyterrier-cwla measures NAME` describes one of them, and `pyterrier-cwla measures C` (or A, gain,"
          " effort, discount, norm) lists functions. Measures are composed like this:")  # fmt: skip
    for example in ("CWLA(C='rbp(0.8)',A='max',max_rel=3)",
                    "CWLA(C='decay(60)',A='etg',effort='time',gain='binary')@20"):  # fmt: skip
        prose(console, example, "", 2)

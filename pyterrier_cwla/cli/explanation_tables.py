"""Tables of the commands ``explain`` and ``measures``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ..evaluation.explanation import STOPS, head_of
from ..measures.entries import KINDS, ROLES, Entry
from ..rendering.figures import elided
from ..rendering.tables import SumRow, Table, TableColumn
from ..rendering.terminal import prose, readable_screen, screen

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
    "L·A / N": "value for users who leave here, divided by the normaliser",
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
    ranks = explanation.table
    names = [name for name in ranks if name != "discount" or ranks[name].notna().any()]
    if (ranks["effort"] == 1).all():
        names = [name for name in names if name not in ("effort", "T")]
    if not math.isfinite(explanation.expected_items):
        names.remove("W")
    hidden, items = ranks.iloc[depth:], explanation.expected_items
    sums = {name: ranks[name].sum() for name in ("gain", "effort", "V", "W", "L", "L·A")}
    rows = ranks.head(depth).to_dict("records")
    if len(hidden):
        more = {name: hidden[name].sum() for name in sums}
        rows.append(SumRow({"docno": f"… {len(hidden):,} more", **more}, "dim"))
    beyond = {"docno": "beyond", "V": items - sums["V"], "W": 1 - sums["V"] / items, "L·A": explanation.beyond}
    if beyond["L·A"] or beyond["V"] > 1e-9:
        rows.append(SumRow(beyond, "dim"))
    total = {"docno": "total", "V": items, "W": 1.0, "L": math.nan, "L·A": sums["L·A"] + explanation.beyond}
    rows.append(SumRow({**sums, **total}))
    totals = [
        {"name": name, "value": value, "meaning": _TOTALS[name] if not math.isnan(value) else "infinite or unknown"}
        for name, value in explanation.totals.items()
    ]
    of_totals = [TableColumn("", "name", "name"), TableColumn("", "value"), TableColumn("", "meaning", "name")]
    of_ranks = Table(columns=_columns(names, _OPTIONAL), rows={"": rows}, notes=notes)
    _print(title, of_ranks, Table(columns=of_totals, rows={"": totals}))


def print_mixture(mixture: ExplainedMixture, title: str, depth: int, notes: Sequence[str] = ()) -> None:
    """Print the totals of each class of users, and what the first ``depth`` ranks add through each class."""
    ranks = mixture.table.reset_index()
    classes = mixture.totals.rename_axis("class").reset_index().astype({"class": str}).to_dict("records")
    columns = [TableColumn(str(name), str(name), "name" if name == "class" else "number") for name in classes[0]]
    sums = ranks[[name for name in ranks if str(name).startswith("adds")]]
    rows = ranks.head(depth).to_dict("records")
    if len(ranks) > depth:
        rows.append(SumRow({"docno": f"… {len(ranks) - depth:,} more", **sums.iloc[depth:].sum()}, "dim"))
    rows.append(SumRow({"docno": "total", **sums.sum()}))
    about = "share: share of the users · adds: share times score"
    about += ", or what a rank adds to the score" if mixture.adds_gains else f" · {STOPS}: {_MEANINGS[STOPS]}"
    _print(
        title,
        Table(columns=columns, rows={"": [*classes[:-1], SumRow(classes[-1])]}),
        Table(columns=_columns(map(str, ranks), adds_gains=mixture.adds_gains), rows={"": rows}, notes=[about, *notes]),
    )


def print_pair(pair: ExplainedPair, title: str, depth: int, notes: Sequence[str] = ()) -> None:
    """Print the scores of two runs, where their documents and gains first differ, and the first ``depth`` ranks."""
    values = pair.table
    adds = values.xs("adds", axis=1, level=1)
    rows: list[Any] = [{"rank": rank, **row} for rank, row in values.head(depth).iterrows()]
    if len(values) > depth:
        rows.append(_sums(f"… {len(values) - depth:,} more", adds.iloc[depth:].sum(), "dim"))
    beyond = pair.scores - adds.sum()
    if (beyond.abs() > 1e-9).any():
        rows.append(_sums("beyond", beyond, "dim"))
    rows.append(_sums("score", pair.scores))
    columns = _columns(["rank"])
    for run in pair.explanations:
        docno, *others = _columns(["docno", "grade", "gain", "V", "adds"], ("V", "gain", "grade"), run, pair.adds_gains)
        columns += [replace(docno, heading=elided(run, 60)), *others]
    _print(title, "\n".join(pair.sentences), Table(columns=columns, rows={"": rows}, notes=notes))


def _print(title: str, *parts: Table | str) -> None:
    """Print a title, and paragraphs and tables below it."""
    console = screen()
    console.print(Text(title, style="bold"))
    for part in parts:
        console.print()
        if isinstance(part, Table):
            console.print(part)
        else:
            for line in part.split("\n"):
                prose(console, line, style="")


def _columns(
    names: Iterable[str], optional: Sequence[str] = (), run: str | None = None, adds_gains: bool = True
) -> list[TableColumn]:
    """Return the columns of a table of ranks, of several runs if one is given."""
    return [
        TableColumn(
            head_of(name, adds_gains),
            partial(_value, name, name if run is None else (run, name)),
            "name" if name == "docno" else "number",
            digits=2 if name in ("effort", "T") else 4,
            left_out=optional.index(name) + 1 if name in optional else 0,
            meaning=_MEANINGS.get(head_of(name, adds_gains), ""),
        )
        for name in names
    ]


def _value(name: str, key: Any, row: Mapping[Any, Any]) -> str | float:
    """Return a value of a row, or of a sum that may lack it; ranks and grades have no decimals if they are integers."""
    value = row.get(key, math.nan)
    if name == "docno":
        return value if isinstance(value, str) and value else "not retrieved"
    return value if name not in ("rank", "grade") or math.isnan(value) else f"{value:g}"


def _sums(head: str, adds: pd.Series[float], style: str = "bold") -> SumRow:
    """Return a row of sums of two runs."""
    cells = {(run, "docno"): head for run in adds.index} | {(run, "adds"): value for run, value in adds.items()}
    return SumRow(cells, style)


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

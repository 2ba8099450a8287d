"""Tables of the command ``explain``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ..evaluation.explanation import STOPS, ExplainedMixture, ExplainedPair, Explanation, head_of
from ..evaluation.explanation_plots import all_efforts_are_1
from ..rendering.figures import elided
from ..rendering.tables import SumRow, Table, TableColumn
from ..rendering.terminal import prose, screen

if TYPE_CHECKING:
    import pandas as pd

_MEANINGS = {
    "gain": "gain of the document",
    "effort": "cost of examining it",
    "T": "effort before this rank",
    "C": "probability of continuing",
    "V": "share of users who see this rank",
    "W": "V/V⁺, share of attention",
    "L": "share of users who leave here",
    "A": "value for users who leave here",
    "L·A": "part of the score that comes from these users",
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


def print_explanation(found: Any, title: str, depth: int, notes: Sequence[str] = ()) -> None:
    """Print an explanation: its title, for two runs what differs, and tables with the first ``depth`` ranks."""
    console = screen()
    console.print(Text(title, style="bold"))
    if isinstance(found, ExplainedPair):
        console.print()
        for sentence in found.sentences:
            prose(console, sentence, style="")
        tables = _tables_of_pair(found, depth, notes)
    elif isinstance(found, ExplainedMixture):
        tables = _tables_of_mixture(found, depth, notes)
    else:
        tables = _tables_of_explanation(found, depth, notes)
    for table in tables:
        console.print()
        console.print(table)


def _tables_of_explanation(explanation: Explanation, depth: int, notes: Sequence[str]) -> list[Table]:
    """Return a table of the first ``depth`` ranks of an explanation and sums, and one of its totals."""
    ranks = explanation.table
    names = [name for name in ranks if name != "discount" or ranks[name].notna().any()]
    if all_efforts_are_1(ranks):
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
    return [of_ranks, Table(columns=of_totals, rows={"": totals})]


def _tables_of_mixture(mixture: ExplainedMixture, depth: int, notes: Sequence[str]) -> list[Table]:
    """Return a table of the totals of each class of users, and one of what the first ``depth`` ranks add by class."""
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
    return [
        Table(columns=columns, rows={"": [*classes[:-1], SumRow(classes[-1])]}),
        Table(columns=_columns(map(str, ranks), adds_gains=mixture.adds_gains), rows={"": rows}, notes=[about, *notes]),
    ]


def _tables_of_pair(pair: ExplainedPair, depth: int, notes: Sequence[str]) -> list[Table]:
    """Return a table of the first ``depth`` ranks of two runs, and of their scores."""
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
    return [Table(columns=columns, rows={"": rows}, notes=notes)]


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

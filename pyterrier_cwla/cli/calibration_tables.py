"""Calibrations as tables that fit the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.text import Text

from ..rendering.terminal import broken, column_head, in_blocks, plain_table, prose, screen
from .options import in_options

if TYPE_CHECKING:
    from rich.console import Console

    from ..behaviour.logs.calibration import Calibration, Calibrations

_WIDE = 100  # characters, narrowest table with a column of descriptions


def print_calibration(found: Calibration | Calibrations, options: Mapping[str, str]) -> None:
    """Print a calibration, or calibrations of several groups side by side, with the command's options in its notes."""
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

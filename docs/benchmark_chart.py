"""Draw two pictures of the benchmarks, from the tables of ``docs/benchmark_tables.md``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib

from pyterrier_cwla.rendering.figures import COLOURS, GREY, axes_of, inline_svg, page_colours, titled

TABLES = Path(__file__).parent / "benchmark_tables.md"
#: What the workloads are, for the titles of the panels.
WORKLOADS = {
    "S": "S: 1 run of 50 queries, 50,000 rows",
    "M": "M: 1 run of 6,980 queries, 6,980,000 rows",
    "L": "L: 100 runs of 50 queries, 5,000,000 rows",
}
_OURS = "pyterrier_cwla"
_UNITS = {"ms": 1e-3, "s": 1.0}


def times(workload: str) -> dict[str, tuple[float, str]]:
    """Return the median seconds of each package for six measures, with a label, the fastest first."""
    medians = {}
    for cells in table(f"{workload}, six measures"):
        ours = cells["who"] == "ours"
        label = cells["median"] if ours else f"{cells['median']} ({cells['times ours']} times)"
        medians[_OURS if ours else cells["who"]] = (_seconds(cells["median"]), label)
    return dict(sorted(medians.items(), key=lambda one: one[1][0]))


def ratios() -> dict[str, tuple[float, float]]:
    """Return the lowest and the highest ratio of our time to that of its peer for each entry, the lowest first."""
    found = {}
    for cells in table("Where the time goes"):
        numbers = [float(number) for number in cells["our time / its time"].split(" to ")]
        entry = f"{cells['entry']}\nbeside {cells['beside']}".replace("`", "")
        found[entry] = (numbers[0], numbers[-1])
    return dict(sorted(found.items(), key=lambda one: one[1]))


def table(title: str) -> list[dict[str, str]]:
    """Return the rows of the table in a section, as dicts."""
    text = TABLES.read_text(encoding="utf-8")
    found = re.search(rf"^#+ {title}\n(.*?)(?=^#)", text, re.M | re.S)
    if found is None:
        raise ValueError(f"{TABLES.name} has no section {title!r}.")
    head, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines() if line[:1] == "|"
    )
    return [dict(zip(head, row, strict=True)) for row in rows]


def charts() -> dict[str, str]:
    """Return the pictures as elements of pages, by name."""
    return {"benchmarks": chart(), "entries": chart_of_entries()}


def chart_of_entries() -> str:
    """Return the picture of the time of each entry, relative to its peer."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    found = ratios()
    with page_colours():
        figure, ax = pyplot.subplots(figsize=(5.8, 0.36 * len(found)), layout="constrained")
        axes_of(ax)
        for place, (low, high) in enumerate(found.values()):
            ax.plot([low, high], [place, place], "o-", color=COLOURS[0], markersize=8, linewidth=4)
            end, apart, side = (low, -8, "right") if high < 1 else (high, 8, "left")  # away from the line at 1
            label: Any = {"xytext": (apart, 0), "textcoords": "offset points", "va": "center", "ha": side}
            ax.annotate(_range(low, high), (end, place), fontsize=9, **label)
        ax.axvline(1, color=GREY, linewidth=1, zorder=0)
        lowest, highest = min(low for low, _ in found.values()), max(high for _, high in found.values())
        ax.set(xscale="log", xlim=(0.1 * lowest, 6 * highest), ylim=(len(found) - 0.5, -0.6))
        ax.set_xlabel("our time divided by that of the peer (logarithmic)")
        ax.set_yticks(range(len(found)), list(found), fontsize=8)
        ticks = [tick for tick in (0.1, 1, 10, 100) if 0.1 * lowest <= tick <= 6 * highest]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
        ax.tick_params(axis="y", length=0)
        figure.suptitle("Each entry beside its peer; pyterrier_cwla is faster left of 1", fontsize=11)
        said = "; ".join(f"{name}: {_range(*both)}".replace("\n", " ") for name, both in found.items())
        svg = inline_svg(figure, f"Our time relative to that of the peer. {said}.", "entries")
        pyplot.close(figure)
    return svg


def _range(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def chart() -> str:
    """Return the picture of the times of several packages."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    by_workload = {workload: times(workload) for workload in WORKLOADS}
    with page_colours():
        figure, axes = pyplot.subplots(len(WORKLOADS), 1, figsize=(5.8, 4.6), layout="constrained", sharex=True)
        for ax, (workload, found) in zip(axes, by_workload.items(), strict=True):
            _panel(axes_of(ax), WORKLOADS[workload], found)
        figure.suptitle("Time of six measures; in brackets, relative to pyterrier_cwla", fontsize=11)
        axes[-1].set_xlabel("median time from tables in memory to means (logarithmic)")
        said = "; ".join(f"{workload}: {_said(found)}" for workload, found in by_workload.items())
        svg = inline_svg(figure, f"Median times of six measures. {said}.", "benchmarks")
        pyplot.close(figure)
    return svg


def _panel(ax: Any, title: str, found: dict[str, tuple[float, str]]) -> None:
    ours = found[_OURS][0]
    for place, (name, (time, text)) in enumerate(found.items()):
        colour = COLOURS[0] if name == _OURS else GREY
        ax.plot([ours, time], [place, place], color=GREY, linewidth=1)
        ax.plot([time], [place], "o", color=colour, markersize=8)
        ax.annotate(text, (time, place), xytext=(8, 0), textcoords="offset points", va="center", fontsize=9)
    ax.set(xscale="log", xlim=(0.01, 600), ylim=(len(found) - 0.5, -0.6))
    ax.set_yticks(range(len(found)), list(found))
    ax.set_xticks([0.01, 0.1, 1, 10, 100], ["10 ms", "100 ms", "1 s", "10 s", "100 s"])
    ax.minorticks_off()
    ax.tick_params(axis="y", length=0)
    titled(ax, title)


def _seconds(text: str) -> float:
    number, unit = text.split()
    return float(number.replace(",", "")) * _UNITS[unit]


def _said(found: dict[str, tuple[float, str]]) -> str:
    return ", ".join(f"{name} {text}" for name, (_, text) in found.items())

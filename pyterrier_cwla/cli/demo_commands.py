"""Command ``demo`` and its table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import errors
from ..rendering.notes import busy, warnings_as_sentences
from .arguments import Force, LengthsFile, WhereMissing, command, judgments_of, lengths_from, runs_by_name
from .parameters import Parameter, Parameters
from .paths import check_outputs

if TYPE_CHECKING:
    from rich.text import Text

    from ..demo.demonstration import Demonstration
    from ..evaluation.comparison import Comparison
    from ..rendering.tables import TableCell

_FEW = 12  # runs; tables of more runs show significance marks without p-values


@command()
def demo(
    *,
    generated: Annotated[dict[str, Any], Parameters("demo.collection", "documents topics seed")],
    runs: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Compare the runs in this folder instead of generated ones.")
    ] = None,
    qrels: Annotated[Path | None, typer.Option(metavar="FILE", help="The judgments for --runs.")] = None,
    lengths: LengthsFile = None,
    missing: WhereMissing = None,
    baseline: Annotated[str | None, Parameter("demo.demonstrate", "baseline", metavar="NAME")],
    save: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the generated judgments, runs and lengths to files in this folder."),
    ] = None,
    force: Force = False,
) -> None:
    """Compare three systems on a generated collection, or your own runs, by nine measures.

    Examples: pyterrier-cwla demo --save files; pyterrier-cwla demo --runs runs/ --qrels qrels.txt --lengths words.tsv
    """
    if (runs is None) != (qrels is None):
        raise errors.BadParameter("--runs DIR and --qrels FILE go together.")
    if runs is None and (lengths or missing):
        raise errors.BadParameter("--lengths and --missing go with --runs DIR and --qrels FILE.")
    if runs is not None and save is not None:
        raise errors.BadParameter("--save DIR writes a generated collection: leave out --runs and --qrels.")
    doing = "Generating, indexing, retrieving and scoring …" if runs is None else "Reading and scoring …"
    with busy(doing), warnings_as_sentences() as warned:
        if runs is None or qrels is None:
            found, about = _on_generated(generated, baseline, save, force)
        else:
            found, about = _on_files(runs, qrels, lengths, missing, baseline)
    _print(found.comparison, [about, *warned, *found.notes])


def _on_generated(
    generated: dict[str, int], baseline: str | None, folder: Path | None, force: bool
) -> tuple[Demonstration, str]:
    from ..demo import collection, demonstrate, save, systems
    from ..demo.generated_data import paths_of

    made = collection(**generated)
    runs = {name: retrieve(made.topics) for name, retrieve in systems(made).items()}
    about = (
        f"{errors.many(generated['topics'], 'topic')}, {errors.many(generated['documents'], 'generated document')}"
        f" (seed {generated['seed']})."
    )
    if folder is not None:
        check_outputs([("--save", path) for path in paths_of(folder, runs).values()], [], force)
        save(made, runs, folder)
        about += f" Files: {folder}."
    return demonstrate(made.qrels, runs, baseline=baseline), about


def _on_files(
    directory: Path, qrels: Path, lengths: Path | None, missing: str | None, baseline: str | None
) -> tuple[Demonstration, str]:
    from ..demo import demonstrate
    from ..files.run_files import sources
    from .score_tables import beginning

    files, judgments = runs_by_name([directory]), judgments_of(qrels)
    table = None if lengths is None else lengths_from(lengths)
    timed = table is not None or all(
        "doc_length" in beginning(source, ["doc_length"]).column_names for source in sources(files)
    )
    about = f"{errors.many(len(judgments.qids), 'topic')}, {errors.many(len(files), 'run')} from {directory}."
    if not timed:
        about += " Time-biased gain needs the lengths of documents: --lengths FILE."
    with errors.speaking_of(qrels, None):
        found = demonstrate(judgments, files, lengths=table, missing=missing or "error", timed=timed, baseline=baseline)
    return found, about


def _print(found: Comparison, notes: Sequence[str]) -> None:
    """Print the scores by all measures, with p-values below them for up to 12 runs.

    Names of systems are broken between words, and measures are divided among several tables, if the screen is narrow.
    """
    from rich.text import Text

    from ..evaluation.comparison import BOLD
    from ..rendering.terminal import column_head, in_blocks, plain_table, prose, screen

    console, cells = screen(), found.cells(None)
    gap = 2 if console.width >= 100 else 1
    with_p = 1 < len(found.runs) <= _FEW
    heads = {measure: measure.replace(" + ", "\n+ ").split("\n") for measure in found.measures}
    p = found.table.set_index(["run", "measure"])["p_t_corrected"] if with_p else {}
    texts = {place: _text(cell, p.get(place, math.nan)) for place, cell in cells.items()}
    widths = [
        max(map(len, [*head, *(line for run in found.runs for line in texts[run, measure].plain.split("\n"))])) + gap
        for measure, head in heads.items()
    ]
    words = [len(word) for run in found.runs for word in str(run).split()]
    least = min(max(8, *words), console.width // 2)
    if least + sum(widths) > console.width:
        least = min(max(map(len, map(str, found.runs))), console.width // 2)
    for number, block in enumerate(in_blocks(widths, console.width - least)):
        if number:
            console.print()
        shown = found.measures[block]
        height = max(len(heads[measure]) for measure in shown)
        table = plain_table(gap=gap)
        table.add_column(column_head(["system"], height), overflow="fold", min_width=least)
        for measure in shown:
            table.add_column(column_head(heads[measure], height), justify="right", no_wrap=True)
        for run in found.runs:
            tag = "\nbaseline" if with_p and run == found.about["baseline"] else ""
            table.add_row(Text.assemble(run, (tag, "dim")), *(texts[run, measure] for measure in shown))
        console.print(table)
    console.print()
    for line in notes:
        if line != BOLD or console.color_system is not None:  # files and pipes have no bold type
            prose(console, line, "")


def _text(cell: TableCell, p: float) -> Text:
    from rich.text import Text

    from ..rendering.tables import MARKS, probability

    text = Text.assemble(MARKS[cell.mark], (cell.text, "bold" if cell.bold else ""))
    if not math.isnan(p):
        text.append(f"\np {probability(p)}".replace(" <", "<").replace("1.000", "1"), "dim")
    return text

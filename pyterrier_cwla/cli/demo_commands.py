"""Command ``demo`` and its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from .. import errors
from ..rendering.notes import busy, warnings_as_sentences
from .arguments import WhereMissing, command, judgments_of, lengths_from, runs_by_name
from .parameters import Parameter, Parameters
from .paths import check_outputs

if TYPE_CHECKING:
    from ..demo.demonstration import Demonstration
    from ..evaluation.comparison import Comparison

_FEW = 12  # runs; tables of more runs show significance marks without p-values


@command()
def demo(
    *,
    generated: Annotated[dict[str, Any], Parameters("demo.collection", "documents topics seed")],
    runs: Path | None = None,
    qrels: Path | None = None,
    lengths: Path | None = None,
    missing: WhereMissing = None,
    baseline: Annotated[str | None, Parameter("demo.demonstrate", "baseline")],
    save: Path | None = None,
    force: bool = False,
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
    table = lengths_from(lengths)
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
    """Print the scores by all measures, with p-values below them for up to 12 runs."""
    from ..evaluation.comparison import BOLD
    from ..rendering.numbers import p_value
    from ..rendering.tables import Table, TableCell, TableColumn
    from ..rendering.terminal import prose, screen

    console, cells = screen(), found.cells(None)
    columns = [TableColumn("system", "", "name")]
    columns += [TableColumn(measure.replace(" + ", "\n+ "), measure) for measure in found.measures]
    with_p = 1 < len(found.runs) <= _FEW
    if with_p:
        p = found.table.set_index(["run", "measure"])["p_t_corrected"].dropna()
        for place, value in p.items():
            cells[place] = replace(cells[place], below=p_value(value, "p").replace(" ", "").replace("1.000", "1"))
    rows = []
    for run in found.runs:
        tag = "baseline" if with_p and run == found.about["baseline"] else ""
        rows.append(
            {"": TableCell(str(run), below=tag), **{measure: cells[run, measure] for measure in found.measures}}
        )
    console.print(Table(columns=columns, rows={"": rows}, narrowest=8))
    console.print()
    for line in notes:
        if line != BOLD or console.color_system is not None:  # files and pipes have no bold type
            prose(console, line, "")

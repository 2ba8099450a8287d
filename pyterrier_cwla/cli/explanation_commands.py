"""Commands ``explain`` and ``measures``."""

from __future__ import annotations

import json
from contextlib import nullcontext, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import errors
from ..errors.extras import needed
from ..files.atomic import written
from ..rendering.terminal import warnings_as_sentences
from .arguments import (
    BoundMeasures,
    Force,
    LengthsFile,
    Missing,
    Qrels,
    SecondsFile,
    WhereMissing,
    about_grades,
    app,
    judgments_of,
)
from .chosen_run import RunName, names_of_runs, read_one_run
from .input_paths import resolved
from .outputs import check_outputs

if TYPE_CHECKING:
    import pyarrow as pa
    from ir_measures.measures import Measure

    from ..data.alignment import Judgments
    from ..evaluation.explained_pair import ExplainedPair
    from ..evaluation.explanation import Explanation
    from ..measures.reference import Entry

_DEPTH = 20  # ranks of a table
Other = Annotated[
    Path | None,
    typer.Argument(metavar="OTHER", help="A second run, to set beside it.", show_default=False, callback=resolved),
]
Depth = Annotated[
    int | None,
    typer.Option(
        "--depth",
        min=1,
        metavar="N",
        help="Number of ranks to show; by default 20, and in the picture those that 1 % of the users see.",
    ),
]
PlotFile = Annotated[
    Path | None,
    typer.Option(
        "--plot", metavar="FILE", help="Draw the explanation as an .svg, .png or .pdf file; needs matplotlib."
    ),
]


class Listing(StrEnum):
    """Output format of a listing."""

    table = "table"
    jsonl = "jsonl"


@app.command()
def explain(
    qrels: Qrels,
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A run in one of the same formats.", show_default=False, callback=resolved),
    ],
    query: Annotated[str, typer.Option("--query", "-q", metavar="ID", help="Query id.", show_default=False)],
    measure: Annotated[
        str, typer.Option("--measure", "-m", metavar="MEASURE", help="Measure to explain.", show_default=False)
    ],
    other: Other = None,
    run_name: RunName = None,
    lengths: LengthsFile = None,
    seconds: SecondsFile = None,
    missing: WhereMissing = None,
    depth: Depth = None,
    plot: PlotFile = None,
    force: Force = False,
) -> None:
    """Explain a score rank by rank, or the scores of two runs side by side.

    Example: pyterrier-cwla explain qrels.txt bm25.txt -q 301 -m "CWLA(C='inst(1)',A='erg',max_rel=3)"
    """
    from ..evaluation.explained_mixture import ExplainedMixture
    from ..evaluation.explained_pair import ExplainedPair
    from .explanation_tables import print_explanation, print_mixture, print_pair

    if plot is not None and plot.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise errors.BadParameter(f"--plot {plot}: the file's name must end in .svg, .png or .pdf.")
    paths = [run] if other is None else [run, other]
    bound = BoundMeasures.of_one([measure], lengths, missing, seconds)
    _check_mixture(bound.measures[0], other, plot)
    check_outputs([("--plot", plot)], [qrels, *paths, lengths, seconds, *bound.files], force)
    judgments = judgments_of(qrels)
    whole = missing is Missing.mean and None in (lengths, seconds)  # the mean is that of the whole run
    names = names_of_runs(paths, run_name)
    with warnings_as_sentences() as warned:
        found = [_explained(qrels, judgments, path, run_name, query, bound.measures[0], whole) for path in paths]
    notes = [*warned, *bound.notes, *about_grades(qrels, judgments)]
    title = f"{bound.wanted[0]} of query {query} in {names[0]}: {found[0].score:.4f}"
    if isinstance(found[0], ExplainedMixture):
        print_mixture(found[0], title, depth or _DEPTH, notes)
        return
    pair = None if other is None else ExplainedPair(dict(zip(names, found, strict=True)))
    if plot is not None:  # before the table: its reader may close the pipe
        _draw(pair or found[0], plot, depth)
    if pair is not None:
        print_pair(pair, f"{bound.wanted[0]} of query {query}", depth or _DEPTH, notes)
    else:
        print_explanation(found[0], title, depth or _DEPTH, notes)


def _check_mixture(measure: Measure, other: Path | None, plot: Path | None) -> None:
    """Raise BadParameter if a mixture or an intent-aware measure is to be drawn or explained for two runs."""
    if measure.NAME in ("Mixture", "IntentAware") and (other is not None or plot is not None):
        what = "two runs side by side need" if other is not None else "--plot needs"
        raise errors.BadParameter(f"{measure}: {what} a measure of one class of users; give that of one class.")


def _explained(
    qrels: Path, judgments: Judgments, path: Path, run_name: str | None, query: str, measure: Measure, whole: bool
) -> Any:
    """Explain one run; ``whole``: with all its queries, since the measure reads more than the one."""
    import pyarrow.compute as pc

    from ..evaluation.run_explanation import explain_one

    table = read_one_run(path, run_name)
    _check_common_query(table, path, judgments, qrels)
    one_query = table.filter(pc.equal(table["query_id"], query))
    if query not in judgments.index:
        hint = errors.near(query, judgments.qids)
        hint = hint if hint.startswith("Near") else f"It has {errors.some(judgments.qids)}."
        raise errors.BadParameter(f"{qrels}: no query {query!r}. {hint}")
    if not one_query.num_rows:
        raise errors.BadParameter(f"{path}: no documents for query {query!r}.")
    with errors.speaking_of(qrels, path):
        return explain_one(judgments, table if whole else one_query, query, measure)


def _check_common_query(table: pa.Table, run: Path, judgments: Judgments, qrels: Path) -> None:
    """Raise BadRun if the run contains none of the judged queries."""
    found = table["query_id"].unique().to_pylist()
    if not any(query in judgments.index for query in found):
        raise errors.BadRun(
            f"{run}: no query in common with {qrels}: the run has {errors.some(found)}, the judgments"
            f" {errors.some(judgments.qids)}."
        )


def _draw(explained: Explanation | ExplainedPair, path: Path, depth: int | None) -> None:
    with needed("--plot needs matplotlib", extra="plots"):
        import matplotlib

    matplotlib.use("Agg")
    with written(path) as place:
        figure: Any = explained.plot(depth=depth).figure
        figure.savefig(place, bbox_inches="tight")


@app.command()
def measures(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]", help="Describe these measures or functions; C, A, gain, effort … list all of that kind."
        ),
    ] = None,
    form: Annotated[Listing, typer.Option("--format", help="A table, or one line of JSON per entry.")] = Listing.table,
) -> None:
    """List the measures, and the functions that new measures are composed of.

    Example: pyterrier-cwla measures TBG
    """
    from ..measures import reference
    from .reference_tables import print_entry, print_listing, print_overview

    chosen = [_of_name(name) for name in names or ()]
    if form is Listing.jsonl:
        everything = [entry for pair in chosen for found in pair for entry in found]
        for entry in everything or reference.entries():
            print(json.dumps(entry.record(), ensure_ascii=False))
    elif not chosen:
        print_overview(reference.entries())
    for number, (listed, described) in enumerate(chosen if form is Listing.table else ()):
        if number:
            print()
        print_listing(listed)
        for place, entry in enumerate(described):
            if place:
                print()
            print_entry(entry)


def _of_name(name: str) -> tuple[list[Entry], list[Entry]]:
    """Return the entries of the kind with this name, and those with the name itself; ``effort`` is both."""
    from ..measures import reference

    listed = reference.of_kind(name)
    with nullcontext() if not listed else suppress(errors.UnknownSpec):
        return listed, reference.find(name)
    return listed, []

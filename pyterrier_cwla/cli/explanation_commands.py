"""Commands ``explain``, ``measures`` and ``explore``."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import errors
from ..errors import MalformedFile
from ..errors.extras import needed
from ..files.atomic import written
from ..rendering.notes import note, warnings_as_sentences
from .arguments import (
    MeasureOptions,
    WhereMissing,
    about_grades,
    command,
    judgments_of,
    lengths_from,
    names_of_runs,
    read_one_run,
)
from .paths import check_exists, check_outputs

if TYPE_CHECKING:
    import pyarrow as pa
    from ir_measures.measures import Measure

    from ..data.alignment import Judgments
    from ..evaluation.explanation import ExplainedPair, Explanation
    from ..measures.entries import Entry

_DEPTH = 20  # ranks of a table
Listing = StrEnum("Listing", ["table", "jsonl"])
"""Output format of a listing."""


@command()
def explain(
    qrels: Path,
    run: Path,
    other: Path | None = None,
    *,
    query: str,
    measure: str,
    run_name: str | None = None,
    split: str | None = None,
    given: MeasureOptions,
    depth: int | None = None,
    plot: Path | None = None,
    force: bool = False,
) -> None:
    """Explain a score rank by rank, or the scores of two runs side by side.

    Example: pyterrier-cwla explain qrels.txt bm25.txt -q 301 -m "CWLA(C='inst(1)',A='erg',max_rel=3)"
    """
    from ..evaluation.explanation import ExplainedPair, by_part
    from ..rendering.numbers import fixed_point
    from ..rendering.terminal import prose, screen

    if plot is not None and plot.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise errors.BadParameter(f"--plot {plot}: the file's name must end in .svg, .png or .pdf.")
    paths = [run] if other is None else [run, other]
    bound = given.bind_one([measure])
    if by_part(bound.measures[0]).NAME in ("Mixture", "IntentAware") and (other is not None or plot is not None):
        what = "two runs side by side need" if other is not None else "--plot needs"
        raise errors.BadParameter(
            f"{bound.measures[0]}: {what} a measure of one class of users; give that of one class."
        )
    check_outputs([("--plot", plot)], [qrels, *paths, *given.files, *bound.files], force)
    judgments = judgments_of(qrels, split)
    whole = given.missing == "mean" and None in given.files  # the mean is that of the whole run
    names = names_of_runs(paths, run_name)
    with warnings_as_sentences() as warned:
        each = [
            _explained(qrels, judgments, path, read_one_run(path, run_name, split), query, bound.measures[0], whole)
            for path in paths
        ]
    notes = [*warned, *bound.notes, *about_grades(qrels, judgments)]
    title = f"{bound.wanted[0]} of topic {query}"
    if other is None:
        found, title = each[0], f"{title} in {names[0]}: {fixed_point(each[0].score)}"
    else:
        found = ExplainedPair(dict(zip(names, each, strict=True)))
    if plot is not None:  # before the table: its reader may close the pipe
        _draw(found, plot, depth)
    console = screen()
    console.print(title, style="bold")
    if other is not None:
        console.print()
        for sentence in found.sentences:
            prose(console, sentence, style="")
    for table in found.tables(depth or _DEPTH, notes):
        console.print()
        console.print(table)


def _explained(
    qrels: Path, judgments: Judgments, path: Path, table: pa.Table, query: str, measure: Measure, whole: bool
) -> Any:
    """Explain one run; ``whole``: with all its queries, since the measure reads more than the one."""
    import pyarrow.compute as pc

    from ..evaluation.explanation import explain_one

    found = table["query_id"].unique().to_pylist()
    if not any(found_query in judgments.index for found_query in found):
        raise errors.BadRun(
            f"{path}: no query in common with {qrels}: the run has {errors.some(found)}, the judgments"
            f" {errors.some(judgments.qids)}."
        )
    one_query = table.filter(pc.equal(table["query_id"], query))
    if query not in judgments.index:
        hint = errors.near(query, judgments.qids)
        hint = hint if hint.startswith("Near") else f"It has {errors.some(judgments.qids)}."
        raise errors.BadParameter(f"{qrels}: no query {query!r}. {hint}")
    if not one_query.num_rows:
        raise errors.BadParameter(f"{path}: no documents for query {query!r}.")
    with errors.speaking_of(qrels, path):
        return explain_one(judgments, table if whole else one_query, query, measure)


def _draw(explained: Explanation | ExplainedPair, path: Path, depth: int | None) -> None:
    with needed("--plot needs matplotlib", extra="plots"):
        import matplotlib

    matplotlib.use("Agg")
    with written(path) as place:
        figure: Any = explained.plot(depth=depth).figure
        figure.savefig(place, bbox_inches="tight")


@command()
def measures(
    names: list[str] | None = None,
    form: Listing = Listing.table,
) -> None:
    """List the measures, and the functions that new measures are composed of.

    Example: pyterrier-cwla measures TBG
    """
    from ..measures import reference
    from ..measures.entries import print_entry
    from ..rendering.terminal import readable_screen
    from .measure_listing import print_listing, print_mentioned, print_overview

    chosen = [(name, *_of_name(name)) for name in names or ()]
    if form is Listing.jsonl:
        everything = [entry for _, listed, described in chosen for entry in (*listed, *described)]
        for entry in everything or reference.entries():
            print(json.dumps(entry.record(), ensure_ascii=False))
        return
    if not chosen:
        print_overview(reference.entries())
    for number, (name, listed, described) in enumerate(chosen):
        if number:
            print()
        print_listing(listed)
        for place, entry in enumerate(described):
            if place:
                print()
            print_entry(entry, readable_screen())
        if described and not listed and len(name) >= reference.PART_OF_WORD:
            print_mentioned(name, [entry for entry in reference.mentioning(name) if entry not in described])


def _of_name(name: str) -> tuple[list[Entry], list[Entry]]:
    """Return the entries to list and those to describe: of the kind with this name, and with the name itself.

    ``effort`` is both. If there are none, entries with the name in their description are listed.
    """
    from ..measures import reference

    listed = reference.of_kind(name)
    try:
        return listed, reference.find(name)
    except errors.UnknownSpec:
        listed = listed or reference.mentioning(name)
        if not listed:
            raise
        return listed, []


def texts_of(path: Path) -> dict[str, str]:
    """Return texts by document id; empty cells are empty texts.

    Parameters
    ----------
    path : Path
        CSV or TSV file with a header, Parquet file, or JSON lines (".jsonl"), with ids of documents and ``text``.
        Text files may be packed with gzip or zstd.

    Raises
    ------
    MalformedFile
        If the file cannot be read or has no such columns, or if two rows give different texts to one document.
    """
    from ..behaviour.logs.log import read
    from ..files.table_readers import IDS

    check_exists(path)
    columns, place = _json_lines(str(path)) if ".jsonl" in path.suffixes else read(str(path))[:2]
    ids = next((name for name in IDS if name in columns), None)
    if ids is None or "text" not in columns:
        raise MalformedFile(
            f"{path}: needs the columns docno and text, and has {', '.join(map(str, columns)) or 'none'}."
        )
    texts: dict[str, str] = {}
    for row, (doc_id, cell) in enumerate(zip(columns[ids], columns["text"], strict=True)):
        text = "" if cell is None or cell != cell else cell  # pandas has NaN for empty cells
        if not isinstance(doc_id, str | int) or not isinstance(text, str) or doc_id == "":
            raise MalformedFile(f"{place(row)}: needs a document id and a text, and has {doc_id!r} and {text!r:.80}.")
        if texts.setdefault(str(doc_id), text) != text:
            raise MalformedFile(f"{place(row)}: another text of document {str(doc_id)!r}. Give each document one text.")
    return texts


def _json_lines(path: str) -> tuple[Mapping[str, Sequence[Any]], Callable[[int], str]]:
    """Return the members of the objects of all lines as columns, and the place of each row."""
    from ..files.formats import text_of
    from ..files.run_files import opened

    rows, numbers = [], []
    with opened(path):
        lines = text_of(path).split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise MalformedFile(f"{path}:{number}: not a JSON object ({error}).") from error
        if not isinstance(row, dict):
            raise MalformedFile(f"{path}:{number}: not a JSON object.")
        rows.append(row)
        numbers.append(number)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}, lambda row: f"{path}:{numbers[row]}"


@command()
def explore(
    qrels: Path,
    run: Path,
    other: Path | None = None,
    measure: str | None = None,
    query: str | None = None,
    run_name: str | None = None,
    split: str | None = None,
    lengths: Path | None = None,
    costs: Path | None = None,
    missing: WhereMissing = None,
    texts: Path | None = None,
    port: int = 0,
    no_browser: bool = False,
) -> None:
    """Explore the users of a metric on your runs, in the browser.

    Example: pyterrier-cwla explore qrels.txt bm25.txt neural.txt --lengths doclens.tsv
    """
    from ..explorer import Exploration, ExplorerServer
    from ..measures.named import measure_of

    paths = [run] if other is None else [run, other]
    names = names_of_runs(paths, run_name)
    judgments = judgments_of(qrels, split)
    with warnings_as_sentences() as warned, errors.speaking_of(qrels, *paths[:1]):
        exploration = Exploration(
            judgments,
            {name: read_one_run(path, run_name, split) for name, path in zip(names, paths, strict=True)},
            measure=None if measure is None else measure_of(measure),
            lengths=lengths_from(lengths),
            costs=lengths_from(costs, "Costs"),
            texts=None if texts is None else texts_of(texts),
            topic=query,
            missing=missing or "error",
        )
        exploration.start()  # raises errors before the browser opens
    for line in [*warned, *about_grades(qrels, judgments)]:
        note(line)
    with ExplorerServer(exploration, port) as server:
        print(f"The explorer is at {server.address}")
        print("Only this machine can open it, and only with this address. Stop it with Ctrl-C.")
        sys.stdout.flush()
        if not no_browser:  # in a thread, since some browsers return when they are closed
            threading.Thread(target=_open, args=[server.address], daemon=True).start()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("Stopped.")


def _open(address: str) -> None:
    import webbrowser

    if not webbrowser.open(address):
        note("No browser could be opened: open the address yourself.")

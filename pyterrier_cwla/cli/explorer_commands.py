"""Command ``explore``."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Annotated

import typer

from .. import errors
from ..rendering.terminal import note, warnings_as_sentences
from .arguments import LengthsFile, Qrels, about_grades, app, judgments_of, lengths_from
from .chosen_run import RunName, names_of_runs, read_one_run
from .explanation_commands import Other
from .input_paths import resolved


@app.command()
def explore(
    qrels: Qrels,
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A run in one of the same formats.", show_default=False, callback=resolved),
    ],
    other: Other = None,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure", "-m", metavar="MEASURE", help="Measure to begin with; by default RBP with graded gains."
        ),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option("--query", "-q", metavar="ID", help="Topic to begin with; by default the first of the judgments."),
    ] = None,
    run_name: RunName = None,
    lengths: LengthsFile = None,
    texts: Annotated[
        Path | None,
        typer.Option(
            "--texts",
            metavar="FILE",
            help="Texts of documents: CSV, TSV, Parquet or JSON lines (.jsonl) with docno and text.",
            callback=resolved,
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option("--port", metavar="N", min=0, max=65535, help="Port; by default a free one.", show_default=False),
    ] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address without opening it.")] = False,
) -> None:
    """Explore the users of a metric on your runs, in the browser.

    Example: pyterrier-cwla explore qrels.txt bm25.txt neural.txt --lengths doclens.tsv
    """
    from ..explorer import Exploration, ExplorerServer
    from ..measures.parsing import measures_of
    from .document_texts import texts_of

    paths = [run] if other is None else [run, other]
    names = names_of_runs(paths, run_name)
    judgments = judgments_of(qrels)
    with warnings_as_sentences() as warned, errors.speaking_of(qrels, *paths[:1]):
        exploration = Exploration(
            judgments,
            {name: read_one_run(path, run_name) for name, path in zip(names, paths, strict=True)},
            measure=None if measure is None else measures_of([measure])[0],
            lengths=None if lengths is None else lengths_from(lengths),
            texts=None if texts is None else texts_of(texts),
            topic=query,
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

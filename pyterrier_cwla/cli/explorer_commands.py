"""Command ``explore``."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import errors
from ..rendering.terminal import note, warnings_as_sentences
from .arguments import LengthsFile, Qrels, app, judgments_of, lengths_from
from .chosen_run import RunName, names_of_runs, read_one_run
from .explanation_commands import Other
from .input_paths import check_exists, resolved

if TYPE_CHECKING:
    import pandas as pd

_READERS = {".csv": ",", ".tsv": "\t"}


@app.command()
def explore(
    qrels: Qrels,
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A run in one of the same formats.", show_default=False, callback=resolved),
    ],
    other: Other = None,
    measure: Annotated[
        str | None, typer.Option("--measure", "-m", metavar="MEASURE", help="Measure to begin with; by default RBP.")
    ] = None,
    query: Annotated[
        str | None, typer.Option("--query", "-q", metavar="ID", help="Topic to begin with; by default the first.")
    ] = None,
    run_name: RunName = None,
    lengths: LengthsFile = None,
    texts: Annotated[
        Path | None,
        typer.Option(
            "--texts",
            metavar="FILE",
            help="Texts of documents: .csv, .tsv, .jsonl or .parquet with docno and text.",
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

    paths = [run] if other is None else [run, other]
    names = names_of_runs(paths, run_name)
    judgments = judgments_of(qrels)
    with warnings_as_sentences() as warned, errors.speaking_of(qrels, *paths[:1]):
        exploration = Exploration(
            judgments,
            {name: read_one_run(path, run_name) for name, path in zip(names, paths, strict=True)},
            measure=None if measure is None else measures_of([measure])[0],
            lengths=None if lengths is None else lengths_from(lengths),
            texts=None if texts is None else _texts_of(texts),
            topic=query,
        )
        exploration.start()  # raises errors before the browser opens
    for line in warned:
        note(line)
    with ExplorerServer(exploration, port) as server:
        print(f"The explorer is at {server.address}")
        print("Only this machine can open it, and only with this address. Stop it with Ctrl-C.")
        sys.stdout.flush()
        if not no_browser:
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("Stopped.")


def _texts_of(path: Path) -> pd.DataFrame:
    """Read texts of documents.

    Raises
    ------
    MalformedFile
        If the file cannot be read, or has no columns docno and text.
    """
    import pandas as pd

    check_exists(path)
    kind = path.suffix.lower()
    try:
        if kind in _READERS:
            table = pd.read_csv(path, sep=_READERS[kind], dtype=str, keep_default_na=False)
        elif kind == ".jsonl":
            table = pd.read_json(path, lines=True, dtype=False)
        elif kind == ".parquet":
            table = pd.read_parquet(path)
        else:
            raise errors.BadParameter(f"--texts {path}: the file's name must end in .csv, .tsv, .jsonl or .parquet.")
    except (ValueError, OSError) as error:
        raise errors.MalformedFile(f"{path}: cannot be read as texts of documents ({error}).") from None
    if not {"docno", "doc_id"} & set(table.columns) or "text" not in table:
        found = ", ".join(map(str, table.columns))
        raise errors.MalformedFile(f"{path}: needs the columns docno and text, and has {found}.")
    return table

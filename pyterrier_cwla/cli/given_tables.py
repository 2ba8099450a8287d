"""Tables of ratings and of sessions that commands read, and the options for sessions."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .input_paths import check_exists

if TYPE_CHECKING:
    import pandas as pd

SESSIONS_HELP = "Queries of the sessions{}, with columns session, query_id, order."
JudgedBy = Annotated[
    str, typer.Option(metavar="COLUMN", help="Column of --sessions with the query ids of the judgments.")
]
_IDS = ["query_id", "qid", "session", "user", "topic", "first", "second"]


def cells(path: Path) -> pd.DataFrame:
    """Read a table; columns of numbers are converted, except ids."""
    import pandas as pd

    from ..behaviour.logs.log import read

    check_exists(path)
    table = read(str(path))[0]
    for name in table.columns.difference(_IDS):
        with suppress(ValueError, TypeError):
            table[name] = pd.to_numeric(table[name])
    return table

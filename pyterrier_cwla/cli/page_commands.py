"""Command ``pages``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .arguments import Force, app
from .input_paths import check_exists, resolved
from .outputs import check_outputs

Page = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        help="A run of cwl_eval: a TREC file whose second field is the type of each element.",
        show_default=False,
        callback=resolved,
    ),
]
Costs = Annotated[
    Path,
    typer.Argument(
        metavar="COSTS",
        help="The cost of each type, in lines of type and cost.",
        show_default=False,
        callback=resolved,
    ),
]
Parquet = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="Output file, a Parquet run.", show_default=False)
]


@app.command()
def pages(run: Page, costs: Costs, output: Parquet, force: Force = False) -> None:
    """Write a run of typed elements, as cwl_eval reads it, with the cost of each element.

    Example: pyterrier-cwla pages run.txt costs.txt -o pages.parquet
    """
    from ..data.result_pages import read_element_costs, read_result_pages, with_element_costs
    from ..errors import speaking_of
    from ..files.atomic import written

    check_outputs([("-o", output)], [run, costs], force)
    for path in (run, costs):
        check_exists(path)
    known = read_element_costs(costs)
    with speaking_of(None, run):
        rows = with_element_costs(read_result_pages(run), known)
    with written(output) as place:
        rows.drop(columns="element").to_parquet(place, index=False)

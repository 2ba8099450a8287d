"""Many measures of many runs in one call, as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import ir_measures
import pandas as pd
from ir_measures.measures import Measure

from .errors import CWLAError, UnknownSpec, near
from .provider import CWLAProvider, prepare


def measures_of(texts: Iterable[Any]) -> list[Measure]:
    """Measures from text or objects; an unknown name is an error with its near matches."""
    return [text if isinstance(text, Measure) else _parsed(str(text)) for text in texts]


def _parsed(text: str) -> Measure:
    try:
        return ir_measures.parse_measure(text)
    except NameError:
        name = text.split("(")[0].split("@")[0].strip()
        known = near(name, ir_measures.measures.registry)
        raise UnknownSpec(f"no measure {name!r}. {known} `pyterrier-cwla measures` lists all.") from None
    except CWLAError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UnknownSpec(f"cannot read the measure {text!r}: write Name(parameter=value)@cutoff.") from error


def evaluate(
    qrels: Any, runs: Any, measures: Iterable[Any], by_query: bool = False, check: bool = False
) -> pd.DataFrame:
    """Evaluates runs: one row a run (or, ``by_query``, a run and query), one column a measure.

    ``runs``: a run, or a dict of runs by name. Runs and ``qrels`` are DataFrames, polars or Arrow tables, dicts of
    dicts, iterables of ir_measures' named tuples, or paths of files. ``check=True`` looks for documents that are
    retrieved twice even where they are not relevant and the frame is large.

    >>> qrels = {"q": {"a": 1, "b": 0, "c": 1}}
    >>> evaluate(qrels, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, ["AP", "CWLA(C='rbp(0.5)',A='erg',max_rel=1)"])
             AP  CWLA(C='rbp(0.5)',A='erg',max_rel=1)
    run
    run  0.8333                                 0.625
    """
    wanted = measures_of(measures)
    provider = CWLAProvider()
    for measure in wanted:
        if not provider.supports(measure):
            raise UnknownSpec(f"{measure} is not computed here; ir_measures.calc_aggregate may know a provider for it.")
    judgments = prepare(loaded(qrels, "qrels"))
    evaluator = provider.evaluator(wanted, judgments)
    named = runs if isinstance(runs, Mapping) and not _is_run(runs) else {"run": runs}
    tables = []
    for name, run in named.items():
        run = loaded(run, "run")
        if check:
            judgments.align(run, check=True)
        if by_query:
            table = pd.DataFrame({str(m): v for m, v in evaluator.table(run).items()})
            table.insert(0, "query_id", judgments.qids)
            table.insert(0, "run", name)
        else:
            means = evaluator.calc_aggregate(run)
            table = pd.DataFrame({"run": [name], **{str(m): [means[m]] for m in wanted}})
        tables.append(table)
    return pd.concat(tables, ignore_index=True).set_index(["run", "query_id"] if by_query else "run")


def _is_run(runs: Mapping) -> bool:
    """Whether a dict is a run (scores by document by query) and not runs by name."""
    first = next(iter(runs.values()), None)
    return isinstance(first, Mapping) and not any(isinstance(v, Mapping) for v in first.values())


def loaded(data: Any, what: str) -> Any:
    """A table from a path; anything else as it is."""
    if isinstance(data, str | Path):
        from .files import read_qrels, read_run

        return read_qrels(data) if what == "qrels" else read_run(data)
    return data

"""Commands ``study robustness``, ``next``, ``power``, ``agreement``, ``users`` and ``fit``, and their options."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import errors
from ..rendering.terminal import note, prose, resumable_from, screen
from .arguments import (
    HELP,
    SESSIONS_HELP,
    BoundMeasures,
    Commands,
    JudgedBy,
    LengthsFile,
    Measures,
    Qrels,
    Runs,
    WhereMissing,
    app,
    cells,
    help_without_command,
    judgments_of,
    runs_by_name,
)
from .log_commands import Seed
from .paths import check_exists, check_outside, files_in, resolved

if TYPE_CHECKING:
    from ir_measures.measures import Measure

    from ..studies.report import Study
    from ..studies.users.ratings import Rated

ForceReport = Annotated[
    bool, typer.Option("--force", help="Replace the files of a report in the folder; other files and inputs stay.")
]
Published = StrEnum("Published", ["chiir24", "jiang", "tiangong"])
"""Published studies whose data are available."""
Holes = StrEnum("Holes", ["fractions", "depth", "groups"])
"""Selection of the judgments that are removed."""
Compared = StrEnum("Compared", ["open", "all"])
"""Pairs of runs that the order of documents to judge is for."""
Pool = StrEnum("Pool", ["whole", "judged"])
"""Documents that infAP assumes to be in the pool."""
OnePer = StrEnum("OnePer", ["pair", "user", "label"])
"""Preferences that the labels of pairs are reduced to."""
Coefficient = StrEnum("Coefficient", ["tau_b", "pearson", "spearman", "weighted_pearson", "agreement"])
"""Coefficient of the agreement between measures and ratings."""
Objective = StrEnum(
    "Objective",
    "pearson spearman tau_b nrmse agreement weighted_pearson weighted_spearman weighted_tau_b weighted_nrmse"
    " weighted_agreement",
)
"""Objective of a fit."""
Folder = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="Output folder. Finished work is stored there, and an"
                       " interrupted study resumes from it.", show_default=False),
]  # fmt: skip
Jobs = Annotated[int, typer.Option("--jobs", help="Number of parallel processes; -1 for one per core.")]
Data = Annotated[
    list[Path],
    typer.Argument(
        metavar="QRELS RUN RATINGS",
        help="Judgments; the result lists that users saw (each list is a query of the run); and the ratings of users:"
        " CSV, TSV or Parquet with query_id and rating (for sessions: session and rating; for pairs: first, second"
        " and preference). With --from: one folder, or the file train_file.txt of tiangong.",
        show_default=False,
        callback=resolved,
    ),
]
Source = Annotated[Published | None, typer.Option("--from", help="Published study whose folder or file is given.")]
SessionsFile = Annotated[
    Path | None,
    typer.Option(
        "--sessions",
        metavar="FILE",
        help=SESSIONS_HELP.format(" that were rated"),
    ),
]
PairLabels = Annotated[
    OnePer | None,
    typer.Option(
        "--one-per",
        help="For pairs with several labels: one preference per pair (the sign of the mean label; default), per user"
        " and pair, or per label.",
        show_default=False,
    ),
]
Folds = Annotated[int, typer.Option("--cv", min=2, help="Folds of the cross-validation.")]
Resamples = Annotated[int, typer.Option(min=100, help="Resamples of the bootstrap.")]


study = typer.Typer(
    cls=Commands,
    help="Study the quality of metrics; writes a folder with tables, pictures and an HTML page. Needs matplotlib.",
    invoke_without_command=True,
    context_settings=HELP,
)
app.add_typer(study, name="study")
study.callback()(help_without_command)

_RANGES = "NAME=LOW:HIGH, NAME=LOW:HIGH:STEP with whole numbers, or NAME=A,B,C"
_OF_SYSTEMS = ("AP", "nDCG@10", "P@10", "RR")  # without -m
_PARTS = "parts"  # subfolder of finished work, from which an interrupted study resumes


@study.command()
def robustness(
    qrels: Qrels,
    runs: Runs,
    output: Folder,
    measures: Measures = None,
    holes: Annotated[
        Holes,
        typer.Option(help="Judgments to remove: random fractions, those below a pool depth in all runs, or those that"
                     " only one group of runs contributed."),
    ] = Holes.fractions,
    groups: Annotated[
        Path | None, typer.Option(metavar="FILE", help="For --holes groups: CSV with columns run and group.")
    ] = None,
    depth: Annotated[
        int | None, typer.Option(min=1, help="For --holes groups: pool depth of the runs; by default whole runs.")
    ] = None,
    pool: Annotated[
        Pool | None,
        typer.Option(help="For infAP: the pool includes documents with removed judgments (whole), or not (judged)."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of random draws of judgments.")] = 10,
    pairs: Annotated[int, typer.Option(min=0, help="Number of pairs of runs to test; 0 for none.")] = 300,
    all_runs: Annotated[
        bool, typer.Option("--all-runs", help="Include runs that retrieve less than 95 % of the maximum.")
    ] = False,
    lengths: LengthsFile = None,
    missing: WhereMissing = None,
    seed: Seed = 0,
    n_jobs: Jobs = 1,
    force: ForceReport = False,
) -> None:  # over 50 lines: half of them are options  # fmt: skip
    """Study how measures change when judgments are missing: system rankings and tests of pairs.

    Example: pyterrier-cwla study robustness qrels.txt runs/ -m nDCG -m infAP -m Bpref -o robustness --jobs 2
    """
    from ..studies.incomplete_judgments import robustness_study as incomplete
    from ..studies.incomplete_judgments.robustness_study import groups_left_out

    named = _named(measures, lengths, missing) if measures else dict(incomplete.MEASURES)
    judgments, files = judgments_of(qrels), runs_by_name(runs)
    complete = None if all_runs else 0.95
    found: Study
    more: dict[str, Any] = {} if pool is None else {"pool": str(pool)}
    with _cached_in(output, force, [qrels, *runs, groups, lengths], named) as how:
        if holes is Holes.groups:
            of = _groups(groups)
            found = groups_left_out(judgments, files, of, named, depth=depth, complete=complete, seed=seed, **more)
        else:
            if holes is Holes.fractions:
                more["seeds"] = seeds
            study = incomplete.robustness if holes is Holes.fractions else incomplete.robustness_to_depth
            found = study(
                judgments, files, named, pairs=pairs, complete=complete, seed=seed, n_jobs=n_jobs, **more, **how
            )
        _finish(found, output, force)


def _groups(path: Path | None) -> dict[str, str]:
    if path is None:
        raise errors.BadParameter("--holes groups needs --groups FILE, with the group of each run.")
    table = cells(path)
    for name in ("run", "group"):
        if name not in table:
            raise errors.BadParameter(f"{path}: no column {name!r}; there is {errors.some(table.columns, 8)}.")
    return dict(zip(table["run"].astype(str), table["group"].astype(str), strict=True))


@study.command("next")
def next_documents(
    qrels: Qrels,
    runs: Runs,
    output: Folder,
    measure: Annotated[
        str, typer.Option("--measure", "-m", metavar="MEASURE", help="Measure to compare the runs by.")
    ] = "nDCG@10",
    baseline: Annotated[
        str | None, typer.Option(metavar="RUN", help="Compare only with this run; by default all pairs of runs.")
    ] = None,
    pairs: Annotated[
        Compared, typer.Option(help="Pairs to compare: those whose order judgments may still change, or all.")
    ] = Compared.open,
    predicted: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Predicted grades of unjudged documents, as judgments; may be decimal."),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(min=1, help="Only documents in the first ranks of a run; by default all.")
    ] = None,
    max_rel: Annotated[
        float | None, typer.Option(help="Highest grade that a document may get; by default that of the judgments.")
    ] = None,
    all_topics: Annotated[bool, typer.Option("--all-topics", help="Include topics without judgments.")] = False,
    lengths: LengthsFile = None,
    missing: WhereMissing = None,
    force: ForceReport = False,
) -> None:  # over 50 lines: half of them are options
    """List the unjudged documents whose judgment could change a comparison of runs, the next one to judge first.

    Example: pyterrier-cwla study next qrels.txt runs/ -m nDCG@10 -o next
    """
    from ..studies.incomplete_judgments.judging_order import next_judgments

    named = _named([measure], lengths, missing)
    if len(named) > 1:
        raise errors.BadParameter(f"-m {measure}: give one measure, not {len(named)}.")
    judgments, files = judgments_of(qrels), runs_by_name(runs)
    predictions = None if predicted is None else judgments_of(predicted)
    with _cached_in(output, force, [qrels, *runs, lengths, predicted], named):
        found = next_judgments(
            judgments,
            files,
            named,
            baseline=baseline,
            pairs=str(pairs),
            predicted=predictions,
            depth=depth,
            topics="all" if all_topics else "judged",
            max_rel=max_rel,
        )
        _finish(found, output, force)


@study.command()
def power(
    qrels: Qrels,
    runs: Runs,
    output: Folder,
    measures: Measures = None,
    alpha: Annotated[float, typer.Option(help="Significance level.")] = 0.05,
    resamples: Annotated[
        int, typer.Option(min=100, help="Resamples of the randomisation test and of the bootstrap.")
    ] = 10_000,
    lengths: LengthsFile = None,
    missing: WhereMissing = None,
    seed: Seed = 0,
    n_jobs: Jobs = 1,
    force: ForceReport = False,
) -> None:
    """Count the pairs of systems that each measure distinguishes, by four tests of all pairs.

    Example: pyterrier-cwla study power qrels.txt runs/ -m AP -m nDCG@10 -m RR -o power
    """
    from ..studies.systems.power import discriminative_power

    named = _named(measures or _OF_SYSTEMS, lengths, missing)
    judgments, files = judgments_of(qrels), runs_by_name(runs)
    with _cached_in(output, force, [qrels, *runs, lengths], named) as how:
        found = discriminative_power(
            judgments, files, named, alpha=alpha, resamples=resamples, seed=seed, n_jobs=n_jobs, **how
        )
        _finish(found, output, force)


@study.command()
def agreement(
    qrels: Qrels,
    runs: Runs,
    output: Folder,
    measures: Measures = None,
    resamples: Resamples = 1000,
    lengths: LengthsFile = None,
    missing: WhereMissing = None,
    seed: Seed = 0,
    force: ForceReport = False,
) -> None:
    """Compare the system rankings of measures: Kendall's τ, rank-biased overlap, outliers.

    Example: pyterrier-cwla study agreement qrels.txt runs/ -m AP -m nDCG@10 -m Bpref -o agreement
    """
    from ..studies.systems.metric_correlations import metric_agreement

    named = _named(measures or _OF_SYSTEMS, lengths, missing)
    judgments, files = judgments_of(qrels), runs_by_name(runs)
    with _cached_in(output, force, [qrels, *runs, lengths], named):
        _finish(metric_agreement(judgments, files, named, resamples=resamples, seed=seed), output, force)


@study.command()
def users(
    data: Data,
    output: Folder,
    source: Source = None,
    sessions: SessionsFile = None,
    judged_by: JudgedBy = "session",
    one_per: PairLabels = None,
    measures: Measures = None,
    lengths: LengthsFile = None,
    missing: WhereMissing = None,
    baseline: Annotated[str | None, typer.Option(metavar="MEASURE", help="Measure to compare the others with.")] = None,
    coefficient: Annotated[
        Coefficient,
        typer.Option(
            metavar="NAME",
            help=f"Coefficient of agreement: {', '.join(Coefficient)}; weighted_… weights by a column n of ratings.",
        ),
    ] = Coefficient.tau_b,
    span: Annotated[
        float | None,
        typer.Option(help="Difference between the highest and the lowest possible rating, for prediction errors."),
    ] = None,
    resamples: Resamples = 1000,
    cv: Folds = 10,
    seed: Seed = 0,
    force: ForceReport = False,
) -> None:
    """Compare measures with the ratings of users; without -m, all combinations of C and A.

    Example: pyterrier-cwla study users qrels.txt shown.txt ratings.csv -m nDCG@10 -m RR -o users
    """
    from ..measures.sessions import of_sessions
    from ..studies.users.agreement_study import user_agreement
    from ..studies.users.published_studies import continuations, grid

    rated = _rated(data, source, sessions, judged_by, one_per)
    all_C = continuations(rel=1) if source is Published.tiangong else None  # rr of the table of the paper
    parsed = of_sessions if rated.what == "session" else None
    highest = rated.shown.judgments.pool.highest
    wanted: Any = _named(measures, lengths, missing, parsed) if measures else grid(all_C, max_rel=highest)
    with _cached_in(output, force, [*data, sessions, lengths], wanted):
        found = user_agreement(
            rated, wanted, str(coefficient), baseline=baseline, span=span, resamples=resamples, cv=cv, seed=seed
        )
        _finish(found, output, force)


@study.command()
def fit(
    data: Data,
    output: Folder,
    template: Annotated[
        str,
        typer.Option("--template", "-t", metavar="MEASURE", help="A measure with $names in place of parameters.",
                     show_default=False),
    ],
    ranges: Annotated[
        list[str],
        typer.Option("--range", "-r", metavar="NAME=LOW:HIGH", help="Values to search for $NAME: numbers from LOW"
                     " to HIGH, whole numbers (NAME=LOW:HIGH:STEP), or a list (NAME=A,B,C); once per name.",
                     show_default=False),
    ],
    default: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Default value to compare with; once per name.")
    ] = None,
    objective: Annotated[
        Objective | None,
        typer.Option(metavar="NAME", help=f"Objective of the fit: {', '.join(Objective)}; by default pearson, or"
                     " agreement for pairs; weighted_… weights by a column n of the ratings."),
    ] = None,
    source: Source = None,
    sessions: SessionsFile = None,
    judged_by: JudgedBy = "session",
    one_per: PairLabels = None,
    cv: Folds = 10,
    seed: Seed = 0,
    n_jobs: Jobs = 1,
    force: ForceReport = False,
) -> None:  # fmt: skip
    """Fit parameters of a measure to ratings of users, and estimate the improvement by cross-validation.

    Example: pyterrier-cwla study fit qrels.txt shown.txt ratings.csv -t 'RBP(rel=1,p=$p)' -r p=0.1:0.99 -o fit
    """
    from ..studies.fitting.parameter_fit import fit as fitted

    rated = _rated(data, source, sessions, judged_by, one_per)
    aim = None if objective is None else str(objective)
    spans = {name: _range(name, text) for name, text in _by_name(ranges, _RANGES).items()}
    values = {name: _number(text) for name, text in _by_name(default or [], "NAME=VALUE").items()}
    if "=," in template or "=)" in template:
        raise errors.BadParameter(
            f"-t {template!r}: the shell has replaced the $names. Write the template in single quotes."
        )
    with _cached_in(output, force, [*data, sessions], _first(template, spans)) as how:
        try:
            found = fitted(template, spans, rated, aim, default=values or None, cv=cv, seed=seed, n_jobs=n_jobs, **how)
        except errors.MissingLength as error:  # there is no --lengths here
            raise errors.BadParameter(f"{error} In a template: TBG(lengths='FILE',half_life=$h).") from error
        _finish(found, output, force)


def _assigned(written: str, what: str) -> tuple[str, str]:
    name, equals, text = written.partition("=")
    if not (name and equals and text):
        raise errors.BadParameter(f"{written!r}: write {what}.")
    return name.removeprefix("$"), text


def _by_name(given: list[str], what: str) -> dict[str, str]:
    found = dict(_assigned(written, what) for written in given)
    if len(found) < len(given):
        raise errors.BadParameter(f"{', '.join(given)}: give each name once.")
    return found


def _range(name: str, text: str) -> Any:
    if "," in text:
        return [_number(one) for one in text.split(",")]
    numbers = [_number(one) for one in text.split(":")]
    if len(numbers) == 2 and not any(isinstance(number, str) for number in numbers):
        return float(numbers[0]), float(numbers[1])
    if len(numbers) == 3 and all(isinstance(number, int) for number in numbers) and numbers[2] > 0:
        return range(numbers[0], numbers[1] + 1, numbers[2])
    raise errors.BadParameter(f"{name}={text}: write {_RANGES}.")


def _number(text: str) -> Any:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _rated(
    data: list[Path], source: Published | None, sessions: Path | None, judged_by: str, one_per: OnePer | None
) -> Rated:
    from ..studies.users import published_studies as datasets
    from ..studies.users.ratings import Rated

    if one_per is not None and (source is not None or sessions is not None):
        raise errors.BadParameter("--one-per is for preferences between lists, not with --from or --sessions.")
    if source is not None:
        if len(data) != 1:
            raise errors.BadParameter(
                f"--from {source} takes one folder or file, not {errors.many(len(data), 'path')}."
            )
        return getattr(datasets, f"{source}_ratings")(data[0])
    if len(data) != 3:
        raise errors.BadParameter("give QRELS RUN RATINGS, or --from and the folder or file of a study.")
    for path in data:
        check_exists(path)
    qrels, run, ratings = judgments_of(data[0]), data[1], cells(data[2])
    if sessions is not None:
        return Rated.sessions(qrels, run, cells(sessions), ratings, judged_by)
    if "preference" in ratings:
        wanted: Any = one_per and str(one_per)
        return Rated.preferences(qrels, run, ratings, wanted)
    if one_per is not None:
        raise errors.BadParameter(f"--one-per {one_per}: {data[2]} has no column 'preference'. Leave the option out.")
    return Rated.lists(qrels, run, ratings)


def _named(
    texts: Sequence[str],
    lengths: Path | None,
    missing: Any,
    parsed: Callable[[list[str]], list[Measure]] | None = None,
) -> dict[str, Any]:
    bound = BoundMeasures.from_texts(texts, lengths, missing, parsed)
    for line in bound.notes:
        note(line)
    return bound.by_name


def _first(template: str, spans: dict[str, Any]) -> dict[str, Any]:
    """Return one measure of the template; nothing if the template is wrong, for which ``fit`` raises an error."""
    from ..studies.users.agreement_variation import Range, Template

    with suppress(errors.CWLAError):
        values = {name: Range.parse(span, name).value(0) for name, span in spans.items()}
        Template(template).check([*spans])
        return {template: Template(template).measure(values)}
    return {}


@contextmanager
def _cached_in(
    folder: Path, force: bool, inputs: Sequence[Path | None], measures: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Create the output folder and yield the arguments for the cache in it; on Ctrl-C, print how to resume.

    The packages for the report and the folder are checked first: the report must not overwrite an input, nor without
    ``--force`` another file.
    """
    from ..studies.report import cannot_write, check_folder, check_packages

    check_packages()
    from ..measures.wrappers import files_of

    parts, read = folder / _PARTS, [*inputs, *files_of(measures.values())]
    check_outside([("-o", folder)], read)
    check_folder(folder, force, files_in(read))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error, "-o ") from error
    with resumable_from(parts):
        yield {"cache_dir": parts, "progress": sys.stderr.isatty()}


def _finish(found: Study, folder: Path, force: bool) -> None:
    page = found.report(folder, force)
    _print(found)
    note(f"Full report: {page}")


def _print(found: Study) -> None:
    """Print title and sentences of a study, wrapped at the width of the terminal."""
    console = screen()
    prose(console, found.title, "bold")
    prose(console, found.headline(), "")
    for heading, sentences in found.said().items():
        prose(console, f"{heading}:", "")
        for text in sentences:
            prose(console, text, "", 4, "  · ")

"""Commands ``study robustness``, ``next``, ``power``, ``agreement``, ``judges``, ``users`` and ``fit``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import errors
from ..rendering.notes import note, resumable_from
from .arguments import (
    HELP,
    Commands,
    JudgedBy,
    JudgedRuns,
    MeasureOptions,
    app,
    cells,
    command,
    help_without_command,
    judgments_of,
    runs_by_name,
    warnings_as_notes,
)
from .parameters import Parameter, Parameters
from .paths import check_exists, check_outside, files_in

if TYPE_CHECKING:
    from ir_measures.measures import Measure

    from ..studies.report import Study
    from ..studies.users.ratings import Rated

Published = StrEnum("Published", ["chiir24", "jiang", "tiangong"])
"""Published studies whose data are available."""
Holes = StrEnum("Holes", ["fractions", "depth", "groups"])
"""Selection of the judgments that are removed."""


@dataclass(frozen=True)
class ReportFolder:
    """Options for the folder that a study writes its report to."""

    output: Path
    force: bool = False

    @contextmanager
    def cached(self, inputs: Sequence[Path | str | None]) -> Iterator[dict[str, Any]]:
        """Create the folder and yield the arguments for the cache in it; on Ctrl-C, print how to resume.

        The packages for the report and the folder are checked first: the report must not overwrite an input, nor
        without ``--force`` another file.
        """
        from ..studies.report import cannot_write, check_folder, check_packages

        check_packages()
        parts = self.output / _PARTS
        check_outside([("-o", self.output)], inputs)
        check_folder(self.output, self.force, files_in(inputs))
        try:
            self.output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(self.output, error, "-o ") from error
        with warnings_as_notes(), resumable_from(parts):
            yield {"cache_dir": parts, "progress": sys.stderr.isatty()}

    def write(self, found: Study) -> None:
        """Write the report, and print the title, a table and the sentences of the study."""
        from ..rendering.terminal import prose, screen

        page = found.report(self.output, self.force)
        console = screen()
        prose(console, found.title, "bold")
        prose(console, found.headline(), "")
        if (table := found.main_table()) is not None:
            console.print(table)
        for heading, sentences in found.said().items():
            prose(console, f"{heading}:", "")
            for text in sentences:
                prose(console, text, "", 4, "  · ")
        note(f"Full report: {page}")


@dataclass(frozen=True)
class RatingFiles:
    """Files with ratings of users and what they rated, or the folder of a published study."""

    data: list[Path]
    source: Published | None = None
    sessions: Path | None = None
    judged_by: JudgedBy = "session"
    one_per: Annotated[
        str | None,
        Parameter("studies.users.ratings.Rated.preferences", "one_per"),
    ] = None

    @property
    def files(self) -> list[Path | None]:
        """Files that are read."""
        return [*self.data, self.sessions]

    def read(self) -> Rated:
        """Return the ratings, with what was rated."""
        from ..studies.users import published_studies as datasets
        from ..studies.users.ratings import Rated

        if self.one_per is not None and (self.source is not None or self.sessions is not None):
            raise errors.BadParameter("--one-per is for preferences between lists, not with --from or --sessions.")
        if self.source is not None:
            if len(self.data) != 1:
                raise errors.BadParameter(
                    f"--from {self.source} takes one folder or file, not {errors.many(len(self.data), 'path')}."
                )
            return getattr(datasets, f"{self.source}_ratings")(self.data[0])
        for path in self.data:
            check_exists(path)
        if len(self.data) == 2:
            return Rated.answers(judgments_of(self.data[0]), cells(self.data[1]))
        if len(self.data) != 3:
            raise errors.BadParameter(
                "give QRELS RUN RATINGS, QRELS ANSWERS, or --from and the folder or file of a study."
            )
        qrels, run, ratings = judgments_of(self.data[0]), self.data[1], cells(self.data[2])
        if self.sessions is not None:
            return Rated.sessions(qrels, run, cells(self.sessions), ratings, self.judged_by)
        if "preference" in ratings:
            wanted: Any = self.one_per
            return Rated.preferences(qrels, run, ratings, wanted)
        if self.one_per is not None:
            raise errors.BadParameter(
                f"--one-per {self.one_per}: {self.data[2]} has no column 'preference'. Leave the option out."
            )
        return Rated.lists(qrels, run, ratings)


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


@command(group=study)
def robustness(
    judged: JudgedRuns,
    *,
    measures: list[str] | None = None,
    holes: Holes = Holes.fractions,
    groups: Path | None = None,
    depth: Annotated[
        int | None,
        Parameter("studies.incomplete_judgments.robustness_study.groups_left_out", "depth"),
    ],
    chosen: Annotated[
        dict[str, Any],
        Parameters(
            "studies.incomplete_judgments.robustness_study.robustness", "pool seeds pairs complete seed n_jobs"
        ),
    ],
    given: MeasureOptions,
    report: ReportFolder,
) -> None:  # fmt: skip
    """Study how measures change when judgments are missing: system rankings and tests of pairs.

    Example: pyterrier-cwla study robustness qrels.txt runs/ -m nDCG -m infAP -m Bpref -o robustness --jobs 2
    """
    from ..studies.incomplete_judgments import robustness_study as incomplete

    named, read = _named(measures, given) if measures else (dict(incomplete.MEASURES), given.files)
    judgments, files = judged.judgments, judged.files
    if chosen["pool"] is None:  # the default differs between the three studies
        del chosen["pool"]
    found: Study
    with report.cached([*judged.inputs, groups, *read]) as how:
        if holes is Holes.groups:
            shared = {name: value for name, value in chosen.items() if name in ("pool", "complete", "seed")}
            found = incomplete.groups_left_out(judgments, files, _groups(groups), named, depth=depth, **shared)
        elif holes is Holes.depth:
            del chosen["seeds"]
            found = incomplete.robustness_to_depth(judgments, files, named, **chosen, **how)
        else:
            found = incomplete.robustness(judgments, files, named, **chosen, **how)
        report.write(found)


def _groups(path: Path | None) -> dict[str, str]:
    if path is None:
        raise errors.BadParameter("--holes groups needs --groups FILE, with the group of each run.")
    table = cells(path)
    for name in ("run", "group"):
        if name not in table:
            raise errors.BadParameter(f"{path}: no column {name!r}; there is {errors.some(table.columns, 8)}.")
    return dict(zip(table["run"].astype(str), table["group"].astype(str), strict=True))


@command("next", study)
def next_documents(
    judged: JudgedRuns,
    *,
    measure: str = "nDCG@10",
    chosen: Annotated[
        dict[str, Any],
        Parameters(
            "studies.incomplete_judgments.judging_order.next_judgments", "baseline pairs depth max_rel topics"
        ),
    ],
    predicted: Path | None = None,
    given: MeasureOptions,
    report: ReportFolder,
) -> None:  # fmt: skip
    """List the unjudged documents whose judgment could change a comparison of runs, the next one to judge first.

    Example: pyterrier-cwla study next qrels.txt runs/ -m nDCG@10 -o next
    """
    from ..studies.incomplete_judgments.judging_order import next_judgments

    named, read = _named([measure], given)
    if len(named) > 1:
        raise errors.BadParameter(f"-m {measure}: give one measure, not {len(named)}.")
    judgments, files = judged.judgments, judged.files
    predictions = None if predicted is None else judgments_of(predicted, judged.split)
    with report.cached([*judged.inputs, *read, predicted]):
        report.write(next_judgments(judgments, files, named, predicted=predictions, **chosen))


@command(group=study)
def power(
    judged: JudgedRuns,
    *,
    measures: list[str] | None = None,
    chosen: Annotated[
        dict[str, Any], Parameters("studies.systems.power.discriminative_power", "alpha resamples seed n_jobs")
    ],
    given: MeasureOptions,
    report: ReportFolder,
) -> None:
    """Count the pairs of systems that each measure distinguishes, by several tests of all pairs.

    Example: pyterrier-cwla study power qrels.txt runs/ -m AP -m nDCG@10 -m RR -o power
    """
    from ..studies.systems.power import discriminative_power

    named, read = _named(measures or _OF_SYSTEMS, given)
    judgments, files = judged.judgments, judged.files
    with report.cached([*judged.inputs, *read]) as how:
        report.write(discriminative_power(judgments, files, named, **chosen, **how))


@command(group=study)
def agreement(
    judged: JudgedRuns,
    *,
    measures: list[str] | None = None,
    chosen: Annotated[
        dict[str, Any], Parameters("studies.systems.metric_correlations.metric_agreement", "resamples seed")
    ],
    given: MeasureOptions,
    report: ReportFolder,
) -> None:
    """Compare the system rankings of measures: Kendall's τ, rank-biased overlap, outliers.

    Example: pyterrier-cwla study agreement qrels.txt runs/ -m AP -m nDCG@10 -m Bpref -o agreement
    """
    from ..studies.systems.metric_correlations import metric_agreement

    named, read = _named(measures or _OF_SYSTEMS, given)
    judgments, files = judged.judgments, judged.files
    with report.cached([*judged.inputs, *read]):
        report.write(metric_agreement(judgments, files, named, **chosen))


@command(group=study)
def judges(
    judged: JudgedRuns,
    *,
    machine: list[Path],
    measures: list[str] | None = None,
    threshold: list[str] | None = None,
    chosen: Annotated[
        dict[str, Any],
        Parameters("studies.systems.machine_judges.judge_agreement", "best bins resamples seed"),
    ],
    given: MeasureOptions,
    report: ReportFolder,
) -> None:  # fmt: skip
    """Compare machine judges with people: order of runs, favoured runs, and labels of documents.

    Example: pyterrier-cwla study judges people.qrels runs/ --machine gpt4.qrels -m nDCG@10 -m RR -o judges
    """
    from ..studies.systems.machine_judges import judge_agreement

    named, read = _named(measures or _OF_SYSTEMS, given)
    lowest = _threshold(threshold) if threshold else None
    people, files = judged.judgments, judged.files
    by_machine = {name: judgments_of(path, judged.split) for name, path in runs_by_name(machine).items()}
    with report.cached([*judged.inputs, *machine, *read]):
        report.write(judge_agreement(people, by_machine, files, named, threshold=lowest, **chosen))


def _threshold(given: list[str]) -> Any:
    if given == ["none"]:
        return {}
    if len(given) == 1 and "=" not in given[0]:
        return _number(given[0])
    by_judge = _by_name(given, "N for all, NAME=N or NAME=same for people ('human') and each machine, or none")
    return {name: None if text == "same" else _number(text) for name, text in by_judge.items()}


@command(group=study)
def users(
    ratings: RatingFiles,
    *,
    measures: list[str] | None = None,
    chosen: Annotated[
        dict[str, Any],
        Parameters("studies.users.agreement_study.user_agreement", "baseline coefficient span resamples cv seed"),
    ],
    given: MeasureOptions,
    report: ReportFolder,
) -> None:  # fmt: skip
    """Compare measures with the ratings of users; without -m, all combinations of C and A.

    Example: pyterrier-cwla study users qrels.txt shown.txt ratings.csv -m nDCG@10 -m RR -o users
    """
    from ..measures.sessions import of_sessions
    from ..studies.users.agreement_study import user_agreement
    from ..studies.users.published_studies import continuations, grid

    rated = ratings.read()
    all_C = continuations(rel=1) if ratings.source is Published.tiangong else None  # rr of the table of the paper
    parsed = of_sessions if rated.what == "session" else None
    highest = rated.shown.judgments.pool.highest
    wanted: Any
    wanted, read = _named(measures, given, parsed) if measures else (grid(all_C, max_rel=highest), given.files)
    with report.cached([*ratings.files, *read]):
        report.write(user_agreement(rated, wanted, **chosen))


@command(group=study)
def fit(
    ratings: RatingFiles,
    *,
    template: str,
    ranges: list[str],
    default: list[str] | None = None,
    chosen: Annotated[
        dict[str, Any],
        Parameters("studies.fitting.parameter_fit.fit", "objective cv seed n_jobs"),
    ],
    report: ReportFolder,
) -> None:  # fmt: skip
    """Fit parameters of a measure to ratings of users, and estimate the improvement by cross-validation.

    Example: pyterrier-cwla study fit qrels.txt shown.txt ratings.csv -t 'RBP(rel=1,p=$p)' -r p=0.1:0.99 -o fit
    """
    from ..studies.fitting.parameter_fit import fit as fitted

    rated = ratings.read()
    spans = {name: _range(name, text) for name, text in _by_name(ranges, _RANGES).items()}
    values = {name: _number(text) for name, text in _by_name(default or [], "NAME=VALUE").items()}
    if "=," in template or "=)" in template:
        raise errors.BadParameter(
            f"-t {template!r}: the shell has replaced the $names. Write the template in single quotes."
        )
    with report.cached([*ratings.files, *_files_of(template, spans)]) as how:
        try:
            found = fitted(template, spans, rated, default=values or None, **chosen, **how)
        except errors.MissingLength as error:  # there is no --lengths or --costs here
            of_costs = isinstance(error, errors.MissingCost)
            example = "GainWithin(costs='FILE',T=$T)" if of_costs else "TBG(lengths='FILE',half_life=$h)"
            raise errors.BadParameter(f"{error} In a template: {example}.") from error
        report.write(found)


def _by_name(given: list[str], what: str) -> dict[str, str]:
    found = {}
    for written in given:
        name, equals, text = written.partition("=")
        if not (name and equals and text):
            raise errors.BadParameter(f"{written!r}: write {what}.")
        found[name.removeprefix("$")] = text
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


def _named(
    texts: Sequence[str], given: MeasureOptions, parsed: Callable[[list[str]], list[Measure]] | None = None
) -> tuple[dict[str, Any], Sequence[Path | str | None]]:
    """Return measures by name and the files that they read, and print the notes on them."""
    bound = given.bind(texts, parsed)
    for line in bound.notes:
        note(line)
    return bound.by_name, bound.files


def _files_of(template: str, spans: dict[str, Any]) -> list[str]:
    """Return the files that a template names; none if the template is wrong, for which ``fit`` raises an error."""
    from ..measures.wrappers import files_of
    from ..studies.users.agreement_variation import Range, Template

    with suppress(errors.CWLAError):
        values = {name: Range.parse(span, name).value(0) for name, span in spans.items()}
        Template(template).check([*spans])
        return [*files_of([Template(template).measure(values)])]
    return []

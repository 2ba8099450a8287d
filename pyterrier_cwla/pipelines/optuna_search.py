"""Parameter tuning of PyTerrier pipelines with Optuna, with an interface similar to pt.GridSearch."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from html import escape
from numbers import Integral, Real
from types import ModuleType
from typing import Any, NamedTuple

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt

from ..errors import BadJudgments, BadParameter, many, near, some
from ..errors.extras import needed
from ..errors.sanitise import sanitised
from ..measures.declarations import better_of
from ..measures.named import measures_of
from ..measures.provider import CWLAProvider
from ..rendering.figures import GREY, STAY, notebook_picture, small_axes
from ..rendering.tables import Table

_TRIALS = 50  # default number of trials


class Tuned(NamedTuple):
    """Result of :func:`OptunaSearch`.

    Attributes
    ----------
    pipeline : pt.Transformer
        Tuned pipeline: the same object as the argument, with the best parameters.
    value : float or list of float
        Mean of the measure over the judged topics; a list of means for several measures.
    setting : list of (pt.Transformer, str, value)
        Transformer, parameter and best value, as returned by pt.GridSearch.
    study : optuna.Study
        Study for further analysis, such as with optuna.visualization or optuna.importance.
    """

    pipeline: pt.Transformer
    value: Any
    setting: list[tuple[pt.Transformer, str, Any]]
    study: Any

    @property
    def trials(self) -> pd.DataFrame:
        """One row per trial: number, measures (NaN for pruned trials), parameters, and seconds."""
        measures = self.study.user_attrs["measures"]
        return pd.DataFrame(
            {
                "trial": trial.number,
                **dict(zip(measures, trial.values if trial.state.name == "COMPLETE" else [np.nan], strict=True)),
                **trial.params,
                "seconds": trial.duration.total_seconds(),
            }
            for trial in self.study.trials
        )

    @sanitised
    def _repr_html_(self) -> str:
        """Return the best value, its parameters, and the values of the trials."""
        measures, trials = self.study.user_attrs["measures"], self.trials
        values = [self.value] if len(measures) == 1 else list(self.value)
        found = ", ".join(f"{measure} {value:.4f}" for measure, value in zip(measures, values, strict=True))
        pruned = int(trials[measures[0]].isna().sum())
        head = f"best of {many(len(trials), 'trial')}" + (f", {pruned:,} of them pruned" if pruned else "")
        if len(measures) > 1:
            front = many(len(self.study.best_trials), "setting")
            head += f" by {measures[0]}; {front} on the Pareto front, study.best_trials"
        rows = [[type(transformer).__name__, name, _written(value)] for transformer, name, value in self.setting]
        table = Table.from_cells({"": rows}, ["transformer", "parameter", "best value"], ["name", "name"]).html()
        minimised = self.study.directions[0].name == "MINIMIZE"
        return f"<p><b>{escape(found)}</b> ({escape(head)})</p>{table}{_picture(trials[measures[0]], minimised)}"


def _written(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _picture(values: pd.Series[float], minimised: bool) -> str:
    """Return a picture of the values of the trials and the best so far; empty if there is one trial."""
    best = (values.cummin() if minimised else values.cummax()).ffill()
    if values.count() < 2:
        return ""

    def draw(ax: Any) -> None:
        ax.plot(values.index + 1, values, ".", color=GREY, markersize=5)
        ax.step(best.index + 1, best, where="post", color=STAY, linewidth=1.6)
        ax.locator_params(axis="x", integer=True)
        small_axes(ax, "trial (points: each trial; line: best so far)", "value")

    reached = values.index[values == best.iloc[-1]][0] + 1
    said = f"{values.name} by trial: first {values.dropna().iloc[0]:.4f}, best {best.iloc[-1]:.4f}, first reached in"
    said += f" trial {reached:,} of {len(values):,}."
    return notebook_picture(draw, (4.2, 1.8), said) + f"<p><small>{escape(said)}</small></p>"


def OptunaSearch(
    pipeline: pt.Transformer,
    params: Mapping[Any, Mapping[str, Any]],
    topics: pd.DataFrame,
    qrels: pd.DataFrame,
    metric: Any = "map",
    trials: int | None = _TRIALS,
    seed: int = 0,
    sampler: Any = None,
    pruner: Any = None,
    timeout: float | None = None,
    jobs: int = 1,
    verbose: Any = True,
) -> Tuned:
    """Tune the parameters of a pipeline with an Optuna study, similarly to pt.GridSearch.

    The pipeline is left with the best parameters. The first trial has the current values, if they lie in the search
    space, so that the result is never worse than these. If the pipeline raises an error, the error propagates and the
    parameters are restored.

    Parameters
    ----------
    pipeline : pt.Transformer
        Pipeline to tune.
    params : mapping
        Search space: for each transformer of the pipeline, a dict of parameters by name. Values are

        * a tuple ``(low, high)`` for all numbers between, including both ends; only whole numbers if both ends are
          whole and the current value is no float;
        * a list of choices: numbers, texts, True, False or None;
        * a distribution of Optuna, such as ``optuna.distributions.FloatDistribution(0.1, 10, log=True)``.
    topics, qrels : DataFrame
        Topics and judgments, as for pt.GridSearch. Topics without judgments are left out with a warning, and judgments
        of other topics are ignored.
    metric : str, Measure, list of these, or dict of these by label
        Measure to maximise, or its name in trec_eval or ir_measures (default "map"). Measures of which less is better,
        such as ``CWLA(C=…, A="effort")``, are minimised. For several measures, the study searches for the Pareto front
        (``study.best_trials``), and the pipeline gets the setting that is best by the first measure.
    trials : int or None, default=50
        Maximum number of trials.
    seed : int, default=0
        Seed of the default sampler. Equal seeds give equal trials for all values of ``jobs``.
    sampler : optuna.samplers.BaseSampler, optional
        Sampler of settings; by default a tree-structured Parzen estimator. ``optuna.samplers.BruteForceSampler()``
        tries all settings of a finite space.
    pruner : optuna.pruners.BasePruner, optional
        Pruner such as ``optuna.pruners.MedianPruner()``. The topics are then retrieved in five parts, and after each
        part the pruner may end a trial that is worse than other trials on the same topics; steps are parts.
    timeout : float, optional
        Maximum number of seconds; the search ends at ``trials`` or ``timeout``, whichever comes first.
    jobs : int, default=1
        Number of processes for the topics of each trial; more than 1 needs the extra ``parallel``.
    verbose : bool or progress bar, default=True
        If True, show a progress bar; a bar of tqdm advances by one for each trial.

    Returns
    -------
    Tuned
        Pipeline, value, setting and study.

    Raises
    ------
    BadParameter
        If the search space is empty or has unknown parameters, or no trial was completed.
    BadJudgments
        If no topic is judged.
    CWLAError
        If Optuna is not installed.

    References
    ----------
    Akiba et al. (2019), Optuna; Bergstra et al. (2011), tree-structured Parzen estimator.

    Examples
    --------
    >>> import pandas as pd, pyterrier as pt
    >>> found = pd.DataFrame({"qid": "1", "docno": ["long", "short"], "doc_length": [900, 90], "score": [1.1, 1.0]})
    >>> topics, qrels = found[["qid"]].head(1), pd.DataFrame({"qid": ["1"], "docno": ["short"], "label": [1]})
    >>> from pyterrier_cwla.demo import PreferShort
    >>> prefer = PreferShort(strength=0.0)
    >>> pipeline = pt.Transformer.from_df(found) >> prefer
    >>> space = {prefer: {"strength": (0.0, 0.2)}}
    >>> tuned = OptunaSearch(pipeline, space, topics, qrels, "TBG", trials=5, verbose=False)
    >>> round(tuned.value, 4), prefer.strength > 0.04
    (0.4928, True)
    """
    tunables = _tunables(pipeline, params)
    measures = measures_of(metric)
    for measure in measures:
        if str(measure) in {"trial", "seconds", *(tunable.label for tunable in tunables)}:
            raise BadParameter(f"the table of trials has another column {str(measure)!r}. Give the measure a label.")
    if trials is None and timeout is None:
        raise BadParameter("a search must end. Give trials= or timeout=.")
    if pruner is not None and len(measures) > 1:
        raise BadParameter(
            f"Optuna prunes studies of one measure only, and there are {len(measures)}. Leave out the pruner."
        )
    judged, judgments = _judged(topics, qrels)
    head, tail = _split(pipeline, tunables)
    given = head.transform(judged) if head else judged
    ours = CWLAProvider()
    provider = ours if all(map(ours.supports, measures)) else ir_measures.DefaultPipeline
    evaluator = provider.evaluator(measures, judgments)
    parts = (pt.model.split_df(given, 5) if pruner else []) or [given]
    tried = tail if jobs == 1 else _parallel(tail, jobs)

    def evaluated(runs: list[pd.DataFrame]) -> list[float]:
        run = pt.model.coerce_dataframe_types(pd.concat(runs))
        means = evaluator.calc_aggregate(pt.model.to_ir_measures(run))
        return [float(means[measure]) for measure in measures]

    with _quiet() as optuna, _restored(tunables) as present:
        study = optuna.create_study(
            directions=["minimize" if better_of(one) == "lower" else "maximize" for one in measures],
            sampler=sampler or optuna.samplers.TPESampler(seed=seed),
            pruner=pruner or optuna.pruners.NopPruner(),
        )
        study.set_user_attr("measures", [str(measure) for measure in measures])
        _enqueue_present(study, tunables, present)
        with nullcontext(verbose) if hasattr(verbose, "update") else _bar("OptunaSearch", trials, verbose) as bar:
            study.optimize(
                partial(_values, tunables, parts, tried, evaluated),
                trials,
                timeout,
                callbacks=[partial(_update_bar, bar)],
            )
    found = study.best_trials
    if not found:
        raise BadParameter(f"no trial was completed with trials={trials}, timeout={timeout}. Give more.")
    sign = -1 if better_of(measures[0]) == "lower" else 1
    best = max(found, key=lambda one: sign * one.values[0])
    setting = [(tunable.transformer, tunable.name, best.params[tunable.label]) for tunable in tunables]
    _set(tunables, [value for _, _, value in setting])
    return Tuned(pipeline, best.values if len(measures) > 1 else best.value, setting, study)


def KFoldOptunaSearch(
    pipeline: pt.Transformer,
    params: Mapping[Any, Mapping[str, Any]],
    topics_list: Sequence[pd.DataFrame],
    qrels: pd.DataFrame,
    metric: Any = "map",
    verbose: bool = True,
    **search: Any,
) -> tuple[pd.DataFrame, list[Tuned]]:
    """Tune a pipeline by cross-validation over folds of topics, similarly to pt.KFoldGridSearch.

    For each fold, the pipeline is tuned on the other folds and retrieves results for this fold. Afterwards the
    parameters are restored.

    Parameters
    ----------
    pipeline, params, qrels, metric
        As for :func:`OptunaSearch`.
    topics_list : sequence of DataFrame
        Topics of each fold; at least two folds without common topics.
    verbose : bool, default=True
        If True, show progress bars.
    **search
        Further parameters of :func:`OptunaSearch`.

    Returns
    -------
    results : DataFrame
        Results for the topics of all folds, for pt.Experiment.
    tuned : list of Tuned
        Result of the search for each fold.

    Raises
    ------
    BadParameter
        If there is one fold only, or a topic is in two folds; also as for :func:`OptunaSearch`.
    """
    _check_folds(topics_list)
    tunables = _tunables(pipeline, params)
    results, found = [], []
    trials = search.get("trials", _TRIALS)
    with _bar("KFoldOptunaSearch", None if trials is None else trials * len(topics_list), verbose) as bar:
        for fold, held_out in enumerate(topics_list):
            bar.set_description(f"KFoldOptunaSearch, fold {fold + 1} of {len(topics_list)}")
            others = pd.concat([topics for number, topics in enumerate(topics_list) if number != fold])
            with _restored(tunables):
                found.append(OptunaSearch(pipeline, params, others, qrels, metric, verbose=bar, **search))
                results.append(pipeline.transform(held_out))
    return pd.concat(results, ignore_index=True), found


@dataclass(frozen=True)
class _Tunable:
    """Parameter of a transformer with its search space."""

    transformer: pt.Transformer
    name: str
    label: str
    """Unique name in the study."""
    space: Any
    """Distribution of Optuna."""

    @property
    def present(self) -> Any:
        return self.transformer.get_parameter(self.name)

    def suggested(self, trial: Any) -> Any:
        space = self.space
        if hasattr(space, "choices"):
            return trial.suggest_categorical(self.label, space.choices)
        suggest = trial.suggest_int if isinstance(space.low, int) else trial.suggest_float
        return suggest(self.label, space.low, space.high, step=space.step, log=space.log)


def _tunables(pipeline: pt.Transformer, params: Mapping[Any, Mapping[str, Any]]) -> list[_Tunable]:
    parts = _parts(pipeline)
    tunables: list[_Tunable] = []
    count: Counter[str] = Counter()
    for transformer, spaces in params.items():
        if not any(transformer is part for part in parts):
            raise BadParameter(
                f"{transformer} is not in the pipeline {pipeline}. Give the same object as in the pipeline, not a copy."
            )
        for name, space in spaces.items():
            present = _present(transformer, name)
            label = f"{type(transformer).__name__}.{name}"
            count[label] += 1
            label += f" {count[label]}" if count[label] > 1 else ""
            tunables.append(_Tunable(transformer, name, label, _space(space, present, f"{transformer}: {name}")))
    if not tunables:
        raise BadParameter("there is no parameter to tune: give params={transformer: {'name': (low, high)}}.")
    return tunables


def _parts(pipeline: pt.Transformer) -> list[pt.Transformer]:
    """All transformers of a pipeline, including itself."""
    found: list[pt.Transformer] = []
    waiting = [pipeline]
    while waiting:
        part = waiting.pop()
        if any(part is known for known in found):
            continue
        found.append(part)
        waiting += [value for value in vars(part).values() if isinstance(value, pt.Transformer)]
        for inner in pt.inspect.subtransformers(part).values():
            waiting += inner if isinstance(inner, list) else [inner]
    return found


def _present(transformer: pt.Transformer, name: str) -> Any:
    try:
        return transformer.get_parameter(name)
    except Exception:
        known = [known for known in vars(transformer) if not known.startswith("_")]
        raise BadParameter(f"{transformer} has no parameter {name!r}. {near(name, known)}") from None


def _space(space: Any, present: Any, what: str) -> Any:
    """Distribution for a tuple, a list or a distribution."""
    distributions = _optuna().distributions
    if isinstance(space, distributions.BaseDistribution):
        return space
    if isinstance(space, tuple):
        if len(space) != 2 or not all(isinstance(end, Real) and not isinstance(end, bool) for end in space):
            raise BadParameter(
                f"{what} = {space}: a tuple must be (low, high). Give a list for choices: {list(space)}."
            )
        low, high = space
        if not low <= high:
            raise BadParameter(f"{what} = {space}: low must not be above high.")
        if isinstance(low, Integral) and isinstance(high, Integral) and not isinstance(present, float):
            return distributions.IntDistribution(int(low), int(high))
        return distributions.FloatDistribution(float(low), float(high))
    if hasattr(space, "tolist"):
        space = space.tolist()
    if isinstance(space, str) or not isinstance(space, Sequence):
        raise BadParameter(f"{what} = {space!r}: give a tuple (low, high), a list, or a distribution of Optuna.")
    choices = [choice.item() if isinstance(choice, np.generic) else choice for choice in space]
    if not choices:
        raise BadParameter(f"{what} = []: give at least one value.")
    for choice in choices:
        if not isinstance(choice, str | int | float | None):
            raise BadParameter(
                f"{what}: {choice!r} is no number, text, True, False or None, which are the choices that Optuna allows."
            )
    return distributions.CategoricalDistribution(choices)


def _judged(topics: pd.DataFrame, qrels: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Judged topics with their judgments."""
    pt.validate.columns(topics, includes=["qid"])
    judgments = pt.model.to_ir_measures(qrels)
    if "query_id" not in judgments:
        raise BadJudgments(f"the judgments have no column 'qid'; there is {some(judgments, 8)}.")
    known = topics["qid"].isin(judgments["query_id"].unique())
    if not known.any():
        raise BadJudgments(
            f"none of the {topics['qid'].nunique():,} topics is judged: the topics are {some(topics['qid'])}, the"
            f" judgments of {some(judgments['query_id'].unique())}."
        )
    if not known.all():
        lacking = topics["qid"][~known].unique()
        warnings.warn(
            f"{len(lacking):,} of {topics['qid'].nunique():,} topics are not judged, and left out: {some(lacking)}.",
            stacklevel=3,
        )
    return topics[known], judgments[judgments["query_id"].isin(topics["qid"])]


def _split(pipeline: pt.Transformer, tunables: Sequence[_Tunable]) -> tuple[pt.Transformer | None, pt.Transformer]:
    """Stages before the first tuned one, whose results are equal in all trials, and the other stages."""
    stages = list(pipeline) if isinstance(pipeline, pt.Compose) else [pipeline]
    tuned = [any(t.transformer is part for t in tunables for part in _parts(stage)) for stage in stages]
    first = tuned.index(True) if True in tuned else 0
    return (pt.Compose(*stages[:first]), pt.Compose(*stages[first:])) if first else (None, pipeline)


def _parallel(pipeline: pt.Transformer, jobs: int) -> pt.Transformer:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is experimental")
        with needed(f"jobs={jobs} needs pyterrier-alpha", extra="parallel"):
            return pipeline.parallel(jobs)


def _values(
    tunables: Sequence[_Tunable], parts: Sequence[pd.DataFrame], pipeline: pt.Transformer, evaluated: Any, trial: Any
) -> list[float]:
    """Retrieve and evaluate with the parameters of a trial, in several parts if there is pruning between them."""
    _set(tunables, [tunable.suggested(trial) for tunable in tunables])
    runs: list[pd.DataFrame] = []
    try:
        for part in parts:
            if runs:  # topics without results have one value in all trials
                trial.report(evaluated(runs)[0], len(runs))
                if trial.should_prune():
                    raise _optuna().TrialPruned
            runs.append(pipeline.transform(part.copy()))
        return evaluated(runs)
    except Exception as error:
        error.add_note(f"In trial {trial.number}, with {trial.params}.")
        raise


def _enqueue_present(study: Any, tunables: Sequence[_Tunable], present: Sequence[Any]) -> None:
    """Let the first trial have the current values, if they are in the space."""
    optuna = _optuna()
    params = {tunable.label: value for tunable, value in zip(tunables, present, strict=True)}
    spaces = {tunable.label: tunable.space for tunable in tunables}
    with suppress(ValueError):  # a current value is not in the space
        optuna.trial.create_trial(state=optuna.trial.TrialState.WAITING, params=params, distributions=spaces)
        study.enqueue_trial(params)


def _bar(label: str, trials: int | None, verbose: bool) -> Any:
    """Return the one progress bar of a search."""
    return pt.tqdm(total=trials, desc=label, unit="trial", leave=None, disable=not verbose)


@contextmanager
def _restored(tunables: Sequence[_Tunable]) -> Iterator[list[Any]]:
    """Restore the current values of parameters at the end of the block; yield these values."""
    present = [tunable.present for tunable in tunables]
    try:
        yield present
    finally:
        _set(tunables, present)


def _update_bar(bar: Any, study: Any, trial: Any) -> None:
    """Update the progress bar with the best value so far."""
    if len(study.directions) == 1:
        with suppress(ValueError):  # all trials were pruned so far
            bar.set_postfix_str(f"best {study.user_attrs['measures'][0]} {study.best_value:.4f}", refresh=False)
    bar.update()


def _set(tunables: Sequence[_Tunable], values: Sequence[Any]) -> None:
    for tunable, value in zip(tunables, values, strict=True):
        tunable.transformer.set_parameter(tunable.name, value)


def _check_folds(topics_list: Sequence[pd.DataFrame]) -> None:
    if len(topics_list) < 2:
        raise BadParameter(f"there must be at least two folds of topics, and there is {len(topics_list)}.")
    fold_of: dict[Any, int] = {}
    for fold, topics in enumerate(topics_list, 1):
        for qid in topics["qid"].unique():
            if qid in fold_of:
                raise BadParameter(
                    f"topic {qid!r} is in fold {fold_of[qid]} and in fold {fold}. Folds must not share topics."
                )
            fold_of[qid] = fold


@contextmanager
def _quiet() -> Iterator[ModuleType]:
    """Optuna without log lines for trials."""
    optuna = _optuna()
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield optuna
    finally:
        optuna.logging.set_verbosity(before)


def _optuna() -> ModuleType:
    with needed("a study needs optuna", extra="tune"):
        import optuna
    return optuna

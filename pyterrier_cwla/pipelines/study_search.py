"""Tunes retrieval pipelines with Optuna, in the manner of PyTerrier's grid searches; imports PyTerrier."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from types import ModuleType
from typing import Any, NamedTuple

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
from ir_measures.measures import Measure

from ..errors import BadJudgments, BadParameter, CWLAError, near, some
from ..measures.parsing import measures_of
from ..measures.provider import CWLAProvider


class Tuned(NamedTuple):
    """What a search found."""

    pipeline: pt.Transformer
    """The pipeline that was given, its parameters now set."""
    value: Any
    """The mean of the measure over the judged topics; of several measures, a list of means."""
    setting: list[tuple[pt.Transformer, str, Any]]
    """Transformer, parameter and best value, as pt.GridSearch returns them."""
    study: Any
    """The optuna.Study, of which optuna.visualization and optuna.importance make pictures."""

    @property
    def trials(self) -> pd.DataFrame:
        """One row a trial: its number, the measures (NaN where it was pruned), the parameters, the seconds it took."""
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


def StudySearch(
    pipeline: pt.Transformer,
    params: Mapping[Any, Mapping[str, Any]],
    topics: pd.DataFrame,
    qrels: pd.DataFrame,
    metric: Any = "map",
    trials: int | None = 50,
    seed: int = 0,
    sampler: Any = None,
    pruner: Any = None,
    timeout: float | None = None,
    jobs: int = 1,
    verbose: bool = True,
) -> Tuned:
    """Set a pipeline's parameters to the best that an Optuna study finds, as pt.GridSearch does with those of a grid.

    The first trial is of the present values, where they are in the space, so the best is never worse than they were.
    Whatever the pipeline raises passes through; the parameters are then what they were before.

    Parameters
    ----------
    pipeline : pt.Transformer
        The pipeline to tune.
    params : mapping
        For each transformer of the pipeline its parameters by name, and for each parameter its values:

        * a tuple ``(low, high)``: all numbers between, both ends included; only whole ones where both ends are whole
          and the present value is no float;
        * a list of numbers or texts, True, False or None: one of these;
        * a distribution of Optuna, such as ``optuna.distributions.FloatDistribution(0.1, 10, log=True)``.
    topics, qrels : DataFrame
        As pt.GridSearch takes them. Judgments of other topics do not count.
    metric : str, Measure or list of these
        The measure to maximise, by its name in trec_eval or ir_measures. With several, the study looks for all
        trade-offs between them (``study.best_trials``), and the pipeline is set to the one that is best by the first.
    trials, timeout : int and float, optional
        When to stop, after so many trials or seconds, whichever comes first.
    seed : int
        The seed of the default sampler. Equal seeds give equal trials, whatever ``jobs`` is.
    sampler : optuna.samplers.BaseSampler, optional
        How Optuna chooses settings; by default a tree-structured Parzen estimator.
        ``optuna.samplers.BruteForceSampler()`` tries all of a finite space.
    pruner : optuna.pruners.BasePruner, optional
        With a pruner, topics are retrieved for in five parts, and after each it may end a trial that does worse on the
        same topics than others did; steps are parts.
    jobs : int
        Into how many processes the topics of each trial are split; above 1 it needs pyterrier-alpha[parallel].
    verbose : bool
        Whether to show a progress bar.

    Returns
    -------
    Tuned
        The pipeline, the value, the setting and the study.

    Raises
    ------
    BadParameter
        If the space is empty or of parameters that are not there.
    BadJudgments
        If no topic is judged.

    References
    ----------
    Akiba et al. (2019), Optuna; Bergstra et al. (2011), the estimator.

    Examples
    --------
    >>> import pandas as pd, pyterrier as pt
    >>> found = pd.DataFrame({"qid": "1", "docno": ["long", "short"], "doc_length": [900, 90], "score": [1.1, 1.0]})
    >>> topics, qrels = found[["qid"]].head(1), pd.DataFrame({"qid": ["1"], "docno": ["short"], "label": [1]})
    >>> from pyterrier_cwla.demo import PreferShort
    >>> prefer = PreferShort(strength=0.0)
    >>> pipeline = pt.Transformer.from_df(found) >> prefer
    >>> tuned = StudySearch(pipeline, {prefer: {"strength": (0.0, 0.2)}}, topics, qrels, "TBG", trials=5, verbose=False)
    >>> round(tuned.value, 4), prefer.strength > 0.04
    (0.4928, True)
    """
    tunables = _tunables(pipeline, params)
    measures = _measures(metric)
    if trials is None and timeout is None:
        raise BadParameter("a search must end: give trials= or timeout=.")
    if pruner is not None and len(measures) > 1:
        raise BadParameter(f"Optuna prunes studies of one measure, and here are {len(measures)}: give no pruner.")
    judged, judgments = _judged(topics, qrels)
    head, tail = _split(pipeline, tunables)
    given = head.transform(judged) if head else judged
    trial = _Trial(
        tunables,
        (pt.model.split_df(given, 5) if pruner else []) or [given],
        tail if jobs == 1 else _parallel(tail, jobs),
        _provider(measures).evaluator(measures, judgments),
        measures,
    )
    study = _studied(trial, trials, timeout, seed, sampler, pruner, verbose)
    found = study.best_trials
    if not found:
        raise BadParameter(f"no trial was completed with trials={trials}, timeout={timeout}: give more.")
    best = max(found, key=lambda one: one.values[0])
    setting = [(tunable.transformer, tunable.name, best.params[tunable.label]) for tunable in tunables]
    _set(tunables, [value for _, _, value in setting])
    return Tuned(pipeline, best.values if len(measures) > 1 else best.value, setting, study)


def KFoldStudySearch(
    pipeline: pt.Transformer,
    params: Mapping[Any, Mapping[str, Any]],
    topics_list: Sequence[pd.DataFrame],
    qrels: pd.DataFrame,
    metric: Any = "map",
    verbose: bool = True,
    **search: Any,
) -> tuple[pd.DataFrame, list[Tuned]]:
    """Tunes on all folds of topics but one, and retrieves for that one, for each in turn, as pt.KFoldGridSearch does.

    ``topics_list``: a DataFrame of topics for each fold. ``search``: what else :func:`StudySearch` takes.

    Returns the results for the topics of all folds, each retrieved with parameters that were tuned without it, for
    pt.Experiment; and what was found for each fold. The parameters are then what they were before.
    """
    _check_folds(topics_list)
    tunables = _tunables(pipeline, params)
    results, found = [], []
    for fold, held_out in enumerate(pt.tqdm(topics_list, "KFoldStudySearch", unit="fold", disable=not verbose)):
        others = pd.concat([topics for number, topics in enumerate(topics_list) if number != fold])
        with _restored(tunables):
            found.append(StudySearch(pipeline, params, others, qrels, metric, verbose=verbose, **search))
            results.append(pipeline.transform(held_out))
    return pd.concat(results, ignore_index=True), found


@dataclass(frozen=True)
class _Tunable:
    """A parameter of a transformer, and what it may be."""

    transformer: pt.Transformer
    name: str
    label: str
    """What the study calls it; of different parameters, different."""
    space: Any
    """A distribution of Optuna."""

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
                f"{transformer} is no part of the pipeline {pipeline}, which would not change with it: give the very"
                " object that stands in the pipeline, not a copy."
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
    """All transformers that a pipeline is built from, and itself."""
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
    """The distribution that a tuple, a list or a distribution stands for."""
    distributions = _optuna().distributions
    if isinstance(space, distributions.BaseDistribution):
        return space
    if isinstance(space, tuple):
        if len(space) != 2 or not all(isinstance(end, Real) and not isinstance(end, bool) for end in space):
            raise BadParameter(f"{what} = {space}: a tuple is (low, high), and a list is a choice: {list(space)}.")
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
            raise BadParameter(f"{what}: {choice!r} is no number, text, True, False or None, as Optuna's choices are.")
    return distributions.CategoricalDistribution(choices)


def _measures(metric: Any) -> list[Measure]:
    return [_measure(one) for one in (metric if isinstance(metric, list | tuple) else [metric])]


def _measure(metric: Any) -> Measure:
    """A measure by the names that PyTerrier takes, which are trec_eval's, or else by ours."""
    if isinstance(metric, str):
        try:
            named = ir_measures.parse_trec_measure(metric)
        except ValueError:
            named = measures_of(metric)
        if len(named) > 1:
            raise BadParameter(f"{metric!r} stands for {len(named)} measures: name one, such as {str(named[0])!r}.")
        return named[0]
    return measures_of([metric])[0]


def _provider(measures: Sequence[Measure]) -> Any:
    ours = CWLAProvider()
    return ours if all(map(ours.supports, measures)) else ir_measures.DefaultPipeline


def _judged(topics: pd.DataFrame, qrels: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The topics that are judged, and their judgments."""
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
    """The stages before the first that is tuned, whose results are the same in all trials, and the others."""
    stages = list(pipeline) if isinstance(pipeline, pt.Compose) else [pipeline]
    tuned = [any(t.transformer is part for t in tunables for part in _parts(stage)) for stage in stages]
    first = tuned.index(True) if True in tuned else 0
    return (pt.Compose(*stages[:first]), pt.Compose(*stages[first:])) if first else (None, pipeline)


def _parallel(pipeline: pt.Transformer, jobs: int) -> pt.Transformer:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is experimental")
        return pipeline.parallel(jobs)


@dataclass(frozen=True)
class _Trial:
    """Retrieves with the parameters that a trial suggests, and evaluates."""

    tunables: Sequence[_Tunable]
    parts: Sequence[pd.DataFrame]
    """What the pipeline is given: all topics, or part after part of them, to be pruned in between."""
    pipeline: pt.Transformer
    evaluator: Any
    measures: Sequence[Measure]

    def values(self, trial: Any) -> list[float]:
        _set(self.tunables, [tunable.suggested(trial) for tunable in self.tunables])
        try:
            return self._means(trial)
        except Exception as error:
            error.add_note(f"In trial {trial.number}, with {trial.params}.")
            raise

    def _means(self, trial: Any) -> list[float]:
        runs: list[pd.DataFrame] = []
        for part in self.parts:
            if runs:  # topics without results are 0 in all trials alike
                trial.report(self._evaluated(runs)[0], len(runs))
                if trial.should_prune():
                    raise _optuna().TrialPruned
            runs.append(self.pipeline.transform(part.copy()))
        return self._evaluated(runs)

    def _evaluated(self, runs: list[pd.DataFrame]) -> list[float]:
        run = pt.model.coerce_dataframe_types(pd.concat(runs) if len(runs) > 1 else runs[0])
        means = self.evaluator.calc_aggregate(pt.model.to_ir_measures(run))
        return [float(means[measure]) for measure in self.measures]


def _studied(
    trial: _Trial, trials: int | None, timeout: float | None, seed: int, sampler: Any, pruner: Any, verbose: bool
) -> Any:
    """The optuna.Study of these trials, the first of which is of the present values, where they are in the space."""
    with _quiet() as optuna, _restored(trial.tunables) as present:
        study = optuna.create_study(
            directions=["maximize"] * len(trial.measures),
            sampler=sampler or optuna.samplers.TPESampler(seed=seed),
            pruner=pruner or optuna.pruners.NopPruner(),
        )
        study.set_user_attr("measures", [str(measure) for measure in trial.measures])
        params = {tunable.label: value for tunable, value in zip(trial.tunables, present, strict=True)}
        spaces = {tunable.label: tunable.space for tunable in trial.tunables}
        waiting = optuna.trial.TrialState.WAITING
        try:
            optuna.trial.create_trial(state=waiting, params=params, distributions=spaces)
        except ValueError:  # a present value is not in the space
            pass
        else:
            study.enqueue_trial(params)
        with pt.tqdm(total=trials, desc="StudySearch", unit="trial", leave=None, disable=not verbose) as bar:
            study.optimize(trial.values, trials, timeout, callbacks=[partial(_told, bar)])
    return study


@contextmanager
def _restored(tunables: Sequence[_Tunable]) -> Iterator[list[Any]]:
    """The present values of parameters, to which they are set back in the end."""
    present = [tunable.present for tunable in tunables]
    try:
        yield present
    finally:
        _set(tunables, present)


def _told(bar: Any, study: Any, trial: Any) -> None:
    """Moves the bar on, and shows the best value so far."""
    if len(study.directions) == 1:
        with suppress(ValueError):  # all were pruned so far
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
                raise BadParameter(f"topic {qid!r} is in fold {fold_of[qid]} and in fold {fold}: folds share none.")
            fold_of[qid] = fold


@contextmanager
def _quiet() -> Iterator[ModuleType]:
    """Optuna, without a line for each trial."""
    optuna = _optuna()
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield optuna
    finally:
        optuna.logging.set_verbosity(before)


def _optuna() -> ModuleType:
    try:
        import optuna
    except ImportError as error:
        raise CWLAError("Studies need optuna: pip install 'pyterrier-cwla[tune]'.") from error
    return optuna

"""Parameter tuning of PyTerrier pipelines with Optuna, with an interface similar to pt.GridSearch."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from numbers import Integral, Real
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt

from ..errors import BadJudgments, BadParameter, many, near, some
from ..errors.extras import needed
from ..errors.sanitise import in_picture, sanitised
from ..evaluation.significance import intervals
from ..measures.declarations import better_of
from ..measures.named import measures_of
from ..measures.provider import CWLAProvider, aggregate_of
from ..rendering.figures import (
    GREY,
    STAY,
    axes_of,
    label_points,
    notebook_picture,
    saved,
    small_axes,
    text_colour,
    titled,
)
from ..rendering.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TRIALS = 50  # default number of trials
_CONFIDENCE, _RESAMPLES = 0.95, 10_000


@dataclass(frozen=True)
class Cost:
    """Cost of a pipeline, which a search minimises beside its measures.

    Parameters
    ----------
    of : "mrt", str, pt.Transformer or callable
        What is spent:

        * ``"mrt"``: mean response time, in ms per topic, as in pt.Experiment;
        * another text: column of the results, such as ``"doc_cost"`` or ``"tokens"``, summed over the results of each
          topic;
        * a transformer of the pipeline, such as a reranker: number of rows per topic that it receives;
        * a function of the pipeline and its results that returns a number.
    at_most : float, optional
        Largest allowed value, as a constraint of the study.
    label : str, optional
        Name of the column; by default the text, or the name of the function or of the transformer's class.

    Examples
    --------
    >>> [str(cost) for cost in (Cost("mrt", at_most=50), Cost(lambda pipeline, results: len(results), label="rows"))]
    ['mrt', 'rows']
    """

    of: Any
    at_most: float | None = None
    label: str | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.of, str | pt.Transformer) or callable(self.of)):
            raise BadParameter('must be "mrt", a column of the results, a transformer or a function.', of=self.of)
        if self.at_most is not None and not (isinstance(self.at_most, Real) and np.isfinite(self.at_most)):
            raise BadParameter("must be a finite number.", at_most=self.at_most)

    def __str__(self) -> str:
        if self.label is not None or isinstance(self.of, str):
            return self.label or self.of
        return f"rows of {type(self.of).__name__}" if self._counts_rows else getattr(self.of, "__name__", "cost")

    @property
    def _is_time(self) -> bool:
        return isinstance(self.of, str) and self.of == "mrt"

    @property
    def _counts_rows(self) -> bool:
        return isinstance(self.of, pt.Transformer)

    @property
    def _unit(self) -> str:
        by_topic = isinstance(self.of, str) or self._counts_rows
        return "ms per topic" if self._is_time else "per topic" if by_topic else ""

    def _value(self, pipeline: pt.Transformer, results: pd.DataFrame, spent: float, topics: int) -> float:
        """Return the cost of results; `spent` is what was counted during their retrieval."""
        if self._is_time or self._counts_rows:
            return spent / topics
        if not isinstance(self.of, str):
            found = self.of(pipeline, results)
        elif self.of not in results:
            raise BadParameter(f"the results have no column {self.of!r} for Cost({self.of!r}): {some(results, 12)}.")
        else:
            found = results[self.of]
        try:
            value = float(found.astype(float).sum(skipna=False)) / topics if isinstance(self.of, str) else float(found)
        except (TypeError, ValueError) as error:
            raise BadParameter(f"the cost {str(self)!r} of the results is no number: {error}.") from error
        if not np.isfinite(value):
            raise BadParameter(f"the cost {str(self)!r} of the results is {value}, and must be a finite number.")
        return value


class Tuned(NamedTuple):
    """Result of :func:`OptunaSearch`.

    Attributes
    ----------
    pipeline : pt.Transformer
        Tuned pipeline: the same object as the argument, with the best parameters.
    value : float or list of float
        Mean of the measure over the judged topics; a list of means, and then of costs, for several measures or costs.
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
        """One row per trial: number, measures and costs (NaN for pruned trials), parameters, and seconds."""
        measures = self.study.user_attrs["measures"]
        missing = [np.nan] * len(measures)
        return pd.DataFrame(
            {
                "trial": trial.number,
                **dict(zip(measures, trial.values if trial.state.name == "COMPLETE" else missing, strict=True)),
                **trial.params,
                "seconds": trial.duration.total_seconds(),
            }
            for trial in self.study.trials
        )

    @property
    def front(self) -> pd.DataFrame:
        """Settings that no other one within the limits beats, best first by the first measure.

        One row per setting: trial, parameters, measures and costs. Each measure that is a mean over topics is followed
        by the ends of its 95 % interval (percentile bootstrap over topics; NaN for a single topic).
        """
        first, *_ = measures = self.study.user_attrs["measures"]
        found = {trial.number: trial for trial in self.study.best_trials}
        table = self.trials.set_index("trial", drop=False).loc[list(found)]
        table = table[["trial", *next(iter(found.values())).params, *measures]]
        lower = self.study.directions[0].name == "MINIMIZE"
        table = table.sort_values(first, ascending=lower, kind="stable").drop_duplicates(table.columns[1:].tolist())
        for measure in next(iter(found.values())).user_attrs.get("by_topic", {}):
            ends = np.array([_interval(found[number].user_attrs["by_topic"][measure]) for number in table.index])
            for place, end, name in zip((1, 2), ends.T, ("low", "high"), strict=True):
                table.insert(table.columns.get_loc(measure) + place, f"{measure} {name}", end)
        return table.reset_index(drop=True)

    def plot_front(self, ax: Axes | None = None, path: Any = None) -> Axes:
        """Draw the front: the first measure, with its intervals, by the first cost or second measure.

        Numbers at the points are those of the trials in :attr:`front`; grey points are the other trials.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default those of a new figure.
        path : path, optional
            File to save the figure to.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        BadParameter
            If the search had one measure and no cost.
        """
        names, units, limits = (self.study.user_attrs[key] for key in ("measures", "units", "limits"))
        if len(names) < 2:
            raise BadParameter("a search by one measure has no front: give several measures, or a Cost.")
        y, x, *others = names
        trials, front = self.trials.dropna(subset=[x, y]), self.front
        ax = axes_of(ax, (7, 3.6))
        ax.plot(trials[x], trials[y], ".", color=GREY, markersize=5)
        if f"{y} low" in front:
            ax.vlines(front[x], front[f"{y} low"], front[f"{y} high"], color=STAY, linewidth=1)
        steps = "steps-post" if self.study.directions[1].name == "MINIMIZE" else "steps-pre"
        line = front.sort_values(x)
        ax.plot(line[x], line[y], marker="o", linestyle="" if others else "-", drawstyle=steps, color=STAY, linewidth=1)
        if x in limits:
            ax.axvline(limits[x], color=GREY, linestyle=":", linewidth=1)
        ax.set_xlabel(in_picture(f"{x} ({units[x]})" if units.get(x) else x))
        ax.set_ylabel(in_picture(y))
        about = f"{many(len(front), 'setting')} of {many(len(trials), 'trial')} on the Pareto front"
        about += ", with 95 % intervals over topics" if f"{y} low" in front else ""
        titled(ax, about + (", and the limit (dotted)" if x in limits else ""))
        places = zip(front[x], front[y], strict=True)
        points = trials[[x, y]].to_numpy()
        if f"{y} low" in front:  # labels beside the intervals
            heights = np.linspace(front[f"{y} low"], front[f"{y} high"], 20)
            points = np.concatenate([points, np.column_stack([np.tile(front[x], 20), heights.ravel()])])
        label_points(ax, dict(zip(map(str, front["trial"]), places, strict=True)), points, text_colour())
        return saved(ax, path)

    @sanitised
    def _repr_html_(self) -> str:
        """Return the best value, its parameters, and the values of the trials."""
        measures, trials = self.study.user_attrs["measures"], self.trials
        values = [self.value] if len(measures) == 1 else list(self.value)
        found = ", ".join(f"{measure} {value:.4f}" for measure, value in zip(measures, values, strict=True))
        pruned = int(trials[measures[0]].isna().sum())
        head = f"best of {many(len(trials), 'trial')}" + (f", {pruned:,} of them pruned" if pruned else "")
        if len(measures) > 1:
            front = self.front
            head += f" by {measures[0]}; {many(len(front), 'setting')} on the Pareto front, .front"
        rows = [[type(transformer).__name__, name, _written(value)] for transformer, name, value in self.setting]
        table = Table.from_cells({"": rows}, ["transformer", "parameter", "best value"], ["name", "name"]).html()
        if len(measures) > 1:
            ranges = [f"{name} from {front[name].min():.4g} to {front[name].max():.4g}" for name in measures[:2]]
            picture = notebook_picture(self.plot_front, (5, 2.8), f"Pareto front: {' and '.join(ranges)}.")
            return f"<p><b>{escape(found)}</b> ({escape(head)})</p>{table}{picture}{Table.from_frame(front).html()}"
        minimised = self.study.directions[0].name == "MINIMIZE"
        return f"<p><b>{escape(found)}</b> ({escape(head)})</p>{table}{_picture(trials[measures[0]], minimised)}"


def _interval(by_topic: Sequence[float]) -> list[float]:
    """Return the ends of the interval of a mean over the topics that have a value."""
    values = np.array(by_topic)
    values = values[~np.isnan(values)]
    if len(values) < 2:
        return [np.nan, np.nan]
    return [float(end[0]) for end in intervals(values[None], lambda means: means, _CONFIDENCE, _RESAMPLES, 0)]


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
    space, so that the result is never worse than these, unless they exceed the limit of a cost. If the pipeline raises
    an error, the error propagates and the parameters are restored.

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
    metric : str, Measure, Cost, list of these, or dict of these by label
        Measure to maximise, or its name in trec_eval or ir_measures (default "map"). Measures of which less is better,
        such as ``CWLA(C=…, A="effort")``, are minimised, as are costs: ``[TBG, Cost("mrt")]``. For several measures and
        costs, the study searches for the Pareto front (``Tuned.front``) within the limits of costs, and the pipeline
        gets the setting that is best by the first measure. Response times include those of stages that are not tuned,
        which run only once; one topic is retrieved before the first measured time.
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
        If the search space is empty or has unknown parameters, or no trial was completed or within the limits.
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

    With a cost and its limit, the documents' words in place of time:

    >>> cut = pt.RankCutoff(2)
    >>> words = Cost("doc_length", at_most=950)
    >>> space = {cut: {"k": [1, 2]}, prefer: {"strength": [0.0, 0.2]}}
    >>> tuned = OptunaSearch(pipeline >> cut, space, topics, qrels, ["nDCG@10", words], trials=15, verbose=False)
    >>> tuned.front[["RankCutoff.k", "PreferShort.strength", "nDCG@10", "doc_length"]]
       RankCutoff.k  PreferShort.strength  nDCG@10  doc_length
    0             1                   0.2      1.0        90.0
    """
    tunables = _tunables(pipeline, params)
    measures, costs = _objectives(metric)
    names = [str(one) for one in (*measures, *costs)]
    _check_costs(costs, pipeline, jobs)
    others = Counter(["trial", "seconds", *(tunable.label for tunable in tunables), *names])
    for name in names:
        if others[name] > 1:
            raise BadParameter(f"the table of trials has another column {name!r}. Give the measure or cost a label.")
    if trials is None and timeout is None:
        raise BadParameter("a search must end. Give trials= or timeout=.")
    if pruner is not None and len(names) > 1:
        raise BadParameter(
            f"Optuna prunes studies of one measure only, and there are {len(names)}. Leave out the pruner."
        )
    judged, judgments = _judged(topics, qrels)
    head, tail = _split(pipeline, tunables)
    if any(cost._is_time for cost in costs):
        pipeline.transform(judged.head(1))  # models and indexes may be loaded now
    given, earlier = _metered(head, judged, costs) if head else (judged, [0.0] * len(costs))
    ours = CWLAProvider()
    provider = ours if all(map(ours.supports, measures)) else ir_measures.DefaultPipeline
    evaluator = provider.evaluator(measures, judgments)
    parts = (pt.model.split_df(given, 5) if pruner else []) or [given]
    tried = tail if jobs == 1 else _parallel(tail, jobs)

    qids = sorted(judgments["query_id"].unique())

    def evaluated(trial: Any, runs: list[pd.DataFrame], spent: Sequence[float] = ()) -> list[float]:
        run = pt.model.coerce_dataframe_types(pd.concat(runs))
        found: Any = evaluator.calc(pt.model.to_ir_measures(run))
        values = [float(found.aggregated[measure]) for measure in measures]
        if len(names) == 1:
            return values
        of_topic = {(one.measure, one.query_id): float(one.value) for one in found.per_query}
        means = [measure for measure in measures if aggregate_of(measure) == "mean"]
        by_topic = {str(measure): [of_topic.get((measure, qid), np.nan) for qid in qids] for measure in means}
        trial.set_user_attr("by_topic", by_topic)
        for cost, before, now in zip(costs, earlier, spent, strict=True):
            values.append(cost._value(pipeline, run, before + now, judged["qid"].nunique()))
            if cost.at_most is not None:
                trial.set_constraint(str(cost), values[-1] - cost.at_most)
        return values

    with _quiet() as optuna, _restored(tunables) as present:
        study = optuna.create_study(
            directions=["minimize" if better_of(one) == "lower" else "maximize" for one in measures]
            + ["minimize"] * len(costs),
            sampler=sampler or optuna.samplers.TPESampler(seed=seed),
            pruner=pruner or optuna.pruners.NopPruner(),
        )
        study.set_user_attr("measures", names)
        study.set_user_attr("units", {str(cost): cost._unit for cost in costs})
        study.set_user_attr("limits", {str(cost): cost.at_most for cost in costs if cost.at_most is not None})
        _enqueue_present(study, tunables, present)
        with nullcontext(verbose) if hasattr(verbose, "update") else _bar("OptunaSearch", trials, verbose) as bar:
            study.optimize(
                partial(_values, tunables, parts, tried, evaluated, costs),
                trials,
                timeout,
                callbacks=[partial(_update_bar, bar)],
            )
    found = study.best_trials
    if not found:
        done = [trial.values for trial in study.trials if trial.state.name == "COMPLETE"]
        if done:
            least = dict(zip(names, np.min(done, axis=0), strict=True))
            lowest = ", ".join(f"{name} {least[name]:.4g}" for name in study.user_attrs["limits"])
            raise BadParameter(f"none of {many(len(done), 'trial')} is within the limits. The lowest: {lowest}.")
        raise BadParameter(f"no trial was completed with trials={trials}, timeout={timeout}. Give more.")
    sign = -1 if better_of(measures[0]) == "lower" else 1
    best = max(found, key=lambda one: sign * one.values[0])
    setting = [(tunable.transformer, tunable.name, best.params[tunable.label]) for tunable in tunables]
    _set(tunables, [value for _, _, value in setting])
    return Tuned(pipeline, best.values if len(names) > 1 else best.value, setting, study)


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


def _objectives(metric: Any) -> tuple[list[Any], list[Cost]]:
    """Return measures, and costs under their labels."""
    if isinstance(metric, Mapping):
        costs = [replace(one, label=label) for label, one in metric.items() if isinstance(one, Cost)]
        metric = {label: one for label, one in metric.items() if not isinstance(one, Cost)}
    else:
        given = metric if isinstance(metric, list | tuple) else [metric]
        costs = [one for one in given if isinstance(one, Cost)]
        metric = [one for one in given if not isinstance(one, Cost)] if costs else metric
    if costs and not metric:
        raise BadParameter("there is no measure beside the costs: give one too, such as metric=[TBG, Cost('mrt')].")
    return measures_of(metric), costs


def _check_costs(costs: Sequence[Cost], pipeline: pt.Transformer, jobs: int) -> None:
    """Raise BadParameter if a cost cannot be counted."""
    parts = _parts(pipeline)
    for cost in costs:
        if isinstance(cost.of, pt.Compose) and cost.of is pipeline:  # it runs in two parts
            raise BadParameter(f"the cost {str(cost)!r} is that of the whole pipeline. Give a stage of it.")
        if cost._counts_rows and not any(cost.of is part for part in parts):
            raise BadParameter(
                f"{cost.of} is not in the pipeline {pipeline}. Give the same object as in the pipeline, not a copy."
            )
        if jobs != 1 and (cost._is_time or cost._counts_rows):
            raise BadParameter(f"with several processes, the cost {str(cost)!r} cannot be counted.", jobs=jobs)


def _metered(pipeline: pt.Transformer, inp: pd.DataFrame, costs: Sequence[Cost]) -> tuple[pd.DataFrame, list[float]]:
    """Return results and, for each cost, the ms of their retrieval, or the rows that its transformer received."""
    with ExitStack() as stack:
        counts = [stack.enter_context(_counted(cost.of)) if cost._counts_rows else [] for cost in costs]
        began = perf_counter()
        results = pipeline.transform(inp)
        ms = 1000 * (perf_counter() - began)
    return results, [ms if cost._is_time else float(sum(rows)) for cost, rows in zip(costs, counts, strict=True)]


@contextmanager
def _counted(transformer: Any) -> Iterator[list[int]]:
    """Count the rows that a transformer receives within the block."""
    rows: list[int] = []
    transform, own = transformer.transform, "transform" in vars(transformer)

    def counting(inp: pd.DataFrame) -> pd.DataFrame:
        rows.append(len(inp))
        return transform(inp)

    transformer.transform = counting
    try:
        yield rows
    finally:
        if own:
            transformer.transform = transform
        else:
            del transformer.transform


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
    tunables: Sequence[_Tunable],
    parts: Sequence[pd.DataFrame],
    pipeline: pt.Transformer,
    evaluated: Callable[..., list[float]],
    costs: Sequence[Cost],
    trial: Any,
) -> list[float]:
    """Retrieve and evaluate with the parameters of a trial, in several parts if there is pruning between them."""
    _set(tunables, [tunable.suggested(trial) for tunable in tunables])
    runs: list[pd.DataFrame] = []
    try:
        for part in parts:
            if runs:  # topics without results have one value in all trials
                trial.report(evaluated(trial, runs)[0], len(runs))
                if trial.should_prune():
                    raise _optuna().TrialPruned
            results, spent = _metered(pipeline, part.copy(), costs)
            runs.append(results)
        return evaluated(trial, runs, spent)
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

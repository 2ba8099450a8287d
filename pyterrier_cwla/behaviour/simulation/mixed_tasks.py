"""Inputs of simulations with several user models: one for each class of users, or one for each topic."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from ir_measures.measures import Measure

from ...files.inputs import loaded, runs_by_name
from ...measures.mixtures import Combination, Mixture
from ...measures.parsing import measures_of
from ...measures.provider import CWLAEvaluator, judged
from ...measures.wrappers import pinned
from ...model.metric import Metric
from .user_paths import WHAT, Course, Task

Array = np.ndarray


@dataclass(frozen=True)
class MixedTask(Task):
    """Inputs of a simulation of a mixture; ``metric`` is that of the first class.

    Attributes
    ----------
    tasks : dict of str to Task
        The simulation of each class.
    shares : ndarray, shape (n_classes,)
        Probability of each class.
    """

    tasks: dict[str, Task]
    shares: Array

    def outcomes(self, qid: str) -> tuple[Array, Array, Array]:
        """Simulate all users of a query on each run, each user as one of the class that :meth:`classes` gives."""
        of_class = self.classes(qid)
        results = np.zeros((len(self.rankings), len(WHAT), self.users))
        beyond, never = np.zeros((2, len(self.rankings)), np.int64)
        for number, task in enumerate(self.tasks.values()):
            courses = task.courses(qid)
            for block, luck in task.blocks(qid):
                mine = of_class[block] == number
                for run, course in enumerate(courses):
                    if course is not None and mine.any():
                        outcome = course.outcome(luck)
                        results[run, :, block][:, mine] = outcome.values[:, mine]
                        beyond[run] += np.count_nonzero(outcome.beyond[mine])
                        never[run] += np.count_nonzero(outcome.never[mine])
        return results, beyond, never

    def classes(self, qid: str) -> Array:
        """Return the number of the class of each user."""
        return np.concatenate([luck.chosen(self.shares) for _, luck in self.blocks(qid)])

    def class_of_users(self, qid: str) -> list[str]:
        """Return the name of the class of each user."""
        return np.array([*self.tasks], object)[self.classes(qid)].tolist()

    @property
    def metrics(self) -> list[Metric]:
        """User models of the classes."""
        return [task.metric for task in self.tasks.values()]

    @cached_property
    def unit(self) -> str:
        """Unit of the efforts, or "effort" if that of the classes differs."""
        units = {task.unit for task in self.tasks.values()}
        return units.pop() if len(units) == 1 else "effort"


@dataclass(frozen=True)
class TopicTask(Task):
    """Inputs of a simulation with a user model for each topic; ``metric`` is that of the first topic.

    Attributes
    ----------
    of_topic : dict of str to Task
        The simulation of each topic.
    """

    of_topic: dict[str, Task]

    def courses(self, qid: str) -> list[Course | None]:
        """Return the ranking of each run for a query, with the user model of this query."""
        return self.of_topic[qid].courses(qid)

    def listed(self, name: str, qid: str) -> dict[str, Array]:
        """Return the documents of a ranking as columns of a log."""
        return self.of_topic[qid].listed(name, qid)

    @property
    def metrics(self) -> list[Metric]:
        """User models of the topics."""
        return [task.metric for task in self.of_topic.values()]


def task_of(qrels: Any, runs: Any, measure: Any, users: int, seed: int, reading: str, sampling: str) -> Task:
    """Return the task of a measure that follows one user model, several (Mixture), or one for each topic (ByTopic)."""
    (measure,) = pinned(measures_of([measure]))
    if not isinstance(measure, Combination):
        return Task.of(qrels, runs, measure, users, seed, reading, sampling)
    judgments = judged(loaded(qrels, "qrels"))
    named = {name: loaded(run, "run") for name, run in runs_by_name(runs).items()}

    def task(one: Any) -> Task:
        return task_of(judgments, named, one, users, seed, reading, sampling)

    evaluator = CWLAEvaluator([measure], judgments)
    analytic = {str(name): evaluator.tables([judgments.rows(run)])[0][measure] for name, run in named.items()}
    if isinstance(measure, type(Mixture)):
        classes = measure.classes
        tasks = {name: task(one) for name, (one, _) in classes.items()}
        shares = np.array([share for _, share in classes.values()])
        return MixedTask(**_fields(tasks, measure, analytic), tasks=tasks, shares=shares)
    by_topic: Any = measure
    own = {qid: by_topic.of_topic(qid) for qid in judgments.qids}
    by_measure: dict[Measure, Task] = {one: task(one) for one in dict.fromkeys(own.values())}
    of_topic = {qid: by_measure[one] for qid, one in own.items()}
    return TopicTask(**_fields(of_topic, measure, analytic), of_topic=of_topic)


def _fields(tasks: dict[str, Task], measure: Any, analytic: dict[str, Array]) -> dict[str, Any]:
    """Return the fields of a task, from the first of several tasks on the same runs."""
    first = next(iter(tasks.values()))
    return {field.name: getattr(first, field.name) for field in fields(Task)} | {
        "measure": measure,
        "analytic": analytic,
    }

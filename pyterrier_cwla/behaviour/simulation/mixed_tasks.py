"""Inputs of simulations whose users belong to classes, each with its own measure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...files.inputs import loaded, runs_by_name
from ...measures.mixtures import Mixture
from ...measures.parsing import measures_of
from ...measures.provider import CWLAEvaluator, prepare
from ...measures.wrappers import pinned
from ...model.metric import Metric
from .user_paths import WHAT, Task

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


def task_of(qrels: Any, runs: Any, measure: Any, users: int, seed: int, reading: str, sampling: str) -> Task:
    """Return the task of a measure that follows a user model, or of a mixture of such measures."""
    (measure,) = pinned(measures_of([measure]))
    if not isinstance(measure, type(Mixture)):
        return Task.of(qrels, runs, measure, users, seed, reading, sampling)
    judgments = prepare(loaded(qrels, "qrels"))
    named = {name: loaded(run, "run") for name, run in runs_by_name(runs).items()}
    leaves = measure.classes
    tasks = {name: Task.of(judgments, named, one, users, seed, reading, sampling) for name, (one, _) in leaves.items()}
    first = next(iter(tasks.values()))
    evaluator = CWLAEvaluator([measure], judgments)
    analytic = {name: evaluator.tables([judgments.rows(run)])[0][measure] for name, run in named.items()}
    return MixedTask(
        **{**vars(first), "measure": measure, "analytic": {str(name): found for name, found in analytic.items()}},
        tasks=tasks,
        shares=np.array([share for _, share in leaves.values()]),
    )

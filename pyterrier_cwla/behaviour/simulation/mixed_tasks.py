"""Inputs of simulations with several user models: one for each class of users, each intent, or each topic."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from ir_measures.measures import Measure

from ...data.arrays import Array
from ...files.inputs import loaded, runs_by_name
from ...measures.mixtures import Combination, Mixture
from ...measures.parsing import measures_of
from ...measures.provider import CWLAEvaluator, judged
from ...measures.wrappers import NOBODY, IntentAware, pinned
from ...model.metric import Metric
from .user_paths import WHAT, Course, Task


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
            if not (of_class == number).any():
                continue
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
        names = {number: name for name, number in self.numbers(qid).items()}
        return [names[number] for number in self.classes(qid).tolist()]

    def numbers(self, qid: str) -> dict[str, int]:
        """Return the number of each class of the users of a query, by name."""
        return {name: number for number, name in enumerate(self.tasks)}

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
class IntentTask(MixedTask):
    """Inputs of a simulation of an intent-aware measure, whose users belong to intents.

    Attributes
    ----------
    tasks : dict of str to Task
        The simulation with the first intent of each query, the second, and so on; the last is of users whose intent has
        no judgments, who score 0.
    shares : ndarray, shape (n_intents + 1, n_queries)
        Probability of each intent of each query.
    names : list of dict
        Name of each intent by the number of the query.
    """

    names: list[dict[int, str]]

    def outcomes(self, qid: str) -> tuple[Array, Array, Array]:
        """Simulate all users of a query on each run, each user with the intent that :meth:`classes` gives."""
        results, beyond, never = super().outcomes(qid)
        results[:, WHAT.index("score"), self.classes(qid) == len(self.names) - 1] = 0.0
        return results, beyond, never

    def classes(self, qid: str) -> Array:
        """Return the number of the intent of each user."""
        numbers = np.array([*self.numbers(qid).values()])
        shares = self.shares[numbers, self.judgments.index[qid]]
        return np.concatenate([numbers[luck.chosen(shares)] for _, luck in self.blocks(qid)])

    def numbers(self, qid: str) -> dict[str, int]:
        """Return the number of each intent of a query that has users, by name."""
        query = self.judgments.index[qid]
        return {
            called[query]: number for number, called in enumerate(self.names) if self.shares[number, query] > NOBODY
        }


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
    """Return the task of a measure with one user model, several (Mixture, IntentAware), or one by topic (ByTopic)."""
    (measure,) = pinned(measures_of([measure]))
    if not isinstance(measure, Combination | type(IntentAware)):
        return Task.of(qrels, runs, measure, users, seed, reading, sampling)
    judgments = judged(loaded(qrels, "qrels"))
    named = {name: loaded(run, "run") for name, run in runs_by_name(runs).items()}

    def task(one: Any) -> Task:
        kind = Task.of if isinstance(one, type(IntentAware)) else task_of  # the first one raises
        return kind(judgments, named, one, users, seed, reading, sampling)

    evaluator = CWLAEvaluator([measure], judgments)
    analytic = {str(name): evaluator.tables([judgments.rows(run)])[0][measure] for name, run in named.items()}
    if isinstance(measure, type(IntentAware)):
        called, intents, by_intent = zip(*measure.users_by_intent(judgments), strict=True)
        of_intent = {
            str(number): Task.of(own, named, measure.inner, users, seed, reading, sampling)
            for number, own in enumerate(by_intent)
        }
        return IntentTask(
            **_fields(of_intent, measure, analytic), tasks=of_intent, shares=np.array(intents), names=[*called]
        )
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

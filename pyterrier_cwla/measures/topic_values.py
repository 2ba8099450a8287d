"""Values of topics, each by the measure of this topic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.alignment import Aligned
from ..data.ranked_rows import Judged
from ..data.rankings import Array, Rankings
from ..errors import BadJudgments, some
from .computing import Computation, Needs, Values
from .mixtures import needs_of_all


@dataclass(frozen=True)
class OverTopics:
    """Computation that gives each topic the value by its own computation.

    Attributes
    ----------
    parts : list of (Computation, frozenset of str)
        Computations with their topics.
    other : Computation or None
        The computation of all other topics; None if they are an error.
    name : str
        Name of the measure, for errors.
    """

    parts: list[tuple[Computation, frozenset[str]]]
    other: Computation | None
    name: str

    @property
    def needs(self) -> Needs:
        """Data that any of the computations reads."""
        others = [] if self.other is None else [self.other]
        return needs_of_all([*(part for part, _ in self.parts), *others])

    def prepare(self, judgments: Judged) -> Values:
        """Return the function that maps rankings to values.

        Raises
        ------
        BadJudgments
            If a judged topic has no computation, or no judged topic has parameters of its own.
        """
        qids = judgments.qids
        owned = [(part, np.array([qid in topics for qid in qids], bool)) for part, topics in self.parts]
        known = np.any([mine for _, mine in owned], axis=0) if owned else np.zeros(len(qids), bool)
        lacking = [qid for qid, found in zip(qids, known.tolist(), strict=True) if not found]
        if lacking and (self.other is None or len(lacking) == len(qids)):
            listed = some(sorted(topic for _, topics in self.parts for topic in topics))
            way_out = "" if self.other is not None else ", or write other='measure' for the measure as it is"
            raise BadJudgments(
                f"{self.name}: {len(lacking):,} of {len(qids):,} judged topics have no parameters ({some(lacking)});"
                f" the table has {listed}. Add them{way_out}."
            )
        if self.other is not None:
            owned.append((self.other, ~known))
        work = [(part.prepare(judgments), mine) for part, mine in owned if mine.any()]

        def values(aligned: Aligned) -> Array:
            first, *others = (of_topics(_OfTopics(aligned, mine)) for of_topics, mine in work)
            return sum(others, first)

        return values


class _OfTopics(Aligned):
    """Aligned runs in which only some topics have results."""

    def __init__(self, aligned: Aligned, mine: Array) -> None:
        self.aligned, self.mine = aligned, mine

    def rankings(self, all_judged: bool = False) -> Rankings:
        whole = self.aligned.rankings(all_judged)
        topic = whole.of_pool(np.arange(whole.pool.queries)) % len(self.mine)
        return whole.emptied(~self.mine[topic])

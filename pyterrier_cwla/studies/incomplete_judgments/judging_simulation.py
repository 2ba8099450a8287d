"""Simulation of judging: existing judgments are hidden and revealed in several orders until runs are ranked alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..._version import __version__
from ...errors import BadJudgments, BadParameter, many, near
from ...errors.parameter_checks import check_whole
from ...rendering.figures import GREY, axes_of, titled
from ...rendering.labels import label_ends, measure_look
from ...tasks.hashing import fingerprint
from ..correlation import TAUS, rounded, tau
from ..report import Finding, Picture, Table
from ..study import Study
from .judging_order import all_pairs, compared_pairs, grades_of, one_measure
from .masked_scores import best_ranks
from .missing_judgments import NOWHERE
from .pair_changes import PairChanges
from .possible_changes import Candidates
from .system_order import KNEE
from .work import hash_of_input

Array = np.ndarray
Order = Callable[[Array, Array], Array]
"""A function from masks of the judged and of the hidden documents to the hidden documents, the next one first."""
ORDERS = ("open", "all", "rank", "random")
_WORDS = {"open": "changes of open pairs", "all": "changes of all pairs", "rank": "best rank", "random": "random"}


@dataclass(frozen=True, eq=False, repr=False)
class SimulatedJudging(Study):
    """Order of runs after each number of judgments, for several orders of judging.

    The result of :func:`simulated_judging`.

    Attributes
    ----------
    steps : DataFrame
        A row for each order of judging and number of judgments: ``order``, ``judgments``, ``tau`` to the order of runs
        by all judgments, and ``different_pairs``, the number of pairs of runs that are in another order, or tie in one
        of both orders alone.
    needed : DataFrame
        A row for each order of judging: the judgments after which τ stays above 0.9 (``knee``), and those after which
        the order of runs stays that by all judgments (``same_order``).
    about : dict
        Settings, sizes and hash of the input.
    """

    always_tables = ("needed", "steps")
    always_pictures = ("steps",)

    about: dict[str, Any]
    steps: pd.DataFrame
    needed: pd.DataFrame

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title of the report."""
        return f"Simulated judging: {self._sizes}"

    @property
    def _sizes(self) -> str:
        about = self.about
        return f"{about['measure']}, {many(about['runs'], 'run')}, {many(about['queries'], 'topic')}"

    def tables(self) -> dict[str, Table]:
        """Return the tables of the report by file name."""
        of = f"{self.about['judgments']:,} judgments of documents of these runs; {self._sizes}."
        return {
            "needed": Table("Judgments needed", f"In steps of {self.about['batch']:,}, of {of}", self.needed),
            "steps": Table(
                "Order of runs", f"{TAUS[self.about['tau']]} to the order by all judgments; {of}", self.steps
            ),
        }

    def pictures(self) -> dict[str, Picture]:
        """Return the pictures of the report by file name."""
        about = f"{TAUS[self.about['tau']]} to the order of runs by all judgments; {self._sizes}."
        drawn = partial(plot_judging, self)
        return {"steps": Picture("Order of runs by the number of judgments", about, drawn, self.steps)}

    def headline(self) -> str:
        """Return what was found, in one sentence."""
        best = self.needed.sort_values(["same_order", "knee"], kind="stable").iloc[0]
        others = self.needed[self.needed["order"] != best["order"]]
        of = ", ".join(f"{row.same_order:,} by {row.order}" for row in others.itertuples())
        return (
            f"The order of runs by all {self.about['judgments']:,} judgments needs {best.same_order:,} judgments if"
            f" documents are judged by {best['order']}" + (f"; {of}." if of else ".")
        )

    def findings(self) -> list[str]:
        """Return the findings, one sentence each."""
        kind = TAUS[self.about["tau"]]
        knees = ", ".join(f"{row.knee:,} by {row.order}" for row in self.needed.itertuples())
        return [Finding(f"{kind} stays above {KNEE} from these numbers of judgments on: {knees}.", "steps")]

    def limits(self) -> list[str]:
        """Return conclusions that the study does not support, one sentence each."""
        return [
            "Documents without a judgment in this collection cannot be judged in the simulation.",
            "A collection that was pooled by depth has judgments where that order asks for them.",
            "That the order stays the same is known only because all judgments are.",
        ]


def simulated_judging(
    qrels: Any,
    runs: Any,
    measure: Any,
    *,
    orders: Sequence[str] = ORDERS,
    batch: int = 100,
    tau: str = "b",
    seed: int = 0,
) -> SimulatedJudging:
    """Hide judgments, reveal them in several orders, and compare the order of runs with that by all judgments.

    Judgments of documents that a run retrieves are hidden at first. Those of other documents are never hidden: they
    are the same for all orders.

    Parameters
    ----------
    qrels, runs, measure
        As for :func:`next_judgments`.
    orders : sequence of {"open", "all", "rank", "random"}
        Orders of judging, by default all four:

        * "open", "all": by the largest changes of differences of runs, as :func:`next_judgments` computes them for open
          pairs and for all pairs; computed anew after each batch;
        * "rank": by the best rank in any run, as in a pool that is judged to depth 1, then 2, and so on; documents of
          one rank in random order;
        * "random": in random order.
    batch : int, default=100
        Number of judgments between two comparisons.
    tau : {"a", "b", "ap", "ap_symmetric"}, default="b"
        Kind of τ; 0 where it is not defined, because all runs tie.
    seed : int, default=0
        Seed of the random orders.

    Returns
    -------
    SimulatedJudging

    Raises
    ------
    BadParameter
        As :func:`next_judgments`, or if there is no such order or kind of τ.
    BadJudgments
        If no retrieved document is judged.

    References
    ----------
    Moffat, Webber and Zobel (2007); Zobel (1998) for pools by depth.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(2)
    >>> qrels = {str(q): {f"d{d}": int(rng.random() < 0.2) for d in range(60)} for q in range(8)}
    >>> def run(noise):
    ...     scored = {q: {d: g + noise * rng.normal() for d, g in judged.items()} for q, judged in qrels.items()}
    ...     return {q: dict(sorted(of.items(), key=lambda pair: -pair[1])[:15]) for q, of in scored.items()}
    >>> runs = {name: run(noise) for name, noise in {"A": 1.0, "B": 1.4, "C": 2.0, "D": 3.0}.items()}
    >>> simulated_judging(qrels, runs, "RBP(rel=1)", batch=10).needed
                       order  knee  same_order
    0  changes of open pairs   140         140
    1   changes of all pairs   180         180
    2              best rank   180         180
    3                 random   330         330
    """
    if not orders:
        raise BadParameter(f"orders is empty: give at least one of {', '.join(ORDERS)}.")
    for order in orders:
        if order not in ORDERS:
            raise BadParameter(f"no order {order!r} of judging. {near(str(order), ORDERS)}")
    if tau not in TAUS:
        raise BadParameter(f"no τ of kind {tau!r}. {near(str(tau), TAUS)}")
    check_whole(1, batch=batch)
    check_whole(0, seed=seed)
    name, wanted = one_measure(measure)
    candidates = Candidates.of(qrels, runs, wanted)
    hidden = ~candidates.unjudged & (best_ranks(candidates.masking.whole) < NOWHERE)
    if not hidden.any():
        raise BadJudgments("no document of these runs is judged, so that there is nothing to reveal.")
    full = rounded(candidates.scores(~candidates.unjudged).mean(axis=1))
    ways = _orders(candidates, seed)
    parts = []
    for order in dict.fromkeys(orders):
        means = [candidates.scores(judged).mean(axis=1) for judged in _revealed(candidates, hidden, ways[order], batch)]
        parts.append(_steps(_WORDS[order], np.array(means), full, int(hidden.sum()), batch, tau))
    steps = pd.concat(parts, ignore_index=True)
    about = {
        "version": __version__,
        "measure": name,
        "measures": {name: repr(wanted)},
        "runs": len(full),
        "queries": candidates.masking.queries,
        "judgments": int(hidden.sum()),
        "batch": batch,
        "tau": tau,
        "seed": seed,
        "input": fingerprint(hash_of_input(candidates.masking), candidates.judged),
    }
    return SimulatedJudging(about, steps, _needed(steps))


def _revealed(candidates: Candidates, hidden: Array, order: Order, batch: int) -> Iterator[Array]:
    """Yield masks of the judged documents: none of the hidden ones, one batch more each time, and all."""
    judged = ~candidates.unjudged & ~hidden
    while True:
        yield judged
        left = hidden & ~judged
        if not left.any():
            return
        judged = judged.copy()
        judged[order(judged, left)[:batch]] = True


def _orders(candidates: Candidates, seed: int) -> dict[str, Order]:
    drawn = np.random.default_rng(seed).random(len(candidates.judged))
    best = best_ranks(candidates.masking.whole)

    def by(*keys: Array) -> Order:
        def order(judged: Array, left: Array) -> Array:
            documents = np.flatnonzero(left)
            return documents[np.lexsort([key[documents] for key in keys])]

        return order

    def by_changes(pairs: str) -> Order:
        which, grades = all_pairs(len(candidates.masking.runs)), grades_of(candidates)

        def order(judged: Array, left: Array) -> Array:
            changes = PairChanges.of(candidates, judged, left, grades)
            means = candidates.scores(judged).mean(axis=1)
            largest, mean, *_ = changes.largest(compared_pairs(means, changes, which, pairs))
            keys = [-rounded(values.max(axis=0)) for values in (mean, largest)]
            return changes.documents[np.lexsort([best[changes.documents], *keys])]

        return order

    return {"open": by_changes("open"), "all": by_changes("all"), "rank": by(drawn, best), "random": by(drawn)}


def _steps(order: str, means: Array, full: Array, judgments: int, batch: int, kind: str) -> pd.DataFrame:
    """Return a row for each number of judgments."""
    number = np.minimum(np.arange(len(means)) * batch, judgments)
    tau_of = np.nan_to_num(tau(means, full[None], kind))
    first, second = all_pairs(len(full)).T
    signs = [np.sign(of[..., first] - of[..., second]) for of in (rounded(means), full)]
    different = (signs[0] != signs[1]).sum(axis=-1)
    return pd.DataFrame({"order": order, "judgments": number, "tau": tau_of, "different_pairs": different})


def _needed(steps: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for order, own in steps.groupby("order", sort=False):
        number = own["judgments"].to_numpy()
        reached = {"knee": own["tau"] > KNEE, "same_order": own["different_pairs"] == 0}
        rows.append({"order": order, **{name: _from(number, of.to_numpy()) for name, of in reached.items()}})
    return pd.DataFrame(rows)


def _from(number: Array, reached: Array) -> int:
    """Return the number from which on a condition holds; the last number at the latest."""
    missed = np.flatnonzero(~reached)
    return int(number[min(missed[-1] + 1, len(number) - 1)]) if len(missed) else int(number[0])


def plot_judging(study: SimulatedJudging, ax: Any = None) -> Any:
    """Plot τ to the order of runs by all judgments, over the number of judgments.

    Parameters
    ----------
    study : SimulatedJudging
        Study to plot.
    ax : matplotlib Axes, optional
        By default new axes.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_of(ax, (7, 3.4))
    names = list(study.needed["order"])
    looks = {name: measure_look(number) for number, name in enumerate(names)}
    curves = {}
    for name in names:
        rows = study.steps[study.steps["order"] == name]
        curves[name] = (rows["judgments"].to_numpy(), rows["tau"].to_numpy())
        ax.plot(*curves[name], **{**looks[name], "marker": ""}, linewidth=1.5)
    ax.axhline(KNEE, color=GREY, linewidth=0.7)
    ax.set_xlabel("documents judged")
    ax.set_ylabel(f"{TAUS[study.about['tau']]} to the order by all judgments")
    titled(ax, f"Order of runs by the number of judgments · {study._sizes}")
    label_ends(ax, curves, looks)
    return ax

"""Rich display of the result of a search for parameters, in notebooks."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from ..errors import many
from ..rendering.figures import GREY, STAY
from ..rendering.notebook_pictures import notebook_picture


def tuned_html(tuned: Any) -> str:
    """Return a search result for a notebook: the best value, its parameters, and the values of the trials.

    Parameters
    ----------
    tuned : Tuned
        Result of :func:`StudySearch`.
    """
    measures, trials = tuned.study.user_attrs["measures"], tuned.study.trials
    values = [tuned.value] if len(measures) == 1 else list(tuned.value)
    found = ", ".join(f"{measure} {value:.4f}" for measure, value in zip(measures, values, strict=True))
    unfinished = sum(trial.state.name != "COMPLETE" for trial in trials)
    head = f"best of {many(len(trials), 'trial')}" + (f", {unfinished:,} of them pruned" if unfinished else "")
    if len(measures) > 1:
        front = many(len(tuned.study.best_trials), "setting")
        head += f" by {measures[0]}; {front} on the Pareto front, study.best_trials"
    rows = "".join(
        f"<tr><td>{escape(type(transformer).__name__)}</td><td>{escape(name)}</td><td>{escape(_written(value))}</td></tr>"
        for transformer, name, value in tuned.setting
    )
    table = f"<table><tr><th>transformer</th><th>parameter</th><th>best value</th></tr>{rows}</table>"
    minimised = tuned.study.directions[0].name == "MINIMIZE"
    return f"<p><b>{escape(found)}</b> ({escape(head)})</p>{table}{_picture(trials, measures[0], minimised)}"


def _written(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _picture(trials: Any, measure: str, minimised: bool) -> str:
    """Return a picture of the values of the trials and the best so far; empty if there is one trial."""
    done = [trial for trial in trials if trial.state.name == "COMPLETE"]
    if len(done) < 2:
        return ""
    number = np.array([trial.number + 1 for trial in done])
    values = np.array([trial.values[0] for trial in done])
    best = (np.minimum if minimised else np.maximum).accumulate(values)

    def draw(ax: Any) -> None:
        ax.plot(number, values, ".", color=GREY, markersize=5)
        ax.step([*number, len(trials)], [*best, best[-1]], where="post", color=STAY, linewidth=1.6)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8)
        ax.locator_params(axis="x", integer=True)
        ax.set_xlabel("trial (points: each trial; line: best so far)", fontsize=8)
        ax.set_ylabel("value", fontsize=8)

    said = f"{measure} by trial: first {values[0]:.4f}, best {best[-1]:.4f}, first reached in trial"
    said += f" {number[values.tolist().index(best[-1])]:,} of {len(trials):,}."
    return notebook_picture(draw, (4.2, 1.8), said) + f"<p><small>{escape(said)}</small></p>"

"""Simulated logs with known parameters, from the user model of time-biased gain.

Users look at item k if they have not left before it begins, and finish every item that they begin. The mean time of a
summary is T_S, and it is clicked with probability P(C|R). The mean time of a document is a·words + b (b for duplicates),
and it is saved with probability P(S|R). All times of a user are multiplied by the slowness of the user. Each session
ends at an exponentially distributed time, or at a limit.
"""

import numpy as np
import pandas as pd

TABLE_1 = dict(
    half_life=224.0, summary_seconds=4.4, seconds_per_word=0.018, seconds_per_document=7.8,
    p_click_relevant=0.64, p_click_nonrelevant=0.39, p_save=0.77, p_save_nonrelevant=0.27,
)  # fmt: skip


def generated_log(
    seed, users=48, sessions=4, slowness=None, limit=np.inf, precision=0.5, depth=80, duplicates=0.0, noise=0.6,
    topics=8, words=600.0, **parameters,
):  # fmt: skip
    """Return a log as a DataFrame with all columns.

    ``slowness`` has one factor per user, and ``noise`` is the coefficient of variation of times. With
    ``half_life=np.inf``, users leave at the limit only.
    """
    p = TABLE_1 | parameters
    rng = np.random.default_rng(seed)
    n = users * sessions
    user = np.repeat(np.arange(users), sessions)
    topic = np.tile(np.arange(sessions), users) % topics
    slow = np.ones(n) if slowness is None else np.asarray(slowness, float)[user]
    shape = (n, depth)
    relevant = rng.random(shape) < precision
    length = np.round(rng.lognormal(np.log(words) - 0.18, 0.6, shape)) + 10  # the mean is ``words``
    duplicate = rng.random(shape) < duplicates
    clicked = rng.random(shape) < np.where(relevant, p["p_click_relevant"], p["p_click_nonrelevant"])
    saved = clicked & (rng.random(shape) < np.where(relevant, p["p_save"], p["p_save_nonrelevant"]))

    def times(mean):  # gamma distribution: not negative, with the given mean and noise
        return mean * rng.gamma(1 / noise**2, noise**2, shape)

    summary = times(p["summary_seconds"]) * slow[:, None]
    reading = (
        times(p["seconds_per_word"] * np.where(duplicate, 0.0, length) + p["seconds_per_document"]) * slow[:, None]
    )
    reading = np.where(clicked, reading, 0.0)
    end = np.cumsum(summary + reading, axis=1)
    begin = np.hstack([np.zeros((n, 1)), end[:, :-1]])
    leaves = rng.exponential(p["half_life"] / np.log(2), n) if np.isfinite(p["half_life"]) else np.full(n, np.inf)
    seen = begin < np.minimum(leaves, limit)[:, None]
    cut_off = (end.max(axis=1, where=seen, initial=0) < leaves) | seen[:, -1]  # still present after the last item
    row, item = np.nonzero(seen)
    at = (row, item)
    return pd.DataFrame(
        {
            "user": np.char.add("u", np.char.zfill(user.astype(str), 4))[row], "session": np.char.add("s", (np.arange(n) % sessions).astype(str))[row],
            "topic": np.char.add("t", topic.astype(str))[row], "rank": item + 1,
            "docno": [f"d{r}.{i}" for r, i in zip(row.tolist(), item.tolist())], "clicked": clicked[at],
            "grade": relevant[at].astype(float), "seen": True, "saved": saved[at], "summary_seconds": summary[at],
            "document_seconds": np.where(clicked[at], reading[at], np.nan), "words": length[at],
            "duplicate": duplicate[at], "time": begin[at] + summary[at], "cut_off": cut_off[row],
        }
    )  # fmt: skip

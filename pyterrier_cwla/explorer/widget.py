"""The explorer's page as a widget of notebooks; needs anywidget (extra ``explorer``)."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, cast

import anywidget
import traitlets

from ..errors.sanitise import harmless
from .exploration import Exploration
from .page import STYLE, script, source

if TYPE_CHECKING:
    from ir_measures.measures import Measure
    from matplotlib.figure import Figure


class ExplorerWidget(anywidget.AnyWidget):
    """Widget with the explorer's page; the kernel answers its requests.

    Parameters
    ----------
    exploration : Exploration
        The rankings and judgments.

    Attributes
    ----------
    exploration : Exploration
        The rankings and judgments.
    start : dict
        What the page shows first.
    measure : Measure
        The measure that the page shows now.
    """

    _esm = script() + source("widget.js")
    _css = source(STYLE)
    start = traitlets.Dict().tag(sync=True)

    def __init__(self, exploration: Exploration) -> None:
        self.exploration = exploration
        self._shown: dict[str, Any] = {}  # the last request for a state
        super().__init__(start=exploration.start())
        self.on_msg(self._answer)

    def _answer(self, _widget: Any, message: dict[str, Any], _buffers: Any) -> None:
        """Answer a request of one view of the page."""
        asked = {"view": message["view"], "number": message["number"]}
        request = message["request"]
        try:
            answer = self.exploration.answer(request)
        except Exception as error:
            self.send({**asked, "answer": {"error": f"{type(error).__name__}: {harmless(str(error))}"}})
            raise  # the notebook shows where
        if request.get("shown") and "error" not in answer:  # other states are those of a measure beside it
            self._shown = {name: request.get(name) for name in ("topic", "grades", "orders")} | {
                "measure": answer["measure"]["text"]
            }
        self.send({**asked, "answer": answer})

    @property
    def measure(self) -> Measure:
        """The measure that the page shows."""
        return self.exploration.measure_named(self._shown.get("measure"))

    def figure(self) -> Figure:
        """Draw what the page shows as a figure of matplotlib: the rankings rank by rank, with all changes.

        Raises
        ------
        CWLAError
            If matplotlib is not installed.
        """
        return cast("Figure", self.exploration.explained(self._shown).plot().figure)

    def __repr__(self) -> str:
        runs = " and ".join(self.start["runs"])
        topics = len(self.exploration.topics)
        of_topics = f" on {topics:,} topics" if topics > 1 else ""
        return f"<explorer of {self.exploration.measure!r} with {runs}{of_topics}>"

    def _repr_html_(self) -> str:
        """Return the first state in words, for pages of notebooks that show no widgets."""
        state = self.start["state"]
        said = [
            " ".join(state["measure"]["sentences"]),
            *(one["sentence"] for one in state["rankings"]),
            *([state["difference"]["sentence"]] if state["difference"] else ()),
            "The page with controls needs a running notebook.",
        ]
        text, topic = escape(state["measure"]["text"]), escape(state["topic"])
        head = f"<p><b>Explorer of <code>{text}</code>, topic {topic}</b></p>"
        return head + "".join(f"<p>{escape(one)}</p>" for one in said)

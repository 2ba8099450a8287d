"""Progress bar of notebooks: one line that is updated in place and removed at the end; it needs no ipywidgets."""

from __future__ import annotations

from html import escape
from typing import Any

from tqdm.std import tqdm

from ..errors.sanitise import harmless

_TEXT = "{desc}: {n_fmt} of {total_fmt} {unit}, {elapsed} so far, {remaining} left{postfix}"
_ENDLESS = "{desc}: {n_fmt} {unit}, {elapsed} so far{postfix}"


class NotebookBar(tqdm):  # type: ignore[type-arg]
    """Progress bar in a notebook. A bar that starts while another one is open is not shown.

    It takes the parameters of ``tqdm``.
    """

    _open: Any = None  # the bar that is shown or waits for its delay

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        from IPython import get_ipython

        outer, self._cell = NotebookBar._open, getattr(get_ipython(), "execution_count", None)
        # A bar of an earlier cell was interrupted by an error, and is no outer bar.
        hidden = outer is not None and not outer.disable and outer._cell == self._cell
        disable = kwargs.pop("disable", False) or hidden
        super().__init__(*args, **kwargs, gui=True, disable=disable)
        self._handle: Any = None
        if not self.disable:
            NotebookBar._open = self

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        """Show or update the bar."""
        values = self.format_dict
        unit = str(values["unit"]).strip()
        total = values["total"]
        text = self.format_meter(**{**values, "unit": unit, "bar_format": _TEXT if total else _ENDLESS})
        share = f' value="{values["n"]}" max="{total}"' if total else ""
        self._show(f"<progress{share}></progress> {escape(harmless(text))}", text)

    def _show(self, page: str, text: str) -> None:
        from IPython.display import display

        shown = {"text/html": page, "text/plain": text}
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)

    def close(self) -> None:
        """Remove the bar."""
        if self.disable:
            return
        super().close()
        if NotebookBar._open is self:
            NotebookBar._open = None
        if self._handle is not None:
            self._show("", "")

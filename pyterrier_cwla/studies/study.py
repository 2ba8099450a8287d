"""Base class of studies: tables, pictures with their data, and findings as sentences."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from ..errors.sanitise import harmless, sanitised
from ..rendering.notebook_pictures import notebook_picture
from .report import Picture, Said, Table, names_given, write_report
from .report_tables import flat, rendered_table

_ROWS, _COLUMNS = 10, 8  # of a table in a notebook


class Study:
    """Result of a study. Subclasses are frozen dataclasses that define the tables, pictures and sentences.

    Attributes
    ----------
    title : str
        Title of the report.
    about : dict
        Data to report with the study: version of the package, canonical measures, seeds, sizes, hash of the input.
    always_tables, always_pictures : tuple of str
        Names of the tables and pictures that every study of this class has. They are known before the study is
        computed; a study may have others.
    """

    title: str = ""
    about: dict[str, Any]
    always_tables: ClassVar[tuple[str, ...]] = ()
    always_pictures: ClassVar[tuple[str, ...]] = ()

    def tables(self) -> dict[str, Table]:
        """Return the tables of the report by file name."""
        raise NotImplementedError

    def pictures(self) -> dict[str, Picture]:
        """Return the pictures of the report by file name."""
        raise NotImplementedError

    def headline(self) -> str:
        """Return what was found, in one sentence. By default the first finding, or the title without findings."""
        return str(next(iter(self.findings()), self.title))

    def findings(self) -> list[str]:
        """Return the findings, one sentence each, with their uncertainty, the most important first.

        A :class:`~pyterrier_cwla.studies.Finding` names the picture that it rests on; the report shows them side by
        side.
        """
        raise NotImplementedError

    def limits(self) -> list[str]:
        """Return conclusions that the study does not support, one sentence each."""
        return []

    def report(self, folder: str | Path) -> Path:
        """Write tables (Parquet, CSV), pictures (SVG, PNG) and one HTML page that contains all of them.

        Needs matplotlib and jinja2.

        Parameters
        ----------
        folder : str or Path
            Created if it does not exist. ``manifest.json`` lists the files of the report; an earlier report in the
            folder is replaced.

        Returns
        -------
        Path
            The HTML page.

        Warns
        -----
        CWLAWarning
            If the report of another study was replaced.

        Raises
        ------
        BadParameter
            If a file is in the way that no report wrote, or that was changed since it was written. Nothing is written
            then.
        """
        said = Said(self.headline(), self.findings(), self.limits())
        return write_report(Path(folder), self.title, self.about, self.tables(), self.pictures(), said)

    def said(self) -> dict[str, list[str]]:
        """Return the sentences of the study by heading."""
        said = {"What was found": self.findings(), "What not to conclude": self.limits()}
        return {heading: sentences for heading, sentences in said.items() if sentences}

    @sanitised
    def __repr__(self) -> str:
        lines = [self.title, self.headline()]
        for heading, sentences in self.said().items():
            lines += [f"{heading}:", *(f"  · {sentence}" for sentence in sentences)]
        return "\n".join(lines)

    @sanitised
    def _repr_html_(self) -> str:
        parts = [f"<p><b>{escape(self.headline())}</b><br>{escape(self.title)}</p>", self._first_picture()]
        for title, frame in self._first_table().items():
            parts.append(f"<p>{escape(title)}</p>{frame.to_html(index=False, border=0)}")
        for heading, sentences in self.said().items():
            lines = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
            parts.append(f"<details><summary>{heading}</summary><ul>{lines}</ul></details>")
        return "".join(parts)

    def _first_picture(self) -> str:
        """Return the picture of the first finding that has one, or the first picture, for a notebook."""
        pictures = self.pictures()
        named = [getattr(one, "picture", None) for one in self.findings()]
        for name in [*(name for name in named if name in pictures), *pictures][:1]:
            one = pictures[name]
            return notebook_picture(one.draw, one.size, harmless(f"{one.title}: {one.caption}"))
        return ""

    def _first_table(self) -> dict[str, pd.DataFrame]:
        """Return the first rows and columns of the first table in words, by its title."""
        for table in list(self.tables().values())[:1]:
            named = names_given(self.about)
            shown = rendered_table(table.title, table.caption, flat(table.frame), named)
            rows = [[cell.text for cell in row[:_COLUMNS]] for row in shown.rows[:_ROWS]]
            less = len(rows) < shown.total or len(shown.columns) > _COLUMNS
            of = f"{table.title} ({len(rows):,} of {shown.total:,} rows; all in tables())" if less else table.title
            return {of: pd.DataFrame(rows, columns=shown.columns[:_COLUMNS])}
        return {}

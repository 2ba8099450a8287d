"""Base class of studies: tables, pictures with their data, and findings as sentences."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any, ClassVar

from ..errors.sanitise import sanitised
from .report import Picture, Table, write_report


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

    def findings(self) -> list[str]:
        """Return the findings, one sentence each, with their uncertainty."""
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
        return write_report(Path(folder), self.title, self.about, self.tables(), self.pictures(), self.said())

    def said(self) -> dict[str, list[str]]:
        """Return the sentences of the study by heading."""
        said = {"What was found": self.findings(), "What not to conclude": self.limits()}
        return {heading: sentences for heading, sentences in said.items() if sentences}

    @sanitised
    def __repr__(self) -> str:
        lines = [self.title]
        for heading, sentences in self.said().items():
            lines += [f"{heading}:", *(f"  · {sentence}" for sentence in sentences)]
        return "\n".join(lines)

    @sanitised
    def _repr_html_(self) -> str:
        parts = [f"<p><b>{escape(self.title)}</b></p>"]
        for heading, sentences in self.said().items():
            lines = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
            parts.append(f"<p>{heading}</p><ul>{lines}</ul>")
        return "".join(parts)

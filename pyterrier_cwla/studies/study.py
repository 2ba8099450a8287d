"""What every study has in common: tables, pictures with their data, and what was found, in sentences."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any, ClassVar

from ..errors.sanitise import sanitised
from .report import Picture, Table, write_report


class Study:
    """What a study found. Subclasses are frozen dataclasses that say what stands in the tables and pictures.

    ``about``: what to report with it: the package's version, the canonical measures, seeds, sizes, a hash of the input.
    """

    title: str = ""
    about: dict[str, Any]
    always_tables: ClassVar[tuple[str, ...]] = ()
    """Names of tables that every study of this class has, known before it is computed; it may have others."""
    always_pictures: ClassVar[tuple[str, ...]] = ()
    """The same of pictures."""

    def tables(self) -> dict[str, Table]:
        """The tables by the names of their files."""
        raise NotImplementedError

    def pictures(self) -> dict[str, Picture]:
        """The pictures by the names of their files."""
        raise NotImplementedError

    def findings(self) -> list[str]:
        """What was found, a sentence each, with its uncertainty."""
        raise NotImplementedError

    def limits(self) -> list[str]:
        """What must not be concluded from it, a sentence each."""
        return []

    def report(self, folder: str | Path) -> Path:
        """Write tables (Parquet, CSV), pictures (SVG, PNG) and one HTML page that holds all of it.

        Needs matplotlib and jinja2.

        Parameters
        ----------
        folder : str or Path
            Made where it does not exist. ``manifest.json`` lists the files of the report; an earlier report in the
            folder is replaced.

        Returns
        -------
        Path
            The page.

        Warns
        -----
        CWLAWarning
            If the report of another study was replaced.

        Raises
        ------
        BadParameter
            If a file that no report wrote, or that was changed since, is in the way; then nothing is written.
        """
        return write_report(Path(folder), self.title, self.about, self.tables(), self.pictures(), self.said())

    def said(self) -> dict[str, list[str]]:
        """The sentences under their headings."""
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

"""Tables of document lengths and of duplicates as PyTerrier artifacts: folders that can be shared like an index."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, ClassVar, Self

import pyterrier as pt

from ..data.document_tables import DocumentTable
from ..data.duplicates import Duplicates
from ..data.lengths import Lengths
from ..errors import BadParameter, MalformedFile, NotWritten
from ..files.atomic import written
from ..files.memory_limit import unpacked

_METADATA = "pt_meta.json"


class _TableArtifact(pt.Artifact):
    """Folder with a table in a Parquet file and PyTerrier's ``pt_meta.json``."""

    ARTIFACT_TYPE: ClassVar[str]
    ARTIFACT_FORMAT: ClassVar[str] = "cwla"
    ARTIFACT_PACKAGE_HINT: ClassVar[str] = "pyterrier-cwla"
    _kind: ClassVar[type[DocumentTable]]

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        setattr(self, self._kind._parameter, self._read(Path(path)))

    @classmethod
    def save(cls, table: Any, path: str | Path, *, overwrite: bool = False) -> Self:
        """Write a table to a new folder, and return the artifact.

        Parameters
        ----------
        table : table of documents, path, dict, Series or DataFrame
            Table in any form that measures accept.
        path : path
            Folder that does not exist yet; its parent folder exists.
        overwrite : bool, default=False
            Whether to replace a folder with an artifact of the same type.

        Returns
        -------
        artifact
            Artifact of the folder, with PyTerrier's methods ``to_hf``, ``to_zenodo``, ``build_package`` and others.

        Raises
        ------
        BadParameter
            If the table cannot be used.
        MalformedFile
            If the folder to replace is not an artifact of this type.
        NotWritten
            If the folder exists already or cannot be written.
        """
        rows, folder = cls._kind.of(table).current, Path(path)
        metadata = {"type": cls.ARTIFACT_TYPE, "format": cls.ARTIFACT_FORMAT, "package_hint": cls.ARTIFACT_PACKAGE_HINT}
        if overwrite and folder.exists():
            cls(folder)  # raises if it is something else
            len(rows), rows.about
            former = folder.rename(folder.with_name(f"{folder.name}.former"))
            try:
                found = cls.save(rows, folder)
            except BaseException:
                former.rename(folder)
                raise
            shutil.rmtree(former)
            return found
        try:
            folder.mkdir()
        except FileExistsError as error:
            raise NotWritten(f"{folder} exists already. Give another path, or overwrite=True.") from error
        except OSError as error:
            raise NotWritten(f"{folder}: the folder cannot be made ({error.strerror}). Give another path.") from error
        try:
            rows.save(cls._file(folder))
            with written(folder / _METADATA) as place:
                place.write_text(json.dumps(metadata | {"rows": len(rows)} | rows.about) + "\n", encoding="utf-8")
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return cls(folder)

    @classmethod
    def _file(cls, folder: Path) -> Path:
        return folder / f"{cls._kind._parameter}.parquet"

    @classmethod
    def _read(cls, folder: Path) -> Any:
        what, expected = cls._kind._parameter, (cls.ARTIFACT_TYPE, cls.ARTIFACT_FORMAT)
        if not folder.is_dir():
            raise BadParameter(f"{folder}: there is no such folder.")
        try:
            metadata = json.loads(unpacked(str(folder / _METADATA)))
            found = metadata["type"], metadata["format"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise MalformedFile(
                f"{folder}: this is no folder with a table of {what}: its {_METADATA} is missing or damaged."
            ) from error
        if found != expected:
            raise MalformedFile(
                f"{folder}: this folder has {'.'.join(map(str, found))}, not {'.'.join(expected)}."
                " pt.Artifact.load finds the class that reads it."
            )
        if not cls._file(folder).is_file():
            raise MalformedFile(f"{folder}: the file {cls._file(folder).name} is missing. Copy or download it again.")
        return cls._kind.load(cls._file(folder))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"


class LengthsArtifact(_TableArtifact):
    """Folder with a table of document lengths, for ``TBG(lengths=…)`` and ``pt.cwla.DocLength(…)``.

    ``save`` writes the folder, and ``pt.Artifact.load(path)`` reads it. PyTerrier's methods ``to_hf`` and ``from_hf``,
    ``to_zenodo`` and ``from_zenodo`` share it.

    Parameters
    ----------
    path : path
        Folder that ``save`` has written. The table is read once.

    Attributes
    ----------
    lengths : Lengths
        Table of document lengths.

    Raises
    ------
    BadParameter
        If there is no such folder.
    MalformedFile
        If the folder has something else, or if a file is missing or damaged.

    Examples
    --------
    >>> import tempfile
    >>> import pyterrier as pt
    >>> folder = tempfile.mkdtemp() + "/lengths"
    >>> artifact = pt.cwla.LengthsArtifact.save({"d1": 100, "d2": 350}, folder)
    >>> pt.Artifact.load(folder).lengths.mean
    225.0
    >>> measure = pt.cwla.TBG(lengths=artifact)
    """

    ARTIFACT_TYPE, _kind = "document_lengths", Lengths
    lengths: Lengths


class DuplicatesArtifact(_TableArtifact):
    """Folder with a table of duplicate documents, for ``TBG(duplicates=…)`` and ``pt.cwla.DuplicateOf(…)``.

    It is saved, loaded and shared like :class:`LengthsArtifact`.

    Parameters
    ----------
    path : path
        Folder that ``save`` has written. The table is read once.

    Attributes
    ----------
    duplicates : Duplicates
        Table of duplicates.

    Raises
    ------
    BadParameter
        If there is no such folder.
    MalformedFile
        If the folder has something else, or if a file is missing or damaged.

    Examples
    --------
    >>> import tempfile
    >>> import pyterrier as pt
    >>> folder = tempfile.mkdtemp() + "/duplicates"
    >>> artifact = pt.cwla.DuplicatesArtifact.save({"d2": "d1"}, folder)
    >>> len(pt.Artifact.load(folder).duplicates)
    1
    """

    ARTIFACT_TYPE, _kind = "document_duplicates", Duplicates
    duplicates: Duplicates

"""Files of a report and the manifest that lists them; a report never replaces or removes any other file."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from .._version import __version__
from ..errors import BadParameter
from ..files.atomic import written

PAGE = "report.html"
ABOUT = "about.json"
MANIFEST = "manifest.json"
_NAME = re.compile(r"report\.html|about\.json|tables/[^/\\]+\.(csv|parquet)|pictures/[^/\\]+\.(svg|png)")
_WAY_OUT = "Move it away, or write the report to another folder."

Hashes = Mapping[str, Collection[str]]
"""SHA-256 of the allowed contents of each file, by the file's name relative to the folder."""


def write_files(folder: Path, contents: Mapping[str, bytes], title: str) -> str | None:
    """Replace the report in a folder by the given files, and list them in ``manifest.json``.

    Files of an earlier report are removed if its manifest lists them and their hashes match. All checks are done before
    the first file is written. While files are replaced, the manifest lists the old and the new files, so that an
    interrupted report can be written again; ``report.html`` is removed first and written last.

    Parameters
    ----------
    folder : Path
        Folder of the report. Created if it does not exist.
    contents : mapping of str to bytes
        Contents of each file, by its name relative to the folder.
    title : str
        Title of the study.

    Returns
    -------
    str or None
        Description of the replaced report, if it is that of another study: another title, or other contents of
        ``about.json`` (versions aside). Otherwise None.

    Raises
    ------
    BadParameter
        If another file is in the way, if the user changed a file of the earlier report, if the manifest lists a path
        that no report has, or if the folder cannot be created.
    """
    old = check_folder(folder, contents)
    replaced = _other_study(folder, contents, title) if old else None
    new = {name: [hashlib.sha256(content).hexdigest()] for name, content in contents.items()}
    try:
        for name in contents:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    either = {name: sorted({*old.get(name, ()), *new.get(name, ())}) for name in {**old, **new}}
    _save(folder, either, title)
    for name in [PAGE, *(name for name in old if name not in new)]:
        (folder / name).unlink(missing_ok=True)
    for name in sorted(contents, key=lambda name: name == PAGE):
        with written(folder / name) as place:
            place.write_bytes(contents[name])
    _save(folder, new, title)
    return replaced


def file_names(tables: Iterable[str], pictures: Iterable[str]) -> list[str]:
    """Return the file names of a report that has tables and pictures of these names."""
    files = [f"tables/{name}.{suffix}" for name in tables for suffix in ("parquet", "csv")]
    files += [f"pictures/{name}.{suffix}" for name in pictures for suffix in ("svg", "png")]
    return [PAGE, ABOUT, *files]


def check_folder(folder: Path, names: Iterable[str], inputs: Collection[Path] = ()) -> dict[str, list[str]]:
    """Return the files in the manifest of a folder, and check that a report with these file names may be written there.

    Parameters
    ----------
    folder : Path
        Folder of the report.
    names : iterable of str
        Names of the files to write, relative to the folder.
    inputs : collection of Path, default=()
        Input files, which the report must neither replace nor remove.

    Returns
    -------
    dict
        SHA-256 hashes of each listed file, by name.

    Raises
    ------
    BadParameter
        If a name is not that of a file of a report, or if another file is in the way.
    """
    listed = _listed(folder)
    for name in {**listed, **dict.fromkeys(names)}:
        if not _NAME.fullmatch(name):
            raise BadParameter(
                f"{name!r} is not a valid file name of a report: names of tables and pictures contain no slashes."
            )
        _check_file(folder, name, listed, inputs)
    return listed


def cannot_write(folder: Path, error: OSError, option: str = "") -> BadParameter:
    """Return the error for a folder that cannot be written to."""
    return BadParameter(f"{option}{folder}: cannot be written to ({error.strerror}).")


def _listed(folder: Path) -> dict[str, list[str]]:
    """Return the files in the manifest, or none if there is no manifest."""
    path = folder / MANIFEST
    if not os.path.lexists(path):
        return {}
    try:
        listed = json.loads(path.read_text("utf-8"))["files"] if path.is_file() and not path.is_symlink() else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        listed = None
    if not isinstance(listed, dict) or not all(map(_are_hashes, listed.values())):
        raise BadParameter(f"{path}: is in the way: it is not the manifest of a report. {_WAY_OUT}")
    for name in listed:
        if not _NAME.fullmatch(name):
            raise BadParameter(f"{path}: lists {name!r}, which is not a file of a report. {_WAY_OUT}")
    return listed


def _other_study(folder: Path, contents: Mapping[str, bytes], title: str) -> str | None:
    """Describe the study whose report is in the folder, or return None if it is the study being written."""
    before = json.loads((folder / MANIFEST).read_text("utf-8")).get("study")
    if before != title:
        return f"the report of another study, {before!r}" if isinstance(before, str) else "the report of another study"
    try:
        old = json.loads((folder / ABOUT).read_bytes())
    except (OSError, ValueError, RecursionError):  # an interrupted report
        return None
    new = json.loads(contents[ABOUT])
    names = [name for name in {**old, **new} if name != "version"]
    # Values are compared as text, so that NaN equals NaN.
    differ = [name for name in names if json.dumps(old.get(name)) != json.dumps(new.get(name))]
    return f"an earlier report of {title!r}, with other {', '.join(differ)}" if differ else None


def _are_hashes(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _check_file(folder: Path, name: str, listed: Hashes, inputs: Collection[Path]) -> None:
    """Raise BadParameter if the path of a file is taken by anything other than the listed file."""
    path = folder / name
    for place, fits in ((path.parent, path.parent == folder or path.parent.is_dir()), (path, path.is_file())):
        if place != folder and os.path.lexists(place) and (place.is_symlink() or not fits):
            raise BadParameter(f"{place}: is in the way of the report. {_WAY_OUT}")
    if not path.exists():
        return
    for file in inputs:
        if file.exists() and os.path.samefile(file, path):
            raise BadParameter(f"{path}: is an input, and the report would replace it. Write it to another folder.")
    if name not in listed:
        raise BadParameter(f"{path}: is in the way: no report of this folder wrote it. {_WAY_OUT}")
    with open(path, "rb") as content:
        if hashlib.file_digest(content, "sha256").hexdigest() not in listed[name]:
            raise BadParameter(f"{path}: was changed since the report was written. {_WAY_OUT}")


def _save(folder: Path, files: Hashes, title: str) -> None:
    listed = {"version": __version__, "study": title, "files": files}
    text = json.dumps(listed, indent=1, sort_keys=True, ensure_ascii=False)
    with written(folder / MANIFEST) as place:
        place.write_text(text + "\n", encoding="utf-8")

"""Result cache in a folder, keyed by content, and long computations in pieces that are kept in it."""

from __future__ import annotations

import hashlib
import io
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from .._version import __version__
from ..errors import BadParameter, MalformedFile, NotWritten
from ..files.atomic import AnyPath, beside, moved, refusing, written
from .hashing import fingerprint, plain
from .parallel import checked, side_by_side
from .progress import bar

Piece = dict[str, np.ndarray]
Layout = Mapping[str, tuple[str, tuple[int | None, ...]]]
"""Allowed kinds of dtype and shape of each array of an entry, by name; None stands for any length."""


class ResultCache:
    """Cache of arrays by name, in a folder that several processes may use at the same time.

    Entries are checked for damage, and for the names, types and shapes of their arrays. Their numbers are trusted:
    users who can write to the folder can change results. Entries contain no code.

    Hidden files ``.part-…`` in the folder are entries that are being written, or that a killed process left behind.
    Those older than a day are deleted when a cache with the same identity is opened.

    Parameters
    ----------
    folder : path
        Folder of the cache; created if it does not exist.
    identity : dict
        Everything that the entries depend on besides their names, such as the hash of the input. Entries of another
        identity, or of another version of the package or of NumPy, are not found.

    Raises
    ------
    BadParameter
        If the folder cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> ResultCache(folder, {"seed": 1}).put("the first", {"values": np.arange(3)})
    >>> layout = {"values": ("iu", (3,))}
    >>> ResultCache(folder, {"seed": 1}).get("the first", layout)
    {'values': array([0, 1, 2])}
    >>> ResultCache(folder, {"seed": 2}).get("the first", layout) is None
    True
    """

    def __init__(self, folder: AnyPath, identity: Mapping[str, Any]) -> None:
        self.given = folder
        self.identity = {"version": __version__, "numpy": np.__version__, **identity}
        self.folder = Path(folder) / fingerprint(self.identity)[:16]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with written(self.folder / "identity.json") as place:
                place.write_text(json.dumps(self.identity, indent=1, default=plain), "utf-8")
        except (OSError, NotWritten) as error:
            why = error if isinstance(error, NotWritten) else f"{error.strerror}: {error.filename}"
            raise BadParameter(f"cache_dir={str(folder)!r} cannot be written ({why}): give another folder.") from error
        for part in self.folder.glob(".part-*"):
            with suppress(OSError):  # another process removes it, too, or it is not ours
                if time.time() - part.stat().st_mtime > _DAY:
                    part.unlink()

    def get(self, name: str, layout: Layout) -> Piece | None:
        """Return the entry with this name, or None if there is none or it is damaged.

        Raises
        ------
        MalformedFile
            If the arrays of the entry do not fit the layout.
        """
        place = self._path(name)
        try:
            content = place.read_bytes()
        except OSError:
            return None
        piece, seal = content[:-_SEAL], content[-_SEAL:]
        if seal != _seal(name, piece):  # a damaged entry is computed again
            return None
        try:
            with np.load(io.BytesIO(piece), allow_pickle=False) as arrays:
                found = dict(arrays)
        except (ValueError, EOFError, OSError, BadZipFile) as error:
            raise self._malformed(place, layout, "no arrays that can be read") from error
        if found.keys() != layout.keys() or not all(_fits(found[what], *layout[what]) for what in layout):
            raise self._malformed(place, layout, _said({what: (a.dtype, a.shape) for what, a in found.items()}))
        return found

    def put(self, name: str, piece: Mapping[str, np.ndarray]) -> None:
        """Store an entry under this name.

        Raises
        ------
        NotWritten
            If there is no space left.
        """
        file = io.BytesIO()
        np.savez(file, **piece)  # type: ignore[arg-type]
        place = self._path(name)
        part, what = beside(place), f"cache_dir={str(self.given)!r}"
        with refusing(what, part, way_out="give another folder; earlier entries remain"), moved(part, place):
            part.write_bytes(file.getvalue() + _seal(name, file.getvalue()))

    def _malformed(self, place: Path, layout: Layout, found: str) -> MalformedFile:
        return MalformedFile(
            f"{place}: this entry of cache_dir={str(self.given)!r} must have {_said(layout)}, and has {found}: it"
            " was written by another computation. Delete the file, or give another folder."
        )

    def _path(self, name: str) -> Path:
        return self.folder / f"{fingerprint(name)[:24]}.npz"


def _fits(array: np.ndarray, kinds: str, shape: tuple[int | None, ...]) -> bool:
    lengths_fit = all(wanted in (None, length) for wanted, length in zip(shape, array.shape))
    return array.dtype.kind in kinds and array.ndim == len(shape) and lengths_fit


def _said(layout: Mapping[str, tuple[Any, tuple[int | None, ...]]]) -> str:
    """Return names, types and shapes for an error: ``values (numbers, 3 × 2)``."""
    words = {"f": "floats", "iu": "integers", "fiu": "numbers", "b": "booleans", "U": "texts"}
    return ", ".join(
        f"{what} ({words.get(str(kind), str(kind))},"
        f" shape {' × '.join('any' if length is None else str(length) for length in shape) or '()'})"
        for what, (kind, shape) in layout.items()
    )


def _seal(name: str, content: bytes) -> bytes:
    """Return the checksum of an entry and its name, which reveals damaged and renamed entries."""
    return hashlib.sha256(name.encode() + b"\0" + content).digest()


_SEAL = len(_seal("", b""))
_DAY = 24 * 60 * 60


class Pieces:
    """Computation of the pieces of a study in parallel; each piece is cached as soon as it is done.

    Parameters
    ----------
    identity : dict
        Everything that the pieces depend on, such as the hash of the input; see :class:`ResultCache`.
    cache_dir : path, optional
        Folder of the cache; nothing is cached by default.
    progress : bool, default=True
        Whether to show a progress bar.
    n_jobs : int, default=1
        Number of processes; -1 for the number of cores.

    Raises
    ------
    BadParameter
        If `n_jobs` is not a number of processes, or if `cache_dir` cannot be written.
    """

    def __init__(
        self, identity: Mapping[str, Any], cache_dir: str | Path | None = None, progress: bool = True, n_jobs: int = 1
    ) -> None:
        self.cache = None if cache_dir is None else ResultCache(cache_dir, identity)
        self.progress, self.n_jobs = progress, checked(n_jobs)

    def each(
        self, names: Sequence[str], compute: Callable[[str], Piece], label: str, unit: str = "pieces", *, layout: Layout
    ) -> list[Piece]:
        """Return the pieces with these names, in order, from the cache or from `compute`.

        Parameters
        ----------
        names : sequence of str
            Names of the pieces.
        compute : callable
            Function from a name to a piece.
        label : str
            Text of the progress bar.
        unit : str, default="pieces"
            Unit of the progress bar.
        layout : Layout
            Names, kinds and shapes of the arrays of a piece.
        """
        return self._in_order(names, [partial(compute, name) for name in names], label, unit, layout)

    def of_arrays(
        self, arrays: Sequence[np.ndarray], compute: Callable[[Any], Piece], label: str, unit: str, layout: Layout
    ) -> list[Piece]:
        """Return the piece that `compute` makes of each array, in order; hashes of the arrays are names in the cache.

        The other parameters are those of :meth:`each`.
        """
        names = [fingerprint(array) for array in arrays]
        return self._in_order(names, [partial(compute, array) for array in arrays], label, unit, layout)

    def _in_order(
        self, names: Sequence[str], work: Iterable[Callable[[], Piece]], label: str, unit: str, layout: Layout
    ) -> list[Piece]:
        of = dict(zip(names, work, strict=True))
        found = dict(bar(self.done(of, lambda _: layout), self.progress, label, len(of), unit))
        return [found[name] for name in names]

    def done(
        self, work: Mapping[str, Callable[[], Piece]], layout: Callable[[str], Layout]
    ) -> Iterator[tuple[str, Piece]]:
        """Yield names and pieces, first the cached ones, then the computed ones in order of completion.

        Parameters
        ----------
        work : dict
            Functions without arguments that compute a piece, by name.
        layout : callable
            Function from a name to the layout of the piece.
        """
        missing = {}
        for name, compute in work.items():
            piece = None if self.cache is None else self.cache.get(name, layout(name))
            if piece is None:
                missing[name] = compute
            else:
                yield name, piece
        for name, piece in side_by_side(missing, self.n_jobs):
            if self.cache is not None:
                self.cache.put(name, piece)
            yield name, piece

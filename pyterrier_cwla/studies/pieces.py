"""The pieces of a long computation: done one by one or side by side, kept as they are done, and shown on the way."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from .._version import __version__
from ..errors import BadParameter
from ..texts import bar

Piece = dict[str, np.ndarray]


def fingerprint(*parts: Any) -> str:
    """A hash of arrays, texts and whatever JSON can write: equal for equal content."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        else:
            digest.update(json.dumps(part, sort_keys=True, default=str).encode())
        digest.update(b"\0")
    return digest.hexdigest()


class Pieces:
    """Computes the pieces of a study, and keeps each in a folder as soon as it is done.

    ``identity``: all that the pieces depend on, the hash of the input among it. What is kept under another identity,
    or by another version of the package, is not used. ``keep``: a folder, or None to keep nothing. ``jobs``: processes.
    """

    def __init__(
        self, identity: Mapping[str, Any], keep: str | Path | None = None, progress: bool = True, jobs: int = 1
    ) -> None:
        if not isinstance(jobs, int) or jobs == 0:
            raise BadParameter(f"jobs={jobs!r}: give the number of processes, or -1 for as many as there are cores.")
        self.identity = {"version": __version__, **identity}
        self.folder = None if keep is None else Path(keep) / fingerprint(self.identity)[:16]
        self.progress, self.jobs = progress, jobs

    def each(
        self, names: Sequence[str], compute: Callable[[str], Piece], says: str, unit: str = "pieces"
    ) -> list[Piece]:
        """The pieces of these names, in this order: those that are kept, and the others by ``compute``."""
        found = {name: piece for name in names if (piece := self._kept(name)) is not None}
        missing = [name for name in names if name not in found]
        computed = self._computed(missing, compute)
        for name, piece in bar(computed, self.progress, says, len(missing), unit):
            found[name] = piece
        return [found[name] for name in names]

    def _computed(self, names: Sequence[str], compute: Callable[[str], Piece]) -> Iterable[tuple[str, Piece]]:
        if self.jobs == 1 or len(names) < 2:
            return (self._done(name, compute) for name in names)
        from joblib import Parallel, delayed

        parallel = Parallel(n_jobs=self.jobs, return_as="generator_unordered")
        return parallel(delayed(self._done)(name, compute) for name in names)

    def _done(self, name: str, compute: Callable[[str], Piece]) -> tuple[str, Piece]:
        piece = compute(name)
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "identity.json").write_text(json.dumps(self.identity, indent=1, default=str), "utf-8")
            part = self._path(name).with_suffix(f".{os.getpid()}.part")
            with open(part, "wb") as file:
                np.savez(file, **piece)  # type: ignore[arg-type]
            os.replace(part, self._path(name))  # whole, or not there
        return name, piece

    def _kept(self, name: str) -> Piece | None:
        if self.folder is None or not self._path(name).is_file():
            return None
        try:
            with np.load(self._path(name), allow_pickle=False) as kept:
                return dict(kept)
        except (OSError, EOFError, ValueError, BadZipFile):  # broken since: done again
            return None

    def _path(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{fingerprint(name)[:24]}.npz"

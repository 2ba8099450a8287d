"""The pieces of a long computation: done one by one or side by side, kept as they are done, and shown on the way."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any
from zipfile import BadZipFile

import numpy as np

from .._version import __version__
from ..errors import BadParameter
from ..texts import bar

Piece = dict[str, np.ndarray]


def fingerprint(*parts: Any) -> str:
    """A hash of arrays, texts and what JSON can write, arrays among it: equal for equal content.

    Raises TypeError for other objects, of which only an address or a part could be hashed.
    """
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            if part.dtype.hasobject:
                raise TypeError("an array of objects has no fingerprint: give texts as a list.")
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        else:
            digest.update(json.dumps(part, sort_keys=True, default=_plain).encode())
        digest.update(b"\0")
    return digest.hexdigest()


def code_of(function: Any) -> list[Any]:
    """What a fingerprint can hold of a function: its instructions, constants and names, defaults and closure."""

    def plain(value: Any) -> Any:
        if isinstance(value, CodeType):
            return [value.co_code.hex(), value.co_names, *map(plain, value.co_consts)]
        if isinstance(value, FunctionType):
            return code_of(value)
        return value if isinstance(value, np.ndarray) and not value.dtype.hasobject else repr(value)

    closure = [cell.cell_contents for cell in function.__closure__ or ()]
    given = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).items()]
    return [plain(value) for value in (function.__code__, *given, *closure)]


def _plain(value: Any) -> Any:
    """What JSON cannot write of itself: NumPy's numbers, and arrays by their hash."""
    if isinstance(value, np.ndarray):
        return fingerprint(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no fingerprint: give numbers, texts, lists, dicts or arrays.")


class Pieces:
    """Computes the pieces of a study, and keeps each in a folder as soon as it is done.

    ``identity``: all that the pieces depend on, the hash of the input among it. What is kept under another identity,
    or by another version of the package, is not used. ``keep``: a folder, or None to keep nothing. ``jobs``: processes.

    Raises BadParameter for a folder that cannot be written, before anything is computed.
    """

    def __init__(
        self, identity: Mapping[str, Any], keep: str | Path | None = None, progress: bool = True, jobs: int = 1
    ) -> None:
        if not isinstance(jobs, int) or jobs == 0:
            raise BadParameter(f"jobs={jobs!r}: give the number of processes, or -1 for as many as there are cores.")
        self.identity = {"version": __version__, **identity}
        self.folder = None if keep is None else Path(keep) / fingerprint(self.identity)[:16]
        self.progress, self.jobs = progress, jobs
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                text = json.dumps(self.identity, indent=1, default=_plain)
                (self.folder / "identity.json").write_text(text, "utf-8")
            except OSError as error:
                raise BadParameter(
                    f"keep={str(keep)!r} cannot be written ({error.strerror}: {error.filename}): give another folder."
                ) from error

    def each(
        self, names: Sequence[str], compute: Callable[[str], Piece], says: str, unit: str = "pieces"
    ) -> list[Piece]:
        """The pieces of these names, in this order: those that are kept, and the others by ``compute``."""
        work = {name: partial(compute, name) for name in names}
        found = dict(bar(self.done(work), self.progress, says, len(work), unit))
        return [found[name] for name in names]

    def done(self, work: Mapping[str, Callable[[], Piece]]) -> Iterator[tuple[str, Piece]]:
        """Names and pieces as they come: first those that are kept, then those that this work does."""
        missing = {}
        for name, compute in work.items():
            piece = self._kept(name)
            if piece is None:
                missing[name] = compute
            else:
                yield name, piece
        if self.jobs == 1 or len(missing) < 2:
            yield from (self._done(name, compute) for name, compute in missing.items())
        else:
            from joblib import Parallel, delayed

            parallel = Parallel(n_jobs=self.jobs, return_as="generator_unordered")
            yield from parallel(delayed(self._done)(name, compute) for name, compute in missing.items())

    def _done(self, name: str, compute: Callable[[], Piece]) -> tuple[str, Piece]:
        piece = compute()
        if self.folder is not None:
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

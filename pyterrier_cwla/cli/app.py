"""Entry point of the command line: runs a command; each error becomes one line and an exit code."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ..errors import CWLAError, MalformedFile, MissingLength, UnknownFunction
from ..errors.extras import needed
from ..errors.sanitise import harmless
from ..files.atomic import NO_ROOM
from .options import displayed, in_options, options_of, unknown_option, with_tables, wrong_value

if TYPE_CHECKING:
    import typer

#: Modules of commands with their commands, in the order of the help.
_MODULES = {
    "evaluation": ("evaluate", "compare", "correct", "rbo", "sessions", "pages"),
    "explanation": ("explain", "measures", "explore"),
    "demo": ("demo",),
    "log": ("calibrate", "simulate"),
    "study": ("study",),
}
#: Exit codes.
_FAILED, _INTERRUPTED, _TERMINATED = 2, 130, 143
#: New objects between searches for unused cycles. The imports of a command make about as many, all in use.
_NEW_OBJECTS = 100_000


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit the process.

    Parameters
    ----------
    arguments : sequence of str, optional
        Words of the command line; those of the process if not given.

    Raises
    ------
    SystemExit
        Always, with an exit code: 0 for success, also if the reader of standard output leaves as ``head`` does, 2 for
        an error, 130 for Ctrl-C, 143 for SIGTERM.
    """
    own_process = arguments is None
    if own_process:
        gc.set_threshold(_NEW_OBJECTS)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # '?' where the terminal cannot show V⁺
            stream.reconfigure(errors="replace")
    try:
        with _exit_on_sigterm():
            code = _run(arguments)
            sys.stdout.flush()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except OSError as error:
        # Buffered text would raise the error again when Python closes the output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        left = isinstance(error, BrokenPipeError)
        code = 0 if left else _fail(f"standard output: cannot be written ({error.strerror}).")
    if own_process:
        gc.freeze()  # Python exits without a search of all objects for cycles, which takes a sixth of a short command
    sys.exit(code)


@contextlib.contextmanager
def _exit_on_sigterm() -> Iterator[None]:
    """Exit on SIGTERM, which batch systems send, as on Ctrl-C: no partial file remains."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def loaded_app(command: str = "") -> typer.Typer:
    """Return the application with the commands of all modules, or of the module of one command if there is one."""
    from .arguments import app

    for name in [name for name, commands in _MODULES.items() if command in commands] or _MODULES:
        importlib.import_module(f".{name}_commands", __package__)
    return app


def _run(arguments: Sequence[str] | None) -> int:
    try:
        with needed("the command line needs typer", extra="cli"):
            import typer
    except CWLAError as error:
        return _fail(str(error))
    words = sys.argv[1:] if arguments is None else arguments
    app = loaded_app(next(iter(words), ""))
    # typer does not export the class of usage errors, which is the base class of its public BadParameter.
    usage_error: type[Exception] = typer.BadParameter.__mro__[1]
    try:
        return app(args=arguments, prog_name="pyterrier-cwla", standalone_mode=False) or 0
    except MissingLength as error:
        return _fail(with_tables(str(error), typer.main.get_command(app), words))
    except UnknownFunction as error:
        return _fail(f"{error} Your own functions are available in Python only.")
    except MalformedFile as error:
        return _fail(f"{error}{_way_out_of_folder(str(error), words)}")
    except CWLAError as error:
        return _fail(in_options(str(error), options_of(typer.main.get_command(app), words)))
    except usage_error as error:
        message = unknown_option(error, typer.main.get_command(loaded_app())) or wrong_value(error)
        return _fail(message if message.endswith((".", "?")) else f"{message}.")
    except BrokenPipeError:
        raise
    except SystemExit as ended:  # typer's exit for a broken pipe has code 1
        if isinstance(ended.__context__, BrokenPipeError):
            raise ended.__context__ from None
        raise
    except OSError as error:
        if error.errno in NO_ROOM and not error.filename:
            raise
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def _way_out_of_folder(message: str, words: Sequence[str]) -> str:
    """Return a hint that follows the message, if an error is about a file in a folder that was given."""
    file = Path(message.partition(":")[0])
    if not file.is_file() or file.parent not in map(Path, words):
        return ""
    stop = "" if message.endswith(".") else "."
    return (
        f"{stop} All files of the folder {file.parent} are read as runs, except those whose names begin with '.' or '_'"
        f". If {file.name} is no run, move it elsewhere, or give the runs alone, as in {file.parent / '*.txt'}."
    )


def _fail(message: str) -> int:
    """Print the message as one line on stderr and return the exit code."""
    with contextlib.suppress(BrokenPipeError):
        print(harmless(displayed(" ".join(message.split("\n")))), file=sys.stderr)
    return _FAILED

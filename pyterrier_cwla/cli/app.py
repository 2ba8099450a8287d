"""The entry of the command line: runs a command, and makes one line and an exit code of whatever goes wrong."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import NoReturn

from ..errors import CWLAError, MissingLength, UnknownFunction
from ..errors.sanitise import harmless
from ..files.atomic import NO_ROOM
from .options import in_options, options_of

_MODULES = (
    "evaluation",
    "explanation",
    "demo",
    "log",
    "study",
)  # of commands, in the order of the help
_WRONG, _INTERRUPTED, _ENDED, _NOBODY_READS = 2, 130, 143, 1


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs a command with these arguments, or the process's own, and exits: 0, or 2 where something is wrong."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show V⁺ shows a question mark
            stream.reconfigure(errors="replace")
    try:
        with _ended_cleanly():
            code = _run(arguments)
            sys.stdout.flush()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except BrokenPipeError:
        # What is still buffered would raise again when Python closes the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = _NOBODY_READS
    except OSError as error:
        code = _say(f"standard output: cannot be written ({error.strerror}).")
    sys.exit(code)


@contextlib.contextmanager
def _ended_cleanly() -> Iterator[None]:
    """Whoever ends the process by SIGTERM, as batch systems do, ends it as Ctrl-C does: nothing half-written stays."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(_ENDED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        import rich  # noqa: F401
        import typer
    except ModuleNotFoundError:
        return _say("pyterrier-cwla needs typer and rich. Install them: pip install 'pyterrier-cwla[cli]'")
    from .arguments import app

    for name in _MODULES:
        importlib.import_module(f".{name}_commands", __package__)

    # typer has no name of its own for a wrong option or argument: what stands above its public BadParameter is that.
    usage_error: type[Exception] = typer.BadParameter.__mro__[1]
    try:
        return app(args=arguments, prog_name="pyterrier-cwla", standalone_mode=False) or 0
    except MissingLength as error:
        return _say(f"{error} On the command line: --lengths FILE, --missing mean.")
    except UnknownFunction as error:
        return _say(f"{error} Functions of your own are used from Python.")
    except CWLAError as error:
        words = sys.argv[1:] if arguments is None else arguments
        return _say(in_options(str(error), options_of(typer.main.get_command(app), words)))
    except usage_error as error:
        message = error.format_message().replace("Value error, ", "")  # type: ignore[attr-defined]
        return _say(message if message.endswith(".") else f"{message}.")
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno in NO_ROOM and not error.filename:
            raise
        return _say(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def _say(message: str) -> int:
    with contextlib.suppress(BrokenPipeError):
        print(harmless(" ".join(message.split("\n"))), file=sys.stderr)
    return _WRONG

"""Test runs against mutants: each in a forked child, with the tests that execute the changed lines."""

from __future__ import annotations

import gc
import importlib.util
import os
import pickle
import re
import resource
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import _lru_cache_wrapper
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import coverage
import hypothesis
import pytest

from .mutants import Mutant

PACKAGE = Path("pyterrier_cwla").resolve()
_OPTIONS = ["-o", "addopts=", "--doctest-modules", "-q", "-s", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist",
            "-W", "ignore"]  # fmt: skip
_MEMORY = 6 << 30
_LONGEST = 20
_STARTS = {"subprocess.Popen", "os.fork", "os.posix_spawn", "os.system"}


class Test(NamedTuple):
    """Test measured without mutants: CPU seconds, and executed lines by module, as bits of an integer."""

    seconds: float
    lines: dict[str, int]


# ---- children


def forked(tasks: Iterable[Any], jobs: int, work: Callable[[Any], Any]) -> Iterator[tuple[Any, Any, int]]:
    """Yield each task with the result of its forked child and the signal that ended the child, or 0."""
    waiting = iter(tasks)
    running: dict[int, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        while True:
            while len(running) < jobs and (task := next(waiting, None)) is not None:
                sys.stdout.flush()
                pid = os.fork()
                if pid == 0:
                    _work(work, task, Path(folder, str(os.getpid())))
                running[pid] = task
            if not running:
                return
            pid, status = os.wait()
            answer = Path(folder, str(pid))
            yield running.pop(pid), pickle.loads(answer.read_bytes()) if answer.exists() else None, status & 127
            answer.unlink(missing_ok=True)


def _work(work: Callable[[Any], Any], task: Any, answer: Path) -> None:
    try:
        answer.write_bytes(pickle.dumps(work(task)))
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(0)


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


# ---- tests


class Session:
    """Plugin of pytest that collects tests and passes them to a function, which runs a selection."""

    def __init__(self, work: Callable[[Session, list], Any]) -> None:
        self.work, self.failed, self.skipped = work, "", ""
        self.answer: Any = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Call the function in place of the loop of pytest."""
        self.answer = self.work(self, session.items)
        return True

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Store the name of a file that cannot be imported."""
        if report.failed:
            self.failed = report.nodeid

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Store the name of a test that failed or was skipped."""
        if report.failed:
            self.failed = report.nodeid
        elif report.skipped:
            self.skipped = report.nodeid

    def run(self, item: pytest.Item, following: pytest.Item | None) -> None:
        """Run one test."""
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def prepare(examples: int, marks: str) -> None:
    """Select tests by marks, and make hypothesis try the same examples every time, at most this number for each."""
    _OPTIONS.extend(["-m", marks])
    hypothesis.settings.register_profile(
        "mutation",
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=examples,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.load_profile("mutation")


def collected(arguments: list[str], work: Callable[[Session, list], Any]) -> Session:
    """Collect tests with pytest, run ``work`` on them, and return the session."""
    session = Session(work)
    code = pytest.main([*_OPTIONS, *arguments], plugins=[session])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.TESTS_FAILED):
        session.failed = session.failed or "import"
    return session


def without_mutants(names: set[str]) -> dict[str, str]:
    """Return whether each of these tests passed, failed or was skipped; those that are gone are left out.

    Tests of polars, and those that start processes, which do not have the mutant, count as skipped.
    """
    files = sorted({file for name in names if Path(file := name.split("::")[0]).is_file()})

    def each(session: Session, items: list) -> dict[str, str]:
        found: dict[str, str] = {}
        mine = [item for item in items if item.nodeid in names]
        sys.addaudithook(lambda event, _: setattr(session, "skipped", session.skipped or event * (event in _STARTS)))
        for item, following in zip(mine, [*mine[1:], None]):
            session.failed = session.skipped = ""
            session.run(item, following)
            unsuitable = session.skipped or _uses_polars(item)
            found[item.nodeid] = "failed" if session.failed else "skipped" if unsuitable else "passed"
        return found

    ((_, found, _),) = forked([0], 1, lambda _: collected(files, each).answer)
    return found


class _Unsuitable(BaseException):
    """Raised in a test that starts a process or takes too long, so that it fails and is left out."""


def measured(files: list[str], modules: list[str], jobs: int) -> dict[str, Test]:
    """Return seconds and lines of all tests that pass; the key "" contains the lines executed before the tests."""

    def part(number: int) -> dict[str, Test]:
        _silence()
        paths = {str(PACKAGE / f"{name}.py"): name for name in modules}
        running = False

        def refuse(*_: Any) -> None:
            if running:
                raise _Unsuitable

        def each(session: Session, items: list) -> dict[str, float]:
            nonlocal running
            import _posixsubprocess

            sys.addaudithook(lambda event, _: refuse() if event in _STARTS else None)
            _posixsubprocess.fork_exec = refuse  # of joblib and multiprocessing
            for limit in (signal.SIGPROF, signal.SIGALRM):
                signal.signal(limit, refuse)
            seconds, caches = {"": 0.0}, _caches()
            # The event loop of Dask does not run in a forked process: its tests wait for the alarm.
            mine = [item for item in items if "dask" not in item.nodeid][number::jobs]
            for item, following in zip(mine, [*mine[1:], None]):
                for cache in caches:
                    cache.cache_clear()
                coverer.switch_context(item.nodeid)
                session.failed, begun, running = "", time.process_time(), True
                signal.setitimer(signal.ITIMER_PROF, _LONGEST)
                signal.alarm(3 * _LONGEST)
                session.run(item, following)
                running = False
                if not session.failed:
                    seconds[item.nodeid] = time.process_time() - begun
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
            return seconds

        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder, "coverage")
            coverer = coverage.Coverage(data_file=data, config_file=False, include=list(paths))
            coverer.start()
            seconds = collected(files, each).answer
            coverer.stop()
            coverer.save()
            tests = {name: Test(spent, {}) for name, spent in seconds.items()}
            rows = sqlite3.connect(data).execute(
                "select context, path, numbits from line_bits join context on context.id = context_id join file on"
                " file.id = file_id"
            )
            for name, path, bits in rows:
                if name in tests:
                    tests[name].lines[paths[path]] = int.from_bytes(bits, "little")
        return tests

    return {name: test for _, found, _ in forked(range(jobs), jobs, part) for name, test in found.items()}


def _caches() -> list[Any]:
    """Return the caches of the package to clear between tests; the constant grids of tail sums are filled and kept."""
    from pyterrier_cwla.model.browsing import grid

    for start, doublings in ((16, 8), (16, 40), (1024, 34), (16384, 30)):
        grid(start, doublings)  # computed once for all children
    found = [thing for thing in gc.get_objects() if isinstance(thing, _lru_cache_wrapper) and thing is not grid]
    return [cache for cache in found if (cache.__module__ or "").split(".")[0] == PACKAGE.name]


class Choice:
    """Selection of tests for a mutant: those that execute its lines, ordered to fail early.

    Tests that failed for other mutants of the same function come first, then tests whose names share words with the
    mutant, then one case per test function; within these groups, fast tests come first.
    """

    def __init__(self, tests: dict[str, Test], budget: float) -> None:
        self.tests, self.budget = {name: test for name, test in tests.items() if name}, budget
        self.early = {"": tests[""].lines} if "" in tests else {}
        self.found: Counter = Counter()

    def of(self, mutant: Mutant) -> list[str]:
        """Return the names of the tests for a mutant, up to the budget of seconds."""
        lines = _bits(mutant) if mutant.inside else -1  # what runs at import matters to all tests of the module
        able = [name for name, test in self.tests.items() if test.lines.get(mutant.module, 0) & lines]
        seen: Counter = Counter()
        order, words = [], _words(f"{mutant.scope} {mutant.was}")
        for name in sorted(able, key=lambda name: self.tests[name].seconds):
            function = name.split("[")[0]
            seen[function] += 1
            bears = len(words & _words(name))
            order.append((-self.found[mutant.scope, name], -bears, seen[function], self.tests[name].seconds, name))
        chosen, left = [], self.budget
        for *_, seconds, name in sorted(order):
            chosen.append(name)
            left -= seconds
            if left < 0:
                break
        return chosen

    def runs_early(self, mutant: Mutant) -> bool:
        """Return whether a changed line is executed by the import of the package."""
        return any(lines.get(mutant.module, 0) & _bits(mutant) for lines in self.early.values())


class Named(Choice):
    """The test that is named for each mutant; an empty name where there is none."""

    def __init__(self, names: dict[tuple[str, ...], str]) -> None:
        super().__init__({name: Test(2, {}) for name in names.values()}, 0)
        self.names = names

    def of(self, mutant: Mutant) -> list[str]:
        """Return the name of the test for a mutant."""
        return [name] if (name := self.names[mutant.text]) else []

    def runs_early(self, mutant: Mutant) -> bool:
        """Return True: a mutant that survives is tried once more, by importing the package again."""
        return True


def _bits(mutant: Mutant) -> int:
    return sum(1 << line for line in mutant.lines)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{3,}", text))


def _against(session: Session, items: list, names: list[str], tests: dict[str, Test]) -> str:
    """Name of the first test that fails, or an empty text."""
    if session.failed:
        return session.failed
    by_name = {item.nodeid: item for item in items}
    chosen = [by_name[name] for name in names if name in by_name and not _uses_polars(by_name[name])]
    for item, following in zip(chosen, [*chosen[1:], None]):
        # CPU time, which does not depend on other load.
        signal.setitimer(signal.ITIMER_PROF, 5 + 10 * tests[item.nodeid].seconds)
        session.run(item, following)
        if session.failed:
            break
    signal.setitimer(signal.ITIMER_PROF, 0)
    return session.failed


def _uses_polars(item: Any) -> bool:
    """Whether a test reaches polars, whose threads a forked child lacks, so that it would wait for ever."""
    if not hasattr(item, "function"):
        return "polars" in item.dtest.docstring
    if "polars" in item.nodeid:
        return True
    waiting, seen = [item.function], set()
    while waiting:
        function = waiting.pop()
        names, codes = set(), [function.__code__]
        while codes:
            code = codes.pop()
            names.update(code.co_names)
            codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        things = [function.__globals__.get(name) for name in names]
        if "polars" in names or any(getattr(thing, "__name__", "") == "polars" for thing in things):
            return True
        functions = {thing for thing in things if isinstance(thing, FunctionType)} - seen
        waiting += [thing for thing in functions if "tests" in thing.__code__.co_filename]
        seen |= functions
    return False


def _limit() -> None:
    _silence()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(90)


# ---- mutants


Outcome = tuple[Mutant, str, str]
"""Mutant, result (killed, timeout or survived), and the name of the failed test."""


def outcome(mutant: Mutant, answer: str | None, ended: int, choice: Choice) -> Outcome:
    """Return the result of a mutant for the answer and the signal of its child."""
    if ended == signal.SIGALRM:  # hung, possibly because of the fork
        return mutant, "survived", "hung"
    if ended:
        return mutant, "timeout" if ended == signal.SIGPROF else "killed", f"signal {ended}"
    if answer is None:
        return mutant, "killed", "import"
    if answer:
        choice.found[mutant.scope, answer] += 1
    return mutant, "killed" if answer else "survived", answer


def tried(some: list[Mutant], files: list[str], choice: Choice, jobs: int, record: Callable[[Outcome], None]) -> None:
    """Test mutants by replacing functions where that is enough, else by importing the package again."""
    quick = [mutant for mutant in some if mutant.inside]
    done = replaced(quick, files, choice, jobs, record) if quick else set()
    imported([mutant for mutant in some if mutant.text not in done], choice, jobs, record)


def replaced(some: list[Mutant], files: list[str], choice: Choice, jobs: int,
             record: Callable[[Outcome], None]) -> set[tuple[str, ...]]:  # fmt: skip
    """Test mutants of functions by replacing their code in a pytest session with all tests collected.

    Returns the texts of all but those that survive and run at import, or whose function cannot be replaced.
    """

    def each(session: Session, items: list) -> set[tuple[str, ...]]:
        assert not session.failed, session.failed
        for module in {mutant.module for mutant in some}:
            importlib.import_module(_dotted(module))
        functions: dict[tuple[str, str], list[FunctionType]] = {}
        for thing in gc.get_objects():
            if isinstance(thing, FunctionType) and thing.__code__.co_filename.startswith(str(PACKAGE)):
                functions.setdefault((thing.__code__.co_filename, thing.__code__.co_qualname), []).append(thing)
        caches = _caches()
        gc.freeze()

        def on_trial(mutant: Mutant) -> str | None:
            _limit()
            path = str(PACKAGE / f"{mutant.module}.py")
            code = _code(compile(mutant.code, path, "exec"), mutant.scope)
            places = functions.get((path, mutant.scope), [])
            if not places or any(place.__code__.co_freevars != code.co_freevars for place in places):
                return None
            for function in places:
                function.__code__ = code
            for cache in caches:
                cache.cache_clear()
            return _against(session, items, choice.of(mutant), choice.tests)

        done = set()
        for mutant, answer, ended in forked(some, jobs, on_trial):
            if answer is None and not ended:
                continue
            found = outcome(mutant, answer, ended, choice)
            if found[1] != "survived" or not choice.runs_early(mutant):
                record(found)
                done.add(mutant.text)
        return done

    ((_, done, _),) = forked([0], 1, lambda _: collected(files, each).answer)
    return done


def _dotted(module: str) -> str:
    return f"{PACKAGE.name}.{module.replace('/', '.')}".removesuffix(".__init__")


def _code(module: CodeType, scope: str) -> CodeType:
    """Code object of a function within that of its module."""
    for inner in module.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_qualname == scope:
                return inner
            if scope.startswith(f"{inner.co_qualname}."):
                return _code(inner, scope)
    raise KeyError(scope)


class _Mutated(SourceFileLoader):
    def __init__(self, name: str, path: str, code: str) -> None:
        super().__init__(name, path)
        self.code = code

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.code, self.path, "exec")


class _Finder:
    """Import finder for the mutated module, placed before the finders of Python."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant, self.name = mutant, _dotted(mutant.module)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        path = str(PACKAGE / f"{self.mutant.module}.py")
        return importlib.util.spec_from_file_location(name, path, loader=_Mutated(name, path, self.mutant.code))


def imported(some: list[Mutant], choice: Choice, jobs: int, record: Callable[[Outcome], None]) -> None:
    """Test mutants of code executed at import; each child imports the package again."""

    def on_trial(mutant: Mutant) -> str:
        _limit()
        sys.meta_path.insert(0, _Finder(mutant))  # type: ignore[arg-type]
        names = choice.of(mutant)[:100]
        if not names:
            importlib.import_module(_dotted(mutant.module))
            return ""
        files = list(dict.fromkeys(name.split("::")[0] for name in names))
        return collected(files, lambda session, items: _against(session, items, names, choice.tests)).failed

    for mutant, answer, ended in forked(some, jobs, on_trial):
        record(outcome(mutant, answer, ended, choice))

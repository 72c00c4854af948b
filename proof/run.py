"""Tests run against mutants, each in a process of its own, so many at a time.

A process is a fork of one in which pytest and all packages are loaded, or, where there is no fork,
a fresh one.
"""

import contextlib
import gc
import io
import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import pytest

from proof.inside import Plugin, Watched, pytest_anew
from proof.mutants import Mutant

_FORK = "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"


@dataclass(frozen=True)
class Job:
    """A mutant, and the tests that should kill it, in this order, with the seconds each takes."""

    mutant: Mutant
    tests: dict[str, float]

    @property
    def patience(self) -> tuple[float, float]:
        """Seconds of processor that one test gets, and seconds by the clock for all of them."""
        seconds = self.tests.values()
        return 5 + 10 * max(seconds, default=0.0), 60 + 60 * sum(seconds)


def fates(jobs: Iterable[Job], root: Path, workers: int = 1) -> Iterator[tuple[Job, str]]:
    """Each job with what became of its mutant: the test that killed it, `hung`, or nothing."""
    calls = ((job, _try, (job,), job.patience[1]) for job in jobs)
    for job, watched in _processes(calls, root, workers):
        if watched is None:
            yield job, "hung"
        elif watched.status == pytest.ExitCode.NO_TESTS_COLLECTED:
            raise ValueError(f"none of these tests was found: {', '.join(job.tests)}")
        else:
            yield job, watched.failed or ("the import" if watched.status else "")


def watch(tests: list[str], paths: list[str], root: Path, seconds: float = 1200) -> Watched:
    """The tests without a mutant: they must pass. `paths` are the files whose lines are watched."""
    watched = apart(root, _watch, tests, paths, seconds=seconds)
    if watched is None or watched.status:
        what = watched.failed or f"pytest gave {watched.status}" if watched else "it hung"
        raise ValueError(f"the tests must pass before they can kill a mutant: {what}")
    return watched


def apart(root: Path, work: Callable, *arguments: Any, seconds: float = 600) -> Any:
    """What a function gives in a process of its own, so that this one runs nothing it forks."""
    ((_, found),) = _processes([(None, work, arguments, seconds)], root, 1)
    return found


def warm(tests: list[str], root: Path) -> None:
    """Load here what every fork needs: the packages, and the code of the project."""
    if _FORK:
        with contextlib.redirect_stdout(io.StringIO()):
            pytest_anew(root, Plugin(tests), None, "--collect-only")
        gc.collect()
        gc.freeze()


def _processes(
    calls: Iterable[tuple[Any, Callable, tuple, float]], root: Path, workers: int
) -> Iterator[tuple[Any, Any]]:
    """Keep so many processes busy; give what each sends, or None when its time is up."""
    context = multiprocessing.get_context("fork" if _FORK else "spawn")
    calls, running = iter(calls), {}
    while True:
        while len(running) < workers and (call := next(calls, None)):
            name, work, arguments, seconds = call
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=_child, args=(there, work, root, *arguments))
            with warnings.catch_warnings():  # a fork beside threads: the child uses none of them
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            there.close()
            running[here] = name, process, time.monotonic() + seconds
        if not running:
            return
        soonest = min(end for _, _, end in running.values())
        ready = wait(list(running), timeout=max(0.0, soonest - time.monotonic()))
        late = [pipe for pipe, (_, _, end) in running.items() if end <= time.monotonic()]
        for pipe in {*ready, *late}:
            name, process, _ = running.pop(pipe)
            yield name, _received(pipe, process) if pipe in ready else _killed(pipe, process)


def _received(pipe: Connection, process: multiprocessing.Process) -> Any:
    try:
        watched = pipe.recv()
    except EOFError:  # it died without a word: a crash
        process.join()
        hung = process.exitcode == -getattr(signal, "SIGPROF", 0)
        watched = Watched(status=1, failed="hung" if hung else "a crash")
    _killed(pipe, process)
    if isinstance(watched, BaseException):
        raise watched
    return watched


def _killed(pipe: Connection, process: multiprocessing.Process) -> None:
    """End a process with all it has started."""
    pipe.close()
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()


def _child(pipe: Connection, work: Callable, root: Path, *arguments: Any) -> None:
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    os.environ["HYPOTHESIS_PROFILE"] = "ci"  # the cases that everyone's tests draw
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    try:
        pipe.send(work(root, *arguments))
    except BaseException as error:  # ours, not that of a test: pytest gives those a status
        pipe.send(error)


def _try(root: Path, job: Job) -> Watched:
    return pytest_anew(root, Plugin(job.tests, job.patience[0]), job.mutant)


def _watch(root: Path, tests: list[str], paths: list[str]) -> Watched:
    os.environ["COVERAGE_CORE"] = "ctrace"  # the one that knows which test is running
    import coverage

    files = [str(root / path) for path in paths]
    lines = coverage.Coverage(data_file=None, config_file=False, include=files)
    lines.set_option("run:disable_warnings", ["no-data-collected"])
    lines.start()
    watched = pytest_anew(root, Plugin(tests, lines=lines))
    lines.stop()
    for path in paths:
        contexts = lines.get_data().contexts_by_lineno(str(root / path))
        watched.ran |= {(path, n): set(names) - {""} for n, names in contexts.items()}
    return watched

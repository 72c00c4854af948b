"""Work shared out: in this process, over processes of this machine, or on any Dask cluster."""

import io
import logging
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from typing import Any

# Calls a function on each tuple of arguments; gives number and result, in the order they are done.
Run = Callable[[Callable[..., Any], Sequence[tuple]], Iterator[tuple[int, Any]]]

_PATIENCE = 20  # seconds to wait for a scheduler


@dataclass(frozen=True)
class Refused:
    """What was wrong with the input of a piece of work, in one line."""

    told: str


def attempt(work: Callable[..., Any], *arguments: Any) -> Any:
    """What `work` gives, or a `Refused` if its input is at fault.

    >>> attempt(int, "7"), attempt(int, "seven").told[:28]
    (7, 'invalid literal for int() wi')
    """
    try:
        return work(*arguments)
    except OSError as error:
        named = error.filename and error.strerror
        return Refused(f"{error.filename}: {error.strerror}" if named else str(error))
    except ValueError as error:
        return Refused(str(error))


def run_here(work: Callable[..., Any], jobs: Sequence[tuple]) -> Iterator[tuple[int, Any]]:
    """Do the jobs one after the other.

    >>> list(run_here(pow, [(2, 3), (3, 2)]))
    [(0, 8), (1, 9)]
    """
    for number, job in enumerate(jobs):
        yield number, _quietly(work, job)


@contextmanager
def open_workers(workers: int, scheduler: str | None = None) -> Iterator[Run]:
    """The way to run jobs: on `workers` processes, or on the cluster that has that address.

    One worker is this process itself. Whatever a worker had not finished when it was killed is done
    by another. A job over which four workers died is given up.
    """
    if workers == 1 and scheduler is None:
        yield run_here
        return
    import distributed  # a second to load, and one worker does without

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with _deaf_children():
        cluster = scheduler or distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        )
    try:
        with distributed.Client(cluster, timeout=_PATIENCE) as client:
            yield lambda work, jobs: _run_on(client, work, jobs)
    finally:
        if not scheduler:
            cluster.close()


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes begun here leave Ctrl-C, which a terminal sends to all, to this one to handle."""
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _run_on(
    client: Any, work: Callable[..., Any], jobs: Sequence[tuple]
) -> Iterator[tuple[int, Any]]:
    import distributed

    futures = client.map(_quietly, [work] * len(jobs), jobs, pure=False)
    numbers = {future.key: number for number, future in enumerate(futures)}
    try:
        for future in distributed.as_completed(futures):
            yield numbers[future.key], future.result()
            future.release()
    except distributed.KilledWorker as error:
        place = jobs[numbers[error.task]] if error.task in numbers else "a job"
        raise ValueError(
            f"4 workers died over {place[0]}, for want of memory or by another hand; try a smaller "
            "--partition-mb or fewer --workers (what is finished is kept)"
        ) from None
    finally:
        client.cancel(futures)


class _NoTerminal(io.TextIOBase):
    """Where progress bars of the work itself do not show: there is one for all of it."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return self.stream.write(text)


def _quietly(work: Callable[..., Any], job: tuple) -> Any:
    with redirect_stderr(_NoTerminal(sys.stderr)):
        return work(*job)

"""Work is done by whoever is there, and what is at fault is told."""

import io
import os
import signal
import sys

import pytest

import workers
from workers import Refused, _quietly, attempt, open_workers, run_here


def test_jobs_are_done_here_one_after_the_other():
    with open_workers(1) as run:
        assert run is run_here
        assert list(run(divmod, [(7, 2), (9, 4)])) == [(0, (3, 1)), (1, (2, 1))]


def test_mistakes_of_the_input_are_results_and_others_are_not():
    def fails(error):
        raise error

    named = OSError(28, "No space left", "a.csv")
    assert attempt(fails, named) == Refused("a.csv: No space left")
    assert attempt(fails, OSError("a.csv: lost")) == Refused("a.csv: lost")
    assert attempt(fails, ValueError("a.csv, line 2")) == Refused("a.csv, line 2")
    with pytest.raises(ZeroDivisionError):
        attempt(fails, ZeroDivisionError())


def test_no_bar_of_the_work_itself_shows_and_messages_still_do(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def work():
        print("careful", file=sys.stderr)
        return sys.stderr.isatty()

    monkeypatch.setattr(sys, "stderr", Terminal())
    assert _quietly(work, ()) is False
    assert sys.stderr.getvalue() == "careful\n" and sys.stderr.isatty()


def dies(job: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that cannot be caught")
def test_work_over_which_every_worker_dies_is_given_up_by_name():
    with (
        pytest.raises(
            ValueError, match=r"^4 workers died over stories\.csv, for want of memory or"
        ),
        open_workers(2) as run,
    ):
        list(run(dies, [("stories.csv",)]))


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_told(monkeypatch):
    monkeypatch.setattr(workers, "_PATIENCE", 1)
    with pytest.raises(OSError, match="Timed out"), open_workers(2, "tcp://127.0.0.1:9"):
        pass

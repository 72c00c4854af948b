"""A command line tells a mistake in one line, and no traceback."""

import pytest

from commands import told


def raising(error: BaseException):
    def run() -> int:
        raise error

    return run


@pytest.mark.parametrize("status", [0, 1, 130])
def test_the_exit_status_is_that_of_what_is_run(capsys, status):
    assert told("a.py", lambda: status) == status
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("T must be\n  at least 1"), "a.py: T must be at least 1"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"), "a.py: 'utf-8' codec can't decode"),
        (FileNotFoundError(2, "No such file", "b.csv"), "a.py: b.csv: No such file"),
        (FileNotFoundError("b.csv: there is no such file"), "a.py: b.csv: there is no such file"),
        (OSError(28, "No space left"), "a.py: [Errno 28] No space left"),
        (MemoryError("9 EiB"), "a.py: out of memory; make what is asked for smaller (9 EiB)"),
        (RuntimeError("CUDA out of memory.\nTried"), "a.py: out of memory; make what is asked for"),
        (KeyboardInterrupt(), "a.py: stopped by Ctrl-C; what was written is whole"),
    ],
)
def test_a_mistake_is_one_line_on_stderr_and_status_2_or_130_after_ctrl_c(capsys, error, line):
    assert told("a.py", raising(error)) == (130 if isinstance(error, KeyboardInterrupt) else 2)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(line)
    assert err.count("\n") == 1


@pytest.mark.parametrize("error", [RuntimeError("balance"), SystemExit(3), KeyError("step")])
def test_what_is_no_mistake_of_the_user_is_not_hidden(error):
    with pytest.raises(type(error)):
        told("a.py", raising(error))

"""Reading a run's output: every target is scored once.

The lesson is docs/run.md. Write a body in the place of each
`raise NotImplementedError`, and see how far you are:

    python -m pytest --against exercises/run.py

Refused, with a ValueError: a stride over T, a size below 1, and fewer than two ids.
`windows.window_table` makes the frame.
"""

import pandas as pd


def eval_windows(n: int, seq_len: int, stride: int) -> pd.DataFrame:
    """Windows that score each target 1 … n−1 exactly once.

    They start at 0, s, 2s, … and the last one ends with the stream. `loss_from` is the number of a
    window's targets that the one before has scored. At most T ids are one window of n−1 targets.

    >>> eval_windows(23, 8, 3).to_dict("list")["start"]
    [0, 3, 6, 9, 12, 14]
    >>> eval_windows(23, 8, 3).to_dict("list")["loss_from"]
    [0, 5, 5, 5, 5, 6]
    """
    raise NotImplementedError

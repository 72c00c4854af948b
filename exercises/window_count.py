"""Window count: how many there are, and what is left over.

The lesson is docs/window-count.md. Write a body in the place of each
`raise NotImplementedError`, and see how far you are:

    python -m pytest --against exercises/window_count.py

Where no window fits, the count is 0 and all ids are unused.
Every `loss_from` of a sliding window is 0; `windows.window_table` makes the frame.
"""

import pandas as pd


def count_windows(n: int, seq_len: int, stride: int = 1) -> int:
    """How many windows of `seq_len` targets start at 0, k, 2k, … in `n` ids; 0 when none fits.

    >>> count_windows(10, 4, 3)
    2

    W = ⌈(N − T) / k⌉ = max(0, 1 + ⌊(N − (T + 1)) / k⌋): seeds 001 and 004.
    """
    raise NotImplementedError


def count_unused(n: int, seq_len: int, stride: int = 1) -> int:
    """How many of `n` ids are in no window: those after the last one, and gaps of a wide stride.

    >>> count_unused(10, 4, 3)
    2
    """
    raise NotImplementedError


def sliding_windows(n: int, seq_len: int, stride: int = 1) -> pd.DataFrame:
    """Windows at 0, k, 2k, … as long as their last target exists; every target of each counts.

    >>> sliding_windows(10, 4, 3)["start"].tolist()
    [0, 3]
    """
    raise NotImplementedError

"""Sliding windows: inputs, and the right answers beside them.

The lesson is docs/windows.md. Write a body in the place of each
`raise NotImplementedError`, and see how far you are:

    python -m pytest --against exercises/windows.py

Refused, with a ValueError: a size below 1, a stream without one window, and a table whose windows
are of several lengths.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd


def rows_view(ids: Any, seq_len: int) -> Any:
    """Every stretch of T + 1 neighbouring ids, `(N − T, T + 1)`, as a view that copies nothing.

    >>> rows_view(np.array([3, 1, 4, 1]), 2).tolist()
    [[3, 1, 4], [1, 4, 1]]
    """
    raise NotImplementedError


def make_windows(
    ids: np.ndarray, seq_len: int, stride: int = 1
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Inputs and targets, `(W, T)` each, one row a window: views of `ids` that copy nothing.

    Windows start at 0, k, 2k, … while their last target exists, so `ids` must be longer than
    `seq_len`. Each target is the id right after its input. Both frames share one index.

    >>> inputs, targets = make_windows(np.array([3, 1, 4, 1, 5]), seq_len=3)
    >>> inputs.to_numpy().tolist(), targets.to_numpy().tolist()
    ([[3, 1, 4], [1, 4, 1]], [[1, 4, 1], [4, 1, 5]])
    """
    raise NotImplementedError


def window_table(
    starts: Sequence[int] | np.ndarray, length: int, loss_from: Any = 0
) -> pd.DataFrame:
    """The window table: one row a window, with int64 columns `start`, `length` and `loss_from`.

    >>> window_table([0, 3], 4, [0, 1]).to_dict("list")
    {'start': [0, 3], 'length': [4, 4], 'loss_from': [0, 1]}
    """
    raise NotImplementedError


def gather(ids: Any, windows: pd.DataFrame) -> tuple[Any, Any]:
    """Inputs and targets of the windows of a table, `(W, T)` each, one place apart.

    >>> x, y = gather(np.array([3, 1, 4, 1, 5]), window_table([0, 1], 3))
    >>> x.tolist(), y.tolist()
    ([[3, 1, 4], [1, 4, 1]], [[1, 4, 1], [4, 1, 5]])
    """
    raise NotImplementedError

"""Shuffling and batching: a new order each time, a few windows at once.

The lesson is docs/batches.md. Write a body in the place of each
`raise NotImplementedError`, and see how far you are:

    python -m pytest --against exercises/batches.py

Refused, with a ValueError: a size below 1, and two frames that are not of one index.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from bijection import Bijection


def count_batches(n_windows: int, batch_size: int) -> int:
    """How many batches give each of `n_windows` windows once; the last one may be short.

    >>> count_batches(46, 16)
    3
    """
    raise NotImplementedError


def count_steps(n_windows: int, batch_size: int, epochs: int) -> int:
    """How many training steps `epochs` epochs take.

    >>> count_steps(46, 16, 3)
    9
    """
    raise NotImplementedError


def window_order(n_windows: int, rng: np.random.Generator) -> np.ndarray:
    """The order in which an epoch gives its windows, int64 `(W,)`: pandas' for `rng`.

    It is what `sample(frac=1)` draws for any frame of W rows. `rng` moves on.

    >>> window_order(10, np.random.default_rng(42)).tolist()
    [2, 9, 1, 6, 3, 8, 5, 7, 4, 0]
    """
    raise NotImplementedError


def iterate_batches(
    inputs: pd.DataFrame,
    targets: pd.DataFrame,
    batch_size: int,
    rng: np.random.Generator | None,
    shuffle: bool = True,
    *,
    start: int = 0,
    order: np.ndarray | Bijection | None = None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Batches `(xb, yb)` of one epoch, int64 `(B, T)`: each window once; the last may be short.

    The order is the one that pandas' `sample(frac=1)` draws from `rng`, which moves on, or that of
    the frames if not `shuffle`; or `order`, if it is given. `start` is the first batch to give, for
    going on inside an epoch.

    >>> inputs, targets = make_windows(np.arange(12), seq_len=2)
    >>> batches = iterate_batches(inputs, targets, 4, np.random.default_rng(42))
    >>> [xb[:, 0].tolist() for xb, yb in batches]
    [[2, 9, 1, 6], [3, 8, 5, 7], [4, 0]]
    """
    raise NotImplementedError

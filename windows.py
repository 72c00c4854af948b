"""The window table, the shift, and the masks.

A window is a row (`start`, `length`, `loss_from`) of a table, and stands for `length` predictions
made from `length + 1` neighbouring ids. Every way to sample a stream is a way to fill that table.
Functions take NumPy arrays or torch tensors, and need no torch.
"""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

Boundaries = Literal["continuous", "isolated"]


def count_windows(n: int, seq_len: int, stride: int = 1) -> int:
    """How many windows of `seq_len` targets start at 0, k, 2k, … in `n` ids; 0 when none fits.

    >>> count_windows(10, 4, 3)
    2

    W = ⌈(N − T) / k⌉ = max(0, 1 + ⌊(N − (T + 1)) / k⌋): seeds 001 and 004.
    """
    check_sizes(seq_len=seq_len, stride=stride)
    return max(0, 1 + (n - (seq_len + 1)) // stride)  # eq: window-count


def count_batches(n_windows: int, batch_size: int) -> int:
    """How many batches give each of `n_windows` windows once; the last one may be short.

    >>> count_batches(46, 16)
    3
    """
    check_sizes(batch_size=batch_size)
    return -(-n_windows // batch_size)  # eq: batches-per-epoch


def count_steps(n_windows: int, batch_size: int, epochs: int) -> int:
    """How many training steps `epochs` epochs take.

    >>> count_steps(46, 16, 3)
    9
    """
    return epochs * count_batches(n_windows, batch_size)  # eq: total-steps


def place_in_epoch(step: int, n_windows: int, batch_size: int) -> tuple[int, int]:
    """Which epoch step `step` is in, and which batch of that epoch it takes, all from 0.

    >>> place_in_epoch(7, 10, 4)
    (2, 1)
    """
    check_sizes(n_windows=n_windows)
    return divmod(step, count_batches(n_windows, batch_size))  # eq: epoch-of-step, batch-of-step


def count_unused(n: int, seq_len: int, stride: int = 1) -> int:
    """How many of `n` ids are in no window: those after the last one, and gaps of a wide stride.

    >>> count_unused(10, 4, 3)
    2
    """
    windows = count_windows(n, seq_len, stride)
    return n - (windows - 1) * min(stride, seq_len + 1) - (seq_len + 1) if windows else n


def window_table(
    starts: Sequence[int] | np.ndarray, length: int, loss_from: Any = 0
) -> pd.DataFrame:
    """The window table: one row a window, with int64 columns `start`, `length` and `loss_from`.

    >>> window_table([0, 3], 4, [0, 1]).to_dict("list")
    {'start': [0, 3], 'length': [4, 4], 'loss_from': [0, 1]}
    """
    columns = {"start": np.asarray(starts), "length": length, "loss_from": loss_from}
    try:
        return pd.DataFrame(columns, dtype=np.int64).rename_axis("window")
    except OverflowError:
        raise ValueError("start, length and loss_from must be below 2⁶³, one is not") from None


def sliding_windows(n: int, seq_len: int, stride: int = 1) -> pd.DataFrame:
    """Windows at 0, k, 2k, … as long as their last target exists; every target of each counts.

    >>> sliding_windows(10, 4, 3)["start"].tolist()
    [0, 3]
    """
    check_sizes(seq_len=seq_len, stride=stride)
    starts = np.arange(0, n - seq_len, stride)  # eq: window-starts
    return window_table(starts, seq_len)


def window_order(n_windows: int, rng: np.random.Generator) -> np.ndarray:
    """The order in which an epoch gives its windows, int64 `(W,)`: pandas' for `rng`.

    It is what `sample(frac=1)` draws for any frame of W rows. `rng` moves on.

    >>> window_order(10, np.random.default_rng(42)).tolist()
    [2, 9, 1, 6, 3, 8, 5, 7, 4, 0]
    """
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"to shuffle, give a generator such as np.random.default_rng(42), not {rng}"
        )
    if n_windows != 0:
        check_sizes(n_windows=n_windows)
    return rng.choice(n_windows, n_windows, replace=False)  # the one draw that `sample` makes


def eval_windows(n: int, seq_len: int, stride: int) -> pd.DataFrame:
    """Windows that score each target 1 … n−1 exactly once.

    They start at 0, s, 2s, … and the last one ends with the stream. `loss_from` is the number of a
    window's targets that the one before has scored. At most T ids are one window of n−1 targets.

    >>> eval_windows(23, 8, 3).to_dict("list")["start"]
    [0, 3, 6, 9, 12, 14]
    >>> eval_windows(23, 8, 3).to_dict("list")["loss_from"]
    [0, 5, 5, 5, 5, 6]
    """
    check_sizes(seq_len=seq_len, stride=stride)
    if stride > seq_len:
        raise ValueError(
            f"stride {stride} is larger than seq_len {seq_len} and leaves targets unscored; "
            f"use 1 … {seq_len}"
        )
    if n < 2:
        raise ValueError(f"a stream needs at least 2 ids to score a target, got {n}")
    length = min(seq_len, n - 1)
    last = n - 1 - length
    starts = np.append(np.arange(0, last, stride), last)  # eq: eval-starts
    loss_from = np.append(0, starts[:-1] + length - starts[1:])
    return window_table(starts, length, loss_from)


def count_passes(n_windows: int, seq_len: int, n: int) -> float:
    """How many predictions `n_windows` windows make for each target of `n` ids, on average.

    >>> count_passes(6, 8, 23)  # 48 predictions of 22 targets
    2.1818181818181817
    """
    if n < 2:
        raise ValueError(f"a stream needs at least 2 ids to have a target, got {n}")
    return n_windows * seq_len / (n - 1)  # eq: passes


def mean_context(windows: pd.DataFrame) -> float:
    """From how many ids a target that counts is predicted, on average.

    Those of a window from 1, 2, … T, (T + 1)/2 on average if all of them count: seed 000.

    >>> mean_context(eval_windows(129, 128, 128))
    64.5
    """
    length, loss_from = windows["length"], windows["loss_from"]
    means = (length + loss_from + 1) / 2  # eq: mean-context
    return float(np.average(means, weights=length - loss_from))


def least_context(seq_len: int, stride: int) -> int:
    """From how many ids at least each target is predicted that counts after the first window.

    >>> least_context(16, 8)
    9
    """
    return seq_len - stride + 1  # eq: least-context


def rows_view(ids: Any, seq_len: int) -> Any:
    """Every stretch of T + 1 neighbouring ids, `(N − T, T + 1)`, as a view that copies nothing.

    >>> rows_view(np.array([3, 1, 4, 1]), 2).tolist()
    [[3, 1, 4], [1, 4, 1]]
    """
    check_sizes(seq_len=seq_len)
    if len(ids) <= seq_len:
        raise ValueError(
            f"one window of seq_len {seq_len} needs {seq_len + 1} ids, the stream has {len(ids)}"
        )
    if hasattr(ids, "unfold"):  # a torch tensor
        return ids.unfold(0, seq_len + 1, 1)
    return np.lib.stride_tricks.sliding_window_view(ids, seq_len + 1)


def gather(ids: Any, windows: pd.DataFrame) -> tuple[Any, Any]:
    """Inputs and targets of the windows of a table, `(W, T)` each, one place apart.

    >>> x, y = gather(np.array([3, 1, 4, 1, 5]), window_table([0, 1], 3))
    >>> x.tolist(), y.tolist()
    ([[3, 1, 4], [1, 4, 1]], [[1, 4, 1], [4, 1, 5]])
    """
    length = _common_length(windows)
    rows = rows_view(ids, length)[np.array(windows["start"])]  # (W, T+1), copied
    return rows[:, :-1], rows[:, 1:]  # eq: shift


def loss_mask(windows: pd.DataFrame, segment_ids: Any, boundaries: Boundaries) -> np.ndarray:
    """Which targets count, bool `(W, T)`: those from `loss_from` on that are no padding.

    If documents are `isolated`, a target of another document than its input does not count either.
    `segment_ids` `(N,)` number the spans from 1, with 0 for padding; ids are never looked at.

    >>> segments = np.array([1, 1, 1, 2, 2, 2])
    >>> loss_mask(window_table([0], 5), segments, "isolated").astype(int).tolist()
    [[1, 1, 0, 1, 1]]
    """
    seg_x, seg_y = gather(np.asarray(segment_ids), windows)
    places = np.arange(seg_y.shape[1])
    return (places >= windows["loss_from"].to_numpy()[:, None]) & counts(seg_x, seg_y, boundaries)


def counts(seg_x: Any, seg_y: Any, boundaries: Boundaries) -> Any:
    """Which targets count, bool, by the span numbers of the inputs and of the targets.

    >>> counts(np.array([1, 1, 1, 2, 2]), np.array([1, 1, 2, 2, 0]), "isolated").astype(int)
    array([1, 1, 0, 1, 0])
    """
    if boundaries not in get_args(Boundaries):
        raise ValueError(f"boundaries must be 'continuous' or 'isolated', got {boundaries!r}")
    if boundaries == "continuous":
        return seg_y != 0
    return (seg_y != 0) & (seg_x == seg_y)  # eq: counts


def attention_mask(segment_ids: Any) -> np.ndarray:
    """Who may attend to whom if documents are isolated, bool `(..., T, T)`.

    True where `j <= i` in the same span: i may attend to j, as torch's attention reads a mask. The
    diagonal is True, so no row is empty.

    >>> attention_mask([1, 1, 2]).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [0, 0, 1]]
    """
    seg = np.asarray(segment_ids)
    return np.tril(seg[..., :, None] == seg[..., None, :])  # eq: may-attend


def check_sizes(**sizes: int) -> None:
    """Refuse a size that is no whole number, below 1, or more than any library counts, by name."""
    for name, size in sizes.items():
        if not isinstance(size, int | np.integer) or isinstance(size, bool):
            raise TypeError(f"{name} must be a whole number, got {size!r:.40}")
        if size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}")
        if size >= 1 << 62:
            raise ValueError(f"{name} must be below 2⁶², got {size}")


def _common_length(windows: pd.DataFrame) -> int:
    lengths = windows["length"].unique()
    if len(lengths) != 1:
        raise ValueError(
            f"only windows of one length are gathered together, got lengths {lengths.tolist()}"
        )
    return int(lengths[0])

"""Evaluation: what a validation loss depends on.

The lesson is docs/evaluation.md. Write a body in the place of each
`raise NotImplementedError`, and see how far you are:

    python -m pytest --against exercises/evaluation.py

`scoring.Receipt` holds the sums, its `units` in whole 2⁻³² nats; windows, masks and the model are
those of the project.
"""

from collections.abc import Iterable

import pandas as pd
from torch import nn

from scoring import Receipt
from stream import Stream
from tokenizer import Tokenizer
from windows import Boundaries


def mean_context(windows: pd.DataFrame) -> float:
    """From how many ids a target that counts is predicted, on average.

    Those of a window from 1, 2, … T, (T + 1)/2 on average if all of them count: seed 000.

    >>> mean_context(eval_windows(129, 128, 128))
    64.5
    """
    raise NotImplementedError


def least_context(seq_len: int, stride: int) -> int:
    """From how many ids at least each target is predicted that counts after the first window.

    >>> least_context(16, 8)
    9
    """
    raise NotImplementedError


def count_passes(n_windows: int, seq_len: int, n: int) -> float:
    """How many predictions `n_windows` windows make for each target of `n` ids, on average.

    >>> count_passes(6, 8, 23)  # 48 predictions of 22 targets
    2.1818181818181817
    """
    raise NotImplementedError


def evaluate(
    model: nn.Module,
    stream: Stream,
    tok: Tokenizer,
    seq_len: int,
    stride: int | None = None,
    *,
    boundaries: Boundaries = "continuous",
    batch_size: int | None = None,
    rank: int = 0,
    world_size: int = 1,
) -> Receipt:
    """Score each target of `stream` once, in windows of `seq_len` that move by `stride`.

    Every scored target but those of the first window sees at least T − s + 1 ids: a smaller stride
    gives more context and costs about T/s passes. Rank r of R scores windows r, r + R, …, and
    `total` adds the ranks. `batch_size` changes only the time; None suits a processor. Put a model
    with dropout into `eval()` first. If documents are `isolated`, the first token of each is never
    scored, and the model, which must take `segments`, sees its targets' own documents alone.

    Raises:
        ValueError: For a stride that leaves targets out, a rank that is not there, and a loss that
            is not finite.
    """
    raise NotImplementedError


def total(receipts: Iterable[Receipt]) -> Receipt:
    """The receipt of all ranks together, from that of each; exact, in whatever order they come.

    >>> total([Receipt(5, 3, 3, seq_len=8, stride=4), Receipt(7, 1, 2, seq_len=8, stride=4)]).units
    12
    """
    raise NotImplementedError

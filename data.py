"""From a file to the batches of a training loop: six steps, in the order they are taken.

load_corpus → build_tokenizer → encode_corpus → split_ids → make_windows → iterate_batches
"""

import logging
import math
import os
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pandas as pd

from bijection import Bijection
from corpus import CorpusText, load_documents
from tokenizer import Tokenizer, learn_merges
from windows import check_sizes, count_batches, rows_view, window_order

log = logging.getLogger("data")


def load_corpus(
    path: str | os.PathLike[str],
    column: str = "text",
    max_rows: int | None = None,
    *,
    encoding: str = "utf-8",
    group_column: str | None = None,
) -> str:
    """One text: the rows of `column`, stripped, a newline after each; blank rows are left out.

    `[" hello ", null, "world"]` gives `"hello\\nworld\\n"`. Rows have no other border in it, so a
    window may run from one into the next. The text remembers its `documents`; what is refused,
    and why, stands at `corpus.load_documents`.

    >>> text = load_corpus("data/corpus.csv", max_rows=2)
    >>> text[:24], len(text.documents)
    ('Nell had a pumpkin in th', 2)
    """
    settings = {"encoding": encoding, "group_column": group_column}
    return CorpusText.join(load_documents(path, column, max_rows, **settings))


def build_tokenizer(text: str, num_merges: int) -> Tokenizer:
    """A byte-level BPE tokenizer with `num_merges` merges learned from `text`, or all there are.

    >>> build_tokenizer("low low lower", 2).encode("slow")
    [115, 257]
    """
    merges = learn_merges(text, num_merges)
    if len(merges) < num_merges:
        log.warning("the text has only %d of the %d merges asked for", len(merges), num_merges)
    return Tokenizer(merges)


def encode_corpus(text: str, tok: Tokenizer) -> np.ndarray:
    """The ids of `text`, int64 `(N,)`. A literal `<|endoftext|>` in it is ordinary text.

    >>> encode_corpus("slow", build_tokenizer("low low lower", 2))
    array([115, 257])
    """
    return tok.encode_array(text)


def split_ids(ids: np.ndarray, val_fraction: float) -> tuple[np.ndarray, np.ndarray]:
    """Training ids and validation ids: `ids` cut once, at ⌊(1 − ρ)N⌋, in order. Both are views.

    ρ is the decimal that was written: 90 ids at 0.3 are cut at 63, where binary floats give 62.

    >>> train, val = split_ids(np.arange(90), 0.3)
    >>> len(train), len(val)
    (63, 27)
    """
    if not 0 <= val_fraction < 1:
        raise ValueError(f"val_fraction must be at least 0 and below 1, got {val_fraction}")
    cut = math.floor((1 - Fraction(str(val_fraction))) * len(ids))  # eq: cut
    return ids[:cut], ids[cut:]


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
    check_sizes(stride=stride)
    rows = rows_view(ids, seq_len)[::stride]  # (W, T+1)  eq: window-starts, window-count
    index = pd.RangeIndex(len(rows), name="window")
    inputs = pd.DataFrame(rows[:, :-1], index=index, copy=False)  # eq: inputs
    targets = pd.DataFrame(rows[:, 1:], index=index, copy=False)  # eq: targets, shift
    return inputs, targets


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
    if inputs.shape != targets.shape or not inputs.index.equals(targets.index):
        raise ValueError(f"inputs {inputs.shape} and targets {targets.shape} must be of one index")
    if start < 0:
        raise ValueError(f"start must be 0 or more, got {start}")
    if order is None:
        order = window_order(len(inputs), rng) if shuffle else np.arange(len(inputs))
    if len(order) != len(inputs):
        raise ValueError(f"the order is of {len(order)} windows, and there are {len(inputs)}")
    x, y = inputs.to_numpy(), targets.to_numpy()
    batches = range(start, count_batches(len(order), batch_size))
    picks = (order[b * batch_size : (b + 1) * batch_size] for b in batches)
    if x.dtype == y.dtype == np.int64:
        return ((x[pick], y[pick]) for pick in picks)  # (B, T) each, copied
    return ((x[pick].astype(np.int64), y[pick].astype(np.int64)) for pick in picks)

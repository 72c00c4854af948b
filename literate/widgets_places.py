"""The editable examples with a cell a place: packed rows, and the targets of an evaluation."""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from string import ascii_uppercase
from typing import get_args

import numpy as np
import pandas as pd

from literate.widgets import CAP, Field, Result, Table, _widget
from packing import LongDoc, Order, Tail, count_dropped, count_tokens, fill, least_rows, pack
from stream import Stream
from windows import check_sizes, count_passes, eval_windows, mean_context

PLACES = 32  # places of a row, and targets, that are shown
TONES = 6
MOST_TOKENS, MOST_IDS = 1000, 100_000


def packing(
    lengths: Sequence[int],
    seq_len: int,
    order: Order = "best-fit",
    long_doc: LongDoc = "fragment",
    tail: Tail = "pad",
) -> Result:
    """The packed rows of documents of these lengths, A, B, C, …

    >>> packing([3, 2, 9, 4], 7).summary
    'Rows: 3, at least ⌈18 / 8⌉ = 3. Fill: 18 / 24 = 0.7500. Padding: 6. Dropped: 0.'
    """
    for length in lengths:
        check_sizes(**{"each length": length})
    _check_most("the number of lengths", len(lengths), len(ascii_uppercase))
    _check_most("the sum of the lengths", sum(lengths), MOST_TOKENS)
    stop = np.cumsum(np.array(lengths, dtype=np.int64))
    spans = {"start": stop - lengths, "stop": stop, "doc_id": range(len(stop)), "doc_start": 0}
    source = Stream(np.zeros(sum(lengths), np.int64), pd.DataFrame(spans))
    packed = pack(source, seq_len, 0, long_doc, order=order, tail=tail)
    size, places, tokens = seq_len + 1, len(packed), count_tokens(packed)
    summary = (
        f"Rows: {places // size:,}, "
        f"at least ⌈{tokens:,} / {size:,}⌉ = {least_rows(tokens, seq_len):,}. "
        f"Fill: {tokens:,} / {places:,} = {_rounded(fill(packed))}. "
        f"Padding: {places - tokens:,}. Dropped: {count_dropped(source, packed):,}."
    )
    return Result(summary, [_packed_rows(packed, size)])


def _packed_rows(packed: Stream, size: int) -> Table:
    """A row a row; a cell says which document is at that place, and which of its tokens."""
    cells, tones = np.full(len(packed), "pad", object), np.zeros(len(packed), np.int64)
    for start, stop, doc, first in packed.spans.itertuples(index=False):
        tokens = range(first, first + stop - start)
        cells[start:stop] = [f"{ascii_uppercase[doc]}{token}" for token in tokens]
        tones[start:stop] = doc % TONES + 1
    cells, tones = cells.reshape(-1, size), tones.reshape(-1, size)
    shown = cells[:CAP, :PLACES].tolist()
    return Table(
        f"Document and token, by place{_first(size, 'places')}",
        ["Row", *map(str, range(min(size, PLACES)))],
        [[f"{row}", *line] for row, line in enumerate(shown)],
        len(cells) - len(shown),
        tones[:CAP, :PLACES].tolist(),
    )


def evaluation(n: int, seq_len: int, stride: int) -> Result:
    """The evaluation windows over `n` ids: the context of each target, and where it counts.

    >>> evaluation(9, 4, 3).summary
    'W = ⌈(9 − 1 − 4) / 3⌉ + 1 = 3. Passes: 3 × 4 / 8 = 1.5000. Mean context: 2.8750.'
    """
    _check_most("N", n, MOST_IDS)
    windows = eval_windows(n, seq_len, stride)
    length = int(windows["length"].iloc[0])
    summary = (
        f"W = ⌈({n:,} − 1 − {length:,}) / {stride:,}⌉ + 1 = {len(windows):,}. "
        f"Passes: {len(windows):,} × {length:,} / {n - 1:,} = "
        f"{_rounded(count_passes(len(windows), length, n))}. "
        f"Mean context: {_rounded(mean_context(windows))}."
    )
    return Result(summary, [_scored_targets(windows, n)])


def _scored_targets(windows: pd.DataFrame, n: int) -> Table:
    """A row a window, a column a target: from how many ids it is predicted."""
    start, length, loss_from = (column[:, None] for column in windows.to_numpy().T)
    targets = np.arange(1, min(n, PLACES + 1))
    context = targets - start  # (W, targets)
    predicted = (context > 0) & (context <= length)
    counts = predicted & (context > loss_from)
    texts = np.where(counts, "{}", np.where(predicted, "({})", ""))
    rows = [
        [f"{first:,}", f"{skipped:,}", *map(str.format, texts[window].tolist(), context[window])]
        for window, (first, _, skipped) in enumerate(windows[:CAP].itertuples(index=False))
    ]
    return Table(
        f"Context of each target; (not counted){_first(n - 1, 'targets')}",
        ["Start", "loss_from", *map(str, targets)],
        rows,
        len(windows) - len(rows),
        [[0, *line] for line in counts[:CAP].astype(int).tolist()],
        [
            ["predicted", "", *map(str, predicted.sum(0))],
            ["counted", "", *map(str, counts.sum(0))],
        ],
    )


def packing_widget() -> str:
    """Three documents in rows of four places; the second is longer."""
    lengths, seq_len = [3, 6, 2], 3
    told = " ".join(map(str, lengths))
    fields = [
        Field("lengths", "Tokens of each document <code>lengths</code>", told, "text"),
        Field("seq_len", "Targets in a row, <i>T</i> <code>seq_len</code>", str(seq_len)),
        Field("order", "Order <code>order</code>", choices=get_args(Order)),
        Field("long_doc", "Long documents <code>long_doc</code>", choices=get_args(LongDoc)),
        Field("tail", "Last row <code>tail</code>", choices=get_args(Tail)),
    ]
    return _widget("packing", fields, packing(lengths, seq_len))


def evaluation_widget() -> str:
    """Nine ids in windows of four targets; the last window is pushed back."""
    n, seq_len, stride = 9, 4, 3
    fields = [
        Field("N", "Ids in the stream, <i>N</i> <code>n</code>", str(n)),
        Field("seq_len", "Targets in a window, <i>T</i> <code>seq_len</code>", str(seq_len)),
        Field("stride", "Ids from start to start, <i>s</i> <code>stride</code>", str(stride)),
    ]
    return _widget("evaluation", fields, evaluation(n, seq_len, stride))


def _check_most(word: str, number: int, most: int) -> None:
    if number > most:
        raise ValueError(f"{word} must be at most {most:,} here, got {number:,}")


def _first(count: int, what: str) -> str:
    return f" (the first {PLACES} of {count:,} {what})" if count > PLACES else ""


def _rounded(number: float) -> str:
    """Four decimals, half up: so does the page's `toFixed`."""
    return str(Decimal(number).quantize(Decimal("0.0001"), ROUND_HALF_UP))

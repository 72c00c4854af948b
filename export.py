"""Packed rows for other trainers: one Parquet file with the columns that they look for."""

import os
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from files import written_whole
from stream import Stream, segment_ids, span_lengths
from windows import Boundaries, check_sizes, loss_mask, sliding_windows

IGNORED = -100  # a label that PyTorch's cross-entropy, and so every trainer on it, leaves out
GROUP = 1 << 20  # ids in a row group of the file, which is what is in memory at a time
COLUMNS = ("input_ids", "labels", "position_ids", "seq_lengths", "doc_ids")
SCHEMA = pa.schema([(name, pa.list_(pa.int64())) for name in COLUMNS])


def export_rows(
    stream: Stream, seq_len: int, boundaries: Boundaries, path: str | os.PathLike[str]
) -> None:
    """Write the rows of a packed stream as Parquet, which `datasets.Dataset.from_parquet` opens.

    A row of T + 1 places has five lists. `labels` are no targets: they are not shifted, for those
    trainers shift them themselves. The label at a place is its own id, or −100 if its prediction
    does not count: at the first place of a row, at padding and, if documents are `isolated`, at the
    first place of each span. `seq_lengths` are the stretches that attention may not leave: the
    spans, and padding at the end, or the whole row if `continuous`. `position_ids` count from 0 in
    each. `doc_ids` has the document of each place, −1 for padding.

    Raises:
        ValueError: For a stream that is not whole rows of T + 1 ids.
    """
    check_sizes(seq_len=seq_len)
    size = seq_len + 1
    _refuse_other_rows(stream, size)
    step = max(1, GROUP // size) * size
    with written_whole(path) as temporary, pq.ParquetWriter(temporary, SCHEMA) as writer:
        for stretch in _stretches(stream, step):
            writer.write_table(_table(stretch, size, boundaries))


def labels_of(rows: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The labels of rows of ids, `(W, T + 1)`, from the loss mask of their targets, `(W, T)`.

    A trainer holds what it predicts at a place against the label of the next place, so the label of
    target t stands at place t + 1, and no prediction is held against that at place 0.

    >>> labels_of(np.array([[11, 12, 9, 21]]), np.array([[True, True, False]])).tolist()
    [[-100, 12, 9, -100]]
    """
    counts = np.pad(mask, ((0, 0), (1, 0)))
    return np.where(counts, rows, IGNORED)


def _stretches(stream: Stream, step: int) -> Iterator[Stream]:
    """The stream, `step` ids at a time. No span crosses a border."""
    starts = stream.spans["start"].to_numpy()
    for first in range(0, len(stream), step):
        inside = slice(*np.searchsorted(starts, [first, first + step]))
        spans = stream.spans.iloc[inside]
        moved = spans.assign(start=spans["start"] - first, stop=spans["stop"] - first)
        yield Stream(stream.ids[first : first + step], moved, stream.layout)


def _table(part: Stream, size: int, boundaries: Boundaries) -> pa.Table:
    n, segments = len(part), segment_ids(part.spans, len(part))
    rows = part.ids.astype(np.int64).reshape(-1, size)
    mask = loss_mask(sliding_windows(n, size - 1, size), segments, boundaries)
    inside = part.spans[["start", "stop"]].to_numpy().ravel() if boundaries == "isolated" else []
    edges = np.unique(np.concatenate([np.arange(0, n + 1, size), inside])).astype(np.int64)
    lengths = np.diff(edges)  # of the stretches
    flat = {
        "input_ids": rows.ravel(),
        "labels": labels_of(rows, mask).ravel(),
        "position_ids": np.arange(n) - np.repeat(edges[:-1], lengths),
        "seq_lengths": lengths,
        "doc_ids": np.append(-1, part.spans["doc_id"])[segments],
    }
    borders = np.arange(0, n + 1, size, dtype=np.int32)
    breaks = dict.fromkeys(flat, borders) | {"seq_lengths": np.searchsorted(edges, borders)}
    arrays = [
        pa.ListArray.from_arrays(pa.array(breaks[name], pa.int32()), pa.array(flat[name]))
        for name in COLUMNS
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def _refuse_other_rows(stream: Stream, size: int) -> None:
    span_lengths(stream.spans, len(stream))
    rows, rest = divmod(len(stream), size)
    first, last = stream.spans["start"] // size, (stream.spans["stop"] - 1) // size
    if rest or not rows or (first != last).any():
        raise ValueError(
            f"the stream must be whole rows of seq_len + 1 = {size} ids, and no span may cross "
            f"from one to the next; got {len(stream)} ids of layout {stream.layout!r}; make them "
            f"with packing.pack(stream, {size - 1}, pad_id)"
        )

"""Documents → rows of T + 1 ids. A packed stream is a stream, which the sliding table reads.

Its windows are `sliding_windows(len(stream), seq_len, seq_len + 1)`, one a row.
"""

from bisect import bisect_left, insort
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from stream import Stream, span_lengths
from windows import check_sizes

Order = Literal["best-fit", "sequential"]
LongDoc = Literal["fragment", "truncate", "drop"]
Tail = Literal["pad", "drop"]

_LONGEST = 1 << 24  # ids in a row
_STEP = 1024  # parts whose places are Python numbers at a time


def pack(
    stream: Stream,
    seq_len: int,
    pad_id: int,
    long_doc: LongDoc = "fragment",
    *,
    order: Order = "best-fit",
    tail: Tail = "pad",
) -> Stream:
    """The documents of `stream` in whole rows of T + 1 ids: a stream of layout `packed`.

    `long_doc` says what becomes of a document of more than T + 1 ids: `fragment` cuts it into
    parts, `truncate` keeps its first T + 1 ids, so that its end-of-text goes with the rest, and
    `drop` leaves it out. By `best-fit` each part goes whole to the fullest row that has room, the
    longest first; the rows come in the order of their first documents. `sequential` keeps the order
    and cuts wherever a row ends; `tail="drop"` then leaves out the last row if it is not full.

    What is left of a row holds `pad_id`, and is in no span: padding is known by its place, so
    `pad_id` may be the end-of-text's id. The ids keep the type that they have in `stream`.

    >>> ids = np.array([11, 12, 9, 21, 9])
    >>> spans = pd.DataFrame({"start": [0, 3], "stop": [3, 5], "doc_id": [0, 1], "doc_start": 0})
    >>> packed = pack(Stream(ids, spans, "eot"), seq_len=6, pad_id=0)
    >>> packed.ids.tolist()
    [11, 12, 9, 21, 9, 0, 0]

    Raises:
        ValueError: For an unknown policy, a dropped tail by best fit, a `pad_id` that the type of
            the ids cannot hold, spans that do not fit the ids, and when no row would be left.
    """
    _check_row(seq_len + 1)
    _check_policies(long_doc, order, tail)
    _check_pad(pad_id, stream.ids.dtype)
    size = seq_len + 1
    documents = _fitting(whole_documents(stream), size, long_doc)
    if order == "best-fit":
        parts = _cut(documents, 0, size)
        rows = place(parts["length"].to_numpy(), size)
    else:
        parts = _cut(documents, _before(documents["length"]), size)
        rows = _before(parts["length"]) // size
        if tail == "drop":
            full = _full_rows(rows, int(parts["length"].sum()), size)
            parts, rows = parts[full], rows[full]
    return _lay_out(stream.ids, parts, rows, size, pad_id)


def count_tokens(stream: Stream) -> int:
    """How many ids are those of a document, and no padding."""
    return int((stream.spans["stop"] - stream.spans["start"]).sum())


def fill(stream: Stream) -> float:
    """The part of all places that holds a document: 1 without padding.

    >>> spans = pd.DataFrame({"start": [0], "stop": [6], "doc_id": [0], "doc_start": [0]})
    >>> fill(Stream(np.zeros(8), spans))
    0.75
    """
    return count_tokens(stream) / len(stream)  # eq: fill


def least_rows(tokens: int, seq_len: int) -> int:
    """The fewest rows that hold so many tokens: no packing takes fewer.

    >>> least_rows(17, 7)
    3
    """
    check_sizes(seq_len=seq_len)
    return -(-tokens // (seq_len + 1))  # eq: least-rows


def count_dropped(source: Stream, laid: Stream) -> int:
    """How many tokens of `source` are not in `laid`, the stream that it was packed to."""
    return count_tokens(source) - count_tokens(laid)  # eq: dropped


def whole_documents(stream: Stream) -> pd.DataFrame:
    """Where each document is: a frame `start`, `length`, `doc_id`, `doc_start`, in stream order.

    Neighbours of one `doc_id` that go on from each other are one document, as rows laid out one
    after the other have them. Those with padding between them stay apart.

    >>> spans = pd.DataFrame({"start": [0, 3], "stop": [3, 5], "doc_id": 7, "doc_start": [0, 3]})
    >>> whole_documents(Stream(np.arange(5), spans)).to_dict("list")
    {'start': [0], 'length': [5], 'doc_id': [7], 'doc_start': [0]}
    """
    span_lengths(stream.spans, len(stream))  # refuses what does not fit
    start, stop, doc_id, doc_start = (
        stream.spans[name].to_numpy(np.int64) for name in ("start", "stop", "doc_id", "doc_start")
    )
    goes_on = (start[1:] == stop[:-1]) & (doc_id[1:] == doc_id[:-1])
    goes_on &= np.diff(doc_start) == (stop - start)[:-1]
    first = np.flatnonzero(np.append(True, ~goes_on)[: len(start)])
    last = np.append(first[1:], len(start))[: len(first)] - 1
    return pd.DataFrame(
        {
            "start": start[first],
            "length": stop[last] - start[first],
            "doc_id": doc_id[first],
            "doc_start": doc_start[first],
        }
    )


def place(lengths: np.ndarray, size: int) -> np.ndarray:
    """The row of each part by best fit, the longest first: int32 `(n,)`.

    Lengths are from 1 to `size`. A part goes to the row with the least space that holds it, or to
    a new one. Rows are numbered in the order of their first parts.

    Rows of equal space are alike, so a range of them takes a run of parts of one length at once;
    the rows and the waste are those of best fit a part at a time.

    >>> place(np.array([3, 6, 2, 5]), 8).tolist()
    [0, 1, 1, 0]
    """
    if not 1 <= size <= _LONGEST or not ((lengths >= 1) & (lengths <= size)).all():
        raise ValueError(
            f"lengths must be from 1 to the size of a row, and that at most {_LONGEST:,}; got size "
            f"{size} and lengths up to {max(lengths, default=0)}"
        )
    rows, first = _best_fit(lengths, size)
    number = np.empty_like(first)
    number[np.argsort(first)] = np.arange(len(first))
    del first  # makes room for what comes
    return number[rows]


def _best_fit(lengths: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The row of each part, rows numbered as they are opened, and the first part of each row."""
    n, counts = len(lengths), np.bincount(lengths)
    order = np.argsort((size - lengths).astype(np.min_scalar_type(size)), kind="stable")
    rows, first = np.empty(n, np.int32), np.full(n, n, np.int32)
    alike: dict[int, list[tuple[int, int]]] = {}  # space → ranges of rows: their first, their count
    spaces: list[int] = []  # those that rows have, ascending
    opened = done = 0

    def keep(space: int, row: int, count: int) -> None:
        if space and count:
            if space not in alike:
                insort(spaces, space)
            alike.setdefault(space, []).append((row, count))

    for length in np.flatnonzero(counts)[::-1].tolist():
        left = int(counts[length])
        while left:
            at = bisect_left(spaces, length)
            if at == len(spaces):
                keep(size, opened, new := -(-left // (size // length)))
                opened += new
            space = spaces[at]
            row, count = alike[space].pop()
            if not alike[space]:
                del alike[space], spaces[at]
            each = min(left, space // length)  # the fullest row stays so until it is too full
            taking = min(count, left // each)
            now = order[done : done + each * taking].reshape(taking, each)
            rows[now] = np.arange(row, row + taking)[:, None]
            seen = first[row : row + taking]
            np.minimum(seen, now[:, 0], out=seen)
            keep(space - each * length, row, taking)
            keep(space, row + taking, count - taking)
            done, left = done + each * taking, left - each * taking
    return rows, first[:opened]


def _before(lengths: pd.Series) -> np.ndarray:
    """How many ids come before each part if they are laid one after the other."""
    return np.cumsum(lengths.to_numpy()) - lengths.to_numpy()


def _fitting(documents: pd.DataFrame, size: int, long_doc: str) -> pd.DataFrame:
    """The documents as they are when the long ones have been truncated or dropped."""
    if not len(documents):
        raise ValueError("there are no documents to pack; the stream has no spans")
    if long_doc == "truncate":
        return documents.assign(length=documents["length"].clip(upper=size))
    fits = documents["length"] <= size
    if long_doc == "drop" and not fits.any():
        raise ValueError(
            f"every document is longer than a row of seq_len + 1 = {size} ids, and long_doc='drop' "
            f"leaves none; use 'fragment', or seq_len {documents['length'].min() - 1} or more"
        )
    return documents[fits] if long_doc == "drop" else documents


def _cut(documents: pd.DataFrame, phase: Any, size: int) -> pd.DataFrame:
    """The documents cut at borders `size` places apart, each beginning `phase` places after one."""
    length, phase = documents["length"].to_numpy(), phase % size
    parts = -(-(phase + length) // size)
    number = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    begun = number * size - np.repeat(np.broadcast_to(phase, length.shape), parts)
    cut = documents.loc[documents.index.repeat(parts)].reset_index(drop=True)
    offset, stop = np.maximum(begun, 0), np.minimum(begun + size, cut["length"])
    return cut.assign(
        start=cut["start"] + offset, length=stop - offset, doc_start=cut["doc_start"] + offset
    )


def _full_rows(rows: np.ndarray, tokens: int, size: int) -> np.ndarray:
    """Which parts are in a full row."""
    if tokens < size:
        raise ValueError(
            f"{tokens} tokens do not fill one row of seq_len + 1 = {size} ids, and tail='drop' "
            "leaves none; use tail='pad', or a smaller seq_len"
        )
    return rows < tokens // size


def _lay_out(
    ids: np.ndarray, parts: pd.DataFrame, rows: np.ndarray, size: int, pad_id: int
) -> Stream:
    """The stream of the rows; within a row parts keep their order."""
    order = np.argsort(rows, kind="stable")
    parts, rows = parts.take(order), rows[order]
    before, begins = _before(parts["length"]), np.searchsorted(rows, np.arange(rows[-1] + 1))
    start = rows.astype(np.int64) * size + before - before[begins][rows]
    laid = np.full((int(rows[-1]) + 1) * size, pad_id, ids.dtype)
    moves = start, parts["start"].to_numpy(), parts["length"].to_numpy()
    for step in range(0, len(parts), _STEP):
        places = (column[step : step + _STEP].tolist() for column in moves)
        for to, at, length in zip(*places, strict=True):
            laid[to : to + length] = ids[at : at + length]
    spans = {
        "start": start,
        "stop": start + parts["length"].to_numpy(),
        "doc_id": parts["doc_id"].to_numpy(),
        "doc_start": parts["doc_start"].to_numpy(),
    }
    return Stream(laid, pd.DataFrame(spans), "packed")


def _check_policies(long_doc: str, order: str, tail: str) -> None:
    policies = {"long_doc": (long_doc, LongDoc), "order": (order, Order), "tail": (tail, Tail)}
    for name, (value, allowed) in policies.items():
        if value not in get_args(allowed):
            told = " or ".join(map(repr, get_args(allowed)))
            raise ValueError(f"{name} must be {told}, got {value!r}")
    if order == "best-fit" and tail == "drop":
        raise ValueError(
            "tail='drop' leaves out the last row of order='sequential', the only one with padding; "
            "by best-fit any row may have some, so use tail='pad'"
        )


def _check_row(size: int) -> None:
    """A row is laid out whole, so one of a billion ids would be padding that fills memory."""
    check_sizes(seq_len=size - 1)
    if size > _LONGEST:
        raise ValueError(f"seq_len must be at most {_LONGEST - 1:,} for rows, got {size - 1}")


def _check_pad(pad_id: int, dtype: np.dtype) -> None:
    """V is not known here, but what the type of the ids cannot hold is no id."""
    if not isinstance(pad_id, int | np.integer) or isinstance(pad_id, bool):
        raise ValueError(f"pad_id must be a whole number, got {pad_id!r}")
    if not 0 <= pad_id <= np.iinfo(dtype).max:
        raise ValueError(
            f"pad_id must be from 0 to {np.iinfo(dtype).max}, which {dtype} can hold, got {pad_id};"
            " the end-of-text's id serves, for padding is known by its place"
        )

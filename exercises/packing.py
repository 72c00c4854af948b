"""Packing: documents in rows, with little left over.

The lesson is docs/packing.md. Write a body in the place of each
`raise NotImplementedError`, and see how far you are:

    python -m pytest --against exercises/packing.py
"""

import numpy as np
import pandas as pd

from packing import LongDoc, Order, Tail
from stream import Stream


def whole_documents(stream: Stream) -> pd.DataFrame:
    """Where each document is: a frame `start`, `length`, `doc_id`, `doc_start`, in stream order.

    Neighbours of one `doc_id` that go on from each other are one document, as rows laid out one
    after the other have them. Those with padding between them stay apart.

    >>> spans = pd.DataFrame({"start": [0, 3], "stop": [3, 5], "doc_id": 7, "doc_start": [0, 3]})
    >>> whole_documents(Stream(np.arange(5), spans)).to_dict("list")
    {'start': [0], 'length': [5], 'doc_id': [7], 'doc_start': [0]}
    """
    raise NotImplementedError


def place(lengths: np.ndarray, size: int) -> np.ndarray:
    """The row of each part by best fit, the longest first: int32 `(n,)`.

    Lengths are from 1 to `size`. A part goes to the row with the least space that holds it, or to
    a new one. Rows are numbered in the order of their first parts.

    Rows of equal space are alike, so a range of them takes a run of parts of one length at once;
    the rows and the waste are those of best fit a part at a time.

    >>> place(np.array([3, 6, 2, 5]), 8).tolist()
    [0, 1, 1, 0]
    """
    raise NotImplementedError


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
    raise NotImplementedError


def fill(stream: Stream) -> float:
    """The part of all places that holds a document: 1 without padding.

    >>> spans = pd.DataFrame({"start": [0], "stop": [6], "doc_id": [0], "doc_start": [0]})
    >>> fill(Stream(np.zeros(8), spans))
    0.75
    """
    raise NotImplementedError


def least_rows(tokens: int, seq_len: int) -> int:
    """The fewest rows that hold so many tokens: no packing takes fewer.

    >>> least_rows(17, 7)
    3
    """
    raise NotImplementedError


def count_dropped(source: Stream, laid: Stream) -> int:
    """How many tokens of `source` are not in `laid`, the stream that it was packed to."""
    raise NotImplementedError

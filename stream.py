"""Documents → `Stream(ids, spans)`, and back: which document each stretch of a stream came from."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tokenizer import Tokenizer


@dataclass(frozen=True)
class Stream:
    """Token ids, and the runs of documents in them.

    `ids` is `(N,)`. A row of `spans` says: `ids[start:stop]` are tokens `doc_start …` of document
    `doc_id`. Spans are sorted and do not overlap; a position in no span is padding.
    """

    ids: np.ndarray
    spans: pd.DataFrame

    def __len__(self) -> int:
        return len(self.ids)


def encode_text(documents: pd.DataFrame, tok: Tokenizer) -> Stream:
    """The documents as one text (layout `text`): each followed by a newline, which belongs to it.

    >>> stream = encode_text(pd.DataFrame({"text": ["hi", "you"]}), Tokenizer([]))
    >>> stream.ids.tolist()
    [104, 105, 10, 121, 111, 117, 10]
    >>> stream.spans.to_dict("list")
    {'start': [0, 3], 'stop': [3, 7], 'doc_id': [0, 1], 'doc_start': [0, 0]}
    """
    return text_stream(documents, tok.encode_array("\n".join(documents["text"]) + "\n"), tok)


def text_stream(documents: pd.DataFrame, ids: np.ndarray, tok: Tokenizer) -> Stream:
    """`ids`, the encoded text of `documents`, with the spans of the documents.

    Texts are stripped, so the newline after each is a token of its own and every document ends
    where a token does.
    """
    sizes = [len(text.encode("utf-8")) + 1 for text in documents["text"]]
    stops = np.searchsorted(np.cumsum(tok.token_bytes[ids]), np.cumsum(sizes)) + 1
    spans = {
        "start": np.append(0, stops[:-1]),
        "stop": stops,
        "doc_id": documents.index,
        "doc_start": 0,
    }
    return Stream(ids, pd.DataFrame(spans).astype(np.int64))


def cut_stream(stream: Stream, cut: int) -> tuple[Stream, Stream]:
    """The stream before `cut` and from `cut` on; a span over the cut becomes two.

    >>> stream = encode_text(pd.DataFrame({"text": ["hi", "you"]}), Tokenizer([]))
    >>> before, after = cut_stream(stream, 5)
    >>> after.spans.to_dict("list")
    {'start': [0], 'stop': [2], 'doc_id': [1], 'doc_start': [2]}
    """
    if not 0 <= cut <= len(stream):
        raise ValueError(
            f"the cut must be from 0 to {len(stream)}, the length of the stream; got {cut}"
        )
    return _part(stream, 0, cut), _part(stream, cut, len(stream))


def _part(stream: Stream, first: int, last: int) -> Stream:
    spans = stream.spans[(stream.spans["start"] < last) & (stream.spans["stop"] > first)]
    start = spans["start"].clip(lower=first)
    moved = spans.assign(
        start=start - first,
        stop=spans["stop"].clip(upper=last) - first,
        doc_start=spans["doc_start"] + start - spans["start"],
    )
    return Stream(stream.ids[first:last], moved.reset_index(drop=True))


def segment_ids(spans: pd.DataFrame, n: int) -> np.ndarray:
    """int32 `(n,)`: k at the positions of the k-th span, from 1; 0 where there is padding.

    >>> segment_ids(pd.DataFrame({"start": [0, 2], "stop": [2, 4]}), 5).tolist()
    [1, 1, 2, 2, 0]
    """
    edges = np.concatenate([[0], spans[["start", "stop"]].to_numpy(np.int64).ravel(), [n]])
    lengths = np.diff(edges)  # of padding, span, padding, span, …, padding
    if (lengths < 0).any() or (lengths[1::2] == 0).any():
        raise ValueError(f"spans must be sorted, not empty, without overlap, and end by {n}")
    numbers = np.zeros(len(lengths), dtype=np.int32)
    numbers[1::2] = np.arange(1, len(spans) + 1)
    return np.repeat(numbers, lengths)

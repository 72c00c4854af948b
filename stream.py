"""Documents → `Stream(ids, spans)`, and back: which document each stretch of a stream came from."""

import operator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from tokenizer import Tokenizer

Layout = Literal["text", "eot", "packed"]


@dataclass(frozen=True)
class Stream:
    """Token ids, and the runs of documents in them.

    `ids` is `(N,)`. A row of `spans` says: `ids[start:stop]` are tokens `doc_start …` of document
    `doc_id`. Spans are sorted and do not overlap; a position in no span is padding. `layout` says
    what ends a document: a newline (`text`) or an end-of-text (`eot`); `packed` streams are rows.
    """

    ids: np.ndarray
    spans: pd.DataFrame
    layout: Layout = "text"

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


def encode_documents(documents: pd.DataFrame, tok: Tokenizer, final_eot: bool = True) -> Stream:
    """The documents one after the other (layout `eot`), an end-of-text at the end of each.

    The end-of-text belongs to the document that it ends; the last one is left out if not
    `final_eot`. Each document has the ids that it has alone. A literal `<|endoftext|>` inside one
    is ordinary text, and never an end.

    >>> encode_documents(pd.DataFrame({"text": ["hi", "you"]}), Tokenizer([])).ids.tolist()
    [104, 105, 256, 121, 111, 117, 256]
    """
    stream = encode_text(documents, tok)
    ids, spans = stream.ids, stream.spans
    ids[spans["stop"] - 1] = tok.eot_id  # in place of each newline, which is a token of its own
    if not final_eot:
        ids = ids[:-1]
        spans["stop"] = spans["stop"].clip(upper=len(ids))
    return Stream(ids, spans, "eot")


def text_stream(documents: pd.DataFrame, ids: np.ndarray, tok: Tokenizer) -> Stream:
    """`ids`, the encoded text of `documents`, with the spans of the documents.

    Texts are stripped, so the newline after each is a token of its own and every document ends
    where a token does.

    Raises:
        ValueError: For a text that is blank or not stripped, and when there are no documents.
    """
    _refuse_blank_ends(documents)
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
    return part_of(stream, 0, cut), part_of(stream, cut, len(stream))


def part_of(stream: Stream, first: int, last: int) -> Stream:
    """The places `first` to `last` − 1 as a stream; a span over its border becomes shorter."""
    if not 0 <= first <= last <= len(stream):
        raise ValueError(f"a part lies in 0 … {len(stream)}, got {first} to {last}")
    spans = stream.spans[(stream.spans["start"] < last) & (stream.spans["stop"] > first)]
    start = spans["start"].clip(lower=first)
    moved = spans.assign(
        start=start - first,
        stop=spans["stop"].clip(upper=last) - first,
        doc_start=spans["doc_start"] + start - spans["start"],
    )
    return Stream(stream.ids[first:last], moved.reset_index(drop=True), stream.layout)


def _refuse_blank_ends(documents: pd.DataFrame) -> None:
    if not len(documents):
        raise ValueError("there are no documents; a stream needs at least one")
    for doc_id, text in documents["text"].items():
        if not text or text[0].isspace() or text[-1].isspace():
            raise ValueError(
                f"document {doc_id} is blank or has blanks at its ends: {text[:20]!r} … "
                f"{text[-20:]!r}; strip it, as load_documents does, or leave it out"
            )


def segment_ids(spans: pd.DataFrame, n: int) -> np.ndarray:
    """int32 `(n,)`: k at the positions of the k-th span, from 1; 0 where there is padding.

    >>> segment_ids(pd.DataFrame({"start": [0, 2], "stop": [2, 4]}), 5).tolist()
    [1, 1, 2, 2, 0]
    """
    lengths = span_lengths(spans, n)
    numbers = np.zeros(len(lengths), dtype=np.int32)
    numbers[1::2] = np.arange(1, len(spans) + 1)
    return np.repeat(numbers, lengths)


def segments_at(spans: pd.DataFrame, places: np.ndarray) -> np.ndarray:
    """`segment_ids` at some places of a stream, int64 of their shape, without those of all others.

    >>> spans = pd.DataFrame({"start": [0, 2], "stop": [2, 4]})
    >>> segments_at(spans, np.array([[0, 1, 2], [3, 4, 5]])).tolist()
    [[1, 1, 2], [2, 0, 0]]
    """
    number = np.searchsorted(spans["start"].to_numpy(), places, side="right")  # that begin by then
    stops = np.append(0, spans["stop"].to_numpy())  # of no span, then of each
    return np.where(places < stops[number], number, 0)


def position_ids(spans: pd.DataFrame, n: int) -> np.ndarray:
    """int64 `(n,)`: 0, 1, 2, … in each span, from its own start; 0 where there is padding.

    >>> position_ids(pd.DataFrame({"start": [0, 2], "stop": [2, 4]}), 5).tolist()
    [0, 1, 0, 1, 0]
    """
    lengths = span_lengths(spans, n)
    positions = np.arange(n) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    positions[np.repeat(np.arange(len(lengths)) % 2 == 0, lengths)] = 0
    return positions


def span_lengths(spans: pd.DataFrame, n: int) -> np.ndarray:
    """How long padding, span, padding, span, …, padding are in `n` ids, by turns.

    >>> span_lengths(pd.DataFrame({"start": [0, 2], "stop": [2, 4]}), 5).tolist()
    [0, 2, 0, 2, 1]

    Raises:
        ValueError: When the spans are out of order, empty, overlap, or go on after `n`.
    """
    n = operator.index(n)
    edges = np.concatenate([[0], spans[["start", "stop"]].to_numpy(np.int64).ravel(), [n]])
    lengths = np.diff(edges)  # may overflow, which a comparison does not
    if (edges[1:] < edges[:-1]).any() or (lengths[1::2] == 0).any():
        raise ValueError(f"spans must be sorted, not empty, without overlap, and end by {n}")
    return lengths

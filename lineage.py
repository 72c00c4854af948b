"""From a window back to documents: which are in it, and what stands at each place of it."""

from typing import Any

import numpy as np
import pandas as pd

from stream import Stream, segment_ids, span_lengths
from tokenizer import Tokenizer
from windows import Boundaries, loss_mask, window_table

NEWLINE = ord("\n")  # the id of its token


def window_lineage(windows: pd.DataFrame, spans: pd.DataFrame) -> pd.DataFrame:
    """Which documents are in which window: a row for each window and each span that it touches.

    A window is its `length + 1` ids. Places `row_start` to `row_stop` of it, the last not
    included, are tokens `doc_start` to `doc_stop` of document `doc_id`.

    >>> spans = pd.DataFrame({"start": [0, 3], "stop": [3, 7], "doc_id": [4, 9], "doc_start": 0})
    >>> window_lineage(window_table([2], 3), spans).to_dict("list")
    {'window': [0, 0], 'row_start': [0, 1], 'row_stop': [1, 4], 'doc_id': [4, 9], \
'doc_start': [2, 0], 'doc_stop': [3, 3]}
    """
    span_lengths(spans, int(spans["stop"].max()) if len(spans) else 0)  # refuses what is no order
    start = windows["start"].to_numpy()
    stop = start + windows["length"].to_numpy() + 1
    span_start, span_stop = spans["start"].to_numpy(), spans["stop"].to_numpy()
    first = np.searchsorted(span_stop, start, side="right")
    touched = np.searchsorted(span_start, stop) - first
    row = np.repeat(np.arange(len(windows)), touched)
    span = np.arange(len(row)) + np.repeat(first - np.cumsum(touched) + touched, touched)
    row_start = np.maximum(span_start[span], start[row])
    row_stop = np.minimum(span_stop[span], stop[row])
    doc_start = spans["doc_start"].to_numpy()[span] + row_start - span_start[span]
    columns = {
        "window": windows.index.to_numpy()[row],
        "row_start": row_start - start[row],
        "row_stop": row_stop - start[row],
        "doc_id": spans["doc_id"].to_numpy()[span],
        "doc_start": doc_start,
        "doc_stop": doc_start + row_stop - row_start,
    }
    return pd.DataFrame(columns)


# ---- one window, place by place


def explain(
    stream: Stream,
    windows: pd.DataFrame,
    window: int,
    tok: Tokenizer,
    boundaries: Boundaries,
    documents: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """One window, place by place: a row for each of its `length + 1` ids.

    `id`, and `token` as text, in which a byte that is no character by itself stands as `\\xc3`;
    `doc_id`, and `doc_token`, the token's number in its document; `char_start` and `char_stop`,
    its characters in the stripped text, the last not included; `what` it is there; `role`, input,
    target or both; whether the target `counts`, and `why`. A part of a character has the range of
    that character; what ends a document has an empty range, after the text.

    `documents` add `record`, the number of the record in the file, and `file`, if they know it.
    Without them, characters are unknown where `stream` lacks the beginning of a document, and a
    newline that ends the stream is taken for the end of its document.

    >>> from stream import encode_text
    >>> tok, documents = Tokenizer([]), pd.DataFrame({"text": ["hi", "é"]})
    >>> stream = encode_text(documents, tok)
    >>> shown = explain(stream, window_table([1], 3), 0, tok, "isolated", documents)
    >>> shown[["doc_id", "char_start", "char_stop", "what"]].to_numpy().tolist()
    [[0, 1, 2, 'text'], [0, 2, 2, 'newline after the text'], [1, 0, 1, 'part of é'], \
[1, 0, 1, 'part of é']]
    >>> shown["why"].tolist()[1:]
    ['counts', 'its input is of another document', 'counts']

    Raises:
        ValueError: When there is no such window, and when `documents` and `tok` are not those that
            `stream` was made of.
    """
    start, length, loss_from = _find(windows, window, len(stream))
    ids = np.asarray(stream.ids[start : start + length + 1], dtype=np.int64)
    pieces = window_lineage(window_table([start], length), stream.spans)
    told = [_explain_piece(piece, ids, stream, tok, documents) for piece in pieces.itertuples()]
    frame = pd.concat([_NO_PLACE, *told]).reindex(pd.RangeIndex(length + 1, name="place"))
    frame.insert(0, "id", ids)
    frame = frame.fillna({"token": "", "what": "padding"})
    frame["role"] = ["input", *["input and target"] * (length - 1), "target"]
    rows = pieces.rename(columns={"row_start": "start", "row_stop": "stop"})
    segments = segment_ids(rows, length + 1)
    mask = loss_mask(window_table([0], length, loss_from), segments, boundaries)[0]  # (T,)
    frame["counts"] = np.append(False, mask)
    why = _why(mask, segments, loss_from, frame["doc_id"])
    frame["why"] = ["the first id of a window is no target", *why]
    if documents is not None:
        frame["record"] = frame["doc_id"]
        if "intake" in documents.attrs:
            frame["file"] = documents.attrs["intake"].path
    return frame


_NO_PLACE = pd.DataFrame(
    columns=["token", "doc_id", "doc_token", "char_start", "char_stop", "what"]
)
_NO_PLACE = _NO_PLACE.astype(dict.fromkeys(_NO_PLACE.columns[1:5], "Int64"))
_NO_PLACE = _NO_PLACE.astype({"token": "str", "what": "str"})


def _find(windows: pd.DataFrame, window: int, n: int) -> tuple[int, int, int]:
    """Start, length and `loss_from` of a window, which must be there and lie in the stream."""
    if window not in windows.index:
        first, last = windows.index.min(), windows.index.max()
        some = "one" if last - first == len(windows) - 1 else "one that is there"
        way_out = f"choose {some}, of {first} to {last}" if len(windows) else "the table is empty"
        raise ValueError(f"there is no window {window}; {way_out}")
    row = windows.loc[[window]].iloc[0]
    start, length, loss_from = (int(row[name]) for name in ("start", "length", "loss_from"))
    if start < 0 or start + length >= n:
        raise ValueError(
            f"window {window} has the ids {start} to {start + length}, and the stream has {n}; "
            "give the windows of this stream"
        )
    return start, length, loss_from


def _explain_piece(
    piece: Any, ids: np.ndarray, stream: Stream, tok: Tokenizer, documents: pd.DataFrame | None
) -> pd.DataFrame:
    """The places of a window that come from one span."""
    held = ids[piece.row_start : piece.row_stop]
    number = np.arange(piece.doc_start, piece.doc_stop)
    alone = _ids_alone(piece.doc_id, stream, tok, documents)
    if documents is not None:
        _check_same(piece.doc_id, held, number, alone, tok)
    text, starts, stops = _characters(alone, tok)
    known = number <= len(alone)
    starts, stops = (edge[number.clip(max=len(alone))] for edge in (starts, stops))
    tokens = [tok.decode_bytes([i]) for i in held]
    what = ["text" if _is_whole(token) else "part of a character" for token in tokens]
    for k in np.flatnonzero(known):
        if number[k] == len(alone):
            what[k] = "newline after the text"
        elif what[k] != "text":
            what[k] = f"part of {text[starts[k] : stops[k]]}"
    columns = {
        "token": list(map(_shown, tokens)),
        "doc_id": piece.doc_id,
        "doc_token": number,
        "char_start": pd.array(starts, dtype="Int64"),
        "char_stop": pd.array(stops, dtype="Int64"),
        "what": np.where(held == tok.eot_id, "end-of-text", what),
    }
    frame = pd.DataFrame(columns, index=np.arange(piece.row_start, piece.row_stop))
    frame.loc[~known, ["char_start", "char_stop"]] = pd.NA
    return frame.astype(_NO_PLACE.dtypes)


def _ids_alone(
    doc_id: int, stream: Stream, tok: Tokenizer, documents: pd.DataFrame | None
) -> np.ndarray:
    """The ids of a document's text from its beginning, without what ends it, as far as known."""
    if documents is not None:
        if doc_id not in documents.index:
            raise ValueError(
                f"the documents have no row {doc_id}, and the stream has; give those that it was "
                "made of"
            )
        return tok.encode_array(documents.loc[doc_id, "text"])
    spans = stream.spans[stream.spans["doc_id"] == doc_id]
    last = spans["doc_start"] + spans["stop"] - spans["start"]
    ids = np.full(last.max() + 1, -1)  # and one place that stays unknown
    for span in spans.itertuples():
        ids[span.doc_start :][: span.stop - span.start] = stream.ids[span.start : span.stop]
    ids = ids[: np.argmin(ids)]
    ends = [tok.eot_id, NEWLINE] if stream.layout == "text" else [tok.eot_id]
    return ids[:-1] if len(ids) and ids[-1] in ends else ids


def _check_same(
    doc_id: int, held: np.ndarray, number: np.ndarray, alone: np.ndarray, tok: Tokenizer
) -> None:
    """Refuse documents, or a tokenizer, that give other ids than those of the stream."""
    inside, beyond = number < len(alone), number > len(alone)
    same = np.array_equal(held[inside], alone[number[inside]])
    ends = np.isin(held[~inside], [tok.eot_id, NEWLINE]).all()
    if not same or not ends or beyond.any():
        raise ValueError(
            f"document {doc_id} does not give the ids that the stream has for it; give the "
            "documents and the tokenizer that the stream was made of"
        )


def _characters(ids: np.ndarray, tok: Tokenizer) -> tuple[str, np.ndarray, np.ndarray]:
    """The text of `ids`, and where the characters of each token start and stop, one end more.

    A byte of UTF-8 begins a character unless its two highest bits are 1 and 0.
    """
    data = tok.decode_bytes(ids[ids != tok.eot_id])
    size = np.append(tok.token_bytes[ids], 0)  # an end-of-text has no bytes
    stop = np.cumsum(size)
    begins = (np.frombuffer(data, dtype=np.uint8) & 0b1100_0000) != 0b1000_0000
    begun = np.concatenate([[0], np.cumsum(begins), [0]])  # before each byte; the last is no byte
    starts = np.where(size > 0, begun[stop - size + 1] - 1, begun[stop])
    return data.decode("utf-8", errors="replace"), starts, begun[stop]


def _is_whole(token: bytes) -> bool:
    try:
        token.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _shown(token: bytes) -> str:
    """A token on one line: control characters and bytes that are no character are escaped."""
    text = token.decode("utf-8", errors="backslashreplace")
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _why(mask: np.ndarray, segments: np.ndarray, loss_from: int, doc_ids: pd.Series) -> list[str]:
    """For each target of a window, why it counts or does not."""
    told = []
    for t, counts in enumerate(mask):
        x, y = segments[t : t + 2]
        if counts:
            told.append("counts")
        elif y == 0:
            told.append("padding")
        elif t < loss_from:
            told.append("scored by an earlier window")
        elif x == 0:
            told.append("its input is padding")
        elif doc_ids[t] == doc_ids[t + 1]:
            told.append("its input is of another span of the document")
        else:
            told.append("its input is of another document")
    return told

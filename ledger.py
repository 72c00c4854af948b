"""The ledger: what became of every token that was read. Its sums balance, or it raises."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pandas as pd

from stream import Stream, part_of, segment_ids, span_lengths
from windows import Boundaries, counts, window_table

# What may become of a token. One that stands in several places has the highest of its fates.
UNLAID, BETWEEN, AFTER, CONTEXT, UNCOUNTED, CROSSING, TRAINED = range(7)
_REASONS = {
    UNLAID: "dropped {:,}: left out of the stream",
    BETWEEN: "dropped {:,}: before or between windows",
    AFTER: "dropped {:,}: after the last window",
    CONTEXT: "context only {:,}: never a target",
    UNCOUNTED: "masked {:,}: before loss_from in each window",
    CROSSING: "masked {:,}: predicted from outside its span",
}
_FATES = 7
_PART = 1 << 21  # ids that are looked at together


def ledger(
    source: Stream, laid: Stream, windows: pd.DataFrame, boundaries: Boundaries
) -> pd.DataFrame:
    """What became of every token: a row for each document of `source`, in its order.

    `read` tokens of it are in `source`. Each is one of four: `trained`, a target that counts in a
    window (`times` adds up in how many); `masked`, a target that counts in none; `context_only`,
    in a window but no target; `dropped`, in no window of `laid`. `reason` says why, in words.

    `laid` is the stream that the windows are of: `source` itself, a part of it, or its rows. A
    token may stand there more than once, and is one token. `attrs["padding"]` is the number of
    places in `laid` that hold no document.

    >>> spans = pd.DataFrame({"start": [0, 3], "stop": [3, 7], "doc_id": [4, 9], "doc_start": 0})
    >>> stream = Stream(np.arange(7), spans)
    >>> from windows import window_table
    >>> ledger(stream, stream, window_table([0], 5), "continuous").iloc[:, :7].to_numpy().tolist()
    [[4, 3, 2, 2, 1, 0, 0], [9, 4, 3, 3, 0, 0, 1]]

    Raises:
        ValueError: When `laid` holds a token that `source` does not, `source` one twice, or a
            window goes on after the end of `laid`.
        RuntimeError: When a sum does not balance, which would be a mistake of ours.
    """
    doc_ids = source.spans["doc_id"]
    if laid is not source or len(doc_ids) == 0 or not doc_ids.is_unique:
        return _book(source, laid, *fates(laid, windows, boundaries))
    books = [_book(part, part, *fate) for part, fate in _parts(source, windows, boundaries)]
    frame = pd.concat(books, ignore_index=True)  # nothing has moved: by parts, for a large stream
    frame.attrs["padding"] = sum(book.attrs["padding"] for book in books)
    return frame


def _book(
    source: Stream, laid: Stream, fate_of_place: np.ndarray, times_of_place: np.ndarray
) -> pd.DataFrame:
    """The ledger, from what becomes of each place of `laid`."""
    documents = _documents(source.spans)
    read, held = _tokens(source, documents), _tokens(laid, documents)
    owner = np.repeat(np.arange(len(documents)), documents["size"])  # of each token
    stands = np.bincount(read[read >= 0], minlength=len(owner))
    _check_held(stands, held[held >= 0], owner, documents)

    fate = np.full(len(owner), UNLAID)
    np.maximum.at(fate, held[held >= 0], fate_of_place[held >= 0])
    cells = (owner * _FATES + fate)[stands > 0]
    became = np.bincount(cells, minlength=len(documents) * _FATES).reshape(-1, _FATES)
    predicted = np.bincount(held[held >= 0], times_of_place[held >= 0], minlength=len(owner))
    columns = {
        "doc_id": documents.index.to_numpy(),
        "read": documents["read"].to_numpy(),
        "trained": became[:, TRAINED],
        "times": np.bincount(owner, predicted, minlength=len(documents)).astype(np.int64),
        "context_only": became[:, CONTEXT],
        "masked": became[:, [UNCOUNTED, CROSSING]].sum(1),
        "dropped": became[:, [UNLAID, BETWEEN, AFTER]].sum(1),
        "reason": _reasons(became),
    }
    frame = pd.DataFrame(columns)
    frame.attrs["padding"] = int((held < 0).sum())
    _check_balance(frame, len(source) - int((read < 0).sum()), int(times_of_place.sum()))
    return frame


def accounted(frame: pd.DataFrame) -> pd.Series:
    """How many tokens of each document the ledger accounts for: all that were read."""
    seen = frame["trained"] + frame["context_only"] + frame["masked"]
    return seen + frame["dropped"]  # eq: ledger


def ledger_line(frame: pd.DataFrame) -> str:
    """The sums of a ledger, in one line.

    >>> spans = pd.DataFrame({"start": [0], "stop": [7], "doc_id": [4], "doc_start": 0})
    >>> stream = Stream(np.arange(9), spans)
    >>> from windows import window_table
    >>> ledger_line(ledger(stream, stream, window_table([0], 5), "continuous"))
    '7 tokens read = 5 trained (5 predictions) + 1 context only + 0 masked + 1 dropped; 2 padding'
    """
    sums = frame.drop(columns=["doc_id", "reason"]).sum()
    return (
        "{read:,} tokens read = {trained:,} trained ({times:,} predictions) + "
        "{context_only:,} context only + {masked:,} masked + {dropped:,} dropped; "
        "{padding:,} padding"
    ).format(**sums, padding=frame.attrs["padding"])


def _parts(
    stream: Stream, windows: pd.DataFrame, boundaries: Boundaries
) -> Iterator[tuple[Stream, tuple[np.ndarray, np.ndarray]]]:
    """Whole documents of about `_PART` ids together, with what becomes of each place of theirs.

    The place before them is looked at too: it may be the input of their first.
    """
    firsts, n = stream.spans["start"].to_numpy(), len(stream)
    edges = firsts[1:][np.diff(firsts // _PART) > 0]  # the first to begin in a stretch
    windows = windows.sort_values("start")
    start, length, loss_from = (windows[name].to_numpy() for name in windows)
    end = _check_inside(start, length, n)
    reach = length.max(initial=0) + 1
    for first, stop in pairwise([0, *edges, n]):
        before = max(first - 1, 0)
        near = slice(*np.searchsorted(start, [before - reach, stop]))
        begun, past = start[near].clip(before), (start + length + 1)[near].clip(before, stop)
        waits = (loss_from[near] - (begun - start[near])).clip(0)
        cut = window_table(begun - before, past - begun - 1, waits)[past > begun]
        fate = fates(part_of(stream, before, stop), cut, boundaries, end - before)
        yield part_of(stream, first, stop), tuple(of[first - before :] for of in fate)


def _check_inside(start: np.ndarray, length: np.ndarray, n: int) -> int:
    """The place after the last one that a window holds; refused if the stream ends before it."""
    end = int((start + length + 1).max(initial=0))
    if end > n or start.min(initial=0) < 0:
        raise ValueError(
            f"windows reach from {start.min()} to {end}, and the stream has {n} ids; give the "
            "windows of this stream"
        )
    return end


def fates(
    laid: Stream, windows: pd.DataFrame, boundaries: Boundaries, end: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Of each place of `laid`: what becomes of its token, and in how many windows it counts.

    From the place `end` on no window holds any, also none that is not in the table.
    """
    n, start, length = len(laid), windows["start"].to_numpy(), windows["length"].to_numpy()
    stop = start + length + 1
    counting = start + 1 + windows["loss_from"].to_numpy().clip(0, length)
    last_held = _check_inside(start, length, n)
    end = last_held if end is None else end
    segments = segment_ids(laid.spans, n)
    own = np.append(False, counts(segments[:-1], segments[1:], boundaries))[:n]
    held, target = _covered(start, stop, n) > 0, _covered(start + 1, stop, n) > 0
    times = _covered(counting, stop, n) * own
    last = np.arange(n) >= end
    cases = [times > 0, target & ~own, target, held, last]
    return np.select(cases, [TRAINED, CROSSING, UNCOUNTED, CONTEXT, AFTER], BETWEEN), times


def _covered(first: np.ndarray, stop: np.ndarray, n: int) -> np.ndarray:
    """In how many of the ranges each of `n` places is: where they begin less where they end."""
    return np.cumsum(np.bincount(first, minlength=n + 1) - np.bincount(stop, minlength=n + 1))[:n]


def _documents(spans: pd.DataFrame) -> pd.DataFrame:
    """A row for each document: tokens `read`, the `first`, and over how many they reach, `size`."""
    tokens = spans["stop"] - spans["start"]
    ends = spans.assign(read=tokens, first=spans["doc_start"], last=spans["doc_start"] + tokens)
    found = ends.groupby("doc_id", sort=False).agg({"read": "sum", "first": "min", "last": "max"})
    return found.assign(size=found["last"] - found["first"])


def _tokens(stream: Stream, documents: pd.DataFrame) -> np.ndarray:
    """The number of the token at each place, in the order of `documents`; −1 for padding."""
    spans, lengths = stream.spans, span_lengths(stream.spans, len(stream))
    start, size = spans["doc_start"].to_numpy(), lengths[1::2]
    known = documents.reindex(spans["doc_id"])
    inside = (start >= known["first"].to_numpy()) & (start + size <= known["last"].to_numpy())
    if not inside.all():
        _refuse_stranger(spans["doc_id"].to_numpy()[~inside][0])
    base = (documents["size"].cumsum() - documents["size"] - documents["first"]).loc[known.index]
    moved = np.zeros(len(lengths), dtype=np.int64)
    moved[1::2] = base.to_numpy() + start - spans["start"].to_numpy()
    tokens = np.arange(len(stream)) + np.repeat(moved, lengths)
    tokens[np.repeat(np.arange(len(lengths)) % 2 == 0, lengths)] = -1
    return tokens


def _check_held(
    stands: np.ndarray, held: np.ndarray, owner: np.ndarray, documents: pd.DataFrame
) -> None:
    """Refuse a source that has a token twice, and a token that is in no source."""
    if (twice := np.flatnonzero(stands > 1)).size:
        raise ValueError(
            f"the source holds tokens of document {documents.index[owner[twice[0]]]} twice; give "
            "what was read, each document once, and what was repeated as the laid stream"
        )
    if (strange := held[stands[held] == 0]).size:
        _refuse_stranger(documents.index[owner[strange[0]]])


def _refuse_stranger(doc_id: int) -> None:
    raise ValueError(
        f"the laid stream holds tokens of document {doc_id} that the source does not; give the "
        "source that it was laid out from"
    )


def _reasons(became: np.ndarray) -> list[str]:
    """For each document, why some of its tokens were not trained on."""
    reasons: list[list[str]] = [[] for _ in became]
    for fate, words in _REASONS.items():
        for document in np.flatnonzero(became[:, fate]):
            reasons[document].append(words.format(became[document, fate]))
    return list(map("; ".join, reasons))


def _check_balance(frame: pd.DataFrame, read: int, times: int) -> None:
    """Raise if a document's sum, the sum of all, or the number of predictions is not right."""
    wrong = frame[frame["read"] != accounted(frame)]
    if len(wrong):
        row = wrong.iloc[0]
        raise RuntimeError(
            f"the ledger of document {row['doc_id']} does not balance: {row['read']} tokens were "
            f"read, and {accounted(wrong).iloc[0]} are accounted for"
        )
    if (frame["read"].sum(), frame["times"].sum()) != (read, times):
        raise RuntimeError(
            f"the ledger does not balance: {read} tokens and {times} predictions are there, it has "
            f"{frame['read'].sum()} and {frame['times'].sum()}"
        )

"""Every token that was read is one of four, and the sums say so."""

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ledger as module
from ledger import accounted, ledger, ledger_line
from packing import pack
from stream import Stream, cut_stream
from windows import eval_windows, gather, loss_mask, sliding_windows, window_table

FOUR = ["trained", "context_only", "masked", "dropped"]


def stream_of(*spans: tuple[int, int, int, int], n: int = 0) -> Stream:
    """A stream with these rows of (start, stop, doc_id, doc_start); its ids are 0, 1, 2, …"""
    frame = pd.DataFrame(spans, columns=["start", "stop", "doc_id", "doc_start"], dtype=np.int64)
    return Stream(np.arange(n or frame["stop"].max()), frame)


def numbers(frame: pd.DataFrame) -> list[list[int]]:
    return frame.drop(columns="reason").to_numpy().tolist()


TWO = stream_of((0, 3, 4, 0), (3, 9, 7, 0))  # document 4 has three tokens, document 7 has six


# ---- by hand


@pytest.mark.contract("ledger")
@pytest.mark.eq("ledger")
def test_two_documents_in_windows_of_three_at_stride_2():
    """N = 9, T = 3, k = 2: ids 0–3, 2–5, 4–7; targets 1–3, 3–5, 5–7; the id at 8 is in none.

    Place 0 is never a target. Targets 3 and 5 stand in two windows, so document 7, places 3–8,
    has 5 targets and 2 + 1 + 2 + 1 + 1 predictions.
    """
    frame = ledger(TWO, TWO, sliding_windows(9, 3, 2), "continuous")
    assert numbers(frame) == [[4, 3, 2, 2, 1, 0, 0], [7, 6, 5, 7, 0, 0, 1]]
    assert frame.columns.tolist() == ["doc_id", "read", "trained", "times", *FOUR[1:], "reason"]
    assert accounted(frame).tolist() == [3, 6]  # eq: ledger


@pytest.mark.contract("ledger")
def test_isolated_the_first_token_of_a_document_is_masked():
    """Target 3 comes after the end of document 4: its two predictions do not count."""
    frame = ledger(TWO, TWO, sliding_windows(9, 3, 2), "isolated")
    assert numbers(frame) == [[4, 3, 2, 2, 1, 0, 0], [7, 6, 4, 5, 0, 1, 1]]


@pytest.mark.quality("ledger")
def test_the_reasons_say_what_was_not_trained_on_and_why():
    """The same two tables: the isolated one has a token more to tell of."""
    for boundaries, more in (
        ("continuous", ""),
        ("isolated", "; masked 1: predicted from outside its span"),
    ):
        assert ledger(TWO, TWO, sliding_windows(9, 3, 2), boundaries)["reason"].tolist() == [
            "context only 1: never a target",
            "dropped 1: after the last window" + more,
        ]


@pytest.mark.quality("ledger")
def test_a_wide_stride_leaves_gaps_and_each_window_starts_with_context_only():
    """N = 12, T = 3, k = 6: ids 0–3 and 6–9; 4 and 5 lie between, 10 and 11 after."""
    one = stream_of((0, 12, 5, 0))
    frame = ledger(one, one, sliding_windows(12, 3, 6), "continuous")
    assert numbers(frame) == [[5, 12, 6, 6, 2, 0, 4]]
    assert frame["reason"][0] == (
        "dropped 2: before or between windows; dropped 2: after the last window; "
        "context only 2: never a target"
    )


@pytest.mark.quality("ledger")
def test_a_window_may_start_late_and_a_target_may_never_count():
    """Ids 2–5, of the targets 3, 4 and 5 only the last counts; 0 and 1 lie before."""
    one = stream_of((0, 6, 5, 0))
    frame = ledger(one, one, window_table([2], 3, 2), "continuous")
    assert numbers(frame) == [[5, 6, 1, 1, 1, 2, 2]]
    assert frame["reason"][0] == (
        "dropped 2: before or between windows; context only 1: never a target; "
        "masked 2: before loss_from in each window"
    )


@pytest.mark.contract("ledger")
def test_an_evaluation_scores_every_token_but_the_first_once():
    frame = ledger(TWO, TWO, eval_windows(9, 3, 2), "continuous")
    assert numbers(frame) == [[4, 3, 2, 2, 1, 0, 0], [7, 6, 6, 6, 0, 0, 0]]


@pytest.mark.contract("ledger")
def test_without_a_window_everything_is_dropped():
    assert numbers(ledger(TWO, TWO, sliding_windows(9, 9), "continuous")) == [
        [4, 3, 0, 0, 0, 0, 3],
        [7, 6, 0, 0, 0, 0, 6],
    ]
    one = stream_of((0, 1, 5, 0))
    assert numbers(ledger(one, one, sliding_windows(1, 1), "isolated")) == [[5, 1, 0, 0, 0, 0, 1]]


@pytest.mark.quality("ledger")
def test_rows_account_for_what_was_cut_off_and_for_padding():
    """T = 3: rows of four. Document 7 keeps 4 of 6; document 4 has 3 and a pad beside it.

    In each row the first is context only; of document 4 two are trained, of document 7 three.
    """
    laid = pack(TWO, 3, pad_id=0, long_doc="truncate")
    frame = ledger(TWO, laid, sliding_windows(len(laid), 3, 4), "isolated")
    assert numbers(frame) == [[4, 3, 2, 2, 1, 0, 0], [7, 6, 3, 3, 1, 0, 2]]
    assert frame["reason"][1] == (
        "dropped 2: left out of the stream; context only 1: never a target"
    )
    assert frame.attrs == {"padding": 1}


@pytest.mark.contract("ledger")
def test_a_token_that_stands_in_the_rows_twice_is_one_token_and_two_predictions():
    """Two rows of document 4, and document 7 nowhere; token 0 is a target after padding once."""
    laid = stream_of((0, 3, 4, 0), (4, 7, 4, 0), n=7)
    frame = ledger(TWO, laid, window_table([0], 6), "continuous")
    assert numbers(frame) == [[4, 3, 3, 5, 0, 0, 0], [7, 6, 0, 0, 0, 0, 6]]
    isolated = ledger(TWO, laid, window_table([0], 6), "isolated")
    assert numbers(isolated)[0] == [4, 3, 2, 4, 0, 1, 0]


@pytest.mark.quality("ledger")
def test_the_part_before_a_cut_leaves_the_rest_out():
    train, _ = cut_stream(TWO, 5)
    frame = ledger(TWO, train, sliding_windows(5, 3, 1), "continuous")
    assert numbers(frame) == [[4, 3, 2, 3, 1, 0, 0], [7, 6, 2, 3, 0, 0, 4]]
    assert frame["reason"][1] == "dropped 4: left out of the stream"


@pytest.mark.quality("ledger")
def test_the_part_after_a_cut_is_a_source_too_and_documents_keep_its_order():
    """Document 7 first, from its third token on, without its fifth; then document 4.

    Ids 0–3 hold tokens 2, 3 and 5 of document 7 and token 0 of document 4, which is masked.
    """
    source = stream_of((0, 2, 7, 2), (2, 3, 7, 5), (3, 6, 4, 0))
    frame = ledger(source, source, window_table([0], 3), "isolated")
    assert numbers(frame) == [[7, 3, 1, 1, 1, 1, 0], [4, 3, 0, 0, 0, 1, 2]]
    with pytest.raises(ValueError, match="tokens of document 7 that the source does not"):
        ledger(source, stream_of((0, 2, 7, 1)), window_table([0], 1), "isolated")


def test_the_line_has_the_sums():
    padded = stream_of((0, 3, 4, 0), (3, 9, 7, 0), n=11)
    assert ledger_line(ledger(padded, padded, sliding_windows(9, 3, 2), "isolated")) == (
        "9 tokens read = 6 trained (7 predictions) + 1 context only + 1 masked + 1 dropped; "
        "2 padding"
    )


# ---- laws, and a loop over every window and place


def documents_of(sizes: list[int]) -> Stream:
    """Documents 0, 3, 6, … of these sizes, one after the other."""
    edges = [0, *np.cumsum(sizes).tolist()]
    return stream_of(*[(a, b, 3 * k, 0) for k, (a, b) in enumerate(pairwise(edges))])


def pieces_of(sizes: list[int], data: st.DataObject) -> Stream:
    """The documents cut into pieces, some left out, some twice, in any order, with gaps."""
    pieces = []
    for doc_id, size in enumerate(sizes):
        for _ in range(data.draw(st.integers(0, 3))):
            first = data.draw(st.integers(0, size - 1))
            pieces.append((doc_id * 3, first, data.draw(st.integers(first + 1, size))))
    rows, at = [], 0
    for doc_id, first, stop in data.draw(st.permutations(pieces)):
        at += data.draw(st.integers(0, 2))
        rows.append((at, at + stop - first, doc_id, first))
        at += stop - first
    return stream_of(*rows, n=at + data.draw(st.integers(0, 2))) if rows else stream_of(n=at or 1)


def drawn_windows(n: int, data: st.DataObject) -> pd.DataFrame:
    """Of every kind: sliding at any stride, an evaluation, or any windows with any `loss_from`."""
    seq_len, stride = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 12))
    kind = data.draw(st.sampled_from(["sliding", "evaluation", "any"]))
    if kind == "sliding" or n < 2:
        return sliding_windows(n, seq_len, stride)
    if kind == "evaluation":
        return eval_windows(n, seq_len, min(stride, seq_len))
    rows = data.draw(
        st.lists(
            st.integers(0, n - 2).flatmap(
                lambda start: st.tuples(
                    st.just(start), st.integers(1, n - 1 - start), st.integers(-1, 5)
                )
            ),
            max_size=6,
        )
    )
    return pd.DataFrame(rows, columns=["start", "length", "loss_from"], dtype=np.int64)


def slowly(source: Stream, laid: Stream, windows: pd.DataFrame, boundaries: str) -> list[list[int]]:
    """The ledger by a loop over every window and every place of it."""

    def tokens(stream: Stream) -> dict[int, tuple[int, int, int]]:
        return {
            place: (span.doc_id, span.doc_start + place - span.start, number)
            for number, span in enumerate(stream.spans.itertuples())
            for place in range(span.start, span.stop)
        }

    at, best, times = tokens(laid), {}, {}
    for start, length, loss_from in windows.itertuples(index=False):
        for j in range(length + 1):
            if start + j not in at:
                continue
            doc_id, number, span = at[start + j]
            before = at.get(start + j - 1, (None, None, None))[2]
            if j == 0:
                fate = 1
            elif j - 1 < loss_from or (boundaries == "isolated" and before != span):
                fate = 2
            else:
                fate = 3
                times[doc_id] = times.get(doc_id, 0) + 1
            best[doc_id, number] = max(fate, best.get((doc_id, number), 0))
    rows = {}
    for doc_id, number, _ in tokens(source).values():
        row = rows.setdefault(doc_id, [doc_id, 0, 0, times.get(doc_id, 0), 0, 0, 0])
        row[1] += 1
        row[{3: 2, 1: 4, 2: 5, 0: 6}[best.get((doc_id, number), 0)]] += 1
    return list(rows.values())


boundaries = st.sampled_from(["continuous", "isolated"])
sizes = st.lists(st.integers(1, 12), min_size=1, max_size=5)


@pytest.mark.contract("ledger")
@pytest.mark.eq("ledger")
@given(sizes, boundaries, st.data())
def test_the_sums_balance_and_a_loop_over_every_place_agrees(sizes, boundaries, data):
    source = documents_of(sizes)
    laid = data.draw(st.sampled_from([source, None])) or pieces_of(sizes, data)
    windows = drawn_windows(len(laid), data)
    frame = ledger(source, laid, windows, boundaries)
    assert numbers(frame) == slowly(source, laid, windows, boundaries)
    assert (frame["read"] == frame[FOUR].sum(axis=1)).all()  # eq: ledger


@pytest.mark.quality("ledger")
@settings(max_examples=30)
@given(sizes, boundaries, st.data())
def test_the_numbers_in_the_reasons_are_those_of_the_columns(sizes, boundaries, data):
    laid = pieces_of(sizes, data)
    for row in ledger(
        documents_of(sizes), laid, drawn_windows(len(laid), data), boundaries
    ).itertuples():
        told = [(word, int(n)) for word, n in re.findall(r"(\w+) (\d+):", row.reason)]
        for word, n in [("only", row.context_only), ("masked", row.masked)]:
            assert sum(k for name, k in told if name == word) == n
        assert sum(k for name, k in told if name == "dropped") == row.dropped


@pytest.mark.contract("ledger")
@given(sizes, boundaries, st.integers(1, 6), st.data())
def test_packed_rows_balance_under_every_policy(sizes, boundaries, seq_len, data):
    """Whatever is not laid out is dropped; padding is the rest of the rows."""
    source = documents_of(sizes)
    long_doc = data.draw(st.sampled_from(["fragment", "truncate", "drop"]))
    order = data.draw(st.sampled_from(["best-fit", "sequential"]))
    if long_doc == "drop" and min(sizes) > seq_len + 1:
        long_doc = "truncate"
    laid = pack(source, seq_len, 0, long_doc, order=order)
    windows = sliding_windows(len(laid), seq_len, seq_len + 1)
    frame = ledger(source, laid, windows, boundaries)
    assert numbers(frame) == slowly(source, laid, windows, boundaries)
    held = (laid.spans["stop"] - laid.spans["start"]).sum()
    assert frame["dropped"].sum() == sum(sizes) - held
    assert frame.attrs["padding"] == len(laid) - held


@pytest.mark.contract("ledger")
@given(sizes, boundaries, st.data())
def test_predictions_are_those_of_the_loss_mask(sizes, boundaries, data):
    laid = pieces_of(sizes, data)
    windows = sliding_windows(len(laid), data.draw(st.integers(1, 5)), data.draw(st.integers(1, 7)))
    if not len(windows):
        return
    frame = ledger(documents_of(sizes), laid, windows, boundaries)
    segments = np.zeros(len(laid), dtype=int)
    for k, span in enumerate(laid.spans.itertuples(), 1):
        segments[span.start : span.stop] = k
    mask = loss_mask(windows, segments, boundaries)
    assert frame["times"].sum() == mask.sum()
    trained = set(gather(np.arange(len(laid)), windows)[1][mask].tolist())
    assert frame["trained"].sum() <= len(trained)


# ---- refusals


@pytest.mark.contract("ledger")
def test_a_stream_that_was_not_laid_out_from_the_source_is_refused():
    table = window_table([0], 2)
    for laid in (stream_of((0, 3, 5, 0)), stream_of((0, 4, 4, 0)), stream_of((0, 3, 4, 1))):
        with pytest.raises(
            ValueError, match=r"holds tokens of document \d that the source does not; give the"
        ):
            ledger(TWO, laid, table, "continuous")
    holed = stream_of((0, 2, 4, 0), (2, 4, 4, 3))
    with pytest.raises(ValueError, match="tokens of document 4 that the source does not"):
        ledger(holed, stream_of((0, 5, 4, 0)), table, "continuous")


@pytest.mark.contract("ledger")
def test_a_source_that_repeats_a_document_is_refused():
    twice = stream_of((0, 3, 4, 0), (3, 6, 4, 0))
    with pytest.raises(ValueError, match="holds tokens of document 4 twice; give what was read"):
        ledger(twice, twice, window_table([0], 2), "continuous")


@pytest.mark.contract("ledger")
@pytest.mark.parametrize("start", [-1, 6])
def test_windows_of_another_stream_are_refused(start):
    with pytest.raises(ValueError, match=r"windows reach from .*, and the stream has 9 ids"):
        ledger(TWO, TWO, window_table([start], 3), "continuous")


@pytest.mark.contract("ledger")
def test_boundaries_that_are_none_are_refused():
    with pytest.raises(ValueError, match="boundaries must be 'continuous' or 'isolated'"):
        ledger(TWO, TWO, window_table([0], 3), "open")


def test_a_ledger_that_does_not_balance_raises_with_its_numbers(monkeypatch):
    """The one context token of document 4 is counted twice; then a pad is a prediction."""
    padded = stream_of((0, 3, 4, 0), (3, 9, 7, 0), n=10)
    table, right = sliding_windows(9, 3, 2), module.fates
    with monkeypatch.context() as patch:
        patch.setattr(module, "AFTER", module.CONTEXT)
        with pytest.raises(
            RuntimeError, match="of document 4 does not balance: 3 tokens were read, and 4 are"
        ):
            ledger(padded, padded, table, "continuous")
    monkeypatch.setattr(module, "fates", lambda *given: (right(*given)[0], right(*given)[1] + 1))
    with pytest.raises(RuntimeError, match="9 tokens and 19 predictions are there, it has"):
        ledger(padded, padded, table, "continuous")


@settings(max_examples=25)
@given(st.data())
def test_a_stream_that_is_looked_at_by_parts_has_the_ledger_of_the_whole(data):
    """The same stream in another object is taken whole: nothing says that nothing has moved."""
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=9))
    gaps = data.draw(st.lists(st.integers(0, 2), min_size=len(sizes), max_size=len(sizes)))
    stops = np.cumsum(np.add(sizes, gaps))
    spans = pd.DataFrame({"start": stops - sizes, "stop": stops, "doc_id": range(len(sizes))})
    n = int(stops[-1]) + data.draw(st.integers(0, 3))
    stream = Stream(np.arange(n), spans.assign(doc_start=0))
    length = data.draw(st.integers(1, n)) - 1
    starts = data.draw(st.lists(st.integers(0, n - 1 - length), max_size=8))
    waits = data.draw(st.lists(st.integers(0, length), min_size=len(starts), max_size=len(starts)))
    windows = window_table(np.array(starts, dtype=np.int64), length, np.array(waits, np.int64))
    boundaries = data.draw(st.sampled_from(["continuous", "isolated"]))
    whole = ledger(stream, Stream(stream.ids, stream.spans), windows, boundaries)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ledger._PART", data.draw(st.integers(1, 12)))
        parts = ledger(stream, stream, windows, boundaries)
    pd.testing.assert_frame_equal(parts, whole)
    assert parts.attrs == whole.attrs

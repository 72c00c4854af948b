"""Packing: rows worked by hand, both masks on them, laws, and a slow best fit beside ours."""

import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data import load_corpus
from packing import count_dropped, count_tokens, fill, least_rows, pack, place, whole_documents
from stream import Stream, encode_documents, segment_ids
from windows import attention_mask, gather, loss_mask, sliding_windows

EOT = 9
TWO = [[11, 12, EOT], [21, EOT]]
LONG = [[11, 12, EOT], [21, 22, 23, 24, 25, EOT], [31, EOT]]
POLICIES = [
    {"long_doc": long_doc, "order": order, "tail": tail}
    for long_doc in ("fragment", "truncate", "drop")
    for order, tail in (("best-fit", "pad"), ("sequential", "pad"), ("sequential", "drop"))
]


def stream_of(documents: list[list[int]], dtype: type = np.int64) -> Stream:
    """Documents side by side, numbered 0, 1, 2, …"""
    stops = np.cumsum([len(ids) for ids in documents])
    starts = np.append(0, stops[:-1])
    spans = {"start": starts, "stop": stops, "doc_id": range(len(documents)), "doc_start": 0}
    return Stream(np.concatenate(documents).astype(dtype), pd.DataFrame(spans), "eot")


def rows_of(stream: Stream, seq_len: int) -> list[list[int]]:
    return stream.ids.reshape(-1, seq_len + 1).tolist()


def masks(stream: Stream, seq_len: int, boundaries: str) -> list[list[int]]:
    windows = sliding_windows(len(stream), seq_len, seq_len + 1)
    segments = segment_ids(stream.spans, len(stream))
    return loss_mask(windows, segments, boundaries).astype(int).tolist()


# ---- rows worked by hand


@pytest.mark.contract("pack")
@pytest.mark.parametrize("pad_id", [EOT, 0])
def test_two_documents_and_two_pads_have_the_masks_worked_by_hand(pad_id):
    """T = 6, x = 11 12 9 21 9 p, y = 12 9 21 9 p p.

    Isolated, 21 does not count: it follows the 9 that ends another document. A pad never counts,
    whichever id it has, and both ends of text do.
    """
    packed = pack(stream_of(TWO), 6, pad_id)
    assert packed.layout == "packed"
    assert packed.ids.tolist() == [11, 12, 9, 21, 9, pad_id, pad_id]
    x, y = gather(packed.ids, sliding_windows(7, 6, 7))
    assert x.tolist() == [[11, 12, 9, 21, 9, pad_id]]
    assert y.tolist() == [[12, 9, 21, 9, pad_id, pad_id]]
    assert masks(packed, 6, "isolated") == [[1, 1, 0, 1, 0, 0]]
    assert masks(packed, 6, "continuous") == [[1, 1, 1, 1, 0, 0]]


@pytest.mark.contract("pack")
def test_two_documents_and_an_over_long_one_in_rows_of_four():
    """Pieces 11 12 9 · 21 22 23 24 · 25 9 · 31 9 of 3, 4, 2 and 2 ids, the longest first.

    4 fills a row. 3 opens one with space 1, so the first 2 opens a third with space 2, and the
    other 2 goes there. Rows come in the order of their first parts.
    """
    packed = pack(stream_of(LONG), 3, 0)
    assert rows_of(packed, 3) == [[11, 12, 9, 0], [21, 22, 23, 24], [25, 9, 31, 9]]
    assert packed.spans.to_dict("list") == {
        "start": [0, 4, 8, 10],
        "stop": [3, 8, 10, 12],
        "doc_id": [0, 1, 1, 2],
        "doc_start": [0, 0, 4, 0],
    }
    x, y = gather(packed.ids, sliding_windows(12, 3, 4))
    assert x.tolist() == [[11, 12, 9], [21, 22, 23], [25, 9, 31]]
    assert y.tolist() == [[12, 9, 0], [22, 23, 24], [9, 31, 9]]
    assert masks(packed, 3, "isolated") == [[1, 1, 0], [1, 1, 1], [1, 0, 1]]
    assert masks(packed, 3, "continuous") == [[1, 1, 0], [1, 1, 1], [1, 1, 1]]
    segments = segment_ids(packed.spans, 12).reshape(3, 4)[:, :-1]
    assert segments.tolist() == [[1, 1, 1], [2, 2, 2], [3, 3, 4]]
    assert attention_mask(segments)[2].astype(int).tolist() == [[1, 0, 0], [1, 1, 0], [0, 0, 1]]


@pytest.mark.contract("pack")
@pytest.mark.parametrize(
    ("policy", "rows"),
    [
        (("fragment", "sequential", "pad"), [[11, 12, 9, 21], [22, 23, 24, 25], [9, 31, 9, 0]]),
        (("fragment", "sequential", "drop"), [[11, 12, 9, 21], [22, 23, 24, 25]]),
        (("truncate", "sequential", "pad"), [[11, 12, 9, 21], [22, 23, 24, 31], [9, 0, 0, 0]]),
        (("truncate", "sequential", "drop"), [[11, 12, 9, 21], [22, 23, 24, 31]]),
        (("drop", "sequential", "pad"), [[11, 12, 9, 31], [9, 0, 0, 0]]),
        (("drop", "sequential", "drop"), [[11, 12, 9, 31]]),
        (("truncate", "best-fit", "pad"), [[11, 12, 9, 0], [21, 22, 23, 24], [31, 9, 0, 0]]),
        (("drop", "best-fit", "pad"), [[11, 12, 9, 0], [31, 9, 0, 0]]),
    ],
)
def test_every_policy_on_the_same_three_documents(policy, rows):
    long_doc, order, tail = policy
    packed = pack(stream_of(LONG), 3, 0, long_doc, order=order, tail=tail)
    assert rows_of(packed, 3) == rows


@pytest.mark.contract("pack")
def test_a_part_that_goes_on_in_the_next_row_is_a_span_of_its_own():
    """11 12 9 21 | 22 23 24 25 | 9 31 9: document 1 in three parts, from tokens 0, 1 and 5 on."""
    packed = pack(stream_of(LONG), 3, 0, order="sequential")
    assert packed.spans.to_dict("list") == {
        "start": [0, 3, 4, 8, 9],
        "stop": [3, 4, 8, 9, 11],
        "doc_id": [0, 1, 1, 1, 2],
        "doc_start": [0, 0, 1, 5, 0],
    }


@pytest.mark.contract("pack")
def test_a_document_that_holds_the_end_of_text_inside_is_one_document():
    packed = pack(stream_of([[11, EOT, 12, EOT], [21, EOT]]), 6, EOT)
    assert packed.spans["doc_id"].tolist() == [0, 1]
    assert masks(packed, 6, "isolated") == [[1, 1, 1, 0, 1, 0]]


@pytest.mark.contract("pack")
def test_a_last_document_without_end_of_text_is_a_document():
    packed = pack(stream_of([[11, EOT], [21, 22]]), 4, 0)
    assert packed.ids.tolist() == [11, EOT, 21, 22, 0]
    assert packed.spans["stop"].tolist() == [2, 4]


@pytest.mark.contract("whole_documents")
def test_neighbouring_spans_that_go_on_from_each_other_are_one_document():
    """Document 5 in two spans, then from its first token; 6 from its fourth, then after a gap."""
    spans = pd.DataFrame(
        {
            "start": [0, 3, 4, 7, 10],
            "stop": [3, 4, 7, 9, 12],
            "doc_id": [5, 5, 5, 6, 6],
            "doc_start": [0, 3, 0, 3, 5],
        }
    )
    found = whole_documents(Stream(np.arange(12), spans))
    assert found.to_dict("list") == {
        "start": [0, 4, 7, 10],
        "length": [4, 3, 2, 2],
        "doc_id": [5, 5, 6, 6],
        "doc_start": [0, 0, 3, 5],
    }


@pytest.mark.contract("pack")
@pytest.mark.parametrize("order", ["best-fit", "sequential"])
def test_rows_that_were_laid_out_in_order_can_be_packed_again(order):
    """Its parts are joined to documents first, so nothing is cut twice."""
    source = stream_of(LONG)
    again = pack(pack(source, 3, 0, order="sequential"), 4, 0, order=order)
    assert again.ids.tolist() == pack(source, 4, 0, order=order).ids.tolist()


@pytest.mark.contract("pack", "place")
def test_rows_come_in_the_order_of_their_first_documents_and_parts_keep_theirs():
    """Longest first the rows open with 6, 5 and 4; their first documents are 0, 1 and 2."""
    packed = pack(stream_of([[1] * 2, [2] * 5, [3] * 4, [4] * 6]), 7, 0)
    assert rows_of(packed, 7) == [
        [1, 1, 4, 4, 4, 4, 4, 4],
        [2, 2, 2, 2, 2, 0, 0, 0],
        [3, 3, 3, 3, 0, 0, 0, 0],
    ]
    assert place(np.array([2, 5, 4, 6]), 8).tolist() == [0, 1, 2, 0]


@pytest.mark.contract("pack")
def test_rows_of_two_ids_have_one_target_each():
    """T = 1: 11 12 | 9 alone | 21 9, so the 9 of a part of one id is never a target."""
    packed = pack(stream_of(TWO), 1, 0)
    assert rows_of(packed, 1) == [[11, 12], [9, 0], [21, 9]]
    assert masks(packed, 1, "isolated") == [[1], [0], [1]]


@pytest.mark.contract("pack")
def test_one_document_longer_than_everything_is_whole_rows_and_a_rest():
    packed = pack(stream_of([list(range(10))]), 3, 0)
    assert rows_of(packed, 3) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 0, 0]]
    assert pack(stream_of([list(range(10))]), 3, 0, "truncate").ids.tolist() == [0, 1, 2, 3]


@pytest.mark.quality("pack")
@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.int64])
def test_ids_keep_their_type_and_a_mapped_file_is_only_read(dtype, tmp_path):
    source = stream_of(LONG, dtype)
    source.ids.tofile(tmp_path / "ids.bin")
    mapped = Stream(np.memmap(tmp_path / "ids.bin", dtype, "r"), source.spans, "eot")
    packed = pack(mapped, 3, EOT)
    assert packed.ids.dtype == dtype
    assert type(packed.ids) is np.ndarray
    assert packed.ids.flags.writeable
    assert packed.ids.tolist() == pack(source, 3, EOT).ids.tolist()


@pytest.mark.quality("pack")
def test_spans_of_rows_are_whole_numbers_of_eight_bytes():
    spans = pack(stream_of(LONG, np.uint16), 3, 0).spans
    assert spans.dtypes.astype(str).to_dict() == dict.fromkeys(
        ("start", "stop", "doc_id", "doc_start"), "int64"
    )
    assert spans.index.equals(pd.RangeIndex(4))


# ---- what it costs


@pytest.mark.contract("fill", "least_rows", "count_dropped")
@pytest.mark.eq("fill", "dropped")
def test_eleven_tokens_in_three_rows_of_four_fill_eleven_twelfths():
    """⌈11/4⌉ = 3, so no packing takes fewer rows. Without document 1, of 6, 5 tokens are left."""
    source = stream_of(LONG)
    packed = pack(source, 3, 0)
    assert fill(packed) == 11 / 12  # eq: fill
    assert least_rows(count_tokens(source), 3) == 3
    assert count_dropped(source, packed) == 0
    assert count_dropped(source, pack(source, 3, 0, "drop")) == 6  # eq: dropped
    assert count_dropped(source, pack(source, 3, 0, "truncate")) == 2


@pytest.mark.contract("least_rows")
@pytest.mark.eq("least-rows")
@pytest.mark.parametrize(("tokens", "rows"), [(0, 0), (1, 1), (8, 1), (9, 2), (16, 2), (17, 3)])
def test_a_row_that_is_begun_is_a_row(tokens, rows):
    assert least_rows(tokens, 7) == rows  # eq: least-rows


@pytest.mark.contract("place")
def test_a_part_takes_the_fullest_row_that_has_room():
    """Rows of 10: 7 and 6 leave 3 and 4. The 3 fits both and takes the first; the 4 has the other.

    Any row with room could have the 3 beside the 6, and the 4 would open a third row.
    """
    assert place(np.array([7, 6, 3, 4]), 10).tolist() == [0, 1, 0, 1]


# ---- laws

documents = st.lists(st.integers(1, 25), min_size=1, max_size=12).map(
    lambda lengths: [
        [1000 * d + i for i in range(length - 1)] + [EOT] for d, length in enumerate(lengths)
    ]
)
cases = st.tuples(documents, st.integers(1, 12), st.sampled_from(POLICIES))


def packed_or_none(case: tuple, pad_id: int = EOT) -> Stream | None:
    """None if no row is left, which is refused."""
    texts, seq_len, policy = case
    lengths = [len(ids) for ids in texts]
    if policy["long_doc"] == "drop":
        lengths = [length for length in lengths if length <= seq_len + 1]
    if policy["long_doc"] == "truncate":
        lengths = [min(length, seq_len + 1) for length in lengths]
    if sum(lengths) >= (seq_len + 1 if policy["tail"] == "drop" else 1):
        return pack(stream_of(texts), seq_len, pad_id, **policy)
    with pytest.raises(ValueError, match="leaves none"):
        pack(stream_of(texts), seq_len, pad_id, **policy)
    return None


@pytest.mark.contract("pack")
@given(cases)
@settings(max_examples=150)
def test_spans_read_back_the_documents_and_cross_no_border(case):
    texts, seq_len, _ = case
    if (packed := packed_or_none(case)) is None:
        return
    assert len(packed) % (seq_len + 1) == 0
    segment_ids(packed.spans, len(packed))  # sorted, none empty, no overlap
    for start, stop, doc_id, doc_start in packed.spans.itertuples(index=False):
        assert packed.ids[start:stop].tolist() == texts[doc_id][doc_start:][: stop - start]
        assert start // (seq_len + 1) == (stop - 1) // (seq_len + 1)
    filled = np.unique(packed.spans["start"] // (seq_len + 1))
    assert len(filled) == len(packed) // (seq_len + 1)  # no row is padding alone


@pytest.mark.contract("pack", "count_dropped")
@pytest.mark.eq("dropped")
@given(cases)
@settings(max_examples=150)
def test_kept_and_dropped_are_what_was_read_document_by_document(case):
    """Each token once at most; without a reason to drop it, once."""
    texts, seq_len, policy = case
    if (packed := packed_or_none(case)) is None:
        return
    kept = [
        (doc_id, doc_start + i)
        for start, stop, doc_id, doc_start in packed.spans.itertuples(index=False)
        for i in range(stop - start)
    ]
    assert len(set(kept)) == len(kept)
    long_doc, order, tail = policy["long_doc"], policy["order"], policy["tail"]
    expected = {
        (d, i)
        for d, ids in enumerate(texts)
        for i in range(len(ids))
        if not (long_doc == "drop" and len(ids) > seq_len + 1)
        and not (long_doc == "truncate" and i > seq_len)
    }
    if tail == "drop":
        expected = set(sorted(expected)[: len(expected) // (seq_len + 1) * (seq_len + 1)])
    assert set(kept) == expected
    read = sum(map(len, texts))
    assert count_dropped(stream_of(texts), packed) + len(kept) == read  # eq: dropped
    if order == "sequential":
        assert kept == sorted(kept)


@pytest.mark.contract("pack")
@given(cases)
def test_padding_is_known_by_place_so_any_pad_id_gives_the_same_spans_and_masks(case):
    one, other = packed_or_none(case, EOT), packed_or_none(case, 0)
    if one is None:
        assert other is None
        return
    pd.testing.assert_frame_equal(one.spans, other.spans)
    for boundaries in ("continuous", "isolated"):
        assert masks(one, case[1], boundaries) == masks(other, case[1], boundaries)


@pytest.mark.contract("pack")
@given(cases)
def test_packing_is_a_function_of_its_arguments_which_it_leaves_alone(case):
    texts, seq_len, policy = case
    source = stream_of(texts)
    before = copy.deepcopy(source)
    if (packed := packed_or_none(case)) is None:
        return
    again = pack(source, seq_len, EOT, **policy)
    assert again.ids.tolist() == packed.ids.tolist()
    pd.testing.assert_frame_equal(again.spans, packed.spans)
    assert source.ids.tolist() == before.ids.tolist()
    pd.testing.assert_frame_equal(source.spans, before.spans)


@pytest.mark.contract("pack")
@given(documents, st.integers(1, 12))
def test_in_order_the_fewest_rows_are_taken_and_by_best_fit_no_fewer(texts, seq_len):
    least = least_rows(sum(map(len, texts)), seq_len)
    rows = [
        len(pack(stream_of(texts), seq_len, 0, order=order)) // (seq_len + 1)
        for order in ("sequential", "best-fit")
    ]
    assert rows[0] == least <= rows[1]


# ---- an oracle


def spaces_left(lengths: list[int], size: int) -> list[int]:
    """Best fit a part at a time, the longest first: what is left of each row."""
    spaces: list[int] = []
    for length in sorted(lengths, reverse=True):
        fitting = [space for space in spaces if space >= length]
        space = min(fitting, default=size)
        if fitting:
            spaces.remove(space)
        spaces.append(space - length)
    return sorted(spaces)


def check_against_best_fit(lengths: list[int], size: int) -> None:
    rows = place(np.array(lengths), size)
    left = size - np.bincount(rows, weights=lengths).astype(int)
    assert sorted(left) == spaces_left(lengths, size)
    firsts = [rows.tolist().index(row) for row in range(max(rows) + 1)]
    assert firsts == sorted(firsts)


many = st.integers(2, 24).flatmap(
    lambda size: st.tuples(st.lists(st.integers(1, size), min_size=1, max_size=40), st.just(size))
)


@pytest.mark.contract("place")
@given(many)
@settings(max_examples=500)
def test_rows_and_waste_are_those_of_best_fit_a_part_at_a_time(case):
    check_against_best_fit(*case)


@pytest.mark.slow
def test_rows_and_waste_are_those_of_best_fit_for_thousands_of_cases():
    rng = np.random.default_rng(0)
    for _ in range(8000):
        size = int(rng.integers(2, 80))
        lengths = rng.integers(1, rng.integers(1, size + 1) + 1, rng.integers(1, 150))
        check_against_best_fit(lengths.tolist(), size)


@pytest.mark.quality("pack")
def test_the_stories_are_packed_as_one_at_a_time(tok):
    """Rows of 65: real lengths, most of them over-long."""
    documents = load_corpus("data/corpus.csv", max_rows=200).documents
    source = encode_documents(documents, tok)
    packed = pack(source, 64, tok.eot_id)
    lengths = (source.spans["stop"] - source.spans["start"]).tolist()
    parts = [min(65, length - at) for length in lengths for at in range(0, length, 65)]
    used = np.bincount(
        packed.spans["start"] // 65, weights=packed.spans["stop"] - packed.spans["start"]
    )
    assert sorted(65 - used.astype(int)) == spaces_left(parts, 65)


# ---- refused


def spans_of(*rows: tuple[int, int, int, int]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["start", "stop", "doc_id", "doc_start"], dtype=np.int64)


@pytest.mark.quality("pack")
@pytest.mark.parametrize(
    "rows", [[(0, 3), (2, 5)], [(3, 5), (0, 2)], [(0, 0), (0, 5)], [(0, 3), (3, 3)], [(0, 9)]]
)
def test_spans_that_overlap_are_out_of_order_empty_or_too_long_are_refused(rows):
    """A document without ids has no span: first, last or anywhere."""
    spans = spans_of(*((*row, d, 0) for d, row in enumerate(rows)))
    with pytest.raises(ValueError, match="spans must be sorted, not empty, without overlap"):
        pack(Stream(np.arange(5), spans), 3, 0)


@pytest.mark.contract("pack")
@pytest.mark.parametrize("ids", [[], [0, 0]])
def test_a_stream_without_documents_is_refused(ids):
    with pytest.raises(ValueError, match="there are no documents to pack; the stream has no spans"):
        pack(Stream(np.array(ids, dtype=np.int64), spans_of()), 3, 0)


@pytest.mark.contract("pack")
def test_documents_that_are_all_too_long_are_not_all_dropped():
    with pytest.raises(ValueError, match=r"\+ 1 = 4 ids, .* use 'fragment', or seq_len 4 "):
        pack(stream_of([[1] * 5, [2] * 7]), 3, 0, "drop")
    assert len(pack(stream_of([[1] * 5, [2] * 7]), 4, 0, "drop")) == 5


@pytest.mark.contract("pack")
def test_a_tail_that_is_everything_is_not_dropped():
    with pytest.raises(ValueError, match=r"5 tokens do not fill one row of seq_len \+ 1 = 7 ids"):
        pack(stream_of(TWO), 6, 0, order="sequential", tail="drop")
    assert len(pack(stream_of(TWO), 4, 0, order="sequential", tail="drop")) == 5


@pytest.mark.quality("pack")
@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"long_doc": "split"}, "long_doc must be 'fragment' or 'truncate' or 'drop', got 'split'"),
        ({"order": "first-fit"}, "order must be 'best-fit' or 'sequential', got 'first-fit'"),
        ({"tail": "keep"}, "tail must be 'pad' or 'drop', got 'keep'"),
        ({"tail": "drop"}, "by best-fit any row may have some, so use tail='pad'"),
        ({"seq_len": 0}, "seq_len must be at least 1, got 0"),
        ({"pad_id": -1}, "pad_id must be from 0 to 65535, which uint16 can hold, got -1"),
        ({"pad_id": 65_536}, "got 65536; the end-of-text's id serves"),
        ({"pad_id": 1.0}, "pad_id must be a whole number, got 1.0"),
        ({"pad_id": True}, "pad_id must be a whole number, got True"),
    ],
)
def test_what_cannot_be_is_refused_with_the_way_out(policy, message):
    with pytest.raises(ValueError, match=message):
        pack(stream_of(TWO, np.uint16), **({"seq_len": 6, "pad_id": 0} | policy))


# ---- many, and more than can be


@pytest.mark.quality("place")
@pytest.mark.parametrize(
    ("lengths", "size", "told"),
    [
        ([1, 0, 2], 4, "got size 4 and lengths up to 2"),
        ([1, 5], 4, "got size 4 and lengths up to 5"),
        ([], 0, "got size 0 and lengths up to 0"),
        ([1], 2**24 + 1, "got size 16777217 and lengths up to 1"),
    ],
)
def test_parts_that_no_row_holds_are_refused(lengths, size, told):
    with pytest.raises(ValueError, match=f"from 1 to .*, and that at most 16,777,216; {told}"):
        place(np.array(lengths, np.int64), size)
    assert place(np.array([1, 1]), 1).tolist() == [0, 1]
    assert place(np.array([1]), 2**24).tolist() == [0]


@pytest.mark.contract("place")
def test_few_parts_of_many_ids_are_placed_the_longest_first():
    """500 takes a row, both 300 another. Rows are numbered by their first parts."""
    rows = place(np.array([300, 300, 500]), 600)
    assert (rows.tolist(), rows.dtype) == ([0, 0, 1], np.int32)


@pytest.mark.quality("pack")
def test_a_row_that_would_fill_memory_is_refused():
    with pytest.raises(ValueError, match="at most 16,777,215 for rows, got 16777216"):
        pack(stream_of(TWO), 2**24, EOT)
    assert len(pack(stream_of(TWO, np.uint16), 2**24 - 1, EOT)) == 2**24


@pytest.mark.quality("pack")
def test_the_largest_id_of_a_type_may_pad():
    assert pack(stream_of(TWO, np.uint16), 6, 65_535).ids.tolist()[-2:] == [65_535, 65_535]


@pytest.mark.contract("pack")
@pytest.mark.parametrize("order", ["best-fit", "sequential"])
def test_thousands_of_documents_stay_what_and_in_the_order_they_were(order):
    """Documents of one id each, their own number: 50 a row, in their order."""
    packed = pack(stream_of([[number] for number in range(2600)]), 49, 0, order=order)
    assert packed.ids.tolist() == packed.spans["doc_id"].tolist() == list(range(2600))


@pytest.mark.quality("pack")
def test_documents_that_share_a_row_keep_their_order():
    """Lengths 1 to 7 by turns, in rows of 50."""
    packed = pack(stream_of([[number] * (number % 7 + 1) for number in range(2600)]), 49, 0)
    rows = packed.spans.groupby(packed.spans["start"] // 50)["doc_id"]
    assert rows.is_monotonic_increasing.all()
    assert packed.ids.reshape(-1, 50)[0, 0] == packed.spans["doc_id"][0]


@pytest.mark.quality("whole_documents")
def test_pieces_that_go_on_from_each_other_are_one_document_wherever_they_are():
    """A gap in the stream, a gap in the document, another document: each begins anew."""
    rows = [(0, 2, 7, 0), (2, 3, 7, 2), (3, 5, 7, 9), (5, 6, 8, 0), (7, 9, 8, 1), (9, 12, 8, 3)]
    spans = pd.DataFrame(rows, columns=["start", "stop", "doc_id", "doc_start"])
    found = whole_documents(Stream(np.arange(12), spans))
    expected = [[0, 3, 7, 0], [3, 2, 7, 9], [5, 1, 8, 0], [7, 5, 8, 1]]
    assert found.to_numpy().tolist() == expected


@pytest.mark.quality("least_rows")
def test_a_row_of_no_targets_is_refused():
    with pytest.raises(ValueError, match="seq_len must be at least 1, got 0"):
        least_rows(5, 0)

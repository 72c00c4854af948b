"""Documents → ids and spans, and back."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus import CorpusText
from data import encode_corpus
from stream import (
    Stream,
    cut_stream,
    encode_documents,
    encode_text,
    part_of,
    position_ids,
    segment_ids,
    segments_at,
    span_lengths,
    text_stream,
)
from tokenizer import EOT, Tokenizer, learn_merges

TOK = Tokenizer(learn_merges("the old man and the sea\nthe old woman\n" * 5, 40))
texts = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
    .map(str.strip)
    .filter(bool),
    min_size=1,
    max_size=8,
)


def documents_of(texts: list[str]) -> pd.DataFrame:
    """Record numbers with gaps, as after blank rows."""
    return pd.DataFrame({"text": texts}, index=pd.Index(range(0, 2 * len(texts), 2), name="doc_id"))


@pytest.mark.contract("encode_text")
def test_the_newline_after_a_row_belongs_to_its_document():
    """hi and you as bytes: 104 105 10 | 121 111 117 10."""
    stream = encode_text(documents_of(["hi", "you"]), Tokenizer([]))
    assert stream.ids.tolist() == [104, 105, 10, 121, 111, 117, 10]
    assert stream.spans.to_numpy().tolist() == [[0, 3, 0, 0], [3, 7, 2, 0]]
    assert stream.spans.columns.tolist() == ["start", "stop", "doc_id", "doc_start"]


@pytest.mark.contract("encode_text")
@given(texts)
def test_spans_read_every_document_back_and_leave_no_id_out(texts):
    documents = documents_of(texts)
    stream = encode_text(documents, TOK)
    assert [TOK.decode(stream.ids[s.start : s.stop]) for s in stream.spans.itertuples()] == [
        text + "\n" for text in texts
    ]
    assert stream.spans["doc_id"].tolist() == documents.index.tolist()
    assert stream.spans["start"].tolist() == [0, *stream.spans["stop"][:-1]]
    assert stream.spans["stop"].iloc[-1] == len(stream)


@given(texts)
def test_documents_and_the_joined_text_give_the_same_ids(texts):
    text = CorpusText.join(documents_of(texts))
    ids = encode_corpus(text, TOK)
    stream = text_stream(text.documents, ids, TOK)
    assert stream.ids is ids
    assert stream.spans.equals(encode_text(text.documents, TOK).spans)


@pytest.mark.contract("encode_documents")
def test_an_end_of_text_belongs_to_the_document_that_it_ends():
    """hi and you as bytes, 256 for the end: 104 105 256 | 121 111 117 256."""
    stream = encode_documents(documents_of(["hi", "you"]), Tokenizer([]))
    assert stream.ids.tolist() == [104, 105, 256, 121, 111, 117, 256]
    assert stream.spans.to_numpy().tolist() == [[0, 3, 0, 0], [3, 7, 2, 0]]
    assert stream.spans.columns.tolist() == ["start", "stop", "doc_id", "doc_start"]
    assert stream.layout == "eot"


@pytest.mark.contract("encode_documents")
def test_without_a_final_end_of_text_nine_stand_among_ten_documents():
    texts = [f"story {i}" for i in range(10)]
    stream = encode_documents(documents_of(texts), TOK, final_eot=False)
    assert (stream.ids == TOK.eot_id).sum() == 9
    assert stream.ids[-1] != TOK.eot_id
    assert stream.spans["stop"].iloc[-1] == len(stream)
    whole = encode_documents(documents_of(texts), TOK)
    assert whole.ids.tolist() == [*stream.ids, TOK.eot_id]
    assert whole.spans["stop"].iloc[-1] == len(whole)


@pytest.mark.contract("encode_documents")
@given(texts, st.booleans())
def test_every_document_has_the_ids_that_it_has_alone(texts, final_eot):
    """The oracle encodes one document after the other."""
    documents = documents_of(texts)
    stream = encode_documents(documents, TOK, final_eot)
    ends = [[TOK.eot_id]] * (len(texts) - 1) + [[TOK.eot_id] * final_eot]
    alone = [TOK.encode(text) + end for text, end in zip(texts, ends, strict=True)]
    assert stream.ids.tolist() == [i for ids in alone for i in ids]
    read = [stream.ids[s.start : s.stop].tolist() for s in stream.spans.itertuples()]
    assert read == alone
    assert stream.spans["doc_id"].tolist() == documents.index.tolist()
    assert (stream.spans["doc_start"] == 0).all()


@pytest.mark.contract("encode_documents")
def test_an_end_of_text_that_is_written_inside_a_document_is_text():
    """One document and one end, where the join of seed 000 would show two documents."""
    stream = encode_documents(documents_of([f"about {EOT} marks"]), TOK)
    assert (stream.ids == TOK.eot_id).nonzero()[0].tolist() == [len(stream) - 1]
    assert TOK.decode(stream.ids[:-1]) == f"about {EOT} marks"


@pytest.mark.quality("encode_text", "encode_documents")
@pytest.mark.parametrize("encode", [encode_text, encode_documents])
@pytest.mark.parametrize("text", ["", " ", "a ", "\na", "a\u2003"])
def test_a_text_with_blanks_at_its_ends_is_refused_because_its_end_would_move(encode, text):
    with pytest.raises(
        ValueError, match=r"document 2 is blank or has blanks at its ends: .*; strip"
    ):
        encode(documents_of(["fine", text]), TOK)


@pytest.mark.quality("encode_text")
def test_of_a_long_text_that_is_refused_both_ends_are_told():
    told = "blanks at its ends: 'abcdefghijklmnopqrst' … 'hijklmnopqrstuvwxyz '; strip"
    with pytest.raises(ValueError, match=told):
        encode_text(documents_of(["abcdefghijklmnopqrstuvwxyz "]), TOK)


@pytest.mark.quality("encode_text", "encode_documents")
@pytest.mark.parametrize("encode", [encode_text, encode_documents])
def test_no_documents_are_no_stream(encode):
    with pytest.raises(ValueError, match="there are no documents; a stream needs at least one"):
        encode(documents_of([]), TOK)


@pytest.mark.contract("cut_stream")
def test_a_span_over_the_cut_becomes_two():
    """Cut at 5, inside you: two of its bytes stay before, two come after from its place 2."""
    before, after = cut_stream(encode_text(documents_of(["hi", "you"]), Tokenizer([])), 5)
    assert before.spans.to_numpy().tolist() == [[0, 3, 0, 0], [3, 5, 2, 0]]
    assert after.spans.to_numpy().tolist() == [[0, 2, 2, 2]]
    assert after.ids.tolist() == [117, 10]


@pytest.mark.contract("cut_stream")
def test_a_cut_between_two_documents_leaves_each_on_its_side():
    """hi and its newline are three bytes."""
    before, after = cut_stream(encode_text(documents_of(["hi", "you"]), Tokenizer([])), 3)
    assert before.spans.to_numpy().tolist() == [[0, 3, 0, 0]]
    assert after.spans.to_numpy().tolist() == [[0, 4, 2, 0]]


@pytest.mark.parametrize(("first", "last"), [(-1, 3), (4, 3), (2, 8)])
def test_a_part_outside_the_stream_is_refused(first, last):
    stream = encode_text(documents_of(["hi", "you"]), Tokenizer([]))
    with pytest.raises(ValueError, match=f"a part lies in 0 … 7, got {first} to {last}"):
        part_of(stream, first, last)
    assert part_of(stream, 3, 3).spans.empty


@pytest.mark.contract("cut_stream")
@pytest.mark.parametrize(("encode", "layout"), [(encode_text, "text"), (encode_documents, "eot")])
def test_both_parts_have_the_layout_of_the_whole(encode, layout):
    stream = encode(documents_of(["hi", "you"]), TOK)
    assert [part.layout for part in (stream, *cut_stream(stream, 2))] == [layout] * 3


@pytest.mark.contract("cut_stream")
@given(texts, st.data())
def test_both_parts_together_are_the_stream(texts, data):
    stream = encode_text(documents_of(texts), TOK)
    cut = data.draw(st.integers(0, len(stream)))
    before, after = cut_stream(stream, cut)
    assert np.concatenate([before.ids, after.ids]).tolist() == stream.ids.tolist()
    for part in (before, after):
        starts = dict(zip(stream.spans["doc_id"], stream.spans["start"], strict=True))
        offset = 0 if part is before else cut
        for span in part.spans.itertuples():
            assert span.start + offset == starts[span.doc_id] + span.doc_start
    assert sum((p.spans["stop"] - p.spans["start"]).sum() for p in (before, after)) == len(stream)


@pytest.mark.contract("cut_stream")
@pytest.mark.parametrize("cut", [-1, 8])
def test_a_cut_outside_the_stream_is_refused(cut):
    with pytest.raises(ValueError, match=f"cut must be from 0 to 7, the length .*; got {cut}"):
        cut_stream(encode_text(documents_of(["hi", "you"]), Tokenizer([])), cut)


def spans(*rows: tuple[int, int]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["start", "stop"])


@pytest.mark.contract("segment_ids")
def test_segments_are_numbered_from_one_and_padding_is_zero():
    segments = segment_ids(spans((0, 2), (3, 5)), 7)
    assert segments.dtype == np.int32
    assert segments.tolist() == [1, 1, 0, 2, 2, 0, 0]
    assert segment_ids(spans(), 2).tolist() == [0, 0]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=6), st.integers(0, 3))
def test_segments_at_some_places_are_those_of_the_whole_stream(runs, rest):
    """Padding and a span by turns, then padding; every place is asked for, and those backwards."""
    stops = np.cumsum([gap + size for gap, size in runs], dtype=np.int64)
    sizes = np.array([size for _, size in runs], dtype=np.int64)
    spans = pd.DataFrame({"start": stops - sizes, "stop": stops})
    n = (int(stops[-1]) if len(stops) else 0) + rest
    places = np.arange(n).reshape(1, -1)
    assert segments_at(spans, places).tolist() == [segment_ids(spans, n).tolist()]
    assert segments_at(spans, places[:, ::-1]).tolist() == [segment_ids(spans, n)[::-1].tolist()]


@pytest.mark.contract("position_ids")
def test_positions_begin_again_in_each_span_and_are_zero_at_padding():
    """Spans at 0–1 and 3–5 of eight: the second one begins at 0 again, whatever its `doc_start`."""
    positions = position_ids(spans((0, 2), (3, 6)), 8)
    assert positions.dtype == np.int64
    assert positions.tolist() == [0, 1, 0, 0, 1, 2, 0, 0]
    assert position_ids(spans((2, 3)), 3).tolist() == [0, 0, 0]
    assert position_ids(spans(), 2).tolist() == [0, 0]


@pytest.mark.contract("position_ids")
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), max_size=6), st.integers(0, 3))
def test_a_loop_over_the_spans_finds_the_same_positions(runs, rest):
    rows, at = [], 0
    for gap, size in runs:
        rows.append((at + gap, at + gap + size))
        at += gap + size
    expected = [0] * (at + rest)
    for start, stop in rows:
        expected[start:stop] = range(stop - start)
    assert position_ids(spans(*rows), at + rest).tolist() == expected


@pytest.mark.quality("segment_ids", "position_ids")
@pytest.mark.parametrize("rows", [[(0, 3), (2, 5)], [(3, 5), (0, 2)], [(0, 9)], [(2, 2)]])
def test_spans_that_overlap_are_out_of_order_empty_or_too_long_are_refused(rows):
    for number in (segment_ids, position_ids):
        with pytest.raises(ValueError, match=r"spans must be sorted, not empty, .* end by 7"):
            number(spans(*rows), 7)


def test_lengths_of_spans_and_of_padding_take_turns():
    """Of seven ids 0–1 and 3–4 are in spans: none, 2, 1, 2, and 2 at the end."""
    assert span_lengths(spans((0, 2), (3, 5)), 7).tolist() == [0, 2, 1, 2, 2]


def test_a_stream_knows_its_length():
    assert len(Stream(np.arange(4), spans((0, 4)))) == 4

"""Documents → ids and spans, and back."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus import CorpusText
from data import encode_corpus
from stream import Stream, cut_stream, encode_text, segment_ids, text_stream
from tokenizer import Tokenizer, learn_merges

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


def test_the_newline_after_a_row_belongs_to_its_document():
    """hi and you as bytes: 104 105 10 | 121 111 117 10."""
    stream = encode_text(documents_of(["hi", "you"]), Tokenizer([]))
    assert stream.ids.tolist() == [104, 105, 10, 121, 111, 117, 10]
    assert stream.spans.to_numpy().tolist() == [[0, 3, 0, 0], [3, 7, 2, 0]]
    assert stream.spans.columns.tolist() == ["start", "stop", "doc_id", "doc_start"]


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


def test_a_span_over_the_cut_becomes_two():
    """Cut at 5, inside you: two of its bytes stay before, two come after from its place 2."""
    before, after = cut_stream(encode_text(documents_of(["hi", "you"]), Tokenizer([])), 5)
    assert before.spans.to_numpy().tolist() == [[0, 3, 0, 0], [3, 5, 2, 0]]
    assert after.spans.to_numpy().tolist() == [[0, 2, 2, 2]]
    assert after.ids.tolist() == [117, 10]


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


@pytest.mark.parametrize("cut", [-1, 8])
def test_a_cut_outside_the_stream_is_refused(cut):
    with pytest.raises(ValueError, match="the cut must be from 0 to 7"):
        cut_stream(encode_text(documents_of(["hi", "you"]), Tokenizer([])), cut)


def spans(*rows: tuple[int, int]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["start", "stop"])


def test_segments_are_numbered_from_one_and_padding_is_zero():
    segments = segment_ids(spans((0, 2), (3, 5)), 7)
    assert segments.dtype == np.int32
    assert segments.tolist() == [1, 1, 0, 2, 2, 0, 0]
    assert segment_ids(spans(), 2).tolist() == [0, 0]


@pytest.mark.parametrize("rows", [[(0, 3), (2, 5)], [(3, 5), (0, 2)], [(0, 9)], [(2, 2)]])
def test_spans_that_overlap_are_out_of_order_empty_or_too_long_are_refused(rows):
    with pytest.raises(ValueError, match="spans must be sorted, not empty, without overlap"):
        segment_ids(spans(*rows), 7)


def test_a_stream_knows_its_length():
    assert len(Stream(np.arange(4), spans((0, 4)))) == 4

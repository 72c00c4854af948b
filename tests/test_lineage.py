"""From a window back to documents, their tokens and their characters."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus import load_documents
from lineage import explain, window_lineage
from packing import pack
from stream import Stream, cut_stream, encode_documents, encode_text, segment_ids
from tokenizer import Tokenizer, learn_merges
from windows import eval_windows, loss_mask, sliding_windows, window_table

BYTES = Tokenizer([])
TOK = Tokenizer(
    learn_merges("the old man and the sea, cafés and 😀😁😀😁 e\u0301e\u0301\n" * 5, 60)
)
texts = st.lists(
    st.text(st.sampled_from("ab é\u0301😀😁\n中\u00a0"), min_size=1, max_size=14)
    .map(str.strip)
    .filter(bool),
    min_size=1,
    max_size=6,
)


def documents_of(texts: list[str]) -> pd.DataFrame:
    """Record numbers with gaps, as after blank rows."""
    return pd.DataFrame({"text": texts}, index=pd.Index(range(0, 2 * len(texts), 2), name="doc_id"))


def spans_of(*rows: tuple[int, int, int, int]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["start", "stop", "doc_id", "doc_start"], dtype=np.int64)


TWO = spans_of((0, 3, 4, 0), (3, 9, 7, 0))

# ---- the table


@pytest.mark.contract("window_lineage")
def test_the_lineage_of_two_documents_in_windows_of_three_at_stride_2():
    """Ids 0–3 hold 0–2 of document 4 and 0 of 7; ids 2–5 hold 2 of 4 and 0–2 of 7; 4–7 1–4 of 7."""
    table = window_lineage(sliding_windows(9, 3, 2), TWO)
    columns = ["window", "row_start", "row_stop", "doc_id", "doc_start", "doc_stop"]
    assert table.columns.tolist() == columns
    assert table.to_numpy().tolist() == [
        [0, 0, 3, 4, 0, 3],
        [0, 3, 4, 7, 0, 1],
        [1, 0, 1, 4, 2, 3],
        [1, 1, 4, 7, 0, 3],
        [2, 0, 4, 7, 1, 5],
    ]
    assert (table.dtypes == np.int64).all()


@pytest.mark.contract("window_lineage")
def test_padding_has_no_lineage_and_a_window_keeps_its_name():
    spans = spans_of((1, 3, 4, 5), (6, 8, 7, 0))
    windows = window_table([0, 3, 5], 2).loc[[2, 1]]
    assert window_lineage(windows, spans).to_numpy().tolist() == [[2, 1, 3, 7, 0, 2]]
    assert window_lineage(window_table([0], 2), spans).to_numpy().tolist() == [[0, 1, 3, 4, 5, 7]]


@pytest.mark.contract("window_lineage")
def test_nothing_has_no_lineage():
    assert not len(window_lineage(window_table([], 2), TWO))
    assert not len(window_lineage(window_table([0], 2), spans_of()))


@pytest.mark.quality("window_lineage")
@pytest.mark.parametrize("rows", [[(0, 3, 4, 0), (2, 5, 7, 0)], [(3, 5, 4, 0), (0, 2, 7, 0)]])
def test_spans_that_overlap_or_are_out_of_order_are_refused(rows):
    with pytest.raises(ValueError, match="spans must be sorted, not empty, without overlap"):
        window_lineage(window_table([0], 2), spans_of(*rows))


@pytest.mark.contract("window_lineage")
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 6), st.integers(0, 9)), max_size=8))
def test_each_place_of_each_window_has_the_token_that_a_loop_finds(runs):
    rows, at = [], 0
    for k, (gap, size, doc_start) in enumerate(runs):
        rows.append((at + gap, at + gap + size, 3 * k, doc_start))
        at += gap + size
    spans, windows = spans_of(*rows), sliding_windows(at + 4, 3, 2)
    found = {
        (row.window, row.row_start + j): (row.doc_id, row.doc_start + j)
        for row in window_lineage(windows, spans).itertuples()
        for j in range(row.row_stop - row.row_start)
    }
    assert found == {
        (window, place): (span.doc_id, span.doc_start + start + place - span.start)
        for window, start, *_ in windows.itertuples()
        for place in range(4)
        for span in spans.itertuples()
        if span.start <= start + place < span.stop
    }


def read_back(stream: Stream, windows: pd.DataFrame) -> dict[int, list[int]]:
    """The ids of each document, put together from the windows alone."""
    tokens: dict[int, dict[int, int]] = {}
    for row in window_lineage(windows, stream.spans).itertuples():
        start = windows.loc[row.window, "start"]
        ids = stream.ids[start + row.row_start : start + row.row_stop]
        tokens.setdefault(row.doc_id, {}).update(enumerate(ids, row.doc_start))
    for held in tokens.values():
        assert sorted(held) == list(range(len(held)))
    return {doc_id: [held[k] for k in sorted(held)] for doc_id, held in tokens.items()}


@pytest.mark.contract("window_lineage")
@given(texts, st.integers(1, 5), st.sampled_from(["text", "eot", "best-fit", "sequential"]))
def test_windows_side_by_side_read_every_document_back_in_any_layout(texts, seq_len, layout):
    """A stride of T + 1 and a last window that ends with the stream hold every id."""
    documents = documents_of(texts)
    stream = (encode_text if layout == "text" else encode_documents)(documents, TOK)
    if layout in ("best-fit", "sequential"):
        stream = pack(stream, seq_len, TOK.eot_id, order=layout)
    seq_len = min(seq_len, len(stream) - 1)
    starts = [*range(0, len(stream) - seq_len, seq_len + 1), len(stream) - 1 - seq_len]
    end = [10] if layout == "text" else [TOK.eot_id]
    assert read_back(stream, window_table(starts, seq_len)) == {
        doc_id: TOK.encode(text) + end for doc_id, text in documents["text"].items()
    }


# ---- one window


def test_each_place_of_a_window_by_hand():
    """hi é, as bytes: 104 105 10 | C3 A9 10. The window holds places 1 to 4."""
    documents = documents_of(["hi", "é"])
    stream = encode_text(documents, BYTES)
    frame = explain(stream, window_table([1], 3, 1), 0, BYTES, "isolated", documents)
    assert frame.index.name == "place"
    assert frame.to_dict("list") == {
        "id": [105, 10, 0xC3, 0xA9],
        "token": ["i", r"\n", r"\xc3", r"\xa9"],
        "doc_id": [0, 0, 2, 2],
        "doc_token": [1, 2, 0, 1],
        "char_start": [1, 2, 0, 0],
        "char_stop": [2, 2, 1, 1],
        "what": ["text", "newline after the text", "part of é", "part of é"],
        "role": ["input", "input and target", "input and target", "target"],
        "counts": [False, False, False, True],
        "why": [
            "the first id of a window is no target",
            "scored by an earlier window",
            "its input is of another document",
            "counts",
        ],
        "record": [0, 0, 2, 2],
    }


def test_an_end_of_text_and_padding_are_named():
    """Two rows of three: hi and its end; é, two bytes, and its end; then a, its end and a pad."""
    documents = documents_of(["hi", "é", "a"])
    stream = pack(encode_documents(documents, BYTES), 2, pad_id=256)
    rows = sliding_windows(len(stream), 2, 3)
    first, _, last = (explain(stream, rows, w, BYTES, "continuous", documents) for w in range(3))
    assert first["what"].tolist() == ["text", "text", "end-of-text"]
    assert first[["char_start", "char_stop"]].to_numpy().tolist() == [[0, 1], [1, 2], [2, 2]]
    assert first["token"].tolist() == ["h", "i", "<|endoftext|>"]
    assert last["id"].tolist() == [97, 256, 256]
    assert last["what"].tolist() == ["text", "end-of-text", "padding"]
    assert last["token"].tolist() == ["a", "<|endoftext|>", ""]
    assert last["why"].tolist()[1:] == ["counts", "padding"]
    assert last["doc_id"].isna().tolist() == [False, False, True]


def test_a_row_of_padding_is_explained_too():
    """Places 3 to 5 of a stream whose only document ends at 3."""
    stream = Stream(np.array([104, 105, 10, 0, 0, 0]), spans_of((0, 3, 4, 0)))
    frame = explain(stream, window_table([3], 2), 0, BYTES, "isolated")
    assert frame["what"].tolist() == ["padding"] * 3
    assert frame["counts"].tolist() == [False] * 3
    assert frame["doc_id"].isna().all()


def test_a_token_after_padding_and_a_second_span_of_a_document_have_their_reasons():
    """Places: a pad, document 4 from 0, document 4 again from 3; its token 2 is nowhere."""
    stream = Stream(np.array([0, 97, 98, 99, 97]), spans_of((1, 3, 4, 0), (3, 5, 4, 3)))
    frame = explain(stream, window_table([0], 4), 0, BYTES, "isolated")
    assert frame["why"].tolist()[1:] == [
        "its input is padding",
        "counts",
        "its input is of another span of the document",
        "counts",
    ]
    assert frame["doc_token"].tolist()[1:] == [0, 1, 3, 4]
    assert frame["char_start"].isna().tolist() == [True, False, False, True, True]


def test_a_combining_mark_is_a_character_and_a_token_may_hold_parts_of_two():
    """e, U+0301 as CC 81, 😀 as F0 9F 98 80: the merge 81 F0 ends one and begins the other."""
    tok = Tokenizer([(b"\x81", b"\xf0")])
    documents = documents_of(["e\u0301😀"])
    stream = encode_text(documents, tok)
    assert stream.ids.tolist() == [101, 0xCC, 256, 0x9F, 0x98, 0x80, 10]
    for known in (documents, None):
        frame = explain(stream, window_table([0], 6), 0, tok, "continuous", known)
        ranges = frame[["char_start", "char_stop"]].to_numpy().tolist()
        assert ranges == [[0, 1], [1, 2], [1, 3], [2, 3], [2, 3], [2, 3], [3, 3]]
        assert frame["what"].tolist() == [
            "text",
            "part of \u0301",
            "part of \u0301😀",
            *["part of 😀"] * 3,
            "newline after the text",
        ]


def test_a_corpus_names_its_file_and_its_record(write_csv):
    """Record 0 is blank; the window holds o and the newline of record 1, w and o of record 2."""
    documents = load_documents(write_csv("text\n \nhello\nworld\n", "rows.csv"))
    stream = encode_text(documents, BYTES)
    frame = explain(stream, window_table([4], 3), 0, BYTES, "continuous", documents)
    assert frame["record"].tolist() == frame["doc_id"].tolist() == [1, 1, 2, 2]
    assert {Path(path).name for path in frame["file"]} == {"rows.csv"}


def ranges_by_hand(text: str, tokens: list[bytes]) -> list[tuple[int, int]]:
    """For each token, the characters that own one of its bytes, found byte by byte."""
    owner = [k for k, character in enumerate(text) for _ in character.encode()]
    ranges, at = [], 0
    for token in tokens:
        own = owner[at : at + len(token)]
        ranges.append((own[0], own[-1] + 1))
        at += len(token)
    return [*ranges, (len(text), len(text))]


@settings(max_examples=25)
@given(
    texts, st.sampled_from(["text", "eot", "packed"]), st.booleans(), st.sampled_from([BYTES, TOK])
)
def test_every_token_has_the_characters_that_own_its_bytes(texts, layout, known, tok):
    documents = documents_of(texts)
    stream = (encode_text if layout == "text" else encode_documents)(documents, tok)
    if layout == "packed":
        stream = pack(stream, 3, tok.eot_id)
    whole, by = window_table([0], len(stream) - 1), documents if known else None
    shown = explain(stream, whole, 0, tok, "continuous", by)
    for doc_id, rows in shown.dropna(subset="doc_id").groupby("doc_id"):
        rows = rows.sort_values("doc_token")
        text = documents.loc[doc_id, "text"]
        tokens = [tok.decode_bytes([i]) for i in tok.encode(text)]
        ranges = list(zip(rows["char_start"], rows["char_stop"], strict=True))
        assert ranges == ranges_by_hand(text, tokens)
        end = "newline after the text" if layout == "text" else "end-of-text"
        assert [what == end for what in rows["what"]] == [False] * len(tokens) + [True]
        for (start, stop), token, what in zip(ranges, tokens, rows["what"], strict=False):
            whole = text[start:stop].encode() == token
            assert what == ("text" if whole else f"part of {text[start:stop]}")


@given(texts, st.sampled_from(["continuous", "isolated"]), st.integers(1, 9), st.data())
def test_what_counts_is_what_the_loss_mask_counts(texts, boundaries, seq_len, data):
    stream = pack(encode_documents(documents_of(texts), TOK), 4, TOK.eot_id)
    windows = eval_windows(len(stream), seq_len, data.draw(st.integers(1, seq_len)))
    mask = loss_mask(windows, segment_ids(stream.spans, len(stream)), boundaries)
    window = data.draw(st.integers(0, len(windows) - 1))
    frame = explain(stream, windows, window, TOK, boundaries)
    assert frame["counts"].tolist() == [False, *mask[window]]
    assert ((frame["why"] == "counts") == frame["counts"]).all()


def test_the_validation_side_knows_characters_only_with_its_documents():
    """The cut divides hello after hel; its lo are characters 3 and 4."""
    documents = documents_of(["hello"])
    _, val = cut_stream(encode_text(documents, BYTES), 3)
    windows = window_table([0], 2)
    known = explain(val, windows, 0, BYTES, "continuous", documents)
    assert known["char_start"].tolist() == [3, 4, 5]
    alone = explain(val, windows, 0, BYTES, "continuous")
    assert alone["doc_token"].tolist() == [3, 4, 5]
    assert alone["char_start"].isna().all()


def test_a_newline_inside_a_document_that_is_cut_there_is_text():
    """a, newline | b: the part before the cut ends with a newline that ends nothing."""
    documents = documents_of(["a\nb"])
    train, _ = cut_stream(encode_documents(documents, BYTES), 2)
    for known in (documents, None):
        frame = explain(train, window_table([0], 1), 0, BYTES, "continuous", known)
        assert frame["what"].tolist() == ["text", "text"]
        assert frame["char_stop"].tolist() == [1, 2]


# ---- refusals

HI = documents_of(["hi", "you"])
STREAM = encode_text(HI, BYTES)


@pytest.mark.parametrize("window", [2, -1, 251])
def test_a_window_that_is_not_there_is_refused_with_those_that_are(window):
    with pytest.raises(ValueError, match=f"no window {window}; choose one, of 0 to 1"):
        explain(STREAM, sliding_windows(7, 4, 2), window, BYTES, "continuous")


def test_a_window_of_a_part_of_the_table_is_asked_for_by_its_name():
    windows = sliding_windows(7, 3, 1)[1:4:2]
    assert explain(STREAM, windows, 3, BYTES, "continuous")["id"].tolist() == [121, 111, 117, 10]
    with pytest.raises(ValueError, match="no window 2; choose one that is there, of 1 to 3"):
        explain(STREAM, windows, 2, BYTES, "continuous")
    with pytest.raises(ValueError, match="no window 0; the table is empty"):
        explain(STREAM, windows[:0], 0, BYTES, "continuous")


@pytest.mark.parametrize("start", [-1, 4, 5])
def test_a_window_of_another_stream_is_refused(start):
    """Ids 4 to 7 of a stream of 7 ids are one too many."""
    told = f"window 0 has the ids {start} to {start + 3}, and the stream has 7; give"
    with pytest.raises(ValueError, match=told):
        explain(STREAM, window_table([start], 3), 0, BYTES, "continuous")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["ho", "you"], "document 0 does not give the ids that the stream has for it; give the"),
        (["h", "you"], "document 0 does not give the ids"),
        (["hi you", "you"], "document 0 does not give the ids"),
        (["hi"], "the documents have no row 2, and the stream has; give those"),
    ],
)
def test_documents_of_another_corpus_are_refused(texts, message):
    with pytest.raises(ValueError, match=message):
        explain(STREAM, window_table([1], 3), 0, BYTES, "continuous", documents_of(texts))


@pytest.mark.parametrize(("start", "length"), [(0, 1), (2, 1), (1, 1)])
def test_a_document_that_is_too_short_for_its_window_is_refused(start, length):
    """The stream has h, newline, newline, i; the document only h, and one end after it."""
    stream = encode_text(documents_of(["h\n\ni"]), BYTES)
    if start == 0:
        stream = encode_text(documents_of(["hi"]), BYTES)
    with pytest.raises(ValueError, match="document 0 does not give the ids"):
        explain(stream, window_table([start], length), 0, BYTES, "continuous", documents_of(["h"]))


def test_the_tokenizer_of_another_run_is_refused():
    with pytest.raises(ValueError, match="document 0 does not give the ids"):
        explain(STREAM, window_table([0], 3), 0, Tokenizer([(b"h", b"i")]), "continuous", HI)
    large = Stream(STREAM.ids + 1000, STREAM.spans)
    with pytest.raises(ValueError, match="id 1104 at place 0 is not in 0 … 256"):
        explain(large, window_table([0], 3), 0, BYTES, "continuous")

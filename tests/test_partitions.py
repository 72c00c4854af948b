"""A file is cut between its records, so that its partitions hold what the whole file holds."""

import csv
import gzip
import hashlib
import io
import json

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import partitions
from corpus import read_documents
from partitions import cut_file
from readers import read_rows


def rows(path, size, columns=("text",), encoding="utf-8"):
    """Where each row stands and what it holds, read by the partitions of about that size."""
    parts = cut_file(str(path), encoding, size).partitions
    return [row for part in parts for row in read_rows(part, list(columns), encoding)]


def starts(path, size, encoding="utf-8"):
    return [part.start for part in cut_file(str(path), encoding, size).partitions]


# ---- CSV

STORY = 'text,id\n"a\nb",1\n"c ""\n"" d",2\ne,3\n'


@pytest.mark.eq("record-end")
def test_a_newline_in_quotes_ends_no_record(write_csv):
    """The newlines are bytes 7, 10, 15, 21, 29 and 33.

    Before them stand 0, 1, 2, 5, 8 and 8 quotes: those at 10 and 21 are text. The next records
    begin after the others, at 8, 16 and 30; at 34 the file is over.
    """
    path = write_csv(STORY)
    newlines = [place for place, letter in enumerate(STORY) if letter == "\n"]
    quotes = [STORY[:place].count('"') for place in newlines]
    assert (newlines, quotes) == ([7, 10, 15, 21, 29, 33], [0, 1, 2, 5, 8, 8])
    assert starts(path, 1) == [0, 8, 16, 30]  # eq: record-end
    assert [cells for _, cells in rows(path, 1, ("text", "id"))] == [
        ["a\nb", "1"],
        ['c "\n" d', "2"],
        ["e", "3"],
    ]


@pytest.mark.parametrize(
    ("size", "expected"), [(8, [0, 8, 16, 30]), (9, [0, 16, 30]), (17, [0, 30]), (34, [0])]
)
def test_a_partition_ends_with_the_first_record_that_makes_it_full(write_csv, size, expected):
    """With 9 bytes the first is full at 16, and the next, from 25 on, at 30."""
    assert starts(write_csv(STORY), size) == expected


@pytest.mark.parametrize("block", [4, 100])
@pytest.mark.parametrize(
    ("content", "expected"),
    [('t\na""\nb\nc\n', [0, 2, 6, 8]), ('t\na"b\n"c""\nd"\ne\n', [0, 2, 6, 14])],
)
def test_quotes_in_the_middle_of_a_field_open_nothing(
    write_csv, monkeypatch, block, content, expected
):
    """Two after an a, also when a new block begins between them; then one, and a real field.

    That field is `c"`, a newline and `d`: its doubled quote does not end it.
    """
    monkeypatch.setattr(partitions, "_BLOCK", block)
    assert starts(write_csv(content), 1) == expected


def test_a_quote_that_is_never_closed_is_told_before_anything_is_read(write_csv):
    with pytest.raises(ValueError, match="line 3: the row that starts here opens a quote"):
        cut_file(str(write_csv('t\na\n"b\n' + "c\n" * 99)), "utf-8", 1)


def test_partitions_know_their_lines_their_header_and_their_size(write_csv):
    parts = cut_file(str(write_csv(STORY)), "utf-8", 1).partitions
    assert [part.line for part in parts] == [1, 2, 4, 6]
    assert [part.header for part in parts] == [(), *[("text", "id")] * 3]
    assert [part.size for part in parts] == [8, 8, 14, 4]


def test_nothing_after_the_end_of_the_scan_is_read(write_csv):
    """What is appended while a file is prepared belongs to the next preparation."""
    path = write_csv(STORY)
    parts = cut_file(str(path), "utf-8", 1).partitions
    path.write_bytes(STORY.encode() + b"f,4\n")
    assert [cells for _, cells in read_rows(parts[-1], ["text"], "utf-8")] == [["e"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('t\na\n"b\nc\nd\n', ", line 3: the row that starts here opens a quote and never closes"),
        ("t\na\nb\nc,d\ne\n", ", line 4: the row has 2 fields and the header 1"),
        ('t\na\nb\n"c"d\ne\n', ", line 4: the row that starts here is no valid CSV"),
        (b"t\na\nb\nc\xff\ne\n", ", line 4, byte 2 (offset 7): bytes ff 0a are not utf-8"),
    ],
)
def test_a_mistake_in_a_partition_is_told_by_the_line_of_the_file(write_csv, content, message):
    with pytest.raises(ValueError) as caught:
        rows(write_csv(content), 1, ("t",))
    assert message in str(caught.value)


def test_a_file_that_begins_with_empty_lines_is_cut_after_its_header(write_csv):
    """A byte order mark and two empty lines are 6 bytes, the header ends at 12."""
    path = write_csv(b'\xef\xbb\xbf\r\n\n"a,t"\nb\nc\n')
    assert starts(path, 1) == [0, 12, 14]
    assert rows(path, 1, ("a,t",)) == [(f"{path}, line 4", ["b"]), (f"{path}, line 5", ["c"])]


cell = st.text(st.sampled_from('ab",\n\r é\ufeff'), max_size=6)
tables = st.lists(st.tuples(cell, cell), max_size=8)


@given(tables, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.integers(1, 40), st.booleans())
def test_every_table_has_the_same_rows_whole_and_in_partitions(
    tmp_path_factory, table, ending, quote_all, size, mark
):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    content = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    writer = csv.writer(content, lineterminator=ending, quoting=quoting)
    writer.writerows([("text", "id"), *table])
    path.write_bytes(content.getvalue().encode("utf-8-sig" if mark else "utf-8"))
    try:
        whole = list(read_rows(path, ["text", "id"], "utf-8"))
    except ValueError:
        return  # Python's writer leaves a lone CR without quotes
    assert rows(path, size, ("text", "id")) == whole


raw = st.lists(st.sampled_from(["a", '"', '""', ",", "\n", "\r\n", "\r", 'b"c', ""]), max_size=30)


@given(raw.map("".join), st.integers(1, 12), st.integers(1, 9))
@example('x"y\n"z\nw"\n', 1, 4)
@example('"a"\n"b\n"\n', 1, 4)
def test_any_text_at_all_has_the_same_rows_or_the_same_refusal(tmp_path_factory, text, size, block):
    """Also with quotes in the middle of a cell, which are text, and in blocks of a few bytes."""
    path = tmp_path_factory.getbasetemp() / "raw.csv"
    path.write_bytes(f"t\n{text}".encode())
    found = []
    for read in (lambda: list(read_rows(path, ["t"], "utf-8")), lambda: rows(path, size, ("t",))):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(partitions, "_BLOCK", block)
            try:
                found.append(read())
            except ValueError as error:
                found.append(str(error))
    whole, parts = found
    if "never closes" in str(parts):  # told before anything is read
        assert isinstance(whole, str)
    else:
        assert parts == whole


def test_a_byte_order_mark_is_text_where_no_file_begins(write_csv):
    path = write_csv("t\n\ufeffa\n\ufeffb\n")
    assert [cells for _, cells in rows(path, 1, ("t",))] == [["\ufeffa"], ["\ufeffb"]]


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-8-sig", "UTF8"])
def test_encodings_in_which_a_newline_is_one_byte_and_always_itself_are_cut(write_csv, encoding):
    path = write_csv('t\n"\u00e9\n"\nb\n'.encode(encoding))
    assert len(starts(path, 1, encoding)) == 3
    assert [cells for _, cells in rows(path, 1, ("t",), encoding)] == [["\u00e9\n"], ["b"]]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "shift_jis", "utf-7"])
def test_others_are_one_partition_and_that_is_said(write_csv, encoding):
    """U+0A0A in UTF-16 is two bytes of a newline, which end no line."""
    text = "\u0a0a" if "utf" in encoding else "\u30bd"
    path = write_csv(f"t\n{text}\nb\n".encode(encoding))
    cut = cut_file(str(path), encoding, 1)
    assert cut.partitions[0].whole and len(cut.partitions) == 1
    assert cut.note == "a partition of 0.0 MB: an encoding that cannot be cut, or one long row"
    assert [cells for _, cells in rows(path, 1, ("t",), encoding)] == [[text], ["b"]]


# ---- JSON lines, Parquet, and files that are one partition


@given(st.lists(st.none() | st.text(max_size=9), max_size=9), st.integers(1, 60))
def test_json_lines_are_cut_at_any_newline(tmp_path_factory, texts, size):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    lines = [json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts]
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))  # empty lines between
    if texts:
        assert rows(path, size) == list(read_rows(path, ["text"], "utf-8"))


def test_a_key_may_be_missing_in_a_whole_partition(write_csv):
    """In a whole file that is refused."""
    path = write_csv('{"text": "a"}\n{"id": 1}\n', "a.jsonl")
    assert rows(path, 1) == [(f"{path}, line 1", ["a"]), (f"{path}, line 2", [None])]


def test_parquet_is_cut_between_row_groups(tmp_path):
    """Groups of 2, 2 and 1 rows; the second begins with row 2, the third with row 4."""
    path = tmp_path / "a.parquet"
    table = pyarrow.table({"text": list("abcde"), "id": range(5)})
    pyarrow.parquet.write_table(table, path, row_group_size=2)
    parts = cut_file(str(path), "utf-8", 1).partitions
    assert [(part.start, part.stop, part.line) for part in parts] == [
        (0, 1, 1),
        (1, 2, 3),
        (2, 3, 5),
    ]
    assert rows(path, 1) == list(read_rows(path, ["text"], "utf-8"))
    assert [where for where, _ in rows(path, 1)] == [f"{path}, row {row}" for row in range(5)]
    assert cut_file(str(path), "utf-8", 1 << 20).partitions[0].whole


def test_packed_files_and_texts_are_one_partition(write_csv):
    """A note says so when that is more than twice the size asked for."""
    for name, content in [("a.csv.gz", gzip.compress(STORY.encode())), ("a.txt", b"text\n" * 5)]:
        path = write_csv(content, name)
        cut = cut_file(str(path), "utf-8", 4)
        assert [part.whole for part in cut.partitions] == [True]
        assert cut.sha256 == hashlib.sha256(content).hexdigest()
        assert ("unpack it" in cut.note) == name.endswith("gz")
        assert cut_file(str(path), "utf-8", 1 << 20).note == ""


def test_the_digest_is_that_of_the_file(write_csv):
    cut = cut_file(str(write_csv(STORY)), "utf-8", 1)
    assert (cut.sha256, cut.size) == (hashlib.sha256(STORY.encode()).hexdigest(), 34)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.doc", b"", "its name must end in .csv"),
        ("a.parquet", b"PAR1", "not a whole Parquet file"),
        ("a.csv", b"", "the file is empty"),
        ("a.csv", b"\n\n\n", "the file is empty"),
    ],
)
def test_files_that_are_none_are_refused_by_name(write_csv, name, content, message):
    path = write_csv(content, name)
    with pytest.raises(ValueError) as caught:
        rows(path, 1)
    assert str(caught.value).startswith(f"{path}: ") and message in str(caught.value)


def test_doc_ids_are_counted_in_the_partition(write_csv):
    last = cut_file(str(write_csv("text\na\n\n \nb\n")), "utf-8", 3).partitions[-1]
    documents, records = read_documents(last)
    assert (documents["text"].to_dict(), records) == ({1: "b"}, 2)

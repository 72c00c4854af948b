"""Cells of a column come through character for character, or the place of the mistake is named."""

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from readers import read_rows


def cells(path: Path, column: str = "text", encoding: str = "utf-8") -> list[str | None]:
    return [cell for _, [cell] in read_rows(path, [column], encoding)]


def refusal(path: Path, column: str = "text", encoding: str = "utf-8") -> str:
    with pytest.raises(ValueError) as caught:
        cells(path, column, encoding)
    message = str(caught.value)
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


# ---- CSV


def test_text_that_looks_like_a_number_or_a_missing_value_is_text(write_csv):
    words = ["NA", "null", "None", "nan", "007", "1e5", "TRUE", "12345678901234567890", "-0.0", " "]
    assert cells(write_csv("text\n" + "\n".join(words) + "\n")) == words


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ('id,text\n1,"a\nb"\n2,c\n', ["a\nb", "c"]),
        ('id,text\r\n1,"a\r\nb"\r\n2,c\r\n', ["a\r\nb", "c"]),
        ('id,text\n1,"a\rb"\n2,c\n', ["a\rb", "c"]),
        ('id,text\n1,"a\n\n\nb"\n', ["a\n\n\nb"]),
        ('id,text\n1,"a\n2,b\n"\n', ["a\n2,b\n"]),
        ("id,text\n1,a\rb\n2,c\n", ["a\rb", "c"]),
        ("id,text\r\n1,a\rb\r\n2,c", ["a\rb", "c"]),
        ("id,text\r\n1,a\r\r\n2,c\r\n", ["a\r", "c"]),
        ("id,text\n1,a\u2028b\u0085c\x0bd\x0ce\n2,f\n", ["a\u2028b\u0085c\x0bd\x0ce", "f"]),
    ],
)
def test_newlines_of_every_kind_stay_in_their_document(write_csv, content, texts):
    """A row ends at LF or CRLF outside quotes and nowhere else; a lone CR makes no row."""
    assert cells(write_csv(content)) == texts


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ('text\n"She said ""Hi"", twice"\n', ['She said "Hi", twice']),
        ('text\n""""\n', ['"']),
        ('id,text\n1,a "b" c\n', ['a "b" c']),
        ('text,id\n"",1\n,2\n', ["", ""]),
        ("text\na\n\n\nb\n\n", ["a", "b"]),  # an empty line is no row
        ("text\na", ["a"]),
        ("text\n", []),
        ("a,text,b\n1,x,2\n", ["x"]),
        ("text\nx\x00y\n", ["x\x00y"]),
        ("text\n" + "z" * 300_000 + "\n", ["z" * 300_000]),
        ("té xt\nü\n", None),
    ],
)
def test_quotes_empty_cells_and_empty_lines(write_csv, content, texts):
    path = write_csv(content)
    assert cells(path, "té xt" if texts is None else "text") == (
        texts or ([] if texts == [] else ["ü"])
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": the file is empty; its first line must name the columns"),
        ("\n\n", ": the file is empty"),
        ("id,body\n1,a\n", ": column 'text' is not there; the file has 'id', 'body'"),
        ("text,text\na,b\n", ": column 'text' is there more than once"),
        ("id,text\r1,a\r2,b\r", "its lines end in a lone CR, convert them to LF"),
        ("text\na,b\n", ", line 2: the row has 2 fields and the header 1 ('text')"),
        ("id,text\n1,a,b\n", ", line 2: the row has 3 fields and the header 2 ('id', 'text')"),
        ("id,text\n1,a\n2,b\n3\n", ", line 4: the row has 1 fields and the header 2 ('id', "),
        ('id,text\n1,"a\nb"\n2\n', ", line 4: the row has 1 fields"),
        ('id,text\n1,a\n2,"b\n3,c\n4,d\n', ", line 3: the row that starts here opens a quote"),
        ('id,text\n1,"a"b\n', ", line 2: the row that starts here is no valid CSV"),
        (b"id,text\n1,caf\xe9\n", ", line 2, byte 6 (offset 13): bytes e9 0a are not utf-8"),
        (b"text\n" + b"a\n" * 9000 + b"\xff\xfe\n", ", line 9002, byte 1 (offset 18005): bytes ff"),
        (b"text\nabc\xe2\x82", ", at its end: bytes e2 82 are not utf-8 (unexpected end of data)"),
        (b"\xff\xfet\x00", ", line 1, byte 1 (offset 0): bytes ff fe 74 00 are not utf-8"),
    ],
)
def test_what_would_lose_or_invent_text_is_refused_with_its_place(write_csv, content, message):
    assert message in refusal(write_csv(content))


def test_too_many_fields_in_the_first_row_are_refused_where_pandas_makes_an_index_of_them(
    write_csv,
):
    path = write_csv("id,text\n1,a,b\n2,c,d\n")
    assert pd.read_csv(path)["text"].tolist() == ["b", "d"]
    assert pd.read_csv(path, usecols=["text"])["text"].tolist() == ["b", "d"]
    assert "line 2: the row has 3 fields" in refusal(path)


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"\xef\xbb\xbftext\n\xc3\xa9\n", "utf-8"),
        (b"\xef\xbb\xbftext\n\xc3\xa9\n", "UTF8"),
        ("text\né\n".encode("cp1252"), "cp1252"),
        ("text\né\n".encode("utf-16"), "utf-16"),
        ("text\r\né\r\n".encode("utf-16-le"), "utf-16-le"),
    ],
)
def test_byte_order_marks_and_other_encodings_are_read(write_csv, content, encoding):
    assert cells(write_csv(content), encoding=encoding) == ["é"]


@pytest.mark.parametrize("encoding", ["klingon", "rot13", "hex"])
def test_an_encoding_that_is_none_is_refused(write_csv, encoding):
    with pytest.raises(ValueError, match="--encoding takes a text encoding such as utf-8"):
        cells(write_csv("text\na\n"), encoding=encoding)


def test_the_locale_does_not_matter(write_csv):
    path = write_csv("text\ncafé 😀\n")
    program = (
        "import pathlib, readers, sys\n"
        "[(_, [cell])] = readers.read_rows(pathlib.Path(sys.argv[1]), ['text'], 'utf-8')\n"
        "print(ascii(cell))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, path],
        cwd=ROOT,
        env=os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == r"'caf\xe9 \U0001f600'"


def test_a_gzip_file_is_read_and_a_cut_or_false_one_refused(write_csv):
    packed = gzip.compress(b"text\na\nb\n" * 1000)
    assert cells(write_csv(gzip.compress(b"text\na\nb\n"), "c.csv.gz")) == ["a", "b"]
    assert ": not a whole gzip file" in refusal(write_csv(packed[:-9], "cut.csv.gz"))
    assert ": not a whole gzip file" in refusal(write_csv(b"text\na\n", "false.csv.gz"))


def test_the_limit_on_fields_is_put_back(write_csv):
    before = csv.field_size_limit()
    cells(write_csv("text\n" + "z" * 200_000 + "\n"))
    next(read_rows(write_csv("text\na\nb\n"), ["text"], "utf-8"))  # left in the middle
    assert csv.field_size_limit() == before


any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
tables = st.lists(st.tuples(any_text, any_text), max_size=8)


@given(tables, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_whatever_the_csv_writer_writes_is_read_back(rows, line_end, quote_all):
    """Every text without surrogates. Python 3.11's writer leaves a CR unquoted, where it stays too.

    Only at the end of a row can nobody tell it from the first half of a line end.
    """
    file = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    writer = csv.writer(file, lineterminator=line_end, quoting=quoting)
    writer.writerows([("id", "text"), *rows])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c.csv")
        path.write_bytes(file.getvalue().encode())
        texts = [text if quote_all else text.rstrip("\r") for _, text in rows]
        assert [cell if quote_all else cell.rstrip("\r") for cell in cells(path)] == texts


@given(st.binary(max_size=60), st.sampled_from([".csv", ".jsonl", ".txt", ".csv.gz", ".parquet"]))
def test_no_bytes_at_all_end_in_anything_but_cells_or_a_refusal(content, ending):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c" + ending)
        path.write_bytes(content)
        try:
            cells(path)
        except ValueError as error:
            assert str(error).startswith(str(path))


# ---- JSON lines, Parquet, text


def test_json_lines_give_strings_as_they_stand_and_null_or_no_key_is_missing(write_csv):
    lines = [
        '{"text": "007"}',
        "",
        '{"id": 1, "text": null}',
        '{"id": 2}',
        '{"text": "a\\nb\\u00e9"}',
    ]
    assert cells(write_csv("\n".join(lines), "c.jsonl")) == ["007", None, None, "a\nbé"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"text": "a"}\n{"text": 7}\n',
            ", line 2: 'text' is of type int; a text is a JSON string",
        ),
        ('{"text": true}\n', ", line 1: 'text' is of type bool"),
        ('{"text": NaN}\n', ", line 1: 'text' is of type float"),
        ('{"text": ["a"]}\n', ", line 1: 'text' is of type list"),
        ('{"text": {"a": 1}}\n', ", line 1: 'text' is an object"),
        ('{"text": "a"}\n["b"]\n', ', line 2: found ["b"]; each line must be one object'),
        ('{"text": "a"}\n{"text": \n', ", line 2: not JSON ("),
        ("{" + '"a":' * 1 + "[" * 100_000, ", line 1: not JSON ("),
        ('{"text": "a", "text": "b"}\n', ", line 1: the key 'text' stands 2 times; keep one"),
        ('{"body": "a"}\n{"id": 2}\n', ": key 'text' is in no line; the file has 'body', 'id'"),
        ("\n", ": key 'text' is in no line; the file has no keys at all"),
        (b'{"text": "\xff"}\n', ", line 1, byte 11 (offset 10): bytes ff"),
    ],
)
def test_json_lines_with_anything_but_texts_are_refused(write_csv, content, message):
    assert message in refusal(write_csv(content, "c.jsonl"))


def test_parquet_gives_strings_of_every_kind_and_refuses_other_columns(tmp_path):
    path = tmp_path / "c.parquet"
    columns = {
        "text": ["007", None, "b"],
        "large": pyarrow.array(["a", "b", None], pyarrow.large_string()),
        "coded": pyarrow.array(["a", "a", "b"]).dictionary_encode(),
        "number": [1, 2, 3],
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    assert cells(path) == ["007", None, "b"]
    assert cells(path, "large") == ["a", "b", None]
    assert cells(path, "coded") == ["a", "a", "b"]
    assert ": column 'number' is of type int64; a text column holds strings" in refusal(
        path, "number"
    )
    assert ": column 'body' is not there; the file has 'text'" in refusal(path, "body")


def test_a_cut_or_false_parquet_file_is_refused(tmp_path, write_csv):
    path = tmp_path / "c.parquet"
    pd.DataFrame({"text": ["a"] * 100}).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-10])
    assert ": not a whole Parquet file" in refusal(path)
    assert ": not a whole Parquet file" in refusal(write_csv("text\na\n", "false.parquet"))


def test_a_text_file_is_one_document_unchanged(write_csv):
    assert cells(write_csv("a\r\nb\rc\n\n", "c.txt")) == ["a\r\nb\rc\n\n"]


@given(any_text)
def test_every_text_comes_through_json_lines_and_parquet(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c.jsonl")
        path.write_text(json.dumps({"text": text}) + "\n", encoding="utf-8")
        assert cells(path) == [text]
        pyarrow.parquet.write_table(pyarrow.table({"text": [text]}), Path(folder, "c.parquet"))
        assert cells(Path(folder, "c.parquet")) == [text]


def test_a_file_of_another_kind_is_refused_with_the_kinds_there_are(write_csv):
    path = write_csv("text\na\n", "c.xlsx")
    assert "its name must end in .csv, .csv.gz, .jsonl, .jsonl.gz, .parquet, .txt" in refusal(path)
    assert cells(write_csv("text\na\n", "C.CSV")) == ["a"]


# ---- two columns


def write_parquet(path: Path, **columns: list[str]) -> Path:
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_columns_come_in_the_order_asked_for_and_one_may_come_twice(tmp_path, ending):
    path = tmp_path / f"c.{ending}"
    if ending == "csv":
        path.write_text("a,b\n1,x\n2,y\n", encoding="utf-8")
    elif ending == "jsonl":
        path.write_text('{"a": "1", "b": "x"}\n{"b": "y", "a": "2"}\n', encoding="utf-8")
    else:
        write_parquet(path, a=["1", "2"], b=["x", "y"])
    assert [cells for _, cells in read_rows(path, ["b", "a"], "utf-8")] == [["x", "1"], ["y", "2"]]
    assert [cells for _, cells in read_rows(path, ["a", "a"], "utf-8")] == [["1", "1"], ["2", "2"]]
    with pytest.raises(ValueError, match="'c'"):
        list(read_rows(path, ["a", "c"], "utf-8"))


def test_a_text_file_has_no_columns(write_csv):
    with pytest.raises(ValueError, match="a text file is one document without a column 'who'"):
        list(read_rows(write_csv("a", "c.txt"), ["text", "who"], "utf-8"))

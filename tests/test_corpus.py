"""File → documents, and the report of what was read."""

import hashlib
import logging
import unicodedata

import pytest
from conftest import ROOT

import corpus
import sides
from corpus import join_with_eot, load_documents
from tokenizer import EOT

FILE = 'id,text\n1, hello \n2,\n3,"   "\n4,hello\n5,caf\u00e9\n'


def test_blank_rows_are_dropped_and_leave_a_gap_in_the_record_numbers(write_csv):
    documents = load_documents(write_csv(FILE))
    assert documents["text"].to_dict() == {0: "hello", 3: "hello", 4: "café"}
    assert documents.index.name == "doc_id"


def test_the_intake_report_counts_what_was_read_and_what_became_of_it(write_csv, caplog):
    """5 rows, 2 blank, hello twice; hello hello café: 14 characters, 15 bytes."""
    path = write_csv(FILE)
    with caplog.at_level(logging.INFO, logger="corpus"):
        report = load_documents(path).attrs["intake"]
    counts = (report.rows_read, report.kept, report.empty, report.duplicates)
    assert counts == (5, 3, 2, 1)
    assert (report.characters, report.bytes) == (14, 15)
    assert report.sha256 == hashlib.sha256(FILE.encode()).hexdigest()
    assert "5 rows read, 3 kept, 2 missing or blank, 1 repeated; 14 characters" in caplog.text


@pytest.mark.parametrize(("max_rows", "kept"), [(1, [0]), (3, [0]), (4, [0, 3]), (99, [0, 3, 4])])
def test_max_rows_limits_the_rows_read_before_any_is_dropped(write_csv, max_rows, kept):
    documents = load_documents(write_csv(FILE), max_rows=max_rows)
    assert documents.index.tolist() == kept
    assert documents.attrs["intake"].rows_read == min(max_rows, 5)


def test_rows_after_max_rows_are_not_looked_at(write_csv):
    assert len(load_documents(write_csv("text\na\nb,c,d\n"), max_rows=1)) == 1


def test_texts_are_strings_to_pandas_too(write_csv):
    assert load_documents(write_csv("text\n007\nNA\n"))["text"].tolist() == ["007", "NA"]


@pytest.mark.parametrize("blank", ["", "   ", "\t", "\u2003\u00a0"])
def test_a_file_without_any_text_is_refused(write_csv, blank):
    path = write_csv(f'id,text\n1,"{blank}"\n')
    with pytest.raises(ValueError, match="1 rows read, and none has text in column 'text'"):
        load_documents(path)


def test_half_a_surrogate_pair_is_refused_with_its_place(write_csv):
    path = write_csv('{"text": "ok"}\n{"text": "a\\ud83db"}\n', "c.jsonl")
    with pytest.raises(
        ValueError, match=r"line 2: character 2 of the text is '\\ud83d', half of a"
    ):
        load_documents(path)


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        load_documents(tmp_path / "missing.csv")
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        load_documents(tmp_path)


@pytest.mark.parametrize("max_rows", [0, -5])
def test_max_rows_below_one_is_refused(write_csv, max_rows):
    with pytest.raises(ValueError, match="max_rows must be at least 1"):
        load_documents(write_csv("text\na\n"), max_rows=max_rows)


def test_the_corpus_that_comes_with_the_project_is_the_one_that_data_readme_names():
    report = load_documents(ROOT / "data" / "corpus.csv").attrs["intake"]
    assert (report.rows_read, report.kept, report.duplicates) == (800, 800, 0)
    assert report.sha256 in (ROOT / "data" / "README.md").read_text(encoding="utf-8")


# ---- groups

ROOM, TWICE = "caf\u00e9", "cafe\u0301"  # one é as one character, and as e and an accent


def test_two_spellings_of_one_text_are_one_group_and_stay_as_they_are_written(write_csv):
    documents = load_documents(write_csv(f"text\n{ROOM}\n {TWICE} \nplain\n"))
    assert documents["text"].tolist() == [ROOM, TWICE, "plain"]
    assert documents["group"].tolist() == [ROOM, ROOM, "plain"]
    assert documents["group"].dtype == documents["text"].dtype
    assert documents.attrs["unidata_version"] == unicodedata.unidata_version


def test_a_group_column_names_the_groups(write_csv):
    path = write_csv("who,text\n Ann ,a\nBob,b\n,\nAnn,c\n")
    documents = load_documents(path, group_column="who")
    assert documents["group"].to_dict() == {0: "Ann", 1: "Bob", 3: "Ann"}
    assert load_documents(path, "who", group_column="who")["group"].tolist() == [
        "Ann",
        "Bob",
        "Ann",
    ]


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("text\na\n", "c.csv", r"c\.csv: column 'who' is not there; the file has 'text'"),
        ("who,text\nAnn,a\n  ,b\n", "c.csv", r"line 3: the group in column 'who' is blank"),
        ('{"text": "a"}\n', "c.jsonl", r"c\.jsonl, line 1: the group in column 'who' is blank"),
        ('{"text": null}\n', "c.jsonl", "key 'who' is in no line; the file has 'text'"),
        ("a", "c.txt", r"c\.txt: a text file is one document without a column 'who'"),
        ('{"text": "a", "who": "\\ud83d"}\n', "c.jsonl", r"line 1: character 1 of the text is"),
        (
            f"who,text\nAnn,{ROOM}\nBob,b\nBob,{TWICE}\n",
            "c.csv",
            r"records 0 and 2 \(from 0\) hold one text, in group 'Ann' and in 'Bob'; give both the",
        ),
    ],
)
def test_groups_that_are_missing_blank_or_part_one_text_are_refused(
    write_csv, content, name, message
):
    with pytest.raises(ValueError, match=message):
        load_documents(write_csv(content, name), group_column="who")


# ---- end-of-text


@pytest.mark.contract("join_with_eot")
def test_nine_end_of_texts_stand_among_ten_texts():
    assert join_with_eot(["a", "b", "c"]) == "a<|endoftext|>b<|endoftext|>c"
    assert join_with_eot(str(i) for i in range(10)).count(EOT) == 9
    assert corpus.EOT == EOT


def test_sides_are_given_from_here_too():
    assert (corpus.assign_splits, corpus.audit_split) == (sides.assign_splits, sides.audit_split)

"""File → documents, and the report of what was read."""

import hashlib
import logging

import pytest
from conftest import ROOT

from corpus import load_documents

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

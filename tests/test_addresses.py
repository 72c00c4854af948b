"""A file, or any address that fsspec knows; a pattern names its files, each once and sorted."""

import os
import sys
from pathlib import Path
from unittest import mock

import fsspec
import pytest

from addresses import Partition, find_files, whole_file
from partitions import cut_file
from readers import read_rows


@pytest.fixture
def stories(tmp_path, monkeypatch) -> Path:
    """A folder with b.csv, a.csv and a.jsonl, and one more a.csv below it."""
    (tmp_path / "more").mkdir()
    for name in ("b.csv", "a.csv", "a.jsonl", "more/a.csv"):
        (tmp_path / name).write_text("text\none\ntwo\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("patterns", "files"),
    [
        (["*.csv"], ["a.csv", "b.csv"]),
        (["b.csv", "*.csv"], ["b.csv", "a.csv"]),
        (["a.csv", "a.csv"], ["a.csv"]),
        (["**/a.*"], ["a.csv", "a.jsonl", "more/a.csv"]),
        (["more*"], None),
        (["*.parquet"], None),
        (["more"], None),
    ],
)
def test_patterns_name_files_each_once_in_their_order(stories, patterns, files):
    if files is None:
        told = "is a folder; name files" if patterns == ["more"] else "there is no such file"
        with pytest.raises(FileNotFoundError, match=rf"{told}, as in .*\*\.csv"):
            find_files(patterns)
    else:
        assert [Path(file).as_posix() for file in find_files(patterns)] == files


@pytest.mark.skipif(os.name == "nt", reason="no such name there")
def test_a_file_whose_name_looks_like_a_pattern_is_itself(stories):
    Path("[ab].csv").write_text("text\n", encoding="utf-8")
    assert find_files(["[ab].csv"]) == ["[ab].csv"]


def test_another_file_system_is_read_as_the_disk_is(stories):
    """In `memory://`, cut into partitions of a record each."""
    system = fsspec.filesystem("memory")
    try:
        for name in ("x/b.csv", "x/a.csv"):
            system.pipe(f"/{name}", b"text\none\ntwo\n")
        files = find_files(["memory://x/*.csv"])
        assert files == ["memory:///x/a.csv", "memory:///x/b.csv"]
        cut = cut_file(files[0], "utf-8", 1)
        assert cut.sha256 == cut_file("a.csv", "utf-8", 1).sha256
        rows = [row for part in cut.partitions for row in read_rows(part, ["text"], "utf-8")]
        assert rows == [(f"{files[0]}, line 2", ["one"]), (f"{files[0]}, line 3", ["two"])]
        assert (len(cut.partitions), whole_file(files[0]).size) == (3, 13)
        with pytest.raises(FileNotFoundError):
            cut_file("memory://x/gone.csv", "utf-8", 1)
    finally:
        system.rm("/x", recursive=True)


def test_a_protocol_that_is_unknown_or_without_its_package_is_told(monkeypatch):
    with pytest.raises(ValueError, match=r"klingon://a: fsspec cannot open this: Protocol not kno"):
        whole_file("klingon://a")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(ValueError, match=r"s3://b/a\.csv: fsspec cannot open this: Install s3fs"):
        whole_file("s3://b/a.csv")


def test_what_a_file_system_raises_is_told_as_an_error_of_its_address():
    with (
        mock.patch(
            "fsspec.implementations.memory.MemoryFileSystem.size", side_effect=KeyError("a")
        ),
        pytest.raises(OSError, match=r"memory://a\.csv: 'a'"),
    ):
        whole_file("memory://a.csv")


def test_the_name_is_the_last_part_of_an_address():
    assert [Partition(a).name for a in ("s3://b/a.csv", "c:\\b\\a.csv", "a.csv")] == ["a.csv"] * 3

"""The lines of a text file: decoded, unpacked, and cut at LF alone."""

import gzip

import pytest

import lines
from addresses import whole_file
from lines import Unpacked, text_lines


def read(path, encoding: str = "utf-8") -> list[str]:
    with text_lines(whole_file(path), encoding) as found:
        return list(found)


def test_lines_end_at_lf_and_other_ends_stay_in_them(tmp_path):
    """CR, CR LF, the separator U+2028 and a form feed: of the five only the two LF end a line."""
    path = tmp_path / "a.txt"
    path.write_bytes("a\rb\r\nc\u2028d\fe\nf".encode())
    assert read(path) == ["a\rb\r\n", "c\u2028d\fe\n", "f"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32", "utf-8-sig"])
def test_a_byte_order_mark_is_no_text(tmp_path, encoding):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffé\n".encode("utf-8") if "8" in encoding else "é\n".encode(encoding))
    assert read(path, encoding) == ["é\n"]


def test_bad_bytes_of_a_packed_file_are_placed_in_what_it_unpacks_to(tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"ab\n" * 3 + b"c\xff\n"))
    with pytest.raises(
        ValueError, match=r"line 4, byte 2 \(offset 10\): bytes ff 0a are not utf-8"
    ):
        read(path)


def test_a_cut_packed_file_with_bad_bytes_is_told_to_be_cut_or_to_be_bad(tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"\xff" * 50)[:-6])
    with pytest.raises(ValueError, match=r"a\.txt\.gz: not a whole gzip file|are not utf-8"):
        read(path)


def test_a_hundred_times_its_size_is_what_a_packed_file_may_unpack_to(tmp_path, monkeypatch):
    """Of 7 bytes 700, as no file is let unpack to less than 500."""
    monkeypatch.setattr(lines, "_ALWAYS", 500)
    path = tmp_path / "a.gz"
    path.write_bytes(b"1234567")
    unpacked = Unpacked(whole_file(path))
    unpacked.count(300)
    unpacked.count(400)
    with pytest.raises(ValueError, match=r"unpacks to over 700 bytes, 100 times its size"):
        unpacked.count(1)

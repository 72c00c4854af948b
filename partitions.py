"""A file cut into partitions that hold whole records, so that no document is cut."""

import codecs
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import BinaryIO

import numpy as np

from addresses import Partition, whole_file
from readers import csv_header, file_kind, parquet_file

_LF, _QUOTE, _COMMA = b'\n",'
_BLOCK = 1 << 22  # bytes looked at at once
_START = re.compile(rb"(\xef\xbb\xbf)?(\r?\n)*")  # a byte order mark and empty lines hold no row
_PLAIN = ("cp125", "iso8859", "koi8", "mac-")  # with UTF-8, where each of those bytes is itself


@dataclass(frozen=True)
class CutFile:
    """A file, the digest of its bytes, and its partitions in order; a `note`, if it is but one."""

    address: str
    sha256: str
    size: int
    partitions: tuple[Partition, ...]
    note: str = ""


def cut_file(address: str, encoding: str, size: int) -> CutFile:
    """Cut a file into partitions of about `size` bytes, and never inside a record.

    A partition of `.csv` or `.jsonl` ends at the first end of a record after `size` bytes, one of
    Parquet with a row group. Other files are one partition, and so are those in an encoding where
    the byte of a newline may be a part of another letter. The file is read once, block by block.

    Raises:
        ValueError: For a quote that is never closed, and for a damaged Parquet file.
        OSError: When the file cannot be read.
    """
    whole = whole_file(address)
    kind = file_kind(whole)
    scan = _Scan(size, quoted=kind == ".csv")
    with whole.open() as file:
        scan.read(file)
    if scan.inside:
        raise ValueError(
            f"{address}, line {scan.row}: the row that starts here opens a quote and never closes "
            "it; close it or double it"
        )
    if kind == ".parquet":
        partitions = _row_groups(whole, size)
    elif kind in (".csv", ".jsonl") and _is_plain(encoding):
        partitions = _between(whole, scan, encoding if kind == ".csv" else "")
    else:
        partitions = [whole]
    return CutFile(address, scan.sha256, scan.size, (*partitions,), _note(kind, partitions, size))


def _note(kind: str, partitions: list[Partition], size: int) -> str:
    largest = max(partition.size for partition in partitions)
    if largest <= 2 * size:
        return ""
    why = {
        ".csv": "an encoding that cannot be cut, or one long row",
        ".jsonl": "an encoding that cannot be cut, or one long line",
        ".parquet": "a row group is not cut; write smaller ones",
        ".txt": "a text file is one document",
    }.get(kind, "packed bytes have no place to enter at; unpack it, or pack it in several files")
    return f"a partition of {largest / 2**20:,.1f} MB: {why}"


def _is_plain(encoding: str) -> bool:
    """Whether the bytes of newline, quote and comma are those characters wherever they stand."""
    try:
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        return False  # the reader tells
    return name in ("utf-8", "utf-8-sig", "ascii") or name.startswith(_PLAIN)


# ---- lines and quotes


class _Scan:
    """One pass over a file: its digest, and where partitions may begin.

    A quote opens a field only at the field's start; inside of one a newline is text. If no other
    quotes are there, as in all files that a writer of CSV made, the count of quotes tells.
    """

    def __init__(self, size: int, *, quoted: bool) -> None:
        self.step, self.quoted = size, quoted
        self.starts: list[tuple[int, int]] = []  # of partitions after the first: byte, line
        self.size = 0
        self.line = self.row = 1  # of the next byte; where the row with it began
        self.inside = False  # a quoted field
        self._before, self._next = _LF, size
        self._digest = hashlib.sha256()

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def read(self, file: BinaryIO) -> None:
        """Look at all of a file."""
        while block := file.read(_BLOCK):
            self._digest.update(block)
            if not self.size:
                self._next += _START.match(block).end()
                block = block.replace(codecs.BOM_UTF8, b",,,", 1) if _has_mark(block) else block
            self._look(np.frombuffer(block, np.uint8))
        if self.starts and self.starts[-1][0] == self.size:
            self.starts.pop()

    def _look(self, block: np.ndarray) -> None:
        lines = np.flatnonzero(block == _LF)
        toggles = self._toggles(block) if self.quoted else np.empty(0, np.int64)
        before = np.searchsorted(toggles, lines) + self.inside  # quotes before each newline
        ends = np.flatnonzero(before % 2 == 0)  # eq: record-end
        places = lines[ends] + self.size + 1  # where the next record begins
        while (found := np.searchsorted(places, self._next)) < len(places):
            self.starts.append((int(places[found]), self.line + int(ends[found]) + 1))
            self._next = self.starts[-1][0] + self.step
        if len(ends):
            self.row = self.line + int(ends[-1]) + 1
        self.line += len(lines)
        self.size += len(block)
        self.inside ^= len(toggles) % 2 == 1
        stray = block[-1] == _QUOTE and len(block) - 1 not in toggles[-1:]
        self._before = 0 if stray else int(block[-1])

    def _toggles(self, block: np.ndarray) -> np.ndarray:
        """The places of the quotes that open a field, close one, or stand doubled in one."""
        quotes = np.flatnonzero(block == _QUOTE)
        opening = quotes[int(self.inside) :: 2]
        before = block[opening - 1]
        before[opening == 0] = self._before
        if np.isin(before, (_LF, _COMMA, _QUOTE)).all():
            return quotes
        return np.array([*self._one_by_one(quotes.tolist(), block)], np.int64)

    def _one_by_one(self, quotes: list[int], block: np.ndarray) -> Iterator[int]:
        """The same for a block with a quote in the middle of a field: that one is text."""
        inside, closed = self.inside, 0 if self._before == _QUOTE else -1
        for place in quotes:
            before = block[place - 1] if place else self._before
            if inside or before in (_LF, _COMMA) or closed == place:
                yield place
                inside, closed = not inside, place + 1


def _has_mark(block: bytes) -> bool:
    return block.startswith(codecs.BOM_UTF8)


def _between(whole: Partition, scan: _Scan, encoding: str) -> list[Partition]:
    """The partitions between the starts; of CSV, if an encoding is given, with the header."""
    if not scan.starts:
        return [whole]
    starts = [(0, 1), *scan.starts, (scan.size, 0)]
    cut = [
        replace(whole, start=start, stop=stop, line=line, size=stop - start)
        for (start, line), (stop, _) in pairwise(starts)
    ]
    if not encoding:
        return cut
    header = csv_header(cut[0], encoding)
    return [cut[0], *(replace(part, header=header) for part in cut[1:])] if header else [whole]


# ---- Parquet


def _row_groups(whole: Partition, size: int) -> list[Partition]:
    with parquet_file(whole) as file:
        groups = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
    cut, first, row, rows, held = [], 0, 1, 0, 0
    for number, group in enumerate(groups, 1):
        rows, held = rows + group.num_rows, held + group.total_byte_size
        if held >= size or number == len(groups):
            cut.append(replace(whole, start=first, stop=number, line=row, size=held))
            first, row, rows, held = number, row + rows, 0, 0
    return cut if len(cut) > 1 else [whole]

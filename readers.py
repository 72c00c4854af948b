"""Columns of a file, row by row, or a refusal that names the place.

No pandas call refuses all that must be refused (docs/decisions.md), so rows are read by the `csv`
module in strict mode, by `json.loads` a line, or by pyarrow. Text is text: `NA`, `007` and `1e5`
come through character for character.
"""

import codecs
import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow
import pyarrow.parquet
from tqdm import tqdm

Rows = Iterator[tuple[str, list[str | None]]]  # where a row stands, for messages; its cells

_LONE_CR = "\udc0d"  # stands for a CR that ends no line; valid text cannot hold it
_FIELD_LIMIT = 2**31 - 1  # the csv module's own, 131,072 characters, is too short for a book


def read_rows(path: Path, columns: Sequence[str], encoding: str) -> Rows:
    """Each row's cells of `columns`, by the reader that the file's name asks for."""
    for ending, reader in _READERS.items():
        if path.name.lower().endswith(ending):
            return reader(path, columns, encoding)
    raise ValueError(
        f"{path}: cannot read this kind of file; its name must end in {', '.join(_READERS)}"
    )


# ---- CSV


def _csv_rows(path: Path, columns: Sequence[str], encoding: str) -> Rows:
    limit = csv.field_size_limit(_FIELD_LIMIT)  # process-wide: put back below
    line = 1
    try:
        with _text_lines(path, encoding) as lines:
            reader = csv.reader(map(_hide_lone_cr, lines), strict=True)
            header = next(filter(None, reader), [])
            places = [_column_place(path, header, column) for column in columns]
            line = reader.line_num + 1
            for row in reader:
                if row and len(row) != len(header):
                    raise ValueError(_wrong_width(path, line, row, header))
                if row:
                    cells = [row[place].replace(_LONE_CR, "\r") for place in places]
                    yield f"{path}, line {line}", cells
                line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path}, line {line}: {_not_csv(error)}") from None
    finally:
        csv.field_size_limit(limit)


def _hide_lone_cr(line: str) -> str:
    """`line` with every CR but that of its own end swapped for a stand-in: none makes a row."""
    if "\r" not in line:
        return line
    body, end = (line[:-2], "\r\n") if line.endswith("\r\n") else (line, "")
    return body.replace("\r", _LONE_CR) + end


def _column_place(path: Path, header: list[str], column: str) -> int:
    if not header:
        raise ValueError(f"{path}: the file is empty; its first line must name the columns")
    if header.count(column) != 1:
        found = "is there more than once" if column in header else "is not there"
        mac = (
            "; its lines end in a lone CR, convert them to LF"
            if _LONE_CR in "".join(header)
            else ""
        )
        names = ", ".join(repr(name.replace(_LONE_CR, "\r")) for name in header)[:200]
        raise ValueError(f"{path}: column {column!r} {found}; the file has {names}{mac}")
    return header.index(column)


def _wrong_width(path: Path, line: int, row: list[str], header: list[str]) -> str:
    return (
        f"{path}, line {line}: the row has {len(row)} fields and the header {len(header)} "
        f"({', '.join(header)[:200]}); quote a field that holds a comma, or complete the row"
    )


def _not_csv(error: csv.Error) -> str:
    if "unexpected end of data" in str(error):
        return "the row that starts here opens a quote and never closes it; close it or double it"
    return f"the row that starts here is no valid CSV ({error}); inside quotes, write a quote twice"


# ---- JSON lines, Parquet, text


class _Pairs(list):
    """A JSON object as its (key, value) pairs, so that a key that stands twice is seen."""


def _jsonl_rows(path: Path, columns: Sequence[str], encoding: str) -> Rows:
    seen: dict[str, None] = {}
    with _text_lines(path, encoding) as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                where = f"{path}, line {number}"
                pairs = _json_object(line, where)
                seen |= dict.fromkeys(key for key, _ in pairs)
                yield where, [_json_text(pairs, column, where) for column in columns]
    for column in columns:
        if column not in seen:
            names = ", ".join(map(repr, seen))[:200] or "no keys at all"
            raise ValueError(f"{path}: key {column!r} is in no line; the file has {names}")


def _json_object(line: str, where: str) -> _Pairs:
    try:
        pairs = json.loads(line, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{where}: not JSON ({error}); each line must be one whole object"
        ) from None
    if not isinstance(pairs, _Pairs):
        raise ValueError(
            f"{where}: found {line.strip()[:40]}; each line must be one object in {{…}}"
        )
    return pairs


def _json_text(pairs: _Pairs, column: str, where: str) -> str | None:
    values = [value for key, value in pairs if key == column] or [None]
    if len(values) > 1:
        raise ValueError(f"{where}: the key {column!r} stands {len(values)} times; keep one")
    if not isinstance(values[0], str | None):
        kind = (
            "an object" if isinstance(values[0], _Pairs) else f"of type {type(values[0]).__name__}"
        )
        raise ValueError(
            f"{where}: {column!r} is {kind}; a text is a JSON string in quotes, or null"
        )
    return values[0]


def _parquet_rows(path: Path, columns: Sequence[str], encoding: str) -> Rows:
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for column in columns:
                place = _column_place(path, file.schema_arrow.names, column)
                kind = file.schema_arrow.types[place]
                if "string" not in str(kind):
                    raise ValueError(
                        f"{path}: column {column!r} is of type {kind}; a text column holds strings"
                    )
            bar = tqdm(
                desc=f"reading {path.name}",
                total=file.metadata.num_rows,
                unit=" rows",
                delay=2,
                disable=None,
            )
            with bar:
                for batch in file.iter_batches(batch_size=1024, columns=[*set(columns)]):
                    lists = [batch[column].to_pylist() for column in columns]
                    for cells in zip(*lists, strict=True):
                        yield f"{path}, row {bar.n}", list(cells)
                        bar.update()
    except (pyarrow.ArrowException, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path}: not a whole Parquet file ({str(error).splitlines()[0]}); write it again"
        ) from None


def _txt_rows(path: Path, columns: Sequence[str], encoding: str) -> Rows:
    if len(columns) > 1:
        raise ValueError(f"{path}: a text file is one document without a column {columns[1]!r}")
    with _text_lines(path, encoding) as lines:
        yield str(path), ["".join(lines)]


_READERS = {
    ".csv": _csv_rows,
    ".csv.gz": _csv_rows,
    ".jsonl": _jsonl_rows,
    ".jsonl.gz": _jsonl_rows,
    ".parquet": _parquet_rows,
    ".txt": _txt_rows,
    ".txt.gz": _txt_rows,
}


# ---- bytes and lines


@contextmanager
def _text_lines(path: Path, encoding: str) -> Iterator[Iterator[str]]:
    """The file's lines, cut at LF alone, whatever the locale; a byte order mark is not text."""
    try:
        codec = codecs.lookup(encoding).name
        codec = "utf-8-sig" if codec == "utf-8" else codec
        with (
            _bytes(path) as file,
            io.TextIOWrapper(file, encoding=codec, errors="strict", newline="\n") as lines,
        ):
            yield lines
    except UnicodeDecodeError as error:
        raise ValueError(_undecodable(path, codec, error)) from None
    except LookupError as error:
        raise ValueError(
            f"{error}; --encoding takes a text encoding such as utf-8, utf-16 or cp1252"
        ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{path}: not a whole gzip file ({error}); make or copy it again"
        ) from None


class _Counted(io.RawIOBase):
    """A file's bytes, each read told to a progress bar."""

    def __init__(self, file: BinaryIO, bar: tqdm) -> None:
        self.file, self.bar = file, bar

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:
        count = self.file.readinto(buffer)
        self.bar.update(count)
        return count


@contextmanager
def _bytes(path: Path) -> Iterator[BinaryIO]:
    """The file's bytes, unpacked if .gz, with a progress bar if reading takes over two seconds."""
    bar = tqdm(
        desc=f"reading {path.name}",
        total=path.stat().st_size,
        unit="B",
        unit_scale=True,
        delay=2,
        disable=None,
    )
    with bar, path.open("rb") as file:
        counted = io.BufferedReader(_Counted(file, bar), 1 << 20)
        yield gzip.GzipFile(fileobj=counted) if path.name.lower().endswith(".gz") else counted


def _undecodable(path: Path, codec: str, error: UnicodeDecodeError) -> str:
    """Where the first bad bytes stand: the error counts from its last block, so decode again."""
    decoder = codecs.getincrementaldecoder(codec)()
    offset, place = 0, ", at its end"
    with _bytes(path) as file:
        for number, line in enumerate(file, 1):
            try:
                decoder.decode(line)
            except UnicodeDecodeError as again:
                error, place = (
                    again,
                    f", line {number}, byte {again.start + 1} (offset {offset + again.start})",
                )
                break
            offset += len(line)
    bad = error.object[error.start : error.start + 4].hex(" ")
    name = codec.removesuffix("-sig")
    return f"{path}{place}: bytes {bad} are not {name} ({error.reason}); name another --encoding"

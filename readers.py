"""Columns of a file, row by row, or a refusal that names the place.

No pandas call refuses all that must be refused (docs/decisions.md), so rows are read by the `csv`
module in strict mode, by `json.loads` a line, or by pyarrow. Text is text: `NA`, `007` and `1e5`
come through character for character.
"""

import csv
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pyarrow
import pyarrow.parquet
from tqdm import tqdm

from addresses import Partition, whole_file
from lines import Unpacked, text_lines

Rows = Iterator[tuple[str, list[str | None]]]  # where a row stands, for messages; its cells

_LONE_CR = "\udc0d"  # stands for a CR that ends no line; valid text cannot hold it
_FIELD_LIMIT = 2**31 - 1  # the csv module's own, 131,072 characters, is too short for a book


def read_rows(source: Path | Partition, columns: Sequence[str], encoding: str) -> Rows:
    """Each row's cells of `columns`, by the reader that the file's name asks for."""
    source = source if isinstance(source, Partition) else whole_file(source)
    return _READERS[file_kind(source)](source, columns, encoding)


def file_kind(source: Partition) -> str:
    """The ending that says which reader is asked.

    >>> file_kind(Partition("s3://corpus/Stories.CSV.gz"))
    '.csv.gz'
    """
    for ending in _READERS:
        if source.name.lower().endswith(ending):
            return ending
    raise ValueError(
        f"{source}: cannot read this kind of file; its name must end in {', '.join(_READERS)}"
    )


# ---- CSV


def _csv_rows(source: Partition, columns: Sequence[str], encoding: str) -> Rows:
    limit = csv.field_size_limit(_FIELD_LIMIT)  # process-wide: put back below
    name, line = str(source), source.line
    try:
        with text_lines(source, encoding) as lines:
            reader = _strict(lines)
            header = list(source.header) or next(filter(None, reader), [])
            places = [_column_place(source, header, column) for column in columns]
            line = reader.line_num + source.line
            for row in reader:
                if row and len(row) != len(header):
                    raise ValueError(_wrong_width(source, line, row, header))
                if row:
                    cells = [row[place].replace(_LONE_CR, "\r") for place in places]
                    yield f"{name}, line {line}", cells
                line = reader.line_num + source.line
    except csv.Error as error:
        raise ValueError(f"{source}, line {line}: {_not_csv(error)}") from None
    finally:
        csv.field_size_limit(limit)


def csv_header(source: Partition, encoding: str) -> tuple[str, ...]:
    """The names of the columns, from the first row of a CSV file."""
    try:
        with text_lines(source, encoding) as lines:
            return tuple(next(filter(None, _strict(lines)), []))
    except csv.Error as error:
        raise ValueError(f"{source}, line {source.line}: {_not_csv(error)}") from None


def _strict(lines: Iterator[str]) -> Iterator[list[str]]:
    hidden = (_hide_lone_cr(line) if "\r" in line else line for line in lines)
    return csv.reader(hidden, strict=True)


def _hide_lone_cr(line: str) -> str:
    """`line` with every CR but that of its own end swapped for a stand-in: none makes a row."""
    body, end = (line[:-2], "\r\n") if line.endswith("\r\n") else (line, "")
    return body.replace("\r", _LONE_CR) + end


def _column_place(source: Partition, header: list[str], column: str) -> int:
    if not header:
        raise ValueError(f"{source}: the file is empty; its first line must name the columns")
    if header.count(column) != 1:
        found = "is there more than once" if column in header else "is not there"
        mac = (
            "; its lines end in a lone CR, convert them to LF"
            if _LONE_CR in "".join(header)
            else ""
        )
        names = ", ".join(repr(name.replace(_LONE_CR, "\r")) for name in header)[:200]
        raise ValueError(f"{source}: column {column!r} {found}; the file has {names}{mac}")
    return header.index(column)


def _wrong_width(source: Partition, line: int, row: list[str], header: list[str]) -> str:
    names = ", ".join(map(repr, header)).replace(_LONE_CR, "\r")[:200]
    return (
        f"{source}, line {line}: the row has {len(row)} fields and the header {len(header)} "
        f"({names}); quote a field that holds a comma, or complete the row"
    )


def _not_csv(error: csv.Error) -> str:
    if "unexpected end of data" in str(error):
        return "the row that starts here opens a quote and never closes it; close it or double it"
    return f"the row that starts here is no valid CSV ({error}); inside quotes, write a quote twice"


# ---- JSON lines, Parquet, text


class _Pairs(list):
    """A JSON object as its (key, value) pairs, so that a key that stands twice is seen."""


def _jsonl_rows(source: Partition, columns: Sequence[str], encoding: str) -> Rows:
    seen: dict[str, None] = {}
    with text_lines(source, encoding) as lines:
        for number, line in enumerate(lines, source.line):
            if line.strip():
                where = f"{source}, line {number}"
                pairs = _json_object(line, where)
                seen |= dict.fromkeys(key for key, _ in pairs)
                yield where, [_json_text(pairs, column, where) for column in columns]
    for column in columns:
        if column not in seen and source.whole:
            names = ", ".join(map(repr, seen))[:200] or "no keys at all"
            raise ValueError(f"{source}: key {column!r} is in no line; the file has {names}")


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


@contextmanager
def parquet_file(source: Partition) -> Iterator[pyarrow.parquet.ParquetFile]:
    """A Parquet file, opened; what is wrong with it is told by its name."""
    try:
        with source.open() as opened, pyarrow.parquet.ParquetFile(opened) as file:
            yield file
    except (pyarrow.ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno:  # a disk's; pyarrow's own have no number
            raise
        raise ValueError(
            f"{source}: not a whole Parquet file ({str(error).splitlines()[0]:.200}); "
            "write it again"
        ) from None


def _parquet_rows(source: Partition, columns: Sequence[str], encoding: str) -> Rows:
    with parquet_file(source) as file:
        for column in columns:
            place = _column_place(source, file.schema_arrow.names, column)
            kind = file.schema_arrow.types[place]
            if "string" not in str(kind):
                raise ValueError(
                    f"{source}: column {column!r} is of type {kind}; a text column holds strings"
                )
        groups = range(file.num_row_groups)[source.start : source.stop]
        total = sum(file.metadata.row_group(group).num_rows for group in groups)
        bar = tqdm(desc=f"reading {source.name}", total=total, unit=" rows", delay=2, disable=None)
        unpacked, row = Unpacked(source), count(source.line - 1)
        with bar:
            for batch in file.iter_batches(1024, groups, [*set(columns)]):
                lists = [batch[column].to_pylist() for column in columns]
                for cells in zip(*lists, strict=True):
                    unpacked.count(sum(len(cell or "") for cell in cells))
                    yield f"{source}, row {next(row)}", list(cells)
                bar.update(len(batch))


def _txt_rows(source: Partition, columns: Sequence[str], encoding: str) -> Rows:
    if len(columns) > 1:
        raise ValueError(f"{source}: a text file is one document without a column {columns[1]!r}")
    with text_lines(source, encoding) as lines:
        yield str(source), ["".join(lines)]


_READERS = {
    ".csv": _csv_rows,
    ".csv.gz": _csv_rows,
    ".jsonl": _jsonl_rows,
    ".jsonl.gz": _jsonl_rows,
    ".parquet": _parquet_rows,
    ".txt": _txt_rows,
    ".txt.gz": _txt_rows,
}

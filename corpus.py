"""File → documents, and a report of what was read; which side owns which: `sides.py`."""

import hashlib
import logging
import os
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from addresses import Partition
from readers import read_rows
from sides import assign_splits as assign_splits  # given from here, too
from sides import audit_split as audit_split
from sides import text_groups

log = logging.getLogger("corpus")

EOT = "<|endoftext|>"


@dataclass(frozen=True)
class IntakeReport:
    """What was read from a file: its rows, what became of them, the size of what was kept."""

    path: str
    sha256: str
    rows_read: int
    kept: int
    empty: int
    duplicates: int
    characters: int
    bytes: int

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.rows_read:,} rows read, {self.kept:,} kept, "
            f"{self.empty:,} missing or blank, {self.duplicates:,} repeated; "
            f"{self.characters:,} characters, {self.bytes:,} bytes; sha256 {self.sha256[:12]}"
        )


class CorpusText(str):
    """A text that remembers the documents it was joined from, so that nothing is read twice.

    >>> text = CorpusText.join(pd.DataFrame({"text": ["hello", "world"]}))
    >>> text, len(text.documents)
    ('hello\\nworld\\n', 2)
    """

    documents: pd.DataFrame

    @classmethod
    def join(cls, documents: pd.DataFrame) -> "CorpusText":
        """The rows of `documents` joined with newlines, and one final newline."""
        text = cls("\n".join(documents["text"]) + "\n")
        text.documents = documents
        return text


def load_documents(
    path: str | os.PathLike[str],
    column: str = "text",
    max_rows: int | None = None,
    *,
    encoding: str = "utf-8",
    group_column: str | None = None,
) -> pd.DataFrame:
    """The documents of a file: one row each, indexed by `doc_id`, the record's number from 0.

    `.csv`, `.jsonl` and `.parquet` hold one document a row, in `column`; a `.txt` file is one
    document. Texts are stripped; missing and blank ones are dropped and leave a gap in `doc_id`.
    `max_rows` limits the rows read, before any is dropped. `frame.attrs["intake"]` is the
    `IntakeReport`, which is also logged.

    Documents of one `group` stay together when sides are assigned. It is the text itself, in
    Unicode's form NFC, or the stripped cell of `group_column`; same text, same group.
    `frame.attrs["unidata_version"]` is the Unicode version of that form.

    >>> load_documents("data/corpus.csv", max_rows=2)["text"].str[:24]
    doc_id
    0    Nell had a pumpkin in th
    1    Pip was a small round ro
    Name: text, dtype: str

    Raises:
        ValueError: For anything that would lose or invent text (a missing column, a row with too
            many or too few fields, an open quote, undecodable bytes, …), a blank group, and one
            text in two groups, with file, line or row, what was found and the way out.
        OSError: When the file cannot be read.
    """
    if max_rows is not None and max_rows < 1:
        raise ValueError(f"max_rows must be at least 1 (None reads every row), got {max_rows}")
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    documents, rows = read_documents(
        path, column, max_rows, encoding=encoding, group_column=group_column
    )
    if not len(documents):
        raise ValueError(
            f"{path}: {rows} rows read, and none has text in column {column!r}; nothing is left"
        )
    if group_column is not None:
        _refuse_parted(documents, path)
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    texts = documents["text"]
    documents.attrs["unidata_version"] = unicodedata.unidata_version
    documents.attrs["intake"] = report = IntakeReport(
        path=path.as_posix(),
        sha256=sha256,
        rows_read=rows,
        kept=len(texts),
        empty=rows - len(texts),
        duplicates=int(texts.duplicated().sum()),
        characters=sum(map(len, texts)),
        bytes=text_bytes(texts),
    )
    log.info("%s", report)
    return documents


def read_documents(
    source: Path | Partition,
    column: str = "text",
    max_rows: int | None = None,
    *,
    encoding: str = "utf-8",
    group_column: str | None = None,
) -> tuple[pd.DataFrame, int]:
    """The documents of a file or a partition, and how many rows were read for them.

    They are those of `load_documents`, with `doc_id` counted in the partition. There may be none,
    and one text may be in two groups: that can only be told when all are read.
    """
    columns = [column] if group_column is None else [column, group_column]
    texts: dict[int, str] = {}
    named: dict[int, str] = {}
    rows = 0
    for rows, (where, cells) in enumerate(read_rows(source, columns, encoding), 1):
        if text := (cells[0] or "").strip():
            _refuse_halves(text, where)
            texts[rows - 1] = text
            if group_column is not None:
                named[rows - 1] = _group_name(cells[1], group_column, where)
        if rows == max_rows:
            break
    index = pd.Index(texts, dtype="int64", name="doc_id")
    documents = pd.DataFrame({"text": pd.Series(list(texts.values()), index, dtype="str")})
    if group_column is None:
        return documents.assign(group=text_groups(documents["text"])), rows
    return documents.assign(group=pd.Series(list(named.values()), index, dtype="str")), rows


def text_bytes(texts: Iterable[str]) -> int:
    """How many bytes the texts have in UTF-8."""
    return sum(len(text.encode()) for text in texts)


def _refuse_halves(text: str, where: str) -> None:
    """Half of a surrogate pair has no bytes in UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{where}: character {error.start + 1} of the text is {text[error.start]!r}, half of a "
            "surrogate pair; write the whole character, or take it out"
        ) from None


def _group_name(cell: str | None, column: str, where: str) -> str:
    if not (name := (cell or "").strip()):
        raise ValueError(f"{where}: the group in column {column!r} is blank; every text needs one")
    _refuse_halves(name, where)
    return name


def _refuse_parted(documents: pd.DataFrame, path: Path) -> None:
    """The groups of a column must not part two documents that are one text."""
    pairs = documents.assign(text=text_groups(documents["text"])).drop_duplicates()
    parted = pairs[pairs["text"].duplicated(keep=False)].sort_values("text", kind="stable")
    if len(parted):
        (one, other), (its, another) = parted.index[:2], parted["group"].iloc[:2]
        raise ValueError(
            f"{path}: records {one} and {other} (from 0) hold one text, in group {its!r:.80} and "
            f"in {another!r:.80}; give both the same group, or leave one out"
        )


def join_with_eot(texts: Iterable[str]) -> str:
    """The texts with `<|endoftext|>` between them: nine among ten, none at the end (seed 000).

    A text that holds those characters itself cannot be told from two; `stream.encode_documents`
    keeps it apart.

    >>> join_with_eot(["hello", "world"])
    'hello<|endoftext|>world'
    """
    return EOT.join(texts)

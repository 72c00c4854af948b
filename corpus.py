"""File → documents, and a report of what was read."""

import hashlib
import logging
import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from readers import read_cells

log = logging.getLogger("corpus")


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
) -> pd.DataFrame:
    """The documents of a file: one row each, indexed by `doc_id`, the record's number from 0.

    `.csv`, `.jsonl` and `.parquet` hold one document a row, in `column`; a `.txt` file is one
    document. Texts are stripped; missing and blank ones are dropped and leave a gap in `doc_id`.
    `max_rows` limits the rows read, before any is dropped. `frame.attrs["intake"]` is the
    `IntakeReport`, which is also logged.

    >>> load_documents("data/corpus.csv", max_rows=2)["text"].str[:24]
    doc_id
    0    Nell had a pumpkin in th
    1    Pip was a small round ro
    Name: text, dtype: str

    Raises:
        ValueError: For anything that would lose or invent text (a missing column, a row with too
            many or too few fields, an open quote, undecodable bytes, …), with file, line or row,
            what was found and the way out.
        OSError: When the file cannot be read.
    """
    if max_rows is not None and max_rows < 1:
        raise ValueError(f"max_rows must be at least 1 (None reads every row), got {max_rows}")
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    texts: dict[int, str] = {}
    rows = size = 0
    for rows, (where, cell) in enumerate(read_cells(path, column, encoding), 1):
        if text := (cell or "").strip():
            size += _utf8_size(text, where)
            texts[rows - 1] = text
        if rows == max_rows:
            break
    if not texts:
        raise ValueError(
            f"{path}: {rows} rows read, and none has text in column {column!r}; nothing is left"
        )
    documents = pd.DataFrame({"text": pd.Series(texts, dtype="str")}).rename_axis("doc_id")
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    documents.attrs["intake"] = report = IntakeReport(
        path=path.as_posix(),
        sha256=sha256,
        rows_read=rows,
        kept=len(texts),
        empty=rows - len(texts),
        duplicates=int(documents["text"].duplicated().sum()),
        characters=sum(map(len, texts.values())),
        bytes=size,
    )
    log.info("%s", report)
    return documents


def _utf8_size(text: str, where: str) -> int:
    """Bytes of `text` in UTF-8; half a surrogate pair has none, and is refused."""
    try:
        return len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{where}: character {error.start + 1} of the text is {text[error.start]!r}, half of a "
            "surrogate pair; write the whole character, or take it out"
        ) from None

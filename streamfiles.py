"""Streams on disk: a bare file of little-endian ids, and a manifest that says what they are."""

import hashlib
import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet

from files import read_json, write_json, written_whole
from idfiles import DISK, PART, count_ids, file_bytes, id_dtype, map_ids, misfit, write_ids
from stream import Layout, Stream, span_lengths
from tokenizer import Tokenizer

_SPANS = pyarrow.schema(
    [(name, pyarrow.int64()) for name in ("start", "stop", "doc_id", "doc_start")]
)
_GROUP = 1 << 20  # spans in a row group

# ---- a stream: path.bin, path.spans.parquet, path.json


@dataclass(frozen=True)
class Manifest:
    """What `path.json` says about `path.bin` and `path.spans.parquet`.

    `tokenizer` is the fingerprint of the one that made the ids, `sha256` the checksum of the bytes.
    """

    dtype: str
    byteorder: str
    count: int
    vocab_size: int
    eot_id: int
    layout: str
    tokenizer: str
    corpus_sha256: str
    sha256: str
    spans_sha256: str


def save_stream(
    stream: Stream, path: str | os.PathLike[str], tok: Tokenizer, *, corpus_sha256: str = ""
) -> None:
    """Write a stream as `path.bin`, `path.spans.parquet` and, last, the manifest `path.json`.

    `path` is a name without an ending. `path.bin` is a bare array: `np.memmap(file, "<u2", "r")`
    opens it, or `"<u4"` if V is over 65,536. A failure while writing leaves the old stream as it
    was; a save that is killed between its last renames leaves no manifest, so nothing is mistaken.

    Raises:
        ValueError: For ids that `tok` does not have, spans that do not fit, a path with an ending.
    """
    save_parts([stream], path, tok, layout=stream.layout, corpus_sha256=corpus_sha256)


def save_parts(
    parts: Iterable[Stream],
    path: str | os.PathLike[str],
    tok: Tokenizer,
    *,
    layout: Layout,
    corpus_sha256: str = "",
) -> Manifest:
    """Write streams one after the other as one stream, which need not fit in memory."""
    files, dtype = _files(path), id_dtype(tok.vocab_size)
    with (  # renamed in the other order: the manifest last
        written_whole(files["json"]) as manifest,
        written_whole(files["spans.parquet"]) as spans,
        written_whole(files["bin"]) as binary,
    ):
        with pyarrow.parquet.ParquetWriter(spans, _SPANS) as table:
            sha256 = write_ids(_with_spans(parts, tok, table), dtype, binary)
        content = Manifest(
            dtype=dtype,
            byteorder="little",
            count=count_ids(binary, dtype),
            vocab_size=tok.vocab_size,
            eot_id=tok.eot_id,
            layout=layout,
            tokenizer=tok.fingerprint,
            corpus_sha256=corpus_sha256,
            sha256=sha256,
            spans_sha256=hashlib.sha256(spans.read_bytes()).hexdigest(),
        )
        write_json(manifest, asdict(content))
        files["json"].unlink(missing_ok=True)  # it would not fit what is renamed before it
    return content


def _with_spans(
    parts: Iterable[Stream], tok: Tokenizer, table: pyarrow.parquet.ParquetWriter
) -> Iterator[np.ndarray]:
    """The ids of each part; its spans go to the table, in row groups of one size."""
    position, waiting = 0, _SPANS.empty_table()
    for part in parts:
        _check_ids(part, tok)
        moved = part.spans[_SPANS.names].astype(np.int64)
        moved[["start", "stop"]] += position
        waiting = pyarrow.concat_tables(
            [waiting, pyarrow.Table.from_pandas(moved, _SPANS, preserve_index=False)]
        )
        if whole := len(waiting) - len(waiting) % _GROUP:
            table.write_table(waiting.slice(0, whole).combine_chunks(), _GROUP)
            waiting = waiting.slice(whole)
        position += len(part)
        yield part.ids
    if len(waiting):
        table.write_table(waiting.combine_chunks(), _GROUP)


def _check_ids(stream: Stream, tok: Tokenizer) -> None:
    ids = stream.ids
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise ValueError(f"ids are one row of integers, got {ids.dtype} of shape {ids.shape}")
    if (place := misfit(ids, tok.vocab_size - 1)) is not None:
        raise ValueError(
            f"id {ids[place]} at index {place} is not in 0 … {tok.vocab_size - 1}, the ids of the "
            "tokenizer; save the stream with the one that made it"
        )
    span_lengths(stream.spans, len(ids))  # refuses what does not fit


def load_stream(
    path: str | os.PathLike[str], tok: Tokenizer | None = None, *, verify: bool = True
) -> Stream:
    """The stream that `save_stream` wrote. Its ids are the file itself, mapped and read-only.

    Nothing is read before it is used, except that `verify` takes one pass over the bytes for their
    checksum; without it they are trusted. `tok`, if given, must be the one that made the ids.

    Raises:
        ValueError: When a part does not fit the others, naming it.
        FileNotFoundError: When a part is missing, as the manifest is after a save that was killed.
    """
    files, manifest = _files(path), read_manifest(path)
    if tok is not None and tok.fingerprint != manifest.tokenizer:
        raise ValueError(
            f"{files['json']}: the tokenizer that made the ids is {manifest.tokenizer[:12]}, this "
            f"one is {tok.fingerprint[:12]}; load the tokenizer.json of that run, or encode again"
        )
    _check_count(_there(files["bin"]), manifest)
    if verify:
        _check_bytes(files["bin"], manifest)
    ids = map_ids(files["bin"], manifest.dtype)
    content = _there(files["spans.parquet"]).read_bytes()
    _refuse_altered(files["spans.parquet"], hashlib.sha256(content), manifest.spans_sha256)
    spans = _spans(files["spans.parquet"], content, len(ids))
    return Stream(ids, spans, manifest.layout)


def _spans(file: Path, content: bytes, n: int) -> pd.DataFrame:
    """The span table of `n` ids in the bytes of a Parquet file."""
    try:
        table = pyarrow.parquet.read_table(io.BytesIO(content))
        if table.schema.remove_metadata() != _SPANS or any(c.null_count for c in table.columns):
            raise ValueError(f"it must have int64 columns {', '.join(_SPANS.names)}, without gaps")
        spans = table.to_pandas(ignore_metadata=True)
        if (spans["doc_start"] < 0).any():
            raise ValueError("doc_start must be 0 or more")
        span_lengths(spans, n)
    except (pyarrow.ArrowException, ValueError, OSError) as error:
        told = " ".join(str(error).split())
        raise ValueError(
            f"{file}: no span table of {n} ids ({told:.200}); save the stream again"
        ) from None
    return spans


def read_manifest(path: str | os.PathLike[str]) -> Manifest:
    """What `path.json` says, if it is whole and its parts fit each other."""
    file = _there(_files(path)["json"])
    content = read_json(file)
    for field in fields(Manifest):
        value = content.get(field.name)
        if type(value) is not field.type:
            raise ValueError(
                f"{file}: {field.name!r} must be {field.type.__name__}, got {value!r:.40}; not the "
                "manifest that save_stream wrote"
            )
    manifest = Manifest(**{field.name: content[field.name] for field in fields(Manifest)})
    V = manifest.vocab_size
    if not 256 < V <= 1 << 32:
        raise ValueError(f"{file}: vocab_size must be from 257 to 2³², got {V!r:.40}")
    fitting = {
        "dtype": [id_dtype(V)],
        "byteorder": ["little"],
        "eot_id": [V - 1],
        "layout": list(get_args(Layout)),
    }
    for name, allowed in fitting.items():
        if (value := getattr(manifest, name)) not in allowed:
            told = " or ".join(map(repr, allowed))
            raise ValueError(f"{file}: {name} is {value!r:.40}, it must be {told}; V is {V}")
    return manifest


def _files(path: str | os.PathLike[str]) -> dict[str, Path]:
    path, endings = Path(path), ("bin", "json", "spans.parquet")
    for ending in endings:
        if (name := path.name.removesuffix(f".{ending}")) != path.name:
            raise ValueError(f"{path}: a stream is three files, name them without ending: {name}")
    return {ending: path.with_name(f"{path.name}.{ending}") for ending in endings}


def _there(file: Path) -> Path:
    if not file.is_file():
        raise FileNotFoundError(
            f"{file}: there is no such file; a whole stream has .bin, .json and .spans.parquet"
        )
    return file


def _check_count(file: Path, manifest: Manifest) -> None:
    size, needed = file.stat().st_size, file_bytes(manifest.count, manifest.dtype)
    if size != needed:
        raise ValueError(
            f"{file}: {size} bytes, and count {manifest.count} of {manifest.dtype} in the manifest "
            f"needs {needed}; the file was cut or replaced, save the stream again"
        )


def _check_bytes(file: Path, manifest: Manifest) -> None:
    """One pass over the file, part by part: its checksum, and its largest id."""
    digest, largest = hashlib.sha256(), 0
    with file.open("rb") as read:
        while part := read.read(PART):
            digest.update(part)
            largest = max(largest, int(np.frombuffer(part, DISK[manifest.dtype]).max()))
    _refuse_altered(file, digest, manifest.sha256)
    if largest >= manifest.vocab_size:
        raise ValueError(
            f"{file}: id {largest} is too large for V = {manifest.vocab_size} in the manifest, "
            "which was altered"
        )


def _refuse_altered(file: Path, digest: Any, promised: str) -> None:
    if (found := digest.hexdigest()) != promised:
        raise ValueError(
            f"{file}: its bytes have the checksum {found[:12]}, the manifest says {promised[:12]}; "
            "the file was altered, save the stream again"
        )

"""Streams on disk: a bare file of little-endian ids, and a manifest that says what they are."""

import hashlib
import io
import mmap
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import torch

from corpus import load_documents
from files import read_json, write_json, written_whole
from sides import SPLITS, assign_splits
from stream import Layout, Stream, encode_documents, span_lengths
from tokenizer import Tokenizer

Ids = Sequence[int] | np.ndarray | torch.Tensor

CORPUS = Path(__file__).parent / "data" / "corpus.csv"
CORPUS_SHA256 = "da43a4fcf7cc74efcf60bb65a0389697f39ddbbb3f4d8b02784cace83cf5be6e"

_DISK = {"uint16": np.dtype("<u2"), "uint32": np.dtype("<u4")}  # little-endian on every machine
_PART = 1 << 20  # ids written, and bytes checked, at a time
_KEPT = 8  # encoded splits that a process remembers

# ---- a bare file of uint16


def check_uint16_range(t: Ids) -> None:
    """Refuse what two bytes cannot hold, naming the first such id and its index.

    >>> check_uint16_range([0, 511, 65_535])
    >>> check_uint16_range([0, 70_000])
    Traceback (most recent call last):
    ValueError: id 70000 at index 1 does not fit in uint16, 0 … 65535 (a cast would write 4464); \
save_stream writes uint32 where it must

    Raises:
        ValueError: For an id outside 0 … 65,535, for anything but whole numbers (True and 1.0 are
            none), and for ids that are not one row.
    """
    ids = _whole_numbers(t)
    if (place := _misfit(ids, 0xFFFF)) is not None:
        raise ValueError(
            f"id {ids[place]} at index {place} does not fit in uint16, 0 … 65535 (a cast would "
            f"write {wrapped(int(ids[place]))}); save_stream writes uint32 where it must"
        )


def wrapped(number: int) -> int:
    """What a cast to uint16 makes of an id, without a word: id mod 2¹⁶.

    >>> wrapped(70_000)
    4464
    """
    return number % (1 << 16)  # eq: wrap


def save_uint16(ids: Ids, path: str | os.PathLike[str]) -> None:
    """Write `ids` as bare little-endian uint16: two bytes an id, whole or not at all.

    What `check_uint16_range` refuses is refused before anything is written.
    """
    check_uint16_range(ids)
    with written_whole(path) as temporary:
        _write(_whole_numbers(ids), "uint16", temporary)


def load_uint16(path: str | os.PathLike[str]) -> torch.Tensor:
    """The ids of a file of little-endian uint16, copied: int64 `(N,)`.

    Raises:
        ValueError: When the file has an odd number of bytes.
    """
    _count_ids(path, "uint16")  # NumPy leaves half an id out without a word
    return torch.from_numpy(np.fromfile(path, _DISK["uint16"]).astype(np.int64))


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


def id_dtype(vocab_size: int) -> str:
    """The smaller of uint16 and uint32 that holds the largest id, V − 1.

    >>> id_dtype(65_536), id_dtype(65_537)
    ('uint16', 'uint32')
    """
    return "uint16" if vocab_size - 1 <= 0xFFFF else "uint32"  # eq: id-bytes


def file_bytes(n: int, dtype: str) -> int:
    """The size of a file of `n` ids, in bytes.

    >>> file_bytes(3, "uint16"), file_bytes(3, "uint32")
    (6, 12)
    """
    return n * _DISK[dtype].itemsize  # eq: file-bytes


def map_ids(file: str | os.PathLike[str], dtype: str) -> np.ndarray:
    """The ids of a bare file as a read-only array `(N,)` over its pages, read when they are used.

    The system reads on behind every place that is touched. That soon fills memory with a file that
    fits, and it reads a larger one many times over, so for that it is told not to (on Windows it
    cannot be told).
    """
    if not (count := _count_ids(file, dtype)):
        return np.empty(0, _DISK[dtype])  # no bytes cannot be mapped
    mapped = np.memmap(file, _DISK[dtype], "r")
    if hasattr(mmap, "MADV_RANDOM") and file_bytes(count, dtype) > _memory():
        mapped.base.madvise(mmap.MADV_RANDOM)
    return mapped.view(np.ndarray)


def save_stream(
    stream: Stream, path: str | os.PathLike[str], tok: Tokenizer, *, corpus_sha256: str = ""
) -> None:
    """Write a stream as `path.bin`, `path.spans.parquet` and, last, the manifest `path.json`.

    `path` is a name without an ending. `path.bin` is a bare array: `np.memmap(file, "<u2", "r")`
    opens it, or `"<u4"` if V is over 65,536. A failure while writing leaves the old stream as it
    was; a save that is killed between its last renames leaves no manifest, so nothing is mistaken.

    Raises:
        ValueError: For an id that `tok` does not have, spans that do not fit the ids, and a path
            with the ending of one of the files.
    """
    files = _files(path)
    ids, dtype = _whole_numbers(stream.ids), id_dtype(tok.vocab_size)
    if (place := _misfit(ids, tok.vocab_size - 1)) is not None:
        raise ValueError(
            f"id {ids[place]} at index {place} is not in 0 … {tok.vocab_size - 1}, the ids of the "
            "tokenizer; save the stream with the one that made it"
        )
    span_lengths(stream.spans, len(ids))  # refuses what does not fit
    with (  # renamed in the other order: the manifest last
        written_whole(files["json"]) as manifest,
        written_whole(files["spans.parquet"]) as spans,
        written_whole(files["bin"]) as binary,
    ):
        stream.spans.to_parquet(spans, index=False)
        content = Manifest(
            dtype=dtype,
            byteorder="little",
            count=len(ids),
            vocab_size=tok.vocab_size,
            eot_id=tok.eot_id,
            layout=stream.layout,
            tokenizer=tok.fingerprint,
            corpus_sha256=corpus_sha256,
            sha256=_write(ids, dtype, binary),
            spans_sha256=hashlib.sha256(spans.read_bytes()).hexdigest(),
        )
        write_json(manifest, asdict(content))
        files["json"].unlink(missing_ok=True)  # it would not fit what is renamed before it


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
    spans = pd.read_parquet(io.BytesIO(content))
    span_lengths(spans, len(ids))
    return Stream(ids, spans, manifest.layout)


def read_manifest(path: str | os.PathLike[str]) -> Manifest:
    """What `path.json` says, if it is whole and its parts fit each other."""
    file = _there(_files(path)["json"])
    content = read_json(file)
    for field in fields(Manifest):
        value = content.get(field.name)
        if type(value) is not field.type:
            raise ValueError(
                f"{file}: {field.name!r} must be {field.type.__name__}, got {value!r}; not the "
                "manifest that save_stream wrote"
            )
    manifest = Manifest(**{field.name: content[field.name] for field in fields(Manifest)})
    V = manifest.vocab_size
    fitting = {
        "dtype": [id_dtype(V)],
        "byteorder": ["little"],
        "eot_id": [V - 1],
        "layout": list(get_args(Layout)),
    }
    for name, allowed in fitting.items():
        if (value := getattr(manifest, name)) not in allowed:
            told = " or ".join(map(repr, allowed))
            raise ValueError(f"{file}: {name} is {value!r}, it must be {told}; V is {V}")
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
            f"{file}: there is no such file; a stream is saved whole when its .bin, .json and "
            ".spans.parquet are there"
        )
    return file


def _write(ids: np.ndarray, dtype: str, file: Path) -> str:
    """Write the ids part by part; the checksum of what was written."""
    digest = hashlib.sha256()
    with file.open("wb") as out:
        for start in range(0, len(ids), _PART):
            part = ids[start : start + _PART].astype(_DISK[dtype])
            digest.update(part)
            out.write(part)
    return digest.hexdigest()


def _count_ids(file: str | os.PathLike[str], dtype: str) -> int:
    size = Path(file).stat().st_size
    count, rest = divmod(size, _DISK[dtype].itemsize)
    if rest:
        raise ValueError(f"{file}: {size} bytes are no whole number of {dtype}; the file was cut")
    return count


def _memory() -> int:
    """Bytes of memory that the machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


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
        while part := read.read(_PART):
            digest.update(part)
            largest = max(largest, int(np.frombuffer(part, _DISK[manifest.dtype]).max()))
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


# ---- what counts as ids


def _whole_numbers(ids: Ids) -> np.ndarray:
    """`ids` as an array `(N,)`: integers, or the Python numbers of a list if they are integers."""
    if isinstance(ids, torch.Tensor):
        ids = (ids.double() if ids.is_floating_point() else ids).numpy(force=True)
    elif not isinstance(ids, np.ndarray):
        ids = np.array([*ids], dtype=object)  # NumPy would make 1 of True and 1.0 of 1
    if ids.ndim != 1:
        raise ValueError(f"ids are one row of numbers, got an array of shape {ids.shape}")
    if ids.dtype.kind not in "iu" and ids.size:
        _refuse_fractions(ids)
    return ids


def _refuse_fractions(ids: np.ndarray) -> None:
    """Name the first id that is no integer; in an array of floats, first one that is not whole."""
    if ids.dtype.kind == "O":
        wrong = [isinstance(i, bool) or not isinstance(i, int | np.integer) for i in ids]
        if not any(wrong):
            return
    else:
        wrong = np.floor(ids) != ids if ids.dtype.kind == "f" else [True]
    place = int(np.argmax(wrong))
    kind = type(ids[place]).__name__
    raise ValueError(
        f"id {ids[place]} at index {place} is of type {kind}; an id is a whole number of an "
        "integer type"
    )


def _misfit(ids: np.ndarray, largest: int) -> int | None:
    """The place of the first id outside 0 … `largest`."""
    if not len(ids) or (ids.min() >= 0 and ids.max() <= largest):
        return None
    return int(np.argmax((ids < 0) | (ids > largest)))


# ---- the splits of a corpus

_encoded: dict[tuple[str, str], np.ndarray] = {}


def load_split_tokens(
    split: str, tokenizer: Tokenizer, documents: pd.DataFrame | None = None
) -> torch.Tensor:
    """The ids of one split, int64 `(N,)`: its documents with an end-of-text between them.

    They are those of `join_with_eot` with `<|endoftext|>` allowed, save that one written inside a
    document stays text. `documents` needs a column `split`, as `assign_splits` makes it; without
    any, they are those of `data/corpus.csv` with a tenth each for val and test, seed 0. A process
    encodes the same documents once; every call gives a copy of its own.

    >>> from tokenizer import Tokenizer
    >>> ids = load_split_tokens("val", Tokenizer([]))
    >>> len(ids), int((ids == 256).sum())
    (58976, 87)

    Raises:
        ValueError: For an unknown split or one without documents, and for a `data/corpus.csv` that
            is not the one of this project.
    """
    picked = _split(split, _corpus() if documents is None else documents)
    key = tokenizer.fingerprint, _fingerprint(picked["text"])
    if key not in _encoded:
        if len(_encoded) == _KEPT:
            del _encoded[next(iter(_encoded))]
        _encoded[key] = encode_documents(picked, tokenizer, final_eot=False).ids
    return torch.tensor(_encoded[key])  # a copy


def encode_all_splits(
    tokenizer: Tokenizer, documents: pd.DataFrame | None = None
) -> dict[str, torch.Tensor]:
    """The ids of `train`, `val` and `test`, each as `load_split_tokens` gives it."""
    documents = _corpus() if documents is None else documents
    return {split: load_split_tokens(split, tokenizer, documents) for split in SPLITS}


def _corpus() -> pd.DataFrame:
    """The project's own documents with their sides, after a look at the file's checksum."""
    with CORPUS.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != CORPUS_SHA256:
        raise ValueError(
            f"{CORPUS}: its SHA-256 is {found}, this project's file has {CORPUS_SHA256}; get the "
            "file back, or pass documents of your own"
        )
    return assign_splits(load_documents(CORPUS), 0.1, 0.1, seed=0)


def _split(split: str, documents: pd.DataFrame) -> pd.DataFrame:
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
    if "split" not in documents:
        raise ValueError("the documents have no column 'split'; sides.assign_splits makes it")
    picked = documents[documents["split"] == split]
    if not len(picked):
        counts = documents["split"].value_counts().to_dict()
        raise ValueError(
            f"no document is in split {split!r}, only {counts}; give assign_splits a larger "
            f"{split}_fraction, or more documents"
        )
    return picked


def _fingerprint(texts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")  # refused where it is encoded
        digest.update(b"%d:" % len(content) + content)
    return digest.hexdigest()

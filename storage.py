"""Ids as torch tensors: bare files of uint16, and the splits of a corpus."""

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from corpus import load_documents
from files import written_whole
from idfiles import DISK, count_ids, misfit, write_ids
from sides import SPLITS, assign_splits
from stream import encode_documents
from streamfiles import load_stream as load_stream  # given from here, too
from streamfiles import save_stream as save_stream
from tokenizer import Tokenizer

Ids = Sequence[int] | np.ndarray | torch.Tensor

CORPUS = Path(__file__).parent / "data" / "corpus.csv"
CORPUS_SHA256 = "da43a4fcf7cc74efcf60bb65a0389697f39ddbbb3f4d8b02784cace83cf5be6e"

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
    if (place := misfit(ids, 0xFFFF)) is not None:
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
        write_ids([_whole_numbers(ids)], "uint16", temporary)


def load_uint16(path: str | os.PathLike[str]) -> torch.Tensor:
    """The ids of a file of little-endian uint16, copied: int64 `(N,)`.

    Raises:
        ValueError: When the file has an odd number of bytes.
    """
    count_ids(path, "uint16")  # NumPy leaves half an id out without a word
    return torch.from_numpy(np.fromfile(path, DISK["uint16"]).astype(np.int64))


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

"""Bare files of ids: little-endian, two or four bytes each, nothing before and nothing after."""

import hashlib
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from files import memory_bytes

DISK = {"uint16": np.dtype("<u2"), "uint32": np.dtype("<u4")}  # little-endian on every machine
PART = 1 << 20  # ids written, and bytes checked, at a time


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
    return n * DISK[dtype].itemsize  # eq: file-bytes


def map_ids(file: str | os.PathLike[str], dtype: str) -> np.ndarray:
    """The ids of a bare file as a read-only array `(N,)` over its pages, read when they are used.

    The system reads on behind every place that is touched. That soon fills memory with a file that
    fits, and it reads a larger one many times over, so for that it is told not to (on Windows it
    cannot be told).
    """
    if not (count := count_ids(file, dtype)):
        return np.empty(0, DISK[dtype])  # no bytes cannot be mapped
    mapped = np.memmap(file, DISK[dtype], "r")
    if hasattr(mmap, "MADV_RANDOM") and file_bytes(count, dtype) > memory_bytes():
        mapped.base.madvise(mmap.MADV_RANDOM)
    return mapped.view(np.ndarray)


def write_ids(parts: Iterable[np.ndarray], dtype: str, file: Path) -> str:
    """Write ids one part after the other; the checksum of what was written."""
    digest = hashlib.sha256()
    with file.open("wb") as out:
        for ids in parts:
            for start in range(0, len(ids), PART):
                piece = ids[start : start + PART].astype(DISK[dtype])
                digest.update(piece)
                out.write(piece)
    return digest.hexdigest()


def count_ids(file: str | os.PathLike[str], dtype: str) -> int:
    """How many ids a bare file has; one that was cut inside an id is refused."""
    size = Path(file).stat().st_size
    count, rest = divmod(size, DISK[dtype].itemsize)
    if rest:
        raise ValueError(f"{file}: {size} bytes are no whole number of {dtype}; the file was cut")
    return count


def misfit(ids: np.ndarray, largest: int) -> int | None:
    """The place of the first id outside 0 … `largest`."""
    if not len(ids) or (ids.min() >= 0 and ids.max() <= largest):
        return None
    return int(np.argmax((ids < 0) | (ids > largest)))

"""Token files: ids on disk, exactly as they were.

The lesson is docs/token-files.md. Write a body in the place of each
`raise NotImplementedError`, and see how far you are:

    python -m pytest --against exercises/token_files.py
"""

import os

import numpy as np
import torch

from storage import Ids


def wrapped(number: int) -> int:
    """What a cast to uint16 makes of an id, without a word: id mod 2¹⁶.

    >>> wrapped(70_000)
    4464
    """
    raise NotImplementedError


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
    raise NotImplementedError


def save_uint16(ids: Ids, path: str | os.PathLike[str]) -> None:
    """Write `ids` as bare little-endian uint16: two bytes an id, whole or not at all.

    What `check_uint16_range` refuses is refused before anything is written.
    """
    raise NotImplementedError


def load_uint16(path: str | os.PathLike[str]) -> torch.Tensor:
    """The ids of a file of little-endian uint16, copied: int64 `(N,)`.

    Raises:
        ValueError: When the file has an odd number of bytes.
    """
    raise NotImplementedError


def id_dtype(vocab_size: int) -> str:
    """The smaller of uint16 and uint32 that holds the largest id, V − 1.

    >>> id_dtype(65_536), id_dtype(65_537)
    ('uint16', 'uint32')
    """
    raise NotImplementedError


def file_bytes(n: int, dtype: str) -> int:
    """The size of a file of `n` ids, in bytes.

    >>> file_bytes(3, "uint16"), file_bytes(3, "uint32")
    (6, 12)
    """
    raise NotImplementedError


def map_ids(file: str | os.PathLike[str], dtype: str) -> np.ndarray:
    """The ids of a bare file as a read-only array `(N,)` over its pages, read when they are used.

    The system reads on behind every place that is touched. That soon fills memory with a file that
    fits, and it reads a larger one many times over, so for that it is told not to (on Windows it
    cannot be told).
    """
    raise NotImplementedError

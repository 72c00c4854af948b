"""The figure and the table of the page about token files: real files, read byte by byte."""

import tempfile
from pathlib import Path

import numpy as np

from literate.figures import _line, _numbers, _row, _svg, _text
from storage import save_uint16

IDS, LARGE = [0, 511, 65_535], 70_000


def saved_bytes(ids: list[int]) -> list[str]:
    """The bytes of the file that `save_uint16` writes, in hex.

    >>> saved_bytes([511])
    ['FF', '01']
    """
    with tempfile.TemporaryDirectory() as folder:
        save_uint16(ids, Path(folder, "ids.bin"))
        return [f"{byte:02X}" for byte in Path(folder, "ids.bin").read_bytes()]


def cast(number: int) -> int:
    """What NumPy makes of an id when it is cast to uint16 without a check."""
    return int(np.array([number]).astype(np.uint16)[0])


def token_file() -> str:
    """Three ids and the bytes of their file, and an id that is too large for two bytes."""
    wide, narrow = 88, 44
    kept = cast(LARGE)
    parts = [
        _text(0, 15, "ids", "s"),
        _row(0, 22, wide, len(IDS), "i"),
        _numbers(0, 22, wide, (f"{i:,}" for i in IDS)),
        *(_line((wide * i + 43, 48), (wide * i + 43, 66)) for i in range(len(IDS))),
        _row(0, 68, narrow, 2 * len(IDS)),
        _numbers(0, 68, narrow, saved_bytes(IDS)),
        _text(wide * len(IDS) + 4, 85, "bytes in the file", "s"),
        _text(0, 131, f"{LARGE:,} by a cast without a check", "s"),
        _row(0, 138, wide, 1, "i"),
        _text(wide / 2 - 1, 155, f"{LARGE:,}", "c"),
        _text(wide + 4, 155, f"− {2**16:,} →", "s"),
        _row(2 * wide, 138, wide, 1, "o"),
        _text(2.5 * wide - 1, 155, f"{kept:,}", "c"),
        _line((2 * wide + 43, 164), (2 * wide + 43, 182)),
        _row(2 * wide, 184, narrow, 2),
        _numbers(2 * wide, 184, narrow, saved_bytes([kept])),
        _text(3 * wide + 4, 155, "another id", "s"),
    ]
    told = ", ".join(f"{i:,} is {' '.join(saved_bytes([i]))}" for i in IDS)
    return _svg(
        "token-file",
        212,
        "Ids and their bytes in a token file",
        f"Two bytes an id, in hex, the low byte first: {told}. {LARGE:,} does not fit; a cast "
        f"without a check takes {2**16:,} away, and {kept:,} is in the file: "
        f"{' '.join(saved_bytes([kept]))}.",
        parts,
    )


def token_bytes() -> tuple[list[str], list[list[str]]]:
    """Hand-picked ids, what a cast makes of them, and what `save_uint16` does."""
    rows = []
    for number in (0, 511, 65_535, 65_536, 70_000, -1):
        try:
            does = f"`{' '.join(saved_bytes([number]))}`"
        except ValueError:
            does = "refuses"
        rows.append([f"{number:,}".replace("-", "−"), f"{cast(number):,}", does])
    return ["Id", "A cast keeps", "`save_uint16`"], rows

"""A corpus past memory: the numbers of its page."""

import inspect
import tempfile
from pathlib import Path

import dask
import distributed  # noqa: F401, it has the defaults of the scheduler

from intake import check_groups, share_below
from literate.figures_prepare import SIZE, STORY, cut_story
from partitions import cut_file

PAGE = "prepare.md"
GIVEN = [
    "Made by `cut_file` from a hand-picked file, where a partition is full at 9 bytes.",
    "Each [group](documents.md) has one of $2^{64}$ places by a hash of its own",
    "A file of 2 GB, in partitions of 32 MB, took at most 628 MiB in a worker and 661 MiB",
    "1. **Cut**",
    "2. **Measure**",
    "3. **Fit**",
    "4. **Encode**",
    "5. **Join**",
    "in an encoding such as UTF-16 the byte",
    "Of 400 bytes of training text the tokenizer may be fitted on 100.",
]


def newlines(text: str) -> tuple[list[int], list[int]]:
    """Where newlines are, and how many quotes stand before each."""
    places = [place for place, letter in enumerate(text) if letter == "\n"]
    return places, [text[:place].count('"') for place in places]


def starts(size: int, text: str = STORY) -> list[int]:
    """Where partitions begin."""
    with tempfile.TemporaryDirectory() as folder:
        if text == STORY:
            return [part.start for part in cut_story(folder, size).partitions]
        path = Path(folder, "a.csv")
        path.write_bytes(text.encode())
        return [part.start for part in cut_file(str(path), "utf-8", size).partitions]


XYZ = 't\n"x\ny"\nz\n'

CLAIMS = [
    ("The file of the figure has 24 bytes.", lambda: len(STORY), 24),
    (
        "Its newlines are at 7, 10, 15, 19 and 23, with 0, 1, 2, 2 and 2 quotes before them",
        lambda: newlines(STORY),
        ([7, 10, 15, 19, 23], [0, 1, 2, 2, 2]),
    ),
    ("so the newline at 10 ends nothing", lambda: 11 in starts(1), False),
    (
        "From 0 on, a partition of 9 bytes is full at the next end, and the second begins at 16.",
        lambda: (SIZE, starts(SIZE)),
        (9, [0, 16]),
    ),
    (
        "With `--group-column` it also holds 32 bytes a document",
        lambda: "32 bytes a document" in inspect.getdoc(check_groups),
        True,
    ),
    (
        "The newlines are at 1, 4, 7 and 9, with 0, 1, 2 and 2 quotes before them.",
        lambda: newlines(XYZ),
        ([1, 4, 7, 9], [0, 1, 2, 2]),
    ),
    (
        "So a partition may begin at 2 and at 8, and at 10 the file is over.",
        lambda: (starts(1, XYZ), len(XYZ)),
        ([0, 2, 8], 10),
    ),
    (
        "Those whose place is below $2^{62}$, a quarter of all places.",
        lambda: share_below(400, 100),
        2**62,
    ),
    (
        "If four die over one partition",
        lambda: dask.config.get("distributed.scheduler.allowed-failures") + 1,
        4,
    ),
]

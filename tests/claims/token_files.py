"""Token files: the numbers of their page."""

import numpy as np
import test_idfiles
import torch

from idfiles import file_bytes, id_dtype
from storage import check_uint16_range, wrapped

PAGE = "token-files.md"
GIVEN = [
    "A tokenizer has 50,257 tokens, and a text has 1,000,000 ids.",
    "what would a cast to two bytes make of the ids 65,537 and 131,072?",
    "A vocabulary has 65,537 tokens.",
]


def refused() -> str:
    """What is said about 70,000 at index 2."""
    try:
        check_uint16_range([0, 511, 70_000])
    except ValueError as error:
        return str(error)
    return ""


CLAIMS = [
    (
        "Two bytes have 65,536 values, from 0 to 65,535.",
        lambda: (256**2, int(np.iinfo(np.uint16).max)),
        (65_536, 65_535),
    ),
    (
        "keeps only the remainder of a division by 65,536",
        lambda: [wrapped(i) for i in (65_535, 65_536, 65_537)],
        [65_535, 0, 1],
    ),
    (
        "70,000 at index 2 would have become 4,464",
        lambda: all(w in refused() for w in ("id 70000 at index 2 ", "would write 4464")),
        True,
    ),
    ("This is what torch 2.13 does", lambda: torch.__version__.rpartition(".")[0], "2.13"),
    (
        (
            "A test reads 2,000 batches from a file of 64 GiB or more, and anonymous memory grows "
            "by less than 16 MiB."
        ),
        lambda: (
            test_idfiles.BATCHES,
            test_idfiles.LEAST / 2**30,
            test_idfiles.LIMIT / 2**20,
        ),
        (2000, 64, 16),
    ),
    (
        (
            "The largest id is 50,256, so two bytes hold each, and the file has 2,000,000 bytes.\n"
            "65,537 − 65,536 = 1, and 131,072 is twice 65,536, so 0 is left."
        ),
        lambda: (
            file_bytes(1_000_000, id_dtype(50_257)),
            50_257 - 1,
            wrapped(65_537),
            131_072 / 65_536,
            wrapped(131_072),
        ),
        (2_000_000, 50_256, 1, 2, 0),
    ),
    (
        "Four.\nThe largest id is 65,536, and two bytes end at 65,535.",
        lambda: (np.dtype(id_dtype(65_537)).itemsize, id_dtype(65_536)),
        (4, "uint16"),
    ),
]

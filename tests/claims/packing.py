"""What the page about packing claims."""

import numpy as np

from benchmarks import packing as bench
from benchmarks.record import kept
from config import Config
from export import IGNORED
from literate.figures_packing import HAND, LENGTHS, POLICIES, documents_of, hand_rows
from literate.values import default_run
from packing import count_dropped, count_tokens, fill, least_rows, pack, place
from stream import Stream, encode_documents


def stories() -> Stream:
    run = default_run()
    return encode_documents(run.text.documents, run.tok)


def packed(long_doc: str = "fragment", seq_len: int | None = None) -> Stream:
    """The stories by best fit."""
    T = seq_len or Config().seq_len
    return pack(stories(), T, default_run().tok.eot_id, long_doc)


def lost(long_doc: str) -> float:
    return count_dropped(stories(), packed(long_doc)) / count_tokens(stories())


def spaces(lengths: list[int]) -> list[int]:
    """What is left of each row of 8, in order."""
    return (8 - np.bincount(place(np.array(lengths), 8), weights=lengths)).tolist()


PAGE = "packing.md"
layouts = kept("policies")["figures"]
GIVEN = [
    "where 9 is the end-of-text; T is 3, the padding id 0.",
    "Documents of 5, 11, 3, 6 and 2 ids are packed in rows of 8, and the second is cut.",
]
CLAIMS = [
    (
        (
            "The longest are 4 ids, the beginning of the second document, and fill a row.\n"
            "The first document has 3 ids and a row of its own."
        ),
        lambda: pack(documents_of(HAND), 3, 0).spans["stop"].tolist()[:2],
        [3, 8],
    ),
    (
        "In the last row 31 follows the end of another document",
        lambda: pack(documents_of(HAND), 3, 0).ids.tolist()[-4:],
        [25, 9, 31, 9],
    ),
    (
        (
            "| packed stream | `(W (T + 1),)` | 2,560 × 65 |\n"
            "| inputs, targets | `(W, T)` | 2,560 × {{ default.seq_len }} |\n"
            "| spans | a row a span | 3,013 |"
        ),
        lambda: (len(packed()), Config().seq_len + 1, len(packed().spans)),
        (2560 * 65, 65, 3013),
    ),
    (
        "So `truncate` loses two thirds of the text, and `drop` nearly all of it.",
        lambda: (round(lost("truncate") * 3, 1), lost("drop") > 0.99),
        (2.1, True),
    ),
    (
        "With long rows best fit keeps every story whole",
        lambda: len(packed(seq_len=512).spans) == len(stories().spans),
        True,
    ),
    (
        "for the same 7 seconds with $T$ = 256",
        lambda: (layouts["seconds"], layouts["seq_len"]),
        (7, 256),
    ),
    ("of one epoch, of 145,648 tokens.", lambda: layouts["tokens"], 145_648),
    (
        "128 of the 703 training documents are longer than a row here.",
        lambda: (layouts["longer"], layouts["documents"]),
        (128, 703),
    ),
    ("documents of random lengths in rows of 1,025 ids", lambda: bench.SEQ_LEN + 1, 1025),
    (
        "−100 is the number that their loss leaves out.",
        lambda: IGNORED,
        -100,
    ),
    (
        (
            "The lengths to place are 8, 6, 5, 3, 3 and 2.\n"
            "8, 6 and 5 begin three rows, with 0, 2 and 3 places left."
        ),
        lambda: (list(LENGTHS.values()), spaces([8, 6, 5])),
        ([5, 8 + 3, 3, 6, 2], [0, 2, 3]),
    ),
    (
        (
            "One 3 goes beside the 5, the other begins a fourth row, and 2 goes beside the 6.\n"
            "27 tokens in 32 places fill 27/32.\n"
            "27/8 rounded up is 4"
        ),
        lambda: (
            place(np.array([8, 6, 5, 3, 3, 2]), 8).tolist(),
            count_tokens(hand_rows(POLICIES[0])),
            fill(hand_rows(POLICIES[0])),
            least_rows(27, 7),
        ),
        ([0, 1, 2, 2, 3, 1], 27, 27 / 32, 4),
    ),
]

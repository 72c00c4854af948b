"""Where every token went: the numbers of its page."""

import numpy as np
import pandas as pd

from ledger import ledger
from literate.figures_lineage import hand_stream
from stream import Stream
from windows import sliding_windows

PAGE = "lineage.md"
GIVEN = [
    "Hand-picked: documents of 3 and 6 tokens, windows of $T$ = 3 at stride 2, isolated.",
    "It has $T$ = 8 and lies in a stream",
    "`make bench` measures a lineage of 217,444 windows and a ledger of a million tokens.",
    "Two documents have 3 and 6 tokens and lie one after the other.",
    "Windows have $T$ = 3 and stride 2, and documents are isolated.",
    "A row of 9 places holds documents of 4 and 3 tokens and 2 pads, isolated.",
]


def hand() -> list[list[int]]:
    """Read, trained, context only, masked and dropped of the two documents."""
    stream = hand_stream()
    frame = ledger(stream, stream, sliding_windows(len(stream), 3, 2), "isolated")
    return frame[["read", "trained", "context_only", "masked", "dropped"]].to_numpy().tolist()


def row() -> list[int]:
    """The sums of a row of documents of 4 and 3 tokens and two pads."""
    spans = pd.DataFrame({"start": [0, 4], "stop": [4, 7], "doc_id": [0, 1], "doc_start": 0})
    stream = Stream(np.arange(9), spans)
    frame = ledger(stream, stream, sliding_windows(9, 8), "isolated")
    sums = frame[["read", "trained", "context_only", "masked", "dropped"]].sum().tolist()
    return [*sums, frame.attrs["padding"]]


CLAIMS = [
    (
        "There are 9 ids, and windows start at 0, 2 and 4.",
        lambda: (len(hand_stream()), sliding_windows(9, 3, 2)["start"].tolist()),
        (9, [0, 2, 4]),
    ),
    (
        "The first document has 3 read = 2 trained + 1 context only.",
        lambda: hand()[0],
        [3, 2, 1, 0, 0],
    ),
    (
        (
            "The second has 6 read = 4 trained + 1 masked + 1 dropped.\n"
            "Place 3 is masked because its input is the end of the first document, and place 8 is "
        ),
        lambda: hand()[1],
        [6, 4, 0, 1, 1],
    ),
    ("Of 7 tokens 5 are trained.", row, [7, 5, 1, 1, 0, 2]),
]

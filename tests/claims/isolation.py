"""What the page about the two masks claims."""

import numpy as np
import pandas as pd

import attention
from config import Config
from literate.figures_isolation import IDS, SPANS, masks
from stream import segment_ids
from windows import attention_mask, loss_mask, window_table


def row(*lengths: int, pads: int = 0) -> np.ndarray:
    """The segments of documents of these lengths, and of padding after them."""
    stops = np.cumsum(lengths)
    spans = pd.DataFrame({"start": np.append(0, stops[:-1]), "stop": stops})
    return segment_ids(spans, sum(lengths) + pads)


def counted(segments: np.ndarray) -> list[int]:
    window = window_table([0], len(segments) - 1)
    return loss_mask(window, segments, "isolated")[0].astype(int).tolist()


def seen(segments: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(sees).tolist() for sees in attention_mask(segments)]


def ends() -> list[bool]:
    """Whether each end-of-text of the figure counts."""
    _, y, _, _, counts, _ = masks()
    return counts[y == 9].tolist()


PAGE = "isolation.md"
GIVEN = [
    "The padding has the id 9 in one row and 0 in the other, and the masks are the same.",
    "A row holds documents of 2 and 3 ids, then one pad.",
]
CLAIMS = [
    (
        "Two documents, `11 12 9` and `21 22 9`, in one row of $T$ = 5.\nThe end-of-text 9 belongs",
        lambda: (IDS.tolist(), len(masks()[0]), SPANS["stop"].tolist()),
        ([11, 12, 9, 21, 22, 9], 5, [3, 6]),
    ),
    (
        "One target does not count: 21 is the first token of the second document",
        lambda: [y for y, counts in zip(masks()[1], masks()[4], strict=True) if not counts],
        [21],
    ),
    ("Both ends of text count", ends, [True, True]),
    ("so to be asked for 21 is to be asked to guess", lambda: counted(row(3, 3))[2], 0),
    (
        "And to predict 22 with the first document in view",
        lambda: masks()[1][3],
        22,
    ),
    (
        "both ends of text are lost, and 21 counts",
        lambda: [y != 9 for y in (12, 9, 21, 9)],
        [True, False, True, False],
    ),
    ("× 65 |", lambda: Config().seq_len + 1, 65),
    (
        "The 9 of the first document sees its own document only, and would still be asked for 21.",
        lambda: (masks()[0][2], seen(row(3, 3))[2], masks()[1][2]),
        (9, [0, 1, 2], 21),
    ),
    (
        "22 would be predicted from 21, and from all of the first document as well.",
        lambda: (masks()[0][3], masks()[1][3], seen(row(6))[3]),
        (21, 22, [0, 1, 2, 3]),
    ),
    ("in rows longer than 256 documents are cut out", lambda: attention.MASK_UP_TO, 256),
    ("into four *buckets*", lambda: attention.BUCKETS, 4),
    ("The segments are 1 1 2 2 2 0.", lambda: row(2, 3, pads=1).tolist(), [1, 1, 2, 2, 2, 0]),
    ("The mask is 1 0 1 1 0.", lambda: counted(row(2, 3, pads=1)), [1, 0, 1, 1, 0]),
    (
        (
            "Place 0 sees itself, place 1 sees 0 and 1.\n"
            "Place 2 sees itself, place 3 sees 2 and 3, and place 4 sees 2, 3 and 4."
        ),
        lambda: seen(row(2, 3, pads=1)[:-1]),
        [[0], [0, 1], [2], [2, 3], [2, 3, 4]],
    ),
]

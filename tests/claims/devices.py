"""Many devices: the numbers of its page."""

import numpy as np
from test_ranks import TOLERANCE

import ranks
from config import Config
from ranks import Group

PAGE = "devices.md"
GIVEN = [
    "Three targets have the losses $w$, $2w$ and $6w$",
    "A batch has ten rows and there are four processes.",
    "Two processes have losses that sum to 30 over 10 targets and to 10 over 2 targets.",
]


def sizes(rows: int, world_size: int) -> list[int]:
    return [len(Group(rank, world_size).share(range(rows))) for rank in range(world_size)]


CLAIMS = [
    ("so the gradient of their sum by $w$ is 9", lambda: 1 + 2 + 6, 9),
    (
        "| rows of a rank | `(B / R, T)` | 8 × ",
        lambda: sizes(Config().batch_size, 4),
        [8, 8, 8, 8],
    ),
    ("agree to about one part in 100,000", lambda: round(1 / TOLERANCE), 100_000),
    (
        "A process that only hangs ends the job after 10 minutes.",
        lambda: ranks._PATIENCE.total_seconds() / 60,
        10,
    ),
    (
        (
            "As a batch size it is refused, for 10 does not divide by 4.\n"
            "As a short last batch it is shared out: ranks 0 and 1 have three rows, ranks 2 and 3 "
            "have two."
        ),
        lambda: (10 % 4, sizes(10, 4)),
        (2, [3, 3, 2, 2]),
    ),
    (
        "40 / 12, about 3.33.\nThe mean of 3 and 5 would be 4.",
        lambda: (round((30 + 10) / (10 + 2), 2), np.mean([30 / 10, 10 / 2])),
        (3.33, 4),
    ),
]

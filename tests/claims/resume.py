"""Stopping and going on: the numbers of its page."""

from windows import place_in_epoch

PAGE = "resume.md"
GIVEN = [
    "Hand-picked: 10 windows in batches of 4, a checkpoint every 4 steps, killed after 7.",
    "with seed 42",
    "There are 46 windows and batches of 16, and a run was stopped after 7 steps.",
    "numbers of 4 bytes",
    "`(2, B, T)`, inputs and targets | 2 ×",
]
CLAIMS = [
    ("Step 6 begins an epoch", lambda: place_in_epoch(6, 10, 4), (2, 0)),
    (
        "46 windows make 3 batches, so 7 steps are 2 epochs and 1 batch.",
        lambda: (place_in_epoch(3, 46, 16), place_in_epoch(7, 46, 16)),
        ((1, 0), (2, 1)),
    ),
    (
        "It goes on in epoch 2, counted from 0, with batch 1, which has 16 windows.",
        lambda: (place_in_epoch(7, 46, 16), min(16, 46 - 16)),
        ((2, 1), 16),
    ),
]

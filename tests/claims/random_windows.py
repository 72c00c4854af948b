"""Random windows: the numbers of their page."""

from itertools import islice

import numpy as np

from batches import (
    batch_seed,
    boundary_windows,
    expected_shared,
    make_train_loader,
    repeat_share,
)
from config import Config
from windows import count_windows, sliding_windows

PAGE = "random-windows.md"
GIVEN = [
    "a stream of 21 ids and $T$ = 4",
    "For seed 1337, 217,444 windows and $B$ = 32",
    "A stream has 20 ids, $T$ is 4, $B$ is 3 and the seed is 2.",
    "at step 7?",
    "on the batches of steps 0 to 4",
    "End-of-texts stand at the places 10 and 11 of a long stream, and $T$ is 3.",
]


def held() -> int:
    """Windows of seed 000 that hold one of nine end-of-texts."""
    return boundary_windows(20_000 * np.arange(1, 10), 217_444 + 128, 128)


def shared() -> int:
    """Windows that the batches of 2,000 steps of seed 1337 share with their neighbours."""
    loader = make_train_loader(np.arange(217_444 + 1), 1, 32, 1337)
    starts = np.array([x[:, 0].tolist() for x, _ in islice(loader, 2000)])
    return int((starts[1:, :, None] == starts[:-1, None, :]).sum())


def state_after_steps_0_to_4() -> dict[str, int]:
    """The state of a loader that has given five batches."""
    loader = make_train_loader(np.arange(24), 4, 3, 2)
    for _ in range(5):
        next(loader)
    return loader.state_dict()


CLAIMS = [
    (
        "these are the targets 1, 5, 9, 13 and 17",
        lambda: (sliding_windows(21, 4, 4)["start"] + 1).tolist(),
        [1, 5, 9, 13, 17],
    ),
    (
        "The number 1,000,003 is a prime",
        lambda: (batch_seed(1, 0), [d for d in range(2, 1001) if batch_seed(1, 0) % d == 0]),
        (1_000_003, []),
    ),
    (
        "rank 1 draws all the starts as the others do, and keeps the rows 1, 5, 9 and so on",
        lambda: rows_of(rank=1, world_size=4),
        [1, 5, 9],
    ),
    ("× 65 |\n| starts", lambda: Config().seq_len + 1, 65),
    ("× 65 |\n| inputs", lambda: Config().seq_len + 1, 65),
    (
        "only about 63 in 100 windows have come",
        lambda: [round(100 * (1 - repeat_share(n, n))) for n in (149_671, 217_444)],
        [63, 63],
    ),
    ("has 217,444 windows of $T$ = 128", lambda: count_windows(217_572, 128), 217_444),
    (
        "9 × 129 = 1,161 windows, which are 0.534 % of all, and in about 137 of 25,600 draws",
        lambda: (held(), round(100 * held() / 217_444, 3), round(25_600 * held() / 217_444)),
        (1161, 0.534, 137),
    ),
    (
        "the batches of 2,000 steps should share 9.4 windows with their neighbours",
        lambda: round(expected_shared(217_444, 32, 2000), 1),
        9.4,
    ),
    ("They share 11.", shared, 11),
    (
        "The first generator seed of seed 4,295 is 45,589 more than what these bits can count",
        lambda: batch_seed(4295, 0) - 2**32,
        45_589,
    ),
    (
        "reads only the lowest 32 bits of its seed",
        lambda: firsts(0, 2**32) == firsts(0, 0) != firsts(0, 2**31),
        True,
    ),
    ("a number of more than 64 bits are refused", lambda: bits_of_the_largest_seed(), 64),
    (
        "step 45,589 of seed 0 gives the first batch of seed 4,295",
        lambda: firsts(0, 45_589) == firsts(4295, 0),
        True,
    ),
    (
        "while seeds are below 4,295 and steps below 45,589",
        lambda: [batch_seed(4294, 45_588) < 2**32, batch_seed(1, 0) > 45_588],
        [True, True],
    ),
    (
        "From 0 to 15, because a start must be below 20 − 4 = 16.",
        lambda: count_windows(20, 4),
        16,
    ),
    ("2 × 1,000,003 + 7 = 2,000,013", lambda: batch_seed(2, 7), 2_000_013),
    ("The seed and the next step, 5.", state_after_steps_0_to_4, {"step": 5, "seed": 2}),
    (
        "Five: those that start at 7, 8, 9, 10 and 11.",
        lambda: (boundary_windows([10, 11], 100, 3), boundary_windows([3, 4], 100, 3)),
        (5, 5),
    ),
]


def rows_of(**place: int) -> list[int]:
    """The rows of a batch of 12 that a rank keeps."""
    sizes = (np.arange(5000), 16, 12, 7)
    whole = make_train_loader(*sizes).batch_at(0)[0][:, 0].tolist()
    return [whole.index(start) for start in make_train_loader(*sizes, **place).batch_at(0)[0][:, 0]]


def bits_of_the_largest_seed() -> int:
    """How many bits the largest number has that is not refused."""

    def taken(step: int) -> bool:
        try:
            return batch_seed(0, step) == step
        except ValueError:
            return False

    return max(bits for bits in range(100) if taken(2**bits - 1))


def firsts(seed: int, step: int) -> list[int]:
    """Where the windows of a batch start."""
    x, _ = make_train_loader(np.arange(1000), 16, 4, seed).batch_at(step)
    return x[:, 0].tolist()

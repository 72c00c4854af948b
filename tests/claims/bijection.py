"""An order that is computed: the numbers of its page."""

import math
from collections import Counter

import numpy as np
from test_bijection import SEEDS, odd

import bijection
from bijection import Bijection
from literate.figures_bijection import DOTS, SEED, walks

PAGE = "bijection.md"
GIVEN = [
    "Of 256 windows: a dot for each place and the window that comes there, with seed 42.",
    "Numbers have 4 bits, and the hash of a round is always `10`.",
    "What becomes of 13 after two rounds?",
    "There are 100 windows.",
    "(“Ciphers with Arbitrary Finite Domains”, 2002)",
]


def halves(number: int) -> tuple[int, int]:
    return divmod(number, 4)


def always_two(number: int) -> list[int]:
    """A number of 4 bits after one round and after two, with a hash that is always 2."""
    way = []
    for _ in range(2):
        left, right = halves(number)
        number = right * 4 + (left ^ 0b10)
        way.append(number)
    return way


CLAIMS = [
    (
        "at 100 million windows it takes 800 MB",
        lambda: np.dtype(np.int64).itemsize * 100_000_000,
        800_000_000,
    ),
    (
        "Ten windows have numbers of 4 bits, so 10 to 15 are walked over:",
        lambda: ((10 - 1).bit_length(), list(range(10, 2**4))),
        (4, [10, 11, 12, 13, 14, 15]),
    ),
    ("The walks of ten places with seed 42.", lambda: (len(walks()[1]), SEED, DOTS), (10, 42, 256)),
    (
        "| keys, two for each round | `(8, 2)` | 8 × 2 |",
        lambda: (bijection.ROUNDS, Bijection(10, 0)._keys.shape),
        (8, (8, 2)),
    ),
    (
        "| the part of the order that is kept, to be asked again | `(8192,)` | 8,192 |",
        lambda: bijection._PART,
        8192,
    ),
    ("so epoch 1 of one seed is not epoch 0 of the next", lambda: same_order(), False),
    ("8,192 at a time", lambda: bijection._PART, 8192),
    (
        "An order is drawn by numbers of 64 bits, and already 21 windows have more orders",
        lambda: [math.factorial(n) > 2**64 for n in (20, 21)],
        [False, True],
    ),
    (
        (
            "13 is `1101`.\n"
            "After one round the halves are `01` and `11` ⊕ `10` = `01`, after two `01` and `01` ⊕ "
            "`10` = `11`.\n`0111` is 7."
        ),
        lambda: (f"{13:b}", always_two(13)),
        ("1101", [0b0101, 0b0111]),
    ),
    (
        "99 takes 7 bits, so there are 128 numbers, and 28 are no windows.",
        lambda: ((100 - 1).bit_length(), 2**7, 2**7 - 100),
        (7, 128, 28),
    ),
    (
        "If $W$ is a power of two from 16 on",
        lambda: [n for n in (4, 8, 16, 32, 64) if not any(odd(o) for o in orders(n, 60))],
        [16, 32, 64],
    ),
    (
        "Of 5 windows each of the 120 orders comes, but some more than twice as often as others.",
        lambda: (math.factorial(5), uneven(4800) > 2),
        (120, True),
    ),
    ("Over 5,000 seeds", lambda: SEEDS, 5000),
]


def orders(n: int, seeds: int) -> list[np.ndarray]:
    return [Bijection(n, seed)[:] for seed in range(seeds)]


def uneven(seeds: int) -> float:
    """How much more often than the rarest order of five the commonest comes."""
    counted = Counter(tuple(order.tolist()) for order in orders(5, seeds)).values()
    return max(counted) / min(counted)


def same_order() -> bool:
    return Bijection(50, 0, 1)[:].tolist() == Bijection(50, 1, 0)[:].tolist()

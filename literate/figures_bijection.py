"""The figure and the table of the page about an order that is computed."""

import numpy as np

from bijection import Bijection
from literate.figures import _svg, _text
from windows import window_order

SEED, DOTS, SIDE = 42, 256, 180
WALKED = 10


def orders() -> str:
    """Which window comes at each place, in pandas' order and in a computed one: a dot each."""
    drawn = window_order(DOTS, np.random.default_rng(SEED))
    parts = []
    for left, name, order in (
        (0, "pandas' order", drawn),
        (220, "computed", Bijection(DOTS, SEED)),
    ):
        step = SIDE / DOTS
        dots = "".join(
            f"M{left + place * step:.0f} {24 + SIDE - window * step:.0f}h0"
            for place, window in enumerate(order[:])
        )
        parts += [
            _text(left + SIDE / 2, 12, name, "b c"),
            f'<path d="{dots}" style="stroke-width:3;stroke-linecap:round"/>',
            _text(left + SIDE / 2, 46 + SIDE, "place →, window ↑", "s c"),
        ]
    return _svg(
        "rounds",
        54 + SIDE,
        "A drawn order and a computed one",
        f"Of {DOTS} windows, a dot for each: its place in the epoch from left to right, its number "
        "from bottom to top. In pandas' order and in the computed one alike the dots are strewn.",
        parts,
    )


def walks() -> tuple[list[str], list[list[str]]]:
    """What ten places become on their walk among 16 numbers, until each is a window."""
    order = Bijection(WALKED, SEED)
    every = Bijection(16, SEED)  # the same keys and bits, and nothing falls outside
    rows = []
    for place in range(WALKED):
        way = [int(every[[place]][0])]
        while way[-1] >= WALKED:
            way.append(int(every[[way[-1]]][0]))
        assert way[-1] == order[[place]][0]
        steps = " → ".join(map(str, [place, *way]))
        rows.append([str(place), steps, str(way[-1])])
    return ["Place", "Walk", "Window"], rows

"""The order of an epoch."""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measure import costs, line, row

T, PART = 16, 1 << 16
LARGE = 100_000_000  # windows from which each is measured once, for `sample` takes most of a minute


@row("bijection.py", "windows.py")
def order(windows: Sequence[int] = (1_000_000, LARGE), rounds: int = 5) -> dict[str, Any]:
    """An epoch's order in time and memory: pandas' and a bijection's, beside their peers."""
    figures: dict[str, Any] = {}
    lines = []
    for count in windows:
        for _ in range(1 if count >= LARGE else rounds):
            for name, make in ORDERS.items():
                told = costs(make, count)
                figures.setdefault(f"{count}_{name}_seconds", []).append(told["seconds"])
                figures.setdefault(f"{count}_{name}_bytes", []).append(told["bytes"])
        figures |= {k: statistics.median(v) for k, v in figures.items() if isinstance(v, list)}
        for unit, key in (("s", "seconds"), ("bytes", "bytes")):
            got = {name: figures[f"{count}_{name}_{key}"] for name in ORDERS}
            limit = got["write"] if unit == "s" else 8 * count
            common = {
                "unit": unit,
                "limit": limit,
                "bound": "writing the numbers of the windows"
                if unit == "s"
                else "a list of the windows, 8 bytes each",
            }
            told = "Order of" if unit == "s" else "Memory of the order of"
            lines += [
                line(
                    f"{told} {count:,} windows, pandas'",
                    got["ours"],
                    same={"`rng.choice`": got["choice"], "`sample(frac=1)`": got["sample"]},
                    less={"`rng.permutation`": got["permutation"], "`randperm`": got["randperm"]},
                    why="It is one call of `rng.choice`, which draws what `sample` draws; the rest "
                    "is the noise of a run.",
                    **common,
                ),
                line(
                    f"{told} {count:,} windows, by bijection",
                    got["bijection"],
                    same={
                        name: got[key]
                        for name, key in (
                            ("`rng.choice`", "choice"),
                            ("`rng.permutation`", "permutation"),
                            ("`randperm`", "randperm"),
                        )
                    },
                    why="It computes eight rounds for each window and stores nothing, so any place "
                    "of the order is had at once; the others move a list about.",
                    **common,
                ),
            ]
    return figures | {"lines": lines}


def ours(count: int) -> Callable[[], Any]:
    from windows import window_order

    return lambda: window_order(count, np.random.default_rng(0))


def bijection(count: int) -> Callable[[], Any]:
    """The whole epoch, a part after the other, as a loop takes it."""
    from bijection import Bijection

    def run():
        places = Bijection(count, 0, 0)
        for start in range(0, count, PART):
            places[start : start + PART]

    return run


def choice(count: int) -> Callable[[], Any]:
    return lambda: np.random.default_rng(0).choice(count, count, replace=False)


def permutation(count: int) -> Callable[[], Any]:
    return lambda: np.random.default_rng(0).permutation(count)


def randperm(count: int) -> Callable[[], Any]:
    import torch

    generator = torch.Generator().manual_seed(0)
    return lambda: torch.randperm(count, generator=generator)


def sample(count: int) -> Callable[[], Any]:
    """The frame of the windows itself: each of them is copied."""
    ids = np.zeros(count + T - 1, dtype=np.int64)
    view = np.lib.stride_tricks.sliding_window_view(ids, T)
    frame = pd.DataFrame(view, copy=False)
    return lambda: frame.sample(frac=1, random_state=np.random.default_rng(0))


def write(count: int) -> Callable[[], Any]:
    return lambda: np.arange(count)


ORDERS = {
    "ours": ours,
    "bijection": bijection,
    "choice": choice,
    "permutation": permutation,
    "randperm": randperm,
    "sample": sample,
    "write": write,
}

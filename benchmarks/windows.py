"""Windows over many ids, and a batch of them."""

from typing import Any

import numpy as np
import pandas as pd
import torch

from benchmarks.measure import in_turn, line, peak, row
from data import iterate_batches, make_windows


@row("data.py", "windows.py")
def windows(n: int = 10_000_000, few: int = 100_000, T: int = 256) -> dict[str, Any]:
    """Frames of windows, beside torch's `unfold`, and plain indexing over fewer ids."""
    ids, some = np.zeros(n, dtype=np.int64), np.zeros(few, dtype=np.int64)
    tensor = torch.from_numpy(ids)

    def indexing():
        rows = np.arange(few - T)[:, None] + np.arange(T)
        return pd.DataFrame(some[rows]), pd.DataFrame(some[rows + 1])

    contenders = {
        "ours": lambda: make_windows(ids, T),
        "unfold": lambda: (tensor[:-1].unfold(0, T, 1), tensor[1:].unfold(0, T, 1)),
        "ours_few": lambda: make_windows(some, T),
    }
    in_turn(3, **contenders)
    times = in_turn(51, **contenders) | in_turn(3, indexing=indexing)
    figures = {f"{name}_seconds": t for name, t in times.items()}
    held = peak(lambda: make_windows(ids, T))
    figures |= {"ours_bytes": held, "indexing_bytes_few": peak(indexing)}
    figures |= {"indexing_bytes": 2 * (n - T) * T * 8, "n": n, "few": few}
    return figures | {
        "lines": [
            line(
                f"Windows of {T} over {few:,} ids, as frames",
                times["ours_few"],
                same={"plain indexing": times["indexing"]},
                bound="nothing is copied",
            ),
            line(
                f"Windows of {T} over {n:,} ids, as frames",
                times["ours"],
                less={"torch `unfold`": times["unfold"]},
                bound="nothing is copied",
                why="Two frames with one index are made around a view that cannot be written to, "
                "once for a whole run.",
            ),
            line(
                f"Memory of windows of {T} over {n:,} ids, as frames",
                held,
                unit="bytes",
                same={"plain indexing, computed": figures["indexing_bytes"]},
                bound="nothing is copied",
            ),
        ]
    }


@row("data.py", "windows.py")
def batch(n: int = 1_000_000, T: int = 256, B: int = 32, rounds: int = 15) -> dict[str, Any]:
    """A batch, in microseconds: from our frames, from the bare view, by `.loc`."""
    inputs, targets = make_windows(np.random.default_rng(0).integers(0, 1000, n), T)
    x, y = inputs.to_numpy(), targets.to_numpy()
    rng = np.random.default_rng(1)
    some = min(300, len(x) // B // (rounds + 1))  # batches a turn, each of rows that are not hot
    feed = iterate_batches(inputs, targets, B, rng)
    rows = rng.permutation(len(x))[: some * B * rounds].reshape(rounds, some, B)
    turns = {"gather": iter(rows), "loc": iter(rows)}

    def ours():
        for _ in range(some):
            next(feed)

    def gather():
        for pick in next(turns["gather"]):
            x[pick], y[pick]

    def loc():
        for pick in next(turns["loc"]):
            inputs.loc[pick].to_numpy(), targets.loc[pick].to_numpy()

    times = in_turn(rounds, ours=ours, gather=gather, loc=loc)
    each = {name: t / some for name, t in times.items()}
    figures = {name: t * 1e6 for name, t in each.items()}
    return figures | {
        "ratio": figures["gather"] / figures["ours"],
        "lines": [
            line(
                f"A batch ({B}, {T}) from the frames",
                each["ours"],
                same={"`.loc`": each["loc"]},
                limit=each["gather"],
                bound="the bare gather of its rows",
            )
        ],
    }

"""Windows joined with their documents, and the ledger of a million tokens."""

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measure import in_turn, row
from ledger import ledger
from lineage import window_lineage
from stream import Stream
from windows import sliding_windows

WINDOWS, SEQ_LEN = 217_444, 128  # the training side of seed 000, at stride 1
TOKENS, STRIDE = 1_000_000, 32


@row("ledger.py", "lineage.py", "stream.py", "windows.py")
def lineage() -> dict[str, Any]:
    """Seconds of each, over documents of 1 to 400 tokens."""
    windows = sliding_windows(WINDOWS + SEQ_LEN, SEQ_LEN)
    long, short = documents(WINDOWS + SEQ_LEN), documents(TOKENS)
    some = sliding_windows(TOKENS, SEQ_LEN, STRIDE)
    seconds = in_turn(
        9,
        window_lineage=lambda: window_lineage(windows, long.spans),
        ledger=lambda: ledger(short, short, some, "isolated"),
    )
    rows = len(window_lineage(windows, long.spans))
    found = {"windows": len(windows), "rows": rows, "tokens": TOKENS, "ledger_windows": len(some)}
    return found | {f"{name}_seconds": time for name, time in seconds.items()}


def documents(n: int) -> Stream:
    """`n` ids in documents whose sizes are drawn."""
    sizes = np.random.default_rng(1).integers(1, 401, n // 50 + 20)
    stop = np.minimum(np.cumsum(sizes), n)
    stop = stop[: np.argmax(stop == n) + 1]
    start = np.append(0, stop[:-1])
    spans = {"start": start, "stop": stop, "doc_id": np.arange(len(stop)), "doc_start": 0}
    return Stream(np.zeros(n, np.int64), pd.DataFrame(spans))

"""How time and memory grow with the sizes that the road depends on."""

import math
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from batches import get_batch
from benchmarks.lineage import documents
from benchmarks.measure import peak, row, stories
from benchmarks.packing import documents as geometric
from bijection import Bijection
from corpus import load_documents
from data import build_tokenizer, encode_corpus, iterate_batches, make_windows
from ledger import ledger
from lineage import window_lineage
from packing import pack
from sides import assign_splits
from windows import sliding_windows, window_order

Run = Callable[[], Any]
DECADES = 3
LEAST, TURNS = 0.005, 3  # processor seconds of a turn at least, and turns


def reading(n: int, folder: str) -> Run:
    path = Path(folder, "rows.csv")
    texts = (f"document {i} with a text of a few words, like many" for i in range(n))
    path.write_text("text\n" + "".join(f'"{text}"\n' for text in texts), encoding="utf-8")
    return lambda: load_documents(path)


def splitting(n: int, folder: str) -> Run:
    texts = pd.Series([f"document {i}" for i in range(n)], dtype="str")
    frame = pd.DataFrame({"text": texts, "group": texts})
    return lambda: assign_splits(frame, 0.1)


def encoding(n: int, folder: str) -> Run:
    text = stories(n / 1e6 + 1)[:n]
    tok = build_tokenizer(stories(0.5), 1000)
    return lambda: encode_corpus(text, tok)


def windows(n: int, folder: str, T: int = 64) -> Run:
    ids = np.zeros(n + T, dtype=np.int64)
    return lambda: make_windows(ids, T)


def windows_of(T: int, folder: str) -> Run:
    return windows(1_000_000, folder, T)


def order(n: int, folder: str) -> Run:
    return lambda: window_order(n, np.random.default_rng(0))


def bijection(n: int, folder: str) -> Run:
    places = Bijection(n, 0)

    def run():
        for start in range(0, n, 1 << 16):
            places[start : start + (1 << 16)]

    return run


def batch(B: int, folder: str, T: int = 64) -> Run:
    frames = make_windows(np.zeros(2_000_000, dtype=np.int64), T)

    def feed():
        while True:
            yield from iterate_batches(*frames, B, np.random.default_rng(0))

    batches = feed()
    next(batches)
    return lambda: next(batches)


def batch_of(T: int, folder: str) -> Run:
    return batch(8, folder, T)


def random_batch(B: int, folder: str) -> Run:
    tokens, generator = torch.zeros(2_000_000, dtype=torch.int64), torch.Generator().manual_seed(0)
    return lambda: get_batch(tokens, 64, B, generator)


def packing(n: int, folder: str) -> Run:
    source = geometric(n)
    return lambda: pack(source, 1024, 0)


def counting(n: int, folder: str) -> Run:
    stream, table = documents(n), sliding_windows(n, 128, 32)
    return lambda: ledger(stream, stream, table, "isolated")


def joining(n: int, folder: str) -> Run:
    spans, table = documents(n + 128).spans, sliding_windows(n + 128, 128)
    return lambda: window_lineage(table, spans)


# function, letter, the smallest of the sizes, what makes it for a size
CURVES: list[tuple[str, str, int, Callable[[int, str], Run]]] = [
    ("load_documents", "D", 100, reading),
    ("assign_splits", "D", 100, splitting),
    ("encode_corpus", "N", 10_000, encoding),
    ("make_windows", "N", 10_000, windows),
    ("make_windows", "T", 8, windows_of),
    ("epoch_order", "W", 10_000, order),
    ("Bijection", "W", 10_000, bijection),
    ("iterate_batches", "B", 8, batch),
    ("iterate_batches", "T", 8, batch_of),
    ("get_batch", "B", 8, random_batch),
    ("pack", "D", 1_000, packing),
    ("ledger", "N", 10_000, counting),
    ("window_lineage", "W", 1_000, joining),
]


@row(
    *("batches.py", "benchmarks/lineage.py", "benchmarks/packing.py", "bijection.py", "corpus.py"),
    *("data.py", "ledger.py", "lineage.py", "packing.py", "readers.py", "sides.py"),
    *("stream.py", "tokenizer.py", "windows.py"),
)
def growth(scale: float = 1.0, turns: int = TURNS) -> dict[str, Any]:
    """Processor time and memory of each function of the road over three decades, with exponents.

    `scale` makes all sizes smaller. The memory is what Python and NumPy hold; what the tokenizer
    holds inside is in the row `encoding`.
    """
    curves = []
    with tempfile.TemporaryDirectory() as folder:
        for name, letter, least, make in CURVES:
            sizes = [max(2, round(least * scale)) * 10**k for k in range(DECADES + 1)]
            took, held = [], []
            for size in sizes:
                run = make(size, folder)
                took.append(cpu_seconds(run, turns))
                held.append(peak(run))
            curves.append(
                {
                    "function": name,
                    "letter": letter,
                    "sizes": sizes,
                    "seconds": took,
                    "bytes": held,
                    "exponent": exponent(sizes, took),
                    "last_exponent": exponent(sizes[-2:], took[-2:]),
                    "bytes_exponent": exponent(sizes, held),
                }
            )
    steepest = max(curves, key=lambda curve: curve["exponent"])
    return {
        "functions": len({curve["function"] for curve in curves}),
        "largest_exponent": steepest["exponent"],
        "largest_exponent_of": steepest["function"],
        "curves": curves,
    }


def cpu_seconds(run: Run, turns: int) -> float:
    """The least processor time of a call, which a busy neighbour moves less than the clock.

    Calls that take next to nothing are timed many at once.
    """
    begun = time.process_time()
    run()
    calls = max(1, int(LEAST / max(time.process_time() - begun, 1e-7)))
    least = math.inf
    for _ in range(turns):
        begun = time.process_time()
        for _ in range(calls):
            run()
        least = min(least, (time.process_time() - begun) / calls)
    return least


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The slope of the costs over the sizes, both as logarithms, by least squares.

    >>> round(exponent([10, 100, 1000], [5, 50, 500]), 6)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(costs, 1e-9)), 1)[0])

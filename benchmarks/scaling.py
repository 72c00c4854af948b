"""Order and shard traffic at ten billion and ten trillion tokens, simulated at the real W.

Nothing of that size is made: an element of an order by bijection costs the same wherever it is, so
a few batches of the real epoch say which shards and pages all of them touch.
"""

import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measure import in_turn, row, seconds
from benchmarks.record import ROOT
from bijection import Bijection
from corpus import load_documents
from sides import group_hash
from stream import encode_documents
from tokenizer import Tokenizer

ID_BYTES, PAGE = 2, 4096  # uint16 ids; what a disk gives at least
T = 2048  # and the stride: no id is an input twice
SHARD = 1 << 27  # ids of a shard: 256 MiB
RUN, GROUP = 256, 64  # windows of a run, 1 MiB; runs that are shuffled together

# tokens; windows of a global batch; ranks; tokens that all ranks together train on a second. Given.
SIZES = {
    "ten_billion": (10**10, 256, 8, 400_000),
    "ten_trillion": (10**13, 2048, 1024, 20_000_000),
}


@dataclass(frozen=True)
class Runs:
    """Each of 0 … W − 1 once: runs of neighbours in a drawn order, shuffled a group at a time.

    Every lane takes a group of runs, reads it whole, and gives its windows in an order of its own;
    place i of the epoch is the next of lane i mod lanes. As many ranks as divide the lanes get the
    same batches. What is left over when the lanes' groups are done is one bijection.
    """

    n_windows: int
    seed: int
    lanes: int
    run: int = RUN
    group: int = GROUP

    def __getitem__(self, places: slice | np.ndarray) -> np.ndarray:
        if isinstance(places, slice):
            places = np.arange(*places.indices(self.n_windows))
        size = self.run * self.group
        whole = self.n_windows // (size * self.lanes) * size * self.lanes
        windows, groups = np.empty_like(places), whole // size
        number = places // (size * self.lanes) * self.lanes + places % self.lanes
        number[places >= whole] = groups
        for k in np.unique(number).tolist():
            mine = number == k
            if k == groups:
                rest = Bijection(self.n_windows - whole, self.seed, k + 1)
                windows[mine] = whole + rest[places[mine] - whole]
                continue
            drawn = Bijection(size, self.seed, k + 1)[places[mine] // self.lanes % size]
            runs = Bijection(whole // self.run, self.seed)[k * self.group + drawn // self.run]
            windows[mine] = runs * self.run + drawn % self.run
        return windows


def pages_of(windows: np.ndarray) -> int:
    """How many pages the windows touch; the last target of one is the first id of the next."""
    first = windows * T * ID_BYTES // PAGE
    last = ((windows + 1) * T * ID_BYTES + ID_BYTES - 1) // PAGE
    reach = np.arange(int((last - first).max()) + 1)
    return len(np.unique(np.minimum(first[:, None] + reach, last[:, None])))


def shards_of(windows: np.ndarray) -> int:
    """How many shards they touch."""
    return len(np.unique(np.concatenate([windows * T, (windows + 1) * T]) // SHARD))


def alone(windows: np.ndarray) -> float:
    """The part of a batch that has no other window of its run beside it."""
    counts = np.unique(windows // RUN, return_counts=True)[1]
    return float((counts == 1).sum() / len(windows))


def traffic(order: Any, told: dict[str, Any], batches: int, pieces: bool) -> dict[str, float]:
    """Of whole batches spread over the epoch, and of one rank while it gives a group of windows.

    A read is a window by itself, or in `pieces` a run.
    """
    W, B, ranks = told["windows"], told["batch_windows"], told["ranks"]
    steps = np.linspace(0, W // B - 1, batches).astype(int)
    drawn = [order[step * B : step * B + B] for step in steps]
    span = RUN * GROUP * ranks
    first = W // span // 2 * span
    mine = order[np.arange(first, min(W, first + span), ranks)]  # rank 0, from a group's first
    resumed = first + span // 2 // B * B
    begun = time.perf_counter()
    order[np.arange(resumed, resumed + B, ranks)]
    took = time.perf_counter() - begun
    reads = len(np.unique(mine // RUN)) if pieces else len(mine)
    pages = len(np.unique(mine // RUN)) * pages_of(np.arange(RUN)) if pieces else 2 * len(mine)
    each = told["tokens_per_second"] / T / len(mine)  # such groups a second, all ranks together
    return {
        "shards_a_batch": statistics.mean(map(shards_of, drawn)),
        "alone": statistics.mean(map(alone, drawn)),
        "rank_windows": len(mine),
        "rank_shards": shards_of(mine),
        "rank_pages": pages_of(mine),
        "rank_reads": reads,
        "bytes_a_token": pages * PAGE / (len(mine) * T),
        "reads_per_second": reads * each,
        "bytes_per_second": pages * PAGE * each,
        "rank_buffer_bytes": RUN * GROUP * T * ID_BYTES if pieces else 0,
        "resume_seconds": took,
    }


@row("bijection.py", "sides.py", "stream.py", "tokenizer.py")
def scaling(
    batches: int = 20, documents: int = 20_000, disk_bytes: int = 1 << 28
) -> dict[str, Any]:
    """Shards, pages, reads and memory of an epoch: one bijection of all windows, and of runs."""
    figures: dict[str, Any] = {"T": T, "shard_bytes": SHARD * ID_BYTES, "page_bytes": PAGE}
    figures |= {"run_windows": RUN, "run_bytes": RUN * T * ID_BYTES, "group_runs": GROUP}
    for name, (tokens, B, ranks, speed) in SIZES.items():
        W = (tokens - T - 1) // T + 1
        told = {
            **{"tokens": tokens, "windows": W, "batch_windows": B, "ranks": ranks},
            **{"tokens_per_second": speed, "shards": -(-tokens // SHARD)},
            **{"list_bytes": 8 * W, "steps": W // B, "days": tokens / speed / 86_400},
        }
        for kind, order in {"global": Bijection(W, 1), "runs": Runs(W, 1, ranks)}.items():
            found = traffic(order, told, batches, kind == "runs")
            figures |= {f"{name}_{kind}_{key}": value for key, value in found.items()}
        figures |= {f"{name}_{key}": value for key, value in told.items()}
    return figures | rates(documents) | random_reads(disk_bytes)


def rates(documents: int) -> dict[str, float]:
    """What a document costs: its hash, and its row among the spans, as they are kept on disk."""
    texts = load_documents(ROOT / "data" / "corpus.csv")["text"].tolist()
    some = [texts[i % len(texts)] for i in range(documents)]

    def hashed():
        for text in some:
            group_hash(text, 0)

    spans = encode_documents(pd.DataFrame({"text": some}), Tokenizer([])).spans
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "spans.parquet")
        spans.to_parquet(path)
        size = path.stat().st_size
    return {
        "hashes_per_second": documents / in_turn(3, hashed=hashed)["hashed"],
        "span_bytes_a_document": size / documents,
        "text_bytes_a_document": sum(len(text.encode()) for text in some) / documents,
    }


def random_reads(size: int, count: int = 2000) -> dict[str, Any]:
    """Reads of two pages a second at random places of a file of this disk, past the cache."""
    import mmap
    import os

    if not hasattr(os, "O_DIRECT"):
        return {}
    with tempfile.TemporaryDirectory(dir=ROOT) as folder:
        path = Path(folder, "file")
        path.write_bytes(os.urandom(size))
        os.sync()
        handle = os.open(path, os.O_RDONLY | os.O_DIRECT)
        try:
            buffer = mmap.mmap(-1, 2 * PAGE)
            places = np.random.default_rng(0).integers(0, size // PAGE - 2, count) * PAGE
            took = seconds(lambda: [os.preadv(handle, [buffer], p) for p in places.tolist()])
            large = mmap.mmap(-1, RUN * T * ID_BYTES)
            starts = range(0, size - len(large), len(large))
            whole = seconds(lambda: [os.preadv(handle, [large], p) for p in starts])
        finally:
            os.close(handle)
    return {
        "disk_reads_per_second": count / took,
        "disk_run_reads_per_second": len(starts) / whole,
        "disk_bytes_per_second": len(starts) * len(large) / whole,
    }

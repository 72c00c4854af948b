"""Batches of grain, litdata and mosaicml-streaming; and how torchdata's loader goes on."""

import importlib.util
import statistics
import sys
import tempfile
import time
import types
from importlib.metadata import version

import numpy as np

COUNT = 60
STORED = 1_000_000  # ids that litdata and mosaicml-streaming write into files of their own


def timed(feed, rounds: int) -> float:
    """Median microseconds a batch; the first round only warms up."""
    times = []
    for _ in range(rounds + 1):
        begun = time.perf_counter()
        for _ in range(COUNT):
            next(feed)
        times.append((time.perf_counter() - begun) / COUNT * 1e6)
    return statistics.median(times[1:])


class Windows:
    """A random-access source for grain: two slices a window."""

    def __init__(self, ids: np.ndarray, T: int):
        self.ids, self.T = ids, T

    def __len__(self):
        return len(self.ids) - self.T

    def __getitem__(self, i):
        x, y = self.ids[i : i + self.T], self.ids[i + 1 : i + self.T + 1]
        return x.astype(np.int64), y.astype(np.int64)

    def __repr__(self):
        return f"Windows({len(self.ids)}, {self.T})"


def grain_batches(path: str, dtype: str, B: int, T: int, rounds: int) -> list:
    """grain, seeded, over an array in memory or, for uint16, over the mapped file."""
    import grain

    ids = np.memmap(path, dtype, "r")
    source = Windows(ids if dtype == "uint16" else np.array(ids), T)
    data = grain.MapDataset.source(source).shuffle(seed=1).repeat()
    feed = iter(data.batch(B).to_iter_dataset(grain.ReadOptions(num_threads=0)))
    return [timed(feed, rounds), version("grain")]


def litdata_batches(path: str, B: int, T: int, rounds: int) -> list:
    """litdata's own way for tokens: windows that do not overlap, from files of its own."""
    import torch
    from litdata import StreamingDataLoader, StreamingDataset, TokensLoader
    from litdata.streaming import Cache

    ids = torch.from_numpy(np.fromfile(path, np.uint16, STORED).astype(np.int32))
    with tempfile.TemporaryDirectory() as folder:
        kind = TokensLoader(block_size=T + 1)
        cache = Cache(folder, chunk_size=(T + 1) * 2048, item_loader=kind)
        for number, start in enumerate(range(0, len(ids), 100_000)):
            cache._add_item(number, ids[start : start + 100_000])
        cache.done()
        cache.merge()
        data = StreamingDataset(folder, item_loader=kind, shuffle=True, seed=1)
        us = timed(endless(StreamingDataLoader(data, batch_size=B)), rounds)
    return [us, version("litdata")]


def streaming_batches(path: str, B: int, T: int, rounds: int) -> list:
    """mosaicml-streaming: windows that do not overlap, from files of its own."""
    from torch.utils.data import DataLoader

    writer, dataset = streaming_parts()
    ids = np.fromfile(path, np.uint16, STORED)
    size = T + 1
    with tempfile.TemporaryDirectory() as folder:
        with writer(out=folder, columns={"ids": f"ndarray:uint16:{size}"}) as out:
            for start in range(0, len(ids) - size, size):
                out.write({"ids": ids[start : start + size]})
        data = dataset(local=folder, shuffle=True, batch_size=B, shuffle_seed=1)
        us = timed(endless(DataLoader(data, batch_size=B)), rounds)
    return [us, version("mosaicml-streaming")]


def streaming_parts():
    """Its writer and its Dataset, without its parts for pictures, whose torchvision wants a GPU."""
    spec = importlib.util.find_spec("streaming")
    if spec is None:
        raise ModuleNotFoundError("No module named 'streaming'")
    package = types.ModuleType("streaming")
    package.__path__ = list(spec.submodule_search_locations)
    package.__version__ = version("mosaicml-streaming")
    sys.modules["streaming"] = package
    from streaming.base import MDSWriter, StreamingDataset

    return MDSWriter, StreamingDataset


def endless(loader):
    while True:
        yield from loader


def stateful_resume(windows: int, B: int, step: int) -> list:
    """Seconds until torchdata's StatefulDataLoader, told a state of `step`, gives its next batch.

    Each item is its number, so all that is measured is how it finds the place.
    """
    import torch
    from torchdata.stateful_dataloader import StatefulDataLoader

    def loader():
        generator = torch.Generator().manual_seed(1)
        return StatefulDataLoader(range(windows), B, shuffle=True, generator=generator)

    first = loader()
    feed = iter(first)
    for _ in range(step):
        next(feed)
    state, expected = first.state_dict(), next(feed)
    begun = time.perf_counter()
    again = loader()
    again.load_state_dict(state)
    got = next(iter(again))
    seconds = time.perf_counter() - begun
    return [seconds, bool(torch.equal(got, expected)), version("torchdata")]

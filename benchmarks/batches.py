"""Batches beside torch's DataLoader, nanoGPT's way and a bare copy; and what going on costs."""

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from batches import make_train_loader
from benchmarks.rows import in_turn
from data import iterate_batches, make_windows
from loaders import RandomWindowDataset, make_dataloader

SIZES = ((16, 16), (32, 128), (12, 1024))  # (B, T)
FILE_IDS, MEMORY_IDS = 100_000_000, 10_000_000
ROUNDS, BATCHES = 15, 60


class OneByOne(Dataset):
    """The windows of a RandomWindowDataset as most Datasets give them: one item, two slices."""

    def __init__(self, tokens: Any, T: int, starts: np.ndarray):
        self.tokens, self.T, self.starts = tokens, T, starts.tolist()

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, i):
        return pair(self.tokens, self.starts[i], self.T)


def pair(tokens: Any, start: int, T: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Input and target by two slices: views of a tensor, copies of a mapped file."""
    x, y = tokens[start : start + T], tokens[start + 1 : start + T + 1]
    if isinstance(tokens, torch.Tensor):
        return x, y
    return torch.from_numpy(x.astype(np.int64)), torch.from_numpy(y.astype(np.int64))


def slices(tokens: Any, B: int, T: int) -> Iterator[Any]:
    """nanoGPT's way: a mapped file is opened anew for each batch, and slices are stacked."""
    generator = torch.Generator().manual_seed(1)
    while True:
        if not isinstance(tokens, torch.Tensor):
            tokens = np.memmap(tokens.filename, dtype=np.uint16, mode="r")
        starts = torch.randint(len(tokens) - T, (B,), generator=generator).tolist()
        pairs = [pair(tokens, start, T) for start in starts]
        yield torch.stack([x for x, _ in pairs]), torch.stack([y for _, y in pairs])


def feeds(tokens: Any, B: int, T: int) -> dict[str, Iterator[Any]]:
    """What gives batches, each by itself; all that can be made beforehand is made."""
    data = RandomWindowDataset(tokens, T, (ROUNDS + 1) * BATCHES * B, seed=1)
    plain = partial(DataLoader, OneByOne(tokens, T, data.offsets), B, shuffle=True)
    batch = np.zeros((2, B, T), dtype=np.int64)
    return {
        "step": make_train_loader(tokens, T, B, seed=1),
        "loader": iter(make_dataloader(data, B)),
        "plain": iter(plain(generator=torch.Generator().manual_seed(0))),
        "workers": iter(plain(generator=torch.Generator().manual_seed(0), num_workers=2)),
        "slices": slices(tokens, B, T),
        "copy": (batch.copy() for _ in repeat(None)),
    }


def take(feed: Iterator[Any]) -> None:
    for _ in range(BATCHES):
        next(feed)


def batches() -> dict[str, float]:
    """Microseconds a batch, and how many times as fast as its rival each of ours is."""
    rng, figures = np.random.default_rng(0), {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ids.bin")
        rng.integers(0, 50_000, FILE_IDS, dtype=np.uint16).tofile(path)
        places = {
            "memory": torch.from_numpy(rng.integers(0, 50_000, MEMORY_IDS)),
            "mapped": np.memmap(path, dtype=np.uint16, mode="r"),
        }
        for place, tokens in places.items():
            for B, T in SIZES:
                contenders = {
                    name: partial(take, feed) for name, feed in feeds(tokens, B, T).items()
                }
                in_turn(1, **contenders)
                times = in_turn(ROUNDS, **contenders)
                rival = min(times["plain"], times["workers"])
                us = {name: seconds / BATCHES * 1e6 for name, seconds in times.items()}
                us |= {"step_ratio": min(rival, times["slices"]) / times["step"]}
                us |= {"loader_ratio": rival / times["loader"]}
                figures |= {f"{place}_{B}_{T}_{name}": figure for name, figure in us.items()}
        figures["workers_start_seconds"] = start_of_workers(places["memory"])
        del places, tokens, contenders
    return figures


def start_of_workers(tokens: torch.Tensor) -> float:
    """Seconds until two workers have given their first batch."""
    data = OneByOne(tokens, 128, np.zeros(64, dtype=int))
    begun = time.perf_counter()
    next(iter(DataLoader(data, 32, num_workers=2)))
    return time.perf_counter() - begun


def resume_cost() -> dict[str, float]:
    """The first batch of a loader made for step 0 and for step 1,000,000; an epoch and its half."""
    tokens = torch.zeros(MEMORY_IDS, dtype=torch.int64)
    inputs, targets = make_windows(tokens.numpy(), 128, 64)
    half = len(inputs) // 32 // 2

    def by_step(step):
        for _ in range(30):
            next(make_train_loader(tokens, 128, 32, seed=1, start_step=step))

    def by_epoch(start):
        next(iterate_batches(inputs, targets, 32, np.random.default_rng(1), start=start))

    steps = in_turn(31, first=partial(by_step, 0), late=partial(by_step, 1_000_000))
    epochs = in_turn(15, begun=partial(by_epoch, 0), half=partial(by_epoch, half))
    return {
        "step_0_us": steps["first"] / 30 * 1e6,
        "step_1000000_us": steps["late"] / 30 * 1e6,
        "ratio": steps["late"] / steps["first"],
        "epoch_begun_ms": epochs["begun"] * 1e3,
        "epoch_half_ms": epochs["half"] * 1e3,
        "epoch_ratio": epochs["half"] / epochs["begun"],
    }

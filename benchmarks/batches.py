"""Batches beside torch's DataLoader, nanoGPT's way and a bare copy; and what going on costs."""

import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from batches import make_train_loader
from benchmarks.measure import in_turn, line, peer, row
from bijection import Bijection
from data import iterate_batches, make_windows
from loaders import RandomWindowDataset, make_dataloader

SIZES = ((16, 16), (32, 128), (12, 1024))  # (B, T)
FILE_IDS, MEMORY_IDS = 100_000_000, 10_000_000
ROUNDS, BATCHES = 15, 60
FEW = 5  # rounds inside a process of a peer
STEP = 100_000  # where an epoch goes on, in batches of 32
PLACES = {"memory": "a tensor in memory", "mapped": "a mapped file"}


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


def feeds(tokens: Any, B: int, T: int, rounds: int) -> dict[str, Iterator[Any]]:
    """What gives batches, each by itself; all that can be made beforehand is made."""
    data = RandomWindowDataset(tokens, T, (rounds + 1) * BATCHES * B, seed=1)
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


@row("batches.py", "loaders.py", "windows.py", "benchmarks/peers/batches.py")
def batches(
    file_ids: int = FILE_IDS,
    memory_ids: int = MEMORY_IDS,
    rounds: int = ROUNDS,
    sizes: Sequence[tuple[int, int]] = SIZES,
) -> dict[str, Any]:
    """Microseconds a batch, and how many times as fast as its rival each of ours is."""
    rng, figures = np.random.default_rng(0), {}
    with tempfile.TemporaryDirectory() as folder:
        path, wide = Path(folder, "ids.bin"), Path(folder, "wide.bin")
        rng.integers(0, 50_000, file_ids, dtype=np.uint16).tofile(path)
        rng.integers(0, 50_000, memory_ids).tofile(wide)
        places = {
            "memory": torch.from_numpy(np.fromfile(wide, np.int64)),
            "mapped": np.memmap(path, dtype=np.uint16, mode="r"),
        }
        for place, tokens in places.items():
            for B, T in sizes:
                contenders = {
                    name: partial(take, feed) for name, feed in feeds(tokens, B, T, rounds).items()
                }
                in_turn(1, **contenders)
                times = in_turn(rounds, **contenders)
                rival = min(times["plain"], times["workers"])
                us = {name: seconds / BATCHES * 1e6 for name, seconds in times.items()}
                us |= {"step_ratio": min(rival, times["slices"]) / times["step"]}
                us |= {"loader_ratio": rival / times["loader"]}
                us |= peers_of(place, path if place == "mapped" else wide, B, T, figures)
                figures |= {f"{place}_{B}_{T}_{name}": figure for name, figure in us.items()}
        figures["workers_start_seconds"] = start_of_workers(places["memory"])
        del places, tokens, contenders
    return figures | {"lines": batch_lines(figures, sizes)}


def peers_of(place: str, path: Path, B: int, T: int, figures: dict[str, Any]) -> dict[str, float]:
    """Microseconds a batch of the peers that are there; their versions go into `figures`."""
    dtype = "uint16" if place == "mapped" else "int64"
    told = {"grain": peer("batches", "grain_batches", str(path), dtype, B, T, FEW)}
    if place == "mapped":
        told["litdata"] = peer("batches", "litdata_batches", str(path), B, T, FEW)
        told["streaming"] = peer("batches", "streaming_batches", str(path), B, T, FEW)
    known = {name: got for name, got in told.items() if got}
    figures |= {f"{name}_version": version for name, (_, version) in known.items()}
    return {name: us for name, (us, _) in known.items()}


def batch_lines(figures: dict[str, Any], sizes: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    """By step for each place and size, and by loader beside the loaders."""
    lines = []
    for place, named in PLACES.items():
        for B, T in sizes:
            got = {
                name.removeprefix(f"{place}_{B}_{T}_"): value / 1e6
                for name, value in figures.items()
                if name.startswith(f"{place}_{B}_{T}_")
            }
            loaders = {
                "DataLoader": got["plain"],
                "DataLoader, two workers": got["workers"],
                "grain": got.get("grain"),
            }
            stored = {
                "litdata, windows cut before": got.get("litdata"),
                "mosaicml-streaming, windows cut before": got.get("streaming"),
            }
            for kind, way, more, less in (
                ("step", "by step", {"slices, stacked": got["slices"]}, stored),
                ("loader", "by loader", {}, {}),
            ):
                lines.append(
                    line(
                        f"A batch ({B}, {T}) {way}, {named}",
                        got[kind],
                        same=loaders | more,
                        less=less,
                        limit=got["copy"],
                        bound="a copy of a batch that is in the cache",
                    )
                )
    return lines


def start_of_workers(tokens: torch.Tensor) -> float:
    """Seconds until two workers have given their first batch."""
    data = OneByOne(tokens, 128, np.zeros(64, dtype=int))
    begun = time.perf_counter()
    next(iter(DataLoader(data, 32, num_workers=2)))
    return time.perf_counter() - begun


@row("batches.py", "bijection.py", "data.py", "windows.py", "benchmarks/peers/batches.py")
def resume_cost(ids: int = MEMORY_IDS, step: int = STEP, rounds: int = 15) -> dict[str, Any]:
    """The first batch of a loader made for step 0 and for step 1,000,000; an epoch and its middle.

    In the middle of an epoch, beside torchdata's StatefulDataLoader told a state of that place.
    """
    tokens = torch.zeros(ids, dtype=torch.int64)
    inputs, targets = make_windows(tokens.numpy(), 128, 64)
    half = len(inputs) // 32 // 2
    many = make_windows(tokens.numpy()[: 2 * step * 32 + 1], 1)

    def by_step(at):
        for _ in range(30):
            next(make_train_loader(tokens, 128, 32, seed=1, start_step=at))

    def by_epoch(start, frames=(inputs, targets)):
        next(iterate_batches(*frames, 32, np.random.default_rng(1), start=start))

    def by_bijection():
        Bijection(len(many[0]), 1)[step * 32 : step * 32 + 32]

    steps = in_turn(2 * rounds + 1, first=partial(by_step, 0), late=partial(by_step, 1_000_000))
    epochs = in_turn(rounds, begun=partial(by_epoch, 0), half=partial(by_epoch, half))
    middle = in_turn(rounds, pandas=partial(by_epoch, step, many), bijection=by_bijection)
    told = [peer("batches", "stateful_resume", len(many[0]), 32, step) for _ in range(3)]
    stateful = statistics.median(t[0] for t in told) if told[0] else None
    peers = {"StatefulDataLoader": stateful}
    return {
        "step_0_us": steps["first"] / 30 * 1e6,
        "step_1000000_us": steps["late"] / 30 * 1e6,
        "ratio": steps["late"] / steps["first"],
        "epoch_begun_ms": epochs["begun"] * 1e3,
        "epoch_half_ms": epochs["half"] * 1e3,
        "epoch_ratio": epochs["half"] / epochs["begun"],
        "middle_windows": len(many[0]),
        "middle_step": step,
        "middle_pandas_ms": middle["pandas"] * 1e3,
        "middle_bijection_ms": middle["bijection"] * 1e3,
        **({"middle_stateful_ms": stateful * 1e3} if stateful else {}),
        **({"torchdata_version": told[0][2], "stateful_right": told[0][1]} if stateful else {}),
        "lines": [
            line(
                f"Going on at step {step:,} of an epoch, pandas' order",
                middle["pandas"],
                same=peers,
            ),
            line(
                f"Going on at step {step:,} of an epoch, bijection", middle["bijection"], same=peers
            ),
        ],
    }

"""Random windows, whose batches are a function of (seed, step) alone, and the order of an epoch.

Nothing here remembers what was drawn before, so going on after a stop takes two integers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import torch

from windows import check_sizes, count_windows, rows_view, window_order

Batch = tuple[torch.Tensor, torch.Tensor]


def get_batch(
    tokens: torch.Tensor | np.ndarray,
    block_size: int,
    batch_size: int,
    generator: torch.Generator,
) -> Batch:
    """Inputs and targets of `batch_size` random windows, int64 `(B, T)` each, drawn with repeats.

    `tokens` `(N,)` is a tensor, or an array of int64, uint16 or uint32 such as a mapped file; only
    what the batch touches is read and converted. Seed 000.

    >>> x, y = get_batch(torch.arange(100, 120), 4, 2, torch.Generator().manual_seed(0))
    >>> x.tolist(), y.tolist()
    ([[112, 113, 114, 115], [115, 116, 117, 118]], [[113, 114, 115, 116], [116, 117, 118, 119]])
    """
    rows = _rows(tokens, block_size)
    return gather_rows(rows, _draw(len(rows), batch_size, generator))


def gather_rows(rows: torch.Tensor | np.ndarray, picked: Any) -> Batch:
    """Inputs and targets of the windows `picked` from a view of all, int64 `(…, T)` each, copied.

    NumPy gathers, because torch's gather waits for its threads. A tensor is asked for its memory
    each time: torch moves it when it is shared with a worker, and an old look at it would crash.

    >>> x, y = gather_rows(rows_view(torch.arange(9), 3), 2)
    >>> x.tolist(), y.tolist()
    ([2, 3, 4], [3, 4, 5])
    """
    held = np.asarray(rows)[picked]  # (…, T+1), the only read of the tokens
    x, y = held[..., :-1].astype(np.int64), held[..., 1:].astype(np.int64)  # copies
    return torch.from_numpy(x), torch.from_numpy(y)


def make_train_loader(
    tokens: torch.Tensor | np.ndarray,
    block_size: int,
    batch_size: int,
    seed: int,
    start_step: int = 0,
    *,
    rank: int = 0,
    world_size: int = 1,
) -> "TrainBatchIterator":
    """Batches of random windows without end, from that of `start_step` on.

    Of `world_size` processes number `rank` gets the rows rank, rank + world_size, … of the batch
    that one process alone would get, so `batch_size` is that of all together.

    >>> loader = make_train_loader(torch.arange(100), 4, 2, seed=1337)
    >>> batches = [next(loader) for step in range(8)]
    >>> x, y = next(make_train_loader(torch.arange(100), 4, 2, seed=1337, start_step=7))
    >>> torch.equal(x, batches[7][0]), loader.state_dict()
    (True, {'step': 8, 'seed': 1337})
    """
    return TrainBatchIterator(tokens, block_size, batch_size, seed, start_step, rank, world_size)


@dataclass(eq=False, repr=False)
class TrainBatchIterator:
    """Gives the batch of `step` and moves on; `batch_at` gives any batch and does not move.

    A pickle holds the tokens themselves, those of a mapped file too.
    """

    tokens: torch.Tensor | np.ndarray
    block_size: int
    batch_size: int
    seed: int
    step: int = 0
    rank: int = 0
    world_size: int = 1

    def __post_init__(self) -> None:
        check_sizes(batch_size=self.batch_size, world_size=self.world_size)
        if self.batch_size % self.world_size:
            raise ValueError(
                f"batch_size is that of all {self.world_size} processes together and must divide "
                f"by their number, got {self.batch_size}"
            )
        if not 0 <= self.rank < self.world_size:
            raise ValueError(f"rank must be from 0 to {self.world_size - 1}, got {self.rank}")
        self.load_state_dict(self.state_dict())  # refuses a seed or a step that cannot be
        self._rows = _rows(self.tokens, self.block_size)

    def __iter__(self) -> "TrainBatchIterator":
        return self

    def __next__(self) -> Batch:
        batch = self.batch_at(self.step)
        self.step += 1
        return batch

    def batch_at(self, step: int) -> Batch:
        """The batch of `step`, int64 `(B / world_size, T)` each: a function of (seed, step)."""
        return gather_rows(self._rows, self.starts_at(step))

    def starts_at(self, step: int) -> np.ndarray:
        """Where the windows of that batch start, int64 `(B / world_size,)`."""
        generator = torch.Generator().manual_seed(batch_seed(self.seed, step))
        starts = _draw(len(self._rows), self.batch_size, generator)
        return starts[self.rank :: self.world_size]

    def state_dict(self) -> dict[str, int]:
        """All that is needed to go on: the step whose batch comes next, and the seed."""
        return {"step": self.step, "seed": self.seed}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on where the loader that gave `state` was; its seed is taken too."""
        if not isinstance(state, dict) or set(state) != {"step", "seed"}:
            raise ValueError(f"the state must be {{'step': …, 'seed': …}}, got {state!r}")
        batch_seed(**state)
        self.step, self.seed = int(state["step"]), int(state["seed"])

    def __reduce__(self) -> tuple[Any, ...]:
        return TrainBatchIterator, tuple(getattr(self, field.name) for field in fields(self))


def batch_seed(seed: int, step: int) -> int:
    """The seed of the generator that draws the batch of `step`. Seed 000.

    Of a seed torch's generator reads the lowest 32 bits, so loaders whose seeds are thousands
    apart can give the same batches at different steps.

    >>> batch_seed(1337, 7)
    1337004018
    """
    _check_counts(seed=seed, step=step)
    number = int(seed) * 1_000_003 + int(step)  # eq: batch-seed
    if number >= 2**64:
        raise ValueError(
            f"seed {seed} × 1,000,003 + step {step} must be below 2⁶⁴; take a smaller seed"
        )
    return number


def epoch_order(n_windows: int, seed: int, epoch: int) -> np.ndarray:
    """Each window once, int64 `(W,)`, in pandas' order for `default_rng(seed + epoch)`.

    >>> epoch_order(10, 42, 0).tolist()
    [2, 9, 1, 6, 3, 8, 5, 7, 4, 0]
    """
    _check_counts(n_windows=n_windows, seed=seed, epoch=epoch)
    return window_order(n_windows, np.random.default_rng(seed + epoch))


def boundary_windows(boundaries: Sequence[int] | np.ndarray, n: int, seq_len: int) -> int:
    """How many of the windows of `n` ids hold one of the places `boundaries`, such as end-of-texts.

    Each is counted at the first boundary in it. Far from each other and from the ends, every
    boundary is in T + 1 windows.

    >>> boundary_windows([5, 6], 20, 3)
    5
    """
    check_sizes(n=n, seq_len=seq_len)
    places = np.unique(np.asarray(boundaries, dtype=np.int64))
    if len(places) and not 0 <= places[0] <= places[-1] < n:
        raise ValueError(f"boundaries must be from 0 to {n - 1}, got {places[[0, -1]].tolist()}")
    before = np.append(-1, places)[:-1]
    first = np.maximum(places - seq_len, before + 1)
    last = np.minimum(places, count_windows(n, seq_len) - 1)
    return int(np.maximum(last - first + 1, 0).sum())  # eq: boundary-windows


def repeat_share(n_windows: int, draws: int) -> float:
    """The part of `draws` random windows that is expected to repeat an earlier one. Seed 000.

    >>> round(repeat_share(217_444, 25_600), 4)
    0.0566
    """
    check_sizes(n_windows=n_windows, draws=draws)
    with localcontext(prec=60):  # floats lose it all when there are many windows and few draws
        other = 1 - 1 / Decimal(n_windows)
        return float(1 - n_windows * (1 - other**draws) / draws)  # eq: repeat-share


def expected_shared(n_windows: int, batch_size: int, n_steps: int) -> float:
    """Pairs of equal windows, one in a batch and one in the next, that chance gives. Seed 000.

    >>> round(expected_shared(217_444, 32, 2_000), 1)
    9.4
    """
    check_sizes(n_windows=n_windows, batch_size=batch_size, n_steps=n_steps)
    return (n_steps - 1) * batch_size * batch_size / n_windows


def _rows(tokens: torch.Tensor | np.ndarray, block_size: int) -> torch.Tensor | np.ndarray:
    """Every window as a row, `(N − T, T + 1)`: a view of the tokens, and what they are."""
    is_tensor = isinstance(tokens, torch.Tensor)
    if is_tensor and tokens.device.type != "cpu":
        raise ValueError(f"tokens must be on the CPU, got them on {tokens.device}; move batches")
    ids = tokens.numpy() if is_tensor else np.asarray(tokens)  # of a mapped file, still mapped
    if ids.ndim != 1 or ids.dtype not in (np.int64, np.uint16, np.uint32):
        raise ValueError(
            f"tokens must be one row of int64, uint16 or uint32, got {ids.dtype} {ids.shape}"
        )
    return rows_view(tokens if is_tensor else ids, block_size)


def _draw(n_windows: int, batch_size: int, generator: torch.Generator) -> np.ndarray:
    """Where random windows start, int64 `(B,)`."""
    check_sizes(batch_size=batch_size)
    if not isinstance(generator, torch.Generator):
        raise TypeError(f"to draw, give a generator such as torch.Generator(), not {generator}")
    starts = torch.randint(0, n_windows, (batch_size,), generator=generator)
    return starts.numpy()


def _check_counts(**numbers: int) -> None:
    for name, number in numbers.items():
        if not isinstance(number, int | np.integer) or number < 0:
            raise ValueError(f"{name} must be a whole number from 0 on, got {number!r}")

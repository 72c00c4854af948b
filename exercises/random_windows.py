"""Random windows: the batch of any step, from two numbers.

The lesson is docs/random-windows.md. Write a body in the place of each
`raise NotImplementedError`, and see how far you are:

    python -m pytest --against exercises/random_windows.py

The starts of a batch are `torch.randint(0, N - T, (B,), generator=generator)`; the batch of a step
is drawn by a fresh generator with the seed `batch_seed(seed, step)`.
Refused, with a ValueError: a boundary outside the stream.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from batches import Batch


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
    raise NotImplementedError


def batch_seed(seed: int, step: int) -> int:
    """The seed of the generator that draws the batch of `step`. Seed 000.

    Of a seed torch's generator reads the lowest 32 bits, so loaders whose seeds are thousands
    apart can give the same batches at different steps.

    >>> batch_seed(1337, 7)
    1337004018
    """
    raise NotImplementedError


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

    def __iter__(self) -> "TrainBatchIterator":
        raise NotImplementedError

    def __next__(self) -> Batch:
        raise NotImplementedError

    def batch_at(self, step: int) -> Batch:
        """The batch of `step`, int64 `(B / world_size, T)` each: a function of (seed, step)."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, int]:
        """All that is needed to go on: the step whose batch comes next, and the seed."""
        raise NotImplementedError

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on where the loader that gave `state` was; its seed is taken too."""
        raise NotImplementedError


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
    raise NotImplementedError


def epoch_order(n_windows: int, seed: int, epoch: int) -> np.ndarray:
    """Each window once, int64 `(W,)`, in pandas' order for `default_rng(seed + epoch)`.

    >>> epoch_order(10, 42, 0).tolist()
    [2, 9, 1, 6, 3, 8, 5, 7, 4, 0]
    """
    raise NotImplementedError


def boundary_windows(boundaries: Sequence[int] | np.ndarray, n: int, seq_len: int) -> int:
    """How many of the windows of `n` ids hold one of the places `boundaries`, such as end-of-texts.

    Each is counted at the first boundary in it. Far from each other and from the ends, every
    boundary is in T + 1 windows.

    >>> boundary_windows([5, 6], 20, 3)
    5
    """
    raise NotImplementedError


def repeat_share(n_windows: int, draws: int) -> float:
    """The part of `draws` random windows that is expected to repeat an earlier one. Seed 000.

    >>> round(repeat_share(217_444, 25_600), 4)
    0.0566
    """
    raise NotImplementedError


def expected_shared(n_windows: int, batch_size: int, n_steps: int) -> float:
    """Pairs of equal windows, one in a batch and one in the next, that chance gives. Seed 000.

    >>> round(expected_shared(217_444, 32, 2_000), 1)
    9.4
    """
    raise NotImplementedError

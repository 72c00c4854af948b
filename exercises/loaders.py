"""Datasets and loaders: the same windows for torch's tools.

The lesson is docs/loaders.md. Write a body in the place of each
`raise NotImplementedError`, and see how far you are:

    python -m pytest --against exercises/loaders.py

An item of the first two is `(input, target)`, int64 `(T,)` each. An index may be negative; one past
the end is an IndexError. The starts of an epoch of random windows are those of one
`torch.randint(0, N - T, (num_samples,), generator=g)`, g freshly seeded with `seed + epoch`.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset


class SlidingWindowDataset(Dataset):
    """Windows at 0, k, 2k, …; an item is `(input, target)`, int64 `(T,)` each. Seed 004.

    The stride is T if none is given. `unused` counts the ids that are in no window. If no window
    fits, the Dataset is empty and says so.

    >>> data = SlidingWindowDataset([3, 1, 4, 1, 5, 9, 2, 6], context_length=3)
    >>> len(data), data.unused, data[-1]
    (2, 1, (tensor([1, 5, 9]), tensor([5, 9, 2])))
    """

    def __init__(self, ids: Any, context_length: int, stride: int | None = None) -> None:
        raise NotImplementedError

    @staticmethod
    def count_windows(n: int, context_length: int, stride: int) -> int:
        """How many items `n` ids make, without a Dataset.

        >>> SlidingWindowDataset.count_windows(10, 4, 3)
        2
        """
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def __getitem__(self, i: int) -> tuple[torch.Tensor, ...]:
        """One item; -1 is the last one."""
        raise NotImplementedError

    def __getitems__(self, indices: Sequence[int]) -> Sequence[tuple[torch.Tensor, ...]]:
        """Several items, which is what torch's DataLoader asks for."""
        raise NotImplementedError


class RandomWindowDataset(Dataset):
    """`num_samples` random windows an epoch; item i follows from (seed, epoch, i). Seed 000.

    >>> data = RandomWindowDataset(torch.arange(100), 4, num_samples=3, seed=1337)
    >>> [int(x[0]) for x, y in data]
    [55, 61, 92]
    """

    def __init__(self, tokens: Any, block_size: int, num_samples: int, seed: int) -> None:
        raise NotImplementedError

    def set_epoch(self, epoch: int) -> None:
        """Draw the windows of this epoch, all at once; they may repeat."""
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def __getitem__(self, i: int) -> tuple[torch.Tensor, ...]:
        """One item; -1 is the last one."""
        raise NotImplementedError

    def __getitems__(self, indices: Sequence[int]) -> Sequence[tuple[torch.Tensor, ...]]:
        """Several items, which is what torch's DataLoader asks for."""
        raise NotImplementedError


class SequentialEvalDataset(Dataset):
    """Windows in order that score each target once; items `(x, y, loss_mask)`, `(T,)` each.

    Only targets where `loss_mask` is True count. T ids or fewer are one window of n − 1 targets.
    Seed 000.

    >>> data = SequentialEvalDataset(torch.arange(10), block_size=4, stride=2)
    >>> [y[mask].tolist() for x, y, mask in data]
    [[1, 2, 3, 4], [5, 6], [7, 8], [9]]
    """

    def __init__(self, tokens: Any, block_size: int, stride: int) -> None:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def __getitem__(self, i: int) -> tuple[torch.Tensor, ...]:
        """One item; -1 is the last one."""
        raise NotImplementedError

    def __getitems__(self, indices: Sequence[int]) -> Sequence[tuple[torch.Tensor, ...]]:
        """Several items, which is what torch's DataLoader asks for."""
        raise NotImplementedError


def epoch_generator(seed: int, epoch: int) -> torch.Generator:
    """A fresh generator for an epoch; torch's global random state stays as it is.

    >>> epoch_generator(42, 3).initial_seed()
    45
    """
    raise NotImplementedError


def make_dataloader(
    dataset: Dataset,
    batch_size: int,
    shuffle: bool = True,
    base_seed: int = 0,
    epoch: int = 0,
    drop_last: bool = True,
    num_workers: int = 0,
) -> DataLoader:
    """A DataLoader in torch's order for a generator seeded `base_seed + epoch`. Seed 004.

    Whenever it is iterated again it gives the next epoch, also if the last one was left early.

    >>> data = SlidingWindowDataset(torch.arange(13), context_length=2)
    >>> loader = make_dataloader(data, batch_size=2, base_seed=42)
    >>> [[x[:, 0].tolist() for x, y in loader] for epoch in range(2)]
    [[[8, 10], [0, 2], [4, 6]], [[10, 6], [2, 0], [8, 4]]]
    """
    raise NotImplementedError

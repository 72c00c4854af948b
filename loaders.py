"""torch Datasets over the windows of one stream, and a DataLoader whose epoch says its order.

An item is one window. A batch is made in one gather, and taken apart into items only if somebody
asks for them.
"""

import copy
import logging
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, default_collate
from torch.utils.data._utils.collate import default_collate_fn_map

import windows
from batches import gather_rows
from windows import check_sizes, count_unused, eval_windows, rows_view

log = logging.getLogger("loaders")


class WindowDataset(Dataset):
    """What the three Datasets share: ids, a view of their windows, and the gather.

    The ids stay what they are. To spawned workers a tensor goes as memory that they share, a NumPy
    array as a copy for each, and a file that is mapped for reading as its path.
    """

    def __init__(self, ids: Any, seq_len: int) -> None:
        check_sizes(seq_len=seq_len)
        self.ids, self.seq_len = _one_row(ids), seq_len
        self._rows = self._view()

    def __getitem__(self, i: int) -> tuple[torch.Tensor, ...]:
        """One item; -1 is the last one."""
        return self._gather(operator.index(i))

    def __getitems__(self, indices: Sequence[int]) -> "Gathered":
        """Items made in one gather, which is what torch's DataLoader asks for."""
        return Gathered(*self._gather(np.asarray(indices, dtype=np.int64)))

    def _view(self) -> Any:
        return rows_view(self.ids, self.seq_len)

    def _gather(self, i: Any) -> tuple[torch.Tensor, ...]:
        """Inputs and targets of the windows in rows `i` of the view."""
        return gather_rows(self._rows, i)

    def __copy__(self) -> "WindowDataset":
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        ids = MappedIds.of(self.ids) or self.ids
        return self.__dict__ | {"ids": ids, "_rows": None}  # a pickled view is every window

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.ids = self.ids.open() if isinstance(self.ids, MappedIds) else self.ids
        self._rows = self._view()


class SlidingWindowDataset(WindowDataset):
    """Windows at 0, k, 2k, …; an item is `(input, target)`, int64 `(T,)` each. Seed 004.

    The stride is T if none is given. `unused` counts the ids that are in no window. If no window
    fits, the Dataset is empty and says so.

    >>> data = SlidingWindowDataset([3, 1, 4, 1, 5, 9, 2, 6], context_length=3)
    >>> len(data), data.unused, data[-1]
    (2, 1, (tensor([1, 5, 9]), tensor([5, 9, 2])))
    """

    def __init__(self, ids: Any, context_length: int, stride: int | None = None) -> None:
        self.stride = context_length if stride is None else stride
        super().__init__(ids, context_length)
        self.unused = count_unused(len(self.ids), context_length, self.stride)
        if not len(self):
            log.warning(
                "the Dataset is empty: one window of context_length %d needs %d ids, there are %d",
                *(context_length, context_length + 1, len(self.ids)),
            )

    @staticmethod
    def count_windows(n: int, context_length: int, stride: int) -> int:
        """How many items `n` ids make, without a Dataset.

        >>> SlidingWindowDataset.count_windows(10, 4, 3)
        2
        """
        return windows.count_windows(n, context_length, stride)

    def __len__(self) -> int:
        return len(self._rows)

    def _view(self) -> Any:
        check_sizes(stride=self.stride)
        if len(self.ids) <= self.seq_len:
            return np.empty((0, self.seq_len + 1), dtype=np.int64)
        return super()._view()[:: self.stride]


class RandomWindowDataset(WindowDataset):
    """`num_samples` random windows an epoch; item i follows from (seed, epoch, i). Seed 000.

    >>> data = RandomWindowDataset(torch.arange(100), 4, num_samples=3, seed=1337)
    >>> [int(x[0]) for x, y in data]
    [55, 61, 92]
    """

    def __init__(self, tokens: Any, block_size: int, num_samples: int, seed: int) -> None:
        check_sizes(num_samples=num_samples)
        super().__init__(tokens, block_size)
        self.num_samples, self.seed = num_samples, seed
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        """Draw the windows of this epoch, all at once; they may repeat."""
        generator = epoch_generator(self.seed, epoch)
        n_windows, size = len(self._rows), (self.num_samples,)
        self.epoch = epoch
        self.offsets = torch.randint(0, n_windows, size, generator=generator).numpy()

    def __len__(self) -> int:
        return self.num_samples

    def _gather(self, i: Any) -> tuple[torch.Tensor, ...]:
        return super()._gather(self.offsets[i])


class SequentialEvalDataset(WindowDataset):
    """Windows in order that score each target once; items `(x, y, loss_mask)`, `(T,)` each.

    Only targets where `loss_mask` is True count. T ids or fewer are one window of n − 1 targets.
    Seed 000.

    >>> data = SequentialEvalDataset(torch.arange(10), block_size=4, stride=2)
    >>> [y[mask].tolist() for x, y, mask in data]
    [[1, 2, 3, 4], [5, 6], [7, 8], [9]]
    """

    def __init__(self, tokens: Any, block_size: int, stride: int) -> None:
        table = eval_windows(len(tokens), block_size, stride)
        super().__init__(tokens, int(table["length"].iloc[0]))
        self.starts, self.loss_from = table["start"].to_numpy(), table["loss_from"].to_numpy()

    def __len__(self) -> int:
        return len(self.starts)

    def _gather(self, i: Any) -> tuple[torch.Tensor, ...]:
        mask = np.arange(self.seq_len) >= self.loss_from[i, ..., None]  # (B, T)
        return *super()._gather(self.starts[i]), torch.from_numpy(mask)


def make_dataloader(
    dataset: Dataset,
    batch_size: int,
    shuffle: bool = True,
    base_seed: int = 0,
    epoch: int = 0,
    drop_last: bool = True,
    num_workers: int = 0,
) -> "EpochLoader":
    """A DataLoader in torch's order for a generator seeded `base_seed + epoch`. Seed 004.

    Whenever it is iterated again it gives the next epoch, also if the last one was left early.

    >>> data = SlidingWindowDataset(torch.arange(13), context_length=2)
    >>> loader = make_dataloader(data, batch_size=2, base_seed=42)
    >>> [[x[:, 0].tolist() for x, y in loader] for epoch in range(2)]
    [[[8, 10], [0, 2], [4, 6]], [[10, 6], [2, 0], [8, 4]]]
    """
    check_sizes(batch_size=batch_size)
    if not len(dataset):
        raise ValueError("the Dataset is empty: a loader needs at least one item, there is none")
    options = {"shuffle": shuffle, "drop_last": drop_last, "num_workers": num_workers}
    loader = EpochLoader(dataset, base_seed, epoch, batch_size=batch_size, **options)
    if not len(loader):
        log.warning(
            "the loader has no batch: %d items make none of %d, and drop_last leaves them out",
            *(len(dataset), batch_size),
        )
    return loader


class EpochLoader(DataLoader):
    """A DataLoader that is made anew for each epoch, so no draw of one moves the order of another.

    `epoch` is the one that comes next. If the Dataset has `set_epoch`, each iterator sets it on a
    copy of its own, so several may run at once. `options` are those of DataLoader.
    """

    def __init__(self, dataset: Dataset, base_seed: int, epoch: int, **options: Any) -> None:
        super().__init__(dataset, generator=epoch_generator(base_seed, epoch), **options)
        self.base_seed, self.epoch, self.options = base_seed, epoch, options

    def __iter__(self) -> Iterator[Any]:
        dataset, generator = self.dataset, epoch_generator(self.base_seed, self.epoch)
        if hasattr(dataset, "set_epoch"):
            dataset = copy.copy(dataset)
            dataset.set_epoch(self.epoch)
        self.epoch += 1
        options = self.options | {"multiprocessing_context": self.multiprocessing_context}
        return iter(DataLoader(dataset, generator=generator, **options))


def epoch_generator(seed: int, epoch: int) -> torch.Generator:
    """A fresh generator for an epoch; torch's global random state stays as it is.

    >>> epoch_generator(42, 3).initial_seed()
    45
    """
    seed, epoch = operator.index(seed), operator.index(epoch)  # a TypeError for what is no integer
    if seed < 0 or epoch < 0 or seed + epoch >= 2**64:
        raise ValueError(
            f"seed and epoch must be 0 or more, and below 2⁶⁴ together, got {seed} and {epoch}"
        )
    return torch.Generator().manual_seed(seed + epoch)  # eq: epoch-seed


class Item(tuple):
    """An item of those that were made together; by it torch's `default_collate` knows them."""


class Gathered(Sequence):
    """Items that were made together: a batch, and an item of it when one is asked for.

    >>> items = Gathered(torch.tensor([[3, 1], [4, 1]]), torch.tensor([[1, 4], [1, 5]]))
    >>> len(items), items[1]
    (2, (tensor([4, 1]), tensor([1, 5])))
    >>> default_collate(items)[0] is items.columns[0]
    True
    """

    def __init__(self, *columns: torch.Tensor) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, i: int) -> Item:
        return Item(column[i] for column in self.columns)

    def __iter__(self) -> Iterator[Item]:
        return map(Item, zip(*(column.unbind() for column in self.columns), strict=True))


def _collate(items: Sequence[Item], *, collate_fn_map: Any = None) -> list[torch.Tensor]:
    """The batch, which is there already, unless items of several batches were put together."""
    if isinstance(items, Gathered):
        return list(items.columns)
    return default_collate([tuple(item) for item in items])


default_collate_fn_map[Item] = _collate  # torch's documented way to teach `default_collate` a type


@dataclass(frozen=True)
class MappedIds:
    """Where the ids of a mapped file lie, to map them again in another process."""

    path: str
    dtype: np.dtype
    offset: int
    count: int

    @classmethod
    def of(cls, ids: Any) -> "MappedIds | None":
        """None if the ids are not just a stretch of a file that may be read again."""
        root = ids
        while isinstance(getattr(root, "base", None), np.ndarray):
            root = root.base
        mapped = isinstance(root, np.memmap) and root.filename and root.mode != "c"
        if not mapped or not len(ids) or not ids.flags.c_contiguous:
            return None
        offset = root.offset + ids.ctypes.data - root.ctypes.data
        return cls(str(root.filename), ids.dtype, offset, len(ids))

    def open(self) -> np.memmap:
        """The ids, mapped for reading."""
        return np.memmap(self.path, self.dtype, "r", self.offset, self.count)


def _one_row(ids: Any) -> Any:
    """The ids as a tensor or an array, or a refusal."""
    if not isinstance(ids, torch.Tensor | np.ndarray):
        ids = np.asarray(ids, dtype=None if len(ids) else np.int64)
    kind = np.asarray(ids[:0]).dtype
    if ids.ndim != 1 or kind.kind not in "iu":
        raise ValueError(f"ids must be whole numbers in one row, got {kind} {tuple(ids.shape)}")
    return ids

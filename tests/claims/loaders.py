"""What `docs/loaders.md` claims."""

import torch

from loaders import RandomWindowDataset, SlidingWindowDataset, epoch_generator, make_dataloader

PAGE = "loaders.md"
HAND = SlidingWindowDataset([3, 1, 4, 1, 5, 2, 6, 5, 3, 5], context_length=4)
SIX = SlidingWindowDataset(torch.arange(13), context_length=2)
GIVEN = [
    "with $T$ = 4 and no stride given.",
    "batches of two, with base seed 42.",
    "A loader was made with base seed 7 and epoch 2, over 46 windows in batches of 16.",
]


def seeds(base_seed: int, epoch: int, times: int) -> list[int]:
    """The seeds of the generators that a loader takes, one a time."""
    loader = make_dataloader(SIX, 2, base_seed=base_seed, epoch=epoch)
    found = []
    for _ in range(times):
        found.append(epoch_generator(loader.base_seed, loader.epoch).initial_seed())
        list(loader)
    return found


def left_out(windows: int, batch_size: int) -> tuple[int, int]:
    """Batches of an epoch, and the windows that are in none of them."""
    loader = make_dataloader(SlidingWindowDataset(range(windows + 1), 1), batch_size)
    return len(loader), windows - sum(len(x) for x, _ in loader)


def drawn(seed: int, epoch: int) -> list[int]:
    data = RandomWindowDataset(torch.arange(100), 4, 10, seed)
    data.set_epoch(epoch)
    return data.offsets.tolist()


CLAIMS = [
    (
        "The windows start at 0 and 4, and the last id is in none of them",
        lambda: ([int(x[0]) for x, _ in HAND], [3, 1, 4, 1, 5][4], HAND.unused),
        ([3, 5], 5, 1),
    ),
    (
        "Epoch 1 of base seed 42 is epoch 0 of base seed 43.",
        lambda: drawn(42, 1) == drawn(43, 0) != drawn(42, 0),
        True,
    ),
    ("The seeds are 9, 10 and 11.", lambda: seeds(7, 2, 3), [9, 10, 11]),
    (
        "two batches, and 46 − 2 × 16 = 14 windows are left out",
        lambda: left_out(46, 16),
        (2, 14),
    ),
]

"""Several processes that train one model: who they are, what each takes, how they add up.

`torchrun` starts them and tells each its rank. Without it there is one, of rank 0, and every
function here is the plain thing.
"""

import os
import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

_CPU = torch.device("cpu")
_PATIENCE = timedelta(minutes=10)  # after which a process that hangs ends the job
_LOST = re.compile(r"gloo|nccl|peer|socket|connection|timed? ?out|broken pipe", re.IGNORECASE)


@dataclass(frozen=True)
class Group:
    """The processes of a job, seen from the one of number `rank`, which computes on `device`."""

    rank: int = 0
    world_size: int = 1
    device: torch.device = _CPU

    @property
    def leads(self) -> bool:
        """Whether this is the one process that shows and writes things."""
        return self.rank == 0

    def share(self, rows: Any) -> Any:
        """Its own rows of a batch of all: rank, rank + world_size, …; there may be none.

        >>> Group(rank=1, world_size=3).share(list("abcde"))
        ['b', 'e']
        """
        return rows[self.rank :: self.world_size]  # eq: rank-rows

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model, with its gradients averaged over the processes after each backward pass."""
        if self.world_size == 1:
            return model
        on_gpu = self.device.type == "cuda"
        devices = [self.device] if on_gpu else None
        return nn.parallel.DistributedDataParallel(model, device_ids=devices)

    def sum(self, number: float) -> float:
        """The sum of what the processes have, added in float64."""
        if self.world_size == 1:
            return number
        held = torch.tensor(number, dtype=torch.float64, device=self.device)
        dist.all_reduce(held)
        return held.item()

    def any(self, asked: bool) -> bool:
        """Whether it is so for one of the processes at least."""
        return self.sum(float(asked)) > 0

    def add(self, numbers: Sequence[int]) -> list[int]:
        """The sum of each whole number over the processes: exact, to 2⁹⁴ and beyond.

        >>> Group().add([2**80, 3])
        [1208925819614629174706176, 3]
        """
        if self.world_size == 1:
            return list(numbers)
        halves = [divmod(number, 1 << 32) for number in numbers]  # each fits, however many add up
        held = torch.tensor(halves, dtype=torch.int64, device=self.device)
        dist.all_reduce(held)
        return [(high << 32) + low for high, low in held.tolist()]


def here() -> int:
    """The rank that `torchrun` gave this process; 0 without it."""
    return int(os.environ.get("RANK", 0))


@contextmanager
def joined(device: torch.device, batch_size: int) -> Iterator[Group]:
    """The group that `torchrun` started this process in; alone, if none did.

    Raises:
        ValueError: When the batch of all does not divide by the number of processes, or a device
            can have no group.
        ConnectionError: When another process is gone.
    """
    rank, world_size = here(), int(os.environ.get("WORLD_SIZE", 1))
    if world_size == 1:
        yield Group(device=device)
        return
    if batch_size % world_size:
        raise ValueError(
            f"--batch-size is that of all {world_size} processes together and must divide by "
            f"their number, got {batch_size}"
        )
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"several processes train on cpu or cuda, not {device}; use --device cpu")
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)
    way_out = "the last checkpoint is whole: start the job again with --resume last"

    def on_end(number: int, frame: object) -> None:
        raise ConnectionError(
            f"rank {rank} of {world_size} was told to end, as torchrun does when another process "
            f"of the job is gone; {way_out}"
        )

    before = signal.signal(signal.SIGTERM, on_end)
    try:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=_PATIENCE)
        yield Group(rank, world_size, device)
        dist.barrier()  # without it, who is first to leave can break the others' last words
    except RuntimeError as error:
        if not _LOST.search(str(error)):
            raise
        reason = str(error).strip().splitlines()[-1]
        raise ConnectionError(
            f"rank {rank} of {world_size} lost another process of the job ({reason:.120}); "
            f"{way_out}"
        ) from error
    finally:
        signal.signal(signal.SIGTERM, before)
        if dist.is_initialized():
            dist.destroy_process_group()

"""One training step: rate, loss, gradient, clipping, move."""

import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from operator import itemgetter

import numpy as np
import torch
from torch import Tensor

from model import GPT
from optim import make_optimizers, rate_at, set_rate
from ranks import Group
from scoring import masked_loss
from windows import Boundaries, counts


class Trainer:
    """A model on its way through `total_steps` steps.

    `step` is the number of steps done, `targets` the number of targets that counted in the last.
    In a `group` of processes each trains on its rows of every batch, and all move alike.
    """

    def __init__(
        self,
        model: GPT,
        total_steps: int,
        batch_targets: int,
        *,
        lr: float,
        warmup: int,
        weight_decay: float = 0.0,
        clip: float = 1.0,
        amp: bool = False,
        compile: bool = False,
        boundaries: Boundaries = "continuous",
        group: Group | None = None,
    ) -> None:
        self.model, self.total_steps, self.step, self.targets = model, total_steps, 0, 0
        self.batch_targets, self.boundaries = batch_targets, boundaries
        self.warmup, self.clip, self.amp = warmup, clip, amp
        self.optimizers = make_optimizers(model, lr, weight_decay)
        self.device = model.head.weight.device
        self.group = group or Group(device=self.device)
        wrapped = self.group.wrap(model)
        self.forward = torch.compile(wrapped) if compile else wrapped

    def train_on(
        self,
        xb: np.ndarray | Tensor,
        yb: np.ndarray | Tensor,
        segments: np.ndarray | Tensor | None = None,
    ) -> float:
        """Move the weights by one batch `(B, T)`; its mean loss before that, in nats a target.

        The gradient is that of the sum over the targets of a full batch, so that every target of a
        run weighs the same: a short last batch weighs what its targets weigh. `segments`
        `(B, T + 1)` are the span numbers of the windows' ids; by them targets do not count that are
        padding, or, if isolated, of another document than their input. A batch in which none counts
        is a step that moves nothing, and its loss is nan.
        """
        y = torch.as_tensor(yb)
        seg, mask = self._segments(segments, y)
        self.targets = y.numel() if mask is None else int(mask.sum())
        apart = seg[:, :-1] if self.boundaries == "isolated" else None
        set_rate(self.optimizers, rate_at(self.step, self.total_steps, self.warmup))
        total = self.group.sum(self._move(torch.as_tensor(xb), y, apart, mask))
        self.step += 1
        return total / self.targets if self.targets else math.nan

    def _move(self, x: Tensor, y: Tensor, apart: Tensor | None, mask: Tensor | None) -> float:
        """Move the weights; the sum of the losses of this process's rows, in nats."""
        own = self.group.share
        if self.group.rank >= len(y):  # no row is left for it: it takes part with one of no weight
            own, mask = itemgetter(slice(1)), torch.zeros_like(y, dtype=torch.bool)
        x, y, apart, mask = (
            rows if rows is None else self._sent(own(rows)) for rows in (x, y, apart, mask)
        )
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.amp):
            logits = self.forward(x, apart)  # (B / R, T, V)
        total, _ = masked_loss(logits.float(), y, mask)
        # the group takes the mean of its gradients, and the sum is wanted
        (total * self.group.world_size / self.batch_targets).backward()  # eq: rank-gradient
        if self.targets:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
            for optimizer in self.optimizers:
                optimizer.step()
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        return total.item()

    def _sent(self, rows: Tensor) -> Tensor:
        """The rows on the device; to a GPU from pinned memory, while the processor goes on."""
        if self.device.type == "cuda":
            rows = rows.pin_memory()
        return rows.to(self.device, non_blocking=True)

    def _segments(
        self, segments: np.ndarray | Tensor | None, y: Tensor
    ) -> tuple[Tensor | None, Tensor | None]:
        """The span numbers `(B, T + 1)`, and which targets count; None for all of them."""
        if segments is None:
            if self.boundaries == "isolated":
                raise ValueError(
                    "isolated training needs the segments of each batch, got none; give "
                    "train_on the span numbers of the windows' ids, or train continuous"
                )
            return None, None
        if (given := tuple(segments.shape)) != (len(y), y.shape[1] + 1):
            raise ValueError(
                f"segments must be of the T + 1 ids of each window, {(len(y), y.shape[1] + 1)}; "
                f"got {given}"
            )
        seg = torch.as_tensor(segments)
        return seg, counts(seg[:, :-1], seg[:, 1:], self.boundaries)

    def weights(self) -> dict[str, Tensor]:
        """The model's weights by name."""
        return {name: _kept(weight) for name, weight in self.model.state_dict().items()}

    def optimizer_tensors(self) -> dict[str, Tensor]:
        """All that the optimisers remember: `1.0.exp_avg` is of optimiser 1 and its weight 0."""
        return {
            f"{k}.{i}.{name}": _kept(tensor)
            for k, optimizer in enumerate(self.optimizers)
            for i, state in optimizer.state_dict()["state"].items()
            for name, tensor in state.items()
        }

    def restore(self, step: int, weights: dict[str, Tensor], tensors: dict[str, Tensor]) -> None:
        """Go back to `step`, with the weights and the optimisers' tensors of that time."""
        self.model.load_state_dict(weights)
        states: list[dict[int, dict[str, Tensor]]] = [{} for _ in self.optimizers]
        for key, tensor in tensors.items():
            k, i, name = key.split(".")
            states[int(k)].setdefault(int(i), {})[name] = tensor
        for optimizer, state in zip(self.optimizers, states, strict=True):
            groups = optimizer.state_dict()["param_groups"]  # rates follow from the step
            optimizer.load_state_dict({"state": state, "param_groups": groups})
        self.step = step


def _kept(tensor: Tensor) -> Tensor:
    return tensor.detach().cpu().contiguous()


def choose_device(name: str) -> torch.device:
    """The device `name`, or for `auto` the first there is of cuda, mps and cpu."""
    found = {"cuda": torch.cuda.is_available(), "mps": torch.mps.is_available(), "cpu": True}
    there = [kind for kind in found if found[kind]]
    if name == "auto":
        return torch.device(there[0])
    if name.split(":")[0] not in there:
        raise ValueError(f"--device {name} is not on this machine, which has {', '.join(there)}")
    return torch.device(name)


@contextmanager
def interrupts(group: Group | None = None) -> Iterator[threading.Event]:
    """An event set by the first Ctrl-C, so that the step is finished; a second stops at once.

    In a group of processes a second one changes nothing: `torchrun` passes on what the terminal has
    sent already.
    """
    alone = group is None or group.world_size == 1
    asked = threading.Event()

    def on_interrupt(number: int, frame: object) -> None:
        if alone and asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)

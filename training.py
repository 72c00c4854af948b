"""One training step: rate, loss, gradient, clipping, move."""

import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from model import GPT
from optim import make_optimizers, rate_at, set_rate
from scoring import masked_loss
from windows import Boundaries, counts


class Trainer:
    """A model on its way through `total_steps` steps.

    `step` is the number of steps done, `targets` the number of targets that counted in the last.
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
    ) -> None:
        self.model, self.total_steps, self.step, self.targets = model, total_steps, 0, 0
        self.batch_targets, self.boundaries = batch_targets, boundaries
        self.warmup, self.clip, self.amp = warmup, clip, amp
        self.optimizers = make_optimizers(model, lr, weight_decay)
        self.forward = torch.compile(model) if compile else model
        self.device = model.head.weight.device

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
        x, y = (torch.as_tensor(ids).to(self.device, non_blocking=True) for ids in (xb, yb))
        apart, mask = self._segments(segments, y)
        set_rate(self.optimizers, rate_at(self.step, self.total_steps, self.warmup))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.amp):
            logits = self.forward(x, apart)  # (B, T, V)
        total, self.targets = masked_loss(logits.float(), y, mask)
        if self.targets:
            self._move(total / self.batch_targets)
        self.step += 1
        return total.item() / self.targets if self.targets else math.nan

    def _move(self, loss: Tensor) -> None:
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad()

    def _segments(
        self, segments: np.ndarray | Tensor | None, y: Tensor
    ) -> tuple[Tensor | None, Tensor | None]:
        """The inputs' segments, if the model is to keep them apart, and which targets count."""
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
        seg = torch.as_tensor(segments).to(self.device, non_blocking=True)  # (B, T + 1)
        mask = counts(seg[:, :-1], seg[:, 1:], self.boundaries)
        return seg[:, :-1] if self.boundaries == "isolated" else None, mask

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
def interrupts() -> Iterator[threading.Event]:
    """An event set by the first Ctrl-C, so that the step is finished; a second stops at once."""
    asked = threading.Event()

    def on_interrupt(number: int, frame: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)

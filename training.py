"""One training step: rate, loss, gradient, clipping, move."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from model import GPT
from optim import make_optimizers, rate_at, set_rate
from scoring import masked_loss


class Trainer:
    """A model on its way through `total_steps` steps. `step` is the number of steps done."""

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
    ) -> None:
        self.model, self.total_steps, self.step = model, total_steps, 0
        self.batch_targets = batch_targets
        self.warmup, self.clip, self.amp = warmup, clip, amp
        self.optimizers = make_optimizers(model, lr, weight_decay)
        self.forward = torch.compile(model) if compile else model
        self.device = model.head.weight.device

    def train_on(self, xb: np.ndarray, yb: np.ndarray) -> float:
        """Move the weights by one batch `(B, T)`; its mean loss before that, in nats a target.

        The gradient is that of the sum over the targets of a full batch, so that every target of a
        run weighs the same: a short last batch weighs what its targets weigh.
        """
        x, y = (torch.from_numpy(ids).to(self.device, non_blocking=True) for ids in (xb, yb))
        set_rate(self.optimizers, rate_at(self.step, self.total_steps, self.warmup))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.amp):
            logits = self.forward(x)  # (B, T, V)
        total, count = masked_loss(logits.float(), y)
        (total / self.batch_targets).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad()
        self.step += 1
        return total.item() / count


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

"""The training loop: steps, now and then a validation and a checkpoint, until told to stop."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from typing import Any

from tqdm import tqdm

import report
from runs import Losses
from scoring import Receipt
from training import Trainer

Batch = tuple[Any, Any, Any]


def train_steps(
    trainer: Trainer,
    batches: Iterator[Batch],
    validate: Callable[[], Receipt],
    eval_every: int,
    losses: Losses,
    keep: Callable[[Batch], None],
    asked: threading.Event,
) -> Receipt | None:
    """Train to the last step, or until `asked` to stop; the last receipt, if there was a step.

    `keep` is called with the batch that comes next: before the first step and at each validation.
    Of several processes all stop when one is asked to.
    """
    tokens, seconds, mark = 0, 0.0, time.perf_counter()
    total, receipt = trainer.total_steps, None
    hidden = None if trainer.group.leads else True  # None: where nobody would see it
    words = {"desc": "training", "unit": " steps"}
    with tqdm(total=total, initial=trainer.step, disable=hidden, **words) as bar:
        left = total - trainer.step
        for (xb, yb, segments), upcoming in islice(pairwise(batches), left):
            if trainer.step == 0:
                keep((xb, yb, segments))
            loss = trainer.train_on(xb, yb, segments)
            if trainer.targets and not math.isfinite(loss):
                raise ValueError(f"the loss of step {trainer.step} is {loss}; use a smaller --lr")
            losses.add(trainer.step, trainer.targets, loss)
            tokens, seconds = tokens + math.prod(yb.shape), seconds + time.perf_counter() - mark
            bar.set_postfix_str(f"loss {loss:.3f}, {tokens / seconds:,.0f} tokens/s", refresh=False)
            bar.update()
            if trainer.group.any(asked.is_set()):
                asked.set()
            last = trainer.step == total or asked.is_set()
            if last or trainer.step % eval_every == 0:
                receipt = validate()
                train_loss = losses.validate(trainer.step, receipt)
                speed = tokens / seconds
                line = report.progress_line(trainer.step, total, train_loss, receipt, speed)
                if trainer.group.leads:
                    bar.write(line)
                keep(upcoming)
            if last:
                break
            mark = time.perf_counter()
    return receipt

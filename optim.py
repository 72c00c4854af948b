"""How the weights move: Muon for the matrices in the blocks, AdamW for embedding and head."""

import math

import torch
from torch import Tensor, nn

from model import GPT

_EMBED_RATE, _HEAD_RATE = 10.0, 0.15  # AdamW's learning rates as multiples of Muon's


def orthogonalize(matrix: Tensor, steps: int = 3) -> Tensor:
    """`matrix` `(a, b)` with its singular values brought near 1 by Newton–Schulz iterations.

    The quintic and its coefficients are Muon's (Jordan et al. 2024,
    kellerjordan.github.io/posts/muon).
    """
    wide = matrix.shape[0] <= matrix.shape[1]
    x = matrix if wide else matrix.mT
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        gram = x @ x.mT  # (a, b) x (b, a) -> (a, a)
        gram = torch.addmm(gram, gram, gram, beta=-4.7750, alpha=2.0315)
        x = torch.addmm(x, gram, x, beta=3.4445)
    return x if wide else x.mT


class Muon(torch.optim.Optimizer):
    """Descent along the orthogonalized average of the gradients.

    `torch.optim.Muon` does the same in bfloat16, which takes 25 times as long on a CPU without it
    (docs/decisions.md).
    """

    def __init__(
        self,
        params: list[nn.Parameter],
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:
        """Move every matrix once, by its gradient."""
        for group in self.param_groups:
            for p in group["params"]:
                average = self.state[p].setdefault("average", torch.zeros_like(p))
                average.lerp_(p.grad, 1 - group["momentum"])
                ahead = p.grad.lerp(average, group["momentum"])  # as Nesterov looks ahead
                size = group["lr"] * math.sqrt(max(1, p.shape[0] / p.shape[1]))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.sub_(orthogonalize(ahead), alpha=size)


def make_optimizers(
    model: GPT, lr: float, weight_decay: float = 0.0
) -> list[torch.optim.Optimizer]:
    """The two optimisers of a step; `group["peak"]` keeps each group's highest rate.

    A row of the embedding meets few gradients, so its rate is high; it does not decay.
    """
    tables = [
        {"params": [model.embed.weight], "lr": _EMBED_RATE * lr, "weight_decay": 0.0},
        {"params": [model.head.weight], "lr": _HEAD_RATE * lr},
    ]
    optimizers = [
        Muon(model.matrices(), lr, weight_decay=weight_decay),
        torch.optim.AdamW(tables, betas=(0.8, 0.95), weight_decay=weight_decay, fused=True),
    ]
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["peak"] = group["lr"]
    return optimizers


def rate_at(step: int, total_steps: int, warmup: int) -> float:
    """The part of the peak rate at step `step` from 0: a line up over `warmup` steps, then down.

    >>> [round(rate_at(step, 10, 2), 2) for step in (0, 1, 2, 6, 9)]
    [0.5, 0.9, 0.8, 0.4, 0.1]
    """
    return min((step + 1) / max(1, warmup), 1 - step / total_steps)


def set_rate(optimizers: list[torch.optim.Optimizer], part: float) -> None:
    """Set every learning rate to `part` of its peak."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = part * group["peak"]

"""The loss, once per target, and the receipt of an evaluation."""

import hashlib
import math
from dataclasses import asdict, dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stream import Stream, segment_ids
from tokenizer import Tokenizer
from windows import eval_windows, gather, loss_mask

_UNIT = (
    2.0**32
)  # nats are summed as whole numbers of 2⁻³², so that the sum does not depend on order


def masked_loss(logits: Tensor, targets: Tensor, mask: Tensor | None = None) -> tuple[Tensor, int]:
    """Sum of −ln p(target) in nats over the targets that count (all if no mask), and their number.

    A mean over batches is the sum of their sums over the sum of their counts, no mean of means.

    >>> targets, mask = torch.tensor([[0, 1, 2]]), torch.tensor([[True, True, False]])
    >>> total, count = masked_loss(torch.zeros(1, 3, 4), targets, mask)
    >>> round(total.item() / count, 4)  # ln 4
    1.3863
    """
    if mask is not None:
        logits, targets = logits[mask], targets[mask]
    total = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="sum")
    return total, targets.numel()


@dataclass(frozen=True)
class Receipt:
    """What an evaluation scored, and by which scheme: without the scheme the numbers mean nothing.

    `text_bytes` are the UTF-8 bytes of the targets scored: a newline has one, an end-of-text none.

    >>> receipt = Receipt(sum_nats=69.3147, count=20, text_bytes=50, seq_len=8, stride=4)
    >>> round(receipt.nats_per_token, 4), round(receipt.bits_per_byte, 4)
    (3.4657, 2.0)
    """

    sum_nats: float
    count: int
    text_bytes: int
    seq_len: int
    stride: int
    boundaries: str = "continuous"
    tail: str = "last window right-aligned"
    layout: str = "text"
    tokenizer: str = ""
    data: str = ""

    @property
    def nats_per_token(self) -> float:
        """Mean cross-entropy: the sum over the scored targets by their number."""
        return self.sum_nats / self.count  # eq: mean-cross-entropy

    @property
    def perplexity(self) -> float:
        """e to the mean cross-entropy: as unsure as a fair choice among so many tokens."""
        return float(np.exp(self.nats_per_token))  # eq: perplexity

    @property
    def bits_per_byte(self) -> float:
        """Bits for each byte of text, which tokenizers cannot change."""
        return self.sum_nats / (math.log(2) * self.text_bytes)  # eq: bits-per-byte

    def as_dict(self) -> dict[str, float | int | str]:
        """Everything, for `receipt.json`."""
        names = ("nats_per_token", "perplexity", "bits_per_byte")
        return {name: getattr(self, name) for name in names} | asdict(self)


@torch.inference_mode()
def evaluate(
    model: nn.Module,
    stream: Stream,
    tok: Tokenizer,
    seq_len: int,
    stride: int | None = None,
    *,
    batch_size: int = 64,
) -> Receipt:
    """Score each target of `stream` once, in windows of `seq_len` that move by `stride`.

    Every scored target but those of the first window sees at least T − s + 1 ids: a smaller stride
    gives more context and costs T/s passes. The sum is kept in whole units of 2⁻³² nats.
    """
    stride = max(1, seq_len // 2) if stride is None else stride
    windows = eval_windows(len(stream), seq_len, stride)
    segments = segment_ids(stream.spans, len(stream))
    device = next(model.parameters()).device
    units = count = text_bytes = 0
    for first in range(0, len(windows), batch_size):
        some = windows.iloc[first : first + batch_size]
        x, y = gather(stream.ids, some)
        scored = loss_mask(some, segments, "continuous")
        logits = model(torch.tensor(x, dtype=torch.int64, device=device)).float()  # (B, T, V)
        targets = torch.tensor(y, dtype=torch.int64, device=device)
        nats = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")  # (B, T)
        units += int(np.rint(nats.double().cpu().numpy()[scored] * _UNIT).astype(np.int64).sum())
        count += int(scored.sum())
        text_bytes += int(tok.token_bytes[y[scored]].sum())
    return Receipt(
        sum_nats=units / _UNIT,
        count=count,
        text_bytes=text_bytes,
        seq_len=seq_len,
        stride=stride,
        tokenizer=tok.fingerprint,
        data=hashlib.sha256(np.ascontiguousarray(stream.ids, dtype="<i8")).hexdigest(),
    )

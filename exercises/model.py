"""The model and the loss it gets: one number from many answers.

The lesson is docs/model.md. Write a body in the place of each
`raise NotImplementedError`, and see how far you are:

    python -m pytest --against exercises/model.py

Of `Receipt` the fields are there, and the numbers are for you to compute.
"""

from dataclasses import dataclass

from torch import Tensor


def masked_loss(logits: Tensor, targets: Tensor, mask: Tensor | None = None) -> tuple[Tensor, int]:
    """Sum of −ln p(target) in nats over the targets that count (all if no mask), and their number.

    A mean over batches is the sum of their sums over the sum of their counts, no mean of means.

    >>> targets, mask = torch.tensor([[0, 1, 2]]), torch.tensor([[True, True, False]])
    >>> total, count = masked_loss(torch.zeros(1, 3, 4), targets, mask)
    >>> round(total.item() / count, 4)  # ln 4
    1.3863
    """
    raise NotImplementedError


@dataclass(frozen=True)
class Receipt:
    """What an evaluation scored, and by which scheme: without the scheme the numbers mean nothing.

    `units` is the sum of the losses in whole 2⁻³² nats. `text_bytes` are the UTF-8 bytes of the
    targets scored: a newline has one, an end-of-text none. `data` is a digest of the ids,
    `documents` one of the text, which no tokenizer changes. A receipt of no targets has the
    numbers nan.

    >>> receipt = Receipt(units=297_704_428_748, count=20, text_bytes=50, seq_len=8, stride=4)
    >>> round(receipt.nats_per_token, 4), round(receipt.bits_per_byte, 4)
    (3.4657, 2.0)
    """

    units: int
    count: int
    text_bytes: int
    seq_len: int
    stride: int
    boundaries: str = "continuous"
    tail: str = "last window right-aligned"
    layout: str = "text"
    tokenizer: str = ""
    data: str = ""
    documents: str = ""

    @property
    def sum_nats(self) -> float:
        """The sum of the losses, in nats."""
        raise NotImplementedError

    @property
    def nats_per_token(self) -> float:
        """Mean cross-entropy: the sum over the scored targets by their number."""
        raise NotImplementedError

    @property
    def perplexity(self) -> float:
        """e to the mean cross-entropy: as unsure as a fair choice among so many tokens."""
        raise NotImplementedError

    @property
    def bits_per_byte(self) -> float:
        """Bits for each byte of text, which tokenizers cannot change."""
        raise NotImplementedError

"""Who attends to whom: all earlier places of a row, or those of the same document alone.

`segments` are `(B, T)`: at each place the number of its span, 0 for padding. A span is one run of
places. None stands for rows that are one document each. Ids are never looked at.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

MASK_UP_TO = 256  # T; in longer rows a mask costs more than cutting the documents out
BUCKETS = 4  # fewer pad more, more are more calls
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]  # q, k, v -> y, all (B, h, T, d)


def choose_attention(segments: Tensor | None) -> Attend:
    """How the places of a batch attend; what all layers share is made once, here.

    Compiled code has the mask at every T, for the shapes of buckets are new in each batch.
    """
    if segments is None:
        return causal
    if segments.shape[1] <= MASK_UP_TO or torch.compiler.is_compiling():
        return masked(segments)
    return bucketed(segments)


def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Each place attends to itself and all earlier ones."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def masked(segments: Tensor) -> Attend:
    """Attention within documents, by a table of who may attend to whom."""
    mask = attention_mask(segments).unsqueeze(1)  # (B, 1, T, T): the same for every head
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def attention_mask(segments: Tensor, n: int | None = None) -> Tensor:
    """True where `j <= i` in the same span, `(B, T, T)`: `windows.attention_mask` for tensors.

    The diagonal is True, so no row is empty, and padding gives no nan. With `n` only the last n
    rows, `(B, n, T)`.
    """
    T = segments.shape[1]
    n = T if n is None else n
    return (segments[:, -n:, None] == segments[:, None, :]).tril(T - n)  # eq: may-attend


def bucketed(segments: Tensor) -> Attend:
    """Attention within documents: each is cut out, and those of like length attend together.

    A run of padding counts as a document of its own.
    """
    buckets, found_at = cut_out(segments)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        B, h, T, d = q.shape
        rows = [a.transpose(1, 2).reshape(B * T, h * d) for a in (q, k, v)]
        parts = []
        for places in buckets:
            flat, (n, L) = places.flatten(), places.shape
            cut = (r.index_select(0, flat).view(n, L, h, d).transpose(1, 2) for r in rows)
            y = causal(*cut)  # (n, h, L, d)
            parts.append(y.transpose(1, 2).reshape(-1, h * d))
        return torch.cat(parts).index_select(0, found_at).view(B, T, h, d).transpose(1, 2)

    return attend


def cut_out(segments: Tensor) -> tuple[list[Tensor], Tensor]:
    """The places of the documents in each bucket, `(n, L)`, and where each place is found again.

    Places are counted through all rows, `(B * T,)`. A document shorter than L repeats its last
    place, to which no place before it attends.

    >>> buckets, found_at = cut_out(torch.tensor([[1, 1, 2], [2, 2, 2]]))
    >>> [bucket.tolist() for bucket in buckets]
    [[[2]], [[0, 1]], [[3, 4, 5]]]
    >>> found_at.tolist()
    [1, 2, 0, 3, 4, 5]
    """
    starts = _begins(segments).flatten().nonzero().squeeze(1)  # (D,)
    lengths = torch.diff(starts, append=starts.new_tensor([segments.numel()]))
    lengths, order = lengths.sort(stable=True)
    starts = starts[order]
    buckets, real = [], []
    for first, length in zip(
        starts.tensor_split(BUCKETS), lengths.tensor_split(BUCKETS), strict=True
    ):
        if len(first):
            steps, last = torch.arange(int(length[-1]), device=first.device), length[:, None] - 1
            buckets.append(first[:, None] + torch.minimum(steps, last))
            real.append((steps <= last).flatten())
    real = torch.cat(real).nonzero().squeeze(1)
    found_at = torch.empty_like(real)
    found_at[torch.cat([bucket.flatten() for bucket in buckets])[real]] = real
    return buckets, found_at


def positions(segments: Tensor) -> Tensor:
    """The place of each token in its document, `(B, T)`, from 0.

    >>> positions(torch.tensor([[1, 1, 1, 2, 2, 0]])).tolist()
    [[0, 1, 2, 0, 1, 0]]
    """
    places = torch.arange(segments.shape[1], device=segments.device).expand_as(segments)
    return places - torch.where(_begins(segments), places, 0).cummax(1).values


def _begins(segments: Tensor) -> Tensor:
    """True at the first place of each row and wherever the number changes, `(B, T)`."""
    before = F.pad(segments[:, :-1], (1, 0), value=-1)
    return segments != before

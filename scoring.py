"""The loss, once per target; the receipt of an evaluation; and what may be compared with what."""

import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from typing import Literal, get_args

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stream import Stream, segment_ids
from tokenizer import Tokenizer
from windows import Boundaries, check_sizes, eval_windows, gather, loss_mask

UNITS_PER_NAT = 2**32  # whole units add up to the same sum in any order, which floats do not
IDS_AT_ONCE = 1024  # of a batch: more leave a processor's cache, fewer do not keep it busy
Metric = Literal["nats_per_token", "perplexity", "bits_per_byte"]


def masked_loss(logits: Tensor, targets: Tensor, mask: Tensor | None = None) -> tuple[Tensor, int]:
    """Sum of −ln p(target) in nats over the targets that count (all if no mask), and their number.

    A mean over batches is the sum of their sums over the sum of their counts, no mean of means.

    >>> targets, mask = torch.tensor([[0, 1, 2]]), torch.tensor([[True, True, False]])
    >>> total, count = masked_loss(torch.zeros(1, 3, 4), targets, mask)
    >>> round(total.item() / count, 4)  # ln 4
    1.3863
    """
    logits, targets = logits.flatten(0, -2), targets.flatten()
    if mask is None:
        return F.cross_entropy(logits, targets, reduction="sum"), len(targets)
    nats = F.cross_entropy(logits, targets, reduction="none")[mask.flatten()]  # copies no logits
    return nats.sum(), len(nats)


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
        return self.units / UNITS_PER_NAT

    @property
    def nats_per_token(self) -> float:
        """Mean cross-entropy: the sum over the scored targets by their number."""
        if not self.count:
            return math.nan
        return self.sum_nats / self.count  # eq: mean-cross-entropy

    @property
    def perplexity(self) -> float:
        """e to the mean cross-entropy: as unsure as a fair choice among so many tokens."""
        with np.errstate(over="ignore"):  # inf is right for a mean above 709 nats
            return float(np.exp(self.nats_per_token))  # eq: perplexity

    @property
    def bits_per_byte(self) -> float:
        """Bits for each byte of text, which tokenizers cannot change."""
        if not self.text_bytes:
            return math.nan
        return self.sum_nats / (math.log(2) * self.text_bytes)  # eq: bits-per-byte

    def as_dict(self) -> dict[str, float | int | str]:
        """The three numbers, what they are made of and the scheme, for `receipt.json`."""
        shown = {name: getattr(self, name) for name in (*get_args(Metric), "sum_nats")}
        return shown | {name: value for name, value in asdict(self).items() if name != "units"}


def evaluate(
    model: nn.Module,
    stream: Stream,
    tok: Tokenizer,
    seq_len: int,
    stride: int | None = None,
    *,
    boundaries: Boundaries = "continuous",
    batch_size: int | None = None,
    rank: int = 0,
    world_size: int = 1,
) -> Receipt:
    """Score each target of `stream` once, in windows of `seq_len` that move by `stride`.

    Every scored target but those of the first window sees at least T − s + 1 ids: a smaller stride
    gives more context and costs about T/s passes. Rank r of R scores windows r, r + R, …, and
    `total` adds the ranks. `batch_size` changes only the time; None suits a processor. Put a model
    with dropout into `eval()` first. If documents are `isolated`, the first token of each is never
    scored, and the model, which must take `segments`, sees its targets' own documents alone.

    Raises:
        ValueError: For a stride that leaves targets out, a rank that is not there, and a loss that
            is not finite.
    """
    if not 0 <= rank < world_size:
        raise ValueError(f"rank must be 0 or more and below world_size {world_size}; got {rank}")
    stride = max(1, seq_len // 2) if stride is None else stride
    windows = eval_windows(len(stream), seq_len, stride).iloc[rank::world_size]
    batch_size = max(1, IDS_AT_ONCE // seq_len) if batch_size is None else batch_size
    return Receipt(
        *score_windows(model, stream, tok, windows, batch_size, boundaries),
        seq_len,
        stride,
        boundaries,
        layout=stream.layout,
        tokenizer=tok.fingerprint,
        data=hashlib.sha256(np.ascontiguousarray(stream.ids, dtype="<i8")).hexdigest(),
        documents=documents_digest(stream, tok),
    )


@torch.inference_mode()
def score_windows(
    model: nn.Module,
    stream: Stream,
    tok: Tokenizer,
    windows: pd.DataFrame,
    batch_size: int,
    boundaries: Boundaries,
) -> tuple[int, int, int]:
    """Of the targets that count in the windows: their losses in units, their number, their bytes.

    Raises:
        ValueError: For a loss that is not finite.
    """
    segments = segment_ids(stream.spans, len(stream))
    units = count = text_bytes = 0
    for some in _batches(windows, batch_size):
        first = int(some["loss_from"].min())  # no target before it counts
        if first >= some["length"].iloc[0]:
            continue
        x, y = gather(stream.ids, some)
        y = y[:, first:]  # (B, T - first)
        scored = loss_mask(some, segments, boundaries)[:, first:]
        apart = gather(segments, some)[0] if boundaries == "isolated" else None
        nats = _losses(model, x, y, apart)[scored]
        _check_finite(nats, some["start"].to_numpy() + first + 1, scored)
        units += sum(map(int, np.rint(nats * UNITS_PER_NAT).tolist()))  # eq: fixed-point-sum
        count += len(nats)
        text_bytes += int(tok.token_bytes[y[scored]].sum())
    return units, count, text_bytes


def _batches(windows: pd.DataFrame, batch_size: int) -> Iterator[pd.DataFrame]:
    """The windows in batches; those that score all their targets make batches of their own."""
    check_sizes(batch_size=batch_size)
    for _, group in windows.groupby(windows["loss_from"] > 0):
        for first in range(0, len(group), batch_size):
            yield group.iloc[first : first + batch_size]


def _losses(
    model: nn.Module, x: np.ndarray, y: np.ndarray, segments: np.ndarray | None
) -> np.ndarray:
    """−ln p of the targets `y` `(B, n)`, the last ones of the inputs `x` `(B, T)`; float64."""
    n = y.shape[1]
    device = next(model.parameters(), torch.empty(0)).device
    ids, targets = (torch.tensor(a, dtype=torch.int64, device=device) for a in (x, y))
    how = {} if segments is None else {"segments": torch.tensor(segments, device=device)}
    short = n < x.shape[1] and hasattr(model, "tail_logits")
    logits = model.tail_logits(ids, n, **how) if short else model(ids, **how)[:, -n:]  # (B, n, V)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32)).flatten(0, 1)
    nats = F.cross_entropy(logits, targets.flatten(), reduction="none")  # (B * n,)
    return nats.view(y.shape).double().cpu().numpy()


def _check_finite(nats: np.ndarray, firsts: np.ndarray, scored: np.ndarray) -> None:
    """Refuse losses that have no sum. `firsts` are the places of each row's first target."""
    bad = np.flatnonzero(~np.isfinite(nats))
    if len(bad):
        row, place = np.argwhere(scored)[bad[0]]
        raise ValueError(
            f"the model's loss of the target at place {firsts[row] + place} is {nats[bad[0]]}, and "
            "nothing can be added to that; nan comes from weights that diverged (train again with "
            "a lower lr), inf from a target that the model calls impossible"
        )


def documents_digest(stream: Stream, tok: Tokenizer) -> str:
    """A digest of the documents in `stream`: their text, whatever the tokenizer and the layout.

    SHA-256 of each span's bytes, with their number (8 bytes, little-endian) before them. Left out
    is what only ends a document: the last newline in layout `text`, an end-of-text.

    >>> from stream import encode_documents, encode_text
    >>> tok, merged = Tokenizer([]), Tokenizer([(b"h", b"i")])
    >>> documents = pd.DataFrame({"text": ["hi", "you"]})
    >>> text, eot = encode_text(documents, tok), encode_documents(documents, merged)
    >>> documents_digest(text, tok) == documents_digest(eot, merged)
    True
    """
    digest = hashlib.sha256()
    for start, stop in zip(stream.spans["start"], stream.spans["stop"], strict=True):
        ids = stream.ids[start:stop]
        text = tok.decode_bytes(ids[ids != tok.eot_id])
        if stream.layout == "text":
            text = text.removesuffix(b"\n")
        digest.update(len(text).to_bytes(8, "little") + text)
    return digest.hexdigest()


def total(receipts: Iterable[Receipt]) -> Receipt:
    """The receipt of all ranks together, from that of each; exact, in whatever order they come.

    >>> total([Receipt(5, 3, 3, seq_len=8, stride=4), Receipt(7, 1, 2, seq_len=8, stride=4)]).units
    12
    """
    receipts = list(receipts)
    if not receipts:
        raise ValueError("a total needs the receipt of at least one rank, got none")
    sums = ("units", "count", "text_bytes")
    scheme = [field.name for field in fields(Receipt) if field.name not in sums]
    for other in receipts[1:]:
        if told := _differences(receipts[0], other, scheme):
            raise ValueError(f"only ranks of one evaluation can be added, and here {told}")
    return replace(receipts[0], **{name: sum(getattr(r, name) for r in receipts) for name in sums})


@dataclass(frozen=True)
class Comparison:
    """The numbers of two receipts that may be compared.

    `difference` is `b` − `a`: below 0 if b is better.

    >>> print(Comparison("bits_per_byte", 2.5, 2.25, -0.25, ("4f1b", "90aa")))
    bits_per_byte: 2.5000 and 2.2500, difference -0.2500; tokenizers 4f1b and 90aa
    """

    metric: Metric
    a: float
    b: float
    difference: float
    tokenizers: tuple[str, str]

    def __str__(self) -> str:
        names = [_told(name) for name in dict.fromkeys(self.tokenizers)]
        by = "tokenizers " + " and ".join(names) if len(names) > 1 else f"one tokenizer, {names[0]}"
        return (
            f"{self.metric}: {self.a:.4f} and {self.b:.4f}, difference {self.difference:+.4f}; {by}"
        )


def compare(a: Receipt, b: Receipt, metric: Metric) -> Comparison:
    """The `metric` of two receipts side by side, if what it depends on is the same in both.

    `nats_per_token` and `perplexity` need the same targets in the same scheme. `bits_per_byte`
    needs the same documents, T, stride and boundaries; tokenizers may differ, and are told.

    Raises:
        ValueError: Naming everything that differs, with both values.
    """
    if metric not in get_args(Metric):
        raise ValueError(f"metric must be one of {', '.join(get_args(Metric))}; got {metric!r}")
    same = ["documents", "boundaries", "seq_len", "stride"]
    way_out = "evaluate both models on the same documents, in the same windows"
    if metric != "bits_per_byte":
        same = ["tokenizer", "data", "layout", "boundaries", "tail", "seq_len", "stride", "count"]
        way_out += ", or, if only tokenizers differ, compare bits_per_byte"
    elif a.data == b.data:
        same.append("count")  # where it differs, one is a rank's share
    if told := _differences(a, b, same):
        raise ValueError(f"{metric} cannot be compared, for {told}; {way_out}")
    values = getattr(a, metric), getattr(b, metric)
    return Comparison(metric, *values, values[1] - values[0], (a.tokenizer, b.tokenizer))


def _differences(a: Receipt, b: Receipt, names: Iterable[str]) -> str:
    """`stride is 4 and 8, …`: the fields in which two receipts differ."""
    pairs = [(name, getattr(a, name), getattr(b, name)) for name in names]
    return ", ".join(f"{name} is {_told(x)} and {_told(y)}" for name, x, y in pairs if x != y)


def _told(value: object) -> str:
    """A value as a sentence has it: of a digest, the beginning."""
    text = str(value)
    return f"{text[:12]}…" if len(text) == 64 else text

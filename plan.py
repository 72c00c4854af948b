"""What a run will do, and what leaks in its order, told before it does it."""

from dataclasses import dataclass
from fractions import Fraction

from stream import Stream
from tokenizer import Tokenizer
from windows import (
    count_batches,
    count_passes,
    count_steps,
    count_unused,
    count_windows,
    eval_windows,
)


def check_sides(n_train: int, n_val: int, seq_len: int) -> None:
    """Refuse a split that leaves a side without one window, and say which settings would work.

    >>> check_sides(960, 40, 64)
    Traceback (most recent call last):
    ValueError: the validation side has 40 ids, and one window of --seq-len 64 needs 65; use \
--seq-len 39 or less, or a --val-fraction from 0.0641 to 0.935
    """
    n = n_train + n_val
    if min(n_train, n_val) > seq_len:
        return
    side, ids = ("training", n_train) if n_train <= seq_len else ("validation", n_val)
    unit = 10 ** max(2, len(str(n)))
    low = n and Fraction(seq_len * unit // n + 1, unit)  # the validation side fits where ρ > T/N
    high = n and Fraction((n - seq_len - 1) * unit // n, unit)  # training where ρ <= 1 - (T+1)/N
    ways_out = []
    if min(n_train, n_val) > 1:
        ways_out.append(f"use --seq-len {min(n_train, n_val) - 1} or less")
    if 0 < low <= high:
        another = "a" if ways_out else "use a"
        ways_out.append(f"{another} --val-fraction from {float(low)} to {float(high)}")
    if not ways_out:
        ways_out.append(f"the text must give {2 * seq_len + 2} ids or more, it gives {n}")
    raise ValueError(
        f"the {side} side has {ids} ids, and one window of --seq-len {seq_len} needs "
        f"{seq_len + 1}; {', or '.join(ways_out)}"
    )


def check_memory(memory: int, *, weights: int, logits: int, windows: int) -> None:
    """Refuse a run that surely needs more than `memory` bytes, and say what makes it smaller.

    Counted are, in float32, each weight, its gradient and one average, the logits of a batch, and
    the 24 bytes of each window that is taken. A run needs more than that.

    >>> check_memory(2**33, weights=2**31, logits=2**20, windows=100)
    Traceback (most recent call last):
    ValueError: the weights and what trains them need 25.8 GB or more, and the machine has 8.6 GB; \
use a smaller --d-model or --n-layer
    """
    needs = {
        "weights and what trains them": (12 * weights, "--d-model or --n-layer"),
        "logits of a batch": (4 * logits, "--batch-size, --seq-len or --num-merges"),
        "windows of all steps": (24 * windows, "--batch-size, --steps or --epochs"),
    }
    for what, (size, flags) in needs.items():
        if size > memory:
            raise ValueError(
                f"the {what} need {size / 1e9:,.1f} GB or more, and the machine has "
                f"{memory / 1e9:,.1f} GB; use a smaller {flags}"
            )


@dataclass(frozen=True)
class Plan:
    """The numbers of a run before its first step. Memory is in bytes."""

    documents: int
    text_bytes: int
    vocab_size: int
    ids: int
    cut: int
    seq_len: int
    stride: int
    eval_stride: int
    batch_size: int
    epochs: int
    step_limit: int | None
    sampling: str
    matrix_parameters: int
    table_parameters: int

    @property
    def train_windows(self) -> int:
        """Windows of the training side, W; to draw from, if sampling is random."""
        return count_windows(self.cut, self.seq_len, self._step_between)

    @property
    def unused_ids(self) -> int:
        """Training ids that are in no window."""
        return count_unused(self.cut, self.seq_len, self._step_between)

    @property
    def _step_between(self) -> int:
        return 1 if self.sampling == "random" else self.stride

    @property
    def val_windows(self) -> int:
        """Windows that score each validation target once."""
        return len(eval_windows(self.ids - self.cut, self.seq_len, self.eval_stride))

    @property
    def batches_per_epoch(self) -> int:
        """Batches that give each window at the stride once; random sampling takes as many."""
        windows = count_windows(self.cut, self.seq_len, self.stride)
        return count_batches(windows, self.batch_size)

    @property
    def steps(self) -> int:
        """Training steps: the limit if there is one, else those of all epochs."""
        windows = count_windows(self.cut, self.seq_len, self.stride)
        return self.step_limit or count_steps(windows, self.batch_size, self.epochs)

    @property
    def passes(self) -> float:
        """How often a training target is predicted on average, in all windows that hold it."""
        if self.sampling == "random":
            return count_passes(self.steps * self.batch_size, self.seq_len, self.cut)
        epochs, batches = divmod(self.steps, self.batches_per_epoch)
        windows = epochs * self.train_windows + min(batches * self.batch_size, self.train_windows)
        return count_passes(windows, self.seq_len, self.cut)

    @property
    def val_passes(self) -> float:
        """How often a validation target is predicted, to be scored once."""
        return count_passes(self.val_windows, self.seq_len, self.ids - self.cut)

    @property
    def parameters(self) -> int:
        """Weights of the model."""
        return self.matrix_parameters + self.table_parameters

    @property
    def state_bytes(self) -> int:
        """Float32 weights, gradients, and Muon's average of a matrix or AdamW's two of a table."""
        return 4 * (3 * self.matrix_parameters + 4 * self.table_parameters)

    @property
    def logits_bytes(self) -> int:
        """Float32 logits `(B, T, V)` of a batch, the largest array of a step."""
        return 4 * self.batch_size * self.seq_len * self.vocab_size


def leaks(train: Stream, val: Stream, tok: Tokenizer) -> list[str]:
    """What validation shares with training if a text is cut after a tokenizer was fitted on it."""
    val_bytes = int(tok.uses(val.ids) @ tok.token_bytes)
    found = [f"the tokenizer was fitted on the validation text too, {val_bytes:,} bytes"]
    last, first = train.spans.iloc[-1], val.spans.iloc[0]
    if last["doc_id"] == first["doc_id"]:
        found.append(
            f"the cut divides document {first['doc_id']}: its tokens before the cut are trained on "
            f"({last['stop'] - last['start']:,}), those after it are scored "
            f"({first['stop'] - first['start']:,})"
        )
    return found

"""What a run shows people: tables, a line of progress, text that the model wrote."""

import math
import re
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from batches import repeat_share
from model import GPT, sample
from plan import Plan
from scoring import Receipt
from tokenizer import Tokenizer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_WORD = re.compile(r"[^\W\d_]{3,}")


def console() -> "Console":
    """Where a run prints: colours on a terminal, plain text elsewhere."""
    from rich.console import Console  # here, for importing rich moves Python's global random state

    return Console(highlight=False)


def _table(title: str, rows: list[tuple[str, ...]], headings: tuple[str, ...] = ()) -> "Table":
    """Rows with every second column to the right, as numbers are read."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", show_header=bool(headings))
    for k in range(len(rows[0])):
        name = headings[k] if headings else ""
        table.add_column(name, justify="right" if k % 2 else "left", style="cyan" if k == 0 else "")
    for row in rows:
        table.add_row(*row)
    return table


def plan_table(plan: Plan) -> "Table":
    """The numbers of a run before its first step."""
    val = plan.ids - plan.cut
    return _table(
        "Plan",
        [
            ("documents", f"{plan.documents:,}", f"{plan.text_bytes:,} bytes of text"),
            (
                "vocabulary V",
                f"{plan.vocab_size:,}",
                f"256 bytes, {plan.vocab_size - 257:,} merges",
            ),
            ("ids N", f"{plan.ids:,}", f"{plan.text_bytes / plan.ids:.2f} bytes each"),
            ("cut", f"{plan.cut:,}", f"that many to train on, {val:,} to validate"),
            ("training windows W", f"{plan.train_windows:,}", _windows_told(plan)),
            (
                "validation windows",
                f"{plan.val_windows:,}",
                f"each target scored once, in {plan.val_passes:.2f} passes",
            ),
            (
                "batches per epoch",
                f"{plan.batches_per_epoch:,}",
                f"of B = {plan.batch_size} windows",
            ),
            ("steps", f"{plan.steps:,}", f"{plan.steps / plan.batches_per_epoch:.2f} epochs"),
            ("passes over the data", f"{plan.passes:.2f}", "predictions of a training target"),
            (
                "parameters",
                f"{plan.parameters:,}",
                f"{_mb(plan.state_bytes)} with what trains them",
            ),
            ("logits of a batch", _mb(plan.logits_bytes), "the largest array of a step"),
        ],
    )


def _windows_told(plan: Plan) -> str:
    if plan.sampling == "random":
        share = repeat_share(plan.train_windows, plan.steps * plan.batch_size)
        return f"{share:.1%} of the draws repeat one"
    return f"{plan.unused_ids:,} ids are in none"


def _mb(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def tokens_table(tok: Tokenizer, ids: np.ndarray, n: int = 12) -> "Table":
    """The tokenizer's longest tokens and those used most, with their uses in `ids`."""
    used = pd.Series(tok.uses(ids)[: tok.eot_id])
    sizes = pd.Series(tok.token_bytes[: tok.eot_id])
    longest = sizes.sort_values(ascending=False, kind="stable").index[:n]
    most = used.sort_values(ascending=False, kind="stable").index[:n]
    rows = [
        (_quoted(tok, a), f"{used[a]:,}", _quoted(tok, b), f"{used[b]:,}")
        for a, b in zip(longest, most, strict=True)
    ]
    return _table("What the tokenizer learned", rows, ("longest", "uses", "most used", "uses"))


def _quoted(tok: Tokenizer, token: int) -> str:
    return repr(tok.decode([token])).replace("[", r"\[")  # rich would take a bracket for a style


def progress_line(
    step: int, total_steps: int, train_loss: float, receipt: Receipt, speed: float
) -> str:
    """One line: the losses since the last validation, this validation, and tokens a second."""
    return (
        f"step {step:>{len(str(total_steps))}}/{total_steps}: "
        f"training {train_loss:.3f}, "
        f"validation {receipt.nats_per_token:.3f} nats per token, "
        f"{receipt.bits_per_byte:.3f} bits per byte; {speed:,.0f} tokens/s"
    )


def sides_table(sizes: pd.DataFrame) -> "Table":
    """How much each side has."""
    rows = [
        (side, *(f"{value:,}" for value in row))
        for side, row in zip(sizes.index, sizes.itertuples(index=False), strict=True)
    ]
    return _table("Sides", rows, ("side", *sizes.columns))


def receipt_table(receipt: Receipt, title: str = "Receipt") -> "Table":
    """What was scored, by which scheme, and the result."""
    shown = {float: "{:,.4f}", int: "{:,}", str: "{:.32}"}
    rows = receipt.as_dict().items()
    return _table(title, [(k.replace("_", " "), shown[type(v)].format(v)) for k, v in rows])


@dataclass(frozen=True)
class Samples:
    """Texts that a model wrote, and how many of their words (three letters or more) it has read.

    None is how many, if the corpus is not at hand.
    """

    texts: list[str]
    words: int
    known_words: int | None

    @property
    def known_share(self) -> float:
        """Part of the words that the corpus has; nan if it is not at hand."""
        if self.known_words is None:
            return math.nan
        return self.known_words / self.words if self.words else 0.0

    def __str__(self) -> str:
        parts = [f"--- sample {k}\n{text}\n" for k, text in enumerate(self.texts, 1)]
        if self.known_words is not None:
            share = f"{self.known_share:.1%} of their {self.words} longer words"
            parts.append(f"--- the corpus has {share}\n")
        return "\n".join(parts)


def write_samples(
    model: GPT,
    tok: Tokenizer,
    prompt: list[int],
    corpus: str | None,
    seq_len: int,
    seed: int,
    n: int = 3,
    tokens: int = 120,
) -> Samples:
    """`n` texts of up to `tokens` tokens after `prompt`, which is part of them.

    A text ends where the model says so, with an end-of-text. Without a `corpus` its words are not
    looked up.
    """
    drawn = [sample(model, prompt, tokens, seq_len, seed=seed + k) for k in range(n)]
    ended = [list(takewhile(lambda token: token != tok.eot_id, ids)) for ids in drawn]
    begun = [token for token in prompt if token != tok.eot_id]
    texts = [tok.decode(begun + ids).strip() for ids in ended]
    words = [
        word for text in texts for word in _WORD.findall(text.lower())[:-1]
    ]  # the last may be cut short
    if corpus is None:
        return Samples(texts, len(words), None)
    known = set(_WORD.findall(corpus.lower()))
    return Samples(texts, len(words), sum(word in known for word in words))

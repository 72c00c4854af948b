"""What partitions hold, looked at before anything is made of them: measures, sides, lessons."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from addresses import Partition
from corpus import read_documents, text_bytes
from sides import SPLITS, assign_splits, group_hash, text_groups

_PLACES = 1 << 64  # of a group, when documents are drawn to fit a tokenizer on


@dataclass(frozen=True)
class Recipe:
    """How rows become documents, and documents fall on sides."""

    column: str = "text"
    encoding: str = "utf-8"
    group_column: str | None = None
    val_fraction: float = 0.1
    test_fraction: float = 0.0
    seed: int = 42


@dataclass(frozen=True)
class Measure:
    """What a partition holds: records, and of each side the documents and their bytes of text.

    `groups`, if a column names them, has a row a document: its record, and hashes of its text and
    of its group, uint64 `(D, 3)`.
    """

    records: int
    documents: dict[str, int]
    text_bytes: dict[str, int]
    groups: np.ndarray | None = None


def divided(partition: Partition, recipe: Recipe) -> tuple[pd.DataFrame, int]:
    """The documents of a partition with their sides, and the number of its records."""
    documents, records = read_documents(
        partition, recipe.column, encoding=recipe.encoding, group_column=recipe.group_column
    )
    fractions = recipe.val_fraction, recipe.test_fraction
    return assign_splits(documents, *fractions, recipe.seed), records


def measure(partition: Partition, recipe: Recipe) -> Measure:
    """Read a partition, so that whatever is refused is refused before anything is made of it."""
    documents, records = divided(partition, recipe)
    texts = {side: documents["text"][documents["split"] == side] for side in SPLITS}
    return Measure(
        records,
        {side: len(some) for side, some in texts.items()},
        {side: text_bytes(some) for side, some in texts.items()},
        _hashes(documents) if recipe.group_column else None,
    )


def _hashes(documents: pd.DataFrame) -> np.ndarray:
    texts = text_groups(documents["text"])
    rows = zip(documents.index, texts, documents["group"], strict=True)
    hashed = [(doc_id, group_hash(text, 0), group_hash(group, 0)) for doc_id, text, group in rows]
    return np.array(hashed, np.uint64).reshape(-1, 3)


def lessons(partition: Partition, recipe: Recipe, below: int) -> list[str]:
    """The training documents that a tokenizer is fitted on, in order.

    A group has a place from 0 to 2⁶⁴ − 1, which (seed, group) alone decide and which has nothing to
    do with its side; those `below` a number are taken, so a share of the groups is.
    """
    documents, _ = divided(partition, recipe)
    train = documents[documents["split"] == "train"]
    taken = [group_hash(f"fit:{group}", recipe.seed) < below for group in train["group"]]
    return train["text"][taken].tolist()


def share_below(text_bytes: int, fit_bytes: int) -> int:
    """Below which place a group is taken, so that about `fit_bytes` of `text_bytes` are.

    >>> share_below(100, 100) == 1 << 64, share_below(400, 100) == 1 << 62
    (True, True)
    """
    return min(_PLACES, fit_bytes * _PLACES // max(1, text_bytes))  # eq: fit-share


# ---- all partitions together


def total(measures: Sequence[Measure], what: str) -> dict[str, int]:
    """The sums of `documents` or `text_bytes` by side."""
    return {side: sum(getattr(m, what)[side] for m in measures) for side in SPLITS}


def check_sides(measures: Sequence[Measure], sides: Sequence[str]) -> None:
    """Refuse a division that leaves one of the sides without a document."""
    documents = total(measures, "documents")
    for side in sides:
        if not documents[side]:
            told = ", ".join(f"{name} has {count}" for name, count in documents.items())
            raise ValueError(
                f"no document fell on the {side} side ({told}); use another --{side}-fraction or "
                "--seed, or more documents"
            )


def check_groups(partitions: Sequence[Partition], measures: Sequence[Measure]) -> None:
    """Refuse one text in two groups, which might fall on two sides.

    This takes 32 bytes a document in one process, and is done if a column names the groups.
    """
    rows = np.concatenate([m.groups for m in measures])  # (D, 3): record, text, group
    owner = np.repeat(np.arange(len(measures)), [len(m.groups) for m in measures])
    order = np.argsort(rows[:, 1], kind="stable")
    text, group = rows[order, 1], rows[order, 2]
    parted = np.flatnonzero((text[1:] == text[:-1]) & (group[1:] != group[:-1]))
    if len(parted):
        one, other = (
            _place(partitions, measures, owner[i], rows[i, 0])
            for i in (order[parted[0]], order[parted[0] + 1])
        )
        raise ValueError(
            f"{one} and {other} (from 0) hold one text in two groups; give both the same group, or "
            "leave one out"
        )


def _place(
    partitions: Sequence[Partition], measures: Sequence[Measure], at: int, record: int
) -> str:
    """A record of a partition, counted in its file."""
    address = partitions[at].address
    pairs = zip(partitions[:at], measures[:at], strict=True)
    before = sum(m.records for partition, m in pairs if partition.address == address)
    return f"{address}, record {before + int(record)}"

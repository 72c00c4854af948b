"""Which side owns which document, and the proof that no side used what another one owns."""

import hashlib
import math
import operator
import unicodedata
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd

SPLITS = ("train", "val", "test")

Used = Iterable[int] | pd.DataFrame

_PLACES = 1 << 64  # of a hash of 8 bytes

# Sides as the bits of a number: 1 train, 2 val, 4 test; and what each such number means.
_BIT = {side: 1 << k for k, side in enumerate(SPLITS)}
_TOLD = [", ".join(side for side in SPLITS if bits & _BIT[side]) for bits in range(8)]
_SEVERAL = np.array([bits.bit_count() > 1 for bits in range(8)])

# ---- owning


def text_groups(texts: pd.Series) -> pd.Series:
    """The texts in Unicode's form NFC, in which two spellings of one text are the same.

    >>> text_groups(pd.Series(["cafe\\u0301", "tea"])).tolist() == ["caf\\u00e9", "tea"]
    True
    """
    normal = {  # most texts are so already
        doc_id: form
        for doc_id, text in zip(texts.index, texts.tolist(), strict=True)
        if not text.isascii() and (form := unicodedata.normalize("NFC", text)) != text
    }
    groups = texts.copy()
    if normal:
        groups[list(normal)] = list(normal.values())
    return groups


def assign_splits(
    documents: pd.DataFrame, val_fraction: float, test_fraction: float = 0.0, seed: int = 0
) -> pd.DataFrame:
    """A copy of `documents` with a column `split`: `train`, `val` or `test`, one side a group.

    (seed, group) alone decide, by a hash that is a place in [0, 1): below `val_fraction` is `val`,
    the last `test_fraction` is `test`, the rest is `train`. So a document stays on its side when
    rows come, go or change their order, and shares are near the fractions, not exactly them.

    >>> from corpus import load_documents
    >>> documents = load_documents("data/corpus.csv")
    >>> assign_splits(documents, 0.1, 0.1)["split"].value_counts().to_dict()
    {'train': 632, 'val': 88, 'test': 80}
    """
    val, test = (_decimal(f, n) for f, n in ((val_fraction, "val"), (test_fraction, "test")))
    if val + test >= 1:
        raise ValueError(
            f"val_fraction {val_fraction} and test_fraction {test_fraction} leave nothing to "
            "train on; their sum must be below 1"
        )
    _check_groups(documents)
    seed = operator.index(seed)
    first, last = math.ceil(val * _PLACES), math.ceil((1 - test) * _PLACES)

    def side(group: str) -> str:
        place = group_hash(group, seed)
        return "val" if place < first else "test" if place >= last else "train"  # eq: side

    splits = pd.Series(map(side, documents["group"]), documents.index, dtype="str")
    return documents.assign(split=splits)


def group_hash(group: str, seed: int) -> int:
    """BLAKE2b of `seed:group`: one of the whole numbers 0 … 2⁶⁴ − 1, each as likely as another."""
    digest = hashlib.blake2b(f"{seed}:{group}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def _decimal(fraction: float, name: str) -> Fraction:
    """The decimal that was written, exactly."""
    if not 0 <= fraction < 1:
        raise ValueError(f"{name}_fraction must be at least 0 and below 1, got {fraction}")
    return Fraction(str(fraction))


def _check_groups(documents: pd.DataFrame) -> None:
    if "group" not in documents:
        raise ValueError(
            f"the documents have no column 'group', only {', '.join(map(repr, documents))}; "
            "load_documents makes it"
        )


# ---- how much each side gets


def expected_documents(documents: pd.DataFrame, fraction: float) -> tuple[float, float]:
    """How many documents a side of that share gets: the mean of all seeds, and the deviation.

    A standard deviation: about two seeds in three stray by less. It grows with large groups, which
    come as a whole or not at all.

    >>> documents = pd.DataFrame({"group": list("abcdefgh") * 2})
    >>> expected_documents(documents, 0.5)
    (8.0, 2.8284271247461903)
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"fraction must be from 0 to 1, got {fraction}")
    sizes = documents["group"].value_counts().to_numpy()  # of each group, in documents
    expected = fraction * len(documents)  # eq: expected-documents
    deviation = math.sqrt(fraction * (1 - fraction) * (sizes**2).sum())  # eq: deviation
    return expected, deviation


def side_sizes(
    documents: pd.DataFrame, spans: Mapping[str, pd.DataFrame] | None = None
) -> pd.DataFrame:
    """A row a side, in the order train, val, test: its documents, groups and bytes of text.

    With the `spans` of each side's stream there is a column `tokens`; padding is in no span.

    >>> documents = pd.DataFrame({"text": ["hi", "hi", "café"], "group": ["hi", "hi", "café"]})
    >>> side_sizes(documents.assign(split=["train", "train", "val"])).loc["val"].to_dict()
    {'documents': 1, 'groups': 1, 'bytes': 5}
    """
    _check_groups(documents)
    owners = _owners(documents)
    rows = {}
    for side, bit in _BIT.items():
        owned = documents[owners == bit]
        size = sum(len(text.encode()) for text in owned["text"])
        rows[side] = [len(owned), owned["group"].nunique(), size]
    sizes = pd.DataFrame.from_dict(rows, "index", columns=["documents", "groups", "bytes"])
    if spans is not None:
        held = {side: int((some["stop"] - some["start"]).sum()) for side, some in spans.items()}
        sizes["tokens"] = [held.get(side, 0) for side in SPLITS]
    return sizes.rename_axis("side")


def check_split(documents: pd.DataFrame, sides: Iterable[str] = ("train", "val")) -> None:
    """Refuse a division that leaves one of the `sides` without a document.

    >>> documents = pd.DataFrame({"text": ["hi", "you"], "group": ["hi", "you"]})
    >>> check_split(assign_splits(documents, 0.01))
    Traceback (most recent call last):
    ValueError: of 2 groups of documents none fell on the val side (train has 2, val 0, test 0); \
use a larger --val-fraction, another --seed, or more documents
    """
    groups = side_sizes(documents)["groups"]
    for side in sides:
        if not groups[side]:
            told = f"train has {groups['train']}, val {groups['val']}, test {groups['test']}"
            way_out = f"a larger --{side}-fraction"
            if side == "train":
                way_out = "smaller fractions for the other sides"
            raise ValueError(
                f"of {groups.sum()} groups of documents none fell on the {side} side ({told}); "
                f"use {way_out}, another --seed, or more documents"
            )


def _owners(documents: pd.DataFrame) -> np.ndarray:
    """The bit of the side that owns each document, uint8 `(D,)`."""
    if "split" not in documents:
        raise ValueError("the documents have no column 'split'; assign_splits makes it")
    bits = documents["split"].map(_BIT)
    if bits.isna().any():
        doc_id = bits.index[bits.isna()][0]
        raise ValueError(
            f"document {doc_id} is on side {documents['split'][doc_id]!r}; there are "
            f"{', '.join(SPLITS)}"
        )
    return bits.to_numpy(np.uint8)


def check_apart(spans: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """A row a side, documents and tokens: of spans in which no document is on two sides.

    >>> one = pd.DataFrame({"start": [0, 2], "stop": [2, 9], "doc_id": [4, 7]})
    >>> check_apart({"train": one, "val": one.assign(doc_id=[5, 6])}).loc["val"].to_dict()
    {'documents': 2, 'tokens': 9}
    """
    doc_ids = {side: some["doc_id"].unique() for side, some in spans.items()}
    for one, other in combinations(doc_ids, 2):
        if len(both := np.intersect1d(doc_ids[one], doc_ids[other], assume_unique=True)):
            raise ValueError(
                f"document {both[0]} is on two sides, {one} and {other}, and {len(both) - 1} more "
                "are; prepare the corpus again"
            )
    rows = {
        side: [len(doc_ids[side]), int((some["stop"] - some["start"]).sum())]
        for side, some in spans.items()
    }
    sizes = pd.DataFrame.from_dict(rows, "index", columns=["documents", "tokens"])
    return sizes.rename_axis("side")


# ---- what was really used


def audit_split(documents: pd.DataFrame, used: Mapping[str, Used]) -> pd.DataFrame:
    """A row for each leak between the sides: kind, doc_id, group, sides, window. None: it is clean.

    `used` is what each side consumes, after shuffling, over-sampling, windowing and packing: its
    doc_ids, however often, or a frame with a column `doc_id`, such as spans or a window lineage. A
    document is on the sides that use it and, if there is a column `split`, on the one that owns it.

    * `document`: it is on two sides;
    * `group`: two documents of one group, or of one text, are on two sides (`doc_id` is the first);
    * `window`: it holds a document that another side owns, or uses if nobody owns any (the first).

    >>> documents = pd.DataFrame({"text": ["hi", "you", "hi"], "group": ["hi", "you", "hi"]})
    >>> audit_split(documents, {"train": [0, 1, 1], "val": [1, 2]}).drop(columns="window")
           kind  doc_id group       sides
    0  document       1   you  train, val
    1     group       0    hi  train, val

    Raises:
        ValueError: For a side that there is not, a doc_id that is not in the frame or twice in it.
    """
    places = _places(documents, used)
    sides = np.zeros(len(documents), np.uint8)  # (D,) as bits
    for side, rows in places.items():
        sides[rows] |= _BIT[side]
    reached = np.flatnonzero(sides)
    owners = _owners(documents) if "split" in documents else sides
    sides |= owners

    leaking = np.flatnonzero(_SEVERAL[sides])
    found = [_leaks("document", documents, leaking, sides[leaking])]
    found += _shared_groups(documents, reached, sides[reached])
    for side, frame in used.items():
        if isinstance(frame, pd.DataFrame) and "window" in frame:
            rows, windows = places[side], frame["window"].to_numpy()
            foreign = np.flatnonzero(owners[rows] & ~np.uint8(_BIT[side]))
            foreign = foreign[~pd.Series(windows[foreign]).duplicated()]
            rows = rows[foreign]
            on = owners[rows] | np.uint8(_BIT[side])
            found.append(_leaks("window", documents, rows, on, windows[foreign]))
    return pd.concat(found, ignore_index=True)


def _places(documents: pd.DataFrame, used: Mapping[str, Used]) -> dict[str, np.ndarray]:
    """Where in the frame the documents stand that each side uses."""
    _check_groups(documents)
    if not documents.index.is_unique:
        twice = documents.index[documents.index.duplicated()][0]
        raise ValueError(
            f"document {twice} stands twice in the frame; leave one out (a document that is used "
            "twice stands twice in what its side uses)"
        )
    places = {}
    for side, what in used.items():
        if side not in SPLITS:
            raise ValueError(f"the sides are {', '.join(SPLITS)}; got {side!r}")
        if isinstance(what, pd.DataFrame) and "doc_id" not in what:
            raise ValueError(
                f"what {side} uses has no column 'doc_id', only {', '.join(map(repr, what))}; give "
                "spans, a window lineage or the doc_ids themselves"
            )
        doc_ids = pd.Index(what["doc_id"] if isinstance(what, pd.DataFrame) else [*what])
        places[side] = documents.index.get_indexer(doc_ids)
        if (missing := places[side] < 0).any():
            raise ValueError(
                f"{side} uses document {doc_ids[missing][0]}, which is not among the "
                f"{len(documents)} documents; give the frame from which its stream was made"
            )
    return places


def _shared_groups(
    documents: pd.DataFrame, rows: np.ndarray, sides: np.ndarray
) -> Iterable[pd.DataFrame]:
    """The groups of which two documents are on two sides; then texts of which that is so."""
    kinds = [documents["group"]]
    if "text" in documents:
        kinds.append(text_groups(documents["text"]))
    for kind in kinds:
        codes, names = pd.factorize(kind.iloc[rows], use_na_sentinel=False)
        together = np.zeros(len(names), np.uint8)
        np.bitwise_or.at(together, codes, sides)
        parted = (_SEVERAL[together] & (np.bincount(codes, minlength=len(names)) > 1))[codes]
        first = parted & ~pd.Series(codes).duplicated().to_numpy()
        yield _leaks("group", documents, rows[first], together[codes[first]])
        rows, sides = rows[~parted], sides[~parted]  # what was told once is not told again


def _leaks(
    kind: str,
    documents: pd.DataFrame,
    rows: np.ndarray,
    sides: np.ndarray,
    windows: np.ndarray | None = None,
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "kind": pd.Series([kind] * len(rows), dtype="str"),
            "doc_id": documents.index[rows],
            "group": documents["group"].iloc[rows].array,
            "sides": pd.Series([_TOLD[bits] for bits in sides], dtype="str"),
            "window": pd.array([pd.NA] * len(rows) if windows is None else windows, dtype="Int64"),
        }
    )

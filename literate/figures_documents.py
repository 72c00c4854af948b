"""The figure and the tables of the page about documents on one side."""

import pandas as pd

from benchmarks.record import kept
from data import split_ids
from literate.figures import WIDTH, _box, _svg, _text
from sides import assign_splits, group_hash
from stream import cut_stream, encode_text
from tokenizer import Tokenizer

TEXTS = ["pear", "quince", "plum tart", "lemon", "melon", "pear", "cherry"]
LEFT_OUT, PUT_IN = "plum tart", "grape"
FRACTION, SEED = 0.3, 0
TONES = {"train": "i", "val": "o"}

Table = tuple[list[str], list[list[str]]]
Piece = tuple[int, str, int]  # a document, its side, its ids on that side


def hand_documents(texts: list[str] = TEXTS) -> pd.DataFrame:
    """Hand-picked documents, divided."""
    documents = pd.DataFrame({"text": texts, "group": texts}).rename_axis("doc_id")
    return assign_splits(documents, FRACTION, seed=SEED)


def cut_pieces() -> list[Piece]:
    """The documents as one stream, an id a byte, cut once: a row a span."""
    stream = encode_text(hand_documents(), Tokenizer([]))
    sides = cut_stream(stream, len(split_ids(stream.ids, FRACTION)[0]))
    return [
        (span.doc_id, side, span.stop - span.start)
        for side, part in zip(TONES, sides, strict=True)
        for span in part.spans.itertuples()
    ]


def divided_pieces(texts: list[str]) -> list[Piece]:
    """The documents with the side of each."""
    return [(i, side, len(text) + 1) for i, text, _, side in hand_documents(texts).itertuples()]


def one_side() -> str:
    """A stream that is cut, the same documents divided, and with other documents beside them."""
    moved = [PUT_IN, *(text for text in TEXTS if text != LEFT_OUT)]
    bands = [
        ("the text cut: melon and pear are on both sides", TEXTS, cut_pieces()),
        ("documents divided: pear is with pear", TEXTS, divided_pieces(TEXTS)),
        (f"{LEFT_OUT} left out, {PUT_IN} put in: no other moves", moved, divided_pieces(moved)),
    ]
    unit = WIDTH / sum(ids for *_, ids in cut_pieces())
    parts, told, y = [], [], 15
    for name, texts, pieces in bands:
        parts.append(_text(0, y, name))
        parts += _band(y + 10, unit, texts, pieces)
        held = [texts[i] for i, side, _ in pieces if side == "val"]
        told.append(f"{name}; validation has {', '.join(held)}")
        y += 66
    parts += [
        _box(0, y - 10, 14, 14, "i"),
        _text(20, y + 2, "training"),
        _box(120, y - 10, 14, 14, "o"),
        _text(140, y + 2, "validation"),
    ]
    desc = f"Seven short documents, of which two are equal. {'. '.join(told)}."
    return _svg("one-side", y + 12, "A text that is cut, and documents divided", desc, parts)


def _band(y: float, unit: float, texts: list[str], pieces: list[Piece]) -> list[str]:
    """A box a piece, as wide as its ids are many; the pieces of one document share its name."""
    parts, x, begun = [], 0.0, 0.0
    for k, (doc_id, side, ids) in enumerate(pieces):
        parts.append(_box(round(x, 1), y, round(unit * ids - 2, 1), 24, TONES[side]))
        x += unit * ids
        if doc_id not in [piece[0] for piece in pieces[k + 1 :]]:
            parts.append(_text(round((begun + x) / 2 - 1, 1), y + 17, texts[doc_id], "c"))
            begun = x
    return parts


def places() -> Table:
    """The hand-picked documents: the place of each, its side, and where a cut would put it."""
    rows = []
    for doc_id, text, group, side in hand_documents().itertuples():
        place = f"{group_hash(group, SEED) / 2**64:.3f}"
        cut = " and ".join(on for piece, on, _ in cut_pieces() if piece == doc_id)
        rows.append([str(doc_id), text, place, side, cut])
    return ["Document", "Text", "Place", "Side", "If the text is cut"], rows


def leak_orders() -> Table:
    """What one model reached in each order, from the last `make bench`."""
    figures = kept("leaks")["figures"]
    ways = {
        "cut": ("text cut", "everything", "val_bytes"),
        "divided_seen": ("documents divided", "everything", "divided_val_bytes"),
        "divided": ("documents divided", "training text", "divided_val_bytes"),
    }
    rows = [
        [way, fitted, f"{figures[size]:,}", f"{figures[name]:.3f}"]
        for name, (way, fitted, size) in ways.items()
    ]
    return ["Order", "Tokenizer learned from", "Validation bytes", "Bits per byte"], rows


def twice(way: str) -> dict[int, float]:
    """Bits per byte after so many steps, on a corpus in which each story stands twice."""
    figures = kept("leaks")["figures"]
    steps = range(figures["every"], figures["steps"] + 1, figures["every"])
    return {step: figures[f"twice_{way}_{step}"] for step in steps}


def each_story_twice() -> Table:
    """The same, a row a score, in both orders."""
    cut, divided = twice("cut"), twice("divided")
    rows = [[str(step), f"{cut[step]:.2f}", f"{divided[step]:.2f}"] for step in cut]
    return ["Steps", "Text cut", "Documents divided"], rows

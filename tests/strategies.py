"""What the laws and the doors draw from: streams, documents, window tables, damaged files."""

import copy
import json
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from stream import Stream
from tokenizer import Tokenizer, learn_merges
from windows import window_table

POOL = [Tokenizer([]), Tokenizer([(b"h", b"e"), (b"t", b"he"), (b" ", b"the"), (b"\xc3", b"\xa9")])]
POOL.append(
    Tokenizer(learn_merges("the old man and the sea, the old woman and the song\n" * 3, 40))
)

# ---- what is as it should be

words = st.sampled_from(
    ["the", "he", "é", "\U0001f600", "<|endoftext|>", "a\nb", "\t", "0", "man and the"]
)
texts = st.lists(words, min_size=1, max_size=5).map(" ".join).map(str.strip).filter(bool)
some_words = st.lists(words, max_size=12).map(" ".join)
tokenizers = st.sampled_from(POOL)


@st.composite
def document_frames(draw, least: int = 1, most: int = 6) -> pd.DataFrame:
    """Documents with gaps in their numbers, each in the group of its text."""
    some = draw(st.lists(texts, min_size=least, max_size=most))
    numbers = np.cumsum([draw(st.integers(1, 3)) for _ in some]) - 1
    frame = pd.DataFrame({"text": some, "group": some}, index=numbers, dtype="str")
    return frame.rename_axis("doc_id")


@st.composite
def streams(draw, padding: bool = True, most: int = 6) -> Stream:
    """Any stream: each document once, in one or two spans, here and there padding between."""
    places = st.integers(0, 2) if padding else st.just(0)
    spans, at = [], draw(places)
    for doc_id in draw(st.lists(st.integers(0, 99), min_size=1, max_size=most, unique=True)):
        begun = 0
        for length in draw(st.lists(st.integers(1, 7), min_size=1, max_size=2)):
            spans.append((at, at + length, doc_id, begun))
            at, begun = at + length + draw(places), begun + length
    table = pd.DataFrame(spans, columns=["start", "stop", "doc_id", "doc_start"], dtype=np.int64)
    ids = np.frombuffer(draw(st.binary(min_size=at, max_size=at)), np.uint8).astype(np.int64)
    return Stream(ids, table, "eot")


@st.composite
def window_tables(draw, n: int) -> pd.DataFrame:
    """Up to six windows of one length in `n` ids, anywhere, overlapping or twice."""
    length = draw(st.integers(1, n - 1))
    rows = st.tuples(st.integers(0, n - 1 - length), st.integers(0, length))
    starts, loss_from = zip(*draw(st.lists(rows, min_size=1, max_size=6)), strict=True)
    return window_table(starts, length, loss_from)


def pairs_of(some: st.SearchStrategy, then: Any) -> st.SearchStrategy[tuple]:
    """What `some` draws, and beside it what `then(it)` draws."""
    return some.flatmap(lambda it: st.tuples(st.just(it), then(it)))


sizes = st.integers(1, 20)
numbers = st.integers(0, 60)
seeds = st.integers(0, 2**32)
boundaries = st.sampled_from(["continuous", "isolated"])
id_rows = st.binary(max_size=40).map(lambda b: np.frombuffer(b, np.uint8).astype(np.int64))
# A stream of two ids at least with windows of it; and with a way to part its documents.
windowed = pairs_of(streams().filter(lambda s: len(s) > 1), lambda s: window_tables(len(s)))
parted = st.tuples(windowed, boundaries).map(lambda drawn: (*drawn[0], drawn[1]))

# ---- what is damaged

TOKENS = [
    b'"',
    b",",
    b"\n",
    b"\r",
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
]
TOKENS += [b"\\ud800", b"NaN", b"-Infinity", b"1e999", b"9" * 5000, b"[" * 3000, b'{"a":' * 3000]
TOKENS += [b"null", b"-1", b"\xed\xa0\x80", b"\xc3", b"PAR1", b"\x1f\x8b", b"a" * 200_000]
VALUES = [None, True, False, 0, -1, 1, 7, 2**31, 2**63, 2**64, -(2**63), 10**400, 0.5, -0.0]
VALUES += [float("nan"), float("inf"), 1e308, "", "x", "0", "\ud800", "../../x", "a\0b", "é" * 500]
VALUES += [[], [1], [[]], [None] * 3, {}, {"a": 1}, {"text": "a"}]

_cut = st.tuples(st.sampled_from(["drop", "twice", "keep"]), st.floats(0, 1), st.floats(0, 0.3))
_bit = st.tuples(st.just("flip"), st.floats(0, 1), st.integers(0, 7))
_put = st.tuples(
    st.sampled_from(["insert", "over"]), st.floats(0, 1), st.integers(0, len(TOKENS) - 1)
)
_bytes = st.lists(st.one_of(_bit, _cut, _put), min_size=1, max_size=3)


def damaged(content: bytes) -> st.SearchStrategy[bytes]:
    """`content` with bits turned, parts left out, doubled or replaced, or its end cut off."""
    return _bytes.map(lambda changes: _damage(content, changes))


def _damage(content: bytes, changes: list[tuple[str, float, Any]]) -> bytes:
    for what, place, how in changes:
        at = round(place * max(0, len(content) - 1))
        stop = at + 1 + round(how * len(content)) if isinstance(how, float) else at
        if what == "flip" and content:
            content = content[:at] + bytes([content[at] ^ 1 << how]) + content[at + 1 :]
        elif what == "drop":
            content = content[:at] + content[stop:]
        elif what == "twice":
            content = content[:stop] + content[at:]
        elif what == "keep":
            content = content[:at]
        elif what in ("insert", "over"):
            token = TOKENS[how]
            content = content[:at] + token + content[at + len(token) * (what == "over") :]
    return content


_ways = st.sampled_from(["set", "set", "remove", "add", "rename", "wrap"])
_json = st.tuples(_ways, st.integers(0, 9999), st.integers(0, len(VALUES) - 1))
_json = st.lists(_json, min_size=1, max_size=2)


def damaged_json(content: Any) -> st.SearchStrategy[Any]:
    """`content` with values of other types and sizes, keys that lack, are new or are misspelt."""
    return _json.map(lambda changes: _damage_json(copy.deepcopy(content), changes))


def _damage_json(content: Any, changes: list[tuple[str, int, int]]) -> Any:
    root = {"": content}
    for what, number, how in changes:
        value = copy.deepcopy(VALUES[how])
        places = list(_places(root))
        holder, key = places[number % len(places)]
        if what == "set":
            holder[key] = value
        elif what == "wrap":
            holder[key] = [holder[key]]
        elif holder is not root and what == "remove":
            del holder[key]
        elif isinstance(holder, dict) and what == "rename" and holder is not root:
            holder[f"{key}x"] = holder.pop(key)
        elif isinstance(holder[key], dict) and what == "add":
            holder[key]["new"] = value
        elif isinstance(holder[key], list) and what == "add":
            holder[key].append(value)
    return root[""]


def _places(content: Any) -> Any:
    """Every place of a value in a JSON tree, as what holds it and its key there."""
    pairs = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in list(pairs):
        yield content, key
        if isinstance(value, dict | list):
            yield from _places(value)


def as_json(content: Any) -> bytes:
    """`content` as Python writes it: NaN, and half a surrogate pair, as they are."""
    return json.dumps(content, ensure_ascii=True).encode()


# ---- the one answer to it


def refusal(error: BaseException, *names: str) -> str:
    """What a refusal says: a plain ValueError or OSError that names the file, else it fails."""
    kind = type(error)
    assert issubclass(kind, ValueError | OSError), repr(error)
    assert kind.__module__ == "builtins", repr(error)
    assert kind is ValueError or issubclass(kind, OSError), repr(error)
    told = str(error)
    assert any(name in told for name in names), told
    assert len(told) < 1000, told
    assert "\n" not in told, told
    return told

"""Text ↔ ids: byte-level BPE, learned by `tokenizers` and run by `tiktoken` on the same merges.

Ids 0–255 are the bytes themselves, then come the merges in the order learned, then `<|endoftext|>`:
V = 256 + merges + 1.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import tiktoken
import tokenizers
from tokenizers import models, pre_tokenizers, trainers
from tqdm import tqdm

from files import read_json, written_whole

EOT = "<|endoftext|>"

# GPT-2's cut of a text into pieces: no merge crosses from one into the next. _BLANK is its `\s`.
PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_BLANK = r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"

_LONG = 10_000  # blanks in a row; a million of them make tiktoken's regex panic
_LONG_BLANKS = re.compile(f"{_BLANK}{{{_LONG},}}")
_TWO_BLANKS = re.compile(_BLANK * 2)
_SAFE_CUT = re.compile(r"\S(?=[ \n])")  # a piece always ends between a non-blank and a blank
_LESSON = 1 << 11  # characters learned from at a time: twice as fast as a megabyte
_PART = 1 << 20  # characters encoded, and ids counted, at a time
_MOST_MERGES = 1_000_000  # four times those in use; the learner reserves memory for each
_RUN = 2_000  # the learner's time grows with the square of a piece: longer runs are cut for it
_LONG_RUN = re.compile(rf"(?<!\S)\S{{{_RUN + 1},}}|(?<!\s)\s{{{_RUN + 1},}}")


def learn_merges(text: str, num_merges: int) -> list[tuple[bytes, bytes]]:
    """The first `num_merges` merges of BPE: each joins the pair of tokens that stands there most.

    The list is shorter when `text` has fewer pairs to join. It does not depend on threads.

    >>> learn_merges("low low lower", 2)
    [(b'l', b'o'), (b'lo', b'w')]
    """
    if not 0 <= num_merges <= _MOST_MERGES:
        raise ValueError(f"num_merges must be from 0 to {_MOST_MERGES:,}, got {num_merges:,}")
    _refuse_surrogates(text)
    trainer = trainers.BpeTrainer(
        vocab_size=256 + num_merges,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[],
        show_progress=False,
    )
    learner = tokenizers.Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    learner.train_from_iterator(_lessons(text), trainer)
    merges = json.loads(learner.to_str())["model"]["merges"]
    return [(_from_letters(left), _from_letters(right)) for left, right in merges]


class Tokenizer:
    """Byte-level BPE from its merges. Lossless; `<|endoftext|>` is text unless allowed by name.

    `token_bytes` int64 `(V,)` is each token's length in bytes, `fingerprint` a digest of all that
    decides the ids.

    >>> tok = Tokenizer([(b"l", b"o"), (b"lo", b"w")])
    >>> tok.encode("low!"), tok.decode([257, 33]), tok.vocab_size, tok.eot_id
    ([257, 33], 'low!', 259, 258)
    >>> tok.encode("<|endoftext|>", allowed_special={"<|endoftext|>"})
    [258]
    """

    def __init__(self, merges: Iterable[tuple[bytes, bytes]]) -> None:
        self.merges = tuple((bytes(left), bytes(right)) for left, right in merges)
        self.tokens = [bytes([byte]) for byte in range(256)]
        self.tokens += [left + right for left, right in self.merges]
        ranks = {token: rank for rank, token in enumerate(self.tokens)}
        for new, (left, right) in enumerate(self.merges, 256):
            made = ranks[left + right] == new and ranks.get(left, new) < new > ranks.get(right, new)
            if not made:
                joined = f"{left!r} + {right!r}"
                raise ValueError(
                    f"merge {new - 256}, {joined}, must make a new token of earlier ones"
                )
        self.eot_id = len(self.tokens)
        self.vocab_size = self.eot_id + 1
        self.token_bytes = np.array([*map(len, self.tokens), 0], dtype=np.int64)  # (V,)
        decisive = [PATTERN, EOT, [[left.hex(), right.hex()] for left, right in self.merges]]
        self.fingerprint = hashlib.sha256(json.dumps(decisive).encode()).hexdigest()
        self._engine = tiktoken.Encoding(
            "text-to-batches",
            pat_str=PATTERN,
            mergeable_ranks=ranks,
            special_tokens={EOT: self.eot_id},
        )
        # Whoever matches first owns the regex's cache, and owner and others slow each other down:
        # own it here, so that the threads of `encode_array` run free (twice as fast together).
        self._engine.encode_ordinary("don't 12 -- \n\n  x")

    def __reduce__(self) -> tuple:
        return Tokenizer, (self.merges,)

    def encode(self, text: str, allowed_special: Iterable[str] = frozenset()) -> list[int]:
        """The ids of `text`; `<|endoftext|>` in it is `eot_id` if `allowed_special` names it."""
        if other := set(allowed_special) - {EOT}:
            raise ValueError(f"{EOT!r} is the only special token, allowed_special has {other}")
        first, *rest = text.split(EOT) if allowed_special else [text]
        ids = self.encode_array(first).tolist()
        for part in rest:
            ids += [self.eot_id, *self.encode_array(part).tolist()]
        return ids

    def encode_array(self, text: str) -> np.ndarray:
        """The ids of `text`, int64 `(N,)`, made without a Python list of them.

        A long text is cut where the pattern ends a piece anyway, and its parts are encoded on all
        cores. Beyond the result this takes 2 to 4 bytes a token.
        """
        _refuse_surrogates(text)
        parts = list(_parts(text, _PART))
        narrow = np.uint16 if self.vocab_size <= 1 << 16 else np.uint32

        def encode(part: slice) -> np.ndarray:
            return self._encode_part(text[part]).astype(narrow)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            encoded = pool.map(encode, parts) if len(parts) > 1 else map(encode, parts)
            bar = tqdm(encoded, "encoding", len(parts), unit=" MB", delay=2, disable=None)
            return _join(list(bar))

    def _encode_part(self, text: str) -> np.ndarray:
        """uint32 ids of `text`; long runs of blanks go round the regex, cut as it would do."""
        ids, start = [], 0
        may_be_long = _TWO_BLANKS.search(
            text[:: _LONG // 2]
        )  # a long run holds two probes at least
        for run in _LONG_BLANKS.finditer(text) if may_be_long else ():
            stop = run.end() - (run.end() < len(text))  # the last blank goes with what follows
            ids.append(
                self._engine.encode_to_numpy(text[start : run.start()], disallowed_special=())
            )
            ids.append(np.uint32(self._engine._encode_single_piece(text[run.start() : stop])))
            start = stop
        return np.concatenate(
            [*ids, self._engine.encode_to_numpy(text[start:], disallowed_special=())]
        )

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`; bytes that are no UTF-8, as only made-up ids give, show as U+FFFD."""
        return self.decode_bytes(ids).decode("utf-8", errors="replace")

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of `ids`, exactly."""
        ids = [int(i) for i in ids]
        for place, i in enumerate(ids):
            if not 0 <= i < self.vocab_size:
                raise ValueError(f"id {i} at place {place} is not in 0 … {self.vocab_size - 1}")
        return self._engine.decode_bytes(ids)

    def uses(self, ids: np.ndarray) -> np.ndarray:
        """How often each token stands in `ids`, int64 `(V,)`; a mapped file is read by parts.

        >>> tok = Tokenizer([(b"h", b"i")])
        >>> tok.uses(tok.encode_array("hi hi"))[[32, 256]].tolist()
        [1, 2]
        """
        used = np.zeros(self.vocab_size, dtype=np.int64)
        for first in range(0, len(ids), _PART):
            used += np.bincount(ids[first : first + _PART], minlength=self.vocab_size)
        return used

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `tokenizer.json`, which the `tokenizers` library opens and encodes alike.

        There a literal `<|endoftext|>` is always the special id; here only when it is allowed.
        """
        with written_whole(path) as temporary:
            temporary.write_text(self._twin().to_str(pretty=True), encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Tokenizer":
        """The tokenizer that `save` wrote. Any other is refused, for it would encode otherwise."""
        file = read_json(Path(path))
        try:
            pairs = [
                (_from_letters(left), _from_letters(right)) for left, right in _meaning(file)[1]
            ]
            tok = cls(pairs)
            if _meaning(file) == _meaning(json.loads(tok._twin().to_str())):
                return tok
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(
                f"{path}: not a tokenizer.json of this project ({error!r:.80})"
            ) from None
        raise ValueError(
            f"{path}: a tokenizer of another kind; only those saved here can be loaded"
        )

    def _twin(self) -> tokenizers.Tokenizer:
        """The same tokenizer as an object of the `tokenizers` library."""
        vocab = {_to_letters(token): rank for rank, token in enumerate(self.tokens)}
        merges = [(_to_letters(left), _to_letters(right)) for left, right in self.merges]
        twin = tokenizers.Tokenizer(models.BPE(vocab=vocab, merges=merges))
        twin.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        twin.decoder = tokenizers.decoders.ByteLevel()
        twin.add_special_tokens([EOT])
        return twin


def _meaning(file: dict[str, Any]) -> tuple:
    """The parts of a tokenizer.json that decide its ids."""
    model = file["model"]
    parts = (file[key] for key in ("pre_tokenizer", "normalizer", "post_processor", "added_tokens"))
    return model["vocab"], model["merges"], model["type"], *parts


def _byte_letters() -> list[str]:
    """The letter that `tokenizers` writes for each byte: itself, or one from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    spare = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(spare)) for byte in range(256)]


_LETTERS = _byte_letters()
_BYTES = {letter: byte for byte, letter in enumerate(_LETTERS)}


def _to_letters(token: bytes) -> str:
    return "".join(_LETTERS[byte] for byte in token)


def _from_letters(letters: str) -> bytes:
    return bytes(_BYTES[letter] for letter in letters)


def _join(parts: list[np.ndarray]) -> np.ndarray:
    """The parts one after the other as int64; each is let go as soon as it is copied."""
    stop = sum(map(len, parts))
    ids = np.empty(stop, dtype=np.int64)
    while parts:
        part = parts.pop()
        ids[stop - len(part) : stop] = part
        stop -= len(part)
    return ids


def _parts(text: str, size: int) -> Iterator[slice]:
    """Parts of `text`, each of about `size` characters, cut where that changes no id."""
    start = 0
    while start < len(text):
        cut = _SAFE_CUT.search(text, start + size)
        stop = cut.end() if cut else len(text)
        yield slice(start, stop)
        start = stop


def _lessons(text: str) -> Iterator[str]:
    """What merges are learned from: the parts, with runs without a blank, or of blanks, cut."""
    for part in _parts(text, _LESSON):
        start = part.start
        for run in _LONG_RUN.finditer(text, part.start, part.stop):
            yield text[start : run.start()]
            yield from (text[i : min(i + _RUN, run.end())] for i in range(*run.span(), _RUN))
            start = run.end()
        yield text[start : part.stop]


def _refuse_surrogates(text: str) -> None:
    try:
        for start in range(0, len(text), _PART):
            text[start : start + _PART].encode("utf-8")
    except UnicodeEncodeError as error:
        place = start + error.start
        raise ValueError(
            f"character {place} of the text is {text[place]!r}, one half of a surrogate pair and "
            "without bytes; write the whole character, or take it out"
        ) from None

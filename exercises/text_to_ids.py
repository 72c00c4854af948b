"""Text to ids: a file becomes numbers.

The lesson is docs/text-to-ids.md. Write a body in the place of each
`raise NotImplementedError`, and see how far you are:

    python -m pytest --against exercises/text_to_ids.py

A tokenizer is learned by `tokenizer.learn_merges`, and `Tokenizer` is made of merges; documents are
read by `corpus.load_documents`. You may use them, or write your own.
"""

import os

import numpy as np

from tokenizer import Tokenizer


def load_corpus(
    path: str | os.PathLike[str],
    column: str = "text",
    max_rows: int | None = None,
    *,
    encoding: str = "utf-8",
    group_column: str | None = None,
) -> str:
    """One text: the rows of `column`, stripped, a newline after each; blank rows are left out.

    `[" hello ", null, "world"]` gives `"hello\\nworld\\n"`. Rows have no other border in it, so a
    window may run from one into the next. The text remembers its `documents`; what is refused,
    and why, stands at `corpus.load_documents`.

    >>> text = load_corpus("data/corpus.csv", max_rows=2)
    >>> text[:24], len(text.documents)
    ('Nell had a pumpkin in th', 2)
    """
    raise NotImplementedError


def build_tokenizer(text: str, num_merges: int) -> Tokenizer:
    """A byte-level BPE tokenizer with `num_merges` merges learned from `text`, or all there are.

    >>> build_tokenizer("low low lower", 2).encode("slow")
    [115, 257]
    """
    raise NotImplementedError


def encode_corpus(text: str, tok: Tokenizer) -> np.ndarray:
    """The ids of `text`, int64 `(N,)`. A literal `<|endoftext|>` in it is ordinary text.

    >>> encode_corpus("slow", build_tokenizer("low low lower", 2))
    array([115, 257])
    """
    raise NotImplementedError

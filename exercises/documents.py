"""Documents on one side: who owns which text.

The lesson is docs/documents.md. Write a body in the place of each
`raise NotImplementedError`, and see how far you are:

    python -m pytest --against exercises/documents.py

Refused, with a ValueError: fractions that are below 0, or together not below 1.
"""

from collections.abc import Iterable, Mapping

import pandas as pd

from sides import Used
from stream import Stream
from tokenizer import Tokenizer


def join_with_eot(texts: Iterable[str]) -> str:
    """The texts with `<|endoftext|>` between them: nine among ten, none at the end (seed 000).

    A text that holds those characters itself cannot be told from two; `stream.encode_documents`
    keeps it apart.

    >>> join_with_eot(["hello", "world"])
    'hello<|endoftext|>world'
    """
    raise NotImplementedError


def encode_text(documents: pd.DataFrame, tok: Tokenizer) -> Stream:
    """The documents as one text (layout `text`): each followed by a newline, which belongs to it.

    >>> stream = encode_text(pd.DataFrame({"text": ["hi", "you"]}), Tokenizer([]))
    >>> stream.ids.tolist()
    [104, 105, 10, 121, 111, 117, 10]
    >>> stream.spans.to_dict("list")
    {'start': [0, 3], 'stop': [3, 7], 'doc_id': [0, 1], 'doc_start': [0, 0]}
    """
    raise NotImplementedError


def encode_documents(documents: pd.DataFrame, tok: Tokenizer, final_eot: bool = True) -> Stream:
    """The documents one after the other (layout `eot`), an end-of-text at the end of each.

    The end-of-text belongs to the document that it ends; the last one is left out if not
    `final_eot`. Each document has the ids that it has alone. A literal `<|endoftext|>` inside one
    is ordinary text, and never an end.

    >>> encode_documents(pd.DataFrame({"text": ["hi", "you"]}), Tokenizer([])).ids.tolist()
    [104, 105, 256, 121, 111, 117, 256]
    """
    raise NotImplementedError


def text_groups(texts: pd.Series) -> pd.Series:
    """The texts in Unicode's form NFC, in which two spellings of one text are the same.

    >>> text_groups(pd.Series(["cafe\\u0301", "tea"])).tolist() == ["caf\\u00e9", "tea"]
    True
    """
    raise NotImplementedError


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
    raise NotImplementedError


def expected_documents(documents: pd.DataFrame, fraction: float) -> tuple[float, float]:
    """How many documents a side of that share gets: the mean of all seeds, and the deviation.

    A standard deviation: about two seeds in three stray by less. It grows with large groups, which
    come as a whole or not at all.

    >>> documents = pd.DataFrame({"group": list("abcdefgh") * 2})
    >>> expected_documents(documents, 0.5)
    (8.0, 2.8284271247461903)
    """
    raise NotImplementedError


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
    raise NotImplementedError

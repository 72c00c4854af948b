"""The split: where a stream is cut.

The lesson is docs/split.md. Write a body in the place of each
`raise NotImplementedError`, and see how far you are:

    python -m pytest --against exercises/split.py

Refused, with a ValueError: a fraction below 0 or not below 1, a cut outside the stream.
"""

import numpy as np

from stream import Stream


def split_ids(ids: np.ndarray, val_fraction: float) -> tuple[np.ndarray, np.ndarray]:
    """Training ids and validation ids: `ids` cut once, at ⌊(1 − ρ)N⌋, in order. Both are views.

    ρ is the decimal that was written: 90 ids at 0.3 are cut at 63, where binary floats give 62.

    >>> train, val = split_ids(np.arange(90), 0.3)
    >>> len(train), len(val)
    (63, 27)
    """
    raise NotImplementedError


def cut_stream(stream: Stream, cut: int) -> tuple[Stream, Stream]:
    """The stream before `cut` and from `cut` on; a span over the cut becomes two.

    >>> stream = encode_text(pd.DataFrame({"text": ["hi", "you"]}), Tokenizer([]))
    >>> before, after = cut_stream(stream, 5)
    >>> after.spans.to_dict("list")
    {'start': [0], 'stop': [2], 'doc_id': [1], 'doc_start': [2]}
    """
    raise NotImplementedError

"""Next-token prediction: who may look at whom.

The lesson is docs/next-token.md. Write a body in the place of each
`raise NotImplementedError`, and see how far you are:

    python -m pytest --against exercises/next_token.py
"""

from typing import Any

import numpy as np


def attention_mask(segment_ids: Any) -> np.ndarray:
    """Who may attend to whom if documents are isolated, bool `(..., T, T)`.

    True where `j <= i` in the same span: i may attend to j, as torch's attention reads a mask. The
    diagonal is True, so no row is empty.

    >>> attention_mask([1, 1, 2]).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [0, 0, 1]]
    """
    raise NotImplementedError

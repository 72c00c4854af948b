"""Two masks: documents that do not see each other.

The lesson is docs/isolation.md. Write a body in the place of each
`raise NotImplementedError`, and see how far you are:

    python -m pytest --against exercises/isolation.py

Refused, with a ValueError: boundaries that are neither.
"""

from typing import Any

import numpy as np
import pandas as pd

from windows import Boundaries


def segment_ids(spans: pd.DataFrame, n: int) -> np.ndarray:
    """int32 `(n,)`: k at the positions of the k-th span, from 1; 0 where there is padding.

    >>> segment_ids(pd.DataFrame({"start": [0, 2], "stop": [2, 4]}), 5).tolist()
    [1, 1, 2, 2, 0]
    """
    raise NotImplementedError


def position_ids(spans: pd.DataFrame, n: int) -> np.ndarray:
    """int64 `(n,)`: 0, 1, 2, … in each span, from its own start; 0 where there is padding.

    >>> position_ids(pd.DataFrame({"start": [0, 2], "stop": [2, 4]}), 5).tolist()
    [0, 1, 0, 1, 0]
    """
    raise NotImplementedError


def counts(seg_x: Any, seg_y: Any, boundaries: Boundaries) -> Any:
    """Which targets count, bool, by the span numbers of the inputs and of the targets.

    >>> counts(np.array([1, 1, 1, 2, 2]), np.array([1, 1, 2, 2, 0]), "isolated").astype(int)
    array([1, 1, 0, 1, 0])
    """
    raise NotImplementedError


def loss_mask(windows: pd.DataFrame, segment_ids: Any, boundaries: Boundaries) -> np.ndarray:
    """Which targets count, bool `(W, T)`: those from `loss_from` on that are no padding.

    If documents are `isolated`, a target of another document than its input does not count either.
    `segment_ids` `(N,)` number the spans from 1, with 0 for padding; ids are never looked at.

    >>> segments = np.array([1, 1, 1, 2, 2, 2])
    >>> loss_mask(window_table([0], 5), segments, "isolated").astype(int).tolist()
    [[1, 1, 0, 1, 1]]
    """
    raise NotImplementedError

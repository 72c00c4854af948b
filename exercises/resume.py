"""Stopping and going on: a resumed run is the same run.

The lesson is docs/resume.md. Write a body in the place of each
`raise NotImplementedError`, and see how far you are:

    python -m pytest --against exercises/resume.py

`check_same` refuses with a ValueError.
The digest of a batch is SHA-256 of `str(shape)` of inputs and targets stacked, `(2, B, T)`, and
then of their ids in 8 bytes each, the lowest first.
"""

from typing import Any


def place_in_epoch(step: int, n_windows: int, batch_size: int) -> tuple[int, int]:
    """Which epoch step `step` is in, and which batch of that epoch it takes, all from 0.

    >>> place_in_epoch(7, 10, 4)
    (2, 1)
    """
    raise NotImplementedError


def batch_digest(xb: Any, yb: Any) -> str:
    """SHA-256 of a batch: its shape and its ids, inputs before targets.

    >>> ids = np.array([[3, 1]])
    >>> batch_digest(ids, ids)[:12], batch_digest(ids, ids + 1)[:12]
    ('aa9c5b8fd7e7', '386689364845')
    """
    raise NotImplementedError


def check_same(state: dict[str, Any], **now: str) -> None:
    """Refuse to go on when what feeds the run is not what fed it, and name what changed.

    >>> check_same({"corpus": "1a2b", "versions": versions()}, corpus="3c4d")
    Traceback (most recent call last):
    ValueError: the corpus is not what it was when the run was stopped (digest 1a2b, now 3c4d); \
bring it back, or start a new run
    """
    raise NotImplementedError

"""Where every token went: which window holds it, and what became of it.

The lesson is docs/lineage.md. Write a body in the place of each
`raise NotImplementedError`, and see how far you are:

    python -m pytest --against exercises/lineage.py

The words of a reason are yours; what is refused is told in the descriptions.
"""

import pandas as pd

from stream import Stream
from windows import Boundaries


def window_lineage(windows: pd.DataFrame, spans: pd.DataFrame) -> pd.DataFrame:
    """Which documents are in which window: a row for each window and each span that it touches.

    A window is its `length + 1` ids. Places `row_start` to `row_stop` of it, the last not
    included, are tokens `doc_start` to `doc_stop` of document `doc_id`.

    >>> spans = pd.DataFrame({"start": [0, 3], "stop": [3, 7], "doc_id": [4, 9], "doc_start": 0})
    >>> window_lineage(window_table([2], 3), spans).to_dict("list")
    {'window': [0, 0], 'row_start': [0, 1], 'row_stop': [1, 4], 'doc_id': [4, 9], \
'doc_start': [2, 0], 'doc_stop': [3, 3]}
    """
    raise NotImplementedError


def ledger(
    source: Stream, laid: Stream, windows: pd.DataFrame, boundaries: Boundaries
) -> pd.DataFrame:
    """What became of every token: a row for each document of `source`, in its order.

    `read` tokens of it are in `source`. Each is one of four: `trained`, a target that counts in a
    window (`times` adds up in how many); `masked`, a target that counts in none; `context_only`,
    in a window but no target; `dropped`, in no window of `laid`. `reason` says why, in words.

    `laid` is the stream that the windows are of: `source` itself, a part of it, or its rows. A
    token may stand there more than once, and is one token. `attrs["padding"]` is the number of
    places in `laid` that hold no document.

    >>> spans = pd.DataFrame({"start": [0, 3], "stop": [3, 7], "doc_id": [4, 9], "doc_start": 0})
    >>> stream = Stream(np.arange(7), spans)
    >>> from windows import window_table
    >>> ledger(stream, stream, window_table([0], 5), "continuous").iloc[:, :7].to_numpy().tolist()
    [[4, 3, 2, 2, 1, 0, 0], [9, 4, 3, 3, 0, 0, 1]]

    Raises:
        ValueError: When `laid` holds a token that `source` does not, `source` one twice, or a
            window goes on after the end of `laid`.
        RuntimeError: When a sum does not balance, which would be a mistake of ours.
    """
    raise NotImplementedError

"""The figure and the tables of the page about the two masks: two hand-picked documents in a row."""

import numpy as np
import pandas as pd

from attention import MASK_UP_TO
from benchmarks.record import kept
from literate.figures import _box, _numbers, _svg, _text
from stream import segment_ids
from windows import attention_mask, gather, loss_mask, window_table

IDS = np.array([11, 12, 9, 21, 22, 9])
SPANS = pd.DataFrame({"start": [0, 3], "stop": [3, 6]})
TONES = {1: "i", 2: "o"}
LEFT, PITCH = 100, 40


def masks() -> tuple[np.ndarray, ...]:
    """Of the two documents as one window: x, y, the segments of both, which count, who attends."""
    window, segments = window_table([0], len(IDS) - 1), segment_ids(SPANS, len(IDS))
    (x,), (y,) = gather(IDS, window)
    (seg_x,), (seg_y,) = gather(segments, window)
    (counted,) = loss_mask(window, segments, "isolated")
    return x, y, seg_x, seg_y, counted, attention_mask(seg_x)


def two_masks() -> str:
    """Inputs and targets in the colours of their documents, which count, and who sees whom."""
    x, y, seg_x, seg_y, counted, sees = masks()
    tones_y = [TONES[s] if c else "n" for s, c in zip(seg_y, counted, strict=True)]
    parts = [
        *_cells("inputs x", x, [TONES[s] for s in seg_x], 0),
        *_cells("targets y", y, tones_y, 30),
        _text(0, 77, "counts"),
        _numbers(LEFT, 60, PITCH, counted.astype(int)),
        _text(0, 109, "to predict", "s"),
        _text(LEFT, 109, "it may look at", "s"),
    ]
    for i, row in enumerate(sees):
        top = 120 + 30 * i
        parts += [_box(15, top, PITCH - 2, 24, tones_y[i]), _numbers(15, top, PITCH, y[i : i + 1])]
        for j in range(i + 1):  # later places are never seen
            tone = TONES[seg_x[j]] if row[j] else "n"
            parts.append(_box(LEFT + PITCH * j, top, PITCH - 2, 24, tone))
        parts.append(_numbers(LEFT, top, PITCH, x[: i + 1]))
    parts += [
        _box(260, 122, 14, 14, "i"),
        _text(280, 134, "first document"),
        _box(260, 152, 14, 14, "o"),
        _text(280, 164, "second document"),
        _box(0, 276, 14, 14, "n"),
        _text(20, 288, "taken away when documents are isolated"),
    ]
    kept_back = [f"{t} of y = {y[t]}" for t in np.flatnonzero(~counted)]
    seen = [f"place {i} sees {_listed(x[row])}" for i, row in enumerate(sees)]
    return _svg(
        "two-masks",
        296,
        "The two masks of a row with two documents",
        f"Inputs {_listed(x)}, targets {_listed(y)}, where 9 ends a document. Counted are "
        f"{_listed(y[counted])}; place {'; '.join(kept_back)} is not. Of the inputs "
        f"{'; '.join(seen)}.",
        parts,
    )


def _cells(name: str, ids: np.ndarray, tones: list[str], top: float) -> list[str]:
    boxes = [_box(LEFT + PITCH * j, top, PITCH - 2, 24, tone) for j, tone in enumerate(tones)]
    return [_text(0, top + 17, name), *boxes, _numbers(LEFT, top, PITCH, ids)]


def _listed(ids: np.ndarray) -> str:
    return " ".join(map(str, ids))


def isolated_steps() -> tuple[list[str], list[list[str]]]:
    """Ids a second of a whole step, continuous, and what the two ways reach of that."""
    figures = kept("isolated")["figures"]
    rows = []
    for B, T in ((32, 64), (16, 256), (4, 1024)):
        taken = "mask" if T <= MASK_UP_TO else "buckets"
        ratios = {way: f"{figures[f'{T}_{way}_ratio']:.2f}" for way in ("mask", "buckets")}
        ratios[taken] = f"**{ratios[taken]}**"
        speed = f"{figures[f'{T}_continuous_ids_per_second']:,.0f}"
        rows.append([f"({B}, {T})", speed, *ratios.values()])
    return ["(B, T)", "Continuous, ids a second", "Mask", "Buckets"], rows

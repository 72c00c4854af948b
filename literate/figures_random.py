"""The figure and the tables of the page about random windows.

Their batches are torch's draws, so they are made only when that page asks for them: what else the
site computes needs no torch.
"""

import numpy as np

from batches import expected_shared, make_train_loader, repeat_share
from literate.figures import _box, _row, _svg, _text
from literate.values import default_run
from windows import sliding_windows

SEED, N, T, B = 1337, 21, 4, 3
PITCH = 19


def context_places() -> str:
    """Where each target stands in fixed windows and in two random batches, by its context."""
    fixed = sliding_windows(N, T, T)["start"].tolist()
    bands = [("fixed windows, stride T = 4: every epoch", fixed)]
    bands += [("random windows: batch 0", starts_at(0))]
    parts = [
        _text(0, 15, "place of the target", "s"),
        *(_text(PITCH * (place + 0.5) - 1, 37, place, "s c") for place in range(0, N, 5)),
    ]
    y, told = 48, []
    for name, starts in bands:
        parts.append(_text(0, y + 17, name, "b"))
        y += 26
        for line in lines(starts):
            for start in line:
                left = PITCH * (start + 1)
                parts += [
                    _box(left, y, PITCH - 2, 24, "o"),
                    _row(left + PITCH, y, PITCH, T - 1, "i"),
                ]
            y += 28
        y += 6
        told.append(f"{name}: windows start at {' '.join(map(str, starts))}")
    parts += [
        _box(0, y + 2, 14, 14, "o"),
        _text(20, y + 14, "predicted from 1 id"),
        _box(180, y + 2, 14, 14, "i"),
        _text(200, y + 14, "from 2, 3 or 4 ids"),
    ]
    return _svg(
        "context-places",
        y + 22,
        "Ids of context before each target, in fixed and in random windows",
        f"A stream of {N} ids, T = {T}. The targets of a window are predicted from 1, 2, 3 and 4 "
        f"ids. {'; '.join(told)}. Targets with 1 id of context keep their places in every epoch of "
        "fixed windows, and have others in every random batch.",
        parts,
    )


def starts_at(step: int) -> list[int]:
    """Where the windows of a batch start, in order."""
    x, _ = make_train_loader(np.arange(N), T, B, SEED).batch_at(step)
    return sorted(x[:, 0].tolist())


def lines(starts: list[int]) -> list[list[int]]:
    """The windows in as few lines as they need when none lies on another.

    >>> lines([0, 2, 4, 4])
    [[0, 4], [2], [4]]
    """
    made: list[list[int]] = []
    for start in starts:
        free = (line for line in made if line[-1] + T <= start)
        line = next(free, None)
        if line is None:
            made.append([start])
        else:
            line.append(start)
    return made


def chances() -> tuple[list[str], list[list[str]]]:
    """What drawing with repeats costs in the run of seed 000 and in one like the default run."""
    run = default_run()
    size, steps = run.config.batch_size, run.plan.steps
    rows = []
    for name, n_windows, batch_size, n_steps in (
        ("seed 000", 217_444, 32, 800),
        ("default run", len(run.train_ids) - run.config.seq_len, size, steps),
    ):
        draws = batch_size * n_steps
        repeats = f"{100 * repeat_share(n_windows, draws):.1f} %"
        shared = f"{expected_shared(n_windows, batch_size, n_steps):.1f}"
        rows.append([name, f"{n_windows:,}", f"{draws:,}", repeats, shared])
    return ["Run", "W", "m", "Repeats", "Shared"], rows

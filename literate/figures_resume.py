"""The figure and the tables of the page about resuming: a run that is killed and goes on."""

from dataclasses import fields

import numpy as np

from config import MAY_CHANGE, Config
from data import iterate_batches, make_windows
from literate.figures import _box, _line, _svg, _text
from windows import place_in_epoch

WINDOWS, BATCH, STEPS, EVERY, KILLED, SEED = 10, 4, 12, 4, 7, 42


def killed_run() -> str:
    """Twelve steps in four epochs, a kill in step 7, and the process that goes on from step 4."""
    wide, left = 27, 66
    kept = KILLED - KILLED % EVERY

    def place(step: float) -> float:
        return left + wide * step

    def steps(y: float, first: int, last: int, lost: int) -> list[str]:
        return [
            part
            for step in range(first, last)
            for part in (
                _box(place(step), y, wide - 3, 24, "n" if step >= lost else "i"),
                _text(place(step) + wide / 2 - 1.5, y + 17, f"{step}", "c"),
            )
        ]

    epochs = [place_in_epoch(step, WINDOWS, BATCH) for step in range(STEPS)]
    starts = [step for step, (_, batch) in enumerate(epochs) if batch == 0]
    parts = [_text(0, 15, "epoch", "s"), _text(0, 47, "step", "s")]
    for step in starts:
        parts += [_text(place(step), 15, f"{epochs[step][0]}", "s")]
        parts += [_line((place(step) - 1.5, 20), (place(step) - 1.5, 118), "cut")]
    parts += [*steps(30, 0, KILLED, kept), *steps(90, kept, STEPS, STEPS)]
    for step in range(EVERY, STEPS + 1, EVERY):
        row = 30 if step <= kept else 90
        parts.append(f'<circle cx="{place(step) - 1.5:g}" cy="{row + 12}" r="5" class="i"/>')
    parts += [
        _text(place(KILLED) + 4, 47, "killed", "b"),
        _text(0, 107, "goes on", "s"),
        '<circle cx="6" cy="141" r="5" class="i"/>',
        _text(16, 146, "checkpoint", "s"),
        _box(104, 132, wide - 3, 18, "n"),
        _text(134, 146, "trained, lost, and trained again", "s"),
    ]
    return _svg(
        "killed-run",
        156,
        "A run that is killed and goes on",
        f"{STEPS} steps in epochs of {starts[1]}, with a checkpoint every {EVERY} steps. The run "
        f"is killed after {KILLED} steps. Its last checkpoint is that of step {kept}, so steps "
        f"{kept} to {KILLED - 1} are lost, and the next process takes them "
        "again and goes on to the end.",
        parts,
    )


def resumed_steps() -> tuple[list[str], list[list[str]]]:
    """The steps from the checkpoint on: their places, and the windows that both processes take."""
    inputs, targets = make_windows(np.arange(WINDOWS + 1), 1)
    rows = []
    for step in range(KILLED - KILLED % EVERY, KILLED + 1):
        epoch, batch = place_in_epoch(step, WINDOWS, BATCH)
        rng = np.random.default_rng(SEED + epoch)
        xb, _ = next(iterate_batches(inputs, targets, BATCH, rng, start=batch))
        taken = " ".join(map(str, xb[:, 0]))
        rows.append([str(step), str(epoch), str(batch), f"{SEED + epoch}", f"`{taken}`"])
    return ["Step", "Epoch", "Batch", "Seed", "Windows"], rows


def may_change() -> tuple[list[str], list[list[str]]]:
    """Every flag, as a run that goes on takes it."""
    names = [field.name for field in fields(Config) if field.name not in ("resume", "plan")]

    def flags(changeable: bool) -> str:
        chosen = [name for name in names if (name in MAY_CHANGE) == changeable]
        return ", ".join(f"`--{name.replace('_', '-')}`" for name in chosen)

    return ["On resume", "Flags"], [["may change", flags(True)], ["refused", flags(False)]]

"""The figure of the page about loaders: what travels between a trainer and a worker."""

import numpy as np

from data import iterate_batches
from literate.figures import WIDTH, _box, _line, _svg, _text
from literate.values import default_run


def workers() -> str:
    """A batch of the default run: made where it is used, and made by another process."""
    run = default_run()
    rng = np.random.default_rng(run.config.seed)
    xb, yb = next(iterate_batches(run.inputs, run.targets, run.config.batch_size, rng))
    numbers, size = len(xb), f"{xb.nbytes + yb.nbytes:,} bytes"
    parts = [
        _text(0, 15, "num_workers = 0: one process", "s"),
        _box(0, 24, WIDTH, 34, "i"),
        _text(WIDTH / 2, 46, f"{numbers} numbers, gather, batch, step", "c"),
        _text(0, 91, "num_workers = 1: two processes", "s"),
        _box(0, 100, 130, 66, "i"),
        _text(65, 127, "trainer", "b c"),
        _text(65, 147, "step", "c"),
        _box(WIDTH - 130, 100, 130, 66, "o"),
        _text(WIDTH - 65, 127, "worker", "b c"),
        _text(WIDTH - 65, 147, "gather, batch", "c"),
        _text(WIDTH / 2, 117, f"{numbers} numbers →", "c"),
        _line((136, 123), (WIDTH - 136, 123)),
        _line((136, 143), (WIDTH - 136, 143)),
        _text(WIDTH / 2, 160, f"← {size}", "c"),
    ]
    return _svg(
        "workers",
        170,
        "A batch without a worker and with one",
        f"Without a worker the trainer's process takes {numbers} numbers of windows, gathers the "
        f"batch and makes a step. With a worker the {numbers} numbers go to another process, which "
        f"gathers the batch and sends {size} back, while the trainer makes a step.",
        parts,
    )

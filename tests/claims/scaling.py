"""What the page past these machines claims in its prose; its tables are made by the simulation."""

import numpy as np

from benchmarks import scaling
from benchmarks.record import kept
from literate.figures_scaling import GETS
from scoring import UNITS_PER_NAT

PAGE = "scaling.md"
f = kept("scaling")["figures"]
GIVEN: list[str] = []
CLAIMS = [
    (
        "windows are those of $T$ = 2,048 at stride $T$, shards hold 256 MiB.",
        lambda: (f["T"], f["shard_bytes"]),
        (2048, 256 << 20),
    ),
    (
        "At ten trillion tokens that list alone is larger than the memory of most machines.",
        lambda: f["ten_trillion_list_bytes"] > 32e9,
        True,
    ),
    (
        (
            "A window of 2,048 ids is as large as a page of a disk, and its last target is on the "
            "next page"
        ),
        lambda: (scaling.T * scaling.ID_BYTES, scaling.pages_of(np.array([7]))),
        (scaling.PAGE, 2),
    ),
    (
        "and one rank while it gives 16,384 windows.\nA run is 256 windows, 1 MiB; a rank holds 64",
        lambda: (
            f["ten_trillion_runs_rank_windows"],
            f["run_windows"],
            f["run_bytes"],
            f["group_runs"],
        ),
        (16_384, 256, 1 << 20, 64),
    ),
    ("5,500 requests a second for a prefix is what Amazon states", lambda: GETS, 5500),
    (
        "computes its next windows in less than a millisecond",
        lambda: max(v for name, v in f.items() if name.endswith("resume_seconds")) < 1e-3,
        True,
    ),
    (
        "nats as multiples of 2⁻³², and the number of targets.",
        lambda: UNITS_PER_NAT,
        2**32,
    ),
]

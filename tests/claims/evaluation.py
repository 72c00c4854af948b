"""What the page about evaluation claims."""

from pytest import approx

from benchmarks.record import kept
from config import Config
from literate.figures_evaluation import SHORT, scored
from scoring import IDS_AT_ONCE
from windows import count_passes, eval_windows, mean_context


def losses(T: int) -> list[float]:
    """Of one model at strides T, T/2, T/4 and 1, as they were measured."""
    return [row.loss for row in scored(T)]


def contexts(n: int, seq_len: int, stride: int) -> list[int]:
    """The context of each target in the window where it counts, by a loop over the table."""
    return [
        place + 1
        for _, length, loss_from in eval_windows(n, seq_len, stride).itertuples(index=False)
        for place in range(loss_from, length)
    ]


PAGE = "evaluation.md"
GIVEN = [
    "Hand-picked: 12 ids, $T$ = 5, $s$ = 2.",
    "A stream has 13 ids, $T$ is 4 and $s$ is 2.",
    "What is the mean context for $T$ = 128 at stride 128?",
]
CLAIMS = [
    (
        "scored in windows of $T$ = 16 at four strides",
        lambda: (SHORT, [row.stride for row in scored(SHORT)]),
        (16, [16, 8, 4, 1]),
    ),
    (
        "In windows of 16 the loss falls with every row.",
        lambda: losses(16) == sorted(set(losses(16)), reverse=True),
        True,
    ),
    (
        (
            "In windows of 64 it falls from the first row to the second, and then rises by less "
            "than it fell."
        ),
        lambda: losses(64)[1] <= losses(64)[2] <= losses(64)[3] < losses(64)[0],
        True,
    ),
    (
        "gives most of what there is to gain, for twice the work",
        lambda: all(
            losses(T)[0] - losses(T)[1] > 0.8 * (losses(T)[0] - min(losses(T))) for T in (16, 64)
        ),
        True,
    ),
    (
        "each has targets with a context of 1, 2, …, $T$",
        lambda: contexts(13, 4, 4),
        [1, 2, 3, 4] * 3,
    ),
    (
        "The default model after 250 steps with windows of 64",
        lambda: (kept("strides")["figures"]["steps"], Config().seq_len),
        (250, 64),
    ),
    (
        (
            "| inputs of a batch | `(B, T)` | 16 × {{ default.seq_len }} |\n"
            "| logits that are made | `(B, T - loss_from, V)` | 16 × {{ default.eval_stride }} ×"
        ),
        lambda: IDS_AT_ONCE // Config().seq_len,
        16,
    ),
    (
        "Windows start at 0, 2, 4, 6 and 8.",
        lambda: eval_windows(13, 4, 2)["start"].tolist(),
        [0, 2, 4, 6, 8],
    ),
    (
        "The contexts are 1, 2, 3, 4, then four times 3 and 4.",
        lambda: contexts(13, 4, 2),
        [1, 2, 3, 4] + [3, 4] * 4,
    ),
    (
        "Their sum is 38, so the mean context is 38 / 12, about 3.17.",
        lambda: (sum(contexts(13, 4, 2)), mean_context(eval_windows(13, 4, 2))),
        (38, approx(3.17, abs=5e-3)),
    ),
    (
        "Five windows make 20 predictions for 12 targets, so about 1.67 passes.",
        lambda: (5 * 4, len(contexts(13, 4, 2)), count_passes(5, 4, 13)),
        (20, 12, approx(1.67, abs=5e-3)),
    ),
    (
        "129 / 2 = 64.5, if the windows fit side by side.",
        lambda: (
            mean_context(eval_windows(129, 128, 128)),
            mean_context(eval_windows(257, 128, 128)),
        ),
        (64.5, 64.5),
    ),
]

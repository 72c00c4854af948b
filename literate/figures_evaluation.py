"""The figure and the tables of the page about evaluation, from the last `make bench`."""

from dataclasses import dataclass
from itertools import pairwise

from benchmarks.record import kept
from literate.figures import WIDTH, _line, _svg, _text
from windows import least_context

SHORT, LONG = 16, 64  # T of the windows that were scored

Table = tuple[list[str], list[list[str]]]


@dataclass(frozen=True)
class Scored:
    """What one stride gave. Context is in ids, loss in nats per token."""

    stride: int
    context: float
    passes: float
    seconds: float
    loss: float


def scored(T: int) -> list[Scored]:
    """One model in windows of `T` at strides T, T/2, T/4 and 1."""
    figures = kept("strides")["figures"]
    wanted = ("mean_context", "passes", "seconds", "nats_per_token")
    return [
        Scored(s, *(figures[f"{T}_{s}_{figure}"] for figure in wanted))
        for s in (T, T // 2, T // 4, 1)
    ]


def strides() -> Table:
    """A row a stride: how much its targets see, what it costs, and the loss."""
    rows = []
    for T in (SHORT, LONG):
        for row in scored(T):
            context = [str(least_context(T, row.stride)), f"{row.context:.1f}"]
            cost = [f"{row.passes:.2f}", f"{row.seconds:.1f}"]
            rows.append([str(T), str(row.stride), *context, *cost, f"{row.loss:.3f}"])
    return ["T", "s", "Least context", "Mean", "Passes", "Seconds", "Loss"], rows


def savings() -> Table:
    """How many times as long the plain ways take, at stride T/2 and at T/4."""
    figures = kept("strided_evaluation")["figures"]
    rows = []
    for T in (64, 128, 256):
        ratios = [
            " and ".join(f"{figures[f'{T}_{s}_ratio_{way}']:.2f}" for s in (T // 2, T // 4))
            for way in ("whole", "loop")
        ]
        rows.append([str(T), *ratios])
    return ["T", "All logits", "One window at a time"], rows


def context_loss() -> str:
    """The loss of one model in short windows, against the mean context of its targets."""
    rows = scored(SHORT)
    contexts, losses = [row.context for row in rows], [row.loss for row in rows]
    left, right, top, bottom = 30, WIDTH - 40, 66, 156

    def place(row: Scored) -> tuple[float, float]:
        across = (row.context - min(contexts)) / (max(contexts) - min(contexts))
        down = (max(losses) - row.loss) / (max(losses) - min(losses))
        return round(left + across * (right - left), 1), round(top + down * (bottom - top), 1)

    places = [place(row) for row in rows]
    parts = [
        _text(0, 15, "loss, in nats per token", "s"),
        _text(WIDTH, 211, "mean context, in ids", "s e"),
        _line((0, 176), (WIDTH, 176)),
        *(_line(*pair) for pair in pairwise(places)),
    ]
    for row, (x, y) in zip(rows, places, strict=True):
        parts += [
            f'<circle cx="{x:g}" cy="{y:g}" r="4.5" class="i"/>',
            _text(x, y - 28, f"s = {row.stride}", "c b"),
            _text(x, y - 12, f"{row.loss:.3f}", "c"),
            _text(x, 193, f"{row.context:.1f}", "s c"),
        ]
    told = [
        f"s = {row.stride}: mean context {row.context:.1f}, loss {row.loss:.3f}" for row in rows
    ]
    return _svg(
        "context-loss",
        218,
        "One model's loss against the mean context of its targets",
        f"The same model, scored in windows of {SHORT} at four strides. {'; '.join(told)}. With "
        "more context the loss falls.",
        parts,
    )

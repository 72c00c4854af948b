"""The editable examples: their HTML, with the first result computed by the pipeline's own code.

`docs/assets/widgets.js` computes every later result, in the page; tests hold the two together.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from html import escape
from itertools import zip_longest

import numpy as np
import pandas as pd

from data import iterate_batches, make_windows, split_ids
from literate.figures import late
from plan import check_sides
from windows import count_batches, count_windows, sliding_windows

CAP = 16  # rows of a table, and ids of a cell, that are shown


@dataclass(frozen=True)
class Table:
    """A table of texts; `more` is how many rows are left out after the last.

    `tones` give the cells of each row after its first a colour, 0 for none; `feet` are rows below.
    """

    caption: str
    headings: list[str]
    rows: list[list[str]]
    more: int = 0
    tones: list[list[int]] = field(default_factory=list)
    feet: list[list[str]] = field(default_factory=list)


@dataclass(frozen=True)
class Result:
    """What a widget shows: one line, then tables."""

    summary: str
    tables: list[Table]


@dataclass(frozen=True)
class Field:
    """An input of a widget; `name` is the word for it in the code and in what is refused.

    If there are `choices`, it is one of them, at first the first.
    """

    name: str
    label: str
    value: str = ""
    keyboard: str = "numeric"
    choices: Sequence[str] = ()


def windows(ids: Sequence[int], seq_len: int, stride: int) -> Result:
    """The windows of `ids`.

    >>> windows([3, 1, 4, 1, 5], 3, 1).summary
    'N = 5, W = ⌈(5 − 3) / 1⌉ = 2'
    """
    inputs, targets = make_windows(np.array(ids, dtype=np.int64), seq_len, stride)
    starts = sliding_windows(len(ids), seq_len, stride)["start"]
    shown = zip(starts[:CAP], inputs[:CAP].to_numpy(), targets[:CAP].to_numpy(), strict=True)
    rows = [[f"{s:,}", _listed(x), _listed(y)] for s, x, y in shown]
    headings = ["Start", "Inputs", "Targets"]
    return Result(
        f"N = {len(ids):,}, W = ⌈({len(ids):,} − {seq_len:,}) / {stride:,}⌉ = {len(inputs):,}",
        [Table("Windows, one a row", headings, rows, len(inputs) - len(rows))],
    )


def cut(n: int, val_fraction: str, seq_len: int) -> Result:
    """Both sides of the cut, their windows at stride 1, and the windows that would cross it.

    >>> cut(90, "0.3", 4).tables[0].rows[0]
    ['training', '0 … 62', '63', '59']
    """
    train, val = split_ids(np.arange(n), Decimal(val_fraction))  # the decimal as it was written
    at, sides = len(train), [count_windows(len(side), seq_len) for side in (train, val)]
    starts = sliding_windows(n, seq_len)["start"]
    crossing = starts[(starts < at) & (starts + seq_len >= at)]
    shown = [[f"{s:,}", _range(s, at - 1), _range(at, s + seq_len)] for s in crossing[:CAP]]
    summary = (
        f"cut = ⌊(1 − {val_fraction}) × {n:,}⌋ = {at:,}. "
        f"Windows: {sides[0]:,} + {sides[1]:,} = {sum(sides):,}. "
        f"Windowed first: {len(starts):,}, of which {len(crossing):,} would cross the cut."
    )
    try:
        check_sides(len(train), len(val), seq_len)
    except ValueError:
        summary += " train.py refuses this cut: a side has no window."
    tables = [
        Table(
            "Cut first, then windowed at stride 1",
            ["Side", "Positions", "Ids", "Windows"],
            [
                ["training", _range(0, at - 1), f"{at:,}", f"{sides[0]:,}"],
                ["validation", _range(at, n - 1), f"{n - at:,}", f"{sides[1]:,}"],
            ],
        ),
        Table(
            "Windows that would cross the cut",
            ["Start", "Training positions", "Validation positions"],
            shown,
            len(crossing) - len(shown),
        ),
    ]
    return Result(summary, [table for table in tables if table.rows])


def batches(n_windows: int, batch_size: int) -> Result:
    """The sizes of the batches of one epoch.

    >>> batches(10, 4).summary
    'Batches per epoch: ⌈10 / 4⌉ = 3. Windows in the last one: 2.'
    """
    count = count_batches(n_windows, batch_size)
    summary = f"Batches per epoch: ⌈{n_windows:,} / {batch_size:,}⌉ = {count:,}."
    if not count:
        return Result(summary, [])
    places = pd.DataFrame({"place": np.arange(n_windows)})
    parts = [xb for xb, _ in iterate_batches(places, places, batch_size, None, shuffle=False)]
    rows = [
        [f"{b:,}", _range(xb[0, 0], xb[-1, 0]), f"{len(xb):,}"] for b, xb in enumerate(parts[:CAP])
    ]
    table = Table(
        "Batches of one epoch",
        ["Batch", "Places in the order", "Windows"],
        rows,
        len(parts) - len(rows),
    )
    return Result(f"{summary} Windows in the last one: {len(parts[-1]):,}.", [table])


def stored_orders(n_windows: int, batch_size: int) -> Table:
    """The windows of each batch in two epochs, drawn from one generator seeded 42."""
    rng = np.random.default_rng(42)
    frame = pd.DataFrame({"window": np.arange(n_windows)})
    rows = [
        [str(epoch)]
        + [_listed(xb[:, 0]) for xb, _ in iterate_batches(frame, frame, batch_size, rng)]
        for epoch in range(2)
    ]
    headings = ["Epoch", *(f"Batch {b}" for b in range(count_batches(n_windows, batch_size)))]
    return Table("Stored order of two epochs", headings, rows)


def drawn(table: Table) -> str:
    """The HTML of a table, without the quotes that HTML does not need: a page has 40 KiB."""
    head = "".join(f"<th scope=col>{escape(text)}</th>" for text in table.headings)
    lines = [_line(*pair) for pair in zip_longest(table.rows, table.tones, fillvalue=())]
    if table.more:
        lines.append(f"<tr><td colspan={len(table.headings)}>… and {table.more:,} more</td></tr>")
    lines += [_line(row, ()) for row in table.feet]
    reached = " tabindex=0" if table.tones else ""  # it may be wider than a phone
    return (
        f"<table class=widget-table{reached}><caption>{escape(table.caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )


def _line(cells: Sequence[str], tones: Sequence[int]) -> str:
    first, *others = cells
    pairs = zip_longest(others, tones, fillvalue=0)
    drawn = (f"<td{_tone(tone)}>{escape(text)}</td>" for text, tone in pairs)
    return f"<tr><th scope=row>{escape(first)}</th>{''.join(drawn)}</tr>"


def _tone(tone: int) -> str:
    return f" class=t{tone}" if tone else ""


def _windows_widget() -> str:
    ids, seq_len, stride = [3, 1, 4, 1, 5, 2, 6, 5, 3, 5], 4, 1
    fields = [
        Field("ids", "Token ids <code>ids</code>", " ".join(map(str, ids)), "text"),
        Field("seq_len", "Targets in a window, <i>T</i> <code>seq_len</code>", str(seq_len)),
        Field("stride", "Ids from start to start, <i>k</i> <code>stride</code>", str(stride)),
    ]
    return _widget("windows", fields, windows(ids, seq_len, stride))


def _cut_widget() -> str:
    n, val_fraction, seq_len = 20, "0.25", 3
    fields = [
        Field("N", "Ids in the stream, <i>N</i> <code>len(ids)</code>", str(n)),
        Field(
            "val_fraction",
            "Validation fraction, <i>ρ</i> <code>val_fraction</code>",
            val_fraction,
            "decimal",
        ),
        Field("seq_len", "Targets in a window, <i>T</i> <code>seq_len</code>", str(seq_len)),
    ]
    return _widget("cut", fields, cut(n, val_fraction, seq_len))


def _batches_widget() -> str:
    n_windows, batch_size = 10, 4
    fields = [
        Field("n_windows", "Windows, <i>W</i> <code>n_windows</code>", str(n_windows)),
        Field(
            "batch_size", "Windows in a batch, <i>B</i> <code>batch_size</code>", str(batch_size)
        ),
    ]
    stored = (
        f'<div data-only="{n_windows} {batch_size}">'
        f"{drawn(stored_orders(n_windows, batch_size))}</div>"
        "<p>An order comes from pandas and NumPy, which a page cannot run: those of two epochs of "
        "one generator, <code>default_rng(42)</code>, were stored when this page was built. "
        f"They are shown for <i>W</i> = {n_windows} and <i>B</i> = {batch_size} alone.</p>"
    )
    return _widget("batches", fields, batches(n_windows, batch_size), stored)


WIDGETS: dict[str, Callable[[], str]] = {
    "windows": _windows_widget,
    "cut": _cut_widget,
    "batches": _batches_widget,
    "packing": late("widgets_places", "packing_widget"),
    "evaluation": late("widgets_places", "evaluation_widget"),
}


def _widget(name: str, fields: Iterable[Field], first: Result, after: str = "") -> str:
    alert = f"{name}-alert"
    return (
        f'<div class="widget" data-widget="{name}" spellcheck="false">'
        f'<div class="widget-fields">{"".join(_input(f, alert) for f in fields)}</div>'
        f'<p id="{alert}" role="alert"></p>'
        f'<p role="status">{escape(first.summary)}</p>'
        f'<div class="widget-result">{"".join(map(drawn, first.tables))}</div>'
        f"{after}"
        "<noscript><p>Without JavaScript this does not change.</p></noscript>"
        "</div>"
    )


def _input(field: Field, alert: str) -> str:
    told = f"autocomplete=off aria-describedby={alert}"
    if field.choices:
        options = "".join(f"<option>{choice}</option>" for choice in field.choices)
        control = f"<select name={field.name} {told}>{options}</select>"
    else:
        control = (
            f'<input name={field.name} value="{escape(field.value)}" '
            f"inputmode={field.keyboard} {told} />"
        )
    return f"<label>{field.label} {control}</label>"


def _listed(ids: Sequence[int] | np.ndarray) -> str:
    shown = ", ".join(map(str, ids[:CAP]))
    return f"{shown}, … and {len(ids) - CAP:,} more" if len(ids) > CAP else shown


def _range(first: int, last: int) -> str:
    if first > last:
        return "none"
    return f"{first:,}" if first == last else f"{first:,} … {last:,}"

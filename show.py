"""Documents in colour: training windows with what counts in them, and one window place by place."""

import io
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from files import write_text, written_whole
from stream import Stream, segment_ids
from tokenizer import Tokenizer
from windows import Boundaries, gather, loss_mask

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

# Neighbouring documents get different colours, which are told apart without seeing red or green.
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"]
PADDING = "·"


def rows_text(
    stream: Stream, windows: pd.DataFrame, tok: Tokenizer, boundaries: Boundaries
) -> "Text":
    """Each window as its tokens, a colour a document, with both masks under it.

    `▔` stands under a target that counts; a dot is padding. The last line says which places may be
    attended to.
    """
    from rich.text import Text  # here, for importing rich moves Python's global random state

    rows = _Rows.of(stream, windows, boundaries)
    shown = Text()
    for row, window in enumerate(windows.index):
        shown.append(f"window {window}\n", "bold")
        numbers = rows.documents[row]
        pairs = zip(rows.ids[row], numbers, strict=True)
        words = [_word(tok, token) if number else PADDING for token, number in pairs]
        for word, number in zip(words, numbers, strict=True):
            shown.append(word + " ", _style(number))
        shown.append("\n")
        for word, counts in zip(words, np.append(False, rows.mask[row]), strict=True):
            shown.append(("▔" if counts else " ") * len(word) + " ")
        shown.append(f"\n{_attention(rows.segments[row], boundaries)}\n\n", "dim")
    return shown


@dataclass(frozen=True)
class _Rows:
    """Windows place by place: ids, segments and numbers of documents from 1, `(W, T + 1)` each,
    0 for padding; and the loss mask `(W, T)`."""

    ids: np.ndarray
    segments: np.ndarray
    documents: np.ndarray
    mask: np.ndarray

    @classmethod
    def of(cls, stream: Stream, windows: pd.DataFrame, boundaries: Boundaries) -> "_Rows":
        segments = segment_ids(stream.spans, len(stream))
        numbers = np.append(0, pd.factorize(stream.spans["doc_id"])[0] + 1)  # of each segment
        held = [_whole(values, windows) for values in (stream.ids, segments, numbers[segments])]
        return cls(*held, loss_mask(windows, segments, boundaries))


def _whole(values: np.ndarray, windows: pd.DataFrame) -> np.ndarray:
    x, y = gather(values, windows)
    return np.column_stack([x, y[:, -1]])


def _word(tok: Tokenizer, token: int) -> str:
    if token == tok.eot_id:
        return "∎"
    text = tok.decode_bytes([int(token)]).decode("utf-8", "backslashreplace")
    return text.replace("\n", "⏎").replace(" ", "␣")


def _style(number: int) -> str:
    return COLOURS[(number - 1) % len(COLOURS)] if number else "dim"


def _attention(segments: np.ndarray, boundaries: Boundaries) -> str:
    """Who may attend to whom, in words: the places of each document, or of the whole window."""
    if boundaries == "continuous":
        return f"attention: each place sees places 0 to itself, of 0 to {len(segments) - 2}"
    inputs = enumerate(segments[:-1].tolist())
    runs = [
        [place for place, _ in run]
        for number, run in groupby(inputs, lambda pair: pair[1])
        if number
    ]
    return "attention: places see only their own of " + ", ".join(f"{r[0]}–{r[-1]}" for r in runs)


def save_rows(
    path: Path, stream: Stream, windows: pd.DataFrame, boundaries: Boundaries, most: int = 16
) -> None:
    """A picture of the first rows: a colour a document, pale where no target counts."""
    rows = _Rows.of(stream, windows.iloc[:most], boundaries)
    colours = np.where(rows.documents > 0, (rows.documents - 1) % len(COLOURS) + 1, 0)
    strength = np.where(np.pad(rows.mask, ((0, 0), (1, 0))), 1.0, 0.35)
    figure = Figure(figsize=(10, 1 + 0.32 * len(colours)), layout="constrained")
    axes = figure.subplots()
    axes.imshow(
        colours,
        cmap=ListedColormap(["white", *COLOURS]),
        vmin=0,
        vmax=len(COLOURS),
        alpha=strength,
        aspect="auto",
        interpolation="nearest",
    )
    axes.set_xlabel("place in the row; pale: no target that counts; white: padding")
    axes.set_ylabel("row")
    axes.set_yticks(range(len(colours)))
    with written_whole(path) as temporary:
        figure.savefig(temporary, dpi=120)


def show_window(frame: pd.DataFrame, window: int, console: "Console", html: str | None) -> None:
    """Print where each token of a window came from, and write the same as a page if asked to."""
    from rich.console import Console
    from rich.table import Table

    files = frame["file"].dropna().unique() if "file" in frame else []
    title = " of ".join([f"Window {window}", *files])
    table = Table(title=title, title_justify="left")
    for heading in ("place", "id", "token", "document", "token of it", "characters", "what"):
        table.add_column(heading, justify="right" if heading in ("place", "id") else "left")
    table.add_column("as a target")
    numbers = {doc_id: k + 1 for k, doc_id in enumerate(frame["doc_id"].dropna().unique())}
    for place, row in frame.iterrows():
        known = pd.notna(row["char_start"])
        cells = [place, row["id"], row["token"], row["doc_id"], row["doc_token"]]
        cells += [
            f"{row['char_start']}–{row['char_stop']}" if known else "",
            row["what"],
            row["why"],
        ]
        style = _style(numbers.get(row["doc_id"], 0)) if pd.notna(row["doc_id"]) else "dim"
        table.add_row(*("" if pd.isna(c) else _plain(c) for c in cells), style=style)
    console.print(table)
    if html:
        page = Console(record=True, width=140, file=io.StringIO())
        page.print(table)
        write_text(Path(html), page.export_html())


def _plain(cell: object) -> str:
    return str(cell).replace("[", r"\[")  # rich would take a bracket for a style

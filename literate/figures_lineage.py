"""The figure and the tables of the page about the ledger: what became of every token."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from ledger import CONTEXT, CROSSING, TRAINED, fates, ledger
from lineage import explain
from literate.figures import _box, _numbers, _svg, _text
from literate.values import default_run
from packing import pack
from stream import Stream, cut_stream, encode_documents, text_stream
from windows import loss_mask, sliding_windows

SIZES, SEQ_LEN, STRIDE = (3, 6), 3, 2
TONES = {TRAINED: "i", CROSSING: "o", CONTEXT: ""}  # every other fate is a dashed box
NAMES = {"i": "trained", "o": "masked", "": "context only", "n": "dropped"}


def hand_stream() -> Stream:
    """Two documents of 3 and 6 tokens, one after the other."""
    stop = np.cumsum(SIZES)
    spans = {"start": stop - SIZES, "stop": stop, "doc_id": [0, 1], "doc_start": 0}
    return Stream(np.arange(sum(SIZES)), pd.DataFrame(spans))


def token_fates() -> str:
    """The two documents, the windows over them, and each token in the colour of its fate."""
    stream, left, pitch = hand_stream(), 88, 34
    n, windows = len(stream), sliding_windows(len(stream), SEQ_LEN, STRIDE)
    segments = np.repeat([1, 2], SIZES)
    counts = loss_mask(windows, segments, "isolated")
    found, times = fates(stream, windows, "isolated")
    tones = [TONES.get(fate, "n") for fate in found]

    def cells(y: float, first: int, tones: list[str]) -> list[str]:
        return [
            _box(left + pitch * (first + k), y, pitch - 2, 24, tone) for k, tone in enumerate(tones)
        ]

    parts = [
        _text(0, 15, "place", "s"),
        f'<g class="s">{_numbers(left, -2, pitch, range(n))}</g>',
        _text(0, 41, "document"),
    ]
    for doc_id, start, stop in stream.spans[["doc_id", "start", "stop"]].itertuples(index=False):
        parts.append(_box(left + pitch * start, 24, pitch * (stop - start) - 2, 24))
        parts.append(_text(left + pitch * (start + stop) / 2 - 1, 41, doc_id, "c"))
    y = 60
    for window, start in enumerate(windows["start"]):
        targets = ["i" if counted else "o" for counted in counts[window]]
        parts += [_text(0, y + 17, f"window {window}"), *cells(y, start, ["", *targets])]
        y += 30
    parts += [
        _text(0, y + 25, "fate", "b"),
        *cells(y + 8, 0, tones),
        _text(0, y + 53, "predictions", "s"),
        f'<g class="s">{_numbers(left, y + 36, pitch, times)}</g>',
    ]
    for x, (tone, name) in zip((0, 84, 172, 298), NAMES.items(), strict=True):
        parts += [_box(x, y + 70, 16, 16, tone), _text(x + 21, y + 83, name, "s")]
    told = "; ".join(
        f"{NAMES[tone]} {', '.join(str(p) for p in range(n) if tones[p] == tone)}" for tone in NAMES
    )
    return _svg(
        "token-fates",
        y + 94,
        "What becomes of the tokens of two documents",
        f"Documents of {SIZES[0]} and {SIZES[1]} tokens and windows of T = {SEQ_LEN} at stride "
        f"{STRIDE}, isolated. By place: {told}. The predictions of each place that count are "
        f"{', '.join(map(str, times))}.",
        parts,
    )


def hand_ledger() -> tuple[list[str], list[list[str]]]:
    """The ledger of the figure."""
    stream = hand_stream()
    frame = ledger(stream, stream, sliding_windows(len(stream), SEQ_LEN, STRIDE), "isolated")
    names = ["read", "trained", "times", "context_only", "masked", "dropped", "reason"]
    rows = [[name.replace("_", " "), *map(str, frame[name])] for name in names]
    return ["Tokens", *(f"Document {doc_id}" for doc_id in frame["doc_id"])], rows


def _eot_stream() -> Stream:
    run = default_run()
    return encode_documents(run.text.documents, run.tok)


def explained_window() -> tuple[list[str], list[list[str]]]:
    """A short window over the end of the corpus's first story, in layout `eot`, isolated."""
    run, stream = default_run(), _eot_stream()
    windows = sliding_windows(len(stream), 8)
    first = int(stream.spans["stop"].iloc[0]) - 5
    frame = explain(stream, windows, first, run.tok, "isolated", run.text.documents)
    rows = []
    for place, row in frame.iterrows():
        token = "" if row["what"] == "end-of-text" else f"`{row['token'].replace(' ', '␣')}`"
        characters = f"{row['char_start']}–{row['char_stop']}"
        rows.append(
            [
                str(place),
                token or row["what"],
                f"{row['record']}, {row['doc_token']}",
                characters,
                "yes" if row["counts"] else f"no: {row['why']}",
            ]
        )
    return ["Place", "Token", "Record, token", "Characters", "Counts"], rows


def layouts() -> dict[str, Callable[[], pd.DataFrame]]:
    """Ledgers of the default run's training side, one epoch, in three layouts."""
    run = default_run()
    T, stride, cut = run.config.seq_len, run.config.stride, len(run.train_ids)

    def text() -> pd.DataFrame:
        train, _ = cut_stream(text_stream(run.text.documents, run.ids, run.tok), cut)
        return ledger(train, train, sliding_windows(len(train), T, stride), "continuous")

    def eot() -> pd.DataFrame:
        train, _ = cut_stream(_eot_stream(), cut)
        return ledger(train, train, sliding_windows(len(train), T, stride), "isolated")

    def packed() -> pd.DataFrame:
        train, _ = cut_stream(_eot_stream(), cut)
        rows = pack(train, T, run.tok.eot_id)
        return ledger(train, rows, sliding_windows(len(rows), T, T + 1), "isolated")

    return {"text, continuous": text, "eot, isolated": eot, "packed, isolated": packed}


def ledger_totals() -> tuple[list[str], list[list[str]]]:
    """The sums of each, and its padding."""
    frames = {name: made() for name, made in layouts().items()}
    names = {
        "read": "tokens read",
        "trained": "trained",
        "times": "predictions",
        "context_only": "context only",
        "masked": "masked",
        "dropped": "dropped",
    }
    rows = [
        [shown, *(f"{frame[column].sum():,}" for frame in frames.values())]
        for column, shown in names.items()
    ]
    rows.append(["padding", *(f"{frame.attrs['padding']:,}" for frame in frames.values())])
    return ["Tokens", *frames], rows

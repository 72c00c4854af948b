"""The figure and the tables of the page about packing: hand-picked documents, and the stories."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.record import kept
from literate.figures import _box, _svg, _text
from literate.values import default_run
from packing import count_dropped, count_tokens, fill, pack
from stream import Stream, encode_documents

LENGTHS = {"A": 5, "B": 11, "C": 3, "D": 6, "E": 2}
HAND = [[11, 12, 9], [21, 22, 23, 24, 25, 9], [31, 9]]
POLICIES = [
    ("best-fit", "fragment", "pad"),
    ("sequential", "fragment", "pad"),
    ("sequential", "fragment", "drop"),
    ("best-fit", "truncate", "pad"),
    ("sequential", "truncate", "pad"),
    ("best-fit", "drop", "pad"),
]
TONES = ["i", "o", "", "i", "o"]


def documents_of(ids: list[list[int]]) -> Stream:
    """Hand-picked documents side by side."""
    stops = np.cumsum([len(own) for own in ids])
    starts = np.append(0, stops[:-1])
    spans = {"start": starts, "stop": stops, "doc_id": range(len(ids)), "doc_start": 0}
    return Stream(np.concatenate(ids), pd.DataFrame(spans), "eot")


def hand_rows(policy: tuple[str, str, str]) -> Stream:
    """The five documents of the figure in rows of 8."""
    order, long_doc, tail = policy
    source = documents_of([[0] * length for length in LENGTHS.values()])
    return pack(source, 7, 0, long_doc, order=order, tail=tail)


def packed_rows() -> str:
    """The rows of five documents under three policies, coloured by document."""
    parts, told, top = [], [], 0
    for policy in (POLICIES[0], POLICIES[1], POLICIES[3]):
        stream = hand_rows(policy)
        order, long_doc, _ = policy
        parts.append(_text(0, top + 15, f"{order}, {long_doc}"))
        parts += list(_rows(stream, top + 22))
        rows = [[f"{name} {n}" for name, n in row] for row in _stretches(stream)]
        told.append(f"{order}, {long_doc}: {'; '.join(', '.join(row) for row in rows)}")
        top += 22 + 28 * len(rows) + 10
    return _svg(
        "packed-rows",
        top - 12,
        "Five documents in rows of eight places, under three policies",
        f"Rows from top to bottom, each with its stretches and their lengths. {'. '.join(told)}.",
        parts,
    )


def _rows(stream: Stream, top: float) -> Iterator[str]:
    """A box a stretch, in the tone of its document; those of D and E are stronger."""
    for y, row in enumerate(_stretches(stream)):
        x = 0
        for name, length in row:
            tone = TONES[list(LENGTHS).index(name)] if name in LENGTHS else "n"
            strong = ' style="fill-opacity:.5"' if name in "DE" else ""
            yield _box(50 * x, top + 28 * y, 50 * length - 2, 24, tone, strong)
            yield _text(50 * x + 25 * length - 1, top + 28 * y + 17, name, "c")
            x += length


def _stretches(stream: Stream) -> list[list[tuple[str, int]]]:
    """Each row of 8: its documents, how much of each, and the padding."""
    rows: list[list[tuple[str, int]]] = [[] for _ in range(len(stream) // 8)]
    for start, stop, doc_id, _ in stream.spans.itertuples(index=False):
        rows[start // 8].append((list(LENGTHS)[doc_id], stop - start))
    for row in rows:
        if rest := 8 - sum(length for _, length in row):
            row.append(("padding", rest))
    return rows


def policies() -> tuple[list[str], list[list[str]]]:
    """What each policy costs on the stories, in rows of T + 1 at the default T and at 512."""
    run = default_run()
    source = encode_documents(run.text.documents, run.tok)
    headings = ["T", "order · long_doc · tail", "Rows", "Spans", "Fill", "Dropped"]
    rows = []
    for seq_len, chosen in ((run.config.seq_len, POLICIES), (512, POLICIES[:2])):
        for policy in chosen:
            order, long_doc, tail = policy
            packed = pack(source, seq_len, run.tok.eot_id, long_doc, order=order, tail=tail)
            dropped = count_dropped(source, packed)
            share = f" ({dropped / count_tokens(source):.2%})" if dropped else ""
            counts = f"{len(packed) // (seq_len + 1):,}", f"{len(packed.spans):,}"
            told = f"{fill(packed):.4f}", f"{dropped:,}{share}"
            rows.append([str(seq_len), " · ".join(policy), *counts, *told])
    return headings, rows


def times() -> tuple[list[str], list[list[str]]]:
    """What packing a million documents took, from the last `make bench`."""
    figures = kept("packing")["figures"]
    rows = [
        ["placing alone", f"{figures['place_seconds']:.2f}", ""],
        ["`pack`", f"{figures['ours_seconds']:.2f}", f"{figures['ours_fill']:.4f}"],
    ]
    if "trl_seconds" in figures:
        told = f"TRL {figures['trl_version']}, `bfd_split`"
        rows.append([told, f"{figures['trl_seconds']:.1f}", f"{figures['trl_fill']:.4f}"])
    return ["What", "Seconds", "Fill"], rows

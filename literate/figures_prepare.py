"""The figure and the table of the page about preparing: a small file, really cut and prepared."""

import io
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

from intake import Recipe
from literate.figures import _box, _line, _svg, _text
from partitions import CutFile, cut_file
from preparation import Making, prepare_tokens
from prepared import load_prepared
from tokenizer import Tokenizer
from workers import run_here

STORY = 'text,id\n"a\nb",1\ne,2\nf,3\n'
SIZE = 9  # bytes that make a partition full


def cut_story(folder: str, size: int = SIZE) -> CutFile:
    """The hand-picked file, cut."""
    path = Path(folder, "story.csv")
    path.write_bytes(STORY.encode())
    return cut_file(str(path), "utf-8", size)


def partition_cut() -> str:
    """The bytes of the file, the quotes before each newline, and the partitions."""
    with tempfile.TemporaryDirectory() as folder:
        partitions = cut_story(folder).partitions
    pitch, parts = 16, [_text(0, 14, "bytes of a CSV file; ⏎ is a newline", "s")]
    told = []
    for place, letter in enumerate(STORY):
        ahead = STORY[:place].count('"')
        tone = "" if letter != "\n" else "o" if ahead % 2 else "i"
        parts.append(_box(pitch * place, 22, pitch - 2, 24, tone))
        parts.append(_text(pitch * place + 7, 39, "⏎" if letter == "\n" else letter, "c m"))
        if letter == "\n":
            parts.append(_text(pitch * place + 7, 64, ahead, "c"))
            told.append(f"{ahead} before byte {place}")
    parts.append(_text(0, 82, "quotes before each newline", "s"))
    for number, part in enumerate(partitions):
        start, stop = pitch * part.start, pitch * (part.stop or len(STORY))
        parts.append(_box(start, 92, stop - start - 2, 24, "n"))
        parts.append(_text((start + stop) / 2, 109, f"partition {number}", "c"))
        if start:
            parts.append(_line((start - 1, 20), (start - 1, 118), "cut"))
    return _svg(
        "partition-cut",
        120,
        "A file cut between its records",
        f"Quotes before newlines: {', '.join(told)}. Where the number is odd the newline is text. "
        f"Partitions begin at bytes {', '.join(str(part.start) for part in partitions)}.",
        parts,
    )


def sizes() -> tuple[list[str], list[list[str]]]:
    """The file prepared with partitions of several sizes: where they begin, and one stream."""
    rows, recipe, tok = [], Recipe(val_fraction=0.4, seed=4), Tokenizer([])
    for size in (1, SIZE, 100):
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
            cut, out = cut_story(folder, size), Path(folder, "out")
            out.mkdir()
            making = Making(recipe, run_here, tok=tok, partition_mb=size / 1e6)
            prepare_tokens([cut.address], out, making)
            streams = load_prepared(out).streams
            begin = ", ".join(str(part.start) for part in cut.partitions)
            texts = [tok.decode(streams[side].ids) for side in ("train", "val")]
            rows.append([str(size), begin, *(f"`{text}`".replace("\n", "⏎") for text in texts)])
    return ["Full at, in bytes", "Partitions begin at", "`train`", "`val`"], rows

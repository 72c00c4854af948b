"""Reading a text column of a CSV."""

import csv
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv

from benchmarks.measure import in_turn, line, peer, row
from benchmarks.peers.reading import count_right
from benchmarks.record import ROOT
from corpus import load_documents
from readers import read_rows

# A file, and its column `text`; None where a reader that loses and invents nothing must refuse.
NASTY: dict[str, tuple[bytes, list[str] | None]] = {
    "a newline in quotes": (b'id,text\n1,"a\nb"\n', ["a\nb"]),
    "a lone CR in a cell": (b"id,text\n1,a\rb\n", ["a\rb"]),
    "NA is a text": (b"id,text\n1,NA\n2,007\n", ["NA", "007"]),
    "a field too many": (b"id,text\n1,a,b\n", None),
    "a field too few": (b"id,text\n1\n2,b\n", None),
    "a quote never closed": (b'id,text\n1,"a\n2,b\n', None),
    "bytes that are no UTF-8": (b"id,text\n1,\xff\n", None),
    "the column twice": (b"text,text\n1,2\n", None),
}


@row("corpus.py", "readers.py", "sides.py")
def reading(megabytes: float = 100, rounds: int = 5) -> dict[str, Any]:
    """A CSV: ours, which refuses what it must, beside readers that check less."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.csv")
        write_csv(path, megabytes)
        contenders = {name: lambda read=read: read(path) for name, read in READERS.items()}
        contenders |= {"documents": lambda: load_documents(path), "bytes": path.read_bytes}
        times = in_turn(rounds, **contenders)
        told = [x for _ in range(rounds) if (x := peer("reading", "polars_seconds", str(path)))]
        if told:
            times["polars"] = statistics.median(t for t, _ in told)
        figures = {"megabytes": path.stat().st_size / 1e6, **times, **right(Path(folder, "nasty"))}
    full = [n for n in ("csv", "pandas", "pyarrow", "polars") if figures.get(f"{n}_right") == 8]
    peers = {name: times.get(name) for name in ("csv", "pandas", "pyarrow", "polars")}
    return figures | {
        "lines": [
            line(
                f"Reading a text column, {megabytes:g} MB",
                times["ours"],
                same={name: t for name, t in peers.items() if name in full},
                less={name: t for name, t in peers.items() if name not in full},
                limit=times["bytes"],
                bound="reading the bytes of the file from the system's cache",
                why="Most of it is the strict `csv` module, which reads one row at a time into "
                "Python strings.",
            )
        ]
    }


def ours(path: Path) -> list[list[str | None]]:
    return [cells for _, cells in read_rows(path, ["text"], "utf-8")]


def strict_csv(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="\n") as lines:
        rows = csv.reader(lines, strict=True)
        place = next(rows).index("text")
        return [cells[place] for cells in rows]


def pandas_column(path: Path) -> Any:
    kind = "large_string[pyarrow]"
    return pd.read_csv(path, usecols=["text"], dtype=kind, keep_default_na=False)["text"]


def pyarrow_column(path: Path) -> Any:
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    convert = pyarrow.csv.ConvertOptions(
        include_columns=["text"], column_types={"text": pa.large_string()}
    )
    return pyarrow.csv.read_csv(path, parse_options=parse, convert_options=convert)["text"]


READERS = {
    "ours": ours,
    "csv": strict_csv,
    "pandas": pandas_column,
    "pyarrow": pyarrow_column,
}


def right(folder: Path) -> dict[str, int]:
    """How many of the nasty files each reader gets right."""
    folder.mkdir()
    for name, (content, _) in NASTY.items():
        Path(folder, f"{name}.csv").write_bytes(content)
    expected = {f"{name}.csv": texts for name, (_, texts) in NASTY.items()}
    Path(folder, "expected.json").write_text(json.dumps(expected), encoding="utf-8")
    lists = {
        "ours": lambda path: [cells[0] for cells in ours(path)],
        "csv": strict_csv,
        "pandas": lambda path: pandas_column(path).tolist(),
        "pyarrow": lambda path: pyarrow_column(path).to_pylist(),
    }
    found = {f"{name}_right": count_right(read, str(folder)) for name, read in lists.items()}
    polars = peer("reading", "polars_right", str(folder))
    return {"nasty": len(NASTY), **found} | ({} if polars is None else {"polars_right": polars})


def write_csv(path: Path, megabytes: float) -> None:
    frame = pd.read_csv(ROOT / "data" / "corpus.csv")
    frame.to_csv(path, index=False)
    copies = max(1, round(megabytes * 1e6 / path.stat().st_size))
    pd.concat([frame] * copies).to_csv(path, index=False)

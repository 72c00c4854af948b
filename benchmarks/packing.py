"""The row `packing`: a million documents placed and laid out, beside TRL's `bfd_split`.

Without TRL among the PEERS the row is measured without it, and says so. The same Python opens an
exported file with `datasets`, and puts its rows through TRL's own collator.
"""

import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measure import line, peak, peer, row, seconds
from export import export_rows
from packing import count_tokens, fill, least_rows, pack, place, whole_documents
from stream import Stream, segment_ids
from windows import loss_mask, sliding_windows

DOCUMENTS, MEAN, SEQ_LEN = 1_000_000, 57, 1024
ROUNDS = 3
EXPORTED = 2000  # documents in the file that is opened


def documents(n: int) -> Stream:
    """Documents of geometrically distributed lengths, from one generator."""
    rng = np.random.default_rng(0)
    lengths = 1 + rng.geometric(1 / MEAN, n)
    stops = np.cumsum(lengths)
    spans = {"start": stops - lengths, "stop": stops, "doc_id": np.arange(n), "doc_start": 0}
    return Stream(rng.integers(0, 50_000, stops[-1]), pd.DataFrame(spans), "eot")


@row("benchmarks/peers/packing.py", "export.py", "packing.py", "stream.py", "windows.py")
def packing(count: int = DOCUMENTS, rounds: int = ROUNDS) -> dict[str, Any]:
    """Placing: seconds and bytes a document. With ids: ours, TRL's, both fills, and the bound."""
    source = documents(count)
    size = SEQ_LEN + 1
    lengths = whole_documents(source)["length"].clip(upper=size).to_numpy()
    times: dict[str, list[float]] = {"place": [], "ours": [], "trl": [], "copy": []}
    theirs: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        edges = np.append(0, source.spans["stop"])
        np.save(f"{folder}/ids.npy", source.ids)
        np.save(f"{folder}/edges.npy", edges)
        for _ in range(rounds):
            times["place"].append(seconds(lambda: place(lengths, size)))
            times["ours"].append(seconds(lambda: pack(source, SEQ_LEN, 0)))
            times["copy"].append(seconds(source.ids.copy))
            if told := peer("packing", "trl_packs", folder, size):
                took, rows, tokens, theirs["trl_version"] = told
                times["trl"].append(took)
                theirs |= {"trl_rows": rows, "trl_fill": tokens / (rows * size)}
                if tokens != len(source):
                    raise ValueError(f"TRL kept {tokens:,} of {len(source):,} tokens")
    packed, tokens = pack(source, SEQ_LEN, 0), count_tokens(source)
    least = least_rows(tokens, SEQ_LEN)
    figures = {
        "documents": count,
        "tokens": tokens,
        "place_seconds": statistics.median(times["place"]),
        "place_bytes_a_document": peak(lambda: place(lengths, size)) / len(lengths),
        "ours_seconds": statistics.median(times["ours"]),
        "ours_rows": len(packed) // size,
        "ours_fill": fill(packed),
        "bound_rows": least,
        "bound_fill": tokens / (least * size),
    }
    middle = {name: statistics.median(values) for name, values in times.items() if values}
    if theirs:
        figures |= {"trl_seconds": middle["trl"]} | theirs
        figures |= {"ratio": figures["trl_seconds"] / figures["ours_seconds"]}
        figures |= {f"opened_{kind}": opened(kind) for kind in ("continuous", "isolated")}
    else:
        figures["peers"] = "none: PEERS names no Python with benchmarks/requirements.txt"
    return figures | {
        "lines": [
            line(
                f"Packing {count:,} documents",
                middle["ours"],
                same={"TRL `bfd_split`": middle.get("trl")},
                limit=middle["copy"],
                bound="one copy of the ids",
            )
        ]
    }


def opened(boundaries: str) -> bool:
    """Whether `datasets` gives the rows that were exported, and TRL's collator our loss mask."""
    packed = pack(documents(EXPORTED), SEQ_LEN, 0)
    windows = sliding_windows(len(packed), SEQ_LEN, SEQ_LEN + 1)
    mask = loss_mask(windows, segment_ids(packed.spans, len(packed)), boundaries)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        export_rows(packed, SEQ_LEN, boundaries, path)
        told = peer("packing", "opened", str(path))
        ours = pd.read_parquet(path)
    rows = {name: [cell.tolist() for cell in ours[name]] for name in ours}
    targets = np.where(mask, packed.ids.reshape(-1, SEQ_LEN + 1)[:, 1:], -100)
    return (
        told["rows"] == rows
        and told["targets"] == targets.tolist()
        and told["positions"] == [place for row in rows["position_ids"] for place in row]
    )

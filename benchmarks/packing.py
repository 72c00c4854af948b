"""The row `packing`: a million documents placed and laid out, beside TRL's `bfd_split`.

TRL runs in the Python that the environment variable PEERS names, with `requirements.txt` of this
folder installed; without it the row is measured without TRL, and says so. The same Python opens an
exported file with `datasets`, and puts its rows through TRL's own collator.
"""

import json
import os
import statistics
import subprocess
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from export import export_rows
from packing import count_tokens, fill, least_rows, pack, place, whole_documents
from stream import Stream, segment_ids
from windows import loss_mask, sliding_windows

DOCUMENTS, MEAN, SEQ_LEN = 1_000_000, 57, 1024
ROUNDS = 3
EXPORTED = 2000  # documents in the file that is opened

TRL = """
import json, sys, time
from importlib.metadata import version
import numpy as np, pyarrow as pa
from datasets import Dataset, disable_progress_bars
from trl import pack_dataset
disable_progress_bars()
folder, size = sys.argv[1], int(sys.argv[2])
ids, edges = np.load(folder + "/ids.npy"), np.load(folder + "/edges.npy")
column = pa.LargeListArray.from_arrays(pa.array(edges), pa.array(ids))
data = Dataset(pa.table({"input_ids": column}))
begun = time.perf_counter()
rows = pack_dataset(data, size, strategy="bfd_split")
seconds = time.perf_counter() - begun
tokens = sum(len(part.values) for part in rows.data.table.column("input_ids").chunks)
print(json.dumps([seconds, len(rows), tokens, version("trl")]))
"""

OPEN = """
import json, sys, tempfile
from datasets import Dataset, disable_progress_bars
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling
disable_progress_bars()
rows = Dataset.from_parquet(sys.argv[1], cache_dir=tempfile.mkdtemp())
collate = DataCollatorForLanguageModeling(pad_token_id=0, padding_free=True)
batch = collate([rows[i] for i in range(len(rows))])
shifted = batch["labels"].view(len(rows), -1)[:, 1:]
print(json.dumps({"rows": rows.to_dict(), "targets": shifted.tolist(),
                  "positions": batch["position_ids"][0].tolist()}))
"""


def documents(n: int) -> Stream:
    """Documents of geometrically distributed lengths, from one generator."""
    rng = np.random.default_rng(0)
    lengths = 1 + rng.geometric(1 / MEAN, n)
    stops = np.cumsum(lengths)
    spans = {"start": stops - lengths, "stop": stops, "doc_id": np.arange(n), "doc_start": 0}
    return Stream(rng.integers(0, 50_000, stops[-1]), pd.DataFrame(spans), "eot")


def packing() -> dict[str, Any]:
    """Placing: seconds and bytes a document. With ids: ours, TRL's, both fills, and the bound."""
    source = documents(DOCUMENTS)
    size = SEQ_LEN + 1
    lengths = whole_documents(source)["length"].clip(upper=size).to_numpy()
    times: dict[str, list[float]] = {"place": [], "ours": [], "trl": []}
    peer = {}
    with tempfile.TemporaryDirectory() as folder:
        edges = np.append(0, source.spans["stop"])
        np.save(f"{folder}/ids.npy", source.ids)
        np.save(f"{folder}/edges.npy", edges)
        for _ in range(ROUNDS):
            times["place"].append(_seconds(lambda: place(lengths, size)))
            times["ours"].append(_seconds(lambda: pack(source, SEQ_LEN, 0)))
            if told := _peer(TRL, folder, str(size)):
                seconds, rows, tokens, peer["trl_version"] = told
                times["trl"].append(seconds)
                peer |= {"trl_rows": rows, "trl_fill": tokens / (rows * size)}
                if tokens != len(source):
                    raise ValueError(f"TRL kept {tokens:,} of {len(source):,} tokens")
    packed, tokens = pack(source, SEQ_LEN, 0), count_tokens(source)
    least = least_rows(tokens, SEQ_LEN)
    figures = {
        "documents": DOCUMENTS,
        "tokens": tokens,
        "place_seconds": statistics.median(times["place"]),
        "place_bytes_a_document": _peak(lambda: place(lengths, size)) / len(lengths),
        "ours_seconds": statistics.median(times["ours"]),
        "ours_rows": len(packed) // size,
        "ours_fill": fill(packed),
        "bound_rows": least,
        "bound_fill": tokens / (least * size),
    }
    if not peer:
        return figures | {"peers": "none: PEERS names no Python with benchmarks/requirements.txt"}
    figures |= {"trl_seconds": statistics.median(times["trl"])} | peer
    figures |= {"ratio": figures["trl_seconds"] / figures["ours_seconds"]}
    return figures | {f"opened_{kind}": _opened(kind) for kind in ("continuous", "isolated")}


def _opened(boundaries: str) -> bool:
    """Whether `datasets` gives the rows that were exported, and TRL's collator our loss mask."""
    packed = pack(documents(EXPORTED), SEQ_LEN, 0)
    windows = sliding_windows(len(packed), SEQ_LEN, SEQ_LEN + 1)
    mask = loss_mask(windows, segment_ids(packed.spans, len(packed)), boundaries)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        export_rows(packed, SEQ_LEN, boundaries, path)
        told = _peer(OPEN, str(path))
        ours = pd.read_parquet(path)
    rows = {name: [cell.tolist() for cell in ours[name]] for name in ours}
    targets = np.where(mask, packed.ids.reshape(-1, SEQ_LEN + 1)[:, 1:], -100)
    return (
        told["rows"] == rows
        and told["targets"] == targets.tolist()
        and told["positions"] == [place for row in rows["position_ids"] for place in row]
    )


def _peer(program: str, *arguments: str) -> Any:
    """What the program prints as JSON in the Python of the peers; None if there is none."""
    if not (python := os.environ.get("PEERS")):
        return None
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    command = [python, "-c", program, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"PEERS={python}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _seconds(run: Any) -> float:
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def _peak(run: Any) -> int:
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak

"""Packing with TRL, and an exported file opened by `datasets`."""

import tempfile
import time
from importlib.metadata import version

import numpy as np


def trl_packs(folder: str, size: int) -> list:
    """Seconds, rows, the tokens in them, TRL's version."""
    import pyarrow as pa
    from datasets import Dataset, disable_progress_bars
    from trl import pack_dataset

    disable_progress_bars()
    ids, edges = np.load(folder + "/ids.npy"), np.load(folder + "/edges.npy")
    column = pa.LargeListArray.from_arrays(pa.array(edges), pa.array(ids))
    data = Dataset(pa.table({"input_ids": column}))
    begun = time.perf_counter()
    rows = pack_dataset(data, size, strategy="bfd_split")
    seconds = time.perf_counter() - begun
    tokens = sum(len(part.values) for part in rows.data.table.column("input_ids").chunks)
    return [seconds, len(rows), tokens, version("trl")]


def opened(path: str) -> dict:
    """The rows of a Parquet file, and what TRL's own collator makes of them."""
    from datasets import Dataset, disable_progress_bars
    from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

    disable_progress_bars()
    rows = Dataset.from_parquet(path, cache_dir=tempfile.mkdtemp())
    collate = DataCollatorForLanguageModeling(pad_token_id=0, padding_free=True)
    batch = collate([rows[i] for i in range(len(rows))])
    shifted = batch["labels"].view(len(rows), -1)[:, 1:]
    return {
        "rows": rows.to_dict(),
        "targets": shifted.tolist(),
        "positions": batch["position_ids"][0].tolist(),
    }

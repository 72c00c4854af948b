"""Whole runs of `python train.py`."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import row
from benchmarks.record import ROOT

RUN = (
    *("attention.py", "config.py", "corpus.py", "data.py", "loop.py", "model.py", "optim.py"),
    *("readers.py", "scoring.py", "stream.py", "tokenizer.py", "train.py", "training.py"),
    "windows.py",
)


def trained(*flags: str) -> dict[str, Any]:
    """A whole run of `python train.py`: its seconds, and what it left."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        corpus = f"--corpus-path={ROOT / 'data' / 'corpus.csv'}"
        command = [sys.executable, ROOT / "train.py", corpus, *flags]
        subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True)
        seconds = time.perf_counter() - begun
        left = Path(folder, "runs", "001")
        receipt = json.loads((left / "receipt.json").read_text(encoding="utf-8"))
        words = (left / "sample.txt").read_text(encoding="utf-8").splitlines()[-1]
    return {
        "seconds": seconds,
        "bits_per_byte": receipt["bits_per_byte"],
        "known_words_percent": float(words.split("has ")[1].split("%")[0]),
    }


@row(*RUN, threads=None)
def default_run() -> dict[str, Any]:
    """`python train.py`, imports included: seconds, bits per byte, and the words of its samples."""
    return trained()


@row(*RUN, threads=None)
def seed_settings() -> dict[str, Any]:
    """The windows of seed 001 (16, 1, 16) for at least the time of a default run."""
    return trained("--seq-len=16", "--stride=1", "--batch-size=16", "--steps=3200")

"""Importing the pipeline."""

import json
import statistics
import subprocess
import sys
from typing import Any

from benchmarks.measure import row
from benchmarks.record import ROOT

_IMPORT = (
    "import json, sys, time\nbegun = time.perf_counter()\nimport data\n"
    "print(json.dumps([time.perf_counter() - begun, 'torch' in sys.modules]))"
)


@row("corpus.py", "data.py", "files.py", "readers.py", "sides.py", "tokenizer.py", "windows.py")
def importing(rounds: int = 5) -> dict[str, Any]:
    """`import data` in an interpreter that has imported nothing else."""
    command = [sys.executable, "-c", _IMPORT]
    told = [subprocess.check_output(command, cwd=ROOT, text=True) for _ in range(rounds)]
    runs = [json.loads(text.splitlines()[-1]) for text in told]
    return {
        "seconds": statistics.median(s for s, _ in runs),
        "loads_torch": any(t for _, t in runs),
    }

"""How a row is registered and measured: contenders in turn, processes of their own, and peers.

A row is a function that gives figures. Its sizes are arguments with defaults, so that a test can
call it tiny. Peers that are not in the product's environment run in the Pythons that the
environment variable PEERS names (`benchmarks/requirements.txt`).
"""

import importlib
import json
import os
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.record import ROOT

_RUN = (
    "import importlib, json, sys\nmodule, name, arguments = sys.argv[1:]\n"
    "run = getattr(importlib.import_module(module), name)\n"
    "print(json.dumps(run(*json.loads(arguments))))"
)


class Row(NamedTuple):
    """A row: the files that it speaks of, what measures it, and how many threads it may use."""

    sources: list[str]
    measure: Callable[..., dict[str, Any] | None]
    threads: int | None


ROWS: dict[str, Row] = {}


def row(*sources: str, threads: int | None = 1):
    """Register a row and the files that it speaks of; its own is one of them."""

    def register(function):
        own = Path(function.__code__.co_filename).relative_to(ROOT).as_posix()
        ROWS[function.__name__] = Row(sorted({own, *sources}), function, threads)
        return function

    return register


def in_turn(repeats: int, **contenders: Callable[[], Any]) -> dict[str, float]:
    """Median seconds of each contender, run in turn so that a busy machine hits them alike.

    Each turn begins with another one, for the first finds the cache as others left it.
    """
    times: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for turn in range(repeats):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            times[name].append(seconds(contenders[name]))
    return {name: statistics.median(values) for name, values in times.items()}


def seconds(run: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def peak(run: Callable[[], Any]) -> int:
    """The most bytes that Python and NumPy held at once for it."""
    tracemalloc.start()
    run()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


# ---- processes of their own


def fresh(function: Callable[..., Any], *arguments: Any, **environment: str) -> Any:
    """What a function of a module gives in a fresh interpreter."""
    return _run(sys.executable, function.__module__, function.__name__, arguments, environment)


def costs(make: Callable[..., Callable[[], Any]], *arguments: Any) -> dict[str, float]:
    """Seconds and peak bytes, in a fresh interpreter, of what `make(*arguments)` gives to be run.

    The bytes are those of the whole process beyond what it held before, as Linux tells them.
    """
    return fresh(_costs, make.__module__, make.__name__, arguments)


def _costs(module: str, name: str, arguments: list[Any]) -> dict[str, float]:
    run = getattr(importlib.import_module(module), name)(*arguments)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    before = _status("VmRSS")
    begun = time.perf_counter()
    gave = run()
    took = time.perf_counter() - begun
    size = len(gave) if hasattr(gave, "__len__") else 0
    return {"seconds": took, "bytes": max(0, _status("VmHWM") - before), "size": size}


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(name)).split()[1])


def peer(module: str, name: str, *arguments: Any) -> Any:
    """What a function of `benchmarks.peers` gives in the first of PEERS that has what it imports.

    None if none has.
    """
    for python in filter(None, os.environ.get("PEERS", "").split(os.pathsep)):
        try:
            return _run(python, f"benchmarks.peers.{module}", name, arguments, {})
        except RuntimeError as error:
            if "ModuleNotFoundError" not in str(error):
                raise
    return None


def _run(python: str, module: str, name: str, arguments: Any, environment: dict[str, str]) -> Any:
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    done = subprocess.run(
        [python, "-c", _RUN, module, name, json.dumps(arguments)],
        cwd=ROOT,
        env=os.environ | offline | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{python}: {module}.{name}: {done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


# ---- lines of the table


def line(
    what: str,
    ours: float,
    *,
    unit: str = "s",
    same: dict[str, float | None] | None = None,
    less: dict[str, float | None] | None = None,
    limit: float | None = None,
    bound: str = "",
    why: str = "",
) -> dict[str, Any]:
    """A line of the table: ours, those that do the `same` work with the same guarantees, and less.

    The smaller the better, in each unit: `s`, `bytes`, `bits`. `limit` is what the machine could
    do at best, and `bound` says what that is. `why` is told where ours falls short.
    """
    known = ({name: v for name, v in (group or {}).items() if v} for group in (same, less))
    return dict(
        zip(
            ("what", "unit", "ours", "same", "less", "limit", "bound", "why"),
            (what, unit, ours, *known, limit, bound, why),
            strict=True,
        )
    )


def flops_per_second(size: int = 768, repeats: int = 15) -> float:
    """What a product of two float32 matrices reaches here, with the threads that torch has."""
    import torch

    a, b = torch.randn(size, size), torch.randn(size, size)
    return 2 * size**3 / in_turn(repeats, product=lambda: a @ b)["product"]


def stories(megabytes: float) -> str:
    """The stories of the project, repeated or cut to about that size."""
    from data import load_corpus

    text = str(load_corpus(ROOT / "data" / "corpus.csv"))
    size = len(text.encode())
    return (text * max(1, round(megabytes * 1e6 / size)))[: round(megabytes * 1e6)]

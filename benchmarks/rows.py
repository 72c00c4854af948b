"""One function a row: ours and its peer in turn in one run, medians, and their ratio."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.record import ROOT

ROWS: dict[str, tuple[list[str], Callable[..., dict[str, Any]]]] = {}


def row(*sources: str):
    """Register a row and the files that it speaks of."""

    def register(function):
        ROWS[function.__name__] = (list(sources), function)
        return function

    return register


def in_turn(repeats: int, **contenders: Callable[[], Any]) -> dict[str, float]:
    """Median seconds of each contender, run in turn so that a busy machine hits them alike."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, run in contenders.items():
            begun = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - begun)
    return {name: statistics.median(values) for name, values in times.items()}


def python(program: str, **environment: str) -> dict[str, Any]:
    """What a program in a fresh interpreter prints as JSON in its last line."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def stories(megabytes: float) -> str:
    from data import load_corpus

    text = str(load_corpus(ROOT / "data" / "corpus.csv"))
    return text * round(megabytes * 1e6 / len(text.encode()))


@row("data.py", "corpus.py", "readers.py", "tokenizer.py", "windows.py", "files.py")
def importing() -> dict[str, Any]:
    """`import data` in a fresh interpreter."""
    program = (
        "import json, sys, time\nbegun = time.perf_counter()\nimport data\n"
        "print(json.dumps([time.perf_counter() - begun, 'torch' in sys.modules]))"
    )
    runs = [python(program) for _ in range(5)]
    return {
        "seconds": statistics.median(s for s, _ in runs),
        "loads_torch": any(t for _, t in runs),
    }


@row("corpus.py", "readers.py")
def reading() -> dict[str, Any]:
    """A CSV of about 100 MB: ours, strict, beside pandas' C engine, which checks little."""
    from corpus import load_documents

    frame = pd.read_csv(ROOT / "data" / "corpus.csv")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.csv")
        pd.concat([frame] * 180).to_csv(path, index=False)
        times = in_turn(
            3,
            ours=lambda: load_documents(path),
            pandas=lambda: pd.read_csv(path, usecols=["text"], dtype="str"),
        )
        size = path.stat().st_size / 1e6
    return {"megabytes": size, **times, "ratio": times["pandas"] / times["ours"]}


@row("tokenizer.py", "data.py")
def encoding() -> dict[str, Any]:
    """50 MB of text to ids: ours beside a bare `encode_ordinary`, and the memory of each."""
    program = (
        "import json, time\nfrom benchmarks.rows import stories\n"
        "from data import build_tokenizer, encode_corpus\n"
        "text = stories(50)\ntok = build_tokenizer(text[:1_000_000], 1024)\n"
        "def peak():\n"
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    return 1024 * int(next(x for x in lines if x.startswith('VmHWM')).split()[1])\n"
        "before = peak()\n"
        "begun = time.perf_counter()\nids = {encode}\nseconds = time.perf_counter() - begun\n"
        "print(json.dumps([seconds, (peak() - before) / len(ids), len(text) / 1e6]))"
    )
    ways = {"ours": "encode_corpus(text, tok)", "tiktoken": "tok._engine.encode_ordinary(text)"}
    runs = {name: [] for name in ways}
    for _ in range(3):
        for name, way in ways.items():
            runs[name].append(python(program.replace("{encode}", way)))
    figures = {}
    for name, results in runs.items():
        seconds, memory, megabytes = (
            statistics.median(values) for values in zip(*results, strict=True)
        )
        figures |= {f"{name}_mb_per_second": megabytes / seconds, f"{name}_bytes_per_token": memory}
    ratio = figures["ours_mb_per_second"] / figures["tiktoken_mb_per_second"]
    return {**figures, "ratio": ratio}


@row("data.py", "windows.py")
def windows() -> dict[str, Any]:
    """Windows of 256 over ten million ids, beside plain indexing over a hundred thousand."""
    from data import make_windows

    ids, few = np.zeros(10_000_000, dtype=np.int64), np.zeros(100_000, dtype=np.int64)

    def indexing():
        rows = np.arange(len(few) - 256)[:, None] + np.arange(256)
        return pd.DataFrame(few[rows]), pd.DataFrame(few[rows + 1])

    times = in_turn(5, ours=lambda: make_windows(ids, 256), indexing=indexing)
    tracemalloc.start()
    make_windows(ids, 256)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    indexed_bytes = 2 * (10_000_000 - 256) * 256 * 8
    return {
        "ours_seconds": times["ours"],
        "ours_megabytes": peak / 1e6,
        "indexing_seconds_at_a_hundredth": times["indexing"],
        "indexing_gigabytes": indexed_bytes / 1e9,
    }


@row("data.py", "windows.py")
def order() -> dict[str, Any]:
    """The order of ten million windows: a frame without columns, `rng.choice`, the whole frame."""
    from data import iterate_batches, make_windows

    inputs, targets = make_windows(np.zeros(10_000_016, dtype=np.int64), 16)
    times = in_turn(
        3,
        ours=lambda: iterate_batches(inputs, targets, 32, np.random.default_rng(0)),
        choice=lambda: np.random.default_rng(0).choice(len(inputs), len(inputs), replace=False),
    )
    whole = in_turn(1, frame=lambda: inputs.sample(frac=1, random_state=np.random.default_rng(0)))
    return times | whole | {"ratio": times["choice"] / times["ours"]}


@row("data.py", "windows.py")
def batch() -> dict[str, Any]:
    """A batch of (32, 256), in microseconds: from our frames, from the bare view, by `.loc`."""
    from data import iterate_batches, make_windows

    inputs, targets = make_windows(np.random.default_rng(0).integers(0, 1000, 1_000_000), 256)
    x, y = inputs.to_numpy(), targets.to_numpy()
    rng = np.random.default_rng(1)
    feed = iterate_batches(inputs, targets, 32, rng)

    def fresh():  # rows that no cache has seen, as in an epoch
        return rng.integers(0, len(x), (300, 32))

    def ours():
        for _ in range(300):
            next(feed)

    def gather():
        for rows in fresh():
            x[rows], y[rows]

    def loc():
        for rows in fresh():
            inputs.loc[rows].to_numpy(), targets.loc[rows].to_numpy()

    times = in_turn(9, ours=ours, gather=gather, loc=loc)
    figures = {name: seconds / 300 * 1e6 for name, seconds in times.items()}
    return figures | {"ratio": figures["gather"] / figures["ours"]}


@row("benchmarks/batches.py", "batches.py", "loaders.py", "windows.py")
def batches() -> dict[str, Any]:
    """Random windows by step and by loader, from memory and a mapped file, beside their peers."""
    return alone("batches")


@row("benchmarks/batches.py", "batches.py", "data.py", "windows.py")
def resume_cost() -> dict[str, Any]:
    """What going on at step 1,000,000 costs, and in the middle of an epoch."""
    return alone("resume_cost")


MODEL = (
    *("attention.py", "benchmarks/evaluation.py", "config.py", "model.py", "scoring.py"),
    "windows.py",
)


@row(*MODEL, "data.py", "optim.py", "stream.py", "tokenizer.py", "training.py")
def strides() -> dict[str, Any]:
    """One model, trained for a short time, scored at strides T, T/2, T/4 and 1."""
    return alone("strides", "evaluation")


@row(*MODEL)
def strided_evaluation() -> dict[str, Any]:
    """Milliseconds a window of an evaluation: ours, with whole logits, one window at a time."""
    return alone("strided_evaluation", "evaluation")


LEAKS = (
    *("attention.py", "benchmarks/leaks.py", "config.py", "corpus.py", "data.py", "model.py"),
    *("optim.py", "readers.py", "scoring.py", "sides.py", "stream.py", "tokenizer.py"),
    *("training.py", "windows.py"),
)


@row(*LEAKS)
def leaks() -> dict[str, Any]:
    """Bits per byte of one model with its text cut and with its documents divided."""
    return alone("leaks", "leaks")


@row("benchmarks/packing.py", "export.py", "packing.py", "stream.py", "windows.py")
def packing() -> dict[str, Any]:
    """A million documents placed and laid out, beside TRL's `bfd_split` where PEERS names it."""
    return alone("packing", "packing")


@row("benchmarks/lineage.py", "ledger.py", "lineage.py", "stream.py", "windows.py")
def lineage() -> dict[str, Any]:
    """217,444 windows joined with their documents, and the ledger of a million tokens."""
    return alone("lineage", "lineage")


@row(
    *("attention.py", "benchmarks/isolation.py", "config.py", "data.py", "model.py", "optim.py"),
    *("scoring.py", "stream.py", "training.py", "windows.py"),
)
def isolated() -> dict[str, Any]:
    """Whole training steps that keep documents apart, beside continuous ones on the same rows."""
    return alone("isolated", "isolation")


@row(
    *("benchmarks/policies.py", "attention.py", "batches.py", "config.py", "corpus.py", "data.py"),
    *("feed.py", "ledger.py", "model.py", "optim.py", "packing.py", "readers.py", "scoring.py"),
    *("sides.py", "stream.py", "tokenizer.py", "train.py", "training.py", "windows.py"),
)
def policies() -> dict[str, Any]:
    """Each way to lay documents out: fill, dropped, masked, speed, bits per byte in equal time."""
    return alone("policies", "policies")


def alone(function: str, module: str = "batches") -> dict[str, Any]:
    """A row of `benchmarks/batches.py` or its like, in a process with one thread."""
    program = f"import json\nfrom benchmarks.{module} import {function} as row\n"
    return python(program + "print(json.dumps(row()))", OMP_NUM_THREADS="1")


TRAINER = (
    "import json, time, torch\nfrom config import Config\nfrom data import *\nimport train\n"
    "from model import GPT\nfrom training import Trainer\n"
    "config = Config()\ntorch.set_num_threads(THREADS)\n"
    "text = load_corpus(config.corpus_path)\ntok = build_tokenizer(text, config.num_merges)\n"
    "ids = encode_corpus(text, tok)\n"
    "inputs, targets = make_windows(split_ids(ids, 0.1)[0], config.seq_len, config.stride)\n"
    "model = GPT(tok.vocab_size, config.n_layer, config.n_head, config.d_model)\n"
    "trainer = Trainer(model, 1000, 32 * 64, lr=config.lr, warmup=config.warmup)\n"
    "feed = train.epochs(config, inputs, targets)\n"
)


@row("attention.py", "data.py", "train.py", "training.py", "model.py", "optim.py", "config.py")
def batch_share() -> dict[str, Any]:
    """The part of a default training step that its batch takes, inside the training loop."""
    program = TRAINER.replace("THREADS", "1") + (
        "fed = stepped = 0.0\n"
        "for k in range(45):\n"
        "    a = time.perf_counter(); xb, yb = next(feed)\n"
        "    b = time.perf_counter(); trainer.train_on(xb, yb)\n"
        "    c = time.perf_counter()\n"
        "    if k >= 5: fed, stepped = fed + b - a, stepped + c - b\n"
        "print(json.dumps([fed / 40, stepped / 40]))"
    )
    fed, stepped = python(program)
    return {"batch_ms": fed * 1e3, "step_ms": stepped * 1e3, "share": fed / (fed + stepped)}


@row("attention.py", "train.py", "training.py", "model.py", "optim.py", "config.py")
def threads() -> dict[str, Any]:
    """Milliseconds of a default step with one and two threads, alone and beside a busy process."""
    program = TRAINER + (
        "times = []\n"
        "for k in range(14):\n"
        "    xb, yb = next(feed); a = time.perf_counter(); trainer.train_on(xb, yb)\n"
        "    times.append(time.perf_counter() - a)\n"
        "print(json.dumps(sorted(times[4:])[5] * 1e3))"
    )

    def both() -> list[float]:
        return [python(program.replace("THREADS", n)) for n in "12"]

    quiet = both()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as neighbour:
        busy = both()
        neighbour.kill()
    return {"one": quiet[0], "two": quiet[1], "one_busy": busy[0], "two_busy": busy[1]}


@row("attention.py", "optim.py", "model.py", "config.py")
def muon() -> dict[str, Any]:
    """Milliseconds of a Muon step: ours and torch's, with bfloat16 in the processor and without."""
    program = (
        "import json, torch\nfrom benchmarks.rows import in_turn\nfrom model import GPT\n"
        "from optim import Muon\nfrom config import Config\ntorch.set_num_threads(1)\n"
        "c = Config(); model = GPT(1281, c.n_layer, c.n_head, c.d_model)\n"
        "for p in model.parameters(): p.grad = torch.randn_like(p)\n"
        "ours, theirs = Muon(model.matrices(), 0.02), "
        "torch.optim.Muon(model.matrices(), 0.02, ns_steps=3)\n"
        "times = in_turn(9, ours=ours.step, torch=theirs.step)\n"
        "print(json.dumps({name: s * 1e3 for name, s in times.items()}))"
    )
    usual, without = python(program), python(program, ONEDNN_MAX_CPU_ISA="AVX2")
    return {
        "ours": usual["ours"],
        "torch": usual["torch"],
        "ours_avx2": without["ours"],
        "torch_avx2": without["torch"],
    }


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


@row(*RUN)
def default_run() -> dict[str, Any]:
    """`python train.py`, imports included: seconds, bits per byte, and the words of its samples."""
    return trained()


@row(*RUN)
def seed_settings() -> dict[str, Any]:
    """The windows of seed 001 (16, 1, 16) for at least the time of a default run."""
    return trained("--seq-len=16", "--stride=1", "--batch-size=16", "--steps=3200")


@row(
    *("attention.py", "benchmarks/nanogpt.py", "benchmarks/shakespeare.py"),
    *("model.py", "optim.py", "scoring.py", "training.py"),
)
def shakespeare(text: str | None = None) -> dict[str, Any] | None:
    """Bits per byte at equal wall time beside nanoGPT's CPU recipe; needs --text FILE."""
    from benchmarks.shakespeare import measure

    return None if text is None else measure(Path(text))

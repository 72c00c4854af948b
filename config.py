"""Every setting of a run, and the command line made from it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import tyro

DEFAULT_EPOCHS = 3


@dataclass(frozen=True)
class Config:
    """Train a small language model on one column of a file, or on the stories that come with it."""

    corpus_path: str = "data/corpus.csv"
    """File to train on: .csv, .jsonl or .parquet with a document a row, or .txt, one document."""
    corpus_column: str = "text"
    """Column, or JSON key, that holds the text."""
    encoding: str = "utf-8"
    """Text encoding of the file, such as utf-8, utf-16 or cp1252. A byte order mark is dropped."""
    max_rows: int | None = 2000
    """Rows to read at most, before blank ones are dropped; None reads all."""
    num_merges: int = 1024
    """Merges to learn; the vocabulary is 256 bytes, the merges and an end-of-text."""
    val_fraction: float = 0.1
    """Part of the ids, cut off at the end, that is kept for validation (ρ)."""

    seq_len: int = 64
    """Targets in one window (T)."""
    stride: int = 32
    """Ids from one window's start to the next (k)."""
    batch_size: int = 32
    """Windows in one batch (B)."""
    shuffle: Literal["pandas", "none"] = "pandas"
    """Order of the windows in an epoch: pandas' for the seed --seed + epoch, or as in the text."""
    epochs: int | None = None
    """Times that each window is seen. Unless --steps is given: 3."""
    steps: int | None = None
    """Training steps, instead of --epochs."""

    n_layer: int = 3
    """Layers of the model."""
    n_head: int = 4
    """Attention heads of each layer."""
    d_model: int = 128
    """Width of the model; a multiple of twice --n-head."""
    lr: float = 0.03
    """Highest learning rate of the matrices (Muon); the embedding takes 10 times, the head 0.15."""
    warmup: int = 20
    """Steps over which the learning rate rises; afterwards it falls in a line to 0."""
    weight_decay: float = 0.0
    """Part of each weight but the embedding's, times the learning rate, that a step takes away."""
    clip: float = 1.0
    """Largest norm of the gradient; longer ones are scaled down to it."""

    eval_stride: int | None = None
    """Ids from one validation window's start to the next. None: half of --seq-len."""
    eval_every: int = 100
    """Steps from one validation to the next."""
    seed: int = 42
    """Seed of the weights, of the order of the windows and of the samples."""
    threads: int = 1
    """CPU threads. More are faster on a quiet machine, far slower on a busy one."""
    device: str = "auto"
    """Where to train: cpu, cuda, mps; auto takes the first there is of cuda, mps, cpu."""
    amp: bool = False
    """Compute in bfloat16 where that is safe."""
    compile: bool = False
    """Compile the model first: slow to start, faster to run; needs a C++ compiler."""

    name: str | None = None
    """Name of the run's folder under runs/. None: the next free number."""
    plan: bool = False
    """Show what would be done, and stop before training."""

    @property
    def n_epochs(self) -> int:
        """Epochs to train for, if it is not steps that count."""
        return self.epochs or DEFAULT_EPOCHS

    @property
    def val_stride(self) -> int:
        """Ids from one validation window's start to the next."""
        return self.eval_stride or max(1, self.seq_len // 2)

    def check(self) -> None:
        """Refuse, before any work, a value or a combination that cannot work."""
        for name in (
            "seq_len",
            "stride",
            "batch_size",
            "n_layer",
            "n_head",
            "d_model",
            "eval_every",
            "threads",
        ):
            _need(
                getattr(self, name) >= 1,
                f"{_flag(name)} must be at least 1, got {getattr(self, name)}",
            )
        for name in ("max_rows", "epochs", "steps"):
            value = getattr(self, name)
            _need(value is None or value >= 1, f"{_flag(name)} must be at least 1, got {value}")
        for name in ("num_merges", "warmup", "seed"):
            _need(
                getattr(self, name) >= 0,
                f"{_flag(name)} must be 0 or more, got {getattr(self, name)}",
            )
        for name in ("lr", "clip"):
            value = getattr(self, name)
            _need(0 < value < math.inf, f"{_flag(name)} must be a number above 0, got {value}")
        _need(
            0 <= self.weight_decay < math.inf,
            f"--weight-decay must be 0 or more, got {self.weight_decay}",
        )
        _need(
            0 < self.val_fraction < 1,
            f"--val-fraction must be above 0 and below 1, got {self.val_fraction}",
        )
        _need(
            self.epochs is None or self.steps is None,
            "--epochs and --steps both set the length of the run; give one of them",
        )
        _need(
            self.d_model % (2 * self.n_head) == 0,
            f"--d-model needs a multiple of twice --n-head, {2 * self.n_head}; got {self.d_model}",
        )
        _need(
            self.eval_stride is None or 1 <= self.eval_stride <= self.seq_len,
            f"--eval-stride must be from 1 to --seq-len, {self.seq_len}, to score every target; "
            f"got {self.eval_stride}",
        )
        _need(
            self.name is None
            or (self.name not in ("", ".", "..") and not set(self.name) & set('/\\:*?"<>|\0')),
            f"--name must be a plain folder name, got {self.name!r}",
        )


def parse(args: Sequence[str] | None = None) -> Config:
    """The settings of a command line, `sys.argv` if None; a misspelt one exits with 2."""
    return tyro.cli(Config, args=args, prog="python train.py")


def _need(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


def _flag(field: str) -> str:
    return "--" + field.replace("_", "-")

"""Every setting of a run, and the command line made from it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

import tyro

DEFAULT_EPOCHS = 3
# On --resume: what feeds a run is not touched by these; the corpus is held to its digest.
MAY_CHANGE = {"corpus_path", "tokens", "eval_stride", "eval_every", "threads", "device", "resume"}
MAY_CHANGE |= {"plan", "show_rows", "explain", "html"}
# What `prepare.py` has settled for the streams of --tokens.
_PREPARED = ("corpus_path", "corpus_column", "encoding", "max_rows", "num_merges")
_PREPARED += ("val_fraction", "test_fraction", "group_column")
_FLOAT = 1e38  # float32 holds little more
_MOST = {"threads": 1024, "seed": 2**63 - 1}


@dataclass(frozen=True)
class Config:
    """Train a small language model on one column of a file, or on the stories that come with it."""

    corpus_path: str = "data/corpus.csv"
    """File to train on: .csv, .jsonl or .parquet with a document a row, or .txt, one document."""
    corpus_column: str = "text"
    """Column, or JSON key, that holds the text."""
    encoding: str = "utf-8"
    """Text encoding of the file, such as utf-8, utf-16 or cp1252. A byte order mark is dropped."""
    tokens: str | None = None
    """Folder that prepare.py made: train on its streams instead of a file."""
    max_rows: int | None = 2000
    """Rows to read at most, before blank ones are dropped; None reads all."""
    num_merges: int = 1024
    """Merges to learn; the vocabulary is 256 bytes, the merges and an end-of-text."""
    split: Literal["ids", "documents"] = "ids"
    """Cut the stream of ids once, or divide the documents before anything is fitted to them."""
    val_fraction: float = 0.1
    """Part that is kept for validation (ρ): of the ids, at the end; or of the documents."""
    test_fraction: float = 0.0
    """Part of the documents that is scored once, when training is over."""
    group_column: str | None = None
    """Column that says which documents stay on one side. None: those with the same text."""

    layout: Literal["text", "eot", "packed"] = "text"
    """The stream: a newline after each document, an end-of-text, or rows of --seq-len + 1 ids."""
    boundaries: Literal["continuous", "isolated"] = "continuous"
    """Whether a document may look at those before it, or is kept apart."""
    packing: Literal["best-fit", "sequential"] = "best-fit"
    """Rows: with as little padding as can be, or in the order of the documents."""
    long_doc: Literal["fragment", "truncate", "drop"] = "fragment"
    """A document longer than a row: cut into pieces, cut off, or left out."""
    tail: Literal["pad", "drop"] = "pad"
    """The last row of sequential packing, if it is not full: padded, or left out."""
    seq_len: int = 64
    """Targets in one window (T)."""
    stride: int = 32
    """Ids from one window's start to the next (k)."""
    batch_size: int = 32
    """Windows in one batch (B)."""
    sampling: Literal["epoch", "random"] = "epoch"
    """Each window once an epoch, or windows from anywhere, drawn by the number of the step."""
    shuffle: Literal["pandas", "bijection", "none"] = "pandas"
    """Order of the windows in an epoch: pandas' for --seed + epoch; computed, so that no list of
    them is kept; or as in the text."""
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
    resume: str | None = None
    """Go on with a stopped run: its folder, such as runs/001, or last. Settings are the run's."""
    plan: bool = False
    """Show what would be done, and stop before training."""
    show_rows: int | None = None
    """Show so many training windows in colour, with what counts in them, and stop."""
    explain: int | None = None
    """Show where each token of this training window came from, and stop."""
    html: str | None = None
    """File to write what --explain shows to, as a page."""

    @property
    def n_epochs(self) -> int:
        """Epochs to train for, if it is not steps that count."""
        return self.epochs or DEFAULT_EPOCHS

    @property
    def window_stride(self) -> int:
        """Ids from one training window's start to the next: in packed rows, a row."""
        return self.seq_len + 1 if self.layout == "packed" else self.stride

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
        for name in ("max_rows", "epochs", "steps", "show_rows"):
            value = getattr(self, name)
            _need(value is None or value >= 1, f"{_flag(name)} must be at least 1, got {value}")
        for name in ("num_merges", "warmup", "seed"):
            _need(
                getattr(self, name) >= 0,
                f"{_flag(name)} must be 0 or more, got {getattr(self, name)}",
            )
        for field in fields(self):  # no run is so large, and libraries cannot count so far
            value, most = getattr(self, field.name), _MOST.get(field.name, 2**31 - 1)
            _need(
                not isinstance(value, int) or value <= most,
                f"{_flag(field.name)} must be at most {most:,}, got {value!s:.40}",
            )
        for name in ("lr", "clip"):
            value = getattr(self, name)
            _need(
                0 < value <= _FLOAT,
                f"{_flag(name)} must be a number above 0, got {value}; {_FLOAT:g} at most",
            )
        _need(
            0 <= self.weight_decay <= _FLOAT,
            f"--weight-decay must be 0 or more, got {self.weight_decay}; {_FLOAT:g} at most",
        )
        _need(
            0 < self.val_fraction < 1,
            f"--val-fraction must be above 0 and below 1, got {self.val_fraction}",
        )
        self._check_documents()
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
            self.sampling == "epoch" or self.shuffle == Config.shuffle,
            f"--shuffle {self.shuffle} is an order of an epoch; --sampling random draws by the "
            "step, without",
        )
        _need(
            re.fullmatch(r"[a-z]+(:\d{1,3})?", self.device),
            f"--device must be such as auto, cpu, cuda or cuda:1, got {self.device!r:.40}",
        )
        _need(
            self.name is None
            or (
                self.name not in ("", ".", "..")
                and self.name.isprintable()  # a newline is not, nor half a surrogate pair
                and not set(self.name) & set('/\\:*?"<>|')
            ),
            f"--name must be a plain folder name, got {self.name!r}",
        )

    def _check_documents(self) -> None:
        """Refuse what does not go together in splitting, laying out and packing documents."""
        packed, defaults = self.layout == "packed", Config
        _need(
            self.test_fraction >= 0 and self.val_fraction + self.test_fraction < 1,
            "--val-fraction and --test-fraction must leave something to train on, got "
            f"{self.val_fraction} and {self.test_fraction}",
        )
        for name in ("test_fraction", "group_column"):
            _need(
                getattr(self, name) == getattr(defaults, name) or self.split == "documents",
                f"{_flag(name)} divides documents, so it needs --split documents",
            )
        for name in _PREPARED:
            _need(
                getattr(self, name) == getattr(defaults, name) or self.tokens is None,
                f"{_flag(name)} was settled when the streams of --tokens were prepared; leave it "
                "out, or prepare them again with it",
            )
        for name in ("packing", "long_doc", "tail"):
            _need(
                getattr(self, name) == getattr(defaults, name) or packed,
                f"{_flag(name)} says how rows are packed, so it needs --layout packed",
            )
        _need(
            self.boundaries == "continuous" or self.layout != "text",
            "--boundaries isolated needs --layout eot or packed: in one text, tokens may be of "
            "two documents",
        )
        _need(
            not packed or self.split == "documents",
            "--layout packed needs --split documents, for a cut through rows would mix the sides",
        )
        _need(
            not packed or self.sampling == "epoch",
            "--layout packed has rows to take in epochs; --sampling random would begin inside them",
        )
        _need(
            not packed or self.stride == defaults.stride,
            "--layout packed moves on by its rows, --seq-len + 1 ids; leave --stride out",
        )
        _need(
            self.tail == "pad" or self.packing == "sequential",
            "--tail drop needs --packing sequential: best fit leaves no row at the end",
        )
        _need(self.html is None or self.explain is not None, "--html is a page of --explain W")
        _need(
            self.explain is None or self.explain >= 0,
            f"--explain must be 0 or more, got {self.explain}",
        )


def parse(args: Sequence[str] | None = None, default: Config | None = None) -> Config:
    """The settings of a command line, `sys.argv` if None; a misspelt one exits with 2.

    What is not given is taken from `default`. Prepared streams are of divided documents, with an
    end-of-text after each.
    """
    config = tyro.cli(Config, args=args, default=default, prog="python train.py")
    if config.tokens is None:
        return config
    layout = "packed" if config.layout == "packed" else "eot"
    return replace(config, split="documents", layout=layout)


def read_settings(written: dict[str, Any], where: str) -> Config:
    """The settings in the `config.json` of a run, each with its type looked at."""
    hints = get_type_hints(Config)
    for name, value in written.items():
        if name not in hints:
            raise ValueError(f"{where} has {name!r:.80}, a setting that is not known here")
        choices = get_args(hints[name]) if get_origin(hints[name]) is Literal else ()
        fits = value in choices if choices else isinstance(value, hints[name])
        if not fits or (isinstance(value, bool) and hints[name] is not bool):  # True is an int
            raise ValueError(f"{where} has {value!r:.40} for {name!r}, which cannot be")
    return Config(**written)


def check_unchanged(now: Config, before: Config) -> None:
    """Refuse to go on with a run under settings that would make it another run."""
    for field in fields(Config):
        was, wanted = getattr(before, field.name), getattr(now, field.name)
        _need(
            was == wanted or field.name in MAY_CHANGE,
            f"{_flag(field.name)} was {was} in this run and cannot change on --resume; "
            f"got {wanted}: leave it out, or start a new run",
        )


def _need(holds: object, message: str) -> None:
    if not holds:
        raise ValueError(message)


def _flag(field: str) -> str:
    return "--" + field.replace("_", "-")

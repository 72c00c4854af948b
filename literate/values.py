"""Numbers that the pages quote: the default run up to its first step, made by its own functions.

Nothing here loads torch. The one thing that only the model knows, how many weights it has, is
counted by hand, and a test holds that against the model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from config import Config
from corpus import CorpusText
from data import build_tokenizer, encode_corpus, load_corpus, make_windows, split_ids
from literate import figures_proof
from plan import Plan, leaks
from stream import cut_stream, text_stream
from tokenizer import Tokenizer

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Run:
    """What `train.main` has in its hands before it trains."""

    config: Config
    text: CorpusText
    tok: Tokenizer
    ids: np.ndarray
    train_ids: np.ndarray
    val_ids: np.ndarray
    inputs: pd.DataFrame
    targets: pd.DataFrame
    plan: Plan
    leaks: list[str]


@cache
def default_run() -> Run:
    """The default run on `data/corpus.csv`, once a process."""
    config = Config()
    path, column, rows = ROOT / config.corpus_path, config.corpus_column, config.max_rows
    text = load_corpus(path, column, rows, encoding=config.encoding)
    tok = build_tokenizer(text, config.num_merges)
    ids = encode_corpus(text, tok)
    train_ids, val_ids = split_ids(ids, config.val_fraction)
    inputs, targets = make_windows(train_ids, config.seq_len, config.stride)
    train, val = cut_stream(text_stream(text.documents, ids, tok), len(train_ids))
    plan = Plan(
        documents=len(text.documents),
        text_bytes=int(tok.token_bytes[ids].sum()),
        vocab_size=tok.vocab_size,
        ids=len(ids),
        cut=len(train_ids),
        seq_len=config.seq_len,
        stride=config.stride,
        eval_stride=config.val_stride,
        batch_size=config.batch_size,
        epochs=config.n_epochs,
        step_limit=config.steps,
        sampling=config.sampling,
        matrix_parameters=config.n_layer * 12 * config.d_model**2,  # qkv 3, mix 1, up 4, down 4
        table_parameters=2 * tok.vocab_size * config.d_model,  # embedding and head
    )
    told = leaks(train, val, tok)
    return Run(config, text, tok, ids, train_ids, val_ids, inputs, targets, plan, told)


def _planned(number: str, form: str = ",") -> Callable[[], str]:
    return lambda: format(getattr(default_run().plan, number), form)


def _set(field: str) -> Callable[[], str]:
    return lambda: f"{getattr(Config(), field):,}"


def _val_bytes() -> int:
    run = default_run()
    return int(run.tok.token_bytes[run.val_ids].sum())


def _bytes_per_id() -> float:
    plan = default_run().plan
    return plan.text_bytes / plan.ids


VALUES: dict[str, Callable[[], str]] = {
    "corpus.documents": _planned("documents"),
    "corpus.bytes": _planned("text_bytes"),
    "corpus.vocab": _planned("vocab_size"),
    "corpus.ids": _planned("ids"),
    "corpus.cut": _planned("cut"),
    "corpus.val_ids": lambda: f"{len(default_run().val_ids):,}",
    "corpus.val_bytes": lambda: f"{_val_bytes():,}",
    "corpus.bytes_per_id": lambda: f"{_bytes_per_id():.2f}",
    "corpus.train_windows": _planned("train_windows"),
    "corpus.val_windows": _planned("val_windows"),
    "corpus.unused_ids": _planned("unused_ids"),
    "corpus.batches": _planned("batches_per_epoch"),
    "corpus.steps": _planned("steps"),
    "corpus.passes": _planned("passes", ".2f"),
    "corpus.parameters": _planned("parameters"),
    "default.max_rows": _set("max_rows"),
    "default.num_merges": _set("num_merges"),
    "default.val_fraction": _set("val_fraction"),
    "default.seq_len": _set("seq_len"),
    "default.stride": _set("stride"),
    "default.batch_size": _set("batch_size"),
    "default.epochs": _set("n_epochs"),
    "default.eval_stride": _set("val_stride"),
    "default.eval_every": _set("eval_every"),
    "default.d_model": _set("d_model"),
    "default.seed": _set("seed"),
    **figures_proof.VALUES,
}

"""What a training step costs that keeps documents apart, in both ways, beside a continuous one."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import torch

import attention
from benchmarks.measure import in_turn, row
from benchmarks.record import ROOT
from config import Config
from data import build_tokenizer, load_corpus
from model import GPT
from stream import encode_documents, segment_ids
from training import Trainer
from windows import Boundaries, rows_view

SIZES = ((32, 64), (16, 256), (4, 1024))  # (B, T)
BATCHES, ROUNDS = 2, 7
WAYS = {"mask": attention.masked, "buckets": attention.bucketed}


@row(
    *("attention.py", "config.py", "data.py", "model.py", "optim.py", "scoring.py", "stream.py"),
    *("training.py", "windows.py"),
)
def isolated() -> dict[str, Any]:
    """Whole steps on the same rows of the stories: thousands of ids a second, and both ratios."""
    torch.set_num_threads(1)
    c = Config()
    text = load_corpus(ROOT / c.corpus_path, c.corpus_column, c.max_rows, encoding=c.encoding)
    tok = build_tokenizer(text, c.num_merges)
    stream = encode_documents(text.documents, tok)
    segments = segment_ids(stream.spans, len(stream)).astype(np.int64)
    figures: dict[str, Any] = {"documents": len(stream.spans), "ids": len(stream)}
    for B, T in SIZES:
        order = np.random.default_rng(T).permutation(len(stream) // (T + 1))
        starts = order[: B * BATCHES].reshape(BATCHES, B) * (T + 1)
        batches = [(rows_view(stream.ids, T)[s], rows_view(segments, T)[s]) for s in starts]
        runs = {"continuous": steps(c, tok.vocab_size, batches, "continuous")}
        runs |= {way: steps(c, tok.vocab_size, batches, "isolated", way) for way in WAYS}
        for run in runs.values():  # the first steps make the optimisers' tensors
            run()
        times = in_turn(ROUNDS, **runs)
        figures |= {
            f"{T}_{way}_ids_per_second": BATCHES * B * T / time for way, time in times.items()
        }
        figures |= {f"{T}_{way}_ratio": times["continuous"] / times[way] for way in WAYS}
    return figures


def steps(
    c: Config, vocab_size: int, batches: list, boundaries: Boundaries, way: str = "mask"
) -> Callable[[], None]:
    """A function that trains one model on the batches, each `(ids, segments)`, `(B, T + 1)`."""
    ids, _ = batches[0]
    model = GPT(vocab_size, c.n_layer, c.n_head, c.d_model)
    size = ids[:, 1:].size
    trainer = Trainer(model, 10**6, size, lr=c.lr, warmup=c.warmup, boundaries=boundaries)

    def choose(segments: torch.Tensor | None) -> attention.Attend:
        return attention.causal if segments is None else WAYS[way](segments)

    def run() -> None:
        with mock.patch("model.choose_attention", choose):
            for ids, segments in batches:
                trainer.train_on(ids[:, :-1], ids[:, 1:], segments)

    return run

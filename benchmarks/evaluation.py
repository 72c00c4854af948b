"""One model's loss at four strides, and what our evaluation saves over plain loops."""

import time
from collections.abc import Sequence
from itertools import count, islice
from typing import Any

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F

from benchmarks.measure import flops_per_second, in_turn, line, row
from benchmarks.record import ROOT
from config import Config
from data import (
    build_tokenizer,
    encode_corpus,
    iterate_batches,
    load_corpus,
    make_windows,
    split_ids,
)
from model import GPT
from scoring import evaluate
from stream import Stream, cut_stream, text_stream
from tokenizer import Tokenizer
from training import Trainer
from windows import count_passes, eval_windows, mean_context

STEPS = 250
LENGTHS = (16, 64)  # T of the windows that are scored; training has windows of 64
WINDOWS, VOCAB = 96, 1281
MODEL = "attention.py", "config.py", "model.py", "scoring.py", "windows.py"


@row(*MODEL, "data.py", "optim.py", "stream.py", "tokenizer.py", "training.py")
def strides() -> dict[str, Any]:
    """A short training run, then its one model scored at strides T, T/2, T/4 and 1."""
    model, val, tok = trained()
    figures = {"steps": STEPS, "ids": len(val)}
    for T in LENGTHS:
        for s in (T, T // 2, T // 4, 1):
            begun = time.perf_counter()
            receipt = evaluate(model, val, tok, T, s)
            seconds = time.perf_counter() - begun
            windows = eval_windows(len(val), T, s)
            figures |= {
                f"{T}_{s}_nats_per_token": receipt.nats_per_token,
                f"{T}_{s}_mean_context": mean_context(windows),
                f"{T}_{s}_passes": count_passes(len(windows), T, len(val)),
                f"{T}_{s}_seconds": seconds,
            }
    return figures


def trained() -> tuple[GPT, Stream, Tokenizer]:
    """The default model after `STEPS` steps on the stories, and its validation side."""
    c = Config()
    torch.set_num_threads(c.threads)
    text = load_corpus(ROOT / c.corpus_path, c.corpus_column, c.max_rows, encoding=c.encoding)
    tok = build_tokenizer(text, c.num_merges)
    ids = encode_corpus(text, tok)
    train_ids, _ = split_ids(ids, c.val_fraction)
    inputs, targets = make_windows(train_ids, c.seq_len, c.stride)
    model = GPT(tok.vocab_size, c.n_layer, c.n_head, c.d_model, c.seed)
    trainer = Trainer(model, STEPS, c.batch_size * c.seq_len, lr=c.lr, warmup=c.warmup)
    feed = (
        batch
        for epoch in count()
        for batch in iterate_batches(
            inputs, targets, c.batch_size, np.random.default_rng(c.seed + epoch)
        )
    )
    for xb, yb in islice(feed, STEPS):
        trainer.train_on(xb, yb)
    return model, cut_stream(text_stream(text.documents, ids, tok), len(train_ids))[1], tok


class Whole(torch.nn.Module):
    """A model that can give logits of whole windows only."""

    def __init__(self, model: GPT):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(ids)


@row(*MODEL)
def strided_evaluation(
    count: int = WINDOWS, rounds: int = 5, lengths: Sequence[int] = (64, 128, 256)
) -> dict[str, Any]:
    """Ours; the same batches with logits of whole windows; and one window after the other."""
    torch.set_num_threads(1)
    c = Config()
    model, tok = GPT(VOCAB, c.n_layer, c.n_head, c.d_model), Tokenizer([])
    generator = torch.Generator().manual_seed(0)
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.05, generator=generator)
    figures, lines, apart = {}, [], 0.0
    rate = flops_per_second()
    for T in lengths:
        for s in (T // 2, T // 4):
            n = (count - 1) * s + T + 1
            ids = np.random.default_rng(n).integers(0, 256, n)
            spans = pd.DataFrame({"start": [0], "stop": [n], "doc_id": [0], "doc_start": [0]})
            stream = Stream(ids, spans)
            sums = {
                "ours": lambda st=stream, T=T, s=s: evaluate(model, st, tok, T, s).sum_nats,
                "whole": lambda st=stream, T=T, s=s: evaluate(Whole(model), st, tok, T, s).sum_nats,
                "loop": lambda ids=ids, T=T, s=s: one_by_one(model, ids, T, s),
            }
            ours, *others = (run() for run in sums.values())
            apart = max(apart, *(abs(ours - other) / ours for other in others))
            times = in_turn(rounds, **sums)
            figures |= {f"{T}_{s}_{name}": 1e3 * t / count for name, t in times.items()}
            figures |= {
                f"{T}_{s}_ratio_{name}": times[name] / times["ours"] for name in ("whole", "loop")
            }
            lines.append(
                line(
                    f"Evaluating a window of T = {T} at stride {s}",
                    times["ours"] / count,
                    same={"plain loop": times["loop"] / count},
                    limit=products(model, T, s) / rate,
                    bound="its matrix products, at the rate of one large product",
                )
            )
    return figures | {"sums_apart": apart, "lines": lines}


def products(model: GPT, T: int, s: int) -> float:
    """Multiplications and additions that a window takes at least, of which s targets count.

    Every layer but the last for all T positions, the last one and the head for s of them; of the
    last one's keys and values, and of attention, what causality asks for.
    """
    d, layers = model.embed.weight.shape[1], len(model.blocks)
    each, head = 24 * d * d, 2 * d * VOCAB  # qkv 3, mix 1, up 4, down 4 matrices of d × d
    attention = 2 * d * T * T  # scores and sums, half of T × T each
    last = 4 * d * d * T + 20 * d * d * s + 4 * d * s * (T - s / 2)
    return (layers - 1) * (each * T + attention) + last + head * s


@torch.inference_mode()
def one_by_one(model: GPT, ids: np.ndarray, T: int, s: int) -> float:
    """The plain loop: each window by itself, all its logits, the loss of those that count."""
    tokens, total = torch.from_numpy(ids), 0.0
    for start, length, loss_from in eval_windows(len(ids), T, s).itertuples(index=False):
        logits = model(tokens[None, start : start + length])[0]
        targets = tokens[start + 1 : start + length + 1]
        loss = F.cross_entropy(logits[loss_from:], targets[loss_from:], reduction="sum")
        total += loss.item()
    return total

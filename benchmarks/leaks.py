"""What leaks buy: one model, trained alike, with its text cut and with its documents divided."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice
from typing import Any

import numpy as np
import pandas as pd
import torch

from benchmarks.measure import row
from benchmarks.record import ROOT
from config import Config
from corpus import CorpusText, load_documents
from data import build_tokenizer, encode_corpus, iterate_batches, make_windows, split_ids
from model import GPT
from scoring import Receipt, compare, evaluate
from sides import assign_splits, audit_split
from stream import Stream, cut_stream, encode_text, text_stream
from tokenizer import Tokenizer
from training import Trainer

STEPS = 150
STORIES, EVERY = 80, 30  # of the corpus in which each story stands twice; steps between scores
SEED = Config().seed


@row(
    *("attention.py", "config.py", "corpus.py", "data.py", "model.py", "optim.py", "readers.py"),
    *("scoring.py", "sides.py", "stream.py", "tokenizer.py", "training.py", "windows.py"),
)
def leaks() -> dict[str, Any]:
    """Bits per byte: the text cut; documents divided, by two tokenizers; each story twice."""
    c = replace(Config(), steps=STEPS)
    torch.set_num_threads(c.threads)
    documents = load_documents(ROOT / c.corpus_path)
    parted, (whole, *_) = divided(documents, c), cut(documents, c)
    figures = {"steps": STEPS, "val_bytes": int(whole.token_bytes[cut(documents, c)[2].ids].sum())}
    figures["cut"] = last(*cut(documents, c), c).bits_per_byte
    own, seen = last(*parted, c), last(*divided(documents, c, whole), c)
    compare(own, seen, "bits_per_byte")  # or it refuses: the same documents in the same windows
    figures |= {"divided_val_bytes": own.text_bytes}
    figures |= {"divided": own.bits_per_byte, "divided_seen": seen.bits_per_byte}
    figures |= {"divided_vocab": parted[0].vocab_size, "cut_vocab": whole.vocab_size}

    few = documents[:STORIES]
    twice = pd.concat([few, few], ignore_index=True).rename_axis("doc_id")
    figures |= {"stories": STORIES, "every": EVERY}
    for way, sides in {"cut": cut(twice, c), "divided": divided(twice, c)}.items():
        tok, train, val = sides
        used = {"train": train.spans, "val": val.spans}
        figures[f"twice_{way}_shared"] = len(audit_split(twice, used))
        for step, receipt in scores(tok, train, val, c, EVERY):
            figures[f"twice_{way}_{step}"] = receipt.bits_per_byte
    return figures


def cut(documents: pd.DataFrame, c: Config) -> tuple[Tokenizer, Stream, Stream]:
    """The documented order: a tokenizer fitted on everything, and the ids cut once."""
    text = CorpusText.join(documents)
    tok = build_tokenizer(text, c.num_merges)
    ids = encode_corpus(text, tok)
    before, _ = split_ids(ids, c.val_fraction)
    return tok, *cut_stream(text_stream(documents, ids, tok), len(before))


def divided(
    documents: pd.DataFrame, c: Config, tok: Tokenizer | None = None
) -> tuple[Tokenizer, Stream, Stream]:
    """Documents divided first, then a tokenizer fitted on training text, unless one is given."""
    sides = assign_splits(documents, c.val_fraction, seed=SEED)
    train, val = (sides[sides["split"] == side] for side in ("train", "val"))
    tok = tok or build_tokenizer(CorpusText.join(train), c.num_merges)
    return tok, encode_text(train, tok), encode_text(val, tok)


def last(tok: Tokenizer, train: Stream, val: Stream, c: Config) -> Receipt:
    """The receipt after all steps."""
    return list(scores(tok, train, val, c, c.steps))[-1][1]


def scores(
    tok: Tokenizer, train: Stream, val: Stream, c: Config, every: int
) -> Iterator[tuple[int, Receipt]]:
    """The default model, trained with the default settings, scored every so many steps."""
    inputs, targets = make_windows(train.ids, c.seq_len, c.stride)
    model = GPT(tok.vocab_size, c.n_layer, c.n_head, c.d_model, c.seed)
    trainer = Trainer(model, c.steps, c.batch_size * c.seq_len, lr=c.lr, warmup=c.warmup)
    orders = (np.random.default_rng(c.seed + epoch) for epoch in count())
    feed = (
        batch for rng in orders for batch in iterate_batches(inputs, targets, c.batch_size, rng)
    )
    for xb, yb in islice(feed, c.steps):
        trainer.train_on(xb, yb)
        if trainer.step % every == 0:
            yield trainer.step, evaluate(model, val, tok, c.seq_len, c.val_stride)

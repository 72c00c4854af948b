"""Bits per byte on tiny-shakespeare at equal wall time beside nanoGPT's CPU recipe.

One thread, eager float32. Tokenizers and models see the first nine tenths of the text, the last
tenth is scored once. Settings were chosen by training on eight tenths and scoring the ninth.
"""

import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from benchmarks.measure import line, row
from benchmarks.nanogpt import NanoGPT, NanoTrainer
from data import build_tokenizer, encode_corpus, iterate_batches, make_windows
from model import GPT
from scoring import evaluate
from stream import Stream
from training import Trainer

T = 64
RECIPE_STEPS, RECIPE_BATCH, BATCH = 2000, 12, 16


@dataclass
class Characters:
    """Just enough of a tokenizer to score characters of one byte each."""

    letters: str

    @property
    def token_bytes(self):
        return np.ones(len(self.letters), dtype=np.int64)

    fingerprint = "characters"
    eot_id = -1  # there is none

    def decode_bytes(self, ids) -> bytes:
        return "".join(self.letters[i] for i in ids).encode()

    def encode(self, text: str):
        place = {letter: i for i, letter in enumerate(self.letters)}
        return np.array([place[letter] for letter in text])


def batches(ids, batch_size: int, seed: int = 0):
    inputs, targets = make_windows(ids, T)
    for epoch in count():
        rng = np.random.default_rng(seed + epoch)
        yield from iterate_batches(inputs, targets, batch_size, rng)


def race(make_trainer, ids, batch_size: int, seconds: float | None) -> tuple[object, float]:
    """Train for `seconds` (or all steps of the recipe if None): the trainer, and the time it took.

    How many steps fit, for the schedule, is taken from a few steps before the clock starts.
    """
    steps = RECIPE_STEPS
    if seconds is not None:
        trial, feed = make_trainer(100), batches(ids, batch_size)
        for k in range(25):
            if k == 5:
                begun = time.perf_counter()
            trial.train_on(*next(feed))
        steps = int(seconds / ((time.perf_counter() - begun) / 20))
    trainer, feed = make_trainer(steps), batches(ids, batch_size)
    begun = time.perf_counter()
    for xb, yb in feed:
        trainer.train_on(xb, yb)
        took = time.perf_counter() - begun
        if trainer.step == steps or (seconds is not None and took > seconds):
            return trainer, took
    raise AssertionError


def score(model, ids, tok) -> float:
    spans = pd.DataFrame({"start": [0], "stop": [len(ids)], "doc_id": [0], "doc_start": [0]})
    return evaluate(model, Stream(ids, spans), tok, T).bits_per_byte


@row(
    *("attention.py", "benchmarks/nanogpt.py", "model.py", "optim.py", "scoring.py"),
    "training.py",
)
def shakespeare(path: str | None = None) -> dict[str, object] | None:
    """Bits per byte of the four contenders, each after the same seconds; needs --text FILE."""
    if path is None:
        return None
    torch.set_num_threads(1)
    text = Path(path).read_text(encoding="utf-8")
    cut = len(text) * 9 // 10
    chars = Characters("".join(sorted(set(text))))
    train_chars, val_chars = chars.encode(text[:cut]), chars.encode(text[cut:])
    tok = build_tokenizer(text[:cut], 512)
    train_ids, val_ids = encode_corpus(text[:cut], tok), encode_corpus(text[cut:], tok)

    def nano(lr):
        def make(steps):
            torch.manual_seed(0)
            return NanoTrainer(NanoGPT(len(chars.letters)), steps, lr)

        return make

    def ours(vocab):
        return lambda steps: Trainer(GPT(vocab, 3, 2, 128), steps, BATCH * T, lr=0.025, warmup=20)

    recipe, seconds = race(nano(1e-3), train_chars, RECIPE_BATCH, None)
    result = {"seconds": seconds, "recipe": score(recipe.model, val_chars, chars)}
    tuned, _ = race(nano(4e-3), train_chars, RECIPE_BATCH, seconds)
    result |= {"recipe_tuned": score(tuned.model, val_chars, chars), "tuned_steps": tuned.step}
    same, _ = race(ours(len(chars.letters)), train_chars, BATCH, seconds)
    result |= {
        "ours_characters": score(same.model, val_chars, chars),
        "characters_steps": same.step,
    }
    best, _ = race(ours(tok.vocab_size), train_ids, BATCH, seconds)
    result |= {"ours": score(best.model, val_ids, tok), "ours_steps": best.step}
    return told(result)


def told(figures: dict) -> dict[str, object]:
    """The figures, with targets a second, and the line of the table."""
    steps = {
        "recipe": (RECIPE_STEPS, RECIPE_BATCH),
        "recipe_tuned": (figures["tuned_steps"], RECIPE_BATCH),
        "ours_characters": (figures["characters_steps"], BATCH),
        "ours": (figures["ours_steps"], BATCH),
    }
    speeds = {
        f"{name}_tokens_per_second": count * rows * T / figures["seconds"]
        for name, (count, rows) in steps.items()
    }
    peers = {
        "nanoGPT's CPU recipe": figures["recipe"],
        "the recipe, its rate tuned": figures["recipe_tuned"],
    }
    return (
        figures
        | speeds
        | {
            "lines": [
                line(
                    f"Bits per byte after {figures['seconds']:.0f} s, characters",
                    figures["ours_characters"],
                    unit="bits",
                    same=peers,
                ),
                line(
                    f"Bits per byte after {figures['seconds']:.0f} s, our tokens",
                    figures["ours"],
                    unit="bits",
                    same=peers,
                ),
            ]
        }
    )

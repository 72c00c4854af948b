"""Training steps: what a batch takes of one, threads, the optimiser, and speed beside nanoGPT's."""

import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from benchmarks.measure import flops_per_second, fresh, in_turn, line, row
from benchmarks.nanogpt import NanoGPT, NanoTrainer
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
from optim import Muon
from training import Trainer

LETTERS, LAYERS, HEADS, WIDTH, T, B = 65, 4, 4, 128, 64, 12  # nanoGPT's CPU recipe


@row("attention.py", "data.py", "training.py", "model.py", "optim.py", "config.py")
def batch_share(steps: int = 40) -> dict[str, Any]:
    """The part of a default training step that its batch takes, inside the training loop."""
    trainer, feed = default_trainer(1)
    fed = stepped = 0.0
    for k in range(steps + 5):
        begun = time.perf_counter()
        xb, yb = next(feed)
        got = time.perf_counter()
        trainer.train_on(xb, yb)
        done = time.perf_counter()
        if k >= 5:
            fed, stepped = fed + got - begun, stepped + done - got
    return {
        "batch_ms": fed / steps * 1e3,
        "step_ms": stepped / steps * 1e3,
        "share": fed / (fed + stepped),
    }


def default_trainer(threads: int) -> tuple[Trainer, Iterator[Any]]:
    """The default run before its first step, and its batches."""
    torch.set_num_threads(threads)
    c = Config()
    text = load_corpus(ROOT / c.corpus_path)
    tok = build_tokenizer(text, c.num_merges)
    ids = encode_corpus(text, tok)
    frames = make_windows(split_ids(ids, c.val_fraction)[0], c.seq_len, c.stride)
    model = GPT(tok.vocab_size, c.n_layer, c.n_head, c.d_model)
    trainer = Trainer(model, 1000, c.batch_size * c.seq_len, lr=c.lr, warmup=c.warmup)
    return trainer, iterate_batches(*frames, c.batch_size, np.random.default_rng(c.seed))


@row("attention.py", "training.py", "model.py", "optim.py", "config.py", threads=None)
def threads(steps: int = 10) -> dict[str, Any]:
    """Milliseconds of a default step with one and two threads, alone and beside a busy process."""
    quiet = [fresh(step_ms, count, steps) for count in (1, 2)]
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as neighbour:
        busy = [fresh(step_ms, count, steps) for count in (1, 2)]
        neighbour.kill()
    return {"one": quiet[0], "two": quiet[1], "one_busy": busy[0], "two_busy": busy[1]}


def step_ms(threads: int, steps: int) -> float:
    trainer, feed = default_trainer(threads)
    for _ in range(4):
        trainer.train_on(*next(feed))
    return in_turn(steps, step=lambda: trainer.train_on(*next(feed)))["step"] * 1e3


@row("attention.py", "optim.py", "model.py", "config.py")
def muon(rounds: int = 9) -> dict[str, Any]:
    """Milliseconds of a Muon step: ours and torch's, with bfloat16 in the processor and without."""
    usual = fresh(muon_ms, rounds)
    without = fresh(muon_ms, rounds, ONEDNN_MAX_CPU_ISA="AVX2")
    return usual | {f"{name}_avx2": ms for name, ms in without.items()}


def muon_ms(rounds: int) -> dict[str, float]:
    torch.set_num_threads(1)
    c = Config()
    model = GPT(1281, c.n_layer, c.n_head, c.d_model)
    for p in model.parameters():
        p.grad = torch.randn_like(p)
    ours = Muon(model.matrices(), 0.02)
    theirs = torch.optim.Muon(model.matrices(), 0.02, ns_steps=3)
    times = in_turn(rounds, ours=ours.step, torch=theirs.step)
    return {name: s * 1e3 for name, s in times.items()}


@row("attention.py", "benchmarks/nanogpt.py", "model.py", "optim.py", "scoring.py", "training.py")
def training_speed(rounds: int = 40) -> dict[str, Any]:
    """Targets a second of a GPT of the size of nanoGPT's CPU recipe: ours, and its."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    xb, yb = rng.integers(0, LETTERS, (2, B, T))
    ours = Trainer(GPT(LETTERS, LAYERS, HEADS, WIDTH), 1000, B * T, lr=0.02, warmup=20)
    torch.manual_seed(0)
    theirs = NanoTrainer(NanoGPT(LETTERS, LAYERS, HEADS, WIDTH, T), 1000, 1e-3)
    times = {"ours": lambda: ours.train_on(xb, yb), "nanogpt": lambda: theirs.train_on(xb, yb)}
    in_turn(4, **times)
    times = in_turn(rounds, **times)
    rate = flops_per_second()
    # forward once and backward twice: 12 d × d matrices a layer, half of T × T scores, the head
    each = LAYERS * (24 * WIDTH**2 + 2 * WIDTH * T) + 2 * WIDTH * LETTERS
    million = {name: s / (B * T) * 1e6 for name, s in times.items()}
    return {
        **{f"{name}_tokens_per_second": B * T / s for name, s in times.items()},
        "flops_per_second": rate,
        "lines": [
            line(
                f"Training a GPT of {LAYERS} layers on a million targets",
                million["ours"],
                same={"nanoGPT's CPU recipe": million["nanogpt"]},
                limit=3 * each * 1e6 / rate,
                bound="the matrix products of the model, at the rate of one large product",
                why="Muon makes matrices orthogonal at each step, and the head does not share its "
                "weights with the embedding: a step costs more and teaches more. What counts is "
                "the next line: bits per byte after the same time.",
            )
        ],
    }

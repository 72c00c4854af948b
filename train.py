"""`python train.py`: from a file to a trained model, in the documented order."""

import logging
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import count, islice
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from tqdm import tqdm

import report
import runs
from config import Config, parse
from data import (
    build_tokenizer,
    encode_corpus,
    iterate_batches,
    load_corpus,
    make_windows,
    split_ids,
)
from model import GPT
from plan import Plan, check_sides, leaks
from scoring import Receipt, evaluate
from stream import Stream, cut_stream, text_stream
from tokenizer import Tokenizer
from training import Trainer, choose_device, interrupts

Batches = Iterator[tuple[np.ndarray, np.ndarray]]


def main(config: Config) -> int:
    """Read, plan, train and evaluate; the exit status, 0, or 130 when Ctrl-C ended it."""
    config.check()
    device, console = choose_device(config.device), report.console()
    torch.set_num_threads(config.threads)

    path, column, rows = config.corpus_path, config.corpus_column, config.max_rows
    text = load_corpus(path, column, rows, encoding=config.encoding)
    tok = build_tokenizer(text, config.num_merges)
    ids = encode_corpus(text, tok)
    train_ids, val_ids = split_ids(ids, config.val_fraction)  # before windows, so none crosses
    check_sides(len(train_ids), len(val_ids), config.seq_len)
    inputs, targets = make_windows(train_ids, config.seq_len, config.stride)

    model = GPT(tok.vocab_size, config.n_layer, config.n_head, config.d_model, config.seed)
    plan = make_plan(config, text.documents, tok, len(ids), len(train_ids), model)
    train, val = cut_stream(text_stream(text.documents, ids, tok), len(train_ids))
    console.print(report.plan_table(plan))
    for leak in leaks(train, val, tok):
        console.print(f"[yellow]leaks:[/yellow] {leak}")
    if config.plan:
        console.print(report.tokens_table(tok, ids))
        return 0
    trainer = Trainer(
        model.to(device),
        plan.steps,
        config.batch_size * config.seq_len,
        lr=config.lr,
        warmup=config.warmup,
        weight_decay=config.weight_decay,
        clip=config.clip,
        amp=config.amp,
        compile=config.compile,
    )
    return run(config, trainer, text, tok, batches(config, inputs, targets), val)


def make_plan(
    config: Config, documents: pd.DataFrame, tok: Tokenizer, n_ids: int, cut: int, model: GPT
) -> Plan:
    """The numbers of the run that `config` asks for."""
    matrices = sum(p.numel() for p in model.matrices())
    return Plan(
        documents=len(documents),
        text_bytes=documents.attrs["intake"].bytes + len(documents),
        vocab_size=tok.vocab_size,
        ids=n_ids,
        cut=cut,
        seq_len=config.seq_len,
        stride=config.stride,
        eval_stride=config.val_stride,
        batch_size=config.batch_size,
        epochs=config.n_epochs,
        step_limit=config.steps,
        matrix_parameters=matrices,
        table_parameters=sum(p.numel() for p in model.parameters()) - matrices,
    )


def batches(config: Config, inputs: pd.DataFrame, targets: pd.DataFrame) -> Batches:
    """Batches without end, epoch after epoch, each epoch in the order of a fresh generator."""
    for epoch in count():
        rng = np.random.default_rng(config.seed + epoch)
        yield from iterate_batches(
            inputs, targets, config.batch_size, rng, shuffle=config.shuffle == "pandas"
        )


def run(
    config: Config, trainer: Trainer, text: str, tok: Tokenizer, batches: Batches, val: Stream
) -> int:
    """Train, and leave everything in a folder of its own; the exit status."""
    console = report.console()
    folder = runs.new_folder(Path("runs"), config.name)
    runs.write_json(folder / "config.json", asdict(config))
    tok.save(folder / "tokenizer.json")
    with interrupts() as asked:
        receipt = train_steps(config, trainer, tok, batches, val, runs.Losses(folder), asked)
        runs.save_checkpoint(folder, trainer.model, {"step": trainer.step, "seed": config.seed})
        runs.write_json(folder / "receipt.json", receipt.as_dict())
        console.print(report.receipt_table(receipt))
        samples = report.write_samples(trainer.model, tok, text, config.seq_len, config.seed)
        runs.write_text(folder / "sample.txt", str(samples))
        console.print(str(samples), markup=False)
    if asked.is_set():
        done = f"after step {trainer.step} of {trainer.total_steps}"
        console.print(f"[yellow]stopped by Ctrl-C[/yellow] {done}; what was trained is kept")
    console.print(
        f"model, losses, plot, receipt and samples are in [bold]{folder.as_posix()}[/bold]"
    )
    return 130 if asked.is_set() else 0


def train_steps(
    config: Config,
    trainer: Trainer,
    tok: Tokenizer,
    batches: Batches,
    val: Stream,
    losses: runs.Losses,
    asked: threading.Event,
) -> Receipt:
    """Train to the last step or to Ctrl-C, validating now and then; the last receipt."""
    tokens, seconds, mark = 0, 0.0, time.perf_counter()
    total = trainer.total_steps
    with tqdm(total=total, desc="training", unit=" steps", disable=None) as bar:
        for xb, yb in islice(batches, total):
            loss = trainer.train_on(xb, yb)
            losses.add(trainer.step, yb.size, loss)
            tokens, seconds = tokens + yb.size, seconds + time.perf_counter() - mark
            bar.set_postfix_str(f"loss {loss:.3f}, {tokens / seconds:,.0f} tokens/s", refresh=False)
            bar.update()
            last = trainer.step == total or asked.is_set()
            if last or trainer.step % config.eval_every == 0:
                receipt = evaluate(trainer.model, val, tok, config.seq_len, config.val_stride)
                train_loss = losses.validate(trainer.step, receipt)
                bar.write(
                    report.progress_line(trainer.step, total, train_loss, receipt, tokens / seconds)
                )
            if last:
                break
            mark = time.perf_counter()
    return receipt


def cli(args: Sequence[str] | None = None) -> int:
    """Run the command line; a mistake is told in one line, with exit status 2."""
    config = parse(args)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    try:
        return main(config)
    except OSError as error:
        told = f"{error.filename}: {error.strerror}" if error.strerror else error
    except ValueError as error:
        told = error
    except KeyboardInterrupt:
        print("train.py: stopped by Ctrl-C; what was written is whole", file=sys.stderr)
        return 130
    print("train.py:", " ".join(str(told).split()), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(cli())

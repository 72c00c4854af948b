"""`python train.py`: from a file to a trained model, in the documented order."""

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import checkpoint
import config as settings
import report
import runs
import show
from batches import make_train_loader
from config import Config
from data import (
    build_tokenizer,
    encode_corpus,
    iterate_batches,
    load_corpus,
    make_windows,
    split_ids,
)
from feed import Prepared, divide, taken_windows, training_windows
from files import read_json, write_json, write_text
from ledger import ledger, ledger_line
from lineage import explain, window_lineage
from loop import train_steps
from model import GPT
from packing import fill
from plan import Plan, check_sides, leaks
from scoring import Receipt, evaluate
from sides import audit_split, side_sizes
from stream import (
    Stream,
    cut_stream,
    encode_documents,
    segment_ids,
    text_stream,
)
from training import Trainer, choose_device, interrupts
from windows import eval_windows, place_in_epoch

Batches = Iterator[tuple[Any, Any, np.ndarray | None]]


def main(config: Config, saved: checkpoint.Checkpoint | None = None) -> int:
    """Read, plan, train and evaluate, from a checkpoint on if there is one; the exit status."""
    config.check()
    device, console = choose_device(config.device), report.console()
    torch.set_num_threads(config.threads)

    path, column, rows = config.corpus_path, config.corpus_column, config.max_rows
    read_by = {"encoding": config.encoding, "group_column": config.group_column}
    text = load_corpus(path, column, rows, **read_by)
    if config.split == "ids":
        tok = build_tokenizer(text, config.num_merges)
        if config.layout == "text":
            ids = encode_corpus(text, tok)
            stream = text_stream(text.documents, ids, tok)
        else:
            stream = encode_documents(text.documents, tok)
        train_ids, _ = split_ids(stream.ids, config.val_fraction)  # first, so no window crosses
        train, val = cut_stream(stream, len(train_ids))
        had = Prepared(text.documents, tok, train, train, val, None)
    else:
        had = divide(config, text.documents)
    if saved:
        checkpoint.check_same(saved.state, **had.digests)
    check_sides(len(had.laid), len(had.val), config.seq_len)
    inputs, targets = make_windows(had.laid.ids, config.seq_len, config.window_stride)

    model = GPT(had.tok.vocab_size, config.n_layer, config.n_head, config.d_model, config.seed)
    plan = make_plan(config, had, model)
    if config.explain is not None or config.show_rows:
        return look(config, had)
    console.print(report.plan_table(plan))
    for told in proof(config, had, plan.steps):
        console.print(told)
    if config.plan:
        console.print(report.tokens_table(had.tok, had.train.ids))
        return 0
    trainer = Trainer(
        model.to(device),
        plan.steps,
        config.batch_size * config.seq_len,
        boundaries=config.boundaries,
        lr=config.lr,
        warmup=config.warmup,
        weight_decay=config.weight_decay,
        clip=config.clip,
        amp=config.amp,
        compile=config.compile,
    )
    feed = batches(config, had.laid, inputs, targets, saved.state["step"] if saved else 0)
    if saved:
        feed = go_on(trainer, saved, config.threads, feed)
    return run(config, trainer, text, had, feed, saved)


def proof(config: Config, had: Prepared, steps: int) -> list[Any]:
    """What the sides have and share, told before training; divided documents may share nothing.

    Looked at is what is really used: the windows of all steps, and those of the evaluation.
    """
    T, stride = config.seq_len, config.val_stride
    sides = {"train": had.laid, "val": had.val} | ({"test": had.test} if had.test else {})
    windows = {side: eval_windows(len(stream), T, stride) for side, stream in sides.items()}
    windows["train"] = taken_windows(config, had.laid, steps).reset_index(drop=True)
    used = {side: window_lineage(windows[side], stream.spans) for side, stream in sides.items()}
    found = audit_split(had.documents, used)
    if config.split == "ids":
        told = [f"[yellow]leaks:[/yellow] {leak}" for leak in leaks(had.train, had.val, had.tok)]
        shared = found.groupby("kind").size().reindex(["document", "group"], fill_value=0)
        counted = f"{shared['document']} documents, {shared['group']} groups of equal texts"
        return [*told, f"[yellow]on two sides:[/yellow] {counted}"]
    if len(found):
        raise RuntimeError(f"documents are on two sides, which is a mistake of ours:\n{found}")
    spans = {side: stream.spans for side, stream in sides.items()}
    told = [report.sides_table(side_sizes(had.documents, spans))]
    if config.layout == "packed":
        rows = len(had.laid) // (T + 1)
        told.append(f"{rows:,} rows of {T + 1} ids, {fill(had.laid):.2%} full")
    return [*told, "[green]no document, group or window is on two sides[/green]"]


def look(config: Config, had: Prepared) -> int:
    """Show training windows instead of training."""
    windows, console = training_windows(config, had.laid), report.console()
    if config.show_rows:
        some = windows.iloc[: config.show_rows]
        console.print(show.rows_text(had.laid, some, had.tok, config.boundaries), soft_wrap=True)
    if config.explain is not None:
        frame = explain(
            had.laid, windows, config.explain, had.tok, config.boundaries, had.documents
        )
        show.show_window(frame, config.explain, console, config.html)
    return 0


def make_plan(config: Config, had: Prepared, model: GPT) -> Plan:
    """The numbers of the run that `config` asks for."""
    matrices = sum(p.numel() for p in model.matrices())
    sides = [had.laid, had.val] + ([had.test] if had.test else [])
    return Plan(
        documents=len(had.documents),
        text_bytes=sum(int(had.tok.token_bytes[s.ids].sum()) for s in sides),
        vocab_size=had.tok.vocab_size,
        ids=len(had.laid) + len(had.val),
        cut=len(had.laid),
        seq_len=config.seq_len,
        stride=config.window_stride,
        eval_stride=config.val_stride,
        batch_size=config.batch_size,
        epochs=config.n_epochs,
        step_limit=config.steps,
        sampling=config.sampling,
        matrix_parameters=matrices,
        table_parameters=sum(p.numel() for p in model.parameters()) - matrices,
    )


def batches(
    config: Config, laid: Stream, inputs: pd.DataFrame, targets: pd.DataFrame, start: int = 0
) -> Batches:
    """Batches from step `start` on, without end, each with the segments of its windows if needed.

    Segments are gathered as ids are: by the same function, in the same order.
    """
    ids = ordered(config, laid.ids, inputs, targets, start)
    if config.layout != "packed" and config.boundaries == "continuous":
        return ((xb, yb, None) for xb, yb in ids)
    segments = segment_ids(laid.spans, len(laid)).astype(np.int64)
    frames = make_windows(segments, config.seq_len, config.window_stride)
    pairs = zip(ids, ordered(config, segments, *frames, start), strict=True)
    return ((xb, yb, np.column_stack([sx, sy[:, -1]])) for (xb, yb), (sx, sy) in pairs)


def ordered(
    config: Config, ids: np.ndarray, inputs: pd.DataFrame, targets: pd.DataFrame, start: int
) -> Iterator[tuple[Any, Any]]:
    """Batches from step `start` on: drawn by the step, or in epochs."""
    if config.sampling == "random":
        return make_train_loader(ids, config.seq_len, config.batch_size, config.seed, start)
    return epochs(config, inputs, targets, start)


def epochs(
    config: Config, inputs: pd.DataFrame, targets: pd.DataFrame, start: int = 0
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Batches from step `start` on, without end; each epoch in the order of a fresh generator."""
    first_epoch, first = place_in_epoch(start, len(inputs), config.batch_size)
    for epoch in count(first_epoch):
        rng, shuffle = np.random.default_rng(config.seed + epoch), config.shuffle == "pandas"
        yield from iterate_batches(inputs, targets, config.batch_size, rng, shuffle, start=first)
        first = 0


def go_on(trainer: Trainer, saved: checkpoint.Checkpoint, threads: int, feed: Batches) -> Batches:
    """Put the trainer where the checkpoint was; refuse when another batch would come next."""
    upcoming = next(feed)
    checkpoint.check_same(saved.state, next_batch=checkpoint.batch_digest(*upcoming[:2]))
    trainer.restore(saved.state["step"], saved.weights, saved.optimizers)
    console = report.console()
    for difference in checkpoint.moved(saved.state, threads, str(trainer.device)):
        console.print(f"[yellow]the last bits may differ[/yellow]: {difference}")
    return chain([upcoming], feed)


def run(
    config: Config,
    trainer: Trainer,
    text: str,
    had: Prepared,
    feed: Batches,
    saved: checkpoint.Checkpoint | None,
) -> int:
    """Train, and leave everything in the folder of the run; the exit status, 130 after Ctrl-C."""
    console, sample_file = report.console(), "sample.txt"
    folder = saved.run if saved else runs.new_folder(Path("runs"), config.name)
    if saved and trainer.step == trainer.total_steps and (folder / sample_file).exists():
        console.print(f"{folder.as_posix()} is finished: all {trainer.step} steps are done")
        return 0
    with nullcontext() if saved else runs.owned(folder), interrupts() as asked:
        started = asdict(replace(config, resume=None))
        write_json(folder / "config.json", started)
        had.tok.save(folder / "tokenizer.json")
        (folder / sample_file).unlink(missing_ok=True)  # the last file: with it a run is finished
        console.print(keep_ledger(config, had, trainer.total_steps, folder))
        stopped_every = saved.state["config"]["eval_every"] if saved else config.eval_every
        losses = runs.Losses.read(folder, trainer.step, stopped_every)

        def keep(upcoming: tuple[Any, ...]) -> None:
            digest, device = checkpoint.batch_digest(*upcoming[:2]), str(trainer.device)
            state = {"step": trainer.step, "seed": config.seed, "next_batch": digest, **had.digests}
            state |= {"device": device, "config": started}
            checkpoint.save(folder, trainer.weights(), trainer.optimizer_tensors(), state)

        def score(stream: Stream) -> Receipt:
            size, stride = config.seq_len, config.val_stride
            return evaluate(
                trainer.model, stream, had.tok, size, stride, boundaries=config.boundaries
            )

        validate = partial(score, had.val)
        receipt = train_steps(trainer, feed, validate, config.eval_every, losses, keep, asked)
        console.print(report.receipt_table(receipt or validate()))
        if had.test is not None:
            tested = score(had.test)
            write_json(folder / "receipt-test.json", tested.as_dict())
            console.print(report.receipt_table(tested, "Receipt of the test side"))
        prompt = had.tok.encode("\n") if config.layout == "text" else [had.tok.eot_id]
        if config.boundaries == "isolated":  # what follows an end-of-text was never learned
            prompt = had.val.ids[:4].tolist()
        samples = report.write_samples(
            trainer.model, had.tok, prompt, text, config.seq_len, config.seed
        )
        write_text(folder / sample_file, str(samples))
        console.print(str(samples), markup=False)
    if asked.is_set():
        done = f"after step {trainer.step} of {trainer.total_steps}"
        console.print(
            f"[yellow]stopped by Ctrl-C[/yellow] {done}; what was trained is kept, and "
            f"--resume {folder.as_posix()} goes on"
        )
    console.print(
        f"model, losses, plot, receipt and samples are in [bold]{folder.as_posix()}[/bold]"
    )
    return 130 if asked.is_set() else 0


def keep_ledger(config: Config, had: Prepared, steps: int, folder: Path) -> str:
    """Write what becomes of every training token in `steps` steps; its sums in one line."""
    windows = taken_windows(config, had.laid, steps)
    frame = ledger(had.train, had.laid, windows, config.boundaries)
    write_text(folder / "ledger.csv", frame.to_csv(index=False, lineterminator="\n"))
    if config.layout == "packed":
        rows = training_windows(config, had.laid)
        show.save_rows(folder / "rows.png", had.laid, rows, config.boundaries)
    return ledger_line(frame)


def resumed(config: Config, args: Sequence[str] | None) -> int:
    """Go on with the run that `--resume` names, under the settings of the run."""
    folder = runs.find(Path("runs"), config.resume)
    with runs.owned(folder):
        saved = checkpoint.load(folder)
        where = (folder / "config.json").as_posix()
        written = settings.read_settings(read_json(folder / "config.json"), where)
        now = settings.parse(args, default=written)
        settings.check_unchanged(now, settings.read_settings(saved.state["config"], where))
        return main(now, saved)


def cli(args: Sequence[str] | None = None) -> int:
    """Run the command line; a mistake is told in one line, with exit status 2."""
    config = settings.parse(args)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    try:
        return resumed(config, args) if config.resume else main(config)
    except OSError as error:
        told = f"{error.filename}: {error.strerror}" if error.filename else error
    except ValueError as error:
        told = error
    except KeyboardInterrupt:
        print("train.py: stopped by Ctrl-C; what was written is whole", file=sys.stderr)
        return 130
    print("train.py:", " ".join(str(told).split()), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(cli())

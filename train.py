"""`python train.py`: from a file to a trained model, in the documented order."""

import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, nullcontext, redirect_stdout
from dataclasses import asdict, replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import checkpoint
import commands
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
from feed import Prepared, divide, epoch_order, mapped, taken_windows, training_windows
from files import memory_bytes, owned, read_json, write_json, write_text
from ledger import ledger, ledger_line
from lineage import explain, window_lineage
from loop import train_steps
from model import GPT, count_weights
from packing import fill
from plan import Plan, check_memory, check_sides, leaks
from ranks import Group, here, joined
from scoring import Receipt, evaluate
from sides import audit_split, check_apart, side_sizes
from stream import Stream, cut_stream, encode_documents, segments_at, text_stream
from training import Trainer, choose_device, interrupts
from windows import count_steps, eval_windows, place_in_epoch

SAMPLE = "sample.txt"  # the last file: with it a run is finished

Pairs = Iterator[tuple[Any, Any]]
Batches = Iterator[tuple[Any, Any, np.ndarray | None]]


def start(config: Config, saved: checkpoint.Checkpoint | None = None) -> int:
    """Refuse what cannot work, join the other processes if there are any, and do the work."""
    config.check()
    torch.set_num_threads(config.threads)
    with joined(choose_device(config.device), config.batch_size) as group:
        return main(config, group, saved)


def main(config: Config, group: Group, saved: checkpoint.Checkpoint | None = None) -> int:
    """Read, plan, train and evaluate, from a checkpoint on if there is one; the exit status."""
    console = report.console()
    text = None
    if config.tokens:
        had = mapped(config)
    else:
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
            train_ids, _ = split_ids(stream.ids, config.val_fraction)  # first: no window crosses
            train, val = cut_stream(stream, len(train_ids))
            corpus = text.documents.attrs["intake"].sha256
            had = Prepared(text.documents, tok, train, train, val, None, corpus)
        else:
            had = divide(config, text.documents)
    if saved:
        checkpoint.check_same(saved.state, **had.digests)
    check_sides(len(had.laid), len(had.val), config.seq_len)
    inputs, targets = make_windows(had.laid.ids, config.seq_len, config.window_stride)
    check_fits(config, had.tok.vocab_size, len(inputs))

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
        model.to(group.device),
        plan.steps,
        config.batch_size * config.seq_len,
        boundaries=config.boundaries,
        group=group,
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


def check_fits(config: Config, vocab_size: int, n_windows: int) -> None:
    """Refuse what memory cannot hold before it is made."""
    B = config.batch_size
    steps = config.steps or count_steps(n_windows, B, config.n_epochs)
    check_memory(
        memory_bytes(),
        weights=count_weights(vocab_size, config.n_layer, config.d_model),
        logits=(B if config.sampling == "random" else min(B, n_windows))
        * config.seq_len
        * vocab_size,
        windows=steps * B,
    )


def proof(config: Config, had: Prepared, steps: int) -> list[Any]:
    """What the sides have and share, told before training; divided documents may share nothing.

    Looked at is what is really used: the windows of all steps, and those of the evaluation. Streams
    that were prepared have sides of their own, and it is enough that no document is in two.
    """
    spans = {side: stream.spans for side, stream in had.sides.items()}
    if had.documents is None:
        return [
            report.sides_table(check_apart(spans)),
            "[green]no document is on two sides[/green]",
        ]
    T, stride = config.seq_len, config.val_stride
    windows = {side: eval_windows(len(stream), T, stride) for side, stream in had.sides.items()}
    windows["train"] = taken_windows(config, had.laid, steps).reset_index(drop=True)
    used = {side: window_lineage(windows[side], spans[side]) for side in spans}
    found = audit_split(had.documents, used)
    if config.split == "ids":
        told = [f"[yellow]leaks:[/yellow] {leak}" for leak in leaks(had.train, had.val, had.tok)]
        shared = found.groupby("kind").size().reindex(["document", "group"], fill_value=0)
        counted = f"{shared['document']} documents, {shared['group']} groups of equal texts"
        return [*told, f"[yellow]on two sides:[/yellow] {counted}"]
    if len(found):
        raise RuntimeError(f"documents are on two sides, which is a mistake of ours:\n{found}")
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
    doc_ids = pd.concat(
        [had.train.spans["doc_id"]] + [s.spans["doc_id"] for s in had.sides.values()]
    )
    uses = sum(had.tok.uses(stream.ids) for stream in had.sides.values())
    return Plan(
        documents=doc_ids.nunique(),
        text_bytes=int(uses @ had.tok.token_bytes),
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

    The places of the windows come by the same functions, in the same order, as the windows.
    """
    if config.sampling == "random":
        T, B = config.seq_len, config.batch_size
        pairs = make_train_loader(laid.ids, T, B, config.seed, start)
        starts = map(pairs.starts_at, count(start))
    else:
        pairs = epochs(config, inputs, targets, start)
        places = pd.DataFrame(np.arange(len(inputs)) * config.window_stride, index=inputs.index)
        starts = (first[:, 0] for first, _ in epochs(config, places, places, start))
    if config.layout != "packed" and config.boundaries == "continuous":
        return ((xb, yb, None) for xb, yb in pairs)
    reach = np.arange(config.seq_len + 1)
    segments = (segments_at(laid.spans, first[:, None] + reach) for first in starts)
    return ((xb, yb, seg) for (xb, yb), seg in zip(pairs, segments, strict=True))


def epochs(config: Config, inputs: pd.DataFrame, targets: pd.DataFrame, start: int = 0) -> Pairs:
    """Batches from step `start` on, without end; each epoch in the order of its own seed."""
    first_epoch, first = place_in_epoch(start, len(inputs), config.batch_size)
    for epoch in count(first_epoch):
        order = epoch_order(config, len(inputs), epoch)
        yield from iterate_batches(
            inputs, targets, config.batch_size, None, start=first, order=order
        )
        first = 0


def go_on(trainer: Trainer, saved: checkpoint.Checkpoint, threads: int, feed: Batches) -> Batches:
    """Put the trainer where the checkpoint was; refuse when another batch would come next."""
    upcoming = next(feed)
    checkpoint.check_same(saved.state, next_batch=checkpoint.batch_digest(*upcoming[:2]))
    try:
        trainer.restore(saved.state["step"], saved.weights, saved.optimizers)
    except (RuntimeError, ValueError, KeyError, IndexError) as error:
        told = " ".join(str(error).split())
        raise ValueError(f"{saved.path.as_posix()} is of another model ({told:.200})") from None
    console = report.console()
    now = threads, trainer.device.type, trainer.group.world_size
    for difference in checkpoint.moved(saved.state, *now):
        console.print(f"[yellow]the last bits may differ[/yellow]: {difference}")
    return chain([upcoming], feed)


def run(
    config: Config,
    trainer: Trainer,
    text: str | None,
    had: Prepared,
    feed: Batches,
    saved: checkpoint.Checkpoint | None,
) -> int:
    """Train, and leave everything in the folder of the run; the exit status, 130 after Ctrl-C.

    Of several processes one writes. All score their share of an evaluation.
    """
    group, console, folder = trainer.group, report.console(), None
    if saved and trainer.step == trainer.total_steps and (saved.run / SAMPLE).exists():
        console.print(f"{saved.run.as_posix()} is finished: all {trainer.step} steps are done")
        return 0
    started, losses = asdict(replace(config, resume=None)), runs.Losses(None)
    with ExitStack() as held:
        asked = held.enter_context(interrupts(group))
        if group.leads:
            folder = saved.run if saved else runs.new_folder(Path("runs"), config.name)
            if not saved:
                held.enter_context(owned(folder, folder / "checkpoint"))
            losses = begin(config, trainer, had, folder, saved, started)

        def keep(upcoming: tuple[Any, ...]) -> None:
            if folder:
                digest, device = checkpoint.batch_digest(*upcoming[:2]), trainer.device.type
                state = {"step": trainer.step, "seed": config.seed, "next_batch": digest}
                state |= {"device": device, "processes": group.world_size, "config": started}
                state |= had.digests
                checkpoint.save(folder, trainer.weights(), trainer.optimizer_tensors(), state)

        def score(stream: Stream) -> Receipt:
            T, stride = config.seq_len, config.val_stride
            how = {"rank": group.rank, "world_size": group.world_size}
            how |= {"boundaries": config.boundaries}
            return summed(evaluate(trainer.model, stream, had.tok, T, stride, **how), group)

        validate = partial(score, had.val)
        receipt = train_steps(trainer, feed, validate, config.eval_every, losses, keep, asked)
        receipt = receipt or validate()
        tested = None if had.test is None else score(had.test)
        if folder:
            finish(config, trainer, text, had, folder, receipt, tested)
    if folder and asked.is_set():
        console.print(
            f"[yellow]stopped by Ctrl-C[/yellow] after step {trainer.step} of "
            f"{trainer.total_steps}; what was trained is kept, and --resume {folder.as_posix()} "
            "goes on"
        )
    return 130 if asked.is_set() else 0


def begin(
    config: Config,
    trainer: Trainer,
    had: Prepared,
    folder: Path,
    saved: checkpoint.Checkpoint | None,
    started: dict[str, Any],
) -> runs.Losses:
    """Write what is known before the first step; the losses up to the step of the checkpoint."""
    write_json(folder / "config.json", started)
    had.tok.save(folder / "tokenizer.json")
    (folder / SAMPLE).unlink(missing_ok=True)
    report.console().print(keep_ledger(config, had, trainer.total_steps, folder))
    was = saved.state["config"] if saved else {}
    return runs.Losses.read(folder, trainer.step, was.get("eval_every", config.eval_every))


def finish(
    config: Config,
    trainer: Trainer,
    text: str | None,
    had: Prepared,
    folder: Path,
    receipt: Receipt,
    tested: Receipt | None,
) -> None:
    """Show and write what the run has come to."""
    console = report.console()
    console.print(report.receipt_table(receipt))
    if tested:
        write_json(folder / "receipt-test.json", tested.as_dict())
        console.print(report.receipt_table(tested, "Receipt of the test side"))
    prompt = had.tok.encode("\n") if config.layout == "text" else [had.tok.eot_id]
    if config.boundaries == "isolated":  # what follows an end-of-text was never learned
        prompt = had.val.ids[:4].tolist()
    samples = report.write_samples(
        trainer.model, had.tok, prompt, text, config.seq_len, config.seed
    )
    write_text(folder / SAMPLE, str(samples))
    console.print(str(samples), markup=False)
    console.print(
        f"model, losses, plot, receipt and samples are in [bold]{folder.as_posix()}[/bold]"
    )


def summed(receipt: Receipt, group: Group) -> Receipt:
    """The receipt of all processes together, from that of this one."""
    sums = ("units", "count", "text_bytes")
    added = group.add([getattr(receipt, name) for name in sums])
    return replace(receipt, **dict(zip(sums, added, strict=True)))


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
    with nullcontext() if here() else owned(folder, folder / "checkpoint"):
        saved = checkpoint.load(folder)
        where = (folder / "config.json").as_posix()
        written = settings.read_settings(read_json(folder / "config.json"), where)
        now = settings.parse(args, default=written)
        state = (saved.path / "state.json").as_posix()
        settings.check_unchanged(now, settings.read_settings(saved.state["config"], state))
        return start(now, saved)


def cli(args: Sequence[str] | None = None) -> int:
    """Run the command line; a mistake is told in one line, with exit status 2."""
    config = settings.parse(args)
    prog, shown = "train.py", nullcontext()
    if rank := here():  # one process shows things, each tells its mistakes
        prog, shown = f"train.py (rank {rank})", redirect_stdout(io.StringIO())
    begin = partial(start, config) if config.resume is None else partial(resumed, config, args)
    with shown:
        return commands.told(prog, begin)


if __name__ == "__main__":
    sys.exit(cli())

"""`python lab.py`: what the pipeline promises, looked at on the stories in `data/`.

What is looked at stands in `checks.py` and `packing_checks.py`; here is the command line, and what
is shown.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import tyro
from tqdm import tqdm

import commands
from attention import MASK_UP_TO
from batches import batch_seed, make_train_loader
from checks import END, TOKENS, WINDOWS, B, Found, Lab, first_batch, look, random_state
from corpus import load_documents
from data import build_tokenizer, encode_corpus, load_corpus
from files import write_json
from ledger import ledger, ledger_line
from lineage import window_lineage
from loaders import RandomWindowDataset, make_dataloader
from packing_checks import PACKING, POLICIES, hand_documents, row_windows, rows_of, stream_of
from report import console
from show import rows_text
from sides import assign_splits
from storage import CORPUS, encode_all_splits
from stream import encode_documents
from tokenizer import Tokenizer
from windows import check_sizes

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MERGES = 255  # V = 512, as in seed 000
STORIES, LEAST = 100, 16  # `windows` and `packing`: stories; windows there must be
ROUNDS, BATCHES = 9, 50  # of a timing


@dataclass(frozen=True)
class Tokens:
    """Splits and their files, random windows, exact evaluation, resuming. Seed 000."""

    block_size: int = 128
    """Targets in one window (T)."""
    batch_size: int = 32
    """Windows in one batch (B)."""
    seed: int = 1337
    """Seed of the random windows."""
    stride: int = 64
    """Ids from one evaluation window's start to the next (s); T, T/2 and T/4 are tried as well."""
    output_dir: str | None = None
    """Folder to leave train.bin, val.bin and test.bin in. None: they are removed again."""
    benchmark: bool = False
    """Also time a batch: ours, and a DataLoader's with 0 and with 2 workers."""
    json_out: str | None = None
    """File to write the same to, as JSON."""


@dataclass(frozen=True)
class Windows:
    """Sliding windows, their Dataset and its loader, with a batch to read. Seed 004."""

    context_length: int = 16
    """Targets in one window (T)."""
    json_out: str | None = None
    """File to write the same to, as JSON."""


@dataclass(frozen=True)
class Packing:
    """Documents in rows: both masks, where each token came from, what became of it. Seed 003."""

    seq_len: int = 8
    """Targets in one row (T)."""
    json_out: str | None = None
    """File to write the same to, as JSON."""


Asked = Tokens | Windows | Packing


def token_lab(asked: Tokens, folder: Path) -> Lab:
    """The sides of the stories, in the ids of a tokenizer that has read the training side alone."""
    before, T = random_state(), asked.block_size
    check_sizes(block_size=T, batch_size=asked.batch_size, stride=asked.stride)
    batch_seed(asked.seed, 0), batch_seed(asked.seed + 1, END)  # refuse seeds that cannot be
    if asked.stride > T:
        raise ValueError(f"--stride must be from 1 to --block-size, {T}, got {asked.stride}")
    documents = assign_splits(load_documents(CORPUS), 0.1, 0.1)
    tok = build_tokenizer("\n".join(documents.loc[documents["split"] == "train", "text"]), MERGES)
    ids = encode_all_splits(tok, documents)
    for split in ("train", "val"):
        _need(ids[split], T, f"--block-size {T} needs", f"split {split!r}")
    return Lab(asked, T, documents, tok, ids, before, folder)


def window_lab(asked: Windows, folder: Path) -> Lab:
    """A few stories as one text, in the ids of a small tokenizer."""
    before, T = random_state(), asked.context_length
    check_sizes(context_length=T)
    text = load_corpus(CORPUS, max_rows=STORIES)
    tok = build_tokenizer(text, MERGES)
    ids = encode_corpus(text, tok)
    _need(ids, LEAST * T, f"{LEAST} windows of --context-length {T} need", "the text")
    return Lab(asked, T, text.documents, tok, ids, before, folder)


def packing_lab(asked: Packing, folder: Path) -> Lab:
    """A few stories, each with its end-of-text, in the ids of a small tokenizer."""
    before, T = random_state(), asked.seq_len
    if not 1 <= T <= MASK_UP_TO:
        raise ValueError(f"--seq-len must be from 1 to {MASK_UP_TO}, to be looked at, got {T}")
    text = load_corpus(CORPUS, max_rows=STORIES)
    tok = build_tokenizer(text, MERGES)
    return Lab(asked, T, text.documents, tok, encode_documents(text.documents, tok), before, folder)


def _need(ids: Any, n: int, wanted: str, where: str) -> None:
    if len(ids) <= n:
        raise ValueError(f"{wanted} {n + 1:,} ids, {where} has {len(ids):,}; take a smaller T")


# ---- what is shown


def checks_table(rows: list[dict[str, Any]], width: int) -> "Table":
    """A row a check; what does not hold stands in red."""
    from rich.table import Table  # here, for importing rich moves Python's global random state
    from rich.text import Text

    table = Table(show_lines=True, width=width, border_style="dim")
    table.add_column("check", style="cyan", width=9)
    for heading, ratio in (("proves", 9), ("does not prove", 8), ("found", 15)):
        table.add_column(heading, ratio=ratio)
    table.add_column("ok", width=3)
    for row in rows:
        words = (Text(row[key]) for key in ("check", "proves", "does_not_prove"))
        lines = [
            Text(f"{name}: {_told(value)}", "bold red" if value is False else "")
            for name, value in row["found"].items()
        ]
        ok = Text(_told(row["ok"]), "green" if row["ok"] else "bold red")
        table.add_row(*words, Text("\n").join(lines), ok)
    return table


def _told(value: bool | int | float | str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return value if isinstance(value, str) else f"{value:,}"


def batch_table(lab: Lab, shown: int = 16) -> "Table":
    """The first tokens of each row of a batch, with a bar between tokens."""
    from rich.table import Table
    from rich.text import Text

    told = f", the first {shown} tokens of {lab.T}" if shown < lab.T else ""
    table = Table(
        title=f"A batch of {B} windows as text{told}", title_justify="left", border_style="dim"
    )
    for heading, style in (("row", "cyan"), ("", "cyan"), ("tokens", "")):
        table.add_column(heading, style=style)
    for row, (x, y) in enumerate(zip(*first_batch(lab), strict=True)):
        for name, ids in ((f"{row}", x), ("", y)):
            tokens = [_readable(lab.tok, i) for i in ids[:shown].tolist()]
            line = Text("|").join(map(Text, tokens))
            line.highlight_regex(r"\|", "cyan")
            table.add_row(name, "x" if name else "y", line)
        table.add_section()
    return table


def _readable(tok: Tokenizer, token: int) -> str:
    """A token as text; a byte that is no letter by itself as `\\xc3`, a newline as `\\n`."""
    return tok.decode_bytes([token]).decode("utf-8", "backslashreplace").replace("\n", "\\n")


def timings(lab: Lab) -> dict[str, dict[str, float]]:
    """Milliseconds to the first batch; microseconds a batch, the median of rounds in turn."""
    ids, T, size, seed = lab.ids["train"], lab.T, lab.asked.batch_size, lab.asked.seed
    data = RandomWindowDataset(ids, T, (ROUNDS * BATCHES + 1) * size, seed)
    feeds = {
        "make_train_loader": make_train_loader(ids, T, size, seed),
        "DataLoader, 0 workers": make_dataloader(data, size),
        "DataLoader, 2 workers": make_dataloader(data, size, num_workers=2),
    }
    times = {name: [] for name in feeds}
    for n in [1] + ROUNDS * [BATCHES]:
        for name in feeds:
            begun = time.perf_counter()
            feeds[name] = iter(feeds[name])  # an iterator stays itself, a loader starts its workers
            list(islice(feeds[name], n))
            times[name].append((time.perf_counter() - begun) / n)
    return {
        name: {"first_ms": round(first * 1e3, 1), "us": round(statistics.median(rest) * 1e6, 1)}
        for name, (first, *rest) in times.items()
    }


class Numbers:
    """Just enough of a tokenizer to show ids as the numbers that they are."""

    eot_id = -1  # no id is shown in another way

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """The ids in decimal digits."""
        return " ".join(map(str, ids)).encode()


def show_batch(lab: Lab, screen: "Console") -> None:
    """Print the batch of windows as text."""
    screen.print(batch_table(lab))


def show_rows(lab: Lab, screen: "Console") -> None:
    """Print the documents made by hand in rows: both masks, lineage, ledger."""
    documents, T = hand_documents(lab.T), lab.T
    source, named = stream_of(documents), ", ".join(f"{len(ids)}" for ids in documents)
    laid = rows_of(source, T, 0, POLICIES[0])
    windows = row_windows(laid, T)
    for boundaries in ("continuous", "isolated"):
        told = f"Documents of {named} ids in rows of {T + 1}, best fit, {boundaries}"
        screen.print(f"[italic]{told}[/]\n")
        screen.print(rows_text(laid, windows, Numbers(), boundaries), soft_wrap=True, end="")
    frame = ledger(source, laid, windows, "isolated")
    screen.print(frame_table(window_lineage(windows, laid.spans), "Which tokens are in which row"))
    screen.print(frame_table(frame, "What became of each token, documents isolated"))
    screen.print(ledger_line(frame) + "\n", soft_wrap=True)


def frame_table(frame: pd.DataFrame, title: str) -> "Table":
    """A frame, a line a row."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", border_style="dim")
    for name in frame:
        table.add_column(name, justify="left" if name == "reason" else "right")
    for row in frame.astype(str).itertuples(index=False):
        table.add_row(*row)
    return table


RUNS: dict[type, tuple[Callable, list[Callable[[Lab], Found]], Callable | None]] = {
    Tokens: (token_lab, TOKENS, None),
    Windows: (window_lab, WINDOWS, show_batch),
    Packing: (packing_lab, PACKING, show_rows),
}


def main(asked: Asked) -> int:
    """Look at everything, show it and write what was asked for; 1 if a check fails, else 0."""
    if asked.json_out and not Path(asked.json_out).parent.is_dir():
        raise FileNotFoundError(f"--json-out {asked.json_out}: there is no such folder")
    make, checks, show = RUNS[type(asked)]
    kept = getattr(asked, "output_dir", None)
    with nullcontext(kept) if kept else tempfile.TemporaryDirectory() as folder:
        lab = make(asked, Path(folder))
        lab.folder.mkdir(parents=True, exist_ok=True)
        bar = tqdm(checks, "checking", leave=False, delay=2, disable=None)
        rows = [look(check, lab) for check in bar]
    screen = console()
    if show:
        show(lab, screen)
    screen.print(checks_table(rows, min(screen.width, 120)))
    report = {"lab": type(asked).__name__.lower(), "settings": asdict(asked), "checks": rows}
    if getattr(asked, "benchmark", False):
        report["timings"] = timings(lab)
        for name, took in report["timings"].items():
            screen.print(f"{name}: {took['us']:,} µs a batch, the first {took['first_ms']:,} ms")
    failed = [row["check"] for row in rows if not row["ok"]]
    told = f"[bold red]{len(failed)} of {len(rows)} checks failed[/]: {', '.join(failed)}"
    screen.print(told if failed else f"[green]all {len(rows)} checks hold[/]")
    if asked.json_out:
        write_json(Path(asked.json_out), report | {"ok": not failed})
    return 1 if failed else 0


def parse(args: Sequence[str] | None = None) -> Asked:
    """What a command line asks for, `sys.argv` if None; a misspelt one exits with 2."""
    return tyro.cli(Asked, args=args, prog="lab.py")  # of two words tyro would lose one


def cli(args: Sequence[str] | None = None) -> int:
    """Run the command line; a mistake is told in one line, with exit status 2."""
    asked = parse(args)
    return commands.told("lab.py", lambda: main(asked))


if __name__ == "__main__":
    sys.exit(cli())

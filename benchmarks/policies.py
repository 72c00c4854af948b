"""What each way to lay out documents costs, and what one model learns from it in the same time.

One division of the documents for all, one tokenizer, one model and seed, one thread. T is 256, so
that a document is about as long as a row: at the default T nearly all are longer, and to drop them
would leave nothing. Windows of the streams that are no rows lie T apart, so an epoch of any way
predicts each of its tokens about once. Batches of 4 make twice the steps of batches of 8, and a
model that is clearly better after so short a time.

The ways train in turn, a slice of time each, until each has had the same wall time; the learning
rate falls as that time goes, so a way that is faster makes more steps. Then all are scored on the
same documents at the same T and stride, continuous and isolated; the way `text` in its own
layout, for it has never met an end-of-text. There the newline after a document is a byte.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from benchmarks.measure import row
from benchmarks.record import ROOT
from config import Config
from corpus import load_documents
from data import make_windows
from feed import Prepared, divide, training_windows
from ledger import ledger
from model import GPT
from packing import fill
from scoring import Receipt, compare, evaluate
from train import batches
from training import Trainer

SECONDS, SLICES = 7.0, 10
BASE = Config(split="documents", seq_len=256, batch_size=4)
EOT = {"layout": "eot", "stride": 256}
PACKED = {"layout": "packed"}
WAYS: dict[str, dict[str, Any]] = {
    "text": {"layout": "text", "stride": 256},
    "eot": EOT,
    "eot_isolated": EOT | {"boundaries": "isolated"},
    "fragment": PACKED,
    "fragment_isolated": PACKED | {"boundaries": "isolated"},
    "sequential": PACKED | {"packing": "sequential"},
    "truncate": PACKED | {"long_doc": "truncate"},
    "drop": PACKED | {"long_doc": "drop"},
}


class Run:
    """One way: what it is fed, and its training in slices of time."""

    def __init__(self, c: Config, had: Prepared) -> None:
        self.c, self.had, self.spent, self.targets = c, had, 0.0, 0
        model = GPT(had.tok.vocab_size, c.n_layer, c.n_head, c.d_model, c.seed)
        size = c.batch_size * c.seq_len
        options = {"lr": c.lr, "warmup": c.warmup, "boundaries": c.boundaries}
        self.trainer = Trainer(model, 10**6, size, **options)
        inputs, targets = make_windows(had.laid.ids, c.seq_len, c.window_stride)
        self.feed: Iterator = batches(c, had.laid, inputs, targets)

    def train_until(self, seconds: float) -> None:
        """Train until this way has had so much time; the rate falls towards the end of all."""
        while self.spent < seconds:
            begun = time.perf_counter()
            self.trainer.train_on(*next(self.feed))
            self.targets += self.trainer.targets
            self.spent += time.perf_counter() - begun
            left = max(0.0, SECONDS / self.spent - 1)
            self.trainer.total_steps = self.trainer.step + 1 + int(self.trainer.step * left)

    def receipt(self, boundaries: str) -> Receipt:
        """The validation documents, scored."""
        c, had = self.c, self.had
        scheme = {"boundaries": boundaries}
        return evaluate(self.trainer.model, had.val, had.tok, c.seq_len, c.val_stride, **scheme)

    def figures(self) -> dict[str, Any]:
        """Windows, fill, the ledger of one epoch, and the speed."""
        windows = training_windows(self.c, self.had.laid)
        frame = ledger(self.had.train, self.had.laid, windows, self.c.boundaries)
        return {
            "windows": len(windows),
            "fill": fill(self.had.laid),
            "dropped": int(frame["dropped"].sum()),
            "masked": int(frame["masked"].sum()),
            "steps": self.trainer.step,
            "tokens_per_second": self.targets / self.spent,
        }


@row(
    *("attention.py", "batches.py", "config.py", "corpus.py", "data.py", "feed.py", "ledger.py"),
    *("model.py", "optim.py", "packing.py", "readers.py", "scoring.py", "sides.py", "stream.py"),
    *("tokenizer.py", "train.py", "training.py", "windows.py"),
)
def policies() -> dict[str, Any]:
    """Each way's windows, fill, dropped, masked, targets a second and bits per byte."""
    torch.set_num_threads(1)
    documents = load_documents(ROOT / BASE.corpus_path, max_rows=BASE.max_rows)
    divided: dict[Config, Prepared] = {}  # for the streams are the same under both boundaries
    runs = {}
    for way, settings in WAYS.items():
        c = replace(BASE, **settings)
        c.check()
        streams = replace(c, boundaries="continuous")
        if streams not in divided:
            divided[streams] = divide(c, documents)
        runs[way] = Run(c, divided[streams])
    for part in range(1, SLICES + 1):
        for run in runs.values():
            run.train_until(SECONDS * part / SLICES)
    spans = runs["eot"].had.train.spans
    lengths = spans["stop"] - spans["start"]
    figures = {"seconds": SECONDS, "seq_len": BASE.seq_len, "tokens": int(lengths.sum())}
    figures |= {"documents": len(spans), "longer": int((lengths > BASE.seq_len + 1).sum())}
    for boundaries in ("continuous", "isolated"):
        receipts = {way: run.receipt(boundaries) for way, run in runs.items()}
        for way, receipt in receipts.items():
            compare(receipts["eot"], receipt, "bits_per_byte")  # or it refuses
            figures[f"{way}_bits_per_byte_{boundaries}"] = receipt.bits_per_byte
    for way, run in runs.items():
        figures |= {f"{way}_{name}": value for name, value in run.figures().items()}
    return figures

"""What feeds a run, as its settings say: the streams of its sides, the windows that it takes."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from batches import make_train_loader
from bijection import Bijection
from config import Config
from corpus import CorpusText
from data import build_tokenizer
from packing import pack
from prepared import load_prepared
from sides import SPLITS, assign_splits, check_split
from stream import Stream, encode_documents, encode_text
from tokenizer import Tokenizer
from windows import (
    count_windows,
    place_in_epoch,
    sliding_windows,
    window_order,
    window_table,
)

# ---- the streams of the sides


@dataclass(frozen=True)
class Prepared:
    """What a run is made of. `train` is the training side as it was read, `laid` as it lies.

    `corpus` is a digest of what was read, `documents` are None if they are not at hand.
    """

    documents: pd.DataFrame | None
    tok: Tokenizer
    train: Stream
    laid: Stream
    val: Stream
    test: Stream | None
    corpus: str

    @property
    def digests(self) -> dict[str, str]:
        """Digests of what feeds the run."""
        return {"corpus": self.corpus, "tokenizer": self.tok.fingerprint}

    @property
    def sides(self) -> dict[str, Stream]:
        """The streams that are trained on and scored, by side."""
        return {"train": self.laid, "val": self.val} | ({"test": self.test} if self.test else {})


def divide(config: Config, documents: pd.DataFrame) -> Prepared:
    """The documents divided before anything is fitted: the tokenizer reads the training side."""
    corpus = documents.attrs["intake"].sha256
    documents = assign_splits(documents, config.val_fraction, config.test_fraction, config.seed)
    check_split(documents, SPLITS if config.test_fraction else SPLITS[:2])
    sides = {side: documents[documents["split"] == side] for side in SPLITS}
    tok = build_tokenizer(CorpusText.join(sides["train"]), config.num_merges)
    encode = encode_text if config.layout == "text" else encode_documents
    streams = {side: encode(some, tok) for side, some in sides.items() if len(some)}
    train, val, test = (streams.get(side) for side in SPLITS)
    return Prepared(documents, tok, train, lay(config, train, tok), val, test, corpus)


def mapped(config: Config) -> Prepared:
    """What `prepare.py` left in the folder of `--tokens`, ids read from its files when used."""
    left = load_prepared(config.tokens)
    train, val, test = (left.streams.get(side) for side in SPLITS)
    corpus = left.report["corpus_sha256"]
    return Prepared(None, left.tok, train, lay(config, train, left.tok), val, test, corpus)


def lay(config: Config, train: Stream, tok: Tokenizer) -> Stream:
    """The training side as it is trained on: as it is, or in rows."""
    if config.layout != "packed":
        return train
    policy, order = config.long_doc, config.packing
    return pack(train, config.seq_len, tok.eot_id, policy, order=order, tail=config.tail)


# ---- the windows that it takes


def epoch_order(config: Config, n_windows: int, epoch: int) -> np.ndarray | Bijection | range:
    """The windows of an epoch in the order of `--shuffle`."""
    if config.shuffle == "bijection":
        return Bijection(n_windows, config.seed, epoch)
    if config.shuffle == "none":
        return np.arange(n_windows)
    return window_order(n_windows, np.random.default_rng(config.seed + epoch))


def training_windows(config: Config, laid: Stream) -> pd.DataFrame:
    """All windows that training may take."""
    stride = 1 if config.sampling == "random" else config.window_stride
    return sliding_windows(len(laid), config.seq_len, stride)


def taken_windows(config: Config, laid: Stream, steps: int) -> pd.DataFrame:
    """The windows of the first `steps` batches, those that come again included."""
    T, B = config.seq_len, config.batch_size
    if config.sampling == "random":
        loader = make_train_loader(laid.ids, T, B, config.seed)
        return window_table(np.concatenate([loader.starts_at(step) for step in range(steps)]), T)
    n_windows = count_windows(len(laid), T, config.window_stride)
    epoch, batch = place_in_epoch(steps, n_windows, B)
    numbers = [np.arange(n_windows)] * epoch
    numbers.append(epoch_order(config, n_windows, epoch)[: batch * B])
    return window_table(np.concatenate(numbers) * config.window_stride, T)

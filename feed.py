"""What feeds a run, as its settings say: the streams of its sides, the windows that it takes."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from batches import make_train_loader
from config import Config
from corpus import CorpusText
from data import build_tokenizer
from packing import pack
from sides import SPLITS, assign_splits, check_split
from stream import Stream, encode_documents, encode_text
from tokenizer import Tokenizer
from windows import place_in_epoch, sliding_windows, window_order, window_table


@dataclass(frozen=True)
class Prepared:
    """What a run is made of. `train` is the training side as it was read, `laid` as it lies."""

    documents: pd.DataFrame
    tok: Tokenizer
    train: Stream
    laid: Stream
    val: Stream
    test: Stream | None

    @property
    def digests(self) -> dict[str, str]:
        """Digests of what feeds the run."""
        corpus = self.documents.attrs["intake"].sha256
        return {"corpus": corpus, "tokenizer": self.tok.fingerprint}


def divide(config: Config, documents: pd.DataFrame) -> Prepared:
    """The documents divided before anything is fitted: the tokenizer reads the training side."""
    documents = assign_splits(documents, config.val_fraction, config.test_fraction, config.seed)
    check_split(documents, SPLITS if config.test_fraction else SPLITS[:2])
    sides = {side: documents[documents["split"] == side] for side in SPLITS}
    tok = build_tokenizer(CorpusText.join(sides["train"]), config.num_merges)
    encode = encode_text if config.layout == "text" else encode_documents
    streams = {side: encode(some, tok) for side, some in sides.items() if len(some)}
    laid = train = streams["train"]
    if config.layout == "packed":
        policy, order = config.long_doc, config.packing
        laid = pack(train, config.seq_len, tok.eot_id, policy, order=order, tail=config.tail)
    return Prepared(documents, tok, train, laid, streams["val"], streams.get("test"))


def training_windows(config: Config, laid: Stream) -> pd.DataFrame:
    """All windows that training may take."""
    stride = 1 if config.sampling == "random" else config.window_stride
    return sliding_windows(len(laid), config.seq_len, stride)


def taken_windows(config: Config, laid: Stream, steps: int) -> pd.DataFrame:
    """The windows of the first `steps` batches, those that come again included."""
    T, B = config.seq_len, config.batch_size
    if config.sampling == "random":
        loader = make_train_loader(np.arange(len(laid)), T, B, config.seed)  # an id is its place
        drawn = [loader.batch_at(step)[0][:, 0].numpy() for step in range(steps)]
        return window_table(np.concatenate(drawn), T)
    windows = training_windows(config, laid)
    epoch, batch = place_in_epoch(steps, len(windows), B)
    order = np.arange(len(windows))
    if config.shuffle == "pandas":
        order = window_order(len(windows), np.random.default_rng(config.seed + epoch))
    return pd.concat([windows] * epoch + [windows.iloc[order[: batch * B]]])

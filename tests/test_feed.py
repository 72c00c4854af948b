"""What feeds a run: the streams of its sides, and the windows that it takes."""

from itertools import islice

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

import train
from config import Config
from corpus import load_documents
from feed import divide, taken_windows, training_windows
from stream import Stream, segment_ids
from windows import gather

DIVIDED = Config(split="documents", test_fraction=0.1, num_merges=50, seq_len=16, seed=3)


@pytest.fixture(scope="module")
def documents() -> pd.DataFrame:
    return load_documents(ROOT / "data" / "corpus.csv", max_rows=60)


def stream_of(n: int) -> Stream:
    spans = pd.DataFrame({"start": [0], "stop": [n], "doc_id": [0], "doc_start": [0]})
    return Stream(np.arange(n), spans)


@pytest.mark.parametrize("layout", ["text", "eot", "packed"])
def test_each_side_has_its_own_documents_and_the_tokenizer_only_read_those_of_training(
    documents, layout
):
    had = divide(Config(**(vars(DIVIDED) | {"layout": layout})), documents)
    sides = {"train": had.laid, "val": had.val, "test": had.test}
    held = {side: set(stream.spans["doc_id"]) for side, stream in sides.items()}
    owned = had.documents.groupby("split").groups
    assert held == {side: set(owned[side]) for side in held}
    text = "\n".join(had.documents.loc[had.documents["split"] == "train", "text"]) + "\n"
    assert had.tok.fingerprint == train.build_tokenizer(text, 50).fingerprint
    assert (had.laid is had.train) == (layout != "packed")


def test_without_a_test_fraction_there_is_no_test_side(documents):
    had = divide(Config(**(vars(DIVIDED) | {"test_fraction": 0.0})), documents)
    assert had.test is None
    assert set(had.documents["split"]) == {"train", "val"}


def test_the_digests_are_those_of_the_file_and_of_the_tokenizer(documents):
    had = divide(DIVIDED, documents)
    corpus = documents.attrs["intake"].sha256
    assert had.digests == {"corpus": corpus, "tokenizer": had.tok.fingerprint}


@pytest.mark.parametrize(
    "settings", [{}, {"sampling": "random"}, {"shuffle": "none"}, {"shuffle": "bijection"}]
)
@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8])
def test_the_windows_taken_are_those_of_the_batches_of_the_run(settings, steps):
    """46 ids at stride 4, T = 6: ten windows, three batches of four an epoch."""
    config = Config(**({"seq_len": 6, "stride": 4, "batch_size": 4, "seed": 5} | settings))
    laid = stream_of(46)
    inputs, targets = train.make_windows(laid.ids, 6, 4)
    coming = train.batches(config, laid, inputs, targets)
    came = np.concatenate([np.asarray(next(coming)[0])[:, 0] for _ in range(steps)])
    taken = taken_windows(config, laid, steps)
    assert sorted(taken["start"]) == sorted(came)
    assert gather(laid.ids, taken)[0].shape == (len(came), 6)


@pytest.mark.parametrize(
    "settings", [{}, {"sampling": "random"}, {"shuffle": "bijection"}, {"layout": "packed"}]
)
def test_the_segments_of_a_batch_are_those_of_its_own_windows(settings):
    """An id says where it stands, so what stands there can be looked up for each window."""
    packed = {"layout": "packed", "split": "documents"} if "layout" in settings else {}
    config = Config(
        **(
            {"seq_len": 4, "stride": 3, "batch_size": 3, "boundaries": "isolated"}
            | settings
            | packed
        )
    )
    spans = pd.DataFrame({"start": [0, 3, 9, 21], "stop": [3, 8, 20, 30], "doc_id": 0})
    laid = Stream(np.arange(30), spans.assign(doc_start=0))
    segments = segment_ids(laid.spans, 30)
    coming = train.batches(config, laid, *train.make_windows(laid.ids, 4, config.window_stride))
    for xb, yb, seg in islice(coming, 9):
        places = np.column_stack([np.asarray(xb), np.asarray(yb)[:, -1]])
        assert seg.tolist() == segments[places].tolist()


def test_random_windows_may_start_anywhere_and_packed_ones_at_a_row():
    """20 ids, T = 4: 16 places at random; rows of 5 at 0, 5, 10 and 15."""
    laid = stream_of(20)
    anywhere = Config(seq_len=4, sampling="random")
    rows = Config(seq_len=4, layout="packed", split="documents")
    assert training_windows(anywhere, laid)["start"].tolist() == list(range(16))
    assert training_windows(rows, laid)["start"].tolist() == [0, 5, 10, 15]

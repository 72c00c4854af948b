"""A prepared folder gives its streams, or says which file does not fit."""

import json
from unittest import mock

import pandas as pd
import pytest

from prepared import load_prepared
from stream import encode_documents
from streamfiles import save_stream
from tokenizer import Tokenizer


@pytest.fixture
def folder(tmp_path, tok):
    with mock.patch("os.fsync"):
        tok.save(tmp_path / "tokenizer.json")
        lengths = {}
        for side, text in (("train", "the old man"), ("val", "the sea")):
            stream = encode_documents(pd.DataFrame({"text": [text]}), tok)
            save_stream(stream, tmp_path / side, tok)
            lengths[side] = len(stream)
    write(tmp_path, {"tokens": lengths})
    return tmp_path


def write(folder, report):
    whole = {"corpus_sha256": "c" * 64} | report
    (folder / "prepared.json").write_text(json.dumps(whole), encoding="utf-8")


def test_it_gives_the_streams_mapped_their_tokenizer_and_the_report(folder, tok):
    had = load_prepared(str(folder))
    assert list(had.streams) == ["train", "val"] and had.tok.fingerprint == tok.fingerprint
    assert tok.decode(had.streams["val"].ids) == "the sea<|endoftext|>"
    assert not had.streams["val"].ids.flags.writeable
    assert had.report["tokens"]["val"] == len(had.streams["val"])
    assert had.folder == folder


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "prepared.json",
            r"there is no prepared\.json; python prepare\.py --out .* writes it last",
        ),
        ("train.bin", r"train\.bin: there is no such file"),
        ("tokenizer.json", "No such file"),
    ],
)
def test_a_missing_file_is_named(folder, name, message):
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=message):
        load_prepared(folder)


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ({}, "'tokens' must be of train and val"),
        ({"tokens": 7}, "'tokens' must be of train and val"),
        ({"tokens": {"train": 1}}, "'tokens' must be of train and val"),
        ({"tokens": {"train": 1, "val": 1, "dev": 1}}, "'tokens' must be of train and val"),
        ({"tokens": {"train": 1, "val": 1}, "corpus_sha256": 1}, "'corpus_sha256' must be a text"),
        ({"tokens": {"train": 1, "val": 1}}, r"train has \d+ tokens, prepared\.json says 1;"),
    ],
)
def test_a_report_that_does_not_fit_is_refused(folder, report, message):
    write(folder, report)
    with pytest.raises(ValueError, match=message):
        load_prepared(folder)


def test_streams_of_another_tokenizer_are_refused(folder):
    Tokenizer([]).save(folder / "tokenizer.json")
    with pytest.raises(ValueError, match="the tokenizer that made the ids is"):
        load_prepared(folder)


def test_altered_bytes_are_refused_unless_they_are_trusted(folder):
    file = folder / "val.bin"
    file.write_bytes(b"a" + file.read_bytes()[1:])
    with pytest.raises(ValueError, match=r"val\.bin: its bytes have the checksum"):
        load_prepared(folder)
    assert len(load_prepared(folder, verify=False).streams["val"])

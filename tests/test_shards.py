"""A shard is made whole, kept while it fits, and joined with its neighbours."""

import json
from dataclasses import replace
from unittest import mock

import pytest

import shards
from addresses import whole_file
from intake import Recipe
from shards import join_shards, kept_shard, make_shard, shard_identity
from streamfiles import load_stream
from tokenizer import Tokenizer

RECIPE = Recipe(val_fraction=0.0)


@pytest.fixture
def made(tmp_path, tok, write_csv):
    """How to make shard 0 of a file with the documents hi, a blank one, and you."""
    tok.save(tmp_path / "tokenizer.json")
    part = whole_file(write_csv("text\nhi\n \nyou\n"))
    identity = shard_identity(part, "f" * 64, RECIPE, tok.fingerprint)
    job = (part, RECIPE, 3, tmp_path / "000000", identity, tmp_path / "tokenizer.json")
    with mock.patch("os.fsync"):
        yield lambda: make_shard(*job, tok.fingerprint)


def test_a_shard_is_a_stream_for_each_side_and_a_note(tmp_path, made, tok):
    """hi and you with an end-of-text each are 7 ids of bytes; records 0 and 2."""
    note = made()
    stream = load_stream(tmp_path / "000000-train", tok)
    assert tok.decode(stream.ids) == "hi<|endoftext|>you<|endoftext|>"
    assert stream.spans["doc_id"].tolist() == [0, 2]
    assert note == {"identity": note["identity"], "records": 3, "tokens": {"train": len(stream)}}
    assert json.loads((tmp_path / "000000.json").read_bytes()) == note
    assert not (tmp_path / "000000-val.bin").exists()


def test_a_whole_shard_is_kept_without_reading_its_partition(made, monkeypatch):
    note = made()
    monkeypatch.setattr(shards, "divided", None)
    assert made() == note


@pytest.mark.parametrize("name", ["0.json", "0-train.bin", "0-train.json", "0-train.spans.parquet"])
def test_without_a_file_or_with_a_byte_altered_it_is_made_again(tmp_path, made, tok, name):
    note, file = made(), tmp_path / f"00000{name}"
    content = file.read_bytes()
    for damage in (None, b"", content[:-2], content[:-1] + bytes([content[-1] ^ 1])):
        file.unlink() if damage is None else file.write_bytes(damage)
        assert kept_shard(tmp_path / "000000", note["identity"], 3, tok) is None
        assert made() == note
        assert file.read_bytes() == content
    assert kept_shard(tmp_path / "000000", "another", 3, tok) is None
    assert kept_shard(tmp_path / "000000", note["identity"], 3, Tokenizer([])) is None


def test_a_note_of_other_lengths_is_none(tmp_path, made, tok):
    note = made()
    (tmp_path / "000000.json").write_text(json.dumps(note | {"tokens": {"train": 1}}), "utf-8")
    assert kept_shard(tmp_path / "000000", note["identity"], 3, tok) is None
    assert made() == note
    assert kept_shard(tmp_path / "000000", note["identity"], 4, tok) is None


def test_all_that_decides_the_bytes_decides_the_identity(write_csv):
    part = whole_file(write_csv("text\nhi\n"))
    first = shard_identity(part, "f", RECIPE, "t")
    others = [
        shard_identity(part, "e", RECIPE, "t"),
        shard_identity(part, "f", RECIPE, "u"),
        shard_identity(part, "f", replace(RECIPE, seed=1), "t"),
        shard_identity(replace(part, start=1), "f", RECIPE, "t"),
        shard_identity(replace(part, stop=9), "f", RECIPE, "t"),
        shard_identity(replace(part, header=("text",)), "f", RECIPE, "t"),
        shard_identity(replace(part, address="a.jsonl"), "f", RECIPE, "t"),
    ]
    assert len({first, *others}) == 8
    assert shard_identity(replace(part, address="elsewhere/b.csv"), "f", RECIPE, "t") == first


def test_joined_documents_are_numbered_over_all_records(tmp_path, made, tok):
    """Records 0 and 2 of the first 3, then 3 and 5."""
    notes = [(tmp_path / "000000", made())] * 2
    assert (
        join_shards(notes, "train", tmp_path, tok, "c" * 64) == 2 * notes[0][1]["tokens"]["train"]
    )
    stream = load_stream(tmp_path / "train", tok)
    assert tok.decode(stream.ids) == "hi<|endoftext|>you<|endoftext|>" * 2
    assert stream.spans["doc_id"].tolist() == [0, 2, 3, 5]
    assert stream.spans["stop"].iloc[-1] == len(stream)


def test_another_tokenizer_in_the_folder_is_refused(tmp_path, made):
    made()
    shards._loaded.cache_clear()
    Tokenizer([]).save(tmp_path / "tokenizer.json")
    with pytest.raises(ValueError, match=r"not the tokenizer .* that this run began with"):
        made()

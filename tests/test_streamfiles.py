"""A stream comes back from disk as it was, or the part that does not fit is named."""

import hashlib
import json
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import streamfiles
from stream import Stream, cut_stream, encode_documents, encode_text
from streamfiles import load_stream, read_manifest, save_stream
from tokenizer import Tokenizer, learn_merges

BYTES = Tokenizer([])
TOK = Tokenizer(learn_merges("the old man and the sea\nthe old woman\n" * 5, 40))
WIDE = 70_000  # more tokens than two bytes can number


class WideTokenizer:
    """What `save_stream` asks of a tokenizer, with a large vocabulary."""

    vocab_size, eot_id, fingerprint = WIDE, WIDE - 1, "f" * 64


def documents_of(texts: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"text": texts}, index=pd.Index(range(0, 2 * len(texts), 2), name="doc_id"))


def saved(folder: Path, stream: Stream | None = None, tok: Tokenizer = TOK) -> Path:
    """A small stream on disk."""
    path = folder / "train"
    save_stream(
        stream or encode_documents(documents_of(["the old man", "the sea"]), tok), path, tok
    )
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def edit(path: Path, **changes: object) -> None:
    """Another manifest, as a careless hand would write it; a change to None takes a key out."""
    file = path.with_name(path.name + ".json")
    content = json.loads(file.read_text(encoding="utf-8")) | changes
    content = {key: value for key, value in content.items() if value is not None}
    file.write_text(json.dumps(content), encoding="utf-8")


def full_disk(ids, dtype, file):
    file.write_bytes(b"half")
    raise OSError(28, "No space left on device")


texts = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
    .map(str.strip)
    .filter(bool),
    min_size=1,
    max_size=6,
)

# ---- a stream: three files


def test_a_stream_is_three_files_and_the_manifest_says_what_they_are(tmp_path):
    stream = encode_documents(documents_of(["hi", "you"]), BYTES)
    save_stream(stream, tmp_path / "train.v2", BYTES, corpus_sha256="c" * 64)
    assert names(tmp_path) == ["train.v2.bin", "train.v2.json", "train.v2.spans.parquet"]
    content = (tmp_path / "train.v2.bin").read_bytes()
    assert content == b"h\0i\0\0\1y\0o\0u\0\0\1"  # 256, the end-of-text, is 00 01
    spans = (tmp_path / "train.v2.spans.parquet").read_bytes()
    assert json.loads((tmp_path / "train.v2.json").read_text(encoding="utf-8")) == {
        "dtype": "uint16",
        "byteorder": "little",
        "count": 7,
        "vocab_size": 257,
        "eot_id": 256,
        "layout": "eot",
        "tokenizer": BYTES.fingerprint,
        "corpus_sha256": "c" * 64,
        "sha256": hashlib.sha256(content).hexdigest(),
        "spans_sha256": hashlib.sha256(spans).hexdigest(),
    }
    assert pd.read_parquet(tmp_path / "train.v2.spans.parquet").equals(stream.spans)
    assert read_manifest(tmp_path / "train.v2").corpus_sha256 == "c" * 64


def test_bare_numpy_opens_the_ids(tmp_path):
    stream = encode_text(documents_of(["the old man", "the sea"]), TOK)
    path = saved(tmp_path, stream)
    assert np.memmap(f"{path}.bin", "<u2", "r").tolist() == stream.ids.tolist()


def test_ids_of_a_large_vocabulary_take_four_bytes(tmp_path):
    spans = pd.DataFrame({"start": [0], "stop": [3], "doc_id": [0], "doc_start": [0]})
    save_stream(Stream(np.array([1, 65_536, 69_999]), spans), tmp_path / "wide", WideTokenizer())
    assert (tmp_path / "wide.bin").read_bytes() == b"\1\0\0\0\0\0\1\0\x6f\x11\1\0"
    back = load_stream(tmp_path / "wide", WideTokenizer())
    assert back.ids.dtype == np.uint32 and back.ids.tolist() == [1, 65_536, 69_999]


def test_loaded_ids_are_the_file_itself_and_cannot_be_written_to(tmp_path):
    ids = load_stream(saved(tmp_path)).ids
    assert type(ids) is np.ndarray and isinstance(ids.base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        ids[0] = 7


@settings(max_examples=20)
@given(texts, st.sampled_from([encode_text, encode_documents]), st.data())
def test_every_stream_comes_back_as_it_was(tmp_path_factory, texts, encode, data):
    """Also cut ones, from a stream that was itself loaded, and empty ones."""
    path = tmp_path_factory.getbasetemp() / "round"
    whole = encode(documents_of(texts), TOK)
    with mock.patch("os.fsync"):  # hundreds of waits for the disk
        save_stream(whole, path, TOK)
        cut = data.draw(st.integers(0, len(whole)))
        for stream in (whole, *cut_stream(load_stream(path, TOK), cut)):
            save_stream(stream, path, TOK)
            back = load_stream(path, TOK, verify=data.draw(st.booleans()))
            assert back.ids.tolist() == stream.ids.tolist()
            assert back.spans.equals(stream.spans)
            assert (back.layout, back.ids.dtype) == (whole.layout, np.uint16)


def test_a_stream_of_many_parts_is_written_and_checked_in_bounded_memory(tmp_path, monkeypatch):
    """100 ids in parts of 8; the same bytes, the same checksum."""
    monkeypatch.setattr(streamfiles, "PART", 8)
    spans = pd.DataFrame({"start": [0], "stop": [100], "doc_id": [0], "doc_start": [0]})
    path = saved(tmp_path, Stream(np.arange(100), spans))
    assert load_stream(path).ids.tolist() == list(range(100))
    assert read_manifest(path).sha256 == hashlib.sha256(np.arange(100, dtype="<u2")).hexdigest()


# ---- what is refused


@pytest.mark.parametrize("ending", ["bin", "json", "spans.parquet"])
def test_a_path_names_the_stream_without_the_ending_of_a_file(tmp_path, ending):
    path = saved(tmp_path)
    for call in (
        load_stream,
        read_manifest,
        lambda name: save_stream(load_stream(path), name, TOK),
    ):
        with pytest.raises(ValueError, match=r"three files, name them without ending: train$"):
            call(f"{path}.{ending}")


@pytest.mark.parametrize("ending", ["bin", "json", "spans.parquet"])
def test_a_missing_file_is_named(tmp_path, ending):
    path = saved(tmp_path)
    Path(f"{path}.{ending}").unlink()
    message = rf"train\.{ending}: there is no such file; a whole stream has \.bin"
    with pytest.raises(FileNotFoundError, match=message):
        load_stream(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dtype": "uint32"}, "dtype is 'uint32', it must be 'uint16'; V is 274"),
        ({"dtype": "int64"}, "dtype is 'int64', it must be 'uint16'; V is 274"),
        ({"byteorder": "big"}, "byteorder is 'big', it must be 'little'; V is 274"),
        ({"eot_id": 256}, "eot_id is 256, it must be 273; V is 274"),
        ({"layout": "rows"}, "layout is 'rows', it must be 'text' or 'eot' or 'packed'; V is 274"),
        ({"count": 9}, r"\.bin: \d+ bytes, and count 9 of uint16 in the manifest needs 18"),
        ({"count": -1}, r"count -1 of uint16 in the manifest needs -2"),
        ({"count": 9.0}, "'count' must be int, got 9.0"),
        ({"count": True}, "'count' must be int, got True"),
        ({"count": "9"}, "'count' must be int, got '9'"),
        ({"sha256": None}, "'sha256' must be str, got None"),
        ({"layout": ["text"]}, r"'layout' must be str, got \['text'\]"),
        (
            {"sha256": "0" * 64},
            r"train\.bin: its bytes have the checksum .*, the manifest says 0{12}",
        ),
        ({"spans_sha256": "0" * 64}, r"train\.spans\.parquet: its bytes have the checksum"),
        (
            {"tokenizer": "0" * 64},
            r"train\.json: the tokenizer that made the ids is 0{12}, this one",
        ),
        (
            {"vocab_size": 273, "eot_id": 272},
            r"train\.bin: id 273 is too large for V = 273 in the manifest, which was altered",
        ),
    ],
)
def test_a_manifest_that_does_not_fit_names_the_part(tmp_path, changes, message):
    path = saved(tmp_path)
    edit(path, **changes)
    with pytest.raises(ValueError, match=message):
        load_stream(path, TOK)


@pytest.mark.parametrize(
    ("content", "message"), [("{", "damaged, no JSON"), ("[]", "should hold a JSON object")]
)
def test_a_manifest_that_is_no_object_is_refused(tmp_path, content, message):
    path = saved(tmp_path)
    Path(f"{path}.json").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        load_stream(path)


def test_ids_that_were_cut_or_altered_are_refused(tmp_path):
    path = saved(tmp_path)
    binary = Path(f"{path}.bin")
    content = binary.read_bytes()
    for cut in (content[:-2], content[:-1], content + b"\0\0", b""):
        binary.write_bytes(cut)
        with pytest.raises(
            ValueError, match=rf"{len(cut)} bytes, and count {len(content) // 2} of"
        ):
            load_stream(path, verify=False)
    binary.write_bytes(content[::-1])
    with pytest.raises(ValueError, match="the file was altered, save the stream again"):
        load_stream(path)
    assert len(load_stream(path, verify=False)) == len(content) // 2  # trusted, as asked


def test_a_tokenizer_of_other_content_is_refused_and_an_equal_one_is_not(tmp_path):
    path = saved(tmp_path)
    assert len(load_stream(path, Tokenizer(TOK.merges)))
    with pytest.raises(ValueError, match=r"load the tokenizer\.json of that run, or encode again"):
        load_stream(path, Tokenizer(TOK.merges[:-1]))


def test_spans_that_do_not_fit_the_ids_are_refused_before_and_after(tmp_path):
    path = saved(tmp_path)
    stream = load_stream(path)
    longer = stream.spans.assign(stop=stream.spans["stop"] + 1)
    with pytest.raises(ValueError, match="spans must be sorted, not empty, without overlap"):
        save_stream(Stream(stream.ids, longer), path, TOK)
    longer.to_parquet(f"{path}.spans.parquet")
    edit(path, spans_sha256=hashlib.sha256(Path(f"{path}.spans.parquet").read_bytes()).hexdigest())
    with pytest.raises(ValueError, match="spans must be sorted, not empty, without overlap"):
        load_stream(path)


@pytest.mark.parametrize(("wrong", "place"), [(-1, 1), (274, 1), (70_000, 1)])
def test_ids_of_another_tokenizer_are_not_saved_and_the_old_files_stay(tmp_path, wrong, place):
    path = saved(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in names(tmp_path)}
    ids = load_stream(path).ids.astype(np.int64)
    ids[place] = wrong
    message = rf"^id {wrong} at index {place} is not in 0 … 273"
    with pytest.raises(ValueError, match=message):
        save_stream(Stream(ids, load_stream(path).spans), path, TOK)
    assert {name: (tmp_path / name).read_bytes() for name in names(tmp_path)} == before


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        (np.array([1.0, 2.0]), r"got float64 of shape \(2,\)"),
        (np.array([[1, 2]]), r"got int64 of shape \(1, 2\)"),
        (np.array([True, False]), r"got bool of shape \(2,\)"),
    ],
)
def test_only_one_row_of_integers_is_saved_as_a_stream(tmp_path, ids, told):
    spans = pd.DataFrame({"start": [0], "stop": [2], "doc_id": [0], "doc_start": [0]})
    with pytest.raises(ValueError, match=rf"^ids are one row of integers, {told}"):
        save_stream(Stream(ids, spans), tmp_path / "train", TOK)
    assert names(tmp_path) == []


def test_a_failure_while_a_stream_is_written_leaves_the_old_one_and_no_other_file(
    tmp_path, monkeypatch
):
    path = saved(tmp_path)
    monkeypatch.setattr(streamfiles, "write_ids", full_disk)
    with pytest.raises(OSError, match="No space left"):
        saved(tmp_path, encode_text(documents_of(["new"]), TOK))
    assert names(tmp_path) == ["train.bin", "train.json", "train.spans.parquet"]
    assert load_stream(path, TOK).layout == "eot"


@pytest.mark.parametrize("ending", ["bin", "spans.parquet"])
def test_a_failure_between_the_renames_leaves_no_manifest(tmp_path, monkeypatch, ending):
    """The old manifest would vouch for new ids of the same count; so it goes before they come."""
    path = saved(tmp_path)
    replace = Path.replace

    def fails(self, target):
        if str(target).endswith(ending):
            raise OSError(5, "Input/output error")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OSError, match="Input/output error"):
        saved(tmp_path, encode_documents(documents_of(["the old sea", "the man"]), TOK))
    assert names(tmp_path) == ["train.bin", "train.spans.parquet"]
    with pytest.raises(FileNotFoundError, match=r"train\.json: there is no such file"):
        load_stream(path, verify=False)


def test_any_flipped_bit_is_refused(tmp_path):
    """A bit of each byte of `.bin` and `.json`, and of every 29th of the spans."""
    path = saved(tmp_path)
    for file in sorted(tmp_path.iterdir()):
        content = file.read_bytes()
        for place in range(0, len(content), 29 if file.suffix == ".parquet" else 1):
            flipped = bytearray(content)
            flipped[place] ^= 1 << place % 8
            file.write_bytes(flipped)
            with pytest.raises(ValueError):
                load_stream(path, TOK)
        file.write_bytes(content)
    assert len(load_stream(path, TOK))


@settings(max_examples=15)
@given(texts, st.integers(1, 5), st.data())
def test_parts_one_after_the_other_are_the_files_of_the_whole(tmp_path_factory, texts, group, data):
    """Wherever it is cut, byte for byte; also when spans fill several row groups."""
    folder = tmp_path_factory.getbasetemp()
    stream = encode_documents(documents_of(texts * 3), TOK)
    cuts = sorted(data.draw(st.lists(st.sampled_from(stream.spans["stop"].tolist()), max_size=5)))
    parts, rest = [], stream
    for cut in cuts:
        part, rest = cut_stream(rest, max(0, cut - len(stream) + len(rest)))
        parts.append(part)
    with mock.patch("os.fsync"), mock.patch.object(streamfiles, "_GROUP", group):
        save_stream(stream, folder / "whole", TOK)
        streamfiles.save_parts([*parts, rest], folder / "parts", TOK, layout="eot")
    for ending in ("bin", "json", "spans.parquet"):
        found, wanted = ((folder / f"{name}.{ending}").read_bytes() for name in ("parts", "whole"))
        assert found == wanted
    groups = pyarrow.parquet.ParquetFile(folder / "parts.spans.parquet").metadata.num_row_groups
    assert groups == -(-len(stream.spans) // group)

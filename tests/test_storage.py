"""Ids on disk come back bit for bit, or the part that does not fit is named."""

import hashlib
import json
import mmap
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

import storage
from corpus import join_with_eot, load_documents
from sides import assign_splits
from storage import (
    CORPUS_SHA256,
    check_uint16_range,
    encode_all_splits,
    file_bytes,
    id_dtype,
    load_split_tokens,
    load_stream,
    load_uint16,
    map_ids,
    read_manifest,
    save_stream,
    save_uint16,
)
from stream import Stream, cut_stream, encode_documents, encode_text
from tokenizer import EOT, Tokenizer, learn_merges

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


# ---- a bare file of uint16


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_ids_survive_as_two_bytes_each_the_low_one_first(tmp_path, kind):
    """511 = 1 · 256 + 255 is FF 01, and 65,535 is FF FF; 3 ids are 3 × 2 = 6 bytes."""
    save_uint16(kind([0, 511, 65_535]), str(tmp_path / "ids.bin"))
    assert (tmp_path / "ids.bin").read_bytes() == b"\x00\x00\xff\x01\xff\xff"
    assert file_bytes(3, "uint16") == 6
    back = load_uint16(tmp_path / "ids.bin")
    assert back.dtype == torch.int64 and back.tolist() == [0, 511, 65_535]
    back[0] = 7  # a copy of its own


@pytest.mark.parametrize("dtype", ["u1", "i2", "u2", ">u2", "i4", "u8", "i8"])
def test_any_integers_are_written_alike(tmp_path, dtype):
    save_uint16(np.array([7, 1, 100], dtype), tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == b"\x07\x00\x01\x00\x64\x00"


@given(st.lists(st.integers(0, 65_535), max_size=50))
def test_every_list_of_ids_comes_back(tmp_path_factory, ids):
    path = tmp_path_factory.getbasetemp() / "any.bin"
    with mock.patch("os.fsync"):
        save_uint16(ids, path)
    assert load_uint16(path).tolist() == ids


@pytest.mark.eq("wrap")
def test_numpy_and_torch_wrap_an_id_that_is_too_large_without_a_word():
    """70,000 − 65,536 = 4,464: by a cast of each, and by assignment into a slice."""
    large = np.array([70_000])
    assert large.astype(np.uint16).item() == 4_464  # eq: wrap
    room = np.zeros(1, np.uint16)
    room[:] = large
    assert room.item() == 4_464
    assert torch.tensor([70_000]).to(torch.uint16).item() == 4_464
    assert np.array([-1]).astype(np.uint16).item() == 65_535


def test_numpy_refuses_by_itself_only_where_it_meets_a_python_number():
    room = np.zeros(1, np.uint16)
    with pytest.raises(OverflowError, match="70000 out of bounds for uint16"):
        room[0] = 70_000
    with pytest.raises(OverflowError, match="70000 out of bounds for uint16"):
        np.array([70_000], np.uint16)


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
@pytest.mark.parametrize(("wrong", "wrapped"), [(65_536, 0), (70_000, 4_464), (-1, 65_535)])
def test_ids_that_two_bytes_cannot_hold_are_refused_by_number_and_index(
    tmp_path, kind, wrong, wrapped
):
    """The message says what the cast of the test above would have written."""
    ids = kind([3, 511, wrong, 80_000])
    message = rf"^id {wrong} at index 2 does not fit in uint16, .* \(a cast would write {wrapped}\)"
    save_uint16([1, 2], tmp_path / "ids.bin")
    with pytest.raises(ValueError, match=message):
        check_uint16_range(ids)
    with pytest.raises(ValueError, match=message + "; save_stream writes uint32 where it must"):
        save_uint16(ids, tmp_path / "ids.bin")
    assert names(tmp_path) == ["ids.bin"]
    assert load_uint16(tmp_path / "ids.bin").tolist() == [1, 2]


@pytest.mark.eq("wrap")
@given(st.integers(-(2**40), 2**40))
def test_the_message_foretells_what_a_cast_writes(wrong):
    written = int(np.array([wrong]).astype(np.uint16)[0])
    if written == wrong:
        check_uint16_range([wrong])
    else:
        with pytest.raises(ValueError, match=rf"a cast would write {written}\)"):  # eq: wrap
            check_uint16_range([wrong])


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        ([1, 2.5], "id 2.5 at index 1 is of type float"),
        ([1, 2.0], "id 2.0 at index 1 is of type float"),
        ([1, True], "id True at index 1 is of type bool"),
        ([1, "2"], "id 2 at index 1 is of type str"),
        ([1, None], "id None at index 1 is of type NoneType"),
        (np.array([1, 2.5]), "id 2.5 at index 1 is of type float64"),
        (np.array([1.0, 2.0]), "id 1.0 at index 0 is of type float64"),
        (np.array([1, np.nan]), "id nan at index 1 is of type float64"),
        (np.array([True, False]), "id True at index 0 is of type bool"),
        (np.array(["1"]), "id 1 at index 0 is of type str"),
        (torch.tensor([1, 2.5]), "id 2.5 at index 1 is of type float64"),
        (torch.tensor([1, 2.5]).bfloat16(), "id 2.5 at index 1 is of type float64"),
        (torch.tensor([True]), "id True at index 0 is of type bool"),
    ],
)
def test_what_is_no_whole_number_is_refused_by_its_index(tmp_path, ids, told):
    with pytest.raises(ValueError, match=f"^{told}.*; an id is a whole number of an integer type"):
        save_uint16(ids, tmp_path / "ids.bin")
    assert names(tmp_path) == []


@pytest.mark.parametrize("kind", [np.array, torch.tensor, list])
@pytest.mark.parametrize(("ids", "shape"), [([[1, 2], [3, 4]], "2, 2"), ([[1], [2]], "2, 1")])
def test_ids_in_more_than_one_row_are_refused(tmp_path, kind, ids, shape):
    with pytest.raises(ValueError, match=rf"one row of numbers, got an array of shape \({shape}\)"):
        save_uint16(kind(ids), tmp_path / "ids.bin")


def test_no_ids_are_a_file_without_bytes(tmp_path):
    assert map_ids(Path(os.devnull), "uint16").tolist() == []
    for empty in ([], np.array([]), torch.tensor([])):
        save_uint16(empty, tmp_path / "ids.bin")
        assert (tmp_path / "ids.bin").read_bytes() == b""
        assert load_uint16(tmp_path / "ids.bin").dtype == torch.int64


def test_an_odd_number_of_bytes_and_a_missing_file_are_refused(tmp_path):
    (tmp_path / "ids.bin").write_bytes(b"abc")
    with pytest.raises(
        ValueError, match=r"3 bytes are no whole number of uint16; the file was cut"
    ):
        load_uint16(tmp_path / "ids.bin")
    with pytest.raises(FileNotFoundError):
        load_uint16(tmp_path / "other.bin")


def test_a_full_disk_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    save_uint16([1], tmp_path / "ids.bin")
    monkeypatch.setattr(storage, "_write", full_disk)
    with pytest.raises(OSError, match="No space left"):
        save_uint16([2], tmp_path / "ids.bin")
    assert names(tmp_path) == ["ids.bin"]
    assert load_uint16(tmp_path / "ids.bin").tolist() == [1]


def full_disk(ids, dtype, file):
    file.write_bytes(b"half")
    raise OSError(28, "No space left on device")


# ---- what torch does with such ids


@pytest.mark.parametrize(
    ("dtype", "message"),
    [
        (torch.uint16, "scalar types: Long, Int; but got CPUUInt16Type instead"),
        (torch.uint32, "scalar types: Long, Int; but got CPUUInt32Type instead"),
        (torch.int32, None),
        (torch.int64, None),
    ],
)
def test_an_embedding_takes_int32_and_int64_and_no_unsigned_ids(dtype, message):
    embedding = torch.nn.Embedding(600, 2)
    ids = torch.tensor([0, 511]).to(dtype)
    if message:
        with pytest.raises(RuntimeError, match=message):
            embedding(ids)
    else:
        assert torch.equal(embedding(ids), embedding.weight[[0, 511]])


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (torch.uint16, "UInt16"),
        (torch.uint32, "UInt32"),
        (torch.int32, "Int"),
        (torch.int64, None),
    ],
)
def test_cross_entropy_takes_int64_targets_and_not_even_int32(dtype, name):
    logits, targets = torch.zeros(2, 8), torch.tensor([1, 2]).to(dtype)
    if name:
        with pytest.raises(
            RuntimeError, match=f"expected target dtype to be Long.* but got {name}"
        ):
            F.cross_entropy(logits, targets)
    else:
        assert F.cross_entropy(logits, targets).item() == pytest.approx(np.log(8))


@pytest.mark.parametrize(("dtype", "name"), [(torch.uint16, "UInt16"), (torch.uint32, "UInt32")])
@pytest.mark.parametrize(
    "does", [lambda t: t + 1, lambda t: t < 7, lambda t: t.max(), lambda t: t.index_select(0, ONE)]
)
def test_torch_cannot_count_with_unsigned_ids(dtype, name, does):
    with pytest.raises(NotImplementedError, match=f"not implemented for '{name}'"):
        does(torch.arange(9).to(dtype))
    does(torch.arange(9).to(torch.int32))


def test_torch_can_pick_rows_of_uint16_and_make_them_int64():
    rows = torch.arange(9).to(torch.uint16).unfold(0, 3, 1)[torch.tensor([0, 4])]
    assert rows.dtype == torch.uint16
    assert rows.long().tolist() == [[0, 1, 2], [4, 5, 6]]


ONE = torch.tensor([0])

# ---- a stream: three files


@pytest.mark.eq("id-bytes", "file-bytes")
@pytest.mark.parametrize(
    ("vocab_size", "dtype", "size"),
    [(257, "uint16", 2), (65_536, "uint16", 2), (65_537, "uint32", 4), (200_000, "uint32", 4)],
)
def test_the_largest_id_decides_how_many_bytes_each_takes(vocab_size, dtype, size):
    """V = 65,536 has the largest id 65,535, which two bytes still hold."""
    assert id_dtype(vocab_size) == dtype  # eq: id-bytes
    assert file_bytes(1000, dtype) == 1000 * size  # eq: file-bytes
    assert np.iinfo(dtype).max >= vocab_size - 1


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


texts = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
    .map(str.strip)
    .filter(bool),
    min_size=1,
    max_size=6,
)


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


@pytest.mark.skipif(not hasattr(mmap, "MADV_RANDOM"), reason="the system cannot be advised")
@pytest.mark.parametrize(("memory", "advised"), [(39, [mmap.MADV_RANDOM]), (40, [])])
def test_only_a_file_larger_than_memory_is_read_without_reading_on(
    tmp_path, monkeypatch, memory, advised
):
    """20 ids of 2 bytes, on machines with a byte less than that and with just enough."""

    class Mapped(np.ndarray):
        base = property(lambda self: SimpleNamespace(madvise=told.append))

    told = []
    save_uint16(range(20), tmp_path / "ids.bin")
    monkeypatch.setattr(storage, "_memory", lambda: memory)
    monkeypatch.setattr(np, "memmap", lambda file, kind, mode: np.fromfile(file, kind).view(Mapped))
    assert map_ids(tmp_path / "ids.bin", "uint16").tolist() == list(range(20))
    assert told == advised


def test_a_stream_of_many_parts_is_written_and_checked_in_bounded_memory(tmp_path, monkeypatch):
    """100 ids in parts of 8; the same bytes, the same checksum."""
    monkeypatch.setattr(storage, "_PART", 8)
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
    message = rf"train\.{ending}: there is no such file; a stream is saved whole when its \.bin"
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


def test_a_failure_while_a_stream_is_written_leaves_the_old_one_and_no_other_file(
    tmp_path, monkeypatch
):
    path = saved(tmp_path)
    monkeypatch.setattr(storage, "_write", full_disk)
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


# ---- memory


LEAST, BATCHES, LIMIT = 64 << 30, 2_000, 16 << 20  # bytes, batches, bytes

MAPPED = """
import sys
import torch
from batches import get_batch
from storage import map_ids
def anonymous():
    status = open("/proc/self/status", encoding="ascii").read()
    return int(status.split("RssAnon:")[1].split()[0]), int(status.split("RssFile:")[1].split()[0])
ids, generator = map_ids(sys.argv[1], "uint16"), torch.Generator().manual_seed(0)
total = int(get_batch(ids, 128, 4, generator)[1].sum())
before = anonymous()
for _ in range(int(sys.argv[2])):
    total += int(get_batch(ids, 128, 4, generator)[1].sum())
after = anonymous()
print(len(ids), total, *(b - a for a, b in zip(before, after)))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's /proc/self/status")
def test_batches_of_a_file_larger_than_memory_take_under_16_mib(tmp_path):
    """64 GiB or more of zeros that take no room on disk, 2,000 batches of 4 windows."""
    size = max(LEAST, 2 * storage._memory())
    path = tmp_path / "huge.bin"
    with path.open("wb") as file:
        try:
            file.truncate(size)
        except OSError:
            pytest.skip("this file system holds no sparse file of that size")
    command = [sys.executable, "-c", MAPPED, str(path), str(BATCHES)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    count, total, anonymous, of_file = map(int, run.stdout.split())
    assert (count, total) == (size // 2, 0)
    assert anonymous * 1024 < LIMIT
    assert of_file > anonymous  # what grows are pages of the file


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's /proc/meminfo")
def test_the_memory_of_the_machine_is_what_linux_says():
    told = re.search(r"MemTotal: +(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"))
    assert storage._memory() == int(told[1]) * 1024


# ---- the splits of a corpus


def split_frame(**splits: list[str]) -> pd.DataFrame:
    rows = [(text, split) for split, texts in splits.items() for text in texts]
    return pd.DataFrame(rows, columns=["text", "split"])


FRAME = split_frame(train=["the old man", "the sea", "and"], val=["the old woman"], test=["sea"])


def test_a_split_is_its_documents_with_an_end_of_text_between_them():
    """Bytes of ab and c, 256 between them, none at the end."""
    frame = split_frame(train=["ab", "c"], val=["d"], test=["e"])
    ids = load_split_tokens("train", BYTES, frame)
    assert ids.dtype == torch.int64 and ids.tolist() == [97, 98, 256, 99]


@given(texts)
def test_it_has_the_ids_of_the_join_with_the_end_of_text_allowed(texts):
    joined = TOK.encode(join_with_eot(texts), allowed_special={EOT})
    assert load_split_tokens("val", TOK, split_frame(val=texts)).tolist() == joined


def test_an_end_of_text_written_inside_a_document_does_not_divide_it():
    """The plain join would make three documents of these two."""
    ids = load_split_tokens("train", TOK, split_frame(train=[f"one {EOT} two", "three"]))
    assert (ids == TOK.eot_id).sum() == 1
    assert TOK.decode(ids[: (ids == TOK.eot_id).nonzero().item()].tolist()) == f"one {EOT} two"


def test_all_splits_are_those_of_the_projects_own_corpus_by_default():
    documents = assign_splits(load_documents(ROOT / "data" / "corpus.csv"), 0.1, 0.1, seed=0)
    splits = encode_all_splits(TOK)
    assert list(splits) == ["train", "val", "test"]
    for split, ids in splits.items():
        texts = documents["text"][documents["split"] == split]
        assert (ids == TOK.eot_id).sum() == len(texts) - 1
        assert ids.tolist() == TOK.encode(join_with_eot(texts), allowed_special={EOT})


def test_writing_into_one_changes_no_other():
    first, second = (encode_all_splits(TOK, FRAME) for _ in range(2))
    before = second["train"].tolist()
    first["train"].fill_(7)
    for later in (second, encode_all_splits(TOK, FRAME)):
        assert later["train"].tolist() == before
    load_split_tokens("train", TOK, FRAME).fill_(7)
    assert load_split_tokens("train", TOK, FRAME).tolist() == before


def test_a_process_encodes_the_same_documents_once(monkeypatch):
    monkeypatch.setattr(storage, "_encoded", {})
    calls = []

    def counted(documents, tok, final_eot):
        calls.append(len(documents))
        return encode_documents(documents, tok, final_eot)

    monkeypatch.setattr(storage, "encode_documents", counted)
    for _ in range(3):
        encode_all_splits(Tokenizer(TOK.merges), FRAME.copy())
    assert calls == [3, 1, 1]
    encode_all_splits(BYTES, FRAME)  # another tokenizer
    assert calls == [3, 1, 1] * 2
    encode_all_splits(TOK, FRAME.replace("and", "or"))  # other documents in one split
    assert calls == [3, 1, 1] * 2 + [3]
    load_split_tokens("val", TOK, split_frame(val=["the old w", "oman"]))  # divided otherwise
    assert calls == [3, 1, 1] * 2 + [3, 2]
    for number in range(20):
        load_split_tokens("val", TOK, split_frame(val=[f"{number}"]))
    assert len(storage._encoded) == storage._KEPT


def test_a_changed_corpus_is_refused_with_both_checksums(tmp_path, monkeypatch):
    changed = tmp_path / "corpus.csv"
    content = (ROOT / "data" / "corpus.csv").read_bytes()
    changed.write_bytes(content[:-1] + b' "')  # no CSV either: the checksum comes first
    monkeypatch.setattr(storage, "CORPUS", changed)
    found = hashlib.sha256(changed.read_bytes()).hexdigest()
    with pytest.raises(
        ValueError, match=f"SHA-256 is {found}, this project's file has {CORPUS_SHA256}"
    ):
        load_split_tokens("train", TOK)
    with pytest.raises(ValueError, match="get the file back, or pass documents of your own"):
        encode_all_splits(TOK)


def test_the_checksum_of_the_corpus_is_the_one_of_the_file_and_of_data_readme():
    content = (ROOT / "data" / "corpus.csv").read_bytes()
    assert hashlib.sha256(content).hexdigest() == CORPUS_SHA256
    assert CORPUS_SHA256 in (ROOT / "data" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("split", "documents", "message"),
    [
        ("valid", FRAME, "split must be one of train, val, test, got 'valid'"),
        ("val", FRAME[["text"]], "no column 'split'; sides.assign_splits makes it"),
        (
            "test",
            FRAME[FRAME["split"] != "test"],
            r"no document is in split 'test', only .*'val': 1\}; give .* a larger test_fraction",
        ),
        ("val", split_frame(val=["a "]), "document 0 is blank or has blanks at its ends"),
    ],
)
def test_a_split_that_cannot_be_given_is_refused_with_the_way_out(split, documents, message):
    with pytest.raises(ValueError, match=message):
        load_split_tokens(split, TOK, documents)

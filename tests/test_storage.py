"""Ids on disk come back bit for bit, or the part that does not fit is named."""

import hashlib
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

import storage
from corpus import join_with_eot, load_documents
from idfiles import file_bytes
from sides import assign_splits
from storage import (
    CORPUS_SHA256,
    check_uint16_range,
    encode_all_splits,
    load_split_tokens,
    load_uint16,
    save_uint16,
    wrapped,
)
from stream import encode_documents
from tokenizer import EOT, Tokenizer, learn_merges

BYTES = Tokenizer([])
TOK = Tokenizer(learn_merges("the old man and the sea\nthe old woman\n" * 5, 40))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# ---- a bare file of uint16


@pytest.mark.contract("save_uint16", "load_uint16", "file_bytes")
@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_ids_survive_as_two_bytes_each_the_low_one_first(tmp_path, kind):
    """511 = 1 · 256 + 255 is FF 01, and 65,535 is FF FF; 3 ids are 3 × 2 = 6 bytes."""
    save_uint16(kind([0, 511, 65_535]), str(tmp_path / "ids.bin"))
    assert (tmp_path / "ids.bin").read_bytes() == b"\x00\x00\xff\x01\xff\xff"
    assert file_bytes(3, "uint16") == 6
    back = load_uint16(tmp_path / "ids.bin")
    assert back.dtype == torch.int64 and back.tolist() == [0, 511, 65_535]
    back[0] = 7  # a copy of its own


@pytest.mark.contract("wrapped")
@pytest.mark.parametrize(
    ("number", "left"), [(65_535, 65_535), (65_536, 0), (70_000, 4_464), (-1, 65_535)]
)
def test_a_cast_keeps_what_is_left_after_whole_turns_of_65536(number, left):
    """70,000 − 65,536 = 4,464; one before 0 is the last."""
    assert wrapped(number) == left


@pytest.mark.contract("save_uint16")
@pytest.mark.parametrize("dtype", ["u1", "i2", "u2", ">u2", "i4", "u8", "i8"])
def test_any_integers_are_written_alike(tmp_path, dtype):
    save_uint16(np.array([7, 1, 100], dtype), tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == b"\x07\x00\x01\x00\x64\x00"


@pytest.mark.contract("save_uint16", "load_uint16")
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


@pytest.mark.contract("check_uint16_range", "save_uint16")
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


@pytest.mark.contract("check_uint16_range")
@pytest.mark.eq("wrap")
@given(st.integers(-(2**40), 2**40))
def test_the_message_foretells_what_a_cast_writes(wrong):
    written = int(np.array([wrong]).astype(np.uint16)[0])
    if written == wrong:
        check_uint16_range([wrong])
    else:
        with pytest.raises(ValueError, match=rf"a cast would write {written}\)"):  # eq: wrap
            check_uint16_range([wrong])


@pytest.mark.quality("save_uint16")
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


@pytest.mark.quality("save_uint16")
@pytest.mark.parametrize("kind", [np.array, torch.tensor, list])
@pytest.mark.parametrize(("ids", "shape"), [([[1, 2], [3, 4]], "2, 2"), ([[1], [2]], "2, 1")])
def test_ids_in_more_than_one_row_are_refused(tmp_path, kind, ids, shape):
    with pytest.raises(ValueError, match=rf"one row of numbers, got an array of shape \({shape}\)"):
        save_uint16(kind(ids), tmp_path / "ids.bin")


@pytest.mark.quality("save_uint16", "load_uint16")
def test_no_ids_are_a_file_without_bytes(tmp_path):
    for empty in ([], np.array([]), torch.tensor([])):
        save_uint16(empty, tmp_path / "ids.bin")
        assert (tmp_path / "ids.bin").read_bytes() == b""
        assert load_uint16(tmp_path / "ids.bin").dtype == torch.int64


@pytest.mark.contract("load_uint16")
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
    monkeypatch.setattr(storage, "write_ids", full_disk)
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

# ---- the splits of a corpus

texts = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
    .map(str.strip)
    .filter(bool),
    min_size=1,
    max_size=6,
)


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

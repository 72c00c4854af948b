"""Laws of the functions that read and write: what goes in comes out, and files are whole."""

import hashlib
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
import torch
from conftest import ROOT
from hypothesis import strategies as st
from laws import Laws, check, check_odd, copied
from strategies import boundaries, document_frames, id_rows, sizes, streams, texts, tokenizers

import checkpoint
import commands
import export
import files
import idfiles
import lines
import readers
import storage
import streamfiles
from addresses import Partition, whole_file
from checkpoint import batch_digest, moved, versions
from commands import told
from export import IGNORED, export_rows, labels_of
from files import folder_written_whole, read_json, sweep, write_json, write_text, written_whole
from idfiles import count_ids, file_bytes, id_dtype, map_ids, misfit, write_ids
from lines import Unpacked, text_lines
from packing import pack
from readers import csv_header, file_kind, parquet_file, read_rows
from sides import SPLITS
from storage import (
    check_uint16_range,
    encode_all_splits,
    load_split_tokens,
    load_uint16,
    save_uint16,
    wrapped,
)
from stream import encode_documents, position_ids
from streamfiles import load_stream, read_manifest, save_parts, save_stream
from tokenizer import Tokenizer

PROVED = {  # what has its law among its own tests
    "Checkpoint": "test_checkpoint.py::test_a_checkpoint_comes_back_bit_for_bit",
    "save": "test_checkpoint.py::test_a_checkpoint_comes_back_bit_for_bit",
    "load": "test_checkpoint.py::test_a_damaged_part_is_refused_by_name",
    "check_same": "test_checkpoint.py::test_what_fed_a_run_may_feed_it_again_and_nothing_else",
    "Manifest": "test_streamfiles.py::test_a_manifest_that_does_not_fit_names_the_part",
    "memory_bytes": "test_idfiles.py::test_the_memory_of_the_machine_is_what_linux_says",
    "owned": "test_resume.py::test_a_run_that_is_training_is_not_resumed_beside_it",
}

laws = Laws()
byte_rows = st.binary(max_size=30)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
objects = st.dictionaries(st.text(st.characters(), max_size=3), json_values, max_size=3)


def in_folder(use):
    """A call with a path in a folder of its own after the other arguments."""

    def call(function, *args):
        with tempfile.TemporaryDirectory() as folder:
            result = use(function, *args, Path(folder, "a"))
            assert not list(Path(folder).glob(".*.tmp*"))  # nothing half-written is left
            return result

    return call


def reading(write, name: str = "a"):
    """A call of a function of a path, to which `write(path, argument)` has written."""

    def use(function, content, path):
        path = path.with_name(name)
        write(path, content)
        return function(path)

    return in_folder(use)


# ---- files


def written(function, content, path):
    with function(path) as temporary:
        temporary.write_bytes(content)
        assert not path.exists()
    return path.read_bytes()


@laws.of(written_whole, byte_rows, call=in_folder(written))
def _(held, content):
    assert held == content


def folder_written(function, content, path):
    with function(path) as temporary:
        (temporary / "b").write_bytes(content)
        assert not path.exists()
    return {file.name: file.read_bytes() for file in path.iterdir()}


@laws.of(folder_written_whole, byte_rows, call=in_folder(folder_written))
def _(held, content):
    assert held == {"b": content}


def swept(function, content, path):
    for name in ("a", ".a.123.tmp", ".b.7.tmp.json"):
        path.with_name(name).write_bytes(content)
    function(path.parent)
    return [file.name for file in path.parent.iterdir()]


@laws.of(sweep, byte_rows, call=in_folder(swept))
def _(left, content):
    assert left == ["a"]


def bytes_after(function, content, path):
    function(path, content)
    return path.read_bytes()


@laws.of(write_text, texts, call=in_folder(bytes_after))
def _(held, text):
    assert held == text.encode()


@laws.of(write_json, objects, call=in_folder(bytes_after))
def _(held, content):
    assert json.loads(held) == content


@laws.of(read_json, objects, call=reading(write_json))
def _(found, content):
    assert found == content


@laws.of(told, st.integers(0, 255), call=lambda f, status: f("a.py", lambda: status))
def _(given, status):
    assert given == status


# ---- bare files of ids

uint16 = id_rows.map(lambda ids: ids.astype(np.uint16))


@laws.of(id_dtype, st.integers(257, 2**32))
def _(dtype, V):
    assert np.iinfo(dtype).max >= V - 1
    assert (dtype == "uint16") == (V <= 2**16)


@laws.of(file_bytes, sizes, st.sampled_from(["uint16", "uint32"]))
def _(size, n, dtype):
    assert size == np.empty(n, dtype).nbytes


def ids_written(function, ids, path):
    return function([ids[:3], ids[3:]], "uint16", path), path.read_bytes()


@laws.of(write_ids, uint16, call=in_folder(ids_written))
def _(found, ids):
    assert found == (hashlib.sha256(ids.tobytes()).hexdigest(), ids.tobytes())


def to_bytes(path, ids):
    path.write_bytes(ids.tobytes())


def of_uint16(function, ids):
    """The call of a function of a path and a type."""
    return reading(to_bytes)(lambda path: copied(function(path, "uint16")), ids)


@laws.of(map_ids, uint16, call=of_uint16)
def _(mapped, ids):
    assert mapped.tolist() == ids.tolist()


@laws.of(count_ids, uint16, call=of_uint16)
def _(count, ids):
    assert count == len(ids)


@laws.of(misfit, id_rows, st.integers(0, 255))
def _(place, ids, largest):
    assert place == next((k for k, i in enumerate(ids) if i > largest), None)


@laws.of(check_uint16_range, id_rows)
def _(nothing, ids):
    with pytest.raises(ValueError, match=f"id 65536 at index {len(ids)} does not fit"):
        check_uint16_range([*ids, 65_536])


@laws.of(wrapped, st.integers(-(2**40), 2**40))
def _(left, number):
    assert left == np.array(number).astype(np.uint16)


def ids_saved(function, ids, path):
    function(ids, path)
    return path.read_bytes()


@laws.of(save_uint16, id_rows, call=in_folder(ids_saved))
def _(held, ids):
    assert held == ids.astype("<u2").tobytes()


@laws.of(load_uint16, uint16, call=reading(to_bytes))
def _(ids, saved):
    assert ids.dtype == torch.int64
    assert ids.tolist() == saved.tolist()


# ---- streams on disk

TOK = Tokenizer([])


def saved(function, stream, path):
    function(stream, path, TOK)
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


@laws.of(save_stream, streams(), call=in_folder(saved))
def _(held, stream):
    assert sorted(held) == ["a.bin", "a.json", "a.spans.parquet"]
    assert held["a.bin"] == stream.ids.astype("<u2").tobytes()


def parts_saved(function, some, path):
    return function(iter(some), path, TOK, layout="eot")


@laws.of(save_parts, st.lists(streams(), min_size=1, max_size=3), call=in_folder(parts_saved))
def _(manifest, some):
    assert manifest.count == sum(map(len, some))


def loaded(function, stream, path):
    save_stream(stream, path, TOK)
    again = function(path, TOK)
    return type(stream)(np.array(again.ids), again.spans, again.layout)


@laws.of(load_stream, streams(), call=in_folder(loaded))
def _(again, stream):
    assert again.ids.tolist() == stream.ids.tolist()
    assert again.spans.equals(stream.spans)
    assert again.layout == stream.layout


def stream_of(path, stream):
    save_stream(stream, path, TOK)


@laws.of(read_manifest, streams(), call=reading(stream_of))
def _(manifest, stream):
    assert (manifest.count, manifest.dtype, manifest.vocab_size) == (len(stream), "uint16", 257)


def split_tokens(function, documents, tok):
    return function("val", tok, documents.assign(split="val"))


@laws.of(load_split_tokens, document_frames(), tokenizers, call=split_tokens)
def _(ids, documents, tok):
    assert ids.dtype == torch.int64
    assert ids.tolist() == encode_documents(documents, tok, final_eot=False).ids.tolist()


def all_splits(function, documents, tok):
    return function(tok, pd.concat([documents.assign(split=side) for side in SPLITS]))


@laws.of(encode_all_splits, document_frames(), tokenizers, call=all_splits)
def _(ids, documents, tok):
    assert list(ids) == list(SPLITS)
    assert all(torch.equal(ids["train"], one) for one in ids.values())


def exported(function, stream, T, how, path):
    function(pack(stream, T, 0), T, how, path)
    return pyarrow.parquet.read_table(path).to_pylist()


@laws.of(export_rows, streams(), sizes, boundaries, call=in_folder(exported))
def _(rows, stream, T, how):
    laid = pack(stream, T, 0)
    assert np.concatenate([row["input_ids"] for row in rows]).tolist() == laid.ids.tolist()
    assert all(sum(row["seq_lengths"]) == T + 1 for row in rows)
    for row in rows:
        assert {*map(tuple, np.column_stack([row["labels"], row["input_ids"]]).tolist())} <= {
            pair for i in row["input_ids"] for pair in [(i, i), (IGNORED, i)]
        }
    if how == "isolated":
        places = np.concatenate([row["position_ids"] for row in rows])
        held = np.concatenate([row["doc_ids"] for row in rows]) >= 0
        assert (places[held] == position_ids(laid.spans, len(laid))[held]).all()


def rows_and_mask(W, T, share):
    return np.arange(W * (T + 1)).reshape(W, -1), np.arange(W * T).reshape(W, -1) % 7 < share


labelled = st.tuples(sizes, sizes, st.integers(0, 7)).map(lambda a: rows_and_mask(*a))


@laws.of(labels_of, labelled)
def _(labels, rows, mask):
    assert labels.shape == rows.shape
    assert (labels[:, 0] == IGNORED).all()
    assert ((labels[:, 1:] == rows[:, 1:]) == mask).all()
    assert (labels[:, 1:][~mask] == IGNORED).all()


# ---- readers


def csv_of(path, some):
    pd.DataFrame({"id": range(len(some)), "text": some}).to_csv(path, index=False)


tables = st.lists(texts, min_size=1)


def cells_of(function, some):
    def cells(path):
        return [cells for _, cells in function(path, ["text"], "utf-8")]

    return reading(csv_of, "a.csv")(cells, some)


@laws.of(read_rows, tables, call=cells_of)
def _(cells, some):
    assert cells == [[text] for text in some]


def header_of(function, some):
    return reading(csv_of, "a.csv")(lambda path: function(whole_file(path), "utf-8"), some)


@laws.of(csv_header, tables, call=header_of)
def _(names, some):
    assert names == ("id", "text")


@laws.of(
    file_kind,
    st.sampled_from([".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet", ".txt", ".txt.gz"]),
    call=lambda f, ending: f(Partition(f"folder/B{ending.upper()}")),
)
def _(kind, ending):
    assert kind == ending


def parquet_of(path, some):
    pd.DataFrame({"text": some}).to_parquet(path)


def rows_of(function):
    def use(path):
        with function(whole_file(path)) as file:
            return file.read(columns=["text"]).to_pydict()["text"]

    return use


@laws.of(parquet_file, tables, call=lambda f, some: reading(parquet_of)(rows_of(f), some))
def _(cells, some):
    assert cells == some


def all_lines(function):
    def use(path):
        with function(whole_file(path), "utf-8") as found:
            return list(found)

    return use


@laws.of(text_lines, texts, call=lambda f, text: reading(write_text)(all_lines(f), text))
def _(found, text):
    assert "".join(found) == text
    assert all(line.endswith("\n") for line in found[:-1])


def most_of(cls, content):
    return reading(Path.write_bytes)(lambda path: cls(whole_file(path)).most, content)


@laws.of(Unpacked, byte_rows, call=most_of)
def _(most, content):
    assert most == 2**26  # of so small a file


# ---- checkpoints

batches = st.tuples(sizes, sizes).map(lambda BT: np.arange(BT[0] * BT[1]).reshape(BT))


@laws.of(batch_digest, batches.map(lambda xb: (xb, xb[::-1] + 1)))
def _(digest, xb, yb):
    assert digest == batch_digest(torch.from_numpy(xb.copy()), yb.astype(np.int32))
    assert digest != batch_digest(xb + 1, yb)
    assert xb.shape[0] == xb.shape[1] or digest != batch_digest(xb.T, yb.T)


def state(threads: int) -> dict:
    return {"device": "cpu", "versions": versions(), "config": {"threads": threads}}


@laws.of(moved, sizes, sizes, call=lambda f, was, now: f(state(was), now, "cpu"))
def _(differences, was, now):
    assert differences == ([] if was == now else [f"threads: {was} before, {now} now"])


@laws.of(versions)
def _(found):
    assert found["torch"] == torch.__version__


# ---- all of them


@pytest.mark.contract("batch_digest", "check_uint16_range", "file_bytes", "id_dtype")
@pytest.mark.contract("load_uint16", "map_ids", "save_uint16", "wrapped")
@pytest.mark.parametrize("function", laws.functions)
def test_a_function_keeps_its_law_gives_the_same_twice_and_writes_to_nothing(function):
    check(laws[function.__qualname__], function)


@pytest.mark.parametrize("function", laws.of_numbers)
def test_a_number_that_cannot_be_is_refused_or_does_no_harm(function):
    check_odd(laws[function.__qualname__], function)


def test_every_public_function_has_a_law_here_or_among_its_own_tests():
    modules = checkpoint, commands, export, files, idfiles, lines, readers, storage, streamfiles
    assert laws.missing(*modules) == set(PROVED)
    for place in PROVED.values():
        file, _, test = place.partition("::")
        assert f"def {test}(" in (ROOT / "tests" / file).read_text(encoding="utf-8")

"""Whatever bytes come in by a door: a result, or one line that names the file. Never a traceback.

Each door gets whole files, damaged in ways that know their structure: bits turned, parts left out,
doubled or cut off, tokens put in, values of other types and sizes. The fast tests try a few dozen
cases of each door, the slow ones a few thousand, others under HYPOTHESIS_PROFILE=proof.
"""

import gzip
import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import POOL, as_json, damaged, damaged_json, refusal

import checkpoint
import lines
import runs
from config import Config, read_settings
from corpus import load_documents
from files import read_json, write_json
from model import GPT
from prepared import PREPARED, TOKENIZER, load_prepared
from storage import load_uint16
from stream import encode_documents, span_lengths
from streamfiles import load_stream, save_stream
from tokenizer import Tokenizer

TOK = POOL[2]
SPANS = ["start", "stop", "doc_id", "doc_start"]
Door = tuple[st.SearchStrategy, Callable[[Any], Any]]  # what comes, and how it is taken in


def parquet(**columns: Any) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    return file.getvalue()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# ---- readers of documents

CSV = ("id,text,group\n" + 'é,"the, old ""man""\nand",g\n' * 4).encode()
JSONL = b"".join(as_json({"id": i, "text": "the é", "group": "g"}) + b"\n" for i in range(4))
CODED = pyarrow.array(["a", "bé", None] * 40).dictionary_encode()
PARQUET = parquet(id=[1, 2, 3] * 40, text=CODED, group=["x"] * 120)
TEXT = b"the old man\r\nand the sea\n"
WHOLE = [("a.csv", CSV), ("a.jsonl", JSONL), ("a.parquet", PARQUET), ("a.txt", TEXT)]
WHOLE += [(f"{name}.gz", gzip.compress(held)) for name, held in WHOLE if name != "a.parquet"]
WHOLE += [("a.csv", CSV.decode().encode("utf-16")), ("a.parquet", parquet(text=["a"], group=["b"]))]
ENCODINGS = ["utf-8", "utf-16", "utf-16-le", "utf-32", "utf-7", "cp1252", "gb18030", "iso2022_jp"]
ENCODINGS += ["hz", "big5", "idna", "punycode", "unicode_escape", "undefined", "rot13", "", "é\0"]


def documents_door(folder: Path, files: st.SearchStrategy[tuple[str, bytes]]) -> Door:
    """Files by name, in any encoding, with and without groups and a limit."""

    def take(given: tuple) -> None:
        (name, content), encoding, group, rows = given
        (folder / name).write_bytes(content)
        read = load_documents(folder / name, "text", rows, encoding=encoding, group_column=group)
        assert read["text"].map(len).min() > 0

    encodings = st.sampled_from(ENCODINGS) | st.just("utf-8")
    groups, limits = st.sampled_from([None, "group", "id"]), st.sampled_from([None, 1, 3])
    return st.tuples(files, encodings, groups, limits), take


def readers(folder: Path) -> Door:
    """Damaged files of all kinds."""
    files = st.sampled_from(WHOLE)
    return documents_door(folder, files.flatmap(lambda f: st.tuples(st.just(f[0]), damaged(f[1]))))


def packed_readers(folder: Path) -> Door:
    """Whole gzip files of damaged content."""
    files = st.sampled_from([("a.csv.gz", CSV), ("a.jsonl.gz", JSONL), ("a.txt.gz", TEXT)])
    return documents_door(
        folder,
        files.flatmap(lambda f: st.tuples(st.just(f[0]), damaged(f[1]).map(gzip.compress))),
    )


def json_lines(folder: Path) -> Door:
    """Lines of JSON with other keys and values."""
    line = damaged_json({"id": "1", "text": "the old man", "group": "g"}).map(as_json)
    content = st.lists(line, min_size=1, max_size=3).map(b"\n".join)
    return documents_door(folder, st.tuples(st.just("a.jsonl"), content))


# ---- what we have written ourselves


def tokenizer_json(folder: Path) -> Door:
    path = folder / "tokenizer.json"
    TOK.save(path)
    whole = path.read_bytes()

    def take(content: bytes) -> None:
        path.write_bytes(content)
        assert Tokenizer.load(path).fingerprint == TOK.fingerprint

    return damaged(whole) | damaged_json(json.loads(whole)).map(as_json), take


STREAM = encode_documents(pd.DataFrame({"text": ["the old man", "é", "song"]}, [0, 3, 4]), TOK)


def stream_parts(folder: Path) -> tuple[dict[str, bytes], Callable[..., None]]:
    """The three files of a stream, and a function that writes them with another one, and loads."""
    path = folder / "s"
    save_stream(STREAM, path, TOK)
    whole = {end: (folder / f"s.{end}").read_bytes() for end in ("json", "bin", "spans.parquet")}

    def take(verify: bool = True, **parts: bytes) -> None:
        parts = {name.replace("_", "."): content for name, content in parts.items()}
        for end, content in (whole | parts).items():
            (folder / f"s.{end}").write_bytes(content)
        again = load_stream(path, TOK, verify=verify)
        assert again.spans.dtypes.astype(str).to_dict() == dict.fromkeys(SPANS, "int64")
        assert span_lengths(again.spans, len(again)).sum() == len(again)
        assert not verify or again.ids.max(initial=0) < TOK.vocab_size

    return whole, take


def manifest(folder: Path) -> Door:
    whole, take = stream_parts(folder)
    content = damaged(whole["json"]) | damaged_json(json.loads(whole["json"])).map(as_json)
    return st.tuples(content, st.booleans()), lambda given: take(json=given[0], verify=given[1])


def id_file(folder: Path) -> Door:
    whole, take = stream_parts(folder)

    def with_its_checksum(given: tuple[bytes, bool]) -> None:
        content, verify = given
        fitting = {"sha256": sha256(content), "count": len(content) // 2}
        take(verify, bin=content, json=as_json(json.loads(whole["json"]) | fitting))

    return st.tuples(damaged(whole["bin"]), st.booleans()), with_its_checksum


def span_file(folder: Path) -> Door:
    whole, take = stream_parts(folder)
    table = STREAM.spans.to_dict("list")
    odd = [
        [0.5, 1.0, 2.0],
        ["a", "b", "c"],
        [None, 1, 2],
        [2**62, 2**63 - 1, 0],
        [[1]] * 3,
        [-1] * 3,
    ]
    odd += [[-(2**63), 0, 2**63 - 1], [True] * 3, [0, 0, 0], [0, 1, 2]]
    names = st.sampled_from([*SPANS, "x", "__index_level_0__"])
    columns = st.dictionaries(names, st.sampled_from(odd), max_size=2).map(lambda d: table | d)
    fewer = st.tuples(columns, st.sampled_from([*SPANS, ""])).map(
        lambda a: parquet(**{name: held for name, held in a[0].items() if name != a[1]})
    )

    def with_its_checksum(content: bytes) -> None:
        fitting = {"spans_sha256": sha256(content)}
        take(spans_parquet=content, json=as_json(json.loads(whole["json"]) | fitting))

    return damaged(whole["spans.parquet"]) | fewer, with_its_checksum


def prepared_folder(folder: Path) -> Door:
    """What `prepare.py` has left, its report damaged."""
    for side in ("train", "val"):
        save_stream(STREAM, folder / side, TOK)
    TOK.save(folder / TOKENIZER)
    whole = {"tokens": {"train": len(STREAM), "val": len(STREAM)}, "corpus_sha256": "c" * 64}

    def take(content: bytes) -> None:
        (folder / PREPARED).write_bytes(content)
        left = load_prepared(folder)
        assert len(left.streams["val"]) == len(STREAM)
        assert left.report["corpus_sha256"].isascii() is not None

    return damaged(as_json(whole)) | damaged_json(whole).map(as_json), take


def bare_ids(folder: Path) -> Door:
    def take(content: bytes) -> None:
        (folder / "a.bin").write_bytes(content)
        assert len(load_uint16(folder / "a.bin")) == len(content) / 2

    return st.binary(max_size=9), take


# ---- what a run has left

STATE = {"step": 3, "seed": 42, "corpus": "c" * 64, "tokenizer": TOK.fingerprint}
STATE |= {"next_batch": "e" * 64, "device": "cpu", "config": {"threads": 1, "eval_every": 100}}


def saved_run(folder: Path) -> Path:
    """A run of a small model; the folder of its checkpoint."""
    model = GPT(TOK.vocab_size, 1, 2, 8)
    moments = {"0.0.average": torch.full((2, 3), 0.5), "1.0.step": torch.tensor(3.0)}
    checkpoint.save(folder, model.state_dict(), moments, STATE)
    write_json(folder / "config.json", asdict(Config(n_layer=1, n_head=2, d_model=8)))
    TOK.save(folder / "tokenizer.json")
    return folder / "checkpoint" / "000003"


def state_json(folder: Path) -> Door:
    path = saved_run(folder) / "state.json"
    whole = path.read_bytes()

    def take(content: bytes) -> None:
        path.write_bytes(content)
        state = checkpoint.load(folder).state
        assert checkpoint.moved(state, 1, "cpu") is not None
        checkpoint.check_same(state, **{k: v for k, v in STATE.items() if len(str(v)) == 64})

    return damaged(whole) | damaged_json(json.loads(whole)).map(as_json), take


def tensors(folder: Path) -> Door:
    """Tensors whose header lies, with the checksum that fits."""
    path = saved_run(folder)
    state, whole = read_json(path / "state.json"), (path / "model.safetensors").read_bytes()
    size = int.from_bytes(whole[:8], "little")
    head, body = json.loads(whole[8 : 8 + size]), whole[8 + size :]

    def lying(given: tuple[Any, int, bytes]) -> bytes:
        told = as_json(given[0])
        return max(0, len(told) + given[1]).to_bytes(8, "little") + told + body + given[2]

    lies = st.sampled_from([0, 0, 1, -1, 2**40, 2**62]), st.sampled_from([b"", b"x"])
    contents = damaged(whole) | st.tuples(damaged_json(head), *lies).map(lying)

    def take(content: bytes) -> None:
        (path / "model.safetensors").write_bytes(content)
        write_json(
            path / "state.json", state | {"sha256": state["sha256"] | {"model": sha256(content)}}
        )
        model, _ = runs.load_run(folder)
        assert model(torch.zeros(1, 2, dtype=torch.int64)).shape == (1, 2, TOK.vocab_size)

    return contents, take


def settings_of_a_run(folder: Path) -> Door:
    saved_run(folder)
    path = folder / "config.json"
    whole = read_json(path)

    def take(content: bytes) -> None:
        path.write_bytes(content)
        runs.load_run(folder)
        read_settings(read_json(path), path.as_posix())

    return damaged_json(whole).map(as_json) | damaged(as_json(whole)), take


def losses(folder: Path) -> Door:
    path = folder / "metrics.csv"
    head = "step,targets,train_loss,val_loss,val_bits_per_byte"
    whole = [head.split(","), ["1", "64", "7.1", "", ""], ["2", "64", "7.0", "6.8", "2.2"]]
    odd = [
        "1",
        "2",
        "-1",
        "0.5",
        "nan",
        "inf",
        "",
        "x",
        "1e999",
        "9" * 30,
        "9" * 5000,
        "True",
        "1_0",
    ]
    cell = st.tuples(st.integers(0, 2), st.integers(0, 4), st.sampled_from(odd))

    def changed(cells: list[tuple[int, int, str]]) -> bytes:
        rows = [[*row] for row in whole]
        for row, column, text in cells:
            rows[row][column] = text
        return "\n".join(map(",".join, rows)).encode()

    def take(content: bytes) -> None:
        path.write_bytes(content)
        found = runs.Losses.read(folder, 2, 2)
        assert all(type(targets) is int and type(loss) is float for _, targets, loss in found.steps)
        assert len(found.frame()) == 2

    return st.lists(cell, min_size=1, max_size=3).map(changed) | damaged(changed([])), take


DOORS = [readers, packed_readers, json_lines, tokenizer_json, manifest, id_file, span_file]
DOORS += [prepared_folder, bare_ids, state_json, tensors, settings_of_a_run, losses]


def knock(door: Callable[[Path], Door], folder: Path, cases: int) -> None:
    """Try so many cases: each is taken in, or refused in one line, and no half file is left."""
    contents, take = door(folder)

    @settings(max_examples=cases, suppress_health_check=list(HealthCheck))
    @given(contents)
    def is_answered(content: Any) -> None:
        try:
            take(content)
        except AssertionError:
            raise
        except BaseException as error:
            refusal(error, folder.as_posix(), "--encoding takes", "when the run was stopped")
        assert not [path for path in folder.rglob("*") if ".tmp" in path.name]

    is_answered()


@pytest.mark.parametrize("door", DOORS)
def test_what_is_damaged_is_refused_in_one_line_that_names_the_file(door, tmp_path):
    knock(door, tmp_path, settings.default.max_examples // 4)


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
def test_thousands_of_damaged_files_are_refused_in_one_line_each(door, tmp_path):
    knock(door, tmp_path, 50 * settings.default.max_examples)


# ---- what the doors have let through before, each of a kind


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz", "a.txt.gz", "a.parquet"])
def test_a_small_file_that_unpacks_to_a_mountain_is_refused_and_its_first_rows_are_read(
    tmp_path, monkeypatch, name
):
    """At most 1,000 bytes or 100 times the file's size; here a cell has a million letters."""
    monkeypatch.setattr(lines, "_ALWAYS", 1000)
    cells = {"text": ["small", "a" * 1_000_000]}
    frame = pd.DataFrame(cells)
    path = tmp_path / name
    if name == "a.parquet":
        path.write_bytes(parquet(text=pyarrow.array(cells["text"] * 50).dictionary_encode()))
    elif name == "a.jsonl.gz":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False)
    with pytest.raises(ValueError, match=f"{name}: unpacks to over .* unpack it first"):
        load_documents(path)
    if name == "a.parquet":
        assert len(load_documents(path, max_rows=1)) == 1


def test_a_number_of_thousands_of_digits_is_no_json(tmp_path):
    (tmp_path / "a.json").write_text('{"step": ' + "9" * 5000 + "}", encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.json is damaged, no JSON: Exceeds the limit"):
        read_json(tmp_path / "a.json")


@pytest.mark.parametrize(
    "encoding", ["idna", "punycode", "undefined", "unicode_escape", "a\0b", ""]
)
def test_what_is_no_encoding_of_files_is_no_encoding(tmp_path, encoding):
    """Python knows the first four, for host names and for escapes in its own source."""
    (tmp_path / "a.txt").write_bytes(b"a")
    with pytest.raises(ValueError, match="--encoding takes a text encoding such as utf-8"):
        load_documents(tmp_path / "a.txt", encoding=encoding)


def test_utf_16_without_its_byte_order_mark_is_refused_by_name(tmp_path):
    (tmp_path / "a.csv").write_bytes(CSV)
    with pytest.raises(ValueError, match=r"a\.csv: UTF-16 stream does not start with BOM; name"):
        load_documents(tmp_path / "a.csv", encoding="utf-16")


def test_spans_whose_lengths_overflow_are_no_spans():
    """From 2⁶³ − 1 to −2 is one forward, counted modulo 2⁶⁴."""
    spans = pd.DataFrame({"start": [2**63 - 1], "stop": [-2]})
    with pytest.raises(ValueError, match="spans must be sorted, not empty, without overlap"):
        span_lengths(spans, 9)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"n_layer": 10**12}, r"n_layer is 1000000000000, the weights have 1 layers"),
        ({"d_model": 16}, r"the embedding is \(277, 8\)"),
        ({"n_head": 0}, "division or modulo by zero|integer modulo by zero|n_head"),
        ({"n_head": None}, "int"),
    ],
)
def test_settings_that_do_not_fit_the_weights_are_refused_before_a_model_is_made(
    tmp_path, changes, told
):
    saved_run(tmp_path)
    path = tmp_path / "config.json"
    write_json(path, read_json(path) | changes)
    with pytest.raises(ValueError, match=f"the weights do not fit each other .*({told})"):
        runs.load_run(tmp_path)


@pytest.mark.parametrize("value", [True, 1.0, "1", None])
def test_a_setting_of_another_type_is_refused_also_true_for_one(value):
    with pytest.raises(ValueError, match=f"a.json has {value!r} for 'seq_len', which cannot be"):
        read_settings({"seq_len": value}, "a.json")


def test_a_state_of_another_step_than_its_folder_is_refused(tmp_path):
    path = saved_run(tmp_path) / "state.json"
    write_json(path, read_json(path) | {"step": 4})
    with pytest.raises(ValueError, match=r"state\.json was altered: its step is 4"):
        checkpoint.load(tmp_path)

"""Files become the streams that memory would have made of them, by whatever road."""

import csv
import gzip
import json
from pathlib import Path
from unittest import mock

import pandas as pd
import pytest
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

import preparation
import shards
from config import Config
from corpus import load_documents
from feed import divide
from intake import Recipe
from preparation import Making, prepare_tokens
from prepared import load_prepared
from streamfiles import save_stream
from tokenizer import Tokenizer
from workers import run_here

RECIPE = Recipe(test_fraction=0.2, val_fraction=0.2, seed=0)
STREAM = ("bin", "json", "spans.parquet")


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return load_documents(ROOT / "data" / "corpus.csv", max_rows=12)["text"].tolist()


@pytest.fixture
def corpus(tmp_path, texts) -> Path:
    """12 stories, a text with newlines, and two blank records."""
    return write_csv(tmp_path / "corpus.csv", [*texts[:6], "", "a\n\nb", "  ", *texts[6:]])


def write_csv(path: Path, texts: list[str], **columns: list[str]) -> Path:
    rows = zip(texts, *columns.values(), strict=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("text", *columns), *rows])
    return path


def make(out: Path, *files: Path, run=run_here, recipe: Recipe = RECIPE, **how) -> dict:
    out.mkdir(exist_ok=True)
    how = {"num_merges": 50, "partition_mb": 0.002} | how
    with mock.patch("os.fsync"):
        return prepare_tokens([str(file) for file in files], out, Making(recipe, run, **how))


def content(out: Path) -> dict[str, bytes]:
    names = ["tokenizer.json", *(f"{s}.{e}" for s in ("train", "val", "test") for e in STREAM)]
    return {name: (out / name).read_bytes() for name in names}


def in_memory(path: Path, out: Path, num_merges: int = 50) -> dict[str, bytes]:
    """What the road in memory makes of a file, saved."""
    config = Config(
        split="documents",
        layout="eot",
        num_merges=num_merges,
        val_fraction=RECIPE.val_fraction,
        test_fraction=RECIPE.test_fraction,
        seed=RECIPE.seed,
    )
    documents = load_documents(path)
    had = divide(config, documents)
    out.mkdir()
    had.tok.save(out / "tokenizer.json")
    for side, stream in {"train": had.train, "val": had.val, "test": had.test}.items():
        sha256 = documents.attrs["intake"].sha256
        save_stream(stream, out / side, had.tok, corpus_sha256=sha256)
    return content(out)


@pytest.mark.parametrize(("partition_mb", "partitions"), [(0.000001, 16), (0.002, 4), (1, 1)])
def test_the_files_are_byte_for_byte_those_of_the_road_in_memory(
    tmp_path, corpus, partition_mb, partitions
):
    """Ids, spans and tokenizer; a partition a record (and the header), four of them, and one."""
    report = make(tmp_path / "out", corpus, partition_mb=partition_mb)
    assert content(tmp_path / "out") == in_memory(corpus, tmp_path / "memory")
    assert report["files"][0]["partitions"] == partitions
    assert (report["records"], report["kept"], report["empty"]) == (15, 13, 2)


@settings(max_examples=8)
@given(
    st.lists(st.text(st.sampled_from('ab "\n,é'), max_size=8), max_size=12),
    st.integers(1, 60),
    st.randoms(use_true_random=False),
)
def test_any_documents_in_any_order_of_work(tmp_path_factory, some, size, random):
    folder = tmp_path_factory.mktemp("any")
    path = write_csv(folder / "any.csv", ["one", "two", "three", "four", "five", *some])

    def shuffled(work, jobs):
        numbers = random.sample(range(len(jobs)), len(jobs))
        return ((number, work(*jobs[number])) for number in numbers)

    try:
        wanted = in_memory(path, folder / "memory", 0)
    except ValueError as error:
        with pytest.raises(ValueError, match="no document fell on the"):
            make(folder / "out", path, run=shuffled, num_merges=0)
        assert "none fell on the" in str(error)
        return
    make(folder / "out", path, run=shuffled, num_merges=0, partition_mb=size / 1e6)
    assert content(folder / "out") == wanted


def test_files_of_all_kinds_hold_their_documents_in_the_order_they_are_named(tmp_path, texts):
    """Documents 0 to 2 of a CSV file, 3 to 5 of JSON lines, then Parquet, then packed CSV."""
    whole = write_csv(tmp_path / "whole.csv", texts)
    one = write_csv(tmp_path / "one.csv", texts[:3])
    two = tmp_path / "two.jsonl"
    two.write_text("".join(json.dumps({"text": t}) + "\n" for t in texts[3:6]), encoding="utf-8")
    three = tmp_path / "three.parquet"
    pd.DataFrame({"text": texts[6:9]}).to_parquet(three, row_group_size=2)
    four = tmp_path / "four.csv.gz"
    four.write_bytes(gzip.compress(write_csv(tmp_path / "four.csv", texts[9:]).read_bytes()))
    report = make(tmp_path / "out", one, two, three, four, partition_mb=0.0005)
    make(tmp_path / "whole", whole)
    found, wanted = (load_prepared(tmp_path / name) for name in ("out", "whole"))
    assert found.tok.fingerprint == wanted.tok.fingerprint
    for side, stream in wanted.streams.items():
        assert found.streams[side].ids.tolist() == stream.ids.tolist()
        assert found.streams[side].spans.equals(stream.spans)
    assert [file["records"] for file in report["files"]] == [3, 3, 3, 3]
    assert [file["partitions"] > 1 for file in report["files"]] == [True, True, True, False]


# ---- the tokenizer


def test_a_small_share_of_the_training_side_is_the_same_whatever_the_partitions(tmp_path, corpus):
    """About half of the training text; one document more or less decides other merges."""
    for name, size in (("a", 0.001), ("b", 1)):
        make(tmp_path / name, corpus, fit_mb=0.002, partition_mb=size)
    assert content(tmp_path / "a") == content(tmp_path / "b")
    make(tmp_path / "all", corpus)
    assert content(tmp_path / "a")["tokenizer.json"] != content(tmp_path / "all")["tokenizer.json"]


def test_a_tokenizer_that_is_given_is_used(tmp_path, corpus, tok):
    make(tmp_path / "out", corpus, tok=tok)
    assert load_prepared(tmp_path / "out").tok.fingerprint == tok.fingerprint


def test_a_share_without_a_document_is_refused(tmp_path, corpus):
    with pytest.raises(ValueError, match=r"--fit-mb 1e-06 takes no document; fit on more"):
        make(tmp_path / "out", corpus, fit_mb=1e-06)


# ---- going on


class StoppedError(Exception):
    pass


def stopping(after: int):
    """Workers that are stopped after so many shards."""

    def run(work, jobs):
        for number, job in enumerate(jobs):
            if work is shards.make_shard and number == after:
                raise StoppedError
            yield number, work(*job)

    return run


@pytest.mark.parametrize("damaged", [None, "000001-train.bin", "000001.json", "000001-train.json"])
def test_a_run_that_was_stopped_goes_on_with_the_shards_that_are_whole(
    tmp_path, corpus, monkeypatch, damaged
):
    """2 of the 4 shards are there; the others are of 3 sides and of 1, together 4 streams.

    The second has 2 streams, train and test, which are made again after a flipped bit.
    """
    out = tmp_path / "out"
    with pytest.raises(StoppedError):
        make(out, corpus, run=stopping(2))
    assert not (out / "prepared.json").exists()
    if damaged:
        file = out / "shards" / damaged
        file.write_bytes(bytes([file.read_bytes()[0] ^ 1]) + file.read_bytes()[1:])
    made = []
    monkeypatch.setattr(
        shards, "encode_documents", lambda d, t: made.append(len(d)) or encode(d, t)
    )
    monkeypatch.setattr(preparation, "build_tokenizer", None)  # is not learned again
    report = make(out, corpus)
    monkeypatch.undo()
    make(tmp_path / "clean", corpus)
    assert content(out) == content(tmp_path / "clean")
    assert json.loads((out / "prepared.json").read_bytes()) == report
    assert not (out / "shards").exists()
    assert len(made) == (6 if damaged else 4)


encode = shards.encode_documents


def test_shards_of_other_partitions_are_not_kept(tmp_path, corpus):
    with pytest.raises(StoppedError):
        make(tmp_path / "out", corpus, run=stopping(2))
    make(tmp_path / "out", corpus, partition_mb=0.003)
    make(tmp_path / "clean", corpus)
    assert content(tmp_path / "out") == content(tmp_path / "clean")


def test_what_is_done_is_not_done_again_unless_it_is_damaged(tmp_path, corpus, capsys):
    first = make(tmp_path / "out", corpus)
    before = content(tmp_path / "out")
    assert make(tmp_path / "out", corpus, run=stopping(0)) == first
    (tmp_path / "out" / "val.bin").write_bytes(b"\0\0")
    assert make(tmp_path / "out", corpus) == first
    assert "val.bin: 2 bytes, and count" in capsys.readouterr().out
    assert content(tmp_path / "out") == before


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"recipe": Recipe(seed=1)}, "seed was 0, now 1"),
        ({"num_merges": 51}, "num_merges was 50, now 51"),
        ({"tok": Tokenizer([])}, "tokenizer was None, now '"),
        ({}, "the files hold other bytes"),
    ],
)
def test_another_preparation_in_the_folder_is_refused(tmp_path, corpus, done, changes, message):
    if done:
        make(tmp_path / "out", corpus)
    else:
        with pytest.raises(StoppedError):
            make(tmp_path / "out", corpus, run=stopping(1))
    if not changes:
        corpus.write_bytes(corpus.read_bytes() + b"more\n")
    with pytest.raises(ValueError, match="holds another preparation") as caught:
        make(tmp_path / "out", corpus, **changes)
    assert message in str(caught.value) and "give another --out, or empty this one" in str(
        caught.value
    )


def test_a_folder_of_something_else_is_refused(tmp_path, corpus):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match=r"holds thesis\.txt, which is of no preparation; give an"):
        make(tmp_path / "out", corpus)


# ---- what is refused


@pytest.mark.parametrize(
    ("name", "written", "message"),
    [
        ("bad.csv", "text\na\nb,c\n", "bad.csv, line 3: the row has 2 fields"),
        ("bad.csv", 'text\na\n"b\n', "bad.csv, line 3: the row that starts here opens a quote"),
        ("bad.csv", "text\n \n", "bad.csv: 1 rows read, and none has text in column 'text'"),
        ("bad.jsonl", '{"id": 1}\n{"id": 2}\n', "bad.jsonl: 2 rows read, and none has text"),
        ("bad.parquet", "PAR1", "bad.parquet: not a whole Parquet file"),
        ("bad.csv.gz", "no gzip", "bad.csv.gz: not a whole gzip file"),
        ("bad.doc", "", "bad.doc: cannot read this kind of file"),
    ],
)
def test_a_bad_file_among_good_ones_is_refused_by_its_place_or_left_out_whole(
    tmp_path, corpus, name, written, message
):
    """Left out, nothing of it is there: the rest is as it would be alone."""
    bad = tmp_path / name
    bad.write_text(written, encoding="utf-8")
    corpus = write_csv(corpus, list("abcdef"))
    how = {"partition_mb": 0.000004, "num_merges": 0}
    with pytest.raises(ValueError) as caught:
        make(tmp_path / "out", corpus, bad, **how)
    assert message in str(caught.value)
    assert str(caught.value).endswith("(or leave such files out with --skip-bad)")
    report = make(tmp_path / "out", corpus, bad, skip_bad=True, **how)
    assert list(report["skipped"]) == [str(bad)] and message in report["skipped"][str(bad)]
    make(tmp_path / "alone", corpus, num_merges=0)
    assert content(tmp_path / "out") == content(tmp_path / "alone")


def test_a_file_that_is_gone_is_one_of_them(tmp_path, corpus):
    with pytest.raises(ValueError, match=r"gone\.csv: No such file"):
        make(tmp_path / "out", corpus, tmp_path / "gone.csv")


def test_when_every_file_is_bad_nothing_is_left(tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("text\n", encoding="utf-8")
    with pytest.raises(ValueError, match="every file was left out; mend one of them at least"):
        make(tmp_path / "out", bad, skip_bad=True)


def test_a_side_without_a_document_is_refused(tmp_path, corpus):
    with pytest.raises(ValueError, match=r"no document fell on the val side \(train has 13, val "):
        make(tmp_path / "out", corpus, recipe=Recipe(val_fraction=1e-9))


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, corpus):
    write_csv(corpus, list("abcdef"))

    def changing(work, jobs):
        if work is shards.make_shard:
            corpus.write_bytes(b"text\na b\nc\nd\ne\nf\n")
        return run_here(work, jobs)

    with pytest.raises(ValueError, match=r"corpus\.csv: changed while it was read; prepare again"):
        make(tmp_path / "out", corpus, run=changing)


def test_one_text_in_two_groups_is_refused_wherever_the_two_stand(tmp_path):
    """They are records 1 and 8 of the file, and not in one partition."""
    texts = list("abcdefghBj")
    texts[8] = "b"
    path = write_csv(tmp_path / "g.csv", texts, who=list("0123456789"))
    recipe = Recipe(group_column="who", val_fraction=0.4)
    with pytest.raises(ValueError, match=r"g\.csv, record 1 and .*g\.csv, record 8 \(from 0\)"):
        make(tmp_path / "out", path, recipe=recipe, partition_mb=0.000008)
    good = write_csv(tmp_path / "g.csv", texts, who=list("0123456719"))
    report = make(tmp_path / "good", good, recipe=recipe, partition_mb=0.000008, num_merges=0)
    assert report["kept"] == 10

"""Packed rows as Parquet: labels worked by hand, and a trainer's shift beside our loss mask."""

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from test_packing import EOT, LONG, TWO, cases, documents, masks, packed_or_none, stream_of

import export
from export import COLUMNS, export_rows, labels_of
from packing import pack
from stream import Stream, segment_ids
from windows import gather, loss_mask, sliding_windows


def exported(stream: Stream, seq_len: int, boundaries: str, path) -> dict[str, list]:
    export_rows(stream, seq_len, boundaries, path)
    return pq.read_table(path).to_pydict()


# ---- worked by hand


def test_isolated_rows_of_two_documents_and_two_pads(tmp_path):
    """11 12 9 | 21 9 | p p: no label where a span begins, nor at a pad, whose id is 9."""
    packed = pack(stream_of(TWO), 6, EOT)
    assert exported(packed, 6, "isolated", tmp_path / "rows.parquet") == {
        "input_ids": [[11, 12, 9, 21, 9, 9, 9]],
        "labels": [[-100, 12, 9, -100, 9, -100, -100]],
        "position_ids": [[0, 1, 2, 0, 1, 0, 1]],
        "seq_lengths": [[3, 2, 2]],
        "doc_ids": [[0, 0, 0, 1, 1, -1, -1]],
    }


def test_continuous_rows_are_one_stretch_in_which_only_padding_does_not_count(tmp_path):
    packed = pack(stream_of(TWO), 6, EOT)
    assert exported(packed, 6, "continuous", tmp_path / "rows.parquet") == {
        "input_ids": [[11, 12, 9, 21, 9, 9, 9]],
        "labels": [[-100, 12, 9, 21, 9, -100, -100]],
        "position_ids": [[0, 1, 2, 3, 4, 5, 6]],
        "seq_lengths": [[7]],
        "doc_ids": [[0, 0, 0, 1, 1, -1, -1]],
    }


def test_rows_of_an_over_long_document(tmp_path):
    """11 12 9 p · 21 22 23 24 · 25 9 | 31 9."""
    rows = exported(pack(stream_of(LONG), 3, 0), 3, "isolated", tmp_path / "rows.parquet")
    assert rows["labels"] == [[-100, 12, 9, -100], [-100, 22, 23, 24], [-100, 9, -100, 9]]
    assert rows["seq_lengths"] == [[3, 1], [4], [2, 2]]
    assert rows["doc_ids"] == [[0, 0, 0, -1], [1, 1, 1, 1], [1, 1, 2, 2]]


def test_the_label_of_a_target_stands_one_place_after_its_input():
    """x = 11 12 9, y = 12 9 21, and 21 does not count; nothing predicts the 11."""
    rows, mask = np.array([[11, 12, 9, 21]]), np.array([[True, True, False]])
    assert labels_of(rows, mask).tolist() == [[-100, 12, 9, -100]]


# ---- the law, and torch as a trainer


@settings(max_examples=30)
@given(cases, st.sampled_from(["continuous", "isolated"]))
def test_shifted_as_trainers_do_labels_are_the_targets_that_our_mask_counts(
    tmp_path_factory, case, boundaries
):
    if (packed := packed_or_none(case)) is None:
        return
    seq_len = case[1]
    rows = exported(packed, seq_len, boundaries, tmp_path_factory.mktemp("rows") / "rows.parquet")
    shifted = np.array(rows["labels"])[:, 1:]
    windows = sliding_windows(len(packed), seq_len, seq_len + 1)
    x, y = gather(packed.ids, windows)
    mask = loss_mask(windows, segment_ids(packed.spans, len(packed)), boundaries)
    assert (shifted != -100).tolist() == mask.tolist()
    assert shifted[mask].tolist() == y[mask].tolist()
    assert np.array(rows["input_ids"])[:, :-1].tolist() == x.tolist()


@settings(max_examples=30)
@given(documents, st.integers(1, 12), st.sampled_from(["continuous", "isolated"]))
def test_lengths_and_positions_agree_and_cover_the_row(
    tmp_path_factory, texts, seq_len, boundaries
):
    packed = pack(stream_of(texts), seq_len, 0)
    rows = exported(packed, seq_len, boundaries, tmp_path_factory.mktemp("rows") / "rows.parquet")
    for lengths, positions in zip(rows["seq_lengths"], rows["position_ids"], strict=True):
        assert sum(lengths) == seq_len + 1
        assert positions == [i for length in lengths for i in range(length)]
        assert boundaries == "isolated" or lengths == [seq_len + 1]


def test_the_loss_of_a_trainer_is_ours():
    """The shift of Hugging Face's models: logits without the last, labels without the first."""
    packed = pack(stream_of(LONG), 3, 0)
    logits = torch.randn(3, 4, 40, generator=torch.Generator().manual_seed(0))
    mask = np.array(masks(packed, 3, "isolated"), dtype=bool)
    labels = torch.from_numpy(labels_of(packed.ids.reshape(3, 4), mask))
    theirs = F.cross_entropy(
        logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100
    )
    _, y = gather(packed.ids, sliding_windows(12, 3, 4))
    ours = F.cross_entropy(logits[:, :-1][torch.from_numpy(mask)], torch.from_numpy(y[mask]))
    assert torch.equal(theirs, ours)


# ---- the file


def test_a_file_in_many_groups_holds_the_rows_of_one(tmp_path, monkeypatch):
    """Groups of 9 ids, so of two rows of 4; wholly padded rows would be a group without spans."""
    packed = pack(stream_of(LONG * 5), 3, 0)
    padded = Stream(np.append(packed.ids, [0] * 12), packed.spans, "packed")
    whole = exported(padded, 3, "isolated", tmp_path / "whole.parquet")
    monkeypatch.setattr(export, "GROUP", 9)
    assert exported(padded, 3, "isolated", tmp_path / "parts.parquet") == whole
    file = pq.ParquetFile(tmp_path / "parts.parquet")
    assert {file.metadata.row_group(g).num_rows for g in range(file.num_row_groups - 1)} == {2}
    assert whole["labels"][-1] == [-100] * 4
    assert whole["seq_lengths"][-2:] == [[4], [4]]


def test_a_row_longer_than_a_group_is_a_group(tmp_path, monkeypatch):
    monkeypatch.setattr(export, "GROUP", 2)
    rows = exported(pack(stream_of(LONG), 3, 0), 3, "isolated", tmp_path / "rows.parquet")
    assert rows["input_ids"] == [[11, 12, 9, 0], [21, 22, 23, 24], [25, 9, 31, 9]]


def test_every_column_is_lists_of_whole_numbers_of_eight_bytes(tmp_path):
    export_rows(pack(stream_of(TWO, np.uint16), 6, 0), 6, "isolated", tmp_path / "rows.parquet")
    schema = pq.read_schema(tmp_path / "rows.parquet")
    assert schema.names == list(COLUMNS)
    assert {str(field.type.value_type) for field in schema} == {"int64"}


def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"old")
    monkeypatch.setattr(export, "_table", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export_rows(pack(stream_of(TWO), 6, 0), 6, "isolated", path)
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["rows.parquet"]


@pytest.mark.parametrize(
    ("stream", "seq_len"), [(stream_of(LONG), 4), (stream_of(TWO), 5), (stream_of(TWO), 2)]
)
def test_a_stream_that_is_no_rows_is_refused(tmp_path, stream, seq_len):
    """11 ids are no rows of 5, and 5 ids no row of 6, nor rows of 3, though no span crosses."""
    with pytest.raises(ValueError, match=rf"whole rows of .*pack\(stream, {seq_len}, pad_id\)"):
        export_rows(stream, seq_len, "isolated", tmp_path / "rows.parquet")
    assert not list(tmp_path.iterdir())


def test_rows_of_another_length_are_refused(tmp_path):
    """Twelve ids in rows of 4 are rows of 6 too, but the span 4 … 7 goes on over place 6."""
    packed = pack(stream_of(LONG), 3, 0)
    with pytest.raises(ValueError, match="no span may cross"):
        export_rows(packed, 5, "isolated", tmp_path / "rows.parquet")


def test_other_boundaries_are_refused(tmp_path):
    with pytest.raises(ValueError, match="boundaries must be 'continuous' or 'isolated', got 'no'"):
        export_rows(pack(stream_of(TWO), 6, 0), 6, "no", tmp_path / "rows.parquet")
    assert not list(tmp_path.iterdir())

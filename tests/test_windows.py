"""The window table, the shift and the masks; formulas beside hand-worked tables."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from windows import (
    attention_mask,
    count_batches,
    count_steps,
    count_unused,
    count_windows,
    eval_windows,
    gather,
    loss_mask,
    rows_view,
    sliding_windows,
    window_table,
)

sizes = st.tuples(st.integers(0, 200), st.integers(1, 30), st.integers(1, 40))

# ---- counts


@pytest.mark.eq("window-count")
@pytest.mark.parametrize(
    ("n", "seq_len", "stride", "windows"),
    [
        (10, 4, 1, 6),
        (10, 4, 2, 3),
        (10, 4, 3, 2),
        (10, 4, 4, 2),
        (10, 4, 6, 1),
        (10, 4, 7, 1),
        (5, 4, 1, 1),
        (10, 1, 1, 9),
        (40, 16, 1, 24),
        (4, 4, 1, 0),
        (0, 4, 1, 0),
    ],
)
def test_the_window_count_of_the_hand_table(n, seq_len, stride, windows):
    """⌈(N − T)/k⌉: (10, 4, 3) has ⌈6/3⌉ = 2, (10, 4, 7) ⌈6/7⌉ = 1; none fits if N is at most T."""
    assert count_windows(n, seq_len, stride) == windows  # eq: window-count


@pytest.mark.eq("window-count", "window-starts")
@given(sizes)
def test_both_forms_of_the_count_are_the_number_of_starts(nTk):
    n, seq_len, stride = nTk
    count = count_windows(n, seq_len, stride)
    assert count == max(0, math.ceil((n - seq_len) / stride))  # eq: window-count
    starts = sliding_windows(n, seq_len, stride)["start"].tolist()
    loop = [s for s in range(n) if s % stride == 0 and s < n - seq_len]
    assert starts == loop  # eq: window-starts
    assert len(starts) == count


@given(sizes)
def test_unused_ids_are_those_that_no_window_covers(nTk):
    n, seq_len, stride = nTk
    covered = np.zeros(n, dtype=bool)
    for start in sliding_windows(n, seq_len, stride)["start"]:
        covered[start : start + seq_len + 1] = True
    assert count_unused(n, seq_len, stride) == (~covered).sum()


def test_ten_ids_at_stride_three_leave_two_unused():
    """Windows of 5 ids at 0 and 3 cover 0 … 7."""
    assert count_unused(10, 4, 3) == 2


@pytest.mark.eq("batches-per-epoch")
@pytest.mark.parametrize(("windows", "batches"), [(46, 3), (48, 3), (49, 4), (1, 1), (0, 0)])
def test_the_last_batch_may_be_short_and_counts(windows, batches):
    """B = 16: ⌈46/16⌉ = 3, ⌈48/16⌉ = 3, ⌈49/16⌉ = 4."""
    assert count_batches(windows, 16) == batches  # eq: batches-per-epoch


@pytest.mark.eq("total-steps")
def test_three_epochs_of_46_windows_in_batches_of_16_are_nine_steps():
    """3 × ⌈46/16⌉ = 9, where ⌈3 × 46/16⌉ would be 9 too; with 40 windows 3 × 3 = 9, not 8."""
    assert count_steps(46, 16, 3) == 9  # eq: total-steps
    assert count_steps(40, 16, 3) == 9  # eq: total-steps


# ---- tables, gathering


def test_a_window_table_has_one_row_a_window_and_int64_columns():
    windows = window_table([0, 3], 4, [0, 1])
    assert windows.index.name == "window"
    assert windows.dtypes.astype(str).to_dict() == dict.fromkeys(windows.columns, "int64")
    assert windows.to_dict("list") == {"start": [0, 3], "length": [4, 4], "loss_from": [0, 1]}


@pytest.mark.eq("shift")
def test_gathered_targets_are_the_inputs_moved_one_place_left(hand_ids):
    x, y = gather(hand_ids, window_table([1, 5], 4))
    assert x.tolist() == [[1, 4, 1, 5], [2, 6, 5, 3]]  # eq: shift
    assert y.tolist() == [[4, 1, 5, 2], [6, 5, 3, 5]]  # eq: shift


def test_tensors_and_arrays_give_the_same_rows_and_both_are_views(hand_ids):
    tensor = torch.from_numpy(hand_ids)
    assert rows_view(tensor, 4).tolist() == rows_view(hand_ids, 4).tolist()
    assert rows_view(tensor, 4).untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
    assert np.shares_memory(rows_view(hand_ids, 4), hand_ids)
    x, y = gather(tensor, window_table([0, 5], 4))
    assert torch.equal(y[:, :-1], x[:, 1:])


def test_windows_of_different_lengths_are_not_gathered_together(hand_ids):
    with pytest.raises(ValueError, match=r"only windows of one length .* got lengths \[4, 3\]"):
        gather(hand_ids, window_table([0, 1], [4, 3]))


# ---- evaluation


@pytest.mark.eq("eval-starts")
@pytest.mark.parametrize(
    ("n", "seq_len", "stride", "starts"),
    [
        (50, 16, 8, [0, 8, 16, 24, 32, 33]),
        (23, 8, 3, [0, 3, 6, 9, 12, 14]),
        (17, 16, 16, [0]),
        (33, 16, 16, [0, 16]),
        (34, 16, 16, [0, 16, 17]),
    ],
)
def test_evaluation_starts_every_s_ids_and_ends_with_the_stream(n, seq_len, stride, starts):
    """n = 50: the last window starts at 50 − 1 − 16 = 33."""
    assert eval_windows(n, seq_len, stride)["start"].tolist() == starts  # eq: eval-starts


@pytest.mark.eq("eval-starts")
@given(st.integers(2, 120), st.integers(1, 20), st.data())
def test_every_target_is_scored_exactly_once(n, seq_len, data):
    stride = data.draw(st.integers(1, seq_len))
    windows = eval_windows(n, seq_len, stride)
    scored = np.zeros(n, dtype=int)
    for row in windows.itertuples():
        scored[row.start + 1 + row.loss_from : row.start + 1 + row.length] += 1
    assert scored.tolist() == [0] + [1] * (n - 1)  # eq: eval-starts
    later = windows.iloc[1:]
    assert (later["loss_from"] + 1 >= seq_len - stride + 1).all()  # ids of context


def test_a_stream_no_longer_than_a_window_is_one_window():
    assert eval_windows(5, 16, 8).to_dict("list") == {"start": [0], "length": [4], "loss_from": [0]}


@pytest.mark.parametrize(
    ("n", "seq_len", "stride", "message"),
    [
        (50, 8, 9, "stride 9 is larger than seq_len 8 and leaves targets unscored; use 1 … 8"),
        (1, 8, 4, "a stream needs at least 2 ids to score a target, got 1"),
        (50, 8, 0, "stride must be at least 1, got 0"),
    ],
)
def test_evaluation_with_holes_or_without_targets_is_refused(n, seq_len, stride, message):
    with pytest.raises(ValueError, match=message):
        eval_windows(n, seq_len, stride)


# ---- masks


def test_predicting_the_next_document_from_an_end_of_text_is_not_scored_if_isolated():
    """z = 11 12 9 | 21 22 9: of y = 12 9 21 22 9 the 21 belongs to B, its input 9 to A."""
    segments = np.array([1, 1, 1, 2, 2, 2])
    one = window_table([0], 5)
    assert loss_mask(one, segments, "isolated").astype(int).tolist() == [[1, 1, 0, 1, 1]]
    assert loss_mask(one, segments, "continuous").astype(int).tolist() == [[1, 1, 1, 1, 1]]


@pytest.mark.parametrize("boundaries", ["continuous", "isolated"])
def test_targets_before_loss_from_and_padded_targets_do_not_count(boundaries):
    """One document of 4 ids, then padding; of targets 1, 2 and 3 the first is scored already."""
    segments = np.array([1, 1, 1, 1, 0, 0, 0])
    mask = loss_mask(window_table([0], 6, 1), segments, boundaries)
    assert mask.astype(int).tolist() == [[0, 1, 1, 0, 0, 0]]


def test_who_may_attend_is_decided_by_place_and_span():
    assert attention_mask([1, 1, 2, 0]).astype(int).tolist() == [
        [1, 0, 0, 0],
        [1, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]
    assert attention_mask(np.ones((2, 3), dtype=int)).shape == (2, 3, 3)


def test_unknown_boundaries_are_refused():
    with pytest.raises(ValueError, match="must be 'continuous' or 'isolated', got 'open'"):
        loss_mask(window_table([0], 2), np.ones(3), "open")

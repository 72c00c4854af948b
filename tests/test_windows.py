"""The window table, the shift and the masks; formulas beside hand-worked tables."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stream import encode_documents, segment_ids
from tokenizer import Tokenizer
from windows import (
    attention_mask,
    check_sizes,
    count_batches,
    count_passes,
    count_steps,
    count_unused,
    count_windows,
    counts,
    eval_windows,
    gather,
    least_context,
    loss_mask,
    mean_context,
    place_in_epoch,
    rows_view,
    sliding_windows,
    window_order,
    window_table,
)

sizes = st.tuples(st.integers(0, 200), st.integers(1, 30), st.integers(1, 40))

# ---- counts


@pytest.mark.contract("count_windows")
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


@pytest.mark.contract("count_windows", "sliding_windows")
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


@pytest.mark.contract("count_unused")
@given(sizes)
def test_unused_ids_are_those_that_no_window_covers(nTk):
    n, seq_len, stride = nTk
    covered = np.zeros(n, dtype=bool)
    for start in sliding_windows(n, seq_len, stride)["start"]:
        covered[start : start + seq_len + 1] = True
    assert count_unused(n, seq_len, stride) == (~covered).sum()


@pytest.mark.contract("count_unused")
def test_ten_ids_at_stride_three_leave_two_unused():
    """Windows of 5 ids at 0 and 3 cover 0 … 7."""
    assert count_unused(10, 4, 3) == 2


@pytest.mark.contract("count_batches")
@pytest.mark.eq("batches-per-epoch")
@pytest.mark.parametrize(("windows", "batches"), [(46, 3), (48, 3), (49, 4), (1, 1), (0, 0)])
def test_the_last_batch_may_be_short_and_counts(windows, batches):
    """B = 16: ⌈46/16⌉ = 3, ⌈48/16⌉ = 3, ⌈49/16⌉ = 4."""
    assert count_batches(windows, 16) == batches  # eq: batches-per-epoch


@pytest.mark.contract("count_steps")
@pytest.mark.eq("total-steps")
def test_three_epochs_of_46_windows_in_batches_of_16_are_nine_steps():
    """3 × ⌈46/16⌉ = 9, where ⌈3 × 46/16⌉ would be 9 too; with 40 windows 3 × 3 = 9, not 8."""
    assert count_steps(46, 16, 3) == 9  # eq: total-steps
    assert count_steps(40, 16, 3) == 9  # eq: total-steps


# ---- tables, gathering


@pytest.mark.contract("window_table")
def test_a_window_table_has_one_row_a_window_and_int64_columns():
    windows = window_table([0, 3], 4, [0, 1])
    assert windows.index.name == "window"
    assert windows.dtypes.astype(str).to_dict() == dict.fromkeys(windows.columns, "int64")
    assert windows.to_dict("list") == {"start": [0, 3], "length": [4, 4], "loss_from": [0, 1]}


@pytest.mark.contract("gather")
@pytest.mark.eq("shift")
def test_gathered_targets_are_the_inputs_moved_one_place_left(hand_ids):
    x, y = gather(hand_ids, window_table([1, 5], 4))
    assert x.tolist() == [[1, 4, 1, 5], [2, 6, 5, 3]]  # eq: shift
    assert y.tolist() == [[4, 1, 5, 2], [6, 5, 3, 5]]  # eq: shift


@pytest.mark.contract("rows_view")
def test_every_stretch_of_t_plus_one_neighbours_is_a_row(hand_ids):
    """T = 4: ids 3 1 4 1 5, then 1 4 1 5 2, and so on to 2 6 5 3 5; a tensor has the same."""
    rows = [hand_ids[start : start + 5].tolist() for start in range(6)]
    assert rows[0] == [3, 1, 4, 1, 5] and rows[-1] == [2, 6, 5, 3, 5]
    assert rows_view(hand_ids, 4).tolist() == rows
    assert rows_view(torch.from_numpy(hand_ids), 4).tolist() == rows


@pytest.mark.contract("rows_view")
def test_a_stream_without_a_row_is_refused(hand_ids):
    for ids, seq_len in ((hand_ids, 10), (hand_ids[:1], 1), (hand_ids, 0)):
        with pytest.raises(ValueError, match=r"one window of|must be at least 1"):
            rows_view(ids, seq_len)


@pytest.mark.quality("rows_view")
def test_a_stream_that_is_too_short_is_told_how_long_it_must_be(hand_ids):
    with pytest.raises(ValueError, match="window of seq_len 4 needs 5 ids, the stream has 3"):
        rows_view(hand_ids[:3], 4)


@pytest.mark.quality("rows_view")
def test_the_rows_of_tensors_and_of_arrays_are_views(hand_ids):
    tensor = torch.from_numpy(hand_ids)
    assert rows_view(tensor, 4).untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
    assert np.shares_memory(rows_view(hand_ids, 4), hand_ids)


@pytest.mark.contract("gather")
def test_windows_are_gathered_from_a_tensor_too(hand_ids):
    x, y = gather(torch.from_numpy(hand_ids), window_table([0, 5], 4))
    assert torch.equal(y[:, :-1], x[:, 1:])


@pytest.mark.contract("gather")
def test_windows_of_different_lengths_are_not_gathered_together(hand_ids):
    with pytest.raises(ValueError, match=r"only windows of one length .* got lengths \[4, 3\]"):
        gather(hand_ids, window_table([0, 1], [4, 3]))


# ---- order


@pytest.mark.contract("window_order")
def test_ten_windows_come_in_the_stored_order_and_the_generator_moves_on():
    """pandas' orders of two epochs, for one generator seeded 42."""
    rng = np.random.default_rng(42)
    assert window_order(10, rng).tolist() == [2, 9, 1, 6, 3, 8, 5, 7, 4, 0]
    assert window_order(10, rng).tolist() == [5, 9, 6, 2, 0, 1, 7, 3, 4, 8]


@pytest.mark.contract("window_order")
@given(st.integers(0, 60), st.integers(0, 2**32))
def test_an_order_holds_each_window_once_and_is_what_pandas_draws_for_any_frame(n, seed):
    order = window_order(n, np.random.default_rng(seed))
    assert order.dtype == np.int64
    assert sorted(order) == list(range(n))
    frame = pd.DataFrame({"a": np.zeros(n)})
    assert (
        order.tolist()
        == frame.sample(frac=1, random_state=np.random.default_rng(seed)).index.tolist()
    )


@pytest.mark.quality("window_order")
def test_an_order_needs_a_generator_and_touches_no_global_state():
    state = repr(np.random.mtrand._rand.get_state())
    for rng in (None, 42, np.random.RandomState(42)):
        with pytest.raises(
            TypeError, match=r"such as np.random.default_rng\(42\), not (None|42|R)"
        ):
            window_order(5, rng)
    window_order(5, np.random.default_rng(0))
    assert repr(np.random.mtrand._rand.get_state()) == state


# ---- evaluation


@pytest.mark.contract("eval_windows")
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


@pytest.mark.contract("eval_windows")
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


@pytest.mark.contract("mean_context")
@pytest.mark.eq("mean-context")
@pytest.mark.parametrize(
    ("n", "seq_len", "stride", "mean"),
    [(129, 128, 128, 64.5), (385, 128, 128, 64.5), (5, 4, 2, 2.5), (7, 4, 2, 17 / 6)],
)
def test_targets_that_fill_their_windows_see_half_a_window_on_average(n, seq_len, stride, mean):
    """1 + … + 128 over 128 is 64.5. N = 7, T = 4, s = 2: 1, 2, 3, 4, then 3 and 4; 17/6."""
    assert mean_context(eval_windows(n, seq_len, stride)) == mean  # eq: mean-context


@pytest.mark.contract("mean_context", "least_context", "count_passes")
@pytest.mark.eq("mean-context", "least-context", "passes")
@given(st.integers(2, 120), st.integers(1, 20), st.data())
def test_context_and_passes_are_those_of_a_plain_loop(n, seq_len, data):
    """Window by window and place by place, counting the ids from its start to each target."""
    stride = data.draw(st.integers(1, seq_len))
    windows = eval_windows(n, seq_len, stride)
    seen, read = {}, 0
    for start in windows["start"]:
        for target in range(start + 1, min(start + seq_len, n - 1) + 1):
            seen.setdefault(target, target - start)
            read += 1
    assert sorted(seen) == list(range(1, n))
    assert mean_context(windows) == pytest.approx(sum(seen.values()) / (n - 1))  # eq: mean-context
    later = [context for target, context in seen.items() if target > seq_len]
    assert min(later, default=seq_len) >= least_context(seq_len, stride)
    if n >= 1 + seq_len + stride:  # the second window is not pushed back
        assert min(later) == least_context(seq_len, stride)  # eq: least-context
    assert count_passes(len(windows), min(seq_len, n - 1), n) == read / (n - 1)  # eq: passes


@pytest.mark.contract("least_context", "count_passes")
@pytest.mark.eq("passes", "least-context")
def test_overlapping_windows_read_each_id_several_times():
    """Six windows of 8 over 23 ids: 48 predictions of 22 targets, and 8 − 3 + 1 = 6."""
    assert count_passes(len(eval_windows(23, 8, 3)), 8, 23) == 24 / 11  # eq: passes
    assert least_context(8, 3) == 6  # eq: least-context


@pytest.mark.contract("eval_windows")
def test_a_stream_no_longer_than_a_window_is_one_window():
    assert eval_windows(5, 16, 8).to_dict("list") == {"start": [0], "length": [4], "loss_from": [0]}


@pytest.mark.contract("eval_windows")
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


@pytest.mark.quality("count_passes")
def test_a_stream_without_a_target_is_passed_over_by_nothing():
    assert count_passes(3, 1, 2) == 3
    with pytest.raises(ValueError, match="at least 2 ids to have a target, got 1"):
        count_passes(3, 2, 1)


# ---- what is left out, and what cannot be


@pytest.mark.contract("count_windows", "count_unused", "sliding_windows", "window_table")
def test_a_stride_that_is_not_named_is_one_and_every_target_counts():
    """N − T = 6 starts, of which the last window ends with the stream."""
    assert count_windows(10, 4) == 6
    assert count_unused(10, 4) == 0
    assert sliding_windows(10, 4)["start"].tolist() == [0, 1, 2, 3, 4, 5]
    assert sliding_windows(10, 4, 5)["length"].tolist() == [4, 4]
    assert window_table([3], 4)["loss_from"].tolist() == [0]


@pytest.mark.quality("window_table")
def test_columns_of_other_whole_numbers_become_int64():
    table = window_table(np.array([0, 3], np.uint16), np.int32(4))
    assert set(table.dtypes.astype(str)) == {"int64"}
    with pytest.raises(ValueError, match="start, length and loss_from must be below 2⁶³"):
        window_table([0], 4, 2**63)


@pytest.mark.quality("count_windows", "sliding_windows", "eval_windows", "count_batches")
@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        (count_windows, (10, 0, 1), "seq_len"),
        (count_windows, (10, 4, 0), "stride"),
        (sliding_windows, (10, 0, 1), "seq_len"),
        (sliding_windows, (10, 4, 0), "stride"),
        (eval_windows, (10, 0, 0), "seq_len"),
        (eval_windows, (10, 4, 0), "stride"),
        (count_batches, (10, 0), "batch_size"),
        (place_in_epoch, (7, 0, 4), "n_windows"),
    ],
)
def test_a_size_of_nothing_is_refused_by_its_name(function, arguments, name):
    with pytest.raises(ValueError, match=f"^{name} must be at least 1, got 0"):
        function(*arguments)


@pytest.mark.quality("count_batches")
@pytest.mark.parametrize("size", [2.0, True, "4", None])
def test_a_size_that_is_no_whole_number_is_refused(size):
    check_sizes(seq_len=np.int64(4))
    with pytest.raises(TypeError, match=f"^batch_size must be a whole number, got {size!r}"):
        count_batches(10, size)


def test_a_size_that_nothing_counts_is_refused():
    check_sizes(seq_len=2**62 - 1)
    with pytest.raises(ValueError, match=f"^seq_len must be below 2⁶², got {2**62}"):
        check_sizes(seq_len=2**62)


@pytest.mark.quality("window_order")
def test_fewer_than_no_windows_have_no_order():
    assert window_order(0, np.random.default_rng(0)).tolist() == []
    with pytest.raises(ValueError, match="n_windows must be at least 1, got -1"):
        window_order(-1, np.random.default_rng(0))


# ---- masks


@pytest.mark.contract("loss_mask")
@pytest.mark.eq("counts")
def test_predicting_the_next_document_from_an_end_of_text_is_not_scored_if_isolated():
    """z = 11 12 9 | 21 22 9: of y = 12 9 21 22 9 the 21 belongs to B, its input 9 to A."""
    segments = np.array([1, 1, 1, 2, 2, 2])
    one = window_table([0], 5)
    assert gather(np.array([11, 12, 9, 21, 22, 9]), one)[1].tolist() == [[12, 9, 21, 22, 9]]
    mask = loss_mask(one, segments, "isolated")  # eq: counts
    assert mask.astype(int).tolist() == [[1, 1, 0, 1, 1]]
    assert loss_mask(one, segments, "continuous").astype(int).tolist() == [[1, 1, 1, 1, 1]]


@pytest.mark.contract("counts")
@pytest.mark.eq("counts")
def test_arrays_and_tensors_have_one_rule_for_what_counts():
    """Padding before and after a document of 2; then the inputs' segments and the targets'."""
    segments = [0, 1, 1, 2, 0, 0]
    for x, y in (
        (np.array(segments[:-1]), np.array(segments[1:])),
        (torch.tensor(segments[:-1]), torch.tensor(segments[1:])),
    ):
        assert counts(x, y, "isolated").tolist() == [False, True, False, False, False]  # eq: counts
        assert counts(x, y, "continuous").tolist() == [True, True, True, False, False]


@pytest.mark.contract("loss_mask")
@pytest.mark.parametrize("pad", [9, 0])
def test_padding_is_known_by_its_place_whatever_id_it_has(pad):
    """11 12 9 | 21 9 and two pads: targets 12 9 21 9 pad pad, of which 12, 9 and 9 count."""
    ids = np.array([11, 12, 9, 21, 9, pad, pad])
    spans = pd.DataFrame({"start": [0, 3], "stop": [3, 5]})
    one, segments = window_table([0], 6), segment_ids(spans, len(ids))
    assert gather(ids, one)[1].tolist() == [[12, 9, 21, 9, pad, pad]]
    assert loss_mask(one, segments, "isolated").astype(int).tolist() == [[1, 1, 0, 1, 0, 0]]
    assert loss_mask(one, segments, "continuous").astype(int).tolist() == [[1, 1, 1, 1, 0, 0]]


@pytest.mark.contract("loss_mask")
def test_a_document_is_one_whatever_ids_it_holds_and_needs_no_end_of_text():
    """A tab is byte 9, and here 9 ends nothing; the second document stops without a mark."""
    documents = pd.DataFrame({"text": ["a\tb\tc", "d\te"]})
    stream = encode_documents(documents, Tokenizer([]), final_eot=False)
    assert stream.ids.tolist() == [97, 9, 98, 9, 99, 256, 100, 9, 101]
    segments = segment_ids(stream.spans, 9)
    mask = loss_mask(window_table([0], 8), segments, "isolated")
    assert mask.astype(int).tolist() == [[1, 1, 1, 1, 1, 0, 1, 1]]


@pytest.mark.contract("loss_mask")
@pytest.mark.eq("counts")
@given(st.lists(st.integers(0, 3), min_size=2, max_size=30), st.data())
def test_the_loss_mask_is_that_of_a_plain_loop(lengths, data):
    """Spans of these lengths, with a gap of padding after each at times; place by place."""
    segments = [0] * data.draw(st.integers(0, 2))
    for number, length in enumerate(lengths, 1):
        segments += [number] * (length + 1) + [0] * data.draw(st.integers(0, 1))
    n = len(segments)
    T = data.draw(st.integers(1, n - 1))
    windows = eval_windows(n, T, data.draw(st.integers(1, T)))
    for boundaries in ("continuous", "isolated"):
        mask = loss_mask(windows, np.array(segments), boundaries)  # eq: counts
        for (start, length, loss_from), row in zip(windows.to_numpy(), mask, strict=True):
            for j in range(length):
                x, y = segments[start + j], segments[start + j + 1]
                wanted = j >= loss_from and y > 0 and (boundaries == "continuous" or x == y)
                assert row[j] == wanted


@pytest.mark.contract("loss_mask")
@pytest.mark.parametrize("boundaries", ["continuous", "isolated"])
def test_targets_before_loss_from_and_padded_targets_do_not_count(boundaries):
    """One document of 4 ids, then padding; of targets 1, 2 and 3 the first is scored already."""
    segments = np.array([1, 1, 1, 1, 0, 0, 0])
    mask = loss_mask(window_table([0], 6, 1), segments, boundaries)
    assert mask.astype(int).tolist() == [[0, 1, 1, 0, 0, 0]]


@pytest.mark.contract("attention_mask")
@pytest.mark.eq("may-attend")
def test_who_may_attend_is_decided_by_place_and_span():
    mask = attention_mask([1, 1, 2, 0])  # eq: may-attend
    assert mask.astype(int).tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert attention_mask(np.ones((2, 3), dtype=int)).shape == (2, 3, 3)


@pytest.mark.contract("loss_mask")
def test_unknown_boundaries_are_refused():
    with pytest.raises(ValueError, match="must be 'continuous' or 'isolated', got 'open'"):
        loss_mask(window_table([0], 2), np.ones(3), "open")


@pytest.mark.contract("place_in_epoch")
@pytest.mark.eq("epoch-of-step", "batch-of-step")
@pytest.mark.parametrize(("step", "epoch", "batch"), [(0, 0, 0), (2, 0, 2), (3, 1, 0), (7, 2, 1)])
def test_a_step_has_its_place_in_an_epoch(step, epoch, batch):
    """10 windows in batches of 4: three batches an epoch, so step 7 is batch 1 of epoch 2."""
    assert place_in_epoch(step, 10, 4)[0] == epoch  # eq: epoch-of-step
    assert place_in_epoch(step, 10, 4)[1] == batch  # eq: batch-of-step

"""The six steps of `data.py`, in the order in which they are taken."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from bijection import Bijection
from data import (
    build_tokenizer,
    encode_corpus,
    iterate_batches,
    load_corpus,
    make_windows,
    split_ids,
)

# ---- load_corpus


@pytest.mark.contract("load_corpus")
def test_rows_are_stripped_and_joined_with_newlines_and_one_final_newline(tmp_path):
    """[" hello ", null, "world"]: the missing row leaves nothing, not even a newline."""
    path = tmp_path / "corpus.parquet"
    pd.DataFrame({"text": [" hello ", None, "world"]}).to_parquet(path)
    assert load_corpus(path) == "hello\nworld\n"


@pytest.mark.contract("load_corpus")
def test_max_rows_counts_rows_of_the_file_before_any_is_dropped(write_csv):
    """Of a, blank, b, c the first three rows are read, and two of them have text."""
    assert load_corpus(write_csv('text\na\n""\nb\nc\n'), max_rows=3) == "a\nb\n"


@pytest.mark.quality("load_corpus")
def test_the_text_remembers_the_documents_it_was_joined_from(write_csv):
    text = load_corpus(write_csv('text\na\n""\nb\n'))
    assert text.documents["text"].to_dict() == {0: "a", 2: "b"}


# ---- build_tokenizer, encode_corpus


@pytest.mark.contract("build_tokenizer")
def test_the_tokenizer_learns_the_pair_that_stands_there_most():
    """low low lower: l+o and o+w stand there 3 times each, and the smaller pair of ids wins."""
    tok = build_tokenizer("low low lower", 2)
    assert tok.merges == ((b"l", b"o"), (b"lo", b"w"))


@pytest.mark.quality("build_tokenizer")
def test_a_text_with_too_few_pairs_gives_fewer_merges_and_says_so(caplog):
    """ab has one pair to join, and was asked for ten."""
    tok = build_tokenizer("ab", 10)
    assert (len(tok.merges), tok.vocab_size) == (1, 258)
    assert "only 1 of the 10 merges" in caplog.text
    assert caplog.records[0].name == "data"


@pytest.mark.quality("build_tokenizer")
def test_only_merges_that_are_missing_are_told(caplog):
    """abababab is ab ab ab ab, then abab abab, then all of it: three, of a text of eight."""
    assert len(build_tokenizer("abababab", 3).merges) == 3
    assert caplog.text == ""
    assert len(build_tokenizer("abababab", 5).merges) == 3
    assert "only 3 of the 5 merges" in caplog.text


@pytest.mark.contract("encode_corpus")
def test_ids_are_int64_and_a_literal_end_of_text_is_ordinary_text():
    """13 characters, no merges: 13 bytes."""
    ids = encode_corpus("<|endoftext|>", build_tokenizer("", 0))
    assert ids.dtype == np.int64
    assert ids.tolist() == list(b"<|endoftext|>")


@pytest.mark.quality("encode_corpus")
def test_encoding_five_megabytes_takes_under_12_bytes_a_token_beyond_the_text():
    """The ids take 8 bytes a token, the parts before they are joined 2."""
    text = "the old man and the sea and the old woman\n" * 120_000
    tok = build_tokenizer(text[:10_000], 60)
    tracemalloc.start()
    ids = encode_corpus(text, tok)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * len(ids)


# ---- split_ids


@pytest.mark.contract("split_ids")
@pytest.mark.eq("cut")
@pytest.mark.parametrize(
    ("n", "fraction", "cut"),
    [
        (20, 0.25, 15),
        (40, 0.2, 32),
        (3000, 0.1, 2700),
        (100, 0.1, 90),
        (7, 0.5, 3),  # ⌊3.5⌋
        (10, 0, 10),
    ],
)
def test_the_cut_is_the_floor_of_one_minus_rho_times_n(n, fraction, cut):
    """Worked by hand."""
    train, val = split_ids(np.arange(n), fraction)
    assert (len(train), len(val)) == (cut, n - cut)  # eq: cut


@pytest.mark.quality("split_ids")
@pytest.mark.eq("cut")
@pytest.mark.parametrize(("n", "fraction", "cut"), [(90, 0.3, 63), (10, 0.9, 1), (5, 0.8, 1)])
def test_rho_is_the_decimal_that_is_written_where_binary_floats_cut_one_too_early(n, fraction, cut):
    """Worked by hand: 0.7 × 90 = 63, where floats give 62.99… and so 62; 0.1 × 10, 0.2 × 5."""
    assert int((1 - fraction) * n) == cut - 1
    assert len(split_ids(np.arange(n), fraction)[0]) == cut  # eq: cut


@pytest.mark.contract("split_ids")
def test_the_two_sides_in_order_are_all_of_the_ids():
    train, val = split_ids(np.arange(100), 0.1)
    assert [*train, *val] == list(range(100))


@pytest.mark.quality("split_ids")
def test_both_sides_are_views():
    ids = np.arange(100)
    train, val = split_ids(ids, 0.1)
    assert np.shares_memory(train, ids)
    assert np.shares_memory(val, ids)


@pytest.mark.quality("split_ids")
@pytest.mark.eq("cut")
@given(st.integers(0, 10**6), st.integers(0, 9999))
def test_the_cut_is_exact_for_every_fraction_of_four_decimals(n, ten_thousandths):
    """In whole numbers: cut = (10000 − q) n // 10000 for ρ = q / 10000."""
    train, _ = split_ids(np.empty(n, dtype=np.int8), ten_thousandths / 10_000)
    assert len(train) == (10_000 - ten_thousandths) * n // 10_000  # eq: cut


@pytest.mark.contract("split_ids")
@pytest.mark.parametrize("fraction", [-0.1, 1, 1.5, float("nan"), float("inf")])
def test_a_fraction_outside_0_to_1_is_refused(fraction):
    with pytest.raises(ValueError, match=rf"must be at least 0 and below 1, got {fraction}$"):
        split_ids(np.arange(10), fraction)


# ---- make_windows

HAND_INPUTS = [
    [3, 1, 4, 1],
    [1, 4, 1, 5],
    [4, 1, 5, 2],
    [1, 5, 2, 6],
    [5, 2, 6, 5],
    [2, 6, 5, 3],
]
HAND_TARGETS = [
    [1, 4, 1, 5],
    [4, 1, 5, 2],
    [1, 5, 2, 6],
    [5, 2, 6, 5],
    [2, 6, 5, 3],
    [6, 5, 3, 5],
]


@pytest.mark.contract("make_windows")
@pytest.mark.eq("inputs", "targets")
def test_ten_ids_in_windows_of_four_give_the_six_rows_of_the_hand_table(hand_ids):
    inputs, targets = make_windows(hand_ids, 4)
    assert inputs.to_numpy().tolist() == HAND_INPUTS  # eq: inputs
    assert targets.to_numpy().tolist() == HAND_TARGETS  # eq: targets


@pytest.mark.contract("make_windows")
@pytest.mark.eq("shift")
def test_targets_are_inputs_moved_one_place_left(hand_ids):
    inputs, targets = make_windows(hand_ids, 4, stride=2)
    assert targets.to_numpy()[:, :-1].tolist() == inputs.to_numpy()[:, 1:].tolist()  # eq: shift


@pytest.mark.contract("make_windows")
@pytest.mark.eq("window-starts")
def test_windows_start_at_every_kth_id_whose_last_target_exists():
    """N − T = 7: of 0, 3, 6, 9 … three starts are below 7. Ids that are their own places."""
    inputs, _ = make_windows(np.arange(11), 4, stride=3)
    starts_and_rest = [[0, 1, 2, 3], [3, 4, 5, 6], [6, 7, 8, 9]]
    assert inputs.to_numpy().tolist() == starts_and_rest  # eq: window-starts


@pytest.mark.contract("make_windows")
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
    ],
)
def test_the_number_of_windows_is_that_of_the_hand_table(n, seq_len, stride, windows):
    assert len(make_windows(np.arange(n), seq_len, stride)[0]) == windows  # eq: window-count


@pytest.mark.contract("split_ids", "make_windows")
@pytest.mark.parametrize(
    ("n", "fraction", "seq_len", "cut", "train", "val", "crossing"),
    [
        (20, 0.25, 3, 15, 12, 2, 3),
        (40, 0.2, 4, 32, 28, 4, 4),
        (3000, 0.1, 16, 2700, 2684, 284, 16),
    ],
)
def test_splitting_first_costs_the_windows_that_would_cross_the_cut(
    n, fraction, seq_len, cut, train, val, crossing
):
    """At stride 1 they are T: the starts whose window of T + 1 ids holds both cut − 1 and cut."""
    ids = np.arange(n)
    train_ids, val_ids = split_ids(ids, fraction)
    first, last = make_windows(ids, seq_len)[0][0], make_windows(ids, seq_len)[1][seq_len - 1]
    assert len(train_ids) == cut
    assert len(make_windows(train_ids, seq_len)[0]) == train
    assert len(make_windows(val_ids, seq_len)[0]) == val
    assert ((first < cut) & (last >= cut)).sum() == crossing == n - seq_len - train - val


@pytest.mark.contract("make_windows")
def test_one_window_is_as_many_predictions_as_it_has_targets():
    """T = 8: after 0 comes 1, after 0 1 comes 2, … eight contexts of 1 to 8 ids."""
    inputs, targets = make_windows(np.arange(9), 8)
    x, y = inputs.to_numpy()[0], targets.to_numpy()[0]
    predictions = [(x[: t + 1].tolist(), y[t]) for t in range(8)]
    assert predictions[0] == ([0], 1)
    assert predictions[7] == ([0, 1, 2, 3, 4, 5, 6, 7], 8)


@pytest.mark.quality("make_windows")
@pytest.mark.eq("inputs", "targets", "shift")
def test_windows_are_views_of_the_stream_and_share_one_index():
    ids = np.arange(1000)
    inputs, targets = make_windows(ids, 64, 7)
    assert np.shares_memory(inputs.to_numpy(), ids)  # eq: inputs
    assert np.shares_memory(targets.to_numpy(), ids)  # eq: targets, shift
    assert inputs.index is targets.index
    assert inputs.index.name == "window"


@pytest.mark.quality("make_windows")
def test_windows_of_a_million_ids_take_no_memory():
    """Indexing would take 2 × 10⁶ × 64 × 8 bytes = 1 GB; the views take under a megabyte."""
    ids = np.zeros(1_000_000, dtype=np.int64)
    tracemalloc.start()
    inputs, _ = make_windows(ids, 64)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert inputs.shape == (1_000_000 - 64, 64)
    assert peak < 1_000_000


@pytest.mark.quality("make_windows")
def test_a_window_cannot_be_written_to():
    inputs, _ = make_windows(np.arange(10), 4)
    with pytest.raises(ValueError, match="read-only"):
        inputs.to_numpy()[0, 0] = 7


@pytest.mark.contract("make_windows")
@given(
    st.lists(st.integers(0, 99), min_size=2, max_size=60), st.integers(1, 20), st.integers(1, 25)
)
def test_windows_are_those_of_a_plain_loop(ids, seq_len, stride):
    starts = [s for s in range(0, len(ids), stride) if s + seq_len < len(ids)]
    if not starts:
        with pytest.raises(ValueError, match="one window of seq_len"):
            make_windows(np.array(ids), seq_len, stride)
        return
    inputs, targets = make_windows(np.array(ids), seq_len, stride)
    assert inputs.to_numpy().tolist() == [ids[s : s + seq_len] for s in starts]
    assert targets.to_numpy().tolist() == [ids[s + 1 : s + seq_len + 1] for s in starts]


@pytest.mark.contract("make_windows")
@pytest.mark.parametrize(
    ("n", "seq_len", "stride", "message"),
    [
        (4, 4, 1, "one window of seq_len 4 needs 5 ids, the stream has 4"),
        (0, 1, 1, "one window of seq_len 1 needs 2 ids, the stream has 0"),
        (10, 0, 1, "seq_len must be at least 1, got 0"),
        (10, 4, 0, "stride must be at least 1, got 0"),
        (10, 4, -1, "stride must be at least 1, got -1"),
    ],
)
def test_impossible_windows_are_refused(n, seq_len, stride, message):
    with pytest.raises(ValueError, match=message):
        make_windows(np.arange(n), seq_len, stride)


# ---- iterate_batches


def numbered(n: int, seq_len: int = 2):
    """`n` windows whose first id is their own number."""
    return make_windows(np.arange(n + seq_len), seq_len)


def first_ids(batches) -> list[list[int]]:
    return [xb[:, 0].tolist() for xb, _ in batches]


@pytest.mark.contract("iterate_batches")
def test_two_epochs_of_ten_windows_come_in_the_stored_orders():
    """pandas' order for one generator seeded 42, which the first epoch moves on."""
    inputs, targets = numbered(10)
    rng = np.random.default_rng(42)
    epochs = [first_ids(iterate_batches(inputs, targets, 4, rng)) for _ in range(2)]
    assert epochs[0] == [[2, 9, 1, 6], [3, 8, 5, 7], [4, 0]]
    assert epochs[1] == [[5, 9, 6, 2], [0, 1, 7, 3], [4, 8]]


@pytest.mark.contract("iterate_batches")
@pytest.mark.eq("batches-per-epoch")
def test_46_windows_in_batches_of_16_are_16_16_and_14():
    inputs, targets = numbered(46)
    batches = iterate_batches(inputs, targets, 16, np.random.default_rng(0))
    assert [len(xb) for xb, _ in batches] == [16, 16, 14]  # eq: batches-per-epoch


@pytest.mark.contract("iterate_batches")
def test_without_shuffling_the_order_is_kept():
    inputs, targets = numbered(5)
    batches = iterate_batches(inputs, targets, 2, None, shuffle=False)
    assert first_ids(batches) == [[0, 1], [2, 3], [4]]


@pytest.mark.contract("iterate_batches")
def test_every_row_keeps_its_target():
    """Ids that count up: each target is its input plus 1, whatever the order."""
    inputs, targets = numbered(23)
    for xb, yb in iterate_batches(inputs, targets, 4, np.random.default_rng(1)):
        assert (yb == xb + 1).all()


@pytest.mark.quality("iterate_batches")
def test_batches_are_int64_contiguous_writable_and_no_views_of_the_stream():
    ids = np.arange(40, dtype=np.uint16)
    inputs, targets = make_windows(ids, 8)
    for batch in next(iterate_batches(inputs, targets, 4, np.random.default_rng(0))):
        assert batch.dtype == np.int64
        assert batch.flags["C_CONTIGUOUS"]
        assert batch.flags["WRITEABLE"]
        batch[:] = 0
    assert ids.tolist() == list(range(40))


@pytest.mark.contract("iterate_batches")
@given(st.integers(1, 60), st.integers(1, 20), st.integers(0, 2**32))
def test_an_epoch_gives_each_window_once_in_pandas_order(n, batch_size, seed):
    """The oracle is what pandas' sample draws: choice without replacement."""
    inputs, targets = numbered(n)
    batches = iterate_batches(inputs, targets, batch_size, np.random.default_rng(seed))
    order = [i for batch in first_ids(batches) for i in batch]
    assert order == np.random.default_rng(seed).choice(n, n, replace=False).tolist()
    assert sorted(order) == list(range(n))


@pytest.mark.contract("iterate_batches")
def test_the_order_is_that_of_pandas_sample_on_the_frame_itself():
    inputs, targets = numbered(100)
    batches = iterate_batches(inputs, targets, 7, np.random.default_rng(5))
    order = [i for batch in first_ids(batches) for i in batch]
    assert order == inputs.sample(frac=1, random_state=np.random.default_rng(5)).index.tolist()


@pytest.mark.contract("iterate_batches")
def test_starting_at_a_batch_gives_the_rest_of_the_same_epoch():
    inputs, targets = numbered(23)
    whole = first_ids(iterate_batches(inputs, targets, 4, np.random.default_rng(3)))
    rest = first_ids(iterate_batches(inputs, targets, 4, np.random.default_rng(3), start=2))
    assert rest == whole[2:]
    past = iterate_batches(inputs, targets, 4, np.random.default_rng(3), start=6)
    assert first_ids(past) == []


@pytest.mark.quality("iterate_batches")
def test_shuffling_a_hundred_thousand_windows_copies_none_of_them():
    """The windows would take 100,000 × 64 × 8 bytes = 51 MB; an order takes 0.8."""
    inputs, targets = make_windows(np.zeros(100_064, dtype=np.int64), 64)
    tracemalloc.start()
    next(iterate_batches(inputs, targets, 32, np.random.default_rng(0)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000


@pytest.mark.quality("iterate_batches")
def test_shuffling_needs_a_generator_and_touches_no_global_state():
    inputs, targets = numbered(5)
    state = repr(np.random.mtrand._rand.get_state())
    with pytest.raises(TypeError, match=r"give a generator such as np.random.default_rng\(42\)"):
        iterate_batches(inputs, targets, 2, None)
    list(iterate_batches(inputs, targets, 2, np.random.default_rng(0)))
    assert repr(np.random.mtrand._rand.get_state()) == state


@pytest.mark.quality("iterate_batches")
def test_frames_that_do_not_belong_together_are_refused():
    inputs, targets = numbered(5)
    with pytest.raises(ValueError, match=r"inputs \(5, 2\) and targets \(4, 2\) must be of one"):
        iterate_batches(inputs, targets.iloc[:4], 2, np.random.default_rng(0))
    for wrong in (targets.iloc[::-1], targets.iloc[:, :1]):
        with pytest.raises(ValueError, match="must be of one index"):
            iterate_batches(inputs, wrong, 2, np.random.default_rng(0))


@pytest.mark.quality("iterate_batches")
@pytest.mark.parametrize("types", [("uint16", "uint16"), ("int64", "uint16"), ("uint16", "int64")])
def test_ids_of_any_type_come_as_int64(types):
    frames = [frame.astype(kind) for frame, kind in zip(numbered(3), types, strict=True)]
    ((x, y),) = iterate_batches(*frames, 3, None, shuffle=False)
    assert (x.dtype, y.dtype) == (np.int64, np.int64)
    assert x.tolist() == numbered(3)[0].to_numpy().tolist()
    assert y.tolist() == numbered(3)[1].to_numpy().tolist()


@pytest.mark.contract("iterate_batches")
def test_frames_of_different_lengths_and_batches_of_nothing_give_none():
    """Whoever writes a generator refuses when the first batch is asked for."""
    inputs, targets = numbered(5)
    for wrong, size in ((targets.iloc[:4], 2), (targets, 0)):
        with pytest.raises(ValueError, match="must be"):
            list(iterate_batches(inputs, wrong, size, np.random.default_rng(0)))


@pytest.mark.quality("iterate_batches")
@pytest.mark.parametrize(
    ("batch_size", "start", "message"),
    [(0, 0, "batch_size must be at least 1, got 0"), (2, -1, "start must be 0 or more, got -1")],
)
def test_impossible_batches_are_refused_at_the_call(batch_size, start, message):
    inputs, targets = numbered(5)
    with pytest.raises(ValueError, match=message):
        iterate_batches(inputs, targets, batch_size, np.random.default_rng(0), start=start)


# ---- the module


def test_data_defines_the_six_steps_in_order_and_loads_no_torch():
    """A fresh interpreter, so that no other test has loaded torch."""
    program = (
        "import sys, data\n"
        "steps = [n for n, f in vars(data).items() if getattr(f, '__module__', '') == 'data']\n"
        "print([s for s in steps if not s.startswith('_')], 'torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    road = "load_corpus build_tokenizer encode_corpus split_ids make_windows iterate_batches"
    assert done.stdout.strip() == f"{road.split()} False"


def test_batches_come_in_an_order_that_is_given():
    """Five windows, numbered by their first ids, in the order 4 2 0 1 3, by two."""
    inputs, targets = numbered(5)
    order = np.array([4, 2, 0, 1, 3])
    batches = iterate_batches(inputs, targets, 2, None, order=order)
    assert first_ids(batches) == [[4, 2], [0, 1], [3]]
    assert first_ids(iterate_batches(inputs, targets, 2, None, start=1, order=order))[0] == [0, 1]
    computed = iterate_batches(inputs, targets, 2, None, order=Bijection(5, 9))
    assert np.concatenate(first_ids(computed)).tolist() == Bijection(5, 9)[:].tolist()
    with pytest.raises(ValueError, match="the order is of 4 windows, and there are 5"):
        iterate_batches(inputs, targets, 2, None, order=order[:4])

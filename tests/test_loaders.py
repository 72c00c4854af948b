"""Datasets beside plain slices and the window tables; loaders beside torch's own DataLoader."""

import multiprocessing
import os
import pickle
import random
from itertools import chain, islice
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest
import torch
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    Subset,
    TensorDataset,
    default_collate,
)

from batches import make_train_loader
from data import iterate_batches, make_windows
from loaders import (
    EpochLoader,
    MappedIds,
    RandomWindowDataset,
    SequentialEvalDataset,
    SlidingWindowDataset,
    epoch_generator,
    make_dataloader,
)
from windows import eval_windows, sliding_windows

NEEDS_FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
MANY_WORKERS = pytest.mark.filterwarnings("ignore:This DataLoader will create")
WAYS = ["list", "int64", "uint16", "uint32", "tensor", "mapped", "frozen"]


@pytest.fixture
def given_as(tmp_path):
    """The same ids as each of the things that a Dataset takes."""

    def make(ids: list[int], way: str):
        if way == "list":
            return ids
        if way == "tensor":
            return torch.tensor(ids, dtype=torch.int64)
        if way == "mapped":
            np.array(ids, dtype=np.uint16).tofile(tmp_path / "ids.bin")
            return np.memmap(tmp_path / "ids.bin", dtype=np.uint16, mode="r")
        array = np.array(ids, dtype="int64" if way == "frozen" else way)
        array.flags.writeable = way != "frozen"
        return array

    return make


def firsts(loader) -> list[list[int]]:
    """The first input of each window, batch by batch."""
    return [batch[0][:, 0].tolist() for batch in loader]


def same(a, b) -> bool:
    """Batches, or items, are the same tensors in the same order."""
    a, b = list(a), list(b)
    return len(a) == len(b) and all(
        type(p) is type(q)
        and len(p) == len(q)
        and all(s.dtype == t.dtype and torch.equal(s, t) for s, t in zip(p, q, strict=True))
        for p, q in zip(a, b, strict=True)
    )


# ---- sliding windows


@pytest.mark.contract("SlidingWindowDataset")
@pytest.mark.parametrize("way", WAYS)
def test_ten_ids_at_stride_three_make_two_items_and_leave_two_ids_unused(hand_ids, given_as, way):
    """Ids 3 1 4 1 5 2 6 5 3 5 and T = 4: windows at 0 and 3 hold places 0 … 7."""
    data = SlidingWindowDataset(given_as(hand_ids.tolist(), way), 4, stride=3)
    assert (len(data), data.unused) == (2, 2)
    (x0, y0), (x1, y1) = data[0], data[1]
    assert (x0.tolist(), y0.tolist()) == ([3, 1, 4, 1], [1, 4, 1, 5])
    assert (x1.tolist(), y1.tolist()) == ([1, 5, 2, 6], [5, 2, 6, 5])
    assert {t.dtype for t in (x0, y0, x1, y1)} == {torch.int64}


@pytest.mark.contract("SlidingWindowDataset")
def test_without_a_stride_windows_move_by_their_length(hand_ids):
    """T = 4: starts at 0 and 4; place 9 is unused."""
    data = SlidingWindowDataset(hand_ids, 4)
    assert [x.tolist() for x, _ in data] == [[3, 1, 4, 1], [5, 2, 6, 5]]
    assert data.unused == 1


@pytest.mark.contract("SlidingWindowDataset", "RandomWindowDataset", "SequentialEvalDataset")
def test_the_last_item_is_minus_one_and_past_the_end_is_an_index_error(hand_ids):
    for data in (
        SlidingWindowDataset(hand_ids, 4, 3),
        RandomWindowDataset(hand_ids, 4, 2, seed=0),
        SequentialEvalDataset(hand_ids, 5, 5),
    ):
        assert same([data[-1], data[-2]], [data[1], data[0]])
        for wrong in (2, -3):
            with pytest.raises(IndexError, match=f"index {wrong} is out of bounds .* size 2"):
                data[wrong]
            with pytest.raises(IndexError, match=f"index {wrong} is out of bounds .* size 2"):
                data.__getitems__([0, wrong])
        assert len(list(data)) == 2


@pytest.mark.quality("SlidingWindowDataset", "RandomWindowDataset", "SequentialEvalDataset")
def test_an_index_is_a_whole_number(hand_ids):
    for data in (
        SlidingWindowDataset(hand_ids, 4, 3),
        RandomWindowDataset(hand_ids, 4, 2, seed=0),
        SequentialEvalDataset(hand_ids, 5, 5),
    ):
        with pytest.raises(TypeError, match="integer"):
            data[0.5]


@pytest.mark.contract("SlidingWindowDataset")
@given(st.integers(0, 90), st.integers(1, 12), st.integers(1, 15))
def test_items_are_plain_slices_at_the_starts_of_the_window_table(n, T, stride):
    ids = np.arange(n) * 7 % 101
    data = SlidingWindowDataset(ids, T, stride)
    starts = sliding_windows(n, T, stride)["start"]
    assert len(data) == SlidingWindowDataset.count_windows(n, T, stride) == len(starts)
    for (x, y), start in zip(data, starts, strict=True):
        assert x.tolist() == ids[start : start + T].tolist()
        assert y.tolist() == ids[start + 1 : start + T + 1].tolist()
    covered = {place for start in starts for place in range(start, start + T + 1)}
    assert data.unused == n - len(covered)


@pytest.mark.contract("SlidingWindowDataset")
@pytest.mark.parametrize(
    ("n", "T", "stride", "count"),
    [(40, 16, 16, 2), (40, 16, 8, 3), (40, 16, 1, 24), (16, 16, 1, 0)],
)
def test_the_count_of_seed_004_is_known_without_a_dataset(n, T, stride, count):
    """1 + ⌊(40 − 17)/16⌋ = 2, 1 + ⌊23/8⌋ = 3, 1 + 23 = 24; 16 ids hold no window of 17."""
    assert SlidingWindowDataset.count_windows(n, T, stride) == count
    assert len(SlidingWindowDataset(range(n), T, stride)) == count


@pytest.mark.quality("SlidingWindowDataset")
@pytest.mark.parametrize("way", ["list", "tensor"])
@pytest.mark.parametrize("n", [0, 4])
def test_a_stream_without_a_window_makes_an_empty_dataset_that_says_so(n, way, given_as, caplog):
    data = SlidingWindowDataset(given_as(list(range(n)), way), 4)
    assert (len(data), data.unused, list(data)) == (0, n, [])
    assert caplog.messages == [
        f"the Dataset is empty: one window of context_length 4 needs 5 ids, there are {n}"
    ]
    with pytest.raises(IndexError):
        data[0]
    assert len(pickle.loads(pickle.dumps(data))) == 0


@pytest.mark.parametrize("stride", [1, 8])
def test_the_ids_are_in_memory_once_whatever_the_stride(stride):
    """A million ids of 8 bytes; at stride 1 their windows would be nine times as many numbers."""
    ids = torch.arange(1_000_000)
    data = SlidingWindowDataset(ids, 8, stride)
    assert data._rows.untyped_storage().data_ptr() == ids.untyped_storage().data_ptr()
    assert data._rows.stride() == (stride, 1)
    held = [v for v in vars(data).values() if isinstance(v, torch.Tensor | np.ndarray)]
    assert {t.untyped_storage().data_ptr() for t in held} == {ids.untyped_storage().data_ptr()}
    assert len(pickle.dumps(data)) < 8_001_000


def test_items_and_batches_own_their_memory(hand_ids):
    """Writing into x changes neither y nor the stream."""
    data = SlidingWindowDataset(hand_ids, 4, 1)
    for x, y in (data[0], data.__getitems__([0]).columns):
        x.fill_(99)
        assert y.flatten().tolist() == [1, 4, 1, 5]
        assert x.is_contiguous()
        assert y.is_contiguous()
    assert hand_ids.tolist() == [3, 1, 4, 1, 5, 2, 6, 5, 3, 5]


@pytest.mark.quality("SlidingWindowDataset")
def test_a_tensor_whose_memory_torch_moves_is_still_read_where_it_is():
    """A spawned worker gets a tensor in shared memory: the old memory is given back."""
    ids = torch.arange(100)
    data = SlidingWindowDataset(ids, 4)
    assert data[0][0].tolist() == [0, 1, 2, 3]
    ids.share_memory_()
    ids[0] = 7
    assert data[0][0].tolist() == [7, 1, 2, 3]


@pytest.mark.quality("SlidingWindowDataset")
@pytest.mark.parametrize(
    ("ids", "came"),
    [
        ([0.5, 1.5, 2.5], r"float64 \(3,\)"),
        (torch.ones(9), r"float32 \(9,\)"),
        (np.zeros((3, 4), dtype=int), r"int64 \(3, 4\)"),
        (np.array([True, False]), r"bool \(2,\)"),
    ],
)
def test_ids_that_are_no_row_of_whole_numbers_are_refused(ids, came):
    with pytest.raises(ValueError, match=f"ids must be whole numbers in one row, got {came}"):
        SlidingWindowDataset(ids, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda ids: SlidingWindowDataset(ids, 0), "seq_len must be at least 1, got 0"),
        (lambda ids: SlidingWindowDataset(ids, 2, 0), "stride must be at least 1, got 0"),
        (lambda ids: RandomWindowDataset(ids, 4, 0, 1), "num_samples must be at least 1, got 0"),
        (lambda ids: RandomWindowDataset(ids, 10, 1, 1), "seq_len 10 needs 11 ids, .* has 10"),
        (lambda ids: RandomWindowDataset(ids, 4, 1, -1), "seed and epoch must .* got -1 and 0"),
        (
            lambda ids: SequentialEvalDataset(ids, 4, 5),
            "stride 5 is larger than seq_len 4 .* 1 … 4",
        ),
        (lambda ids: SequentialEvalDataset(ids[:1], 4, 4), "needs at least 2 ids .* got 1"),
    ],
)
def test_sizes_that_make_no_dataset_are_refused(hand_ids, make, message):
    with pytest.raises(ValueError, match=message):
        make(hand_ids)


# ---- random windows


@pytest.mark.contract("RandomWindowDataset")
@given(st.integers(1, 9), st.integers(1, 40), st.integers(0, 2**40), st.integers(0, 50))
def test_item_i_is_the_window_at_the_ith_draw_of_seed_plus_epoch(T, num, seed, epoch):
    ids = torch.arange(60) * 3
    data = RandomWindowDataset(ids, T, num, seed)
    data.set_epoch(epoch)
    generator = torch.Generator().manual_seed(seed + epoch)
    offsets = torch.randint(0, 60 - T, (num,), generator=generator).tolist()
    assert same(data, [(ids[o : o + T], ids[o + 1 : o + T + 1]) for o in offsets])


@pytest.mark.contract("RandomWindowDataset")
def test_every_window_and_no_other_is_drawn():
    """12 ids and T = 4 have starts 0 … 7; the last one ends with the stream."""
    data = RandomWindowDataset(torch.arange(12), 4, 1000, seed=3)
    assert {int(x[0]) for x, _ in data} == set(range(8))


@pytest.mark.contract("RandomWindowDataset")
def test_an_epoch_draws_anew_and_the_first_one_comes_back(hand_ids):
    data = RandomWindowDataset(hand_ids, 4, 50, seed=1)
    first = list(data)
    data.set_epoch(1)
    assert not same(first, data)
    assert same(data, RandomWindowDataset(hand_ids, 4, 50, seed=2))
    data.set_epoch(0)
    assert same(first, data)


@pytest.mark.quality("RandomWindowDataset")
def test_an_epoch_that_cannot_be_is_refused_and_the_dataset_stays_where_it_was(hand_ids):
    data = RandomWindowDataset(hand_ids, 4, 50, seed=1)
    with pytest.raises(ValueError, match=r"seed and epoch must be 0 or more.* got 1 and -1"):
        data.set_epoch(-1)
    assert data.epoch == 0


@NEEDS_FORK
@MANY_WORKERS
@pytest.mark.parametrize("num_workers", [1, 2, 4])
def test_items_do_not_depend_on_the_number_of_workers(num_workers):
    data = RandomWindowDataset(torch.arange(500), 8, 60, seed=1337)
    data.set_epoch(3)
    loader = DataLoader(data, 8, num_workers=num_workers, multiprocessing_context="fork")
    assert same(loader, DataLoader(data, 8))


# ---- evaluation in order


@pytest.mark.contract("SequentialEvalDataset")
@pytest.mark.parametrize(
    ("n", "T", "s", "starts"),
    [(50, 16, 8, [0, 8, 16, 24, 32, 33]), (23, 8, 3, [0, 3, 6, 9, 12, 14])],
)
def test_the_windows_of_seed_000_score_each_target_once(n, T, s, starts):
    """Last starts 50 − 1 − 16 = 33 and 23 − 1 − 8 = 14; 49 and 22 targets."""
    data = SequentialEvalDataset(torch.arange(n), T, s)
    assert [int(x[0]) for x, _, _ in data] == starts
    assert torch.cat([y[mask] for _, y, mask in data]).tolist() == list(range(1, n))
    assert {mask.dtype for _, _, mask in data} == {torch.bool}


@pytest.mark.contract("SequentialEvalDataset")
def test_the_last_window_of_23_ids_scores_two_targets():
    """It holds targets 15 … 22, and the window at 12 has scored up to 20."""
    x, y, mask = SequentialEvalDataset(torch.arange(23), 8, 3)[-1]
    assert x.tolist() == [14, 15, 16, 17, 18, 19, 20, 21]
    assert y[mask].tolist() == [21, 22]
    assert mask.tolist() == [False] * 6 + [True] * 2


@pytest.mark.contract("SequentialEvalDataset")
@given(st.integers(2, 120), st.integers(1, 20), st.data())
def test_every_target_counts_once_and_later_ones_have_their_context(n, T, draw):
    s = draw.draw(st.integers(1, T))
    data = SequentialEvalDataset(torch.arange(n), T, s)
    length = min(T, n - 1)
    seen, places = torch.zeros(n, dtype=torch.int64), torch.arange(length) + 1
    for w, (x, y, mask) in enumerate(data):
        assert x.shape == y.shape == mask.shape == (length,)
        assert torch.equal(y, x + 1)
        seen[y[mask]] += 1
        assert w == 0 or (places[mask] >= T - s + 1).all()
    assert seen.tolist() == [0] + [1] * (n - 1)
    table = eval_windows(n, T, s)
    assert table["start"].tolist() == [int(x[0]) for x, _, _ in data]
    assert table["loss_from"].tolist() == [length - int(mask.sum()) for _, _, mask in data]


@pytest.mark.contract("SequentialEvalDataset")
def test_at_stride_t_the_mean_context_of_a_target_is_half_of_t_plus_one():
    """T = 128, eight whole windows: the mean of 1 … 128 is 64.5."""
    data = SequentialEvalDataset(torch.arange(8 * 128 + 1), 128, 128)
    context = torch.cat([(torch.arange(128) + 1)[mask] for _, _, mask in data])
    assert context.double().mean() == 64.5


@pytest.mark.contract("SequentialEvalDataset")
def test_a_stream_no_longer_than_t_is_one_window_of_all_its_targets():
    data = SequentialEvalDataset([3, 1, 4, 1, 5], 16, 8)
    (x, y, mask) = data[0]
    assert (len(data), x.tolist(), y.tolist()) == (1, [3, 1, 4, 1], [1, 4, 1, 5])
    assert mask.all()


# ---- a batch at a time


@pytest.mark.quality("SlidingWindowDataset", "RandomWindowDataset", "SequentialEvalDataset")
@pytest.mark.parametrize("way", WAYS)
def test_items_made_together_are_the_items_one_by_one(hand_ids, given_as, way):
    ids = given_as(hand_ids.tolist(), way)
    for data in (
        SlidingWindowDataset(ids, 3, 1),
        RandomWindowDataset(ids, 3, 9, seed=5),
        SequentialEvalDataset(ids, 3, 2),
    ):
        picked = [2, -1, 0, 2]
        items, one_by_one = data.__getitems__(picked), [data[i] for i in picked]
        assert len(items) == 4
        assert same([tuple(item) for item in items], one_by_one)
        assert same([tuple(items[i]) for i in range(4)], one_by_one)
        assert same([default_collate(items)], [default_collate(one_by_one)])


@pytest.mark.quality("SlidingWindowDataset")
def test_a_plain_dataloader_gets_the_batch_as_it_was_gathered(hand_ids, monkeypatch):
    """No tensor is stacked, so none is copied."""
    data = SlidingWindowDataset(hand_ids, 4, 1)
    expected = [default_collate([data[i] for i in range(b, min(b + 4, 6))]) for b in (0, 4)]
    monkeypatch.setattr(torch, "stack", None)
    assert same(DataLoader(data, batch_size=4), expected)
    assert same(DataLoader(Subset(data, range(6)), batch_size=4), expected)


def test_items_from_several_batches_are_stacked_by_torch(hand_ids):
    data = SlidingWindowDataset(hand_ids, 4, 1)
    mixed = [*data.__getitems__([0, 1]), data.__getitems__([5])[0]]
    assert same([default_collate(mixed)], [default_collate([data[0], data[1], data[5]])])
    joined = ConcatDataset([data, data])
    assert same(DataLoader(joined, 6), DataLoader(data, 6)) is False
    assert same(list(DataLoader(joined, 6))[:1], DataLoader(data, 6))


# ---- the loader


def torchs_own(data, batch_size, seed, shuffle=True, drop_last=True, num_workers=0) -> DataLoader:
    """The real thing, over items that are made one by one."""
    return DataLoader(
        [data[i] for i in range(len(data))],
        batch_size,
        shuffle=shuffle,
        drop_last=drop_last,
        num_workers=num_workers,
        generator=torch.Generator().manual_seed(seed),
    )


@pytest.mark.contract("make_dataloader")
def test_the_order_of_eleven_windows_is_torchs_for_the_seed_of_the_epoch():
    """torch.randperm(11) for seeds 42 and 43, each after the one number drawn for the workers.

    It gives 9 5 2 10 0 7 6 8 4 1 3 and 5 8 6 0 2 1 3 10 9 4 7; the eleventh item makes no batch.
    """
    data = SlidingWindowDataset(torch.arange(13), 2, 1)
    loader = make_dataloader(data, 5, base_seed=42)
    assert len(loader) == 2
    assert firsts(loader) == [[9, 5, 2, 10, 0], [7, 6, 8, 4, 1]]
    assert firsts(loader) == [[5, 8, 6, 0, 2], [1, 3, 10, 9, 4]]


@pytest.mark.contract("make_dataloader")
@given(
    st.integers(1, 40),
    st.integers(1, 12),
    st.integers(0, 2**33),
    st.integers(0, 9),
    st.booleans(),
    st.booleans(),
)
def test_batches_are_those_of_torchs_own_loader(n, batch_size, seed, epoch, shuffle, drop_last):
    data = SlidingWindowDataset(torch.arange(n + 3), 3, 1)
    ours = make_dataloader(data, batch_size, shuffle, seed, epoch, drop_last)
    theirs = torchs_own(data, batch_size, seed + epoch, shuffle, drop_last)
    assert len(ours) == len(theirs)
    assert same(ours, theirs)


@pytest.mark.quality("make_dataloader")
@NEEDS_FORK
@pytest.mark.parametrize("num_workers", [0, 2])
def test_so_they_are_with_workers_and_in_the_next_epoch(num_workers):
    data = SlidingWindowDataset(torch.arange(50), 3, 1)
    ours = make_dataloader(data, 7, base_seed=5, epoch=2, num_workers=num_workers)
    for seed in (7, 8):
        assert same(ours, torchs_own(data, 7, seed, num_workers=num_workers))


@pytest.mark.contract("make_dataloader")
def test_any_dataset_can_be_loaded():
    data = TensorDataset(torch.arange(10), torch.arange(10) * 2)
    assert same(make_dataloader(data, 4, base_seed=1), torchs_own(data, 4, 1))


@pytest.mark.contract("make_dataloader", "epoch_generator")
@pytest.mark.eq("epoch-seed")
def test_iterating_again_is_the_next_epoch_as_a_loader_made_for_it():
    data = RandomWindowDataset(torch.arange(90), 4, 20, seed=6)
    loader = make_dataloader(data, 5, base_seed=3)
    epochs = [list(loader) for _ in range(3)]
    for epoch, batches in enumerate(epochs):
        assert same(batches, make_dataloader(data, 5, base_seed=3, epoch=epoch))
        assert epoch_generator(3, epoch).initial_seed() == 3 + epoch  # eq: epoch-seed
    assert not same(epochs[0], epochs[1])


@pytest.mark.quality("make_dataloader")
def test_a_loader_says_which_epoch_comes_next():
    loader = make_dataloader(RandomWindowDataset(torch.arange(90), 4, 20, seed=6), 5, epoch=1)
    assert [(loader.epoch, len(list(loader))) for _ in range(2)] == [(1, 4), (2, 4)]


@pytest.mark.contract("make_dataloader")
def test_random_windows_are_drawn_anew_in_each_epoch_of_a_loader():
    """In order, so that only the draw can differ; the caller's Dataset stays in its epoch."""
    data = RandomWindowDataset(torch.arange(90), 4, 20, seed=6)
    loader = make_dataloader(data, 5, shuffle=False)
    drawn = [torch.cat([x[:, 0] for x, _ in loader]).tolist() for _ in range(2)]
    for epoch in (0, 1):
        generator = torch.Generator().manual_seed(6 + epoch)
        assert drawn[epoch] == torch.randint(0, 86, (20,), generator=generator).tolist()
    assert data.epoch == 0


@pytest.mark.contract("make_dataloader")
def test_the_next_epoch_has_another_order():
    data = SlidingWindowDataset(torch.arange(90), 4, 1)
    loader = make_dataloader(data, 5, base_seed=3, drop_last=False)
    first, second = (list(chain(*firsts(loader))) for _ in range(2))
    assert first != second
    assert sorted(first) == sorted(second) == list(range(86))


@pytest.mark.contract("make_dataloader")
@pytest.mark.parametrize("make", [SlidingWindowDataset, RandomWindowDataset])
def test_an_epoch_that_is_left_early_and_two_at_once_do_not_disturb_each_other(make):
    """The first batch of epoch 0 is taken and left; then epochs 1 and 2 are given side by side."""
    more = {"stride": 1} if make is SlidingWindowDataset else {"num_samples": 20, "seed": 4}
    data = make(torch.arange(90), 4, **more)
    orders = [list(make_dataloader(data, 5, base_seed=9, epoch=e)) for e in range(3)]
    loader = make_dataloader(data, 5, base_seed=9)
    for batch in loader:
        assert same([batch], orders[0][:1])
        break
    one, other = iter(loader), iter(loader)
    pairs = list(zip(other, one, strict=True))
    assert same([a for a, _ in pairs], orders[2])
    assert same([b for _, b in pairs], orders[1])


@pytest.mark.quality("make_dataloader")
@NEEDS_FORK
def test_nothing_is_drawn_from_a_global_random_state(hand_ids):
    data = SlidingWindowDataset(hand_ids, 4, 1)

    def states():
        numpys = repr(np.random.mtrand._rand.get_state())
        return torch.get_rng_state().tolist(), random.getstate(), numpys

    before = states()
    for num_workers in (0, 1):
        for shuffle in (True, False):
            list(make_dataloader(data, 2, shuffle, num_workers=num_workers))
    RandomWindowDataset(hand_ids, 4, 9, seed=0).set_epoch(4)
    assert states() == before


@pytest.mark.quality("make_dataloader")
@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"base_seed": -1, "epoch": 1}, "seed and epoch must be 0 or more, .* got -1 and 1"),
        ({"base_seed": 1, "epoch": -1}, "seed and epoch must be 0 or more, .* got 1 and -1"),
        ({"base_seed": 2**64}, "below 2⁶⁴ together"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"num_workers": -1}, "num_workers"),
    ],
)
def test_a_loader_that_cannot_be_is_refused(hand_ids, more, message):
    with pytest.raises(ValueError, match=message):
        make_dataloader(SlidingWindowDataset(hand_ids, 4), **{"batch_size": 2} | more)


@pytest.mark.quality("make_dataloader")
def test_an_empty_dataset_is_refused_and_a_loader_without_a_batch_says_so(hand_ids, caplog):
    with pytest.raises(ValueError, match="needs at least one item, there is none"):
        make_dataloader(SlidingWindowDataset(hand_ids, 10), 2)
    caplog.clear()
    loader = make_dataloader(SlidingWindowDataset(hand_ids, 4), 3)
    assert list(loader) == []
    assert caplog.messages == [
        "the loader has no batch: 2 items make none of 3, and drop_last leaves them out"
    ]
    assert [len(x) for x, _ in make_dataloader(loader.dataset, 3, drop_last=False)] == [2]


# ---- what the page says without a number

IDS, SEED, EPOCH = np.arange(200), 42, 1


def pandas_order(start):
    rng = np.random.default_rng(SEED + EPOCH)
    return iterate_batches(*make_windows(IDS, 4, 4), 8, rng, start=start)


def torchs_order(start):
    loader = make_dataloader(SlidingWindowDataset(IDS, 4), 8, base_seed=SEED, epoch=EPOCH)
    return islice(loader, start, None)


def order_by_step(start):
    return islice(make_train_loader(IDS, 4, 8, SEED, start_step=start), 6 - start)


@pytest.mark.parametrize("order", [pandas_order, torchs_order, order_by_step])
@pytest.mark.parametrize("start", [0, 3, 5])
def test_each_of_the_three_orders_goes_on_from_what_the_page_tells_to_keep(order, start):
    whole, rest = ([(x.tolist(), y.tolist()) for x, y in order(k)] for k in (0, start))
    assert whole[start:] == rest
    assert len(whole) >= 6


def test_the_three_orders_differ():
    orders = [next(iter(order(0)))[0].tolist() for order in (pandas_order, torchs_order)]
    assert orders[0] != orders[1] != next(order_by_step(0))[0].tolist() != orders[0]


def test_the_items_on_the_page_are_those_of_the_hand_picked_ids(hand_ids):
    """Starts 0 and 4; the page prints both items."""
    page = (ROOT / "docs" / "loaders.md").read_text(encoding="utf-8")
    assert f"`{' '.join(map(str, hand_ids))}`" in page
    cells = [
        " | ".join(f"`{' '.join(map(str, t.tolist()))}`" for t in item)
        for item in SlidingWindowDataset(hand_ids, 4)
    ]
    assert f"| `data[0]` | {cells[0]} |\n| `data[1]`, also `data[-1]` | {cells[1]} |\n\n" in page


# ---- other processes


def test_a_pickle_of_a_mapped_dataset_holds_a_path_and_no_ids(tmp_path):
    """A hundred thousand ids of 2 bytes, of which the Dataset has those from 1,000 on."""
    path = tmp_path / "ids.bin"
    np.arange(100_000).astype(np.uint16).tofile(path)
    for mapped in (
        np.memmap(path, dtype=np.uint16, mode="r")[1000:],
        np.memmap(path, dtype=np.uint16, mode="r+", offset=2000),
        np.asarray(np.memmap(path, dtype=np.uint16, mode="r", offset=1000))[500:],
    ):
        data = SlidingWindowDataset(mapped, 4, 1)
        saved = pickle.dumps(data)
        assert len(saved) < 1000
        again = pickle.loads(saved)
        assert isinstance(again.ids, np.memmap)
        assert (len(again), again.unused) == (len(data), 0) == (98_996, 0)
        assert again[0][0].tolist() == data[0][0].tolist() == [1000, 1001, 1002, 1003]
        assert again[-1][1].tolist() == data[-1][1].tolist()


def test_what_is_not_just_a_stretch_of_a_file_is_pickled_itself(tmp_path):
    """A private map with an id that was changed, every second id, none, and memory."""
    path = tmp_path / "ids.bin"
    np.arange(100, dtype=np.uint16).tofile(path)
    private = np.memmap(path, dtype=np.uint16, mode="c")
    private[0] = 77
    mapped = np.memmap(path, dtype=np.uint16, mode="r")
    for ids in (private, mapped[::2], mapped[:0], np.arange(9), [1, 2, 3]):
        assert MappedIds.of(ids) is None
        data = SlidingWindowDataset(ids, 2, 1)
        assert same(pickle.loads(pickle.dumps(data)), data)


def test_a_spawned_worker_is_sent_no_id_of_a_tensor():
    """A million ids; what is sent names the memory that they were moved to."""
    ids = torch.arange(1_000_000)
    data = SlidingWindowDataset(ids, 4)
    sent = ForkingPickler.dumps(data)
    assert len(sent) < 2000
    assert ids.is_shared()
    assert same([pickle.loads(sent)[-1]], [data[-1]])


@pytest.mark.parametrize("way", WAYS)
def test_datasets_and_loaders_are_the_same_after_a_pickle(hand_ids, given_as, way):
    ids = given_as(hand_ids.tolist(), way)
    random_windows = RandomWindowDataset(ids, 3, 9, seed=5)
    random_windows.set_epoch(2)
    for data in (
        SlidingWindowDataset(ids, 3, 2),
        random_windows,
        SequentialEvalDataset(ids, 3, 2),
    ):
        assert same(pickle.loads(pickle.dumps(data)), data)
        loader = make_dataloader(data, 2, base_seed=8)
        next(iter(loader))
        assert same(pickle.loads(pickle.dumps(loader)), make_dataloader(data, 2, True, 8, 1))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["int64", "tensor", "mapped"])
def test_spawned_workers_give_the_same_batches(given_as, way):
    """Workers that start from nothing, as on Windows and macOS."""
    data = RandomWindowDataset(given_as(list(range(500)), way), 8, 60, seed=1337)
    loader = make_dataloader(data, 8, base_seed=2, num_workers=2)
    loader.multiprocessing_context = "spawn"
    assert same(loader, make_dataloader(data, 8, base_seed=2))


@pytest.mark.slow
@MANY_WORKERS
@pytest.mark.parametrize("num_workers", [1, 4])
def test_spawned_workers_in_any_number_see_the_epoch_that_was_set(num_workers):
    data = RandomWindowDataset(torch.arange(500), 8, 60, seed=1337)
    data.set_epoch(3)
    loader = DataLoader(data, 8, num_workers=num_workers, multiprocessing_context="spawn")
    assert same(loader, DataLoader(data, 8))


class HowStarted(Dataset):
    """Four items, each the name of the process that it was made in."""

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return type(multiprocessing.current_process()).__name__


@pytest.mark.slow
def test_a_loader_starts_its_workers_as_it_is_told():
    loader = make_dataloader(HowStarted(), 2, num_workers=1)
    loader.multiprocessing_context = "spawn"
    assert list(loader) == [["SpawnProcess"] * 2] * 2


@NEEDS_FORK
def test_workers_that_stay_do_not_hear_of_an_epoch_and_ours_do():
    data = RandomWindowDataset(torch.arange(500), 8, 16, seed=1337)
    workers = {"num_workers": 1, "multiprocessing_context": "fork"}
    plain = DataLoader(data, 8, persistent_workers=True, **workers)
    ours = EpochLoader(data, 0, 0, batch_size=8, **workers)
    first = list(plain)
    data.set_epoch(1)
    assert same(plain, first)
    assert same(ours, first)
    assert same(ours, DataLoader(data, 8))


@pytest.mark.slow
def test_spawned_workers_score_each_target_once():
    data = SequentialEvalDataset(torch.arange(230), 8, 3)
    loader = EpochLoader(
        data, 0, 0, batch_size=4, num_workers=2, multiprocessing_context="spawn", shuffle=True
    )
    scored = torch.cat([y[mask] for _, y, mask in loader]).tolist()
    assert sorted(scored) == list(range(1, 230))

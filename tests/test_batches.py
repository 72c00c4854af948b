"""Random windows, batches from (seed, step) alone, and the shares that chance gives."""

import multiprocessing
import pickle
import random
import re
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice, product

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from batches import (
    TrainBatchIterator,
    batch_seed,
    boundary_windows,
    epoch_order,
    expected_shared,
    get_batch,
    make_train_loader,
    repeat_share,
)
from windows import rows_view, sliding_windows

N_SEED = 217_444 + 128  # the stream of seed 000: 217,444 windows of T = 128
NINE = [20_000 * (story + 1) for story in range(9)]  # boundaries far from each other


TOKENS = torch.arange(1000)


def loader(seed: int = 1337, step: int = 0, size: int = 4, **ranks: int) -> TrainBatchIterator:
    """Batches of windows of T = 16 from a thousand ids that are their own places."""
    return make_train_loader(TOKENS, 16, size, seed, step, **ranks)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def same(a, b) -> bool:
    return all(torch.equal(left, right) for left, right in zip(a, b, strict=True))


def first_ids(batches) -> list[list[int]]:
    """Where the windows start, in a stream whose ids are their own places."""
    return [x[:, 0].tolist() for x, _ in batches]


# ---- get_batch


def test_the_windows_at_0_and_5_of_the_ten_hand_ids_are_those_of_the_hand_table(
    hand_ids, monkeypatch
):
    """T = 4: ids 0 to 4 are 3 1 4 1 5, ids 5 to 9 are 2 6 5 3 5; a start is below 10 − 4 = 6."""
    asked = []

    def draw(*bounds, generator):
        asked.extend(bounds)
        return torch.tensor([0, 5])

    monkeypatch.setattr(torch, "randint", draw)
    x, y = get_batch(hand_ids, 4, 2, generator())
    assert asked == [0, 6, (2,)]
    assert x.tolist() == [[3, 1, 4, 1], [2, 6, 5, 3]]
    assert y.tolist() == [[1, 4, 1, 5], [6, 5, 3, 5]]


@pytest.mark.contract("get_batch")
@given(st.integers(2, 300), st.data(), st.integers(1, 9), st.integers(0, 2**40))
def test_a_batch_is_what_slices_at_the_drawn_starts_give(n, data, batch_size, seed):
    """Two oracles: slices and stack, as nanoGPT takes them, and the gather from `unfold`."""
    seq_len = data.draw(st.integers(1, n - 1))
    tokens = torch.randint(0, 50_000, (n,), generator=generator(1))
    x, y = get_batch(tokens, seq_len, batch_size, generator(seed))
    starts = torch.randint(n - seq_len, (batch_size,), generator=generator(seed))
    assert torch.equal(x, torch.stack([tokens[s : s + seq_len] for s in starts.tolist()]))
    assert torch.equal(y, tokens.unfold(0, seq_len + 1, 1)[starts][:, 1:])
    assert torch.equal(y[:, :-1], x[:, 1:])


@pytest.mark.quality("get_batch", "make_train_loader")
@pytest.mark.parametrize("dtype", [np.int64, np.uint16, np.uint32])
def test_a_mapped_file_gives_bit_for_bit_the_batches_of_the_tensor(tmp_path, dtype):
    """Whatever the numbers on disk are, a batch is two int64 tensors of its own."""
    ids = np.random.default_rng(0).integers(0, 2**16, 1000)
    ids.astype(dtype).tofile(tmp_path / "ids.bin")
    mapped = np.memmap(tmp_path / "ids.bin", dtype=dtype, mode="r")
    tensor = torch.from_numpy(ids)
    assert same(get_batch(mapped, 16, 8, generator(3)), get_batch(tensor, 16, 8, generator(3)))
    for step in (0, 1, 99):
        batch = make_train_loader(mapped, 16, 8, 7).batch_at(step)
        assert same(batch, make_train_loader(tensor, 16, 8, 7).batch_at(step))
        for part in batch:
            assert part.dtype == torch.int64
            assert part.is_contiguous()
            part.fill_(0)
    assert np.array_equal(mapped, ids)
    assert np.array_equal(tensor.numpy(), ids)


def test_all_windows_are_one_view_of_the_tokens():
    """`unfold` moves one id on for the next row and one for the next column: strides (1, 1)."""
    tokens = torch.arange(20)
    view = rows_view(tokens, 8)
    assert (tuple(view.shape), view.stride()) == ((12, 9), (1, 1))
    assert view.untyped_storage().data_ptr() == tokens.untyped_storage().data_ptr()
    for ids in (tokens, tokens.numpy().astype(np.uint16)):
        rows = np.asarray(make_train_loader(ids, 8, 2, 0)._rows)
        assert rows.shape == (12, 9)
        assert rows.strides == (rows.itemsize, rows.itemsize)
        assert np.shares_memory(rows, np.asarray(ids))


def test_a_batch_from_ten_gigabytes_takes_memory_for_a_batch(tmp_path):
    """5 · 10⁹ ids are more than 32 bits can number; the file is a hole that takes no disk."""
    with (tmp_path / "ids.bin").open("wb") as file:
        file.truncate(10**10)
    huge = make_train_loader(np.memmap(tmp_path / "ids.bin", dtype=np.uint16, mode="r"), 8, 4, 0)
    next(huge)
    tracemalloc.start()
    next(huge)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000


# ---- make_train_loader


@pytest.mark.contract("batch_seed", "make_train_loader")
@pytest.mark.eq("batch-seed")
def test_the_batch_of_step_7_is_drawn_by_a_fresh_generator_seeded_with_1337004018():
    """1337 × 1,000,003 + 7 = 1,337,000,000 + 4,011 + 7."""
    assert batch_seed(1337, 7) == 1_337_004_018  # eq: batch-seed
    assert batch_seed(np.int32(5000), np.int32(7)) == 5_000_015_007  # more than 32 bits hold
    assert same(loader().batch_at(7), get_batch(TOKENS, 16, 4, generator(1_337_004_018)))


@pytest.mark.contract("make_train_loader")
def test_batches_5_to_9_of_a_loader_started_at_5_are_those_of_one_never_stopped():
    whole = list(islice(loader(), 10))
    resumed = list(islice(make_train_loader(TOKENS, 16, 4, 1337, start_step=5), 5))
    assert all(same(a, b) for a, b in zip(whole[5:], resumed, strict=True))
    assert not same(next(loader(1338, step=5)), whole[5])
    assert len({str(starts) for starts in first_ids(whole)}) == 10


def test_seeding_one_moving_generator_again_would_replay_batch_0():
    """What the seed of a generator that moves on does not hold is how far it has moved."""
    moving = generator(1337)
    sweep = [get_batch(TOKENS, 16, 4, moving) for _ in range(6)]
    again = get_batch(TOKENS, 16, 4, generator(1337))
    assert same(again, sweep[0])
    assert not same(again, sweep[5])


@pytest.mark.contract("make_train_loader")
@given(st.integers(0, 2**30), st.integers(0, 10**6))
def test_any_batch_is_there_without_those_before_it_and_nothing_moves(seed, step):
    moving = loader(seed, step)
    ahead = moving.batch_at(step + 1)
    assert moving.step == step
    next(moving)
    assert moving.step == step + 1
    assert same(next(moving), ahead)


@pytest.mark.contract("make_train_loader")
def test_a_loader_is_its_own_iterator_and_never_ends():
    endless = loader()
    assert iter(endless) is endless
    assert len(list(islice(endless, 1000))) == 1000


@pytest.mark.contract("make_train_loader")
@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_any_number_of_ranks_shares_out_the_same_batch(world_size):
    """Rank r of R has rows r, r + R, …: rank 1 of 4 has rows 1 and 5 of 8."""
    x, y = loader(size=8).batch_at(3)
    for rank in range(world_size):
        part = loader(size=8, rank=rank, world_size=world_size).batch_at(3)
        rows = range(rank, 8, world_size)
        assert same(part, (x[rows], y[rows]))


@pytest.mark.contract("make_train_loader")
def test_a_run_goes_on_with_another_number_of_ranks():
    """Steps 0 to 3 on two ranks, then steps 4 to 7 on four: the rows of one process alone."""
    alone = [sorted(starts) for starts in first_ids(islice(loader(size=8), 8))]
    state, seen = {"step": 0, "seed": 1337}, []
    for world_size in (2, 4):
        ranks = [loader(1, size=8, rank=r, world_size=world_size) for r in range(world_size)]
        for rank in ranks:
            rank.load_state_dict(state)
        for _ in range(4):
            seen.append(sorted(chain(*first_ids(map(next, ranks)))))
        state = ranks[0].state_dict()
        assert all(rank.state_dict() == state for rank in ranks)
    assert seen == alone


@pytest.mark.contract("make_train_loader")
def test_the_state_is_two_integers_and_a_loader_takes_the_seed_of_the_state_it_loads():
    first = loader()
    batches = list(islice(first, 3))
    assert first.state_dict() == {"step": 3, "seed": 1337}
    other = loader(1, step=50)
    other.load_state_dict({"step": 1, "seed": 1337})
    assert same(next(other), batches[1])
    assert other.state_dict() == {"step": 2, "seed": 1337}


@pytest.mark.quality("make_train_loader")
def test_a_state_of_numpy_integers_becomes_plain_ones():
    """They would wrap round in the product, and JSON does not write them."""
    odd = loader(np.int32(4000), np.int64(2))
    assert odd.state_dict() == {"step": 2, "seed": 4000}
    assert {type(number) for number in odd.state_dict().values()} == {int}
    assert same(next(odd), loader(4000).batch_at(2))


@pytest.mark.quality("make_train_loader")
@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"step": 3}, r"the state must be \{'step': …, 'seed': …\}, got \{'step': 3\}"),
        ({"step": 3, "seed": 1, "epoch": 0}, "the state must be"),
        (None, "the state must be .*, got None"),
        ([3, 1], "the state must be"),
        ({"step": -1, "seed": 1}, "step must be a whole number from 0 on, got -1"),
        ({"step": "3", "seed": 1}, "step must be a whole number from 0 on, got '3'"),
        ({"step": 3, "seed": 1.0}, "seed must be a whole number from 0 on, got 1.0"),
    ],
)
def test_what_is_no_state_is_refused_and_the_loader_stays_where_it_was(state, message):
    kept = loader(7, step=5)
    with pytest.raises(ValueError, match=message):
        kept.load_state_dict(state)
    assert kept.state_dict() == {"step": 5, "seed": 7}


def test_seeds_thousands_apart_can_meet_because_torch_reads_32_bits():
    """4,295 × 1,000,003 = 4,295,012,885 = 2³² + 45,589: from there seed 0 gives seed 4,295's."""
    assert batch_seed(4295, 0) == 2**32 + 45_589
    for step in (0, 1, 500):
        assert same(loader(0).batch_at(45_589 + step), loader(4295).batch_at(step))


@pytest.mark.contract("batch_seed")
@pytest.mark.eq("batch-seed")
@given(st.integers(0, 4294), st.integers(0, 4294), st.integers(0, 45_588), st.integers(0, 45_588))
def test_below_seed_4295_and_step_45589_no_two_batches_share_a_generator(a, b, j, k):
    """4,294 × 1,000,003 + 45,588 = 4,294,058,470 is below 2³² = 4,294,967,296."""
    distinct = (batch_seed(a, j) - batch_seed(b, k)) % 2**32 != 0  # eq: batch-seed
    assert distinct == ((a, j) != (b, k))


# ---- refusals


@pytest.mark.quality("make_train_loader")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tokens": torch.arange(4)}, "one window of seq_len 4 needs 5 ids, the stream has 4"),
        ({"tokens": np.arange(0)}, "one window of seq_len 4 needs 5 ids, the stream has 0"),
        ({"tokens": torch.zeros(9)}, r"row of int64, uint16 or uint32, got float32 \(9,\)"),
        ({"tokens": torch.zeros(9, dtype=torch.int32)}, r"uint32, got int32 \(9,\)"),
        ({"tokens": np.zeros((3, 9), dtype=np.int64)}, r"got int64 \(3, 9\)"),
        ({"tokens": np.zeros(9, dtype=">u2")}, r"got >u2 \(9,\)"),
        ({"tokens": torch.arange(9, device="meta")}, "must be on the CPU, got them on meta"),
        ({"block_size": 0}, "seq_len must be at least 1, got 0"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"seed": -1}, "seed must be a whole number from 0 on, got -1"),
        ({"seed": 0.5}, "seed must be a whole number from 0 on, got 0.5"),
        ({"start_step": -1}, "step must be a whole number from 0 on, got -1"),
        ({"seed": 2**64 // 1_000_003 + 1}, r"seed \d+ × 1,000,003 \+ step 0 must be below 2⁶⁴"),
        ({"start_step": 2**64}, r"must be below 2⁶⁴; take a smaller seed"),
        ({"world_size": 0}, "world_size must be at least 1, got 0"),
        ({"world_size": 3}, "all 3 processes together and must divide by their number, got 8"),
        ({"rank": 2, "world_size": 2}, "rank must be from 0 to 1, got 2"),
        ({"rank": -1}, "rank must be from 0 to 0, got -1"),
    ],
)
def test_what_cannot_be_drawn_is_refused_at_the_call(changed, message):
    settings = {"tokens": torch.arange(9), "block_size": 4, "batch_size": 8, "seed": 0} | changed
    with pytest.raises(ValueError, match=message):
        make_train_loader(**settings)


@pytest.mark.quality("make_train_loader")
def test_the_last_seed_that_fits_is_taken_and_the_step_after_it_refused():
    """2⁶⁴ − 1 = 18,446,688,733,643 × 1,000,003 + 350,686."""
    last = loader(18_446_688_733_643, step=350_686)
    next(last)
    with pytest.raises(ValueError, match="must be below 2⁶⁴"):
        next(last)


@pytest.mark.quality("get_batch")
def test_get_batch_refuses_a_short_stream_no_windows_and_no_generator():
    with pytest.raises(ValueError, match="one window of seq_len 9 needs 10 ids, the stream has 9"):
        get_batch(torch.arange(9), 9, 2, generator())
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        get_batch(torch.arange(9), 4, 0, generator())
    with pytest.raises(TypeError, match=r"such as torch.Generator\(\), not None"):
        get_batch(torch.arange(9), 4, 2, None)


# ---- what must not be touched, and who may ask


@pytest.mark.contract("get_batch", "epoch_order", "make_train_loader")
def test_no_global_random_state_is_read_or_moved():
    def states():
        return torch.get_rng_state().tolist(), repr(np.random.mtrand._rand), random.getstate()

    before = states(), repr(np.random.mtrand._rand.get_state())
    first = next(loader())
    epoch_order(10, 3, 1)
    get_batch(TOKENS, 4, 2, generator(1))
    assert (states(), repr(np.random.mtrand._rand.get_state())) == before
    with torch.random.fork_rng():
        torch.manual_seed(12345)
        assert same(loader().batch_at(0), first)


@pytest.mark.quality("make_train_loader")
def test_threads_that_ask_one_loader_at_once_get_the_batches_of_their_steps():
    asked = loader(size=64)
    alone = [asked.batch_at(step) for step in range(400)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(asked.batch_at, range(400)))
    assert all(same(a, b) for a, b in zip(alone, together, strict=True))


@pytest.mark.quality("make_train_loader")
def test_a_pickled_loader_goes_on_where_it_was():
    """The pickle holds the tokens, 8 bytes each, and not the 984 windows of 17 ids."""
    first = loader(3, step=6, rank=1, world_size=2)
    packed = pickle.dumps(first)
    other = pickle.loads(packed)
    assert len(packed) < 1000 * 8 + 1000
    assert other.state_dict() == first.state_dict()
    assert same(next(other), next(first))


@pytest.mark.quality("make_train_loader")
def test_a_pickled_loader_of_a_mapped_file_gives_the_same_batches(tmp_path):
    np.arange(1000, dtype=np.uint16).tofile(tmp_path / "ids.bin")
    mapped = make_train_loader(np.memmap(tmp_path / "ids.bin", np.uint16, "r"), 16, 4, 1337)
    assert same(next(pickle.loads(pickle.dumps(mapped))), next(loader()))


@pytest.mark.slow
def test_a_spawned_process_draws_the_same_batch():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(starts_of, (loader(), 11)) == starts_of(loader(), 11)


def starts_of(sent: TrainBatchIterator, step: int) -> list[int]:
    """For the spawned process, which must be able to import it."""
    return first_ids([sent.batch_at(step)])[0]


# ---- epoch_order


@pytest.mark.contract("epoch_order")
def test_an_epoch_is_in_pandas_order_for_the_seed_plus_the_epoch():
    """pandas' orders of ten windows for generators seeded 42 and 43."""
    assert epoch_order(10, 42, 0).tolist() == [2, 9, 1, 6, 3, 8, 5, 7, 4, 0]
    sample = pd.DataFrame({"a": range(10)}).sample(frac=1, random_state=np.random.default_rng(43))
    assert epoch_order(10, 42, 1).tolist() == sample["a"].tolist()
    assert epoch_order(10, 42, 1).dtype == np.int64


@pytest.mark.contract("epoch_order")
@given(st.integers(0, 200), st.integers(0, 2**32), st.integers(0, 100))
def test_an_epoch_gives_each_window_once(n, seed, epoch):
    assert sorted(epoch_order(n, seed, epoch)) == list(range(n))


@pytest.mark.contract("epoch_order")
def test_every_epoch_has_an_order_of_its_own_which_is_an_earlier_one_of_the_next_seed():
    orders = {epoch_order(50, 42, epoch).tobytes() for epoch in range(20)}
    assert len(orders) == 20
    assert epoch_order(50, 42, 1).tolist() == epoch_order(50, 43, 0).tolist()


@pytest.mark.quality("epoch_order")
@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((-1, 0, 0), "n_windows must be a whole number from 0 on, got -1"),
        ((9, -1, 2), "seed must be a whole number from 0 on, got -1"),
        ((9, 0, -1), "epoch must be a whole number from 0 on, got -1"),
        ((9, 0, 1.5), "epoch must be a whole number from 0 on, got 1.5"),
    ],
)
def test_an_impossible_epoch_is_refused(numbers, message):
    with pytest.raises(ValueError, match=message):
        epoch_order(*numbers)


# ---- shares


@pytest.mark.contract("boundary_windows")
@pytest.mark.eq("boundary-windows")
def test_nine_far_boundaries_are_in_129_windows_each():
    """9 × 129 = 1,161 of 217,444 are 0.534 %; of 800 × 32 = 25,600 draws that is about 137."""
    found = boundary_windows(NINE, N_SEED, 128)  # eq: boundary-windows
    assert (found, type(found)) == (1161, int)
    assert round(100 * found / 217_444, 3) == 0.534
    assert round(25_600 * found / 217_444) == 137


@pytest.mark.contract("boundary_windows")
@pytest.mark.parametrize(
    ("boundaries", "found"),
    [
        ([], 0),
        ([10], 4),
        ([10, 11], 5),
        ([11, 10, 10], 5),
        ([0], 1),
        ([2], 3),
        ([19], 1),
        ([17], 3),
    ],
)
def test_boundaries_that_are_close_or_near_the_ends_are_in_fewer_windows(boundaries, found):
    """20 ids, T = 3, windows 0 to 16: place 10 is in 7 to 10, 11 in 8 to 11, 19 in 16 alone."""
    assert boundary_windows(boundaries, 20, 3) == found


@pytest.mark.contract("boundary_windows")
@pytest.mark.eq("boundary-windows")
@given(st.integers(1, 40), st.integers(1, 45), st.data())
def test_the_count_is_that_of_looking_into_every_window(n, seq_len, data):
    places = data.draw(st.lists(st.integers(0, n - 1), max_size=8))
    windows = [range(start, start + seq_len + 1) for start in range(n - seq_len)]
    looked = sum(any(place in window for place in places) for window in windows)
    assert boundary_windows(places, n, seq_len) == looked  # eq: boundary-windows


@pytest.mark.contract("boundary_windows")
@pytest.mark.parametrize(
    ("places", "ends"),
    [([-1, 3, 5], [-1, 5]), ([3, 5, 20], [3, 20]), ([5, -1], [-1, 5]), ([20, 5], [5, 20])],
)
def test_a_boundary_outside_the_stream_is_refused(places, ends):
    with pytest.raises(ValueError, match=re.escape(f"must be from 0 to 19, got {ends}")):
        boundary_windows(places, 20, 3)


@pytest.mark.quality("boundary_windows")
def test_boundaries_of_a_small_type_are_counted_like_others():
    """Place 1 is in windows 0 and 1; 1 − 3 is no number of a type without a sign."""
    assert boundary_windows(np.array([1], np.uint8), 20, 3) == 2


@pytest.mark.quality("boundary_windows", "repeat_share", "expected_shared")
@pytest.mark.parametrize(
    ("share", "arguments", "name"),
    [
        (boundary_windows, ([0], 0, 3), "n"),
        (boundary_windows, ([0], 20, 0), "seq_len"),
        (repeat_share, (0, 4), "n_windows"),
        (repeat_share, (4, 0), "draws"),
        (expected_shared, (0, 2, 3), "n_windows"),
        (expected_shared, (4, 0, 3), "batch_size"),
        (expected_shared, (4, 2, 0), "n_steps"),
    ],
)
def test_a_share_of_nothing_is_refused_by_its_name(share, arguments, name):
    with pytest.raises(ValueError, match=f"^{name} must be at least 1, got 0"):
        share(*arguments)


def test_a_loader_that_is_told_no_step_begins_with_the_first():
    assert TrainBatchIterator(TOKENS, 16, 4, 1337).state_dict() == {"step": 0, "seed": 1337}


@pytest.mark.quality("batch_seed")
def test_a_seed_that_is_too_large_is_told_with_its_step():
    with pytest.raises(ValueError, match=rf"seed {2**63} × 1,000,003 \+ step 5 must be below 2⁶⁴"):
        batch_seed(2**63, 5)


@pytest.mark.contract("repeat_share")
@pytest.mark.eq("repeat-share")
def test_of_25600_draws_about_57_in_a_thousand_repeat_a_window():
    """Two draws of two windows are equal half of the time: of four draws, one on average."""
    assert repeat_share(2, 2) == 0.25  # eq: repeat-share
    assert repeat_share(1, 4) == 0.75
    assert round(100 * repeat_share(217_444, 25_600), 1) == 5.7


@pytest.mark.contract("repeat_share")
@pytest.mark.eq("repeat-share")
@pytest.mark.parametrize(("n", "draws"), [(1, 1), (2, 3), (3, 4), (4, 4), (5, 2)])
def test_the_share_of_repeats_is_that_of_all_cases_counted(n, draws):
    """Every way to draw is as likely as another: count the windows that came before, in each."""
    cases = list(product(range(n), repeat=draws))
    repeats = sum(draws - len(set(case)) for case in cases)
    expected = repeats / len(cases) / draws
    assert repeat_share(n, draws) == pytest.approx(expected, abs=1e-15)  # eq: repeat-share


@pytest.mark.quality("repeat_share")
def test_the_share_of_repeats_holds_for_more_windows_than_floats_can_tell_apart():
    """Few draws of many: the pairs are 1000 × 999 / 2, so 999 / (2 × 10¹⁸) of the draws."""
    assert repeat_share(10**18, 1000) == pytest.approx(4.995e-16, rel=1e-12)
    assert repeat_share(7, 1) == pytest.approx(0, abs=1e-50)


@pytest.mark.contract("expected_shared")
def test_five_pairs_of_batches_of_2_from_10_windows_share_2_windows_on_average():
    """Six steps have five neighbours; each of 2 × 2 pairs is equal in 1 case of 10: 5 × 4 / 10."""
    assert expected_shared(10, 2, 6) == 2
    assert expected_shared(10, 2, 1) == 0
    assert round(expected_shared(217_444, 32, 2000), 1) == 9.4


def test_neighbouring_batches_of_seed_1337_share_11_windows_about_what_chance_gives():
    """Each batch of 2,000 beside the next. The seed counted 11 too."""
    starts = starts_of_seed_1337(2000)
    assert (starts[1:, :, None] == starts[:-1, None, :]).sum() == 11


def starts_of_seed_1337(steps: int) -> np.ndarray:
    """`(steps, 32)` starts of 217,444 windows. T = 1, because starts do not depend on it."""
    batches = make_train_loader(np.arange(217_444 + 1), 1, 32, 1337)
    return np.array(first_ids(islice(batches, steps)))


def test_the_windows_of_800_real_batches_repeat_about_as_often_as_expected():
    """25,600 draws: 5.7 of 100 expected, and their spread is below 0.2."""
    starts = starts_of_seed_1337(800)
    assert 1 - len(np.unique(starts)) / starts.size == pytest.approx(0.0566, abs=0.006)


def test_fixed_windows_give_a_place_one_context_and_random_windows_give_it_all():
    """T = 4: fixed windows start at 0, 4, 8 …, so targets 1, 5, 9 … see one id, in every epoch.

    Target p of the window at s sees p − s ids.
    """
    fixed = contexts(sliding_windows(41, 4, 4)["start"])
    assert [fixed[place] for place in (1, 5, 9, 37)] == [{1}, {1}, {1}, {1}]
    assert all(len(seen) == 1 for seen in fixed.values())
    random_batches = make_train_loader(torch.arange(41), 4, 4, 1337)
    drawn = contexts(chain(*first_ids(islice(random_batches, 200))))
    assert all(drawn[place] == {1, 2, 3, 4} for place in range(4, 38))


def contexts(starts) -> dict[int, set[int]]:
    """How many ids each target is predicted from, in windows of T = 4."""
    seen: dict[int, set[int]] = {}
    for start in starts:
        for length in range(1, 5):
            seen.setdefault(start + length, set()).add(length)
    return seen


@pytest.mark.quality("make_train_loader")
def test_a_tensor_whose_memory_torch_moves_is_still_read_where_it_is():
    """Shared with another process, a tensor gets other memory, and the old one is given back."""
    tokens = torch.arange(100)
    loader = make_train_loader(tokens, 4, 2, seed=1)
    before = loader.batch_at(0)[0]
    tokens.share_memory_()
    tokens += 1000
    assert torch.equal(loader.batch_at(0)[0], before + 1000)


def test_the_windows_of_a_batch_start_where_the_loader_says():
    """The ids are their own places."""
    for rank, world_size in ((0, 1), (1, 2)):
        loader = make_train_loader(torch.arange(50), 4, 6, seed=3, rank=rank, world_size=world_size)
        for step in (0, 7):
            assert loader.starts_at(step).tolist() == loader.batch_at(step)[0][:, 0].tolist()

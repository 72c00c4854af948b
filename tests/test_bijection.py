"""The order that is computed: a permutation, of which nothing is stored."""

import tracemalloc
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bijection
from bijection import Bijection

SEEDS = 5000


def hashed(number: int, keys: list[int], bits: int) -> int:
    """The hash of one number, in Python's own whole numbers, 32 bits of each kept."""
    mixed = (number + keys[0]) * 0x85EBCA6B % 2**32
    mixed = ((mixed ^ mixed >> 16) + keys[1]) * 0xC2B2AE35 % 2**32
    return mixed >> 32 - bits


def walked(place: int, n_windows: int, seed: int, epoch: int = 0) -> int:
    """The window at one place, number by number: an oracle without arrays."""
    bits = max(2, (n_windows - 1).bit_length())
    key = np.array([seed, epoch], np.uint64)
    raw = [int(key) for key in np.random.Philox(key=key).random_raw(8)]
    number = place
    while True:
        high, low = bits // 2, bits - bits // 2
        for key in raw:
            left, right = divmod(number, 2**low)
            taken = left ^ hashed(right, [key >> 32, key % 2**32], high)
            number = right * 2**high + taken
            high, low = low, high
        if number < n_windows:
            return number


def odd(order: np.ndarray) -> bool:
    """Whether an odd number of exchanges makes the order out of 0, 1, 2, …"""
    left, cycles = set(range(len(order))), 0
    while left:
        place, cycles = left.pop(), cycles + 1
        while (place := int(order[place])) in left:
            left.remove(place)
    return (len(order) - cycles) % 2 == 1


def test_ten_windows_of_seed_42_come_in_the_stored_orders():
    assert Bijection(10, 42)[:].tolist() == [7, 1, 2, 8, 9, 3, 0, 6, 4, 5]
    assert Bijection(10, 42, epoch=1)[:].tolist() == [0, 7, 5, 3, 4, 6, 2, 1, 9, 8]


@pytest.mark.eq("feistel")
def test_a_round_swaps_the_halves_and_mixes_the_hash_into_one(monkeypatch):
    """4 bits, and a hash that is always 10.

    13 = 11 01: the right half, 01, comes left; the left one, 11, takes in the hash and is 01.
    Then 01 01: 01 comes left, and 01 takes in the hash and is 11. 01 11 is 7.
    """
    monkeypatch.setattr(bijection, "_hash", lambda right, keys, bits: np.uint32(0b10))
    assert Bijection(16, 0, rounds=2)[[13]].tolist() == [0b0111]  # eq: feistel


@pytest.mark.eq("feistel", "cycle-walk")
@given(st.integers(1, 10**9), st.integers(0, 2**64 - 1), st.integers(0, 50), st.data())
def test_a_place_has_the_window_that_plain_arithmetic_gives_it(n, seed, epoch, data):
    """Whole numbers of Python, one place at a time."""
    places = data.draw(st.lists(st.integers(0, n - 1), max_size=5))
    found = Bijection(n, seed, epoch)[places].tolist()
    assert found == [walked(i, n, seed, epoch) for i in places]  # eq: feistel, cycle-walk


@given(st.integers(1, 3000), st.integers(0, 1000), st.integers(0, 3))
def test_every_window_comes_once(n, seed, epoch):
    order = Bijection(n, seed, epoch)[:]
    assert order.dtype == np.int64
    assert np.sort(order).tolist() == list(range(n))


@given(st.integers(1, 10**6), st.integers(0, 2**40), st.integers(0, 10**6), st.integers(0, 300))
def test_any_part_of_the_order_is_that_part_of_the_whole(n, seed, start, length):
    order = Bijection(n, seed)
    whole = range(n)[start : start + length]
    assert order[start : start + length].tolist() == order[list(whole)].tolist()


def test_slices_are_those_of_the_whole_order_as_a_list(monkeypatch):
    """Within a part, over its border, backwards, from behind, and again after another."""
    monkeypatch.setattr(bijection, "_PART", 16)
    order = Bijection(100, 3)
    whole = order[np.arange(100)].tolist()
    for a, b, step in [(0, 4, 1), (14, 18, 1), (90, 120, 1), (7, 3, 1), (50, 3, 1), (-9, -2, 1)]:
        assert order[a:b:step].tolist() == whole[a:b:step]
    assert order[::-7].tolist() == whole[::-7]
    order[0:4][:] = 0  # what was given is the caller's
    assert order[0:4].tolist() == whole[:4]


def test_parts_of_any_size_join_to_the_whole_order(monkeypatch):
    whole = Bijection(1000, 3)[:].tolist()
    monkeypatch.setattr(bijection, "_PART", 7)
    assert Bijection(1000, 3)[:].tolist() == whole


def test_seeds_and_epochs_have_orders_of_their_own_and_seed_1_is_not_epoch_1_of_seed_0():
    orders = {(s, e): tuple(Bijection(50, s, e)[:]) for s in range(5) for e in range(5)}
    assert len(set(orders.values())) == 25


def test_a_place_among_a_million_million_takes_no_memory():
    """The list of that order would take 8 TB."""
    tracemalloc.start()
    order = Bijection(10**12, 1)
    order[10**12 - 5000 :]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(order), peak < 1_000_000) == (10**12, True)


@pytest.mark.parametrize("n", [16, 32, 64, 256])
def test_of_a_power_of_two_only_even_orders_come(n):
    """Each round exchanges an even number of pairs: half of all orders never come."""
    assert not any(odd(Bijection(n, seed)[:]) for seed in range(50))


def test_five_windows_have_each_of_their_orders_but_some_three_times_as_often_as_others():
    """Of 4,800 seeds each of the 120 orders should get 40."""
    counted = Counter(tuple(Bijection(5, seed)[:].tolist()) for seed in range(4_800))
    assert set(counted) == set(permutations(range(5)))
    assert max(counted.values()) > 2.5 * min(counted.values())


def surprise(counts: np.ndarray) -> float:
    """How many deviations χ² of counts that should be alike is away from what chance gives."""
    expected, free = counts.mean(), len(counts) - 1
    return abs(((counts - expected) ** 2 / expected).sum() - free) / (2 * free) ** 0.5


def places_of(places: list[int], rounds: int = 8) -> np.ndarray:
    return np.array([Bijection(1000, seed, rounds=rounds)[places] for seed in range(SEEDS)])


def test_a_place_of_a_thousand_has_any_window_as_often_as_any_other():
    for windows in places_of([0, 500, 999]).T:
        assert surprise(np.bincount(windows, minlength=1000)) < 4


def test_neighbours_of_a_thousand_are_as_far_apart_as_chance_has_them():
    """With two rounds instead of eight the same measure says 50."""
    first, second = places_of([0, 1]).T
    assert surprise(np.bincount((second - first) % 1000, minlength=1000)[1:]) < 4


def test_two_rounds_would_be_seen():
    first, second = places_of([0, 1], rounds=2).T
    assert surprise(np.bincount((second - first) % 1000, minlength=1000)[1:]) > 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1), "n_windows must be from 1 to 2⁶², got 0"),
        ((2**62 + 1, 1), "n_windows must be from 1 to 2⁶², got 4611686018427387905"),
        ((10, -1), "seed must be from 0 to 2⁶⁴ − 1, got -1"),
        ((10, 1, 2**64), "epoch must be from 0 to 2⁶⁴ − 1, got 18446744073709551616"),
    ],
)
def test_an_order_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Bijection(*arguments)


@pytest.mark.parametrize("rounds", [0, 1, 7])
def test_rounds_after_which_the_halves_are_not_back_are_refused(rounds):
    with pytest.raises(ValueError, match=f"rounds must be 2, 4, 6, …, got {rounds}"):
        Bijection(10, 0, rounds=rounds)


def test_a_place_that_is_not_there_is_refused():
    with pytest.raises(IndexError, match="places must be from 0 to 9, got -1 to 3"):
        Bijection(10, 0)[[3, -1]]
    with pytest.raises(TypeError, match="places must be one row of whole numbers, got"):
        Bijection(10, 0)[np.array([0.5])]

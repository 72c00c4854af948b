"""The order of an epoch as a function: which window comes i-th, without a list of all of them."""

import numpy as np

ROUNDS = 8  # four are visibly not random at a thousand windows

_PART = 1 << 13  # places computed at a time: what they take fits in a cache
_MIX = np.array([0x85EBCA6B, 0xC2B2AE35], np.uint32)  # the multipliers of MurmurHash3's end
_HALF = np.uint32(16)


class Bijection:
    """Each of 0 … W − 1 once, in an order drawn by (seed, epoch), of which nothing is stored.

    `order[i:j]` and `order[places]` give windows, int64: what is at a place costs the same
    wherever it is, and no memory. A Feistel network permutes the numbers of as many bits as W − 1
    has (2 at least); what falls outside is permuted again until it is inside.

    >>> Bijection(10, seed=42)[:].tolist()
    [7, 1, 2, 8, 9, 3, 0, 6, 4, 5]
    >>> Bijection(10**12, seed=42)[[0, 10**12 - 1]].tolist()
    [308717353601, 52033303097]

    Source: J. Black, P. Rogaway, Ciphers with Arbitrary Finite Domains, CT-RSA 2002 (method 3, and
    walking in cycles, method 2).
    """

    def __init__(self, n_windows: int, seed: int, epoch: int = 0, *, rounds: int = ROUNDS) -> None:
        if rounds < 2 or rounds % 2:
            raise ValueError(f"rounds must be 2, 4, 6, …, got {rounds}: halves must change back")
        if not 1 <= n_windows <= 1 << 62:
            raise ValueError(f"n_windows must be from 1 to 2⁶², got {n_windows}")
        for name, number in {"seed": seed, "epoch": epoch}.items():
            if not 0 <= number < 1 << 64:
                raise ValueError(f"{name} must be from 0 to 2⁶⁴ − 1, got {number}")
        self.n_windows = int(n_windows)
        bits = max(2, (self.n_windows - 1).bit_length())
        self._halves = bits // 2, bits - bits // 2
        key = np.array([seed, epoch], np.uint64)
        keys = np.random.Philox(key=key).random_raw(rounds)  # no two keys share their numbers
        self._keys = np.column_stack([keys >> np.uint64(32), keys]).astype(np.uint32)
        self._kept = -1, np.empty(0, np.int64)  # the part of the order that was asked for last

    def __len__(self) -> int:
        return self.n_windows

    def __getitem__(self, places: slice | np.ndarray | list[int]) -> np.ndarray:
        if not isinstance(places, slice):
            return self._at(self._inside(np.asarray(places)))
        start, stop, step = places.indices(self.n_windows)
        first = start - start % _PART
        if step != 1 or not start <= stop <= first + _PART:
            return self._at(np.arange(start, stop, step))
        if self._kept[0] != first:  # the batches of a training loop ask for neighbours
            part = np.arange(first, min(first + _PART, self.n_windows))
            self._kept = first, self._at(part)
        return self._kept[1][start - first : stop - first].copy()

    def _at(self, places: np.ndarray) -> np.ndarray:
        windows = np.empty(len(places), np.int64)
        for k in range(0, len(places), _PART):
            windows[k : k + _PART] = self._walk(places[k : k + _PART])
        return windows

    def _inside(self, places: np.ndarray) -> np.ndarray:
        if not places.size:
            places = places.astype(np.int64)
        if places.ndim != 1 or places.dtype.kind not in "iu":
            raise TypeError(f"places must be one row of whole numbers, got {places!r:.60}")
        if len(places) and not 0 <= places.min() <= places.max() < self.n_windows:
            raise IndexError(
                f"places must be from 0 to {self.n_windows - 1}, "
                f"got {places.min()} to {places.max()}"
            )
        return places.astype(np.int64)

    def _walk(self, numbers: np.ndarray) -> np.ndarray:
        """Permute; what is not below W again, until all is: a walk along its cycle."""
        numbers = self._permute(numbers)
        while len(outside := np.flatnonzero(numbers >= self.n_windows)):
            numbers[outside] = self._permute(numbers[outside])  # eq: cycle-walk
        return numbers

    def _permute(self, numbers: np.ndarray) -> np.ndarray:
        """All rounds: the halves change places, and one takes in what the other hashes to."""
        high, low = self._halves  # in bits; they change places too, and 8 times is back
        left = (numbers >> low).astype(np.uint32)
        right = (numbers & ((1 << low) - 1)).astype(np.uint32)
        for keys in self._keys:
            left, right = right, left ^ _hash(right, keys, high)  # eq: feistel
            high, low = low, high
        return left.astype(np.int64) << low | right


def _hash(numbers: np.ndarray, keys: np.ndarray, bits: int) -> np.ndarray:
    """`bits` bits, 1 to 31, mixed from each number and two keys: uint32 of the same shape."""
    mixed = numbers + keys[0]
    mixed *= _MIX[0]
    mixed ^= mixed >> _HALF
    mixed += keys[1]
    mixed *= _MIX[1]
    mixed >>= np.uint32(32 - bits)
    return mixed

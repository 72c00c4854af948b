"""The closed formulas as the pages print them, read back and compared with the code.

A formula must give what the code gives at every point of a grid: exactly, or, where it gives a
float, to the last bits of it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import sympy
import torch

import batches
import data
import idfiles
import ledger
import loaders
import packing
import sides
import storage
import windows
from literate.latex import ReadbackError, read, separate
from scoring import UNITS_PER_NAT, Receipt, masked_loss
from stream import Stream


@dataclass(frozen=True)
class Formula:
    """What a printed formula is held against: the same point of the grid goes to page and code.

    `forms` has, for each printed form, the points at which it is meant to hold. `beside` is the
    equation that is printed after it. A letter with an index that is summed over stands for many.
    """

    left: str
    symbols: tuple[str, ...]
    grid: Iterable[tuple[Any, ...]]
    code: Callable[..., Any]
    forms: tuple[Callable[..., bool], ...] = (lambda *point: True,)
    beside: "Formula | None" = None


def _receipt(nats: float, text_bytes: int = 1, count: int = 1) -> Receipt:
    return Receipt(int(nats * UNITS_PER_NAT), count, text_bytes, seq_len=1, stride=1)


def _side_by_side(seq_len: int) -> pd.DataFrame:
    """Three windows in which every target counts."""
    return windows.eval_windows(3 * seq_len + 1, seq_len, seq_len)


def _rows(tokens: int, rows: int = 1, seq_len: int = 0) -> Stream:
    """A stream of rows with one document at its beginning."""
    spans = {"start": [0], "stop": [tokens], "doc_id": [0], "doc_start": [0]}
    return Stream(np.empty(rows * (seq_len + 1), np.int8), pd.DataFrame(spans))


def _starts(n: int, seq_len: int, stride: int) -> range:
    """The numbers of the evaluation windows; the last one is ⌈(N − 1 − T) / s⌉, says the page."""
    return range(-(-(n - 1 - seq_len) // stride) + 1)


def _attends(i: int, j: int, seg_i: int, seg_j: int) -> int:
    segments = np.zeros(3, np.int64)
    segments[[i, j]] = seg_i, seg_j
    return int(windows.attention_mask(segments)[i, j])


def _sum_nats(chances: tuple[float, ...], n: int) -> float:
    """The loss of targets to which a model of two tokens gives these chances."""
    chance = torch.tensor(chances, dtype=torch.float64)
    logits = torch.stack([chance, 1 - chance], dim=-1).log()
    return masked_loss(logits, torch.zeros(n, dtype=torch.int64))[0].item()


_FRACTIONS = (0.0, 0.1, 0.2, 0.25, 0.3, 0.333, 0.5, 0.7, 0.9)
_LENGTHS = (0, 1, 7, 10, 20, 40, 90, 100, 3000, 166_373)
_SUMS = ["trained", "context_only", "masked", "dropped"]
_NATS = (0.0, 0.5, 1.0, 3.25, 69.3125, 1e6)

FORMULAS = {
    "cut": Formula(
        left="cut",
        symbols=("N", "rho"),
        grid=tuple(product(_LENGTHS, _FRACTIONS)),
        code=lambda n, rho: len(data.split_ids(np.empty(n, np.int8), rho)[0]),
    ),
    "window-count": Formula(
        left="W",
        symbols=("N", "T", "k"),
        grid=tuple(product(range(14), range(1, 6), range(1, 8))),
        code=lambda n, seq_len, stride: windows.count_windows(n, seq_len, stride),
        forms=(lambda n, seq_len, stride: n >= seq_len, lambda n, seq_len, stride: True),
    ),
    "batches-per-epoch": Formula(
        left="batches per epoch",
        symbols=("W", "B"),
        grid=tuple(product(range(50), range(1, 20))),
        code=lambda n_windows, batch_size: windows.count_batches(n_windows, batch_size),
    ),
    "total-steps": Formula(
        left="steps",
        symbols=("E", "W", "B"),
        grid=tuple(product(range(1, 5), range(20), range(1, 8))),
        code=lambda epochs, n_windows, size: windows.count_steps(n_windows, size, epochs),
    ),
    "epoch-of-step": Formula(
        left="epoch",
        symbols=("step", "W", "B"),
        grid=tuple(product(range(40), range(1, 20), range(1, 8))),
        code=lambda step, n_windows, size: windows.place_in_epoch(step, n_windows, size)[0],
    ),
    "batch-of-step": Formula(
        left="batch",
        symbols=("step", "W", "B"),
        grid=tuple(product(range(40), range(1, 20), range(1, 8))),
        code=lambda step, n_windows, size: windows.place_in_epoch(step, n_windows, size)[1],
    ),
    "eval-starts": Formula(
        left="start_w",
        symbols=("w", "s", "N", "T"),
        grid=tuple(
            (w, s, n, T)
            for n in range(2, 14)
            for T in range(1, n)
            for s in range(1, T + 1)
            for w in _starts(n, T, s)
        ),
        code=lambda w, stride, n, T: windows.eval_windows(n, T, stride)["start"].get(w, -1),
    ),
    "id-bytes": Formula(
        left="id bytes",
        symbols=("V",),
        grid=((257,), (65_535,), (65_536,), (65_537,), (200_000,)),
        code=lambda size: np.dtype(idfiles.id_dtype(size)).itemsize,
    ),
    "file-bytes": Formula(
        left="file bytes",
        symbols=("N", "id bytes"),
        grid=tuple(product((0, 1, 3, 10**9), (2, 4))),
        code=lambda n, size: idfiles.file_bytes(n, {2: "uint16", 4: "uint32"}[size]),
    ),
    "wrap": Formula(
        left="written",
        symbols=("id",),
        grid=((0,), (511,), (65_535,), (65_536,), (70_000,), (200_000,), (-1,)),
        code=lambda number: storage.wrapped(number),
    ),
    "batch-seed": Formula(
        left="generator seed",
        symbols=("seed", "step"),
        grid=tuple(product((0, 1, 42, 1337, 2**40), (0, 1, 7, 10**6, 10**9))),
        code=lambda seed, step: batches.batch_seed(seed, step),
    ),
    "repeat-share": Formula(
        left="repeats",
        symbols=("W", "m"),
        grid=tuple(product((1, 2, 7, 1000, 217_444, 10**15), (2, 3, 32, 1000))),
        code=lambda n_windows, draws: batches.repeat_share(n_windows, draws),
    ),
    "epoch-seed": Formula(
        left="seed of the epoch",
        symbols=("base seed", "e"),
        grid=tuple(product((0, 1, 42, 2**31), range(4))),
        code=lambda seed, epoch: loaders.epoch_generator(seed, epoch).initial_seed(),
    ),
    "mean-context": Formula(
        left="mean context",
        symbols=("T",),
        grid=tuple((seq_len,) for seq_len in (1, 2, 7, 64, 128)),
        code=lambda seq_len: windows.mean_context(_side_by_side(seq_len)),
    ),
    "least-context": Formula(
        left="least context",
        symbols=("T", "s"),
        grid=tuple((T, s) for T in range(1, 20) for s in range(1, T + 1)),
        code=lambda seq_len, stride: windows.least_context(seq_len, stride),
    ),
    "passes": Formula(
        left="passes",
        symbols=("W", "T", "N"),
        grid=tuple(product((1, 6, 1000), (1, 8, 64), (2, 23, 16_638))),
        code=lambda n_windows, seq_len, n: windows.count_passes(n_windows, seq_len, n),
    ),
    "expected-documents": Formula(
        left="expected",
        symbols=("rho", "D"),
        grid=tuple(product(_FRACTIONS, (1, 7, 40))),
        code=lambda rho, n: sides.expected_documents(pd.DataFrame({"group": range(n)}), rho)[0],
    ),
    "fill": Formula(
        left="fill",
        symbols=("tokens", "W", "T"),
        grid=tuple((n, W, T) for W in (1, 3, 7) for T in (1, 6, 64) for n in (0, 1, W * (T + 1))),
        code=lambda tokens, n_rows, seq_len: packing.fill(_rows(tokens, n_rows, seq_len)),
    ),
    "least-rows": Formula(
        left="least rows",
        symbols=("tokens", "T"),
        grid=tuple(product((0, 1, 7, 8, 9, 11, 166_373), (1, 3, 7, 64))),
        code=lambda tokens, seq_len: packing.least_rows(tokens, seq_len),
    ),
    "dropped": Formula(
        left="dropped",
        symbols=("read", "kept"),
        grid=tuple((read, kept) for read in (1, 5, 11) for kept in (0, 1, read)),
        code=lambda read, kept: packing.count_dropped(_rows(read), _rows(kept)),
    ),
    "counts": Formula(
        left="counts_t",
        symbols=("seg_t", "seg_t+1"),
        grid=tuple(product(range(3), repeat=2)),
        code=lambda x, y: int(windows.counts(np.array([x]), np.array([y]), "isolated")[0]),
    ),
    "may-attend": Formula(
        left="sees_i,j",
        symbols=("i", "j", "seg_i", "seg_j"),
        grid=tuple(p for p in product(range(3), repeat=4) if p[0] != p[1] or p[2] == p[3]),
        code=lambda *point: _attends(*point),
    ),
    "ledger": Formula(
        left="read",
        symbols=("trained", "context only", "masked", "dropped"),
        grid=tuple(product((0, 1, 149_002), (0, 1), (0, 726), (0, 7))),
        code=lambda *sums: ledger.accounted(pd.DataFrame([sums], columns=_SUMS)).iloc[0],
    ),
    "mean-cross-entropy": Formula(
        left="H",
        symbols=("S", "n"),
        grid=tuple(product(_NATS, (1, 3, 20))),
        code=lambda nats, n: _receipt(nats, count=n).nats_per_token,
        beside=Formula(
            left="S",
            symbols=("p_i", "n"),
            grid=tuple((p, len(p)) for p in ((0.5,), (0.25, 0.75), (0.125, 0.5, 0.001))),
            code=lambda chances, n: _sum_nats(chances, n),
        ),
    ),
    "perplexity": Formula(
        left="perplexity",
        symbols=("H",),
        grid=tuple((nats,) for nats in (0.0, 0.5, 1.0, 3.25, 7.0)),
        code=lambda mean: _receipt(mean).perplexity,
    ),
    "bits-per-byte": Formula(
        left="bits per byte",
        symbols=("S", "b"),
        grid=tuple(product(_NATS, (1, 2, 7, 100))),
        code=lambda nats, text_bytes: _receipt(nats, text_bytes=text_bytes).bits_per_byte,
    ),
}


def compare(name: str, latex: str) -> None:
    """Refuse a printed formula that is not, at every point of the grid, what the code computes."""
    formula, printed = FORMULAS[name], list(separate(latex))
    if len(printed) != 1 + (formula.beside is not None):
        raise ReadbackError(f"{name}: {len(printed)} equation(s) stand beside each other")
    _compare(name, formula, printed[0])
    if formula.beside:
        _compare(name, formula.beside, printed[1])


def _compare(name: str, formula: Formula, latex: str) -> None:
    left, *forms = read(latex)
    if str(left) != formula.left or len(forms) != len(formula.forms):
        raise ReadbackError(
            f"{name}: needs {formula.left!r} and {len(formula.forms)} form(s) of it, got "
            f"{str(left)!r} and {len(forms)}"
        )
    for form, holds in zip(forms, formula.forms, strict=True):
        if {str(letter) for letter in form.free_symbols} != set(formula.symbols):
            printed = sorted(map(str, form.free_symbols))
            raise ReadbackError(f"{name}: needs {sorted(formula.symbols)}, the page has {printed}")
        for point in formula.grid:
            if holds(*point):
                where = dict(zip(formula.symbols, point, strict=True))
                _agree(name, where, _value(form, where), formula.code(*point))


def _value(form: sympy.Expr, where: dict[str, Any]) -> sympy.Expr:
    """A printed form at a point. Of a sum every term is that of its own letters."""
    single = {k: _exact(v) for k, v in where.items() if not isinstance(v, tuple)}
    if not isinstance(form, sympy.Sum):
        return form.xreplace({sympy.Symbol(k, real=True): v for k, v in single.items()})
    each, (_, first, last) = form.args[0], form.args[1].args
    numbers = range(int(_value(first, single)), int(_value(last, single)) + 1)
    terms = (
        {k: v[n - 1] if isinstance(v, tuple) else v for k, v in where.items()} for n in numbers
    )
    return sympy.Add(*(_value(each, term) for term in terms))


def _exact(number: Any) -> sympy.Rational:
    """The number that was written: 0.1 is one tenth."""
    return sympy.Rational(str(number))


def _agree(name: str, where: dict[str, Any], page: sympy.Expr, code: Any) -> None:
    if page.is_Rational and not isinstance(code, float):
        same = page == _exact(code)
    else:
        same = abs(page.evalf(40) - _exact(code)) <= abs(page.evalf(40)) * sympy.Float(2) ** -51
    if not same:
        raise ReadbackError(f"{name}: at {where} the page gives {page}, the code {code}")

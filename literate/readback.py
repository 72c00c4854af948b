"""The closed formulas as the pages print them, read back and compared with the code.

The reader knows the little LaTeX that these formulas are made of; anything else is an error. A
formula must give what the code gives at every point of a grid: exactly, or, where it gives a float,
to the last bits of it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import sympy
from lark import Lark, Token, Transformer, v_args
from lark.exceptions import LarkError

import batches
import data
import ledger
import loaders
import packing
import sides
import storage
import windows
from scoring import UNITS_PER_NAT, Receipt
from stream import Stream

_GRAMMAR = r"""
start: sum ("=" sum)+
?sum: term | sum "+" term -> add | sum "-" term -> subtract
?term: factor | term "\\cdot" factor -> times | term ("\\,")? symbolic -> times
?factor: NUMBER -> number | symbolic
?symbolic: atom | atom "^" "{" sum "}" -> power
    | _FRAC "{" sum "}" "{" sum "}" -> divide | _E "{" sum "}" -> exp | _LN factor -> ln
    | (_LFLOOR sum _RFLOOR | _LEFT _LFLOOR sum _RIGHT _RFLOOR) -> floor
    | (_LCEIL sum _RCEIL | _LEFT _LCEIL sum _RIGHT _RCEIL) -> ceil
    | (_MAX "(" sum ("," "\\,"? sum)+ ")"
      | _MAX _LEFT "(" sum ("," "\\,"? sum)+ _RIGHT ")") -> max
?atom: NAME -> name | "(" sum ")" | _LEFT "(" sum _RIGHT ")"
NUMBER: /[0-9]+/
NAME: /\\text\{[^{}\\]+\}/ | /\\rho(?![A-Za-z])/ | /[A-Za-z]/
_E.1: /e\s*\^/
_FRAC: /\\frac(?![A-Za-z])/
_LN: /\\ln(?![A-Za-z])/
_MAX: /\\max(?![A-Za-z])/
_LEFT: /\\left(?![A-Za-z])/
_RIGHT: /\\right(?![A-Za-z])/
_LFLOOR: /\\lfloor(?![A-Za-z])/
_RFLOOR: /\\rfloor(?![A-Za-z])/
_LCEIL: /\\lceil(?![A-Za-z])/
_RCEIL: /\\rceil(?![A-Za-z])/
%ignore /\s+/
"""


@v_args(inline=True)
class _ToSympy(Transformer):
    """A parse tree → sympy, operation by operation."""

    number = sympy.Integer
    floor, ceil, max = sympy.floor, sympy.ceiling, sympy.Max
    ln, exp = sympy.log, sympy.exp

    def start(self, *sides: sympy.Expr) -> list[sympy.Expr]:
        return list(sides)

    def name(self, token: Token) -> sympy.Symbol:
        printed = token.removeprefix(r"\text{").removesuffix("}").removeprefix("\\")
        return sympy.Symbol(" ".join(printed.split()), real=True)

    def add(self, a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
        return a + b

    def subtract(self, a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
        return a - b

    def times(self, a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
        return a * b

    def divide(self, a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
        return a / b

    def power(self, a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
        return a**b


_PARSER = Lark(_GRAMMAR, parser="lalr", transformer=_ToSympy())


class ReadbackError(ValueError):
    """A printed formula cannot be read, or does not say what the code does."""


@dataclass(frozen=True)
class Formula:
    """What a printed formula is held against: the same point of the grid goes to page and code.

    `forms` has, for each printed form, the points at which it is meant to hold.
    """

    left: str
    symbols: tuple[str, ...]
    grid: Iterable[tuple[Any, ...]]
    code: Callable[..., Any]
    forms: tuple[Callable[..., bool], ...] = (lambda *point: True,)


def _receipt(nats: float, text_bytes: int = 1) -> Receipt:
    return Receipt(int(nats * UNITS_PER_NAT), 1, text_bytes, seq_len=1, stride=1)


def _side_by_side(seq_len: int) -> pd.DataFrame:
    """Three windows in which every target counts."""
    return windows.eval_windows(3 * seq_len + 1, seq_len, seq_len)


def _rows(tokens: int, rows: int = 1, seq_len: int = 0) -> Stream:
    """A stream of rows with one document at its beginning."""
    spans = {"start": [0], "stop": [tokens], "doc_id": [0], "doc_start": [0]}
    return Stream(np.empty(rows * (seq_len + 1), np.int8), pd.DataFrame(spans))


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
    "file-bytes": Formula(
        left="file bytes",
        symbols=("N", "id bytes"),
        grid=tuple(product((0, 1, 3, 10**9), (2, 4))),
        code=lambda n, size: storage.file_bytes(n, {2: "uint16", 4: "uint32"}[size]),
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
    "ledger": Formula(
        left="read",
        symbols=("trained", "context only", "masked", "dropped"),
        grid=tuple(product((0, 1, 149_002), (0, 1), (0, 726), (0, 7))),
        code=lambda *sums: ledger.accounted(pd.DataFrame([sums], columns=_SUMS)).iloc[0],
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


def read(latex: str) -> list[sympy.Expr]:
    """The sides of a printed equation.

    >>> read(r"W = \\left\\lceil \\frac{N - T}{k} \\right\\rceil")
    [W, ceiling((N - T)/k)]
    """
    try:
        return _PARSER.parse(latex)
    except LarkError as error:
        told = str(error).splitlines()[0]
        raise ReadbackError(f"this LaTeX cannot be read back: {latex.strip()}\n{told}") from None


def compare(name: str, latex: str) -> None:
    """Refuse a printed formula that is not, at every point of the grid, what the code computes."""
    formula = FORMULAS[name]
    left, *forms = read(latex)
    if str(left) != formula.left or len(forms) != len(formula.forms):
        raise ReadbackError(
            f"{name}: needs {formula.left!r} and {len(formula.forms)} form(s) of it, got "
            f"{str(left)!r} and {len(forms)}"
        )
    letters = [sympy.Symbol(symbol, real=True) for symbol in formula.symbols]
    for form, holds in zip(forms, formula.forms, strict=True):
        if form.free_symbols != set(letters):
            printed = sorted(map(str, form.free_symbols))
            raise ReadbackError(f"{name}: needs {sorted(formula.symbols)}, the page has {printed}")
        for point in formula.grid:
            if holds(*point):
                exact = map(_exact, point)
                page = form.xreplace(dict(zip(letters, exact, strict=True)))
                _agree(name, dict(zip(formula.symbols, point, strict=True)), page, point)


def _exact(number: Any) -> sympy.Rational:
    """The number that was written: 0.1 is one tenth."""
    return sympy.Rational(str(number))


def _agree(name: str, where: dict[str, Any], page: sympy.Expr, point: tuple[Any, ...]) -> None:
    code = FORMULAS[name].code(*point)
    if page.is_Rational and not isinstance(code, float):
        same = page == _exact(code)
    else:
        same = abs(page.evalf(40) - _exact(code)) <= abs(page.evalf(40)) * sympy.Float(2) ** -51
    if not same:
        raise ReadbackError(f"{name}: at {where} the page gives {page}, the code {code}")

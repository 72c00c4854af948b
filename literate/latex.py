"""The LaTeX of printed formulas, read as sympy reads mathematics.

It knows the little that these formulas are made of; anything else is an error.
"""

from collections.abc import Iterator
from itertools import pairwise

import sympy
from lark import Lark, Token, Transformer, v_args
from lark.exceptions import LarkError

_GRAMMAR = r"""
start: _side (EQUALS _side)+
_side: sum | total | cases
?sum: term | "-" term -> negative | sum "+" term -> add | sum "-" term -> subtract
total: _SUM "{" NAME EQUALS sum "}" "^" "{" sum "}" sum
cases: _BEGIN (case _ROW)* (case | otherwise) _END
case: sum "&" _IF relation (_AND relation)*
otherwise: sum "&" _OTHERWISE
relation: sum ((EQUALS | RELATION) sum)+
?term: factor | term "\\cdot" factor -> times | term ("\\,")? symbolic -> times
?factor: NUMBER -> number | symbolic
?symbolic: atom | atom "^" "{" sum "}" -> power
    | _FRAC "{" sum "}" "{" sum "}" -> divide | _E "{" sum "}" -> exp | _LN factor -> ln
    | (_LFLOOR sum _RFLOOR | _LEFT _LFLOOR sum _RIGHT _RFLOOR) -> floor
    | (_LCEIL sum _RCEIL | _LEFT _LCEIL sum _RIGHT _RCEIL) -> ceil
    | _MAX _several -> max | _MIN _several -> min
_several: "(" sum (_COMMA sum)+ ")" | _LEFT "(" sum (_COMMA sum)+ _RIGHT ")"
?atom: NAME -> name | "(" sum ")" | _LEFT "(" sum _RIGHT ")"
NUMBER: /[0-9]+/
NAME: (WORD | /\\rho(?![A-Za-z])/ | /[A-Za-z]/) /_([A-Za-z]|\{[^{}]+\})/?
WORD: /\\text\{(?! *(if|and|otherwise)\b)[^{}\\]+\}/
EQUALS: "="
RELATION: "<" | ">" | /\\(ne|le|ge)(?![A-Za-z])/
_COMMA: /,(\s*\\[,;])?/
_E.1: /e\s*\^/
_SUM: /\\sum\s*_/
_BEGIN: /\\begin\{cases\}/
_END: /\\end\{cases\}/
_ROW: /\\\\/
_IF: /\\text\{if \}/
_AND: /\\text\{ and \}/
_OTHERWISE: /\\text\{otherwise\}/
_FRAC: /\\frac(?![A-Za-z])/
_LN: /\\ln(?![A-Za-z])/
_MAX: /\\max(?![A-Za-z])/
_MIN: /\\min(?![A-Za-z])/
_LEFT: /\\left(?![A-Za-z])/
_RIGHT: /\\right(?![A-Za-z])/
_LFLOOR: /\\lfloor(?![A-Za-z])/
_RFLOOR: /\\rfloor(?![A-Za-z])/
_LCEIL: /\\lceil(?![A-Za-z])/
_RCEIL: /\\rceil(?![A-Za-z])/
%ignore /\s+/
"""
_RELATIONS = {"=": sympy.Eq, "<": sympy.Lt, ">": sympy.Gt}
_RELATIONS |= {"\\ne": sympy.Ne, "\\le": sympy.Le, "\\ge": sympy.Ge}


@v_args(inline=True)
class _ToSympy(Transformer):
    """A parse tree → sympy, operation by operation."""

    number = sympy.Integer
    floor, ceil, max, min = sympy.floor, sympy.ceiling, sympy.Max, sympy.Min
    ln, exp = sympy.log, sympy.exp

    def start(self, *sides: sympy.Expr | Token) -> list[sympy.Expr]:
        return list(sides[::2])

    def name(self, token: Token) -> sympy.Symbol:
        base, _, index = token.partition("_")
        printed = base.removeprefix(r"\text{").removesuffix("}").removeprefix("\\")
        printed = " ".join(printed.split())
        below = "".join(index.strip("{}").split())
        return sympy.Symbol(f"{printed}_{below}" if below else printed, real=True)

    def total(
        self, index: Token, _: Token, first: sympy.Expr, last: sympy.Expr, each: sympy.Expr
    ) -> sympy.Sum:
        return sympy.Sum(each, (sympy.Symbol(index, real=True), first, last))

    def cases(self, *rows: tuple[sympy.Expr, sympy.Basic]) -> sympy.Expr:
        if rows[-1][1] is True:
            return sympy.Piecewise(*rows)
        alone = (sympy.Piecewise(row, (0, True)) for row in rows)
        return sympy.Add(*alone)  # two that hold at once, or none, must not go unseen

    def case(self, value: sympy.Expr, *conditions: sympy.Basic) -> tuple[sympy.Expr, sympy.Basic]:
        return value, sympy.And(*conditions)

    def otherwise(self, value: sympy.Expr) -> tuple[sympy.Expr, bool]:
        return value, True

    def relation(self, *parts: sympy.Expr | Token) -> sympy.Basic:
        steps = zip(pairwise(parts[::2]), parts[1::2], strict=True)
        return sympy.And(*(_RELATIONS[sign](*both) for both, sign in steps))

    def add(self, a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
        return a + b

    def subtract(self, a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
        return a - b

    def negative(self, a: sympy.Expr) -> sympy.Expr:
        return -a

    def times(self, a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
        return a * b

    def divide(self, a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
        return a / b

    def power(self, a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
        return a**b


_PARSER = Lark(_GRAMMAR, parser="lalr", transformer=_ToSympy())


class ReadbackError(ValueError):
    """A printed formula cannot be read, or does not say what the code does."""


def read(latex: str) -> list[sympy.Expr]:
    """The sides of a printed equation. A name with an index, such as `p_i`, is a letter of its own.

    >>> read(r"W = \\left\\lceil \\frac{N - T}{k} \\right\\rceil")
    [W, ceiling((N - T)/k)]
    """
    try:
        return _PARSER.parse(latex)
    except LarkError as error:
        told = str(error).splitlines()[0]
        raise ReadbackError(f"this LaTeX cannot be read back: {latex.strip()}\n{told}") from None


def separate(latex: str) -> Iterator[str]:
    """The equations that stand beside each other in one formula.

    >>> list(separate(r"H = S, \\qquad S = 2"))
    ['H = S', 'S = 2']
    """
    yield from (part.strip() for part in latex.split(r", \qquad"))

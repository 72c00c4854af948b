"""Mutants of a source: every small change of it that a test should notice, one at a time.

Left alone are annotations, decorators, docstrings and the wording of messages; what a message
computes is changed like anything else.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

_OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.MatMult: ast.Mult,
}
_ORDERED = ast.Sub | ast.Div | ast.FloorDiv | ast.Mod | ast.Pow | ast.LShift | ast.RShift
_COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_PAIRS = "floor ceil, min max, minimum maximum, any all, tril triu, argmin argmax, append extend, "
_PAIRS += "startswith endswith, lstrip rstrip, partition rpartition, zeros ones, first last"
_TWINS = {a: b for pair in _PAIRS.split(", ") for a, b in (pair.split(), pair.split()[::-1])}
_EITHER_WAY = {"min", "max", "minimum", "maximum"}  # the order of arguments is all one
_UNWRAPPED = {"int", "float", "str", "bool", "abs", "round", "sorted", "reversed"}
_LEFT_ALONE = {"annotation", "returns", "decorator_list", "type_params"}
_NAMED = ast.Name | ast.Tuple
_OWNERS = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Mutant:
    """One small change: which statement it makes of which, and where it is in the tree."""

    path: str
    symbol: str
    line: int
    last: int
    before: str
    after: str
    place: tuple[int, int]

    @property
    def key(self) -> str:
        """What it is called in the list of equivalent mutants; it survives edits elsewhere."""
        return f"{self.symbol}: {self.after}"


@dataclass(frozen=True)
class _Place:
    """A node, where it hangs, and what is around it."""

    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None
    owners: tuple[ast.AST, ...]
    statement: ast.stmt

    def put(self, node: ast.AST) -> None:
        """Hang another node there."""
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def mutants(
    path: str, source: str, lines: tuple[int, int] | None = None, *, every_name: bool = False
) -> Iterator[Mutant]:
    """The mutants of the statements between two lines, or of all; of names one swap or every one.

    >>> [mutant.after for mutant in mutants("half.py", "x = 7 // 2")]
    ['x = 7 / 2', 'x = 2 // 7', 'x = 8 // 2', 'x = 6 // 2', 'x = 7 // 3', 'x = 7 // 1']
    """
    module = path.removesuffix(".py").replace("/", ".")
    for number, place in enumerate(_places(tree := ast.parse(source), (), tree.body[0])):
        line = place.statement.lineno
        if lines and not lines[0] <= line <= lines[1]:
            continue
        symbol = ".".join([module, *(owner.name for owner in place.owners)])
        before = _head(place.statement)
        for which, node in enumerate(_replacements(place)):
            if which and isinstance(place.node, ast.Name) and not every_name:
                break
            place.put(node)
            after = _head(node if place.node is place.statement else place.statement)
            place.put(place.node)
            if after != before:
                last = place.statement.end_lineno
                yield Mutant(path, symbol, line, last, before, after, (number, which))


def mutated(source: str, place: tuple[int, int]) -> ast.Module:
    """The tree of the source with the mutant of that place in it."""
    tree = ast.parse(source)
    spot = next(p for n, p in enumerate(_places(tree, (), tree.body[0])) if n == place[0])
    node = next(r for n, r in enumerate(_replacements(spot)) if n == place[1])
    spot.put(ast.copy_location(node, spot.node))
    return ast.fix_missing_locations(tree)


def _head(statement: ast.AST) -> str:
    """A statement on one line; of a compound one its head."""
    shown = copy.copy(statement)
    for field in ("body", "orelse", "decorator_list", "handlers", "finalbody"):
        if isinstance(getattr(shown, field, None), list):
            setattr(shown, field, [])
    return " ".join(ast.unparse(shown).split("\n"))


def _places(
    parent: ast.AST, owners: tuple[ast.AST, ...], statement: ast.stmt, message: bool = False
) -> Iterator[_Place]:
    """Every node that may be replaced, from the outside in, line by line."""
    message |= isinstance(parent, ast.Raise | ast.JoinedStr) or _logs(parent)
    for field, value in ast.iter_fields(parent):
        if field in _LEFT_ALONE:
            continue
        for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(node, ast.AST) or _is_docstring(node) or _is_strict(node):
                continue
            around = node if isinstance(node, ast.stmt) else statement
            text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if not (text and message):
                yield _Place(node, parent, field, index, owners, around)
            inner = (*owners, node) if isinstance(node, _OWNERS) else owners
            yield from _places(node, inner, around, message)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_strict(node: ast.AST) -> bool:
    """`strict=True` of `zip` asserts what is so anyway."""
    return isinstance(node, ast.keyword) and node.arg == "strict"


def _logs(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[0] in ("log", "print")


def _replacements(place: _Place) -> Iterator[ast.AST]:
    """What may stand in the place of a node."""
    node = place.node
    is_test = place.field in ("test", "ifs")
    if is_test and not isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp):
        yield ast.UnaryOp(ast.Not(), node)
    if isinstance(node, ast.stmt):
        yield from _statements(node)
    elif isinstance(node, ast.Constant):
        yield from map(ast.Constant, _constants(node.value))
    elif isinstance(node, ast.Name | ast.Attribute):
        yield from _names(node, place)
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.Slice):
        yield from _slices(node)
    else:
        yield from _operations(node)


def _statements(node: ast.stmt) -> Iterator[ast.stmt]:
    calls = ast.Call | ast.Yield | ast.YieldFrom
    if isinstance(node, ast.Raise) or (
        isinstance(node, ast.Expr) and isinstance(node.value, calls)
    ):
        yield ast.Pass()
    elif isinstance(node, ast.Return) and node.value is not None:
        yield ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Assign) and not any(isinstance(t, _NAMED) for t in node.targets):
        yield ast.Pass()  # a place in an array keeps what it held
    elif isinstance(node, ast.AugAssign):
        yield ast.AugAssign(node.target, _OPERATORS[type(node.op)](), node.value)
    elif isinstance(node, ast.Continue | ast.Break):
        yield ast.Break() if isinstance(node, ast.Continue) else ast.Continue()


def _constants(value: object) -> Iterator[object]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1)
    elif isinstance(value, str):
        yield value + "x"
    elif isinstance(value, bytes):
        yield value + b"x"


def _names(node: ast.Name | ast.Attribute, place: _Place) -> Iterator[ast.AST]:
    if isinstance(node, ast.Attribute):
        if node.attr in _TWINS:
            yield ast.Attribute(node.value, _TWINS[node.attr], node.ctx)
    elif place.field == "func" and node.id in _TWINS:
        yield ast.Name(_TWINS[node.id], node.ctx)
    elif isinstance(node.ctx, ast.Load) and place.field != "func":
        functions = [owner for owner in place.owners if isinstance(owner, ast.FunctionDef)]
        names = _known(functions[-1], node.lineno) if functions else ()
        if node.id in names:
            at = names.index(node.id)
            yield from (ast.Name(name, node.ctx) for name in (*names[at + 1 :], *names[:at]))


@cache
def _known(function: ast.FunctionDef, line: int) -> tuple[str, ...]:
    """The arguments of a function, and what it has named before that line."""
    arguments = function.args
    names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    named = [a.arg for a in names if a.arg not in ("self", "cls")]
    for inner in ast.walk(function):
        targets = getattr(inner, "targets", None) or [getattr(inner, "target", None)]
        if isinstance(inner, ast.stmt | ast.NamedExpr) and inner.lineno < line:
            parts = [part for target in targets if target for part in ast.walk(target)]
            named += [p.id for p in parts if isinstance(p, ast.Name)]
    return tuple(dict.fromkeys(named))


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    function, arguments, keywords = node.func, node.args, node.keywords
    if isinstance(function, ast.Name) and function.id in _UNWRAPPED and len(arguments) == 1:
        yield arguments[0]
    for n, keyword in enumerate(keywords):
        if keyword.arg and not _is_strict(keyword):
            yield ast.Call(function, arguments, keywords[:n] + keywords[n + 1 :])
    name = getattr(function, "attr", getattr(function, "id", ""))
    for n, pair in enumerate(pairwise(arguments)):
        if name in _EITHER_WAY or _logs(node):
            break
        if not any(isinstance(argument, ast.Starred) for argument in pair):
            swapped = [*arguments[:n], *pair[::-1], *arguments[n + 2 :]]
            yield ast.Call(function, swapped, keywords)


def _slices(node: ast.Slice) -> Iterator[ast.Slice]:
    lower, upper, step = node.lower, node.upper, node.step
    yield ast.Slice(None if lower else ast.Constant(1), upper, step)
    yield ast.Slice(lower, None if upper else ast.Constant(-1), step)
    if step:
        yield ast.Slice(lower, upper, None)


def _operations(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp):
        yield ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
        if isinstance(node.op, _ORDERED):
            yield ast.BinOp(node.right, node.op, node.left)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Compare):
        for n, operator in enumerate(node.ops):
            for other in _COMPARISONS[type(operator)]:
                ops = [*node.ops[:n], other(), *node.ops[n + 1 :]]
                yield ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        for n in range(len(node.values)):
            rest = node.values[:n] + node.values[n + 1 :]
            yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)

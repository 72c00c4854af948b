"""Who calls whom, read from the syntax trees: names by their imports, methods by plain types.

A variable's type is known from an annotation, a constructor, the annotated result of a function of
ours, or a fixture. What is not known is left out, so the list errs on the short side.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

Tree = ast.Module | ast.ClassDef | ast.FunctionDef
Functions = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Symbol:
    """A function, class, method or property."""

    name: str
    path: str
    line: int
    last: int
    node: ast.FunctionDef | ast.ClassDef
    is_property: bool

    @property
    def is_public(self) -> bool:
        """Whether no part of its name starts with an underscore."""
        return not any(part.startswith("_") for part in self.name.split("."))


@dataclass(frozen=True)
class Call:
    """A place where `caller` calls `target`."""

    target: str
    caller: str
    path: str
    line: int


def symbols(prefix: str, path: str, tree: Tree) -> dict[str, Symbol]:
    """The functions and classes of a module, and the methods of its classes.

    >>> tree = ast.parse("class A:\\n    def b(self): ...\\ndef c(): ...")
    >>> list(symbols("m", "m.py", tree))
    ['m.A', 'm.A.b', 'm.c']
    """
    found = {}
    for node in tree.body:
        if isinstance(node, Functions | ast.ClassDef):
            name = f"{prefix}.{node.name}"
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found[name] = Symbol(name, path, first, node.end_lineno, node, _is_property(node))
            if isinstance(node, ast.ClassDef):
                found |= symbols(name, path, node)
    return found


def calls(modules: dict[str, tuple[str, ast.Module]], known: dict[str, Symbol]) -> list[Call]:
    """Every call of a known symbol, in the order of files and lines."""
    names = {module: _names(module, tree, known) for module, (_, tree) in modules.items()}
    results = {
        name: found
        for name, symbol in known.items()
        if (found := _result(symbol, _scope(names, name), known))
    }
    found = []
    for module, (path, tree) in modules.items():
        fixtures = _fixtures(modules, names, results, module)
        reader = _Reader(module, path, names[module], known, results, fixtures)
        found += sorted(reader.read(tree), key=lambda call: call.line)
    return found


def _scope(names: dict[str, dict[str, str]], symbol: str) -> dict[str, str]:
    """The names of the module that a symbol is in."""
    while symbol and symbol not in names:
        symbol = symbol.rpartition(".")[0]
    return names.get(symbol, {})


def _names(module: str, tree: ast.Module, known: dict[str, Symbol]) -> dict[str, str]:
    """What the names of a module stand for: `split_ids` for `data.split_ids`."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {a.asname or a.name: a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    own = {name.rpartition(".")[2]: name for name in known if name.rpartition(".")[0] == module}
    return found | own


def _result(symbol: Symbol, names: dict[str, str], known: dict[str, Symbol]) -> str | None:
    """The class of ours that a call of the symbol gives."""
    if isinstance(symbol.node, ast.ClassDef):
        return symbol.name
    note = symbol.node.returns
    if isinstance(note, ast.Name) and note.id == "Self":
        return symbol.name.rpartition(".")[0]
    return _noted(note, names, known)


def _noted(note: ast.expr | None, names: dict[str, str], known: dict[str, Symbol]) -> str | None:
    """The class of ours that an annotation names."""
    word = note.id if isinstance(note, ast.Name) else getattr(note, "value", None)
    name = names.get(word) if isinstance(word, str) else None
    return name if name in known and isinstance(known[name].node, ast.ClassDef) else None


def _is_property(node: ast.stmt) -> bool:
    marks = {ast.unparse(mark).rpartition(".")[2] for mark in node.decorator_list}
    return bool(marks & {"property", "cached_property"})


def _fixtures(modules: dict, names: dict, results: dict[str, str], module: str) -> dict[str, str]:
    """Fixtures that a test file can ask for, with the class of what they give."""
    seen = [name for name in ("conftest", module) if name in modules]
    return {
        node.name: results[f"{name}.{node.name}"]
        for name in seen
        for node in modules[name][1].body
        if isinstance(node, Functions) and f"{name}.{node.name}" in results
        if any("fixture" in ast.unparse(mark) for mark in node.decorator_list)
    }


@dataclass
class _Reader:
    module: str
    path: str
    names: dict[str, str]
    known: dict[str, Symbol]
    results: dict[str, str]
    fixtures: dict[str, str]

    def read(self, tree: ast.Module) -> Iterator[Call]:
        """Calls in functions and methods, and those at the level of the module."""
        yield from self.read_body(tree, self.module, {})

    def read_body(self, tree: Tree, owner: str, types: dict[str, str]) -> Iterator[Call]:
        for node in tree.body:
            if isinstance(node, Functions):
                own = {"self": owner, "cls": owner} if isinstance(tree, ast.ClassDef) else {}
                yield from self.read_code(node, f"{owner}.{node.name}", own)
            elif isinstance(node, ast.ClassDef):
                yield from self.read_body(node, f"{owner}.{node.name}", types)
            else:
                yield from self.read_code(node, owner, types)

    def read_code(self, node: ast.stmt, caller: str, types: dict[str, str]) -> Iterator[Call]:
        parts = list(ast.walk(node))
        types = self.types(node, parts, types)
        called = {id(part.func) for part in parts if isinstance(part, ast.Call)}
        for part in parts:
            if isinstance(part, ast.Name | ast.Attribute):
                symbol = self.known.get(self.target(part, types) or "")
                if symbol and (id(part) in called or symbol.is_property):
                    yield Call(symbol.name, caller, self.path, part.lineno)

    def types(self, node: ast.stmt, parts: list[ast.AST], own: dict[str, str]) -> dict[str, str]:
        """The classes of the variables of a function."""
        types = dict(own)
        if isinstance(node, Functions):
            for arg in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
                noted = _noted(arg.annotation, self.names, self.known)
                if found := noted or self.fixtures.get(arg.arg):
                    types.setdefault(arg.arg, found)
        assigned = [part for part in parts if isinstance(part, ast.Assign)]
        for part in sorted(assigned, key=lambda part: part.lineno):
            if found := self.type(part.value, types):
                types |= {t.id: found for t in part.targets if isinstance(t, ast.Name)}
        return types

    def type(self, node: ast.expr, types: dict[str, str]) -> str | None:
        """The class of ours that an expression is known to give."""
        if isinstance(node, ast.Name):
            return types.get(node.id)
        if isinstance(node, ast.Call):
            return self.results.get(self.target(node.func, types) or "")
        if isinstance(node, ast.Attribute):
            return self.results.get(self.target(node, types) or "")
        return None

    def target(self, node: ast.expr, types: dict[str, str]) -> str | None:
        """The full name of what an expression names: a function, a class, a method."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.type(node.value, types) or self.target(node.value, types)
            return f"{owner}.{node.attr}" if owner else None
        return None

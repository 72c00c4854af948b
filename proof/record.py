"""What was proved, kept as data with a digest of the code that it speaks of."""

import ast
import hashlib
import json
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.record import code_of
from files import write_text
from literate.sources import File
from literate.ties import Index

HERE = Path(__file__).parent
ROOT = HERE.parent
EQUATIONS, MODULES = HERE / "results.json", HERE / "mutants.json"
EQUIVALENT = HERE / "equivalent.txt"


def kept(path: Path) -> dict[str, Any]:
    """The results of that file, by the name of the equation or the module."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def keep(path: Path, results: dict[str, Any]) -> None:
    """Write results in the order of their names."""
    write_text(path, json.dumps(dict(sorted(results.items())), indent=1, ensure_ascii=False) + "\n")


def equivalents(path: Path = EQUIVALENT) -> dict[str, str]:
    """The mutants that change nothing a test could see, each with the reason why.

    A line is `symbol: the changed statement  # why nothing changes`.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    parts = [line.rpartition("  # ") for line in lines if line and not line.startswith("#")]
    return {key: reason for key, _, reason in parts}


def marked(index: Index, name: str) -> list[str]:
    """The tests that are marked for an equation, as pytest names them."""
    return [
        f"{file.path}::{test.name}"
        for file in index.files.values()
        if file.is_test
        for test, marks in file.tests()
        if name in marks
    ]


def equation_digest(index: Index, name: str) -> str:
    """A digest of the functions around its statements, of its tests, and of how mutants are made.

    The line or the test that is edited makes this one equation stale.
    """
    places = [(tie.path, tie.line) for tie in index.computes(name) + index.proves(name)]
    codes = [_around(index.file(path), line) for path, line in places]
    return _digest([*codes, _mutants()])


def module_digest(path: str) -> str:
    """A digest of a module, and of how mutants are made."""
    return _digest([(ROOT / path).read_text(encoding="utf-8"), _mutants()])


def _mutants() -> str:
    return (HERE / "mutants.py").read_text(encoding="utf-8")


def _around(file: File, line: int) -> str:
    """The source of the outermost function around a line, decorators included."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
            if first <= line <= node.end_lineno:
                return textwrap.dedent("\n".join(file.lines[first - 1 : node.end_lineno]))
    return file.lines[line - 1].strip()


def _digest(sources: Iterable[str]) -> str:
    code = "\n".join(code_of(source) for source in sources)
    return hashlib.sha256(code.encode()).hexdigest()

"""A source file: its text, its tree, the tags in it, and the statements that carry them."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from literate.tree import SiteError

_NAME = r"[a-z0-9]+(?:-[a-z0-9]+)*"
_TAG = re.compile(r"\beq:(.*)")
_NAMES = re.compile(rf" {_NAME}(?: \(inline\))?(?:, {_NAME}(?: \(inline\))?)*")


@dataclass
class File:
    """A source file: its text, its tree and the tags in it."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without their ends."""
        return self.text.splitlines()

    @property
    def module(self) -> str:
        """The name it is imported by; a test file is known by its own name."""
        return self.path.removesuffix(".py").removeprefix("tests/").replace("/", ".")

    @property
    def is_test(self) -> bool:
        """Whether it holds tests."""
        return self.path.startswith("tests/")

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (ast.get_docstring(self.tree) or "").partition("\n")[0]

    @cached_property
    def tags(self) -> dict[int, list[tuple[str, bool]]]:
        """The equations that the comment of a line names, and whether as a copy `(inline)`."""
        found: dict[int, list[tuple[str, bool]]] = {}
        if "eq:" not in self.text:
            return found
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type == tokenize.COMMENT and (tag := _TAG.search(token.string)):
                if not _NAMES.fullmatch(tag[1]):
                    raise SiteError(
                        f"{self.path}:{token.start[0]}: this tag cannot be read: {tag[0]!r}; "
                        "write `eq: name`, `eq: name, other` or `eq: name (inline)`, and no more"
                    )
                names = [name.strip() for name in tag[1].split(",")]
                found[token.start[0]] = [
                    (name.removesuffix(" (inline)"), name.endswith("(inline)")) for name in names
                ]
        return found

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """Every statement, however deep."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt)]

    def statement(self, line: int) -> tuple[int, int, str] | None:
        """First and last line of the statement around `line`, and its code without comments."""
        around = [node for node in self.statements if _first(node) <= line <= node.end_lineno]
        if not around:
            return None
        inner = max(around, key=lambda node: (node.lineno, -node.end_lineno))
        last = inner.body[0].lineno - 1 if hasattr(inner, "body") else inner.end_lineno
        if line > last:  # between the statements of a body
            return None
        first = _first(inner)
        return first, last, _without_comments("\n".join(self.lines[first - 1 : last]))

    def tests(self) -> Iterator[tuple[ast.FunctionDef, set[str]]]:
        """The test functions, with the equations that their markers name."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                marks = [d for d in node.decorator_list if isinstance(d, ast.Call)]
                marks = [d for d in marks if ast.unparse(d.func) == "pytest.mark.eq"]
                yield node, {arg.value for mark in marks for arg in mark.args}


def _first(node: ast.stmt) -> int:
    """The first line of a statement, decorators included."""
    return min([node.lineno, *(mark.lineno for mark in getattr(node, "decorator_list", []))])


def _without_comments(text: str) -> str:
    """The code on one line, without comments and the comma that a formatter puts last.

    >>> _without_comments('x = f(\\n    1,  # one\\n    "# two",\\n)')
    'x = f(1, "# two")'
    """
    lines = text.split("\n")
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column]
    except (tokenize.TokenError, IndentationError):  # the head of a block, without the block
        pass
    flat = " ".join(line.strip() for line in lines if line.strip())
    return re.sub(r"(?<=[(\[{]) |,? (?=[)\]}])", "", flat)


def source_page(path: str) -> str:
    """The page that shows a file.

    >>> source_page("tests/test_data.py")
    'source/tests/test_data.md'
    """
    return f"source/{path.removesuffix('.py')}.md"

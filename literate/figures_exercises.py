"""The table of exercises: each file, and the functions that it asks for."""

import ast

from literate.tables import Table
from literate.values import ROOT


def files() -> Table:
    """A row for each lesson that has a file, in the order in which `mkdocs.yml` has the pages."""
    order = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    rows = []
    for file in (ROOT / "exercises").glob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        title, _, _ = (ast.get_docstring(tree) or "").partition(":")
        page = f"{file.stem.replace('_', '-')}.md"
        names = [f"`{node.name}`" for node in tree.body if asks(node)]
        place = order.index(f"- {page}")
        lesson = f"[{title}]({page})<br>`exercises/{file.name}`"
        rows.append((place, [lesson, ", ".join(names)]))
    return ["Lesson, file", "Functions"], [row for _, row in sorted(rows)]


def asks(node: ast.stmt) -> bool:
    """Whether it is a function or a class to write."""
    return isinstance(node, ast.FunctionDef | ast.ClassDef)

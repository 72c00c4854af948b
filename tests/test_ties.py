"""Every equation has lines that compute it and lines that prove it, and both carry its tag."""

import ast
import re
import tokenize
from collections import defaultdict

from conftest import ROOT

EQUATIONS = {
    "cut",
    "window-starts",
    "inputs",
    "targets",
    "shift",
    "window-count",
    "eval-starts",
    "batches-per-epoch",
    "total-steps",
    "mean-cross-entropy",
    "perplexity",
    "bits-per-byte",
}
TAG = re.compile(r"eq: ([a-z0-9, -]+)")


def tags(path) -> dict[int, set[str]]:
    """The equations named in the comments of a file, by line."""
    with tokenize.open(path) as file:
        comments = [
            t for t in tokenize.generate_tokens(file.readline) if t.type == tokenize.COMMENT
        ]
    found = {t.start[0]: TAG.search(t.string) for t in comments}
    return {n: {name.strip() for name in m[1].split(",")} for n, m in found.items() if m}


def marked_tests(path) -> list[tuple[ast.FunctionDef, set[str]]]:
    """The test functions of a file with the equations that their markers name."""
    found = []
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test_"):
            calls = [d for d in function.decorator_list if isinstance(d, ast.Call)]
            marks = [d for d in calls if ast.unparse(d.func) == "pytest.mark.eq"]
            found.append((function, {a.value for m in marks for a in m.args}))
    return found


def test_every_equation_is_computed_and_tested_and_no_tag_is_unknown():
    computed = set().union(*(n for path in ROOT.glob("*.py") for n in tags(path).values()))
    tested = set().union(*(n for path in ROOT.glob("tests/test_*.py") for n in tags(path).values()))
    assert computed == tested == EQUATIONS


def test_the_markers_of_a_test_are_the_tags_of_its_lines():
    for path in ROOT.glob("tests/test_*.py"):
        tagged = tags(path)
        for function, marks in marked_tests(path):
            lines = range(function.lineno, function.end_lineno + 1)
            found = set().union(*(tagged[n] for n in lines if n in tagged))
            assert found == marks, f"{path.name}, {function.name}"


def test_every_tag_in_a_test_file_stands_in_a_test():
    for path in ROOT.glob("tests/test_*.py"):
        inside = defaultdict(set)
        for function, _ in marked_tests(path):
            inside[path] |= set(range(function.lineno, function.end_lineno + 1))
        assert set(tags(path)) <= inside[path]
